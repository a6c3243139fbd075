/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "image-texture.h"
#include "view.h"

/**
 * TdImageRenderer: draws image textures into the current framebuffer. All calls with the GL context
 * current that made it.
 */
typedef struct TdImageRenderer TdImageRenderer;

TdImageRenderer *td_image_renderer_new (GError **error);
/* Fills the framebuffer with the background. */
void td_image_renderer_clear (TdImageRenderer *renderer, const TdStyle *style);
/* @screen: the framebuffer. @span: (nullable): part of the width that is drawn. */
void td_image_renderer_draw (TdImageRenderer *renderer, TdImageTexture *texture, const TdView *view,
                             const TdStyle *style, const TdSpan *span, const TdScreen *screen);
void td_image_renderer_free (TdImageRenderer *renderer);
