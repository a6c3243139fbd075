/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <pthread.h>
#include <string.h>

#include "tests/common/fdk.h"

/* Devices that fail while they work, and threads that end: nothing is lost while one is left. */

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
faulty_download (TdQueue *queue, void *host, TdBuffer *from, guint64 offset, guint64 bytes,
                 GError **error)
{
  if (bytes >= TD_FDK_N * TD_FDK_N * sizeof (float) && g_atomic_int_add (&downloads_left, -1) <= 0)
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
  g_autoptr (GPtrArray) devices = td_engine_devices (td_fdk_engine, id, NULL);
  TdDevice *device = devices->pdata[0];

  patient = *device->ops;
  patient.launch = patient_launch;
  device->ops = &patient;
  return device;
}

static TdDevice *
make_faulty (const char *id)
{
  g_autoptr (GPtrArray) devices = td_engine_devices (td_fdk_engine, id, NULL);
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
  { "volume-window-lost", TD_SHARE_VOLUME, TD_FILTER_ON_DEVICE, 17, G_MAXINT, FALSE,
    TD_ERROR_DEVICE_LOST },
  { "volume-window-killed", TD_SHARE_VOLUME, TD_FILTER_ON_DEVICE, 17, G_MAXINT, TRUE, 0 },
  { "volume-window-fetching", TD_SHARE_VOLUME, TD_FILTER_ON_DEVICE, G_MAXINT, 3, FALSE,
    TD_ERROR_DEVICE_BUG },
  { "volume-lost", TD_SHARE_VOLUME, TD_FILTER_ON_CPU, 2, G_MAXINT, FALSE, TD_ERROR_DEVICE_LOST },
  { "volume-killed", TD_SHARE_VOLUME, TD_FILTER_ON_CPU, 2, G_MAXINT, TRUE, 0 },
  { "volume-fetching-killed", TD_SHARE_VOLUME, TD_FILTER_ON_CPU, G_MAXINT, 2, TRUE, 0 },
  { "volume-memory", TD_SHARE_VOLUME, TD_FILTER_ON_CPU, 0, G_MAXINT, FALSE, TD_ERROR_DEVICE_MEMORY },
  { "projection-lost", TD_SHARE_PROJECTION, TD_FILTER_ON_CPU, 3, G_MAXINT, FALSE, TD_ERROR_DEVICE_LOST },
  { "projection-killed", TD_SHARE_PROJECTION, TD_FILTER_ON_CPU, 3, G_MAXINT, TRUE, 0 },
  { "projection-fetching", TD_SHARE_PROJECTION, TD_FILTER_ON_CPU, G_MAXINT, 0, FALSE,
    TD_ERROR_DEVICE_TIMEOUT },
};

/* Small pieces, so that a failure finds some delivered and some not. */
static TdPlan *
fault_plan (const Fault *fault, const char *devices)
{
  TdPlan *plan = td_fdk_test_plan (devices, fault->share, fault->filter_on,
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
  g_auto (TdFdkVolume) one = { NULL }, two = { NULL };

  if (!td_fdk_test_two ())
    return;
  td_fdk_test_reference (&one);
  g_autoptr (TdPlan) plan = fault_plan (fault, "opencl:0,opencl:1");
  TdDevice *device = make_faulty ("opencl:1");
  td_engine_trim (td_fdk_engine);
  const guint64 live = td_device_live_objects (device);
  launches_left = fault->launches;
  downloads_left = fault->downloads;
  dies = fault->dies;
  failure_code = fault->code;
  TdDevice *other = make_patient ("opencl:0");
  td_fdk_test_run (plan, &two, &error);
  device->ops = other->ops = sound;
  g_assert_no_error (error);
  g_assert_true (launches_left < 0 || downloads_left < 0);
  g_test_message ("%s", two.notes);
  g_assert_nonnull (strstr (two.notes, "was retired"));
  td_fdk_test_close (&two, &one);
  td_engine_trim (td_fdk_engine);
  if (!fault->dies) /* a thread that dies leaves what was on its stack */
    g_assert_cmpuint (td_device_live_objects (device), ==, live);
}

/* Who filters for all may fail as well. */
static void
test_filter_lost (void)
{
  const Fault fault = { "filter", TD_SHARE_PROJECTION, TD_FILTER_ON_DEVICE };
  g_autoptr (GError) error = NULL;
  g_auto (TdFdkVolume) one = { NULL }, two = { NULL };

  if (!td_fdk_test_two ())
    return;
  td_fdk_test_reference (&one);
  g_autoptr (TdPlan) plan = fault_plan (&fault, "opencl:1,opencl:0");
  TdDevice *device = make_faulty ("opencl:1");
  failure_code = TD_ERROR_DEVICE_LOST;
  launches_left = 4;
  td_fdk_test_run (plan, &two, &error);
  device->ops = sound;
  g_assert_no_error (error);
  g_test_message ("%s", two.notes);
  g_assert_nonnull (strstr (two.notes, "stopped filtering"));
  td_fdk_test_close (&two, &one);
}

/* Nobody is left: one error that says so, and soon. */
static void
test_all_lost (void)
{
  if (!td_fdk_test_two ())
    return;
  for (guint i = 0; i < 4; i++) {
    const Fault *fault = &faults[i % 2 ? 0 : 7];
    g_autoptr (GError) error = NULL;
    g_auto (TdFdkVolume) volume = { NULL };
    g_autoptr (TdPlan) plan = fault_plan (fault, i < 2 ? "opencl:0,opencl:1" : "opencl:0");
    TdDevice *first = make_faulty ("opencl:0");
    g_autoptr (GPtrArray) others = td_engine_devices (td_fdk_engine, "opencl:1", NULL);
    TdDevice *second = others->pdata[0];

    second->ops = &faulty;
    failure_code = TD_ERROR_DEVICE_LOST;
    launches_left = 1;
    g_assert_false (td_fdk_test_run (plan, &volume, &error));
    first->ops = second->ops = sound;
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
  g_test_add_func ("/fdk-faults/filter-lost", test_filter_lost);
  g_test_add_func ("/fdk-faults/all-lost", test_all_lost);
  const int status = g_test_run ();
  td_fdk_test_end ();
  return status;
}
