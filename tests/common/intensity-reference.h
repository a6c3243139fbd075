/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/prepare/step.h"

/**
 * The published formula of each intensity step, in double precision and the plainest code, on all
 * of a detector at once: data is [row][view][column]. Nothing is shared with the product but the
 * parameters.
 */
typedef struct {
  guint n_rows, n_views, n_columns, n_flats, n_darks;
  const float *projections, *flats, *darks; /* [frame][row][column] */
  const double *flat_positions;             /* NULL: one group */
  const double *angles_rad;
  const guint8 *mask; /* NULL: none */
} TdFrames;

typedef void (*TdIntensityReference) (const TdFrames *frames, const TdStep *step, double *data);

void td_reference_bad_pixels (const TdFrames *frames, const TdStep *step, double *data);
void td_reference_zingers (const TdFrames *frames, const TdStep *step, double *data);
void td_reference_flat_field (const TdFrames *frames, const TdStep *step, double *data);
void td_reference_dose (const TdFrames *frames, const TdStep *step, double *data);
void td_reference_double_flat (const TdFrames *frames, const TdStep *step, double *data);
void td_reference_minus_log (const TdFrames *frames, const TdStep *step, double *data);
void td_reference_zingers_angle (const TdFrames *frames, const TdStep *step, double *data);
void td_reference_beam_hardening (const TdFrames *frames, const TdStep *step, double *data);
