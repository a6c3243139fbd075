/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "image-renderer.h"

struct TdImageRenderer {
  GLuint program, vertex_array, map_texture;
  int map; /* the one that map_texture holds; -1: none */
  GLint rect, texel, image, map_unit, size, window, bad, footprint, smooth_on;
};

TdImageRenderer *
td_image_renderer_new (GError **error)
{
  if (!td_gl_check (error))
    return NULL;
  GLuint program = td_gl_program ("image.vert", "image.frag", error);
  if (!program)
    return NULL;
  TdImageRenderer *r = g_new0 (TdImageRenderer, 1);

  r->program = program;
  r->map = -1;
  r->rect = glGetUniformLocation (program, "u_rect");
  r->texel = glGetUniformLocation (program, "u_texel");
  r->image = glGetUniformLocation (program, "u_image");
  r->map_unit = glGetUniformLocation (program, "u_map");
  r->size = glGetUniformLocation (program, "u_size");
  r->window = glGetUniformLocation (program, "u_window");
  r->bad = glGetUniformLocation (program, "u_bad");
  r->footprint = glGetUniformLocation (program, "u_footprint");
  r->smooth_on = glGetUniformLocation (program, "u_smooth");
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

static void
bind_map (TdImageRenderer *r, TdColourMap map)
{
  glActiveTexture (GL_TEXTURE1);
  glBindTexture (GL_TEXTURE_2D, r->map_texture);
  if (r->map != (int) map) {
    glPixelStorei (GL_UNPACK_ALIGNMENT, 4);
    glTexImage2D (GL_TEXTURE_2D, 0, GL_RGBA8, TD_COLOUR_ENTRIES, 1, 0, GL_RGBA, GL_UNSIGNED_BYTE,
                  td_colour_map_table (map));
    glTexParameteri (GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
    glTexParameteri (GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
    glTexParameteri (GL_TEXTURE_2D, GL_TEXTURE_MAX_LEVEL, 0);
    r->map = (int) map;
  }
  glActiveTexture (GL_TEXTURE0);
}

/* Clip coordinates of picture column/row edge (@x, @y), counted in samples. */
static void
clip_position (const TdImage *image, const TdView *view, double width, double height, double scale,
               double x, double y, float *cx, float *cy)
{
  double wx, wy;
  double px = (x / image->width - 0.5) * image->extent_width;
  double py = (y / image->height - 0.5) * image->extent_height;

  td_view_from_picture (view, width / scale, height / scale, px, py, &wx, &wy);
  *cx = (float) (2 * wx * scale / width - 1);
  *cy = (float) (1 - 2 * wy * scale / height);
}

static void
draw_tile (TdImageRenderer *r, const TdImage *image, const TdTile *tile, const TdView *view,
           double width, double height, double scale)
{
  float x0, y0, x1, y1;

  clip_position (image, view, width, height, scale, tile->x, tile->y, &x0, &y0);
  clip_position (image, view, width, height, scale, tile->x + tile->width, tile->y + tile->height,
                 &x1, &y1);
  if (x1 < -1 || x0 > 1 || y0 < -1 || y1 > 1)
    return;
  glBindTexture (GL_TEXTURE_2D, tile->name);
  glUniform4f (r->rect, x0, y0, x1, y1);
  glUniform4f (r->texel, (float) (tile->x - tile->left), (float) (tile->y - tile->top),
               (float) (tile->x - tile->left + tile->width),
               (float) (tile->y - tile->top + tile->height));
  glUniform2i (r->size, (GLint) tile->texel_width, (GLint) tile->texel_height);
  glDrawArrays (GL_TRIANGLE_STRIP, 0, 4);
}

void
td_image_renderer_draw (TdImageRenderer *r, TdImageTexture *texture, const TdView *view,
                        const TdStyle *style, const TdSpan *span, guint width, guint height,
                        double scale)
{
  const TdImage *image = td_image_texture_image (texture);
  double texels = image->width / image->extent_width / (view->zoom * scale);
  guint n_tiles;
  const TdTile *tiles = td_image_texture_tiles (texture, &n_tiles);
  double range = style->high - style->low;

  glDisable (GL_BLEND);
  glDisable (GL_DEPTH_TEST);
  glUseProgram (r->program);
  glBindVertexArray (r->vertex_array);
  bind_map (r, style->map);
  glUniform1i (r->image, 0);
  glUniform1i (r->map_unit, 1);
  glUniform2f (r->window, (float) style->low, (float) (range > 0 ? 1 / range : 1e30));
  glUniform3fv (r->bad, 1, style->bad_rgb);
  glUniform2f (r->footprint, (float) texels,
               (float) (image->height / image->extent_height / (td_view_zoom_down (view) * scale)));
  glUniform1i (r->smooth_on, style->smooth);
  if (span) {
    GLint from = (GLint) (span->from * width + 0.5), to = (GLint) (span->to * width + 0.5);
    glEnable (GL_SCISSOR_TEST);
    glScissor (from, 0, MAX (to - from, 0), (GLsizei) height);
  }
  for (guint i = 0; i < n_tiles; i++)
    draw_tile (r, image, &tiles[i], view, width, height, scale);
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
