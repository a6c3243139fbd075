/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slab.h"
#include "steps.h"
#include "zingers.h"

/**
 * Zingers in projections: hits of scattered or cosmic radiation, a few pixels of one frame.
 * Selective median (TomoPy's remove_outlier): a pixel that stands out from the median of the pixels
 * around it, itself included, becomes that median; all others stay as they are.
 */
enum { THRESHOLD, SIZE, KIND, LEAST };

static const char *const sizes[] = { "3x3", "5x5", NULL };

static const TdStepParameter parameters[] = {
  [THRESHOLD]
  = { "threshold", N_ ("Stands out by (part of the median)"),
      N_ ("At least five times the noise: 0.2 for 1000 photons a pixel and more, 0.5 for 100."),
      0.3, 0.001, 100, 3, NULL },
  [SIZE]
  = { "size", N_ ("Window (pixels)"),
      N_ ("3x3 for single pixels, 5x5 for hits that spread over several."), 0, 0, 1, 0, sizes },
  [KIND] = { "kind", N_ ("Which"), N_ ("Hits are bright; dark ones are lost pixels."),
             TD_ZINGERS_BRIGHT, TD_ZINGERS_BRIGHT, TD_ZINGERS_BOTH, 0, td_zingers_kinds },
  [LEAST]
  = { "least", N_ ("… and by at least (counts)"),
      N_ ("Where hardly any light is left, noise exceeds any part of the median: a few times the "
          "camera's own noise."),
      0, 0, 1e9, 1, NULL },
};

static guint
step_zingers_radius_of (const TdStep *step)
{
  return step->values[SIZE] > 0 ? 2 : 1;
}

static guint
step_zingers_halo (const TdStep *step, const TdScanFacts *facts)
{
  return step_zingers_radius_of (step);
}

static guint64
step_zingers_view_bytes (guint n_rows, guint n_columns, guint radius)
{
  return (guint64) n_rows * (n_columns + 2 * radius) * sizeof (float);
}

static guint64
step_zingers_workspace_bytes (const TdStep *step, const TdScanFacts *facts, guint n_rows)
{
  return td_zingers_aside_bytes (
      step_zingers_view_bytes (n_rows, facts->n_columns, step_zingers_radius_of (step)),
      facts->n_views, FALSE);
}

static gboolean
run_views (const TdStep *step, TdSlab *slab, TdBuffer *aside, guint view0, guint n_aside,
           GError **error)
{
  TdKernel *kernel = td_slab_kernel (slab, "prepare-zingers", "prepare_zingers", error);
  guint strip = td_slab_strip (slab), radius = step_zingers_radius_of (step);
  const float threshold = (float) step->values[THRESHOLD], least = (float) step->values[LEAST];
  const float side = td_zingers_side (step->values[KIND]);
  const int counter = TD_COUNTER_ZINGERS;

  if (!kernel)
    return FALSE;
  const TdArg args[] = {
    TD_ARG_BUFFER (slab->data),
    TD_ARG_BUFFER (aside),
    TD_ARG_BUFFER (td_slab_counters (slab)),
    TD_ARG_VALUE (slab->n_rows),
    TD_ARG_VALUE (slab->n_views),
    TD_ARG_VALUE (slab->n_columns),
    TD_ARG_VALUE (view0),
    TD_ARG_VALUE (n_aside),
    TD_ARG_VALUE (radius),
    TD_ARG_VALUE (strip),
    TD_ARG_VALUE (threshold),
    TD_ARG_VALUE (least),
    TD_ARG_VALUE (side),
    TD_ARG_VALUE (counter),
  };
  return td_slab_launch (slab, kernel,
                         (guint[]) { (slab->n_columns + strip - 1) / strip, n_aside, slab->n_rows },
                         args, G_N_ELEMENTS (args), error);
}

static gboolean
step_zingers_run (const TdStep *step, TdSlab *slab, GError **error)
{
  guint radius = step_zingers_radius_of (step);
  guint64 view = step_zingers_view_bytes (slab->n_rows, slab->n_columns, radius);
  guint64 bytes
      = td_zingers_aside_bytes (view, slab->n_views, td_device_info (slab->device)->cpu_shaped);
  guint portion = (guint) (bytes / view);
  TdBuffer *aside = td_slab_buffer (slab, "zingers aside", bytes, error);

  if (!aside)
    return FALSE;
  for (guint view0 = 0; view0 < slab->n_views; view0 += portion) {
    guint n_aside = MIN (portion, slab->n_views - view0);
    if (!td_zingers_set_aside (slab, aside, (TdZingersPart) { 0, slab->n_rows, view0, n_aside },
                               radius, error)
        || !run_views (step, slab, aside, view0, n_aside, error))
      return FALSE;
  }
  return TRUE;
}

const TdStepKind td_step_zingers = {
  .name = "zingers",
  .title = N_ ("Zingers in projections"),
  .summary = N_ ("Pixels that stand out from their neighbourhood in one frame take its median."),
  .stage = TD_STEP_INTENSITY,
  .by_view = TRUE,
  .parameters = parameters,
  .n_parameters = G_N_ELEMENTS (parameters),
  .halo = step_zingers_halo,
  .workspace_bytes = step_zingers_workspace_bytes,
  .run = step_zingers_run,
};
