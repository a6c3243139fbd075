/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/prepare/prepare.h"
#include "intensity-reference.h"

/* A small scan in memory for tests of preparation: random, of a kind that steps meet, with hits and
   losses. */
typedef enum {
  TD_TEST_INTENSITIES, /* with flats before, within and after the scan, and darks */
  TD_TEST_TRANSMISSIONS,
  TD_TEST_AIR, /* transmissions near 1 */
  TD_TEST_LINE_INTEGRALS,
  TD_TEST_CONSTANT,
  TD_TEST_EMPTY,
} TdTestContent;

typedef struct {
  TdFrames frames;
  TdScan *scan;
  float *projections, *flats, *darks; /* [frame][row][column] */
  double angles[256], positions[9];
  guint8 *mask; /* one pixel in eight is bad */
} TdTestFrames;

void td_test_frames_init (TdTestFrames *x, guint n_rows, guint n_views, guint n_columns,
                          TdTestContent content);
void td_test_frames_clear (TdTestFrames *x);
double *td_test_frames_sinograms (const TdTestFrames *x); /* [row][view][column], allocated */

/* What @preparation makes of rows [first, end), allocated; it may have run on others before. */
float *td_test_frames_prepare (TdPreparation *preparation, TdDevice *device, const TdTestFrames *x,
                               guint first, guint end);
/* What the steps make of rows [first, end) on a device, allocated; @counts may be NULL. */
float *td_test_frames_run (TdDevice *device, const TdTestFrames *x, const TdStep *steps,
                           guint n_steps, guint first, guint end, TdPreparationCounts *counts);
/* Fails the test where all rows differ by more than 1e-5 of the largest value. */
void td_test_frames_compare (const TdTestFrames *x, const char *what, const float *got,
                             const double *expected);
/* Checks as a CPU takes it, and (where that is OpenCL) as GPUs do. */
void td_test_each_path (TdDevice *device, void (*check) (TdDevice *device, gconstpointer user),
                        gconstpointer user);
/* "zingers:size=1": presets but for what is named, choices by their number. */
TdStep td_test_step (const char *text);
