/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

typedef struct TdPlan TdPlan; /* plan.h */

/* Seconds of each stage of a plan alone, by rates that jobs on this machine reached; the stages
   overlap. NAN: no job has shown it, "not known yet". */
typedef struct {
  double read, compute, write;
  double first; /* of the reading: before the first slab, so that nothing overlaps it */
} TdPlanTimes;

/* Any thread. */
void td_plan_times (const TdPlan *plan, TdPlanTimes *times);
