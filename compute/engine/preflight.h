/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "plan.h"

/* What a reconstruction would take on each device, before it runs. */

/* The plan on one device. */
typedef struct {
  char *id, *name;
  double estimate_s; /* 0: not known yet */
  TdPlanTimes times;
  guint64 host_bytes, device_bytes;
  TdMessage *problem; /* why it cannot be done there, and what to change; NULL: it can */
} TdPreflight;

/* @recipe on each device of the machine; what is not available is left out. The axis is not
   searched: it changes neither memory nor time much. Blocks on drivers; any thread. (element-type
   TdPreflight) (transfer full); NULL: cancelled. */
GPtrArray *td_preflight_devices (TdEngine *engine, TdScan *scan, const TdRecipe *recipe,
                                 const char *output, GCancellable *cancellable, GError **error);
