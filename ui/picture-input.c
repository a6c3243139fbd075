/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "picture-input.h"

gboolean
td_key_arrow (guint key, int *dx, int *dy)
{
  *dx = key == GDK_KEY_Left || key == GDK_KEY_KP_Left     ? -1
        : key == GDK_KEY_Right || key == GDK_KEY_KP_Right ? 1
                                                          : 0;
  *dy = key == GDK_KEY_Up || key == GDK_KEY_KP_Up       ? -1
        : key == GDK_KEY_Down || key == GDK_KEY_KP_Down ? 1
                                                        : 0;
  return *dx != 0 || *dy != 0;
}

int
td_key_zoom (guint key)
{
  if (key == GDK_KEY_plus || key == GDK_KEY_equal || key == GDK_KEY_KP_Add)
    return 1;
  return key == GDK_KEY_minus || key == GDK_KEY_KP_Subtract ? -1 : 0;
}

gboolean
td_key_is_digit (guint key, guint digit)
{
  return key == GDK_KEY_0 + digit || key == GDK_KEY_KP_0 + digit;
}

static void
picture_input_connect (gpointer controller, const char *signal, GCallback handler,
                       GtkWidget *widget)
{
  if (handler)
    g_signal_connect (controller, signal, handler, widget);
}

void
td_picture_input_add (GtkWidget *widget, const TdPictureInput *input)
{
  GtkEventController *scroll
      = gtk_event_controller_scroll_new (GTK_EVENT_CONTROLLER_SCROLL_VERTICAL);
  GtkEventController *keys = gtk_event_controller_key_new ();
  GtkGesture *pinch = gtk_gesture_zoom_new (), *drag = gtk_gesture_drag_new ();

  gtk_gesture_single_set_button (GTK_GESTURE_SINGLE (drag), 0);
  picture_input_connect (scroll, "scroll", input->scroll, widget);
  picture_input_connect (keys, "key-pressed", input->key_pressed, widget);
  picture_input_connect (pinch, "begin", input->pinch_begin, widget);
  picture_input_connect (pinch, "scale-changed", input->pinch_changed, widget);
  picture_input_connect (drag, "drag-begin", input->drag_begin, widget);
  picture_input_connect (drag, "drag-update", input->drag_update, widget);
  picture_input_connect (drag, "drag-end", input->drag_end, widget);
  gtk_widget_add_controller (widget, scroll);
  gtk_widget_add_controller (widget, keys);
  gtk_widget_add_controller (widget, GTK_EVENT_CONTROLLER (pinch));
  gtk_widget_add_controller (widget, GTK_EVENT_CONTROLLER (drag));
}

void
td_draw_focus (GtkWidget *widget, GtkSnapshot *snapshot)
{
  GskRoundedRect outline = GSK_ROUNDED_RECT_INIT (0, 0, (float) gtk_widget_get_width (widget),
                                                  (float) gtk_widget_get_height (widget));
  float widths[4] = { 2, 2, 2, 2 };
  GdkRGBA blue = { 0.21f, 0.52f, 0.89f, 0.9f };
  GdkRGBA colours[4] = { blue, blue, blue, blue };

  if (gtk_widget_has_visible_focus (widget))
    gtk_snapshot_append_border (snapshot, &outline, widths, colours);
}
