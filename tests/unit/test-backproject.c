/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "compute/parallel/backproject.h"
#include "compute/parallel/host-backproject-pass.h"
#include "compute/portion.h"

#include <math.h>
#include <stddef.h>

#include "tests/common/devices.h"

/* The host and standard families on every device against the double-precision reference, on random
   data (the others: test-families.c). Meson runs the program once for each instruction set of the
   host (TOMODESK_ISA) and with the environment's OpenCL. */

typedef struct {
  guint n_columns, n_views, nx, ny, n_slices;
  double step, x0, y0, centre_px;
  gboolean axis, weights;
} Shape;

/* Odd sizes, some a pixel more than tiles, centres outside, regions, steps, few and many views. No
   pixel lies on the axis under a half-integer centre: for nearest neighbour that would be a tie at
   every view. */
static const Shape shapes[] = {
  { 1, 1, 1, 1, 1, 1, 0, 0, 0, FALSE, FALSE },
  { 1, 7, 5, 3, 2, 1, -2, 1, 0, FALSE, TRUE },
  { 64, 1, 64, 64, 1, 1, -31.5, 31.5, 31.5, FALSE, FALSE },
  { 101, 97, 101, 101, 1, 1, -50, 50, 49.875, FALSE, TRUE },
  { 97, 80, 129, 65, 3, 1, -70.25, 30.75, 51.375, TRUE, TRUE },
  { 128, 50, 33, 80, 17, 1, -10, 70, 63.5, TRUE, FALSE },
  { 90, 65, 70, 20, 33, 1, -35, 10, 130.5, FALSE, FALSE },
  { 90, 64, 70, 70, 9, 1, -35, 35, -31.5, FALSE, TRUE },
  { 200, 33, 40, 50, 16, 0.25, -3, 20, 99.5, FALSE, FALSE },
  { 200, 33, 50, 40, 1, 0.5, 60, 20, 99.5, TRUE, FALSE },
  /* Steps close to those that a single slice's vectors see enough columns for. */
  { 120, 90, 64, 60, 1, 1.19, -37, 36, 59.25, FALSE, TRUE },
  { 120, 90, 64, 60, 1, 1.35, -42, 41, 59.25, FALSE, TRUE },
  { 120, 90, 64, 60, 1, 1.5, -47, 45, 59.25, FALSE, TRUE },
  { 250, 45, 60, 64, 1, 4, -120, 120, 124.25, FALSE, TRUE },
  { 250, 45, 64, 60, 12, 4, -120, 120, 124.25, FALSE, TRUE },
  { 33, 5000, 17, 19, 1, 1, -8, 9, 16.125, FALSE, TRUE },
  { 33, 5000, 7, 9, 10, 1, -3, 4, 16.125, FALSE, TRUE },
  { 300, 50, 20, 20, 25, 1, -10, 10, 149.375, FALSE, FALSE },
};

typedef struct {
  TdDevice *device;
  const TdBackprojectFamily *family;
  TdInterpolation interpolation;
  const char *define; /* of a variant; NULL: the default */
} Case;

static double *
random_doubles (GRand *rand, guint n, double low, double high)
{
  double *values = g_new (double, n);

  for (guint i = 0; i < n; i++)
    values[i] = g_rand_double_range (rand, low, high);
  return values;
}

static gboolean
project (const Case *test, const TdBackprojectTask *task, const float *sinograms, float *slices,
         guint n_slices, GError **error)
{
  guint64 in = (guint64) n_slices * task->n_views * task->n_columns * sizeof (float);
  guint64 out = (guint64) n_slices * task->nx * task->ny * sizeof (float);
  const guint64 margin = 64; /* bytes before both, so that offsets count */
  char *defines[] = { (char *) test->define, NULL };
  TdBackprojectVariant variant = { .family = test->family->name, .slices = 1, .defines = defines };

  td_test_guard (test->device);
  g_autoptr (TdQueue) queue = td_queue_new (test->device, error);
  g_autoptr (TdBuffer) from = queue ? td_buffer_new (test->device, in + margin, error) : NULL;
  g_autoptr (TdBuffer) to = from ? td_buffer_new (test->device, out + margin, error) : NULL;
  const guint64 before = to ? td_test_allocated (test->device) : 0;
  g_autoptr (TdBackprojector) projector
      = to ? td_backprojector_new (test->family, test->device, task, test->define ? &variant : NULL,
                                   n_slices, error)
           : NULL;

  if (!projector || !td_upload (queue, from, margin, sinograms, in, error)
      || !td_backprojector_run (projector, queue, (TdPlace) { from, margin },
                                (TdPlace) { to, margin }, n_slices, error))
    return FALSE;
  if (!test->define) /* plans know no variants */
    td_test_workspace (
        test->device, before,
        test->family->workspace_bytes (test->family, task, td_device_info (test->device), n_slices),
        1.01);
  return td_download (queue, slices, to, margin, out, error) && td_queue_finish (queue, error);
}

/* Relative L2 over all slices; the absolute one where the truth is 0. */
static double
compare (const TdBackprojectTask *task, const float *sinograms, const float *slices, guint n_slices)
{
  gsize pixels = (gsize) task->nx * task->ny, bins = (gsize) task->n_views * task->n_columns;
  g_autofree double *truth = g_new (double, pixels);
  double error = 0, norm = 0;

  for (guint s = 0; s < n_slices; s++) {
    td_backproject_reference (task, sinograms + s * bins, truth);
    for (gsize i = 0; i < pixels; i++) {
      double difference = slices[s * pixels + i] - truth[i];
      error += difference * difference;
      norm += truth[i] * truth[i];
    }
  }
  return sqrt (norm > 0 ? error / norm : error);
}

static void
check_shape (const Case *test, const Shape *shape, GRand *rand)
{
  g_autofree double *angles = random_doubles (rand, shape->n_views, -4, 7);
  g_autofree double *axis = random_doubles (rand, shape->n_views, -2, 2);
  g_autofree double *weights = random_doubles (rand, shape->n_views, 0.1, 2);
  gsize n = (gsize) shape->n_slices * shape->n_views * shape->n_columns;
  g_autofree float *sinograms = g_new (float, n);
  g_autofree float *slices = g_new (float, (gsize) shape->n_slices * shape->nx * shape->ny);
  g_autoptr (GError) error = NULL;
  TdBackprojectTask task = {
    .n_columns = shape->n_columns,
    .n_views = shape->n_views,
    .nx = shape->nx,
    .ny = shape->ny,
    .x0 = shape->x0,
    .y0 = shape->y0,
    .step = shape->step,
    .centre_px = shape->centre_px,
    .angles_rad = angles,
    .axis_px = shape->axis ? axis : NULL,
    .weights = shape->weights ? weights : NULL,
    .scale = 0.7,
    .interpolation = test->interpolation,
  };

  for (gsize i = 0; i < n; i++)
    sinograms[i] = (float) g_rand_double_range (rand, -1, 1);
  for (gsize i = 0; i < (gsize) shape->n_slices * shape->nx * shape->ny; i++)
    slices[i] = NAN;
  if (test->family->unsupported
      && test->family->unsupported (test->family, &task, td_device_info (test->device)))
    return;
  project (test, &task, sinograms, slices, shape->n_slices, &error);
  g_assert_no_error (error);

  double found = compare (&task, sinograms, slices, shape->n_slices);
  double bound = test->family->error_bound (test->family, &task, td_device_info (test->device));
  if (g_strcmp0 (test->define, "TEXTURED=1") == 0)
    bound = 1e-2; /* u in single, weights as the device's textures have them */
  if (!(found <= bound))
    g_test_message ("%u columns, %u views, %u slices of %u x %u, step %g, centre %g: %.3g > %.3g",
                    shape->n_columns, shape->n_views, shape->n_slices, shape->nx, shape->ny,
                    shape->step, shape->centre_px, found, bound);
  g_assert_cmpfloat (found, <=, bound);
}

static void
test_family (gconstpointer data)
{
  const Case *test = data;
  g_autoptr (GRand) rand = g_rand_new_with_seed (20261121);

  for (guint i = 0; i < G_N_ELEMENTS (shapes); i++)
    check_shape (test, &shapes[i], rand);
}

/* The claim that must hold where speed is sought: 1e-5 in single precision, linear. */
static void
test_host_is_exact (void)
{
  g_autofree double *angles = g_new0 (double, 1000);
  TdBackprojectTask task = { .n_columns = 1000,
                             .n_views = 1000,
                             .nx = 1000,
                             .ny = 1000,
                             .step = 1,
                             .angles_rad = angles,
                             .interpolation = TD_INTERPOLATION_LINEAR };
  g_autoptr (TdDevice) host = td_device_open ("host", NULL);
  const TdBackprojectFamily *family = td_backproject_choose ("auto", &task, host, 1, NULL);

  g_assert_nonnull (family);
  g_assert_cmpstr (family->name, ==, "host");
  g_assert_cmpfloat (family->error_bound (family, &task, td_device_info (host)), <, 1e-5);
}

/* A new centre without a new projector gives what a new projector gives. */
static void
test_update (void)
{
  enum { N = 60, VIEWS = 40 };
  g_autoptr (GRand) rand = g_rand_new_with_seed (7);
  g_autofree double *angles = random_doubles (rand, VIEWS, 0, 3);
  g_autofree float *sinogram = g_new (float, N *VIEWS);
  g_autoptr (TdDevice) device = td_device_open ("host", NULL);
  g_autoptr (TdQueue) queue = td_queue_new (device, NULL);
  g_autoptr (TdBuffer) in = td_buffer_new (device, N * VIEWS * sizeof (float), NULL);
  g_autoptr (TdBuffer) out = td_buffer_new (device, N * N * sizeof (float), NULL);
  g_autoptr (GError) error = NULL;
  TdBackprojectTask task = { .n_columns = N,
                             .n_views = VIEWS,
                             .nx = N,
                             .ny = N,
                             .x0 = -29.5,
                             .y0 = 29.5,
                             .step = 1,
                             .centre_px = 20,
                             .angles_rad = angles,
                             .scale = 1,
                             .interpolation = TD_INTERPOLATION_LINEAR };
  g_autoptr (TdBackprojector) projector
      = td_backprojector_new (td_backproject_family ("host", NULL), device, &task, NULL, 1, &error);

  g_assert_no_error (error);
  for (guint i = 0; i < N * VIEWS; i++)
    sinogram[i] = (float) g_rand_double (rand);
  g_assert_true (td_upload (queue, in, 0, sinogram, N * VIEWS * sizeof (float), NULL));
  task.centre_px = 31.25;
  g_assert_true (td_backprojector_update (projector, &task, &error));
  g_assert_true (td_backprojector_run (projector, queue, (TdPlace) { in, 0 }, (TdPlace) { out, 0 },
                                       1, &error));
  g_assert_cmpfloat (compare (&task, sinogram, td_buffer_map (out), 1), <, 1e-5);

  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  td_backprojector_set_cancellable (projector, cancellable);
  g_cancellable_cancel (cancellable);
  g_assert_false (td_backprojector_run (projector, queue, (TdPlace) { in, 0 }, (TdPlace) { out, 0 },
                                        1, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
}

/* A projector follows a new centre, and is made anew for rows of another width or number. */
static void
test_follows (gconstpointer id)
{
  const double angles[] = { 0, 0.5, 1, 1.5, 2, 2.5 };
  const TdBackprojectTask task = { .n_columns = 40,
                                   .n_views = G_N_ELEMENTS (angles) - 1,
                                   .nx = 16,
                                   .ny = 16,
                                   .step = 1,
                                   .centre_px = 20,
                                   .angles_rad = angles,
                                   .scale = 1,
                                   .interpolation = TD_INTERPOLATION_LINEAR };
  g_autoptr (GError) error = NULL;
  g_autoptr (TdDevice) device = td_device_open (id, &error);
  const char *family = td_device_info (device)->cpu_shaped ? "host" : "standard";
  g_autoptr (TdBackprojector) projector
      = td_backprojector_new (td_backproject_family (family, NULL), device, &task, NULL, 1, &error);

  g_assert_no_error (error);
  for (guint i = 0; i < 4; i++) {
    TdBackprojectTask other = task;
    other.centre_px += i == 0 ? 1.5 : 0;
    other.n_columns += i == 1;
    other.n_views += i == 2;
    other.n_views -= i == 3;
    g_assert_cmpint (td_backprojector_update (projector, &other, &error), ==, i == 0);
    g_assert_no_error (error);
  }
}

/* More views than there is room for come in blocks, of which all but the first add. */
static void
test_blocks (gconstpointer data)
{
  /* A slice, and as many as each way computes at once; the last block has few views. */
  static const Shape blocks[] = {
    { 101, 70, 40, 33, 1, 1, -19.6, 16.3, 49.75, TRUE, TRUE },
    { 50, 130, 70, 66, 1, 1, -35, 32, 24.4, FALSE, TRUE },
    { 50, 195, 20, 17, 21, 1, -10, 8, 24.4, FALSE, FALSE },
    { 30, 66, 17, 9, 37, 2, -16.3, 8.7, 14.4, FALSE, TRUE },
  };
  TdDevice *device = td_test_open (data);
  g_autoptr (GRand) rand = g_rand_new_with_seed (8);

  td_portion_shift = 12; /* 64 KiB */
  for (guint i = 0; i < 2 * G_N_ELEMENTS (blocks); i++) {
    const Case test = { device, td_backproject_family ("host", NULL),
                        i % 2 ? TD_INTERPOLATION_LINEAR : TD_INTERPOLATION_NEAREST, NULL };
    check_shape (&test, &blocks[i / 2], rand);
  }
  td_portion_shift = 0;
  td_test_close (device);
}

/* The bench's baseline is as right as what it is compared with, of each instruction set. */
static void
test_baseline (void)
{
  const TdHostKernels *const kernels[] = { td_host_kernels (), &td_host_kernels_plain };
  enum { COLUMNS = 31, VIEWS = 23, NX = 41, NY = 19 };
  g_autoptr (GRand) rand = g_rand_new_with_seed (4);
  g_autofree double *angles = random_doubles (rand, VIEWS, -4, 7);
  g_autofree double *weights = random_doubles (rand, VIEWS, 0.1, 2);
  double start[VIEWS], du_x[VIEWS], du_y[VIEWS];
  float places[4][VIEWS], sinogram[VIEWS * COLUMNS], slice[NX * NY];
  TdBackprojectTask task = { .n_columns = COLUMNS,
                             .n_views = VIEWS,
                             .nx = NX,
                             .ny = NY,
                             .x0 = -20.3,
                             .y0 = 9.1,
                             .step = 1,
                             .centre_px = 15.3,
                             .angles_rad = angles,
                             .weights = weights,
                             .scale = 1 };

  for (guint i = 0; i < VIEWS * COLUMNS; i++)
    sinogram[i] = (float) g_rand_double_range (rand, -1, 1);
  td_backproject_views (&task, start, du_x, du_y);
  for (guint v = 0; v < VIEWS; v++) {
    places[0][v] = (float) start[v];
    places[1][v] = (float) du_x[v];
    places[2][v] = (float) du_y[v];
    places[3][v] = (float) weights[v];
  }
  for (guint i = 0; i < 2 * G_N_ELEMENTS (kernels); i++) {
    const TdHostBaseline baseline = { sinogram, places[0], places[1], places[2], places[3],
                                      COLUMNS,  VIEWS,     NX,        i % 2,     slice };
    task.interpolation = i % 2 ? TD_INTERPOLATION_NEAREST : TD_INTERPOLATION_LINEAR;
    for (guint y = 0; y < NY; y++)
      kernels[i / 2]->baseline (&baseline, y);
    g_assert_cmpfloat (compare (&task, sinogram, slice, 1), <, 1e-5);
  }
}

/* What lies in a disc is right; tiles that lie beyond it are left as they were. */
static void
test_disc (void)
{
  enum { N = 50, VIEWS = 9, TILE = 64, NX = 200, NY = 141 };
  static const struct {
    double x0, y0, step, disc;
  } places[] = {
    { -99.5, 70, 1, 40 }, { -99.5, 70, 1, 1000 }, { -20, 100, 1, 30 }, { -150, 20, 1, 25 },
    { 10, 90, 1, 22 },    { -60, -3, 0.5, 31 },   { -99.5, 70, 1, 0 }, { -140, 135, 1, 9 },
  };
  g_autoptr (GRand) rand = g_rand_new_with_seed (3);
  g_autofree double *angles = random_doubles (rand, VIEWS, 0, 3);
  g_autofree float *sinogram = g_new (float, N *VIEWS);
  g_autofree double *truth = g_new (double, NX *NY);
  g_autoptr (TdDevice) device = td_device_open ("host", NULL);
  g_autoptr (TdQueue) queue = td_queue_new (device, NULL);
  g_autoptr (TdBuffer) in = td_buffer_new (device, N * VIEWS * sizeof (float), NULL);
  g_autoptr (TdBuffer) out = td_buffer_new (device, NX * NY * sizeof (float), NULL);
  float *slice = td_buffer_map (out);

  for (guint i = 0; i < N * VIEWS; i++)
    sinogram[i] = (float) g_rand_double (rand);
  g_assert_true (td_upload (queue, in, 0, sinogram, N * VIEWS * sizeof (float), NULL));
  for (guint p = 0; p < G_N_ELEMENTS (places); p++) {
    g_autoptr (GError) error = NULL;
    const double step = places[p].step, disc = places[p].disc;
    const TdBackprojectTask task = { .n_columns = N,
                                     .n_views = VIEWS,
                                     .nx = NX,
                                     .ny = NY,
                                     .x0 = places[p].x0,
                                     .y0 = places[p].y0,
                                     .step = step,
                                     .centre_px = 24.6,
                                     .angles_rad = angles,
                                     .scale = 1,
                                     .interpolation = TD_INTERPOLATION_LINEAR,
                                     .disc = disc };
    g_autoptr (TdBackprojector) projector = td_backprojector_new (
        td_backproject_family ("host", NULL), device, &task, NULL, 1, &error);

    g_assert_no_error (error);
    for (guint i = 0; i < NX * NY; i++)
      slice[i] = NAN;
    g_assert_true (td_backprojector_run (projector, queue, (TdPlace) { in, 0 },
                                         (TdPlace) { out, 0 }, 1, &error));
    td_backproject_reference (&task, sinogram, truth);
    for (guint i = 0; i < NX * NY; i++) {
      const guint x = i % NX, y = i / NX;
      /* The tile's point that is closest to the axis. */
      const double left = task.x0 + x / TILE * TILE * step, right = left + (TILE - 1) * step;
      const double top = task.y0 - y / TILE * TILE * step, bottom = top - (TILE - 1) * step;
      const double closest = hypot (CLAMP (0, left, right), CLAMP (0, bottom, top));
      if (disc > 0 && closest > disc)
        g_assert_true (isnan (slice[i]));
      else
        g_assert_cmpfloat_with_epsilon (slice[i], truth[i], 1e-4);
    }
  }
}

/* One value after the other that no geometry has. */
static void
check_numbers (const TdBackprojectFamily *family, TdDevice *device, const TdBackprojectTask *fine)
{
  static const gsize members[]
      = { offsetof (TdBackprojectTask, x0), offsetof (TdBackprojectTask, y0),
          offsetof (TdBackprojectTask, step), offsetof (TdBackprojectTask, centre_px),
          offsetof (TdBackprojectTask, scale) };
  static const gsize lists[]
      = { offsetof (TdBackprojectTask, angles_rad), offsetof (TdBackprojectTask, axis_px),
          offsetof (TdBackprojectTask, weights) };
  static const double values[] = { NAN, INFINITY, -INFINITY };

  for (guint v = 0; v < G_N_ELEMENTS (values); v++) {
    const double last[] = { 0, values[v] };
    for (guint i = 0; i < G_N_ELEMENTS (members) + G_N_ELEMENTS (lists); i++) {
      g_autoptr (GError) error = NULL;
      TdBackprojectTask task = *fine;
      if (i < G_N_ELEMENTS (members))
        *(double *) ((char *) &task + members[i]) = values[v];
      else
        *(const double **) ((char *) &task + lists[i - G_N_ELEMENTS (members)]) = last;
      g_assert_null (td_backprojector_new (family, device, &task, NULL, 1, &error));
      g_assert_error (error, TD_ERROR, TD_ERROR_INVALID);
    }
  }
}

/* Sizes of which there is nothing, too much, or all that 31 bits count. */
static void
check_sizes (const TdBackprojectFamily *family, TdDevice *device, const TdBackprojectTask *fine)
{
  static const struct {
    guint n_columns, n_views, nx, ny;
    double step;
    int code; /* -1: none */
  } sizes[] = {
    { 0, 2, 8, 8, 1, TD_ERROR_INVALID },
    { 8, 0, 8, 8, 1, TD_ERROR_INVALID },
    { 8, 2, 0, 8, 1, TD_ERROR_INVALID },
    { 8, 2, 8, 0, 1, TD_ERROR_INVALID },
    { 8, 2, 8, 8, 0, TD_ERROR_INVALID },
    { 8, 2, 8, 8, -1, TD_ERROR_INVALID },
    { 8, 2, 8, 8, 0x1p25, -1 },
    { 8, 2, 8, 8, 0x1.0001p25, TD_ERROR_INVALID },
    { 8, 2, 1u << 16, 1u << 15, 1, TD_ERROR_TOO_LARGE },
    { 1u << 30, 2, 8, 8, 1, TD_ERROR_TOO_LARGE },
    { 8, 2, 8, 8, 1, -1 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++) {
    g_autoptr (GError) error = NULL;
    TdBackprojectTask task = *fine;
    task.n_columns = sizes[i].n_columns;
    task.n_views = sizes[i].n_views;
    task.nx = sizes[i].nx;
    task.ny = sizes[i].ny;
    task.step = sizes[i].step;
    g_autoptr (TdBackprojector) projector
        = td_backprojector_new (family, device, &task, NULL, 1, &error);
    if (sizes[i].code < 0)
      g_assert_no_error (error);
    else
      g_assert_error (error, TD_ERROR, sizes[i].code);
    g_assert_true ((projector == NULL) == (sizes[i].code >= 0));
  }
}

static void
test_refusals (void)
{
  static const double angles[2] = { 0, 1 };
  const TdBackprojectTask task = {
    .n_columns = 8, .n_views = 2, .nx = 8, .ny = 8, .step = 1, .angles_rad = angles, .scale = 1
  };
  g_autoptr (TdDevice) device = td_device_open ("host", NULL);
  const TdBackprojectFamily *family = td_backproject_family ("host", NULL);
  g_autoptr (GError) error = NULL;

  check_numbers (family, device, &task);
  check_sizes (family, device, &task);
  g_assert_null (td_backproject_family ("quantum", &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_INVALID);
  g_clear_error (&error);
  g_assert_null (td_backproject_choose ("standard", &task, device, 1, &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_INVALID);
}

static void
case_free (gpointer data)
{
  Case *test = data;

  td_device_unref (test->device);
  g_free (test);
}

static void
add_case (TdDevice *device, const TdBackprojectFamily *family, TdInterpolation interpolation,
          const char *define)
{
  Case *test = g_new (Case, 1);
  g_autofree char *path
      = g_strdup_printf ("/backproject/%s/%s/%s%s%s", td_device_info (device)->id, family->name,
                         interpolation == TD_INTERPOLATION_NEAREST ? "nearest" : "linear",
                         define ? "/" : "", define ? define : "");

  *test = (Case) { td_device_ref (device), family, interpolation, define };
  g_test_add_data_func_full (path, test, test_family, case_free);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_autoptr (GPtrArray) entries = td_device_list ();
  g_autoptr (GPtrArray) devices = g_ptr_array_new_with_free_func ((GDestroyNotify) td_device_unref);

  for (guint i = 0; i < entries->len; i++) {
    const TdDeviceEntry *entry = entries->pdata[i];
    TdDevice *device = entry->available ? td_device_open (entry->id, NULL) : NULL;
    if (device)
      g_ptr_array_add (devices, device);
  }
  for (guint i = 0; i < devices->len; i++) {
    TdDevice *device = devices->pdata[i];
    const TdBackprojectFamily *standard = td_backproject_family ("standard", NULL);
    for (guint linear = 0; linear < 2; linear++) {
      TdInterpolation interpolation = linear ? TD_INTERPOLATION_LINEAR : TD_INTERPOLATION_NEAREST;
      add_case (device, td_backproject_family ("host", NULL), interpolation, NULL);
      add_case (device, standard, interpolation, NULL);
      if (td_device_info (device)->texels & 1u << TD_TEXEL_R32F)
        add_case (device, standard, interpolation, "TEXTURED=1");
    }
  }
  g_test_add_func ("/backproject/host-is-exact", test_host_is_exact);
  g_test_add_func ("/backproject/update-and-cancel", test_update);
  g_test_add_func ("/backproject/refusals", test_refusals);
  g_test_add_func ("/backproject/baseline", test_baseline);
  g_test_add_func ("/backproject/disc", test_disc);
  td_test_each_device ("backproject", &(TdDeviceTest) { "follows", test_follows }, 1);
  td_test_each_device ("backproject", &(TdDeviceTest) { "blocks", test_blocks }, 1);
  return g_test_run ();
}
