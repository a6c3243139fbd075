/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

#include "geometry.h"

/**
 * Phantoms with analytic line integrals. The projections are exact, so a reconstruction can be
 * judged without trusting any of our own code. An object is a sum of ellipsoids, cylinders and
 * boxes. Lengths are in units of half the field of view, as Shepp and Logan gave theirs (IEEE
 * Trans. Nucl. Sci. 21, 1974). This "unit" is n_columns / 2 pixels, whatever the number of rows.
 *
 * Detector row v of n_rows lies at z = ((n_rows - 1) / 2 - v) pixels. Everything here is pure: any
 * thread, no allocation.
 */
typedef enum { TD_SHAPE_ELLIPSOID, TD_SHAPE_CYLINDER, TD_SHAPE_BOX } TdShapeKind;

typedef struct {
  TdShapeKind kind;
  double value;     /* added inside */
  double centre[3]; /* x, y (up), z */
  double half[3];   /* half axes (ellipsoid; cylinder: x, y and half height) or half edges (box);
                       half[2] may be INFINITY */
  double angle_rad; /* about z, anticlockwise */
} TdShape;

typedef struct {
  const char *name;
  const TdShape *shapes;
  guint n_shapes;
} TdPhantom;

/* The phantom of a name:

       "shepp-logan"  of modified contrast; the slice z = 0 is the classic 2-D phantom, and the
                      extent along z is Kak and Slaney's
       "disc"         of value 1 and radius 0.8
       "sphere"       of value 1 and radius 0.7
       "discs", "ellipsoids", "points", "boxes"

   NULL with @error, which lists the names. */
const TdPhantom *td_phantom_find (const char *name, GError **error);

/* Parallel beam: line integrals at @angle_rad into out[n_columns], at the height of @z_px pixels
   above the middle. A unit is @unit_px pixels: n_columns / 2, or more where the detector sees only
   a part of the phantom. Values are per pixel: a disc of value 1 and radius r pixels gives 2r at
   its middle. */
void td_phantom_project_line (const TdPhantom *phantom, double unit_px, double z_px,
                              guint n_columns, double angle_rad, double centre_px, float *out);
/* Parallel beam: the ray at @angle_rad that passes the axis at @s (x cos + y sin) at height @z; all
   in units of the phantom. For tilted axes, where z changes along a row. */
double td_phantom_parallel_ray (const TdPhantom *phantom, double angle_rad, double s, double z);
/* Cone beam: one ray, from @source to @target in units of the phantom; the integral in those units,
   of what lies between the two points. */
double td_phantom_ray (const TdPhantom *phantom, const double source[3], const double target[3]);

/* The phantom's slice at the height @z, in its units, of which one is @unit_px pixels. Each pixel
   is the mean of @oversample^2 samples. Slice and pixel conventions of geometry.h. */
void td_phantom_slice_at (const TdPhantom *phantom, guint nx, guint ny, double unit_px, double z,
                          guint oversample, float *out);
