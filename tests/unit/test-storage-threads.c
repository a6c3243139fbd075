/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Storage that answers late gets more requests at once, and reads follow each other without a
 * pause. */
#include <gio/gio.h>
#include <time.h>

#include "dataset/storage-threads.h"

#define REMEMBERED 76                         /* threads */
#define PATIENCE_US (20 * G_TIME_SPAN_SECOND) /* then something that should come does not */

/* ── The clock ── */

/* Of this thread: what it was told last, and what it is told from now on, or 0. A busy machine
   takes longer for a piece than its storage does, which is not what is looked at here. */
static _Thread_local gint64 told_us, own_us;

gint64 g_get_monotonic_time (void); /* for the library that is tested, too */

gint64
g_get_monotonic_time (void)
{
  struct timespec now;

  clock_gettime (CLOCK_MONOTONIC, &now);
  told_us = own_us ? own_us : now.tv_sec * G_USEC_PER_SEC + now.tv_nsec / 1000;
  return told_us;
}

/* Takes the time since the piece was begun, and is told that no more has passed. */
static void
take_time (gint64 us)
{
  own_us = told_us + us;
  g_usleep ((gulong) us);
}

/* ── Storage that answers late ── */

typedef struct {
  guint under_way, most; /* atomic */
  gint gave_up;          /* atomic */
  guint done[4000];      /* atomic: how often each piece was done */
} Late;

static gboolean
late_piece (guint index, gpointer scratch, gpointer user, GError **error)
{
  Late *late = user;
  const guint now = (guint) g_atomic_int_add ((gint *) &late->under_way, 1) + 1;
  guint most = (guint) g_atomic_int_get ((gint *) &late->most);

  while (now > most
         && !g_atomic_int_compare_and_exchange ((gint *) &late->most, (gint) most, (gint) now))
    most = (guint) g_atomic_int_get ((gint *) &late->most);
  take_time (6000);
  g_atomic_int_inc ((gint *) &late->done[index]);
  g_atomic_int_add ((gint *) &late->under_way, -1);
  return TRUE;
}

/* The caller works, too, and has the time again afterwards. */
static void
run (const TdStorageWork *work)
{
  g_autoptr (GError) error = NULL;
  const gboolean done = td_storage_run (work, NULL, &error);

  own_us = 0;
  g_assert_no_error (error);
  g_assert_true (done);
}

/* More and more is asked for at once, until the storage has enough to do. */
static void
test_late (void)
{
  g_autofree Late *late = g_new0 (Late, 1);
  const TdStorageWork work
      = { .count = G_N_ELEMENTS (late->done), .body = late_piece, .user = late, .small = TRUE };

  run (&work);
  for (guint i = 0; i < G_N_ELEMENTS (late->done); i++)
    g_assert_cmpuint (late->done[i], ==, 1);
  g_test_message ("%u at once", late->most);
  g_assert_cmpuint (late->most, >, 64);
}

/* Answered when so many were asked for; a busy machine starts its threads late. Until then nothing
   tells the reader to ask for more. */
static gboolean
very_late_piece (guint index, gpointer scratch, gpointer user, GError **error)
{
  Late *late = user;
  const gint64 deadline = g_get_monotonic_time () + PATIENCE_US;

  g_atomic_int_inc ((gint *) &late->under_way);
  while ((guint) g_atomic_int_get ((gint *) &late->under_way) < REMEMBERED
         && g_get_monotonic_time () < deadline)
    g_usleep (1000);
  if ((guint) g_atomic_int_get ((gint *) &late->under_way) < REMEMBERED)
    g_atomic_int_set (&late->gave_up, TRUE);
  return TRUE;
}

static gboolean
quick_piece (guint index, gpointer scratch, gpointer user, GError **error)
{
  return TRUE;
}

/* Reads begin with as many threads as the last ones came to, whatever was written meanwhile, and
   however few pieces some reads have. */
static void
test_remembered (void)
{
  g_autofree Late *late = g_new0 (Late, 1), *few = g_new0 (Late, 1), *again = g_new0 (Late, 1);
  const TdStorageWork works[] = {
    { .count = 2000, .body = late_piece, .user = late, .small = TRUE },
    { .count = 500, .body = quick_piece, .small = TRUE, .writes = TRUE },
    { .count = 10, .body = late_piece, .user = few, .small = TRUE },
    { .count = 120, .body = very_late_piece, .user = again, .small = TRUE },
  };

  for (guint i = 0; i < G_N_ELEMENTS (works); i++)
    run (&works[i]);
  g_test_message ("%u at once", late->most);
  g_assert_false (again->gave_up);
}

/* ── Storage that is slow ── */

#define LINE_US 8000 /* that each piece has the line for itself */
#define SLOW_PIECES 160u

typedef struct {
  GMutex lock;
  guint under_way; /* atomic; requests are served as they come */
  guint most;      /* once the run knows its storage; under the lock */
} Slow;

static gboolean
slow_piece (guint index, gpointer scratch, gpointer user, GError **error)
{
  Slow *slow = user;
  const guint now = (guint) g_atomic_int_add ((gint *) &slow->under_way, 1) + 1;

  g_mutex_lock (&slow->lock);
  if (index > SLOW_PIECES * 2 / 3)
    slow->most = MAX (slow->most, now);
  g_mutex_unlock (&slow->lock);
  take_time (now * LINE_US);
  g_atomic_int_add ((gint *) &slow->under_way, -1);
  return TRUE;
}

/* Where all requests share a slow line, more of them at once only make a cancelled run wait. Those
   under way take a tenth of a second. */
static void
test_slow (void)
{
  for (guint again = 0; again < 2; again++) {
    Slow slow = { .most = 0 };
    const TdStorageWork work = {
      .count = SLOW_PIECES, .body = slow_piece, .user = &slow, .small = TRUE, .writes = TRUE
    };

    g_mutex_init (&slow.lock);
    run (&work);
    g_mutex_clear (&slow.lock);
    g_test_message ("%u at once", slow.most);
    g_assert_cmpuint (slow.most, <=, 16);
  }
}

#define STEADY_LINE_US 1000
#define STEADY_LATENCY_US 30000
#define STEADY_PIECES 500u

typedef struct {
  guint under_way; /* atomic */
  guint n[STEADY_PIECES];
} Steady;

/* Answered late, beside the others, and then moved by the line that all share. */
static gboolean
steady_piece (guint index, gpointer scratch, gpointer user, GError **error)
{
  Steady *steady = user;

  steady->n[index] = (guint) g_atomic_int_add ((gint *) &steady->under_way, 1) + 1;
  take_time (MAX (STEADY_LATENCY_US + STEADY_LINE_US, steady->n[index] * STEADY_LINE_US));
  g_atomic_int_add ((gint *) &steady->under_way, -1);
  return TRUE;
}

static int
steady_compare (gconstpointer a, gconstpointer b)
{
  return *(const guint *) a < *(const guint *) b ? -1 : 1;
}

/* The requests that are under way when some threads too many are seen are all slow. The line has
   something to do all the same: not one thread for each of them goes. */
static void
test_steady (void)
{
  g_autofree Steady *steady = g_new0 (Steady, 1);
  const TdStorageWork work
      = { .count = STEADY_PIECES, .body = steady_piece, .user = steady, .small = TRUE };

  run (&work);
  qsort (steady->n + 200, 200, sizeof *steady->n, steady_compare);
  g_test_message ("%u to %u at once, median %u", steady->n[200], steady->n[399], steady->n[300]);
  g_assert_cmpuint (steady->n[300], >=, 24);
}

/* ── Threads without memory ── */

#define SCARCE_BYTES 1234 /* that the caller's thread gets, and no other */
#define SCARCE_PIECES 14u

static GThread *scarce_thread; /* the caller's */

/* What the room calls comes here instead of to GLib. */
gpointer
g_try_malloc (gsize n_bytes)
{
  return n_bytes == SCARCE_BYTES && g_thread_self () != scarce_thread ? NULL : g_malloc (n_bytes);
}

static gboolean
scarce_piece (guint index, gpointer scratch, gpointer user, GError **error)
{
  guint *done = user;

  if (index > 0)
    g_usleep (65000);
  g_atomic_int_inc ((gint *) &done[index]);
  return TRUE;
}

/* Threads that got no memory do nothing: a slow storage does not send the last one that works
   away. */
static void
test_scarce (void)
{
  guint done[SCARCE_PIECES] = { 0 };
  const TdStorageWork work = { .count = SCARCE_PIECES,
                               .scratch_bytes = SCARCE_BYTES,
                               .body = scarce_piece,
                               .user = done,
                               .small = TRUE };

  scarce_thread = g_thread_self ();
  g_assert_true (td_storage_run (&work, NULL, NULL));
  for (guint i = 0; i < SCARCE_PIECES; i++)
    g_assert_cmpuint (done[i], ==, 1);
}

/* Benches that state a number of threads get these. */
static void
test_stated (void)
{
  g_autofree Late *late = g_new0 (Late, 1);
  const TdStorageWork work = { .count = 30, .body = late_piece, .user = late, .small = TRUE };

  td_storage_set_threads (3);
  run (&work);
  td_storage_set_threads (0);
  g_assert_cmpuint (late->most, <=, 3);
}

/* ── Failures ── */

static gboolean
failing_piece (guint index, gpointer scratch, gpointer user, GError **error)
{
  guint *begun = user;

  (*begun)++;
  if (index == 2)
    g_set_error (error, G_IO_ERROR, G_IO_ERROR_FAILED, "piece %u", index);
  return index != 2;
}

/* After a failure, and once cancelled, no further piece is begun. */
static void
test_fails (void)
{
  guint begun = 0;
  const TdStorageWork work = { .count = 9, .body = failing_piece, .user = &begun };
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GError) failed = NULL, cancelled = NULL;

  td_storage_set_threads (1);
  g_assert_false (td_storage_run (&work, NULL, &failed));
  g_assert_error (failed, G_IO_ERROR, G_IO_ERROR_FAILED);
  g_assert_cmpuint (begun, ==, 3);
  g_cancellable_cancel (cancellable);
  g_assert_false (td_storage_run (&work, cancellable, &cancelled));
  g_assert_error (cancelled, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  g_assert_cmpuint (begun, ==, 3);
  td_storage_set_threads (0);
}

/* ── Turns ── */

enum { PIECES = 6, READS = 3 };

typedef struct {
  TdStorageTurns turns;
  GMutex lock;
  GCond changed;
  guint begun[READS]; /* pieces; under the lock */
} Turns;

typedef struct {
  Turns *turns;
  guint number;
} Reader;

/* The last piece of each read is answered when the next read has begun. The next read begins when
   the one before has no piece left to begin. A read has one thread here, which does its pieces in
   turn. */
static gboolean
turn_piece (guint index, gpointer scratch, gpointer user, GError **error)
{
  const Reader *reader = user;
  Turns *turns = reader->turns;
  const gint64 deadline = g_get_monotonic_time () + PATIENCE_US;

  g_mutex_lock (&turns->lock);
  if (reader->number > 0)
    g_assert_cmpuint (turns->begun[reader->number - 1], >=, PIECES - 1);
  turns->begun[reader->number]++;
  g_cond_broadcast (&turns->changed);
  while (index + 1 == PIECES && reader->number + 1 < READS && turns->begun[reader->number + 1] == 0)
    g_assert_true (g_cond_wait_until (&turns->changed, &turns->lock, deadline));
  g_mutex_unlock (&turns->lock);
  return TRUE;
}

static gpointer
turn_thread (gpointer user)
{
  Reader *reader = user;
  const TdStorageWork work = { .count = PIECES, .body = turn_piece, .user = reader };

  td_storage_turn_begin (&reader->turns->turns, reader->number);
  g_assert_true (td_storage_run (&work, NULL, NULL));
  td_storage_turn_end ();
  return NULL;
}

static void
test_turns (void)
{
  Turns turns = { .begun = { 0 } };
  Reader readers[READS];
  GThread *threads[READS];

  td_storage_set_threads (1);
  td_storage_turns_init (&turns.turns);
  g_mutex_init (&turns.lock);
  g_cond_init (&turns.changed);
  for (guint i = 0; i < READS; i++) { /* the last one first: it waits */
    readers[READS - 1 - i] = (Reader) { &turns, READS - 1 - i };
    threads[i] = g_thread_new ("reader", turn_thread, &readers[READS - 1 - i]);
  }
  for (guint i = 0; i < READS; i++)
    g_thread_join (threads[i]);
  for (guint i = 0; i < READS; i++)
    g_assert_cmpuint (turns.begun[i], ==, PIECES);
  td_storage_set_threads (0);
  td_storage_turns_clear (&turns.turns);
  g_mutex_clear (&turns.lock);
  g_cond_clear (&turns.changed);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/storage-threads/late", test_late);
  g_test_add_func ("/storage-threads/remembered", test_remembered);
  g_test_add_func ("/storage-threads/slow", test_slow);
  g_test_add_func ("/storage-threads/steady", test_steady);
  g_test_add_func ("/storage-threads/scarce", test_scarce);
  g_test_add_func ("/storage-threads/stated", test_stated);
  g_test_add_func ("/storage-threads/fails", test_fails);
  g_test_add_func ("/storage-threads/turns", test_turns);
  return g_test_run ();
}
