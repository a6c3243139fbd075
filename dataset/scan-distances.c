/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "number.h"
#include "scan-private.h"
#include "series.h"
#include "text-file.h"

/* Scanners whose descriptions are not read (GE's .pca, North Star's .nsipro, YXLON's, TESCAN's,
 * FleX-ray's settings …) still say how far the source stands. Whoever states angles alone must not
 * get a parallel beam without a word. */

#define HEAD_BYTES 65536
#define MOST_TEXTS 32u
#define MOST_BETWEEN 40 /* from a name to its number */

/* In words of small letters. */
static const char to_sample[]
    = "sod,fod,dso,source to object,source object,source to table,source to axis,source axis,"
      "source to sample,source sample,source to origin,source origin,source to rotation,"
      "source to center,source to isocenter,src to object,source to ra,focus object";
static const char to_detector[]
    = "sdd,fdd,dsd,source to detector,source detector,src to detector,focus detector";
static const char behind_sample[]
    = "odd,object to detector,sample to detector,axis to detector,detector to ra";

static gboolean
scan_distances_is_text (const char *name)
{
  static const char *const endings[]
      = { ".pca",  ".nsipro", ".xtekhelixct", ".txt", ".ini", ".xml", ".cfg",
          ".json", ".log",    ".info",        ".par", ".csv", NULL };

  for (guint i = 0; endings[i]; i++)
    if (td_series_ends (name, endings[i]))
      return TRUE;
  return FALSE;
}

/* Small letters, numbers and lines; a space for all else, and before a capital within a word. */
static char *
scan_distances_words (const char *text)
{
  g_autoptr (GString) words = g_string_new (" ");

  for (const char *at = text; *at; at++) {
    const gboolean kept = g_ascii_isalnum (*at) || strchr (".-+\n", *at);

    if (at > text && g_ascii_isupper (*at) && g_ascii_islower (at[-1]))
      g_string_append_c (words, ' ');
    if (kept || words->str[words->len - 1] != ' ')
      g_string_append_c (words, kept ? g_ascii_tolower (*at) : ' ');
  }
  return g_string_free (g_steal_pointer (&words), FALSE);
}

/* The first number above 0 that stands behind a name of the @list on its line; 0: none. */
static double
scan_distances_find (const char *words, const char *list)
{
  g_auto (GStrv) names = g_strsplit (list, ",", -1);

  for (guint i = 0; names[i]; i++) {
    const gsize length = strlen (names[i]);

    for (const char *at = words; (at = strstr (at, names[i])); at += length) {
      const char *behind = at + length;
      double value;

      if (g_ascii_isalpha (at[-1]) || g_ascii_isalpha (*behind))
        continue;
      for (guint n = 0; n < MOST_BETWEEN && *behind && !strchr ("0123456789\n", *behind); n++)
        behind++;
      if (g_ascii_isdigit (*behind) && td_next_number (&behind, &value) && value > 0)
        return value;
    }
  }
  return 0;
}

/* Whether a file of this name may be of the scan that @stem names: "bone_0001.tif" of "bone". */
static gboolean
scan_distances_is_named (const char *path, const char *stem)
{
  const gsize n = strlen (stem);
  g_autofree char *name = path ? g_path_get_basename (path) : NULL;

  return name && g_ascii_strncasecmp (name, stem, n) == 0 && !g_ascii_isalpha (name[n]);
}

/* What a text says that is called as files beside it are is said of their scan. Of others, as
   "settings.txt", it may be of any scan that says no geometry itself. */
static gboolean
scan_distances_concerns (const TdScan *scan, const char *folder, const char *text)
{
  const TdScanFacts *facts = &scan->facts;
  const char *source = facts->sources ? facts->sources[0] : NULL;
  g_autofree char *stem = g_path_get_basename (text);
  g_auto (GStrv) names = td_series_list (folder, NULL, NULL);
  char *dot = strrchr (stem, '.');

  if (dot && dot != stem)
    *dot = '\0';
  if (scan_distances_is_named (facts->path, stem) || scan_distances_is_named (source, stem))
    return TRUE;
  for (guint i = 0; names && names[i]; i++)
    if (!scan_distances_is_text (names[i]) && scan_distances_is_named (names[i], stem))
      return FALSE;
  return !scan->states_geometry;
}

/* Whether a text of the folder was told of. */
static gboolean
scan_distances_note (TdScan *scan, const char *folder)
{
  g_auto (GStrv) paths = td_series_paths (folder, scan_distances_is_text, NULL);

  for (guint i = 0; paths && paths[i] && i < MOST_TEXTS; i++) {
    g_autofree char *text = td_text_head (paths[i], HEAD_BYTES);
    g_autofree char *words = scan_distances_words (text ? text : "");
    const double sample = scan_distances_find (words, to_sample);
    const double stated = scan_distances_find (words, to_detector);
    const double detector
        = stated > 0 ? stated : sample + scan_distances_find (words, behind_sample);

    if (!(sample > 0) || !(detector > sample) || sample > TD_SCAN_FARTHEST_CONE_MM
        || !scan_distances_concerns (scan, folder, paths[i]))
      continue;
    td_scan_note (scan,
                  "%s states the source's distance to the sample (%g) and to the detector (%g): "
                  "that is a cone beam, but its rays are taken as parallel unless these are stated "
                  "in millimetres ({sod-mm}, {sdd-mm}), and the pixel's size ({pixel-mm}).",
                  paths[i], sample, detector);
    return TRUE;
  }
  return FALSE;
}

void
td_scan_note_distances (TdScan *scan)
{
  const TdScanFacts *facts = &scan->facts;
  g_autofree char *own
      = facts->sources && facts->sources[0] ? g_path_get_dirname (facts->sources[0]) : NULL;
  g_autofree char *opened = g_file_test (facts->path, G_FILE_TEST_IS_DIR)
                                ? g_strdup (facts->path)
                                : g_path_get_dirname (facts->path);

  if (facts->geometry.beam == TD_BEAM_PARALLEL && !scan_distances_note (scan, opened) && own
      && strcmp (own, opened) != 0)
    scan_distances_note (scan, own);
}
