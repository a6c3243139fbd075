/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/device/device.h"
#include "dataset/scan.h"
#include "step.h"

/**
 * Finding the rotation axis. Each method gives a centre for one row's prepared sinogram (flat field
 * and -log done: before -log the answer is far off, tomopy#475); the consensus runs several on several
 * rows, fits the tilt and says how far it can be trusted.
 */
typedef enum {
  TD_AXIS_CORRELATION, /* 0 and 180 degree views: phase correlation with a sub-pixel peak */
  TD_AXIS_FOURIER,     /* Vo et al., Opt. Express 22 (2014): double-wedge metric of the sinogram */
  TD_AXIS_SHARPNESS,   /* search over reconstructed slices */
  TD_AXIS_OVERLAP,     /* 360 degree offset (half-acquisition) scans */
  TD_AXIS_COUNT
} TdAxisMethod;

typedef struct {
  TdAxisMethod method;
  guint row;
  double centre_px;   /* NAN: the method gave none */
  double confidence;  /* 0 … 1 */
} TdAxisTrial;

typedef struct {
  double centre_px;      /* at the middle row */
  double uncertainty_px; /* half width of what the trials allow */
  double tilt_deg;
  gboolean agreed;       /* FALSE: the methods disagree; show the trials and ask */
  TdAxisTrial *trials;
  guint n_trials;
  char *advice;          /* one sentence when not agreed; else NULL */
} TdAxisResult;

typedef struct {
  guint row_first, row_end; /* 0, 0: spread over the detector */
  guint n_rows;             /* rows tried; 0: 5 */
  guint methods;            /* bits (1 << TdAxisMethod); 0: those that suit the scan */
  double search_first_px, search_end_px; /* 0, 0: +-30 % around the middle (or whole, for overlap) */
} TdAxisOptions;

const char *td_axis_method_name (TdAxisMethod method);
TdAxisResult *td_axis_find (TdDevice *device, TdScan *scan, const TdStep *steps, guint n_steps,
                            const TdAxisOptions *options, GCancellable *cancellable, GError **error);
void td_axis_result_free (TdAxisResult *result);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdAxisResult, td_axis_result_free)
