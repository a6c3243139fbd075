/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/engine/engine.h"
#include "compute/recipe/recipe.h"
#include "dataset/scan.h"
#include "render/image.h"

/**
 * TdIterated: one slice by the recipe's iterative method, in the background: its estimate after
 * each pass. The row is taken alone and binned as far as a pass takes about a second. A region
 * would not do: every ray passes what lies around it. Parallel beams. Main thread.
 */
typedef struct TdIterated TdIterated;

typedef struct {
  TdImage *image; /* of the whole slice's extent */
  guint pass, n_passes;
  guint factor;    /* columns and views that were averaged; 1: none */
  double residual; /* relative, after the pass; NAN: not told */
  double seconds;  /* so far */
  char *units;     /* of the values */
  char *device;
} TdIteratedResult;

/* @result: NULL with @error; freed after the call. @last: nothing follows. */
typedef void (*TdIteratedShow) (const TdIteratedResult *result, const GError *error, gboolean last,
                                gpointer user);

TdIterated *td_iterated_new (TdEngine *engine, TdIteratedShow show, gpointer user);
/* Why no slice of an iterating @recipe can be had, to be shown beside the filtered one; static.
   That is so for beams that are not parallel, a crop, bins, a part of the views, or a volume to
   begin with. NULL: it can. */
const char *td_iterated_why_not (const TdScan *scan, const TdRecipe *recipe);
void td_iterated_request (TdIterated *self, TdScan *scan, const TdRecipe *recipe, guint row);
/* Shows nothing more of what was asked; its threads end soon. */
void td_iterated_cancel (TdIterated *self);
gboolean td_iterated_busy (TdIterated *self);
void td_iterated_free (TdIterated *self);
