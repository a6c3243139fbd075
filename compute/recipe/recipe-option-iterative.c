/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Options of iterative methods. */
#include <string.h>

#include "dataset/error.h"
#include "recipe-option-values.h"

gboolean
td_option_set_iterations (TdRecipe *recipe, const char *option, const char *value, GError **error)
{
  return td_option_count (option, value, 1, 10000, &recipe->iterations, error);
}

gboolean
td_option_set_subsets (TdRecipe *recipe, const char *option, const char *value, GError **error)
{
  recipe->subsets = 0;
  return strcmp (value, "auto") == 0
         || td_option_count (option, value, 1, 100000, &recipe->subsets, error);
}

gboolean
td_option_set_relaxation (TdRecipe *recipe, const char *option, const char *value, GError **error)
{
  if (!td_option_number (option, value, 0, 2, &recipe->relaxation, NULL) || recipe->relaxation <= 0
      || recipe->relaxation >= 2)
    return td_option_invalid (error, option, value, "a factor above 0 and below 2");
  return TRUE;
}

gboolean
td_option_set_non_negative (TdRecipe *recipe, const char *option, const char *value, GError **error)
{
  return td_option_switch (option, value, &recipe->non_negative, error);
}

gboolean
td_option_set_tv (TdRecipe *recipe, const char *option, const char *value, GError **error)
{
  return td_option_number (option, value, 0, 1, &recipe->tv, error);
}

gboolean
td_option_set_stop_at (TdRecipe *recipe, const char *option, const char *value, GError **error)
{
  return td_option_number (option, value, 0, 1, &recipe->stop_at, error);
}

gboolean
td_option_set_tolerance (TdRecipe *recipe, const char *option, const char *value, GError **error)
{
  return td_option_number (option, value, 0, 1, &recipe->tolerance, error);
}

gboolean
td_option_set_start (TdRecipe *recipe, const char *option, const char *value, GError **error)
{
  static const char *const filtered[] = { "filtered", "fdk", "fbp" };
  g_autofree char *path = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (filtered); i++)
    if (strcmp (value, filtered[i]) == 0)
      value = filtered[0];
  if (!*value)
    return td_option_invalid (error, option, value, "auto, zero, fdk or the path of a volume");
  if (strcmp (value, "auto") != 0 && strcmp (value, "zero") != 0
      && strcmp (value, filtered[0]) != 0)
    value = path = g_canonicalize_filename (value, NULL);
  if (strlen (value) >= sizeof recipe->start || !g_utf8_validate (value, -1, NULL))
    return td_option_invalid (error, option, value, "a path in UTF-8 of less than 1024 bytes");
  g_strlcpy (recipe->start, value, sizeof recipe->start);
  return TRUE;
}
