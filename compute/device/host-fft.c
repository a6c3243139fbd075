/* SPDX-License-Identifier: GPL-3.0-or-later */
/* FFTs on the host by FFTW. Only single contiguous 1-D transforms are planned, so that measured plans
   are few and quick to make; batches and the columns of 2-D transforms are spread over the threads
   here. */
#include "compute/device/host-fftw.h"
#include "compute/device/host-private.h"

#include <string.h>

#define COLUMNS_AT_ONCE 8 /* a cache line of complex floats */

/* [inverse][line starts 8 bytes past a multiple of 16] */
typedef struct {
  fftwf_plan plan[2][2];
} LinePlans;

typedef struct {
  TdFft base;
  LinePlans rows, columns; /* columns: 2-D only */
} HostFft;

/* ── Plans ────────────────────────────────────────────────────────────────────────────────────── */

static gboolean
plan_lines (LinePlans *plans, guint n, GError **error)
{
  for (guint i = 0; i < 4; i++) {
    plans->plan[i / 2][i % 2] = td_fftw_plan (i / 2 ? TD_FFTW_INVERSE : TD_FFTW_FORWARD, n, i % 2);
    if (!plans->plan[i / 2][i % 2]) {
      g_set_error (error, TD_ERROR, TD_ERROR_DEVICE_MEMORY, "FFTW could not plan the length %u", n);
      return FALSE;
    }
  }
  return TRUE;
}

static void
free_lines (LinePlans *plans)
{
  for (guint i = 0; i < 4; i++)
    td_fftw_plan_free (plans->plan[i / 2][i % 2]);
}

static void
run_line (const LinePlans *plans, gboolean inverse, fftwf_complex *line)
{
  fftwf_execute_dft (plans->plan[inverse][(gsize) line % 16 != 0], line, line);
}

gboolean
td_host_fft_new (TdDevice *device, TdFftKind kind, const guint n[2], guint batch, TdFft **fft,
                 GError **error)
{
  HostFft *self = g_new0 (HostFft, 1);

  if (!plan_lines (&self->rows, n[0], error)
      || (kind == TD_FFT_C2C_2D && !plan_lines (&self->columns, n[1], error))) {
    td_host_fft_free (&self->base);
    return FALSE;
  }
  *fft = &self->base;
  return TRUE;
}

void
td_host_fft_free (TdFft *fft)
{
  HostFft *self = (HostFft *) fft;

  free_lines (&self->rows);
  free_lines (&self->columns);
  g_free (self);
}

/* ── Running ──────────────────────────────────────────────────────────────────────────────────── */

typedef struct {
  HostFft *fft;
  fftwf_complex *data;
  gboolean inverse;
  guint64 lines, lines_a_piece;
} Run;

static void
run_rows (guint index, gpointer data)
{
  const Run *run = data;
  guint64 end = MIN ((index + 1) * run->lines_a_piece, run->lines);

  for (guint64 row = index * run->lines_a_piece; row < end; row++)
    run_line (&run->fft->rows, run->inverse, run->data + row * run->fft->base.n[0]);
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
  fftwf_complex *strip = fftwf_alloc_complex (pitch * width);

  for (guint y = 0; y < ny; y++)
    for (guint x = 0; x < width; x++)
      memcpy (strip[x * pitch + y], image[(gsize) y * nx + x], sizeof (fftwf_complex));
  for (guint x = 0; x < width; x++)
    run_line (&run->fft->columns, run->inverse, strip + x * pitch);
  for (guint y = 0; y < ny; y++)
    for (guint x = 0; x < width; x++)
      memcpy (image[(gsize) y * nx + x], strip[x * pitch + y], sizeof (fftwf_complex));
  fftwf_free (strip);
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
