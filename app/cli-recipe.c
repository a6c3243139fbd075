/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli-recipe.h"

#include <string.h>

#include "compute/engine/provenance.h"
#include "compute/recipe/field.h"

#define MASK "bad-pixels" /* the recipe's, but listed with the scan's options */

typedef struct {
  char *option, *value;
} Setting;

static void
cli_recipe_setting_free (gpointer data)
{
  Setting *setting = data;

  g_free (setting->option);
  g_free (setting->value);
  g_free (setting);
}

void
td_cli_recipe_clear (TdCliRecipe *recipe)
{
  g_free (recipe->recipe_path);
  g_clear_pointer (&recipe->settings, g_ptr_array_unref);
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

static const char *
cli_recipe_help (const TdField *field)
{
  if (!field->kind->expects)
    return field->help;
  g_autoptr (TdMessage) expected = td_field_expects (field);
  g_autofree char *text = td_message_text (expected, NULL);
  g_autofree char *help = g_strconcat (field->help, ": ", text, NULL);
  return g_intern_string (help); /* GOption keeps the pointer */
}

static void
cli_recipe_add_entry (GOptionGroup *group, const TdField *field)
{
  const gboolean path = field->kind == &td_kind_pointer || g_str_equal (field->option, MASK);
  const GOptionEntry entry[] = {
    { field->option, 0,
      !field->placeholder ? G_OPTION_FLAG_NO_ARG
      : path              ? G_OPTION_FLAG_FILENAME
                          : 0,
      G_OPTION_ARG_CALLBACK, cli_recipe_on_option, cli_recipe_help (field), field->placeholder },
    { NULL },
  };

  g_option_group_add_entries (group, entry);
}

static GOptionGroup *
cli_recipe_group (TdCliRecipe *recipe, gboolean with_recipe)
{
  GOptionGroup *group
      = g_option_group_new ("recipe", with_recipe ? "The scan and the recipe:" : "The scan:",
                            "Options about the scan and the recipe", recipe, NULL);
  const GOptionEntry file[] = {
    { "recipe", 0, 0, G_OPTION_ARG_FILENAME, &recipe->recipe_path,
      "Start from this recipe, or from that of a volume of this program", "FILE" },
    { NULL },
  };

  for (const TdField *field = td_scan_fields; field->option; field++)
    cli_recipe_add_entry (group, field);
  cli_recipe_add_entry (group, td_recipe_field (MASK));
  if (!with_recipe)
    return group;
  g_option_group_add_entries (group, file);
  for (const TdField *field = td_recipe_fields; field->option; field++)
    if (!g_str_equal (field->option, MASK))
      cli_recipe_add_entry (group, field);
  return group;
}

/* A recipe's own file, or a volume of this program, which was made by one. */
static gboolean
cli_recipe_load (TdRecipe *recipe, const char *path, GError **error)
{
  g_autoptr (TdProvenance) made = td_provenance_read (path);

  if (!made)
    return td_recipe_load (recipe, path, error);
  *recipe = made->recipe;
  return TRUE;
}

/* Options of the scan, the mask, and the recipe's others, so that --prepare has the last word. */
static gboolean
cli_recipe_apply (TdCliRecipe *recipe, GError **error)
{
  if (recipe->recipe_path && !cli_recipe_load (&recipe->recipe, recipe->recipe_path, error))
    return FALSE;
  for (guint pass = 0; pass < 3; pass++)
    for (guint i = 0; i < recipe->settings->len; i++) {
      const Setting *setting = g_ptr_array_index (recipe->settings, i);
      const gboolean scans = td_scan_field (setting->option) != NULL;
      const guint its = scans ? 0 : g_str_equal (setting->option, MASK) ? 1 : 2;

      if (its != pass)
        continue;
      if (scans ? !td_scan_options_set (&recipe->scan, setting->option, setting->value, error)
                : !td_recipe_set (&recipe->recipe, setting->option, setting->value, error))
        return FALSE;
      recipe->format_given |= g_str_equal (setting->option, "format");
    }
  return TRUE;
}

int
td_cli_recipe_parse (TdCliRecipe *recipe, guint takes, int argc, char **argv, const TdCliHelp *help,
                     const GOptionEntry *entries, const char **path)
{
  g_autoptr (GError) error = NULL;
  const char *verb = argv[0];

  memset (recipe, 0, sizeof *recipe);
  td_recipe_init (&recipe->recipe);
  recipe->settings = g_ptr_array_new_with_free_func (cli_recipe_setting_free);
  const int status
      = td_cli_parse (argc, argv, help, entries, cli_recipe_group (recipe, takes & TD_CLI_RECIPE),
                      takes & TD_CLI_SCAN ? 1 : 0, path);
  if (status >= 0)
    return status;
  if (!cli_recipe_apply (recipe, &error))
    return g_error_matches (error, TD_ERROR, TD_ERROR_INVALID)
               ? td_cli_usage (verb, "%s", error->message)
               : td_cli_fail (error);
  if ((recipe->scan.source_axis_mm > 0) != (recipe->scan.source_detector_mm > 0))
    return td_cli_usage (verb, "--sod-mm and --sdd-mm belong together and must be above 0");
  if (recipe->scan.source_axis_mm > 0
      && recipe->scan.source_detector_mm <= recipe->scan.source_axis_mm)
    return td_cli_usage (verb,
                         "--sdd-mm %g must be above --sod-mm %g: the detector is behind the axis",
                         recipe->scan.source_detector_mm, recipe->scan.source_axis_mm);
  return -1;
}

int
td_cli_recipe_check (const TdCliRecipe *recipe, const char *verb, const TdScanFacts *facts)
{
  for (guint i = 0; i < recipe->settings->len; i++) {
    const Setting *setting = g_ptr_array_index (recipe->settings, i);
    const TdField *field = td_recipe_field (setting->option);
    const char *reason;

    if (field && !g_str_equal (setting->value, "auto")
        && !td_recipe_field_applies (field, &recipe->recipe, facts, &reason))
      return td_cli_usage (verb, "--%s is not used here: %s", setting->option, reason);
  }
  if (recipe->scan.source_axis_mm > 0 && !(facts->geometry.pixel_width_mm > 0))
    return td_cli_usage (verb,
                         "--sod-mm and --sdd-mm want the size of the detector's pixels, which the "
                         "scan does not have: state it, too (--pixel-mm)");
  return -1;
}

const char *
td_cli_recipe_other (const TdCliRecipe *recipe, gboolean (*takes) (const char *option))
{
  for (guint i = 0; i < recipe->settings->len; i++) {
    const Setting *setting = g_ptr_array_index (recipe->settings, i);

    if (!takes (setting->option))
      return setting->option;
  }
  return NULL;
}

char **
td_cli_recipe_scan_settings (const TdCliRecipe *recipe)
{
  g_autoptr (GStrvBuilder) words = g_strv_builder_new ();

  for (guint i = 0; i < recipe->settings->len; i++) {
    const Setting *setting = g_ptr_array_index (recipe->settings, i);

    if (td_scan_field (setting->option))
      g_strv_builder_add_many (words, setting->option, setting->value, NULL);
  }
  return g_strv_builder_end (words);
}

gboolean
td_cli_recipe_setting_is_recipe (const TdCliRecipe *recipe, guint index)
{
  const Setting *setting = g_ptr_array_index (recipe->settings, index);

  return td_scan_field (setting->option) == NULL;
}

void
td_cli_recipe_choose_format (TdCliRecipe *recipe, const char *output)
{
  const TdVolumeFormat by_ending = td_cli_volume_format (output);

  if (!recipe->format_given && (by_ending != TD_VOLUME_TIFF_STACK || !recipe->recipe_path))
    recipe->recipe.output_format = by_ending;
}
