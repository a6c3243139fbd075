/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "measured.h"

TdScan *
td_test_open_measured (const char *name, const TdScanOptions *options)
{
  const char *folder = g_getenv ("TOMODESK_SCANS");
  g_autofree char *path = folder ? g_build_filename (folder, name, NULL) : NULL;
  g_autoptr (GError) error = NULL;

  if (!path || !g_file_test (path, G_FILE_TEST_EXISTS)) {
    g_test_skip ("no scan");
    return NULL;
  }
  TdScan *scan = td_scan_open (path, options, NULL, &error);
  g_assert_no_error (error);
  return scan;
}
