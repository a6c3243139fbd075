/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "camera.h"

#include <math.h>

#define EYE_RADII 5.0 /* far enough that a box does not look like a trumpet */
#define MARGIN 1.06

void
td_camera_init (TdCamera *camera, const double centre[3], double radius)
{
  *camera = (TdCamera) { .radius = radius > 0 ? radius : 1, .zoom = 1 };
  for (guint i = 0; i < 3; i++)
    camera->centre[i] = centre[i];
}

void
td_camera_project (const TdCamera *camera, double width, double height, const double point[3],
                   double *x, double *y, double *depth)
{
  const double cy = cos (camera->yaw_rad), sy = sin (camera->yaw_rad);
  const double cp = cos (camera->pitch_rad), sp = sin (camera->pitch_rad);
  const double forward[3] = { -sy * cp, cy * cp, -sp };
  const double right[3] = { cy, sy, 0 };
  const double up[3] = { -sy * sp, cy * sp, cp };
  const double distance = EYE_RADII * camera->radius, side = MIN (width, height);
  /* A ball of that radius at that distance just fills the picture. */
  const double scale = camera->zoom * side / 2 / MARGIN * sqrt (EYE_RADII * EYE_RADII - 1);
  double a = 0, b = 0, c = distance;

  for (guint i = 0; i < 3; i++) {
    const double d = point[i] - camera->centre[i];
    a += right[i] * d;
    b += up[i] * d;
    c += forward[i] * d;
  }
  *depth = c;
  *x = width / 2 + scale * a / c + camera->pan_x * side * camera->zoom;
  *y = height / 2 - scale * b / c + camera->pan_y * side * camera->zoom;
}
