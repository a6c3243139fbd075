/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gtk/gtk.h>

#define TD_SCALE_BAR_ROOM 140.0 /* a picture that is less wide has no bar */

/* The longest bar of a round length in a picture @width wide, or 0: there is no room. A pixel of
   the picture is @zoom wide on it and @pixel_mm in the sample; 0: lengths are in pixels. @text: the
   length (transfer full). */
double td_scale_bar (double width, double zoom, double pixel_mm, char **text);
/* Draws it at the foot of a picture @height high, with @layout, which has the text. */
void td_scale_bar_draw (cairo_t *cr, double height, double bar, PangoLayout *layout);
