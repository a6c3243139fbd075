/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cairo.h>

#include "image.h"
#include "space.h"
#include "view.h"

/**
 * The same picture as TdImageRenderer's, by the processor: for machines without OpenGL, and as the
 * truth that the shader is tested against. Any thread.
 */
/* @pixels: [height][width] device pixels as cairo has them in CAIRO_FORMAT_ARGB32, so that nobody
   converts them again, all opaque; only the @span (nullable: all) is written. */
void td_soft_render (const TdImage *image, const TdView *view, const TdStyle *style,
                     const TdSpan *span, const TdScreen *screen, guint32 *pixels);
void td_soft_clear (const TdStyle *style, guint width, guint height, guint32 *pixels);

/* Shapes in space, over @background, on the whole surface behind @cr. Any thread. */
void td_soft_space_draw (cairo_t *cr, GArray *shapes, TdInk background);
