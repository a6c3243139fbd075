/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>

#include "cli-recipe.h"
#include "cli-verbs.h"
#include "compute/engine/job.h"
#include "compute/methods/methods.h"
#include "dataset/output.h"

static const TdCliHelp help = {
  "SCAN --output PATH [OPTION…]",
  "Reconstructs a scan. PATH ending in .tif becomes one BigTIFF, in .h5 one HDF5 file, anything\n"
  "else a folder with one TIFF a slice; --format overrides that. The output appears under its\n"
  "name when it is complete, with the recipe and where it came from inside. Control-C cancels\n"
  "and leaves nothing (but see --keep).",
  "  tomodesk-cli reconstruct scan.nxs --output slices\n"
  "  The axis known, noise smoothed, rows 100 to 199 only:\n"
  "    tomodesk-cli reconstruct scan.nxs -o slices --centre 1023.25 --filter hann --rows 100:200\n"
  "  16-bit HDF5 with a stated range:\n"
  "    tomodesk-cli reconstruct scan.nxs -o volume.h5 --bits 16 --range 0:0.5\n"
  "  Projections that are transmissions already, over half a turn:\n"
  "    tomodesk-cli reconstruct frames --angles 0:180 --prepare none,minus-log -o slices\n"
  "  Few views, by iterations, and some more of them later:\n"
  "    tomodesk-cli reconstruct scan.nxs -o volume.h5 --method fista-tv --iterations 10\n"
  "    tomodesk-cli reconstruct scan.nxs -o better.h5 --method fista-tv --start volume.h5\n"
  "  Two devices at once:\n"
  "    tomodesk-cli reconstruct scan.nxs -o slices --device cuda:0,cuda:1\n",
};

typedef struct {
  char *output;
  gboolean overwrite, keep, json;
} Options;

/* Shows progress while the job runs on its own threads. */
typedef struct {
  GMainLoop *loop;
  TdJob *job;
  GError *error;
} Running;

static gboolean
cli_reconstruct_show_progress (gpointer user)
{
  Running *running = user;
  TdJobProgress progress;

  td_job_progress (running->job, &progress);
  g_autofree char *detail
      = progress.n_passes > 0 && progress.slices_done == 0
            ? progress.pass > 0 ? g_strdup_printf (", pass %u of %u, residual %.4f", progress.pass,
                                                   progress.n_passes, progress.residual)
                                : g_strdup (", first pass")
            : g_strdup_printf (", slice %u of %u", progress.slices_done, progress.n_slices);
  td_cli_progress (progress.stage, progress.fraction, progress.remaining_s, detail);
  return G_SOURCE_CONTINUE;
}

static void
cli_reconstruct_on_done (TdJob *job, const GError *error, gpointer user)
{
  Running *running = user;

  running->error = error ? g_error_copy (error) : NULL;
  g_main_loop_quit (running->loop);
}

static void
cli_reconstruct_on_signal (GCancellable *cancellable, gpointer job)
{
  td_job_cancel (job);
}

static void
on_signal_keep (GCancellable *cancellable, gpointer job)
{
  td_job_finish_early (job);
}

gboolean
td_cli_run_job (TdJob *job, gboolean keep, GError **error)
{
  Running running = { g_main_loop_new (NULL, FALSE), job, NULL };
  guint timer = g_timeout_add (200, cli_reconstruct_show_progress, &running);
  gulong handler = g_cancellable_connect (
      td_cli_cancellable (), G_CALLBACK (keep ? on_signal_keep : cli_reconstruct_on_signal),
      td_job_ref (job), (GDestroyNotify) td_job_unref);

  td_job_start (job, cli_reconstruct_on_done, &running);
  g_main_loop_run (running.loop);
  g_cancellable_disconnect (td_cli_cancellable (), handler);
  g_source_remove (timer);
  g_main_loop_unref (running.loop);
  td_cli_progress_clear ();
  if (!running.error)
    return TRUE;
  g_propagate_error (error, running.error);
  return FALSE;
}

static void
cli_reconstruct_print_text (TdJob *job)
{
  const TdJobResult *result = td_job_result (job);
  const TdPlanFacts *facts = td_plan_facts (td_job_plan (job));
  g_autofree char *time = td_cli_duration (result->seconds);
  g_autofree char *centre = isfinite (result->centre_px)
                                ? g_strdup_printf (", centre %.3f", result->centre_px)
                                : g_strdup (""); /* on a detector on its side */

  td_cli_print ("%s: %u slice%s of %u × %u pixels in %s, %.2f GU/s, %s on %s, %s precision%s\n",
                result->output, facts->n_slices, facts->n_slices == 1 ? "" : "s", facts->nx,
                facts->ny, time, result->updates_per_s * 1e-9, result->family, result->device,
                result->precision, centre);
  td_cli_print_notes ("  note  ", facts->notes);
  td_cli_print_notes ("  note  ", result->notes);
}

static int
cli_reconstruct (TdCliRecipe *recipe, const char *path, const Options *options)
{
  g_autoptr (GError) error = NULL;
  GCancellable *cancellable = td_cli_cancellable ();
  g_autoptr (TdScan) scan = td_scan_open (path, &recipe->scan, cancellable, &error);

  if (!scan)
    return td_cli_fail (error);
  const int status = td_cli_recipe_check (recipe, "reconstruct", td_scan_facts (scan));
  if (status >= 0)
    return status;
  if (options->keep && !td_method_iterates (recipe->recipe.method))
    return td_cli_usage ("reconstruct", "--keep is not used here: only iterative methods use it");
  if (!td_output_spares (options->output, recipe->recipe_path, &error))
    return td_cli_fail (error);
  g_autoptr (TdEngine) engine = td_engine_new (td_methods);
  g_autoptr (TdPlan) plan
      = td_plan_new (engine, scan, &recipe->recipe, options->output, cancellable, &error);
  if (!plan)
    return td_cli_fail (error);
  g_autoptr (TdJob) job = td_job_new (plan);
  td_job_set_overwrite (job, options->overwrite);
  if (options->keep)
    td_job_keep_momentum (job);
  if (!td_cli_run_job (job, options->keep && td_method_iterates (td_plan_recipe (plan)->method),
                       &error))
    return td_cli_fail (error);
  if (!options->json) {
    cli_reconstruct_print_text (job);
    return TD_CLI_DONE;
  }
  g_autofree char *text = td_job_result_json (job);
  return td_cli_print_text (text);
}

int
td_cli_reconstruct (int argc, char **argv)
{
  Options options = { NULL };
  const GOptionEntry entries[] = {
    { "output", 'o', 0, G_OPTION_ARG_FILENAME, &options.output, "Where the volume goes", "PATH" },
    { "overwrite", 0, 0, G_OPTION_ARG_NONE, &options.overwrite, "Replace what is at PATH", NULL },
    { "keep", 0, 0, G_OPTION_ARG_NONE, &options.keep,
      "Iterative methods: Control-C ends the iterations, and what they came to is written; with "
      "what --start needs to go on as if they had not stopped",
      NULL },
    { "json", 0, 0, G_OPTION_ARG_NONE, &options.json, "Print one JSON object", NULL },
    { NULL },
  };
  const char *path = NULL;
  g_auto (TdCliRecipe) recipe = { 0 };

  int status = td_cli_recipe_parse (&recipe, TD_CLI_SCAN | TD_CLI_RECIPE, argc, argv, &help,
                                    entries, &path);
  if (status >= 0)
    return status;
  if (!options.output)
    return td_cli_usage (argv[0], "say with --output where the volume goes");
  td_cli_recipe_choose_format (&recipe, options.output);
  return cli_reconstruct (&recipe, path, &options);
}
