/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "backproject.h"

#include <math.h>

static double
reference_sample (const float *row, guint n_columns, double u, TdInterpolation interpolation)
{
  if (interpolation == TD_INTERPOLATION_NEAREST) {
    double column = floor (u + 0.5);
    return column >= 0 && column < n_columns ? row[(guint) column] : 0;
  }

  double left = floor (u), fraction = u - left;
  double a = left >= 0 && left < n_columns ? row[(guint) left] : 0;
  double b = left >= -1 && left < (double) n_columns - 1 ? row[(guint) (left + 1)] : 0;
  return (1 - fraction) * a + fraction * b;
}

void
td_backproject_reference (const TdBackprojectTask *task, const float *sinogram, double *out)
{
  g_autofree double *cosine = g_new (double, task->n_views);
  g_autofree double *sine = g_new (double, task->n_views);

  for (guint v = 0; v < task->n_views; v++) {
    cosine[v] = cos (task->angles_rad[v]);
    sine[v] = sin (task->angles_rad[v]);
  }

  for (guint j = 0; j < task->ny; j++) {
    double y = task->y0 - j * task->step;
    for (guint i = 0; i < task->nx; i++) {
      double x = task->x0 + i * task->step, sum = 0;
      for (guint v = 0; v < task->n_views; v++) {
        double centre = task->centre_px + (task->axis_px ? task->axis_px[v] : 0);
        double value = reference_sample (sinogram + (gsize) v * task->n_columns, task->n_columns,
                                         centre + x * cosine[v] + y * sine[v], task->interpolation);
        sum += task->weights ? task->weights[v] * value : value;
      }
      out[(gsize) j * task->nx + i] = task->scale * sum;
    }
  }
}
