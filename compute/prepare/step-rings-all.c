/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/params.h"
#include "steps.h"

/**
 * Vo et al., Opt. Express 26 (2018): algorithms 6, 5 and 3 after one another, as the authors do by
 * default: dead and fluctuating pixels, wide stripes, then all others.
 */
enum { SIZE, LARGE, SNR };

static const TdStepParameter parameters[] = {
  [SIZE] = { "size", "Width of thin stripes' median (columns)",
             "At least twice the width of the usual stripes; wider smooths what is round.", 5, 3,
             TD_RINGS_MAX_MEDIAN, 0, NULL, TRUE },
  [LARGE] = { "large", "Width of wide stripes' median (columns)",
              "Two to three times the widest stripe.", 51, 3, TD_RINGS_MAX_MEDIAN, 0, NULL, TRUE },
  [SNR] = { "snr", "Detection threshold",
            "Of dead pixels and wide stripes; lower finds fainter ones and harms more.", 3, 1, 100, 1,
            NULL },
};

#define N_PARTS 3

static void
make_parts (const TdStep *step, const TdStepKind *kinds[N_PARTS], TdStep parts[N_PARTS])
{
  kinds[0] = &td_step_rings_dead;
  kinds[1] = &td_step_rings_large;
  kinds[2] = &td_step_rings_sorting;
  for (guint i = 0; i < N_PARTS; i++)
    td_step_init (&parts[i], kinds[i]);
  parts[0].values[0] = parts[1].values[0] = step->values[LARGE];
  parts[0].values[1] = parts[1].values[1] = step->values[SNR];
  parts[2].values[0] = step->values[SIZE];
}

static guint64
workspace_bytes (const TdStep *step, const TdScanFacts *facts, guint n_rows)
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

static gboolean
run (const TdStep *step, TdSlab *slab, GError **error)
{
  const TdStepKind *kinds[N_PARTS];
  TdStep parts[N_PARTS];

  make_parts (step, kinds, parts);
  for (guint i = 0; i < N_PARTS; i++)
    if (!kinds[i]->run (&parts[i], slab, error))
      return FALSE;
  return TRUE;
}

const TdStepKind td_step_rings_all = {
  .name = "rings-all",
  .title = "Rings: large, dead and sorting",
  .summary = "Dead pixels, then wide stripes, then all others; for strong rings of several kinds.",
  .stage = TD_STEP_ABSORPTION,
  .parameters = parameters,
  .n_parameters = G_N_ELEMENTS (parameters),
  .workspace_bytes = workspace_bytes,
  .run = run,
};
