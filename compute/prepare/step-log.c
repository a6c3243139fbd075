/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slab.h"
#include "steps.h"

/* Beer and Lambert: -log of the transmission is the line integral of the attenuation. */
enum { FLOOR };

static const TdStepParameter parameters[] = {
  [FLOOR]
  = { "floor", N_ ("Smallest transmission"),
      N_ ("Zero and negative transmissions are raised to this and counted; about one count of "
          "the camera."),
      1e-5, 1e-30, 1, 6, NULL },
};

/* Where most of a scan's samples beside the object have more transmission than 1.2, its flats are
   too dark. Drifts of the beam and noise stay below. */
#define BRIGHT -0.18232156f

static gboolean
step_log_look_at_sides (TdSlab *slab, TdBuffer *views, GError **error)
{
  const guint sides = td_sides_columns (slab->n_columns);

  td_slab_add_logged (slab, sides);
  return sides == 0 || slab->count0 == slab->count_end
         || td_slab_launch (slab, "prepare", "prepare_look_at_sides",
                            (guint[]) { slab->n_views, slab->count_end - slab->count0, 1 },
                            TD_ARGS (slab->data, td_slab_counters (slab), views, slab->n_views,
                                     slab->n_columns, BRIGHT, sides, TD_COUNTER_BRIGHT,
                                     td_slab_counters_at (slab, TD_COUNTERS_SIDES), slab->count0),
                            error);
}

static gboolean
step_log_run (const TdStep *step, TdSlab *slab, GError **error)
{
  TdBuffer *views = td_slab_views (slab, error);

  if (!views)
    return FALSE;
  return td_slab_launch (slab, "prepare", "prepare_minus_log",
                         (guint[]) { td_slab_strips (slab), slab->n_views, slab->n_rows },
                         TD_ARGS (slab->data, td_slab_counters (slab), views, slab->n_views,
                                  slab->n_columns, td_slab_strip (slab),
                                  (float) step->values[FLOOR], TD_COUNTER_CLAMPED,
                                  td_slab_counters_at (slab, TD_COUNTERS_RAISED), slab->count0,
                                  slab->count_end),
                         error)
         && step_log_look_at_sides (slab, views, error);
}

const TdStepKind td_step_minus_log = {
  .name = "minus-log",
  .title = N_ ("−log"),
  .summary = N_ ("Transmission to attenuation: the natural logarithm, negated."),
  .stage = TD_STEP_FLAT,
  .by_view = TRUE,
  TD_STEP_PARAMETERS (parameters),
  .preset_on = TRUE,
  .run = step_log_run,
};
