/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "method-choices.h"

#include <glib/gi18n.h>
#include <gtk/gtk.h>

#include "compute/parallel/backproject.h"

typedef struct {
  const char *name;          /* as recipes and results have it */
  const char *label, *brief; /* brief: NULL: the label */
} Choice;

static const Choice filters[] = {
  { "none", N_ ("None (blurred)"), N_ ("None") },
  { "ram-lak", N_ ("Ram-Lak (sharpest)"), N_ ("Ram-Lak") },
  { "shepp-logan", N_ ("Shepp-Logan"), NULL },
  { "cosine", N_ ("Cosine"), NULL },
  { "hamming", N_ ("Hamming"), NULL },
  { "hann", N_ ("Hann (smooth)"), N_ ("Hann") },
  { "parzen", N_ ("Parzen (smoothest)"), N_ ("Parzen") },
  { "butterworth", N_ ("Butterworth"), NULL },
  { NULL },
};
static const Choice methods[] = {
  { "auto", N_ ("Automatic"), NULL },
  { "fbp", N_ ("Filtered back-projection"), NULL },
  { "fdk", N_ ("Cone beam (FDK)"), NULL },
  { "fourier", N_ ("Fourier (fast)"), NULL },
  { "sirt", N_ ("Iterative (SIRT)"), NULL },
  { "fista-tv", N_ ("Few views (FISTA-TV)"), NULL },
  { "cgls", N_ ("Least squares (CGLS)"), NULL },
  { NULL },
};
static const Choice interpolations[] = {
  { "nearest", N_ ("Nearest"), NULL },
  { "linear", N_ ("Linear"), NULL },
  { NULL },
};
static const Choice precisions[] = {
  { "single", N_ ("Single (32 bits)"), N_ ("Single") },
  { "half", N_ ("Half storage (16 bits)"), N_ ("Half") },
  { "half-run", N_ ("Half, short half sums"), N_ ("Half sums") },
  { NULL },
};
static const Choice fields_of_view[] = {
  { "auto", N_ ("Automatic"), NULL },
  { "full", N_ ("As the detector"), NULL },
  { "half", N_ ("Wide: half acquisition"), NULL },
  { NULL },
};
/* Of all beams; the list has those of parallel beams only. */
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
static const Choice *const tables[TD_N_CHOICES] = {
  [TD_CHOICE_FILTER] = filters,
  [TD_CHOICE_METHOD] = methods,
  [TD_CHOICE_INTERPOLATION] = interpolations,
  [TD_CHOICE_PRECISION] = precisions,
  [TD_CHOICE_FIELD_OF_VIEW] = fields_of_view,
  [TD_CHOICE_KERNEL] = kernels,
};

static const char *
choice_words (const Choice *row, gboolean brief)
{
  return brief && row->brief ? _ (row->brief) : _ (row->label);
}

static const char *
choice_find (TdChoice choice, const char *name, gboolean brief)
{
  for (const Choice *row = tables[choice]; row->name; row++)
    if (g_strcmp0 (row->name, name) == 0)
      return choice_words (row, brief);
  return name;
}

const char *
td_choice_label (TdChoice choice, const char *name)
{
  return choice_find (choice, name, choice == TD_CHOICE_KERNEL);
}

static GtkStringList *
choice_list (TdChoice choice, gboolean brief)
{
  const TdBackprojectFamily *const *families = td_backproject_families ();
  GtkStringList *list = gtk_string_list_new (NULL);

  if (choice == TD_CHOICE_KERNEL) {
    gtk_string_list_append (list, choice_find (choice, "auto", brief));
    for (guint i = 0; families[i]; i++)
      gtk_string_list_append (list, choice_find (choice, families[i]->name, brief));
  } else {
    for (const Choice *row = tables[choice]; row->name; row++)
      gtk_string_list_append (list, choice_words (row, brief));
  }
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
  return td_method_iterates (method) ? _ ("Filtered slice: the run iterates") : NULL;
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
