/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli-paths.h"

static gboolean
ends_with (const char *path, const char *const *endings)
{
  g_autofree char *lower = g_ascii_strdown (path, -1);

  for (; *endings; endings++)
    if (g_str_has_suffix (lower, *endings))
      return TRUE;
  return FALSE;
}

gboolean
td_cli_is_hdf5 (const char *path)
{
  static const char *const endings[] = { ".nxs", ".h5", ".hdf5", ".hdf", NULL };

  return ends_with (path, endings);
}

TdVolumeFormat
td_cli_volume_format (const char *path)
{
  static const char *const tiff[] = { ".tif", ".tiff", NULL };

  if (td_cli_is_hdf5 (path))
    return TD_VOLUME_HDF5;
  return ends_with (path, tiff) ? TD_VOLUME_BIGTIFF : TD_VOLUME_TIFF_STACK;
}
