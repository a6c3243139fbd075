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

typedef struct {
  double forward[3], right[3], up[3];
  double distance, side, scale; /* scale: pixels of a length of 1 at a distance of 1 */
} CameraFrame;

static CameraFrame
camera_frame (const TdCamera *camera, double width, double height)
{
  const double cy = cos (camera->yaw_rad), sy = sin (camera->yaw_rad);
  const double cp = cos (camera->pitch_rad), sp = sin (camera->pitch_rad);
  const double side = MIN (width, height);

  /* A ball of that radius at that distance just fills the picture. */
  return (CameraFrame) { { -sy * cp, cy * cp, -sp },
                         { cy, sy, 0 },
                         { -sy * sp, cy * sp, cp },
                         EYE_RADII * camera->radius,
                         side,
                         camera->zoom * side / 2 / MARGIN * sqrt (EYE_RADII * EYE_RADII - 1) };
}

void
td_camera_ray (const TdCamera *camera, double width, double height, double x, double y,
               double eye[3], double direction[3])
{
  const CameraFrame f = camera_frame (camera, width, height);
  const double a = (x - width / 2 - camera->pan_x * f.side * camera->zoom) / f.scale;
  const double b = (height / 2 + camera->pan_y * f.side * camera->zoom - y) / f.scale;

  for (guint i = 0; i < 3; i++) {
    eye[i] = camera->centre[i] - f.distance * f.forward[i];
    direction[i] = f.forward[i] + a * f.right[i] + b * f.up[i];
  }
}

void
td_camera_project (const TdCamera *camera, double width, double height, const double point[3],
                   double *x, double *y, double *depth)
{
  const CameraFrame f = camera_frame (camera, width, height);
  double a = 0, b = 0, c = f.distance;

  for (guint i = 0; i < 3; i++) {
    const double d = point[i] - camera->centre[i];
    a += f.right[i] * d;
    b += f.up[i] * d;
    c += f.forward[i] * d;
  }
  *depth = c;
  *x = width / 2 + f.scale * a / c + camera->pan_x * f.side * camera->zoom;
  *y = height / 2 - f.scale * b / c + camera->pan_y * f.side * camera->zoom;
}
