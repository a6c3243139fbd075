/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "recipe-group.h"

#include <string.h>

#include "number-row.h"
#include "ui.h"

typedef struct {
  GObject *control; /* a child of the group */
  gsize offset, size;
  const char *key;
} Binding;

typedef struct {
  TdRecipe recipe;
  gboolean known;
  guint showing;
  GArray *bindings;
} TdRecipeGroupPrivate;

enum { EDITED, N_SIGNALS };
static guint signals[N_SIGNALS];

G_DEFINE_TYPE_WITH_PRIVATE (TdRecipeGroup, td_recipe_group, ADW_TYPE_PREFERENCES_GROUP)

/* ── Bound controls ── */

static double
recipe_group_control_value (GObject *control)
{
  if (TD_IS_NUMBER_ROW (control))
    return td_number_row_get_value (TD_NUMBER_ROW (control));
  if (GTK_IS_SWITCH (control))
    return gtk_switch_get_active (GTK_SWITCH (control));
  return adw_combo_row_get_selected (ADW_COMBO_ROW (control));
}

static void
recipe_group_show_field (const Binding *binding, const TdRecipe *recipe)
{
  const char *field = (const char *) recipe + binding->offset;
  double number;
  guint whole = 0;

  if (binding->size == sizeof number) {
    memcpy (&number, field, sizeof number);
  } else {
    memcpy (&whole, field, sizeof whole);
    number = whole;
  }
  if (TD_IS_NUMBER_ROW (binding->control))
    td_number_row_set_value (TD_NUMBER_ROW (binding->control), number);
  else if (GTK_IS_SWITCH (binding->control))
    gtk_switch_set_active (GTK_SWITCH (binding->control), whole != 0);
  else
    adw_combo_row_set_selected (ADW_COMBO_ROW (binding->control), whole);
}

static void
recipe_group_take_field (TdRecipeGroup *self, GObject *control)
{
  TdRecipeGroupPrivate *priv = td_recipe_group_get_instance_private (self);
  TdRecipe *recipe = td_recipe_group_edit (self);
  const double number = recipe_group_control_value (control);
  const guint whole = (guint) number;
  guint i = 0;

  if (!recipe)
    return;
  while (g_array_index (priv->bindings, Binding, i).control != control)
    i++;
  const Binding *binding = &g_array_index (priv->bindings, Binding, i);
  char *field = (char *) recipe + binding->offset;
  if (binding->size == sizeof number)
    memcpy (field, &number, sizeof number);
  else
    memcpy (field, &whole, sizeof whole);
  td_recipe_group_commit (self, binding->key);
}

static void
recipe_group_on_number (TdNumberRow *row, double value, TdRecipeGroup *self)
{
  recipe_group_take_field (self, G_OBJECT (row));
}

static void
recipe_group_on_choice (GObject *control, GParamSpec *property, TdRecipeGroup *self)
{
  recipe_group_take_field (self, control);
}

void
td_recipe_group_bind (TdRecipeGroup *self, GObject *control, gsize offset, gsize size,
                      const char *key)
{
  TdRecipeGroupPrivate *priv = td_recipe_group_get_instance_private (self);
  const Binding binding = { control, offset, size, key };

  g_assert (size == sizeof (guint) || size == sizeof (double));
  g_array_append_val (priv->bindings, binding);
  if (TD_IS_NUMBER_ROW (control))
    g_signal_connect (control, "changed", G_CALLBACK (recipe_group_on_number), self);
  else
    g_signal_connect (control, GTK_IS_SWITCH (control) ? "notify::active" : "notify::selected",
                      G_CALLBACK (recipe_group_on_choice), self);
}

/* ── The group ── */

void
td_recipe_group_show (TdRecipeGroup *self, const TdScanFacts *facts, const TdRecipe *recipe)
{
  TdRecipeGroupPrivate *priv = td_recipe_group_get_instance_private (self);

  priv->recipe = *recipe;
  priv->known = TRUE;
  priv->showing++;
  for (guint i = 0; i < priv->bindings->len; i++)
    recipe_group_show_field (&g_array_index (priv->bindings, Binding, i), recipe);
  if (TD_RECIPE_GROUP_GET_CLASS (self)->show)
    TD_RECIPE_GROUP_GET_CLASS (self)->show (self, facts, recipe);
  priv->showing--;
}

TdRecipe *
td_recipe_group_edit (TdRecipeGroup *self)
{
  TdRecipeGroupPrivate *priv = td_recipe_group_get_instance_private (self);

  return priv->known && priv->showing == 0 ? &priv->recipe : NULL;
}

void
td_recipe_group_commit (TdRecipeGroup *self, const char *key)
{
  TdRecipeGroupPrivate *priv = td_recipe_group_get_instance_private (self);
  TdRecipe recipe = priv->recipe;

  g_signal_emit (self, signals[EDITED], 0, &recipe, key);
}

static void
td_recipe_group_finalize (GObject *object)
{
  TdRecipeGroupPrivate *priv = td_recipe_group_get_instance_private (TD_RECIPE_GROUP (object));

  g_array_unref (priv->bindings);
  G_OBJECT_CLASS (td_recipe_group_parent_class)->finalize (object);
}

static void
td_recipe_group_class_init (TdRecipeGroupClass *class)
{
  G_OBJECT_CLASS (class)->finalize = td_recipe_group_finalize;
  signals[EDITED]
      = td_signal_new (TD_TYPE_RECIPE_GROUP, "edited", 2, G_TYPE_POINTER, G_TYPE_STRING);
}

static void
td_recipe_group_init (TdRecipeGroup *self)
{
  TdRecipeGroupPrivate *priv = td_recipe_group_get_instance_private (self);

  priv->bindings = g_array_new (FALSE, FALSE, sizeof (Binding));
}
