/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "camera.h"

/**
 * TdSpace: lines, triangles, dots and labels in three dimensions; knows nothing of what they are.
 * Lengths of any unit, widths in screen pixels, colours as red, green, blue, opacity from 0 to 1.
 * One thread at a time.
 */
typedef struct TdSpace TdSpace;

typedef struct {
  float rgba[4];
} TdInk;

typedef struct {
  double point[3];
  char *text;
  TdInk ink;
} TdSpaceLabel;

TdSpace *td_space_new (void);
void td_space_free (TdSpace *space);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdSpace, td_space_free)

void td_space_line (TdSpace *space, const double a[3], const double b[3], TdInk ink,
                    double width_px);
/* @head: its length as a part of the arrow's. */
void td_space_arrow (TdSpace *space, const double a[3], const double b[3], TdInk ink,
                     double width_px, double head);
void td_space_triangle (TdSpace *space, const double a[3], const double b[3], const double c[3],
                        TdInk ink);
/* Corners in order round it. */
void td_space_quad (TdSpace *space, const double corners[4][3], TdInk ink);
void td_space_dot (TdSpace *space, const double point[3], TdInk ink, double diameter_px);
void td_space_label (TdSpace *space, const double point[3], const char *text, TdInk ink);

const TdSpaceLabel *td_space_labels (const TdSpace *space, guint *n);

/* What one sees of it, from far to near: to be painted one over the other. */
typedef enum { TD_SHAPE_TRIANGLE, TD_SHAPE_LINE, TD_SHAPE_DOT } TdShapeKind;
typedef struct {
  TdShapeKind kind;
  float x[3], y[3]; /* pixels; a line's two ends, a dot's centre */
  float width;      /* pixels: of a line, diameter of a dot */
  TdInk ink;
  double depth;
} TdShape;

/* @scale: screen pixels a pixel of the widths. (element-type TdShape) (transfer full) */
GArray *td_space_project (const TdSpace *space, const TdCamera *camera, double width, double height,
                          double scale);
