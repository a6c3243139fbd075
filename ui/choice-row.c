/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "choice-row.h"

#include <glib/gi18n.h>

void
td_choice_row_fill (AdwComboRow *row, const TdChoice *choices, guint n_choices)
{
  g_autoptr (GtkStringList) list = gtk_string_list_new (NULL);

  for (guint i = 0; i < n_choices; i++)
    gtk_string_list_append (list, _(choices[i].label));
  adw_combo_row_set_model (row, G_LIST_MODEL (list));
}

void
td_choice_row_select (AdwComboRow *row, const TdChoice *choices, guint n_choices, const char *value)
{
  guint selected = 0;

  for (guint i = 0; i < n_choices; i++)
    if (g_strcmp0 (choices[i].value, value) == 0)
      selected = i;
  adw_combo_row_set_selected (row, selected);
}
