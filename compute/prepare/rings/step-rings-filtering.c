/* SPDX-License-Identifier: GPL-3.0-or-later */

#include "kernels/params.h"
#include "rings.h"
#include "compute/prepare/steps.h"

/**
 * Vo et al., Opt. Express 26 (2018), algorithm 2. Stripes of full length live in each column's low
 * frequencies along the angle. The step takes the median of these across columns and keeps the high
 * frequencies. The Gaussian window stands at frequency 0; the published program's is half a
 * frequency off for even lengths.
 */
enum { SIZE, SIGMA };

static const TdStepParameter parameters[] = {
  [SIZE] = { "size", N_ ("Width of the median (columns)"), N_ ("At least twice the widest stripe."),
             5, 3, TD_RINGS_MAX_MEDIAN, 0, NULL, TRUE },
  [SIGMA] = { "sigma", N_ ("Width of the window (frequencies)"),
              N_ ("Larger also takes stripes of part of the turn, and more of the object."), 3, 0.5,
              50, 1, NULL },
};

/* Mirrored views at either end, as published. */
static guint
step_rings_filtering_padding (guint n_views)
{
  return MIN (150, n_views / 10);
}

static guint64
step_rings_filtering_row_bytes (const TdStep *step, const TdScanFacts *facts)
{
  guint n_modes = td_rings_low_modes (facts->n_views, step_rings_filtering_padding (facts->n_views),
                                      step->values[SIGMA]);
  return td_rings_lines_bytes (facts, FALSE)
         + (guint64) n_modes * facts->n_columns * sizeof (float);
}

static guint64
step_rings_filtering_workspace_bytes (const TdStep *step, const TdScanFacts *facts, guint n_rows)
{
  guint n_modes = td_rings_low_modes (facts->n_views, step_rings_filtering_padding (facts->n_views),
                                      step->values[SIGMA]);
  return td_rings_workspace_bytes (step, facts, n_rows)
         + 2 * sizeof (float) * (guint64) n_modes * facts->n_views;
}

enum { VIEWS, PAD, WINDOW, SYNTHESIS };

static void
step_rings_filtering_fill_table (float *table, const double *made_for)
{
  guint n = (guint) made_for[VIEWS], pad = (guint) made_for[PAD];
  gsize floats = (gsize) td_rings_low_modes (n, pad, made_for[WINDOW]) * n;
  g_autofree double *exact = g_new (double, floats);

  if (made_for[SYNTHESIS] != 0)
    td_rings_low_synthesis (n, pad, made_for[WINDOW], exact);
  else
    td_rings_low_analysis (n, pad, made_for[WINDOW], exact);
  for (gsize i = 0; i < floats; i++)
    table[i] = (float) exact[i];
}

static gboolean
make_lines (const TdRings *rings, TdBuffer *table, TdBuffer *modes, guint n_modes, TdBuffer *lines,
            GError **error)
{
  const TdSlab *slab = rings->slab;
  guint lanes = td_rings_lanes (rings);
  guint64 n_items = (guint64) ((slab->n_views + lanes - 1) / lanes) * slab->n_columns;

  return td_rings_launch (rings, "rings-columns", "rings_modes_to_lines", n_items,
                          TD_ARGS (table, modes, lines, slab->n_views, slab->n_columns, n_modes),
                          error);
}

static gboolean
add_difference (const TdRings *rings, const TdRingsLines *lines, GError **error)
{
  const TdSlab *slab = rings->slab;

  return td_rings_launch (rings, "rings-sort", "rings_add_difference", td_rings_tiles (rings),
                          TD_ARGS (lines->lines[0], lines->lines[1], slab->data, rings->first_row,
                                   slab->n_views, slab->n_columns),
                          error);
}

static gboolean
step_rings_filtering_run_chunk (const TdStep *step, const TdRings *rings, GError **error)
{
  TdSlab *slab = rings->slab;
  guint pad = step_rings_filtering_padding (slab->n_views);
  guint n_modes = td_rings_low_modes (slab->n_views, pad, step->values[SIGMA]);
  guint64 floats = (guint64) n_modes * slab->n_views;
  const double there[TD_RINGS_TABLE_KEYS] = { slab->n_views, pad, step->values[SIGMA], FALSE };
  const double back[TD_RINGS_TABLE_KEYS] = { slab->n_views, pad, step->values[SIGMA], TRUE };
  TdBuffer *analysis = td_rings_table (slab, "rings-filtering analysis", there, floats,
                                       step_rings_filtering_fill_table, error);
  TdBuffer *synthesis = analysis ? td_rings_table (slab, "rings-filtering synthesis", back, floats,
                                                   step_rings_filtering_fill_table, error)
                                 : NULL;
  TdBuffer *modes = synthesis ? td_rings_buffer (rings, "rings modes 0",
                                                 (guint64) n_modes * slab->n_columns, error)
                              : NULL;
  TdRingsLines lines;

  return modes && td_rings_lines (rings, FALSE, &lines, error)
         && td_rings_project (rings, analysis, n_modes, modes, error)
         && make_lines (rings, synthesis, modes, n_modes, lines.lines[0], error)
         && td_rings_median (rings, lines.lines[0], lines.lines[1], slab->n_views, slab->n_columns,
                             (guint) step->values[SIZE], error)
         && add_difference (rings, &lines, error);
}

const TdStepKind td_step_rings_filtering = {
  .name = "rings-filtering",
  .title = N_ ("Rings: filtering"),
  .summary
  = N_ ("Removes stripes from the low frequencies along the angle by a median across columns."),
  .stage = TD_STEP_ABSORPTION,
  TD_STEP_PARAMETERS (parameters),
  .workspace_bytes = step_rings_filtering_workspace_bytes,
  .run = td_rings_run,
  .row_bytes = step_rings_filtering_row_bytes,
  .run_chunk = step_rings_filtering_run_chunk,
};
