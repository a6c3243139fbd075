/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "fbp-working-set.h"

#include <string.h>

#include "compute/device/host.h"
#include "compute/engine/engine-private.h"
#include "compute/engine/job-private.h"

/* Points on the device's clock; the work's stages lie between them. */
enum { UP, UPPED, START, PREPARED, FILTERED, PROJECTED, CONVERTED, DOWN, DOWNED, N_MARKS };

typedef struct {
  TdBuffer *data, *slices; /* NULL on direct runs: the slots are used */
  TdRawSamples *raw;       /* what goes up; NULL: data does */
  TdStoredSamples *stored; /* NULL: slices come down as floats */
  TdFbpSlot *out;          /* of the work that is under way */
  TdEvent *marks[N_MARKS];
  gboolean downloads;
  gboolean warm;  /* a slab went through the set before: nothing is built any more */
  double updates; /* to be booked on completion */
} TdFbpLane;

/* The slices that prepared rows are good for: those that they were made for. Steps may leave fewer
   rows than they were given. Other slices may need the same raw rows, for example where the
   detector has fewer rows than the halo. */
typedef struct {
  guint row0;         /* of the first row */
  guint first, count; /* slices */
} TdFbpMade;

struct TdFbpWorkingSet {
  TdJob *job; /* the present one; not referenced */
  TdDevice *device;
  TdQueue *compute, *up, *down; /* up and down are compute itself when there is one lane */
  TdPreparation *preparation;
  TdRowFilter *filter;
  TdBackprojector *projector;
  guint max_slices, max_rows, batch, filter_rows;
  double projector_row;       /* the row whose centre the projector has */
  gboolean uncounted;         /* something was prepared since the counts were collected */
  TdPreparationCounts counts; /* of what is held: every preview of it reports them */
  TdFbpLane lanes[2];
  guint n_lanes;
  TdBuffer *filtered;     /* the core rows, filtered; NULL: where the raw ones were */
  gboolean warm;          /* a slab has gone through */
  double busy_s, updates; /* of warm slabs: what later plans extrapolate from */

  /* Previews: what lanes[0].data and filtered hold. */
  gboolean keep;
  TdScan *scan;
  TdRecipe recipe; /* that made what is held */
  guint held_row0, held_rows, held_first,
      held_count;     /* rows prepared; rows filtered (count 0: none) */
  TdFbpMade prepared; /* rows that were prepared, for whose sake */
  guint nx, ny, n_filtered;
  guint64 voxel_bytes; /* that come down */
  gboolean blend;      /* the filtered rows were blended, about centre_px */
  double centre_px;
  const TdBackprojectFamily *family;

  /* Previews: the rows as they were before the step that was changed last. When the user drags this
     step's sliders, only this step and its successors run again. */
  TdBuffer *early;                           /* made when a step is changed for the first time */
  guint changed_step;                        /* its place; G_MAXUINT: none was changed yet */
  guint early_steps, early_row0, early_rows; /* steps run on these rows; rows 0: nothing is there */
  TdPreparationRows
      early_left; /* what they left of them, while what follows wants early_halo around */
  TdFbpMade early_made;
  guint early_halo;
  TdPreparationCounts early_counts;
};

/* ── Slots ── */

TdFbpSlot *
td_fbp_slot_new (TdDevice *device, gboolean direct, guint64 bytes, guint64 counts_bytes,
                 GError **error)
{
  const guint64 counts_at = (bytes + 63) / 64 * 64;
  g_autoptr (TdFbpSlot) slot = g_new0 (TdFbpSlot, 1);

  slot->device = td_device_ref (device);
  if (direct) {
    slot->buffer = td_buffer_new (device, bytes, error);
    slot->host = slot->buffer ? td_buffer_map (slot->buffer) : NULL;
  } else {
    slot->host_bytes = counts_bytes ? counts_at + counts_bytes : bytes;
    slot->host = td_device_host_alloc (device, slot->host_bytes, error);
  }
  if (!slot->host)
    return NULL;
  if (counts_bytes)
    slot->counts = (guint32 *) ((char *) slot->host + counts_at);
  return g_steal_pointer (&slot);
}

void
td_fbp_slot_free (TdFbpSlot *slot)
{
  if (!slot)
    return;
  if (slot->buffer)
    td_buffer_free (slot->buffer);
  else if (slot->host)
    td_device_host_free (slot->device, slot->host);
  td_device_unref (slot->device);
  g_free (slot);
}

/* ── Life ── */

static gboolean
make_queues (TdFbpWorkingSet *set, GError **error)
{
  set->compute = td_queue_new (set->device, error);
  set->up = set->down = set->compute;
  if (!set->compute || set->n_lanes == 1)
    return set->compute != NULL;
  set->up = td_queue_new (set->device, error);
  set->down = set->up ? td_queue_new (set->device, error) : NULL;
  return set->down != NULL;
}

static gboolean
make_inputs (TdFbpWorkingSet *set, const TdFbp *fbp, GError **error)
{
  const guint64 samples = (guint64) set->max_rows * fbp->n_views * fbp->n_columns;

  for (guint i = 0; i < set->n_lanes && !fbp->direct; i++) {
    TdFbpLane *lane = &set->lanes[i];
    if (!(lane->data = td_buffer_new (set->device, samples * sizeof (float), error))
        || (fbp->raw_bytes
            && !(lane->raw = td_raw_samples_new (set->device, fbp->raw_bytes, samples, error))))
      return FALSE;
  }
  return TRUE;
}

static gboolean
make_stored (TdFbpWorkingSet *set, const TdFbp *fbp, const TdStoredScale *scale, GError **error)
{
  const guint64 values = (guint64) set->max_slices * fbp->nx * fbp->ny;

  set->voxel_bytes = scale ? scale->bits / 8 : sizeof (float);
  for (guint i = 0; i < set->n_lanes && scale; i++) {
    set->lanes[i].stored = td_stored_samples_new (set->device, scale, values, error);
    if (!set->lanes[i].stored)
      return FALSE;
  }
  return TRUE;
}

/* With the centre of @row. */
static gboolean
working_set_make_projector (TdFbpWorkingSet *set, const TdPlan *plan, double row, GError **error)
{
  TdBackprojectTask task;

  td_fbp_task (plan, row, &task);
  set->projector_row = row;
  set->projector = td_backprojector_new (set->family, set->device, &task, NULL, set->batch, error);
  if (set->projector)
    td_backprojector_set_cancellable (set->projector, set->job->cancellable);
  return set->projector != NULL;
}

/* What depends on the field of view. */
static gboolean
working_set_make_field (TdFbpWorkingSet *set, const TdPlan *plan, GError **error)
{
  const TdFbp *fbp = plan->extra;

  set->nx = fbp->nx;
  set->ny = fbp->ny;
  set->n_filtered = fbp->n_filtered;
  for (guint i = 0; i < set->n_lanes && !fbp->direct; i++) {
    set->lanes[i].slices
        = td_buffer_new (set->device, set->max_slices * td_fbp_slice_bytes (fbp), error);
    if (!set->lanes[i].slices)
      return FALSE;
  }
  if (td_fbp_filters_apart (fbp)) {
    set->filtered
        = td_buffer_new (set->device, set->max_slices * td_fbp_filtered_bytes (fbp), error);
    if (!set->filtered)
      return FALSE;
  }
  set->filter
      = td_row_filter_new (set->device, fbp->n_columns, fbp->n_filtered, set->filter_rows, error);
  return set->filter && td_row_filter_set (set->filter, &plan->recipe.filter, error)
         && working_set_make_projector (set, plan, plan->facts.first_slice, error);
}

/* The set is the plan's from now on, and the job is told what computes for it. */
static void
working_set_serve (TdFbpWorkingSet *set, const TdPlan *plan)
{
  const TdFbp *fbp = plan->extra;
  const char *description = set->projector->description;

  set->blend = fbp->blend;
  set->centre_px = fbp->centre_px;
  set->recipe = plan->recipe;
  td_job_set_family (set->job, set->family->name, description ? description : set->family->name);
  td_job_set_precision (set->job, td_fbp_precision (plan, set->family));
}

static void
working_set_free_field (TdFbpWorkingSet *set)
{
  g_clear_pointer (&set->projector, td_backprojector_free);
  g_clear_pointer (&set->filter, td_row_filter_free);
  g_clear_pointer (&set->filtered, td_buffer_free);
  for (guint i = 0; i < G_N_ELEMENTS (set->lanes); i++)
    g_clear_pointer (&set->lanes[i].slices, td_buffer_free);
}

TdFbpWorkingSet *
td_fbp_working_set_new (TdJob *job, TdDevice *device, const TdBackprojectFamily *family,
                        guint max_slices, guint batch, const TdStoredScale *scale, GError **error)
{
  const TdPlan *plan = job->plan;
  const TdFbp *fbp = plan->extra;
  g_autoptr (TdFbpWorkingSet) set = g_new0 (TdFbpWorkingSet, 1);

  set->job = job;
  set->device = td_device_ref (device);
  set->family = family;
  set->scan = td_scan_ref (plan->scan);
  set->max_slices = max_slices;
  set->max_rows = td_fbp_most_rows (fbp, max_slices);
  set->batch = MIN (batch, max_slices);
  set->filter_rows = MIN (fbp->filter_rows, max_slices * fbp->n_views);
  set->n_lanes = td_fbp_lanes (fbp, td_device_info (device));
  set->warm = td_device_info (device)->host_pointers; /* the host's kernels are compiled in */
  set->keep = fbp->keep;
  set->changed_step = G_MAXUINT;
  g_autoptr (TdFlats) flats = td_engine_flats (plan->engine, plan->scan);
  if (!make_queues (set, error) || !make_inputs (set, fbp, error)
      || !(set->preparation = td_preparation_new (device, plan->scan, flats, plan->recipe.steps,
                                                  plan->recipe.n_steps, error))
      || !make_stored (set, fbp, scale, error) || !working_set_make_field (set, plan, error))
    return NULL;
  working_set_serve (set, plan);
  return g_steal_pointer (&set);
}

static void
clear_marks (TdFbpLane *lane)
{
  for (guint i = 0; i < N_MARKS; i++)
    g_clear_pointer (&lane->marks[i], td_event_free);
}

void
td_fbp_working_set_free (TdFbpWorkingSet *set)
{
  if (!set)
    return;
  /* What failed before may fail again here; nothing more is asked of the queues. */
  if (set->up && set->up != set->compute)
    td_queue_finish (set->up, NULL);
  if (set->compute)
    td_queue_finish (set->compute, NULL);
  if (set->down && set->down != set->compute)
    td_queue_finish (set->down, NULL);
  working_set_free_field (set);
  td_preparation_free (set->preparation);
  td_buffer_free (set->early);
  for (guint i = 0; i < G_N_ELEMENTS (set->lanes); i++) {
    clear_marks (&set->lanes[i]);
    td_stored_samples_free (set->lanes[i].stored);
    td_raw_samples_free (set->lanes[i].raw);
    td_buffer_free (set->lanes[i].data);
  }
  if (set->up != set->compute)
    td_queue_free (set->up);
  if (set->down != set->compute)
    td_queue_free (set->down);
  td_queue_free (set->compute);
  td_scan_unref (set->scan);
  td_device_unref (set->device);
  g_free (set);
}

/* ── Submitting ── */

/* A device that shares the host's threads ends each piece of work before the next. So cancelling
   and progress need not wait for a whole slab. */
static gboolean
end_of_piece (TdFbpWorkingSet *set, GError **error)
{
  if (set->n_lanes == 1 && !td_queue_finish (set->compute, error))
    return FALSE;
  return !g_cancellable_set_error_if_cancelled (set->job->cancellable, error);
}

static gboolean
working_set_upload (TdFbpWorkingSet *set, TdFbpLane *lane, const TdFbpWork *work, GError **error)
{
  const TdFbp *fbp = set->job->plan->extra;
  const guint64 row = td_fbp_sent_bytes (fbp);
  TdBuffer *to = lane->raw ? td_raw_samples_buffer (lane->raw) : lane->data;
  const char *from = (const char *) work->in->host + (work->row0 - work->in_row0) * row;

  if (!lane->data || work->in_place)
    return td_event_mark (set->compute, &lane->marks[START], error);
  return td_event_mark (set->up, &lane->marks[UP], error)
         && td_upload (set->up, to, 0, from, work->n_rows * row, error)
         && td_event_mark (set->up, &lane->marks[UPPED], error)
         && (set->up == set->compute || td_event_wait (set->compute, lane->marks[UPPED], error))
         && td_event_mark (set->compute, &lane->marks[START], error)
         && (!lane->raw
             || td_raw_samples_run (lane->raw, set->compute, lane->data,
                                    work->n_rows * row / fbp->raw_bytes, error));
}

/* Where the core rows are after the filter: in `filtered`, or in place where there is none. */
static TdPlace
filtered_place (const TdFbpWorkingSet *set, const TdPlace *rows)
{
  return set->filtered ? (TdPlace) { set->filtered, 0 } : *rows;
}

/* Filters the work's core rows, which begin at @rows. */
static gboolean
working_set_filter (TdFbpWorkingSet *set, const TdFbpWork *work, const TdPlace *rows,
                    GError **error)
{
  const TdFbp *fbp = set->job->plan->extra;
  const guint64 n_rows = (guint64) work->count * fbp->n_views;
  const TdPlace to = filtered_place (set, rows);

  for (guint64 row = 0; row < n_rows; row += set->filter_rows) {
    const guint n = (guint) MIN (set->filter_rows, n_rows - row);
    const TdRowBlend blend = {
      .shift = fbp->shift,
      .n_views = fbp->n_views,
      .row0 = row % fbp->n_views,
      .centre_px = td_fbp_centre (fbp, work->first + row / fbp->n_views),
      .centre_step_px = fbp->tilt,
    };
    if (!td_row_filter_run (
            set->filter, set->compute,
            (TdPlace) { rows->buffer, rows->offset + row * fbp->n_columns * sizeof (float) }, n,
            fbp->blend ? &blend : NULL,
            (TdPlace) { to.buffer, to.offset + row * fbp->n_filtered * sizeof (float) }, error)
        || !end_of_piece (set, error))
      return FALSE;
  }
  return TRUE;
}

/* The projector has the centre of one row; a tilted axis moves the centre from slice to slice. */
static gboolean
working_set_aim (TdFbpWorkingSet *set, guint row, GError **error)
{
  const TdPlan *plan = set->job->plan;
  const TdFbp *fbp = plan->extra;
  g_autoptr (GError) reason = NULL;
  TdBackprojectTask task;

  if (fbp->tilt == 0 || set->projector_row == row)
    return TRUE;
  if (!td_queue_finish (set->compute, error))
    return FALSE;
  td_fbp_task (plan, row, &task);
  set->projector_row = row;
  if (td_backprojector_update (set->projector, &task, &reason))
    return TRUE;
  if (reason) {
    g_propagate_error (error, g_steal_pointer (&reason));
    return FALSE;
  }
  td_backprojector_free (set->projector);
  return working_set_make_projector (set, plan, row, error);
}

/* The slices of the work, from its filtered rows to @slices. */
static gboolean
working_set_project (TdFbpWorkingSet *set, TdFbpLane *lane, const TdFbpWork *work,
                     const TdPlace *rows, const TdPlace *slices, GError **error)
{
  const TdFbp *fbp = set->job->plan->extra;
  const TdPlace from = filtered_place (set, rows);
  const double updates = (double) fbp->nx * fbp->ny * fbp->n_views;

  for (guint done = 0; done < work->count; done += set->batch) {
    guint n = MIN (set->batch, work->count - done);
    if (!working_set_aim (set, work->first + done, error)
        || !td_backprojector_run (
            set->projector, set->compute,
            (TdPlace) { from.buffer, from.offset + done * td_fbp_filtered_bytes (fbp) },
            (TdPlace) { slices->buffer, slices->offset + done * td_fbp_slice_bytes (fbp) }, n,
            error)
        || !end_of_piece (set, error))
      return FALSE;
    if (set->n_lanes == 1)
      td_job_add_updates (set->job, n * updates);
    else
      lane->updates += n * updates;
    if (lane->warm)
      set->updates += n * updates;
  }
  return TRUE;
}

/* Slices become samples, where those are what comes down. */
static gboolean
working_set_convert (TdFbpWorkingSet *set, TdFbpLane *lane, const TdFbpWork *work, GError **error)
{
  const TdFbp *fbp = set->job->plan->extra;

  if (!lane->stored)
    return TRUE;
  return td_stored_samples_run (lane->stored, set->compute, (TdPlace) { lane->slices, 0 },
                                (guint64) work->count * fbp->nx * fbp->ny, error)
         && td_event_mark (set->compute, &lane->marks[CONVERTED], error);
}

static gboolean
working_set_download (TdFbpWorkingSet *set, TdFbpLane *lane, const TdFbpWork *work, GError **error)
{
  const TdFbp *fbp = set->job->plan->extra;
  const guint64 slice = (guint64) fbp->nx * fbp->ny * set->voxel_bytes;
  char *to = (char *) work->out->host + (work->first - work->out_first) * slice;
  TdEvent *made = lane->marks[lane->stored ? CONVERTED : PROJECTED];

  lane->downloads = lane->slices != NULL;
  lane->out = work->out;
  if (!lane->slices)
    return TRUE;
  return (set->down == set->compute || td_event_wait (set->down, made, error))
         && td_event_mark (set->down, &lane->marks[DOWN], error)
         && (lane->stored
                 ? td_stored_samples_fetch (lane->stored, set->down, to, work->out->counts, error)
                 : td_download (set->down, to, lane->slices, 0, work->count * slice, error))
         && td_event_mark (set->down, &lane->marks[DOWNED], error);
}

/* ── What previews keep ── */

/* Rows around the slice that what follows `early` needs. */
static guint
halo_after_early (const TdFbpWorkingSet *set, const TdRecipe *recipe)
{
  const guint done = MIN (set->early_steps, recipe->n_steps);

  return td_preparation_halo (recipe->steps + done, recipe->n_steps - done,
                              td_scan_facts (set->scan));
}

static TdFbpMade
made_of (const TdPreparationRows *rows, const TdFbpWork *work)
{
  return (TdFbpMade) { rows->row0, work->first, work->count };
}

/* What was counted is of the same rows, too. */
static gboolean
working_set_serves (const TdFbpMade *made, const TdFbpWork *work)
{
  return work->first == made->first && work->count == made->count;
}

static gboolean
working_set_holds_early (const TdFbpWorkingSet *set, const TdFbpWork *work)
{
  return set->early_rows == work->n_rows && set->early_row0 == work->row0
         && working_set_serves (&set->early_made, work);
}

/* Loads `early` rows, or raw ones. Sets @done to the number of steps that have run on them. */
static gboolean
load_rows (TdFbpWorkingSet *set, TdFbpLane *lane, const TdFbpWork *work, TdPreparationRows *rows,
           guint *done, GError **error)
{
  *done = 0;
  if (working_set_holds_early (set, work)) {
    *done = set->early_steps;
    *rows = set->early_left;
    return td_event_mark (set->compute, &lane->marks[START], error);
  }
  /* Other rows change what steps keep, so `early` rows no longer count. */
  set->early_rows = 0;
  memset (&set->early_counts, 0, sizeof set->early_counts);
  *rows = (TdPreparationRows) { lane->data, work->row0, work->n_rows };
  return working_set_upload (set, lane, work, error)
         && td_preparation_repair (set->preparation, set->compute, lane->data, work->row0,
                                   work->n_rows, error);
}

/* The lane's rows become `early`, and the lane takes the buffer of the former ones. This only saves
   time: nothing is kept without memory for it. */
static gboolean
keep_early (TdFbpWorkingSet *set, TdFbpLane *lane, const TdFbpWork *work, TdPreparationRows *rows,
            GError **error)
{
  TdPreparationCounts counts;

  if (!set->early)
    set->early = td_buffer_new (set->device, lane->data->bytes, NULL);
  if (!set->early)
    return TRUE;
  if (!td_preparation_counts (set->preparation, set->compute, &counts, error))
    return FALSE;
  td_preparation_counts_add (&set->early_counts, &counts);
  TdBuffer *spare = set->early;
  set->early = lane->data;
  lane->data = spare;
  set->early_steps = set->changed_step;
  set->early_row0 = work->row0;
  set->early_rows = work->n_rows;
  set->early_left = *rows;
  set->early_made = made_of (rows, work);
  set->early_halo = halo_after_early (set, &set->recipe);
  return TRUE;
}

static gboolean
working_set_prepare_kept (TdFbpWorkingSet *set, TdFbpLane *lane, const TdFbpWork *work,
                          GError **error)
{
  TdPreparation *preparation = set->preparation;
  GCancellable *cancellable = set->job->cancellable;
  TdPreparationRows rows;
  TdPreparationCounts stale;
  guint done;

  /* What a cancelled run counted goes with it. */
  if (set->uncounted && !td_preparation_counts (preparation, set->compute, &stale, error))
    return FALSE;
  set->uncounted = TRUE;
  if (!load_rows (set, lane, work, &rows, &done, error))
    return FALSE;
  /* The first step has `early` rows too: raw rows then need not be copied and repaired again. */
  if (set->changed_step != G_MAXUINT
      && (done < set->changed_step || !working_set_holds_early (set, work))) {
    if (!td_preparation_run_steps (preparation, set->compute, &rows,
                                   &(TdPreparationRows) { lane->data, work->first, work->count },
                                   (TdStepRange) { done, set->changed_step }, cancellable, error)
        || !keep_early (set, lane, work, &rows, error))
      return FALSE;
    done = set->changed_step;
  }
  if (!td_preparation_run_steps (preparation, set->compute, &rows,
                                 &(TdPreparationRows) { lane->data, work->first, work->count },
                                 (TdStepRange) { done, G_MAXUINT }, cancellable, error))
    return FALSE;
  set->prepared = made_of (&rows, work);
  return TRUE;
}

/* The set holds the prepared rows of this work already. */
static gboolean
working_set_holds (const TdFbpWorkingSet *set, const TdFbpWork *work)
{
  return set->held_rows == work->n_rows && set->held_row0 == work->row0
         && working_set_serves (&set->prepared, work);
}

/* Gives the job the first of the prepared rows, if it was asked to show it. */
static gboolean
show_row (TdFbpWorkingSet *set, const TdPlace *rows, GError **error)
{
  const guint64 bytes = td_fbp_row_bytes (set->job->plan->extra);

  if (!td_job_wants_sinogram (set->job))
    return TRUE;
  g_autofree float *row = td_host_malloc (bytes, error);
  if (!row || !td_download (set->compute, row, rows->buffer, rows->offset, bytes, error)
      || !td_queue_finish (set->compute, error))
    return FALSE;
  td_job_give_sinogram (set->job, g_steal_pointer (&row));
  return TRUE;
}

/* Prepares the work's rows, unless they are held already. Sets @row0 to the first of them. */
static gboolean
working_set_prepare (TdFbpWorkingSet *set, TdFbpLane *lane, const TdFbpWork *work, guint *row0,
                     GError **error)
{
  TdPreparationRows rows = { lane->data ? lane->data : work->in->buffer, work->row0, work->n_rows };
  const gboolean held = set->keep && working_set_holds (set, work);

  td_preparation_set_counted (set->preparation, (TdRowRange) { work->first, work->count });
  if (held && !td_event_mark (set->compute, &lane->marks[START], error))
    return FALSE;
  if (!held && set->keep) {
    set->held_rows = set->held_count = 0;
    if (!working_set_prepare_kept (set, lane, work, error))
      return FALSE;
    set->held_row0 = work->row0;
    set->held_rows = work->n_rows;
  }
  if (!set->keep) {
    if (!working_set_upload (set, lane, work, error)
        || !td_preparation_run_for (set->preparation, set->compute, &rows, work->first, work->count,
                                    set->job->cancellable, error))
      return FALSE;
    set->uncounted = TRUE;
  }
  *row0 = set->keep ? set->prepared.row0 : rows.row0;
  return td_event_mark (set->compute, &lane->marks[PREPARED], error) && end_of_piece (set, error);
}

gboolean
td_fbp_working_set_submit (TdFbpWorkingSet *set, guint index, const TdFbpWork *work, GError **error)
{
  const TdFbp *fbp = set->job->plan->extra;
  TdFbpLane *lane = &set->lanes[index];
  const guint64 out = (work->first - work->out_first) * td_fbp_slice_bytes (fbp);
  const TdPlace slices
      = lane->slices ? (TdPlace) { lane->slices, 0 } : (TdPlace) { work->out->buffer, out };
  guint row0;

  clear_marks (lane);
  lane->updates = 0;
  lane->warm = set->warm;
  if (!working_set_prepare (set, lane, work, &row0, error))
    return FALSE;
  const TdPlace rows = { lane->data ? lane->data : work->in->buffer,
                         (work->first - row0) * td_fbp_row_bytes (fbp) };
  if (set->keep && !show_row (set, &rows, error))
    return FALSE;
  if (!set->keep || set->held_count != work->count || set->held_first != work->first) {
    set->held_count = 0;
    if (!working_set_filter (set, work, &rows, error))
      return FALSE;
    set->held_first = work->first;
    set->held_count = work->count;
  }
  return td_event_mark (set->compute, &lane->marks[FILTERED], error)
         && working_set_project (set, lane, work, &rows, &slices, error)
         && td_event_mark (set->compute, &lane->marks[PROJECTED], error)
         && working_set_convert (set, lane, work, error)
         && working_set_download (set, lane, work, error);
}

/* ── Completing ── */

static gboolean
working_set_book (TdFbpWorkingSet *set, TdFbpLane *lane, guint from, guint to, const char *stage,
                  GError **error)
{
  double seconds;

  if (!lane->marks[from] || !lane->marks[to])
    return TRUE;
  if (!td_event_elapsed (lane->marks[from], lane->marks[to], &seconds, error))
    return FALSE;
  td_job_add_stage (set->job, stage, seconds);
  if (lane->warm && from >= START && to <= PROJECTED)
    set->busy_s += seconds;
  return TRUE;
}

gboolean
td_fbp_working_set_complete (TdFbpWorkingSet *set, guint index, GError **error)
{
  TdFbpLane *lane = &set->lanes[index];
  TdEvent *last = lane->downloads ? lane->marks[DOWNED] : lane->marks[PROJECTED];

  if (!td_event_sync (last, error) || !working_set_book (set, lane, UP, UPPED, "upload", error)
      || !working_set_book (set, lane, START, PREPARED, "prepare", error)
      || !working_set_book (set, lane, PREPARED, FILTERED, "filter", error)
      || !working_set_book (set, lane, FILTERED, PROJECTED, "back-project", error)
      || !working_set_book (set, lane, PROJECTED, CONVERTED, "convert", error)
      || !working_set_book (set, lane, DOWN, DOWNED, "download", error))
    return FALSE;
  if (lane->stored)
    td_stored_samples_add (lane->stored, lane->out->counts, &lane->out->stored);
  clear_marks (lane);
  set->warm = TRUE;
  if (lane->updates > 0)
    td_job_add_updates (set->job, lane->updates);
  return TRUE;
}

gboolean
td_fbp_working_set_book_counts (TdFbpWorkingSet *set, GError **error)
{
  TdPlan *plan = set->job->plan;

  if (set->uncounted
      && !td_preparation_counts (set->preparation, set->compute, &set->counts, error))
    return FALSE;
  if (set->uncounted)
    td_preparation_counts_add (&set->counts, &set->early_counts);
  set->uncounted = FALSE;
  td_job_add_counts (set->job, &set->counts);
  if (!td_preparation_counts_check (&set->counts, error))
    return FALSE;
  if (set->busy_s > 0.2) {
    g_autofree char *key = td_fbp_rate_key (set->device, set->family, plan->recipe.interpolation,
                                            plan->recipe.precision);
    td_engine_set_rate (plan->engine, key, set->updates, set->busy_s);
  }
  return TRUE;
}

/* ── Between jobs ──

   Working sets of previews wait with the engine for the next job, with all that they hold. */

static const GDestroyNotify free_idle = (GDestroyNotify) td_fbp_working_set_free;

typedef struct {
  const TdPlan *plan;
  TdDevice *device;
  const TdBackprojectFamily *family;
} Wanted;

static gboolean
working_set_matches (gpointer item, gpointer user)
{
  const TdFbpWorkingSet *set = item;
  const Wanted *wanted = user;
  const TdPlan *plan = wanted->plan;
  const TdFbp *fbp = plan->extra;

  return td_device_alike (set->device, wanted->device) && set->family == wanted->family
         && set->scan == plan->scan && set->max_slices == fbp->slab_slices
         && set->batch == fbp->batch && set->max_rows == td_fbp_most_rows (fbp, fbp->slab_slices)
         && set->recipe.interpolation == plan->recipe.interpolation
         && set->recipe.precision == plan->recipe.precision;
}

/* Half acquisition weights the rows about the axis before they are filtered. */
static gboolean
blended_anew (const TdFbpWorkingSet *set, const TdPlan *plan)
{
  const TdFbp *fbp = plan->extra;

  return fbp->blend != set->blend
         || (fbp->blend
             && (fbp->centre_px != set->centre_px
                 || plan->recipe.tilt_deg != set->recipe.tilt_deg));
}

static void
change_steps (TdFbpWorkingSet *set, const TdRecipe *recipe)
{
  const guint n = MIN (set->recipe.n_steps, recipe->n_steps);
  guint changed = 0; /* the place of the first step that differs */

  while (changed < n && td_step_equal (&set->recipe.steps[changed], &recipe->steps[changed]))
    changed++;
  if (changed == n && set->recipe.n_steps == recipe->n_steps)
    return;
  td_preparation_set_steps (set->preparation, recipe->steps, recipe->n_steps);
  set->held_rows = set->held_count = 0;
  if (set->early_steps > changed
      || (set->early_left.n_rows < set->early_rows
          && halo_after_early (set, recipe) != set->early_halo))
    set->early_rows = 0;
  set->changed_step = changed;
}

static gboolean
make_ready (TdFbpWorkingSet *set, TdJob *job, GError **error)
{
  const TdPlan *plan = job->plan;
  const TdFbp *fbp = plan->extra;
  TdBackprojectTask task;

  set->job = job;
  set->busy_s = set->updates = 0;
  set->projector_row = plan->facts.first_slice;
  if (set->nx != fbp->nx || set->ny != fbp->ny || set->n_filtered != fbp->n_filtered) {
    set->held_count = 0;
    working_set_free_field (set);
    if (!working_set_make_field (set, plan, error))
      return FALSE;
  }
  if (blended_anew (set, plan))
    set->held_count = 0;
  td_fbp_task (plan, set->projector_row, &task);
  change_steps (set, &plan->recipe);
  if (!td_recipe_equal_in (&set->recipe, &plan->recipe, "filter")) {
    set->held_count = 0;
    if (!td_row_filter_set (set->filter, &plan->recipe.filter, error))
      return FALSE;
  }
  working_set_serve (set, plan);
  td_backprojector_set_cancellable (set->projector, job->cancellable);
  return td_backprojector_update (set->projector, &task, error);
}

TdFbpWorkingSet *
td_fbp_working_set_take (TdJob *job, TdDevice *device, const TdBackprojectFamily *family,
                         GError **error)
{
  const TdPlan *plan = job->plan;
  const TdFbp *fbp = plan->extra;
  Wanted wanted = { plan, device, family };
  TdFbpWorkingSet *set = td_engine_take (plan->engine, free_idle, working_set_matches, &wanted);

  if (set && make_ready (set, job, NULL)) {
    td_job_add_account (job, set->device);
    return set;
  }
  td_fbp_working_set_free (set);
  return td_fbp_working_set_new (job, device, family, fbp->slab_slices, fbp->batch, NULL, error);
}

void
td_fbp_working_set_give (TdFbpWorkingSet *set)
{
  TdPlan *plan = set->job->plan;
  const TdFbp *fbp = plan->extra;
  guint64 bytes = (set->early ? 2 : 1) * set->max_rows * td_fbp_row_bytes (fbp)
                  + set->max_slices * (td_fbp_filtered_bytes (fbp) + td_fbp_slice_bytes (fbp));

  if (!td_queue_finish (set->compute, NULL) || !td_queue_finish (set->up, NULL)
      || !td_queue_finish (set->down, NULL)) {
    td_fbp_working_set_free (set);
    return;
  }
  td_backprojector_set_cancellable (set->projector, NULL);
  set->job = NULL;
  td_engine_give (plan->engine, set, bytes, free_idle);
}

float *
td_fbp_working_set_rows (TdFbpWorkingSet *set, guint lane, const TdFbpWork *work)
{
  TdBuffer *data = set->lanes[lane].data;

  if (!set->keep || !data || !td_device_info (set->device)->host_pointers
      || work->count > set->max_slices || work->n_rows > set->max_rows)
    return NULL;
  set->held_rows = set->held_count = 0;
  return td_buffer_map (data);
}

gboolean
td_fbp_working_set_needs_rows (const TdFbpWorkingSet *set, const TdFbpWork *work)
{
  return !working_set_holds (set, work) && !working_set_holds_early (set, work);
}
