/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "packed-sinograms.h"

#include <math.h>

struct TdPackedSinograms {
  TdDevice *device; /* borrowed */
  TdPackSpec spec;
  TdBackprojectParams params;
  float greatest_weight;
  guint capacity; /* table entries there is room for */
  TdKernel *pack, *greatest_kernel;
  TdPackedBuffers on; /* the device */
};

enum { GROUP = 256 };

static guint
packed_sinograms_round_up (guint n, guint multiple)
{
  return (n + multiple - 1) / multiple * multiple;
}

/* Two parts, each at most one short of a batch too long. */
static guint
table_capacity (const TdBackprojectTask *task, const TdPackSpec *spec)
{
  return packed_sinograms_round_up (task->n_views, spec->batch) + spec->batch;
}

static guint
packed_sinograms_pitch (const TdBackprojectTask *task, const TdPackSpec *spec)
{
  guint bins = task->n_columns * spec->samples;
  return spec->bins ? packed_sinograms_round_up (bins + 2 * spec->bins + 8, 16) : bins;
}

static guint64
packed_sinograms_row_bytes (const TdBackprojectTask *task, const TdPackSpec *spec)
{
  return (guint64) packed_sinograms_pitch (task, spec) * spec->planes * spec->slices
         * (spec->half ? 2 : 4);
}

guint64
td_packed_sinograms_bytes (const TdBackprojectTask *task, const TdPackSpec *spec)
{
  return table_capacity (task, spec)
             * (packed_sinograms_row_bytes (task, spec) + sizeof (TdBackprojectView)
                + 4 * sizeof (float))
         + sizeof (float);
}

static void
packed_sinograms_split (double value, int *whole, unsigned *fraction)
{
  gint64 fixed
      = llrint (CLAMP (value, -0x1p27, 0x1p27) * 0x1p32); /* beyond: nothing is seen there */
  *whole = (int) (fixed >> 32);
  *fraction = (unsigned) fixed;
}

static TdBackprojectView
table_entry (const TdBackprojectTask *task, guint view, double at, double right, double down,
             gboolean fold)
{
  TdBackprojectView entry = { .view = view, .direction = 1 };

  if (fold && right < 0) {
    at = task->n_columns - 1.0 - at;
    right = -right;
    down = -down;
    entry.direction = -1;
  }
  packed_sinograms_split (at, &entry.at_int, &entry.at_frac);
  packed_sinograms_split (right, &entry.right_int, &entry.right_frac);
  packed_sinograms_split (down, &entry.down_int, &entry.down_frac);
  entry.right = right;
  entry.down = down;
  entry.weight = task->weights ? task->weights[view] : 1;
  return entry;
}

static void
fill_up (GArray *table, guint batch)
{
  const TdBackprojectView none = { .view = -1, .direction = 1 };

  while (table->len % batch)
    g_array_append_val (table, none);
}

static GArray *
make_table (TdPackedSinograms *self, const TdBackprojectTask *task)
{
  g_autofree double *at = g_new (double, task->n_views);
  g_autofree double *right = g_new (double, task->n_views);
  g_autofree double *down = g_new (double, task->n_views);
  GArray *table = g_array_new (FALSE, FALSE, sizeof (TdBackprojectView));
  g_autoptr (GArray) falling = g_array_new (FALSE, FALSE, sizeof (TdBackprojectView));

  td_backproject_views (task, at, right, down);
  for (guint v = 0; v < task->n_views; v++) {
    TdBackprojectView entry = table_entry (task, v, at[v], right[v], down[v], self->spec.fold);
    g_array_append_val (self->spec.fold && entry.down < 0 ? falling : table, entry);
  }
  fill_up (table, self->spec.batch);
  self->params.n_first = table->len;
  fill_up (falling, self->spec.batch);
  g_array_append_vals (table, falling->data, falling->len);
  self->params.n_table = table->len;
  return table;
}

static float *
make_constants (GArray *table)
{
  float *constants = g_new (float, 4 * (gsize) table->len);

  for (guint i = 0; i < table->len; i++) {
    const TdBackprojectView *entry = &g_array_index (table, TdBackprojectView, i);
    constants[4 * i] = entry->at_int + entry->at_frac * 0x1p-32 + 0.5;
    constants[4 * i + 1] = entry->right;
    constants[4 * i + 2] = entry->down;
    constants[4 * i + 3] = i + 0.5f;
  }
  return constants;
}

gboolean
td_packed_sinograms_update (TdPackedSinograms *self, const TdBackprojectTask *task, GError **error)
{
  g_autoptr (GArray) table = make_table (self, task);
  g_autofree float *constants = make_constants (table);
  g_autoptr (TdQueue) queue = td_queue_new (self->device, error);

  g_return_val_if_fail (table->len <= self->capacity, FALSE);
  self->params.n_columns = task->n_columns;
  self->params.n_views = task->n_views;
  self->params.margin = self->spec.bins ? self->spec.bins + 4 : 0;
  self->params.pitch = packed_sinograms_pitch (task, &self->spec);
  self->params.nx = task->nx;
  self->params.ny = task->ny;
  self->params.bias = TD_BACKPROJECT_BIAS;
  self->params.scale = task->scale;
  self->greatest_weight = 0;
  for (guint v = 0; v < task->n_views; v++)
    self->greatest_weight
        = MAX (self->greatest_weight, task->weights ? fabs (task->weights[v]) : 1);
  return queue
         && td_upload (queue, self->on.views, 0, table->data,
                       table->len * sizeof (TdBackprojectView), error)
         && td_upload (queue, self->on.constants, 0, constants, table->len * 4 * sizeof (float),
                       error)
         && td_queue_finish (queue, error);
}

static gboolean
packed_sinograms_build (TdPackedSinograms *self, const TdBackprojectTask *task, GError **error)
{
  const TdPackSpec *spec = &self->spec;
  g_auto (GStrv) words = td_defines ("TD_SLICES=%u TD_PLANES=%u TD_SAMPLES=%u TD_HALF=%d "
                                     "TD_SCALED=%d TD_PAIRS=%d TD_SPLIT=%d TD_RUN=0",
                                     spec->slices, spec->planes, spec->samples, spec->half,
                                     spec->scaled, spec->pairs, spec->split);
  const char *const *defines = (const char *const *) words, *source = "backproject-pack";
  TdDevice *device = self->device;

  return (self->pack = td_device_kernel (device, source, defines, "td_backproject_pack", error))
         && (self->greatest_kernel
             = td_device_kernel (device, source, defines, "td_backproject_greatest", error))
         && (self->on.rows = td_buffer_new (
                 device, self->capacity * packed_sinograms_row_bytes (task, spec), error))
         && (self->on.views
             = td_buffer_new (device, self->capacity * sizeof (TdBackprojectView), error))
         && (self->on.constants
             = td_buffer_new (device, self->capacity * 4 * sizeof (float), error))
         && (self->on.greatest = td_buffer_new (device, sizeof (float), error));
}

TdPackedSinograms *
td_packed_sinograms_new (TdDevice *device, const TdBackprojectTask *task, const TdPackSpec *spec,
                         GError **error)
{
  TdPackedSinograms *self = g_new0 (TdPackedSinograms, 1);

  self->device = device;
  self->spec = *spec;
  self->capacity = table_capacity (task, spec);
  if (packed_sinograms_build (self, task, error) && td_packed_sinograms_update (self, task, error))
    return self;
  td_packed_sinograms_free (self);
  return NULL;
}

void
td_packed_sinograms_free (TdPackedSinograms *self)
{
  if (!self)
    return;
  td_buffer_free (self->on.rows);
  td_buffer_free (self->on.views);
  td_buffer_free (self->on.constants);
  td_buffer_free (self->on.greatest);
  g_free (self);
}

gboolean
td_packed_sinograms_measure (TdPackedSinograms *self, TdQueue *queue, TdPlace sinograms,
                             guint n_slices, GError **error)
{
  const guint local[3] = { GROUP, 1, 1 };
  gint64 count = (gint64) n_slices * self->params.n_views * self->params.n_columns;
  const guint groups[3] = { CLAMP (count / (4 * GROUP), 1, 1024), 1, 1 };

  return !self->spec.scaled
         || (td_fill_zero (queue, self->on.greatest, 0, sizeof (float), error)
             && td_launch (queue, self->greatest_kernel, groups, local,
                           TD_ARGS (sinograms.buffer, sinograms.offset / sizeof (float), count,
                                    self->greatest_weight, self->on.greatest),
                           error));
}

gboolean
td_packed_sinograms_pack (TdPackedSinograms *self, TdQueue *queue, TdPlace sinograms, guint slice0,
                          guint n_slices, GError **error)
{
  const guint local[3] = { GROUP, 1, 1 };
  const guint groups[3] = { (self->params.pitch + GROUP - 1) / GROUP, self->params.n_table, 1 };

  return td_launch (queue, self->pack, groups, local,
                    TD_ARGS (sinograms.buffer, sinograms.offset / sizeof (float), self->on.views,
                             td_packed_sinograms_params (self, n_slices), slice0, self->on.greatest,
                             self->on.rows),
                    error);
}

const TdPackedBuffers *
td_packed_sinograms_buffers (TdPackedSinograms *self)
{
  return &self->on;
}

TdBackprojectParams
td_packed_sinograms_params (TdPackedSinograms *self, guint n_slices)
{
  TdBackprojectParams params = self->params;

  params.n_slices = n_slices;
  return params;
}
