/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "flats.h"
#include "step.h"

/**
 * The dose of each frame: the transmission where no sample is, which a steady beam leaves at 1. The
 * scan itself gives it, from the same pixels for every slab and device, whatever part of the
 * detector is cropped.
 *
 * A view's dose is the mean transmission over its air pixels. Pixels further than TD_DOSE_CLIP
 * robust standard deviations from their median are left out; such a deviation is 1.4826 times the
 * median absolute deviation. A dose that is not above 0 becomes 1.
 *
 * At the borders, the sample or its holder may shadow air pixels. Left out are first a row's first
 * or last columns, then a column of all rows. They are left out if their mean is below TD_DOSE_AIR
 * of the brightest one's in any of the TD_DOSE_PARTS parts of the scan.
 *
 * By the monitor, a view's dose is its count divided by that of the flats, which is averaged and
 * interpolated as the flats are. Without flats the views' mean divides it.
 */
#define TD_DOSE_CLIP 4.0
#define TD_DOSE_AIR 0.9
#define TD_DOSE_PARTS 16
#define TD_DOSE_MAX_COLUMNS 256

typedef struct {
  gboolean monitor; /* the scan's monitor tells it, and no pixel */
  gboolean borders;
  guint columns;             /* borders: of each strip; the rows are spread over the detector */
  guint x, y, width, height; /* else: the air region, in the scan as opened */
  TdStep flat_field;         /* disabled: the values are transmissions already */
} TdDoseSpec;

/* Whether a region lies on the detector that @facts tell of. */
gboolean td_dose_spec_check (const TdDoseSpec *spec, const TdScanFacts *facts, GError **error);

/* The step "dose" takes a region of the detector, whose place only that detector knows. */
gboolean td_dose_is_of_region (const TdStep *step);
/* Whether its region lies on the detector, as it was measured. */
gboolean td_dose_check_region (const TdStep *step, const TdScanFacts *facts, GError **error);

guint64 td_dose_host_bytes (const TdScanFacts *facts);

/* The step takes what the scan's monitor counted. */
gboolean td_dose_is_of_monitor (const TdStep *step);

/* float[n_views]. Reads the first time. (transfer full) */
GBytes *td_dose_of_views (TdFlats *flats, const TdDoseSpec *spec, GCancellable *cancellable,
                          GError **error);
