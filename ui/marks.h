/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gtk/gtk.h>

#include "render/measure.h"

/* A measure drawn over its picture, with its name. */
typedef struct {
  TdMeasure measure;
  guint n_points; /* that are placed already; fewer than its kind has while it is drawn */
  char label[16];
} TdMark;

/* Where a point of the picture lies on the surface. */
typedef void (*TdMarkPlace) (const double point[2], double *x, double *y, gpointer user);

/* @marks: of TdMark. @scale: surface pixels a line is wide. */
void td_marks_draw (cairo_t *cr, const GArray *marks, TdMarkPlace place, gpointer user,
                    double scale);
