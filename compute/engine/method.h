/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "dataset/scan-view.h"
#include "job.h"

struct TdBackprojectFamily;

/**
 * TdMethod: how a plan is cut and carried out, for example parallel-beam FBP, cone-beam FDK or
 * iterations. plan.c asks the method to fill the plan; job.c gives the method a thread and the
 * services below. Nothing else in the engine knows one method from another.
 */
typedef struct {
  const char *name;
  TdMethodKind kind;
  gboolean by_name;    /* never chosen by itself: it takes long, or wants to be understood */
  gboolean sums_views; /* it can add some of the views only (td_plan_new_part()) */
  /* The only family that the method back-projects with; NULL: the recipe and the device choose. */
  const struct TdBackprojectFamily *family;
  const char *(*unsupported) (const TdScanFacts *facts, const TdRecipe *recipe); /* NULL: can */
  /* Slices of the whole volume; the pointer may be NULL: one a detector row. */
  guint (*n_slices) (const TdScanFacts *facts);
  /* The column of the rotation axis that the scan itself states; NAN: none. The pointer may be
     NULL: facts->centre_px. */
  double (*stated_centre) (const TdScanFacts *facts);
  gboolean (*plan) (TdPlan *plan, TdEngine *engine, GPtrArray *devices, GCancellable *cancellable,
                    GError **error);
  /* Called on the job's thread. After a cancellation the method returns within 200 ms. It leaves
     behind those of its threads that cannot stop so fast, because a kernel is running; they end by
     themselves. */
  gboolean (*run) (TdJob *job, GCancellable *cancellable, GError **error);
} TdMethod;

/* The recipe's method, or the first that suits the scan; NULL with @error: none does. */
const TdMethod *td_method_choose (const TdScanFacts *facts, const TdRecipe *recipe, GError **error);
/* The column of the rotation axis that the scan states, as the method sees it; NAN: none. */
double td_method_stated_centre (const TdMethod *method, const TdScanFacts *facts);

extern const TdMethod td_method_fbp;
extern const TdMethod td_method_fdk;
extern const TdMethod td_method_fourier;
/* Iterative methods (iterative.h), each for parallel beams and for cones. */
extern const TdMethod td_method_sirt_parallel, td_method_sirt_cone;
extern const TdMethod td_method_fista_tv_parallel, td_method_fista_tv_cone;
extern const TdMethod td_method_cgls_parallel, td_method_cgls_cone;

struct TdPlan {
  gatomicrefcount references;
  TdPlanFacts facts;
  TdRecipe recipe;
  TdScan *measured;  /* as opened, with the recipe's mask */
  TdScan *scan;      /* what the method reconstructs: `measured`, or what the recipe's crop and bins
                        show of it */
  TdScanFrame frame; /* from the one to the other */
  TdViewGroup views; /* of `scan`: those that are added; never 0 */
  gboolean is_part;  /* td_plan_new_part(): slices come from the first to the last */
  double centre_px;  /* recipe.centre_px in columns of `scan` */
  TdEngine *engine;
  GPtrArray *devices; /* TdDevice */
  const TdMethod *method;
  char *output;   /* NULL: preview */
  gpointer extra; /* the method's own */
  GDestroyNotify free_extra;
};

/* Services of the job to its method; any of the job's threads. */
/* Hands finished slices to the writer, which writes and shows them. Blocks while the writer is
   behind. The job owns @slices from then on, whatever this returns, and frees them with
   @release (slices, user) on any thread. @first counts from the plan's first slice. */
gboolean td_job_emit (TdJob *job, guint first, guint count, float *slices,
                      void (*release) (float *slices, gpointer user), gpointer user,
                      GError **error);
void td_job_add_updates (TdJob *job, double updates); /* drives progress and ETA */
/* What the job takes may be remembered as its devices' rate: no kernel was built meanwhile, or the
   job took so long that building did not count. */
gboolean td_job_is_warm (TdJob *job);
void td_job_add_pass (TdJob *job, double residual); /* of td_job_passes() */
gboolean td_job_ends_early (TdJob *job);            /* td_job_finish_early() was called */
void td_job_add_stage (TdJob *job, const char *stage, double seconds);
/* g_get_monotonic_time() of both ends; does nothing unless the job keeps spans. */
void td_job_add_span (TdJob *job, const char *stage, guint device, gint64 start_us, gint64 end_us);
gboolean td_job_keeps_spans (TdJob *job);
void td_job_add_counts (TdJob *job, const TdPreparationCounts *counts);
/* Host memory taken (> 0) or given back (< 0), for the peak in the result. */
void td_job_add_host_bytes (TdJob *job, gint64 bytes);
/* The peak of a device's memory account, for the result. The job books its plan's devices itself.
 */
void td_job_add_account (TdJob *job, TdDevice *account);
void td_job_set_family (TdJob *job, const char *description);  /* what ran, in words */
void td_job_set_precision (TdJob *job, TdPrecision precision); /* else the plan's */
void td_job_note (TdJob *job, const char *id, ...) G_GNUC_PRINTF (2, 3);
