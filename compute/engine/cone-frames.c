/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cone-frames.h"

#include <math.h>

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
  td_plan_note (plan,
                "The detector lies on its side: its frames are turned by a quarter, to %u "
                "[column|columns] and %u "
                "[row|rows].",
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

/* ── The volume ── */

/* Rows of another height than columns are wide. */
static void
cone_note_height (TdPlan *plan, const TdScanFacts *facts)
{
  const gboolean portrait = td_cone_scan_portrait (facts);
  const double aspect = td_cone_pixel_aspect (&facts->geometry);
  const guint n_rows = portrait ? facts->n_columns : facts->n_rows;
  const guint n = td_cone_scan_slices (facts);

  if (n != n_rows)
    td_plan_note (plan,
                  "Rows are %.3g times as high as columns are wide: voxels are cubes as wide as a "
                  "column, and %u [slice covers|slices cover] what %u [row sees|rows see].",
                  portrait ? 1 / aspect : aspect, n, n_rows);
}

/* A detector that stands higher or lower than the source. */
static void
cone_note_raised (TdPlan *plan, const TdConeTask *task, guint n_slices)
{
  const double mm = task->raised_mm + task->unseen_mm;
  const guint slices = (guint) rint (fabs (mm) / task->voxel_mm);

  if (mm == 0)
    return;
  if (task->unseen_mm != 0)
    td_plan_note (plan,
                  "The volume lies about the origin of the projection matrices. The detector does "
                  "not see %u of its %u slices at one end, and as much beyond the other end has no "
                  "slice: matrices may come with a volume of their own.",
                  MIN (slices, n_slices), n_slices);
  else
    td_plan_note (
        plan,
        mm > 0 ? N_ ("The detector's middle row sees the axis %.4g mm above the plane of the "
                     "source: the volume's slices lie about that, %u [slice|slices] higher.")
               : N_ ("The detector's middle row sees the axis %.4g mm below the plane of the "
                     "source: the volume's slices lie about that, %u [slice|slices] lower."),
        fabs (task->middle_mm), slices);
}

void
td_cone_note_volume (TdPlan *plan, const TdConeTask *task, const TdScanFacts *facts)
{
  if (td_geometry_has_volume (&facts->geometry))
    return;
  cone_note_height (plan, facts);
  cone_note_raised (plan, task, td_cone_scan_slices (facts));
}
