/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "error.h"
#include "geometry-file.h"
#include "scan-private.h"
#include "series.h"
#include "text-file.h"

/* TIFF projections that a scanner's own text file describes: Nikon's .xtekct, SkyScan's .log.
 * Opened by that file, or by the folder that holds one of them. */

#define HEAD_BYTES 4096

static const struct {
  const char *ending, *format;
  gboolean (*is) (const char *head);
  char *(*first_projection) (const char *path, GError **error);
  gboolean (*is_result) (const char *path); /* it describes a volume, and repeats its scan's; NULL:
                                               there are none of these */
} kinds[] = {
  { ".xtekct", "Nikon .xtekct (TIFF)", td_geometry_file_is_nikon, td_nikon_first_projection, NULL },
  { ".log", "SkyScan .log (TIFF)", td_geometry_file_is_skyscan, td_skyscan_first_projection,
    td_skyscan_is_result },
};

/* Which kind of description @path is; -1: none. */
static int
kind_of (const char *path)
{
  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++)
    if (td_series_ends (path, kinds[i].ending)) {
      g_autofree char *head = td_text_head (path, HEAD_BYTES);
      return head && kinds[i].is (head) ? (int) i : -1;
    }
  return -1;
}

static gboolean
may_describe (const char *name)
{
  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++)
    if (td_series_ends (name, kinds[i].ending))
      return TRUE;
  return FALSE;
}

/* Whether the projections that begin with @first are those that @path, a folder or an image of
   theirs, is opened for. */
static gboolean
are_of (const char *first, const char *path)
{
  g_autofree char *folder = g_path_get_dirname (path), *own = g_path_get_dirname (first);
  g_autofree char *name = g_path_get_basename (path), *first_name = g_path_get_basename (first);
  g_autofree char *pattern = td_series_pattern (name),
                  *first_pattern = td_series_pattern (first_name);

  return g_file_test (path, G_FILE_TEST_IS_DIR)
         || (strcmp (folder, own) == 0 && strcmp (pattern, first_pattern) == 0);
}

/* The only description of projections that a folder holds, or that lies beside an image of these.
   The scan's own goes before that of its volume. NULL: none, or with @error several. @other: (out):
   one of projections that are not there; NULL: there is none. */
static char *
scan_described_find (const char *path, char **other, GError **error)
{
  const gboolean whole = g_file_test (path, G_FILE_TEST_IS_DIR);
  g_autofree char *folder = whole ? g_strdup (path) : g_path_get_dirname (path);
  g_auto (GStrv) paths = td_series_paths (folder, may_describe, NULL);
  g_autofree char *found = NULL, *unfit = NULL;
  gboolean found_result = FALSE;

  for (guint i = 0; paths && paths[i]; i++) {
    const int kind = kind_of (paths[i]);
    g_autofree char *first = kind >= 0 ? kinds[kind].first_projection (paths[i], NULL) : NULL;

    if (kind >= 0 && !first && !unfit)
      unfit = g_strdup (paths[i]);
    if (!first || !are_of (first, path))
      continue;
    const gboolean result = kinds[kind].is_result && kinds[kind].is_result (paths[i]);
    if (found && result && !found_result)
      continue;
    if (found && result == found_result)
      return td_set_error_null (error, TD_ERROR_UNSUPPORTED,
                                "“%s” and “%s” both describe projections in their folder: open the "
                                "one that is meant instead of the folder",
                                found, paths[i]);
    g_free (found);
    found = g_strdup (paths[i]);
    found_result = result;
  }
  *other = found ? NULL : g_steal_pointer (&unfit);
  return g_steal_pointer (&found);
}

static gboolean
described_probe (const char *path, const TdScanOptions *options)
{
  g_autoptr (GError) several = NULL;
  g_autofree char *found = NULL, *other = NULL;

  if (!g_file_test (path, G_FILE_TEST_IS_DIR) && !td_series_is_tiff (path))
    return kind_of (path) >= 0;
  if (options->sinograms)
    return FALSE;
  found = scan_described_find (path, &other, &several);
  /* Whoever states what a description would say has no need of one. Beside a scan in one file it is
     left over from the images that were put there. */
  return found || (other && !options->geometry && !td_scan_reader_folder.probe (path, options))
         || (several && !options->geometry && !options->angles);
}

/* Images beside a description of others: one that was renamed, or that lost its own. */
static TdScan *
open_beside_other (const char *path, const char *other, const TdScanOptions *options,
                   GCancellable *cancellable, GError **error)
{
  g_autoptr (GError) wrong = NULL;
  g_autoptr (TdScan) scan = td_scan_reader_tiff.open (path, options, cancellable, &wrong);

  if (scan) {
    td_scan_note (scan,
                  "%s describes projections of another name and was not used ({geometry:FILE} "
                  "takes it).",
                  other);
    return g_steal_pointer (&scan);
  }
  if (g_error_matches (wrong, TD_ERROR, TD_ERROR_ANGLES)
      && g_file_test (path, G_FILE_TEST_IS_DIR)) /* which the description would have given */
    g_free (kinds[kind_of (other)].first_projection (other, error));
  else
    g_propagate_error (error, g_steal_pointer (&wrong));
  return NULL;
}

static TdScan *
described_open (const char *path, const TdScanOptions *options, GCancellable *cancellable,
                GError **error)
{
  const gboolean itself = kind_of (path) >= 0;
  g_autofree char *other = NULL;
  g_autofree char *own = itself ? g_strdup (path) : scan_described_find (path, &other, error);
  g_autoptr (TdGeometryFile) file = own ? td_geometry_file_load (own, error) : NULL;
  g_autofree char *first = file ? kinds[kind_of (own)].first_projection (own, error) : NULL;
  TdScanOptions images = *options;

  if (other)
    return open_beside_other (path, other, options, cancellable, error);
  if (!first)
    return NULL;
  /* The description's angles and geometry replace what the images' reader finds. Its angles are
     those of images turned round, and no use to another geometry. */
  if (!images.angles && !options->geometry)
    images.angles = TD_ANGLES_LATER;
  images.geometry = own;
  images.corrected = file->white_level > 0 && !file->uncorrected;
  g_autoptr (TdScan) scan = td_scan_reader_tiff.open (first, &images, cancellable, error);
  if (!scan)
    return NULL;
  g_free (scan->facts.path);
  g_free (scan->facts.format);
  scan->facts.path = g_strdup (path);
  scan->facts.format = g_strdup (kinds[kind_of (own)].format);
  if (options->geometry) /* the user's comes instead */
    return g_steal_pointer (&scan);
  return td_geometry_file_apply (file, scan, options->angles != NULL, error)
             ? g_steal_pointer (&scan)
             : NULL;
}

const TdScanReader td_scan_reader_described = { described_probe, described_open, TRUE };
