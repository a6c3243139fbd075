/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "compute/methods/methods.h"
#include "compute/parallel/families.h"
#include "compute/parallel/fourier-shape.h"
#include "tests/common/devices.h"
#include "tests/common/pipeline.h"
#include "tests/common/truth.h"

#include <math.h>
#include <string.h>

/* The Fourier method against its double sum in double precision, on random data, on every device;
   and that sum against filtered back-projection. */

typedef struct {
  guint n_columns, n_views, nx, ny, n_slices;
  double x0, y0, centre_px;
  gboolean axis, weights;
} Shape;

/* Odd sizes, one of everything, regions, axes off the detector, few views and many. Regions lie
   where detectors look: errors are those of the whole slice, and relative to nothing they would be
   large. */
static const Shape shapes[] = {
  { 1, 1, 1, 1, 1, 0, 0, 0, FALSE, FALSE },
  { 1, 7, 5, 3, 2, -2, 1, 0, FALSE, TRUE },
  { 64, 1, 64, 64, 1, -31.5, 31.5, 31.5, FALSE, FALSE },
  { 101, 97, 101, 101, 1, -50, 50, 49.875, FALSE, TRUE },
  { 97, 80, 129, 61, 3, -70.25, 30.75, 51.375, TRUE, TRUE },
  { 128, 50, 33, 80, 9, -10, 70, 63.5, TRUE, FALSE },
  { 90, 65, 70, 20, 5, -110, 70, 130.5, FALSE, FALSE },
  { 90, 64, 70, 70, 2, -120, 60, -31.5, FALSE, TRUE },
  { 33, 700, 17, 19, 4, -8, 9, 16.125, FALSE, TRUE },
  { 60, 40, 1, 59, 7, 3, 29, 30.5, FALSE, FALSE },
  { 1000, 40, 20, 20, 2, -10, 10, 499.5, FALSE, FALSE },
};

static TdBuffer *
run_on (TdDevice *device, TdQueue *queue, const TdBackprojectTask *task, const float *sinograms,
        guint n_slices)
{
  const guint64 in = (guint64) n_slices * task->n_views * task->n_columns * sizeof (float);
  const guint64 out = (guint64) n_slices * task->nx * task->ny * sizeof (float), margin = 64;
  g_autoptr (GError) error = NULL;
  g_autofree guint8 *garbage = g_malloc (out + margin);
  g_autoptr (TdBuffer) from = td_buffer_new (device, in + margin, NULL);
  TdBuffer *to = td_buffer_new (device, out + margin, NULL);
  const guint64 before = td_test_allocated (device);
  g_autoptr (TdBackprojector) projector
      = td_backprojector_new (&td_family_fourier, device, task, NULL, n_slices, &error);

  g_assert_no_error (error);
  memset (garbage, 0xff, out + margin); /* NaN: a pixel that nobody writes shows */
  g_assert_true (td_upload (queue, from, margin, sinograms, in, NULL));
  g_assert_true (td_upload (queue, to, 0, garbage, out + margin, NULL));
  td_backprojector_run (projector, queue, (TdPlace) { from, margin }, (TdPlace) { to, margin },
                        n_slices, &error);
  g_assert_no_error (error);
  td_test_finish (queue);
  td_test_workspace (device, before,
                     td_family_fourier.workspace_bytes (&td_family_fourier, task,
                                                        td_device_info (device), n_slices),
                     2);
  return to;
}

static float *
project (TdDevice *device, const TdBackprojectTask *task, const float *sinograms, guint n_slices)
{
  const guint64 bytes = (guint64) n_slices * task->nx * task->ny * sizeof (float);
  g_autoptr (TdQueue) queue = td_queue_new (device, NULL);
  g_autoptr (TdBuffer) to = run_on (device, queue, task, sinograms, n_slices);
  float *slices = g_malloc (bytes);

  g_assert_true (td_download (queue, slices, to, 64, bytes, NULL));
  td_test_finish (queue);
  return slices;
}

/* Relative L2 over all slices. */
static double
error_of (const TdBackprojectTask *task, const float *sinograms, const float *slices,
          guint n_slices)
{
  const gsize pixels = (gsize) task->nx * task->ny, bins = (gsize) task->n_views * task->n_columns;
  g_autofree double *truth = g_new (double, n_slices *pixels);

  for (guint s = 0; s < n_slices; s++)
    td_fourier_reference (task, sinograms + s * bins, truth + s * pixels);
  return td_truth_relative_rms (slices, truth, n_slices * pixels);
}

static void
check_shape (TdDevice *device, const Shape *shape, TdInterpolation interpolation,
             TdPrecision precision, guint32 seed)
{
  g_autofree double *angles = g_new (double, shape->n_views),
                    *axis = g_new (double, shape->n_views);
  g_autofree double *weights = g_new (double, shape->n_views);
  const gsize n = (gsize) shape->n_slices * shape->n_views * shape->n_columns;
  g_autofree float *sinograms = g_new (float, n);
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  const TdBackprojectTask task = {
    .n_columns = shape->n_columns,
    .n_views = shape->n_views,
    .nx = shape->nx,
    .ny = shape->ny,
    .x0 = shape->x0,
    .y0 = shape->y0,
    .step = 1,
    .centre_px = shape->centre_px,
    .angles_rad = angles,
    .axis_px = shape->axis ? axis : NULL,
    .weights = shape->weights ? weights : NULL,
    .scale = 0.7,
    .interpolation = interpolation,
    .precision = precision,
  };

  for (guint v = 0; v < shape->n_views; v++) {
    /* Among all kinds of directions those along the axes, exactly and nearly: a scan's angles may
       be stored in single precision. */
    angles[v] = v % 5 == 4   ? G_PI / 2 * g_rand_int_range (rand, -3, 6)
                : v % 5 == 3 ? (float) (G_PI / 2 * g_rand_int_range (rand, -3, 6))
                             : g_rand_double_range (rand, -4, 7);
    axis[v] = g_rand_double_range (rand, -2, 2);
    weights[v] = g_rand_double_range (rand, 0.1, 2);
  }
  td_test_random (sinograms, n, seed);
  g_autofree float *slices = project (device, &task, sinograms, shape->n_slices);
  const double found = error_of (&task, sinograms, slices, shape->n_slices);
  const double bound
      = td_family_fourier.error_bound (&td_family_fourier, &task, td_device_info (device));
  if (!(found <= bound) || g_test_verbose ())
    g_test_message ("%u columns, %u views, %u slices of %u x %u, centre %g: %.3g, bound %.3g",
                    shape->n_columns, shape->n_views, shape->n_slices, shape->nx, shape->ny,
                    shape->centre_px, found, bound);
  g_assert_cmpfloat (found, <=, bound);
}

static void
test_random (gconstpointer id)
{
  TdDevice *device = td_test_open (id);

  for (guint i = 0; i < G_N_ELEMENTS (shapes); i++)
    check_shape (device, &shapes[i], i % 2 ? TD_INTERPOLATION_NEAREST : TD_INTERPOLATION_LINEAR,
                 i % 3 ? TD_PRECISION_SINGLE : TD_PRECISION_HALF, 7 + i);
  td_test_close (device);
}

/* The bounds that the guide states. */
static void
test_stated_errors (void)
{
  g_autofree double *angles = g_new0 (double, 1000);
  TdBackprojectTask task = { .n_columns = 1000,
                             .n_views = 1000,
                             .nx = 1000,
                             .ny = 1000,
                             .x0 = -499.5,
                             .y0 = 499.5,
                             .step = 1,
                             .centre_px = 499.5,
                             .angles_rad = angles };
  g_autoptr (TdDevice) host = td_device_open ("host", NULL);

  g_assert_cmpfloat (
      td_family_fourier.error_bound (&td_family_fourier, &task, td_device_info (host)), <, 1.1e-4);
  task.precision = TD_PRECISION_HALF;
  g_assert_cmpfloat (
      td_family_fourier.error_bound (&td_family_fourier, &task, td_device_info (host)), <, 5e-3);
}

/* A new centre without a new projector; zeros, constants; the same numbers twice. */
static void
test_update (gconstpointer id)
{
  enum { N = 60, VIEWS = 40 };
  TdDevice *device = td_test_open (id);
  TdQueue *queue = td_queue_new (device, NULL);
  TdBackprojectTask task;
  g_autoptr (GError) error = NULL;
  float sinogram[N * VIEWS], slice[N * N], again[N * N];

  td_truth_task_init (&task, N, VIEWS, 360);
  TdBackprojector *projector
      = td_backprojector_new (&td_family_fourier, device, &task, NULL, 1, &error);
  g_assert_no_error (error);
  td_test_random (sinogram, N * VIEWS, 3);
  TdBuffer *in = td_test_buffer (device, queue, sinogram, sizeof sinogram);
  TdBuffer *out = td_buffer_new (device, sizeof slice, NULL);
  task.centre_px += 0.375;
  g_assert_true (td_backprojector_update (projector, &task, &error));
  for (guint run = 0; run < 2; run++) {
    g_assert_true (td_backprojector_run (projector, queue, (TdPlace) { in, 0 },
                                         (TdPlace) { out, 0 }, 1, &error));
    g_assert_true (td_download (queue, run ? again : slice, out, 0, sizeof slice, NULL));
    td_test_finish (queue);
  }
  g_assert_cmpmem (slice, sizeof slice, again, sizeof again);
  g_assert_cmpfloat (error_of (&task, sinogram, slice, 1), <, 1.5e-4);

  for (guint i = 0; i < N * VIEWS; i++)
    sinogram[i] = 0;
  g_assert_true (td_upload (queue, in, 0, sinogram, sizeof sinogram, NULL));
  g_assert_true (td_backprojector_run (projector, queue, (TdPlace) { in, 0 }, (TdPlace) { out, 0 },
                                       1, &error));
  g_assert_true (td_download (queue, slice, out, 0, sizeof slice, NULL));
  td_test_finish (queue);
  for (guint i = 0; i < N * N; i++)
    g_assert_true (slice[i] == 0);

  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  td_backprojector_set_cancellable (projector, cancellable);
  g_cancellable_cancel (cancellable);
  g_assert_false (td_backprojector_run (projector, queue, (TdPlace) { in, 0 }, (TdPlace) { out, 0 },
                                        1, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);

  td_backprojector_free (projector);
  td_buffer_free (in);
  td_buffer_free (out);
  td_queue_free (queue);
  td_truth_task_clear (&task);
  td_test_close (device);
}

/* ── The sum itself ── */

/* The definition in fourier-shape.h, term by term. */
static double
value_at (const TdBackprojectTask *task, const float *sinogram, double x, double y)
{
  const int p = (int) td_fourier_padded (task);
  double sum = 0;

  for (guint v = 0; v < task->n_views; v++) {
    const double u
        = task->centre_px + x * cos (task->angles_rad[v]) + y * sin (task->angles_rad[v]);
    for (int k = 1 - p / 2; k < p / 2; k++) {
      const double side = k ? sin (G_PI * k / p) / (G_PI * k / p) : 1;
      for (guint n = 0; n < task->n_columns; n++)
        sum += task->scale / p * side * side * sinogram[v * task->n_columns + n]
               * cos (2 * G_PI * k * (u - n) / p);
    }
  }
  return sum;
}

static void
test_definition (void)
{
  enum { N = 21, VIEWS = 6 };
  TdBackprojectTask task;
  float sinogram[N * VIEWS];
  double slice[N * N];

  td_truth_task_init (&task, N, VIEWS, 180);
  task.interpolation = TD_INTERPOLATION_LINEAR;
  task.centre_px += 0.3;
  td_test_random (sinogram, N * VIEWS, 11);
  td_fourier_reference (&task, sinogram, slice);
  for (guint j = 0; j < N; j += 5)
    for (guint i = 0; i < N; i += 4) {
      const double value = value_at (&task, sinogram, task.x0 + i, task.y0 - j);
      g_assert_cmpfloat_with_epsilon (slice[j * N + i], value, 1e-10);
    }
  td_truth_task_clear (&task);
}

/* A phantom's slice is that of back-projection with linear interpolation, but for what linear
   interpolation folds back from beyond the band. */
static void
check_phantom (guint n, guint n_views, double range_deg, double bound)
{
  g_autoptr (TdDevice) host = td_device_open ("host", NULL);
  const TdPhantom *phantom = td_phantom_find ("shepp-logan", NULL);
  const TdFilter filter = { .kind = TD_FILTER_HANN, .cutoff = 1 };
  TdBackprojectTask task;

  td_truth_task_init (&task, n, n_views, range_deg);
  task.interpolation = TD_INTERPOLATION_LINEAR;
  g_autofree float *sinogram = td_truth_sinogram (phantom, &task, 1, 0);
  g_autofree float *filtered = td_truth_filter (&filter, sinogram, n_views, n);
  g_autofree double *truth = td_truth_fbp (&filter, &task, sinogram);
  g_autofree float *slice = project (host, &task, filtered, 1);
  double difference = 0, norm = 0;
  for (guint j = 0; j < n; j++)
    for (guint i = 0; i < n; i++) {
      const gsize at = (gsize) j * n + i;
      if (hypot (task.x0 + i, task.y0 - j) < 0.5 * n - 2) {
        difference += (slice[at] - truth[at]) * (slice[at] - truth[at]);
        norm += truth[at] * truth[at];
      }
    }
  const double found = sqrt (difference / norm);
  g_test_message ("%u columns, %u views over %g degrees: %.3g of the rms inside", n, n_views,
                  range_deg, found);
  g_assert_cmpfloat (found, <, bound);
  td_truth_task_clear (&task);
}

static void
test_phantom (void)
{
  check_phantom (256, 400, 180, 0.01);
  check_phantom (255, 500, 360, 0.01);
}

/* Shapes that a simulator gets through: one pair and two, odd sizes, copies beyond the grid's
 * edges. */
static void
test_small (gconstpointer id)
{
  static const Shape small[] = {
    { 9, 5, 7, 9, 1, -3, 4, 4.25, FALSE, TRUE },
    { 6, 3, 6, 5, 3, -2.5, 2, 2.5, FALSE, FALSE },
  };
  TdDevice *device = td_test_open (id);

  for (guint i = 0; i < G_N_ELEMENTS (small); i++)
    check_shape (device, &small[i], TD_INTERPOLATION_LINEAR, TD_PRECISION_HALF, 5);
  td_test_close (device);
}

/* ── Jobs ── */

typedef struct {
  const char *name;
  guint n_columns, n_rows, n_views;
  double centre_px, tilt_deg, range_deg;
  const char *region;
} JobCase;

/* As back-projection gets them: halves of a wide field, tilted axes, regions, several slabs. */
static const JobCase jobs[] = {
  { "plain", 160, 5, 300, 78.3, 0, 180, NULL },
  { "full turn", 161, 4, 500, 82.1, 0, 360, NULL },
  { "half acquisition", 128, 3, 720, 20.3, 0, 360, NULL },
  { "tilted", 120, 21, 240, 60.2, 1.5, 180, NULL },
  { "slabs", 120, 70, 200, 59.6, 0, 180, NULL },
  { "region", 160, 3, 300, 79.5, 0, 180, "40,60,50,33" },
};

static void
reconstruct (const JobCase *c, const char *device, const char *method, TdTestVolume *volume)
{
  g_autoptr (TdEngine) engine = td_engine_new (td_methods);
  g_autoptr (GError) error = NULL;
  TdPhantomScan spec;
  TdRecipe recipe;

  td_phantom_scan_init (&spec, "shepp-logan", c->n_columns, c->n_rows, c->n_views);
  spec.centre_px = c->centre_px;
  spec.tilt_deg = c->tilt_deg;
  spec.range_deg = c->range_deg;
  spec.offset_field = c->centre_px < 0.3 * c->n_columns;
  spec.logged = TRUE;
  g_autoptr (TdScan) scan = td_phantom_scan_new (&spec, &error);
  g_assert_no_error (error);
  td_recipe_init (&recipe);
  recipe.filter.kind = TD_FILTER_HANN;
  recipe.centre_px = c->centre_px;
  recipe.tilt_deg = c->tilt_deg;
  g_assert_true (td_recipe_set (&recipe, "device", device, NULL));
  g_assert_true (td_recipe_set (&recipe, "method", method, NULL));
  g_assert_true (!c->region || td_recipe_set (&recipe, "region", c->region, NULL));
  td_test_reconstruct (engine, scan, &recipe, volume, &error);
  g_assert_no_error (error);
}

/* Within the disc that all views see; regions are inside anyway. */
static double
difference_inside (const TdTestVolume *a, const TdTestVolume *b, gboolean region)
{
  const double radius = region ? INFINITY : 0.5 * a->nx - 3;
  double difference = 0, norm = 0;

  for (gsize i = 0; i < (gsize) a->n_slices * a->ny * a->nx; i++) {
    const double x = i % a->nx - 0.5 * (a->nx - 1), y = i / a->nx % a->ny - 0.5 * (a->ny - 1);
    g_assert_true (isfinite (a->slices[i]));
    if (hypot (x, y) < radius) {
      difference += ((double) a->slices[i] - b->slices[i]) * ((double) a->slices[i] - b->slices[i]);
      norm += (double) b->slices[i] * b->slices[i];
    }
  }
  return sqrt (difference / norm);
}

static void
test_jobs (gconstpointer id)
{
  for (guint i = 0; i < G_N_ELEMENTS (jobs); i++) {
    TdTestVolume ours, theirs;
    reconstruct (&jobs[i], id, "fourier", &ours);
    reconstruct (&jobs[i], id, "fbp", &theirs);
    const double found = difference_inside (&ours, &theirs, jobs[i].region != NULL);
    g_test_message ("%s: %s, %u × %u, %.3g from back-projection", jobs[i].name, ours.family,
                    ours.nx, ours.ny, found);
    g_assert_true (g_str_has_prefix (ours.family, "Fourier"));
    g_assert_cmpuint (ours.nx, ==, theirs.nx);
    g_assert_cmpfloat (found, <, 0.02);
    td_test_volume_clear (&ours);
    td_test_volume_clear (&theirs);
  }
}

/* Slabs of one volume from two devices, whatever the second is here. */
static void
test_two_devices (void)
{
  g_autoptr (GPtrArray) ids = td_test_devices ();
  const JobCase slabs = { "slabs", 96, 70, 150, 47.6, 0, 180, NULL };
  TdTestVolume one, two;

  if (ids->len < 2) {
    g_test_skip ("there is one device only");
    return;
  }
  g_autofree char *both = g_strconcat (ids->pdata[0], ",", ids->pdata[1], NULL);
  reconstruct (&slabs, ids->pdata[0], "fourier", &one);
  reconstruct (&slabs, both, "fourier", &two);
  g_assert_cmpfloat (difference_inside (&two, &one, TRUE), <, 1e-4);
  td_test_volume_clear (&one);
  td_test_volume_clear (&two);
}

static void
test_cone_is_refused (void)
{
  g_autoptr (TdEngine) engine = td_engine_new (td_methods);
  g_autoptr (GError) error = NULL;
  TdPhantomScan spec;
  TdRecipe recipe;

  td_phantom_scan_init (&spec, NULL, 16, 16, 20);
  spec.geometry.beam = TD_BEAM_CONE;
  spec.geometry.source_axis_mm = 300;
  spec.geometry.source_detector_mm = 500;
  spec.geometry.pixel_width_mm = spec.geometry.pixel_height_mm = 0.5;
  spec.range_deg = 360;
  g_autoptr (TdScan) scan = td_phantom_scan_new (&spec, &error);
  g_assert_no_error (error);
  td_recipe_init (&recipe);
  g_assert_true (td_recipe_set (&recipe, "method", "fourier", NULL));
  g_assert_null (td_plan_new (engine, scan, &recipe, NULL, NULL, &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_INVALID);
  g_assert_nonnull (strstr (error->message, "parallel beams"));
}

static void
test_refusals (void)
{
  g_autoptr (TdDevice) host = td_device_open ("host", NULL);
  g_autoptr (GError) error = NULL;
  TdBackprojectTask task;

  td_truth_task_init (&task, 16, 4, 180);
  task.step = 2;
  g_assert_null (td_backprojector_new (&td_family_fourier, host, &task, NULL, 1, &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_UNSUPPORTED);
  g_clear_error (&error);
  task.step = 1;
  task.centre_px = 1e7;
  g_assert_null (td_backprojector_new (&td_family_fourier, host, &task, NULL, 1, &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_UNSUPPORTED);
  td_truth_task_clear (&task);
}

int
main (int argc, char **argv)
{
  static const TdDeviceTest tests[] = {
    { "random", test_random },
    { "update", test_update },
    { "small", test_small },
    { "jobs", test_jobs },
  };

  g_test_init (&argc, &argv, NULL);
  td_test_keep_open ();
  g_test_add_func ("/fourier/definition", test_definition);
  g_test_add_func ("/fourier/phantom", test_phantom);
  g_test_add_func ("/fourier/stated-errors", test_stated_errors);
  g_test_add_func ("/fourier/refusals", test_refusals);
  g_test_add_func ("/fourier/cone-is-refused", test_cone_is_refused);
  g_test_add_func ("/fourier/two-devices", test_two_devices);
  td_test_each_device ("/fourier", tests, G_N_ELEMENTS (tests));
  return g_test_run ();
}
