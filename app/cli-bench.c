/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "cli-table.h"
#include "cli-verbs.h"
#include "cli.h"
#include "compute/bench/model.h"
#include "compute/bench/parallel-bench.h"
#include "compute/parallel/families.h"

static const TdCliHelp help = {
  "[OPTION…]",
  "Measures parallel-beam back-projection on random data: updates a second (GU/s: 10⁹ pixels ×\n"
  "views), how many times the baseline that is, and the error against a double-precision\n"
  "reference. The baseline runs in turn with it: a plain per-pixel loop in C on CPUs, the\n"
  "standard kernel on GPUs.",
  "  This computer's processor, one slice (a preview's case) and 16 at once:\n"
  "    tomodesk-cli bench --device host --slices 1,16\n"
  "  Back-projection by the Fourier method beside all families, with what filtering takes:\n"
  "    tomodesk-cli bench --device host --family all --filter\n"
  "  Every kernel family of a graphics card, in half precision, as a table for a spreadsheet:\n"
  "    tomodesk-cli bench --device cuda:0 --family all --precision half --csv\n"
  "  Which unit of the card holds each family up:\n"
  "    tomodesk-cli bench --device cuda:0 --family all --model\n"
  "  What a slice costs with filtering:\n"
  "    tomodesk-cli bench --filter\n"
  "  From sinograms in memory to slices in memory, with the transfers (bench --end-to-end "
  "--help):\n"
  "    tomodesk-cli bench --end-to-end --device cuda:0 --columns 2048 --rows-in-memory 256\n"
  "  From disk to disk, beside what the disk does (bench --disk DIR --help):\n"
  "    tomodesk-cli bench --disk /data/scratch\n"
  "  Preparation, with options of its own (bench --prepare --help):\n"
  "    tomodesk-cli bench --prepare --device host\n"
  "  Cone beam, with options of its own (bench --cone --help):\n"
  "    tomodesk-cli bench --cone --size 256 --views 360\n",
};

enum { MAX_COUNTS = 8, AS_SIZE = G_MININT };

typedef struct {
  char *device, *family, *interpolation, *precision, *slices;
  int size, columns, views, runs;
  gboolean filter, model, json, csv;
  TdBenchSpec spec;
  guint counts[MAX_COUNTS], n_counts;
} Options;

static int
cli_bench_parse (int argc, char **argv, Options *o)
{
  const GOptionEntry entries[] = {
    { "device", 0, 0, G_OPTION_ARG_STRING, &o->device, "host, opencl:0, cuda:0 (the fastest)",
      "ID" },
    { "family", 0, 0, G_OPTION_ARG_STRING, &o->family,
      "A kernel family, auto, fourier or all (auto)", "NAME" },
    { "size", 0, 0, G_OPTION_ARG_INT, &o->size, "Columns, and pixels across a slice (1024)", "N" },
    { "columns", 0, 0, G_OPTION_ARG_INT, &o->columns, "Columns, if other than --size", "N" },
    { "views", 0, 0, G_OPTION_ARG_INT, &o->views, "Views (as --size)", "N" },
    { "slices", 0, 0, G_OPTION_ARG_STRING, &o->slices,
      "Slices at once; several counts, several lines (CPUs 1,16,32; GPUs 1,2,4)", "N[,N…]" },
    { "interpolation", 0, 0, G_OPTION_ARG_STRING, &o->interpolation, "linear or nearest (linear)",
      "NAME" },
    { "precision", 0, 0, G_OPTION_ARG_STRING, &o->precision, "single, half or half-run (single)",
      "NAME" },
    { "runs", 0, 0, G_OPTION_ARG_INT, &o->runs, "Timed runs, after one to warm up (5)", "N" },
    { "filter", 0, 0, G_OPTION_ARG_NONE, &o->filter,
      "Time the ramp filter too, and filtering and back-projection together", NULL },
    { "model", 0, 0, G_OPTION_ARG_NONE, &o->model,
      "Show which unit of a graphics card holds each family up, and at what rate", NULL },
    { "json", 0, 0, G_OPTION_ARG_NONE, &o->json, "Print one JSON object", NULL },
    { "csv", 0, 0, G_OPTION_ARG_NONE, &o->csv, "Print comma-separated values", NULL },
    { NULL },
  };

  return td_cli_parse (argc, argv, &help, entries, NULL, 0, NULL);
}

static int
cli_bench_index_of (const char *word, const char *const *words)
{
  for (int i = 0; words[i]; i++)
    if (strcmp (word, words[i]) == 0)
      return i;
  return -1;
}

/* -1 or the exit status of wrong usage. */
static int
cli_bench_complete (Options *o)
{
  int interpolation
      = cli_bench_index_of (o->interpolation ? o->interpolation : "linear", td_interpolation_names);
  int precision = cli_bench_index_of (o->precision ? o->precision : "single", td_precision_names);

  if (interpolation < 0 || interpolation == TD_INTERPOLATION_AUTO)
    return td_cli_usage ("bench", "--interpolation is linear or nearest, not %s", o->interpolation);
  if (precision < 0 || precision == TD_PRECISION_AUTO)
    return td_cli_usage ("bench", "--precision is single, half or half-run, not %s", o->precision);
  if (o->columns == AS_SIZE)
    o->columns = o->size;
  if (o->views == AS_SIZE)
    o->views = o->size;
  if (o->size < 1 || o->columns < 1 || o->views < 1 || o->size > 65536 || o->columns > 65536
      || o->views > 65536)
    return td_cli_usage ("bench", "--size, --columns and --views go from 1 to 65536");
  if (o->runs < 5 || o->runs > 1000)
    return td_cli_usage ("bench", "--runs goes from 5 to 1000: fewer say little");
  if (o->json && o->csv)
    return td_cli_usage ("bench", "--json and --csv exclude each other");
  if (o->model && o->csv)
    return td_cli_usage ("bench", "--model and --csv exclude each other");

  g_auto (GStrv) words = o->slices ? g_strsplit (o->slices, ",", -1) : NULL;
  for (guint i = 0; words && words[i]; i++) {
    guint64 count;
    if (i == MAX_COUNTS || !g_ascii_string_to_unsigned (words[i], 10, 1, 256, &count, NULL))
      return td_cli_usage ("bench", "--slices takes up to %u numbers from 1 to 256", MAX_COUNTS);
    o->counts[o->n_counts++] = (guint) count;
  }
  o->spec = (TdBenchSpec) {
    .size = o->size,
    .n_columns = o->columns,
    .n_views = o->views,
    .runs = o->runs,
    .interpolation = (TdInterpolation) interpolation,
    .precision = (TdPrecision) precision,
    .filter = o->filter,
    .cancellable = td_cli_cancellable (),
  };
  return -1;
}

static void
default_counts (Options *o, const TdDeviceInfo *device)
{
  static const guint cpu[] = { 1, 16, 32 }, gpu[] = { 1, 2, 4 };
  gboolean is_cpu = device->host_pointers || device->cpu_shaped;

  if (o->n_counts)
    return;
  o->n_counts = 3;
  memcpy (o->counts, is_cpu ? cpu : gpu, sizeof cpu);
}

/* ── Measuring ── */

/* Adds one family's row for one count of slices. With "all", a family that cannot do the task is
   left out with a word on standard error. */
static gboolean
cli_bench_add_row (Options *o, TdDevice *device, const TdBackprojectFamily *family, gboolean skip,
                   GPtrArray *rows, GError **error)
{
  g_autoptr (GError) reason = NULL;
  TdBenchRow *row = td_bench_run (device, family, &o->spec, &reason);

  td_cli_progress_clear ();
  if (row) {
    g_ptr_array_add (rows, row);
    return TRUE;
  }
  if (skip && g_error_matches (reason, TD_ERROR, TD_ERROR_UNSUPPORTED)) {
    td_cli_say ("left out: %s", reason->message);
    return TRUE;
  }
  g_propagate_error (error, g_steal_pointer (&reason));
  return FALSE;
}

static gboolean
cli_bench_measure (Options *o, TdDevice *device, GPtrArray *rows, GError **error)
{
  const TdBackprojectFamily *const *families = td_backproject_families ();
  gboolean all = g_strcmp0 (o->family, "all") == 0;
  TdBackprojectTask task = {
    .n_columns = o->columns,
    .n_views = o->views,
    .nx = o->size,
    .ny = o->size,
    .step = 1,
    .interpolation = o->spec.interpolation,
    .precision = o->spec.precision,
  };

  for (guint i = 0; i < o->n_counts; i++) {
    g_autofree char *what = g_strdup_printf ("%u slices", o->counts[i]);
    o->spec.n_slices = o->counts[i];
    td_cli_progress ("measuring", (double) i / o->n_counts, -1, what);
    if (!all) {
      const TdBackprojectFamily *family
          = g_strcmp0 (o->family, td_family_fourier.name) == 0
                ? &td_family_fourier
                : td_backproject_choose (o->family, &task, device, o->counts[i], error);
      if (!family || !cli_bench_add_row (o, device, family, FALSE, rows, error))
        return FALSE;
    }
    for (guint f = 0; all && families[f]; f++)
      if (!cli_bench_add_row (o, device, families[f], TRUE, rows, error))
        return FALSE;
    if (all && !cli_bench_add_row (o, device, &td_family_fourier, TRUE, rows, error))
      return FALSE;
  }
  return TRUE;
}

/* ── Reporting ── */

static void
cli_bench_add_cells (TdCliTable *table, const Options *o, const TdBenchRow *row)
{
  const TdBenchTimes *times = &row->times;
  g_autofree char *spread = td_cli_spread (times->median_s, times->low_s, times->high_s);

  td_cli_table_row (table);
  td_cli_table_cell (table, text, "family", "family", "%-13s", row->family);
  td_cli_table_text (table, "variant", row->variant);
  td_cli_table_cell (table, integer, "slices", "slices", "%6u", row->n_slices);
  td_cli_table_times (table, "", times);
  td_cli_table_show (table, "s/slice", "%11.5f", times->median_s / row->n_slices);
  td_cli_table_number (table, "updates_per_second", row->updates_per_s);
  td_cli_table_show (table, "GU/s", "%9.2f", 1e-9 * row->updates_per_s);
  td_cli_table_show (table, "spread", "%14s", spread);
  if (row->kernel_updates_per_s > 0 || o->csv)
    td_cli_table_number (table, "kernel_updates_per_second", row->kernel_updates_per_s);
  td_cli_table_show (table, "kernel", "%9.2f", 1e-9 * row->kernel_updates_per_s);
  td_cli_table_number (table, "baseline_updates_per_second", row->baseline_updates_per_s);
  td_cli_table_show (table, "baseline", "%9.3f", 1e-9 * row->baseline_updates_per_s);
  td_cli_table_cell (table, number, "ratio", "ratio", "%7.1f", row->ratio);
  td_cli_table_cell (table, number, "error", "error", "%9.2g", row->error);
  td_cli_table_cell (table, number, "error_bound", "bound", "%9.2g", row->bound);
  if (o->filter) {
    td_cli_table_cell (table, number, "filter_s_per_slice", "filter s/slice", "%15.5f",
                       row->filter_s);
    td_cli_table_cell (table, number, "fbp_s_per_slice", "FBP s/slice", "%12.5f", row->fbp_s);
  }
  td_cli_table_show (table, "", "%2s%s", "", row->variant);
}

static int
cli_bench_report (const Options *o, TdDevice *device, GPtrArray *rows)
{
  const TdDeviceInfo *info = td_device_info (device);
  g_autoptr (TdCliTable) table = td_cli_table_new (td_cli_table_form (o->json, o->csv));

  td_cli_table_say (
      table, "%s (%s): %d views of %d columns → %d² pixels, %s, median of %d\nbaseline: %s\n\n",
      info->name, info->id, o->views, o->columns, o->size,
      td_interpolation_names[o->spec.interpolation], o->runs, td_bench_baseline_name (device));
  td_cli_table_device (table, device);
  td_cli_table_text (table, "baseline", td_bench_baseline_name (device));
  td_cli_table_integer (table, "columns", o->columns);
  td_cli_table_integer (table, "views", o->views);
  td_cli_table_integer (table, "size", o->size);
  td_cli_table_integer (table, "runs", o->runs);
  td_cli_table_rows (table, "rows");
  for (guint i = 0; i < rows->len; i++)
    cli_bench_add_cells (table, o, rows->pdata[i]);
  return td_cli_table_print (table);
}

/* ── The model ── */

static void
cli_bench_add_units (TdCliTable *table, const char *key, const double *values)
{
  td_cli_table_begin (table, key);
  for (guint u = 0; u < TD_UNIT_COUNT; u++)
    td_cli_table_number (table, td_unit_names[u], values[u]);
  td_cli_table_end (table);
}

/* Operations an update, the rate they allow and what was reached. The model knows nothing of what
   packs the sinograms. */
static void
cli_bench_add_prediction (TdCliTable *table, const TdBenchRow *row, const TdPrediction *prediction)
{
  const double rate
      = row->kernel_updates_per_s > 0 ? row->kernel_updates_per_s : row->updates_per_s;
  const char *bound_by = td_unit_names[prediction->bound_by];

  td_cli_table_row (table);
  td_cli_table_cell (table, text, "family", "family", "%-13s", row->family);
  td_cli_table_cell (table, integer, "slices", "slices", "%6u", row->n_slices);
  cli_bench_add_units (table, "per_update", prediction->cost.per_update);
  for (guint u = 0; u < TD_UNIT_COUNT; u++)
    td_cli_table_show (table, td_unit_names[u], "%12.3f", prediction->cost.per_update[u]);
  td_cli_table_number (table, "ceiling_updates_per_second", prediction->ceiling);
  td_cli_table_show (table, "ceiling GU/s", "%13.1f", prediction->ceiling * 1e-9);
  td_cli_table_cell (table, text, "bound_by", "bound by", "%-13s", bound_by);
  td_cli_table_number (table, "updates_per_second", rate);
  td_cli_table_show (table, "measured GU/s", "%13.1f", rate * 1e-9);
  td_cli_table_show (table, "of it", "%7.0f %%", 100 * rate / prediction->ceiling);
}

static int
cli_bench_report_model (const Options *o, TdDevice *device, GPtrArray *rows)
{
  g_autoptr (TdCliTable) table = td_cli_table_new (td_cli_table_form (o->json, o->csv));
  const TdDeviceInfo *info = td_device_info (device);
  g_autoptr (GError) error = NULL;
  TdUnitRates rates;

  if (!td_unit_rates_measure (device, &rates, &error))
    return td_cli_fail (error);
  td_cli_table_say (table, "%s (%s), measured, in 10⁹ a second:", info->name, info->id);
  for (guint u = 0; u < TD_UNIT_COUNT; u++)
    td_cli_table_say (table, "%s %s%s %.0f", u ? "," : "", td_unit_names[u],
                      u == TD_UNIT_LOCAL ? " bytes" : "", rates.per_second[u] * 1e-9);
  td_cli_table_say (table,
                    "\n\nOperations an update, the rate they allow, and what was measured:\n");
  td_cli_table_text (table, "device", info->id);
  cli_bench_add_units (table, "units_per_second", rates.per_second);
  td_cli_table_rows (table, "rows");
  for (guint i = 0; i < rows->len; i++) {
    TdPrediction prediction;
    if (td_bench_predict (rows->pdata[i], &o->spec, device, &rates, &prediction))
      cli_bench_add_prediction (table, rows->pdata[i], &prediction);
  }
  return td_cli_table_print (table);
}

int
td_cli_bench (int argc, char **argv)
{
  Options o = { .size = 1024, .columns = AS_SIZE, .views = AS_SIZE, .runs = 5 };
  g_autoptr (GPtrArray) rows = g_ptr_array_new_with_free_func ((GDestroyNotify) td_bench_row_free);
  g_autoptr (GError) error = NULL;

  for (int i = 1; i < argc; i++)
    if (strcmp (argv[i], "--prepare") == 0)
      return td_cli_bench_prepare (argc, argv);
  for (int i = 1; i < argc; i++)
    if (strcmp (argv[i], "--cone") == 0)
      return td_cli_bench_cone (argc, argv);
  for (int i = 1; i < argc; i++)
    if (strcmp (argv[i], "--end-to-end") == 0)
      return td_cli_bench_end (argc, argv);
  for (int i = 1; i < argc; i++)
    if (strcmp (argv[i], "--disk") == 0 || g_str_has_prefix (argv[i], "--disk="))
      return td_cli_bench_disk (argc, argv);
  int status = cli_bench_parse (argc, argv, &o);
  if (status >= 0 || (status = cli_bench_complete (&o)) >= 0)
    return status;
  g_autoptr (TdDevice) device = td_device_open (o.device, &error);
  if (!device)
    return td_cli_fail (error);
  default_counts (&o, td_device_info (device));
  if (!cli_bench_measure (&o, device, rows, &error))
    return td_cli_fail (error);
  if (o.model)
    return cli_bench_report_model (&o, device, rows);
  return cli_bench_report (&o, device, rows);
}
