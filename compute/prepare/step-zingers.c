/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "compute/portion.h"
#include "slab.h"
#include "steps.h"

/**
 * Zingers: hits of scattered or cosmic radiation, by a selective median. A sample that stands out
 * from the median of the samples around it, itself included, becomes that median; all others stay
 * as they are. Two steps:
 *
 * - in projections (TomoPy's remove_outlier): a few pixels of one frame, from those around them;
 * - over the angle: what stands out in one view from the same pixel in the views before and after.
 *   It works on line integrals, so that the threshold is a relative intensity. A sample e^0.2 times
 *   as bright as its neighbours lies 0.2 below them.
 */
enum { THRESHOLD, SIZE, KIND, LEAST };
enum { BRIGHT, DARK, BOTH };

static const char *const kinds[] = { N_ ("bright"), N_ ("dark"), N_ ("both"), NULL };
static const char *const window_sizes[] = { "3x3", "5x5", NULL };
static const char *const view_counts[] = { "3", "5", "7", "9", NULL };

static const TdStepParameter parameters[] = {
  [THRESHOLD]
  = { "threshold", N_ ("Stands out by (part of the median)"),
      N_ ("At least five times the noise: 0.2 for 1000 photons a pixel and more, 0.5 for 100."),
      0.3, 0.001, 100, 3, NULL },
  [SIZE] = { "size", N_ ("Window (pixels)"),
             N_ ("3x3 for single pixels, 5x5 for hits that spread over several."), 0, 0, 1, 0,
             window_sizes },
  [KIND] = { "kind", N_ ("Which"), N_ ("Hits are bright; dark ones are lost pixels."), BRIGHT,
             BRIGHT, BOTH, 0, kinds },
  [LEAST]
  = { "least", N_ ("… and by at least (counts)"),
      N_ ("Where hardly any light is left, noise exceeds any part of the median: a few times the "
          "camera's own noise."),
      0, 0, 1e9, 1, NULL },
};

static const TdStepParameter angle_parameters[] = {
  [THRESHOLD]
  = { "threshold", N_ ("Stands out by (line integral)"),
      N_ ("At least five times the noise: 0.2 for 1000 photons a pixel and more, 0.5 for 100."),
      0.2, 0.001, 100, 3, NULL },
  [SIZE] = { "size", N_ ("Window (views)"),
             N_ ("3 for hits in single frames; 5 and more where one lingers in the camera."), 0, 0,
             3, 0, view_counts },
  [KIND] = { "kind", N_ ("Which"), N_ ("Hits are bright; dark ones are lost samples."), BRIGHT,
             BRIGHT, BOTH, 0, kinds },
};

/* ── Parts set aside ── */

/* A part set aside should still be in a processor's cache when it is read; a graphics card wants
   much work at a time. */
#define CPU_BYTES (16u << 20)
#define GPU_BYTES (64u << 20)

/* Rows and views of a slab. */
typedef struct {
  guint row0, n_rows, view0, n_views;
} Part;

typedef gboolean (*Remove) (const TdStep *step, TdSlab *slab, TdBuffer *aside, const Part *part,
                            GError **error);

/* Bytes that setting aside takes where @n pieces of @piece bytes are wanted: whole pieces, as many
   as suit the device. */
static guint64
zingers_aside_bytes (guint64 piece, guint n, gboolean cpu_shaped)
{
  return CLAMP (td_portion (cpu_shaped ? CPU_BYTES : GPU_BYTES) / MAX (piece, 1), 1, MAX (n, 1))
         * piece;
}

/* Copies the part to @aside, [row][view][margin + column + margin]. */
static gboolean
zingers_set_aside (TdSlab *slab, TdBuffer *aside, const Part *part, guint margin, GError **error)
{
  return td_slab_launch (slab, "prepare-zingers", "prepare_set_aside",
                         (guint[]) { td_slab_strips (slab), part->n_views, part->n_rows },
                         TD_ARGS (slab->data, aside, part->row0, slab->n_views, slab->n_columns,
                                  part->view0, part->n_views, margin, td_slab_strip (slab)),
                         error);
}

/* Part after part: some views of all rows where @margin > 0, else some rows of all views. */
static gboolean
zingers_run_parts (const TdStep *step, TdSlab *slab, guint margin, Remove remove, GError **error)
{
  const guint n = margin ? slab->n_views : slab->n_rows;
  const guint64 piece = (guint64) (margin ? slab->n_rows : slab->n_views)
                        * (slab->n_columns + 2 * margin) * sizeof (float);
  const guint64 bytes = zingers_aside_bytes (piece, n, td_device_info (slab->device)->cpu_shaped);
  const guint portion = (guint) (bytes / piece);
  TdBuffer *aside = td_slab_buffer (slab, "zingers aside", bytes, error);

  if (!aside)
    return FALSE;
  for (guint first = 0; first < n; first += portion) {
    const guint count = MIN (portion, n - first);
    const Part part = margin ? (Part) { 0, slab->n_rows, first, count }
                             : (Part) { first, count, 0, slab->n_views };
    if (!zingers_set_aside (slab, aside, &part, margin, error)
        || !remove (step, slab, aside, &part, error))
      return FALSE;
  }
  return TRUE;
}

/* The kernels' side of an intensity; of line integrals, the other one. */
static float
zingers_side (const TdStep *step)
{
  return step->values[KIND] == BRIGHT ? 1 : step->values[KIND] == DARK ? -1 : 0;
}

/* ── In projections ── */

static guint
zingers_radius (const TdStep *step)
{
  return step->values[SIZE] > 0 ? 2 : 1;
}

static guint
zingers_halo (const TdStep *step, const TdScanFacts *facts)
{
  return zingers_radius (step);
}

static guint64
zingers_workspace_bytes (const TdStep *step, const TdScanFacts *facts, guint n_rows)
{
  const guint64 width = facts->n_columns + 2 * zingers_radius (step);

  return zingers_aside_bytes (n_rows * width * sizeof (float), facts->n_views, FALSE);
}

static gboolean
zingers_remove (const TdStep *step, TdSlab *slab, TdBuffer *aside, const Part *part, GError **error)
{
  return td_slab_launch (
      slab, "prepare-zingers", "prepare_zingers",
      (guint[]) { td_slab_strips (slab), part->n_views, slab->n_rows },
      TD_ARGS (slab->data, aside, td_slab_counters (slab), slab->n_rows, slab->n_views,
               slab->n_columns, part->view0, part->n_views, zingers_radius (step),
               td_slab_strip (slab), (float) step->values[THRESHOLD], (float) step->values[LEAST],
               zingers_side (step), TD_COUNTER_ZINGERS, slab->count0, slab->count_end),
      error);
}

static gboolean
zingers_run (const TdStep *step, TdSlab *slab, GError **error)
{
  return zingers_run_parts (step, slab, zingers_radius (step), zingers_remove, error);
}

/* ── Over the angle ── */

static guint64
zingers_angle_workspace_bytes (const TdStep *step, const TdScanFacts *facts, guint n_rows)
{
  return zingers_aside_bytes ((guint64) facts->n_views * facts->n_columns * sizeof (float), n_rows,
                              FALSE);
}

static gboolean
zingers_angle_remove (const TdStep *step, TdSlab *slab, TdBuffer *aside, const Part *part,
                      GError **error)
{
  const guint strip = td_slab_strip (slab), size = 3 + 2 * (guint) step->values[SIZE];

  return td_slab_launch (slab, "prepare-zingers", "prepare_zingers_angle",
                         (guint[]) { td_slab_strips (slab), slab->n_views, part->n_rows },
                         TD_ARGS (slab->data, aside, td_slab_counters (slab), part->row0,
                                  slab->n_views, slab->n_columns, size, strip,
                                  (float) step->values[THRESHOLD], -zingers_side (step),
                                  TD_COUNTER_ZINGERS_ANGLE, slab->count0, slab->count_end),
                         error);
}

static gboolean
zingers_angle_run (const TdStep *step, TdSlab *slab, GError **error)
{
  return zingers_run_parts (step, slab, 0, zingers_angle_remove, error);
}

/* ── The steps ── */

const TdStepKind td_step_zingers = {
  .name = "zingers",
  .title = N_ ("Zingers in projections"),
  .summary = N_ ("Pixels that stand out from their neighbourhood in one frame take its median."),
  .stage = TD_STEP_INTENSITY,
  .by_view = TRUE,
  TD_STEP_PARAMETERS (parameters),
  .halo = zingers_halo,
  .workspace_bytes = zingers_workspace_bytes,
  .run = zingers_run,
};

const TdStepKind td_step_zingers_angle = {
  .name = "zingers-angle",
  .title = N_ ("Zingers over the angle"),
  .summary = N_ ("Samples that stand out from the views before and after take their median."),
  .stage = TD_STEP_ABSORPTION,
  TD_STEP_PARAMETERS (angle_parameters),
  .workspace_bytes = zingers_angle_workspace_bytes,
  .run = zingers_angle_run,
};
