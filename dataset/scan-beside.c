/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <string.h>

#include "error.h"
#include "frame-names.h"
#include "scan-hdf5.h"

/* What lies in the group of an HDF5 file's projections beside them, told by its name. */

#define NOT_USED                                                                                   \
  N_ ("%s was not used: where it holds flats or darks, state it ({flats:FILE::DATASET}, "          \
      "{darks:FILE::DATASET}).")

typedef struct {
  TdScan *scan;
  TdH5Source *source;
  const TdScanOptions *options;
  double positions[3]; /* by TdFrameKind: when those that were taken first were; NAN: unknown */
} Opened;

/* When flats were taken, by their name or those of the groups around them; NAN: these do not say.
 */
static double
scan_beside_position (const TdScanFacts *facts, const char *path)
{
  g_autofree char *groups = g_path_get_dirname (path), *name = g_path_get_basename (path);

  return td_name_flat_position (groups, name, facts->n_views);
}

/* "data_white_pre" and "data_white_post" are flats of one scan, taken before it and after it.
   FALSE: these are no such two. */
static gboolean
scan_beside_take_other (const Opened *opened, hid_t dataset, const char *path, TdFrameKind kind)
{
  TdScanFacts *facts = &opened->scan->facts;
  g_autofree char *label = td_h5_label (facts->path, path);
  const double position = scan_beside_position (facts, path);
  const guint n_first = td_scan_facts_frames (facts, kind);

  /* Of neither name NAN, and not the same twice. */
  if (!(fabs (position - opened->positions[kind]) > 0)) {
    td_h5_close (dataset);
    return FALSE;
  }
  if (!td_h5_scan_add_more (opened->scan, opened->source, kind, dataset, label, opened->options))
    return FALSE;
  if (kind != TD_FRAME_FLAT)
    return TRUE;
  facts->flat_positions = g_new (double, facts->n_flats);
  for (guint i = 0; i < facts->n_flats; i++)
    facts->flat_positions[i] = i < n_first ? opened->positions[kind] : position;
  return TRUE;
}

/* A neighbour of the projections that is called as flats or darks are. What is not taken is told.
 */
static gboolean
scan_beside_take (Opened *opened, hid_t dataset, const char *path, TdFrameKind kind, GError **error)
{
  const TdScanFacts *facts = &opened->scan->facts;
  g_autofree char *label = td_h5_label (facts->path, path);
  const guint before = td_scan_facts_frames (facts, kind);

  if (opened->source->frames[kind]) {
    if (!scan_beside_take_other (opened, dataset, path, kind)) {
      td_scan_note (opened->scan, NOT_USED, path);
      return TRUE;
    }
  } else {
    opened->positions[kind] = scan_beside_position (facts, path);
    if (!td_h5_scan_add (opened->scan, opened->source, kind, dataset, label, opened->options,
                         error))
      return FALSE;
  }
  if (opened->source->frames[kind])
    td_scan_note (opened->scan, kind == TD_FRAME_FLAT ? TD_SCAN_NOTE_FLATS : TD_SCAN_NOTE_DARKS,
                  td_scan_facts_frames (facts, kind) - before, path);
  return TRUE;
}

gboolean
td_h5_scan_add_beside (TdScan *scan, TdH5Source *source, hid_t file, const char *projections,
                       const char *const *known, const TdScanOptions *options, GError **error)
{
  Opened opened = { scan, source, options, { NAN, NAN, NAN } };
  const TdScanFacts *facts = &scan->facts;
  g_autofree char *folder = g_path_get_dirname (projections),
                  *own = g_path_get_basename (projections);
  g_auto (TdH5Id) group = td_h5_find (file, folder, NULL);
  g_auto (GStrv) names = group >= 0 ? td_h5_names (group) : NULL;

  for (guint i = 0; names && names[i]; i++) {
    const TdNameRole role = td_name_role (names[i]);
    const gboolean companion = role == TD_NAME_FLAT || role == TD_NAME_DARK;
    const char *stated = role == TD_NAME_FLAT   ? options->flats
                         : role == TD_NAME_DARK ? options->darks
                                                : NULL;
    g_autofree char *path = g_build_path ("/", folder, names[i], NULL), *missing = NULL;
    g_auto (TdH5Id) dataset = -1;
    hsize_t shape[3];

    if (stated || strcmp (names[i], own) == 0 || (known && g_strv_contains (known, names[i])))
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
      if (!scan_beside_take (&opened, taken, path,
                             role == TD_NAME_FLAT ? TD_FRAME_FLAT : TD_FRAME_DARK, error))
        return FALSE;
    } else if (rank == 2 && shape[0] == facts->n_rows && shape[1] == facts->n_columns)
      td_scan_note (scan, NOT_USED, path);
  }
  return TRUE;
}

TdNameRole
td_h5_path_role (const char *path)
{
  g_auto (GStrv) names = g_strsplit (path, "/", -1);
  const guint n = g_strv_length (names);
  TdNameRole role = td_name_role (names[n - 1]);

  for (guint i = n - 1; i > 0 && role == TD_NAME_PROJECTION; i--)
    role = td_name_role_strict (names[i - 1]);
  return role;
}

gboolean
td_h5_scan_add_elsewhere (TdScan *scan, TdH5Source *source, hid_t file, const GPtrArray *paths,
                          gboolean own, const TdScanOptions *options, GError **error)
{
  Opened opened = { scan, source, options, { NAN, NAN, NAN } };
  const TdScanFacts *facts = &scan->facts;

  for (guint i = 0; i < paths->len; i++) {
    const char *path = paths->pdata[i];
    const TdNameRole role = td_h5_path_role (path);
    hsize_t shape[3] = { 0 };

    if ((role != TD_NAME_FLAT || options->flats) && (role != TD_NAME_DARK || options->darks))
      continue;
    const hid_t dataset = td_h5_find_dataset (file, path, NULL);
    const int rank = td_h5_shape (dataset, shape, 3);
    const gboolean fits = rank >= 2 && shape[rank - 1] == facts->n_columns
                          && (shape[rank - 2] == facts->n_rows || facts->sinogram_order);
    if (own && fits) {
      if (!scan_beside_take (&opened, dataset, path,
                             role == TD_NAME_FLAT ? TD_FRAME_FLAT : TD_FRAME_DARK, error))
        return FALSE;
      continue;
    }
    td_h5_close (dataset);
    if (rank == 3 || fits) /* a table is nobody's image */
      td_scan_note (scan, NOT_USED, path);
    if (!own) /* one tells of all the scans' */
      return TRUE;
  }
  return TRUE;
}

/* "angles", "rotation_angle", "theta_deg", "rotz": but neither flats' angles nor where an axis is.
 */
static gboolean
is_angles (const char *name)
{
  g_autofree char *low = g_ascii_strdown (name, -1);

  return (strstr (low, "angle") || strstr (low, "theta") || g_str_has_prefix (low, "rot"))
         && !strstr (low, "axis") && !strstr (low, "cent")
         && td_name_role (name) == TD_NAME_PROJECTION;
}

gboolean
td_h5_scan_angles_beside (TdScan *scan, hid_t file, const char *projections, GError **error)
{
  TdScanFacts *facts = &scan->facts;
  g_autofree char *folder = g_path_get_dirname (projections);
  g_auto (TdH5Id) group = td_h5_find (file, folder, NULL);
  g_auto (GStrv) names = group >= 0 ? td_h5_names (group) : NULL;

  g_autofree char *for_rows = NULL;

  for (guint i = 0; names && names[i] && !facts->angles_rad; i++) {
    g_auto (TdH5Id) dataset
        = is_angles (names[i]) ? td_h5_find_dataset (group, names[i], NULL) : -1;
    g_autofree char *path = g_build_path ("/", folder, names[i], NULL);
    g_autofree char *label = td_h5_label (facts->path, path);
    g_autofree double *numbers
        = dataset >= 0 ? td_h5_numbers (dataset, label, &(gsize) { 0 }, NULL) : NULL;
    g_auto (TdH5Id) space = numbers ? H5Dget_space (dataset) : -1;
    const hssize_t stated = space < 0 ? 0 : H5Sget_simple_extent_npoints (space);
    gsize n;

    if (stated > 1 && stated == facts->n_rows && !for_rows)
      for_rows = g_strdup (path);
    if (stated != facts->n_views || facts->n_views < 2)
      continue;
    facts->angles_rad = td_h5_read_angles (dataset, label, &n, scan, error);
    if (!facts->angles_rad)
      return FALSE;
    td_scan_note (scan, TD_SCAN_NOTE_ANGLES, path);
  }
  return facts->angles_rad || !for_rows
         || td_scan_refuse_views (error, for_rows, facts->n_rows,
                                  td_message_new ("%u [angle|angles]", facts->n_rows), facts->path,
                                  (const guint[]) { facts->n_views, facts->n_rows });
}

typedef struct {
  const TdScanFacts *facts;
  char *only, *place; /* of the first: links to it are no others */
  guint n;
  guint others; /* angles of the first list that are not as many as views; 0: there is none */
  char *others_path;
} Angles;

/* How many angles the data set is a list of; 0: it is none. */
static guint
scan_beside_count_angles (hid_t dataset, const char *path)
{
  hsize_t shape[1] = { 0 };

  if (dataset < 0 || td_h5_shape (dataset, shape, 1) != 1 || shape[0] > TD_SCAN_MAX_FRAMES
      || td_h5_path_role (path) != TD_NAME_PROJECTION)
    return 0;
  g_autofree double *numbers = td_h5_numbers (dataset, path, &(gsize) { 0 }, NULL);
  return numbers ? (guint) shape[0] : 0;
}

static gboolean
scan_beside_visit (hid_t group, const char *path, gpointer user)
{
  Angles *angles = user;
  g_auto (GStrv) names = td_h5_names (group);

  for (guint i = 0; names && names[i]; i++) {
    g_auto (TdH5Id) dataset
        = is_angles (names[i]) ? td_h5_find_dataset (group, names[i], NULL) : -1;
    g_autofree char *own = g_build_path ("/", path, names[i], NULL);
    const guint n = scan_beside_count_angles (dataset, own);
    g_autofree char *place = n == angles->facts->n_views ? td_h5_place (dataset) : NULL;

    if (!place && n > 1 && angles->others == 0) {
      angles->others = n;
      angles->others_path = g_strdup (own);
    }
    if (!place || g_strcmp0 (place, angles->place) == 0)
      continue;
    if (angles->n++ == 0) {
      angles->only = g_steal_pointer (&own);
      angles->place = g_steal_pointer (&place);
    }
  }
  return angles->n > 1;
}

gboolean
td_h5_scan_angles_elsewhere (TdScan *scan, hid_t file, GError **error)
{
  TdScanFacts *facts = &scan->facts;
  Angles angles = { .facts = facts };

  if (facts->angles_rad || facts->n_views < 2)
    return TRUE;
  td_h5_visit_groups (file, scan_beside_visit, &angles);
  g_autofree char *path = angles.only, *place = angles.place, *others = angles.others_path;
  g_autofree char *label = path ? td_h5_label (facts->path, path) : NULL;
  g_auto (TdH5Id) dataset = angles.n == 1 ? td_h5_find_dataset (file, path, NULL) : -1;
  gsize n;
  if (angles.n == 0 && angles.others > 0 && angles.others == facts->n_columns)
    return td_set_error (
        error, TD_ERROR_ANGLES,
        "“%s” states %u angles, as many as “%s” has columns, but it has %u projections: write its "
        "frames in the order frame, row, column, or row, frame, column ({sinograms})",
        others, angles.others, facts->path, facts->n_views);
  if (angles.n == 0 && angles.others > 0)
    return td_scan_refuse_views (error, others, angles.others,
                                 td_message_new ("%u [angle|angles]", angles.others), facts->path,
                                 (const guint[]) { facts->n_views, facts->n_rows });
  if (dataset < 0)
    return TRUE;
  facts->angles_rad = td_h5_read_angles (dataset, label, &n, scan, error);
  if (facts->angles_rad)
    td_scan_note (scan, TD_SCAN_NOTE_ANGLES, path);
  return facts->angles_rad != NULL;
}
