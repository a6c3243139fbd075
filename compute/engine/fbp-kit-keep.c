/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Kits of previews wait with the engine for the next job, and with them what they hold. */
#include "engine-private.h"
#include "fbp-kit-private.h"

typedef struct {
  const TdPlan *plan;
  TdDevice *device;
  const TdBackprojectFamily *family;
} Wanted;

static gboolean
kit_matches (gpointer item, gpointer user)
{
  const TdFbpKit *kit = item;
  const Wanted *wanted = user;
  const TdPlan *plan = wanted->plan;
  const TdFbp *fbp = plan->extra;

  return kit->device == wanted->device && kit->family == wanted->family && kit->scan == plan->scan
         && kit->max_slices == fbp->slab_slices && kit->batch == fbp->batch
         && kit->max_rows == MIN (fbp->slab_slices + 2 * fbp->halo, fbp->n_rows)
         && kit->recipe.interpolation == plan->recipe.interpolation
         && kit->recipe.precision == plan->recipe.precision;
}

static gboolean
same_steps (const TdRecipe *a, const TdRecipe *b)
{
  if (a->n_steps != b->n_steps)
    return FALSE;
  for (guint i = 0; i < a->n_steps; i++)
    if (!td_step_equal (&a->steps[i], &b->steps[i]))
      return FALSE;
  return TRUE;
}

static gboolean
same_filter (const TdFilter *a, const TdFilter *b)
{
  return a->kind == b->kind && a->cutoff == b->cutoff && a->order == b->order
         && a->extend_edges == b->extend_edges;
}

/* Half acquisition weights the rows about the axis before they are filtered. */
static gboolean
blended_anew (const TdFbpKit *kit, const TdPlan *plan)
{
  const TdFbp *fbp = plan->extra;

  return fbp->blend != kit->blend
         || (fbp->blend
             && (fbp->centre_px != kit->centre_px || plan->recipe.tilt_deg != kit->recipe.tilt_deg));
}

static gboolean
make_ready (TdFbpKit *kit, TdJob *job, GError **error)
{
  const TdPlan *plan = job->plan;
  const TdFbp *fbp = plan->extra;
  TdBackprojectTask task;

  kit->job = job;
  kit->busy_s = kit->updates = 0;
  kit->projector_row = plan->facts.first_slice;
  if (kit->nx != fbp->nx || kit->ny != fbp->ny || kit->n_filtered != fbp->n_filtered) {
    kit->held_count = 0;
    td_fbp_kit_free_field (kit);
    if (!td_fbp_kit_make_field (kit, plan, error))
      return FALSE;
  }
  if (blended_anew (kit, plan))
    kit->held_count = 0;
  kit->blend = fbp->blend;
  kit->centre_px = fbp->centre_px;
  td_fbp_task (plan, kit->projector_row, &task);
  if (!same_steps (&kit->recipe, &plan->recipe)) {
    td_preparation_set_steps (kit->preparation, plan->recipe.steps, plan->recipe.n_steps);
    kit->held_rows = kit->held_count = 0;
  }
  if (!same_filter (&kit->recipe.filter, &plan->recipe.filter)) {
    kit->held_count = 0;
    if (!td_row_filter_set (kit->filter, &plan->recipe.filter, error))
      return FALSE;
  }
  kit->recipe = plan->recipe;
  td_job_set_family (job, kit->projector->description ? kit->projector->description
                                                      : kit->family->name);
  td_backprojector_set_cancellable (kit->projector, job->cancellable);
  return td_backprojector_update (kit->projector, &task, error);
}

static void
kit_free (gpointer kit)
{
  td_fbp_kit_free (kit);
}

TdFbpKit *
td_fbp_kit_take (TdJob *job, TdDevice *device, const TdBackprojectFamily *family, GError **error)
{
  const TdPlan *plan = job->plan;
  const TdFbp *fbp = plan->extra;
  Wanted wanted = { plan, device, family };
  TdFbpKit *kit = td_engine_take (plan->engine, kit_free, kit_matches, &wanted);

  if (kit && make_ready (kit, job, NULL))
    return kit;
  td_fbp_kit_free (kit);
  return td_fbp_kit_new (job, device, family, fbp->slab_slices, fbp->batch, error);
}

void
td_fbp_kit_give (TdFbpKit *kit)
{
  TdPlan *plan = kit->job->plan;
  const TdFbp *fbp = plan->extra;
  guint64 bytes = kit->max_rows * td_fbp_row_bytes (fbp)
                  + kit->max_slices * (td_fbp_filtered_bytes (fbp) + td_fbp_slice_bytes (fbp));

  td_backprojector_set_cancellable (kit->projector, NULL);
  kit->job = NULL;
  td_engine_give (plan->engine, kit, bytes, kit_free);
}

gboolean
td_fbp_kit_settle (TdFbpKit *kit)
{
  return td_queue_finish (kit->compute, NULL)
         && (kit->n_lanes == 1
             || (td_queue_finish (kit->up, NULL) && td_queue_finish (kit->down, NULL)));
}

gboolean
td_fbp_kit_holds (const TdFbpKit *kit, const TdFbpWork *work)
{
  return kit->held_rows == work->n_rows && kit->held_row0 == work->row0;
}
