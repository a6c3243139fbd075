/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <string.h>

#include "error.h"
#include "frame-names.h"
#include "geometry-file.h"
#include "scan-private.h"
#include "series.h"
#include "tiff-frames.h"
#include "tiff-io.h"
#include "tomcat-log.h"

/* ── Finding the files ── */

/**
 * Where the files of a TIFF scan are, given one of them or a folder. Flats, darks, angles and
 * geometry may lie beside the series of projections, in folders below it, and beside its folder.
 */
typedef struct {
  GPtrArray *projections, *flats, *darks; /* paths */
  char *angles;                           /* path, or FIRST:LAST; NULL: none found */
  char *geometry;  /* path of a geometry.json or NAME_parameters.json; NULL */
  char *half_turn; /* path of a projection at 180°; NULL */
  gboolean sinograms;
  gboolean from_above[3]; /* by TdFrameKind: found beside the opened folder, where several scans'
                             may lie */
  TdMessage **notes;
} TdTiffSet;

static void
tiff_set_free (TdTiffSet *set)
{
  GPtrArray *lists[] = { set->projections, set->flats, set->darks };

  for (guint i = 0; i < G_N_ELEMENTS (lists); i++)
    g_clear_pointer (&lists[i], g_ptr_array_unref);
  g_free (set->angles);
  g_free (set->geometry);
  g_free (set->half_turn);
  td_messages_free (set->notes);
  g_free (set);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdTiffSet, tiff_set_free)

/* The files of one folder that are named alike. */
typedef struct {
  char *pattern;
  GPtrArray *names;
} Series;

static void
series_free (gpointer data)
{
  Series *series = data;

  g_free (series->pattern);
  g_ptr_array_unref (series->names);
  g_free (series);
}

static void
add_path (GPtrArray *paths, const char *folder, const char *name)
{
  g_ptr_array_add (paths, g_build_filename (folder, name, NULL));
}

static gboolean
is_folder (const char *folder, const char *name)
{
  g_autofree char *path = g_build_filename (folder, name, NULL);

  return g_file_test (path, G_FILE_TEST_IS_DIR);
}

/* Projections in series by pattern; flats, darks and the 180° projection are not among them. */
static GPtrArray *
group_projections (char **names)
{
  GPtrArray *all = g_ptr_array_new_with_free_func (series_free);
  g_autoptr (GHashTable) table = g_hash_table_new (g_str_hash, g_str_equal);

  for (guint i = 0; names[i]; i++) {
    g_autofree char *pattern = NULL;
    Series *series;

    if (td_name_role (names[i]) != TD_NAME_PROJECTION)
      continue;
    pattern = td_series_pattern (names[i]);
    series = g_hash_table_lookup (table, pattern);
    if (!series) {
      series = g_new0 (Series, 1);
      series->pattern = g_steal_pointer (&pattern);
      series->names = g_ptr_array_new_with_free_func (g_free);
      g_ptr_array_add (all, series);
      g_hash_table_insert (table, series->pattern, series);
    }
    g_ptr_array_add (series->names, g_strdup (names[i]));
  }
  return all;
}

/* The number in a name has decimals: "proj_1.#.tif". */
static gboolean
has_decimals (const Series *series)
{
  const char *dot = strstr (series->pattern, ".#");

  return dot && dot > series->pattern && g_ascii_isdigit (dot[-1]);
}

/* Images that are called by their angles are a series for each whole degree. */
static const char *
called_by_angles (const GPtrArray *all)
{
  const char *name = NULL;
  guint n_series = 0, n = 0;

  for (guint i = 0; i < all->len; i++) {
    const Series *series = all->pdata[i];

    if (!has_decimals (series))
      continue;
    n_series++;
    n += series->names->len;
    name = series->names->pdata[0];
  }
  return n_series > 2 && n < 100 * n_series ? name : NULL;
}

static gboolean
refuse_several (const char *folder, const GPtrArray *all, GError **error)
{
  g_autoptr (GString) list = g_string_new (NULL);
  const char *by_angle = called_by_angles (all);

  if (by_angle)
    return td_set_error (error, TD_ERROR_UNSUPPORTED,
                         "“%s” holds images whose numbers have decimals, such as “%s”: number them "
                         "0001, 0002 and so on, and give their angles ({angles:FILE|FIRST:LAST})",
                         folder, by_angle);

  for (guint i = 0; i < MIN (all->len, 3); i++) {
    const Series *series = all->pdata[i];

    g_string_append_printf (list, "%s%s (%u)", i ? ", " : "", series->pattern, series->names->len);
  }
  return td_set_error (
      error, TD_ERROR_UNSUPPORTED,
      all->len > 3
          ? N_ ("“%s” holds several series of images: %s and others; open one file of the one that "
                "is meant instead of the folder")
          : N_ ("“%s” holds several series of images: %s; open one file of the one that is meant "
                "instead of the folder"),
      folder, list->str);
}

/* Is the file a scan by itself: a sinogram, or a stack of images? */
static gboolean
is_whole (const TdTiffSet *set, const char *path)
{
  g_autofree char *name = g_path_get_basename (path);
  const gboolean sinogram = set->sinograms || td_name_is_sinogram (name);
  g_autoptr (TdTiff) tiff = sinogram ? NULL : td_tiff_open (path, NULL, NULL);
  g_autoptr (GArray) pages = tiff ? td_tiff_pages (tiff, NULL) : NULL;

  return sinogram || (pages && pages->len > 1);
}

/* The series that a folder is opened for: the only one, or by far the largest. */
static gboolean
take_series (TdTiffSet *set, const char *folder, char **names, GError **error)
{
  g_autoptr (GPtrArray) all = group_projections (names);
  const Series *largest = NULL;
  guint total = 0;

  for (guint i = 0; i < all->len; i++) {
    const Series *series = all->pdata[i];

    total += series->names->len;
    if (!largest || series->names->len > largest->names->len)
      largest = series;
  }
  if (total == 0)
    return TRUE;
  if (largest->names->len == 1) { /* no running number at all: the names' order must do */
    g_autofree char *first = g_build_filename (folder, largest->names->pdata[0], NULL);

    if (total > 1 && is_whole (set, first))
      return refuse_several (folder, all, error);
    for (guint i = 0; names[i]; i++)
      if (td_name_role (names[i]) == TD_NAME_PROJECTION)
        add_path (set->projections, folder, names[i]);
    if (total > 1)
      td_messages_note (
          &set->notes,
          "The names of the %u images in %s have no running number: the images were taken "
          "in the order of their names.",
          total, folder);
    return TRUE;
  }
  if (largest->names->len * 10 < total * 9)
    return refuse_several (folder, all, error);
  for (guint i = 0; i < largest->names->len; i++)
    add_path (set->projections, folder, largest->names->pdata[i]);
  if (total > largest->names->len)
    td_messages_note (
        &set->notes,
        "%u [image was|images were] left out in %s, for want of a name like %s: flats and darks "
        "are told "
        "by their names, or lie in folders of their own ({flats:PATH}, {darks:PATH}).",
        total - largest->names->len, folder, largest->pattern);
  return TRUE;
}

/* The series that one opened file belongs to, whatever its name says that it is; the file alone, if
   that is a scan. */
static gboolean
take_series_of (TdTiffSet *set, const char *path, GError **error)
{
  g_autofree char *folder = g_path_get_dirname (path), *name = g_path_get_basename (path);
  g_autofree char *pattern = td_series_pattern (name);

  if (td_series_number (name) < 0 || !td_series_is_tiff (name)) {
    g_ptr_array_add (set->projections, g_strdup (path));
    return TRUE;
  }
  g_auto (GStrv) names = td_series_list (folder, td_series_is_tiff, error);
  for (guint i = 0; names && names[i]; i++) {
    g_autofree char *own = td_series_pattern (names[i]);

    if (strcmp (own, pattern) == 0 && !is_folder (folder, names[i]))
      add_path (set->projections, folder, names[i]);
  }
  if (names && set->projections->len > 1 && is_whole (set, path)) {
    td_messages_note (&set->notes,
                      "%s is a scan by itself and was taken alone; %u [more file is|more files "
                      "are] named %s: open their folder for all of them.",
                      name, set->projections->len - 1, pattern);
    g_ptr_array_set_size (set->projections, 0);
    g_ptr_array_add (set->projections, g_strdup (path));
  }
  return names != NULL;
}

/* Files that differ only in zeros before their number, or in capitals, would be views twice. */
static gboolean
check_numbers (const TdTiffSet *set, GError **error)
{
  for (guint i = 1; i < set->projections->len; i++) {
    g_autofree char *before = g_path_get_basename (set->projections->pdata[i - 1]);
    g_autofree char *name = g_path_get_basename (set->projections->pdata[i]);
    const gint64 number = td_series_number (name);

    if (number < 0 || number != td_series_number (before))
      continue;
    g_autofree char *pattern_before = td_series_pattern (before);
    g_autofree char *pattern = td_series_pattern (name);
    if (strcmp (pattern, pattern_before) == 0)
      return td_set_error (error, TD_ERROR_BAD_FILE,
                           "“%s” and “%s” have the same number: remove the one that is not of this "
                           "scan",
                           (char *) set->projections->pdata[i - 1], name);
  }
  return TRUE;
}

#define MOST_NAMED 4u

/* The folder below @folder that holds the projections; NULL: none, or it cannot be told: of several
   the names are in @several. */
static char *
find_projection_folder (const char *folder, GString *several)
{
  g_auto (GStrv) names = td_series_list (folder, NULL, NULL);
  char *found = NULL, *only = NULL;
  guint n = 0;

  for (guint i = 0; names && names[i]; i++) {
    g_autofree char *path = NULL;
    g_auto (GStrv) images = NULL;

    if (!is_folder (folder, names[i]) || td_name_role_strict (names[i]) != TD_NAME_PROJECTION)
      continue;
    path = g_build_filename (folder, names[i], NULL);
    images = td_series_list (path, td_series_is_tiff, NULL);
    if (!images || !images[0])
      continue;
    if (!found && td_name_is_projection_folder (names[i]))
      found = g_strdup (path);
    if (++n == 1)
      only = g_strdup (path);
    if (n <= MOST_NAMED)
      g_string_append_printf (several, "%s%s", n > 1 ? ", " : "", names[i]);
    else if (n == MOST_NAMED + 1)
      g_string_append (several, ", …");
  }
  if (found || n < 2)
    g_string_truncate (several, 0);
  if (found || n != 1)
    g_clear_pointer (&only, g_free);
  return found ? found : only;
}

/* Does @name, by the owner that it states, belong to another scan in @folder than the one whose
   file or folder there is called @own? */
static gboolean
is_anothers (const char *folder, const char *name, const char *own)
{
  g_autofree char *owner = td_name_owner (name), *own_low = g_ascii_strdown (own, -1);

  if (!owner || g_str_has_prefix (own_low, owner))
    return FALSE;
  g_auto (GStrv) names = td_series_list (folder, NULL, NULL);
  for (guint i = 0; names && names[i]; i++) {
    g_autofree char *low = g_ascii_strdown (names[i], -1);

    if (g_str_has_prefix (low, owner) && td_name_role (names[i]) == TD_NAME_PROJECTION
        && (td_series_is_tiff (names[i]) || is_folder (folder, names[i])))
      return TRUE;
  }
  return FALSE;
}

/* What the scan goes by in @folder: its first image's name, or that of the folder it is in. */
static char *
name_in (const TdTiffSet *set, const char *folder)
{
  const char *first = set->projections->pdata[0];
  g_autofree char *own = g_path_get_dirname (first);

  return g_path_get_basename (strcmp (folder, own) == 0 ? first : own);
}

/* The images of a folder that is called as flats or darks are. If some are called so themselves,
   the others are none; else those are not that are called otherwise. */
static void
collect_images (const char *folder, TdNameRole role, GPtrArray *paths)
{
  g_auto (GStrv) images = td_series_list (folder, td_series_is_tiff, NULL);
  gboolean named = FALSE;

  for (guint i = 0; images && images[i]; i++)
    named = named || td_name_role (images[i]) == role;
  for (guint i = 0; images && images[i]; i++) {
    const TdNameRole own = td_name_role (images[i]);

    if (own == role || (!named && own == TD_NAME_PROJECTION))
      add_path (paths, folder, images[i]);
  }
}

/* Flats (or darks) of @folder: named files and all images of named folders. The projections' own
 * folder and files are not looked at again; in other folders names must be plain. */
static void
collect_role (TdTiffSet *set, const char *folder, const char *projections, TdNameRole role,
              GPtrArray *paths)
{
  gboolean own = strcmp (folder, projections) == 0;
  g_auto (GStrv) names = td_series_list (folder, NULL, NULL);
  g_autofree char *scan = name_in (set, folder);
  guint n_others = 0;

  for (guint i = 0; names && names[i]; i++) {
    g_autofree char *path = g_build_filename (folder, names[i], NULL);
    gboolean below = g_file_test (path, G_FILE_TEST_IS_DIR);

    if ((own && !below ? td_name_role (names[i]) : td_name_role_strict (names[i])) != role
        || strcmp (path, projections) == 0)
      continue;
    if (is_anothers (folder, names[i], scan)) {
      n_others++;
      continue;
    }
    if (below)
      collect_images (path, role, paths);
    else if (td_series_is_tiff (names[i])
             && !g_ptr_array_find_with_equal_func (set->projections, path, g_str_equal, NULL))
      g_ptr_array_add (paths, g_steal_pointer (&path));
  }
  if (n_others)
    td_messages_note (
        &set->notes,
        "%u [image belongs|images belong] to another scan by name and [was|were] left out, "
        "in %s ({flats} and {darks} take such).",
        n_others, folder);
}

static gsize
common_prefix (const char *a, const char *b)
{
  gsize n = 0;

  while (a[n] && a[n] == b[n])
    n++;
  return n;
}

/* A file of angles; among several, the one whose name begins most like the projections'. */
static char *
find_angles (TdTiffSet *set, const char *folder)
{
  g_auto (GStrv) names = td_series_list (folder, td_name_is_angles, NULL);
  g_autofree char *like = g_path_get_basename (set->projections->pdata[0]);
  g_autofree char *scan = name_in (set, folder);
  const char *best = NULL;

  for (guint i = 0; names && names[i]; i++)
    if (is_anothers (folder, names[i], scan))
      td_messages_note (
          &set->notes,
          "%s belongs to another scan by its name and was left out ({angles} takes it).", names[i]);
    else if (!best || common_prefix (names[i], like) > common_prefix (best, like))
      best = names[i];
  return best ? g_build_filename (folder, best, NULL) : NULL;
}

#define PARAMETERS "parameters.json"

static gboolean
is_parameters (const char *name)
{
  return td_series_ends (name, PARAMETERS);
}

/* NAME_parameters.json beside the images NAME_…. Images that begin otherwise too are scans of their
   own, which one geometry cannot serve. */
static gboolean
find_parameters (TdTiffSet *set, const char *folder, GError **error)
{
  g_auto (GStrv) names = td_series_list (folder, is_parameters, NULL);

  for (guint i = 0; names && names[i]; i++) {
    g_autofree char *path = g_build_filename (folder, names[i], NULL);
    const gsize n = strlen (names[i]) - strlen (PARAMETERS);
    guint n_own = 0;

    if (!td_geometry_file_is_fips (path))
      continue;

    for (guint k = 0; k < set->projections->len; k++) {
      g_autofree char *name = g_path_get_basename (set->projections->pdata[k]);

      n_own += g_ascii_strncasecmp (name, names[i], n) == 0;
    }
    if (n_own == set->projections->len) {
      set->geometry = g_steal_pointer (&path);
      return TRUE;
    }
    if (n_own > 0)
      return td_set_error (
          error, TD_ERROR_UNSUPPORTED,
          "“%s” holds several scans, for %s belongs to %u of %u images: open one file of "
          "the one that "
          "is meant instead of the folder",
          folder, names[i], n_own, set->projections->len);
  }
  return TRUE;
}

/* What the user names for flats or darks: a file or a folder of images. HDF5 is not for this
 * reader. */
static gboolean
tiff_find_take_stated (GPtrArray *paths, const char *stated, const char *what, GError **error)
{
  if (td_scan_companions_in_hdf5 (stated))
    return TRUE;
  if (!g_file_test (stated, G_FILE_TEST_IS_DIR)) {
    g_ptr_array_add (paths, g_strdup (stated));
    return TRUE;
  }
  g_auto (GStrv) images = td_series_paths (stated, td_series_is_tiff, error);
  for (guint i = 0; images && images[i]; i++)
    g_ptr_array_add (paths, g_strdup (images[i]));
  if (images && paths->len == 0)
    td_set_error (error, TD_ERROR_NOT_FOUND, "“%s”, given for the %p, holds no TIFF files", stated,
                  td_message_unpack (what));
  return paths->len > 0;
}

/* What lies beside images that are corrected is not for them, unless somebody says so. */
static void
leave_out_corrections (TdTiffSet *set, const TdScanOptions *options)
{
  const guint n_flats = options->flats ? 0 : set->flats->len;
  const guint n_darks = options->darks ? 0 : set->darks->len;

  if (n_flats > 0)
    g_ptr_array_set_size (set->flats, 0);
  if (n_darks > 0)
    g_ptr_array_set_size (set->darks, 0);
  if (n_flats + n_darks > 0)
    td_messages_note (&set->notes,
                      "The images are flat-field corrected already: %u [flat|flats] and %u "
                      "[dark|darks] beside them "
                      "were left out ({flats} and {darks} take them).",
                      n_flats, n_darks);
}

/* The projections' own folder, the opened one and the one above: the first that has any wins. */
static gboolean
find_companions (TdTiffSet *set, const char *opened, const TdScanOptions *options, GError **error)
{
  g_autofree char *own = g_path_get_dirname (set->projections->pdata[0]);
  g_autofree char *above = g_path_get_dirname (own);
  const char *folders[] = { own, opened, above };
  const char *const stated[] = { options->flats, options->darks };
  GPtrArray *const paths[] = { set->flats, set->darks };
  g_autoptr (GPtrArray) half_turns = g_ptr_array_new_with_free_func (g_free);

  for (guint k = 0; k < 2; k++)
    if (stated[k]
        && !tiff_find_take_stated (paths[k], stated[k], k ? N_ ("darks") : N_ ("flats"), error))
      return FALSE;
  for (guint i = 0; i < G_N_ELEMENTS (folders); i++) {
    const gboolean is_above = i == 2 && strcmp (above, opened) != 0;
    for (guint k = 0; k < 2; k++)
      if (paths[k]->len == 0 && !set->sinograms && !stated[k]) {
        collect_role (set, folders[i], own, k ? TD_NAME_DARK : TD_NAME_FLAT, paths[k]);
        set->from_above[TD_FRAME_FLAT + k] = is_above;
      }
    if (half_turns->len == 0)
      collect_role (set, folders[i], own, TD_NAME_HALF_TURN, half_turns);
    if (!set->angles && !options->angles)
      set->angles = find_angles (set, folders[i]);
    if (!set->geometry)
      set->geometry = td_series_find (folders[i], "geometry.json");
    if (!set->geometry && !options->geometry && !find_parameters (set, folders[i], error))
      return FALSE;
  }
  if (options->corrected)
    leave_out_corrections (set, options);
  if (half_turns->len > 0)
    set->half_turn = g_strdup (half_turns->pdata[0]);
  return TRUE;
}

/* A series that begins with darks and flats, as TOMCAT's log beside it, or above, says. */
static gboolean
tiff_find_split (TdTiffSet *set, const TdScanOptions *options, GError **error)
{
  GPtrArray *all = set->projections;
  g_autofree char *first = g_path_get_basename (all->pdata[0]);
  g_autofree char *folder = g_path_get_dirname (all->pdata[0]),
                  *above = g_path_get_dirname (folder);
  TdTomcatLog log;
  g_autofree char *own = td_tomcat_log_find (folder, first, &log);
  g_autofree char *path = own ? g_steal_pointer (&own) : td_tomcat_log_find (above, first, &log);

  if (!path)
    return TRUE;
  const guint n = all->len, views = log.n_views, before = log.n_darks + log.n_flats;
  if (n != views && n != before + views && n != before + views + log.n_flats)
    return td_set_error (error, TD_ERROR_BAD_FILE,
                         "“%s” states %u [dark|darks], %u [flat|flats] and %u "
                         "[projection|projections], but “%s” holds %u "
                         "[image|images]: copy all of them",
                         path, log.n_darks, log.n_flats, views, folder, n);
  if (!set->angles && isfinite (log.first_deg) && isfinite (log.last_deg))
    set->angles = g_strdup_printf ("%.9g:%.9g", log.first_deg, log.last_deg);
  if (n == views)
    return TRUE;
  td_messages_note (&set->notes,
                    "By %s, the images are %u [dark|darks], %u [flat|flats] and %u "
                    "[projection|projections], in this order, "
                    "and %u [flat|flats] behind them.",
                    path, log.n_darks, log.n_flats, views, n - before - views);
  set->projections = g_ptr_array_new_with_free_func (g_free);
  for (guint i = 0; i < n; i++)
    g_ptr_array_add (i < log.n_darks                     ? set->darks
                     : i < before || i >= before + views ? set->flats
                                                         : set->projections,
                     g_strdup (all->pdata[i]));
  g_ptr_array_unref (all);
  if (options->flats)
    g_ptr_array_set_size (set->flats, 0);
  if (options->darks)
    g_ptr_array_set_size (set->darks, 0);
  return TRUE;
}

/* What a folder without TIFF images holds instead. FALSE: nothing that is known. */
static gboolean
tiff_tell_others (const char *folder, GError **error)
{
  g_auto (GStrv) others = td_series_list (folder, td_other_format_is, NULL);
  g_auto (GStrv) hdf5 = td_series_list (folder, td_scan_named_hdf5, NULL);

  if (hdf5 && hdf5[0]) /* none of which says that it is a scan */
    return !td_set_error (error, TD_ERROR_UNSUPPORTED,
                          "“%s” holds no TIFF images; open the one of its HDF5 files that has the "
                          "projections, such as “%s”",
                          folder, hdf5[0]);
  if (!others || !others[0])
    return FALSE;
  td_set_error_message (error, TD_ERROR_UNSUPPORTED, td_other_format_folder (folder, others[0]));
  return TRUE;
}

static gboolean
tiff_find_in_folder (TdTiffSet *set, const char *folder, GError **error)
{
  g_auto (GStrv) names = td_series_list (folder, td_series_is_tiff, error);
  g_autoptr (GString) several = g_string_new (NULL);

  if (!names || !take_series (set, folder, names, error))
    return FALSE;
  if (set->projections->len > 0)
    return TRUE;
  g_autofree char *below = find_projection_folder (folder, several);
  g_auto (GStrv) others = below ? td_series_list (below, td_series_is_tiff, error) : NULL;
  if (others && !take_series (set, below, others, error))
    return FALSE;
  if (set->projections->len > 0)
    return TRUE;
  if (error && !*error && !names[0] && several->len == 0 && tiff_tell_others (folder, error))
    return FALSE;
  if (error && !*error && several->len > 0)
    td_set_error (error, TD_ERROR_NOT_FOUND,
                  "“%s” holds several folders of images (%s): open the one of the projections, and "
                  "name those of flats and darks ({flats:PATH}, {darks:PATH})",
                  folder, several->str);
  const gboolean called_below = others && others[0];
  if (error && !*error)
    td_set_error (
        error, TD_ERROR_NOT_FOUND,
        names[0] || called_below
            ? N_ ("“%s” holds flats and darks by their names, but no projections: open the "
                  "folder of these, or one of its images if they are projections")
            : N_ ("“%s” holds no TIFF images; open the folder or the file of a scan"),
        called_below ? below : folder);
  return FALSE;
}

static TdTiffSet *
tiff_find (const char *path, const TdScanOptions *options, GError **error)
{
  g_autoptr (TdTiffSet) set = g_new0 (TdTiffSet, 1);
  gboolean folder = g_file_test (path, G_FILE_TEST_IS_DIR);
  g_autofree char *opened = folder ? g_strdup (path) : g_path_get_dirname (path);
  g_autofree char *name = g_path_get_basename (path), *parent_name = g_path_get_basename (opened);

  set->sinograms
      = options->sinograms || td_name_is_sinogram (name) || td_name_is_sinogram (parent_name);
  set->projections = g_ptr_array_new_with_free_func (g_free);
  set->flats = g_ptr_array_new_with_free_func (g_free);
  set->darks = g_ptr_array_new_with_free_func (g_free);
  if (!(folder ? tiff_find_in_folder (set, path, error) : take_series_of (set, path, error))
      || !check_numbers (set, error))
    return NULL;
  /* In a folder that was opened, the images' names say it too. */
  g_autofree char *first = g_path_get_basename (set->projections->pdata[0]);
  g_autofree char *own = g_path_get_dirname (set->projections->pdata[0]);
  g_autofree char *own_name = g_path_get_basename (own);
  set->sinograms = set->sinograms || td_name_is_sinogram (first) || td_name_is_sinogram (own_name);
  if (set->sinograms && !options->sinograms)
    td_messages_note (&set->notes,
                      "By its name this is a stack of sinograms: every image is one detector row.");
  return (set->sinograms || options->corrected || tiff_find_split (set, options, error))
                 && find_companions (set, opened, options, error)
             ? g_steal_pointer (&set)
             : NULL;
}

typedef struct {
  TdTiffFrames *frames[3]; /* by TdFrameKind; NULL: none */
} TiffSource;

static gboolean
scan_tiff_fill (gpointer source, const TdFrameRange *range, const TdFrameTarget *target,
                GCancellable *cancellable, GError **error)
{
  return td_tiff_frames_read (((TiffSource *) source)->frames[range->kind], range, target,
                              cancellable, error);
}

static void
free_source (gpointer source)
{
  TiffSource *own = source;

  for (guint i = 0; i < G_N_ELEMENTS (own->frames); i++)
    g_clear_pointer (&own->frames[i], td_tiff_frames_free);
  g_free (own);
}

static const TdScanSource tiff_vtable
    = { .fill = scan_tiff_fill, .free = free_source, .stored = TRUE };

static gboolean
tiff_probe (const char *path, const TdScanOptions *options)
{
  return g_file_test (path, G_FILE_TEST_IS_DIR) || td_tiff_probe (path);
}

/* Flats and darks beside the scan's folder may be of another camera's scans there. */
static gboolean
are_anothers (TdScan *scan, const TdTiffSet *set, TdFrameKind kind, const GPtrArray *paths)
{
  const TdScanFacts *facts = &scan->facts;
  const char *const first[] = { paths->pdata[0], NULL };

  if (kind == TD_FRAME_PROJECTION || !set->from_above[kind])
    return FALSE;
  g_autoptr (TdTiffFrames) frames = td_tiff_frames_new ();
  if (!td_tiff_frames_add (frames, first, NULL)
      || (frames->layout.width == facts->n_columns && frames->layout.height == facts->n_rows))
    return FALSE;
  td_scan_note (
      scan,
      "%s has %u × %u pixels, but the projections have %u × %u: what lies there was taken "
      "for another scan's ({flats:PATH}, {darks:PATH}).",
      first[0], frames->layout.width, frames->layout.height, facts->n_columns, facts->n_rows);
  return TRUE;
}

static gboolean
add_frames (TdScan *scan, TiffSource *source, TdFrameKind kind, GPtrArray *paths, GError **error)
{
  TdTiffFrames *frames;

  if (paths->len == 0)
    return TRUE;
  td_scan_add_sources (scan, (const char *const *) paths->pdata, paths->len);
  g_ptr_array_add (paths, NULL);
  frames = source->frames[kind] = td_tiff_frames_new ();
  if (!td_tiff_frames_add (frames, (const char *const *) paths->pdata, error))
    return FALSE;
  const guint size[2] = { frames->layout.width, frames->layout.height };
  if (kind != TD_FRAME_PROJECTION
      && !td_scan_check_size (&scan->facts, kind, paths->pdata[0], size, error))
    return FALSE;
  if (kind != TD_FRAME_PROJECTION || scan->stacked)
    td_tiff_frames_note_partial (frames, &scan->facts.notes);
  else if (frames->partial)
    td_scan_note (
        scan,
        "“%s” states %u images, but holds %u: if it was cut short, copy or save it again; "
        "if it is a part of a stack, give the angles of the images that are there "
        "({angles:FILE|FIRST:LAST}).",
        frames->partial, frames->partial_states, frames->partial_holds);
  scan->facts.inverted |= frames->layout.inverted;
  if (frames->layout.inverted)
    td_scan_note (scan,
                  "“%s” is stored with white as the lowest value; its values were turned "
                  "round.",
                  (char *) paths->pdata[0]);
  if (frames->layout.coloured)
    td_scan_note (scan,
                  "“%s” has a palette of colours; the numbers of the colours were taken as the "
                  "values, which they are only if the palette was put on grey images.",
                  (char *) paths->pdata[0]);
  return TRUE;
}

static void
take_size (TdScan *scan, const TdTiffFrames *frames, gboolean sinograms)
{
  TdScanFacts *facts = &scan->facts;

  facts->n_columns = frames->layout.width;
  facts->n_rows = sinograms ? td_tiff_frames_count (frames) : frames->layout.height;
  facts->n_views = sinograms ? frames->layout.height : td_tiff_frames_count (frames);
  facts->sample_type = frames->layout.type;
  facts->rows_together = sinograms ? 1 : frames->layout.rows_together;
  facts->sinogram_order = sinograms;
  facts->format = g_strdup (sinograms                ? N_ ("TIFF sinograms")
                            : frames->paths->len > 1 ? N_ ("TIFF stack")
                            : facts->n_views > 1     ? N_ ("multi-page TIFF")
                                                     : N_ ("TIFF image"));
}

/* A stack is called like its folder, unless that is called like any ("tiffs", "projections"). */
static void
scan_tiff_take_title (TdScan *scan, const TdTiffFrames *frames)
{
  g_autofree char *folder = g_path_get_dirname (frames->paths->pdata[0]);
  g_autofree char *name = g_path_get_basename (folder), *above = NULL;

  if (frames->paths->len < 2)
    return;
  if (td_name_is_projection_folder (name)) {
    above = g_path_get_dirname (folder);
    g_free (name);
    name = g_path_get_basename (above);
  }
  td_scan_take_title (scan, g_steal_pointer (&name));
}

static gboolean
scan_tiff_take_angles (TdScan *scan, const TdTiffSet *set, const TdTiffFrames *frames,
                       const TdScanOptions *options, GError **error)
{
  const char *spec = options->angles ? options->angles : set->angles;
  g_autoptr (GPtrArray) names = NULL;

  if (!spec)
    return TRUE; /* validation says so */
  if (!set->sinograms && frames->frames->len == 0) {
    names = g_ptr_array_new_with_free_func (g_free);
    for (guint i = 0; i < scan->facts.n_views; i++)
      g_ptr_array_add (names, g_path_get_basename (td_tiff_frames_path (frames, i)));
    g_ptr_array_add (names, NULL);
  }
  if (!options->angles)
    td_scan_note (scan, TD_SCAN_NOTE_ANGLES, spec);
  return td_scan_take_angles (scan, spec, names ? (const char *const *) names->pdata : NULL, error);
}

/* Only if every flat's name says when it was taken. */
static void
take_flat_positions (TdScan *scan, const TdTiffFrames *flats)
{
  TdScanFacts *facts = &scan->facts;
  g_autofree double *positions = g_new (double, facts->n_flats);

  for (guint i = 0; i < facts->n_flats; i++) {
    const char *path = td_tiff_frames_path (flats, i);
    g_autofree char *name = g_path_get_basename (path), *parent = g_path_get_dirname (path);
    g_autofree char *folder = g_path_get_basename (parent);

    positions[i] = td_name_flat_position (folder, name, facts->n_views);
    if (isnan (positions[i]))
      return;
  }
  facts->flat_positions = g_steal_pointer (&positions);
}

static void
note_companions (TdScan *scan, const TdTiffSet *set, const TdTiffFrames *frames)
{
  const TdScanFacts *facts = &scan->facts;

  if (frames->frames->len > 0 && frames->paths->len > 1)
    td_scan_note (
        scan,
        "%u files hold several images each: all %u images were taken, one file behind the "
        "other.",
        frames->paths->len, frames->frames->len);
  td_messages_append (&scan->facts.notes, set->notes);
  if (facts->n_flats > 0)
    td_scan_note (scan, TD_SCAN_NOTE_FLATS, facts->n_flats, (char *) set->flats->pdata[0]);
  if (facts->n_darks > 0)
    td_scan_note (scan, TD_SCAN_NOTE_DARKS, facts->n_darks, (char *) set->darks->pdata[0]);
}

/* The projection at 180°, behind the views; one that does not fit them is left. */
static void
take_half_turn (TdScan *scan, TdTiffFrames *frames, const TdTiffSet *set)
{
  const char *const paths[] = { set->half_turn, NULL };
  const guint n = td_tiff_frames_count (frames);

  if (!set->half_turn)
    return;
  if (set->sinograms || frames->frames->len > 0 || !td_tiff_frames_add (frames, paths, NULL)
      || td_tiff_frames_count (frames) != n + 1) {
    td_scan_note (scan, "%s is a projection at 180°, but does not fit the views: it is not used.",
                  set->half_turn);
    return;
  }
  const double angle_rad = scan->facts.angles_rad[0] + G_PI;
  td_scan_take_extra (scan, &angle_rad, 1);
  td_scan_note (scan,
                "%s is a projection at 180°: it is not among the views, but helps to find the "
                "axis.",
                set->half_turn);
}

/* @scan is sound once this has succeeded. */
static gboolean
scan_tiff_take_geometry (TdScan *scan, const char *path, gboolean own_angles, GError **error)
{
  g_autoptr (TdGeometryFile) file = path ? td_geometry_file_load (path, error) : NULL;

  if (!path)
    return td_scan_validate (scan, error);
  return file && td_geometry_file_apply (file, scan, own_angles, error);
}

static TdScan *
tiff_open (const char *path, const TdScanOptions *options, GCancellable *cancellable,
           GError **error)
{
  g_autoptr (TdTiffSet) set = tiff_find (path, options, error);
  TdTiffFrames *frames;

  if (!set)
    return NULL;
  TiffSource *source = g_new0 (TiffSource, 1);
  g_autoptr (TdScan) scan = td_scan_alloc (path, &tiff_vtable, source);
  scan->stacked = set->sinograms;
  if (!add_frames (scan, source, TD_FRAME_PROJECTION, set->projections, error))
    return NULL;
  frames = source->frames[TD_FRAME_PROJECTION];
  take_size (scan, frames, set->sinograms);
  scan_tiff_take_title (scan, frames);
  for (TdFrameKind kind = TD_FRAME_FLAT; kind <= TD_FRAME_DARK; kind++) {
    GPtrArray *paths = kind == TD_FRAME_FLAT ? set->flats : set->darks;
    if (paths->len > 0 && are_anothers (scan, set, kind, paths))
      continue;
    if (!add_frames (scan, source, kind, paths, error))
      return NULL;
  }
  if (source->frames[TD_FRAME_FLAT]) {
    scan->facts.n_flats = td_tiff_frames_count (source->frames[TD_FRAME_FLAT]);
    take_flat_positions (scan, source->frames[TD_FRAME_FLAT]);
  }
  if (source->frames[TD_FRAME_DARK])
    scan->facts.n_darks = td_tiff_frames_count (source->frames[TD_FRAME_DARK]);
  note_companions (scan, set, frames);
  if (!scan_tiff_take_angles (scan, set, frames, options, error)
      || !scan_tiff_take_geometry (scan, options->geometry ? NULL : set->geometry,
                                   scan->facts.angles_rad != NULL, error))
    return NULL;
  take_half_turn (scan, frames, set);
  return g_steal_pointer (&scan);
}

const TdScanReader td_scan_reader_tiff = { tiff_probe, tiff_open, TRUE };
