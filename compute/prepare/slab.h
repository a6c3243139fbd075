/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "flats.h"
#include "prepare.h"
#include "step.h"

/**
 * What a step may use while it runs (DESIGN.md, "add a step"). Everything given here belongs to the
 * preparation, is kept for its next slab and is freed with it. Called on the thread that runs the
 * preparation.
 */

/* A device buffer of at least @bytes, kept under @key ("flat-field gain"). Its contents stay from
   slab to slab unless it had to grow. NULL with @error set when there is no memory. */
TdBuffer *td_slab_buffer (TdSlab *slab, const char *key, guint64 bytes, GError **error);

/* Anything else a step wants to keep (an FFT plan, which rows a table holds). */
gpointer td_slab_kept (TdSlab *slab, const char *key);
void td_slab_keep (TdSlab *slab, const char *key, gpointer data, GDestroyNotify free);

/* Launches one work-item for each of items x × y × z; the kernel checks x against its range.
   Kernels are built once and kept: of kernels/@program.cl, without defines but for TD_LANES on
   CPUs (rings-common.h). */
gboolean td_slab_launch (TdSlab *slab, const char *program, const char *kernel,
                         const guint items[3], const TdArg *args, guint n_args, GError **error);

/* For td_preparation_set_watch(): what happened since the last launch or mark was @part. Launches
   mark themselves. */
gboolean td_slab_mark (TdSlab *slab, const char *part, GError **error);

/* Columns a work-item should take one after another: 1 where neighbouring items share memory
   transactions, the whole row where one item is one thread with vectors. */
guint td_slab_strip (const TdSlab *slab);
/* How many of them a row is. */
guint td_slab_strips (const TdSlab *slab);

/* Work-items of a group of td_slab_launch(): as many x items are one group, which may meet at
   barriers. 1 on CPUs. */
guint td_slab_group_items (const TdSlab *slab);

/* The host as a slab of no rows, with buffers of its own, for what @slab's device cannot do. It is
   @slab itself where that is the host's. */
TdSlab *td_slab_on_host (TdSlab *slab, GError **error);

/* Sends a table to @buffer (blocks; the memory is free afterwards). */
gboolean td_slab_upload (TdSlab *slab, TdBuffer *buffer, const void *data, guint64 bytes,
                         GError **error);
/* The same to the buffer under @key. There may be nothing to send. */
TdBuffer *td_slab_send (TdSlab *slab, const char *key, const void *data, guint64 bytes,
                        GError **error);

/* The step of that name, if it runs on this scan; else NULL. */
const TdStep *td_slab_step (TdSlab *slab, const char *name);

/* The scan's averaged flats and darks. */
TdFlats *td_slab_flats (TdSlab *slab);

/* int counters on the device, for td_atomic_add_int (). */
typedef enum {
  TD_COUNTER_BAD,
  TD_COUNTER_CLAMPED,
  TD_COUNTER_BRIGHT,
  TD_COUNTER_STUCK,
  TD_COUNTER_ZINGERS,
  TD_COUNTER_ZINGERS_ANGLE,
  TD_COUNTER_COUNT
} TdCounter;
/* Kernels count in rows [count0, count_end) only: neighbours' rows are prepared twice. */
TdBuffer *td_slab_counters (TdSlab *slab);
/* Behind them there are some for each of the scan's views and rows: where those begin. */
typedef enum {
  TD_COUNTERS_LOST,   /* a view's rows without a sound sample */
  TD_COUNTERS_RAISED, /* a view's samples that the logarithm raised */
  TD_COUNTERS_ROWS,   /* 1: a row without a sound sample in any view */
  TD_COUNTERS_SIDES   /* TD_SIDES_STRIPS of each view: attenuations in TD_SIDES_UNITs */
} TdCounters;
int td_slab_counters_at (TdSlab *slab, TdCounters which);
/* float [view][2] of the slab's views: the share of a turn, 0 to 1, and the number in the scan. */
TdBuffer *td_slab_views (TdSlab *slab, GError **error);
/* The logarithm was taken of the slab's rows; @sides: columns at either end that were looked at. */
void td_slab_add_logged (TdSlab *slab, guint sides);
/* What is replaced in this row of the slab counts. */
gboolean td_slab_counts_row (const TdSlab *slab, guint row);
/* Where steps add what they find on the host: dead and bad pixels, frames that are left out. */
TdPreparationCounts *td_slab_counts (TdSlab *slab);
