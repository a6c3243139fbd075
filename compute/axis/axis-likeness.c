/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "axis-likeness.h"

#include <math.h>
#include <string.h>

#include "axis-pairs.h"
#include "axis-search.h"
#include "axis-spectrum.h"

#define LEAST_REACH 4
#define SCATTER_STEP 0.125

struct TdAxisLikeness {
  TdAxisSpectrum *spectrum; /* of the views that are in a pair */
  guint n_columns, n_rows;
  GArray *pairs;        /* TdAxisPair, their views numbered by the spectrum's rows */
  double first_off_rad; /* 0: all are exact */
  double *response;
  float *rows;               /* [n_rows][n_columns]: on their grid */
  float *lines[3];           /* [n_pairs][n_columns]: W (a - b); W a; W b */
  double *fade;              /* [n_columns] W, from the first column under the taper on */
  GCancellable *cancellable; /* of the climb */
};

/* ── Life ── */

static guint
axis_likeness_number (GHashTable *numbers, GArray *views, guint view)
{
  gpointer found;

  if (g_hash_table_lookup_extended (numbers, GUINT_TO_POINTER (view), NULL, &found))
    return GPOINTER_TO_UINT (found);
  g_hash_table_insert (numbers, GUINT_TO_POINTER (view), GUINT_TO_POINTER (views->len));
  g_array_append_val (views, view);
  return views->len - 1;
}

TdAxisLikeness *
td_axis_likeness_new (const float *rows, guint n_columns, const GArray *pairs,
                      const double *response)
{
  g_autoptr (GHashTable) numbers = g_hash_table_new (NULL, NULL);
  g_autoptr (GArray) views = g_array_new (FALSE, FALSE, sizeof (guint));
  g_autoptr (TdAxisLikeness) self = g_new0 (TdAxisLikeness, 1);

  self->n_columns = n_columns;
  self->pairs = g_array_new (FALSE, FALSE, sizeof (TdAxisPair));
  for (guint i = 0; i < pairs->len; i++) {
    TdAxisPair pair = g_array_index (pairs, TdAxisPair, i);
    pair.view = axis_likeness_number (numbers, views, pair.view);
    pair.below = axis_likeness_number (numbers, views, pair.below);
    pair.above = axis_likeness_number (numbers, views, pair.above);
    g_array_append_val (self->pairs, pair);
  }
  self->first_off_rad = g_array_index (pairs, TdAxisPair, 0).off_rad;
  self->n_rows = views->len;
  self->rows = g_try_new (float, (gsize) self->n_rows *n_columns);
  self->fade = g_new (double, n_columns + 2 * LEAST_REACH + 1);
  gboolean good = self->rows != NULL;
  for (guint i = 0; i < G_N_ELEMENTS (self->lines); i++)
    good = (self->lines[i] = g_try_new (float, (gsize) pairs->len *n_columns)) && good;
  for (guint i = 0; good && i < views->len; i++)
    memcpy (self->rows + (gsize) i * n_columns,
            rows + (gsize) g_array_index (views, guint, i) * n_columns, n_columns * sizeof *rows);
  if (good)
    self->spectrum = td_axis_spectrum_new (self->rows, self->n_rows, n_columns, TRUE);
  if (!self->spectrum)
    return NULL;
  self->response
      = g_memdup2 (response, (td_axis_spectrum_length (self->spectrum) / 2 + 1) * sizeof *response);
  return g_steal_pointer (&self);
}

void
td_axis_likeness_free (TdAxisLikeness *self)
{
  if (!self)
    return;
  td_axis_spectrum_free (self->spectrum);
  g_array_unref (self->pairs);
  g_free (self->response);
  g_free (self->fade);
  g_free (self->rows);
  for (guint i = 0; i < G_N_ELEMENTS (self->lines); i++)
    g_free (self->lines[i]);
  g_free (self);
}

/* ── The merit ── */

/* One pair under the taper, from the first column on; the rest of the line stays 0. */
static void
axis_likeness_lay_out (TdAxisLikeness *self, guint index, const float *a, const float *b0,
                       const float *b1, guint reach)
{
  const TdAxisPair *pair = &g_array_index (self->pairs, TdAxisPair, index);
  guint width = 2 * reach + 1, n = self->n_columns;
  double w1 = pair->share, w0 = 1 - w1, sum = 0, weights = 0;
  float *differ = self->lines[0] + (gsize) index * n;

  for (guint i = 0; i < G_N_ELEMENTS (self->lines); i++)
    memset (self->lines[i] + (gsize) index * n, 0, n * sizeof (float));
  for (guint t = 0; t < width; t++) {
    double weight = self->fade[t];
    double x = weight * a[t], y = weight * (w0 * b0[width - 1 - t] + w1 * b1[width - 1 - t]);
    differ[t] = (float) (x - y);
    self->lines[1][(gsize) index * n + t] = (float) x;
    self->lines[2][(gsize) index * n + t] = (float) y;
    sum += x - y;
    weights += weight;
  }
  for (guint t = 0; t < width; t++)
    differ[t] -= (float) (self->fade[t] * sum / weights);
}

/* sum r^2 |FT|^2 over all frequencies and lines; INFINITY: no memory. @bins: what each frequency
   adds, may be NULL. */
static double
filtered_energy (const TdAxisLikeness *self, const float *lines, double *bins)
{
  guint n = self->pairs->len;
  g_autoptr (TdAxisSpectrum) spectrum = td_axis_spectrum_new (lines, n, self->n_columns, FALSE);
  double sum = 0;

  if (!spectrum)
    return INFINITY;
  guint half = td_axis_spectrum_length (spectrum) / 2;
  for (guint row = 0; row < n; row++) {
    const float *bin = td_axis_spectrum_bins (spectrum, row);
    for (guint i = 1; i <= half; i++) {
      double square = (double) bin[2 * i] * bin[2 * i] + (double) bin[2 * i + 1] * bin[2 * i + 1];
      square *= (i < half ? 2 : 1) * self->response[i] * self->response[i];
      sum += square;
      if (bins)
        bins[i] += square;
    }
  }
  return sum;
}

/* All pairs under the taper. */
static void
axis_likeness_compare (TdAxisLikeness *self, double centre_px, double drift_px, double taper_px)
{
  const double inside = floor (MIN (taper_px, self->n_columns - 1 - taper_px)) - 1;
  guint reach = (guint) CLAMP (inside, LEAST_REACH, (self->n_columns - 1) / 2);
  guint width = 2 * reach + 1;

  for (guint t = 0; t < width; t++)
    self->fade[t] = td_axis_taper ((gint) t - (gint) reach, reach);
  if (self->first_off_rad == 0)
    td_axis_spectrum_rows (self->spectrum, 0, self->n_rows, centre_px - reach, width, self->rows);
  for (guint i = 0; i < self->pairs->len; i++) {
    const TdAxisPair *pair = &g_array_index (self->pairs, TdAxisPair, i);
    float *a = self->rows + (gsize) pair->view * width;
    float *b0 = self->rows + (gsize) pair->below * width;
    float *b1 = self->rows + (gsize) pair->above * width;
    if (self->first_off_rad != 0) {
      double start = centre_px + drift_px * pair->off_rad / self->first_off_rad - reach;
      a = self->rows;
      b0 = b1 = self->rows + width;
      td_axis_spectrum_rows (self->spectrum, pair->view, 1, start, width, a);
      td_axis_spectrum_rows (self->spectrum, pair->below, 1, start, width, b0);
    }
    axis_likeness_lay_out (self, i, a, b0, b1, reach);
  }
}

double
td_axis_likeness_at (TdAxisLikeness *self, double centre_px, double drift_px, double taper_px,
                     double *energy)
{
  if (energy)
    *energy = 0;
  if (g_cancellable_is_cancelled (self->cancellable))
    return 0;
  axis_likeness_compare (self, centre_px, drift_px, taper_px);
  if (energy)
    *energy = filtered_energy (self, self->lines[1], NULL)
              + filtered_energy (self, self->lines[2], NULL);
  return filtered_energy (self, self->lines[0], NULL);
}

/* ── The climb ── */

/* One step to the bottom of the parabola through three or six places @h apart. FALSE: it was on the
   slope, and went down it by @h. The match's top is that of where it began; @bend: of D / E. */
static gboolean
climb_once (TdAxisLikeness *self, TdAxisMatch *match, double h, double *bend)
{
  double c = match->centre_px, d = match->drift_px, energy;
  double here = td_axis_likeness_at (self, c, d, c, &energy);
  double left = td_axis_likeness_at (self, c - h, d, c, NULL);
  double right = td_axis_likeness_at (self, c + h, d, c, NULL);
  double slope_c = (right - left) / (2 * h), bend_cc = (left - 2 * here + right) / (h * h);

  energy = MAX (energy, G_MINDOUBLE);
  match->top = 1 - here / energy;
  *bend = bend_cc / energy;
  if (self->first_off_rad == 0) {
    double step = bend_cc > 0 ? -slope_c / bend_cc : (right < left ? h : -h);
    match->centre_px = c + CLAMP (step, -h, h);
    return bend_cc > 0 && fabs (step) <= h;
  }
  double below = td_axis_likeness_at (self, c, d - h, c, NULL);
  double above = td_axis_likeness_at (self, c, d + h, c, NULL);
  double both = td_axis_likeness_at (self, c + h, d + h, c, NULL);
  double slope_d = (above - below) / (2 * h), bend_dd = (below - 2 * here + above) / (h * h);
  double bend_cd = (both - right - above + here) / (h * h);
  double determinant = bend_cc * bend_dd - bend_cd * bend_cd;
  if (bend_cc > 0 && determinant > 0) {
    double step_c = (bend_cd * slope_d - bend_dd * slope_c) / determinant;
    double step_d = (bend_cd * slope_c - bend_cc * slope_d) / determinant;
    *bend = determinant / bend_dd / energy;
    match->centre_px = c + CLAMP (step_c, -h, h);
    match->drift_px = d + CLAMP (step_d, -h, h);
    return fabs (step_c) <= h && fabs (step_d) <= h;
  }
  match->centre_px = c + (right < left ? h : -h);
  match->drift_px = d + (above < below ? h : -h);
  return FALSE;
}

static double
axis_likeness_scatter (TdAxisLikeness *self, const TdAxisMatch *match)
{
  const guint n = td_axis_spectrum_length (self->spectrum) / 2 + 1;
  g_autofree double *bins = g_new0 (double, 3 * (gsize) n);

  for (gint k = 0; k < 3; k++) {
    axis_likeness_compare (self, match->centre_px + (k - 1) * SCATTER_STEP, match->drift_px,
                           match->centre_px);
    filtered_energy (self, self->lines[0], bins + k * n);
  }
  return td_axis_scatter (bins, n, SCATTER_STEP);
}

gboolean
td_axis_likeness_climb (TdAxisLikeness *self, TdAxisMatch *match, GCancellable *cancellable,
                        GError **error)
{
  double bend = 0;

  self->cancellable = cancellable;
  for (double h = 0.5; h > 0.1; h /= 2)
    for (guint tries = 0; tries < 6; tries++) {
      if (g_cancellable_set_error_if_cancelled (cancellable, error))
        return FALSE;
      if (climb_once (self, match, h, &bend))
        break;
    }
  if (g_cancellable_set_error_if_cancelled (cancellable, error))
    return FALSE;
  match->spread_px = axis_likeness_scatter (self, match);
  return TRUE;
}
