/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "engine.h"

struct TdBackprojectFamily;
typedef struct TdPlan TdPlan;
typedef struct TdJob TdJob;

/**
 * TdMethod: how a plan is cut and carried out, for example parallel-beam FBP, cone-beam FDK or
 * iterations. The planner asks the method to fill the plan; the job gives the method a thread. Each
 * method is a folder above the engine's core, and a row of compute/methods/methods.c.
 */
struct TdMethod {
  const char *name;
  TdMethodKind kind;
  gboolean by_name;    /* never chosen by itself: it takes long, or wants to be understood */
  gboolean sums_views; /* it can add some of the views only (td_plan_new_part()) */
  /* The only family that the method back-projects with; NULL: the recipe and the device choose. */
  const struct TdBackprojectFamily *family;
  const char *(*unsupported) (const TdScanFacts *facts, const TdRecipe *recipe); /* NULL: can */
  /* Why slices are other ones where they are not computed together, as a clause that names what
     would be otherwise; NULL: they are the same. The function NULL: they always are. */
  const char *(*undivided) (const TdScanFacts *facts, const TdRecipe *recipe);
  gboolean (*plan) (TdPlan *plan, GCancellable *cancellable, GError **error);
  /* Called on the job's thread. After a cancellation the method returns within 200 ms. It leaves
     behind those of its threads that cannot stop so fast, because a kernel is running; they end by
     themselves. */
  gboolean (*run) (TdJob *job, GCancellable *cancellable, GError **error);
};

/* The recipe's method, or the first of @methods that suits the scan; NULL with @error: none does.
 */
const TdMethod *td_method_choose (const TdMethod *const *methods, const TdScanFacts *facts,
                                  const TdRecipe *recipe, GError **error);
/* Of the method that is chosen; NULL too where none is. */
const char *td_method_undivided (const TdMethod *const *methods, const TdScanFacts *facts,
                                 const TdRecipe *recipe);
