/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "recipe.h"

#include <string.h>

#include "dataset/error.h"
#include "dataset/text-file.h"

#define MAX_BYTES ((gsize) 16 << 20)

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
  if (recipe->n_steps == TD_RECIPE_MAX_STEPS)
    return td_set_error_null (
        error, TD_ERROR_INVALID,
        "A recipe holds at most %d preparation steps; take one out before adding %s",
        TD_RECIPE_MAX_STEPS, name);

  while (at < recipe->n_steps && step_rank (recipe->steps[at].name) <= step_rank (name))
    at++;
  memmove (&recipe->steps[at + 1], &recipe->steps[at],
           (recipe->n_steps - at) * sizeof recipe->steps[0]);
  recipe->n_steps++;
  td_step_init (&recipe->steps[at], kind);
  return &recipe->steps[at];
}

/* ── The mask ── */

static gboolean
keep_path (TdRecipe *recipe, const char *path, GError **error)
{
  if (!g_utf8_validate (path, -1, NULL))
    return td_set_error (
        error, TD_ERROR_INVALID,
        "The path of the mask of bad pixels is not UTF-8, and a recipe could not name it; "
        "rename the file");
  if (strlen (path) < sizeof recipe->mask) {
    g_strlcpy (recipe->mask, path, sizeof recipe->mask);
    return TRUE;
  }
  return td_set_error (
      error, TD_ERROR_INVALID,
      "The path of the mask of bad pixels is longer than %d bytes; put it into a folder "
      "nearer to the root",
      TD_RECIPE_MAX_PATH - 1);
}

gboolean
td_recipe_set_mask (TdRecipe *recipe, const char *path, GError **error)
{
  TdRecipe with = *recipe;
  TdStep *step = td_recipe_step (&with, "bad-pixels");

  if (!path) {
    recipe->mask[0] = 0;
    return TRUE;
  }
  g_autofree char *whole = g_canonicalize_filename (path, NULL);
  if (!keep_path (&with, whole, error))
    return FALSE;
  /* Who gives a mask wants it used; to find more bad pixels is asked for with the step. */
  if (step)
    step->enabled = TRUE;
  else if (!td_recipe_set (&with, "prepare", "bad-pixels:find=0", error))
    return FALSE;
  *recipe = with;
  return TRUE;
}

const char *
td_recipe_start_volume (const TdRecipe *recipe)
{
  static const char *const words[] = { "auto", "zero", "filtered", NULL };

  return td_method_iterates (recipe->method) && !g_strv_contains (words, recipe->start)
             ? recipe->start
             : NULL;
}

const char *
td_recipe_mask (const TdRecipe *recipe)
{
  const TdStep *step = td_recipe_step ((TdRecipe *) recipe, "bad-pixels");

  return step && step->enabled && *recipe->mask ? recipe->mask : NULL;
}

/* ── Files ── */

static char *
folder_of (const char *path)
{
  g_autofree char *whole = g_canonicalize_filename (path, NULL);

  return g_path_get_dirname (whole);
}

/* A recipe and its mask that are moved or copied together stay together. */
static void
name_from_folder (TdRecipe *recipe, const char *path)
{
  g_autofree char *folder = folder_of (path);
  g_autofree char *prefix
      = g_str_has_suffix (folder, "/") ? g_strdup (folder) : g_strconcat (folder, "/", NULL);

  if (g_str_has_prefix (recipe->mask, prefix))
    memmove (recipe->mask, recipe->mask + strlen (prefix),
             strlen (recipe->mask + strlen (prefix)) + 1);
}

static gboolean
find_from_folder (TdRecipe *recipe, const char *path, GError **error)
{
  g_autofree char *folder = folder_of (path);
  g_autofree char *whole = g_canonicalize_filename (recipe->mask, folder);

  return !*recipe->mask || keep_path (recipe, whole, error);
}

gboolean
td_recipe_load (TdRecipe *recipe, const char *path, GError **error)
{
  g_autofree char *text = td_text_load (path, MAX_BYTES, error);
  TdRecipe read;

  if (!text)
    return FALSE;
  if (!td_recipe_from_json (&read, text, error) || !find_from_folder (&read, path, error))
    return td_prefix_error (error, "%s: ", path) || td_error_blame_file (error);
  *recipe = read;
  return TRUE;
}

gboolean
td_recipe_save (const TdRecipe *recipe, const char *path, GError **error)
{
  TdRecipe named = *recipe;

  name_from_folder (&named, path);
  g_autofree char *text = td_recipe_to_json (&named);
  g_autofree char *line = g_strconcat (text, "\n", NULL);
  return g_file_set_contents (path, line, -1, error);
}
