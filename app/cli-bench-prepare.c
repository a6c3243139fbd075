/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli-table.h"
#include "cli-verbs.h"

#include "cli.h"
#include "compute/bench/prepare-bench.h"

static const TdCliHelp help = {
  "--prepare [OPTION…]",
  "Measures every preparation step at its presets, in GB/s: the bytes of the rows it works on,\n"
  "read and written once, over the best of several runs. Beside it a copy of the same bytes in\n"
  "the device's memory. \"ms\" is what the rows wanted take by themselves, with the neighbours\n"
  "they need; \"in a slab\", what they take in a volume, where rows are each other's\n"
  "neighbours, and that in parts of their back-projection. Phase retrieval is measured on fewer\n"
  "views and extrapolated to all. Only with --rings does a row have rings that the step\n"
  "\"rings\" finds.",
  "  One row, a preview's case:\n"
  "    tomodesk-cli bench --prepare --device host\n"
  "  A slab of rows, where neighbours are shared:\n"
  "    tomodesk-cli bench --prepare --device cuda:0 --rows 16 --csv\n"
  "  Ring removal of rows that have rings, discs about the axis and noise:\n"
  "    tomodesk-cli bench --prepare --device cuda:0 --step rings --rings 0.02 --rows 256\n"
  "  The same, kernel by kernel:\n"
  "    tomodesk-cli bench --prepare --device cuda:0 --step rings --rings 0.02 --parts\n",
};

typedef struct {
  char *device, *step;
  double rings;
  int columns, views, rows, runs;
  gboolean prepare, parts, json, csv;
} Options;

static int
cli_bench_prepare_parse (int argc, char **argv, Options *o)
{
  const GOptionEntry entries[] = {
    { "prepare", 0, 0, G_OPTION_ARG_NONE, &o->prepare, "Preparation", NULL },
    { "device", 0, 0, G_OPTION_ARG_STRING, &o->device, "host, opencl:0, cuda:0 (the fastest)",
      "ID" },
    { "columns", 0, 0, G_OPTION_ARG_INT, &o->columns, "Columns, and pixels across a slice (2048)",
      "N" },
    { "views", 0, 0, G_OPTION_ARG_INT, &o->views, "Views (1800)", "N" },
    { "rows", 0, 0, G_OPTION_ARG_INT, &o->rows, "Rows wanted at a time (1)", "N" },
    { "runs", 0, 0, G_OPTION_ARG_INT, &o->runs, "Timed runs, after one to warm up (11)", "N" },
    { "step", 0, 0, G_OPTION_ARG_STRING, &o->step, "Measure this step only", "NAME" },
    { "rings", 0, 0, G_OPTION_ARG_DOUBLE, &o->rings,
      "Gain error of the columns, relative, on line integrals (0)", "F" },
    { "parts", 0, 0, G_OPTION_ARG_NONE, &o->parts,
      "Also what each part of the step --step takes, with a wait after each", NULL },
    { "json", 0, 0, G_OPTION_ARG_NONE, &o->json, "Print one JSON object", NULL },
    { "csv", 0, 0, G_OPTION_ARG_NONE, &o->csv, "Print comma-separated values", NULL },
    { NULL },
  };
  int status = td_cli_parse (argc, argv, &help, entries, NULL, 0, NULL);

  if (status >= 0)
    return status;
  if (o->columns < 1 || o->views < 1 || o->columns > 65536 || o->views > 65536)
    return td_cli_usage ("bench --prepare", "--columns and --views go from 1 to 65536");
  if (o->rows < 1 || o->rows > 4096)
    return td_cli_usage ("bench --prepare", "--rows goes from 1 to 4096");
  if (o->runs < 5 || o->runs > 1000)
    return td_cli_usage ("bench --prepare", "--runs goes from 5 to 1000: fewer say little");
  if (!(o->rings >= 0 && o->rings <= 1))
    return td_cli_usage ("bench --prepare", "--rings goes from 0 to 1");
  if (o->json && o->csv)
    return td_cli_usage ("bench --prepare", "--json and --csv exclude each other");
  if (o->parts && (!o->step || o->json || o->csv))
    return td_cli_usage ("bench --prepare",
                         "--parts goes with --step, and neither --json nor --csv");
  return -1;
}

/* ── Reporting ── */

static double
gigabytes_per_s (guint64 bytes, const TdBenchTimes *times)
{
  return bytes * 1e-9 / times->low_s;
}

/* The time that all steps take for the rows wanted, in a slab whose rows are each other's
   neighbours. @all: every way to remove rings counts too, though a recipe has only one, for which
   "rings" stands. */
static double
sum_s (const TdPrepareBench *bench, gboolean all)
{
  double sum = 0;

  for (guint i = 0; i < bench->rows->len; i++) {
    const TdPrepareBenchRow *row = bench->rows->pdata[i];
    if (!row->unsupported && (all || !g_str_has_prefix (row->step, "rings-")))
      sum += row->shared_s;
  }
  return sum;
}

static void
cli_bench_prepare_add_row (TdCliTable *table, const TdPrepareBench *bench,
                           const TdPrepareBenchRow *row)
{
  const TdBenchTimes *times = &row->times;
  const double rate = gigabytes_per_s (row->bytes, times);
  const double copy_rate = gigabytes_per_s (row->bytes, &row->copy);
  g_autofree char *spread = td_cli_spread (times->low_s, times->median_s, times->high_s);

  td_cli_table_show (table, "step", "%-18s", row->step);
  td_cli_table_cell (table, integer, "rows_worked", "rows", "%5u", row->rows_worked);
  td_cli_table_cell (table, integer, "views_worked", "views", "%5u", row->views_worked);
  td_cli_table_integer (table, "bytes", row->bytes);
  td_cli_table_times (table, "", times);
  td_cli_table_times (table, "copy_", &row->copy);
  td_cli_table_number (table, "wanted_s", row->wanted_s);
  td_cli_table_show (table, "ms", "%10.3f", 1e3 * row->wanted_s);
  td_cli_table_show (table, "spread", "%14s", spread);
  td_cli_table_number (table, "shared_s", row->shared_s);
  td_cli_table_cell (table, number, "gigabytes_per_second", "GB/s", "%8.2f", rate);
  td_cli_table_cell (table, number, "copy_gigabytes_per_second", "copy", "%8.2f", copy_rate);
  td_cli_table_show (table, "in a slab", "%10.3f", 1e3 * row->shared_s);
  td_cli_table_show (table, "back-proj.", "%10.2f %%",
                     100 * row->shared_s / bench->backproject.low_s);
}

static void
cli_bench_prepare_say_parts (TdCliTable *table, const TdPrepareBenchRow *row)
{
  td_cli_table_say (table, "\n%-28s %6s %10s %14s\n", "part", "times", "ms", "ms a row");
  for (guint i = 0; i < row->parts->len; i++) {
    const TdPrepareBenchPart *part = row->parts->pdata[i];
    td_cli_table_say (table, "%-28s %6u %10.3f %14.4f\n", part->name, part->count,
                      1e3 * part->seconds, 1e3 * part->seconds / row->rows_worked);
  }
  td_cli_table_say (table, "\n");
}

static void
cli_bench_prepare_say_sum (TdCliTable *table, const TdPrepareBench *bench, const char *what,
                           gboolean all)
{
  td_cli_table_say (table, "%-74s %10.3f %10.2f %%\n", what, 1e3 * sum_s (bench, all),
                    100 * sum_s (bench, all) / bench->backproject.low_s);
}

static int
cli_bench_prepare_report (const Options *o, TdDevice *device, const TdPrepareBench *bench)
{
  const TdDeviceInfo *info = td_device_info (device);
  const TdBenchTimes *backproject = &bench->backproject;
  g_autoptr (TdCliTable) table = td_cli_table_new (td_cli_table_form (o->json, o->csv));

  td_cli_table_say (table,
                    "%s (%s): %d row(s) of %d views, %d columns; best of %d, spread to the median "
                    "and the worst\n\n",
                    info->name, info->id, o->rows, o->views, o->columns, o->runs);
  td_cli_table_device (table, device);
  td_cli_table_integer (table, "columns", o->columns);
  td_cli_table_integer (table, "views", o->views);
  td_cli_table_integer (table, "rows", o->rows);
  td_cli_table_integer (table, "runs", o->runs);
  td_cli_table_text (table, "backproject_family", bench->family);
  td_cli_table_times (table, "backproject_", backproject);
  td_cli_table_number (table, "recipe_shared_s", sum_s (bench, FALSE));
  td_cli_table_number (table, "steps_shared_s", sum_s (bench, TRUE));
  td_cli_table_rows (table, "steps");
  for (guint i = 0; i < bench->rows->len; i++) {
    const TdPrepareBenchRow *row = bench->rows->pdata[i];
    if (row->unsupported && o->csv)
      continue;
    g_autofree char *why = row->unsupported ? td_message_text (row->unsupported, NULL) : NULL;
    td_cli_table_row (table);
    td_cli_table_text (table, "step", row->step);
    if (!o->csv)
      td_cli_table_text (table, "unsupported", why);
    if (row->unsupported)
      td_cli_table_say (table, "%-18s left out: %s\n", row->step, why);
    else
      cli_bench_prepare_add_row (table, bench, row);
    if (row->parts)
      cli_bench_prepare_say_parts (table, row);
  }
  cli_bench_prepare_say_sum (table, bench, "a recipe: all but the alternatives to \"rings\"",
                             FALSE);
  cli_bench_prepare_say_sum (table, bench, "everything in the table", TRUE);
  td_cli_table_say (table, "%-18s %11d %10.3f %14s", "back-projection", o->rows,
                    1e3 * backproject->low_s, bench->family);
  return td_cli_table_print (table);
}

int
td_cli_bench_prepare (int argc, char **argv)
{
  Options o = { .columns = 2048, .views = 1800, .rows = 1, .runs = 11 };
  g_autoptr (GError) error = NULL;
  int status = cli_bench_prepare_parse (argc, argv, &o);

  if (status >= 0)
    return status;
  if (o.step && !td_prepare_step (o.step, &error))
    return td_cli_fail (error);
  g_autoptr (TdDevice) device = td_device_open (o.device, &error);
  if (!device)
    return td_cli_fail (error);
  const TdPrepareBenchSpec spec = {
    .n_columns = o.columns,
    .n_views = o.views,
    .n_rows = o.rows,
    .runs = o.runs,
    .rings = o.rings,
    .step = o.step,
    .parts = o.parts,
    .cancellable = td_cli_cancellable (),
  };
  td_cli_progress ("measuring", 0, -1, "each step");
  g_autoptr (TdPrepareBench) bench = td_prepare_bench_run (device, &spec, &error);
  td_cli_progress_clear ();
  if (!bench)
    return td_cli_fail (error);
  return cli_bench_prepare_report (&o, device, bench);
}
