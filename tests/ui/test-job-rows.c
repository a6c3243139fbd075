/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is shown of a job, whatever it tells: the line for people, the bar, the buttons, its notes,
   its log and its small picture. No job runs here: what follows it tells what the test says. */
#include <math.h>
#include <string.h>

#include <adwaita.h>
#include <glib/gstdio.h>

#include "cluster/profile.h"
#include "dataset/sort.h"
#include "dataset/volume.h"
#include "ui-test.h"
#include "ui/batch-window.h"
#include "ui/job-row.h"
#include "ui/jobs-window.h"
#include "ui/method-choices.h"
#include "ui/quantity.h"
#include "ui/volume-view.h"
#include "window-test.h"

#define POLL_MS 300 /* how often a job is looked at: here all the time */

guint
g_timeout_add (guint interval, GSourceFunc function, gpointer user)
{
  return g_timeout_add_full (G_PRIORITY_DEFAULT, interval == POLL_MS ? 1 : interval, function, user,
                             NULL);
}

/* ── What jobs tell ── */

#define PASSES 8

typedef struct {
  gboolean elsewhere; /* on a cluster */
  TdRemoteState state;
  const char *why, *stage;
  double fraction, left_s, seconds;
  guint ahead;
  gboolean paused;
  guint n_slices, slices_done, passes, n_passes;
  const char *scans; /* a letter for each; NULL: no batch */
  const char *watch, *notes, *method;
  const char *id, *title; /* title: NULL: "A ball" */
} Told;

static Told told;
static const char *job_folder; /* nullable */
static gboolean is_launched;
static int n_forgotten;
/* Of the job's log: text, or an error that begins with a "!" */
static const char *log_text;

/* The linker puts these in the place of the cluster's (meson.build). */
void __wrap_td_remote_job_facts (TdRemoteJob *job, TdRemoteFacts *facts);
TdRemoteJob *__wrap_td_remote_job_ref (TdRemoteJob *job);
void __wrap_td_remote_job_unref (TdRemoteJob *job);
gboolean __wrap_td_remote_job_was_launched (const TdRemoteJob *job);
gboolean __wrap_td_remote_job_forget (TdRemoteJob *job, GCancellable *cancellable, GError **error);
char *__wrap_td_remote_job_log (TdRemoteJob *job, GCancellable *cancellable, GError **error);
gboolean __wrap_td_remote_jobs_pause (gboolean pause, GError **error);
gboolean __wrap_td_remote_jobs_are_paused (void);

/* One that is described in full. */
typedef struct {
  const char *path, *output;
  TdBatchState state;
  double centre_px, sigma_px, seconds, fraction;
  gboolean searched, agreed;
  const char *why;
} ToldScan;

static const ToldScan *told_scans; /* in the place of letters; NULL: none */
static guint n_told_scans;

static GPtrArray *
scans_in_full (void)
{
  GPtrArray *scans = g_ptr_array_new_with_free_func ((GDestroyNotify) td_batch_row_free);

  for (guint i = 0; i < n_told_scans; i++) {
    const ToldScan *scan = &told_scans[i];
    TdBatchRow *row = td_batch_row_new (scan->path, scan->output);
    row->state = scan->state;
    row->centre_px = scan->centre_px;
    row->sigma_px = scan->sigma_px;
    row->seconds = scan->seconds;
    row->fraction = scan->fraction;
    row->searched = scan->searched;
    row->agreed = scan->agreed;
    row->why = g_strdup (scan->why);
    g_ptr_array_add (scans, row);
  }
  return scans;
}

static GPtrArray *
scans_of (const char *letters)
{
  static const char states[] = "wrdtfcp"; /* by TdBatchState */
  GPtrArray *scans = g_ptr_array_new_with_free_func ((GDestroyNotify) td_batch_row_free);

  for (guint i = 0; letters[i]; i++) {
    TdBatchRow *row = td_batch_row_new ("/scan", "/volume");
    row->state = (TdBatchState) (strchr (states, letters[i]) - states);
    g_ptr_array_add (scans, row);
  }
  return scans;
}

void
__wrap_td_remote_job_facts (TdRemoteJob *job, TdRemoteFacts *facts)
{
  *facts = (TdRemoteFacts) {
    .state = told.state,
    .id = g_strdup (told.id),
    .title = g_strdup (told.title ? told.title : "A ball"),
    .profile = g_strdup (told.elsewhere ? "hall" : TD_CLUSTER_OWN),
    .folder = g_strdup (job_folder),
    .place = g_strdup (told.elsewhere ? "the hall" : "this computer"),
    .output = told.elsewhere ? NULL : g_strdup ("/here/ball.tif"),
    .output_there = g_strdup ("/there/ball.tif"),
    .why = g_strdup (told.why),
    .stage = g_strdup (told.stage),
    .fraction = told.fraction,
    .left_s = told.left_s,
    .seconds = told.seconds,
    .rank_lines = g_new0 (char *, 1),
    .notes = told.notes ? g_strsplit (told.notes, "|", -1) : g_new0 (char *, 1),
    .n_slices = told.n_slices,
    .slices_done = told.slices_done,
    .n_passes = told.n_passes,
    .first_row = 10,
    .slice_rows = 3,
    .ahead = told.ahead,
    .paused = told.paused,
    .slices = g_array_new (FALSE, FALSE, sizeof (TdRemoteSlice)),
    .residuals = g_array_new (FALSE, FALSE, sizeof (double)),
    .scans = told_scans   ? scans_in_full ()
             : told.scans ? scans_of (told.scans)
                          : NULL,
    .watch = g_strdup (told.watch),
    .method = g_strdup (told.method),
    .pixel_mm = 0.25,
    .units = g_strdup ("1/mm"),
  };
  for (guint i = 0; i < told.passes; i++) {
    const double residual = ldexp (1, -(int) i - 1);
    g_array_append_val (facts->residuals, residual);
  }
}

TdRemoteJob *
__wrap_td_remote_job_ref (TdRemoteJob *job)
{
  return job;
}

void
__wrap_td_remote_job_unref (TdRemoteJob *job)
{
}

gboolean
__wrap_td_remote_job_was_launched (const TdRemoteJob *job)
{
  return is_launched;
}

gboolean
__wrap_td_remote_job_forget (TdRemoteJob *job, GCancellable *cancellable, GError **error)
{
  g_atomic_int_inc (&n_forgotten);
  return TRUE;
}

char *
__wrap_td_remote_job_log (TdRemoteJob *job, GCancellable *cancellable, GError **error)
{
  if (*log_text != '!')
    return g_strdup (log_text);
  g_set_error_literal (error, G_IO_ERROR, G_IO_ERROR_FAILED, log_text + 1);
  return NULL;
}

static int queue_is_paused, queue_is_stuck; /* atomic */

gboolean
__wrap_td_remote_jobs_pause (gboolean pause, GError **error)
{
  if (g_atomic_int_get (&queue_is_stuck)) {
    g_set_error_literal (error, G_IO_ERROR, G_IO_ERROR_FAILED, "it is stuck");
    return FALSE;
  }
  g_atomic_int_set (&queue_is_paused, pause);
  return TRUE;
}

gboolean
__wrap_td_remote_jobs_are_paused (void)
{
  return g_atomic_int_get (&queue_is_paused);
}

/* ── Who follows a job: in the place of ui/remote-follower.c ── */

static struct {
  TdRemoteTask task;
  guint wishes, n;
  const char *refused, *problem;
  gboolean over;
  TdSliceStore *slices;
} following;

TdRemoteFollower *
td_remote_follower_new (TdRemoteJob *job, TdRemoteTask task)
{
  following.task = task;
  following.wishes = 0;
  following.n++;
  return (TdRemoteFollower *) &following;
}

void
td_remote_follower_free (TdRemoteFollower *follower)
{
  following.n--;
}

void
td_remote_follower_ask (TdRemoteFollower *follower, TdRemoteWish wish)
{
  following.wishes |= wish;
}

gboolean
td_remote_follower_was_asked (TdRemoteFollower *follower, TdRemoteWish wish)
{
  return following.wishes & wish;
}

char *
td_remote_follower_refused (TdRemoteFollower *follower)
{
  return g_strdup (following.refused);
}

TdSliceStore *
td_remote_follower_slices (TdRemoteFollower *follower)
{
  return following.slices ? td_slice_store_ref (following.slices) : NULL;
}

gboolean
td_remote_follower_is_over (TdRemoteFollower *follower, char **problem)
{
  *problem = g_strdup (following.problem);
  return following.over;
}

/* ── What is shown ── */

static TdRemoteJob *const job = (TdRemoteJob *) &told;

/* Parts of a row that are shown now. */
static char *
parts_of (gpointer row)
{
  static const char *const parts[] = { "bar",  "again",  "table",  "first",  "recipe",  "log",
                                       "show", "folder", "finish", "cancel", "dismiss", "notes" };
  GString *seen = g_string_new (NULL);

  for (guint i = 0; i < G_N_ELEMENTS (parts); i++)
    if (gtk_widget_get_visible (td_test_part (row, parts[i])))
      g_string_append_printf (seen, "%s%s", seen->len ? " " : "", parts[i]);
  return g_string_free (seen, FALSE);
}

/* With the times of the job: TOOK, LEFT; PROGRESS: as a job tells it. */
static char *
words_of (const char *says)
{
  GString *words = g_string_new (says);
  g_autofree char *took = td_duration_text (MAX (told.seconds, 0));
  g_autofree char *left = td_duration_text (MAX (told.left_s, 0));
  const TdJobProgress progress = { .fraction = told.fraction,
                                   .elapsed_s = MAX (told.seconds, 0),
                                   .remaining_s = told.left_s,
                                   .stage = told.stage,
                                   .slices_done = told.slices_done,
                                   .n_slices = told.n_slices,
                                   .pass = told.passes,
                                   .n_passes = told.n_passes,
                                   .residual = told.passes ? ldexp (1, -(int) told.passes) : NAN };
  g_autofree char *far = td_progress_text (&progress);

  g_string_replace (words, "TOOK", took, 0);
  g_string_replace (words, "LEFT", left, 0);
  g_string_replace (words, "PROGRESS", far, 0);
  return g_string_free (words, FALSE);
}

#define ELSEWHERE TRUE
#define HERE FALSE
#define NEW TD_REMOTE_STAGED
#define QUEUED TD_REMOTE_QUEUED
#define RUNS TD_REMOTE_RUNNING
#define DONE TD_REMOTE_DONE
#define FAILED TD_REMOTE_FAILED
#define LOST TD_REMOTE_LOST
#define ENDED TD_REMOTE_CANCELLED

/* Each state of a job here, of one on a cluster, and of many scans. */
static void
test_states (void)
{
  static const struct {
    Told told;
    const char *says, *parts;
    double bar;
  } cases[] = {
    { { HERE, NEW, .left_s = -1 }, "Preparing", "bar first log cancel", 0 },
    { { HERE, QUEUED, .left_s = -1 }, "Waiting", "bar first log cancel", 0 },
    { { HERE, QUEUED, .ahead = 1 }, "Waiting for 1 job", "bar first log cancel", 0 },
    { { HERE, QUEUED, .ahead = 3 }, "Waiting for 3 jobs", "bar first log cancel", 0 },
    { { HERE, QUEUED, .ahead = 3, .paused = TRUE },
      "Waiting: no job begins until the queue goes on",
      "bar first log cancel",
      0 },
    { { HERE, RUNS, NULL, "reading", 0.25, 60, 20, .n_slices = 8, .slices_done = 2 },
      "PROGRESS",
      "bar log cancel",
      0.25 },
    { { HERE, RUNS, NULL, "reading", 1.5, -1, -1, .n_slices = 8 },
      "PROGRESS",
      "bar log cancel",
      1 },
    { { HERE, RUNS, NULL, NULL, -0.5, -1, 20, .n_slices = 8 }, "PROGRESS", "bar log cancel", 0 },
    { { HERE, RUNS, NULL, "passes", 0.5, 9, 20, .n_slices = 8, .passes = 1, .n_passes = 5 },
      "PROGRESS",
      "bar log finish cancel",
      0.5 },
    { { HERE, RUNS, NULL, "passes", 0.5, 9, 20, .n_slices = 8, .passes = 4, .n_passes = 5 },
      "PROGRESS",
      "bar log finish cancel",
      0.5 },
    { { HERE, RUNS, NULL, "passes", 0.5, 9, 20, .n_slices = 8, .passes = 0, .n_passes = 5 },
      "PROGRESS",
      "bar log cancel",
      0.5 },
    { { HERE, RUNS, NULL, "passes", 0.5, 9, 20, .n_slices = 8, .passes = 5, .n_passes = 5 },
      "PROGRESS",
      "bar log cancel",
      0.5 },
    { { HERE, RUNS, NULL, "passes", 0.5, 9, 20, 0, FALSE, 8, 1, 4, 5 },
      "PROGRESS",
      "bar log cancel",
      0.5 },
    { { HERE, DONE, NULL, NULL, 0.3, -1, 80, .n_slices = 1 },
      "Done: 1 slice in TOOK",
      "recipe log show folder dismiss",
      1 },
    { { HERE, DONE, NULL, NULL, 0.3, -1, -80, .n_slices = 4, .notes = "one" },
      "Done: 4 slices in TOOK",
      "recipe log show folder dismiss notes",
      1 },
    { { HERE, FAILED, "it broke", .fraction = 0.3, .notes = "one|two" },
      "Failed: it broke",
      "again recipe log dismiss notes",
      0.3 },
    { { HERE, LOST, "it is gone" }, "Failed: it is gone", "again recipe log dismiss", 0 },
    { { HERE, ENDED, "it broke" }, "Cancelled; nothing was kept", "again recipe log dismiss", 0 },
    { { ELSEWHERE, NEW, .fraction = 0.25 },
      "the hall: sending the job, 25 %",
      "bar log cancel",
      0.25 },
    { { ELSEWHERE, QUEUED, .ahead = 3, .paused = TRUE },
      "the hall: in the queue",
      "bar log cancel",
      0 },
    { { ELSEWHERE, QUEUED, "others are first" },
      "the hall: in the queue (others are first)",
      "bar log cancel",
      0 },
    { { ELSEWHERE, RUNS, NULL, "filtering", 0.625, -1 },
      "the hall: filtering, 62 %",
      "bar log cancel",
      0.625 },
    { { ELSEWHERE, RUNS, NULL, NULL, 0.5, 100 },
      "the hall: starting, 50 %, LEFT left",
      "bar log cancel",
      0.5 },
    { { ELSEWHERE, RUNS, NULL, "filtering", 0.5, 0 },
      "the hall: filtering, 50 %, LEFT left",
      "bar log cancel",
      0.5 },
    { { ELSEWHERE, RUNS, "the connection was cut", "filtering", 0.5, 100 },
      "the connection was cut",
      "bar log cancel",
      0.5 },
    { { ELSEWHERE, DONE, .seconds = 70 },
      "Done in TOOK, on the hall",
      "recipe log show folder dismiss",
      1 },
    { { ELSEWHERE, ENDED, .seconds = 70 },
      "Cancelled on the hall; no process is left",
      "again recipe log dismiss",
      0 },
    { { ELSEWHERE, FAILED, "it broke" }, "Failed: it broke", "again recipe log dismiss", 0 },
    { { HERE, NEW, .scans = "www" }, "Preparing", "bar table first log cancel", 0 },
    { { HERE, QUEUED, .ahead = 2, .scans = "www" },
      "Waiting for 2 jobs",
      "bar table first log cancel",
      0 },
    { { HERE, RUNS, .left_s = -1, .scans = "dtrw" },
      "2 of 4 scans reconstructed",
      "bar table log cancel",
      0 },
    { { HERE, RUNS, .left_s = 90, .fraction = 0.5, .scans = "dfrwp" },
      "1 of 4 scans reconstructed, 1 failed, LEFT left",
      "bar table log cancel",
      0.5 },
    { { HERE, RUNS, .left_s = 0, .scans = "r" },
      "0 of 1 scan reconstructed, LEFT left",
      "bar table log cancel",
      0 },
    { { HERE, RUNS, .left_s = 90, .ahead = 1, .scans = "ttw" },
      "2 of 3 scans reconstructed. Waiting for 1 job",
      "bar table log cancel",
      0 },
    { { HERE, RUNS, .left_s = 90, .paused = TRUE, .watch = "/in", .scans = "w" },
      "0 of 1 scan reconstructed. Waiting: no job begins until the queue goes on",
      "table log cancel",
      0 },
    { { HERE, RUNS, .left_s = 90, .watch = "/in", .scans = "ddp" },
      "Watching “/in”: 2 of 2 scans reconstructed",
      "table log cancel",
      0 },
    { { HERE, DONE, .scans = "dd", .notes = "one" },
      "2 of 2 scans reconstructed",
      "table recipe log folder dismiss notes",
      1 },
    { { HERE, ENDED, .scans = "dcf" },
      "Stopped: 1 of 3 scans reconstructed, 1 failed",
      "again table recipe log folder dismiss",
      0 },
    { { HERE, FAILED, "it broke", .scans = "df" },
      "1 of 2 scans reconstructed, 1 failed",
      "again table recipe log folder dismiss",
      0 },
    { { HERE, FAILED, "it broke", .scans = "dw" },
      "Failed: it broke",
      "again table recipe log folder dismiss",
      0 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    told = cases[i].told;
    g_autoptr (TdJobItem) item = td_job_item_new (job, TD_REMOTE_WATCH);
    gpointer row = g_object_ref_sink (td_job_row_new (item));
    g_autofree char *words = words_of (cases[i].says), *parts = parts_of (row);
    const gboolean ended = told.state != NEW && told.state != QUEUED && told.state != RUNS;
    const gboolean failed = told.state == FAILED || told.state == LOST;
    g_test_message ("case %u: %s", i, words);
    g_assert_cmpstr (gtk_label_get_text (td_test_part (row, "status")), ==, words);
    g_assert_cmpstr (gtk_widget_get_tooltip_text (td_test_part (row, "status")), ==, told.why);
    g_assert_cmpint (gtk_widget_has_css_class (td_test_part (row, "status"), "error"), ==, failed);
    g_assert_cmpstr (parts, ==, cases[i].parts);
    g_assert_cmpfloat (gtk_progress_bar_get_fraction (td_test_part (row, "bar")), ==, cases[i].bar);
    g_assert_true (gtk_widget_get_sensitive (td_test_part (row, "cancel")));
    g_assert_cmpstr (gtk_label_get_text (td_test_part (row, "title")), ==, "A ball");
    g_assert_cmpstr (gtk_widget_get_tooltip_text (td_test_part (row, "title")), ==,
                     told.elsewhere ? "/there/ball.tif" : "/here/ball.tif");
    if (told.notes && ended) {
      const gboolean two = strchr (told.notes, '|') != NULL;
      g_assert_cmpstr (gtk_menu_button_get_label (td_test_part (row, "notes")), ==,
                       two ? "2 notes" : "1 note");
      g_assert_cmpstr (gtk_label_get_text (td_test_part (row, "notes_label")), ==,
                       two ? "one\n\ntwo" : "one");
    }
    g_assert_cmpint (td_job_item_is_old (item), ==, ended);
    g_assert_cmpint (td_job_item_ended (item), ==, ended);
    g_assert_cmpint (td_job_item_is_own (item), ==, !told.elsewhere);
    g_assert_cmpint (td_job_item_is_batch (item), ==, told.scans != NULL);
    g_assert_cmpuint (td_job_item_row (item, 4), ==, 22);
    g_autoptr (TdJobItem) again = td_job_item_again (item);
    g_assert_cmpint (again != NULL, ==, failed || told.state == ENDED);
    const int before = g_atomic_int_get (&n_forgotten);
    td_job_item_forget (item);
    if (!told.elsewhere && ended)
      while (g_atomic_int_get (&n_forgotten) == before)
        g_usleep (100);
    g_assert_cmpint (g_atomic_int_get (&n_forgotten), ==, before + (!told.elsewhere && ended));
    g_object_unref (row);
  }
}

/* ── Following ── */

static guint n_changed, n_slices, n_ended;

static void
count (gpointer item, guint *n)
{
  ++*n;
}

static TdJobItem *
item_followed (TdRemoteTask task)
{
  TdJobItem *item = td_job_item_new (job, task);

  n_changed = n_slices = n_ended = 0;
  g_signal_connect (item, "changed", G_CALLBACK (count), &n_changed);
  g_signal_connect (item, "slices", G_CALLBACK (count), &n_slices);
  g_signal_connect (item, "ended", G_CALLBACK (count), &n_ended);
  following.over = FALSE;
  following.problem = following.refused = NULL;
  return item;
}

static gboolean
is_looked_at (gpointer n)
{
  return n_changed >= GPOINTER_TO_UINT (n);
}

/* What is told at the first look, and of a job that is over. */
static void
test_ends (void)
{
  static const struct {
    gboolean elsewhere;
    TdRemoteState state;
    const char *why;
    gboolean over;
    const char *problem;
    TdJobState becomes;
    const char *error;
  } cases[] = {
    { HERE, NEW, NULL, FALSE, NULL, TD_JOB_WAITING, NULL },
    { HERE, QUEUED, NULL, FALSE, "no route", TD_JOB_WAITING, NULL },
    { HERE, RUNS, NULL, FALSE, NULL, TD_JOB_RUNNING, NULL },
    { HERE, DONE, NULL, TRUE, NULL, TD_JOB_DONE, NULL },
    { ELSEWHERE, DONE, NULL, TRUE, "no room", TD_JOB_FAILED, "no room" },
    { ELSEWHERE, DONE, "late", TRUE, NULL, TD_JOB_DONE, "late" },
    { ELSEWHERE, ENDED, "by hand", TRUE, "no room", TD_JOB_CANCELLED, NULL },
    { HERE, FAILED, "it broke", TRUE, NULL, TD_JOB_FAILED, "it broke" },
    { HERE, FAILED, "it broke", TRUE, "worse", TD_JOB_FAILED, "worse" },
    { HERE, LOST, "gone", TRUE, NULL, TD_JOB_FAILED, "gone" },
    { HERE, NEW, NULL, TRUE, "no room", TD_JOB_CANCELLED, "no room" },
    { HERE, QUEUED, NULL, TRUE, NULL, TD_JOB_CANCELLED, NULL },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    told = (Told) { .state = NEW, .elsewhere = cases[i].elsewhere };
    g_autoptr (TdJobItem) item = item_followed (i % 2 ? TD_REMOTE_SUBMIT : TD_REMOTE_WATCH);
    g_test_message ("case %u", i);
    g_assert_cmpint (td_job_item_state (item), ==, TD_JOB_WAITING);
    told.state = cases[i].state;
    told.why = cases[i].why;
    following.over = cases[i].over;
    following.problem = cases[i].problem;
    td_job_item_start (item);
    g_assert_cmpint (following.task, ==, i % 2 ? TD_REMOTE_SUBMIT : TD_REMOTE_WATCH);
    td_test_wait (is_looked_at, GUINT_TO_POINTER (1), "the first look");
    g_assert_cmpint (td_job_item_state (item), ==, cases[i].becomes);
    g_assert_cmpstr (td_job_item_error (item), ==, cases[i].error);
    g_assert_cmpint (td_job_item_ended (item), ==, cases[i].over);
    g_assert_cmpuint (n_ended, ==, cases[i].over);
    g_assert_cmpint (n_slices > 0, ==, !cases[i].over);
    g_assert_false (td_job_item_is_old (item));
    if (!cases[i].over) { /* and so on, to its end */
      td_test_wait (is_looked_at, GUINT_TO_POINTER (3), "the next looks");
      told.state = DONE;
      following.over = TRUE;
      following.problem = NULL;
      td_test_wait (is_looked_at, GUINT_TO_POINTER (n_changed + 1), "the end");
      g_assert_cmpint (td_job_item_state (item), ==, TD_JOB_DONE);
      g_assert_cmpuint (n_ended, ==, 1);
    }
    /* Nobody looks at it any more, and what was held is let go. */
    const guint looks = n_changed;
    td_test_pause (20);
    g_assert_cmpuint (n_changed, ==, looks);
    g_assert_cmpuint (G_OBJECT (item)->ref_count, ==, 1);
  }
  g_assert_cmpuint (following.n, ==, 0);
  /* One that had ended when it was found ends no more. */
  told = (Told) { .state = FAILED, .why = "it broke" };
  g_autoptr (TdJobItem) old = item_followed (TD_REMOTE_WATCH);
  following.over = TRUE;
  td_job_item_start (old);
  td_test_wait (is_looked_at, GUINT_TO_POINTER (1), "the first look");
  g_assert_true (td_job_item_is_old (old));
  g_assert_cmpuint (n_ended + n_slices, ==, 0);
  g_assert_cmpint (td_job_item_state (old), ==, TD_JOB_FAILED);
  /* Once more: as new, if it was never launched. */
  for (guint launched = 0; launched < 2; launched++) {
    is_launched = launched;
    g_autoptr (TdJobItem) again = td_job_item_again (old);
    following.over = FALSE;
    td_job_item_start (again);
    g_assert_cmpint (following.task, ==, launched ? TD_REMOTE_AGAIN : TD_REMOTE_SUBMIT);
    g_assert_cmpint (td_job_item_state (again), ==, TD_JOB_WAITING);
    told.state = ENDED;
    following.over = TRUE;
    while (!td_job_item_ended (again))
      g_main_context_iteration (NULL, TRUE);
    told.state = FAILED;
  }
}

static void
on_requested (TdJobRow *row, TdJobItem *item, GString *asked)
{
  const GSignalInvocationHint *hint = g_signal_get_invocation_hint (row);

  g_string_append_printf (asked, "%s ", g_quark_to_string (hint->detail));
}

/* What a person asks for by the row's buttons, and what is said until it has come. */
static void
test_asked (void)
{
  static const char *const requests[] = { "again", "table", "recipe", "show", "dismiss" };

  told = (Told) { .state = QUEUED, .left_s = -1 };
  g_autoptr (TdJobItem) item = item_followed (TD_REMOTE_WATCH);
  g_autoptr (GString) asked = g_string_new (NULL);
  gpointer row = g_object_ref_sink (td_job_row_new (item));
  td_job_item_cancel (item); /* nobody follows it yet */
  td_job_item_finish (item);
  td_job_item_go_first (item);
  g_assert_false (td_job_item_is_cancelling (item));
  td_job_item_start (item);
  td_test_click (td_test_part (row, "first"));
  g_assert_cmpuint (following.wishes, ==, TD_REMOTE_GO_FIRST);
  following.refused = "it is not ours";
  const guint looks = n_changed;
  td_test_wait (is_looked_at, GUINT_TO_POINTER (looks + 1), "a look");
  g_assert_cmpstr (gtk_label_get_text (td_test_part (row, "status")), ==,
                   "Waiting. The job goes on as it was: it is not ours");
  following.refused = NULL;
  following.slices = td_slice_store_new (2, 2, 1, 0);
  told = (Told) { .state = RUNS, .n_slices = 1, .passes = 1, .n_passes = 5 };
  td_test_wait (is_looked_at, GUINT_TO_POINTER (n_changed + 2), "the next looks");
  g_autofree char *parts = parts_of (row);
  g_assert_cmpstr (parts, ==, "bar log show finish cancel");
  g_assert_true (td_job_item_slices (item) == following.slices);
  td_test_click (td_test_part (row, "finish"));
  g_assert_cmpuint (following.wishes, ==, TD_REMOTE_GO_FIRST | TD_REMOTE_KEEP);
  g_assert_false (gtk_widget_get_sensitive (td_test_part (row, "finish")));
  td_test_click (td_test_part (row, "cancel"));
  g_assert_true (following.wishes & TD_REMOTE_CANCEL);
  g_assert_true (td_job_item_is_cancelling (item));
  g_assert_false (gtk_widget_get_sensitive (td_test_part (row, "cancel")));
  g_assert_cmpstr (gtk_label_get_text (td_test_part (row, "status")), ==, "Cancelling");
  told.state = ENDED;
  following.over = TRUE;
  td_test_wait (is_looked_at, GUINT_TO_POINTER (n_changed + 1), "the end");
  g_assert_false (td_job_item_is_cancelling (item));
  g_assert_cmpstr (gtk_label_get_text (td_test_part (row, "status")), ==,
                   "Cancelled; nothing was kept");
  g_signal_connect (row, "requested", G_CALLBACK (on_requested), asked);
  for (guint i = 0; i < G_N_ELEMENTS (requests); i++)
    g_signal_emit_by_name (td_test_part (row, requests[i]), "clicked");
  g_assert_cmpstr (asked->str, ==, "again table recipe show dismiss ");
  g_clear_pointer (&following.slices, td_slice_store_unref);
  g_object_unref (row);
}

/* ── The log, and the small picture ── */

static gboolean
log_is_read (gpointer view)
{
  GtkTextIter start, end;
  GtkTextBuffer *buffer = gtk_text_view_get_buffer (view);

  gtk_text_buffer_get_bounds (buffer, &start, &end);
  g_autofree char *text = gtk_text_buffer_get_text (buffer, &start, &end, FALSE);
  return g_str_equal (text, *log_text == '!' ? log_text + 1 : log_text);
}

/* To be read, and not to be typed into. */
static void
test_log (void)
{
  static const char *const texts[] = { "one\ntwo", "", "!no such file" };

  told = (Told) { .state = RUNS };
  g_autoptr (TdJobItem) item = td_job_item_new (job, TD_REMOTE_WATCH);
  GtkWidget *window = gtk_window_new ();
  gpointer row = td_job_row_new (item);
  gtk_window_set_child (GTK_WINDOW (window), row);
  for (guint i = 0; i < G_N_ELEMENTS (texts); i++) {
    log_text = texts[i];
    td_test_click (td_test_part (row, "log"));
    GtkWindow *log = td_test_other_window (ADW_TYPE_WINDOW);
    g_assert_cmpstr (gtk_window_get_title (log), ==, "Log of A ball");
    g_assert_true (gtk_window_get_transient_for (log) == GTK_WINDOW (window));
    GtkWidget *view = td_test_find (GTK_WIDGET (log), GTK_TYPE_TEXT_VIEW, NULL, NULL);
    g_assert_false (gtk_text_view_get_editable (GTK_TEXT_VIEW (view)));
    td_test_wait (log_is_read, view, "the log");
    gtk_window_destroy (log);
  }
  gtk_window_destroy (GTK_WINDOW (window));
}

static gboolean
has_picture (gpointer picture)
{
  return gtk_picture_get_paintable (picture) != NULL;
}

/* The middle slice of a job that is done: every so manyth pixel. A hundredth of the values are as
   black as can be, and as many as white. */
static void
test_picture (void)
{
  static const struct {
    guint nx, ny, n_slices, every;
    double level; /* all pixels have it; 0: each its own */
  } cases[] = { { 95, 40, 1, 1, 0 }, { 96, 40, 3, 2, 0 }, { 40, 200, 2, 3, 0 },
                { 1, 300, 1, 4, 0 }, { 192, 1, 1, 3, 0 }, { 20, 20, 1, 1, 5 } };
  g_autofree char *slices = g_build_filename (td_test_folder (), "slices", NULL);

  job_folder = td_test_folder ();
  g_assert_cmpint (g_mkdir (slices, 0700), ==, 0);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    const guint nx = cases[i].nx, ny = cases[i].ny, every = cases[i].every;
    const guint width = MAX (nx / every, 1), height = MAX (ny / every, 1), n = width * height;
    g_autofree char *name = g_strdup_printf ("%06u.tif", cases[i].n_slices / 2);
    g_autofree char *path = g_build_filename (slices, name, NULL);
    const TdVolumeSpec spec = { .path = path,
                                .format = TD_VOLUME_BIGTIFF,
                                .bits = 32,
                                .nx = nx,
                                .ny = ny,
                                .n_slices = 1,
                                .overwrite = TRUE };
    g_autofree float *values = g_new (float, nx *ny);
    g_autofree float *taken = g_new (float, n);
    g_autoptr (GError) error = NULL;
    for (guint k = 0; k < nx * ny; k++)
      values[k] = cases[i].level > 0 ? (float) cases[i].level : (float) (k * 37 % 1009);
    values[0] = cases[i].level > 0 ? values[0] : NAN; /* as 0 */
    g_autoptr (TdVolumeWriter) writer = td_volume_writer_new (&spec, &error);
    g_assert_no_error (error);
    g_assert_true (td_volume_writer_write (writer, 0, 1, values, &error));
    g_assert_true (td_volume_writer_finish (writer, NULL, &error));
    told = (Told) { .state = DONE, .n_slices = cases[i].n_slices };
    g_autoptr (TdJobItem) item = td_job_item_new (job, TD_REMOTE_WATCH);
    gpointer row = g_object_ref_sink (td_job_row_new (item));
    GtkWidget *picture = td_test_part (row, "picture");
    g_assert_false (gtk_widget_get_visible (picture));
    td_test_wait (has_picture, picture, "the small picture");
    g_assert_true (gtk_widget_get_visible (picture));
    GdkTexture *texture = GDK_TEXTURE (gtk_picture_get_paintable (GTK_PICTURE (picture)));
    g_assert_cmpint (gdk_texture_get_width (texture), ==, width);
    g_assert_cmpint (gdk_texture_get_height (texture), ==, height);
    for (guint k = 0; k < n; k++) {
      const float value = values[k / width * every * nx + k % width * every];
      taken[k] = isnan (value) ? 0 : value;
    }
    g_autofree float *sorted = g_memdup2 (taken, n * sizeof *taken);
    const guint tail = (guint) (0.01 * n);
    const double low = td_float_at_rank (sorted, n, tail);
    const double high = td_float_at_rank (sorted, n, n - 1 - tail);
    g_autofree guint8 *pixels = g_malloc (4 * (gsize) n);
    gdk_texture_download (texture, pixels, 4 * (gsize) width);
    for (guint k = 0; k < n; k++) {
      const double grey = high > low ? 255 * CLAMP ((taken[k] - low) / (high - low), 0, 1) : 0;
      for (guint c = 0; c < 3; c++)
        g_assert_cmpfloat (fabs (pixels[4 * k + c] - grey), <=, 0.51);
    }
    g_object_unref (row);
  }
  job_folder = NULL;
}

/* ── The table of a batch ── */

static const ToldScan scans[] = {
  { "/in/f.nxs", "/out/f", TD_BATCH_WRITTEN, 60.5, 0.125, 70, 1, TRUE, TRUE },
  { "/in/d.nxs", "/out/d", TD_BATCH_WAITING, NAN, NAN, NAN },
  { "/in/g.txt", NULL, TD_BATCH_PASSED, NAN, NAN, NAN, .why = "zoo" },
  { "/in/e.nxs", "/out/a", TD_BATCH_FAILED, 50, 1, 5, 0.5, TRUE, FALSE, "zebra" },
  { "/in/b.nxs", "/out/b", TD_BATCH_RUNNING, 64.25, NAN, NAN, 0.25, TRUE, TRUE },
  { "/in/c.nxs", "/out/c", TD_BATCH_CANCELLED, NAN, 0.5, 8, 0.75, TRUE, TRUE },
  { "/in/a.nxs", "/out/e", TD_BATCH_THERE, 70, 0.5, NAN, 1, FALSE, TRUE },
};
#define N_SCANS G_N_ELEMENTS (scans)
#define N_CELLS 5

static void
collect_cells (GtkWidget *widget, GPtrArray *cells)
{
  if (GTK_IS_LABEL (widget) && gtk_widget_has_css_class (widget, "numeric"))
    g_ptr_array_add (cells, widget);
  for (GtkWidget *child = gtk_widget_get_first_child (widget); child;
       child = gtk_widget_get_next_sibling (child))
    collect_cells (child, cells);
}

static gboolean
cells_are_there (gpointer table)
{
  g_autoptr (GPtrArray) cells = g_ptr_array_new ();

  collect_cells (table, cells);
  return cells->len >= N_SCANS * N_CELLS;
}

/* The letters of the scans in the table's order. */
static char *
order_of (gpointer window)
{
  g_autofree char *csv = td_batch_window_text (window);
  g_auto (GStrv) lines = g_strsplit (csv, "\n", -1);
  GString *letters = g_string_new (NULL);

  for (guint i = 1; lines[i] && *lines[i]; i++)
    g_string_append_c (letters, strstr (lines[i], "/in/")[strlen ("/in/")]);
  return g_string_free (letters, FALSE);
}

static void
on_open (gpointer window, const char *path, GString *opened)
{
  g_string_append_printf (opened, "%s ", path);
}

static gboolean
has_few (gpointer window)
{
  g_autofree char *order = order_of (window);

  return strlen (order) == 2;
}

/* What the cells say of scans of every kind, in any order; which are opened; and another run's. */
static void
test_table (void)
{
  static const struct {
    const char *name, *path, *state, *axis;
    double seconds; /* NAN: nothing is said */
    const char *outcome;
  } says[N_SCANS] = {
    { "f.nxs", "/in/f.nxs", "Done", "60.500 ± 0.125", 70, "/out/f" },
    { "d.nxs", "/in/d.nxs", "Waiting", "", NAN, "/out/d" },
    { "g.txt", "/in/g.txt", "Passed over", "", NAN, "zoo" },
    { "e.nxs", "/in/e.nxs", "Failed", "50.000 ± 1.000, uncertain", 5, "zebra" },
    { "b.nxs", "/in/b.nxs", "Running, 25 %", "64.250", NAN, "/out/b" },
    { "c.nxs", "/in/c.nxs", "Stopped", "", 8, "/out/c" },
    { "a.nxs", "/in/a.nxs", "Was there", "70.000", NAN, "/out/e" },
  };
  static const char *const orders[]
      = { "fdgebca", "abcdefg", "dbfaecg", "efbadgc", "ecfdgba", "bcdafeg" };
  g_autoptr (TdJobQueue) jobs = g_object_new (TD_TYPE_JOB_QUEUE, NULL);
  g_autoptr (GPtrArray) cells = g_ptr_array_new ();
  g_autoptr (GString) opened = g_string_new (NULL);

  told = (Told) { .state = RUNS, .left_s = -1, .fraction = 0.5 };
  told_scans = scans;
  n_told_scans = N_SCANS;
  g_autoptr (TdJobItem) item = item_followed (TD_REMOTE_WATCH);
  GtkWidget *window = td_batch_window_new (NULL, jobs, item);
  GtkWidget *table = td_test_part (window, "table");
  gtk_window_present (GTK_WINDOW (window));
  td_test_wait (cells_are_there, table, "the table");
  collect_cells (table, cells);
  for (guint i = 0; i < N_SCANS; i++) {
    g_autofree char *time
        = isnan (says[i].seconds) ? g_strdup ("") : td_duration_text (says[i].seconds);
    const char *const words[N_CELLS]
        = { says[i].name, says[i].state, says[i].axis, time, says[i].outcome };
    guint line = 0;
    while (strcmp (gtk_label_get_text (cells->pdata[line]), says[i].name) != 0)
      g_assert_cmpuint (line += N_CELLS, <, cells->len);
    for (guint k = 0; k < N_CELLS; k++) {
      GtkWidget *cell = cells->pdata[line + k];
      const char *tip = k == 0 ? says[i].path : *words[k] ? words[k] : NULL;
      g_assert_cmpstr (gtk_label_get_text (GTK_LABEL (cell)), ==, words[k]);
      g_assert_cmpstr (gtk_widget_get_tooltip_text (cell), ==, tip);
      g_assert_cmpint (gtk_widget_has_css_class (cell, "error"), ==,
                       scans[i].state == TD_BATCH_FAILED);
    }
  }
  g_assert_cmpstr (gtk_window_get_title (GTK_WINDOW (window)), ==, "Batch “A ball”");
  g_assert_cmpstr (gtk_label_get_text (td_test_part (window, "status")), ==,
                   "2 of 6 scans reconstructed, 1 failed");
  g_signal_connect (window, "open-requested", G_CALLBACK (on_open), opened);
  for (guint i = 0; i < G_N_ELEMENTS (orders); i++) {
    gtk_drop_down_set_selected (td_test_part (window, "order"), i);
    g_autofree char *order = order_of (window);
    g_assert_cmpstr (order, ==, orders[i]);
    for (guint k = 0; k < N_SCANS; k++)
      g_signal_emit_by_name (table, "activate", k);
    const gboolean f_first = strchr (order, 'f') < strchr (order, 'a');
    g_assert_cmpstr (opened->str, ==, f_first ? "/out/f /out/e " : "/out/e /out/f ");
    g_string_truncate (opened, 0);
  }
  /* What can be done while it runs, and when it has ended. */
  g_assert_true (gtk_widget_get_visible (td_test_part (window, "bar")));
  g_assert_cmpfloat (gtk_progress_bar_get_fraction (td_test_part (window, "bar")), ==, 0.5);
  g_assert_true (gtk_widget_get_visible (td_test_part (window, "stop")));
  g_assert_false (gtk_widget_get_visible (td_test_part (window, "again")));
  g_assert_true (gtk_widget_get_sensitive (td_test_part (window, "save")));
  td_job_item_start (item);
  td_test_click (td_test_part (window, "stop"));
  g_assert_cmpuint (following.wishes, ==, TD_REMOTE_CANCEL);
  n_told_scans = 2;
  td_test_wait (has_few, window, "the scans of another run");
  told.state = ENDED;
  following.over = TRUE;
  td_test_wait (is_looked_at, GUINT_TO_POINTER (n_changed + 1), "the end");
  g_assert_false (gtk_widget_get_visible (td_test_part (window, "bar")));
  g_assert_false (gtk_widget_get_visible (td_test_part (window, "stop")));
  g_assert_true (gtk_widget_get_visible (td_test_part (window, "again")));
  gtk_window_destroy (GTK_WINDOW (window));
  told_scans = NULL;
}

/* ── The slices of a job that runs ── */

enum { VOLUME_NX = 4, VOLUME_NY = 2, VOLUME_N = 9 };

/* All pixels have @value. */
static void
put_slice (guint slice, float value)
{
  float pixels[VOLUME_NX * VOLUME_NY];

  for (guint i = 0; i < G_N_ELEMENTS (pixels); i++)
    pixels[i] = value;
  td_slice_store_put (following.slices, slice, 1, pixels);
}

static TdVolumeView *volume_view;

static gpointer
volume_part (const char *name)
{
  return td_test_part (volume_view, name);
}

static gboolean
shows_value (gpointer value)
{
  const TdImage *image = td_image_pane_get_image (volume_part ("pane"));

  return image && image->pixels[0] == (float) GPOINTER_TO_INT (value);
}

static gboolean
says_unfinished (gpointer unused)
{
  return gtk_widget_get_visible (volume_part ("pane.message_box"))
         && g_str_equal (gtk_label_get_text (volume_part ("pane.message")),
                         "This slice is not finished yet.");
}

static void
assert_page (const char *page)
{
  g_assert_cmpstr (gtk_stack_get_visible_child_name (volume_part ("stack")), ==, page);
}

static void
look_again (void)
{
  td_test_wait (is_looked_at, GUINT_TO_POINTER (n_changed + 2), "the next looks");
}

/* @slice: where the slider is, with what is said of it. */
static void
assert_slice (guint slice, const char *says)
{
  g_autofree char *state = words_of (says);
  g_autofree char *words = g_strdup_printf ("row %u; %s", 10 + 3 * slice, state);

  g_assert_cmpfloat (gtk_adjustment_get_value (volume_part ("adjustment")), ==, slice);
  g_assert_cmpstr (gtk_label_get_text (volume_part ("pane.subtitle")), ==, words);
}

/* A job has nothing to show, then slices as they come, and a method that goes on; who moves the
   slider keeps its place. */
static void
test_slices (void)
{
  const char *sirt = td_choice_label (TD_CHOICE_METHOD, "sirt");
  g_autofree char *estimate = g_strdup_printf ("%s: the estimate after 2 of 5 passes", sirt);
  GtkWidget *badge;

  told = (Told) { .state = RUNS, .left_s = -1, .n_slices = VOLUME_N };
  volume_view = g_object_ref_sink (g_object_new (TD_TYPE_VOLUME_VIEW, NULL));
  badge = volume_part ("pane.badge");
  g_autoptr (TdJobItem) item = item_followed (TD_REMOTE_WATCH);
  td_volume_view_show_job (volume_view, item);
  g_assert_true (td_volume_view_get_job (volume_view) == item);
  g_autofree char *words = words_of ("PROGRESS");
  assert_page ("waiting");
  g_assert_cmpstr (adw_status_page_get_title (volume_part ("waiting_page")), ==, "A ball");
  g_assert_cmpstr (adw_status_page_get_description (volume_part ("waiting_page")), ==, words);
  following.slices = td_slice_store_new (VOLUME_NX, VOLUME_NY, VOLUME_N, TD_SLICE_STORE_BYTES);
  td_job_item_start (item);
  look_again ();
  assert_page ("volume");
  assert_slice (4, "PROGRESS");
  td_test_reaches_all (volume_part ("adjustment"), VOLUME_N);
  g_assert_false (gtk_widget_get_visible (badge));
  /* The first that is finished, and nearest to the middle. */
  put_slice (0, 100);
  put_slice (6, 106);
  put_slice (8, 108);
  td_test_wait (shows_value, GINT_TO_POINTER (106), "the first slices");
  assert_slice (6, "PROGRESS");
  g_assert_cmpfloat (td_slice_view_get_pixel_mm (td_image_pane_view (volume_part ("pane"))), ==,
                     0.25);
  put_slice (4, 104);
  look_again ();
  assert_slice (6, "PROGRESS");
  /* By hand: to what is finished, and to what is not until it is. */
  gpointer picture = td_image_pane_view (volume_part ("pane"));
  g_signal_emit_by_name (picture, "nudged", -1, -1, FALSE);
  assert_slice (4, "PROGRESS");
  td_test_wait (shows_value, GINT_TO_POINTER (104), "another slice");
  g_signal_emit_by_name (picture, "nudged", 0, -1, FALSE);
  assert_slice (3, "PROGRESS");
  td_test_wait (says_unfinished, NULL, "that it is not finished");
  put_slice (2, 102);
  look_again ();
  assert_slice (3, "PROGRESS");
  put_slice (3, 103);
  td_test_wait (shows_value, GINT_TO_POINTER (103), "the slice");
  /* Passes take each other's place. */
  told.method = "sirt";
  told.passes = 2;
  told.n_passes = 5;
  put_slice (3, 203);
  td_test_wait (shows_value, GINT_TO_POINTER (203), "the next pass");
  look_again ();
  g_assert_cmpstr (gtk_label_get_text (GTK_LABEL (badge)), ==, estimate);
  told.slices_done = 1;
  look_again ();
  g_assert_cmpstr (gtk_label_get_text (GTK_LABEL (badge)), ==, sirt);
  told.method = NULL;
  look_again ();
  g_assert_false (gtk_widget_get_visible (badge));
  /* It fails, and its slices are still there; nothing is shown of none. */
  told = (Told) { .state = FAILED, .why = "it broke", .n_slices = VOLUME_N };
  following.over = TRUE;
  td_test_wait (is_looked_at, GUINT_TO_POINTER (n_changed + 1), "the end");
  assert_page ("volume");
  assert_slice (3, "Failed: it broke");
  td_volume_view_show_job (volume_view, NULL);
  g_assert_null (td_volume_view_get_job (volume_view));
  g_assert_null (td_image_pane_get_image (volume_part ("pane")));
  assert_page ("empty");
  g_clear_pointer (&following.slices, td_slice_store_unref);
  g_autoptr (TdJobItem) bare = td_job_item_new (job, TD_REMOTE_WATCH);
  td_volume_view_show_job (volume_view, bare);
  assert_page ("empty");
  /* Where memory is scarce they are reduced. */
  told = (Told) { .state = RUNS, .left_s = -1, .n_slices = VOLUME_N };
  g_autoptr (TdJobItem) large = item_followed (TD_REMOTE_WATCH);
  following.slices = td_slice_store_new (VOLUME_NX, VOLUME_NY, VOLUME_N,
                                         VOLUME_N * VOLUME_NX * VOLUME_NY * sizeof (float) / 4);
  g_assert_cmpuint (td_slice_store_factor (following.slices), ==, 2);
  td_volume_view_show_job (volume_view, large);
  td_job_item_start (large);
  look_again ();
  assert_slice (4, "PROGRESS; shown at 1/2 until written");
  told.state = DONE;
  following.over = TRUE;
  td_test_wait (is_looked_at, GUINT_TO_POINTER (n_changed + 1), "the end");
  assert_page ("browser");
  g_clear_pointer (&following.slices, td_slice_store_unref);
  g_object_unref (volume_view);
}

/* ── All jobs ── */

static gboolean
button_is_down (gpointer button)
{
  return gtk_toggle_button_get_active (button);
}

static gboolean
button_is_up (gpointer button)
{
  return !gtk_toggle_button_get_active (button);
}

static gboolean
queue_is (gpointer paused)
{
  return g_atomic_int_get (&queue_is_paused) == GPOINTER_TO_INT (paused);
}

static void
on_any_requested (GtkWidget *window, TdJobItem *item, GString *asked)
{
  const GSignalInvocationHint *hint = g_signal_get_invocation_hint (window);

  g_string_append_printf (asked, "%s %s ", g_quark_to_string (hint->detail),
                          td_job_item_facts (item)->title);
}

static void
on_batch_requested (GtkWidget *window, GString *asked)
{
  g_string_append (asked, "batch ");
}

/* The newest first, as soon as there are any. The button says what is so, and what did not come
   about is told. */
static void
test_window (void)
{
  static const char *const ids[][2] = { { "0102", "two" }, { "0103", "three" }, { "0101", "one" } };
  g_autoptr (TdJobQueue) jobs = g_object_new (TD_TYPE_JOB_QUEUE, NULL);
  g_autoptr (GString) asked = g_string_new (NULL);

  g_atomic_int_set (&queue_is_paused, TRUE);
  GtkWidget *window = td_jobs_window_new (NULL, jobs);
  GtkWidget *stack = td_test_part (window, "stack"), *list = td_test_part (window, "list");
  gpointer pause = td_test_part (window, "pause");
  gtk_window_present (GTK_WINDOW (window));
  td_test_wait (button_is_down, pause, "the queue to be looked at");
  g_assert_cmpstr (gtk_stack_get_visible_child_name (GTK_STACK (stack)), ==, "empty");
  for (guint i = 0; i < G_N_ELEMENTS (ids); i++) {
    told = (Told) { .state = DONE, .n_slices = 1, .id = ids[i][0], .title = ids[i][1] };
    g_autoptr (TdJobItem) item = td_job_item_new (job, TD_REMOTE_WATCH);
    td_job_queue_add (jobs, item);
    g_assert_cmpstr (gtk_stack_get_visible_child_name (GTK_STACK (stack)), ==, "jobs");
  }
  g_assert_cmpuint (following.n, ==, 0); /* nobody follows what is done */
  g_signal_connect (window, "requested", G_CALLBACK (on_any_requested), asked);
  g_signal_connect (window, "batch-requested", G_CALLBACK (on_batch_requested), asked);
  for (int i = 0; i < 3; i++) {
    GtkListBoxRow *line = gtk_list_box_get_row_at_index (GTK_LIST_BOX (list), i);
    GtkWidget *row = td_test_find (GTK_WIDGET (line), TD_TYPE_JOB_ROW, NULL, NULL);
    td_test_click (td_test_part (row, i == 1 ? "dismiss" : "show"));
  }
  td_test_click (td_test_button (window, "Batch…"));
  g_assert_cmpstr (asked->str, ==, "show three dismiss two show one batch ");
  gtk_toggle_button_set_active (pause, FALSE);
  td_test_wait (queue_is, GINT_TO_POINTER (FALSE), "the queue to go on");
  gtk_toggle_button_set_active (pause, TRUE);
  td_test_wait (queue_is, GINT_TO_POINTER (TRUE), "the queue to be paused");
  gtk_toggle_button_set_active (pause, FALSE);
  td_test_wait (queue_is, GINT_TO_POINTER (FALSE), "the queue to go on");
  g_atomic_int_set (&queue_is_stuck, TRUE);
  gtk_toggle_button_set_active (pause, TRUE);
  td_test_wait (button_is_up, pause, "the button to say what is so");
  td_test_wait (td_test_message_is_shown, NULL, "the message");
  GtkWindow *message = td_test_other_window (ADW_TYPE_MESSAGE_DIALOG);
  g_assert_cmpstr (adw_message_dialog_get_heading (ADW_MESSAGE_DIALOG (message)), ==,
                   "The queue goes on as it was");
  g_atomic_int_set (&queue_is_stuck, FALSE);
  gtk_window_destroy (message);
  gtk_window_destroy (GTK_WINDOW (window));
}

int
main (int argc, char **argv)
{
  g_autoptr (AdwApplication) application = td_test_start_parts (&argc, &argv);

  g_test_add_func ("/job-rows/states", test_states);
  g_test_add_func ("/job-rows/ends", test_ends);
  g_test_add_func ("/job-rows/asked", test_asked);
  g_test_add_func ("/job-rows/log", test_log);
  g_test_add_func ("/job-rows/picture", test_picture);
  g_test_add_func ("/job-rows/table", test_table);
  g_test_add_func ("/job-rows/slices", test_slices);
  g_test_add_func ("/job-rows/window", test_window);
  int status = g_test_run ();
  td_test_folder_remove ();
  td_device_leave (status);
}
