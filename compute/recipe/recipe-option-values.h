/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "recipe.h"

/* Values of options as they are typed: what recipe-options.c and recipe-option-steps.c share. */

/* Sets @error, "--OPTION VALUE is not EXPECTED", and returns FALSE. */
gboolean td_option_invalid (GError **error, const char *option, const char *value,
                            const char *expected);
/* @names end with NULL. */
gboolean td_option_name (const char *option, const char *value, const char *const *names,
                         int *index, GError **error);
gboolean td_option_number (const char *option, const char *value, double low, double high,
                           double *number, GError **error);
/* A whole number. */
gboolean td_option_count (const char *option, const char *value, guint low, guint high,
                          guint *count, GError **error);
gboolean td_option_switch (const char *option, const char *value, gboolean *on, GError **error);
/* Whole numbers separated by @separator; exactly @n of them. */
gboolean td_option_integers (const char *value, const char *separator, gint64 *numbers, guint n);

/* recipe-option-steps.c: STEP[=VALUE][:NAME=VALUE…], no-STEP or none. */
gboolean td_option_step (TdRecipe *recipe, const char *text, GError **error);

/* recipe-option-iterative.c: setters, as TdRecipeOption has them. */
gboolean td_option_set_iterations (TdRecipe *recipe, const char *option, const char *value,
                                   GError **error);
gboolean td_option_set_subsets (TdRecipe *recipe, const char *option, const char *value,
                                GError **error);
gboolean td_option_set_relaxation (TdRecipe *recipe, const char *option, const char *value,
                                   GError **error);
gboolean td_option_set_non_negative (TdRecipe *recipe, const char *option, const char *value,
                                     GError **error);
gboolean td_option_set_tv (TdRecipe *recipe, const char *option, const char *value, GError **error);
gboolean td_option_set_stop_at (TdRecipe *recipe, const char *option, const char *value,
                                GError **error);
gboolean td_option_set_tolerance (TdRecipe *recipe, const char *option, const char *value,
                                  GError **error);
gboolean td_option_set_start (TdRecipe *recipe, const char *option, const char *value,
                              GError **error);
