/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "steps.h"
#include "zingers.h"

/**
 * Zingers over the angle: what stands out in one view from the same pixel in the views before and
 * after. Selective median along the sinogram's columns; on line integrals, so that the threshold is
 * a relative intensity: a sample e^0.2 times as bright as its neighbours lies 0.2 below them.
 */
enum { THRESHOLD, SIZE, KIND };

static const char *const sizes[] = { "3", "5", "7", "9", NULL };

static const TdStepParameter parameters[] = {
  [THRESHOLD]
  = { "threshold", N_ ("Stands out by (line integral)"),
      N_ ("At least five times the noise: 0.2 for 1000 photons a pixel and more, 0.5 for 100."),
      0.2, 0.001, 100, 3, NULL },
  [SIZE] = { "size", N_ ("Window (views)"),
             N_ ("3 for hits in single frames; 5 and more where one lingers in the camera."), 0, 0,
             3, 0, sizes },
  [KIND] = { "kind", N_ ("Which"), N_ ("Hits are bright; dark ones are lost samples."),
             TD_ZINGERS_BRIGHT, TD_ZINGERS_BRIGHT, TD_ZINGERS_BOTH, 0, td_zingers_kinds },
};

static guint64
step_zingers_angle_row_bytes (guint n_views, guint n_columns)
{
  return (guint64) n_views * n_columns * sizeof (float);
}

static guint64
step_zingers_angle_workspace_bytes (const TdStep *step, const TdScanFacts *facts, guint n_rows)
{
  return td_zingers_aside_bytes (step_zingers_angle_row_bytes (facts->n_views, facts->n_columns),
                                 n_rows, FALSE);
}

static gboolean
step_zingers_angle_run_rows (const TdStep *step, TdSlab *slab, TdBuffer *aside, guint row0,
                             guint n_rows, GError **error)
{
  TdKernel *kernel = td_slab_kernel (slab, "prepare-zingers", "prepare_zingers_angle", error);
  guint strip = td_slab_strip (slab);
  const guint size = 3 + 2 * (guint) step->values[SIZE];
  const float limit = (float) step->values[THRESHOLD];
  const float side = -td_zingers_side (step->values[KIND]); /* bright is a small line integral */
  const int counter = TD_COUNTER_ZINGERS_ANGLE;

  if (!kernel)
    return FALSE;
  const TdArg args[] = {
    TD_ARG_BUFFER (slab->data),
    TD_ARG_BUFFER (aside),
    TD_ARG_BUFFER (td_slab_counters (slab)),
    TD_ARG_VALUE (row0),
    TD_ARG_VALUE (slab->n_views),
    TD_ARG_VALUE (slab->n_columns),
    TD_ARG_VALUE (size),
    TD_ARG_VALUE (strip),
    TD_ARG_VALUE (limit),
    TD_ARG_VALUE (side),
    TD_ARG_VALUE (counter),
  };
  return td_slab_launch (slab, kernel,
                         (guint[]) { (slab->n_columns + strip - 1) / strip, slab->n_views, n_rows },
                         args, G_N_ELEMENTS (args), error);
}

static gboolean
step_zingers_angle_run (const TdStep *step, TdSlab *slab, GError **error)
{
  guint64 row = step_zingers_angle_row_bytes (slab->n_views, slab->n_columns);
  guint64 bytes
      = td_zingers_aside_bytes (row, slab->n_rows, td_device_info (slab->device)->cpu_shaped);
  guint portion = (guint) (bytes / row);
  TdBuffer *aside = td_slab_buffer (slab, "zingers aside", bytes, error);

  if (!aside)
    return FALSE;
  for (guint row0 = 0; row0 < slab->n_rows; row0 += portion) {
    guint n_rows = MIN (portion, slab->n_rows - row0);
    if (!td_zingers_set_aside (slab, aside, (TdZingersPart) { row0, n_rows, 0, slab->n_views }, 0,
                               error)
        || !step_zingers_angle_run_rows (step, slab, aside, row0, n_rows, error))
      return FALSE;
  }
  return TRUE;
}

const TdStepKind td_step_zingers_angle = {
  .name = "zingers-angle",
  .title = N_ ("Zingers over the angle"),
  .summary = N_ ("Samples that stand out from the views before and after take their median."),
  .stage = TD_STEP_ABSORPTION,
  .parameters = parameters,
  .n_parameters = G_N_ELEMENTS (parameters),
  .workspace_bytes = step_zingers_angle_workspace_bytes,
  .run = step_zingers_angle_run,
};
