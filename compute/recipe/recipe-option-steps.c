/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <string.h>

#include "recipe-option-values.h"

static gboolean
set_parameter (TdStep *step, const TdStepKind *kind, guint index, const char *value, GError **error)
{
  const TdStepParameter *parameter = &kind->parameters[index];
  g_autofree char *option = g_strdup_printf ("prepare %s:%s", kind->name, parameter->name);
  double number;
  int choice;

  if (parameter->choices) {
    if (!td_option_name (option, value, parameter->choices, &choice, error))
      return FALSE;
    number = choice;
  } else {
    if (!td_option_number (option, value, parameter->minimum, parameter->maximum, &number, error))
      return FALSE;
    if (parameter->digits == 0 && number != floor (number))
      return td_option_invalid (error, option, value, "a whole number");
  }
  step->values[index] = number;
  return TRUE;
}

static gboolean
set_named_parameter (TdStep *step, const TdStepKind *kind, const char *word, GError **error)
{
  g_auto (GStrv) pair = g_strsplit (word, "=", 2);

  for (guint i = 0; i < kind->n_parameters && pair[0] && pair[1]; i++)
    if (strcmp (kind->parameters[i].name, pair[0]) == 0)
      return set_parameter (step, kind, i, pair[1], error);

  GString *names = g_string_new (NULL);
  for (guint i = 0; i < kind->n_parameters; i++)
    g_string_append_printf (names, "%s%s", i ? ", " : "", kind->parameters[i].name);
  g_set_error (error, TD_ERROR, TD_ERROR_INVALID,
               "--prepare %s: \"%s\" is not NAME=VALUE of one of its parameters (%s)", kind->name,
               word, names->len ? names->str : "it has none");
  g_string_free (names, TRUE);
  return FALSE;
}

gboolean
td_option_step (TdRecipe *recipe, const char *text, GError **error)
{
  g_auto (GStrv) words = g_strsplit (text, ":", -1);
  g_auto (GStrv) head = g_strsplit (words[0] ? words[0] : "", "=", 2);
  const char *name = head[0] ? head[0] : "";

  if (strcmp (text, "none") == 0) {
    recipe->n_steps = 0;
    return TRUE;
  }
  if (g_str_has_prefix (text, "no-")) {
    if (!td_prepare_step (text + 3, error))
      return FALSE;
    TdStep *step = td_recipe_step (recipe, text + 3);
    if (step)
      step->enabled = FALSE;
    return TRUE;
  }

  const TdStepKind *kind = td_prepare_step (name, error);
  TdStep *step = kind ? td_recipe_add_step (recipe, name, error) : NULL;
  if (!step)
    return FALSE;
  if (head[1] && kind->n_parameters == 0) {
    g_set_error (error, TD_ERROR, TD_ERROR_INVALID, "--prepare %s takes no value", name);
    return FALSE;
  }
  if (head[1] && !set_parameter (step, kind, 0, head[1], error))
    return FALSE;
  for (guint i = 1; words[i]; i++)
    if (!set_named_parameter (step, kind, words[i], error))
      return FALSE;
  return TRUE;
}
