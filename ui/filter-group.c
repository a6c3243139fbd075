/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "filter-group.h"

#include "method-choices.h"
#include "number-row.h"

struct _TdFilterGroup {
  TdRecipeGroup parent_instance;
  AdwComboRow *kind;
  TdNumberRow *cutoff, *order;
  GtkSwitch *extend;
};

G_DEFINE_FINAL_TYPE (TdFilterGroup, td_filter_group, TD_TYPE_RECIPE_GROUP)

static void
td_filter_group_show (TdRecipeGroup *group, const TdScanFacts *facts, const TdRecipe *recipe)
{
  TdFilterGroup *self = TD_FILTER_GROUP (group);

  gtk_widget_set_visible (GTK_WIDGET (self->order), recipe->filter.kind == TD_FILTER_BUTTERWORTH);
}

static void
td_filter_group_class_init (TdFilterGroupClass *class)
{
  GtkWidgetClass *widget = GTK_WIDGET_CLASS (class);

  g_type_ensure (TD_TYPE_NUMBER_ROW);
  TD_RECIPE_GROUP_CLASS (class)->show = td_filter_group_show;
  gtk_widget_class_set_template_from_resource (widget, "/org/tomodesk/ui/filter-group.ui");
  gtk_widget_class_bind_template_child (widget, TdFilterGroup, kind);
  gtk_widget_class_bind_template_child (widget, TdFilterGroup, cutoff);
  gtk_widget_class_bind_template_child (widget, TdFilterGroup, order);
  gtk_widget_class_bind_template_child (widget, TdFilterGroup, extend);
}

static void
td_filter_group_init (TdFilterGroup *self)
{
  gtk_widget_init_template (GTK_WIDGET (self));
  adw_combo_row_set_model (self->kind, td_choices (TD_CHOICE_FILTER, FALSE));
  td_number_row_set_range (self->cutoff, 0.05, 1);
  td_number_row_set_steps (self->cutoff, 0.05, 0.1, 2);
  td_number_row_set_range (self->order, 1, 20);
  td_number_row_set_steps (self->order, 1, 1, 0);
  td_recipe_group_bind (TD_RECIPE_GROUP (self), self->kind, "filter", "filter");
  td_recipe_group_bind (TD_RECIPE_GROUP (self), self->cutoff, "cutoff", "cutoff");
  td_recipe_group_bind (TD_RECIPE_GROUP (self), self->order, "order", "order");
  td_recipe_group_bind (TD_RECIPE_GROUP (self), self->extend, "extend-edges", "extend-edges");
}
