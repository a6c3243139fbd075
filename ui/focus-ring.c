/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "focus-ring.h"

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
