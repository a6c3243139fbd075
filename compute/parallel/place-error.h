/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "backproject.h"

/**
 * Relative L2 errors that families' bounds are made of. They hold for rows of any spectrum: white
 * noise, what a ramp filter makes of it, and objects.
 *
 * A position that is off by e columns changes a value by e times the difference of two bins. Take
 * what a row has at w radians a column. Of its square, differences have 2 (1 - cos w). Linear
 * interpolation leaves (2 + cos w) / 3, averaged over the places between two bins. So e rms costs
 *
 *     e sqrt (6 (1 - cos w) / (2 + cos w))
 *
 * This grows with w up to sqrt (12) e, for bins that alternate in sign. White noise has 1.73 e, the
 * ramp filter's noise 2.63 e.
 *
 * Nearest neighbour has the bin itself, unless the error leads to another one. That befalls a share
 * e of the updates, with e as the mean of absolute values. The square of each is off by 2 (1 - cos
 * w), which makes 2 sqrt (e) at the most. White noise has 1.41 sqrt (e), the ramp filter's 1.79.
 *
 * Views are taken as independent of each other, and places as spread evenly between two bins. A
 * view along the pixels does not do so: nearest may then have a tie at each of its pixels.
 */

/* Of positions that are off by @columns, rms, at random. */
double td_place_error (const TdBackprojectTask *task, double columns);
/* Of texture units: positions in single precision, weights rounded to 1/256. Weights of few views
   differ from their average by chance, for which a seventh is added. */
double td_texture_error (const TdBackprojectTask *task);
/* Of sums in single precision. Each addition rounds half a unit of the last place of a sum that
   grows as the square root of the number of views. */
double td_sums_error (const TdBackprojectTask *task);
