/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "step-row.h"

#include <glib/gi18n.h>
#include <math.h>

#include "number-row.h"

struct _TdStepRow {
  AdwExpanderRow parent_instance;
  const TdStepKind *kind;
  GtkWidget *rows[TD_STEP_MAX_PARAMETERS]; /* TdNumberRow or AdwComboRow */
  TdStep step;
  gboolean showing;
};

enum { CHANGED, N_SIGNALS };
static guint signals[N_SIGNALS];

G_DEFINE_FINAL_TYPE (TdStepRow, td_step_row, ADW_TYPE_EXPANDER_ROW)

static double
parameter_value (TdStepRow *self, guint i)
{
  return self->kind->parameters[i].choices
             ? adw_combo_row_get_selected (ADW_COMBO_ROW (self->rows[i]))
             : td_number_row_get_value (TD_NUMBER_ROW (self->rows[i]));
}

static void
collect (TdStepRow *self)
{
  if (self->showing)
    return;
  self->step.enabled = adw_expander_row_get_enable_expansion (ADW_EXPANDER_ROW (self));
  for (guint i = 0; i < self->kind->n_parameters; i++)
    self->step.values[i] = parameter_value (self, i);
  TdStep step = self->step;
  g_signal_emit (self, signals[CHANGED], 0, &step);
}

static GtkWidget *
choice_parameter (TdStepRow *self, const TdStepParameter *parameter)
{
  g_autoptr (GtkStringList) list = gtk_string_list_new (NULL);

  for (guint i = 0; parameter->choices[i]; i++)
    gtk_string_list_append (list, _(parameter->choices[i]));
  GtkWidget *row = g_object_new (ADW_TYPE_COMBO_ROW, "title", _(parameter->title), "model", list,
                                 NULL);
  g_signal_connect_swapped (row, "notify::selected", G_CALLBACK (collect), self);
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
  GtkWidget *row = td_number_row_new (_(parameter->title), NULL, parameter->minimum,
                                      parameter->maximum, step, parameter->digits);
  g_signal_connect_swapped (row, "changed", G_CALLBACK (collect), self);
  return row;
}

static void
add_parameter (TdStepRow *self, guint i)
{
  const TdStepParameter *parameter = &self->kind->parameters[i];

  self->rows[i] = parameter->choices ? choice_parameter (self, parameter)
                                     : number_parameter (self, parameter);
  if (parameter->advice)
    gtk_widget_set_tooltip_text (self->rows[i], _(parameter->advice));
  adw_expander_row_add_row (ADW_EXPANDER_ROW (self), self->rows[i]);
}

GtkWidget *
td_step_row_new (const TdStepKind *kind)
{
  TdStepRow *self = g_object_new (TD_TYPE_STEP_ROW, "title", _(kind->title),
                                  "show-enable-switch", TRUE, NULL);

  self->kind = kind;
  self->showing = TRUE;
  if (kind->summary) {
    adw_expander_row_set_subtitle (ADW_EXPANDER_ROW (self), _(kind->summary));
    gtk_widget_set_tooltip_text (GTK_WIDGET (self), _(kind->summary));
  }
  td_step_init (&self->step, kind);
  for (guint i = 0; i < kind->n_parameters; i++)
    add_parameter (self, i);
  g_signal_connect (self, "notify::enable-expansion", G_CALLBACK (collect), NULL);
  self->showing = FALSE;
  return GTK_WIDGET (self);
}

const TdStepKind *
td_step_row_kind (TdStepRow *self)
{
  return self->kind;
}

void
td_step_row_show (TdStepRow *self, const TdStep *step)
{
  self->showing = TRUE;
  if (step)
    self->step = *step;
  else
    self->step.enabled = FALSE;
  adw_expander_row_set_enable_expansion (ADW_EXPANDER_ROW (self), self->step.enabled);
  for (guint i = 0; i < self->kind->n_parameters; i++)
    if (self->kind->parameters[i].choices)
      adw_combo_row_set_selected (ADW_COMBO_ROW (self->rows[i]), (guint) self->step.values[i]);
    else
      td_number_row_set_value (TD_NUMBER_ROW (self->rows[i]), self->step.values[i]);
  self->showing = FALSE;
}

static void
td_step_row_class_init (TdStepRowClass *class)
{
  signals[CHANGED] = g_signal_new ("changed", TD_TYPE_STEP_ROW, G_SIGNAL_RUN_LAST, 0, NULL, NULL,
                                   NULL, G_TYPE_NONE, 1, G_TYPE_POINTER);
}

static void
td_step_row_init (TdStepRow *self)
{
}
