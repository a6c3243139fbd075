/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Each method of the axis search by itself: the consensus of several hides the fault of one. */
#include <math.h>
#include <string.h>

#include "compute/axis/axis-methods.h"
#include "compute/axis/axis-quality.h"
#include "compute/axis/axis-rows.h"
#include "compute/axis/axis-slices.h"
#include "compute/axis/axis-tilt.h"
#include "compute/portion.h"
#include "compute/recipe/recipe.h"
#include "dataset/random.h"
#include "dataset/scan-private.h"
#include "tests/common/devices.h"
#include "tests/common/pipeline.h"
#include "tests/common/pins.h"

#define BLOBS 14

typedef struct {
  guint n_columns, n_views;
  double range_deg, first_deg; /* a whole step after the last view it would begin again */
  double centre_px;
  double radius_px; /* of the sample */
  double noise;     /* of the highest blob */
  gboolean mixed;   /* views in no order, turns added */
  guint32 seed;
} Sample;

typedef struct {
  float *sinogram;
  double *angles_rad;
} Views;

static void
views_clear (Views *views)
{
  g_free (views->sinogram);
  g_free (views->angles_rad);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Views, views_clear)

/* Gaussian blobs, whose projections are known exactly and have no frequency that the columns lack.
 */
static void
views_make (const Sample *sample, Views *views)
{
  const guint n = sample->n_columns, n_views = sample->n_views;
  double x[BLOBS], y[BLOBS], width[BLOBS], height[BLOBS];
  TdRandom random;

  td_random_init (&random, 77, sample->seed);
  for (guint b = 0; b < BLOBS; b++) {
    width[b] = 1.1 + 0.04 * sample->radius_px * td_random_uniform (&random);
    const double r = (sample->radius_px - 3 * width[b]) * sqrt (td_random_uniform (&random));
    const double angle = 2 * G_PI * td_random_uniform (&random);
    x[b] = r * cos (angle);
    y[b] = r * sin (angle);
    height[b] = 0.3 + 0.7 * td_random_uniform (&random);
  }
  views->sinogram = g_new (float, (gsize) n *n_views);
  views->angles_rad = g_new (double, n_views);
  td_test_random (views->sinogram, (gsize) n * n_views, sample->seed + 1);
  for (guint i = 0; i < n_views; i++) {
    const guint view = sample->mixed ? (guint) (i * 7919ull % n_views) : i;
    const double angle = (sample->first_deg + sample->range_deg * view / n_views) * G_PI / 180;
    views->angles_rad[i] = angle + (sample->mixed ? 2 * G_PI * (i % 3) : 0);
    for (guint u = 0; u < n; u++) {
      float *value = &views->sinogram[(gsize) i * n + u];
      *value *= (float) sample->noise;
      for (guint b = 0; b < BLOBS; b++) {
        const double t = u - sample->centre_px - x[b] * cos (angle) - y[b] * sin (angle);
        *value += (float) (height[b] * exp (-t * t / (2 * width[b] * width[b])));
      }
    }
  }
}

static TdAxisEstimate
find_in (const TdAxisMethodKind *kind, const Sample *sample, const Views *views, double first_px,
         double last_px)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TdDevice) device = td_device_open ("host", &error);
  const TdAxisInput input = {
    .sinogram = views->sinogram,
    .n_views = sample->n_views,
    .n_columns = sample->n_columns,
    .angles_rad = views->angles_rad,
    .first_px = first_px,
    .last_px = last_px,
    .device = device,
  };
  TdAxisEstimate estimate;

  g_assert_true (kind->find (&input, &estimate, &error));
  g_assert_no_error (error);
  return estimate;
}

static const TdAxisMethodKind *const kinds[]
    = { &td_axis_correlation, &td_axis_fourier, &td_axis_sharpness };

/* Half a turn and its end, so that two views are opposite. */
#define HALF(n) (n), 180.0 * (n) / ((n) -1)

/* ── Found ── */

/* By method: how far off the centre may be, and how certain it must be; 0: not asked. A search of a
   few columns sees one hill and is certain. */
static const struct {
  Sample sample;
  gboolean near;
  double off_px[3], confidence[3];
} found[] = {
  { { 48, HALF (41), 0, 25.3, 20, 0, FALSE, 1 }, FALSE, { 0.003, 0.01, 0.04 }, { 0.8, 0.3, 0.95 } },
  { { 48, HALF (41), 0, 25.3, 20, 0, FALSE, 1 }, TRUE, { 0.003, 0.01, 0.04 }, { 1, 1, 0.95 } },
  { { 97, HALF (151), 20, 44.21, 40, 0.02, FALSE, 2 },
    FALSE,
    { 0.02, 0.01, 0.01 },
    { 0.3, 0.1, 0.9 } },
  { { 97, HALF (151), 20, 44.21, 40, 0.02, FALSE, 2 }, TRUE, { 0.02, 0.01, 0.01 }, { 1, 1, 0.95 } },
  /* cut off */
  { { 97, HALF (151), 20, 44.21, 60, 0.02, FALSE, 2 }, FALSE, { 0.03, 0, 0.02 }, { 0.15, 0, 0.5 } },
  { { 97, HALF (151), 20, 44.21, 60, 0.02, FALSE, 2 }, TRUE, { 0.03, 0.03, 0.02 }, { 1, 1, 0.95 } },
  /* whole turns */
  { { 160, 300, 360, -70, 95.67, 60, 0.02, TRUE, 3 },
    FALSE,
    { 0.002, 0.01, 0.01 },
    { 0.85, 0.25, 0.55 } },
  { { 160, 300, -360, -70, 95.67, 60, 0.2, FALSE, 3 },
    FALSE,
    { 0.01, 0.1, 0.02 },
    { 0.85, 0.15, 0.55 } },
  /* between the views of a turn */
  { { 120, 251, 360, 5, 64.4, 50, 0.02, FALSE, 6 },
    FALSE,
    { 0.01, 0.02, 0.02 },
    { 0.3, 0.1, 0.3 } },
  /* binned */
  { { 460, HALF (541), 0, 201.45, 190, 0.02, FALSE, 4 },
    FALSE,
    { 0.03, 0.03, 0.01 },
    { 0.7, 0.5, 0.95 } },
  { { 700, HALF (551), 0, 361.1, 320, 0.05, FALSE, 5 },
    TRUE,
    { 0.05, 0.03, 0.01 },
    { 1, 1, 0.95 } },
  { { 1400, HALF (301), 0, 661.1, 600, 0.05, FALSE, 5 },
    FALSE,
    { 0.08, 0.12, 0.02 },
    { 0.6, 0.2, 0.95 } },
  { { 100, HALF (2601), 0, 52.3, 40, 0.05, FALSE, 5 },
    FALSE,
    { 0.02, 0.01, 0.01 },
    { 0.35, 0.5, 0.95 } },
};

static void
test_found (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (found); i++) {
    const Sample *s = &found[i].sample;
    const double first_px = found[i].near ? s->centre_px - 3 : 0.2 * s->n_columns;
    const double last_px = found[i].near ? s->centre_px + 4 : 0.8 * s->n_columns;
    g_auto (Views) views = { 0 };
    views_make (s, &views);
    for (guint k = 0; k < G_N_ELEMENTS (kinds); k++) {
      if (!found[i].off_px[k])
        continue;
      const TdAxisEstimate estimate = find_in (kinds[k], s, &views, first_px, last_px);
      td_test_pin ("%u, %s: off %.4f, confidence %.3f, spread %.4f", i, kinds[k]->name,
                   estimate.centre_px - s->centre_px, estimate.confidence, estimate.spread_px);
      g_assert_cmpfloat_with_epsilon (estimate.centre_px, s->centre_px, found[i].off_px[k]);
      g_assert_cmpfloat (estimate.confidence, >=, found[i].confidence[k]);
      g_assert_cmpfloat (estimate.confidence, <=, 1);
      g_assert_cmpfloat (estimate.spread_px, >, 0);
      g_assert_cmpfloat (fabs (estimate.centre_px - s->centre_px), <, 3 * estimate.spread_px);
    }
  }
}

/* The same sample seen otherwise: mirrored in the middle, in other units, views backwards, half a
   turn on. */
static void
test_alike (void)
{
  static const Sample samples[] = {
    { 90, HALF (121), 15, 41.6, 36, 0.05, FALSE, 8 },
    { 120, 240, 360, 0, 66.3, 50, 0.05, FALSE, 9 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (samples); i++)
    for (guint k = 0; k < G_N_ELEMENTS (kinds); k++) {
      const Sample *s = &samples[i];
      const guint n = s->n_columns, n_views = s->n_views;
      const double first_px = 0.25 * n, last_px = 0.7 * n;
      g_auto (Views) views = { 0 };
      views_make (s, &views);
      const TdAxisEstimate as_is = find_in (kinds[k], s, &views, first_px, last_px);
      g_auto (Views) mirrored = { g_new (float, (gsize) n *n_views), g_new (double, n_views) };
      for (guint v = 0; v < n_views; v++) {
        mirrored.angles_rad[v] = views.angles_rad[n_views - 1 - v] + G_PI;
        for (guint u = 0; u < n; u++)
          mirrored.sinogram[v * n + u] = 7 * views.sinogram[(n_views - v) * n - 1 - u];
      }
      const TdAxisEstimate other
          = find_in (kinds[k], s, &mirrored, n - 1 - last_px, n - 1 - first_px);
      g_assert_cmpfloat_with_epsilon (as_is.centre_px, n - 1 - other.centre_px, 1e-3);
      g_assert_cmpfloat_with_epsilon (as_is.confidence, other.confidence, 1e-3);
      g_assert_cmpfloat_with_epsilon (as_is.spread_px, other.spread_px, 1e-3);
    }
}

/* The same in units ten thousand times smaller or larger: nothing is compared with a figure that
   has the sample's unit. */
static void
test_units (void)
{
  static const Sample samples[] = {
    { 48, HALF (41), 0, 25.3, 20, 0.02, FALSE, 1 },
    { 48, 40, 180, 0, 25.3, 20, 0.02, FALSE, 1 }, /* no view is opposite */
    { 60, 80, 360, 0, 33.2, 22, 0.02, FALSE, 9 },
    { 60, 80, 360, 0, 47.2, 40, 0.02, FALSE, 9 },
    { 60, 45, 360, 5, 44.3, 38, 0.02, TRUE, 3 }, /* opposite to a view lies none, but two */
  };
  static const double units[] = { 1e-4, 1e4 };
  static const TdAxisMethodKind *const all[]
      = { &td_axis_correlation, &td_axis_fourier, &td_axis_sharpness, &td_axis_overlap };

  for (guint i = 0; i < G_N_ELEMENTS (samples); i++) {
    const Sample *s = &samples[i];
    const gsize n = (gsize) s->n_columns * s->n_views;
    const double first_px = 0.4 * s->n_columns, last_px = s->n_columns - 8;
    g_auto (Views) views = { 0 }, other = { 0 };
    views_make (s, &views);
    other.angles_rad = g_memdup2 (views.angles_rad, s->n_views * sizeof (double));
    other.sinogram = g_new (float, n);
    for (guint k = 0; k < G_N_ELEMENTS (all); k++) {
      const TdAxisEstimate as_is = find_in (all[k], s, &views, first_px, last_px);
      td_test_pin ("%u, %s: %.4f, confidence %.3f, spread %.4f", i, all[k]->name, as_is.centre_px,
                   as_is.confidence, as_is.spread_px);
      for (guint u = 0; u < G_N_ELEMENTS (units); u++) {
        for (gsize p = 0; p < n; p++)
          other.sinogram[p] = (float) (units[u] * views.sinogram[p]);
        const TdAxisEstimate scaled = find_in (all[k], s, &other, first_px, last_px);
        g_assert_cmpint (isfinite (scaled.centre_px), ==, isfinite (as_is.centre_px));
        g_assert_cmpstr (scaled.reason, ==, as_is.reason);
        if (!isfinite (as_is.centre_px))
          continue;
        g_assert_cmpfloat_with_epsilon (scaled.centre_px, as_is.centre_px, 1e-3);
        g_assert_cmpfloat_with_epsilon (scaled.confidence, as_is.confidence, 1e-3);
        g_assert_cmpfloat_with_epsilon (scaled.spread_px, as_is.spread_px, 1e-3);
      }
    }
  }
}

/* Stripes that stand still match themselves in the middle of the detector, in every pair of views.
   The correlation looks past them wherever pairs are exact, or between two views. */
static void
test_still (void)
{
  static const Sample samples[] = {
    { 128, 240, 360, 0, 56.3, 50, 0.01, FALSE, 11 },
    { 128, 241, 360, 0, 56.3, 50, 0.01, FALSE, 11 },
    { 128, 240, 360, 0, 56.3, 50, 0.01, TRUE, 11 },
    { 128, 34, 360, 0, 56.3, 50, 0.01, FALSE, 11 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (samples); i++) {
    const Sample *s = &samples[i];
    g_auto (Views) views = { 0 };
    g_autofree float *still = g_new (float, s->n_columns);
    views_make (s, &views);
    td_test_random (still, s->n_columns, 5);
    for (guint v = 0; v < s->n_views; v++)
      for (guint u = 0; u < s->n_columns; u++)
        views.sinogram[(gsize) v * s->n_columns + u] += still[u];
    const TdAxisEstimate estimate = find_in (&td_axis_correlation, s, &views, 30, 98);
    td_test_pin ("%u: off %.4f, spread %.4f", i, estimate.centre_px - s->centre_px,
                 estimate.spread_px);
    g_assert_cmpfloat_with_epsilon (estimate.centre_px, s->centre_px, 0.05);
  }
}

/* Half a turn without its end, of a sample far from the axis along the beam. Pairs miss half a
   turn, and what each says of the centre is columns away. */
static void
test_missed (void)
{
  enum { COLUMNS = 120 };
  static const double across_px[] = { -24, -7, 3, 19 };
  static const struct {
    guint n_views;
    double along_px, range_deg;
  } cases[] = { { 40, 48, 180 }, { 40, -48, 180 }, { 60, 40, -180 }, { 31, -30, 178 } };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    const guint n_views = cases[i].n_views;
    const Sample s = { COLUMNS, n_views, cases[i].range_deg, 20, 57.3, 52, 0, FALSE, i };
    g_auto (Views) views = { g_new (float, COLUMNS *n_views), g_new (double, n_views) };

    td_test_random (views.sinogram, COLUMNS * n_views, 3 + i);
    for (guint v = 0; v < n_views; v++) {
      const double turned = s.range_deg * v / n_views * G_PI / 180;
      views.angles_rad[v] = turned + 20 * G_PI / 180;
      for (guint u = 0; u < COLUMNS; u++) {
        double sum = 0.01 * views.sinogram[v * COLUMNS + u];
        for (guint b = 0; b < G_N_ELEMENTS (across_px); b++) {
          const double x = across_px[b], y = cases[i].along_px + 2 * b, width = 1.2 + 0.4 * b;
          const double t = u - s.centre_px - x * cos (turned) - y * sin (turned);
          sum += exp (-t * t / (2 * width * width));
        }
        views.sinogram[v * COLUMNS + u] = (float) sum;
      }
    }
    const TdAxisEstimate estimate = find_in (&td_axis_correlation, &s, &views, 40, 80);
    td_test_pin ("%u: off %.4f, confidence %.3f, spread %.4f", i, estimate.centre_px - s.centre_px,
                 estimate.confidence, estimate.spread_px);
    /* Of the last one, only the first view and the last are near. */
    g_assert_cmpint (!estimate.reason, ==, i < 3);
    if (estimate.reason)
      continue;
    g_assert_cmpfloat_with_epsilon (estimate.centre_px, s.centre_px, 2 * estimate.spread_px);
    g_assert_cmpfloat (estimate.confidence, >, 0.3);
  }
}

/* ── What it says of its own error ── */

static double
root_mean_square (const double *values, guint n)
{
  double sum = 0;

  for (guint i = 0; i < n; i++)
    sum += values[i] * values[i];
  return sqrt (sum / n);
}

/* It follows the noise, and is of the size of the error that is made. */
static void
test_spread (void)
{
  enum { SAMPLES = 10 };
  static const struct {
    guint method, n_views;
    double range_deg;
    double least, most; /* made, as a multiple of stated */
  } cases[] = {
    { 0, 151, 181.2, 0.3, 2 }, /* two views are opposite */
    { 0, 300, 360, 0.3, 2 },
    { 1, 151, 181.2, 0.3, 2 },
    { 1, 300, 360, 0.3, 2 },
  };

  for (guint c = 0; c < G_N_ELEMENTS (cases); c++) {
    double stated[2] = { 0 };
    for (guint level = 0; level < 2; level++) {
      double spread_px[SAMPLES], off_px[SAMPLES];
      for (guint i = 0; i < SAMPLES; i++) {
        const Sample s = { .n_columns = 96,
                           .n_views = cases[c].n_views,
                           .range_deg = cases[c].range_deg,
                           .first_deg = 10. * i,
                           .centre_px = 46 + 0.17 * i,
                           .radius_px = 36,
                           .noise = level ? 0.3 : 0.1,
                           .seed = i };
        g_auto (Views) views = { 0 };
        views_make (&s, &views);
        const TdAxisEstimate estimate = find_in (kinds[cases[c].method], &s, &views, 40, 54);
        off_px[i] = estimate.centre_px - s.centre_px;
        spread_px[i] = estimate.spread_px;
      }
      stated[level] = root_mean_square (spread_px, SAMPLES);
      const double made = root_mean_square (off_px, SAMPLES);
      td_test_pin ("%u, noise %u: %.4f made, %.4f stated", c, level, made, stated[level]);
      g_assert_cmpfloat (made, >, cases[c].least * stated[level]);
      g_assert_cmpfloat (made, <, cases[c].most * stated[level]);
    }
    /* Three times the noise; of few pairs most is what is always added. */
    g_assert_cmpfloat (stated[1] / stated[0], >, c == 0 ? 1.1 : 2);
    g_assert_cmpfloat (stated[1] / stated[0], <, 4.5);
  }
}

/* An ellipse: its middle, half axes, where the first of them points, and what it attenuates. */
typedef struct {
  double x, y, a, b, turned, value;
} Ellipse;

/* Half a chord's square over the square of the half width is what is left of 1 beyond t. */
static double
ellipse_chord (const Ellipse *e, double angle, double t)
{
  const double c = e->a * cos (angle - e->turned), s = e->b * sin (angle - e->turned);
  const double off = t - e->x * cos (angle) - e->y * sin (angle), square = c * c + s * s;

  return square > off * off ? 2 * e->value * e->a * e->b * sqrt (square - off * off) / square : 0;
}

enum { ELLIPSES = 10, WITHIN = 8 };

/* Ten ellipses anywhere, or a single one. Sharp edges of either are finer than the columns, which
   see them in one point or as their mean. */
static void
ellipses_make (const Sample *sample, gboolean single, guint points, Views *views)
{
  const guint n = sample->n_columns;
  Ellipse ellipses[ELLIPSES];
  TdRandom random;

  td_random_init (&random, 78, sample->seed);
  for (guint i = 0; i < ELLIPSES; i++) {
    const double most = single ? 1.0 : 0.3, a = most * (0.1 + 0.9 * td_random_uniform (&random)),
                 b = most * (0.1 + 0.9 * td_random_uniform (&random)),
                 r = (1 - MAX (a, b)) * sqrt (td_random_uniform (&random)),
                 at = 2 * G_PI * td_random_uniform (&random);
    ellipses[i] = (Ellipse) { sample->radius_px * r * cos (at),
                              sample->radius_px * r * sin (at),
                              sample->radius_px * a,
                              sample->radius_px * b,
                              G_PI * td_random_uniform (&random),
                              1 / sample->radius_px };
  }
  views->sinogram = g_new (float, (gsize) n * sample->n_views);
  views->angles_rad = g_new (double, sample->n_views);
  td_test_random (views->sinogram, (gsize) n * sample->n_views, sample->seed + 1);
  for (guint v = 0; v < sample->n_views; v++) {
    const double angle = (sample->first_deg + sample->range_deg * v / sample->n_views) * G_PI / 180;
    views->angles_rad[v] = angle;
    for (guint u = 0; u < n; u++) {
      double sum = sample->noise * views->sinogram[v * n + u];
      for (guint i = 0; i < (single ? 1 : ELLIPSES); i++)
        for (guint p = 0; p < points; p++)
          sum += ellipse_chord (&ellipses[i], angle,
                                u - sample->centre_px + (p + 0.5) / points - 0.5)
                 / points;
      views->sinogram[v * n + u] = (float) sum;
    }
  }
}

/* Scans of any size, noise and axis: what a method answers lies within three times the error that
   it states, 95 times of 100. */
static void
test_stated (void)
{
  const guint n_scans = g_test_slow () ? 120 : 60;
  static const TdAxisMethodKind *const all[]
      = { &td_axis_correlation, &td_axis_fourier, &td_axis_sharpness, &td_axis_overlap };
  guint answers[4] = { 0 }, within[4] = { 0 };
  TdRandom random;

  td_random_init (&random, 79, 1);
  for (guint i = 0; i < n_scans; i++) {
    const gboolean whole = i & 1;
    const guint n = 64 + (guint) (100 * td_random_uniform (&random));
    const guint half_views = 60 + (guint) (120 * td_random_uniform (&random));
    const guint n_views = whole ? 2 * half_views : half_views;
    const double centre = (n - 1) / 2.0 + n * 0.3 * (td_random_uniform (&random) - 0.5);
    Sample sample = {
      .n_columns = n,
      .n_views = n_views,
      .range_deg = whole   ? 360
                   : i & 2 ? 180
                           : 180.0 * n_views / (n_views - 1),
      .first_deg = 360 * td_random_uniform (&random),
      .centre_px = centre,
      .noise = pow (10, -1 - 3 * td_random_uniform (&random)),
      .seed = i,
    };
    sample.radius_px
        = (MIN (centre, n - 1 - centre) - 2) * (0.6 + 0.35 * td_random_uniform (&random));
    g_auto (Views) views = { 0 };
    const guint shape = i / 4 % 4;
    if (shape == 0)
      views_make (&sample, &views);
    else
      ellipses_make (&sample, shape == 3, shape == 1 ? 1 : WITHIN, &views);
    for (guint k = 0; k < G_N_ELEMENTS (all); k++) {
      if (all[k]->unsuited (views.angles_rad, n_views, n))
        continue;
      const TdAxisEstimate estimate = find_in (all[k], &sample, &views, centre - 6.3, centre + 5.4);
      if (!isfinite (estimate.centre_px) || estimate.confidence < TD_AXIS_WEAK)
        continue;
      const double off = estimate.centre_px - centre;
      answers[k]++;
      within[k] += fabs (off) <= 3 * estimate.spread_px;
      if (!(fabs (off) <= 3 * estimate.spread_px))
        td_test_pin ("%u, %s, shape %u, %u x %u views, noise %.4f, axis %.2f: off %+.4f +- %.4f", i,
                     all[k]->name, shape, n, n_views, sample.noise, centre, off,
                     estimate.spread_px);
    }
  }
  for (guint k = 0; k < G_N_ELEMENTS (all); k++) {
    td_test_pin ("%s: %u of %u", all[k]->name, within[k], answers[k]);
    g_assert_cmpuint (answers[k], >, n_scans / 3);
    g_assert_cmpuint (100 * within[k], >=, 95 * answers[k]);
  }
}

/* ── Half acquisition ── */

/* The axis near one edge or the other: the overlap search by itself. The other methods do not see
   so narrow an overlap. */
static void
test_overlap (void)
{
  static const Sample samples[] = {
    { 120, 400, 360, 10, 100.3, 90, 0.05, FALSE, 2 },
    { 120, 400, -360, 10, 17.7, 95, 0.05, TRUE, 3 },
    { 160, 601, 360, 0, 140.26, 130, 0.02, FALSE, 4 },
    { 160, 300, 360, 0, 92.4, 60, 0.05, FALSE, 5 },
    { 81, 300, 360, 0, 60.4, 55, 0.2, FALSE, 6 },
    /* without noise: what the outer columns have is less than products round to */
    { 120, 400, 360, 0, 58.7, 35, 0, FALSE, 2 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (samples); i++) {
    const Sample *s = &samples[i];
    const guint n = s->n_columns;
    g_auto (Views) views = { 0 }, mirrored = { 0 };
    Sample other = *s;
    views_make (s, &views);
    const TdAxisEstimate estimate = find_in (&td_axis_overlap, s, &views, 0, n - 1);
    td_test_pin ("%u: off %.4f, confidence %.3f, spread %.4f", i, estimate.centre_px - s->centre_px,
                 estimate.confidence, estimate.spread_px);
    g_assert_cmpfloat_with_epsilon (estimate.centre_px, s->centre_px, 0.02);
    g_assert_cmpfloat (estimate.confidence, >, 0.85);
    g_assert_cmpfloat (estimate.spread_px, >, 0);
    g_assert_cmpfloat (estimate.spread_px, <, 0.04);
    /* Half of the range does, and what lies outside is not looked at. */
    const TdAxisEstimate half
        = find_in (&td_axis_overlap, s, &views, s->centre_px - 9, s->centre_px + 5);
    g_assert_cmpfloat_with_epsilon (half.centre_px, estimate.centre_px, 1e-2);
    /* Where nothing else is searched, nothing else is as likely. */
    const TdAxisEstimate narrow
        = find_in (&td_axis_overlap, s, &views, s->centre_px - 1.2, s->centre_px + 1.6);
    g_assert_cmpfloat_with_epsilon (narrow.centre_px, estimate.centre_px, 0.1);
    g_assert_cmpfloat (narrow.confidence, >, 0.99);
    /* Centres are tried at half columns, of which such a range has none. */
    const TdAxisEstimate between = find_in (&td_axis_overlap, s, &views, 40.1, 40.4);
    g_assert_true (isnan (between.centre_px) && between.confidence == 0);
    g_assert_nonnull (between.reason);
    const gboolean right = s->centre_px > n / 2;
    const TdAxisEstimate none = find_in (&td_axis_overlap, s, &views, right ? 5 : s->centre_px + 10,
                                         right ? s->centre_px - 10 : n - 5);
    g_assert_true (!(fabs (none.centre_px - s->centre_px) < 8));
    if (isfinite (none.centre_px))
      g_assert_cmpfloat (none.confidence, <, estimate.confidence);
    /* Mirrored in the middle. */
    other.centre_px = n - 1 - s->centre_px;
    views_make (&other, &mirrored);
    for (guint v = 0; v < s->n_views; v++)
      for (guint u = 0; u < n; u++)
        mirrored.sinogram[v * n + u] = views.sinogram[(v + 1) * n - 1 - u];
    const TdAxisEstimate back = find_in (&td_axis_overlap, &other, &mirrored, 0, n - 1);
    g_assert_cmpfloat_with_epsilon (n - 1 - back.centre_px, estimate.centre_px, 1e-3);
    g_assert_cmpfloat_with_epsilon (back.confidence, estimate.confidence, 1e-3);
    g_assert_cmpfloat_with_epsilon (back.spread_px, estimate.spread_px, 1e-3);
  }
}

/* ── The tilt ── */

/* Blobs about a tilted axis, [row][view][column]. */
static float *
tilted_rows (const Sample *s, guint n_rows, double slope, const double *angles_rad)
{
  const guint n = s->n_columns;
  float *rows = g_new (float, (gsize) n_rows * s->n_views * n);
  const double tilt = atan (slope);
  TdRandom random;

  td_test_random (rows, (gsize) n_rows * s->n_views * n, s->seed + 1);
  for (gsize i = 0; i < (gsize) n_rows * s->n_views * n; i++)
    rows[i] *= (float) s->noise;
  td_random_init (&random, 77, s->seed);
  for (guint b = 0; b < 3 * BLOBS; b++) {
    const double width = 1.2 + 1.5 * td_random_uniform (&random);
    const double r = s->radius_px * sqrt (td_random_uniform (&random));
    const double at = 2 * G_PI * td_random_uniform (&random);
    const double z = (n_rows - 1) * (td_random_uniform (&random) - 0.5);
    for (guint v = 0; v < s->n_views; v++) {
      const double t = r * cos (angles_rad[v] - at);
      const double column = s->centre_px + t * cos (tilt) + z * sin (tilt);
      const double row = (n_rows - 1) / 2.0 - t * sin (tilt) + z * cos (tilt);
      for (guint y = 0; y < n_rows; y++)
        for (guint u = 0; u < n; u++) {
          const double far = (u - column) * (u - column) + (y - row) * (y - row);
          if (far < 25 * width * width)
            rows[((gsize) y * s->n_views + v) * n + u] += (float) exp (-far / (2 * width * width));
        }
    }
  }
  return rows;
}

/* Whole opposite projections: the axis' centre and slope, each within what is said of it. */
static void
test_tilt (void)
{
  static const struct {
    guint n_rows, n_views;
    double slope, begin_slope, begin_off_px;
  } cases[] = {
    { 40, 24, 0.02, 0, 0.4 },   { 40, 24, -0.03, 0, -0.4 }, { 61, 2, 0.01, 0.004, 0.2 },
    { 90, 8, 0.05, 0.03, 0.3 }, { 24, 12, 0, 0, 0.5 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    const Sample s = { 64, cases[i].n_views, 360, 15, 33.3, 24, 0.01, FALSE, i };
    const guint n_rows = cases[i].n_rows;
    g_autofree double *angles = g_new (double, s.n_views);
    g_autoptr (GError) error = NULL;
    g_autoptr (TdDevice) device = td_device_open ("host", &error);
    TdAxisTilt tilt;

    for (guint v = 0; v < s.n_views; v++)
      angles[v] = (15 + 360. * v / s.n_views) * G_PI / 180;
    g_autofree float *rows = tilted_rows (&s, n_rows, cases[i].slope, angles);
    g_autoptr (TdScan) scan = td_test_scan (rows, n_rows, s.n_views, s.n_columns, angles);
    const TdRowSource source = { .device = device, .scan = scan };
    const TdAxisLine begin
        = { s.centre_px + cases[i].begin_off_px, cases[i].begin_slope, (n_rows - 1) / 2.0 };
    g_assert_true (td_axis_tilt (&source, &begin, &tilt, NULL, &error));
    g_assert_no_error (error);
    g_assert_true (tilt.found);
    const double centre = td_axis_line_at (&tilt.line, (n_rows - 1) / 2.0);
    td_test_pin ("%u: centre off %.4f +- %.4f, slope off %.5f +- %.5f", i, centre - s.centre_px,
                 tilt.centre_error, tilt.line.slope - cases[i].slope, tilt.slope_error);
    g_assert_cmpfloat_with_epsilon (centre, s.centre_px, 3e-3);
    g_assert_cmpfloat_with_epsilon (tilt.line.slope, cases[i].slope, 2e-4);
    g_assert_cmpfloat (fabs (centre - s.centre_px), <, 5 * tilt.centre_error + 5e-3);
    g_assert_cmpfloat (fabs (tilt.line.slope - cases[i].slope), <, 3 * tilt.slope_error + 1e-4);
    g_assert_cmpfloat (tilt.centre_error, <, 0.01);
    g_assert_cmpfloat (tilt.slope_error, <, 0.1 / n_rows);
  }
}

/* What a detector counts whose pixels differ, of a beam that wanders, as a monitor sees. With the
   steps that take these out, the axis is the one of rows that never had them. */
static void
test_tilt_counts (void)
{
  enum { FLATS = 3, DARKS = 2, ROWS = 24 };
  static const guint n_views[] = { 4, 12 }; /* with few, what stands still is not known */
  static const char *const prepare[]
      = { "flat-field,minus-log", "dose=monitor,flat-field,minus-log" };

  for (guint i = 0; i < 2 * G_N_ELEMENTS (n_views); i++) {
    const Sample s = { 64, n_views[i / 2], 360, 15, 33.3, 24, 0.01, FALSE, 3 };
    const gsize pixels = ROWS * s.n_columns, wide = s.n_views * s.n_columns;
    const gboolean monitored = i % 2;
    g_autofree double *angles = g_new (double, s.n_views);
    g_autofree double *beam = g_new (double, s.n_views + FLATS);
    g_autofree float *pattern = g_new (float, 2 * pixels);
    g_autoptr (GError) error = NULL;
    g_autoptr (TdDevice) device = td_device_open ("host", &error);
    const TdAxisLine begin = { 33.6, 0, (ROWS - 1) / 2.0 };
    TdAxisTilt plain, of_counts;
    TdRecipe recipe;

    for (guint v = 0; v < s.n_views; v++)
      angles[v] = (15 + 360. * v / s.n_views) * G_PI / 180;
    for (guint f = 0; f < s.n_views + FLATS; f++)
      beam[f] = monitored ? 1 + 0.2 * sin (3 * f) : 1;
    td_test_random (pattern, 2 * pixels, 6);
    g_autofree float *rows = tilted_rows (&s, ROWS, 0.02, angles);
    float *counts = g_new (float, (s.n_views + FLATS + DARKS) * pixels);
    float *flats = counts + s.n_views * pixels, *darks = flats + FLATS * pixels;
    for (guint f = 0; f < s.n_views + FLATS + DARKS; f++)
      for (guint p = 0; p < pixels; p++) {
        const double dark = 100 + 10 * pattern[p], flat = 5000 + 2500 * pattern[pixels + p];
        const gsize at = p / s.n_columns * wide + f * s.n_columns + p % s.n_columns;
        const double through = f < s.n_views ? exp (-0.3 * rows[at]) : 1;
        counts[f * pixels + p]
            = (float) (dark + (f < s.n_views + FLATS ? flat * beam[f] * through : 0));
      }
    TdScanFacts facts = { .n_columns = s.n_columns,
                          .n_rows = ROWS,
                          .n_views = s.n_views,
                          .n_flats = FLATS,
                          .n_darks = DARKS,
                          .sample_type = TD_SAMPLE_FLOAT32,
                          .angles_rad = angles,
                          .monitor = monitored ? beam : NULL };
    td_geometry_init_parallel (&facts.geometry);
    g_autoptr (TdScan) counted
        = td_scan_new_from_memory (&facts, counts, flats, darks, g_free, counts);
    td_recipe_init (&recipe);
    g_assert_true (td_recipe_set (&recipe, "prepare", prepare[monitored], &error));
    const TdRowSource source = { device, counted, NULL, recipe.steps, recipe.n_steps };
    g_assert_true (td_axis_tilt (&source, &begin, &of_counts, NULL, &error));
    g_assert_no_error (error);

    g_autoptr (TdScan) scan = td_test_scan (rows, ROWS, s.n_views, s.n_columns, angles);
    const TdRowSource prepared = { .device = device, .scan = scan };
    g_assert_true (td_axis_tilt (&prepared, &begin, &plain, NULL, &error));
    g_assert_true (plain.found && of_counts.found);
    td_test_pin ("%u: %.4f +- %.4f, slope %.5f +- %.5f", i, plain.line.centre_px,
                 plain.centre_error, plain.line.slope, plain.slope_error);
    g_assert_cmpfloat_with_epsilon (of_counts.line.centre_px, plain.line.centre_px, 1e-4);
    g_assert_cmpfloat_with_epsilon (of_counts.line.slope, plain.line.slope, 1e-5);
    g_assert_cmpfloat_with_epsilon (of_counts.centre_error, plain.centre_error, 1e-4);
    g_assert_cmpfloat_with_epsilon (of_counts.slope_error, plain.slope_error, 1e-5);
  }
}

static struct {
  const TdScanSource *whole;
  guint frames; /* that were read */
} counted;

static gboolean
counted_fill (gpointer source, const TdFrameRange *range, const TdFrameTarget *target,
              GCancellable *cancellable, GError **error)
{
  counted.frames += range->count;
  return counted.whole->fill (source, range, target, cancellable, error);
}

/* As many pairs as there is memory for, a quarter of which are frames, and twelve at the most. */
static void
test_tilt_memory (void)
{
  enum { ROWS = 24 };
  static const struct {
    guint n_views, shift, pairs;
  } cases[] = { { 26, 0, 12 }, { 24, 12, 5 }, { 6, 12, 3 }, { 24, 15, 0 } };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    const Sample s = { 64, cases[i].n_views, 360, 15, 33.3, 24, 0.01, FALSE, 5 };
    g_autofree double *angles = g_new (double, s.n_views);
    g_autoptr (GError) error = NULL;
    g_autoptr (TdDevice) device = td_device_open ("host", &error);
    const TdAxisLine begin = { 33.5, 0, (ROWS - 1) / 2.0 };
    TdAxisTilt tilt;

    for (guint v = 0; v < s.n_views; v++)
      angles[v] = 2 * G_PI * v / s.n_views;
    g_autofree float *rows = tilted_rows (&s, ROWS, 0.01, angles);
    g_autoptr (TdScan) scan = td_test_scan (rows, ROWS, s.n_views, s.n_columns, angles);
    counted.whole = scan->vtable;
    counted.frames = 0;
    TdScanSource counting = *counted.whole;
    counting.fill = counted_fill;
    scan->vtable = &counting;
    const TdRowSource source = { .device = device, .scan = scan };
    td_portion_shift = cases[i].shift;
    g_assert_true (td_axis_tilt (&source, &begin, &tilt, NULL, &error));
    td_portion_shift = 0;
    scan->vtable = counted.whole;
    g_assert_no_error (error);
    g_assert_cmpuint (counted.frames, ==, 2 * cases[i].pairs);
    g_assert_cmpint (tilt.found, ==, cases[i].pairs > 0);
  }
}

/* Too few rows, or no two views that are opposite: nothing is found, and that is no error. */
static void
test_tilt_none (void)
{
  static const struct {
    guint n_rows, n_views;
    double range_deg;
    gboolean found;
  } cases[] = { { 5, 8, 360, FALSE }, { 6, 8, 360, TRUE }, { 40, 7, 180, FALSE } };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    const guint n_rows = cases[i].n_rows, n_views = cases[i].n_views;
    const Sample s = { 64, n_views, cases[i].range_deg, 0, 33.3, 24, 0.01, FALSE, i };
    g_autofree double *angles = g_new (double, n_views);
    g_autoptr (GError) error = NULL;
    g_autoptr (TdDevice) device = td_device_open ("host", &error);
    const TdAxisLine begin = { 33.3, 0, (n_rows - 1) / 2.0 };
    TdAxisTilt tilt;

    for (guint v = 0; v < n_views; v++)
      angles[v] = cases[i].range_deg * v / n_views * G_PI / 180;
    g_autofree float *rows = tilted_rows (&s, n_rows, 0, angles);
    g_autoptr (TdScan) scan = td_test_scan (rows, n_rows, n_views, 64, angles);
    const TdRowSource source = { .device = device, .scan = scan };
    g_assert_true (td_axis_tilt (&source, &begin, &tilt, NULL, &error));
    g_assert_no_error (error);
    g_assert_cmpint (tilt.found, ==, cases[i].found);
    /* Nothing is made of frames that did not come. */
    g_autoptr (GCancellable) cancelled = g_cancellable_new ();
    g_cancellable_cancel (cancelled);
    if (cases[i].found) {
      g_assert_false (td_axis_tilt (&source, &begin, &tilt, cancelled, &error));
      g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
    }
  }
}

/* ── Ranges ── */

/* The centre in a range however narrow, or so wide that it goes beyond the detector; none, with a
   reason, where it lies outside. */
static void
test_ranges (void)
{
  static const Sample s = { 90, HALF (121), 15, 41.6, 36, 0.05, FALSE, 8 };
  static const struct {
    double first_px, last_px;
    gboolean found[3];
  } ranges[] = {
    { 41.6, 41.6, { FALSE, TRUE, TRUE } }, { 41.3, 42, { FALSE, TRUE, TRUE } },
    { 41, 42.5, { TRUE, TRUE, TRUE } },    { 35, 42, { TRUE, TRUE, TRUE } },
    { 20, 42.2, { TRUE, TRUE, TRUE } },    { 41, 64, { TRUE, TRUE, TRUE } },
    { 41.5, 48, { FALSE, FALSE, FALSE } }, { -60, -20, { FALSE, FALSE, FALSE } },
    { 100, 150, { FALSE, FALSE, FALSE } },
  };
  g_auto (Views) views = { 0 };

  views_make (&s, &views);
  for (guint k = 0; k < G_N_ELEMENTS (kinds); k++)
    for (guint i = 0; i < G_N_ELEMENTS (ranges); i++) {
      const TdAxisEstimate estimate
          = find_in (kinds[k], &s, &views, ranges[i].first_px, ranges[i].last_px);
      td_test_pin ("%s, %g to %g: %.4f, %s", kinds[k]->name, ranges[i].first_px, ranges[i].last_px,
                   estimate.centre_px, estimate.reason ? estimate.reason : "found");
      if (ranges[i].found[k]) {
        g_assert_cmpfloat_with_epsilon (estimate.centre_px, s.centre_px, 0.03);
        g_assert_null (estimate.reason);
      } else {
        g_assert_true (isnan (estimate.centre_px));
        g_assert_cmpfloat (estimate.confidence, ==, 0);
        g_assert_nonnull (estimate.reason);
      }
    }
}

/* What a method cannot do is said for the same views that it then finds nothing in. */
static void
test_unsuited (void)
{
  static const struct {
    guint n_columns, n_views;
    double range_deg;
    gboolean suits[3];
  } cases[] = {
    { 7, HALF (60), { FALSE, FALSE, FALSE } }, { 8, HALF (60), { TRUE, FALSE, FALSE } },
    { 15, HALF (60), { TRUE, FALSE, FALSE } }, { 16, HALF (60), { TRUE, TRUE, TRUE } },
    { 64, 15, 360, { TRUE, FALSE, FALSE } },   { 64, HALF (16), { TRUE, FALSE, TRUE } },
    { 64, 16, 180, { FALSE, TRUE, TRUE } },    { 64, 60, 120, { FALSE, FALSE, FALSE } },
    { 64, 60, 150, { FALSE, FALSE, TRUE } },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    const Sample s = { .n_columns = cases[i].n_columns,
                       .n_views = cases[i].n_views,
                       .range_deg = cases[i].range_deg,
                       .centre_px = cases[i].n_columns / 2. - 0.7,
                       .radius_px = 0.4 * cases[i].n_columns + 3 };
    g_auto (Views) views = { 0 };
    views_make (&s, &views);
    for (guint k = 0; k < G_N_ELEMENTS (kinds); k++) {
      const char *reason = kinds[k]->unsuited (views.angles_rad, s.n_views, s.n_columns);
      td_test_pin ("%u columns, %u views over %g, %s: %s", s.n_columns, s.n_views, s.range_deg,
                   kinds[k]->name, reason ? reason : "suits");
      g_assert_cmpint (!reason, ==, cases[i].suits[k]);
      if (!reason || kinds[k] == &td_axis_correlation)
        continue;
      const TdAxisEstimate estimate = find_in (kinds[k], &s, &views, 2, s.n_columns - 3);
      g_assert_true (isnan (estimate.centre_px) && isnan (estimate.spread_px));
      g_assert_cmpfloat (estimate.confidence, ==, 0);
      g_assert_cmpstr (estimate.reason, ==, reason);
    }
  }
}

/* ── Trial slices ── */

/* A slice about its centre does not know where on the detector the centre was. Several made at once
   are those made one by one, but for rounding. */
static void
test_slices (void)
{
  static const double centres[] = { 31.5, 27.3, 36.1 };
  Sample s = { 64, 120, 180, 0, 31.5, 24, 0, FALSE, 4 };
  g_autoptr (GError) error = NULL;
  g_autoptr (TdDevice) device = td_device_open ("host", &error);
  g_autofree float *first = g_new (float, 64 * 64), *all = g_new (float, 3 * 64 * 64);

  for (guint i = 0; i < G_N_ELEMENTS (centres); i++) {
    g_auto (Views) views = { 0 };
    s.centre_px = centres[i];
    views_make (&s, &views);
    const TdAxisInput input = { .sinogram = views.sinogram,
                                .n_views = s.n_views,
                                .n_columns = s.n_columns,
                                .angles_rad = views.angles_rad,
                                .device = device };
    g_autoptr (TdAxisSlices) slices = td_axis_slices_new (&input, 0.5, 0, &error);
    g_assert_no_error (error);
    g_assert_cmpuint (td_axis_slices_batch (slices), >=, 3);
    g_assert_true (td_axis_slices_run (slices, centres, 3, all, &error));
    if (i == 0)
      memcpy (first, all, 64 * 64 * sizeof *first);
    double most = 0, off = 0;
    for (guint p = 0; p < 64 * 64; p++) {
      if (hypot (p % 64 - 31.5, p / 64 - 31.5) > 24)
        continue;
      most = MAX (most, first[p]);
      off = MAX (off, fabs (first[p] - all[i * 64 * 64 + p]));
    }
    td_test_pin ("off %.5f of %.4f", off, most);
    g_assert_cmpfloat (off, <, 2e-3 * most);
    g_autofree float *one = g_new (float, 64 * 64);
    for (guint c = 0; c < 3; c++) {
      g_assert_true (td_axis_slices_run (slices, &centres[c], 1, one, &error));
      for (guint p = 0; p < 64 * 64; p++)
        g_assert_cmpfloat_with_epsilon (one[p], all[c * 64 * 64 + p], 1e-5 * most);
    }
  }
}

/* One view from the front: each column of the slice is one of the detector. What any of the centres
   has beyond the detector's ends is 0, and nothing else is. */
static void
test_slices_see (void)
{
  enum { N = 32 };
  static const double seen[][3] = { /* centre, first, last */
                                    { 15.5, 15.5, 15.5 },
                                    { 17, 16, 18 },
                                    { 12, 9.25, 12.5 },
                                    { 14, INFINITY, -INFINITY }
  };
  g_autoptr (GError) error = NULL;
  g_autoptr (TdDevice) device = td_device_open ("host", &error);
  const double angle = 0;
  float row[N], slice[N * N];

  for (guint u = 0; u < N; u++)
    row[u] = (float) (1 + sin (u * u));
  const TdAxisInput input
      = { .sinogram = row, .n_views = 1, .n_columns = N, .angles_rad = &angle, .device = device };
  g_autoptr (TdAxisSlices) slices = td_axis_slices_new (&input, 1, 0, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < G_N_ELEMENTS (seen); i++) {
    const double first = MIN (seen[i][0], seen[i][1]), last = MAX (seen[i][0], seen[i][2]);
    td_axis_slices_see (slices, seen[i][1], seen[i][2]);
    g_assert_true (td_axis_slices_run (slices, seen[i], 1, slice, &error));
    for (guint x = 0; x < N; x++) {
      const gboolean inside = x - 15.5 + first >= 0 && x - 15.5 + last <= N - 1;
      g_assert_cmpint (fabs (slice[x]) > 1e-6, ==, inside);
    }
  }
}

/* Trials for people are slices of that row alone, of whatever many, and as sharp as is said. */
static void
test_slices_shown (void)
{
  enum { ROWS = 3, VIEWS = 30, COLUMNS = 24, TRIALS = 19 };
  g_autoptr (GError) error = NULL;
  g_autoptr (TdDevice) device = td_device_open ("host", &error);
  double centres[TRIALS], angles[VIEWS], sharpness[TRIALS];
  g_autofree float *rows = g_new (float, ROWS *VIEWS *COLUMNS);
  float slice[COLUMNS * COLUMNS];

  td_test_random (rows, ROWS * VIEWS * COLUMNS, 12);
  for (guint v = 0; v < VIEWS; v++)
    angles[v] = G_PI * v / VIEWS;
  for (guint i = 0; i < TRIALS; i++)
    centres[i] = 9.3 + 0.37 * i;
  g_autoptr (TdScan) scan = td_test_scan (rows, ROWS, VIEWS, COLUMNS, angles);
  const TdRowSource source = { .device = device, .scan = scan };
  for (guint row = 0; row < ROWS; row++) {
    float *sinogram = rows + row * VIEWS * COLUMNS;
    g_autofree float *shown
        = td_axis_trial_slices (&source, row, centres, TRIALS, sharpness, NULL, &error);
    g_assert_no_error (error);
    g_autofree float *unasked
        = td_axis_trial_slices (&source, row, centres, TRIALS, NULL, NULL, &error);
    g_assert_cmpmem (shown, sizeof slice * TRIALS, unasked, sizeof slice * TRIALS);
    td_axis_destripe (sinogram, VIEWS, COLUMNS);
    const TdAxisQuality quality = td_axis_quality_for (sinogram, VIEWS, COLUMNS, angles);
    const TdAxisInput input = { .sinogram = sinogram,
                                .n_views = VIEWS,
                                .n_columns = COLUMNS,
                                .angles_rad = angles,
                                .device = device };
    g_autoptr (TdAxisSlices) slices = td_axis_slices_new (&input, 1, 0, &error);
    g_assert_no_error (error);
    for (guint i = 0; i < TRIALS; i++) {
      const float *one = shown + i * G_N_ELEMENTS (slice);
      g_assert_true (td_axis_slices_run (slices, &centres[i], 1, slice, &error));
      for (guint p = 0; p < G_N_ELEMENTS (slice); p++)
        g_assert_cmpfloat_with_epsilon (one[p], slice[p], 1e-5);
      g_assert_cmpfloat_with_epsilon (
          sharpness[i], td_axis_quality (quality, one, COLUMNS, 0.45 * COLUMNS), 1e-9);
    }
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/axis-methods/found", test_found);
  g_test_add_func ("/axis-methods/alike", test_alike);
  g_test_add_func ("/axis-methods/units", test_units);
  g_test_add_func ("/axis-methods/still", test_still);
  g_test_add_func ("/axis-methods/missed", test_missed);
  g_test_add_func ("/axis-methods/spread", test_spread);
  g_test_add_func ("/axis-methods/stated", test_stated);
  g_test_add_func ("/axis-methods/overlap", test_overlap);
  g_test_add_func ("/axis-methods/tilt/found", test_tilt);
  g_test_add_func ("/axis-methods/tilt/counts", test_tilt_counts);
  g_test_add_func ("/axis-methods/tilt/memory", test_tilt_memory);
  g_test_add_func ("/axis-methods/tilt/none", test_tilt_none);
  g_test_add_func ("/axis-methods/ranges", test_ranges);
  g_test_add_func ("/axis-methods/unsuited", test_unsuited);
  g_test_add_func ("/axis-methods/slices/shifted", test_slices);
  g_test_add_func ("/axis-methods/slices/see", test_slices_see);
  g_test_add_func ("/axis-methods/slices/shown", test_slices_shown);
  return g_test_run ();
}
