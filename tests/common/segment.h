/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/* Otsu's threshold over 512 bins. */
double td_segment_otsu (const float *values, gsize n);
/* Overlap of what lies above @threshold with what is set in @truth: 2 both / (ours + theirs). */
double td_segment_dice (const float *values, gsize n, double threshold, const guint8 *truth);
