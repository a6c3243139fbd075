/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/params.h"
#include "rings.h"
#include "compute/prepare/steps.h"

/**
 * Vo et al., Opt. Express 26 (2018), algorithm 6: pixels that do not answer vary less along the
 * angle than their neighbours, fluctuating ones more. Columns whose roughness stands out from the
 * median of those around (algorithm 4) are replaced by the straight line between the sound ones
 * beside them.
 */
enum { SIZE, SNR };

static const TdStepParameter parameters[] = {
  [SIZE] = { "size", N_ ("Width of the median (columns)"), N_ ("A few times the widest stripe."),
             51, 3, TD_RINGS_MAX_MEDIAN, 0, NULL, TRUE },
  [SNR] = { "snr", N_ ("Detection threshold"),
            N_ ("How far a column's roughness stands out; lower finds more and harms more."), 3, 1,
            100, 1, NULL },
};

#define WINDOW 10 /* views that a column is compared with the mean of, as published */
#define MARGIN 2  /* columns at the ends that have no neighbour to take from */

static guint64
step_rings_dead_workspace_bytes (const TdStep *step, const TdScanFacts *facts, guint n_rows)
{
  return td_rings_workspace_bytes (n_rows, td_rings_profiles_bytes (facts));
}

static gboolean
step_rings_dead_run_chunk (const TdRings *rings, gconstpointer user, GError **error)
{
  const TdStep *step = user;
  guint n_columns = rings->slab->n_columns;
  TdBuffer *own = td_rings_buffer (rings, "rings own means", n_columns, error);
  TdBuffer *around = own ? td_rings_buffer (rings, "rings means around", n_columns, error) : NULL;
  TdBuffer *ratio = around ? td_rings_buffer (rings, "rings ratio", n_columns, error) : NULL;
  TdBuffer *marks = ratio ? td_rings_buffer (rings, "rings marks", n_columns, error) : NULL;

  return marks && td_rings_roughness (rings, WINDOW, own, error)
         && td_rings_median (rings, own, around, 1, n_columns, (guint) step->values[SIZE], error)
         && td_rings_detect (rings, own, around, (TdRingsTest) { 0, step->values[SNR], MARGIN },
                             ratio, marks, error)
         && td_rings_apply (rings, "rings_bridge", marks, error);
}

static gboolean
step_rings_dead_run (const TdStep *step, TdSlab *slab, GError **error)
{
  return td_rings_each (slab, td_rings_profiles_bytes (td_scan_facts (slab->scan)),
                        step_rings_dead_run_chunk, step, error);
}

const TdStepKind td_step_rings_dead = {
  .name = "rings-dead",
  .title = N_ ("Rings: dead and fluctuating pixels"),
  .summary
  = N_ ("Finds columns that vary too little or too much along the angle and bridges them."),
  .stage = TD_STEP_ABSORPTION,
  .parameters = parameters,
  .n_parameters = G_N_ELEMENTS (parameters),
  .workspace_bytes = step_rings_dead_workspace_bytes,
  .run = step_rings_dead_run,
};
