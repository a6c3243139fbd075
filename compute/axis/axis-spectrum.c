/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "axis-spectrum.h"

#include <math.h>
#include <string.h>

#include "compute/device/device.h"
#include "compute/device/host-fft.h"
#include "compute/device/host.h"

#define ROWS_A_PIECE 16

struct TdAxisSpectrum {
  guint n_rows, n_columns, length, n_bins;
  fftwf_plan plan;
  TdHostScratch *scratch;
  fftwf_complex *bins; /* [n_rows][n_bins] */
};

typedef struct {
  TdAxisSpectrum *spectrum;
  const float *rows;
  float *out;
  gboolean edges;
  const float *fade; /* of the padding, the first column's part; the rest is the last one's */
  guint first, count, n;
  gint64 whole; /* the whole columns that rows begin at; `phase` shifts by the rest */
  const float *phase;
} Run;

/* ── There ── */

/* Two rows, being real, share one transform: the second is its imaginary part. */
static void
axis_spectrum_load_row (const Run *run, const float *row, guint part, fftwf_complex *line)
{
  guint n = run->spectrum->n_columns, gap = run->spectrum->length - n;

  for (guint i = 0; i < n; i++)
    line[i][part] = row[i];
  for (guint i = 0; run->edges && i < gap; i++)
    line[n + i][part] = row[n - 1] + run->fade[i] * (row[0] - row[n - 1]);
}

static void
transform_piece (guint index, gpointer data)
{
  const Run *run = data;
  TdAxisSpectrum *spectrum = run->spectrum;
  guint n = spectrum->length, end = MIN ((index + 1) * ROWS_A_PIECE, spectrum->n_rows);
  const TdHostPieces pieces = td_host_scratch_take (spectrum->scratch);
  fftwf_complex *from = pieces.from, *to = pieces.to;

  for (guint row = index * ROWS_A_PIECE; row < end; row += 2) {
    const float *rows = run->rows + (gsize) row * spectrum->n_columns;
    fftwf_complex *bins = spectrum->bins + (gsize) row * spectrum->n_bins;
    gboolean both = row + 1 < end;
    memset (from, 0, n * sizeof *from);
    axis_spectrum_load_row (run, rows, 0, from);
    if (both)
      axis_spectrum_load_row (run, rows + spectrum->n_columns, 1, from);
    fftwf_execute_dft (spectrum->plan, from, to);
    for (guint k = 0; k < spectrum->n_bins; k++) {
      const float *z = to[k], *y = to[k ? n - k : 0];
      bins[k][0] = 0.5f * (z[0] + y[0]);
      bins[k][1] = 0.5f * (z[1] - y[1]);
      if (both) {
        bins[spectrum->n_bins + k][0] = 0.5f * (z[1] + y[1]);
        bins[spectrum->n_bins + k][1] = 0.5f * (y[0] - z[0]);
      }
    }
  }
  td_host_scratch_give (spectrum->scratch, &pieces);
}

TdAxisSpectrum *
td_axis_spectrum_new (const float *rows, guint n_rows, guint n_columns, gboolean edges)
{
  g_autoptr (TdAxisSpectrum) spectrum = g_new0 (TdAxisSpectrum, 1);

  spectrum->n_rows = n_rows;
  spectrum->n_columns = n_columns;
  spectrum->length = td_fft_good_size (2 * n_columns);
  spectrum->n_bins = spectrum->length / 2 + 1;
  spectrum->plan = td_fftw_plan (spectrum->length);
  spectrum->bins = fftwf_alloc_complex ((gsize) n_rows * spectrum->n_bins);
  spectrum->scratch = td_host_scratch_new (spectrum->length * sizeof (fftwf_complex),
                                           spectrum->length * sizeof (fftwf_complex), NULL);
  if (!spectrum->plan || !spectrum->bins || !spectrum->scratch)
    return NULL;
  const guint gap = spectrum->length - n_columns;
  g_autofree float *fade = g_new (float, gap + 1);
  for (guint i = 0; i < gap; i++)
    fade[i] = (float) (0.5 - 0.5 * cos (G_PI * (i + 1) / (gap + 1)));
  Run run = { .spectrum = spectrum, .rows = rows, .edges = edges, .fade = fade };
  td_parallel_for ((n_rows + ROWS_A_PIECE - 1) / ROWS_A_PIECE, transform_piece, &run);
  return g_steal_pointer (&spectrum);
}

void
td_axis_spectrum_free (TdAxisSpectrum *spectrum)
{
  if (!spectrum)
    return;
  td_fftw_plan_free (spectrum->plan);
  fftwf_free (spectrum->bins);
  td_host_scratch_free (spectrum->scratch);
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

/* ── And back ── */

/* The transform runs forward only: the conjugate spectrum gives the conjugate. Two rows a and b go
   as a + i b. */
static void
axis_spectrum_back_piece (guint index, gpointer data)
{
  const Run *run = data;
  const TdAxisSpectrum *spectrum = run->spectrum;
  guint n = spectrum->length, half = n / 2;
  guint end = MIN ((index + 1) * ROWS_A_PIECE, run->count);
  const TdHostPieces pieces = td_host_scratch_take (spectrum->scratch);
  fftwf_complex *from = pieces.from, *to = pieces.to;
  const float *phase = run->phase;

  for (guint row = index * ROWS_A_PIECE; row < end; row += 2) {
    gboolean both = row + 1 < end;
    const fftwf_complex *a = spectrum->bins + (gsize) (run->first + row) * spectrum->n_bins;
    const fftwf_complex *b = both ? a + spectrum->n_bins : a;
    float *out = run->out + (gsize) row * run->n;
    for (guint i = 0; i <= half; i++) {
      float ar = a[i][0] * phase[2 * i] - a[i][1] * phase[2 * i + 1];
      float ai = a[i][0] * phase[2 * i + 1] + a[i][1] * phase[2 * i];
      float br = b[i][0] * phase[2 * i] - b[i][1] * phase[2 * i + 1];
      float bi = b[i][0] * phase[2 * i + 1] + b[i][1] * phase[2 * i];
      from[i][0] = ar - bi;
      from[i][1] = -ai - br;
      if (i > 0) {
        from[n - i][0] = ar + bi;
        from[n - i][1] = ai - br;
      }
    }
    fftwf_execute_dft (spectrum->plan, from, to);
    guint at = (guint) (((run->whole % (gint64) n) + n) % n);
    for (guint i = 0; i < run->n; i++) {
      out[i] = to[at][0];
      if (both)
        out[run->n + i] = -to[at][1];
      at = at + 1 < n ? at + 1 : 0;
    }
  }
  td_host_scratch_give (spectrum->scratch, &pieces);
}

void
td_axis_spectrum_rows (const TdAxisSpectrum *spectrum, guint first, guint count, double start,
                       guint n, float *out)
{
  g_autofree float *phase = g_new (float, 2 * (gsize) spectrum->n_bins);
  double whole = floor (start), length = spectrum->length;

  for (guint i = 0; i < spectrum->n_bins; i++) {
    double angle = 2 * G_PI * i * (start - whole) / length;
    gboolean highest = 2 * i == spectrum->length; /* has no phase: it fades with the fraction */
    phase[2 * i] = (float) (cos (angle) / length);
    phase[2 * i + 1] = highest ? 0 : (float) (sin (angle) / length);
  }
  Run run = { .spectrum = (TdAxisSpectrum *) spectrum,
              .out = out,
              .first = first,
              .count = count,
              .n = n,
              .whole = (gint64) whole,
              .phase = phase };
  td_parallel_for ((count + ROWS_A_PIECE - 1) / ROWS_A_PIECE, axis_spectrum_back_piece, &run);
}
