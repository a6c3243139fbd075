/* SPDX-License-Identifier: GPL-3.0-or-later */
/* TdLatest: the newest request wins, quick ones are all shown, and nothing comes after the end. */
#include "ui/latest.h"

#define A_WHILE_US 300000 /* somewhat less than latest.c has */
#define MOST_TRIES 200

typedef struct {
  GPtrArray *shown;  /* of int: requests shown at their end */
  GPtrArray *posted; /* of int: requests shown early */
  GPtrArray *late;   /* of int: shown while a newer one waited */
  TdLatest *latest;  /* that shows */
  guint cancelled, asked, freed_requests, freed_results;
  GMutex lock;
  GCond cond;
  gboolean gate_open; /* slow requests wait for it, or for their cancelling */
} Record;

static Record record;

static void
record_init (void)
{
  record.shown = g_ptr_array_new ();
  record.posted = g_ptr_array_new ();
  record.late = g_ptr_array_new ();
  record.cancelled = record.asked = record.freed_requests = record.freed_results = 0;
  record.gate_open = FALSE;
}

static guint
record_freed (void)
{
  g_mutex_lock (&record.lock);
  guint freed = record.freed_requests;
  g_mutex_unlock (&record.lock);
  return freed;
}

/* A thread may free its request after the test has seen its end. The next test would count it. */
static void
wait_for_requests (void)
{
  while (record_freed () < record.asked) {
    g_main_context_iteration (NULL, FALSE);
    g_thread_yield ();
  }
  g_assert_cmpuint (record.freed_requests, ==, record.asked);
}

static void
record_clear (void)
{
  wait_for_requests ();
  g_ptr_array_unref (record.shown);
  g_ptr_array_unref (record.posted);
  g_ptr_array_unref (record.late);
}

static void
free_request (gpointer request)
{
  g_mutex_lock (&record.lock);
  record.freed_requests++;
  g_mutex_unlock (&record.lock);
}

static void
free_result (gpointer result)
{
  record.freed_results++;
}

static void
on_cancelled (GCancellable *cancellable, gpointer user)
{
  g_mutex_lock (&record.lock);
  g_cond_broadcast (&record.cond);
  g_mutex_unlock (&record.lock);
}

/* Waits for the gate or for being cancelled. */
static gboolean
pass_gate (GCancellable *cancellable, GError **error)
{
  gulong id = g_cancellable_connect (cancellable, G_CALLBACK (on_cancelled), NULL, NULL);

  g_mutex_lock (&record.lock);
  while (!record.gate_open && !g_cancellable_is_cancelled (cancellable))
    g_cond_wait (&record.cond, &record.lock);
  g_mutex_unlock (&record.lock);
  g_cancellable_disconnect (cancellable, id);
  return !g_cancellable_set_error_if_cancelled (cancellable, error);
}

/* Requests below 100 are done at once. Those from 100 on post early, those from 150 on post what is
   not enough, and both then wait at the gate. Those from 200 on only wait. */
static gpointer
work (gpointer request, TdLatestRun *run, GCancellable *cancellable, GError **error)
{
  if (GPOINTER_TO_INT (request) < 100)
    return request;
  if (GPOINTER_TO_INT (request) < 200)
    td_latest_post (run, request, GPOINTER_TO_INT (request) < 150);
  return pass_gate (cancellable, error) ? request : NULL;
}

static void
show (gpointer result, const GError *error, gboolean last, gpointer user)
{
  if (td_latest_outdated (record.latest))
    g_ptr_array_add (record.late, result);
  if (!result)
    record.cancelled++;
  else
    g_ptr_array_add (last ? record.shown : record.posted, result);
}

static TdLatest *
new_latest (void)
{
  record_init ();
  record.latest = td_latest_new (work, free_request, show, free_result, NULL);
  return record.latest;
}

static void
ask (TdLatest *latest, int request)
{
  record.asked++;
  td_latest_request (latest, GINT_TO_POINTER (request));
}

static void
settle (TdLatest *latest)
{
  while (td_latest_busy (latest))
    g_main_context_iteration (NULL, TRUE);
}

static int
last_shown (void)
{
  g_assert_cmpuint (record.shown->len, >, 0);
  return GPOINTER_TO_INT (g_ptr_array_index (record.shown, record.shown->len - 1));
}

static void
test_newest_wins (void)
{
  TdLatest *latest = new_latest ();

  for (int i = 1; i <= 50; i++)
    ask (latest, i);
  settle (latest);
  g_assert_cmpint (last_shown (), ==, 50);
  /* The first one ran, the last one was shown; those between may have been passed over. */
  g_assert_cmpint (GPOINTER_TO_INT (g_ptr_array_index (record.shown, 0)), ==, 1);
  g_assert_cmpuint (record.shown->len, ==, 2);
  td_latest_free (latest);
  g_assert_cmpuint (record.freed_results, ==, 2);
  record_clear ();
}

/* A slow request that has shown its early picture is cancelled by the next one. */
static void
test_early_then_cancelled (void)
{
  TdLatest *latest = new_latest ();

  ask (latest, 100);
  while (record.posted->len == 0)
    g_main_context_iteration (NULL, TRUE);
  ask (latest, 7);
  settle (latest);
  g_assert_cmpint (last_shown (), ==, 7);
  g_assert_cmpuint (record.shown->len, ==, 1);
  g_assert_cmpuint (record.cancelled, ==, 0);
  td_latest_free (latest);
  record_clear ();
}

/* One that has shown only something on the way is left to finish for a while. FALSE: on this
   machine that while was over. */
static gboolean
not_enough_goes_on (void)
{
  const gint64 start_us = g_get_monotonic_time ();
  TdLatest *latest = new_latest ();

  ask (latest, 150);
  while (record.posted->len == 0)
    g_main_context_iteration (NULL, TRUE);
  g_mutex_lock (&record.lock);
  record.gate_open = TRUE;
  g_cond_broadcast (&record.cond);
  g_mutex_unlock (&record.lock);
  ask (latest, 7);
  settle (latest);
  const gboolean in_time = g_get_monotonic_time () - start_us < A_WHILE_US;
  g_assert_cmpint (last_shown (), ==, 7);
  if (in_time) {
    g_assert_cmpuint (record.shown->len, ==, 2);
    g_assert_cmpint (GPOINTER_TO_INT (g_ptr_array_index (record.shown, 0)), ==, 150);
    /* It was known then that this is not what was asked for last. */
    g_assert_cmpuint (record.late->len, ==, 1);
    g_assert_cmpint (GPOINTER_TO_INT (g_ptr_array_index (record.late, 0)), ==, 150);
  }
  td_latest_free (latest);
  record_clear ();
  return in_time;
}

static void
test_not_enough_goes_on (void)
{
  guint tries = 1;

  while (!not_enough_goes_on ())
    g_assert_cmpuint (tries++, <, MOST_TRIES);
}

/* One that shows nothing loses its turn after a while. */
static void
test_patience_ends (void)
{
  TdLatest *latest = new_latest ();

  ask (latest, 200);
  ask (latest, 8);
  settle (latest);
  g_assert_cmpuint (record.shown->len, ==, 1);
  g_assert_cmpint (last_shown (), ==, 8);
  td_latest_free (latest);
  record_clear ();
}

static void
test_nothing_after_the_end (void)
{
  TdLatest *latest = new_latest ();

  ask (latest, 200);
  ask (latest, 201);
  td_latest_free (latest);
  wait_for_requests ();
  g_assert_cmpuint (record.shown->len + record.posted->len + record.cancelled, ==, 0);
  record_clear ();
}

static void
test_cancel_and_go_on (void)
{
  TdLatest *latest = new_latest ();

  ask (latest, 200);
  td_latest_cancel (latest);
  g_assert_false (td_latest_busy (latest));
  ask (latest, 9);
  settle (latest);
  g_assert_cmpuint (record.shown->len, ==, 1);
  g_assert_cmpint (last_shown (), ==, 9);
  td_latest_free (latest);
  record_clear ();
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/latest/newest-wins", test_newest_wins);
  g_test_add_func ("/latest/early-then-cancelled", test_early_then_cancelled);
  g_test_add_func ("/latest/not-enough-goes-on", test_not_enough_goes_on);
  g_test_add_func ("/latest/patience-ends", test_patience_ends);
  g_test_add_func ("/latest/nothing-after-the-end", test_nothing_after_the_end);
  g_test_add_func ("/latest/cancel-and-go-on", test_cancel_and_go_on);
  return g_test_run ();
}
