/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli-recipe.h"

#include <math.h>
#include <string.h>

typedef struct {
  char *option, *value;
} Setting;

static void
setting_free (gpointer data)
{
  Setting *setting = data;

  g_free (setting->option);
  g_free (setting->value);
  g_free (setting);
}

void
td_cli_recipe_init (TdCliRecipe *recipe)
{
  memset (recipe, 0, sizeof *recipe);
  td_recipe_init (&recipe->recipe);
  recipe->settings = g_ptr_array_new_with_free_func (setting_free);
}

void
td_cli_recipe_clear (TdCliRecipe *recipe)
{
  g_free (recipe->recipe_path);
  g_free (recipe->flats);
  g_free (recipe->darks);
  g_free (recipe->bad_pixels);
  g_free (recipe->angles);
  g_free (recipe->geometry);
  g_free (recipe->dataset);
  g_free (recipe->raw);
  g_free (recipe->values);
  g_ptr_array_unref (recipe->settings);
}

/* Only collected here: a recipe file comes first, wherever it stands among the options. */
static gboolean
cli_recipe_on_option (const char *name, const char *value, gpointer data, GError **error)
{
  TdCliRecipe *recipe = data;
  Setting *setting = g_new (Setting, 1);

  *setting = (Setting) { g_strdup (name + strlen ("--")), g_strdup (value ? value : "true") };
  g_ptr_array_add (recipe->settings, setting);
  return TRUE;
}

static void
add_scan_entries (GOptionGroup *group, TdCliRecipe *recipe)
{
  const GOptionEntry entries[] = {
    { "flats", 0, 0, G_OPTION_ARG_FILENAME, &recipe->flats, "Flat fields, if they are elsewhere",
      "PATH" },
    { "darks", 0, 0, G_OPTION_ARG_FILENAME, &recipe->darks, "Dark fields, if they are elsewhere",
      "PATH" },
    { "bad-pixels", 0, 0, G_OPTION_ARG_FILENAME, &recipe->bad_pixels,
      "An image of the detector, not 0 where a pixel is bad", "FILE" },
    { "angles", 0, 0, G_OPTION_ARG_STRING, &recipe->angles,
      "A file of angles, or first and last angle in degrees", "FILE|A:B" },
    { "geometry", 0, 0, G_OPTION_ARG_FILENAME, &recipe->geometry, "A geometry file", "FILE" },
    { "pixel-mm", 0, 0, G_OPTION_ARG_DOUBLE, &recipe->pixel_mm, "Size of a detector pixel", "MM" },
    { "sod-mm", 0, 0, G_OPTION_ARG_DOUBLE, &recipe->sod_mm,
      "Cone or fan beam: source to rotation axis", "MM" },
    { "sdd-mm", 0, 0, G_OPTION_ARG_DOUBLE, &recipe->sdd_mm, "Cone or fan beam: source to detector",
      "MM" },
    { "dataset", 0, 0, G_OPTION_ARG_STRING, &recipe->dataset, "HDF5: where the projections are",
      "NAME" },
    { "sinograms", 0, 0, G_OPTION_ARG_NONE, &recipe->sinograms,
      "TIFF: every file or page is the sinogram of one row", NULL },
    { "values", 0, 0, G_OPTION_ARG_STRING, &recipe->values,
      "What the samples are, where that is not seen: intensities, or attenuations (−log was taken)",
      "KIND" },
    { "raw", 0, 0, G_OPTION_ARG_STRING, &recipe->raw,
      "Headerless files: frame size, sample type, bytes to skip", "WxH:TYPE[:SKIP]" },
    { NULL },
  };

  g_option_group_add_entries (group, entries);
}

static void
add_recipe_entries (GOptionGroup *group, TdCliRecipe *recipe)
{
  const GOptionEntry file[] = {
    { "recipe", 0, 0, G_OPTION_ARG_FILENAME, &recipe->recipe_path,
      "Start from this recipe (as written by the window or inside a result)", "FILE" },
    { NULL },
  };

  g_option_group_add_entries (group, file);
  for (const TdRecipeOption *option = td_recipe_options (); option->name; option++) {
    const GOptionEntry entry[] = {
      { option->name, 0, option->placeholder ? 0 : G_OPTION_FLAG_NO_ARG, G_OPTION_ARG_CALLBACK,
        cli_recipe_on_option, option->help, option->placeholder },
      { NULL },
    };
    g_option_group_add_entries (group, entry);
  }
}

GOptionGroup *
td_cli_recipe_group (TdCliRecipe *recipe, gboolean with_recipe)
{
  GOptionGroup *group
      = g_option_group_new ("recipe", with_recipe ? "The scan and the recipe:" : "The scan:",
                            "Options about the scan and the recipe", recipe, NULL);

  add_scan_entries (group, recipe);
  if (with_recipe)
    add_recipe_entries (group, recipe);
  return group;
}

static gboolean
cli_recipe_apply (TdCliRecipe *recipe, GError **error)
{
  if ((recipe->recipe_path && !td_recipe_load (&recipe->recipe, recipe->recipe_path, error))
      || (recipe->bad_pixels && !td_recipe_set_mask (&recipe->recipe, recipe->bad_pixels, error)))
    return FALSE;
  for (guint i = 0; i < recipe->settings->len; i++) {
    Setting *setting = g_ptr_array_index (recipe->settings, i);
    if (!td_recipe_set (&recipe->recipe, setting->option, setting->value, error))
      return FALSE;
    recipe->format_given |= strcmp (setting->option, "format") == 0;
  }
  return !recipe->raw || td_scan_options_set_raw (&recipe->scan, recipe->raw, error);
}

/* FALSE: it is none. */
static gboolean
parse_values (const char *text, TdScanValues *values)
{
  if (g_str_equal (text, "intensities"))
    *values = TD_SCAN_VALUES_INTENSITIES;
  else if (g_str_equal (text, "attenuations"))
    *values = TD_SCAN_VALUES_ATTENUATIONS;
  else
    return FALSE;
  return TRUE;
}

int
td_cli_recipe_finish (TdCliRecipe *recipe, const char *verb)
{
  g_autoptr (GError) error = NULL;

  if (recipe->values && !parse_values (recipe->values, &recipe->scan.values))
    return td_cli_usage (verb, "--values \"%s\" is neither intensities nor attenuations",
                         recipe->values);

  if (!(recipe->pixel_mm >= 0) || isinf (recipe->pixel_mm))
    return td_cli_usage (verb, "--pixel-mm must be above 0");
  if (!(recipe->sod_mm >= 0 && recipe->sdd_mm >= 0) || isinf (recipe->sod_mm)
      || isinf (recipe->sdd_mm) || (recipe->sod_mm > 0) != (recipe->sdd_mm > 0))
    return td_cli_usage (verb, "--sod-mm and --sdd-mm belong together and must be above 0");
  recipe->scan.pixel_mm = recipe->pixel_mm;
  recipe->scan.source_axis_mm = recipe->sod_mm;
  recipe->scan.source_detector_mm = recipe->sdd_mm;
  recipe->scan.flats = recipe->flats;
  recipe->scan.darks = recipe->darks;
  recipe->scan.angles = recipe->angles;
  recipe->scan.geometry = recipe->geometry;
  recipe->scan.dataset = recipe->dataset;
  recipe->scan.sinograms = recipe->sinograms;
  if (!cli_recipe_apply (recipe, &error))
    return td_cli_usage (verb, "%s", error->message);
  return -1;
}
