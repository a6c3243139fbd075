/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "frame-target.h"

/**
 * TdStoredFrames: frames whose samples lie in files as they are, without compression. Several
 * threads read pieces of them by their places, and convert each straight to where it is wanted.
 */
typedef struct {
  guint n_rows, n_columns; /* of a frame */
  TdSampleType type;
  gboolean swap; /* the other byte order */
  /* Bytes [@skip, @skip + @bytes) of frame @frame to @to. Any thread, several at once. 0, or errno;
     ENODATA: the file ends before. */
  int (*read) (gconstpointer user, guint frame, guint64 skip, void *to, gsize bytes);
  gconstpointer user;
} TdStoredFrames;

/* Which piece could not be read, and why: errno as TdStoredFrames.read has it; 0: none. */
typedef struct {
  guint frame;
  int code;
} TdStoredFailure;

/* @indices: of the frames that are read, in place of the range's; NULL: the range's. FALSE with
   @failure, or with @error when cancelled or out of memory. */
gboolean td_stored_frames_read (const TdStoredFrames *frames, const guint *indices,
                                const TdFrameRange *range, const TdFrameTarget *target,
                                TdStoredFailure *failure, GCancellable *cancellable,
                                GError **error);
