/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "source.h"

#include <glib.h>
#include <string.h>

static const char *
source_text (const char *file_name)
{
  for (const TdKernelSource *source = td_kernel_sources; source->name; source++)
    if (strcmp (source->name, file_name) == 0)
      return source->text;
  return NULL;
}

static gboolean
source_append (GString *out, GHashTable *seen, const char *file_name)
{
  const char *text = source_text (file_name);

  if (!text)
    return FALSE;
  if (!g_hash_table_add (seen, g_strdup (file_name)))
    return TRUE;

  g_string_append_printf (out, "#line 1 \"%s\"\n", file_name);
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  for (guint i = 0; lines[i]; i++) {
    const char *quote = g_str_has_prefix (lines[i], "#include \"") ? lines[i] + 10 : NULL;
    if (quote && strchr (quote, '"')) {
      g_autofree char *path = g_strndup (quote, strchr (quote, '"') - quote);
      g_autofree char *name = g_path_get_basename (path);
      if (!source_append (out, seen, name))
        return FALSE;
      g_string_append_printf (out, "#line %u \"%s\"\n", i + 2, file_name);
    } else if (strcmp (lines[i], "#pragma once") != 0) {
      g_string_append (out, lines[i]);
      g_string_append_c (out, '\n');
    } else {
      g_string_append_c (out, '\n');
    }
  }
  return TRUE;
}

char *
td_kernel_source_expand (const char *name, const char *dialect)
{
  g_autoptr (GHashTable) seen = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr (GString) out = g_string_new (NULL);
  g_autofree char *file = g_strconcat (name, ".cl", NULL);

  if (!source_append (out, seen, dialect) || !source_append (out, seen, "params.h")
      || !source_append (out, seen, file))
    return NULL;
  return g_string_free (g_steal_pointer (&out), FALSE);
}
