/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/cone/cone-family.h"

/* Back-projects @projections ([view][row][column]) in slabs of @slab slices and batches of
   @per_turn views (times those that the family wants together), only the rows that a slab sees
   given, into
   @volume ([slice][y][x]). Asserts that it works. */
void td_test_cone_slabs (const TdConeFamily *family, TdDevice *device, const TdConeTask *task,
                         TdPrecision precision, const float *projections, guint slab,
                         guint per_turn, float *volume);
