/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <string.h>

#include "compute/cone/cone-rectify.h"
#include "compute/methods/methods.h"
#include "tests/common/cases.h"
#include "tests/common/cone-scan.h"
#include "tests/common/cone-slabs.h"
#include "tests/common/devices.h"
#include "tests/common/pipeline.h"
#include "tests/common/truth.h"

/* Detectors that are rolled and tilted. However a job is cut, it agrees with FDK on the level
   detector in plain double precision. That shares with the product the matrices, the weights'
   formulas and the ramp's response. */
typedef struct {
  const char *name;
  guint n_columns, n_rows, n_views;
  double tilt_deg[3], range_deg, offset_u, axis_mm, wobble, swing_rad;
} Case;

static const Case cases[] = {
  { "roll-half-degree", 45, 38, 40, { 0, 0, 0.5 }, 360, 0, 0, 0 },
  { "roll-3", 47, 33, 37, { 0, 0, 3 }, 360, 0.3, 0, 0 },
  { "roll-10", 40, 51, 36, { 0, 0, -10 }, 360, 0, 0.2, 0 },
  { "roll-45", 33, 30, 30, { 0, 0, 45 }, 360, 0, 0, 0 },
  { "roll-90", 37, 46, 32, { 0, 0, 90 }, 360, 0, 0, 0 },
  { "roll-minus-91", 46, 31, 32, { 0, 0, -91 }, 360, 0, 0, 0 },
  { "roll-177", 44, 35, 32, { 0, 0, 177 }, 360, 0, 0, 0 },
  { "tilt-5", 43, 36, 34, { 5, 0, 0 }, 360, 0, 0, 0 },
  { "slant-5", 43, 36, 35, { 0, 5, 0 }, 360, 0, 0, 0 },
  { "short", 45, 37, 41, { 4, -3, 6 }, 230, 0, 0, 0 },
  { "short-backwards", 45, 37, 41, { 0, 0, 3 }, -230, 1, 0, 0 },
  { "offset", 45, 37, 42, { 0, 0, 6 }, 360, 9, 0, 0 },
  { "offset-left-askew", 45, 37, 42, { -5, 5, -7 }, 360, -9, 0, 0 },
  { "gantry", 41, 39, 38, { 1, 1, 2 }, 360, 0, 0, 1 },
  { "gantry-short", 41, 39, 38, { 0, 0, -4 }, 230, 0, 0, 1 },
  { "gantry-swings", 41, 39, 38, { 0, 0, 0 }, 360, 0, 0, 1, 1.2 },
};

static TdEngine *engine;

/* A gantry's matrices: source and detector off the circle, differently in each view. */
static void
shake (const Case *c, TdTestConeScan *measured)
{
  TdGeometry *geometry = &measured->geometry;
  double *matrices = g_new (double, 12 * (gsize) c->n_views);

  for (guint view = 0; view < c->n_views; view++) {
    TdGeometry one = *geometry;
    double *m = matrices + 12 * (gsize) view;
    one.source_axis_mm += 5 * sin (view * 0.7);
    one.detector_offset_u_px += 0.8 * sin (view * 1.3);
    one.detector_offset_v_px += 0.6 * cos (view * 0.9);
    for (guint i = 0; i < 3; i++)
      one.detector_tilt_rad[i] += 0.02 * sin (view * (0.4 + 0.3 * i));
    one.detector_tilt_rad[2] += c->swing_rad * sin (view * 0.5);
    td_cone_matrix (&one, measured->angles_rad[view], c->n_columns, c->n_rows, m);
  }
  geometry->view_matrices = matrices;
  geometry->n_view_matrices = c->n_views;
}

/* Waves and noise, which end before the detector does and fill it to its first and last row. */
static void
measure (const Case *c, TdTestConeScan *measured)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (20264);
  float *out = measured->views;

  for (guint view = 0; view < c->n_views; view++)
    for (guint row = 0; row < c->n_rows; row++)
      for (guint column = 0; column < c->n_columns; column++)
        *out++ = (float) (g_rand_double_range (rand, 0.5, 1.5)
                          + sin (0.3 * column + 0.2 * view) * cos (0.23 * row));
}

static void
make_scan (const Case *c, TdTestConeScan *measured)
{
  TdGeometry geometry = { .beam = TD_BEAM_CONE,
                          .pixel_width_mm = 0.4,
                          .pixel_height_mm = 0.5,
                          .source_axis_mm = 300,
                          .source_detector_mm = 420,
                          .axis_offset_mm = c->axis_mm,
                          .detector_offset_u_px = c->offset_u };
  const guint size[3] = { c->n_columns, c->n_rows, c->n_views };

  for (guint i = 0; i < 3; i++)
    geometry.detector_tilt_rad[i] = c->tilt_deg[i] * G_PI / 180;
  td_test_cone_scan_begin (measured, &geometry, size, c->range_deg);
  if (c->wobble > 0)
    shake (c, measured);
  measure (c, measured);
  td_test_cone_scan_end (measured);
}

/* ── The plain way ── */

static double *
plain_fdk (const TdTestConeScan *measured, const TdFilter *spec, TdConeTask *task)
{
  const TdConePlain scan = td_test_cone_scan_plain (measured);
  double *out = td_cone_plain_fdk (&scan, spec, TRUE, task);

  g_assert_true (td_cone_upright (task));
  return out;
}

/* What the plan says, a line each. (transfer full) */
static char *
planned (TdScan *scan, const TdRecipe *recipe)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TdPlan) plan = td_plan_new (engine, scan, recipe, NULL, NULL, &error);

  g_assert_no_error (error);
  return td_messages_join (td_plan_facts (plan)->notes, "\n", NULL);
}

static gboolean
is_straight (const Case *c)
{
  return c->wobble == 0 && c->tilt_deg[0] == 0 && c->tilt_deg[1] == 0
         && fmod (c->tilt_deg[2], 90) == 0;
}

static void
test_plain (gconstpointer data)
{
  const Case *c = data;
  g_autoptr (GPtrArray) devices = td_test_devices ();
  g_autoptr (GError) error = NULL;
  TdTestConeScan measured, standing;
  TdConeTask task;
  TdRecipe recipe;

  make_scan (c, &measured);
  td_recipe_init (&recipe);
  make_scan (c, &standing);
  if (td_cone_portrait (&standing.geometry, c->n_columns, c->n_rows))
    td_test_cone_scan_stand_up (&standing);
  g_autofree double *truth = plain_fdk (&standing, &recipe.filter, &task);
  for (guint i = 0; i < MIN (devices->len, 2); i++) {
    const char *id = devices->pdata[i];
    TdTestVolume volume;

    /* Kernels for upright detectors, which this one is not any more; no texture's 8-bit weights. */
    g_strlcpy (recipe.devices, id, sizeof recipe.devices);
    g_strlcpy (recipe.family, g_str_equal (id, "host") ? "host" : "arithmetic",
               sizeof recipe.family);
    td_test_reconstruct (engine, measured.scan, &recipe, &volume, &error);
    g_assert_no_error (error);
    g_autofree char *notes = planned (measured.scan, &recipe);
    g_assert_cmpint (strstr (notes, "resampled to those of a level detector") != NULL, ==,
                     !is_straight (c));
    g_assert_cmpint (strstr (notes, "lies on its side") != NULL, ==,
                     standing.n_columns != c->n_columns);
    g_assert_cmpuint (volume.n_slices, ==, task.nz);
    const gsize n = (gsize) task.nz * task.ny * task.nx;
    const double rms = td_truth_relative_rms (volume.slices, truth, n);
    g_test_message ("%s: relative RMS %.2e", id, rms);
    g_assert_cmpfloat (rms, <=, 1e-5);
    td_test_volume_clear (&volume);
  }
  td_cone_task_clear (&task);
  td_test_cone_scan_clear (&standing);
  td_test_cone_scan_clear (&measured);
}

/* ── However it is cut ── */

static void
set (TdRecipe *recipe, const char *devices, TdFilterPlace place, TdShareKind share)
{
  td_recipe_init (recipe);
  g_strlcpy (recipe->devices, devices, sizeof recipe->devices);
  recipe->filter_on = place;
  recipe->share = share;
}

static void
run (const TdTestConeScan *measured, const TdRecipe *recipe, TdTestVolume *volume)
{
  g_autoptr (GError) error = NULL;

  td_test_reconstruct (engine, measured->scan, recipe, volume, &error);
  g_assert_no_error (error);
}

/* As little memory as will do. */
static void
tighten (const TdTestConeScan *measured, TdRecipe *recipe)
{
  for (recipe->memory_limit_bytes = 384 << 10;; recipe->memory_limit_bytes += 64 << 10) {
    g_autoptr (TdPlan) plan = td_plan_new (engine, measured->scan, recipe, NULL, NULL, NULL);
    if (plan) {
      g_assert_cmpuint (td_plan_facts (plan)->n_slabs, >, 1);
      return;
    }
    g_assert_cmpuint (recipe->memory_limit_bytes, <, 64 << 20);
  }
}

/* Slabs, batches, chunks and windows; each device's own result to the last bit, and devices and
   ways of sharing to rounding. */
static void
test_cuts (gconstpointer data)
{
  const Case *c = data;
  g_autoptr (GPtrArray) devices = td_test_devices ();
  TdTestConeScan measured;
  TdTestVolume whole, plain, cut;
  TdRecipe recipe;

  make_scan (c, &measured);
  set (&recipe, "host", TD_FILTER_ON_AUTO, TD_SHARE_AUTO);
  run (&measured, &recipe, &whole);
  const gsize n = (gsize) whole.n_slices * whole.ny * whole.nx;
  g_autofree double *truth = g_new (double, n);
  for (gsize i = 0; i < n; i++)
    truth[i] = whole.slices[i];
  for (guint i = 0; i < MIN (devices->len, 2); i++) {
    g_autoptr (TdDevice) device = td_test_open (devices->pdata[i]);
    const double bound
        = td_test_cone_exact ("auto", TD_PRECISION_SINGLE, td_device_info (device)) ? 1e-5 : 1e-2;

    for (guint place = TD_FILTER_ON_CPU; place <= TD_FILTER_ON_DEVICE; place++) {
      set (&recipe, devices->pdata[i], place, TD_SHARE_AUTO);
      run (&measured, &recipe, &plain);
      tighten (&measured, &recipe);
      run (&measured, &recipe, &cut);
      g_assert_cmpfloat (td_truth_relative_rms (plain.slices, truth, n), <=, bound);
      g_assert_cmpmem (cut.slices, n * sizeof (float), plain.slices, n * sizeof (float));
      td_test_volume_clear (&plain);
      td_test_volume_clear (&cut);
    }
  }
  td_test_volume_clear (&whole);
  td_test_cone_scan_clear (&measured);
}

/* Small enough for a simulator of devices: resampled, filtered and back-projected there. */
static void
test_small (void)
{
  const Case c = { "", 13, 10, 9, { 2, 0, 12 }, 360, 0, 0, 1 };
  g_autoptr (TdDevice) device = td_device_open ("opencl:0", NULL);
  TdTestVolume truth, volume;
  TdRecipe recipe;
  TdTestConeScan measured;

  if (!device) {
    g_test_skip ("no OpenCL device");
    return;
  }
  make_scan (&c, &measured);
  set (&recipe, "host", TD_FILTER_ON_AUTO, TD_SHARE_AUTO);
  run (&measured, &recipe, &truth);
  const gsize n = (gsize) truth.n_slices * truth.ny * truth.nx;
  g_autofree double *exact = g_new (double, n);
  for (gsize i = 0; i < n; i++)
    exact[i] = truth.slices[i];
  set (&recipe, "opencl:0", TD_FILTER_ON_DEVICE, TD_SHARE_AUTO);
  g_strlcpy (recipe.family, "arithmetic", sizeof recipe.family);
  run (&measured, &recipe, &volume);
  g_assert_cmpfloat (td_truth_relative_rms (volume.slices, exact, n), <=, 1e-5);
  td_test_volume_clear (&truth);
  td_test_volume_clear (&volume);
  td_test_cone_scan_clear (&measured);
}

static void
test_shared (void)
{
  TdTestConeScan measured;
  TdTestVolume one, two;
  TdRecipe recipe;

  if (!td_test_two_alike ())
    return;
  make_scan (&cases[1], &measured);
  set (&recipe, "opencl:0", TD_FILTER_ON_DEVICE, TD_SHARE_AUTO);
  run (&measured, &recipe, &one);
  const gsize n = (gsize) one.n_slices * one.ny * one.nx;
  g_autofree double *truth = g_new (double, n);
  for (gsize i = 0; i < n; i++)
    truth[i] = one.slices[i];
  for (guint share = TD_SHARE_VOLUME; share <= TD_SHARE_PROJECTION; share++)
    for (guint place = TD_FILTER_ON_CPU; place <= TD_FILTER_ON_DEVICE; place++) {
      set (&recipe, "opencl:0,opencl:1", place, share);
      run (&measured, &recipe, &two);
      g_assert_cmpfloat (td_truth_relative_rms (two.slices, truth, n), <=, 1e-6);
      td_test_volume_clear (&two);
    }
  td_test_volume_clear (&one);
  td_test_cone_scan_clear (&measured);
}

/* ── Geometry ── */

/* Upright detectors stay as they were. The level detector of a rolled one has level rows and holds
   all of the rolled one. Its rows say which of the rolled detector's rows they need. */
/* The detector's rows that @task's rows [row, row + 3) are resampled from, by all their pixels. */
static TdRowRange
rows_by_pixels (const TdConeTask *own, const TdConeTask *task, guint row)
{
  const double last = own->n_rows - 1.0;
  double low = INFINITY, high = -INFINITY;

  for (guint view = 0; view < task->n_views; view++)
    for (guint k = row; k < row + 3; k++)
      for (guint column = 0; column < task->n_measured; column++) {
        double u, v;
        td_cone_plain_trace (task->matrices + 12 * (gsize) view, own->matrices + 12 * (gsize) view,
                             column, k, &u, &v);
        low = MIN (low, v);
        high = MAX (high, v);
      }
  const double first = floor (CLAMP (low, 0, last) - 0.02) - 2; /* Lanczos; rounding */
  const double end = floor (CLAMP (high, 0, last) + 0.02) + 4;
  const guint from = (guint) CLAMP (first, 0, last), to = (guint) CLAMP (end, 1, last + 1);
  return (TdRowRange) { from, to - from };
}

static void
test_geometry (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    const Case *c = &cases[i];
    g_autoptr (GError) error = NULL;
    TdTestConeScan measured;
    TdConeTask own, task;

    make_scan (c, &measured);
    td_cone_task_init (&own, &measured.geometry, measured.angles_rad, c->n_views, c->n_columns,
                       c->n_rows, &error);
    g_assert_no_error (error);
    const double lean = td_cone_row_slope (&own);
    g_assert_cmpfloat (lean, >=, 0);
    if (c->wobble == 0 && c->tilt_deg[0] == 0 && c->tilt_deg[1] == 0)
      g_assert_cmpfloat_with_epsilon (lean, fabs (asin (sin (c->tilt_deg[2] * G_PI / 180))), 1e-3);
    g_assert_true (td_cone_rectify_helps (&own, &measured.geometry, lean));
    td_cone_task_copy (&task, &own);
    g_assert_true (td_cone_task_rectify (&task));
    g_assert_cmpuint (task.tilted.n, ==, c->wobble > 0 ? c->n_views : 1);
    g_assert_cmpfloat (td_cone_row_slope (&task), <, 1e-9);
    for (guint view = 0; view < c->n_views; view += 5)
      for (guint row = 0; row < task.n_rows; row += 3) {
        const TdRowRange rows = td_cone_rectify_rows (&task, (TdRowRange) { row, 3 });
        const guint first = rows.first, end = first + rows.count;
        g_assert_cmpuint (first, <, end);
        g_assert_cmpuint (end, <=, c->n_rows);
        if (view == 0 && row + 3 <= task.n_rows && lean < 0.7) {
          const TdRowRange wanted = rows_by_pixels (&own, &task, row);
          g_assert_cmpuint (first, ==, wanted.first);
          g_assert_cmpuint (rows.count, ==, wanted.count);
        } else if (lean > 0.8) { /* its columns bound what is read: of any row */
          g_assert_true (first == 0 && end == c->n_rows);
        }
        for (guint column = 0; column < task.n_measured; column++) {
          double u, v;
          td_cone_plain_trace (task.matrices + 12 * (gsize) view, own.matrices + 12 * (gsize) view,
                               column, row, &u, &v);
          const gboolean seen
              = v >= 0 && v <= c->n_rows - 1.0 && u >= -0.5 && u <= c->n_columns - 0.5;
          g_assert_true (
              !seen || (MAX (floor (v) - 2, 0) >= first && MIN (floor (v) + 4, c->n_rows) <= end));
        }
      }
    td_cone_task_clear (&task);
    td_cone_task_clear (&own);
    td_test_cone_scan_clear (&measured);
  }
}

/* What stands straight is left alone, and so is what leans too little. */
static void
test_left_alone (void)
{
  static const double rolls[] = { 0, 0, 0.05, 0.2 };

  for (guint i = 0; i < G_N_ELEMENTS (rolls); i++) {
    const Case c = { "", 45, 38, 30, { 0, 0, rolls[i] }, 360, 0.4, 0, i >= 1 };
    g_autoptr (GError) error = NULL;
    TdTestConeScan measured;
    TdConeTask task;

    make_scan (&c, &measured);
    if (i == 1) /* matrices, but those of a circle */
      for (guint view = 0; view < c.n_views; view++) {
        TdGeometry circle = measured.geometry;
        circle.view_matrices = NULL;
        td_cone_matrix (&circle, measured.angles_rad[view], c.n_columns, c.n_rows,
                        measured.geometry.view_matrices + 12 * (gsize) view);
      }
    td_cone_task_init (&task, &measured.geometry, measured.angles_rad, c.n_views, c.n_columns,
                       c.n_rows, &error);
    g_assert_no_error (error);
    const gboolean helps
        = td_cone_rectify_helps (&task, &measured.geometry, td_cone_row_slope (&task));
    g_assert_cmpint (helps, ==, i >= 2); /* a shaken gantry leans more than it is rolled */
    td_cone_task_clear (&task);
    td_test_cone_scan_clear (&measured);
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  engine = td_engine_new (td_methods);
  g_test_add_func ("/cone-rectify/geometry", test_geometry);
  g_test_add_func ("/cone-rectify/left-alone", test_left_alone);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i += td_test_stride (2)) {
    g_autofree char *path = g_strconcat ("/cone-rectify/plain/", cases[i].name, NULL);
    g_test_add_data_func (path, &cases[i], test_plain);
  }
  for (guint i = 0; i < G_N_ELEMENTS (cases); i += 4) {
    g_autofree char *path = g_strconcat ("/cone-rectify/cuts/", cases[i].name, NULL);
    g_test_add_data_func (path, &cases[i], test_cuts);
  }
  g_test_add_func ("/cone-rectify/small", test_small);
  g_test_add_func ("/cone-rectify/shared", test_shared);
  const int status = g_test_run ();
  td_engine_unref (engine);
  return status;
}
