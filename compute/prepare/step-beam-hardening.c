/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slab.h"
#include "steps.h"

/**
 * Beam hardening: p' = a1 p + a2 p^2 + … + a5 p^5 on line integrals (G. T. Herman, Phys. Med. Biol.
 * 24, 1979: correction for one material). The preset is the usual first try, 0.75 p + 0.25 p^2,
 * which leaves p = 1 as it is and raises what is above.
 */
enum { N_COEFFICIENTS = 5 };

#define WEDGE                                                                                      \
  "From a step wedge of the sample's material: the polynomial that makes the measured line "       \
  "integrals proportional to its thickness."

static const TdStepParameter parameters[N_COEFFICIENTS] = {
  { "a1", N_ ("Coefficient of p"),
    N_ ("With the next one: 0.75 and 0.25 are weak, 0.5 and 0.5 medium, 0.25 and 0.75 strong. "
        "Right when a uniform part of the sample is as bright inside as at its rim."),
    0.75, -100, 100, 6, NULL },
  { "a2", N_ ("Coefficient of p²"), N_ ("The first one's counterpart: the two add up to 1."), 0.25,
    -100, 100, 6, NULL },
  { "a3", "Coefficient of p³", WEDGE, 0, -100, 100, 6, NULL },
  { "a4", "Coefficient of p⁴", WEDGE, 0, -100, 100, 6, NULL },
  { "a5", "Coefficient of p⁵", WEDGE, 0, -100, 100, 6, NULL },
};

static gboolean
step_beam_hardening_run (const TdStep *step, TdSlab *slab, GError **error)
{
  float a[N_COEFFICIENTS];

  for (guint i = 0; i < N_COEFFICIENTS; i++)
    a[i] = (float) step->values[i];
  return td_slab_launch (slab, "prepare-correct", "prepare_polynomial",
                         (guint[]) { td_slab_strips (slab), slab->n_views, slab->n_rows },
                         TD_ARGS (slab->data, slab->n_views, slab->n_columns, td_slab_strip (slab),
                                  a[0], a[1], a[2], a[3], a[4]),
                         error);
}

const TdStepKind td_step_beam_hardening = {
  .name = "beam-hardening",
  .title = N_ ("Beam hardening"),
  .summary = N_ ("A polynomial of the line integrals, against cupping from a polychromatic beam."),
  .stage = TD_STEP_ABSORPTION,
  .by_view = TRUE,
  TD_STEP_PARAMETERS (parameters),
  .run = step_beam_hardening_run,
};
