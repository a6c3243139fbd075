/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "host-backproject.h"

#include "compute/device/host.h"
#include "host-backproject-pass.h"

#include <math.h>
#include <stdlib.h>

enum {
  VIEWS_PER_COPY = 8,              /* views one call interleaves */
  BLOCK_BYTES = 256 * 1024 * 1024, /* interleaved bins held at once; more views: more passes */
  VIEWS_STEP = 64,                 /* a block is a multiple of what the kernels keep in L2 */
};

struct TdHostBackproject {
  const TdHostKernels *kernels;
  TdBackprojectTask task; /* arrays are not kept */
  double *start, *du_x, *du_y;
  float *weights; /* scale and the views' weights, applied while interleaving */
  gboolean wide_window;
  float *bins;
  guint64 bins_floats;
  GAsyncQueue *scratch; /* one piece for each thread */
};

/* One block of views of one run, as the threads see it. */
typedef struct {
  const TdHostBackproject *host;
  TdHostPass pass;
  guint first_view;
  const float *sinograms;
  guint tiles_x;
  GCancellable *cancellable;
} Block;

const TdHostKernels *
td_host_kernels (void)
{
  switch (td_host_isa ()) {
#ifdef __x86_64__
  case TD_ISA_AVX512: return &td_host_kernels_avx512;
  case TD_ISA_AVX2: return &td_host_kernels_avx2;
#endif
  default: return &td_host_kernels_plain;
  }
}

/* Floats from one view to the next. An odd number of cache lines: views a power of two apart would
   all fall into the same few sets of the cache. */
static guint64
host_backproject_view_stride (guint n_columns, guint lanes)
{
  guint64 floats = ((guint64) n_columns + TD_HOST_PAD_LEFT + TD_HOST_PAD_RIGHT) * lanes;
  return ((floats + 15) / 16 | 1) * 16;
}

static guint
lanes_for (const TdHostKernels *kernels, guint n_slices)
{
  if (n_slices <= kernels->single_cost)
    return 1;
  return n_slices <= kernels->lanes_small + kernels->single_cost ? kernels->lanes_small
                                                                 : kernels->lanes;
}

static guint
host_backproject_views_per_block (guint n_columns, guint n_views, guint lanes)
{
  guint64 fit = BLOCK_BYTES / (host_backproject_view_stride (n_columns, lanes) * sizeof (float));
  return MIN (MAX (fit / VIEWS_STEP, 1) * VIEWS_STEP, n_views);
}

static guint64
bins_floats (const TdHostKernels *kernels, guint n_columns, guint n_views, guint max_slices)
{
  guint lanes = lanes_for (kernels, max_slices);
  return host_backproject_view_stride (n_columns, lanes)
         * host_backproject_views_per_block (n_columns, n_views, lanes);
}

guint64
td_host_backproject_workspace_bytes (const TdBackprojectTask *task, guint max_slices)
{
  const TdHostKernels *kernels = td_host_kernels ();

  return bins_floats (kernels, task->n_columns, task->n_views, max_slices) * sizeof (float)
         + td_host_threads () * kernels->scratch_bytes + task->n_views * 28ull;
}

const char *
td_host_backproject_description (guint n_slices)
{
  const TdHostKernels *kernels = td_host_kernels ();
  guint lanes = lanes_for (kernels, n_slices);

  return lanes == 1               ? kernels->names[0]
         : lanes < kernels->lanes ? kernels->names[1]
                                  : kernels->names[2];
}

TdHostBackproject *
td_host_backproject_new (const TdBackprojectTask *task, guint max_slices, GError **error)
{
  TdHostBackproject *host = g_new0 (TdHostBackproject, 1);

  host->kernels = td_host_kernels ();
  host->task = *task;
  host->scratch = g_async_queue_new_full (free);
  host->start = g_new (double, task->n_views);
  host->du_x = g_new (double, task->n_views);
  host->du_y = g_new (double, task->n_views);
  host->weights = g_new (float, task->n_views);
  td_host_backproject_update (host, task);

  host->bins_floats = bins_floats (host->kernels, task->n_columns, task->n_views, max_slices);
  host->bins = aligned_alloc (64, host->bins_floats * sizeof (float));
  gboolean complete = host->bins != NULL;
  for (guint i = 0; i < td_host_threads (); i++) {
    float *piece = aligned_alloc (64, host->kernels->scratch_bytes);
    if (piece)
      g_async_queue_push (host->scratch, piece);
    else
      complete = FALSE;
  }
  if (complete)
    return host;

  td_set_error (error, TD_ERROR_DEVICE_MEMORY,
                "Back-projection on the host could not get %" G_GUINT64_FORMAT
                " MiB of memory; close other programs or lower the memory limit",
                host->bins_floats * sizeof (float) >> 20);
  td_host_backproject_free (host);
  return NULL;
}

void
td_host_backproject_free (TdHostBackproject *host)
{
  if (!host)
    return;
  g_clear_pointer (&host->scratch, g_async_queue_unref);
  free (host->bins);
  g_free (host->start);
  g_free (host->du_x);
  g_free (host->du_y);
  g_free (host->weights);
  g_free (host);
}

gboolean
td_host_backproject_update (TdHostBackproject *host, const TdBackprojectTask *task)
{
  if (task->n_columns != host->task.n_columns || task->n_views != host->task.n_views)
    return FALSE;

  host->task = *task;
  host->task.angles_rad = host->task.axis_px = host->task.weights = NULL;
  td_backproject_views (task, host->start, host->du_x, host->du_y);
  for (guint v = 0; v < task->n_views; v++)
    host->weights[v] = (float) (task->scale * (task->weights ? task->weights[v] : 1));
  /* sqrt (2) is the most that |cos| + |sin| reaches; a column for the fraction, one for the slope,
     one to spare. */
  host->wide_window = (TD_HOST_SUBTILE - 1) * G_SQRT2 * task->step > TD_HOST_WINDOW - 3;
  return TRUE;
}

static void
interleave_views (guint index, gpointer user)
{
  const Block *block = user;
  const TdHostPass *pass = &block->pass;
  const TdBackprojectTask *task = &block->host->task;
  guint end = MIN ((index + 1) * VIEWS_PER_COPY, pass->n_views);

  for (guint v = index * VIEWS_PER_COPY; v < end; v++)
    block->host->kernels->interleave (block->sinograms
                                          + (guint64) (block->first_view + v) * task->n_columns,
                                      (gsize) task->n_views * task->n_columns, pass->n_slices,
                                      task->n_columns, block->host->weights[block->first_view + v],
                                      pass->lanes, block->host->bins + v * pass->view_stride);
}

/* How far the interval from @first over @n steps is from 0. */
static double
distance_of (double first, double step, guint n)
{
  const double last = first + step * (n - 1);

  return (first > 0) == (last > 0) ? MIN (fabs (first), fabs (last)) : 0;
}

/* The tile at a pixel lies beyond what is wanted. */
static gboolean
nobody_looks (const TdBackprojectTask *task, guint x, guint y)
{
  const double dx = distance_of (task->x0 + x * task->step, task->step, TD_HOST_TILE);
  const double dy = distance_of (task->y0 - y * task->step, -task->step, TD_HOST_TILE);

  return task->disc > 0 && hypot (dx, dy) > task->disc;
}

static void
project_tile (guint index, gpointer user)
{
  const Block *block = user;
  const TdHostPass *pass = &block->pass;
  const guint x = index % block->tiles_x * TD_HOST_TILE, y = index / block->tiles_x * TD_HOST_TILE;

  if (g_cancellable_is_cancelled (block->cancellable) || nobody_looks (&block->host->task, x, y))
    return;
  float *scratch = g_async_queue_pop (block->host->scratch);
  TdHostTileBody body
      = pass->lanes == 1 ? block->host->kernels->single : block->host->kernels->wide;
  body (pass, x, y, scratch);
  g_async_queue_push (block->host->scratch, scratch);
}

/* Up to `lanes` slices, in as many blocks of views as the work space needs. */
static gboolean
run_lanes (TdHostBackproject *host, const float *sinograms, float *slices, guint n_slices,
           guint lanes, GCancellable *cancellable, GError **error)
{
  const TdBackprojectTask *task = &host->task;
  guint tiles_x = (task->nx + TD_HOST_TILE - 1) / TD_HOST_TILE;
  guint tiles_y = (task->ny + TD_HOST_TILE - 1) / TD_HOST_TILE;
  guint step = host_backproject_views_per_block (task->n_columns, task->n_views, lanes);

  for (guint first = 0; first < task->n_views; first += step) {
    guint n_views = MIN (step, task->n_views - first);
    Block block = {
      .host = host,
      .first_view = first,
      .sinograms = sinograms,
      .tiles_x = tiles_x,
      .cancellable = cancellable,
      .pass = {
        .bins = host->bins,
        .view_stride = host_backproject_view_stride (task->n_columns, lanes),
        .lanes = lanes,
        .n_columns = task->n_columns,
        .n_views = n_views,
        .start = host->start + first,
        .du_x = host->du_x + first,
        .du_y = host->du_y + first,
        .nx = task->nx,
        .ny = task->ny,
        .nearest = task->interpolation == TD_INTERPOLATION_NEAREST,
        .wide_window = host->wide_window,
        .add = first > 0,
        .slices = slices,
        .slice_stride = (gsize) task->nx * task->ny,
        .n_slices = n_slices,
      },
    };
    td_parallel_for ((n_views + VIEWS_PER_COPY - 1) / VIEWS_PER_COPY, interleave_views, &block);
    td_parallel_for (tiles_x * tiles_y, project_tile, &block);
    if (g_cancellable_set_error_if_cancelled (cancellable, error))
      return FALSE;
  }
  return TRUE;
}

gboolean
td_host_backproject_run (TdHostBackproject *host, const float *sinograms, float *slices,
                         guint n_slices, GCancellable *cancellable, GError **error)
{
  const TdBackprojectTask *task = &host->task;
  guint64 sinogram_floats = (guint64) task->n_views * task->n_columns;
  guint64 slice_floats = (guint64) task->nx * task->ny;

  for (guint done = 0; done < n_slices;) {
    guint lanes = lanes_for (host->kernels, n_slices - done);
    guint count = MIN (lanes, n_slices - done);
    if (!run_lanes (host, sinograms + done * sinogram_floats, slices + done * slice_floats, count,
                    lanes, cancellable, error))
      return FALSE;
    done += count;
  }
  return TRUE;
}
