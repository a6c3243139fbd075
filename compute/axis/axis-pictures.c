/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "axis.h"

#include "axis-methods.h"
#include "axis-rows.h"
#include "axis-slices.h"

float *
td_axis_trial_slices (TdDevice *device, TdScan *scan, const TdStep *steps, guint n_steps, guint row,
                      const double *centres_px, guint n, guint *side, GCancellable *cancellable,
                      GError **error)
{
  const TdScanFacts *facts = td_scan_facts (scan);
  const TdAxisOptions options = { .row_first = row, .row_end = row + 1, .n_rows = 1 };
  g_autoptr (TdAxisRows) rows = td_axis_rows_new (device, scan, steps, n_steps, &options, error);
  g_autofree float *sinogram = rows ? td_axis_rows_read (rows, 0, cancellable, error) : NULL;

  if (!sinogram)
    return NULL;
  const TdAxisInput input = {
    .sinogram = sinogram,
    .n_views = facts->n_views,
    .n_columns = facts->n_columns,
    .angles_rad = facts->angles_rad,
    .row = row,
    .device = device,
    .cancellable = cancellable,
  };
  g_autoptr (TdAxisSlices) slices = td_axis_slices_new (&input, 1, 0, error);
  if (!slices)
    return NULL;
  *side = td_axis_slices_side (slices);
  gsize pixels = (gsize) *side * *side;
  guint batch = td_axis_slices_batch (slices);
  g_autofree float *out = g_try_malloc_n (n, pixels * sizeof (float));
  if (!out) {
    g_set_error (error, TD_ERROR, TD_ERROR_DEVICE_MEMORY, "There is no memory for %u trial slices",
                 n);
    return NULL;
  }
  for (guint first = 0; first < n; first += batch)
    if (!td_axis_slices_run (slices, centres_px + first, MIN (batch, n - first),
                             out + first * pixels, error))
      return NULL;
  return g_steal_pointer (&out);
}
