/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plan.h"

#include <math.h>

#include "dataset/angles.h"
#include "dataset/file-bytes.h"
#include "dataset/output.h"
#include "dataset/unit.h"
#include "compute/device/host.h"
#include "centre.h"
#include "cone-scan.h"
#include "engine-private.h"
#include "compute/prepare/dose.h"
#include "compute/recipe/field.h"
#include "compute/recipe/json.h"
#include "plan-private.h"
#include "turn.h"

#define OWN_BYTES ((guint64) 64 << 20)
/* Of those, what is there for reads that unpack. */
#define OWN_UNPACK_BYTES ((guint64) 32 << 20)
#define COMPILER_BYTES ((guint64) 256 << 20)
/* A tilt this many times its standard error is one. */
#define SIGNIFICANT 3
/* Columns between the detector's ends that a tilt must move the axis by to be worth correcting. */
#define LEAST_MOVE_PX 0.1

/* ── Life ── */

TdPlan *
td_plan_ref (TdPlan *plan)
{
  g_atomic_ref_count_inc (&plan->references);
  return plan;
}

void
td_plan_unref (TdPlan *plan)
{
  if (!plan || !g_atomic_ref_count_dec (&plan->references))
    return;
  if (plan->free_extra)
    plan->free_extra (plan->extra);
  g_strfreev (plan->facts.devices);
  td_messages_free (plan->facts.notes);
  g_clear_pointer (&plan->devices, g_ptr_array_unref);
  td_scan_unref (plan->scan);
  td_scan_unref (plan->measured);
  td_engine_unref (plan->engine);
  g_free (plan->output);
  g_free (plan);
}

void
td_plan_note (TdPlan *plan, const char *id, ...)
{
  va_list values;

  va_start (values, id);
  td_messages_add (&plan->facts.notes, td_message_new_list (id, values));
  va_end (values);
}

/* ── Choices that all methods share ── */

static gboolean
resolve_slices (TdPlan *plan, GError **error)
{
  TdRecipe *recipe = &plan->recipe;
  const guint n = td_cone_scan_slices (td_scan_facts (plan->scan));

  if (recipe->row_end == 0) {
    recipe->row_first = 0;
    recipe->row_end = n;
  }
  if (recipe->row_first >= recipe->row_end || recipe->row_end > n)
    return td_set_error (error, TD_ERROR_INVALID,
                         "Slices %u:%u are not in the volume, which has slices 0 to %u ({rows})",
                         recipe->row_first, recipe->row_end, n - 1);
  plan->facts.first_slice = plan->facts.first_row = recipe->row_first;
  plan->facts.slice_rows = plan->facts.symmetric_views = 1;
  plan->facts.n_slices = recipe->row_end - recipe->row_first;
  return TRUE;
}

/* The recipe's rows are the measured detector's; slices are made of those that the frame shows. */
static gboolean
resolve_rows (TdPlan *plan, GError **error)
{
  TdRecipe *recipe = &plan->recipe;
  const TdScanFrame *frame = &plan->frame;
  const guint n = td_scan_facts (plan->scan)->n_rows, bin = MAX (frame->bin_rows, 1);
  const guint first = frame->crop_row, end = first + n * bin;

  if (td_scan_facts (plan->scan)->geometry.beam != TD_BEAM_PARALLEL)
    return resolve_slices (plan, error);
  if (recipe->row_end == 0) {
    recipe->row_first = first;
    recipe->row_end = end;
  }
  if (recipe->row_first >= recipe->row_end || recipe->row_first < first || recipe->row_end > end)
    return td_set_error (
        error, TD_ERROR_INVALID, "Rows %u:%u are not %p rows %u to %u ({rows})", recipe->row_first,
        recipe->row_end,
        td_message_new_plain (td_scan_frame_is_plain (frame)
                                  ? N_ ("on the detector, which has")
                                  : N_ ("among those that are left by {crop} and {bin},")),
        first, end - 1);
  plan->facts.first_slice = (recipe->row_first - first) / bin;
  plan->facts.n_slices = (recipe->row_end - first + bin - 1) / bin - plan->facts.first_slice;
  plan->facts.first_row = first + plan->facts.first_slice * bin;
  plan->facts.slice_rows = bin;
  return TRUE;
}

/* What the recipe's crop and bins show of the scan. */
static gboolean
resolve_frame (TdPlan *plan, GError **error)
{
  const TdRecipe *recipe = &plan->recipe;

  plan->frame = (TdScanFrame) {
    .crop_column = recipe->crop[0],
    .crop_row = recipe->crop[1],
    .crop_columns = recipe->crop[2],
    .crop_rows = recipe->crop[3],
    .bin_columns = recipe->bin[0],
    .bin_rows = recipe->bin[1],
    .bin_views = recipe->bin_views,
    .on_side = td_cone_scan_portrait (td_scan_facts (plan->measured)),
  };
  plan->scan = td_engine_view (plan->engine, plan->measured, &plan->frame, error);
  if (!plan->scan)
    return FALSE;
  const TdScanFacts *facts = td_scan_facts (plan->scan);
  /* One row of a detector on its side is one column, and unequal bins turn one that is tilted. */
  if (td_cone_scan_portrait (facts) != plan->frame.on_side)
    return td_set_error (
        error, TD_ERROR_INVALID,
        "What is left of the detector, %u [column|columns] × %u [row|rows], lies otherwise to the "
        "axis than the "
        "whole of it: leave more rows ({crop}), and bin columns and rows alike ({bin})",
        facts->n_columns, facts->n_rows);
  if (!td_scan_frame_is_plain (&plan->frame)) {
    td_plan_note (plan,
                  "Cropped and binned to %u [view|views] of %u [column|columns] × %u [row|rows].",
                  facts->n_views, facts->n_columns, facts->n_rows);
  }
  return TRUE;
}

/* A parallel beam's slices lie as rows do, a cone's voxels are cubes. */
static void
note_heights (TdPlan *plan)
{
  const TdGeometry *geometry = &td_scan_facts (plan->scan)->geometry;
  const gboolean known = geometry->pixel_height_mm > 0 && geometry->pixel_width_mm > 0;
  const double width = known ? geometry->pixel_width_mm : MAX (plan->frame.bin_columns, 1),
               height = known ? geometry->pixel_height_mm : MAX (plan->frame.bin_rows, 1);

  if (geometry->beam == TD_BEAM_PARALLEL && fabs (height / width - 1) > 1e-3)
    td_plan_note (plan,
                  "Slices lie %.4g times as far apart as their pixels are wide; the volume "
                  "names the width alone.",
                  height / width);
}

/* Slices are of rows, about a centre of each row's own. What lies beside a tilted axis leaves its
   row as it turns. Columns and rows are those that a crop and bins leave. */
static void
note_tilt (TdPlan *plan)
{
  const TdScanFacts *facts = td_scan_facts (plan->scan);
  const TdGeometry *geometry = &td_scan_facts (plan->measured)->geometry;
  const gboolean known = geometry->pixel_height_mm > 0 && geometry->pixel_width_mm > 0;
  const double aspect = (known ? geometry->pixel_width_mm / geometry->pixel_height_mm : 1)
                        * MAX (plan->frame.bin_columns, 1) / MAX (plan->frame.bin_rows, 1);
  const double centre = td_plan_axis (plan).centre_px;
  const double reach = MAX (centre, facts->n_columns - 1 - centre);
  const double rows = reach * aspect * fabs (sin (plan->recipe.tilt_deg * G_PI / 180));

  if (geometry->beam == TD_BEAM_PARALLEL && facts->n_rows > 1 && rows >= 1)
    td_plan_note (plan,
                  "The tilt moves the centre of each row only. What lies %.0f columns from the "
                  "axis is seen up to %.1f rows higher and lower, and slices are blurred by that.",
                  reach, rows);
}

/* What the step "flat-field" does without flats, or without darks. */
static void
note_fields (TdPlan *plan)
{
  const TdScanFacts *facts = td_scan_facts (plan->scan);
  const TdStep flat_field = { .name = "flat-field", .enabled = TRUE };
  const TdStep *step = td_recipe_step (&plan->recipe, "flat-field");
  const TdStep *log = td_recipe_step (&plan->recipe, "minus-log");
  const gboolean divides = step && step->enabled;

  plan->logs_counts = log && log->enabled && !divides && !td_preparation_skips (&flat_field, facts);
  if (plan->logs_counts)
    td_plan_note (plan, "The logarithm is taken of counts, since {prepare=flat-field} is left out: "
                        "the slices are no attenuations.");
  if (!divides)
    return;
  const gboolean skips = td_preparation_skips (step, facts);
  if (facts->n_flats == 0 && skips)
    td_plan_note (plan, "The scan has no flat field: its values are taken as transmissions "
                        "(1 without a sample).");
  if (facts->n_flats > 0 && facts->n_darks == 0 && !skips)
    td_plan_note (plan, "The scan has no dark field: the camera is taken to count nothing without "
                        "the beam; if it does, attenuations come out too low ({darks:PATH}).");
}

static gboolean
check_recipe (TdPlan *plan, GError **error)
{
  const TdRecipe *recipe = &plan->recipe;
  const TdScanFacts *facts = td_scan_facts (plan->scan);
  const TdStep *dose = td_recipe_step (&plan->recipe, "dose");
  g_autoptr (TdMessage) reason = td_preparation_unsupported (recipe->steps, recipe->n_steps, facts);

  if (reason)
    return td_set_error_message (error, TD_ERROR_INVALID, g_steal_pointer (&reason));
  if (dose && !td_preparation_skips (dose, facts)
      && !td_dose_check_region (dose, td_scan_facts (plan->measured), error))
    return FALSE;
  if (facts->geometry.beam != TD_BEAM_PARALLEL && recipe->field_of_view != TD_FIELD_AUTO)
    td_plan_note (
        plan,
        "What slices of a cone beam show follows from the axis and the turn: the field of view "
        "({field-of-view}) is left out.");
  if (facts->transmission_logged) {
    td_plan_note (plan, "The scan's values are -log of the transmission already: flat field and "
                        "logarithm are left out.");
    for (guint i = 0; i < recipe->n_steps; i++)
      if (recipe->steps[i].enabled && td_preparation_skips (&recipe->steps[i], facts)
          && !td_prepare_step (recipe->steps[i].name, NULL)->preset_on)
        td_plan_note (plan, "So is {prepare=%s}, which works on what comes before the logarithm.",
                      recipe->steps[i].name);
  } else
    note_fields (plan);
  TdMessage **short_of = td_preparation_falls_short (recipe->steps, recipe->n_steps, facts);
  td_messages_append (&plan->facts.notes, short_of);
  td_messages_free (short_of);
  return TRUE;
}

/* What was chosen and changes nothing must not seem to. */
static void
plan_note_unused (TdPlan *plan)
{
  const TdRecipe *recipe = &plan->recipe;

  if (*recipe->mask && !td_recipe_mask (recipe))
    td_plan_note (plan, "The mask of bad pixels “%s” is not used: {prepare=bad-pixels} is off.",
                  recipe->mask);
  if (recipe->accuracy != TD_ACCURACY_STANDARD && td_method_iterates (plan->method->kind))
    td_plan_note (plan, "The accuracy ({accuracy}) chooses among ways of back-projecting: "
                        "iterative methods have one, and it is not used here.");
  if (plan->output && !recipe->output_range_auto && recipe->output_bits == 32)
    td_plan_note (plan,
                  "The range %g to %g is for values of 16 and 8 bits: those of 32 are written as "
                  "they are.",
                  recipe->output_low, recipe->output_high);
}

/* Slabs are cut to the limit; what a process takes for itself may be more than that already. */
static void
note_memory (TdPlan *plan)
{
  const guint64 limit = plan->recipe.memory_limit_bytes;
  g_autofree char *takes = td_memory_text (plan->facts.host_bytes);
  g_autofree char *allowed = td_memory_text (limit);

  if (limit && plan->facts.host_bytes > limit)
    td_plan_note (plan,
                  "The job takes up to %s of the host's memory, more than the %s that were allowed "
                  "({memory-limit}): less does not do here.",
                  takes, allowed);
}

/* A parallel beam sees the same from the other side. */
static gboolean
check_directions (const TdPlan *plan, const TdTurn *turn, GError **error)
{
  const TdScanFacts *facts = td_scan_facts (plan->scan);
  const TdRecipe *recipe = &plan->recipe;
  const TdAngleCover *cover = facts->geometry.beam == TD_BEAM_PARALLEL ? &turn->half : &turn->full;

  if (cover->repeated < facts->n_views - 1)
    return TRUE;
  if (facts->n_views > 1)
    return td_set_error (
        error, TD_ERROR_ANGLES,
        "All %u views of “%s” look along one line, at %.4g°, from which nothing can be "
        "reconstructed; state the angles of its turn, for example 0:180 ({angles:FILE|FIRST:LAST})",
        facts->n_views, facts->path, td_degrees (facts->angles_rad[0]));
  if (recipe->view_end > recipe->view_first || recipe->bin_views > 1)
    return td_set_error (error, TD_ERROR_INVALID,
                         "One view of “%s” is left, from which nothing can be reconstructed; take "
                         "more of them ({views}, {bin-views})",
                         facts->path);
  return td_set_error (error, TD_ERROR_ANGLES,
                       "“%s” is one view alone, from which nothing can be reconstructed; open the "
                       "folder or file that holds all views of its turn, or state that it is a "
                       "sinogram ({sinograms})",
                       facts->path);
}

static gboolean
check_turn (TdPlan *plan, GError **error)
{
  const TdScanFacts *facts = td_scan_facts (plan->scan);
  TdTurn turn;

  td_turn_of_angles (facts->angles_rad, facts->n_views, &turn);
  if (!check_directions (plan, &turn, error))
    return FALSE;
  td_plan_note (plan,
                plan->recipe.reverse_rotation ? N_ ("Views: %p; taken as turning the other way.")
                                              : N_ ("Views: %p."),
                td_turn_message (&turn));
  return TRUE;
}

/* Views that another part adds are never read. */
static gboolean
resolve_views (TdPlan *plan, GError **error)
{
  const TdRecipe *recipe = &plan->recipe;
  const TdScanFacts *facts = td_scan_facts (plan->scan);
  TdViewGroup *views = &plan->views;

  plan->facts.n_columns = facts->n_columns;
  plan->facts.n_rows = facts->n_rows;
  plan->facts.n_views = facts->n_views;
  if (views->count == 0)
    *views = (TdViewGroup) { 0, facts->n_views, 1 };
  views->parts = MAX (views->parts, 1);
  if (facts->n_views % views->parts != 0 || views->count % views->parts != 0
      || (guint64) views->first + views->count / views->parts > facts->n_views / views->parts)
    return td_set_error (error, TD_ERROR_INVALID,
                         "Views %u to %u are not in the scan, which has %u [view|views]",
                         views->first, views->first + views->count - 1, facts->n_views);
  if (views->count == facts->n_views && !plan->gathered)
    return TRUE;
  if (!plan->method->sums_views)
    return td_set_error (
        error, TD_ERROR_UNSUPPORTED,
        "The method \"%s\" cannot add some of the views only: share its slices instead, or "
        "take {method=fdk} for a cone beam",
        plan->method->name);
  for (guint i = 0; i < recipe->n_steps; i++)
    if (!td_preparation_skips (&recipe->steps[i], facts)
        && !td_prepare_step (recipe->steps[i].name, NULL)->by_view)
      return td_set_error (
          error, TD_ERROR_UNSUPPORTED,
          "The step %s needs all views of a row, and here each process has some of the %u: share "
          "slices only, without gathering views, or leave the step out",
          recipe->steps[i].name, facts->n_views);
  return TRUE;
}

/* Takes the part out of the slices that the recipe asks for. */
static gboolean
plan_take_slices (TdPlan *plan, const TdPlanPart *part, GError **error)
{
  TdPlanFacts *facts = &plan->facts;

  if (!part || part->n_slices == 0)
    return TRUE;
  if ((guint64) part->first_slice + part->n_slices > facts->n_slices)
    return td_set_error (error, TD_ERROR_INVALID,
                         "Slices %u to %u are not in the part's volume of %u", part->first_slice,
                         part->first_slice + part->n_slices - 1, facts->n_slices);
  plan->part_slice = part->first_slice;
  plan->part_of = facts->n_slices;
  facts->first_slice += part->first_slice;
  facts->first_row += part->first_slice * facts->slice_rows;
  facts->n_slices = part->n_slices;
  return TRUE;
}

/* ── The centre ── */

/* Without a word of the scan's, the middle. */
static double
plan_centre_of_scan (const TdScanFacts *facts, double stated_px)
{
  return isfinite (stated_px) ? stated_px : (facts->n_columns - 1) / 2.0;
}

static void
plan_centre_take_stated (TdPlan *plan, double stated_px)
{
  const TdScanFacts *facts = td_scan_facts (plan->measured);
  const double middle_px = plan_centre_of_scan (facts, NAN);
  /* A cone beam's geometry without an offset states nothing: the middle is assumed. */
  const gboolean stated = isfinite (stated_px)
                          && (facts->geometry.beam == TD_BEAM_PARALLEL
                              || facts->geometry.view_matrices || stated_px != middle_px);

  plan->recipe.centre_px = plan_centre_of_scan (facts, stated_px);
  if (!stated && facts->half_acquisition)
    td_plan_note (plan,
                  "Warning: the scan says that it is a half acquisition, with the axis near one "
                  "side, but not where the axis is. Find it ({centre=auto}), or give its column "
                  "({centre:PX}).");
  td_plan_note (plan,
                stated ? N_ ("The rotation axis is at column %.2f, as the scan says.")
                       : N_ ("The rotation axis is taken at the detector's middle, column %.2f."),
                plan->recipe.centre_px);
}

/* "correlation and fourier", as the option names them */
static TdMessage *
methods_used (const TdAxisResult *result)
{
  TdMessage *text = NULL, *last = NULL;

  for (guint m = 0; m < TD_AXIS_COUNT; m++) {
    gboolean used = FALSE;
    for (guint i = 0; i < result->n_trials; i++)
      used |= result->trials[i].method == m && result->trials[i].used;
    if (!used)
      continue;
    if (last)
      text = text ? td_message_new ("%p, %p", text, last) : last;
    last = td_message_new ("%s", td_axis_method_name (m));
  }
  if (!last)
    return td_message_new_plain ("");
  return text ? td_message_new ("%p and %p", text, last) : last;
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
  if (result->agreed) {
    plan->recipe.centre_px = result->centre_px;
    td_plan_note (plan, "The rotation axis was found at column %.2f ± %.2f (%p agree).",
                  result->centre_px, result->uncertainty_px, methods_used (result));
    take_tilt (plan, result);
    return TRUE;
  }
  if (isfinite (stated_px)) {
    td_plan_note (plan, "Warning: the search for the rotation axis came to no agreement. %p.",
                  td_message_unpack (result->advice));
    plan_centre_take_stated (plan, stated_px);
    return TRUE;
  }
  if (!isfinite (result->centre_px))
    return td_set_error (error, TD_ERROR_BAD_FILE,
                         "No rotation axis was found ({centre:PX} gives it by hand). %p",
                         td_message_unpack (result->advice));
  plan->recipe.centre_px = result->centre_px;
  td_plan_note (plan,
                "Warning: the rotation axis is uncertain; column %.2f ± %.2f was taken (%p). %p.",
                result->centre_px, result->uncertainty_px, methods_used (result),
                td_message_unpack (result->advice));
  take_tilt (plan, result);
  return TRUE;
}

static gboolean
plan_centre_find (TdPlan *plan, double stated_px, GCancellable *cancellable, GError **error)
{
  g_autoptr (GError) problem = NULL;
  g_autoptr (TdAxisResult) result = td_engine_find_axis (
      plan->engine, plan->measured, &plan->recipe, NULL, cancellable, &problem);

  if (result) {
    plan->facts.axis_searched = TRUE;
    plan->facts.axis_agreed = result->agreed;
    plan->facts.axis_sigma_px = result->uncertainty_px / 2;
    return take_found (plan, result, stated_px, error);
  }
  if (isfinite (stated_px) && g_error_matches (problem, TD_ERROR, TD_ERROR_UNSUPPORTED)) {
    td_plan_note (plan, "%p.", td_error_message (problem));
    plan_centre_take_stated (plan, stated_px);
    return TRUE;
  }
  g_propagate_error (error, g_steal_pointer (&problem));
  return FALSE;
}

/* On its side a detector has no column of the axis: the plan's centre is NAN. */
static gboolean
plan_check_no_centre (TdPlan *plan, GError **error)
{
  const TdRecipe *recipe = &plan->recipe;

  plan->centre_px = plan->facts.centre_px = NAN;
  return (!recipe->centre_auto && isnan (recipe->centre_px))
         || td_set_error (
             error, TD_ERROR_INVALID,
             "The detector lies on its side, so that the rotation axis runs along its rows and has "
             "no column: leave {centre} out, and state the axis in a geometry file "
             "({geometry:FILE})");
}

/* On the whole detector, whatever the recipe's crop and bins leave of it: there the centre counts,
   and there is more to be seen. */
static gboolean
resolve_centre (TdPlan *plan, GCancellable *cancellable, GError **error)
{
  const TdScanFacts *facts = td_scan_facts (plan->measured);
  TdRecipe *recipe = &plan->recipe;
  const double stated_px = td_stated_centre (facts);

  if (td_cone_scan_portrait (facts))
    return plan_check_no_centre (plan, error);
  if (recipe->centre_auto && facts->geometry.beam != TD_BEAM_PARALLEL)
    return td_set_error (
        error, TD_ERROR_INVALID,
        "The rotation axis is searched for in parallel beams only, and “%s” is a scan with "
        "a fan or cone beam; give the column of the axis ({centre:PX}), or leave {centre} out to "
        "take the geometry's",
        facts->title ? facts->title : facts->path);
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

/* ── Making a plan ── */

static gboolean
plan_fill (TdPlan *plan, TdScan *scan, const TdPlanPart *part, GCancellable *cancellable,
           GError **error)
{
  TdRecipe *recipe = &plan->recipe;
  const char *output = plan->output;

  plan->measured = td_engine_measured (plan->engine, scan, recipe, error);
  if (!plan->measured || !td_scan_complete (plan->measured, error)
      || (output
          && (!td_output_spares_scan (output, td_scan_facts (plan->measured), error)
              || !td_output_spares (output, td_recipe_mask (recipe), error)
              || !td_output_spares_volume (output, td_recipe_start_volume (recipe), error))))
    return FALSE;
  plan->facts.notes = td_messages_copy (td_scan_facts (plan->measured)->notes);
  if (!td_recipe_check (recipe, td_scan_facts (plan->measured), error)
      || !resolve_frame (plan, error))
    return FALSE;
  plan->method = td_method_choose (td_engine_methods (plan->engine), td_scan_facts (plan->scan),
                                   recipe, error);
  if (!plan->method || !check_recipe (plan, error) || !resolve_rows (plan, error)
      || !resolve_views (plan, error) || !resolve_centre (plan, cancellable, error)
      || !check_turn (plan, error) || !plan_take_slices (plan, part, error))
    return FALSE;
  plan_note_unused (plan);
  note_heights (plan);
  note_tilt (plan);
  /* What every method can do; those for which the accuracy decides choose anew. */
  if (recipe->interpolation == TD_INTERPOLATION_AUTO)
    recipe->interpolation = TD_INTERPOLATION_LINEAR;
  if (recipe->precision == TD_PRECISION_AUTO)
    recipe->precision = TD_PRECISION_SINGLE;
  plan->recipe.method = plan->method->kind;
  plan->facts.method = plan->method->name;
  plan->facts.precision = recipe->precision;
  plan->devices = td_engine_devices (plan->engine, recipe->devices, error);
  if (!plan->devices)
    return FALSE;
  plan->facts.devices = g_new0 (char *, plan->devices->len + 1);
  for (guint i = 0; i < plan->devices->len; i++) {
    g_autoptr (TdDevice) device = plan->devices->pdata[i];
    plan->devices->pdata[i] = td_engine_account (recipe, device); /* the plan's own handle */
    plan->facts.devices[i] = g_strdup (td_device_info (device)->id);
    if (!td_preparation_check_views (device, plan->views.count, error))
      return FALSE;
  }
  if (g_cancellable_set_error_if_cancelled (cancellable, error)
      || !plan->method->plan (plan, cancellable, error))
    return FALSE;
  note_memory (plan);
  return TRUE;
}

static TdPlan *
plan_make (const TdPlan *wanted, TdEngine *engine, TdScan *scan, const TdPlanPart *part,
           GCancellable *cancellable, GError **error)
{
  g_autoptr (TdPlan) plan = g_memdup2 (wanted, sizeof *wanted);

  g_atomic_ref_count_init (&plan->references);
  plan->asked = plan->recipe;
  plan->engine = td_engine_ref (engine);
  return plan_fill (plan, scan, part, cancellable, error) ? g_steal_pointer (&plan) : NULL;
}

TdPlan *
td_plan_new (TdEngine *engine, TdScan *scan, const TdRecipe *recipe, const char *output,
             GCancellable *cancellable, GError **error)
{
  const TdPlan wanted = { .recipe = *recipe, .output = g_strdup (output) };

  return plan_make (&wanted, engine, scan, NULL, cancellable, error);
}

TdPlan *
td_plan_new_part (TdEngine *engine, TdScan *scan, const TdRecipe *recipe, const TdPlanPart *part,
                  GCancellable *cancellable, GError **error)
{
  const TdPlan wanted = { .recipe = *recipe,
                          .views = part->views,
                          .gathered = part->gathered,
                          .gathered_parts = MAX (part->gathered_parts, 1),
                          .least_slabs = part->least_slabs,
                          .is_part = TRUE };

  return plan_make (&wanted, engine, scan, part, cancellable, error);
}

const TdPlanFacts *
td_plan_facts (const TdPlan *plan)
{
  return &plan->facts;
}

TdVolumeSpec
td_plan_volume (const TdPlan *plan)
{
  const TdPlanFacts *facts = &plan->facts;

  return (TdVolumeSpec) {
    .format = plan->recipe.output_format,
    .bits = plan->recipe.output_bits,
    .nx = facts->nx,
    .ny = facts->ny,
    .n_slices = facts->n_slices,
    .first_slice = facts->first_slice,
    .voxel_mm = facts->pixel_mm,
    .units = facts->units,
  };
}

const TdRecipe *
td_plan_recipe (const TdPlan *plan)
{
  return &plan->recipe;
}

TdAxisLine
td_plan_axis (const TdPlan *plan)
{
  const TdScanFacts *measured = td_scan_facts (plan->measured);
  const TdAxisLine line
      = td_axis_line (plan->recipe.centre_px, plan->recipe.tilt_deg, measured->n_rows);

  return td_axis_line_seen (&line, measured, &plan->frame, td_scan_facts (plan->scan)->n_rows);
}

TdMessage *
td_plan_inexact (const TdPlan *plan, const char *family, double bound)
{
  const TdAccuracy accuracy = plan->asked.accuracy;

  return td_message_new ("The kernel \"%s\" is exact to %.2g, not to the %.2g of {accuracy=%s}: "
                         "nothing else does what was asked for.",
                         family, bound, td_accuracy_limit (accuracy), td_accuracy_names[accuracy]);
}

void
td_plan_note_inexact (TdPlan *plan, const char *family, double bound)
{
  td_messages_add (&plan->facts.notes, td_plan_inexact (plan, family, bound));
}

gboolean
td_plan_region (const TdPlan *plan, guint nx, guint ny, guint region[4], GError **error)
{
  const gint *asked = plan->recipe.region;
  const guint all[4] = { 0, 0, nx, ny };

  for (guint i = 0; i < 4; i++)
    region[i] = asked[2] ? (guint) asked[i] : all[i];
  if (asked[2] == 0
      || (asked[0] >= 0 && asked[1] >= 0 && asked[2] >= 1 && asked[3] >= 1
          && (gint64) asked[0] + asked[2] <= nx && (gint64) asked[1] + asked[3] <= ny))
    return TRUE;
  return td_set_error (error, TD_ERROR_INVALID,
                       "The region %d,%d,%d,%d is not inside the slice, which has %u × %u pixels "
                       "({region:X,Y,W,H})",
                       asked[0], asked[1], asked[2], asked[3], nx, ny);
}

gboolean
td_plan_blame_recipe (const TdPlan *plan, GError **error)
{
  const TdRecipe *asked = &plan->asked;

  if ((isfinite (asked->centre_px) || asked->crop[2] > 0 || asked->view_end > 0
       || asked->bin_views > 1)
      && error && g_error_matches (*error, TD_ERROR, TD_ERROR_BAD_FILE))
    (*error)->code = TD_ERROR_INVALID;
  return FALSE;
}

guint64
td_plan_read_bytes (const TdPlan *plan, guint n_rows)
{
  const TdScanFacts *facts = td_scan_facts (plan->measured);
  const guint64 rows = (guint64) n_rows * MAX (plan->frame.bin_rows, 1);
  const guint64 views = MIN ((guint64) plan->views.count * MAX (plan->frame.bin_views, 1),
                             (guint64) facts->n_views);

  return rows * views * facts->n_columns * td_sample_size (facts->sample_type);
}

guint64
td_plan_volume_bytes (const TdPlan *plan)
{
  const TdPlanFacts *facts = &plan->facts;

  return (guint64) facts->n_slices * facts->ny * facts->nx * (plan->recipe.output_bits / 8);
}

TdDevice *
td_plan_host (const TdPlan *plan, GError **error)
{
  g_autoptr (GPtrArray) host = td_engine_devices (plan->engine, "host", error);

  if (!host)
    return NULL;
  g_autoptr (TdDevice) account = td_engine_account (&plan->recipe, host->pdata[0]);
  for (guint i = 0; i < plan->devices->len; i++)
    if (td_device_alike (plan->devices->pdata[i], account))
      return td_device_ref (plan->devices->pdata[i]);
  return g_steal_pointer (&account);
}

guint64
td_plan_host_budget (const TdPlan *plan)
{
  guint64 limit = plan->recipe.memory_limit_bytes;
  guint64 available = td_host_memory_available ();

  /* Some room for the file system's cache, which reading lives on, and for everybody else. */
  available = available / 10 * 6;
  return limit ? MIN (limit, available) : available;
}

const char *
td_plan_remedy (const TdPlan *plan, TdDevice *device)
{
  const guint64 both = plan->recipe.memory_limit_bytes;
  const guint64 alone = device && !td_device_info (device)->host_pointers
                            ? plan->recipe.device_memory_limit_bytes
                            : 0;

  if (alone > 0 && (both == 0 || alone < both))
    return N_ ("raise {device-memory-limit}, take a smaller {region} or another {device}");
  return both > 0 ? N_ ("raise {memory-limit}, take a smaller {region} or another {device}")
                  : TD_PLAN_NO_LIMIT;
}

guint64
td_plan_own_bytes (GPtrArray *devices)
{
  guint64 bytes = OWN_BYTES;

  for (guint i = 0; i < devices->len; i++) {
    const TdDeviceInfo *info = td_device_info (devices->pdata[i]);
    if (info->kind == TD_DEVICE_CPU && !info->host_pointers)
      bytes += COMPILER_BYTES;
  }
  return bytes;
}

guint64
td_plan_unpack_bytes (const TdPlan *plan)
{
  const guint64 bytes = 2 * td_scan_facts (plan->measured)->unpack_bytes;

  return bytes - MIN (bytes, OWN_UNPACK_BYTES);
}

char *
td_plan_read_key (const TdPlan *plan)
{
  const TdScanFacts *facts = td_scan_facts (plan->measured);
  g_autofree char *storage = td_file_storage (facts->path);

  return g_strdup_printf ("read %s %s%s from %s", facts->format,
                          td_sample_name (facts->sample_type),
                          facts->rows_together > 1 ? " packed" : "", storage);
}

char *
td_plan_write_key (const TdPlan *plan)
{
  g_autofree char *storage = td_file_storage (plan->output);

  return g_strdup_printf ("write %s %u to %s", td_volume_format_names[plan->recipe.output_format],
                          plan->recipe.output_bits, storage);
}

char *
td_plan_copy_key (const TdPlan *plan)
{
  g_autofree char *storage = td_file_storage (g_get_tmp_dir ());

  return g_strdup_printf ("read copy %s from %s",
                          td_sample_name (td_scan_facts (plan->scan)->sample_type), storage);
}

/* Seconds for @bytes; NAN: no job has shown the rate. To name a file system takes a look at all
   that are mounted, so that @key is made only for what is moved. */
static double
plan_storage_s (const TdPlan *plan, guint64 bytes, char *(*key) (const TdPlan *plan))
{
  if (!bytes)
    return 0;
  g_autofree char *name = key (plan);
  const double rate = td_engine_rate (plan->engine, name, bytes);
  return rate > 0 ? bytes / rate : NAN;
}

void
td_plan_keep_rate (const TdPlan *plan, const char *key, guint64 bytes, double seconds)
{
  if (seconds > TD_RATE_LEAST_S || td_engine_rate (plan->engine, key, bytes) == 0)
    td_engine_set_rate (plan->engine, key, bytes, seconds);
}

void
td_plan_times (const TdPlan *plan, TdPlanTimes *times)
{
  const TdPlanFacts *facts = &plan->facts;
  const guint64 read = td_scan_facts (plan->scan)->in_memory ? 0 : facts->read_bytes;
  const guint64 write = plan->output ? facts->write_bytes : 0;

  times->read = plan_storage_s (plan, read, td_plan_read_key);
  times->first = plan->copied ? times->read : 0;
  if (plan->copied) {
    const double again = plan_storage_s (plan, read, td_plan_copy_key);
    times->read += isnan (again) ? 0 : again; /* nobody read such a copy yet */
  }
  times->compute = plan->updates_per_s > 0 ? facts->updates / plan->updates_per_s : NAN;
  times->write = plan_storage_s (plan, write, td_plan_write_key);
}

double
td_plan_estimate (const TdPlan *plan, const TdPlanTimes *times, double updates_per_s, guint n_slabs)
{
  if (updates_per_s <= 0 || (n_slabs > 0 && isnan (times->read + times->write)))
    return 0;
  const double first = isnan (times->first) ? 0 : times->first;
  const double reading = isnan (times->read) ? 0 : times->read - first;
  const double writing = isnan (times->write) ? 0 : times->write;
  const double computing = plan->facts.updates / updates_per_s;
  const double longest = MAX (computing, MAX (reading, writing));
  return first + longest + (n_slabs > 0 ? (reading + computing + writing - longest) / n_slabs : 0);
}

void
td_plan_take_rate (TdPlan *plan, const char *key, double work)
{
  TdPlanTimes times;

  plan->updates_per_s = td_engine_rate (plan->engine, key, work);
  td_plan_times (plan, &times);
  plan->facts.estimate_s = td_plan_estimate (plan, &times, plan->updates_per_s, 0);
}

static void
plan_json_ways (JsonBuilder *builder, const TdPlanFacts *facts)
{
  td_json_begin_list (builder, "ways");
  for (const TdPlanWay *way = facts->ways; way < facts->ways + facts->n_ways; way++) {
    json_builder_begin_object (builder);
    td_json_add_string (builder, "method", way->method);
    td_json_add_string (builder, "kernel", way->family);
    td_json_add_string (builder, "precision", td_precision_names[way->precision]);
    td_json_add_number (builder, "error_bound", way->error_bound);
    td_json_add_number (builder, "relative_cost", way->cost);
    td_json_add_number (builder, "estimate_seconds", way->estimate_s > 0 ? way->estimate_s : NAN);
    json_builder_end_object (builder);
  }
  json_builder_end_array (builder);
}

char *
td_plan_to_json (const TdPlan *plan)
{
  const TdPlanFacts *facts = &plan->facts;
  g_autoptr (JsonBuilder) builder = json_builder_new ();

  json_builder_begin_object (builder);
  td_json_add_string (builder, "method", facts->method);
  td_json_add_string (builder, "kernel", facts->family);
  td_json_add_string (builder, "precision", td_precision_names[facts->precision]);
  td_json_add_strings (builder, "devices", facts->devices);
  td_json_add_integer (builder, "nx", facts->nx);
  td_json_add_integer (builder, "ny", facts->ny);
  td_json_add_boolean (builder, "half_acquisition", facts->half_acquisition);
  if (facts->sent_bits)
    td_json_add_integer (builder, "sent_bits", facts->sent_bits);
  td_json_add_integer (builder, "first_slice", facts->first_slice);
  td_json_add_integer (builder, "slices", facts->n_slices);
  td_json_add_integer (builder, "slab_slices", facts->slab_slices);
  td_json_add_integer (builder, "slabs", facts->n_slabs);
  td_json_add_number (builder, "centre_px", facts->centre_px);
  td_json_add_number (builder, "pixel_mm", facts->pixel_mm);
  td_json_add_string (builder, "units", facts->units);
  td_json_add_integer (builder, "read_bytes", facts->read_bytes);
  td_json_add_integer (builder, "write_bytes", facts->write_bytes);
  td_json_add_integer (builder, "host_bytes", facts->host_bytes);
  td_json_add_integer (builder, "device_bytes", facts->device_bytes);
  td_json_add_number (builder, "updates", facts->updates);
  td_json_add_number (builder, "estimate_seconds", facts->estimate_s > 0 ? facts->estimate_s : NAN);
  plan_json_ways (builder, facts);
  td_json_add_notes (builder, facts->notes);
  td_recipe_add_json (builder, "recipe", &plan->recipe);
  json_builder_end_object (builder);
  return td_json_print (builder);
}
