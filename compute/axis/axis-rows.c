/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "axis-rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compute/device/host.h"
#include "dataset/sort.h"

#define ROWS_TRIED 5
/* At most so many neighbouring rows are averaged: over them an axis tilted by one degree moves by
   0.14 columns. */
#define BAND 9
#define SLAB_BYTES (512u << 20)
/* A stripe is compared with so many columns on either side. */
#define STRIPE_REACH 6
/* Below this ratio of the variance of all samples to that of neighbours, a row has no sample. */
#define BLANK_RATIO 1.25

struct TdAxisRows {
  TdScan *scan;
  TdPreparedRows *source; /* NULL: all bands have been read */
  guint band;             /* rows */
  TdRowRange tried;       /* the bands' middles lie here */
  guint count;
};

/* ── Life ── */

/* The widest odd band that fits the memory and keeps the bands apart. */
static guint
choose_band (const TdRowSource *source, TdRowRange tried, guint count)
{
  const TdScanFacts *facts = td_scan_facts (source->scan);
  const guint halo = td_preparation_halo (source->steps, source->n_steps, facts);
  guint64 row_bytes = (guint64) facts->n_views * facts->n_columns * sizeof (float);
  guint64 room = MIN (SLAB_BYTES, td_device_memory_free (source->device) / 4);
  guint64 fits = room / row_bytes;
  guint band = MIN (BAND, tried.count / count);

  if (fits < band + 2 * halo)
    band = fits > 2 * halo ? (guint) (fits - 2 * halo) : 1;
  return MAX (1, band - (band % 2 == 0));
}

TdAxisRows *
td_axis_rows_new (const TdRowSource *source, const TdAxisOptions *options, GError **error)
{
  const TdScanFacts *facts = td_scan_facts (source->scan);
  g_autoptr (TdAxisRows) self = g_new0 (TdAxisRows, 1);
  guint wanted = options && options->n_rows ? options->n_rows : ROWS_TRIED;
  guint first = 0, end = facts->n_rows;

  if (options && options->row_end > 0) {
    first = options->row_first;
    end = options->row_end;
  }
  if (first >= end || end > facts->n_rows) {
    td_set_error (error, TD_ERROR_INVALID,
                  "Rows %u:%u are not on the detector, which has rows 0 to %u ({rows})", first, end,
                  facts->n_rows - 1);
    return NULL;
  }
  self->scan = td_scan_ref (source->scan);
  self->tried = (TdRowRange) { first, end - first };
  self->count = MIN (wanted, self->tried.count);
  self->band = choose_band (source, self->tried, self->count);
  const guint halo = td_preparation_halo (source->steps, source->n_steps, facts);
  self->source
      = td_prepared_rows_new (source, NULL, MIN (self->band + 2 * halo, facts->n_rows), 0, error);
  return self->source ? g_steal_pointer (&self) : NULL;
}

void
td_axis_rows_end (TdAxisRows *self)
{
  g_clear_pointer (&self->source, td_prepared_rows_free);
}

void
td_axis_rows_free (TdAxisRows *self)
{
  if (!self)
    return;
  td_axis_rows_end (self);
  td_scan_unref (self->scan);
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
  const guint64 n = self->tried.count;

  return self->tried.first + (guint) ((2 * (guint64) index + 1) * n / (2 * self->count));
}

float *
td_axis_rows_read (TdAxisRows *self, guint index, GCancellable *cancellable, GError **error)
{
  const TdScanFacts *facts = td_scan_facts (self->scan);
  const gsize samples = (gsize) facts->n_views * facts->n_columns;
  const TdRowRange middle = { td_axis_rows_row (self, index), 1 };
  const TdRowRange band = td_row_range_with_halo (middle, self->band / 2, facts->n_rows);
  const float *rows = td_prepared_rows_make (self->source, band, cancellable, error);

  if (!rows)
    return NULL;
  float *mean = td_host_malloc (samples * sizeof *mean, error);
  if (!mean)
    return NULL;
  memset (mean, 0, samples * sizeof *mean);
  for (guint row = 0; row < band.count; row++)
    for (gsize i = 0; i < samples; i++)
      mean[i] += rows[row * samples + i] / band.count;
  return mean;
}

/* ── Stripes, and rows without a sample ── */

/* The median keeps edges of the sample that stay at one column. */
static double
axis_rows_median_around (const double *values, guint n, guint at)
{
  double nearby[2 * STRIPE_REACH + 1];
  guint first = at > STRIPE_REACH ? at - STRIPE_REACH : 0, end = MIN (at + STRIPE_REACH + 1, n);

  memcpy (nearby, values + first, (end - first) * sizeof *nearby);
  qsort (nearby, end - first, sizeof *nearby, td_compare_doubles);
  return nearby[(end - first) / 2];
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
