/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "labels.h"

#include <glib/gi18n.h>
#include <string.h>

#include "compute/prepare/step.h"
#include "compute/recipe/field.h"
#include "method-choices.h"

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
