/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "method-choices.h"

#include <glib/gi18n.h>
#include <gtk/gtk.h>
#include <string.h>

#include "compute/parallel/backproject.h"
#include "compute/recipe/field.h"

typedef struct {
  const char *name;          /* as recipes and results have it */
  const char *label, *brief; /* brief: NULL: the label */
} Choice;

/* Kernels of all beams; the list shows those of parallel beams only. */
static const Choice kernels[] = {
  { "auto", N_ ("Automatic"), NULL },
  { "host", N_ ("CPU: slices side by side in vectors"), N_ ("CPU") },
  { "standard", N_ ("Standard: a thread a pixel"), N_ ("Standard") },
  { "texture", N_ ("Texture: slices side by side in a texel"), N_ ("Texture") },
  { "alu", N_ ("ALU: arithmetic on cached bins"), N_ ("ALU") },
  { "hybrid", N_ ("Hybrid: texture engine and arithmetic together"), N_ ("Hybrid") },
  { "oversampling", N_ ("Oversampling: four samples a bin, nearest lookup"), N_ ("Oversampling") },
  { "fourier", N_ ("Fourier: gridding in the frequency domain"), N_ ("Fourier") },
  { "arithmetic", N_ ("Arithmetic: interpolation without textures"), N_ ("Arithmetic") },
  { "joseph", N_ ("Joseph’s rays"), NULL },
  { NULL },
};
/* Fields of the recipe, whose table has the other lists. */
static const char *const options[] = {
  [TD_CHOICE_FILTER] = "filter",
  [TD_CHOICE_METHOD] = "method",
  [TD_CHOICE_INTERPOLATION] = "interpolation",
  [TD_CHOICE_PRECISION] = "precision",
  [TD_CHOICE_FIELD_OF_VIEW] = "field-of-view",
  [TD_CHOICE_ACCURACY] = "accuracy",
};

static const char *
kernel_label (const char *name, gboolean brief)
{
  for (const Choice *row = kernels; row->name; row++)
    if (g_strcmp0 (row->name, name) == 0)
      return brief && row->brief ? _ (row->brief) : _ (row->label);
  return name;
}

TdChoice
td_choice_of (const char *option)
{
  for (guint i = 0; i < G_N_ELEMENTS (options); i++)
    if (strcmp (options[i], option) == 0)
      return (TdChoice) i;
  return TD_CHOICE_KERNEL;
}

const char *
td_choice_label (TdChoice choice, const char *name)
{
  if (choice == TD_CHOICE_KERNEL)
    return kernel_label (name, TRUE);
  const TdField *field = td_recipe_field (options[choice]);
  for (guint i = 0; field->names[i]; i++)
    if (g_strcmp0 (field->names[i], name) == 0)
      return _ (field->labels[i]);
  return name;
}

static GtkStringList *
choice_list (TdChoice choice, gboolean brief)
{
  GtkStringList *list = gtk_string_list_new (NULL);

  if (choice == TD_CHOICE_KERNEL) {
    const TdBackprojectFamily *const *families = td_backproject_families ();
    gtk_string_list_append (list, kernel_label ("auto", brief));
    for (guint i = 0; families[i]; i++)
      gtk_string_list_append (list, kernel_label (families[i]->name, brief));
    return list;
  }
  const TdField *field = td_recipe_field (options[choice]);
  const char *const *labels = brief && field->brief ? field->brief : field->labels;
  for (guint i = 0; labels[i]; i++)
    gtk_string_list_append (list, _ (labels[i]));
  return list;
}

GListModel *
td_choices (TdChoice choice, gboolean brief)
{
  static GtkStringList *kept[TD_N_CHOICES][2];

  if (!kept[choice][brief])
    kept[choice][brief] = choice_list (choice, brief);
  return G_LIST_MODEL (kept[choice][brief]);
}

const char *
td_choice_text (TdChoice choice, guint index, gboolean brief)
{
  return gtk_string_list_get_string (GTK_STRING_LIST (td_choices (choice, brief)), index);
}

const char *
td_preview_label (TdMethodKind method)
{
  return td_method_iterates (method) ? _ ("Filtered slice: the job iterates") : NULL;
}

const char *
td_family_choice_value (guint index)
{
  const TdBackprojectFamily *const *families = td_backproject_families ();

  for (guint i = 0; families[i]; i++)
    if (i + 1 == index)
      return families[i]->name;
  return "auto";
}

guint
td_family_choice_index (const char *family)
{
  const TdBackprojectFamily *const *families = td_backproject_families ();

  for (guint i = 0; families[i]; i++)
    if (g_strcmp0 (families[i]->name, family) == 0)
      return i + 1;
  return 0;
}
