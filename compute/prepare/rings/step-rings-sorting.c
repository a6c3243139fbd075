/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/params.h"
#include "rings.h"
#include "compute/prepare/steps.h"

/**
 * Vo et al., Opt. Express 26 (2018), algorithm 3. Each column is sorted along the angle, a median
 * smooths the sorted sinogram across columns, and every value returns to its view. This removes
 * what a pixel adds to all samples of its column. What the object does in single views takes no
 * part: once sorted, it stands at the same place in neighbouring columns.
 */
enum { SIZE };

static const TdStepParameter parameters[] = {
  [SIZE] = { "size", N_ ("Width of the median (columns)"),
             N_ ("At least twice the widest stripe; wider smooths what is round and off-axis."), 5,
             3, TD_RINGS_MAX_MEDIAN, 0, NULL, TRUE },
};

static guint64
step_rings_sorting_workspace_bytes (const TdStep *step, const TdScanFacts *facts, guint n_rows)
{
  return td_rings_workspace_bytes (n_rows, td_rings_lines_bytes (facts, TRUE));
}

static gboolean
step_rings_sorting_run_chunk (const TdRings *rings, gconstpointer user, GError **error)
{
  const TdStep *step = user;
  guint n_views = rings->slab->n_views, n_columns = rings->slab->n_columns;
  TdRingsLines lines;

  if (!td_rings_lines (rings, TRUE, &lines, error)
      || !td_rings_to_lines (rings, lines.lines[0], error)
      || !td_rings_sort (rings, &lines, n_views, n_columns, error)
      || !td_rings_median (rings, lines.lines[0], lines.lines[1], n_views, n_columns,
                           (guint) step->values[SIZE], error))
    return FALSE;
  return td_rings_unsort (rings, lines.lines[1], lines.order[0], lines.lines[0], error)
         && td_rings_from_lines (rings, lines.lines[0], NULL, error);
}

static gboolean
step_rings_sorting_run (const TdStep *step, TdSlab *slab, GError **error)
{
  return td_rings_each (slab, td_rings_lines_bytes (td_scan_facts (slab->scan), TRUE),
                        step_rings_sorting_run_chunk, step, error);
}

const TdStepKind td_step_rings_sorting = {
  .name = "rings-sorting",
  .title = N_ ("Rings: sorting"),
  .summary = N_ ("Removes stripes of full length by a median across the sorted columns."),
  .stage = TD_STEP_ABSORPTION,
  .parameters = parameters,
  .n_parameters = G_N_ELEMENTS (parameters),
  .workspace_bytes = step_rings_sorting_workspace_bytes,
  .run = step_rings_sorting_run,
};
