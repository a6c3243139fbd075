/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "focus-guard.h"

static gboolean
focus_guard_mend (gpointer user)
{
  GtkWindow *window = user;
  GtkWidget *focus = gtk_window_get_focus (window);

  if (!focus || gtk_widget_get_mapped (focus) || !gtk_widget_get_mapped (GTK_WIDGET (window)))
    return G_SOURCE_REMOVE;
  for (GtkWidget *up = gtk_widget_get_parent (focus); up; up = gtk_widget_get_parent (up)) {
    if (!gtk_widget_get_mapped (up) || !gtk_widget_child_focus (up, GTK_DIR_TAB_FORWARD))
      continue;
    focus = gtk_window_get_focus (window);
    if (focus && gtk_widget_get_mapped (focus))
      return G_SOURCE_REMOVE;
  }
  gtk_window_set_focus (window, NULL);
  return G_SOURCE_REMOVE;
}

/* What is not shown now may be so at once, elsewhere. */
static void
focus_guard_on_unmap (GtkWidget *focus, GtkWindow *window)
{
  g_idle_add_full (G_PRIORITY_DEFAULT_IDLE, focus_guard_mend, g_object_ref (window),
                   g_object_unref);
}

static void
focus_guard_on_focus (GtkWindow *window)
{
  GtkWidget *focus = gtk_window_get_focus (window);

  /* A widget that had the focus before keeps its one handler, which then finds nothing to mend. */
  if (focus
      && !g_signal_handler_find (focus, G_SIGNAL_MATCH_FUNC, 0, 0, NULL, focus_guard_on_unmap,
                                 NULL))
    g_signal_connect_object (focus, "unmap", G_CALLBACK (focus_guard_on_unmap), window, 0);
  if (focus && !gtk_widget_get_mapped (focus))
    focus_guard_on_unmap (focus, window);
}

void
td_focus_guard (GtkWindow *window)
{
  g_signal_connect (window, "notify::focus-widget", G_CALLBACK (focus_guard_on_focus), NULL);
}
