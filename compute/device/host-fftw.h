/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <fftw3.h>
#include <glib.h>

/**
 * FFTW in single precision for everybody on the host: its planner is not thread-safe, so all plans
 * come from here. Plans are measured, in half a second at most, and remembered as wisdom in the
 * user's cache folder. They are of one contiguous line, in place; execute them on other lines by
 * FFTW's new-array calls. Any thread; blocks. NULL: FFTW cannot.
 */
typedef enum { TD_FFTW_FORWARD, TD_FFTW_INVERSE, TD_FFTW_REAL_FORWARD, TD_FFTW_REAL_INVERSE } TdFftwKind;

/* Complex: lines of n fftwf_complex. Real: n floats and the 2 (or 1) more of n/2+1 complex numbers.
   @shifted: the lines start 8 bytes past a multiple of 16 instead of at one. */
fftwf_plan td_fftw_plan (TdFftwKind kind, guint n, gboolean shifted);
void td_fftw_plan_free (fftwf_plan plan); /* NULL is allowed */
