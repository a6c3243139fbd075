/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "dataset/scan-view.h"

/**
 * Where the rotation axis lies on a detector: a line, which gives the centre for every row.
 */
typedef struct {
  double centre_px;  /* at middle_row; NAN: there is no line */
  double slope;      /* columns a row, downwards */
  double middle_row; /* may lie between two rows */
} TdAxisLine;

/* As recipes and results state it: the centre at the middle of @n_rows rows, and the tilt. */
TdAxisLine td_axis_line (double centre_px, double tilt_deg, guint n_rows);
/* The centre at a row, in columns. */
double td_axis_line_at (const TdAxisLine *line, double row);
/* A line on the detector of @measured as it appears through @frame, on the @n_rows rows that the
   frame leaves. A crop has another middle row, and binning other columns and rows. */
TdAxisLine td_axis_line_seen (const TdAxisLine *line, const TdScanFacts *measured,
                              const TdScanFrame *frame, guint n_rows);
