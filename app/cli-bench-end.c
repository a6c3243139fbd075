/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli-recipe.h"
#include "cli-table.h"
#include "cli-verbs.h"
#include "compute/bench/fbp-bench.h"

static const TdCliHelp help = {
  "--end-to-end [OPTION…]",
  "Reconstructs a scan of random projections from memory to memory, by the way that all jobs\n"
  "take, and compares the time with the slowest single stage of it: the kernels (filter and\n"
  "back-projection) or the transfers to and from the device. Takes the options of reconstruct\n"
  "for the recipe.",
  "  How much of the kernel's rate a whole run keeps:\n"
  "    tomodesk-cli bench --end-to-end --device cuda:0 --columns 2048 --rows-in-memory 256\n",
};

typedef struct {
  int columns, rows, views, runs;
  gboolean end, json;
} Options;

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
    return td_cli_usage ("bench --end-to-end",
                         "--columns and --rows-in-memory go to 16384, --views to 65536");
  if (o->runs < 3 || o->runs > 1000)
    return td_cli_usage ("bench --end-to-end", "--runs goes from 3 to 1000");
  return -1;
}

static void
cli_bench_end_progress (double done)
{
  td_cli_progress ("measuring", done, -1, NULL);
}

static int
cli_bench_end_report (const Options *o, const TdFbpBenchResult *result)
{
  const TdFbpBenchRun *median = &result->median;
  const TdBenchTimes *times = &result->times;
  g_autofree char *spread = td_cli_spread (times->median_s, times->low_s, times->high_s);
  g_autoptr (TdCliTable) table = td_cli_table_new (td_cli_table_form (o->json, FALSE));

  td_cli_table_text (table, "device", result->device);
  td_cli_table_sizes (table, o->columns, o->rows, o->views);
  td_cli_table_times (table, "", times);
  td_cli_table_number (table, "kernel_s", median->kernel_s);
  td_cli_table_number (table, "upload_s", median->upload_s);
  td_cli_table_number (table, "download_s", median->download_s);
  td_cli_table_number (table, "updates_per_second", median->updates_per_s);
  td_cli_table_number (table, "kept", result->kept);
  td_cli_table_say (
      table,
      "%s: %d views of %d × %d pixels → %d slices of %d², from memory to memory, median of %d\n\n"
      "whole run %.4f s (%s), %.2f GU/s\n"
      "kernels %.4f s, upload %.4f s, download %.4f s; copying in %.4f s of other threads' time\n"
      "%.0f %% of what the slowest of kernels, upload and download allows",
      result->device, o->views, o->rows, o->columns, o->rows, o->columns, o->runs, median->total_s,
      spread, 1e-9 * median->updates_per_s, median->kernel_s, median->upload_s, median->download_s,
      median->read_s, 100 * result->kept);
  return td_cli_table_print (table);
}

static int
cli_bench_end_measure (const Options *o, const TdRecipe *recipe)
{
  const TdFbpBenchSpec spec
      = { (guint) o->columns,    (guint) o->rows,       (guint) o->views, (guint) o->runs, *recipe,
          td_cli_cancellable (), cli_bench_end_progress };
  g_autoptr (GError) error = NULL;
  TdFbpBenchResult result;

  if (!td_fbp_bench (&spec, &result, &error))
    return td_cli_fail (error);
  td_cli_progress_clear ();
  const int status = cli_bench_end_report (o, &result);
  g_free (result.device);
  return status;
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
