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
