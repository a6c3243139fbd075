/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "compute/engine/engine-private.h"
#include "fbp-kit-private.h"

/* ── Life ── */

static gboolean
make_queues (TdFbpKit *kit, GError **error)
{
  kit->compute = td_queue_new (kit->device, error);
  kit->up = kit->down = kit->compute;
  if (!kit->compute || kit->n_lanes == 1)
    return kit->compute != NULL;
  kit->up = td_queue_new (kit->device, error);
  kit->down = kit->up ? td_queue_new (kit->device, error) : NULL;
  return kit->down != NULL;
}

static gboolean
make_inputs (TdFbpKit *kit, const TdFbp *fbp, GError **error)
{
  for (guint i = 0; i < kit->n_lanes && !fbp->direct; i++) {
    kit->lanes[i].data = td_buffer_new (kit->device, kit->max_rows * td_fbp_row_bytes (fbp), error);
    if (!kit->lanes[i].data)
      return FALSE;
  }
  return TRUE;
}

/* What depends on the field of view. */
gboolean
td_fbp_kit_make_field (TdFbpKit *kit, const TdPlan *plan, GError **error)
{
  const TdFbp *fbp = plan->extra;
  TdBackprojectTask task;

  kit->nx = fbp->nx;
  kit->ny = fbp->ny;
  kit->n_filtered = fbp->n_filtered;
  for (guint i = 0; i < kit->n_lanes && !fbp->direct; i++) {
    kit->lanes[i].slices
        = td_buffer_new (kit->device, kit->max_slices * td_fbp_slice_bytes (fbp), error);
    if (!kit->lanes[i].slices)
      return FALSE;
  }
  if (td_fbp_filters_apart (fbp)) {
    kit->filtered
        = td_buffer_new (kit->device, kit->max_slices * td_fbp_filtered_bytes (fbp), error);
    if (!kit->filtered)
      return FALSE;
  }
  kit->filter = td_row_filter_new_wide (kit->device, fbp->n_columns, fbp->n_filtered,
                                        kit->filter_rows, error);
  if (!kit->filter || !td_row_filter_set (kit->filter, &plan->recipe.filter, error))
    return FALSE;
  td_fbp_task (plan, kit->projector_row, &task);
  kit->projector = td_backprojector_new (kit->family, kit->device, &task, NULL, kit->batch, error);
  if (!kit->projector)
    return FALSE;
  td_backprojector_set_cancellable (kit->projector, kit->job->cancellable);
  return TRUE;
}

void
td_fbp_kit_free_field (TdFbpKit *kit)
{
  g_clear_pointer (&kit->projector, td_backprojector_free);
  g_clear_pointer (&kit->filter, td_row_filter_free);
  g_clear_pointer (&kit->filtered, td_buffer_free);
  for (guint i = 0; i < G_N_ELEMENTS (kit->lanes); i++)
    g_clear_pointer (&kit->lanes[i].slices, td_buffer_free);
}

static gboolean
make_preparation (TdFbpKit *kit, const TdPlan *plan, GError **error)
{
  const TdRecipe *recipe = &plan->recipe;
  g_autoptr (TdFlats) flats = td_engine_flats (plan->engine, plan->scan);

  kit->preparation = td_preparation_new (kit->device, plan->scan, flats, recipe->steps,
                                         recipe->n_steps, kit->max_rows, error);
  return kit->preparation != NULL;
}

TdFbpKit *
td_fbp_kit_new (TdJob *job, TdDevice *device, const TdBackprojectFamily *family, guint max_slices,
                guint batch, GError **error)
{
  const TdPlan *plan = job->plan;
  const TdFbp *fbp = plan->extra;
  TdFbpKit *kit = g_new0 (TdFbpKit, 1);

  kit->job = job;
  kit->device = td_device_ref (device);
  kit->family = family;
  kit->scan = td_scan_ref (plan->scan);
  kit->recipe = plan->recipe;
  kit->max_slices = max_slices;
  kit->max_rows = MIN (max_slices + 2 * fbp->halo, fbp->n_rows);
  kit->batch = MIN (batch, max_slices);
  kit->filter_rows = MIN (fbp->filter_rows, max_slices * fbp->n_views);
  kit->n_lanes = td_fbp_lanes (fbp, td_device_info (device));
  kit->keep = fbp->keep;
  kit->changed_step = G_MAXUINT;
  kit->blend = fbp->blend;
  kit->centre_px = fbp->centre_px;
  kit->projector_row = plan->facts.first_slice;
  if (!make_queues (kit, error) || !make_inputs (kit, fbp, error)
      || !make_preparation (kit, plan, error) || !td_fbp_kit_make_field (kit, plan, error)) {
    td_fbp_kit_free (kit);
    return NULL;
  }
  td_job_set_family (job, kit->projector->description ? kit->projector->description : family->name);
  return kit;
}

static void
clear_marks (TdFbpLane *lane)
{
  for (guint i = 0; i < N_MARKS; i++)
    g_clear_pointer (&lane->marks[i], td_event_free);
}

void
td_fbp_kit_free (TdFbpKit *kit)
{
  if (!kit)
    return;
  /* What failed before may fail again here; nothing more is asked of the queues. */
  if (kit->up && kit->up != kit->compute)
    td_queue_finish (kit->up, NULL);
  if (kit->compute)
    td_queue_finish (kit->compute, NULL);
  if (kit->down && kit->down != kit->compute)
    td_queue_finish (kit->down, NULL);
  td_fbp_kit_free_field (kit);
  td_preparation_free (kit->preparation);
  td_buffer_free (kit->early);
  for (guint i = 0; i < G_N_ELEMENTS (kit->lanes); i++) {
    clear_marks (&kit->lanes[i]);
    td_buffer_free (kit->lanes[i].data);
  }
  if (kit->up != kit->compute)
    td_queue_free (kit->up);
  if (kit->down != kit->compute)
    td_queue_free (kit->down);
  td_queue_free (kit->compute);
  td_scan_unref (kit->scan);
  td_device_unref (kit->device);
  g_free (kit);
}

guint
td_fbp_kit_lanes (const TdFbpKit *kit)
{
  return kit->n_lanes;
}

guint
td_fbp_kit_max_slices (const TdFbpKit *kit)
{
  return kit->max_slices;
}

/* ── Submitting ── */

gboolean
td_fbp_kit_mark (TdQueue *queue, TdFbpLane *lane, guint place, GError **error)
{
  lane->marks[place] = td_event_record (queue, error);
  return lane->marks[place] != NULL;
}

/* On devices that share the host's threads a piece of work is waited for, so that cancelling and
   progress need not wait for a whole slab. */
static gboolean
end_of_piece (TdFbpKit *kit, GError **error)
{
  if (kit->n_lanes == 1 && !td_queue_finish (kit->compute, error))
    return FALSE;
  return !g_cancellable_set_error_if_cancelled (kit->job->cancellable, error);
}

gboolean
td_fbp_kit_upload (TdFbpKit *kit, TdFbpLane *lane, const TdFbpWork *work, GError **error)
{
  const TdFbp *fbp = kit->job->plan->extra;
  guint64 row = td_fbp_row_bytes (fbp);
  const char *from = (const char *) work->in->host + (work->row0 - work->in_row0) * row;

  if (!lane->data || work->landed)
    return td_fbp_kit_mark (kit->compute, lane, START, error);
  return td_fbp_kit_mark (kit->up, lane, UP, error)
         && td_upload (kit->up, lane->data, 0, from, work->n_rows * row, error)
         && td_fbp_kit_mark (kit->up, lane, UPPED, error)
         && (kit->up == kit->compute || td_event_wait (kit->compute, lane->marks[UPPED], error))
         && td_fbp_kit_mark (kit->compute, lane, START, error);
}

/* Sets @row0 to the row that comes first of those prepared. */
static gboolean
fbp_kit_prepare (TdFbpKit *kit, const TdFbpWork *work, TdBuffer *data, guint *row0, GError **error)
{
  TdPreparationRows rows = { data, work->row0, work->n_rows };

  if (!td_preparation_run_for (kit->preparation, kit->compute, &rows, work->first, work->count,
                               kit->job->cancellable, error))
    return FALSE;
  kit->uncounted = TRUE;
  *row0 = rows.row0;
  return TRUE;
}

/* The work's core rows, from @rows at @offset to `filtered`, or in place where there is none. */
static gboolean
fbp_kit_filter (TdFbpKit *kit, const TdFbpWork *work, TdBuffer *rows, guint64 offset,
                GError **error)
{
  const TdFbp *fbp = kit->job->plan->extra;
  const guint64 n_rows = (guint64) work->count * fbp->n_views;
  TdBuffer *to = kit->filtered ? kit->filtered : rows;
  guint64 to_offset = kit->filtered ? 0 : offset;

  for (guint64 row = 0; row < n_rows; row += kit->filter_rows) {
    const guint n = (guint) MIN (kit->filter_rows, n_rows - row);
    const TdRowBlend blend = {
      .shift = fbp->shift,
      .n_views = fbp->n_views,
      .row0 = row % fbp->n_views,
      .centre_px = td_fbp_centre (fbp, work->first + row / fbp->n_views),
      .centre_step_px = fbp->tilt,
    };
    if (!td_row_filter_run_to (kit->filter, kit->compute,
                               (TdPlace) { rows, offset + row * fbp->n_columns * sizeof (float) },
                               n, fbp->blend ? &blend : NULL,
                               (TdPlace) { to, to_offset + row * fbp->n_filtered * sizeof (float) },
                               error)
        || !end_of_piece (kit, error))
      return FALSE;
  }
  return TRUE;
}

/* The projector's centre is that of one row: with a tilted axis it moves from slice to slice. */
static gboolean
fbp_kit_aim (TdFbpKit *kit, guint row, GError **error)
{
  const TdPlan *plan = kit->job->plan;
  const TdFbp *fbp = plan->extra;
  g_autoptr (GError) reason = NULL;
  TdBackprojectTask task;

  if (fbp->tilt == 0 || kit->projector_row == row)
    return TRUE;
  if (!td_queue_finish (kit->compute, error))
    return FALSE;
  td_fbp_task (plan, row, &task);
  kit->projector_row = row;
  if (td_backprojector_update (kit->projector, &task, &reason))
    return TRUE;
  if (reason) {
    g_propagate_error (error, g_steal_pointer (&reason));
    return FALSE;
  }
  td_backprojector_free (kit->projector);
  kit->projector = td_backprojector_new (kit->family, kit->device, &task, NULL, kit->batch, error);
  if (kit->projector)
    td_backprojector_set_cancellable (kit->projector, kit->job->cancellable);
  return kit->projector != NULL;
}

/* From `filtered`, or where there is none from @rows at @offset, where they were filtered in place.
 */
static gboolean
fbp_kit_project (TdFbpKit *kit, TdFbpLane *lane, const TdFbpWork *work, TdBuffer *rows,
                 guint64 offset, TdBuffer *slices, guint64 slices_offset, GError **error)
{
  const TdFbp *fbp = kit->job->plan->extra;
  TdBuffer *sinograms = kit->filtered ? kit->filtered : rows;
  guint64 first = kit->filtered ? 0 : offset;
  double updates = (double) fbp->nx * fbp->ny * fbp->n_views;

  for (guint done = 0; done < work->count; done += kit->batch) {
    guint n = MIN (kit->batch, work->count - done);
    if (!fbp_kit_aim (kit, work->first + done, error)
        || !td_backprojector_run (
            kit->projector, kit->compute,
            (TdPlace) { sinograms, first + done * td_fbp_filtered_bytes (fbp) },
            (TdPlace) { slices, slices_offset + done * td_fbp_slice_bytes (fbp) }, n, error)
        || !end_of_piece (kit, error))
      return FALSE;
    if (kit->n_lanes == 1)
      td_job_add_updates (kit->job, n * updates);
    else
      lane->updates += n * updates;
    kit->updates += n * updates;
  }
  return TRUE;
}

static gboolean
fbp_kit_download (TdFbpKit *kit, TdFbpLane *lane, const TdFbpWork *work, GError **error)
{
  const TdFbp *fbp = kit->job->plan->extra;
  guint64 slice = td_fbp_slice_bytes (fbp);
  char *to = (char *) work->out->host + (work->first - work->out_first) * slice;

  lane->downloads = lane->slices != NULL;
  if (!lane->slices)
    return TRUE;
  return (kit->down == kit->compute || td_event_wait (kit->down, lane->marks[PROJECTED], error))
         && td_fbp_kit_mark (kit->down, lane, DOWN, error)
         && td_download (kit->down, to, lane->slices, 0, work->count * slice, error)
         && td_fbp_kit_mark (kit->down, lane, DOWNED, error);
}

/* The first of the prepared rows, for a job that is asked to show it. */
static gboolean
show_row (TdFbpKit *kit, TdBuffer *rows, guint64 offset, GError **error)
{
  const guint64 bytes = td_fbp_row_bytes (kit->job->plan->extra);

  if (!td_job_wants_sinogram (kit->job))
    return TRUE;
  g_autofree float *row = g_malloc (bytes);
  if (!td_download (kit->compute, row, rows, offset, bytes, error)
      || !td_queue_finish (kit->compute, error))
    return FALSE;
  td_job_give_sinogram (kit->job, g_steal_pointer (&row));
  return TRUE;
}

static gboolean
prepare_anew (TdFbpKit *kit, TdFbpLane *lane, const TdFbpWork *work, GError **error)
{
  kit->held_rows = kit->held_count = 0;
  if (!td_fbp_kit_prepare_kept (kit, lane, work, error))
    return FALSE;
  kit->held_row0 = work->row0;
  kit->held_rows = work->n_rows;
  return TRUE;
}

/* Previews: what is held already is not made again. */
static gboolean
submit_kept (TdFbpKit *kit, TdFbpLane *lane, const TdFbpWork *work, GError **error)
{
  const gboolean held = td_fbp_kit_holds (kit, work);

  if (held ? !td_fbp_kit_mark (kit->compute, lane, START, error)
           : !prepare_anew (kit, lane, work, error))
    return FALSE;
  const guint64 core
      = (work->first - kit->prepared.row0) * td_fbp_row_bytes (kit->job->plan->extra);
  if (!td_fbp_kit_mark (kit->compute, lane, PREPARED, error) || !end_of_piece (kit, error)
      || !show_row (kit, lane->data, core, error))
    return FALSE;
  if (kit->held_count != work->count || kit->held_first != work->first) {
    kit->held_count = 0;
    if (!fbp_kit_filter (kit, work, lane->data, core, error))
      return FALSE;
    kit->held_first = work->first;
    kit->held_count = work->count;
  }
  return td_fbp_kit_mark (kit->compute, lane, FILTERED, error)
         && fbp_kit_project (kit, lane, work, lane->data, core, lane->slices, 0, error)
         && td_fbp_kit_mark (kit->compute, lane, PROJECTED, error)
         && fbp_kit_download (kit, lane, work, error);
}

gboolean
td_fbp_kit_submit (TdFbpKit *kit, guint index, const TdFbpWork *work, GError **error)
{
  const TdFbp *fbp = kit->job->plan->extra;
  TdFbpLane *lane = &kit->lanes[index];
  TdBuffer *data = lane->data ? lane->data : work->in->buffer;
  TdBuffer *slices = lane->slices ? lane->slices : work->out->buffer;
  guint64 out = lane->slices ? 0 : (work->first - work->out_first) * td_fbp_slice_bytes (fbp);
  guint row0;

  clear_marks (lane);
  lane->updates = 0;
  if (kit->keep)
    return submit_kept (kit, lane, work, error);
  if (!td_fbp_kit_upload (kit, lane, work, error)
      || !fbp_kit_prepare (kit, work, data, &row0, error))
    return FALSE;
  const guint64 core = (work->first - row0) * td_fbp_row_bytes (fbp);
  return td_fbp_kit_mark (kit->compute, lane, PREPARED, error) && end_of_piece (kit, error)
         && fbp_kit_filter (kit, work, data, core, error)
         && td_fbp_kit_mark (kit->compute, lane, FILTERED, error)
         && fbp_kit_project (kit, lane, work, data, core, slices, out, error)
         && td_fbp_kit_mark (kit->compute, lane, PROJECTED, error)
         && fbp_kit_download (kit, lane, work, error);
}

/* ── Completing ── */

static gboolean
fbp_kit_book (TdFbpKit *kit, TdFbpLane *lane, guint from, guint to, const char *stage,
              GError **error)
{
  double seconds;

  if (!lane->marks[from] || !lane->marks[to])
    return TRUE;
  if (!td_event_elapsed (lane->marks[from], lane->marks[to], &seconds, error))
    return FALSE;
  td_job_add_stage (kit->job, stage, seconds);
  if (from >= START && to <= PROJECTED)
    kit->busy_s += seconds;
  return TRUE;
}

gboolean
td_fbp_kit_complete (TdFbpKit *kit, guint index, GError **error)
{
  TdFbpLane *lane = &kit->lanes[index];
  TdEvent *last = lane->downloads ? lane->marks[DOWNED] : lane->marks[PROJECTED];

  if (!td_event_sync (last, error) || !fbp_kit_book (kit, lane, UP, UPPED, "upload", error)
      || !fbp_kit_book (kit, lane, START, PREPARED, "prepare", error)
      || !fbp_kit_book (kit, lane, PREPARED, FILTERED, "filter", error)
      || !fbp_kit_book (kit, lane, FILTERED, PROJECTED, "back-project", error)
      || !fbp_kit_book (kit, lane, DOWN, DOWNED, "download", error))
    return FALSE;
  clear_marks (lane);
  if (lane->updates > 0)
    td_job_add_updates (kit->job, lane->updates);
  return TRUE;
}

gboolean
td_fbp_kit_book_counts (TdFbpKit *kit, GError **error)
{
  TdPlan *plan = kit->job->plan;

  if (kit->uncounted
      && !td_preparation_counts (kit->preparation, kit->compute, &kit->counts, error))
    return FALSE;
  if (kit->uncounted)
    td_preparation_counts_add (&kit->counts, &kit->early_counts);
  kit->uncounted = FALSE;
  td_job_add_counts (kit->job, &kit->counts);
  if (kit->busy_s > 0.2) {
    g_autofree char *key = td_fbp_rate_key (plan, kit->device, kit->family);
    td_engine_set_rate (plan->engine, key, kit->updates / kit->busy_s);
  }
  return TRUE;
}
