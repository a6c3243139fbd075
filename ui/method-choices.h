/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gio/gio.h>

#include "compute/recipe/recipe.h"

/* What a person may choose from. Every list and sentence of the window takes its words from here.
   Main thread. */
typedef enum {
  TD_CHOICE_FILTER, /* of all but the kernels, indices are the enumerations' */
  TD_CHOICE_METHOD,
  TD_CHOICE_INTERPOLATION,
  TD_CHOICE_PRECISION,
  TD_CHOICE_FIELD_OF_VIEW,
  TD_CHOICE_ACCURACY,
  TD_CHOICE_KERNEL, /* "auto", then every family of this build */
  TD_N_CHOICES
} TdChoice;

/* By the field's option. */
TdChoice td_choice_of (const char *option);
/* A list for a chooser, @brief where room is short. It lives as long as the program. (transfer
   none) */
GListModel *td_choices (TdChoice choice, gboolean brief);
const char *td_choice_text (TdChoice choice, guint index, gboolean brief);
/* By the name that a recipe or a result has, kernels briefly; a name that is not in the list is
   returned as it is. */
const char *td_choice_label (TdChoice choice, const char *name);
/* What a preview shows that is not made by the method itself; NULL: it is. */
const char *td_preview_label (TdMethodKind method);
const char *td_family_choice_value (guint index);
guint td_family_choice_index (const char *family);
