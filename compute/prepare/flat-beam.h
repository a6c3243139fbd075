/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "flats.h"
#include "step.h"

/**
 * TdFlatBeam: what the flat field divides by, for some rows, on the host. The transmission of view
 * v at a pixel is
 *
 *     (I - dark) / (a + w (b - a))
 *
 * Here a and b are the beams of the groups of flats before and after the view. w is the view's
 * place between them.
 */
typedef struct {
  guint n_groups, n_rows, n_columns;
  float *beam; /* [group][row][column], above the dark; 0 in all groups: the pixel knows nothing */
  float *dark; /* [row][column] */
  float *places; /* [view][2]: group a and w (td_flats_places()) */
} TdFlatBeam;

/* How the step "flat-field" averages flats. */
TdFlatsHow td_flat_field_how (const TdStep *step);
TdFlatsBy td_flat_field_by (const TdStep *step);
/* The step has neither flats nor a stated beam to divide by. */
gboolean td_flat_field_lacks (const TdStep *step, const TdScanFacts *facts);
/* @step: a "flat-field". Blocks on the disk. Cleared with td_flat_beam_clear(), which takes a
   zeroed one too. */
gboolean td_flat_beam_read (TdFlatBeam *beam, TdFlats *flats, const TdStep *step, guint row0,
                            guint n_rows, GCancellable *cancellable, GError **error);
void td_flat_beam_clear (TdFlatBeam *beam);
