/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/axis/axis-line.h"
#include "compute/engine/engine.h"
#include "compute/recipe/recipe.h"
#include "render/image.h"

/**
 * TdFrameLoader: one projection or one row's sinogram as a picture, off the main thread. The newest
 * request wins. A picture is as stored, or as the recipe prepares it (compute/engine/preview.h).
 * Main thread.
 */
typedef struct TdFrameLoader TdFrameLoader;

typedef void (*TdFrameShow) (TdImage *image, const GError *error, gpointer user);

TdFrameLoader *td_frame_loader_new (TdEngine *engine, TdFrameShow show, gpointer user);
/* @recipe: (nullable): its steps, with its mask, are run; NULL: as stored. */
void td_frame_loader_projection (TdFrameLoader *loader, TdScan *scan, guint view,
                                 const TdRecipe *recipe);
/* The difference of two opposite views, as td_preview_opposite() makes it. */
void td_frame_loader_opposite (TdFrameLoader *loader, TdScan *scan, const guint views[2],
                               const TdRecipe *recipe, const TdAxisLine *axis);
void td_frame_loader_sinogram (TdFrameLoader *loader, TdScan *scan, guint row,
                               const TdRecipe *recipe);
void td_frame_loader_cancel (TdFrameLoader *loader);
gboolean td_frame_loader_busy (TdFrameLoader *loader);
void td_frame_loader_free (TdFrameLoader *loader);
