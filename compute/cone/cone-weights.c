/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cone.h"

#include <math.h>
#include <string.h>

#include "dataset/error.h"

/* Fan angles of the detector's columns as the mid-plane sees them, 0 on the ray through the axis, positive
   to the side of the view's (cos, sin): towards larger columns, unless matrices show it mirrored. */
typedef struct {
  double axis_column; /* where the axis projects to */
  double tangent;     /* of the fan angle, per column */
} Fan;

static Fan
fan_of (const TdGeometry *geometry, double angle_rad, guint n_columns)
{
  double matrix[12], source[3], u, v, w, edge[3];
  const double origin[3] = { 0, 0, 0 };
  Fan fan = { NAN, NAN };

  if (geometry->view_matrices)
    memcpy (matrix, geometry->view_matrices, sizeof matrix);
  else
    td_cone_matrix (geometry, angle_rad, n_columns, 1, matrix);
  if (!td_cone_matrix_normalise (matrix))
    return fan;
  td_cone_project (matrix, origin, &u, &v, &w);
  td_cone_source (matrix, source);
  td_cone_pixel (matrix, u + 1, v, edge);
  fan.axis_column = u;
  fan.tangent = sqrt (edge[0] * edge[0] + edge[1] * edge[1] + edge[2] * edge[2])
                / sqrt (source[0] * source[0] + source[1] * source[1] + source[2] * source[2]);
  /* The source stands at (D sin, -D cos): its right is (-source y, source x) / D. */
  if (edge[1] * source[0] - edge[0] * source[1] < 0)
    fan.tangent = -fan.tangent;
  return fan;
}

static double
fan_angle (const Fan *fan, double column)
{
  return atan ((column - fan->axis_column) * fan->tangent);
}

static void
angle_range (const double *angles_rad, guint n_views, double *low, double *high)
{
  *low = INFINITY;
  *high = -INFINITY;
  for (guint view = 0; view < n_views; view++) {
    *low = MIN (*low, angles_rad[view]);
    *high = MAX (*high, angles_rad[view]);
  }
}

gboolean
td_cone_redundancy (const TdGeometry *geometry, const double *angles_rad, guint n_views,
                    guint n_columns, TdRedundancy *kind, GError **error)
{
  double low, high;
  const Fan fan = fan_of (geometry, angles_rad[0], n_columns);

  angle_range (angles_rad, n_views, &low, &high);
  const double step = n_views > 1 ? (high - low) / (n_views - 1) : 0;
  const double range = high - low;
  const double widest = MAX (fabs (fan_angle (&fan, 0)), fabs (fan_angle (&fan, n_columns - 1)));

  if (range + 1.5 * step >= 2 * G_PI) {
    const double middle = (n_columns - 1) / 2.0;
    const gboolean offset = fabs (fan.axis_column - middle) > 0.05 * n_columns;
    *kind = offset ? TD_REDUNDANCY_WANG : TD_REDUNDANCY_FULL;
    return TRUE;
  }
  if (range + 1.5 * step >= G_PI + 2 * widest) {
    *kind = TD_REDUNDANCY_PARKER;
    return TRUE;
  }
  g_set_error (error, TD_ERROR, TD_ERROR_INVALID,
               "The views cover %.1f degrees; this geometry needs at least %.1f (180 and the fan "
               "angle) or a full turn. Check the angles, or crop the detector.",
               range * 180 / G_PI, (G_PI + 2 * widest) * 180 / G_PI);
  return FALSE;
}

/* Parker's smooth weight; beta from the first view in the direction of growing angles. The ray
   (beta, gamma) is measured again at (beta + pi - 2 gamma, -gamma) in our geometry, so his gamma is
   our -gamma. The overscan takes what the range leaves over 180 degrees (Silver's generalisation). */
static double
parker (double beta, double gamma, double overscan)
{
  const double begin = 2 * (overscan + gamma), end = G_PI + 2 * gamma;
  double part = 1;

  if (beta < begin)
    part = beta / begin;
  else if (beta > end)
    part = (G_PI + 2 * overscan - beta) / (2 * (overscan - gamma));
  const double sine = sin (G_PI / 2 * CLAMP (part, 0, 1));
  return sine * sine;
}

/* Wang's weight: 0 to 1 across the strip around the axis that both sides of the turn see. */
static double
wang (double gamma, double overlap)
{
  const double part = CLAMP (gamma / overlap, -1, 1);
  return 0.5 * (sin (G_PI / 2 * part) + 1);
}

void
td_cone_redundancy_weights (const TdGeometry *geometry, TdRedundancy kind, const double *angles_rad,
                            guint n_views, guint n_columns, float *weights)
{
  double low, high;
  const Fan fan = fan_of (geometry, angles_rad[0], n_columns);
  const double first = fan_angle (&fan, 0), last = fan_angle (&fan, n_columns - 1);
  const double left = -MIN (first, last), right = MAX (first, last);
  const double sign = right >= left ? 1 : -1;
  const double overlap = MAX (MIN (left, right), 1e-9);

  angle_range (angles_rad, n_views, &low, &high);
  const double overscan = (high - low - G_PI) / 2;
  g_autofree double *gammas = g_new (double, n_columns);
  g_autofree float *same = g_new (float, n_columns); /* in all views */
  for (guint column = 0; column < n_columns; column++) {
    gammas[column] = fan_angle (&fan, column);
    same[column] = kind == TD_REDUNDANCY_WANG ? (float) wang (sign * gammas[column], overlap) : 0.5f;
  }
  for (guint view = 0; view < n_views; view++) {
    float *out = weights + (gsize) view * n_columns;
    if (kind != TD_REDUNDANCY_PARKER)
      memcpy (out, same, n_columns * sizeof *out);
    for (guint column = 0; kind == TD_REDUNDANCY_PARKER && column < n_columns; column++)
      out[column] = (float) parker (angles_rad[view] - low, gammas[column], overscan);
  }
}
