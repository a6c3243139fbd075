/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "region-group.h"

#include <glib/gi18n.h>

#include "compute/engine/cone-scan.h"
#include "detector-row.h"
#include "number-row.h"

struct _TdRegionGroup {
  TdRecipeGroup parent_instance;
  TdNumberRow *first, *last;
  TdDetectorRow *detector;
  AdwActionRow *region;
  GtkWidget *whole;
  guint n_rows;
};

G_DEFINE_FINAL_TYPE (TdRegionGroup, td_region_group, TD_TYPE_RECIPE_GROUP)

static void
on_rows_changed (TdNumberRow *row, double value, TdRegionGroup *self)
{
  TdRecipe *recipe = td_recipe_group_edit (TD_RECIPE_GROUP (self));

  if (!recipe)
    return;
  guint first = (guint) td_number_row_get_value (self->first);
  guint last = (guint) td_number_row_get_value (self->last);
  if (row == self->first)
    last = MAX (last, first);
  else
    first = MIN (first, last);
  recipe->row_first = first;
  recipe->row_end = last + 1;
  if (first == 0 && last + 1 == self->n_rows)
    recipe->row_end = 0; /* all */
  td_recipe_group_commit (TD_RECIPE_GROUP (self), "rows");
}

static void
on_detector_changed (TdDetectorRow *detector, TdRegionGroup *self)
{
  TdRecipe *recipe = td_recipe_group_edit (TD_RECIPE_GROUP (self));

  if (!recipe)
    return;
  td_detector_row_apply (detector, recipe);
  td_recipe_group_commit (TD_RECIPE_GROUP (self), "detector");
}

static void
region_group_on_whole_clicked (GtkButton *button, TdRegionGroup *self)
{
  TdRecipe *recipe = td_recipe_group_edit (TD_RECIPE_GROUP (self));

  if (!recipe)
    return;
  for (guint i = 0; i < G_N_ELEMENTS (recipe->region); i++)
    recipe->region[i] = 0;
  td_recipe_group_commit (TD_RECIPE_GROUP (self), "region");
}

static void
td_region_group_show (TdRecipeGroup *group, const TdScanFacts *facts, const TdRecipe *recipe)
{
  TdRegionGroup *self = TD_REGION_GROUP (group);
  const gint *r = recipe->region;

  self->n_rows = facts ? MAX (td_recipe_slices (recipe, facts), 1) : 1;
  td_number_row_set_range (self->first, 0, self->n_rows - 1);
  td_number_row_set_range (self->last, 0, self->n_rows - 1);
  td_number_row_set_value (self->first, recipe->row_first);
  td_number_row_set_value (self->last, (recipe->row_end ? recipe->row_end : self->n_rows) - 1);
  g_autofree char *text
      = r[2] > 0
            ? g_strdup_printf (_ ("%d × %d pixels from column %d, row %d"), r[2], r[3], r[0], r[1])
            : g_strdup (_ ("The whole slice. Shift and drag in the slice to choose a part"));
  adw_action_row_set_subtitle (self->region, text);
  gtk_widget_set_visible (self->whole, r[2] > 0);
  td_detector_row_show (self->detector, facts, recipe);
}

static void
td_region_group_class_init (TdRegionGroupClass *class)
{
  TD_RECIPE_GROUP_CLASS (class)->show = td_region_group_show;
}

static void
td_region_group_init (TdRegionGroup *self)
{
  AdwPreferencesGroup *group = ADW_PREFERENCES_GROUP (self);

  adw_preferences_group_set_title (group, _ ("Region"));
  self->first = TD_NUMBER_ROW (td_number_row_new (_ ("First row"), NULL, 0, 0, 1, 0));
  self->last = TD_NUMBER_ROW (td_number_row_new (_ ("Last row"), NULL, 0, 0, 1, 0));
  self->region = g_object_new (ADW_TYPE_ACTION_ROW, "title", _ ("Part of the slice"), NULL);
  self->whole = gtk_button_new_with_label (_ ("Whole"));
  gtk_widget_set_valign (self->whole, GTK_ALIGN_CENTER);
  adw_action_row_add_suffix (self->region, self->whole);
  self->detector = g_object_new (TD_TYPE_DETECTOR_ROW, "title", _ ("Detector"), NULL);
  g_signal_connect (self->detector, "changed", G_CALLBACK (on_detector_changed), self);
  g_signal_connect (self->first, "changed", G_CALLBACK (on_rows_changed), self);
  g_signal_connect (self->last, "changed", G_CALLBACK (on_rows_changed), self);
  g_signal_connect (self->whole, "clicked", G_CALLBACK (region_group_on_whole_clicked), self);
  adw_preferences_group_add (group, GTK_WIDGET (self->first));
  adw_preferences_group_add (group, GTK_WIDGET (self->last));
  adw_preferences_group_add (group, GTK_WIDGET (self->region));
  adw_preferences_group_add (group, GTK_WIDGET (self->detector));
  td_recipe_group_add (TD_RECIPE_GROUP (self), &(TdRecipeRow) { "field-of-view" });
}
