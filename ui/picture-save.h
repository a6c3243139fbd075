/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "marks.h"
#include "render/image.h"
#include "render/view.h"

/* Writes a picture. A name that ends in .tif or .tiff gets its values as floats. Any other gets a
   PNG with its contrast, colours and @marks (nullable, of TdMark), a pixel of the picture a pixel
   of the file. Any thread. */
gboolean td_picture_save (const TdImage *image, const TdStyle *style, const GArray *marks,
                          const char *path, GError **error);
