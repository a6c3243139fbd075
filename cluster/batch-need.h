/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/engine/plan-times.h"
#include "compute/engine/plan.h"

/* What scans of a batch take, one or all of them, before anything runs. Any thread. */

/* Of one scan, zeros: it takes nothing. */
typedef struct {
  guint nx, ny, n_slices;
  guint64 host_bytes, device_bytes, write_bytes;
  guint64 room_bytes; /* free room that it wants: a volume that is replaced gives its own */
  TdPlanTimes times;
  double estimate_s; /* NAN: not known yet on this machine */
} TdBatchNeed;

void td_batch_need_of_plan (const TdPlan *plan, const char *output, TdBatchNeed *need);
/* One scan is computed after the other: memory is that of the largest, all else adds up. What is
   not known of one is not known of all. */
void td_batch_need_add (TdBatchNeed *all, const TdBatchNeed *one);
/* FALSE with @error, which says what to change: the volumes of @all have no room in @folder. */
gboolean td_batch_need_fits (const TdBatchNeed *all, const char *folder, GError **error);
