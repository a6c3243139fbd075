/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <string.h>

#include "dataset/phantom-scan.h"
#include "tests/common/faulty.h"
#include "tests/common/fdk.h"
#include "tests/common/pipeline.h"
#include "tests/common/devices.h"

/* Devices that fail while they work, and threads that end: nothing is lost while one is left. */

static TdDevice *
device_of (const char *id)
{
  g_autoptr (GPtrArray) devices = td_engine_devices (td_fdk_engine, id, NULL);

  return devices->pdata[0];
}

static TdDevice *
make_faulty (const char *id)
{
  TdDevice *device = device_of (id);

  td_faulty_begin (device);
  td_faulty.least_bytes = TD_FDK_N * TD_FDK_N * sizeof (float);
  return device;
}

typedef struct {
  const char *name;
  TdShareKind share;
  TdFilterPlace filter_on;
  gint launches, downloads; /* before it fails */
  TdErrorCode code;
} Fault;

static const Fault faults[] = {
  { "volume-window-lost", TD_SHARE_VOLUME, TD_FILTER_ON_DEVICE, 17, G_MAXINT,
    TD_ERROR_DEVICE_LOST },
  { "volume-window-fetching", TD_SHARE_VOLUME, TD_FILTER_ON_DEVICE, G_MAXINT, 3,
    TD_ERROR_DEVICE_BUG },
  { "volume-lost", TD_SHARE_VOLUME, TD_FILTER_ON_CPU, 2, G_MAXINT, TD_ERROR_DEVICE_LOST },
  { "volume-fetching", TD_SHARE_VOLUME, TD_FILTER_ON_CPU, G_MAXINT, 2, TD_ERROR_DEVICE_LOST },
  { "volume-memory", TD_SHARE_VOLUME, TD_FILTER_ON_CPU, 0, G_MAXINT, TD_ERROR_DEVICE_MEMORY },
  { "volume-window-memory", TD_SHARE_VOLUME, TD_FILTER_ON_DEVICE, 17, G_MAXINT,
    TD_ERROR_DEVICE_MEMORY },
  { "volume-build", TD_SHARE_VOLUME, TD_FILTER_ON_CPU, 2, G_MAXINT, TD_ERROR_DEVICE_BUILD },
  { "volume-timeout", TD_SHARE_VOLUME, TD_FILTER_ON_CPU, 2, G_MAXINT, TD_ERROR_DEVICE_TIMEOUT },
  { "projection-memory", TD_SHARE_PROJECTION, TD_FILTER_ON_CPU, 3, G_MAXINT,
    TD_ERROR_DEVICE_MEMORY },
  { "projection-lost", TD_SHARE_PROJECTION, TD_FILTER_ON_CPU, 3, G_MAXINT, TD_ERROR_DEVICE_LOST },
  { "projection-fetching", TD_SHARE_PROJECTION, TD_FILTER_ON_CPU, G_MAXINT, 0,
    TD_ERROR_DEVICE_TIMEOUT },
};

/* Small pieces, so that a failure finds some delivered and some not. */
static TdPlan *
fault_plan (const Fault *fault, const char *devices)
{
  TdPlan *plan = td_fdk_test_plan (devices, fault->share, fault->filter_on,
                                   fault->filter_on == TD_FILTER_ON_DEVICE ? 1 << 20 : 0);
  TdFdkPlan *fdk = plan->extra;

  if (fdk->scheme.share == TD_SHARE_VOLUME)
    fdk->fit.download_slices = 2;
  return plan;
}

static void
test_fault (gconstpointer data)
{
  const Fault *fault = data;
  g_autoptr (GError) error = NULL;
  g_auto (TdFdkVolume) one = { NULL }, two = { NULL };

  if (!td_test_two_alike ())
    return;
  td_fdk_test_reference (&one);
  g_autoptr (TdPlan) plan = fault_plan (fault, "opencl:0,opencl:1");
  TdDevice *device = make_faulty ("opencl:1");
  td_engine_trim (td_fdk_engine);
  const guint64 live = td_test_live_objects (device);
  td_faulty.launches_left = fault->launches;
  td_faulty.downloads_left = fault->downloads;
  td_faulty.code = fault->code;
  td_faulty_wait (device_of ("opencl:0"));
  td_fdk_test_run (plan, &two, &error);
  td_faulty_end ();
  g_assert_no_error (error);
  g_assert_true (td_faulty_failed ());
  g_test_message ("%s", two.notes);
  /* A device that tries again may find that the other has done everything. */
  g_assert_true (strstr (two.notes, "was retired") || strstr (two.notes, "going on with"));
  td_fdk_test_close (&two, &one);
  td_engine_trim (td_fdk_engine);
  g_assert_cmpuint (td_test_live_objects (device), ==, live);
}

/* The other device has ended by then, and begins again for what comes back. */
static void
test_late (void)
{
  g_autoptr (GError) error = NULL;
  g_auto (TdFdkVolume) one = { NULL }, two = { NULL };

  if (!td_test_two_alike ())
    return;
  td_fdk_test_reference (&one);
  g_autoptr (TdPlan) plan = fault_plan (&faults[0], "opencl:0,opencl:1");
  td_engine_trim (td_fdk_engine);
  make_faulty ("opencl:1");
  td_faulty.downloads_left = 1;
  td_faulty_outlast (device_of ("opencl:0"));
  td_fdk_test_run (plan, &two, &error);
  td_faulty_end ();
  g_assert_no_error (error);
  g_assert_true (td_faulty_failed ());
  g_assert_false (td_faulty.gave_up);
  g_test_message ("%s", two.notes);
  g_assert_nonnull (strstr (two.notes, "was retired"));
  td_fdk_test_close (&two, &one);
}

/* ── What a second try gets around ── */

typedef struct {
  const char *name, *devices;
  TdShareKind share;
  TdFilterPlace filter_on;
  gint launches, downloads, failures;
  TdErrorCode code;
} Hiccup;

static const Hiccup hiccups[] = {
  { "memory", "opencl:1", TD_SHARE_VOLUME, TD_FILTER_ON_CPU, 1, G_MAXINT, 3,
    TD_ERROR_DEVICE_MEMORY },
  { "memory-window", "opencl:1", TD_SHARE_VOLUME, TD_FILTER_ON_DEVICE, 17, G_MAXINT, 3,
    TD_ERROR_DEVICE_MEMORY },
  { "memory-fetching", "opencl:1", TD_SHARE_VOLUME, TD_FILTER_ON_CPU, G_MAXINT, 3, 2,
    TD_ERROR_DEVICE_MEMORY },
  { "timeout", "opencl:1", TD_SHARE_VOLUME, TD_FILTER_ON_CPU, 1, G_MAXINT, 2,
    TD_ERROR_DEVICE_TIMEOUT },
  { "timeout-window", "opencl:1", TD_SHARE_VOLUME, TD_FILTER_ON_DEVICE, 30, G_MAXINT, 2,
    TD_ERROR_DEVICE_TIMEOUT },
  { "two-memory", "opencl:0,opencl:1", TD_SHARE_VOLUME, TD_FILTER_ON_CPU, 2, G_MAXINT, 1,
    TD_ERROR_DEVICE_MEMORY },
  { "two-memory-window", "opencl:0,opencl:1", TD_SHARE_VOLUME, TD_FILTER_ON_DEVICE, 17, G_MAXINT, 1,
    TD_ERROR_DEVICE_MEMORY },
  { "two-projections", "opencl:0,opencl:1", TD_SHARE_PROJECTION, TD_FILTER_ON_CPU, 3, G_MAXINT, 1,
    TD_ERROR_DEVICE_MEMORY },
  { "two-projections-fetching", "opencl:0,opencl:1", TD_SHARE_PROJECTION, TD_FILTER_ON_CPU,
    G_MAXINT, 0, 1, TD_ERROR_DEVICE_TIMEOUT },
};

/* The device stays, with less; what came before the failure is not computed again. */
static void
test_hiccup (gconstpointer data)
{
  const Hiccup *hiccup = data;
  const Fault fault = { hiccup->name, hiccup->share, hiccup->filter_on };
  g_autoptr (GError) error = NULL;
  g_auto (TdFdkVolume) one = { NULL }, two = { NULL };

  if (!td_test_two_alike ())
    return;
  td_fdk_test_reference (&one);
  g_autoptr (TdPlan) plan = fault_plan (&fault, hiccup->devices);
  TdDevice *device = make_faulty ("opencl:1");
  td_engine_trim (td_fdk_engine);
  const guint64 live = td_test_live_objects (device);
  td_faulty.launches_left = hiccup->launches;
  td_faulty.downloads_left = hiccup->downloads;
  td_faulty.failures_left = hiccup->failures;
  td_faulty.code = hiccup->code;
  td_faulty_wait (device_of ("opencl:0"));
  td_fdk_test_run (plan, &two, &error);
  td_faulty_end ();
  g_assert_no_error (error);
  g_assert_cmpint (td_faulty.failures_left, <=, 0);
  g_test_message ("%s", two.notes);
  g_assert_nonnull (strstr (two.notes, "opencl:1: "));
  g_assert_nonnull (strstr (two.notes, "going on with slabs of"));
  g_assert_null (strstr (two.notes, "was retired"));
  td_fdk_test_close (&two, &one);
  td_engine_trim (td_fdk_engine);
  g_assert_cmpuint (td_test_live_objects (device), ==, live);
}

/* Another kernel takes over from one that does not build. */
static void
test_build (void)
{
  const Fault fault = { "build", TD_SHARE_VOLUME, TD_FILTER_ON_CPU };
  g_autoptr (GError) error = NULL;
  g_auto (TdFdkVolume) one = { NULL }, two = { NULL };

  if (!td_test_two_alike ())
    return;
  g_autoptr (TdPlan) plan = fault_plan (&fault, "opencl:1");
  if (!td_device_info (plan->devices->pdata[0])->cpu_shaped) {
    g_test_skip ("the kernel that is made not to build is that of CPUs");
    return;
  }
  td_fdk_test_reference (&one);
  const TdConeFamily *planned = ((const TdFdkPlan *) plan->extra)->scheme.families[0];
  TdDevice *device = make_faulty ("opencl:1");
  td_engine_trim (td_fdk_engine);
  td_test_free_programs (device); /* else they would not be built again */
  td_faulty.unbuildable = "cone-columns";
  td_fdk_test_run (plan, &two, &error);
  td_faulty_end ();
  g_assert_no_error (error);
  g_assert_true (td_faulty_failed ());
  g_test_message ("%s", two.notes);
  g_assert_nonnull (strstr (two.notes, "made not to build; going on with"));
  g_assert_null (strstr (two.notes, planned->name));
  td_fdk_test_close (&two, &one);
}

/* Where only kernels with textures are left, whose weights are coarse, what goes on is said to be
   less exact than what was asked for. */
static void
test_build_exact (void)
{
  const Fault fault = { "build", TD_SHARE_VOLUME, TD_FILTER_ON_CPU };
  g_autoptr (GError) error = NULL;
  g_auto (TdFdkVolume) volume = { NULL };

  if (!td_test_two_alike ())
    return;
  g_autoptr (TdPlan) plan = fault_plan (&fault, "opencl:1");
  TdDevice *device = make_faulty ("opencl:1");
  TdDeviceInfo *info = &((TdDevice *) plan->devices->pdata[0])->hardware->info;
  if (!info->cpu_shaped) {
    td_faulty_end ();
    g_test_skip ("the kernel that is made not to build is that of CPUs");
    return;
  }
  td_engine_trim (td_fdk_engine);
  td_test_free_programs (device);
  td_faulty.unbuildable = "cone-columns";
  info->texture_slow = FALSE;
  td_fdk_test_run (plan, &volume, &error);
  info->texture_slow = TRUE;
  td_faulty_end ();
  g_assert_no_error (error);
  g_test_message ("%s", volume.notes);
  g_assert_nonnull (strstr (volume.notes, "the kernel \"texture\""));
  g_assert_nonnull (strstr (volume.notes, "is exact to 0.016, not to the 0.0002 of "));
}

/* Somebody else took the card's memory after the plan was made. */
static void
test_memory_gone (void)
{
  static const TdFilterPlace places[] = { TD_FILTER_ON_CPU, TD_FILTER_ON_DEVICE };

  if (!td_test_two_alike ())
    return;
  for (guint i = 0; i < 2 * G_N_ELEMENTS (places); i++) {
    g_autoptr (GError) error = NULL;
    g_auto (TdFdkVolume) one = { NULL }, two = { NULL };
    td_fdk_test_reference (&one);
    g_autoptr (TdPlan) plan = td_fdk_test_plan (i < 2 ? "opencl:0" : "opencl:0,opencl:1",
                                                TD_SHARE_VOLUME, places[i % 2], 0);
    const guint64 left = plan->facts.device_bytes / 4;
    TdDevice *device = ((TdDevice *) plan->devices->pdata[0])->hardware;
    td_engine_trim (td_fdk_engine);
    device->memory_limit_bytes = left;
    td_fdk_test_run (plan, &two, &error);
    device->memory_limit_bytes = 0;
    g_assert_no_error (error);
    g_test_message ("%s", two.notes);
    g_assert_nonnull (strstr (two.notes, "does not fit"));
    g_assert_null (strstr (two.notes, "was retired"));
    if (i < 2)
      g_assert_cmpuint (two.device_bytes, <=, left);
    td_fdk_test_close (&two, &one);
  }
}

typedef struct {
  float *slices;
  gsize n; /* floats of a slice */
} Whole;

static void
keep_whole (guint first, guint count, const float *slices, gpointer user)
{
  const Whole *whole = user;

  memcpy (whole->slices + first * whole->n, slices, count * whole->n * sizeof *slices);
}

static void
run_whole (TdPlan *plan, Whole *whole, char **notes)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TdJob) job = td_job_new (plan);
  const gsize n = (gsize) plan->facts.nx * plan->facts.ny;

  *whole = (Whole) { g_new (float, n * plan->facts.n_slices), n };
  memset (whole->slices, 0xff, n * plan->facts.n_slices * sizeof (float));
  td_job_set_sink (job, keep_whole, whole);
  td_job_run (job, NULL, &error);
  g_assert_no_error (error);
  *notes = td_messages_join (td_job_result (job)->notes, "\n", NULL);
}

/* A card whose memory is really gone when the job begins; nothing injected. */
static void
test_card_full (gconstpointer id)
{
  g_autoptr (GPtrArray) buffers = g_ptr_array_new_with_free_func ((GDestroyNotify) td_buffer_free);
  g_autoptr (GPtrArray) devices = td_engine_devices (td_fdk_engine, id, NULL);
  g_autoptr (GError) error = NULL;
  g_autofree char *notes = NULL, *calm = NULL;
  TdPhantomScan spec;
  TdRecipe recipe;
  Whole whole, again;

  if (!devices || td_device_info (devices->pdata[0])->kind != TD_DEVICE_GPU) {
    g_test_skip ("no such card");
    return;
  }
  TdDevice *device = devices->pdata[0];
  if (device->ops->memory_free (device) == G_MAXUINT64) {
    g_test_skip ("its driver does not tell how much is free");
    return;
  }
  td_phantom_scan_init (&spec, NULL, 384, 384, 96);
  spec.range_deg = 360;
  spec.logged = TRUE;
  spec.geometry = (TdGeometry) { .beam = TD_BEAM_CONE,
                                 .pixel_width_mm = 0.1,
                                 .pixel_height_mm = 0.1,
                                 .source_axis_mm = 300,
                                 .source_detector_mm = 450 };
  g_autoptr (TdScan) scan = td_phantom_scan_new (&spec, &error);
  g_assert_no_error (error);
  td_recipe_init (&recipe);
  g_strlcpy (recipe.devices, id, sizeof recipe.devices);
  g_autoptr (TdPlan) plan = td_plan_new (td_fdk_engine, scan, &recipe, NULL, NULL, &error);
  g_assert_no_error (error);
  run_whole (plan, &whole, &calm);
  td_engine_trim (td_fdk_engine);

  const guint64 leave = plan->facts.device_bytes / 3;
  for (guint64 step = (guint64) 1 << 33; step >= 1 << 22; step /= 2)
    while (device->ops->memory_free (device) > leave + step) {
      TdBuffer *buffer
          = td_buffer_new (device, MIN (step, td_device_info (device)->max_alloc_bytes), NULL);
      if (!buffer)
        break;
      g_ptr_array_add (buffers, buffer);
    }
  g_test_message ("%s: plan %" G_GUINT64_FORMAT " MiB, free %" G_GUINT64_FORMAT " MiB",
                  (const char *) id, plan->facts.device_bytes >> 20,
                  device->ops->memory_free (device) >> 20);
  run_whole (plan, &again, &notes);
  g_test_message ("%s", notes);
  g_assert_nonnull (strstr (notes, "going on with slabs of"));
  double difference = 0, square = 0;
  for (gsize i = 0; i < whole.n * plan->facts.n_slices; i++) {
    difference += pow ((double) again.slices[i] - whole.slices[i], 2);
    square += pow (whole.slices[i], 2);
  }
  g_test_message ("relative RMS %.2e", sqrt (difference / square));
  g_assert_true (sqrt (difference / square) <= 1e-5);
  g_free (whole.slices);
  g_free (again.slices);
}

/* opencl:1, which filters for both, fails with @code after some launches, so many times:
   the volume is whole, and the notes have @words. (transfer full): the notes. */
static char *
fail_filter (TdErrorCode code, gint launches, gint failures, const char *words)
{
  const Fault fault = { "filter", TD_SHARE_PROJECTION, TD_FILTER_ON_DEVICE };
  g_autoptr (GError) error = NULL;
  g_auto (TdFdkVolume) one = { NULL }, two = { NULL };

  td_fdk_test_reference (&one);
  g_autoptr (TdPlan) plan = fault_plan (&fault, "opencl:1,opencl:0");
  make_faulty ("opencl:1");
  td_faulty.code = code;
  td_faulty.launches_left = launches;
  td_faulty.failures_left = failures;
  td_fdk_test_run (plan, &two, &error);
  td_faulty_end ();
  g_assert_no_error (error);
  g_test_message ("%s", two.notes);
  g_assert_nonnull (strstr (two.notes, words));
  td_fdk_test_close (&two, &one);
  return g_strdup (two.notes);
}

/* Who filters for all may fail as well. */
static void
test_filter_lost (void)
{
  if (td_test_two_alike ())
    g_free (fail_filter (TD_ERROR_DEVICE_LOST, 4, G_MAXINT, "stopped filtering"));
}

/* With fewer rows at once it goes on. */
static void
test_filter_memory (void)
{
  if (!td_test_two_alike ())
    return;
  g_autofree char *notes = fail_filter (TD_ERROR_DEVICE_MEMORY, 1, 1, "rows at a time");
  g_assert_null (strstr (notes, "stopped filtering"));
}

/* Nobody is left: one error that says so, and soon. */
static void
test_all_lost (void)
{
  if (!td_test_two_alike ())
    return;
  for (guint i = 0; i < 4; i++) {
    const Fault *fault = &faults[i % 2 ? 0 : 7];
    g_autoptr (GError) error = NULL;
    g_auto (TdFdkVolume) volume = { NULL };
    g_autoptr (TdPlan) plan = fault_plan (fault, i < 2 ? "opencl:0,opencl:1" : "opencl:0");
    make_faulty ("opencl:0");
    device_of ("opencl:1")->ops = device_of ("opencl:0")->ops;
    td_faulty.launches_left = 1;
    g_assert_false (td_fdk_test_run (plan, &volume, &error));
    td_faulty_end ();
    device_of ("opencl:1")->ops = device_of ("opencl:0")->ops;
    g_assert_error (error, TD_ERROR, TD_ERROR_DEVICE_LOST);
    g_test_message ("%s", error->message);
    g_assert_cmpint (strstr (error->message, "No device is left") != NULL, ==, i < 2);
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  td_fdk_test_begin ("fdk-faults");
  for (guint i = 0; i < G_N_ELEMENTS (faults); i++) {
    g_autofree char *path = g_strconcat ("/fdk-faults/", faults[i].name, NULL);
    g_test_add_data_func (path, &faults[i], test_fault);
  }
  g_test_add_func ("/fdk-faults/late", test_late);
  for (guint i = 0; i < G_N_ELEMENTS (hiccups); i++) {
    g_autofree char *path = g_strconcat ("/fdk-faults/again/", hiccups[i].name, NULL);
    g_test_add_data_func (path, &hiccups[i], test_hiccup);
  }
  g_test_add_func ("/fdk-faults/again/build", test_build);
  g_test_add_func ("/fdk-faults/again/build-exact", test_build_exact);
  g_test_add_func ("/fdk-faults/again/memory-gone", test_memory_gone);
  if (g_getenv ("TOMODESK_CARD_FULL")) { /* nobody else may use the card meanwhile */
    g_test_add_data_func ("/fdk-faults/card-full/cuda", "cuda:0", test_card_full);
    g_test_add_data_func ("/fdk-faults/card-full/opencl", "opencl:1", test_card_full);
  }
  g_test_add_func ("/fdk-faults/filter-lost", test_filter_lost);
  g_test_add_func ("/fdk-faults/filter-memory", test_filter_memory);
  g_test_add_func ("/fdk-faults/all-lost", test_all_lost);
  const int status = g_test_run ();
  td_fdk_test_end ();
  return status;
}
