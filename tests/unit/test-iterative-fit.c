/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What plans of iterative methods say of memory, files, slabs and shares: counted again here.
   Nothing is run. */
#include <math.h>
#include <string.h>

#include "compute/engine/iterative/iterative.h"
#include "compute/methods/methods.h"
#include "dataset/scan-private.h"
#include "engine-scans.h"
#include "tests/common/cases.h"
#include "tests/common/devices.h"
#include "tests/common/pins.h"

#define MIB ((guint64) 1 << 20)

typedef struct {
  gboolean cone;
  guint n_columns, n_rows, n_views;
  const char *method;
  const char *options; /* "name=value name=value"; NULL: none */
  double limit_mib;    /* 0: none */
  guint slab_rows;     /* 0: more than one, as memory allows */
  guint subsets;
  guint nx, ny, nz;
  const char *says; /* NULL: nothing in particular */
} Job;

static const Job jobs[] = {
  { FALSE, 100, 12, 40, "sirt", NULL, 0, 12, 20, 100, 100, 12, "over 40 views in" },
  { FALSE, 100, 12, 40, "cgls", NULL, 0, 12, 1, 100, 100, 12, "20 passes over all 40 views." },
  { FALSE, 100, 12, 40, "sirt", "subsets=8 start=zero", 0, 12, 8, 100, 100, 12,
    "over 40 views in 8 subsets." },
  { FALSE, 100, 12, 40, "fista-tv", "subsets=40 rows=3:8 region=10,20,30,40", 0, 5, 40, 30, 40, 5,
    NULL },
  { FALSE, 2048, 10, 8, "sirt", "start=zero", 0, 10, 0, 2048, 2048, 10, NULL },
  { FALSE, 2896, 3, 8, "sirt", "start=filtered", 0, 3, 0, 2896, 2896, 3,
    "Iterations begin with the volume of --method fbp." },
  { FALSE, 200, 400, 300, "sirt", "start=zero", 124, 0, 0, 200, 200, 400, NULL },
  { FALSE, 200, 400, 300, "cgls", "start=zero", 94, 0, 1, 200, 200, 400, NULL },
  { TRUE, 60, 50, 40, "sirt", "start=zero", 0, 50, 0, 60, 60, 50, NULL },
  { TRUE, 60, 50, 40, "fista-tv", "rows=20:30 start=zero", 0, 50, 0, 60, 60, 10,
    "The whole volume of 60 × 60 × 50 voxels is computed" },
  { TRUE, 60, 50, 40, "cgls", "region=1,2,30,20", 0, 50, 1, 30, 20, 50,
    "The whole volume of 60 × 60 × 50 voxels is computed" },
  { TRUE, 60, 50, 40, "sirt", "prepare=flat-field=60000,dose=borders,minus-log start=zero", 0, 50,
    0, 60, 60, 50, NULL },
  { FALSE, 200, 9, 40, "cgls", "prepare=flat-field=60000,dose=borders,minus-log", 0, 9, 1, 200, 200,
    9, NULL },
  { TRUE, 60, 50, 160, "sirt", "subsets=40 start=zero", 68.5, 50, 40, 60, 60, 50,
    "are kept in a temporary file" },
};

static TdScan *
job_scan (const Job *job)
{
  g_autofree double *angles = g_new (double, job->n_views);
  TdScanFacts facts
      = { .n_columns = job->n_columns,
          .n_rows = job->n_rows,
          .n_views = job->n_views,
          .sample_type = TD_SAMPLE_UINT16,
          .transmission_logged = !job->options || !g_str_has_prefix (job->options, "prepare"),
          .angles_rad = angles,
          .centre_px = (job->n_columns - 1) / 2.0,
          .geometry = { .pixel_width_mm = 0.4, .pixel_height_mm = 0.4 } };

  if (job->cone) {
    facts.geometry.beam = TD_BEAM_CONE;
    facts.geometry.source_axis_mm = 300;
    facts.geometry.source_detector_mm = 450;
  }
  for (guint v = 0; v < job->n_views; v++)
    angles[v] = (job->cone ? 2 : 1) * G_PI * v / job->n_views;
  return td_scan_new_from_memory (&facts, NULL, NULL, NULL, NULL, NULL);
}

static TdPlan *
job_plan (const Job *job, TdScan *scan)
{
  g_autoptr (GError) error = NULL;
  TdRecipe recipe;

  td_recipe_init (&recipe);
  g_strlcpy (recipe.devices, "host", sizeof recipe.devices);
  g_assert_true (td_recipe_set (&recipe, "method", job->method, &error));
  g_auto (GStrv) options = g_strsplit (job->options ? job->options : "", " ", -1);
  for (guint i = 0; options[i]; i++) {
    g_auto (GStrv) parts = g_strsplit (options[i], "=", 2);
    td_recipe_set (&recipe, parts[0], parts[1], &error);
    g_assert_no_error (error);
  }
  recipe.memory_limit_bytes = (guint64) (job->limit_mib * MIB);
  TdPlan *plan = td_plan_new (engine, scan, &recipe, NULL, NULL, &error);
  g_assert_no_error (error);
  return plan;
}

/* Bytes of slices that come and go at once. */
static guint64
job_portion (const Job *job)
{
  const double limit = job->limit_mib * MIB;

  return job->limit_mib > 0 ? MIN (64 * MIB, (guint64) limit / 16) : 64 * MIB;
}

static void
check_sizes (const TdPlan *plan, const Job *job)
{
  const TdIterativePlan *self = plan->extra;
  const TdPlanFacts *facts = &plan->facts;
  const guint rows = job->cone ? job->n_rows : facts->n_slices,
              size[] = { job->nx, job->ny, job->nz };

  g_assert_cmpmem (self->size, sizeof self->size, size, sizeof size);
  g_assert_cmpuint (facts->nx, ==, job->nx);
  g_assert_cmpuint (facts->ny, ==, job->ny);
  g_assert_cmpuint (facts->n_slices, ==, job->nz);
  g_assert_cmpint (self->slabs, ==, !job->cone);
  g_assert_cmpuint (self->n_rows, ==, rows);
  if (job->slab_rows)
    g_assert_cmpuint (self->slab_rows, ==, job->slab_rows);
  else
    g_assert_cmpuint (self->slab_rows, <, rows);
  g_assert_cmpuint (self->n_slabs, ==, (rows + self->slab_rows - 1) / self->slab_rows);
  g_assert_cmpuint (facts->n_slabs, ==, self->n_slabs);
  g_assert_cmpuint (facts->slab_slices, ==, self->slab_rows);
  if (job->subsets)
    g_assert_cmpuint (self->settings.subsets, ==, job->subsets);
  g_assert_cmpuint (plan->recipe.subsets, ==, self->settings.subsets);
  /* So many prepared rows as 32 MiB hold, or fewer. */
  const guint64 row = td_test_floats (1, job->n_views, job->n_columns);
  g_assert_cmpuint (self->chunk_rows, <=, MAX (32 * MIB / row, 1));
  g_assert_cmpuint (self->chunk_rows, <=, self->slab_rows);
  if (job->limit_mib == 0)
    g_assert_cmpuint (self->chunk_rows, ==, MIN (MAX (32 * MIB / row, 1), rows));
  /* So many slices as 64 MiB hold, or a part of a limit. */
  const guint64 slice = td_test_floats (1, job->nx, job->ny);
  g_assert_cmpuint (
      td_iterative_give_slices (self), ==,
      MIN (MAX (job_portion (job) / slice, 1), self->slabs ? self->slab_rows : job->nz));
}

/* The slabs' rows are all of them, each about the axis at its middle. */
static void
check_slabs (const TdPlan *plan)
{
  const TdIterativePlan *self = plan->extra;
  guint next = self->row0;

  for (guint slab = 0; slab < self->n_slabs; slab++) {
    TdConeTask task = { 0 };
    guint row0, n_rows;

    td_iterative_task (plan, slab, &task, &row0, &n_rows);
    g_assert_cmpuint (row0, ==, next);
    g_assert_cmpuint (task.n_rows, ==, n_rows);
    g_assert_cmpuint (task.n_views, ==, self->task.n_views);
    g_assert_cmpuint (task.nx, ==, self->task.nx);
    next += n_rows;
    td_cone_task_clear (&task);
  }
  g_assert_cmpuint (next, ==, self->row0 + self->n_rows);
}

static void
check_bytes (const TdPlan *plan, const Job *job)
{
  const TdIterativePlan *self = plan->extra;
  const TdPlanFacts *facts = &plan->facts;
  const TdIterativeCut *cut = &self->cut;
  const guint nx = self->task.nx, ny = self->task.ny, nz = self->task.nz;
  const guint64 slice = td_test_floats (1, nx, ny);
  const guint64 out = td_test_floats (1, job->nx, job->ny);
  const guint64 most = self->slabs ? self->slab_rows : job->nz;
  const guint64 give = MAX (MIN (job_portion (job) / out, most), 1) * out;
  /* Whole slices are put in where iterations begin with some. */
  const guint64 put
      = self->start == TD_ITERATIVE_ZERO ? 0 : MAX (slice, MIN (job_portion (job), slice * nz));
  const guint64 portion = MAX (give, put);
  const guint rows = MIN (job->n_rows, self->chunk_rows);
  const guint64 chunk = td_test_floats (rows, job->n_views, job->n_columns);
  const guint64 preparing = td_preparation_host_bytes (plan->recipe.steps, plan->recipe.n_steps,
                                                       td_scan_facts (plan->scan), rows);
  const guint64 begun = self->start == TD_ITERATIVE_FILTERED && !self->start_in_file
                            ? slice * (self->slabs ? self->n_rows : nz)
                            : 0;
  TdSolverSettings settings = self->settings;

  settings.kept_subsets = 0; /* the host's memory is everybody's */
  const guint64 device
      = td_solver_bytes (&self->task, &settings, cut->in_file ? self->chunk_rows : 0) + chunk
        + portion
        + td_preparation_workspace_bytes (plan->recipe.steps, plan->recipe.n_steps,
                                          td_scan_facts (plan->scan), rows);
  g_assert_cmpuint (cut->n, ==, 1);
  g_assert_cmpuint (cut->batch_views, ==, 0);
  g_assert_cmpuint (cut->kept_subsets, ==, 0);
  g_assert_false (self->keeps);
  g_assert_cmpuint (td_iterative_chunk_bytes (plan), ==, chunk);
  g_assert_cmpuint (td_iterative_slab_bytes (self), ==, slice * nz);
  g_assert_cmpuint (td_iterative_start_bytes (self), ==, begun);
  g_assert_cmpuint (facts->device_bytes, ==, device);
  const guint64 filtering = self->start == TD_ITERATIVE_FILTERED ? self->filtered_bytes + begun : 0;
  g_assert_cmpuint (facts->host_bytes, ==,
                    MAX (filtering, 64 * MIB + chunk + 3 * portion + preparing + begun + device));
  if (job->limit_mib > 0)
    g_assert_cmpuint (facts->host_bytes, <=, plan->recipe.memory_limit_bytes);
  const guint64 reads = self->start == TD_ITERATIVE_FILTERED ? self->filtered_reads : 0;
  g_assert_false (self->reads_once); /* what is in memory */
  g_assert_cmpuint (facts->read_bytes, ==,
                    2ull * self->n_rows * job->n_views * job->n_columns + reads);
  g_assert_cmpfloat (td_iterative_pass_updates (plan), ==, (double) nx * ny * nz * job->n_views);
  g_assert_cmpfloat (facts->updates, ==,
                     (double) nx * ny * (self->slabs ? self->n_rows : nz) * job->n_views
                         * plan->recipe.iterations);
  g_assert_cmpfloat (facts->scale, ==, 1);
  g_assert_cmpstr (facts->units, ==, "1/mm");
  g_assert_cmpstr (facts->family, ==, "joseph");
}

static void
test_job (gconstpointer data)
{
  const Job *job = data;
  g_autoptr (TdScan) scan = job_scan (job);
  g_autoptr (TdPlan) plan = job_plan (job, scan);
  g_autofree char *notes = td_messages_join (plan->facts.notes, "\n", NULL);

  td_test_pin ("%s", notes);
  const TdIterativePlan *self = plan->extra;
  td_test_pin ("%u slabs of %u rows, chunks of %u, %u subsets, start %d%s, rows from %u, %.3f read",
               self->n_slabs, self->slab_rows, self->chunk_rows, self->settings.subsets,
               self->start, self->start_in_file ? " in a file" : "", self->row0,
               plan->facts.read_bytes / 1048576.);
  check_sizes (plan, job);
  check_slabs (plan);
  check_bytes (plan, job);
  if (job->says)
    g_assert_nonnull (strstr (notes, job->says));
  /* Slabs of sirt are those of the whole; what the plan began with is no longer open. */
  g_assert_cmpint (strstr (notes, "of the slices at once") != NULL, ==,
                   plan->facts.n_slabs > 1 && strcmp (job->method, "sirt") != 0);
  g_assert_cmpstr (td_plan_recipe (plan)->start, !=, "auto");
  g_assert_cmpint (strstr (notes, "The whole volume of") != NULL, ==,
                   job->says && strstr (job->says, "The whole volume of"));
  g_assert_cmpint (strstr (notes, "temporary file") != NULL, ==,
                   job->says && strstr (job->says, "temporary file"));
}

/* What is refused: more subsets than views. */
static void
test_subsets (void)
{
  const Job job = { FALSE, 20, 2, 9, "sirt", NULL, 0 };
  g_autoptr (TdScan) scan = job_scan (&job);

  for (guint subsets = 9; subsets <= 10; subsets++) {
    g_autoptr (GError) error = NULL;
    TdRecipe recipe;

    recipe_init (&recipe, "host", NAN);
    recipe.method = TD_METHOD_SIRT;
    recipe.subsets = subsets;
    g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe, NULL, NULL, &error);
    if (subsets == 9) {
      g_assert_no_error (error);
      continue;
    }
    g_assert_error (error, TD_ERROR, TD_ERROR_INVALID);
    g_assert_nonnull (strstr (error->message, "9 views do not make 10 subsets"));
  }
}

/* Half a turn is no half acquisition. */
static void
test_half_field (void)
{
  const Job job = { FALSE, 20, 2, 9, "sirt", NULL, 0 };
  g_autoptr (TdScan) scan = job_scan (&job);
  g_autoptr (GError) error = NULL;
  TdRecipe recipe;

  recipe_init (&recipe, "host", NAN);
  recipe.method = TD_METHOD_SIRT;
  recipe.field_of_view = TD_FIELD_HALF;
  g_assert_null (td_plan_new (engine, scan, &recipe, NULL, NULL, &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_INVALID);
  g_assert_nonnull (strstr (error->message, "Half acquisition needs views over a full turn"));
}

/* The filtered volume to begin with waits in memory where that has room for it, else in a file. */
static void
test_place_start (void)
{
  const Job job = { FALSE, 200, 100, 60, "sirt", NULL, 0 };
  g_autoptr (TdScan) scan = job_scan (&job);
  const guint64 volume = td_test_floats (200, 200, 100);
  g_autoptr (TdPlan) plan = job_plan (&job, scan);
  TdIterativePlan *self = plan->extra;

  for (guint more = 0; more < 2; more++) {
    g_assert_true (td_iterative_place_start (plan, self, volume - 1 + more, NULL, NULL));
    g_assert_cmpint (self->start, ==, TD_ITERATIVE_FILTERED);
    g_assert_cmpint (self->start_in_file, ==, !more);
    g_assert_cmpuint (td_iterative_start_bytes (self), ==, more ? volume : 0);
  }
  /* A limit is for what filtering takes as well. */
  plan->recipe.memory_limit_bytes = 78 * MIB;
  g_assert_true (td_iterative_place_start (plan, self, volume, NULL, NULL));
  g_assert_true (self->start_in_file);
}

/* A limit is for all that the host takes, the process itself and the start included. What cannot
   keep to it is refused. */
static void
test_limit (void)
{
  static const Job wanted[] = {
    { FALSE, 160, 120, 60, "sirt", NULL },       { FALSE, 160, 120, 60, "fista-tv", NULL },
    { FALSE, 160, 120, 60, "cgls", NULL },       { TRUE, 100, 80, 60, "sirt", NULL },
    { TRUE, 100, 80, 60, "fista-tv", NULL },     { TRUE, 100, 80, 60, "cgls", NULL },
    { FALSE, 160, 120, 60, "sirt", "zero" },     { TRUE, 100, 80, 60, "sirt", "zero" },
    { FALSE, 160, 120, 60, "sirt", "filtered" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (wanted); i++) {
    const Job *job = &wanted[i];
    g_autoptr (TdScan) scan = job_scan (job);
    guint refused = 0, kept = 0;

    for (double limit = MIB; limit < 600 * MIB; limit *= 1.1) {
      g_autoptr (GError) error = NULL;
      TdRecipe recipe;

      recipe_init (&recipe, "host", NAN);
      g_assert_true (td_recipe_set (&recipe, "method", job->method, NULL));
      g_strlcpy (recipe.start, job->options ? job->options : "auto", sizeof recipe.start);
      recipe.memory_limit_bytes = (guint64) limit;
      g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe, NULL, NULL, &error);
      if (!plan) {
        g_assert_error (error, TD_ERROR, TD_ERROR_TOO_LARGE);
        g_assert_nonnull (strstr (error->message, "memory"));
        refused++;
        continue;
      }
      g_autofree char *notes = td_messages_join (plan->facts.notes, "\n", NULL);
      g_assert_cmpuint (plan->facts.host_bytes, <=, recipe.memory_limit_bytes);
      g_assert_null (strstr (notes, "less does not do here"));
      const TdIterativePlan *self = plan->extra;
      if (kept < 4) /* the least that does */
        td_test_pin ("%u: slabs of %u rows, chunks of %u, %u slices a portion, start %d%s%s", i,
                     self->slab_rows, self->chunk_rows, td_iterative_give_slices (self),
                     self->start, self->start_in_file ? " in a file" : "",
                     self->cut.in_file ? ", projections in a file" : "");
      if (kept++)
        continue;
      /* The last byte of a limit may be taken. */
      recipe.memory_limit_bytes = plan->facts.host_bytes;
      g_autoptr (TdPlan) exact = td_plan_new (engine, scan, &recipe, NULL, NULL, &error);
      g_assert_no_error (error);
      g_assert_cmpuint (exact->facts.host_bytes, ==, recipe.memory_limit_bytes);
    }
    g_assert_cmpuint (refused, >, 20);
    g_assert_cmpuint (kept, >, 10);
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  td_test_own_rates ("iterative-fit");
  engine = td_engine_new (td_methods);
  td_test_add_cases ("/iterative-fit/jobs", jobs, sizeof *jobs, G_N_ELEMENTS (jobs), test_job);
  g_test_add_func ("/iterative-fit/half-field", test_half_field);
  g_test_add_func ("/iterative-fit/subsets", test_subsets);
  g_test_add_func ("/iterative-fit/place-start", test_place_start);
  g_test_add_func ("/iterative-fit/limit", test_limit);
  const int status = g_test_run ();
  td_engine_unref (engine);
  return status;
}
