/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "volume.h"

/* What is stored of a volume beside its samples: sizes, scale, voxel, units, number of the first
   slice; and @provenance_json (NULL: none) under "provenance". */
char *td_volume_describe (const TdVolumeSpec *spec, const char *provenance_json);

/* Takes scale, voxel and provenance from a description of td_volume_describe(); FALSE: it is none.
   @n_slices: how many the description says there should be. */
gboolean td_volume_take_description (TdVolumeFacts *facts, const char *json, guint *n_slices);
