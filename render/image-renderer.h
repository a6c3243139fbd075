/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "gl.h"
#include "image.h"
#include "view.h"

/**
 * TdImageTexture: a TdImage in graphics memory, as tiles no larger than the largest texture. Each
 * tile has a border texel from its neighbours, so that filtering shows no seam. A large picture is
 * uploaded in portions, so that it does not hold up the main thread.
 *
 * All calls, freeing included, with the GL context current that made it.
 */
typedef struct TdImageTexture TdImageTexture;

/* @max_tile: 0: the context's largest texture. Keeps a reference on @image. */
TdImageTexture *td_image_texture_new (TdImage *image, guint max_tile);
/* Uploads up to about @budget_bytes more; TRUE when all is there. */
gboolean td_image_texture_upload (TdImageTexture *texture, gsize budget_bytes);
TdImage *td_image_texture_image (TdImageTexture *texture);
void td_image_texture_free (TdImageTexture *texture);

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
