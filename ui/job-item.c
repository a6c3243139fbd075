/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "job-item.h"

#include <glib/gi18n.h>
#include <math.h>

#include "labels.h"
#include "quantity.h"
#include "ui.h"

#define REMOTE_POLL_MS 300

struct _TdJobItem {
  GObject parent_instance;
  char *error;
  TdJobState state;
  TdSliceStore *slices;

  TdRemoteJob *remote; /* NULL: a volume that was opened */
  TdRemoteTask task;
  TdRemoteFollower *follower;
  TdRemoteFacts facts;
  guint poll;
  gboolean is_old;
  gboolean holds; /* the program, until the job is launched */

  TdRecipe recipe; /* of a volume that was opened */
};

G_DEFINE_FINAL_TYPE (TdJobItem, td_job_item, G_TYPE_OBJECT)

/* ── Following ── */

static void
job_item_end (TdJobItem *self, TdJobState state, const char *error)
{
  g_clear_handle_id (&self->poll, g_source_remove);
  self->state = state;
  g_free (self->error);
  self->error = g_strdup (error);
  g_signal_emit_by_name (self, "changed");
  g_signal_emit_by_name (self, "ended");
}

/* A job that was asked for is launched, even if the window is closed meanwhile. */
static void
job_item_hold (TdJobItem *self, gboolean hold)
{
  GApplication *application = g_application_get_default ();

  if (hold == self->holds)
    return;
  self->holds = hold;
  if (application && hold)
    g_application_hold (application);
  else if (application)
    g_application_release (application);
  if (hold)
    g_object_ref (self);
  else
    g_object_unref (self);
}

static TdJobState
job_item_state_of (TdRemoteState state)
{
  switch (state) {
  case TD_REMOTE_STAGED:
  case TD_REMOTE_QUEUED: return TD_JOB_WAITING;
  case TD_REMOTE_RUNNING: return TD_JOB_RUNNING;
  case TD_REMOTE_DONE: return TD_JOB_DONE;
  case TD_REMOTE_CANCELLED: return TD_JOB_CANCELLED;
  default: return TD_JOB_FAILED;
  }
}

static void
job_item_take_facts (TdJobItem *self)
{
  td_remote_facts_clear (&self->facts);
  td_remote_job_facts (self->remote, &self->facts);
}

static gboolean
job_item_is_launched (const TdRemoteFacts *facts)
{
  return facts->state == TD_REMOTE_QUEUED || facts->state == TD_REMOTE_RUNNING
         || facts->state == TD_REMOTE_DONE;
}

static gboolean
job_item_poll_remote (gpointer user)
{
  g_autoptr (TdJobItem) self = g_object_ref (user);
  g_autofree char *problem = NULL;
  const gboolean over = td_remote_follower_is_over (self->follower, &problem);

  job_item_take_facts (self);
  if (over || job_item_is_launched (&self->facts))
    job_item_hold (self, FALSE);
  if (!self->slices)
    self->slices = td_remote_follower_slices (self->follower);
  const TdJobState state = job_item_state_of (self->facts.state);
  if (over && td_job_item_ended (self)) { /* it had ended when it was found */
    self->poll = 0;
    g_signal_emit_by_name (self, "changed");
    return G_SOURCE_REMOVE;
  }
  if (over) {
    /* A volume that could not be brought here is as good as none. */
    const gboolean cancelled = state == TD_JOB_CANCELLED;
    const TdJobState end = problem && state == TD_JOB_DONE ? TD_JOB_FAILED : state;
    g_autofree char *words
        = cancelled ? NULL
                    : td_message_words (problem ? problem : self->facts.why, td_label_naming);
    job_item_end (self, end == TD_JOB_WAITING ? TD_JOB_CANCELLED : end, words);
    return G_SOURCE_REMOVE;
  }
  if (!td_job_item_ended (self))
    self->state = state == TD_JOB_RUNNING ? TD_JOB_RUNNING : TD_JOB_WAITING;
  g_signal_emit_by_name (self, "changed");
  g_signal_emit_by_name (self, "slices");
  return G_SOURCE_CONTINUE;
}

/* The text for a job that waits here. */
static char *
job_item_turn_text (const TdRemoteFacts *facts)
{
  if (facts->paused)
    return g_strdup (_ ("Waiting: no job begins until the queue goes on"));
  if (facts->ahead)
    return g_strdup_printf (ngettext ("Waiting for %u job", "Waiting for %u jobs", facts->ahead),
                            facts->ahead);
  return g_strdup (_ ("Waiting"));
}

static char *
job_item_wait_text (const TdRemoteFacts *facts)
{
  return facts->state == TD_REMOTE_STAGED ? g_strdup (_ ("Preparing")) : job_item_turn_text (facts);
}

/* ── Batches ── */

static guint
job_item_count (const TdJobItem *self, TdBatchState state)
{
  const GPtrArray *rows = self->facts.scans;
  guint n = 0;

  for (guint i = 0; i < rows->len; i++)
    n += ((const TdBatchRow *) rows->pdata[i])->state == state;
  return n;
}

/* How many have a volume, and how many failed. */
static char *
job_item_batch_counts (TdJobItem *self)
{
  const guint done
      = job_item_count (self, TD_BATCH_WRITTEN) + job_item_count (self, TD_BATCH_THERE);
  const guint failed = job_item_count (self, TD_BATCH_FAILED);
  const guint n = self->facts.scans->len - job_item_count (self, TD_BATCH_PASSED);
  g_autofree char *counts = g_strdup_printf (
      ngettext ("%u of %u scan reconstructed", "%u of %u scans reconstructed", n), done, n);

  return failed ? g_strdup_printf (_ ("%s, %u failed"), counts, failed) : g_steal_pointer (&counts);
}

static char *
job_item_batch_status (TdJobItem *self)
{
  const TdRemoteFacts *facts = &self->facts;
  g_autofree char *counts = job_item_batch_counts (self);
  g_autofree char *left = facts->left_s >= 0 ? td_duration_text (facts->left_s) : NULL;

  switch (self->state) {
  case TD_JOB_WAITING: return job_item_wait_text (facts);
  case TD_JOB_RUNNING:
    if (facts->paused || facts->ahead) {
      g_autofree char *turn = job_item_turn_text (facts);
      return g_strdup_printf (_ ("%s. %s"), counts, turn);
    }
    if (facts->watch)
      return g_strdup_printf (_ ("Watching “%s”: %s"), facts->watch, counts);
    return left ? g_strdup_printf (_ ("%s, %s left"), counts, left) : g_steal_pointer (&counts);
  case TD_JOB_DONE: return g_steal_pointer (&counts);
  case TD_JOB_CANCELLED: return g_strdup_printf (_ ("Stopped: %s"), counts);
  default:
    if (job_item_count (self, TD_BATCH_FAILED))
      return g_steal_pointer (&counts);
    return g_strdup_printf (_ ("Failed: %s"), self->error);
  }
}

gboolean
td_job_item_is_batch (TdJobItem *self)
{
  return self->facts.scans != NULL;
}

static char *
job_item_progress_text (const TdRemoteFacts *facts)
{
  const guint pass = facts->residuals->len;
  const TdJobProgress progress = {
    .fraction = facts->fraction,
    .elapsed_s = MAX (facts->seconds, 0),
    .remaining_s = facts->left_s,
    .updates_per_s = facts->rate,
    .stage = facts->stage,
    .slices_done = facts->slices_done,
    .n_slices = facts->n_slices,
    .pass = pass,
    .n_passes = facts->n_passes,
    .residual = pass ? g_array_index (facts->residuals, double, pass - 1) : NAN,
  };

  return td_progress_text (&progress);
}

static char *
job_item_own_status (TdJobItem *self)
{
  const TdRemoteFacts *facts = &self->facts;
  g_autofree char *took = td_duration_text (MAX (facts->seconds, 0));

  switch (self->state) {
  case TD_JOB_WAITING: return job_item_wait_text (facts);
  case TD_JOB_RUNNING: return job_item_progress_text (facts);
  case TD_JOB_DONE:
    return g_strdup_printf (
        ngettext ("Done: %u slice in %s", "Done: %u slices in %s", facts->n_slices),
        facts->n_slices, took);
  case TD_JOB_CANCELLED: return g_strdup (_ ("Cancelled; nothing was kept"));
  default: return g_strdup_printf (_ ("Failed: %s"), self->error);
  }
}

static char *
job_item_remote_status (TdJobItem *self)
{
  const TdRemoteFacts *facts = &self->facts;
  g_autofree char *said = td_message_words (facts->stage, td_label_naming);
  const char *stage = said ? said : _ ("starting");
  g_autofree char *left = facts->left_s >= 0 ? td_duration_text (facts->left_s) : NULL;
  g_autofree char *took = td_duration_text (MAX (facts->seconds, 0));
  g_autofree char *why = td_message_words (facts->why, td_label_naming);

  switch (facts->state) {
  case TD_REMOTE_STAGED:
    return g_strdup_printf (_ ("%s: sending the job, %.0f %%"), facts->place,
                            100 * facts->fraction);
  case TD_REMOTE_QUEUED:
    return why ? g_strdup_printf (_ ("%s: in the queue (%s)"), facts->place, why)
               : g_strdup_printf (_ ("%s: in the queue"), facts->place);
  case TD_REMOTE_RUNNING:
    if (why)
      return g_steal_pointer (&why);
    return left ? g_strdup_printf (_ ("%s: %s, %.0f %%, %s left"), facts->place, stage,
                                   100 * facts->fraction, left)
                : g_strdup_printf (_ ("%s: %s, %.0f %%"), facts->place, stage,
                                   100 * facts->fraction);
  case TD_REMOTE_DONE: return g_strdup_printf (_ ("Done in %s, on %s"), took, facts->place);
  case TD_REMOTE_CANCELLED:
    return g_strdup_printf (_ ("Cancelled on %s; no process is left"), facts->place);
  default: return g_strdup_printf (_ ("Failed: %s"), self->error ? self->error : why);
  }
}

TdRemoteJob *
td_job_item_remote (TdJobItem *self)
{
  return self->remote;
}

gboolean
td_job_item_is_old (TdJobItem *self)
{
  return self->is_old;
}

gboolean
td_job_item_is_own (TdJobItem *self)
{
  return self->remote && g_strcmp0 (self->facts.profile, TD_CLUSTER_OWN) == 0;
}

TdJobItem *
td_job_item_new (TdRemoteJob *job, TdRemoteTask task)
{
  TdJobItem *self = g_object_new (TD_TYPE_JOB_ITEM, NULL);

  self->remote = td_remote_job_ref (job);
  self->task = task;
  job_item_take_facts (self);
  if (task == TD_REMOTE_WATCH) {
    self->state = job_item_state_of (self->facts.state);
    self->error = td_message_words (self->facts.why, td_label_naming);
    self->is_old = td_job_item_ended (self);
  }
  return self;
}

void
td_job_item_start (TdJobItem *self)
{
  g_return_if_fail (self->remote && !self->follower);
  self->follower = td_remote_follower_new (self->remote, self->task);
  self->poll = g_timeout_add (REMOTE_POLL_MS, job_item_poll_remote, self);
  job_item_hold (self, self->task != TD_REMOTE_WATCH);
}

void
td_job_item_cancel (TdJobItem *self)
{
  if (!self->follower)
    return;
  td_remote_follower_ask (self->follower, TD_REMOTE_CANCEL);
  g_signal_emit_by_name (self, "changed");
}

gboolean
td_job_item_is_cancelling (TdJobItem *self)
{
  return self->follower && !td_job_item_ended (self)
         && td_remote_follower_was_asked (self->follower, TD_REMOTE_CANCEL);
}

gboolean
td_job_item_can_finish (TdJobItem *self)
{
  const TdRemoteFacts *facts = &self->facts;

  return self->state == TD_JOB_RUNNING && facts->residuals->len > 0
         && facts->residuals->len < facts->n_passes && facts->slices_done == 0;
}

void
td_job_item_finish (TdJobItem *self)
{
  if (self->follower)
    td_remote_follower_ask (self->follower, TD_REMOTE_KEEP);
}

void
td_job_item_go_first (TdJobItem *self)
{
  if (self->follower)
    td_remote_follower_ask (self->follower, TD_REMOTE_GO_FIRST);
}

static void
job_item_forget_in_thread (GTask *task, gpointer source, gpointer job, GCancellable *cancellable)
{
  g_autoptr (GError) error = NULL;

  if (!td_remote_job_forget (job, NULL, &error))
    g_warning ("%s", error->message);
}

void
td_job_item_forget (TdJobItem *self)
{
  if (!td_job_item_is_own (self) || !td_job_item_ended (self))
    return;
  g_autoptr (GTask) task = g_task_new (NULL, NULL, NULL, NULL);
  g_task_set_task_data (task, td_remote_job_ref (self->remote),
                        (GDestroyNotify) td_remote_job_unref);
  g_task_run_in_thread (task, job_item_forget_in_thread);
}

/* ── Telling ── */

TdJobState
td_job_item_state (TdJobItem *self)
{
  return self->state;
}

gboolean
td_job_item_ended (TdJobItem *self)
{
  return self->state != TD_JOB_WAITING && self->state != TD_JOB_RUNNING;
}

const char *
td_job_item_output (TdJobItem *self)
{
  return self->facts.output ? self->facts.output : self->facts.output_there;
}

double
td_job_item_fraction (TdJobItem *self)
{
  return self->state == TD_JOB_DONE ? 1 : CLAMP (self->facts.fraction, 0, 1);
}

static char *
job_item_state_text (TdJobItem *self)
{
  return td_job_item_is_cancelling (self)                    ? g_strdup (_ ("Cancelling"))
         : td_job_item_is_batch (self)                       ? job_item_batch_status (self)
         : self->remote == NULL || td_job_item_is_own (self) ? job_item_own_status (self)
                                                             : job_item_remote_status (self);
}

char *
td_job_item_status (TdJobItem *self)
{
  g_autofree char *refused = self->follower && !td_job_item_ended (self)
                                 ? td_remote_follower_refused (self->follower)
                                 : NULL;
  g_autofree char *why = td_message_words (refused, td_label_naming);
  g_autofree char *state = job_item_state_text (self);

  return why ? g_strdup_printf (_ ("%s. The job goes on as it was: %s"), state, why)
             : g_steal_pointer (&state);
}

const char *
td_job_item_error (TdJobItem *self)
{
  return self->error;
}

TdSliceStore *
td_job_item_slices (TdJobItem *self)
{
  return self->slices;
}

guint
td_job_item_row (TdJobItem *self, guint slice)
{
  return self->facts.first_row + slice * MAX (self->facts.slice_rows, 1);
}

gboolean
td_job_item_recipe (TdJobItem *self, TdRecipe *recipe)
{
  if (!self->remote) {
    *recipe = self->recipe;
    return TRUE;
  }
  return self->facts.recipe && td_recipe_from_json (recipe, self->facts.recipe, NULL);
}

const TdRemoteFacts *
td_job_item_facts (TdJobItem *self)
{
  return &self->facts;
}

/* ── Object ── */

TdJobItem *
td_job_item_new_done (const TdProvenance *provenance)
{
  TdJobItem *self = g_object_new (TD_TYPE_JOB_ITEM, NULL);
  const TdRecipe *recipe = &provenance->recipe;

  self->recipe = *recipe;
  self->facts = (TdRemoteFacts) { .output = g_strdup (provenance->volume),
                                  .title = g_path_get_basename (provenance->volume),
                                  .seconds = provenance->seconds,
                                  .n_slices = provenance->n_slices,
                                  .first_row = recipe->row_first,
                                  .slice_rows = recipe->bin[1],
                                  .pixel_mm = provenance->pixel_mm,
                                  .units = g_strdup (provenance->units) };
  self->state = TD_JOB_DONE;
  /* Nothing is kept here: all slices are on the disk. */
  self->slices = td_slice_store_new (provenance->nx, provenance->ny, provenance->n_slices, 0);
  return self;
}

TdJobItem *
td_job_item_again (TdJobItem *self)
{
  if (!self->remote || !td_job_item_ended (self) || self->state == TD_JOB_DONE)
    return NULL;
  /* One that was never launched has no folder: it is as new. */
  return td_job_item_new (
      self->remote, td_remote_job_was_launched (self->remote) ? TD_REMOTE_AGAIN : TD_REMOTE_SUBMIT);
}

TD_FINALIZE (TdJobItem, td_job_item)
{
  g_clear_handle_id (&self->poll, g_source_remove);
  g_clear_pointer (&self->follower, td_remote_follower_free);
  g_clear_pointer (&self->remote, td_remote_job_unref);
  td_remote_facts_clear (&self->facts);
  g_clear_pointer (&self->slices, td_slice_store_unref);
  g_free (self->error);
}

static void
td_job_item_class_init (TdJobItemClass *class)
{
  G_OBJECT_CLASS (class)->finalize = td_job_item_finalize;
  td_signal_new (class, "changed", 0);
  td_signal_new (class, "slices", 0);
  td_signal_new (class, "ended", 0);
}

static void
td_job_item_init (TdJobItem *self)
{
  self->state = TD_JOB_WAITING;
}
