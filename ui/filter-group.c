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
on_kind_changed (GObject *object, GParamSpec *property, TdFilterGroup *self)
{
  TdRecipe *recipe = td_recipe_group_edit (TD_RECIPE_GROUP (self));

  if (!recipe)
    return;
  recipe->filter.kind = adw_combo_row_get_selected (self->kind);
  td_recipe_group_commit (TD_RECIPE_GROUP (self), "filter");
}

static void
on_cutoff_changed (TdNumberRow *row, double value, TdFilterGroup *self)
{
  TdRecipe *recipe = td_recipe_group_edit (TD_RECIPE_GROUP (self));

  if (!recipe)
    return;
  recipe->filter.cutoff = value;
  td_recipe_group_commit (TD_RECIPE_GROUP (self), "cutoff");
}

static void
on_order_changed (TdNumberRow *row, double value, TdFilterGroup *self)
{
  TdRecipe *recipe = td_recipe_group_edit (TD_RECIPE_GROUP (self));

  if (!recipe)
    return;
  recipe->filter.order = (guint) value;
  td_recipe_group_commit (TD_RECIPE_GROUP (self), "order");
}

static void
on_extend_changed (GObject *object, GParamSpec *property, TdFilterGroup *self)
{
  TdRecipe *recipe = td_recipe_group_edit (TD_RECIPE_GROUP (self));

  if (!recipe)
    return;
  recipe->filter.extend_edges = gtk_switch_get_active (self->extend);
  td_recipe_group_commit (TD_RECIPE_GROUP (self), "extend-edges");
}

static void
td_filter_group_show (TdRecipeGroup *group, const TdScanFacts *facts, const TdRecipe *recipe)
{
  TdFilterGroup *self = TD_FILTER_GROUP (group);
  const TdFilter *filter = &recipe->filter;

  adw_combo_row_set_selected (self->kind, filter->kind);
  td_number_row_set_value (self->cutoff, filter->cutoff);
  td_number_row_set_value (self->order, filter->order);
  gtk_switch_set_active (self->extend, filter->extend_edges);
  gtk_widget_set_visible (GTK_WIDGET (self->order), filter->kind == TD_FILTER_BUTTERWORTH);
  gtk_widget_set_sensitive (GTK_WIDGET (self->cutoff), filter->kind != TD_FILTER_NONE);
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
  gtk_widget_class_bind_template_callback (widget, on_kind_changed);
  gtk_widget_class_bind_template_callback (widget, on_cutoff_changed);
  gtk_widget_class_bind_template_callback (widget, on_order_changed);
  gtk_widget_class_bind_template_callback (widget, on_extend_changed);
}

static void
td_filter_group_init (TdFilterGroup *self)
{
  gtk_widget_init_template (GTK_WIDGET (self));
  adw_combo_row_set_model (self->kind, td_filter_choices (FALSE));
  td_number_row_set_range (self->cutoff, 0.05, 1);
  td_number_row_set_steps (self->cutoff, 0.05, 0.1, 2);
  td_number_row_set_range (self->order, 1, 20);
  td_number_row_set_steps (self->order, 1, 1, 0);
}
