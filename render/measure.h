/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "image.h"

/**
 * TdMeasure: what is measured in a picture. A plain value. Points are columns and rows of the whole
 * picture in pixels, the first pixel's centre at 0.
 */
typedef enum {
  TD_MEASURE_DISTANCE, /* between points 0 and 1 */
  TD_MEASURE_ANGLE,    /* at point 1, between the arms to 0 and 2 */
  TD_MEASURE_LINE,     /* values along the line from 0 to 1 */
  TD_MEASURE_REGION,   /* pixels from 0 to 1, both among them */
} TdMeasureKind;

typedef struct {
  TdMeasureKind kind;
  double points[3][2]; /* column, row; the third is an angle's alone */
} TdMeasure;

typedef struct {
  double length_px;             /* distance and line; NAN: of another kind */
  double angle_deg;             /* 0 … 180; NAN: of another kind */
  double width_px, height_px;   /* of a region, clipped to the picture; NAN: of another kind */
  gboolean has_values;          /* line and region, with something finite in them */
  TdImageStatistics statistics; /* of a region's pixels, or of the line's samples */
} TdMeasured;

/* How many points a measure of that kind has. */
guint td_measure_points (TdMeasureKind kind);
void td_measure_take (const TdMeasure *measure, const TdImage *image, TdMeasured *measured);
/* Samples of a line at equal steps of at most a pixel, both ends among them, between pixels
   linearly; NAN: outside the picture, or beside what is not finite. (transfer full) */
float *td_measure_profile (const TdMeasure *measure, const TdImage *image, guint *n);
