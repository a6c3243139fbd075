/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/**
 * TdCamera: from where a space is looked at. z is up. At yaw 0 the eye looks along +y, with x to
 * the right; a positive yaw walks to the right around the space. Pitch is above the horizon. The
 * eye is always outside: zooming narrows the field instead of coming nearer, so nothing is ever
 * behind it. A plain value.
 */
typedef struct {
  double centre[3], radius; /* of the ball that is looked at */
  double yaw_rad, pitch_rad;
  double zoom;         /* 1: the ball fills the picture */
  double pan_x, pan_y; /* in the picture's shorter sides, before the zoom; y down */
} TdCamera;

void td_camera_init (TdCamera *camera, const double centre[3], double radius);
/* Picture position (first pixel's corner 0, 0; y down) and the distance from the eye. */
void td_camera_project (const TdCamera *camera, double width, double height, const double point[3],
                        double *x, double *y, double *depth);
/* The ray that td_camera_project() brings to (x, y): from the eye along @direction, whose length is
   any. The direction is linear in x and y. */
void td_camera_ray (const TdCamera *camera, double width, double height, double x, double y,
                    double eye[3], double direction[3]);
