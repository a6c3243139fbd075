/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "fbp-bench.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compute/engine/job.h"
#include "compute/methods/methods.h"
#include "dataset/random.h"
#include "dataset/sort.h"

static TdScan *
fbp_bench_noise_scan (const TdFbpBenchSpec *spec, GError **error)
{
  const guint64 n = (guint64) spec->n_views * spec->n_rows * spec->n_columns;
  float *projections = g_try_malloc (n * sizeof *projections);
  g_autofree double *angles = g_new (double, spec->n_views);
  const TdScanFacts facts = {
    .n_columns = spec->n_columns,
    .n_rows = spec->n_rows,
    .n_views = spec->n_views,
    .sample_type = TD_SAMPLE_FLOAT32,
    .angles_rad = angles,
    .transmission_logged = TRUE,
    .centre_px = NAN,
  };

  if (!projections)
    return td_set_error_null (error, TD_ERROR_IO,
                              "Not enough memory for %" PRIu64 " MiB of projections", n >> 18);
  for (guint i = 0; i < spec->n_views; i++)
    angles[i] = G_PI * i / spec->n_views;
  td_random_noise (projections, n, 0);
  return td_scan_new_from_memory (&facts, projections, NULL, NULL, g_free, projections);
}

/* The slices are in host memory: that is the end. */
static void
fbp_bench_take_slices (guint first, guint count, const float *slices, gpointer user)
{
}

static gboolean
fbp_bench_run_once (TdEngine *engine, TdScan *scan, const TdFbpBenchSpec *spec, TdFbpBenchRun *run,
                    char **device, GError **error)
{
  g_autoptr (TdPlan) plan
      = td_plan_new (engine, scan, &spec->recipe, NULL, spec->cancellable, error);

  if (!plan)
    return FALSE;
  g_autoptr (TdJob) job = td_job_new (plan);
  td_job_set_sink (job, fbp_bench_take_slices, NULL);
  const gint64 start = g_get_monotonic_time ();
  if (!td_job_run (job, spec->cancellable, error))
    return FALSE;
  const TdJobResult *result = td_job_result (job);
  *run = (TdFbpBenchRun) { .total_s = (g_get_monotonic_time () - start) * 1e-6 };
  run->updates_per_s = td_plan_facts (plan)->updates / run->total_s;
  for (guint i = 0; i < result->n_stages; i++) {
    const TdJobStage *stage = &result->stages[i];
    double *sum = strcmp (stage->name, "upload") == 0     ? &run->upload_s
                  : strcmp (stage->name, "download") == 0 ? &run->download_s
                  : strcmp (stage->name, "read") == 0     ? &run->read_s
                                                          : &run->kernel_s;
    *sum += stage->seconds;
  }
  g_free (*device);
  *device = g_strdup_printf ("%s, kernel %s", result->device, result->family);
  return TRUE;
}

gboolean
td_fbp_bench (const TdFbpBenchSpec *spec, TdFbpBenchResult *result, GError **error)
{
  g_autofree TdFbpBenchRun *runs = g_new (TdFbpBenchRun, spec->runs);
  g_autofree char *device = NULL;
  g_autoptr (TdScan) scan = fbp_bench_noise_scan (spec, error);
  g_autoptr (TdEngine) engine = scan ? td_engine_new (td_methods) : NULL;

  if (!scan)
    return FALSE;
  for (guint i = 0; i <= spec->runs; i++) { /* the first one warms up */
    if (spec->progress)
      spec->progress ((double) i / (spec->runs + 1));
    if (!fbp_bench_run_once (engine, scan, spec, &runs[i - (i > 0)], &device, error))
      return FALSE;
  }
  qsort (runs, spec->runs, sizeof *runs, td_compare_doubles);
  const TdFbpBenchRun *median = &runs[spec->runs / 2];
  *result = (TdFbpBenchResult) {
    .times = { median->total_s, runs[0].total_s, runs[spec->runs - 1].total_s },
    .median = *median,
    .kept = fmax (median->kernel_s, fmax (median->upload_s, median->download_s)) / median->total_s,
    .device = g_steal_pointer (&device),
  };
  return TRUE;
}
