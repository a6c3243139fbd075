/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gio/gio.h>

#include "scan.h"

/**
 * Volumes, [slice][y][x] float32, x fastest: written while computing, and read back to browse and
 * compare. A volume is complete or marked incomplete. Everything is written under temporary names
 * ("NAME.part") and renamed by td_volume_writer_finish(). Provenance (JSON: recipe, scan, device,
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
  const char *job;    /* NULL: none; else what is temporary is "PATH.JOB.part", which stays if the
                         volume is not finished, for another run of this job */
  gboolean go_on;     /* with what an earlier run of the job left, which must be there */
} TdVolumeSpec;

typedef struct TdVolumeWriter TdVolumeWriter;

/* Checks the target (folder writable, room on the disk, nothing overwritten) before any computing.
 */
TdVolumeWriter *td_volume_writer_new (const TdVolumeSpec *spec, GError **error);
/* Slices may come in any order, each once; any threads, several at once. A call writes with several
   threads, to a stack with one for each slice. @slices: [count][ny][nx]. */
gboolean td_volume_writer_write (TdVolumeWriter *writer, guint first, guint count,
                                 const float *slices, GError **error);
/* The same of samples as they are stored, by td_samples_from_float() or as if; @clamped of them
   were outside the range. */
gboolean td_volume_writer_write_stored (TdVolumeWriter *writer, guint first, guint count,
                                        const void *samples, guint64 clamped, GError **error);
/* The slices [first, first + count) of a job's volume will be written by this process. Where that
   pays, their room is taken ahead. Slices of other volumes need not be told. Any thread. */
void td_volume_writer_expect (TdVolumeWriter *writer, guint first, guint count);
/* Asked for each MiB of every later write. */
void td_volume_writer_set_cancellable (TdVolumeWriter *writer, GCancellable *cancellable);
/* Number of samples that were outside [low, high] and clamped (16 and 8 bits). */
guint64 td_volume_writer_clamped (TdVolumeWriter *writer);
/* Stores @provenance, syncs and renames. Fails if a slice is missing. */
gboolean td_volume_writer_finish (TdVolumeWriter *writer, const char *provenance_json,
                                  GError **error);
/* Frees; an unfinished volume's temporary files are removed. */
void td_volume_writer_free (TdVolumeWriter *writer);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdVolumeWriter, td_volume_writer_free)

/**
 * Several processes may write one volume, each its own slices, by the place of a slice in the file.
 * One of them lays the volume out with td_volume_writer_new() and gives the others its layout; they
 * join and write. The first is then told what each wrote, and finishes the volume. All need
 * one file system, one spec and one byte order.
 */
typedef struct {
  const char *part;   /* path of the file or folder that is being written; the writer's */
  guint64 samples_at; /* offset of slice 0 in the file; 0: a file a slice */
} TdVolumeLayout;

TdVolumeLayout td_volume_writer_layout (const TdVolumeWriter *writer);
/* A writer into another one's volume; it cannot be finished. */
TdVolumeWriter *td_volume_writer_join (const TdVolumeSpec *spec, const TdVolumeLayout *layout,
                                       GError **error);
/* Makes what this writer has written durable. */
gboolean td_volume_writer_sync (TdVolumeWriter *writer, GError **error);
/* A job's volume, which will not be finished: nothing of it stays. */
void td_volume_writer_discard (TdVolumeWriter *writer);
/* The slices [first, first + count) were written, durably, by one that joined, or by an earlier run
   of the job. */
void td_volume_writer_account (TdVolumeWriter *writer, guint first, guint count, guint64 clamped);

typedef struct TdVolume TdVolume;

typedef struct {
  char *path;
  const char *format; /* "TIFF stack", …; static */
  char *dataset;      /* HDF5: the data set's path; NULL: another format */
  guint nx, ny, n_slices;
  guint first_slice; /* see TdVolumeSpec; 0 also where nobody says */
  guint bits;
  TdSampleType type;     /* as stored */
  double low, high;      /* see TdVolumeSpec; integers are rescaled on reading */
  double voxel_mm;       /* 0: unknown */
  char *units;           /* of the values, as the file says; NULL: it does not */
  char *provenance_json; /* NULL: none */
  TdMessage **notes;     /* what was taken for granted, and what is missing */
  gboolean complete;     /* else @notes say what is not */
} TdVolumeFacts;

/**
 * td_volume_open:
 *
 * Opens what the writer wrote, and anybody's volume or image: headers only, from any thread. @path
 * may be "FILE::DATASET". A folder must hold one series of files, and a file of several data sets
 * says which to name: nothing is guessed.
 */
TdVolume *td_volume_open (const char *path, GError **error);
/* The volume that a person means: of a slice or the provenance.json in a folder that the writer
   made, that folder; else @path itself. (transfer full) */
char *td_volume_whole (const char *path);
/* The file of a path as td_volume_open() takes it, and the data set named (NULL: none), within
   @path. @dataset may be NULL. (transfer full) */
char *td_volume_file (const char *path, const char **dataset);
/* @options: (nullable): what a person states: its dataset, pixel_mm, allow_external and raw_… are
   asked, and no other. */
TdVolume *td_volume_open_stated (const char *path, const TdScanOptions *options, GError **error);
const TdVolumeFacts *td_volume_facts (const TdVolume *volume);
/* Whole slices, [slice][y][x]. These two: any thread, several at once. */
gboolean td_volume_read (TdVolume *volume, guint first, guint count, float *out, GError **error);
/* Rows of slices, [slice][row][x]: @part's frames are slices; its kind is not asked. */
gboolean td_volume_read_part (TdVolume *volume, const TdFrameRange *part, float *out,
                              GCancellable *cancellable, GError **error);
void td_volume_free (TdVolume *volume);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdVolume, td_volume_free)

/* The arrays of three dimensions in an HDF5 file, a line of path, size and type each behind its
   path: path, line, path, line … NULL. NULL with @error. (transfer full) */
char **td_volume_datasets (const char *path, GError **error);
