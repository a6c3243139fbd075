/* SPDX-License-Identifier: GPL-3.0-or-later */
/* When Slurm is asked and what its answers mean, with commands that are none and a clock that
   stands still until it is set. */
#include <glib/gstdio.h>

#include "cluster/slurm.h"
#include "dataset/error.h"
#include "tests/unit/test-folder.h"

static TestFolder *folder;
#define UNKNOWN "slurm_load_jobs error: Invalid job id specified"
#define SILENT "slurm_load_jobs error: Unable to contact slurm controller (connect failure)"

static gint64 now_us = 1000 * G_USEC_PER_SEC;

gint64 g_get_monotonic_time (void); /* for the library that is tested, too */

gint64
g_get_monotonic_time (void)
{
  return now_us;
}

static void
after (double seconds)
{
  now_us += (gint64) (seconds * G_USEC_PER_SEC);
}

/* A command tells that it was asked, and about whom; then it says @text, as an error if it fails.
 */
static void
say (const char *command, const char *text, int status)
{
  g_autofree char *program = test_folder_file (folder, command);
  g_autofree char *script
      = g_strdup_printf ("#!/bin/sh\nfor last; do :; done\n"
                         "[ %s = sacct ] && last=$5\n" /* sacct -n -X -P -j ID … */
                         "echo \"%s $last\" >>'%s/asked'\ncat <<'END'\n%sEND\n"
                         "[ %d = 0 ] || echo '%s' >&2\nexit %d\n",
                         command, command, folder->path, status ? "" : text, status, text, status);

  g_assert_true (g_file_set_contents (program, script, -1, NULL));
  g_assert_cmpint (g_chmod (program, 0700), ==, 0);
}

/* A host of its own for each test: what is known of one says nothing of another. */
static TdShell *
host (const char *name)
{
  g_autofree char *prelude = g_strdup_printf ("PATH='%s':$PATH; host=%s", folder->path, name);

  say ("scontrol", UNKNOWN, 1);
  say ("sacct", "", 0);
  return td_shell_get (NULL, NULL, prelude);
}

/* Asks about a job, and checks what came of it and which commands ran. */
static void
assert_asks (TdShell *shell, const char *id, guint patience_s, TdSlurmPhase phase,
             const char *commands)
{
  g_autofree char *log = test_folder_file (folder, "asked"), *asked = NULL;
  g_auto (TdSlurmState) state = { 0 };
  g_autoptr (GError) error = NULL;

  g_assert_true (g_file_set_contents (log, "", 0, NULL));
  td_slurm_ask (shell, &(TdSlurmJob) { (char *) id, NULL }, patience_s, &state, NULL, &error);
  g_assert_no_error (error);
  g_assert_true (g_file_get_contents (log, &asked, NULL, NULL));
  g_assert_cmpstr (g_strdelimit (asked, "\n", ';'), ==, commands);
  g_assert_cmpint (state.phase, ==, phase);
}

#define SQUEUE "squeue %i|%T|%r;"

/* One squeue for all jobs, every 15 s; what has ended is not asked about again. */
static void
test_queue (void)
{
  TdShell *shell = host ("queue");

  say ("squeue", "7|RUNNING|None\n8|PENDING|Resources\n9|COMPLETED|None\n", 0);
  assert_asks (shell, "7", 0, TD_SLURM_RUNNING, SQUEUE);
  assert_asks (shell, "8", 0, TD_SLURM_PENDING, "");
  after (14.999);
  assert_asks (shell, "8", 0, TD_SLURM_PENDING, "");
  after (0.001);
  say ("squeue", "8|RUNNING|None\n9|COMPLETED|None\n", 0);
  assert_asks (shell, "9", 1, TD_SLURM_ENDED, "");
  assert_asks (shell, "8", 0, TD_SLURM_RUNNING, SQUEUE);
  assert_asks (shell, "9", 1, TD_SLURM_ENDED, "");
}

/* A job that is looked at closely is asked about alone, so often and no oftener. */
static void
test_patience (void)
{
  TdShell *shell = host ("patience");

  say ("squeue", "7|RUNNING|None\n8|RUNNING|None\n", 0);
  say ("scontrol", "JobId=7 JobName=a b UserId=me(1) JobState=RUNNING Reason=None Requeue=1\n", 0);
  assert_asks (shell, "7", 5, TD_SLURM_RUNNING, SQUEUE "scontrol 7;");
  after (4.999);
  assert_asks (shell, "7", 5, TD_SLURM_RUNNING, "");
  assert_asks (shell, "8", 5, TD_SLURM_RUNNING, "");
  assert_asks (shell, "7", 0, TD_SLURM_RUNNING, "");
  after (0.001);
  say ("scontrol", "JobId=7 JobName=a JobState=TIMEOUT Reason=TimeLimit Requeue=1\n", 0);
  assert_asks (shell, "7", 5, TD_SLURM_ENDED, "scontrol 7;");
  after (9);
  assert_asks (shell, "7", 5, TD_SLURM_ENDED, "");
}

/* A job whose run has failed may be queued again: it is looked up at once, and its restarts are
   known then. One that has ended is not. */
static void
test_at_once (void)
{
  TdShell *shell = host ("at once");
  g_auto (TdSlurmState) state = { 0 };
  g_autoptr (GError) error = NULL;

  say ("squeue", "7|RUNNING|None\n8|PENDING|Resources\n9|FAILED|None\n", 0);
  say ("scontrol", "JobId=7 JobName=a JobState=PENDING Reason=BeginTime Requeue=1 Restarts=2 B=1\n",
       0);
  assert_asks (shell, "7", 5, TD_SLURM_PENDING, SQUEUE "scontrol 7;");
  td_slurm_ask (shell, &(TdSlurmJob) { (char *) "7", NULL }, 0, &state, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpint (state.restarts, ==, 2);
  assert_asks (shell, "8", TD_SLURM_AT_ONCE, TD_SLURM_PENDING, "scontrol 8;");
  assert_asks (shell, "9", TD_SLURM_AT_ONCE, TD_SLURM_ENDED, "");
  assert_asks (shell, "10", TD_SLURM_AT_ONCE, TD_SLURM_UNKNOWN, "");
}

/* A job that squeue does not list: scontrol, then the accounts; at first every 4 s. */
static void
test_unlisted (void)
{
  TdShell *shell = host ("unlisted");

  say ("squeue", "", 0);
  say ("sacct", "7|CANCELLED by 0|None\n", 0);
  assert_asks (shell, "7", 0, TD_SLURM_ENDED, SQUEUE "scontrol 7;sacct 7;");
  say ("sacct", "", 0);
  assert_asks (shell, "8", 0, TD_SLURM_UNKNOWN, "");
  after (3.999);
  assert_asks (shell, "8", 0, TD_SLURM_UNKNOWN, "");
  after (0.001);
  assert_asks (shell, "8", 0, TD_SLURM_UNKNOWN, "scontrol 8;sacct 8;");
  after (5);
  assert_asks (shell, "8", 0, TD_SLURM_UNKNOWN, ""); /* known to be unknown, until squeue runs */
  after (6);
  assert_asks (shell, "8", 0, TD_SLURM_UNKNOWN, SQUEUE "scontrol 8;sacct 8;");
}

static void
assert_refuses (TdShell *shell, const char *says)
{
  g_auto (TdSlurmState) state = { 0 };
  g_autoptr (GError) error = NULL;

  g_assert_false (
      td_slurm_ask (shell, &(TdSlurmJob) { (char *) "7", NULL }, 5, &state, NULL, &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_IO);
  g_assert_cmpstr (error->message, ==, says);
}

static void
test_refused (void)
{
  TdShell *shell = host ("refused");

  say ("squeue", "squeue is tired", 1);
  assert_refuses (shell, "squeue on this computer says: squeue is tired");
}

/* A controller that does not answer for a while says nothing of the job, which runs on. The
   accounts may still know it. */
static void
test_silent (void)
{
  TdShell *shell = host ("silent");

  say ("squeue", "7|RUNNING|None\n", 0);
  say ("scontrol", SILENT, 1);
  assert_refuses (shell, "scontrol on this computer says: " SILENT);
  after (5);
  say ("sacct", "7|TIMEOUT|None\n", 0);
  assert_asks (shell, "7", 5, TD_SLURM_ENDED, "scontrol 7;sacct 7;");
  /* Nor is a job unknown that squeue does not list, while nobody is asked once more. */
  TdShell *other = host ("silent of all");
  say ("squeue", "", 0);
  say ("scontrol", SILENT, 1);
  for (guint i = 0; i < 3; i++) {
    assert_refuses (other, "scontrol on this computer says: " SILENT);
    after (1);
  }
  after (3);
  say ("scontrol", UNKNOWN, 1);
  assert_asks (other, "7", 5, TD_SLURM_UNKNOWN, "scontrol 7;sacct 7;");
}

/* Who gives up waiting learns nothing, and the next one asks as if nobody had. */
static void
test_given_up (void)
{
  TdShell *shell = host ("given up");
  const TdSlurmJob job = { (char *) "7", NULL };
  g_autoptr (GCancellable) cancelled = g_cancellable_new ();

  g_cancellable_cancel (cancelled);
  say ("squeue", "7|RUNNING|None\n", 0);
  say ("scontrol", "JobId=7 JobName=a JobState=TIMEOUT Reason=TimeLimit Requeue=1\n", 0);
  for (guint known = 0; known < 2; known++) {
    g_auto (TdSlurmState) given_up = { 0 }, answered = { 0 };
    g_autoptr (GError) error = NULL;
    g_assert_false (td_slurm_ask (shell, &job, 5, &given_up, cancelled, &error));
    g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
    g_assert_cmpint (given_up.phase, ==, known ? TD_SLURM_RUNNING : TD_SLURM_UNKNOWN);
    g_assert_true (td_slurm_ask (shell, &job, known ? 5 : 0, &answered, NULL, NULL));
    g_assert_cmpint (answered.phase, ==, known ? TD_SLURM_ENDED : TD_SLURM_RUNNING);
  }
}

/* Jobs of one number on two clusters, and through two hosts. */
static void
test_clusters (void)
{
  static const struct {
    const char *cluster, *state, *asks;
  } jobs[] = { { NULL, "RUNNING", SQUEUE },
               { "west", "PENDING", SQUEUE },
               { "", "RUNNING", "" },
               { "west", "PENDING", "" } };
  TdShell *shell = host ("clusters");
  g_autofree char *log = test_folder_file (folder, "asked");

  for (guint i = 0; i < G_N_ELEMENTS (jobs); i++) {
    g_autofree char *line = g_strdup_printf ("7|%s|None\n", jobs[i].state), *asked = NULL;
    g_auto (TdSlurmState) state = { 0 };

    say ("squeue", i < 2 ? line : "", 0);
    g_assert_true (g_file_set_contents (log, "", 0, NULL));
    g_assert_true (td_slurm_ask (shell, &(TdSlurmJob) { (char *) "7", (char *) jobs[i].cluster }, 0,
                                 &state, NULL, NULL));
    g_assert_cmpstr (state.state, ==, jobs[i].state);
    g_assert_true (g_file_get_contents (log, &asked, NULL, NULL));
    g_assert_cmpstr (g_strdelimit (asked, "\n", ';'), ==, jobs[i].asks);
  }
}

/* Slurm's words, what they are to a job, and what is said of its end. */
static void
test_words (void)
{
  static const struct {
    const char *word, *reason;
    TdSlurmPhase phase;
    const char *says;
  } words[] = {
    { "PENDING", "Priority", TD_SLURM_PENDING, "Slurm says PENDING, Priority" },
    { "REQUEUED", "None", TD_SLURM_PENDING, "Slurm says REQUEUED" },
    { "SPECIAL_EXIT", "", TD_SLURM_PENDING, "Slurm says SPECIAL_EXIT" },
    { "RESV_DEL_HOLD", "None", TD_SLURM_PENDING, "Slurm says RESV_DEL_HOLD" },
    { "CONFIGURING", "None", TD_SLURM_RUNNING, "Slurm says CONFIGURING" },
    { "COMPLETING", "None", TD_SLURM_RUNNING, "Slurm says COMPLETING" },
    { "RESIZING", "None", TD_SLURM_RUNNING, "Slurm says RESIZING" },
    { "COMPLETED", "None", TD_SLURM_ENDED, "Slurm says COMPLETED" },
    { "FAILED", "NonZeroExitCode", TD_SLURM_ENDED, "Slurm says FAILED, NonZeroExitCode" },
    { "TIMEOUT", "TimeLimit", TD_SLURM_ENDED, "Slurm says TIMEOUT: the job reached its wall time" },
    { "CANCELLED by 0", "None", TD_SLURM_ENDED,
      "Slurm says CANCELLED by 0: the job was cancelled" },
    { "NODE_FAIL", "None", TD_SLURM_ENDED, "Slurm says NODE_FAIL: a node failed" },
    { "OUT_OF_MEMORY", "None", TD_SLURM_ENDED, "Slurm says OUT_OF_MEMORY: a node ran out of" },
    { "DEADLINE", "None", TD_SLURM_ENDED, "Slurm says DEADLINE: the job's deadline passed" },
  };
  TdShell *shell = host ("words");
  g_autoptr (GString) lines = g_string_new ("no job\n|RUNNING|None\n99||None\n");

  for (guint i = 0; i < G_N_ELEMENTS (words); i++)
    g_string_append_printf (lines, "%u|%s|%s\n", i, words[i].word, words[i].reason);
  say ("squeue", lines->str, 0);
  for (guint i = 0; i < G_N_ELEMENTS (words); i++) {
    g_autofree char *id = g_strdup_printf ("%u", i);
    g_auto (TdSlurmState) state = { 0 };
    g_autoptr (GError) error = NULL;
    td_slurm_ask (shell, &(TdSlurmJob) { (char *) id, NULL }, 0, &state, NULL, &error);
    g_assert_no_error (error);
    g_assert_cmpint (state.phase, ==, words[i].phase);
    g_assert_cmpstr (state.state, ==, words[i].word);
    g_autoptr (TdMessage) message = td_slurm_explain (&state);
    g_autofree char *text = td_message_text (message, NULL);
    if (strstr (words[i].says, ": ")) /* and what to do */
      g_assert_true (g_str_has_prefix (text, words[i].says));
    else
      g_assert_cmpstr (text, ==, words[i].says);
  }
  g_assert_null (td_slurm_explain (&(TdSlurmState) { 0 }));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  folder = test_folder_new ();
  g_test_add_func ("/slurm/queue", test_queue);
  g_test_add_func ("/slurm/patience", test_patience);
  g_test_add_func ("/slurm/at-once", test_at_once);
  g_test_add_func ("/slurm/unlisted", test_unlisted);
  g_test_add_func ("/slurm/refused", test_refused);
  g_test_add_func ("/slurm/silent", test_silent);
  g_test_add_func ("/slurm/given-up", test_given_up);
  g_test_add_func ("/slurm/clusters", test_clusters);
  g_test_add_func ("/slurm/words", test_words);
  const int status = g_test_run ();
  test_folder_free (folder);
  return status;
}
