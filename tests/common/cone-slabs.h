/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/cone/cone-family.h"

/* How a task is back-projected in pieces. */
typedef struct {
  const TdConeFamily *family;
  TdDevice *device;
  TdPrecision precision;
  guint slab;     /* slices */
  guint per_turn; /* views of a batch, times those that the family wants together */
} TdTestConeSlabs;

/* Back-projects @projections ([view][row][column]) into @volume ([slice][y][x]). Each call of the
   projector gets only the rows that its slab sees. Asserts that it works. */
void td_test_cone_slabs (const TdTestConeSlabs *how, const TdConeTask *task,
                         const float *projections, float *volume);
