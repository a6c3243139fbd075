/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Back-projection on CPU-shaped devices (OpenCL on CPUs): kernels/backproject-host.cl, a work-item
   a tile, in launches of a few tiles. */
#include "families.h"
#include "host-backproject-pass.h"
#include "kernels/params.h"

/* As in kernels/backproject-host.cl, whose rows are padded as the host's are. */
enum { TILE = 64, VIEWS_L2 = 32 };

enum {
  SINGLE,
  NARROW,
  WIDE,
  N_SHAPES,          /* 1, 16, 32 slices at once */
  SINGLE_PAYS = 8,   /* up to so many slices one by one are faster */
  LAUNCH_TILES = 64, /* in one launch, at least */
};

static const guint shape_lanes[N_SHAPES] = { 1, 16, 32 };

typedef struct {
  TdKernel *interleave, *tiles;
} Shape;

typedef struct {
  TdBackprojector base;
  Shape shapes[N_SHAPES]; /* those that max_slices can need */
  TdBuffer *bins, *sums;
  TdBuffer *starts, *weights; /* see the kernel */
} TileProjector;

static guint
shape_for (guint n_slices)
{
  return n_slices <= SINGLE_PAYS                         ? SINGLE
         : n_slices <= shape_lanes[NARROW] + SINGLE_PAYS ? NARROW
                                                         : WIDE;
}

static guint64
bins_bytes (const TdBackprojectTask *task, guint max_slices)
{
  return td_host_bins_floats (task->n_columns, task->n_views, shape_lanes,
                              shape_lanes[shape_for (max_slices)], VIEWS_L2)
         * sizeof (float);
}

static guint
launch_tiles (const TdDeviceInfo *device)
{
  return MAX ((guint) LAUNCH_TILES, 2 * device->compute_units);
}

static guint64
tile_backproject_sums_bytes (const TdDeviceInfo *device, guint lanes)
{
  return (guint64) launch_tiles (device) * TILE * TILE * lanes * sizeof (float);
}

guint64
td_tile_backproject_workspace_bytes (const TdBackprojectTask *task, const TdDeviceInfo *device,
                                     guint max_slices)
{
  guint lanes = shape_lanes[shape_for (max_slices)];

  return bins_bytes (task, max_slices) + tile_backproject_sums_bytes (device, lanes)
         + task->n_views * (3 * sizeof (gint64) + sizeof (float));
}

static const char *
tile_backproject_description (guint n_slices)
{
  static const char *const names[N_SHAPES]
      = { "a work-item a tile, slice by slice", "a work-item a tile, 16 slices at once",
          "a work-item a tile, 32 slices at once" };
  return names[shape_for (n_slices)];
}

static gboolean
tile_backproject_build (TileProjector *tiles, guint shape, GError **error)
{
  g_autofree char *vectors = g_strdup_printf ("VECTORS=%u", shape_lanes[shape] / 16);
  gboolean nearest = tiles->base.task.interpolation == TD_INTERPOLATION_NEAREST;
  const char *defines[] = { vectors, nearest ? "NEAREST=1" : NULL, NULL };
  const char *source = "backproject-host";
  Shape *to = &tiles->shapes[shape];

  return (to->interleave
          = td_device_kernel (tiles->base.device, source, defines, "interleave", error))
         && (to->tiles
             = td_device_kernel (tiles->base.device, source, defines, "backproject_tiles", error));
}

static void
tile_backproject_free (TdBackprojector *projector)
{
  TileProjector *tiles = (TileProjector *) projector;

  td_buffer_free (tiles->bins);
  td_buffer_free (tiles->sums);
  td_buffer_free (tiles->starts);
  td_buffer_free (tiles->weights);
  g_free (tiles);
}

static gboolean
tile_backproject_update (TdBackprojector *projector, const TdBackprojectTask *task, GError **error)
{
  TileProjector *tiles = (TileProjector *) projector;
  guint n = task->n_views;

  if (task->n_columns != tiles->base.task.n_columns || n != tiles->base.task.n_views
      || task->interpolation != tiles->base.task.interpolation)
    return FALSE;

  g_autofree gint64 *starts = g_new (gint64, 3 * (gsize) n);
  g_autofree float *weights = g_new (float, n);
  g_autoptr (TdQueue) queue = td_queue_new (tiles->base.device, error);

  td_backproject_fixed (task, starts);
  for (guint v = 0; v < n; v++)
    weights[v] = (float) (task->scale * (task->weights ? task->weights[v] : 1));
  return queue
         && td_upload (queue, tiles->starts, 0, starts, 3 * (guint64) n * sizeof *starts, error)
         && td_upload (queue, tiles->weights, 0, weights, n * sizeof *weights, error)
         && td_queue_finish (queue, error);
}

static gboolean
tile_backproject_launch (TdQueue *queue, TdKernel *kernel, guint count, const TdArg *args,
                         guint n_args, GCancellable *cancellable, GError **error)
{
  const guint groups[3] = { count, 1, 1 }, local[3] = { 1, 1, 1 };

  if (!td_launch (queue, kernel, groups, local, args, n_args, error))
    return FALSE;
  return !cancellable
         || (td_queue_finish (queue, error)
             && !g_cancellable_set_error_if_cancelled (cancellable, error));
}

/* Slices that one shape does at once, all views. */
static gboolean
run_shape (TileProjector *tiles, TdQueue *queue, TdPlace sinograms, TdPlace slices, guint n_slices,
           GError **error)
{
  GCancellable *cancellable = tiles->base.cancellable;
  const TdBackprojectTask *task = &tiles->base.task;
  const guint shape = shape_for (n_slices);
  const guint64 from = sinograms.offset / sizeof (float), to = slices.offset / sizeof (float);
  guint tiles_x = (task->nx + TILE - 1) / TILE, n_tiles = tiles_x * ((task->ny + TILE - 1) / TILE);
  guint step = td_host_block_views (task->n_columns, task->n_views, shape_lanes[shape], VIEWS_L2);
  guint most = launch_tiles (td_device_info (tiles->base.device));

  for (guint first = 0; first < task->n_views; first += step) {
    TdTileParams params = {
      .n_columns = task->n_columns,
      .all_views = task->n_views,
      .first_view = first,
      .n_views = MIN (step, task->n_views - first),
      .view_stride = td_host_view_stride (task->n_columns, shape_lanes[shape]),
      .nx = task->nx,
      .ny = task->ny,
      .n_slices = n_slices,
      .tiles_x = tiles_x,
      .add = first > 0,
      .step = (float) task->step,
      .sinogram_low = from,
      .sinogram_high = from >> 32,
      .slice_low = to,
      .slice_high = to >> 32,
    };

    if (!tile_backproject_launch (queue, tiles->shapes[shape].interleave, params.n_views,
                                  TD_ARGS (sinograms.buffer, tiles->weights, tiles->bins, params),
                                  cancellable, error))
      return FALSE;
    for (guint tile = 0; tile < n_tiles; tile += most) {
      params.first_tile = tile;
      if (!tile_backproject_launch (
              queue, tiles->shapes[shape].tiles, MIN (most, n_tiles - tile),
              TD_ARGS (tiles->bins, tiles->starts, tiles->sums, slices.buffer, params), cancellable,
              error))
        return FALSE;
    }
  }
  return TRUE;
}

/* Enqueues; with a cancellable it blocks instead and looks at it between launches. */
static gboolean
tile_backproject_run (TdBackprojector *projector, TdQueue *queue, TdPlace sinograms, TdPlace slices,
                      guint n_slices, GError **error)
{
  TileProjector *tiles = (TileProjector *) projector;
  const TdBackprojectTask *task = &tiles->base.task;

  for (guint done = 0; done < n_slices;) {
    guint count = MIN (shape_lanes[shape_for (n_slices - done)], n_slices - done);

    if (!run_shape (tiles, queue, sinograms, slices, count, error))
      return FALSE;
    sinograms.offset += count * (guint64) task->n_views * task->n_columns * sizeof (float);
    slices.offset += count * (guint64) task->nx * task->ny * sizeof (float);
    done += count;
  }
  return TRUE;
}

static const TdBackprojectorOps tile_ops = {
  .update = tile_backproject_update,
  .run = tile_backproject_run,
  .free = tile_backproject_free,
};

TdBackprojector *
td_tile_backproject_new (TdDevice *device, const TdBackprojectTask *task, guint max_slices,
                         GError **error)
{
  TileProjector *tiles = td_backprojector_alloc (sizeof *tiles, &tile_ops, device, task);
  const TdDeviceInfo *info = td_device_info (device);
  guint largest = shape_for (max_slices);
  guint64 views = task->n_views;

  tiles->base.description = g_strdup (tile_backproject_description (max_slices));
  gboolean built = TRUE;
  for (guint shape = SINGLE; built && shape <= largest; shape++)
    built = tile_backproject_build (tiles, shape, error);
  if (built && (tiles->bins = td_buffer_new (device, bins_bytes (task, max_slices), error))
      && (tiles->sums
          = td_buffer_new (device, tile_backproject_sums_bytes (info, shape_lanes[largest]), error))
      && (tiles->starts = td_buffer_new (device, views * 3 * sizeof (gint64), error))
      && (tiles->weights = td_buffer_new (device, views * sizeof (float), error))
      && tile_backproject_update (&tiles->base, task, error))
    return &tiles->base;
  td_backprojector_free (&tiles->base);
  return NULL;
}
