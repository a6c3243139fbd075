/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gtk/gtk.h>

#include "render/colour-map.h"
#include "render/image.h"

/**
 * TdHistogram: the values of a picture and the window that is shown of them. The two handles are
 * dragged, the stretch between them moves both, a double click asks for automatic contrast. Keys:
 * left and right move the window, with Shift they widen it.
 *
 * Signals: "window-changed" (double low, double high), "auto-requested" ().
 */
#define TD_TYPE_HISTOGRAM (td_histogram_get_type ())
G_DECLARE_FINAL_TYPE (TdHistogram, td_histogram, TD, HISTOGRAM, GtkWidget)

void td_histogram_set_image (TdHistogram *self, TdImage *image); /* (nullable) */
void td_histogram_set_window (TdHistogram *self, double low, double high);
/* Of the values, written with the white point; "": none. */
void td_histogram_set_units (TdHistogram *self, const char *units);
void td_histogram_set_colour_map (TdHistogram *self, TdColourMap map);
