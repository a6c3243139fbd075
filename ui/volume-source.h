/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "dataset/volume-cut.h"
#include "render/image.h"
#include "render/voxels.h"

/**
 * TdVolumeSource: a volume that is looked at. Planes are read when they are wanted, off the main
 * thread; neighbours across x and y that had to pass through memory are kept. Of the whole there is
 * an overview, which is read once and stands in for planes that take long. Reference counted; any
 * thread, several at once.
 */
typedef struct TdVolumeSource TdVolumeSource;

/* A reduced volume. Its voxel (i, j, k) is the mean of factor × factor × factor_z voxels, from (i
   factor, j factor, k factor_z) on. Those at the far ends have fewer. */
typedef struct {
  guint nx, ny, nz;
  guint factor, factor_z;
  gboolean
      sampled;   /* of factor_z slices only the middle one was read, and what follows is of them */
  float *values; /* [nz][ny][nx] */
  TdVolumeStatistics statistics; /* of the volume's own voxels */
} TdOverview;

/* Takes @volume. @side: the longest side of its overview, less where memory is scarce. */
TdVolumeSource *td_volume_source_new (TdVolume *volume, guint side);
TdVolumeSource *td_volume_source_ref (TdVolumeSource *source);
void td_volume_source_unref (TdVolumeSource *source);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdVolumeSource, td_volume_source_unref)

const TdVolumeFacts *td_volume_source_facts (const TdVolumeSource *source);
/* The plane; blocks on the disk. NULL with @error. */
TdImage *td_volume_source_read (TdVolumeSource *source, TdVolumeAxis axis, guint at,
                                TdVolumeProgress progress, gpointer user, GCancellable *cancellable,
                                GError **error);
/* The plane as the overview has it, drawn over the whole one's extent; NULL: there is no overview
   yet, or none is smaller than the volume. Reads nothing. */
TdImage *td_volume_source_coarse (TdVolumeSource *source, TdVolumeAxis axis, guint at);
/* Reads the volume, or of a large one every so many slices. Nothing if it was made. */
gboolean td_volume_source_survey (TdVolumeSource *source, TdVolumeProgress progress, gpointer user,
                                  GCancellable *cancellable, GError **error);
/* The overview as it is seen from outside; NULL: not made yet. (transfer none) */
TdVoxels *td_volume_source_voxels (TdVolumeSource *source);
/* NULL: not made yet. It stays as it is for as long as the source. */
const TdOverview *td_volume_source_overview (TdVolumeSource *source);
