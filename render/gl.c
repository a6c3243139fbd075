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

gboolean
td_gl_check (GError **error)
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

  for (guint i = 0; renderer && i < G_N_ELEMENTS (names); i++)
    if (strstr (renderer, names[i]))
      return TRUE;
  return FALSE;
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
  GLuint v = gl_compile (GL_VERTEX_SHADER, vertex, error);
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
