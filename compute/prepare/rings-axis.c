/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "rings-axis.h"

#include <math.h>

#define N TD_RINGS_AXIS_MODES
#define ENDS 8       /* columns: offsets average out */
#define CUT_OFF 0.05 /* of the largest column: an object that is that much at the detector's ends goes on */

static double
mode_at (guint mode, double angle)
{
  return mode == 0 ? 1 : mode == 1 ? cos (angle) : sin (angle);
}

void
td_rings_axis_table (const double *angles_rad, guint n_views, float *table)
{
  for (guint mode = 0; mode < N; mode++)
    for (guint view = 0; view < n_views; view++)
      table[(gsize) mode * n_views + view] = (float) mode_at (mode, angles_rad[view]);
}

/* Whether the object ends within the detector, from its sum over all views. */
static gboolean
is_whole (const float *sums, guint n)
{
  guint few = MIN (ENDS, n);
  float most = 0, left = 0, right = 0;

  for (guint c = 0; c < few; c++) {
    left += sums[c] / few;
    right += sums[n - 1 - c] / few;
  }
  for (guint c = 0; c < n; c++)
    most = MAX (most, fabsf (sums[c]));
  return MAX (fabsf (left), fabsf (right)) <= CUT_OFF * most;
}

/* a[][N] is the right side; the solution's first element, NAN if the angles do not tell it. */
static double
first_unknown (double a[N][N + 1])
{
  for (guint i = N; i-- > 0;) {
    if (!(a[i][i] > 1e-9 * a[0][0]))
      return NAN;
    for (guint k = 0; k < i; k++) {
      double factor = a[k][i] / a[i][i];
      for (guint j = 0; j <= N; j++)
        a[k][j] -= factor * a[i][j];
    }
  }
  return a[0][N] / a[0][0];
}

double
td_rings_axis (const float *modes, guint n_columns, const double *angles_rad, guint n_views)
{
  double a[N][N + 1] = { { 0 } }, mass = 0, middle = 0.5 * (n_columns - 1);

  if (!is_whole (modes, n_columns))
    return NAN;
  for (guint view = 0; view < n_views; view++)
    for (guint i = 0; i < N; i++)
      for (guint j = 0; j < N; j++)
        a[i][j] += mode_at (i, angles_rad[view]) * mode_at (j, angles_rad[view]);
  for (guint c = 0; c < n_columns; c++) {
    mass += (double) modes[c] / n_views;
    for (guint i = 0; i < N; i++)
      a[i][N] += (c - middle) * modes[(gsize) i * n_columns + c];
  }
  if (!(mass > 0))
    return NAN;
  double axis = middle + first_unknown (a) / mass;
  return axis >= 0 && axis <= n_columns - 1 ? axis : NAN;
}
