/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "region-group.h"

#include <glib/gi18n.h>

#include <string.h>

#include "compute/engine/cone-scan.h"
#include "number-row.h"
#include "ui.h"

/* Of the detector's row. */
typedef enum {
  FIRST_COLUMN,
  FIRST_ROW,
  COLUMNS,
  ROWS,
  BIN_COLUMNS,
  BIN_ROWS,
  BIN_VIEWS,
  N_NUMBERS
} Number;

struct _TdRegionGroup {
  TdRecipeGroup parent_instance;
  TdNumberRow *first, *last;
  AdwExpanderRow *detector; /* its part that is used, and what is averaged to one */
  TdNumberRow *numbers[N_NUMBERS];
  AdwActionRow *region;
  GtkWidget *whole, *whole_detector; /* buttons */
  guint n_rows, n_columns, n_detector_rows;
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

static guint
region_group_number (TdRegionGroup *self, Number which)
{
  return (guint) td_number_row_get_value (self->numbers[which]);
}

static void
region_group_on_detector (TdNumberRow *row, double value, TdRegionGroup *self)
{
  TdRecipe *recipe = td_recipe_group_edit (TD_RECIPE_GROUP (self));

  if (!recipe)
    return;
  const guint column = MIN (region_group_number (self, FIRST_COLUMN), self->n_columns - 1);
  const guint first = MIN (region_group_number (self, FIRST_ROW), self->n_detector_rows - 1);
  const guint columns = MIN (region_group_number (self, COLUMNS), self->n_columns - column);
  const guint rows = MIN (region_group_number (self, ROWS), self->n_detector_rows - first);
  const gboolean all = columns == self->n_columns && rows == self->n_detector_rows;
  const guint crop[4] = { column, first, columns, rows }, none[4] = { 0 };

  memcpy (recipe->crop, all ? none : crop, sizeof recipe->crop);
  recipe->bin[0] = region_group_number (self, BIN_COLUMNS);
  recipe->bin[1] = region_group_number (self, BIN_ROWS);
  recipe->bin_views = region_group_number (self, BIN_VIEWS);
  td_recipe_group_commit (TD_RECIPE_GROUP (self), "detector");
}

static void
region_group_on_whole_detector (GtkButton *button, TdRegionGroup *self)
{
  TdRecipe *recipe = td_recipe_group_edit (TD_RECIPE_GROUP (self));

  if (!recipe)
    return;
  memset (recipe->crop, 0, sizeof recipe->crop);
  recipe->bin[0] = recipe->bin[1] = recipe->bin_views = 1;
  td_recipe_group_commit (TD_RECIPE_GROUP (self), "detector");
}

static void
region_group_on_whole_clicked (GtkButton *button, TdRegionGroup *self)
{
  TdRecipe *recipe = td_recipe_group_edit (TD_RECIPE_GROUP (self));

  if (!recipe)
    return;
  memset (recipe->region, 0, sizeof recipe->region);
  td_recipe_group_commit (TD_RECIPE_GROUP (self), "region");
}

static void
region_group_show_summary (TdRegionGroup *self, const TdRecipe *recipe)
{
  g_autoptr (GString) text = g_string_new (NULL);
  const guint *c = recipe->crop;
  guint columns = MAX (recipe->bin[0], 1), rows = MAX (recipe->bin[1], 1);
  guint views = MAX (recipe->bin_views, 1);

  if (c[2] > 0)
    g_string_append_printf (text, _ ("%u × %u pixels from column %u, row %u"), c[2], c[3], c[0],
                            c[1]);
  if (columns > 1 || rows > 1) {
    g_string_append (text, text->len ? "; " : "");
    g_string_append_printf (text, _ ("%u × %u pixels to one"), columns, rows);
  }
  if (views > 1) {
    g_string_append (text, text->len ? "; " : "");
    g_string_append_printf (text, _ ("%u views to one"), views);
  }
  gtk_widget_set_visible (self->whole_detector, text->len > 0);
  if (text->len == 0)
    g_string_append (text, _ ("All of it. Shift and drag in the projection to crop"));
  adw_expander_row_set_subtitle (self->detector, text->str);
}

static void
region_group_show_detector (TdRegionGroup *self, const TdScanFacts *facts, const TdRecipe *recipe)
{
  const guint *c = recipe->crop;

  self->n_columns = facts ? facts->n_columns : 1;
  self->n_detector_rows = facts ? facts->n_rows : 1;
  const double most[N_NUMBERS] = { self->n_columns - 1,
                                   self->n_detector_rows - 1,
                                   self->n_columns,
                                   self->n_detector_rows,
                                   MIN (self->n_columns, TD_RECIPE_MAX_BIN),
                                   MIN (self->n_detector_rows, TD_RECIPE_MAX_BIN),
                                   TD_RECIPE_MAX_BIN };
  const double values[N_NUMBERS] = { c[0],
                                     c[1],
                                     c[2] > 0 ? c[2] : self->n_columns,
                                     c[2] > 0 ? c[3] : self->n_detector_rows,
                                     MAX (recipe->bin[0], 1),
                                     MAX (recipe->bin[1], 1),
                                     MAX (recipe->bin_views, 1) };
  for (guint i = 0; i < N_NUMBERS; i++) {
    td_number_row_set_range (self->numbers[i], i < COLUMNS ? 0 : 1, most[i]);
    td_number_row_set_value (self->numbers[i], values[i]);
  }
  region_group_show_summary (self, recipe);
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
  region_group_show_detector (self, facts, recipe);
}

static void
td_region_group_class_init (TdRegionGroupClass *class)
{
  TD_RECIPE_GROUP_CLASS (class)->show = td_region_group_show;
}

static void
region_group_make_detector (TdRegionGroup *self)
{
  const char *const titles[N_NUMBERS] = { _ ("First column"),
                                          _ ("First row"),
                                          _ ("Columns"),
                                          _ ("Rows"),
                                          _ ("Columns averaged to one"),
                                          _ ("Rows averaged to one"),
                                          _ ("Views averaged to one") };

  self->n_columns = self->n_detector_rows = 1;
  self->detector = g_object_new (ADW_TYPE_EXPANDER_ROW, "title", _ ("Detector"), NULL);
  for (guint i = 0; i < N_NUMBERS; i++) {
    GtkWidget *row = td_number_row_new (titles[i], NULL, 0, 1, 1, 0);
    self->numbers[i] = TD_NUMBER_ROW (row);
    g_signal_connect (row, "changed", G_CALLBACK (region_group_on_detector), self);
    adw_expander_row_add_row (self->detector, row);
  }
  self->whole_detector
      = td_button_new (_ ("Whole"), NULL, G_CALLBACK (region_group_on_whole_detector), self);
  adw_expander_row_add_action (self->detector, self->whole_detector);
}

static void
td_region_group_init (TdRegionGroup *self)
{
  AdwPreferencesGroup *group = ADW_PREFERENCES_GROUP (self);

  adw_preferences_group_set_title (group, _ ("Region"));
  self->first = TD_NUMBER_ROW (td_number_row_new (_ ("First row"), NULL, 0, 0, 1, 0));
  self->last = TD_NUMBER_ROW (td_number_row_new (_ ("Last row"), NULL, 0, 0, 1, 0));
  self->region = g_object_new (ADW_TYPE_ACTION_ROW, "title", _ ("Part of the slice"), NULL);
  self->whole = td_button_new (_ ("Whole"), NULL, G_CALLBACK (region_group_on_whole_clicked), self);
  adw_action_row_add_suffix (self->region, self->whole);
  region_group_make_detector (self);
  g_signal_connect (self->first, "changed", G_CALLBACK (on_rows_changed), self);
  g_signal_connect (self->last, "changed", G_CALLBACK (on_rows_changed), self);
  adw_preferences_group_add (group, GTK_WIDGET (self->first));
  adw_preferences_group_add (group, GTK_WIDGET (self->last));
  adw_preferences_group_add (group, GTK_WIDGET (self->region));
  adw_preferences_group_add (group, GTK_WIDGET (self->detector));
  td_recipe_group_add (TD_RECIPE_GROUP (self), &(TdRecipeRow) { "field-of-view" });
}
