/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "image-renderer.h"

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
  const TdImage *image = td_image_texture_image (texture);
  double texels = image->width / image->extent_width / (view->zoom * screen->scale);
  guint n_tiles;
  const TdTile *tiles = td_image_texture_tiles (texture, &n_tiles);
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
  for (guint i = 0; i < n_tiles; i++)
    draw_tile (r, image, &tiles[i], view, screen);
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
