/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/**
 * Views that see the sample from opposite sides. Angles may have any order and range, and whole
 * turns do not matter.
 */
typedef struct {
  guint view;         /* the one */
  guint below, above; /* the other lies between these two; the same view where it is exact */
  double share;       /* of @above: 0 … 1 */
  double off_rad; /* (below's angle) - (view's angle) - half a turn; 0 if there are better pairs */
} TdAxisPair;

/* Pairs that are exact, or lie between two neighbouring views. If there are none: those that miss
   half a turn by the least, up to a few steps. May be empty. (transfer full) (element-type
   TdAxisPair) */
GArray *td_axis_pairs (const double *angles_rad, guint n_views);

/* The usual step between neighbours, and how far the angles reach. At least two views. */
double td_axis_step (const double *angles_rad, guint n_views, double *range_rad);
