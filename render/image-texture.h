/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "gl.h"
#include "image.h"

/**
 * TdImageTexture: a TdImage in graphics memory, as tiles no larger than the largest texture. Each
 * tile has a border texel from its neighbours, so that filtering shows no seam. A large picture is
 * uploaded in portions, so that it does not hold up the main thread.
 *
 * All calls, freeing included, with the GL context current that made it.
 */
typedef struct TdImageTexture TdImageTexture;

typedef struct {
  GLuint name;
  guint x, y, width, height;                  /* picture pixels this tile draws */
  guint left, top, texel_width, texel_height; /* picture pixels its texture holds */
} TdTile;

/* @max_tile: 0: the context's largest texture. Keeps a reference on @image. */
TdImageTexture *td_image_texture_new (TdImage *image, guint max_tile);
/* Uploads up to about @budget_bytes more; TRUE when all is there. */
gboolean td_image_texture_upload (TdImageTexture *texture, gsize budget_bytes);
TdImage *td_image_texture_image (TdImageTexture *texture);
const TdTile *td_image_texture_tiles (TdImageTexture *texture, guint *n_tiles);
void td_image_texture_free (TdImageTexture *texture);
