/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "recipe-group.h"

typedef struct {
  TdRecipe recipe;
  gboolean known;
  guint showing;
} TdRecipeGroupPrivate;

enum { EDITED, N_SIGNALS };
static guint signals[N_SIGNALS];

G_DEFINE_TYPE_WITH_PRIVATE (TdRecipeGroup, td_recipe_group, ADW_TYPE_PREFERENCES_GROUP)

void
td_recipe_group_show (TdRecipeGroup *self, const TdScanFacts *facts, const TdRecipe *recipe)
{
  TdRecipeGroupPrivate *priv = td_recipe_group_get_instance_private (self);

  priv->recipe = *recipe;
  priv->known = TRUE;
  priv->showing++;
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
td_recipe_group_class_init (TdRecipeGroupClass *class)
{
  signals[EDITED] = g_signal_new ("edited", TD_TYPE_RECIPE_GROUP, G_SIGNAL_RUN_LAST, 0, NULL, NULL,
                                  NULL, G_TYPE_NONE, 2, G_TYPE_POINTER, G_TYPE_STRING);
}

static void
td_recipe_group_init (TdRecipeGroup *self)
{
}
