/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cases.h"

void
td_test_cases (int argc, char **argv, guint64 *first_seed, int *n_cases)
{
  for (int i = 1; i + 1 < argc; i++) {
    if (g_str_equal (argv[i], "--first"))
      *first_seed = g_ascii_strtoull (argv[i + 1], NULL, 10);
    if (g_str_equal (argv[i], "--cases"))
      *n_cases = (int) g_ascii_strtoull (argv[i + 1], NULL, 10);
  }
}
