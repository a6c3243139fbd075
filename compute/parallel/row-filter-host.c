/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "compute/parallel/row-filter-host.h"
#include "compute/device/host-fftw.h"
#include "compute/device/host.h"

#include <string.h>

#define ROWS_A_PIECE 16

struct TdHostRowFilter {
  guint n_columns, padded;
  gboolean extend_edges;
  fftwf_plan forward, inverse;
  float *response; /* each of the padded/2+1 values twice, for the real and the imaginary part */
};

typedef struct {
  const TdHostRowFilter *filter;
  float *rows;
  guint n_rows;
} Run;

TdHostRowFilter *
td_host_row_filter_new (guint n_columns, guint padded, GError **error)
{
  TdHostRowFilter *self = g_new0 (TdHostRowFilter, 1);

  self->n_columns = n_columns;
  self->padded = padded;
  self->response = g_new0 (float, padded + 2);
  self->forward = td_fftw_plan (TD_FFTW_REAL_FORWARD, padded, FALSE);
  self->inverse = td_fftw_plan (TD_FFTW_REAL_INVERSE, padded, FALSE);
  if (self->forward && self->inverse)
    return self;
  g_set_error (error, TD_ERROR, TD_ERROR_DEVICE_MEMORY, "FFTW could not plan the length %u", padded);
  td_host_row_filter_free (self);
  return NULL;
}

void
td_host_row_filter_set (TdHostRowFilter *self, const double *response, gboolean extend_edges)
{
  self->extend_edges = extend_edges;
  for (guint i = 0; i < self->padded + 2; i++)
    self->response[i] = response[i / 2] / self->padded;
}

static void
filter_row (const TdHostRowFilter *self, float *row, float *line)
{
  guint n = self->n_columns, padding = self->padded - n;

  memcpy (line, row, n * sizeof (float));
  for (guint i = 0; i < padding; i++)
    line[n + i] = !self->extend_edges ? 0 : i < padding / 2 ? row[n - 1] : row[0];
  fftwf_execute_dft_r2c (self->forward, line, (fftwf_complex *) line);
  for (guint i = 0; i < self->padded + 2; i++)
    line[i] *= self->response[i];
  fftwf_execute_dft_c2r (self->inverse, (fftwf_complex *) line, line);
  memcpy (row, line, n * sizeof (float));
}

static void
run_piece (guint index, gpointer data)
{
  const Run *run = data;
  const TdHostRowFilter *filter = run->filter;
  guint end = MIN ((index + 1) * ROWS_A_PIECE, run->n_rows);
  float *line = fftwf_alloc_real ((gsize) filter->padded + 2);

  for (guint row = index * ROWS_A_PIECE; row < end; row++)
    filter_row (filter, run->rows + (gsize) row * filter->n_columns, line);
  fftwf_free (line);
}

void
td_host_row_filter_run (TdHostRowFilter *self, float *rows, guint n_rows)
{
  Run run = { self, rows, n_rows };

  td_parallel_for (n_rows / ROWS_A_PIECE + (n_rows % ROWS_A_PIECE > 0), run_piece, &run);
}

void
td_host_row_filter_free (TdHostRowFilter *self)
{
  if (!self)
    return;
  td_fftw_plan_free (self->forward);
  td_fftw_plan_free (self->inverse);
  g_free (self->response);
  g_free (self);
}
