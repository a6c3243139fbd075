/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "nexus-angles.h"

#include <math.h>
#include <string.h>

#include "error.h"
#include "scan-hdf5.h"

/* Half of this apart and two lists of angles are held to say the same. */
#define SAME_RAD 1e-4

typedef struct {
  hid_t file;
  const TdNexusPlace *place;
  gsize n_frames, n_projections;
  TdScan *scan;
  char *missing;
} Search;

/* @path's angles if there is one for each frame or each projection; NULL otherwise. */
static double *
try_path (Search *search, const char *path, gsize *n)
{
  g_autofree char *missing = NULL, *label = td_h5_label (td_scan_facts (search->scan)->path, path);
  g_auto (TdH5Id) dataset = td_h5_find_dataset (search->file, path, &missing);
  double *angles;

  if (missing && !search->missing)
    search->missing = g_steal_pointer (&missing);
  if (dataset < 0)
    return NULL;
  angles = td_h5_read_angles (dataset, label, n, search->scan, NULL);
  if (angles && *n != search->n_frames && *n != search->n_projections)
    g_clear_pointer (&angles, g_free);
  return angles;
}

static gboolean
nexus_angles_turns (const double *angles, gsize n)
{
  double low = INFINITY, high = -INFINITY;

  for (gsize i = 0; i < n; i++) {
    low = fmin (low, angles[i]);
    high = fmax (high, angles[i]);
  }
  return n == 1 || high - low > SAME_RAD;
}

static gboolean
nexus_angles_same (const double *a, const double *b, gsize n)
{
  for (gsize i = 0; i < n; i++)
    if (!(fabs (a[i] - b[i]) < SAME_RAD))
      return FALSE;
  return TRUE;
}

static double *
find_defined (Search *search, gsize *n)
{
  static const char *const places[]
      = { "sample/rotation_angle", "data/rotation_angle", "instrument/detector/rotation_angle" };
  double *taken = NULL;
  guint taken_at = 0;

  for (guint i = 0; i < G_N_ELEMENTS (places); i++) {
    g_autofree char *path = g_strconcat (search->place->entry, "/", places[i], NULL);
    g_autofree double *angles = NULL;
    gsize found;

    angles = try_path (search, path, &found);
    if (angles && !taken) {
      taken = g_steal_pointer (&angles);
      taken_at = i;
      *n = found;
    } else if (angles && found == *n && !nexus_angles_same (taken, angles, found))
      td_scan_note (search->scan, "%s and %s disagree: the angles of %s were taken.",
                    places[taken_at], places[i], places[taken_at]);
  }
  return taken;
}

static gboolean
is_angle_name (const char *name)
{
  static const char *const words[] = { "theta", "angle", "rot", "omega", "phi", NULL };
  g_autofree char *low = g_ascii_strdown (name, -1);

  for (guint i = 0; words[i]; i++)
    if (strstr (low, words[i]))
      return TRUE;
  return FALSE;
}

static double *
find_in_data_group (Search *search, gsize *n)
{
  g_autofree char *detector
      = search->place->detector ? g_path_get_basename (search->place->detector) : g_strdup ("data");
  g_autofree char *data = g_strconcat (search->place->entry, "/", detector, NULL);
  g_auto (TdH5Id) group = td_h5_find (search->file, data, NULL);
  g_auto (GStrv) names
      = group >= 0 && H5Iget_type (group) == H5I_GROUP ? td_h5_names (group) : NULL;

  for (guint i = 0; names && names[i]; i++) {
    g_autofree char *path = g_strconcat (data, "/", names[i], NULL);
    g_autofree double *angles = NULL;

    if (!is_angle_name (names[i]))
      continue;
    angles = try_path (search, path, n);
    if (angles && nexus_angles_turns (angles, *n)) {
      td_scan_note (search->scan, "The file defines no rotation angle; %s was taken.", path);
      return g_steal_pointer (&angles);
    }
  }
  return NULL;
}

double *
td_nexus_read_angles (hid_t file, const TdNexusPlace *place, guint n_frames, guint n_projections,
                      TdScan *scan, gsize *n, GError **error)
{
  TD_H5_GUARD;
  Search search = { file, place, n_frames, n_projections, scan, NULL };
  double *angles = find_defined (&search, n);

  if (!angles)
    angles = find_in_data_group (&search, n);
  if (!angles && search.missing)
    td_set_error (error, TD_ERROR_NOT_FOUND,
                  "“%s” has no angles: %s; copy it beside the file, or give the angles",
                  td_scan_facts (scan)->path, search.missing);
  else if (!angles)
    td_set_error (error, TD_ERROR_ANGLES,
                  "“%s” has no rotation angle for each of its %u frames: give a file of angles, or "
                  "the first and the last angle in degrees, for example 0:180",
                  td_scan_facts (scan)->path, n_frames);
  g_free (search.missing);
  return angles;
}
