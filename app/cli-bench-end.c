/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli-recipe.h"
#include "cli-verbs.h"
#include "compute/engine/job.h"
#include "dataset/random.h"
#include "dataset/sort.h"

static const TdCliHelp help = {
  "--end-to-end [OPTION…]",
  "Reconstructs a scan of random projections from memory to memory, by the way that all jobs take, "
  "and\n"
  "compares the time with the slowest single stage of it: the kernels (filter and "
  "back-projection)\n"
  "or the transfers to and from the device. Takes the options of reconstruct for the recipe.",
  "  How much of the kernel's rate a whole run keeps:\n"
  "    tomodesk-cli bench --end-to-end --device cuda:0 --columns 2048 --rows-in-memory 256\n",
};

typedef struct {
  int columns, rows, views, runs;
  gboolean end, json;
} Options;

/* One run's times. */
typedef struct {
  double total_s; /* first: they are sorted by it */
  double kernel_s, up_s, down_s, read_s;
  double rate; /* updates a second */
} Times;

static int
cli_bench_end_parse (int argc, char **argv, TdCliRecipe *recipe, Options *o)
{
  const GOptionEntry entries[] = {
    { "end-to-end", 0, 0, G_OPTION_ARG_NONE, &o->end, "Whole runs", NULL },
    { "columns", 0, 0, G_OPTION_ARG_INT, &o->columns, "Columns, and pixels across a slice (1024)",
      "N" },
    { "rows-in-memory", 0, 0, G_OPTION_ARG_INT, &o->rows, "Detector rows, that is slices (64)",
      "N" },
    { "views", 0, 0, G_OPTION_ARG_INT, &o->views, "Views over half a turn (as --columns)", "N" },
    { "runs", 0, 0, G_OPTION_ARG_INT, &o->runs, "Timed runs, after one to warm up (5)", "N" },
    { "json", 0, 0, G_OPTION_ARG_NONE, &o->json, "Print one JSON object", NULL },
    { NULL },
  };
  int status = td_cli_recipe_parse (recipe, TD_CLI_RECIPE, argc, argv, &help, entries, NULL);

  if (status >= 0)
    return status;
  o->views = o->views ? o->views : o->columns;
  if (o->columns < 1 || o->columns > 16384 || o->rows < 1 || o->rows > 16384 || o->views < 1
      || o->views > 65536)
    return td_cli_usage ("bench", "--columns and --rows-in-memory go to 16384, --views to 65536");
  if (o->runs < 3 || o->runs > 1000)
    return td_cli_usage ("bench", "--runs goes from 3 to 1000");
  return -1;
}

static TdScan *
noise_scan (const Options *o, GError **error)
{
  const guint64 n = (guint64) o->views * o->rows * o->columns;
  float *projections = g_try_malloc (n * sizeof *projections);
  g_autofree double *angles = g_new (double, o->views);
  const TdScanFacts facts = {
    .n_columns = o->columns,
    .n_rows = o->rows,
    .n_views = o->views,
    .sample_type = TD_SAMPLE_FLOAT32,
    .angles_rad = angles,
    .transmission_logged = TRUE,
    .centre_px = NAN,
  };

  if (!projections) {
    td_set_error (error, TD_ERROR_IO,
                  "Not enough memory for %" G_GUINT64_FORMAT " MiB of projections", n >> 18);
    return NULL;
  }
  for (int i = 0; i < o->views; i++)
    angles[i] = G_PI * i / o->views;
  td_random_noise (projections, n, 0);
  return td_scan_new_from_memory (&facts, projections, NULL, NULL, g_free, projections);
}

static void
cli_bench_end_take_slices (guint first, guint count, const float *slices, gpointer user)
{
  guint *taken = user;

  *taken += count; /* they are in host memory: that is the end */
}

static gboolean
cli_bench_end_run_once (TdEngine *engine, TdScan *scan, const TdRecipe *recipe, Times *times,
                        char **device, GError **error)
{
  GCancellable *cancellable = td_cli_cancellable ();
  guint taken = 0;
  g_autoptr (TdPlan) plan = td_plan_new (engine, scan, recipe, NULL, cancellable, error);

  if (!plan)
    return FALSE;
  g_autoptr (TdJob) job = td_job_new (plan);
  td_job_set_sink (job, cli_bench_end_take_slices, &taken);
  const gint64 start = g_get_monotonic_time ();
  if (!td_job_run (job, cancellable, error))
    return FALSE;
  const TdJobResult *result = td_job_result (job);
  *times = (Times) { .total_s = (g_get_monotonic_time () - start) * 1e-6 };
  times->rate = td_plan_facts (plan)->updates / times->total_s;
  for (guint i = 0; i < result->n_stages; i++) {
    const TdJobStage *stage = &result->stages[i];
    double *sum = strcmp (stage->name, "upload") == 0     ? &times->up_s
                  : strcmp (stage->name, "download") == 0 ? &times->down_s
                  : strcmp (stage->name, "read") == 0     ? &times->read_s
                                                          : &times->kernel_s;
    *sum += stage->seconds;
  }
  g_free (*device);
  *device = g_strdup_printf ("%s, kernel %s", result->device, result->family);
  return TRUE;
}

static int
cli_bench_end_report (const Options *o, const Times *times, const char *device)
{
  const Times *median = &times[o->runs / 2];
  const double slowest = fmax (median->kernel_s, fmax (median->up_s, median->down_s));
  const double kept = slowest / median->total_s;

  if (o->json) {
    g_autoptr (JsonBuilder) builder = json_builder_new ();
    json_builder_begin_object (builder);
    td_json_add_string (builder, "device", device);
    td_json_add_integer (builder, "columns", o->columns);
    td_json_add_integer (builder, "rows", o->rows);
    td_json_add_integer (builder, "views", o->views);
    td_json_add_number (builder, "median_s", median->total_s);
    td_json_add_number (builder, "low_s", times[0].total_s);
    td_json_add_number (builder, "high_s", times[o->runs - 1].total_s);
    td_json_add_number (builder, "kernel_s", median->kernel_s);
    td_json_add_number (builder, "upload_s", median->up_s);
    td_json_add_number (builder, "download_s", median->down_s);
    td_json_add_number (builder, "updates_per_second", median->rate);
    td_json_add_number (builder, "kept", kept);
    json_builder_end_object (builder);
    return td_cli_print_json (builder);
  }
  g_autofree char *spread
      = td_cli_spread (median->total_s, times[0].total_s, times[o->runs - 1].total_s);
  g_autofree char *text = g_strdup_printf (
      "%s: %d views of %d × %d pixels → %d slices of %d², from memory to memory, median of %d\n\n"
      "whole run %.4f s (%s), %.2f GU/s\n"
      "kernels %.4f s, upload %.4f s, download %.4f s; copying in %.4f s of other threads' time\n"
      "%.0f %% of what the slowest of kernels, upload and download allows",
      device, o->views, o->rows, o->columns, o->rows, o->columns, o->runs, median->total_s, spread,
      1e-9 * median->rate, median->kernel_s, median->up_s, median->down_s, median->read_s,
      100 * kept);
  return td_cli_print_text (text);
}

static int
cli_bench_end_measure (const Options *o, const TdRecipe *recipe)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *device = NULL;
  g_autofree Times *times = g_new (Times, o->runs);
  g_autoptr (TdScan) scan = noise_scan (o, &error);

  if (!scan)
    return td_cli_fail (error);
  g_autoptr (TdEngine) engine = td_engine_new ();
  for (int i = -1; i < o->runs; i++) { /* the first one warms up */
    td_cli_progress ("measuring", (i + 1.0) / (o->runs + 1), -1, NULL);
    if (!cli_bench_end_run_once (engine, scan, recipe, &times[MAX (i, 0)], &device, &error))
      return td_cli_fail (error);
  }
  td_cli_progress_clear ();
  qsort (times, o->runs, sizeof *times, td_compare_doubles);
  return cli_bench_end_report (o, times, device);
}

int
td_cli_bench_end (int argc, char **argv)
{
  Options o = { .columns = 1024, .rows = 64, .runs = 5 };
  g_auto (TdCliRecipe) recipe = { 0 };
  int status = cli_bench_end_parse (argc, argv, &recipe, &o);
  if (status < 0)
    status = cli_bench_end_measure (&o, &recipe.recipe);
  return status;
}
