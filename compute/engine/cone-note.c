/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cone-note.h"

#include <math.h>

#include "cone-scan.h"
#include "plan-private.h"

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
                  "column, and %u slices cover what %u rows see.",
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
    td_plan_note (plan,
                  mm > 0 ? N_ ("The detector's middle row sees the axis %.4g mm above the plane of "
                               "the source: the volume's slices lie about that, %u slices higher.")
                         : N_ ("The detector's middle row sees the axis %.4g mm below the plane of "
                               "the source: the volume's slices lie about that, %u slices lower."),
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
