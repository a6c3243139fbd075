/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "step-chooser.h"

#include <glib/gi18n.h>
#include <string.h>

#include "ui.h"

struct _TdStepChooser {
  GtkPopover parent_instance;
  GtkListBox *list;
  GPtrArray *rows; /* GtkListBoxRow, one a step */
};

G_DEFINE_FINAL_TYPE (TdStepChooser, td_step_chooser, GTK_TYPE_POPOVER)

/* These are finer than a step's stage, which only orders steps. Phase retrieval stands between flat
   field and logarithm, and ring removal is a family of its own. */
TdStepSection
td_step_section (const TdStepKind *kind)
{
  if (g_str_has_prefix (kind->name, "rings"))
    return TD_SECTION_RINGS;
  if (strcmp (kind->name, "paganin") == 0)
    return TD_SECTION_PHASE;
  switch (kind->stage) {
  case TD_STEP_INTENSITY: return TD_SECTION_INTENSITY;
  case TD_STEP_FLAT: return TD_SECTION_FLAT;
  default: return TD_SECTION_ABSORPTION;
  }
}

const char *
td_step_section_title (TdStepSection section)
{
  const char *const titles[TD_N_SECTIONS] = {
    [TD_SECTION_INTENSITY] = _ ("Intensity"),   [TD_SECTION_FLAT] = _ ("Flat field and logarithm"),
    [TD_SECTION_PHASE] = _ ("Phase"),           [TD_SECTION_RINGS] = _ ("Rings"),
    [TD_SECTION_ABSORPTION] = _ ("Absorption"),
  };

  return titles[section];
}

static const TdStepKind *
row_kind (GtkListBoxRow *row)
{
  return g_object_get_data (G_OBJECT (row), "kind");
}

static void
on_row_activated (GtkListBox *list, GtkListBoxRow *row, TdStepChooser *self)
{
  gtk_popover_popdown (GTK_POPOVER (self));
  g_signal_emit_by_name (self, "chosen", row_kind (row)->name);
}

static void
set_heading (GtkListBoxRow *row, GtkListBoxRow *before, gpointer user)
{
  TdStepSection section = td_step_section (row_kind (row));

  gtk_list_box_row_set_header (
      row, before && td_step_section (row_kind (before)) == section
               ? NULL
               : td_label_new (td_step_section_title (section), "caption-heading step-heading"));
}

static GtkWidget *
step_chooser_new_label (const char *text, const char *classes)
{
  GtkWidget *label = td_label_new (text, classes);

  gtk_label_set_wrap (GTK_LABEL (label), TRUE);
  gtk_label_set_max_width_chars (GTK_LABEL (label), 44);
  return label;
}

static void
step_chooser_add_row (TdStepChooser *self, const TdStepKind *kind)
{
  GtkWidget *row = gtk_list_box_row_new ();
  GtkWidget *summary
      = step_chooser_new_label (kind->summary ? _ (kind->summary) : "", "caption dim-label");
  GtkWidget *box = td_box_new (GTK_ORIENTATION_VERTICAL, 2,
                               step_chooser_new_label (_ (kind->title), NULL), summary, NULL);

  gtk_widget_add_css_class (box, "step-choice");
  gtk_list_box_row_set_child (GTK_LIST_BOX_ROW (row), box);
  td_set_spoken_name (row, _ (kind->title));
  g_object_set_data (G_OBJECT (row), "kind", (gpointer) kind);
  gtk_list_box_append (self->list, row);
  g_ptr_array_add (self->rows, row);
}

guint
td_step_chooser_show (TdStepChooser *self, const TdRecipe *recipe)
{
  TdRecipe copy = *recipe;
  gboolean changed = FALSE;
  guint n = 0;

  for (guint i = 0; i < self->rows->len; i++) {
    GtkWidget *row = g_ptr_array_index (self->rows, i);
    gboolean missing = !td_recipe_step (&copy, row_kind (GTK_LIST_BOX_ROW (row))->name);
    changed |= missing != gtk_widget_get_visible (row);
    gtk_widget_set_visible (row, missing);
    n += missing;
  }
  if (changed)
    gtk_list_box_invalidate_headers (self->list);
  return n;
}

TD_FINALIZE (TdStepChooser, td_step_chooser)
{
  g_ptr_array_unref (self->rows);
}

static void
td_step_chooser_class_init (TdStepChooserClass *class)
{
  G_OBJECT_CLASS (class)->finalize = td_step_chooser_finalize;
  td_signal_new (class, "chosen", 1, G_TYPE_STRING);
}

static void
td_step_chooser_init (TdStepChooser *self)
{
  const TdStepKind *const *kinds = td_prepare_steps ();

  self->rows = g_ptr_array_new ();
  self->list = g_object_new (GTK_TYPE_LIST_BOX, "selection-mode", GTK_SELECTION_NONE, NULL);
  td_add_style (self->list, "navigation-sidebar");
  td_set_spoken_name (self->list, _ ("Steps to add"));
  g_signal_connect (self->list, "row-activated", G_CALLBACK (on_row_activated), self);
  gtk_popover_set_child (GTK_POPOVER (self),
                         g_object_new (GTK_TYPE_SCROLLED_WINDOW, "hscrollbar-policy",
                                       GTK_POLICY_NEVER, "propagate-natural-height", TRUE,
                                       "max-content-height", 480, "width-request", 320, "child",
                                       self->list, NULL));
  gtk_list_box_set_header_func (self->list, set_heading, NULL, NULL);
  for (guint section = 0; section < TD_N_SECTIONS; section++)
    for (guint i = 0; kinds[i]; i++)
      if (td_step_section (kinds[i]) == section)
        step_chooser_add_row (self, kinds[i]);
}
