/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "dataset/scan.h"
#include "tests/common/pin-scan.h"

/* A scan that opens. */
static inline TdScan *
open_scan (const char *path, const TdScanOptions *options)
{
  g_autoptr (GError) error = NULL;
  TdScan *scan = td_scan_open (path, options, NULL, &error);

  g_assert_no_error (error);
  td_test_pin_scan (scan);
  return scan;
}

/* The first sample of a frame. */
static inline float
first_value (TdScan *scan, TdFrameKind kind, guint number)
{
  g_autofree float *row = g_new (float, td_scan_facts (scan)->n_columns);
  g_autoptr (GError) error = NULL;

  td_scan_read (scan, &(TdFrameRange) { kind, number, 1, 0, 1 }, row, NULL, &error);
  g_assert_no_error (error);
  return row[0];
}

/* Samples as they are stored are the floats that the scan gives. FALSE: it gives no samples. */
static inline gboolean
check_stored (TdScan *scan, const TdFrameRange *range)
{
  const gsize n = (gsize) range->count * range->n_rows * td_scan_facts (scan)->n_columns;
  g_autofree float *floats = g_new (float, n);
  g_autofree guint16 *wide = g_new (guint16, n);
  const guint8 *narrow = (const guint8 *) wide;
  g_autoptr (GError) error = NULL;

  if (!td_scan_has_stored (scan))
    return FALSE;
  td_scan_read_sinograms (scan, range, floats, NULL, &error);
  g_assert_no_error (error);
  td_scan_read_stored (scan, range, wide, NULL, &error);
  g_assert_no_error (error);
  for (gsize i = 0; i < n; i++)
    g_assert_cmpfloat (floats[i], ==,
                       td_scan_facts (scan)->sample_type == TD_SAMPLE_UINT16 ? wide[i] : narrow[i]);
  return TRUE;
}

/* Rows that have room for other views beside these come to their places, and nothing is written
   between them. */
static inline void
check_rows_apart (TdScan *scan, const TdFrameRange *range)
{
  const guint n_columns = td_scan_facts (scan)->n_columns, beside = 3;
  const gsize line = (gsize) range->count * n_columns, apart = line + (gsize) beside * n_columns;
  g_autofree float *whole = g_new (float, line * range->n_rows);
  g_autofree float *spread = g_new (float, apart * range->n_rows);
  TdFrameRange wide = *range;
  g_autoptr (GError) error = NULL;

  wide.row_frames = range->count + beside;
  for (gsize i = 0; i < apart * range->n_rows; i++)
    spread[i] = -77;
  td_scan_read_sinograms (scan, range, whole, NULL, &error);
  g_assert_no_error (error);
  td_scan_read_sinograms (scan, &wide, spread, NULL, &error);
  g_assert_no_error (error);
  for (gsize row = 0; row < range->n_rows; row++) {
    g_assert_cmpmem (spread + row * apart, line * sizeof *whole, whole + row * line,
                     line * sizeof *whole);
    for (gsize i = line; i < apart && row + 1 < range->n_rows; i++)
      g_assert_cmpfloat (spread[row * apart + i], ==, -77);
  }
}
