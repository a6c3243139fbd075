/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/recipe/recipe.h"

#include "compute/device/device.h"
#include "compute/prepare/flats.h"
#include "dataset/scan.h"

/**
 * TdEngine: what outlives a job, so that the next preview starts warm. The engine keeps opened
 * devices with their programs, working sets, averaged flats, and the last rows read from a scan. A
 * process has one engine; any thread may use it.
 */
typedef struct TdEngine TdEngine;

/* How a volume is reconstructed (method.h). */
typedef struct TdMethod TdMethod;

/* @methods: what plans choose from, in the order in which "auto" asks; NULL-terminated, static. The
   program's are td_methods (compute/methods/methods.h). */
TdEngine *td_engine_new (const TdMethod *const *methods);
TdEngine *td_engine_ref (TdEngine *engine);
void td_engine_unref (TdEngine *engine);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdEngine, td_engine_unref)

/* Devices named by a recipe ("auto", "host", "cuda:0,opencl:1"). (transfer full) (element-type
   TdDevice, freed with the array). May block on drivers the first time. */
GPtrArray *td_engine_devices (TdEngine *engine, const char *names, GError **error);
/* A scan's averaged flats and what else is read of it once, shared by every job and picture of it.
   (transfer full) */
TdFlats *td_engine_flats (TdEngine *engine, TdScan *scan);
/* @scan with the mask of bad pixels at that path (td_recipe_mask()), or @scan itself if @mask is
   NULL. Repeated calls return the same object as long as the file is the same. The first call
   blocks on the disk. (transfer full) */
TdScan *td_engine_masked (TdEngine *engine, TdScan *scan, const char *mask, GError **error);
/* The same with what else the recipe says of the scan as it was measured: only some of its views.
   (transfer full) */
TdScan *td_engine_measured (TdEngine *engine, TdScan *scan, const TdRecipe *recipe, GError **error);
/* Drops cached rows and working buffers (a scan was closed). */
void td_engine_trim (TdEngine *engine);
