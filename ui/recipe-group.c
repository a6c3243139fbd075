/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "recipe-group.h"

#include <glib/gi18n.h>

#include "compute/recipe/field.h"
#include "number-row.h"
#include "ui.h"

typedef struct {
  GtkWidget *control; /* a child of the group */
  const TdField *field;
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

static gboolean
binding_is_real (const Binding *binding)
{
  return binding->field->kind == &td_kind_number;
}

static double
binding_control_value (const Binding *binding)
{
  if (TD_IS_NUMBER_ROW (binding->control))
    return td_number_row_get_value (TD_NUMBER_ROW (binding->control));
  if (GTK_IS_SWITCH (binding->control))
    return gtk_switch_get_active (GTK_SWITCH (binding->control));
  return adw_combo_row_get_selected (ADW_COMBO_ROW (binding->control));
}

static void
binding_show (const Binding *binding, const TdScanFacts *facts, const TdRecipe *recipe)
{
  const void *value = (const char *) recipe + binding->field->offset;
  const double number
      = binding_is_real (binding) ? *(const double *) value : (double) *(const guint *) value;
  const char *reason;

  if (TD_IS_NUMBER_ROW (binding->control))
    td_number_row_set_value (TD_NUMBER_ROW (binding->control), number);
  else if (GTK_IS_SWITCH (binding->control))
    gtk_switch_set_active (GTK_SWITCH (binding->control), number != 0);
  else
    adw_combo_row_set_selected (ADW_COMBO_ROW (binding->control), (guint) number);
  gtk_widget_set_sensitive (binding->control,
                            td_recipe_field_applies (binding->field, recipe, facts, &reason));
  gtk_widget_set_tooltip_text (binding->control, reason ? _ (reason) : NULL);
}

static void
binding_take (const Binding *binding, TdRecipe *recipe)
{
  void *value = (char *) recipe + binding->field->offset;
  const double number = binding_control_value (binding);

  if (binding_is_real (binding))
    *(double *) value = number;
  else
    *(guint *) value = (guint) number;
}

static void
recipe_group_on_changed (TdRecipeGroup *self, gpointer control)
{
  TdRecipeGroupPrivate *priv = td_recipe_group_get_instance_private (self);
  TdRecipe *recipe = td_recipe_group_edit (self);

  for (guint i = 0; recipe && i < priv->bindings->len; i++) {
    const Binding *binding = &g_array_index (priv->bindings, Binding, i);
    if (binding->control != control)
      continue;
    binding_take (binding, recipe);
    td_recipe_group_commit (self, binding->key);
    return;
  }
}

static void
recipe_group_on_number (TdNumberRow *row, double value, TdRecipeGroup *self)
{
  recipe_group_on_changed (self, row);
}

static void
recipe_group_on_choice (GObject *control, GParamSpec *property, TdRecipeGroup *self)
{
  recipe_group_on_changed (self, control);
}

void
td_recipe_group_bind (TdRecipeGroup *self, gpointer control, const char *option, const char *key)
{
  TdRecipeGroupPrivate *priv = td_recipe_group_get_instance_private (self);
  const Binding binding = { control, td_recipe_field (option), key };

  g_assert (binding.field != NULL);
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
    binding_show (&g_array_index (priv->bindings, Binding, i), facts, recipe);
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
