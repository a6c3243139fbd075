/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/* Which random cases: --first SEED, --cases N; what is not given stays as it is. */
void td_test_cases (int argc, char **argv, guint64 *first_seed, int *n_cases);
