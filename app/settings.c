/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "settings.h"

#include <string.h>

#include "dataset/error.h"
#include "ui/scan-statement.h"

#define SCHEMA "org.tomodesk.Tomodesk"
#define MOST_RECENT 10

static GSettingsSchema *
schema_in (const char *folder)
{
  g_autoptr (GSettingsSchemaSource) source = g_settings_schema_source_new_from_directory (
      folder, g_settings_schema_source_get_default (), FALSE, NULL);

  return source ? g_settings_schema_source_lookup (source, SCHEMA, FALSE) : NULL;
}

static GSettingsSchema *
find_schema (void)
{
  g_autofree char *program = g_file_read_link ("/proc/self/exe", NULL);
  g_autofree char *folder = program ? g_path_get_dirname (program) : g_strdup (".");
  static const char *const places[] = { "../share/glib-2.0/schemas", "../data", "../../data" };
  GSettingsSchemaSource *source = g_settings_schema_source_get_default ();
  GSettingsSchema *schema = source ? g_settings_schema_source_lookup (source, SCHEMA, TRUE) : NULL;

  for (guint i = 0; !schema && i < G_N_ELEMENTS (places); i++) {
    g_autofree char *place = g_build_filename (folder, places[i], NULL);
    schema = schema_in (place);
  }
  return schema;
}

GSettings *
td_settings_new (GError **error)
{
  g_autoptr (GSettingsSchema) schema = find_schema ();

  if (schema)
    return g_settings_new_full (schema, NULL, NULL);
  return td_set_error_null (
      error, TD_ERROR_NOT_FOUND,
      "The settings schema %s is not installed; install Tomodesk again, or run it from its "
      "build folder",
      SCHEMA);
}

void
td_settings_add_recent (GSettings *settings, const char *path)
{
  g_auto (GStrv) old = g_settings_get_strv (settings, "recent-scans");
  g_autoptr (GStrvBuilder) builder = g_strv_builder_new ();
  guint n = 1;

  g_strv_builder_add (builder, path);
  for (guint i = 0; old[i] && n < MOST_RECENT; i++)
    if (strcmp (old[i], path) != 0) {
      g_strv_builder_add (builder, old[i]);
      n++;
    }
  g_auto (GStrv) fresh = g_strv_builder_end (builder);
  g_settings_set_strv (settings, "recent-scans", (const char *const *) fresh);
}

/* ── Kept with a recent scan, for as long as it is one ── */

#define RECIPE_TYPE "(ss)" /* of which detector, JSON */

static GVariant *
get_kept (GSettings *settings, const char *key, const char *type, const char *path)
{
  g_autoptr (GVariant) all = g_settings_get_value (settings, key);

  return g_variant_lookup_value (all, path, G_VARIANT_TYPE (type));
}

/* @value: (transfer floating) (nullable): nothing is kept. */
static void
set_kept (GSettings *settings, const char *key, const char *type, const char *path, GVariant *value)
{
  g_autoptr (GVariant) own = value ? g_variant_ref_sink (value) : NULL;
  g_auto (GStrv) recent = g_settings_get_strv (settings, "recent-scans");
  g_autofree char *all_type = g_strdup_printf ("a{s%s}", type);
  GVariantBuilder builder;

  g_variant_builder_init (&builder, G_VARIANT_TYPE (all_type));
  if (own)
    g_variant_builder_add (&builder, "{s@*}", path, own);
  for (guint i = 0; recent[i]; i++) {
    g_autoptr (GVariant) kept
        = g_strcmp0 (recent[i], path) != 0 ? get_kept (settings, key, type, recent[i]) : NULL;
    if (kept)
      g_variant_builder_add (&builder, "{s@*}", recent[i], kept);
  }
  g_settings_set_value (settings, key, g_variant_builder_end (&builder));
}

GVariant *
td_settings_get_details (GSettings *settings, const char *path)
{
  return get_kept (settings, "recent-details", TD_SCAN_STATEMENT_TYPE, path);
}

void
td_settings_set_details (GSettings *settings, const char *path, GVariant *details)
{
  set_kept (settings, "recent-details", TD_SCAN_STATEMENT_TYPE, path, details);
}

char *
td_settings_get_recipe (GSettings *settings, const char *path, const char *detector)
{
  g_autoptr (GVariant) kept = get_kept (settings, "recent-recipes", RECIPE_TYPE, path);
  const char *of, *json;

  if (!kept)
    return NULL;
  g_variant_get (kept, "(&s&s)", &of, &json);
  return strcmp (of, detector) == 0 ? g_strdup (json) : NULL;
}

void
td_settings_set_recipe (GSettings *settings, const char *path, const char *detector,
                        const char *json)
{
  set_kept (settings, "recent-recipes", RECIPE_TYPE, path,
            json ? g_variant_new (RECIPE_TYPE, detector, json) : NULL);
}
