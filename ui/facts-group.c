/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "facts-group.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

#include "compute/cone/cone.h"
#include "compute/engine/turn.h"
#include "dataset/angles.h"
#include "labels.h"
#include "ui.h"

struct _TdFactsGroup {
  AdwPreferencesGroup parent_instance;
  AdwExpanderRow *facts, *notes;
  AdwComboRow *entries; /* of a file that holds several scans */
  gboolean showing;
  GPtrArray *fact_rows, *note_rows;
};

G_DEFINE_FINAL_TYPE (TdFactsGroup, td_facts_group, ADW_TYPE_PREFERENCES_GROUP)

static void
clear_rows (AdwExpanderRow *parent, GPtrArray *rows)
{
  for (guint i = 0; i < rows->len; i++)
    adw_expander_row_remove (parent, g_ptr_array_index (rows, i));
  g_ptr_array_set_size (rows, 0);
}

/* Takes @value. */
static void
add_fact (TdFactsGroup *self, const char *title, char *value)
{
  GtkWidget *row = td_plain_row_new (title, value);

  gtk_widget_add_css_class (row, "fact");
  adw_expander_row_add_row (self->facts, row);
  g_ptr_array_add (self->fact_rows, row);
  g_free (value);
}

static char *
pixel_text (const TdGeometry *geometry)
{
  if (!(geometry->pixel_width_mm > 0))
    return g_strdup (_ ("unknown: values are per pixel"));
  if (geometry->pixel_width_mm == geometry->pixel_height_mm)
    return g_strdup_printf (_ ("%.5g mm"), geometry->pixel_width_mm);
  return g_strdup_printf (_ ("%.5g × %.5g mm"), geometry->pixel_width_mm,
                          geometry->pixel_height_mm);
}

static void
add_optional_facts (TdFactsGroup *self, const TdScanFacts *facts)
{
  if (facts->energy_kev > 0)
    add_fact (self, _ ("Energy"), g_strdup_printf (_ ("%.4g keV"), facts->energy_kev));
  if (facts->propagation_mm > 0)
    add_fact (self, _ ("Sample to detector"),
              g_strdup_printf (_ ("%.4g mm"), facts->propagation_mm));
  if (isfinite (facts->centre_px) && !td_cone_scan_portrait (facts))
    add_fact (self, _ ("Centre stated by the file"), g_strdup_printf ("%.2f", facts->centre_px));
  if (facts->half_acquisition)
    add_fact (self, _ ("Field of view"), g_strdup (_ ("half: the axis is near one edge")));
}

/* Where flats, darks and angles were found is a fact like others. */
static gboolean
facts_group_is_source (const TdMessage *note)
{
  static const char *const ids[]
      = { TD_SCAN_NOTE_FLATS, TD_SCAN_NOTE_DARKS, TD_SCAN_NOTE_ANGLES, NULL };

  return g_strv_contains (ids, td_message_id (note));
}

/* What is to be known is open to the eye; whoever has read it can fold it. */
static void
facts_group_show_notes (TdFactsGroup *self, TdMessage *const *notes)
{
  guint n = 0;

  clear_rows (self->notes, self->note_rows);
  for (guint i = 0; i < td_messages_length (notes); i++) {
    const gboolean source = facts_group_is_source (notes[i]);
    g_autofree char *words = td_message_text (notes[i], td_label_naming);
    GtkWidget *row = td_plain_row_new (words, NULL);
    gtk_widget_add_css_class (row, "note");
    adw_expander_row_add_row (source ? self->facts : self->notes, row);
    g_ptr_array_add (source ? self->fact_rows : self->note_rows, row);
    n += !source;
  }
  g_autofree char *title
      = g_strdup_printf (ngettext ("%u note about this scan", "%u notes about this scan", n), n);
  adw_preferences_row_set_title (ADW_PREFERENCES_ROW (self->notes), title);
  adw_expander_row_set_expanded (self->notes, n > 0);
  gtk_widget_set_visible (GTK_WIDGET (self->notes), n > 0);
}

/* ── Which scan of a file ── */

static void
facts_group_on_entry (AdwComboRow *row, GParamSpec *property, TdFactsGroup *self)
{
  GtkStringObject *entry = adw_combo_row_get_selected_item (row);

  if (!self->showing && entry)
    gtk_widget_activate_action (GTK_WIDGET (self), "win.take-entry", "s",
                                gtk_string_object_get_string (entry));
}

/* The note that names them: their number, their names, and the one that was taken. */
static void
show_entries (TdFactsGroup *self, TdMessage *const *notes)
{
  g_autoptr (GtkStringList) list = gtk_string_list_new (NULL);
  guint taken = 0;

  for (guint i = 0; i < td_messages_length (notes); i++) {
    g_autofree char *field = td_message_field (notes[i]);
    const char *const *values = td_message_values (notes[i]);
    if (g_strcmp0 (field, "dataset") != 0 || g_strv_length ((char **) values) != 3)
      continue;
    g_auto (GStrv) names = g_strsplit (values[1], ", ", -1);
    for (guint k = 0; names[k]; k++) {
      if (g_str_has_prefix (names[k], "…"))
        continue;
      if (strcmp (names[k], values[2]) == 0)
        taken = g_list_model_get_n_items (G_LIST_MODEL (list));
      gtk_string_list_append (list, names[k]);
    }
  }
  self->showing = TRUE;
  adw_combo_row_set_model (self->entries, G_LIST_MODEL (list));
  adw_combo_row_set_selected (self->entries, taken);
  gtk_widget_set_visible (GTK_WIDGET (self->entries),
                          g_list_model_get_n_items (G_LIST_MODEL (list)) > 1);
  self->showing = FALSE;
}

void
td_facts_group_show (TdFactsGroup *self, const TdScanFacts *facts)
{
  TdTurn turn;

  td_turn_of_angles (facts->angles_rad, facts->n_views, &turn);
  clear_rows (self->facts, self->fact_rows);
  adw_preferences_row_set_title (ADW_PREFERENCES_ROW (self->facts), facts->title);
  g_autofree char *name = g_path_get_basename (facts->path ? facts->path : "");
  g_autofree char *size = g_strdup_printf (_ ("%u × %u pixels, %u views"), facts->n_columns,
                                           facts->n_rows, facts->n_views);
  g_autofree char *summary
      = strcmp (name, facts->title) == 0 ? g_strdup (size) : g_strconcat (name, "\n", size, NULL);
  adw_expander_row_set_subtitle (self->facts, summary);
  gtk_widget_set_tooltip_text (GTK_WIDGET (self->facts), facts->path);
  add_fact (self, _ ("Format"),
            g_strdup_printf ("%s, %s", _ (facts->format), td_sample_name (facts->sample_type)));
  const TdBeam beam = facts->geometry.beam;
  add_fact (self, _ ("Beam"),
            g_strdup (beam == TD_BEAM_CONE  ? _ ("Cone")
                      : beam == TD_BEAM_FAN ? _ ("Fan")
                                            : _ ("Parallel")));
  add_fact (self, _ ("Angles"),
            g_strdup_printf (_ ("%.2f° … %.2f°"), td_degrees (facts->angles_rad[0]),
                             td_degrees (facts->angles_rad[facts->n_views - 1])));
  add_fact (self, _ ("Turn"), td_turn_describe (&turn));
  add_fact (self, _ ("Flats and darks"),
            facts->transmission_logged
                ? g_strdup (_ ("none needed: the values are attenuations"))
                : g_strdup_printf (_ ("%u flats, %u darks"), facts->n_flats, facts->n_darks));
  add_fact (self, _ ("Detector pixel"), pixel_text (&facts->geometry));
  add_optional_facts (self, facts);
  add_fact (self, _ ("Path"), g_strdup (facts->path));
  show_entries (self, facts->notes);
  facts_group_show_notes (self, facts->notes);
}

TD_FINALIZE (TdFactsGroup, td_facts_group)
{
  g_ptr_array_unref (self->fact_rows);
  g_ptr_array_unref (self->note_rows);
}

static void
td_facts_group_class_init (TdFactsGroupClass *class)
{
  G_OBJECT_CLASS (class)->finalize = td_facts_group_finalize;
}

static void
td_facts_group_init (TdFactsGroup *self)
{
  self->fact_rows = g_ptr_array_new ();
  self->note_rows = g_ptr_array_new ();
  self->facts = g_object_new (ADW_TYPE_EXPANDER_ROW, "use-markup", FALSE, NULL);
  self->notes = g_object_new (ADW_TYPE_EXPANDER_ROW, "use-markup", FALSE, NULL);
  self->entries = g_object_new (ADW_TYPE_COMBO_ROW, "title", _ ("Scan in the file"), "use-subtitle",
                                TRUE, NULL);
  g_signal_connect (self->entries, "notify::selected", G_CALLBACK (facts_group_on_entry), self);
  adw_preferences_group_add (ADW_PREFERENCES_GROUP (self), GTK_WIDGET (self->facts));
  adw_preferences_group_add (ADW_PREFERENCES_GROUP (self), GTK_WIDGET (self->entries));
  adw_preferences_group_add (ADW_PREFERENCES_GROUP (self), GTK_WIDGET (self->notes));
}
