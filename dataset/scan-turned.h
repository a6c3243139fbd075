/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "scan.h"

/**
 * A scan whose frames are turned by a quarter to the left: the last column becomes the first row,
 * and rows become columns. For detectors that lie on their side, whose columns run along the rows
 * of what is reconstructed. The facts (sizes, pixels, bad pixels, cone-beam geometry) are those of
 * the turned frames. A column of the axis that was stated is a row now, and is dropped.
 *
 * Every read takes whole frames, however few of their columns it wants: read many at once.
 */
/* References @scan. (transfer full): NULL with @error set if the turned frames are no scan. */
TdScan *td_scan_turned_new (TdScan *scan, GError **error);
/* The scan that is turned; NULL: @scan is not. */
TdScan *td_scan_turned_base (const TdScan *scan);
