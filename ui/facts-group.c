/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "facts-group.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

#include "compute/engine/turn.h"
#include "dataset/angles.h"
#include "labels.h"

struct _TdFactsGroup {
  AdwPreferencesGroup parent_instance;
  AdwExpanderRow *facts, *notes;
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
  GtkWidget *row = g_object_new (ADW_TYPE_ACTION_ROW, "use-markup", FALSE, "title", title,
                                 "subtitle", value, NULL);

  gtk_widget_add_css_class (row, "fact");
  adw_expander_row_add_row (self->facts, row);
  g_ptr_array_add (self->fact_rows, row);
  g_free (value);
}

static char *
angles_text (const TdScanFacts *facts)
{
  return g_strdup_printf (_ ("%.2f° … %.2f°"), td_degrees (facts->angles_rad[0]),
                          td_degrees (facts->angles_rad[facts->n_views - 1]));
}

static char *
facts_group_turn_text (const TdScanFacts *facts)
{
  TdTurn turn;

  td_turn_of_angles (facts->angles_rad, facts->n_views, &turn);
  return td_turn_describe (&turn);
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

static const char *
beam_text (TdBeam beam)
{
  return beam == TD_BEAM_CONE ? _ ("Cone") : beam == TD_BEAM_FAN ? _ ("Fan") : _ ("Parallel");
}

static void
add_optional_facts (TdFactsGroup *self, const TdScanFacts *facts)
{
  if (facts->energy_kev > 0)
    add_fact (self, _ ("Energy"), g_strdup_printf (_ ("%.4g keV"), facts->energy_kev));
  if (facts->propagation_mm > 0)
    add_fact (self, _ ("Sample to detector"),
              g_strdup_printf (_ ("%.4g mm"), facts->propagation_mm));
  if (isfinite (facts->centre_px))
    add_fact (self, _ ("Centre stated by the file"), g_strdup_printf ("%.2f", facts->centre_px));
  if (facts->half_acquisition)
    add_fact (self, _ ("Field of view"), g_strdup (_ ("half: the axis is near one edge")));
}

static void
show_notes (TdFactsGroup *self, TdMessage *const *notes)
{
  const guint n = td_messages_length (notes);

  clear_rows (self->notes, self->note_rows);
  for (guint i = 0; i < n; i++) {
    g_autofree char *words = td_message_text (notes[i], td_label_naming);
    GtkWidget *row = g_object_new (ADW_TYPE_ACTION_ROW, "use-markup", FALSE, "title", words,
                                   "title-lines", 0, NULL);
    gtk_widget_add_css_class (row, "note");
    adw_expander_row_add_row (self->notes, row);
    g_ptr_array_add (self->note_rows, row);
  }
  g_autofree char *title
      = g_strdup_printf (ngettext ("%u note about this scan", "%u notes about this scan", n), n);
  adw_preferences_row_set_title (ADW_PREFERENCES_ROW (self->notes), title);
  gtk_widget_set_visible (GTK_WIDGET (self->notes), n > 0);
}

void
td_facts_group_show (TdFactsGroup *self, const TdScanFacts *facts)
{
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
            g_strdup_printf ("%s, %s", facts->format, td_sample_name (facts->sample_type)));
  add_fact (self, _ ("Beam"), g_strdup (beam_text (facts->geometry.beam)));
  add_fact (self, _ ("Angles"), angles_text (facts));
  add_fact (self, _ ("Turn"), facts_group_turn_text (facts));
  add_fact (self, _ ("Flats and darks"),
            facts->transmission_logged
                ? g_strdup (_ ("none needed: the values are attenuations"))
                : g_strdup_printf (_ ("%u flats, %u darks"), facts->n_flats, facts->n_darks));
  add_fact (self, _ ("Detector pixel"), pixel_text (&facts->geometry));
  add_optional_facts (self, facts);
  add_fact (self, _ ("Path"), g_strdup (facts->path));
  show_notes (self, facts->notes);
}

static void
td_facts_group_finalize (GObject *object)
{
  TdFactsGroup *self = TD_FACTS_GROUP (object);

  g_ptr_array_unref (self->fact_rows);
  g_ptr_array_unref (self->note_rows);
  G_OBJECT_CLASS (td_facts_group_parent_class)->finalize (object);
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
  adw_preferences_group_add (ADW_PREFERENCES_GROUP (self), GTK_WIDGET (self->facts));
  adw_preferences_group_add (ADW_PREFERENCES_GROUP (self), GTK_WIDGET (self->notes));
}
