/* SPDX-License-Identifier: GPL-3.0-or-later */
/* FFTs on the host by FFTW. Only single contiguous 1-D transforms are planned, so that measured plans
   are few and quick to make; batches and the columns of 2-D transforms are spread over the threads
   here. */
#include "compute/device/host-fftw.h"
#include "compute/device/host-private.h"

#include <string.h>

#define COLUMNS_AT_ONCE 8 /* a cache line of complex floats */

typedef struct {
  TdFft base;
  fftwf_plan rows, columns; /* columns: 2-D only */
} HostFft;

typedef struct {
  const HostFft *fft;
  fftwf_complex *data;
  gboolean inverse;
  guint64 lines, lines_a_piece;
} Run;

gboolean
td_host_fft_new (TdDevice *device, TdFftKind kind, const guint n[2], guint batch, TdFft **fft,
                 GError **error)
{
  HostFft *self = g_new0 (HostFft, 1);

  self->rows = td_fftw_plan (n[0]);
  if (kind == TD_FFT_C2C_2D)
    self->columns = td_fftw_plan (n[1]);
  if (!self->rows || (kind == TD_FFT_C2C_2D && !self->columns)) {
    td_host_fft_free (&self->base);
    g_set_error (error, TD_ERROR, TD_ERROR_DEVICE_MEMORY, "FFTW could not plan %u × %u", n[0], n[1]);
    return FALSE;
  }
  *fft = &self->base;
  return TRUE;
}

void
td_host_fft_free (TdFft *fft)
{
  HostFft *self = (HostFft *) fft;

  td_fftw_plan_free (self->rows);
  td_fftw_plan_free (self->columns);
  g_free (self);
}

/* The inverse is the forward transform backwards. */
static inline guint
place (guint x, guint n, gboolean inverse)
{
  return inverse && x ? n - x : x;
}

static void
run_rows (guint index, gpointer data)
{
  const Run *run = data;
  guint n = run->fft->base.n[0];
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
        memcpy (line[x], to[place (x, n, TRUE)], sizeof (fftwf_complex));
  }
  fftwf_free (from);
  fftwf_free (to);
}

/* Columns are gathered a cache line's worth at a time: strides of a power of two thrash the cache. */
static void
run_columns (guint index, gpointer data)
{
  const Run *run = data;
  guint nx = run->fft->base.n[0], ny = run->fft->base.n[1];
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
      memcpy (image[(gsize) y * nx + x], to[x * pitch + place (y, ny, run->inverse)],
              sizeof (fftwf_complex));
  fftwf_free (from);
  fftwf_free (to);
}

gboolean
td_host_fft_run (TdQueue *queue, TdFft *fft, TdBuffer *data, guint64 offset, gboolean inverse,
                 GError **error)
{
  Run run = { .fft = (HostFft *) fft, .inverse = inverse };

  run.data = (fftwf_complex *) ((guint8 *) td_buffer_map (data) + offset);
  run.lines = (guint64) fft->n[1] * fft->batch;
  run.lines_a_piece = MAX (1, MIN (65536 / fft->n[0], run.lines / (4 * td_host_threads ())));
  td_parallel_for ((run.lines + run.lines_a_piece - 1) / run.lines_a_piece, run_rows, &run);
  if (fft->kind == TD_FFT_C2C_2D)
    td_parallel_for ((fft->n[0] + COLUMNS_AT_ONCE - 1) / COLUMNS_AT_ONCE * fft->batch, run_columns,
                     &run);
  return TRUE;
}
