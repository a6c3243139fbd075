/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "dataset/scan.h"

/* td_scan_read_sinograms() of all views of rows [row0, row0 + n): @out is [row][view][column]. What
   lies in memory is copied by all of the host's threads: one is slower than a graphics card takes
   it. */
gboolean td_scan_rows (TdScan *scan, guint row0, guint n, float *out, GCancellable *cancellable,
                       GError **error);
