/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "axis-rows.h"

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
  if (first >= end || end > facts->n_rows)
    return td_set_error_null (error, TD_ERROR_INVALID,
                              "Rows %u:%u are not on the detector, which has rows 0 to %u ({rows})",
                              first, end, facts->n_rows - 1);
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

#define PIECE (1u << 16) /* samples that are averaged together */

typedef struct {
  const float *rows; /* [n_rows][samples] */
  guint n_rows;
  gsize samples;
  float *mean;
} Band;

static void
axis_rows_average (guint index, gpointer user)
{
  const Band *band = user;
  const gsize first = (gsize) index * PIECE, end = MIN (first + PIECE, band->samples);

  memset (band->mean + first, 0, (end - first) * sizeof *band->mean);
  for (guint row = 0; row < band->n_rows; row++)
    for (gsize i = first; i < end; i++)
      band->mean[i] += band->rows[row * band->samples + i] / band->n_rows;
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
  Band all = { rows, band.count, samples, td_host_malloc (samples * sizeof (float), error) };
  if (all.mean)
    td_parallel_for ((guint) ((samples + PIECE - 1) / PIECE), axis_rows_average, &all);
  return all.mean;
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

#define STRIP 64 /* columns that are summed together */

typedef struct {
  float *sinogram;
  guint n_views, n_columns;
  double *means; /* of the columns */
} Stripes;

static void
axis_rows_find_means (guint index, gpointer user)
{
  const Stripes *all = user;
  const guint first = index * STRIP, end = MIN (first + STRIP, all->n_columns);

  for (guint v = 0; v < all->n_views; v++)
    for (guint u = first; u < end; u++)
      all->means[u] += all->sinogram[(gsize) v * all->n_columns + u] / (double) all->n_views;
}

static void
axis_rows_take_stripes (guint index, gpointer user)
{
  const Stripes *all = user;
  const guint first = index * STRIP, end = MIN (first + STRIP, all->n_columns);
  float stripes[STRIP];

  for (guint u = first; u < end; u++)
    stripes[u - first]
        = (float) (all->means[u] - axis_rows_median_around (all->means, all->n_columns, u));
  for (guint v = 0; v < all->n_views; v++)
    for (guint u = first; u < end; u++)
      all->sinogram[(gsize) v * all->n_columns + u] -= stripes[u - first];
}

void
td_axis_destripe (float *sinogram, guint n_views, guint n_columns)
{
  g_autofree double *means = g_new0 (double, n_columns);
  Stripes all = { sinogram, n_views, n_columns, means };
  const guint strips = (n_columns + STRIP - 1) / STRIP;

  td_parallel_for (strips, axis_rows_find_means, &all);
  td_parallel_for (strips, axis_rows_take_stripes, &all);
}

typedef struct {
  const float *sinogram;
  guint n_columns;
  double *all, *near; /* of the views: variances of their samples, and of neighbours */
} Variances;

static void
axis_rows_vary (guint view, gpointer user)
{
  const Variances *sums = user;
  const float *row = sums->sinogram + (gsize) view * sums->n_columns;
  double mean = 0, all = 0, near = 0;

  for (guint u = 0; u < sums->n_columns; u++)
    mean += row[u] / (double) sums->n_columns;
  for (guint u = 0; u < sums->n_columns; u++) {
    all += (row[u] - mean) * (row[u] - mean);
    near += u ? 0.5 * (row[u] - row[u - 1]) * (row[u] - row[u - 1]) : 0;
  }
  sums->all[view] = all;
  sums->near[view] = near;
}

gboolean
td_axis_blank (const float *sinogram, guint n_views, guint n_columns)
{
  g_autofree double *memory = g_new (double, 2 * (gsize) n_views);
  Variances sums = { sinogram, n_columns, memory, memory + n_views };
  double all = 0, near = 0;

  td_parallel_for (n_views, axis_rows_vary, &sums);
  for (guint v = 0; v < n_views; v++) {
    all += sums.all[v];
    near += sums.near[v];
  }
  return !(all > BLANK_RATIO * near) || all <= 0;
}
