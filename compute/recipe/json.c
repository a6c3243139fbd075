/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "json.h"

#include <math.h>

#include "dataset/json-walk.h"

void
td_json_add_number (JsonBuilder *builder, const char *name, double value)
{
  json_builder_set_member_name (builder, name);
  if (isfinite (value))
    json_builder_add_double_value (builder, value);
  else
    json_builder_add_null_value (builder);
}

void
td_json_add_integer (JsonBuilder *builder, const char *name, guint64 value)
{
  json_builder_set_member_name (builder, name);
  json_builder_add_int_value (builder, (gint64) MIN (value, (guint64) G_MAXINT64));
}

/* Names of files may be any bytes, and JSON is UTF-8: what is none is replaced. */
static void
json_add_text (JsonBuilder *builder, const char *value)
{
  g_autofree char *valid = g_utf8_make_valid (value, -1);

  json_builder_add_string_value (builder, valid);
}

void
td_json_add_string (JsonBuilder *builder, const char *name, const char *value)
{
  json_builder_set_member_name (builder, name);
  if (value)
    json_add_text (builder, value);
  else
    json_builder_add_null_value (builder);
}

void
td_json_add_boolean (JsonBuilder *builder, const char *name, gboolean value)
{
  json_builder_set_member_name (builder, name);
  json_builder_add_boolean_value (builder, value);
}

void
td_json_begin_list (JsonBuilder *builder, const char *name)
{
  json_builder_set_member_name (builder, name);
  json_builder_begin_array (builder);
}

void
td_json_begin_object (JsonBuilder *builder, const char *name)
{
  json_builder_set_member_name (builder, name);
  json_builder_begin_object (builder);
}

void
td_json_add_strings (JsonBuilder *builder, const char *name, char **values)
{
  td_json_begin_list (builder, name);
  for (guint i = 0; values && values[i]; i++)
    json_add_text (builder, values[i]);
  json_builder_end_array (builder);
}

char *
td_json_print (JsonBuilder *builder)
{
  g_autoptr (JsonNode) root = json_builder_get_root (builder);
  return td_json_text (root, TRUE);
}

gboolean
td_json_save (JsonBuilder *builder, const char *path, GError **error)
{
  g_autofree char *text = td_json_print (builder);

  return g_file_set_contents_full (
      path, text, -1, G_FILE_SET_CONTENTS_CONSISTENT | G_FILE_SET_CONTENTS_DURABLE, 0600, error);
}

static void
json_add_message (JsonBuilder *builder, const TdMessage *message)
{
  g_autofree char *field = td_message_field (message);

  json_builder_begin_object (builder);
  td_json_add_string (builder, "id", td_message_id (message));
  td_json_add_string (builder, "field", field);
  td_json_add_strings (builder, "values", (char **) td_message_values (message));
  json_builder_end_object (builder);
}

void
td_json_add_notes (JsonBuilder *builder, TdMessage *const *notes)
{
  g_auto (GStrv) texts = td_messages_texts (notes, NULL);

  td_json_add_strings (builder, "notes", texts);
  json_builder_set_member_name (builder, "messages");
  json_builder_begin_array (builder);
  for (guint i = 0; notes && notes[i]; i++)
    json_add_message (builder, notes[i]);
  json_builder_end_array (builder);
}
