/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <json-glib/json-glib.h>

#include "compute/engine/plan.h"

/* Says how long a cluster would take for @plan, for every grid of its ranks, the fastest first.
   @cluster names a profile, or it is a machine as td_model_machine_parse() takes it. The function
   adds the member "cluster" to @json; if that is NULL, it prints to standard output. FALSE with
   @error: there is no such cluster.
 */
gboolean td_cli_plan_cluster (const TdScan *scan, const TdPlan *plan, const char *cluster,
                              JsonObject *json, GError **error);
