/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "engine.h"

/**
 * TdAdvice: what a scan's own data say about its recipe, each with the edit that follows it. Three
 * rows are read, with flat field and logarithm only, and looked at as sinograms p[view][column].
 *
 * Noise is measured by fourth differences along the columns. An object has few edges, so that the
 * median absolute value of its differences is small. White noise of standard deviation s has
 * differences of sqrt (70) s. The difference of two neighbouring views is free of what all views
 * share; its noise is a view's. The mean of all views has that noise divided by sqrt (views), and
 * what lies above it is the columns' own: rings.
 *
 * A row's scale is the 95th percentile of its values. Air is looked for in a strip of columns at
 * either edge. The sample covers a strip in a view whose mean is above TD_ADVICE_INSIDE scales. So
 * it does where the mean is above TD_ADVICE_COVERED scales and the strip is not level.
 */
typedef enum {
  TD_ADVICE_NO_FLATS,    /* counts without flats: nothing else can be said */
  TD_ADVICE_OFFSET_AXIS, /* a full turn that sees the sample to one side only */
  TD_ADVICE_RINGS,
  TD_ADVICE_DRIFT,      /* the air between views is not steady */
  TD_ADVICE_BACKGROUND, /* it is, and not at 0 */
  TD_ADVICE_RIM,        /* the sample is wider than the detector */
  TD_ADVICE_FEW_VIEWS,
  TD_N_ADVICE
} TdAdviceKind;

/* Views see the edge strip of the detector covered above this part of the row's scale. */
#define TD_ADVICE_COVERED 0.15
#define TD_ADVICE_INSIDE 0.8
/* Columns' own offsets, in standard deviations of the noise of the mean of all views, in those of
   one view, and in scales. Rings below the second are lost in the slice's noise. */
#define TD_ADVICE_RINGS_OF_MEAN 2.0
#define TD_ADVICE_RINGS_OF_VIEW 0.15
#define TD_ADVICE_RINGS_OF_SCALE 1e-3
/* Air that is further from 0, or moves by more, in scales. */
#define TD_ADVICE_AIR 0.01
/* What stands at the detector's edges in most views although nothing enters there, in scales. That
   is a medium or a container wider than the detector. */
#define TD_ADVICE_LEVEL 0.1
/* Directions, in columns: filtered slices of fewer have streaks. */
#define TD_ADVICE_VIEWS 0.25

typedef struct {
  TdAdviceKind kind;
  TdMessage *message; /* one sentence: what was seen, and what helps */
  double value;  /* NO_FLATS: the open beam's counts, as they seem; DRIFT: 1 where the two sides
                    of the detector move apart */
  guint columns; /* of air at either edge */
} TdAdvice;

extern const char *const td_advice_names[TD_N_ADVICE]; /* "rings", … */

/* What the rows show, the first being the most urgent; an empty array: nothing. Steps of @recipe
   other than flat field and logarithm are not looked at, and its device is not used: the host does
   it. Blocks on the disk: any thread but the main one. NULL with @error: a row cannot be read.
   (transfer full) (element-type TdAdvice, freed with the array) */
GPtrArray *td_engine_advise (TdEngine *engine, TdScan *scan, const TdRecipe *recipe,
                             GCancellable *cancellable, GError **error);

/* Edits @recipe by the advice; FALSE with @error: it has no room for another step. */
gboolean td_advice_apply (const TdAdvice *advice, TdRecipe *recipe, GError **error);
/* The recipe has what the advice asks for, or comes to it by itself. @facts: of the scan. */
gboolean td_advice_is_followed (const TdAdvice *advice, const TdScanFacts *facts,
                                const TdRecipe *recipe);
