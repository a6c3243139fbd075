/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "compute/engine/centre.h"
#include "compute/engine/fbp/fbp.h"
#include "compute/methods/methods.h"
#include "tests/common/faulty.h"
#include "tests/common/pipeline.h"
#include "tests/common/truth.h"
#include "tests/common/devices.h"

/* Devices that fail during FBP: nothing is lost while one is left, and the slices are those of
   sound devices. */
#define N 64
#define N_ROWS 90
#define N_VIEWS 40
#define CENTRE 33.25

static TdEngine *engine;
static TdScan *scan;

static gboolean
have (const char *id)
{
  if (strcmp (id, "opencl:1") == 0)
    return td_test_two_alike ();

  g_autoptr (GPtrArray) devices = td_test_devices ();
  const gboolean found = g_ptr_array_find_with_equal_func (devices, id, g_str_equal, NULL);

  if (!found)
    g_test_skip ("no such device");
  return found;
}

static TdDevice *
device_of (const char *id)
{
  g_autoptr (GPtrArray) devices = td_engine_devices (engine, id, NULL);

  return devices->pdata[0];
}

/* A run's threads may let go of their device a little after its end. */
static TdDevice *
settled (const char *id)
{
  TdDevice *device = device_of (id);

  td_engine_trim (engine);
  for (guint ms = 0; ms < 60000 && td_test_live_objects (device) > 0; ms++)
    g_usleep (1000);
  return device;
}

static void
recipe_init (TdRecipe *recipe, const char *devices)
{
  td_recipe_init (recipe);
  g_strlcpy (recipe->devices, devices, sizeof recipe->devices);
  recipe->centre_px = CENTRE;
}

static void
reconstruct (const char *devices, TdTestVolume *volume)
{
  g_autoptr (GError) error = NULL;
  TdRecipe recipe;

  recipe_init (&recipe, devices);
  td_test_reconstruct (engine, scan, &recipe, volume, &error);
  g_assert_no_error (error);
}

/* @limit 0: bit for bit. */
static void
assert_same (const TdTestVolume *a, const TdTestVolume *b, double limit)
{
  const gsize n = (gsize) a->nx * a->ny * a->n_slices;
  g_autofree double *reference = g_new (double, n);

  g_assert_cmpuint (a->n_slices, ==, b->n_slices);
  for (gsize i = 0; i < n; i++)
    reference[i] = b->slices[i];
  const double error = td_truth_relative_rms (a->slices, reference, n);
  g_test_message ("relative RMS %.2e", error);
  g_assert_cmpfloat (error, <=, limit);
}

/* ── One of two devices ── */

typedef struct {
  const char *name;
  gint launches, uploads, downloads;
  TdErrorCode code;
} Fault;

#define NEVER G_MAXINT
static const Fault faults[] = {
  { "lost", 2, NEVER, NEVER, TD_ERROR_DEVICE_LOST },
  { "lost-sending", NEVER, 0, NEVER, TD_ERROR_DEVICE_LOST },
  { "lost-fetching", NEVER, NEVER, 0, TD_ERROR_DEVICE_LOST },
  { "lost-later", NEVER, NEVER, 1, TD_ERROR_DEVICE_LOST },
  { "bug", 2, NEVER, NEVER, TD_ERROR_DEVICE_BUG },
  { "memory", 2, NEVER, NEVER, TD_ERROR_DEVICE_MEMORY },
  { "timeout", 2, NEVER, NEVER, TD_ERROR_DEVICE_TIMEOUT },
  { "build", 2, NEVER, NEVER, TD_ERROR_DEVICE_BUILD },
};

static void
test_fault (gconstpointer data)
{
  const Fault *fault = data;
  TdTestVolume one, two;

  if (!have ("opencl:1"))
    return;
  reconstruct ("opencl:0", &one);
  /* Its programs built beforehand, the device takes a slab soon. */
  reconstruct ("opencl:1", &two);
  td_test_volume_clear (&two);
  TdDevice *device = settled ("opencl:1");
  td_faulty_begin (device);
  td_faulty.launches_left = fault->launches;
  td_faulty.uploads_left = fault->uploads;
  td_faulty.downloads_left = fault->downloads;
  td_faulty.least_bytes = N * N_VIEWS * sizeof (float);
  td_faulty.code = fault->code;
  td_faulty_wait (device_of ("opencl:0"));
  reconstruct ("opencl:1,opencl:0", &two);
  td_faulty_end ();
  g_assert_true (td_faulty_failed ());
  g_test_message ("%s", two.notes);
  const gboolean retires
      = fault->code == TD_ERROR_DEVICE_LOST || fault->code == TD_ERROR_DEVICE_BUG;
  g_assert_nonnull (
      strstr (two.notes, retires ? "the other devices took over its slices" : "opencl:1"));
  /* Other batches and other kernels round otherwise. */
  assert_same (&two, &one, retires ? 0 : 1e-6);
  g_assert_cmpuint (td_test_live_objects (settled ("opencl:1")), ==, 0);
  td_test_volume_clear (&one);
  td_test_volume_clear (&two);
}

/* Alone it is the end of the job, not of the engine. */
static void
test_alone (gconstpointer id)
{
  TdTestVolume one, two;
  TdRecipe recipe;

  if (!have (id))
    return;
  reconstruct (id, &one);
  recipe_init (&recipe, id);
  g_autoptr (GError) error = NULL;
  td_faulty_begin (settled (id));
  td_faulty.launches_left = 5;
  g_assert_false (td_test_reconstruct (engine, scan, &recipe, &two, &error));
  td_faulty_end ();
  g_assert_error (error, TD_ERROR, TD_ERROR_DEVICE_LOST);
  g_test_message ("%s", error->message);
  reconstruct (id, &two);
  assert_same (&two, &one, 0);
  td_test_volume_clear (&one);
  td_test_volume_clear (&two);
}

/* ── What a second try gets around ── */

typedef struct {
  const char *name, *device;
  gint launches, allocations, failures;
  TdErrorCode code;
} Hiccup;

static const Hiccup hiccups[] = {
  { "memory/host", "host", NEVER, 1, 2, TD_ERROR_DEVICE_MEMORY },
  { "memory/opencl", "opencl:0", NEVER, 1, 2, TD_ERROR_DEVICE_MEMORY },
  { "memory-later/host", "host", 9, NEVER, 4, TD_ERROR_DEVICE_MEMORY },
  { "memory-later/opencl", "opencl:0", 9, NEVER, 4, TD_ERROR_DEVICE_MEMORY },
  { "timeout/host", "host", 9, NEVER, 2, TD_ERROR_DEVICE_TIMEOUT },
  { "timeout/opencl", "opencl:0", 9, NEVER, 2, TD_ERROR_DEVICE_TIMEOUT },
};

static void
test_hiccup (gconstpointer data)
{
  const Hiccup *hiccup = data;
  TdTestVolume one, two;

  if (!have (hiccup->device))
    return;
  reconstruct (hiccup->device, &one);
  td_faulty_begin (settled (hiccup->device));
  td_faulty.launches_left = hiccup->launches;
  td_faulty.allocations_left = hiccup->allocations;
  td_faulty.failures_left = hiccup->failures;
  td_faulty.least_bytes = 100000;
  td_faulty.code = hiccup->code;
  reconstruct (hiccup->device, &two);
  td_faulty_end ();
  g_test_message ("%s", two.notes);
  g_assert_cmpint (td_faulty.failures_left, <=, 0);
  assert_same (&two, &one, 1e-6);
  td_test_volume_clear (&one);
  td_test_volume_clear (&two);
}

/* Another kernel takes over from one that does not build; a step that does not build has no other.
 */
static void
test_build (void)
{
  static const char *const programs[] = { "backproject-host", "prepare" };

  if (!have ("opencl:1"))
    return;
  if (!td_device_info (device_of ("opencl:1"))->cpu_shaped) {
    g_test_skip ("the kernels that are made not to build are those of CPUs");
    return;
  }
  for (guint i = 0; i < 2 * G_N_ELEMENTS (programs); i++) {
    const gboolean step = i % 2, alone = i < 2;
    const char *devices = alone ? "opencl:1" : "opencl:1,opencl:0";
    TdTestVolume one, two;
    TdRecipe recipe;
    g_autoptr (GError) error = NULL;

    reconstruct ("opencl:0", &one);
    TdDevice *device = settled ("opencl:1");
    td_test_free_programs (device); /* else they would not be built again */
    td_faulty_begin (device);
    td_faulty.unbuildable = programs[step];
    td_faulty_wait (device_of ("opencl:0"));
    recipe_init (&recipe, devices);
    const gboolean ok = td_test_reconstruct (engine, scan, &recipe, &two, &error);
    td_faulty_end ();
    g_assert_true (td_faulty_failed ());
    if (alone && step) {
      g_assert_false (ok);
      g_assert_error (error, TD_ERROR, TD_ERROR_DEVICE_BUILD);
      g_test_message ("%s", error->message);
    } else {
      g_assert_no_error (error);
      g_test_message ("%s", two.notes);
      assert_same (&two, &one, 1e-5);
      td_test_volume_clear (&two);
    }
    td_test_volume_clear (&one);
    td_test_free_programs (settled ("opencl:1"));
  }
}

/* Kernels take over in the order in which "auto" would choose: what the accuracy does not allow
   comes last. */
static void
test_another (void)
{
  const TdBackprojectFamily *family = NULL;
  TdBackprojectTask task;
  TdRecipe recipe;
  guint tried = 0, n = 0, exact = 0;

  if (!have ("opencl:1"))
    return;
  TdDevice *device = device_of ("opencl:1");
  recipe_init (&recipe, "opencl:1");
  g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe, NULL, NULL, NULL);
  td_fbp_task (plan, 40, &task);
  task.most_error = td_accuracy_limit (TD_ACCURACY_STANDARD);
  while ((family = td_backproject_another (family, &task, device, 16, &tried))) {
    const double bound = family->error_bound (family, &task, td_device_info (device));
    g_test_message ("%s: %.2g", family->name, bound);
    exact += bound <= task.most_error;
    g_assert_cmpuint (exact, ==, bound <= task.most_error ? n + 1 : exact);
    g_assert_cmpuint (++n, <=, 6);
  }
  /* A card's other kernels read by its texture unit, whose weights have nine bits. */
  g_assert_cmpuint (exact, >, td_device_info (device)->cpu_shaped ? 1 : 0);
  g_assert_cmpuint (n, >, exact);
}

/* ── Previews ── */

/* A preview keeps its working set for the next: one that failed is not taken again. */
static void
test_preview (gconstpointer id)
{
  static const TdErrorCode codes[]
      = { TD_ERROR_DEVICE_MEMORY, TD_ERROR_DEVICE_TIMEOUT, TD_ERROR_DEVICE_LOST };
  TdTestVolume one, two;
  TdRecipe recipe;
  g_autoptr (GError) error = NULL;

  if (!have (id))
    return;
  recipe_init (&recipe, id);
  recipe.row_first = 40;
  recipe.row_end = 41;
  td_test_reconstruct (engine, scan, &recipe, &one, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < 2 * G_N_ELEMENTS (codes); i++) {
    g_autoptr (GError) reason = NULL;
    recipe.row_first = 50 + i; /* not what is kept */
    recipe.row_end = 51 + i;
    td_faulty_begin (device_of (id));
    td_faulty.launches_left = 0;
    td_faulty.failures_left = 1;
    td_faulty.code = codes[i / 2];
    const gboolean ok = td_test_reconstruct (engine, scan, &recipe, &two, &reason);
    td_faulty_end ();
    g_assert_true (td_faulty_failed ());
    if (ok)
      td_test_volume_clear (&two);
    else
      g_test_message ("%s", reason->message);
    g_assert_cmpint (ok, ==, codes[i / 2] == TD_ERROR_DEVICE_MEMORY);
    recipe.row_first = 40;
    recipe.row_end = 41;
    td_test_reconstruct (engine, scan, &recipe, &two, &error);
    g_assert_no_error (error);
    assert_same (&two, &one, 1e-6);
    td_test_volume_clear (&two);
  }
  td_test_volume_clear (&one);
}

/* ── The axis ── */

/* Short of memory it tries again, without its device it takes the host. */
static void
test_axis (void)
{
  static const TdErrorCode codes[]
      = { TD_ERROR_DEVICE_MEMORY, TD_ERROR_DEVICE_LOST, TD_ERROR_DEVICE_TIMEOUT,
          TD_ERROR_DEVICE_BUILD, TD_ERROR_DEVICE_BUG };
  const TdAxisOptions options = { .n_rows = 2, .methods = 1u << TD_AXIS_CORRELATION };
  g_autoptr (GError) error = NULL;
  TdRecipe recipe;

  if (!have ("opencl:1"))
    return;
  recipe_init (&recipe, "opencl:1");
  g_autoptr (TdAxisResult) truth
      = td_engine_find_axis (engine, scan, &recipe, &options, NULL, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < 2 * G_N_ELEMENTS (codes); i++) {
    td_engine_trim (engine); /* and what it remembers */
    td_faulty_begin (device_of ("opencl:1"));
    td_faulty.launches_left = 1;
    td_faulty.failures_left = i % 2 ? 1 : NEVER;
    td_faulty.code = codes[i / 2];
    g_autoptr (TdAxisResult) found
        = td_engine_find_axis (engine, scan, &recipe, &options, NULL, &error);
    td_faulty_end ();
    g_assert_no_error (error);
    g_assert_true (td_faulty_failed ());
    g_assert_cmpfloat_with_epsilon (found->centre_px, truth->centre_px, 1e-3);
  }
  td_engine_trim (engine);
  td_faulty_begin (device_of ("opencl:1"));
  td_faulty.launches_left = 1;
  td_faulty.code = TD_ERROR_INVALID; /* no device's error: none is asked after this one */
  g_assert_null (td_engine_find_axis (engine, scan, &recipe, &options, NULL, &error));
  td_faulty_end ();
  g_assert_error (error, TD_ERROR, TD_ERROR_INVALID);
}

int
main (int argc, char **argv)
{
  g_autoptr (GError) error = NULL;
  TdPhantomScan spec;

  g_test_init (&argc, &argv, NULL);
  engine = td_engine_new (td_methods);
  td_phantom_scan_init (&spec, NULL, N, N_ROWS, N_VIEWS);
  spec.centre_px = CENTRE;
  scan = td_phantom_scan_new (&spec, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < G_N_ELEMENTS (faults); i++) {
    g_autofree char *path = g_strconcat ("/fbp-faults/", faults[i].name, NULL);
    g_test_add_data_func (path, &faults[i], test_fault);
  }
  g_test_add_data_func ("/fbp-faults/alone/host", "host", test_alone);
  g_test_add_data_func ("/fbp-faults/alone/opencl", "opencl:0", test_alone);
  for (guint i = 0; i < G_N_ELEMENTS (hiccups); i++) {
    g_autofree char *path = g_strconcat ("/fbp-faults/again/", hiccups[i].name, NULL);
    g_test_add_data_func (path, &hiccups[i], test_hiccup);
  }
  g_test_add_func ("/fbp-faults/does-not-build", test_build);
  g_test_add_func ("/fbp-faults/another", test_another);
  g_test_add_data_func ("/fbp-faults/preview/host", "host", test_preview);
  g_test_add_data_func ("/fbp-faults/preview/opencl", "opencl:0", test_preview);
  g_test_add_func ("/fbp-faults/axis", test_axis);
  const int status = g_test_run ();
  td_scan_unref (scan);
  td_engine_unref (engine);
  return status;
}
