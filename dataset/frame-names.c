/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "frame-names.h"

#include <math.h>
#include <string.h>

#include "series.h"

static const char *const flat_words[]
    = { "flat",  "flats",  "flatfield", "flatfields", "ff",         "ob",     "openbeam",
        "ref",   "refs",   "bak",       "white",      "whites",     "bright", "brights",
        "blank", "blanks", "gain",      "hellbild",   "hellbilder", NULL };
static const char *const dark_words[]
    = { "dark", "darks", "darkfield", "darkfields", "darkend",    "dar",          "df",
        "dc",   "drk",   "offset",    "black",      "dunkelbild", "dunkelbilder", NULL };
/* Samples are called so, too: flats have no words of their own beside these. */
static const char *const plain_flat_words[]
    = { "bg", "bkg", "background", "backgrounds", "reference", "references", "air", NULL };
static const char *const before_words[] = { "before", "pre", "start", NULL };
static const char *const after_words[] = { "after", "post", "end", NULL };

static const char *const other_words[] = { "field",  "fields", "image", "images", "img",  "frame",
                                           "frames", "file",   "files", "deg",    "data", NULL };

/* The next word from @at on, before @end: letters, split where a capital follows a small letter.
   NULL: there is none. */
static const char *
frame_names_next_word (const char *at, const char *end, gsize *length)
{
  gsize n = 1;

  while (at < end && !g_ascii_isalpha (*at))
    at++;
  if (at >= end)
    return NULL;
  while (at + n < end && g_ascii_isalpha (at[n])
         && !(g_ascii_isupper (at[n]) && g_ascii_islower (at[n - 1])))
    n++;
  *length = n;
  return at;
}

/* Where a name's extension begins, or its end. */
static const char *
frame_names_stem_end (const char *name)
{
  const char *dot = strrchr (name, '.');

  return dot && dot != name ? dot : name + strlen (name);
}

/* The words of a name in lower case. */
static GPtrArray *
frame_names_split_words (const char *name)
{
  GPtrArray *words = g_ptr_array_new_with_free_func (g_free);
  const char *end = frame_names_stem_end (name);
  gsize n = 0;

  for (const char *at = name; (at = frame_names_next_word (at, end, &n)); at += n)
    g_ptr_array_add (words, g_ascii_strdown (at, n));
  return words;
}

static gboolean
has_word (const char *name, const char *const *words)
{
  g_autoptr (GPtrArray) own = frame_names_split_words (name);

  for (guint i = 0; i < own->len; i++)
    if (g_strv_contains (words, own->pdata[i]))
      return TRUE;
  return FALSE;
}

/* Octopus and the scanners made for it call flats io000000.tif and darks di000000.tif. Either may
   be a syllable of another name. */
static gboolean
frame_names_is_only (const char *name, const char *word)
{
  const gsize length = strlen (word);
  const char *end = frame_names_stem_end (name);

  return g_str_has_prefix (name, word)
         && name + length + strspn (name + length, "_-0123456789") == end;
}

/* All its words say what or when, and none whose. */
static gboolean
frame_names_is_plain (const char *name)
{
  const char *const *const lists[]
      = { flat_words, dark_words, plain_flat_words, before_words, after_words, other_words };
  g_autoptr (GPtrArray) own = frame_names_split_words (name);

  for (guint i = 0; i < own->len; i++) {
    gboolean known = g_str_equal (own->pdata[i], "hst"); /* refHST */

    for (guint j = 0; j < G_N_ELEMENTS (lists) && !known; j++)
      known = g_strv_contains (lists[j], own->pdata[i]);
    if (!known)
      return FALSE;
  }
  return TRUE;
}

TdNameRole
td_name_role (const char *name)
{
  g_autofree char *low = g_ascii_strdown (name, -1);

  if (strstr (low, "180deg") || strstr (low, "180_deg") || strcmp (low, "180") == 0
      || g_str_has_prefix (low, "180."))
    return TD_NAME_HALF_TURN;
  if (has_word (name, flat_words) || frame_names_is_only (name, "io"))
    return TD_NAME_FLAT;
  if (has_word (name, dark_words) || frame_names_is_only (name, "di"))
    return TD_NAME_DARK;
  return has_word (name, plain_flat_words) && frame_names_is_plain (name) ? TD_NAME_FLAT
                                                                          : TD_NAME_PROJECTION;
}

TdNameRole
td_name_role_strict (const char *name)
{
  const TdNameRole role = td_name_role (name);

  return role == TD_NAME_HALF_TURN || frame_names_is_plain (name) ? role : TD_NAME_PROJECTION;
}

/* Does a word say what companions are, rather than whose? */
static gboolean
frame_names_is_role (const char *word, gsize length)
{
  static const char *const others[] = { "parameters", "geometry", NULL };
  g_autofree char *low = g_ascii_strdown (word, length);

  return g_strv_contains (flat_words, low) || g_strv_contains (dark_words, low)
         || g_strv_contains (others, low) || strstr (low, "angle") || strstr (low, "theta");
}

/* @begin to @end without separators around it; NULL: nothing is left. */
static char *
frame_names_trimmed (const char *begin, const char *end)
{
  static const char separators[] = "_-. ";

  while (begin < end && strchr (separators, *begin))
    begin++;
  while (end > begin && strchr (separators, end[-1]))
    end--;
  return end > begin ? g_ascii_strdown (begin, end - begin) : NULL;
}

char *
td_name_owner (const char *name)
{
  g_autofree char *low = g_ascii_strdown (name, -1);
  const char *end = frame_names_stem_end (name), *half = strstr (low, "180deg");
  gsize n = 0;

  half = half ? half : strstr (low, "180_deg");
  if (half)
    return frame_names_trimmed (name, name + (half - low));
  for (const char *at = name; (at = frame_names_next_word (at, end, &n)); at += n) {
    if (!frame_names_is_role (at, n))
      continue;
    char *before = frame_names_trimmed (name, at);
    if (before)
      return before;
    while (end > at + n && g_ascii_isdigit (end[-1]))
      end--;
    return frame_names_trimmed (at + n, end);
  }
  return NULL;
}

double
td_name_flat_position (const char *folder, const char *name, guint n_views)
{
  gint64 number = td_series_number (name);

  if (g_ascii_strncasecmp (name, "refHST", 6) == 0 && number >= 0 && number <= n_views)
    return number;
  /* What the folder is called may be said of the scan, as in "start" or "post_mortem". */
  const char *const said
      = has_word (name, before_words) || has_word (name, after_words) ? name : folder;
  return has_word (said, before_words) ? 0 : has_word (said, after_words) ? n_views : NAN;
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
    if (td_series_ends (name, endings[i]))
      return strstr (low, "angle") || strstr (low, "theta");
  return FALSE;
}

gboolean
td_name_is_projection_folder (const char *name)
{
  static const char *const words[]
      = { "tiff",        "tiffs", "tif",   "tifs",     "proj",      "projs",  "projection",
          "projections", "tomo",  "raw",   "data",     "sample",    "images", "radios",
          "radiographs", "sino",  "sinos", "sinogram", "sinograms", NULL };

  return has_word (name, words);
}
