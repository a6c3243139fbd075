/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gtk/gtk.h>

#include "render/image.h"
#include "render/view.h"

/* Writes a picture: as PNG with its contrast and colours, a picture pixel a file's pixel; or, where
   the name ends in .tif or .tiff, its values as floats. Any thread. */
gboolean td_picture_save (const TdImage *image, const TdStyle *style, const char *path,
                          GError **error);
/* Asks where to, and writes; what goes wrong is said in a dialog. @name: offered, without an
 * ending. */
void td_picture_save_ask (GtkWidget *parent, TdImage *image, const TdStyle *style,
                          const char *name);
