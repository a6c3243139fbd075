/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cone.h"

#include <math.h>
#include <string.h>

#include "compute/angles.h"
#include "dataset/error.h"
#include "dataset/geometry-matrix.h"

/* Millimetres on the axis that one detector column spans, along the detector's u. */
static double
axis_pitch (const double matrix[12])
{
  double square = 0;

  /* u = (row 0 . p) / (row 2 . p); at the origin row 2 . p = 1 and row 0 . p = matrix[3]. */
  for (guint i = 0; i < 3; i++) {
    const double slope = matrix[i] - matrix[3] * matrix[8 + i];
    square += slope * slope;
  }
  return 1 / sqrt (square);
}

/* The cosine weight of the ray through the axis is that of a detector square to it. */
double
td_cone_filter_gain (const double matrix[12])
{
  const double u = matrix[3], v = matrix[7];
  double source[3], q[6];

  td_cone_source (matrix, source);
  td_cone_cosine (matrix, q);
  const double own
      = 1 / sqrt (q[0] * u * u + q[1] * v * v + q[2] + q[3] * u * v + q[4] * u + q[5] * v);
  const double square
      = hypot (source[0], source[1]) / hypot (hypot (source[0], source[1]), source[2]);
  return axis_pitch (matrix) * own / square;
}

static gboolean
cone_task_fill_matrices (TdConeTask *task, const TdGeometry *geometry, const double *angles_rad,
                         GError **error)
{
  for (guint view = 0; view < task->n_views; view++)
    if (!td_cone_view_matrix (geometry, angles_rad, view, task->n_columns, task->n_rows,
                              task->matrices + 12 * (gsize) view))
      return td_set_error (
          error, TD_ERROR_BAD_FILE,
          "The projection matrix of view %u puts the rotation axis into the source's plane; "
          "check the geometry file.",
          view);
  return TRUE;
}

static gboolean
check_geometry (const TdGeometry *geometry, const double *angles_rad, guint n_views, GError **error)
{
  if (!geometry->view_matrices && !angles_rad)
    return td_set_error (error, TD_ERROR_BAD_FILE,
                         "Filtered projections need a projection matrix for every view.");
  if (geometry->view_matrices && geometry->n_view_matrices != n_views)
    return td_set_error (error, TD_ERROR_BAD_FILE,
                         "The geometry describes %u [view|views], but the scan has %u; give the "
                         "geometry of this scan.",
                         geometry->n_view_matrices, n_views);
  if (!geometry->view_matrices
      && (!(geometry->source_axis_mm > 0)
          || !(geometry->source_detector_mm > geometry->source_axis_mm)
          || !(geometry->pixel_width_mm > 0) || !(geometry->pixel_height_mm > 0)))
    return td_set_error (
        error, TD_ERROR_BAD_FILE,
        "A cone-beam reconstruction needs the pixel size, a source-axis distance above 0 and "
        "a larger source-detector distance (found pixel %g mm, %g mm and %g mm); give them "
        "with {pixel-mm}, {sod-mm} and {sdd-mm} or a geometry file.",
        geometry->pixel_width_mm, geometry->source_axis_mm, geometry->source_detector_mm);
  return TRUE;
}

static gboolean
init_matrices (TdConeTask *task, const TdGeometry *geometry, const double *angles_rad,
               guint n_views, guint n_columns, guint n_rows, GError **error)
{
  memset (task, 0, sizeof *task);
  if (!check_geometry (geometry, angles_rad, n_views, error))
    return FALSE;
  task->n_columns = task->n_measured = n_columns;
  task->n_rows = n_rows;
  task->n_views = n_views;
  task->matrices = g_new (double, 12 * (gsize) n_views);
  task->view_weights = g_new (double, n_views);
  if (!cone_task_fill_matrices (task, geometry, angles_rad, error)) {
    td_cone_task_clear (task);
    return FALSE;
  }
  return TRUE;
}

/* Twice the columns on the axis' longer side: what an offset detector sees in a turn. @axis: the
   column that it projects to. */
static guint
columns_of_turn (const TdConeTask *task, double axis)
{
  const double longer = MAX (axis + 0.5, task->n_columns - 0.5 - axis);

  return (guint) CLAMP (ceil (2 * longer - 1e-6), task->n_columns, 2.0 * task->n_columns);
}

double
td_cone_pixel_aspect (const TdGeometry *geometry)
{
  const double *m = geometry->view_matrices;
  double across[3], down[3];

  if (!m)
    return geometry->pixel_height_mm / geometry->pixel_width_mm;
  /* The third row is the detector's normal. What the others have across it is the distance to
     the detector, in columns and in rows. */
  td_cross3 (m, m + 8, across);
  td_cross3 (m + 4, m + 8, down);
  return sqrt (td_dot3 (across, across) / td_dot3 (down, down));
}

#define MOST_SLICES 1048576
/* What of a slice or a row is not worth one more. */
#define LITTLE 0.01

guint
td_cone_slices (guint n_rows, double aspect)
{
  const double n = n_rows * aspect;

  /* Pixels that differ by less than a row in all are taken for square ones. One row is a slice. */
  if (n_rows == 1 || !isfinite (n) || fabs (n - n_rows) < 1)
    return n_rows;
  return (guint) CLAMP (ceil (n - LITTLE), 1, MOST_SLICES);
}

double
td_cone_rows_per_mm (const double matrix[12])
{
  const double *m = matrix;

  return (m[6] - m[7] / m[11] * m[10]) / m[11];
}

/* How far up the axis the detector's middle row sees it, in mm. @cropped_rows: of the way there,
   what a crop has moved already. */
static double
cone_task_middle (const TdConeTask *task, double cropped_rows)
{
  double sum = 0;

  for (guint view = 0; view < task->n_views; view++) {
    const double *m = task->matrices + 12 * (gsize) view;
    sum += ((task->n_rows - 1) / 2.0 - m[7] / m[11] - cropped_rows) / td_cone_rows_per_mm (m);
  }
  return sum / task->n_views;
}

/* The same in whole slices: half a slice stays, however it was rounded. */
static double
cone_task_raise (const TdConeTask *task)
{
  const double slices = task->middle_mm / task->voxel_mm;

  return isfinite (slices)
             ? copysign (ceil (fabs (slices) - 0.5 - LITTLE / 2), slices) * task->voxel_mm
             : 0;
}

/* The geometry's own volume, or as many voxels of the pitch across as a turn's @redundancy sees. */
static void
init_volume (TdConeTask *task, const TdGeometry *geometry, TdRedundancyKind redundancy)
{
  const guint across = redundancy == TD_REDUNDANCY_WANG
                           ? columns_of_turn (task, task->matrices[3] / task->matrices[11])
                           : task->n_columns;
  double source[3], pitch_sum = 0;

  for (guint view = 0; view < task->n_views; view++)
    pitch_sum += axis_pitch (task->matrices + 12 * (gsize) view);
  task->pitch_mm = pitch_sum / task->n_views;
  td_cone_source (task->matrices, source);
  task->source_axis_mm = hypot (source[0], source[1]);
  if (td_geometry_has_volume (geometry))
    td_cone_task_set_volume (task, geometry->volume_size[0], geometry->volume_size[1],
                             geometry->volume_size[2], geometry->voxel_mm);
  else
    td_cone_task_set_volume (task, across, across,
                             td_cone_slices (task->n_rows, td_cone_pixel_aspect (geometry)),
                             task->pitch_mm);
  /* Where the axis crosses the middle row of those that a crop left. */
  if (geometry->cropped_px[1] != 0)
    task->first_mm[2] += geometry->cropped_px[1] / td_cone_rows_per_mm (task->matrices);
  if (td_geometry_has_volume (geometry))
    return;
  task->middle_mm = cone_task_middle (task, geometry->cropped_px[1]);
  /* Matrices say where the origin is: their volume stays about it. */
  if (geometry->view_matrices)
    task->unseen_mm = cone_task_raise (task);
  else
    task->raised_mm = cone_task_raise (task);
  task->first_mm[2] += task->raised_mm;
}

/* The columns that the axis crosses in the first row and in the last: they differ if the detector
   is turned in its plane. */
static void
axis_columns (const TdConeTask *task, double columns[2])
{
  const double middle = task->matrices[3] / task->matrices[11];
  TdConeFan fan = { .right = { 1, 0, -middle } };

  if (!td_cone_fan (task->matrices, &fan) || fan.right[0] == 0)
    fan = (TdConeFan) { .right = { 1, 0, -middle } };
  for (guint i = 0; i < 2; i++)
    columns[i] = -(fan.right[1] * (i ? task->n_rows - 1.0 : 0) + fan.right[2]) / fan.right[0];
}

void
td_cone_task_widen (TdConeTask *task)
{
  double axis[2];

  if (task->redundancy.kind != TD_REDUNDANCY_WANG || task->n_columns != task->n_measured)
    return;
  axis_columns (task, axis);
  task->n_columns = MAX (columns_of_turn (task, axis[0]), columns_of_turn (task, axis[1]));
  if (task->matrices[3] / task->matrices[11] < (task->n_measured - 1) / 2.0)
    task->shift = task->n_columns - task->n_measured;
  for (guint view = 0; view < task->n_views; view++)
    td_matrix_shift (task->matrices + 12 * (gsize) view, task->shift);
}

gboolean
td_cone_portrait (const TdGeometry *geometry, guint n_columns, guint n_rows)
{
  const double angle = 0;
  double m[12];

  if (geometry->beam != TD_BEAM_CONE || n_rows < 2
      || !td_cone_view_matrix (geometry, &angle, 0, n_columns, n_rows, m))
    return FALSE;
  /* Pixels that a step along the axis makes. */
  return fabs (m[2] - m[3] * m[10]) > fabs (m[6] - m[7] * m[10]);
}

gboolean
td_cone_scan_portrait (const TdScanFacts *facts)
{
  return !facts->filtered && td_cone_portrait (&facts->geometry, facts->n_columns, facts->n_rows);
}

/* A detector that lies on its side sees the volume of one that is turned up. FALSE: the task is
 * cleared. */
static gboolean
take_turned_volume (TdConeTask *task, const TdGeometry *geometry, const double *angles_rad,
                    GError **error)
{
  TdGeometry turned;
  TdConeTask other;

  if (!td_cone_portrait (geometry, task->n_columns, task->n_rows))
    return TRUE;
  td_geometry_copy (&turned, geometry);
  td_geometry_turn_image (&turned, task->n_columns);
  const gboolean good = td_cone_task_init_rays (&other, &turned, angles_rad, task->n_views,
                                                task->n_rows, task->n_columns, error);
  td_geometry_clear (&turned);
  if (!good) {
    td_cone_task_clear (task);
    return FALSE;
  }
  td_cone_task_set_volume (task, other.nx, other.ny, other.nz, other.voxel_mm);
  memcpy (task->first_mm, other.first_mm, sizeof task->first_mm);
  task->middle_mm = other.middle_mm;
  task->raised_mm = other.raised_mm;
  task->unseen_mm = other.unseen_mm;
  td_cone_task_clear (&other);
  return TRUE;
}

gboolean
td_cone_task_init (TdConeTask *task, const TdGeometry *geometry, const double *angles_rad,
                   guint n_views, guint n_columns, guint n_rows, GError **error)
{
  if (!init_matrices (task, geometry, angles_rad, n_views, n_columns, n_rows, error))
    return FALSE;
  if (!td_cone_redundancy (geometry, angles_rad, n_views, n_columns, n_rows, &task->redundancy,
                           error)) {
    td_cone_task_clear (task);
    return FALSE;
  }
  /* A short scan's ends get half a step beyond them, where Parker's weights are 0 anyway. */
  td_angular_weights (angles_rad, n_views, 2 * G_PI, task->view_weights, NULL);
  for (guint view = 0; view < n_views; view++)
    task->view_weights[view] /= td_cone_filter_gain (task->matrices + 12 * (gsize) view);
  init_volume (task, geometry, task->redundancy.kind);
  return take_turned_volume (task, geometry, angles_rad, error);
}

gboolean
td_cone_task_init_rays (TdConeTask *task, const TdGeometry *geometry, const double *angles_rad,
                        guint n_views, guint n_columns, guint n_rows, GError **error)
{
  TdRedundancy redundancy;

  if (!init_matrices (task, geometry, angles_rad, n_views, n_columns, n_rows, error))
    return FALSE;
  for (guint view = 0; view < n_views; view++)
    task->view_weights[view] = 1;
  /* Arcs that no weights make whole are taken here, too. */
  if (!td_cone_redundancy (geometry, angles_rad, n_views, n_columns, n_rows, &redundancy, NULL))
    redundancy.kind = TD_REDUNDANCY_FULL;
  init_volume (task, geometry, redundancy.kind);
  return take_turned_volume (task, geometry, angles_rad, error);
}

gboolean
td_cone_task_init_filtered (TdConeTask *task, const TdGeometry *geometry, guint n_views,
                            guint n_columns, guint n_rows, GError **error)
{
  if (!init_matrices (task, geometry, NULL, n_views, n_columns, n_rows, error))
    return FALSE;
  for (guint view = 0; view < n_views; view++) {
    const double w = geometry->view_matrices[12 * (gsize) view + 11];
    task->view_weights[view] = 1 / (w * w);
  }
  init_volume (task, geometry, TD_REDUNDANCY_FULL);
  return TRUE;
}

void
td_cone_task_set_volume (TdConeTask *task, guint nx, guint ny, guint nz, double voxel_mm)
{
  task->nx = nx;
  task->ny = ny;
  task->nz = nz;
  task->voxel_mm = voxel_mm;
  task->first_mm[0] = -(nx - 1.0) / 2 * voxel_mm;
  task->first_mm[1] = (ny - 1.0) / 2 * voxel_mm;
  task->first_mm[2] = (nz - 1.0) / 2 * voxel_mm;
}

void
td_cone_task_copy (TdConeTask *to, const TdConeTask *from)
{
  *to = *from;
  to->matrices = g_memdup2 (from->matrices, 12 * (gsize) from->n_views * sizeof (double));
  to->view_weights = g_memdup2 (from->view_weights, (gsize) from->n_views * sizeof (double));
  to->tilted.homographies
      = g_memdup2 (from->tilted.homographies, 9 * (gsize) from->tilted.n * sizeof (double));
}

void
td_cone_task_clear (TdConeTask *task)
{
  g_free (task->matrices);
  g_free (task->view_weights);
  g_free (task->tilted.homographies);
  memset (task, 0, sizeof *task);
}
