/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gio/gio.h>

/**
 * Slices side by side in one picture, in reading order, with a gap between them. A .png has 8 bits
 * of grey between the 0.5 and 99.5 percentiles of all values. A .tif has the 32-bit values, and
 * their least in the gap. @slices: float [n][side][side].
 */
gboolean td_cli_picture (const char *path, const float *slices, guint n, guint side, guint across,
                         GError **error);
/* One picture of any shape, float [height][width], in the same two formats. */
gboolean td_cli_picture_save (const char *path, const float *values, guint width, guint height,
                              GError **error);
