/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <adwaita.h>

/**
 * TdNumberRow: a preferences row with a spin button.
 * Signal "changed" (double value): by the user or td_number_row_set_value().
 */
#define TD_TYPE_NUMBER_ROW (td_number_row_get_type ())
G_DECLARE_FINAL_TYPE (TdNumberRow, td_number_row, TD, NUMBER_ROW, AdwActionRow)

GtkWidget *td_number_row_new (const char *title, const char *subtitle, double minimum,
                              double maximum, double step, guint digits);
void td_number_row_set_range (TdNumberRow *self, double minimum, double maximum);
void td_number_row_set_steps (TdNumberRow *self, double step, double page, guint digits);
void td_number_row_set_value (TdNumberRow *self, double value);
double td_number_row_get_value (TdNumberRow *self);
