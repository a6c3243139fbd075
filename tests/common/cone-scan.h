/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "dataset/scan.h"
#include "tests/common/cone-plain.h"

/* The beam of tests that want any cone. */
#define TD_TEST_CONE_BEAM                                                                          \
  ((TdGeometry) { .beam = TD_BEAM_CONE,                                                            \
                  .pixel_width_mm = 0.4,                                                           \
                  .pixel_height_mm = 0.4,                                                          \
                  .source_axis_mm = 300,                                                           \
                  .source_detector_mm = 450 })

/* A cone-beam scan in memory, with all that was measured at hand. */
typedef struct {
  TdGeometry geometry;
  guint n_columns, n_rows, n_views;
  double *angles_rad;
  float *views; /* line integrals, [view][row][column] */
  TdScan *scan; /* of these; NULL until td_test_cone_scan_end() */
} TdTestConeScan;

/* @size: columns, rows, views. Angles go from 0.1 over @range_deg, without its end. The test may
   change them, gives matrices if it likes, and fills the views. */
void td_test_cone_scan_begin (TdTestConeScan *self, const TdGeometry *geometry, const guint size[3],
                              double range_deg);
void td_test_cone_scan_end (TdTestConeScan *self);
void td_test_cone_scan_clear (TdTestConeScan *self);

/* What was measured by a detector that lies on its side, as one that stands up would have. */
void td_test_cone_scan_stand_up (TdTestConeScan *self);
/* For td_cone_plain_fdk(). */
TdConePlain td_test_cone_scan_plain (const TdTestConeScan *self);
