/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "error.h"
#include "frame-names.h"
#include "scan-hdf5.h"

/* Any other HDF5 file: the data set that the user names, or the only one of three dimensions. */

const char *const td_h5_any_format = N_ ("HDF5 data set");

#define MAX_LISTED 4u
#define NOT_USED                                                                                   \
  N_ ("%s was not used: where it holds flats or darks, save it as a TIFF file ({flats:PATH}, "     \
      "{darks:PATH}).")

typedef struct {
  GPtrArray *paths; /* of the data sets of three dimensions */
  char *unread;     /* why the first object that cannot be opened is none; NULL: all can be */
} Found;

static gboolean
scan_h5_dataset_visit (hid_t group, const char *path, gpointer user)
{
  Found *found = user;
  g_auto (GStrv) names = td_h5_names (group);

  for (guint i = 0; names[i]; i++) {
    g_auto (TdH5Id) dataset = td_h5_find_dataset (group, names[i], NULL);
    g_autofree char *own = g_strconcat (strcmp (path, "/") == 0 ? "" : path, "/", names[i], NULL);
    hsize_t shape[3];

    if (dataset >= 0 && td_h5_shape (dataset, shape, 3) == 3)
      g_ptr_array_add (found->paths, g_steal_pointer (&own));
    else if (dataset < 0 && !found->unread)
      found->unread = td_h5_no_frames (group, own);
  }
  return found->paths->len > MAX_LISTED;
}

/* The only one, or the only one that is not called as flats or darks are; NULL: there are several.
   (transfer full) */
static char *
scan_h5_dataset_only (const GPtrArray *paths)
{
  const char *only = NULL;

  if (paths->len == 1)
    return g_strdup (paths->pdata[0]);
  for (guint i = 0; i < paths->len; i++) {
    g_autofree char *name = g_path_get_basename (paths->pdata[i]);

    if (td_name_role (name) != TD_NAME_PROJECTION)
      continue;
    if (only)
      return NULL;
    only = paths->pdata[i];
  }
  return g_strdup (only);
}

static char *
choose_dataset (hid_t file, const char *path, GError **error)
{
  g_autoptr (GPtrArray) paths = g_ptr_array_new_with_free_func (g_free);
  g_autofree char *list = NULL;
  Found found = { paths, NULL };

  td_h5_visit_groups (file, scan_h5_dataset_visit, &found);
  g_autofree char *unread = found.unread;
  g_autofree char *only = scan_h5_dataset_only (paths);
  if (only)
    return g_steal_pointer (&only);
  if (paths->len == 0 && unread)
    return td_set_error_null (error, TD_ERROR_UNSUPPORTED, "“%s”: %p", path,
                              td_message_unpack (unread));
  if (paths->len == 0)
    return td_set_error_null (
        error, TD_ERROR_UNSUPPORTED,
        "“%s” is neither an NXtomo nor a DXchange scan, and holds no data set with the "
        "three dimensions frame, row and column; write its projections so, and a single sinogram "
        "as views of one row",
        path);
  if (paths->len > MAX_LISTED)
    g_ptr_array_set_size (paths, MAX_LISTED);
  g_ptr_array_add (paths, NULL);
  list = g_strjoinv (", ", (char **) paths->pdata);
  return td_set_error_null (
      error, TD_ERROR_UNSUPPORTED,
      "“%s” is neither an NXtomo nor a DXchange scan; name the data set to take "
      "({dataset}): %s",
      path, list);
}

typedef struct {
  TdScan *scan;
  TdH5Source *source;
  const TdScanOptions *options;
} Opened;

/* A neighbour of the projections that is called as flats or darks are. What is not taken is told.
 */
static gboolean
scan_h5_dataset_take (const Opened *opened, hid_t dataset, const char *path, TdFrameKind kind,
                      GError **error)
{
  const TdScanFacts *facts = &opened->scan->facts;
  g_autofree char *label = td_h5_label (facts->path, path);

  if (opened->source->frames[kind]) {
    td_scan_note (opened->scan, NOT_USED, path);
    td_h5_close (dataset);
    return TRUE;
  }
  if (!td_h5_scan_add (opened->scan, opened->source, kind, dataset, label, opened->options, error))
    return FALSE;
  if (opened->source->frames[kind])
    td_scan_note (opened->scan, kind == TD_FRAME_FLAT ? TD_SCAN_NOTE_FLATS : TD_SCAN_NOTE_DARKS,
                  kind == TD_FRAME_FLAT ? facts->n_flats : facts->n_darks, path);
  return TRUE;
}

/* Flats and darks that lie in the projections' group, told by their names. Images that are as large
   as the projections and called otherwise may be some, too. */
static gboolean
scan_h5_dataset_add_companions (const Opened *opened, hid_t file, const char *chosen,
                                GError **error)
{
  const TdScanFacts *facts = &opened->scan->facts;
  g_autofree char *folder = g_path_get_dirname (chosen), *own = g_path_get_basename (chosen);
  g_auto (TdH5Id) group = td_h5_find (file, folder, NULL);
  g_auto (GStrv) names = group >= 0 ? td_h5_names (group) : NULL;

  for (guint i = 0; names && names[i]; i++) {
    const TdNameRole role = td_name_role (names[i]);
    const gboolean companion = role == TD_NAME_FLAT || role == TD_NAME_DARK;
    const char *stated = role == TD_NAME_FLAT   ? opened->options->flats
                         : role == TD_NAME_DARK ? opened->options->darks
                                                : NULL;
    g_autofree char *path = g_build_path ("/", folder, names[i], NULL), *missing = NULL;
    g_auto (TdH5Id) dataset = -1;
    hsize_t shape[3];

    if (stated || strcmp (names[i], own) == 0)
      continue;
    dataset = td_h5_find_dataset (group, names[i], &missing);
    if (companion && missing)
      return td_set_error (error, TD_ERROR_NOT_FOUND,
                           "“%s” cannot be opened: %p; copy it beside the file", facts->path,
                           td_message_unpack (missing));
    const int rank = dataset >= 0 ? td_h5_shape (dataset, shape, 3) : 0;
    if (companion && rank >= 2) {
      const hid_t taken = dataset;
      dataset = -1;
      if (!scan_h5_dataset_take (opened, taken, path,
                                 role == TD_NAME_FLAT ? TD_FRAME_FLAT : TD_FRAME_DARK, error))
        return FALSE;
    } else if (rank == 2 && shape[0] == facts->n_rows && shape[1] == facts->n_columns)
      td_scan_note (opened->scan, NOT_USED, path);
  }
  return TRUE;
}

static gboolean
dataset_probe (const char *path, const TdScanOptions *options)
{
  return td_h5_probe (path);
}

static TdScan *
dataset_open (const char *path, const TdScanOptions *options, GCancellable *cancellable,
              GError **error)
{
  TD_H5_GUARD;
  TdH5Source *source;
  g_autoptr (TdScan) scan = td_h5_scan_new (path, options->sinograms, &source);
  g_auto (TdH5Id) file = td_h5_open (path, error);
  g_autofree char *chosen = NULL, *label = NULL, *missing = NULL;
  const Opened opened = { scan, source, options };
  hid_t dataset;

  if (file < 0)
    return NULL;
  chosen = options->dataset ? g_strdup (options->dataset) : choose_dataset (file, path, error);
  if (!chosen)
    return NULL;
  dataset = td_h5_find_dataset (file, chosen, &missing);
  if (dataset < 0) {
    if (missing)
      return td_set_error_null (error, TD_ERROR_NOT_FOUND, "“%s” holds no data set “%s”: %p", path,
                                chosen, td_message_unpack (missing));
    missing = td_h5_no_frames (file, chosen);
    if (missing)
      return td_set_error_null (error, TD_ERROR_UNSUPPORTED, "“%s”: %p", path,
                                td_message_unpack (missing));
    return td_set_error_null (error, TD_ERROR_INVALID, "“%s” holds no data set “%s”", path, chosen);
  }
  label = td_h5_label (path, chosen);
  if (!td_h5_scan_add (scan, source, TD_FRAME_PROJECTION, dataset, label, options, error)
      || !scan_h5_dataset_add_companions (&opened, file, chosen, error))
    return NULL;
  scan->facts.format = g_strdup (td_h5_any_format);
  td_scan_note (scan, "The frames of %s were taken.", chosen);
  if (options->angles && !td_scan_take_angles (scan, options->angles, NULL, error))
    return NULL;
  return td_scan_validate (scan, error) ? g_steal_pointer (&scan) : NULL;
}

const TdScanReader td_scan_reader_h5_dataset = { dataset_probe, dataset_open };
