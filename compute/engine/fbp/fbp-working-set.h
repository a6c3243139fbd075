/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/stored-samples.h"
#include "fbp.h"

/* ── Slots ── */

/* A piece of host memory that the threads pass on; on direct runs it is a device buffer. */
typedef struct {
  float *host;
  TdBuffer *buffer;   /* NULL unless direct */
  TdDevice *device;   /* owner of buffer or of pinned memory */
  guint64 host_bytes; /* 0: direct */
  guint32 *counts; /* within host, of the part that came down last; NULL: slices come as floats */
  TdStoredCounts stored; /* of all parts */
  gpointer owner;        /* whoever gets it back */
} TdFbpSlot;

/* @counts_bytes: of the counts that come down with samples; 0: slices come as floats. */
TdFbpSlot *td_fbp_slot_new (TdDevice *device, gboolean direct, guint64 bytes, guint64 counts_bytes,
                            GError **error);
void td_fbp_slot_free (TdFbpSlot *slot);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdFbpSlot, td_fbp_slot_free)

/* ── Working set ── */

typedef struct TdFbpWorkingSet TdFbpWorkingSet;

/* One slab, or a part of one, on its way through a device. */
typedef struct {
  guint first, count; /* slices, as detector rows */
  guint row0, n_rows; /* raw rows with their halo */
  TdFbpSlot *in;      /* raw rows row0…; read by the device until the work is completed */
  guint in_row0;      /* detector row of the slot's first row */
  gboolean in_place;  /* the rows are where the device wants them already, and not in the slot */
  TdFbpSlot *out;     /* slices; out_first is the row of its first slice */
  guint out_first;
} TdFbpWork;

/* @max_slices, @batch: at most the plan's; smaller after the device ran out of memory. @scale: of
   the samples that come down; NULL: floats do. */
TdFbpWorkingSet *td_fbp_working_set_new (TdJob *job, TdDevice *device,
                                         const TdBackprojectFamily *family, guint max_slices,
                                         guint batch, const TdStoredScale *scale, GError **error);
void td_fbp_working_set_free (TdFbpWorkingSet *set);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdFbpWorkingSet, td_fbp_working_set_free)
/* Enqueues the work on lane 0 … lanes-1, which must be idle. Checks the job's cancellable between
   pieces on devices that work in the calling thread. */
gboolean td_fbp_working_set_submit (TdFbpWorkingSet *set, guint lane, const TdFbpWork *work,
                                    GError **error);
/* Blocks until the lane's work is done; books its times and updates. */
gboolean td_fbp_working_set_complete (TdFbpWorkingSet *set, guint lane, GError **error);
/* Books the preparation's counts; blocks. */
gboolean td_fbp_working_set_book_counts (TdFbpWorkingSet *set, GError **error);

/* Previews: takes an idle working set of the engine that fits the job, or makes a new one. */
TdFbpWorkingSet *td_fbp_working_set_take (TdJob *job, TdDevice *device,
                                          const TdBackprojectFamily *family, GError **error);
/* Waits for what a cancelled job enqueued. A working set that fails at that is freed. */
void td_fbp_working_set_give (TdFbpWorkingSet *set);
/* The device's own memory, if the work's rows can be read there instead of to the slot, else NULL.
   The rows that were there are lost. */
float *td_fbp_working_set_rows (TdFbpWorkingSet *set, guint lane, const TdFbpWork *work);
/* FALSE: nothing need be read, because the set holds the rows or what the first steps made of them.
 */
gboolean td_fbp_working_set_needs_rows (const TdFbpWorkingSet *set, const TdFbpWork *work);
