/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "job.h"

/**
 * TdMethod: how a plan is cut and carried out: parallel-beam FBP, cone-beam FDK, Fourier. plan.c asks
 * the method to fill the plan, job.c gives it a thread and these services; nothing else in the engine
 * knows one method from another.
 */
typedef struct {
  const char *name;
  TdMethodKind kind;
  const char *(*unsupported) (const TdScanFacts *facts, const TdRecipe *recipe); /* NULL: can */
  gboolean (*plan) (TdPlan *plan, TdEngine *engine, GPtrArray *devices, GCancellable *cancellable,
                    GError **error);
  gboolean (*run) (TdJob *job, GCancellable *cancellable, GError **error); /* the job's thread */
} TdMethod;

extern const TdMethod td_method_fbp;
extern const TdMethod td_method_fdk;
extern const TdMethod td_method_fourier;

struct TdPlan {
  gatomicrefcount references;
  TdPlanFacts facts;
  TdRecipe recipe;
  TdScan *scan;
  TdEngine *engine;
  GPtrArray *devices;  /* TdDevice */
  const TdMethod *method;
  char *output;        /* NULL: preview */
  gpointer extra;      /* the method's own */
  GDestroyNotify free_extra;
};

/* Services of the job to its method; any of the job's threads. */
/* Gives finished slices away: writes them, shows them. Blocks while the writer is behind. Takes
   @slices, frees it with @release (slices, user). first counts from the plan's first slice. */
gboolean td_job_emit (TdJob *job, guint first, guint count, float *slices,
                      void (*release) (float *slices, gpointer user), gpointer user, GError **error);
void td_job_add_updates (TdJob *job, double updates);          /* drives progress and ETA */
void td_job_add_stage (TdJob *job, const char *stage, double seconds);
void td_job_add_counts (TdJob *job, guint64 clamped_transmissions, guint64 bad_values);
void td_job_note (TdJob *job, const char *format, ...) G_GNUC_PRINTF (2, 3);
