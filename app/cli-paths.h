/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "dataset/volume.h"

/* What a path's ending asks for when no --format is given. */
TdVolumeFormat
td_cli_volume_format (const char *path); /* .tif: BigTIFF, .h5: HDF5, else a folder */
gboolean td_cli_is_hdf5 (const char *path);
