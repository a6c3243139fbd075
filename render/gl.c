/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "gl.h"

#include <gio/gio.h>
#include <string.h>

#include "render-resources.h"

/* The first word is a name with hyphens. */
/* clang-format off */
G_DEFINE_QUARK (td-render-error, td_render_error)
/* clang-format on */

#define FAIL(error, ...) g_set_error (error, TD_RENDER_ERROR, 0, __VA_ARGS__)

/* FALSE with a sentence when the current context is older than OpenGL 3.3 or OpenGL ES 3.0. */
static gboolean
gl_check (GError **error)
{
  int version = epoxy_gl_version ();
  gboolean desktop = epoxy_is_desktop_gl ();

  if (version >= (desktop ? 33 : 30))
    return TRUE;
  FAIL (error,
        "OpenGL%s %d.%d is too old to draw with; 3.3 (or ES 3.0) is needed. "
        "A newer graphics driver helps",
        desktop ? "" : " ES", version / 10, version % 10);
  return FALSE;
}

gboolean
td_gl_is_software (void)
{
  static const char *const names[]
      = { "llvmpipe", "softpipe", "swrast", "Software Rasterizer", "SWR", "Basic Render" };
  const char *renderer = (const char *) glGetString (GL_RENDERER);

  g_debug ("OpenGL by %s", renderer);
  for (guint i = 0; renderer && i < G_N_ELEMENTS (names); i++)
    if (strstr (renderer, names[i]))
      return TRUE;
  return FALSE;
}

guint
td_gl_volume_side_of (gboolean software, guint most, gboolean (*holds) (guint side))
{
  static const guint sides[] = { TD_GL_CARD_SIDE, 384, 256 };

  for (guint i = 0; i < G_N_ELEMENTS (sides) && !software; i++)
    if (sides[i] <= most && holds (sides[i]))
      return sides[i];
  return TD_GL_SOFTWARE_SIDE;
}

/* Half a card's memory is for others. Where it tells nothing of its memory, the texture is tried.
 */
static gboolean
gl_holds_volume (guint side)
{
  const guint64 bytes = (guint64) side * side * side * 2;
  GLuint texture;

  if (epoxy_has_gl_extension ("GL_NVX_gpu_memory_info")) {
    GLint free_kib = 0;
    glGetIntegerv (GL_GPU_MEMORY_INFO_CURRENT_AVAILABLE_VIDMEM_NVX, &free_kib);
    if (bytes > (guint64) MAX (free_kib, 0) * 1024 / 2)
      return FALSE;
  }
  while (glGetError () != GL_NO_ERROR)
    ;
  glGenTextures (1, &texture);
  glBindTexture (GL_TEXTURE_3D, texture);
  glTexImage3D (GL_TEXTURE_3D, 0, GL_R16F, (GLsizei) side, (GLsizei) side, (GLsizei) side, 0,
                GL_RED, GL_FLOAT, NULL);
  const gboolean held = glGetError () == GL_NO_ERROR;
  glBindTexture (GL_TEXTURE_3D, 0);
  glDeleteTextures (1, &texture);
  return held;
}

guint
td_gl_volume_side (void)
{
  GLint most = 0;

  if (!gl_check (NULL))
    return TD_GL_SOFTWARE_SIDE;
  glGetIntegerv (GL_MAX_3D_TEXTURE_SIZE, &most);
  return td_gl_volume_side_of (td_gl_is_software (), (guint) MAX (most, 0), gl_holds_volume);
}

static char *
shader_source (const char *name, GError **error)
{
  g_autofree char *path = g_strconcat ("/org/tomodesk/render/", name, NULL);
  g_autoptr (GBytes) bytes = g_resource_lookup_data (td_render_get_resource (), path,
                                                     G_RESOURCE_LOOKUP_FLAGS_NONE, error);
  if (!bytes)
    return NULL;
  const char *header = epoxy_is_desktop_gl ()
                           ? "#version 330 core\n"
                           : "#version 300 es\nprecision highp float;\nprecision highp int;\n"
                             "precision highp sampler2D;\n";
  return g_strconcat (header, (const char *) g_bytes_get_data (bytes, NULL), NULL);
}

static GLuint
gl_compile (GLenum kind, const char *name, GError **error)
{
  g_autofree char *source = shader_source (name, error);
  if (!source)
    return 0;
  GLuint shader = glCreateShader (kind);
  GLint built = 0;

  glShaderSource (shader, 1, (const char *const *) &source, NULL);
  glCompileShader (shader);
  glGetShaderiv (shader, GL_COMPILE_STATUS, &built);
  if (built)
    return shader;
  char log[1024] = "";
  glGetShaderInfoLog (shader, sizeof log, NULL, log);
  FAIL (error, "The graphics driver does not compile %s: %s", name, g_strstrip (log));
  glDeleteShader (shader);
  return 0;
}

GLuint
td_gl_program (const char *vertex, const char *fragment, GError **error)
{
  GLuint v = gl_check (error) ? gl_compile (GL_VERTEX_SHADER, vertex, error) : 0;
  if (!v)
    return 0;
  GLuint f = gl_compile (GL_FRAGMENT_SHADER, fragment, error);
  if (!f) {
    glDeleteShader (v);
    return 0;
  }
  GLuint program = glCreateProgram ();
  GLint linked = 0;

  glAttachShader (program, v);
  glAttachShader (program, f);
  glLinkProgram (program);
  glDeleteShader (v);
  glDeleteShader (f);
  glGetProgramiv (program, GL_LINK_STATUS, &linked);
  if (linked)
    return program;
  char log[1024] = "";
  glGetProgramInfoLog (program, sizeof log, NULL, log);
  FAIL (error, "The graphics driver does not link %s: %s", fragment, g_strstrip (log));
  glDeleteProgram (program);
  return 0;
}

void
td_gl_bind_map (GLuint texture, TdColourMap map, int *held)
{
  glActiveTexture (GL_TEXTURE1);
  glBindTexture (GL_TEXTURE_2D, texture);
  if (*held != (int) map) {
    glPixelStorei (GL_UNPACK_ALIGNMENT, 4);
    glTexImage2D (GL_TEXTURE_2D, 0, GL_RGBA8, TD_COLOUR_ENTRIES, 1, 0, GL_RGBA, GL_UNSIGNED_BYTE,
                  td_colour_map_table (map));
    glTexParameteri (GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
    glTexParameteri (GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
    glTexParameteri (GL_TEXTURE_2D, GL_TEXTURE_MAX_LEVEL, 0);
    *held = (int) map;
  }
  glActiveTexture (GL_TEXTURE0);
}
