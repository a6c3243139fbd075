/* SPDX-License-Identifier: GPL-3.0-or-later */
/* FFTs on the host by FFTW. Only single contiguous 1-D transforms are planned, so that measured
   plans are few and quick to make; batches and the columns of 2-D transforms are spread over the
   threads here. */
#include "host-fftw.h"
#include "host-private.h"

#include <string.h>

#define COLUMNS_AT_ONCE 8 /* a cache line of complex floats */

struct TdHostFft {
  guint n[2], batch;
  fftwf_plan rows, columns; /* columns: 2-D only */
};

typedef struct {
  const TdHostFft *fft;
  fftwf_complex *data;
  gboolean inverse;
  guint64 lines, lines_a_piece;
} Run;

TdHostFft *
td_host_fft_make (TdFftKind kind, const guint n[2], guint batch, GError **error)
{
  TdHostFft *self = g_new0 (TdHostFft, 1);

  self->n[0] = n[0];
  self->n[1] = kind == TD_FFT_C2C_2D ? n[1] : 1;
  self->batch = batch;
  self->rows = td_fftw_plan (n[0]);
  if (kind == TD_FFT_C2C_2D)
    self->columns = td_fftw_plan (n[1]);
  if (self->rows && (self->columns || kind == TD_FFT_C2C_1D))
    return self;
  td_set_error (error, TD_ERROR_DEVICE_MEMORY, "FFTW could not plan %u × %u", self->n[0],
                self->n[1]);
  td_host_fft_destroy (self);
  return NULL;
}

void
td_host_fft_destroy (TdHostFft *self)
{
  if (!self)
    return;
  td_fftw_plan_free (self->rows);
  td_fftw_plan_free (self->columns);
  g_free (self);
}

/* The inverse is the forward transform backwards. */
static inline guint
host_fft_place (guint x, guint n, gboolean inverse)
{
  return inverse && x ? n - x : x;
}

static void
host_fft_run_rows (guint index, gpointer data)
{
  const Run *run = data;
  guint n = run->fft->n[0];
  guint64 end = MIN ((index + 1) * run->lines_a_piece, run->lines);
  fftwf_complex *from = fftwf_alloc_complex (n), *to = fftwf_alloc_complex (n);

  for (guint64 row = index * run->lines_a_piece; row < end; row++) {
    fftwf_complex *line = run->data + row * n;
    memcpy (from, line, n * sizeof (fftwf_complex));
    fftwf_execute_dft (run->fft->rows, from, to);
    if (!run->inverse)
      memcpy (line, to, n * sizeof (fftwf_complex));
    else
      for (guint x = 0; x < n; x++)
        memcpy (line[x], to[host_fft_place (x, n, TRUE)], sizeof (fftwf_complex));
  }
  fftwf_free (from);
  fftwf_free (to);
}

/* Columns are gathered a cache line's worth at a time: strides of a power of two thrash the cache.
 */
static void
host_fft_run_columns (guint index, gpointer data)
{
  const Run *run = data;
  guint nx = run->fft->n[0], ny = run->fft->n[1];
  guint strips = (nx + COLUMNS_AT_ONCE - 1) / COLUMNS_AT_ONCE;
  guint x0 = index % strips * COLUMNS_AT_ONCE, width = MIN (COLUMNS_AT_ONCE, nx - x0);
  fftwf_complex *image = run->data + (guint64) (index / strips) * nx * ny + x0;
  gsize pitch = (ny + 15) / 8 * 8; /* lines stay aligned, on different cache sets */
  fftwf_complex *from = fftwf_alloc_complex (pitch * width);
  fftwf_complex *to = fftwf_alloc_complex (pitch * width);

  for (guint y = 0; y < ny; y++)
    for (guint x = 0; x < width; x++)
      memcpy (from[x * pitch + y], image[(gsize) y * nx + x], sizeof (fftwf_complex));
  for (guint x = 0; x < width; x++)
    fftwf_execute_dft (run->fft->columns, from + x * pitch, to + x * pitch);
  for (guint y = 0; y < ny; y++)
    for (guint x = 0; x < width; x++)
      memcpy (image[(gsize) y * nx + x], to[x * pitch + host_fft_place (y, ny, run->inverse)],
              sizeof (fftwf_complex));
  fftwf_free (from);
  fftwf_free (to);
}

void
td_host_fft_execute (const TdHostFft *self, void *data, gboolean inverse)
{
  Run run = { .fft = self, .data = data, .inverse = inverse };
  guint strips = (self->n[0] + COLUMNS_AT_ONCE - 1) / COLUMNS_AT_ONCE;

  run.lines = (guint64) self->n[1] * self->batch;
  run.lines_a_piece = CLAMP (run.lines / (4 * td_host_threads ()), 1, MAX (1, 65536 / self->n[0]));
  td_parallel_for ((run.lines + run.lines_a_piece - 1) / run.lines_a_piece, host_fft_run_rows,
                   &run);
  if (self->columns)
    td_parallel_for (strips * self->batch, host_fft_run_columns, &run);
}

/* ── The contract's operations ── */

typedef struct {
  TdFft base;
  TdHostFft *fft;
} FftObject;

gboolean
td_host_fft_new (TdDevice *device, TdFftKind kind, const guint n[2], guint batch, TdFft **fft,
                 GError **error)
{
  TdHostFft *made = td_host_fft_make (kind, n, batch, error);

  if (!made)
    return FALSE;
  FftObject *self = g_new0 (FftObject, 1);
  self->fft = made;
  *fft = &self->base;
  return TRUE;
}

gboolean
td_host_fft_run (TdQueue *queue, TdFft *fft, TdBuffer *data, guint64 offset, gboolean inverse,
                 GError **error)
{
  td_host_fft_execute (((FftObject *) fft)->fft, (guint8 *) td_buffer_map (data) + offset, inverse);
  return TRUE;
}

void
td_host_fft_free (TdFft *fft)
{
  td_host_fft_destroy (((FftObject *) fft)->fft);
  g_free (fft);
}
