/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "scan.h"

/**
 * What the samples of @scan are: as the user states it; else as the file does; else, without flats,
 * as they look. A note says what was taken and why. For td_scan_open().
 *
 * Some views (of sinograms: some rows) are averaged over rows and views. `low` and `high` are the
 * means of the outer sixteenths of this profile over the columns. `peak` and `floor` are its
 * largest and smallest column, smoothed. `nil` is the share of samples at or below 0 in the lower
 * side. In this order:
 *
 * 1. peak ≤ 0, or high ≤ peak / 2: attenuations. Both sides see air, where logarithms are near 0 in
 *    any unit, and transmissions are highest.
 * 2. nil ≥ 1/10 and low ≤ peak / 4: attenuations. One side sees air (half acquisition, an object
 * that touches the edge), with values that no transmission has.
 * 3. peak ≤ 1.25, and 0.8 ≤ high, within 5 % of peak: transmissions. At least one side sees air,
 *    which lets everything through.
 * 4. low ≥ 0.7 peak and floor ≤ 0.75 low: intensities. An object fills the field, or the values are
 *    counts; the sides are brighter than some column between them.
 * 5. Anything else is refused, and the user states it.
 *
 * Floats may have been scaled since a description stated their open beam. Where peak is below a
 * hundredth of it (TdScanFacts.white_level), it is left out with a note.
 *
 * Integers are counts, and never attenuations unless they are below 0 in air: a camera's corners
 * may be dark too. Without flats the step flat-field refuses counts, of integers and, by
 * TdScanFacts.brightest, of floats.
 */
gboolean td_scan_take_values (TdScan *scan, TdScanValues stated, GCancellable *cancellable,
                              GError **error);
