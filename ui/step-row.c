/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "step-row.h"

#include <glib/gi18n.h>
#include <math.h>

#include "number-row.h"
#include "ui.h"

struct _TdStepRow {
  AdwExpanderRow parent_instance;
  const TdStepKind *kind;
  GtkWidget *rows[TD_STEP_MAX_PARAMETERS]; /* TdNumberRow or AdwComboRow */
  GtkWidget *reset;
  GtkToggleButton *before;
  TdStep step;
  gboolean showing;
};

G_DEFINE_FINAL_TYPE (TdStepRow, td_step_row, ADW_TYPE_EXPANDER_ROW)

/* ── By the user ── */

static double
parameter_value (TdStepRow *self, guint i)
{
  return self->kind->parameters[i].choices
             ? adw_combo_row_get_selected (ADW_COMBO_ROW (self->rows[i]))
             : td_number_row_get_value (TD_NUMBER_ROW (self->rows[i]));
}

static gboolean
has_presets (const TdStepKind *kind, const TdStep *step)
{
  for (guint i = 0; i < kind->n_parameters; i++)
    if (step->values[i] != kind->parameters[i].preset)
      return FALSE;
  return TRUE;
}

static void
update_buttons (TdStepRow *self)
{
  gtk_widget_set_sensitive (GTK_WIDGET (self->before), self->step.enabled);
  if (self->reset)
    gtk_widget_set_sensitive (self->reset, !has_presets (self->kind, &self->step));
}

static void
step_row_collect (TdStepRow *self)
{
  if (self->showing)
    return;
  self->step.enabled = adw_expander_row_get_enable_expansion (ADW_EXPANDER_ROW (self));
  for (guint i = 0; i < self->kind->n_parameters; i++)
    self->step.values[i] = parameter_value (self, i);
  update_buttons (self);
  TdStep step = self->step;
  g_signal_emit_by_name (self, "changed", &step);
}

static void
step_row_on_reset (GtkButton *button, TdStepRow *self)
{
  TdStep step;

  td_step_init (&step, self->kind);
  td_step_row_show (self, &step, NULL);
  step_row_collect (self);
}

static void
on_remove (GtkButton *button, TdStepRow *self)
{
  g_signal_emit_by_name (self, "removed");
}

static void
step_row_on_before_toggled (GtkToggleButton *button, TdStepRow *self)
{
  const gboolean without = gtk_toggle_button_get_active (button);

  gtk_button_set_icon_name (GTK_BUTTON (button),
                            without ? "view-conceal-symbolic" : "view-reveal-symbolic");
  if (!self->showing)
    g_signal_emit_by_name (self, "before-toggled", without);
}

/* ── Building ── */

static void
set_up_choice (GtkSignalListItemFactory *factory, GtkListItem *item)
{
  gtk_list_item_set_child (item, gtk_label_new (NULL));
}

static void
bind_choice (GtkSignalListItemFactory *factory, GtkListItem *item)
{
  gtk_label_set_text (GTK_LABEL (gtk_list_item_get_child (item)),
                      gtk_string_object_get_string (gtk_list_item_get_item (item)));
}

/* Choices are short words: they are never shortened, however long the advice beside them is. */
static GtkWidget *
choice_parameter (TdStepRow *self, const TdStepParameter *parameter)
{
  g_autoptr (GtkStringList) list = gtk_string_list_new (NULL);
  g_autoptr (GtkListItemFactory) factory = gtk_signal_list_item_factory_new ();

  g_signal_connect (factory, "setup", G_CALLBACK (set_up_choice), NULL);
  g_signal_connect (factory, "bind", G_CALLBACK (bind_choice), NULL);
  for (guint i = 0; parameter->choices[i]; i++)
    gtk_string_list_append (list, _ (parameter->choices[i]));
  GtkWidget *row = g_object_new (ADW_TYPE_COMBO_ROW, "title", _ (parameter->title), "subtitle",
                                 parameter->advice ? _ (parameter->advice) : "", "model", list,
                                 "factory", factory, NULL);
  g_signal_connect_swapped (row, "notify::selected", G_CALLBACK (step_row_collect), self);
  return row;
}

static GtkWidget *
number_parameter (TdStepRow *self, const TdStepParameter *parameter)
{
  double step = parameter->digits ? pow (10, -(double) parameter->digits) : 1;
  double range = parameter->maximum - parameter->minimum;

  /* Fine steps over a wide range would take thousands of clicks. */
  while (range / step > 1000)
    step *= 10;
  GtkWidget *row
      = td_number_row_new (_ (parameter->title), parameter->advice ? _ (parameter->advice) : NULL,
                           parameter->minimum, parameter->maximum, step, parameter->digits);
  g_signal_connect_swapped (row, "changed", G_CALLBACK (step_row_collect), self);
  return row;
}

static void
add_parameter (TdStepRow *self, guint i)
{
  const TdStepParameter *parameter = &self->kind->parameters[i];

  self->rows[i] = parameter->choices ? choice_parameter (self, parameter)
                                     : number_parameter (self, parameter);
  gtk_widget_add_css_class (self->rows[i], "parameter");
  adw_expander_row_add_row (ADW_EXPANDER_ROW (self), self->rows[i]);
}

static void
add_before (TdStepRow *self)
{
  g_autofree char *tip
      = g_strdup_printf (_ ("Before: the pictures without “%s”"), _ (self->kind->title));
  GtkWidget *button = gtk_toggle_button_new ();

  gtk_button_set_icon_name (GTK_BUTTON (button), "view-reveal-symbolic");
  td_set_purpose (button, tip);
  gtk_widget_set_valign (button, GTK_ALIGN_CENTER);
  gtk_widget_add_css_class (button, "flat");
  g_signal_connect (button, "toggled", G_CALLBACK (step_row_on_before_toggled), self);
  adw_expander_row_add_action (ADW_EXPANDER_ROW (self), button);
  self->before = GTK_TOGGLE_BUTTON (button);
}

static GtkWidget *
step_row_add_button (TdStepRow *self, GtkWidget *box, const char *label, const char *tip,
                     GCallback clicked)
{
  GtkWidget *button = td_button_new (label, "flat", clicked, self);

  gtk_widget_set_tooltip_text (button, tip);
  gtk_box_append (GTK_BOX (box), button);
  return button;
}

/* The last row under a step: back to its presets, and out of the recipe. */
static void
add_footer (TdStepRow *self)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6);
  GtkWidget *row = g_object_new (ADW_TYPE_PREFERENCES_ROW, "activatable", FALSE, "title",
                                 _ (self->kind->title), "child", box, NULL);

  gtk_widget_set_halign (box, GTK_ALIGN_END);
  gtk_widget_add_css_class (box, "step-footer");
  if (self->kind->n_parameters > 0)
    self->reset
        = step_row_add_button (self, box, _ ("Reset"), _ ("The values this step begins with"),
                               G_CALLBACK (step_row_on_reset));
  if (!self->kind->preset_on)
    step_row_add_button (self, box, _ ("Remove"), _ ("Take this step out of the recipe"),
                         G_CALLBACK (on_remove));
  if (gtk_widget_get_first_child (box))
    adw_expander_row_add_row (ADW_EXPANDER_ROW (self), row);
  else
    g_object_unref (g_object_ref_sink (row));
}

/* The toolkit's own switch in the row has no name to a screen reader. */
static void
step_row_name_switch (GtkWidget *widget, const char *name)
{
  if (GTK_IS_SWITCH (widget))
    td_set_spoken_name (widget, name);
  for (GtkWidget *child = gtk_widget_get_first_child (widget); child;
       child = gtk_widget_get_next_sibling (child))
    step_row_name_switch (child, name);
}

GtkWidget *
td_step_row_new (const TdStepKind *kind, GtkWidget *first)
{
  TdStepRow *self
      = g_object_new (TD_TYPE_STEP_ROW, "title", _ (kind->title), "show-enable-switch", TRUE, NULL);

  self->kind = kind;
  self->showing = TRUE;
  step_row_name_switch (GTK_WIDGET (self), _ (kind->title));
  if (kind->summary)
    gtk_widget_set_tooltip_text (GTK_WIDGET (self), _ (kind->summary));
  td_step_init (&self->step, kind);
  add_before (self);
  if (first)
    adw_expander_row_add_row (ADW_EXPANDER_ROW (self), first);
  for (guint i = 0; i < kind->n_parameters; i++)
    add_parameter (self, i);
  add_footer (self);
  g_signal_connect (self, "notify::enable-expansion", G_CALLBACK (step_row_collect), NULL);
  self->showing = FALSE;
  return GTK_WIDGET (self);
}

/* ── Interface ── */

const TdStepKind *
td_step_row_kind (TdStepRow *self)
{
  return self->kind;
}

void
td_step_row_show (TdStepRow *self, const TdStep *step, const char *idle)
{
  const char *summary = self->kind->summary ? _ (self->kind->summary) : "";

  self->showing = TRUE;
  adw_expander_row_set_subtitle (ADW_EXPANDER_ROW (self), idle ? idle : summary);
  if (step) {
    self->step = *step;
  } else {
    td_step_init (&self->step, self->kind);
    self->step.enabled = FALSE;
  }
  adw_expander_row_set_enable_expansion (ADW_EXPANDER_ROW (self), self->step.enabled);
  for (guint i = 0; i < self->kind->n_parameters; i++)
    if (self->kind->parameters[i].choices)
      adw_combo_row_set_selected (ADW_COMBO_ROW (self->rows[i]), (guint) self->step.values[i]);
    else
      td_number_row_set_value (TD_NUMBER_ROW (self->rows[i]), self->step.values[i]);
  update_buttons (self);
  self->showing = FALSE;
}

void
td_step_row_take_focus (TdStepRow *self)
{
  if (!self->rows[0] || !gtk_widget_child_focus (self->rows[0], GTK_DIR_TAB_FORWARD))
    gtk_widget_child_focus (GTK_WIDGET (self), GTK_DIR_TAB_FORWARD);
}

void
td_step_row_show_before (TdStepRow *self, gboolean on)
{
  self->showing = TRUE;
  gtk_toggle_button_set_active (self->before, on);
  self->showing = FALSE;
}

static void
td_step_row_class_init (TdStepRowClass *class)
{
  td_signal_new (class, "changed", 1, G_TYPE_POINTER);
  td_signal_new (class, "removed", 0);
  td_signal_new (class, "before-toggled", 1, G_TYPE_BOOLEAN);
}

static void
td_step_row_init (TdStepRow *self)
{
}
