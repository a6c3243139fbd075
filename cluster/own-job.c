/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "own-job.h"

#include <errno.h>
#include <fcntl.h>
#include <gio/gio.h>
#include <glib-unix.h>
#include <glib/gi18n.h>
#include <glib/gstdio.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include "compute/engine/job.h"
#include "compute/methods/methods.h"
#include "compute/recipe/json.h"
#include "dataset/json-walk.h"
#include "dataset/message.h"
#include "dataset/number.h"
#include "dataset/output.h"
#include "dataset/text-file.h"
#include "dataset/tiff-save.h"
#include "arrivals.h"
#include "batch.h"
#include "events.h"
#include "job-file.h"
#include "worker.h"

#define LOOK_MS 200                  /* at the flags */
#define TURN_US (G_USEC_PER_SEC / 5) /* a look at whose turn it is */
#define TELL_LOOKS 2                 /* progress is told after so many looks */
#define WATCH_US (G_USEC_PER_SEC / 2)
#define MOST_RECALLED_BYTES (64 << 20)
/* Slices to look at before the volume is there: so often, and so much of the disk. */
#define SLICE_US (G_USEC_PER_SEC / 2)
#define SLICES_BYTES ((guint64) 512 << 20)
#define SLICES "slices"
/* Who waited for less has not gone away. */
#define NOTIFY_US (20 * G_USEC_PER_SEC)
#define NOTIFY_LIMIT_MS 2000
#define GIVES_WAY 10 /* nice; threads of the window that compute have 5 */
#define NICE_TRIES 20
#define NICE_US 50000

typedef struct {
  const char *folder;
  TdJobFile file;
  TdEvents *events;
  GCancellable *cancellable;
  GMainLoop *loop;
  TdEngine *engine;
  TdScan *scan;
  TdPlan *plan;
  GMutex lock; /* job, and the batch's numbers: the main thread looks, and tells of them */
  TdJob *job;
  GError *error;
  guint looks;
  gint64 began_us;
  const char *stage;
  gboolean from_outside; /* a signal came without the flag "cancel" */

  /* Of a batch. */
  guint index, n_rows, n_ended, n_failed, n_timed; /* n_rows 0: nobody knows */
  double timed_s;
  GHashTable *recalled; /* path → TdBatchRow: as an earlier run wrote it */
  gboolean started;

  /* The job's writing thread alone uses these. */
  gint64 shown_us;
  guint shown_passes[3]; /* whose estimates are there, the oldest first; 0: none */
  guint64 shown_bytes;
} OwnJob;

/* ── Turns ── */

/**
 * Whose turn it is among the jobs of this computer. One job runs at a time, in the order of their
 * places. Locks on files say which job waits and which runs, so that a process that dies leaves
 * nothing behind. Any thread.
 *
 * Beside the jobs' folders lie "turn", which the running job has locked, and "pause", with which no
 * other begins. In a job's folder lie "waiting", locked while the job waits, and "place", a number
 * for the order. A job without the number has place 0. Of equal places the older id goes first.
 */

/* The file, locked by this process; -1 with errno. @how: LOCK_NB for EWOULDBLOCK if another has the
   lock, or 0 to wait for it. */
static int
own_turn_lock (const char *path, int flags, int how)
{
  const int file = open (path, O_RDWR | O_CLOEXEC | flags, 0600);

  if (file < 0)
    return -1;
  if (flock (file, LOCK_EX | how) == 0)
    return file;
  const int reason = errno;
  close (file);
  errno = reason;
  return -1;
}

static gint64
own_turn_place (const char *folder)
{
  g_autofree char *path = g_build_filename (folder, "place", NULL);
  g_autofree char *text = NULL;
  gint64 place = 0;

  if (g_file_get_contents (path, &text, NULL, NULL))
    td_parse_integer (g_strchomp (text), -G_MAXINT, G_MAXINT, &place);
  return place;
}

/* Whether the job in @folder waits: its process holds the lock. */
static gboolean
own_turn_waits (const char *folder)
{
  g_autofree char *path = g_build_filename (folder, "waiting", NULL);
  const int file = own_turn_lock (path, 0, LOCK_NB);

  if (file >= 0)
    close (file);
  return file < 0 && errno == EWOULDBLOCK;
}

/* The jobs that wait and go before this one. */
static guint
own_turn_ahead (const char *root, const char *folder)
{
  g_autofree char *own = g_path_get_basename (folder);
  const gint64 place = own_turn_place (folder);
  g_autoptr (GDir) dir = g_dir_open (root, 0, NULL);
  const char *name;
  guint ahead = 0;

  while (dir && (name = g_dir_read_name (dir))) {
    g_autofree char *other = g_build_filename (root, name, NULL);
    if (g_str_equal (name, own) || !own_turn_waits (other))
      continue;
    const gint64 others = own_turn_place (other);
    ahead += others < place || (others == place && strcmp (name, own) < 0);
  }
  return ahead;
}

static void
own_turn_tell (OwnJob *self, guint ahead, gboolean paused)
{
  JsonBuilder *builder = td_events_begin (self->events, "queue");

  td_json_add_integer (builder, "ahead", ahead);
  td_json_add_boolean (builder, "paused", paused);
  td_events_end (self->events);
}

/* Waits until it is the job's turn: "turn", locked, until it is closed. -1 with @error: cancelled,
   or the folder cannot be written. */
static int
own_turn_take (OwnJob *self, GError **error)
{
  const char *folder = self->folder;
  g_autofree char *root = g_path_get_dirname (folder);
  g_autofree char *turn = g_build_filename (root, "turn", NULL);
  g_autofree char *pause = g_build_filename (root, "pause", NULL);
  g_autofree char *waiting = g_build_filename (folder, "waiting", NULL);
  /* Others have this lock for a moment when they look who waits. */
  const int own = own_turn_lock (waiting, O_CREAT, 0);
  guint told = G_MAXUINT;
  int file = -1;

  if (own < 0) {
    td_output_set_error (error, waiting, errno);
    return -1;
  }
  while (file < 0 && !g_cancellable_set_error_if_cancelled (self->cancellable, error)) {
    const gboolean paused = g_file_test (pause, G_FILE_TEST_EXISTS);
    const guint ahead = own_turn_ahead (root, folder);

    if (!g_file_test (waiting, G_FILE_TEST_EXISTS)) {
      td_set_error (error, TD_ERROR_NOT_FOUND, "the job's folder %s is gone", folder);
      break;
    }
    if (ahead == 0 && !paused)
      file = own_turn_lock (turn, O_CREAT, LOCK_NB);
    if (file < 0 && !paused && ahead == 0 && errno != EWOULDBLOCK) {
      td_output_set_error (error, turn, errno);
      break;
    }
    if (file >= 0)
      break;
    if (told != 2 * ahead + paused)
      own_turn_tell (self, ahead, paused);
    told = 2 * ahead + paused;
    g_usleep (TURN_US);
  }
  g_unlink (waiting);
  close (own);
  return file;
}

/* ── Telling ── */

static void
own_job_tell_notes (OwnJob *self, TdMessage *const *notes)
{
  for (guint i = 0; notes && notes[i]; i++) {
    g_autofree char *note = td_message_pack (notes[i]);
    JsonBuilder *builder = td_events_begin (self->events, "note");
    td_events_add_message (builder, note);
    td_events_end (self->events);
  }
}

static void
own_job_tell_start (OwnJob *self)
{
  const TdPlanFacts *facts = td_plan_facts (self->plan);
  g_autofree char *devices = g_strjoinv (", ", facts->devices);
  JsonBuilder *builder = td_events_begin (self->events, "start");

  td_json_add_integer (builder, "ranks", 1);
  td_events_add_volume (builder, facts);
  td_events_end (self->events);
  builder = td_events_begin (self->events, "rank");
  td_json_add_integer (builder, "rank", 0);
  td_json_add_string (builder, "node", g_get_host_name ());
  td_json_add_string (builder, "device", devices);
  td_json_add_string (builder, "kernel", facts->family);
  td_events_end (self->events);
  own_job_tell_notes (self, facts->notes);
}

static void
own_job_add_passes (TdJob *job, guint n_passes, JsonBuilder *builder)
{
  td_json_add_integer (builder, "passes", n_passes);
  td_json_begin_list (builder, "residuals");
  g_autoptr (GArray) passes = td_job_passes_so_far (job);
  for (guint i = 0; i < passes->len; i++)
    json_builder_add_double_value (builder, g_array_index (passes, TdJobPass, i).residual);
  json_builder_end_array (builder);
}

/* For a batch: scans that wait will take what the computed ones took. */
static double
own_job_left_s (const OwnJob *self, const TdJobProgress *progress)
{
  const guint more = self->n_rows - MIN (self->n_ended + 1, self->n_rows);

  if (progress->remaining_s < 0 || self->n_rows == 0 || (more && !self->n_timed))
    return NAN;
  return progress->remaining_s + (more ? more * self->timed_s / self->n_timed : 0);
}

static void
own_job_tell_progress (OwnJob *self, TdJob *job)
{
  const gboolean is_batch = td_job_file_is_batch (&self->file);
  TdJobProgress progress;

  td_job_progress (job, &progress);
  g_autoptr (GMutexLocker) locked = g_mutex_locker_new (&self->lock);
  if (self->job != job) /* it has ended meanwhile, and another one may run */
    return;
  self->stage = progress.stage;
  const double total = is_batch ? self->n_rows : 1;
  const double done = is_batch ? self->n_ended + progress.fraction : progress.fraction;
  const double left_s = is_batch                   ? own_job_left_s (self, &progress)
                        : progress.remaining_s < 0 ? NAN
                                                   : progress.remaining_s;
  JsonBuilder *builder = td_events_begin (self->events, "progress");
  td_json_add_string (builder, "stage", progress.stage);
  td_json_add_number (builder, "done", done);
  td_json_add_number (builder, "total", total);
  td_json_add_string (builder, "unit", "updates");
  td_json_add_number (builder, "rate", progress.updates_per_s);
  td_json_add_number (builder, "left_s", left_s);
  if (is_batch) {
    td_json_add_integer (builder, "scan", self->index);
    td_json_add_number (builder, "scan_done", progress.fraction);
  } else {
    td_json_add_integer (builder, "slices_done", progress.slices_done);
    if (progress.n_passes > 0)
      own_job_add_passes (job, progress.n_passes, builder);
  }
  td_events_end (self->events);
}

static void
own_job_tell_done (OwnJob *self)
{
  const TdJobResult *result = td_job_file_is_batch (&self->file) ? NULL : td_job_result (self->job);

  if (!result) {
    JsonBuilder *ended = td_events_begin (self->events, "done");
    td_json_add_string (ended, "output", self->file.output);
    td_events_end (self->events);
    return;
  }
  own_job_tell_progress (self, self->job);
  own_job_tell_notes (self, result->notes);
  JsonBuilder *builder = td_events_begin (self->events, "done");
  td_json_add_string (builder, "output", result->output);
  td_json_add_number (builder, "seconds", result->seconds);
  td_json_add_number (builder, "centre_px", result->centre_px);
  td_json_begin_object (builder, "stages");
  for (guint i = 0; i < result->n_stages; i++)
    td_json_add_number (builder, result->stages[i].name, result->stages[i].seconds);
  json_builder_end_object (builder);
  td_json_add_integer (builder, "peak_bytes", result->host_peak_bytes);
  td_events_end (self->events);
}

static void
own_job_tell_failed (OwnJob *self, const GError *error)
{
  g_autofree char *said = td_error_pack (error);
  g_autofree char *words = td_error_text (error, NULL);
  JsonBuilder *builder = td_events_begin (self->events, "failed");

  td_json_add_string (builder, "stage", self->stage);
  td_events_add_message (builder, said);
  td_events_end (self->events);
  fprintf (stderr, "tomodesk-cli: %s\n", words);
}

/* ── Slices to look at ── */

static void
own_job_show (OwnJob *self, guint index, guint pass, const float *slice)
{
  const TdPlanFacts *facts = td_plan_facts (self->plan);
  g_autofree char *name = pass ? g_strdup_printf (SLICES "/%06u-pass-%u.tif", index, pass)
                               : g_strdup_printf (SLICES "/%06u.tif", index);
  g_autofree char *path = g_build_filename (self->folder, name, NULL);
  const TdTiffImage image = { facts->nx, facts->ny, TD_SAMPLE_FLOAT32, facts->pixel_mm, NULL };

  /* A job does not fail for want of a picture. */
  if (!td_tiff_save_single (path, name, &image, slice, NULL))
    return;
  JsonBuilder *builder = td_events_begin (self->events, "slice");
  td_json_add_integer (builder, "index", index);
  td_json_add_string (builder, "path", name);
  if (pass)
    td_json_add_integer (builder, "pass", pass);
  td_events_end (self->events);
}

/* The middle slice always, the others now and then. */
static void
own_job_on_slices (guint first, guint count, const float *slices, gpointer user)
{
  OwnJob *self = user;
  const TdPlanFacts *facts = td_plan_facts (self->plan);
  const gsize slice = (gsize) facts->nx * facts->ny;
  const guint middle = facts->n_slices / 2;
  const gint64 now = g_get_monotonic_time ();
  const gboolean has_middle = first <= middle && middle < first + count;

  if (!has_middle
      && (now - self->shown_us < SLICE_US
          || self->shown_bytes + slice * sizeof *slices > SLICES_BYTES))
    return;
  self->shown_us = now;
  self->shown_bytes += slice * sizeof *slices;
  const guint index = has_middle ? middle : first;
  own_job_show (self, index, 0, slices + (index - first) * slice);
}

/* Some a second at the most: a pass may be quicker than who follows the job looks. Three stay, so
   that the one that was read of is still there. */
static void
own_job_on_estimate (guint slice, guint pass, const float *pixels, gpointer user)
{
  OwnJob *self = user;
  const gint64 now = g_get_monotonic_time ();
  guint *shown = self->shown_passes;

  if (self->shown_us > 0 && now - self->shown_us < SLICE_US)
    return;
  self->shown_us = now;
  g_autofree char *old = g_strdup_printf ("%06u-pass-%u.tif", slice, shown[0]);
  g_autofree char *path = g_build_filename (self->folder, SLICES, old, NULL);
  own_job_show (self, slice, pass, pixels);
  if (shown[0])
    g_unlink (path);
  shown[0] = shown[1];
  shown[1] = shown[2];
  shown[2] = pass;
}

/* Of an earlier run, or of this one but for the last, which stays as the job's picture. */
static void
own_job_remove_slices (const OwnJob *self, const char *but)
{
  g_autofree char *folder = g_build_filename (self->folder, SLICES, NULL);
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  const char *name;

  while (dir && (name = g_dir_read_name (dir))) {
    g_autofree char *path = g_build_filename (folder, name, NULL);
    if (g_strcmp0 (name, but) != 0)
      g_unlink (path);
  }
}

/* ── Running ── */

/* (transfer full); NULL: nothing is computed now. */
static TdJob *
own_job_present (OwnJob *self)
{
  g_mutex_lock (&self->lock);
  TdJob *job = self->job ? td_job_ref (self->job) : NULL;
  g_mutex_unlock (&self->lock);
  return job;
}

/* Takes @job. */
static void
own_job_set_present (OwnJob *self, TdJob *job)
{
  g_mutex_lock (&self->lock);
  g_clear_pointer (&self->job, td_job_unref);
  self->job = job;
  g_mutex_unlock (&self->lock);
}

static gboolean
own_job_look (gpointer user)
{
  OwnJob *self = user;

  if (td_job_is_cancelled (self->folder))
    g_cancellable_cancel (self->cancellable);
  g_autoptr (TdJob) job = own_job_present (self);
  if (!job)
    return G_SOURCE_CONTINUE;
  g_autofree char *keep = g_build_filename (self->folder, "keep", NULL);
  if (g_file_test (keep, G_FILE_TEST_EXISTS))
    td_job_finish_early (job);
  if (++self->looks % TELL_LOOKS == 0)
    own_job_tell_progress (self, job);
  return G_SOURCE_CONTINUE;
}

static gboolean
own_job_on_signal (gpointer user)
{
  OwnJob *self = user;

  self->from_outside = !td_job_is_cancelled (self->folder);
  g_cancellable_cancel (self->cancellable);
  return G_SOURCE_CONTINUE;
}

/* Whatever else computes goes first. A session has a share of its own where the kernel groups
   processes by sessions, and its priority is that of the group. A job that was launched has one for
   itself; who starts one by hand keeps the terminal's. */
static void
own_job_give_way (void)
{
  const char *asked = g_getenv ("TOMODESK_JOB_NICE"); /* tests on a busy machine */
  const char *text = asked ? asked : G_STRINGIFY (GIVES_WAY);
  const int file
      = g_getenv ("TOMODESK_JOB") ? open ("/proc/self/autogroup", O_WRONLY | O_CLOEXEC) : -1;

  if (setpriority (PRIO_PROCESS, 0, atoi (text)) != 0)
    g_debug ("the job keeps its priority");
  if (file < 0)
    return;
  /* The kernel takes ten such wishes a second, of all sessions together. */
  gssize taken;
  guint tries = 0;
  while ((taken = write (file, text, strlen (text))) < 0 && errno == EAGAIN && tries++ < NICE_TRIES)
    g_usleep (NICE_US);
  if (taken < 0)
    g_debug ("the job's session keeps its priority");
  close (file);
}

static gboolean
own_job_plan (OwnJob *self, GError **error)
{
  self->stage = N_ ("opening the scan");
  self->scan = td_job_file_open_scan (&self->file, self->cancellable, error);
  if (!self->scan)
    return FALSE;
  self->stage = N_ ("planning");
  self->engine = td_engine_new (td_methods);
  self->plan = td_plan_new (self->engine, self->scan, &self->file.recipe, self->file.output,
                            self->cancellable, error);
  return self->plan != NULL;
}

static gboolean
own_job_carry_out (OwnJob *self, GError **error)
{
  g_autofree char *slices = g_build_filename (self->folder, SLICES, NULL);

  if (g_mkdir_with_parents (slices, 0700) == 0)
    own_job_remove_slices (self, NULL);
  own_job_tell_start (self);
  self->stage = N_ ("reading");
  TdJob *job = td_job_new (self->plan);
  td_job_set_overwrite (job, self->file.overwrite);
  td_job_set_sink (job, own_job_on_slices, self);
  td_job_set_estimate_sink (job, own_job_on_estimate, self);
  own_job_set_present (self, job);
  const gboolean ok = td_job_run (job, self->cancellable, error);
  g_autofree char *middle = g_strdup_printf ("%06u.tif", td_plan_facts (self->plan)->n_slices / 2);
  own_job_remove_slices (self, middle);
  return ok;
}

static gboolean
own_job_run (OwnJob *self, GError **error)
{
  const int turn = own_turn_take (self, error);
  const gboolean ok = turn >= 0 && own_job_plan (self, error) && own_job_carry_out (self, error);

  if (turn >= 0)
    close (turn);
  return ok;
}

/* ── Batches ── */

static void
own_batch_tell_row (OwnJob *self, guint index, const TdBatchRow *row)
{
  JsonBuilder *builder = td_events_begin (self->events, "scan");

  td_json_add_integer (builder, "index", index);
  td_batch_row_add_json (row, builder);
  td_events_end (self->events);
}

static void
own_batch_tell_start (OwnJob *self)
{
  if (self->started)
    return;
  self->started = TRUE;
  JsonBuilder *builder = td_events_begin (self->events, "start");
  td_json_add_integer (builder, "ranks", 1);
  td_events_end (self->events);
}

static void
own_batch_tell_stage (OwnJob *self, const char *stage)
{
  self->stage = stage;
  JsonBuilder *builder = td_events_begin (self->events, "progress");
  td_json_add_string (builder, "stage", self->stage);
  td_json_add_number (builder, "done", self->n_ended);
  td_json_add_number (builder, "total", self->n_rows);
  td_events_end (self->events);
}

static void
own_batch_on_search (gpointer user)
{
  own_batch_tell_stage (user, N_ ("finding the axis"));
}

static gboolean
own_batch_run_job (TdJob *job, gpointer user, GError **error)
{
  OwnJob *self = user;

  own_job_set_present (self, td_job_ref (job));
  const gboolean ok = td_job_run (job, self->cancellable, error);
  own_job_set_present (self, NULL);
  return ok;
}

/* The axis of a volume that an earlier run of this batch wrote. */
static void
own_batch_recall_axis (OwnJob *self, TdBatchRow *row)
{
  const TdBatchRow *old = g_hash_table_lookup (self->recalled, row->path);

  if (row->state != TD_BATCH_THERE || !old || g_strcmp0 (old->output, row->output) != 0)
    return;
  row->centre_px = old->centre_px;
  row->sigma_px = old->sigma_px;
  row->searched = old->searched;
  row->agreed = old->agreed;
}

static void
own_batch_count (OwnJob *self, const TdBatchRow *row)
{
  g_mutex_lock (&self->lock);
  self->n_ended++;
  self->n_failed += row->state == TD_BATCH_FAILED;
  if (row->state == TD_BATCH_WRITTEN) {
    self->timed_s += row->seconds;
    self->n_timed++;
  }
  g_mutex_unlock (&self->lock);
}

/* One scan, when it is this job's turn. FALSE: the batch ends; a scan that fails does not end it.
 */
static gboolean
own_batch_do (OwnJob *self, const TdScanOptions *options, TdBatchRow *row, guint index,
              GError **error)
{
  const TdBatchWork work = { .engine = self->engine,
                             .options = options,
                             .recipe = &self->file.recipe,
                             .overwrite = self->file.overwrite,
                             .searches = own_batch_on_search,
                             .run = own_batch_run_job,
                             .user = self };
  g_autoptr (GError) reason = NULL;

  self->stage = N_ ("waiting");
  const int turn = own_turn_take (self, error);
  if (turn < 0)
    return FALSE;
  own_batch_tell_start (self);
  g_mutex_lock (&self->lock);
  self->index = index;
  g_mutex_unlock (&self->lock);
  row->state = TD_BATCH_RUNNING;
  own_batch_tell_row (self, index, row);
  self->stage = N_ ("opening the scan");
  td_batch_do (&work, row, self->cancellable, &reason);
  if (row->state == TD_BATCH_FAILED)
    row->why = td_error_pack (reason);
  own_batch_recall_axis (self, row);
  own_batch_count (self, row);
  own_batch_tell_row (self, index, row);
  close (turn);
  return !g_cancellable_set_error_if_cancelled (self->cancellable, error);
}

static gboolean
own_batch_run_scans (OwnJob *self, const TdScanOptions *options, GError **error)
{
  g_autoptr (GPtrArray) rows = g_ptr_array_new_with_free_func ((GDestroyNotify) td_batch_row_free);
  g_auto (GStrv) outputs
      = td_batch_outputs ((const char *const *) self->file.batch.scans, self->file.output,
                          self->file.recipe.output_format, error);

  if (!outputs)
    return FALSE;
  for (guint i = 0; outputs[i]; i++) {
    g_ptr_array_add (rows, td_batch_row_new (self->file.batch.scans[i], outputs[i]));
    own_batch_tell_row (self, i, rows->pdata[i]);
  }
  self->n_rows = rows->len;
  for (guint i = 0; i < rows->len; i++)
    if (!own_batch_do (self, options, rows->pdata[i], i, error))
      return FALSE;
  if (self->n_failed == 0)
    return TRUE;
  if (self->n_failed == self->n_rows)
    return td_set_error (error, TD_ERROR_BAD_FILE, "No scan of %u could be reconstructed",
                         self->n_rows);
  return td_set_error (error, TD_ERROR_BAD_FILE, "%u of %u scans failed; the others are written",
                       self->n_failed, self->n_rows);
}

/* What came since the last look. */
static gboolean
own_batch_run_arrivals (OwnJob *self, const TdScanOptions *options, TdArrivals *arrivals, guint *n,
                        GError **error)
{
  g_auto (GStrv) paths = td_arrivals_look (arrivals, NULL, error);

  if (!paths)
    return FALSE;
  for (guint i = 0; td_arrivals_passed (arrivals)[i]; i++) {
    g_autoptr (TdBatchRow) row = td_batch_row_new_passed (td_arrivals_passed (arrivals)[i]);
    own_batch_tell_row (self, (*n)++, row);
  }
  for (guint i = 0; paths[i]; i++) {
    const char *const one[] = { paths[i], NULL };
    g_auto (GStrv) outputs
        = td_batch_outputs (one, self->file.output, self->file.recipe.output_format, error);
    g_autoptr (TdBatchRow) row = outputs ? td_batch_row_new (paths[i], outputs[0]) : NULL;
    if (!row || !own_batch_do (self, options, row, (*n)++, error))
      return FALSE;
  }
  return TRUE;
}

static gboolean
own_batch_watch (OwnJob *self, const TdScanOptions *options, GError **error)
{
  g_autoptr (TdArrivals) arrivals
      = td_arrivals_new (self->file.batch.watch, self->file.output, self->file.batch.settle_s);
  guint n = 0;

  own_batch_tell_start (self);
  while (!g_cancellable_set_error_if_cancelled (self->cancellable, error)) {
    if (strcmp (self->stage, "watching") != 0)
      own_batch_tell_stage (self, N_ ("watching"));
    if (!own_batch_run_arrivals (self, options, arrivals, &n, error))
      return FALSE;
    g_usleep (WATCH_US);
  }
  return FALSE;
}

/* What earlier runs found out, of their events. */
static void
own_batch_recall (OwnJob *self)
{
  g_autoptr (GDir) dir = g_dir_open (self->folder, 0, NULL);
  const char *name;

  self->recalled
      = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, (GDestroyNotify) td_batch_row_free);
  while (dir && (name = g_dir_read_name (dir))) {
    g_autofree char *path = g_build_filename (self->folder, name, NULL);
    g_autofree char *text = g_str_has_prefix (name, "events-")
                                ? td_text_load (path, MOST_RECALLED_BYTES, NULL)
                                : NULL;
    g_auto (GStrv) lines = g_strsplit (text ? text : "", "\n", -1);
    for (guint i = 0; lines[i]; i++) {
      g_autoptr (JsonNode) event = strstr (lines[i], "\"scan\"") ? td_json_parse (lines[i]) : NULL;
      TdBatchRow *row = event ? td_batch_row_of_json (event) : NULL;
      if (row
          && (row->state == TD_BATCH_WRITTEN || (row->state == TD_BATCH_THERE && row->searched)))
        g_hash_table_replace (self->recalled, row->path, row);
      else
        g_clear_pointer (&row, td_batch_row_free);
    }
  }
}

static gboolean
own_batch_carry_out (OwnJob *self, GError **error)
{
  TdScanOptions options;

  own_batch_recall (self);
  if (!td_job_file_options (&self->file, &options, error)
      || !td_batch_make_folder (self->file.output, error))
    return FALSE;
  self->engine = td_engine_new (td_methods);
  return self->file.batch.watch ? own_batch_watch (self, &options, error)
                                : own_batch_run_scans (self, &options, error);
}

/* ── Both ── */

static gboolean
own_job_quit (gpointer loop)
{
  g_main_loop_quit (loop);
  return G_SOURCE_REMOVE;
}

/* The thread that may block; the main one looks at flags and signals. A loop that is told to quit
   before it runs would never end: so the loop itself takes it up. */
static gpointer
own_job_thread (gpointer user)
{
  OwnJob *self = user;
  const gboolean ok = td_job_file_is_batch (&self->file) ? own_batch_carry_out (self, &self->error)
                                                         : own_job_run (self, &self->error);

  if (!ok)
    g_assert (self->error);
  g_idle_add (own_job_quit, self->loop);
  return NULL;
}

/* On the desktop, whether a window of the program is open or not. Where there is none, nothing is
   said. */
static void
own_job_notify (OwnJob *self, const char *summary)
{
  g_autofree char *socket = g_build_filename (g_get_user_runtime_dir (), "bus", NULL);
  GVariantBuilder actions, hints;

  if (g_get_monotonic_time () - self->began_us < NOTIFY_US
      || !(g_getenv ("DBUS_SESSION_BUS_ADDRESS") || g_file_test (socket, G_FILE_TEST_EXISTS)))
    return;
  g_autoptr (GDBusConnection) bus = g_bus_get_sync (G_BUS_TYPE_SESSION, NULL, NULL);
  if (!bus)
    return;
  g_variant_builder_init (&actions, G_VARIANT_TYPE ("as"));
  g_variant_builder_init (&hints, G_VARIANT_TYPE ("a{sv}"));
  g_variant_builder_add (&hints, "{sv}", "desktop-entry",
                         g_variant_new_string ("org.tomodesk.Tomodesk"));
  g_autoptr (GVariant) answer = g_dbus_connection_call_sync (
      bus, "org.freedesktop.Notifications", "/org/freedesktop/Notifications",
      "org.freedesktop.Notifications", "Notify",
      g_variant_new ("(susssasa{sv}i)", "Tomodesk", 0, "org.tomodesk.Tomodesk", summary,
                     self->file.output, &actions, &hints, -1),
      NULL, G_DBUS_CALL_FLAGS_NONE, NOTIFY_LIMIT_MS, NULL, NULL);
  if (!answer)
    g_debug ("the desktop takes no notification");
}

static int
own_job_tell_end (OwnJob *self)
{
  g_autoptr (GError) signalled = NULL;

  if (!self->error) {
    own_job_tell_done (self);
    own_job_notify (self, td_job_file_is_batch (&self->file) ? _ ("The volumes are written")
                                                             : _ ("The volume is written"));
    return TD_WORKER_DONE;
  }
  if (!g_error_matches (self->error, G_IO_ERROR, G_IO_ERROR_CANCELLED)) {
    own_job_tell_failed (self, self->error);
    own_job_notify (self, td_job_file_is_batch (&self->file)
                              ? _ ("Not all scans were reconstructed")
                              : _ ("The volume was not reconstructed"));
    return TD_WORKER_FAILED;
  }
  if (self->from_outside) {
    td_set_error (&signalled, TD_ERROR_IO,
                  "The job was ended from outside, by a signal; start it again");
    own_job_tell_failed (self, signalled);
    return TD_WORKER_FAILED;
  }
  td_events_begin (self->events, "cancelled");
  td_events_end (self->events);
  return TD_WORKER_CANCELLED;
}

static void
own_job_clear (OwnJob *self)
{
  g_clear_pointer (&self->job, td_job_unref);
  g_clear_pointer (&self->plan, td_plan_unref);
  g_clear_pointer (&self->scan, td_scan_unref);
  g_clear_pointer (&self->engine, td_engine_unref);
  g_clear_pointer (&self->events, td_events_free);
  g_clear_error (&self->error);
  g_main_loop_unref (self->loop);
  g_object_unref (self->cancellable);
  g_clear_pointer (&self->recalled, g_hash_table_unref);
  g_mutex_clear (&self->lock);
  td_job_file_clear (&self->file);
}

int
td_own_job_run (const char *folder)
{
  OwnJob self = { .folder = folder,
                  .stage = N_ ("waiting"),
                  .began_us = g_get_monotonic_time (),
                  .cancellable = g_cancellable_new (),
                  .loop = g_main_loop_new (NULL, FALSE) };
  g_autoptr (GError) error = NULL;
  g_autofree char *keep = g_build_filename (folder, "keep", NULL);
  int status = TD_WORKER_FAILED;

  g_mutex_init (&self.lock);
  td_job_file_init (&self.file);
  own_job_give_way ();
  g_unlink (keep);
  self.events = td_events_open (folder, &error);
  if (!self.events) {
    fprintf (stderr, "tomodesk-cli: %s\n", error->message);
  } else if (!td_job_file_load (&self.file, folder, &error)) {
    own_job_tell_failed (&self, error);
  } else {
    g_unix_signal_add (SIGTERM, own_job_on_signal, &self);
    g_unix_signal_add (SIGINT, own_job_on_signal, &self);
    g_timeout_add (LOOK_MS, own_job_look, &self);
    GThread *thread = g_thread_new ("job", own_job_thread, &self);
    g_main_loop_run (self.loop);
    g_thread_join (thread);
    status = own_job_tell_end (&self);
  }
  /* A job that ended otherwise may have threads left, which use all of it. */
  if (status == TD_WORKER_DONE)
    own_job_clear (&self);
  return status;
}
