/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slice-view-private.h"

#include <math.h>
#include <string.h>

#include "drawing.h"
#include "slice-view-overlay.h"

guint td_slice_view_signals[TD_SLICE_VIEW_N_SIGNALS];

G_DEFINE_FINAL_TYPE (TdSliceView, td_slice_view, GTK_TYPE_WIDGET)

/* ── State ── */

void
td_slice_view_redraw (TdSliceView *self)
{
  if (self->uses_gl && self->canvas)
    gtk_gl_area_queue_render (GTK_GL_AREA (self->canvas));
  else if (self->canvas)
    gtk_widget_queue_draw (self->canvas);
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

void
td_slice_view_moved (TdSliceView *self)
{
  td_slice_view_redraw (self);
  g_signal_emit (self, td_slice_view_signals[TD_SIGNAL_VIEW_CHANGED], 0);
}

static void
slice_view_refit (TdSliceView *self)
{
  const TdImage *image = self->scene.image;
  int w = gtk_widget_get_width (GTK_WIDGET (self)), h = gtk_widget_get_height (GTK_WIDGET (self));

  if (image && w > 0 && h > 0)
    (self->filling ? td_view_fill : td_view_fit) (&self->scene.view, w, h, image->extent_width,
                                                  image->extent_height);
}

void
td_slice_view_set_image (TdSliceView *self, TdImage *image)
{
  TdImage *old = self->scene.image;

  if (image == old)
    return;
  gboolean resized = !old || !image || old->extent_width != image->extent_width
                     || old->extent_height != image->extent_height;
  self->scene.image = image ? td_image_ref (image) : NULL;
  if (!old)
    self->fitted = TRUE;
  g_clear_pointer (&old, td_image_unref);
  if (resized && self->fitted) {
    slice_view_refit (self);
    td_slice_view_moved (self);
  }
  td_slice_view_redraw (self);
}

TdImage *
td_slice_view_get_image (TdSliceView *self)
{
  return self->scene.image;
}

void
td_slice_view_set_second (TdSliceView *self, TdImage *image)
{
  if (image == self->scene.second)
    return;
  g_clear_pointer (&self->scene.second, td_image_unref);
  self->scene.second = image ? td_image_ref (image) : NULL;
  td_slice_view_redraw (self);
}

void
td_slice_view_set_window (TdSliceView *self, double low, double high)
{
  if (low == self->scene.style.low && high == self->scene.style.high)
    return;
  self->scene.style.low = low;
  self->scene.style.high = high;
  td_slice_view_redraw (self);
}

void
td_slice_view_set_colour_map (TdSliceView *self, TdColourMap map)
{
  self->scene.style.map = map;
  td_slice_view_redraw (self);
}

TdColourMap
td_slice_view_get_colour_map (TdSliceView *self)
{
  return self->scene.style.map;
}

const TdStyle *
td_slice_view_get_style (TdSliceView *self)
{
  return &self->scene.style;
}

void
td_slice_view_set_smooth (TdSliceView *self, gboolean smooth)
{
  self->scene.style.smooth = smooth;
  td_slice_view_redraw (self);
}

void
td_slice_view_fit (TdSliceView *self)
{
  self->fitted = TRUE;
  slice_view_refit (self);
  td_slice_view_moved (self);
}

void
td_slice_view_set_filling (TdSliceView *self, gboolean filling)
{
  self->filling = filling;
  if (self->fitted)
    td_slice_view_fit (self);
}

void
td_slice_view_one_to_one (TdSliceView *self)
{
  double factor = 1.0 / gtk_widget_get_scale_factor (GTK_WIDGET (self)) / self->scene.view.zoom;

  self->scene.view.stretch = 1;
  td_slice_view_zoom_by (self, factor);
}

void
td_slice_view_zoom_by (TdSliceView *self, double factor)
{
  double w = gtk_widget_get_width (GTK_WIDGET (self));
  double h = gtk_widget_get_height (GTK_WIDGET (self));

  self->fitted = FALSE;
  td_view_zoom_about (&self->scene.view, w, h, w / 2, h / 2, factor);
  td_slice_view_moved (self);
}

const TdView *
td_slice_view_get_view (TdSliceView *self, gboolean *fitted)
{
  if (fitted)
    *fitted = self->fitted;
  return &self->scene.view;
}

void
td_slice_view_set_view (TdSliceView *self, const TdView *view, gboolean fitted)
{
  self->scene.view = *view;
  self->fitted = fitted;
  if (fitted)
    slice_view_refit (self);
  td_slice_view_redraw (self);
}

/* Of a line: NAN is none. What stays where it is need not be drawn again. */
static gboolean
same_place (double a, double b)
{
  return a == b || (isnan (a) && isnan (b));
}

void
td_slice_view_set_row_line (TdSliceView *self, double row, gboolean draggable)
{
  const gboolean same = same_place (row, self->row_line);

  self->row_line = row;
  self->row_draggable = draggable;
  if (!same)
    gtk_widget_queue_draw (GTK_WIDGET (self));
}

void
td_slice_view_set_column_line (TdSliceView *self, double column)
{
  if (same_place (column, self->column_line))
    return;
  self->column_line = column;
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

void
td_slice_view_set_measured (TdSliceView *self, double x, double y, double width, double height)
{
  const double box[4] = { x, y, width, height };

  memcpy (self->measured, box, sizeof box);
  td_slice_view_redraw (self);
}

void
td_slice_view_set_region (TdSliceView *self, double x, double y, double width, double height)
{
  if (x == self->region[0] && y == self->region[1] && width == self->region[2]
      && height == self->region[3])
    return;
  self->region[0] = x;
  self->region[1] = y;
  self->region[2] = width;
  self->region[3] = height;
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

void
td_slice_view_set_pixel_mm (TdSliceView *self, double width_mm, double height_mm)
{
  if (width_mm == self->pixel_mm[0] && height_mm == self->pixel_mm[1])
    return;
  self->pixel_mm[0] = width_mm;
  self->pixel_mm[1] = height_mm;
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

void
td_slice_view_set_label (TdSliceView *self, const char *label)
{
  gtk_accessible_update_property (GTK_ACCESSIBLE (self), GTK_ACCESSIBLE_PROPERTY_LABEL, label, -1);
}

gboolean
td_slice_view_uses_gl (TdSliceView *self)
{
  return self->uses_gl;
}

gboolean
td_slice_view_locate (TdSliceView *self, double wx, double wy, double *column, double *row)
{
  const TdImage *image = self->scene.image;
  double px, py;

  if (!image)
    return FALSE;
  td_view_to_picture (&self->scene.view, gtk_widget_get_width (GTK_WIDGET (self)),
                      gtk_widget_get_height (GTK_WIDGET (self)), wx, wy, &px, &py);
  *column = px + (image->extent_width - 1) / 2;
  *row = py + (image->extent_height - 1) / 2;
  return TRUE;
}

void
td_slice_view_place (TdSliceView *self, double column, double row, double *wx, double *wy)
{
  const TdImage *image = self->scene.image;
  double width = image ? image->extent_width : 1, height = image ? image->extent_height : 1;

  td_view_from_picture (&self->scene.view, gtk_widget_get_width (GTK_WIDGET (self)),
                        gtk_widget_get_height (GTK_WIDGET (self)), column - (width - 1) / 2,
                        row - (height - 1) / 2, wx, wy);
}

/* ── Widget ── */

static void
set_canvas (TdSliceView *self, GtkWidget *canvas, gboolean uses_gl)
{
  g_clear_pointer (&self->canvas, gtk_widget_unparent);
  self->canvas = canvas;
  self->uses_gl = uses_gl;
  gtk_widget_set_can_target (canvas, FALSE);
  gtk_widget_set_parent (canvas, GTK_WIDGET (self));
}

static gboolean
slice_view_go_without_gl (gpointer user)
{
  TdSliceView *self = user;

  if (self->canvas && self->uses_gl)
    set_canvas (self, td_soft_canvas_new (&self->scene), FALSE);
  return G_SOURCE_REMOVE;
}

/* Called while the canvas is being realised: it cannot be replaced before that is over. */
static void
slice_view_gl_failed (const char *reason, gpointer user)
{
  g_signal_emit (user, td_slice_view_signals[TD_SIGNAL_FAILED], 0, reason);
  g_idle_add_full (G_PRIORITY_HIGH, slice_view_go_without_gl, g_object_ref (user), g_object_unref);
}

static void
td_slice_view_size_allocate (GtkWidget *widget, int width, int height, int baseline)
{
  TdSliceView *self = TD_SLICE_VIEW (widget);

  gtk_widget_size_allocate (self->canvas, &(GtkAllocation) { 0, 0, width, height }, -1);
  if (self->fitted)
    slice_view_refit (self);
}

static void
td_slice_view_measure (GtkWidget *widget, GtkOrientation orientation, int for_size, int *minimum,
                       int *natural, int *minimum_baseline, int *natural_baseline)
{
  *minimum = 80;
  *natural = 320;
  *minimum_baseline = *natural_baseline = -1;
}

static void
td_slice_view_snapshot (GtkWidget *widget, GtkSnapshot *snapshot)
{
  TdSliceView *self = TD_SLICE_VIEW (widget);

  gtk_widget_snapshot_child (widget, self->canvas, snapshot);
  if (self->scene.image)
    td_slice_view_draw_overlay (self, snapshot);
}

static void
td_slice_view_dispose (GObject *object)
{
  TdSliceView *self = TD_SLICE_VIEW (object);

  g_clear_pointer (&self->canvas, gtk_widget_unparent);
  g_clear_pointer (&self->scene.image, td_image_unref);
  g_clear_pointer (&self->scene.second, td_image_unref);
  G_OBJECT_CLASS (td_slice_view_parent_class)->dispose (object);
}

static guint
add_signal (const char *name, guint n, GType a, GType b, GType c, GType d)
{
  return g_signal_new (name, TD_TYPE_SLICE_VIEW, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
                       G_TYPE_NONE, n, a, b, c, d);
}

static void
td_slice_view_class_init (TdSliceViewClass *class)
{
  GtkWidgetClass *widget = GTK_WIDGET_CLASS (class);
  guint *signals = td_slice_view_signals;
  GType number = G_TYPE_DOUBLE, flag = G_TYPE_BOOLEAN, none = G_TYPE_NONE;

  G_OBJECT_CLASS (class)->dispose = td_slice_view_dispose;
  widget->size_allocate = td_slice_view_size_allocate;
  widget->measure = td_slice_view_measure;
  widget->snapshot = td_slice_view_snapshot;
  gtk_widget_class_set_accessible_role (widget, GTK_ACCESSIBLE_ROLE_IMG);
  gtk_widget_class_set_css_name (widget, "sliceview");

  signals[TD_SIGNAL_POINTED] = add_signal ("pointed", 3, number, number, flag, none);
  signals[TD_SIGNAL_PICKED] = add_signal ("picked", 2, number, number, none, none);
  signals[TD_SIGNAL_LINE_MOVED] = add_signal ("line-moved", 1, number, none, none, none);
  signals[TD_SIGNAL_NUDGED] = add_signal ("nudged", 3, G_TYPE_INT, G_TYPE_INT, flag, none);
  signals[TD_SIGNAL_VIEW_CHANGED] = add_signal ("view-changed", 0, none, none, none, none);
  signals[TD_SIGNAL_WINDOW_CHANGED] = add_signal ("window-changed", 2, number, number, none, none);
  signals[TD_SIGNAL_REGION_DRAWN] = add_signal ("region-drawn", 4, number, number, number, number);
  td_slice_view_signals[TD_SIGNAL_MEASURED]
      = add_signal ("measured", 4, number, number, number, number);
  signals[TD_SIGNAL_FAILED] = add_signal ("failed", 1, G_TYPE_STRING, none, none, none);
}

static void
td_slice_view_init (TdSliceView *self)
{
  self->scene.view = (TdView) { .zoom = 1 };
  self->scene.wipe = 0.5;
  self->scene.style = (TdStyle) {
    .low = 0, .high = 1, .bad_rgb = { 0.90f, 0.20f, 0.75f }, .background = { 0.11f, 0.11f, 0.12f }
  };
  self->fitted = TRUE;
  self->row_line = self->column_line = NAN;
  gtk_widget_set_focusable (GTK_WIDGET (self), TRUE);
  gtk_widget_set_hexpand (GTK_WIDGET (self), TRUE);
  gtk_widget_set_vexpand (GTK_WIDGET (self), TRUE);
  gtk_widget_set_overflow (GTK_WIDGET (self), GTK_OVERFLOW_HIDDEN);
  gtk_widget_set_cursor_from_name (GTK_WIDGET (self), "crosshair");
  if (td_drawing_by_processor ())
    set_canvas (self, td_soft_canvas_new (&self->scene), FALSE);
  else
    set_canvas (self, td_gl_canvas_new (&self->scene, slice_view_gl_failed, self), TRUE);
  td_slice_view_add_input (self);
}
