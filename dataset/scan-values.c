/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "scan-values.h"

#include <math.h>

#include "scan-private.h"

#define LEAST_COLUMNS 16u
#define MOST_BYTES ((gsize) 64 << 20) /* looked at: opening is quick and small */

/* What the detector's columns see, in the middle view or the middle row. NULL without error: there
   is no memory for it. */
static double *
column_profile (TdScan *scan, GCancellable *cancellable, GError **error)
{
  const TdScanFacts *facts = &scan->facts;
  const gsize width = facts->n_columns;
  const guint all = facts->sinogram_order ? facts->n_views : facts->n_rows;
  const guint n_lines = (guint) CLAMP (MOST_BYTES / (width * sizeof (float)), 1, all);
  g_autofree float *image = g_try_new (float, n_lines *width);
  g_autofree double *sums = g_new0 (double, width);
  g_autofree guint *counts = g_new0 (guint, width);

  if (!image
      || !(facts->sinogram_order
               ? td_scan_read_sinograms (
                   scan, &(TdFrameRange) { TD_FRAME_PROJECTION, 0, n_lines, facts->n_rows / 2, 1 },
                   image, cancellable, error)
               : td_scan_read (scan,
                               &(TdFrameRange) { TD_FRAME_PROJECTION, facts->n_views / 2, 1,
                                                 (all - n_lines) / 2, n_lines },
                               image, cancellable, error)))
    return NULL;
  for (gsize y = 0; y < n_lines; y++)
    for (gsize x = 0; x < width; x++)
      if (isfinite (image[y * width + x])) {
        sums[x] += image[y * width + x];
        counts[x]++;
      }
  for (gsize x = 0; x < width; x++)
    sums[x] = counts[x] ? sums[x] / counts[x] : NAN;
  return g_steal_pointer (&sums);
}

static double
mean_of (const double *profile, gsize n)
{
  double sum = 0;
  guint known = 0;

  for (gsize x = 0; x < n; x++)
    if (isfinite (profile[x])) {
      sum += profile[x];
      known++;
    }
  return known ? sum / known : INFINITY;
}

/* Air is what the detector's sides see, or one of them where it is moved aside: there logarithms
   are near 0, which transmissions are nowhere. */
static gboolean
looks_logged (const double *profile, gsize width)
{
  const gsize side = MAX (width / 16, 1);
  const double air = fmin (mean_of (profile, side), mean_of (profile + width - side, side));
  double low = INFINITY, high = -INFINITY;

  for (gsize x = 0; x < width; x++) {
    low = fmin (low, profile[x]);
    high = fmax (high, profile[x]);
  }
  return high > 0 && fabs (air) < high / 8 && air < low + (high - low) / 4;
}

gboolean
td_scan_take_values (TdScan *scan, TdScanValues stated, GCancellable *cancellable, GError **error)
{
  TdScanFacts *facts = &scan->facts;
  g_autoptr (GError) problem = NULL;

  if (facts->filtered)
    return TRUE;
  if (stated != TD_SCAN_VALUES_FOUND) {
    facts->transmission_logged = stated == TD_SCAN_VALUES_ATTENUATIONS;
    return TRUE;
  }
  if (scan->values_stated || facts->transmission_logged || facts->n_flats > 0
      || facts->n_columns < LEAST_COLUMNS
      || (facts->sample_type != TD_SAMPLE_FLOAT32 && facts->sample_type != TD_SAMPLE_FLOAT64))
    return TRUE;
  g_autofree double *profile = column_profile (scan, cancellable, &problem);
  if (problem) {
    g_propagate_error (error, g_steal_pointer (&problem));
    return FALSE;
  }
  if (!profile)
    return TRUE;
  facts->transmission_logged = looks_logged (profile, facts->n_columns);
  td_scan_note (scan, "There are no flats; the values look like %s ({values} states it otherwise).",
                facts->transmission_logged ? "attenuations: −log was taken already"
                                           : "transmissions");
  return TRUE;
}
