/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gio/gio.h>

/**
 * How similar views half a turn apart are about a centre, given to parts of a pixel. The two rows
 * of each pair are resampled on a grid about the centre, one of them mirrored, and subtracted under
 * one taper. So nothing but their likeness changes with the centre. Only the difference is
 * filtered: a filter before would spread the ends of the detector, which lie on opposite sides,
 * into the tapered columns.
 *
 *     D (c) = sum over f of r (f)^2 |FT [W (t) (a (c + t) - b (c - t) - o)]|^2
 *     E (c) = the same of W (t) a (c + t), plus that of W (t) b (c - t)
 *
 * W is the taper over the columns that both views have about the middle of the search. It is 1
 * inside and falls to 0 over the outer 40 % of them. o is the mean of a - b under W. Without o, a
 * beam that changed between the two views would move the centre where the sample slopes. r is
 * td_axis_response(). The centre is where D is least. Pairs that miss half a turn
 * (TdAxisPair.off_rad) are compared about c + drift off / first off.
 */
typedef struct TdAxisLikeness TdAxisLikeness;

/* @rows: [view][n_columns]; @pairs: TdAxisPair; @response: for n_columns columns. All are copied.
   NULL: no memory. */
TdAxisLikeness *td_axis_likeness_new (const float *rows, guint n_columns, const GArray *pairs,
                                      const double *response);
void td_axis_likeness_free (TdAxisLikeness *likeness);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdAxisLikeness, td_axis_likeness_free)

/* D. @taper_px: where the middle of the taper would be, which decides how many columns are
   compared. @energy: E, may be NULL. */
double td_axis_likeness_at (TdAxisLikeness *likeness, double centre_px, double drift_px,
                            double taper_px, double *energy);

/* About which centre the rows match best. */
typedef struct {
  double centre_px;
  double drift_px;  /* of the first pair; 0 where all pairs are exact */
  double top;       /* 1 - D / E */
  double spread_px; /* the standard error, by D and its bend; NAN: not known */
} TdAxisMatch;

/* Goes from the match's centre and drift to the least D nearby, and fills in the rest. FALSE with
   @error: cancelled. */
gboolean td_axis_likeness_climb (TdAxisLikeness *likeness, TdAxisMatch *match,
                                 GCancellable *cancellable, GError **error);
