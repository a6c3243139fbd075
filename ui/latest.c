/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "latest.h"

#include "compute/device/host.h"

/* How long a request that has shown nothing yet may keep a newer one waiting. */
#define PATIENCE_US 400000

#define PROGRESS_EVERY_US 60000

struct TdLatestRun {
  gatomicrefcount references;
  TdLatest *latest; /* referenced */
  gpointer request;
  GCancellable *cancellable;
  gint64 started_us;
  gint64 told_us;   /* worker: progress was posted last */
  gboolean posted;  /* main thread: enough of it was shown */
  gboolean dropped; /* main thread: nothing of it may be shown any more */
};

struct TdLatest {
  gatomicrefcount references;
  TdLatestWork work;
  TdLatestShow show;
  TdLatestProgress progress;
  GDestroyNotify free_request, free_result;
  gpointer user;
  TdLatestRun *run; /* main thread: the one that runs; NULL: idle */
  gpointer waiting;
  guint impatience; /* timeout that cancels the run */
};

typedef struct {
  TdLatestRun *run;
  gpointer result;
  GError *error;
  char *what; /* not NULL: how far the request is, instead of a result */
  double fraction;
  gboolean last, enough;
} Message;

static void
latest_unref (TdLatest *latest)
{
  if (g_atomic_ref_count_dec (&latest->references))
    g_free (latest);
}

static void
run_unref (TdLatestRun *run)
{
  if (!g_atomic_ref_count_dec (&run->references))
    return;
  run->latest->free_request (run->request);
  g_object_unref (run->cancellable);
  latest_unref (run->latest);
  g_free (run);
}

static gboolean
lose_patience (gpointer user)
{
  TdLatest *latest = user;

  latest->impatience = 0;
  if (latest->run && latest->waiting)
    g_cancellable_cancel (latest->run->cancellable);
  return G_SOURCE_REMOVE;
}

/* Something newer waits: end what runs, now or soon. */
static void
latest_hurry (TdLatest *latest)
{
  gint64 age = g_get_monotonic_time () - latest->run->started_us;

  if (latest->run->posted || age >= PATIENCE_US)
    g_cancellable_cancel (latest->run->cancellable);
  else if (!latest->impatience)
    latest->impatience
        = g_timeout_add ((guint) ((PATIENCE_US - age) / 1000), lose_patience, latest);
}

static gboolean
latest_deliver (gpointer user)
{
  Message *message = user;
  TdLatestRun *run = message->run;
  TdLatest *latest = run->latest;
  gboolean cancelled = g_error_matches (message->error, G_IO_ERROR, G_IO_ERROR_CANCELLED);

  if (!run->dropped) {
    run->posted |= message->enough;
    if (message->last) {
      g_clear_handle_id (&latest->impatience, g_source_remove);
      latest->run = NULL;
    }
    if (message->what)
      latest->progress (message->fraction, message->what, latest->user);
    else if (!(cancelled && latest->waiting))
      latest->show (message->result, message->error, message->last, latest->user);
    /* The owner may have cancelled or freed from within show. */
    if (!run->dropped) {
      if (message->last && latest->waiting && !latest->run)
        td_latest_request (latest, g_steal_pointer (&latest->waiting));
      else if (!message->last && latest->waiting && latest->run == run)
        latest_hurry (latest);
    }
  }
  return G_SOURCE_REMOVE;
}

static void
latest_message_free (gpointer user)
{
  Message *message = user;

  if (message->result)
    message->run->latest->free_result (message->result);
  g_clear_error (&message->error);
  g_free (message->what);
  run_unref (message->run);
  g_free (message);
}

/* Takes what @content points to. */
static void
latest_send (TdLatestRun *run, const Message *content)
{
  Message *message = g_memdup2 (content, sizeof *content);

  g_atomic_ref_count_inc (&run->references);
  message->run = run;
  g_idle_add_full (G_PRIORITY_DEFAULT, latest_deliver, message, latest_message_free);
}

void
td_latest_post (TdLatestRun *run, gpointer result, gboolean enough)
{
  latest_send (run, &(Message) { .result = result, .enough = enough });
}

void
td_latest_tell (double fraction, const char *what, gpointer user)
{
  TdLatestRun *run = user;
  const gint64 now = g_get_monotonic_time ();

  if (now - run->told_us < PROGRESS_EVERY_US)
    return;
  run->told_us = now;
  latest_send (run, &(Message) { .what = g_strdup (what), .fraction = fraction, .enough = TRUE });
}

static gpointer
latest_run_thread (gpointer user)
{
  TdLatestRun *run = user;
  GError *error = NULL;

  td_host_enter_background ();
  gpointer result = run->latest->work (run->request, run, run->cancellable, &error);
  latest_send (run, &(Message) { .result = result, .error = error, .last = TRUE, .enough = TRUE });
  run_unref (run);
  return NULL;
}

TdLatest *
td_latest_new (TdLatestWork work, GDestroyNotify free_request, TdLatestShow show,
               GDestroyNotify free_result, gpointer user)
{
  TdLatest *latest = g_new0 (TdLatest, 1);

  g_atomic_ref_count_init (&latest->references);
  latest->work = work;
  latest->free_request = free_request;
  latest->show = show;
  latest->free_result = free_result;
  latest->user = user;
  return latest;
}

void
td_latest_set_progress (TdLatest *latest, TdLatestProgress progress)
{
  latest->progress = progress;
}

void
td_latest_request (TdLatest *latest, gpointer request)
{
  if (latest->waiting)
    latest->free_request (latest->waiting);
  if (latest->run) {
    latest->waiting = request;
    latest_hurry (latest);
    return;
  }
  TdLatestRun *run = g_new0 (TdLatestRun, 1);
  GError *error = NULL;

  g_atomic_ref_count_init (&run->references);
  g_atomic_ref_count_inc (&latest->references);
  run->latest = latest;
  latest->waiting = NULL;
  run->request = request;
  run->cancellable = g_cancellable_new ();
  run->started_us = g_get_monotonic_time ();
  latest->run = run;
  GThread *thread = td_thread_start ("latest", latest_run_thread, run, &error);
  if (thread) {
    g_thread_unref (thread);
    return;
  }
  latest_send (run, &(Message) { .error = error, .last = TRUE, .enough = TRUE });
  run_unref (run);
}

void
td_latest_cancel (TdLatest *latest)
{
  g_clear_handle_id (&latest->impatience, g_source_remove);
  if (latest->waiting)
    latest->free_request (g_steal_pointer (&latest->waiting));
  if (latest->run) {
    latest->run->dropped = TRUE;
    g_cancellable_cancel (latest->run->cancellable);
    latest->run = NULL;
  }
}

gboolean
td_latest_busy (TdLatest *latest)
{
  return latest->run != NULL || latest->waiting != NULL;
}

gboolean
td_latest_outdated (TdLatest *latest)
{
  return latest->waiting != NULL;
}

void
td_latest_free (TdLatest *latest)
{
  if (!latest)
    return;
  td_latest_cancel (latest);
  latest_unref (latest);
}
