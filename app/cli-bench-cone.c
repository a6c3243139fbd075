/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <string.h>

#include "cli-table.h"
#include "cli-verbs.h"

#include "cli.h"
#include "compute/bench/cone-bench.h"
#include "dataset/number.h"

static const TdCliHelp help = {
  "--cone [OPTION…]",
  "Measures cone-beam back-projection of random projections in GUPS (2³⁰ voxel updates a\n"
  "second, as iFDK counts them) for every kernel that the device has, with the error against a\n"
  "double-precision reference. The baseline of the same run is a plain loop in C on CPUs, the\n"
  "standard kernel on GPUs.",
  "  A graphics card, 1024² × 1024 views onto 1024³ voxels:\n"
  "    tomodesk-cli bench --cone --device cuda:0 --size 1024\n"
  "  This computer's processor:\n"
  "    tomodesk-cli bench --cone --device host --size 256 --views 360\n"
  "  A problem of iFDK's Table 4, whole or a quarter along every side:\n"
  "    tomodesk-cli bench --cone --device cuda:0 --preset 2k-1k\n"
  "    tomodesk-cli bench --cone --device host --preset 1k-512/4\n"
  "Presets, 1024 views of the first number's square onto the second's cube, as there:\n"
  "  512-128 512-256 512-512 512-1k 512-2k   1k-128 1k-256 1k-512 1k-1k 1k-2k\n"
  "  2k-128 2k-256 2k-512 2k-1k 2k-2k   (onto 2k: 1024 × 1024 × 2048 voxels)\n"
  "One that the device has no memory for is halved along every side until it fits, which is said.\n"
  "  Whole jobs, on one or several devices, with options of its own:\n"
  "    tomodesk-cli bench --cone --end-to-end --help\n"
  "  Projection and back-projection of iterative methods:\n"
  "    tomodesk-cli bench --cone --project --help\n",
};

typedef struct {
  char *device, *preset;
  int size, slices, columns, views, runs;
  gboolean cone, json;
} Options;

/* ── Presets ── */

#define PRESET_VIEWS 1024

static int
preset_side (const char *text)
{
  static const struct {
    const char *name;
    int side;
  } sides[] = { { "128", 128 }, { "256", 256 }, { "512", 512 }, { "1k", 1024 }, { "2k", 2048 } };

  for (guint i = 0; i < G_N_ELEMENTS (sides); i++)
    if (g_str_equal (text, sides[i].name))
      return sides[i].side;
  return 0;
}

static void
cli_bench_cone_shrink (Options *o, int by)
{
  o->columns /= by;
  o->size /= by;
  o->slices /= by;
  o->views /= by;
}

/* "1k-512" or "1k-512/4"; FALSE: there is no such problem in the table. */
static gboolean
take_preset (Options *o)
{
  g_auto (GStrv) parts = g_strsplit (o->preset, "/", 2);
  g_auto (GStrv) sides = g_strsplit (parts[0] ? parts[0] : "", "-", 2);
  gint64 by = 1;

  if (g_strv_length (sides) != 2 || (parts[1] && !td_parse_integer (parts[1], 1, 16, &by))
      || (by & (by - 1)) != 0)
    return FALSE;
  o->columns = preset_side (sides[0]);
  o->slices = preset_side (sides[1]);
  o->size = MIN (o->slices, 1024);
  o->views = PRESET_VIEWS;
  if (o->columns < 512 || o->slices == 0)
    return FALSE;
  cli_bench_cone_shrink (o, (int) by);
  return TRUE;
}

/* Projections (packed by some kernels) and volume, with room beside them. */
static double
bytes_needed (const Options *o)
{
  return sizeof (float)
         * (2.5 * o->columns * o->columns * o->views + 1.3 * o->size * o->size * o->slices);
}

static void
fit_preset (Options *o, TdDevice *device)
{
  const guint64 free_bytes = td_device_memory_free (device);
  int by = 1;

  while (free_bytes > 0 && bytes_needed (o) > 0.9 * free_bytes && o->size >= 64) {
    cli_bench_cone_shrink (o, 2);
    by *= 2;
  }
  if (by > 1)
    td_cli_say ("%s has %" PRIu64 " MiB free: the preset's sides were divided "
                "by %d",
                td_device_info (device)->id, free_bytes >> 20, by);
}

/* ── Options ── */

static int
cli_bench_cone_parse (int argc, char **argv, Options *o)
{
  const GOptionEntry entries[] = {
    { "cone", 0, 0, G_OPTION_ARG_NONE, &o->cone, "Cone beam", NULL },
    { "device", 0, 0, G_OPTION_ARG_STRING, &o->device, "host, opencl:0, cuda:0 (the fastest)",
      "ID" },
    { "preset", 0, 0, G_OPTION_ARG_STRING, &o->preset,
      "A problem of iFDK's Table 4 (below) instead of sizes", "NAME" },
    { "size", 0, 0, G_OPTION_ARG_INT, &o->size, "Voxels along each side (256)", "N" },
    { "columns", 0, 0, G_OPTION_ARG_INT, &o->columns, "Detector columns and rows (as --size)",
      "N" },
    { "views", 0, 0, G_OPTION_ARG_INT, &o->views, "Views over a full turn (as --size)", "N" },
    { "runs", 0, 0, G_OPTION_ARG_INT, &o->runs, "Timed runs, after one to warm up (5)", "N" },
    { "json", 0, 0, G_OPTION_ARG_NONE, &o->json, "Print one JSON object", NULL },
    { NULL },
  };
  int status = td_cli_parse (argc, argv, &help, entries, NULL, 0, NULL);

  if (status >= 0)
    return status;
  if (o->preset && !take_preset (o))
    return td_cli_usage ("bench --cone",
                         "--preset is one of the names below, as in 1k-512 or 1k-512/4, not \"%s\"",
                         o->preset);
  o->slices = o->slices ? o->slices : o->size;
  o->columns = o->columns ? o->columns : o->size;
  o->views = o->views ? o->views : o->size;
  if (o->size < 1 || o->columns < 1 || o->views < 1 || o->size > 4096 || o->columns > 8192
      || o->views > 16384)
    return td_cli_usage ("bench --cone",
                         "--size goes to 4096, --columns to 8192 and --views to 16384");
  if (o->runs < 3 || o->runs > 1000)
    return td_cli_usage ("bench --cone", "--runs goes from 3 to 1000");
  return -1;
}

static gboolean
cli_bench_cone_measure (TdConeBench *bench, GArray *rows, GError **error)
{
  for (const TdConeFamily *const *family = td_cone_families (); *family; family++)
    for (TdPrecision p = TD_PRECISION_SINGLE; p <= TD_PRECISION_HALF; p++) {
      g_autoptr (GError) reason = NULL;
      TdConeBenchRow row;
      if (td_cone_bench_run (bench, *family, p, &row, &reason)) {
        g_array_append_val (rows, row);
      } else if (!g_error_matches (reason, TD_ERROR, TD_ERROR_UNSUPPORTED)) {
        g_propagate_error (error, g_steal_pointer (&reason));
        return FALSE;
      }
    }
  return TRUE;
}

/* The plain loop's rate, or the standard kernel's where there is no such loop. */
static double
baseline_of (double naive, const GArray *rows)
{
  for (guint i = 0; naive == 0 && i < rows->len; i++) {
    const TdConeBenchRow *row = &g_array_index (rows, TdConeBenchRow, i);
    if (strcmp (row->family, "standard") == 0)
      return row->gups;
  }
  return naive;
}

static int
cli_bench_cone_report (const Options *o, TdDevice *device, const GArray *rows, double naive)
{
  const TdDeviceInfo *info = td_device_info (device);
  const double baseline = baseline_of (naive, rows);
  g_autoptr (TdCliTable) table = td_cli_table_new (td_cli_table_form (o->json, FALSE));

  td_cli_table_say (table,
                    "%s (%s): %d² × %d views → %d × %d × %d voxels, median of %d\n"
                    "baseline: %s, %.2f GUPS\n\n",
                    info->name, info->id, o->columns, o->views, o->size, o->size, o->slices,
                    o->runs, naive > 0 ? "a plain loop in C" : "the standard kernel", baseline);
  td_cli_table_device (table, device);
  td_cli_table_text (table, "preset", o->preset);
  td_cli_table_integer (table, "size", o->size);
  td_cli_table_integer (table, "slices", o->slices);
  td_cli_table_integer (table, "columns", o->columns);
  td_cli_table_integer (table, "views", o->views);
  td_cli_table_number (table, "baseline_gups", baseline);
  td_cli_table_rows (table, "rows");
  for (guint i = 0; i < rows->len; i++) {
    const TdConeBenchRow *row = &g_array_index (rows, TdConeBenchRow, i);
    const TdBenchTimes *times = &row->times;
    const char *precision = td_precision_names[row->precision];
    g_autofree char *spread = td_cli_spread (times->median_s, times->low_s, times->high_s);
    td_cli_table_row (table);
    td_cli_table_cell (table, text, "kernel", "kernel", "%-11s", row->family);
    td_cli_table_cell (table, text, "precision", "storage", "%-7s", precision);
    td_cli_table_times (table, "", times);
    td_cli_table_show (table, "seconds", "%9.4f", times->median_s);
    td_cli_table_cell (table, number, "gups", "GUPS", "%9.2f", row->gups);
    td_cli_table_show (table, "spread", "%14s", spread);
    td_cli_table_show (table, "ratio", "%7.1f", row->gups / baseline);
    td_cli_table_cell (table, number, "error", "error", "%9.2g", row->error);
    td_cli_table_show (table, "", "%2s%s", "", row->title);
  }
  return td_cli_table_print (table);
}

int
td_cli_bench_cone (int argc, char **argv)
{
  Options o = { .size = 256, .runs = 5 };
  g_autoptr (GError) error = NULL;
  g_autoptr (GArray) rows = g_array_new (FALSE, FALSE, sizeof (TdConeBenchRow));

  for (int i = 1; i < argc; i++)
    if (strcmp (argv[i], "--end-to-end") == 0)
      return td_cli_bench_fdk (argc, argv);
    else if (strcmp (argv[i], "--project") == 0)
      return td_cli_bench_rays (argc, argv);
  int status = cli_bench_cone_parse (argc, argv, &o);
  if (status >= 0)
    return status;
  g_autoptr (TdDevice) device = td_device_open (o.device, &error);
  if (!device)
    return td_cli_fail (error);
  if (o.preset)
    fit_preset (&o, device);
  const TdConeBenchSpec spec = { (guint) o.size,  (guint) o.slices, (guint) o.columns,
                                 (guint) o.views, (guint) o.runs,   td_cli_cancellable () };
  g_autoptr (TdConeBench) bench = td_cone_bench_new (device, &spec, &error);
  if (!bench || !cli_bench_cone_measure (bench, rows, &error))
    return td_cli_fail (error);
  return cli_bench_cone_report (&o, device, rows, td_cone_bench_naive (bench));
}
