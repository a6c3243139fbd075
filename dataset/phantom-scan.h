/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "phantom.h"
#include "scan.h"

/**
 * A phantom as a camera would have measured it: flats, darks, noise, a wandering beam, dead pixels,
 * rings. The scan computes its frames when they are read, so that one of any size takes no memory.
 * The same description gives the same samples in whatever order they are read. Strings and arrays
 * are borrowed until td_phantom_scan_new() returns.
 */
typedef struct {
  const char *phantom; /* a name that td_phantom_find() knows */
  guint n_columns, n_rows, n_views;
  double centre_px; /* of rotation, at the middle row; NAN: the detector's middle. Cone: where the
                       axis is seen at the middle row */
  gboolean centre_unsaid; /* parallel beam: the scan does not say where its axis is */
  double tilt_deg; /* of the axis in the detector plane: the centre moves by tan (tilt) columns
                      a row downwards (parallel beam) */
  double first_deg, range_deg;
  gboolean end_point;    /* the last view lies at first + range, not one step before */
  gboolean offset_field; /* the object fills the field that a 360 degree scan about an off-middle
                            centre sees, not the detector's */
  double fill;           /* how much of that field the object takes, 0 … 1; 0: all of it */
  double attenuation;    /* -log along a path of value 1 as long as the object's field of view;
                            0: phantom values are attenuation per pixel */

  gboolean logged;        /* line integrals as float, no camera */
  guint n_flats, n_darks; /* half of the flats before the first view, half after the last */
  double counts;          /* open beam above the dark level, at the beam's middle */
  double dark_counts;
  double photons;   /* a pixel and frame in the open beam; 0: no noise */
  double profile;   /* how much weaker the beam is in the corners, 0 … 1 */
  double wander;    /* relative amplitude of the beam's drift over the views */
  double rings;     /* relative error (standard deviation) of each pixel's gain that the flats
                       do not show */
  double drift;     /* the beam leans: what one edge of the detector gains from the first view
                       to the last, and the other loses */
  double flicker;   /* relative error (standard deviation) of each frame's exposure */
  double zingers;   /* part of the samples of projections and flats that are hit: between a
                       half and twice the open beam is added */
  double hardening; /* h: a beam of two lines, whose attenuation is 1 - h and 1 + h of what the
                       object says; 0 … below 1. Line integrals come out too small */
  guint n_dead;     /* pixels stuck at the dark level or at full scale */
  guint64 seed;
  double energy_kev; /* what the scan says of itself; 0: nothing */
  double propagation_mm;

  TdGeometry
      geometry;     /* parallel, or cone on a circular orbit with distances and pixel size, offsets
                       and tilts; axis_offset_mm is set from the centre where that is given */
  double wobble_mm; /* cone: source and detector leave the circle by about this, the detector
                       turns a little too; the scan then has a matrix a view */
} TdPhantomScan;

/* Over 180 degrees, with ten flats, five darks, no noise, no faults. Of the Shepp-Logan phantom,
   with 256 columns, 256 rows and 402 views, where these are NULL and 0. */
void td_phantom_scan_init (TdPhantomScan *spec, const char *phantom, guint n_columns, guint n_rows,
                           guint n_views);

/* Returns: (transfer full): NULL with @error set if the description contradicts itself. */
TdScan *td_phantom_scan_new (const TdPhantomScan *spec, GError **error);

/* Width and height of a slice that holds the object's whole field of view. */
guint td_phantom_scan_side (const TdPhantomScan *spec);

/* What a perfect reconstruction gives: slice @row of the object, [ny][nx], @oversample^2 samples a
   pixel. Units are the engine's: 1/mm where the pixel size is known, else 1/pixel. The description
   must have been accepted by td_phantom_scan_new(). */
void td_phantom_scan_truth (const TdPhantomScan *spec, double row, guint nx, guint ny,
                            guint oversample, float *out);
