/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cases.h"

void
td_test_options (int *argc, char ***argv, const GOptionEntry *entries)
{
  g_autoptr (GOptionContext) context = g_option_context_new (NULL);
  g_autoptr (GError) error = NULL;

  g_option_context_add_main_entries (context, entries, NULL);
  g_option_context_set_help_enabled (context, FALSE);
  g_option_context_set_ignore_unknown_options (context, TRUE);
  g_option_context_parse (context, argc, argv, &error);
  g_assert_no_error (error);
}

void
td_test_add_cases (const char *path, gconstpointer cases, gsize size, guint n, GTestDataFunc test)
{
  for (guint i = 0; i < n; i++) {
    g_autofree char *name = g_strdup_printf ("%s/%02u", path, i);
    g_test_add_data_func (name, (const char *) cases + i * size, test);
  }
}

guint
td_test_stride (guint quick)
{
  return g_test_slow () ? 1 : quick;
}
