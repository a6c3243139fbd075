/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "error.h"
#include "scan-hdf5.h"

/* Any other HDF5 file: the data set that the user names, or the only one of three dimensions. */

const char *const td_h5_any_format = N_ ("HDF5 data set");

#define MAX_LISTED 4u
#define MAX_FOUND 64u

typedef struct {
  GPtrArray *paths;  /* of the data sets of three dimensions */
  GPtrArray *images; /* of those of two that are called as flats or darks are */
  GHashTable *seen;  /* where they are stored: links give them other paths */
  char *unread;      /* why the first object that cannot be opened is none; NULL: all can be */
} Found;

/* The Core Imaging Library names the dimensions: whether rows come before views, of which there may
   be one. */
static gboolean
scan_h5_dataset_by_rows (hid_t dataset)
{
  hsize_t shape[3];

  for (guint i = 0; i < 4; i++) {
    g_autofree char *old = g_strdup_printf ("data_label%u", i), *new = g_strdup_printf ("dim%u", i);
    g_autofree char *label = td_h5_attribute_string (dataset, old);

    if (!label)
      label = td_h5_attribute_string (dataset, new);
    if (label && (strcmp (label, "vertical") == 0 || strcmp (label, "angle") == 0))
      return label[0] == 'v' || td_h5_shape (dataset, shape, 3) == 2;
  }
  return FALSE;
}

static gboolean
scan_h5_dataset_visit (hid_t group, const char *path, gpointer user)
{
  Found *found = user;
  g_auto (GStrv) names = td_h5_names (group);

  for (guint i = 0; names[i]; i++) {
    g_auto (TdH5Id) dataset = td_h5_find_dataset (group, names[i], NULL);
    g_autofree char *own = g_build_path ("/", path, names[i], NULL);
    hsize_t shape[3];
    const int rank = dataset < 0 ? 0 : td_h5_shape (dataset, shape, 3);

    if (dataset < 0 && !found->unread)
      found->unread = td_h5_no_frames (group, own);
    const gboolean image = rank == 2 && !scan_h5_dataset_by_rows (dataset);

    if (rank < 2 || (image && td_h5_path_role (own) == TD_NAME_PROJECTION)
        || !g_hash_table_add (found->seen, td_h5_place (dataset)))
      continue;
    g_ptr_array_add (image ? found->images : found->paths, g_steal_pointer (&own));
  }
  return found->paths->len > MAX_FOUND;
}

/* The only path of the role; NULL: there is none, or there are several. */
static const char *
scan_h5_dataset_only (const GPtrArray *paths, TdNameRole role)
{
  const char *only = NULL;

  for (guint i = 0; i < paths->len; i++) {
    if (td_h5_path_role (paths->pdata[i]) != role)
      continue;
    if (only)
      return NULL;
    only = paths->pdata[i];
  }
  return only;
}

char *
td_h5_find_companion (const char *path, TdFrameKind kind)
{
  TD_H5_GUARD;
  g_auto (TdH5Id) file = td_h5_open (path, NULL);
  g_autoptr (GPtrArray) paths = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GHashTable) seen = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  Found found = { paths, paths, seen, NULL };

  if (file < 0)
    return NULL;
  td_h5_visit_groups (file, scan_h5_dataset_visit, &found);
  g_free (found.unread);
  return g_strdup (
      scan_h5_dataset_only (paths, kind == TD_FRAME_FLAT ? TD_NAME_FLAT : TD_NAME_DARK));
}

/* What cannot be chosen from: what was found. */
static gboolean
scan_h5_dataset_refuse (hid_t file, const Found *found, const char *path, GError **error)
{
  const guint n = MIN (found->paths->len, MAX_LISTED);
  g_autoptr (GString) list = g_string_new (NULL);

  if (H5Lexists (file, "1.1", H5P_DEFAULT) > 0)
    return td_set_error (
        error, TD_ERROR_UNSUPPORTED,
        "“%s” holds scans as the ESRF's BLISS writes them: “nxtomomill h52nx” makes "
        "an NXtomo file of them",
        path);
  if (found->paths->len > MAX_FOUND)
    return td_set_error (error, TD_ERROR_UNSUPPORTED,
                         "“%s” holds more than %u data sets of frames, such as “%s”: write all "
                         "projections into one, with the dimensions frame, row and column",
                         path, MAX_FOUND, (char *) found->paths->pdata[0]);

  if (found->paths->len == 0 && found->unread)
    return td_set_error (error, TD_ERROR_UNSUPPORTED, "“%s”: %p", path,
                         td_message_unpack (found->unread));
  if (found->paths->len == 0)
    return td_set_error (
        error, TD_ERROR_UNSUPPORTED,
        "“%s” is neither an NXtomo nor a DXchange scan, and holds no data set with the "
        "three dimensions frame, row and column; write its projections so, or name a single "
        "sinogram as one ({dataset}, {sinograms})",
        path);
  for (guint i = 0; i < n; i++)
    g_string_append_printf (list, "%s%s", i ? ", " : "", (char *) found->paths->pdata[i]);
  return td_set_error (error, TD_ERROR_UNSUPPORTED,
                       "“%s” is neither an NXtomo nor a DXchange scan; name the data set to take "
                       "({dataset}): %s",
                       path, list->str);
}

/* Opens the projections. @others: (out): data sets outside their group. @alone: (out): all of these
   are called as flats or darks are. -1 with @error: they are not there, or it cannot be
   told which they are. */
static hid_t
scan_h5_dataset_choose (hid_t file, const char *path, const char *wanted, char **chosen,
                        GPtrArray *others, gboolean *alone, GError **error)
{
  g_autoptr (GPtrArray) paths = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GPtrArray) images = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GHashTable) seen = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  Found found = { paths, images, seen, NULL };
  g_autofree char *missing = NULL;

  td_h5_visit_groups (file, scan_h5_dataset_visit, &found);
  g_autofree char *unread = found.unread;
  const char *only
      = paths->len == 1 ? paths->pdata[0] : scan_h5_dataset_only (paths, TD_NAME_PROJECTION);
  if (!only && !wanted) {
    scan_h5_dataset_refuse (file, &found, path, error);
    return -1;
  }
  *chosen = g_strdup (wanted ? wanted : only);
  *alone = only && strcmp (only, *chosen) == 0;
  g_autofree char *group = g_path_get_dirname (*chosen);
  for (guint i = 0; i < paths->len + images->len; i++) {
    const char *other = i < paths->len ? paths->pdata[i] : images->pdata[i - paths->len];
    g_autofree char *own = g_path_get_dirname (other);
    if (strcmp (own, group) != 0)
      g_ptr_array_add (others, g_strdup (other));
  }
  const hid_t dataset = td_h5_find_dataset (file, *chosen, &missing);
  if (dataset >= 0)
    return dataset;
  g_autofree char *why = missing ? NULL : td_h5_no_frames (file, *chosen);
  if (missing)
    td_set_error (error, TD_ERROR_NOT_FOUND, "“%s” holds no data set “%s”: %p", path, *chosen,
                  td_message_unpack (missing));
  else if (why)
    td_set_error (error, TD_ERROR_UNSUPPORTED, "“%s”: %p", path, td_message_unpack (why));
  else
    td_set_error (error, TD_ERROR_INVALID, "“%s” holds no data set “%s”", path, *chosen);
  return -1;
}

/* MATLAB's class says in what order its arrays are. */
static void
scan_h5_dataset_note_matlab (TdScan *scan, hid_t dataset, const char *path)
{
  g_autofree char *matlab = td_h5_attribute_string (dataset, "MATLAB_class");

  if (matlab)
    td_scan_note (scan,
                  "%s was written by MATLAB, which stores an array's last index first: that is "
                  "taken as the frame, the first index as the column. Where they are others, "
                  "bring them into this order (permute).",
                  path);
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
  g_autoptr (GPtrArray) others = g_ptr_array_new_with_free_func (g_free);
  g_autofree char *chosen = NULL, *label = NULL;
  gboolean alone = FALSE;
  hid_t dataset;

  if (file < 0)
    return NULL;
  dataset = scan_h5_dataset_choose (file, path, options->dataset, &chosen, others, &alone, error);
  if (dataset < 0)
    return NULL;
  label = td_h5_label (path, chosen);
  scan->facts.sinogram_order = options->sinograms || scan_h5_dataset_by_rows (dataset);
  scan_h5_dataset_note_matlab (scan, dataset, chosen);
  if (!td_h5_scan_add (scan, source, TD_FRAME_PROJECTION, dataset, label, options, error)
      || !td_h5_scan_add_beside (scan, source, file, chosen, NULL, options, error)
      || !td_h5_scan_add_elsewhere (scan, source, file, others, alone, options, error))
    return NULL;
  scan->facts.format = g_strdup (td_h5_any_format);
  td_scan_note (scan, "The frames of %s were taken.", chosen);
  if (!(options->angles ? td_scan_take_angles (scan, options->angles, NULL, error)
                        : td_h5_scan_angles_beside (scan, file, chosen, error)
                              && td_h5_scan_angles_elsewhere (scan, file, error))
      || !td_h5_scan_take_cil (scan, file, chosen, options, error))
    return NULL;
  return td_scan_validate (scan, error) ? g_steal_pointer (&scan) : NULL;
}

const TdScanReader td_scan_reader_h5_dataset = { dataset_probe, dataset_open };
