/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "storage-threads.h"

#include "error.h"

/* Storage that is reached through a network answers late, and serves many requests at once. */
#define LEAST_THREADS 8u
#define MOST_THREADS 32u
#define PAGE_THREADS 6u
/* Where pieces take longer than this, they mostly wait: threads are added, up to so many. */
#define LATE_US 4000
#define LATE_THREADS 128u
/* That the threads of one run take together, if one does not take more; with those added. */
#define SCRATCH_BYTES ((gsize) 128 << 20)
#define LATE_SCRATCH_BYTES ((gsize) 32 << 20)

static guint stated_threads; /* atomic; 0: none stated */
/* Atomic; that runs came to while their pieces were late: of those that read, and that write. */
static guint late_threads[2];

void
td_storage_set_threads (guint threads)
{
  g_atomic_int_set (&stated_threads, threads);
}

gboolean
td_storage_fills_pages (void)
{
  const guint stated = g_atomic_int_get (&stated_threads);

  return stated ? stated >= PAGE_THREADS : g_get_num_processors () >= PAGE_THREADS;
}

/* @wanted, but no more than was asked for. */
static guint
storage_thread_limit (guint wanted)
{
  const guint stated = g_atomic_int_get (&stated_threads);
  const char *wish = g_getenv ("TOMODESK_THREADS");
  guint64 most = LATE_THREADS;

  if (stated)
    return stated;
  if (!wish || !g_ascii_string_to_unsigned (wish, 10, 1, MOST_THREADS, &most, NULL))
    most = LATE_THREADS;
  return MIN (wanted, (guint) most);
}

/* How many pieces are under way at once. */
static guint
storage_thread_count (gboolean small)
{
  return storage_thread_limit (
      small ? MOST_THREADS : CLAMP (g_get_num_processors (), LEAST_THREADS, MOST_THREADS));
}

guint
td_storage_threads (void)
{
  return storage_thread_count (FALSE);
}

/* ── Turns ── */

/* The turn that this thread has begun. */
static _Thread_local TdStorageTurns *storage_turns;
static _Thread_local guint storage_turn;

void
td_storage_turns_init (TdStorageTurns *turns)
{
  g_mutex_init (&turns->lock);
  g_cond_init (&turns->changed);
  turns->next = 0;
}

void
td_storage_turns_clear (TdStorageTurns *turns)
{
  g_mutex_clear (&turns->lock);
  g_cond_clear (&turns->changed);
}

void
td_storage_turn_begin (TdStorageTurns *turns, guint number)
{
  g_mutex_lock (&turns->lock);
  while (turns->next < number)
    g_cond_wait (&turns->changed, &turns->lock);
  g_mutex_unlock (&turns->lock);
  storage_turns = turns;
  storage_turn = number;
}

static void
storage_turn_pass (TdStorageTurns *turns, guint number)
{
  g_mutex_lock (&turns->lock);
  turns->next = MAX (turns->next, number + 1);
  g_cond_broadcast (&turns->changed);
  g_mutex_unlock (&turns->lock);
}

void
td_storage_turn_end (void)
{
  storage_turn_pass (storage_turns, storage_turn);
  storage_turns = NULL;
}

/* ── Runs ── */

/* A run of pieces, on the stack of the thread that waits for it. */
typedef struct {
  const TdStorageWork *work;
  GCancellable *cancellable;
  guint next;            /* atomic */
  TdStorageTurns *turns; /* the caller's turn, to be passed on; NULL: none */
  guint turn;
  GMutex lock;
  GError *error; /* of the piece @failed, the smallest so far; under the lock */
  guint failed;
  GThread *threads[LATE_THREADS];
  guint n_threads, most_threads, n_late; /* under the lock; n_late: pieces */
  gboolean stop;                         /* atomic */
} StorageRun;

static gpointer storage_thread (gpointer user);

/* With fewer threads than wanted the work is done all the same. Under the lock. */
static gboolean
storage_run_add_thread (StorageRun *run)
{
  GThread *thread = g_thread_try_new ("storage", storage_thread, run, NULL);

  if (thread)
    run->threads[run->n_threads++] = thread;
  return thread != NULL;
}

/* A piece took so long: more of them shall be under way. */
static void
storage_run_was_late (StorageRun *run)
{
  g_mutex_lock (&run->lock);
  run->n_late++;
  if (run->n_threads < run->most_threads
      && (guint) g_atomic_int_get ((gint *) &run->next) < run->work->count
      && !storage_run_add_thread (run))
    run->most_threads = run->n_threads;
  g_mutex_unlock (&run->lock);
}

/* Takes @error. */
static void
storage_run_fail (StorageRun *run, guint index, GError *error)
{
  g_mutex_lock (&run->lock);
  if (!run->error || index < run->failed) {
    g_clear_error (&run->error);
    run->error = g_steal_pointer (&error);
    run->failed = index;
  }
  g_atomic_int_set (&run->stop, TRUE);
  g_mutex_unlock (&run->lock);
  g_clear_error (&error);
}

/* FALSE: the thread has no memory to work with. */
static gboolean
storage_run_work (StorageRun *run)
{
  const TdStorageWork *work = run->work;
  g_autofree void *scratch = work->scratch_bytes ? g_try_malloc (work->scratch_bytes) : NULL;

  if (work->scratch_bytes && !scratch)
    return FALSE;
  while (!g_atomic_int_get (&run->stop)) {
    const guint index = (guint) g_atomic_int_add ((gint *) &run->next, 1);
    GError *error = NULL;

    if (index >= work->count)
      break;
    if (index + 1 == work->count && run->turns)
      storage_turn_pass (run->turns, run->turn);
    const gint64 begun = g_get_monotonic_time ();
    if (g_cancellable_set_error_if_cancelled (run->cancellable, &error)
        || !work->body (index, scratch, work->user, &error))
      storage_run_fail (run, index, error);
    else if (g_get_monotonic_time () - begun > LATE_US)
      storage_run_was_late (run);
  }
  return TRUE;
}

static gpointer
storage_thread (gpointer user)
{
  storage_run_work (user);
  return NULL;
}

/* Ends when no thread is left that could start another. */
static void
storage_run_join (StorageRun *run)
{
  GThread *thread = NULL;

  for (guint i = 0; i == 0 || thread; i++) {
    g_mutex_lock (&run->lock);
    thread = i < run->n_threads ? run->threads[i] : NULL;
    g_mutex_unlock (&run->lock);
    if (thread)
      g_thread_join (thread);
  }
}

gboolean
td_storage_run (const TdStorageWork *work, GCancellable *cancellable, GError **error)
{
  const gsize each = MAX (work->scratch_bytes, 1);
  const guint affordable = (guint) CLAMP (SCRATCH_BYTES / each, 1, MOST_THREADS);
  const guint wanted = storage_thread_count (work->small);
  const guint late = storage_thread_limit ((guint) MIN (LATE_SCRATCH_BYTES / each, LATE_THREADS));
  gint *known = (gint *) &late_threads[work->writes ? 1 : 0];
  const guint before = MIN ((guint) g_atomic_int_get (known), late);
  const guint most = MIN (MAX (MIN (wanted, affordable), before), work->count);
  StorageRun run
      = { .work = work, .cancellable = cancellable, .turns = storage_turns, .turn = storage_turn };

  if (work->count == 0)
    return !g_cancellable_set_error_if_cancelled (cancellable, error);
  g_mutex_init (&run.lock);
  g_mutex_lock (&run.lock);
  while (run.n_threads + 1 < most && storage_run_add_thread (&run))
    ;
  run.most_threads = MIN (MAX (wanted, late), work->count) - 1;
  g_mutex_unlock (&run.lock);
  if (!storage_run_work (&run)) {
    GError *reason = NULL;

    td_set_error (&reason, TD_ERROR_TOO_LARGE, "There is no memory left to read or write with");
    storage_run_fail (&run, 0, reason);
  }
  storage_run_join (&run);
  /* A run of few pieces says how late they are, and not how many threads they are worth. */
  g_atomic_int_set (known, run.n_late > work->count / 2
                               ? MAX (g_atomic_int_get (known), (gint) run.n_threads + 1)
                               : 0);
  g_mutex_clear (&run.lock);
  if (!run.error)
    return TRUE;
  g_propagate_error (error, run.error);
  return FALSE;
}
