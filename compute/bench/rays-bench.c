/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "rays-bench.h"

#include "cone-bench.h"
#include "compute/device/host.h"
#include "dataset/random.h"

#define JUDGED 48u
#define NAIVE 96u
#define JUDGED_VIEWS 7u

typedef struct {
  const TdRaysBenchSpec *spec;
  TdConeTask task;
  TdRayProjector *rays;
  TdBuffer *volume, *measured, *lines, *squares, *weights;
  TdBuffer *field[3], *spare, *slices;
} Bench;

static void
rays_bench_clear (Bench *bench)
{
  TdBuffer *const buffers[]
      = { bench->volume,  bench->measured, bench->lines,    bench->squares,  bench->spare,
          bench->weights, bench->field[0], bench->field[1], bench->field[2], bench->slices };

  if (bench->rays)
    td_queue_finish (td_rays_queue (bench->rays), NULL);
  for (guint i = 0; i < G_N_ELEMENTS (buffers); i++)
    td_buffer_free (buffers[i]);
  td_rays_free (bench->rays);
  td_cone_task_clear (&bench->task);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Bench, rays_bench_clear)

static gboolean
rays_bench_make_task (TdConeTask *task, guint size, guint n_views, GError **error)
{
  g_autofree double *angles = g_new (double, n_views);
  TdGeometry geometry;

  td_cone_bench_geometry (size, size, &geometry);
  for (guint i = 0; i < n_views; i++)
    angles[i] = 0.1 + 2 * G_PI * i / n_views;
  return td_cone_task_init (task, &geometry, angles, n_views, size, size, error);
}

static float *
rays_bench_noise (gsize n)
{
  float *values = g_new (float, n);

  td_random_noise (values, n, 20261);
  return values;
}

/* The same random values again and again. */
static gboolean
rays_bench_fill (Bench *bench, TdBuffer *buffer, guint64 bytes, GError **error)
{
  const guint64 piece = MIN (bytes, (guint64) 64 << 20);
  g_autofree float *values = rays_bench_noise (piece / sizeof (float));

  for (guint64 at = 0; at < bytes; at += piece)
    if (!td_upload (td_rays_queue (bench->rays), buffer, at, values, MIN (piece, bytes - at),
                    error))
      return FALSE;
  return td_queue_finish (td_rays_queue (bench->rays), error);
}

/* What the views weigh, which jobs keep from pass to pass. */
static gboolean
rays_bench_weigh (Bench *bench, GError **error)
{
  const guint n_views = bench->task.n_views;

  return td_rays_fill_ones (bench->rays, n_views, bench->lines, error)
         && td_rays_back (bench->rays, bench->lines, (TdRayViews) { 0, n_views }, bench->weights,
                          error)
         && td_queue_finish (td_rays_queue (bench->rays), error);
}

static gboolean
bench_init (Bench *bench, TdDevice *device, guint size, guint n_views, GError **error)
{
  if (!rays_bench_make_task (&bench->task, size, n_views, error))
    return FALSE;
  const guint64 bytes = td_rays_projection_bytes (&bench->task, n_views);

  return (bench->rays = td_rays_new (device, &bench->task, NULL, bench->spec->cancellable, error))
         && (bench->volume = td_rays_volume_new (bench->rays, error))
         && (bench->measured = td_rays_projections_new (bench->rays, n_views, error))
         && (bench->lines = td_rays_projections_new (bench->rays, n_views, error))
         && (bench->squares = td_rays_projections_new (bench->rays, n_views, error))
         && (bench->field[0] = td_rays_volume_new (bench->rays, error))
         && (bench->field[1] = td_rays_volume_new (bench->rays, error))
         && (bench->field[2] = td_rays_volume_new (bench->rays, error))
         && (bench->spare = td_rays_volume_new (bench->rays, error))
         && (bench->weights = td_rays_volume_new (bench->rays, error))
         && rays_bench_weigh (bench, error)
         && rays_bench_fill (bench, bench->measured, bytes, error)
         && td_rays_back (bench->rays, bench->measured, (TdRayViews) { 0, n_views }, bench->volume,
                          error);
}

/* ── Time ── */

static gboolean
rays_bench_act (Bench *bench, guint what, GError **error)
{
  TdRayProjector *rays = bench->rays;
  const TdRayViews all = { 0, bench->task.n_views };
  const TdRayMeasured measured = { bench->measured, 0 };
  const TdRayMissing missing = { bench->lines, bench->squares };
  const TdRayVariation variation = { 0.01, FALSE };

  switch (what) {
  case 0: return td_rays_project (rays, bench->volume, all, bench->lines, error);
  case 1: return td_rays_back (rays, bench->measured, all, bench->volume, error);
  case 2:
    return td_rays_compare (rays, bench->volume, &measured, all, &missing, error)
           && td_rays_correct (rays, bench->lines, all, (TdRayStep) { 1, FALSE, bench->weights },
                               bench->volume, error);
  default:
    return td_rays_move (rays, bench->volume, bench->field, bench->spare, variation, error)
           && td_rays_climb (rays, bench->spare, bench->field, variation, error)
           && td_rays_move (rays, bench->volume, bench->field, bench->volume, variation, error);
  }
}

static gboolean
time_row (Bench *bench, guint what, TdRaysBenchRow *row, GError **error)
{
  static const char *const names[] = { "project", "back-project", "sirt", "denoise" };
  const guint runs = bench->spec->runs;
  g_autofree double *seconds = g_new (double, runs);
  const TdConeTask *task = &bench->task;

  for (guint run = 0; run <= runs; run++) {
    const gint64 start = g_get_monotonic_time ();
    if (!rays_bench_act (bench, what, error)
        || !td_queue_finish (td_rays_queue (bench->rays), error))
      return FALSE;
    if (run > 0)
      seconds[run - 1] = (g_get_monotonic_time () - start) * 1e-6;
  }
  *row = (TdRaysBenchRow) { names[what], td_bench_times (seconds, runs), 0, 0 };
  row->gups = (double) task->nx * task->ny * task->nz * (what < 3 ? task->n_views : 1)
              / row->times.median_s / TD_GUPS;
  return TRUE;
}

/* ── Error ── */

/* Back-projection of random lines, and projection of what that gave, against the same in double. */
static gboolean
rays_bench_judge (TdDevice *device, const TdRaysBenchSpec *spec, double *there, double *back,
                  GError **error)
{
  g_auto (Bench) bench = { .spec = spec };
  const gsize n_voxels = (gsize) JUDGED * JUDGED * JUDGED, view = (gsize) JUDGED * JUDGED;
  const TdRayBox box = { { 0 }, { JUDGED, JUDGED, JUDGED } };
  g_autofree float *voxels = g_new (float, n_voxels), *lines = g_new (float, view *JUDGED_VIEWS);
  g_autofree float *rows = g_new (float, view), *random = rays_bench_noise (view * JUDGED_VIEWS);
  g_autofree double *truth = g_new0 (double, n_voxels);

  if (!bench_init (&bench, device, JUDGED, JUDGED_VIEWS, error)
      || !(bench.slices = td_buffer_new (device, n_voxels * sizeof (float), error))
      || !td_rays_give (bench.rays, bench.volume, &box, bench.slices, error)
      || !td_download (td_rays_queue (bench.rays), voxels, bench.slices, 0,
                       n_voxels * sizeof (float), error)
      || !rays_bench_act (&bench, 0, error)
      || !td_download (td_rays_queue (bench.rays), lines, bench.lines, 0,
                       view * JUDGED_VIEWS * sizeof (float), error)
      || !td_queue_finish (td_rays_queue (bench.rays), error))
    return FALSE;
  *there = 0;
  for (guint v = 0; v < JUDGED_VIEWS; v++) { /* lines are [view][column][row] */
    for (guint i = 0; i < view; i++)
      rows[i] = random[v * view + i % JUDGED * JUDGED + i / JUDGED];
    td_rays_reference_back (&bench.task, v, rows, truth);
  }
  *back = td_relative_error (voxels, truth, n_voxels);
  for (guint v = 0; v < JUDGED_VIEWS; v++) {
    td_rays_reference_project (&bench.task, v, voxels, truth);
    for (guint i = 0; i < view; i++)
      rows[i] = lines[v * view + i % JUDGED * JUDGED + i / JUDGED];
    *there = MAX (*there, td_relative_error (rows, truth, view));
  }
  return TRUE;
}

gboolean
td_rays_bench (TdDevice *device, const TdRaysBenchSpec *spec,
               TdRaysBenchRow rows[TD_RAYS_BENCH_ROWS], GError **error)
{
  g_auto (Bench) bench = { .spec = spec };
  double there, back;
  gboolean ok = rays_bench_judge (device, spec, &there, &back, error)
                && bench_init (&bench, device, spec->size, spec->n_views, error);

  for (guint what = 0; ok && what < TD_RAYS_BENCH_ROWS; what++)
    ok = time_row (&bench, what, &rows[what], error);
  if (ok) {
    rows[0].error = there;
    rows[1].error = back;
  }
  return ok;
}

typedef struct {
  const TdConeTask *task;
  const float *volume;
} Naive;

static void
naive_view (guint view, gpointer user)
{
  const Naive *work = user;
  g_autofree double *out = g_new (double, (gsize) NAIVE *NAIVE);

  td_rays_reference_project (work->task, view, work->volume, out);
}

double
td_rays_bench_naive (void)
{
  const guint views = 2 * td_host_threads ();
  g_autofree float *volume = rays_bench_noise ((gsize) NAIVE * NAIVE * NAIVE);
  TdConeTask task;

  if (!rays_bench_make_task (&task, NAIVE, views, NULL))
    return 0;
  Naive work = { &task, volume };
  const gint64 start = g_get_monotonic_time ();
  td_parallel_for (views, naive_view, &work);
  const double seconds = (g_get_monotonic_time () - start) * 1e-6;
  td_cone_task_clear (&task);
  return (double) NAIVE * NAIVE * NAIVE * views / seconds / TD_GUPS;
}
