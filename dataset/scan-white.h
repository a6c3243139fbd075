/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "scan.h"

/* For images that are flat-field corrected already: one flat of @level throughout, where @scan has
   none and its values are not logarithms. */
void td_scan_take_white (TdScan *scan, double level);
