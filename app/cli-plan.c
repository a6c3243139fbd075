/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>

#include "cli-plan-cluster.h"
#include "cli-recipe.h"
#include "cli-verbs.h"
#include "compute/engine/plan.h"
#include "compute/methods/methods.h"
#include "dataset/json-text.h"

static const TdCliHelp help = {
  "SCAN [OPTION…]",
  "Says what a reconstruction would do, without doing it: slabs, memory, bytes read and written, "
  "and\n"
  "the time, once a job on this machine has shown how fast it is. Refuses what cannot work.",
  "  tomodesk-cli plan scan.nxs\n"
  "  Will it fit into 8 GB?\n"
  "    tomodesk-cli plan scan.nxs --memory-limit 8G --device cuda:0\n"
  "  The recipe with every automatic choice made, to keep and run later:\n"
  "    tomodesk-cli plan scan.nxs --filter hann --json | jq .recipe > hann.json\n"
  "    tomodesk-cli reconstruct scan.nxs --recipe hann.json --output slices\n"
  "  How long eight cards would take, for every way to share the work:\n"
  "    tomodesk-cli plan cone.nxs --cluster \"h100 nodes:1 gpu:8 store:10G\"\n",
};

static void
cli_plan_print_text (const TdPlan *plan)
{
  const TdPlanFacts *facts = td_plan_facts (plan);
  const TdRecipe *recipe = td_plan_recipe (plan);
  g_autofree char *devices = g_strjoinv (", ", facts->devices);
  g_autofree char *reads = g_format_size (facts->read_bytes);
  g_autofree char *writes = g_format_size (facts->write_bytes);
  g_autofree char *host = g_format_size (facts->host_bytes);
  g_autofree char *device = g_format_size (facts->device_bytes);
  g_autofree char *time = td_cli_duration (facts->estimate_s);
  const gboolean iterates = td_method_iterates (recipe->method);

  td_cli_print ("  method   %s on %s, kernel %s", facts->method, devices, facts->family);
  if (!iterates)
    td_cli_print (", %s interpolation", td_interpolation_name (recipe->interpolation));
  td_cli_print ("\n");
  td_cli_print ("  slices   %u of %u × %u pixels, from row %u\n", facts->n_slices, facts->nx,
                facts->ny, recipe->row_first);
  td_cli_print ("  centre   column %.3f\n", facts->centre_px);
  td_cli_print ("  values   in %s\n", facts->units);
  if (!iterates)
    td_cli_print ("  filter   %s, cut-off %g\n", td_filter_name (recipe->filter.kind),
                  recipe->filter.cutoff);
  td_cli_print ("  prepare  ");
  for (guint i = 0, shown = 0; i < recipe->n_steps; i++)
    if (recipe->steps[i].enabled)
      td_cli_print ("%s%s", shown++ ? ", " : "", recipe->steps[i].name);
  td_cli_print ("\n  slabs    %u of up to %u slices\n", facts->n_slabs, facts->slab_slices);
  td_cli_print ("  memory   %s on the host, %s on each device\n", host, device);
  td_cli_print ("  disk     %s to read, %s to write\n", reads, writes);
  if (facts->estimate_s > 0)
    td_cli_print ("  time     about %s\n", time);
  else
    td_cli_print ("  time     not known yet: no job has run on this device\n");
  td_cli_print_notes ("  note     ", facts->notes);
}

/* The plan as JSON, with what @cluster (NULL: none) would take. (transfer full) */
static char *
cli_plan_json (const TdScan *scan, const TdPlan *plan, const char *cluster, GError **error)
{
  g_autofree char *text = td_plan_to_json (plan);
  g_autoptr (JsonNode) root = cluster ? json_from_string (text, error) : NULL;

  if (!cluster)
    return g_steal_pointer (&text);
  if (!root || !td_cli_plan_cluster (scan, plan, cluster, json_node_get_object (root), error))
    return NULL;
  return td_json_text (root, TRUE);
}

static int
plan_scan (TdCliRecipe *recipe, const char *path, const char *cluster, gboolean json)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TdScan) scan = td_scan_open (path, &recipe->scan, td_cli_cancellable (), &error);

  if (!scan)
    return td_cli_fail (error);
  const int status = td_cli_recipe_check (recipe, "plan", td_scan_facts (scan));
  if (status >= 0)
    return status;
  g_autoptr (TdEngine) engine = td_engine_new (td_methods);
  /* The output's size is part of the plan; where it goes is not. */
  g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe->recipe, ".tomodesk-plan",
                                         td_cli_cancellable (), &error);
  if (!plan)
    return td_cli_fail (error);
  if (json) {
    g_autofree char *text = cli_plan_json (scan, plan, cluster, &error);
    return text ? td_cli_print_text (text) : td_cli_fail (error);
  }
  td_cli_print ("%s\n", path);
  cli_plan_print_text (plan);
  td_cli_print_notes ("  note     ", td_scan_facts (scan)->notes);
  if (cluster && !td_cli_plan_cluster (scan, plan, cluster, NULL, &error))
    return td_cli_fail (error);
  return TD_CLI_DONE;
}

int
td_cli_plan (int argc, char **argv)
{
  gboolean json = FALSE;
  g_autofree char *cluster = NULL;
  const GOptionEntry entries[] = {
    { "cluster", 0, 0, G_OPTION_ARG_STRING, &cluster,
      "What a cluster would take: a profile, or \"nodes:4 gpu:8 store:10G\"", "CLUSTER" },
    { "json", 0, 0, G_OPTION_ARG_NONE, &json, "Print one JSON object", NULL },
    { NULL },
  };
  const char *path = NULL;
  g_auto (TdCliRecipe) recipe = { 0 };

  int status = td_cli_recipe_parse (&recipe, TD_CLI_SCAN | TD_CLI_RECIPE, argc, argv, &help,
                                    entries, &path);
  if (status < 0)
    status = plan_scan (&recipe, path, cluster, json);
  return status;
}
