/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/* The median of the finite values, the mean of the middle two where their number is even; NAN:
   there is none. Moves them. */
double td_median (float *values, gsize n);
