/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "rings-reference.h"

/* A sinogram's columns in numbers, as the step "rings" looks at them: floats, as td_rings_offsets()
   takes them, [n_columns] each. */
typedef struct {
  guint n_samples, n_parts;
  float *medians; /* holds the others */
  float *spreads, *widths, *skews, *roughness, *bounds, *shares;
} TdColumnNumbers;

void td_column_numbers_init (TdColumnNumbers *columns, const TdSinogram *sinogram);
void td_column_numbers_clear (TdColumnNumbers *columns);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (TdColumnNumbers, td_column_numbers_clear)
