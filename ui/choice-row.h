/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <adwaita.h>

/* An AdwComboRow over a table of (value, label): the selected index is the table's. */
typedef struct {
  const char *value; /* as in the recipe */
  const char *label; /* for people, marked for translation with N_() */
} TdChoice;

void td_choice_row_fill (AdwComboRow *row, const TdChoice *choices, guint n_choices);
/* Selects the choice of that value; the first if there is none. */
void td_choice_row_select (AdwComboRow *row, const TdChoice *choices, guint n_choices,
                           const char *value);
