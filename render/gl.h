/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <epoxy/gl.h>
#include <glib.h>

/* What every GL user here shares. All calls: the thread of the current GL context. */
#define TD_RENDER_ERROR (td_render_error_quark ())
GQuark td_render_error_quark (void);

/* FALSE with a sentence when the current context is older than OpenGL 3.3 or OpenGL ES 3.0. */
gboolean td_gl_check (GError **error);
/* The current context's pictures are drawn by the processor. */
gboolean td_gl_is_software (void);
/* Compiles the shaders of those names from the resources with the header that the context (desktop
   or ES) wants. 0 with @error set. */
GLuint td_gl_program (const char *vertex, const char *fragment, GError **error);
