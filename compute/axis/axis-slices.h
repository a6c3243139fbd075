/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "axis-methods.h"

/**
 * One sinogram reconstructed about many centres on the input's device. The sinogram is filtered
 * once in the frequency domain and shifted there to each centre without smoothing. Several centres
 * are back-projected at a time as if they were slices.
 */
typedef struct TdAxisSlices TdAxisSlices;

/* @cutoff: of the filter (Hann), 0 … 1. @disc: only pixels no further than that from the axis are
   wanted; 0: all. @input must stay as long. Blocks. */
TdAxisSlices *td_axis_slices_new (const TdAxisInput *input, double cutoff, double disc,
                                  GError **error);
guint td_axis_slices_batch (const TdAxisSlices *slices); /* at most this many at once */
/* From now on slices show only what lies on the detector for all centres from @first_px to
   @last_px. So nothing appears or vanishes from one slice to the next. INFINITY, -INFINITY: each
   slice shows all it has. */
void td_axis_slices_see (TdAxisSlices *slices, double first_px, double last_px);
/* out: [n][side][side], side being the input's columns, n <= batch. Blocks; cancelled between views
 * by the input's cancellable. */
gboolean td_axis_slices_run (TdAxisSlices *slices, const double *centres_px, guint n, float *out,
                             GError **error);
void td_axis_slices_free (TdAxisSlices *slices);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdAxisSlices, td_axis_slices_free)
