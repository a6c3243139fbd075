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
/* Where they take longer than this, and so many times as long as the shortest, storage has more to
   do than it can. A cancelled run would wait for all of that. Threads go, down to so many. A few
   slow pieces among others say that processors are busy: so many come one after another. */
#define SLOW_US 60000
#define SLOW_TIMES 2
#define SLOW_PIECES 8
#define FEWEST_THREADS 4u
/* That the threads of one run take together, if one does not take more; with those added. */
#define SCRATCH_BYTES ((gsize) 128 << 20)
#define LATE_SCRATCH_BYTES ((gsize) 32 << 20)

static guint stated_threads; /* atomic; 0: none stated */
/* Atomic; that runs came to while their pieces were late: of those that read, and that write. */
static guint late_threads[2];
/* Atomic; with how many a slow one was served well, and its shortest request; 0: none was. */
static gint slow_threads[2], least_request_us[2];

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
  /* Under the lock. */
  guint n_threads, most_threads; /* beside the caller's; n_threads: that were ever started */
  guint n_at_work;               /* all that had memory and have not gone */
  guint n_late, slow_running;    /* pieces; slow_running: the last ones */
  guint n_gone, n_to_go;         /* threads; n_to_go: the next to end a piece */
  gint64 settled_us;             /* what begins then has those that went no longer beside it */
  gint64 least_us;               /* of requests */
  gboolean stop;                 /* atomic */
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

/* So many threads that requests, which took @us, will take no longer than they should. Under the
   lock. What is under way was asked for before: only what is begun behind it tells how it is then.
 */
static void
storage_run_shrink (StorageRun *run, gint64 us, gint64 now_us)
{
  const guint fewer = (guint) (run->n_at_work * SLOW_US / us);

  run->n_to_go = run->n_at_work - MIN (run->n_at_work, MAX (fewer, FEWEST_THREADS));
  run->settled_us = now_us + us;
  run->slow_running = 0;
}

/* A piece's requests took so long: more of them shall be under way, or fewer. FALSE: the thread
   shall go. */
static gboolean
storage_run_took (StorageRun *run, gint64 begun_us, gint64 us)
{
  const gint64 now_us = g_get_monotonic_time ();

  g_mutex_lock (&run->lock);
  run->least_us = MIN (run->least_us, us);
  run->n_late += us > LATE_US;
  const gboolean is_slow = us > SLOW_US && us > SLOW_TIMES * run->least_us;
  if (!is_slow)
    run->slow_running = 0;
  else if (begun_us >= run->settled_us && ++run->slow_running >= SLOW_PIECES)
    storage_run_shrink (run, us, now_us);
  if (!is_slow && us > LATE_US && (run->n_gone == 0 || us < SLOW_US / 2)
      && run->n_threads < run->most_threads
      && (guint) g_atomic_int_get ((gint *) &run->next) < run->work->count
      && !storage_run_add_thread (run))
    run->most_threads = run->n_threads;
  const gboolean goes = run->n_to_go > 0;
  run->n_to_go -= goes;
  run->n_at_work -= goes;
  run->n_gone += goes;
  g_mutex_unlock (&run->lock);
  return !goes;
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
  g_mutex_lock (&run->lock);
  run->n_at_work++;
  g_mutex_unlock (&run->lock);
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
    else if (!storage_run_took (run, begun,
                                (g_get_monotonic_time () - begun) / MAX (work->requests, 1)))
      break;
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

/* What runs of the same kind begin with. A run of few pieces says how late they are, and not how
   many threads they are worth. */
static void
storage_run_remember (const StorageRun *run)
{
  const guint kind = run->work->writes ? 1 : 0;
  const gboolean late = run->n_late > run->work->count / 2;
  gint *known = (gint *) &late_threads[kind], *slow = &slow_threads[kind];
  const gint at_work = (gint) run->n_at_work;

  g_atomic_int_set (known, late ? MAX (g_atomic_int_get (known), (gint) run->n_threads + 1) : 0);
  if (run->n_gone > 0)
    g_atomic_int_set (slow, at_work);
  else if (!late || (g_atomic_int_get (slow) > 0 && at_work > g_atomic_int_get (slow)))
    g_atomic_int_set (slow, late ? at_work : 0);
  g_atomic_int_set (&least_request_us[kind], late ? (gint) MIN (run->least_us, G_MAXINT) : 0);
}

/* Threads that have memory for @scratch_bytes each; where they mostly wait. */
static guint
storage_affordable (gsize scratch_bytes)
{
  return (guint) CLAMP (SCRATCH_BYTES / MAX (scratch_bytes, 1), 1, MOST_THREADS);
}

static guint
storage_affordable_late (gsize scratch_bytes)
{
  return (guint) MIN (LATE_SCRATCH_BYTES / MAX (scratch_bytes, 1), LATE_THREADS);
}

gsize
td_storage_scratch_bytes (gsize scratch_bytes)
{
  const guint usual = MIN (storage_thread_count (FALSE), storage_affordable (scratch_bytes));

  return scratch_bytes
         * MAX (usual, storage_thread_limit (storage_affordable_late (scratch_bytes)));
}

/* How many threads a run begins with. */
static guint
storage_run_first (const TdStorageWork *work, guint wanted, guint late)
{
  const guint kind = work->writes ? 1 : 0;
  const guint affordable = storage_affordable (work->scratch_bytes);
  const guint before = MIN ((guint) g_atomic_int_get ((gint *) &late_threads[kind]), late);
  const guint slow = (guint) g_atomic_int_get (&slow_threads[kind]);
  const guint first = MAX (MIN (wanted, affordable), before);

  return MIN (slow ? MIN (first, slow) : first, work->count);
}

gboolean
td_storage_run (const TdStorageWork *work, GCancellable *cancellable, GError **error)
{
  const guint wanted = storage_thread_count (work->small);
  const guint late = storage_thread_limit (storage_affordable_late (work->scratch_bytes));
  const guint first = storage_run_first (work, wanted, late);
  const gint least = g_atomic_int_get (&least_request_us[work->writes ? 1 : 0]);
  StorageRun run = { .work = work,
                     .cancellable = cancellable,
                     .turns = storage_turns,
                     .turn = storage_turn,
                     .least_us = least ? least : G_MAXINT64 };

  if (work->count == 0)
    return !g_cancellable_set_error_if_cancelled (cancellable, error);
  g_mutex_init (&run.lock);
  g_mutex_lock (&run.lock);
  while (run.n_threads + 1 < first && storage_run_add_thread (&run))
    ;
  run.most_threads = MIN (MAX (wanted, late), work->count) - 1;
  g_mutex_unlock (&run.lock);
  if (!storage_run_work (&run)) {
    GError *reason = NULL;

    td_set_error (&reason, TD_ERROR_TOO_LARGE, "There is no memory left to read or write with");
    storage_run_fail (&run, 0, reason);
  }
  storage_run_join (&run);
  storage_run_remember (&run);
  g_mutex_clear (&run.lock);
  if (!run.error)
    return TRUE;
  g_propagate_error (error, run.error);
  return FALSE;
}
