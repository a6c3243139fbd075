/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "scroll.h"

void
td_ignore_scroll (GtkWidget *widget)
{
  g_autoptr (GListModel) controllers = gtk_widget_observe_controllers (widget);

  for (guint i = 0; i < g_list_model_get_n_items (controllers); i++) {
    g_autoptr (GtkEventController) controller = g_list_model_get_item (controllers, i);
    if (GTK_IS_EVENT_CONTROLLER_SCROLL (controller))
      gtk_event_controller_set_propagation_phase (controller, GTK_PHASE_NONE);
  }
}

/* A row opens by an animation: until it is over, and for some frames on a machine too busy to draw
 * it. */
#define SETTLING_US 400000
#define SETTLING_FRAMES 12

typedef struct {
  gint64 until_us;
  guint frames;
} Following;

static gboolean
scroll_follow (GtkWidget *widget, GdkFrameClock *clock, gpointer user)
{
  Following *following = user;
  GtkWidget *scrolled = gtk_widget_get_ancestor (widget, GTK_TYPE_SCROLLED_WINDOW);
  graphene_rect_t bounds;

  if (!scrolled || !gtk_widget_compute_bounds (widget, scrolled, &bounds))
    return G_SOURCE_REMOVE;
  GtkAdjustment *adjustment = gtk_scrolled_window_get_vadjustment (GTK_SCROLLED_WINDOW (scrolled));
  double at = gtk_adjustment_get_value (adjustment),
         page = gtk_adjustment_get_page_size (adjustment);
  double top = at + bounds.origin.y, foot = top + bounds.size.height;
  gtk_adjustment_clamp_page (adjustment, top, MIN (foot, top + page));
  following->frames++;
  return g_get_monotonic_time () < following->until_us || following->frames < SETTLING_FRAMES
             ? G_SOURCE_CONTINUE
             : G_SOURCE_REMOVE;
}

void
td_scroll_to (GtkWidget *widget)
{
  Following *following = g_new0 (Following, 1);

  following->until_us = g_get_monotonic_time () + SETTLING_US;
  gtk_widget_add_tick_callback (widget, scroll_follow, following, g_free);
}
