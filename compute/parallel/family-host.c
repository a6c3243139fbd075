/* SPDX-License-Identifier: GPL-3.0-or-later */
/**
 * The "host" family is for CPUs and takes §6.10 of the review further. Slices are interleaved, so
 * that each bin is one vector load. Tiles fit the caches, and sums stay in registers. On a device
 * whose memory is the host's it runs the vector code of host-backproject-isa.c, and the threads
 * share the tiles. On other CPU-shaped devices (OpenCL) it runs a kernel of the same design
 * (tile-backproject.c).
 */
#include "compute/device/host.h"
#include "compute/portion.h"
#include "families.h"
#include "host-backproject-pass.h"
#include "place-error.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum {
  VIEWS_PER_COPY = 8,              /* views one call interleaves */
  BLOCK_BYTES = 256 * 1024 * 1024, /* interleaved bins held at once; more views: more passes */
  VIEWS_STEP = 64,                 /* a block is a multiple of what the kernels keep in L2 */
};

typedef struct {
  TdBackprojector base;
  const TdHostKernels *kernels;
  double *start, *du_x, *du_y;
  float *weights; /* scale and the views' weights, applied while interleaving */
  gboolean wide_window;
  float *bins;
  guint64 bins_floats;
  GAsyncQueue *scratch; /* a piece for each thread that has a tile */
} HostProjector;

/* One block of views of one run, as the threads see it. */
typedef struct {
  const HostProjector *host;
  TdHostPass pass;
  guint first_view;
  const float *sinograms;
  guint tiles_x;
  GCancellable *cancellable;
} Block;

const TdHostKernels *
td_host_kernels (void)
{
  return TD_HOST_PICK (td_host_kernels);
}

/* Floats from one view to the next. An odd number of cache lines: views a power of two apart would
   all fall into the same few sets of the cache. */
guint64
td_host_view_stride (guint n_columns, guint lanes)
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

guint
td_host_block_views (guint n_columns, guint n_views, guint lanes, guint step)
{
  guint64 fit
      = td_portion (BLOCK_BYTES) / (td_host_view_stride (n_columns, lanes) * sizeof (float));
  return MIN (MAX (fit / step, 1) * step, n_views);
}

guint64
td_host_bins_floats (guint n_columns, guint n_views, const guint lanes[3], guint most, guint step)
{
  guint64 floats = 0;

  for (guint i = 0; i < 3 && lanes[i] <= most; i++)
    floats = MAX (floats, td_host_view_stride (n_columns, lanes[i])
                              * td_host_block_views (n_columns, n_views, lanes[i], step));
  return floats;
}

static guint64
bins_floats (const TdHostKernels *kernels, const TdBackprojectTask *task, guint max_slices)
{
  const guint lanes[3] = { 1, kernels->lanes_small, kernels->lanes };

  return td_host_bins_floats (task->n_columns, task->n_views, lanes,
                              lanes_for (kernels, max_slices), VIEWS_STEP);
}

/* A thread's sums of one tile. The kernels for single slices keep them twice. */
static gsize
scratch_bytes (guint lanes)
{
  return TD_HOST_TILE * TD_HOST_TILE * MAX (lanes, 2) * sizeof (float);
}

/* Threads that find a tile to work on. */
static guint
scratch_pieces (const TdBackprojectTask *task)
{
  const guint64 tiles = (guint64) ((task->nx + TD_HOST_TILE - 1) / TD_HOST_TILE)
                        * ((task->ny + TD_HOST_TILE - 1) / TD_HOST_TILE);

  return (guint) MIN (td_host_threads (), tiles);
}

static guint64
host_backproject_bytes (const TdBackprojectTask *task, guint max_slices)
{
  const TdHostKernels *kernels = td_host_kernels ();

  return bins_floats (kernels, task, max_slices) * sizeof (float)
         + scratch_pieces (task) * scratch_bytes (lanes_for (kernels, max_slices))
         + task->n_views * 28ull;
}

/* "AVX-512, 32 slices at once" */
static const char *
host_backproject_description (const TdHostKernels *kernels, guint n_slices)
{
  guint lanes = lanes_for (kernels, n_slices);

  return lanes == 1               ? kernels->names[0]
         : lanes < kernels->lanes ? kernels->names[1]
                                  : kernels->names[2];
}

static void
host_backproject_free (TdBackprojector *projector)
{
  HostProjector *host = (HostProjector *) projector;

  g_clear_pointer (&host->scratch, g_async_queue_unref);
  free (host->bins);
  g_free (host->start);
  g_free (host->du_x);
  g_free (host->du_y);
  g_free (host->weights);
  g_free (host);
}

static gboolean
host_backproject_update (TdBackprojector *projector, const TdBackprojectTask *task, GError **error)
{
  HostProjector *host = (HostProjector *) projector;

  if (task->n_columns != host->base.task.n_columns || task->n_views != host->base.task.n_views)
    return FALSE;

  td_backproject_views (task, host->start, host->du_x, host->du_y);
  for (guint v = 0; v < task->n_views; v++)
    host->weights[v] = (float) (task->scale * (task->weights ? task->weights[v] : 1));
  host->wide_window = task->step > host->kernels->single_step;
  return TRUE;
}

static void
interleave_views (guint index, gpointer user)
{
  const Block *block = user;
  const TdHostPass *pass = &block->pass;
  const TdBackprojectTask *task = &block->host->base.task;
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

  if (g_cancellable_is_cancelled (block->cancellable)
      || nobody_looks (&block->host->base.task, x, y))
    return;
  float *scratch = g_async_queue_pop (block->host->scratch);
  TdHostTileBody body
      = pass->lanes == 1 ? block->host->kernels->single : block->host->kernels->wide;
  body (pass, x, y, scratch);
  g_async_queue_push (block->host->scratch, scratch);
}

/* Up to `lanes` slices, in as many blocks of views as the work space needs. */
static gboolean
run_lanes (HostProjector *host, const float *sinograms, float *slices, guint n_slices, guint lanes,
           GError **error)
{
  const TdBackprojectTask *task = &host->base.task;
  guint tiles_x = (task->nx + TD_HOST_TILE - 1) / TD_HOST_TILE;
  guint tiles_y = (task->ny + TD_HOST_TILE - 1) / TD_HOST_TILE;
  guint step = td_host_block_views (task->n_columns, task->n_views, lanes, VIEWS_STEP);

  for (guint first = 0; first < task->n_views; first += step) {
    guint n_views = MIN (step, task->n_views - first);
    Block block = {
      .host = host,
      .first_view = first,
      .sinograms = sinograms,
      .tiles_x = tiles_x,
      .cancellable = host->base.cancellable,
      .pass = {
        .bins = host->bins,
        .view_stride = td_host_view_stride (task->n_columns, lanes),
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
    if (g_cancellable_set_error_if_cancelled (host->base.cancellable, error))
      return FALSE;
  }
  return TRUE;
}

static gboolean
host_backproject_run (TdBackprojector *projector, TdQueue *queue, TdPlace from, TdPlace to,
                      guint n_slices, GError **error)
{
  HostProjector *host = (HostProjector *) projector;
  const TdBackprojectTask *task = &host->base.task;
  guint64 sinogram_floats = (guint64) task->n_views * task->n_columns;
  guint64 slice_floats = (guint64) task->nx * task->ny;

  if (!td_queue_finish (queue, error))
    return FALSE;
  const float *sinograms = td_place_map (from);
  float *slices = td_place_map (to);
  for (guint done = 0; done < n_slices;) {
    guint lanes = lanes_for (host->kernels, n_slices - done);
    guint count = MIN (lanes, n_slices - done);
    if (!run_lanes (host, sinograms + done * sinogram_floats, slices + done * slice_floats, count,
                    lanes, error))
      return FALSE;
    done += count;
  }
  return TRUE;
}

static const TdBackprojectorOps host_ops = {
  .update = host_backproject_update,
  .run = host_backproject_run,
  .free = host_backproject_free,
};

static TdBackprojector *
host_backproject_new (TdDevice *device, const TdBackprojectTask *task, guint max_slices,
                      GError **error)
{
  HostProjector *host = td_backprojector_alloc (sizeof *host, &host_ops, device, task);

  host->kernels = td_host_kernels ();
  host->base.description = g_strdup (host_backproject_description (host->kernels, max_slices));
  host->scratch = g_async_queue_new_full (free);
  host->start = g_new (double, task->n_views);
  host->du_x = g_new (double, task->n_views);
  host->du_y = g_new (double, task->n_views);
  host->weights = g_new (float, task->n_views);
  host_backproject_update (&host->base, task, NULL);

  host->bins_floats = bins_floats (host->kernels, task, max_slices);
  host->bins = aligned_alloc (64, host->bins_floats * sizeof (float));
  gboolean complete = host->bins != NULL;
  for (guint i = 0; i < scratch_pieces (task); i++) {
    float *piece = aligned_alloc (64, scratch_bytes (lanes_for (host->kernels, max_slices)));
    if (piece)
      g_async_queue_push (host->scratch, piece);
    else
      complete = FALSE;
  }
  if (complete)
    return &host->base;

  td_set_error (error, TD_ERROR_DEVICE_MEMORY,
                "Back-projection on the host could not get %" PRIu64
                " MiB of memory; close other programs or lower the memory limit",
                host->bins_floats * sizeof (float) >> 20);
  td_backprojector_free (&host->base);
  return NULL;
}

/* ── The family ── */

static const char *
family_host_unsupported (const TdBackprojectFamily *family, const TdBackprojectTask *task,
                         const TdDeviceInfo *device)
{
  if (!device->host_pointers && !device->cpu_shaped)
    return N_ ("it is made for CPUs");
  if (task->n_columns > 1u << 20)
    return N_ ("it takes at most 2^20 detector columns");
  return NULL;
}

/**
 * Relative L2 error; place-error.h.
 *
 * Linear: within a subtile u < 32 in single. Start, product and sum round by half a unit in the
 * last place, up to 2^-20 each. Over a subtile that is 5e-7 rms, which costs 1.7e-6 where bins
 * alternate. The table p - i d of the single-slice path has numbers up to 48 times a bin's size.
 * The sum passes through one at each view. Their rounding is another 1.7e-6. AVX2 adds steps to u,
 * and has 3.2e-6 in all. Nearest: with |u| off by as much, at most a share 1e-6 takes
 * a neighbour.
 *
 * Coarse steps make the subtile's u, and so its rounding, larger.
 */
static double
family_host_error_bound (const TdBackprojectFamily *family, const TdBackprojectTask *task,
                         const TdDeviceInfo *device)
{
  const double coarse = MAX (task->step, 1);

  return (task->interpolation == TD_INTERPOLATION_NEAREST ? td_place_error (task, 1e-6 * coarse)
                                                          : 5e-6 * coarse)
         + td_sums_error (task);
}

static TdBackprojector *
family_host_create (const TdBackprojectFamily *family, TdDevice *device,
                    const TdBackprojectTask *task, const TdBackprojectVariant *variant,
                    guint max_slices, GError **error)
{
  return td_device_info (device)->host_pointers
             ? host_backproject_new (device, task, max_slices, error)
             : td_tile_backproject_new (device, task, max_slices, error);
}

static guint64
family_host_workspace_bytes (const TdBackprojectFamily *family, const TdBackprojectTask *task,
                             const TdDeviceInfo *device, guint max_slices)
{
  return device->host_pointers ? host_backproject_bytes (task, max_slices)
                               : td_tile_backproject_workspace_bytes (task, device, max_slices);
}

const TdBackprojectFamily td_family_host = {
  .name = "host",
  .title = "CPU: slices side by side in vectors",
  .single_only = TRUE,
  .error_bound = family_host_error_bound,
  .unsupported = family_host_unsupported,
  .create = family_host_create,
  .card_rank = 1000,
  .cpu_rank = 1000,
  .workspace_bytes = family_host_workspace_bytes,
};
