/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ini-text.h"

#include <math.h>
#include <string.h>

#include "number.h"
#include "text-file.h"

#define MAX_BYTES ((gsize) 4 << 20)

struct TdIni {
  GHashTable *values; /* "section\nkey", folded -> value */
};

static char *
ini_text_folded (const char *section, const char *key)
{
  g_autofree char *joined = g_strconcat (section, "\n", key, NULL);

  return g_ascii_strdown (joined, -1);
}

static void
ini_text_parse_line (TdIni *ini, char *line, char **section)
{
  char *end, *equals;

  g_strstrip (line);
  if (*line == '[') {
    end = strchr (line, ']');
    if (!end)
      return;
    *end = '\0';
    g_free (*section);
    *section = g_ascii_strdown (g_strstrip (line + 1), -1);
    return;
  }
  equals = strchr (line, '=');
  if (!equals || *line == ';' || *line == '#')
    return;
  *equals = '\0';
  g_hash_table_replace (ini->values, ini_text_folded (*section, g_strchomp (line)),
                        g_strdup (g_strchug (equals + 1)));
}

TdIni *
td_ini_load (const char *path, GError **error)
{
  g_autofree char *text = td_text_load (path, MAX_BYTES, error);
  g_autofree char *section = g_strdup ("");
  g_auto (GStrv) lines = NULL;
  TdIni *ini;

  if (!text)
    return NULL;
  ini = g_new (TdIni, 1);
  ini->values = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  lines = g_strsplit (text, "\n", -1);
  for (guint i = 0; lines[i]; i++)
    ini_text_parse_line (ini, lines[i], &section);
  return ini;
}

void
td_ini_free (TdIni *ini)
{
  g_hash_table_unref (ini->values);
  g_free (ini);
}

const char *
td_ini_string (const TdIni *ini, const char *section, const char *key)
{
  g_autofree char *name = ini_text_folded (section, key);

  return g_hash_table_lookup (ini->values, name);
}

double
td_ini_number (const TdIni *ini, const char *section, const char *key)
{
  const char *text = td_ini_string (ini, section, key);
  g_autofree char *point = g_strdup (text ? text : "");
  double value;

  g_strdelimit (g_strstrip (point), ",", '.');
  return td_parse_number (point, -G_MAXDOUBLE, G_MAXDOUBLE, &value) ? value : NAN;
}

guint
td_ini_count (const TdIni *ini, const char *section, const char *key)
{
  double value = td_ini_number (ini, section, key);

  return value >= 0 && value <= G_MAXINT32 && value == floor (value) ? (guint) value : 0;
}
