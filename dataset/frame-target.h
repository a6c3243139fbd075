/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "sample.h"
#include "scan.h"

/**
 * TdFrameTarget: where the rows of a range of frames are wanted, in memory. Row r of frame i begins
 * at values + i * frame_step + r * row_step; so frames and sinograms are filled alike.
 */
typedef struct {
  void *values;
  gsize frame_step, row_step; /* in values */
  /* 0: floats are wanted. Else samples as the file stores them, which are of so many bytes, in this
     computer's byte order. */
  gsize stored_bytes;
} TdFrameTarget;

/* [frame][row][column] */
static inline TdFrameTarget
td_frame_target_frames (const TdFrameRange *range, gsize n_columns, float *out)
{
  return (TdFrameTarget) { out, range->n_rows * n_columns, n_columns };
}

/* [row][frame][column] */
static inline TdFrameTarget
td_frame_target_sinograms (const TdFrameRange *range, gsize n_columns, float *out)
{
  return (TdFrameTarget) { out, n_columns, td_frame_range_row (range) * n_columns };
}

/* The same places when what the file calls frames are the target's rows, and the other way round.
 */
static inline TdFrameTarget
td_frame_target_turned (const TdFrameTarget *target)
{
  return (TdFrameTarget) { target->values, target->row_step, target->frame_step,
                           target->stored_bytes };
}

/* [row][frame][column] of samples as they are stored */
static inline TdFrameTarget
td_frame_target_stored (const TdFrameRange *range, gsize n_columns, TdSampleType type, void *out)
{
  return (TdFrameTarget) { out, n_columns, td_frame_range_row (range) * n_columns,
                           td_sample_size (type) };
}

static inline void *
td_frame_target_sample (const TdFrameTarget *target, gsize frame, gsize row, gsize column)
{
  const gsize at = frame * target->frame_step + row * target->row_step + column;

  return (char *) target->values
         + at * (target->stored_bytes ? target->stored_bytes : sizeof (float));
}

/* Where a row begins. */
static inline void *
td_frame_target_row (const TdFrameTarget *target, gsize frame, gsize row)
{
  return td_frame_target_sample (target, frame, row, 0);
}

/* @n samples of a file to a place of the target (stored-frames.c). */
void td_frame_target_put (const TdFrameTarget *target, TdSampleType type, gboolean swap,
                          const void *from, gsize n, void *to);
