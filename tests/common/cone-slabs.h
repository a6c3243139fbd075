/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/cone/cone-family.h"

/* How a task is back-projected in pieces. */
typedef struct {
  const TdConeFamily *family;
  TdDevice *device;
  TdPrecision precision;
  guint slab;        /* slices */
  guint per_turn;    /* views of a batch, times those that the family wants together */
  double half_scale; /* TdConeLimits; 0: 1 */
} TdTestConeSlabs;

/* Back-projects @projections ([view][row][column]) into @volume ([slice][y][x]). Each call of the
   projector gets only the rows that its slab sees. Asserts that it works. */
void td_test_cone_slabs (const TdTestConeSlabs *how, const TdConeTask *task,
                         const float *projections, float *volume);

/* Whether the family of that name ("auto" too) interpolates in single precision on the device.
   Hardware that filters textures has weights of 8 bits. The error in u and in v is uniform and
   below 2^-8. It multiplies the difference of two values blended across, of 4/3 of the noise's
   variance. The signal's variance is (2/3)^2. So random projections have an error of

       2^-8 sqrt (2/3 * 4/3) * 3/2 = 5.5e-3

   Half storage adds 2^-11. */
gboolean td_test_cone_exact (const char *family, TdPrecision precision, const TdDeviceInfo *device);
