/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "iterative-group.h"

#include "number-row.h"

struct _TdIterativeGroup {
  TdRecipeGroup parent_instance;
  TdNumberRow *iterations, *subsets, *relaxation, *tv, *tolerance;
  GtkWidget *non_negative_row;
  GtkSwitch *non_negative, *filtered;
};

G_DEFINE_FINAL_TYPE (TdIterativeGroup, td_iterative_group, TD_TYPE_RECIPE_GROUP)

/* A file that a recipe goes on from stays, until the switch is used. */
static void
on_filtered (GObject *object, GParamSpec *property, TdIterativeGroup *self)
{
  TdRecipe *recipe = td_recipe_group_edit (TD_RECIPE_GROUP (self));

  if (!recipe)
    return;
  g_strlcpy (recipe->start, gtk_switch_get_active (self->filtered) ? "auto" : "zero",
             sizeof recipe->start);
  td_recipe_group_commit (TD_RECIPE_GROUP (self), "start");
}

static void
td_iterative_group_show (TdRecipeGroup *group, const TdScanFacts *facts, const TdRecipe *recipe)
{
  TdIterativeGroup *self = TD_ITERATIVE_GROUP (group);
  const gboolean cgls = recipe->method == TD_METHOD_CGLS;

  gtk_switch_set_active (self->filtered, g_str_equal (recipe->start, "auto")
                                             || g_str_equal (recipe->start, "filtered"));
  gtk_widget_set_visible (GTK_WIDGET (self->subsets), !cgls);
  gtk_widget_set_visible (GTK_WIDGET (self->relaxation), recipe->method == TD_METHOD_SIRT);
  gtk_widget_set_visible (GTK_WIDGET (self->tv), recipe->method == TD_METHOD_FISTA_TV);
  gtk_widget_set_visible (self->non_negative_row, !cgls);
  gtk_widget_set_visible (GTK_WIDGET (self), td_method_iterates (recipe->method));
}

static void
td_iterative_group_class_init (TdIterativeGroupClass *class)
{
  GtkWidgetClass *widget = GTK_WIDGET_CLASS (class);

  g_type_ensure (TD_TYPE_NUMBER_ROW);
  TD_RECIPE_GROUP_CLASS (class)->show = td_iterative_group_show;
  gtk_widget_class_set_template_from_resource (widget, "/org/tomodesk/ui/iterative-group.ui");
  gtk_widget_class_bind_template_child (widget, TdIterativeGroup, iterations);
  gtk_widget_class_bind_template_child (widget, TdIterativeGroup, subsets);
  gtk_widget_class_bind_template_child (widget, TdIterativeGroup, relaxation);
  gtk_widget_class_bind_template_child (widget, TdIterativeGroup, tv);
  gtk_widget_class_bind_template_child (widget, TdIterativeGroup, tolerance);
  gtk_widget_class_bind_template_child (widget, TdIterativeGroup, filtered);
  gtk_widget_class_bind_template_child (widget, TdIterativeGroup, non_negative_row);
  gtk_widget_class_bind_template_child (widget, TdIterativeGroup, non_negative);
  gtk_widget_class_bind_template_callback (widget, on_filtered);
}

static void
td_iterative_group_init (TdIterativeGroup *self)
{
  gtk_widget_init_template (GTK_WIDGET (self));
  td_number_row_set_range (self->iterations, 1, 10000);
  td_number_row_set_steps (self->iterations, 1, 10, 0);
  td_number_row_set_range (self->subsets, 0, 100000);
  td_number_row_set_steps (self->subsets, 1, 10, 0);
  td_number_row_set_range (self->relaxation, 0.01, 1.99);
  td_number_row_set_steps (self->relaxation, 0.05, 0.25, 2);
  td_number_row_set_range (self->tolerance, 0, 1);
  td_number_row_set_steps (self->tolerance, 0.001, 0.01, 3);
  td_number_row_set_range (self->tv, 0, 1);
  td_number_row_set_steps (self->tv, 0.001, 0.01, 4);
  td_recipe_group_bind (TD_RECIPE_GROUP (self), self->iterations, "iterations", "iterative");
  td_recipe_group_bind (TD_RECIPE_GROUP (self), self->subsets, "subsets", "iterative");
  td_recipe_group_bind (TD_RECIPE_GROUP (self), self->relaxation, "relaxation", "iterative");
  td_recipe_group_bind (TD_RECIPE_GROUP (self), self->tv, "tv", "iterative");
  td_recipe_group_bind (TD_RECIPE_GROUP (self), self->tolerance, "tolerance", "iterative");
  td_recipe_group_bind (TD_RECIPE_GROUP (self), self->non_negative, "non-negative", "non-negative");
}
