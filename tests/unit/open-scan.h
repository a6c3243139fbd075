/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "dataset/scan.h"

/* A scan that opens. */
static inline TdScan *
open_scan (const char *path, const TdScanOptions *options)
{
  g_autoptr (GError) error = NULL;
  TdScan *scan = td_scan_open (path, options, NULL, &error);

  g_assert_no_error (error);
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
