/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "job-item.h"

#include <glib/gi18n.h>

#include "labels.h"
#include "quantity.h"
#include "ui.h"

#define POLL_MS 120
#define REMOTE_POLL_MS 300

struct _TdJobItem {
  GObject parent_instance;
  TdEngine *engine;
  TdScan *scan; /* let go once the volume is there */
  TdRecipe recipe;
  char *title, *output, *error;
  TdJobState state;
  GCancellable *planning;
  TdJob *job;
  TdJobProgress progress;
  TdSliceStore *slices;
  guint slices_seen, poll;
  guint first_row, slice_rows;
  double pixel_mm;
  char *units;
  char **notes;

  TdRemoteJob *remote; /* NULL: the job runs here */
  TdRemoteTask task;
  TdRemoteFollower *follower;
  TdRemoteFacts facts;
};

enum { CHANGED, SLICES, ENDED, N_SIGNALS };
static guint signals[N_SIGNALS];

G_DEFINE_FINAL_TYPE (TdJobItem, td_job_item, G_TYPE_OBJECT)

/* ── Running ── */

static void
job_item_end (TdJobItem *self, TdJobState state, const char *error)
{
  if (self->poll)
    g_source_remove (self->poll);
  self->poll = 0;
  self->state = state;
  g_free (self->error);
  self->error = g_strdup (error);
  if (state == TD_JOB_DONE)
    g_clear_pointer (&self->scan, td_scan_unref);
  g_signal_emit (self, signals[CHANGED], 0);
  g_signal_emit (self, signals[ENDED], 0);
}

/* The program stays until a cancelled job has removed what it wrote, windows or not. */
static void
hold_program (gboolean hold)
{
  GApplication *application = g_application_get_default ();

  if (application && hold)
    g_application_hold (application);
  else if (application)
    g_application_release (application);
}

static void
job_item_end_with (TdJobItem *self, const GError *error)
{
  if (!error)
    job_item_end (self, TD_JOB_DONE, NULL);
  else if (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
    job_item_end (self, TD_JOB_CANCELLED, NULL);
  else {
    g_autofree char *words = td_label_error (error);
    job_item_end (self, TD_JOB_FAILED, words);
  }
}

static gboolean
poll_progress (gpointer user)
{
  TdJobItem *self = user;

  td_job_progress (self->job, &self->progress);
  g_signal_emit (self, signals[CHANGED], 0);
  if (self->progress.slices_done != self->slices_seen) {
    self->slices_seen = self->progress.slices_done;
    g_signal_emit (self, signals[SLICES], 0);
  }
  return G_SOURCE_CONTINUE;
}

/* The job's threads. */
static void
on_slices (guint first, guint count, const float *slices, gpointer user)
{
  td_slice_store_put (user, first, count, slices);
}

static void
job_item_on_done (TdJob *job, const GError *error, gpointer user)
{
  TdJobItem *self = user;

  td_job_progress (job, &self->progress);
  if (!error)
    self->notes = td_messages_texts (td_job_result (job)->notes, td_label_naming);
  g_signal_emit (self, signals[SLICES], 0);
  job_item_end_with (self, error);
  g_clear_pointer (&self->job, td_job_unref);
  hold_program (FALSE);
  g_object_unref (self);
}

static void
plan_in_thread (GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
  TdJobItem *self = source;
  GError *error = NULL;
  TdPlan *plan
      = td_plan_new (self->engine, self->scan, &self->recipe, self->output, cancellable, &error);

  if (plan)
    g_task_return_pointer (task, plan, (GDestroyNotify) td_plan_unref);
  else
    g_task_return_error (task, error);
}

static void
on_planned (GObject *source, GAsyncResult *result, gpointer user)
{
  TdJobItem *self = TD_JOB_ITEM (source);
  g_autoptr (GError) error = NULL;
  g_autoptr (TdPlan) plan = g_task_propagate_pointer (G_TASK (result), &error);

  if (!plan) {
    job_item_end_with (self, error);
    hold_program (FALSE);
    return;
  }
  const TdPlanFacts *facts = td_plan_facts (plan);
  self->first_row = facts->first_row;
  self->slice_rows = facts->slice_rows;
  self->pixel_mm = facts->pixel_mm;
  self->units = g_strdup (facts->units);
  self->slices = td_slice_store_new (facts->nx, facts->ny, facts->n_slices, TD_SLICE_STORE_BYTES);
  self->job = td_job_new (plan);
  td_job_set_sink (self->job, on_slices, self->slices);
  self->poll = g_timeout_add (POLL_MS, poll_progress, self);
  td_job_start (self->job, job_item_on_done, g_object_ref (self));
}

/* ── Running elsewhere ── */

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
  g_free (self->title);
  g_free (self->output);
  g_free (self->units);
  g_strfreev (self->notes);
  self->title = g_strdup (self->facts.title);
  self->output = g_strdup (self->facts.output ? self->facts.output : self->facts.output_there);
  self->units = g_strdup (self->facts.units);
  self->notes = g_strdupv (self->facts.notes);
  self->first_row = self->facts.first_row;
  self->slice_rows = 1;
  self->pixel_mm = self->facts.pixel_mm;
  self->progress.fraction = self->facts.fraction;
}

static gboolean
job_item_poll_remote (gpointer user)
{
  TdJobItem *self = user;
  g_autofree char *problem = NULL;
  const gboolean over = td_remote_follower_is_over (self->follower, &problem);

  job_item_take_facts (self);
  if (!self->slices)
    self->slices = td_remote_follower_slices (self->follower);
  const TdJobState state = job_item_state_of (self->facts.state);
  if (over && td_job_item_ended (self)) { /* it had ended when it was found */
    self->poll = 0;
    g_signal_emit (self, signals[CHANGED], 0);
    return G_SOURCE_REMOVE;
  }
  if (over) {
    /* A volume that could not be brought here is as good as none. */
    const gboolean cancelled = state == TD_JOB_CANCELLED;
    const TdJobState end = problem && state == TD_JOB_DONE ? TD_JOB_FAILED : state;
    job_item_end (self, end == TD_JOB_WAITING ? TD_JOB_CANCELLED : end,
                  problem     ? problem
                  : cancelled ? NULL
                              : self->facts.why);
    return G_SOURCE_REMOVE;
  }
  if (!td_job_item_ended (self))
    self->state = state == TD_JOB_RUNNING ? TD_JOB_RUNNING : TD_JOB_WAITING;
  g_signal_emit (self, signals[CHANGED], 0);
  g_signal_emit (self, signals[SLICES], 0);
  return G_SOURCE_CONTINUE;
}

static char *
job_item_remote_status (TdJobItem *self)
{
  const TdRemoteFacts *facts = &self->facts;
  const char *stage = facts->stage ? facts->stage : _ ("starting");
  g_autofree char *left = facts->left_s >= 0 ? td_duration_text (facts->left_s) : NULL;
  g_autofree char *took = td_duration_text (MAX (facts->seconds, 0));

  switch (facts->state) {
  case TD_REMOTE_STAGED:
    return g_strdup_printf (_ ("%s: sending the job, %.0f %%"), facts->place,
                            100 * facts->fraction);
  case TD_REMOTE_QUEUED:
    return facts->why ? g_strdup_printf (_ ("%s: in the queue (%s)"), facts->place, facts->why)
                      : g_strdup_printf (_ ("%s: in the queue"), facts->place);
  case TD_REMOTE_RUNNING:
    if (facts->why)
      return g_strdup (facts->why);
    return left ? g_strdup_printf (_ ("%s: %s, %.0f %%, %s left"), facts->place, stage,
                                   100 * facts->fraction, left)
                : g_strdup_printf (_ ("%s: %s, %.0f %%"), facts->place, stage,
                                   100 * facts->fraction);
  case TD_REMOTE_DONE: return g_strdup_printf (_ ("Done in %s, on %s"), took, facts->place);
  case TD_REMOTE_CANCELLED:
    return g_strdup_printf (_ ("Cancelled on %s; no process is left"), facts->place);
  default: return g_strdup_printf (_ ("Failed: %s"), self->error ? self->error : facts->why);
  }
}

static void
job_item_start_remote (TdJobItem *self)
{
  self->follower = td_remote_follower_new (self->remote, self->task);
  self->poll = g_timeout_add (REMOTE_POLL_MS, job_item_poll_remote, self);
}

TdRemoteJob *
td_job_item_remote (TdJobItem *self)
{
  return self->remote;
}

TdJobItem *
td_job_item_new_remote (TdRemoteJob *job, TdRemoteTask task)
{
  TdJobItem *self = g_object_new (TD_TYPE_JOB_ITEM, NULL);

  self->remote = td_remote_job_ref (job);
  self->task = task;
  job_item_take_facts (self);
  if (task == TD_REMOTE_WATCH) {
    self->state = job_item_state_of (self->facts.state);
    self->error = g_strdup (self->facts.why);
  }
  return self;
}

void
td_job_item_start (TdJobItem *self)
{
  if (self->remote) {
    job_item_start_remote (self);
    return;
  }
  g_return_if_fail (self->state == TD_JOB_WAITING);
  self->state = TD_JOB_RUNNING;
  self->progress.remaining_s = -1;
  self->planning = g_cancellable_new ();
  hold_program (TRUE);
  g_autoptr (GTask) task = g_task_new (self, self->planning, on_planned, NULL);
  g_task_run_in_thread (task, plan_in_thread);
  g_signal_emit (self, signals[CHANGED], 0);
}

void
td_job_item_cancel (TdJobItem *self)
{
  if (self->follower)
    td_remote_follower_cancel_job (self->follower);
  else if (self->state == TD_JOB_WAITING)
    job_item_end (self, TD_JOB_CANCELLED, NULL);
  else if (self->job)
    td_job_cancel (self->job);
  else if (self->planning)
    g_cancellable_cancel (self->planning);
}

gboolean
td_job_item_can_finish (TdJobItem *self)
{
  return self->state == TD_JOB_RUNNING && self->progress.pass > 0
         && self->progress.pass < self->progress.n_passes && self->progress.slices_done == 0;
}

void
td_job_item_finish (TdJobItem *self)
{
  if (self->job)
    td_job_finish_early (self->job);
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
td_job_item_title (TdJobItem *self)
{
  return self->title;
}

const char *
td_job_item_output (TdJobItem *self)
{
  return self->output;
}

double
td_job_item_fraction (TdJobItem *self)
{
  return self->state == TD_JOB_DONE ? 1 : CLAMP (self->progress.fraction, 0, 1);
}

char *
td_job_item_status (TdJobItem *self)
{
  g_autofree char *took = td_duration_text (self->progress.elapsed_s);

  if (self->remote)
    return job_item_remote_status (self);
  switch (self->state) {
  case TD_JOB_WAITING: return g_strdup (_ ("Waiting"));
  case TD_JOB_RUNNING: return td_progress_text (&self->progress);
  case TD_JOB_DONE:
    return g_strdup_printf (
        ngettext ("Done: %u slice in %s", "Done: %u slices in %s", self->progress.n_slices),
        self->progress.n_slices, took);
  case TD_JOB_CANCELLED: return g_strdup (_ ("Cancelled; nothing was kept"));
  default: return g_strdup_printf (_ ("Failed: %s"), self->error);
  }
}

const char *
td_job_item_error (TdJobItem *self)
{
  return self->error;
}

const char *const *
td_job_item_notes (TdJobItem *self)
{
  return self->notes && self->notes[0] ? (const char *const *) self->notes : NULL;
}

TdSliceStore *
td_job_item_slices (TdJobItem *self)
{
  return self->slices;
}

guint
td_job_item_row (TdJobItem *self, guint slice)
{
  return self->first_row + slice * self->slice_rows;
}

double
td_job_item_pixel_mm (TdJobItem *self)
{
  return self->pixel_mm;
}

const char *
td_job_item_units (TdJobItem *self)
{
  return self->units ? self->units : "";
}

/* ── Object ── */

TdJobItem *
td_job_item_new_done (const TdProvenance *provenance)
{
  TdJobItem *self = g_object_new (TD_TYPE_JOB_ITEM, NULL);
  const TdRecipe *recipe = &provenance->recipe;

  self->recipe = *recipe;
  self->output = g_strdup (provenance->volume);
  self->title = g_path_get_basename (provenance->volume);
  self->state = TD_JOB_DONE;
  /* Nothing is kept here: all slices are on the disk. */
  self->slices = td_slice_store_new (provenance->nx, provenance->ny, provenance->n_slices, 0);
  self->progress = (TdJobProgress) { .fraction = 1,
                                     .slices_done = provenance->n_slices,
                                     .n_slices = provenance->n_slices,
                                     .elapsed_s = provenance->seconds };
  self->first_row = recipe->row_first;
  self->slice_rows = MAX (recipe->bin[1], 1);
  self->pixel_mm = provenance->pixel_mm;
  self->units = g_strdup (provenance->units);
  return self;
}

TdJobItem *
td_job_item_new (TdEngine *engine, TdScan *scan, const TdRecipe *recipe, const char *output)
{
  TdJobItem *self = g_object_new (TD_TYPE_JOB_ITEM, NULL);

  self->engine = td_engine_ref (engine);
  self->scan = td_scan_ref (scan);
  self->recipe = *recipe;
  self->output = g_strdup (output);
  self->title = g_path_get_basename (output);
  return self;
}

TdJobItem *
td_job_item_again (TdJobItem *self)
{
  if (self->remote && td_job_item_ended (self) && self->state != TD_JOB_DONE
      && td_remote_job_was_launched (self->remote))
    return td_job_item_new_remote (self->remote, TD_REMOTE_AGAIN);
  if (!td_job_item_ended (self) || !self->scan)
    return NULL;
  return td_job_item_new (self->engine, self->scan, &self->recipe, self->output);
}

static void
td_job_item_finalize (GObject *object)
{
  TdJobItem *self = TD_JOB_ITEM (object);

  if (self->poll)
    g_source_remove (self->poll);
  g_clear_pointer (&self->follower, td_remote_follower_free);
  g_clear_pointer (&self->remote, td_remote_job_unref);
  td_remote_facts_clear (&self->facts);
  g_clear_pointer (&self->job, td_job_unref);
  g_clear_pointer (&self->slices, td_slice_store_unref);
  g_clear_pointer (&self->scan, td_scan_unref);
  g_clear_pointer (&self->engine, td_engine_unref);
  g_clear_object (&self->planning);
  g_free (self->title);
  g_free (self->output);
  g_free (self->error);
  g_free (self->units);
  g_strfreev (self->notes);
  G_OBJECT_CLASS (td_job_item_parent_class)->finalize (object);
}

static void
td_job_item_class_init (TdJobItemClass *class)
{
  static const char *const names[N_SIGNALS] = { "changed", "slices", "ended" };

  G_OBJECT_CLASS (class)->finalize = td_job_item_finalize;
  for (guint i = 0; i < N_SIGNALS; i++)
    signals[i] = td_signal_new (TD_TYPE_JOB_ITEM, names[i], 0);
}

static void
td_job_item_init (TdJobItem *self)
{
  self->state = TD_JOB_WAITING;
}
