/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/**
 * Quadrature weights of views, of parallel beams first. The inversion integral runs over half a
 * turn, and a view at a + pi is the mirrored view at a. Each direction modulo pi gets half the gap
 * to either neighbour; views of the same direction share its weight. A full turn, irregular and
 * repeated angles come out right: the weights of a complete scan add up to pi.
 *
 * A gap of several usual steps is a missing wedge: it is not given to the views at its edges. Up to
 * four gaps are looked at so; those that make up most of the rest of the turn are usual.
 */
typedef struct {
  double covered_rad;     /* sum of the weights */
  double largest_gap_rad; /* between neighbouring directions, modulo pi */
  double missing_rad;     /* wedges left out, together */
  guint repeated;         /* views that share their direction with an earlier one */
} TdAngleCover;

/* Directions are taken modulo @period_rad. That is pi, or 2 pi where opposite views do not repeat
   each other (half acquisition, cone beams). A full turn's weights then add up to 2 pi. weights: n
   values out. @cover may be NULL. */
void td_angular_weights (const double *angles_rad, guint n, double period_rad, double *weights,
                         TdAngleCover *cover);

/* Where a view looks; views by rising angles, and by their numbers where these are equal.
   @period_rad: angles are taken modulo that; 0: as they are. (transfer full) */
typedef struct {
  double angle;
  guint view;
} TdDirection;

TdDirection *td_angles_sorted (const double *angles_rad, guint n, double period_rad);

/* The usual gap: the one that explains most of the angle that @n gaps span. The median gap does not
   where views stand in clumps, as several frames of each angle by the stage's own readings. Nor
   does it where part of the views is much denser, or where angles are random. */
double td_angles_usual_gap (const double *gaps, guint n);
