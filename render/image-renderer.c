/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "image-renderer.h"

/* ── Pictures in graphics memory ── */

/* Beyond this a picture goes up as half floats if that is not seen: half the graphics memory. What
   is read and measured in it are always its own values. */
#define HALF_ABOVE_PIXELS (64u << 20)

typedef struct {
  GLuint name;
  guint x, y, width, height;                  /* picture pixels this tile draws */
  guint left, top, texel_width, texel_height; /* picture pixels its texture holds */
} TdTile;

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

/* ── Drawing them ── */

struct TdImageRenderer {
  GLuint program, vertex_array, map_texture;
  int map; /* the one that map_texture holds; -1: none */
};

TdImageRenderer *
td_image_renderer_new (GError **error)
{
  GLuint program = td_gl_program ("image.vert", "image.frag", error);
  if (!program)
    return NULL;
  TdImageRenderer *r = g_new0 (TdImageRenderer, 1);

  r->program = program;
  r->map = -1;
  glGenVertexArrays (1, &r->vertex_array);
  glGenTextures (1, &r->map_texture);
  return r;
}

void
td_image_renderer_clear (TdImageRenderer *r, const TdStyle *style)
{
  glDisable (GL_SCISSOR_TEST);
  glClearColor (style->background[0], style->background[1], style->background[2], 1);
  glClear (GL_COLOR_BUFFER_BIT);
}

static GLint
image_renderer_at (const TdImageRenderer *r, const char *name)
{
  return glGetUniformLocation (r->program, name);
}

/* Clip coordinates of the tile's corners: left, top, right and bottom. */
static void
tile_corners (const TdImage *image, const TdTile *tile, const TdView *view, const TdScreen *screen,
              float corners[4])
{
  const double width = screen->width / screen->scale, height = screen->height / screen->scale;

  for (guint k = 0; k < 2; k++) {
    const double x = tile->x + k * tile->width, y = tile->y + k * tile->height;
    const double px = (x / image->width - 0.5) * image->extent_width;
    const double py = (y / image->height - 0.5) * image->extent_height;
    double wx, wy;

    td_view_from_picture (view, width, height, px, py, &wx, &wy);
    corners[2 * k] = (float) (2 * wx * screen->scale / screen->width - 1);
    corners[2 * k + 1] = (float) (1 - 2 * wy * screen->scale / screen->height);
  }
}

static void
draw_tile (TdImageRenderer *r, const TdImage *image, const TdTile *tile, const TdView *view,
           const TdScreen *screen)
{
  float at[4];

  tile_corners (image, tile, view, screen, at);
  if (at[2] < -1 || at[0] > 1 || at[1] < -1 || at[3] > 1)
    return;
  glBindTexture (GL_TEXTURE_2D, tile->name);
  glUniform4f (image_renderer_at (r, "u_rect"), at[0], at[1], at[2], at[3]);
  glUniform4f (image_renderer_at (r, "u_texel"), (float) (tile->x - tile->left),
               (float) (tile->y - tile->top), (float) (tile->x - tile->left + tile->width),
               (float) (tile->y - tile->top + tile->height));
  glUniform2i (image_renderer_at (r, "u_size"), (GLint) tile->texel_width,
               (GLint) tile->texel_height);
  glDrawArrays (GL_TRIANGLE_STRIP, 0, 4);
}

void
td_image_renderer_draw (TdImageRenderer *r, TdImageTexture *texture, const TdView *view,
                        const TdStyle *style, const TdSpan *span, const TdScreen *screen)
{
  const TdImage *image = texture->image;
  double texels = image->width / image->extent_width / (view->zoom * screen->scale);
  double range = style->high - style->low;

  glDisable (GL_BLEND);
  glDisable (GL_DEPTH_TEST);
  glUseProgram (r->program);
  glBindVertexArray (r->vertex_array);
  td_gl_bind_map (r->map_texture, style->map, &r->map);
  glUniform1i (image_renderer_at (r, "u_image"), 0);
  glUniform1i (image_renderer_at (r, "u_map"), 1);
  glUniform2f (image_renderer_at (r, "u_window"), (float) style->low,
               (float) (range > 0 ? 1 / range : 1e30));
  glUniform3fv (image_renderer_at (r, "u_bad"), 1, style->bad_rgb);
  glUniform2f (
      image_renderer_at (r, "u_footprint"), (float) texels,
      (float) (image->height / image->extent_height / (td_view_zoom_down (view) * screen->scale)));
  glUniform1i (image_renderer_at (r, "u_smooth"), style->smooth);
  if (span) {
    GLint from = (GLint) (span->from * screen->width + 0.5),
          to = (GLint) (span->to * screen->width + 0.5);
    glEnable (GL_SCISSOR_TEST);
    glScissor (from, 0, MAX (to - from, 0), (GLsizei) screen->height);
  }
  for (guint i = 0; i < texture->n_tiles; i++)
    draw_tile (r, image, &texture->tiles[i], view, screen);
  glDisable (GL_SCISSOR_TEST);
  glBindVertexArray (0);
  glUseProgram (0);
}

void
td_image_renderer_free (TdImageRenderer *r)
{
  if (!r)
    return;
  glDeleteProgram (r->program);
  glDeleteVertexArrays (1, &r->vertex_array);
  glDeleteTextures (1, &r->map_texture);
  g_free (r);
}
