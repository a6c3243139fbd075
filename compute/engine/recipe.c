/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "recipe.h"

#include <math.h>
#include <string.h>

void
td_recipe_init (TdRecipe *recipe)
{
  memset (recipe, 0, sizeof *recipe);
  for (const TdStepKind *const *kind = td_prepare_steps (); *kind; kind++)
    if ((*kind)->preset_on)
      td_recipe_add_step (recipe, (*kind)->name, NULL);
  recipe->centre_px = NAN;
  recipe->bin[0] = recipe->bin[1] = recipe->bin_views = 1;
  recipe->filter = (TdFilter) { .kind = TD_FILTER_RAM_LAK, .cutoff = 1, .order = 4 };
  recipe->method = TD_METHOD_AUTO;
  g_strlcpy (recipe->family, "auto", sizeof recipe->family);
  recipe->interpolation = TD_INTERPOLATION_LINEAR;
  recipe->precision = TD_PRECISION_SINGLE;
  g_strlcpy (recipe->devices, "auto", sizeof recipe->devices);
  recipe->output_format = TD_VOLUME_TIFF_STACK;
  recipe->output_bits = 32;
  recipe->output_range_auto = TRUE;
}

gboolean
td_recipe_equal (const TdRecipe *a, const TdRecipe *b)
{
  g_autofree char *text_a = td_recipe_to_json (a);
  g_autofree char *text_b = td_recipe_to_json (b);

  return strcmp (text_a, text_b) == 0;
}

TdStep *
td_recipe_step (TdRecipe *recipe, const char *name)
{
  for (guint i = 0; i < recipe->n_steps; i++)
    if (strcmp (recipe->steps[i].name, name) == 0)
      return &recipe->steps[i];
  return NULL;
}

/* Place of a step in the table: the order in which steps run. */
static guint
step_rank (const char *name)
{
  guint rank = 0;

  for (const TdStepKind *const *kind = td_prepare_steps (); *kind; kind++, rank++)
    if (strcmp ((*kind)->name, name) == 0)
      break;
  return rank;
}

TdStep *
td_recipe_add_step (TdRecipe *recipe, const char *name, GError **error)
{
  const TdStepKind *kind = td_prepare_step (name, error);
  TdStep *step = td_recipe_step (recipe, name);
  guint at = 0;

  if (!kind)
    return NULL;
  if (step) {
    step->enabled = TRUE;
    return step;
  }
  if (recipe->n_steps == TD_RECIPE_MAX_STEPS) {
    g_set_error (error, TD_ERROR, TD_ERROR_TOO_LARGE,
                 "A recipe holds at most %d preparation steps; take one out before adding %s",
                 TD_RECIPE_MAX_STEPS, name);
    return NULL;
  }

  while (at < recipe->n_steps && step_rank (recipe->steps[at].name) <= step_rank (name))
    at++;
  memmove (&recipe->steps[at + 1], &recipe->steps[at],
           (recipe->n_steps - at) * sizeof recipe->steps[0]);
  recipe->n_steps++;
  td_step_init (&recipe->steps[at], kind);
  return &recipe->steps[at];
}

gboolean
td_recipe_load (TdRecipe *recipe, const char *path, GError **error)
{
  g_autofree char *text = NULL;
  gsize length;

  if (!g_file_get_contents (path, &text, &length, error))
    return FALSE;
  if (!td_recipe_from_json (recipe, text, error)) {
    g_prefix_error (error, "%s: ", path);
    return FALSE;
  }
  return TRUE;
}

gboolean
td_recipe_save (const TdRecipe *recipe, const char *path, GError **error)
{
  g_autofree char *text = td_recipe_to_json (recipe);
  g_autofree char *line = g_strconcat (text, "\n", NULL);

  return g_file_set_contents (path, line, -1, error);
}
