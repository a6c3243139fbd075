/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "scan.h"

/* What the scan's samples are: as the user states it; else as the file does; else floats without
   flats are looked at, in one view or one row: they may be -log of the transmission already. A note
   says what was concluded. For td_scan_open(). */
gboolean td_scan_take_values (TdScan *scan, TdScanValues stated, GCancellable *cancellable,
                              GError **error);
