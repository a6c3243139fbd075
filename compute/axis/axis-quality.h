/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/**
 * How good a reconstructed slice looks; higher is better. Only slices of the same sinogram about
 * different centres can be compared.
 */
typedef enum {
  /* sum min (f, 0): attenuation cannot be negative, but beside arcs it is. Donath et al., J. Opt.
     Soc. Am. A 23 (2006), Q_IN. For half a turn that sees all of the sample. */
  TD_AXIS_QUALITY_NEGATIVITY,
  /* -sum sqrt |grad f| by central differences: arcs add edges, and what is flat loses more than
     what is steep can gain. For half a turn with the sample cut off, whose values are off anyway.
   */
  TD_AXIS_QUALITY_FLATNESS,
  /* n sum g^2 / (sum g)^2 with g = |grad f|^2 by central differences. This is the fourth moment of
     the gradient over the square of its second. Doubled edges are half as steep. It is for whole
     turns. */
  TD_AXIS_QUALITY_STEEPNESS,
} TdAxisQuality;

/* Over the disc of @radius pixels about the middle, divided by its pixels (but steepness, a ratio).
 */
double td_axis_quality (TdAxisQuality quality, const float *slice, guint side, double radius);

TdAxisQuality td_axis_quality_for (const float *sinogram, guint n_views, guint n_columns,
                                   const double *angles_rad);
/* The sample reaches beyond the detector's ends. */
gboolean td_axis_cut_off (const float *sinogram, guint n_views, guint n_columns);
