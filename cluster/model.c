/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dataset/error.h"
#include "dataset/sort.h"
#include "dataset/text-file.h"
#include "grid.h"

/* ── Machines ── */

typedef struct {
  const char *name;
  gsize offset;
  const char *unit; /* of costs */
} Field;

#define FIELD(member) G_STRUCT_OFFSET (TdModelMachine, member)

static const Field model_costs[] = {
  { "load", FIELD (load), "byte" },       { "filter", FIELD (filter), "byte" },
  { "copy", FIELD (copy), "byte" },       { "network", FIELD (network), "byte" },
  { "update", FIELD (update), "update" }, { "group", FIELD (group), "update" },
  { "link", FIELD (link), "byte" },       { "reduce", FIELD (reduce), "byte" },
  { "store", FIELD (store), "byte" },     { "stack", FIELD (stack), "byte" },
  { "added", FIELD (added), "byte" },
};

static const Field model_numbers[] = {
  { "memory", FIELD (memory_bytes) }, { "column", FIELD (column) },
  { "overlap", FIELD (overlap) },     { "start", FIELD (start_s) },
  { "widening", FIELD (widening_s) }, { "queue", FIELD (queue_s) },
  { "shared", FIELD (shared) },       { "apart", FIELD (apart) },
};

static const Field model_counts[] = {
  { "nodes", FIELD (nodes) },
  { "gpu", FIELD (ranks) },
  { "ranks", FIELD (ranks) },
  { "links", FIELD (links) },
};

/* abci: section 5.1 and Table 5. Two links of 11.9 GB/s, 8 GB reduced in 2.7 s and 28.5 GB/s to
   storage are the paper's own figures. Table 5 gives the others. Filtering is that of 4096
   projections on 8 nodes. The all-gather has 7 GB/s into a node and 12.7 GB/s between its ranks.
   The kernel follows from sub-volumes of 128 and of 32 slices. The table also gives how much of the
   shorter stages is not hidden, and the start. What follows the computing goes on one after the
   other there (Equations 18 and 19).
   h100: kernel, filter and link were measured on one card; the rest are round figures. */
static const struct {
  const char *name, *words;
} model_presets[] = {
  { "abci",
    "nodes:64 gpu:4 links:2 memory:16G load:105G filter:1.54G copy:12.7G network:7G update:259G "
    "column:35.3 link:11.9G reduce:3.18G store:28.5G overlap:0.4 start:1.5 apart:1" },
  { "h100",
    "nodes:1 gpu:8 links:8 memory:80G load:10G filter:50G copy:100G network:25G update:1.84T "
    "column:0 link:50G reduce:10G store:10G overlap:0.1" },
};

/* "3", "10G", "1.84T"; FALSE: no such number from 0 on. */
static gboolean
model_parse_number (const char *text, double *value)
{
  static const char suffixes[] = "kMGT";
  char *end;

  *value = g_ascii_strtod (text, &end);
  if (end == text) /* a letter alone is no 0 */
    return FALSE;
  const char *suffix = *end ? strchr (suffixes, *end) : NULL;
  if (suffix) {
    *value *= pow (1000, suffix - suffixes + 1);
    end++;
  }
  return *end == '\0' && isfinite (*value) && *value >= 0;
}

static gboolean
model_parse_cost (const char *text, TdModelCost *cost)
{
  const char *plus = strchr (text, '+');
  g_autofree char *first = plus ? g_strndup (text, (gsize) (plus - text)) : NULL;
  double rate;

  cost->c = 0;
  if (first && !model_parse_number (first, &cost->c))
    return FALSE;
  if (!model_parse_number (plus ? plus + 1 : text, &rate) || rate <= 0)
    return FALSE;
  cost->m = 1 / rate;
  return TRUE;
}

/* FALSE: no such key, or the value is none. */
static gboolean
model_take_word (TdModelMachine *machine, const char *key, const char *value)
{
  double number;

  for (guint i = 0; i < G_N_ELEMENTS (model_costs); i++)
    if (strcmp (key, model_costs[i].name) == 0)
      return model_parse_cost (value,
                               &G_STRUCT_MEMBER (TdModelCost, machine, model_costs[i].offset));
  for (guint i = 0; i < G_N_ELEMENTS (model_numbers); i++)
    if (strcmp (key, model_numbers[i].name) == 0)
      return model_parse_number (value,
                                 &G_STRUCT_MEMBER (double, machine, model_numbers[i].offset));
  for (guint i = 0; i < G_N_ELEMENTS (model_counts); i++)
    if (strcmp (key, model_counts[i].name) == 0 && model_parse_number (value, &number)
        && number >= 1 && number <= 1e6 && number == floor (number)) {
      G_STRUCT_MEMBER (guint, machine, model_counts[i].offset) = (guint) number;
      return TRUE;
    }
  return FALSE;
}

static const char *
model_preset (const char *name)
{
  for (guint i = 0; i < G_N_ELEMENTS (model_presets); i++)
    if (strcmp (name, model_presets[i].name) == 0)
      return model_presets[i].words;
  return NULL;
}

static gboolean
model_take_words (TdModelMachine *machine, const char *text, GError **error)
{
  g_auto (GStrv) words = g_strsplit_set (text, " \t\r\n,", -1);

  for (guint i = 0; words[i]; i++) {
    const char *preset = model_preset (words[i]), *colon = strchr (words[i], ':');
    g_autofree char *key = colon ? g_strndup (words[i], (gsize) (colon - words[i])) : NULL;
    const gboolean good = !*words[i] ? TRUE
                          : preset   ? model_take_words (machine, preset, error)
                          : colon    ? model_take_word (machine, key, colon + 1)
                                     : FALSE;
    if (good)
      continue;
    return td_set_error (
        error, TD_ERROR_INVALID,
        "“%s” says nothing of a cluster: give a preset (abci, h100), a file of such words, "
        "or words such as nodes:4, gpu:8, memory:80G, load:10G, update:1.8T and store:10G",
        words[i]);
  }
  return TRUE;
}

gboolean
td_model_machine_parse (TdModelMachine *machine, const char *text, GError **error)
{
  g_autofree char *file = NULL;

  *machine = (TdModelMachine) { 0 };
  if (!model_take_words (machine, "h100", error))
    return FALSE;
  if (strchr (text, '/') || g_file_test (text, G_FILE_TEST_IS_REGULAR)) {
    file = td_text_load (text, 1 << 16, error);
    if (!file)
      return FALSE;
  }
  return model_take_words (machine, file ? file : text, error)
         || (file && td_error_blame_file (error));
}

char *
td_model_machine_words (const TdModelMachine *machine)
{
  GString *text = g_string_new (NULL);

  g_string_append_printf (text, "nodes:%u ranks:%u links:%u", machine->nodes, machine->ranks,
                          machine->links);
  for (guint i = 0; i < G_N_ELEMENTS (model_numbers); i++)
    g_string_append_printf (text, " %s:%.9g", model_numbers[i].name,
                            G_STRUCT_MEMBER (double, machine, model_numbers[i].offset));
  for (guint i = 0; i < G_N_ELEMENTS (model_costs); i++) {
    const TdModelCost *cost = &G_STRUCT_MEMBER (TdModelCost, machine, model_costs[i].offset);
    if (cost->m > 0)
      g_string_append_printf (text, " %s:%.9f+%.6g", model_costs[i].name, cost->c, 1 / cost->m);
  }
  return g_string_free (text, FALSE);
}

char *
td_model_machine_describe (const TdModelMachine *machine)
{
  GString *text = g_string_new (NULL);

  g_string_append_printf (text, "%u nodes of %u devices with %.4g GB and %u links\n",
                          machine->nodes, machine->ranks, machine->memory_bytes * 1e-9,
                          machine->links);
  for (guint i = 0; i < G_N_ELEMENTS (model_costs); i++) {
    const TdModelCost *cost = &G_STRUCT_MEMBER (TdModelCost, machine, model_costs[i].offset);
    if (cost->m > 0)
      g_string_append_printf (text, "%-8s %.3g s + %.3g s a %s\n", model_costs[i].name, cost->c,
                              cost->m, model_costs[i].unit);
  }
  return g_string_free (text, FALSE);
}

TdModelProblem
td_model_problem (const TdScanFacts *scan, const TdPlanFacts *plan, const TdRecipe *recipe)
{
  const double distance = scan->geometry.source_axis_mm;

  return (TdModelProblem) {
    .n_columns = plan->n_columns,
    .n_rows = plan->n_rows,
    .n_views = plan->n_views,
    .nx = plan->nx,
    .ny = plan->ny,
    .nz = plan->n_slices,
    .sample_bytes = (guint) td_sample_size (scan->sample_type),
    .voxel_bytes = recipe->output_bits / 8,
    .slab_slices = plan->slab_slices,
    .together = plan->symmetric_views,
    .sent_once = plan->sent_once,
    .stack = recipe->output_format == TD_VOLUME_TIFF_STACK,
    .fan = distance > 0 && plan->pixel_mm > 0 ? plan->nx * plan->pixel_mm / 2 / distance : 0,
  };
}

/* ── Stages ── */

static double
model_cost_of (const TdModelCost *cost, double n)
{
  return n > 0 ? cost->c + cost->m * n : 0;
}

static double
model_projection_bytes (const TdModelProblem *problem)
{
  return (double) problem->n_columns * problem->n_rows * problem->n_views;
}

static double
model_voxels (const TdModelProblem *problem)
{
  return (double) problem->nx * problem->ny * problem->nz;
}

/* The detector rows that a slab of 1 / R of the slices sees, as a part of all, mean over the slabs.
   A slice at height z lies between rows z / (1 + k) and z / (1 - k), k the fan. */
static double
rows_seen (const TdModelProblem *problem, guint rows)
{
  const double k = MIN (problem->fan, 0.9);
  double sum = 0;

  for (guint r = 0; r < rows; r++) {
    const double low = 2.0 * r / rows - 1, high = 2.0 * (r + 1) / rows - 1;
    const double from = low < 0 ? low / (1 - k) : low / (1 + k);
    const double to = high > 0 ? high / (1 - k) : high / (1 + k);
    sum += MIN (MIN (to, 1) - MAX (from, -1), 2) / 2;
  }
  return sum / rows;
}

/* Slabs of a sub-volume. */
static guint
slabs_of (const TdModelProblem *problem, guint rows)
{
  const guint slices = (problem->nz + rows - 1) / rows;

  return problem->slab_slices ? (slices + problem->slab_slices - 1) / problem->slab_slices : 1;
}

static double
store_s (const TdModelMachine *machine, const TdModelProblem *problem, guint columns)
{
  const TdModelCost *each = columns > 1 && machine->added.m > 0 ? &machine->added : &machine->stack;
  const double slice = (double) problem->nx * problem->ny * problem->voxel_bytes;

  return problem->stack && each->m > 0 ? problem->nz * model_cost_of (each, slice)
                                       : model_cost_of (&machine->store, problem->nz * slice);
}

/* A rank's views, as ranks of one speed share them. */
static TdViewGroup
model_group (const TdModelProblem *problem, guint columns)
{
  g_autofree double *alike = g_new (double, columns);

  for (guint i = 0; i < columns; i++)
    alike[i] = 1;
  return td_grid_views (problem->n_views, problem->together, alike, columns, 0);
}

gboolean
td_model_groups_follow (const TdModelProblem *problem, guint columns)
{
  return columns > 1 && model_group (problem, columns).parts == 1;
}

/* Equation 12 without the upload: a column of voxels costs some voxels more. Of groups of views
   that follow each other a kernel cannot add those a quarter turn apart together. */
static double
back_project_s (const TdModelMachine *machine, const TdModelProblem *problem, guint rows,
                guint columns)
{
  const double slices = (double) problem->nz / rows;
  const gboolean group = machine->group.m > 0 && td_model_groups_follow (problem, columns);

  return model_cost_of (group ? &machine->group : &machine->update,
                        (double) problem->nx * problem->ny * (slices + machine->column)
                            * problem->n_views / columns);
}

/* Nodes that a grid takes, and the ranks on each. */
static guint
grid_nodes (const TdModelMachine *machine, guint ranks, guint *each)
{
  *each = MIN (machine->ranks, ranks);
  return (ranks + machine->ranks - 1) / machine->ranks;
}

/* Ranks of a node that belong to different columns get different views. The bytes of these views
   cross the network once each, and are then copied to every rank of the node. */
static double
gather_s (const TdModelMachine *machine, double bytes, guint rows, guint columns)
{
  guint each;
  const guint nodes = grid_nodes (machine, rows * columns, &each);

  if (rows == 1)
    return 0;
  return model_cost_of (&machine->copy, each * bytes)
         + (nodes > 1 ? model_cost_of (&machine->network, MIN (each, columns) * bytes) : 0);
}

static void
model_ifdk (const TdModelMachine *machine, const TdModelProblem *problem, guint rows, guint columns,
            TdModelTimes *times)
{
  guint each;
  grid_nodes (machine, rows * columns, &each);
  const double pixels = model_projection_bytes (problem), links = MIN (machine->links, each);

  times->load = model_cost_of (&machine->load, pixels * problem->sample_bytes);        /* Eq. 8 */
  times->filter = model_cost_of (&machine->filter, 4 * pixels / rows / columns);       /* Eq. 9 */
  times->gather = gather_s (machine, 4 * pixels / columns, rows, columns);             /* Eq. 10 */
  times->upload = model_cost_of (&machine->link, each / links * 4 * pixels / columns); /* Eq. 11 */
  times->back_project
      = times->upload + back_project_s (machine, problem, rows, columns); /* Eq. 12 */
  times->download = model_cost_of (&machine->link,
                                   each / links * 4 * model_voxels (problem) / rows); /* Eq. 14 */
  times->reduce = columns > 1 ? model_cost_of (&machine->reduce, 4 * model_voxels (problem) / rows)
                              : 0;                    /* Eq. 15 */
  times->store = store_s (machine, problem, columns); /* Eq. 16 */
}

/* Nothing is gathered: each rank reads and filters what its slab sees. Ranks exchange all but their
   own part of a sub-volume. */
static void
model_slab (const TdModelMachine *machine, const TdModelProblem *problem, guint rows, guint columns,
            TdModelTimes *times)
{
  guint each;
  grid_nodes (machine, rows * columns, &each);
  const double seen = rows_seen (problem, rows), links = MIN (machine->links, each);
  const double pixels = model_projection_bytes (problem) * seen / columns;
  /* A rank's card keeps the rows that it was sent, or each slab of a sub-volume is sent what it
     sees. */
  const guint slabs = rows * slabs_of (problem, rows);
  const double sent = problem->sent_once
                          ? pixels
                          : model_projection_bytes (problem) * rows_seen (problem, slabs) / columns
                                * slabs / rows;

  times->load = model_cost_of (&machine->load, pixels * problem->sample_bytes * rows * columns);
  times->filter = model_cost_of (&machine->filter, 4 * pixels);
  times->upload = model_cost_of (&machine->link, each / links * 4 * sent);
  times->back_project = back_project_s (machine, problem, rows, columns);
  times->download
      = model_cost_of (&machine->link, each / links * 4 * model_voxels (problem) / rows);
  times->reduce = model_cost_of (&machine->reduce,
                                 4 * model_voxels (problem) / rows * (columns - 1.0) / columns);
  times->store = store_s (machine, problem, columns);
}

/* ── Overlap ── */

typedef struct {
  const char *name;
  double seconds;
} Stage;

/* Equation 17, with the part of what comes before the longest stage that is not hidden: that stage
   waits for it now and then. */
static double
model_overlapped (const Stage *stages, guint n, double left, const char **bound)
{
  double longest = 0, before = 0, sum = 0;

  for (guint i = 0; i < n; i++) {
    if (stages[i].seconds > longest) {
      longest = stages[i].seconds;
      before = sum;
      *bound = stages[i].name;
    }
    sum += stages[i].seconds;
  }
  return longest + left * before;
}

/* What follows the back-projection takes its longest part: slices come down, are added and are
   stored a few at a time. */
static double
model_after (const TdModelTimes *times)
{
  return MAX (times->download, MAX (times->reduce, times->store));
}

/* The time before the first slab can be back-projected, and after the last one was. Slabs go
   through the three parts of the pipeline one after the other, within a part in small pieces. All
   slabs count in the longest part, one in each of the others. */
static double
model_fill (const TdModelTimes *times, guint slabs)
{
  const double before = MAX (times->load, MAX (times->filter, times->upload));
  const double middle = times->back_project, after = model_after (times);

  return (before + middle + after - MAX (before, MAX (middle, after))) / slabs;
}

/* Where whole views come one after the other, the first batch of views that are added together has
   to wait. All but the last part of the turn comes before it. Where they can come from all parts in
   turn, it need not. */
static double
model_waiting_part (const TdModelProblem *problem, guint columns)
{
  const TdViewGroup group = model_group (problem, columns);
  const gboolean waits
      = group.parts > 1 && !td_grid_gathered (TD_GRID_BATCH, group.count, group.parts);

  return waits ? 1 - 1.0 / group.parts : 0;
}

static double
model_start (const TdModelMachine *machine, const TdModelProblem *problem)
{
  return machine->start_s + machine->widening_s * problem->n_columns;
}

void
td_model_predict (const TdModelMachine *machine, const TdModelProblem *problem, TdClusterMode mode,
                  guint rows, guint columns, TdModelTimes *times)
{
  *times = (TdModelTimes) { 0 };
  if (mode == TD_CLUSTER_IFDK) {
    model_ifdk (machine, problem, rows, columns, times);
    const double waiting = model_waiting_part (problem, columns), beside = 1 - waiting;
    const Stage stages[] = { { "load", beside * times->load },
                             { "filter", beside * times->filter },
                             { "gather", beside * times->gather },
                             { "back-project", times->back_project } };
    times->compute
        = waiting * MAX (times->load, MAX (times->filter, times->gather))
          + model_overlapped (stages, G_N_ELEMENTS (stages), machine->overlap, &times->bound)
          + model_start (machine, problem);
    /* A sub-volume is one slab, which is fetched once all views are in it. */
    const double after
        = machine->apart > 0 ? times->download + times->reduce + times->store : model_after (times);
    times->total = times->compute + after + machine->queue_s;
    if (times->store > times->compute)
      times->bound = "store";
    return;
  }
  model_slab (machine, problem, rows, columns, times);
  const Stage stages[] = { { "load", times->load },         { "filter", times->filter },
                           { "upload", times->upload },     { "back-project", times->back_project },
                           { "download", times->download }, { "reduce", times->reduce },
                           { "store", times->store } };
  times->compute = model_overlapped (stages, G_N_ELEMENTS (stages), machine->overlap, &times->bound)
                   + model_start (machine, problem);
  times->fill = model_fill (times, slabs_of (problem, rows));
  times->total = times->compute + times->fill + machine->queue_s;
}

void
td_model_units (const TdModelMachine *machine, const TdModelProblem *problem, TdClusterMode mode,
                guint rows, guint columns, TdModelTimes *units)
{
  TdModelMachine one = *machine;

  one.column = one.overlap = one.start_s = one.widening_s = one.queue_s = 0;
  for (guint i = 0; i < G_N_ELEMENTS (model_costs); i++)
    G_STRUCT_MEMBER (TdModelCost, &one, model_costs[i].offset) = (TdModelCost) { 0, 1 };
  td_model_predict (&one, problem, mode, rows, columns, units);
  if (mode == TD_CLUSTER_IFDK) /* which counts the upload, too */
    units->back_project -= units->upload;
}

static gint
compare_grids (gconstpointer a, gconstpointer b)
{
  const double one = ((const TdModelGrid *) a)->times.total;
  const double other = ((const TdModelGrid *) b)->times.total;

  return one < other ? -1 : one > other;
}

GArray *
td_model_grids (const TdModelMachine *machine, const TdModelProblem *problem, TdClusterMode mode)
{
  GArray *grids = g_array_new (FALSE, FALSE, sizeof (TdModelGrid));
  const guint ranks = machine->nodes * machine->ranks;
  const double batch = 4.0 * problem->n_columns * problem->n_rows * TD_GRID_BATCH;
  const guint least = mode == TD_CLUSTER_IFDK ? td_grid_least_rows (
                          4 * model_voxels (problem), batch, machine->memory_bytes, problem->nz)
                                              : 1;

  for (guint rows = least; rows <= MIN (ranks, problem->nz); rows++) {
    TdModelGrid grid = { .rows = rows, .columns = ranks / rows };
    if (ranks % rows != 0 || grid.columns > MAX (1, problem->n_views / 2)
        || (mode == TD_CLUSTER_SLICES && grid.columns > 1))
      continue;
    td_model_predict (machine, problem, mode, rows, grid.columns, &grid.times);
    g_array_append_val (grids, grid);
  }
  g_array_sort (grids, compare_grids);
  return grids;
}

/* ── Lines ── */

/* A sample that is so many times as far from the line as half of them are has been disturbed. */
#define OUTLIER 3
/* Fits of a line, each without the last one's outliers. */
#define FITS 3

/* Least squares of relative errors; c is not negative. */
static TdModelCost
line_fit (const TdLineSample *samples, guint n)
{
  double w = 0, wx = 0, wy = 0, wxx = 0, wxy = 0;

  for (guint i = 0; i < n; i++) {
    const double weight = 1 / (samples[i].seconds * samples[i].seconds);
    w += weight;
    wx += weight * samples[i].n;
    wy += weight * samples[i].seconds;
    wxx += weight * samples[i].n * samples[i].n;
    wxy += weight * samples[i].n * samples[i].seconds;
  }
  const double spread = w * wxx - wx * wx;
  const double m = spread > 1e-9 * w * wxx ? (w * wxy - wx * wy) / spread : 0;
  const double c = (wy - m * wx) / w;
  if (m > 0 && c >= 0)
    return (TdModelCost) { c, m };
  return (TdModelCost) { 0, wxy / wxx };
}

static double
line_error (const TdModelCost *line, const TdLineSample *sample)
{
  return fabs (line->c + line->m * sample->n - sample->seconds) / sample->seconds;
}

double
td_line_median (double *values, guint n)
{
  qsort (values, n, sizeof *values, td_compare_doubles);
  return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

TdModelCost
td_line_through (TdLineSample *samples, guint n)
{
  TdModelCost line = line_fit (samples, n);
  g_autofree double *errors = g_new (double, n);

  for (guint fit = 1; fit < FITS; fit++) {
    guint kept = 0;
    for (guint i = 0; i < n; i++)
      errors[i] = line_error (&line, &samples[i]);
    const double most = OUTLIER * td_line_median (errors, n);
    for (guint i = 0; i < n; i++)
      if (line_error (&line, &samples[i]) <= most)
        samples[kept++] = samples[i];
    n = kept;
    line = line_fit (samples, n);
  }
  return line;
}
