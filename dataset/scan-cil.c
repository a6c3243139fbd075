/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <string.h>

#include "error.h"
#include "geometry-file.h"
#include "geometry-matrix.h"
#include "scan-hdf5.h"

/* What the Core Imaging Library writes of a scan's geometry beside its frames (NEXUSDataWriter).
 *
 * Source or ray, detector and axis are placed in one frame, in which the detector's directions run
 * along its columns and rows. The first pixel's corner (panel_origin) says which way the stored
 * ones run. Seen from the sample, source and detector turn by minus the angle about the axis.
 *
 * Our z runs against the stored rows. Frames whose columns are then seen from behind are turned
 * round where the beam is a cone. Rows that begin at the bottom (CIL's default) give slices and
 * images in the order of CIL's own volumes.
 */

#define SAME 1e-6 /* of sines: directions are stored as floats */

typedef struct {
  gboolean cone;
  double source[3];               /* a cone's */
  double ray[3];                  /* else */
  double detector[3], u[3], v[3]; /* middle; directions of columns and rows as they are stored */
  double axis[3], along[3];
  double pixel[2];
  gboolean right; /* columns begin at the right */
} CilSetup;

static gboolean
cil_refuse (GError **error, const char *path, const char *why)
{
  return td_set_error (error, TD_ERROR_BAD_FILE, "“%s”: %p", path, td_message_unpack (why));
}

/* Of two or three coordinates. FALSE: they are not there. */
static gboolean
cil_vector (hid_t config, const char *path, double vector[3])
{
  g_auto (TdH5Id) dataset = td_h5_find_dataset (config, path, NULL);
  gsize n = 0;
  g_autofree double *numbers = dataset < 0 ? NULL : td_h5_numbers (dataset, path, &n, NULL);

  if (!numbers || n < 2 || n > 3)
    return FALSE;
  for (gsize i = 0; i < 3; i++)
    vector[i] = i < n ? numbers[i] : 0;
  return isfinite (td_dot3 (vector, vector));
}

static gboolean
cil_direction (hid_t config, const char *path, double vector[3])
{
  return cil_vector (config, path, vector) && td_normalise3 (vector);
}

/* As versions before 21 wrote it: distances, along y. */
static void
cil_read_old (hid_t dataset, CilSetup *setup)
{
  setup->ray[1] = 1;
  setup->cone
      = setup->cone && td_h5_attribute_numbers (dataset, "dist_source_center", setup->source + 1, 1)
        && td_h5_attribute_numbers (dataset, "dist_center_detector", setup->detector + 1, 1);
  setup->source[1] = -setup->source[1];
}

static gboolean
cil_read (hid_t dataset, hid_t config, const char *path, CilSetup *setup, GError **error)
{
  g_autofree char *beam = td_h5_attribute_string (dataset, config < 0 ? "geom_type" : "geometry");
  g_autofree char *origin = td_h5_attribute_string (dataset, "panel_origin");
  const gboolean plane = H5Lexists (config, "detector/direction_y", H5P_DEFAULT) <= 0;

  *setup = (CilSetup) { .u = { 1, 0, 0 }, .v = { 0, 0, 1 }, .along = { 0, 0, 1 } };
  setup->cone = beam && strstr (beam, "cone");
  if (config < 0)
    cil_read_old (dataset, setup);
  else if (!(setup->cone ? cil_vector (config, "source/position", setup->source)
                         : cil_direction (config, "ray/direction", setup->ray))
           || !cil_vector (config, "detector/position", setup->detector)
           || !cil_vector (config, "rotation_axis/position", setup->axis)
           || !cil_direction (config, "detector/direction_x", setup->u)
           || (!plane
               && (!cil_direction (config, "detector/direction_y", setup->v)
                   || !cil_direction (config, "rotation_axis/direction", setup->along))))
    return cil_refuse (error, path,
                       N_ ("its “config” places no source, detector or axis; write the scan anew, "
                           "or state a geometry file ({geometry:FILE})"));
  if (!td_h5_attribute_numbers (dataset, "pixel_size_h", &setup->pixel[0], 1)
      || !(setup->pixel[0] > 0))
    return cil_refuse (error, path, N_ ("it states no size of the pixels (pixel_size_h)"));
  if (!td_h5_attribute_numbers (dataset, "pixel_size_v", &setup->pixel[1], 1)
      || !(setup->pixel[1] > 0))
    setup->pixel[1] = setup->pixel[0];
  setup->right = origin && strstr (origin, "right");
  for (guint i = 0; i < 3; i++) {
    setup->u[i] *= setup->right ? -1 : 1;
    setup->v[i] *= origin && strstr (origin, "top") ? -1 : 1;
  }
  return TRUE;
}

/* Columns that run against the beam's right are seen from behind. */
static gboolean
cil_is_mirrored (const CilSetup *setup, double normal[3])
{
  double beam[3];

  td_cross3 (setup->u, setup->v, normal);
  td_between3 (setup->source, setup->detector, beam);
  return setup->cone && td_dot3 (beam, normal) < 0;
}

static gboolean
cil_place_parallel (const CilSetup *setup, const double normal[3], TdGeometry *geometry)
{
  const double across = td_dot3 (setup->ray, normal);
  double seen[3]; /* from the detector's middle to where the axis is seen */

  geometry->beam = TD_BEAM_PARALLEL;
  td_between3 (setup->detector, setup->axis, seen);
  const double way = -td_dot3 (seen, normal) / across;
  for (guint i = 0; i < 3; i++)
    seen[i] += way * setup->ray[i];
  geometry->detector_offset_u_px = td_dot3 (seen, setup->u) / setup->pixel[0];
  return fabs (across) > 1 - SAME;
}

/* @angles: as they are stored. */
static gboolean
cil_place (TdGeometryFile *file, CilSetup *setup, const double *angles, guint n, GError **error)
{
  double normal[3];
  const double upright = td_dot3 (setup->along, setup->v);

  file->mirrored = cil_is_mirrored (setup, normal);
  for (guint i = 0; i < 3 && file->mirrored; i++) {
    setup->u[i] = -setup->u[i];
    normal[i] = -normal[i];
  }
  if (fabs (td_dot3 (setup->u, setup->v)) > SAME || !(fabs (upright) > 1 - SAME))
    return cil_refuse (error, file->path,
                       N_ ("its axis is not parallel to the detector's columns; state a geometry "
                           "file with a matrix a view ({geometry:FILE})"));
  file->geometry.pixel_width_mm = setup->pixel[0];
  file->geometry.pixel_height_mm = setup->pixel[1];
  if (!(setup->cone ? td_geometry_place_cone (&file->geometry, setup->source, setup->axis,
                                              setup->detector, setup->u, setup->v, normal)
                    : cil_place_parallel (setup, normal, &file->geometry)))
    return cil_refuse (error, file->path,
                       setup->cone ? N_ ("the axis is not between the source and the detector")
                                   : N_ ("its rays do not meet the detector squarely: laminography "
                                         "cannot be reconstructed"));
  file->n_angles = n;
  file->angles_rad = g_new (double, n);
  for (guint i = 0; i < n; i++)
    file->angles_rad[i]
        = (upright > 0 ? angles[i] : -angles[i]) + (setup->right != file->mirrored ? G_PI : 0);
  return TRUE;
}

/* The library's order may be changed by who writes, but ours needs rows of columns. */
static gboolean
cil_check_order (hid_t dataset, const char *path, GError **error)
{
  g_autofree char *type = td_h5_attribute_string (dataset, "data_type");
  g_autofree char *last = NULL;

  if (type && strcmp (type, "ImageData") == 0)
    return cil_refuse (error, path,
                       N_ ("it is a volume of the Core Imaging Library (ImageData), which is "
                           "reconstructed already; open the projections"));
  for (guint i = 1; i < 5; i++) {
    g_autofree char *name = g_strdup_printf ("dim%u", i);
    char *label = td_h5_attribute_string (dataset, name);
    if (label) {
      g_free (last);
      last = label;
    }
  }
  return !last || strcmp (last, "horizontal") == 0
         || cil_refuse (error, path,
                        N_ ("its last dimension is not “horizontal”; write it in the order angle, "
                            "vertical, horizontal (reorder)"));
}

gboolean
td_h5_scan_take_cil (TdScan *scan, hid_t file, const char *path, const TdScanOptions *options,
                     GError **error)
{
  TdScanFacts *facts = &scan->facts;
  g_auto (TdH5Id) dataset = td_h5_find_dataset (file, path, NULL);
  g_autofree char *group = g_path_get_dirname (path), *entry = g_path_get_dirname (group);
  g_autofree char *beside = g_build_path ("/", entry, "config", NULL);
  g_auto (TdH5Id) config = td_h5_find (file, beside, NULL);
  const gboolean placed = config >= 0 && H5Lexists (config, "rotation_axis", H5P_DEFAULT) > 0;
  g_auto (TdH5Id) angles = placed ? td_h5_find_dataset (config, "angles", NULL) : -1;
  g_autoptr (TdGeometryFile) own = td_geometry_file_new (facts->path, "Core Imaging Library");
  g_autofree char *label = g_strconcat (beside, "/angles", NULL);
  const double *known = facts->angles_rad;
  double first = 0;
  gsize n = facts->n_views;
  CilSetup setup;

  if (!cil_check_order (dataset, facts->path, error))
    return FALSE;
  if ((!placed && !td_h5_attribute_numbers (dataset, "dist_source_center", &first, 1))
      || options->geometry || options->source_axis_mm > 0)
    return td_h5_scan_check_cone (scan, dataset, path, options, error);
  g_autofree double *stored
      = angles < 0 ? NULL : td_h5_read_angles (angles, label, &n, scan, error);
  if (!cil_read (dataset, placed ? config : -1, facts->path, &setup, error)
      || (angles >= 0 && !stored))
    return FALSE;
  if (angles >= 0 && td_h5_attribute_numbers (angles, "initial_angle", &first, 1))
    for (gsize i = 0; i < n; i++)
      stored[i] += first * td_h5_angle_unit (angles);
  if (!stored && !known)
    return td_h5_scan_check_cone (scan, dataset, path, options, error);
  if (!cil_place (own, &setup, stored ? stored : known, (guint) n, error))
    return FALSE;
  td_messages_note (&own->notes, "The Core Imaging Library states no unit of lengths: millimetres "
                                 "were taken.");
  return td_geometry_file_apply (own, scan, options->angles != NULL, error);
}
