/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "sample.h"
#include "scan.h"

/**
 * TdFrameTarget: where the rows of a range of frames are wanted, in memory. Row r of frame i begins
 * at values + i * frame_step + r * row_step; so frames and sinograms are filled alike.
 */
typedef struct {
  float *values;
  gsize frame_step, row_step; /* in floats */
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
  return (TdFrameTarget) { out, n_columns, range->count * n_columns };
}

/* The same places when what the file calls frames are the target's rows, and the other way round.
 */
static inline TdFrameTarget
td_frame_target_turned (const TdFrameTarget *target)
{
  return (TdFrameTarget) { target->values, target->row_step, target->frame_step };
}

static inline float *
td_frame_target_row (const TdFrameTarget *target, gsize frame, gsize row)
{
  return target->values + frame * target->frame_step + row * target->row_step;
}
