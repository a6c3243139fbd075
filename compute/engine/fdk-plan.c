/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <string.h>

#include "compute/cone/cone-filter.h"
#include "dataset/geometry-matrix.h"
#include "engine-private.h"
#include "fdk.h"
#include "plan-private.h"

/* Slices of a slab: enough for the CPU's vectors and to read each row of projections rarely; few
   enough that the first ones are seen soon. */
#define SLAB_SLICES 128
#define MIN_BATCH 16
#define FILTER_BYTES (256u << 20)

void
td_fdk_plan_free (TdFdkPlan *fdk)
{
  if (!fdk)
    return;
  td_cone_task_clear (&fdk->task);
  td_geometry_clear (&fdk->geometry);
  g_free (fdk->angles_rad);
  g_free (fdk->families);
  g_free (fdk);
}

const char *
td_fdk_unsupported (const TdScanFacts *facts, const TdRecipe *recipe)
{
  if (facts->geometry.beam == TD_BEAM_PARALLEL)
    return "FDK is for cone and fan beams, and this scan is a parallel beam's; take --method fbp, or "
           "give the source's distances";
  if (recipe->interpolation != TD_INTERPOLATION_LINEAR)
    return "FDK interpolates linearly only; take --interpolation linear";
  if (recipe->tilt_deg != 0 && facts->geometry.view_matrices)
    return "The scan gives a projection matrix for every view, which says how the axis stands: leave "
           "--tilt out";
  if (recipe->reverse_rotation && facts->geometry.view_matrices)
    return "The scan gives a projection matrix for every view, which says how it turned: leave "
           "--reverse-rotation out";
  return NULL;
}

guint
td_fdk_n_slices (const TdScanFacts *facts)
{
  const TdGeometry *geometry = &facts->geometry;
  return geometry->voxel_mm > 0 && geometry->volume_size[2] > 0 ? geometry->volume_size[2]
                                                                : facts->n_rows;
}

double
td_fdk_stated_centre (const TdScanFacts *facts)
{
  const double origin[3] = { 0, 0, 0 };
  double matrix[12], u, v, w;

  if (isfinite (facts->centre_px))
    return facts->centre_px;
  if (facts->geometry.view_matrices)
    memcpy (matrix, facts->geometry.view_matrices, sizeof matrix);
  else
    td_cone_matrix (&facts->geometry, 0, facts->n_columns, facts->n_rows, matrix);
  if (!td_cone_matrix_normalise (matrix))
    return NAN;
  td_cone_project (matrix, origin, &u, &v, &w);
  return u;
}

/* ── Planning ─────────────────────────────────────────────────────────────────────────────────── */

/* The recipe's centre is the column that the axis projects to; the geometry has it as an offset. */
static void
apply_centre (TdFdkPlan *fdk, const TdScanFacts *facts, double centre_px)
{
  TdGeometry *geometry = &fdk->geometry;

  if (isnan (centre_px))
    return;
  if (geometry->view_matrices) {
    const double off = centre_px - td_fdk_stated_centre (facts);
    for (guint view = 0; view < geometry->n_view_matrices && isfinite (off) && off != 0; view++)
      td_matrix_shift (geometry->view_matrices + 12 * (gsize) view, off);
    return;
  }
  geometry->detector_offset_u_px
      = centre_px - (facts->n_columns - 1) / 2.0
        - geometry->axis_offset_mm * geometry->source_detector_mm
              / (geometry->source_axis_mm * geometry->pixel_width_mm);
}

/* The recipe's angles; matrices turn with them. */
static void
apply_angles (TdFdkPlan *fdk, const TdScanFacts *facts, const TdRecipe *recipe)
{
  const double direction = recipe->reverse_rotation ? -1 : 1;
  const double offset = recipe->angle_offset_deg * G_PI / 180;

  fdk->angles_rad = g_new (double, facts->n_views);
  for (guint view = 0; view < facts->n_views; view++)
    fdk->angles_rad[view] = direction * facts->angles_rad[view] + offset;
  for (guint view = 0; view < fdk->geometry.n_view_matrices && offset != 0; view++)
    td_matrix_turn (fdk->geometry.view_matrices + 12 * (gsize) view, offset);
}

static gboolean
make_task (TdPlan *plan, TdFdkPlan *fdk, GError **error)
{
  const TdScanFacts *facts = td_scan_facts (plan->scan);
  const TdRecipe *recipe = &plan->recipe;
  gboolean good;

  td_geometry_copy (&fdk->geometry, &facts->geometry);
  apply_centre (fdk, facts, recipe->centre_px);
  /* An axis that leans in the detector's plane is a detector turned about the beam. */
  fdk->geometry.detector_tilt_rad[2] += recipe->tilt_deg * G_PI / 180;
  apply_angles (fdk, facts, recipe);
  if (facts->filtered)
    good = td_cone_task_init_filtered (&fdk->task, &fdk->geometry, facts->n_views, facts->n_columns,
                                       facts->n_rows, error);
  else
    good = td_cone_task_init (&fdk->task, &fdk->geometry, fdk->angles_rad, facts->n_views,
                              facts->n_columns, facts->n_rows, error);
  if (!good)
    return FALSE;

  TdConeTask *task = &fdk->task;
  const gint *region = recipe->region;
  task->first_mm[2] -= plan->facts.first_slice * task->voxel_mm;
  task->nz = plan->facts.n_slices;
  if (region[2] == 0)
    return TRUE;
  if (region[0] < 0 || region[1] < 0 || region[2] < 1 || region[3] < 1
      || (gint64) region[0] + region[2] > task->nx || (gint64) region[1] + region[3] > task->ny) {
    g_set_error (error, TD_ERROR, TD_ERROR_INVALID,
                 "The region %d,%d,%d,%d is not inside the slice, which has %u × %u pixels "
                 "(--region X,Y,W,H)", region[0], region[1], region[2], region[3], task->nx, task->ny);
    return FALSE;
  }
  task->first_mm[0] += region[0] * task->voxel_mm;
  task->first_mm[1] -= region[1] * task->voxel_mm;
  task->nx = (guint) region[2];
  task->ny = (guint) region[3];
  return TRUE;
}

static gboolean
choose_families (TdPlan *plan, TdFdkPlan *fdk, GPtrArray *devices, GError **error)
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

/* Most detector rows that one slab sees. */
static guint
rows_of_a_slab (const TdFdkPlan *fdk)
{
  guint most = 1;

  for (guint slice = 0; slice < fdk->task.nz; slice += fdk->slab) {
    guint first, end;
    td_cone_rows_seen (&fdk->task, slice, MIN (fdk->slab, fdk->task.nz - slice), &first, &end);
    most = MAX (most, end - first);
  }
  return most;
}

static guint64
worker_bytes (const TdFdkPlan *fdk, const TdConeFamily *family, const TdDeviceInfo *device,
              TdPrecision precision)
{
  const guint rows = rows_of_a_slab (fdk);
  const TdConeLimits limits = { fdk->batch, rows, fdk->slab, precision };
  const guint64 batch = (guint64) fdk->batch * rows * fdk->task.n_columns * sizeof (float);
  const guint64 slab = (guint64) fdk->slab * fdk->task.ny * fdk->task.nx * sizeof (float);

  return batch * (fdk->batch < fdk->task.n_views ? 2 : 1) + slab
         + family->workspace_bytes (&fdk->task, &limits, device);
}

static guint64
filter_bytes (const TdFdkPlan *fdk, const TdPlan *plan)
{
  const TdScanFacts *facts = td_scan_facts (plan->scan);
  const guint halo = td_preparation_halo (plan->recipe.steps, plan->recipe.n_steps, facts);
  const guint rows = MIN (facts->n_rows, fdk->filter_rows + 2 * halo);

  return (guint64) rows * facts->n_views * facts->n_columns * sizeof (float)
         + td_cone_filter_workspace_bytes (&fdk->task, rows)
         + td_preparation_workspace_bytes (plan->recipe.steps, plan->recipe.n_steps, facts, rows);
}

/* Shrinks the batch, then the slab, until the device holds the workers and the filter; out of core is
   nothing but this. */
static gboolean
fit_device (TdPlan *plan, TdFdkPlan *fdk, TdDevice *device, const TdConeFamily *family,
            guint64 budget, GError **error)
{
  const TdDeviceInfo *info = td_device_info (device);
  const guint turns = family->turned_views (&fdk->task, plan->recipe.precision);
  guint64 need;

  fdk->batch = MAX (turns, fdk->batch / turns * turns);
  while ((need = filter_bytes (fdk, plan)
                 + fdk->workers * worker_bytes (fdk, family, info, plan->recipe.precision))
         > budget) {
    if (fdk->batch > MIN_BATCH && fdk->batch / 2 >= turns)
      fdk->batch = fdk->batch / 2 / turns * turns;
    else if (fdk->slab > 8)
      fdk->slab = (fdk->slab + 1) / 2;
    else if (fdk->filter_rows > 1)
      fdk->filter_rows = (fdk->filter_rows + 1) / 2;
    else if (fdk->workers > 1)
      fdk->workers = 1;
    else if (fdk->batch > turns)
      fdk->batch = MAX (turns, fdk->batch / 2 / turns * turns);
    else if (fdk->slab > 1)
      fdk->slab = 1;
    else
      break;
  }
  if (need > budget) {
    g_set_error (error, TD_ERROR, TD_ERROR_TOO_LARGE,
                 "%s has %" G_GUINT64_FORMAT " MiB for this, but one slice needs %" G_GUINT64_FORMAT
                 " MiB; use another device, a higher memory limit or a smaller region.",
                 info->name, budget >> 20, (need >> 20) + 1);
    return FALSE;
  }
  plan->facts.device_bytes = MAX (plan->facts.device_bytes, need);
  return TRUE;
}

static gboolean
fit (TdPlan *plan, TdFdkPlan *fdk, GPtrArray *devices, GError **error)
{
  const TdScanFacts *facts = td_scan_facts (plan->scan);
  const guint64 row_bytes = (guint64) facts->n_views * facts->n_columns * sizeof (float);
  const guint64 host = td_plan_host_budget (plan);
  gboolean on_host = FALSE;
  guint end;

  td_cone_rows_seen (&fdk->task, 0, fdk->task.nz, &fdk->row0, &end);
  if (end <= fdk->row0)
    end = MIN (facts->n_rows, fdk->row0 + 1), fdk->row0 = end - 1;
  fdk->n_rows = end - fdk->row0;
  fdk->projection_bytes = fdk->n_rows * row_bytes;
  fdk->filter_rows = (guint) CLAMP (FILTER_BYTES / row_bytes, 1, (guint64) fdk->n_rows);
  fdk->slab = MIN (SLAB_SLICES, fdk->task.nz);
  fdk->batch = fdk->task.n_views;
  fdk->workers = fdk->task.nz > fdk->slab ? 2 : 1;
  for (guint i = 0; i < devices->len; i++)
    on_host = on_host || td_device_info (devices->pdata[i])->host_pointers;
  if (on_host)
    fdk->workers = 1; /* one uses all cores already */

  /* Half of the host's memory at most for the projections; the rest is for slabs on their way. */
  fdk->on_disk = fdk->projection_bytes > host / 2;
  const guint64 left = fdk->on_disk ? host : host - fdk->projection_bytes;
  for (guint i = 0; i < devices->len; i++) {
    TdDevice *device = devices->pdata[i];
    const gboolean shared = td_device_info (device)->host_pointers;
    const guint64 free_bytes = td_device_memory_free (device);
    const guint64 budget = shared ? left / 2 : free_bytes / 10 * 8;
    if (!fit_device (plan, fdk, device, fdk->families[i], budget, error))
      return FALSE;
  }
  const guint64 slab = (guint64) fdk->slab * fdk->task.ny * fdk->task.nx * sizeof (float);
  plan->facts.host_bytes = (fdk->on_disk ? 0 : fdk->projection_bytes) + filter_bytes (fdk, plan)
                           + (on_host ? plan->facts.device_bytes : 0)
                           + slab * (fdk->workers * devices->len + 2);
  return TRUE;
}

char *
td_fdk_rate_key (const TdPlan *plan, const TdFdkPlan *fdk)
{
  g_autoptr (GString) key = g_string_new ("fdk");

  for (guint i = 0; i < plan->devices->len; i++)
    g_string_append_printf (key, " %s %s", td_device_info (plan->devices->pdata[i])->name,
                            fdk->families[i]->name);
  return g_string_free (g_steal_pointer (&key), FALSE);
}

static void
describe (TdPlan *plan, const TdFdkPlan *fdk)
{
  const TdScanFacts *facts = td_scan_facts (plan->scan);
  const TdConeTask *task = &fdk->task;

  plan->facts.family = fdk->families[0]->name;
  plan->facts.nx = task->nx;
  plan->facts.ny = task->ny;
  plan->facts.slab_slices = fdk->slab;
  plan->facts.n_slabs = (task->nz + fdk->slab - 1) / fdk->slab;
  plan->facts.pixel_mm = task->voxel_mm;
  plan->facts.scale = 1;
  plan->facts.units = facts->filtered ? "" : "1/mm";
  plan->facts.read_bytes = (guint64) fdk->n_rows * facts->n_views * facts->n_columns
                           * td_sample_size (facts->sample_type);
  plan->facts.write_bytes
      = (guint64) task->nz * task->ny * task->nx * (plan->recipe.output_bits / 8);
  plan->facts.updates = (double) task->nz * task->ny * task->nx * task->n_views;
  g_autofree char *key = td_fdk_rate_key (plan, fdk);
  plan->facts.estimate_s = td_plan_estimate (plan, td_engine_rate (plan->engine, key));
  td_plan_note (plan, "Detector rows %u to %u are filtered%s; slabs of %u slices are back-projected "
                      "from batches of %u views.", fdk->row0, fdk->row0 + fdk->n_rows - 1,
                fdk->on_disk ? " into a temporary file, because memory is short" : "", fdk->slab,
                fdk->batch);
}

gboolean
td_fdk_plan (TdPlan *plan, TdEngine *engine, GPtrArray *devices, GCancellable *cancellable,
             GError **error)
{
  TdFdkPlan *fdk = g_new0 (TdFdkPlan, 1);

  plan->extra = fdk;
  plan->free_extra = (GDestroyNotify) td_fdk_plan_free;
  if (!make_task (plan, fdk, error) || !choose_families (plan, fdk, devices, error)
      || !fit (plan, fdk, devices, error))
    return FALSE;
  describe (plan, fdk);
  return TRUE;
}
