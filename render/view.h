/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

#include "colour-map.h"

/**
 * Where a picture lies in its widget, and how its values become colours. Plain values.
 *
 * The middle of the widget shows the picture point (x, y), counted in picture pixels from the
 * picture's own middle, x right, y down. One picture pixel is @zoom widget pixels wide, and
 * @stretch times as high. Counting from the middle keeps a place in view when pictures of another
 * size are shown.
 */
typedef struct {
  double zoom;
  double x, y;
  double stretch; /* 0 as 1: square pixels */
} TdView;

typedef struct {
  double low, high; /* values drawn as the first and the last colour */
  TdColourMap map;
  gboolean smooth;  /* linear magnification; FALSE: pixels as squares */
  float bad_rgb[3]; /* NaN and infinity */
  float background[3];
} TdStyle;

/* The part of the widget that is drawn, as fractions of its width: for wipes. */
typedef struct {
  double from, to;
} TdSpan;

/* What is drawn on: device pixels, of which a widget pixel has @scale each way. */
typedef struct {
  guint width, height;
  double scale;
} TdScreen;

/* How many widget pixels high a picture pixel is. */
double td_view_zoom_down (const TdView *view);
/* Widget pixels to picture pixels from the middle, and back. @width, @height: the widget's size. */
void td_view_to_picture (const TdView *view, double width, double height, double wx, double wy,
                         double *px, double *py);
void td_view_from_picture (const TdView *view, double width, double height, double px, double py,
                           double *wx, double *wy);
/* Scales by @factor and keeps the picture point under (wx, wy) where it is. */
void td_view_zoom_about (TdView *view, double width, double height, double wx, double wy,
                         double factor);
/* The whole picture, centred, with a little room around it. */
void td_view_fit (TdView *view, double width, double height, double picture_width,
                  double picture_height);
/* As above, stretched so that it takes the whole widget: for pictures whose directions are not both
   lengths, as of columns over angles. */
void td_view_fill (TdView *view, double width, double height, double picture_width,
                   double picture_height);
