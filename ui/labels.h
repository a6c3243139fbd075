/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/lab/lab.h"
#include "compute/recipe/recipe.h"
#include "dataset/message.h"

/**
 * TdNaming of the window: what a message names is called as it stands in the window, “Centre of
 * rotation” or “Method: Filtered back-projection”. Fields that the window does not have are called
 * as on the command line. (transfer full)
 */
char *td_label_naming (const char *field, const char *value, const char *argument);
/* An error in the window's words. (transfer full) */
char *td_label_error (const GError *error);
/* The same of a volume by itself, whose window asks for less than that of a scan. */
char *td_label_volume_error (const GError *error);
/* The value of the field of that option: "Hann (smooth)", "132.5", "on". (transfer full) */
char *td_label_value (const char *option, const TdRecipe *recipe);
/* What makes the one recipe of the other, in words: "Filter: Ram-Lak (sharpest) → Hann (smooth)";
   "": they are equal. (transfer full) */
char *td_label_change (const TdRecipe *from, const TdRecipe *to);
/* What a kernel computes: "Texture, Linear, Single, 4 slices". @n_slices: 0: of a cone beam.
   (transfer full) */
char *td_label_kernel_task (const char *family, TdInterpolation interpolation,
                            TdPrecision precision, guint n_slices);
/* What a variant of the lab without a name of its own is called: "Interpolation: Nearest sample".
   (transfer full) */
char *td_label_variant (const TdLabVariant *variant);
/* Somebody gave the variant a name. */
gboolean td_label_variant_is_named (const TdLabVariant *variant);
