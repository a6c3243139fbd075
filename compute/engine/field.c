/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "field.h"

#include <inttypes.h>
#include <math.h>

#include "compute/row-blend.h"
#include "plan-private.h"

/* Opposite views over less of a turn than this leave half of the wide field to chance. */
#define LEAST_TURN_RAD (1.5 * G_PI)
#define WIDEST 1048576u

/* The axis lies on the detector, nearer to an edge than to the middle. */
static gboolean
axis_near_edge (guint n_columns, double centre_px)
{
  const double last = n_columns - 1;

  return n_columns > 1 && centre_px >= 0 && centre_px <= last
         && fabs (centre_px - last / 2) > last / 4;
}

guint64
td_field_wide_columns (const TdScanFacts *facts, const TdAxisLine *axis)
{
  const double shift = axis->slope * (facts->n_rows - 1) / 2.0;
  const guint64 columns = MAX (td_row_blend_width (facts->n_columns, axis->centre_px - shift),
                               td_row_blend_width (facts->n_columns, axis->centre_px + shift));

  return MAX (columns, facts->wide_columns);
}

gboolean
td_field_choose (const TdScanFacts *facts, TdFieldOfView asked, const TdAxisLine *axis,
                 const TdTurn *turn, TdField *field, GError **error)
{
  const double covered = turn->full.covered_rad;
  const gboolean opposite
      = turn->n_views > 1 && covered >= LEAST_TURN_RAD && turn->full.largest_gap_rad < G_PI * 0.999;

  *field = (TdField) { .columns = facts->n_columns };
  if (asked == TD_FIELD_HALF && !opposite)
    return td_set_error (
        error, TD_ERROR_INVALID,
        "Half acquisition needs views over a full turn, and these cover %.1f of 360 degrees; "
        "take {field-of-view=full}",
        covered * 180 / G_PI);
  field->wide = asked == TD_FIELD_HALF
                || (asked == TD_FIELD_AUTO && opposite
                    && (facts->half_acquisition
                            ? facts->n_columns > 1
                            : turn->kind == TD_TURN_FULL
                                  && axis_near_edge (facts->n_columns, axis->centre_px)));
  if (!field->wide)
    return TRUE;
  const guint64 columns = td_field_wide_columns (facts, axis);
  if (columns > WIDEST)
    return td_set_error (
        error, TD_ERROR_TOO_LARGE,
        "The rotation axis, column %.2f, is so far from the detector that slices would "
        "be %" PRIu64 " pixels wide; mend {centre}, or take {field-of-view=full}",
        axis->centre_px, columns);
  field->columns = (guint) columns;
  return TRUE;
}

gboolean
td_plan_field (TdPlan *plan, TdTurn *turn, TdField *field, GError **error)
{
  const TdScanFacts *facts = td_scan_facts (plan->scan);
  const double pixel_mm = facts->geometry.pixel_width_mm;
  const TdAxisLine axis = td_plan_axis (plan);

  td_turn_of_angles (facts->angles_rad, facts->n_views, turn);
  if (!td_field_choose (facts, plan->recipe.field_of_view, &axis, turn, field, error))
    return FALSE;
  plan->facts.half_acquisition = field->wide;
  plan->facts.pixel_mm = pixel_mm > 0 ? pixel_mm : 0;
  plan->facts.units = pixel_mm > 0 ? "1/mm" : "1/px";
  return TRUE;
}
