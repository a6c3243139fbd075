/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/engine/engine.h"
#include "compute/recipe/recipe.h"
#include "compute/prepare/prepare.h"
#include "dataset/scan.h"
#include "render/image.h"

/**
 * TdPreview: one slice that follows a recipe. The newest request wins; where a slice takes long, a
 * coarse one comes first. A preview is a job of one slice: the path of full runs. Main thread.
 */
typedef struct TdPreview TdPreview;

typedef struct {
  TdImage *image;
  gboolean coarse; /* the full one follows */
  guint row;
  double centre_px;
  double pixel_mm; /* 0: unknown */
  char *units;     /* of the values: "1/mm" or "1/px" */
  char *device;
  const char *kernel, *precision; /* that ran, by their names; static; kernel: NULL: it has none */
  double seconds;                 /* of the job */
  TdPreparationCounts counts;
} TdPreviewResult;

/* The prepared sinogram of a request that asked for it; it comes before the full slice. */
typedef void (*TdPreviewShowSinogram) (TdImage *sinogram, gpointer user);
/* @result: NULL with @error; freed after the call. @last: nothing follows of this request. */
typedef void (*TdPreviewShow) (const TdPreviewResult *result, const GError *error, gboolean last,
                               gpointer user);

/* Whether the recipe takes the detector as it is: nothing is cropped or binned. */
gboolean td_preview_is_whole (const TdRecipe *recipe);

/* @show_sinogram: NULL: never asked for. */
TdPreview *td_preview_new (TdEngine *engine, TdPreviewShow show,
                           TdPreviewShowSinogram show_sinogram, gpointer user);
/* The whole slice of detector row @row: the recipe's rows and region are left aside. @sinogram:
   show the prepared row on the way to it. No sinogram comes where the slice is not made of that
   very row (a cropped or binned scan). Nor does one come without filtered back-projection, or if it
   fails earlier. */
void td_preview_request (TdPreview *preview, TdScan *scan, const TdRecipe *recipe, guint row,
                         gboolean sinogram);
/* Shows nothing more of what was asked, and lets the scan go. */
void td_preview_cancel (TdPreview *preview);
gboolean td_preview_busy (TdPreview *preview);
void td_preview_free (TdPreview *preview);
