/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>

#include "compute/cone/cone-rectify.h"
#include "compute/cone/cone-scan.h"
#include "compute/engine/engine-private.h"
#include "fdk.h"
#include "compute/engine/plan-private.h"

#define WORTH_TELLING_DEG 0.01
#define WORTH_TELLING_COLUMNS 1

void
td_fdk_plan_free (TdFdkPlan *fdk)
{
  if (!fdk)
    return;
  td_cone_task_clear (&fdk->task);
  td_geometry_clear (&fdk->geometry);
  g_free (fdk->angles_rad);
  g_free (fdk->families);
  g_free (fdk->own);
  g_free (fdk->cuts);
  g_free (fdk->budgets);
  g_free (fdk);
}

const char *
td_fdk_unsupported (const TdScanFacts *facts, const TdRecipe *recipe)
{
  if (facts->geometry.beam == TD_BEAM_PARALLEL)
    return "FDK is for cone and fan beams, and this scan is a parallel beam's; take {method=fbp}, "
           "or "
           "give the source's distances";
  if (recipe->interpolation != TD_INTERPOLATION_LINEAR)
    return "FDK interpolates linearly only; take {interpolation=linear}";
  return td_cone_scan_unsupported (facts, recipe);
}

/* A detector that stands askew is resampled to one that does not. */
static void
fdk_plan_rectify (TdFdkPlan *fdk)
{
  fdk->lean_rad = td_cone_row_slope (&fdk->task);
  if (td_cone_rectify_helps (&fdk->task, &fdk->geometry, fdk->lean_rad))
    td_cone_task_rectify (&fdk->task);
}

/* Frames of a detector that lies on its side are turned by a quarter as they are read: rows are
   then rows of what is reconstructed, for preparation too. */
static gboolean
turn_portrait (TdPlan *plan, TdFdkPlan *fdk, GError **error)
{
  const TdScanFrame frame = { .turned = TRUE };
  const TdScanFacts *facts = td_scan_facts (plan->scan);

  fdk->turned = td_cone_scan_portrait (facts);
  if (!fdk->turned)
    return TRUE;
  TdScan *turned = td_engine_view (plan->engine, plan->scan, &frame, error);
  if (!turned)
    return FALSE;
  td_geometry_turn_image (&fdk->geometry, facts->n_columns);
  td_scan_unref (plan->scan);
  plan->scan = turned;
  td_plan_note (
      plan,
      "The detector lies on its side: its frames are turned by a quarter, to %u columns and %u "
      "rows.",
      td_scan_facts (turned)->n_columns, td_scan_facts (turned)->n_rows);
  return TRUE;
}

static gboolean
fdk_plan_make_task (TdPlan *plan, TdFdkPlan *fdk, GError **error)
{
  const TdRecipe *recipe = &plan->recipe;
  gboolean good;

  td_cone_scan_geometry (td_scan_facts (plan->scan), &plan->recipe, plan->centre_px, &fdk->geometry,
                         &fdk->angles_rad);
  if (!turn_portrait (plan, fdk, error))
    return FALSE;
  const TdScanFacts *facts = td_scan_facts (plan->scan);
  if (facts->filtered)
    good = td_cone_task_init_filtered (&fdk->task, &fdk->geometry, facts->n_views, facts->n_columns,
                                       facts->n_rows, error);
  else
    good = td_cone_task_init (&fdk->task, &fdk->geometry, fdk->angles_rad, facts->n_views,
                              facts->n_columns, facts->n_rows, error);
  if (!good)
    return FALSE;
  if (!facts->filtered) {
    fdk_plan_rectify (fdk);
    td_cone_task_widen (&fdk->task);
  }

  TdConeTask *task = &fdk->task;
  const gint *region = recipe->region;
  task->first_mm[2] -= plan->facts.first_slice * task->voxel_mm;
  task->nz = plan->facts.n_slices;
  if (!td_plan_check_region (plan, task->nx, task->ny, error))
    return FALSE;
  if (region[2] == 0)
    return TRUE;
  task->first_mm[0] += region[0] * task->voxel_mm;
  task->first_mm[1] -= region[1] * task->voxel_mm;
  task->nx = (guint) region[2];
  task->ny = (guint) region[3];
  return TRUE;
}

static gboolean
fdk_plan_choose_families (TdPlan *plan, TdFdkPlan *fdk, GPtrArray *devices, GError **error)
{
  fdk->families = g_new0 (const TdConeFamily *, devices->len);
  for (guint i = 0; i < devices->len; i++) {
    fdk->families[i] = td_cone_family_choose (plan->recipe.family, &fdk->task,
                                              plan->recipe.precision, devices->pdata[i], error);
    if (!fdk->families[i])
      return FALSE;
  }
  return TRUE;
}

/* ── What was planned, for those who carry it out ── */

TdFdkBatch
td_fdk_batch (const TdFdkPlan *fdk, guint index)
{
  const guint step = fdk->batch / fdk->turns;
  TdFdkBatch batch = { .first = index * step, .a_turn = fdk->task.n_views / fdk->turns };

  batch.in_turn = MIN (step, batch.a_turn - batch.first);
  batch.n = batch.in_turn * fdk->turns;
  return batch;
}

char *
td_fdk_job_rate_key (const TdPlan *plan, const TdFdkPlan *fdk)
{
  g_autoptr (GString) key = g_string_new ("fdk");

  for (guint i = 0; i < plan->devices->len; i++)
    g_string_append_printf (key, " %s %s", td_device_info (plan->devices->pdata[i])->name,
                            fdk->families[i]->name);
  return g_string_free (g_steal_pointer (&key), FALSE);
}

char *
td_fdk_device_rate_key (TdDevice *device, const TdConeFamily *family)
{
  return g_strdup_printf ("fdk kernel %s %s", td_device_info (device)->name, family->name);
}

char *
td_fdk_filter_rate_key (TdDevice *device)
{
  return g_strdup_printf ("fdk filter %s", td_device_info (device)->name);
}

char *
td_fdk_transfer_rate_key (TdDevice *device)
{
  return g_strdup_printf ("transfer %s", td_device_info (device)->name);
}

/* ── The plan ── */

/* What is done about it. */
static void
note_lean (TdPlan *plan, const TdFdkPlan *fdk)
{
  const double lean_deg = fdk->lean_rad * 180 / G_PI;

  if (fdk->task.tilted.n_rows > 0)
    td_plan_note (
        plan,
        "The detector is tilted (its rows lean by up to %.2g degrees against the plane of the "
        "orbit): projections are resampled to a level one of %u columns and %u rows, and "
        "filtered along its rows.",
        lean_deg, fdk->task.n_measured, fdk->task.n_rows);
  else if (lean_deg > WORTH_TELLING_DEG)
    td_plan_note (
        plan,
        "The detector's rows lean by up to %.2g degrees against the plane of the orbit, too "
        "little for resampling to be worth while.",
        lean_deg);
}

/* What is measured from one side only, and is not made up for. */
static void
fdk_plan_note_field (TdPlan *plan, const TdFdkPlan *fdk)
{
  const TdConeTask *task = &fdk->task;
  const double off = fabs (task->matrices[3] - (task->n_columns - 1) / 2.0);

  if (task->redundancy.kind != TD_REDUNDANCY_WANG && off > WORTH_TELLING_COLUMNS)
    td_plan_note (plan,
                  "The axis is %.1f columns off the detector's middle: values are right within "
                  "%.4g mm of it, "
                  "and too low where the detector sees from one side only.",
                  off, (task->n_columns / 2.0 - off) * task->pitch_mm);
}

static void
note_half (TdPlan *plan)
{
  const TdScanFacts *facts = td_scan_facts (plan->scan);

  if (plan->recipe.precision != TD_PRECISION_SINGLE
      && (facts->transmission_logged || facts->filtered))
    td_plan_note (
        plan,
        "Half storage takes filtered values as they are, from 6e-5 to 65504: line integrals should "
        "not be far from 1; else take {precision=single}.");
}

static void
fdk_plan_describe (TdPlan *plan, const TdFdkPlan *fdk)
{
  const TdScanFacts *facts = td_scan_facts (plan->scan);
  const TdConeTask *task = &fdk->task;

  plan->facts.family = fdk->families[0]->name;
  if (plan->recipe.precision == TD_PRECISION_HALF_RUN) {
    plan->facts.precision = TD_PRECISION_HALF;
    td_plan_note (plan, "Kernels for cone beams store in half precision and add in single: "
                        "\"half-run\", which was asked for, is done as \"half\".");
  }
  plan->facts.nx = task->nx;
  plan->facts.ny = task->ny;
  plan->facts.slab_slices = fdk->slab;
  plan->facts.n_slabs = fdk->n_slabs;
  plan->facts.device_bytes = fdk->device_bytes;
  plan->facts.host_bytes = fdk->host_bytes + td_plan_own_bytes (plan->devices);
  plan->facts.pixel_mm = task->voxel_mm;
  plan->facts.scale = 1;
  plan->facts.units = facts->filtered ? "" : "1/mm";
  plan->facts.read_bytes = td_plan_read_bytes (
      plan, fdk->turned ? facts->n_columns : td_fdk_span (fdk, 0, fdk->n_rows).from.n);
  plan->facts.write_bytes
      = (guint64) task->nz * task->ny * task->nx * (plan->recipe.output_bits / 8);
  plan->facts.updates = (double) task->nz * task->ny * task->nx * task->n_views;
  g_autofree char *key = td_fdk_job_rate_key (plan, fdk);
  plan->facts.estimate_s = td_plan_estimate (plan, td_engine_rate (plan->engine, key));
  if (fdk->window)
    td_plan_note (plan,
                  "Detector rows %u to %u are filtered on the device that needs them, %u at a "
                  "time; it keeps up to %u of them for its next slabs.",
                  fdk->row0, fdk->row0 + fdk->n_rows - 1, fdk->filter_rows,
                  MIN (fdk->window_chunks * fdk->filter_rows, fdk->n_rows));
  else
    td_plan_note (plan, "Detector rows %u to %u are filtered by %s into %s.", fdk->row0,
                  fdk->row0 + fdk->n_rows - 1, fdk->filter_on_device ? "a device" : "the CPU",
                  fdk->on_disk ? "a temporary file, because memory is short" : "host memory");
  td_plan_note (plan, "%u slabs of up to %u slices are back-projected from batches of %u views.",
                fdk->n_slabs, fdk->slab, fdk->batch);
  note_half (plan);
  if (facts->filtered)
    return;
  note_lean (plan, fdk);
  fdk_plan_note_field (plan, fdk);
}

gboolean
td_fdk_plan (TdPlan *plan, TdEngine *engine, GPtrArray *devices, GCancellable *cancellable,
             GError **error)
{
  TdFdkPlan *fdk = g_new0 (TdFdkPlan, 1);

  plan->extra = fdk;
  plan->free_extra = (GDestroyNotify) td_fdk_plan_free;
  if (!fdk_plan_make_task (plan, fdk, error)
      || !fdk_plan_choose_families (plan, fdk, devices, error)
      || !td_fdk_choose_share (plan, fdk, devices, error)
      || !td_fdk_plan_spool (plan, fdk, devices, error))
    return FALSE;
  fdk_plan_describe (plan, fdk);
  return TRUE;
}
