/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ring removal's work on columns: the equations, the axis, and which columns count. */
#include <math.h>

#include "compute/prepare/rings-axis.h"
#include "compute/prepare/rings-offsets.h"
#include "compute/prepare/rings-shade.h"

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
  g_autofree float *modes = g_new0 (float, TD_RINGS_AXIS_MODES * COLUMNS);
  g_autofree float *table = g_new (float, TD_RINGS_AXIS_MODES * VIEWS);
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
}

enum { N = 200, DEAD = 120, STRIPE = 60 };

typedef struct {
  float medians[N], spreads[N], widths[N], skews[N], roughness[N], offsets[N], dead[N];
} Row;

/* A disc of radius 70.3 about column 99.4, a stripe, and a column of another roughness than 1, which
   differs from its neighbours by another amount in each part of the turn. */
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
  const TdRingsColumns columns = { N, 200, { 99.4, 0.02 }, row->medians, row->spreads, row->widths, row->skews,
                                   row->roughness };
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

/* Which turns shade can be told from: whole halves, evenly. */
static void
test_turns (void)
{
  enum { VIEWS = 300 };
  double angles[VIEWS];
  static const struct { double range; guint half_turns; } turns[] = {
    { G_PI, 1 }, { -G_PI, 1 }, { 2 * G_PI, 2 }, { 0.94 * G_PI, 0 }, { 1.5 * G_PI, 0 }, { 3 * G_PI, 0 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (turns); i++) {
    for (guint v = 0; v < VIEWS; v++)
      angles[v] = 0.7 + turns[i].range * v / VIEWS;
    g_assert_cmpuint (td_rings_half_turns (angles, VIEWS), ==, turns[i].half_turns);
    angles[VIEWS / 2] += 0.1;
    g_assert_cmpuint (td_rings_half_turns (angles, VIEWS), ==, 0);
  }
  for (guint v = 0; v < 20; v++)
    angles[v] = G_PI * v / 20;
  g_assert_cmpuint (td_rings_half_turns (angles, 20), ==, 0);
  g_assert_cmpuint (td_rings_shade_bins (1), ==, 1);
  g_assert_cmpuint (td_rings_shade_bins (256), ==, 256);
  g_assert_cmpuint (td_rings_shade_bins (1800), ==, 225);
}

/* A row of air, of which only shade is left: what a wave across columns adds is all found again, and nothing
   on an axis that is hardly seen. */
static void
test_shade (void)
{
  enum { COLUMNS = 150, BINS = 128 };
  g_autofree float *sinogram = g_new (float, COLUMNS * BINS);
  float offsets[COLUMNS], dead[COLUMNS] = { 0 };
  double wave[COLUMNS], left = 0, all = 0;
  float sums[COLUMNS];
  TdRingsShade shade = { { COLUMNS, BINS, 1, 72.4 }, 6, sinogram, dead, sums, BINS, 0, INFINITY };

  for (guint c = 0; c < COLUMNS; c++) {
    offsets[c] = c % 2 ? 0.02f : -0.02f;
    wave[c] = 0.004 * sin (c / 7.0);
    sums[c] = 1e3; /* no air */
    for (guint b = 0; b < BINS; b++)
      sinogram[b * COLUMNS + c] = offsets[c] + (float) wave[c];
  }
  g_assert_true (td_rings_have_shade (offsets, COLUMNS));
  td_rings_add_shade (&shade, offsets);
  for (guint c = 20; c < COLUMNS - 20; c++) {
    left += pow (offsets[c] - (c % 2 ? 0.02 : -0.02) - wave[c], 2);
    all += pow (wave[c], 2);
  }
  g_test_message ("%.2f of the shade is left", sqrt (left / all));
  g_assert_cmpfloat (sqrt (left / all), <=, 0.3);
  shade.turn.axis = 1;
  for (guint c = 0; c < COLUMNS; c++)
    offsets[c] = 1;
  td_rings_add_shade (&shade, offsets);
  for (guint c = 0; c < COLUMNS; c++)
    g_assert_cmpfloat (offsets[c], ==, 1);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/rings-offsets/solve", test_solve);
  g_test_add_func ("/rings-offsets/axis", test_axis);
  g_test_add_func ("/rings-offsets/columns", test_columns);
  g_test_add_func ("/rings-offsets/turns", test_turns);
  g_test_add_func ("/rings-offsets/shade", test_shade);
  return g_test_run ();
}
