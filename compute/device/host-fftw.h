/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <fftw3.h>
#include <glib.h>

/**
 * FFTW in single precision for everybody on the host: its planner is not thread-safe, so all plans
 * come from here. There is one kind, which is the fastest and quickest to plan for: n complex
 * numbers forward, from one buffer of fftwf_alloc_complex() to another, by fftwf_execute_dft(). The
 * inverse is the same read backwards: element x of the (unnormalised) inverse is element (n - x) %
 * n of the forward transform.
 *
 * Plans are measured, for a quarter of a second at most, and remembered as wisdom in the user's
 * cache folder. Any thread; blocks. NULL: no memory.
 */
fftwf_plan td_fftw_plan (guint n);
void td_fftw_plan_free (fftwf_plan plan); /* NULL is allowed */

/* Transforms @count even sequences of that period, each given by its first period / 2 + 1 values,
   one after another in @values, in place: a real, even sequence's transform is one too. Double
   precision, not divided by the period. Any thread. FALSE: no memory. */
gboolean td_fftw_even (double *values, guint period, guint count);
