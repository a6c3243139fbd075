/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/device/device.h"

/**
 * Slices become the integers that a volume stores, on the device: half of a float's bytes, or a
 * quarter, come down and are written. The samples and the counts are bit for bit those of
 * td_samples_from_float().
 */
typedef struct {
  guint bits;       /* 16 or 8 */
  double low, high; /* the values of 0 and of the largest sample */
} TdStoredScale;

typedef struct {
  guint64 clamped; /* values outside the range */
  gboolean says;   /* some value was finite and not 0 */
} TdStoredCounts;

typedef struct TdStoredSamples TdStoredSamples;

/* Kernels compute in double precision there. */
gboolean td_stored_samples_supported (TdDevice *device);
/* Builds the kernel, which td_stored_samples_new() then finds. */
gboolean td_stored_samples_build (TdDevice *device, guint bits, GError **error);
/* For up to @max_values at once. */
TdStoredSamples *td_stored_samples_new (TdDevice *device, const TdStoredScale *scale,
                                        guint64 max_values, GError **error);
/* Host memory that td_stored_samples_fetch() wants for the counts of @max_values. */
guint64 td_stored_samples_counts_bytes (guint64 max_values);
/* Device memory that such an object takes. */
guint64 td_stored_samples_bytes (guint bits, guint64 max_values);
/* Enqueues. @values: @n floats. */
gboolean td_stored_samples_run (TdStoredSamples *self, TdQueue *queue, TdPlace values, guint64 n,
                                GError **error);
/* Enqueues the download of the samples to @samples, and of the counts to @counts. */
gboolean td_stored_samples_fetch (TdStoredSamples *self, TdQueue *queue, void *samples,
                                  guint32 *counts, GError **error);
/* Adds what was counted to @sum; the download has ended. */
void td_stored_samples_add (const TdStoredSamples *self, const guint32 *counts,
                            TdStoredCounts *sum);
void td_stored_samples_free (TdStoredSamples *self);

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
