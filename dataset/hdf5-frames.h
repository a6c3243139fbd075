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

guint td_h5_frames_count (const TdH5Frames *frames);
guint td_h5_frames_rows (const TdH5Frames *frames);
guint td_h5_frames_columns (const TdH5Frames *frames);
TdSampleType td_h5_frames_type (const TdH5Frames *frames);
/* As TdScanFacts has it. */
guint td_h5_frames_rows_together (const TdH5Frames *frames);
gsize td_h5_frames_unpack_bytes (const TdH5Frames *frames);
/* Which frames are not in the files. Reading one of them is an error. */
const TdH5Absent *td_h5_frames_absent (const TdH5Frames *frames);

/* The range's rows, to any target, and as float, [frame][row][column]. @indices: of the file's
   frames to take; NULL: those of the range. */
gboolean td_h5_frames_fill (TdH5Frames *frames, const guint *indices, const TdFrameRange *range,
                            const TdFrameTarget *target, GCancellable *cancellable, GError **error);
gboolean td_h5_frames_read (TdH5Frames *frames, const TdFrameRange *range, float *out,
                            GCancellable *cancellable, GError **error);
