/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <epoxy/gl.h>
#include <glib.h>

#include "colour-map.h"

/* What every GL user here shares. All calls: the thread of the current GL context. */
#define TD_RENDER_ERROR (td_render_error_quark ())
GQuark td_render_error_quark (void);

/* The current context's pictures are drawn by the processor. */
gboolean td_gl_is_software (void);
/* How many voxels the longest side of a volume may have that is looked at from outside. A card
   takes TD_GL_CARD_SIDE, or less if its textures and memory hold less, which is tried. Where the
   processor draws, it is TD_GL_SOFTWARE_SIDE. */
#define TD_GL_CARD_SIDE 512u
#define TD_GL_SOFTWARE_SIDE 192u
guint td_gl_volume_side (void);
/* The same of what is known: @most: the longest side of a texture; @holds: whether one of that side
   can be had. */
guint td_gl_volume_side_of (gboolean software, guint most, gboolean (*holds) (guint side));
/* Binds @texture as texture 1, with @map in it. @held: the map that it holds already; -1: none. */
void td_gl_bind_map (GLuint texture, TdColourMap map, int *held);
/* Compiles the shaders of those names from the resources with the header that the context (desktop
   or ES) wants. 0 with @error set: they fail, or the context
   is older than OpenGL 3.3 or OpenGL ES 3.0. */
GLuint td_gl_program (const char *vertex, const char *fragment, GError **error);
