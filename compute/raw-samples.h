/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/device/device.h"

/**
 * Rows go up as the scan's files store them, as integers of 16 or 8 bits, and become floats on the
 * device.
 */
typedef struct TdRawSamples TdRawSamples;

/* For up to @max_samples at once, of @bytes each, 2 or 1. */
TdRawSamples *td_raw_samples_new (TdDevice *device, guint bytes, guint64 max_samples,
                                  GError **error);
/* Where the samples are uploaded to. */
TdBuffer *td_raw_samples_buffer (TdRawSamples *self);
/* Enqueues: the first @n of them become the first floats of @values. */
gboolean td_raw_samples_run (TdRawSamples *self, TdQueue *queue, TdBuffer *values, guint64 n,
                             GError **error);
void td_raw_samples_free (TdRawSamples *self);
