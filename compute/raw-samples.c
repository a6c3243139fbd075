/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "raw-samples.h"

#include "kernels/params.h"
#include "value-groups.h"

struct TdRawSamples {
  TdDevice *device;
  guint bytes; /* of a sample */
  TdBuffer *samples;
  TdProgram *program;
  TdKernel *kernel;
};

TdRawSamples *
td_raw_samples_new (TdDevice *device, guint bytes, guint64 max_samples, GError **error)
{
  const char *const defines[] = { "TD_RAW_BYTES=1", NULL };
  TdRawSamples *self = g_new0 (TdRawSamples, 1);

  self->device = td_device_ref (device);
  self->bytes = bytes;
  self->program = td_program_build (device, "raw-samples", bytes == 1 ? defines : NULL, error);
  if (self->program && (self->kernel = td_program_kernel (self->program, "raw_samples", error))
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
  const TdValueGroups groups = td_value_groups (td_device_info (self->device), n);
  const TdRawParams params = {
    .first_low = first & G_MAXUINT32,
    .first_high = first >> 32,
    .n = (int) n,
    .items = (int) groups.items,
    .a_group = (int) groups.a_group,
  };
  const TdArg args[]
      = { TD_ARG_BUFFER (self->samples), TD_ARG_BUFFER (values), TD_ARG_VALUE (params) };

  return td_launch (queue, self->kernel, (guint[]) { groups.groups, 1, 1 },
                    (guint[]) { groups.items, 1, 1 }, args, G_N_ELEMENTS (args), error);
}

gboolean
td_raw_samples_run (TdRawSamples *self, TdQueue *queue, TdBuffer *values, guint64 n, GError **error)
{
  g_assert (n * self->bytes <= self->samples->bytes && n * sizeof (float) <= values->bytes);
  for (guint64 first = 0; first < n; first += TD_VALUES_MOST)
    if (!raw_samples_launch (self, queue, values, first, (guint) MIN (TD_VALUES_MOST, n - first),
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
  td_program_free (self->program);
  td_device_unref (self->device);
  g_free (self);
}
