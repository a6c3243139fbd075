/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is said of a list of angles (steps, gaps, end points, whole turns) agrees with how the list
   was made. */
#include <math.h>
#include <string.h>

#include "compute/angles.h"
#include "dataset/angles.h"
#include "dataset/geometry-matrix.h"
#include "tests/common/pins.h"

#define DEG (G_PI / 180)

static void
check (const double *angles, guint n, const double *expected_deg, double covered_deg,
       double missing_deg)
{
  g_autofree double *weights = g_new (double, n);
  TdAngleCover cover;
  double sum = 0;

  td_angular_weights (angles, n, G_PI, weights, &cover);
  for (guint i = 0; i < n; i++) {
    g_assert_cmpfloat_with_epsilon (weights[i], expected_deg[i] * DEG, 1e-9);
    sum += weights[i];
  }
  g_assert_cmpfloat_with_epsilon (sum, covered_deg * DEG, 1e-9);
  g_assert_cmpfloat_with_epsilon (cover.covered_rad, covered_deg * DEG, 1e-9);
  g_assert_cmpfloat_with_epsilon (cover.missing_rad, missing_deg * DEG, 1e-9);
}

static void
check_even (guint n, double first_deg, double step_deg, double weight_deg)
{
  g_autofree double *angles = g_new (double, n), *expected = g_new (double, n);

  for (guint i = 0; i < n; i++) {
    angles[i] = (first_deg + i * step_deg) * DEG;
    expected[i] = weight_deg;
  }
  check (angles, n, expected, n * weight_deg, 0);
}

static void
test_even (void)
{
  check_even (180, 0, 1, 1);                     /* half a turn */
  check_even (360, 0, 1, 0.5);                   /* a whole turn: every direction twice */
  check_even (359, 0, 360.0 / 359, 180.0 / 359); /* its halves interleave */
  check_even (5, -700, 36, 36);                  /* few, far from 0 */
  check_even (180, 10, -1, 1);                   /* backwards */
  check_even (1, 33, 0, 180);                    /* one view stands for all */
  check_even (720, 0, 1, 0.25);                  /* two turns */
}

/* Every view is there once, by rising angles within the period; without one they stay as they are.
 */
static void
test_sorted (void)
{
  enum { N = 50 };
  static const double periods[] = { 0, G_PI, 2 * G_PI };
  g_autoptr (GRand) random = g_rand_new_with_seed (3);
  double angles[N];

  for (guint i = 0; i < N; i++)
    angles[i] = i % 7 == 3 ? angles[i - 1] : g_rand_double_range (random, -20, 20);
  for (guint p = 0; p < G_N_ELEMENTS (periods); p++) {
    const double period = periods[p];
    g_autofree TdDirection *sorted = td_angles_sorted (angles, N, period);
    gboolean seen[N] = { FALSE };

    for (guint i = 0; i < N; i++) {
      const double turns = period > 0 ? floor (angles[sorted[i].view] / period) : 0;
      g_assert_cmpfloat_with_epsilon (sorted[i].angle, angles[sorted[i].view] - turns * period,
                                      1e-12);
      g_assert_false (seen[sorted[i].view]);
      seen[sorted[i].view] = TRUE;
      if (i > 0)
        g_assert_true (
            sorted[i - 1].angle < sorted[i].angle
            || (sorted[i - 1].angle == sorted[i].angle && sorted[i - 1].view < sorted[i].view));
    }
  }
}

/* Directions count as one up to a hundredth of an even step apart, and beyond as two. */
static void
test_same (void)
{
  for (guint k = 0; k < 2; k++) {
    const double apart = k ? 0.0102 : 0.0098; /* of 180 / 5 degrees */
    double angles[5], weights[5];
    TdAngleCover cover;

    for (guint i = 0; i < 5; i++)
      angles[i] = (10 + 45 * MIN (i, 3)) * DEG;
    angles[4] += apart * G_PI / 5;
    td_angular_weights (angles, 5, G_PI, weights, &cover);
    g_assert_cmpuint (cover.repeated, ==, k ? 0 : 1);
    /* Also on either side of half a turn, and so do more. */
    for (guint i = 0; i < 4; i++)
      angles[i] -= 10 * DEG;
    angles[4] = -apart * G_PI / 5;
    td_angular_weights (angles, 5, G_PI, weights, &cover);
    g_assert_cmpuint (cover.repeated, ==, k ? 0 : 1);
  }
  const double across[] = { 0, 179.8 * DEG, 45 * DEG, 90 * DEG, 135 * DEG, 179.9 * DEG };
  const double expected[] = { 15, 15, 45, 45, 45, 15 };
  const double two[] = { 0, 179.99 * DEG }, halves[] = { 90, 90 };
  check (across, 6, expected, 180, 0);
  check (two, 2, halves, 180, 0);
}

static void
test_end_point_included (void)
{
  /* As i13_24737: the last view repeats the first one's direction. */
  double angles[91], expected[91];

  for (guint i = 0; i < 91; i++) {
    angles[i] = (-88.2 + 2 * i) * DEG;
    expected[i] = i == 0 || i == 90 ? 1 : 2;
  }
  check (angles, 91, expected, 180, 0);
}

static void
test_irregular (void)
{
  const double angles[] = { 0, 10 * DEG, 90 * DEG, 40 * DEG, 130 * DEG, 10 * DEG };
  const double expected[] = { 30, 10, 45, 40, 45, 10 };

  check (angles, 6, expected, 180, 0);
}

static void
test_missing_wedge (void)
{
  double angles[121], expected[121];

  for (guint i = 0; i < 121; i++) {
    angles[i] = i * DEG;
    expected[i] = 1;
  }
  check (angles, 121, expected, 121, 59);
}

/* Opposite views apart: half acquisition. */
static void
test_whole_turn (void)
{
  double angles[361], weights[361], sum = 0;
  TdAngleCover cover;

  for (guint i = 0; i < 361; i++)
    angles[i] = (i - 33.5) * DEG;
  td_angular_weights (angles, 361, 2 * G_PI, weights, &cover);
  for (guint i = 0; i < 361; i++) {
    g_assert_cmpfloat_with_epsilon (weights[i], (i == 0 || i == 360 ? 0.5 : 1) * DEG, 1e-9);
    sum += weights[i];
  }
  g_assert_cmpfloat_with_epsilon (sum, 2 * G_PI, 1e-9);
  g_assert_cmpuint (cover.repeated, ==, 1);
  td_angular_weights (angles, 181, 2 * G_PI, weights, &cover);
  g_assert_cmpfloat_with_epsilon (cover.missing_rad, 179 * DEG, 1e-9);
}

static void
test_random (void)
{
  double angles[500], weights[500], sum = 0;
  TdAngleCover cover;

  for (guint i = 0; i < 500; i++)
    angles[i] = g_test_rand_double_range (-20, 20);
  td_angular_weights (angles, 500, G_PI, weights, &cover);
  for (guint i = 0; i < 500; i++) {
    g_assert_cmpfloat (weights[i], >=, 0);
    sum += weights[i];
  }
  /* The widest of so many gaps count as missing. */
  g_assert_cmpfloat_with_epsilon (sum + cover.missing_rad, G_PI, 1e-9);
  g_assert_cmpfloat (cover.missing_rad, <, 0.1 * G_PI);
}

/* Ten frames of each angle, by a stage that reads its own jitter: the angles weigh what they weigh
   without it. With a wedge missing they weigh no more. */
static void
test_clumps (void)
{
  double angles[900], weights[900];
  TdAngleCover cover;

  for (guint part = 0; part < 2; part++) {
    const guint n = part ? 600 : 900;
    for (guint i = 0; i < n; i++)
      angles[i] = (2 * (i / 10) + 0.04 * (i % 10) * (i / 10 % 2 ? 1 : -1)) * DEG;
    td_angular_weights (angles, n, G_PI, weights, &cover);
    g_assert_cmpfloat_with_epsilon (cover.covered_rad, n * 0.2 * DEG, DEG);
    for (guint clump = 0; clump < n / 10; clump++) {
      double sum = 0;
      for (guint i = 0; i < 10; i++)
        sum += weights[10 * clump + i];
      g_assert_cmpfloat_with_epsilon (sum, 2 * DEG, 0.5 * DEG);
    }
  }
}

/* Half of the turn ten times as dense as the other half, and 3.14 degrees that were radians. */
static void
test_uneven (void)
{
  double angles[990], weights[990];
  TdAngleCover cover;

  for (guint i = 0; i < 990; i++)
    angles[i] = (i < 900 ? 0.1 * i : i - 810) * DEG;
  td_angular_weights (angles, 990, G_PI, weights, &cover);
  g_assert_cmpfloat (cover.missing_rad, ==, 0);
  g_assert_cmpfloat_with_epsilon (weights[450], 0.1 * DEG, 1e-9);
  g_assert_cmpfloat_with_epsilon (weights[950], DEG, 1e-9);
  for (guint i = 0; i < 121; i++)
    angles[i] = i * G_PI / 120 * DEG;
  td_angular_weights (angles, 121, 2 * G_PI, weights, &cover);
  g_assert_cmpuint (cover.repeated, <, 100);
}

/* Which gap is usual: the median one of fewer than twelve gaps. Of twelve and more it is the one up
   to which three quarters of the angle lie, but for the four widest gaps. A wedge is wider than
   four of it, and than four even ones. */
static void
test_few (void)
{
  static const struct {
    guint n_small, n_large, n_more;
    double small, large, more, widest; /* gaps in degrees; the rest of half a turn is the first's */
    double missing;
  } cases[] = {
    { 6, 4, 0, 25 / 6.0, 20, 0, 75, 75 - 25 / 6.0 }, /* eleven */
    { 7, 4, 0, 30 / 7.0, 20, 0, 70, 0 },             /* twelve */
    { 7, 1, 3, 40 / 7.0, 16, 18, 70, 70 - 16 },      /* the four widest do not count */
    { 12, 4, 0, 5, 12, 0, 72, 72 - 5 },              /* nor do they add to the angle */
    { 12, 1, 0, 5, 60, 0, 60, 2 * (60 - 5) },        /* two wedges */
    { 4, 4, 0, 4, 20, 0, 84, 84 - 20 },              /* the median of few */
    { 3, 0, 0, 28, 0, 0, 96, 0 },                    /* four even gaps are 180 degrees */
    { 8, 0, 0, 12, 0, 0, 84, 84 - 12 },              /* and here 80 */
    { 8, 0, 0, 12.6, 0, 0, 79.2, 0 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    double angles[20] = { 0 }, weights[20], at = 0, sum = 0;
    guint n = 1;
    TdAngleCover cover;

    for (guint k = 0; k < cases[i].n_small + cases[i].n_large + cases[i].n_more; k++) {
      at += k < cases[i].n_small                      ? cases[i].small
            : k < cases[i].n_small + cases[i].n_large ? cases[i].large
                                                      : cases[i].more;
      angles[n++] = at * DEG;
    }
    g_assert_cmpfloat_with_epsilon (180 - at, cases[i].widest, 1e-9);
    td_angular_weights (angles, n, G_PI, weights, &cover);
    for (guint k = 0; k < n; k++)
      sum += weights[k];
    td_test_pin ("%u of %u: %g degrees are missing", i, n, cover.missing_rad / DEG);
    g_assert_cmpfloat_with_epsilon (cover.missing_rad, cases[i].missing * DEG, 1e-9);
    g_assert_cmpfloat_with_epsilon (cover.largest_gap_rad, cases[i].widest * DEG, 1e-9);
    g_assert_cmpfloat_with_epsilon (sum, G_PI - cases[i].missing * DEG, 1e-9);
  }
}

/* A turned matrix sees at a turned point what it saw at the point. A shifted one sees all so many
   columns aside. */
static void
test_matrices (void)
{
  static const double angles[] = { 0, 0.3, -2, G_PI / 2 }, shifts[] = { 0, 2.5, -40, 1 };
  const double matrix[12] = { 600, 20, -3, 950, -45, 30, -600, 450, 0.2, -0.9, 0.1, 100 };
  const double points[][3] = { { 3, -4, 5 }, { -20, 1, 0 }, { 0, 0, 7 } };

  for (guint i = 0; i < G_N_ELEMENTS (angles); i++)
    for (guint k = 0; k < G_N_ELEMENTS (points); k++) {
      const double c = cos (angles[i]), s = sin (angles[i]), *p = points[k];
      const double turned[3] = { c * p[0] - s * p[1], s * p[0] + c * p[1], p[2] };
      double other[12], seen[2][3];

      memcpy (other, matrix, sizeof other);
      td_matrix_turn (other, angles[i]);
      td_matrix_shift (other, shifts[i]);
      for (guint row = 0; row < 3; row++) {
        seen[0][row] = td_dot3 (matrix + 4 * row, p) + matrix[4 * row + 3];
        seen[1][row] = td_dot3 (other + 4 * row, turned) + other[4 * row + 3];
      }
      g_assert_cmpfloat_with_epsilon (seen[1][0] / seen[1][2], seen[0][0] / seen[0][2] + shifts[i],
                                      1e-9);
      g_assert_cmpfloat_with_epsilon (seen[1][1] / seen[1][2], seen[0][1] / seen[0][2], 1e-9);
    }
}

/* Products of vectors, by their words: at right angles to both, right-handed, as long as the
   parallelogram is large. */
static void
test_vectors (void)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (8);

  for (guint i = 0; i < 20; i++) {
    double a[3], b[3], product[3], between[3], unit[3], plain = 0;

    for (guint k = 0; k < 3; k++) {
      a[k] = g_rand_double_range (random, -3, 3);
      b[k] = g_rand_double_range (random, -3, 3);
      plain += a[k] * b[k];
    }
    td_cross3 (a, b, product);
    td_between3 (a, b, between);
    memcpy (unit, a, sizeof unit);
    g_assert_true (td_normalise3 (unit));
    g_assert_cmpfloat_with_epsilon (td_dot3 (a, b), plain, 1e-12);
    g_assert_cmpfloat_with_epsilon (td_dot3 (product, a), 0, 1e-12);
    g_assert_cmpfloat_with_epsilon (td_dot3 (product, b), 0, 1e-12);
    g_assert_cmpfloat_with_epsilon (td_dot3 (product, product),
                                    td_dot3 (a, a) * td_dot3 (b, b) - plain * plain, 1e-9);
    g_assert_cmpfloat_with_epsilon (product[2], a[0] * b[1] - a[1] * b[0], 1e-12);
    g_assert_cmpfloat_with_epsilon (td_dot3 (unit, unit), 1, 1e-12);
    g_assert_cmpfloat_with_epsilon (td_dot3 (unit, a), sqrt (td_dot3 (a, a)), 1e-12);
    for (guint k = 0; k < 3; k++)
      g_assert_cmpfloat_with_epsilon (between[k], b[k] - a[k], 1e-12);
  }
  double none[3] = { 0, 0, 0 }, wrong[3] = { 1, NAN, 0 };
  g_assert_false (td_normalise3 (none));
  g_assert_false (td_normalise3 (wrong));
}

/* What is shown of an angle is never -0, nor what rounding left of 0. */
static void
test_degrees (void)
{
  const double rounded = 0.3 - 0.1 * 3;

  g_assert_cmpfloat (rounded, <, 0);
  g_assert_false (signbit (td_degrees (rounded)) || td_degrees (rounded) < 0);
  g_assert_false (signbit (td_degrees (-0.0)));
  g_assert_cmpfloat_with_epsilon (td_degrees (-G_PI * 1e-9), -1.8e-7, 1e-15);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/angles/even", test_even);
  g_test_add_func ("/angles/sorted", test_sorted);
  g_test_add_func ("/angles/same", test_same);
  g_test_add_func ("/angles/end-point", test_end_point_included);
  g_test_add_func ("/angles/irregular", test_irregular);
  g_test_add_func ("/angles/missing-wedge", test_missing_wedge);
  g_test_add_func ("/angles/whole-turn", test_whole_turn);
  g_test_add_func ("/angles/few", test_few);
  g_test_add_func ("/angles/random", test_random);
  g_test_add_func ("/angles/clumps", test_clumps);
  g_test_add_func ("/angles/uneven", test_uneven);
  g_test_add_func ("/angles/degrees", test_degrees);
  g_test_add_func ("/angles/matrices", test_matrices);
  g_test_add_func ("/angles/vectors", test_vectors);
  return g_test_run ();
}
