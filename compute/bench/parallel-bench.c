/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "parallel-bench.h"

#include "compute/device/host.h"
#include "compute/parallel/host-backproject-pass.h"
#include "compute/parallel/trial.h"
#include "compute/row-filter.h"
#include "dataset/random.h"

static gboolean
baseline_is_host (TdDevice *device)
{
  const TdDeviceInfo *info = td_device_info (device);
  return info->host_pointers || info->cpu_shaped;
}

const char *
td_bench_baseline_name (TdDevice *device)
{
  return baseline_is_host (device) ? "plain per-pixel loop in C" : "standard";
}

/* ── The baseline ── */

typedef struct {
  TdHostBaseline base;
  TdHostBaselineRow row;
  guint row_step;
} HostLoop;

static void
host_baseline_row (guint index, gpointer user)
{
  const HostLoop *baseline = user;

  baseline->row (&baseline->base, index * baseline->row_step);
}

/* The plain per-pixel loop in C that the CPU's figures are compared to. The compiler has its
   best flags for the same instruction set, and the rows go to the same threads. One slice
   [ny][nx] from one sinogram [view][column]; only every @row_step-th row, since it is slow:
   their number is returned. Blocks. */
static guint
host_baseline (const TdBackprojectTask *task, const float *sinogram, guint row_step, float *slice)
{
  guint n = task->n_views, rows = (task->ny + row_step - 1) / row_step;
  g_autofree double *start = g_new (double, n), *du_x = g_new (double, n),
                    *du_y = g_new (double, n);
  g_autofree float *tables = g_new (float, 4 * (gsize) n);
  HostLoop baseline = {
    .row = td_host_kernels ()->baseline,
    .row_step = row_step,
    .base = {
      .sinogram = sinogram,
      .start = tables, .du_x = tables + n, .du_y = tables + 2 * (gsize) n,
      .weight = tables + 3 * (gsize) n,
      .n_columns = task->n_columns, .n_views = n, .nx = task->nx,
      .nearest = task->interpolation == TD_INTERPOLATION_NEAREST,
      .slice = slice,
    },
  };

  td_backproject_views (task, start, du_x, du_y);
  for (guint v = 0; v < n; v++) {
    tables[v] = start[v];
    tables[n + v] = du_x[v];
    tables[2 * (gsize) n + v] = du_y[v];
    tables[3 * (gsize) n + v] = task->scale * (task->weights ? task->weights[v] : 1);
  }
  td_parallel_for (rows, host_baseline_row, &baseline);
  return rows;
}

typedef struct {
  TdBackprojectTask task;  /* single precision; arrays are the caller's */
  TdTrial *trial;          /* GPUs */
  float *sinogram, *slice; /* CPUs */
  double updates;          /* in one run */
} Baseline;

enum { BASELINE_ROWS = 256 }; /* of a slice, evenly spread: the plain loop takes seconds for all */

static void
baseline_clear (Baseline *baseline)
{
  g_clear_pointer (&baseline->trial, td_trial_free);
  g_clear_pointer (&baseline->sinogram, g_free);
  g_clear_pointer (&baseline->slice, g_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Baseline, baseline_clear)

static gboolean
baseline_init (Baseline *baseline, TdDevice *device, const TdBackprojectTask *task, GError **error)
{
  baseline->task = *task;
  baseline->task.precision = TD_PRECISION_SINGLE;
  baseline->updates = (double) task->nx * task->ny * task->n_views;
  if (baseline_is_host (device)) {
    gsize n = (gsize) task->n_views * task->n_columns;
    baseline->sinogram = g_new (float, n);
    baseline->slice = g_new (float, (gsize) task->nx * task->ny);
    td_random_noise (baseline->sinogram, n, 1);
    return TRUE;
  }
  const TdBackprojectFamily *standard = td_backproject_family ("standard", error);
  baseline->trial = standard ? td_trial_new (device, &baseline->task, 1, 1, error) : NULL;
  return baseline->trial && td_trial_prepare (baseline->trial, standard, NULL, error);
}

static gboolean
baseline_run (Baseline *baseline, double *seconds, GError **error)
{
  if (baseline->trial)
    return td_trial_run (baseline->trial, seconds, error);
  gint64 from = g_get_monotonic_time ();
  guint rows = host_baseline (&baseline->task, baseline->sinogram,
                              MAX (1, baseline->task.ny / BASELINE_ROWS), baseline->slice);
  *seconds = 1e-6 * (g_get_monotonic_time () - from);
  baseline->updates = (double) rows * baseline->task.nx * baseline->task.n_views;
  return TRUE;
}

/* ── Filtering ── */

typedef struct {
  TdQueue *queue;
  TdBuffer *rows;
  TdRowFilter *filter;
  guint n_slices, n_views;
} Filtering;

static void
filtering_clear (Filtering *filtering)
{
  td_row_filter_free (filtering->filter);
  td_buffer_free (filtering->rows);
  td_queue_free (filtering->queue);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Filtering, filtering_clear)

static gboolean
parallel_bench_fill_random (Filtering *filtering, guint64 n, GError **error)
{
  g_autofree float *values = g_new (float, n);

  td_random_noise (values, n, 3);
  for (guint s = 0; s < filtering->n_slices; s++)
    if (!td_upload (filtering->queue, filtering->rows, s * n * sizeof (float), values,
                    n * sizeof (float), error))
      return FALSE;
  return td_queue_finish (filtering->queue, error);
}

static gboolean
filtering_init (Filtering *filtering, TdDevice *device, const TdBenchSpec *spec, GError **error)
{
  const TdFilter ramp = { .kind = TD_FILTER_RAM_LAK, .cutoff = 1 };
  guint64 n = (guint64) spec->n_views * spec->n_columns;

  filtering->n_slices = spec->n_slices;
  filtering->n_views = spec->n_views;
  return (filtering->queue = td_queue_new (device, error))
         && (filtering->rows = td_buffer_new (device, spec->n_slices * n * sizeof (float), error))
         && parallel_bench_fill_random (filtering, n, error)
         && (filtering->filter
             = td_row_filter_new (device, spec->n_columns, spec->n_columns, spec->n_views, error))
         && td_row_filter_set (filtering->filter, &ramp, error);
}

/* Slice by slice, as the engine does. */
static gboolean
filtering_run (Filtering *filtering, double *seconds, GError **error)
{
  g_autoptr (TdEvent) from = td_event_record (filtering->queue, error), to = NULL;
  guint64 bytes = filtering->rows->bytes / filtering->n_slices;

  if (!from)
    return FALSE;
  for (guint s = 0; s < filtering->n_slices; s++) {
    const TdPlace rows = { filtering->rows, s * bytes };
    if (!td_row_filter_run (filtering->filter, filtering->queue, rows, filtering->n_views, NULL,
                            rows, error))
      return FALSE;
  }
  return (to = td_event_record (filtering->queue, error))
         && td_queue_finish (filtering->queue, error)
         && td_event_elapsed (from, to, seconds, error);
}

/* ── A row ── */

/* One warm-up and spec->runs timed ones of baseline, filter and family in turn. */
static gboolean
parallel_bench_measure (Baseline *baseline, Filtering *filtering, TdTrial *trial,
                        const TdBenchSpec *spec, TdBenchRow *row, GError **error)
{
  g_autofree double *ours = g_new0 (double, spec->runs), *theirs = g_new0 (double, spec->runs);
  g_autofree double *kernels = g_new0 (double, spec->runs);
  g_autofree double *filters = g_new0 (double, spec->runs), *both = g_new0 (double, spec->runs);

  for (gint run = -1; run < (gint) spec->runs; run++) {
    guint at = MAX (run, 0);
    if (g_cancellable_set_error_if_cancelled (spec->cancellable, error)
        || !baseline_run (baseline, &theirs[at], error)
        || (spec->filter && !filtering_run (filtering, &filters[at], error))
        || !td_trial_run (trial, &ours[at], error))
      return FALSE;
    both[at] = filters[at] + ours[at];
    kernels[at] = td_trial_kernel_seconds (trial);
  }
  row->times = td_bench_times (ours, spec->runs);
  double kernel_s = td_bench_times (kernels, spec->runs).median_s;
  row->kernel_updates_per_s = kernel_s > 0 ? td_trial_updates (trial) / kernel_s : 0;
  row->baseline = td_bench_times (theirs, spec->runs);
  row->filter_s = td_bench_times (filters, spec->runs).median_s / spec->n_slices;
  row->fbp_s = spec->filter ? td_bench_times (both, spec->runs).median_s / spec->n_slices : 0;
  return TRUE;
}

TdBenchRow *
td_bench_run (TdDevice *device, const TdBackprojectFamily *family, const TdBenchSpec *spec,
              GError **error)
{
  g_auto (Baseline) baseline = { 0 };
  g_auto (Filtering) filtering = { 0 };
  g_autoptr (TdBenchRow) row = g_new0 (TdBenchRow, 1);
  guint size = spec->size ? spec->size : spec->n_columns;
  TdBackprojectTask task;

  td_trial_task_init (&task, spec->n_columns, spec->n_views, size, spec->interpolation,
                      spec->precision);
  g_autofree double *angles = (double *) task.angles_rad;
  g_autoptr (TdTrial) trial = td_trial_new (device, &task, spec->n_slices, 2, error);
  if (!trial || !td_trial_prepare (trial, family, NULL, error)
      || !baseline_init (&baseline, device, &task, error)
      || (spec->filter && !filtering_init (&filtering, device, spec, error))
      || !parallel_bench_measure (&baseline, &filtering, trial, spec, row, error)
      || !td_trial_error (trial, &row->error, error))
    return NULL;

  double updates = (double) size * size * spec->n_views;
  row->family = family->name;
  row->variant = g_strdup (td_trial_description (trial));
  row->n_slices = spec->n_slices;
  row->updates_per_s = updates * spec->n_slices / row->times.median_s;
  row->baseline_updates_per_s = baseline.updates / row->baseline.median_s;
  row->ratio = row->updates_per_s / row->baseline_updates_per_s;
  row->bound = family->error_bound (family, &task, td_device_info (device));
  return g_steal_pointer (&row);
}

void
td_bench_row_free (TdBenchRow *row)
{
  if (!row)
    return;
  g_free (row->variant);
  g_free (row);
}

gboolean
td_bench_predict (const TdBenchRow *row, const TdBenchSpec *spec, TdDevice *device,
                  const TdUnitRates *rates, TdPrediction *prediction)
{
  const TdBackprojectFamily *family = td_backproject_family (row->family, NULL);
  const guint size = spec->size ? spec->size : spec->n_columns;
  const TdBackprojectTask task = {
    .n_columns = spec->n_columns,
    .n_views = spec->n_views,
    .nx = size,
    .ny = size,
    .step = 1,
    .interpolation = spec->interpolation,
    .precision = spec->precision,
  };

  if (!family
      || !td_update_cost (family, &task, td_device_info (device), row->n_slices, &prediction->cost))
    return FALSE;
  prediction->ceiling = td_model_ceiling (&prediction->cost, rates, &prediction->bound_by);
  return TRUE;
}
