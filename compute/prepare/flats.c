/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "flats.h"

#include <math.h>
#include <string.h>

/* Ranges kept: a job's reading thread is at most a few slabs ahead of the last device. */
#define N_KEPT 8
/* Frames are read in portions of about this size. */
#define PORTION_BYTES (8u << 20)

struct TdFlats {
  gatomicrefcount references;
  TdScan *scan;
  GMutex lock; /* also keeps two threads from reading the same rows */
  TdFlatRows *kept[N_KEPT]; /* newest first */
};

TdFlats *
td_flats_new (TdScan *scan)
{
  TdFlats *flats = g_new0 (TdFlats, 1);

  g_atomic_ref_count_init (&flats->references);
  flats->scan = td_scan_ref (scan);
  g_mutex_init (&flats->lock);
  return flats;
}

TdFlats *
td_flats_ref (TdFlats *flats)
{
  g_atomic_ref_count_inc (&flats->references);
  return flats;
}

void
td_flats_unref (TdFlats *flats)
{
  if (!flats || !g_atomic_ref_count_dec (&flats->references))
    return;
  for (guint i = 0; i < N_KEPT; i++)
    td_flat_rows_unref (flats->kept[i]);
  td_scan_unref (flats->scan);
  g_mutex_clear (&flats->lock);
  g_free (flats);
}

void
td_flat_rows_unref (TdFlatRows *rows)
{
  if (!rows || !g_atomic_ref_count_dec (&rows->references))
    return;
  g_free (rows->flat);
  g_free (rows->dark);
  g_free (rows);
}

static guint
frames_in_portion (const TdScanFacts *facts, guint n_rows, guint n_frames)
{
  guint64 frame_bytes = (guint64) n_rows * facts->n_columns * sizeof (float);
  return (guint) CLAMP (PORTION_BYTES / MAX (frame_bytes, 1), 1, MAX (n_frames, 1));
}

guint64
td_flats_host_bytes (const TdScanFacts *facts, guint n_rows)
{
  guint64 pixels = (guint64) n_rows * facts->n_columns;
  guint n_frames = MAX (facts->n_flats, facts->n_darks);
  guint64 portion = pixels * sizeof (float) * frames_in_portion (facts, n_rows, n_frames);
  guint64 kept = N_KEPT * 2 * pixels * sizeof (float);

  return portion + pixels * (sizeof (double) + sizeof (guint)) + kept;
}

/* Mean over the finite samples of each pixel, NaN where there is none. */
static float *
read_mean (TdFlats *flats, TdFrameKind kind, guint n_frames, guint row0, guint n_rows,
           GCancellable *cancellable, GError **error)
{
  const TdScanFacts *facts = td_scan_facts (flats->scan);
  gsize pixels = (gsize) n_rows * facts->n_columns;
  guint portion = frames_in_portion (facts, n_rows, n_frames);
  g_autofree double *sum = g_new0 (double, pixels);
  g_autofree guint *count = g_new0 (guint, pixels);
  g_autofree float *frames = g_new (float, pixels * portion);

  for (guint first = 0; first < n_frames; first += portion) {
    guint n = MIN (portion, n_frames - first);
    if (!td_scan_read (flats->scan, kind, first, n, row0, n_rows, frames, cancellable, error))
      return NULL;
    for (guint f = 0; f < n; f++)
      for (gsize i = 0; i < pixels; i++) {
        float value = frames[f * pixels + i];
        if (isfinite (value)) {
          sum[i] += value;
          count[i]++;
        }
      }
  }

  float *mean = g_new (float, pixels);
  for (gsize i = 0; i < pixels; i++)
    mean[i] = count[i] ? (float) (sum[i] / count[i]) : NAN;
  return mean;
}

static TdFlatRows *
read_rows (TdFlats *flats, guint row0, guint n_rows, GCancellable *cancellable, GError **error)
{
  const TdScanFacts *facts = td_scan_facts (flats->scan);
  g_autoptr (TdFlatRows) rows = g_new0 (TdFlatRows, 1);
  gsize pixels = (gsize) n_rows * facts->n_columns;

  g_atomic_ref_count_init (&rows->references);
  rows->row0 = row0;
  rows->n_rows = n_rows;
  rows->flat = read_mean (flats, TD_FRAME_FLAT, facts->n_flats, row0, n_rows, cancellable,
                          error);
  if (!rows->flat)
    return NULL;
  rows->dark = read_mean (flats, TD_FRAME_DARK, facts->n_darks, row0, n_rows, cancellable,
                          error);
  if (!rows->dark)
    return NULL;
  for (gsize i = 0; i < pixels; i++)
    if (isnan (rows->dark[i]))
      rows->dark[i] = 0;
  return g_steal_pointer (&rows);
}

TdFlatRows *
td_flats_read (TdFlats *flats, guint row0, guint n_rows, GCancellable *cancellable, GError **error)
{
  TdFlatRows *rows = NULL;

  g_mutex_lock (&flats->lock);
  for (guint i = 0; i < N_KEPT && !rows; i++)
    if (flats->kept[i] && flats->kept[i]->row0 == row0 && flats->kept[i]->n_rows == n_rows)
      rows = flats->kept[i];
  if (!rows) {
    rows = read_rows (flats, row0, n_rows, cancellable, error);
    if (rows) {
      td_flat_rows_unref (flats->kept[N_KEPT - 1]);
      memmove (&flats->kept[1], &flats->kept[0], (N_KEPT - 1) * sizeof flats->kept[0]);
      flats->kept[0] = rows;
    }
  }
  if (rows)
    g_atomic_ref_count_inc (&rows->references);
  g_mutex_unlock (&flats->lock);
  return rows;
}
