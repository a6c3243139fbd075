/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "axis-line.h"

#include <math.h>

TdAxisLine
td_axis_line (double centre_px, double tilt_deg, guint n_rows)
{
  return (TdAxisLine) { centre_px, tan (tilt_deg * G_PI / 180), ((double) n_rows - 1) / 2 };
}

double
td_axis_line_at (const TdAxisLine *line, double row)
{
  return line->centre_px + line->slope * (row - line->middle_row);
}

TdAxisLine
td_axis_line_seen (const TdAxisLine *line, const TdScanFacts *measured, const TdScanFrame *frame,
                   guint n_rows)
{
  const double columns = MAX (frame->bin_columns, 1), middle = (n_rows - 1) / 2.0;
  const double row = td_scan_frame_row_back (frame, measured->n_rows, middle);

  return (TdAxisLine) {
    .centre_px = td_scan_frame_column (frame, measured->n_columns, line->centre_px)
                 + line->slope * (row - line->middle_row) / columns,
    .slope = line->slope * MAX (frame->bin_rows, 1) / columns,
    .middle_row = middle,
  };
}
