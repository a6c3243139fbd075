/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>

#include "tests/common/truth.h"

/* The reference itself, held to the analytic phantoms: everything else is held to the reference. */
typedef struct {
  TdFilterKind filter;
  TdInterpolation interpolation;
  double range_deg;
} Case;

static double *
reconstruct (const char *name, const Case *c, TdBackprojectTask *task, guint n_columns,
             guint n_views)
{
  const TdPhantom *phantom = td_phantom_find (name, NULL);
  TdFilter filter = { c->filter, 1, 0, FALSE };

  td_truth_task_init (task, n_columns, n_views, c->range_deg);
  task->interpolation = c->interpolation;
  g_autofree float *sinogram = td_truth_sinogram (phantom, task, 1, 0);
  return td_truth_fbp (&filter, task, sinogram);
}

/* A disc of value 1 reconstructs to 1.000 +- 0.002 inside, whatever the filter. */
static void
test_disc (gconstpointer data)
{
  TdBackprojectTask task;
  double mean, largest;
  g_autofree double *slice = reconstruct ("disc", data, &task, 160, 254);

  td_truth_inside (&task, slice, &(TdTruthDisc) { 0, 0, 0.8 * 80 * 0.8, 1 }, &mean, &largest);
  g_test_message ("mean error %.6f, largest %.6f", mean, largest);
  g_assert_cmpfloat (fabs (mean), <, 5e-4);
  g_assert_cmpfloat (largest, <, 2e-3);
  td_truth_task_clear (&task);
}

/* The phantom's regions keep their values, and the whole slice lies near the object. */
static void
test_shepp_logan (gconstpointer data)
{
  const struct {
    double x, y, radius, value, tolerance;
  } regions[] = {
    { 0, 0.37, 0.1, 0.3, 1e-3 },
    { 0.22, 0, 0.06, 0, 1e-3 },
    { -0.22, 0, 0.1, 0, 1e-3 },
    { 0.35, -0.5, 0.06, 0.2, 1e-3 },
    { 0.85, 0.2, 0.05, 0, 1e-2 /* streaks outside */ },
  };
  const guint n = 192;
  TdBackprojectTask task;
  g_autofree double *slice = reconstruct ("shepp-logan", data, &task, n, 301);
  const TdPhantom *phantom = td_phantom_find ("shepp-logan", NULL);
  g_autofree float *truth = g_new (float, n *n);
  double mean, largest;

  for (guint i = 0; i < G_N_ELEMENTS (regions); i++) {
    const TdTruthDisc disc = { regions[i].x * n / 2, regions[i].y * n / 2,
                               regions[i].radius * n / 2, regions[i].value };
    td_truth_inside (&task, slice, &disc, &mean, &largest);
    g_test_message ("region %u: mean error %.5f", i, mean);
    g_assert_cmpfloat (fabs (mean), <, regions[i].tolerance);
  }
  td_phantom_slice_at (phantom, n, n, n / 2.0, 0, 4, truth);
  double rms = td_truth_relative_rms (truth, slice, (gsize) n * n);
  g_test_message ("relative RMS from the object %.4f", rms);
  g_assert_cmpfloat (rms, <, 0.3);
  td_truth_task_clear (&task);
}

/* The edge rule of backproject.h, by hand: one view at 0 degrees, u = x + centre. */
static void
test_edges (void)
{
  const float row[3] = { 2, 4, 8 };
  const double angle = 0, weight = 0.5, axis = 0.25;
  const double linear[] = { 0, 1, 2, 3, 4, 6, 8, 4, 0 };
  const double nearest[] = { 0, 2, 2, 4, 4, 8, 8, 0, 0 }; /* floor (u + 1/2) */
  TdBackprojectTask task = {
    .n_columns = 3,
    .n_views = 1,
    .nx = 9,
    .ny = 1,
    .x0 = -2,
    .y0 = 5,
    .step = 0.5,
    .centre_px = 1,
    .angles_rad = &angle,
    .scale = 2,
    .interpolation = TD_INTERPOLATION_LINEAR,
  };
  double out[9];

  td_backproject_reference (&task, row, out);
  for (guint i = 0; i < 9; i++)
    g_assert_cmpfloat_with_epsilon (out[i], 2 * linear[i], 1e-12);
  task.interpolation = TD_INTERPOLATION_NEAREST;
  td_backproject_reference (&task, row, out);
  for (guint i = 0; i < 9; i++)
    g_assert_cmpfloat (out[i], ==, 2 * nearest[i]);

  task.interpolation = TD_INTERPOLATION_LINEAR;
  task.weights = &weight;
  task.axis_px = &axis;
  td_backproject_reference (&task, row, out);
  g_assert_cmpfloat_with_epsilon (out[2], 2.5, 1e-12); /* u = 0.25 */
}

static void
add (const char *what, const Case *c, GTestDataFunc function)
{
  g_autofree char *path = g_strdup_printf (
      "/reference/%s/%s/%s/%g", what, td_filter_names[c->filter],
      c->interpolation == TD_INTERPOLATION_LINEAR ? "linear" : "nearest", c->range_deg);
  g_test_add_data_func_full (path, g_memdup2 (c, sizeof *c), function, g_free);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/reference/edges", test_edges);
  for (TdFilterKind filter = TD_FILTER_RAM_LAK; filter <= TD_FILTER_BUTTERWORTH; filter++) {
    for (guint i = 0; i < 2; i++) {
      Case half = { filter, i ? TD_INTERPOLATION_LINEAR : TD_INTERPOLATION_NEAREST, 180 };
      Case full = { filter, half.interpolation, 360 };
      add ("disc", &half, test_disc);
      add ("disc", &full, test_disc);
      add ("shepp-logan", &half, test_shepp_logan);
    }
  }
  return g_test_run ();
}
