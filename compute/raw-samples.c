/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "raw-samples.h"

#include "kernels/params.h"

#define MOST_SAMPLES ((guint64) 1 << 30) /* of a launch: a kernel counts them by an int */
#define GROUP 256
#define SHARE 16       /* samples of an item */
#define CPU_SHARE 4096 /* where an item is a group */

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
  const TdDeviceInfo *info = td_device_info (self->device);
  const guint items = info->cpu_shaped ? 1 : MIN (GROUP, info->max_group_size);
  const guint a_group = info->cpu_shaped ? CPU_SHARE : items * SHARE;
  const TdRawParams params = {
    .first_low = first & G_MAXUINT32,
    .first_high = first >> 32,
    .n = (int) n,
    .items = (int) items,
    .a_group = (int) a_group,
  };
  const TdArg args[]
      = { TD_ARG_BUFFER (self->samples), TD_ARG_BUFFER (values), TD_ARG_VALUE (params) };

  return td_launch (queue, self->kernel, (guint[]) { (n + a_group - 1) / a_group, 1, 1 },
                    (guint[]) { items, 1, 1 }, args, G_N_ELEMENTS (args), error);
}

gboolean
td_raw_samples_run (TdRawSamples *self, TdQueue *queue, TdBuffer *values, guint64 n, GError **error)
{
  g_assert (n * self->bytes <= self->samples->bytes && n * sizeof (float) <= values->bytes);
  for (guint64 first = 0; first < n; first += MOST_SAMPLES)
    if (!raw_samples_launch (self, queue, values, first, (guint) MIN (MOST_SAMPLES, n - first),
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
