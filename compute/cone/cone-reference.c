/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cone.h"

#include <math.h>

static double
cone_reference_pixel (const TdConeTask *task, const float *view, double column, double row)
{
  if (column < 0 || row < 0 || column >= task->n_columns || row >= task->n_rows)
    return 0;
  return view[(gsize) row * task->n_columns + (gsize) column];
}

/* Bilinear interpolation (iFDK, Algorithm 3), 0 outside the detector. */
static double
cone_reference_sample (const TdConeTask *task, const float *view, double u, double v)
{
  const double u0 = floor (u), v0 = floor (v), fu = u - u0, fv = v - v0;

  return (1 - fv)
             * ((1 - fu) * cone_reference_pixel (task, view, u0, v0)
                + fu * cone_reference_pixel (task, view, u0 + 1, v0))
         + fv
               * ((1 - fu) * cone_reference_pixel (task, view, u0, v0 + 1)
                  + fu * cone_reference_pixel (task, view, u0 + 1, v0 + 1));
}

void
td_cone_reference (const TdConeTask *task, const float *projections, double *out)
{
  for (guint k = 0; k < task->nz; k++)
    for (guint j = 0; j < task->ny; j++)
      for (guint i = 0; i < task->nx; i++) {
        const double point[3]
            = { task->first_mm[0] + i * task->voxel_mm, task->first_mm[1] - j * task->voxel_mm,
                task->first_mm[2] - k * task->voxel_mm };
        double sum = 0;

        for (guint view = 0; view < task->n_views; view++) {
          double u, v, w;
          td_cone_project (task->matrices + 12 * (gsize) view, point, &u, &v, &w);
          if (w > 0)
            sum += task->view_weights[view] / (w * w)
                   * cone_reference_sample (
                       task, projections + (gsize) view * task->n_rows * task->n_columns, u, v);
        }
        out[((gsize) k * task->ny + j) * task->nx + i] = sum;
      }
}
