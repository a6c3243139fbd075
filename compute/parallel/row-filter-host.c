/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "compute/parallel/row-filter-host.h"
#include "compute/device/host-fftw.h"
#include "compute/device/host.h"

#include <string.h>

#define PAIRS_A_PIECE 8

struct TdHostRowFilter {
  guint n_columns, padded;
  gboolean extend_edges;
  fftwf_plan plan;
  float *response; /* each twice, for the real and the imaginary part; divided by padded */
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
  self->response = g_new0 (float, 2 * (gsize) padded);
  self->plan = td_fftw_plan (padded);
  if (self->plan)
    return self;
  g_set_error (error, TD_ERROR, TD_ERROR_DEVICE_MEMORY, "FFTW could not plan the length %u", padded);
  td_host_row_filter_free (self);
  return NULL;
}

void
td_host_row_filter_set (TdHostRowFilter *self, const double *response, gboolean extend_edges)
{
  self->extend_edges = extend_edges;
  for (gsize i = 0; i < 2 * (gsize) self->padded; i++)
    self->response[i] = response[i / 2] / self->padded;
}

static void
pack (const TdHostRowFilter *self, const float *a, const float *b, fftwf_complex *line)
{
  guint n = self->n_columns, middle = n + (self->padded - n) / 2;
  gboolean extend = self->extend_edges;
  float last[2] = { extend ? a[n - 1] : 0, extend ? b[n - 1] : 0 };
  float first[2] = { extend ? a[0] : 0, extend ? b[0] : 0 };

  for (guint i = 0; i < n; i++) {
    line[i][0] = a[i];
    line[i][1] = b[i];
  }
  for (guint i = n; i < self->padded; i++)
    memcpy (line[i], i < middle ? last : first, sizeof line[i]);
}

/* The second transform is the inverse read backwards. */
static void
unpack (const TdHostRowFilter *self, const fftwf_complex *line, float *a, float *b)
{
  const fftwf_complex *end = line + self->padded;

  a[0] = line[0][0];
  b[0] = line[0][1];
  for (gssize i = 1; i < (gssize) self->n_columns; i++) {
    a[i] = end[-i][0];
    b[i] = end[-i][1];
  }
}

static void
filter_pair (const TdHostRowFilter *self, float *a, float *b, fftwf_complex *from, fftwf_complex *to)
{
  float *values = (float *) to;

  pack (self, a, b, from);
  fftwf_execute_dft (self->plan, from, to);
  for (gsize i = 0; i < 2 * (gsize) self->padded; i++)
    values[i] *= self->response[i];
  fftwf_execute_dft (self->plan, to, from);
  unpack (self, from, a, b);
}

static void
run_piece (guint index, gpointer data)
{
  const Run *run = data;
  const TdHostRowFilter *filter = run->filter;
  guint end = MIN (((guint64) index + 1) * 2 * PAIRS_A_PIECE, run->n_rows);
  fftwf_complex *from = fftwf_alloc_complex (filter->padded);
  fftwf_complex *to = fftwf_alloc_complex (filter->padded);

  for (guint row = index * 2 * PAIRS_A_PIECE; row < end; row += 2) {
    float *a = run->rows + (gsize) row * filter->n_columns;
    /* A last row without a partner is its own. */
    filter_pair (filter, a, row + 1 < end ? a + filter->n_columns : a, from, to);
  }
  fftwf_free (from);
  fftwf_free (to);
}

void
td_host_row_filter_run (TdHostRowFilter *self, float *rows, guint n_rows)
{
  Run run = { self, rows, n_rows };
  guint rows_a_piece = 2 * PAIRS_A_PIECE;

  td_parallel_for (n_rows / rows_a_piece + (n_rows % rows_a_piece > 0), run_piece, &run);
}

void
td_host_row_filter_free (TdHostRowFilter *self)
{
  if (!self)
    return;
  td_fftw_plan_free (self->plan);
  g_free (self->response);
  g_free (self);
}
