/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>

#include "compute/row-blend.h"
#include "dataset/angles.h"
#include "fbp-private.h"
#include "compute/engine/field.h"

static void
fbp_field_note_field (TdPlan *plan, const TdFbp *fbp, const TdTurn *turn)
{
  const double last = fbp->n_columns - 1;
  const double overlap = MIN (fbp->centre_px, last - fbp->centre_px);

  if (!fbp->blend) {
    if (plan->recipe.field_of_view == TD_FIELD_AUTO && td_scan_facts (plan->scan)->half_acquisition)
      td_plan_note (plan,
                    "The scan says that it is a half acquisition, but its views do not go round: "
                    "slices are as wide as the detector.");
    if (turn->kind == TD_TURN_FULL
        && td_row_blend_width (fbp->n_columns, fbp->centre_px) > 1.02 * fbp->n_columns)
      td_plan_note (plan,
                    "The axis is off the detector's middle and the stage made a full turn: what "
                    "lies more than %.0f pixels from the axis is seen from one side only. "
                    "{field-of-view=half} puts both sides together.",
                    MAX (overlap, 0));
    return;
  }
  if (overlap >= 0)
    td_plan_note (plan,
                  "Half acquisition: the two sides of the full turn are blended where they "
                  "overlap, %.0f pixels to either side of the axis, into slices of %u × %u "
                  "pixels.",
                  overlap, fbp->n_filtered, fbp->n_filtered);
  else
    td_plan_note (plan,
                  "Half acquisition: the rotation axis, column %.2f, is outside the detector, "
                  "and what lies within %.0f pixels of it was not seen.",
                  plan->recipe.centre_px, ceil (-overlap));
}

gboolean
td_fbp_set_field (TdPlan *plan, TdFbp *fbp, GError **error)
{
  const TdScanFacts *facts = td_scan_facts (plan->scan);
  const TdRecipe *recipe = &plan->recipe;
  const double offset = recipe->angle_offset_deg * G_PI / 180;
  const TdAxisLine axis = td_plan_axis (plan);
  TdAngleCover cover;
  TdField field;
  TdTurn turn;

  fbp->angles_rad = g_new (double, fbp->n_views);
  fbp->weights = g_new (double, fbp->n_views);
  for (guint i = 0; i < fbp->n_views; i++) {
    double angle = facts->angles_rad[i];
    fbp->angles_rad[i] = (recipe->reverse_rotation ? -angle : angle) + offset;
  }
  td_turn_of_angles (facts->angles_rad, fbp->n_views, &turn);
  if (!td_field_choose (facts, recipe->field_of_view, &axis, &turn, &field, error))
    return FALSE;
  fbp->blend = field.wide;
  fbp->n_filtered = field.columns;
  if (field.wide && fbp->centre_px < (fbp->n_columns - 1) / 2.0)
    fbp->shift = fbp->n_filtered - fbp->n_columns;
  fbp_field_note_field (plan, fbp, &turn);

  const double period = fbp->blend ? 2 * G_PI : G_PI;
  td_angular_weights_modulo (facts->angles_rad, fbp->n_views, period, fbp->weights, &cover);
  if (cover.missing_rad > 0)
    td_plan_note (plan,
                  "The views cover %.1f of %.0f degrees: expect streaks along the missing "
                  "%.1f degrees.",
                  td_degrees (cover.covered_rad), td_degrees (period),
                  td_degrees (cover.missing_rad));
  return TRUE;
}
