/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "axis.h"

/**
 * What every method of finding the rotation axis is: one row's sinogram in, one centre out. Methods
 * know nothing of scans, files, preparation steps or one another. The file axis.c reads and
 * prepares the rows, asks the methods that suit, and weighs their answers.
 *
 * A point (x, y) is seen at u = centre + x cos (angle) + y sin (angle). So the view at angle + pi
 * is the view at angle mirrored at the centre:
 *
 *     p (angle + pi, u) = p (angle, 2 centre - u)
 *
 * A method runs on the thread that searches, blocks, and looks at the cancellable at least every
 * 100 ms. It returns FALSE with @error only when it was cancelled, or when the device or memory
 * failed. A sinogram without an answer is no error but an estimate of NAN.
 */
typedef struct {
  const float *sinogram; /* [n_views][n_columns]: -log values, finite */
  guint n_views, n_columns;
  const double *angles_rad; /* n_views, in any order, any range */
  guint row;                /* of the detector: for messages */
  double first_px, last_px; /* centres searched, both ends included; first <= last. May lie beyond
                               the detector by up to its width */
  TdDevice *device;         /* for what costs; methods that cost little stay on the host */
  GCancellable *cancellable;
} TdAxisInput;

typedef struct {
  double centre_px;  /* NAN: none */
  double confidence; /* 0 … 1: how far the best centre stands out from the rest of the range; below
                        0.2 it is no better than chance */
  double spread_px;  /* the method's own standard error; NAN: it knows none */
  const char *reason; /* why there is none or little, for people; static, or NULL */
} TdAxisEstimate;

typedef struct {
  const char *name;  /* "correlation", as on the command line */
  const char *title; /* for people */
  /* NULL: it can be run on views at these angles; else why not (static). */
  const char *(*unsuited) (const double *angles_rad, guint n_views, guint n_columns);
  /* NULL: it compares projections, not rows (axis-tilt.h). */
  gboolean (*find) (const TdAxisInput *input, TdAxisEstimate *estimate, GError **error);
} TdAxisMethodKind;

/* One source each: axis-NAME.c; axis.c lists them. */
extern const TdAxisMethodKind td_axis_correlation;
extern const TdAxisMethodKind td_axis_fourier;
extern const TdAxisMethodKind td_axis_sharpness;
extern const TdAxisMethodKind td_axis_overlap;
extern const TdAxisMethodKind td_axis_projections; /* axis-tilt.c */
