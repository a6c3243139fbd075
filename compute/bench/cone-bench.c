/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cone-bench.h"

#include <inttypes.h>

#include "compute/cone/cone-host.h"
#include "dataset/random.h"

#define BLOCK 12 /* voxels along the sides of the blocks that are judged */

struct TdConeBench {
  TdDevice *device;
  TdQueue *queue;
  TdConeBenchSpec spec;
  TdConeTask task;
  float *projections;
  guint *views;
  TdBuffer *rows, *volume;
};

static guint64
projection_floats (const TdConeBench *bench)
{
  return (guint64) bench->spec.n_views * bench->spec.n_columns * bench->spec.n_columns;
}

static guint64
cone_bench_voxels (const TdConeBench *bench)
{
  return (guint64) bench->spec.size * bench->spec.size * bench->spec.slices;
}

void
td_cone_bench_geometry (guint n_columns, guint size, TdGeometry *geometry)
{
  const double width_mm = 200;

  *geometry = (TdGeometry) {
    .beam = TD_BEAM_CONE,
    .pixel_width_mm = width_mm / n_columns,
    .pixel_height_mm = width_mm / n_columns,
    .source_axis_mm = 400,
    .source_detector_mm = 600,
    .voxel_mm = width_mm * 400 / 600 / size,
    .volume_size = { size, size, size },
  };
}

static gboolean
cone_bench_make_task (TdConeBench *bench, GError **error)
{
  const TdConeBenchSpec *spec = &bench->spec;
  TdGeometry geometry;
  g_autofree double *angles = g_new (double, spec->n_views);

  td_cone_bench_geometry (spec->n_columns, spec->size, &geometry);
  for (guint i = 0; i < spec->n_views; i++)
    angles[i] = 2 * G_PI * i / spec->n_views;
  if (!td_cone_task_init (&bench->task, &geometry, angles, spec->n_views, spec->n_columns,
                          spec->n_columns, error))
    return FALSE;
  /* Of a tall volume every voxel is seen too. */
  td_cone_task_set_volume (&bench->task, spec->size, spec->size, spec->slices,
                           geometry.voxel_mm * spec->size / MAX (spec->size, spec->slices));
  return TRUE;
}

TdConeBench *
td_cone_bench_new (TdDevice *device, const TdConeBenchSpec *spec, GError **error)
{
  g_autoptr (TdConeBench) bench = g_new0 (TdConeBench, 1);

  bench->device = td_device_ref (device);
  bench->spec = *spec;
  bench->queue = td_queue_new (device, error);
  if (!bench->queue || !cone_bench_make_task (bench, error))
    return NULL;
  bench->views = g_new (guint, spec->n_views);
  for (guint i = 0; i < spec->n_views; i++)
    bench->views[i] = i;
  const guint64 bytes = projection_floats (bench) * sizeof (float);
  bench->projections = g_try_malloc (bytes);
  if (!bench->projections)
    return td_set_error_null (error, TD_ERROR_IO,
                              "Not enough memory for %" PRIu64 " MiB of projections.", bytes >> 20);
  td_random_noise (bench->projections, projection_floats (bench), 0);
  bench->rows = td_buffer_new (device, bytes, error);
  bench->volume = bench->rows
                      ? td_buffer_new (device, cone_bench_voxels (bench) * sizeof (float), error)
                      : NULL;
  if (!bench->volume || !td_upload (bench->queue, bench->rows, 0, bench->projections, bytes, error)
      || !td_queue_finish (bench->queue, error))
    return NULL;
  return g_steal_pointer (&bench);
}

void
td_cone_bench_free (TdConeBench *bench)
{
  if (!bench)
    return;
  td_buffer_free (bench->rows);
  td_buffer_free (bench->volume);
  td_queue_free (bench->queue);
  td_cone_task_clear (&bench->task);
  td_device_unref (bench->device);
  g_free (bench->projections);
  g_free (bench->views);
  g_free (bench);
}

/* Blocks at the middle, the side and a corner of the volume against the reference. */
static gboolean
cone_bench_judge (TdConeBench *bench, double *relative, GError **error)
{
  const guint n = bench->spec.size, nz = bench->spec.slices, side = MIN (BLOCK, MIN (n, nz));
  const guint starts[3][3] = { { (n - side) / 2, (n - side) / 2, (nz - side) / 2 },
                               { 0, (n - side) / 2, (nz - side) / 4 },
                               { n - side, n - side, nz - side } };
  const guint voxels = side * side * side;
  g_autofree double *truth = g_new (double, 3 * voxels);
  g_autofree float *got = g_new (float, 3 * voxels);

  for (guint b = 0; b < 3; b++) {
    TdConeTask block = bench->task; /* borrows the arrays */
    block.first_mm[0] += starts[b][0] * block.voxel_mm;
    block.first_mm[1] -= starts[b][1] * block.voxel_mm;
    block.first_mm[2] -= starts[b][2] * block.voxel_mm;
    block.nx = block.ny = block.nz = side;
    td_cone_reference (&block, bench->projections, truth + b * voxels);
    for (guint k = 0; k < side; k++)
      for (guint j = 0; j < side; j++) {
        const guint64 at = ((guint64) (starts[b][2] + k) * n + starts[b][1] + j) * n + starts[b][0];
        if (!td_download (bench->queue, got + b * voxels + (k * side + j) * side, bench->volume,
                          at * sizeof *got, side * sizeof *got, error)
            || !td_queue_finish (bench->queue, error))
          return FALSE;
      }
  }
  *relative = td_relative_error (got, truth, 3 * voxels);
  return TRUE;
}

static gboolean
cone_bench_run_once (TdConeBench *bench, TdConeProjector *projector, double *seconds,
                     GError **error)
{
  const TdConeBenchSpec *spec = &bench->spec;

  if (g_cancellable_set_error_if_cancelled (spec->cancellable, error)
      || !td_fill_zero (bench->queue, bench->volume, 0, cone_bench_voxels (bench) * sizeof (float),
                        error)
      || !td_queue_finish (bench->queue, error))
    return FALSE;
  const TdConeBatch batch = { bench->rows, { 0, spec->n_columns }, bench->views, spec->n_views };
  const TdConeSlab slab = { bench->volume, 0, spec->slices };
  const gint64 start = g_get_monotonic_time ();
  if (!td_cone_projector_add (projector, bench->queue, &batch, &slab, spec->cancellable, error)
      || !td_queue_finish (bench->queue, error))
    return FALSE;
  *seconds = (g_get_monotonic_time () - start) * 1e-6;
  return TRUE;
}

gboolean
td_cone_bench_run (TdConeBench *bench, const TdConeFamily *family, TdPrecision precision,
                   TdConeBenchRow *row, GError **error)
{
  const TdConeBenchSpec *spec = &bench->spec;
  const char *why = family->unsupported (&bench->task, precision, td_device_info (bench->device));
  const TdConeLimits limits = { spec->n_views, spec->n_columns, spec->slices, precision };

  if (why)
    return td_set_error (error, TD_ERROR_UNSUPPORTED, "%s: %s", family->name, why);
  g_autoptr (TdConeProjector) projector
      = td_cone_projector_new (family, bench->device, &bench->task, &limits, error);
  if (!projector)
    return FALSE;
  g_autofree double *times = g_new (double, spec->runs);
  double warm_up;
  if (!cone_bench_run_once (bench, projector, &warm_up, error))
    return FALSE;
  for (guint i = 0; i < spec->runs; i++)
    if (!cone_bench_run_once (bench, projector, &times[i], error))
      return FALSE;
  *row = (TdConeBenchRow) {
    .family = family->name,
    .title = family->title,
    .precision = precision,
    .times = td_bench_times (times, spec->runs),
  };
  row->gups = (double) cone_bench_voxels (bench) * spec->n_views / row->times.median_s / TD_GUPS;
  return cone_bench_judge (bench, &row->error, error);
}

/* ── The baseline ── */

typedef struct {
  const TdConeBench *bench;
  float *matrices;
  guint slice0;
  float *out;
} Naive;

static void
cone_bench_naive_row (guint index, gpointer user)
{
  const Naive *work = user;
  const guint n = work->bench->spec.size;

  td_cone_funcs ()->naive (&work->bench->task, work->matrices, work->bench->projections,
                           work->slice0 + index / n, index % n, work->out + (gsize) index * n);
}

double
td_cone_bench_naive (TdConeBench *bench)
{
  const guint n = bench->spec.size;
  /* A few slices of the middle are enough, and all that a large volume has time for. */
  const guint slices
      = (guint) CLAMP (2e8 / ((double) n * n * bench->spec.n_views), 1, bench->spec.slices);

  if (!td_device_info (bench->device)->host_pointers)
    return 0;
  g_autofree float *out = g_new (float, (gsize) slices *n *n);
  g_autofree float *matrices = g_new (float, 13 * (gsize) bench->spec.n_views);
  for (guint v = 0; v < bench->spec.n_views; v++) {
    for (guint i = 0; i < 12; i++)
      matrices[13 * v + i] = (float) bench->task.matrices[12 * v + i];
    matrices[13 * v + 12] = (float) bench->task.view_weights[v];
  }
  Naive work = { bench, matrices, (bench->spec.slices - slices) / 2, out };
  const gint64 start = g_get_monotonic_time ();
  td_parallel_for (slices * n, cone_bench_naive_row, &work);
  const double seconds = (g_get_monotonic_time () - start) * 1e-6;
  return (double) slices * n * n * bench->spec.n_views / seconds / TD_GUPS;
}
