/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Iterative methods as whole jobs find the object from few views and short arcs, where filtering
   fails. Parts agree with the whole. Wrong recipes are refused, and jobs stop when they should. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "compute/methods/methods.h"
#include "tests/common/iterative.h"
#include "tests/common/pins.h"

static TdEngine *engine;

static double
error_by (const TdPhantomScan *spec, TdScan *scan, const char *method)
{
  TdTestVolume volume;
  TdRecipe recipe;

  td_test_recipe (&recipe, method, "host");
  td_test_reconstruct_well (engine, scan, &recipe, &volume);
  const double error = td_test_phantom_error (spec, &volume);
  td_test_pin ("%s: %.4f by %s; %s", method, error, volume.family, volume.notes);
  g_assert_cmpint (g_str_has_prefix (volume.family, "Joseph's rays, "), ==,
                   !g_str_equal (method, "fdk") && !g_str_equal (method, "fbp"));
  td_test_volume_clear (&volume);
  return error;
}

static void
ignore_slices (guint first, guint count, const float *slices, gpointer user)
{
}

typedef struct {
  guint slice, n_passes;
  gsize n; /* pixels */
  float *pixels;
} Looked;

static void
keep_look (guint slice, guint pass, const float *pixels, gpointer user)
{
  Looked *looked = user;

  looked->slice = slice;
  looked->n_passes = pass;
  memcpy (looked->pixels, pixels, looked->n * sizeof *pixels);
}

/* Who looks on after the last pass sees the very slice that the volume has there. */
static void
test_looked_at (void)
{
  static const struct {
    guint n_rows;
    gboolean cone;
    gint region[4];
  } cases[] = { { 5, FALSE, { 0 } }, { 12, TRUE, { 0 } }, { 13, TRUE, { 3, 5, 12, 9 } } };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    TdPhantomScan spec;
    g_autoptr (TdScan) scan
        = td_test_phantom_scan (&spec, 20, cases[i].n_rows, 12, 360, cases[i].cone);
    g_autoptr (GError) error = NULL;
    TdTestVolume volume;
    TdRecipe recipe;

    td_test_recipe (&recipe, "sirt", "host");
    recipe.iterations = 2;
    memcpy (recipe.region, cases[i].region, sizeof recipe.region);
    td_test_reconstruct_well (engine, scan, &recipe, &volume);
    g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe, NULL, NULL, &error);
    g_assert_no_error (error);
    g_autoptr (TdJob) job = td_job_new (plan);
    Looked looked = { .n = (gsize) volume.nx * volume.ny };
    looked.pixels = g_new (float, looked.n);
    td_job_set_sink (job, ignore_slices, NULL);
    td_job_set_estimate_sink (job, keep_look, &looked);
    g_assert_true (td_job_run (job, NULL, &error));
    g_assert_cmpuint (looked.n_passes, ==, 2);
    g_assert_cmpuint (looked.slice, ==, volume.n_slices / 2);
    for (gsize p = 0; p < looked.n; p++)
      g_assert_cmpfloat_with_epsilon (looked.pixels[p], volume.slices[looked.slice * looked.n + p],
                                      1e-5);
    g_free (looked.pixels);
    td_test_volume_clear (&volume);
  }
}

/* ── Few views, short arcs ── */

static void
check_few (guint n, guint n_rows, guint n_views, gboolean cone)
{
  TdPhantomScan spec;
  g_autoptr (TdScan) scan
      = td_test_phantom_scan (&spec, n, n_rows, n_views, cone ? 360 : 180, cone);
  const double filtered = error_by (&spec, scan, cone ? "fdk" : "fbp");
  const double sirt = error_by (&spec, scan, "sirt"), tv = error_by (&spec, scan, "fista-tv");
  const double cgls = error_by (&spec, scan, "cgls");

  g_assert_cmpfloat (sirt, <, 0.7 * filtered);
  g_assert_cmpfloat (cgls, <, filtered);
  g_assert_cmpfloat (tv, <, 0.5 * filtered);
  g_assert_cmpfloat (tv, <, sirt);
}

static void
test_few_cone (void)
{
  check_few (48, 40, 24, TRUE);
}

static void
test_few_fan (void)
{
  check_few (96, 1, 30, TRUE);
}

static void
test_few_parallel (void)
{
  check_few (64, 6, 20, FALSE);
}

/* Less than FDK can weigh. */
static void
test_short_arc (void)
{
  TdPhantomScan spec;
  g_autoptr (TdScan) scan = td_test_phantom_scan (&spec, 40, 32, 48, 140, TRUE);
  g_autoptr (GError) error = NULL;
  TdRecipe recipe;

  td_test_recipe (&recipe, "fdk", "host");
  g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe, NULL, NULL, &error);
  g_assert_null (plan);
  g_assert_error (error, TD_ERROR, TD_ERROR_BAD_FILE);
  g_assert_cmpfloat (error_by (&spec, scan, "fista-tv"), <, 0.3);
}

/* ── Parts ── */

/* What is cut out is what the whole has there. */
static void
check_part (TdScan *scan, guint first, guint n)
{
  TdTestVolume whole, part;
  TdRecipe recipe;
  const gint region[4] = { 5, 9, 20, 17 };

  td_test_recipe (&recipe, "sirt", "host");
  recipe.iterations = 3;
  td_test_reconstruct_well (engine, scan, &recipe, &whole);
  recipe.row_first = first;
  recipe.row_end = first + n;
  memcpy (recipe.region, region, sizeof region);
  td_test_reconstruct_well (engine, scan, &recipe, &part);
  g_assert_cmpuint (part.nx, ==, region[2]);
  g_assert_cmpuint (part.ny, ==, region[3]);
  g_assert_cmpuint (part.n_slices, ==, n);
  for (guint z = 0; z < n; z++)
    for (guint y = 0; y < part.ny; y++)
      for (guint x = 0; x < part.nx; x++) {
        const float a = part.slices[((gsize) z * part.ny + y) * part.nx + x];
        const float b = whole.slices[((gsize) (first + z) * whole.ny + region[1] + y) * whole.nx
                                     + region[0] + x];
        g_assert_cmpfloat (fabsf (a - b), <=, 1e-6f + 1e-5f * fabsf (b));
      }
  td_test_volume_clear (&whole);
  td_test_volume_clear (&part);
}

static void
test_parts (void)
{
  TdPhantomScan spec;
  g_autoptr (TdScan) cone = td_test_phantom_scan (&spec, 32, 24, 20, 360, TRUE);
  g_autoptr (TdScan) parallel = td_test_phantom_scan (&spec, 32, 9, 20, 180, FALSE);

  check_part (cone, 7, 5);
  check_part (parallel, 3, 2);
}

/* A parallel beam's slices do not know each other: slabs, for want of memory, change nothing. */
static void
test_slabs (void)
{
  TdPhantomScan spec;
  g_autoptr (TdScan) scan = td_test_phantom_scan (&spec, 48, 32, 8, 180, FALSE);
  g_autoptr (GError) error = NULL;
  TdTestVolume whole, slabs;
  TdRecipe recipe;

  td_test_recipe (&recipe, "sirt", "host");
  recipe.iterations = 2;
  recipe.tilt_deg = 0.5;
  td_recipe_set (&recipe, "start", "zero", NULL);
  td_test_reconstruct_well (engine, scan, &recipe, &whole);
  recipe.memory_limit_bytes = (64 << 20) + (1 << 20); /* the process itself takes 64 MiB */
  g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (td_plan_facts (plan)->n_slabs, >, 1);
  td_test_reconstruct_well (engine, scan, &recipe, &slabs);
  const double off = td_test_difference (&slabs, &whole);
  td_test_pin ("%u slabs: %.1e", td_plan_facts (plan)->n_slabs, off);
  g_assert_cmpfloat (off, <, 1e-4);
  td_test_volume_clear (&whole);
  td_test_volume_clear (&slabs);
}

/* ── Devices ── */

static void
test_devices (void)
{
  TdPhantomScan spec;
  g_autoptr (TdScan) scan = td_test_phantom_scan (&spec, 28, 20, 12, 360, TRUE);
  g_autoptr (GPtrArray) devices = td_test_devices ();
  static const char *const methods[] = { "sirt", "fista-tv", "cgls" };

  for (guint m = 0; m < G_N_ELEMENTS (methods); m++) {
    TdTestVolume first = { 0 };
    for (guint i = 0; i < devices->len; i++) {
      TdTestVolume volume;
      TdRecipe recipe;

      td_test_recipe (&recipe, methods[m], devices->pdata[i]);
      recipe.iterations = 4;
      g_strlcpy (recipe.start, "zero",
                 sizeof recipe.start); /* else it is the filtering kernels that differ */
      td_test_reconstruct_well (engine, scan, &recipe, &volume);
      if (i == 0) {
        first = volume;
        continue;
      }
      const double off = td_test_difference (&volume, &first);
      td_test_pin ("%s on %s: %.1e from the host's", methods[m], (char *) devices->pdata[i], off);
      g_assert_cmpfloat (off, <, 1e-3);
      td_test_volume_clear (&volume);
    }
    td_test_volume_clear (&first);
  }
}

/* ── Ends ── */

static void
check_refused (TdScan *scan, const char *method, const char *option, const char *value, int code,
               const char *says)
{
  g_autoptr (GError) error = NULL;
  TdRecipe recipe;

  td_test_recipe (&recipe, method, "host");
  g_assert_true (td_recipe_set (&recipe, option, value, NULL));
  g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe, NULL, NULL, &error);
  g_assert_null (plan);
  g_assert_error (error, TD_ERROR, code);
  td_test_pin ("%s", error->message);
  g_assert_nonnull (strstr (error->message, says));
}

static void
test_refused (void)
{
  TdPhantomScan spec;
  g_autoptr (TdScan) cone = td_test_phantom_scan (&spec, 48, 40, 20, 360, TRUE);
  g_autoptr (TdScan) parallel = td_test_phantom_scan (&spec, 48, 4, 20, 180, FALSE);

  check_refused (cone, "sirt", "memory-limit", "400K", TD_ERROR_TOO_LARGE, "--bin");
  check_refused (cone, "fista-tv", "subsets", "21", TD_ERROR_INVALID, "--subsets");
  check_refused (cone, "cgls", "kernel", "standard", TD_ERROR_INVALID, "--kernel");
  check_refused (parallel, "sirt", "precision", "half", TD_ERROR_INVALID, "--precision");
  check_refused (parallel, "sirt", "interpolation", "nearest", TD_ERROR_INVALID, "--interpolation");
  check_refused (cone, "sirt", "region", "40,40,20,20", TD_ERROR_INVALID, "--region");
}

static void
test_stop_at (void)
{
  TdPhantomScan spec;
  g_autoptr (TdScan) scan = td_test_phantom_scan (&spec, 32, 24, 20, 360, TRUE);
  static const char *const methods[] = { "sirt", "fista-tv", "cgls" };

  for (guint i = 0; i < G_N_ELEMENTS (methods); i++) {
    TdTestVolume volume;
    TdRecipe recipe;

    td_test_recipe (&recipe, methods[i], "host");
    recipe.iterations = 50;
    recipe.stop_at = 0.2;
    td_test_reconstruct_well (engine, scan, &recipe, &volume);
    guint passes = 0;
    double residual = 1;
    td_test_pin ("%s: %s", methods[i], volume.notes);
    const char *note = strstr (volume.notes, " left a relative residual");
    g_assert_nonnull (note);
    while (note > volume.notes && !g_ascii_isdigit (note[-1]))
      note--;
    while (note > volume.notes && g_ascii_isdigit (note[-1]))
      note--;
    g_assert_cmpint (sscanf (note, "%u %*s left a relative residual of %lf", &passes, &residual),
                     ==, 2);
    g_assert_cmpuint (passes, <, 50);
    g_assert_cmpfloat (residual, <=, 0.2);
    td_test_volume_clear (&volume);
  }
}

static gpointer
cancel_soon (gpointer job)
{
  g_usleep (200 * 1000);
  td_job_cancel (job);
  return NULL;
}

static void
test_cancel (void)
{
  TdPhantomScan spec;
  g_autoptr (TdScan) scan = td_test_phantom_scan (&spec, 64, 64, 60, 360, TRUE);
  g_autoptr (GError) error = NULL;
  TdRecipe recipe;

  td_test_recipe (&recipe, "fista-tv", "host");
  recipe.iterations = 10000;
  g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe, NULL, NULL, &error);
  g_assert_no_error (error);
  g_autoptr (TdJob) job = td_job_new (plan);
  GThread *thread = g_thread_new ("cancel", cancel_soon, job);
  g_assert_false (td_job_run (job, NULL, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  g_thread_join (thread);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  engine = td_engine_new (td_methods);
  g_test_add_func ("/iterative/looked-at", test_looked_at);
  g_test_add_func ("/iterative/few/cone", test_few_cone);
  g_test_add_func ("/iterative/few/fan", test_few_fan);
  g_test_add_func ("/iterative/few/parallel", test_few_parallel);
  g_test_add_func ("/iterative/short-arc", test_short_arc);
  g_test_add_func ("/iterative/parts", test_parts);
  g_test_add_func ("/iterative/slabs", test_slabs);
  g_test_add_func ("/iterative/devices", test_devices);
  g_test_add_func ("/iterative/refused", test_refused);
  g_test_add_func ("/iterative/stop-at", test_stop_at);
  g_test_add_func ("/iterative/cancel", test_cancel);
  const int status = g_test_run ();
  td_engine_unref (engine);
  return status;
}
