/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "image.h"
#include "view.h"

/**
 * The same picture as TdImageRenderer's, by the processor: for machines without OpenGL, and as the
 * truth that the shader is tested against. Any thread.
 */
/* @rgba: [height][width][4] device pixels; only the @span (nullable: all) is written. */
void td_soft_render (const TdImage *image, const TdView *view, const TdStyle *style,
                     const TdSpan *span, guint width, guint height, double scale, guint8 *rgba);
void td_soft_clear (const TdStyle *style, guint width, guint height, guint8 *rgba);
