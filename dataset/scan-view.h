/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "scan.h"

/**
 * A scan seen through a frame: turned over, cut to some of its views, cropped and binned, in that
 * order. It is a scan like any other: nothing behind it needs to know. Its facts (sizes, angles,
 * pixel size, centre, cone-beam geometry) say what is seen. Its frames are read and averaged when
 * they are asked for.
 *
 * Binning averages raw values, of flats and darks too: those of each group that are finite and not
 * marked as bad pixels. A group is bad if all of it is. Columns and rows that do not fill a group
 * at the end are left out; the last views make a smaller group.
 */
typedef struct {
  gboolean flip_columns, flip_rows;       /* the stored image is mirrored: undo it */
  guint crop_column, crop_row;            /* first ones kept */
  guint crop_columns, crop_rows;          /* how many; both 0: all */
  guint crop_view, crop_views;            /* first view kept, and how many; 0: all */
  guint bin_columns, bin_rows, bin_views; /* how many to one; 0 as 1 */
  gboolean on_side; /* the detector is, so that rows count across the axis: a volume that the scan
                       proposes is as coarse as they are */
  gboolean turned;  /* by a quarter to the left, for detectors that lie on their side, whose columns
                       run along the rows of what is reconstructed. The other fields are then as for
                       no change: that is another view. Every read takes whole frames */
} TdScanFrame;

/* Whether it changes nothing. */
gboolean td_scan_frame_is_plain (const TdScanFrame *frame);
gboolean td_scan_frame_equal (const TdScanFrame *a, const TdScanFrame *b);

/* Where a column, a row of the scan as opened lies seen through the frame, and back; between pixels
   too. The width or height of the scan as opened is needed for flips. */
double td_scan_frame_column (const TdScanFrame *frame, guint n_columns, double column);
double td_scan_frame_row (const TdScanFrame *frame, guint n_rows, double row);
double td_scan_frame_row_back (const TdScanFrame *frame, guint n_rows, double row);

/* The scan seen, and how, but for whether it is turned; NULL, and a frame that changes nothing, if
   @scan is no view. */
TdScan *td_scan_view_base (const TdScan *scan, TdScanFrame *frame);
/* Whether its frames are turned, also where they wait in memory or in a file. */
gboolean td_scan_view_turned (const TdScan *scan);
/* References @scan. Returns: (transfer full): NULL with @error where the crop is not inside the
   frames, groups are larger than what there is, or averaged views look in different directions. */
TdScan *td_scan_view_new (TdScan *scan, const TdScanFrame *frame, GError **error);
