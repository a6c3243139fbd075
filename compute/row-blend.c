/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "row-blend.h"

#include <math.h>

#define LEAST_OVERLAP 0.5

guint64
td_row_blend_width (guint n_columns, double centre_px)
{
  const double farther = MAX (centre_px, n_columns - 1 - centre_px);
  /* A centre that is whole but for its rounding must not cost a column. */
  const double width = ceil (2 * farther + 1 - 1e-6);

  return width > n_columns ? (guint64) MIN (width, 0x1p53) : n_columns;
}

void
td_row_blend_weights (guint n_columns, double centre_px, float *weights)
{
  const double right = n_columns - 1 - centre_px;
  const double overlap = MAX (MIN (centre_px, right), LEAST_OVERLAP);

  for (guint i = 0; i < n_columns; i++) {
    const double outwards = right >= centre_px ? i - centre_px : centre_px - i;
    const double t = CLAMP (0.5 + 0.5 * outwards / overlap, 0, 1);
    weights[i] = (float) (t * t * t * (10 + t * (6 * t - 15)));
  }
}
