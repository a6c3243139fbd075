/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bad-pixels.h"

#include <math.h>
#include <string.h>

#include "compute/device/host.h"
#include "compute/portion.h"
#include "dataset/sort.h"

#define WINDOW 2        /* pixels to either side that a pixel is compared with */
#define STUCK_FRAMES 5  /* so many equal samples of a pixel are no coincidence */
#define ROUNDING 0.29   /* standard deviation of rounding to whole counts */
#define SAMPLED_ROWS 64 /* enough to know how the detector's pixels spread */
#define PORTION_BYTES (16u << 20)

/* What is looked at of each pixel. */
typedef enum { DARK, RESPONSE, NOISE, N_FEATURES } Feature;

/* Rows [row0, row0 + n_rows) with WINDOW more on either side, clipped to the detector. */
typedef struct {
  guint row0, n_rows, first, end, n_columns;
  gboolean known[N_FEATURES];
  float *feature[N_FEATURES]; /* [first … end)[column] */
} Band;

static void
band_clear (Band *band)
{
  for (guint f = 0; f < N_FEATURES; f++)
    g_free (band->feature[f]);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Band, band_clear)

/* Mean and standard deviation (NULL: not wanted) of each pixel over the frames of a kind. */
static gboolean
read_statistics (TdScan *scan, TdFrameKind kind, const Band *band, float *mean, float *deviation,
                 GCancellable *cancellable, GError **error)
{
  const TdScanFacts *facts = td_scan_facts (scan);
  const guint n_frames = kind == TD_FRAME_DARK ? facts->n_darks : facts->n_flats;
  guint n_rows = band->end - band->first;
  gsize pixels = (gsize) n_rows * band->n_columns;
  guint portion
      = (guint) CLAMP (td_portion (PORTION_BYTES) / (pixels * sizeof (float)), 1, n_frames);
  g_autofree float *samples = g_new (float, pixels *portion);
  g_autofree double *sum = g_new0 (double, pixels), *squares = g_new0 (double, pixels);

  for (guint done = 0; done < n_frames; done += portion) {
    guint n = MIN (portion, n_frames - done);
    if (!td_scan_read (scan, &(TdFrameRange) { kind, done, n, band->first, n_rows }, samples,
                       cancellable, error))
      return FALSE;
    /* Welford's update: the difference of two large sums would drown the variance. */
    for (guint f = 0; f < n; f++)
      for (gsize i = 0; i < pixels; i++) {
        double from = samples[f * pixels + i] - sum[i];
        sum[i] += from / (done + f + 1);
        squares[i] += from * (samples[f * pixels + i] - sum[i]);
      }
  }
  for (gsize i = 0; i < pixels; i++) {
    mean[i] = (float) sum[i];
    if (deviation)
      deviation[i] = n_frames > 1 ? (float) sqrt (squares[i] / (n_frames - 1)) : 0;
  }
  return TRUE;
}

static gboolean
bad_pixels_read_band (TdScan *scan, Band *band, guint row0, guint n_rows, GCancellable *cancellable,
                      GError **error)
{
  const TdScanFacts *facts = td_scan_facts (scan);

  band->row0 = row0;
  band->n_rows = n_rows;
  band->first = row0 - MIN (row0, WINDOW);
  band->end = MIN (row0 + n_rows + WINDOW, facts->n_rows);
  band->n_columns = facts->n_columns;
  gsize pixels = (gsize) (band->end - band->first) * band->n_columns;
  for (guint f = 0; f < N_FEATURES; f++)
    band->feature[f] = g_new0 (float, pixels);
  band->known[DARK] = facts->n_darks > 0;
  band->known[RESPONSE] = facts->n_flats > 0;
  band->known[NOISE] = facts->n_flats >= STUCK_FRAMES;
  if (band->known[DARK]
      && !read_statistics (scan, TD_FRAME_DARK, band, band->feature[DARK], NULL, cancellable,
                           error))
    return FALSE;
  if (band->known[RESPONSE]
      && !read_statistics (scan, TD_FRAME_FLAT, band, band->feature[RESPONSE], band->feature[NOISE],
                           cancellable, error))
    return FALSE;
  for (gsize i = 0; i < pixels; i++)
    band->feature[RESPONSE][i] -= band->feature[DARK][i];
  return TRUE;
}

static double
bad_pixels_median_around (const Band *band, const float *feature, guint row, guint column)
{
  float values[(2 * WINDOW + 1) * (2 * WINDOW + 1)];
  guint left = column - MIN (column, WINDOW), right = MIN (column + WINDOW + 1, band->n_columns);
  guint top = MAX (row - MIN (row, WINDOW), band->first),
        bottom = MIN (row + WINDOW + 1, band->end);
  gsize n = 0;

  for (guint y = top; y < bottom; y++)
    for (guint x = left; x < right; x++)
      values[n++] = feature[(gsize) (y - band->first) * band->n_columns + x];
  return td_median (values, n);
}

/* How far the pixels of a band lie from their neighbourhood, [feature][row][column]. */
typedef struct {
  const Band *band;
  float *away;
} Residuals;

static void
residuals_of_row (guint index, gpointer user)
{
  const Residuals *residuals = user;
  const Band *band = residuals->band;
  guint row = band->row0 + index;

  for (guint f = 0; f < N_FEATURES; f++)
    for (guint column = 0; column < band->n_columns && band->known[f]; column++)
      residuals->away[((gsize) f * band->n_rows + index) * band->n_columns + column]
          = (float) (band->feature[f][(gsize) (row - band->first) * band->n_columns + column]
                     - bad_pixels_median_around (band, band->feature[f], row, column));
}

static float *
measure_residuals (const Band *band)
{
  Residuals residuals
      = { band, g_new0 (float, N_FEATURES *(gsize) band->n_rows * band->n_columns) };

  td_parallel_for (band->n_rows, residuals_of_row, &residuals);
  return residuals.away;
}

/* Standard deviation from absolute deviations, by their median; by their mean where more than half
   are 0, as those of an ideal camera are. */
static double
bad_pixels_spread_of (float *away, gsize n)
{
  double spread = 1.4826 * td_median (away, n), sum = 0;

  for (gsize i = 0; i < n; i++)
    sum += isfinite (away[i]) ? away[i] : 0;
  return spread > 0 ? spread : 1.2533 * sum / n;
}

/* The spread of each feature's residuals, from rows all over the detector. */
static gboolean
measure_spread (TdScan *scan, double spread[N_FEATURES], GCancellable *cancellable, GError **error)
{
  const TdScanFacts *facts = td_scan_facts (scan);
  guint n_rows = MIN (SAMPLED_ROWS, facts->n_rows);
  gsize n = (gsize) n_rows * facts->n_columns;
  g_autofree float *away = g_new (float, N_FEATURES *n);

  for (guint i = 0; i < n_rows; i++) {
    g_auto (Band) band = { 0 };
    guint row = (guint) (((guint64) 2 * i + 1) * facts->n_rows / (2 * n_rows));
    if (!bad_pixels_read_band (scan, &band, row, 1, cancellable, error))
      return FALSE;
    g_autofree float *residuals = measure_residuals (&band);
    for (guint f = 0; f < N_FEATURES; f++)
      for (guint column = 0; column < facts->n_columns; column++)
        away[f * n + (gsize) i * facts->n_columns + column]
            = fabsf (residuals[(gsize) f * facts->n_columns + column]);
  }
  for (guint f = 0; f < N_FEATURES; f++)
    spread[f] = bad_pixels_spread_of (away + f * n, n);
  if (facts->sample_type != TD_SAMPLE_FLOAT32 && facts->sample_type != TD_SAMPLE_FLOAT64)
    for (guint f = DARK; f <= RESPONSE; f++)
      spread[f] = MAX (spread[f], ROUNDING);
  return TRUE;
}

static gboolean
bad_pixels_is_bad (const Band *band, const float *residuals, const double spread[N_FEATURES],
                   gsize index, gsize pixel, double deviations)
{
  gsize n = (gsize) band->n_rows * band->n_columns;

  for (guint f = 0; f < N_FEATURES; f++) {
    double away = residuals[f * n + index];
    if (band->known[f] && (!isfinite (away) || fabs (away) > deviations * spread[f]))
      return TRUE;
  }
  return band->known[NOISE] && band->feature[NOISE][pixel] == 0 && spread[NOISE] > 0;
}

static gboolean
bad_pixels_find (TdScan *scan, double deviations, guint8 *mask, GCancellable *cancellable,
                 GError **error)
{
  const TdScanFacts *facts = td_scan_facts (scan);
  guint portion
      = (guint) CLAMP (td_portion (PORTION_BYTES) / (16u * facts->n_columns), 1, facts->n_rows);
  double spread[N_FEATURES];

  if (!measure_spread (scan, spread, cancellable, error))
    return FALSE;
  for (guint row0 = 0; row0 < facts->n_rows; row0 += portion) {
    g_auto (Band) band = { 0 };
    if (!bad_pixels_read_band (scan, &band, row0, MIN (portion, facts->n_rows - row0), cancellable,
                               error))
      return FALSE;
    g_autofree float *residuals = measure_residuals (&band);
    gsize skipped = (gsize) (row0 - band.first) * band.n_columns;
    for (gsize i = 0; i < (gsize) band.n_rows * band.n_columns; i++)
      if (bad_pixels_is_bad (&band, residuals, spread, i, skipped + i, deviations))
        mask[(gsize) row0 * band.n_columns + i] = 1;
  }
  return TRUE;
}

guint64
td_bad_pixels_host_bytes (const TdScanFacts *facts)
{
  guint64 band = MIN (td_portion (PORTION_BYTES) / 16, (guint64) facts->n_rows * facts->n_columns)
                 + (2 * WINDOW + 1) * (guint64) facts->n_columns;
  guint64 sampled = (guint64) SAMPLED_ROWS * facts->n_columns;

  return (guint64) facts->n_rows * facts->n_columns + td_portion (PORTION_BYTES)
         + band * (2 * N_FEATURES * sizeof (float) + 2 * sizeof (double) + sizeof (float))
         + sampled * N_FEATURES * sizeof (float);
}

static GBytes *
make_mask (TdFlats *flats, gconstpointer user, GCancellable *cancellable, GError **error)
{
  TdScan *scan = td_flats_scan (flats);
  const TdScanFacts *facts = td_scan_facts (scan);
  gsize pixels = (gsize) facts->n_rows * facts->n_columns;
  double deviations = *(const double *) user;
  g_autofree guint8 *mask = g_new0 (guint8, pixels);

  if (facts->bad_pixels)
    memcpy (mask, facts->bad_pixels, pixels);
  if (deviations > 0 && !bad_pixels_find (scan, deviations, mask, cancellable, error))
    return NULL;
  return g_bytes_new_take (g_steal_pointer (&mask), pixels);
}

GBytes *
td_bad_pixels_mask (TdFlats *flats, double deviations, GCancellable *cancellable, GError **error)
{
  g_autofree char *key = g_strdup_printf ("bad pixels %.17g", deviations);

  return td_flats_once (flats, key, make_mask, &deviations, cancellable, error);
}

/* ── Replacing ── */

/* The nearest good pixel in a direction, at most @steps away; its distance, 0: none. */
static guint
nearest_good (const guint8 *mask, gsize at, gssize step, guint steps)
{
  for (guint away = 1; away <= steps; away++)
    if (!mask[(gssize) at + step * (gssize) away])
      return away;
  return 0;
}

/* @rows: the mask of the slab's rows. */
static gboolean
fill_entry (const guint8 *rows, guint n_columns, guint n_rows, guint row, guint column, guint reach,
            TdBadPixel *entry)
{
  const gssize step[4] = { -1, 1, -(gssize) n_columns, n_columns };
  const guint most[4]
      = { column, n_columns - 1 - column, MIN (reach, row), MIN (reach, n_rows - 1 - row) };
  gsize at = (gsize) row * n_columns + column;
  double weight[4], sum = 0;

  entry->pixel = (gint32) at;
  for (guint i = 0; i < 4; i++) {
    guint away = nearest_good (rows, at, step[i], most[i]);
    entry->source[i] = away ? (gint32) ((gssize) at + step[i] * (gssize) away) : -1;
    weight[i] = away ? 1.0 / ((double) away * away) : 0;
    sum += weight[i];
  }
  for (guint i = 0; i < 4; i++)
    entry->weight[i] = sum > 0 ? (float) (weight[i] / sum) : 0;
  return sum > 0;
}

GArray *
td_bad_pixels_list (const guint8 *mask, guint n_columns, guint row0, guint n_rows, guint reach)
{
  GArray *list = g_array_new (FALSE, FALSE, sizeof (TdBadPixel));
  const guint8 *rows = mask + (gsize) row0 * n_columns;
  TdBadPixel entry;

  for (guint row = 0; row < n_rows; row++)
    for (guint column = 0; column < n_columns; column++)
      if (rows[(gsize) row * n_columns + column]
          && fill_entry (rows, n_columns, n_rows, row, column, reach, &entry))
        g_array_append_val (list, entry);
  return list;
}

gssize
td_bad_pixels_alone (const TdScanFacts *facts, const guint8 *mask, guint row0, guint n_rows,
                     guint reach)
{
  const gsize first = (gsize) row0 * facts->n_columns;
  const gsize end = first + (gsize) n_rows * facts->n_columns;
  TdBadPixel entry;

  for (gsize at = first; facts->bad_pixels && at < end; at++)
    if (facts->bad_pixels[at]
        && !fill_entry (mask, facts->n_columns, facts->n_rows, (guint) (at / facts->n_columns),
                        (guint) (at % facts->n_columns), reach, &entry))
      return (gssize) at;
  return -1;
}

/* A pixel that borrows from one whose flat says nothing knows nothing either. */
void
td_bad_pixels_mend_beam (const GArray *list, TdFlatBeam *beam)
{
  gsize pixels = (gsize) beam->n_rows * beam->n_columns;

  for (guint i = 0; i < list->len; i++) {
    const TdBadPixel *bad = &g_array_index (list, TdBadPixel, i);
    gboolean sound = TRUE;
    double dark = 0;
    for (guint s = 0; s < 4; s++)
      if (bad->source[s] >= 0) {
        dark += (double) bad->weight[s] * beam->dark[bad->source[s]];
        sound = sound && beam->beam[bad->source[s]] > 0;
      }
    beam->dark[bad->pixel] = (float) dark;
    for (guint g = 0; g < beam->n_groups; g++) {
      double above = 0;
      for (guint s = 0; s < 4 && sound; s++)
        if (bad->source[s] >= 0)
          above += (double) bad->weight[s] * beam->beam[g * pixels + bad->source[s]];
      beam->beam[g * pixels + bad->pixel] = (float) above;
    }
  }
}
