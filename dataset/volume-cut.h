/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "volume.h"

/**
 * Cuts through a volume across any of its axes. Across z they are its slices, [y][x]; across y
 * planes [slice][x]; across x planes [slice][y]. A cut's first row is the first slice.
 */
typedef enum { TD_AXIS_X, TD_AXIS_Y, TD_AXIS_Z } TdVolumeAxis;

typedef struct {
  guint width, height; /* of a cut */
  guint count;         /* how many there are along the axis */
} TdCutSize;

/* Called off the main thread, by the one that reads; @fraction: 0 … 1. */
typedef void (*TdVolumeProgress) (double fraction, gpointer user);

/* @axis: as TD_AXIS_X + i, i the index of its name in "xyz". */
TdCutSize td_volume_cut_size (const TdVolumeFacts *facts, TdVolumeAxis axis);
/**
 * td_volume_read_cuts:
 * @axis, @first, @count: which; @out: [cut][height][width].
 *
 * Memory besides @out is a few megabytes. Planes across y read their rows only. Planes across x
 * read the whole volume, whatever @count is, so ask for neighbours at once. Any thread.
 */
typedef struct {
  TdVolumeAxis axis;
  guint first, count;
} TdCutRange;

gboolean td_volume_read_cuts (TdVolume *volume, const TdCutRange *cuts, float *out,
                              TdVolumeProgress progress, gpointer user, GCancellable *cancellable,
                              GError **error);

/* Figures of the finite samples of a volume. */
typedef struct {
  guint64 n, n_bad; /* finite; NaN or infinite */
  double mean, deviation, minimum, maximum;
} TdVolumeStatistics;

/* Adds @n samples; begin with zeros. In double precision, about the first value (Chan et al.). */
void td_volume_statistics_add (TdVolumeStatistics *statistics, const float *values, gsize n);
