/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "render/image.h"

/* How two pictures of the same size differ: a - b. */
typedef struct {
  TdImage *difference;
  double rms, relative_rms; /* relative to the root mean square of a */
  double max_abs;
  double psnr_db; /* against a's range; INFINITY: equal */
} TdCompareFigures;

/* Costs a few passes: off the main thread. NULL with @error when the sizes differ. */
TdCompareFigures *td_compare_figures_new (const TdImage *a, const TdImage *b, GError **error);
void td_compare_figures_free (TdCompareFigures *figures);
