/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "method-group.h"

#include "method-choices.h"
#include "number-row.h"

struct _TdMethodGroup {
  TdRecipeGroup parent_instance;
  AdwComboRow *method, *interpolation, *precision, *family;
  TdNumberRow *angle;
  GtkSwitch *reverse;
};

G_DEFINE_FINAL_TYPE (TdMethodGroup, td_method_group, TD_TYPE_RECIPE_GROUP)

static void
on_family_changed (GObject *object, GParamSpec *property, TdMethodGroup *self)
{
  TdRecipe *recipe = td_recipe_group_edit (TD_RECIPE_GROUP (self));

  if (!recipe)
    return;
  g_strlcpy (recipe->family, td_family_choice_value (adw_combo_row_get_selected (self->family)),
             sizeof recipe->family);
  td_recipe_group_commit (TD_RECIPE_GROUP (self), "method");
}

static void
td_method_group_show (TdRecipeGroup *group, const TdScanFacts *facts, const TdRecipe *recipe)
{
  TdMethodGroup *self = TD_METHOD_GROUP (group);

  adw_combo_row_set_selected (self->family, td_family_choice_index (recipe->family));
}

static void
td_method_group_class_init (TdMethodGroupClass *class)
{
  GtkWidgetClass *widget = GTK_WIDGET_CLASS (class);

  g_type_ensure (TD_TYPE_NUMBER_ROW);
  TD_RECIPE_GROUP_CLASS (class)->show = td_method_group_show;
  gtk_widget_class_set_template_from_resource (widget, "/org/tomodesk/ui/method-group.ui");
  gtk_widget_class_bind_template_child (widget, TdMethodGroup, method);
  gtk_widget_class_bind_template_child (widget, TdMethodGroup, interpolation);
  gtk_widget_class_bind_template_child (widget, TdMethodGroup, precision);
  gtk_widget_class_bind_template_child (widget, TdMethodGroup, family);
  gtk_widget_class_bind_template_child (widget, TdMethodGroup, angle);
  gtk_widget_class_bind_template_child (widget, TdMethodGroup, reverse);
  gtk_widget_class_bind_template_callback (widget, on_family_changed);
}

static void
td_method_group_init (TdMethodGroup *self)
{
  gtk_widget_init_template (GTK_WIDGET (self));
  adw_combo_row_set_model (self->method, td_choices (TD_CHOICE_METHOD, FALSE));
  adw_combo_row_set_model (self->interpolation, td_choices (TD_CHOICE_INTERPOLATION, FALSE));
  adw_combo_row_set_model (self->precision, td_choices (TD_CHOICE_PRECISION, FALSE));
  adw_combo_row_set_model (self->family, td_choices (TD_CHOICE_KERNEL, FALSE));
  td_number_row_set_range (self->angle, -360, 360);
  td_number_row_set_steps (self->angle, 1, 15, 1);
  td_recipe_group_bind (TD_RECIPE_GROUP (self), self->method, "method", "method");
  td_recipe_group_bind (TD_RECIPE_GROUP (self), self->interpolation, "interpolation", "method");
  td_recipe_group_bind (TD_RECIPE_GROUP (self), self->precision, "precision", "method");
  td_recipe_group_bind (TD_RECIPE_GROUP (self), self->angle, "angle-offset", "angle");
  td_recipe_group_bind (TD_RECIPE_GROUP (self), self->reverse, "reverse-rotation", "method");
}
