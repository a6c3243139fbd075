/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "popovers.h"

/* What tells that something moved: adjustments before it has its place, the surface after. The
   first matters: GTK 4.8 gives a list that hangs beyond all monitors the size of an uninitialised
   variable. */
typedef struct {
  GtkWidget *popover;
  GPtrArray *movers; /* GObject, owned */
} Watch;

static const char watch_key[] = "popover-watch";
static GList *open_popovers; /* GtkPopover; the last that opened comes first */

/* @up is an ancestor. Content has its place in a viewport after the next layout only. */
static gboolean
popover_is_shown_by (GtkWidget *anchor, GtkWidget *up)
{
  graphene_rect_t at, seen;
  GtkWidget *within = up;

  if (GTK_IS_VIEWPORT (up)) {
    GtkAdjustment *along = gtk_scrollable_get_hadjustment (GTK_SCROLLABLE (up));
    GtkAdjustment *down = gtk_scrollable_get_vadjustment (GTK_SCROLLABLE (up));
    graphene_rect_init (
        &seen, (float) gtk_adjustment_get_value (along), (float) gtk_adjustment_get_value (down),
        (float) gtk_adjustment_get_page_size (along), (float) gtk_adjustment_get_page_size (down));
    within = gtk_viewport_get_child (GTK_VIEWPORT (up));
  } else if (GTK_IS_NATIVE (up) || gtk_widget_get_overflow (up) == GTK_OVERFLOW_HIDDEN) {
    graphene_rect_init (&seen, 0, 0, (float) gtk_widget_get_width (up),
                        (float) gtk_widget_get_height (up));
  } else {
    return TRUE;
  }
  if (!gtk_widget_compute_bounds (anchor, within, &at))
    return FALSE;
  at.size.width = MAX (at.size.width, 1);
  at.size.height = MAX (at.size.height, 1);
  return graphene_rect_intersection (&at, &seen, NULL);
}

static void
popover_on_moved (Watch *watch)
{
  GtkWidget *anchor = gtk_widget_get_parent (watch->popover), *up = anchor;
  gboolean shown = TRUE;

  while (shown && !GTK_IS_NATIVE (up)) {
    up = gtk_widget_get_parent (up);
    shown = popover_is_shown_by (anchor, up);
  }
  if (!shown)
    gtk_popover_popdown (GTK_POPOVER (watch->popover)); /* this frees the watch */
}

static void
popover_watch_mover (Watch *watch, gpointer mover, const char *signal)
{
  g_ptr_array_add (watch->movers, g_object_ref (mover));
  g_signal_connect_swapped (mover, signal, G_CALLBACK (popover_on_moved), watch);
}

static void
popover_watch_free (gpointer user)
{
  Watch *watch = user;

  open_popovers = g_list_remove (open_popovers, watch->popover);
  for (guint i = 0; i < watch->movers->len; i++)
    g_signal_handlers_disconnect_by_data (watch->movers->pdata[i], watch);
  g_ptr_array_unref (watch->movers);
  g_free (watch);
}

static gboolean
popover_on_map (GSignalInvocationHint *hint, guint n_values, const GValue *values, gpointer unused)
{
  GtkWidget *popover = g_value_get_object (values);

  if (!GTK_IS_POPOVER (popover))
    return TRUE;
  Watch *watch = g_new0 (Watch, 1);
  watch->popover = popover;
  watch->movers = g_ptr_array_new_with_free_func (g_object_unref);
  GtkWidget *up = gtk_widget_get_parent (popover);
  for (; !GTK_IS_NATIVE (up); up = gtk_widget_get_parent (up))
    if (GTK_IS_VIEWPORT (up)) {
      GtkScrollable *port = GTK_SCROLLABLE (up);
      popover_watch_mover (watch, gtk_scrollable_get_hadjustment (port), "value-changed");
      popover_watch_mover (watch, gtk_scrollable_get_vadjustment (port), "value-changed");
    }
  popover_watch_mover (watch, gtk_native_get_surface (GTK_NATIVE (up)), "layout");
  open_popovers = g_list_prepend (open_popovers, popover);
  g_object_set_data_full (G_OBJECT (popover), watch_key, watch, popover_watch_free);
  return TRUE;
}

static gboolean
popover_on_unmap (GSignalInvocationHint *hint, guint n_values, const GValue *values,
                  gpointer unused)
{
  GtkWidget *widget = g_value_get_object (values);

  if (GTK_IS_POPOVER (widget))
    g_object_set_data (G_OBJECT (widget), watch_key, NULL);
  return TRUE;
}

void
td_popovers_close (gpointer parent)
{
  g_autoptr (GList) all = g_list_copy (open_popovers);

  for (GList *each = all; each; each = each->next)
    if (g_list_find (open_popovers, each->data) && gtk_widget_is_ancestor (each->data, parent))
      gtk_popover_popdown (each->data);
}

void
td_popovers_init (void)
{
  g_type_class_unref (g_type_class_ref (GTK_TYPE_WIDGET));
  g_signal_add_emission_hook (g_signal_lookup ("map", GTK_TYPE_WIDGET), 0, popover_on_map, NULL,
                              NULL);
  g_signal_add_emission_hook (g_signal_lookup ("unmap", GTK_TYPE_WIDGET), 0, popover_on_unmap, NULL,
                              NULL);
}
