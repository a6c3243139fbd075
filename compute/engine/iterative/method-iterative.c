/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "compute/cone/cone-scan.h"
#include "iterative.h"

static const char *
method_iterative_unsupported (const TdScanFacts *facts, const TdRecipe *recipe)
{
  if (facts->filtered)
    return "The scan's projections are filtered already, and iterative methods compare with what "
           "was "
           "measured; take {method=fdk}";
  if (recipe->precision != TD_PRECISION_SINGLE)
    return "Iterative methods compute in single precision; leave {precision} out";
  if (recipe->interpolation != TD_INTERPOLATION_LINEAR)
    return "Iterative methods interpolate linearly; leave {interpolation} out";
  if (strcmp (recipe->family, "auto") != 0)
    return "Iterative methods have one way of projecting; leave {kernel} out";
  return NULL;
}

static const char *
parallel_unsupported (const TdScanFacts *facts, const TdRecipe *recipe)
{
  return facts->geometry.beam == TD_BEAM_PARALLEL ? method_iterative_unsupported (facts, recipe)
                                                  : "not a parallel beam";
}

static const char *
cone_unsupported (const TdScanFacts *facts, const TdRecipe *recipe)
{
  const char *reason = method_iterative_unsupported (facts, recipe);

  if (reason)
    return reason;
  return facts->geometry.beam == TD_BEAM_PARALLEL ? "not a cone or fan beam"
                                                  : td_cone_scan_unsupported (facts, recipe);
}

#define METHOD(symbol, title, number)                                                              \
  const TdMethod td_method_##symbol##_parallel = {                                                 \
    .name = title,                                                                                 \
    .kind = number,                                                                                \
    .by_name = TRUE,                                                                               \
    .unsupported = parallel_unsupported,                                                           \
    .plan = td_iterative_plan,                                                                     \
    .run = td_iterative_run,                                                                       \
  };                                                                                               \
  const TdMethod td_method_##symbol##_cone = {                                                     \
    .name = title,                                                                                 \
    .kind = number,                                                                                \
    .by_name = TRUE,                                                                               \
    .unsupported = cone_unsupported,                                                               \
    .n_slices = td_cone_scan_slices,                                                               \
    .stated_centre = td_cone_scan_centre,                                                          \
    .plan = td_iterative_plan,                                                                     \
    .run = td_iterative_run,                                                                       \
  };

METHOD (sirt, "sirt", TD_METHOD_SIRT)
METHOD (fista_tv, "fista-tv", TD_METHOD_FISTA_TV)
METHOD (cgls, "cgls", TD_METHOD_CGLS)
