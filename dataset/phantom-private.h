/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <math.h>

#include "phantom-scan.h"

/* What the files of a phantom's scan share: phantom-scan.c describes it, phantom-rays.c gives line
   integrals, phantom-camera.c counts. */
typedef struct {
  TdPhantomScan spec;
  TdPhantom *phantom;
  double centre_px;
  double unit_px;        /* pixels in a unit of the phantom */
  double attenuation_px; /* of the phantom's value 1 */
  double voxel_mm;       /* what a detector pixel is wide at the axis; 0: unknown */
  double *angles_rad;
  float *gains;   /* [row][column]; NULL: 1 */
  guint8 *faults; /* [row][column], of phantom-camera.c; NULL: none */
} TdPhantomSource;

#define TD_PHANTOM_FULL_SCALE 65535.0

static inline double
td_phantom_middle (guint n)
{
  return (n - 1) / 2.0;
}

static inline gboolean
td_phantom_is_cone (const TdPhantomScan *spec)
{
  return spec->geometry.beam != TD_BEAM_PARALLEL;
}

/* Where a cone beam's source and detector stand in a view, in mm, as td_matrix_from_vectors() has
 * it. */
void td_phantom_view_vectors (const TdPhantomSource *source, guint view, double vectors[12]);
/* Line integrals of one row of a view. */
void td_phantom_rays (const TdPhantomSource *source, guint view, guint row, float *out);
/* Draws the faults of the camera's pixels. */
void td_phantom_camera_init (TdPhantomSource *source);
/* Turns line integrals (projections) into counts, in place; flats and darks ignore what is there.
 */
void td_phantom_camera_expose (const TdPhantomSource *source, TdFrameKind kind, guint frame,
                               guint row, float *row_data);
