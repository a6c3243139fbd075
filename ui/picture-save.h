/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "render/image.h"
#include "render/view.h"

/* Writes a picture: as PNG with its contrast and colours, a picture pixel a file's pixel; or, where
   the name ends in .tif or .tiff, its values as floats. Any thread. */
gboolean td_picture_save (const TdImage *image, const TdStyle *style, const char *path,
                          GError **error);
