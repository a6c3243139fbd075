/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/engine/engine.h"
#include "compute/recipe/recipe.h"
#include "render/image.h"

/**
 * TdFrameLoader: one projection or one row's sinogram as a picture, off the main thread; the newest
 * request wins. Raw as stored, or after the recipe's preparation. Main thread.
 */
typedef struct TdFrameLoader TdFrameLoader;

typedef void (*TdFrameShow) (TdImage *image, const GError *error, gpointer user);

TdFrameLoader *td_frame_loader_new (TdEngine *engine, TdFrameShow show, gpointer user);
/* Flat-fielded with averaged flats and darks (-log, as a quick look) or raw. */
void td_frame_loader_projection (TdFrameLoader *loader, TdScan *scan, guint view,
                                 gboolean corrected);
/* @recipe: (nullable): its steps, with its mask, are run on the row; NULL: raw. */
void td_frame_loader_sinogram (TdFrameLoader *loader, TdScan *scan, guint row,
                               const TdRecipe *recipe);
void td_frame_loader_cancel (TdFrameLoader *loader);
gboolean td_frame_loader_busy (TdFrameLoader *loader);
void td_frame_loader_free (TdFrameLoader *loader);
