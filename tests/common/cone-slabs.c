/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cone-slabs.h"

#include "devices.h"

#include <math.h>
#include <string.h>

typedef struct {
  const TdTestConeSlabs *how;
  TdQueue *queue;
  TdConeProjector *projector;
  const TdConeTask *task;
  const float *projections;
} Slabs;

/* Views from @v on of each of the parts of a turn that come together. */
static void
add_views (const Slabs *s, TdBuffer *projections, TdRowRange rows, guint v, const TdConeSlab *slab)
{
  const TdConeTask *task = s->task;
  const gsize view_floats = (gsize) rows.count * task->n_columns;
  const guint parts = s->projector->symmetric_views, a_part = task->n_views / parts;
  const guint count = MIN (s->how->per_turn, a_part - v);
  g_autofree guint *views = g_new (guint, count * parts);
  const TdConeBatch batch = { projections, rows, views, count * parts };
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < batch.n_views; i++) {
    views[i] = v + i % count + i / count * a_part;
    td_upload (s->queue, projections, i * view_floats * sizeof (float),
               s->projections + ((gsize) views[i] * task->n_rows + rows.first) * task->n_columns,
               view_floats * sizeof (float), &error);
  }
  g_assert_no_error (error);
  td_cone_projector_add (s->projector, s->queue, &batch, slab, NULL, &error);
  g_assert_no_error (error);
}

static void
make_slab (const Slabs *s, guint slice0, guint n, float *out)
{
  const TdConeTask *task = s->task;
  const guint parts = s->projector->symmetric_views;
  const gsize bytes = (gsize) n * task->ny * task->nx * sizeof (float);
  g_autoptr (GError) error = NULL;
  guint first, end;

  td_cone_rows_seen (task, slice0, n, &first, &end);
  if (first == end) { /* nothing seen: any row will do */
    first = 0;
    end = 1;
  }
  const TdRowRange rows = { first, end - first };
  g_autoptr (TdBuffer) volume = td_buffer_new (s->how->device, bytes, &error);
  g_autoptr (TdBuffer) projections = td_buffer_new (
      s->how->device,
      (gsize) s->how->per_turn * parts * rows.count * task->n_columns * sizeof (float), &error);
  const TdConeSlab slab = { volume, slice0, n };
  g_assert_no_error (error);
  td_fill_zero (s->queue, volume, 0, bytes, &error);
  for (guint v = 0; v < task->n_views / parts; v += s->how->per_turn)
    add_views (s, projections, rows, v, &slab);
  td_download (s->queue, out, volume, 0, bytes, &error);
  td_queue_finish (s->queue, &error);
  g_assert_no_error (error);
}

void
td_test_cone_slabs (const TdTestConeSlabs *how, const TdConeTask *task, const float *projections,
                    float *volume)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TdQueue) queue = td_queue_new (how->device, &error);

  td_test_guard (how->device);
  const guint parts = how->family->symmetric_views (task, how->precision);
  const TdConeLimits limits
      = { how->per_turn * parts, task->n_rows, how->slab, how->precision, how->half_scale };
  const guint64 before = td_test_allocated (how->device);
  TdConeProjector *projector
      = td_cone_projector_new (how->family, how->device, task, &limits, &error);
  g_assert_no_error (error);
  const Slabs slabs = { how, queue, projector, task, projections };

  for (guint k = 0; k < task->nz; k += how->slab)
    make_slab (&slabs, k, MIN (how->slab, task->nz - k), volume + (gsize) k * task->ny * task->nx);
  /* Whether rows are padded is the projector's choice: plans take it that they are. */
  td_test_workspace (how->device, before,
                     how->family->workspace_bytes (task, &limits, td_device_info (how->device)),
                     INFINITY);
  td_cone_projector_free (projector);
  g_assert_cmpuint (td_test_allocated (how->device), ==, before);
}

gboolean
td_test_cone_exact (const char *family, TdPrecision precision, const TdDeviceInfo *device)
{
  const gboolean filtered = !device->host_pointers && strcmp (family, "arithmetic") != 0
                            && device->texture_linear && !device->texture_slow;

  return precision == TD_PRECISION_SINGLE && !filtered;
}
