/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>

#include "rings.h"
#include "compute/prepare/steps.h"

/**
 * Titarenko, Withers and Yagola, Appl. Math. Lett. 23 (2010). A stripe adds q to its column. The q
 * sought are small and make the columns' mean p smooth: they minimise
 *
 *   sum over columns of (p + q)'^2 + alpha q^2, thus (alpha + L) q = -L p
 *
 * with L the second difference, mirrored at the ends. Its inverse is a convolution, alpha / (alpha
 * + L) = tanh (t / 2) exp (-|i| t) with alpha = 4 sinh^2 (t / 2). So q is a smoothed p less p. The
 * strength is 1 / t, the reach of the smoothing in columns. Each block of views has a q of its own.
 */
enum { SIZE, BLOCKS };

static const TdStepParameter parameters[] = {
  [SIZE] = { "size", N_ ("Reach of the smoothing (columns)"),
             N_ ("About the widest stripe; larger takes wider stripes and more of the object."), 3,
             0.3, 50, 1, NULL, TRUE },
  [BLOCKS]
  = { "blocks", N_ ("Blocks of views"),
      N_ ("1 for stripes of full length; more where they come and go."), 1, 1, 32, 0, NULL },
};

#define REACH 16 /* exp (-16) is left out */

static guint
blocks_of (const TdStep *step, guint n_views)
{
  return MIN ((guint) step->values[BLOCKS], n_views);
}

static guint64
step_rings_normalise_row_bytes (const TdStep *step, const TdScanFacts *facts)
{
  return 2 * sizeof (float) * (guint64) blocks_of (step, facts->n_views) * facts->n_columns;
}

static guint64
step_rings_normalise_workspace_bytes (const TdStep *step, const TdScanFacts *facts, guint n_rows)
{
  return td_rings_workspace_bytes (step, facts, n_rows)
         + sizeof (float)
               * (2 * (guint64) blocks_of (step, facts->n_views) * facts->n_views
                  + (guint64) ceil (REACH * step->values[SIZE]) + 1);
}

/* made_for: views, blocks, TRUE for means and FALSE for ones. */
static void
fill_blocks (float *table, const double *made_for)
{
  guint n = (guint) made_for[0], n_blocks = (guint) made_for[1];

  for (guint block = 0; block < n_blocks; block++) {
    guint first = (guint64) n * block / n_blocks, end = (guint64) n * (block + 1) / n_blocks;
    for (guint view = 0; view < n; view++)
      table[(gsize) block * n + view] = view < first || view >= end ? 0
                                        : made_for[2] != 0          ? 1.0f / (float) (end - first)
                                                                    : 1;
  }
}

/* made_for: reach. */
static void
fill_weights (float *weights, const double *made_for)
{
  guint radius = (guint) ceil (REACH * made_for[0]);

  for (guint i = 0; i <= radius; i++)
    weights[i] = (float) (tanh (0.5 / made_for[0]) * exp (-(double) i / made_for[0]));
}

static gboolean
step_rings_normalise_run_chunk (const TdStep *step, const TdRings *rings, GError **error)
{
  TdSlab *slab = rings->slab;
  guint n_blocks = blocks_of (step, slab->n_views),
        radius = (guint) ceil (REACH * step->values[SIZE]);
  const double means_for[TD_RINGS_TABLE_KEYS] = { slab->n_views, n_blocks, TRUE };
  const double ones_for[TD_RINGS_TABLE_KEYS] = { slab->n_views, n_blocks, FALSE };
  const double weights_for[TD_RINGS_TABLE_KEYS] = { step->values[SIZE] };
  guint64 floats = (guint64) n_blocks * slab->n_columns;
  guint64 table_floats = (guint64) n_blocks * slab->n_views;
  TdBuffer *means
      = td_rings_table (slab, "rings-normalise means", means_for, table_floats, fill_blocks, error);
  TdBuffer *ones = means ? td_rings_table (slab, "rings-normalise ones", ones_for, table_floats,
                                           fill_blocks, error)
                         : NULL;
  TdBuffer *weights = ones ? td_rings_table (slab, "rings-normalise weights", weights_for,
                                             radius + 1, fill_weights, error)
                           : NULL;
  TdBuffer *p = weights ? td_rings_buffer (rings, "rings modes 0", floats, error) : NULL;
  TdBuffer *q = p ? td_rings_buffer (rings, "rings modes 1", floats, error) : NULL;

  return q && td_rings_project (rings, means, n_blocks, p, error)
         && td_rings_smooth (rings, p, n_blocks, (TdRingsSmoothing) { weights, radius, TRUE }, q,
                             error)
         && td_rings_add_modes (rings, ones, n_blocks, q, error);
}

const TdStepKind td_step_rings_normalise = {
  .name = "rings-normalise",
  .title = N_ ("Rings: normalisation"),
  .summary = N_ ("Finds the smallest offsets of columns that make their mean smooth."),
  .stage = TD_STEP_ABSORPTION,
  TD_STEP_PARAMETERS (parameters),
  .workspace_bytes = step_rings_normalise_workspace_bytes,
  .run = td_rings_run,
  .row_bytes = step_rings_normalise_row_bytes,
  .run_chunk = step_rings_normalise_run_chunk,
};
