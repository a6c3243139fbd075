/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ini-text.h"

#include <math.h>
#include <string.h>

#include "error.h"
#include "number.h"
#include "text-file.h"

#define MAX_BYTES ((gsize) 4 << 20)

struct TdIni {
  char *path;
  GHashTable *values; /* "section\nkey", folded -> value */
  GHashTable *others; /* the same -> the value that another line states instead */
  GError *wrong; /* what the first value that was asked for and cannot be meant is; NULL: none */
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
  g_autofree char *name = ini_text_folded (*section, g_strchomp (line));
  const char *value = g_strchug (equals + 1), *before = g_hash_table_lookup (ini->values, name);

  if (before && strcmp (before, value) != 0)
    g_hash_table_replace (ini->others, g_strdup (name), g_strdup (before));
  g_hash_table_replace (ini->values, g_steal_pointer (&name), g_strdup (value));
}

TdIni *
td_ini_load (const char *path, GError **error)
{
  g_autofree char *text = td_text_load (path, MAX_BYTES, error);
  g_autofree char *section = g_strdup ("");

  if (!text)
    return NULL;
  TdIni *ini = g_new0 (TdIni, 1);
  ini->path = g_strdup (path);
  ini->values = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  ini->others = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  g_auto (GStrv) lines = g_strsplit_set (text, "\r\n", -1);
  for (guint i = 0; lines[i]; i++)
    ini_text_parse_line (ini, lines[i], &section);
  return ini;
}

void
td_ini_free (TdIni *ini)
{
  g_free (ini->path);
  g_hash_table_unref (ini->values);
  g_hash_table_unref (ini->others);
  g_clear_error (&ini->wrong);
  g_free (ini);
}

gboolean
td_ini_check (const TdIni *ini, GError **error)
{
  if (!ini->wrong)
    return TRUE;
  g_clear_error (error);
  if (error)
    *error = g_error_copy (ini->wrong);
  return FALSE;
}

/* The first is told: others may follow from it. */
static void
ini_text_blame (TdIni *ini, const char *key, const char *value)
{
  if (!ini->wrong)
    td_set_error (&ini->wrong, TD_ERROR_BAD_FILE,
                  "“%s”: “%s=%s” is not a number that this can be: correct that line", ini->path,
                  key, value);
}

const char *
td_ini_string (TdIni *ini, const char *section, const char *key)
{
  g_autofree char *name = ini_text_folded (section, key);
  const char *value = g_hash_table_lookup (ini->values, name);
  const char *other = g_hash_table_lookup (ini->others, name);

  if (other && !ini->wrong)
    td_set_error (&ini->wrong, TD_ERROR_BAD_FILE,
                  "“%s” states “%s” more than once, as “%s” and as “%s”: leave the right line only",
                  ini->path, key, other, value);
  return value;
}

double
td_ini_number (TdIni *ini, const char *section, const char *key)
{
  const char *text = td_ini_string (ini, section, key);
  g_autofree char *point = g_strdup (text ? text : "");
  double value;

  g_strdelimit (g_strstrip (point), ",", '.');
  if (td_parse_number (point, -G_MAXDOUBLE, G_MAXDOUBLE, &value))
    return value;
  if (*point)
    ini_text_blame (ini, key, text);
  return NAN;
}

guint
td_ini_count (TdIni *ini, const char *section, const char *key)
{
  const double value = td_ini_number (ini, section, key);

  if (value >= 0 && value <= G_MAXINT32 && value == floor (value))
    return (guint) value;
  if (isfinite (value))
    ini_text_blame (ini, key, td_ini_string (ini, section, key));
  return 0;
}
