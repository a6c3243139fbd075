/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/params.h"
#include "rings.h"
#include "compute/prepare/steps.h"

/**
 * Vo et al., Opt. Express 26 (2018): algorithms 6, 5 and 3 after one another, as the authors do by
 * default. They mend dead and fluctuating pixels, wide stripes, then all others.
 */
enum { SIZE, LARGE, SNR };

static const TdStepParameter parameters[] = {
  [SIZE] = { "size", N_ ("Width of thin stripes' median (columns)"),
             N_ ("At least twice the width of the usual stripes; wider smooths what is round."), 5,
             3, TD_RINGS_MAX_MEDIAN, 0, NULL, TRUE },
  [LARGE]
  = { "large", N_ ("Width of wide stripes' median (columns)"),
      N_ ("Two to three times the widest stripe."), 51, 3, TD_RINGS_MAX_MEDIAN, 0, NULL, TRUE },
  [SNR] = { "snr", N_ ("Detection threshold"),
            N_ ("Of dead pixels and wide stripes; lower finds fainter ones and harms more."), 3, 1,
            100, 1, NULL },
};

enum { DEAD_PART, LARGE_PART, SORTING_PART, N_PARTS };

static void
make_parts (const TdStep *step, const TdStepKind *kinds[N_PARTS], TdStep parts[N_PARTS])
{
  kinds[DEAD_PART] = &td_step_rings_dead;
  kinds[LARGE_PART] = &td_step_rings_large;
  kinds[SORTING_PART] = &td_step_rings_sorting;
  for (guint i = 0; i < N_PARTS; i++)
    td_step_init (&parts[i], kinds[i]);
  parts[DEAD_PART].values[0] = parts[LARGE_PART].values[0] = step->values[LARGE];
  parts[DEAD_PART].values[1] = parts[LARGE_PART].values[1] = step->values[SNR];
  parts[SORTING_PART].values[0] = step->values[SIZE];
}

static guint64
step_rings_all_workspace_bytes (const TdStep *step, const TdScanFacts *facts, guint n_rows)
{
  const TdStepKind *kinds[N_PARTS];
  TdStep parts[N_PARTS];
  guint64 bytes[N_PARTS];

  make_parts (step, kinds, parts);
  for (guint i = 0; i < N_PARTS; i++)
    bytes[i] = kinds[i]->workspace_bytes (&parts[i], facts, n_rows);
  /* The last two share all they have; the first takes more rows at a time. */
  return bytes[0] + MAX (bytes[1], bytes[2]);
}

static guint64
step_rings_all_lines_bytes (const TdScanFacts *facts)
{
  return td_rings_lines_bytes (facts, TRUE) + td_rings_profiles_bytes (facts);
}

/* Wide stripes and all others, for which columns are turned and sorted once. What the second would
   sort is what the first has, but for the columns that the first changes. The same to the last
   bit. */
static gboolean
run_together (const TdRings *rings, gconstpointer user, GError **error)
{
  const TdStep *parts = user;
  guint n_views = rings->slab->n_views, n_columns = rings->slab->n_columns;
  TdRingsLines lines;
  TdBuffer *marks;

  return td_rings_find_large (rings, &parts[LARGE_PART], &lines, &marks, error)
         && td_rings_resort (rings, &lines, marks, error)
         && td_rings_median (rings, lines.lines[0], lines.lines[1], n_views, n_columns,
                             (guint) parts[SORTING_PART].values[0], error)
         && td_rings_unsort (rings, lines.lines[1], lines.order[0], lines.lines[0], error)
         && td_rings_from_lines (rings, lines.lines[0], NULL, error);
}

static gboolean
step_rings_all_run (const TdStep *step, TdSlab *slab, GError **error)
{
  const TdStepKind *kinds[N_PARTS];
  TdStep parts[N_PARTS];

  make_parts (step, kinds, parts);
  if (td_device_info (slab->device)->cpu_shaped)
    return kinds[DEAD_PART]->run (&parts[DEAD_PART], slab, error)
           && td_rings_each (slab, step_rings_all_lines_bytes (td_scan_facts (slab->scan)),
                             run_together, parts, error);
  for (guint i = 0; i < N_PARTS; i++)
    if (!kinds[i]->run (&parts[i], slab, error))
      return FALSE;
  return TRUE;
}

const TdStepKind td_step_rings_all = {
  .name = "rings-all",
  .title = N_ ("Rings: large, dead and sorting"),
  .summary
  = N_ ("Dead pixels, then wide stripes, then all others; for strong rings of several kinds."),
  .stage = TD_STEP_ABSORPTION,
  .parameters = parameters,
  .n_parameters = G_N_ELEMENTS (parameters),
  .workspace_bytes = step_rings_all_workspace_bytes,
  .run = step_rings_all_run,
};
