/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One recipe for many scans: those that are named, and those that come into a folder. */
#include <errno.h>
#include <glib/gstdio.h>
#include <math.h>

#include "cli-job.h"
#include "cli-recipe.h"
#include "cli-table.h"
#include "cli-verbs.h"
#include "cluster/arrivals.h"
#include "cluster/batch.h"
#include "compute/engine/centre.h"
#include "compute/methods/methods.h"

#define LOOK_US (G_USEC_PER_SEC / 2)
#define SETTLE_S 10

static const TdCliHelp batch_help = {
  "SCAN… --output FOLDER [OPTION…]",
  "Reconstructs each scan by the same recipe, into FOLDER/NAME. The axis is found for each scan,\n"
  "unless --centre gives it. A scan that fails does not stop the others. What is complete "
  "already,\n"
  "by the same recipe, is left as it is: the same command goes on after it was stopped.",
  "  tomodesk-cli batch night/*.nxs --output volumes\n"
  "  By a recipe of the window, with the table as a file:\n"
  "    tomodesk-cli batch night/*.nxs -o volumes --recipe best.recipe.json --csv > table.csv\n",
};
static const TdCliHelp watch_help = {
  "FOLDER --output FOLDER [OPTION…]",
  "Reconstructs each scan that comes into a folder, once it is complete: nothing of it has "
  "changed\n"
  "for a while, and it opens. Each is reconstructed once. Control-C ends the watching.",
  "  tomodesk-cli watch /beamline/tonight --output volumes --format hdf5\n"
  "  What is there and what comes within ten minutes of the last:\n"
  "    tomodesk-cli watch incoming -o volumes --idle 600\n",
};

typedef struct {
  char *output;
  gboolean overwrite, json, csv;
  double settle_s, idle_s;
  char **scans; /* batch */
} Options;

/* One scan's end. */
typedef struct {
  const char *state; /* "done", "there", "failed", "cancelled" */
  double centre_px, sigma_px, seconds;
  gboolean searched, agreed;
  char *error; /* NULL: none */
} Outcome;

typedef struct {
  TdCliRecipe *recipe;
  const Options *options;
  TdEngine *engine;
  TdCliTable *table;
  guint n, failed;
  gint64 started_us;
} Batch;

/* ── One scan ── */

/* The search that the plan would make; the engine remembers what it found. */
static gboolean
cli_batch_find_axis (Batch *batch, TdScan *scan, const TdRecipe *recipe, Outcome *outcome,
                     GError **error)
{
  GCancellable *cancellable = td_cli_cancellable ();
  g_autoptr (TdScan) measured = td_engine_measured (batch->engine, scan, recipe, error);

  if (!measured)
    return FALSE;
  td_cli_progress ("finding the axis", 0, -1, NULL);
  g_autoptr (TdAxisResult) found
      = td_engine_find_axis (batch->engine, measured, recipe, NULL, cancellable, error);
  if (!found)
    return FALSE;
  outcome->searched = TRUE;
  outcome->agreed = found->agreed;
  outcome->sigma_px = found->uncertainty_px / 2;
  return TRUE;
}

static gboolean
cli_batch_reconstruct (Batch *batch, TdScan *scan, const TdRecipe *recipe, const char *output,
                       Outcome *outcome, GError **error)
{
  GCancellable *cancellable = td_cli_cancellable ();
  const gboolean searches
      = recipe->centre_auto && td_scan_facts (scan)->geometry.beam == TD_BEAM_PARALLEL;

  if (searches && !cli_batch_find_axis (batch, scan, recipe, outcome, error))
    return FALSE;
  g_autoptr (TdPlan) plan = td_plan_new (batch->engine, scan, recipe, output, cancellable, error);
  if (!plan)
    return FALSE;
  g_autoptr (TdJob) job = td_job_new (plan);
  td_job_set_overwrite (job, batch->options->overwrite);
  if (!td_cli_run_job (job, FALSE, error))
    return FALSE;
  outcome->centre_px = td_job_result (job)->centre_px;
  return TRUE;
}

static gboolean
cli_batch_scan (Batch *batch, const char *path, const char *output, Outcome *outcome,
                GError **error)
{
  GCancellable *cancellable = td_cli_cancellable ();
  g_autoptr (TdScan) scan = td_scan_open (path, &batch->recipe->scan, cancellable, error);
  TdRecipe recipe;

  if (!scan)
    return FALSE;
  td_batch_recipe (&batch->recipe->recipe, td_scan_facts (scan), &recipe);
  const TdBatchFound found = td_batch_find (batch->engine, scan, &recipe, output, cancellable);
  if (found == TD_BATCH_DONE && !batch->options->overwrite) {
    outcome->state = "there";
    return TRUE;
  }
  if (found == TD_BATCH_OTHER && !batch->options->overwrite) {
    td_set_error (error, TD_ERROR_INVALID,
                  "“%s” exists, and it is not what this recipe makes of this scan now; take "
                  "another folder, or --overwrite",
                  output);
    return FALSE;
  }
  outcome->state = "done";
  return cli_batch_reconstruct (batch, scan, &recipe, output, outcome, error);
}

static void
cli_batch_add_row (Batch *batch, const char *path, const char *output, const Outcome *outcome)
{
  g_autofree char *name = g_path_get_basename (path);
  g_autofree char *time = td_cli_duration (outcome->seconds);
  g_autofree char *axis
      = isnan (outcome->centre_px) ? g_strdup ("")
        : outcome->searched ? g_strdup_printf ("%.3f ± %.3f", outcome->centre_px, outcome->sigma_px)
                            : g_strdup_printf ("%.3f", outcome->centre_px);
  const char *agreed = !outcome->searched ? "" : outcome->agreed ? "yes" : "no";

  td_cli_table_row (batch->table);
  td_cli_table_show (batch->table, "scan", "%-24s", name);
  td_cli_table_show (batch->table, "state", "%-9s", outcome->state);
  td_cli_table_show (batch->table, "axis", "%-18s", axis);
  td_cli_table_show (batch->table, "agreed", "%-6s", agreed);
  td_cli_table_show (batch->table, "time", "%-10s", time);
  td_cli_table_show (batch->table, "output or error", "%-15s",
                     outcome->error ? outcome->error : output);
  td_cli_table_text (batch->table, "scan", path);
  td_cli_table_text (batch->table, "state", outcome->state);
  td_cli_table_number (batch->table, "centre_px", outcome->centre_px);
  td_cli_table_number (batch->table, "sigma_px", outcome->sigma_px);
  td_cli_table_text (batch->table, "agreed", *agreed ? agreed : NULL);
  td_cli_table_number (batch->table, "seconds", outcome->seconds);
  td_cli_table_text (batch->table, "output", outcome->error ? NULL : output);
  td_cli_table_text (batch->table, "error", outcome->error);
}

/* A line for each as it ends: the table comes last. */
static void
cli_batch_say (const Batch *batch, const char *path, const Outcome *outcome, guint of)
{
  g_autofree char *number
      = of ? g_strdup_printf ("%u of %u", batch->n, of) : g_strdup_printf ("%u", batch->n);

  td_cli_progress_clear ();
  td_cli_say ("%s: %s %s%s%s", number, path, outcome->state, outcome->error ? ": " : "",
              outcome->error ? outcome->error : "");
}

/* @of: how many there are; 0: nobody knows. */
static void
cli_batch_do (Batch *batch, const char *path, const char *output, guint of)
{
  Outcome outcome = { .state = "failed", .centre_px = NAN, .sigma_px = NAN };
  g_autoptr (GError) error = NULL;
  const gint64 start = g_get_monotonic_time ();

  batch->n++;
  if (!cli_batch_scan (batch, path, output, &outcome, &error)) {
    const gboolean cancelled = g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
    outcome.state = cancelled ? "cancelled" : "failed";
    outcome.error = cancelled ? NULL : td_error_text (error, NULL);
    batch->failed += !cancelled;
  }
  outcome.seconds = (g_get_monotonic_time () - start) * 1e-6;
  cli_batch_say (batch, path, &outcome, of);
  cli_batch_add_row (batch, path, output, &outcome);
  td_engine_trim (batch->engine);
  g_free (outcome.error);
}

/* ── Both verbs ── */

static gboolean
cli_batch_begin (Batch *batch, GError **error)
{
  const Options *options = batch->options;

  if (g_mkdir_with_parents (options->output, 0777) != 0) {
    const int reason = errno;
    td_set_error (error, TD_ERROR_IO, "The folder “%s” cannot be made: %s", options->output,
                  g_strerror (reason));
    return FALSE;
  }
  batch->engine = td_engine_new (td_methods);
  batch->table = td_cli_table_new (td_cli_table_form (options->json, options->csv));
  td_cli_table_rows (batch->table, "scans");
  batch->started_us = g_get_monotonic_time ();
  return TRUE;
}

static int
cli_batch_end (Batch *batch)
{
  const int status = batch->n ? td_cli_table_print (batch->table) : TD_CLI_DONE;

  td_cli_table_free (batch->table);
  td_engine_unref (batch->engine);
  if (status != TD_CLI_DONE)
    return status;
  if (batch->failed)
    td_cli_say ("%u of %u scans failed; the others are written", batch->failed, batch->n);
  return batch->failed ? TD_CLI_FAILED : TD_CLI_DONE;
}

static int
cli_batch_run (TdCliRecipe *recipe, const Options *options)
{
  g_autoptr (GError) error = NULL;
  Batch batch = { .recipe = recipe, .options = options };
  const guint n = g_strv_length (options->scans);
  g_auto (GStrv) outputs = td_batch_outputs ((const char *const *) options->scans, options->output,
                                             recipe->recipe.output_format, &error);

  if (!outputs || !cli_batch_begin (&batch, &error))
    return td_cli_fail (error);
  for (guint i = 0; i < n && !g_cancellable_is_cancelled (td_cli_cancellable ()); i++)
    cli_batch_do (&batch, options->scans[i], outputs[i], n);
  const int status = cli_batch_end (&batch);
  return g_cancellable_is_cancelled (td_cli_cancellable ()) ? TD_CLI_CANCELLED : status;
}

/* ── Watching ── */

/* FALSE: the folder is gone. */
static gboolean
cli_batch_watch_round (Batch *batch, TdArrivals *arrivals, guint *moving, guint *came,
                       GError **error)
{
  g_auto (GStrv) paths = td_arrivals_look (arrivals, moving, error);

  *came = paths ? g_strv_length (paths) : 0;
  for (guint i = 0; i < *came && !g_cancellable_is_cancelled (td_cli_cancellable ()); i++) {
    const char *const one[] = { paths[i], NULL };
    g_auto (GStrv) outputs = td_batch_outputs (one, batch->options->output,
                                               batch->recipe->recipe.output_format, error);
    if (!outputs)
      return FALSE;
    cli_batch_do (batch, paths[i], outputs[0], 0);
  }
  return paths != NULL;
}

static int
cli_batch_watch (TdCliRecipe *recipe, const char *folder, const Options *options)
{
  g_autoptr (GError) error = NULL;
  GCancellable *cancellable = td_cli_cancellable ();
  Batch batch = { .recipe = recipe, .options = options };
  g_autoptr (TdArrivals) arrivals = td_arrivals_new (folder, options->output, options->settle_s);
  gint64 last_us = g_get_monotonic_time ();
  guint moving = 0, came = 0;

  if (!cli_batch_begin (&batch, &error))
    return td_cli_fail (error);
  while (!g_cancellable_is_cancelled (cancellable)) {
    if (!cli_batch_watch_round (&batch, arrivals, &moving, &came, &error))
      break;
    if (moving || came)
      last_us = g_get_monotonic_time ();
    if (options->idle_s > 0 && g_get_monotonic_time () - last_us > options->idle_s * G_USEC_PER_SEC)
      break;
    g_usleep (LOOK_US);
  }
  const int status = cli_batch_end (&batch);
  return error ? td_cli_fail (error) : status;
}

/* ── Options ── */

static void
cli_batch_options_clear (Options *options)
{
  g_free (options->output);
  g_strfreev (options->scans);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Options, cli_batch_options_clear)

static int
cli_batch_check (const char *verb, TdCliRecipe *recipe, const Options *options)
{
  if (!options->output)
    return td_cli_usage (verb, "say with --output into which folder the volumes go");
  if (options->json && options->csv)
    return td_cli_usage (verb, "--json and --csv exclude each other");
  if (!recipe->format_given && !recipe->recipe_path)
    recipe->recipe.output_format = TD_VOLUME_BIGTIFF;
  return -1;
}

int
td_cli_batch (int argc, char **argv)
{
  g_auto (Options) options = { NULL };
  g_auto (TdCliRecipe) recipe = { 0 };
  const GOptionEntry entries[] = {
    { "output", 'o', 0, G_OPTION_ARG_FILENAME, &options.output, "Where the volumes go", "FOLDER" },
    { "overwrite", 0, 0, G_OPTION_ARG_NONE, &options.overwrite,
      "Reconstruct all, and replace what is there", NULL },
    { "json", 0, 0, G_OPTION_ARG_NONE, &options.json, "Print the table as one JSON object", NULL },
    { "csv", 0, 0, G_OPTION_ARG_NONE, &options.csv, "Print it as comma-separated values", NULL },
    { G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &options.scans, "", "SCAN…" },
    { NULL },
  };
  int status = td_cli_recipe_parse (&recipe, TD_CLI_RECIPE, argc, argv, &batch_help, entries, NULL);

  if (status < 0)
    status = cli_batch_check (argv[0], &recipe, &options);
  if (status < 0 && !options.scans)
    status = td_cli_usage (argv[0], "name the scans to reconstruct");
  return status < 0 ? cli_batch_run (&recipe, &options) : status;
}

int
td_cli_watch (int argc, char **argv)
{
  g_auto (Options) options = { .settle_s = SETTLE_S };
  g_auto (TdCliRecipe) recipe = { 0 };
  const GOptionEntry entries[] = {
    { "output", 'o', 0, G_OPTION_ARG_FILENAME, &options.output, "Where the volumes go", "FOLDER" },
    { "settle", 0, 0, G_OPTION_ARG_DOUBLE, &options.settle_s,
      "So long a scan must have been as it is, s (" G_STRINGIFY (SETTLE_S) ")", "SECONDS" },
    { "idle", 0, 0, G_OPTION_ARG_DOUBLE, &options.idle_s,
      "End when nothing has come for so long; 0: never (0)", "SECONDS" },
    { "overwrite", 0, 0, G_OPTION_ARG_NONE, &options.overwrite,
      "Replace what is there of other recipes", NULL },
    { "json", 0, 0, G_OPTION_ARG_NONE, &options.json, "Print the table as one JSON object", NULL },
    { "csv", 0, 0, G_OPTION_ARG_NONE, &options.csv, "Print it as comma-separated values", NULL },
    { NULL },
  };
  const char *folder = NULL;
  int status = td_cli_recipe_parse (&recipe, TD_CLI_SCAN | TD_CLI_RECIPE, argc, argv, &watch_help,
                                    entries, &folder);

  if (status < 0)
    status = cli_batch_check (argv[0], &recipe, &options);
  if (status < 0 && (options.settle_s < 0 || options.idle_s < 0))
    status = td_cli_usage (argv[0], "--settle and --idle are 0 s or more");
  return status < 0 ? cli_batch_watch (&recipe, folder, &options) : status;
}
