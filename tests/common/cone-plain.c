/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cone-plain.h"

#include <math.h>

#include "compute/cone/cone-rectify.h"
#include "truth.h"

static double
lanczos (double d)
{
  if (fabs (d) < 1e-12)
    return 1;
  return fabs (d) >= 3 ? 0 : 3 * sin (G_PI * d) * sin (G_PI * d / 3) / (G_PI * G_PI * d * d);
}

static double
read_at (const TdConePlain *scan, const float *view, double u, double v)
{
  double sum = 0, weights = 0, across[6];

  for (int i = -2; i <= 3; i++)
    across[i + 2] = lanczos (u - (floor (u) + i));
  for (int j = -2; j <= 3; j++) {
    const double row = floor (v) + j, down = lanczos (v - row);
    for (int i = -2; i <= 3; i++) {
      const double column = floor (u) + i, weight = across[i + 2] * down;
      sum += weight
             * view[(gsize) CLAMP (row, 0, scan->n_rows - 1.0) * scan->n_columns
                    + (gsize) CLAMP (column, 0, scan->n_columns - 1.0)];
      weights += weight;
    }
  }
  return sum / weights;
}

void
td_cone_plain_trace (const double level[12], const double own[12], double column, double row,
                     double *u, double *v)
{
  double point[3], w;

  td_cone_pixel (level, column, row, point);
  td_cone_project (own, point, u, v, &w);
}

/* What the rectified detector's pixel sees, the row taken no farther than the edge of the detector
   that lies above or below. */
static double
resample (const TdConePlain *scan, const double level[12], const double own[12], const float *view,
          double column, double row)
{
  const double last[2] = { scan->n_columns - 1.0, scan->n_rows - 1.0 };
  double at[2], near[2], there[2];

  td_cone_plain_trace (level, own, column, row, &at[0], &at[1]);
  td_cone_plain_trace (level, own, column, row + 0.01, &there[0], &there[1]);
  /* Along a level column: this of the detector's coordinates changes more. */
  const guint along = fabs (there[1] - at[1]) >= fabs (there[0] - at[0]);
  const double edge = CLAMP (at[along], 0, last[along]);
  for (guint i = 0; i < 60 && fabs (at[along] - edge) > 1e-11; i++) { /* Newton's way there */
    td_cone_plain_trace (level, own, column, row + 1e-4, &near[0], &near[1]);
    row -= (at[along] - edge) / ((near[along] - at[along]) / 1e-4);
    td_cone_plain_trace (level, own, column, row, &at[0], &at[1]);
  }
  if (at[!along] < -0.5 || at[!along] > last[!along] + 0.5)
    return 0;
  return read_at (scan, view, at[0], at[1]);
}

/* Weighted and filtered projections of the task's detector. */
static float *
filter_views (const TdConePlain *scan, const TdConeTask *own, const TdConeTask *task,
              gboolean level, const TdFilter *spec)
{
  const gsize wide = task->n_columns, lines = (gsize) task->n_views * task->n_rows;
  g_autofree float *rows = g_new0 (float, lines *wide);

  for (guint view = 0; view < task->n_views; view++) {
    const double *matrix = task->matrices + 12 * (gsize) view;
    const float *measured = scan->views + (gsize) view * scan->n_rows * scan->n_columns;
    double q[6];
    TdConeFan fan;

    td_cone_cosine (matrix, q);
    g_assert_true (td_cone_fan (matrix, &fan));
    for (guint row = 0; row < task->n_rows; row++)
      for (guint k = 0; k < task->n_measured; k++) {
        const double u = k + task->shift, v = row;
        const double cosine
            = 1 / sqrt (q[0] * u * u + q[1] * v * v + q[2] + q[3] * u * v + q[4] * u + q[5] * v);
        const double share = td_cone_redundancy_weight (&own->redundancy, scan->angles_rad[view],
                                                        td_cone_fan_angle (&fan, u, v));
        const double value
            = level ? resample (scan, matrix, own->matrices + 12 * (gsize) view, measured, u, v)
                    : measured[(gsize) row * scan->n_columns + k];
        rows[((gsize) view * task->n_rows + row) * wide + k + task->shift]
            = (float) (cosine * share * value);
      }
  }
  return td_truth_filter (spec, rows, (guint) lines, (guint) wide);
}

double *
td_cone_plain_fdk (const TdConePlain *scan, const TdFilter *filter, gboolean level,
                   TdConeTask *task)
{
  TdConeTask own;
  g_autoptr (GError) error = NULL;

  td_cone_task_init (&own, scan->geometry, scan->angles_rad, scan->n_views, scan->n_columns,
                     scan->n_rows, &error);
  g_assert_no_error (error);
  td_cone_task_copy (task, &own);
  if (level)
    g_assert_true (td_cone_task_rectify (task));
  td_cone_task_widen (task);
  g_autofree float *views = filter_views (scan, &own, task, level, filter);
  double *out = g_new (double, (gsize) task->nz * task->ny * task->nx);
  td_cone_reference (task, views, out);
  td_cone_task_clear (&own);
  return out;
}
