/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every GPU back-projection family, variant by variant, within its stated bound of the
   double-precision reference, on every OpenCL and CUDA device there is. */
#include "tests/common/devices.h"
#include "compute/parallel/packed-sinograms.h"
#include "compute/parallel/trial.h"

#include <math.h>
#include <string.h>

typedef struct {
  const char *name;
  guint n_columns, n_views, nx, ny, n_slices;
  double centre_px, step;
  double x0, y0; /* NAN: the region around the axis */
  gboolean axis, weights;
} Case;

/* The quick ones first; sides are a pixel more than tiles. Centres lie off the halves, so that
 * nearest has no ties but by chance. */
static const Case cases[] = {
  { "odd", 67, 37, 65, 33, 3, 30.37, 1, NAN, NAN, TRUE, TRUE },
  { "half-pixels", 90, 40, 70, 66, 4, 44.71, 0.5, NAN, NAN, FALSE, FALSE },
  { "one-column", 1, 5, 9, 7, 1, 0.13, 1, NAN, NAN, FALSE, FALSE },
  { "centre-outside", 40, 33, 80, 65, 2, -23.41, 1, NAN, NAN, FALSE, TRUE },
  { "far-region", 50, 31, 40, 40, 1, 24.9, 1, 3000.25, -2500.5, FALSE, FALSE },
  { "one-view", 100, 1, 33, 31, 5, 49.3, 1, NAN, NAN, FALSE, FALSE },
  { "wide-pixels", 150, 24, 30, 41, 2, 74.83, 3.7, NAN, NAN, TRUE, FALSE },
  { "region", 200, 19, 65, 64, 2, 99.4, 1, -83.5, 60.25, TRUE, TRUE },
  { "many-views", 33, 5000, 12, 15, 2, 15.91, 1, NAN, NAN, TRUE, TRUE },
  { "many-columns", 16385, 7, 40, 33, 1, 8190.2, 1, -8100, 17, FALSE, FALSE },
};
/* The sanitizers are for what is around kernels, which a driver compiles out of their sight: one
 * variant. */
#ifdef __SANITIZE_ADDRESS__
enum { FIRST = 1, N_QUICK = 2 };
#else
enum { FIRST = 0, N_QUICK = 2 };
#endif

static double
noise (GRand *random)
{
  return g_rand_double_range (random, -1, 1);
}

typedef struct {
  TdBackprojectTask task;
  double *angles, *axis, *weights;
  float *sinograms;
  double *truth;
} Problem;

static Problem *
problem_new (const Case *c, TdInterpolation interpolation, TdPrecision precision)
{
  Problem *p = g_new0 (Problem, 1);
  g_autoptr (GRand) random = g_rand_new_with_seed (c->n_columns * 31 + c->n_views);
  gsize sinogram = (gsize) c->n_columns * c->n_views, slice = (gsize) c->nx * c->ny;

  p->angles = g_new (double, c->n_views);
  p->axis = g_new (double, c->n_views);
  p->weights = g_new (double, c->n_views);
  for (guint v = 0; v < c->n_views; v++) {
    p->angles[v] = 2 * G_PI * (v + 0.11) / c->n_views - 1;
    p->axis[v] = 2 * noise (random);
    p->weights[v] = 1 + 0.5 * noise (random);
  }
  p->sinograms = g_new (float, c->n_slices *sinogram);
  for (gsize i = 0; i < c->n_slices * sinogram; i++)
    p->sinograms[i] = 0.01 * noise (random);
  p->task = (TdBackprojectTask) {
    .n_columns = c->n_columns,
    .n_views = c->n_views,
    .nx = c->nx,
    .ny = c->ny,
    .x0 = isnan (c->x0) ? (1.0 - c->nx) / 2 * c->step : c->x0,
    .y0 = isnan (c->y0) ? (c->ny - 1) / 2.0 * c->step : c->y0,
    .step = c->step,
    .centre_px = c->centre_px,
    .angles_rad = p->angles,
    .axis_px = c->axis ? p->axis : NULL,
    .weights = c->weights ? p->weights : NULL,
    .scale = 0.7,
    .interpolation = interpolation,
    .precision = precision,
  };
  p->truth = g_new (double, c->n_slices *slice);
  for (guint s = 0; s < c->n_slices; s++)
    td_backproject_reference (&p->task, p->sinograms + s * sinogram, p->truth + s * slice);
  return p;
}

static void
problem_free (Problem *p)
{
  g_free (p->angles);
  g_free (p->axis);
  g_free (p->weights);
  g_free (p->sinograms);
  g_free (p->truth);
  g_free (p);
}

static double
relative_error (const float *values, const double *truth, gsize n)
{
  double error = 0, size = 0;

  for (gsize i = 0; i < n; i++) {
    error += (values[i] - truth[i]) * (values[i] - truth[i]);
    size += truth[i] * truth[i];
  }
  return size > 0 ? sqrt (error / size) : sqrt (error);
}

/* Sinograms and slices start one float into their buffers, and the slices as NaN. */
static void
run (TdDevice *device, TdBackprojector *projector, const Problem *p, guint n_slices, float *out)
{
  g_autoptr (GError) error = NULL;
  guint64 in_bytes = sizeof (float) * n_slices * (guint64) p->task.n_columns * p->task.n_views;
  gsize n = (gsize) n_slices * p->task.nx * p->task.ny;
  g_autoptr (TdQueue) queue = td_queue_new (device, &error);
  g_autoptr (TdBuffer) sinograms = td_buffer_new (device, in_bytes + sizeof (float), &error);
  g_autoptr (TdBuffer) slices = td_buffer_new (device, (n + 1) * sizeof (float), &error);

  g_assert_no_error (error);
  for (gsize i = 0; i < n; i++)
    out[i] = NAN;
  td_upload (queue, sinograms, sizeof (float), p->sinograms, in_bytes, &error);
  g_assert_no_error (error);
  td_upload (queue, slices, sizeof (float), out, n * sizeof (float), &error);
  g_assert_no_error (error);
  td_backprojector_run (projector, queue, (TdPlace) { sinograms, sizeof (float) },
                        (TdPlace) { slices, sizeof (float) }, n_slices, &error);
  g_assert_no_error (error);
  td_download (queue, out, slices, sizeof (float), n * sizeof (float), &error);
  g_assert_no_error (error);
  td_queue_finish (queue, &error);
  g_assert_no_error (error);
}

static void
check (TdDevice *device, const TdBackprojectFamily *family, const Case *c, const Problem *p,
       const TdBackprojectVariant *variant)
{
  g_autoptr (GError) error = NULL;
  gsize n = (gsize) c->n_slices * c->nx * c->ny;
  td_test_guard (device);
  const guint64 before = td_test_allocated (device);
  g_autofree float *out = g_new (float, n);
  g_autofree char *defines
      = variant && variant->defines ? g_strjoinv (" ", variant->defines) : g_strdup ("default");
  g_autoptr (TdBackprojector) projector
      = td_backprojector_new (family, device, &p->task, variant, c->n_slices, &error);

  if (g_error_matches (error, TD_ERROR, TD_ERROR_DEVICE_MEMORY))
    return; /* this variant asks more local memory than the device has: said so, as it should */
  g_assert_no_error (error);
  run (device, projector, p, c->n_slices, out);
  if (!variant)
    td_test_workspace (
        device, before,
        family->workspace_bytes (family, &p->task, td_device_info (device), c->n_slices), 1.2);

  double off = relative_error (out, p->truth, n);
  double bound = family->error_bound (family, &p->task, td_device_info (device));
  g_test_message ("%s %s, %s, %s: %.2e of %.2e (%s)", td_device_info (device)->id, family->name,
                  c->name, p->task.interpolation == TD_INTERPOLATION_LINEAR ? "linear" : "nearest",
                  off, bound, projector->description);
  if (!(off <= bound))
    g_error (
        "%s: %s kernels, case %s, interpolation %d, precision %d, %u slices at once, %s: error "
        "%.3e passes the bound %.3e",
        td_device_info (device)->id, family->name, c->name, p->task.interpolation,
        p->task.precision, variant ? variant->slices : 0, defines, off, bound);
}

static void
check_all (TdDevice *device, const TdBackprojectFamily *family, const Case *c,
           TdInterpolation interpolation, TdPrecision precision, gboolean variants)
{
  Problem *p = problem_new (c, interpolation, precision);

  if (!family->unsupported (family, &p->task, td_device_info (device))) {
    check (device, family, c, p, NULL);
    g_autoptr (GPtrArray) list
        = variants ? family->candidates (family, &p->task, td_device_info (device)) : NULL;
    for (guint i = 0; list && i < list->len; i++)
      check (device, family, c, p, list->pdata[i]);
  }
  problem_free (p);
}

typedef struct {
  char *device;
  const TdBackprojectFamily *family;
  gboolean single; /* no half precision: Oclgrind has no arithmetic for it */
} Subject;

static void
subject_free (gpointer data)
{
  g_free (((Subject *) data)->device);
  g_free (data);
}

/* Quick: two shapes of problem, default variants, the second linear and single only (each program
   takes seconds to build). Slow (-m slow): all of them; every variant once. */
static void
test_family (gconstpointer data)
{
  const Subject *subject = data;
  g_autoptr (GError) error = NULL;
  g_autoptr (TdDevice) device = td_device_open (subject->device, &error);

  g_assert_no_error (error);
  for (guint c = g_test_slow () ? 0 : FIRST; c < (g_test_slow () ? G_N_ELEMENTS (cases) : N_QUICK);
       c++)
    for (int interpolation = g_test_slow () || c == 0 ? 0 : 1; interpolation < 2; interpolation++)
      for (int precision = 0; precision < (!subject->single && (g_test_slow () || c == 0) ? 3 : 1);
           precision++)
        check_all (device, subject->family, &cases[c], interpolation, precision,
                   g_test_slow () && c == 0);
}

/* A projector follows a new centre and new angles without being built again. */
static void
check_update (TdDevice *device, const TdBackprojectFamily *family,
              const TdBackprojectVariant *variant)
{
  g_autoptr (GError) error = NULL;
  Problem *p = problem_new (&cases[0], TD_INTERPOLATION_LINEAR, TD_PRECISION_SINGLE);
  gsize n = (gsize) cases[0].nx * cases[0].ny;
  g_autofree float *out = g_new (float, n);
  TdBackprojectTask before = p->task;
  g_autofree double *angles = g_new (double, before.n_views);

  for (guint v = 0; v < before.n_views; v++)
    angles[v] = 0.3 * v;
  before.centre_px += 3.3;
  before.angles_rad = angles;
  if (!family->unsupported (family, &before, td_device_info (device))) {
    g_autoptr (TdBackprojector) projector
        = td_backprojector_new (family, device, &before, variant, 1, &error);
    g_assert_no_error (error);
    if (td_backprojector_update (projector, &p->task, &error)) {
      run (device, projector, p, 1, out);
      g_assert_cmpfloat (relative_error (out, p->truth, n), <=,
                         family->error_bound (family, &p->task, td_device_info (device)));
    }
    g_assert_no_error (error);
  }
  problem_free (p);
}

/* The views' constants come through local memory, and once as they are in the device's. */
static void
test_update (gconstpointer data)
{
  const Subject *subject = data;
  char *defines[] = { (char *) "TD_LOCAL_VIEWS=0", NULL };
  const TdBackprojectVariant constant = { .family = "texture", .slices = 1, .defines = defines };
  g_autoptr (GError) error = NULL;
  g_autoptr (TdDevice) device = td_device_open (subject->device, &error);

  g_assert_no_error (error);
  check_update (device, subject->family, NULL);
  if (g_str_equal (subject->family->name, "texture"))
    check_update (device, subject->family, &constant);
}

static void
add_test (const char *path, const char *suffix, const char *device,
          const TdBackprojectFamily *family, GTestDataFunc test)
{
  g_autofree char *name = g_strconcat (path, suffix, NULL);
  Subject *subject = g_new (Subject, 1);

  *subject = (Subject) { g_strdup (device), family, suffix != NULL };
  g_test_add_data_func_full (name, subject, test, subject_free);
}

/* A shape that there is not is refused before anything is built. */
static void
test_no_shape (gconstpointer id)
{
  static const char *const names[] = { "alu", "hybrid", "oversampling" };
  TdDevice *device = td_test_open (id);
  TdBackprojectTask task;

  td_trial_task_init (&task, 32, 8, 32, TD_INTERPOLATION_LINEAR, TD_PRECISION_SINGLE);
  for (guint i = 0; i < G_N_ELEMENTS (names); i++) {
    const TdBackprojectFamily *family = td_backproject_family (names[i], NULL);
    TdBackprojectVariant *variant = td_backproject_variant_new (names[i], 1, "TD_TILE=33");
    g_autoptr (GError) error = NULL;

    g_assert_null (td_backprojector_new (family, device, &task, variant, 1, &error));
    g_assert_error (error, TD_ERROR, TD_ERROR_INVALID);
    td_backproject_variant_free (variant);
  }
  g_free ((double *) task.angles_rad);
  td_test_close (device);
}

/* What half storage is scaled by is the largest value of all slices times the largest weight,
   wherever they are. */
static void
test_greatest (gconstpointer id)
{
  enum { COLUMNS = 67, VIEWS = 37, SLICES = 3, N = COLUMNS * VIEWS * SLICES };
  static const guint places[] = { 0, N / 2, N - 1, COLUMNS - 1, N - COLUMNS };
  const TdPackSpec spec
      = { .slices = 4, .planes = 1, .samples = 1, .batch = 1, .half = TRUE, .scaled = TRUE };
  g_autoptr (GError) error = NULL;
  TdDevice *device = td_test_open (id);
  Problem *p = problem_new (&cases[0], TD_INTERPOLATION_LINEAR, TD_PRECISION_HALF);

  if (!td_device_info (device)->half_storage) {
    g_test_skip ("it stores no halves");
  } else {
    TdPackedSinograms *packed = td_packed_sinograms_new (device, &p->task, &spec, &error);
    g_autoptr (TdQueue) queue = td_queue_new (device, &error);
    g_autoptr (TdBuffer) from = td_buffer_new (device, (N + 3) * sizeof (float), &error);
    double weight = 0;

    g_assert_no_error (error);
    for (guint v = 0; v < VIEWS; v++)
      weight = MAX (weight, p->weights[v]);
    for (guint i = 0; i < G_N_ELEMENTS (places); i++) {
      g_autofree float *values = g_new (float, N + 3);
      float greatest = 0;

      for (guint k = 0; k < N + 3; k++)
        values[k] = k == 3 + places[i] ? -7 : k < 3 ? 99 : 0.5f;
      td_upload (queue, from, 0, values, (N + 3) * sizeof (float), &error);
      td_packed_sinograms_measure (packed, queue, (TdPlace) { from, 3 * sizeof (float) }, SLICES,
                                   &error);
      td_download (queue, &greatest, td_packed_sinograms_buffers (packed)->greatest, 0,
                   sizeof greatest, &error);
      td_queue_finish (queue, &error);
      g_assert_no_error (error);
      g_assert_cmpfloat_with_epsilon (greatest, 7 * weight, 1e-5);
    }
    td_packed_sinograms_free (packed);
  }
  problem_free (p);
  td_test_close (device);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_autoptr (GPtrArray) devices = td_device_list ();

  for (guint d = 0; d < devices->len; d++) {
    const TdDeviceEntry *entry = devices->pdata[d];
    if (!entry->available || strcmp (entry->api, "host") == 0)
      continue;
    g_autofree char *none = g_strdup_printf ("/families/%s/no-shape", entry->id);
    g_test_add_data_func_full (none, g_strdup (entry->id), test_no_shape, g_free);
    g_autofree char *greatest = g_strdup_printf ("/families/%s/greatest", entry->id);
    g_test_add_data_func_full (greatest, g_strdup (entry->id), test_greatest, g_free);
    for (guint f = 0; td_backproject_families ()[f]; f++) {
      const TdBackprojectFamily *family = td_backproject_families ()[f];
      if (strcmp (family->name, "host") == 0)
        continue;
      g_autofree char *path = g_strdup_printf ("/families/%s/%s", entry->id, family->name);
      add_test (path, NULL, entry->id, family, test_family);
      add_test (path, "/single", entry->id, family, test_family);
      add_test (path, "/update", entry->id, family, test_update);
    }
  }
  return g_test_run ();
}
