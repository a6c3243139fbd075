/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/**
 * About where the axis is, from one row alone: the centre of mass of every view, axis + x cos + y sin, is
 * that of the object (Helgason and Ludwig's first condition). Good to a part of a column where the whole
 * object is seen; what has to be exact searches by itself (axis.h).
 */
#define TD_RINGS_AXIS_MODES 3

/* [mode][view]: 1, cos, sin of the angles. */
void td_rings_axis_table (const double *angles_rad, guint n_views, float *table);
/* @modes: [mode][n_columns], the sums over the views of the row times each mode. NAN where the object goes
   beyond the detector, or there is none. */
double td_rings_axis (const float *modes, guint n_columns, const double *angles_rad, guint n_views);
