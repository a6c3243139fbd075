/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/recipe/recipe.h"
#include "dataset/phantom-scan.h"

/* A random scan with a random recipe for it, the same for the same numbers. Mostly what somebody
   might do; odd sizes, one row, two views and the like come often. */
typedef struct {
  GRand *rand;
  TdPhantomScan spec;
  TdScan *scan;
  TdRecipe recipe;
  double portions;      /* how far what is made in other portions may be off, of the rms */
  gboolean judges;      /* a step decides sample by sample, or column by column */
  gboolean keeps_order; /* the order of views matters */
} TdTestInvented;

/* Bounds as parts of the rms. TD_TEST_SAME: the same arithmetic in other portions.
   TD_TEST_OTHER_PORTION: portions have an error of their own. The Fourier method's grid has two
   slices or one, and phase retrieval has more rows or fewer. TD_TEST_OTHER_JUDGE: a step judges
   (hits, stripes), or interpolation takes one column or the next. A sample on the edge may then go
   the other way. */
#define TD_TEST_SAME 4e-6
#define TD_TEST_OTHER_PORTION 1.5e-4
#define TD_TEST_OTHER_JUDGE 2e-2

void td_test_invent (TdTestInvented *trial, guint seed, guint number);
void td_test_invented_clear (TdTestInvented *trial);
/* In words, by g_test_message(). */
void td_test_invented_tell (const TdTestInvented *trial, guint number);

guint td_test_whole (TdTestInvented *trial, guint low, guint high); /* both included */
