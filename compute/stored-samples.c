/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "stored-samples.h"

#include "kernels/params.h"
#include "portion.h"

/* How kernels that take values one by one, whatever they mean, share them out: a group's items take
   values beside each other (kernels/raw-samples.cl, kernels/stored-samples.cl). */

#define VALUES_MOST td_portion ((guint64) 1 << 30) /* of a launch: kernels count them by ints */

typedef struct {
  guint items;   /* of a group */
  guint a_group; /* values that a group takes */
  guint groups;
} Groups;

static Groups
stored_samples_groups (const TdDeviceInfo *info, guint n)
{
  /* Where an item is a group, it takes as much as keeps a processor's vectors busy. */
  const guint items = info->cpu_shaped ? 1 : MIN (256, info->max_group_size);
  const guint a_group = info->cpu_shaped ? 4096 : items * 16;

  return (Groups) { items, a_group, (n + a_group - 1) / a_group };
}

/* ── Slices ── */

struct TdStoredSamples {
  TdDevice *device;
  TdStoredScale scale;
  guint64 max_values, n; /* n: of the last run */
  TdBuffer *samples, *counts;
  TdKernel *kernel;
};

gboolean
td_stored_samples_supported (TdDevice *device)
{
  const TdDeviceInfo *info = td_device_info (device);

  return info->double_arithmetic && !info->host_pointers;
}

static guint
stored_samples_launches (guint64 n)
{
  return (guint) ((n + VALUES_MOST - 1) / VALUES_MOST);
}

guint64
td_stored_samples_counts_bytes (guint64 max_values)
{
  return 2 * sizeof (guint32) * stored_samples_launches (max_values);
}

guint64
td_stored_samples_bytes (guint bits, guint64 max_values)
{
  return max_values * (bits / 8) + td_stored_samples_counts_bytes (max_values);
}

static TdKernel *
stored_samples_kernel (TdDevice *device, guint bits, GError **error)
{
  const char *const bytes[] = { "TD_STORED_BYTES=1", NULL };

  return td_device_kernel (device, "stored-samples", bits == 8 ? bytes : NULL, "stored_samples",
                           error);
}

gboolean
td_stored_samples_build (TdDevice *device, guint bits, GError **error)
{
  return stored_samples_kernel (device, bits, error) != NULL;
}

TdStoredSamples *
td_stored_samples_new (TdDevice *device, const TdStoredScale *scale, guint64 max_values,
                       GError **error)
{
  TdStoredSamples *self = g_new0 (TdStoredSamples, 1);

  self->device = td_device_ref (device);
  self->scale = *scale;
  self->max_values = max_values;
  if ((self->kernel = stored_samples_kernel (device, scale->bits, error))
      && (self->samples = td_buffer_new (device, max_values * (scale->bits / 8), error))
      && (self->counts
          = td_buffer_new (device, td_stored_samples_counts_bytes (max_values), error)))
    return self;
  td_stored_samples_free (self);
  return NULL;
}

/* @n values from @first on, of those that begin at element @from of @values. */
static gboolean
stored_samples_launch (TdStoredSamples *self, TdQueue *queue, TdBuffer *values, guint64 from,
                       guint64 first, guint n, GError **error)
{
  const Groups groups = stored_samples_groups (td_device_info (self->device), n);
  const double largest = self->scale.bits == 16 ? 65535 : 255;
  const double low = self->scale.low, gain = largest / (self->scale.high - self->scale.low);
  const TdStoredParams params = {
    .from_low = from & G_MAXUINT32,
    .from_high = from >> 32,
    .first_low = first & G_MAXUINT32,
    .first_high = first >> 32,
    .n = (int) n,
    .counter = (int) (2 * (first / VALUES_MOST)),
    .items = (int) groups.items,
    .a_group = (int) groups.a_group,
  };

  return td_launch (queue, self->kernel, (guint[]) { groups.groups, 1, 1 },
                    (guint[]) { groups.items, 1, 1 },
                    TD_ARGS (values, self->samples, self->counts, params, low, gain, largest,
                             (TdLocal) { 2 * sizeof (int) }),
                    error);
}

gboolean
td_stored_samples_run (TdStoredSamples *self, TdQueue *queue, TdPlace values, guint64 n,
                       GError **error)
{
  const guint64 from = values.offset / sizeof (float);

  g_assert (n <= self->max_values && values.offset % sizeof (float) == 0
            && values.offset + n * sizeof (float) <= values.buffer->bytes);
  self->n = n;
  if (!td_fill_zero (queue, self->counts, 0, self->counts->bytes, error))
    return FALSE;
  for (guint64 first = 0; first < n; first += VALUES_MOST)
    if (!stored_samples_launch (self, queue, values.buffer, from, first,
                                (guint) MIN (VALUES_MOST, n - first), error))
      return FALSE;
  return TRUE;
}

gboolean
td_stored_samples_fetch (TdStoredSamples *self, TdQueue *queue, void *samples, guint32 *counts,
                         GError **error)
{
  return td_download (queue, samples, self->samples, 0, self->n * (self->scale.bits / 8), error)
         && td_download (queue, counts, self->counts, 0, self->counts->bytes, error);
}

void
td_stored_samples_add (const TdStoredSamples *self, const guint32 *counts, TdStoredCounts *sum)
{
  for (guint i = 0; i < stored_samples_launches (self->n); i++) {
    sum->clamped += counts[2 * i];
    sum->says = sum->says || counts[2 * i + 1] != 0;
  }
}

void
td_stored_samples_free (TdStoredSamples *self)
{
  if (!self)
    return;
  td_buffer_free (self->samples);
  td_buffer_free (self->counts);
  td_device_unref (self->device);
  g_free (self);
}

/* ── Rows ── */

struct TdRawSamples {
  TdDevice *device;
  guint bytes; /* of a sample */
  TdBuffer *samples;
  TdKernel *kernel;
};

TdRawSamples *
td_raw_samples_new (TdDevice *device, guint bytes, guint64 max_samples, GError **error)
{
  const char *const defines[] = { "TD_RAW_BYTES=1", NULL };
  TdRawSamples *self = g_new0 (TdRawSamples, 1);

  self->device = td_device_ref (device);
  self->bytes = bytes;
  if ((self->kernel = td_device_kernel (device, "raw-samples", bytes == 1 ? defines : NULL,
                                        "raw_samples", error))
      && (self->samples = td_buffer_new (device, max_samples * bytes, error)))
    return self;
  td_raw_samples_free (self);
  return NULL;
}

TdBuffer *
td_raw_samples_buffer (TdRawSamples *self)
{
  return self->samples;
}

/* @n samples from @first on. */
static gboolean
raw_samples_launch (TdRawSamples *self, TdQueue *queue, TdBuffer *values, guint64 first, guint n,
                    GError **error)
{
  const Groups groups = stored_samples_groups (td_device_info (self->device), n);
  const TdRawParams params = {
    .first_low = first & G_MAXUINT32,
    .first_high = first >> 32,
    .n = (int) n,
    .items = (int) groups.items,
    .a_group = (int) groups.a_group,
  };

  return td_launch (queue, self->kernel, (guint[]) { groups.groups, 1, 1 },
                    (guint[]) { groups.items, 1, 1 }, TD_ARGS (self->samples, values, params),
                    error);
}

gboolean
td_raw_samples_run (TdRawSamples *self, TdQueue *queue, TdBuffer *values, guint64 n, GError **error)
{
  g_assert (n * self->bytes <= self->samples->bytes && n * sizeof (float) <= values->bytes);
  for (guint64 first = 0; first < n; first += VALUES_MOST)
    if (!raw_samples_launch (self, queue, values, first, (guint) MIN (VALUES_MOST, n - first),
                             error))
      return FALSE;
  return TRUE;
}

void
td_raw_samples_free (TdRawSamples *self)
{
  if (!self)
    return;
  td_buffer_free (self->samples);
  td_device_unref (self->device);
  g_free (self);
}
