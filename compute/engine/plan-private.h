/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/axis/axis-line.h"
#include "compute/prepare/prepare.h"
#include "method.h"

/* What plan.c offers to the methods while they fill a plan. */

void td_plan_note (TdPlan *plan, const char *id, ...) G_GNUC_PRINTF (2, 3);
/* The recipe's region, if it has one, lies within slices of nx × ny pixels. */
gboolean td_plan_check_region (const TdPlan *plan, guint nx, guint ny, GError **error);
/* Bytes of the files read for @n_rows rows of plan->scan, all views. */
guint64 td_plan_read_bytes (const TdPlan *plan, guint n_rows);
/* A handle of @device with an account that holds what the recipe's limits say. (transfer full) */
TdDevice *td_plan_account (const TdRecipe *recipe, TdDevice *device);
/* The host with the plan's account, whether or not it is one of the plan's devices. (transfer full)
 */
TdDevice *td_plan_host (const TdPlan *plan, GError **error);
/* Host memory the job may take: the recipe's limit, else most of what is free. */
guint64 td_plan_host_budget (const TdPlan *plan);
/* What a process has besides what a plan counts: threads' stacks, FFT plans, the readers' and
   writers' own buffers, and a run-time compiler for each CPU device that has one. */
guint64 td_plan_own_bytes (GPtrArray *devices);
/* Seconds, by the rate given and those that earlier jobs left; 0: not known. The longest of
   reading, computing and writing, for they overlap. */
double td_plan_estimate (TdPlan *plan, double updates_per_s);

/* plan-centre.c: makes the recipe's centre a number: given, stated by the scan, or found. */
gboolean td_plan_resolve_centre (TdPlan *plan, GCancellable *cancellable, GError **error);
/* The recipe's axis in columns and rows of plan->scan. */
TdAxisLine td_plan_axis (const TdPlan *plan);
