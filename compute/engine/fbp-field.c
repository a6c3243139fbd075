/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>

#include "fbp-private.h"
#include "turn.h"

/* Opposite views over less of a turn than this leave half of the wide field to chance. */
#define LEAST_TURN_RAD (1.5 * G_PI)
#define WIDEST 1048576u

static double
degrees (double radians)
{
  return radians * 180 / G_PI;
}

/* The axis lies on the detector, nearer to an edge than to the middle. */
static gboolean
axis_near_edge (const TdFbp *fbp)
{
  const double last = fbp->n_columns - 1;

  return fbp->n_columns > 1 && fbp->centre_px >= 0 && fbp->centre_px <= last
         && fabs (fbp->centre_px - last / 2) > last / 4;
}

/* Half acquisition: asked for, stated by the scan, or seen from the axis and the angles. */
static gboolean
choose_field (TdPlan *plan, TdFbp *fbp, const TdTurn *turn, GError **error)
{
  const gboolean stated = td_scan_facts (plan->scan)->half_acquisition;
  const TdFieldOfView asked = plan->recipe.field_of_view;
  const double covered = turn->full.covered_rad;
  const gboolean opposite = turn->n_views > 1 && covered >= LEAST_TURN_RAD
                            && turn->full.largest_gap_rad < G_PI * 0.999;

  if (asked == TD_FIELD_HALF && !opposite) {
    g_set_error (error, TD_ERROR, TD_ERROR_INVALID,
                 "Half acquisition needs views over a full turn, and these cover %.1f of 360 degrees; "
                 "take --field-of-view full", degrees (covered));
    return FALSE;
  }
  fbp->blend = asked == TD_FIELD_HALF
               || (asked == TD_FIELD_AUTO && opposite
                   && (stated ? fbp->n_columns > 1
                              : turn->kind == TD_TURN_FULL && axis_near_edge (fbp)));
  if (asked == TD_FIELD_AUTO && stated && !opposite)
    td_plan_note (plan, "The scan says that it is a half acquisition, but its views do not go round: "
                        "slices are as wide as the detector.");
  return TRUE;
}

/* As wide as the row whose axis is farthest out needs it. */
static gboolean
set_width (TdPlan *plan, TdFbp *fbp, GError **error)
{
  const double top = td_fbp_centre (fbp, 0), bottom = td_fbp_centre (fbp, fbp->n_rows - 1);
  const guint64 width = MAX (td_row_blend_width (fbp->n_columns, top),
                             td_row_blend_width (fbp->n_columns, bottom));

  if (width > WIDEST) {
    g_set_error (error, TD_ERROR, TD_ERROR_TOO_LARGE,
                 "The rotation axis, column %.2f, is so far from the detector that slices would be "
                 "%" G_GUINT64_FORMAT " pixels wide; mend --centre, or take --field-of-view full",
                 plan->recipe.centre_px, width);
    return FALSE;
  }
  fbp->n_filtered = (guint) width;
  if (fbp->centre_px < (fbp->n_columns - 1) / 2.0)
    fbp->shift = fbp->n_filtered - fbp->n_columns;
  return TRUE;
}

static void
note_field (TdPlan *plan, const TdFbp *fbp, const TdTurn *turn)
{
  const double last = fbp->n_columns - 1;
  const double overlap = MIN (fbp->centre_px, last - fbp->centre_px);

  if (!fbp->blend) {
    if (turn->kind == TD_TURN_FULL
        && td_row_blend_width (fbp->n_columns, fbp->centre_px) > 1.02 * fbp->n_columns)
      td_plan_note (plan, "The axis is off the detector's middle and the stage made a full turn: what "
                          "lies more than %.0f pixels from the axis is seen from one side only. "
                          "--field-of-view half puts both sides together.", MAX (overlap, 0));
    return;
  }
  if (overlap >= 0)
    td_plan_note (plan, "Half acquisition: the two sides of the full turn are blended where they "
                        "overlap, %.0f pixels to either side of the axis, into slices of %u × %u "
                        "pixels.", overlap, fbp->n_filtered, fbp->n_filtered);
  else
    td_plan_note (plan, "Half acquisition: the rotation axis, column %.2f, is outside the detector, "
                        "and what lies within %.0f pixels of it was not seen.",
                  plan->recipe.centre_px, ceil (-overlap));
}

gboolean
td_fbp_set_field (TdPlan *plan, TdFbp *fbp, GError **error)
{
  const TdScanFacts *facts = td_scan_facts (plan->scan);
  const TdRecipe *recipe = &plan->recipe;
  const double offset = recipe->angle_offset_deg * G_PI / 180;
  TdAngleCover cover;
  TdTurn turn;

  fbp->angles_rad = g_new (double, fbp->n_views);
  fbp->weights = g_new (double, fbp->n_views);
  for (guint i = 0; i < fbp->n_views; i++) {
    double angle = facts->angles_rad[i];
    fbp->angles_rad[i] = (recipe->reverse_rotation ? -angle : angle) + offset;
  }
  td_turn_of_angles (facts->angles_rad, fbp->n_views, &turn);
  fbp->n_filtered = fbp->n_columns;
  if (!choose_field (plan, fbp, &turn, error) || (fbp->blend && !set_width (plan, fbp, error)))
    return FALSE;
  note_field (plan, fbp, &turn);

  const double period = fbp->blend ? 2 * G_PI : G_PI;
  td_angular_weights_modulo (facts->angles_rad, fbp->n_views, period, fbp->weights, &cover);
  if (cover.missing_rad > 0)
    td_plan_note (plan, "The views cover %.1f of %.0f degrees: expect streaks along the missing "
                        "%.1f degrees.", degrees (cover.covered_rad), degrees (period),
                  degrees (cover.missing_rad));
  return TRUE;
}
