/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cone-frames.h"

#include "cone-scan.h"
#include "dataset/scan-spool.h"
#include "engine-private.h"
#include "plan-private.h"

TdScan *
td_cone_frames_new (TdPlan *plan, TdGeometry *geometry, double **angles_rad, GError **error)
{
  const TdScanFrame frame = { .turned = TRUE };
  const TdScanFacts *facts = td_scan_facts (plan->scan);

  td_cone_scan_geometry (facts, &plan->recipe, plan->centre_px, geometry, angles_rad);
  if (!td_cone_scan_portrait (facts))
    return td_scan_ref (plan->scan);
  TdScan *turned = td_engine_view (plan->engine, plan->scan, &frame, error);
  if (!turned)
    return NULL;
  td_geometry_turn_image (geometry, facts->n_columns);
  td_plan_note (
      plan,
      "The detector lies on its side: its frames are turned by a quarter, to %u columns and %u "
      "rows.",
      td_scan_facts (turned)->n_columns, td_scan_facts (turned)->n_rows);
  return turned;
}

void
td_cone_spool_note (TdPlan *plan, TdConeSpool spool, guint64 bytes)
{
  g_autofree char *size = g_format_size (bytes);

  if (spool == TD_CONE_SPOOL_NONE)
    td_plan_note (plan,
                  "The turned frames are read several times: a copy of them wants %s, which %s has "
                  "no room for; set TMPDIR to a larger disk.",
                  size, g_get_tmp_dir ());
  else
    td_plan_note (
        plan,
        "The turned frames are too many to be turned at once: each is read once, and waits for "
        "its rows to be wanted in %p (%s).",
        td_message_new_plain (spool == TD_CONE_SPOOL_MEMORY ? N_ ("memory")
                                                            : N_ ("a temporary file")),
        size);
}

TdScan *
td_cone_spool_open (TdScan *scan, TdRowRange rows, TdConeSpool spool)
{
  return spool == TD_CONE_SPOOL_NONE
             ? td_scan_ref (scan)
             : td_scan_spool_new (scan, rows.first, rows.count, TD_SAMPLE_FLOAT32,
                                  spool == TD_CONE_SPOOL_MEMORY);
}
