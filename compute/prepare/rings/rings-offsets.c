/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "rings-offsets.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dataset/sort.h"
#include "rings-edges.h"

#define CONSISTENCY 2.0 /* a stripe is that many times what the parts of the turn differ by */
#define BESIDE 4        /* columns next to one that stands out count along */
#define LEAST 2e-4      /* in -log; less is what a camera's whole counts make, and harms nobody */
#define BLOCK 16        /* columns that are judged together, */
#define AROUND 32       /* by those so far from their middle */
#define GENERAL                                                                                    \
  2.0 /* columns in general have offsets if they differ by so many times the noise                 \
       */
#define NOISE_SHARE 0.1 /* of a median's variance that no offset can explain */
#define LEAST_REACH 3.0
#define REWEIGHTINGS 3
#define SOFTEST 0.005
#define STIFFEST 10.0
#define NEAR 6 /* dead columns are compared with those from NEAR to FAR away */
#define FAR 9
#define LEAST_NEAR 2
#define STANDS_STILL 1.5      /* times the most that the object does around */
#define LEAST_ROUGHNESS 0.003 /* in -log: pixels that flicker less do no harm */
#define LEAST_FAILURE 0.5     /* in -log: objects' edges differ less from part to part */
#define FAILURE 0.5           /* of a narrow row's tallest, that they differ by less */
#define MIRRORED 3            /* columns on either side that are compared with their mirror image */
#define BY_CHANCE 2.0         /* times as large is what is alike, of so few offsets */
#define TURNS_BACK 0.25   /* of a stripe's second difference, that one close by has the other way */
#define MEDIANS 1.2533    /* times the mean's standard error, of a normal distribution's */
#define NOISE_APART 2.6   /* standard errors of a part of the turn; it seldom differs by more */
#define SURE 6.0          /* standard errors that noise alone makes in none of many rows */
#define TURNED 1.4        /* times as much as independent values differ from their neighbours */
#define LEAST_SHARE 0.001 /* of views that count; fewer make no difference */
#define QUIETEST 0.2      /* of the columns have noise and little else */

/* hypot() guards against figures that do not occur here, and takes long. */
static double
length_of (double a, double b)
{
  return sqrt (a * a + b * b);
}

/* Of L in its row @c, beside the column itself. */
static double
rings_offsets_middle (guint c, guint n)
{
  return (c > 0) + (c + 1 < n);
}

/* L' W L and the stiffness, a symmetric matrix of five diagonals, as L D L'. */
void
td_rings_factor (const double *weights, const double *stiffness, guint n, double *factors)
{
  double *main = factors, *firsts = factors + n, *seconds = factors + 2 * (gsize) n;

  for (guint c = 0; c < n; c++) {
    const double middle = rings_offsets_middle (c, n);
    double sum = stiffness[c];
    sum += c > 0 ? weights[c - 1] : 0;
    sum += weights[c] * middle * middle;
    main[c] = sum + (c + 1 < n ? weights[c + 1] : 0);
    firsts[c]
        = c + 1 < n ? -weights[c] * middle - weights[c + 1] * rings_offsets_middle (c + 1, n) : 0;
    seconds[c] = c + 2 < n ? weights[c + 1] : 0;
  }
  for (guint i = 0; i < n; i++) {
    const double first = firsts[i] / main[i], second = seconds[i] / main[i];
    if (i + 1 < n)
      main[i + 1] -= first * firsts[i];
    if (i + 2 < n) {
      firsts[i + 1] -= first * seconds[i];
      main[i + 2] -= second * seconds[i];
    }
    firsts[i] = first;
    seconds[i] = second;
  }
}

void
td_rings_solve_by (const double *factors, const double *values, const double *weights, guint n,
                   double *q)
{
  const double *main = factors, *firsts = factors + n, *seconds = factors + 2 * (gsize) n;

  /* What each column waits for is kept at hand. */
  double last = 0, own = n > 0 ? weights[0] * values[0] : 0, near = 0, far = 0;
  for (guint c = 0; c < n; c++) {
    const double next = c + 1 < n ? weights[c + 1] * values[c + 1] : 0;
    double value = rings_offsets_middle (c, n) * own - last - next;
    value -= c > 1 ? seconds[c - 2] * far : 0;
    value -= c > 0 ? firsts[c - 1] * near : 0;
    q[c] = value;
    far = near;
    near = value;
    last = own;
    own = next;
  }
  near = far = 0;
  for (guint c = n; c-- > 0;) {
    const double value = q[c] / main[c] - seconds[c] * far - firsts[c] * near;
    q[c] = value;
    far = near;
    near = value;
  }
}

void
td_rings_solve (const double *values, const double *weights, const double *stiffness, guint n,
                double *q)
{
  g_autofree double *factors = g_new (double, 3 * (gsize) n);

  td_rings_factor (weights, stiffness, n, factors);
  td_rings_solve_by (factors, values, weights, n, q);
}

/* How narrow a row is, from 0 in TD_RINGS_NARROW columns and more to 1 in half of them. */
static double
rings_offsets_narrow (guint n)
{
  return CLAMP ((double) TD_RINGS_NARROW / n - 1, 0, 1);
}

/* ── Dead columns ── */

/* The least and the most of @profile a little away from @column, on both sides; near an end, there.
   Narrow rows have other things as far away as wide ones have. */
static void
range_around (const float *profile, guint n, guint column, double *low, double *high)
{
  const guint near = CLAMP (n * NEAR / TD_RINGS_NARROW, LEAST_NEAR, NEAR), far = near + FAR - NEAR;

  *low = INFINITY;
  *high = 0;
  for (guint away = near; away <= far; away++) {
    if (column >= away) {
      *low = MIN (*low, profile[column - away]);
      *high = MAX (*high, profile[column - away]);
    }
    if (column + away < n) {
      *low = MIN (*low, profile[column + away]);
      *high = MAX (*high, profile[column + away]);
    }
  }
  if (column < near || column + near >= n) {
    const float end = profile[column < near ? 0 : n - 1];
    *low = MIN (*low, end);
    *high = MAX (*high, end);
  }
}

/* Smooth along the angle, as what does not answer is; so are round edges about the axis, and air.
 */
static gboolean
is_smooth (const TdRingsColumns *columns, guint c, double factor)
{
  double low, high;

  range_around (columns->roughness, columns->n_columns, c, &low, &high);
  return isfinite (low) && factor * columns->roughness[c] < low;
}

/* Columns that do not follow the object differ from their neighbours by another amount in each part
   of the turn. All that the object does to smooth columns, it does to those around. */
static gboolean
stands_still (const TdRingsColumns *columns, guint first, guint last)
{
  double most = 0, around = 0;

  for (guint c = first - 1; c <= last + 1; c++) {
    double low, high;
    range_around (columns->spreads, columns->n_columns, c, &low, &high);
    most = MAX (most, columns->spreads[c]);
    around = MAX (around, high);
  }
  return most > STANDS_STILL * around;
}

/* Pixels that flicker are rough. Those that fail for a part of the turn differ from part to part.
   They do so twice as much as their neighbours, whose second differences have them, too. */
static gboolean
is_failing (const TdRingsColumns *columns, guint c, double factor)
{
  const float *rough = columns->roughness, *spreads = columns->spreads;
  const gboolean flickers = rough[c] > LEAST_ROUGHNESS * columns->n_samples;
  const gboolean fails
      = spreads[c] > LEAST_FAILURE
        && spreads[c] > rings_offsets_narrow (columns->n_columns) * FAILURE * columns->tallest
        && spreads[c] > 1.5 * MAX (spreads[c - 1], spreads[c + 1]);
  double low, high, lowest, spread;

  if (!flickers && !fails)
    return FALSE;
  range_around (rough, columns->n_columns, c, &low, &high);
  range_around (spreads, columns->n_columns, c, &lowest, &spread);
  return isfinite (low)
         && ((flickers && rough[c] > factor * high) || (fails && spreads[c] > factor * spread));
}

static void
find_dead (const TdRingsColumns *columns, double factor, float *dead)
{
  guint n = columns->n_columns;

  for (guint c = 0; c < n; c++)
    dead[c] = c >= 2 && c + 2 < n && is_failing (columns, c, factor);
  for (guint first = 2, last; first + 2 < n; first = last + 1) {
    last = first;
    if (!is_smooth (columns, first, factor))
      continue;
    while (last + 3 < n && is_smooth (columns, last + 1, factor))
      last++;
    gboolean still = stands_still (columns, first, last);
    for (guint c = first; c <= last && still; c++)
      dead[c] = 1;
  }
}

/* ── What counts ── */

typedef struct {
  const TdRingsColumns *columns;
  const TdRingsLimits *limits;
  TdRingsProfile profile;
  double *noise;   /* standard errors, with what the parts of the turn differ by */
  guint8 *general; /* columns here have offsets in general */
  double *reach4;  /* 1 / reach^4 */
  double *object;  /* what medians may keep of it */
} Row;

/* The median at the mirror image of column @c, or NAN. */
static double
rings_offsets_mirrored (const Row *row, guint c)
{
  const double at = 2 * row->profile.axis - c;
  const guint left = at >= 0 ? (guint) at : 0, n = row->profile.n;

  if (!(at >= 0 && at < n - 1))
    return NAN;
  return row->profile.values[left]
         + (at - left) * (row->profile.values[left + 1] - row->profile.values[left]);
}

/* A standard error of the noise of all views' means; 0: there is none. */
static double
noise_at (const TdRingsColumns *columns, guint c)
{
  const double deviation = columns->bounds ? columns->bounds[c] / TD_RINGS_NOISE_BOUND : 0;

  return deviation / sqrt (columns->n_samples);
}

/* What may be left in a column of what moves: medians differ between the parts of the turn. Means
   of few views have another noise than their neighbours' of others. And where few views agree, they
   may agree about the object. */
static double
left_at (const Row *row, guint c)
{
  const double noise = noise_at (row->columns, c), spread = row->columns->spreads[c];
  const double share = noise > 0 ? MAX (row->columns->shares[c], LEAST_SHARE) : 0;

  return noise > 0 ? length_of (noise * sqrt (1 / share - 1), spread * pow (1 - share, 4)) : spread;
}

/* An object differs between the parts of the turn, unless it is round about the axis. Then both
   sides look alike, which offsets do by chance only. */
static void
find_object (Row *row)
{
  const guint n = row->profile.n;

  for (guint c = 0; c < n; c++) {
    double alike = 0, apart = 0;
    const guint end = n < TD_RINGS_NARROW ? MIN (c + MIRRORED + 1, n) : 0;
    for (guint i = c > MIRRORED ? c - MIRRORED : 0; i < end; i++) {
      const double other = rings_offsets_mirrored (row, i), own = row->profile.values[i];
      alike += isfinite (other) ? pow (own + other, 2) : 0;
      apart += isfinite (other) ? pow (own - other, 2) : 0;
    }
    const double round = MAX (0, alike - BY_CHANCE * apart) / (4 * (2 * MIRRORED + 1));
    row->object[c] = length_of (left_at (row, c), sqrt (round));
  }
}

/* What is smooth: the median of the columns next to @c. */
static double
value_around (const Row *row, guint c)
{
  guint from = c > 2 * BESIDE ? c - 2 * BESIDE : 0, end = MIN (c + 2 * BESIDE + 1, row->profile.n);
  float values[4 * BESIDE + 1];

  for (guint i = from; i < end; i++)
    values[i - from] = (float) row->profile.values[i];
  return td_median (values, end - from);
}

static gboolean
is_telling (const Row *row, guint c, double size)
{
  return size > LEAST && size >= row->limits->threshold * row->profile.errors[c]
         && size >= CONSISTENCY * row->object[c] && size >= SURE * noise_at (row->columns, c);
}

/* What a stripe bends, it bends back close by. Where a row is narrow, the object may bend as much.
 */
static gboolean
bends_back (const Row *row, guint c)
{
  const guint n = row->profile.n, from = c > 2 ? c - 2 : 0, end = MIN (c + 3, n);
  const float *medians = row->columns->medians;
  double least = 0;

  for (guint i = from; i < end; i++)
    least = MIN (least, medians[i] * (medians[c] < 0 ? -1.0 : 1.0));
  return n >= TD_RINGS_NARROW || least <= -TURNS_BACK * fabsf (medians[c]);
}

static gboolean
stands_out (const Row *row, guint c)
{
  double value = row->profile.values[c], measured = row->columns->medians[c];

  if (row->profile.unknown[c] || row->profile.edges[c] || value * measured <= 0)
    return FALSE;
  /* What comes of taking a disc away that is not quite there, stands out afterwards only. */
  return bends_back (row, c) && is_telling (row, c, MIN (fabs (value), fabs (measured)))
         && is_telling (row, c, fabs (value - value_around (row, c)));
}

/* Blocks of a row are cut so that a mirrored row has the same. */
static guint
block_begins (guint block, guint n_blocks, guint n)
{
  return 2 * block <= n_blocks ? block * n / n_blocks : n - (n_blocks - block) * n / n_blocks;
}

/* Sizes of the offsets and of the noise in columns around the block from @first to @last. */
static void
judge_block (Row *row, guint first, guint last)
{
  const guint n = row->profile.n, before = (first + last + 1) / 2, after = (first + last) / 2 + 1;
  const guint from = before > AROUND ? before - AROUND : 0, end = MIN (after + AROUND, n);
  guint count = 0;
  const double *values = row->profile.values, softest = pow (row->limits->size, -4),
               stiffest = pow (MIN (row->limits->size, LEAST_REACH), -4);
  float rough[2 * AROUND + 1], sizes[2 * AROUND + 1], noises[2 * AROUND + 1];

  for (guint c = from; c < end; c++) {
    if (row->profile.unknown[c] || row->profile.edges[c])
      continue;
    rough[count]
        = fabs (values[c] - 0.5 * (values[c > 0 ? c - 1 : 0] + values[MIN (c + 1, n - 1)]));
    sizes[count] = fabs (values[c]);
    noises[count++] = row->noise[c];
  }
  if (count == 0)
    return;
  /* Neighbours' values differ by sqrt (3/2) deviations of noise in themselves, smooth objects' do
   * not. */
  const double differ = 1.4826 * td_median (rough, count) / sqrt (1.5);
  const double noise = td_median (noises, count);
  /* Second differences of noise turn back from column to column. */
  const double turned = noise_at (row->columns, 0) > 0 ? TURNED * noise : noise;
  if (row->limits->threshold > 0 && !(differ > LEAST && differ > GENERAL * turned))
    return;
  const double offsets = 1.4826 * td_median (sizes, count) / sqrt (6);
  const double share = offsets > 0 ? NOISE_SHARE * pow (noise / offsets, 2) : 0;
  for (guint c = first; c <= last; c++) {
    row->general[c] = 1;
    row->reach4[c] = CLAMP (share, softest, stiffest);
  }
}

/* Values to be explained: of columns beside those that stand out, and all where columns have
   offsets in general. */
static void
rings_offsets_choose (Row *row, double *kept)
{
  guint n = row->profile.n;
  g_autofree guint8 *marks = g_new0 (guint8, n);

  for (guint c = 0, special = 0; c < n; c++) {
    const guint from = c > BESIDE ? c - BESIDE : 0, end = MIN (c + BESIDE + 1, n);
    /* Only columns that have no offsets in general are marked. */
    while (special < n && (special < from || row->general[special]))
      special++;
    if (special < end && stands_out (row, c))
      memset (marks + from, 1, end - from);
  }
  for (guint c = 0; c < n; c++)
    kept[c]
        = (marks[c] || row->general[c]) && !row->profile.unknown[c] ? row->profile.values[c] : 0;
  const double softest = pow (row->limits->size, -4);
  for (guint c = 0; c < n; c++)
    row->reach4[c] = row->general[c] ? row->reach4[c] : softest;
}

/* ── Offsets ── */

/* In narrow rows: what medians keep of the object, in @weights and in the reach. Both change
   nothing in rows of TD_RINGS_NARROW columns. */
static void
rings_offsets_doubt (Row *row, const double *kept, double *weights)
{
  const guint n = row->profile.n;
  const double narrow = rings_offsets_narrow (n);
  const double size = MAX (LEAST, 0.5 * td_rings_size (row->columns->medians, n));
  double squares = 0;

  if (narrow == 0)
    return;
  for (guint c = 0; c < n; c++)
    squares += kept[c] * kept[c];
  for (guint c = 0; c < n; c++) {
    /* Few columns that stand out are larger than columns in general. */
    const double own = row->general[c] ? size : MAX (size, sqrt (squares / n / 6));
    const double apart = CONSISTENCY * row->object[c] / own;
    weights[c] /= 1 + narrow * apart * apart / 6;
    row->reach4[c]
        = MAX (row->reach4[c], narrow * pow (row->columns->tallest / own, 2) / pow (n, 3));
  }
}

/* Less stiffness where q is large against what it is around, more where it is small. FALSE: it is
   as before, as where all columns have offsets in general. */
static gboolean
rings_offsets_reweight (const Row *row, const double *q, double *stiffness)
{
  guint n = row->profile.n;
  gboolean changed = FALSE;
  g_autofree double *sums = g_new (double, n + 1);

  sums[0] = 0;
  for (guint c = 0; c < n; c++)
    sums[c + 1] = sums[c] + q[c] * q[c];
  for (guint c = 0; c < n; c++) {
    guint from = c > AROUND ? c - AROUND : 0, end = MIN (c + AROUND + 1, n);
    double around = MAX (0, sums[end] - sums[from]) / (end - from);
    double factor = row->general[c] || around == 0 ? 1 : around / MAX (q[c] * q[c], 1e-3 * around);
    const double before = stiffness[c];
    stiffness[c] = row->reach4[c] * CLAMP (factor, SOFTEST, STIFFEST);
    changed = changed || stiffness[c] != before;
  }
  return changed;
}

static void
rings_offsets_solve (Row *row, float *offsets)
{
  guint n = row->profile.n;
  g_autofree double *kept = g_new (double, n), *weights = g_new (double, n);
  g_autofree double *stiffness = g_new (double, n), *q = g_new (double, n);

  rings_offsets_choose (row, kept);
  for (guint c = 0; c < n; c++)
    weights[c] = !row->profile.unknown[c];
  rings_offsets_doubt (row, kept, weights);
  memcpy (stiffness, row->reach4, n * sizeof *stiffness);
  td_rings_solve (kept, weights, stiffness, n, q);
  for (guint i = 0; i < REWEIGHTINGS && rings_offsets_reweight (row, q, stiffness); i++)
    td_rings_solve (kept, weights, stiffness, n, q);
  for (guint c = 0; c < n; c++)
    offsets[c] = (float) q[c];
}

double
td_rings_size (const float *medians, guint n_columns)
{
  g_autofree float *sizes = g_new (float, n_columns);

  for (guint c = 0; c < n_columns; c++)
    sizes[c] = fabsf (medians[c]);
  return 1.4826 * td_median (sizes, n_columns) / sqrt (6);
}

double
td_rings_tallest (const float *sums, guint n_columns, guint n_views)
{
  float tallest = 0;

  for (guint c = 0; c + 1 < n_columns; c++)
    tallest = MAX (tallest, MIN (fabsf (sums[c]), fabsf (sums[c + 1])));
  return tallest / n_views;
}

TdRingsAxis
td_rings_offsets (const TdRingsColumns *columns, const TdRingsLimits *limits, float *offsets,
                  float *dead)
{
  guint n = columns->n_columns;
  g_autofree double *memory = g_new0 (double, 5 * (gsize) n);
  g_autofree guint8 *flags = g_new0 (guint8, 3 * (gsize) n);
  g_autofree float *apart = g_new (float, n), *moving = g_new (float, n);
  Row row = {
    .columns = columns,
    .limits = limits,
    .profile = { n, columns->axis.axis, columns->axis.error, memory, memory + n, flags, flags + n,
                 n < TD_RINGS_NARROW ? moving : NULL },
    .noise = memory + 2 * (gsize) n,
    .reach4 = memory + 3 * (gsize) n,
    .general = flags + 2 * (gsize) n,
    .object = memory + 4 * (gsize) n,
  };

  find_dead (columns, limits->dead, dead);
  for (guint c = 0; c < n; c++) {
    for (guint i = c > 0 ? c - 1 : 0; i <= MIN (c + 1, n - 1) && dead[c]; i++)
      row.profile.unknown[i] = 1;
    /* A normal distribution's quartiles are 1.349 apart. */
    const double error = columns->widths[c] / 1.349 / sqrt (columns->n_samples);
    const double chance = NOISE_APART * MEDIANS * noise_at (columns, c) * sqrt (columns->n_parts);
    row.profile.values[c] = columns->medians[c];
    row.profile.errors[c] = length_of (chance > 0 ? error : MEDIANS * error, columns->skews[c]);
    apart[c] = (float) sqrt (MAX (0, pow (columns->spreads[c], 2) - chance * chance));
    /* Where most arcs agree, the parts differ by their noise. */
    moving[c] = chance > 0 ? apart[c] * (1 - columns->shares[c]) : apart[c];
  }
  td_rings_take_discs (&row.profile);
  /* An object that goes on beyond the row's ends slopes there, which is no offset. */
  if (!isfinite (columns->axis.axis))
    row.profile.unknown[0] = row.profile.unknown[n - 1] = 1;
  for (guint c = 0; c < n; c++)
    row.noise[c] = length_of (row.profile.errors[c], 0.2 * apart[c]);
  find_object (&row);
  /* An odd number of columns has one in the middle, and so has a mirrored row. */
  const guint n_blocks = (n + BLOCK - 1) / BLOCK | n % 2;
  for (guint i = 0; i < n_blocks; i++)
    judge_block (&row, block_begins (i, n_blocks, n), block_begins (i + 1, n_blocks, n) - 1);
  rings_offsets_solve (&row, offsets);
  for (guint c = 0; c < n; c++)
    offsets[c] = dead[c] ? 0 : offsets[c];
  return (TdRingsAxis) { row.profile.axis, row.profile.axis_error, columns->axis.mass };
}

/* ── Noise ── */

/* Of the roughness of noise: |x - (x + y + z) / 3| is sqrt (2/3) sqrt (2/pi) standard deviations.
 */
static double
deviation_of (double roughness, guint n_views)
{
  return roughness / (sqrt (2.0 / 3) * sqrt (2 / G_PI) * n_views);
}

/* Photons' noise grows with what they pass through, as exp (p / 2). */
static double
photons_noise (const float *sums, guint c, guint n_views)
{
  return exp (0.5 * CLAMP (sums[c] / n_views, -1, 20));
}

void
td_rings_noise_bounds (const float *sums, const float *roughness, guint n_columns, guint n_views,
                       float *bounds)
{
  g_autofree double *noises = g_new (double, n_columns), *photons = g_new (double, n_columns);

  for (guint c = 0; c < n_columns; c++) {
    photons[c] = photons_noise (sums, c, n_views);
    noises[c] = deviation_of (roughness[c], n_views) / photons[c];
  }
  qsort (noises, n_columns, sizeof *noises, td_compare_doubles);
  double noise = noises[(guint) (QUIETEST * (n_columns - 1))];
  for (guint c = 0; c < n_columns; c++) {
    const double left = photons[c > 0 ? c - 1 : 0], own = photons[c];
    const double right = photons[MIN (c + 1, n_columns - 1)];
    bounds[c] = noise > LEAST ? (float) (TD_RINGS_NOISE_BOUND * noise
                                         * sqrt (4 * own * own + left * left + right * right))
                              : 0;
  }
}
