/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "scan-private.h"

/* Flats and darks that the options name take the place of the scan's own; for readers that do not
   see to them themselves. FALSE with @error: they cannot be read or are of another size. */
gboolean td_scan_take_companions (TdScan *scan, const TdScanOptions *options, GError **error);

/* Images may be flat-field corrected already: the scan then gets one flat of @level throughout,
   unless it has flats or its values are logarithms. */
void td_scan_take_white (TdScan *scan, double level);
