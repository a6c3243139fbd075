/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "prepare-private.h"
#include "slab.h"

/* What the steps of a recipe ask for, before any of them runs. */

gboolean
td_preparation_skips (const TdStep *step, const TdScanFacts *facts)
{
  const TdStepKind *kind = td_prepare_step (step->name, NULL);

  if (!kind || !step->enabled)
    return TRUE;
  if (facts->transmission_logged)
    return kind->stage != TD_STEP_ABSORPTION;
  return kind->skips && kind->skips (step, facts);
}

TdMessage *
td_preparation_unsupported (const TdStep *steps, guint n_steps, const TdScanFacts *facts)
{
  for (guint i = 0; i < n_steps; i++) {
    g_autoptr (GError) error = NULL;
    const TdStepKind *kind = td_prepare_step (steps[i].name, &error);
    TdMessage *reason = NULL;

    if (!kind)
      return td_error_message (error);
    if (!td_preparation_skips (&steps[i], facts) && kind->unsupported)
      reason = kind->unsupported (&steps[i], facts);
    if (reason)
      return reason;
  }
  return NULL;
}

guint
td_preparation_halo (const TdStep *steps, guint n_steps, const TdScanFacts *facts)
{
  guint64 halo = 0;

  for (guint i = 0; i < n_steps; i++) {
    const TdStepKind *kind = td_prepare_step (steps[i].name, NULL);
    if (!td_preparation_skips (&steps[i], facts) && kind->halo)
      halo += kind->halo (&steps[i], facts);
  }
  return (guint) MIN (halo, facts->n_rows);
}

guint64
td_preparation_workspace_bytes (const TdStep *steps, guint n_steps, const TdScanFacts *facts,
                                guint max_rows)
{
  guint64 bytes
      = TD_COUNTER_COUNT * sizeof (int) + (guint64) max_rows * facts->n_views * sizeof (int);

  for (guint i = 0; i < n_steps; i++) {
    const TdStepKind *kind = td_prepare_step (steps[i].name, NULL);
    if (!td_preparation_skips (&steps[i], facts) && kind->workspace_bytes)
      bytes += kind->workspace_bytes (&steps[i], facts, max_rows);
    if (!td_preparation_skips (&steps[i], facts) && kind->run_core)
      bytes += max_rows / TD_PREPARATION_CORE_SHARE * td_preparation_row_bytes (facts);
  }
  return bytes;
}

guint64
td_preparation_host_bytes (const TdStep *steps, guint n_steps, const TdScanFacts *facts,
                           guint max_rows)
{
  guint64 bytes = 0;

  for (guint i = 0; i < n_steps; i++) {
    const TdStepKind *kind = td_prepare_step (steps[i].name, NULL);
    if (!td_preparation_skips (&steps[i], facts) && kind->host_bytes)
      bytes += kind->host_bytes (&steps[i], facts, max_rows);
  }
  return bytes;
}

gboolean
td_preparation_fetch (TdFlats *flats, const TdStep *steps, guint n_steps, guint row0, guint n_rows,
                      GCancellable *cancellable, GError **error)
{
  const TdScanFacts *facts = td_scan_facts (td_flats_scan (flats));

  for (guint i = 0; i < n_steps; i++) {
    const TdStepKind *kind = td_prepare_step (steps[i].name, NULL);
    if (!td_preparation_skips (&steps[i], facts) && kind->fetch
        && !kind->fetch (&steps[i], flats, row0, n_rows, cancellable, error))
      return FALSE;
  }
  return TRUE;
}
