/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>

#include "cli-table.h"
#include "cli-verbs.h"

#include "cli.h"
#include "compute/bench/rays-bench.h"

static const TdCliHelp help = {
  "--cone --project [OPTION…]",
  "Measures what iterative methods are made of, on random data: projection, back-projection\n"
  "along the same rays, both as SIRT has them, and a step of total-variation denoising. GUPS\n"
  "are 2³⁰ voxels times views a second. The baseline is the same projection as a plain loop in\n"
  "C on the host's threads.",
  "  A graphics card, 512³ voxels and 360 views:\n"
  "    tomodesk-cli bench --cone --project --device cuda:0 --size 512 --views 360\n",
};

typedef struct {
  char *device;
  int size, views, runs;
  gboolean cone, project, json;
} Options;

static int
cli_bench_rays_parse (int argc, char **argv, Options *o)
{
  const GOptionEntry entries[] = {
    { "cone", 0, 0, G_OPTION_ARG_NONE, &o->cone, "Cone beam", NULL },
    { "project", 0, 0, G_OPTION_ARG_NONE, &o->project, "Projection and back-projection along rays",
      NULL },
    { "device", 0, 0, G_OPTION_ARG_STRING, &o->device, "host, opencl:0, cuda:0 (the fastest)",
      "ID" },
    { "size", 0, 0, G_OPTION_ARG_INT, &o->size, "Voxels, columns and rows along each side (128)",
      "N" },
    { "views", 0, 0, G_OPTION_ARG_INT, &o->views, "Views over a full turn (as --size)", "N" },
    { "runs", 0, 0, G_OPTION_ARG_INT, &o->runs, "Timed runs, after one to warm up (5)", "N" },
    { "json", 0, 0, G_OPTION_ARG_NONE, &o->json, "Print one JSON object", NULL },
    { NULL },
  };
  int status = td_cli_parse (argc, argv, &help, entries, NULL, 0, NULL);

  if (status >= 0)
    return status;
  o->views = o->views ? o->views : o->size;
  if (o->size < 8 || o->size > 1280 || o->views < 1 || o->views > 16384)
    return td_cli_usage ("bench --cone --project",
                         "--size goes from 8 to 1280 and --views to 16384");
  if (o->runs < 3 || o->runs > 1000)
    return td_cli_usage ("bench --cone --project", "--runs goes from 3 to 1000");
  return -1;
}

static int
cli_bench_rays_report (const Options *o, TdDevice *device, const TdRaysBenchRow *rows, double naive)
{
  const TdDeviceInfo *info = td_device_info (device);
  g_autoptr (TdCliTable) table = td_cli_table_new (td_cli_table_form (o->json, FALSE));

  td_cli_table_say (table,
                    "%s (%s): %d² × %d views, %d³ voxels, median of %d\n"
                    "baseline: projection by a plain loop in C, %.3f GUPS\n\n",
                    info->name, info->id, o->size, o->views, o->size, o->runs, naive);
  td_cli_table_device (table, device);
  td_cli_table_integer (table, "size", o->size);
  td_cli_table_integer (table, "views", o->views);
  td_cli_table_number (table, "baseline_gups", naive);
  td_cli_table_rows (table, "rows");
  for (guint i = 0; i < TD_RAYS_BENCH_ROWS; i++) {
    const TdBenchTimes *times = &rows[i].times;
    g_autofree char *spread = td_cli_spread (times->median_s, times->low_s, times->high_s);
    td_cli_table_row (table);
    td_cli_table_cell (table, text, "step", "step", "%-13s", rows[i].name);
    td_cli_table_times (table, "", times);
    td_cli_table_show (table, "seconds", "%9.4f", times->median_s);
    td_cli_table_cell (table, number, "gups", "GUPS", "%9.3f", rows[i].gups);
    td_cli_table_show (table, "spread", "%14s", spread);
    if (rows[i].error > 0) {
      td_cli_table_show (table, "ratio", "%7.1f", rows[i].gups / naive);
      td_cli_table_show (table, "error", "%9.2g", rows[i].error);
    }
    td_cli_table_number (table, "error", rows[i].error > 0 ? rows[i].error : NAN);
  }
  return td_cli_table_print (table);
}

int
td_cli_bench_rays (int argc, char **argv)
{
  Options o = { .size = 128, .runs = 5 };
  g_autoptr (GError) error = NULL;
  TdRaysBenchRow rows[TD_RAYS_BENCH_ROWS];
  int status = cli_bench_rays_parse (argc, argv, &o);

  if (status >= 0)
    return status;
  g_autoptr (TdDevice) device = td_device_open (o.device, &error);
  const TdRaysBenchSpec spec
      = { (guint) o.size, (guint) o.views, (guint) o.runs, td_cli_cancellable () };
  if (!device || !td_rays_bench (device, &spec, rows, &error))
    return td_cli_fail (error);
  const double naive = td_rays_bench_naive ();
  return cli_bench_rays_report (&o, device, rows, naive);
}
