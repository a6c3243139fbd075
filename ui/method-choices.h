/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <adwaita.h>

/* The lists behind the choices of method, interpolation, precision (indices are the enumerations') and
   kernel family ("auto", then every family of this build). */
void td_method_choices_fill (AdwComboRow *row);
void td_interpolation_choices_fill (AdwComboRow *row);
void td_precision_choices_fill (AdwComboRow *row);
void td_family_choices_fill (AdwComboRow *row);
const char *td_family_choice_value (guint index);
guint td_family_choice_index (const char *family);
