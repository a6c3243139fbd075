/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "fbp-private.h"

/**
 * The Fourier method for parallel beams: filtered back-projection whose second half is done by
 * gridding (compute/parallel/fourier-shape.h). Plan, slabs, threads and previews are those of
 * td_method_fbp; what differs is the family.
 */
static const char *
method_fourier_unsupported (const TdScanFacts *facts, const TdRecipe *recipe)
{
  if (facts->geometry.beam != TD_BEAM_PARALLEL)
    return "The scan was taken with a fan or cone beam, and the Fourier method ({method=fourier}) "
           "is for "
           "parallel beams";
  return NULL;
}

const TdMethod td_method_fourier = {
  .name = "fourier",
  .kind = TD_METHOD_FOURIER,
  .by_name = TRUE,
  .unsupported = method_fourier_unsupported,
  .plan = td_fbp_plan,
  .run = td_fbp_run,
};
