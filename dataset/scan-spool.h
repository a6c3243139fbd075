/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "scan.h"

/**
 * A scan whose frames are read once. When the first of some rows is asked for, those rows of all
 * frames are copied into memory or into an unlinked temporary file. For scans that are wanted in
 * rows but read in whole frames (scan-view.h, TdScanFacts.rows_together), and are too large to be
 * read at once. The facts are those of the scan; rows beyond are read from it.
 */
/* Rows [row0, row0 + n_rows). @type: of the copy; if the frames turn out to hold other values than
   that, they are copied as floats. References @scan. Where the copy is in memory, its facts have no
   rows_together. (transfer full) */
TdScan *td_scan_spool_new (TdScan *scan, guint row0, guint n_rows, TdSampleType type,
                           gboolean in_memory);
/* Bytes of such a copy, with projections, flats and darks. td_scan_spool_work_bytes(): bytes of
 * host memory while the copy is made. */
guint64 td_scan_spool_bytes (const TdScanFacts *facts, guint n_rows, TdSampleType type);
guint64 td_scan_spool_work_bytes (const TdScanFacts *facts, guint n_rows);
/* The scan that is copied; NULL: @scan is no copy. */
TdScan *td_scan_spool_base (const TdScan *scan);
/* Seconds that making the copy took, since it was last freed. */
double td_scan_spool_seconds (TdScan *scan);
/* Frees the copy because nobody reads it for now. The next read makes it anew. */
void td_scan_spool_drop (TdScan *scan);
