/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/uio.h>

#include "compute/device/host.h"
#include "fdk-run.h"

typedef struct {
  TdFdkRun *run;
  TdDevice *device;
  TdFdkInput input; /* the plan's, or some of its views */
  TdQueue *queue;
  TdFdkReader reader;
  TdPreparedRows *rows;
  TdConeFilter *filter;
  float *filtered; /* on the host; NULL: in the host memory of rows that are not wanted again */
} Stage;

typedef struct {
  const Stage *stage;
  const float *from; /* [row][view][column] */
  guint row, n_rows; /* first of them in the input's rows */
  float *to;         /* [view][input's row][column]; NULL: the run's file */
} Scatter;

/* As writev() at @offset, whole; 0 or errno. */
static int
write_whole (int file, struct iovec *pieces, guint n, off_t offset)
{
  while (n > 0) {
    ssize_t done = pwritev (file, pieces, (int) MIN (n, IOV_MAX), offset);
    if (done < 0 && errno == EINTR)
      continue;
    if (done <= 0)
      return done < 0 ? errno : EIO;
    offset += done;
    for (; n > 0 && (gsize) done >= pieces->iov_len; n--)
      done -= (ssize_t) (pieces++)->iov_len;
    if (n > 0) {
      pieces->iov_base = (char *) pieces->iov_base + done;
      pieces->iov_len -= (gsize) done;
    }
  }
  return 0;
}

/* One view's rows from sinogram order to projection order. */
static void
scatter_view (guint view, gpointer user)
{
  const Scatter *work = user;
  TdFdkRun *run = work->stage->run;
  const TdFdkInput *input = &work->stage->input;
  const gsize n_columns = input->task.n_columns, bytes = n_columns * sizeof (float);
  const gsize first = ((gsize) view * input->n_rows + work->row) * n_columns;
  g_autofree struct iovec *pieces = work->to ? NULL : g_new (struct iovec, work->n_rows);

  for (guint row = 0; row < work->n_rows; row++) {
    const float *from = work->from + ((gsize) row * input->task.n_views + view) * n_columns;
    if (pieces)
      pieces[row] = (struct iovec) { (gpointer) from, bytes };
    else
      memcpy (work->to + first + row * n_columns, from, bytes);
  }
  if (!pieces)
    return;
  const int failed
      = write_whole (run->projections_file, pieces, work->n_rows, (off_t) (first * sizeof (float)));
  if (failed)
    g_atomic_int_set (&run->file_errno, failed);
}

/* The rows of the span, prepared; their counts are the job's. */
static gboolean
fdk_prepare_rows (Stage *stage, const TdFdkSpan *span, GError **error)
{
  TdFdkRun *run = stage->run;
  const gboolean gathered = run->plan->gathered > 0; /* all rows of some views at once */
  const gint64 start = g_get_monotonic_time ();
  TdPreparationCounts counts;

  td_prepared_rows_set_counted (
      stage->rows,
      gathered ? span->made_of : td_fdk_count_rows (run, TD_FDK_BY_FILTER, span->made_of));
  const gboolean ok = td_prepared_rows_run (stage->rows, span->from, run->cancellable, error)
                      && td_prepared_rows_counts (stage->rows, &counts, error)
                      && td_preparation_counts_check (&counts, error);
  td_fdk_end_counting (run, TD_FDK_BY_FILTER, ok);
  if (!ok)
    return FALSE;
  /* All chunks of views that are filtered for other jobs see the same pixels. */
  if (gathered && run->own_views >= run->plan->gathered * run->job->gathered.jobs)
    td_preparation_counts_drop_pixels (&counts);
  td_job_add_counts (run->job, &counts);
  td_job_add_stage (run->job, N_ ("prepare"), (g_get_monotonic_time () - start) * 1e-6);
  return TRUE;
}

/* Detector rows [row, row + n) of the stage's input: read with the halo that preparation needs,
   filtered, and stored at @to as Scatter has it. */
static gboolean
fdk_filter_rows (Stage *stage, guint row, guint n, float *to, GError **error)
{
  TdFdkRun *run = stage->run;
  const TdFdkInput *input = &stage->input;
  const TdFdkSpan span = td_fdk_span (input, row, n);

  if (!td_prepared_rows_read (stage->rows, span.from, run->cancellable, error)
      || !fdk_prepare_rows (stage, &span, error))
    return FALSE;
  const gint64 start = g_get_monotonic_time ();
  const guint64 filtered_bytes = td_fdk_filtered_bytes (input, 1);
  TdBuffer *rows = td_prepared_rows_left (stage->rows)->data;
  float *filtered = stage->filtered ? stage->filtered : td_prepared_rows_host (stage->rows);
  if ((stage->filter
       && !td_fdk_filter_span (input, stage->filter, stage->queue, rows, &span, error))
      || !td_download (stage->queue, filtered, rows,
                       (span.rows.first - span.data_row0) * filtered_bytes, n * filtered_bytes,
                       error)
      || !td_queue_finish (stage->queue, error))
    return FALSE;
  Scatter scatter = { stage, filtered, row, n, to };
  td_parallel_for (input->task.n_views, scatter_view, &scatter);
  if (!td_fdk_file_sound (run, error))
    return FALSE;
  td_job_add_stage (run->job, N_ ("filter"), (g_get_monotonic_time () - start) * 1e-6);
  return TRUE;
}

/* From now on the stage reads the views of its input. */
static void
stage_read_views (Stage *stage)
{
  stage->reader = (TdFdkReader) { stage->run, 0, &stage->input };
  td_prepared_rows_set_views (stage->rows, stage->input.views);
  td_prepared_rows_set_read (stage->rows, td_fdk_read, &stage->reader);
}

static gboolean
open_stage (Stage *stage, guint row, guint step, GError **error)
{
  const TdPlan *plan = stage->run->plan;
  const TdFdkPlan *fdk = stage->run->fdk;
  const TdFdkInput *input = &stage->input;
  const TdRecipe *recipe = &plan->recipe;
  const guint max_rows = td_fdk_most_rows (input, row, step);
  const TdRowSource source
      = { stage->device, fdk->scan, NULL, recipe->steps, recipe->n_steps, input->task.n_views };

  /* Before the back-projection, which waits for what is filtered. */
  stage->queue = td_queue_new_urgent (stage->device, error);
  if (!stage->queue)
    return FALSE;
  if (!td_scan_facts (fdk->scan)->filtered) {
    stage->filter
        = td_cone_filter_new (stage->device, &input->task, &input->geometry, input->angles_rad,
                              &recipe->filter, td_fdk_most_filtered (input, max_rows, step), error);
    if (!stage->filter)
      return FALSE;
  }
  stage->rows = td_prepared_rows_new (&source, stage->queue, max_rows,
                                      td_fdk_rows_bytes (input, max_rows, step), error);
  if (!stage->rows)
    return FALSE;
  stage_read_views (stage);
  if (!td_fdk_holds (fdk))
    return TRUE;
  stage->filtered
      = td_device_host_alloc (stage->device, td_fdk_filtered_bytes (input, step), error);
  return stage->filtered != NULL;
}

static void
close_stage (Stage *stage)
{
  g_clear_pointer (&stage->rows, td_prepared_rows_free);
  td_device_host_free (stage->device, stage->filtered);
  stage->filtered = NULL;
  g_clear_pointer (&stage->filter, td_cone_filter_free);
  g_clear_pointer (&stage->queue, td_queue_free);
}

/* Rows from *@row on, @step at a time; *@row tells how far it came. */
static gboolean
filter_from (TdFdkRun *run, TdDevice *device, guint step, guint *row, GError **error)
{
  const TdFdkPlan *fdk = run->fdk;
  Stage stage = { .run = run, .device = device, .input = *fdk->input };
  const gint64 start = g_get_monotonic_time ();
  const guint first = *row;

  if (first == fdk->input->n_rows) /* an attempt after all were filtered */
    return TRUE;
  gboolean ok = open_stage (&stage, first, step, error);

  while (ok && *row < fdk->input->n_rows) {
    const guint n = MIN (step, fdk->input->n_rows - *row);
    ok = !g_cancellable_set_error_if_cancelled (run->cancellable, error)
         && fdk_filter_rows (&stage, *row, n, run->projections, error);
    if (ok)
      td_monitor_set (&run->monitor, &run->rows_done, *row += n);
  }
  close_stage (&stage);
  g_autofree char *key = td_fdk_filter_rate_key (device);
  const double bytes = (double) td_fdk_filtered_bytes (fdk->input, *row - first);
  if (ok && bytes > (64 << 20) && td_job_is_warm (run->job))
    td_engine_set_rate (run->plan->engine, key, bytes, (g_get_monotonic_time () - start) * 1e-6);
  return ok;
}

/* ── This job's part of gathered views ── */

/* Views that are gathered as number @place and on. The stage is opened, or moved to them, and all
   rows that any job sees are filtered and handed out. */
static gboolean
fdk_filter_own (Stage *stage, guint place, float *views, GError **error)
{
  TdFdkRun *run = stage->run;
  const TdJobGathered *gathered = &run->job->gathered;
  const TdFdkInput *all = run->fdk->input;
  const guint first = td_fdk_gathered_view (run->plan, place);
  const TdFdkInput now = td_fdk_some_views (all, first, run->plan->gathered, gathered->rows);
  const guint before = stage->input.task.n_views;

  stage->input = now;
  if (stage->rows && before != now.task.n_views)
    close_stage (stage);
  if (!stage->rows) {
    if (!open_stage (stage, 0, now.n_rows, error))
      return FALSE;
  } else {
    stage_read_views (stage);
    if (stage->filter
        && !td_cone_filter_set_views (stage->filter, &now.task, &now.geometry, now.angles_rad,
                                      error))
      return FALSE;
  }
  return fdk_filter_rows (stage, 0, now.n_rows, views, error)
         && gathered->put (place, now.task.n_views, views, run->cancellable, error, gathered->user);
}

static gboolean
filter_own_views (TdFdkRun *run, TdDevice *device, GError **error)
{
  const TdFdkInput *input = run->fdk->input;
  const TdJobGathered *gathered = &run->job->gathered;
  const guint chunk = run->plan->gathered;
  Stage stage = { .run = run, .device = device };
  g_autofree float *views
      = g_try_new (float, (gsize) chunk * gathered->rows.count * input->task.n_columns);
  gboolean ok = TRUE;

  if (!views)
    return td_set_error (error, TD_ERROR_IO, "Not enough memory for %u filtered views.", chunk);
  while (ok && run->own_views < input->task.n_views) {
    ok = !g_cancellable_set_error_if_cancelled (run->cancellable, error)
         && fdk_filter_own (&stage, run->own_views, views, error);
    run->own_views += ok ? chunk * gathered->jobs : 0;
  }
  close_stage (&stage);
  return ok;
}

/* Where the views of a chunk wait: their place in memory, or memory on their way to the file. */
static gboolean
fdk_filter_take (TdFdkRun *run, guint place, guint n, float *passing, GError **error)
{
  const guint first = td_fdk_gathered_view (run->plan, place);
  const TdFdkInput *input = run->fdk->input;
  const TdJobGathered *gathered = &run->job->gathered;
  const gsize floats = (gsize) input->n_rows * input->task.n_columns;
  float *to = passing ? passing : run->projections + first % run->fdk->fit.held_views * floats;

  if (!gathered->take (place, n, to, run->cancellable, error, gathered->user))
    return FALSE;
  if (!passing)
    return TRUE;
  struct iovec piece = { passing, n * floats * sizeof (float) };
  const int failed
      = write_whole (run->projections_file, &piece, 1, (off_t) (first * floats * sizeof (float)));
  if (failed)
    g_atomic_int_set (&run->file_errno, failed);
  return td_fdk_file_sound (run, error);
}

/* Waits until the store has room for views up to @end. */
static gboolean
fdk_filter_await_room (TdFdkRun *run, guint end)
{
  g_autoptr (GMutexLocker) locked = g_mutex_locker_new (&run->monitor.lock);

  while (end > run->views_passed + run->fdk->fit.held_views && !run->error
         && !g_cancellable_is_cancelled (run->cancellable))
    td_monitor_wait (&run->monitor);
  return !run->error && !g_cancellable_is_cancelled (run->cancellable);
}

gpointer
td_fdk_gather_thread (gpointer data)
{
  TdFdkRun *run = data;
  const TdFdkInput *input = run->fdk->input;
  const guint all = input->task.n_views, chunk = run->plan->gathered;
  const gsize floats = (gsize) chunk * input->n_rows * input->task.n_columns;
  g_autofree float *passing = run->projections ? NULL : g_try_new (float, floats);
  GError *error = NULL;
  gboolean ok = run->projections || passing;

  if (!ok)
    td_set_error (&error, TD_ERROR_IO, "Not enough memory for %u filtered views.", chunk);
  for (guint first = run->views_done, n; ok && first < all; first += n) {
    n = MIN (chunk, all - first);
    ok = fdk_filter_await_room (run, first + n) && fdk_filter_take (run, first, n, passing, &error);
    if (!ok)
      break;
    td_monitor_set (&run->monitor, &run->views_done, first + n);
  }
  if (error)
    td_fdk_fail (run, error);
  return NULL;
}

void
td_fdk_pass_views (TdFdkRun *run, const TdFdkBatch *batch)
{
  if (td_fdk_passes_views (run->fdk))
    td_monitor_set (&run->monitor, &run->views_passed, batch->first + batch->n);
}

/* ── Trying ── */

/* As often as fewer rows at once may help. */
static gboolean
filter_on (TdFdkRun *run, TdDevice *device, guint *row, GError **error)
{
  GError *reason = NULL;

  if (run->plan->gathered)
    return filter_own_views (run, device, error);
  for (guint step = run->fdk->fit.filter_rows; !filter_from (run, device, step, row, &reason);) {
    const TdReaction reaction = td_device_reaction (reason);
    if (step == 1
        || (reaction != TD_REACTION_RETRY_SMALLER && reaction != TD_REACTION_SMALLER_LAUNCHES)) {
      g_propagate_error (error, reason);
      return FALSE;
    }
    td_engine_drop_idle (run->plan->engine);
    step = (step + 1) / 2;
    td_job_note (run->job, "%s: %p; filtering %u [row|rows] at a time.",
                 td_device_info (device)->id, td_error_message (reason), step);
    g_clear_error (&reason);
  }
  return TRUE;
}

/* Whom to ask, in this order: the plan's choice first. */
static GPtrArray *
fdk_filter_candidates (const TdFdkRun *run)
{
  GPtrArray *devices = g_ptr_array_new_with_free_func ((GDestroyNotify) td_device_unref);
  g_autoptr (TdDevice) host = td_plan_host (run->plan, NULL);
  const GPtrArray *all = run->plan->devices;

  for (guint i = 0; i < all->len; i++)
    if (!td_device_info (all->pdata[i])->host_pointers)
      g_ptr_array_add (devices, td_device_ref (all->pdata[i]));
  if (host)
    g_ptr_array_insert (devices, run->fdk->scheme.filter_on_device ? -1 : 0,
                        g_steal_pointer (&host));
  return devices;
}

gpointer
td_fdk_filter_thread (gpointer data)
{
  TdFdkRun *run = data;
  g_autoptr (GPtrArray) devices = fdk_filter_candidates (run);
  guint row = run->rows_done; /* of an earlier attempt */

  for (guint i = 0; i < devices->len; i++) {
    TdDevice *device = devices->pdata[i];
    const gboolean extra = !g_ptr_array_find (run->plan->devices, device, NULL);
    g_autoptr (GError) error = NULL;

    td_job_add_host_bytes (run->job, extra ? (gint64) run->fdk->fit.filter_bytes : 0);
    const gboolean ok = filter_on (run, device, &row, &error);
    td_job_add_host_bytes (run->job, extra ? -(gint64) run->fdk->fit.filter_bytes : 0);
    if (ok)
      return NULL;
    if (i + 1 == devices->len || !td_device_others_can (error)) {
      td_fdk_fail (run, g_steal_pointer (&error));
      return NULL;
    }
    td_job_note (run->job, "%s stopped filtering, %s went on: %p", td_device_info (device)->id,
                 td_device_info (devices->pdata[i + 1])->id, td_error_message (error));
  }
  return NULL;
}

gboolean
td_fdk_wait_rows (TdFdkDevice *device, const TdFdkBatch *batch, guint end)
{
  TdFdkRun *run = device->run;
  const guint views = run->plan->gathered ? td_fdk_gathered_views (run->plan, batch) : 0;

  g_autoptr (GMutexLocker) locked = g_mutex_locker_new (&run->monitor.lock);
  while ((run->plan->gathered ? run->views_done < views : run->rows_done < end)
         && !td_fdk_device_stopped (device))
    td_monitor_wait (&run->monitor);
  return !td_fdk_device_stopped (device);
}
