/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slice-view-private.h"

#include <math.h>
#include <string.h>

#include "keys.h"

#define GRAB_PX 7.0  /* how near a line the pointer must be to take it */
#define CLICK_PX 4.0 /* a drag shorter than this is a click */
#define WHEEL_FACTOR 1.18
#define PAN_STEP_PX 40.0

static void
emit_pointed (TdSliceView *self, double wx, double wy)
{
  double column = 0, row = 0;
  gboolean inside = td_slice_view_locate (self, wx, wy, &column, &row);
  const TdImage *image = self->scene.image;

  inside = inside && column >= -0.5 && row >= -0.5 && column < image->extent_width - 0.5
           && row < image->extent_height - 0.5;
  g_signal_emit (self, td_slice_view_signals[TD_SIGNAL_POINTED], 0, column, row, inside);
}

static gboolean
near_row_line (TdSliceView *self, double wy)
{
  double x, y;

  if (!self->row_draggable || !isfinite (self->row_line))
    return FALSE;
  td_slice_view_place (self, 0, self->row_line, &x, &y);
  return fabs (wy - y) <= GRAB_PX;
}

static gboolean
near_wipe (TdSliceView *self, double wx)
{
  double width = gtk_widget_get_width (GTK_WIDGET (self));
  return self->scene.second && fabs (wx - self->scene.wipe * width) <= GRAB_PX;
}

static void
on_motion (GtkEventControllerMotion *motion, double x, double y, TdSliceView *self)
{
  const char *cursor = near_wipe (self, x)       ? "col-resize"
                       : near_row_line (self, y) ? "row-resize"
                                                 : "crosshair";

  self->pointer_x = x;
  self->pointer_y = y;
  gtk_widget_set_cursor_from_name (GTK_WIDGET (self), cursor);
  emit_pointed (self, x, y);
}

static void
on_leave (GtkEventControllerMotion *motion, TdSliceView *self)
{
  g_signal_emit (self, td_slice_view_signals[TD_SIGNAL_POINTED], 0, 0.0, 0.0, FALSE);
}

static void
zoom_about (TdSliceView *self, double wx, double wy, double factor)
{
  self->fitted = FALSE;
  td_view_zoom_about (&self->scene.view, gtk_widget_get_width (GTK_WIDGET (self)),
                      gtk_widget_get_height (GTK_WIDGET (self)), wx, wy, factor);
  td_slice_view_moved (self);
}

static gboolean
slice_view_input_on_scroll (GtkEventControllerScroll *scroll, double dx, double dy,
                            TdSliceView *self)
{
  if (!self->scene.image)
    return FALSE;
  zoom_about (self, self->pointer_x, self->pointer_y, pow (WHEEL_FACTOR, -dy));
  emit_pointed (self, self->pointer_x, self->pointer_y);
  return TRUE;
}

static void
slice_view_input_on_pinch_begin (GtkGesture *gesture, GdkEventSequence *sequence, TdSliceView *self)
{
  self->pinch_zoom = self->scene.view.zoom;
}

static void
slice_view_input_on_pinch (GtkGestureZoom *gesture, double scale, TdSliceView *self)
{
  double x, y;

  if (gtk_gesture_get_bounding_box_center (GTK_GESTURE (gesture), &x, &y))
    zoom_about (self, x, y, self->pinch_zoom * scale / self->scene.view.zoom);
}

/* ── Dragging ── */

static void
slice_view_input_on_drag_begin (GtkGestureDrag *gesture, double x, double y, TdSliceView *self)
{
  guint button = gtk_gesture_single_get_current_button (GTK_GESTURE_SINGLE (gesture));
  GdkModifierType state
      = gtk_event_controller_get_current_event_state (GTK_EVENT_CONTROLLER (gesture));

  gtk_widget_grab_focus (GTK_WIDGET (self));
  self->drag_view = self->scene.view;
  self->drag_window[0] = self->scene.style.low;
  self->drag_window[1] = self->scene.style.high;
  self->drag_x = x;
  self->drag_y = y;
  self->drag_moved = FALSE;
  if (button == GDK_BUTTON_SECONDARY)
    self->drag = TD_DRAG_WINDOW;
  else if (button == GDK_BUTTON_MIDDLE)
    self->drag = TD_DRAG_PAN;
  else if (near_wipe (self, x))
    self->drag = TD_DRAG_WIPE;
  else if (near_row_line (self, y))
    self->drag = TD_DRAG_LINE;
  else
    self->drag = state & GDK_SHIFT_MASK     ? TD_DRAG_REGION
                 : state & GDK_CONTROL_MASK ? TD_DRAG_MEASURE
                                            : TD_DRAG_PAN;
}

static void
drag_window (TdSliceView *self, double dx, double dy)
{
  double low = self->drag_window[0], high = self->drag_window[1];
  double level = (low + high) / 2, width = high - low;

  level += dy / 300 * width;
  width *= exp (dx / 200);
  td_slice_view_set_window (self, level - width / 2, level + width / 2);
  g_signal_emit (self, td_slice_view_signals[TD_SIGNAL_WINDOW_CHANGED], 0, self->scene.style.low,
                 self->scene.style.high);
}

static void
drag_line (TdSliceView *self, double wx, double wy)
{
  double column, row;

  if (!td_slice_view_locate (self, wx, wy, &column, &row))
    return;
  row = CLAMP (round (row), 0, self->scene.image->extent_height - 1);
  td_slice_view_set_row_line (self, row, TRUE);
  g_signal_emit (self, td_slice_view_signals[TD_SIGNAL_LINE_MOVED], 0, row);
}

/* The pixels from where the drag began to the pointer: x, y, width, height. */
static gboolean
drag_box (TdSliceView *self, double dx, double dy, double box[4])
{
  double c0, r0, c1, r1;

  if (!td_slice_view_locate (self, self->drag_x, self->drag_y, &c0, &r0))
    return FALSE;
  td_slice_view_locate (self, self->drag_x + dx, self->drag_y + dy, &c1, &r1);
  double x = MAX (round (MIN (c0, c1)), 0), y = MAX (round (MIN (r0, r1)), 0);
  double right = MIN (round (MAX (c0, c1)), self->scene.image->extent_width - 1);
  double bottom = MIN (round (MAX (r0, r1)), self->scene.image->extent_height - 1);
  memcpy (box, (double[]) { x, y, MAX (right - x + 1, 1), MAX (bottom - y + 1, 1) },
          4 * sizeof *box);
  return TRUE;
}

static void
slice_view_input_measure (TdSliceView *self, const double box[4])
{
  td_slice_view_set_measured (self, box[0], box[1], box[2], box[3]);
  g_signal_emit (self, td_slice_view_signals[TD_SIGNAL_MEASURED], 0, box[0], box[1], box[2],
                 box[3]);
}

static void
slice_view_input_on_drag_update (GtkGestureDrag *gesture, double dx, double dy, TdSliceView *self)
{
  double box[4];

  if (!self->drag_moved && hypot (dx, dy) < CLICK_PX)
    return;
  self->drag_moved = TRUE;
  switch (self->drag) {
  case TD_DRAG_PAN:
    self->fitted = FALSE;
    self->scene.view.x = self->drag_view.x - dx / self->scene.view.zoom;
    self->scene.view.y = self->drag_view.y - dy / td_view_zoom_down (&self->scene.view);
    td_slice_view_moved (self);
    break;
  case TD_DRAG_WINDOW: drag_window (self, dx, dy); break;
  case TD_DRAG_LINE: drag_line (self, self->drag_x + dx, self->drag_y + dy); break;
  case TD_DRAG_WIPE:
    self->scene.wipe
        = CLAMP ((self->drag_x + dx) / gtk_widget_get_width (GTK_WIDGET (self)), 0.02, 0.98);
    td_slice_view_redraw (self);
    break;
  case TD_DRAG_REGION:
    if (drag_box (self, dx, dy, box))
      td_slice_view_set_region (self, box[0], box[1], box[2], box[3]);
    break;
  case TD_DRAG_MEASURE:
    if (drag_box (self, dx, dy, box))
      slice_view_input_measure (self, box);
    break;
  case TD_DRAG_NONE: break;
  }
}

static void
slice_view_input_on_drag_end (GtkGestureDrag *gesture, double dx, double dy, TdSliceView *self)
{
  guint button = gtk_gesture_single_get_current_button (GTK_GESTURE_SINGLE (gesture));
  double column, row;

  if (self->drag == TD_DRAG_REGION && self->drag_moved)
    g_signal_emit (self, td_slice_view_signals[TD_SIGNAL_REGION_DRAWN], 0, self->region[0],
                   self->region[1], self->region[2], self->region[3]);
  else if (self->drag == TD_DRAG_MEASURE && !self->drag_moved)
    slice_view_input_measure (self, (double[4]) { 0 });
  else if (!self->drag_moved && button == GDK_BUTTON_PRIMARY
           && td_slice_view_locate (self, self->drag_x, self->drag_y, &column, &row))
    g_signal_emit (self, td_slice_view_signals[TD_SIGNAL_PICKED], 0, column, row);
  self->drag = TD_DRAG_NONE;
}

/* ── Keys ── */

static void
slice_view_input_on_arrow (TdSliceView *self, int dx, int dy, GdkModifierType state)
{
  if (state & GDK_CONTROL_MASK) {
    self->fitted = FALSE;
    self->scene.view.x += dx * PAN_STEP_PX / self->scene.view.zoom;
    self->scene.view.y += dy * PAN_STEP_PX / td_view_zoom_down (&self->scene.view);
    td_slice_view_moved (self);
  } else {
    g_signal_emit (self, td_slice_view_signals[TD_SIGNAL_NUDGED], 0, dx, dy,
                   (state & GDK_SHIFT_MASK) != 0);
  }
}

static gboolean
slice_view_input_on_key (GtkEventControllerKey *keys, guint key, guint code, GdkModifierType state,
                         TdSliceView *self)
{
  int dx, dy;

  if (td_key_arrow (key, &dx, &dy))
    slice_view_input_on_arrow (self, dx, dy, state);
  else if (td_key_zoom (key))
    td_slice_view_zoom_by (self, td_key_zoom (key) > 0 ? 1.25 : 0.8);
  else if (td_key_is_digit (key, 0))
    td_slice_view_fit (self);
  else if (td_key_is_digit (key, 1))
    td_slice_view_one_to_one (self);
  else
    return FALSE;
  return TRUE;
}

void
td_slice_view_add_input (TdSliceView *self)
{
  GtkWidget *widget = GTK_WIDGET (self);
  GtkEventController *motion = gtk_event_controller_motion_new ();
  GtkEventController *scroll
      = gtk_event_controller_scroll_new (GTK_EVENT_CONTROLLER_SCROLL_VERTICAL);
  GtkEventController *keys = gtk_event_controller_key_new ();
  GtkGesture *pinch = gtk_gesture_zoom_new (), *drag = gtk_gesture_drag_new ();

  g_signal_connect (motion, "enter", G_CALLBACK (on_motion), self);
  g_signal_connect (motion, "motion", G_CALLBACK (on_motion), self);
  g_signal_connect (motion, "leave", G_CALLBACK (on_leave), self);
  g_signal_connect (scroll, "scroll", G_CALLBACK (slice_view_input_on_scroll), self);
  g_signal_connect (keys, "key-pressed", G_CALLBACK (slice_view_input_on_key), self);
  g_signal_connect (pinch, "begin", G_CALLBACK (slice_view_input_on_pinch_begin), self);
  g_signal_connect (pinch, "scale-changed", G_CALLBACK (slice_view_input_on_pinch), self);
  gtk_gesture_single_set_button (GTK_GESTURE_SINGLE (drag), 0);
  g_signal_connect (drag, "drag-begin", G_CALLBACK (slice_view_input_on_drag_begin), self);
  g_signal_connect (drag, "drag-update", G_CALLBACK (slice_view_input_on_drag_update), self);
  g_signal_connect (drag, "drag-end", G_CALLBACK (slice_view_input_on_drag_end), self);
  gtk_widget_add_controller (widget, motion);
  gtk_widget_add_controller (widget, scroll);
  gtk_widget_add_controller (widget, keys);
  gtk_widget_add_controller (widget, GTK_EVENT_CONTROLLER (pinch));
  gtk_widget_add_controller (widget, GTK_EVENT_CONTROLLER (drag));
}
