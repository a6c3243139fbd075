/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "method-choices.h"

#include <glib/gi18n.h>
#include <gtk/gtk.h>

#include "compute/parallel/backproject.h"

/* NULL-terminated, in the order of the enumerations. */
static const char *const filters[] = { N_ ("None (blurred)"),
                                       N_ ("Ram-Lak (sharpest)"),
                                       N_ ("Shepp-Logan"),
                                       N_ ("Cosine"),
                                       N_ ("Hamming"),
                                       N_ ("Hann (smooth)"),
                                       N_ ("Parzen (smoothest)"),
                                       N_ ("Butterworth"),
                                       NULL };
static const char *const filters_brief[]
    = { N_ ("None"), N_ ("Ram-Lak"), N_ ("Shepp-Logan"), N_ ("Cosine"), N_ ("Hamming"),
        N_ ("Hann"), N_ ("Parzen"),  N_ ("Butterworth"), NULL };
static const char *const methods[] = { N_ ("Automatic"),
                                       N_ ("Filtered back-projection"),
                                       N_ ("Cone beam (FDK)"),
                                       N_ ("Fourier (fast)"),
                                       N_ ("Iterative (SIRT)"),
                                       N_ ("Few views (FISTA-TV)"),
                                       N_ ("Least squares (CGLS)"),
                                       NULL };
static const char *const interpolations[] = { N_ ("Nearest"), N_ ("Linear"), NULL };
static const char *const precisions[] = { N_ ("Single (32 bits)"), N_ ("Half storage (16 bits)"),
                                          N_ ("Half, short half sums"), NULL };
static const char *const precisions_brief[]
    = { N_ ("Single"), N_ ("Half"), N_ ("Half sums"), NULL };

static GListModel *
method_choices_strings (GListModel **kept, const char *const *labels)
{
  if (!*kept) {
    GtkStringList *list = gtk_string_list_new (NULL);
    for (guint i = 0; labels[i]; i++)
      gtk_string_list_append (list, _ (labels[i]));
    *kept = G_LIST_MODEL (list);
  }
  return *kept;
}

GListModel *
td_filter_choices (gboolean brief)
{
  static GListModel *kept[2];
  return method_choices_strings (&kept[brief], brief ? filters_brief : filters);
}

GListModel *
td_method_choices (void)
{
  static GListModel *kept;
  return method_choices_strings (&kept, methods);
}

GListModel *
td_interpolation_choices (void)
{
  static GListModel *kept;
  return method_choices_strings (&kept, interpolations);
}

GListModel *
td_precision_choices (gboolean brief)
{
  static GListModel *kept[2];
  return method_choices_strings (&kept[brief], brief ? precisions_brief : precisions);
}

GListModel *
td_family_choices (gboolean brief)
{
  static GListModel *kept[2];

  if (!kept[brief]) {
    const TdBackprojectFamily *const *families = td_backproject_families ();
    GtkStringList *list = gtk_string_list_new (NULL);
    gtk_string_list_append (list, brief ? _ ("Auto") : _ ("Automatic"));
    for (guint i = 0; families[i]; i++)
      gtk_string_list_append (list, brief ? families[i]->name : families[i]->title);
    kept[brief] = G_LIST_MODEL (list);
  }
  return kept[brief];
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
