/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "frame-target.h"

/**
 * TdRawFrames: headerless frames in one or several files, whose size and type somebody states. The
 * files must hold whole frames; nothing else can be checked.
 */
typedef struct {
  guint n_columns, n_rows;
  TdSampleType type;
  gboolean big_endian;
  guint64 file_header_bytes;  /* before the first frame of each file */
  guint64 frame_header_bytes; /* before each frame */
  guint n_frames;             /* that one file holds, whatever comes behind them; 0: whole frames to
                                 the end of each file */
} TdRawLayout;

typedef struct TdRawFrames TdRawFrames;

/* @paths: NULL-terminated, in order; sizes are checked, nothing is read. */
TdRawFrames *td_raw_frames_new (const char *const *paths, const TdRawLayout *layout,
                                GError **error);
void td_raw_frames_free (TdRawFrames *frames);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdRawFrames, td_raw_frames_free)
/* Two of the files that do not hold as many frames, the usual one first, and how many each holds.
   FALSE: all hold the same. */
gboolean td_raw_frames_uneven (const TdRawFrames *frames, const char *paths[2], guint holds[2]);
guint td_raw_frames_count (const TdRawFrames *frames);
/* The names of files that hold a frame each, NULL-terminated; NULL: one holds more, or is alone.
   (transfer full) */
char **td_raw_frames_names (const TdRawFrames *frames);
/* Rows of frames. Any thread, several at once; each read opens the file anew. */
gboolean td_raw_frames_read (const TdRawFrames *frames, const TdFrameRange *range,
                             const TdFrameTarget *target, GCancellable *cancellable,
                             GError **error);

/* A scan over raw frames of each kind (NULL: none), which it takes; size and counts are filled in.
   @sinograms: the frames of projections are sinograms: frame r is row r, its lines are the views.
   Any thread may read it; each read opens the file anew. */
TdScan *td_raw_scan_new (const char *path, const TdRawLayout *layout, TdRawFrames *frames[3],
                         gboolean sinograms);
