/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/params.h"
#include "rings.h"
#include "compute/prepare/steps.h"

/**
 * Vo et al., Opt. Express 26 (2018), algorithm 5. The mean of a column over the middle of its
 * sorted values is compared with the median of the columns around (algorithm 4). A column that
 * differs is a stripe and takes its neighbours' sorted values in its own order. One thing is not as
 * published: means that differ by more than MOST_RATIO are not compared.
 */
enum { SIZE, SNR, DROP, NORMALISE };

static const char *const switch_names[] = { N_ ("no"), N_ ("yes"), NULL };
static const TdStepParameter parameters[] = {
  [SIZE]
  = { "size", N_ ("Width of the median (columns)"),
      N_ ("Two to three times the widest stripe, which is then seen against its surroundings."), 51,
      3, TD_RINGS_MAX_MEDIAN, 0, NULL, TRUE },
  [SNR]
  = { "snr", N_ ("Detection threshold"),
      N_ ("How far a stripe stands out from the noise; lower finds fainter ones and harms more."),
      3, 1, 100, 1, NULL },
  [DROP]
  = { "drop", N_ ("Share of values left out"),
      N_ ("The largest and smallest values of a column, together, that its mean passes over."), 0.1,
      0, 0.8, 2, NULL },
  [NORMALISE]
  = { "normalise", N_ ("Divide all columns"),
      N_ ("Also divides every column by its factor, as published; leave it off where the "
          "object ends within the detector."),
      0, 0, 1, 0, switch_names },
};

/* No gain is so wrong: there the object ends, and means are compared with next to nothing. */
#define MOST_RATIO 1.5

static guint64
step_rings_large_row_bytes (const TdScanFacts *facts)
{
  return td_rings_lines_bytes (facts, TRUE) + td_rings_profiles_bytes (facts);
}

static guint64
step_rings_large_workspace_bytes (const TdStep *step, const TdScanFacts *facts, guint n_rows)
{
  return td_rings_workspace_bytes (n_rows, step_rings_large_row_bytes (facts));
}

gboolean
td_rings_find_large (const TdRings *rings, const TdStep *step, TdRingsLines *lines,
                     TdBuffer **found, GError **error)
{
  guint n_views = rings->slab->n_views, n_columns = rings->slab->n_columns;
  guint dropped = (guint) (0.5 * step->values[DROP] * n_views);
  TdBuffer *own = td_rings_buffer (rings, "rings own means", n_columns, error);
  TdBuffer *around = own ? td_rings_buffer (rings, "rings means around", n_columns, error) : NULL;
  TdBuffer *ratio = around ? td_rings_buffer (rings, "rings ratio", n_columns, error) : NULL;
  TdBuffer *marks = ratio ? td_rings_buffer (rings, "rings marks", n_columns, error) : NULL;

  *found = marks;
  return marks && td_rings_lines (rings, TRUE, lines, error)
         && td_rings_to_lines (rings, lines->lines[0], error)
         && td_rings_sort (rings, lines, n_views, n_columns, error)
         && td_rings_median (rings, lines->lines[0], lines->lines[1], n_views, n_columns,
                             (guint) step->values[SIZE], error)
         && td_rings_line_means (rings, lines->lines[0], dropped, n_views - dropped, own, error)
         && td_rings_line_means (rings, lines->lines[1], dropped, n_views - dropped, around, error)
         && td_rings_detect (rings, own, around, (TdRingsTest) { MOST_RATIO, step->values[SNR], 0 },
                             ratio, marks, error)
         && (step->values[NORMALISE] == 0
             || td_rings_apply (rings, "rings_divide_columns", ratio, error));
}

static gboolean
step_rings_large_run_chunk (const TdRings *rings, gconstpointer user, GError **error)
{
  TdRingsLines lines;
  TdBuffer *marks;

  if (!td_rings_find_large (rings, user, &lines, &marks, error))
    return FALSE;
  return td_rings_unsort (rings, lines.lines[1], lines.order[0], lines.lines[0], error)
         && td_rings_from_lines (rings, lines.lines[0], marks, error);
}

static gboolean
step_rings_large_run (const TdStep *step, TdSlab *slab, GError **error)
{
  return td_rings_each (slab, step_rings_large_row_bytes (td_scan_facts (slab->scan)),
                        step_rings_large_run_chunk, step, error);
}

const TdStepKind td_step_rings_large = {
  .name = "rings-large",
  .title = N_ ("Rings: large stripes"),
  .summary = N_ ("Finds wide and strong stripes and gives them their neighbours' values."),
  .stage = TD_STEP_ABSORPTION,
  .parameters = parameters,
  .n_parameters = G_N_ELEMENTS (parameters),
  .workspace_bytes = step_rings_large_workspace_bytes,
  .run = step_rings_large_run,
};
