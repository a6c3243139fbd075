/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "recipe-group.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

#include "compute/recipe/field.h"
#include "labels.h"
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
  GtkWidget *reset; /* shown while the value is not the preset; NULL: none */
  char **reasons;   /* one a choice, "": it can be taken; NULL: all can, or there are none */
} Binding;

typedef struct {
  TdRecipe recipe;
  gboolean known;
  guint showing;
  GArray *bindings;
} TdRecipeGroupPrivate;

G_DEFINE_TYPE_WITH_PRIVATE (TdRecipeGroup, td_recipe_group, ADW_TYPE_PREFERENCES_GROUP)

static void
recipe_group_binding_clear (gpointer binding)
{
  g_strfreev (((Binding *) binding)->reasons);
}

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

/* ── Choices that the scan or another choice rules out ── */

static const char *
binding_reason (const Binding *binding, guint index)
{
  return binding->reasons && index < g_strv_length (binding->reasons) ? binding->reasons[index]
                                                                      : "";
}

static const Binding *
recipe_group_binding (TdRecipeGroup *self, gpointer control)
{
  TdRecipeGroupPrivate *priv = td_recipe_group_get_instance_private (self);

  for (guint i = 0; i < priv->bindings->len; i++)
    if (g_array_index (priv->bindings, Binding, i).control == control)
      return &g_array_index (priv->bindings, Binding, i);
  return NULL;
}

static void
recipe_group_set_up_item (GtkSignalListItemFactory *factory, GtkListItem *item, gpointer combo)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);

  for (guint i = 0; i < 2; i++) {
    GtkWidget *label
        = g_object_new (GTK_TYPE_LABEL, "xalign", 0.0, "wrap", TRUE, "max-width-chars", 34, NULL);
    if (i > 0)
      gtk_widget_add_css_class (label, "caption");
    gtk_box_append (GTK_BOX (box), label);
  }
  gtk_list_item_set_child (item, box);
}

/* A choice that cannot be taken is grey, says why, and takes no click. The keyboard comes to it all
 * the same, for it would not pass what cannot be marked. */
static void
recipe_group_bind_item (GtkSignalListItemFactory *factory, GtkListItem *item, gpointer combo)
{
  TdRecipeGroup *self = TD_RECIPE_GROUP (gtk_widget_get_ancestor (combo, TD_TYPE_RECIPE_GROUP));
  GtkWidget *box = gtk_list_item_get_child (item), *name = gtk_widget_get_first_child (box);
  GtkWidget *why = gtk_widget_get_next_sibling (name);
  const Binding *binding = self ? recipe_group_binding (self, combo) : NULL;
  const char *reason = binding ? binding_reason (binding, gtk_list_item_get_position (item)) : "";

  gtk_label_set_text (GTK_LABEL (name),
                      gtk_string_object_get_string (gtk_list_item_get_item (item)));
  gtk_label_set_text (GTK_LABEL (why), reason);
  gtk_widget_set_visible (why, *reason != 0);
  gtk_widget_set_sensitive (box, *reason == 0);
  gtk_list_item_set_activatable (item, *reason == 0);
}

void
td_recipe_group_set_reasons (TdRecipeGroup *self, TdChoiceReason reason_of, gpointer user)
{
  TdRecipeGroupPrivate *priv = td_recipe_group_get_instance_private (self);

  for (guint i = 0; i < priv->bindings->len; i++) {
    Binding *binding = &g_array_index (priv->bindings, Binding, i);
    if (!ADW_IS_COMBO_ROW (binding->control))
      continue;
    g_autoptr (GStrvBuilder) builder = g_strv_builder_new ();
    const guint n
        = g_list_model_get_n_items (adw_combo_row_get_model (ADW_COMBO_ROW (binding->control)));
    for (guint k = 0; k < n; k++) {
      const char *reason = reason_of (binding->field->option, k, user);
      g_strv_builder_add (builder, reason ? reason : "");
    }
    g_auto (GStrv) reasons = g_strv_builder_end (builder);
    if (binding->reasons
        && g_strv_equal ((const char *const *) binding->reasons, (const char *const *) reasons))
      continue;
    g_strfreev (binding->reasons);
    binding->reasons = g_steal_pointer (&reasons);
    g_autoptr (GtkListItemFactory) factory = gtk_signal_list_item_factory_new ();
    g_signal_connect (factory, "setup", G_CALLBACK (recipe_group_set_up_item), binding->control);
    g_signal_connect (factory, "bind", G_CALLBACK (recipe_group_bind_item), binding->control);
    adw_combo_row_set_list_factory (ADW_COMBO_ROW (binding->control), factory);
  }
}

/* ── Back to the default ── */

static void
recipe_group_on_reset (GtkButton *button, TdRecipeGroup *self)
{
  const Binding *binding
      = recipe_group_binding (self, g_object_get_data (G_OBJECT (button), "control"));
  TdRecipe *recipe = td_recipe_group_edit (self), preset;

  if (!recipe)
    return;
  td_recipe_init (&preset);
  binding_write (binding->field, binding_read (binding->field, &preset), recipe);
  td_recipe_group_commit (self, NULL);
}

static GtkWidget *
recipe_group_add_reset (TdRecipeGroup *self, GtkWidget *row, const TdField *field, gpointer control)
{
  TdRecipe preset;

  td_recipe_init (&preset);
  g_autofree char *value = td_label_value (field->option, &preset);
  g_autofree char *tip = g_strdup_printf (_ ("Back to the default: %s"), value);
  GtkWidget *reset
      = td_symbol_button ("edit-undo-symbolic", tip, G_CALLBACK (recipe_group_on_reset), self);
  gtk_widget_add_css_class (reset, "reset");
  g_object_set_data (G_OBJECT (reset), "control", control);
  adw_action_row_add_suffix (ADW_ACTION_ROW (row), reset);
  return reset;
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
  td_set_sensitive (binding->control, applies);
  td_set_tooltip (binding->control, reason ? _ (reason) : NULL);
  if (binding->row)
    gtk_widget_set_visible (binding->row, applies);
  if (binding->reset) {
    TdRecipe preset;
    td_recipe_init (&preset);
    gtk_widget_set_visible (binding->reset,
                            applies && number != binding_read (binding->field, &preset));
  }
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
  TdRecipeGroupPrivate *priv = td_recipe_group_get_instance_private (self);
  const Binding *binding = recipe_group_binding (self, control);

  /* Whatever way it was chosen: the list shows what the recipe has. */
  if (priv->showing == 0 && ADW_IS_COMBO_ROW (control)
      && *binding_reason (binding, (guint) binding_control_value (binding))) {
    adw_combo_row_set_selected (ADW_COMBO_ROW (control),
                                (guint) binding_read (binding->field, &priv->recipe));
    return;
  }
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
  const TdField *field = td_recipe_field (option);

  g_assert (field != NULL);
  GtkWidget *reset
      = ADW_IS_ACTION_ROW (control) ? recipe_group_add_reset (self, control, field, control) : NULL;
  const Binding binding = { control, NULL, field, key, reset, NULL };
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
switch_row_of (const TdField *field, GtkWidget **control)
{
  GtkWidget *row = g_object_new (ADW_TYPE_ACTION_ROW, "title", _ (field->label), NULL);

  *control = gtk_switch_new ();
  td_set_spoken_name (*control, _ (field->label));
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
  else /* Names have no room beside the title. */
    widget = g_object_new (ADW_TYPE_COMBO_ROW, "title", _ (field->label), "model",
                           td_choices (td_choice_of (field->option), FALSE), "use-subtitle", TRUE,
                           "subtitle-lines", 0, NULL);
  if (row->subtitle)
    adw_action_row_set_subtitle (ADW_ACTION_ROW (widget), _ (row->subtitle));
  adw_preferences_group_add (ADW_PREFERENCES_GROUP (self), widget);
  control = control ? control : widget;
  GtkWidget *reset = recipe_group_add_reset (self, widget, field, control);
  recipe_group_bind (
      self, &(Binding) { control, row->hides ? widget : NULL, field, row->key, reset, NULL });
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

  g_signal_emit_by_name (self, "edited", &recipe, key);
}

TD_FINALIZE (TdRecipeGroup, td_recipe_group)
{
  TdRecipeGroupPrivate *priv = td_recipe_group_get_instance_private (self);

  g_array_unref (priv->bindings);
}

static void
td_recipe_group_class_init (TdRecipeGroupClass *class)
{
  G_OBJECT_CLASS (class)->finalize = td_recipe_group_finalize;
  td_signal_new (class, "edited", 2, G_TYPE_POINTER, G_TYPE_STRING);
}

static void
td_recipe_group_init (TdRecipeGroup *self)
{
  TdRecipeGroupPrivate *priv = td_recipe_group_get_instance_private (self);

  priv->bindings = g_array_new (FALSE, FALSE, sizeof (Binding));
  g_array_set_clear_func (priv->bindings, recipe_group_binding_clear);
}
