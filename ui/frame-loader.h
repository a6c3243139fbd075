/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/axis/axis-line.h"
#include "compute/engine/engine.h"
#include "compute/recipe/recipe.h"
#include "latest.h"
#include "render/image.h"

/**
 * One projection or one row's sinogram as a picture, off the main thread. A picture is as stored,
 * or as the recipe prepares it (compute/engine/preview.h). Main thread.
 */

/* @show gets a TdImage. */
TdLatest *td_frame_loader_new (TdLatestShow show, gpointer user);
/* @recipe: (nullable): its steps, with its mask, are run; NULL: as stored. */
void td_frame_loader_projection (TdLatest *loader, TdEngine *engine, TdScan *scan, guint view,
                                 const TdRecipe *recipe);
/* The difference of two opposite views, as td_preview_opposite() makes it. */
void td_frame_loader_opposite (TdLatest *loader, TdEngine *engine, TdScan *scan,
                               const guint views[2], const TdRecipe *recipe,
                               const TdAxisLine *axis);
void td_frame_loader_sinogram (TdLatest *loader, TdEngine *engine, TdScan *scan, guint row,
                               const TdRecipe *recipe);
