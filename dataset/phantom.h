/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

#include "geometry.h"

/**
 * Phantoms with analytic line integrals: the projections are exact, so a reconstruction can be
 * judged without trusting any of our own code. An object is a sum of ellipsoids and boxes; lengths
 * are in units of half the field of view (1 = half of the smaller detector side, in pixels of the
 * reconstructed grid), as Shepp and Logan gave theirs (IEEE Trans. Nucl. Sci. 21, 1974).
 */
typedef enum { TD_SHAPE_ELLIPSOID, TD_SHAPE_BOX } TdShapeKind;

typedef struct {
  TdShapeKind kind;
  double value;      /* added inside */
  double centre[3];  /* x, y (up), z */
  double half[3];    /* half axes (ellipsoid) or half edges (box); a half[2] of INFINITY is a cylinder */
  double angle_rad;  /* about z, anticlockwise */
} TdShape;

typedef struct {
  char *name;
  TdShape *shapes;
  guint n_shapes;
} TdPhantom;

/* "shepp-logan" (modified contrast, 3-D by Kak and Slaney's table), "disc", "discs", "sphere",
   "ellipsoids", "points", "boxes". NULL with @error listing the names. */
TdPhantom *td_phantom_new (const char *name, GError **error);
const char *const *td_phantom_names (void);
void td_phantom_free (TdPhantom *phantom);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdPhantom, td_phantom_free)

/* Parallel beam: line integrals of detector row @row of @n_rows at @angle_rad into out[n_columns].
   Values are per pixel (a disc of value 1 and radius r pixels gives 2r at its middle). Any thread. */
void td_phantom_project_row (const TdPhantom *phantom, guint n_columns, guint n_rows, guint row,
                             double angle_rad, double centre_px, float *out);
/* Cone beam: one ray, from @source to @target in units of the phantom; the integral in those units. */
double td_phantom_ray (const TdPhantom *phantom, const double source[3], const double target[3]);
/* The object itself at a point / on a slice sampled at pixel centres, with @oversample^2 samples a
   pixel. Slice and pixel conventions of DESIGN.md. */
double td_phantom_value (const TdPhantom *phantom, double x, double y, double z);
void td_phantom_slice (const TdPhantom *phantom, guint nx, guint ny, guint n_columns, guint n_rows,
                       guint row, guint oversample, float *out);
