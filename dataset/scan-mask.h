/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "scan.h"

/**
 * A mask of bad detector pixels: an image of the detector as it is stored, not 0 where a pixel is
 * useless.
 */

/* Whether the image at @path can be the mask of @scan; reads its header only. */
gboolean td_scan_mask_fits (const TdScan *scan, const char *path, GError **error);
/* @scan with the mask at @path in place of any that it has: same frames, other facts. References
   @scan. Blocks on the disk. Returns: (transfer full): NULL with @error set if the mask cannot be
   read or is of another size. */
TdScan *td_scan_with_mask (TdScan *scan, const char *path, GError **error);
