/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <string.h>

#include "dataset/scan.h"

#define COLUMNS 40u
#define ROWS 24u
#define VIEWS 6u

/* The facts of a small scan with a flat and a dark. */
static inline void
fill_facts (TdScanFacts *facts, double *angles)
{
  memset (facts, 0, sizeof *facts);
  td_geometry_init_parallel (&facts->geometry);
  facts->n_columns = COLUMNS;
  facts->n_rows = ROWS;
  facts->n_views = VIEWS;
  facts->n_flats = facts->n_darks = 1;
  facts->sample_type = TD_SAMPLE_UINT16;
  facts->angles_rad = angles;
  for (guint i = 0; i < VIEWS; i++)
    angles[i] = 0.5 * i;
}

/* A case of each name; the test is handed its place. */
static inline void
add_for_each (const char *what, GTestDataFunc function, const char *const *of, guint n)
{
  for (guint i = 0; i < n; i++) {
    g_autofree char *name = g_strdup_printf ("/files/%s/%s", what, of[i]);

    g_test_add_data_func (name, GUINT_TO_POINTER (i), function);
  }
}
