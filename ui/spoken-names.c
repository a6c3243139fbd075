/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "spoken-names.h"

#include <adwaita.h>
#include <glib/gi18n.h>

#include "ui.h"

/* The toolkit names a button "_Open" and, by its label as well, "Open". */
static void
spoken_names_button (GtkButton *button)
{
  GtkWidget *parent = gtk_widget_get_parent (GTK_WIDGET (button));

  if (g_str_equal (G_OBJECT_TYPE_NAME (parent), "AdwToastWidget") && !gtk_button_get_label (button))
    td_set_spoken_name (button, _ ("Close"));
  if (gtk_button_get_label (button) && gtk_button_get_use_underline (button))
    gtk_accessible_reset_property (GTK_ACCESSIBLE (button), GTK_ACCESSIBLE_PROPERTY_LABEL);
}

/* What takes the keyboard are the parts, which the toolkit leaves without a name. */
static void
spoken_names_split_button (AdwSplitButton *split)
{
  for (GtkWidget *part = gtk_widget_get_first_child (GTK_WIDGET (split)); part;
       part = gtk_widget_get_next_sibling (part)) {
    if (GTK_IS_MENU_BUTTON (part))
      td_set_spoken_name (part, adw_split_button_get_dropdown_tooltip (split));
    else if (GTK_IS_BUTTON (part) && adw_split_button_get_icon_name (split))
      td_set_spoken_name (part, gtk_widget_get_tooltip_text (GTK_WIDGET (split)));
  }
}

static void
spoken_names_inner_button (GtkWidget *whole)
{
  GtkWidget *button = gtk_widget_get_first_child (whole);

  if (GTK_IS_TOGGLE_BUTTON (button))
    gtk_accessible_update_relation (GTK_ACCESSIBLE (button), GTK_ACCESSIBLE_RELATION_LABELLED_BY,
                                    whole, NULL, -1);
}

static void
spoken_names_add_words (GtkWidget *widget, GString *words)
{
  const char *text = GTK_IS_LABEL (widget) ? gtk_label_get_text (GTK_LABEL (widget)) : "";

  if (*text && gtk_widget_get_visible (widget))
    g_string_append_printf (words, "%s%s", words->len ? ". " : "", text);
  for (GtkWidget *child = gtk_widget_get_first_child (widget); child;
       child = gtk_widget_get_next_sibling (child))
    spoken_names_add_words (child, words);
}

/* An entry of a list that drops down says its words. Rows of tables get others as they scroll. */
static void
spoken_names_entry (GtkWidget *entry)
{
  g_autoptr (GString) words = g_string_new (NULL);

  if (!gtk_widget_get_ancestor (entry, GTK_TYPE_POPOVER))
    return;
  spoken_names_add_words (entry, words);
  td_set_spoken_name (entry, words->str);
}

static gboolean
spoken_names_on_map (GSignalInvocationHint *hint, guint n_values, const GValue *values,
                     gpointer unused)
{
  GtkWidget *widget = g_value_get_object (values);

  if (ADW_IS_SPLIT_BUTTON (widget))
    spoken_names_split_button (ADW_SPLIT_BUTTON (widget));
  else if (GTK_IS_DROP_DOWN (widget))
    spoken_names_inner_button (widget);
  else if (GTK_IS_BUTTON (widget))
    spoken_names_button (GTK_BUTTON (widget));
  else if (g_str_equal (G_OBJECT_TYPE_NAME (widget), "GtkListItemWidget"))
    spoken_names_entry (widget);
  return TRUE;
}

void
td_spoken_names_init (void)
{
  g_type_class_unref (g_type_class_ref (GTK_TYPE_WIDGET));
  g_signal_add_emission_hook (g_signal_lookup ("map", GTK_TYPE_WIDGET), 0, spoken_names_on_map,
                              NULL, NULL);
}
