/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "gl.h"
#include "voxels.h"

/* TdVoxelRenderer: the picture of td_voxels_cast() by OpenGL 3.3 or ES 3.0, over what is drawn
   already. All calls: the thread of the same current context. */
typedef struct TdVoxelRenderer TdVoxelRenderer;

TdVoxelRenderer *td_voxel_renderer_new (GError **error);
/* Into the framebuffer that is bound, of @width × @height pixels. Uploads @voxels where they are
   others than before, of large ones some layers a call: TRUE: the others follow with the next. */
gboolean td_voxel_renderer_draw (TdVoxelRenderer *renderer, TdVoxels *voxels, const TdCast *cast,
                                 const TdCamera *camera, guint width, guint height);
void td_voxel_renderer_free (TdVoxelRenderer *renderer);
