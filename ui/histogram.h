/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gtk/gtk.h>

#include "render/colour-map.h"
#include "render/image.h"

/**
 * TdHistogram: the values of a picture and the display range, from black to white. The user drags
 * the two handles, or both together by the stretch between them. A double click asks for automatic
 * contrast. The keys left and right move the range; with Shift they widen it.
 *
 * Signals: "range-changed" (double low, double high), "auto-requested" ().
 */
#define TD_TYPE_HISTOGRAM (td_histogram_get_type ())
G_DECLARE_FINAL_TYPE (TdHistogram, td_histogram, TD, HISTOGRAM, GtkWidget)

void td_histogram_set_image (TdHistogram *self, TdImage *image); /* (nullable) */
void td_histogram_set_range (TdHistogram *self, double low, double high);
/* The units of the values, written with the white point; "": none. */
void td_histogram_set_units (TdHistogram *self, const char *units);
void td_histogram_set_colour_map (TdHistogram *self, TdColourMap map);
