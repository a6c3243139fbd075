/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <pthread.h>
#include <string.h>

#include "compute/cone/cone-bench.h"
#include "compute/engine/engine-private.h"
#include "compute/engine/fdk.h"
#include "dataset/phantom-scan.h"
#include "tests/common/devices.h"
#include "tests/common/pipeline.h"

/* FDK jobs on one and two devices: what they share, where rows are filtered, what happens when a device
   fails. The two are PoCL's, which meson asks for twice. */
enum { N = 48, VIEWS = 36 };

static TdEngine *engine;
static TdScan *scan;

/* ── Jobs ─────────────────────────────────────────────────────────────────────────────────────── */

typedef struct {
  float *slices;
  char *notes;
  gboolean seen[N];
  guint64 host_bytes, device_bytes; /* peaks */
} Volume;

static void
keep_slices (guint first, guint count, const float *slices, gpointer user)
{
  Volume *volume = user;

  for (guint i = first; i < first + count; i++) {
    g_assert_false (volume->seen[i]); /* each once */
    volume->seen[i] = TRUE;
  }
  memcpy (volume->slices + first * N * N, slices, count * N * N * sizeof *slices);
}

static void
volume_clear (Volume *volume)
{
  g_free (volume->slices);
  g_free (volume->notes);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Volume, volume_clear)

static TdPlan *
make_plan (const char *devices, TdShareKind share, TdFilterPlace filter_on, guint64 memory_limit)
{
  g_autoptr (GError) error = NULL;
  TdRecipe recipe;

  td_recipe_init (&recipe);
  g_strlcpy (recipe.devices, devices, sizeof recipe.devices);
  recipe.share = share;
  recipe.filter_on = filter_on;
  recipe.memory_limit_bytes = memory_limit;
  TdPlan *plan = td_plan_new (engine, scan, &recipe, NULL, NULL, &error);
  g_assert_no_error (error);
  return plan;
}

static gboolean
carry_out (TdPlan *plan, Volume *volume, GError **error)
{
  g_autoptr (TdJob) job = td_job_new (plan);
  const gsize samples = (gsize) N * N * N;

  *volume = (Volume) { g_new (float, samples) };
  memset (volume->slices, 0xff, samples * sizeof (float)); /* NaN: a slice that never comes shows */
  td_job_set_sink (job, keep_slices, volume);
  const gboolean ok = td_job_run (job, NULL, error);
  const TdJobResult *result = td_job_result (job);
  volume->notes = g_strjoinv ("\n", result->notes);
  volume->host_bytes = result->host_peak_bytes;
  volume->device_bytes = result->device_peak_bytes;
  return ok;
}

static void
assert_close (const Volume *got, const Volume *truth)
{
  double error = 0, norm = 0;

  for (gsize i = 0; i < (gsize) N * N * N; i++) {
    error += pow ((double) got->slices[i] - truth->slices[i], 2);
    norm += pow (truth->slices[i], 2);
  }
  g_test_message ("relative RMS %.2e", sqrt (error / norm));
  g_assert_cmpfloat (norm, >, 0);
  g_assert_true (sqrt (error / norm) <= 1e-5); /* NaN fails too */
}

/* The plain way: one device, everything at once. */
static void
reference (Volume *volume)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TdPlan) plan = make_plan ("opencl:0", TD_SHARE_AUTO, TD_FILTER_ON_CPU, 0);

  carry_out (plan, volume, &error);
  g_assert_no_error (error);
}

static gboolean
have_two (void)
{
  g_autoptr (GPtrArray) devices = td_test_devices ();
  const gboolean have = g_ptr_array_find_with_equal_func (devices, "opencl:1", g_str_equal, NULL);

  if (!have)
    g_test_skip ("no second OpenCL device");
  return have;
}

/* ── Sharing ──────────────────────────────────────────────────────────────────────────────────── */

static void
test_shares (void)
{
  static const char *const devices[] = { "opencl:0", "opencl:0,opencl:1", "host,opencl:0" };
  static const TdShareKind shares[] = { TD_SHARE_AUTO, TD_SHARE_VOLUME, TD_SHARE_PROJECTION };
  static const TdFilterPlace places[] = { TD_FILTER_ON_CPU, TD_FILTER_ON_DEVICE };
  g_auto (Volume) one = { NULL };

  if (!have_two ())
    return;
  reference (&one);
  for (guint d = 0; d < G_N_ELEMENTS (devices); d++)
    for (guint s = 0; s < G_N_ELEMENTS (shares); s++)
      for (guint p = 0; p < G_N_ELEMENTS (places); p++) {
        g_autoptr (GError) error = NULL;
        g_autoptr (TdPlan) plan = make_plan (devices[d], shares[s], places[p], 0);
        const TdFdkPlan *fdk = plan->extra;
        g_auto (Volume) volume = { NULL };

        g_test_message ("%s, %s, filtered on %s", devices[d], td_share_name (fdk->share),
                        td_filter_place_name (places[p]));
        if (shares[s] != TD_SHARE_AUTO && d > 0)
          g_assert_cmpint (fdk->share, ==, shares[s]);
        g_assert_cmpint (fdk->filter_on_device, ==, places[p] == TD_FILTER_ON_DEVICE);
        g_assert_cmpint (fdk->window, ==, places[p] == TD_FILTER_ON_DEVICE && d < 2
                                              && fdk->share == TD_SHARE_VOLUME);
        carry_out (plan, &volume, &error);
        g_assert_no_error (error);
        assert_close (&volume, &one);
      }
}

/* One slice cannot be shared by slabs: the planner sees that it pays to share the projections. */
static void
test_share_is_chosen (void)
{
  if (!have_two ())
    return;
  g_autoptr (GError) error = NULL;
  TdRecipe recipe;

  td_recipe_init (&recipe);
  g_strlcpy (recipe.devices, "opencl:0,opencl:1", sizeof recipe.devices);
  /* Both devices are one kind, for which there is one rate. */
  g_autoptr (TdPlan) plan = make_plan ("opencl:0", TD_SHARE_AUTO, TD_FILTER_ON_AUTO, 0);
  g_autofree char *key
      = td_fdk_device_rate_key (plan->devices->pdata[0], ((const TdFdkPlan *) plan->extra)->families[0]);
  td_engine_set_rate (engine, key, 1e6);
  recipe.row_first = N / 2;
  recipe.row_end = N / 2 + 1;
  g_autoptr (TdPlan) slice = td_plan_new (engine, scan, &recipe, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpint (((const TdFdkPlan *) slice->extra)->share, ==, TD_SHARE_PROJECTION);
  g_autofree char *notes = g_strjoinv ("\n", td_plan_facts (slice)->notes);
  g_assert_nonnull (strstr (notes, "share the projections"));

  recipe.row_first = recipe.row_end = 0;
  g_autoptr (TdPlan) whole = td_plan_new (engine, scan, &recipe, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpint (((const TdFdkPlan *) whole->extra)->share, ==, TD_SHARE_VOLUME);
}

/* Small windows, slabs, batches and landing buffers: everything is used again and again, and the plan's
   figures hold. */
static void
test_tight (gconstpointer limit)
{
  static const TdShareKind shares[] = { TD_SHARE_VOLUME, TD_SHARE_PROJECTION };
  g_auto (Volume) one = { NULL };

  if (!have_two ())
    return;
  reference (&one);
  for (guint s = 0; s < G_N_ELEMENTS (shares); s++)
    for (guint place = TD_FILTER_ON_CPU; place <= TD_FILTER_ON_DEVICE; place++) {
      g_autoptr (GError) error = NULL;
      g_auto (Volume) volume = { NULL };
      g_autoptr (TdPlan) plan
          = make_plan ("opencl:0,opencl:1", shares[s], place, GPOINTER_TO_SIZE (limit));
      const TdFdkPlan *fdk = plan->extra;
      g_test_message ("%s, filtered on %s: window of %u of %u chunks, slabs of %u, batches of %u, "
                      "landing %u", td_share_name (fdk->share), td_filter_place_name (place),
                      fdk->window ? fdk->window_chunks : 0, fdk->n_chunks, fdk->slab, fdk->batch,
                      fdk->land_slices);
      carry_out (plan, &volume, &error);
      g_assert_no_error (error);
      assert_close (&volume, &one);
      const TdPlanFacts *facts = td_plan_facts (plan);
      g_assert_cmpuint (facts->device_bytes, <=, GPOINTER_TO_SIZE (limit));
      g_assert_cmpuint (volume.device_bytes, <=, facts->device_bytes);
      g_assert_cmpuint (volume.host_bytes, <=, facts->host_bytes);
      g_assert_cmpuint (volume.device_bytes, >, facts->device_bytes / 4);
    }
}

/* Slabs in proportion to what the devices did before. */
static void
test_unequal (void)
{
  if (!have_two ())
    return;
  g_autoptr (TdPlan) plan = make_plan ("opencl:0,opencl:1", TD_SHARE_VOLUME, TD_FILTER_ON_DEVICE, 0);
  const TdFdkPlan *fdk = plan->extra;
  TdDevice *fast = plan->devices->pdata[0], *slow = plan->devices->pdata[1];
  g_assert_cmpuint (fdk->n_slabs, ==, 4);
  g_assert_cmpuint (fdk->own[1], ==, 2);

  char *name = slow->info.name;
  slow->info.name = (char *) "another card";
  g_autofree char *fast_key = td_fdk_device_rate_key (fast, fdk->families[0]);
  g_autofree char *slow_key = td_fdk_device_rate_key (slow, fdk->families[0]);
  td_engine_set_rate (engine, fast_key, 3e6);
  td_engine_set_rate (engine, slow_key, 1e6);
  g_autoptr (TdPlan) unequal
      = make_plan ("opencl:0,opencl:1", TD_SHARE_VOLUME, TD_FILTER_ON_DEVICE, 0);
  slow->info.name = name;
  g_assert_cmpuint (((const TdFdkPlan *) unequal->extra)->own[1], ==, 3);
  g_assert_cmpuint (((const TdFdkPlan *) unequal->extra)->own[2], ==, 4);
}

/* Large problems on small devices, planned only. */
static void
test_large_plans (void)
{
  static const struct { guint size, views; guint64 limit; gboolean window; } cases[] = {
    { 1024, 1024, 1ull << 30, FALSE }, /* some slices see 200 rows, 800 MiB */
    { 1024, 1024, 2ull << 30, TRUE },
    { 2048, 1024, 8ull << 30, TRUE },
    { 2048, 1024, 1ull << 30, FALSE },
  };

  if (!have_two ())
    return;
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    const guint n = cases[i].size;
    g_autofree double *angles = g_new (double, cases[i].views);
    TdScanFacts facts = { .n_columns = n, .n_rows = n, .n_views = cases[i].views,
                          .sample_type = TD_SAMPLE_FLOAT32, .transmission_logged = TRUE,
                          .angles_rad = angles, .centre_px = NAN };
    g_autoptr (GError) error = NULL;
    TdRecipe recipe;

    for (guint v = 0; v < cases[i].views; v++)
      angles[v] = 2 * G_PI * v / cases[i].views;
    td_cone_bench_geometry (n, n, &facts.geometry);
    g_autoptr (TdScan) large = td_scan_new_from_memory (&facts, NULL, NULL, NULL, NULL, NULL);
    td_recipe_init (&recipe);
    g_strlcpy (recipe.devices, "opencl:0", sizeof recipe.devices);
    recipe.filter_on = TD_FILTER_ON_DEVICE;
    recipe.memory_limit_bytes = cases[i].limit;
    g_autoptr (TdPlan) plan = td_plan_new (engine, large, &recipe, NULL, NULL, &error);
    g_assert_no_error (error);
    const TdFdkPlan *fdk = plan->extra;
    g_autofree char *notes = g_strjoinv (" ", td_plan_facts (plan)->notes);
    g_test_message ("%s; device %" G_GUINT64_FORMAT " MiB, host %" G_GUINT64_FORMAT " MiB", notes,
                    td_plan_facts (plan)->device_bytes >> 20, td_plan_facts (plan)->host_bytes >> 20);
    g_assert_cmpint (fdk->window, ==, cases[i].window);
    g_assert_cmpuint (td_plan_facts (plan)->device_bytes, <=, cases[i].limit);
  }
}

/* ── Failures ─────────────────────────────────────────────────────────────────────────────────── */

/* A device with faults: its operations but for those that fail. */
static TdDeviceOps faulty;
static const TdDeviceOps *sound;
static gint launches_left, downloads_left;
static gboolean dies; /* the thread, not the call */
static TdErrorCode failure_code;

static gboolean
fail (GError **error)
{
  if (dies)
    pthread_exit (NULL);
  g_set_error (error, TD_ERROR, failure_code, "made to fail");
  return FALSE;
}

static gboolean
faulty_launch (TdQueue *queue, TdKernel *kernel, const guint groups[3], const guint local[3],
               const TdArg *args, guint n_args, GError **error)
{
  if (g_atomic_int_add (&launches_left, -1) <= 0)
    return fail (error);
  return sound->launch (queue, kernel, groups, local, args, n_args, error);
}

static gboolean
faulty_download (TdQueue *queue, void *host, TdBuffer *from, guint64 offset, guint64 bytes, GError **error)
{
  if (bytes >= N * N * sizeof (float) && g_atomic_int_add (&downloads_left, -1) <= 0)
    return fail (error);
  return sound->download (queue, host, from, offset, bytes, error);
}

/* The other device starts when that one has failed, lest it does all the work. */
static TdDeviceOps patient;

static gboolean
patient_launch (TdQueue *queue, TdKernel *kernel, const guint groups[3], const guint local[3],
                const TdArg *args, guint n_args, GError **error)
{
  for (guint ms = 0; ms < 10000 && launches_left >= 0 && downloads_left >= 0; ms++)
    g_usleep (1000);
  return sound->launch (queue, kernel, groups, local, args, n_args, error);
}

static TdDevice *
make_patient (const char *id)
{
  g_autoptr (GPtrArray) devices = td_engine_devices (engine, id, NULL);
  TdDevice *device = devices->pdata[0];

  patient = *device->ops;
  patient.launch = patient_launch;
  device->ops = &patient;
  return device;
}

static TdDevice *
make_faulty (const char *id)
{
  g_autoptr (GPtrArray) devices = td_engine_devices (engine, id, NULL);
  TdDevice *device = devices->pdata[0];

  sound = device->ops;
  faulty = *sound;
  faulty.launch = faulty_launch;
  faulty.download = faulty_download;
  launches_left = downloads_left = G_MAXINT;
  dies = FALSE;
  device->ops = &faulty;
  return device;
}

typedef struct {
  const char *name;
  TdShareKind share;
  TdFilterPlace filter_on;
  gint launches, downloads; /* before it fails */
  gboolean dies;
  TdErrorCode code;
} Fault;

static const Fault faults[] = {
  { "volume-window-lost", TD_SHARE_VOLUME, TD_FILTER_ON_DEVICE, 17, G_MAXINT, FALSE, TD_ERROR_DEVICE_LOST },
  { "volume-window-killed", TD_SHARE_VOLUME, TD_FILTER_ON_DEVICE, 17, G_MAXINT, TRUE, 0 },
  { "volume-window-fetching", TD_SHARE_VOLUME, TD_FILTER_ON_DEVICE, G_MAXINT, 3, FALSE, TD_ERROR_DEVICE_BUG },
  { "volume-lost", TD_SHARE_VOLUME, TD_FILTER_ON_CPU, 2, G_MAXINT, FALSE, TD_ERROR_DEVICE_LOST },
  { "volume-killed", TD_SHARE_VOLUME, TD_FILTER_ON_CPU, 2, G_MAXINT, TRUE, 0 },
  { "volume-fetching-killed", TD_SHARE_VOLUME, TD_FILTER_ON_CPU, G_MAXINT, 2, TRUE, 0 },
  { "volume-memory", TD_SHARE_VOLUME, TD_FILTER_ON_CPU, 0, G_MAXINT, FALSE, TD_ERROR_DEVICE_MEMORY },
  { "projection-lost", TD_SHARE_PROJECTION, TD_FILTER_ON_CPU, 3, G_MAXINT, FALSE, TD_ERROR_DEVICE_LOST },
  { "projection-killed", TD_SHARE_PROJECTION, TD_FILTER_ON_CPU, 3, G_MAXINT, TRUE, 0 },
  { "projection-fetching", TD_SHARE_PROJECTION, TD_FILTER_ON_CPU, G_MAXINT, 0, FALSE, TD_ERROR_DEVICE_TIMEOUT },
};

/* Small pieces, so that a failure finds some delivered and some not. */
static TdPlan *
fault_plan (const Fault *fault, const char *devices)
{
  TdPlan *plan = make_plan (devices, fault->share, fault->filter_on,
                            fault->filter_on == TD_FILTER_ON_DEVICE ? 1 << 20 : 0);
  TdFdkPlan *fdk = plan->extra;

  if (fdk->share == TD_SHARE_VOLUME)
    fdk->land_slices = 2;
  return plan;
}

static void
test_fault (gconstpointer data)
{
  const Fault *fault = data;
  g_autoptr (GError) error = NULL;
  g_auto (Volume) one = { NULL }, two = { NULL };

  if (!have_two ())
    return;
  reference (&one);
  g_autoptr (TdPlan) plan = fault_plan (fault, "opencl:0,opencl:1");
  TdDevice *device = make_faulty ("opencl:1");
  td_engine_trim (engine);
  const guint64 live = td_device_live_objects (device);
  launches_left = fault->launches;
  downloads_left = fault->downloads;
  dies = fault->dies;
  failure_code = fault->code;
  TdDevice *other = make_patient ("opencl:0");
  carry_out (plan, &two, &error);
  device->ops = other->ops = sound;
  g_assert_no_error (error);
  g_assert_true (launches_left < 0 || downloads_left < 0);
  g_test_message ("%s", two.notes);
  g_assert_nonnull (strstr (two.notes, "was retired"));
  assert_close (&two, &one);
  td_engine_trim (engine);
  if (!fault->dies) /* a thread that dies leaves what was on its stack */
    g_assert_cmpuint (td_device_live_objects (device), ==, live);
}

/* Who filters for all may fail as well. */
static void
test_filter_lost (void)
{
  const Fault fault = { "filter", TD_SHARE_PROJECTION, TD_FILTER_ON_DEVICE };
  g_autoptr (GError) error = NULL;
  g_auto (Volume) one = { NULL }, two = { NULL };

  if (!have_two ())
    return;
  reference (&one);
  g_autoptr (TdPlan) plan = fault_plan (&fault, "opencl:1,opencl:0");
  TdDevice *device = make_faulty ("opencl:1");
  failure_code = TD_ERROR_DEVICE_LOST;
  launches_left = 4;
  carry_out (plan, &two, &error);
  device->ops = sound;
  g_assert_no_error (error);
  g_test_message ("%s", two.notes);
  g_assert_nonnull (strstr (two.notes, "stopped filtering"));
  assert_close (&two, &one);
}

/* Nobody is left: one error that says so, and soon. */
static void
test_all_lost (void)
{
  if (!have_two ())
    return;
  for (guint i = 0; i < 4; i++) {
    const Fault *fault = &faults[i % 2 ? 0 : 7];
    g_autoptr (GError) error = NULL;
    g_auto (Volume) volume = { NULL };
    g_autoptr (TdPlan) plan = fault_plan (fault, i < 2 ? "opencl:0,opencl:1" : "opencl:0");
    TdDevice *first = make_faulty ("opencl:0");
    g_autoptr (GPtrArray) others = td_engine_devices (engine, "opencl:1", NULL);
    TdDevice *second = others->pdata[0];

    second->ops = &faulty;
    failure_code = TD_ERROR_DEVICE_LOST;
    launches_left = 1;
    g_assert_false (carry_out (plan, &volume, &error));
    first->ops = second->ops = sound;
    g_assert_error (error, TD_ERROR, TD_ERROR_DEVICE_LOST);
    g_test_message ("%s", error->message);
    g_assert_cmpint (strstr (error->message, "No device is left") != NULL, ==, i < 2);
  }
}

/* ── Cancelling ───────────────────────────────────────────────────────────────────────────────── */

static gpointer
cancel_soon (gpointer cancellable)
{
  g_usleep (20000);
  g_cancellable_cancel (cancellable);
  return NULL;
}

static void
test_cancel (void)
{
  if (!have_two ())
    return;
  for (guint i = 0; i < 4; i++) {
    g_autoptr (GError) error = NULL;
    g_autoptr (GCancellable) cancellable = g_cancellable_new ();
    g_autoptr (TdPlan) plan
        = make_plan ("opencl:0,opencl:1", i % 2 ? TD_SHARE_VOLUME : TD_SHARE_PROJECTION,
                     i < 2 ? TD_FILTER_ON_CPU : TD_FILTER_ON_DEVICE, 0);
    g_autoptr (TdJob) job = td_job_new (plan);
    GThread *thread = g_thread_new ("cancel", cancel_soon, cancellable);
    if (!td_job_run (job, cancellable, &error))
      g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
    g_thread_join (thread);
  }
}

int
main (int argc, char **argv)
{
  TdPhantomScan spec;
  g_autoptr (GError) error = NULL;

  g_test_init (&argc, &argv, NULL);
  td_test_own_cache ("fdk");
  engine = td_engine_new ();
  td_phantom_scan_init (&spec);
  spec.phantom = "shepp-logan";
  spec.n_columns = spec.n_rows = N;
  spec.n_views = VIEWS;
  spec.range_deg = 360;
  spec.logged = TRUE;
  spec.geometry = (TdGeometry) { .beam = TD_BEAM_CONE, .pixel_width_mm = 0.4, .pixel_height_mm = 0.4,
                                 .source_axis_mm = 300, .source_detector_mm = 450 };
  scan = td_phantom_scan_new (&spec, &error);
  g_assert_no_error (error);

  g_test_add_func ("/fdk/shares", test_shares);
  g_test_add_func ("/fdk/share-is-chosen", test_share_is_chosen);
  g_test_add_func ("/fdk/unequal", test_unequal);
  g_test_add_func ("/fdk/large-plans", test_large_plans);
  g_test_add_data_func ("/fdk/tight/1M", GSIZE_TO_POINTER (1 << 20), test_tight);
  g_test_add_data_func ("/fdk/tight/3M", GSIZE_TO_POINTER (3 << 20), test_tight);
  for (guint i = 0; i < G_N_ELEMENTS (faults); i++) {
    g_autofree char *path = g_strconcat ("/fdk/fault/", faults[i].name, NULL);
    g_test_add_data_func (path, &faults[i], test_fault);
  }
  g_test_add_func ("/fdk/filter-lost", test_filter_lost);
  g_test_add_func ("/fdk/all-lost", test_all_lost);
  g_test_add_func ("/fdk/cancel", test_cancel);
  const int status = g_test_run ();
  td_scan_unref (scan);
  td_engine_unref (engine);
  return status;
}
