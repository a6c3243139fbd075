/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "space-renderer.h"

#include <math.h>

struct TdSpaceRenderer {
  GLuint program, vertex_array, buffer;
  GLint size;
  GArray *vertices; /* Vertex, kept from picture to picture */
};

typedef struct {
  float x, y; /* pixels */
  float rgba[4];
  float edge[3]; /* place across the shape and half its width, pixels: where it fades */
} Vertex;

#define NO_EDGE 1e6f

TdSpaceRenderer *
td_space_renderer_new (GError **error)
{
  GLuint program = td_gl_program ("space.vert", "space.frag", error);
  if (!program)
    return NULL;
  TdSpaceRenderer *r = g_new0 (TdSpaceRenderer, 1);
  const GLint counts[] = { 2, 4, 3 };
  gsize offset = 0;

  r->program = program;
  r->size = glGetUniformLocation (program, "u_size");
  r->vertices = g_array_new (FALSE, FALSE, sizeof (Vertex));
  glGenVertexArrays (1, &r->vertex_array);
  glGenBuffers (1, &r->buffer);
  glBindVertexArray (r->vertex_array);
  glBindBuffer (GL_ARRAY_BUFFER, r->buffer);
  for (GLuint i = 0; i < G_N_ELEMENTS (counts); i++) {
    glEnableVertexAttribArray (i);
    glVertexAttribPointer (i, counts[i], GL_FLOAT, GL_FALSE, sizeof (Vertex),
                           (const void *) offset);
    offset += (gsize) counts[i] * sizeof (float);
  }
  glBindVertexArray (0);
  return r;
}

static void
add_vertex (GArray *vertices, const TdShape *shape, float x, float y, float across, float along,
            float half)
{
  const float *c = shape->ink.rgba;
  Vertex vertex = { x, y, { c[0], c[1], c[2], c[3] }, { across, along, half } };

  g_array_append_val (vertices, vertex);
}

/* Two triangles around a line, a pixel wider on both sides for the soft edge. */
static void
space_renderer_add_line (GArray *vertices, const TdShape *s)
{
  static const int corners[6][2]
      = { { 0, -1 }, { 0, 1 }, { 1, -1 }, { 1, -1 }, { 0, 1 }, { 1, 1 } };
  const float dx = s->x[1] - s->x[0], dy = s->y[1] - s->y[0], length = hypotf (dx, dy);
  const float half = s->width / 2, reach = half + 1;

  if (!(length > 1e-4f))
    return;
  for (guint i = 0; i < 6; i++) {
    const int end = corners[i][0];
    const float side = (float) corners[i][1] * reach;
    add_vertex (vertices, s, s->x[end] - side * dy / length, s->y[end] + side * dx / length, side,
                0, half);
  }
}

static void
add_dot (GArray *vertices, const TdShape *s)
{
  static const int corners[6][2]
      = { { -1, -1 }, { -1, 1 }, { 1, -1 }, { 1, -1 }, { -1, 1 }, { 1, 1 } };
  const float half = s->width / 2, reach = half + 1;

  for (guint i = 0; i < 6; i++) {
    const float x = (float) corners[i][0] * reach, y = (float) corners[i][1] * reach;
    add_vertex (vertices, s, s->x[0] + x, s->y[0] + y, x, y, half);
  }
}

static void
add_shape (GArray *vertices, const TdShape *s)
{
  if (s->kind == TD_SHAPE_LINE)
    space_renderer_add_line (vertices, s);
  else if (s->kind == TD_SHAPE_DOT)
    add_dot (vertices, s);
  else
    for (guint i = 0; i < 3; i++)
      add_vertex (vertices, s, s->x[i], s->y[i], 0, 0, NO_EDGE);
}

void
td_space_renderer_draw (TdSpaceRenderer *r, GArray *shapes, TdInk background, guint width,
                        guint height)
{
  g_array_set_size (r->vertices, 0);
  for (guint i = 0; i < shapes->len; i++)
    add_shape (r->vertices, &g_array_index (shapes, TdShape, i));
  glDisable (GL_SCISSOR_TEST);
  glDisable (GL_DEPTH_TEST);
  glClearColor (background.rgba[0], background.rgba[1], background.rgba[2], 1);
  glClear (GL_COLOR_BUFFER_BIT);
  if (r->vertices->len == 0)
    return;
  glEnable (GL_BLEND);
  /* The picture stays opaque whatever is painted on it. */
  glBlendFuncSeparate (GL_SRC_ALPHA, GL_ONE_MINUS_SRC_ALPHA, GL_ZERO, GL_ONE);
  glUseProgram (r->program);
  glBindVertexArray (r->vertex_array);
  glBindBuffer (GL_ARRAY_BUFFER, r->buffer);
  glBufferData (GL_ARRAY_BUFFER, (GLsizeiptr) (r->vertices->len * sizeof (Vertex)),
                r->vertices->data, GL_STREAM_DRAW);
  glUniform2f (r->size, (float) width, (float) height);
  glDrawArrays (GL_TRIANGLES, 0, (GLsizei) r->vertices->len);
  glBindBuffer (GL_ARRAY_BUFFER, 0);
  glBindVertexArray (0);
  glUseProgram (0);
  glDisable (GL_BLEND);
}

void
td_space_renderer_free (TdSpaceRenderer *r)
{
  if (!r)
    return;
  glDeleteProgram (r->program);
  glDeleteVertexArrays (1, &r->vertex_array);
  glDeleteBuffers (1, &r->buffer);
  g_array_unref (r->vertices);
  g_free (r);
}
