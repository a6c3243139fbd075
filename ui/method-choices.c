/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "method-choices.h"

#include <glib/gi18n.h>

#include "choice-row.h"
#include "compute/parallel/backproject.h"

static const TdChoice methods[] = {
  { "auto", N_ ("Automatic") },
  { "fbp", N_ ("Filtered back-projection") },
  { "fdk", N_ ("Cone beam (FDK)") },
  { "fourier", N_ ("Fourier (fastest)") },
};

static const TdChoice interpolations[] = {
  { "nearest", N_ ("Nearest") },
  { "linear", N_ ("Linear") },
};

static const TdChoice precisions[] = {
  { "single", N_ ("Single (32 bits)") },
  { "half", N_ ("Half storage (16 bits)") },
  { "half-run", N_ ("Half, short half sums") },
};

void
td_method_choices_fill (AdwComboRow *row)
{
  td_choice_row_fill (row, methods, G_N_ELEMENTS (methods));
}

void
td_interpolation_choices_fill (AdwComboRow *row)
{
  td_choice_row_fill (row, interpolations, G_N_ELEMENTS (interpolations));
}

void
td_precision_choices_fill (AdwComboRow *row)
{
  td_choice_row_fill (row, precisions, G_N_ELEMENTS (precisions));
}

void
td_family_choices_fill (AdwComboRow *row)
{
  const TdBackprojectFamily *const *families = td_backproject_families ();
  g_autoptr (GtkStringList) list = gtk_string_list_new (NULL);

  gtk_string_list_append (list, _("Automatic"));
  for (guint i = 0; families[i]; i++)
    gtk_string_list_append (list, families[i]->title);
  adw_combo_row_set_model (row, G_LIST_MODEL (list));
}

const char *
td_family_choice_value (guint index)
{
  const TdBackprojectFamily *const *families = td_backproject_families ();

  for (guint i = 0; families[i]; i++)
    if (i + 1 == index)
      return families[i]->name;
  return "auto";
}

guint
td_family_choice_index (const char *family)
{
  const TdBackprojectFamily *const *families = td_backproject_families ();

  for (guint i = 0; families[i]; i++)
    if (g_strcmp0 (families[i]->name, family) == 0)
      return i + 1;
  return 0;
}
