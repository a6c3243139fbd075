/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "number-row.h"

#include <math.h>

#include "ui.h"

struct _TdNumberRow {
  AdwActionRow parent_instance;
  GtkSpinButton *spin;
};

G_DEFINE_FINAL_TYPE (TdNumberRow, td_number_row, ADW_TYPE_ACTION_ROW)

static int
number_row_on_input (GtkSpinButton *spin, double *value, gpointer user)
{
  g_autoptr (GString) text = g_string_new (gtk_editable_get_text (GTK_EDITABLE (spin)));
  char *end;

  g_string_replace (text, ",", ".", 0);
  g_string_replace (text, "−", "-", 0);
  g_strstrip (text->str);
  *value = g_ascii_strtod (text->str, &end);
  if (end == text->str || *end || !isfinite (*value))
    *value = gtk_spin_button_get_value (spin);
  return TRUE;
}

void
td_accept_decimals (GtkSpinButton *spin)
{
  /* Else the locale's other sign is dropped while it is typed. */
  gtk_spin_button_set_numeric (spin, FALSE);
  g_signal_connect (spin, "input", G_CALLBACK (number_row_on_input), NULL);
}

void
td_ignore_scroll (GtkWidget *widget)
{
  g_autoptr (GListModel) controllers = gtk_widget_observe_controllers (widget);

  for (guint i = 0; i < g_list_model_get_n_items (controllers); i++) {
    g_autoptr (GtkEventController) controller = g_list_model_get_item (controllers, i);
    if (GTK_IS_EVENT_CONTROLLER_SCROLL (controller))
      gtk_event_controller_set_propagation_phase (controller, GTK_PHASE_NONE);
  }
}

static void
on_value_changed (GtkSpinButton *spin, TdNumberRow *self)
{
  g_signal_emit_by_name (self, "changed", gtk_spin_button_get_value (spin));
}

static void
td_number_row_class_init (TdNumberRowClass *class)
{
  td_signal_new (class, "changed", 1, G_TYPE_DOUBLE);
}

static void
td_number_row_init (TdNumberRow *self)
{
  self->spin = GTK_SPIN_BUTTON (gtk_spin_button_new_with_range (0, 100, 1));
  gtk_widget_set_valign (GTK_WIDGET (self->spin), GTK_ALIGN_CENTER);
  td_accept_decimals (self->spin);
  gtk_editable_set_width_chars (GTK_EDITABLE (self->spin), 6);
  td_ignore_scroll (GTK_WIDGET (self->spin));
  g_signal_connect (self->spin, "value-changed", G_CALLBACK (on_value_changed), self);
  adw_action_row_add_suffix (ADW_ACTION_ROW (self), GTK_WIDGET (self->spin));
  /* The number is called as the row is, to a screen reader too. */
  adw_action_row_set_activatable_widget (ADW_ACTION_ROW (self), GTK_WIDGET (self->spin));
}

GtkWidget *
td_number_row_new (const char *title, const char *subtitle, double minimum, double maximum,
                   double step, guint digits)
{
  TdNumberRow *self = g_object_new (TD_TYPE_NUMBER_ROW, "title", title, NULL);

  if (subtitle)
    adw_action_row_set_subtitle (ADW_ACTION_ROW (self), subtitle);
  td_number_row_set_steps (self, step, 10 * step, digits);
  td_number_row_set_range (self, minimum, maximum);
  return GTK_WIDGET (self);
}

void
td_number_row_set_range (TdNumberRow *self, double minimum, double maximum)
{
  double low, high;

  gtk_spin_button_get_range (self->spin, &low, &high);
  if (low != minimum || high != maximum)
    gtk_spin_button_set_range (self->spin, minimum, maximum);
}

void
td_number_row_set_steps (TdNumberRow *self, double step, double page, guint digits)
{
  gtk_spin_button_set_increments (self->spin, step, page);
  gtk_spin_button_set_digits (self->spin, digits);
  gtk_editable_set_width_chars (GTK_EDITABLE (self->spin), (int) MAX (6, digits + 3));
}

void
td_number_row_set_value (TdNumberRow *self, double value)
{
  gtk_spin_button_set_value (self->spin, value);
}

double
td_number_row_get_value (TdNumberRow *self)
{
  return gtk_spin_button_get_value (self->spin);
}

void
td_number_row_bind (TdNumberRow *self, GSettings *settings, const char *key)
{
  g_settings_bind (settings, key, self->spin, "value", G_SETTINGS_BIND_DEFAULT);
}
