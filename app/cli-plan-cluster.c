/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli-plan-cluster.h"

#include <string.h>

#include "cli.h"
#include "cluster/model.h"
#include "cluster/profile.h"

/* Grids shown of each mode. */
#define SHOWN 6

/* A profile has nodes and ranks; constants are those of a file or a preset. */
static gboolean
plan_cluster_machine (const char *cluster, TdModelMachine *machine, GError **error)
{
  g_autoptr (GError) reason = NULL;
  g_autoptr (TdClusterProfile) profile = td_cluster_profile_find (cluster, &reason);

  if (!profile)
    return td_model_machine_parse (machine, cluster, error);
  g_autofree char *measured = td_cluster_profile_machine_file (cluster);
  const gboolean there = g_file_test (measured, G_FILE_TEST_EXISTS);
  if (!td_model_machine_parse (machine, there ? measured : "", error))
    return FALSE;
  if (!there)
    td_cli_say ("note: \"%s\" was never measured, its speeds are guesses: \"tomodesk-cli profiles "
                "benchmark %s\" measures it",
                cluster, cluster);
  machine->nodes = MAX (1, profile->nodes);
  machine->ranks = MAX (1, td_cluster_profile_ranks (profile) / machine->nodes);
  return TRUE;
}

typedef struct {
  const char *name;
  double seconds;
} Stage;

#define N_STAGES 8

static void
plan_cluster_stages (const TdModelTimes *times, Stage stages[N_STAGES])
{
  const Stage all[N_STAGES]
      = { { "load", times->load },         { "filter", times->filter },
          { "gather", times->gather },     { "back-project", times->back_project },
          { "download", times->download }, { "reduce", times->reduce },
          { "store", times->store },       { "fill", times->fill } };

  memcpy (stages, all, sizeof all);
}

/* Of @shared processors only one stage can be told. */
static gboolean
plan_cluster_tells (const Stage *stage, gboolean shared)
{
  return stage->seconds > 0 && (!shared || strcmp (stage->name, "back-project") == 0);
}

static void
plan_cluster_print (TdClusterMode mode, const GArray *grids, gboolean shared)
{
  Stage stages[N_STAGES];

  for (guint i = 0; i < MIN (grids->len, SHOWN); i++) {
    const TdModelGrid *grid = &g_array_index (grids, TdModelGrid, i);
    plan_cluster_stages (&grid->times, stages);
    td_cli_print ("  %-8s %u × %u: %.3g s, bound by %s%s\n           ", td_cluster_mode_name (mode),
                  grid->rows, grid->columns, grid->times.total, grid->times.bound,
                  i == 0 ? "; the fastest" : "");
    for (guint k = 0; k < N_STAGES; k++)
      if (plan_cluster_tells (&stages[k], shared))
        td_cli_print (" %s %.3g", stages[k].name, stages[k].seconds);
    td_cli_print ("\n");
  }
}

static JsonArray *
plan_cluster_json (const GArray *grids, gboolean shared)
{
  JsonArray *list = json_array_new ();
  Stage stages[N_STAGES];

  for (guint i = 0; i < grids->len; i++) {
    const TdModelGrid *grid = &g_array_index (grids, TdModelGrid, i);
    JsonObject *object = json_object_new (), *times = json_object_new ();
    json_object_set_int_member (object, "rows", grid->rows);
    json_object_set_int_member (object, "columns", grid->columns);
    json_object_set_double_member (object, "seconds", grid->times.total);
    json_object_set_string_member (object, "bound", grid->times.bound);
    plan_cluster_stages (&grid->times, stages);
    for (guint k = 0; k < N_STAGES; k++)
      if (plan_cluster_tells (&stages[k], shared) || !shared)
        json_object_set_double_member (times, stages[k].name, stages[k].seconds);
    json_object_set_object_member (object, "stages", times);
    json_array_add_object_element (list, object);
  }
  return list;
}

gboolean
td_cli_plan_cluster (const TdScan *scan, const TdPlan *plan, const char *cluster, JsonObject *json,
                     GError **error)
{
  const TdScanFacts *facts = td_scan_facts (scan);
  const TdModelProblem problem
      = td_model_problem (facts, td_plan_facts (plan), td_plan_recipe (plan));
  const gboolean parallel = facts->geometry.beam == TD_BEAM_PARALLEL;
  const TdClusterMode modes[] = { parallel ? TD_CLUSTER_SLICES : TD_CLUSTER_SLAB, TD_CLUSTER_IFDK };
  JsonObject *found = json ? json_object_new () : NULL;
  TdModelMachine machine;

  if (!plan_cluster_machine (cluster, &machine, error))
    return FALSE;
  g_autofree char *described = td_model_machine_describe (&machine);
  if (!json)
    td_cli_print ("%s", described);
  if (machine.shared > 0)
    td_cli_say ("note: the devices of \"%s\" are the processors that read, filter and exchange, "
                "too: threads wait for their turns, so that of the stages only back-project is "
                "predicted",
                cluster);
  for (guint i = 0; i < (parallel ? 1 : G_N_ELEMENTS (modes)); i++) {
    g_autoptr (GArray) grids = td_model_grids (&machine, &problem, modes[i]);
    if (json)
      json_object_set_array_member (found, td_cluster_mode_name (modes[i]),
                                    plan_cluster_json (grids, machine.shared > 0));
    else
      plan_cluster_print (modes[i], grids, machine.shared > 0);
  }
  if (json)
    json_object_set_object_member (json, "cluster", found);
  return TRUE;
}
