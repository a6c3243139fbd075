/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gtk/gtk.h>

/* A hand for one program: events that a test sends have no button and no keys of their own. Whoever
   asks the toolkit for them is told these, since the program's functions are found first. */
static guint held_button = GDK_BUTTON_PRIMARY;
static GdkModifierType held_keys;
static double held_middle[2]; /* between two fingers */

gboolean
gtk_gesture_get_bounding_box_center (GtkGesture *gesture, double *x, double *y)
{
  *x = held_middle[0];
  *y = held_middle[1];
  return TRUE;
}

guint
gtk_gesture_single_get_current_button (GtkGestureSingle *gesture)
{
  return held_button;
}

GdkModifierType
gtk_event_controller_get_current_event_state (GtkEventController *controller)
{
  return held_keys;
}

static gpointer
hand_on (gpointer widget, GType type)
{
  g_autoptr (GListModel) all = gtk_widget_observe_controllers (widget);

  for (guint i = 0; i < g_list_model_get_n_items (all); i++) {
    g_autoptr (GtkEventController) one = g_list_model_get_item (all, i);
    if (G_TYPE_CHECK_INSTANCE_TYPE (one, type))
      return one; /* the widget's */
  }
  g_assert_not_reached ();
}
