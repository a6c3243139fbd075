/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli-verbs.h"
#include "cli.h"
#include "compute/bench/prepare-bench.h"

static const TdCliHelp help = {
  "--prepare [OPTION…]",
  "Measures every preparation step at its presets, in GB/s: the bytes of the rows it works on, "
  "read and\n"
  "written once, over the best of several runs. Beside it a copy of the same bytes in the device's "
  "memory.\n"
  "\"ms\" is what the rows wanted take by themselves, with the neighbours they need; \"in a "
  "slab\", what they\n"
  "take in a volume, where rows are each other's neighbours, and that in parts of their "
  "back-projection.\n"
  "Phase retrieval is measured on fewer views and extrapolated to all.",
  "  One row, a preview's case:\n"
  "    tomodesk-cli bench --prepare --device host\n"
  "  A slab of rows, where neighbours are shared:\n"
  "    tomodesk-cli bench --prepare --device cuda:0 --rows 16 --csv\n",
};

typedef struct {
  char *device;
  int columns, views, rows, runs;
  gboolean prepare, json, csv;
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
    { "json", 0, 0, G_OPTION_ARG_NONE, &o->json, "Print one JSON object", NULL },
    { "csv", 0, 0, G_OPTION_ARG_NONE, &o->csv, "Print comma-separated values", NULL },
    { NULL },
  };
  int status = td_cli_parse (argc, argv, &help, entries, NULL, 0, NULL);

  if (status >= 0)
    return status;
  if (o->columns < 1 || o->views < 1 || o->columns > 65536 || o->views > 65536)
    return td_cli_usage ("bench", "--columns and --views go from 1 to 65536");
  if (o->rows < 1 || o->rows > 4096)
    return td_cli_usage ("bench", "--rows goes from 1 to 4096");
  if (o->runs < 5 || o->runs > 1000)
    return td_cli_usage ("bench", "--runs goes from 5 to 1000: fewer say little");
  if (o->json && o->csv)
    return td_cli_usage ("bench", "--json and --csv exclude each other");
  return -1;
}

/* ── Reporting ── */

static double
gigabytes_per_s (guint64 bytes, const TdBenchTimes *times)
{
  return bytes * 1e-9 / times->low_s;
}

/* One of several ways to remove rings, of which a recipe has one: "rings" stands for them. */
static gboolean
is_alternative (const TdPrepareBenchRow *row)
{
  return g_str_has_prefix (row->step, "rings-");
}

/* Of the rows wanted, in a slab where rows are each other's neighbours; @all: with every way to
   remove rings one after another, which nobody wants. */
static double
sum_s (const TdPrepareBench *bench, gboolean all)
{
  double sum = 0;

  for (guint i = 0; i < bench->rows->len; i++) {
    const TdPrepareBenchRow *row = bench->rows->pdata[i];
    if (!row->unsupported && (all || !is_alternative (row)))
      sum += row->shared_s;
  }
  return sum;
}

static void
append_row (GString *out, const TdPrepareBench *bench, const TdPrepareBenchRow *row)
{
  if (row->unsupported) {
    g_autofree char *why = td_message_text (row->unsupported, NULL);
    g_string_append_printf (out, "%-18s left out: %s\n", row->step, why);
    return;
  }
  g_autofree char *spread
      = td_cli_spread (row->times.low_s, row->times.median_s, row->times.high_s);
  g_string_append_printf (out, "%-18s %5u %5u %10.3f %14s %8.2f %8.2f %10.3f %10.2f %%\n",
                          row->step, row->rows_worked, row->views_worked, 1e3 * row->wanted_s,
                          spread, gigabytes_per_s (row->bytes, &row->times),
                          gigabytes_per_s (row->bytes, &row->copy), 1e3 * row->shared_s,
                          100 * row->shared_s / bench->backproject.low_s);
}

static void
append_sum (GString *out, const TdPrepareBench *bench, const char *what, gboolean all)
{
  g_string_append_printf (out, "%-74s %10.3f %10.2f %%\n", what, 1e3 * sum_s (bench, all),
                          100 * sum_s (bench, all) / bench->backproject.low_s);
}

static int
cli_bench_prepare_print_table (const Options *o, TdDevice *device, const TdPrepareBench *bench)
{
  const TdDeviceInfo *info = td_device_info (device);
  g_autoptr (GString) out = g_string_new (NULL);

  g_string_append_printf (out,
                          "%s (%s): %d row(s) of %d views, %d columns; best of %d, spread to the "
                          "median and the worst\n\n%-18s %5s %5s %10s %14s %8s %8s %10s %12s\n",
                          info->name, info->id, o->rows, o->views, o->columns, o->runs, "step",
                          "rows", "views", "ms", "spread", "GB/s", "copy", "in a slab",
                          "back-proj.");
  for (guint i = 0; i < bench->rows->len; i++)
    append_row (out, bench, bench->rows->pdata[i]);
  append_sum (out, bench, "a recipe: all but the alternatives to \"rings\"", FALSE);
  append_sum (out, bench, "everything in the table", TRUE);
  g_string_append_printf (out, "%-18s %11d %10.3f %14s", "back-projection", o->rows,
                          1e3 * bench->backproject.low_s, bench->family);
  return td_cli_print_text (out->str);
}

static int
cli_bench_prepare_print_csv (const Options *o, TdDevice *device, const TdPrepareBench *bench)
{
  g_autoptr (GString) out
      = g_string_new ("device,columns,views,rows,step,rows_worked,views_worked,bytes,low_s,"
                      "median_s,high_s,wanted_s,shared_s,gigabytes_per_second,copy_low_s,copy_"
                      "gigabytes_per_second,backproject_low_s");

  for (guint i = 0; i < bench->rows->len; i++) {
    const TdPrepareBenchRow *row = bench->rows->pdata[i];
    if (!row->unsupported)
      g_string_append_printf (out,
                              "\n%s,%d,%d,%d,%s,%u,%u,%" G_GUINT64_FORMAT
                              ",%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g",
                              td_device_info (device)->id, o->columns, o->views, o->rows, row->step,
                              row->rows_worked, row->views_worked, row->bytes, row->times.low_s,
                              row->times.median_s, row->times.high_s, row->wanted_s, row->shared_s,
                              gigabytes_per_s (row->bytes, &row->times), row->copy.low_s,
                              gigabytes_per_s (row->bytes, &row->copy), bench->backproject.low_s);
  }
  return td_cli_print_text (out->str);
}

static void
add_times (JsonBuilder *builder, const char *prefix, const TdBenchTimes *times)
{
  g_autofree char *low = g_strconcat (prefix, "low_s", NULL);
  g_autofree char *median = g_strconcat (prefix, "median_s", NULL);
  g_autofree char *high = g_strconcat (prefix, "high_s", NULL);

  td_json_add_number (builder, low, times->low_s);
  td_json_add_number (builder, median, times->median_s);
  td_json_add_number (builder, high, times->high_s);
}

static void
cli_bench_prepare_add_json_row (JsonBuilder *builder, const TdPrepareBenchRow *row)
{
  json_builder_begin_object (builder);
  td_json_add_string (builder, "step", row->step);
  g_autofree char *why = row->unsupported ? td_message_text (row->unsupported, NULL) : NULL;
  td_json_add_string (builder, "unsupported", why);
  if (!row->unsupported) {
    td_json_add_integer (builder, "rows_worked", row->rows_worked);
    td_json_add_integer (builder, "views_worked", row->views_worked);
    td_json_add_integer (builder, "bytes", row->bytes);
    add_times (builder, "", &row->times);
    add_times (builder, "copy_", &row->copy);
    td_json_add_number (builder, "wanted_s", row->wanted_s);
    td_json_add_number (builder, "shared_s", row->shared_s);
    td_json_add_number (builder, "gigabytes_per_second", gigabytes_per_s (row->bytes, &row->times));
    td_json_add_number (builder, "copy_gigabytes_per_second",
                        gigabytes_per_s (row->bytes, &row->copy));
  }
  json_builder_end_object (builder);
}

static int
cli_bench_prepare_print_json (const Options *o, TdDevice *device, const TdPrepareBench *bench)
{
  g_autoptr (JsonBuilder) builder = json_builder_new ();

  json_builder_begin_object (builder);
  td_cli_add_device (builder, device);
  td_json_add_integer (builder, "columns", o->columns);
  td_json_add_integer (builder, "views", o->views);
  td_json_add_integer (builder, "rows", o->rows);
  td_json_add_integer (builder, "runs", o->runs);
  td_json_add_string (builder, "backproject_family", bench->family);
  add_times (builder, "backproject_", &bench->backproject);
  td_json_add_number (builder, "recipe_shared_s", sum_s (bench, FALSE));
  td_json_add_number (builder, "steps_shared_s", sum_s (bench, TRUE));
  td_json_begin_list (builder, "steps");
  for (guint i = 0; i < bench->rows->len; i++)
    cli_bench_prepare_add_json_row (builder, bench->rows->pdata[i]);
  json_builder_end_array (builder);
  json_builder_end_object (builder);
  return td_cli_print_json (builder);
}

int
td_cli_bench_prepare (int argc, char **argv)
{
  Options o = { .columns = 2048, .views = 1800, .rows = 1, .runs = 11 };
  g_autoptr (GError) error = NULL;
  int status = cli_bench_prepare_parse (argc, argv, &o);

  g_autofree char *id = o.device;
  if (status >= 0)
    return status;
  g_autoptr (TdDevice) device = td_device_open (id, &error);
  if (!device)
    return td_cli_fail (error);
  const TdPrepareBenchSpec spec = {
    .n_columns = o.columns,
    .n_views = o.views,
    .n_rows = o.rows,
    .runs = o.runs,
    .cancellable = td_cli_cancellable (),
  };
  td_cli_progress ("measuring", 0, -1, "each step");
  g_autoptr (TdPrepareBench) bench = td_prepare_bench_run (device, &spec, &error);
  td_cli_progress_clear ();
  if (!bench)
    return td_cli_fail (error);
  return o.json  ? cli_bench_prepare_print_json (&o, device, bench)
         : o.csv ? cli_bench_prepare_print_csv (&o, device, bench)
                 : cli_bench_prepare_print_table (&o, device, bench);
}
