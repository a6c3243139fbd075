/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gio/gio.h>
#include <json-glib/json-glib.h>
#include <mpi.h>

#include "compute/engine/job.h"
#include "events.h"
#include "grid.h"

/**
 * TdWatch: a thread of each rank that sees to it that a job ends, and that rank 0 knows how it is
 * getting on. Ranks send small messages to rank 0, which writes the events. A rank that is silent,
 * fails or gets a signal ends all ranks within seconds, with the event "failed". The flag "cancel"
 * does the same, with "cancelled". No rank is left waiting in MPI.
 *
 * Functions may be called from any thread of the rank.
 */
typedef struct TdWatch TdWatch;

/* What rank 0 is told, on its watching thread. */
typedef struct {
  void (*part) (guint first, guint count, gpointer user); /* slices are on the disk */
  /* Slices for a rank that wants some; count 0: there are no more. *@later: perhaps later. */
  TdGridShare (*grant) (guint rank, gboolean *later, gpointer user);
  void (*discard) (gpointer user); /* the job was cancelled: what was written goes */
  gpointer user;
} TdWatchCalls;

/* @comm: of the watch alone. @folder: the job's. @events: rank 0's. The job's own cancellable. */
TdWatch *td_watch_new (MPI_Comm comm, const char *folder, TdEvents *events,
                       GCancellable *cancellable);
/* Before the first part or grant; rank 0. */
void td_watch_set_calls (TdWatch *watch, const TdWatchCalls *calls);
/* After td_watch_finish() on all ranks. */
void td_watch_free (TdWatch *watch);

/* ── What a rank tells ── */

void td_watch_stage (TdWatch *watch, const char *stage); /* static string */
/* From now on progress is that of @job (NULL: none runs), after @before updates of @total that the
   rank will do. */
void td_watch_follow (TdWatch *watch, TdJob *job, double before, double total);
void td_watch_note (TdWatch *watch, TdMessage *message); /* takes @message */
void td_watch_slice (TdWatch *watch, guint index, const char *path);
void td_watch_part (TdWatch *watch, guint first, guint count);
/* Slices that rank 0 grants; blocks. count 0: there are no more. FALSE: cancelled. */
gboolean td_watch_want (TdWatch *watch, TdGridShare *share);
/* The job cannot go on: rank 0 says so and ends all ranks. Does not return. */
G_NORETURN void td_watch_fail (TdWatch *watch, const GError *error);
/* The rank's threads have ended because the job was cancelled. Does not return. */
G_NORETURN void td_watch_cancelled (TdWatch *watch);
/* All is told. Blocks until rank 0 knows; on rank 0, until it knows of all ranks. */
void td_watch_finish (TdWatch *watch);
