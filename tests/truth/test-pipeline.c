/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <string.h>

#include "compute/methods/methods.h"
#include "tests/common/devices.h"
#include "tests/common/pipeline.h"
#include "tests/common/truth.h"

/* The whole path from scan to slices agrees with the truth on every device that works here. */
typedef struct {
  const char *device; /* borrowed from the list of devices */
  TdFilterKind filter;
  TdInterpolation interpolation;
  double range_deg;
} Case;

static TdEngine *engine;

static void
recipe_init (TdRecipe *recipe, const Case *c)
{
  td_recipe_init (recipe);
  recipe->filter.kind = c->filter;
  recipe->interpolation = c->interpolation;
  g_strlcpy (recipe->devices, c->device, sizeof recipe->devices);
}

static void
reconstruct (TdScan *scan, const TdRecipe *recipe, TdTestVolume *volume)
{
  g_autoptr (GError) error = NULL;

  td_test_reconstruct (engine, scan, recipe, volume, &error);
  g_assert_no_error (error);
  g_test_message ("%s, %s", volume->device, volume->family);
}

static double *
to_double (const float *values, gsize n)
{
  double *out = g_new (double, n);

  for (gsize i = 0; i < n; i++)
    out[i] = values[i];
  return out;
}

/* Measured counts of a disc of value 1 (but for the attenuation's scale) come back as 1. */
static void
test_disc (gconstpointer data)
{
  const Case *c = data;
  const guint n = 128;
  TdPhantomScan spec;
  TdRecipe recipe;
  TdTestVolume volume;
  TdBackprojectTask task;
  double mean, largest;

  td_phantom_scan_init (&spec, "disc", n, 2, 201);
  spec.range_deg = c->range_deg;
  spec.counts = 60000;
  g_autoptr (TdScan) scan = td_phantom_scan_new (&spec, NULL);
  recipe_init (&recipe, c);
  reconstruct (scan, &recipe, &volume);
  g_assert_cmpuint (volume.nx, ==, n);
  g_assert_cmpuint (volume.n_slices, ==, 2);
  for (gsize i = 0; i < 2 * n * n; i++)
    volume.slices[i] *= n / spec.attenuation;

  td_truth_task_init (&task, n, 1, 180);
  for (guint slice = 0; slice < 2; slice++) {
    g_autofree double *values = to_double (volume.slices + slice * n * n, n * n);
    td_truth_inside (&task, values, &(TdTruthDisc) { 0, 0, 0.8 * 64 * 0.8, 1 }, &mean, &largest);
    g_test_message ("mean error %.6f, largest %.6f", mean, largest);
    g_assert_cmpfloat (fabs (mean), <, 5e-4);
    g_assert_cmpfloat (largest, <, 2e-3);
  }
  td_truth_task_clear (&task);
  td_test_volume_clear (&volume);
}

/* Linear interpolation: relative RMS. Nearest: a position within rounding of the middle between two
   columns may take either. So a few pixels may differ by a bin; the rest must not. */
static void
assert_agrees (const float *slice, const double *truth, gsize n, TdInterpolation interpolation)
{
  double rms = 0, rest = 0;
  gsize strays = 0;

  if (interpolation == TD_INTERPOLATION_LINEAR) {
    double error = td_truth_relative_rms (slice, truth, n);
    g_test_message ("relative RMS %.2e", error);
    g_assert_cmpfloat (error, <, 1e-5);
    return;
  }
  for (gsize i = 0; i < n; i++)
    rms += truth[i] * truth[i] / n;
  rms = sqrt (rms);
  for (gsize i = 0; i < n; i++) {
    double difference = fabs (slice[i] - truth[i]);
    g_assert_true (isfinite (difference));
    if (difference > 1e-5 * rms)
      strays++;
    else
      rest = MAX (rest, difference);
  }
  g_test_message ("%" G_GSIZE_FORMAT " stray pixels, the rest within %.2e", strays, rest / rms);
  g_assert_cmpuint (strays, <=, 1 + n / 500);
}

/* Every slice of @volume against the reference for the same rows; the full slice's pixel (x0, y0)
   is the volume's first. */
static void
check_against_reference (const float *sinograms, const TdRecipe *recipe, const TdTestVolume *volume,
                         TdBackprojectTask *task, int x0, int y0)
{
  gsize row_samples = (gsize) task->n_views * task->n_columns;
  gsize slice_samples = (gsize) volume->nx * volume->ny;

  task->nx = volume->nx;
  task->ny = volume->ny;
  task->x0 += x0;
  task->y0 -= y0;
  task->centre_px = recipe->centre_px;
  task->interpolation = recipe->interpolation;
  for (guint slice = 0; slice < volume->n_slices; slice++) {
    g_autofree double *truth = td_truth_fbp (&recipe->filter, task,
                                             sinograms + (recipe->row_first + slice) * row_samples);
    assert_agrees (volume->slices + slice * slice_samples, truth, slice_samples,
                   recipe->interpolation);
  }
}

/* Shepp-Logan with the centre off the middle: agrees with the reference, and lies where it should.
 */
static void
test_shepp_logan (gconstpointer data)
{
  const Case *c = data;
  const guint n = 90, n_views = 111, n_rows = 3;
  const TdPhantom *phantom = td_phantom_find ("shepp-logan", NULL);
  TdBackprojectTask task;
  TdRecipe recipe;
  TdTestVolume volume;
  double mean, largest;

  td_truth_task_init (&task, n, n_views, c->range_deg);
  task.centre_px = 41.3;
  g_autofree float *sinograms = g_new (float, (gsize) n_rows *n_views *n);
  for (guint row = 0; row < n_rows; row++) {
    g_autofree float *one = td_truth_sinogram (phantom, &task, n_rows, row);
    memcpy (sinograms + (gsize) row * n_views * n, one, (gsize) n_views * n * sizeof (float));
  }
  g_autoptr (TdScan) scan = td_test_scan (sinograms, n_rows, n_views, n, task.angles_rad);
  recipe_init (&recipe, c);
  recipe.centre_px = 41.3;
  reconstruct (scan, &recipe, &volume);
  check_against_reference (sinograms, &recipe, &volume, &task, 0, 0);

  /* The small ventricle's neighbour, right of the middle; the other one is longer and to the left.
   */
  g_autofree double *middle = to_double (volume.slices + n * n, n * n);
  td_truth_inside (&task, middle, &(TdTruthDisc) { 0.22 * n / 2, 0, 3, 0 }, &mean, &largest);
  g_assert_cmpfloat (fabs (mean), <, 0.02);
  td_truth_inside (&task, middle, &(TdTruthDisc) { 0, 0.37 * n / 2, 4, 0.3 }, &mean, &largest);
  g_assert_cmpfloat (fabs (mean), <, 0.02);
  td_truth_task_clear (&task);
  td_test_volume_clear (&volume);
}

/* Sizes that do not divide by anything, single ones, centres outside the detector, regions. */
typedef struct {
  guint n_columns, n_views, n_rows;
  double centre_px;
  guint row_first, row_end; /* 0, 0: all */
  gint region[4];
} Size;

static const Size sizes[] = {
  { 1, 2, 1, 0, 0, 0, { 0 } },
  { 1, 13, 2, 0.2, 0, 0, { 0 } },
  { 2, 5, 1, 0.5, 0, 0, { 0 } },
  { 64, 2, 3, 31.5, 0, 0, { 0 } },
  { 31, 37, 1, 15.37, 0, 0, { 0 } },
  { 97, 53, 19, 44.4, 0, 0, { 0 } },
  { 97, 53, 19, 44.4, 5, 12, { 0 } },
  { 127, 61, 17, 63.25, 16, 17, { 0 } },
  { 128, 64, 16, 63.4, 0, 0, { 0 } },
  { 61, 40, 2, -20.6, 0, 0, { 0 } },
  { 61, 40, 2, 75.3, 0, 0, { 0 } },
  { 83, 47, 3, 40.1, 0, 0, { 11, 30, 53, 7 } },
  { 83, 47, 3, 40.1, 0, 0, { 82, 0, 1, 83 } },
  { 300, 7, 1, 149.0, 0, 0, { 0 } },
};

typedef struct {
  Case base;
  const Size *size;
} NoiseCase;

static void
test_noise (gconstpointer data)
{
  const NoiseCase *noise = data;
  const Size *size = noise->size;
  gsize samples = (gsize) size->n_rows * size->n_views * size->n_columns;
  g_autofree float *sinograms = g_new (float, samples);
  TdBackprojectTask task;
  TdRecipe recipe;
  TdTestVolume volume;

  td_test_random (sinograms, samples, size->n_columns * 7919 + size->n_views);
  td_truth_task_init (&task, size->n_columns, size->n_views, 180);
  g_autoptr (TdScan) scan
      = td_test_scan (sinograms, size->n_rows, size->n_views, size->n_columns, task.angles_rad);
  recipe_init (&recipe, &noise->base);
  recipe.centre_px = size->centre_px;
  recipe.row_first = size->row_first;
  recipe.row_end = size->row_end;
  memcpy (recipe.region, size->region, sizeof recipe.region);
  reconstruct (scan, &recipe, &volume);
  g_assert_cmpuint (volume.n_slices, ==,
                    size->row_end ? size->row_end - size->row_first : size->n_rows);
  if (size->region[2] > 0) {
    g_assert_cmpuint (volume.nx, ==, size->region[2]);
    g_assert_cmpuint (volume.ny, ==, size->region[3]);
  }
  check_against_reference (sinograms, &recipe, &volume, &task, size->region[0], size->region[1]);
  td_truth_task_clear (&task);
  td_test_volume_clear (&volume);
}

/* Scans of the same object with every layout of angles. The row is far from the middle one, where a
   tilted axis has moved the centre by columns. The slice is always the object. */
typedef struct {
  const char *name;
  double first_deg, range_deg, centre_px, tilt_deg;
  gboolean end_point;
} Layout;

static const Layout layouts[] = {
  { "half-turn", 0, 180, NAN, 0, FALSE },   { "both-ends", 0, 180, 49.3, 0, TRUE },
  { "full-turn", 20, 360, NAN, 0, FALSE },  { "full-turn-both-ends", 0, 360, NAN, 0, TRUE },
  { "backwards", 0, -180, 46.6, 0, FALSE }, { "more-than-half", -10, 205, NAN, 0, FALSE },
  { "tilted", 0, 180, 47.2, 4, FALSE },     { "tilted-full-turn", 0, 360, 47.2, -4, FALSE },
};

typedef struct {
  const char *device;
  const Layout *layout;
} LayoutCase;

static void
test_layout (gconstpointer data)
{
  const LayoutCase *c = data;
  const Layout *layout = c->layout;
  const guint n = 96, row = 8;
  const Case base = { c->device, TD_FILTER_HANN, TD_INTERPOLATION_LINEAR, 180 };
  TdPhantomScan spec;
  TdRecipe recipe;
  TdTestVolume volume;

  td_phantom_scan_init (&spec, "discs", n, 49, (guint) ceil (fabs (layout->range_deg) / 180 * 151));
  spec.first_deg = layout->first_deg;
  spec.range_deg = layout->range_deg;
  spec.end_point = layout->end_point;
  spec.centre_px = layout->centre_px;
  spec.tilt_deg = layout->tilt_deg;
  spec.geometry.pixel_width_mm = spec.geometry.pixel_height_mm = 0.25;
  g_autoptr (TdScan) scan = td_phantom_scan_new (&spec, NULL);
  recipe_init (&recipe, &base);
  recipe.centre_px = layout->centre_px;
  recipe.tilt_deg = layout->tilt_deg;
  recipe.row_first = row;
  recipe.row_end = row + 1;
  reconstruct (scan, &recipe, &volume);

  g_autofree float *truth = g_new (float, n *n);
  double squares = 0, reference = 0;
  td_phantom_scan_truth (&spec, row, n, n, 4, truth);
  for (guint i = 0; i < n * n; i++) {
    double x = i % n - (n - 1) / 2.0, y = i / n - (n - 1) / 2.0;
    if (hypot (x, y) > 0.85 * n / 2)
      continue;
    squares += (volume.slices[i] - truth[i]) * (volume.slices[i] - truth[i]);
    reference += truth[i] * truth[i];
  }
  g_test_message ("relative RMS %.4f", sqrt (squares / reference));
  g_assert_cmpfloat (sqrt (squares / reference), <, 0.07);
  td_test_volume_clear (&volume);
}

static void
add (const char *what, const Case *c, GTestDataFunc function)
{
  g_autofree char *path = g_strdup_printf (
      "/pipeline/%s/%s/%s/%s/%g", c->device, what, td_filter_names[c->filter],
      c->interpolation == TD_INTERPOLATION_LINEAR ? "linear" : "nearest", c->range_deg);
  g_test_add_data_func_full (path, g_memdup2 (c, sizeof *c), function, g_free);
}

static void
add_device (const char *device)
{
  for (TdFilterKind filter = TD_FILTER_RAM_LAK; filter <= TD_FILTER_BUTTERWORTH; filter++) {
    for (guint i = 0; i < 2; i++) {
      Case c = { device, filter, i ? TD_INTERPOLATION_LINEAR : TD_INTERPOLATION_NEAREST, 180 };
      add ("disc", &c, test_disc);
      add ("shepp-logan", &c, test_shepp_logan);
    }
  }
  Case full = { device, TD_FILTER_SHEPP_LOGAN, TD_INTERPOLATION_LINEAR, 360 };
  add ("disc", &full, test_disc);
  add ("shepp-logan", &full, test_shepp_logan);

  for (guint i = 0; i < G_N_ELEMENTS (layouts); i++) {
    LayoutCase layout = { device, &layouts[i] };
    g_autofree char *path = g_strdup_printf ("/pipeline/%s/layout/%s", device, layouts[i].name);
    g_test_add_data_func_full (path, g_memdup2 (&layout, sizeof layout), test_layout, g_free);
  }
  for (guint i = 0; i < 2 * G_N_ELEMENTS (sizes); i++) {
    NoiseCase noise = { { device, TD_FILTER_RAM_LAK, i % 2 }, &sizes[i / 2] };
    g_autofree char *path = g_strdup_printf (
        "/pipeline/%s/noise/%ux%ux%u-%u/%s", device, noise.size->n_columns, noise.size->n_views,
        noise.size->n_rows, i / 2, i % 2 == TD_INTERPOLATION_LINEAR ? "linear" : "nearest");
    g_test_add_data_func_full (path, g_memdup2 (&noise, sizeof noise), test_noise, g_free);
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  engine = td_engine_new (td_methods);
  g_autoptr (GPtrArray) devices = td_test_devices ();

  for (guint i = 0; i < devices->len; i++)
    add_device (devices->pdata[i]);
  int status = g_test_run ();
  td_engine_unref (engine);
  return status;
}
