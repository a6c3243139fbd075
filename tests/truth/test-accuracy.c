/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What "auto" takes is within the recipe's accuracy of the truth in double precision, for the
   formula that it takes. A method that the recipe names is done as named. */
#include <math.h>
#include <string.h>

#include "compute/methods/methods.h"
#include "compute/parallel/fourier-shape.h"
#include "dataset/phantom-scan.h"
#include "tests/common/devices.h"
#include "tests/common/pipeline.h"
#include "tests/common/truth.h"

/* Enough views for the Fourier method to be worth it. */
enum { N = 256, VIEWS = 400, ROWS = 2, STEP = 51 };

static TdEngine *engine;

typedef struct {
  const char *device; /* borrowed from the list of devices */
  gboolean random;
} Case;

static TdScan *
make_scan (gboolean random, TdBackprojectTask *task, float *sinograms)
{
  const gsize n = (gsize) VIEWS * N;

  td_truth_task_init (task, N, VIEWS, 180);
  task->centre_px = 125.7;
  if (random) {
    td_test_random (sinograms, ROWS * n, 5);
  } else {
    const TdPhantom *phantom = td_phantom_find ("shepp-logan", NULL);
    for (guint row = 0; row < ROWS; row++) {
      g_autofree float *one = td_truth_sinogram (phantom, task, ROWS, row);
      memcpy (sinograms + row * n, one, n * sizeof *one);
    }
  }
  return td_test_scan (sinograms, ROWS, VIEWS, N, task->angles_rad);
}

/* Every STEP-th line of the slice against the formula in double. */
static double
error_of (const TdBackprojectTask *task, gboolean fourier, const float *filtered,
          const float *slice)
{
  double difference = 0, norm = 0, line[N];

  for (guint y = 0; y < N; y += STEP) {
    TdBackprojectTask one = *task;
    one.y0 -= y;
    one.ny = 1;
    one.interpolation = TD_INTERPOLATION_LINEAR;
    if (fourier)
      td_fourier_reference (&one, filtered, line);
    else
      td_backproject_reference (&one, filtered, line);
    for (guint x = 0; x < N; x++) {
      const double off = slice[(gsize) y * N + x] - line[x];
      difference += off * off;
      norm += line[x] * line[x];
    }
  }
  return sqrt (difference / norm);
}

static void
test_within (gconstpointer data)
{
  static const double limits[] = { 1e-5, 2e-4, 5e-3 };
  const Case *c = data;
  TdBackprojectTask task;
  g_autofree float *sinograms = g_new (float, (gsize) ROWS *VIEWS *N);
  g_autoptr (TdScan) scan = make_scan (c->random, &task, sinograms);
  TdRecipe recipe;

  td_recipe_init (&recipe);
  g_assert_cmpint (recipe.accuracy, ==, TD_ACCURACY_STANDARD);
  g_autofree float *filtered = td_truth_filter (&recipe.filter, sinograms, VIEWS, N);
  recipe.centre_px = task.centre_px;
  g_assert_true (td_recipe_set (&recipe, "device", c->device, NULL));
  for (TdAccuracy accuracy = TD_ACCURACY_SINGLE; accuracy <= TD_ACCURACY_DRAFT; accuracy++) {
    g_autoptr (GError) error = NULL;
    TdTestVolume volume;
    recipe.accuracy = accuracy;
    g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe, NULL, NULL, &error);
    g_assert_no_error (error);
    const TdPlanFacts *facts = td_plan_facts (plan);
    const gboolean fourier = strcmp (facts->method, "fourier") == 0;
    g_assert_cmpint (fourier, ==, accuracy != TD_ACCURACY_SINGLE);
    g_assert_cmpuint (facts->n_ways, >=, 2);
    g_assert_cmpstr (facts->ways[0].method, ==, facts->method);
    g_assert_cmpfloat (facts->ways[0].error_bound, <=, limits[accuracy]);
    g_assert_cmpfloat (td_accuracy_limit (accuracy), ==, limits[accuracy]);
    td_test_reconstruct (engine, scan, &recipe, &volume, &error);
    g_assert_no_error (error);
    g_assert_cmpint (g_str_has_prefix (volume.family, "Fourier"), ==, fourier);
    const double found = error_of (&task, fourier, filtered, volume.slices);
    g_test_message ("%s: %s, %.3g, bound %.3g, limit %g", td_accuracy_names[accuracy],
                    volume.family, found, facts->ways[0].error_bound, limits[accuracy]);
    g_assert_cmpfloat (found, <=, limits[accuracy]);
    td_test_volume_clear (&volume);
  }
  td_truth_task_clear (&task);
}

/* ── What is taken ── */

typedef struct {
  const char *options[3][2];
  const char *method;
  TdPrecision precision;
  gboolean too_coarse; /* the plan says that the accuracy is not held */
} Choice;

static const Choice choices[] = {
  { { { NULL } }, "fourier", TD_PRECISION_SINGLE, FALSE },
  { { { "accuracy", "single" } }, "fbp", TD_PRECISION_SINGLE, FALSE },
  { { { "accuracy", "draft" } }, "fourier", TD_PRECISION_HALF, FALSE },
  { { { "accuracy", "draft" }, { "precision", "single" } }, "fourier", TD_PRECISION_SINGLE, FALSE },
  { { { "method", "fbp" } }, "fbp", TD_PRECISION_SINGLE, FALSE },
  { { { "method", "fourier" }, { "accuracy", "single" } }, "fourier", TD_PRECISION_SINGLE, TRUE },
  { { { "method", "fourier" }, { "precision", "half" } }, "fourier", TD_PRECISION_HALF, TRUE },
  { { { "method", "fourier" }, { "interpolation", "nearest" } },
    "fourier",
    TD_PRECISION_SINGLE,
    FALSE },
  { { { "interpolation", "linear" } }, "fbp", TD_PRECISION_SINGLE, FALSE },
  { { { "interpolation", "nearest" } }, "fbp", TD_PRECISION_SINGLE, TRUE },
  { { { "kernel", "host" } }, "fbp", TD_PRECISION_SINGLE, FALSE },
  { { { "views", "0:20" } }, "fbp", TD_PRECISION_SINGLE, FALSE },
};

static void
test_choices (void)
{
  TdBackprojectTask task;
  g_autofree float *sinograms = g_new (float, (gsize) ROWS *VIEWS *N);
  g_autoptr (TdScan) scan = make_scan (TRUE, &task, sinograms);

  for (guint i = 0; i < G_N_ELEMENTS (choices); i++) {
    const Choice *choice = &choices[i];
    g_autoptr (GError) error = NULL;
    TdRecipe recipe;
    td_recipe_init (&recipe);
    g_assert_true (td_recipe_set (&recipe, "device", "host", NULL));
    for (guint k = 0; k < G_N_ELEMENTS (choice->options) && choice->options[k][0]; k++)
      g_assert_true (td_recipe_set (&recipe, choice->options[k][0], choice->options[k][1], &error));
    g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe, NULL, NULL, &error);
    g_assert_no_error (error);
    const TdPlanFacts *facts = td_plan_facts (plan);
    const TdRecipe *made = td_plan_recipe (plan);
    g_autofree char *notes = td_messages_join (facts->notes, "\n", NULL);
    g_test_message ("%u: %s, %s", i, facts->method, td_precision_names[facts->precision]);
    g_assert_cmpstr (facts->method, ==, choice->method);
    g_assert_cmpint (facts->precision, ==, choice->precision);
    g_assert_cmpint (made->interpolation, !=, TD_INTERPOLATION_AUTO);
    g_assert_cmpint (made->precision, !=, TD_PRECISION_AUTO);
    g_assert_cmpint (strstr (notes, "exact to") != NULL, ==, choice->too_coarse);
    g_assert_cmpfloat (facts->ways[0].cost, ==, 1);
  }
  td_truth_task_clear (&task);
}

/* ── Cones ── */

static TdScan *
cone_scan (void)
{
  TdPhantomScan spec;

  td_phantom_scan_init (&spec, NULL, 40, 40, 36);
  spec.range_deg = 360;
  spec.logged = TRUE;
  spec.geometry.beam = TD_BEAM_CONE;
  spec.geometry.source_axis_mm = 200;
  spec.geometry.source_detector_mm = 400;
  spec.geometry.pixel_width_mm = spec.geometry.pixel_height_mm = 2.5;
  return td_phantom_scan_new (&spec, NULL);
}

static TdPlan *
cone_plan (TdScan *scan, const char *device, TdAccuracy accuracy, const char *kernel)
{
  g_autoptr (GError) error = NULL;
  TdRecipe recipe;

  td_recipe_init (&recipe);
  recipe.accuracy = accuracy;
  g_assert_true (td_recipe_set (&recipe, "device", device, NULL)
                 && td_recipe_set (&recipe, "kernel", kernel, NULL));
  TdPlan *plan = td_plan_new (engine, scan, &recipe, NULL, NULL, &error);
  g_assert_no_error (error);
  return plan;
}

static gboolean
cone_plan_says (const TdPlan *plan, const char *words)
{
  g_autofree char *notes = td_messages_join (td_plan_facts (plan)->notes, "\n", NULL);

  g_test_message ("%s", notes);
  return strstr (notes, words) != NULL;
}

/* The host has one way, which is exact enough for all. */
static void
test_cone_host (void)
{
  g_autoptr (TdScan) scan = cone_scan ();

  for (TdAccuracy accuracy = TD_ACCURACY_SINGLE; accuracy <= TD_ACCURACY_DRAFT; accuracy++) {
    g_autoptr (TdPlan) plan = cone_plan (scan, "host", accuracy, "auto");
    const TdPlanFacts *facts = td_plan_facts (plan);
    g_assert_cmpuint (facts->n_ways, ==, 1);
    g_assert_cmpstr (facts->ways[0].family, ==, "host");
    g_assert_cmpfloat (facts->ways[0].error_bound, <=, td_accuracy_limit (TD_ACCURACY_SINGLE));
    g_assert_cmpfloat (facts->ways[0].error_bound, >, 1e-8);
    g_assert_false (cone_plan_says (plan, "exact to"));
    g_assert_false (cone_plan_says (plan, "not used here"));
  }
}

/* What devices do together is as inexact as the worst of them, whichever is named first. */
static void
test_cone_together (void)
{
  static const char *const devices[] = { "host", "opencl:0", "host,opencl:0", "opencl:0,host" };
  g_autoptr (TdScan) scan = cone_scan ();
  g_autoptr (GPtrArray) there = td_engine_devices (engine, "opencl:0", NULL);
  double bounds[G_N_ELEMENTS (devices)];

  if (!there) {
    g_test_skip ("no OpenCL device");
    return;
  }
  for (guint i = 0; i < G_N_ELEMENTS (devices); i++) {
    g_autoptr (TdPlan) plan = cone_plan (scan, devices[i], TD_ACCURACY_DRAFT, "auto");
    const TdPlanFacts *facts = td_plan_facts (plan);
    bounds[i] = facts->ways[0].error_bound;
    g_test_message ("%s: %s, %g", devices[i], facts->family, bounds[i]);
  }
  g_assert_cmpfloat (bounds[0], !=, bounds[1]);
  g_assert_cmpfloat (bounds[2], ==, MAX (bounds[0], bounds[1]));
  g_assert_cmpfloat (bounds[3], ==, MAX (bounds[0], bounds[1]));
}

/* A device whose textures are those of a graphics card: they are too coarse for every accuracy, and
   taken by name only. The plan says what they would cost. */
static void
test_cone_textures (void)
{
  g_autoptr (TdScan) scan = cone_scan ();
  g_autoptr (GPtrArray) devices = td_engine_devices (engine, "opencl:0", NULL);

  if (!devices || td_device_info (devices->pdata[0])->kind != TD_DEVICE_CPU) {
    g_test_skip ("no OpenCL on a CPU");
    return;
  }
  TdDevice *device = devices->pdata[0];
  const gboolean slow = device->info.texture_slow;
  device->info.texture_slow = FALSE;
  for (TdAccuracy accuracy = TD_ACCURACY_SINGLE; accuracy <= TD_ACCURACY_DRAFT; accuracy++) {
    g_autoptr (TdPlan) plan = cone_plan (scan, "opencl:0", accuracy, "auto");
    const TdPlanFacts *facts = td_plan_facts (plan);
    const gboolean held = facts->ways[0].error_bound <= td_accuracy_limit (accuracy);

    g_assert_cmpuint (facts->n_ways, >=, 2);
    g_assert_cmpstr (facts->family, ==, facts->ways[0].family);
    g_assert_cmpstr (facts->family, ==, "arithmetic");
    g_assert_cmpfloat (facts->ways[0].error_bound, <, 2e-5);
    g_assert_cmpfloat (facts->ways[0].cost, ==, 1);
    g_assert_cmpstr (facts->ways[1].family, !=, "arithmetic");
    g_assert_cmpfloat (facts->ways[1].error_bound, >, td_accuracy_limit (accuracy));
    g_assert_true (held == (accuracy != TD_ACCURACY_SINGLE));
    g_assert_true (held == cone_plan_says (plan, "interpolates by a texture unit"));
    g_assert_true (held != cone_plan_says (plan, "nothing else does what was asked for"));
  }
  g_autoptr (TdPlan) named = cone_plan (scan, "opencl:0", TD_ACCURACY_STANDARD, "texture");
  device->info.texture_slow = slow;
  g_assert_cmpstr (td_plan_facts (named)->family, ==, "texture");
  g_assert_true (cone_plan_says (named, "nothing else does what was asked for"));
}

/* Iterative methods have one way, and the plan says that the accuracy is not used. */
static void
test_iterates (void)
{
  g_autoptr (TdScan) scan = cone_scan ();
  g_autoptr (GError) error = NULL;
  TdRecipe recipe;

  td_recipe_init (&recipe);
  recipe.accuracy = TD_ACCURACY_DRAFT;
  recipe.method = TD_METHOD_SIRT;
  g_assert_true (td_recipe_set (&recipe, "device", "host", NULL));
  g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_true (cone_plan_says (plan, "not used here"));
  g_assert_cmpuint (td_plan_facts (plan)->n_ways, ==, 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  engine = td_engine_new (td_methods);
  g_autoptr (GPtrArray) devices = td_test_devices ();

  g_test_add_func ("/accuracy/choices", test_choices);
  g_test_add_func ("/accuracy/cone/host", test_cone_host);
  g_test_add_func ("/accuracy/cone/together", test_cone_together);
  g_test_add_func ("/accuracy/cone/textures", test_cone_textures);
  g_test_add_func ("/accuracy/iterative", test_iterates);
  for (guint i = 0; i < 2 * devices->len; i++) {
    const Case c = { devices->pdata[i / 2], i % 2 };
    g_autofree char *path
        = g_strdup_printf ("/accuracy/%s/%s", c.device, c.random ? "random" : "phantom");
    g_test_add_data_func_full (path, g_memdup2 (&c, sizeof c), test_within, g_free);
  }
  const int status = g_test_run ();
  td_engine_unref (engine);
  return status;
}
