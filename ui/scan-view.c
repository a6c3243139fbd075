/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "scan-view.h"

#include <glib/gi18n.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "compute/axis/axis-line.h"
#include "compute/engine/preview.h"
#include "compute/prepare/flat-beam.h"
#include "compute/recipe/field.h"
#include "dataset/angles.h"
#include "frame-loader.h"
#include "iterated.h"
#include "labels.h"
#include "method-choices.h"
#include "preview.h"
#include "quantity.h"
#include "scan-readout.h"
#include "ui.h"

#define NUDGE_PX 0.5
#define NUDGE_FINE_PX 0.1
#define TILT_DEG 0.05
#define TILT_FINE_DEG 0.01
#define MOST_TILT_DEG 10.0 /* as the panel's row */
/* Where on the projection's height the axis is held to tilt it. */
#define GRIP_PLACE 0.1

/* A picture of the recipe's, and the same without a step: going from one to the other takes no
 * time.
 */
typedef struct {
  TdImage *without; /* NULL: to be asked for when it is wanted */
  TdImage *after;   /* the recipe's; NULL: on its way */
  char *problem;    /* why there is none of the recipe's; NULL: there is */
} Pair;

typedef struct {
  gboolean on;   /* these are shown */
  char step[32]; /* left out; "": all that the presets do not have */
  TdPreview *preview;
  TdLatest *sinograms; /* td_frame_loader_new() */
  Pair slice, sinogram;
  char *after_subtitle; /* of the recipe's slice */
} TdBefore;

struct _TdScanView {
  GtkWidget parent_instance;
  GtkWidget *across, *down;
  TdImagePane *projection, *sinogram, *slice;
  GtkWidget *row_footer;
  GtkAdjustment *view_adjustment, *row_adjustment;
  GtkToggleButton *opposite_button;
  TdEngine *engine;
  TdPreview *preview;
  TdLatest *iterated;                /* td_iterated_new() */
  char *iterated_badge;              /* what the slice shows; NULL: the filtered slice */
  TdLatest *projections, *sinograms; /* td_frame_loader_new() */
  TdBefore before;
  TdScan *scan;
  TdRecipe recipe;
  gboolean has_recipe;
  gboolean sinogram_due; /* comes on the way to the slice */
  guint row, view;
  TdSliceReadout slice_readout;
  gboolean told_no_gl;
  char *slice_device; /* that computed the last whole slice */
  double slice_seconds;
  guint drag;         /* in the slice, that moves the axis */
  double drag_centre; /* the axis as it began */
};

G_DEFINE_FINAL_TYPE (TdScanView, td_scan_view, GTK_TYPE_WIDGET)

static void
scan_view_show_busy (TdScanView *self)
{
  const TdBefore *before = &self->before;

  td_image_pane_set_updating (self->projection, td_latest_busy (self->projections));
  td_image_pane_set_updating (self->sinogram,
                              td_latest_busy (self->sinograms) || self->sinogram_due
                                  || (before->on && td_latest_busy (before->sinograms)));
  td_image_pane_set_updating (self->slice,
                              td_preview_busy (self->preview) || td_latest_busy (self->iterated)
                                  || (before->on && td_preview_busy (before->preview)));
}

/* ── Pictures without a step ── */

/* The recipe without the step, or without all steps that are not part of the presets. Flat field
   and logarithm make a slice of counts, the others mend it. */
static void
recipe_before (TdScanView *self, TdRecipe *recipe)
{
  const char *left_out = self->before.step;

  *recipe = self->recipe;
  for (guint i = 0; i < recipe->n_steps; i++) {
    TdStep *step = &recipe->steps[i];
    const TdStepKind *kind = td_prepare_step (step->name, NULL);
    if (*left_out ? strcmp (step->name, left_out) == 0 : kind && !kind->preset_on)
      step->enabled = FALSE;
  }
}

/* Without flat field or logarithm the values have another meaning: the contrast cannot stay. */
static gboolean
scan_view_before_comparable (TdScanView *self)
{
  const TdStepKind *kind = *self->before.step ? td_prepare_step (self->before.step, NULL) : NULL;

  return !kind || !kind->preset_on;
}

static void
put_image (TdScanView *self, TdImagePane *pane, TdImage *image)
{
  if (scan_view_before_comparable (self))
    td_image_pane_flip_image (pane, image);
  else
    td_image_pane_set_image (pane, image);
}

/* By which method the recipe's slice was made, where that is not what the run does. */
static const char *
scan_view_method_badge (TdScanView *self)
{
  if (self->iterated_badge)
    return self->iterated_badge;
  if (!self->has_recipe || !td_method_iterates (self->recipe.method))
    return NULL;
  const char *why_not = td_iterated_why_not (self->scan, &self->recipe);
  return why_not ? why_not : td_preview_label (self->recipe.method);
}

static void
show_badges (TdScanView *self)
{
  const TdStepKind *kind = *self->before.step ? td_prepare_step (self->before.step, NULL) : NULL;
  g_autofree char *text = kind ? g_strdup_printf (_ ("Before: without “%s”"), _ (kind->title))
                               : g_strdup (_ ("Before: without the added steps"));
  const char *badge = self->before.on ? text : NULL;

  td_image_pane_set_badge (self->slice, badge ? badge : scan_view_method_badge (self));
  td_image_pane_set_badge (self->sinogram,
                           td_image_pane_get_option (self->sinogram) ? badge : NULL);
}

static void
pair_clear (Pair *pair)
{
  g_clear_pointer (&pair->without, td_image_unref);
  g_clear_pointer (&pair->after, td_image_unref);
  g_clear_pointer (&pair->problem, g_free);
}

/* Keeps a picture of the recipe's, or why there is none. */
static void
pair_set_after (Pair *pair, TdImage *image, const GError *error)
{
  td_hold (image, &pair->after, image);
  g_free (pair->problem);
  pair->problem = error && !g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED)
                      ? td_label_error (error)
                      : NULL;
}

/* A picture without the step came, or why there is none. One that is not the last is not kept. */
static void
scan_view_take_before (TdScanView *self, TdImagePane *pane, Pair *pair, TdImage *image,
                       const GError *error, gboolean last)
{
  td_hold (image, &pair->without, last ? image : NULL);
  if (!self->before.on)
    return;
  if (image)
    put_image (self, pane, image);
  else
    td_image_pane_set_problem (pane, error);
  scan_view_show_busy (self);
}

static void
on_slice_before (const TdPreviewResult *result, const GError *error, gboolean last, gpointer user)
{
  TdScanView *self = user;

  scan_view_take_before (self, self->slice, &self->before.slice, result ? result->image : NULL,
                         error, last);
}

static void
on_sinogram_before (gpointer image, const GError *error, gboolean last, gpointer user)
{
  TdScanView *self = user;

  scan_view_take_before (self, self->sinogram, &self->before.sinogram, image, error, last);
}

static void
ask_slice (TdScanView *self)
{
  TdRecipe recipe;

  if (self->before.slice.without) {
    put_image (self, self->slice, self->before.slice.without);
    return;
  }
  recipe_before (self, &recipe);
  td_preview_request (self->before.preview, self->scan, &recipe, self->row, FALSE);
  scan_view_show_busy (self);
}

static void
ask_sinogram (TdScanView *self)
{
  TdRecipe recipe;

  if (!td_image_pane_get_option (self->sinogram))
    return; /* as stored: no step was in it */
  if (self->before.sinogram.without) {
    put_image (self, self->sinogram, self->before.sinogram.without);
    return;
  }
  recipe_before (self, &recipe);
  td_frame_loader_sinogram (self->before.sinograms, self->engine, self->scan, self->row, &recipe);
  scan_view_show_busy (self);
}

/* Keeps a picture of the recipe's, or why there is none. TRUE: it is not to be shown now. */
static gboolean
scan_view_before_keep_slice (TdScanView *self, TdImage *image, const char *subtitle,
                             const GError *error)
{
  pair_set_after (&self->before.slice, image, error);
  g_free (self->before.after_subtitle);
  self->before.after_subtitle = g_strdup (subtitle);
  return self->before.on;
}

static gboolean
scan_view_before_keep_sinogram (TdScanView *self, TdImage *image, const GError *error)
{
  pair_set_after (&self->before.sinogram, image, error);
  return self->before.on && td_image_pane_get_option (self->sinogram);
}

/* What was kept is old: recipe or row changed. Asks anew while it is shown. What is on its way then
   gives way to that; while it is not shown it would be kept, and is old. */
static void
scan_view_before_slice_stale (TdScanView *self)
{
  pair_clear (&self->before.slice);
  if (self->before.on)
    ask_slice (self);
  else
    td_preview_cancel (self->before.preview);
}

static void
scan_view_before_sinogram_stale (TdScanView *self)
{
  pair_clear (&self->before.sinogram);
  if (self->before.on)
    ask_sinogram (self);
  else
    td_latest_cancel (self->before.sinograms);
  show_badges (self);
}

/* One that is on its way comes by itself. */
static void
put_after (TdScanView *self, TdImagePane *pane, const Pair *pair)
{
  if (pair->after)
    put_image (self, pane, pair->after);
  else if (pair->problem)
    td_image_pane_set_message (pane, pair->problem);
}

void
td_scan_view_set_before (TdScanView *self, const char *step)
{
  if (!self->scan || !self->has_recipe || (!step && !self->before.on))
    return;
  if (!step) {
    self->before.on = FALSE;
    put_after (self, self->slice, &self->before.slice);
    put_after (self, self->sinogram, &self->before.sinogram);
    td_image_pane_set_subtitle (self->slice, self->before.after_subtitle);
    scan_view_show_busy (self);
    show_badges (self);
    return;
  }
  if (strcmp (step, self->before.step) != 0) {
    td_preview_cancel (self->before.preview);
    td_latest_cancel (self->before.sinograms);
    g_clear_pointer (&self->before.slice.without, td_image_unref);
    g_clear_pointer (&self->before.sinogram.without, td_image_unref);
    g_strlcpy (self->before.step, step, sizeof self->before.step);
  }
  self->before.on = TRUE;
  ask_slice (self);
  ask_sinogram (self);
  show_badges (self);
}

static void
scan_view_before_forget (TdBefore *before)
{
  pair_clear (&before->slice);
  pair_clear (&before->sinogram);
  g_clear_pointer (&before->after_subtitle, g_free);
}

/* Another scan: nothing is kept, and the recipe's pictures are shown. */
static void
scan_view_before_reset (TdScanView *self)
{
  td_preview_cancel (self->before.preview);
  td_latest_cancel (self->before.sinograms);
  self->before.on = FALSE;
  scan_view_before_forget (&self->before);
  show_badges (self);
}

/* The axis that the recipe has on the detector. */
static TdAxisLine
scan_view_axis (TdScanView *self)
{
  const TdScanFacts *facts = td_scan_facts (self->scan);
  double centre = self->recipe.centre_px;

  if (!isfinite (centre))
    centre = isfinite (facts->centre_px) ? facts->centre_px : (facts->n_columns - 1) / 2.0;
  return td_axis_line (centre, self->recipe.tilt_deg, facts->n_rows);
}

/* ── Asking for pictures ── */

/* The opposite view's number; FALSE: none is looked at, or there is none. */
static gboolean
scan_view_is_opposite (TdScanView *self, guint *opposite)
{
  return self->scan && self->has_recipe && gtk_toggle_button_get_active (self->opposite_button)
         && td_preview_opposite_view (td_scan_facts (self->scan), self->view, opposite);
}

static void
request_projection (TdScanView *self)
{
  const gboolean corrected = td_image_pane_get_option (self->projection) && self->has_recipe;
  guint views[2] = { self->view, 0 };

  if (scan_view_is_opposite (self, &views[1])) {
    const TdAxisLine axis = scan_view_axis (self);
    td_frame_loader_opposite (self->projections, self->engine, self->scan, views, &self->recipe,
                              &axis);
    scan_view_show_busy (self);
    return;
  }
  td_frame_loader_projection (self->projections, self->engine, self->scan, self->view,
                              corrected ? &self->recipe : NULL);
  scan_view_show_busy (self);
}

/* The slice is made of the very row that is shown: its preparation need not be done twice. */
static gboolean
sinogram_follows_slice (TdScanView *self)
{
  return self->has_recipe && td_image_pane_get_option (self->sinogram)
         && td_scan_facts (self->scan)->geometry.beam == TD_BEAM_PARALLEL
         && td_preview_is_whole (&self->recipe);
}

/* By itself. */
static void
scan_view_load_sinogram (TdScanView *self)
{
  gboolean prepared = td_image_pane_get_option (self->sinogram) && self->has_recipe;

  self->sinogram_due = FALSE;
  td_frame_loader_sinogram (self->sinograms, self->engine, self->scan, self->row,
                            prepared ? &self->recipe : NULL);
  scan_view_show_busy (self);
}

/* Before the slice is asked for. */
static void
request_sinogram (TdScanView *self)
{
  if (sinogram_follows_slice (self)) {
    td_latest_cancel (self->sinograms);
    self->sinogram_due = TRUE;
    scan_view_show_busy (self);
  } else {
    scan_view_load_sinogram (self);
  }
  scan_view_before_sinogram_stale (self);
}

/* The slice is the filtered one again. */
static void
scan_view_stop_iterating (TdScanView *self)
{
  td_latest_cancel (self->iterated);
  g_clear_pointer (&self->iterated_badge, g_free);
}

static void
scan_view_request_slice (TdScanView *self)
{
  scan_view_stop_iterating (self);
  if (!self->has_recipe)
    return;
  td_preview_request (self->preview, self->scan, &self->recipe, self->row, self->sinogram_due);
  scan_view_show_busy (self);
  scan_view_before_slice_stale (self);
  show_badges (self);
}

/* ── Lines ── */

/* The rows of the projection where the axis is held; FALSE: it has no tilt. */
static gboolean
scan_view_tilt_rows (TdScanView *self, double rows[2])
{
  const TdScanFacts *facts = td_scan_facts (self->scan);
  const double last = facts->n_rows - 1.0;

  rows[0] = last * GRIP_PLACE;
  rows[1] = last * (1 - GRIP_PLACE);
  return facts->geometry.beam == TD_BEAM_PARALLEL
         && td_recipe_field_applies (td_recipe_field ("tilt"), &self->recipe, facts, NULL);
}

/* Two on the projection's axis, to tilt it, and the axis of the slice. */
static void
scan_view_show_grips (TdScanView *self, const TdAxisLine *axis, gboolean has_axis)
{
  const TdImage *slice = td_image_pane_get_image (self->slice);
  double rows[2], ends[2][2], middle[1][2] = { { 0 } };
  const gboolean tilts = scan_view_tilt_rows (self, rows);

  for (guint i = 0; i < 2; i++) {
    ends[i][0] = td_axis_line_at (axis, rows[i]);
    ends[i][1] = rows[i];
  }
  if (slice) {
    middle[0][0] = (slice->extent_width - 1) / 2.0;
    middle[0][1] = (slice->extent_height - 1) / 2.0;
  }
  td_slice_view_set_grips (td_image_pane_view (self->projection), ends, has_axis && tilts ? 2 : 0);
  td_slice_view_set_grips (td_image_pane_view (self->slice), middle, has_axis && slice ? 1 : 0);
}

static void
show_lines (TdScanView *self)
{
  const TdScanFacts *facts = td_scan_facts (self->scan);
  gboolean matrices = facts->geometry.view_matrices != NULL;
  const TdAxisLine axis = scan_view_axis (self);
  const gboolean has_column
      = td_recipe_field_applies (td_recipe_field ("centre"), &self->recipe, facts, NULL);
  double centre
      = self->has_recipe && !matrices && has_column ? td_axis_line_at (&axis, self->row) : NAN;
  const gint *r = self->recipe.region;
  const guint *c = self->recipe.crop;

  td_slice_view_set_row_line (td_image_pane_view (self->projection), self->row, TRUE);
  td_slice_view_set_axis_line (td_image_pane_view (self->projection), centre, self->row,
                               axis.slope);
  td_slice_view_set_row_line (td_image_pane_view (self->sinogram), self->view, TRUE);
  td_slice_view_set_axis_line (td_image_pane_view (self->sinogram), centre, 0, 0);
  scan_view_show_grips (self, &axis, isfinite (centre));
  td_slice_view_set_region (td_image_pane_view (self->slice), r[0], r[1], r[2], r[3]);
  td_slice_view_set_region (td_image_pane_view (self->projection), c[0], c[1], c[2], c[3]);
}

/* ── Showing them ── */

/* A scan without flats is asked for them, or for what they would have measured. */
static gboolean
lacks_flats (TdScanView *self)
{
  for (guint i = 0; self->has_recipe && i < self->recipe.n_steps; i++) {
    const TdStep *step = &self->recipe.steps[i];
    if (step->enabled && strcmp (step->name, "flat-field") == 0)
      return td_flat_field_lacks (step, td_scan_facts (self->scan))
             && !td_preparation_skips (step, td_scan_facts (self->scan));
  }
  return FALSE;
}

static void
scan_view_show_problem (TdScanView *self, TdImagePane *pane, const GError *error)
{
  td_image_pane_set_problem (pane, error);
  if (pane == self->slice && lacks_flats (self)) {
    td_image_pane_offer (pane, _ ("_Choose Flats…"), "win.choose-flats");
    td_image_pane_offer (pane, _ ("_State the Open Beam…"), "win.state-empty-beam");
  }
}

static void
show_frame (TdImagePane *pane, TdImage *image, const GError *error)
{
  if (image)
    td_image_pane_set_image (pane, image);
  else
    td_image_pane_set_problem (pane, error);
}

static void
on_projection (gpointer image, const GError *error, gboolean last, gpointer user)
{
  TdScanView *self = user;

  show_frame (self->projection, image, error);
  scan_view_show_busy (self);
}

static void
on_sinogram (gpointer image, const GError *error, gboolean last, gpointer user)
{
  TdScanView *self = user;

  if (!scan_view_before_keep_sinogram (self, image, error))
    show_frame (self->sinogram, image, error);
  scan_view_show_busy (self);
}

/* The width of a 64-bit number differs between machines: it must not be in a translated format. */
static char *
count_text (guint64 count)
{
  return g_strdup_printf ("%" PRIu64, count);
}

/* Two lines: what it is and what was replaced come before what may be cut. */
static char *
slice_subtitle (const TdPreviewResult *result)
{
  if (result->coarse)
    return g_strdup (_ ("coarse; the full one follows"));
  g_autofree char *clamped = count_text (result->counts.clamped_transmissions);
  g_autofree char *bad = count_text (result->counts.bad_values);
  g_autoptr (GStrvBuilder) facts = g_strv_builder_new ();
  g_autofree char *time = td_moment_text (result->seconds);
  g_autofree char *how = g_strdup_printf (_ ("%u × %u on %s, %s"), result->image->width,
                                          result->image->height, result->device, time);
  g_autofree char *raised = g_strdup_printf (_ ("%s opaque samples raised"), clamped);
  g_autofree char *replaced = g_strdup_printf (_ ("%s bad samples replaced"), bad);

  if (result->counts.clamped_transmissions)
    g_strv_builder_add (facts, raised);
  if (result->counts.bad_values)
    g_strv_builder_add (facts, replaced);
  if (result->kernel)
    g_strv_builder_add (facts, td_choice_label (TD_CHOICE_KERNEL, result->kernel));
  g_strv_builder_add (facts, td_choice_label (TD_CHOICE_PRECISION, result->precision));
  g_auto (GStrv) list = g_strv_builder_end (facts);
  g_autofree char *second = g_strjoinv (_ (", "), list);
  return g_strconcat (how, "\n", second, NULL);
}

static void
scan_view_show_slice (TdScanView *self, const TdPreviewResult *result)
{
  g_autofree char *subtitle = slice_subtitle (result);
  if (!result->coarse) {
    g_free (self->slice_device);
    self->slice_device = g_strdup (result->device);
    self->slice_seconds = result->seconds;
  }

  self->slice_readout.pixel_mm = result->pixel_mm;
  g_strlcpy (self->slice_readout.units, result->units, sizeof self->slice_readout.units);
  td_image_pane_set_units (self->slice, result->units);
  self->slice_readout.width = result->image->extent_width;
  self->slice_readout.height = result->image->extent_height;
  if (scan_view_before_keep_slice (self, result->image, subtitle, NULL))
    return;
  td_slice_view_set_pixel_mm (td_image_pane_view (self->slice), result->pixel_mm, result->pixel_mm);
  td_image_pane_set_image (self->slice, result->image);
  show_lines (self);
  td_image_pane_set_subtitle (self->slice, subtitle);
  g_signal_emit_by_name (self, "slice-shown", result->coarse);
}

/* ── Iterations, once the filtered slice is there ── */

static char *
scan_view_iterated_badge (TdScanView *self, const TdIteratedResult *result)
{
  const char *method = td_choice_label (TD_CHOICE_METHOD, td_method_names[self->recipe.method]);
  g_autofree char *passes = g_strdup_printf (_ ("%s: %u of %u passes"), method, result->pass,
                                             MAX (result->n_passes, result->pass));

  return result->factor > 1 ? g_strdup_printf (_ ("%s, reduced %u times"), passes, result->factor)
                            : g_steal_pointer (&passes);
}

static void
scan_view_show_iterated (TdScanView *self, const TdIteratedResult *result)
{
  g_autofree char *badge = scan_view_iterated_badge (self, result);
  g_autofree char *time = td_duration_text (result->seconds);
  g_autofree char *how
      = isfinite (result->residual) && result->residual > 0
            ? g_strdup_printf (_ ("%u × %u on %s, residual %.4f, %s"), result->image->width,
                               result->image->height, result->device, result->residual, time)
            : g_strdup_printf (_ ("%u × %u on %s, %s"), result->image->width, result->image->height,
                               result->device, time);
  g_autofree char *subtitle = g_strconcat (badge, "\n", how, NULL);

  g_free (self->iterated_badge);
  self->iterated_badge = g_steal_pointer (&badge);
  if (scan_view_before_keep_slice (self, result->image, subtitle, NULL))
    return;
  td_image_pane_set_image (self->slice, result->image);
  td_image_pane_set_subtitle (self->slice, subtitle);
  show_badges (self);
}

/* The filtered slice stays where there is none, and its heading says why. */
static void
scan_view_on_iterated (gpointer result, const GError *error, gboolean last, gpointer user)
{
  TdScanView *self = user;

  if (result) {
    scan_view_show_iterated (self, result);
  } else if (!g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED)) {
    g_autofree char *words = td_label_error (error);
    td_image_pane_set_subtitle (self->slice, words);
  }
  scan_view_show_busy (self);
}

static void
on_slice_sinogram (TdImage *image, gpointer user)
{
  TdScanView *self = user;

  if (!sinogram_follows_slice (self))
    return; /* asked for otherwise in the meantime */
  self->sinogram_due = FALSE;
  on_sinogram (image, NULL, TRUE, self);
}

static void
on_slice (const TdPreviewResult *result, const GError *error, gboolean last, gpointer user)
{
  TdScanView *self = user;

  if (result)
    scan_view_show_slice (self, result);
  else if (!g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED)
           && !scan_view_before_keep_slice (self, NULL, NULL, error)) {
    scan_view_show_problem (self, self->slice, error);
    td_image_pane_set_subtitle (self->slice, NULL);
  }
  /* What keeps the slice from being made need not keep the row from being shown. */
  if (last && !td_preview_busy (self->preview) && sinogram_follows_slice (self)
      && (self->sinogram_due || error))
    scan_view_load_sinogram (self);
  if (result && last && !td_preview_busy (self->preview) && td_method_iterates (self->recipe.method)
      && !td_iterated_why_not (self->scan, &self->recipe))
    td_iterated_request (self->iterated, self->engine, self->scan, &self->recipe, self->row);
  scan_view_show_busy (self);
}

static void
show_titles (TdScanView *self)
{
  const TdScanFacts *facts = td_scan_facts (self->scan);
  g_autofree char *view = g_strdup_printf (_ ("%.2f°"), td_degrees (facts->angles_rad[self->view]));
  g_autofree char *row = g_strdup_printf (_ ("row %u"), self->row);

  td_image_pane_set_subtitle (self->projection, view);
  td_image_pane_set_subtitle (self->sinogram, row);
}

/* ── Opposite views ── */

/* What the picture is then, and what is wrong with the view that is shown. */
static void
show_opposite (TdScanView *self)
{
  guint opposite;
  const gboolean on = gtk_toggle_button_get_active (self->opposite_button);

  td_image_pane_set_badge (self->projection, !on ? NULL
                                             : scan_view_is_opposite (self, &opposite)
                                                 ? _ ("Less the opposite view")
                                                 : _ ("No view is opposite"));
}

static void
on_opposite_toggled (GtkToggleButton *button, TdScanView *self)
{
  if (!self->scan)
    return;
  show_opposite (self);
  request_projection (self);
}

/* Of half a turn only the first and the last view have one. */
static void
scan_view_offer_opposite (TdScanView *self)
{
  const TdScanFacts *facts = td_scan_facts (self->scan);
  guint opposite;
  const gboolean there = facts->geometry.beam == TD_BEAM_PARALLEL && facts->n_rows > 1
                         && td_preview_opposite_view (facts, 0, &opposite);

  gtk_toggle_button_set_active (self->opposite_button, FALSE);
  gtk_widget_set_sensitive (GTK_WIDGET (self->opposite_button), there);
  gtk_widget_set_tooltip_text (
      GTK_WIDGET (self->opposite_button),
      there ? _ ("0° less 180°, mirrored at the axis: nothing but noise is left where the axis is "
                 "right. Drag the line or use the arrows in the slice")
            : _ ("The scan has no views half a turn apart, or is no parallel beam’s"));
}

/* ── Row and view ── */

static void
scan_view_set_row (TdScanView *self, double to)
{
  const guint row
      = self->scan ? (guint) CLAMP (round (to), 0, td_scan_facts (self->scan)->n_rows - 1) : 0;

  if (!self->scan || row == self->row)
    return;
  self->row = row;
  gtk_adjustment_set_value (self->row_adjustment, row);
  show_lines (self);
  show_titles (self);
  request_sinogram (self);
  scan_view_request_slice (self);
  g_signal_emit_by_name (self, "row-changed", row);
}

guint
td_scan_view_get_row (TdScanView *self)
{
  return self->row;
}

static void
scan_view_set_view (TdScanView *self, double to)
{
  const guint view
      = self->scan ? (guint) CLAMP (round (to), 0, td_scan_facts (self->scan)->n_views - 1) : 0;

  if (!self->scan || view == self->view)
    return;
  self->view = view;
  gtk_adjustment_set_value (self->view_adjustment, view);
  show_lines (self);
  show_titles (self);
  show_opposite (self);
  request_projection (self);
}

static void
on_row_slider (GtkAdjustment *adjustment, TdScanView *self)
{
  scan_view_set_row (self, gtk_adjustment_get_value (adjustment));
}

static void
on_view_slider (GtkAdjustment *adjustment, TdScanView *self)
{
  scan_view_set_view (self, gtk_adjustment_get_value (adjustment));
}

static void
on_corrected_toggled (TdImagePane *pane, gboolean on, TdScanView *self)
{
  if (self->scan)
    request_projection (self);
}

static void
on_prepared_toggled (TdImagePane *pane, gboolean on, TdScanView *self)
{
  if (!self->scan)
    return;
  scan_view_load_sinogram (self);
  scan_view_before_sinogram_stale (self);
}

/* ── What is done in one picture moves the others ── */

static void
on_projection_picked (TdSliceView *view, double column, double row, TdScanView *self)
{
  scan_view_set_row (self, row);
}

static void
on_projection_nudged (TdSliceView *view, int dx, int dy, gboolean fine, TdScanView *self)
{
  scan_view_set_row (self, (double) self->row + dy);
  scan_view_set_view (self, (double) self->view + dx);
}

static void
on_sinogram_picked (TdSliceView *view, double column, double row, TdScanView *self)
{
  scan_view_set_view (self, row);
}

static void
on_sinogram_nudged (TdSliceView *view, int dx, int dy, gboolean fine, TdScanView *self)
{
  scan_view_set_view (self, (double) self->view + dy);
  scan_view_set_row (self, (double) self->row + dx);
}

static void
scan_view_move_axis (TdScanView *self, double centre_px, double tilt_deg, guint drag)
{
  g_signal_emit_by_name (self, "centre-moved", round (centre_px * 100) / 100, tilt_deg, drag);
}

/* The line is the axis at this row; the recipe's centre is that of the middle row. */
static void
on_axis_moved (TdSliceView *view, double column, TdScanView *self)
{
  if (!self->scan || !self->has_recipe)
    return;
  const TdAxisLine axis = scan_view_axis (self);
  scan_view_move_axis (self, axis.centre_px + column - td_axis_line_at (&axis, self->row), NAN,
                       td_slice_view_get_drag (view));
}

/* The axis turns about the other grip. */
static void
scan_view_on_tilt_grip (TdSliceView *view, guint grip, double column, double row, TdScanView *self)
{
  double rows[2];

  if (!self->scan || !self->has_recipe || !scan_view_tilt_rows (self, rows))
    return;
  const TdAxisLine axis = scan_view_axis (self);
  const double other = td_axis_line_at (&axis, rows[1 - grip]);
  const double slope = (column - other) / (rows[grip] - rows[1 - grip]);
  const double tilt_deg
      = CLAMP (round (td_degrees (atan (slope)) * 1e3) / 1e3, -MOST_TILT_DEG, MOST_TILT_DEG);
  const TdAxisLine line = td_axis_line (0, tilt_deg, td_scan_facts (self->scan)->n_rows);
  scan_view_move_axis (self, other - td_axis_line_at (&line, rows[1 - grip]), tilt_deg,
                       td_slice_view_get_drag (view));
}

/* The axis goes as far as the pointer, in columns. */
static void
scan_view_on_slice_grip (TdSliceView *view, guint grip, double column, double row, TdScanView *self)
{
  const TdImage *image = td_image_pane_get_image (self->slice);
  const guint drag = td_slice_view_get_drag (view);

  if (!self->scan || !self->has_recipe || !image)
    return;
  if (drag != self->drag || drag == 0)
    self->drag_centre = scan_view_axis (self).centre_px;
  self->drag = drag;
  scan_view_move_axis (self, self->drag_centre + column - (image->extent_width - 1) / 2.0, NAN,
                       drag);
}

/* Alt and the arrows, in any of the pictures: the axis moves across, and in the projection it
   tilts. */
static void
scan_view_on_shifted (TdSliceView *view, int dx, int dy, gboolean fine, TdScanView *self)
{
  double rows[2];

  if (!self->scan || !self->has_recipe)
    return;
  if (dx != 0)
    g_signal_emit_by_name (self, "nudge-centre", dx * (fine ? NUDGE_FINE_PX : NUDGE_PX));
  else if (view == td_image_pane_view (self->projection) && scan_view_tilt_rows (self, rows))
    scan_view_move_axis (self, scan_view_axis (self).centre_px,
                         CLAMP (self->recipe.tilt_deg + dy * (fine ? TILT_FINE_DEG : TILT_DEG),
                                -MOST_TILT_DEG, MOST_TILT_DEG),
                         0);
}

static void
on_slice_nudged (TdSliceView *view, int dx, int dy, gboolean fine, TdScanView *self)
{
  if (dx != 0)
    g_signal_emit_by_name (self, "nudge-centre", dx * (fine ? NUDGE_FINE_PX : NUDGE_PX));
  else
    scan_view_set_row (self, (double) self->row + dy);
}

static void
on_slice_region (TdSliceView *view, double x, double y, double width, double height,
                 TdScanView *self)
{
  g_signal_emit_by_name (self, "region-drawn", (int) x, (int) y, (int) width, (int) height);
}

static void
on_projection_region (TdSliceView *view, double x, double y, double width, double height,
                      TdScanView *self)
{
  g_signal_emit_by_name (self, "crop-drawn", (int) x, (int) y, (int) width, (int) height);
}

static void
scan_view_on_no_gl (TdSliceView *view, const char *reason, TdScanView *self)
{
  if (!self->told_no_gl)
    g_signal_emit_by_name (self, "no-gl", reason);
  self->told_no_gl = TRUE;
}

static void
scan_view_connect_panes (TdScanView *self)
{
  TdSliceView *projection = td_image_pane_view (self->projection);
  TdSliceView *sinogram = td_image_pane_view (self->sinogram);
  TdSliceView *slice = td_image_pane_view (self->slice);

  g_signal_connect (projection, "picked", G_CALLBACK (on_projection_picked), self);
  g_signal_connect_swapped (projection, "line-moved", G_CALLBACK (scan_view_set_row), self);
  g_signal_connect (projection, "nudged", G_CALLBACK (on_projection_nudged), self);
  g_signal_connect (projection, "region-drawn", G_CALLBACK (on_projection_region), self);
  g_signal_connect (projection, "failed", G_CALLBACK (scan_view_on_no_gl), self);
  g_signal_connect (projection, "grip-moved", G_CALLBACK (scan_view_on_tilt_grip), self);
  g_signal_connect (projection, "shifted", G_CALLBACK (scan_view_on_shifted), self);
  g_signal_connect (sinogram, "shifted", G_CALLBACK (scan_view_on_shifted), self);
  g_signal_connect (slice, "grip-moved", G_CALLBACK (scan_view_on_slice_grip), self);
  g_signal_connect (slice, "shifted", G_CALLBACK (scan_view_on_shifted), self);
  g_signal_connect (projection, "column-moved", G_CALLBACK (on_axis_moved), self);
  g_signal_connect (sinogram, "column-moved", G_CALLBACK (on_axis_moved), self);
  g_signal_connect (sinogram, "picked", G_CALLBACK (on_sinogram_picked), self);
  g_signal_connect_swapped (sinogram, "line-moved", G_CALLBACK (scan_view_set_view), self);
  g_signal_connect (sinogram, "nudged", G_CALLBACK (on_sinogram_nudged), self);
  g_signal_connect (slice, "nudged", G_CALLBACK (on_slice_nudged), self);
  g_signal_connect (slice, "region-drawn", G_CALLBACK (on_slice_region), self);
}

/* ── Layout ── */

/* @alone: (nullable): the pane that takes all the room. Of one row the view hides the projection,
   and what chooses a row. */
static void
scan_view_arrange (TdScanView *self, TdImagePane *alone)
{
  TdImagePane *panes[] = { self->projection, self->sinogram, self->slice };
  const gboolean flat = self->scan && td_scan_facts (self->scan)->n_rows == 1;

  for (guint i = 0; i < G_N_ELEMENTS (panes); i++)
    gtk_widget_set_visible (GTK_WIDGET (panes[i]),
                            alone ? panes[i] == alone : panes[i] != self->projection || !flat);
  gtk_widget_set_visible (self->down, alone != self->slice);
  gtk_widget_set_visible (self->row_footer, !flat);
}

static void
on_enlarge (TdImagePane *pane, gboolean enlarged, TdScanView *self)
{
  scan_view_arrange (self, enlarged ? pane : NULL);
}

static void
clear_panes (TdScanView *self)
{
  TdImagePane *panes[] = { self->projection, self->sinogram, self->slice };

  for (guint i = 0; i < G_N_ELEMENTS (panes); i++) {
    td_image_pane_renew (panes[i]);
    td_image_pane_set_subtitle (panes[i], NULL);
    td_image_pane_set_updating (panes[i], FALSE);
    td_image_pane_set_enlarged (panes[i], FALSE);
  }
}

void
td_scan_view_set_engine (TdScanView *self, TdEngine *engine)
{
  g_return_if_fail (self->preview == NULL);
  self->engine = td_engine_ref (engine);
  self->preview = td_preview_new (engine, on_slice, on_slice_sinogram, self);
  self->projections = td_frame_loader_new (on_projection, self);
  self->sinograms = td_frame_loader_new (on_sinogram, self);
  self->iterated = td_iterated_new (scan_view_on_iterated, self);
  self->before.preview = td_preview_new (engine, on_slice_before, NULL, self);
  self->before.sinograms = td_frame_loader_new (on_sinogram_before, self);
}

void
td_scan_view_set_scan (TdScanView *self, TdScan *scan)
{
  td_preview_cancel (self->preview);
  scan_view_stop_iterating (self);
  td_latest_cancel (self->projections);
  td_latest_cancel (self->sinograms);
  scan_view_before_reset (self);
  g_clear_pointer (&self->scan, td_scan_unref);
  self->has_recipe = self->sinogram_due = FALSE;
  clear_panes (self);
  if (!scan)
    return;
  const TdScanFacts *facts = td_scan_facts (scan);
  self->row = facts->n_rows / 2;
  self->view = 0;
  gtk_adjustment_configure (self->view_adjustment, 0, 0, facts->n_views - 1, 1, 10, 0);
  gtk_adjustment_configure (self->row_adjustment, self->row, 0, facts->n_rows - 1, 1, 10, 0);
  self->scan = td_scan_ref (scan);
  scan_view_arrange (self, NULL);
  td_slice_view_set_pixel_mm (td_image_pane_view (self->projection), facts->geometry.pixel_width_mm,
                              facts->geometry.pixel_height_mm);
  td_slice_view_set_pixel_mm (td_image_pane_view (self->sinogram), 1, 0);
  td_image_pane_set_readout (self->projection, td_projection_readout, scan);
  td_image_pane_set_readout (self->sinogram, td_sinogram_readout, scan);
  show_titles (self);
  scan_view_offer_opposite (self);
  show_opposite (self);
  request_projection (self);
}

void
td_scan_view_set_recipe (TdScanView *self, const TdRecipe *recipe)
{
  if (!self->scan)
    return;
  gboolean steps_changed = !self->has_recipe
                           || !td_recipe_equal_in (recipe, &self->recipe, "prepare")
                           || !td_recipe_equal_in (recipe, &self->recipe, "bad_pixels");
  gboolean follows = sinogram_follows_slice (self);

  self->recipe = *recipe;
  self->has_recipe = TRUE;
  show_lines (self);
  guint opposite;
  if ((steps_changed && td_image_pane_get_option (self->projection))
      || scan_view_is_opposite (self, &opposite))
    request_projection (self);
  if (steps_changed || follows != sinogram_follows_slice (self))
    request_sinogram (self);
  scan_view_request_slice (self);
}

gboolean
td_scan_view_slice_is_current (TdScanView *self)
{
  return td_slice_view_is_current (td_image_pane_view (self->slice));
}

double
td_scan_view_slice_seconds (TdScanView *self, const char **device)
{
  *device = self->slice_device;
  return self->slice_seconds;
}

void
td_scan_view_set_colour_map (TdScanView *self, const char *name)
{
  td_image_pane_set_colour_map (self->projection, name);
  td_image_pane_set_colour_map (self->sinogram, name);
  td_image_pane_set_colour_map (self->slice, name);
}

/* ── Widget ── */

TD_DISPOSE (TdScanView, td_scan_view)
{
  g_clear_pointer (&self->slice_device, g_free);
  g_clear_pointer (&self->iterated, td_latest_free);
  g_clear_pointer (&self->iterated_badge, g_free);
  g_clear_pointer (&self->before.preview, td_preview_free);
  g_clear_pointer (&self->before.sinograms, td_latest_free);
  scan_view_before_forget (&self->before);
  g_clear_pointer (&self->preview, td_preview_free);
  g_clear_pointer (&self->projections, td_latest_free);
  g_clear_pointer (&self->sinograms, td_latest_free);
  g_clear_pointer (&self->engine, td_engine_unref);
  g_clear_pointer (&self->across, gtk_widget_unparent);
  g_clear_pointer (&self->scan, td_scan_unref);
}

static void
td_scan_view_class_init (TdScanViewClass *class)
{
  g_type_ensure (TD_TYPE_IMAGE_PANE);
  G_OBJECT_CLASS (class)->dispose = td_scan_view_dispose;
  td_bind_template (class, TdScanView, "/org/tomodesk/ui/scan-view.ui", across, down, projection,
                    sinogram, slice, opposite_button, view_adjustment, row_adjustment);
  td_bind_callbacks (class, on_enlarge, on_opposite_toggled, on_view_slider, on_row_slider,
                     on_corrected_toggled, on_prepared_toggled);
  td_signal_new (class, "centre-moved", 3, G_TYPE_DOUBLE, G_TYPE_DOUBLE, G_TYPE_UINT);
  td_signal_new (class, "nudge-centre", 1, G_TYPE_DOUBLE);
  td_signal_new (class, "region-drawn", 4, G_TYPE_INT, G_TYPE_INT, G_TYPE_INT, G_TYPE_INT);
  td_signal_new (class, "crop-drawn", 4, G_TYPE_INT, G_TYPE_INT, G_TYPE_INT, G_TYPE_INT);
  td_signal_new (class, "row-changed", 1, G_TYPE_UINT);
  td_signal_new (class, "slice-shown", 1, G_TYPE_BOOLEAN);
  td_signal_new (class, "no-gl", 1, G_TYPE_STRING);
}

static void
td_scan_view_init (TdScanView *self)
{
  gtk_widget_init_template (GTK_WIDGET (self));
  GtkWidget *view_footer
      = td_footer_new (NULL, self->view_adjustment, _ ("View"), _ ("View number"));
  gtk_box_append (GTK_BOX (view_footer), GTK_WIDGET (self->opposite_button));
  self->row_footer = td_footer_new (_ ("Row"), self->row_adjustment, _ ("Detector row"),
                                    _ ("Detector row number"));
  td_image_pane_set_title (self->projection, _ ("Projection"));
  td_image_pane_set_title (self->sinogram, _ ("Sinogram"));
  td_image_pane_set_title (self->slice, _ ("Slice"));
  td_image_pane_add_option (self->projection, _ ("Flat field and logarithm"));
  td_image_pane_add_option (self->sinogram, _ ("All preparation steps"));
  td_image_pane_set_footer (self->projection, view_footer);
  td_image_pane_set_footer (self->slice, self->row_footer);
  td_slice_view_set_filling (td_image_pane_view (self->sinogram), TRUE);
  td_image_pane_set_readout (self->slice, td_slice_readout, &self->slice_readout);
  scan_view_connect_panes (self);
}
