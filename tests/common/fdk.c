/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "fdk.h"

#include <math.h>
#include <string.h>

#include "compute/methods/methods.h"
#include "dataset/phantom-scan.h"
#include "cone-scan.h"
#include "devices.h"

TdEngine *td_fdk_engine;
TdScan *td_fdk_scan;

void
td_fdk_test_begin (const char *name)
{
  g_autoptr (GError) error = NULL;
  TdPhantomScan spec;

  td_test_own_rates (name);
  td_fdk_engine = td_engine_new (td_methods);
  td_phantom_scan_init (&spec, "shepp-logan", TD_FDK_N, TD_FDK_N, 36);
  spec.range_deg = 360;
  spec.logged = TRUE;
  spec.geometry = TD_TEST_CONE_BEAM;
  td_fdk_scan = td_phantom_scan_new (&spec, &error);
  g_assert_no_error (error);
}

void
td_fdk_test_end (void)
{
  td_scan_unref (td_fdk_scan);
  td_engine_unref (td_fdk_engine);
}

static void
keep_slices (guint first, guint count, const float *slices, gpointer user)
{
  TdFdkVolume *volume = user;

  for (guint i = first; i < first + count; i++) {
    g_assert_false (volume->seen[i]); /* each once */
    volume->seen[i] = TRUE;
  }
  memcpy (volume->slices + first * TD_FDK_N * TD_FDK_N, slices,
          count * TD_FDK_N * TD_FDK_N * sizeof *slices);
}

void
td_fdk_volume_clear (TdFdkVolume *volume)
{
  g_free (volume->slices);
  g_free (volume->notes);
}

TdPlan *
td_fdk_test_plan (const char *devices, TdShareKind share, TdFilterPlace filter_on,
                  guint64 memory_limit)
{
  g_autoptr (GError) error = NULL;
  TdRecipe recipe;

  td_recipe_init (&recipe);
  g_strlcpy (recipe.devices, devices, sizeof recipe.devices);
  recipe.share = share;
  recipe.filter_on = filter_on;
  recipe.memory_limit_bytes = memory_limit;
  TdPlan *plan = td_plan_new (td_fdk_engine, td_fdk_scan, &recipe, NULL, NULL, &error);
  g_assert_no_error (error);
  return plan;
}

/* Relative RMS from the truth; the largest of the plan's devices. */
static double
fdk_plan_bound (const TdPlan *plan)
{
  const TdFdkPlan *fdk = plan->extra;
  double bound = 0;

  for (guint i = 0; i < plan->devices->len; i++)
    bound = MAX (bound, td_cone_family_error_bound (fdk->scheme.families[i], &fdk->input->task,
                                                    plan->recipe.precision,
                                                    td_device_info (plan->devices->pdata[i])));
  return bound;
}

gboolean
td_fdk_test_run (TdPlan *plan, TdFdkVolume *volume, GError **error)
{
  g_autoptr (TdJob) job = td_job_new (plan);

  return td_fdk_test_run_job (job, volume, error);
}

gboolean
td_fdk_test_run_job (TdJob *job, TdFdkVolume *volume, GError **error)
{
  TdPlan *plan = td_job_plan (job);
  const gsize samples = (gsize) TD_FDK_N * TD_FDK_N * TD_FDK_N;

  *volume = (TdFdkVolume) { g_new (float, samples), .bound = fdk_plan_bound (plan) };
  memset (volume->slices, 0xff, samples * sizeof (float)); /* NaN: a slice that never comes shows */
  td_job_set_sink (job, keep_slices, volume);
  const gboolean ok = td_job_run (job, NULL, error);
  const TdJobResult *result = td_job_result (job);
  volume->notes = td_messages_join (result->notes, "\n", NULL);
  volume->host_bytes = result->host_peak_bytes;
  volume->device_bytes = result->device_peak_bytes;
  return ok;
}

void
td_fdk_test_close (const TdFdkVolume *got, const TdFdkVolume *truth)
{
  double error = 0, norm = 0;

  for (gsize i = 0; i < (gsize) TD_FDK_N * TD_FDK_N * TD_FDK_N; i++) {
    error += pow ((double) got->slices[i] - truth->slices[i], 2);
    norm += pow (truth->slices[i], 2);
  }
  g_test_message ("relative RMS %.2e", sqrt (error / norm));
  g_assert_cmpfloat (norm, >, 0);
  g_assert_true (sqrt (error / norm) <= MAX (got->bound, truth->bound)); /* NaN fails too */
}

void
td_fdk_test_reference (TdFdkVolume *volume)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TdPlan) plan = td_fdk_test_plan ("opencl:0", TD_SHARE_AUTO, TD_FILTER_ON_CPU, 0);

  td_fdk_test_run (plan, volume, &error);
  g_assert_no_error (error);
}
