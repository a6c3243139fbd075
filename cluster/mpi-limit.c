/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "mpi-limit.h"

#include <stdio.h>
#include <unistd.h>

#include "compute/recipe/json.h"
#include "dataset/message.h"
#include "events.h"
#include "worker.h"

#define MOST_S 86400
/* Limits of many ranks end at once, and the first one tells. */
#define APART_US 400000

static const struct {
  guint seconds;
  const char *variable; /* that says others; NULL: none */
} kinds[] = {
  [TD_MPI_LIMIT_START] = { 300, "TOMODESK_START_S" },
  [TD_MPI_LIMIT_MEASURE] = { 600, NULL }, /* rank 0 writes a scan meanwhile */
  [TD_MPI_LIMIT_END] = { 60, "TOMODESK_END_S" },
};

/* What counts now. */
typedef struct {
  gboolean counts;
  TdMpiLimitKind kind;
  const char *folder;
  guint seconds;
  double began_s; /* since 1970, as events have it */
  gint64 over_us;
} Limit;

static GMutex mpi_limit_lock; /* of all below */
static GCond mpi_limit_changed;
static Limit mpi_limit;
static gboolean mpi_limit_has_thread;

/* (transfer full) */
static char *
mpi_limit_why (const Limit *limit)
{
  switch (limit->kind) {
  case TD_MPI_LIMIT_START:
    return td_message_packed (
        "The ranks had not found each other after %u seconds: one of them hangs or never began, or "
        "the network lets no rank through to another; look at the job's log, and start the job "
        "again",
        limit->seconds);
  case TD_MPI_LIMIT_MEASURE:
    return td_message_packed ("Another rank did not come in %u seconds: it hangs, or the network "
                              "is cut; nothing was measured",
                              limit->seconds);
  case TD_MPI_LIMIT_END:
  default:
    return td_message_packed ("MPI did not end within %u seconds after all was done",
                              limit->seconds);
  }
}

static void
mpi_limit_tell (const Limit *limit, const char *why)
{
  g_usleep ((gulong) g_random_int_range (0, APART_US));
  if (!limit->folder || td_events_end_told (limit->folder, limit->began_s))
    return;
  g_autoptr (TdEvents) events = td_events_open (limit->folder, NULL);
  if (!events)
    return;
  JsonBuilder *builder = td_events_begin (events, "failed");
  td_json_add_string (builder, "node", g_get_host_name ());
  td_events_add_message (builder, why);
  td_events_end (events);
}

G_NORETURN static void
mpi_limit_over (const Limit *limit)
{
  g_autofree char *why = mpi_limit_why (limit), *text = td_message_words (why, NULL);

  fprintf (stderr, "tomodesk-worker: %s\n", text);
  if (limit->kind != TD_MPI_LIMIT_END)
    mpi_limit_tell (limit, why);
  fflush (NULL);
  _exit (limit->kind == TD_MPI_LIMIT_END ? TD_WORKER_DONE : TD_WORKER_FAILED);
}

static gpointer
mpi_limit_thread (gpointer none)
{
  g_mutex_lock (&mpi_limit_lock);
  for (;;) {
    if (!mpi_limit.counts) {
      g_cond_wait (&mpi_limit_changed, &mpi_limit_lock);
    } else if (g_get_monotonic_time () < mpi_limit.over_us) {
      g_cond_wait_until (&mpi_limit_changed, &mpi_limit_lock, mpi_limit.over_us);
    } else {
      const Limit over = mpi_limit;
      g_mutex_unlock (&mpi_limit_lock);
      mpi_limit_over (&over);
    }
  }
  return NULL;
}

static void
mpi_limit_set (const Limit *limit)
{
  g_mutex_lock (&mpi_limit_lock);
  mpi_limit = *limit;
  if (!mpi_limit_has_thread) { /* without one there is no limit, and the job may still be done */
    GThread *thread = g_thread_try_new ("limit", mpi_limit_thread, NULL, NULL);
    mpi_limit_has_thread = thread != NULL;
    g_clear_pointer (&thread, g_thread_unref);
  }
  g_cond_broadcast (&mpi_limit_changed);
  g_mutex_unlock (&mpi_limit_lock);
}

void
td_mpi_limit_begin (TdMpiLimitKind kind, const char *folder)
{
  const char *variable = kinds[kind].variable, *wish = variable ? g_getenv (variable) : NULL;
  guint64 seconds = kinds[kind].seconds;

  if (wish && !g_ascii_string_to_unsigned (wish, 10, 1, MOST_S, &seconds, NULL))
    fprintf (stderr, "tomodesk-worker: %s is a whole number from 1 to %d, not “%s”; it is %u\n",
             variable, MOST_S, wish, kinds[kind].seconds);
  mpi_limit_set (&(Limit) { .counts = TRUE,
                            .kind = kind,
                            .folder = folder,
                            .seconds = (guint) seconds,
                            .began_s = g_get_real_time () * 1e-6,
                            .over_us = g_get_monotonic_time () + seconds * G_USEC_PER_SEC });
}

void
td_mpi_limit_clear (void)
{
  mpi_limit_set (&(Limit) { 0 });
}
