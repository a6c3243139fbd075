/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <json-glib/json-glib.h>
#include <math.h>
#include <string.h>

#include "cli-recipe.h"
#include "cli-verbs.h"
#include "compute/engine/preflight.h"
#include "compute/methods/methods.h"
#include "dataset/json-walk.h"
#include "dataset/output.h"
#include "dataset/unit.h"
#include "cli.h"
#include "cluster/model.h"
#include "cluster/profile.h"
#include "compute/engine/plan.h"

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

/* Says how long a cluster would take for @plan, for every grid of its ranks, the fastest first.
   @cluster is how somebody called @machine. The function adds the member "cluster" to @json; if
   that is NULL, it prints to standard output. Of a method that iterates it says that nothing is
   predicted. */
static void
cli_plan_cluster (const TdScan *scan, const TdPlan *plan, const char *cluster,
                  const TdModelMachine *machine, JsonObject *json)
{
  const TdScanFacts *facts = td_scan_facts (scan);
  const TdModelProblem problem
      = td_model_problem (facts, td_plan_facts (plan), td_plan_recipe (plan));
  const gboolean parallel = facts->geometry.beam == TD_BEAM_PARALLEL;
  const TdClusterMode modes[] = { parallel ? TD_CLUSTER_SLICES : TD_CLUSTER_SLAB, TD_CLUSTER_IFDK };

  if (td_method_iterates (td_plan_recipe (plan)->method)) {
    td_cli_say ("note: a cluster's time is predicted of filtered methods only, and %s iterates",
                td_plan_facts (plan)->method);
    return;
  }
  JsonObject *found = json ? json_object_new () : NULL;
  g_autofree char *described = td_model_machine_describe (machine);
  if (!json)
    td_cli_print ("%s", described);
  if (machine->shared > 0)
    td_cli_say ("note: the devices of \"%s\" are the processors that read, filter and exchange, "
                "too: threads wait for their turns, so that of the stages only back-project is "
                "predicted",
                cluster);
  for (guint i = 0; i < (parallel ? 1 : G_N_ELEMENTS (modes)); i++) {
    g_autoptr (GArray) grids = td_model_grids (machine, &problem, modes[i]);
    if (json)
      json_object_set_array_member (found, td_cluster_mode_name (modes[i]),
                                    plan_cluster_json (grids, machine->shared > 0));
    else
      plan_cluster_print (modes[i], grids, machine->shared > 0);
  }
  if (json)
    json_object_set_object_member (json, "cluster", found);
}

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

/* Nothing, if no stage's time is known. */
static void
cli_plan_print_stages (const TdPlan *plan)
{
  TdPlanTimes times;

  td_plan_times (plan, &times);
  g_autofree char *read = td_cli_duration (times.read);
  g_autofree char *compute = td_cli_duration (times.compute);
  g_autofree char *write = td_cli_duration (times.write);
  if (!isnan (times.read) || !isnan (times.compute) || !isnan (times.write))
    td_cli_print ("  stages   reading %s, computing %s, writing %s; they overlap\n", read, compute,
                  write);
}

/* What each device would take, as text or into @json (nullable). */
static gboolean
cli_plan_devices (TdEngine *engine, TdScan *scan, const TdRecipe *recipe, JsonObject *json,
                  GError **error)
{
  g_autoptr (GPtrArray) rows
      = td_preflight_devices (engine, scan, recipe, ".tomodesk-plan", td_cli_cancellable (), error);
  JsonArray *list = json ? json_array_new () : NULL;

  if (!rows) {
    g_clear_pointer (&list, json_array_unref);
    return FALSE;
  }
  for (guint i = 0; i < rows->len; i++) {
    const TdPreflight *row = rows->pdata[i];
    g_autofree char *problem = row->problem ? td_message_text (row->problem, NULL) : NULL;
    g_autofree char *time
        = row->estimate_s > 0 ? td_cli_duration (row->estimate_s) : g_strdup ("time not known yet");
    g_autofree char *host = td_memory_text (row->host_bytes);
    g_autofree char *device = td_memory_text (row->device_bytes);
    if (!json && problem)
      td_cli_print ("  %-10s cannot: %s\n", row->id, problem);
    else if (!json)
      td_cli_print ("  %-10s %s, %s on the host, %s on the device\n", row->id, time, host, device);
    if (!json)
      continue;
    JsonObject *object = json_object_new ();
    json_object_set_string_member (object, "id", row->id);
    if (row->estimate_s > 0)
      json_object_set_double_member (object, "estimate_seconds", row->estimate_s);
    else
      json_object_set_null_member (object, "estimate_seconds");
    json_object_set_int_member (object, "host_bytes", (gint64) row->host_bytes);
    json_object_set_int_member (object, "device_bytes", (gint64) row->device_bytes);
    json_object_set_string_member (object, "problem", problem);
    json_array_add_object_element (list, object);
  }
  if (json)
    json_object_set_array_member (json, "each_device", list);
  return TRUE;
}

/* "about 3 ms", but "less than 1 ms". */
static char *
cli_plan_about (double seconds)
{
  g_autofree char *time = td_cli_duration (seconds);

  return g_strconcat (seconds < TD_CLI_LEAST_S ? "" : "about ", time, NULL);
}

static void
cli_plan_print_ways (const TdPlanFacts *facts)
{
  for (guint i = 0; i < facts->n_ways; i++) {
    const TdPlanWay *way = &facts->ways[i];
    td_cli_print ("  %s %s, %s kernel, %s: exact to %.2g", i ? "        " : "accuracy", way->method,
                  way->family, td_precision_names[way->precision], way->error_bound);
    if (i == 0)
      td_cli_print (", taken");
    else
      td_cli_print (", %.2g times the computing", way->cost);
    if (i > 0 && way->estimate_s > 0) {
      g_autofree char *time = cli_plan_about (way->estimate_s);
      td_cli_print (", %s", time);
    }
    td_cli_print ("\n");
  }
}

static void
cli_plan_print_text (const TdPlan *plan)
{
  const TdPlanFacts *facts = td_plan_facts (plan);
  const TdRecipe *recipe = td_plan_recipe (plan);
  g_autofree char *devices = g_strjoinv (", ", facts->devices);
  g_autofree char *reads = g_format_size (facts->read_bytes);
  g_autofree char *writes = g_format_size (facts->write_bytes);
  g_autofree char *host = td_memory_text (facts->host_bytes);
  g_autofree char *device = td_memory_text (facts->device_bytes);
  g_autofree char *time = cli_plan_about (facts->estimate_s);
  const gboolean iterates = td_method_iterates (recipe->method);

  td_cli_print ("  method   %s on %s, kernel %s", facts->method, devices, facts->family);
  if (!iterates)
    td_cli_print (", %s interpolation", td_interpolation_names[recipe->interpolation]);
  td_cli_print ("\n");
  cli_plan_print_ways (facts);
  td_cli_print ("  slices   %u of %u × %u pixels, from row %u\n", facts->n_slices, facts->nx,
                facts->ny, recipe->row_first);
  if (isfinite (facts->centre_px))
    td_cli_print ("  centre   column %.3f\n", facts->centre_px);
  else
    td_cli_print ("  centre   no column: the detector lies on its side\n");
  td_cli_print ("  values   in %s\n", facts->units);
  if (!iterates)
    td_cli_print ("  filter   %s, cut-off %g\n", td_filter_names[recipe->filter.kind],
                  recipe->filter.cutoff);
  td_cli_print ("  prepare  ");
  for (guint i = 0, shown = 0; i < recipe->n_steps; i++)
    if (recipe->steps[i].enabled)
      td_cli_print ("%s%s", shown++ ? ", " : "", recipe->steps[i].name);
  td_cli_print ("\n  slabs    %u of up to %u slice%s\n", facts->n_slabs, facts->slab_slices,
                facts->slab_slices == 1 ? "" : "s");
  td_cli_print ("  memory   %s on the host, %s on each device\n", host, device);
  td_cli_print ("  disk     %s to read, %s to write\n", reads, writes);
  if (facts->estimate_s > 0)
    td_cli_print ("  time     %s\n", time);
  else
    td_cli_print ("  time     not known yet: no such job has run on this device and storage\n");
  cli_plan_print_stages (plan);
  td_cli_print_notes ("  note     ", facts->notes);
}

/* What besides the plan is asked for. */
typedef struct {
  char *cluster; /* NULL: none */
  char *output;  /* NULL: into this folder */
  gboolean each_device, json;
} Options;

/* The plan as JSON, with what else is asked for. (transfer full) */
static char *
cli_plan_json (TdEngine *engine, TdScan *scan, const TdPlan *plan, const TdRecipe *recipe,
               const Options *options, const TdModelMachine *machine, GError **error)
{
  g_autofree char *text = td_plan_to_json (plan);
  g_autoptr (JsonNode) root = json_from_string (text, error);

  if (!root)
    return NULL;
  JsonObject *object = json_node_get_object (root);
  if (options->cluster)
    cli_plan_cluster (scan, plan, options->cluster, machine, object);
  if (options->each_device && !cli_plan_devices (engine, scan, recipe, object, error))
    return NULL;
  return td_json_text (root, TRUE);
}

static int
plan_scan (TdCliRecipe *recipe, const char *path, const Options *options)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TdScan) scan = td_scan_open (path, &recipe->scan, td_cli_cancellable (), &error);
  TdModelMachine machine;

  if (!scan || (options->cluster && !plan_cluster_machine (options->cluster, &machine, &error)))
    return td_cli_fail (error);
  const int status = td_cli_recipe_check (recipe, "plan", td_scan_facts (scan));
  if (status >= 0)
    return status;
  g_autoptr (TdEngine) engine = td_engine_new (td_methods);
  /* The output's size is part of the plan, wherever it goes. */
  g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe->recipe,
                                         options->output ? options->output : ".tomodesk-plan",
                                         td_cli_cancellable (), &error);
  if (!plan
      || (options->output
          && !td_output_has_room (options->output, td_plan_facts (plan)->write_bytes, &error)))
    return td_cli_fail (error);
  if (options->json) {
    g_autofree char *text
        = cli_plan_json (engine, scan, plan, &recipe->recipe, options, &machine, &error);
    return text ? td_cli_print_text (text) : td_cli_fail (error);
  }
  td_cli_print ("%s\n", path);
  cli_plan_print_text (plan);
  if (options->cluster)
    cli_plan_cluster (scan, plan, options->cluster, &machine, NULL);
  if (options->each_device && !cli_plan_devices (engine, scan, &recipe->recipe, NULL, &error))
    return td_cli_fail (error);
  return TD_CLI_DONE;
}

int
td_cli_plan (int argc, char **argv)
{
  Options options = { NULL };
  const GOptionEntry entries[] = {
    { "output", 'o', 0, G_OPTION_ARG_FILENAME, &options.output,
      "Where the volume would go: the time is for that storage (this folder's)", "PATH" },
    { "cluster", 0, 0, G_OPTION_ARG_STRING, &options.cluster,
      "What a cluster would take: a profile, or \"nodes:4 gpu:8 store:10G\"", "CLUSTER" },
    { "each-device", 0, 0, G_OPTION_ARG_NONE, &options.each_device,
      "Also what each device of this computer would take", NULL },
    { "json", 0, 0, G_OPTION_ARG_NONE, &options.json, "Print one JSON object", NULL },
    { NULL },
  };
  const char *path = NULL;
  g_auto (TdCliRecipe) recipe = { 0 };

  int status = td_cli_recipe_parse (&recipe, TD_CLI_SCAN | TD_CLI_RECIPE, argc, argv, &help,
                                    entries, &path);
  return status < 0 ? plan_scan (&recipe, path, &options) : status;
}
