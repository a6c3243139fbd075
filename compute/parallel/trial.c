/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "trial.h"

#include <math.h>
#include <string.h>

struct TdTrial {
  TdDevice *device;
  TdBackprojectTask task;
  double *arrays[3]; /* the task's own angles, corrections, weights */
  guint n_slices;
  float *sinograms;
  TdBuffer *input, *output;
  TdQueue *queue;
  TdBackprojector *projector;
  double kernel_seconds;
};

/* Squares larger than this are sampled: the reference takes seconds for a whole large slice. A
   family's own reference may take hundreds of times as long. */
enum { WHOLE = 1 << 22, SQUARE = 32, SMALL_SQUARE = 8 };

void
td_trial_task_init (TdBackprojectTask *task, guint n_columns, guint n_views, guint n,
                    TdInterpolation interpolation, TdPrecision precision)
{
  double *angles = g_new (double, n_views);

  for (guint v = 0; v < n_views; v++)
    angles[v] = G_PI * v / n_views;
  *task = (TdBackprojectTask) {
    .n_columns = n_columns,
    .n_views = n_views,
    .nx = n,
    .ny = n,
    .x0 = -0.5 * (n - 1.0),
    .y0 = 0.5 * (n - 1.0),
    .step = 1,
    .centre_px = 0.5 * (n_columns - 1.0) + 0.3,
    .angles_rad = angles,
    .scale = G_PI / n_views,
    .interpolation = interpolation,
    .precision = precision,
  };
}

/* ── Creation ── */

static double *
copy_array (const double *values, guint n)
{
  return values ? g_memdup2 (values, n * sizeof *values) : NULL;
}

static guint64
sinogram_floats (const TdTrial *trial)
{
  return (guint64) trial->task.n_views * trial->task.n_columns;
}

static guint64
trial_slice_floats (const TdTrial *trial)
{
  return (guint64) trial->task.nx * trial->task.ny;
}

static gboolean
trial_make_buffers (TdTrial *trial, guint32 seed, GError **error)
{
  guint64 n = trial->n_slices * sinogram_floats (trial);
  g_autoptr (GRand) random = g_rand_new_with_seed (seed);

  trial->sinograms = g_try_new (float, n);
  if (!trial->sinograms)
    return td_set_error (error, TD_ERROR_TOO_LARGE,
                         "%u sinograms of %u x %u do not fit into memory; use a smaller size",
                         trial->n_slices, trial->task.n_views, trial->task.n_columns);
  for (guint64 i = 0; i < n; i++)
    trial->sinograms[i] = g_rand_int (random) * 0x1p-31 - 1;
  const guint64 bytes = trial->n_slices * trial_slice_floats (trial) * sizeof (float);
  return (trial->queue = td_queue_new (trial->device, error))
         && (trial->input = td_buffer_new (trial->device, n * sizeof (float), error))
         && (trial->output = td_buffer_new (trial->device, bytes, error))
         && td_upload (trial->queue, trial->input, 0, trial->sinograms, n * sizeof (float), error)
         && td_queue_finish (trial->queue, error);
}

TdTrial *
td_trial_new (TdDevice *device, const TdBackprojectTask *task, guint n_slices, guint32 seed,
              GError **error)
{
  TdTrial *trial = g_new0 (TdTrial, 1);

  trial->device = td_device_ref (device);
  trial->task = *task;
  trial->task.angles_rad = trial->arrays[0] = copy_array (task->angles_rad, task->n_views);
  trial->task.axis_px = trial->arrays[1] = copy_array (task->axis_px, task->n_views);
  trial->task.weights = trial->arrays[2] = copy_array (task->weights, task->n_views);
  trial->n_slices = n_slices;
  if (trial_make_buffers (trial, seed, error))
    return trial;
  td_trial_free (trial);
  return NULL;
}

gboolean
td_trial_serve (TdTrial **trial, TdDevice *device, const TdBackprojectTask *task, guint n_slices,
                guint32 seed, GError **error)
{
  if (*trial && (*trial)->n_slices == n_slices
      && (*trial)->task.interpolation == task->interpolation
      && (*trial)->task.precision == task->precision)
    return TRUE;
  g_clear_pointer (trial, td_trial_free);
  return (*trial = td_trial_new (device, task, n_slices, seed, error)) != NULL;
}

void
td_trial_free (TdTrial *trial)
{
  if (!trial)
    return;
  td_trial_release (trial);
  td_buffer_free (trial->input);
  td_buffer_free (trial->output);
  td_queue_free (trial->queue);
  g_free (trial->sinograms);
  for (guint i = 0; i < G_N_ELEMENTS (trial->arrays); i++)
    g_free (trial->arrays[i]);
  td_device_unref (trial->device);
  g_free (trial);
}

const TdBackprojectTask *
td_trial_task (const TdTrial *trial)
{
  return &trial->task;
}

double
td_trial_updates (const TdTrial *trial)
{
  return (double) trial->n_slices * trial_slice_floats (trial) * trial->task.n_views;
}

/* ── Running ── */

gboolean
td_trial_prepare (TdTrial *trial, const TdBackprojectFamily *family,
                  const TdBackprojectVariant *variant, GError **error)
{
  td_trial_release (trial);
  trial->projector
      = td_backprojector_new (family, trial->device, &trial->task, variant, trial->n_slices, error);
  if (trial->projector)
    td_backprojector_time_kernels (trial->projector);
  return trial->projector != NULL;
}

const char *
td_trial_description (const TdTrial *trial)
{
  return trial->projector ? trial->projector->description : NULL;
}

void
td_trial_release (TdTrial *trial)
{
  g_clear_pointer (&trial->projector, td_backprojector_free);
}

/* NaN everywhere, since every bit of 0xff bytes is set. */
static gboolean
trial_poison (TdTrial *trial, GError **error)
{
  g_autofree float *garbage = g_malloc (trial_slice_floats (trial) * sizeof (float));

  memset (garbage, 0xff, trial_slice_floats (trial) * sizeof (float));
  for (guint s = 0; s < trial->n_slices; s++)
    if (!td_upload (trial->queue, trial->output, s * trial_slice_floats (trial) * sizeof (float),
                    garbage, trial_slice_floats (trial) * sizeof (float), error))
      return FALSE;
  return td_queue_finish (trial->queue, error);
}

gboolean
td_trial_run (TdTrial *trial, double *seconds, GError **error)
{
  g_autoptr (TdEvent) from = NULL, to = NULL;

  if (!trial_poison (trial, error))
    return FALSE;
  from = td_event_record (trial->queue, error);
  if (!from
      || !td_backprojector_run (trial->projector, trial->queue, (TdPlace) { trial->input, 0 },
                                (TdPlace) { trial->output, 0 }, trial->n_slices, error))
    return FALSE;
  to = td_event_record (trial->queue, error);
  return to && td_queue_finish (trial->queue, error) && td_event_elapsed (from, to, seconds, error)
         && td_backprojector_kernel_seconds (trial->projector, &trial->kernel_seconds, error);
}

double
td_trial_kernel_seconds (const TdTrial *trial)
{
  return trial->kernel_seconds;
}

/* ── Judging ── */

float *
td_trial_slices (TdTrial *trial, GError **error)
{
  guint64 bytes = trial->n_slices * trial_slice_floats (trial) * sizeof (float);
  g_autofree float *slices = g_malloc (bytes);

  if (!td_download (trial->queue, slices, trial->output, 0, bytes, error)
      || !td_queue_finish (trial->queue, error))
    return NULL;
  return g_steal_pointer (&slices);
}

double
td_relative_l2 (const float *a, const float *b, guint64 n)
{
  double difference = 0, norm = 0;

  for (guint64 i = 0; i < n; i++) {
    difference += ((double) a[i] - b[i]) * ((double) a[i] - b[i]);
    norm += (double) b[i] * b[i];
  }
  double relative = norm > 0 ? sqrt (difference / norm) : difference > 0 ? INFINITY : 0;
  return isfinite (relative) ? relative : INFINITY;
}

/* nx x ny pixels of a slice, from (x, y) on. */
typedef struct {
  guint x, y, nx, ny;
} Region;

/* Adds the squared error and norm over the region. */
static void
add_region (const TdTrial *trial, guint slice, const float *pixels, Region region, double sums[2])
{
  TdBackprojectTask task = trial->task;
  g_autofree double *truth = g_new (double, (gsize) region.nx *region.ny);

  task.x0 += region.x * task.step;
  task.y0 -= region.y * task.step;
  task.nx = region.nx;
  task.ny = region.ny;
  const TdBackprojectFamily *family = trial->projector ? trial->projector->family : NULL;
  (family && family->reference ? family->reference : td_backproject_reference) (
      &task, trial->sinograms + slice * sinogram_floats (trial), truth);
  pixels += slice * trial_slice_floats (trial);
  for (guint y = 0; y < region.ny; y++)
    for (guint x = 0; x < region.nx; x++) {
      double value = pixels[(guint64) (region.y + y) * trial->task.nx + region.x + x];
      double expected = truth[(gsize) y * region.nx + x];
      sums[0] += (value - expected) * (value - expected);
      sums[1] += expected * expected;
    }
}

static void
trial_add_slice (const TdTrial *trial, guint slice, const float *pixels, double sums[2])
{
  const TdBackprojectTask *task = &trial->task;
  const gboolean slow = trial->projector && trial->projector->family->reference;
  guint square = slow ? SMALL_SQUARE : SQUARE;
  guint nx = MIN (task->nx, square), ny = MIN (task->ny, square);

  if (!slow && (double) trial_slice_floats (trial) * task->n_views <= WHOLE) {
    add_region (trial, slice, pixels, (Region) { 0, 0, task->nx, task->ny }, sums);
    return;
  }
  add_region (trial, slice, pixels, (Region) { (task->nx - nx) / 2, (task->ny - ny) / 2, nx, ny },
              sums);
  add_region (trial, slice, pixels, (Region) { task->nx - nx, (task->ny - ny) / 2, nx, ny }, sums);
  add_region (trial, slice, pixels, (Region) { 0, task->ny - ny, nx, ny }, sums);
}

gboolean
td_trial_error (TdTrial *trial, double *relative, GError **error)
{
  g_autofree float *pixels = td_trial_slices (trial, error);
  double sums[2] = { 0, 0 };

  if (!pixels)
    return FALSE;
  trial_add_slice (trial, 0, pixels, sums);
  if (trial->n_slices > 1)
    trial_add_slice (trial, trial->n_slices - 1, pixels, sums);
  *relative = sums[1] > 0 ? sqrt (sums[0] / sums[1]) : sqrt (sums[0]);
  if (!isfinite (*relative))
    *relative = INFINITY;
  return TRUE;
}
