/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ring removal's work on columns agrees with its formulas: the equations, the axis, and which
   columns count. */
#include <math.h>
#include <string.h>

#include "compute/prepare/rings/rings-axis.h"
#include "compute/prepare/rings/rings-disc.h"
#include "compute/prepare/rings/rings-edges.h"
#include "compute/prepare/rings/rings-offsets.h"
#include "tests/common/pins.h"

/* sum w (m - L q)^2 + sum s q^2, whose least has no slope in any direction. */
static double
cost (const double *m, const double *w, const double *s, const double *q, gint n)
{
  double sum = 0;

  for (gint c = 0; c < n; c++) {
    double seen = 2 * q[c] - q[MAX (c - 1, 0)] - q[MIN (c + 1, n - 1)];
    sum += w[c] * pow (m[c] - seen, 2) + s[c] * q[c] * q[c];
  }
  return sum;
}

static void
test_solve (void)
{
  static const gint sizes[] = { 1, 2, 3, 4, 7, 150 };
  g_autoptr (GRand) random = g_rand_new_with_seed (1);

  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++) {
    gint n = sizes[i];
    double m[150], w[150], s[150], q[150];
    for (gint c = 0; c < n; c++) {
      m[c] = g_rand_double_range (random, -1, 1);
      w[c] = c % 5 == 3 ? 0 : g_rand_double_range (random, 0.5, 1);
      s[c] = g_rand_double_range (random, 1e-3, 1e-1);
    }
    td_rings_solve (m, w, s, n, q);
    for (gint c = 0; c < n; c++) {
      double held = q[c], step = 1e-3;
      q[c] = held + step;
      double up = cost (m, w, s, q, n);
      q[c] = held - step;
      double down = cost (m, w, s, q, n);
      q[c] = held;
      g_assert_cmpfloat (fabs (up - down) / (2 * step), <=, 1e-8);
    }
  }
}

/* A point that turns about an axis off the middle, over less than half a turn. */
static void
test_axis (void)
{
  enum { VIEWS = 77, COLUMNS = 120 };
  g_autofree float *modes = g_new0 (float, TD_RINGS_AXIS_MODES *COLUMNS);
  g_autofree float *table = g_new (float, TD_RINGS_AXIS_MODES *VIEWS);
  double angles[VIEWS];

  for (guint v = 0; v < VIEWS; v++)
    angles[v] = 2.5 * v / VIEWS;
  td_rings_axis_table (angles, VIEWS, table);
  for (guint v = 0; v < VIEWS; v++) {
    double at = 56.3 + 20 * cos (angles[v]) - 11 * sin (angles[v]);
    for (guint c = 0; c < COLUMNS; c++)
      for (guint k = 0; k < TD_RINGS_AXIS_MODES; k++)
        modes[k * COLUMNS + c] += table[k * VIEWS + v] * MAX (0, 1 - fabs (c - at));
  }
  g_assert_cmpfloat (fabs (td_rings_axis (modes, COLUMNS, angles, VIEWS, 0).axis - 56.3), <=, 1e-3);
  modes[0] = 1e3; /* cut off */
  g_assert_true (isnan (td_rings_axis (modes, COLUMNS, angles, VIEWS, 0).axis));
  /* Whatever the values' unit: the three columns at an end have up to a twentieth of the most. */
  for (guint i = 0; i < 4; i++) {
    const float unit = i < 2 ? 1e-3f : 1e3f;
    float most = 0;
    g_autofree float *scaled = g_new (float, TD_RINGS_AXIS_MODES *COLUMNS);
    for (guint k = 0; k < TD_RINGS_AXIS_MODES * COLUMNS; k++)
      scaled[k] = unit * modes[k];
    for (guint c = 1; c < COLUMNS; c++)
      most = MAX (most, scaled[c]);
    scaled[0] = 3 * 0.05f * most * (i % 2 ? 1.1f : 0.9f);
    g_assert_cmpint (!isnan (td_rings_axis (scaled, COLUMNS, angles, VIEWS, 0).axis), ==,
                     i % 2 == 0);
  }
}

/* The same over half a turn, and offsets that move the centre of mass, but no difference of views.
 */
static void
test_axis_pairs (void)
{
  enum { VIEWS = 180, COLUMNS = 120 };
  static float views[VIEWS][COLUMNS], modes[TD_RINGS_AXIS_MODES][COLUMNS];
  static float table[TD_RINGS_AXIS_MODES][VIEWS], told[TD_RINGS_AXIS_PAIRS][4][COLUMNS];
  g_autoptr (GRand) random = g_rand_new_with_seed (3);
  TdRingsPair pairs[TD_RINGS_AXIS_PAIRS];
  double angles[VIEWS], offsets[COLUMNS];

  for (guint c = 0; c < COLUMNS; c++)
    offsets[c] = 0.05 * g_rand_double_range (random, -1, 1) + 0.0003 * c;
  for (guint v = 0; v < VIEWS; v++) {
    angles[v] = 0.3 + G_PI * v / VIEWS;
    for (guint c = 0; c < COLUMNS; c++)
      views[v][c]
          = (float) (exp (-0.02 * pow (c - 56.3 - 20 * cos (angles[v]) + 11 * sin (angles[v]), 2))
                     + offsets[c]);
  }
  td_rings_axis_table (angles, VIEWS, table[0]);
  for (guint v = 0; v < VIEWS; v++)
    for (guint c = 0; c < COLUMNS; c++)
      for (guint k = 0; k < TD_RINGS_AXIS_MODES; k++)
        modes[k][c] += table[k][v] * views[v][c];
  g_assert_cmpuint (td_rings_axis_pairs (angles, VIEWS, pairs), ==, 1);
  for (guint k = 0; k < 4; k++)
    for (guint c = 0; c < COLUMNS; c++)
      told[0][k][c] = views[pairs[0].views[k / 2] + k % 2][c];
  TdRingsAxis mass = td_rings_axis (modes[0], COLUMNS, angles, VIEWS, 0.05);
  TdRingsAxis axis = td_rings_axis_refine (mass, pairs, 1, told[0][0], COLUMNS);
  td_test_pin ("by the mass %.3f, by two views %.3f +- %.3f", mass.axis, axis.axis, axis.error);
  g_assert_cmpfloat (fabs (mass.axis - 56.3), >=, 0.3);
  g_assert_cmpfloat (fabs (axis.axis - 56.3), <=, 0.05);
  g_assert_cmpfloat (axis.error, <=, 0.05);
  /* A turn has several pairs, and less than half of one has none. */
  for (guint v = 0; v < VIEWS; v++)
    angles[v] = 2 * G_PI * v / VIEWS;
  g_assert_cmpuint (td_rings_axis_pairs (angles, VIEWS, pairs), ==, TD_RINGS_AXIS_PAIRS);
  for (guint v = 0; v < VIEWS; v++)
    angles[v] = 0.9 * G_PI * v / VIEWS;
  g_assert_cmpuint (td_rings_axis_pairs (angles, VIEWS, pairs), ==, 0);
}

/* The noise of photons through a wedge, from its roughness; a camera's whole counts are none. */
static void
test_noise_bounds (void)
{
  enum { COLUMNS = 40, VIEWS = 100 };
  float sums[COLUMNS], roughness[COLUMNS], bounds[COLUMNS];

  for (guint c = 0; c < COLUMNS; c++) {
    sums[c] = VIEWS * 0.03f * c;
    roughness[c] = (float) (VIEWS * 0.6515 * 0.02 * exp (0.015 * c));
  }
  td_rings_noise_bounds (sums, roughness, COLUMNS, VIEWS, bounds);
  for (guint c = 1; c + 1 < COLUMNS; c++)
    g_assert_cmpfloat (fabs (bounds[c] / (2 * sqrt (6) * 0.02 * exp (0.015 * c)) - 1), <=, 0.01);
  for (guint c = 0; c < COLUMNS; c++)
    roughness[c] *= 1e-3f;
  td_rings_noise_bounds (sums, roughness, COLUMNS, VIEWS, bounds);
  for (guint c = 0; c < COLUMNS; c++)
    g_assert_cmpfloat (bounds[c], ==, 0);
}

/* A disc's edges among offsets: as far off as they are said to be, and what is taken off no further
 * than that. */
static void
test_disc (void)
{
  enum { COLUMNS = 256 };
  double values[COLUMNS], errors[COLUMNS], curvatures[COLUMNS], deviations[COLUMNS], q[COLUMNS],
      disc[COLUMNS];
  guint8 unknown[COLUMNS] = { 0 }, edges[COLUMNS] = { 0 };
  g_autoptr (GRand) random = g_rand_new_with_seed (4);

  for (gint c = 0; c < COLUMNS; c++) {
    q[c] = 0.02 * sqrt (3) * g_rand_double_range (random, -1, 1);
    disc[c] = 0.012 * sqrt (MAX (0, (c - 37.9) * (217.1 - c)));
  }
  for (gint c = 0; c < COLUMNS; c++)
    values[c] = 2 * (q[c] + disc[c]) - q[MAX (c - 1, 0)] - disc[MAX (c - 1, 0)]
                - q[MIN (c + 1, COLUMNS - 1)] - disc[MIN (c + 1, COLUMNS - 1)];
  const TdRingsProfile profile = { COLUMNS, 127.5, 0.02, values, errors, unknown, edges };
  TdRingsDisc found
      = { .left = 38.5, .right = 216.5, .curvatures = curvatures, .errors = deviations };
  g_assert_true (td_rings_fit_disc (&profile, 8, &found));
  td_test_pin ("edges %.3f, %.3f, middle %.3f +- %.3f, amplitude %.4f", found.left, found.right,
               found.axis, found.axis_error, found.amplitude);
  g_assert_cmpfloat (fabs (found.left - 37.9), <=, 0.3);
  g_assert_cmpfloat (fabs (found.right - 217.1), <=, 0.3);
  g_assert_cmpfloat (fabs (found.axis - 127.5), <=, 0.06);
  g_assert_cmpfloat (fabs (found.amplitude / 0.012 - 1), <=, 0.1);
  for (gint c = 1; c + 1 < COLUMNS; c++) {
    double curvature = 2 * disc[c] - disc[c - 1] - disc[c + 1];
    g_assert_cmpfloat (fabs (curvatures[c] - curvature), <=, 4 * deviations[c] + 2e-3);
  }
  /* Where three columns at most are known, nothing is, and nothing is put in its place. */
  const TdRingsDisc before = found;
  memset (unknown, 1, sizeof unknown);
  unknown[37] = unknown[39] = unknown[216] = 0;
  g_assert_false (td_rings_fit_disc (&profile, 8, &found));
  g_assert_cmpmem (&found, sizeof found, &before, sizeof before);
}

/* Columns of which nothing is known, by what they hide of a disc between 37.9 and 217.1. */
typedef struct {
  const char *name;
  gint columns; /* of the profile */
  gint unknown[3][2];
  gboolean hidden; /* too little is left of an edge to tell the disc by */
} Gaps;

static const Gaps gaps[] = {
  { "all known", 256, { { 0 } }, FALSE },
  { "beside the edges", 256, { { 28, 35 }, { 220, 227 } }, FALSE },
  { "within an edge's reach", 256, { { 26, 30 }, { 45, 51 }, { 228, 230 } }, FALSE },
  { "right of an edge", 256, { { 40, 55 } }, TRUE },
  { "an edge", 256, { { 36, 41 } }, TRUE },
  { "both edges", 256, { { 37, 40 }, { 215, 218 } }, TRUE },
  { "the end", 226, { { 0 } }, FALSE },
  { "near the end", 226, { { 220, 223 } }, FALSE },
  { "all of an edge", 256, { { 20, 60 } }, TRUE },
};

/* A disc is found and taken off if enough is known of its edges, else nothing is; what unknown
   columns hold counts for nothing. */
static void
test_gaps (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (gaps); i++) {
    const Gaps *g = &gaps[i];
    const gint n = g->columns;
    g_autoptr (GRand) random = g_rand_new_with_seed (4);
    g_autofree double *disc = g_new (double, n), *values = g_new (double, n),
                      *errors = g_new0 (double, n);
    g_autofree guint8 *unknown = g_new0 (guint8, n), *edges = g_new0 (guint8, n);
    double before = 0, after = 0;

    for (gint c = 0; c < n; c++)
      disc[c] = 0.012 * sqrt (MAX (0, (c - 37.9) * (217.1 - c)));
    for (guint k = 0; k < G_N_ELEMENTS (g->unknown); k++)
      for (gint c = g->unknown[k][0]; c < g->unknown[k][1]; c++)
        unknown[c] = 1;
    for (gint c = 0; c < n; c++) {
      values[c] = 2 * disc[c] - disc[MAX (c - 1, 0)] - disc[MIN (c + 1, n - 1)];
      before += unknown[c] ? 0 : values[c] * values[c];
      values[c] += unknown[c] ? 1e3 : g_rand_double_range (random, -1e-4, 1e-4);
    }
    TdRingsProfile profile = { n, 127.3, 0.3, values, errors, unknown, edges };
    td_rings_take_discs (&profile);
    for (gint c = 0; c < n; c++)
      after += unknown[c] ? 0 : values[c] * values[c];
    td_test_pin ("%s: %.4f of it is left, axis %.3f", g->name, sqrt (after / before), profile.axis);
    g_assert_cmpfloat_with_epsilon (sqrt (after / before), g->hidden ? 1 : 0.01, 0.01);
    g_assert_cmpfloat_with_epsilon (profile.axis, g->hidden ? 127.3 : 127.5, 0.01);
  }
}

/* What is used before it is set is no number. */
static void __attribute__ ((noinline)) spoil_stack (void)
{
  volatile double spoiled[1 << 13];

  for (guint i = 0; i < G_N_ELEMENTS (spoiled); i++)
    spoiled[i] = NAN;
}

/* A disc of a few columns is found as a whole, also where the row ends within it, however faint it
   is. Noise alone, and a stripe, are none: they stay as they are. */
static void
test_small_discs (void)
{
  enum { COLUMNS = 128 };
  static const struct {
    const char *name;
    double axis, radius, amplitude, stripe; /* of the disc; of one column */
    gboolean found;
  } cases[] = {
    { "two columns", 63.4, 2.2, 0.02, 0, TRUE },
    { "five", 63.4, 5.3, 0.02, 0, TRUE },
    { "nine", 63.9, 9.1, 0.02, 0, TRUE },
    { "faint", 63.4, 5.3, 1e-3, 0, TRUE },
    { "at the left end", 4.2, 6.3, 0.02, 0, TRUE },
    { "at the right end", 123.6, 6.3, 0.02, 0, TRUE },
    { "noise", 63.4, 5.3, 0, 0, FALSE },
    { "a stripe beside the axis", 63.4, 5.3, 0, 0.02, FALSE },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GRand) random = g_rand_new_with_seed (4);
    double disc[COLUMNS], values[COLUMNS], given[COLUMNS], errors[COLUMNS] = { 0 };
    guint8 unknown[COLUMNS] = { 0 }, edges[COLUMNS] = { 0 };
    double before = 0, after = 0;

    for (gint c = 0; c < COLUMNS; c++) {
      const double x = c - cases[i].axis;
      disc[c] = cases[i].amplitude * sqrt (MAX (0, pow (cases[i].radius, 2) - x * x))
                + (c == 70 ? cases[i].stripe : 0);
    }
    for (gint c = 0; c < COLUMNS; c++) {
      values[c] = 2 * disc[c] - disc[MAX (c - 1, 0)] - disc[MIN (c + 1, COLUMNS - 1)];
      before += values[c] * values[c];
      given[c] = values[c] += g_rand_double_range (random, -1e-5, 1e-5);
    }
    TdRingsProfile profile = { COLUMNS, cases[i].axis, 0.02, values, errors, unknown, edges };
    spoil_stack ();
    td_rings_take_discs (&profile);
    for (gint c = 0; c < COLUMNS; c++)
      after += values[c] * values[c];
    td_test_pin ("%s: %.4f of it is left, axis off by %.3f", cases[i].name, sqrt (after / before),
                 profile.axis - cases[i].axis);
    if (cases[i].found) {
      g_assert_cmpfloat (sqrt (after / before), <, 0.05);
      g_assert_cmpfloat (fabs (profile.axis - cases[i].axis), <, 0.05);
    } else {
      g_assert_cmpmem (values, sizeof values, given, sizeof given);
      g_assert_cmpfloat (profile.axis, ==, cases[i].axis);
      g_assert_null (memchr (edges, 1, sizeof edges));
    }
  }
}

/* Profiles by chance: discs of any size about the axis, some beyond the row, with stripes and
   noise. Some columns are not known. The axis is known well, hardly or not at all. What is taken
   off, and what is then known, is kept. */
static void
test_profiles (void)
{
  enum { PROFILES = 48 };

  for (guint i = 0; i < PROFILES; i++) {
    const gint n = 64 + 5 * (gint) i;
    const double noise = i % 4 ? 1e-4 * (i % 4) : 0;
    g_autoptr (GRand) random = g_rand_new_with_seed (900 + i);
    g_autofree double *p = g_new0 (double, n), *values = g_new (double, n);
    g_autofree double *errors = g_new0 (double, n);
    g_autofree guint8 *unknown = g_new0 (guint8, n), *edges = g_new0 (guint8, n);
    g_autofree float *spreads = g_new0 (float, n), *left = g_new (float, n);
    const double axis = (i % 6 == 5 ? g_rand_double_range (random, 0, 0.2)
                                    : g_rand_double_range (random, 0.4, 0.6))
                        * n;

    for (guint k = 0; k <= i % 3; k++) {
      const double radius = n * g_rand_double_range (random, 0.03, k ? 0.3 : 0.6);
      const double height = g_rand_double_range (random, 0.002, 0.02);
      for (gint c = 0; c < n; c++)
        p[c] += height * sqrt (MAX (0, radius * radius - (c - axis) * (c - axis)));
    }
    for (guint k = 0; k < i % 5; k++)
      p[g_rand_int_range (random, 0, n)] += g_rand_double_range (random, -0.03, 0.03);
    for (gint c = 0; c < n; c++) {
      values[c] = 2 * p[c] - p[MAX (c - 1, 0)] - p[MIN (c + 1, n - 1)]
                  + noise * g_rand_double_range (random, -1, 1);
      errors[c] = noise;
      unknown[c] = g_rand_double (random) < 0.02 * (i % 7 / 3);
      spreads[c] = (float) (1e-4 * g_rand_double (random));
    }
    TdRingsProfile profile = { (guint) n,
                               i % 8 == 7 ? NAN : axis + 0.02 * g_rand_double_range (random, -1, 1),
                               i % 3 ? 0.02 : 0.5,
                               values,
                               errors,
                               unknown,
                               edges,
                               i % 2 ? spreads : NULL };
    td_rings_take_discs (&profile);
    guint n_edges = 0, places = 0;
    for (gint c = 0; c < n; c++) {
      n_edges += edges[c];
      places += edges[c] * (guint) c;
      left[c] = (float) (1e3 * values[c]);
    }
    td_test_pin ("%u: axis %.2f of %.2f, %.3f, %u edges of sum %u", i, profile.axis, axis,
                 profile.axis_error, n_edges, places);
    td_test_pin_values ("left", left, (gsize) n);
    for (gint c = 0; c < n; c++)
      left[c] = (float) (1e3 * errors[c]);
    td_test_pin_values ("errors", left, (gsize) n);
  }
}

enum { N = 200, DEAD = 120, STRIPE = 60 };

typedef struct {
  float medians[N], spreads[N], widths[N], skews[N], roughness[N], offsets[N], dead[N];
} Row;

/* Decides on a row with three faults. There is a disc of radius 70.3 about column 99.4, a stripe,
   and a column of another roughness than 1. That column differs from its neighbours by another
   amount in each part of the turn. */
static void
decide (Row *row, double disc, double stripe, double dead, double spread)
{
  double p[N];

  for (gint c = 0; c < N; c++) {
    double x = c - 99.4;
    p[c] = disc * sqrt (MAX (0, 70.3 * 70.3 - x * x)) + (c == STRIPE ? stripe : 0);
  }
  for (gint c = 0; c < N; c++) {
    row->medians[c] = 2 * p[c] - p[MAX (c - 1, 0)] - p[MIN (c + 1, N - 1)];
    row->spreads[c] = c == DEAD ? spread : 1e-4;
    row->widths[c] = 1e-3;
    row->skews[c] = 0;
    row->roughness[c] = c == DEAD ? dead : 1;
  }
  const TdRingsColumns columns
      = { N,           200,        { 99.4, 0.02 }, row->medians, row->spreads,
          row->widths, row->skews, row->roughness };
  const TdRingsLimits limits = { 6, 4, 3 };
  td_rings_offsets (&columns, &limits, row->offsets, row->dead);
}

static void
test_columns (void)
{
  Row row;

  decide (&row, 0.01, 0, 1, 1e-4);
  for (guint c = 0; c < N; c++) {
    g_assert_cmpfloat (fabsf (row.offsets[c]), <=, 1e-4);
    g_assert_cmpfloat (row.dead[c], ==, 0);
  }
  decide (&row, 0.01, 0.05, 0.1, 0.2);
  for (guint c = 0; c < N; c++) {
    g_assert_cmpfloat (fabs (row.offsets[c] - (c == STRIPE ? 0.05 : 0)), <=, 2e-3);
    g_assert_cmpfloat (row.dead[c], ==, c == DEAD);
  }
  /* Smooth along the angle, but as the object is. */
  decide (&row, 0.01, 0, 0.1, 1e-4);
  for (guint c = 0; c < N; c++)
    g_assert_cmpfloat (row.dead[c], ==, 0);
  decide (&row, 0, -0.05, 2, 1e-4);
  for (guint c = 0; c < N; c++) {
    g_assert_cmpfloat (fabs (row.offsets[c] - (c == STRIPE ? -0.05 : 0)), <=, 2e-3);
    g_assert_cmpfloat (row.dead[c], ==, 0);
  }
}

/* Columns that flicker are judged by those around them, not by another one further away. */
static void
test_two_dead (void)
{
  for (guint apart = 9; apart < 40; apart++) {
    float medians[N] = { 0 }, spreads[N] = { 0 }, widths[N], skews[N] = { 0 }, rough[N];
    float offsets[N], dead[N];
    const TdRingsColumns columns
        = { N, 200, { 99.4, 0.02 }, medians, spreads, widths, skews, rough };
    const TdRingsLimits limits = { 6, 4, 3 };

    for (guint c = 0; c < N; c++) {
      widths[c] = 1e-3f;
      rough[c] = c == 60 || c == 60 + apart ? 9 : 1;
    }
    td_rings_offsets (&columns, &limits, offsets, dead);
    for (guint c = 0; c < N; c++)
      g_assert_cmpfloat (dead[c], ==, c == 60 || c == 60 + apart);
  }
}

/* What the object has in its columns for the whole turn is no ring. Some discs have one edge in
   view, or fill a row so that it holds little else. And what goes on beyond a row slopes at its
   end. */
static void
test_no_rings (void)
{
  static const struct {
    const char *name;
    guint n;
    double axis; /* 0: not known */
    double left, right, noise, slope, threshold;
  } cases[] = {
    { "half acquisition", N, 0, 30.3, 330, 0, 0, 4 },
    { "half acquisition, the left end", N, 0, -130, 169.6, 0, 0, 4 },
    { "half acquisition, few columns", 64, 0, 9.7, 97, 0, 0, 4 },
    { "most of few columns", 64, 31.5, 9.4, 53.6, 0, 0, 4 },
    { "few columns, noise", 96, 44.9, 11.3, 78.5, 0.02, 0, 4 },
    { "as wide as the row", 64, 29.75, 0.93, 58.57, 0.01, 0, 4 },
    { "wider than the row", 64, 29.75, -1.5, 61, 0.01, 0, 4 },

    { "beyond the row", N, 0, 0, 0, 0, 0.05, 0 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GRand) random = g_rand_new_with_seed (5);
    const guint n = cases[i].n;
    const double noise = cases[i].noise, axis = cases[i].axis > 0 ? cases[i].axis : NAN;
    float medians[N], spreads[N], widths[N], skews[N] = { 0 }, rough[N], bounds[N], shares[N];
    float offsets[N], dead[N];
    double p[N], most = 0;
    const TdRingsColumns columns
        = { n, 57, { axis, 0.02 }, medians, spreads, widths, skews, rough, bounds, shares, 7, 1.4 };
    const TdRingsLimits limits = { 6, cases[i].threshold, 3 };

    for (guint c = 0; c < n; c++)
      p[c] = cases[i].slope * c + 0.04 * sqrt (MAX (0, (c - cases[i].left) * (cases[i].right - c)));
    for (guint c = 0; c < n; c++) {
      const double away = noise / sqrt (57) * g_rand_double_range (random, -2, 2);
      medians[c] = (float) (2 * p[c] - p[c > 0 ? c - 1 : 0] - p[MIN (c + 1, n - 1)] + away);
      spreads[c] = (float) (1e-5 + 6 * noise * g_rand_double_range (random, 0.5, 1.5));
      widths[c] = (float) (1e-4 + 3 * noise);
      bounds[c] = (float) (TD_RINGS_NOISE_BOUND * sqrt (6) * noise);
      shares[c] = noise > 0 ? 0.78f : 1;
      rough[c] = 1;
    }
    td_rings_offsets (&columns, &limits, offsets, dead);
    for (guint c = 0; c < n; c++)
      most = MAX (most, fabsf (offsets[c]));
    td_test_pin ("%s: %.4f", cases[i].name, most);
    g_assert_cmpfloat (most, <=, 1e-3);
  }
}

/* A row that is hardly narrow is treated as a wide one is, and a mirrored one as it was. */
static void
test_hardly_narrow (void)
{
  enum { WIDE = TD_RINGS_NARROW };
  g_autoptr (GRand) random = g_rand_new_with_seed (9);
  float offsets[3][WIDE], dead[WIDE];
  double p[WIDE];

  for (guint c = 0; c < WIDE; c++)
    p[c] = g_rand_double_range (random, -0.02, 0.02);
  for (guint i = 0; i < 3; i++) {
    const gint n = i == 1 ? WIDE - 1 : WIDE;
    float medians[WIDE], spreads[WIDE], widths[WIDE], skews[WIDE] = { 0 }, rough[WIDE];
    const TdRingsColumns columns
        = { n, 200, { 99.4, 0.02 }, medians, spreads, widths, skews, rough };
    const TdRingsLimits limits = { 6, 0, 3 };

    for (gint c = 0; c < n; c++) {
      const gint at = i == 2 ? n - 1 - c : c;
      medians[at] = (float) (2 * p[c] - p[MAX (c - 1, 0)] - p[MIN (c + 1, n - 1)]);
      spreads[at] = 1e-4f;
      widths[at] = 1e-2f;
      rough[at] = 1;
    }
    td_rings_offsets (&columns, &limits, offsets[i], dead);
  }
  double off = 0, turned = 0, size = 0;
  for (guint c = 0; c < WIDE; c++) {
    off += c < WIDE - 40 ? pow (offsets[1][c] - offsets[0][c], 2) : 0;
    turned += pow (offsets[2][c] - offsets[0][WIDE - 1 - c], 2);
    size += pow (offsets[0][c], 2);
  }
  td_test_pin ("of %.4f: narrower by %.1e, mirrored by %.1e", sqrt (size / WIDE), sqrt (off / size),
               sqrt (turned / size));
  g_assert_cmpfloat (sqrt (off / size), <, 0.01);
  g_assert_cmpfloat (sqrt (turned / size), <, 0.01);
}

/* How far what is made of a row is from what is made of its mirror image, to the root mean square.
 */
static double
mirrored_apart (const Row *row, const TdRingsLimits *limits)
{
  Row other;
  double apart = 0, size = 0;
  const TdRingsColumns columns = { N,
                                   200,
                                   { N - 1 - 99.4, 0.02 },
                                   other.medians,
                                   other.spreads,
                                   other.widths,
                                   other.skews,
                                   other.roughness };

  for (guint c = 0; c < N; c++) {
    other.medians[N - 1 - c] = row->medians[c];
    other.spreads[N - 1 - c] = row->spreads[c];
    other.widths[N - 1 - c] = row->widths[c];
    other.skews[N - 1 - c] = row->skews[c];
    other.roughness[N - 1 - c] = row->roughness[c];
  }
  td_rings_offsets (&columns, limits, other.offsets, other.dead);
  for (guint c = 0; c < N; c++) {
    g_assert_cmpfloat (other.dead[N - 1 - c], ==, row->dead[c]);
    apart += pow (other.offsets[N - 1 - c] - row->offsets[c], 2);
    size += pow (row->offsets[c], 2);
  }
  return sqrt (apart / (size + N * 1e-8));
}

/* Rows of stripes and noise of any size, few columns or most: what is made of them, in figures. */
static void
test_random_rows (void)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (7);

  for (guint i = 0; i < 40; i++) {
    const double disc = g_rand_double_range (random, 0, 0.02);
    const double size = pow (10, g_rand_double_range (random, -3.5, -1));
    const double noise = pow (10, g_rand_double_range (random, -4.5, -2));
    const double share = i % 2 ? 1 : g_rand_double_range (random, 0.02, 0.3);
    const TdRingsLimits limits = { g_rand_double_range (random, 2, 12),
                                   i % 4 == 1 ? 0 : g_rand_double_range (random, 3, 6), 3 };
    double p[N];
    Row row;

    for (gint c = 0; c < N; c++) {
      const double x = c - 99.4, stripe = g_rand_double_range (random, -size, size);
      p[c] = disc * sqrt (MAX (0, 70.3 * 70.3 - x * x))
             + (g_rand_double (random) < share ? stripe : 0);
    }
    for (gint c = 0; c < N; c++) {
      row.medians[c] = (float) (2 * p[c] - p[MAX (c - 1, 0)] - p[MIN (c + 1, N - 1)]
                                + g_rand_double_range (random, -noise, noise));
      row.spreads[c] = (float) (noise * g_rand_double_range (random, 0.5, 1.5));
      row.widths[c] = (float) (10 * noise * g_rand_double_range (random, 0.8, 1.2));
      row.skews[c] = (float) (noise * g_rand_double_range (random, -1, 1));
      row.roughness[c]
          = (float) (g_rand_double (random) < 0.01 ? g_rand_double_range (random, 0, 9) : 1);
    }
    const TdRingsColumns columns = { N,           200,        { 99.4, 0.02 }, row.medians,
                                     row.spreads, row.widths, row.skews,      row.roughness };
    const TdRingsAxis axis = td_rings_offsets (&columns, &limits, row.offsets, row.dead);
    td_test_pin ("size %.4g, axis %.3f +- %.3f", td_rings_size (row.medians, N), axis.axis,
                 axis.error);
    td_test_pin_values ("offsets", row.offsets, N);
    td_test_pin_values ("dead", row.dead, N);
    td_test_pin_values ("left", row.offsets, 9); /* at either end */
    td_test_pin_values ("right", row.offsets + N - 9, 9);
    g_assert_cmpfloat (mirrored_apart (&row, &limits), <=, 1e-3);
  }
}

/* Rows as narrow and as wide as they come, about any axis, with stripes up to the ends. Half of
   them have noise. A row's mirror image has the mirror image of its offsets. */
static void
test_random_widths (void)
{
  enum { MOST = 400 };
  static const guint widths[] = { 5, 9, 24, 63, 128, 129, 200, 255, 256, 257, 320, MOST };
  g_autoptr (GRand) random = g_rand_new_with_seed (11);

  for (guint i = 0; i < 1000; i++) {
    const gboolean pinned = i < 4 * G_N_ELEMENTS (widths);
    const gint n = (gint) (pinned ? widths[i / 4] : 16 + 16 * (i % 5)), odd = 2 + (gint) i % 3;
    const double axis = n * g_rand_double_range (random, 0.3, 0.7), radius = 0.4 * n;
    const double size = pow (10, g_rand_double_range (random, -2.5, -1)), noise = i % 2 ? 0.01 : 0;
    const TdRingsLimits limits = { g_rand_double_range (random, 2, 12), i % 4 < 2 ? 0 : 4, 3 };
    float p[MOST], of[8][2][MOST], offsets[2][MOST], dead[2][MOST];

    for (gint c = 0; c < n; c++)
      p[c] = (float) (0.02 * sqrt (MAX (0, radius * radius - (c - axis) * (c - axis)))
                      + (c < 3 || c + 3 >= n || g_rand_double (random) < 0.1
                             ? g_rand_double_range (random, -size, size)
                             : 0));
    for (gint c = 0; c < n; c++) {
      const double values[]
          = { 2 * p[c] - p[MAX (c - 1, 0)] - p[MIN (c + 1, n - 1)]
                  + g_rand_double_range (random, -0.1, 0.1) * noise,
              1e-4 + g_rand_double (random) * (noise + (c == odd || c == n / 2 ? 2 : 0)),
              1e-3 + noise * g_rand_double_range (random, 0.8, 1.2),
              noise * g_rand_double_range (random, -0.1, 0.1),
              200 * (1e-3 + noise) * (c == odd || c == n - 1 - odd ? (i / 2 % 2 ? 8 : 0.05) : 1),
              200 * p[c],
              g_rand_double_range (random, 0.1, 1) };
      for (guint k = 0; k < G_N_ELEMENTS (values); k++)
        of[k][0][c] = of[k][1][n - 1 - c] = (float) values[k];
    }
    for (guint turned = 0; turned < 2; turned++) {
      td_rings_noise_bounds (of[5][turned], of[4][turned], (guint) n, 200, of[7][turned]);
      const TdRingsColumns columns = {
        .n_columns = (guint) n,
        .n_samples = 200,
        .axis = { turned ? n - 1 - axis : axis, 0.02 },
        .medians = of[0][turned],
        .spreads = of[1][turned],
        .widths = of[2][turned],
        .skews = of[3][turned],
        .roughness = of[4][turned],
        .bounds = noise > 0 ? of[7][turned] : NULL,
        .shares = noise > 0 ? of[6][turned] : NULL,
        .n_parts = 8,
        .tallest = td_rings_tallest (of[5][turned], (guint) n, 200),
      };
      td_rings_offsets (&columns, &limits, offsets[turned], dead[turned]);
    }
    if (pinned) {
      td_test_pin_values ("medians", of[0][0], (gsize) n);
      td_test_pin_values ("bounds", of[7][0], (gsize) n);
      td_test_pin_values ("offsets", offsets[0], (gsize) n);
      td_test_pin_values ("dead", dead[0], (gsize) n);
    }
    double apart = 0, all = 0;
    for (gint c = 0; c < n && n % 16 == 0; c++) { /* columns are judged in blocks of 16 */
      apart += pow (offsets[1][n - 1 - c] - offsets[0][c], 2);
      all += pow (offsets[0][c], 2);
      g_assert_cmpfloat (dead[1][n - 1 - c], ==, dead[0][c]);
    }
    g_assert_cmpfloat (apart, <=, pow (0.002, 2) * all);
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/rings-offsets/solve", test_solve);
  g_test_add_func ("/rings-offsets/axis", test_axis);
  g_test_add_func ("/rings-offsets/axis-pairs", test_axis_pairs);
  g_test_add_func ("/rings-offsets/noise-bounds", test_noise_bounds);
  g_test_add_func ("/rings-offsets/disc", test_disc);
  g_test_add_func ("/rings-offsets/gaps", test_gaps);
  g_test_add_func ("/rings-offsets/small-discs", test_small_discs);
  g_test_add_func ("/rings-offsets/profiles", test_profiles);
  g_test_add_func ("/rings-offsets/columns", test_columns);
  g_test_add_func ("/rings-offsets/two-dead", test_two_dead);
  g_test_add_func ("/rings-offsets/no-rings", test_no_rings);
  g_test_add_func ("/rings-offsets/hardly-narrow", test_hardly_narrow);
  g_test_add_func ("/rings-offsets/random-rows", test_random_rows);
  g_test_add_func ("/rings-offsets/random-widths", test_random_widths);
  return g_test_run ();
}
