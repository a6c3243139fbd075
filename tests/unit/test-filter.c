/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Filters have the published response: the ramp, the windows, the cut-off and the padding. And what
   compute/ has beside them: weights of half acquisition, ranges of rows, orders of views, errors.
 */
#include <math.h>

#include "compute/portion.h"
#include "compute/recipe/recipe.h"
#include "compute/row-blend.h"
#include "compute/row-range.h"
#include "compute/view-order.h"

static void
test_names (void)
{
  TdRecipe recipe;
  guint n = 0;

  td_recipe_init (&recipe);
  for (const char *const *name = td_filter_names; *name; name++, n++) {
    g_assert_true (td_recipe_set (&recipe, "filter", *name, NULL));
    g_assert_cmpstr (td_filter_names[recipe.filter.kind], ==, *name);
  }
  g_assert_cmpuint (n, ==, TD_FILTER_BUTTERWORTH + 1);
  g_assert_false (td_recipe_set (&recipe, "filter", "ramlak", NULL));
  g_assert_false (td_recipe_set (&recipe, "filter", "", NULL));
}

/* The response is the transform of the kernel, summed here term by term; for odd lengths too. */
static void
test_ramp (void)
{
  const guint sizes[] = { 2, 8, 30, 45, 256 };
  TdFilter filter = { TD_FILTER_RAM_LAK, 1, 0, FALSE };

  for (guint k = 0; k < G_N_ELEMENTS (sizes); k++) {
    guint n = sizes[k];
    g_autofree double *response = g_new (double, n);
    td_filter_response (&filter, n, response);
    for (guint i = 0; i < n; i++) {
      double sum = 0.25;
      for (guint m = 1; m < n; m++) {
        guint distance = MIN (m, n - m);
        if (distance % 2)
          sum -= cos (2 * G_PI * i * m / n) / (G_PI * G_PI * distance * distance);
      }
      g_assert_cmpfloat_with_epsilon (response[i], sum, 1e-12);
    }
  }
}

/* |f| but for the mean, which the band-limited kernel sets right: its weight at 0 is small,
   positive and falls with the length. */
static void
test_ramp_shape (void)
{
  TdFilter filter = { TD_FILTER_RAM_LAK, 1, 0, FALSE };
  double response[1024], longer[4096];

  td_filter_response (&filter, 1024, response);
  td_filter_response (&filter, 4096, longer);
  for (guint i = 8; i <= 512; i++)
    g_assert_cmpfloat_with_epsilon (response[i], i / 1024.0, 2e-4);
  g_assert_cmpfloat (response[0], >, 0);
  g_assert_cmpfloat (longer[0], >, 0);
  g_assert_cmpfloat_with_epsilon (longer[0] / response[0], 0.25, 0.01);
}

/* Each window against its formula, with the cut-off inside the band. */
static void
test_windows (void)
{
  const guint n = 512;
  const double cutoff = 0.6;
  double ramp[512], response[512];
  TdFilter filter = { TD_FILTER_RAM_LAK, 1, 0, FALSE };

  td_filter_response (&filter, n, ramp);
  for (TdFilterKind kind = TD_FILTER_RAM_LAK; kind <= TD_FILTER_BUTTERWORTH; kind++) {
    filter = (TdFilter) { kind, cutoff, 3, FALSE };
    td_filter_response (&filter, n, response);
    for (guint i = 0; i < n; i++) {
      double w = MIN (i, n - i) / (n / 2.0) / cutoff, window = 1;
      switch (kind) {
      case TD_FILTER_SHEPP_LOGAN: window = w > 0 ? sin (G_PI * w / 2) / (G_PI * w / 2) : 1; break;
      case TD_FILTER_COSINE: window = cos (G_PI * w / 2); break;
      case TD_FILTER_HAMMING: window = 0.54 + 0.46 * cos (G_PI * w); break;
      case TD_FILTER_HANN: window = pow (cos (G_PI * w / 2), 2); break;
      case TD_FILTER_PARZEN:
        window = w <= 0.5 ? 1 - 6 * w * w + 6 * w * w * w : 2 * (1 - w) * (1 - w) * (1 - w);
        break;
      case TD_FILTER_BUTTERWORTH: window = sqrt (1 / (1 + w * w * w * w * w * w)); break;
      default: break;
      }
      if (w > 1 && kind != TD_FILTER_BUTTERWORTH)
        window = 0;
      g_assert_cmpfloat_with_epsilon (response[i], ramp[i] * window, 1e-12);
      g_assert_cmpfloat (response[i], ==, response[(n - i) % n]);
    }
  }
}

static void
test_none (void)
{
  TdFilter filter = { TD_FILTER_NONE, 1, 0, FALSE };
  double response[6];

  td_filter_response (&filter, 6, response);
  for (guint i = 0; i < 6; i++)
    g_assert_cmpfloat (response[i], ==, 1);
}

/* One part a frequency below and above the cut-off's own. */
static void
test_cutoff_boundary (void)
{
  TdFilter filter = { TD_FILTER_RAM_LAK, 0.3, 0, FALSE };
  double response[1000];

  td_filter_response (&filter, 1000, response);
  g_assert_cmpfloat (response[150], >, 0.1);
  g_assert_cmpfloat (response[151], ==, 0);
  /* What is no part of the Nyquist frequency is all of it. */
  for (guint i = 0; i < 3; i++) {
    double whole[1000], same[1000];
    const TdFilter filters[]
        = { { TD_FILTER_HANN, 1, 0, FALSE },
            { TD_FILTER_HANN, (const double[]) { 0, -0.5, 1.5 }[i], 0, FALSE } };
    td_filter_response (&filters[0], 1000, whole);
    td_filter_response (&filters[1], 1000, same);
    g_assert_cmpmem (same, sizeof same, whole, sizeof whole);
  }
}

static void
test_padding (void)
{
  for (guint n = 1; n < 5000; n += 37) {
    guint padded = td_filter_padded_size (n);
    g_assert_cmpuint (padded, >=, 2 * n);
    g_assert_cmpuint (padded, <=, 3 * n + 2);
  }
}

/* ── Half acquisition ── */

/* Columns from one end of what is seen to the other, by where the detector's ends come to as it
   turns. A centre that is whole but for its rounding costs no column. */
static void
test_blend_width (void)
{
  static const struct {
    guint n_columns;
    double centre_px;
    guint64 width;
  } cases[] = {
    { 100, 49.5, 100 }, /* the middle */
    { 100, 49, 101 },        { 100, 50, 101 },      { 100, 48.75, 102 },
    { 100, 50.25, 102 },     { 100, 10, 179 },      { 100, 10.0000004, 179 },
    { 100, 9.9999996, 179 }, { 100, 9.99, 180 },    { 100, 0, 199 },
    { 100, 99, 199 },        { 100, -0.5, 200 },    { 100, 99.5, 200 },
    { 100, -7, 213 },        { 100, 106, 213 },     { 1, 0, 1 },
    { 1, 0.5, 2 },           { 1, -0.5, 2 },        { 7, 1e15, 2000000000000001 },
    { 7, 1e17, 0x1p53 },     { 7, -1e300, 0x1p53 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    g_assert_cmpuint (td_row_blend_width (cases[i].n_columns, cases[i].centre_px), ==,
                      cases[i].width);
}

/* The weights by their definition, for axes on either side, between columns, and beside the
   detector. Where two views measure they add up to one. */
static void
test_blend_weights (void)
{
  enum { MOST = 41 };
  g_autoptr (GRand) rand = g_rand_new_with_seed (17);

  for (guint i = 0; i < 400; i++) {
    const guint n = (guint) g_rand_int_range (rand, 1, MOST + 1);
    const double exact = g_rand_double_range (rand, -3, n + 2);
    const double centre = i % 2 ? round (2 * exact) / 2 : exact;
    const gboolean on_left = centre < (n - 1) / 2.0;
    float weights[MOST + 1];

    weights[n] = 1234;
    td_row_blend_weights (n, centre, weights);
    g_assert_cmpfloat (weights[n], ==, 1234);
    for (guint c = 0; c < n; c++) {
      const double u = centre == (n - 1) / 2.0 || on_left ? c - centre : centre - c;
      const double o = fmax (on_left ? centre : n - 1 - centre, 0.5);
      const double t = fmin (fmax ((u + o) / (2 * o), 0), 1);
      g_assert_cmpfloat_with_epsilon (weights[c], t * t * t * (10 - 15 * t + 6 * t * t), 1e-6);
      const double opposite = 2 * centre - c;
      if (opposite >= 0 && opposite <= n - 1 && opposite == floor (opposite))
        g_assert_cmpfloat_with_epsilon (weights[c] + weights[(guint) opposite], 1, 1e-6);
    }
  }
}

/* ── Rows and views ── */

/* Each row that is within the halo's reach of one of the range's, counted by itself. */
static void
test_halo (void)
{
  enum { ROWS = 9 };

  for (guint first = 0; first < ROWS; first++)
    for (guint count = 1; first + count <= ROWS; count++)
      for (guint halo = 0; halo < 12; halo++) {
        const TdRowRange wide = td_row_range_with_halo ((TdRowRange) { first, count }, halo, ROWS);
        for (guint row = 0; row < ROWS; row++)
          g_assert_cmpint (row >= wide.first && row - wide.first < wide.count, ==,
                           row + halo >= first && row < first + count + halo);
        g_assert_cmpuint (wide.first + wide.count, <=, ROWS);
      }
  const TdRowRange all = td_row_range_with_halo ((TdRowRange) { 5, 2 }, G_MAXUINT, G_MAXUINT);
  g_assert_cmpuint (all.first, ==, 0);
  g_assert_cmpuint (all.count, ==, G_MAXUINT);
}

/* Three parts of the scan, ten views apart, of which four each are kept one after another; counted
   from each of the twelve. */
static void
test_view_order (void)
{
  static const guint kept[] = { 2, 3, 4, 5, 12, 13, 14, 15, 22, 23, 24, 25 };

  for (guint place = 0; place < G_N_ELEMENTS (kept); place++) {
    const TdViewOrder order = { 2, 4, 10, place };
    for (guint i = 0; i + place < G_N_ELEMENTS (kept); i++) {
      const guint at = place + i;
      g_assert_cmpuint (td_view_order_at (&order, i), ==, kept[at]);
      for (guint most = 1; most < 7; most++)
        g_assert_cmpuint (td_view_order_run (&order, i, most), ==, MIN (most, 4 - at % 4));
    }
  }
  const TdViewOrder plain = td_view_order_from (7);
  for (guint i = 0; i < 40; i++) {
    g_assert_cmpuint (td_view_order_at (&plain, i), ==, 7 + i);
    g_assert_cmpuint (td_view_order_run (&plain, i, 1000), ==, 1000);
  }
  for (guint i = 0; i <= 4; i++) {
    const TdViewOrder a = { 2, 4, 10, 1 };
    const TdViewOrder b = { 2 + (i == 1), 4 + (i == 2), 10 + (i == 3), 1 + (i == 4) };
    g_assert_cmpint (td_view_order_equal (&a, &b), ==, i == 0);
    g_assert_cmpint (td_view_order_equal (&b, &a), ==, i == 0);
  }
}

/* ── Errors and portions ── */

static void
test_errors (void)
{
  static const float got[] = { 3, -4, 1, 0 };
  static const double truth[] = { 3, -4, 0, 12 };

  g_assert_cmpfloat (td_relative_error (got, truth, 2), ==, 0);
  g_assert_cmpfloat_with_epsilon (td_relative_error (got, truth, 3), 1 / 5.0, 1e-15);
  g_assert_cmpfloat_with_epsilon (td_relative_error (got, truth, 4), sqrt (145) / 13, 1e-15);
  g_assert_cmpfloat (td_accuracy_limit (TD_ACCURACY_SINGLE), ==, 1e-5);
  g_assert_cmpfloat (td_accuracy_limit (TD_ACCURACY_STANDARD), ==, 2e-4);
  g_assert_cmpfloat (td_accuracy_limit (TD_ACCURACY_DRAFT), ==, 5e-3);
}

static void
test_portions (void)
{
  for (td_portion_shift = 0; td_portion_shift < 8; td_portion_shift++) {
    g_assert_cmpuint (td_portion (1000), ==, 1000 >> td_portion_shift);
    g_assert_cmpuint (td_portion (64), ==, MAX (64 >> td_portion_shift, 1));
    g_assert_cmpuint (td_portion (1), ==, 1);
    g_assert_cmpuint (td_portion (0), ==, 1); /* work goes on */
  }
  td_portion_shift = 0;
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/filter/names", test_names);
  g_test_add_func ("/filter/ramp", test_ramp);
  g_test_add_func ("/filter/ramp-shape", test_ramp_shape);
  g_test_add_func ("/filter/windows", test_windows);
  g_test_add_func ("/filter/none", test_none);
  g_test_add_func ("/filter/cutoff-boundary", test_cutoff_boundary);
  g_test_add_func ("/filter/padding", test_padding);
  g_test_add_func ("/filter/blend-width", test_blend_width);
  g_test_add_func ("/filter/blend-weights", test_blend_weights);
  g_test_add_func ("/filter/halo", test_halo);
  g_test_add_func ("/filter/view-order", test_view_order);
  g_test_add_func ("/filter/errors", test_errors);
  g_test_add_func ("/filter/portions", test_portions);
  return g_test_run ();
}
