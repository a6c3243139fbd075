/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cone-slabs.h"

typedef struct {
  TdDevice *device;
  TdQueue *queue;
  TdConeProjector *projector;
  const TdConeTask *task;
  const float *projections;
  guint turns, per_turn;
} Slabs;

static void
add_views (const Slabs *s, TdBuffer *rows, guint first, guint end, guint v, TdBuffer *volume,
           guint slice0, guint n)
{
  const TdConeTask *task = s->task;
  const gsize view_floats = (gsize) (end - first) * task->n_columns;
  const guint a_turn = task->n_views / s->turns, count = MIN (s->per_turn, a_turn - v);
  g_autofree guint *views = g_new (guint, count * s->turns);
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < count * s->turns; i++) {
    views[i] = v + i % count + i / count * a_turn;
    td_upload (s->queue, rows, i * view_floats * sizeof (float),
               s->projections + ((gsize) views[i] * task->n_rows + first) * task->n_columns,
               view_floats * sizeof (float), &error);
  }
  g_assert_no_error (error);
  td_cone_projector_add (s->projector, s->queue, rows, first, end - first, views, count * s->turns,
                         volume, slice0, n, NULL, &error);
  g_assert_no_error (error);
}

static void
make_slab (const Slabs *s, guint slice0, guint n, float *out)
{
  const TdConeTask *task = s->task;
  const gsize bytes = (gsize) n * task->ny * task->nx * sizeof (float);
  g_autoptr (GError) error = NULL;
  guint first, end;

  td_cone_rows_seen (task, slice0, n, &first, &end);
  if (first == end) { /* nothing seen: any row will do */
    first = 0;
    end = 1;
  }
  g_autoptr (TdBuffer) volume = td_buffer_new (s->device, bytes, &error);
  g_autoptr (TdBuffer) rows = td_buffer_new (
      s->device, (gsize) s->per_turn * s->turns * (end - first) * task->n_columns * sizeof (float),
      &error);
  g_assert_no_error (error);
  td_fill_zero (s->queue, volume, 0, bytes, &error);
  for (guint v = 0; v < task->n_views / s->turns; v += s->per_turn)
    add_views (s, rows, first, end, v, volume, slice0, n);
  td_download (s->queue, out, volume, 0, bytes, &error);
  td_queue_finish (s->queue, &error);
  g_assert_no_error (error);
}

void
td_test_cone_slabs (const TdConeFamily *family, TdDevice *device, const TdConeTask *task,
                    TdPrecision precision, const float *projections, guint slab, guint per_turn,
                    float *volume)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TdQueue) queue = td_queue_new (device, &error);
  const guint turns = family->turned_views (task, precision);
  const TdConeLimits limits = { per_turn * turns, task->n_rows, slab, precision };
  g_autoptr (TdConeProjector) projector
      = td_cone_projector_new (family, device, task, &limits, &error);
  g_assert_no_error (error);
  const Slabs slabs = { device, queue, projector, task, projections, turns, per_turn };

  for (guint k = 0; k < task->nz; k += slab)
    make_slab (&slabs, k, MIN (slab, task->nz - k), volume + (gsize) k * task->ny * task->nx);
}
