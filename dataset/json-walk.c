/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "json-walk.h"

#include <math.h>
#include <string.h>

#include "error.h"
#include "text-file.h"
#include "unit.h"

#define MAX_BYTES ((gsize) 16 << 20)
#define MAX_DEPTH 100u

gboolean
td_json_is_deep (const char *text)
{
  guint depth = 0;

  for (; *text; text++) {
    if (*text == '"') {
      for (text++; *text && *text != '"'; text++)
        if (*text == '\\' && text[1])
          text++;
      if (!*text)
        return FALSE;
    } else if (*text == '\'' || *text == '/') {
      /* The library takes comments and single quotes, which JSON has not. They may hide the ends
         of lists or of strings, so that from here on all that begins counts. */
      for (; *text; text++)
        depth += *text == '[' || *text == '{';
      return depth > MAX_DEPTH;
    } else if (*text == '[' || *text == '{') {
      if (++depth > MAX_DEPTH)
        return TRUE;
    } else if ((*text == ']' || *text == '}') && depth > 0)
      depth--;
  }
  return FALSE;
}

JsonNode *
td_json_parse (const char *text)
{
  g_autoptr (JsonParser) parser = json_parser_new ();

  if (!text || td_json_is_deep (text) || !json_parser_load_from_data (parser, text, -1, NULL)
      || !json_parser_get_root (parser) || !JSON_NODE_HOLDS_OBJECT (json_parser_get_root (parser)))
    return NULL;
  return json_parser_steal_root (parser);
}

typedef struct {
  GPtrArray *open; /* the names so far of each object that is open */
  char *twice;
} Names;

static void
json_walk_open (JsonParser *parser, gpointer user)
{
  Names *names = user;

  g_ptr_array_add (names->open, g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL));
}

static void
json_walk_name (JsonParser *parser, JsonObject *object, const char *name, gpointer user)
{
  Names *names = user;

  if (!g_hash_table_add (names->open->pdata[names->open->len - 1], g_strdup (name))
      && !names->twice)
    names->twice = g_strdup (name);
}

static void
json_walk_close (JsonParser *parser, JsonObject *object, gpointer user)
{
  Names *names = user;

  g_ptr_array_remove_index (names->open, names->open->len - 1);
}

char *
td_json_twice (const char *text)
{
  g_autoptr (JsonParser) parser = json_parser_new ();
  g_autoptr (GPtrArray) open = g_ptr_array_new_with_free_func ((GDestroyNotify) g_hash_table_unref);
  Names names = { open, NULL };

  g_signal_connect (parser, "object-start", G_CALLBACK (json_walk_open), &names);
  g_signal_connect (parser, "object-member", G_CALLBACK (json_walk_name), &names);
  g_signal_connect (parser, "object-end", G_CALLBACK (json_walk_close), &names);
  json_parser_load_from_data (parser, text, -1, NULL);
  return names.twice;
}

JsonNode *
td_json_load (const char *path, GError **error)
{
  g_autofree char *text = td_text_load (path, MAX_BYTES, error);
  JsonNode *root = td_json_parse (text);

  if (text && !root)
    td_set_error (error, TD_ERROR_BAD_FILE, "“%s” is not a sound JSON file", path);
  return root;
}

JsonNode *
td_json_at (JsonNode *root, const char *path)
{
  g_auto (GStrv) names = g_strsplit (path, "/", -1);
  JsonNode *node = root;

  for (guint i = 0; node && names[i]; i++)
    node = JSON_NODE_HOLDS_OBJECT (node)
               ? json_object_get_member (json_node_get_object (node), names[i])
               : NULL;
  return node && !JSON_NODE_HOLDS_NULL (node) ? node : NULL;
}

const char *
td_json_string (JsonNode *root, const char *path)
{
  JsonNode *node = td_json_at (root, path);

  return node && JSON_NODE_HOLDS_VALUE (node) && json_node_get_value_type (node) == G_TYPE_STRING
             ? json_node_get_string (node)
             : NULL;
}

JsonArray *
td_json_list (JsonNode *root, const char *path)
{
  JsonNode *node = td_json_at (root, path);

  return node && JSON_NODE_HOLDS_ARRAY (node) ? json_node_get_array (node) : NULL;
}

char **
td_json_strings (JsonNode *root, const char *path)
{
  JsonArray *list = td_json_list (root, path);
  g_autoptr (GStrvBuilder) strings = g_strv_builder_new ();

  for (guint i = 0; list && i < json_array_get_length (list); i++) {
    JsonNode *node = json_array_get_element (list, i);
    if (JSON_NODE_HOLDS_VALUE (node) && json_node_get_value_type (node) == G_TYPE_STRING)
      g_strv_builder_add (strings, json_node_get_string (node));
  }
  return list ? g_strv_builder_end (strings) : NULL;
}

double
td_json_number (JsonNode *root, const char *path)
{
  JsonNode *node = td_json_at (root, path);

  if (!node || !JSON_NODE_HOLDS_VALUE (node)
      || (json_node_get_value_type (node) != G_TYPE_INT64
          && json_node_get_value_type (node) != G_TYPE_DOUBLE))
    return NAN;
  return json_node_get_double (node);
}

guint
td_json_count (JsonNode *root, const char *path)
{
  double value = td_json_number (root, path);

  return value >= 0 && value <= G_MAXINT32 && value == floor (value) ? (guint) value : 0;
}

gboolean
td_json_flag (JsonNode *root, const char *path, gboolean *flag)
{
  JsonNode *node = td_json_at (root, path);
  const gboolean is_flag
      = node && JSON_NODE_HOLDS_VALUE (node) && json_node_get_value_type (node) == G_TYPE_BOOLEAN;

  *flag = is_flag && json_node_get_boolean (node);
  return !node || is_flag;
}

gboolean
td_json_true (JsonNode *root, const char *path)
{
  gboolean flag;

  return td_json_flag (root, path, &flag) && flag;
}

double
td_json_length_mm (JsonNode *root, const char *path)
{
  JsonNode *node = td_json_at (root, path);
  const char *name = td_json_string (node, "unit");
  const double unit = name ? td_length_unit (name) : td_json_at (node, "unit") ? 0 : 1;

  return unit > 0 ? td_json_number (node, "value") * unit : NAN;
}

double
td_json_angle_rad (JsonNode *root, const char *path)
{
  JsonNode *node = td_json_at (root, path);
  const char *name = td_json_string (node, "unit");
  const double unit = name                        ? td_angle_unit (name, FALSE)
                      : td_json_at (node, "unit") ? 0
                                                  : G_PI / 180;

  return unit > 0 ? td_json_number (node, "value") * unit : NAN;
}

/* ── As text ── */

/* Appends the string that begins with the quote at @at; returns what follows it. */
static const char *
json_text_add_string (GString *out, const char *at)
{
  g_string_append_c (out, *at++);
  for (; *at && *at != '"'; at++) {
    if ((guchar) *at < 0x20) {
      g_string_append_printf (out, "\\u%04x", *at);
      continue;
    }
    g_string_append_c (out, *at);
    if (*at == '\\' && at[1])
      g_string_append_c (out, *++at);
  }
  if (*at)
    g_string_append_c (out, *at++);
  return at;
}

/* The same for the number, or what is written for one, at @at. */
static const char *
json_text_add_number (GString *out, const char *at)
{
  const gsize n = strspn (at, "0123456789+-.eEinfa");
  g_autofree char *number = g_strndup (at, n);
  char *exponent = strpbrk (number, "eE");

  if (strpbrk (number, "nN"))
    g_string_append (out, "null");
  else {
    if (exponent)
      exponent[strcspn (exponent, ".")] = 0;
    g_string_append (out, number);
  }
  return at + n;
}

char *
td_json_text (JsonNode *root, gboolean pretty)
{
  g_autofree char *text = json_to_string (root, pretty);
  GString *out = g_string_sized_new (strlen (text));

  for (const char *at = text; *at;) {
    const gboolean nan = g_str_has_prefix (at, "nan") || g_str_has_prefix (at, "inf");

    if (*at == '"')
      at = json_text_add_string (out, at);
    else if (*at == '-' || g_ascii_isdigit (*at) || nan)
      at = json_text_add_number (out, at);
    else
      g_string_append_c (out, *at++);
  }
  return g_string_free (out, FALSE);
}
