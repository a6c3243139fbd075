/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "axis-rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compute/prepare/prepare.h"
#include "dataset/sort.h"

#define ROWS_TRIED 5
/* Neighbouring rows averaged to one, at most: an axis tilted by a degree moves 0.14 columns. */
#define BAND 9
#define SLAB_BYTES (512u << 20)
/* Columns to either side that a stripe is compared with. */
#define STRIPE_REACH 6
/* Of the variance of all samples, to that of neighbours: below, there is no sample. */
#define BLANK_RATIO 1.25

struct TdAxisRows {
  TdDevice *device;
  TdScan *scan;
  TdPreparation *preparation;
  TdQueue *queue;
  guint n_steps;
  guint halo, band, most_rows; /* most_rows: a band with its halo */
  guint first, end, count;
};

/* ── Life ── */

/* The widest odd band that leaves the rows tried apart, on the detector, and fits. */
static guint
choose_band (const TdAxisRows *self)
{
  const TdScanFacts *facts = td_scan_facts (self->scan);
  guint64 row_bytes = (guint64) facts->n_views * facts->n_columns * sizeof (float);
  guint64 room = MIN (SLAB_BYTES, td_device_memory_free (self->device) / 4);
  guint64 fits = room / row_bytes;
  guint band = MIN (BAND, (self->end - self->first) / self->count);

  if (fits < band + 2 * self->halo)
    band = fits > 2 * self->halo ? (guint) (fits - 2 * self->halo) : 1;
  return MAX (1, band - (band % 2 == 0));
}

TdAxisRows *
td_axis_rows_new (TdDevice *device, TdScan *scan, const TdStep *steps, guint n_steps,
                  const TdAxisOptions *options, GError **error)
{
  const TdScanFacts *facts = td_scan_facts (scan);
  g_autoptr (TdAxisRows) self = g_new0 (TdAxisRows, 1);
  guint wanted = options && options->n_rows ? options->n_rows : ROWS_TRIED;

  self->device = td_device_ref (device);
  self->scan = td_scan_ref (scan);
  self->end = facts->n_rows;
  if (options && options->row_end > 0) {
    self->first = options->row_first;
    self->end = options->row_end;
  }
  if (self->first >= self->end || self->end > facts->n_rows) {
    g_set_error (error, TD_ERROR, TD_ERROR_INVALID,
                 "Rows %u:%u are not on the detector, which has rows 0 to %u (--rows)", self->first,
                 self->end, facts->n_rows - 1);
    return NULL;
  }
  self->count = MIN (wanted, self->end - self->first);
  self->halo = td_preparation_halo (steps, n_steps, facts);
  self->band = choose_band (self);
  self->most_rows = MIN (self->band + 2 * self->halo, facts->n_rows);
  self->preparation
      = td_preparation_new (device, scan, NULL, steps, n_steps, self->most_rows, error);
  if (!self->preparation || !(self->queue = td_queue_new (device, error)))
    return NULL;
  return g_steal_pointer (&self);
}

void
td_axis_rows_free (TdAxisRows *self)
{
  if (!self)
    return;
  td_preparation_free (self->preparation);
  td_queue_free (self->queue);
  td_scan_unref (self->scan);
  td_device_unref (self->device);
  g_free (self);
}

guint
td_axis_rows_count (const TdAxisRows *self)
{
  return self->count;
}

guint
td_axis_rows_row (const TdAxisRows *self, guint index)
{
  guint n = self->end - self->first;

  return self->first + (guint) ((2 * (guint64) index + 1) * n / (2 * self->count));
}

/* ── Reading ── */

/* Raw rows to prepared ones, in place; of those, [first, end) come first. */
static gboolean
axis_rows_prepare (TdAxisRows *self, float *rows, guint row0, guint n_rows, guint first, guint end,
                   GCancellable *cancellable, GError **error)
{
  const TdScanFacts *facts = td_scan_facts (self->scan);
  const guint64 row_bytes = (guint64) facts->n_views * facts->n_columns * sizeof (float);
  g_autoptr (TdBuffer) buffer = td_buffer_new (self->device, n_rows * row_bytes, error);
  TdPreparationRows left = { buffer, row0, n_rows };

  if (buffer && td_upload (self->queue, buffer, 0, rows, n_rows * row_bytes, error)
      && td_preparation_run_for (self->preparation, self->queue, &left, first, end - first,
                                 cancellable, error)
      && td_download (self->queue, rows, buffer, (first - left.row0) * row_bytes,
                      (end - first) * row_bytes, error))
    return td_queue_finish (self->queue, error);
  /* What failed comes after copies that may still be on their way out of @rows, which goes now. */
  td_queue_finish (self->queue, NULL);
  return FALSE;
}

float *
td_axis_rows_read (TdAxisRows *self, guint index, GCancellable *cancellable, GError **error)
{
  const TdScanFacts *facts = td_scan_facts (self->scan);
  gsize samples = (gsize) facts->n_views * facts->n_columns;
  guint middle = td_axis_rows_row (self, index), reach = self->band / 2;
  guint first = middle > reach ? middle - reach : 0, end = MIN (middle + reach + 1, facts->n_rows);
  guint row0 = first > self->halo ? first - self->halo : 0;
  guint n_rows = MIN (end + self->halo, facts->n_rows) - row0;
  g_autofree float *rows = g_try_malloc_n (n_rows, samples * sizeof (float));

  if (!rows) {
    g_set_error (error, TD_ERROR, TD_ERROR_DEVICE_MEMORY,
                 "There is no memory for %u rows of %u views", n_rows, facts->n_views);
    return NULL;
  }
  if (!td_scan_read_sinograms (
          self->scan, &(TdFrameRange) { TD_FRAME_PROJECTION, 0, facts->n_views, row0, n_rows },
          rows, cancellable, error)
      || !axis_rows_prepare (self, rows, row0, n_rows, first, end, cancellable, error))
    return NULL;
  float *mean = g_new0 (float, samples);
  for (guint row = 0; row < end - first; row++)
    for (gsize i = 0; i < samples; i++)
      mean[i] += rows[row * samples + i] / (end - first);
  td_axis_destripe (mean, facts->n_views, facts->n_columns);
  return mean;
}

/* ── Stripes and emptiness ── */

/* A median, for it keeps the edges of what turns with the sample but stays at its place. */
static double
axis_rows_median_around (const double *values, guint n, guint at)
{
  double window[2 * STRIPE_REACH + 1];
  guint first = at > STRIPE_REACH ? at - STRIPE_REACH : 0, end = MIN (at + STRIPE_REACH + 1, n);

  memcpy (window, values + first, (end - first) * sizeof *window);
  qsort (window, end - first, sizeof *window, td_compare_doubles);
  return window[(end - first) / 2];
}

void
td_axis_destripe (float *sinogram, guint n_views, guint n_columns)
{
  g_autofree double *mean = g_new0 (double, n_columns);
  g_autofree float *stripe = g_new (float, n_columns);

  for (guint v = 0; v < n_views; v++)
    for (guint u = 0; u < n_columns; u++)
      mean[u] += sinogram[(gsize) v * n_columns + u] / (double) n_views;
  for (guint u = 0; u < n_columns; u++)
    stripe[u] = (float) (mean[u] - axis_rows_median_around (mean, n_columns, u));
  for (guint v = 0; v < n_views; v++)
    for (guint u = 0; u < n_columns; u++)
      sinogram[(gsize) v * n_columns + u] -= stripe[u];
}

gboolean
td_axis_blank (const float *sinogram, guint n_views, guint n_columns)
{
  double all = 0, near = 0;

  for (guint v = 0; v < n_views; v++) {
    const float *row = sinogram + (gsize) v * n_columns;
    double mean = 0;
    for (guint u = 0; u < n_columns; u++)
      mean += row[u] / (double) n_columns;
    for (guint u = 0; u < n_columns; u++) {
      all += (row[u] - mean) * (row[u] - mean);
      near += u ? 0.5 * (row[u] - row[u - 1]) * (row[u] - row[u - 1]) : 0;
    }
  }
  return !(all > BLANK_RATIO * near) || all <= 0;
}
