/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/parallel/backproject.h"

/**
 * The performance model of the review (§6.5). It counts the operations that an update takes of each
 * kind of unit, and those that the device does in a second. So it finds the unit that limits a
 * family, and the rate. Rough on purpose: latency, occupancy and the memory behind the caches are
 * left out.
 */
typedef enum {
  TD_UNIT_TEXTURE, /* fetches of one texel, whatever its size */
  TD_UNIT_LOCAL, /* bytes from local memory, conflict-free; a broadcast counts once a group of 32 */
  TD_UNIT_FLOAT, /* multiply-adds, additions, multiplications in single (two in half: one) */
  TD_UNIT_CONVERSION,   /* between float and int, floor */
  TD_UNIT_INSTRUCTIONS, /* of all kinds, address arithmetic included */
  TD_UNIT_COUNT
} TdUnit;

extern const char *const td_unit_names[TD_UNIT_COUNT];

typedef struct {
  double per_update[TD_UNIT_COUNT];
} TdUpdateCost;

typedef struct {
  double per_second[TD_UNIT_COUNT]; /* 0: the device has no such unit */
} TdUnitRates;

/* Measures the device's units with small kernels. Blocks: a second. */
gboolean td_unit_rates_measure (TdDevice *device, TdUnitRates *rates, GError **error);

/* The cost of an update in the variant that a projector for @n_slices would have now (tuned or
   default). FALSE: there is no model for this family. */
gboolean td_update_cost (const TdBackprojectFamily *family, const TdBackprojectTask *task,
                         const TdDeviceInfo *device, guint n_slices, TdUpdateCost *cost);

/* Updates a second that @rates allow, and the unit that is then busy all the time. */
double td_model_ceiling (const TdUpdateCost *cost, const TdUnitRates *rates, TdUnit *bound_by);
