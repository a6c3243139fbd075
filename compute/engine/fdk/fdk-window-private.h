/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/prepare/prepare.h"
#include "fdk-run.h"

/* Rows on a device, a chunk of some at a time. The feeding thread brings raw ones in the order in
   which the slabs will want them, as far ahead as there is memory, and has them prepared and
   filtered in place on a queue that goes before the computing one: what the filter wants of a card,
   its memory's speed, is just what the kernels leave. */
typedef struct {
  TdBuffer *data; /* [row][view][column], halo included; NULL: not here */
  TdEvent *sent, *filtered;
  gboolean here; /* all is enqueued, @filtered is set */
} TdFdkChunk;

struct TdFdkWindow {
  TdFdkDevice *device;
  /* The feeding thread's. */
  TdFdkRing ring;
  TdQueue *queue;    /* the filter's */
  GQueue raw;        /* chunks that have been sent only: GUINT_TO_POINTER (index) */
  TdEvent *before;   /* the next chunk to send takes the memory of one that was filtered then */
  TdHeldRows block;  /* files: many rows read at once; owned */
  GPtrArray *memory; /* TdBuffer, all that the chunks have had; owned */
  GArray *events;    /* TdEvent *, pairs around the filter */
  double filtered_bytes;
  /* The fetching thread makes these while the first rows are sent; then the filter is the feeding
     one's, the kernel the computing one's. */
  TdPreparation *preparation;
  TdConeFilter *filter;
  TdProgram *program;
  TdKernel *gather;
  /* All three, under the run's lock. */
  gboolean opened; /* those are there */
  TdFdkChunk *chunks;
  guint need0, need_end; /* chunks that the slab being computed sees */
  GQueue idle;           /* TdBuffer that no chunk has */
  TdEvent *passed;       /* on the computing queue: what was there of earlier slabs has been used */
};

/* ── Which chunk when (fdk-window-chunks.c) ── */

/* Those that the slab sees. */
void td_fdk_window_chunks (const TdFdkPlan *fdk, guint slab, guint *first, guint *end);
/* A chunk's. */
TdFdkSpan td_fdk_window_rows (const TdFdkWindow *window, guint index);
/* Waits for a chunk to send, or, if some wait for the filter, for that. FALSE: nothing more will
 * come. */
gboolean td_fdk_window_choose (TdFdkWindow *window, guint *index, gboolean *send);
