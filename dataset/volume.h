/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gio/gio.h>

/**
 * Volumes, [slice][y][x] float32, x fastest: written while computing, and read back to browse and
 * compare. A volume is complete or marked incomplete: everything is written under temporary names
 * ("NAME.part") and renamed by td_volume_writer_finish(); provenance (JSON: recipe, scan, device,
 * version, times) goes inside every format.
 */
typedef enum {
  TD_VOLUME_TIFF_STACK, /* a folder, one file a slice: slice_00000.tif */
  TD_VOLUME_BIGTIFF,    /* one file, one page a slice */
  TD_VOLUME_HDF5,       /* /entry/data/data [slice][y][x], NXdata */
} TdVolumeFormat;

typedef struct {
  char *path;
  TdVolumeFormat format;
  guint bits;       /* 32 (float), 16 or 8 (unsigned, scaled) */
  double low, high; /* 16 and 8 bits: the values of 0 and of the largest sample; stored */
  guint nx, ny, n_slices;
  guint first_slice;  /* number of the first slice in the scan (rows A:B keep their names) */
  double voxel_mm;    /* 0: unknown */
  const char *units;  /* "1/mm" or "1/px" */
  gboolean overwrite; /* FALSE: an existing target is refused */
} TdVolumeSpec;

typedef struct TdVolumeWriter TdVolumeWriter;

/* Checks the target (folder writable, room on the disk, nothing overwritten) before any computing.
 */
TdVolumeWriter *td_volume_writer_new (const TdVolumeSpec *spec, GError **error);
/* Slices may come in any order, each once. One thread at a time. @slices: [count][ny][nx]. */
gboolean td_volume_writer_write (TdVolumeWriter *writer, guint first, guint count,
                                 const float *slices, GError **error);
/* Number of samples that were outside [low, high] and clamped (16 and 8 bits). */
guint64 td_volume_writer_clamped (TdVolumeWriter *writer);
/* Stores @provenance, syncs and renames. Fails if a slice is missing. */
gboolean td_volume_writer_finish (TdVolumeWriter *writer, const char *provenance_json,
                                  GError **error);
/* Frees; an unfinished volume's temporary files are removed. */
void td_volume_writer_free (TdVolumeWriter *writer);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdVolumeWriter, td_volume_writer_free)

typedef struct TdVolume TdVolume;

typedef struct {
  char *path;
  guint nx, ny, n_slices;
  guint bits;
  double low, high; /* see TdVolumeSpec; integers are rescaled on reading */
  double voxel_mm;
  char *provenance_json; /* NULL: none */
  gboolean complete;
} TdVolumeFacts;

/* Opens what the writer wrote, and any single image, TIFF stack or NXdata as well. */
TdVolume *td_volume_open (const char *path, GError **error);
const TdVolumeFacts *td_volume_facts (const TdVolume *volume);
gboolean td_volume_read (TdVolume *volume, guint first, guint count, float *out, GError **error);
void td_volume_free (TdVolume *volume);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdVolume, td_volume_free)
