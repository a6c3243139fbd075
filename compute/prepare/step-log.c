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
  const float bright = BRIGHT;
  const int bright_counter = TD_COUNTER_BRIGHT;
  const int sides_at = td_slab_counters_at (slab, TD_COUNTERS_SIDES);
  const TdArg args[] = {
    TD_ARG_BUFFER (slab->data),   TD_ARG_BUFFER (td_slab_counters (slab)), TD_ARG_BUFFER (views),
    TD_ARG_VALUE (slab->n_views), TD_ARG_VALUE (slab->n_columns),          TD_ARG_VALUE (bright),
    TD_ARG_VALUE (sides),         TD_ARG_VALUE (bright_counter),           TD_ARG_VALUE (sides_at),
    TD_ARG_VALUE (slab->count0),
  };

  td_slab_add_logged (slab, sides);
  return sides == 0 || slab->count0 == slab->count_end
         || td_slab_launch (slab, "prepare", "prepare_look_at_sides",
                            (guint[]) { slab->n_views, slab->count_end - slab->count0, 1 }, args,
                            G_N_ELEMENTS (args), error);
}

static gboolean
step_log_run (const TdStep *step, TdSlab *slab, GError **error)
{
  guint strip = td_slab_strip (slab);
  const int counter = TD_COUNTER_CLAMPED;
  const int views_at = td_slab_counters_at (slab, TD_COUNTERS_RAISED);
  const float smallest = (float) step->values[FLOOR];
  TdBuffer *views = td_slab_views (slab, error);

  if (!views)
    return FALSE;
  const TdArg args[] = {
    TD_ARG_BUFFER (slab->data),     TD_ARG_BUFFER (td_slab_counters (slab)),
    TD_ARG_BUFFER (views),          TD_ARG_VALUE (slab->n_views),
    TD_ARG_VALUE (slab->n_columns), TD_ARG_VALUE (strip),
    TD_ARG_VALUE (smallest),        TD_ARG_VALUE (counter),
    TD_ARG_VALUE (views_at),        TD_ARG_VALUE (slab->count0),
    TD_ARG_VALUE (slab->count_end),
  };
  return td_slab_launch (
             slab, "prepare", "prepare_minus_log",
             (guint[]) { (slab->n_columns + strip - 1) / strip, slab->n_views, slab->n_rows }, args,
             G_N_ELEMENTS (args), error)
         && step_log_look_at_sides (slab, views, error);
}

const TdStepKind td_step_minus_log = {
  .name = "minus-log",
  .title = N_ ("−log"),
  .summary = N_ ("Transmission to attenuation: the natural logarithm, negated."),
  .stage = TD_STEP_FLAT,
  .by_view = TRUE,
  .parameters = parameters,
  .n_parameters = G_N_ELEMENTS (parameters),
  .preset_on = TRUE,
  .run = step_log_run,
};
