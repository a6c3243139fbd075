/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctsimu-geometry.h"

#include <math.h>
#include <string.h>

#include "error.h"
#include "json-walk.h"

/* Directions closer than this are the same: files state six digits. */
#define SAME 1e-5

typedef struct {
  double centre[3], u[3], v[3], w[3];
} Frame;

static double
ctsimu_geometry_dot (const double a[3], const double b[3])
{
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void
ctsimu_geometry_cross (const double a[3], const double b[3], double out[3])
{
  out[0] = a[1] * b[2] - a[2] * b[1];
  out[1] = a[2] * b[0] - a[0] * b[2];
  out[2] = a[0] * b[1] - a[1] * b[0];
}

static gboolean
ctsimu_geometry_normalise (double a[3])
{
  double length = sqrt (ctsimu_geometry_dot (a, a));

  for (guint i = 0; i < 3; i++)
    a[i] /= length;
  return length > 0 && isfinite (length);
}

static gboolean
ctsimu_geometry_refuse (GError **error, const char *path, TdErrorCode code, const char *why)
{
  td_set_error (error, code, "The geometry in “%s” cannot be used: %s", path, why);
  return FALSE;
}

static gboolean
read_frame (JsonNode *root, const char *path, const char *part, Frame *frame, GError **error)
{
  static const char *const axes[] = { "x", "y", "z" };
  g_autofree char *deviations = g_strconcat ("geometry/", part, "/deviations", NULL);
  JsonNode *node = td_json_at (root, deviations);

  if (node && JSON_NODE_HOLDS_ARRAY (node)
      && json_array_get_length (json_node_get_array (node)) > 0)
    return ctsimu_geometry_refuse (error, path, TD_ERROR_UNSUPPORTED,
                                   "it has deviations from the ideal circular orbit");
  for (guint i = 0; i < 3; i++) {
    g_autofree char *c = g_strconcat ("geometry/", part, "/center/", axes[i], NULL);
    g_autofree char *u = g_strconcat ("geometry/", part, "/vector_u/", axes[i], "/value", NULL);
    g_autofree char *w = g_strconcat ("geometry/", part, "/vector_w/", axes[i], "/value", NULL);

    frame->centre[i] = td_json_length_mm (root, c);
    frame->u[i] = td_json_number (root, u);
    frame->w[i] = td_json_number (root, w);
  }
  if (!isfinite (ctsimu_geometry_dot (frame->centre, frame->centre))
      || !ctsimu_geometry_normalise (frame->u) || !ctsimu_geometry_normalise (frame->w)
      || fabs (ctsimu_geometry_dot (frame->u, frame->w)) > SAME)
    return ctsimu_geometry_refuse (error, path, TD_ERROR_BAD_FILE,
                                   "source, stage or detector is not placed");
  ctsimu_geometry_cross (frame->w, frame->u, frame->v);
  return TRUE;
}

/* Distances along the detector's normal, offsets along its rows and columns. */
static gboolean
ctsimu_geometry_place (const Frame *source, const Frame *stage, const Frame *detector,
                       const char *path, TdGeometry *geometry, GError **error)
{
  double to_stage[3], to_detector[3], sign = ctsimu_geometry_dot (stage->w, detector->v);

  if (fabs (sign + 1) > SAME)
    return ctsimu_geometry_refuse (error, path, TD_ERROR_UNSUPPORTED,
                                   "the rotation axis is not parallel to the detector's columns");
  for (guint i = 0; i < 3; i++) {
    to_stage[i] = stage->centre[i] - source->centre[i];
    to_detector[i] = detector->centre[i] - source->centre[i];
  }
  geometry->source_axis_mm = ctsimu_geometry_dot (to_stage, detector->w);
  geometry->source_detector_mm = ctsimu_geometry_dot (to_detector, detector->w);
  geometry->axis_offset_mm = ctsimu_geometry_dot (to_stage, detector->u);
  geometry->detector_offset_u_px
      = -ctsimu_geometry_dot (to_detector, detector->u) / geometry->pixel_width_mm;
  geometry->detector_offset_v_px
      = -ctsimu_geometry_dot (to_detector, detector->v) / geometry->pixel_height_mm;
  if (!(geometry->source_axis_mm > 0) || !(geometry->source_detector_mm > geometry->source_axis_mm))
    return ctsimu_geometry_refuse (error, path, TD_ERROR_BAD_FILE,
                                   "the stage is not between the source and the detector");
  return TRUE;
}

static gboolean
ctsimu_geometry_read_angles (JsonNode *root, const char *path, guint n_views, double **angles_rad,
                             GError **error)
{
  double start = td_json_angle_rad (root, "acquisition/start_angle");
  double stop = td_json_angle_rad (root, "acquisition/stop_angle");
  const char *direction = td_json_string (root, "acquisition/direction");
  guint stated = td_json_count (root, "acquisition/number_of_projections"), steps;

  if (!isfinite (start) || !isfinite (stop) || stated != n_views) {
    td_set_error (error, TD_ERROR_ANGLES,
                  "“%s” states %u projections, but the scan has %u; give the angles", path, stated,
                  n_views);
    return FALSE;
  }
  steps = td_json_true (root, "acquisition/include_final_angle") ? MAX (n_views - 1, 1) : n_views;
  *angles_rad = g_new (double, n_views);
  for (guint i = 0; i < n_views; i++) {
    double turned = start + (stop - start) * i / steps;

    (*angles_rad)[i] = direction && strcmp (direction, "CW") == 0 ? turned : -turned;
  }
  return TRUE;
}

gboolean
td_ctsimu_geometry_load (const char *path, guint n_views, TdGeometry *geometry, double **angles_rad,
                         GError **error)
{
  g_autoptr (JsonNode) root = td_json_load (path, error);
  const char *type = td_json_string (root, "geometry/source/type");
  Frame source, stage, detector;

  if (!root)
    return FALSE;
  if (!(geometry->pixel_width_mm > 0)) {
    geometry->pixel_width_mm = td_json_length_mm (root, "detector/pixel_pitch/u");
    geometry->pixel_height_mm = td_json_length_mm (root, "detector/pixel_pitch/v");
  }
  if (!(geometry->pixel_width_mm > 0) || !(geometry->pixel_height_mm > 0))
    return ctsimu_geometry_refuse (error, path, TD_ERROR_BAD_FILE, "the pixels have no size");
  if (!read_frame (root, path, "source", &source, error)
      || !read_frame (root, path, "stage", &stage, error)
      || !read_frame (root, path, "detector", &detector, error)
      || !ctsimu_geometry_read_angles (root, path, n_views, angles_rad, error))
    return FALSE;
  geometry->beam = type && strcmp (type, "parallel") == 0 ? TD_BEAM_PARALLEL : TD_BEAM_CONE;
  return ctsimu_geometry_place (&source, &stage, &detector, path, geometry, error);
}
