/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "place-error.h"

#include <math.h>

/* Updates of a slice that lie on the detector: of each view, the part of the region's shadow. */
static double
place_error_updates (const TdBackprojectTask *task)
{
  const double x = task->x0 + 0.5 * task->step * (task->nx - 1.0);
  const double y = task->y0 - 0.5 * task->step * (task->ny - 1.0);
  double views = 0;

  for (guint v = 0; v < task->n_views; v++) {
    const double cosine = cos (task->angles_rad[v]), sine = sin (task->angles_rad[v]);
    const double middle
        = task->centre_px + (task->axis_px ? task->axis_px[v] : 0) + x * cosine + y * sine;
    const double half = 0.5 * task->step * (task->nx * fabs (cosine) + task->ny * fabs (sine));
    const double low = MAX (middle - half, -0.5), high = MIN (middle + half, task->n_columns - 0.5);
    views += MAX (high - low, 0) / (2 * half);
  }
  return MAX (views * task->nx * task->ny, 1);
}

double
td_place_error (const TdBackprojectTask *task, double columns)
{
  if (task->interpolation != TD_INTERPOLATION_NEAREST)
    return sqrt (12) * columns;

  /* How many updates are wrong is chance: five deviations more than expected, and a few. */
  const double updates = place_error_updates (task), wrong = columns * updates;
  return 2 * sqrt ((wrong + 5 * sqrt (wrong) + 5) / updates);
}

/* How far positions are off that are summed in single precision at the detector's full width. A sum
   of five terms rounds half a unit of the last place at most, five times. That unit is 2^-23 of the
   place or less. Over places up to the width its rms is 0.45 of the largest. */
static double
place_error_single (const TdBackprojectTask *task)
{
  const double x = fabs (task->x0 + 0.5 * task->step * task->nx) + 0.5 * task->step * task->nx;
  const double y = fabs (task->y0 - 0.5 * task->step * task->ny) + 0.5 * task->step * task->ny;
  const double width = task->n_columns + fabs (task->centre_px) + MAX (x, y);

  return 0.45 * sqrt (5.0 / 12) * width * 0x1p-23;
}

double
td_texture_error (const TdBackprojectTask *task)
{
  const double weight = 8.0 / 7 * 0x1p-9 / sqrt (3), single = place_error_single (task);

  return td_place_error (
      task, task->interpolation == TD_INTERPOLATION_NEAREST ? single : hypot (weight, single));
}

double
td_sums_error (const TdBackprojectTask *task)
{
  return sqrt (task->n_views) * 0x1p-25;
}
