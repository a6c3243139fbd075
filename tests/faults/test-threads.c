/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>

#include "compute/engine/job.h"
#include "compute/methods/methods.h"
#include "dataset/phantom-scan.h"
#include "tests/common/cone-scan.h"
#include "tests/common/devices.h"
#include "tests/unit/test-folder.h"

/* A process that gets no more threads: every job ends well with fewer, or with one sentence and
   nothing half-written. */

static gint threads_left = G_MAXINT, refused; /* before none is given; how often */

/* GLib's threads come here instead of to the C library. */
int
pthread_create (pthread_t *thread, const pthread_attr_t *attributes, void *(*body) (void *),
                void *data)
{
  static int (*real) (pthread_t *, const pthread_attr_t *, void *(*) (void *), void *);

  if (!real)
    *(void **) &real = dlsym (RTLD_NEXT, "pthread_create");
  if (g_atomic_int_add (&threads_left, -1) > 0)
    return real (thread, attributes, body, data);
  g_atomic_int_inc (&refused);
  return EAGAIN;
}

typedef struct {
  TdBeam beam;
  guint threads; /* without which the job cannot run */
} Case;

static TdScan *
make_scan (TdBeam beam)
{
  g_autoptr (GError) error = NULL;
  TdPhantomScan spec;

  td_phantom_scan_init (&spec, NULL, 48, 40, 30);
  if (beam == TD_BEAM_CONE) {
    spec.range_deg = 360;
    spec.geometry = TD_TEST_CONE_BEAM;
  }
  TdScan *scan = td_phantom_scan_new (&spec, &error);
  g_assert_no_error (error);
  return scan;
}

/* TRUE: the job was done. */
static gboolean
run_with (TdPlan *plan, const TestFolder *folder, gint threads)
{
  g_autoptr (TdJob) job = td_job_new (plan);
  g_autoptr (GError) error = NULL;

  g_atomic_int_set (&refused, 0);
  g_atomic_int_set (&threads_left, threads);
  const gboolean ok = td_job_run (job, NULL, &error);
  g_atomic_int_set (&threads_left, G_MAXINT);
  if (ok)
    return TRUE;
  g_assert_cmpint (g_atomic_int_get (&refused), >, 0);
  g_assert_error (error, TD_ERROR, TD_ERROR_TOO_LARGE);
  test_assert_sentence (error, "thread");
  g_assert_cmpuint (test_folder_count (folder), ==, 0);
  return FALSE;
}

static void
test_each (gconstpointer data)
{
  const Case *test = data;
  g_autoptr (TdScan) scan = make_scan (test->beam);
  g_autoptr (TdEngine) engine = td_engine_new (td_methods);
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *output = test_folder_file (folder, "volume.tif");
  g_autoptr (GError) error = NULL;
  TdRecipe recipe;

  td_recipe_init (&recipe);
  g_strlcpy (recipe.devices, "host", sizeof recipe.devices);
  recipe.centre_px = 23.5;
  recipe.output_format = TD_VOLUME_BIGTIFF;
  g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe, output, NULL, &error);
  g_assert_no_error (error);
  for (guint threads = 0; threads < test->threads; threads++)
    g_assert_false (run_with (plan, folder, (gint) threads));
  g_assert_true (run_with (plan, folder, 100));
}

/* Devices that iterate together have a thread each. */
static void
test_group (void)
{
  g_autoptr (TdScan) scan = make_scan (TD_BEAM_PARALLEL);
  g_autoptr (TdEngine) engine = td_engine_new (td_methods);
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *output = test_folder_file (folder, "volume.tif");
  g_autoptr (GPtrArray) devices = td_engine_devices (engine, "host,opencl:0", NULL);
  g_autoptr (GError) error = NULL;
  TdRecipe recipe;

  if (!devices) {
    g_test_skip ("no OpenCL device");
    return;
  }
  td_recipe_init (&recipe);
  g_strlcpy (recipe.devices, "host,opencl:0", sizeof recipe.devices);
  recipe.centre_px = 23.5;
  recipe.method = TD_METHOD_SIRT;
  recipe.iterations = 1;
  g_strlcpy (recipe.start, "zero", sizeof recipe.start);
  recipe.output_format = TD_VOLUME_BIGTIFF;
  g_autoptr (TdPlan) preview = td_plan_new (engine, scan, &recipe, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_true (run_with (preview, folder, 100)); /* builds what PoCL builds with threads */
  g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe, output, NULL, &error);
  g_assert_no_error (error);
  g_assert_false (run_with (plan, folder, 1));
  g_assert_true (run_with (plan, folder, 100));
}

int
main (int argc, char **argv)
{
  /* The writer, and of fbp a reader and a device; of fdk one that filters and two of the device. */
  static const Case fbp = { TD_BEAM_PARALLEL, .threads = 3 }, fdk = { TD_BEAM_CONE, .threads = 4 };

  td_test_own_rates ("threads"); /* a device that was slow before may have no part of a group */
  g_test_init (&argc, &argv, NULL);
  g_test_add_data_func ("/threads/fbp", &fbp, test_each);
  g_test_add_data_func ("/threads/fdk", &fdk, test_each);
  g_test_add_func ("/threads/group", test_group);
  return g_test_run ();
}
