/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>

#include "rings.h"
#include "steps.h"

/**
 * The one to begin with. What a pixel's gain adds to its column is the same in every view; what the object
 * does is not. So the median over the views of a column's second difference across columns, m, is that of
 * the offsets sought, L q = m, however sharp the object's edges are. It counts where it stands out from its
 * own standard error and is there in all blocks of the views; so a scan without stripes stays as it is. The
 * columns beside it count along, and all of them where many stand out: one left out among stripes would be
 * made up for by its neighbours. The offsets are the smallest that explain it, (alpha + L) q = m, with the
 * alpha and the convolution of step-rings-normalise.c, which takes means where this takes medians.
 *
 * Dead and fluctuating pixels show in the same second differences: they vary over the views, between their
 * quartiles, far more than those of the columns around. They are bridged.
 */
enum { SIZE, THRESHOLD, DEAD };

static const TdStepParameter parameters[] = {
  [SIZE] = { "size", "Widest stripe (columns)",
             "Wider takes wider stripes, and more of what is round and centred on the axis.", 4, 0.5, 50,
             1, NULL, TRUE },
  [THRESHOLD] = { "threshold", "Detection threshold (standard errors)",
                  "0 corrects every column; 3 to 5 leave a scan without rings alone.", 4, 0, 20, 1,
                  NULL },
  [DEAD] = { "dead", "Detection threshold of dead pixels",
             "Bridges pixels that vary so many times more against their neighbours than those around do.",
             3, 1.5, 100, 1, NULL },
};

#define REACH 16          /* exp (-16) is left out */
#define MAX_BLOCKS 8      /* as in kernels/rings-sort.cl */
#define LEAST_BLOCK 8     /* views */
#define LEAST_VIEWS 16
#define CONSISTENCY 2.0f  /* a stripe is that many times what the blocks differ by */
#define LEAST_WIDTH 0.01f /* of the quartiles, in -log: quieter pixels do no harm */

static guint64
row_bytes (const TdScanFacts *facts)
{
  return td_rings_lines_bytes (facts, TRUE) + 5 * sizeof (float) * (guint64) facts->n_columns;
}

static guint64
workspace_bytes (const TdStep *step, const TdScanFacts *facts, guint n_rows)
{
  return td_rings_workspace_bytes (n_rows, row_bytes (facts))
         + sizeof (float) * (facts->n_views + (guint64) ceil (REACH * step->values[SIZE]) + 1);
}

/* made_for: reach. -1 / (alpha + L) as a convolution. */
static void
fill_weights (float *weights, const double *made_for)
{
  guint radius = (guint) ceil (REACH * made_for[0]);

  for (guint i = 0; i <= radius; i++)
    weights[i] = (float) (-exp (-(double) i / made_for[0]) / (2 * sinh (1 / made_for[0])));
}

static void
fill_ones (float *ones, const double *made_for)
{
  for (guint view = 0; view < (guint) made_for[0]; view++)
    ones[view] = 1;
}

/* Lines of all blocks of the views, sorted. */
static gboolean
sort_curvatures (const TdRings *rings, guint n_blocks, guint n, TdRingsLines *lines, GError **error)
{
  const TdSlab *slab = rings->slab;
  const guint n_used = n_blocks * n;
  TdKernel *kernel = td_slab_kernel (rings->slab, "rings-sort", "rings_curvature_to_lines", error);

  if (!kernel || !td_rings_lines (rings, TRUE, lines, error))
    return FALSE;
  const TdArg args[] = {
    TD_ARG_BUFFER (slab->data), TD_ARG_BUFFER (lines->lines[0]), TD_ARG_VALUE (rings->first_row),
    TD_ARG_VALUE (slab->n_views), TD_ARG_VALUE (slab->n_columns), TD_ARG_VALUE (n_used),
  };
  return td_rings_launch (rings, kernel, td_rings_tiles (rings), args, G_N_ELEMENTS (args), error)
         && td_rings_sort (rings, lines, n, slab->n_columns * n_blocks, error);
}

/* Profiles of a chunk. */
typedef struct {
  TdBuffer *medians, *marks, *widths, *restless, *kept;
} Found;

static gboolean
find (const TdRings *rings, const TdStep *step, const Found *found, GError **error)
{
  const TdSlab *slab = rings->slab;
  guint n_blocks = CLAMP (slab->n_views / LEAST_BLOCK, 1, MAX_BLOCKS), n = slab->n_views / n_blocks;
  const float threshold = (float) step->values[THRESHOLD], factor = (float) step->values[DEAD];
  const float consistency = threshold > 0 ? CONSISTENCY : 0, least = LEAST_WIDTH;
  TdKernel *medians = td_slab_kernel (rings->slab, "rings-sort", "rings_block_medians", error);
  TdKernel *mark = medians ? td_slab_kernel (rings->slab, "rings-sort", "rings_mark_restless", error)
                           : NULL;
  TdRingsLines lines;

  if (!mark || !sort_curvatures (rings, n_blocks, n, &lines, error))
    return FALSE;
  const TdArg median_args[] = {
    TD_ARG_BUFFER (lines.lines[0]), TD_ARG_BUFFER (found->medians), TD_ARG_BUFFER (found->marks),
    TD_ARG_BUFFER (found->widths), TD_ARG_VALUE (n), TD_ARG_VALUE (slab->n_columns),
    TD_ARG_VALUE (n_blocks), TD_ARG_VALUE (threshold), TD_ARG_VALUE (consistency),
  };
  const TdArg mark_args[] = {
    TD_ARG_BUFFER (found->widths), TD_ARG_BUFFER (found->restless), TD_ARG_VALUE (slab->n_columns),
    TD_ARG_VALUE (factor), TD_ARG_VALUE (least),
  };
  return td_rings_launch (rings, medians, slab->n_columns, median_args, G_N_ELEMENTS (median_args), error)
         && td_rings_launch (rings, mark, slab->n_columns, mark_args, G_N_ELEMENTS (mark_args), error);
}

static gboolean
keep (const TdRings *rings, const Found *found, GError **error)
{
  const TdSlab *slab = rings->slab;
  TdKernel *kernel = td_slab_kernel (rings->slab, "rings-sort", "rings_keep_marked", error);

  if (!kernel)
    return FALSE;
  const TdArg args[] = {
    TD_ARG_BUFFER (found->medians), TD_ARG_BUFFER (found->marks), TD_ARG_BUFFER (found->restless),
    TD_ARG_BUFFER (found->kept), TD_ARG_VALUE (slab->n_columns),
  };
  return td_rings_launch (rings, kernel, slab->n_columns, args, G_N_ELEMENTS (args), error);
}

static gboolean
run_chunk (const TdRings *rings, gconstpointer user, GError **error)
{
  const TdStep *step = user;
  TdSlab *slab = rings->slab;
  guint radius = (guint) ceil (REACH * step->values[SIZE]), n = slab->n_columns;
  const double weights_for[TD_RINGS_TABLE_KEYS] = { step->values[SIZE] };
  const double ones_for[TD_RINGS_TABLE_KEYS] = { slab->n_views };
  TdBuffer *weights, *ones;
  Found found;

  if (!(weights = td_rings_table (slab, "rings weights", weights_for, radius + 1, fill_weights, error))
      || !(ones = td_rings_table (slab, "rings ones", ones_for, slab->n_views, fill_ones, error))
      || !(found.medians = td_rings_buffer (rings, "rings modes 0", n, error))
      || !(found.kept = td_rings_buffer (rings, "rings modes 1", n, error))
      || !(found.marks = td_rings_buffer (rings, "rings marks", n, error))
      || !(found.restless = td_rings_buffer (rings, "rings restless", n, error))
      || !(found.widths = td_rings_buffer (rings, "rings widths", n, error)))
    return FALSE;
  return find (rings, step, &found, error) && keep (rings, &found, error)
         && td_rings_smooth (rings, found.kept, 1, weights, radius, FALSE, found.medians, error)
         && td_rings_add_modes (rings, slab->data, rings->first_row, slab->n_views, n, ones, 1,
                                found.medians, error)
         && td_rings_bridge (rings, found.restless, error);
}

static gboolean
run (const TdStep *step, TdSlab *slab, GError **error)
{
  /* What stays the same cannot be told from so little. */
  if (slab->n_views < LEAST_VIEWS)
    return TRUE;
  return td_rings_each (slab, row_bytes (td_scan_facts (slab->scan)), run_chunk, step, error);
}

const TdStepKind td_step_rings = {
  .name = "rings",
  .title = "Rings",
  .summary = "Removes rings where there are any: what a pixel adds to all views, and dead pixels.",
  .stage = TD_STEP_ABSORPTION,
  .parameters = parameters,
  .n_parameters = G_N_ELEMENTS (parameters),
  .workspace_bytes = workspace_bytes,
  .run = run,
};
