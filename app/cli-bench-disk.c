/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <string.h>

#include "cli-recipe.h"
#include "cli-table.h"
#include "cli-verbs.h"
#include "compute/bench/disk-bench.h"
#include "compute/methods/methods.h"

static const TdCliHelp help = {
  "--disk DIR [OPTION…]",
  "Measures what the storage of a folder reads and writes, by one thread and by many, and then\n"
  "whole jobs from that folder to it: a scan of random counts as TIFF files, BigTIFF and\n"
  "NXtomo, to volumes of each format and depth. Each job's time is compared with the slowest of\n"
  "what the storage takes to read and to write, of computing, and of transfers to and from the\n"
  "device. Takes the options of reconstruct for the recipe. All files are removed.",
  "  Whole jobs on this computer's processor:\n"
  "    tomodesk-cli bench --disk /data/scratch --device host --method fourier\n"
  "  One job on a graphics card, in a memory file system:\n"
  "    tomodesk-cli bench --disk /dev/shm --in hdf5 --out tiff --depths 32 --columns 2048 "
  "--rows-in-scan 1024\n",
};

typedef struct {
  char *folder, *in, *out, *depths;
  int columns, rows, views, megabytes, runs;
  gboolean json, csv;
  gboolean formats_in[3], formats_out[3];
  guint bits[3], n_bits;
} Options;

static gboolean
cli_bench_disk_take_formats (const char *list, gboolean *taken)
{
  g_auto (GStrv) words = g_strsplit (list ? list : "tiff,bigtiff,hdf5", ",", -1);

  for (guint i = 0; words[i]; i++) {
    TdVolumeFormat format = TD_VOLUME_TIFF_STACK;

    while (format <= TD_VOLUME_HDF5 && strcmp (words[i], td_volume_format_names[format]) != 0)
      format++;
    if (format > TD_VOLUME_HDF5)
      return FALSE;
    taken[format] = TRUE;
  }
  return TRUE;
}

static gboolean
cli_bench_disk_take_depths (Options *o)
{
  g_auto (GStrv) words = g_strsplit (o->depths ? o->depths : "32,16,8", ",", -1);

  for (guint i = 0; words[i]; i++) {
    guint64 bits = 0;

    if (i == G_N_ELEMENTS (o->bits)
        || !g_ascii_string_to_unsigned (words[i], 10, 8, 32, &bits, NULL)
        || (bits != 8 && bits != 16 && bits != 32))
      return FALSE;
    o->bits[o->n_bits++] = (guint) bits;
  }
  return TRUE;
}

static int
cli_bench_disk_parse (int argc, char **argv, TdCliRecipe *recipe, Options *o)
{
  const GOptionEntry entries[] = {
    { "disk", 0, 0, G_OPTION_ARG_FILENAME, &o->folder, "Whole jobs in this folder", "DIR" },
    { "columns", 0, 0, G_OPTION_ARG_INT, &o->columns, "Columns, and pixels across a slice (512)",
      "N" },
    { "rows-in-scan", 0, 0, G_OPTION_ARG_INT, &o->rows, "Detector rows, that is slices (256)",
      "N" },
    { "views", 0, 0, G_OPTION_ARG_INT, &o->views, "Views over half a turn (as --columns)", "N" },
    { "in", 0, 0, G_OPTION_ARG_STRING, &o->in, "tiff, bigtiff, hdf5 (all)", "FORMAT[,FORMAT…]" },
    { "out", 0, 0, G_OPTION_ARG_STRING, &o->out, "tiff, bigtiff, hdf5 (all)", "FORMAT[,FORMAT…]" },
    { "depths", 0, 0, G_OPTION_ARG_STRING, &o->depths, "Bits of a voxel: 32, 16, 8 (all)",
      "N[,N…]" },
    { "storage-mb", 0, 0, G_OPTION_ARG_INT, &o->megabytes,
      "Megabytes to measure the storage with (1024)", "N" },
    { "runs", 0, 0, G_OPTION_ARG_INT, &o->runs, "Runs of each job, of which the fastest counts (2)",
      "N" },
    { "json", 0, 0, G_OPTION_ARG_NONE, &o->json, "Print one JSON object", NULL },
    { "csv", 0, 0, G_OPTION_ARG_NONE, &o->csv, "Print comma-separated values", NULL },
    { NULL },
  };
  int status = td_cli_recipe_parse (recipe, TD_CLI_RECIPE, argc, argv, &help, entries, NULL);

  if (status >= 0)
    return status;
  o->views = o->views ? o->views : o->columns;
  if (!o->folder || !g_file_test (o->folder, G_FILE_TEST_IS_DIR))
    return td_cli_usage ("bench --disk DIR", "--disk takes a folder that exists");
  if (o->columns < 8 || o->columns > 16384 || o->rows < 1 || o->rows > 16384 || o->views < 2
      || o->views > 65536)
    return td_cli_usage ("bench --disk DIR",
                         "--columns goes from 8 to 16384, --rows-in-scan to 16384 and --views to "
                         "65536");
  if (o->megabytes < 8 || o->runs < 1 || o->runs > 100)
    return td_cli_usage ("bench --disk DIR", "--storage-mb goes from 8 on, --runs from 1 to 100");
  if (o->json && o->csv)
    return td_cli_usage ("bench --disk DIR", "--json and --csv exclude each other");
  if (!cli_bench_disk_take_formats (o->in, o->formats_in)
      || !cli_bench_disk_take_formats (o->out, o->formats_out))
    return td_cli_usage ("bench --disk DIR", "--in and --out take tiff, bigtiff and hdf5");
  if (!cli_bench_disk_take_depths (o))
    return td_cli_usage ("bench --disk DIR", "--depths takes 32, 16 and 8");
  return -1;
}

static void
cli_bench_disk_say_storage (const Options *o, const TdStorageRates *rates, TdCliTable *table)
{
  td_cli_table_text (table, "folder", o->folder);
  td_cli_table_sizes (table, o->columns, o->rows, o->views);
  td_cli_table_number (table, "read_one_per_s", rates->read_one);
  td_cli_table_number (table, "read_many_per_s", rates->read_many);
  td_cli_table_number (table, "write_one_per_s", rates->write_one);
  td_cli_table_number (table, "write_many_per_s", rates->write_many);
  td_cli_table_number (table, "write_shared_per_s", rates->write_shared);
  td_cli_table_say (
      table,
      "%s: reads %.2f GB/s (one thread), %.2f (many); writes %.2f (one thread), %.2f "
      "(many files), %.2f (one file, many threads)\n\n%d views of %d × %d pixels → %d "
      "slices of %d²; seconds, and the job's time by its slowest part\n",
      o->folder, 1e-9 * rates->read_one, 1e-9 * rates->read_many, 1e-9 * rates->write_one,
      1e-9 * rates->write_many, 1e-9 * rates->write_shared, o->views, o->rows, o->columns, o->rows,
      o->columns);
  td_cli_table_rows (table, "jobs");
}

static void
cli_bench_disk_say_job (TdCliTable *table, TdVolumeFormat in, const TdRecipe *recipe,
                        const TdDiskJob *job)
{
  const double ratio = job->total_s / job->limit_s;

  td_cli_table_row (table);
  td_cli_table_cell (table, text, "in", "in", "%-8s", td_volume_format_names[in]);
  td_cli_table_cell (table, text, "out", "out", "%-8s",
                     td_volume_format_names[recipe->output_format]);
  td_cli_table_cell (table, integer, "bits", "bits", "%4u", recipe->output_bits);
  td_cli_table_cell (table, number, "total_s", "job", "%8.3f", job->total_s);
  td_cli_table_cell (table, number, "read_s", "read", "%8.3f", job->read_s);
  td_cli_table_cell (table, number, "compute_s", "compute", "%8.3f", job->compute_s);
  td_cli_table_cell (table, number, "upload_s", "up", "%7.3f", job->upload_s);
  td_cli_table_cell (table, number, "download_s", "down", "%7.3f", job->download_s);
  td_cli_table_cell (table, number, "write_s", "write", "%8.3f", job->write_s);
  td_cli_table_cell (table, text, "limit", "limit", "%-10s", job->limit);
  td_cli_table_cell (table, number, "limit_s", "", "%8.3f", job->limit_s);
  td_cli_table_cell (table, number, "ratio", "ratio", "%6.2f", ratio);
}

/* What all jobs of a run share. */
typedef struct {
  const Options *options;
  TdEngine *engine;
  TdDiskBenchSpec spec;
  TdStorageRates rates;
  TdCliTable *table;
} DiskBench;

/* All jobs from one scan. */
static gboolean
cli_bench_disk_run_scan (DiskBench *bench, TdVolumeFormat in, GError **error)
{
  const Options *o = bench->options;
  g_autofree char *scan = td_disk_bench_scan (&bench->spec, in, error);
  gboolean good = scan != NULL;

  for (guint out = 0; good && out < 3; out++)
    for (guint i = 0; good && o->formats_out[out] && i < o->n_bits; i++) {
      TdDiskJob fastest = { .total_s = INFINITY };

      bench->spec.recipe.output_format = out;
      bench->spec.recipe.output_bits = o->bits[i];
      for (int run = 0; good && run < o->runs; run++) {
        TdDiskJob job;

        good = td_disk_bench_job (bench->engine, &bench->spec, scan, &bench->rates, &job, error);
        if (good && job.total_s < fastest.total_s)
          fastest = job;
      }
      if (good)
        cli_bench_disk_say_job (bench->table, in, &bench->spec.recipe, &fastest);
    }
  if (scan)
    td_disk_bench_remove (scan);
  return good;
}

static int
cli_bench_disk_measure (const Options *o, const TdRecipe *recipe)
{
  g_autoptr (TdCliTable) table = td_cli_table_new (td_cli_table_form (o->json, o->csv));
  g_autoptr (TdEngine) engine = td_engine_new (td_methods);
  g_autoptr (GError) error = NULL;
  DiskBench bench = { .options = o,
                      .engine = engine,
                      .spec = { (guint) o->columns, (guint) o->rows, (guint) o->views, o->folder,
                                *recipe, td_cli_cancellable () },
                      .table = table };

  bench.spec.recipe.output_range_auto = TRUE;
  if (!td_storage_measure (o->folder, (guint64) o->megabytes << 20, &bench.rates,
                           td_cli_cancellable (), &error))
    return td_cli_fail (error);
  cli_bench_disk_say_storage (o, &bench.rates, table);
  for (guint in = 0; in < 3; in++)
    if (o->formats_in[in] && !cli_bench_disk_run_scan (&bench, in, &error))
      return td_cli_fail (error);
  return td_cli_table_print (table);
}

int
td_cli_bench_disk (int argc, char **argv)
{
  Options o = { .columns = 512, .rows = 256, .megabytes = 1024, .runs = 2 };
  g_auto (TdCliRecipe) recipe = { 0 };
  int status = cli_bench_disk_parse (argc, argv, &recipe, &o);

  return status < 0 ? cli_bench_disk_measure (&o, &recipe.recipe) : status;
}
