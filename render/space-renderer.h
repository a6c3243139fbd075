/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "gl.h"
#include "space.h"

/* TdSpaceRenderer: shapes by OpenGL 3.3 or ES 3.0. All calls: the thread of the same current
 * context. */
typedef struct TdSpaceRenderer TdSpaceRenderer;

TdSpaceRenderer *td_space_renderer_new (GError **error);
/* Into the framebuffer that is bound, of @width × @height pixels, over @background. */
void td_space_renderer_draw (TdSpaceRenderer *renderer, GArray *shapes, TdInk background,
                             guint width, guint height);
void td_space_renderer_free (TdSpaceRenderer *renderer);
