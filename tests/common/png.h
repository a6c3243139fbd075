/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gio/gio.h>

/* A greyscale PNG of 1 or 8 bits without interlacing, as 0 … 255 (1 bit: 0 and 255), row 0 at the
   top. Fails the test on anything else: it reads the scans' published segmentations and nothing
   more. */
guint8 *td_test_png_read (const char *path, guint *width, guint *height);
