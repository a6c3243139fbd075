/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "recipe-group.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

#include "compute/recipe/field.h"
#include "method-choices.h"
#include "number-row.h"
#include "quantity.h"
#include "ui.h"

#define GIB_MOST 4096 /* of a limit of memory */

typedef struct {
  GtkWidget *control; /* below the group */
  GtkWidget *row;     /* hidden where the field does not apply; NULL: always there */
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

/* What a control shows of a field: a number, an index, or whether a switch is on. */
static double
binding_read (const TdField *field, const TdRecipe *recipe)
{
  const void *value = (const char *) recipe + field->offset;

  if (field->kind == &td_kind_number)
    return *(const double *) value;
  if (field->kind == &td_kind_bytes)
    return td_gib_from_bytes (*(const guint64 *) value);
  if (strcmp (field->option, "kernel") == 0)
    return td_family_choice_index (recipe->family);
  if (strcmp (field->option, "start") == 0)
    return g_str_equal (recipe->start, "auto") || g_str_equal (recipe->start, "filtered");
  return *(const guint *) value;
}

static void
binding_write (const TdField *field, double number, TdRecipe *recipe)
{
  void *value = (char *) recipe + field->offset;

  if (field->kind == &td_kind_number)
    *(double *) value = number;
  else if (field->kind == &td_kind_bytes)
    *(guint64 *) value = td_bytes_from_gib (number);
  else if (strcmp (field->option, "kernel") == 0)
    g_strlcpy (recipe->family, td_family_choice_value ((guint) number), sizeof recipe->family);
  else if (strcmp (field->option, "start") == 0) /* a file to go on from stays until now */
    g_strlcpy (recipe->start, number != 0 ? "auto" : "zero", sizeof recipe->start);
  else
    *(guint *) value = (guint) number;
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

/* Returns whether the field applies. */
static gboolean
binding_show (const Binding *binding, const TdScanFacts *facts, const TdRecipe *recipe)
{
  const double number = binding_read (binding->field, recipe);
  const char *reason;

  if (TD_IS_NUMBER_ROW (binding->control))
    td_number_row_set_value (TD_NUMBER_ROW (binding->control), number);
  else if (GTK_IS_SWITCH (binding->control))
    gtk_switch_set_active (GTK_SWITCH (binding->control), number != 0);
  else
    adw_combo_row_set_selected (ADW_COMBO_ROW (binding->control), (guint) number);
  const gboolean applies = td_recipe_field_applies (binding->field, recipe, facts, &reason);
  gtk_widget_set_sensitive (binding->control, applies);
  gtk_widget_set_tooltip_text (binding->control, reason ? _ (reason) : NULL);
  if (binding->row)
    gtk_widget_set_visible (binding->row, applies);
  return applies;
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
    binding_write (binding->field, binding_control_value (binding), recipe);
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

static void
recipe_group_bind (TdRecipeGroup *self, const Binding *binding)
{
  TdRecipeGroupPrivate *priv = td_recipe_group_get_instance_private (self);
  gpointer control = binding->control;

  g_array_append_vals (priv->bindings, binding, 1);
  if (TD_IS_NUMBER_ROW (control))
    g_signal_connect (control, "changed", G_CALLBACK (recipe_group_on_number), self);
  else
    g_signal_connect (control, GTK_IS_SWITCH (control) ? "notify::active" : "notify::selected",
                      G_CALLBACK (recipe_group_on_choice), self);
}

void
td_recipe_group_bind (TdRecipeGroup *self, gpointer control, const char *option, const char *key)
{
  const Binding binding = { control, NULL, td_recipe_field (option), key };

  g_assert (binding.field != NULL);
  recipe_group_bind (self, &binding);
}

static GtkWidget *
number_row_of (const TdField *field, const TdRecipeRow *row)
{
  const gboolean bytes = field->kind == &td_kind_bytes;
  const double least = field->kind == &td_kind_number ? pow (10, -(double) row->digits) : 1;
  const double low = bytes ? 0 : field->none ? 0 : field->low + (field->above ? least : 0);
  const double high = bytes ? GIB_MOST : field->high - (field->below ? least : 0);
  GtkWidget *control
      = td_number_row_new (_ (field->label), NULL, low, high, row->step, row->digits);

  td_number_row_set_steps (TD_NUMBER_ROW (control), row->step, row->page, row->digits);
  return control;
}

static GtkWidget *
combo_row_of (const TdField *field)
{
  const TdChoice choice = td_choice_of (field->option);
  GtkWidget *control = g_object_new (ADW_TYPE_COMBO_ROW, "title", _ (field->label), "model",
                                     td_choices (choice, FALSE), NULL);

  if (choice == TD_CHOICE_KERNEL) { /* names that have no room beside the title */
    adw_combo_row_set_use_subtitle (ADW_COMBO_ROW (control), TRUE);
    adw_action_row_set_subtitle_lines (ADW_ACTION_ROW (control), 0);
  }
  return control;
}

static GtkWidget *
switch_row_of (const TdField *field, GtkWidget **control)
{
  GtkWidget *row = g_object_new (ADW_TYPE_ACTION_ROW, "title", _ (field->label), NULL);

  *control = gtk_switch_new ();
  gtk_widget_set_valign (*control, GTK_ALIGN_CENTER);
  adw_action_row_add_suffix (ADW_ACTION_ROW (row), *control);
  adw_action_row_set_activatable_widget (ADW_ACTION_ROW (row), *control);
  return row;
}

GtkWidget *
td_recipe_group_add (TdRecipeGroup *self, const TdRecipeRow *row)
{
  const TdField *field = td_recipe_field (row->option);
  GtkWidget *control = NULL, *widget;

  g_assert (field != NULL);
  if (row->step > 0)
    widget = number_row_of (field, row);
  else if (field->kind == &td_kind_switch || strcmp (field->option, "start") == 0)
    widget = switch_row_of (field, &control);
  else
    widget = combo_row_of (field);
  if (row->subtitle)
    adw_action_row_set_subtitle (ADW_ACTION_ROW (widget), _ (row->subtitle));
  adw_preferences_group_add (ADW_PREFERENCES_GROUP (self), widget);
  recipe_group_bind (
      self, &(Binding) { control ? control : widget, row->hides ? widget : NULL, field, row->key });
  return widget;
}

/* ── The group ── */

void
td_recipe_group_show (TdRecipeGroup *self, const TdScanFacts *facts, const TdRecipe *recipe)
{
  TdRecipeGroupPrivate *priv = td_recipe_group_get_instance_private (self);

  priv->recipe = *recipe;
  priv->known = TRUE;
  priv->showing++;
  gboolean any = priv->bindings->len == 0;
  for (guint i = 0; i < priv->bindings->len; i++) {
    const Binding *binding = &g_array_index (priv->bindings, Binding, i);
    any |= binding_show (binding, facts, recipe) || !binding->row;
  }
  gtk_widget_set_visible (GTK_WIDGET (self), any);
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
