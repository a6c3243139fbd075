/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gio/gio.h>

#include "camera.h"
#include "colour-map.h"

/**
 * TdVoxels: values in a box, looked at from outside. Immutable once made, reference counted, any
 * thread. The box's middle is the origin. x grows with the column and y falls with the row. z falls
 * with the layer, so the first layer is on top.
 */
typedef struct {
  gatomicrefcount references;
  guint nx, ny, nz;
  double size[3]; /* of the box, in any unit of length */
  float minimum;  /* of the finite values; 0: there are none */
  double range;   /* from there to the maximum; 1 if that is the same */
  float *values;  /* [nz][ny][nx], 0 at the minimum and 1 at the maximum; not finite: 0 */
} TdVoxels;

/* How what lies along a ray becomes a colour. */
typedef enum {
  TD_CAST_MAXIMUM,   /* the largest value */
  TD_CAST_AVERAGE,   /* the mean of all in the part that is shown */
  TD_CAST_COMPOSITE, /* each hides what is behind it, the more the nearer it is to the peak */
} TdCastKind;

typedef struct {
  TdCastKind kind;
  TdColourMap map;
  double low, high;  /* values drawn as the first colour, transparent, and the last, opaque */
  double opacity;    /* composite: extinction of the value at the peak, over the longest side */
  double peak;       /* composite: the part of low … high from which higher values are less opaque
                        again, down to none; 1: none is, and 0 is as 1 */
  double clip[3][2]; /* the part that is shown: from and to along column, row and layer, 0 … 1 */
} TdCast;

/* NULL: there is no memory for them. */
TdVoxels *td_voxels_new (const float *values, const guint n[3], const double size[3]);
TdVoxels *td_voxels_ref (TdVoxels *voxels);
void td_voxels_unref (TdVoxels *voxels);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdVoxels, td_voxels_unref)

/* The picture by the processor, premultiplied red, green, blue, opacity; transparent outside the
   box. @rgba: [height][width][4]. The truth that the shader is tested against. Any thread; FALSE:
   cancelled. */
gboolean td_voxels_cast (const TdVoxels *voxels, const TdCast *cast, const TdCamera *camera,
                         guint width, guint height, GCancellable *cancellable, guint8 *rgba);
