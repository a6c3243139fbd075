/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>

#include "centre.h"
#include "plan-private.h"

/* A tilt this many times its standard error is one. */
#define SIGNIFICANT 3
/* Columns between the detector's ends that a tilt must move the axis by to be worth correcting. */
#define LEAST_MOVE_PX 0.1

static void
plan_centre_take_stated (TdPlan *plan, double stated_px)
{
  const TdScanFacts *facts = td_scan_facts (plan->measured);
  const double middle_px = (facts->n_columns - 1) / 2.0;
  /* A cone beam's geometry without an offset states nothing: the middle is assumed. */
  const gboolean stated = isfinite (stated_px)
                          && (facts->geometry.beam == TD_BEAM_PARALLEL
                              || facts->geometry.view_matrices || stated_px != middle_px);

  plan->recipe.centre_px = stated ? stated_px : middle_px;
  td_plan_note (plan,
                stated ? "The rotation axis is at column %.2f, as the scan says."
                       : "The rotation axis is taken at the detector's middle, column %.2f.",
                plan->recipe.centre_px);
}

/* "correlation and fourier" */
static char *
methods_used (const TdAxisResult *result)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  GString *text = g_string_new (NULL);

  for (guint m = 0; m < TD_AXIS_COUNT; m++) {
    gboolean used = FALSE;
    for (guint i = 0; i < result->n_trials; i++)
      used |= result->trials[i].method == m && result->trials[i].used;
    if (used)
      g_ptr_array_add (names, (gpointer) td_axis_method_name (m));
  }
  for (guint i = 0; i < names->len; i++)
    g_string_append_printf (text, "%s%s",
                            i == 0                ? ""
                            : i + 1 == names->len ? " and "
                                                  : ", ",
                            (const char *) g_ptr_array_index (names, i));
  return g_string_free (text, FALSE);
}

static void
take_tilt (TdPlan *plan, const TdAxisResult *result)
{
  TdRecipe *recipe = &plan->recipe;
  double move
      = fabs (td_axis_line (0, result->tilt_deg, 1).slope) * td_scan_facts (plan->measured)->n_rows;

  if (recipe->tilt_deg != 0 || move < LEAST_MOVE_PX
      || fabs (result->tilt_deg) < SIGNIFICANT * result->tilt_uncertainty_deg)
    return;
  recipe->tilt_deg = result->tilt_deg;
  td_plan_note (plan, "The rotation axis is tilted by %.3f ± %.3f degrees, which is corrected.",
                result->tilt_deg, result->tilt_uncertainty_deg);
}

static gboolean
take_found (TdPlan *plan, const TdAxisResult *result, double stated_px, GError **error)
{
  g_autofree char *methods = methods_used (result);

  if (result->agreed) {
    plan->recipe.centre_px = result->centre_px;
    td_plan_note (plan, "The rotation axis was found at column %.2f ± %.2f (%s agree).",
                  result->centre_px, result->uncertainty_px, methods);
    take_tilt (plan, result);
    return TRUE;
  }
  if (isfinite (stated_px)) {
    td_plan_note (plan, "Warning: the search for the rotation axis came to no agreement. %s.",
                  result->advice);
    plan_centre_take_stated (plan, stated_px);
    return TRUE;
  }
  if (!isfinite (result->centre_px)) {
    td_set_error (error, TD_ERROR_INVALID,
                  "No rotation axis was found ({centre:PX} gives "
                  "it by hand). %s",
                  result->advice);
    return FALSE;
  }
  plan->recipe.centre_px = result->centre_px;
  td_plan_note (plan,
                "Warning: the rotation axis is uncertain; column %.2f ± %.2f was taken (%s). %s.",
                result->centre_px, result->uncertainty_px, methods, result->advice);
  take_tilt (plan, result);
  return TRUE;
}

static gboolean
plan_centre_find (TdPlan *plan, double stated_px, GCancellable *cancellable, GError **error)
{
  GError *problem = NULL;
  g_autoptr (TdAxisResult) result = td_engine_find_axis (
      plan->engine, plan->measured, &plan->recipe, NULL, cancellable, &problem);

  if (result)
    return take_found (plan, result, stated_px, error);
  if (isfinite (stated_px) && g_error_matches (problem, TD_ERROR, TD_ERROR_UNSUPPORTED)) {
    td_plan_note (plan, "%p.", td_error_message (problem));
    plan_centre_take_stated (plan, stated_px);
    g_error_free (problem);
    return TRUE;
  }
  g_propagate_error (error, problem);
  return FALSE;
}

/* On the whole detector, whatever the recipe's crop and bins leave of it: there the centre counts,
   and there is more to be seen. */
gboolean
td_plan_resolve_centre (TdPlan *plan, GCancellable *cancellable, GError **error)
{
  const TdScanFacts *facts = td_scan_facts (plan->measured);
  TdRecipe *recipe = &plan->recipe;
  const double stated_px = td_method_stated_centre (plan->method, facts);

  if (recipe->centre_auto && facts->geometry.beam != TD_BEAM_PARALLEL) {
    td_set_error (
        error, TD_ERROR_UNSUPPORTED,
        "The rotation axis is searched for in parallel beams only, and “%s” is a scan with "
        "a %s beam; give the column of the axis ({centre:PX}), or leave {centre} out to "
        "take the geometry's",
        facts->title ? facts->title : facts->path,
        facts->geometry.beam == TD_BEAM_FAN ? "fan" : "cone");
    return FALSE;
  }
  if (recipe->centre_auto) {
    if (!plan_centre_find (plan, stated_px, cancellable, error))
      return FALSE;
  } else if (isnan (recipe->centre_px)) {
    plan_centre_take_stated (plan, stated_px);
  }
  recipe->centre_auto = FALSE;
  plan->facts.centre_px = recipe->centre_px;
  plan->centre_px = td_scan_frame_column (&plan->frame, facts->n_columns, recipe->centre_px);
  return TRUE;
}

TdAxisLine
td_plan_axis (const TdPlan *plan)
{
  const TdScanFacts *measured = td_scan_facts (plan->measured);
  const TdAxisLine line
      = td_axis_line (plan->recipe.centre_px, plan->recipe.tilt_deg, measured->n_rows);

  return td_axis_line_seen (&line, measured, &plan->frame, td_scan_facts (plan->scan)->n_rows);
}
