/* SPDX-License-Identifier: GPL-3.0-or-later */
/* FFTs on the host by FFTW. Only single contiguous 1-D transforms are planned, so that measured plans
   are few, quick to make and kept for good; batches and the columns of 2-D transforms are spread over
   the threads here. */
#include "compute/device/host-private.h"

#include <fftw3.h>
#include <stdlib.h>
#include <string.h>

/* A preview waits for the first plan of a size; FFTW then takes the best it found so far. */
#define PLANNING_SECONDS 0.5
#define COLUMNS_AT_ONCE 8 /* a cache line of complex floats */

/* [inverse][row starts 8 bytes past a multiple of 16] */
typedef struct {
  fftwf_plan plan[2][2];
} LinePlans;

typedef struct {
  TdFft base;
  LinePlans rows, columns; /* columns: 2-D only */
} HostFft;

static GMutex planner_lock; /* FFTW's planner is not thread-safe */
static gboolean wisdom_read;

/* ── Wisdom ───────────────────────────────────────────────────────────────────────────────────── */

static char *
wisdom_file (void)
{
  return g_build_filename (g_get_user_cache_dir (), "tomodesk", "fftwf-wisdom", NULL);
}

/* Wisdom only saves time: an unreadable or unwritable file is no error. */
static void
read_wisdom (void)
{
  g_autofree char *file = wisdom_file (), *text = NULL;

  if (!wisdom_read && g_file_get_contents (file, &text, NULL, NULL))
    fftwf_import_wisdom_from_string (text);
  wisdom_read = TRUE;
}

static void
write_wisdom (void)
{
  g_autofree char *file = wisdom_file (), *folder = g_path_get_dirname (file);
  char *text = fftwf_export_wisdom_to_string ();

  if (text && g_mkdir_with_parents (folder, 0700) == 0)
    g_file_set_contents (file, text, -1, NULL);
  free (text);
}

/* ── Plans ────────────────────────────────────────────────────────────────────────────────────── */

static fftwf_plan
plan_line (guint n, gboolean inverse, guint shift)
{
  /* Even lines are off only when the caller's offset is: rare, not worth measuring. */
  guint effort = shift && n % 2 == 0 ? FFTW_ESTIMATE : FFTW_MEASURE;
  int sign = inverse ? FFTW_BACKWARD : FFTW_FORWARD;
  fftwf_complex *data = fftwf_alloc_complex ((gsize) n + 1);
  fftwf_complex *line = data + shift;

  fftwf_plan plan = fftwf_plan_dft_1d (n, line, line, sign, effort | FFTW_WISDOM_ONLY);
  if (!plan) {
    fftwf_set_timelimit (PLANNING_SECONDS);
    plan = fftwf_plan_dft_1d (n, line, line, sign, effort);
    if (effort == FFTW_MEASURE)
      write_wisdom ();
  }
  fftwf_free (data);
  return plan;
}

/* Lines of an odd length start on both alignments. */
static gboolean
plan_lines (LinePlans *plans, guint n, GError **error)
{
  gboolean fine = TRUE;

  g_mutex_lock (&planner_lock);
  read_wisdom ();
  for (guint inverse = 0; inverse < 2; inverse++)
    for (guint shift = 0; shift < 2; shift++) {
      plans->plan[inverse][shift] = plan_line (n, inverse, shift);
      fine = fine && plans->plan[inverse][shift];
    }
  g_mutex_unlock (&planner_lock);
  if (!fine)
    g_set_error (error, TD_ERROR, TD_ERROR_UNSUPPORTED, "FFTW has no transform of length %u", n);
  return fine;
}

static void
free_lines (LinePlans *plans)
{
  g_mutex_lock (&planner_lock);
  for (guint i = 0; i < 4; i++)
    if (plans->plan[i / 2][i % 2])
      fftwf_destroy_plan (plans->plan[i / 2][i % 2]);
  g_mutex_unlock (&planner_lock);
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
