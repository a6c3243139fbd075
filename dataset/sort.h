/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/* NaN has no place among other values: take it out before (td_keep_finite()). */

/* The order for qsort(): smallest first. */
int td_compare_doubles (const void *a, const void *b);

/* The same of strings, for g_ptr_array_sort() too: @a and @b point to them. */
int td_compare_strings (const void *a, const void *b);

/* The value that sorting would put at @rank, 0 being the smallest, in time that grows as @n does.
   @values are reordered: no smaller ones stand behind @rank, no larger ones before it (Hoare, Comm.
   ACM 4, 1961, algorithm 65). */
float td_float_at_rank (float *values, gsize n, gsize rank);

/* Moves the finite values to the front and returns how many there are. */
gsize td_keep_finite (float *values, gsize n);

/* The median of the finite values, the mean of the middle two where their number is even; NAN:
   there is none. Moves them. */
double td_median (float *values, gsize n);
