/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "fbp-private.h"
#include "compute/engine/job-private.h"
#include "compute/prepare/prepared-rows.h"

/* One run of a plan, shared by its threads (fbp-run.c, fbp-reader.c, fbp-worker.c). Reference
   counted, for a cancelled run is left before its threads have ended. */
typedef struct {
  TdFbpWork work;
  gboolean read; /* the slot holds the raw rows */
} TdFbpSlab;

typedef struct {
  gatomicrefcount references;
  TdJob *job;
  TdPlan *plan;
  const TdFbp *fbp;
  GPtrArray *slots; /* TdFbpSlot: all of them */
  TdFbpSlab *slabs;
  guint n_slabs, slab_slices;
  gint64 slot_bytes;

  GMutex lock; /* all below */
  GCond changed;
  GQueue free_in, free_out; /* TdFbpSlot */
  GQueue ready;             /* TdFbpSlab */
  guint unfinished;         /* slabs */
  guint threads, workers;
  gboolean stop;
} TdFbpRun;

TdFbpRun *td_fbp_run_ref (TdFbpRun *run);
void td_fbp_run_unref (TdFbpRun *run);

void td_fbp_run_put (TdFbpRun *run, GQueue *queue, gpointer item);
/* Waits; NULL when the run stops. */
gpointer td_fbp_run_get (TdFbpRun *run, GQueue *queue);
/* NULL when the run stops or all slabs are finished; with @wait FALSE also when none is there. */
TdFbpSlab *td_fbp_run_next_slab (TdFbpRun *run, gboolean wait);
/* For another device, or another try. */
void td_fbp_run_give_back (TdFbpRun *run, TdFbpSlab *slab);
void td_fbp_run_slab_done (TdFbpRun *run);

/* To @to; NULL: to the slot. @carry may be NULL. */
gboolean td_fbp_read_slab (TdFbpRun *run, TdFbpSlab *slab, float *to, TdHeldRows *carry,
                           GError **error);

/* Thread bodies. */
void td_fbp_read (TdFbpRun *run, gpointer unused);
typedef struct TdFbpWorker TdFbpWorker;
TdFbpWorker *td_fbp_worker_new (TdFbpRun *run, TdDevice *device, const TdBackprojectFamily *family);
void td_fbp_work (TdFbpRun *run, gpointer worker); /* frees it */
