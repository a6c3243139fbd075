/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "frame-names.h"

#include <math.h>
#include <string.h>

#include "series.h"

static const char *const flat_words[] = { "flat", "flats", "flatfield", "flatfields", "ff", "ob",
                                          "openbeam", "ref", "refs", "bak", "white", "whites",
                                          "bright", "brights", "blank", "blanks", "gain", NULL };
static const char *const dark_words[] = { "dark", "darks", "darkfield", "darkfields", "df", "dc",
                                          "drk", "offset", "black", NULL };
static const char *const before_words[] = { "before", "pre", "start", NULL };
static const char *const after_words[] = { "after", "post", "end", NULL };

/* Calls for each word in lower case: letters, split where a capital follows a small letter. */
static gboolean
has_word (const char *name, const char *const *words)
{
  const char *dot = strrchr (name, '.');
  gsize length = dot && dot != name ? (gsize) (dot - name) : strlen (name);

  for (gsize i = 0; i < length;) {
    g_autofree char *word = NULL;
    gsize begin = i;

    if (!g_ascii_isalpha (name[i])) {
      i++;
      continue;
    }
    while (i < length && g_ascii_isalpha (name[i])
           && (i == begin || !(g_ascii_isupper (name[i]) && g_ascii_islower (name[i - 1]))))
      i++;
    word = g_ascii_strdown (name + begin, i - begin);
    if (g_strv_contains (words, word))
      return TRUE;
  }
  return FALSE;
}

TdNameRole
td_name_role (const char *name)
{
  g_autofree char *low = g_ascii_strdown (name, -1);

  if (strstr (low, "180deg") || strstr (low, "180_deg") || strcmp (low, "180") == 0
      || g_str_has_prefix (low, "180."))
    return TD_NAME_HALF_TURN;
  if (has_word (name, flat_words))
    return TD_NAME_FLAT;
  return has_word (name, dark_words) ? TD_NAME_DARK : TD_NAME_PROJECTION;
}

double
td_name_flat_position (const char *folder, const char *name, guint n_views)
{
  gint64 number = td_series_number (name);

  if (g_ascii_strncasecmp (name, "refHST", 6) == 0 && number >= 0 && number <= n_views)
    return number;
  if (has_word (name, before_words) || has_word (folder, before_words))
    return 0;
  if (has_word (name, after_words) || has_word (folder, after_words))
    return n_views;
  return NAN;
}

gboolean
td_name_is_sinogram (const char *name)
{
  static const char *const words[] = { "sino", "sinos", "sinogram", "sinograms", NULL };

  return has_word (name, words);
}

gboolean
td_name_is_angles (const char *name)
{
  static const char *const endings[] = { ".txt", ".csv", ".tsv", ".dat", NULL };
  g_autofree char *low = g_ascii_strdown (name, -1);

  for (guint i = 0; endings[i]; i++)
    if (g_str_has_suffix (low, endings[i]))
      return strstr (low, "angle") || strstr (low, "theta");
  return FALSE;
}

gboolean
td_name_is_projection_folder (const char *name)
{
  static const char *const words[] = { "tiff", "tiffs", "tif", "tifs", "proj", "projs",
                                       "projection", "projections", "tomo", "raw", "data",
                                       "sample", "images", "radios", "radiographs", "sino",
                                       "sinos", "sinogram", "sinograms", NULL };

  return has_word (name, words);
}
