/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "frame-target.h"
#include "hdf5-absent.h"
#include "hdf5-util.h"

/**
 * TdH5Frames: an open data set [frame][row][column] (or one frame, [row][column]) read by frames
 * and rows. Any thread, several at once. Several threads read samples that lie plainly in files,
 * without the library. Else all take turns at the library's lock, piece by piece.
 */
typedef struct TdH5Frames TdH5Frames;

typedef enum {
  TD_H5_FRAMES_BY_ROWS = 1 << 0,  /* in sinogram order, [row][frame][column] */
  TD_H5_FRAMES_EXTERNAL = 1 << 1, /* raw data may lie outside the file's folder */
} TdH5FramesFlags;

/* Takes @dataset, also on failure. Refuses other ranks and types, sets of which no frame is there,
   and compression that this system's HDF5 cannot undo. */
TdH5Frames *td_h5_frames_new (hid_t dataset, const char *name, TdH5FramesFlags flags,
                              GError **error);
void td_h5_frames_free (TdH5Frames *frames);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdH5Frames, td_h5_frames_free)

typedef struct {
  guint n_frames, n_rows, n_columns;
  TdSampleType type;
  TdH5Absent absent;   /* frames that are not in the files: reading one of them is an error */
  guint rows_together; /* these two as TdScanFacts has them */
  gsize unpack_bytes;
} TdH5FramesFacts;

const TdH5FramesFacts *td_h5_frames_facts (const TdH5Frames *frames);
/* The range's rows, to any target. @indices: of the file's frames to take; NULL: those of the
   range. */
gboolean td_h5_frames_fill (TdH5Frames *frames, const guint *indices, const TdFrameRange *range,
                            const TdFrameTarget *target, GCancellable *cancellable, GError **error);
