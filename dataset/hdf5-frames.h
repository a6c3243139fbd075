/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "frame-target.h"
#include "hdf5-util.h"

/**
 * TdH5Absent: which frames of a data set are not in its files. The library reads them as its fill
 * value, mostly zero, and reports no error. Frames are missing where a chunk was never written, and
 * behind the end of external raw data. In a virtual data set they are missing where nothing is
 * mapped, or where the source is missing, damaged or too small.
 */
typedef struct {
  guint n;         /* frames */
  guint n_absent;  /* how many of them are missing */
  guint8 *frames;  /* [n]: not 0 where one is missing; NULL: none is */
  char *why;       /* the first reason, as a clause for td_message_words(); NULL: none is missing */
  GPtrArray *from; /* paths of the files that the frames come from */
} TdH5Absent;

/* @along: the dimension that counts frames, 0 or 1. @allow_external: raw data may lie outside the
   file's folder. FALSE with @error: the data set is damaged, or raw data lie where they may not. */
gboolean td_h5_absent_find (TdH5Absent *absent, hid_t dataset, guint along, gboolean allow_external,
                            GError **error);
void td_h5_absent_clear (TdH5Absent *absent);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (TdH5Absent, td_h5_absent_clear)

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
