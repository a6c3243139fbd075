/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli-paths.h"

#include "dataset/scan.h"
#include "dataset/series.h"

gboolean
td_cli_is_hdf5 (const char *path)
{
  return td_scan_named_hdf5 (path);
}

TdVolumeFormat
td_cli_volume_format (const char *path)
{
  if (td_cli_is_hdf5 (path))
    return TD_VOLUME_HDF5;
  return td_series_is_tiff (path) ? TD_VOLUME_BIGTIFF : TD_VOLUME_TIFF_STACK;
}
