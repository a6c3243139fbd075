/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "backproject.h"

/**
 * How kernels/backproject-alu-core.h is specialised: the tunable choices of the ALU, hybrid and
 * oversampling families and what follows from them. A variant's defines name the choices
 * ("TD_TILE=64"); TD_SLICES is the variant's own field.
 */
typedef struct {
  guint slices, tile, threads, batch, lanes, samples, side, cache, unroll, resident, buffers, run,
      ahead;
  guint float_round, split, columns, copy;
  guint hybrid, texture_cells, texture_share, all_share;
  gboolean linear;
  guint half;    /* storage */
  gboolean unit; /* the step is one column */
  guint bins;    /* cached a view and plane; 0: not yet fitted */
} TdAluShape;

/* The default for single slices (@slices 1) or several, by the device's abilities. */
TdAluShape td_alu_shape_default (const TdBackprojectTask *task, const TdDeviceInfo *device,
                                 guint slices, guint samples);
/* Takes over "KEY=VALUE"s; an unknown key or a value that no kernel can have is an error. */
gboolean td_alu_shape_apply (TdAluShape *shape, const char *const *defines, GError **error);
/* Sets the fields that follow from the others, and takes fewer views at a time until the shape fits
   the device's local memory. FALSE: it cannot fit. */
gboolean td_alu_shape_fit (TdAluShape *shape, const TdBackprojectTask *task,
                           const TdDeviceInfo *device);
/* FALSE of a shape that did not fit: the device's work-groups are too small. */
gboolean td_alu_shape_has_threads (const TdAluShape *shape);
guint64 td_alu_shape_local_bytes (const TdAluShape *shape);
guint td_alu_shape_planes (const TdAluShape *shape);
/* NULL-terminated, for the program; free with g_strfreev. */
char **td_alu_shape_defines (const TdAluShape *shape);
char *td_alu_shape_describe (const TdAluShape *shape);
