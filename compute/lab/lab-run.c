/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>

#include "compute/device/host.h"
#include "compute/engine/fbp/fbp.h"
#include "compute/engine/fdk/fdk.h"
#include "compute/engine/job.h"
#include "compute/recipe/field.h"
#include "compute/engine/plan.h"
#include "lab-rows.h"
#include "lab-truth.h"
#include "lab.h"

#define WARM_RUNS 3
#define WARM_S 1.5 /* no more warm runs after so long */

/* A variant to be made in double precision with the shortcuts that define it. */
typedef struct {
  TdPlan *plan; /* NULL: it is not */
  TdLabShortcuts cuts;
} Emulation;

/* What a run knows besides its result. */
typedef struct {
  const TdLab *lab;
  TdEngine *engine;
  TdScan *scan;
  TdLabShow show;
  gpointer user;
  GCancellable *cancellable;
  TdLabResult *result;
  TdPlan *plans[TD_LAB_MOST]; /* of the variants; NULL: none could be made */
  TdPlan *base_plan;          /* the reference's */
  Emulation emulations[TD_LAB_MOST];
  GPtrArray *tried;  /* Tried, one a preparation */
  GPtrArray *truths; /* Known, one a recipe in double precision */
  double *against;   /* [ny][nx] */
  guint steps_done, n_steps;
} Run;

/* What recipes came to is found by them: they come first. */
typedef struct {
  TdRecipe recipe; /* without what double precision has no use for */
  double *slice;
} Known;

/* Rows that were wanted. What could not be made is not tried again. */
typedef struct {
  TdRecipe wanted; /* td_lab_rows_wanted() */
  TdLabRows *rows; /* NULL: why not */
  GError *error;
} Tried;

/* ── Outcomes ── */

static TdLabOutcome *
lab_outcome_new (void)
{
  TdLabOutcome *outcome = g_new0 (TdLabOutcome, 1);

  g_atomic_ref_count_init (&outcome->references);
  outcome->units = "1/px";
  outcome->first_s = outcome->warm_s = outcome->updates_per_s = NAN;
  outcome->arithmetic = outcome->bound = outcome->noise = NAN;
  return outcome;
}

static void
lab_outcome_unref (TdLabOutcome *outcome)
{
  if (!outcome || !g_atomic_ref_count_dec (&outcome->references))
    return;
  g_clear_error (&outcome->error);
  g_clear_pointer (&outcome->held, g_bytes_unref);
  g_free (outcome->device);
  g_free (outcome->words);
  td_messages_free (outcome->astray);
  td_messages_free (outcome->notes);
  td_lab_frc_unref (outcome->frc);
  g_free (outcome);
}

/* A copy of the outcome in its place, to be changed: what was shown is not. */
static TdLabOutcome *
lab_outcome_anew (TdLabResult *result, guint variant)
{
  TdLabOutcome *outcome = result->outcomes[variant];
  TdLabOutcome *copy = g_memdup2 (outcome, sizeof *outcome);

  g_atomic_ref_count_init (&copy->references);
  copy->error = outcome->error ? g_error_copy (outcome->error) : NULL;
  copy->held = outcome->held ? g_bytes_ref (outcome->held) : NULL;
  copy->device = g_strdup (outcome->device);
  copy->words = g_strdup (outcome->words);
  copy->astray = td_messages_copy (outcome->astray);
  copy->notes = td_messages_copy (outcome->notes);
  copy->frc = outcome->frc ? td_lab_frc_ref (outcome->frc) : NULL;
  lab_outcome_unref (outcome);
  return result->outcomes[variant] = copy;
}

TdLabResult *
td_lab_result_copy (const TdLabResult *result)
{
  TdLabResult *copy = g_memdup2 (result, sizeof *result);

  for (guint i = 0; i < result->n; i++)
    if (copy->outcomes[i])
      g_atomic_ref_count_inc (&copy->outcomes[i]->references);
  if (copy->reference)
    g_atomic_ref_count_inc (&copy->reference->references);
  if (copy->no_reference)
    td_message_ref (copy->no_reference);
  if (copy->no_measure)
    td_message_ref (copy->no_measure);
  return copy;
}

void
td_lab_result_free (TdLabResult *result)
{
  if (!result)
    return;
  for (guint i = 0; i < result->n; i++)
    lab_outcome_unref (result->outcomes[i]);
  lab_outcome_unref (result->reference);
  g_clear_pointer (&result->no_reference, td_message_unref);
  g_clear_pointer (&result->no_measure, td_message_unref);
  g_free (result);
}

double
td_lab_in_noise (const TdLabResult *result, guint variant)
{
  const TdLabOutcome *outcome = result->outcomes[variant];

  return outcome && outcome->compared && result->noise > 0 ? outcome->difference.rms / result->noise
                                                           : NAN;
}

double
td_lab_in_bound (const TdLabResult *result, guint variant)
{
  const TdLabOutcome *outcome = result->outcomes[variant];

  return outcome && outcome->bound > 0 ? outcome->arithmetic / outcome->bound : NAN;
}

const TdLabOutcome *
td_lab_against (const TdLabResult *result)
{
  return result->against == -1  ? result->reference
         : result->against >= 0 ? result->outcomes[result->against]
                                : NULL;
}

/* ── Pictures ── */

static gsize
lab_n_pixels (const TdPlan *plan)
{
  return (gsize) plan->facts.nx * plan->facts.ny;
}

/* Runs the plan's job. (transfer full): its slice. */
static float *
lab_run_job (TdPlan *plan, TdJob *job, GCancellable *cancellable, GError **error)
{
  g_autofree float *slice = td_host_malloc (lab_n_pixels (plan) * sizeof *slice, error);

  if (!slice)
    return NULL;
  td_job_set_slice (job, slice);
  return td_job_run (job, cancellable, error) ? g_steal_pointer (&slice) : NULL;
}

/* What was asked for by name and came out otherwise. */
static void
lab_find_astray (TdLabOutcome *outcome, const TdRecipe *asked, const TdJobResult *job)
{
  if (asked->precision != TD_PRECISION_AUTO
      && g_strcmp0 (td_precision_names[asked->precision], job->precision) != 0)
    td_messages_add (
        &outcome->astray,
        td_message_new (N_ ("{precision=%s} was asked for, {precision=%s} was computed"),
                        td_precision_names[asked->precision], job->precision));
  if (!g_str_equal (asked->family, "auto") && g_strcmp0 (asked->family, job->kernel) != 0)
    td_messages_add (&outcome->astray,
                     td_message_new (N_ ("{kernel=%s} was asked for, {kernel=%s} ran"),
                                     asked->family, job->kernel ? job->kernel : outcome->method));
}

static double
lab_bound (const TdPlan *plan)
{
  const TdDeviceInfo *info = td_device_info (plan->devices->pdata[0]);

  if (plan->method->kind == TD_METHOD_FBP || plan->method->kind == TD_METHOD_FOURIER) {
    const TdFbp *fbp = plan->extra;
    TdBackprojectTask task;

    td_fbp_task (plan, plan->facts.first_slice, &task);
    task.precision = td_fbp_precision (plan, fbp->families[0]);
    return fbp->families[0]->error_bound (fbp->families[0], &task, info);
  }
  if (plan->method->kind == TD_METHOD_FDK) {
    const TdFdkPlan *fdk = plan->extra;

    return td_cone_family_error_bound (fdk->scheme.families[0], &fdk->input->task,
                                       plan->recipe.precision, info);
  }
  return NAN;
}

static void
lab_take_facts (TdLabOutcome *outcome, const TdPlan *plan)
{
  outcome->nx = plan->facts.nx;
  outcome->ny = plan->facts.ny;
  outcome->pixel_mm = plan->facts.pixel_mm;
  outcome->units = plan->facts.units;
  outcome->method = plan->facts.method;
}

/* The facts are taken. @slice: (transfer full). */
static void
lab_take_slice (TdLabOutcome *outcome, float *slice)
{
  outcome->held = g_bytes_new_take (slice, (gsize) outcome->nx * outcome->ny * sizeof *slice);
  outcome->pixels = slice;
}

/* The same. FALSE with @error: no memory. */
static gboolean
lab_take_doubles (TdLabOutcome *outcome, const double *slice, GError **error)
{
  const gsize n = (gsize) outcome->nx * outcome->ny;
  float *pixels = td_host_malloc (n * sizeof *pixels, error);

  if (!pixels)
    return FALSE;
  for (gsize i = 0; i < n; i++)
    pixels[i] = (float) slice[i];
  lab_take_slice (outcome, pixels);
  return TRUE;
}

/* An option that this scan and recipe make no use of is refused, as the command line does. */
static gboolean
lab_check_options (const TdLabVariant *variant, const TdScanFacts *facts, GError **error)
{
  for (char **option = variant->given; *option; option++) {
    const char *reason = NULL;
    if (td_recipe_field_applies (td_recipe_field (*option), &variant->recipe, facts, &reason))
      continue;
    return td_set_error (error, TD_ERROR_INVALID, "{%s} is not used here: %p", *option,
                         td_message_unpack (reason));
  }
  return TRUE;
}

static TdLabOutcome *
lab_make_picture (Run *run, guint index)
{
  const TdLabVariant *variant = run->lab->variants->pdata[index];
  TdLabOutcome *outcome = lab_outcome_new ();
  g_autoptr (TdPlan) plan = lab_check_options (variant, td_scan_facts (run->scan), &outcome->error)
                                ? td_plan_new (run->engine, run->scan, &variant->recipe, NULL,
                                               run->cancellable, &outcome->error)
                                : NULL;

  if (!plan)
    return outcome;
  lab_take_facts (outcome, plan);
  g_autoptr (TdJob) job = td_job_new (plan);
  float *slice = lab_run_job (plan, job, run->cancellable, &outcome->error);
  if (!slice)
    return outcome;
  lab_take_slice (outcome, slice);
  const TdJobResult *result = td_job_result (job);
  run->plans[index] = td_plan_ref (plan);
  outcome->kernel = result->kernel;
  outcome->precision = result->precision;
  outcome->device = g_strdup (result->device);
  outcome->words = g_strdup (result->family);
  outcome->first_s = result->seconds;
  outcome->host_bytes = result->host_peak_bytes;
  outcome->device_bytes = result->device_peak_bytes;
  outcome->notes = td_messages_copy (plan->facts.notes);
  td_messages_append (&outcome->notes, result->notes);
  outcome->bound = lab_bound (plan);
  lab_find_astray (outcome, &variant->recipe, result);
  return outcome;
}

static gboolean
lab_step (Run *run, GError **error)
{
  if (g_cancellable_set_error_if_cancelled (run->cancellable, error))
    return FALSE;
  run->steps_done++;
  if (run->show)
    run->show (run->result, (double) run->steps_done / run->n_steps, run->user);
  return TRUE;
}

/* ── Double precision ── */

static void
lab_tried_free (gpointer data)
{
  Tried *tried = data;

  td_lab_rows_free (tried->rows);
  g_clear_error (&tried->error);
  g_free (tried);
}

/* A Known or a Tried. */
static gpointer
lab_find (const GPtrArray *all, const TdRecipe *recipe)
{
  for (guint i = 0; i < all->len; i++)
    if (td_recipe_equal (all->pdata[i], recipe))
      return all->pdata[i];
  return NULL;
}

/* (transfer none) NULL with @error: none could be made. */
static TdLabRows *
lab_rows (Run *run, const TdPlan *plan, GError **error)
{
  TdRecipe wanted;

  td_lab_rows_wanted (plan, &wanted);
  Tried *tried = lab_find (run->tried, &wanted);
  if (!tried) {
    tried = g_new0 (Tried, 1);
    tried->wanted = wanted;
    tried->rows = td_lab_rows_new (plan, run->engine, run->scan, run->cancellable, &tried->error);
    g_ptr_array_add (run->tried, tried);
  }
  if (!tried->rows)
    g_propagate_error (error, g_error_copy (tried->error));
  return tried->rows;
}

static void
lab_known_free (gpointer data)
{
  Known *known = data;

  g_free (known->slice);
  g_free (known);
}

/* @plan's recipe without what double precision has no use for. */
static TdRecipe
lab_truth_recipe (const TdPlan *plan)
{
  TdRecipe recipe = plan->recipe;

  g_strlcpy (recipe.family, "auto", sizeof recipe.family);
  g_strlcpy (recipe.devices, "auto", sizeof recipe.devices);
  recipe.precision = TD_PRECISION_SINGLE;
  return recipe;
}

static const double *
lab_truth_of (Run *run, const TdPlan *plan, GError **error)
{
  const TdRecipe recipe = lab_truth_recipe (plan);

  Known *known = lab_find (run->truths, &recipe);
  if (known)
    return known->slice;
  const TdLabRows *rows = lab_rows (run, plan, error);
  double *slice
      = rows ? td_lab_truth (plan, td_lab_rows_data (rows), NULL, run->cancellable, error) : NULL;
  if (!slice)
    return NULL;
  known = g_new (Known, 1);
  *known = (Known) { recipe, slice };
  g_ptr_array_add (run->truths, known);
  return slice;
}

/* So many slices of @plan's recipe. */
static void
lab_add_cost (Run *run, const TdPlan *plan, guint slices)
{
  const TdLabRows *rows = lab_rows (run, plan, NULL);

  if (!rows)
    return;
  run->result->truths += slices;
  run->result->truths_s += slices * td_lab_truth_seconds (plan, td_lab_rows_data (rows));
}

/* Any kernel, but the formula of the one that was named: those of back-projection interpolate
   linearly unless told otherwise. */
static void
lab_leave_kernel_open (TdRecipe *recipe)
{
  if (!g_str_equal (recipe->family, "auto") && recipe->interpolation == TD_INTERPOLATION_AUTO)
    recipe->interpolation = TD_INTERPOLATION_LINEAR;
  g_strlcpy (recipe->family, "auto", sizeof recipe->family);
}

/* The base recipe's plan for what double precision can do. */
static TdPlan *
lab_base_plan (const Run *run, GError **error)
{
  TdRecipe recipe = run->lab->base;

  if (td_method_iterates (recipe.method))
    recipe.method = TD_METHOD_AUTO;
  recipe.precision = TD_PRECISION_SINGLE;
  lab_leave_kernel_open (&recipe);
  return td_plan_new (run->engine, run->scan, &recipe, NULL, run->cancellable, error);
}

/* ── Shortcuts ── */

#define TEXTURE_SAMPLES 256 /* a bin, of a texture unit whose weights have 8 bits */

static const struct {
  const char *id, *label;
  TdLabShortcuts cuts;
} budget[] = {
  { "storage", N_ ("Rows stored in half precision"), { .half_storage = TRUE } },
  { "weights-8-bits", N_ ("Weights of 8 bits, a texture unit's"), { .samples = TEXTURE_SAMPLES } },
  { "weights-4-samples", N_ ("Four samples a bin, oversampling's"), { .samples = 4 } },
  { "weights-nearest", N_ ("Nearest bin"), { .samples = 1 } },
  { "sums-single", N_ ("Sums in single precision"), { .single_sums = TRUE } },
  { "sums-half-runs", N_ ("Sums in half precision over 16 views"), { .half_run = 16 } },
  { "filter-single", N_ ("Filter in single precision"), { .single_filter = TRUE } },
};

/* Whether kernels of the method take the shortcuts. The Fourier method has neither weights nor sums
   over views, and those for cones neither oversample nor sum in half precision. */
static gboolean
lab_cuts_are_of (const TdLabShortcuts *cuts, TdMethodKind kind)
{
  if (kind == TD_METHOD_FOURIER)
    return !(cuts->samples || cuts->single_sums || cuts->half_run);
  return kind == TD_METHOD_FBP
         || (kind == TD_METHOD_FDK && !cuts->half_run
             && (cuts->samples == 0 || cuts->samples == TEXTURE_SAMPLES));
}

static gboolean
lab_has_budget (const Run *run, guint row)
{
  return lab_cuts_are_of (&budget[row].cuts, run->base_plan->method->kind);
}

/* ── The reference ── */

/* Room for the picture that all are compared with, its pixels to be set. */
static gboolean
lab_set_against (Run *run, const TdLabOutcome *outcome, GError **error)
{
  run->against = td_host_malloc ((guint64) outcome->nx * outcome->ny * sizeof *run->against, error);
  return run->against != NULL;
}

static void
lab_make_reference (Run *run)
{
  TdLabResult *result = run->result;
  g_autoptr (GError) error = NULL;
  const char *why = td_lab_truth_unsupported (run->base_plan);

  if (why) {
    result->no_reference = td_message_new_plain (why);
    return;
  }
  const gint64 start = g_get_monotonic_time ();
  const double *truth = lab_truth_of (run, run->base_plan, &error);
  if (!truth) {
    result->no_reference = td_error_message (error);
    return;
  }
  TdLabOutcome *outcome = lab_outcome_new ();
  lab_take_facts (outcome, run->base_plan);
  if (!lab_take_doubles (outcome, truth, &error) || !lab_set_against (run, outcome, &error)) {
    lab_outcome_unref (outcome);
    result->no_reference = td_error_message (error);
    return;
  }
  for (gsize i = 0; i < (gsize) outcome->nx * outcome->ny; i++)
    run->against[i] = truth[i];
  outcome->precision = "double";
  outcome->device = g_strdup ("host");
  outcome->first_s = (g_get_monotonic_time () - start) * 1e-6;
  result->reference = outcome;
  result->against = -1;
}

/* Without a reference the first picture is what others are compared with. */
static gboolean
lab_choose_against (Run *run, GError **error)
{
  TdLabResult *result = run->result;

  for (guint i = 0; i < result->n && result->against == -2; i++) {
    const TdLabOutcome *outcome = result->outcomes[i];
    if (outcome->error)
      continue;
    const gsize n = (gsize) outcome->nx * outcome->ny;
    if (!lab_set_against (run, outcome, error))
      return FALSE;
    result->against = (int) i;
    for (gsize k = 0; k < n; k++)
      run->against[k] = outcome->pixels[k];
  }
  return TRUE;
}

static void
lab_compare (Run *run, guint index)
{
  if (run->result->outcomes[index]->error)
    return;
  TdLabOutcome *outcome = lab_outcome_anew (run->result, index);
  const TdLabOutcome *against = td_lab_against (run->result);
  if (outcome->nx != against->nx || outcome->ny != against->ny) {
    td_messages_add (&outcome->astray,
                     td_message_new (N_ ("%u × %u pixels are not compared with %u × %u"),
                                     outcome->nx, outcome->ny, against->nx, against->ny));
  } else {
    td_lab_difference (outcome->pixels, run->against, (gsize) outcome->nx * outcome->ny,
                       &outcome->difference);
    outcome->compared = TRUE;
  }
}

/* Against the same recipe in double precision: what the kernels' arithmetic alone does. */
static void
lab_measure_arithmetic (Run *run, guint index)
{
  const TdLabOutcome *old = run->result->outcomes[index];

  if (old->error || td_lab_truth_unsupported (run->plans[index]))
    return;
  const double *truth = lab_truth_of (run, run->plans[index], NULL);
  if (!truth)
    return;
  TdLabDifference difference;
  td_lab_difference (old->pixels, truth, (gsize) old->nx * old->ny, &difference);
  lab_outcome_anew (run->result, index)->arithmetic = difference.relative_rms;
}

/* ── Emulation ── */

/* The shortcuts that the recipe asks for by name; FALSE: there are none. */
static gboolean
lab_shortcuts (const TdRecipe *recipe, TdLabShortcuts *cuts)
{
  *cuts = (TdLabShortcuts) { .half_storage = recipe->precision == TD_PRECISION_HALF
                                             || recipe->precision == TD_PRECISION_HALF_RUN };
  if (g_str_equal (recipe->family, "oversampling"))
    cuts->samples = 4;
  else if (g_str_equal (recipe->family, "texture"))
    cuts->samples = TEXTURE_SAMPLES;
  if (recipe->precision == TD_PRECISION_HALF_RUN)
    cuts->half_run = 16;
  return cuts->half_storage || cuts->samples;
}

/* Of what no device here can do, or did otherwise than asked. */
static void
lab_plan_emulation (Run *run, guint index)
{
  const TdLabOutcome *outcome = run->result->outcomes[index];
  const TdLabVariant *variant = run->lab->variants->pdata[index];
  Emulation *emulation = &run->emulations[index];
  TdRecipe plain = variant->recipe;

  if ((!outcome->error && !outcome->astray) || !lab_shortcuts (&plain, &emulation->cuts))
    return;
  plain.precision = TD_PRECISION_SINGLE;
  lab_leave_kernel_open (&plain);
  /* The shortcuts are those of back-projection. */
  if (plain.interpolation == TD_INTERPOLATION_AUTO)
    plain.interpolation = TD_INTERPOLATION_LINEAR;
  g_strlcpy (plain.devices, "auto", sizeof plain.devices);
  g_autoptr (TdPlan) plan
      = td_plan_new (run->engine, run->scan, &plain, NULL, run->cancellable, NULL);
  if (plan && plan->method->kind != TD_METHOD_FOURIER
      && lab_cuts_are_of (&emulation->cuts, plan->method->kind))
    emulation->plan = g_steal_pointer (&plan);
}

static void
lab_emulate (Run *run, guint index)
{
  const TdLabVariant *variant = run->lab->variants->pdata[index];
  Emulation *emulation = &run->emulations[index];
  TdPlan *plan = emulation->plan;
  const TdLabRows *rows = plan ? lab_rows (run, plan, NULL) : NULL;
  g_autofree double *slice = rows ? td_lab_truth (plan, td_lab_rows_data (rows), &emulation->cuts,
                                                  run->cancellable, NULL)
                                  : NULL;

  if (!slice)
    return;
  TdLabOutcome *outcome = lab_outcome_new ();
  lab_take_facts (outcome, plan);
  if (!lab_take_doubles (outcome, slice, NULL)) {
    lab_outcome_unref (outcome);
    return;
  }
  outcome->emulated = TRUE;
  outcome->precision = td_precision_names[variant->recipe.precision];
  outcome->device = g_strdup ("host");
  td_messages_add (&outcome->astray,
                   td_message_new_plain (N_ ("no device here does it: emulated in double precision "
                                             "by its shortcuts alone")));
  g_clear_pointer (&run->plans[index], td_plan_unref);
  run->plans[index] = g_steal_pointer (&emulation->plan);
  lab_outcome_unref (run->result->outcomes[index]);
  run->result->outcomes[index] = outcome;
}

/* ── What double precision takes ── */

/* Of the base recipe, with the budget's shortcuts, and of each variant's recipe once. */
static void
lab_add_references (Run *run)
{
  TdRecipe recipes[TD_LAB_MOST + 1];
  guint known = 0, cuts = 0;

  for (guint i = 0; run->lab->budget && i < G_N_ELEMENTS (budget); i++)
    cuts += lab_has_budget (run, i);
  for (guint i = 0; i <= run->result->n; i++) {
    const TdPlan *emulated = i ? run->emulations[i - 1].plan : NULL;
    const TdPlan *plan = emulated ? emulated : i ? run->plans[i - 1] : run->base_plan;
    gboolean again = !plan || td_lab_truth_unsupported (plan);
    recipes[known] = again ? (TdRecipe) { 0 } : lab_truth_recipe (plan);
    for (guint k = 0; !again && k < known; k++)
      again = td_recipe_equal (&recipes[k], &recipes[known]);
    if (again)
      continue;
    lab_add_cost (run, plan, i ? 1 : 1 + cuts);
    known++;
  }
}

/* Before any of it is begun. */
static gboolean
lab_tell_cost (Run *run, GError **error)
{
  for (guint i = 0; i < run->result->n; i++)
    if (run->emulations[i].plan)
      lab_add_cost (run, run->emulations[i].plan, 1);
  if (run->lab->reference)
    lab_add_references (run);
  return lab_step (run, error);
}

/* ── Time ── */

static void
lab_time (Run *run, guint index)
{
  TdPlan *plan = run->plans[index];
  double best = INFINITY, project = INFINITY, spent = 0;

  if (run->result->outcomes[index]->error || run->result->outcomes[index]->emulated
      || td_method_iterates (plan->recipe.method))
    return;
  for (guint i = 0; i < WARM_RUNS && spent < WARM_S; i++) {
    g_autoptr (TdJob) job = td_job_new (plan);
    g_autofree float *slice = lab_run_job (plan, job, run->cancellable, NULL);
    if (!slice)
      return;
    const TdJobResult *result = td_job_result (job);
    spent += result->seconds;
    best = fmin (best, result->seconds);
    for (guint s = 0; s < result->n_stages; s++)
      if (g_str_equal (result->stages[s].name, "back-project") && result->stages[s].seconds > 0)
        project = fmin (project, result->stages[s].seconds);
  }
  TdLabOutcome *outcome = lab_outcome_anew (run->result, index);
  outcome->warm_s = best;
  outcome->updates_per_s = plan->facts.updates / (isfinite (project) ? project : best);
}

/* ── Even and odd views ── */

static float *
lab_make_half (Run *run, TdLabRows *rows, const TdPlan *whole, guint parity, GError **error)
{
  g_autoptr (TdPlan) plan
      = td_lab_rows_half (rows, run->engine, whole, parity, run->cancellable, error);

  /* Where the recipe and the rows disagree about the field of view. */
  if (plan && (plan->facts.nx != whole->facts.nx || plan->facts.ny != whole->facts.ny))
    return td_set_error_null (error, TD_ERROR_UNSUPPORTED,
                              "%u × %u pixels are not compared with %u × %u", plan->facts.nx,
                              plan->facts.ny, whole->facts.nx, whole->facts.ny);
  g_autoptr (TdJob) job = plan ? td_job_new (plan) : NULL;
  float *slice = job ? lab_run_job (plan, job, run->cancellable, error) : NULL;
  for (gsize i = 0; slice && i < lab_n_pixels (plan); i++)
    slice[i] *= td_lab_rows_share (rows);
  return slice;
}

/* Noise and Fourier ring correlation of what @plan's recipe makes of both halves. */
static gboolean
lab_measure_halves (Run *run, const TdPlan *plan, double *noise, TdLabFrc **frc, GError **error)
{
  TdLabRows *rows = lab_rows (run, plan, error);

  if (!rows)
    return FALSE;
  g_autofree float *even = lab_make_half (run, rows, plan, 0, error);
  g_autofree float *odd = even ? lab_make_half (run, rows, plan, 1, error) : NULL;
  if (!odd)
    return FALSE;
  *noise = td_lab_noise (even, odd, lab_n_pixels (plan));
  if (frc)
    *frc = td_lab_frc_new (even, odd, plan->facts.nx, plan->facts.ny);
  return TRUE;
}

static void
lab_measure (Run *run, guint index)
{
  const TdLabOutcome *old = run->result->outcomes[index];
  TdLabFrc *frc = NULL;
  double noise = NAN;

  if (old->error || old->emulated || run->result->no_measure
      || !lab_measure_halves (run, run->plans[index], &noise, &frc, NULL))
    return;
  TdLabOutcome *outcome = lab_outcome_anew (run->result, index);
  outcome->noise = noise;
  outcome->frc = frc;
}

/* ── Budget ── */

static gboolean
lab_make_budget (Run *run, GError **error)
{
  TdLabResult *result = run->result;

  if (!result->reference)
    return TRUE;
  for (guint i = 0; i < G_N_ELEMENTS (budget); i++) {
    const TdLabRows *rows = lab_rows (run, run->base_plan, error);
    if (!rows)
      return FALSE;
    if (!lab_has_budget (run, i)) {
      run->steps_done++;
      continue;
    }
    g_autofree double *slice = td_lab_truth (run->base_plan, td_lab_rows_data (rows),
                                             &budget[i].cuts, run->cancellable, error);
    if (!slice)
      return FALSE;
    const gsize n = (gsize) result->reference->nx * result->reference->ny;
    TdLabBudgetRow *row = &result->budget[result->budget_n++];
    *row = (TdLabBudgetRow) { .id = budget[i].id, .label = budget[i].label };
    td_lab_difference_double (slice, run->against, n, &row->difference);
    if (!lab_step (run, error))
      return FALSE;
  }
  return TRUE;
}

/* ── All of it ── */

static gboolean
lab_make_pictures (Run *run, GError **error)
{
  TdLabResult *result = run->result;

  for (guint i = 0; i < result->n; i++) {
    result->outcomes[i] = lab_make_picture (run, i);
    if (run->lab->emulate)
      lab_plan_emulation (run, i);
    if (!lab_step (run, error))
      return FALSE;
  }
  return TRUE;
}

/* @planned: what is to be emulated counts too. FALSE with @error: the first variant's. */
static gboolean
lab_has_picture (const Run *run, gboolean planned, GError **error)
{
  const TdLabResult *result = run->result;

  for (guint i = 0; i < result->n; i++)
    if (!result->outcomes[i]->error || (planned && run->emulations[i].plan))
      return TRUE;
  if (error)
    *error = g_error_copy (result->outcomes[0]->error);
  return FALSE;
}

static gboolean
lab_make_doubles (Run *run, GError **error)
{
  const TdLab *lab = run->lab;

  if (lab->reference || lab->measure) {
    run->base_plan = lab_base_plan (run, error);
    if (!run->base_plan)
      return FALSE;
  }
  if ((lab->reference || lab->emulate) && !lab_tell_cost (run, error))
    return FALSE;
  for (guint i = 0; i < run->result->n; i++)
    lab_emulate (run, i);
  if (g_cancellable_set_error_if_cancelled (run->cancellable, error)
      || !lab_has_picture (run, FALSE, error))
    return FALSE;
  if (lab->reference)
    lab_make_reference (run);
  return TRUE;
}

static gboolean
lab_measure_all (Run *run, GError **error)
{
  TdLabResult *result = run->result;
  const TdLab *lab = run->lab;

  if (!lab_choose_against (run, error))
    return FALSE;
  const TdLabOutcome *against = td_lab_against (result);
  if (!lab->has_line)
    result->line = td_lab_busiest_line (against->pixels, against->nx, against->ny);
  for (guint i = 0; i < result->n; i++)
    lab_compare (run, i);
  if (!lab_step (run, error))
    return FALSE;
  /* The data's noise, in the base recipe's picture. */
  g_autoptr (GError) reason = NULL;
  if (lab->measure && !lab_measure_halves (run, run->base_plan, &result->noise, NULL, &reason))
    result->no_measure = td_error_message (reason);
  for (guint i = 0; i < result->n; i++) {
    lab_time (run, i);
    if (lab->reference)
      lab_measure_arithmetic (run, i);
    if (lab->measure)
      lab_measure (run, i);
    if (!lab_step (run, error))
      return FALSE;
  }
  return !lab->budget || lab_make_budget (run, error);
}

TdLabResult *
td_lab_run (const TdLab *lab, TdEngine *engine, TdScan *scan, TdLabShow show, gpointer user,
            GCancellable *cancellable, GError **error)
{
  const guint n = lab->variants->len;
  Run run = { lab, engine, scan, show, user, cancellable };

  if (n < TD_LAB_LEAST)
    return td_set_error_null (error, TD_ERROR_INVALID,
                              "A lab compares 2 to %d variants, and these are %u", TD_LAB_MOST, n);
  run.n_steps
      = 2 * n + 1 + (lab->reference || lab->emulate) + (lab->budget ? G_N_ELEMENTS (budget) : 0);
  run.result = g_new0 (TdLabResult, 1);
  run.result->n = n;
  run.result->against = -2;
  run.result->noise = NAN;
  run.result->line = lab->line;
  run.tried = g_ptr_array_new_with_free_func (lab_tried_free);
  run.truths = g_ptr_array_new_with_free_func (lab_known_free);
  const gboolean done = lab_make_pictures (&run, error) && lab_has_picture (&run, TRUE, error)
                        && lab_make_doubles (&run, error) && lab_measure_all (&run, error);
  for (guint i = 0; i < n; i++) {
    g_clear_pointer (&run.plans[i], td_plan_unref);
    g_clear_pointer (&run.emulations[i].plan, td_plan_unref);
  }
  g_clear_pointer (&run.base_plan, td_plan_unref);
  g_ptr_array_unref (run.tried);
  g_ptr_array_unref (run.truths);
  g_free (run.against);
  if (!done)
    g_clear_pointer (&run.result, td_lab_result_free);
  return run.result;
}
