/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What finds the rotation axis, part by part: each metric against its formula in plain double
 * precision. */
#include <complex.h>
#include <math.h>
#include <string.h>

#include "compute/axis/axis-consensus.h"
#include "compute/axis/axis-likeness.h"
#include "compute/axis/axis-line.h"
#include "compute/axis/axis-pairs.h"
#include "compute/axis/axis-quality.h"
#include "compute/axis/axis-rows.h"
#include "compute/axis/axis-search.h"
#include "compute/axis/axis-spectrum.h"
#include "compute/axis/axis-wedge.h"
#include "dataset/random.h"
#include "dataset/scan-private.h"
#include "tests/common/devices.h"
#include "tests/common/frames.h"
#include "tests/common/pipeline.h"
#include "tests/common/pins.h"

static float *
random_rows (guint n_rows, guint n_columns, guint32 seed)
{
  float *rows = g_new (float, (gsize) n_rows *n_columns);

  td_test_random (rows, (gsize) n_rows * n_columns, seed);
  return rows;
}

/* The advice, in words. Valid until the next one. */
static const char *
formulas_said (const TdAxisResult *result)
{
  static char *said;

  g_free (said);
  said = td_message_words (result->advice, NULL);
  return said;
}

static void
assert_near (double value, double truth, double part)
{
  if (!(fabs (value - truth) <= part * fabs (truth)))
    g_error ("%.9g is not %.9g within %g", value, truth, part);
}

/* ── Formulas ── */

/* One row continued as the header says, transformed by the sum that defines it. */
static void
plain_spectrum (const float *row, guint n, guint length, gboolean edges, double complex *bins)
{
  for (guint k = 0; k <= length / 2; k++) {
    bins[k] = 0;
    for (guint i = 0; i < length; i++) {
      double t = i < n ? 0 : 0.5 - 0.5 * cos (G_PI * (i - n + 1) / (length - n + 1.0));
      double value = i < n ? row[i] : edges ? row[n - 1] * (1 - t) + row[0] * t : 0;
      bins[k] += value * cexp (-2 * G_PI * I * k * i / length);
    }
  }
}

static double
plain_value (const double complex *bins, guint length, double at)
{
  double sum = creal (bins[0]);
  double fraction = at - floor (at);

  for (guint k = 1; k < length / 2; k++)
    sum += 2 * creal (bins[k] * cexp (2 * G_PI * I * k * at / length));
  /* The highest frequency has no phase: it fades with the fraction. */
  sum += creal (bins[length / 2] * cexp (2 * G_PI * I * (length / 2) * floor (at) / length))
         * cos (G_PI * fraction);
  return sum / length;
}

static void
test_spectrum (void)
{
  static const guint sizes[] = { 1, 2, 7, 23, 40 };
  static const double starts[] = { 0, 2.5, -3.3, 0.999, -7 };

  for (guint s = 0; s < G_N_ELEMENTS (sizes); s++)
    for (guint edges = 0; edges < 2; edges++) {
      guint n = sizes[s];
      g_autofree float *rows = random_rows (19, n, 7 + s);
      g_autoptr (TdAxisSpectrum) spectrum = td_axis_spectrum_new (rows, 19, n, edges);
      guint length = td_axis_spectrum_length (spectrum);
      g_autofree double complex *bins = g_new (double complex, length / 2 + 1);
      g_autofree float *out = g_new (float, 19 * n);
      for (guint i = 0; i < G_N_ELEMENTS (starts); i++) {
        td_axis_spectrum_rows (spectrum, 0, 19, starts[i], n, out);
        for (guint row = 0; row < 19; row += 6) {
          plain_spectrum (rows + row * n, n, length, edges, bins);
          for (guint u = 0; u < n; u++)
            g_assert_cmpfloat_with_epsilon (out[row * n + u],
                                            plain_value (bins, length, starts[i] + u), 3e-6);
        }
      }
    }
}

/* f / hypot (f, 0.06) * signal / (signal + noise) * cos^2 (pi f), by the mean power of all views.
 */
static void
plain_response (const float *rows, guint n_views, guint n, guint length, double *response)
{
  guint half = length / 2, tail = half - half / 16;
  g_autofree double *power = g_new0 (double, half + 1);
  g_autofree double complex *bins = g_new (double complex, half + 1);
  double noise = 0;

  for (guint v = 0; v < n_views; v++) {
    plain_spectrum (rows + v * n, n, length, TRUE, bins);
    for (guint k = 0; k <= half; k++)
      power[k] += cabs (bins[k]) * cabs (bins[k]);
  }
  for (guint k = tail; k <= half; k++)
    noise += power[k] / (half - tail + 1);
  response[0] = 0;
  for (guint k = 1; k <= half; k++) {
    guint reach = k / 4 + 1, from = k > reach ? k - reach : 1, to = MIN (k + reach, half);
    double mean = 0, f = (double) k / length;
    for (guint j = from; j <= to; j++)
      mean += power[j] / (to - from + 1);
    response[k] = f / hypot (f, 0.06) * MAX (1 - noise / mean, 0) * pow (cos (G_PI * f), 2);
  }
}

static void
test_whiten (void)
{
  enum { VIEWS = 9, COLUMNS = 31 };
  g_autofree float *rows = random_rows (VIEWS, COLUMNS, 3);

  for (guint v = 0; v < VIEWS; v++) /* something smooth in the noise */
    for (guint u = 0; u < COLUMNS; u++)
      rows[v * COLUMNS + u] = 0.1f * rows[v * COLUMNS + u] + (float) sin (0.3 * u + 0.2 * v);
  g_autofree float *white = td_axis_whiten (rows, VIEWS, COLUMNS);
  guint length = td_fft_good_size (2 * COLUMNS);
  g_autofree double *response = g_new (double, length / 2 + 1);
  g_autofree double complex *bins = g_new (double complex, length / 2 + 1);
  plain_response (rows, VIEWS, COLUMNS, length, response);
  for (guint v = 0; v < VIEWS; v++) {
    plain_spectrum (rows + v * COLUMNS, COLUMNS, length, TRUE, bins);
    for (guint k = 0; k <= length / 2; k++)
      bins[k] *= response[k];
    for (guint u = 0; u < COLUMNS; u++) {
      gboolean edge = u < 2 || u >= COLUMNS - 2;
      g_assert_cmpfloat_with_epsilon (white[v * COLUMNS + u],
                                      edge ? 0 : plain_value (bins, length, u), 1e-5);
    }
  }
}

static double
plain_fade (gint t, gint reach)
{
  double x = abs (t) / (reach + 1.0);

  return x <= 0.6 ? 1 : 0.5 * (1 + cos (G_PI * (x - 0.6) / 0.4));
}

static void
plain_remove_mean (double *line, gint reach)
{
  double sum = 0, weights = 0;

  for (gint t = -reach; t <= reach; t++) {
    sum += plain_fade (t, reach) * line[t + reach];
    weights += plain_fade (t, reach);
  }
  for (gint t = -reach; t <= reach; t++)
    line[t + reach] -= sum / weights;
}

/* sum r (k)^2 |FT of W (t) line (t)|^2 over all frequencies of the padded length. */
static double
plain_energy (const double *line, gint reach, guint length, const double *response)
{
  double sum = 0;

  for (guint k = 0; k < length; k++) {
    double complex bin = 0;
    double r = response[MIN (k, length - k)];
    for (gint t = -reach; t <= reach; t++) {
      bin += plain_fade (t, reach) * line[t + reach] * cexp (-2 * G_PI * I * k * t / length);
    }
    sum += r * r * cabs (bin) * cabs (bin);
  }
  return sum;
}

/* Pairs that are exact, or lie between two views; and pairs that miss half a turn, each of which
   has a centre of its own. The taper may be about another place than the centre. */
static void
test_likeness (void)
{
  enum { VIEWS = 6, COLUMNS = 29 };
  static const TdAxisPair some[][3]
      = { { { 0, 3, 4, 0.25, 0 }, { 1, 4, 4, 0, 0 }, { 2, 5, 3, 0.5, 0 } },
          { { 0, 3, 3, 0, 0.02 }, { 1, 4, 4, 0, -0.03 }, { 2, 5, 5, 0, 0.05 } } };
  static const double places[][3] /* the centre, the drift, where the taper is */
      = { { 14, 0, 14 },     { 12.3, 0, 12.3 }, { 17.75, 0, 17.75 },
          { 13.2, 0.4, 15 }, { 14, 1.3, 3 },    { 14.5, -0.7, 25.6 } };
  double complex bins[VIEWS][64];
  guint length = td_fft_good_size (2 * COLUMNS);
  double response[64];

  for (guint k = 0; k <= length / 2; k++)
    response[k] = k * exp (-0.1 * k);
  for (guint i = 0; i < 2 * G_N_ELEMENTS (places); i++) {
    const TdAxisPair *chosen = some[i % 2];
    const double *place = places[i / 2];
    g_autofree float *rows = random_rows (VIEWS, COLUMNS, 11);
    g_autoptr (GArray) pairs = g_array_new (FALSE, FALSE, sizeof (TdAxisPair));
    double differ = 0, all = 0, energy;
    gint reach = MAX ((gint) floor (MIN (place[2], COLUMNS - 1 - place[2])) - 1, 4);

    g_array_append_vals (pairs, chosen, 3);
    for (guint v = 0; v < VIEWS; v++)
      plain_spectrum (rows + v * COLUMNS, COLUMNS, length, TRUE, bins[v]);
    g_autoptr (TdAxisLikeness) likeness = td_axis_likeness_new (rows, COLUMNS, pairs, response);
    for (guint p = 0; p < 3; p++) {
      const double drift = i % 2 ? place[1] * chosen[p].off_rad / chosen[0].off_rad : 0;
      const double c = place[0] + drift;
      double a[COLUMNS], b[COLUMNS], d[COLUMNS];
      for (gint t = -reach; t <= reach; t++) {
        double b0 = plain_value (bins[chosen[p].below], length, c - t);
        double b1 = plain_value (bins[chosen[p].above], length, c - t);
        a[t + reach] = plain_value (bins[chosen[p].view], length, c + t);
        b[t + reach] = (1 - chosen[p].share) * b0 + chosen[p].share * b1;
        d[t + reach] = a[t + reach] - b[t + reach];
      }
      plain_remove_mean (d, reach);
      differ += plain_energy (d, reach, length, response);
      all += plain_energy (a, reach, length, response) + plain_energy (b, reach, length, response);
    }
    g_test_message ("%u", i);
    assert_near (td_axis_likeness_at (likeness, place[0], place[1], place[2], &energy), differ,
                 1e-5);
    assert_near (energy, all, 1e-5);
    assert_near (td_axis_likeness_at (likeness, place[0], place[1], place[2], NULL), differ, 1e-5);
  }
}

/* From wherever it begins, it comes to the bottom nearby. There parabolas a small step wide say no
   other place, along the centre and along the drift. What it says of the match is kept. */
static void
test_climb (void)
{
  enum { VIEWS = 8, COLUMNS = 41 };
  static const struct {
    double begin_px, begin_drift_px, noise, unit;
    gboolean off;
  } cases[] = {
    { 19.3, 0, 0, 1, FALSE },      { 20.6, 0, 0.1, 1, FALSE },     { 22.1, 0, 0.1, 1, FALSE },
    { 18.4, 0, 0.3, 1, FALSE },    { 20.6, 0, 0.1, 1e-3, FALSE },  { 19.3, 0.6, 0, 1, TRUE },
    { 20.4, 0.1, 0.1, 1, TRUE },   { 18.2, 1.9, 0.1, 1, TRUE },    { 21.4, -1, 0.3, 1, TRUE },
    { 20.4, 0.1, 0.1, 1e3, TRUE }, { 20.4, 0.1, 0.1, 1e-3, TRUE },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autofree float *rows = random_rows (VIEWS, COLUMNS, 21);
    g_autoptr (GArray) pairs = g_array_new (FALSE, FALSE, sizeof (TdAxisPair));
    g_autoptr (GError) error = NULL;
    const double unit = cases[i].unit;

    for (guint v = 0; v < VIEWS; v++) {
      const double off = cases[i].off ? 0.02 + 0.015 * (v / 2) : 0;
      const double centre = 19.6 + (cases[i].off ? 0.9 * off / 0.02 : 0);
      for (guint u = 0; u < COLUMNS; u++) {
        const double t = (v % 2 ? -1 : 1) * (u - centre) - 2 + v / 2;
        float *value = &rows[v * COLUMNS + u];
        *value = (float) (unit * (cases[i].noise * *value + exp (-t * t / 18)));
      }
      if (v % 2 == 0)
        g_array_append_vals (pairs, &(TdAxisPair) { v, v + 1, v + 1, 0, off }, 1);
    }
    g_autofree double *response = td_axis_response (rows, VIEWS, COLUMNS);
    g_autoptr (TdAxisLikeness) likeness = td_axis_likeness_new (rows, COLUMNS, pairs, response);
    TdAxisMatch match = { .centre_px = cases[i].begin_px, .drift_px = cases[i].begin_drift_px };
    g_assert_true (td_axis_likeness_climb (likeness, &match, NULL, &error));
    g_assert_no_error (error);
    td_test_pin ("%u: %.3f, %.3f, top %.4f, spread %.4f", i, match.centre_px, match.drift_px,
                 match.top, match.spread_px);
    for (guint way = 0; way < (cases[i].off ? 2 : 1); way++) {
      double worth[3];
      for (gint k = -1; k <= 1; k++)
        worth[k + 1] = td_axis_likeness_at (likeness, match.centre_px + 0.125 * (way == 0 ? k : 0),
                                            match.drift_px + 0.125 * (way == 1 ? k : 0),
                                            match.centre_px, NULL);
      const double bend = worth[0] - 2 * worth[1] + worth[2];
      g_assert_cmpfloat (bend, >, 0);
      g_assert_cmpfloat (fabs (0.0625 * (worth[2] - worth[0]) / bend), <, 0.01);
    }
  }
}

static void
test_wedge (void)
{
  static const guint sizes[][2] = { { 16, 17 }, { 23, 11 }, { 31, 25 } };

  for (guint s = 0; s < G_N_ELEMENTS (sizes); s++) {
    gint views = (gint) sizes[s][0], width = (gint) sizes[s][1], length = 32, reach = width / 2;
    g_autofree float *half = random_rows ((guint) views, (guint) width, 5 + s);
    double weights[17];
    for (guint k = 0; k < G_N_ELEMENTS (weights); k++)
      weights[k] = 1 + 0.3 * k;
    g_autoptr (TdAxisWedge) wedge
        = td_axis_wedge_new ((guint) views, (guint) length, 0.4 * width, weights);
    double outside = 0, all = 0;
    guint n_outside = 0, n_all = 0;
    double lines[31][25];
    for (gint v = 0; v < views; v++) {
      for (gint t = 0; t < width; t++)
        lines[v][t] = half[v * width + t];
      plain_remove_mean (lines[v], reach);
    }
    for (gint m = TD_AXIS_WEDGE_DROP + 1; m <= views; m++)
      for (gint k = 0; k < length; k++) {
        double complex sum = 0;
        for (gint v = 0; v < 2 * views; v++)
          for (gint t = -reach; t <= reach; t++) {
            double value = v < views ? lines[v][reach + t] : lines[v - views][reach - t];
            sum += plain_fade (t, reach) * value
                   * cexp (-2 * G_PI * I
                           * ((double) m * v / (2 * views) + (double) k * t / length));
          }
        double f = MIN (k, length - k) / (double) length;
        gboolean out = m > 2 * G_PI * f * 0.4 * width;
        double size = weights[MIN (k, length - k)] * cabs (sum);
        outside += out ? size * size : 0;
        n_outside += out;
        all += size * size;
        n_all++;
      }
    assert_near (td_axis_wedge_spilled (wedge, half, (guint) width, NULL),
                 outside / n_outside / (all / n_all), 1e-5);
  }
}

static void
test_quality (void)
{
  static const gint sizes[] = { 16, 31 };

  for (guint s = 0; s < G_N_ELEMENTS (sizes); s++) {
    gint n = sizes[s];
    g_autofree float *slice = random_rows ((guint) n, (guint) n, 9 + s);
    double negative = 0, flatness = 0, g1 = 0, g2 = 0, radius = 0.4 * n;
    guint count = 0;
    for (gint y = 1; y < n - 1; y++)
      for (gint x = 1; x < n - 1; x++) {
        if (hypot (x - (n - 1) / 2.0, y - (n - 1) / 2.0) > radius)
          continue;
        const float *p = slice + y * n + x;
        double dx = (double) p[1] - p[-1], dy = (double) p[n] - p[-n], g = dx * dx + dy * dy;
        negative += p[0] < 0 ? p[0] : 0;
        flatness -= pow (g, 0.25);
        g1 += g;
        g2 += g * g;
        count++;
      }
    assert_near (td_axis_quality (TD_AXIS_QUALITY_NEGATIVITY, slice, (guint) n, radius),
                 negative / count, 1e-12);
    assert_near (td_axis_quality (TD_AXIS_QUALITY_FLATNESS, slice, (guint) n, radius),
                 flatness / count, 1e-12);
    assert_near (td_axis_quality (TD_AXIS_QUALITY_STEEPNESS, slice, (guint) n, radius),
                 count * g2 / (g1 * g1), 1e-12);
  }
}

/* The usual step of few views, in any order; none where all are alike. */
static void
test_step (void)
{
  static const struct {
    double angles[5];
    guint n;
    double step, range;
  } cases[] = {
    { { 1, 1.5 }, 2, 0.5, 0.5 }, { { 1.5, 1 }, 2, 0.5, 0.5 },    { { 0, 0.5, 2 }, 3, 1.5, 2 },
    { { 0, 3, 1, 1 }, 4, 2, 3 }, { { 0, 1, 2, 3, 9 }, 5, 1, 9 }, { { -4, 5, -2, 1, -1 }, 5, 2, 9 },
    { { 2, 2, 2 }, 3, 0, 0 },    { { 0, 1e-10 }, 2, 0, 1e-10 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    double range;
    td_test_pin ("%u", i);
    assert_near (td_axis_step (cases[i].angles, cases[i].n, &range), cases[i].step, 1e-12);
    assert_near (range, cases[i].range, 1e-12);
  }
}

/* A sample is cut off where the outermost columns have more than a tenth of what the fullest have.
   These are a 64th of the width on either side. */
static void
test_cut_off (void)
{
  static const struct {
    guint n, at, wide; /* columns; those of the sample's edge */
    double edge;
    gboolean cut_off;
  } cases[] = {
    { 16, 0, 1, 0.11, TRUE },    { 16, 0, 1, 0.09, FALSE },    { 16, 15, 1, 0.11, TRUE },
    { 16, 1, 1, 0.9, FALSE },    { 63, 62, 1, 0.11, TRUE },    { 127, 0, 1, 0.11, TRUE },
    { 128, 0, 2, 0.11, TRUE },   { 128, 0, 2, 0.09, FALSE },   { 128, 2, 2, 0.9, FALSE },
    { 128, 126, 2, 0.11, TRUE }, { 640, 630, 10, 0.11, TRUE }, { 640, 620, 10, 0.9, FALSE },
  };
  enum { VIEWS = 3 };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    const guint n = cases[i].n, fullest = n / 2 / MAX (1, n / 64) * MAX (1, n / 64);
    g_autofree float *rows = g_new0 (float, VIEWS *n);
    for (guint v = 0; v < VIEWS; v++) {
      for (guint u = 0; u < MAX (1, n / 64); u++)
        rows[v * n + fullest + u] = 1;
      for (guint u = 0; u < cases[i].wide; u++)
        rows[v * n + cases[i].at + u] = (float) cases[i].edge;
    }
    td_test_pin ("%u", i);
    g_assert_cmpint (td_axis_cut_off (rows, VIEWS, n), ==, cases[i].cut_off);
  }
}

/* Opposite views without their mean are still each other's mirror image, and what stood still is
 * gone. */
static void
test_mean (void)
{
  enum { VIEWS = 12, COLUMNS = 21 };
  g_autofree float *rows = random_rows (VIEWS + 1, COLUMNS, 31);
  gboolean counted[VIEWS + 1] = { FALSE };

  for (guint v = 0; v < VIEWS / 2; v++)
    for (guint u = 0; u < COLUMNS; u++)
      rows[(v + VIEWS / 2) * COLUMNS + u] = rows[v * COLUMNS + COLUMNS - 1 - u];
  for (guint v = 0; v < VIEWS; v++) {
    counted[v] = TRUE;
    for (guint u = 0; u < COLUMNS; u++)
      rows[v * COLUMNS + u] += (float) u * u;
  }
  td_axis_remove_mean (rows, VIEWS + 1, COLUMNS, counted);
  for (guint u = 0; u < COLUMNS; u++) {
    double sum = 0;
    for (guint v = 0; v < VIEWS; v++)
      sum += rows[v * COLUMNS + u];
    g_assert_cmpfloat_with_epsilon (sum, 0, 1e-3);
    for (guint v = 0; v < VIEWS / 2; v++)
      g_assert_cmpfloat_with_epsilon (rows[v * COLUMNS + u],
                                      rows[(v + VIEWS / 2) * COLUMNS + COLUMNS - 1 - u], 1e-4);
  }
}

/* ── Parts ── */

static guint
count_pairs (guint n_views, double first_deg, double step_deg, double *largest_off_deg)
{
  g_autofree double *angles = g_new (double, n_views);

  for (guint v = 0; v < n_views; v++)
    angles[v] = (first_deg + v * step_deg) * G_PI / 180;
  g_autoptr (GArray) pairs = td_axis_pairs (angles, n_views);
  *largest_off_deg = 0;
  for (guint i = 0; i < pairs->len; i++) {
    const TdAxisPair *pair = &g_array_index (pairs, TdAxisPair, i);
    double mixed = (1 - pair->share) * angles[pair->below] + pair->share * angles[pair->above];
    double apart = fabs (remainder (mixed - angles[pair->view] - G_PI, 2 * G_PI));
    *largest_off_deg = MAX (*largest_off_deg, fabs (pair->off_rad) * 180 / G_PI);
    /* The angle said to be missing is the one that is missing. Between the last and the first view
       of a turn, the mean of the two is meaningless. */
    if (pair->below == pair->above)
      g_assert_cmpfloat_with_epsilon (apart, fabs (pair->off_rad),
                                      0.03 * fabs (step_deg) * G_PI / 180);
  }
  return pairs->len;
}

static void
test_pairs (void)
{
  double off;

  g_assert_cmpuint (count_pairs (360, 0, 1, &off), ==, 360); /* each of the 180 from both sides */
  g_assert_cmpfloat (off, ==, 0);
  g_assert_cmpuint (count_pairs (181, -90, 1, &off), ==, 2); /* end point included */
  g_assert_cmpfloat (off, ==, 0);
  g_assert_cmpuint (count_pairs (180, 10, 1, &off), ==, 6); /* 1, 2, 2, 3, 3, 3 steps */
  g_assert_cmpfloat_with_epsilon (off, 3, 1e-9);
  g_assert_cmpuint (count_pairs (359, 0, 360 / 359.0, &off), ==, 359); /* between two views */
  g_assert_cmpuint (count_pairs (100, 0, -3.6, &off), ==, 100);
  g_assert_cmpuint (count_pairs (90, 0, 1, &off), ==, 0);
  g_assert_cmpuint (count_pairs (1, 0, 1, &off), ==, 0);
  g_assert_cmpuint (count_pairs (5, 0, 0, &off), ==, 0);
}

/* Slopes that cancel within a band say nothing of the scatter between bands, in whichever it is. */
static void
test_bands_scatter (void)
{
  enum { PARTS = 6 * 512 };
  static double parts[3][PARTS];

  for (guint i = 0; i < PARTS; i++) {
    parts[0][i] = 1;
    parts[2][i] = 2; /* a slope of 1/2, and a bend of 3 */
  }
  double all = td_axis_scatter (parts[0], PARTS, 0.5);
  g_assert_cmpfloat (all, >, 0);
  g_assert_cmpfloat_with_epsilon (td_axis_scatter (parts[0], PARTS, 1), 2 * all, 1e-9);
  for (guint i = 0; i < PARTS; i += 2) {
    parts[0][i] = 2;
    parts[2][i] = 1;
  }
  g_assert_cmpfloat (td_axis_scatter (parts[0], PARTS, 0.5), <, 1e-3 * all);
}

static void
test_peak (void)
{
  double values[41], flat[5] = { 2, 2, 2, 2, 2 }, rising[5] = { 1, 2, 3, 4, 5 };
  TdAxisEstimate estimate;

  for (guint i = 0; i < G_N_ELEMENTS (values); i++)
    values[i] = 3 - 0.01 * (i - 20.25) * (i - 20.25);
  g_assert_true (td_axis_curve_peak (&(TdAxisCurve) { 100, 0.5, 41, values }, &estimate));
  g_assert_cmpfloat_with_epsilon (estimate.centre_px, 110.125, 1e-9);
  g_assert_cmpfloat (estimate.confidence, ==, 1);
  values[3] = 3; /* as high, elsewhere */
  g_assert_true (td_axis_curve_peak (&(TdAxisCurve) { 100, 0.5, 41, values }, &estimate));
  g_assert_cmpfloat (estimate.confidence, <, 0.01);
  g_assert_false (td_axis_curve_peak (&(TdAxisCurve) { 0, 1, 5, flat }, &estimate));
  g_assert_true (isnan (estimate.centre_px) && estimate.reason);
  g_assert_false (td_axis_curve_peak (&(TdAxisCurve) { 0, 1, 5, rising }, &estimate));
  g_assert_true (isnan (estimate.centre_px) && estimate.reason);
}

static void
test_rows (void)
{
  enum { VIEWS = 40, COLUMNS = 33 };
  g_autofree float *noise = random_rows (VIEWS + 1, COLUMNS, 21);
  g_autofree float *object = g_new (float, VIEWS *COLUMNS);

  noise[VIEWS * COLUMNS] = 1e6f; /* of another row */
  g_assert_true (td_axis_blank (noise, VIEWS, COLUMNS));
  for (guint v = 0; v < VIEWS; v++)
    for (guint u = 0; u < COLUMNS; u++) {
      double t = u - 16 - 6 * cos (v * G_PI / VIEWS);
      object[v * COLUMNS + u] = (float) exp (-t * t / 20) + (u == 16 ? 0.5f : 0);
    }
  g_assert_false (td_axis_blank (object, VIEWS, COLUMNS));
  td_axis_destripe (object, VIEWS, COLUMNS);
  for (guint v = 0; v < VIEWS; v++) {
    double t = -6 * cos (v * G_PI / VIEWS);
    g_assert_cmpfloat_with_epsilon (object[v * COLUMNS + 16], exp (-t * t / 20), 0.1);
  }
}

/* Stripes of a row that threads share, at either end of each one's columns. */
static void
test_stripes (void)
{
  enum { VIEWS = 3, COLUMNS = 200 };
  float rows[VIEWS * COLUMNS];

  for (guint stripe = 2; stripe < COLUMNS - 2; stripe++) {
    for (guint i = 0; i < VIEWS * COLUMNS; i++)
      rows[i] = 1 + i / COLUMNS + (i % COLUMNS == stripe ? 0.5f : 0);
    td_axis_destripe (rows, VIEWS, COLUMNS);
    for (guint i = 0; i < VIEWS * COLUMNS; i++)
      g_assert_cmpfloat_with_epsilon (rows[i], 1 + i / COLUMNS, 1e-5);
  }
}

/* Which rows are tried, and how many about each are averaged. The mean is that of the whole band,
   whether a thread has one piece of it or several. */
static void
test_bands (void)
{
  static const struct {
    guint n_rows, n_views, n_columns;
    guint first, end, wanted; /* of the options; 0: none */
    guint count, band, rows[5];
  } cases[] = {
    { 45, 3, 7, 0, 0, 0, 5, 9, { 4, 13, 22, 31, 40 } },
    { 45, 300, 230, 0, 0, 0, 5, 9, { 4, 13, 22, 31, 40 } },
    { 15, 256, 256, 0, 0, 0, 5, 3, { 1, 4, 7, 10, 13 } },
    { 15, 257, 256, 0, 0, 0, 5, 3, { 1, 4, 7, 10, 13 } },
    { 14, 3, 7, 0, 0, 0, 5, 1, { 1, 4, 7, 9, 12 } }, /* bands of two are none */
    { 45, 3, 7, 10, 20, 2, 2, 5, { 12, 17 } },
    { 45, 3, 7, 40, 45, 1, 1, 5, { 42 } },
    { 3, 3, 7, 0, 0, 0, 3, 1, { 0, 1, 2 } },
    { 45, 3, 7, 0, 1, 5, 1, 1, { 0 } },
    { 45, 3, 7, 44, 45, 5, 1, 1, { 44 } },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    const gsize samples = (gsize) cases[i].n_views * cases[i].n_columns;
    g_autofree float *data = g_new (float, samples *cases[i].n_rows);
    g_autofree double *angles = g_new0 (double, cases[i].n_views);
    g_autoptr (GError) error = NULL;

    for (gsize k = 0; k < samples * cases[i].n_rows; k++)
      data[k] = (float) (k % samples % 1000) + (float) (k / samples) * (float) (k / samples);
    g_autoptr (TdScan) scan
        = td_test_scan (data, cases[i].n_rows, cases[i].n_views, cases[i].n_columns, angles);
    g_autoptr (TdDevice) device = td_device_open ("host", &error);
    const TdRowSource source = { .device = device, .scan = scan };
    const TdAxisOptions options
        = { .n_rows = cases[i].wanted, .row_first = cases[i].first, .row_end = cases[i].end };
    g_autoptr (TdAxisRows) rows = td_axis_rows_new (&source, &options, &error);
    g_assert_no_error (error);
    td_test_pin ("%u", i);
    g_assert_cmpuint (td_axis_rows_count (rows), ==, cases[i].count);
    for (guint r = 0; r < cases[i].count; r++) {
      g_assert_cmpuint (td_axis_rows_row (rows, r), ==, cases[i].rows[r]);
      g_autofree float *mean = td_axis_rows_read (rows, r, NULL, &error);
      double squares = 0; /* of the rows' numbers */
      g_assert_no_error (error);
      for (guint k = 0; k < cases[i].band; k++)
        squares += pow (cases[i].rows[r] + (double) k - cases[i].band / 2, 2) / cases[i].band;
      for (gsize k = 0; k < samples; k++)
        g_assert_cmpfloat_with_epsilon (mean[k], k % 1000 + squares, 1e-3);
    }
  }
  /* Rows that are not there are named. */
  static const guint wrong[][2] = { { 0, 46 }, { 45, 46 }, { 20, 20 }, { 21, 20 } };
  g_autofree float *data = g_new0 (float, 45 * 21);
  g_autofree double *angles = g_new0 (double, 3);
  g_autoptr (TdScan) scan = td_test_scan (data, 45, 3, 7, angles);
  g_autoptr (TdDevice) device = td_device_open ("host", NULL);
  const TdRowSource source = { .device = device, .scan = scan };
  for (guint i = 0; i < G_N_ELEMENTS (wrong); i++) {
    const TdAxisOptions options = { .row_first = wrong[i][0], .row_end = wrong[i][1] };
    g_autoptr (GError) error = NULL;
    g_assert_null (td_axis_rows_new (&source, &options, &error));
    g_assert_error (error, TD_ERROR, TD_ERROR_INVALID);
  }
}

/* Bands become narrower with the memory, by an odd number of rows and their neighbours, of which a
   step needs some. A quarter of what is free may be taken. */
static void
test_bands_memory (void)
{
  enum { ROWS = 45, VIEWS = 100, COLUMNS = 50 };
  static const struct {
    guint fits; /* rows in a quarter of the memory */
    const char *step;
    guint band;
  } cases[]
      = { { 10, NULL, 9 },      { 9, NULL, 9 },      { 8, NULL, 7 },      { 7, NULL, 7 },
          { 3, NULL, 3 },       { 2, NULL, 1 },      { 1, NULL, 1 },      { 11, "zingers", 9 },
          { 10, "zingers", 7 }, { 9, "zingers", 7 }, { 8, "zingers", 5 }, { 3, "zingers", 1 } };
  const gsize samples = (gsize) VIEWS * COLUMNS;
  g_autofree float *data = g_new (float, samples *ROWS);
  g_autofree double *angles = g_new0 (double, VIEWS);

  for (gsize k = 0; k < samples * ROWS; k++)
    data[k] = (float) (k / samples) * (float) (k / samples);
  g_autoptr (TdScan) scan = td_test_scan (data, ROWS, VIEWS, COLUMNS, angles);
  scan->facts.transmission_logged = FALSE; /* as the step wants it */
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GError) error = NULL;
    g_autoptr (TdDevice) host = td_device_open ("host", &error);
    g_autoptr (TdDevice) device
        = td_device_for_job (host, 4 * (cases[i].fits * samples * sizeof (float) + 99));
    const TdStep step = td_test_step ("zingers:size=0");
    const TdRowSource source
        = { .device = device, .scan = scan, .steps = &step, .n_steps = cases[i].step != NULL };
    double squares = 0;

    g_assert_true (!cases[i].step || td_preparation_halo (&step, 1, td_scan_facts (scan)) == 1);
    g_autoptr (TdAxisRows) rows = td_axis_rows_new (&source, NULL, &error);
    g_assert_no_error (error);
    g_autofree float *mean = td_axis_rows_read (rows, 2, NULL, &error);
    g_assert_no_error (error);
    for (guint k = 0; k < cases[i].band; k++)
      squares += pow (22 + (double) k - cases[i].band / 2, 2) / cases[i].band;
    td_test_pin ("%u: %g", i, mean[0]);
    g_assert_cmpfloat_with_epsilon (mean[samples / 2], squares, 1e-3);
  }
}

/* ── What trials say together ── */

/* Trials of three methods on three rows: at these columns, with one confidence. */
static void
agree (const double *centres_px, double confidence, TdAxisTrial trials[9], TdAxisResult *result)
{
  static const TdAxisMethod methods[] = { TD_AXIS_CORRELATION, TD_AXIS_FOURIER, TD_AXIS_SHARPNESS };

  for (guint i = 0; i < 9; i++)
    trials[i] = (TdAxisTrial) { .method = methods[i / 3],
                                .row = 10 + 40 * (i % 3),
                                .centre_px = centres_px[i],
                                .confidence = confidence,
                                .spread_px = 0.05 };
  *result = (TdAxisResult) { .trials = trials, .n_trials = 9 };
  td_axis_agree (result, 50, NAN, 0);
}

/* None is certain by itself, but six of nine say the same: that is the best guess, and is called
   one. Where they are scattered there is none. */
static void
test_guess (void)
{
  static const double together[] = { 80.2, 80.5, 31, 80.9, 80.6, 12, 80.4, 120, 80.1 };
  static const double scattered[] = { 80.2, 20.5, 31, 65.9, 99.6, 12, 80.4, 120, 50.1 };
  TdAxisTrial trials[9];
  TdAxisResult result;

  agree (together, 0.1, trials, &result);
  g_assert_cmpfloat_with_epsilon (result.centre_px, 80.45, 0.3);
  g_assert_cmpfloat (result.uncertainty_px, >, 0.3);
  g_assert_cmpfloat (result.uncertainty_px, <, 2);
  g_assert_false (result.agreed);
  g_assert_nonnull (strstr (formulas_said (&result), "6 lie near column 80"));
  for (guint i = 0; i < 9; i++)
    g_assert_cmpint (trials[i].used, ==, fabs (trials[i].centre_px - 80.5) < 1);
  g_free (result.advice);

  agree (scattered, 0.1, trials, &result);
  g_assert_true (isnan (result.centre_px));
  g_assert_false (result.agreed);
  g_free (result.advice);
}

/* A guess takes three weak trials, and more than half of those that found anything. In one row they
   lie up to 1.5 columns from each other. */
static void
test_guess_limits (void)
{
  static const struct {
    double centres_px[6];
    guint rows; /* on which they are by turns */
    gboolean guessed;
  } cases[] = {
    { { 80, 80.2, 80.4, 31, 60, NAN }, 3, TRUE },   { { 80, 80.2, 80.4, 31, 60, 100 }, 3, FALSE },
    { { 80, 80.2, 80.4, NAN, NAN, NAN }, 3, TRUE }, { { 80, 80.2, NAN, NAN, NAN, NAN }, 3, FALSE },
    { { 80, 80, 81.45, NAN, NAN, NAN }, 1, TRUE },  { { 80, 80, 81.55, NAN, NAN, NAN }, 1, FALSE },
    { { 80, 31, 60, 12, 100, 45 }, 3, FALSE },      { { NAN, NAN, NAN, NAN, NAN, NAN }, 3, FALSE },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    TdAxisTrial trials[6];
    TdAxisResult result = { .trials = trials, .n_trials = 6 };

    for (guint k = 0; k < 6; k++)
      trials[k] = (TdAxisTrial) { .method = k % 2,
                                  .row = 50 + 40 * (k % cases[i].rows),
                                  .centre_px = cases[i].centres_px[k],
                                  .confidence = 0.1,
                                  .spread_px = 0.05,
                                  .used = TRUE };
    td_axis_agree (&result, 90, NAN, 0);
    td_test_pin ("%u: %g", i, result.centre_px);
    g_assert_false (result.agreed);
    g_assert_cmpint (isfinite (result.centre_px), ==, cases[i].guessed);
    g_assert_cmpint (isfinite (result.uncertainty_px), ==, cases[i].guessed);
    g_assert_cmpfloat (result.middle_row, ==, 90);
    if (cases[i].guessed)
      g_assert_cmpfloat_with_epsilon (result.centre_px, 80.2, 0.4);
    else
      g_assert_true (result.known_row == 90
                     && g_str_has_prefix (formulas_said (&result), "No method found a centre"));
    g_free (result.advice);
  }
}

/* Fewer than half of what was found is no agreement, however near these lie to each other. */
static void
test_few_used (void)
{
  static const double few[] = { 80.01, 80.02, 79.99, 31, 80, 12, 44, 120, 67 };
  TdAxisTrial trials[9];
  TdAxisResult result;

  agree (few, 0.5, trials, &result);
  g_assert_false (result.agreed);
  g_free (result.advice);
  for (guint i = 0; i < 9; i++)
    trials[i].confidence
        = fabs (few[i] - 80) < 1 ? 0.9 : 0.1; /* the others know that they are weak */
  result = (TdAxisResult) { .trials = trials, .n_trials = 9 };
  td_axis_agree (&result, 50, NAN, 0);
  g_assert_cmpfloat_with_epsilon (result.centre_px, 80, 0.05);
  g_assert_false (result.agreed);
  td_test_pin ("%s", result.advice);
  g_assert_nonnull (strstr (formulas_said (&result), "4 of 9"));
  g_free (result.advice);
}

/* Of rows at the top of a detector the centre is known there, and not at the middle row: the tilt
   may move it. Where a tilt is stated, its error counts. */
static void
test_lever (void)
{
  static const double same[] = { 80.01, 80.02, 79.99, 80, 80.01, 79.98, 80, 80.02, 79.99 };
  TdAxisTrial trials[9];
  TdAxisResult result;

  agree (same, 0.9, trials, &result);
  g_assert_true (result.agreed);
  g_assert_cmpfloat_with_epsilon (result.known_row, 50, 3);
  const double at_middle = td_axis_result_uncertainty_at (&result, 50);
  g_assert_cmpfloat_with_epsilon (at_middle, result.uncertainty_px, 1e-12);
  g_assert_cmpfloat (td_axis_result_uncertainty_at (&result, 0), >, 2 * at_middle);
  const double tilt = tan (result.tilt_uncertainty_deg * G_PI / 180);
  g_assert_cmpfloat_with_epsilon (td_axis_result_uncertainty_at (&result, 1000),
                                  2 * tilt * (1000 - result.known_row), 0.01);

  result = (TdAxisResult) { .trials = trials, .n_trials = 9 };
  td_axis_agree (&result, 550, 0, 1e-3);
  g_assert_cmpfloat_with_epsilon (result.uncertainty_px, 2 * 1e-3 * (550 - result.known_row), 0.02);
  g_assert_false (result.agreed);
  g_assert_nonnull (strstr (formulas_said (&result), "the tilt"));
  g_free (result.advice);
}

/* A method that scatters from row to row says less than one that does not, whatever either says of
   its own error. */
static void
test_scatter (void)
{
  static const double first[]
      = { 80, 80.01, 79.99, 80.3, 79.5, 80.9, 79.5, 80.8, 81.1 }; /* by method, then row */
  double centres[9];
  TdAxisTrial trials[9];
  TdAxisResult result;

  for (guint turn = 0; turn < 3; turn++) { /* whichever it is */
    for (guint i = 0; i < 9; i++)
      centres[(i + 3 * turn) % 9] = first[i];
    agree (centres, 0.9, trials, &result);
    td_test_pin ("%.4f +- %.4f", result.centre_px, result.uncertainty_px);
    g_assert_cmpfloat_with_epsilon (result.centre_px, 80, 0.15);
    g_free (result.advice);
  }
}

/* The rows say the tilt, and one trial far off does not. */
static void
test_slope (void)
{
  double centres[9];
  TdAxisTrial trials[9];
  TdAxisResult result;

  for (guint i = 0; i < 9; i++)
    centres[i] = 80 + 0.01 * (10 + 40. * (i % 3) - 50) + (i == 4 ? 30 : 0.004 * (i % 2));
  agree (centres, 0.9, trials, &result);
  g_assert_cmpfloat_with_epsilon (result.centre_px, 80, 0.01);
  g_assert_cmpfloat_with_epsilon (result.tilt_deg, atan (0.01) * 180 / G_PI, 0.01);
  g_assert_cmpfloat (result.tilt_uncertainty_deg, >, 0);
  g_assert_cmpfloat (result.tilt_uncertainty_deg, <, 0.4);
  g_assert_cmpfloat_with_epsilon (result.middle_row, 50, 1e-12);
  g_assert_true (result.agreed);
  for (guint i = 0; i < 9; i++)
    g_assert_cmpint (trials[i].used, ==, i != 4);
  g_free (result.advice);
}

/* A tilt takes three rows of trials that count. Several trials of a row are one row, whichever of
   them count, and what lies far off makes none. */
static void
test_rows_that_count (void)
{
  static const struct {
    guint rows[9];
    guint off; /* a bit for each trial that is far off */
    gboolean tilted;
  } cases[] = {
    { { 10, 10, 10, 50, 50, 50, 90, 90, 90 }, 0, TRUE },
    { { 10, 90, 10, 90, 10, 90, 10, 90, 10 }, 0, FALSE },
    { { 10, 90, 50, 90, 10, 90, 10, 90, 10 }, 1 << 2, FALSE },
    { { 10, 90, 50, 50, 10, 90, 10, 90, 10 }, 1 << 2, TRUE },
    { { 50, 10, 90, 90, 10, 90, 10, 90, 50 }, 1 << 0 | 1 << 1, TRUE },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    TdAxisTrial trials[9];
    TdAxisResult result = { .trials = trials, .n_trials = 9 };

    for (guint k = 0; k < 9; k++) {
      const guint row = cases[i].rows[k];
      const gboolean off = cases[i].off >> k & 1;
      trials[k] = (TdAxisTrial) { .method = k % 3,
                                  .row = row,
                                  .centre_px = 80 + 0.02 * (row - 50.) + (off ? 25 : 0),
                                  .confidence = 0.9,
                                  .spread_px = 0.05 };
    }
    td_axis_agree (&result, 50, NAN, 0);
    g_assert_cmpfloat_with_epsilon (result.tilt_deg, cases[i].tilted ? atan (0.02) * 180 / G_PI : 0,
                                    1e-3);
    for (guint k = 0; k < 9; k++)
      g_assert_true (!trials[k].used || !(cases[i].off >> k & 1));
    g_free (result.advice);
  }
}

/* Trials that contradict the others widen what is not known by their share of the confidence. */
static void
test_contradiction (void)
{
  static const double apart[] = { 80, 80.01, 79.99, 80.01, 80, 79.98, 95, 95.01, 94.99 };
  static const double confidences[][2] = { { 0.5, 0.9 }, { 0.6, 0.9 }, { 0.9, 0.4 } };
  TdAxisTrial trials[9];
  TdAxisResult result;

  for (guint i = 0; i < G_N_ELEMENTS (confidences); i++) {
    agree (apart, 0.9, trials, &result);
    g_free (result.advice);
    for (guint k = 0; k < 9; k++)
      trials[k].confidence = confidences[i][k >= 6];
    result = (TdAxisResult) { .trials = trials, .n_trials = 9 };
    td_axis_agree (&result, 50, NAN, 0);
    const double with = 6 * confidences[i][0], against = 3 * confidences[i][1];
    const double share = against / (with + against);
    td_test_pin ("%.3f +- %.3f: %s", result.centre_px, result.uncertainty_px, result.advice);
    g_assert_cmpfloat_with_epsilon (result.centre_px, 80, 0.05);
    if (share > 0.4) {
      g_assert_cmpfloat_with_epsilon (result.uncertainty_px, share * 15, 0.02 * share * 15);
      g_assert_false (result.agreed);
    } else {
      g_assert_cmpfloat (result.uncertainty_px, <, 0.3);
    }
    g_free (result.advice);
  }
}

/* Little evidence is called little, and an uncertain centre uncertain. */
static void
test_advice (void)
{
  static const double differ[] = { 80, 80.01, 79.99, 80.6, 80.61, 80.59, 81.2, 81.21, 81.19 };
  TdAxisTrial trials[9] = {
    { .method = TD_AXIS_FOURIER, .row = 50, .centre_px = 80, .confidence = 0.9, .spread_px = 0.01 }
  };
  TdAxisResult result = { .trials = trials, .n_trials = 1 };

  td_axis_agree (&result, 50, NAN, 0);
  g_assert_true (g_str_has_prefix (formulas_said (&result), "Only one method on one row"));
  g_free (result.advice);
  trials[1] = trials[0];
  result = (TdAxisResult) { .trials = trials, .n_trials = 2 };
  td_axis_agree (&result, 50, NAN, 0);
  td_test_pin ("%s", result.advice);
  g_assert_true (g_str_has_prefix (formulas_said (&result), "One method on one row is weak"));
  g_free (result.advice);
  trials[1].method = TD_AXIS_SHARPNESS;
  result = (TdAxisResult) { .trials = trials, .n_trials = 2 };
  td_axis_agree (&result, 50, NAN, 0);
  g_assert_true (result.agreed && !result.advice);

  agree (differ, 0.9, trials, &result);
  td_test_pin ("%s", result.advice);
  g_assert_true (g_str_has_prefix (formulas_said (&result), "The centre is uncertain by"));
  g_free (result.advice);
}

/* More rows are asked for only where the detector has some on which nothing was tried. */
static void
test_advice_rows (void)
{
  static const struct {
    guint n_trials, n_methods, n_rows;
    double spread_px, stray_px; /* of all but two */
    const char *says;
  } cases[] = {
    { 1, 1, 1, 0.01, 0, "Only one method on one row" },
    { 2, 1, 1, 0.01, 0, "One method on one row is weak" },
    { 4, 2, 1, 0.5, 0, "The centre is uncertain by" },
    { 9, 3, 3, 0.5, 0, "The centre is uncertain by" },
    { 5, 2, 1, 0.01, 9, "trials lie near column" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    for (guint more = 0; more < 2; more++) {
      const guint n_rows = more ? 101 : cases[i].n_rows;
      TdAxisTrial trials[9];
      TdAxisResult result = { .trials = trials, .n_trials = cases[i].n_trials };

      for (guint k = 0; k < result.n_trials; k++)
        trials[k]
            = (TdAxisTrial) { .method = k % cases[i].n_methods,
                              .row = n_rows / 2 - cases[i].n_rows / 2 + k / 3 % cases[i].n_rows,
                              .centre_px = 80 + (k < 2 ? 0 : cases[i].stray_px * k),
                              .confidence = k < 2 ? 0.9 : 0.2,
                              .spread_px = cases[i].spread_px };
      td_axis_agree (&result, (n_rows - 1) / 2., NAN, 0);
      g_test_message ("%u: %s", i, formulas_said (&result));
      g_assert_nonnull (strstr (formulas_said (&result), cases[i].says));
      g_assert_cmpint (strstr (formulas_said (&result), "more rows") != NULL, ==, more);
      g_free (result.advice);
    }
}

/* A trial votes for a line by its confidence, less the square of its distance in 1.5 columns. */
static void
test_votes (void)
{
  static const struct {
    const char *says;
    TdAxisTrial trials[3];
    double centre_px, slope;
  } cases[] = {
    { "two outvote one", { { 0, 10, 30, 0.52 }, { 1, 10, 30, 0.52 }, { 2, 10, 60, 1 } }, 30, 0 },
    { "one outvotes two", { { 0, 10, 30, 0.48 }, { 1, 10, 30, 0.48 }, { 2, 10, 60, 1 } }, 60, 0 },
    { "three quarters of a vote from 0.75 columns",
      { { 0, 10, 30, 0.58 }, { 1, 10, 30.75, 0.58 }, { 2, 10, 60, 1 } },
      30,
      0 },
    { "and not more", { { 0, 10, 30, 0.56 }, { 1, 10, 30.75, 0.56 }, { 2, 10, 60, 1 } }, 60, 0 },
    { "none from 1.55 columns",
      { { 0, 10, 30, 0.97 }, { 1, 10, 31.55, 0.97 }, { 2, 10, 60, 1 } },
      60,
      0 },
    { "an upright axis wins nearly a tie", { { 0, 10, 30, 1 }, { 1, 50, 30.28, 1 } }, 30, 0 },
    { "but no more than that", { { 0, 10, 30, 1 }, { 1, 50, 30.32, 1 } }, 30.16, 0.008 },
    { "five degrees", { { 0, 10, 30, 1 }, { 1, 60, 34.4, 1 } }, 31.76, 0.088 },
    { "are the most", { { 0, 10, 30, 1 }, { 1, 60, 34.6, 0.9 } }, 30, 0 },
    { "who is weak does not vote",
      { { 0, 10, 30, 0.199 }, { 1, 10, 30, 0.199 }, { 2, 10, 60, 0.2 } },
      60,
      0 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    const guint n = cases[i].trials[2].confidence > 0 ? 3 : 2;
    const TdAxisLine line = td_axis_line_mode (cases[i].trials, n, 30);

    td_test_pin ("%s: %g, %g", cases[i].says, line.centre_px, line.slope);
    g_assert_cmpfloat_with_epsilon (line.centre_px, cases[i].centre_px, 1e-9);
    g_assert_cmpfloat_with_epsilon (line.slope, cases[i].slope, 1e-9);
  }
}

/* The centre is the mean by the trials' own errors: hypot (floor, spread), larger by the root of a
   small confidence. Two trials so near each other that none counts less for its distance. */
static void
test_errors (void)
{
  static const double floors[TD_AXIS_COUNT] = { 0.01, 0.02, 0.01, 0.02, 0.01 };
  static const double spreads[] = { NAN, 0.02, 0.05, 0.1 }, confidences[] = { 1, 0.5, 0.25 };
  const double apart = 0.002;

  for (guint m = 1; m < TD_AXIS_COUNT; m++)
    for (guint s = 0; s < G_N_ELEMENTS (spreads); s++)
      for (guint c = 0; c < G_N_ELEMENTS (confidences); c++) {
        const double own = isnan (spreads[s]) ? 0 : spreads[s];
        const double first = hypot (0.01, 0.03);
        const double second = hypot (floors[m], own) / sqrt (confidences[c]);
        TdAxisTrial trials[]
            = { { 0, 50, 30, 1, 0.03 }, { m, 50, 30 + apart, confidences[c], spreads[s] } };
        TdAxisResult result = { .trials = trials, .n_trials = 2 };
        const double weight = pow (first / second, 2);

        td_axis_agree (&result, 50, NAN, 0);
        td_test_pin ("%u, %g, %g: %g", m, spreads[s], confidences[c], result.centre_px - 30);
        g_assert_cmpfloat_with_epsilon (result.centre_px - 30, apart * weight / (1 + weight),
                                        0.02 * apart);
        g_free (result.advice);
      }
}

/* Sums of whole groups of views and columns; what is left over at the ends is dropped. */
static void
test_bins (void)
{
  enum { VIEWS = 13, COLUMNS = 29, STRIDE = 33 };
  g_autofree float *rows = random_rows (VIEWS, STRIDE, 17);

  for (guint by_views = 1; by_views <= 5; by_views++)
    for (guint by_columns = 1; by_columns <= 6; by_columns++) {
      const guint views = VIEWS / by_views, columns = COLUMNS / by_columns;
      g_autofree float *binned = td_axis_bin (rows, VIEWS, STRIDE, COLUMNS, by_views, by_columns);
      for (guint v = 0; v < views; v++)
        for (guint u = 0; u < columns; u++) {
          double sum = 0;
          for (guint i = 0; i < by_views; i++)
            for (guint k = 0; k < by_columns; k++)
              sum += rows[(v * by_views + i) * STRIDE + u * by_columns + k];
          g_assert_cmpfloat_with_epsilon (binned[v * columns + u], sum, 1e-5);
          g_assert_cmpfloat_with_epsilon (
              td_axis_to_binned (by_columns, (u + 0.5) * by_columns - 0.5), u, 1e-12);
        }
    }
  for (gint reach = 0; reach <= 9; reach++)
    for (gint t = -reach - 1; t <= reach + 1; t++)
      g_assert_cmpfloat_with_epsilon (td_axis_taper (t, (guint) reach), plain_fade (t, reach),
                                      1e-12);
}

/* Curves by chance: the peak and its place by a parabola, and how far the next hill lies below. */
static void
test_peaks (void)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (19);

  for (guint round = 0; round < 300; round++) {
    const guint n = 3 + round % 23;
    double merit[26], sorted[26], second = -INFINITY, height;
    guint best = 0;
    TdAxisEstimate estimate;

    for (guint i = 0; i < n; i++) {
      merit[i] = floor (g_rand_double_range (random, -9, 9)) + 1e-3 * i;
      sorted[i] = merit[i];
      best = merit[i] > merit[best] ? i : best;
    }
    for (guint i = 1; i < n; i++)
      for (guint k = i; k > 0 && sorted[k] < sorted[k - 1]; k--) {
        const double kept = sorted[k];
        sorted[k] = sorted[k - 1];
        sorted[k - 1] = kept;
      }
    height = merit[best] - sorted[n / 2];
    /* A value is of another hill if one between it and the best is lower. */
    for (guint i = 0; i < n; i++) {
      gboolean falls = TRUE;
      for (guint k = i; k < best; k++)
        falls = falls && merit[k] <= merit[k + 1];
      for (guint k = best; k < i; k++)
        falls = falls && merit[k + 1] <= merit[k];
      second = falls ? second : MAX (second, merit[i]);
    }
    const gboolean found = td_axis_curve_peak (&(TdAxisCurve) { 7, 0.25, n, merit }, &estimate);
    g_assert_cmpint (found, ==, best > 0 && best + 1 < n && height > 0);
    if (!found) {
      g_assert_true (isnan (estimate.centre_px) && estimate.confidence == 0 && estimate.reason);
      continue;
    }
    const double left = merit[best] - merit[best - 1], right = merit[best] - merit[best + 1];
    const double part = CLAMP ((left - right) / (left + right) / 2, -0.5, 0.5);
    g_assert_cmpfloat_with_epsilon (estimate.centre_px, 7 + 0.25 * (best + part), 1e-9);
    g_assert_cmpfloat_with_epsilon (
        estimate.confidence, isfinite (second) ? CLAMP ((merit[best] - second) / height, 0, 1) : 1,
        1e-9);
    g_assert_true (isnan (estimate.spread_px));
  }
}

/* A line goes through the same places, however the detector is cropped and binned. */
static void
test_seen (void)
{
  static const TdScanFrame frames[] = {
    { .crop_column = 0 },
    { .crop_column = 5, .crop_row = 8, .crop_columns = 40, .crop_rows = 30 },
    { .bin_columns = 2, .bin_rows = 2 },
    { .bin_columns = 4, .bin_rows = 1 },
    { .bin_columns = 1, .bin_rows = 3 },
    { .crop_column = 3,
      .crop_row = 7,
      .crop_columns = 60,
      .crop_rows = 36,
      .bin_columns = 2,
      .bin_rows = 3 },
  };
  const TdScanFacts facts = { .n_columns = 100, .n_rows = 48 };
  const TdAxisLine line = td_axis_line (44.3, 0.9, 48);

  g_assert_cmpfloat_with_epsilon (line.slope, tan (0.9 * G_PI / 180), 1e-12);
  g_assert_cmpfloat_with_epsilon (td_axis_line_at (&line, 23.5), 44.3, 1e-12);
  g_assert_cmpfloat_with_epsilon (td_axis_line_at (&line, 0), 44.3 - 23.5 * line.slope, 1e-12);
  for (guint i = 0; i < G_N_ELEMENTS (frames); i++) {
    const TdScanFrame *frame = &frames[i];
    const guint n_rows = (frame->crop_rows ? frame->crop_rows : 48) / MAX (frame->bin_rows, 1);
    const TdAxisLine seen = td_axis_line_seen (&line, &facts, frame, n_rows);
    g_assert_cmpfloat (seen.middle_row, ==, (n_rows - 1) / 2.0);
    for (guint row = 0; row < n_rows; row++) {
      const double there = td_scan_frame_row_back (frame, 48, row);
      g_assert_cmpfloat_with_epsilon (
          td_axis_line_at (&seen, row),
          td_scan_frame_column (frame, 100, td_axis_line_at (&line, there)), 1e-9);
    }
  }
}

/* Which quality suits: a whole turn is from 288 degrees on. */
static void
test_quality_for (void)
{
  static const struct {
    double range_deg;
    gboolean cut_off;
    TdAxisQuality quality;
  } cases[] = {
    { 180, FALSE, TD_AXIS_QUALITY_NEGATIVITY }, { 180, TRUE, TD_AXIS_QUALITY_FLATNESS },
    { 286, FALSE, TD_AXIS_QUALITY_NEGATIVITY }, { 290, FALSE, TD_AXIS_QUALITY_STEEPNESS },
    { 360, TRUE, TD_AXIS_QUALITY_STEEPNESS },
  };
  enum { VIEWS = 40, COLUMNS = 20 };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    float rows[VIEWS * COLUMNS];
    double angles[VIEWS];
    for (guint v = 0; v < VIEWS; v++) {
      angles[v] = cases[i].range_deg * G_PI / 180 * v / (VIEWS - 1);
      for (guint u = 0; u < COLUMNS; u++)
        rows[v * COLUMNS + u] = cases[i].cut_off || (u > 5 && u < 15);
    }
    g_assert_cmpint (td_axis_quality_for (rows, VIEWS, COLUMNS, angles), ==, cases[i].quality);
  }
}

/* A pair is exact within a fiftieth of a step. Two views that half a turn falls between are 1.6
   steps apart at the most. Else it is missed by 3.5 steps, or by 12 degrees. */
static void
test_pair_limits (void)
{
  static const struct {
    double degrees[6];
    guint n;
    guint n_pairs, n_exact;
    double off_deg; /* of the nearest */
  } cases[] = {
    { { 0, 10, 20, 180 }, 4, 2, 2, 0 },
    { { 0, 10, 20, 180.19 }, 4, 2, 2, 0 },
    { { 0, 10, 20, 179.81 }, 4, 2, 2, 0 },
    /* No more: from the last view alone, half a turn on, two views lie on either side. */
    { { 0, 10, 20, 180.21 }, 4, 1, 0, 0 },
    { { 0, 10, 20, 195 }, 4, 1, 0, 0 },
    { { 0, 15.5, 170, 183 }, 4, 2, 0, 0 },
    { { 0, 10, 20, 30, 171.5 }, 5, 1, 0, -8.5 },
    { { 0, 10, 20, 30, 168.1 }, 5, 1, 0, -11.9 },
    { { 0, 10, 20, 30, 167.9 }, 5, 0, 0, 0 },
    { { 0, 1, 2, 3, 176.6 }, 5, 1, 0, -3.4 },
    { { 0, 1, 2, 3, 176.4 }, 5, 0, 0, 0 },
    { { 90, 91, 92, 93, 273.7 }, 5, 3, 0, 0.7 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    double angles[6];
    guint exact = 0;
    for (guint k = 0; k < cases[i].n; k++)
      angles[k] = cases[i].degrees[k] * G_PI / 180;
    g_autoptr (GArray) pairs = td_axis_pairs (angles, cases[i].n);
    for (guint k = 0; k < pairs->len; k++) {
      const TdAxisPair *pair = &g_array_index (pairs, TdAxisPair, k);
      exact += pair->off_rad == 0 && pair->below == pair->above;
      g_assert_cmpuint (MAX (pair->below, pair->above), <, cases[i].n);
      g_assert_true (pair->share >= 0 && pair->share <= 1);
    }
    g_test_message ("%u: %u pairs, %u exact", i, pairs->len, exact);
    g_assert_cmpuint (pairs->len, ==, cases[i].n_pairs);
    g_assert_cmpuint (exact, ==, cases[i].n_exact);
    if (pairs->len > 0)
      g_assert_cmpfloat_with_epsilon (g_array_index (pairs, TdAxisPair, 0).off_rad,
                                      cases[i].off_deg * G_PI / 180, 1e-9);
  }
}

/* The error of a centre by six bands of frequencies: each has a sixth of all bends. */
static void
test_scatter_of_parts (void)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (23);

  for (guint round = 0; round < 40; round++) {
    const guint n = 6 + 5 * round;
    g_autofree double *parts = g_new (double, 3 * n);
    double bend = 0, squares = 0, seen = 0, slope = 0;
    guint band = 1;

    for (guint i = 0; i < n; i++) {
      parts[n + i] = g_rand_double (random);
      parts[i] = parts[n + i] + g_rand_double_range (random, 0.1, 1);
      parts[2 * n + i] = parts[n + i] + g_rand_double_range (random, 0.1, 1);
      bend += parts[i] + parts[2 * n + i] - 2 * parts[n + i];
    }
    for (guint i = 0; i < n; i++) {
      seen += parts[i] + parts[2 * n + i] - 2 * parts[n + i];
      slope += (parts[2 * n + i] - parts[i]) / 2;
      if (seen >= bend * band / 6 || i == n - 1) {
        squares += slope * slope;
        slope = 0;
        while (band < 6 && seen >= bend * band / 6)
          band++;
      }
    }
    g_assert_cmpfloat_with_epsilon (td_axis_scatter (parts, n, 0.25),
                                    0.25 * 1.6 * sqrt (squares) / bend, 1e-9);
  }
  const double flat[] = { 1, 2, 3, 1, 2, 3, 1, 2, 3 }; /* no bend tells no error */
  g_assert_true (isnan (td_axis_scatter (flat, 3, 1)));
}

/* Trials by chance: of one method or all, on one row or many. They scatter, lie far off, are weak,
   or have no answer. The tilt is known or not. What each comes to is kept. */
static void
test_invented (void)
{
  static const guint rows[] = { 1, 2, 3, 5, 9 };
  static const double scatters[] = { 0.004, 0.03, 0.1, 0.4 }, slopes[] = { 0, 0.002, -0.02, 0.06 };
  TdRandom random;

  td_random_init (&random, 80, 1);
  for (guint round = 0; round < 90; round++) {
    const guint n_rows = rows[round % 5], n_methods = 1 + round / 5 % TD_AXIS_COUNT;
    const guint tall = n_rows == 1 ? 1 + 40 * (round % 2) : 20 * n_rows + round % 7;
    const double scatter = scatters[round / 3 % 4], slope = n_rows > 1 ? slopes[round / 7 % 4] : 0;
    const double far = round % 4 == 3 ? 0.45 : 0.1, weakest = round % 11 == 10 ? 0.02 : 0.15;
    const double most = round % 11 == 10 ? 0.19 : 1, above = round % 6 == 5 ? 0.3 : 1;
    g_autofree TdAxisTrial *trials = g_new (TdAxisTrial, n_methods * n_rows);
    g_autofree char *used = g_new0 (char, n_methods *n_rows + 1);
    TdAxisResult result = { .trials = trials, .n_trials = n_methods * n_rows };

    for (guint i = 0; i < result.n_trials; i++) {
      const guint row = (guint) (above * tall * (i % n_rows + 0.5) / n_rows);
      const double off = (td_random_uniform (&random) - 0.5) * 2 * scatter;
      const double moved = td_random_uniform (&random) < far ? td_random_uniform (&random) * 9 : 0;
      const double given = td_random_uniform (&random);

      trials[i] = (TdAxisTrial) {
        .method = (i / n_rows + round) % TD_AXIS_COUNT,
        .row = row,
        .centre_px = given < 0.06 ? NAN : 50 + slope * (row - tall / 2.0) + off + moved,
        .confidence = weakest + (most - weakest) * td_random_uniform (&random),
        .spread_px = given > 0.8 ? NAN : scatter * (0.2 + td_random_uniform (&random)),
      };
      /* Methods differ, too. */
      trials[i].centre_px += round % 8 == 7 ? 0.3 * (i / n_rows) : 0;
    }
    const TdAxisLine line = td_axis_line_mode (trials, result.n_trials, (tall - 1) / 2.0);
    td_axis_agree (&result, (tall - 1) / 2.0, round % 9 == 8 ? slope : NAN,
                   round % 9 == 8 ? 0.002 : 0);
    for (guint i = 0; i < result.n_trials; i++)
      used[i] = trials[i].used ? 'x' : '-';
    g_assert_true (isnan (result.centre_px) || strchr (used, 'x')); /* a centre is of trials */
    td_test_pin ("%u, %u trials: about %.4f, %.5f; %.4f +- %.4f, above +- %.4f, tilt %.4f +- %.4f, "
                 "row %.2f",
                 round, result.n_trials, line.centre_px, line.slope, result.centre_px,
                 result.uncertainty_px, td_axis_result_uncertainty_at (&result, 0), result.tilt_deg,
                 result.tilt_uncertainty_deg, result.known_row);
    td_test_pin ("%s: %s", used, result.agreed ? "agreed" : formulas_said (&result));
    g_assert_cmpint (result.agreed, ==, !result.advice);
    g_free (result.advice);
  }
}

/* A copy has everything, and memory of its own. */
static void
test_result_copy (void)
{
  TdAxisTrial trials[] = { { 1, 50, 30, 0.5, 0.03 }, { 2, 60, 31, 0.7, 0.04 } };
  TdAxisResult result = { .centre_px = 30.25,
                          .uncertainty_px = 0.5,
                          .tilt_deg = 0.1,
                          .trials = trials,
                          .n_trials = 2,
                          .advice = (char *) "words" };
  TdAxisResult *copy = td_axis_result_copy (&result);

  g_assert_true (copy->trials != trials && copy->advice != result.advice);
  g_assert_cmpmem (copy->trials, 2 * sizeof *trials, trials, sizeof trials);
  g_assert_cmpstr (copy->advice, ==, "words");
  g_assert_cmpfloat (copy->centre_px, ==, 30.25);
  g_assert_cmpfloat (copy->tilt_deg, ==, 0.1);
  g_assert_cmpuint (copy->n_trials, ==, 2);
  td_axis_result_free (copy);
  td_axis_result_free (NULL);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/axis/formula/spectrum", test_spectrum);
  g_test_add_func ("/axis/formula/whiten", test_whiten);
  g_test_add_func ("/axis/formula/likeness", test_likeness);
  g_test_add_func ("/axis/formula/climb", test_climb);
  g_test_add_func ("/axis/formula/wedge", test_wedge);
  g_test_add_func ("/axis/formula/quality", test_quality);
  g_test_add_func ("/axis/formula/step", test_step);
  g_test_add_func ("/axis/formula/cut-off", test_cut_off);
  g_test_add_func ("/axis/formula/mean", test_mean);
  g_test_add_func ("/axis/pairs", test_pairs);
  g_test_add_func ("/axis/bands-scatter", test_bands_scatter);
  g_test_add_func ("/axis/peak", test_peak);
  g_test_add_func ("/axis/rows", test_rows);
  g_test_add_func ("/axis/stripes", test_stripes);
  g_test_add_func ("/axis/bands", test_bands);
  g_test_add_func ("/axis/bands-memory", test_bands_memory);
  g_test_add_func ("/axis/bins", test_bins);
  g_test_add_func ("/axis/peaks", test_peaks);
  g_test_add_func ("/axis/seen", test_seen);
  g_test_add_func ("/axis/quality-for", test_quality_for);
  g_test_add_func ("/axis/pair-limits", test_pair_limits);
  g_test_add_func ("/axis/scatter-of-parts", test_scatter_of_parts);
  g_test_add_func ("/axis/result-copy", test_result_copy);
  g_test_add_func ("/axis/consensus/votes", test_votes);
  g_test_add_func ("/axis/consensus/errors", test_errors);
  g_test_add_func ("/axis/consensus/guess", test_guess);
  g_test_add_func ("/axis/consensus/invented", test_invented);
  g_test_add_func ("/axis/consensus/guess-limits", test_guess_limits);
  g_test_add_func ("/axis/consensus/few-used", test_few_used);
  g_test_add_func ("/axis/consensus/lever", test_lever);
  g_test_add_func ("/axis/consensus/scatter", test_scatter);
  g_test_add_func ("/axis/consensus/slope", test_slope);
  g_test_add_func ("/axis/consensus/rows", test_rows_that_count);
  g_test_add_func ("/axis/consensus/advice", test_advice);
  g_test_add_func ("/axis/consensus/advice-rows", test_advice_rows);
  g_test_add_func ("/axis/consensus/contradiction", test_contradiction);
  return g_test_run ();
}
