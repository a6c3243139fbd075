/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <adwaita.h>

#include "compute/recipe/recipe.h"

/**
 * TdCompareSide: one of the two recipes that are compared. It is the window's recipe with some
 * other choices, or a recipe that is held while the window's goes on changing. Signals: "edited"
 * (), "take-requested" (): make it the window's recipe.
 */
#define TD_TYPE_COMPARE_SIDE (td_compare_side_get_type ())
G_DECLARE_FINAL_TYPE (TdCompareSide, td_compare_side, TD, COMPARE_SIDE, GtkBox)

void td_compare_side_set_name (TdCompareSide *self, const char *name);
void td_compare_side_set_base (TdCompareSide *self, const TdRecipe *base);
const TdRecipe *td_compare_side_recipe (TdCompareSide *self);
/* As if the user had chosen it here. */
void td_compare_side_set_interpolation (TdCompareSide *self, TdInterpolation interpolation);
/* Lines up the choices of the two. */
void td_compare_side_align (TdCompareSide *a, TdCompareSide *b);
/* How it came out, under the choices. */
void td_compare_side_set_outcome (TdCompareSide *self, const char *text);
