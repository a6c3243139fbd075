/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Filters have the published response: the ramp, the windows, the cut-off and the padding. */
#include <math.h>

#include "compute/recipe/recipe.h"

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
  return g_test_run ();
}
