/* SPDX-License-Identifier: GPL-3.0-or-later */
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
} kinds[] = {
  { ".xtekct", "Nikon .xtekct (TIFF)", td_geometry_file_is_nikon, td_nikon_first_projection },
  { ".log", "SkyScan .log (TIFF)", td_geometry_file_is_skyscan, td_skyscan_first_projection },
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

/* The only description of projections that a folder holds. NULL: none, or with @error several. */
static char *
scan_described_find_in_folder (const char *folder, GError **error)
{
  g_auto (GStrv) paths = td_series_paths (folder, may_describe, NULL);
  g_autofree char *found = NULL;

  for (guint i = 0; paths && paths[i]; i++) {
    const int kind = kind_of (paths[i]);
    g_autofree char *first = kind >= 0 ? kinds[kind].first_projection (paths[i], NULL) : NULL;

    if (!first)
      continue;
    if (found)
      return td_set_error_null (error, TD_ERROR_UNSUPPORTED,
                                "“%s” and “%s” both describe projections in their folder: open the "
                                "one that is meant instead of the folder",
                                found, paths[i]);
    found = g_strdup (paths[i]);
  }
  return g_steal_pointer (&found);
}

static gboolean
described_probe (const char *path, const TdScanOptions *options)
{
  g_autoptr (GError) several = NULL;

  if (!g_file_test (path, G_FILE_TEST_IS_DIR))
    return kind_of (path) >= 0;
  if (options->sinograms)
    return FALSE;
  g_autofree char *found = scan_described_find_in_folder (path, &several);
  /* Whoever states what a description would say has no need of one. */
  return found || (several && !options->geometry && !options->angles);
}

static TdScan *
described_open (const char *path, const TdScanOptions *options, GCancellable *cancellable,
                GError **error)
{
  g_autofree char *own = g_file_test (path, G_FILE_TEST_IS_DIR)
                             ? scan_described_find_in_folder (path, error)
                             : g_strdup (path);
  g_autoptr (TdGeometryFile) file = own ? td_geometry_file_load (own, error) : NULL;
  g_autofree char *first = file ? kinds[kind_of (own)].first_projection (own, error) : NULL;
  TdScanOptions images = *options;
  g_autoptr (TdScan) scan = NULL;

  if (!first)
    return NULL;
  /* The description's angles and geometry replace what the images' reader finds. Its angles are
     those of images turned round, and no use to another geometry. */
  if (!images.angles && !options->geometry)
    images.angles = TD_ANGLES_LATER;
  images.geometry = own;
  images.corrected = file->white_level > 0 && !file->uncorrected;
  scan = td_scan_reader_tiff.open (first, &images, cancellable, error);
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
