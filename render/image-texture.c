/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "image-texture.h"

/* Beyond this a picture goes up as half floats if that is not seen: half the graphics memory. What
   is read and measured in it are always its own values. */
#define HALF_ABOVE_PIXELS (64u << 20)

struct TdImageTexture {
  TdImage *image;
  TdTile *tiles;
  guint n_tiles;
  gboolean half;
  guint next_tile, next_row; /* where uploading goes on */
};

static void
init_tile (TdImageTexture *texture, TdTile *tile, guint x, guint y, guint core)
{
  const TdImage *image = texture->image;

  tile->x = x;
  tile->y = y;
  tile->width = MIN (core, image->width - x);
  tile->height = MIN (core, image->height - y);
  tile->left = x > 0 ? x - 1 : 0;
  tile->top = y > 0 ? y - 1 : 0;
  tile->texel_width = MIN (x + tile->width + 1, image->width) - tile->left;
  tile->texel_height = MIN (y + tile->height + 1, image->height) - tile->top;
}

TdImageTexture *
td_image_texture_new (TdImage *image, guint max_tile)
{
  TdImageTexture *texture = g_new0 (TdImageTexture, 1);
  GLint limit = 0;

  glGetIntegerv (GL_MAX_TEXTURE_SIZE, &limit);
  guint core = (max_tile ? MIN (max_tile, (guint) limit) : (guint) limit) - 2;
  guint across = (image->width + core - 1) / core, down = (image->height + core - 1) / core;

  texture->image = td_image_ref (image);
  texture->half
      = (guint64) image->width * image->height > HALF_ABOVE_PIXELS && td_image_half_will_do (image);
  texture->n_tiles = across * down;
  texture->tiles = g_new0 (TdTile, texture->n_tiles);
  for (guint j = 0; j < down; j++)
    for (guint i = 0; i < across; i++)
      init_tile (texture, &texture->tiles[j * across + i], i * core, j * core, core);
  return texture;
}

static void
create_storage (TdImageTexture *texture, TdTile *tile)
{
  glGenTextures (1, &tile->name);
  glBindTexture (GL_TEXTURE_2D, tile->name);
  glTexParameteri (GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
  glTexParameteri (GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
  glTexParameteri (GL_TEXTURE_2D, GL_TEXTURE_WRAP_S, GL_CLAMP_TO_EDGE);
  glTexParameteri (GL_TEXTURE_2D, GL_TEXTURE_WRAP_T, GL_CLAMP_TO_EDGE);
  glTexParameteri (GL_TEXTURE_2D, GL_TEXTURE_MAX_LEVEL, 0);
  glTexImage2D (GL_TEXTURE_2D, 0, texture->half ? GL_R16F : GL_R32F, (GLsizei) tile->texel_width,
                (GLsizei) tile->texel_height, 0, GL_RED, GL_FLOAT, NULL);
}

gboolean
td_image_texture_upload (TdImageTexture *texture, gsize budget_bytes)
{
  const TdImage *image = texture->image;

  glPixelStorei (GL_UNPACK_ALIGNMENT, 4);
  glPixelStorei (GL_UNPACK_ROW_LENGTH, (GLint) image->width);
  while (texture->next_tile < texture->n_tiles && budget_bytes > 0) {
    TdTile *tile = &texture->tiles[texture->next_tile];
    gsize row_bytes = (gsize) tile->texel_width * sizeof (float);
    guint rows = (guint) MIN (tile->texel_height - texture->next_row, budget_bytes / row_bytes + 1);

    if (tile->name == 0)
      create_storage (texture, tile);
    glBindTexture (GL_TEXTURE_2D, tile->name);
    glTexSubImage2D (GL_TEXTURE_2D, 0, 0, (GLint) texture->next_row, (GLsizei) tile->texel_width,
                     (GLsizei) rows, GL_RED, GL_FLOAT,
                     image->pixels + (gsize) (tile->top + texture->next_row) * image->width
                         + tile->left);
    texture->next_row += rows;
    budget_bytes -= MIN (budget_bytes, rows * row_bytes);
    if (texture->next_row == tile->texel_height) {
      texture->next_row = 0;
      texture->next_tile++;
    }
  }
  glPixelStorei (GL_UNPACK_ROW_LENGTH, 0);
  return texture->next_tile == texture->n_tiles;
}

TdImage *
td_image_texture_image (TdImageTexture *texture)
{
  return texture->image;
}

const TdTile *
td_image_texture_tiles (TdImageTexture *texture, guint *n_tiles)
{
  *n_tiles = texture->n_tiles;
  return texture->tiles;
}

void
td_image_texture_free (TdImageTexture *texture)
{
  if (!texture)
    return;
  for (guint i = 0; i < texture->n_tiles; i++)
    if (texture->tiles[i].name)
      glDeleteTextures (1, &texture->tiles[i].name);
  g_free (texture->tiles);
  td_image_unref (texture->image);
  g_free (texture);
}
