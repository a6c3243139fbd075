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
  g_autofree char *low = g_ascii_strdown (path, -1), *head = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++)
    if (g_str_has_suffix (low, kinds[i].ending)) {
      head = td_text_head (path, HEAD_BYTES);
      return head && kinds[i].is (head) ? (int) i : -1;
    }
  return -1;
}

static gboolean
may_describe (const char *name)
{
  g_autofree char *low = g_ascii_strdown (name, -1);

  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++)
    if (g_str_has_suffix (low, kinds[i].ending))
      return TRUE;
  return FALSE;
}

/* The only description of projections that a folder holds; NULL: none, or several. */
static char *
scan_described_find_in_folder (const char *folder)
{
  g_auto (GStrv) paths = td_series_paths (folder, may_describe, NULL);
  char *found = NULL;

  for (guint i = 0; paths && paths[i]; i++) {
    const int kind = kind_of (paths[i]);
    g_autofree char *first = kind >= 0 ? kinds[kind].first_projection (paths[i], NULL) : NULL;

    if (!first)
      continue;
    if (found) {
      g_free (found);
      return NULL;
    }
    found = g_strdup (paths[i]);
  }
  return found;
}

static gboolean
described_probe (const char *path, const TdScanOptions *options)
{
  g_autofree char *found = NULL;

  if (!g_file_test (path, G_FILE_TEST_IS_DIR))
    return kind_of (path) >= 0;
  found = options->sinograms ? NULL : scan_described_find_in_folder (path);
  return found != NULL;
}

static TdScan *
described_open (const char *path, const TdScanOptions *options, GCancellable *cancellable,
                GError **error)
{
  g_autofree char *own = g_file_test (path, G_FILE_TEST_IS_DIR)
                             ? scan_described_find_in_folder (path)
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

const TdScanReader td_scan_reader_described
    = { "described TIFF", described_probe, described_open, TRUE };
