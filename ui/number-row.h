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
/* The row shows a number of the settings, and sets it. */
void td_number_row_bind (TdNumberRow *self, GSettings *settings, const char *key);

/* Lets a number be typed or pasted with a point or a comma, whatever the locale writes: "190.75"
   must not become 19075. What is no number leaves the value as it was. */
void td_accept_decimals (GtkSpinButton *spin);
/* Takes the wheel from a spin button or slider that sits in a scrolled panel: scrolling past it
   must not change the recipe. */
void td_ignore_scroll (GtkWidget *widget);
