/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "frame-target.h"
#include "tiff-io.h"

/**
 * TdTiffFrames: a list of equally sized TIFF images, in one file each or several to a file. Only
 * the first and the last file are looked at when the list is made, so that thousands of files open
 * at once. Each of the others is checked against the first when it is read.
 */
typedef struct {
  GPtrArray *paths;    /* of the files, in order */
  GArray *frames;      /* TdTiffFrame; empty: frame i is the only image of file i */
  TdTiffLayout layout; /* of every frame */
  char *partial;       /* the first stack that holds fewer images than it states; NULL: none */
  guint partial_holds, partial_states;
} TdTiffFrames;

typedef struct {
  guint file;
  TdTiffPage page;
} TdTiffFrame;

TdTiffFrames *td_tiff_frames_new (void);
void td_tiff_frames_free (TdTiffFrames *frames);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdTiffFrames, td_tiff_frames_free)

/* Appends @paths (NULL-terminated, each one image or, if the first or the last is a stack, each a
   stack). Checks the first and the last against what is there already. */
gboolean td_tiff_frames_add (TdTiffFrames *frames, const char *const *paths, GError **error);
/* Tells of a stack that is partial; nothing where none is. */
void td_tiff_frames_note_partial (const TdTiffFrames *frames, TdMessage ***notes);
guint td_tiff_frames_count (const TdTiffFrames *frames);
const char *td_tiff_frames_path (const TdTiffFrames *frames, guint frame);
/* Rows of frames; several threads read a frame each. Any thread, several at once. */
gboolean td_tiff_frames_read (const TdTiffFrames *frames, const TdFrameRange *range,
                              const TdFrameTarget *target, GCancellable *cancellable,
                              GError **error);
