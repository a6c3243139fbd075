/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "scan-view-private.h"

#include <glib/gi18n.h>
#include <string.h>

/* ── What is left out ── */

/* The recipe without the step, or without all steps that are not part of the presets: flat field
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

static void
show_badges (TdScanView *self)
{
  const TdStepKind *kind = *self->before.step ? td_prepare_step (self->before.step, NULL) : NULL;
  g_autofree char *text = kind ? g_strdup_printf (_ ("Before: without “%s”"), _ (kind->title))
                               : g_strdup (_ ("Before: without the added steps"));
  const char *badge = self->before.on ? text : NULL;

  td_image_pane_set_badge (self->slice, badge);
  td_image_pane_set_badge (self->sinogram,
                           td_image_pane_get_option (self->sinogram) ? badge : NULL);
}

/* ── Pictures without the step ── */

static void
on_slice_before (const TdPreviewResult *result, const GError *error, gboolean last, gpointer user)
{
  TdScanView *self = user;

  if (result) {
    g_clear_pointer (&self->before.slice, td_image_unref);
    if (last)
      self->before.slice = td_image_ref (result->image);
  }
  if (!self->before.on)
    return;
  if (result)
    put_image (self, self->slice, result->image);
  else if (!g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
    td_image_pane_set_message (self->slice, error->message);
  td_scan_view_show_busy (self);
}

static void
on_sinogram_before (TdImage *image, const GError *error, gpointer user)
{
  TdScanView *self = user;

  g_clear_pointer (&self->before.sinogram, td_image_unref);
  if (image)
    self->before.sinogram = td_image_ref (image);
  if (!self->before.on)
    return;
  if (image)
    put_image (self, self->sinogram, image);
  else if (!g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
    td_image_pane_set_message (self->sinogram, error->message);
  td_scan_view_show_busy (self);
}

static void
ask_slice (TdScanView *self)
{
  TdRecipe recipe;

  if (self->before.slice) {
    put_image (self, self->slice, self->before.slice);
    return;
  }
  recipe_before (self, &recipe);
  td_preview_request (self->before.preview, self->scan, &recipe, self->row, FALSE);
  td_scan_view_show_busy (self);
}

static void
ask_sinogram (TdScanView *self)
{
  TdRecipe recipe;

  if (!td_image_pane_get_option (self->sinogram))
    return; /* as stored: no step was in it */
  if (self->before.sinogram) {
    put_image (self, self->sinogram, self->before.sinogram);
    return;
  }
  recipe_before (self, &recipe);
  td_frame_loader_sinogram (self->before.sinograms, self->scan, self->row, &recipe);
  td_scan_view_show_busy (self);
}

/* ── Pictures of the recipe ── */

static void
scan_view_before_keep (TdImage **kept, TdImage *image)
{
  g_clear_pointer (kept, td_image_unref);
  *kept = image ? td_image_ref (image) : NULL;
}

static void
keep_problem (char **kept, const GError *error)
{
  g_free (*kept);
  *kept = error && !g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED)
              ? g_strdup (error->message)
              : NULL;
}

gboolean
td_before_keep_slice (TdScanView *self, TdImage *image, const char *subtitle, const GError *error)
{
  scan_view_before_keep (&self->before.after_slice, image);
  keep_problem (&self->before.slice_problem, error);
  g_free (self->before.after_subtitle);
  self->before.after_subtitle = g_strdup (subtitle);
  return self->before.on;
}

gboolean
td_before_keep_sinogram (TdScanView *self, TdImage *image, const GError *error)
{
  scan_view_before_keep (&self->before.after_sinogram, image);
  keep_problem (&self->before.sinogram_problem, error);
  return self->before.on && td_image_pane_get_option (self->sinogram);
}

void
td_before_slice_stale (TdScanView *self)
{
  scan_view_before_keep (&self->before.slice, NULL);
  scan_view_before_keep (&self->before.after_slice, NULL);
  keep_problem (&self->before.slice_problem, NULL);
  if (self->before.on)
    ask_slice (self);
}

void
td_before_sinogram_stale (TdScanView *self)
{
  scan_view_before_keep (&self->before.sinogram, NULL);
  scan_view_before_keep (&self->before.after_sinogram, NULL);
  keep_problem (&self->before.sinogram_problem, NULL);
  if (self->before.on)
    ask_sinogram (self);
  show_badges (self);
}

/* ── Between them ── */

/* One that is on its way comes by itself. */
static void
put_after (TdScanView *self, TdImagePane *pane, TdImage *image, const char *problem)
{
  if (image)
    put_image (self, pane, image);
  else if (problem)
    td_image_pane_set_message (pane, problem);
}

static void
show_after (TdScanView *self)
{
  put_after (self, self->slice, self->before.after_slice, self->before.slice_problem);
  put_after (self, self->sinogram, self->before.after_sinogram, self->before.sinogram_problem);
  td_image_pane_set_subtitle (self->slice, self->before.after_subtitle);
  td_scan_view_show_busy (self);
}

void
td_scan_view_set_before (TdScanView *self, const char *step)
{
  if (!self->scan || !self->has_recipe || (!step && !self->before.on))
    return;
  if (!step) {
    self->before.on = FALSE;
    show_after (self);
    show_badges (self);
    return;
  }
  if (strcmp (step, self->before.step) != 0) {
    scan_view_before_keep (&self->before.slice, NULL);
    scan_view_before_keep (&self->before.sinogram, NULL);
    g_strlcpy (self->before.step, step, sizeof self->before.step);
  }
  self->before.on = TRUE;
  ask_slice (self);
  ask_sinogram (self);
  show_badges (self);
}

/* ── Life ── */

void
td_before_init (TdScanView *self, TdEngine *engine)
{
  self->before.preview = td_preview_new (engine, on_slice_before, NULL, self);
  self->before.sinograms = td_frame_loader_new (engine, on_sinogram_before, self);
}

static void
scan_view_before_forget (TdBefore *before)
{
  scan_view_before_keep (&before->slice, NULL);
  scan_view_before_keep (&before->sinogram, NULL);
  scan_view_before_keep (&before->after_slice, NULL);
  scan_view_before_keep (&before->after_sinogram, NULL);
  g_clear_pointer (&before->after_subtitle, g_free);
  g_clear_pointer (&before->slice_problem, g_free);
  g_clear_pointer (&before->sinogram_problem, g_free);
}

void
td_before_reset (TdScanView *self)
{
  td_preview_cancel (self->before.preview);
  td_frame_loader_cancel (self->before.sinograms);
  self->before.on = FALSE;
  scan_view_before_forget (&self->before);
  show_badges (self);
}

void
td_before_clear (TdScanView *self)
{
  g_clear_pointer (&self->before.preview, td_preview_free);
  g_clear_pointer (&self->before.sinograms, td_frame_loader_free);
  scan_view_before_forget (&self->before);
}
