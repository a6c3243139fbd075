/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "dataset/scan.h"

/**
 * TdFlats: the averaged flats and darks of a scan, read by rows when they are first asked for and
 * shared by all devices. Reference counted; any thread. The last rows read are kept, so that the
 * reading thread of a job can fetch them ahead of the device's.
 */
typedef struct TdFlats TdFlats;

typedef struct {
  gatomicrefcount references;
  guint row0, n_rows;
  float *flat;          /* [row][column], mean over the finite samples; NaN where there is none */
  float *dark;          /* the same; 0 without darks */
} TdFlatRows;

TdFlats *td_flats_new (TdScan *scan);
TdFlats *td_flats_ref (TdFlats *flats);
void td_flats_unref (TdFlats *flats);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdFlats, td_flats_unref)

/* Blocks on the disk the first time. (transfer full): td_flat_rows_unref(). */
TdFlatRows *td_flats_read (TdFlats *flats, guint row0, guint n_rows, GCancellable *cancellable,
                           GError **error);
void td_flat_rows_unref (TdFlatRows *rows);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdFlatRows, td_flat_rows_unref)

/* Host memory that reading and keeping @n_rows takes at most. */
guint64 td_flats_host_bytes (const TdScanFacts *facts, guint n_rows);
