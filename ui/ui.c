/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ui.h"

#include <gtk/gtk.h>

#include "drawing.h"
#include "ui-resources.h"

void
td_ui_init (void)
{
  g_resources_register (td_ui_get_resource ());
  td_drawing_by_processor (); /* before the first window asks for its renderer */
  g_autoptr (GtkCssProvider) css = gtk_css_provider_new ();
  gtk_css_provider_load_from_resource (css, "/org/tomodesk/ui/style.css");
  gtk_style_context_add_provider_for_display (gdk_display_get_default (), GTK_STYLE_PROVIDER (css),
                                              GTK_STYLE_PROVIDER_PRIORITY_APPLICATION);
}
