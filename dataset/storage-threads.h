/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gio/gio.h>

/**
 * Threads that move samples between storage and memory. They mostly wait, or convert what they
 * moved. So there are more of them than processors, and they are not the threads that compute.
 * Where storage answers late, threads are added, since it serves many requests at once.
 * Where it has more requests than it can serve, they go again: whoever cancels waits for those.
 */

/* Does piece @index of a transfer. @scratch: the thread's own memory. Any thread; pieces with
   smaller numbers were begun before. */
typedef gboolean (*TdStorageBody) (guint index, gpointer scratch, gpointer user, GError **error);

typedef struct {
  guint count; /* pieces */
  gsize scratch_bytes;
  TdStorageBody body;
  gpointer user;
  gboolean small;  /* pieces are so small that storage answers later than it takes to move them */
  gboolean writes; /* else it reads; one may be late and the other not */
  guint requests;  /* that a piece makes one after another, asking between them whether to go on; 0
                      counts as one */
} TdStorageWork;

/**
 * td_storage_run:
 * Does all pieces, several at once, and returns when none is under way. After a failure or a
 * cancellation no further piece is begun. @error is that of the failed piece with the smallest
 * number, as if the pieces had been done one after another.
 */
gboolean td_storage_run (const TdStorageWork *work, GCancellable *cancellable, GError **error);

/**
 * TdStorageTurns: reads that follow each other without a pause. Each has a thread of its own and a
 * number, from 0. A thread waits in td_storage_turn_begin() until the read before it has no piece
 * left to begin; its answers may still be under way. Each turn that began ends, even if it failed.
 */
typedef struct {
  GMutex lock;
  GCond changed;
  guint next;
} TdStorageTurns;

void td_storage_turns_init (TdStorageTurns *turns);
void td_storage_turns_clear (TdStorageTurns *turns);
void td_storage_turn_begin (TdStorageTurns *turns, guint number);
void td_storage_turn_end (void); /* of the calling thread */

/* What the threads of one run take together at most, of @scratch_bytes each. */
gsize td_storage_scratch_bytes (gsize scratch_bytes);
/* How many pieces of usual size are under way at once. */
guint td_storage_threads (void);
/* Whether enough threads can work at once: filling the pages of a mapped file side by side must
   make up for what mapping them costs. */
gboolean td_storage_fills_pages (void);
/* Benches measure with one thread and with many. 0: as many as suit this computer, and no more than
   TOMODESK_THREADS says. */
void td_storage_set_threads (guint threads);
