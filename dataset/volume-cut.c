/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "volume-cut.h"

#include <math.h>
#include <string.h>

#include "error.h"

/* Read at once where only columns are kept. */
#define PIECE_BYTES ((gsize) 32 << 20)

TdCutSize
td_volume_cut_size (const TdVolumeFacts *facts, TdVolumeAxis axis)
{
  switch (axis) {
  case TD_AXIS_X: return (TdCutSize) { facts->ny, facts->n_slices, facts->nx };
  case TD_AXIS_Y: return (TdCutSize) { facts->nx, facts->n_slices, facts->ny };
  case TD_AXIS_Z: break;
  }
  return (TdCutSize) { facts->nx, facts->ny, facts->n_slices };
}

/* Where the samples of a piece of slices go; its rows are [slice][row][x]. */
static void
keep_columns (const TdVolumeFacts *facts, const TdCutRange *cuts, guint slice, guint count,
              const float *piece, float *out)
{
  const gsize plane = (gsize) facts->ny * facts->n_slices;

  for (gsize row = 0; row < (gsize) count * facts->ny; row++) {
    const float *from = piece + row * facts->nx + cuts->first;
    float *to = out + (gsize) slice * facts->ny + row;

    for (guint i = 0; i < cuts->count; i++)
      to[i * plane] = from[i];
  }
}

static void
volume_cut_keep_rows (const TdVolumeFacts *facts, const TdCutRange *cuts, guint slice, guint count,
                      const float *piece, float *out)
{
  const gsize nx = facts->nx, plane = nx * facts->n_slices;

  for (gsize s = 0; s < count; s++)
    for (gsize i = 0; i < cuts->count; i++)
      memcpy (out + i * plane + (slice + s) * nx, piece + (s * cuts->count + i) * nx,
              nx * sizeof *out);
}

/* Planes across x or y: slices pass through memory, a piece of them at a time. */
static gboolean
read_planes (TdVolume *volume, const TdCutRange *cuts, float *out, TdVolumeProgress progress,
             gpointer user, GCancellable *cancellable, GError **error)
{
  const TdVolumeFacts *facts = td_volume_facts (volume);
  const gboolean across_x = cuts->axis == TD_AXIS_X;
  TdFrameRange part
      = { .row0 = across_x ? 0 : cuts->first, .n_rows = across_x ? facts->ny : cuts->count };
  const gsize bytes = (gsize) part.n_rows * facts->nx * sizeof (float);
  const guint most = (guint) CLAMP (PIECE_BYTES / bytes, 1, facts->n_slices);
  g_autofree float *piece = g_try_malloc (most * bytes);

  if (!piece)
    return td_set_error (error, TD_ERROR_TOO_LARGE, "A slice of “%s” does not fit into memory",
                         facts->path);
  for (part.first = 0; part.first < facts->n_slices; part.first += part.count) {
    part.count = MIN (most, facts->n_slices - part.first);
    if (g_cancellable_set_error_if_cancelled (cancellable, error)
        || !td_volume_read_part (volume, &part, piece, cancellable, error))
      return FALSE;
    (across_x ? keep_columns : volume_cut_keep_rows) (facts, cuts, part.first, part.count, piece,
                                                      out);
    if (progress)
      progress ((double) (part.first + part.count) / facts->n_slices, user);
  }
  return TRUE;
}

gboolean
td_volume_read_cuts (TdVolume *volume, const TdCutRange *cuts, float *out,
                     TdVolumeProgress progress, gpointer user, GCancellable *cancellable,
                     GError **error)
{
  const TdVolumeFacts *facts = td_volume_facts (volume);
  const guint n = td_volume_cut_size (facts, cuts->axis).count;

  if (cuts->first >= n || cuts->count > n - cuts->first)
    return td_set_error (error, TD_ERROR_INVALID,
                         "“%s” has %u planes across %c; number %u was asked for", facts->path, n,
                         "xyz"[cuts->axis], cuts -> first + MAX (cuts->count, 1) - 1);
  if (cuts->count == 0)
    return TRUE;
  if (cuts->axis != TD_AXIS_Z)
    return read_planes (volume, cuts, out, progress, user, cancellable, error);
  const TdFrameRange slices = { .first = cuts->first, .count = cuts->count, .n_rows = facts->ny };
  return td_volume_read_part (volume, &slices, out, cancellable, error);
}

/* Moments of the samples, then joined with those of the samples before: Chan, Golub and LeVeque,
   Algorithms for computing the sample variance, Am. Stat. 37 (1983), Eq. 2.1. */
void
td_volume_statistics_add (TdVolumeStatistics *statistics, const float *values, gsize n)
{
  double sum = 0, squares = 0, low = INFINITY, high = -INFINITY;
  guint64 count = 0;

  for (gsize i = 0; i < n; i++)
    if (isfinite (values[i])) {
      sum += values[i];
      low = fmin (low, values[i]);
      high = fmax (high, values[i]);
      count++;
    }
  statistics->n_bad += n - count;
  if (count == 0)
    return;
  const double mean = sum / count;
  for (gsize i = 0; i < n; i++)
    if (isfinite (values[i]))
      squares += (values[i] - mean) * (values[i] - mean);
  const double before = statistics->n, all = before + count, step = mean - statistics->mean;
  const double kept = before > 1 ? statistics->deviation * statistics->deviation * (before - 1) : 0;
  const double total = kept + squares + (before > 0 ? step * step * before * count / all : 0);

  statistics->minimum = before > 0 ? fmin (statistics->minimum, low) : low;
  statistics->maximum = before > 0 ? fmax (statistics->maximum, high) : high;
  statistics->mean = before > 0 ? statistics->mean + step * count / all : mean;
  statistics->n += count;
  statistics->deviation = all > 1 ? sqrt (total / (all - 1)) : 0;
}
