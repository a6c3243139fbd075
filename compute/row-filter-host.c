/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "row-filter-host.h"
#include "compute/device/host-fft.h"
#include "compute/device/host.h"

#include <string.h>

#define PAIRS_A_PIECE 8

struct TdHostRowFilter {
  guint n_columns, n_wide, padded;
  gboolean extend_edges;
  fftwf_plan plan;
  TdHostScratch *lines;  /* two padded rows as one of complex numbers, and their transform */
  TdHostScratch *blends; /* two weighted rows and the weights */
  float *response;       /* each twice, for the real and the imaginary part; divided by padded */
};

typedef struct {
  const TdHostRowFilter *filter;
  const float *rows;
  guint n_rows;
  const TdRowBlend *blend;
  float *wide;
} Run;

/* What a thread works with. */
typedef struct {
  fftwf_complex *from, *to;
  float *copies; /* two weighted rows; with blending only, as what follows */
  float *weights;
  gint64 sinogram; /* that the weights are of; -1: none yet */
} Piece;

TdHostRowFilter *
td_host_row_filter_new (guint n_columns, guint n_wide, guint padded, GError **error)
{
  TdHostRowFilter *self = g_new0 (TdHostRowFilter, 1);

  self->n_columns = n_columns;
  self->n_wide = n_wide;
  self->padded = padded;
  self->response = td_host_malloc (2 * (gsize) padded * sizeof *self->response, error);
  self->plan = self->response ? td_fftw_plan (padded) : NULL;
  if (self->plan)
    self->lines = td_host_scratch_new (padded * sizeof (fftwf_complex),
                                       padded * sizeof (fftwf_complex), error);
  else if (self->response)
    td_set_error (error, TD_ERROR_DEVICE_MEMORY, "FFTW could not plan the length %u", padded);
  if (self->lines)
    self->blends = td_host_scratch_new (2 * (gsize) n_columns * sizeof (float),
                                        n_columns * sizeof (float), error);
  if (self->blends)
    return self;
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

/* Both rows, from place @shift on, with zeros or their edges' values around them, as
   kernels/filter.cl has it. */
static void
row_filter_host_pack (const TdHostRowFilter *self, const float *a, const float *b, guint shift,
                      fftwf_complex *line)
{
  guint n = self->n_columns, wide = self->n_wide, middle = wide + (self->padded - wide) / 2;
  gboolean extend = self->extend_edges;
  float last[2] = { extend ? a[n - 1] : 0, extend ? b[n - 1] : 0 };
  float first[2] = { extend ? a[0] : 0, extend ? b[0] : 0 };

  for (guint i = 0; i < shift; i++)
    memcpy (line[i], first, sizeof line[i]);
  for (guint i = 0; i < n; i++) {
    line[shift + i][0] = a[i];
    line[shift + i][1] = b[i];
  }
  for (guint i = shift + n; i < self->padded; i++)
    memcpy (line[i], i < middle ? last : first, sizeof line[i]);
  for (guint k = 0; k < 2 && (self->padded - wide) % 2 == 1; k++)
    line[middle][k] = 0.5f * (first[k] + last[k]);
}

/* The second transform is the inverse read backwards. */
static void
row_filter_host_unpack (const TdHostRowFilter *self, const fftwf_complex *line, float *a, float *b)
{
  const fftwf_complex *end = line + self->padded;

  a[0] = line[0][0];
  b[0] = line[0][1];
  for (gssize i = 1; i < (gssize) self->n_wide; i++) {
    a[i] = end[-i][0];
    b[i] = end[-i][1];
  }
}

/* The row, or with blending its weighted copy. */
static const float *
row_filter_host_weighted (const Run *run, Piece *piece, guint row, float *copy)
{
  const TdRowBlend *blend = run->blend;
  const guint n = run->filter->n_columns;
  const float *values = run->rows + (gsize) row * n;

  if (!blend || blend->n_views == 0)
    return values;
  const gint64 sinogram = ((gint64) blend->row0 + row) / blend->n_views;
  if (piece->sinogram != sinogram)
    td_row_blend_weights (n, blend->centre_px + sinogram * blend->centre_step_px, piece->weights);
  piece->sinogram = sinogram;
  for (guint i = 0; i < n; i++)
    copy[i] = values[i] * piece->weights[i];
  return copy;
}

/* A last row without a partner is its own. */
static void
filter_pair (const Run *run, Piece *piece, guint row)
{
  const TdHostRowFilter *self = run->filter;
  guint partner = row + 1 < run->n_rows ? row + 1 : row;
  const float *a = row_filter_host_weighted (run, piece, row, piece->copies);
  const float *b = row_filter_host_weighted (run, piece, partner, piece->copies + self->n_columns);
  float *values = (float *) piece->to;

  row_filter_host_pack (self, a, b, run->blend ? run->blend->shift : 0, piece->from);
  fftwf_execute_dft (self->plan, piece->from, piece->to);
  for (gsize i = 0; i < 2 * (gsize) self->padded; i++)
    values[i] *= self->response[i];
  fftwf_execute_dft (self->plan, piece->to, piece->from);
  row_filter_host_unpack (self, piece->from, run->wide + (gsize) row * self->n_wide,
                          run->wide + (gsize) partner * self->n_wide);
}

static void
row_filter_host_run_piece (guint index, gpointer data)
{
  const Run *run = data;
  const TdHostRowFilter *filter = run->filter;
  guint end = MIN (((guint64) index + 1) * 2 * PAIRS_A_PIECE, run->n_rows);
  const TdHostPieces lines = td_host_scratch_take (filter->lines);
  const TdHostPieces blends = td_host_scratch_take (filter->blends);
  Piece piece = {
    .from = lines.from,
    .to = lines.to,
    .copies = blends.from,
    .weights = blends.to,
    .sinogram = -1,
  };

  for (guint row = index * 2 * PAIRS_A_PIECE; row < end; row += 2)
    filter_pair (run, &piece, row);
  td_host_scratch_give (filter->blends, &blends);
  td_host_scratch_give (filter->lines, &lines);
}

void
td_host_row_filter_run (TdHostRowFilter *self, const float *rows, guint n_rows,
                        const TdRowBlend *blend, float *wide)
{
  Run run = { self, rows, n_rows, blend, wide };
  guint rows_a_piece = 2 * PAIRS_A_PIECE;

  td_parallel_for (n_rows / rows_a_piece + (n_rows % rows_a_piece > 0), row_filter_host_run_piece,
                   &run);
}

void
td_host_row_filter_free (TdHostRowFilter *self)
{
  if (!self)
    return;
  td_fftw_plan_free (self->plan);
  td_host_scratch_free (self->lines);
  td_host_scratch_free (self->blends);
  g_free (self->response);
  g_free (self);
}
