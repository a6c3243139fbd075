/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "scan-private.h"

/* Flats and darks that the options name replace the scan's own. Readers call this that do not open
   such files themselves. FALSE with @error: they cannot be read or are of another size. */
gboolean td_scan_take_companions (TdScan *scan, const TdScanOptions *options, GError **error);

/* Whether what the user names for them, which may be "FILE::DATASET", is HDF5. */
gboolean td_scan_companions_in_hdf5 (const char *stated);

/* For images that are flat-field corrected already. The scan gets one flat of @level throughout,
   unless it has flats or its values are logarithms. FALSE: @source states more than its images can
   count. */
gboolean td_scan_take_white (TdScan *scan, double level, const char *source, GError **error);
