/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/engine/job.h"
#include "compute/engine/provenance.h"
#include "remote-follower.h"

/**
 * TdJobItem: one reconstruction the user asked for, from waiting in the queue to its end. No job
 * computes in this program. Each is a folder and processes of its own, here or on a cluster, and
 * goes on without the window. Main thread. Signals: "changed" (): state or progress; "slices" ():
 * more slices are finished; "ended" ().
 */
#define TD_TYPE_JOB_ITEM (td_job_item_get_type ())
G_DECLARE_FINAL_TYPE (TdJobItem, td_job_item, TD, JOB_ITEM, GObject)

/* A job to be submitted, or one that was found. */
TdJobItem *td_job_item_new (TdRemoteJob *job, TdRemoteTask task);
/* An item for a volume that was opened: its slices are read back. */
TdJobItem *td_job_item_new_done (const TdProvenance *provenance);
/* (transfer none); NULL: a volume that was opened. */
TdRemoteJob *td_job_item_remote (TdJobItem *self);
/* A job that had ended when it was found: it belongs to an earlier day's work. */
gboolean td_job_item_is_old (TdJobItem *self);
/* A job of this computer alone, which waits for the others. */
gboolean td_job_item_is_own (TdJobItem *self);
/* Many scans: td_job_item_facts() has the rows of their table. */
gboolean td_job_item_is_batch (TdJobItem *self);
/* A job that does the same once more, if this one failed or was cancelled. NULL: the volume is
   there, or is being made. (transfer full) */
TdJobItem *td_job_item_again (TdJobItem *self);
void td_job_item_start (TdJobItem *self);
void td_job_item_cancel (TdJobItem *self);
/* It was asked to end, which takes a while on another computer. */
gboolean td_job_item_is_cancelling (TdJobItem *self);
/* Iterations that have made a pass can end with what they have come to. */
gboolean td_job_item_can_finish (TdJobItem *self);
void td_job_item_finish (TdJobItem *self);
/* A job that waits is put before all others. */
void td_job_item_go_first (TdJobItem *self);
/* Forgets a job that has ended, so that it is not found again. Its volume stays. */
void td_job_item_forget (TdJobItem *self);
TdJobState td_job_item_state (TdJobItem *self);
gboolean td_job_item_ended (TdJobItem *self);
const char *td_job_item_output (TdJobItem *self);
double td_job_item_fraction (TdJobItem *self);
char *td_job_item_status (TdJobItem *self);           /* a line for people (transfer full) */
const char *td_job_item_error (TdJobItem *self);      /* NULL: none */
TdSliceStore *td_job_item_slices (TdJobItem *self);   /* (transfer none); NULL: not started */
guint td_job_item_row (TdJobItem *self, guint slice); /* its first detector row */
/* How it is made; FALSE: not known. */
gboolean td_job_item_recipe (TdJobItem *self, TdRecipe *recipe);
/* What the job tells, as it was told last; owned by the item. */
const TdRemoteFacts *td_job_item_facts (TdJobItem *self);
