/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "hdf5-util.h"

/**
 * TdH5Frames: an open data set [frame][row][column] (or one frame, [row][column]) read by frames
 * and rows. Any thread, several at once; they take turns at the library's lock, piece by piece.
 */
typedef struct TdH5Frames TdH5Frames;

/* Takes @dataset, also on failure. Refuses other ranks and types, sets that were never written,
   virtual ones whose sources are missing, and compression that this system's HDF5 cannot undo. */
TdH5Frames *td_h5_frames_new (hid_t dataset, const char *name, GError **error);
/* The same for a data set in sinogram order, [row][frame][column]. */
TdH5Frames *td_h5_frames_new_by_rows (hid_t dataset, const char *name, GError **error);
void td_h5_frames_free (TdH5Frames *frames);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdH5Frames, td_h5_frames_free)

guint td_h5_frames_count (const TdH5Frames *frames);
guint td_h5_frames_rows (const TdH5Frames *frames);
guint td_h5_frames_columns (const TdH5Frames *frames);
TdSampleType td_h5_frames_type (const TdH5Frames *frames);

/* Rows as sinograms, [row][frame][column]: the order of a set opened by rows. */
gboolean td_h5_frames_read_sinograms (TdH5Frames *frames, const TdFrameRange *range, float *out,
                                      GCancellable *cancellable, GError **error);
/* The range's rows as float. @indices: of the file's frames to take (NULL: those of the range). */
gboolean td_h5_frames_read (TdH5Frames *frames, const guint *indices, const TdFrameRange *range,
                            float *out, GCancellable *cancellable, GError **error);
