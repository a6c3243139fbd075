/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "orbit.h"

#include <math.h>
#include <string.h>

#include "compute/engine/cone-scan.h"
#include "dataset/geometry-matrix.h"
#include "labels.h"

/* A parallel beam has no distances: its detector is drawn so many volume radii away. */
#define PARALLEL_RADII 1.6

/* ── Cone and fan ── */

/* The view's matrix with w in millimetres from the source along the detector's normal, and how far
   the detector is. */
static double
cone_matrix (const TdOrbit *orbit, guint view, double matrix[12])
{
  const TdGeometry *geometry = &orbit->geometry;

  if (!orbit->matrices) {
    const double angle = orbit->angles_rad[view];
    const double beam[3] = { -sin (angle), cos (angle), 0 };
    td_cone_matrix (geometry, angle, orbit->n_columns, orbit->n_rows, matrix);
    return geometry->source_detector_mm * td_dot3 (matrix + 8, beam);
  }
  memcpy (matrix, geometry->view_matrices + 12 * (gsize) view, 12 * sizeof *matrix);
  const double norm = sqrt (td_dot3 (matrix + 8, matrix + 8)) * (matrix[11] < 0 ? -1 : 1);
  for (guint i = 0; i < 12; i++)
    matrix[i] /= norm;
  /* A matrix says where rays go, not where the detector cuts them: its pixel size does, by the
     focal length in pixels. */
  const double foot = td_dot3 (matrix, matrix + 8);
  const double focal_px = sqrt (MAX (td_dot3 (matrix, matrix) - foot * foot, 0));
  if (geometry->pixel_width_mm > 0)
    return focal_px * geometry->pixel_width_mm;
  return geometry->source_detector_mm > 0 ? geometry->source_detector_mm : 2 * matrix[11];
}

/* ── Parallel ── */

/* The detector's u, v and the beam; the tilt of the axis is a roll of the detector about the beam.
 */
static void
parallel_frame (const TdOrbit *orbit, guint view, double u[3], double v[3], double beam[3])
{
  const double c = cos (orbit->angles_rad[view]), s = sin (orbit->angles_rad[view]);
  const double ct = cos (orbit->geometry.detector_tilt_rad[2]);
  const double st = sin (orbit->geometry.detector_tilt_rad[2]);

  memcpy (u, (double[3]) { ct * c, ct * s, -st }, 3 * sizeof *u);
  memcpy (v, (double[3]) { -st * c, -st * s, -ct }, 3 * sizeof *v);
  memcpy (beam, (double[3]) { -s, c, 0 }, 3 * sizeof *beam);
}

/* ── Where things are ── */

void
td_orbit_source (const TdOrbit *orbit, guint view, double source[3])
{
  double matrix[12], u[3], v[3], beam[3];

  if (orbit->beam != TD_BEAM_PARALLEL) {
    cone_matrix (orbit, view, matrix);
    td_cone_source (matrix, source);
    return;
  }
  parallel_frame (orbit, view, u, v, beam);
  for (guint i = 0; i < 3; i++)
    source[i] = -PARALLEL_RADII * orbit->half_mm[0] * beam[i];
}

void
td_orbit_pixel (const TdOrbit *orbit, guint view, double u, double v, double point[3])
{
  double matrix[12], source[3], frame[3][3];

  if (orbit->beam != TD_BEAM_PARALLEL) {
    const double distance = cone_matrix (orbit, view, matrix);
    td_cone_source (matrix, source);
    td_cone_pixel (matrix, u, v, point);
    for (guint i = 0; i < 3; i++)
      point[i] = source[i] + distance * (point[i] - source[i]);
    return;
  }
  const TdGeometry *geometry = &orbit->geometry;
  const double du = (u - orbit->centre_px) * geometry->pixel_width_mm;
  const double dv = (v - (orbit->n_rows - 1) / 2.0) * geometry->pixel_height_mm;
  parallel_frame (orbit, view, frame[0], frame[1], frame[2]);
  for (guint i = 0; i < 3; i++)
    point[i]
        = du * frame[0][i] + dv * frame[1][i] + PARALLEL_RADII * orbit->half_mm[0] * frame[2][i];
}

void
td_orbit_project (const TdOrbit *orbit, guint view, const double point[3], double *u, double *v)
{
  double matrix[12], frame[3][3], w;

  if (orbit->beam != TD_BEAM_PARALLEL) {
    cone_matrix (orbit, view, matrix);
    td_cone_project (matrix, point, u, v, &w);
    return;
  }
  parallel_frame (orbit, view, frame[0], frame[1], frame[2]);
  *u = orbit->centre_px + td_dot3 (frame[0], point) / orbit->geometry.pixel_width_mm;
  *v = (orbit->n_rows - 1) / 2.0 + td_dot3 (frame[1], point) / orbit->geometry.pixel_height_mm;
}

void
td_orbit_distances (const TdOrbit *orbit, guint view, double *source_axis, double *source_detector)
{
  double matrix[12], source[3];

  *source_axis = *source_detector = 0;
  if (orbit->beam == TD_BEAM_PARALLEL)
    return;
  *source_detector
      = orbit->matrices ? cone_matrix (orbit, view, matrix) : orbit->geometry.source_detector_mm;
  td_orbit_source (orbit, view, source);
  *source_axis = orbit->matrices ? hypot (source[0], source[1]) : orbit->geometry.source_axis_mm;
}

/* ── Making one ── */

/* As the cone-beam plan does: to larger columns, and round the axis. */
static void
move_matrices (TdOrbit *orbit, double columns, double angle_rad)
{
  for (guint view = 0; view < orbit->geometry.n_view_matrices; view++) {
    double *matrix = orbit->geometry.view_matrices + 12 * (gsize) view;
    if (isfinite (columns) && columns != 0)
      td_matrix_shift (matrix, columns);
    if (angle_rad != 0)
      td_matrix_turn (matrix, angle_rad);
  }
}

static void
apply_recipe (TdOrbit *orbit, const TdScanFacts *facts, const TdRecipe *recipe)
{
  TdGeometry *geometry = &orbit->geometry;
  const double direction = recipe && recipe->reverse_rotation ? -1 : 1;
  const double middle = (facts->n_columns - 1) / 2.0;
  const gboolean portrait = td_cone_scan_portrait (facts);
  double centre = recipe && !portrait ? recipe->centre_px : NAN;

  for (guint view = 0; view < facts->n_views; view++)
    orbit->angles_rad[view] = direction * facts->angles_rad[view]
                              + (recipe ? recipe->angle_offset_deg * G_PI / 180 : 0);
  geometry->detector_tilt_rad[2] += recipe ? recipe->tilt_deg * G_PI / 180 : 0;
  if (orbit->beam == TD_BEAM_PARALLEL) {
    if (!isfinite (centre))
      centre = isfinite (facts->centre_px) ? facts->centre_px : middle;
    orbit->centre_px = centre;
    return;
  }
  if (orbit->matrices) {
    move_matrices (orbit, centre - td_stated_centre (facts),
                   recipe ? recipe->angle_offset_deg * G_PI / 180 : 0);
    return;
  }
  /* As the cone-beam plan takes the recipe's centre, else the file's: the column that the axis
     projects to. */
  if (!isfinite (centre) && !portrait)
    centre = facts->centre_px;
  if (isfinite (centre))
    geometry->detector_offset_u_px = centre - middle
                                     - geometry->axis_offset_mm * geometry->source_detector_mm
                                           / (geometry->source_axis_mm * geometry->pixel_width_mm);
}

static void
place_cone_volume (TdOrbit *orbit)
{
  const TdConeTask *task = &orbit->task;
  const guint n[3] = { task->nx, task->ny, task->nz };

  for (guint i = 0; i < 3; i++) {
    const double side = n[i] * task->voxel_mm;
    orbit->half_mm[i] = side / 2;
    orbit->middle_mm[i] = task->first_mm[i] + (i == 0 ? 1 : -1) * (side - task->voxel_mm) / 2;
  }
}

/* As wide as the slices are: in half acquisition, what both sides of the turn see. */
static void
place_parallel_volume (TdOrbit *orbit, const TdScanFacts *facts, const TdRecipe *recipe)
{
  TdAxisLine axis = td_axis_line (orbit->centre_px, recipe ? recipe->tilt_deg : 0, orbit->n_rows);
  g_autoptr (GError) error = NULL;

  axis.slope *= orbit->geometry.pixel_height_mm / orbit->geometry.pixel_width_mm;
  if (!td_field_choose (facts, recipe ? recipe->field_of_view : TD_FIELD_AUTO, &axis, &orbit->turn,
                        &orbit->field, &error))
    orbit->problem = td_label_error (error);
  orbit->half_mm[0] = orbit->half_mm[1] = orbit->field.columns * orbit->geometry.pixel_width_mm / 2;
  orbit->half_mm[2] = orbit->n_rows * orbit->geometry.pixel_height_mm / 2;
}

static void
orbit_make_task (TdOrbit *orbit)
{
  g_autoptr (GError) error = NULL;

  orbit->has_task
      = td_cone_task_init (&orbit->task, &orbit->geometry, orbit->angles_rad, orbit->n_views,
                           orbit->n_columns, orbit->n_rows, &error)
        && td_cone_redundancy (&orbit->geometry, orbit->angles_rad, orbit->n_views,
                               orbit->n_columns, orbit->n_rows, &orbit->redundancy, &error);
  if (!orbit->has_task) {
    orbit->problem = td_label_error (error);
    return;
  }
  place_cone_volume (orbit);
}

/* The volume of a scan that is not reconstructed is as wide as the detector is at the axis. */
static void
guess_cone_volume (TdOrbit *orbit)
{
  double source_axis, source_detector;

  td_orbit_distances (orbit, 0, &source_axis, &source_detector);
  const double shrink = source_detector > 0 ? source_axis / source_detector : 1;
  orbit->half_mm[0] = orbit->half_mm[1]
      = orbit->n_columns * orbit->geometry.pixel_width_mm / 2 * shrink;
  orbit->half_mm[2] = orbit->n_rows * orbit->geometry.pixel_height_mm / 2 * shrink;
}

static void
measure_radius (TdOrbit *orbit)
{
  const double u[2] = { -0.5, orbit->n_columns - 0.5 }, v[2] = { -0.5, orbit->n_rows - 0.5 };
  const guint step = MAX (orbit->n_views / 90, 1);

  orbit->radius = sqrt (td_dot3 (orbit->half_mm, orbit->half_mm));
  for (guint view = 0; view < orbit->n_views; view += step) {
    double point[3];
    td_orbit_source (orbit, view, point);
    orbit->radius = MAX (orbit->radius, sqrt (td_dot3 (point, point)));
    for (guint corner = 0; corner < 4; corner++) {
      td_orbit_pixel (orbit, view, u[corner % 2], v[corner / 2], point);
      orbit->radius = MAX (orbit->radius, sqrt (td_dot3 (point, point)));
    }
  }
}

static gboolean
can_be_drawn (const TdOrbit *orbit)
{
  const TdGeometry *geometry = &orbit->geometry;

  if (orbit->beam == TD_BEAM_PARALLEL)
    return TRUE;
  if (orbit->matrices)
    return geometry->n_view_matrices == orbit->n_views;
  return geometry->source_axis_mm > 0 && geometry->source_detector_mm > 0
         && geometry->pixel_width_mm > 0 && geometry->pixel_height_mm > 0;
}

TdOrbit *
td_orbit_new (const TdScanFacts *facts, const TdRecipe *recipe)
{
  TdOrbit *orbit = g_new0 (TdOrbit, 1);

  orbit->beam = facts->geometry.beam;
  orbit->n_views = facts->n_views;
  orbit->n_columns = facts->n_columns;
  orbit->n_rows = facts->n_rows;
  orbit->matrices = facts->geometry.view_matrices != NULL;
  orbit->angles_rad = g_new (double, facts->n_views);
  td_geometry_copy (&orbit->geometry, &facts->geometry);
  orbit->in_mm = orbit->geometry.pixel_width_mm > 0 || orbit->matrices;
  if (orbit->beam == TD_BEAM_PARALLEL && !orbit->in_mm)
    orbit->geometry.pixel_width_mm = orbit->geometry.pixel_height_mm = 1;
  if (!(orbit->geometry.pixel_height_mm > 0))
    orbit->geometry.pixel_height_mm = orbit->geometry.pixel_width_mm;
  apply_recipe (orbit, facts, recipe);
  td_turn_of_angles (orbit->angles_rad, orbit->n_views, &orbit->turn);
  if (orbit->beam == TD_BEAM_PARALLEL)
    place_parallel_volume (orbit, facts, recipe);
  else
    orbit_make_task (orbit);
  if (!can_be_drawn (orbit))
    return orbit;
  if (!(orbit->half_mm[0] > 0))
    guess_cone_volume (orbit);
  measure_radius (orbit);
  if (!isfinite (orbit->radius))
    orbit->radius = 0;
  return orbit;
}

void
td_orbit_free (TdOrbit *orbit)
{
  if (!orbit)
    return;
  td_cone_task_clear (&orbit->task);
  td_geometry_clear (&orbit->geometry);
  g_free (orbit->angles_rad);
  g_free (orbit->problem);
  g_free (orbit);
}
