/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "storage-threads.h"

#include "error.h"

/* Storage that is reached through a network answers late, and serves many requests at once. */
#define LEAST_THREADS 8u
#define MOST_THREADS 32u
#define PAGE_THREADS 6u
/* That the threads of one run take together, if one does not take more. */
#define SCRATCH_BYTES ((gsize) 128 << 20)

static guint stated_threads; /* atomic; 0: none stated */

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

/* How many pieces are under way at once. */
static guint
storage_thread_count (gboolean small)
{
  const guint stated = g_atomic_int_get (&stated_threads);
  const char *wish = g_getenv ("TOMODESK_THREADS");
  guint64 most = MOST_THREADS;

  if (stated)
    return stated;
  if (!wish || !g_ascii_string_to_unsigned (wish, 10, 1, MOST_THREADS, &most, NULL))
    most = MOST_THREADS;
  return MIN (small ? MOST_THREADS : CLAMP (g_get_num_processors (), LEAST_THREADS, MOST_THREADS),
              (guint) most);
}

/* A run of pieces, on the stack of the thread that waits for it. */
typedef struct {
  const TdStorageWork *work;
  GCancellable *cancellable;
  guint next; /* atomic */
  GMutex lock;
  GError *error; /* of the piece @failed, the smallest so far; under the lock */
  guint failed;
  gboolean stop; /* atomic */
} StorageRun;

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
    if (g_cancellable_set_error_if_cancelled (run->cancellable, &error)
        || !work->body (index, scratch, work->user, &error))
      storage_run_fail (run, index, error);
  }
  return TRUE;
}

static gpointer
storage_thread (gpointer user)
{
  storage_run_work (user);
  return NULL;
}

gboolean
td_storage_run (const TdStorageWork *work, GCancellable *cancellable, GError **error)
{
  const guint affordable
      = (guint) CLAMP (SCRATCH_BYTES / MAX (work->scratch_bytes, 1), 1, MOST_THREADS);
  const guint most = MIN (MIN (storage_thread_count (work->small), affordable), work->count);
  StorageRun run = { .work = work, .cancellable = cancellable };
  GThread *threads[MOST_THREADS] = { NULL };
  guint n = 0;

  if (work->count == 0)
    return !g_cancellable_set_error_if_cancelled (cancellable, error);
  g_mutex_init (&run.lock);
  /* With fewer threads than wanted the work is done all the same. */
  while (n + 1 < MIN (most, MOST_THREADS)
         && (threads[n] = g_thread_try_new ("storage", storage_thread, &run, NULL)))
    n++;
  if (!storage_run_work (&run)) {
    GError *reason = NULL;

    td_set_error (&reason, TD_ERROR_TOO_LARGE, "There is no memory left to read or write with");
    storage_run_fail (&run, 0, reason);
  }
  for (guint i = 0; i < n; i++)
    g_thread_join (threads[i]);
  g_mutex_clear (&run.lock);
  if (!run.error)
    return TRUE;
  g_propagate_error (error, run.error);
  return FALSE;
}
