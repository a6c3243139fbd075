/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "slab.h"

/* What the two steps that remove zingers share. */

typedef enum { TD_ZINGERS_BRIGHT, TD_ZINGERS_DARK, TD_ZINGERS_BOTH } TdZingersKind;
extern const char *const td_zingers_kinds[]; /* their names, NULL-terminated */
/* The kernels' side of an intensity: 1, -1 or 0. */
float td_zingers_side (double kind);

/* Bytes that setting aside takes where @n pieces of @piece bytes are wanted: whole pieces, as many
   as suit the device. */
guint64 td_zingers_aside_bytes (guint64 piece, guint n, gboolean cpu_shaped);

/* Rows and views of a slab. */
typedef struct {
  guint row0, n_rows, view0, n_views;
} TdZingersPart;
/* Copies the part to @aside, [row][view][margin + column + margin]. */
gboolean td_zingers_set_aside (TdSlab *slab, TdBuffer *aside, TdZingersPart part, guint margin,
                               GError **error);
