/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "presets.h"

#include <errno.h>
#include <glib/gi18n.h>
#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataset/error.h"

#define ENDING ".recipe.json"

static char *
presets_folder (void)
{
  return g_build_filename (g_get_user_data_dir (), "tomodesk", "recipes", NULL);
}

static char *
presets_path (const char *name, GError **error)
{
  g_autofree char *folder = presets_folder ();
  g_autofree char *file = g_strconcat (name, ENDING, NULL);

  if (!*name || *name == '.' || strchr (name, G_DIR_SEPARATOR) || strlen (file) > 200)
    return td_set_error_null (
        error, TD_ERROR_INVALID,
        _ ("“%s” cannot be a preset's name: it must not be empty, begin with a dot, hold "
           "a slash or be long"),
        name);
  return g_build_filename (folder, file, NULL);
}

static int
presets_compare (const void *a, const void *b)
{
  return g_utf8_collate (*(char *const *) a, *(char *const *) b);
}

char **
td_presets_list (void)
{
  g_autofree char *folder = presets_folder ();
  g_autoptr (GDir) files = g_dir_open (folder, 0, NULL);
  g_autoptr (GStrvBuilder) builder = g_strv_builder_new ();
  const char *file;

  while (files && (file = g_dir_read_name (files))) {
    g_autofree char *name
        = g_str_has_suffix (file, ENDING) && *file != '.' && g_utf8_validate (file, -1, NULL)
              ? g_strndup (file, strlen (file) - strlen (ENDING))
              : NULL;
    if (name)
      g_strv_builder_add (builder, name);
  }
  char **names = g_strv_builder_end (builder);
  qsort (names, g_strv_length (names), sizeof *names, presets_compare);
  return names;
}

gboolean
td_presets_save (const char *name, const TdRecipe *recipe, GError **error)
{
  g_autofree char *path = presets_path (name, error);
  g_autofree char *folder = presets_folder ();

  if (!path)
    return FALSE;
  if (g_mkdir_with_parents (folder, 0700) != 0)
    return td_set_error (error, TD_ERROR_IO, _ ("The folder of presets, %s, cannot be made: %s"),
                         folder, g_strerror (errno));
  return td_recipe_save (recipe, path, error);
}

gboolean
td_presets_load (const char *name, TdRecipe *preset, GError **error)
{
  g_autofree char *path = presets_path (name, error);

  return path && td_recipe_load (preset, path, error);
}

void
td_presets_apply (const TdRecipe *preset, TdRecipe *recipe)
{
  const TdRecipe own = *recipe;

  *recipe = *preset;
  memcpy (recipe->mask, own.mask, sizeof own.mask);
  recipe->centre_auto = own.centre_auto;
  recipe->centre_px = own.centre_px;
  recipe->tilt_deg = own.tilt_deg;
  if (td_recipe_start_volume (preset))
    g_strlcpy (recipe->start, "auto", sizeof recipe->start);
  memcpy (recipe->crop, own.crop, sizeof own.crop);
  recipe->view_first = own.view_first;
  recipe->view_end = own.view_end;
  recipe->row_first = own.row_first;
  recipe->row_end = own.row_end;
  memcpy (recipe->region, own.region, sizeof own.region);
  recipe->angle_offset_deg = own.angle_offset_deg;
  recipe->reverse_rotation = own.reverse_rotation;
  recipe->field_of_view = own.field_of_view;
  memcpy (recipe->devices, own.devices, sizeof own.devices);
  recipe->memory_limit_bytes = own.memory_limit_bytes;
  recipe->device_memory_limit_bytes = own.device_memory_limit_bytes;
}

gboolean
td_presets_remove (const char *name, GError **error)
{
  g_autofree char *path = presets_path (name, error);

  if (!path)
    return FALSE;
  if (g_unlink (path) == 0)
    return TRUE;
  return td_set_error (error, TD_ERROR_IO, _ ("The preset “%s” cannot be removed: %s"), name,
                       g_strerror (errno));
}
