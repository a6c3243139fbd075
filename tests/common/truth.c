/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "truth.h"

#include <complex.h>
#include <fftw3.h>
#include <math.h>
#include <string.h>

void
td_truth_task_init (TdBackprojectTask *task, guint n_columns, guint n_views, double range_deg)
{
  double *angles = g_new (double, n_views);

  for (guint v = 0; v < n_views; v++)
    angles[v] = v * range_deg / n_views * G_PI / 180;
  *task = (TdBackprojectTask) {
    .n_columns = n_columns,
    .n_views = n_views,
    .nx = n_columns,
    .ny = n_columns,
    .x0 = -(n_columns - 1.0) / 2,
    .y0 = (n_columns - 1.0) / 2,
    .step = 1,
    .centre_px = (n_columns - 1.0) / 2,
    .angles_rad = angles,
    .scale = G_PI / n_views,
    .interpolation = TD_INTERPOLATION_LINEAR,
    .precision = TD_PRECISION_SINGLE,
  };
}

void
td_truth_task_clear (TdBackprojectTask *task)
{
  g_free ((double *) task->angles_rad);
  memset (task, 0, sizeof *task);
}

float *
td_truth_sinogram (const TdPhantom *phantom, const TdBackprojectTask *task, guint n_rows, guint row)
{
  float *sinogram = g_new (float, (gsize) task->n_views * task->n_columns);

  for (guint v = 0; v < task->n_views; v++)
    td_phantom_project_line (phantom, task->n_columns / 2.0, (n_rows - 1) / 2.0 - row,
                             task->n_columns, task->angles_rad[v], task->centre_px,
                             sinogram + (gsize) v * task->n_columns);
  return sinogram;
}

/* The row's edge values go on into the padding, half of it on either side (the circle closes in the
   padding's middle). */
static double
padded_value (const TdFilter *filter, const float *row, guint n_columns, guint n, guint i)
{
  if (i < n_columns)
    return row[i];
  if (!filter->extend_edges)
    return 0;
  if (2 * (i - n_columns) + 1 == n - n_columns)
    return ((double) row[0] + row[n_columns - 1]) / 2;
  return i < n_columns + (n - n_columns) / 2 ? row[n_columns - 1] : row[0];
}

float *
td_truth_filter (const TdFilter *filter, const float *rows, guint n_rows, guint n_columns)
{
  guint n = td_filter_padded_size (n_columns);
  float *out = g_new (float, (gsize) n_rows *n_columns);
  g_autofree double *response = g_new (double, n);
  fftw_complex *work = fftw_alloc_complex (n);
  fftw_plan forward = fftw_plan_dft_1d (n, work, work, FFTW_FORWARD, FFTW_ESTIMATE);
  fftw_plan backward = fftw_plan_dft_1d (n, work, work, FFTW_BACKWARD, FFTW_ESTIMATE);

  td_filter_response (filter, n, response);
  for (guint r = 0; r < n_rows; r++) {
    for (guint i = 0; i < n; i++)
      work[i] = padded_value (filter, rows + (gsize) r * n_columns, n_columns, n, i);
    fftw_execute (forward);
    for (guint i = 0; i < n; i++)
      work[i] *= response[i] / n;
    fftw_execute (backward);
    for (guint i = 0; i < n_columns; i++)
      out[(gsize) r * n_columns + i] = creal (work[i]);
  }
  fftw_destroy_plan (forward);
  fftw_destroy_plan (backward);
  fftw_free (work);
  return out;
}

double *
td_truth_fbp (const TdFilter *filter, const TdBackprojectTask *task, const float *sinogram)
{
  g_autofree float *rows = td_truth_filter (filter, sinogram, task->n_views, task->n_columns);
  double *slice = g_new (double, (gsize) task->nx * task->ny);

  td_backproject_reference (task, rows, slice);
  return slice;
}

double
td_truth_relative_rms (const float *a, const double *b, gsize n)
{
  double difference = 0, reference = 0;

  for (gsize i = 0; i < n; i++) {
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    reference += b[i] * b[i];
  }
  if (!isfinite (difference) || !isfinite (reference))
    return INFINITY;
  return sqrt (reference > 0 ? difference / reference : difference);
}

void
td_truth_inside (const TdBackprojectTask *task, const double *slice, const TdTruthDisc *disc,
                 double *mean_error, double *largest_error)
{
  double sum = 0, largest = 0;
  gsize count = 0;

  for (guint j = 0; j < task->ny; j++) {
    for (guint i = 0; i < task->nx; i++) {
      double dx = task->x0 + i * task->step - disc->x, dy = task->y0 - j * task->step - disc->y;
      if (hypot (dx, dy) > disc->radius_px)
        continue;
      double error = slice[(gsize) j * task->nx + i] - disc->value;
      sum += error;
      largest = MAX (largest, fabs (error));
      count++;
    }
  }
  *mean_error = count ? sum / count : INFINITY;
  *largest_error = count ? largest : INFINITY;
}
