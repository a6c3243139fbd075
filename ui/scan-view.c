/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "scan-view-private.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

#include "dataset/angles.h"

guint td_scan_view_signals[TD_SCAN_VIEW_N_SIGNALS];

G_DEFINE_FINAL_TYPE (TdScanView, td_scan_view, GTK_TYPE_WIDGET)

void
td_scan_view_show_busy (TdScanView *self)
{
  const TdBefore *before = &self->before;

  td_image_pane_set_updating (self->projection, td_frame_loader_busy (self->projections));
  td_image_pane_set_updating (self->sinogram,
                              td_frame_loader_busy (self->sinograms) || self->sinogram_due
                                  || (before->on && td_frame_loader_busy (before->sinograms)));
  td_image_pane_set_updating (self->slice,
                              td_preview_busy (self->preview)
                                  || (before->on && td_preview_busy (before->preview)));
}

/* ── Asking for pictures ── */

static void
request_projection (TdScanView *self)
{
  td_frame_loader_projection (self->projections, self->scan, self->view,
                              td_image_pane_get_option (self->projection));
  td_scan_view_show_busy (self);
}

/* The slice is made of the very row that is shown: its preparation need not be done twice. */
static gboolean
sinogram_follows_slice (TdScanView *self)
{
  const TdRecipe *recipe = &self->recipe;

  return self->has_recipe && td_image_pane_get_option (self->sinogram)
         && td_scan_facts (self->scan)->geometry.beam == TD_BEAM_PARALLEL && recipe->crop[2] == 0
         && MAX (recipe->bin[0], 1) * MAX (recipe->bin[1], 1) * MAX (recipe->bin_views, 1) == 1;
}

/* By itself. */
static void
scan_view_load_sinogram (TdScanView *self)
{
  gboolean prepared = td_image_pane_get_option (self->sinogram) && self->has_recipe;

  self->sinogram_due = FALSE;
  td_frame_loader_sinogram (self->sinograms, self->scan, self->row,
                            prepared ? &self->recipe : NULL);
  td_scan_view_show_busy (self);
}

/* Before the slice is asked for. */
static void
request_sinogram (TdScanView *self)
{
  if (sinogram_follows_slice (self)) {
    td_frame_loader_cancel (self->sinograms);
    self->sinogram_due = TRUE;
    td_scan_view_show_busy (self);
  } else {
    scan_view_load_sinogram (self);
  }
  td_before_sinogram_stale (self);
}

static void
scan_view_request_slice (TdScanView *self)
{
  if (!self->has_recipe)
    return;
  td_preview_request (self->preview, self->scan, &self->recipe, self->row, self->sinogram_due);
  td_scan_view_show_busy (self);
  td_before_slice_stale (self);
}

/* ── Showing them ── */

static void
show_frame (TdImagePane *pane, TdImage *image, const GError *error)
{
  if (image)
    td_image_pane_set_image (pane, image);
  else if (!g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
    td_image_pane_set_message (pane, error->message);
}

static void
on_projection (TdImage *image, const GError *error, gpointer user)
{
  TdScanView *self = user;

  show_frame (self->projection, image, error);
  td_scan_view_show_busy (self);
}

static void
on_sinogram (TdImage *image, const GError *error, gpointer user)
{
  TdScanView *self = user;

  if (!td_before_keep_sinogram (self, image, error))
    show_frame (self->sinogram, image, error);
  td_scan_view_show_busy (self);
}

/* The width of a 64-bit number differs between machines: it must not be in a translated format. */
static char *
count_text (guint64 count)
{
  return g_strdup_printf ("%" G_GUINT64_FORMAT, count);
}

static char *
slice_subtitle (const TdPreviewResult *result)
{
  if (result->coarse)
    return g_strdup (_ ("coarse; the full one follows"));
  g_autoptr (GString) text = g_string_new (NULL);
  g_string_append_printf (text, _ ("%u × %u on %s, %.0f ms"), result->image->width,
                          result->image->height, result->device, result->seconds * 1e3);
  g_autofree char *clamped = count_text (result->counts.clamped_transmissions);
  g_autofree char *bad = count_text (result->counts.bad_values);
  if (result->counts.clamped_transmissions)
    g_string_append_printf (text, _ (", %s opaque samples raised"), clamped);
  if (result->counts.bad_values)
    g_string_append_printf (text, _ (", %s bad samples replaced"), bad);
  return g_string_free (g_steal_pointer (&text), FALSE);
}

static void
scan_view_show_slice (TdScanView *self, const TdPreviewResult *result)
{
  g_autofree char *subtitle = slice_subtitle (result);

  self->slice_readout.pixel_mm = result->pixel_mm;
  g_strlcpy (self->slice_readout.units, result->units, sizeof self->slice_readout.units);
  td_image_pane_set_units (self->slice, result->units);
  self->slice_readout.width = result->image->extent_width;
  self->slice_readout.height = result->image->extent_height;
  if (td_before_keep_slice (self, result->image, subtitle, NULL))
    return;
  td_slice_view_set_pixel_mm (td_image_pane_view (self->slice), result->pixel_mm, result->pixel_mm);
  td_image_pane_set_image (self->slice, result->image);
  td_image_pane_set_subtitle (self->slice, subtitle);
  g_signal_emit (self, td_scan_view_signals[TD_SCAN_VIEW_SLICE_SHOWN], 0, result->coarse);
}

static void
on_slice_sinogram (TdImage *image, gpointer user)
{
  TdScanView *self = user;

  if (!sinogram_follows_slice (self))
    return; /* asked for otherwise in the meantime */
  self->sinogram_due = FALSE;
  on_sinogram (image, NULL, self);
}

static void
on_slice (const TdPreviewResult *result, const GError *error, gboolean last, gpointer user)
{
  TdScanView *self = user;

  if (result)
    scan_view_show_slice (self, result);
  else if (!g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED)
           && !td_before_keep_slice (self, NULL, NULL, error)) {
    td_image_pane_set_message (self->slice, error->message);
    td_image_pane_set_subtitle (self->slice, NULL);
  }
  /* What keeps the slice from being made need not keep the row from being shown. */
  if (last && !td_preview_busy (self->preview) && sinogram_follows_slice (self)
      && (self->sinogram_due || error))
    scan_view_load_sinogram (self);
  td_scan_view_show_busy (self);
}

/* ── Lines ── */

static double
centre_at_row (TdScanView *self)
{
  const TdScanFacts *facts = td_scan_facts (self->scan);
  double centre = self->recipe.centre_px;

  if (!isfinite (centre))
    centre = isfinite (facts->centre_px) ? facts->centre_px : (facts->n_columns - 1) / 2.0;
  return centre
         + tan (self->recipe.tilt_deg * G_PI / 180) * (self->row - (facts->n_rows - 1) / 2.0);
}

static void
show_lines (TdScanView *self)
{
  gboolean matrices = td_scan_facts (self->scan)->geometry.view_matrices != NULL;
  double centre = self->has_recipe && !matrices ? centre_at_row (self) : NAN;
  const gint *r = self->recipe.region;
  const guint *c = self->recipe.crop;

  td_slice_view_set_row_line (td_image_pane_view (self->projection), self->row, TRUE);
  td_slice_view_set_column_line (td_image_pane_view (self->projection), centre);
  td_slice_view_set_row_line (td_image_pane_view (self->sinogram), self->view, TRUE);
  td_slice_view_set_column_line (td_image_pane_view (self->sinogram), centre);
  td_slice_view_set_region (td_image_pane_view (self->slice), r[0], r[1], r[2], r[3]);
  td_slice_view_set_region (td_image_pane_view (self->projection), c[0], c[1], c[2], c[3]);
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

/* ── Row and view ── */

void
td_scan_view_set_row (TdScanView *self, guint row)
{
  if (!self->scan)
    return;
  row = MIN (row, td_scan_facts (self->scan)->n_rows - 1);
  if (row == self->row)
    return;
  self->row = row;
  gtk_adjustment_set_value (self->row_adjustment, row);
  show_lines (self);
  show_titles (self);
  request_sinogram (self);
  scan_view_request_slice (self);
  g_signal_emit (self, td_scan_view_signals[TD_SCAN_VIEW_ROW_CHANGED], 0, row);
}

guint
td_scan_view_get_row (TdScanView *self)
{
  return self->row;
}

void
td_scan_view_set_view (TdScanView *self, guint view)
{
  if (!self->scan)
    return;
  view = MIN (view, td_scan_facts (self->scan)->n_views - 1);
  if (view == self->view)
    return;
  self->view = view;
  gtk_adjustment_set_value (self->view_adjustment, view);
  show_lines (self);
  show_titles (self);
  request_projection (self);
}

static void
on_row_slider (GtkAdjustment *adjustment, TdScanView *self)
{
  td_scan_view_set_row (self, (guint) round (gtk_adjustment_get_value (adjustment)));
}

static void
on_view_slider (GtkAdjustment *adjustment, TdScanView *self)
{
  td_scan_view_set_view (self, (guint) round (gtk_adjustment_get_value (adjustment)));
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
  td_before_sinogram_stale (self);
}

/* ── Layout ── */

/* @alone: (nullable): the pane that takes all the room. A projection of one row is nothing to see.
 */
static void
scan_view_arrange (TdScanView *self, TdImagePane *alone)
{
  TdImagePane *panes[] = { self->projection, self->sinogram, self->slice };
  const gboolean flat = self->scan && td_scan_facts (self->scan)->n_rows == 1;

  for (guint i = 0; i < G_N_ELEMENTS (panes); i++)
    gtk_widget_set_visible (GTK_WIDGET (panes[i]),
                            alone ? panes[i] == alone : panes[i] != self->projection || !flat);
  gtk_widget_set_visible (self->down, alone != self->slice);
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
    td_image_pane_set_image (panes[i], NULL);
    td_image_pane_set_subtitle (panes[i], NULL);
    td_image_pane_set_updating (panes[i], FALSE);
    td_image_pane_set_enlarged (panes[i], FALSE);
  }
}

void
td_scan_view_set_engine (TdScanView *self, TdEngine *engine)
{
  g_return_if_fail (self->preview == NULL);
  self->preview = td_preview_new (engine, on_slice, on_slice_sinogram, self);
  self->projections = td_frame_loader_new (engine, on_projection, self);
  self->sinograms = td_frame_loader_new (engine, on_sinogram, self);
  td_before_init (self, engine);
}

void
td_scan_view_set_scan (TdScanView *self, TdScan *scan)
{
  td_preview_cancel (self->preview);
  td_frame_loader_cancel (self->projections);
  td_frame_loader_cancel (self->sinograms);
  td_before_reset (self);
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
  request_projection (self);
}

void
td_scan_view_set_recipe (TdScanView *self, const TdRecipe *recipe)
{
  if (!self->scan)
    return;
  gboolean steps_changed
      = !self->has_recipe || recipe->n_steps != self->recipe.n_steps
        || memcmp (recipe->steps, self->recipe.steps, recipe->n_steps * sizeof *recipe->steps) != 0
        || strcmp (recipe->mask, self->recipe.mask) != 0;
  gboolean follows = sinogram_follows_slice (self);

  self->recipe = *recipe;
  self->has_recipe = TRUE;
  show_lines (self);
  if (steps_changed || follows != sinogram_follows_slice (self))
    request_sinogram (self);
  scan_view_request_slice (self);
}

void
td_scan_view_set_colour_map (TdScanView *self, TdColourMap map)
{
  td_image_pane_set_colour_map (self->projection, map);
  td_image_pane_set_colour_map (self->sinogram, map);
  td_image_pane_set_colour_map (self->slice, map);
}

gboolean
td_scan_view_settled (TdScanView *self)
{
  return !td_image_pane_get_updating (self->slice) && !td_image_pane_get_updating (self->sinogram)
         && !td_image_pane_get_updating (self->projection);
}

TdImagePane *
td_scan_view_slice_pane (TdScanView *self)
{
  return self->slice;
}

TdImagePane *
td_scan_view_projection_pane (TdScanView *self)
{
  return self->projection;
}

TdImagePane *
td_scan_view_sinogram_pane (TdScanView *self)
{
  return self->sinogram;
}

/* ── Widget ── */

static void
td_scan_view_dispose (GObject *object)
{
  TdScanView *self = TD_SCAN_VIEW (object);

  td_before_clear (self);
  g_clear_pointer (&self->preview, td_preview_free);
  g_clear_pointer (&self->projections, td_frame_loader_free);
  g_clear_pointer (&self->sinograms, td_frame_loader_free);
  g_clear_pointer (&self->across, gtk_widget_unparent);
  g_clear_pointer (&self->scan, td_scan_unref);
  G_OBJECT_CLASS (td_scan_view_parent_class)->dispose (object);
}

static void
scan_view_bind_children (GtkWidgetClass *widget)
{
  gtk_widget_class_bind_template_child (widget, TdScanView, across);
  gtk_widget_class_bind_template_child (widget, TdScanView, down);
  gtk_widget_class_bind_template_child (widget, TdScanView, projection);
  gtk_widget_class_bind_template_child (widget, TdScanView, sinogram);
  gtk_widget_class_bind_template_child (widget, TdScanView, slice);
  gtk_widget_class_bind_template_child (widget, TdScanView, view_footer);
  gtk_widget_class_bind_template_child (widget, TdScanView, row_footer);
  gtk_widget_class_bind_template_child (widget, TdScanView, view_adjustment);
  gtk_widget_class_bind_template_child (widget, TdScanView, row_adjustment);
  gtk_widget_class_bind_template_callback (widget, on_enlarge);
  gtk_widget_class_bind_template_callback (widget, on_view_slider);
  gtk_widget_class_bind_template_callback (widget, on_row_slider);
  gtk_widget_class_bind_template_callback (widget, on_corrected_toggled);
  gtk_widget_class_bind_template_callback (widget, on_prepared_toggled);
}

static void
td_scan_view_class_init (TdScanViewClass *class)
{
  GtkWidgetClass *widget = GTK_WIDGET_CLASS (class);

  g_type_ensure (TD_TYPE_IMAGE_PANE);
  G_OBJECT_CLASS (class)->dispose = td_scan_view_dispose;
  gtk_widget_class_set_template_from_resource (widget, "/org/tomodesk/ui/scan-view.ui");
  scan_view_bind_children (widget);
  td_scan_view_signals[TD_SCAN_VIEW_NUDGE_CENTRE]
      = g_signal_new ("nudge-centre", TD_TYPE_SCAN_VIEW, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
                      G_TYPE_NONE, 1, G_TYPE_DOUBLE);
  td_scan_view_signals[TD_SCAN_VIEW_REGION_DRAWN]
      = g_signal_new ("region-drawn", TD_TYPE_SCAN_VIEW, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
                      G_TYPE_NONE, 4, G_TYPE_INT, G_TYPE_INT, G_TYPE_INT, G_TYPE_INT);
  td_scan_view_signals[TD_SCAN_VIEW_CROP_DRAWN]
      = g_signal_new ("crop-drawn", TD_TYPE_SCAN_VIEW, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
                      G_TYPE_NONE, 4, G_TYPE_INT, G_TYPE_INT, G_TYPE_INT, G_TYPE_INT);
  td_scan_view_signals[TD_SCAN_VIEW_ROW_CHANGED]
      = g_signal_new ("row-changed", TD_TYPE_SCAN_VIEW, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
                      G_TYPE_NONE, 1, G_TYPE_UINT);
  td_scan_view_signals[TD_SCAN_VIEW_SLICE_SHOWN]
      = g_signal_new ("slice-shown", TD_TYPE_SCAN_VIEW, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
                      G_TYPE_NONE, 1, G_TYPE_BOOLEAN);
  td_scan_view_signals[TD_SCAN_VIEW_NO_GL]
      = g_signal_new ("no-gl", TD_TYPE_SCAN_VIEW, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
                      G_TYPE_NONE, 1, G_TYPE_STRING);
}

static void
td_scan_view_init (TdScanView *self)
{
  gtk_widget_init_template (GTK_WIDGET (self));
  td_image_pane_set_title (self->projection, _ ("Projection"));
  td_image_pane_set_title (self->sinogram, _ ("Sinogram"));
  td_image_pane_set_title (self->slice, _ ("Slice"));
  td_image_pane_add_option (self->projection, _ ("Flat field and logarithm"));
  td_image_pane_add_option (self->sinogram, _ ("All preparation steps"));
  td_image_pane_set_footer (self->projection, self->view_footer);
  td_image_pane_set_footer (self->slice, self->row_footer);
  td_slice_view_set_filling (td_image_pane_view (self->sinogram), TRUE);
  td_image_pane_set_readout (self->slice, td_slice_readout, &self->slice_readout);
  td_scan_view_connect (self);
}
