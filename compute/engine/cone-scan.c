/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cone-scan.h"

#include <math.h>
#include <string.h>

#include "dataset/geometry-matrix.h"

const char *
td_cone_scan_unsupported (const TdScanFacts *facts, const TdRecipe *recipe)
{
  if (recipe->tilt_deg != 0 && facts->geometry.view_matrices)
    return N_ ("The scan gives a projection matrix for every view, which says how the axis stands: "
               "leave {tilt} out");
  if (recipe->reverse_rotation && facts->geometry.view_matrices)
    return N_ ("The scan gives a projection matrix for every view, which says how it turned: leave "
               "{reverse-rotation} out");
  return NULL;
}

/* @crop: columns and rows that are seen. @bin: pixels of these that are put together. */
static guint
cone_scan_slices (const TdScanFacts *facts, const guint crop[2], const guint bin[2])
{
  const TdGeometry *geometry = &facts->geometry;
  const double aspect = td_cone_pixel_aspect (geometry) * bin[1] / bin[0];
  const gboolean portrait = td_cone_scan_portrait (facts);
  const guint across = bin[portrait ? 1 : 0];

  if (td_geometry_has_volume (geometry))
    return (geometry->volume_size[2] + across - 1) / across;
  return portrait ? td_cone_slices (crop[0] / bin[0], 1 / aspect)
                  : td_cone_slices (crop[1] / bin[1], aspect);
}

guint
td_cone_scan_slices (const TdScanFacts *facts)
{
  const guint all[2] = { facts->n_columns, facts->n_rows }, bin[2] = { 1, 1 };

  return cone_scan_slices (facts, all, bin);
}

/* Columns and rows that a recipe's crop leaves. */
static void
cone_scan_crop (const TdRecipe *recipe, const TdScanFacts *facts, guint crop[2])
{
  const gboolean cropped = recipe->crop[2] > 0;

  crop[0] = cropped ? (guint) recipe->crop[2] : facts->n_columns;
  crop[1] = cropped ? (guint) recipe->crop[3] : facts->n_rows;
}

guint
td_recipe_slices (const TdRecipe *recipe, const TdScanFacts *facts)
{
  guint crop[2];
  const guint bin[2] = { MAX (recipe->bin[0], 1), MAX (recipe->bin[1], 1) };

  cone_scan_crop (recipe, facts, crop);
  return facts->geometry.beam == TD_BEAM_PARALLEL ? facts->n_rows
                                                  : cone_scan_slices (facts, crop, bin);
}

guint
td_recipe_slice_at (const TdRecipe *recipe, const TdScanFacts *facts, guint row)
{
  const guint n = td_recipe_slices (recipe, facts);
  const double first = recipe->crop[2] > 0 ? recipe->crop[1] : 0;
  guint crop[2];

  cone_scan_crop (recipe, facts, crop);
  if (facts->geometry.beam == TD_BEAM_PARALLEL)
    return row;
  return (guint) CLAMP (floor ((row + 0.5 - first) / crop[1] * n), 0, MAX (n, 1) - 1.0);
}

gboolean
td_cone_scan_raised (const TdScanFacts *facts, double *slices, GError **error)
{
  TdConeTask task;

  *slices = 0;
  if (facts->geometry.beam == TD_BEAM_PARALLEL)
    return TRUE;
  if (!td_cone_task_init_rays (&task, &facts->geometry, facts->angles_rad, facts->n_views,
                               facts->n_columns, facts->n_rows, error))
    return FALSE;
  *slices = task.raised_mm / task.voxel_mm;
  td_cone_task_clear (&task);
  return TRUE;
}

/* The column to which the first view projects the axis. On a circular orbit the detector's tilts
   are left out, so that a tilt moves no centre. */
static double
cone_scan_axis_column (const TdGeometry *geometry, guint n_columns, guint n_rows)
{
  const double origin[3] = { 0, 0, 0 };
  TdGeometry straight = *geometry;
  double matrix[12], u, v, w;

  memset (straight.detector_tilt_rad, 0, sizeof straight.detector_tilt_rad);
  if (geometry->view_matrices)
    memcpy (matrix, geometry->view_matrices, sizeof matrix);
  else
    td_cone_matrix (&straight, 0, n_columns, n_rows, matrix);
  if (!td_cone_matrix_normalise (matrix))
    return NAN;
  td_cone_project (matrix, origin, &u, &v, &w);
  return u;
}

double
td_stated_centre (const TdScanFacts *facts)
{
  if (td_cone_scan_portrait (facts))
    return NAN;
  return facts->geometry.beam == TD_BEAM_PARALLEL || isfinite (facts->centre_px)
             ? facts->centre_px
             : cone_scan_axis_column (&facts->geometry, facts->n_columns, facts->n_rows);
}

/* The recipe's centre is the column that the axis projects to; the geometry has it as an offset. */
static void
cone_scan_apply_centre (TdGeometry *geometry, const TdScanFacts *facts, double centre_px)
{
  if (isnan (centre_px))
    return;
  if (geometry->view_matrices) {
    const double off = centre_px - td_stated_centre (facts);
    for (guint view = 0; view < geometry->n_view_matrices && isfinite (off) && off != 0; view++)
      td_matrix_shift (geometry->view_matrices + 12 * (gsize) view, off);
    return;
  }
  geometry->detector_offset_u_px
      += centre_px - cone_scan_axis_column (geometry, facts->n_columns, facts->n_rows);
}

double *
td_recipe_angles (const TdRecipe *recipe, const TdScanFacts *facts)
{
  double *angles_rad = g_new (double, facts->n_views);
  const double direction = recipe->reverse_rotation ? -1 : 1;
  const double offset = recipe->angle_offset_deg * G_PI / 180;

  for (guint view = 0; view < facts->n_views; view++)
    angles_rad[view] = direction * facts->angles_rad[view] + offset;
  return angles_rad;
}

void
td_cone_scan_geometry (const TdScanFacts *facts, const TdRecipe *recipe, double centre_px,
                       TdGeometry *geometry, double **angles_rad)
{
  const double offset = recipe->angle_offset_deg * G_PI / 180;

  td_geometry_copy (geometry, &facts->geometry);
  cone_scan_apply_centre (geometry, facts, centre_px);
  /* An axis tilted in the detector's plane is a detector rolled about the beam. */
  geometry->detector_tilt_rad[2] += recipe->tilt_deg * G_PI / 180;
  *angles_rad = td_recipe_angles (recipe, facts);
  for (guint view = 0; view < geometry->n_view_matrices && offset != 0; view++)
    td_matrix_turn (geometry->view_matrices + 12 * (gsize) view, offset);
}
