/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "batch.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <math.h>

#include "compute/engine/centre.h"
#include "compute/engine/provenance.h"
#include "compute/recipe/json.h"
#include "dataset/csv-text.h"
#include "dataset/file-bytes.h"
#include "dataset/json-walk.h"
#include "dataset/message.h"
#include "events.h"

/* ── Names ── */

static const char *
batch_ending (TdVolumeFormat format)
{
  return format == TD_VOLUME_BIGTIFF ? ".tif" : format == TD_VOLUME_HDF5 ? ".h5" : "";
}

static char *
batch_name (const char *scan)
{
  char *name = g_path_get_basename (scan);
  const char *ending = td_scan_ending (name, NULL);

  if (ending && ending > name)
    name[ending - name] = '\0';
  return name;
}

static char *
batch_long_name (const char *scan)
{
  g_autofree char *folder = g_path_get_dirname (scan);
  g_autofree char *parent = g_path_get_basename (folder);
  g_autofree char *name = batch_name (scan);

  return g_strdup_printf ("%s-%s", parent, name);
}

char **
td_batch_outputs (const char *const *scans, const char *folder, TdVolumeFormat format,
                  GError **error)
{
  g_autoptr (GHashTable) counts = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr (GHashTable) taken = g_hash_table_new (g_str_hash, g_str_equal);
  g_autoptr (GStrvBuilder) outputs = g_strv_builder_new ();

  for (guint i = 0; scans[i]; i++) {
    g_autofree char *path = g_canonicalize_filename (scans[i], NULL);
    char *name = batch_name (path);
    const guint n = GPOINTER_TO_UINT (g_hash_table_lookup (counts, name)) + 1;
    g_hash_table_replace (counts, name, GUINT_TO_POINTER (n));
  }
  for (guint i = 0; scans[i]; i++) {
    g_autofree char *path = g_canonicalize_filename (scans[i], NULL);
    g_autofree char *name = batch_name (path);
    g_autofree char *chosen = GPOINTER_TO_UINT (g_hash_table_lookup (counts, name)) > 1
                                  ? batch_long_name (path)
                                  : g_strdup (name);
    g_autofree char *file = g_strconcat (chosen, batch_ending (format), NULL);
    g_autofree char *output = g_build_filename (folder, file, NULL);
    g_strv_builder_add (outputs, output);
  }
  g_auto (GStrv) all = g_strv_builder_end (outputs);
  for (guint i = 0; all[i]; i++)
    if (!g_hash_table_add (taken, all[i]))
      return td_set_error_null (
          error, TD_ERROR_INVALID,
          "two of the scans would be written to “%s”; reconstruct them into two folders", all[i]);
  return g_steal_pointer (&all);
}

gboolean
td_batch_make_folder (const char *folder, GError **error)
{
  if (g_mkdir_with_parents (folder, 0777) == 0)
    return TRUE;
  const int reason = errno;
  return td_set_error (error, TD_ERROR_IO, "The folder “%s” cannot be made: %s", folder,
                       g_strerror (reason));
}

/* ── What is there ── */

typedef enum {
  BATCH_IS_MISSING,
  BATCH_IS_DONE,  /* complete, of this scan, by this recipe, and younger than the scan */
  BATCH_IS_OTHER, /* something else has that name */
} BatchFound;

static gboolean
batch_is_same_scan (const TdProvenance *made, const TdScanFacts *facts)
{
  g_autofree char *one = g_canonicalize_filename (made->scan, NULL);
  g_autofree char *other = g_canonicalize_filename (facts->path, NULL);

  return g_str_equal (one, other);
}

/* A folder's own time says when a file came or went. */
static gboolean
batch_is_older (const char *path, const char *than)
{
  GStatBuf one, other;

  return g_stat (path, &one) == 0 && g_stat (than, &other) == 0 && one.st_mtime <= other.st_mtime;
}

/* What a plan would make of the recipe now is what the volume was made by. Devices and what is
   chosen for them may differ. */
static gboolean
batch_is_same_recipe (TdEngine *engine, TdScan *scan, const TdRecipe *recipe,
                      const TdProvenance *made, GCancellable *cancellable)
{
  TdRecipe asked = *recipe;

  if (asked.centre_auto)
    td_recipe_state_axis (&asked, made->recipe.centre_px, made->recipe.tilt_deg);
  g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &asked, NULL, cancellable, NULL);
  if (!plan)
    return FALSE;
  TdRecipe now = *td_plan_recipe (plan);
  g_strlcpy (now.devices, made->recipe.devices, sizeof now.devices);
  now.memory_limit_bytes = made->recipe.memory_limit_bytes;
  now.device_memory_limit_bytes = made->recipe.device_memory_limit_bytes;
  if (g_str_equal (recipe->family, "auto"))
    g_strlcpy (now.family, made->recipe.family, sizeof now.family);
  return td_recipe_equal (&now, &made->recipe);
}

/* What lies at @output, by its provenance (@made, transfer full). An axis that the recipe leaves to
   be found is the one that was found then. */
static BatchFound
batch_find (TdEngine *engine, TdScan *scan, const TdRecipe *recipe, const char *output,
            TdProvenance **made, GCancellable *cancellable)
{
  const TdScanFacts *facts = td_scan_facts (scan);

  if (!g_file_test (output, G_FILE_TEST_EXISTS))
    return BATCH_IS_MISSING;
  *made = td_provenance_read (output);
  return *made && batch_is_same_scan (*made, facts) && batch_is_older (facts->path, output)
                 && batch_is_same_recipe (engine, scan, recipe, *made, cancellable)
             ? BATCH_IS_DONE
             : BATCH_IS_OTHER;
}

/* The recipe for one scan of a batch. The axis is searched for, unless the recipe states it or the
   beam has none that could be found. */
static void
batch_recipe (const TdRecipe *recipe, const TdScanFacts *facts, TdRecipe *out)
{
  *out = *recipe;
  out->centre_auto = recipe->centre_auto
                     || (isnan (recipe->centre_px) && facts->geometry.beam == TD_BEAM_PARALLEL);
}

/* ── Rows ── */

static const char *const state_names[]
    = { "waiting", "running", "done", "there", "failed", "cancelled", "passed over" };

const char *
td_batch_state_name (TdBatchState state)
{
  return state_names[state];
}

static TdBatchState
batch_state_from_name (const char *name)
{
  for (guint i = 0; i < G_N_ELEMENTS (state_names); i++)
    if (g_strcmp0 (name, state_names[i]) == 0)
      return (TdBatchState) i;
  return TD_BATCH_WAITING;
}

TdBatchRow *
td_batch_row_new (const char *path, const char *output)
{
  TdBatchRow *row = g_new0 (TdBatchRow, 1);

  row->path = g_strdup (path);
  row->output = g_strdup (output);
  row->centre_px = row->sigma_px = row->seconds = NAN;
  return row;
}

TdBatchRow *
td_batch_row_new_passed (const char *path)
{
  TdBatchRow *row = td_batch_row_new (path, NULL);

  row->state = TD_BATCH_PASSED;
  row->why = g_strdup (N_ ("neither a folder nor a file of a kind that scans have"));
  return row;
}

TdBatchRow *
td_batch_row_copy (const TdBatchRow *row)
{
  TdBatchRow *copy = g_memdup2 (row, sizeof *row);

  copy->path = g_strdup (row->path);
  copy->output = g_strdup (row->output);
  copy->why = g_strdup (row->why);
  copy->notes = td_messages_copy (row->notes);
  return copy;
}

void
td_batch_row_free (TdBatchRow *row)
{
  g_free (row->path);
  g_free (row->output);
  g_free (row->why);
  td_messages_free (row->notes);
  g_free (row);
}

static void
batch_add_row (GString *csv, const TdBatchRow *row)
{
  const gboolean has_volume = row->state == TD_BATCH_WRITTEN || row->state == TD_BATCH_THERE;

  td_csv_add_text (csv, row->path);
  td_csv_add_text (csv, td_batch_state_name (row->state));
  td_csv_add_number (csv, row->centre_px);
  td_csv_add_number (csv, row->sigma_px);
  td_csv_add_text (csv, row->searched ? row->agreed ? "yes" : "no" : NULL);
  td_csv_add_number (csv, row->seconds);
  td_csv_add_text (csv, has_volume ? row->output : NULL);
  g_autofree char *why = td_message_words (row->why, NULL);
  td_csv_add_text (csv, why);
  g_string_append_c (csv, '\n');
}

char *
td_batch_csv (const GPtrArray *rows)
{
  GString *csv = g_string_new ("scan,state,centre_px,sigma_px,agreed,seconds,output,error\n");

  for (guint i = 0; i < rows->len; i++)
    batch_add_row (csv, rows->pdata[i]);
  return g_string_free (csv, FALSE);
}

void
td_batch_row_add_json (const TdBatchRow *row, JsonBuilder *builder)
{
  td_json_add_string (builder, "path", row->path);
  td_json_add_string (builder, "output", row->output);
  td_json_add_string (builder, "state", td_batch_state_name (row->state));
  td_json_add_number (builder, "centre_px", row->centre_px);
  td_json_add_number (builder, "sigma_px", row->sigma_px);
  td_json_add_boolean (builder, "searched", row->searched);
  td_json_add_boolean (builder, "agreed", row->agreed);
  td_json_add_number (builder, "seconds", row->seconds);
  td_json_add_number (builder, "fraction", row->fraction);
  td_events_add_message (builder, row->why);
}

TdBatchRow *
td_batch_row_of_json (JsonNode *event)
{
  const double fraction = td_json_number (event, "fraction");
  const char *path = td_json_string (event, "path"), *output = td_json_string (event, "output");

  if (!path)
    return NULL;
  TdBatchRow *row = td_batch_row_new (path, output);
  row->state = batch_state_from_name (td_json_string (event, "state"));
  row->centre_px = td_json_number (event, "centre_px");
  row->sigma_px = td_json_number (event, "sigma_px");
  row->searched = td_json_true (event, "searched");
  row->agreed = td_json_true (event, "agreed");
  row->seconds = td_json_number (event, "seconds");
  row->fraction = isnan (fraction) ? 0 : CLAMP (fraction, 0, 1);
  row->why = g_strdup (td_events_said (event));
  return row;
}

/* ── What they take ── */

static void
batch_need_of_plan (const TdPlan *plan, const char *output, TdBatchNeed *need)
{
  const TdPlanFacts *facts = td_plan_facts (plan);

  *need = (TdBatchNeed) { .nx = facts->nx,
                          .ny = facts->ny,
                          .n_slices = facts->n_slices,
                          .host_bytes = facts->host_bytes,
                          .device_bytes = facts->device_bytes,
                          .write_bytes = facts->write_bytes,
                          .estimate_s = facts->estimate_s > 0 ? facts->estimate_s : NAN };
  if (!g_file_test (output, G_FILE_TEST_EXISTS))
    need->room_bytes = facts->write_bytes;
  td_plan_times (plan, &need->times);
}

void
td_batch_need_add (TdBatchNeed *all, const TdBatchNeed *one)
{
  all->n_slices += one->n_slices;
  all->host_bytes = MAX (all->host_bytes, one->host_bytes);
  all->device_bytes = MAX (all->device_bytes, one->device_bytes);
  all->write_bytes += one->write_bytes;
  all->room_bytes += one->room_bytes;
  all->times.read += one->times.read;
  all->times.compute += one->times.compute;
  all->times.write += one->times.write;
  all->estimate_s += one->estimate_s;
}

gboolean
td_batch_need_fits (const TdBatchNeed *all, const char *folder, GError **error)
{
  const guint64 available = td_file_room (folder);

  if (all->room_bytes <= available)
    return TRUE;
  g_autofree char *need = g_format_size (all->room_bytes);
  g_autofree char *have = g_format_size (available);
  return td_set_error (error, TD_ERROR_IO,
                       "The volumes take %s, and “%s” has only %s free; free some space, choose "
                       "another folder, or take fewer scans or fewer bits a sample",
                       need, folder, have);
}

/* ── One scan ── */

/* The search that the plan would make; the engine remembers what it found. */
static gboolean
batch_find_axis (const TdBatchWork *work, TdScan *scan, const TdRecipe *recipe, TdBatchRow *row,
                 GCancellable *cancellable, GError **error)
{
  g_autoptr (TdScan) measured = td_engine_measured (work->engine, scan, recipe, error);

  if (!measured)
    return FALSE;
  work->searches (work->user);
  g_autoptr (TdAxisResult) found
      = td_engine_find_axis (work->engine, measured, recipe, NULL, cancellable, error);
  if (!found)
    return FALSE;
  row->searched = TRUE;
  row->agreed = found->agreed;
  row->sigma_px = found->uncertainty_px / 2;
  return TRUE;
}

static gboolean
batch_reconstruct (const TdBatchWork *work, TdScan *scan, const TdRecipe *recipe, TdBatchRow *row,
                   GCancellable *cancellable, GError **error)
{
  const gboolean searches
      = recipe->centre_auto && td_scan_facts (scan)->geometry.beam == TD_BEAM_PARALLEL;

  if (searches && !batch_find_axis (work, scan, recipe, row, cancellable, error))
    return FALSE;
  g_autoptr (TdPlan) plan
      = td_plan_new (work->engine, scan, recipe, row->output, cancellable, error);
  if (!plan)
    return FALSE;
  g_autoptr (TdJob) job = td_job_new (plan);
  td_job_set_overwrite (job, work->overwrite);
  if (!work->run (job, work->user, error))
    return FALSE;
  row->centre_px = td_job_result (job)->centre_px;
  row->notes = td_messages_copy (td_plan_facts (plan)->notes);
  td_messages_append (&row->notes, td_job_result (job)->notes);
  row->state = TD_BATCH_WRITTEN;
  return TRUE;
}

/* The scan with the recipe for it; @row says whether its volume is there. */
static TdScan *
batch_open (const TdBatchWork *work, TdBatchRow *row, TdRecipe *recipe, GCancellable *cancellable,
            GError **error)
{
  g_autoptr (TdScan) scan = td_scan_open (row->path, work->options, cancellable, error);
  g_autoptr (TdProvenance) made = NULL;

  if (!scan)
    return NULL;
  batch_recipe (work->recipe, td_scan_facts (scan), recipe);
  const BatchFound found
      = work->overwrite ? BATCH_IS_MISSING
                        : batch_find (work->engine, scan, recipe, row->output, &made, cancellable);
  if (found == BATCH_IS_DONE) {
    row->state = TD_BATCH_THERE;
    row->centre_px = made->recipe.centre_px;
    row->searched = made->axis_searched;
    row->agreed = made->axis_agreed;
    row->sigma_px = made->axis_sigma_px;
    row->notes = td_messages_copy (made->notes);
  }
  if (found == BATCH_IS_OTHER)
    return td_set_error_null (
        error, TD_ERROR_IO,
        "“%s” exists, and it is not what this recipe makes of this scan now; take "
        "another folder, or have it replaced",
        row->output);
  return g_steal_pointer (&scan);
}

static gboolean
batch_do (const TdBatchWork *work, TdBatchRow *row, GCancellable *cancellable, GError **error)
{
  TdRecipe recipe;
  g_autoptr (TdScan) scan = batch_open (work, row, &recipe, cancellable, error);

  if (!scan)
    return FALSE;
  return row->state == TD_BATCH_THERE
         || batch_reconstruct (work, scan, &recipe, row, cancellable, error);
}

gboolean
td_batch_look (const TdBatchWork *work, TdBatchRow *row, TdBatchNeed *need,
               GCancellable *cancellable, GError **error)
{
  TdRecipe recipe;
  g_autoptr (TdScan) scan = batch_open (work, row, &recipe, cancellable, error);

  *need = (TdBatchNeed) { 0 };
  if (!scan || row->state == TD_BATCH_THERE)
    return scan != NULL;
  /* No search, and no note of an axis that would not be taken. */
  const TdScanFacts *facts = td_scan_facts (scan);
  const double middle = (facts->n_columns - 1) / 2.0;
  if (recipe.centre_auto && facts->geometry.beam == TD_BEAM_PARALLEL)
    td_recipe_state_axis (&recipe, isfinite (facts->centre_px) ? facts->centre_px : middle,
                          recipe.tilt_deg);
  g_autoptr (TdPlan) plan
      = td_plan_new (work->engine, scan, &recipe, row->output, cancellable, error);
  if (!plan)
    return FALSE;
  batch_need_of_plan (plan, row->output, need);
  row->notes = td_messages_copy (td_plan_facts (plan)->notes);
  return TRUE;
}

/* Whoever makes the same volumes, as another watcher of the folder, may have been faster. */
static gboolean
batch_came_meanwhile (const TdBatchWork *work, TdBatchRow *row, GCancellable *cancellable)
{
  TdRecipe recipe;

  if (work->overwrite || g_cancellable_is_cancelled (cancellable)
      || !g_file_test (row->output, G_FILE_TEST_EXISTS))
    return FALSE;
  g_clear_pointer (&row->notes, td_messages_free);
  g_autoptr (TdScan) scan = batch_open (work, row, &recipe, cancellable, NULL);
  return scan && row->state == TD_BATCH_THERE;
}

gboolean
td_batch_do (const TdBatchWork *work, TdBatchRow *row, GCancellable *cancellable, GError **error)
{
  const gint64 start = g_get_monotonic_time ();
  g_autoptr (GError) reason = NULL;

  row->state = TD_BATCH_RUNNING;
  gboolean done = batch_do (work, row, cancellable, &reason);
  if (!done && batch_came_meanwhile (work, row, cancellable)) {
    g_clear_error (&reason);
    done = TRUE;
  }
  if (!done)
    row->state = g_error_matches (reason, G_IO_ERROR, G_IO_ERROR_CANCELLED) ? TD_BATCH_CANCELLED
                                                                            : TD_BATCH_FAILED;
  row->seconds = (g_get_monotonic_time () - start) * 1e-6;
  td_engine_trim (work->engine);
  if (reason)
    g_propagate_error (error, g_steal_pointer (&reason));
  return done;
}
