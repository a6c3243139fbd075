/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "compare-side.h"

#include <glib/gi18n.h>
#include <string.h>

#include "method-choices.h"
#include "ui.h"

/* The choices that a side can make otherwise than the window's recipe. */
enum { FILTER, INTERPOLATION, PRECISION, FAMILY, N_CHOICES };

struct _TdCompareSide {
  GtkBox parent_instance;
  GtkLabel *name, *outcome;
  GtkDropDown *filter, *interpolation, *precision, *family;
  GtkToggleButton *hold;
  TdRecipe base, recipe;
  gboolean own[N_CHOICES];
  guint value[N_CHOICES]; /* where own: the index chosen here */
  gboolean showing;
};

enum { EDITED, TAKE_REQUESTED, N_SIGNALS };
static guint signals[N_SIGNALS];

G_DEFINE_FINAL_TYPE (TdCompareSide, td_compare_side, GTK_TYPE_BOX)

static void
apply_own (TdCompareSide *self)
{
  self->recipe = self->base;
  if (self->own[FILTER])
    self->recipe.filter.kind = self->value[FILTER];
  if (self->own[INTERPOLATION])
    self->recipe.interpolation = self->value[INTERPOLATION];
  if (self->own[PRECISION])
    self->recipe.precision = self->value[PRECISION];
  if (self->own[FAMILY])
    g_strlcpy (self->recipe.family, td_family_choice_value (self->value[FAMILY]),
               sizeof self->recipe.family);
}

static void
compare_side_show (TdCompareSide *self)
{
  self->showing = TRUE;
  gtk_drop_down_set_selected (self->filter, self->recipe.filter.kind);
  gtk_drop_down_set_selected (self->interpolation, self->recipe.interpolation);
  gtk_drop_down_set_selected (self->precision, self->recipe.precision);
  gtk_drop_down_set_selected (self->family, td_family_choice_index (self->recipe.family));
  self->showing = FALSE;
}

static void
compare_side_choose (TdCompareSide *self, guint choice, guint value)
{
  self->own[choice] = TRUE;
  self->value[choice] = value;
  apply_own (self);
  compare_side_show (self);
  g_signal_emit (self, signals[EDITED], 0);
}

static void
compare_side_on_selected (GObject *object, GParamSpec *property, TdCompareSide *self)
{
  GtkDropDown *drop_downs[N_CHOICES]
      = { self->filter, self->interpolation, self->precision, self->family };

  if (self->showing)
    return;
  for (guint i = 0; i < N_CHOICES; i++)
    if (object == G_OBJECT (drop_downs[i]))
      compare_side_choose (self, i, gtk_drop_down_get_selected (drop_downs[i]));
}

static void
on_hold_toggled (GtkToggleButton *button, TdCompareSide *self)
{
  gtk_widget_set_sensitive (GTK_WIDGET (self->filter), !gtk_toggle_button_get_active (button));
  gtk_widget_set_sensitive (GTK_WIDGET (self->interpolation),
                            !gtk_toggle_button_get_active (button));
  gtk_widget_set_sensitive (GTK_WIDGET (self->precision), !gtk_toggle_button_get_active (button));
  gtk_widget_set_sensitive (GTK_WIDGET (self->family), !gtk_toggle_button_get_active (button));
  if (!gtk_toggle_button_get_active (button)) {
    apply_own (self);
    compare_side_show (self);
    g_signal_emit (self, signals[EDITED], 0);
  }
}

static void
compare_side_on_take (GtkButton *button, TdCompareSide *self)
{
  g_signal_emit (self, signals[TAKE_REQUESTED], 0);
}

void
td_compare_side_set_name (TdCompareSide *self, const char *name)
{
  gtk_label_set_text (self->name, name);
}

void
td_compare_side_set_base (TdCompareSide *self, const TdRecipe *base)
{
  self->base = *base;
  if (gtk_toggle_button_get_active (self->hold))
    return;
  apply_own (self);
  compare_side_show (self);
}

const TdRecipe *
td_compare_side_recipe (TdCompareSide *self)
{
  return &self->recipe;
}

void
td_compare_side_set_interpolation (TdCompareSide *self, TdInterpolation interpolation)
{
  compare_side_choose (self, INTERPOLATION, interpolation);
}

static void
compare_side_align (GtkWidget *a, GtkWidget *b)
{
  g_autoptr (GtkSizeGroup) group = gtk_size_group_new (GTK_SIZE_GROUP_HORIZONTAL);

  gtk_size_group_add_widget (group, a);
  gtk_size_group_add_widget (group, b);
}

void
td_compare_side_align (TdCompareSide *a, TdCompareSide *b)
{
  compare_side_align (GTK_WIDGET (a->filter), GTK_WIDGET (b->filter));
  compare_side_align (GTK_WIDGET (a->interpolation), GTK_WIDGET (b->interpolation));
  compare_side_align (GTK_WIDGET (a->precision), GTK_WIDGET (b->precision));
  compare_side_align (GTK_WIDGET (a->family), GTK_WIDGET (b->family));
}

void
td_compare_side_set_outcome (TdCompareSide *self, const char *text)
{
  gtk_label_set_text (self->outcome, text);
  gtk_widget_set_tooltip_text (GTK_WIDGET (self->outcome), text);
}

static void
td_compare_side_class_init (TdCompareSideClass *class)
{
  GtkWidgetClass *widget = GTK_WIDGET_CLASS (class);

  gtk_widget_class_set_template_from_resource (widget, "/org/tomodesk/ui/compare-side.ui");
  gtk_widget_class_bind_template_child (widget, TdCompareSide, name);
  gtk_widget_class_bind_template_child (widget, TdCompareSide, outcome);
  gtk_widget_class_bind_template_child (widget, TdCompareSide, filter);
  gtk_widget_class_bind_template_child (widget, TdCompareSide, interpolation);
  gtk_widget_class_bind_template_child (widget, TdCompareSide, precision);
  gtk_widget_class_bind_template_child (widget, TdCompareSide, family);
  gtk_widget_class_bind_template_child (widget, TdCompareSide, hold);
  gtk_widget_class_bind_template_callback (widget, compare_side_on_selected);
  gtk_widget_class_bind_template_callback (widget, on_hold_toggled);
  gtk_widget_class_bind_template_callback (widget, compare_side_on_take);
  signals[EDITED] = td_signal_new (TD_TYPE_COMPARE_SIDE, "edited", 0);
  signals[TAKE_REQUESTED] = td_signal_new (TD_TYPE_COMPARE_SIDE, "take-requested", 0);
}

static void
td_compare_side_init (TdCompareSide *self)
{
  self->showing = TRUE;
  gtk_widget_init_template (GTK_WIDGET (self));
  td_recipe_init (&self->base);
  self->recipe = self->base;
  gtk_drop_down_set_model (self->filter, td_choices (TD_CHOICE_FILTER, TRUE));
  gtk_drop_down_set_model (self->interpolation, td_choices (TD_CHOICE_INTERPOLATION, FALSE));
  gtk_drop_down_set_model (self->precision, td_choices (TD_CHOICE_PRECISION, TRUE));
  gtk_drop_down_set_model (self->family, td_choices (TD_CHOICE_KERNEL, TRUE));
  compare_side_show (self);
}
