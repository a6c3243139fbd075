/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gtk/gtk.h>

#include "marks.h"
#include "render/image.h"
#include "render/view.h"

/**
 * TdSliceView: a picture with zoom, pan, contrast and overlays; knows nothing of tomography.
 *
 * Positions in this interface are full-resolution picture pixels with the first pixel's centre at
 * 0.
 *
 * Mouse: wheel and pinch zoom about the pointer. Primary drag pans, or moves what it begins on: a
 * line, the wipe, both where they cross, or a grip. With Shift it draws a region, if the owner
 * takes one, and with Ctrl a box to measure in. Middle drag pans. Secondary drag changes the
 * display range (across: its width, along: its middle). A click picks. Keys: + and - zoom, 0 fits,
 * 1 is one to one. The owner gets the arrows as "nudged" and with Alt as "shifted" (Shift: fine).
 * Ctrl with arrows pans.
 *
 * Signals:
 *   "pointed" (double column, double row, gboolean inside)
 *   "picked" (double column, double row)
 *   "line-moved" (double row)             the horizontal line was dragged
 *   "column-moved" (double column)        the vertical line was dragged, to a hundredth of a pixel
 *   "grip-moved" (guint grip, double column, double row)  a grip was dragged there, unclamped
 *   "nudged" (int dx, int dy, gboolean fine)
 *   "shifted" (int dx, int dy, gboolean fine)
 *   "view-changed" ()                     zoom or position, by the user or a new picture
 *   "stepped" (int by)                    the wheel, where it steps
 *   "range-changed" (double low, double high)  contrast, by the user
 *   "region-drawn" (double x, double y, double width, double height)
 *   "measured" (double x, double y, double width, double height)  the box, while it is drawn; width
 *                                         0: taken away by a click with Ctrl
 *   "drawn" (gpointer measure)            a TdMeasure, by the tool
 *   "failed" (const char *reason)         OpenGL is missing; drawing goes on without it
 */
#define TD_TYPE_SLICE_VIEW (td_slice_view_get_type ())
G_DECLARE_FINAL_TYPE (TdSliceView, td_slice_view, TD, SLICE_VIEW, GtkWidget)

/* @image: (nullable): referenced. Fits the first picture, or one of another size while fitted. */
void td_slice_view_set_image (TdSliceView *self, TdImage *image);
TdImage *td_slice_view_get_image (TdSliceView *self); /* (transfer none) (nullable) */
/* Whether the last frame showed that picture: a large one takes OpenGL some frames. */
gboolean td_slice_view_is_current (TdSliceView *self);
/* Shown right of the wipe; NULL: no wipe. */
void td_slice_view_set_second (TdSliceView *self, TdImage *image);

void td_slice_view_set_range (TdSliceView *self, double low, double high);
void td_slice_view_set_colour_map (TdSliceView *self, TdColourMap map);
const TdStyle *td_slice_view_get_style (TdSliceView *self);
void td_slice_view_set_smooth (TdSliceView *self, gboolean smooth);

void td_slice_view_fit (TdSliceView *self);
/* Pictures of something else follow: the next one fits, and the box that was measured in goes. */
void td_slice_view_renew (TdSliceView *self);
/* Fitting stretches the picture over the whole widget: for sinograms, whose rows are angles. */
void td_slice_view_set_filling (TdSliceView *self, gboolean filling);
void td_slice_view_one_to_one (TdSliceView *self);
const TdView *td_slice_view_get_view (TdSliceView *self, gboolean *fitted);
void td_slice_view_set_view (TdSliceView *self, const TdView *view, gboolean fitted);

/* Overlays. NAN: none. A draggable line can be moved by the pointer. There is none along a picture
   so thin that the line would cover it. */
void td_slice_view_set_row_line (TdSliceView *self, double row, gboolean draggable);
void td_slice_view_set_column_line (TdSliceView *self, double column, gboolean draggable);
/* The vertical line as an axis that may be oblique: through @column at @row, @slope columns a row.
   It is dashed, and dragged as a whole. */
void td_slice_view_set_axis_line (TdSliceView *self, double column, double row, double slope);
/* Points to drag, drawn as rings. @n: at most 2; 0: none. The owner moves them. */
void td_slice_view_set_grips (TdSliceView *self, const double (*points)[2], guint n);
/* The number of the drag that goes on, which no other drag of the program has. 0: none. */
guint td_slice_view_get_drag (TdSliceView *self);
void td_slice_view_set_region (TdSliceView *self, double x, double y, double width, double height);
/* The primary drag draws a measure of that kind instead of panning. An angle's second arm is drawn
   after its first, from the end of it. -1: no tool. */
void td_slice_view_set_tool (TdSliceView *self, int kind);
/* Measures that are shown. (element-type TdMark) (transfer full) (nullable) */
void td_slice_view_take_marks (TdSliceView *self, GArray *marks);
const GArray *td_slice_view_get_marks (TdSliceView *self); /* (nullable) */
/* The wheel is handed to the owner as "stepped", and zooms with Ctrl. */
void td_slice_view_set_wheel_steps (TdSliceView *self, gboolean steps);
/* Size of a picture pixel for the scale bar; 0: pixels. Non-square pixels have no scale bar. */
void td_slice_view_set_pixel_mm (TdSliceView *self, double width_mm, double height_mm);
double td_slice_view_get_pixel_mm (TdSliceView *self); /* the width */
