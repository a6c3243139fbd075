/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "host-baseline.h"

#include "compute/device/host.h"
#include "compute/parallel/host-backproject-pass.h"

typedef struct {
  TdHostBaseline base;
  TdHostBaselineRow row;
  guint row_step;
} Baseline;

static void
project_row (guint index, gpointer user)
{
  const Baseline *baseline = user;

  baseline->row (&baseline->base, index * baseline->row_step);
}

guint
td_host_baseline (const TdBackprojectTask *task, const float *sinogram, guint row_step,
                  float *slice)
{
  guint n = task->n_views, rows = (task->ny + row_step - 1) / row_step;
  g_autofree double *start = g_new (double, n), *du_x = g_new (double, n),
                    *du_y = g_new (double, n);
  g_autofree float *tables = g_new (float, 4 * (gsize) n);
  Baseline baseline = {
    .row = td_host_kernels ()->baseline,
    .row_step = row_step,
    .base = {
      .sinogram = sinogram,
      .start = tables, .du_x = tables + n, .du_y = tables + 2 * (gsize) n,
      .weight = tables + 3 * (gsize) n,
      .n_columns = task->n_columns, .n_views = n, .nx = task->nx,
      .nearest = task->interpolation == TD_INTERPOLATION_NEAREST,
      .slice = slice,
    },
  };

  td_backproject_views (task, start, du_x, du_y);
  for (guint v = 0; v < n; v++) {
    tables[v] = start[v];
    tables[n + v] = du_x[v];
    tables[2 * (gsize) n + v] = du_y[v];
    tables[3 * (gsize) n + v] = task->scale * (task->weights ? task->weights[v] : 1);
  }
  td_parallel_for (rows, project_row, &baseline);
  return rows;
}
