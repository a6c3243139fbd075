/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <string.h>

#include "cli-table.h"
#include "cli-verbs.h"

#include "cli.h"
#include "compute/bench/fdk-bench.h"

static const TdCliHelp help = {
  "--cone --end-to-end [OPTION…]",
  "Measures whole cone-beam jobs, from random projections in host memory to a volume in host\n"
  "memory: filtering, both transfers and back-projection, beside the kernel alone. With several\n"
  "devices the first alone is measured too, for the speed-up.",
  "  One card, and how many times the kernel alone it takes:\n"
  "    tomodesk-cli bench --cone --end-to-end --device cuda:0 --size 1024\n"
  "  Four cards, each a part of the volume:\n"
  "    tomodesk-cli bench --cone --end-to-end --device cuda:0,cuda:1,cuda:2,cuda:3 --size 2048 "
  "--views 1024 --share volume\n"
  "  Out of core, compared with what fits:\n"
  "    tomodesk-cli bench --cone --end-to-end --device cuda:0 --size 1024 --memory-limit 0,1G\n",
};

typedef struct {
  char *device, *share, *filter_on, *kernel, *precision, *memory_limit, *device_memory_limit,
      *timeline;
  int size, columns, views, runs;
  gboolean cone, end_to_end, jobs_only, notes, json;
} Options;

static int
cli_bench_fdk_parse (int argc, char **argv, Options *o)
{
  const GOptionEntry entries[] = {
    { "cone", 0, 0, G_OPTION_ARG_NONE, &o->cone, "Cone beam", NULL },
    { "end-to-end", 0, 0, G_OPTION_ARG_NONE, &o->end_to_end, "Whole jobs", NULL },
    { "device", 0, 0, G_OPTION_ARG_STRING, &o->device, "One or several (auto)", "ID[,ID…]" },
    { "share", 0, 0, G_OPTION_ARG_STRING, &o->share, "auto, volume or projection", "NAME" },
    { "filter-on", 0, 0, G_OPTION_ARG_STRING, &o->filter_on, "auto, cpu or device", "NAME" },
    { "kernel", 0, 0, G_OPTION_ARG_STRING, &o->kernel, "auto, turned, texture, …", "NAME" },
    { "precision", 0, 0, G_OPTION_ARG_STRING, &o->precision, "single or half", "NAME" },
    { "memory-limit", 0, 0, G_OPTION_ARG_STRING, &o->memory_limit,
      "On the host and each device (0, none); a row for each", "SIZE[,SIZE…]" },
    { "device-memory-limit", 0, 0, G_OPTION_ARG_STRING, &o->device_memory_limit,
      "On each device alone; another row for each", "SIZE[,SIZE…]" },
    { "size", 0, 0, G_OPTION_ARG_INT, &o->size, "Voxels along each side (256)", "N" },
    { "columns", 0, 0, G_OPTION_ARG_INT, &o->columns, "Detector columns and rows (as --size)",
      "N" },
    { "views", 0, 0, G_OPTION_ARG_INT, &o->views, "Views over a full turn (as --size)", "N" },
    { "runs", 0, 0, G_OPTION_ARG_INT, &o->runs, "Timed runs, after one to warm up (3)", "N" },
    { "timeline", 0, 0, G_OPTION_ARG_FILENAME, &o->timeline,
      "Write what each device did when in the last run, CSV", "FILE" },
    { "jobs-only", 0, 0, G_OPTION_ARG_NONE, &o->jobs_only, "Leave the kernel alone out", NULL },
    { "notes", 0, 0, G_OPTION_ARG_NONE, &o->notes, "Print what each plan chose and why", NULL },
    { "json", 0, 0, G_OPTION_ARG_NONE, &o->json, "Print one JSON object", NULL },
    { NULL },
  };
  int status = td_cli_parse (argc, argv, &help, entries, NULL, 0, NULL);

  if (status >= 0)
    return status;
  o->columns = o->columns ? o->columns : o->size;
  o->views = o->views ? o->views : o->size;
  if (o->size < 1 || o->columns < 1 || o->views < 1 || o->size > 4096 || o->columns > 8192
      || o->views > 16384)
    return td_cli_usage ("bench --cone --end-to-end",
                         "--size goes to 4096, --columns to 8192 and --views to 16384");
  if (o->runs < 1 || o->runs > 1000)
    return td_cli_usage ("bench --cone --end-to-end", "--runs goes from 1 to 1000");
  return -1;
}

static gboolean
make_spec (const Options *o, TdFdkBenchSpec *spec, GError **error)
{
  const struct {
    const char *name, *value;
  } settings[] = {
    { "share", o->share },
    { "filter-on", o->filter_on },
    { "kernel", o->kernel },
    { "precision", o->precision },
  };

  *spec = (TdFdkBenchSpec) {
    .size = (guint) o->size,
    .n_columns = (guint) o->columns,
    .n_views = (guint) o->views,
    .runs = (guint) o->runs,
    .timeline = o->timeline,
    .cancellable = td_cli_cancellable (),
  };
  td_recipe_init (&spec->recipe);
  for (guint i = 0; i < G_N_ELEMENTS (settings); i++)
    if (settings[i].value
        && !td_recipe_set (&spec->recipe, settings[i].name, settings[i].value, error))
      return FALSE;
  return TRUE;
}

/* ── What came out ── */

static double
cli_bench_fdk_stage (const TdFdkBenchRow *row, const char *name)
{
  for (guint i = 0; i < row->n_stages; i++)
    if (strcmp (row->stages[i].name, name) == 0)
      return row->stages[i].seconds;
  return 0;
}

static void
cli_bench_fdk_say_row (TdCliTable *table, const Options *o, const TdFdkBenchRow *row,
                       double kernel_s)
{
  static const char *const stages[]
      = { "back-project", "filter", "read", "upload", "download", "sum" };
  const guint64 limit = row->limit.memory_bytes + row->limit.device_memory_bytes;

  td_cli_table_say (table, "\n%s", row->devices);
  if (limit > 0)
    td_cli_table_say (table, ", %stold it has %.1f GiB",
                      row->limit.memory_bytes > 0 ? "" : "alone ", (double) limit / (1 << 30));
  td_cli_table_say (table, "\n  %.4f s (%.4f to %.4f), %.1f GUPS", row->times.median_s,
                    row->times.low_s, row->times.high_s, row->gups);
  if (kernel_s > 0)
    td_cli_table_say (table, ", %.3f × the kernel alone%s",
                      row->times.median_s / (kernel_s / row->n_devices),
                      row->n_devices > 1 ? " on as many" : "");
  if (row->speed_up > 0)
    td_cli_table_say (
        table, "\n  speed-up %.2f, difference from the first %.1e, %" PRIu64 " voxels not the same",
        row->speed_up, row->difference, row->different);
  td_cli_table_say (table, "\n  memory %.1f GiB host, %.1f GiB device\n  busy, seconds a device:",
                    (double) row->host_peak_bytes / (1 << 30),
                    (double) row->device_peak_bytes / (1 << 30));
  for (guint s = 0; s < G_N_ELEMENTS (stages); s++)
    td_cli_table_say (table, "  %s %.4f", stages[s],
                      cli_bench_fdk_stage (row, stages[s]) / row->n_devices);
  g_auto (GStrv) notes = td_messages_texts (row->notes, NULL);
  for (guint n = 0; o->notes && notes[n]; n++)
    td_cli_table_say (table, "\n  note  %s", notes[n]);
}

static void
cli_bench_fdk_add_row (TdCliTable *table, const TdFdkBenchRow *row, double kernel_s)
{
  td_cli_table_text (table, "devices", row->devices);
  td_cli_table_text (table, "kernel", row->family);
  td_cli_table_times (table, "", &row->times);
  td_cli_table_number (table, "gups", row->gups);
  if (kernel_s > 0)
    td_cli_table_number (table, "ratio_to_kernel",
                         row->times.median_s / (kernel_s / row->n_devices));
  td_cli_table_number (table, "speed_up", row->speed_up > 0 ? row->speed_up : 1);
  td_cli_table_number (table, "difference", row->difference);
  td_cli_table_integer (table, "different_voxels", row->different);
  td_cli_table_integer (table, "memory_limit_bytes", row->limit.memory_bytes);
  td_cli_table_integer (table, "device_memory_limit_bytes", row->limit.device_memory_bytes);
  td_cli_table_integer (table, "host_peak_bytes", row->host_peak_bytes);
  td_cli_table_integer (table, "device_peak_bytes", row->device_peak_bytes);
  for (guint i = 0; i < row->n_stages; i++) {
    g_autofree char *name = g_strdup_printf ("%s_s", row->stages[i].name);
    td_cli_table_number (table, name, row->stages[i].seconds);
  }
  td_cli_table_notes (table, row->notes);
}

static int
cli_bench_fdk_report (const Options *o, const GArray *rows, double kernel_s)
{
  const TdFdkBenchRow *first = &g_array_index (rows, TdFdkBenchRow, 0);
  g_autoptr (TdCliTable) table = td_cli_table_new (td_cli_table_form (o->json, FALSE));

  td_cli_table_say (table, "%d² × %d views → %d³ voxels, host to host, %s, median of %d\n",
                    o->columns, o->views, o->size, first->family, o->runs);
  if (kernel_s > 0)
    td_cli_table_say (table, "kernel alone, all in the first device's memory: %.4f s, %.1f GUPS\n",
                      kernel_s, first->gups * first->times.median_s / kernel_s);
  td_cli_table_integer (table, "size", o->size);
  td_cli_table_integer (table, "columns", o->columns);
  td_cli_table_integer (table, "views", o->views);
  td_cli_table_number (table, "kernel_s", kernel_s);
  td_cli_table_rows (table, "rows");
  for (guint i = 0; i < rows->len; i++) {
    TdFdkBenchRow *row = &g_array_index (rows, TdFdkBenchRow, i);
    row->speed_up = i > 0 ? first->times.median_s / row->times.median_s : 0;
    td_cli_table_row (table);
    cli_bench_fdk_say_row (table, o, row, kernel_s);
    cli_bench_fdk_add_row (table, row, kernel_s);
  }
  return td_cli_table_print (table);
}

/* ── Measuring ── */

/* A row for each of the sizes. */
static gboolean
add_limits (TdFdkBench *bench, const char *devices, const char *option, const char *sizes,
            GArray *rows, GError **error)
{
  g_auto (GStrv) limits = g_strsplit (sizes, ",", -1);

  for (guint i = 0; limits[i]; i++) {
    TdRecipe recipe;
    TdFdkBenchRow row;

    td_recipe_init (&recipe);
    if (!td_recipe_set (&recipe, option, limits[i], error))
      return FALSE;
    const TdFdkBenchLimit limit = { recipe.memory_limit_bytes, recipe.device_memory_limit_bytes };
    if (!td_fdk_bench_run (bench, devices, &limit, &row, error))
      return FALSE;
    g_array_append_val (rows, row);
  }
  return TRUE;
}

static gboolean
add_runs (const Options *o, TdFdkBench *bench, const char *devices, GArray *rows, GError **error)
{
  return add_limits (bench, devices, "memory-limit", o->memory_limit ? o->memory_limit : "0", rows,
                     error)
         && (!o->device_memory_limit
             || add_limits (bench, devices, "device-memory-limit", o->device_memory_limit, rows,
                            error));
}

static gboolean
cli_bench_fdk_measure (const Options *o, GArray *rows, double *kernel_s, GError **error)
{
  const char *devices = o->device ? o->device : "auto";
  const char *comma = strchr (devices, ',');
  g_autofree char *first = comma ? g_strndup (devices, comma - devices) : g_strdup (devices);
  TdFdkBenchSpec spec;

  if (!make_spec (o, &spec, error))
    return FALSE;
  g_autoptr (TdFdkBench) bench = td_fdk_bench_new (&spec, error);
  return bench && (o->jobs_only || td_fdk_bench_kernel (bench, first, kernel_s, error))
         && add_runs (o, bench, first, rows, error)
         && (!comma || add_runs (o, bench, devices, rows, error));
}

int
td_cli_bench_fdk (int argc, char **argv)
{
  Options o = { .size = 256, .runs = 3 };
  g_autoptr (GError) error = NULL;
  g_autoptr (GArray) rows = g_array_new (FALSE, FALSE, sizeof (TdFdkBenchRow));
  double kernel_s = 0;
  int status = cli_bench_fdk_parse (argc, argv, &o);

  if (status >= 0)
    return status;
  g_array_set_clear_func (rows, (GDestroyNotify) td_fdk_bench_row_clear);
  if (!cli_bench_fdk_measure (&o, rows, &kernel_s, &error))
    return td_cli_fail (error);
  return cli_bench_fdk_report (&o, rows, kernel_s);
}
