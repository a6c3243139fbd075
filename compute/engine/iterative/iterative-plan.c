/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "iterative.h"

#include "compute/engine/cone-scan.h"
#include "compute/prepare/prepare.h"
#include "compute/engine/engine-private.h"
#include "compute/engine/field.h"
#include "dataset/file-bytes.h"
#include "dataset/unit.h"

#define CHUNK_BYTES ((guint64) 32 << 20)
/* Threads' stacks, the readers' and writers' own buffers. */
#define OWN_BYTES ((guint64) 64 << 20)
/* Slices put in or given out at once. Three portions are on their way; a limit is for all else
   too. */
#define PORTION_BYTES ((guint64) 64 << 20)
#define PORTIONS 3
#define LIMIT_PORTIONS 16

static void
iterative_free (gpointer data)
{
  TdIterativePlan *self = data;

  td_scan_unref (self->scan);
  td_cone_task_clear (&self->task);
  td_iterative_cut_clear (&self->cut);
  g_clear_pointer (&self->host, td_device_unref);
  g_free (self->angles_rad);
  g_free (self);
}

static gboolean
iterative_plan_is_parallel (const TdPlan *plan)
{
  return td_scan_facts (plan->scan)->geometry.beam == TD_BEAM_PARALLEL;
}

/* ── The volume ── */

static gboolean
make_cone (TdPlan *plan, TdIterativePlan *self, GError **error)
{
  g_autofree double *angles_rad = NULL;
  TdGeometry geometry;

  self->scan = td_cone_frames_new (plan, &geometry, &angles_rad, error);
  self->turned = self->scan != plan->scan;
  const TdScanFacts *facts = self->scan ? td_scan_facts (self->scan) : NULL;
  const gboolean good
      = facts
        && td_cone_task_init_rays (&self->task, &geometry, angles_rad, facts->n_views,
                                   facts->n_columns, facts->n_rows, error);
  td_geometry_clear (&geometry);
  if (!good)
    return FALSE;
  self->n_rows = self->slab_rows = facts->n_rows;
  self->n_slabs = 1;
  self->first[2] = plan->facts.first_slice;
  plan->facts.pixel_mm = self->task.voxel_mm;
  plan->facts.units = "1/mm";
  return TRUE;
}

/* The task of so many rows of a parallel beam, with the sizes that the plan's own has. */
static void
iterative_plan_rows (const TdIterativePlan *self, guint n_rows, double centre_px, TdConeTask *task)
{
  const TdRayParallel beam = { .angles_rad = self->angles_rad,
                               .n_views = self->task.n_views,
                               .n_columns = self->task.n_columns,
                               .n_rows = n_rows,
                               .centre_px = centre_px,
                               .tilt = self->tilt,
                               .nx = self->task.nx,
                               .voxel_mm = self->task.voxel_mm };

  td_ray_task_parallel (task, &beam);
}

/* The axis and the field of view as filtered back-projection has them. */
static gboolean
make_parallel (TdPlan *plan, TdIterativePlan *self, GError **error)
{
  const TdScanFacts *facts = td_scan_facts (plan->scan);
  const TdAxisLine axis = td_plan_axis (plan);
  TdField field;
  TdTurn turn;

  self->scan = td_scan_ref (plan->scan);
  if (!td_plan_field (plan, &turn, &field, error))
    return FALSE;
  const double pixel_mm = plan->facts.pixel_mm;
  self->angles_rad = td_recipe_angles (&plan->recipe, facts);
  self->slabs = TRUE;
  self->row0 = plan->facts.first_slice;
  self->n_rows = plan->facts.n_slices;
  self->tilt = axis.slope;
  self->centre_px = td_axis_line_at (&axis, self->row0 + (self->n_rows - 1) / 2.0);
  self->task.n_views = facts->n_views;
  self->task.n_columns = facts->n_columns;
  self->task.nx = field.columns;
  self->task.voxel_mm = pixel_mm > 0 ? pixel_mm : 1;
  iterative_plan_rows (self, self->n_rows, self->centre_px, &self->task);
  return TRUE;
}

void
td_iterative_task (const TdPlan *plan, guint slab, TdConeTask *task, guint *row0, guint *n_rows)
{
  const TdIterativePlan *self = plan->extra;
  const guint first = slab * self->slab_rows;

  *row0 = self->row0 + first;
  *n_rows = MIN (self->slab_rows, self->n_rows - first);
  if (!self->slabs) {
    td_cone_task_copy (task, &self->task);
    return;
  }
  const TdAxisLine axis = { self->centre_px, self->tilt, (self->n_rows - 1) / 2.0 };
  iterative_plan_rows (self, *n_rows, td_axis_line_at (&axis, first + (*n_rows - 1) / 2.0), task);
}

static gboolean
set_part (TdPlan *plan, TdIterativePlan *self, GError **error)
{
  guint region[4];

  if (!td_plan_region (plan, self->task.nx, self->task.ny, region, error))
    return FALSE;
  for (guint i = 0; i < 2; i++) {
    self->first[i] = region[i];
    self->size[i] = region[2 + i];
  }
  self->size[2] = plan->facts.n_slices;
  return TRUE;
}

static gboolean
set_solver (TdPlan *plan, TdIterativePlan *self, GError **error)
{
  TdRecipe *recipe = &plan->recipe;
  const guint n_views = self->task.n_views;
  const TdSolverKind kind = recipe->method == TD_METHOD_SIRT       ? TD_SOLVER_SIRT
                            : recipe->method == TD_METHOD_FISTA_TV ? TD_SOLVER_FISTA_TV
                                                                   : TD_SOLVER_CGLS;

  if (recipe->subsets > n_views)
    return td_set_error (error, TD_ERROR_INVALID,
                         "%u [view does|views do] not make %u subsets ({subsets})", n_views,
                         recipe->subsets);
  if (recipe->subsets == 0 || kind == TD_SOLVER_CGLS)
    recipe->subsets = td_solver_usual_subsets (kind, n_views);
  self->settings = (TdSolverSettings) {
    .kind = kind,
    .iterations = recipe->iterations,
    .subsets = recipe->subsets,
    .relaxation = kind == TD_SOLVER_SIRT ? recipe->relaxation : 1,
    .non_negative = recipe->non_negative,
    .tv = recipe->tv,
    .stop_at = recipe->stop_at,
    .tolerance = recipe->tolerance,
  };
  return TRUE;
}

/* ── Memory ── */

/* Rows that are prepared at once. */
static guint
prepared_rows (const TdIterativePlan *self)
{
  return MIN (td_scan_facts (self->scan)->n_rows, self->chunk_rows + 2 * self->halo);
}

guint64
td_iterative_chunk_bytes (const TdPlan *plan)
{
  const TdIterativePlan *self = plan->extra;
  const TdScanFacts *facts = td_scan_facts (self->scan);

  return (guint64) prepared_rows (self) * facts->n_views * facts->n_columns * sizeof (float);
}

guint
td_iterative_portion (const TdIterativePlan *self, guint nx, guint ny, guint most)
{
  const guint64 slice = (guint64) nx * ny * sizeof (float);

  return (guint) CLAMP (self->portion_bytes / slice, 1, (guint64) most);
}

guint
td_iterative_give_slices (const TdIterativePlan *self)
{
  const guint most = self->slabs ? MIN (self->slab_rows, self->size[2]) : self->size[2];

  return td_iterative_portion (self, self->size[0], self->size[1], most);
}

/* Whole slices are put in, if iterations begin with some, and those asked for given out. */
static guint64
give_bytes (const TdIterativePlan *self)
{
  const guint64 give = (guint64) td_iterative_give_slices (self) * self->size[0] * self->size[1];
  const guint64 slice = (guint64) self->task.nx * self->task.ny;
  const guint64 put
      = MAX (slice, MIN (self->portion_bytes / sizeof (float), slice * self->task.nz));

  return (self->start == TD_ITERATIVE_ZERO ? give : MAX (give, put)) * sizeof (float);
}

static void
iterative_plan_set_slab (TdIterativePlan *self, guint rows)
{
  self->slab_rows = rows;
  self->n_slabs = (self->n_rows + rows - 1) / rows;
  if (self->slabs) {
    self->task.n_rows = rows;
    td_cone_task_set_volume (&self->task, self->task.nx, self->task.nx, rows, self->task.voxel_mm);
  }
}

static guint64
iterative_aside_bytes (const TdPlan *plan)
{
  const TdIterativePlan *self = plan->extra;

  return td_iterative_chunk_bytes (plan) + give_bytes (self) + td_iterative_turning_bytes (self)
         + td_preparation_workspace_bytes (plan->recipe.steps, plan->recipe.n_steps,
                                           td_scan_facts (self->scan), prepared_rows (self));
}

/* ── How devices share the volume ──

   Rows by their speed, as far as their memory goes; the host has the rest. */

void
td_iterative_cut_clear (TdIterativeCut *cut)
{
  g_clear_pointer (&cut->members, g_free);
  cut->n = cut->batch_views = 0;
  cut->lead = NULL;
  cut->kept_subsets = 0;
  cut->in_file = FALSE;
}

guint64
td_iterative_slab_bytes (const TdIterativePlan *self)
{
  return (guint64) self->task.nx * self->task.ny * self->task.nz * sizeof (float);
}

static gboolean
iterative_cut_is_cpu (TdDevice *device)
{
  return td_device_info (device)->host_pointers || td_device_info (device)->kind == TD_DEVICE_CPU;
}

/* The host's memory that is neither for devices nor for projections. */
static guint64
iterative_own_bytes (const TdPlan *plan)
{
  const TdIterativePlan *self = plan->extra;

  return OWN_BYTES + td_plan_unpack_bytes (plan) + td_iterative_chunk_bytes (plan)
         + PORTIONS * give_bytes (self)
         + td_preparation_host_bytes (plan->recipe.steps, plan->recipe.n_steps,
                                      td_scan_facts (self->scan), prepared_rows (self));
}

/* And what is left beside that. A limit is for all together. */
static guint64
iterative_host_left (const TdPlan *plan)
{
  const guint64 budget = td_plan_host_budget (plan), own = iterative_own_bytes (plan);

  return plan->recipe.memory_limit_bytes ? budget - MIN (budget, own) : budget;
}

static guint
iterative_cut_sharing (GPtrArray *devices)
{
  guint n = 0;

  for (guint i = 0; i < devices->len; i++)
    n += iterative_cut_is_cpu (devices->pdata[i]);
  return n;
}

/* Devices that are the host's, @sharing of them, share what it has beside the @taken bytes. */
static guint64
budget_of (const TdPlan *plan, TdDevice *device, guint sharing, guint64 taken)
{
  const guint64 free = td_device_memory_free (device) / 16 * 15;
  const guint64 host = iterative_host_left (plan);

  return iterative_cut_is_cpu (device) ? MIN (free, (host - MIN (host, taken)) / MAX (sharing, 1))
                                       : free;
}

static guint64
member_bytes (const TdPlan *plan, guint n, guint batch, guint kept_subsets)
{
  const TdIterativePlan *self = plan->extra;
  TdSolverSettings settings = self->settings;

  settings.kept_subsets = kept_subsets;
  const guint64 slice = (guint64) self->task.nx * self->task.ny * sizeof (float);
  const guint64 at_once = MAX (slice, MIN (self->portion_bytes, td_iterative_slab_bytes (self)));

  return td_solver_member_bytes (&self->task, &settings, n, batch) + at_once / self->task.ny * n;
}

gboolean
td_iterative_can_store (const TdIterativePlan *self)
{
  return !self->slabs && td_solver_can_store (&self->settings);
}

static guint
stored_rows (const TdIterativePlan *self, gboolean in_file)
{
  return in_file ? self->chunk_rows : 0;
}

/* Memory of a device that holds everything, but for what is in a file. */
static guint64
iterative_alone_bytes (const TdPlan *plan, gboolean in_file, guint kept_subsets)
{
  const TdIterativePlan *self = plan->extra;
  TdSolverSettings settings = self->settings;

  settings.kept_subsets = kept_subsets;
  return td_solver_bytes (&self->task, &settings, stored_rows (self, in_file))
         + iterative_aside_bytes (plan);
}

/* What the projections take of a card that leads, beside its part of the volume. */
static guint64
iterative_lead_bytes (const TdPlan *plan)
{
  const TdIterativePlan *self = plan->extra;

  return td_solver_lines_bytes (&self->task, &self->settings, 1, 0) + iterative_aside_bytes (plan);
}

static guint64
iterative_member_needs (const TdPlan *plan, const TdIterativeCut *cut, guint index)
{
  const TdIterativePlan *self = plan->extra;
  const gboolean leads = index == 0 && cut->lead != self->host;

  return cut->batch_views
             ? member_bytes (plan, cut->members[index].n, cut->batch_views, cut->kept_subsets)
                   + (leads ? iterative_lead_bytes (plan) : 0)
             : iterative_alone_bytes (plan, cut->in_file, cut->kept_subsets);
}

guint64
td_iterative_host_bytes (const TdPlan *plan, const TdIterativeCut *cut)
{
  const TdIterativePlan *self = plan->extra;

  if (cut->batch_views == 0)
    return 0;
  if (cut->lead != self->host) /* what goes from member to member */
    return cut->n * td_rays_projection_bytes (&self->task, cut->batch_views);
  return td_solver_lines_bytes (&self->task, &self->settings, cut->n,
                                stored_rows (self, cut->in_file))
         + iterative_aside_bytes (plan);
}

/* Rows that the device has memory for. @sharing, @taken: budget_of()'s. @aside: bytes of its memory
   for anything else. */
static guint
most_rows (const TdPlan *plan, TdDevice *device, guint batch, guint sharing, guint64 taken,
           guint64 aside)
{
  const TdIterativePlan *self = plan->extra;
  const TdDeviceInfo *info = td_device_info (device);
  const guint64 budget = budget_of (plan, device, sharing, taken);
  guint low = 0, high = self->task.ny;

  while (low < high) {
    const guint n = (low + high + 1) / 2;
    const guint64 largest = MAX (td_ray_group_volume_bytes (&self->task, n),
                                 td_rays_projection_bytes (&self->task, batch));

    if (member_bytes (plan, n, batch, 0) + aside <= budget
        && (!info->max_alloc_bytes || largest <= info->max_alloc_bytes))
      low = n;
    else
      high = n - 1;
  }
  return low;
}

double
td_iterative_pass_updates (const TdPlan *plan)
{
  const TdConeTask *task = &((const TdIterativePlan *) plan->extra)->task;

  return (double) task->nx * task->ny * task->nz * task->n_views;
}

/* Shares by speed, unless one device's is not known. */
static void
set_speeds (const TdPlan *plan, GPtrArray *devices, double *speeds)
{
  gboolean known = TRUE;

  for (guint i = 0; i < devices->len; i++) {
    g_autofree char *key
        = g_strdup_printf ("%s %s", plan->method->name, td_device_info (devices->pdata[i])->name);
    speeds[i] = td_engine_rate (plan->engine, key, td_iterative_pass_updates (plan));
    known = known && speeds[i] > 0;
  }
  for (guint i = 0; !known && i < devices->len; i++)
    speeds[i] = 1;
}

/* Rows for each device, no more than it has room for. What is left over goes to any device that
   has room. */
static guint
share_rows (guint rows, const double *speeds, const guint *most, guint n, guint *shares)
{
  double total = 0;
  guint left = rows;

  for (guint i = 0; i < n; i++)
    total += speeds[i];
  for (guint i = 0; i < n; i++) {
    shares[i] = MIN (MIN ((guint) (rows * speeds[i] / total), most[i]), left);
    left -= shares[i];
  }
  for (guint i = 0; i < n; i++) {
    const guint more = MIN (most[i] - shares[i], left);
    shares[i] += more;
    left -= more;
  }
  return left;
}

static void
fill_cut (TdIterativeCut *cut, GPtrArray *devices, const guint *shares, TdDevice *host, guint left,
          guint batch, gboolean in_file)
{
  guint first = 0;

  cut->batch_views = batch;
  cut->in_file = in_file;
  cut->lead = host;
  cut->members = g_new0 (TdGroupMember, devices->len + 1);
  cut->n = 0;
  for (guint i = 0; i <= devices->len; i++) {
    const guint n = i < devices->len ? shares[i] : left;

    if (n > 0)
      cut->members[cut->n++]
          = (TdGroupMember) { i < devices->len ? devices->pdata[i] : host, first, n };
    first += n;
  }
}

/* If it is to help, the host has what the devices have no room for. */
static gboolean
iterative_cut_share (const TdPlan *plan, GPtrArray *devices, guint batch, gboolean helped,
                     gboolean in_file, TdIterativeCut *cut)
{
  const TdIterativePlan *self = plan->extra;
  const guint64 lines = td_solver_lines_bytes (&self->task, &self->settings, devices->len + 1,
                                               stored_rows (self, in_file))
                        + iterative_aside_bytes (plan);
  g_autofree double *speeds = g_new (double, devices->len);
  g_autofree guint *most = g_new (guint, devices->len), *shares = g_new (guint, devices->len);
  gboolean has_host = FALSE;

  if (lines > iterative_host_left (plan))
    return FALSE;
  set_speeds (plan, devices, speeds);
  for (guint i = 0; i < devices->len; i++)
    has_host = has_host || td_device_info (devices->pdata[i])->host_pointers;
  const guint sharing = iterative_cut_sharing (devices) + (helped && !has_host);
  for (guint i = 0; i < devices->len; i++)
    most[i] = most_rows (plan, devices->pdata[i], batch, sharing, lines, 0);
  const guint left = share_rows (self->task.ny, speeds, most, devices->len, shares);
  if (left > 0
      && (!helped || has_host || most_rows (plan, self->host, batch, sharing, lines, 0) < left))
    return FALSE;
  fill_cut (cut, devices, shares, self->host, left, batch, in_file);
  return TRUE;
}

/* What the subsets weigh is kept of as many as take no more than half of a device: other jobs want
   some too. */
static guint
iterative_kept_subsets (const TdPlan *plan, const TdIterativeCut *cut)
{
  const TdIterativePlan *self = plan->extra;
  TdIterativeCut kept = *cut;

  if (self->settings.kind == TD_SOLVER_CGLS || self->settings.iterations == 1)
    return 0;
  kept.kept_subsets = self->settings.subsets;
  for (guint i = 0; i < cut->n; i++) {
    TdDevice *device = cut->members[i].device;

    if (iterative_cut_is_cpu (device))
      return 0;
    while (kept.kept_subsets
           && iterative_member_needs (plan, &kept, i) > budget_of (plan, device, 1, 0) / 2)
      kept.kept_subsets--;
  }
  return kept.kept_subsets;
}

/* Several cards, of which the first has the projections: no sum is the host's, and nothing is kept
   there. Each holds what is sent of a whole subset. */
static gboolean
iterative_cut_cards (const TdPlan *plan, GPtrArray *devices, TdIterativeCut *cut)
{
  const TdIterativePlan *self = plan->extra;
  TdDevice *first = devices->pdata[0];
  const guint64 largest = td_device_info (first)->max_alloc_bytes;
  const guint batch = td_solver_most_views (self->task.n_views, &self->settings);
  g_autofree double *speeds = g_new (double, devices->len);
  g_autofree guint *most = g_new (guint, devices->len), *shares = g_new (guint, devices->len);

  if (devices->len == 1
      || (largest && td_rays_projection_bytes (&self->task, self->task.n_views) > largest))
    return FALSE;
  set_speeds (plan, devices, speeds);
  for (guint i = 0; i < devices->len; i++) {
    if (iterative_cut_is_cpu (devices->pdata[i]))
      return FALSE;
    most[i] = most_rows (plan, devices->pdata[i], batch, 0, 0,
                         i == 0 ? iterative_lead_bytes (plan) : 0);
  }
  if (share_rows (self->task.ny, speeds, most, devices->len, shares) > 0 || shares[0] == 0
      || shares[0] == self->task.ny)
    return FALSE;
  fill_cut (cut, devices, shares, first, 0, batch, FALSE);
  if (td_iterative_host_bytes (plan, cut) <= iterative_host_left (plan)) {
    cut->kept_subsets = iterative_kept_subsets (plan, cut);
    return TRUE;
  }
  td_iterative_cut_clear (cut);
  return FALSE;
}

/* @where, @how: static, "" for nothing to add. */
static TdMessage *
iterative_cut_over_limit (const TdPlan *plan, guint64 bytes, const char *where, const char *how)
{
  g_autofree char *need = td_memory_text (bytes);
  g_autofree char *may = td_memory_text (plan->recipe.memory_limit_bytes);

  return td_message_new ("%s of the host's memory%p, and %s may be used ({memory-limit})%p", need,
                         td_message_new_plain (where), may, td_message_new_plain (how));
}

static TdMessage *
iterative_cut_too_large (const TdPlan *plan, GPtrArray *devices)
{
  const TdIterativePlan *self = plan->extra;
  const TdDeviceInfo *info = td_device_info (devices->pdata[0]);
  const gboolean in_file = td_iterative_can_store (self);
  const guint64 bytes = iterative_alone_bytes (plan, in_file, 0);
  const char *where = in_file ? N_ (" even with the projections in a file") : "";
  const char *how
      = in_file || self->slabs ? ""
        : self->settings.kind == TD_SOLVER_CGLS
            ? N_ (" (sirt and fista-tv can leave projections in a file, cgls cannot)")
            : N_ (" (with more subsets, {subsets}, projections could be left in a file)");

  if (plan->recipe.memory_limit_bytes > 0 && iterative_cut_is_cpu (devices->pdata[0]))
    return iterative_cut_over_limit (plan, bytes + iterative_own_bytes (plan), where, how);
  g_autofree char *need = td_memory_text (bytes);
  g_autofree char *free
      = td_memory_text (budget_of (plan, devices->pdata[0], iterative_cut_sharing (devices), 0));
  return td_message_new (
      "%s of memory%p, and %s has %s free%p%p", need, td_message_new_plain (where), info->id, free,
      td_message_new_plain (
          info->host_pointers ? "" : N_ (" and the host too little for the projections")),
      td_message_new_plain (how));
}

/* Everything on the one device, or all but what was measured: that only on the host. */
static gboolean
iterative_cut_holds_all (const TdPlan *plan, TdDevice *device, gboolean in_file)
{
  const TdIterativePlan *self = plan->extra;
  const TdDeviceInfo *info = td_device_info (device);
  const guint64 largest = MAX (td_rays_volume_bytes (&self->task),
                               td_rays_projection_bytes (&self->task, self->task.n_views));

  return (!in_file || info->host_pointers)
         && iterative_alone_bytes (plan, in_file, 0) <= budget_of (plan, device, 1, 0)
         && (in_file || !info->max_alloc_bytes || largest <= info->max_alloc_bytes);
}

gboolean
td_iterative_cut (const TdPlan *plan, GPtrArray *devices, gboolean in_file, TdIterativeCut *cut,
                  TdMessage **reason)
{
  const TdIterativePlan *self = plan->extra;
  TdDevice *first = devices->pdata[0];
  const gboolean alone = devices->len == 1 && td_device_info (first)->host_pointers;
  const TdGroupMember all = { first, 0, self->task.ny };

  td_iterative_cut_clear (cut);
  if (devices->len == 1 && iterative_cut_holds_all (plan, first, in_file)) {
    cut->members = g_memdup2 (&all, sizeof all);
    cut->n = 1;
    cut->in_file = in_file;
    cut->lead = first;
    cut->kept_subsets = iterative_kept_subsets (plan, cut);
    return TRUE;
  }
  if (!in_file && iterative_cut_cards (plan, devices, cut))
    return TRUE;
  /* Views in parts cost less than rows that the host computes. */
  for (gint helped = 0; helped < 2 && !alone; helped++)
    for (guint batch = td_solver_most_views (self->task.n_views, &self->settings); batch >= 1;
         batch /= 2)
      if (iterative_cut_share (plan, devices, batch, helped, in_file, cut))
        return TRUE;
  if (reason)
    *reason = iterative_cut_too_large (plan, devices);
  return FALSE;
}

/* ── What fits ── */

/* The host's memory, but for what is left to use or not. */
static guint64
iterative_needed_bytes (const TdPlan *plan)
{
  const TdIterativePlan *self = plan->extra;
  guint64 bytes = iterative_own_bytes (plan) + td_iterative_host_bytes (plan, &self->cut);

  for (guint i = 0; i < self->cut.n; i++)
    if (iterative_cut_is_cpu (self->cut.members[i].device))
      bytes += iterative_member_needs (plan, &self->cut, i);
  return bytes;
}

/* What is left of the host's memory goes first to a copy of the iterate, then to a filtered volume.
 */
static gboolean
use_the_rest (TdPlan *plan, TdIterativePlan *self, GCancellable *cancellable, GError **error)
{
  const guint64 budget = td_plan_host_budget (plan), slab = td_iterative_slab_bytes (self);
  guint64 taken = iterative_needed_bytes (plan);
  gboolean own = TRUE;

  for (guint i = 0; i < self->cut.n; i++)
    own = own && td_device_info (self->cut.members[i].device)->host_pointers;
  self->keeps = !own && taken + slab <= budget;
  taken += self->keeps ? slab : 0;
  const guint64 spare = budget > taken ? budget - taken : 0;
  if (!td_iterative_place_start (plan, self, spare, cancellable, error))
    return FALSE;
  td_iterative_plan_spool (plan, self, spare);
  td_iterative_plan_copy (plan, self, spare);
  return !self->cut.in_file
         || td_file_temporary_check (N_ ("The projections"),
                                     td_rays_projection_bytes (&self->task, self->task.n_views),
                                     error);
}

/* Devices share the volume as their memory and a limit allow. @reason: (transfer full): why not. */
static gboolean
iterative_plan_try (TdPlan *plan, TdIterativePlan *self, gboolean in_file, TdMessage **reason)
{
  const guint64 limit = plan->recipe.memory_limit_bytes;

  g_clear_pointer (reason, td_message_unref);
  if (!td_iterative_cut (plan, plan->devices, in_file, &self->cut, reason))
    return FALSE;
  const guint64 needed = iterative_needed_bytes (plan);
  if (!limit || needed <= limit)
    return TRUE;
  *reason = iterative_cut_over_limit (plan, needed, "", "");
  return FALSE;
}

static gboolean
iterative_plan_fit (TdPlan *plan, TdIterativePlan *self, GError **error)
{
  const guint64 row = (guint64) self->task.n_views * self->task.n_columns * sizeof (float);
  const guint most = (guint) CLAMP (CHUNK_BYTES / row, 1, (guint64) self->n_rows);
  g_autoptr (TdMessage) reason = NULL;

  for (guint rows = self->n_rows; rows >= 1; rows = self->slabs ? rows / 2 : 0) {
    iterative_plan_set_slab (self, rows);
    for (gint in_file = 0; in_file <= td_iterative_can_store (self); in_file++)
      /* Preparing fewer rows at once takes longer, but less. */
      for (self->chunk_rows = MIN (most, rows); self->chunk_rows >= 1; self->chunk_rows /= 2) {
        if (!iterative_plan_try (plan, self, in_file, &reason) && rows == self->n_rows) {
          td_engine_drop_idle (plan->engine); /* earlier previews' memory */
          iterative_plan_try (plan, self, in_file, &reason);
        }
        if (!reason && (!self->slabs || td_rays_check (&self->task, NULL)))
          return td_rays_check (&self->task, error);
      }
  }
  return td_set_error (
      error, TD_ERROR_TOO_LARGE,
      "Iterative methods hold the whole volume and all projections, which needs %p: bin the "
      "detector ({bin=2}), crop it ({crop}), name more devices ({device}), or take {method=%s}",
      reason ? g_steal_pointer (&reason)
             : td_message_new_plain (N_ ("more than 2^31 voxels a slice")),
      iterative_plan_is_parallel (plan) ? "fbp" : "fdk");
}

/* ── The plan ── */

/* The host has fast loops (compute/iterative/rays-host.h) only where columns run along the axis. */
static gboolean
iterative_plan_tilted (const TdPlan *plan, const TdIterativePlan *self)
{
  return td_device_info (plan->devices->pdata[0])->host_pointers && !td_rays_upright (&self->task);
}

char *
td_iterative_rate_key (const TdPlan *plan)
{
  return g_strdup_printf ("%s %s%s", plan->method->name,
                          td_device_info (plan->devices->pdata[0])->name,
                          iterative_plan_tilted (plan, plan->extra) ? " leaning" : "");
}

/* Whoever names several devices wants to be faster (docs/benchmarks.md, Little memory and several
   devices). */
static void
describe_slower (TdPlan *plan, const TdIterativePlan *self)
{
  const TdIterativeCut *cut = &self->cut;

  if (cut->n == 1 || cut->lead != self->host)
    return;
  for (guint i = 0; i < cut->n; i++) {
    TdDevice *device = cut->members[i].device;
    const char *id = td_device_info (device)->id;

    if (iterative_cut_is_cpu (device) || !iterative_cut_holds_all (plan, device, FALSE))
      continue;
    td_plan_note (plan,
                  "%s has room for everything, and alone may be faster ({device=%s}): what "
                  "several devices see and miss of each subset passes through the host.",
                  id, id);
    return;
  }
}

/* Why the projections are not on the device, and who has what of the volume. */
static void
describe_cut (TdPlan *plan, const TdIterativePlan *self)
{
  const TdIterativeCut *cut = &self->cut;
  g_autofree char *all = g_format_size (td_rays_projection_bytes (&self->task, self->task.n_views));
  g_autoptr (GString) shares = g_string_new (NULL);

  if (cut->in_file)
    td_plan_note (plan,
                  "The projections, %s, are kept in a temporary file, because memory is short, "
                  "and read for each subset.",
                  all);
  if (cut->batch_views == 0)
    return;
  for (guint i = 0; i < cut->n; i++)
    g_string_append_printf (shares, "%s%u (%s)", i ? ", " : "", cut->members[i].n,
                            td_device_info (cut->members[i].device)->id);
  td_plan_note (
      plan, "The projections, %s, stay %p and go to %p, up to %u [view|views] at a time.", all,
      cut->lead != self->host ? td_message_new ("on %s", td_device_info (cut->lead)->id)
                              : td_message_new_plain (cut->in_file ? N_ ("with the host")
                                                                   : N_ ("in the host's memory")),
      td_message_new_plain (cut->n > 1 ? N_ ("the devices that share the volume")
                                       : N_ ("the device, which has no room for all")),
      cut->batch_views);
  if (cut->n > 1)
    td_plan_note (plan, "Of the volume's %u rows y there are %s.", self->task.ny, shares->str);
  describe_slower (plan, self);
}

/* Of the scan: one copy, or what filtering reads and then each slab with the rows around it. */
static guint64
iterative_plan_read_bytes (const TdPlan *plan, const TdIterativePlan *self)
{
  const TdScanFacts *measured = td_scan_facts (plan->measured);
  const guint all = td_scan_facts (plan->scan)->n_rows;
  const guint step = self->slabs ? self->slab_rows : self->n_rows;
  guint rows = 0;

  if (self->reads_once)
    return (guint64) self->copied.count * measured->n_views * measured->n_columns
           * td_sample_size (measured->sample_type);
  for (guint row = 0; row < self->n_rows; row += step) {
    const TdRowRange slab = { self->row0 + row, MIN (step, self->n_rows - row) };
    rows += self->turned ? all : td_row_range_with_halo (slab, self->halo, all).count;
  }
  return td_plan_read_bytes (plan, rows)
         + (self->start == TD_ITERATIVE_FILTERED ? self->filtered_reads : 0);
}

static void
iterative_plan_describe (TdPlan *plan, const TdIterativePlan *self)
{
  const TdSolverSettings *settings = &self->settings;
  TdPlanFacts *facts = &plan->facts;
  g_autofree char *key = td_iterative_rate_key (plan);

  facts->family = "joseph";
  facts->nx = self->size[0];
  facts->ny = self->size[1];
  facts->slab_slices = self->slabs ? self->slab_rows : self->task.nz;
  facts->n_slabs = self->n_slabs;
  facts->scale = 1;
  facts->read_bytes = iterative_plan_read_bytes (plan, self);
  facts->write_bytes = td_plan_volume_bytes (plan);
  const guint64 begun = td_iterative_start_bytes (self) + td_iterative_copy_bytes (plan, self);
  facts->host_bytes = iterative_needed_bytes (plan) + begun + td_iterative_spool_bytes (self)
                      + (self->keeps ? td_iterative_slab_bytes (self) : 0);
  if (self->start == TD_ITERATIVE_FILTERED)
    facts->host_bytes = MAX (facts->host_bytes, self->filtered_bytes + begun);
  for (guint i = 0; i < self->cut.n; i++) {
    TdDevice *device = self->cut.members[i].device;
    const guint64 bytes = iterative_member_needs (plan, &self->cut, i);
    /* The projections are in the host's memory as a device too. */
    const gboolean with_lines
        = device == self->host && g_ptr_array_find (plan->devices, device, NULL);

    facts->device_bytes = MAX (
        facts->device_bytes, bytes + (with_lines ? td_iterative_host_bytes (plan, &self->cut) : 0));
  }
  facts->updates = (double) self->task.nx * self->task.ny * self->task.n_views
                   * settings->iterations * (self->slabs ? self->n_rows : self->task.nz);
  td_plan_take_rate (plan, key, td_iterative_pass_updates (plan));
  td_plan_note (plan,
                settings->kind == TD_SOLVER_CGLS
                    ? N_ ("%u [pass|passes] over all %u views.")
                    : N_ ("%u [pass|passes] over %u [view|views] in %u [subset|subsets]."),
                settings->iterations, self->task.n_views, settings->subsets);
  const char *undivided = plan->method->undivided (td_scan_facts (plan->scan), &plan->recipe);
  if (self->n_slabs > 1 && undivided)
    td_plan_note (plan,
                  "Memory holds %u of the slices at once. Values change a little with that number: "
                  "%p.",
                  self->slab_rows, td_message_new_plain (undivided));
  if (iterative_plan_tilted (plan, self))
    td_plan_note (plan,
                  "The detector's columns do not run along the rotation axis: the CPU takes some "
                  "20 to 30 times as long for an iteration as where they do.");
  if (!iterative_plan_is_parallel (plan))
    td_cone_note_volume (plan, &self->task, td_scan_facts (self->scan));
  if (!self->slabs
      && (facts->n_slices < self->task.nz || facts->nx < self->task.nx
          || facts->ny < self->task.ny))
    td_plan_note (plan,
                  "The whole volume of %u × %u × %u voxels is computed, since every ray passes "
                  "all of it; what was asked for is cut out.",
                  self->task.nx, self->task.ny, self->task.nz);
  describe_cut (plan, self);
}

gboolean
td_iterative_plan (TdPlan *plan, GCancellable *cancellable, GError **error)
{
  TdIterativePlan *self = g_new0 (TdIterativePlan, 1);
  const guint64 limit = plan->recipe.memory_limit_bytes;

  plan->extra = self;
  plan->free_extra = iterative_free;
  self->portion_bytes = limit ? MIN (PORTION_BYTES, limit / LIMIT_PORTIONS) : PORTION_BYTES;
  self->host = td_plan_host (plan, error);
  if (!self->host)
    return FALSE;
  if (!(iterative_plan_is_parallel (plan) ? make_parallel (plan, self, error)
                                          : make_cone (plan, self, error)))
    return FALSE;
  self->halo
      = td_preparation_halo (plan->recipe.steps, plan->recipe.n_steps, td_scan_facts (self->scan));
  if (!set_part (plan, self, error) || !set_solver (plan, self, error)
      || !td_iterative_plan_start (plan, self, error) || !iterative_plan_fit (plan, self, error)
      || !use_the_rest (plan, self, cancellable, error))
    return FALSE;
  iterative_plan_describe (plan, self);
  return TRUE;
}
