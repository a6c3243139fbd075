/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "window-pins.h"

#include <adwaita.h>
#include <string.h>

#include "tests/common/pins.h"
#include "ui-test.h"

#define TRIES 100 /* of 100 ms */

typedef struct {
  GString *place; /* types of what is around */
  GHashTable *counts;
  GStrvBuilder *lines;
} Looking;

/* What only this computer has. */
static gboolean
window_pins_skip (GtkWidget *widget)
{
  static const char *const own[] = { "TdDeviceRow", "TdDeviceGroup", "TdDevicesWindow" };

  for (guint i = 0; i < G_N_ELEMENTS (own); i++)
    if (g_str_equal (G_OBJECT_TYPE_NAME (widget), own[i]))
      return TRUE;
  return !gtk_widget_get_mapped (widget) || !gtk_widget_get_child_visible (widget);
}

/* "": nothing to say. */
static void
window_pins_say (GtkWidget *widget, GString *says)
{
  static const char *const classes[] = {
    "wrong",    "error", "warning", "success", "accent", "suggested-action", "destructive-action",
    "dim-label"
  };
  const char *tip = gtk_widget_get_tooltip_text (widget);

  if (GTK_IS_LABEL (widget))
    g_string_append_printf (says, " “%s”", gtk_label_get_text (GTK_LABEL (widget)));
  if (GTK_IS_TEXT (widget))
    g_string_append_printf (says, " text “%s”", gtk_editable_get_text (GTK_EDITABLE (widget)));
  if (tip)
    g_string_append_printf (says, " tip “%s”", tip);
  if (GTK_IS_SWITCH (widget))
    g_string_append_printf (says, " switch %d", gtk_switch_get_active (GTK_SWITCH (widget)));
  if (GTK_IS_TOGGLE_BUTTON (widget))
    g_string_append_printf (says, " toggle %d",
                            gtk_toggle_button_get_active (GTK_TOGGLE_BUTTON (widget)));
  if (GTK_IS_CHECK_BUTTON (widget))
    g_string_append_printf (says, " check %d",
                            gtk_check_button_get_active (GTK_CHECK_BUTTON (widget)));
  if (GTK_IS_DROP_DOWN (widget))
    g_string_append_printf (says, " chosen %u",
                            gtk_drop_down_get_selected (GTK_DROP_DOWN (widget)));
  if (ADW_IS_COMBO_ROW (widget))
    g_string_append_printf (says, " chosen %u",
                            adw_combo_row_get_selected (ADW_COMBO_ROW (widget)));
  if (GTK_IS_SPIN_BUTTON (widget)) {
    GtkAdjustment *number = gtk_spin_button_get_adjustment (GTK_SPIN_BUTTON (widget));
    g_string_append_printf (says, " number %.6g of %.6g to %.6g by %.6g, %u digits",
                            gtk_adjustment_get_value (number), gtk_adjustment_get_lower (number),
                            gtk_adjustment_get_upper (number),
                            gtk_adjustment_get_step_increment (number),
                            gtk_spin_button_get_digits (GTK_SPIN_BUTTON (widget)));
  }
  if (GTK_IS_SCALE (widget)) {
    GtkAdjustment *number = gtk_range_get_adjustment (GTK_RANGE (widget));
    g_string_append_printf (says, " scale %.6g of %.6g to %.6g by %.6g",
                            gtk_adjustment_get_value (number), gtk_adjustment_get_lower (number),
                            gtk_adjustment_get_upper (number),
                            gtk_adjustment_get_step_increment (number));
  }
  if (GTK_IS_PROGRESS_BAR (widget))
    g_string_append_printf (says, " bar %.3f",
                            gtk_progress_bar_get_fraction (GTK_PROGRESS_BAR (widget)));
  for (guint i = 0; i < G_N_ELEMENTS (classes); i++)
    if (gtk_widget_has_css_class (widget, classes[i]))
      g_string_append_printf (says, " .%s", classes[i]);
  if (!gtk_widget_get_sensitive (widget))
    g_string_append (says, " off");
}

static void
window_pins_walk (Looking *looking, GtkWidget *widget)
{
  const gsize before = looking->place->len;
  g_autoptr (GString) says = g_string_new (NULL);

  if (window_pins_skip (widget))
    return;
  g_string_append_printf (looking->place, "/%s", G_OBJECT_TYPE_NAME (widget));
  window_pins_say (widget, says);
  if (says->len) {
    /* The last types are enough to find it. */
    const char *tail = looking->place->str + looking->place->len;
    for (guint n = 0; tail > looking->place->str && n < 3; n += *--tail == '/')
      ;
    const guint count = 1 + GPOINTER_TO_UINT (g_hash_table_lookup (looking->counts, tail));
    g_hash_table_insert (looking->counts, g_strdup (tail), GUINT_TO_POINTER (count));
    g_autofree char *line = g_strdup_printf ("%s %u:%s", tail, count, says->str);
    g_strv_builder_add (looking->lines, line);
  }
  for (GtkWidget *child = gtk_widget_get_first_child (widget); child;
       child = gtk_widget_get_next_sibling (child))
    window_pins_walk (looking, child);
  g_string_truncate (looking->place, before);
}

static char **
window_pins_take (gpointer top)
{
  g_autoptr (GHashTable) counts = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr (GString) place = g_string_new (NULL);
  g_autoptr (GStrvBuilder) lines = g_strv_builder_new ();
  Looking looking = { place, counts, lines };

  window_pins_walk (&looking, top);
  return g_strv_builder_end (lines);
}

void
td_test_pin_window (const char *place, gpointer top)
{
  const gboolean new = g_getenv ("TOMODESK_PINS_NEW") != NULL;
  g_autofree char *at = g_strdup_printf ("%s@%u.%u.%u/%u.%u", place, gtk_get_major_version (),
                                         gtk_get_minor_version (), gtk_get_micro_version (),
                                         adw_get_major_version (), adw_get_minor_version ());
  g_autofree char *wrong = NULL;

  if (g_strcmp0 (g_getenv ("LANGUAGE"), "C") != 0 || g_getenv ("TOMODESK_MARKED")
      || g_getenv ("TOMODESK_TEXT_PERCENT"))
    return;
  if (new)
    td_test_pause (3000);
  for (guint i = 0; i < TRIES; i++) {
    g_auto (GStrv) lines = window_pins_take (top);
    g_free (wrong);
    wrong = td_test_pins_wrong (at, lines);
    if (!wrong)
      return;
    td_test_pause (100);
  }
  g_error ("%s", wrong);
}
