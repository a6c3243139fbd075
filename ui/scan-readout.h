/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "dataset/scan.h"

/* What lies under the pointer, in words and physical units; each is a TdReadout (image-pane.h). */

/* @user: the TdScan. */
char *td_projection_readout (gpointer user, double column, double row, const float *value);
char *td_sinogram_readout (gpointer user, double column, double row, const float *value);

typedef struct {
  double width, height; /* of the whole slice, pixels: the axis is in its middle */
  double pixel_mm;      /* 0: unknown */
  char units[16];       /* of the values */
} TdSliceReadout;

/* @user: a TdSliceReadout. */
char *td_slice_readout (gpointer user, double column, double row, const float *value);
