/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/* Takes a test's own options from its words, before g_test_init() takes the others. */
void td_test_options (int *argc, char ***argv, const GOptionEntry *entries);

/* A test for each of @n cases of @size bytes: "@path/00" and so on. */
void td_test_add_cases (const char *path, gconstpointer cases, gsize size, guint n,
                        GTestDataFunc test);

/* Steps through a table of like cases: all with -m slow, else each @quick-th. */
guint td_test_stride (guint quick);
