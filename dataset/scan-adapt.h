/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "scan.h"

/* Between a scan's source and its readers: @mirrored turns every row round, so that images show the
   detector as seen from the source; @white_level above 0 becomes the only flat, where there is none and
   the values are not logarithms. Either may be off. */
void td_scan_adapt (TdScan *scan, gboolean mirrored, double white_level);
