/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/engine/job.h"
#include "compute/engine/provenance.h"
#include "remote-follower.h"

/**
 * TdJobItem: one reconstruction the user asked for, from waiting in the queue to its end. Main
 * thread. Signals: "changed" (): state or progress; "slices" (): more slices are finished; "ended"
 * ().
 */
#define TD_TYPE_JOB_ITEM (td_job_item_get_type ())
G_DECLARE_FINAL_TYPE (TdJobItem, td_job_item, TD, JOB_ITEM, GObject)

/* @recipe is copied, @output is where the volume goes. */
TdJobItem *td_job_item_new (TdEngine *engine, TdScan *scan, const TdRecipe *recipe,
                            const char *output);
/* The job that an earlier session, or the command line, has done: its volume is read back. */
TdJobItem *td_job_item_new_done (const TdProvenance *provenance);
/* A job of a cluster: to be submitted, or one that was found. Nothing is computed in this program:
   such a job waits for no other, and goes on without the window. */
TdJobItem *td_job_item_new_remote (TdRemoteJob *job, TdRemoteTask task);
/* (transfer none); NULL: the job runs in this program. */
TdRemoteJob *td_job_item_remote (TdJobItem *self);
/* The same once more, of one that failed or was cancelled; NULL: the volume is there, or not yet.
   (transfer full) */
TdJobItem *td_job_item_again (TdJobItem *self);
void td_job_item_start (TdJobItem *self);
void td_job_item_cancel (TdJobItem *self);
/* Iterations that have made a pass can end with what they have come to. */
gboolean td_job_item_can_finish (TdJobItem *self);
void td_job_item_finish (TdJobItem *self);
TdJobState td_job_item_state (TdJobItem *self);
gboolean td_job_item_ended (TdJobItem *self);
const char *td_job_item_title (TdJobItem *self);
const char *td_job_item_output (TdJobItem *self);
double td_job_item_fraction (TdJobItem *self);
char *td_job_item_status (TdJobItem *self);      /* a line for people (transfer full) */
const char *td_job_item_error (TdJobItem *self); /* NULL: none */
/* What is to be known about the volume besides, a sentence each: samples that were replaced or
   clamped, iterations that ended early. NULL: nothing. */
const char *const *td_job_item_notes (TdJobItem *self);
TdSliceStore *td_job_item_slices (TdJobItem *self);   /* (transfer none); NULL: not started */
guint td_job_item_row (TdJobItem *self, guint slice); /* its first detector row */
double td_job_item_pixel_mm (TdJobItem *self);
const char *td_job_item_units (TdJobItem *self);
