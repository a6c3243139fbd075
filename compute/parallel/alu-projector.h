/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "alu-shape.h"

/**
 * The projector behind the ALU, oversampling and hybrid families: one kernel source, one shape. The
 * functions have the signatures of TdBackprojectFamily; create takes the family's samples a bin
 * and whether it uses the texture engine too.
 */
TdBackprojector *td_alu_projector_new (TdDevice *device, const TdBackprojectTask *task,
                                       const TdBackprojectVariant *variant, guint max_slices,
                                       guint samples, gboolean hybrid, GError **error);
gboolean td_alu_projector_update (TdBackprojector *projector, const TdBackprojectTask *task,
                                  GError **error);
gboolean td_alu_projector_run (TdBackprojector *projector, TdQueue *queue, TdPlace sinograms,
                               TdPlace slices, guint n_slices, GError **error);
void td_alu_projector_free (TdBackprojector *projector);

/* Slices at once that suit @max_slices in the task's precision. */
guint td_alu_projector_slices (const TdBackprojectTask *task, guint max_slices);
/* The texel of so many slices. */
TdTexel td_alu_projector_texel (guint slices, gboolean half);
guint64 td_alu_projector_bytes (const TdBackprojectTask *task, const TdDeviceInfo *device,
                                guint max_slices, guint samples, gboolean hybrid);
/* NULL, or why the kernels cannot do the task with @samples a bin. */
const char *td_alu_projector_unsupported (const TdBackprojectTask *task, const TdDeviceInfo *device,
                                          guint samples);
/* Rounding of positions, weights, storage and sums in the task's precision; see the source. */
double td_alu_projector_bound (const TdBackprojectTask *task, guint samples);
