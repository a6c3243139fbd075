/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Kits of previews wait with the engine for the next job, and with them what they hold. */
#include "compute/engine/engine-private.h"
#include "fbp-kit-private.h"

#include <string.h>

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

  return td_device_alike (kit->device, wanted->device) && kit->family == wanted->family
         && kit->scan == plan->scan && kit->max_slices == fbp->slab_slices
         && kit->batch == fbp->batch
         && kit->max_rows == MIN (fbp->slab_slices + 2 * fbp->halo, fbp->n_rows)
         && kit->recipe.interpolation == plan->recipe.interpolation
         && kit->recipe.precision == plan->recipe.precision;
}

/* The place of the first step that differs; G_MAXUINT: none does. */
static guint
first_difference (const TdRecipe *a, const TdRecipe *b)
{
  const guint n = MIN (a->n_steps, b->n_steps);

  for (guint i = 0; i < n; i++)
    if (!td_step_equal (&a->steps[i], &b->steps[i]))
      return i;
  return a->n_steps == b->n_steps ? G_MAXUINT : n;
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
             && (fbp->centre_px != kit->centre_px
                 || plan->recipe.tilt_deg != kit->recipe.tilt_deg));
}

/* Rows around the slice that what follows `early` needs. */
static guint
halo_after_early (const TdFbpKit *kit, const TdRecipe *recipe)
{
  const guint done = MIN (kit->early_steps, recipe->n_steps);

  return td_preparation_halo (recipe->steps + done, recipe->n_steps - done,
                              td_scan_facts (kit->scan));
}

static void
change_steps (TdFbpKit *kit, const TdRecipe *recipe)
{
  const guint changed = first_difference (&kit->recipe, recipe);

  if (changed == G_MAXUINT)
    return;
  td_preparation_set_steps (kit->preparation, recipe->steps, recipe->n_steps);
  kit->held_rows = kit->held_count = 0;
  if (kit->early_steps > changed
      || (kit->early_left.n_rows < kit->early_rows
          && halo_after_early (kit, recipe) != kit->early_halo))
    kit->early_rows = 0;
  kit->changed_step = changed;
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
  change_steps (kit, &plan->recipe);
  if (!same_filter (&kit->recipe.filter, &plan->recipe.filter)) {
    kit->held_count = 0;
    if (!td_row_filter_set (kit->filter, &plan->recipe.filter, error))
      return FALSE;
  }
  kit->recipe = plan->recipe;
  td_job_set_family (job,
                     kit->projector->description ? kit->projector->description : kit->family->name);
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

  if (kit && make_ready (kit, job, NULL)) {
    td_job_add_account (job, kit->device);
    return kit;
  }
  td_fbp_kit_free (kit);
  return td_fbp_kit_new (job, device, family, fbp->slab_slices, fbp->batch, error);
}

void
td_fbp_kit_give (TdFbpKit *kit)
{
  TdPlan *plan = kit->job->plan;
  const TdFbp *fbp = plan->extra;
  guint64 bytes = (kit->early ? 2 : 1) * kit->max_rows * td_fbp_row_bytes (fbp)
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

/* ── Preparation ── */

static TdFbpMade
made_of (const TdPreparationRows *rows, const TdFbpWork *work)
{
  return (TdFbpMade) { rows->row0, work->first, work->count, rows->n_rows == work->n_rows };
}

static gboolean
fbp_kit_keep_serves (const TdFbpMade *made, const TdFbpWork *work)
{
  return made->all
         || (work->first >= made->first && work->first + work->count <= made->first + made->count);
}

gboolean
td_fbp_kit_holds_early (const TdFbpKit *kit, const TdFbpWork *work)
{
  return kit->early_rows == work->n_rows && kit->early_row0 == work->row0
         && fbp_kit_keep_serves (&kit->early_made, work);
}

/* Rows as far as the last changed step: `early`, or raw ones. Sets @done to the steps run. */
static gboolean
load_rows (TdFbpKit *kit, TdFbpLane *lane, const TdFbpWork *work, TdPreparationRows *rows,
           guint *done, GError **error)
{
  *done = 0;
  if (td_fbp_kit_holds_early (kit, work)) {
    *done = kit->early_steps;
    *rows = kit->early_left;
    return td_fbp_kit_mark (kit->compute, lane, START, error);
  }
  /* Other rows leave their marks on what steps keep: what is early of these is over. */
  kit->early_rows = 0;
  memset (&kit->early_counts, 0, sizeof kit->early_counts);
  *rows = (TdPreparationRows) { lane->data, work->row0, work->n_rows };
  return td_fbp_kit_upload (kit, lane, work, error)
         && td_preparation_repair (kit->preparation, kit->compute, lane->data, work->row0,
                                   work->n_rows, error);
}

/* The lane's rows become `early`, and what was early before makes room for what follows. Only saves
   time: without memory for it, it is left. */
static gboolean
keep_early (TdFbpKit *kit, TdFbpLane *lane, const TdFbpWork *work, TdPreparationRows *rows,
            GError **error)
{
  TdPreparationCounts counts;

  if (!kit->early)
    kit->early = td_buffer_new (kit->device, lane->data->bytes, NULL);
  if (!kit->early)
    return TRUE;
  if (!td_preparation_counts (kit->preparation, kit->compute, &counts, error))
    return FALSE;
  td_preparation_counts_add (&kit->early_counts, &counts);
  TdBuffer *spare = kit->early;
  kit->early = lane->data;
  lane->data = spare;
  kit->early_steps = kit->changed_step;
  kit->early_row0 = work->row0;
  kit->early_rows = work->n_rows;
  kit->early_left = *rows;
  kit->early_made = made_of (rows, work);
  kit->early_halo = halo_after_early (kit, &kit->recipe);
  return TRUE;
}

gboolean
td_fbp_kit_prepare_kept (TdFbpKit *kit, TdFbpLane *lane, const TdFbpWork *work, GError **error)
{
  TdPreparation *preparation = kit->preparation;
  GCancellable *cancellable = kit->job->cancellable;
  TdPreparationRows rows;
  TdPreparationCounts stale;
  guint done;

  /* What a cancelled run counted goes with it. */
  if (kit->uncounted && !td_preparation_counts (preparation, kit->compute, &stale, error))
    return FALSE;
  kit->uncounted = TRUE;
  if (!load_rows (kit, lane, work, &rows, &done, error))
    return FALSE;
  /* Of the first step too, for what is raw need not be copied and repaired anew. */
  if (kit->changed_step != G_MAXUINT
      && (done < kit->changed_step || !td_fbp_kit_holds_early (kit, work))) {
    if (!td_preparation_run_steps (preparation, kit->compute, &rows,
                                   &(TdPreparationRows) { lane->data, work->first, work->count },
                                   (TdStepRange) { done, kit->changed_step }, cancellable, error)
        || !keep_early (kit, lane, work, &rows, error))
      return FALSE;
    done = kit->changed_step;
  }
  if (!td_preparation_run_steps (preparation, kit->compute, &rows,
                                 &(TdPreparationRows) { lane->data, work->first, work->count },
                                 (TdStepRange) { done, G_MAXUINT }, cancellable, error))
    return FALSE;
  kit->prepared = made_of (&rows, work);
  return TRUE;
}

float *
td_fbp_kit_landing (TdFbpKit *kit, guint lane, const TdFbpWork *work)
{
  TdBuffer *data = kit->lanes[lane].data;

  if (!kit->keep || !data || !td_device_info (kit->device)->host_pointers
      || work->count > kit->max_slices || work->n_rows > kit->max_rows)
    return NULL;
  kit->held_rows = kit->held_count = 0;
  return td_buffer_map (data);
}

gboolean
td_fbp_kit_needs_rows (const TdFbpKit *kit, const TdFbpWork *work)
{
  return !td_fbp_kit_holds (kit, work) && !td_fbp_kit_holds_early (kit, work);
}

gboolean
td_fbp_kit_holds (const TdFbpKit *kit, const TdFbpWork *work)
{
  return kit->held_rows == work->n_rows && kit->held_row0 == work->row0
         && fbp_kit_keep_serves (&kit->prepared, work);
}
