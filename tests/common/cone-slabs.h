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

/* Whether the family of that name ("auto" too) interpolates in single precision on the device.
   Hardware that filters textures has weights of 8 bits: an error below 2^-8 in u and in v, uniform,
   of a difference of two values blended across (variance 4/3 of the noise), beside a signal of
   variance (2/3)^2: 2^-8 sqrt (2/3 * 4/3) * 3/2 = 5.5e-3 of random projections. Half storage adds
   2^-11. */
gboolean td_test_cone_exact (const char *family, TdPrecision precision, const TdDeviceInfo *device);
