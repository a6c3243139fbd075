/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "space-view-private.h"

#include <math.h>

#include "keys.h"

#define TURN_RAD_A_PX 0.008
#define STEP_DEG 5.0
#define STEP_FINE_DEG 1.0
#define PAN_STEP 0.05
#define ZOOM_STEP 1.25
#define MOST_ZOOM 50.0

static void
space_view_input_turn (TdSpaceView *self, double yaw_rad, double pitch_rad)
{
  TdCamera *camera = &self->scene.camera;

  camera->yaw_rad = remainder (yaw_rad, 2 * G_PI);
  camera->pitch_rad = CLAMP (pitch_rad, -G_PI / 2, G_PI / 2);
  td_space_view_redraw (self);
}

static void
zoom_to (TdSpaceView *self, double zoom)
{
  self->scene.camera.zoom = CLAMP (zoom, 0.2, MOST_ZOOM);
  td_space_view_redraw (self);
}

/* ── Pointer ── */

static void
space_view_input_on_drag_begin (GtkGestureDrag *gesture, double x, double y, TdSpaceView *self)
{
  guint button = gtk_gesture_single_get_current_button (GTK_GESTURE_SINGLE (gesture));
  GdkModifierType state
      = gtk_event_controller_get_current_event_state (GTK_EVENT_CONTROLLER (gesture));

  gtk_widget_grab_focus (GTK_WIDGET (self));
  self->drag_camera = self->scene.camera;
  self->drag_moves = button != GDK_BUTTON_PRIMARY || (state & GDK_SHIFT_MASK);
}

static void
space_view_input_on_drag_update (GtkGestureDrag *gesture, double dx, double dy, TdSpaceView *self)
{
  TdCamera *camera = &self->scene.camera;
  const TdCamera *from = &self->drag_camera;
  double side
      = MIN (gtk_widget_get_width (GTK_WIDGET (self)), gtk_widget_get_height (GTK_WIDGET (self)));

  if (!self->drag_moves) {
    /* The near side follows the pointer. */
    space_view_input_turn (self, from->yaw_rad - dx * TURN_RAD_A_PX,
                           from->pitch_rad + dy * TURN_RAD_A_PX);
    return;
  }
  camera->pan_x = from->pan_x + dx / side / camera->zoom;
  camera->pan_y = from->pan_y + dy / side / camera->zoom;
  td_space_view_redraw (self);
}

static gboolean
space_view_input_on_scroll (GtkEventControllerScroll *scroll, double dx, double dy,
                            TdSpaceView *self)
{
  zoom_to (self, self->scene.camera.zoom * pow (ZOOM_STEP, -dy));
  return TRUE;
}

static void
space_view_input_on_pinch_begin (GtkGesture *gesture, GdkEventSequence *sequence, TdSpaceView *self)
{
  self->pinch_zoom = self->scene.camera.zoom;
}

static void
space_view_input_on_pinch (GtkGestureZoom *gesture, double scale, TdSpaceView *self)
{
  zoom_to (self, self->pinch_zoom * scale);
}

/* ── Keys ── */

static void
space_view_input_on_arrow (TdSpaceView *self, int dx, int dy, GdkModifierType state)
{
  TdCamera *camera = &self->scene.camera;
  double step = (state & GDK_SHIFT_MASK ? STEP_FINE_DEG : STEP_DEG) * G_PI / 180;

  if (!(state & GDK_CONTROL_MASK)) {
    space_view_input_turn (self, camera->yaw_rad - dx * step, camera->pitch_rad + dy * step);
    return;
  }
  camera->pan_x += dx * PAN_STEP / camera->zoom;
  camera->pan_y += dy * PAN_STEP / camera->zoom;
  td_space_view_redraw (self);
}

static gboolean
space_view_input_on_key (GtkEventControllerKey *keys, guint key, guint code, GdkModifierType state,
                         TdSpaceView *self)
{
  int dx, dy;

  if (td_key_arrow (key, &dx, &dy))
    space_view_input_on_arrow (self, dx, dy, state);
  else if (td_key_zoom (key))
    zoom_to (self, self->scene.camera.zoom * pow (ZOOM_STEP, td_key_zoom (key)));
  else if (td_key_is_digit (key, 0))
    td_space_view_reset (self);
  else
    return FALSE;
  return TRUE;
}

void
td_space_view_add_input (TdSpaceView *self)
{
  GtkWidget *widget = GTK_WIDGET (self);
  GtkEventController *scroll
      = gtk_event_controller_scroll_new (GTK_EVENT_CONTROLLER_SCROLL_VERTICAL);
  GtkEventController *keys = gtk_event_controller_key_new ();
  GtkGesture *pinch = gtk_gesture_zoom_new (), *drag = gtk_gesture_drag_new ();

  g_signal_connect (scroll, "scroll", G_CALLBACK (space_view_input_on_scroll), self);
  g_signal_connect (keys, "key-pressed", G_CALLBACK (space_view_input_on_key), self);
  g_signal_connect (pinch, "begin", G_CALLBACK (space_view_input_on_pinch_begin), self);
  g_signal_connect (pinch, "scale-changed", G_CALLBACK (space_view_input_on_pinch), self);
  gtk_gesture_single_set_button (GTK_GESTURE_SINGLE (drag), 0);
  g_signal_connect (drag, "drag-begin", G_CALLBACK (space_view_input_on_drag_begin), self);
  g_signal_connect (drag, "drag-update", G_CALLBACK (space_view_input_on_drag_update), self);
  gtk_widget_add_controller (widget, scroll);
  gtk_widget_add_controller (widget, keys);
  gtk_widget_add_controller (widget, GTK_EVENT_CONTROLLER (pinch));
  gtk_widget_add_controller (widget, GTK_EVENT_CONTROLLER (drag));
}
