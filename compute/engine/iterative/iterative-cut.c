/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How devices share a volume: rows by their speed, as far as their memory goes, and the host has
 * the rest. */
#include "iterative.h"
#include "compute/engine/engine-private.h"
#include "compute/engine/plan-private.h"

void
td_iterative_cut_clear (TdIterativeCut *cut)
{
  g_clear_pointer (&cut->members, g_free);
  cut->n = cut->batch_views = 0;
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

/* A limit holds for each device; without one those that are the host's share what there is. */
static guint64
budget_of (const TdPlan *plan, GPtrArray *devices, TdDevice *device)
{
  const guint64 free = td_device_memory_free (device) / 16 * 15;
  guint sharing = 0;

  if (!iterative_cut_is_cpu (device))
    return free;
  for (guint i = 0; i < devices->len; i++)
    sharing += iterative_cut_is_cpu (devices->pdata[i]);
  const guint64 host = td_plan_host_budget (plan);
  return MIN (free, plan->recipe.memory_limit_bytes ? host : host / MAX (sharing, 1));
}

static guint64
member_bytes (const TdPlan *plan, guint n, guint batch)
{
  const TdIterativePlan *self = plan->extra;

  const guint64 slice = (guint64) self->task.nx * self->task.ny * sizeof (float);
  const guint64 at_once
      = MAX (slice, MIN (TD_ITERATIVE_GIVE_BYTES, td_iterative_slab_bytes (self)));

  return td_solver_member_bytes (&self->task, &self->settings, n, batch)
         + at_once / self->task.ny * n;
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

guint64
td_iterative_member_bytes (const TdPlan *plan, const TdIterativeCut *cut, guint index)
{
  const TdIterativePlan *self = plan->extra;

  return cut->batch_views
             ? member_bytes (plan, cut->members[index].n, cut->batch_views)
             : td_solver_bytes (&self->task, &self->settings, stored_rows (self, cut->in_file))
                   + td_iterative_aside_bytes (plan);
}

guint64
td_iterative_host_bytes (const TdPlan *plan, const TdIterativeCut *cut)
{
  const TdIterativePlan *self = plan->extra;

  return cut->batch_views == 0 ? 0
                               : td_solver_lines_bytes (&self->task, &self->settings, cut->n,
                                                        stored_rows (self, cut->in_file))
                                     + td_iterative_aside_bytes (plan);
}

/* Rows that the device has memory for. */
static guint
most_rows (const TdPlan *plan, GPtrArray *devices, TdDevice *device, guint batch, guint64 taken)
{
  const TdIterativePlan *self = plan->extra;
  const TdDeviceInfo *info = td_device_info (device);
  const guint64 all = budget_of (plan, devices, device);
  const guint64 budget = info->host_pointers ? all - MIN (all, taken) : all;
  guint low = 0, high = self->task.ny;

  while (low < high) {
    const guint n = (low + high + 1) / 2;
    const guint64 largest = MAX (td_ray_group_volume_bytes (&self->task, n),
                                 td_rays_projection_bytes (&self->task, batch));

    if (member_bytes (plan, n, batch) <= budget
        && (!info->max_alloc_bytes || largest <= info->max_alloc_bytes))
      low = n;
    else
      high = n - 1;
  }
  return low;
}

/* Shares by speed, unless one device's is not known. */
static void
set_speeds (const TdPlan *plan, GPtrArray *devices, double *speeds)
{
  gboolean known = TRUE;

  for (guint i = 0; i < devices->len; i++) {
    g_autofree char *key
        = g_strdup_printf ("%s %s", plan->method->name, td_device_info (devices->pdata[i])->name);
    speeds[i] = td_engine_rate (plan->engine, key);
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
                        + td_iterative_aside_bytes (plan);
  g_autofree double *speeds = g_new (double, devices->len);
  g_autofree guint *most = g_new (guint, devices->len), *shares = g_new (guint, devices->len);
  gboolean has_host = FALSE;

  if (lines > td_plan_host_budget (plan))
    return FALSE;
  set_speeds (plan, devices, speeds);
  for (guint i = 0; i < devices->len; i++) {
    most[i] = most_rows (plan, devices, devices->pdata[i], batch, lines);
    has_host = has_host || td_device_info (devices->pdata[i])->host_pointers;
  }
  const guint left = share_rows (self->task.ny, speeds, most, devices->len, shares);
  if (left > 0
      && (!helped || has_host || most_rows (plan, devices, self->host, batch, lines) < left))
    return FALSE;
  fill_cut (cut, devices, shares, self->host, left, batch, in_file);
  return TRUE;
}

static TdMessage *
iterative_cut_too_large (const TdPlan *plan, GPtrArray *devices)
{
  const TdIterativePlan *self = plan->extra;
  const TdDeviceInfo *info = td_device_info (devices->pdata[0]);
  const gboolean in_file = td_iterative_can_store (self);
  g_autofree char *need
      = g_format_size (td_solver_bytes (&self->task, &self->settings, stored_rows (self, in_file))
                       + td_iterative_aside_bytes (plan));
  g_autofree char *free = g_format_size (budget_of (plan, devices, devices->pdata[0]));

  const char *how
      = in_file || self->slabs ? ""
        : self->settings.kind == TD_SOLVER_CGLS
            ? N_ (" (sirt and fista-tv can leave projections in a file, cgls cannot)")
            : N_ (" (with more subsets, {subsets}, projections could be left in a file)");
  return td_message_new (
      "%s of memory%p, and %s has %s free%p%p", need,
      td_message_new_plain (in_file ? N_ (" even with the projections in a file") : ""), info->id,
      free,
      td_message_new_plain (
          info->host_pointers ? "" : N_ (" and the host too little for the projections")),
      td_message_new_plain (how));
}

/* Everything on the one device, or all but what was measured: that only on the host. */
static gboolean
fits_alone (const TdPlan *plan, GPtrArray *devices, gboolean in_file)
{
  const TdIterativePlan *self = plan->extra;
  TdDevice *device = devices->pdata[0];
  const TdDeviceInfo *info = td_device_info (device);
  const guint64 largest = MAX (td_rays_volume_bytes (&self->task),
                               td_rays_projection_bytes (&self->task, self->task.n_views));

  return devices->len == 1 && (!in_file || info->host_pointers)
         && td_solver_bytes (&self->task, &self->settings, stored_rows (self, in_file))
                    + td_iterative_aside_bytes (plan)
                <= budget_of (plan, devices, device)
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
  if (fits_alone (plan, devices, in_file)) {
    cut->members = g_memdup2 (&all, sizeof all);
    cut->n = 1;
    cut->in_file = in_file;
    return TRUE;
  }
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
