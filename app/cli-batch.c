/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One recipe for many scans: those that are named, and those that come into a folder. */
#include <math.h>
#include <string.h>

#include "cli-recipe.h"
#include "cli-table.h"
#include "cli-verbs.h"
#include "cluster/arrivals.h"
#include "cluster/batch.h"
#include "compute/methods/methods.h"
#include "dataset/file-bytes.h"
#include "dataset/unit.h"

#define LOOK_US (G_USEC_PER_SEC / 2)

static const TdCliHelp batch_help = {
  "SCAN… --output FOLDER [OPTION…]",
  "Reconstructs each scan by the same recipe, into FOLDER/NAME. The axis is found for each scan,\n"
  "unless --centre gives it. A scan that fails does not stop the others. What is complete "
  "already,\n"
  "by the same recipe, is left as it is: the same command goes on after it was stopped.",
  "  tomodesk-cli batch night/*.nxs --output volumes\n"
  "  By a recipe of the window, with the table as a file:\n"
  "    tomodesk-cli batch night/*.nxs -o volumes --recipe best.recipe.json --csv > table.csv\n"
  "  Will they fit, and how long will they take?\n"
  "    tomodesk-cli batch night/*.nxs -o volumes --plan\n",
};
static const TdCliHelp watch_help = {
  "FOLDER --output FOLDER [OPTION…]",
  "Reconstructs each scan that comes into a folder, once it is complete: nothing of it has "
  "changed\n"
  "for a while, and it opens. Each is reconstructed once. Control-C ends the watching.\n"
  "A range of --angles is spread over the views that are there; a file of angles waits for all.",
  "  tomodesk-cli watch /beamline/tonight --output volumes --format hdf5\n"
  "  What is there and what comes within ten minutes of the last:\n"
  "    tomodesk-cli watch incoming -o volumes --idle 600\n",
};

typedef struct {
  char *output;
  gboolean overwrite, json, csv, plan;
  double settle_s, idle_s;
  char **scans; /* batch */
} Options;

typedef struct {
  TdCliRecipe *recipe;
  const Options *options;
  TdEngine *engine;
  GPtrArray *rows;
  guint n; /* that were tried */
} Batch;

/* ── One scan ── */

static void
cli_batch_on_search (gpointer user)
{
  td_cli_progress ("finding the axis", 0, -1, NULL);
}

static gboolean
cli_batch_run_job (TdJob *job, gpointer user, GError **error)
{
  return td_cli_run_job (job, FALSE, error);
}

static void
cli_batch_add_row (TdCliTable *table, const TdBatchRow *row)
{
  g_autofree char *name = g_path_get_basename (row->path);
  g_autofree char *time = isnan (row->seconds) ? NULL : td_cli_duration (row->seconds);
  g_autofree char *axis = isnan (row->centre_px) ? g_strdup ("")
                          : row->searched
                              ? g_strdup_printf ("%.3f ± %.3f", row->centre_px, row->sigma_px)
                              : g_strdup_printf ("%.3f", row->centre_px);
  const char *agreed = !row->searched ? "" : row->agreed ? "yes" : "no";
  const char *state = td_batch_state_name (row->state);

  td_cli_table_row (table);
  td_cli_table_show (table, "scan", "%-24s", name);
  td_cli_table_text (table, "scan", row->path);
  td_cli_table_cell (table, text, "state", "state", "%-11s", state);
  td_cli_table_show (table, "axis", "%-18s", axis);
  td_cli_table_show (table, "agreed", "%-6s", agreed);
  td_cli_table_show (table, "time", "%-10s", time ? time : "");
  td_cli_table_show (table, "output or error", "%-15s", row->why ? row->why : row->output);
  td_cli_table_number (table, "centre_px", row->centre_px);
  td_cli_table_number (table, "sigma_px", row->sigma_px);
  td_cli_table_text (table, "agreed", *agreed ? agreed : NULL);
  td_cli_table_number (table, "seconds", row->seconds);
  td_cli_table_text (table, "output", row->why ? NULL : row->output);
  td_cli_table_text (table, "error", row->why);
  td_cli_table_notes (table, row->notes);
}

/* A line for each as it ends: the table comes last. @of: how many there are; 0: nobody knows. */
static void
cli_batch_say (const Batch *batch, const TdBatchRow *row, guint of)
{
  g_autofree char *number
      = of ? g_strdup_printf ("%u of %u", batch->n, of) : g_strdup_printf ("%u", batch->n);

  td_cli_progress_clear ();
  td_cli_say ("%s: %s %s%s%s", number, row->path, td_batch_state_name (row->state),
              row->why ? ": " : "", row->why ? row->why : "");
  g_auto (GStrv) notes = td_messages_texts (row->notes, NULL);
  for (guint i = 0; notes[i]; i++)
    td_cli_say ("  note  %s", notes[i]);
}

static void
cli_batch_do (Batch *batch, const char *path, const char *output, guint of)
{
  TdBatchRow *row = td_batch_row_new (path, output);
  g_autoptr (GError) error = NULL;
  const TdBatchWork work = { .engine = batch->engine,
                             .options = &batch->recipe->scan,
                             .recipe = &batch->recipe->recipe,
                             .overwrite = batch->options->overwrite,
                             .searches = cli_batch_on_search,
                             .run = cli_batch_run_job };

  batch->n++;
  td_batch_do (&work, row, td_cli_cancellable (), &error);
  if (row->state == TD_BATCH_FAILED)
    row->why = td_error_text (error, NULL);
  cli_batch_say (batch, row, of);
  g_ptr_array_add (batch->rows, row);
}

/* What failed before it was complete, and has come again, has not failed. */
static void
cli_batch_forget_failed (Batch *batch, const char *path)
{
  for (guint i = batch->rows->len; i > 0; i--) {
    const TdBatchRow *row = batch->rows->pdata[i - 1];

    if (row->state == TD_BATCH_FAILED && strcmp (row->path, path) == 0)
      g_ptr_array_remove_index (batch->rows, i - 1);
  }
}

/* ── Both verbs ── */

static gboolean
cli_batch_begin (Batch *batch, GError **error)
{
  if (!td_batch_make_folder (batch->options->output, error))
    return FALSE;
  batch->engine = td_engine_new (td_methods);
  batch->rows = g_ptr_array_new_with_free_func ((GDestroyNotify) td_batch_row_free);
  return TRUE;
}

static int
cli_batch_print (Batch *batch)
{
  const Options *options = batch->options;
  g_autofree char *csv = options->csv ? td_batch_csv (batch->rows) : NULL;

  if (csv)
    return td_cli_print_text (g_strchomp (csv));
  g_autoptr (TdCliTable) table = td_cli_table_new (td_cli_table_form (options->json, FALSE));
  td_cli_table_rows (table, "scans");
  for (guint i = 0; i < batch->rows->len; i++)
    cli_batch_add_row (table, batch->rows->pdata[i]);
  return td_cli_table_print (table);
}

static int
cli_batch_end (Batch *batch)
{
  const int status = batch->rows->len ? cli_batch_print (batch) : TD_CLI_DONE;
  guint n = 0, failed = 0;

  for (guint i = 0; i < batch->rows->len; i++) {
    const TdBatchState state = ((TdBatchRow *) batch->rows->pdata[i])->state;

    n += state != TD_BATCH_PASSED;
    failed += state == TD_BATCH_FAILED;
  }
  g_ptr_array_unref (batch->rows);
  td_engine_unref (batch->engine);
  if (status != TD_CLI_DONE)
    return status;
  if (failed && n == 1)
    td_cli_say ("the scan failed; nothing is written");
  else if (failed && failed == n)
    td_cli_say ("all %u scans failed; nothing is written", n);
  else if (failed)
    td_cli_say ("%u of %u scans failed; the others are written", failed, n);
  return failed ? TD_CLI_FAILED : TD_CLI_DONE;
}

/* ── Only a plan ── */

/* What was found out about one scan. */
typedef struct {
  TdBatchRow *row;
  TdBatchNeed need;
} Look;

typedef struct {
  GPtrArray *looks;
  TdBatchNeed all;
  guint to_do, there, refused;
} Sum;

static void
batch_plan_look_free (gpointer user)
{
  Look *look = user;

  td_batch_row_free (look->row);
  g_free (look);
}

/* As members of JSON. */
static void
batch_plan_numbers (TdCliTable *table, const TdBatchNeed *need)
{
  td_cli_table_integer (table, "slices", need->n_slices);
  td_cli_table_integer (table, "host_bytes", (gint64) need->host_bytes);
  td_cli_table_integer (table, "device_bytes", (gint64) need->device_bytes);
  td_cli_table_integer (table, "write_bytes", (gint64) need->write_bytes);
  td_cli_table_number (table, "read_seconds", need->times.read);
  td_cli_table_number (table, "compute_seconds", need->times.compute);
  td_cli_table_number (table, "write_seconds", need->times.write);
  td_cli_table_number (table, "estimate_seconds", need->estimate_s);
}

static const char *
batch_plan_state (const TdBatchRow *row)
{
  return row->state == TD_BATCH_FAILED    ? "refused"
         : row->state == TD_BATCH_WAITING ? "to do"
                                          : td_batch_state_name (row->state);
}

static void
batch_plan_add_row (TdCliTable *table, const Look *look)
{
  const TdBatchRow *row = look->row;
  const TdBatchNeed *need = &look->need;
  const gboolean to_do = row->state == TD_BATCH_WAITING;
  g_autofree char *name = g_path_get_basename (row->path);
  g_autofree char *host = td_memory_text (need->host_bytes);
  g_autofree char *device = td_memory_text (need->device_bytes);
  g_autofree char *written = g_format_size (need->write_bytes);
  g_autofree char *time = td_cli_duration (need->estimate_s);

  td_cli_table_row (table);
  td_cli_table_show (table, "scan", "%-24s", name);
  td_cli_table_text (table, "scan", row->path);
  td_cli_table_cell (table, text, "state", "state", "%-8s", batch_plan_state (row));
  td_cli_table_show (table, "host", "%-10s", to_do ? host : "");
  td_cli_table_show (table, "device", "%-10s", to_do ? device : "");
  td_cli_table_show (table, "to write", "%-10s", to_do ? written : "");
  td_cli_table_show (table, "time", "%-13s", to_do ? time : "");
  td_cli_table_show (table, "output or error", "%-15s", row->why ? row->why : row->output);
  batch_plan_numbers (table, need);
  td_cli_table_text (table, "output", row->why ? NULL : row->output);
  td_cli_table_text (table, "error", row->why);
  td_cli_table_notes (table, row->notes);
  g_auto (GStrv) notes = td_messages_texts (row->notes, NULL);
  if (notes[0])
    td_cli_table_say (table, "%s\n", row->path);
  for (guint i = 0; notes[i]; i++)
    td_cli_table_say (table, "  note     %s\n", notes[i]);
}

static void
batch_plan_look (Sum *sum, const TdBatchWork *work, const char *scan, const char *output)
{
  Look *look = g_new0 (Look, 1);
  g_autoptr (GError) error = NULL;

  look->row = td_batch_row_new (scan, output);
  g_ptr_array_add (sum->looks, look);
  td_cli_progress ("looking at the scans", 0, -1, NULL);
  if (td_batch_look (work, look->row, &look->need, td_cli_cancellable (), &error)) {
    sum->to_do += look->row->state == TD_BATCH_WAITING;
    sum->there += look->row->state == TD_BATCH_THERE;
    td_batch_need_add (&sum->all, &look->need);
    return;
  }
  look->row->state = TD_BATCH_FAILED;
  look->row->why = td_error_text (error, NULL);
  sum->refused++;
}

static void
batch_plan_say_all (TdCliTable *table, const Sum *sum, const char *folder, gboolean searches)
{
  const TdBatchNeed *all = &sum->all;
  const guint64 room = td_file_room (folder);
  g_autofree char *host = td_memory_text (all->host_bytes);
  g_autofree char *device = td_memory_text (all->device_bytes);
  g_autofree char *written = g_format_size (all->write_bytes);
  g_autofree char *space
      = room == G_MAXUINT64 ? g_strdup ("nobody knows how much is") : g_format_size (room);
  g_autofree char *read = td_cli_duration (all->times.read);
  g_autofree char *compute = td_cli_duration (all->times.compute);
  g_autofree char *write = td_cli_duration (all->times.write);
  g_autofree char *time = td_cli_duration (all->estimate_s);

  td_cli_table_say (table, "in all: %u to do, %u there, %u refused\n", sum->to_do, sum->there,
                    sum->refused);
  td_cli_table_say (table, "  memory   %s on the host, %s on each device, for the largest\n", host,
                    device);
  td_cli_table_say (table, "  disk     %s to write, %s free\n", written, space);
  td_cli_table_say (table, "  time     %s%s\n", time,
                    searches ? "; the search for axes comes on top" : "");
  td_cli_table_say (table, "  stages   reading %s, computing %s, writing %s; they overlap\n", read,
                    compute, write);
}

static void
batch_plan_facts (TdCliTable *table, const Sum *sum, const char *folder)
{
  const guint64 room = td_file_room (folder);

  td_cli_table_begin (table, "all");
  td_cli_table_integer (table, "to_do", sum->to_do);
  td_cli_table_integer (table, "there", sum->there);
  td_cli_table_integer (table, "refused", sum->refused);
  batch_plan_numbers (table, &sum->all);
  if (room == G_MAXUINT64)
    td_cli_table_text (table, "free_bytes", NULL);
  else
    td_cli_table_integer (table, "free_bytes", (gint64) room);
  td_cli_table_end (table);
}

/* What each scan would take, and what all of them together. It fails if one is refused or all do
   not fit on the disk. */
static int
cli_batch_only_plan (TdCliRecipe *recipe, const Options *options, char **outputs)
{
  g_autoptr (TdEngine) engine = td_engine_new (td_methods);
  const TdBatchWork work = { .engine = engine,
                             .options = &recipe->scan,
                             .recipe = &recipe->recipe,
                             .overwrite = options->overwrite };
  g_autoptr (TdCliTable) table = td_cli_table_new (td_cli_table_form (options->json, options->csv));
  g_autoptr (GPtrArray) looks = g_ptr_array_new_with_free_func (batch_plan_look_free);
  g_autoptr (GError) no_room = NULL;
  Sum sum = { .looks = looks };

  for (guint i = 0; options->scans[i] && !g_cancellable_is_cancelled (td_cli_cancellable ()); i++)
    batch_plan_look (&sum, &work, options->scans[i], outputs[i]);
  td_cli_progress_clear ();
  if (g_cancellable_is_cancelled (td_cli_cancellable ()))
    return TD_CLI_CANCELLED;
  if (options->json)
    batch_plan_facts (table, &sum, options->output);
  td_cli_table_rows (table, "scans");
  for (guint i = 0; i < looks->len; i++)
    batch_plan_add_row (table, looks->pdata[i]);
  batch_plan_say_all (table, &sum, options->output,
                      recipe->recipe.centre_auto || isnan (recipe->recipe.centre_px));
  const int status = td_cli_table_print (table);
  if (status != TD_CLI_DONE)
    return status;
  if (!td_batch_need_fits (&sum.all, options->output, &no_room))
    return td_cli_fail (no_room);
  if (sum.refused)
    td_cli_say ("%u of %u scans would be refused", sum.refused, looks->len);
  return sum.refused ? TD_CLI_FAILED : TD_CLI_DONE;
}

static int
cli_batch_run (TdCliRecipe *recipe, const Options *options)
{
  g_autoptr (GError) error = NULL;
  Batch batch = { .recipe = recipe, .options = options };
  const guint n = g_strv_length (options->scans);
  g_auto (GStrv) outputs = td_batch_outputs ((const char *const *) options->scans, options->output,
                                             recipe->recipe.output_format, &error);

  if (outputs && options->plan)
    return cli_batch_only_plan (recipe, options, outputs);
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
    cli_batch_forget_failed (batch, paths[i]);
    cli_batch_do (batch, paths[i], outputs[0], 0);
  }
  for (guint i = 0; paths && td_arrivals_passed (arrivals)[i]; i++) {
    TdBatchRow *row = td_batch_row_new_passed (td_arrivals_passed (arrivals)[i]);
    cli_batch_say (batch, row, 0);
    g_ptr_array_add (batch->rows, row);
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
  Options options = { NULL };
  g_auto (TdCliRecipe) recipe = { 0 };
  const GOptionEntry entries[] = {
    { "output", 'o', 0, G_OPTION_ARG_FILENAME, &options.output, "Where the volumes go", "FOLDER" },
    { "overwrite", 0, 0, G_OPTION_ARG_NONE, &options.overwrite,
      "Reconstruct all, and replace what is there", NULL },
    { "json", 0, 0, G_OPTION_ARG_NONE, &options.json, "Print the table as one JSON object", NULL },
    { "csv", 0, 0, G_OPTION_ARG_NONE, &options.csv, "Print it as comma-separated values", NULL },
    { "plan", 0, 0, G_OPTION_ARG_NONE, &options.plan,
      "Only say what each would take, and all: memory, disk, time, what is refused", NULL },
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
  Options options = { .settle_s = TD_ARRIVALS_SETTLE_S };
  g_auto (TdCliRecipe) recipe = { 0 };
  const GOptionEntry entries[] = {
    { "output", 'o', 0, G_OPTION_ARG_FILENAME, &options.output, "Where the volumes go", "FOLDER" },
    { "settle", 0, 0, G_OPTION_ARG_DOUBLE, &options.settle_s,
      "So long a scan must have been as it is, s (" G_STRINGIFY (TD_ARRIVALS_SETTLE_S) ")",
      "SECONDS" },
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
