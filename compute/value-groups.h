/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/device/device.h"

/* How kernels that take values one by one, whatever they mean, share them out: a group's items take
   values beside each other (kernels/raw-samples.cl, kernels/stored-samples.cl). */

#define TD_VALUES_MOST ((guint64) 1 << 30) /* of a launch: kernels count them by ints */

typedef struct {
  guint items;   /* of a group */
  guint a_group; /* values that a group takes */
  guint groups;
} TdValueGroups;

static inline TdValueGroups
td_value_groups (const TdDeviceInfo *info, guint n)
{
  /* Where an item is a group, it takes as much as keeps a processor's vectors busy. */
  const guint items = info->cpu_shaped ? 1 : MIN (256, info->max_group_size);
  const guint a_group = info->cpu_shaped ? 4096 : items * 16;

  return (TdValueGroups) { items, a_group, (n + a_group - 1) / a_group };
}
