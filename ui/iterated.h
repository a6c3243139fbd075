/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/engine/engine.h"
#include "compute/recipe/recipe.h"
#include "latest.h"
#include "render/image.h"

/**
 * One slice by the recipe's iterative method, in the background: its estimate after
 * each pass. The row is taken alone and binned as far as a pass takes about a second. A region
 * would not do: every ray passes what lies around it. Parallel beams. Main thread.
 */
typedef struct {
  TdImage *image; /* of the whole slice's extent */
  guint pass, n_passes;
  guint factor;    /* columns and views that were averaged; 1: none */
  double residual; /* relative, after the pass; NAN: not told */
  double seconds;  /* so far */
  char *units;     /* of the values */
  char *device;
} TdIteratedResult;

/* @show gets a TdIteratedResult. */
TdLatest *td_iterated_new (TdLatestShow show, gpointer user);
/* Why no slice of an iterating @recipe can be had, to be shown beside the filtered one; static.
   That is so for beams that are not parallel, a crop, bins, a part of the views, or a volume to
   begin with. NULL: it can. */
const char *td_iterated_why_not (const TdScan *scan, const TdRecipe *recipe);
void td_iterated_request (TdLatest *latest, TdEngine *engine, TdScan *scan, const TdRecipe *recipe,
                          guint row);
