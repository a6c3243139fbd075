/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/**
 * Half acquisition: the rotation axis lies near one edge of the detector. A full turn then sees
 * twice the field, one half from either side. View a + pi sees mirrored what view a sees: with u
 * columns from the axis, p (a + pi, u) = p (a, -u). The weights w of such a pair add up to one:
 *
 *     w (u) + w (-u) = 1,    w = 0 where only the other view measures, 1 where only this one does
 *
 * So the filtered back-projection of w p over the full turn equals that of the complete projections
 * over half a turn. This holds for the ramp and any window. Angles may be anything, and the axis
 * may lie between two columns: nothing is paired, shifted or interpolated.
 *
 * Where both views measure, w rises as t^3 (10 - 15 t + 6 t^2) with t = (u + o) / 2 o. Here o is
 * the distance from the axis to the nearer edge. Two derivatives of w are continuous, so that the
 * ramp sees no edge. The outermost columns count for nearly nothing. A row is weighted where it is
 * measured, then filtered into a row that reaches as far to the other side of the axis. The reason
 * is that a filtered projection does not end where the measured one does.
 *
 * The overlap is at least half a column to either side: an axis on the edge or beyond it gives a
 * step.
 */
typedef struct {
  guint shift;      /* column of the filtered row that the measured row's first one comes to */
  guint n_views;    /* rows of one sinogram: they share a centre; 0: rows keep their weights and
                       are only shifted */
  guint row0;       /* the run's first row, counted from the first sinogram's first */
  double centre_px; /* of the first sinogram, in columns of the measured row */
  double centre_step_px; /* added from one sinogram to the next: a tilted axis */
} TdRowBlend;

/* Columns that a slice and a filtered row need to hold all that is seen about @centre_px. They are
   twice the distance to the farther edge, and one; never fewer than @n_columns. */
guint64 td_row_blend_width (guint n_columns, double centre_px);
/* What each of the columns of a row about @centre_px counts for. */
void td_row_blend_weights (guint n_columns, double centre_px, float *weights);
