/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <json-glib/json-glib.h>

#include "compute/engine/plan.h"

/* What a cluster would take for @plan: every grid of its ranks, the fastest first. @cluster: a
   profile's name, or a machine as td_model_machine_parse() takes it. Prints to standard output, or
   adds the member "cluster" to @json (NULL: prints). FALSE with @error: there is no such cluster.
 */
gboolean td_cli_plan_cluster (const TdScan *scan, const TdPlan *plan, const char *cluster,
                              JsonObject *json, GError **error);
