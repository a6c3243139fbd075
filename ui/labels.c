/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "labels.h"

#include <glib/gi18n.h>
#include <string.h>

#include "compute/prepare/step.h"
#include "compute/recipe/field.h"
#include "method-choices.h"

#define MOST_CHANGES 2 /* that are told one by one */

/* A value as the field's list has it; one that is in no list, as it is. */
static const char *
label_of_value (const TdField *field, const char *value)
{
  if (strcmp (field->option, "kernel") == 0)
    return td_choice_label (TD_CHOICE_KERNEL, value);
  for (guint i = 0; field->names && field->labels && field->names[i]; i++)
    if (strcmp (field->names[i], value) == 0)
      return _ (field->labels[i]);
  return value;
}

/* @value: STEP or STEP=VALUES, as the command line takes it. The step is called as in its list. */
static char *
label_of_step (const char *value)
{
  const gsize n = strcspn (value, "=:");
  g_autofree char *name = g_strndup (value, n);
  const TdStepKind *kind = td_prepare_step (name, NULL);
  const char *title = kind ? _ (kind->title) : name;

  return value[n] ? g_strdup_printf (_ ("“Preparation: %s %s”"), title, value + n + 1)
                  : g_strdup_printf (_ ("“Preparation: %s”"), title);
}

char *
td_label_naming (const char *option, const char *value, const char *argument)
{
  const TdField *field = td_recipe_field (option);

  if (!field)
    field = td_scan_field (option);
  if (!field || !field->label)
    return td_naming_options (option, value, argument);
  if (value && strcmp (option, "prepare") == 0)
    return label_of_step (value);
  return value ? g_strdup_printf (_ ("“%s: %s”"), _ (field->label), label_of_value (field, value))
               : g_strdup_printf (_ ("“%s”"), _ (field->label));
}

char *
td_label_error (const GError *error)
{
  return td_error_text (error, td_label_naming);
}

/* What the question about a volume calls the fields of a scan. */
static char *
label_in_volume (const char *option, const char *value, const char *argument)
{
  const char *label = strcmp (option, "dataset") == 0    ? _ ("Data set")
                      : strcmp (option, "raw") == 0      ? _ ("Headerless slices")
                      : strcmp (option, "pixel-mm") == 0 ? _ ("Voxel (mm)")
                                                         : NULL;

  if (!label)
    return td_label_naming (option, value, argument);
  return value ? g_strdup_printf (_ ("“%s: %s”"), label, value)
               : g_strdup_printf (_ ("“%s”"), label);
}

char *
td_label_volume_error (const GError *error)
{
  return td_error_text (error, label_in_volume);
}

/* ── What was done ── */

/* The JSON's value in words. */
static char *
label_of_node (const TdField *field, JsonNode *node)
{
  char number[G_ASCII_DTOSTR_BUF_SIZE];

  if (JSON_NODE_HOLDS_NULL (node))
    return g_strdup (field->none ? field->none : _ ("none"));
  if (JSON_NODE_HOLDS_ARRAY (node)) {
    JsonArray *array = json_node_get_array (node);
    g_autoptr (GStrvBuilder) words = g_strv_builder_new ();
    for (guint i = 0; i < json_array_get_length (array); i++) {
      g_autofree char *word = label_of_node (field, json_array_get_element (array, i));
      g_strv_builder_add (words, word);
    }
    g_auto (GStrv) list = g_strv_builder_end (words);
    return g_strjoinv (_ (", "), list);
  }
  if (json_node_get_value_type (node) == G_TYPE_STRING)
    return g_strdup (label_of_value (field, json_node_get_string (node)));
  if (json_node_get_value_type (node) == G_TYPE_BOOLEAN)
    return g_strdup (json_node_get_boolean (node) ? _ ("on") : _ ("off"));
  return g_strdup (g_ascii_formatd (number, sizeof number, "%.6g", json_node_get_double (node)));
}

/* The step by its title, with those of its parameters that are not as it begins with them. */
static char *
label_of_one_step (const TdStep *step)
{
  const TdStepKind *kind = td_prepare_step (step->name, NULL);
  g_autoptr (GStrvBuilder) words = g_strv_builder_new ();

  for (guint i = 0; i < kind->n_parameters; i++) {
    const TdStepParameter *parameter = &kind->parameters[i];
    if (step->values[i] == parameter->preset)
      continue;
    g_autofree char *word = parameter->choices
                                ? g_strdup_printf ("%s: %s", _ (parameter->title),
                                                   _ (parameter->choices[(guint) step->values[i]]))
                                : g_strdup_printf ("%s: %.*f", _ (parameter->title),
                                                   (int) parameter->digits, step->values[i]);
    g_strv_builder_add (words, word);
  }
  g_auto (GStrv) list = g_strv_builder_end (words);
  g_autofree char *values = g_strjoinv (_ (", "), list);
  return *values ? g_strdup_printf ("%s (%s)", _ (kind->title), values)
                 : g_strdup (_ (kind->title));
}

static char *
label_of_steps (const TdRecipe *recipe)
{
  g_autoptr (GStrvBuilder) words = g_strv_builder_new ();

  for (guint i = 0; i < recipe->n_steps; i++) {
    g_autofree char *word = recipe->steps[i].enabled ? label_of_one_step (&recipe->steps[i]) : NULL;
    if (word)
      g_strv_builder_add (words, word);
  }
  g_auto (GStrv) list = g_strv_builder_end (words);
  return *list ? g_strjoinv (_ (", "), list) : g_strdup (_ ("none"));
}

char *
td_label_value (const char *option, const TdRecipe *recipe)
{
  const TdField *field = td_recipe_field (option);
  g_autoptr (JsonBuilder) builder = json_builder_new ();

  if (field->kind == &td_kind_steps)
    return label_of_steps (recipe);
  json_builder_begin_array (builder);
  field->kind->write (field, recipe, builder);
  json_builder_end_array (builder);
  g_autoptr (JsonNode) root = json_builder_get_root (builder);
  return label_of_node (field, json_array_get_element (json_node_get_array (root), 0));
}

/* NULL: the step is the same in both. */
static char *
label_step_change (const TdStep *from, const TdStep *to)
{
  const TdStepKind *kind = td_prepare_step (from ? from->name : to->name, NULL);
  const char *title = _ (kind->title);

  if (!from || !to)
    return g_strdup_printf (to ? _ ("%s: added") : _ ("%s: removed"), title);
  if (from->enabled != to->enabled)
    return g_strdup_printf (to->enabled ? _ ("%s: on") : _ ("%s: off"), title);
  for (guint i = 0; i < kind->n_parameters; i++)
    if (from->values[i] != to->values[i]) {
      const TdStepParameter *parameter = &kind->parameters[i];
      if (parameter->choices)
        return g_strdup_printf (_ ("%s: %s → %s"), title,
                                _ (parameter->choices[(guint) from->values[i]]),
                                _ (parameter->choices[(guint) to->values[i]]));
      return g_strdup_printf (_ ("%s: %.*f → %.*f"), title, (int) parameter->digits,
                              from->values[i], (int) parameter->digits, to->values[i]);
    }
  return NULL;
}

static void
label_add_steps (GPtrArray *changes, const TdRecipe *from, const TdRecipe *to)
{
  TdRecipe old = *from, new = *to;

  for (guint i = 0; i < old.n_steps; i++) {
    char *change = label_step_change (&old.steps[i], td_recipe_step (&new, old.steps[i].name));
    if (change)
      g_ptr_array_add (changes, change);
  }
  for (guint i = 0; i < new.n_steps; i++)
    if (!td_recipe_step (&old, new.steps[i].name))
      g_ptr_array_add (changes, label_step_change (NULL, &new.steps[i]));
}

char *
td_label_change (const TdRecipe *from, const TdRecipe *to)
{
  g_autoptr (GPtrArray) changes = g_ptr_array_new_with_free_func (g_free);

  for (const TdField *field = td_recipe_fields; field->option; field++) {
    if (!field->json || field->kind->equal (field, from, to))
      continue;
    if (field->kind == &td_kind_steps) {
      label_add_steps (changes, from, to);
      continue;
    }
    g_autofree char *old = td_label_value (field->option, from);
    g_autofree char *new = td_label_value (field->option, to);
    g_ptr_array_add (changes,
                     g_strdup_printf (_ ("%s: %s → %s"),
                                      field->label ? _ (field->label) : field->option, old, new));
  }
  if (changes->len > MOST_CHANGES)
    return g_strdup_printf (ngettext ("%u change at once", "%u changes at once", changes->len),
                            changes->len);
  g_ptr_array_add (changes, NULL);
  return g_strjoinv (_ (", "), (char **) changes->pdata);
}

/* ── Variants ── */

char *
td_label_kernel_task (const char *family, TdInterpolation interpolation, TdPrecision precision,
                      guint n_slices)
{
  const char *kernel = td_choice_label (TD_CHOICE_KERNEL, family);
  const char *bits = td_choice_text (TD_CHOICE_PRECISION, precision, TRUE);
  g_autofree char *slices
      = g_strdup_printf (g_dngettext (NULL, "%u slice", "%u slices", n_slices), n_slices);

  if (n_slices == 0)
    return g_strdup_printf (_ ("cone beam, %s, %s"), kernel, bits);
  return g_strjoin (_ (", "), kernel,
                    td_choice_text (TD_CHOICE_INTERPOLATION, interpolation, FALSE), bits, slices,
                    NULL);
}

char *
td_label_variant (const TdLabVariant *variant)
{
  g_autoptr (GStrvBuilder) words = g_strv_builder_new ();

  if (!*variant->options)
    return g_strdup (_ ("As the recipe"));
  for (guint i = 0; variant->given[i]; i++) {
    const TdField *field = td_recipe_field (variant->given[i]);
    if (!field || !field->label)
      return g_strdup (variant->options);
    g_autofree char *value = td_label_value (variant->given[i], &variant->recipe);
    g_autofree char *word = g_strdup_printf (_ ("%s: %s"), _ (field->label), value);
    g_strv_builder_add (words, word);
  }
  g_auto (GStrv) list = g_strv_builder_end (words);
  return g_strjoinv (_ (", "), list);
}

gboolean
td_label_variant_is_named (const TdLabVariant *variant)
{
  g_autofree char *label = td_label_variant (variant);

  return strcmp (variant->name, label) != 0
         && strcmp (variant->name, *variant->options ? variant->options : "base") != 0;
}
