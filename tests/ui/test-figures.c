/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Times, sizes and progress in words, on either side of where the words change. */

#include "ui/quantity.h"

static void
test_durations (void)
{
  static const struct {
    double seconds;
    const char *text;
  } durations[] = {
    { 0, "less than 0.1 s" },  { 0.0499, "less than 0.1 s" },
    { 0.0501, "0.1 s" },       { 9.94, "9.9 s" },
    { 9.951, "10 s" },         { 59.4, "59 s" },
    { 59.5, "1 min 0 s" },     { 60, "1 min 0 s" },
    { 125.4, "2 min 5 s" },    { 3599.4, "59 min 59 s" },
    { 3599.5, "1 h 0 min" },   { 3659.4, "1 h 0 min" },
    { 3660, "1 h 1 min" },     { 86399, "23 h 59 min" },
    { 360000, "100 h 0 min" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (durations); i++) {
    g_autofree char *text = td_duration_text (durations[i].seconds);
    g_assert_cmpstr (text, ==, durations[i].text);
    g_autofree char *estimate = td_estimate_text (durations[i].seconds);
    g_assert_cmpstr (estimate, ==, i == 0 ? "not known yet" : durations[i].text);
  }
  g_autofree char *unknown = td_estimate_text (-1);
  g_assert_cmpstr (unknown, ==, "not known yet");
}

static void
test_moments (void)
{
  static const struct {
    double seconds;
    const char *text;
  } moments[] = {
    { 0, "less than 1 ms" }, { 0.00049, "less than 1 ms" },
    { 0.00051, "1 ms" },     { 0.0124, "12 ms" },
    { 2.5, "2500 ms" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (moments); i++) {
    g_autofree char *text = td_moment_text (moments[i].seconds);
    g_assert_cmpstr (text, ==, moments[i].text);
  }
}

static void
test_sizes (void)
{
  g_assert_cmpuint (td_bytes_from_gib (1.5), ==, 3ull << 29);
  g_assert_cmpfloat (td_gib_from_bytes (3ull << 29), ==, 1.5);
  g_assert_cmpuint (td_bytes_from_gib (0), ==, 0);
}

static void
test_progress (void)
{
  static const struct {
    TdJobProgress progress;
    const char *text;
  } moments[] = {
    { { .remaining_s = -1 }, "Preparing" },
    { { .n_slices = 8, .remaining_s = -1, .stage = "building kernels, once" },
      "Building kernels, once" },
    { { .n_slices = 8, .remaining_s = -1, .stage = "reading" }, "0 of 8 slices" },
    { { .n_slices = 8, .remaining_s = 3, .stage = "reading" }, "0 of 8 slices, 3.0 s left" },
    { { .n_slices = 8, .slices_done = 5, .remaining_s = 0, .stage = "reconstructing" },
      "5 of 8 slices, less than 0.1 s left" },
    { { .n_slices = 8, .slices_done = 5, .remaining_s = 3, .stage = "writing" },
      "Computed; 5 of 8 slices written" },
    { { .n_slices = 8, .n_passes = 20, .remaining_s = 3 }, "Iterating: first pass" },
    { { .n_slices = 8, .n_passes = 20, .pass = 1, .residual = 0.25, .remaining_s = -1 },
      "1 of 20 passes, residual 0.2500" },
    { { .n_slices = 8, .n_passes = 20, .pass = 7, .residual = 0.125, .remaining_s = 61 },
      "7 of 20 passes, residual 0.1250, 1 min 1 s left" },
    { { .n_slices = 8, .n_passes = 20, .pass = 20, .slices_done = 1, .remaining_s = -1 },
      "1 of 8 slices" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (moments); i++) {
    g_autofree char *text = td_progress_text (&moments[i].progress);
    g_assert_cmpstr (text, ==, moments[i].text);
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/figures/durations", test_durations);
  g_test_add_func ("/figures/moments", test_moments);
  g_test_add_func ("/figures/sizes", test_sizes);
  g_test_add_func ("/figures/progress", test_progress);
  return g_test_run ();
}
