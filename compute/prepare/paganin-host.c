/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "paganin-host.h"

#include <string.h>

#include "compute/device/host-fft.h"
#include "compute/device/host-scratch.h"
#include "compute/device/host.h"
#include "dataset/error.h"

#define COLUMNS_AT_ONCE 8  /* a cache line of complex floats */
#define LINE_SAMPLES 16384 /* of the lines in a piece of work, about */

struct TdPaganinHost {
  guint nx, ny;
  fftwf_plan rows, columns; /* columns: NULL if there is one row only */
  TdHostScratch *scratch;   /* of a row, or of some columns */
  float *across, *down;     /* 1 is added to across */
  float scale;              /* the transforms do not divide by the number of pixels */
};

typedef struct {
  const TdPaganinHost *self;
  const TdPaganinFrames *frames;
  fftwf_complex *images;
  guint64 lines;
  guint lines_a_piece;
} Run;

/* From column to column: lines stay aligned, on different cache sets. */
static gsize
paganin_host_pitch (gsize ny)
{
  return (ny + 15) / 8 * 8;
}

TdPaganinHost *
td_paganin_host_new (guint nx, guint ny, const float *across, const float *down, GError **error)
{
  TdPaganinHost *self = g_new0 (TdPaganinHost, 1);
  const gsize line
      = sizeof (fftwf_complex) * MAX ((gsize) nx, COLUMNS_AT_ONCE * paganin_host_pitch (ny));

  self->nx = nx;
  self->ny = ny;
  self->across = g_memdup2 (across, nx * sizeof *across);
  self->down = g_memdup2 (down, ny * sizeof *down);
  for (guint x = 0; x < nx; x++)
    self->across[x] += 1;
  self->scale = 1.0f / ((float) nx * (float) ny);
  self->rows = td_fftw_plan (nx);
  self->columns = ny > 1 ? td_fftw_plan (ny) : NULL;
  if (self->rows && (self->columns || ny == 1))
    self->scratch = td_host_scratch_new (line, line, error);
  else
    td_set_error (error, TD_ERROR_DEVICE_MEMORY, "FFTW could not plan %u × %u", nx, ny);
  if (self->scratch)
    return self;
  td_paganin_host_free (self);
  return NULL;
}

void
td_paganin_host_free (TdPaganinHost *self)
{
  if (!self)
    return;
  td_fftw_plan_free (self->rows);
  td_fftw_plan_free (self->columns);
  td_host_scratch_free (self->scratch);
  g_free (self->across);
  g_free (self->down);
  g_free (self);
}

/* ── Lines ── */

/* Row @y of the image, padding included: two frames' line as one of complex numbers. A last view
   without a partner is its own. */
static void
paganin_host_pack (const Run *run, guint pair, guint y, fftwf_complex *line)
{
  const TdPaganinFrames *f = run->frames;
  const guint n = f->n_columns, nx = run->self->nx, middle = n + (nx - n + 1) / 2;
  const guint view = f->first_view + 2 * pair, second = MIN (view + 1, f->n_views - 1);
  const guint row = y < f->n_rows ? y : y - f->n_rows < f->rows_after ? f->n_rows - 1 : 0;
  const float *a = f->data + ((gsize) row * f->n_views + view) * n;
  const float *b = f->data + ((gsize) row * f->n_views + second) * n;

  for (guint x = 0; x < n; x++) {
    line[x][0] = a[x];
    line[x][1] = b[x];
  }
  for (guint x = n; x < nx; x++)
    memcpy (line[x], line[x < middle ? n - 1 : 0], sizeof line[x]);
}

/* The second transform is the inverse read backwards. */
static void
paganin_host_unpack (const Run *run, guint pair, guint y, const fftwf_complex *line)
{
  const TdPaganinFrames *f = run->frames;
  const guint view = f->first_view + 2 * pair, n = f->n_columns;
  const fftwf_complex *end = line + run->self->nx;
  float *a = f->data + ((gsize) y * f->n_views + view) * n, *b = a + n;

  a[0] = line[0][0];
  for (gssize x = 1; x < (gssize) n; x++)
    a[x] = end[-x][0];
  if (view + 1 >= f->n_views)
    return;
  b[0] = line[0][1];
  for (gssize x = 1; x < (gssize) n; x++)
    b[x] = end[-x][1];
}

static void
paganin_host_divide (const fftwf_complex *values, const float *response, float base, float scale,
                     guint n, fftwf_complex *out)
{
  const float *restrict from = (const float *) values;
  float *restrict to = (float *) out;

  for (gsize i = 0; i < n; i++) {
    const float factor = scale / (base + response[i]);
    to[2 * i] = from[2 * i] * factor;
    to[2 * i + 1] = from[2 * i + 1] * factor;
  }
}

/* Spectra of rows, or all there is to do where a line is the whole image. */
static void
run_there (guint index, gpointer data)
{
  const Run *run = data;
  const TdPaganinHost *self = run->self;
  const guint64 end = MIN (((guint64) index + 1) * run->lines_a_piece, run->lines);
  const TdHostPieces pieces = td_host_scratch_take (self->scratch);
  fftwf_complex *from = pieces.from, *to = pieces.to;

  for (guint64 i = (guint64) index * run->lines_a_piece; i < end; i++) {
    const guint pair = (guint) (i / self->ny), y = (guint) (i % self->ny);
    paganin_host_pack (run, pair, y, from);
    fftwf_execute_dft (self->rows, from, to);
    if (self->columns) {
      memcpy (run->images + i * self->nx, to, self->nx * sizeof *to);
      continue;
    }
    paganin_host_divide (to, self->across, 0, self->scale, self->nx, from);
    fftwf_execute_dft (self->rows, from, to);
    paganin_host_unpack (run, pair, y, to);
  }
  td_host_scratch_give (self->scratch, &pieces);
}

/* Lines of the frames themselves: the padding is not wanted back. */
static void
run_back (guint index, gpointer data)
{
  const Run *run = data;
  const TdPaganinHost *self = run->self;
  const guint n_rows = run->frames->n_rows;
  const guint64 end = MIN (((guint64) index + 1) * run->lines_a_piece, run->lines);
  const TdHostPieces pieces = td_host_scratch_take (self->scratch);
  fftwf_complex *from = pieces.from, *to = pieces.to;

  for (guint64 i = (guint64) index * run->lines_a_piece; i < end; i++) {
    const guint pair = (guint) (i / n_rows), y = (guint) (i % n_rows);
    memcpy (from, run->images + ((gsize) pair * self->ny + y) * self->nx, self->nx * sizeof *from);
    fftwf_execute_dft (self->rows, from, to);
    paganin_host_unpack (run, pair, y, to);
  }
  td_host_scratch_give (self->scratch, &pieces);
}

/* ── Columns ── */

/* There, the division, and back, for a few columns of one image; gathered, since strides of a power
   of two thrash the cache. The next transform of the rows turns x round for both directions' sake:
   only y is turned here. */
static void
paganin_host_run_columns (guint index, gpointer data)
{
  const Run *run = data;
  const TdPaganinHost *self = run->self;
  const guint nx = self->nx, ny = self->ny, n_rows = run->frames->n_rows;
  const guint strips = (nx + COLUMNS_AT_ONCE - 1) / COLUMNS_AT_ONCE;
  const guint x0 = index % strips * COLUMNS_AT_ONCE, width = MIN (COLUMNS_AT_ONCE, nx - x0);
  fftwf_complex *image = run->images + (gsize) (index / strips) * nx * ny + x0;
  const gsize pitch = paganin_host_pitch (ny);
  const TdHostPieces pieces = td_host_scratch_take (self->scratch);
  fftwf_complex *from = pieces.from, *to = pieces.to;

  for (guint y = 0; y < ny; y++)
    for (guint x = 0; x < width; x++)
      memcpy (from[x * pitch + y], image[(gsize) y * nx + x], sizeof *from);
  for (guint x = 0; x < width; x++) {
    fftwf_complex *line = from + x * pitch, *spectrum = to + x * pitch;
    fftwf_execute_dft (self->columns, line, spectrum);
    paganin_host_divide (spectrum, self->down, self->across[x0 + x], self->scale, ny, line);
    fftwf_execute_dft (self->columns, line, spectrum);
  }
  for (guint y = 0; y < n_rows; y++)
    for (guint x = 0; x < width; x++)
      memcpy (image[(gsize) y * nx + x], to[x * pitch + (y ? ny - y : 0)], sizeof *to);
  td_host_scratch_give (self->scratch, &pieces);
}

/* ── All of it ── */

static void
run_lines (Run *run, guint lines_a_pair, TdParallelBody body)
{
  const guint a_piece = MAX (1, LINE_SAMPLES / run->self->nx);

  run->lines = (guint64) lines_a_pair * run->frames->n_pairs;
  run->lines_a_piece = (guint) CLAMP (run->lines / (4 * td_host_threads ()), 1, a_piece);
  td_parallel_for ((guint) ((run->lines + run->lines_a_piece - 1) / run->lines_a_piece), body, run);
}

void
td_paganin_host_run (const TdPaganinHost *self, const TdPaganinFrames *frames)
{
  const guint strips = (self->nx + COLUMNS_AT_ONCE - 1) / COLUMNS_AT_ONCE;
  Run run = { .self = self, .frames = frames, .images = (fftwf_complex *) frames->images };

  run_lines (&run, self->ny, run_there);
  if (!self->columns)
    return;
  td_parallel_for (strips * frames->n_pairs, paganin_host_run_columns, &run);
  run_lines (&run, frames->n_rows, run_back);
}
