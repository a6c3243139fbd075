/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "view.h"

#define ZOOM_MIN 0.005
#define ZOOM_MAX 200.0
#define FITTED 0.98 /* of the widget: a little room around the picture */

double
td_view_zoom_down (const TdView *view)
{
  return view->stretch > 0 ? view->zoom * view->stretch : view->zoom;
}

void
td_view_to_picture (const TdView *view, double width, double height, double wx, double wy,
                    double *px, double *py)
{
  *px = view->x + (wx - width / 2) / view->zoom;
  *py = view->y + (wy - height / 2) / td_view_zoom_down (view);
}

void
td_view_from_picture (const TdView *view, double width, double height, double px, double py,
                      double *wx, double *wy)
{
  *wx = width / 2 + (px - view->x) * view->zoom;
  *wy = height / 2 + (py - view->y) * td_view_zoom_down (view);
}

void
td_view_zoom_about (TdView *view, double width, double height, double wx, double wy, double factor)
{
  double px, py;

  td_view_to_picture (view, width, height, wx, wy, &px, &py);
  view->zoom = CLAMP (view->zoom * factor, ZOOM_MIN, ZOOM_MAX);
  view->x = px - (wx - width / 2) / view->zoom;
  view->y = py - (wy - height / 2) / td_view_zoom_down (view);
}

void
td_view_fit (TdView *view, double width, double height, double picture_width, double picture_height)
{
  double zoom = MIN (width / MAX (picture_width, 1), height / MAX (picture_height, 1));

  view->zoom = CLAMP (zoom * FITTED, ZOOM_MIN, ZOOM_MAX);
  view->x = view->y = 0;
  view->stretch = 1;
}

void
td_view_fill (TdView *view, double width, double height, double picture_width,
              double picture_height)
{
  const double down = height / MAX (picture_height, 1) * FITTED;

  view->zoom = CLAMP (width / MAX (picture_width, 1) * FITTED, ZOOM_MIN, ZOOM_MAX);
  view->x = view->y = 0;
  view->stretch = CLAMP (down, ZOOM_MIN, ZOOM_MAX) / view->zoom;
}
