/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "series.h"

#include <string.h>

#include "error.h"

static gsize
series_digits (const char *text)
{
  return strspn (text, "0123456789");
}

int
td_natural_compare (const char *a, const char *b)
{
  const char *whole_a = a, *whole_b = b;

  while (*a && *b) {
    gsize n_a = series_digits (a), n_b = series_digits (b);

    if (n_a > 0 && n_b > 0) {
      gsize zeros_a = strspn (a, "0"), zeros_b = strspn (b, "0");
      int order;

      zeros_a -= zeros_a == n_a; /* a lone zero is a digit that counts */
      zeros_b -= zeros_b == n_b;
      if (n_a - zeros_a != n_b - zeros_b)
        return n_a - zeros_a < n_b - zeros_b ? -1 : 1;
      order = strncmp (a + zeros_a, b + zeros_b, n_a - zeros_a);
      if (order != 0)
        return order;
      a += n_a;
      b += n_b;
    } else {
      char low_a = g_ascii_tolower (*a), low_b = g_ascii_tolower (*b);

      if (low_a != low_b)
        return (guchar) low_a < (guchar) low_b ? -1 : 1;
      a++;
      b++;
    }
  }
  if (*a || *b)
    return *a ? 1 : -1;
  return strcmp (whole_a, whole_b); /* img_1 and img_01: some order, always the same */
}

/* Where the last run of digits before the extension begins and ends; FALSE: none. */
static gboolean
find_number (const char *name, gsize *begin, gsize *end)
{
  const char *dot = strrchr (name, '.');
  gsize i = dot && dot != name ? (gsize) (dot - name) : strlen (name);

  while (i > 0 && !g_ascii_isdigit (name[i - 1]))
    i--;
  *end = i;
  while (i > 0 && g_ascii_isdigit (name[i - 1]))
    i--;
  *begin = i;
  return *end > *begin;
}

gint64
td_series_number (const char *name)
{
  gsize begin, end;

  if (!find_number (name, &begin, &end) || end - begin > 18)
    return -1;
  return g_ascii_strtoll (name + begin, NULL, 10);
}

char *
td_series_pattern (const char *name)
{
  gsize begin, end;

  if (!find_number (name, &begin, &end))
    return g_ascii_strdown (name, -1);
  GString *pattern = g_string_new_len (name, begin);
  g_string_append_c (pattern, '#');
  g_string_append (pattern, name + end);
  char *folded = g_ascii_strdown (pattern->str, -1);
  g_string_free (pattern, TRUE);
  return folded;
}

static int
compare_pointers (gconstpointer a, gconstpointer b)
{
  return td_natural_compare (*(char *const *) a, *(char *const *) b);
}

char **
td_series_list (const char *folder, gboolean (*accept) (const char *name), GError **error)
{
  g_autoptr (GError) local = NULL;
  g_autoptr (GDir) dir = g_dir_open (folder, 0, &local);
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  const char *name;

  if (!dir)
    return td_set_error_null (error, TD_ERROR_IO, "The folder “%s” cannot be listed: %s", folder,
                              local->message);
  while ((name = g_dir_read_name (dir)))
    if (name[0] != '.' && (!accept || accept (name)))
      g_ptr_array_add (names, g_strdup (name));
  g_ptr_array_sort (names, compare_pointers);
  g_ptr_array_add (names, NULL);
  return (char **) g_ptr_array_free (g_steal_pointer (&names), FALSE);
}

char **
td_series_paths (const char *folder, gboolean (*accept) (const char *name), GError **error)
{
  char **names = td_series_list (folder, accept, error);

  for (guint i = 0; names && names[i]; i++) {
    char *path = g_build_filename (folder, names[i], NULL);

    g_free (names[i]);
    names[i] = path;
  }
  return names;
}

char **
td_series_only (const char *path, gboolean (*accept) (const char *name), GError **error)
{
  if (!g_file_test (path, G_FILE_TEST_IS_DIR))
    return g_strdupv ((char *[]) { (char *) path, NULL });
  g_auto (GStrv) paths = td_series_paths (path, accept, error);
  g_autoptr (GStrvBuilder) files = g_strv_builder_new ();
  g_autofree char *first = NULL, *first_name = NULL;

  for (guint i = 0; paths && paths[i]; i++) {
    g_autofree char *name = g_path_get_basename (paths[i]), *pattern = td_series_pattern (name);

    if (g_file_test (paths[i], G_FILE_TEST_IS_DIR))
      continue;
    g_strv_builder_add (files, paths[i]);
    if (!first) {
      first = g_steal_pointer (&pattern);
      first_name = g_steal_pointer (&name);
    } else if (strcmp (pattern, first) != 0)
      return td_set_error_null (
          error, TD_ERROR_UNSUPPORTED,
          "“%s” holds “%s” and “%s”, which are not named alike: put the files of one scan "
          "or volume into a folder of their own, or open one file",
          path, first_name, name);
  }
  return paths ? g_strv_builder_end (files) : NULL;
}

gboolean
td_series_is_tiff (const char *name)
{
  const char *dot = strrchr (name, '.');

  return dot && (g_ascii_strcasecmp (dot, ".tif") == 0 || g_ascii_strcasecmp (dot, ".tiff") == 0);
}

char *
td_series_base (const char *path)
{
  const char *behind = strrchr (path, '\\');

  return g_path_get_basename (behind && behind[1] ? behind + 1 : path);
}

gboolean
td_series_ends (const char *name, const char *ending)
{
  const gsize length = strlen (name), n = strlen (ending);

  return length >= n && g_ascii_strcasecmp (name + length - n, ending) == 0;
}

char *
td_series_find (const char *folder, const char *name)
{
  g_autofree char *exact = g_build_filename (folder, name, NULL);

  if (g_file_test (exact, G_FILE_TEST_IS_REGULAR))
    return g_steal_pointer (&exact);
  g_auto (GStrv) paths = td_series_paths (folder, NULL, NULL);
  for (guint i = 0; paths && paths[i]; i++) {
    g_autofree char *own = g_path_get_basename (paths[i]);

    if (g_ascii_strcasecmp (own, name) == 0 && g_file_test (paths[i], G_FILE_TEST_IS_REGULAR))
      return g_strdup (paths[i]);
  }
  return NULL;
}
