/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "error.h"
#include "scan-private.h"
#include "series.h"

/* A folder without TIFF images that holds one scan file of another kind, or whose "projections"
 * does. */

static const TdScanReader *const kinds[] = {
  &td_scan_reader_nexus,
  &td_scan_reader_dxchange,
  &td_scan_reader_ctsimu,
};

gboolean
td_scan_folder_takes (const char *name)
{
  return td_scan_named_hdf5 (name) || td_series_ends (name, ".json"); /* CTSimU's metadata */
}

#define NAMED 5 /* scans that a refusal lists */

/* The folder's scan files and their readers. */
static GPtrArray *
find_scans (const char *folder, const TdScanOptions *options, const TdScanReader **reader)
{
  GPtrArray *found = g_ptr_array_new_with_free_func (g_free);
  g_auto (GStrv) names = td_series_paths (folder, td_scan_folder_takes, NULL);

  for (guint i = 0; names && names[i]; i++)
    for (guint j = 0; j < G_N_ELEMENTS (kinds); j++)
      if (kinds[j]->probe (names[i], options)) {
        g_ptr_array_add (found, g_strdup (names[i]));
        *reader = kinds[j];
        break;
      }
  return found;
}

static GPtrArray *
find_in_or_below (const char *folder, const TdScanOptions *options, const TdScanReader **reader)
{
  g_autofree char *below = g_build_filename (folder, "projections", NULL);
  GPtrArray *found = find_scans (folder, options, reader);

  if (found->len > 0 || !g_file_test (below, G_FILE_TEST_IS_DIR))
    return found;
  g_ptr_array_unref (found);
  return find_scans (below, options, reader);
}

static gboolean
folder_probe (const char *path, const TdScanOptions *options)
{
  const TdScanReader *reader = NULL;

  if (!g_file_test (path, G_FILE_TEST_IS_DIR))
    return FALSE;
  g_auto (GStrv) images = td_series_list (path, td_series_is_tiff, NULL);
  if (images && images[0])
    return FALSE;
  g_autoptr (GPtrArray) found = find_in_or_below (path, options, &reader);
  return found->len > 0;
}

static TdScan *
folder_open (const char *path, const TdScanOptions *options, GCancellable *cancellable,
             GError **error)
{
  const TdScanReader *reader = NULL;
  g_autoptr (GPtrArray) found = find_in_or_below (path, options, &reader);

  if (found->len == 1)
    return reader->open (found->pdata[0], options, cancellable, error);
  g_autoptr (GString) names = g_string_new (NULL);
  for (guint i = 0; i < MIN (found->len, NAMED); i++) {
    g_autofree char *name = g_path_get_basename (found->pdata[i]);
    g_string_append_printf (names, "%s%s", i ? ", " : "", name);
  }
  return td_set_error_null (
      error, TD_ERROR_UNSUPPORTED,
      "“%s” holds %u scans (%s%s); open one of the files instead of the folder", path, found->len,
      names->str, found->len > NAMED ? ", …" : "");
}

const TdScanReader td_scan_reader_folder = { folder_probe, folder_open };
