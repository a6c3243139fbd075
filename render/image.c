/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "image.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Sorting every pixel would cost more than drawing it; this many give quantiles good to 0.4 %. */
#define MAX_SAMPLES 65536
#define HALF_MAX 65000.0f
#define HALF_LEAST_EXPONENT (-24)
#define HALF_STEPS 1024 /* of a contrast: four a shade */

/* Floats by the order of their bits, as whole numbers. */
static inline gint32
image_ordered (float value)
{
  gint32 bits;

  memcpy (&bits, &value, sizeof bits);
  return bits ^ ((bits >> 31) & 0x7fffffff);
}

static float
from_ordered (gint32 key)
{
  float value;

  key ^= (key >> 31) & 0x7fffffff;
  memcpy (&value, &key, sizeof value);
  return value;
}

/* ── Threads ── */

#define PART_PIXELS ((gsize) 1 << 19) /* that are worth a thread */
#define MOST_PARTS 8

/* A part of an image, and what was found in it. */
typedef struct Part Part;
struct Part {
  void (*look) (Part *part);
  const TdImage *image;
  gsize first, end;
  float low, high; /* of the finite values; infinite: there are none */
  guint64 bad;
  float bins_low, bins_scale; /* given */
  guint bins[TD_IMAGE_BINS];
};

static gpointer
image_look_thread (gpointer user)
{
  Part *part = user;

  part->look (part);
  return NULL;
}

/* A part that gets no thread is looked at by this one. */
static void
image_look (Part *parts, guint n_parts, void (*look) (Part *part))
{
  GThread *threads[MOST_PARTS] = { NULL };

  for (guint i = 0; i < n_parts; i++)
    parts[i].look = look;
  for (guint i = 1; i < n_parts; i++)
    threads[i] = g_thread_try_new ("image", image_look_thread, &parts[i], NULL);
  for (guint i = 0; i < n_parts; i++)
    if (!threads[i])
      look (&parts[i]);
  for (guint i = 1; i < n_parts; i++)
    if (threads[i])
      g_thread_join (threads[i]);
}

/* How many there are. */
static guint
image_divide (const TdImage *image, Part *parts)
{
  const gsize n = (gsize) image->width * image->height;
  const gsize most = MIN (g_get_num_processors (), MOST_PARTS);
  const guint n_parts = (guint) CLAMP (n / PART_PIXELS, 1, most);

  for (guint i = 0; i < n_parts; i++) {
    parts[i].image = image;
    parts[i].first = n * i / n_parts;
    parts[i].end = n * (i + 1) / n_parts;
  }
  return n_parts;
}

/* ── What an image holds ── */

/* Pixels side by side, so that the compiler makes vectors of them. */
#define LANES 16
#define BLOCK 256

typedef struct {
  float low[LANES], high[LANES];
  guint bad[LANES];
} Range;

static inline void
range_look (Range *range, const float *pixels, guint n)
{
  for (guint k = 0; k < n; k++) {
    const float v = pixels[k];
    const gboolean good = fabsf (v) <= FLT_MAX;
    const float down = good ? v : INFINITY, up = good ? v : -INFINITY;
    range->low[k] = down < range->low[k] ? down : range->low[k];
    range->high[k] = up > range->high[k] ? up : range->high[k];
    range->bad[k] += !good;
  }
}

static void
part_find_range (Part *part)
{
  const float *pixels = part->image->pixels;
  gsize i = part->first;
  Range range = { 0 };

  for (guint k = 0; k < LANES; k++) {
    range.low[k] = INFINITY;
    range.high[k] = -INFINITY;
  }
  for (; i + LANES <= part->end; i += LANES)
    range_look (&range, pixels + i, LANES);
  range_look (&range, pixels + i, (guint) (part->end - i));
  part->low = INFINITY;
  part->high = -INFINITY;
  part->bad = 0;
  for (guint k = 0; k < LANES; k++) {
    part->low = MIN (part->low, range.low[k]);
    part->high = MAX (part->high, range.high[k]);
    part->bad += range.bad[k];
  }
}

static void
image_find_range (TdImage *image, Part *parts, guint n_parts)
{
  float low = INFINITY, high = -INFINITY;

  image_look (parts, n_parts, part_find_range);
  for (guint i = 0; i < n_parts; i++) {
    low = MIN (low, parts[i].low);
    high = MAX (high, parts[i].high);
    image->n_bad += parts[i].bad;
  }
  const gboolean none = image->n_bad == (guint64) image->width * image->height;
  image->minimum = none ? 0 : low;
  image->maximum = none ? 1 : high;
}

/* By digits of 11 bits: several times as fast as comparing. */
static void
sort_floats (float *values, gsize n)
{
  g_autofree guint32 *keys = g_new (guint32, n + 1), *other = g_new (guint32, n + 1);

  for (gsize i = 0; i < n; i++)
    keys[i] = (guint32) image_ordered (values[i]) ^ 0x80000000u;
  for (guint shift = 0; shift < 33; shift += 11) {
    gsize place[2049] = { 0 };
    for (gsize i = 0; i < n; i++)
      place[(keys[i] >> shift & 2047) + 1]++;
    for (guint digit = 1; digit < 2048; digit++)
      place[digit] += place[digit - 1];
    for (gsize i = 0; i < n; i++)
      other[place[keys[i] >> shift & 2047]++] = keys[i];
    guint32 *sorted = g_steal_pointer (&other);
    other = g_steal_pointer (&keys);
    keys = sorted;
  }
  for (gsize i = 0; i < n; i++)
    values[i] = from_ordered ((gint32) (keys[i] ^ 0x80000000u));
}

static void
find_quantiles (TdImage *image)
{
  gsize n = (gsize) image->width * image->height;
  /* An odd stride that is no multiple of the width does not sample one column only. */
  gsize stride = n / MAX_SAMPLES + 1;
  while (stride > 1 && (image->width % stride == 0 || stride % 2 == 0))
    stride++;
  g_autofree float *samples = g_new (float, n / stride + 1);
  gsize count = 0;

  for (gsize i = 0; i < n; i += stride)
    if (isfinite (image->pixels[i]))
      samples[count++] = image->pixels[i];
  if (count == 0) {
    for (guint q = 0; q < TD_IMAGE_QUANTILES; q++)
      image->quantiles[q] = (float) q / (TD_IMAGE_QUANTILES - 1);
    return;
  }
  sort_floats (samples, count);
  for (guint q = 0; q < TD_IMAGE_QUANTILES; q++)
    image->quantiles[q] = samples[(count - 1) * q / (TD_IMAGE_QUANTILES - 1)];
}

/* The bins of @n pixels; one more is for what is not finite. */
static inline void
part_find_bins (const Part *part, const float *pixels, guint n, gint32 *at)
{
  const float low = part->bins_low, scale = part->bins_scale;

  for (guint k = 0; k < n; k++) {
    const float v = pixels[k];
    float bin = (v - low) * scale;
    bin = bin > 0 ? bin : 0;
    bin = bin < TD_IMAGE_BINS - 1 ? bin : TD_IMAGE_BINS - 1;
    at[k] = fabsf (v) <= FLT_MAX ? (gint32) bin : TD_IMAGE_BINS;
  }
}

static void
part_fill_bins (Part *part)
{
  const float *pixels = part->image->pixels;
  /* Neighbours are alike and would wait for each other's sum in one bin: they count apart. */
  guint counts[4][TD_IMAGE_BINS + 1] = { 0 };
  gint32 at[BLOCK];

  for (gsize i = part->first; i < part->end; i += BLOCK) {
    const guint n = (guint) MIN (BLOCK, part->end - i);
    if (n == BLOCK) /* a count that the compiler knows makes vectors */
      part_find_bins (part, pixels + i, BLOCK, at);
    else
      part_find_bins (part, pixels + i, n, at);
    for (guint k = 0; k < n; k++)
      counts[k % 4][at[k]]++;
  }
  for (guint i = 0; i < TD_IMAGE_BINS; i++)
    part->bins[i] = counts[0][i] + counts[1][i] + counts[2][i] + counts[3][i];
}

static void
image_fill_bins (TdImage *image, Part *parts, guint n_parts)
{
  double low = td_image_quantile (image, 0.005), high = td_image_quantile (image, 0.995);
  double margin = 0.25 * (high - low);

  /* A few hot pixels must not squeeze everything else into one bin. */
  low = MAX (low - margin, image->minimum);
  high = MIN (high + margin, image->maximum);
  if (!(high > low))
    high = low + MAX (fabs (low) * 1e-6, 1e-12);
  image->bins_low = (float) low;
  image->bins_high = (float) high;
  for (guint i = 0; i < n_parts; i++) {
    parts[i].bins_low = (float) low;
    parts[i].bins_scale = (float) (TD_IMAGE_BINS / (high - low));
  }
  image_look (parts, n_parts, part_fill_bins);
  for (guint i = 0; i < n_parts; i++)
    for (guint bin = 0; bin < TD_IMAGE_BINS; bin++)
      image->bins[bin] += parts[i].bins[bin];
}

TdImage *
td_image_new_coarse_take (float *pixels, guint width, guint height, double extent_width,
                          double extent_height)
{
  TdImage *image = g_new0 (TdImage, 1);
  Part parts[MOST_PARTS];

  g_atomic_ref_count_init (&image->references);
  image->pixels = pixels;
  image->width = width;
  image->height = height;
  image->extent_width = extent_width;
  image->extent_height = extent_height;
  const guint n_parts = image_divide (image, parts);
  image_find_range (image, parts, n_parts);
  find_quantiles (image);
  image_fill_bins (image, parts, n_parts);
  return image;
}

TdImage *
td_image_new_take (float *pixels, guint width, guint height)
{
  return td_image_new_coarse_take (pixels, width, height, width, height);
}

TdImage *
td_image_ref (TdImage *image)
{
  g_atomic_ref_count_inc (&image->references);
  return image;
}

void
td_image_unref (TdImage *image)
{
  if (!g_atomic_ref_count_dec (&image->references))
    return;
  g_free (image->pixels);
  g_free (image);
}

double
td_image_quantile (const TdImage *image, double fraction)
{
  double at = CLAMP (fraction, 0, 1) * (TD_IMAGE_QUANTILES - 1);
  guint i = MIN ((guint) at, TD_IMAGE_QUANTILES - 2);

  return image->quantiles[i] + (at - i) * ((double) image->quantiles[i + 1] - image->quantiles[i]);
}

void
td_image_range (const TdImage *image, double fraction, double *low, double *high)
{
  *low = td_image_quantile (image, fraction);
  *high = td_image_quantile (image, 1 - fraction);
  /* Quantiles are of a sample: the ends are of all. */
  if (fraction == 0 || !(*high > *low)) {
    *low = image->minimum;
    *high = image->maximum;
  }
  if (!(*high > *low))
    *high = *low + MAX (fabs (*low) * 1e-3, 1e-6);
}

gboolean
td_image_half_will_do (const TdImage *image)
{
  double low, high;
  int exponent;

  if (fabsf (image->minimum) > HALF_MAX || fabsf (image->maximum) > HALF_MAX)
    return FALSE;
  td_image_range (image, 0.005, &low, &high);
  frexp (fmax (fabs (low), fabs (high)), &exponent);
  /* Eleven digits, of which the first is not stored. */
  const double step = ldexp (1, MAX (exponent - 11, HALF_LEAST_EXPONENT));
  return step * HALF_STEPS <= high - low;
}

gboolean
td_image_value (const TdImage *image, double column, double row, float *value)
{
  double x = (column + 0.5) * image->width / image->extent_width;
  double y = (row + 0.5) * image->height / image->extent_height;

  if (!(x >= 0 && x < image->width && y >= 0 && y < image->height))
    return FALSE;
  *value = image->pixels[(gsize) y * image->width + (gsize) x];
  return TRUE;
}

gboolean
td_image_statistics_of (const float *values, gsize width, gsize height, gsize step,
                        TdImageStatistics *statistics)
{
  TdImageStatistics s = { .minimum = INFINITY, .maximum = -INFINITY };
  double squares = 0;

  for (gsize row = 0; row < height; row++)
    for (gsize column = 0; column < width; column++) {
      const double value = values[row * step + column];
      if (!isfinite (value)) {
        s.n_bad++;
        continue;
      }
      /* Welford: the values of a slice may lie far from 0 and close together. */
      const double away = value - s.mean;
      s.n++;
      s.mean += away / (double) s.n;
      squares += away * (value - s.mean);
      s.minimum = fmin (s.minimum, value);
      s.maximum = fmax (s.maximum, value);
    }
  s.deviation = s.n > 1 ? sqrt (squares / (double) (s.n - 1)) : 0;
  *statistics = s;
  return s.n > 0;
}

gboolean
td_image_statistics (const TdImage *image, double x, double y, double width, double height,
                     TdImageStatistics *statistics)
{
  const double sx = image->width / image->extent_width, sy = image->height / image->extent_height;
  const guint left = (guint) CLAMP (floor (x * sx), 0, image->width);
  const guint top = (guint) CLAMP (floor (y * sy), 0, image->height);
  const guint right = (guint) CLAMP (ceil ((x + width) * sx), left, image->width);
  const guint bottom = (guint) CLAMP (ceil ((y + height) * sy), top, image->height);

  return td_image_statistics_of (image->pixels + (gsize) top * image->width + left, right - left,
                                 bottom - top, image->width, statistics);
}

TdImage *
td_image_difference (const TdImage *a, const TdImage *b)
{
  if (a->width != b->width || a->height != b->height)
    return NULL;
  gsize n = (gsize) a->width * a->height;
  float *pixels = g_new (float, n);
  for (gsize i = 0; i < n; i++)
    pixels[i] = a->pixels[i] - b->pixels[i];
  return td_image_new_coarse_take (pixels, a->width, a->height, a->extent_width, a->extent_height);
}
