/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "steps-group.h"

#include <glib/gi18n.h>

#include "step-row.h"

struct _TdStepsGroup {
  TdRecipeGroup parent_instance;
  GPtrArray *rows; /* TdStepRow */
};

G_DEFINE_FINAL_TYPE (TdStepsGroup, td_steps_group, TD_TYPE_RECIPE_GROUP)

static void
on_step_changed (TdStepRow *row, gpointer user, TdStepsGroup *self)
{
  const TdStep *changed = user;
  TdRecipe *recipe = td_recipe_group_edit (TD_RECIPE_GROUP (self));

  if (!recipe)
    return;
  TdStep *step = td_recipe_step (recipe, changed->name);
  if (!step && changed->enabled) {
    g_autoptr (GError) error = NULL;
    step = td_recipe_add_step (recipe, changed->name, &error);
    if (!step)
      g_warning ("%s", error->message);
  }
  if (!step)
    return;
  *step = *changed;
  td_recipe_group_commit (TD_RECIPE_GROUP (self), changed->name);
}

static void
td_steps_group_show (TdRecipeGroup *group, const TdScanFacts *facts, const TdRecipe *recipe)
{
  TdStepsGroup *self = TD_STEPS_GROUP (group);
  TdRecipe copy = *recipe;

  for (guint i = 0; i < self->rows->len; i++) {
    TdStepRow *row = g_ptr_array_index (self->rows, i);
    td_step_row_show (row, td_recipe_step (&copy, td_step_row_kind (row)->name));
  }
}

static void
td_steps_group_finalize (GObject *object)
{
  g_ptr_array_unref (TD_STEPS_GROUP (object)->rows);
  G_OBJECT_CLASS (td_steps_group_parent_class)->finalize (object);
}

static void
td_steps_group_class_init (TdStepsGroupClass *class)
{
  G_OBJECT_CLASS (class)->finalize = td_steps_group_finalize;
  TD_RECIPE_GROUP_CLASS (class)->show = td_steps_group_show;
}

static void
td_steps_group_init (TdStepsGroup *self)
{
  const TdStepKind *const *kinds = td_prepare_steps ();

  adw_preferences_group_set_title (ADW_PREFERENCES_GROUP (self), _("Preparation"));
  self->rows = g_ptr_array_new ();
  for (guint i = 0; kinds[i]; i++) {
    GtkWidget *row = td_step_row_new (kinds[i]);
    g_signal_connect (row, "changed", G_CALLBACK (on_step_changed), self);
    adw_preferences_group_add (ADW_PREFERENCES_GROUP (self), row);
    g_ptr_array_add (self->rows, row);
  }
}
