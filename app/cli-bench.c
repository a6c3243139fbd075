/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <string.h>

#include "cli-bench-model.h"
#include "cli-verbs.h"
#include "cli.h"
#include "compute/bench/parallel-bench.h"
#include "compute/parallel/families.h"

static const TdCliHelp help = {
  "[OPTION…]",
  "Measures parallel-beam back-projection on random data: updates a second (GU/s: 10⁹ pixels × "
  "views),\n"
  "how many times the baseline that is, and the error against a double-precision reference. The\n"
  "baseline runs in turn with it: a plain per-pixel loop in C on CPUs, the standard kernel on "
  "GPUs.",
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
  "  Preparation, with options of its own (bench --prepare --help):\n"
  "    tomodesk-cli bench --prepare --device host\n"
  "  Cone beam, with options of its own (bench --cone --help):\n"
  "    tomodesk-cli bench --cone --size 256 --views 360\n",
};

enum { MAX_COUNTS = 8 };

typedef struct {
  char *device, *family, *interpolation, *precision, *slices;
  int size, columns, views, runs;
  gboolean filter, model, json, csv;
  TdBenchSpec spec;
  guint counts[MAX_COUNTS], n_counts;
} Options;

static void
cli_bench_options_clear (Options *o)
{
  g_free (o->device);
  g_free (o->family);
  g_free (o->interpolation);
  g_free (o->precision);
  g_free (o->slices);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Options, cli_bench_options_clear)

static int
parse (int argc, char **argv, Options *o)
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
index_of (const char *word, const char *const *words)
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
      = index_of (o->interpolation ? o->interpolation : "linear", td_interpolation_names);
  int precision = index_of (o->precision ? o->precision : "single", td_precision_names);

  if (interpolation < 0)
    return td_cli_usage ("bench", "--interpolation is linear or nearest, not %s", o->interpolation);
  if (precision < 0)
    return td_cli_usage ("bench", "--precision is single, half or half-run, not %s", o->precision);
  if (!o->columns)
    o->columns = o->size;
  if (!o->views)
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
    .interpolation = interpolation ? TD_INTERPOLATION_LINEAR : TD_INTERPOLATION_NEAREST,
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
    fprintf (stderr, "tomodesk-cli: left out: %s\n", reason->message);
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

static int
cli_bench_print_table (const Options *o, TdDevice *device, GPtrArray *rows)
{
  const TdDeviceInfo *info = td_device_info (device);
  g_autoptr (GString) out = g_string_new (NULL);

  g_string_append_printf (
      out, "%s (%s): %d views of %d columns → %d² pixels, %s, median of %d\nbaseline: %s\n\n",
      info->name, info->id, o->views, o->columns, o->size,
      o->spec.interpolation == TD_INTERPOLATION_LINEAR ? "linear" : "nearest", o->runs,
      td_bench_baseline_name (device));
  g_string_append_printf (out, "%-13s %6s %11s %9s %14s %9s %9s %7s %9s %9s%s\n", "family",
                          "slices", "s/slice", "GU/s", "spread", "kernel", "baseline", "ratio",
                          "error", "bound", o->filter ? "  filter s/slice  FBP s/slice" : "");
  for (guint i = 0; i < rows->len; i++) {
    const TdBenchRow *row = rows->pdata[i];
    const TdBenchTimes *times = &row->times;
    g_autofree char *spread = td_cli_spread (times->median_s, times->low_s, times->high_s);
    g_string_append_printf (out, "%-13s %6u %11.5f %9.2f %14s %9.2f %9.3f %7.1f %9.2g %9.2g",
                            row->family, row->n_slices, times->median_s / row->n_slices,
                            1e-9 * row->updates_per_s, spread, 1e-9 * row->kernel_updates_per_s,
                            1e-9 * row->baseline_updates_per_s, row->ratio, row->error, row->bound);
    if (o->filter)
      g_string_append_printf (out, " %15.5f %12.5f", row->filter_s, row->fbp_s);
    g_string_append_printf (out, "   %s\n", row->variant);
  }
  g_string_truncate (out, out->len - (rows->len > 0));
  return td_cli_print_text (out->str);
}

static int
cli_bench_print_csv (const Options *o, TdDevice *device, GPtrArray *rows)
{
  g_autoptr (GString) out = g_string_new (
      "device,family,variant,columns,views,size,slices,median_s,low_s,high_s,updates_per_second,"
      "baseline_updates_per_second,ratio,error,error_bound,filter_s_per_slice,fbp_s_per_slice,"
      "kernel_updates_per_second");

  for (guint i = 0; i < rows->len; i++) {
    const TdBenchRow *row = rows->pdata[i];
    g_string_append_printf (
        out, "\n%s,%s,\"%s\",%d,%d,%d,%u,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g",
        td_device_info (device)->id, row->family, row->variant, o->columns, o->views, o->size,
        row->n_slices, row->times.median_s, row->times.low_s, row->times.high_s, row->updates_per_s,
        row->baseline_updates_per_s, row->ratio, row->error, row->bound, row->filter_s, row->fbp_s,
        row->kernel_updates_per_s);
  }
  return td_cli_print_text (out->str);
}

static void
cli_bench_add_json_row (JsonBuilder *builder, const Options *o, const TdBenchRow *row)
{
  json_builder_begin_object (builder);
  td_json_add_string (builder, "family", row->family);
  td_json_add_string (builder, "variant", row->variant);
  td_json_add_integer (builder, "slices", row->n_slices);
  td_json_add_number (builder, "median_s", row->times.median_s);
  td_json_add_number (builder, "low_s", row->times.low_s);
  td_json_add_number (builder, "high_s", row->times.high_s);
  td_json_add_number (builder, "updates_per_second", row->updates_per_s);
  if (row->kernel_updates_per_s > 0)
    td_json_add_number (builder, "kernel_updates_per_second", row->kernel_updates_per_s);
  td_json_add_number (builder, "baseline_updates_per_second", row->baseline_updates_per_s);
  td_json_add_number (builder, "ratio", row->ratio);
  td_json_add_number (builder, "error", row->error);
  td_json_add_number (builder, "error_bound", row->bound);
  if (o->filter) {
    td_json_add_number (builder, "filter_s_per_slice", row->filter_s);
    td_json_add_number (builder, "fbp_s_per_slice", row->fbp_s);
  }
  json_builder_end_object (builder);
}

static int
cli_bench_print_json (const Options *o, TdDevice *device, GPtrArray *rows)
{
  g_autoptr (JsonBuilder) builder = json_builder_new ();

  json_builder_begin_object (builder);
  td_cli_add_device (builder, device);
  td_json_add_string (builder, "baseline", td_bench_baseline_name (device));
  td_json_add_integer (builder, "columns", o->columns);
  td_json_add_integer (builder, "views", o->views);
  td_json_add_integer (builder, "size", o->size);
  td_json_add_integer (builder, "runs", o->runs);
  td_json_begin_list (builder, "rows");
  for (guint i = 0; i < rows->len; i++)
    cli_bench_add_json_row (builder, o, rows->pdata[i]);
  json_builder_end_array (builder);
  json_builder_end_object (builder);
  return td_cli_print_json (builder);
}

int
td_cli_bench (int argc, char **argv)
{
  g_auto (Options) o = { .size = 1024, .runs = 5 };
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
  int status = parse (argc, argv, &o);
  if (status >= 0 || (status = cli_bench_complete (&o)) >= 0)
    return status;
  g_autoptr (TdDevice) device = td_device_open (o.device, &error);
  if (!device)
    return td_cli_fail (error);
  default_counts (&o, td_device_info (device));
  if (!cli_bench_measure (&o, device, rows, &error))
    return td_cli_fail (error);
  if (o.model)
    return td_cli_bench_model (device, &o.spec, rows, o.json);
  return o.json  ? cli_bench_print_json (&o, device, rows)
         : o.csv ? cli_bench_print_csv (&o, device, rows)
                 : cli_bench_print_table (&o, device, rows);
}
