/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <adwaita.h>

#include "compute/engine/engine.h"

/**
 * TdAxisStrip: one row reconstructed about several centres, side by side, above the curve of their
 * sharpness. A click takes a centre. Fine steps show a part of the slice with many edges, wide ones
 * all of it; all have the same contrast.
 *
 * Signals: "taken" (double centre_px), at the detector's middle row; "closed" ().
 */
#define TD_TYPE_AXIS_STRIP (td_axis_strip_get_type ())
G_DECLARE_FINAL_TYPE (TdAxisStrip, td_axis_strip, TD, AXIS_STRIP, AdwBin)

#define TD_AXIS_STRIP_TRIALS 9

/* Trials from the one to the other of @span_px, centres at the middle row; made of @row. */
void td_axis_strip_request (TdAxisStrip *self, TdEngine *engine, TdScan *scan,
                            const TdRecipe *recipe, guint row, const double span_px[2]);
void td_axis_strip_clear (TdAxisStrip *self);
/* What is set now is marked among the trials. */
void td_axis_strip_set_centre (TdAxisStrip *self, double centre_px);
