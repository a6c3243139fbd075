/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "axis-spectrum.h"

#include <math.h>
#include <string.h>

#include "compute/device/device.h"
#include "compute/device/host-fftw.h"
#include "compute/device/host.h"

#define ROWS_A_PIECE 16

struct TdAxisSpectrum {
  guint n_rows, n_columns, length, n_bins;
  fftwf_plan plan;
  fftwf_complex *bins; /* [n_rows][n_bins] */
};

typedef struct {
  TdAxisSpectrum *spectrum;
  const float *rows;
  float *out;
  gboolean edges;
  guint first, count, n;
  double start;
} Run;

/* ── There ────────────────────────────────────────────────────────────────────────────────────── */

static void
load_row (const Run *run, const float *row, fftwf_complex *line)
{
  guint n = run->spectrum->n_columns, gap = run->spectrum->length - n;

  memset (line, 0, run->spectrum->length * sizeof *line);
  for (guint i = 0; i < n; i++)
    line[i][0] = row[i];
  for (guint i = 0; run->edges && i < gap; i++) {
    double t = 0.5 - 0.5 * cos (G_PI * (i + 1) / (gap + 1));
    line[n + i][0] = (float) (row[n - 1] * (1 - t) + row[0] * t);
  }
}

static void
transform_piece (guint index, gpointer data)
{
  const Run *run = data;
  TdAxisSpectrum *spectrum = run->spectrum;
  guint end = MIN ((index + 1) * ROWS_A_PIECE, spectrum->n_rows);
  fftwf_complex *from = fftwf_alloc_complex (spectrum->length);
  fftwf_complex *to = fftwf_alloc_complex (spectrum->length);

  for (guint row = index * ROWS_A_PIECE; row < end; row++) {
    load_row (run, run->rows + (gsize) row * spectrum->n_columns, from);
    fftwf_execute_dft (spectrum->plan, from, to);
    memcpy (spectrum->bins + (gsize) row * spectrum->n_bins, to, spectrum->n_bins * sizeof *to);
  }
  fftwf_free (from);
  fftwf_free (to);
}

TdAxisSpectrum *
td_axis_spectrum_new (const float *rows, guint n_rows, guint n_columns, gboolean edges)
{
  TdAxisSpectrum *spectrum = g_new0 (TdAxisSpectrum, 1);

  spectrum->n_rows = n_rows;
  spectrum->n_columns = n_columns;
  spectrum->length = td_fft_good_size (2 * n_columns);
  spectrum->n_bins = spectrum->length / 2 + 1;
  spectrum->plan = td_fftw_plan (spectrum->length);
  spectrum->bins = fftwf_alloc_complex ((gsize) n_rows * spectrum->n_bins);
  if (!spectrum->plan || !spectrum->bins) {
    td_axis_spectrum_free (spectrum);
    return NULL;
  }
  Run run = { .spectrum = spectrum, .rows = rows, .edges = edges };
  td_parallel_for ((n_rows + ROWS_A_PIECE - 1) / ROWS_A_PIECE, transform_piece, &run);
  return spectrum;
}

void
td_axis_spectrum_free (TdAxisSpectrum *spectrum)
{
  if (!spectrum)
    return;
  td_fftw_plan_free (spectrum->plan);
  fftwf_free (spectrum->bins);
  g_free (spectrum);
}

guint
td_axis_spectrum_length (const TdAxisSpectrum *spectrum)
{
  return spectrum->length;
}

const float *
td_axis_spectrum_bins (const TdAxisSpectrum *spectrum, guint row)
{
  return (const float *) (spectrum->bins + (gsize) row * spectrum->n_bins);
}

void
td_axis_spectrum_filter (TdAxisSpectrum *spectrum, const double *response)
{
  fftwf_complex *bin = spectrum->bins;

  for (guint row = 0; row < spectrum->n_rows; row++)
    for (guint i = 0; i < spectrum->n_bins; i++, bin++) {
      (*bin)[0] *= (float) response[i];
      (*bin)[1] *= (float) response[i];
    }
}

/* ── And back ─────────────────────────────────────────────────────────────────────────────────── */

/* The transform runs forward only: the conjugate spectrum gives the conjugate, that is, the same real
   row. */
static void
back_piece (guint index, gpointer data)
{
  const Run *run = data;
  const TdAxisSpectrum *spectrum = run->spectrum;
  guint n = spectrum->length, half = n / 2;
  guint end = MIN ((index + 1) * ROWS_A_PIECE, run->count);
  fftwf_complex *from = fftwf_alloc_complex (n), *to = fftwf_alloc_complex (n);
  g_autofree double *turn = g_new (double, 2 * (gsize) spectrum->n_bins);
  double whole = floor (run->start);

  for (guint i = 0; i <= half; i++) {
    double angle = 2 * G_PI * i * (run->start - whole) / n;
    turn[2 * i] = cos (angle) / n;
    turn[2 * i + 1] = i == half ? 0 : sin (angle) / n;
  }
  for (guint row = index * ROWS_A_PIECE; row < end; row++) {
    const fftwf_complex *bins = spectrum->bins + (gsize) (run->first + row) * spectrum->n_bins;
    float *out = run->out + (gsize) row * run->n;
    for (guint i = 0; i <= half; i++) {
      float re = (float) (bins[i][0] * turn[2 * i] - bins[i][1] * turn[2 * i + 1]);
      float im = (float) (bins[i][0] * turn[2 * i + 1] + bins[i][1] * turn[2 * i]);
      from[i][0] = re;
      from[i][1] = -im;
      if (i > 0) {
        from[n - i][0] = re;
        from[n - i][1] = im;
      }
    }
    fftwf_execute_dft (spectrum->plan, from, to);
    for (guint i = 0; i < run->n; i++) {
      gint64 at = ((gint64) whole + i) % (gint64) n;
      out[i] = to[at < 0 ? at + n : at][0];
    }
  }
  fftwf_free (from);
  fftwf_free (to);
}

void
td_axis_spectrum_rows (const TdAxisSpectrum *spectrum, guint first, guint count, double start,
                       guint n, float *out)
{
  Run run = { .spectrum = (TdAxisSpectrum *) spectrum, .out = out, .first = first, .count = count,
              .n = n, .start = start };

  td_parallel_for ((count + ROWS_A_PIECE - 1) / ROWS_A_PIECE, back_piece, &run);
}
