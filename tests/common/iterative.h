/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "dataset/phantom-scan.h"
#include "pipeline.h"

/* Scans of ellipsoids and whole jobs on them, for tests of iterative methods. */

/* Of n columns; a cone (a fan, if it has one row) or a parallel beam. (transfer full) */
TdScan *td_test_phantom_scan (TdPhantomScan *spec, guint n, guint n_rows, guint n_views,
                              double range_deg, gboolean cone);
void td_test_recipe (TdRecipe *recipe, const char *method, const char *device);
/* td_test_reconstruct() that may not fail. */
void td_test_reconstruct_well (TdEngine *engine, TdScan *scan, const TdRecipe *recipe,
                               TdTestVolume *volume);
/* Relative RMS against the object, in the slices of the middle half, within the field of view. */
double td_test_phantom_error (const TdPhantomScan *spec, const TdTestVolume *volume);
/* Relative RMS of one volume against another of its size. */
double td_test_difference (const TdTestVolume *volume, const TdTestVolume *truth);
