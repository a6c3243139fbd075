/* SPDX-License-Identifier: GPL-3.0-or-later */
/**
 * The host's back-projection kernels, compiled once for each instruction set.
 *
 * Wide path: [view][column][lane] bins; a vector load gives one bin of all slices. A group of
 * pixels keeps its sums in registers over a block of views. Bins cost two loads a slice vector and
 * the weight one broadcast. The load ports limit the rate, so two vectors of slices share a weight.
 *
 * Indices and weights: for the subtile's lowest corner u is computed in double, and split into a
 * whole column and a remainder. Within the subtile u is single and below 32, so good to 2^-20.
 */
#include "host-backproject-pass.h"

#include <math.h>
#include <string.h>
#ifdef __AVX2__
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
#define VECTOR_BYTES 64
#define NAMES                                                                                      \
  {                                                                                                \
    "AVX-512, slice by slice", "AVX-512, 16 slices at once", "AVX-512, 32 slices at once"          \
  }
#elif defined(__AVX2__)
#define VECTOR_BYTES 32
#define NAMES                                                                                      \
  {                                                                                                \
    "AVX2, slice by slice", "AVX2, 8 slices at once", "AVX2, 16 slices at once"                    \
  }
#else
#define VECTOR_BYTES 16
#define NAMES                                                                                      \
  {                                                                                                \
    "plain C, slice by slice", "plain C, 4 slices at once", "plain C, 8 slices at once"            \
  }
#endif
#define VECTOR_FLOATS (VECTOR_BYTES / 4)
#define INLINE static inline __attribute__ ((always_inline))

typedef float Vector __attribute__ ((vector_size (VECTOR_BYTES)));

enum {
  SUB = TD_HOST_SUBTILE,
  TILE = TD_HOST_TILE,
  VIEWS = 16,    /* views a group keeps its sums in registers for */
  CHUNK = 64,    /* columns interleaved while slice after slice comes: they stay in L1 */
  VIEWS_L2 = 32, /* views whose bins for a tile stay in L2 */
};

/* All lanes set from memory: by the load port alone. Left to itself the compiler loads a scalar and
   spreads it with a shuffle, which takes a turn from the multiply-adds' port. */
INLINE Vector
vector_broadcast (const float *value)
{
#ifdef __AVX__
  Vector all;
  __asm__("vbroadcastss %1, %0" : "=v"(all) : "m"(*value));
  return all;
#else
  return *value - (Vector) {};
#endif
}

/* Where a subtile's views start: u = column + rest + ix du_x + iy du_y, clamped to low … high. */
typedef struct {
  gint32 column[VIEWS_L2];
  float rest[VIEWS_L2], du_x[VIEWS_L2], du_y[VIEWS_L2], low[VIEWS_L2], high[VIEWS_L2];
} Starts;

INLINE void
find_starts (const TdHostPass *pass, guint first, guint n, guint x, guint y, Starts *starts)
{
  double n_columns = pass->n_columns;

  for (guint i = 0; i < n; i++) {
    double dx = pass->du_x[first + i], dy = pass->du_y[first + i];
    double u = pass->start[first + i] + x * dx + y * dy;
    double lowest = u + (SUB - 1) * ((dx < 0 ? dx : 0) + (dy < 0 ? dy : 0));
    double column = lowest < -1 ? -1 : lowest;
    column = floor (column > n_columns ? n_columns : column);
    starts->column[i] = (gint32) column;
    starts->rest[i] = (float) (u - column);
    starts->du_x[i] = (float) dx;
    starts->du_y[i] = (float) dy;
    starts->low[i] = (float) (-1 - column);
    starts->high[i] = (float) (n_columns - column);
  }
}

/* Offsets (in bytes, from the block's first bin) and weights of one pixel at VIEWS views. Adding
   1.5 2^23 rounds to a whole number, which is then in the sum's low bits: cheaper than floor and a
   conversion. Whole numbers may round down to the bin before, with weight 1: the same value. @row
   takes the sum's other bits off again. */
#define ROUNDER 12582912.0f
#define ROUNDER_BITS 0x4b400000u

enum { GX = 4, GY = 2, PIXELS = GX * GY };

/* Known when the code is compiled. */
typedef struct {
  guint vectors; /* beside each other in a bin */
  gboolean nearest;
} Lookup;

/* Where VIEWS views' rows begin, in bytes, and what a bin takes. */
typedef struct {
  guint32 begin[VIEWS];
  guint bin_bytes;
} Rows;

/* Where PIXELS pixels look in VIEWS views. */
typedef struct {
  guint32 offset[PIXELS * VIEWS] __attribute__ ((aligned (64)));
  float weight[PIXELS * VIEWS] __attribute__ ((aligned (64)));
} Places;

INLINE void
subtile_locate (const Starts *starts, guint first, const Rows *rows, gboolean nearest, guint x,
                guint y, Places *places)
{
  const guint p = y % GY * GX + x % GX;
  const float ix = (float) x, iy = (float) y;
  guint32 *offset = places->offset + p * VIEWS;
  float *weight = places->weight + p * VIEWS;

  for (guint v = 0; v < VIEWS; v++) {
    float u = starts->rest[first + v] + ix * starts->du_x[first + v] + iy * starts->du_y[first + v];
    u = u > starts->low[first + v] ? u : starts->low[first + v];
    u = u < starts->high[first + v] ? u : starts->high[first + v];
    if (nearest) {
      offset[v] = rows->begin[v] + (guint32) (gint32) (u + 0.5f) * rows->bin_bytes;
    } else {
      float rounded = (u - 0.5f) + ROUNDER;
      guint32 bits;
      memcpy (&bits, &rounded, sizeof bits);
      offset[v] = rows->begin[v] + bits * rows->bin_bytes;
      weight[v] = u - (rounded - ROUNDER);
    }
  }
}

/* The bins of a tile for the next block of views. They are fetched into L2 little by little
   during this block; from memory they would cost a tenth of the whole. */
typedef struct {
  const char *at[VIEWS_L2];
  guint lines[VIEWS_L2];
  guint view, line, views;
} Ahead;

INLINE void
plan_ahead (const TdHostPass *pass, guint first, guint x, guint y, guint width, guint height,
            Ahead *ahead)
{
  double n_columns = pass->n_columns;

  ahead->view = ahead->line = 0;
  ahead->views = first < pass->n_views ? MIN ((guint) VIEWS_L2, pass->n_views - first) : 0;
  for (guint i = 0; i < ahead->views; i++) {
    double across = pass->du_x[first + i] * width, down = pass->du_y[first + i] * height;
    double u = pass->start[first + i] + x * pass->du_x[first + i] + y * pass->du_y[first + i];
    double low = u + (across < 0 ? across : 0) + (down < 0 ? down : 0);
    double high = u + (across > 0 ? across : 0) + (down > 0 ? down : 0);
    low = CLAMP (low, -1, n_columns);
    high = CLAMP (high, -1, n_columns);
    const gsize bin_bytes = pass->lanes * sizeof (float);
    const gsize bytes = (gsize) ((gint32) low + TD_HOST_PAD_LEFT) * bin_bytes,
                line = bytes / 64 * 64;
    ahead->at[i] = (const char *) (pass->bins + (first + i) * pass->view_stride) + line;
    ahead->lines[i] = (guint) ((bytes - line + (gsize) (high - low + 2) * bin_bytes + 63) / 64);
  }
}

INLINE void
fetch_ahead (Ahead *ahead, guint lines)
{
  if (ahead->view == ahead->views)
    return;
  const char *at = ahead->at[ahead->view] + ahead->line * 64;
  for (guint i = 0; i < lines; i++)
    __builtin_prefetch (at + i * 64, 0, 2);
  ahead->line += lines;
  if (ahead->line >= ahead->lines[ahead->view]) {
    ahead->line = 0;
    ahead->view++;
  }
}

/* A group of pixels over VIEWS views (n of them real): sums in registers. */
INLINE void
subtile_group (const float *bins, const Places *places, guint n, Lookup lookup, float *const *sums)
{
  const guint vectors = lookup.vectors;
  Vector sum[PIXELS][2];

#pragma GCC unroll 8
  for (guint p = 0; p < PIXELS; p++)
#pragma GCC unroll 2
    for (guint k = 0; k < vectors; k++)
      sum[p][k] = ((const Vector *) sums[p])[k];

  for (guint v = 0; v < n; v++)
#pragma GCC unroll 8
    for (guint p = 0; p < PIXELS; p++) {
      const Vector *bin = (const Vector *) ((const char *) bins + places->offset[p * VIEWS + v]);
      if (lookup.nearest) {
#pragma GCC unroll 2
        for (guint k = 0; k < vectors; k++)
          sum[p][k] += bin[k];
      } else {
        Vector right = vector_broadcast (&places->weight[p * VIEWS + v]), left = 1.0f - right;
#pragma GCC unroll 2
        for (guint k = 0; k < vectors; k++) {
          sum[p][k] += left * bin[k];
          sum[p][k] += right * bin[vectors + k];
        }
      }
    }

#pragma GCC unroll 8
  for (guint p = 0; p < PIXELS; p++)
#pragma GCC unroll 2
    for (guint k = 0; k < vectors; k++)
      ((Vector *) sums[p])[k] = sum[p][k];
}

/* n views of one subtile; sums: [SUB][SUB][lanes]. */
INLINE void
subtile_add (const TdHostPass *pass, const Starts *starts, guint n, const float *bins,
             Lookup lookup, float *sums, Ahead *ahead)
{
  const guint lanes = lookup.vectors * VECTOR_FLOATS;
  const guint32 rounder = lookup.nearest ? 0 : ROUNDER_BITS;

  for (guint block = 0; block < n; block += VIEWS) {
    Rows rows = { .bin_bytes = lanes * sizeof (float) };
    guint count = MIN ((guint) VIEWS, n - block);
    const float *block_bins = bins + block * pass->view_stride;

    for (guint v = 0; v < VIEWS; v++)
      rows.begin[v]
          = (guint32) (v * pass->view_stride * sizeof (float))
            + ((guint32) starts->column[block + v] + TD_HOST_PAD_LEFT - rounder) * rows.bin_bytes;
    for (guint y = 0; y < SUB; y += GY)
      for (guint x = 0; x < SUB; x += GX) {
        Places places;
        float *pixel[PIXELS];

#pragma GCC unroll 8
        for (guint p = 0; p < PIXELS; p++) {
          guint px = x + p % GX, py = y + p / GX;
          subtile_locate (starts, block, &rows, lookup.nearest, px, py, &places);
          pixel[p] = sums + (gsize) (py * SUB + px) * lanes;
        }
        fetch_ahead (ahead, 3 * lookup.vectors);
        subtile_group (block_bins, &places, count, lookup, pixel);
      }
  }
}

/* Sums [SUB][SUB][lanes] of a subtile into the slices. */
INLINE void
subtile_store (const TdHostPass *pass, guint x, guint y, const float *sums, guint lanes)
{
  guint w = MIN ((guint) SUB, pass->nx - x), h = MIN ((guint) SUB, pass->ny - y);

  for (guint s = 0; s < pass->n_slices; s++)
    for (guint iy = 0; iy < h; iy++) {
      float *out = pass->slices + s * pass->slice_stride + (gsize) (y + iy) * pass->nx + x;
      const float *in = sums + (gsize) iy * SUB * lanes + s;
      if (pass->add)
        for (guint ix = 0; ix < w; ix++)
          out[ix] += in[ix * lanes];
      else
        for (guint ix = 0; ix < w; ix++)
          out[ix] = in[ix * lanes];
    }
}

INLINE void
tile_wide_as (const TdHostPass *pass, guint tile_x, guint tile_y, float *scratch, Lookup lookup)
{
  const guint lanes = lookup.vectors * VECTOR_FLOATS;
  const gsize subtile_floats = SUB * SUB * lanes;
  guint columns = MIN ((guint) TILE, pass->nx - tile_x),
        rows = MIN ((guint) TILE, pass->ny - tile_y);
  Starts starts;

  memset (&starts, 0, sizeof starts);
  memset (scratch, 0, (TILE / SUB) * (TILE / SUB) * subtile_floats * sizeof (float));
  for (guint first = 0; first < pass->n_views; first += VIEWS_L2) {
    guint n = MIN ((guint) VIEWS_L2, pass->n_views - first);
    float *sums = scratch;
    Ahead ahead;

    plan_ahead (pass, first + VIEWS_L2, tile_x, tile_y, columns, rows, &ahead);
    for (guint y = 0; y < rows; y += SUB)
      for (guint x = 0; x < columns; x += SUB, sums += subtile_floats) {
        find_starts (pass, first, n, tile_x + x, tile_y + y, &starts);
        subtile_add (pass, &starts, n, pass->bins + first * pass->view_stride, lookup, sums,
                     &ahead);
      }
  }
  const float *sums = scratch;
  for (guint y = 0; y < rows; y += SUB)
    for (guint x = 0; x < columns; x += SUB, sums += subtile_floats)
      subtile_store (pass, tile_x + x, tile_y + y, sums, lanes);
}

static void
tile_wide (const TdHostPass *pass, guint x, guint y, float *scratch)
{
  if (pass->lanes == VECTOR_FLOATS)
    pass->nearest ? tile_wide_as (pass, x, y, scratch, (Lookup) { 1, TRUE })
                  : tile_wide_as (pass, x, y, scratch, (Lookup) { 1, FALSE });
  else
    pass->nearest ? tile_wide_as (pass, x, y, scratch, (Lookup) { 2, TRUE })
                  : tile_wide_as (pass, x, y, scratch, (Lookup) { 2, FALSE });
}

/* ── One slice, a preview's ── */

/* Pixels, not slices, lie side by side in a vector, and permutes take their bins from registers. */

/* Where the views that see a subtile start: u = rest + ix du_x + iy du_y columns from bins[offset]
   on. Not clamped: the row's padding covers a subtile that reaches into the detector at all. */
typedef struct {
  guint32 offset[VIEWS_L2];
  float rest[VIEWS_L2], du_x[VIEWS_L2], du_y[VIEWS_L2];
} Windows;

/* Those that see nothing of it give way to those that do. */
INLINE guint
close_up (Windows *windows, const gint32 *seen, guint n)
{
  guint kept = 0;

  for (guint i = 0; i < n; i++)
    if (seen[i]) {
      windows->offset[kept] = windows->offset[i];
      windows->rest[kept] = windows->rest[i];
      windows->du_x[kept] = windows->du_x[i];
      windows->du_y[kept++] = windows->du_y[i];
    }
  return kept;
}

/* The number of views that see it. No branches, so that views are looked at side by side in
 * vectors. */
INLINE guint
find_windows (const TdHostPass *pass, guint first, guint n, guint x, guint y, Windows *windows)
{
  const double *start = pass->start + first, *du_x = pass->du_x + first, *du_y = pass->du_y + first;
  const double extra = pass->nearest ? 0.5 : 0.0, end = pass->n_columns + 1.0;
  const guint32 stride = (guint32) pass->view_stride;
  gint32 seen[VIEWS_L2], n_seen = 0;

  for (guint i = 0; i < n; i++) {
    const double dx = du_x[i], dy = du_y[i], u = start[i] + x * dx + y * dy + extra;
    const double lowest = u + (SUB - 1) * ((dx < 0 ? dx : 0) + (dy < 0 ? dy : 0));
    const double highest = u + (SUB - 1) * ((dx > 0 ? dx : 0) + (dy > 0 ? dy : 0));
    const double within = lowest < -TD_HOST_PAD_LEFT ? -TD_HOST_PAD_LEFT
                          : lowest > end             ? end
                                                     : lowest;
    const double column = floor (within);
    windows->offset[i] = i * stride + TD_HOST_PAD_LEFT + (guint32) (gint32) column;
    windows->rest[i] = (float) (u - column);
    windows->du_x[i] = (float) dx;
    windows->du_y[i] = (float) dy;
    seen[i] = (highest > -1) & (lowest < end);
    n_seen += seen[i];
  }
  return (guint) n_seen == n ? n : close_up (windows, seen, n);
}

#if defined(__AVX512F__)
/* A subtile spans at most 15 (|cos| + |sin|) + 1 < 24 columns: they fit two registers, and a bin
   is fetched by one two-register permute. Linear: p + (u - i) d = (p - i d) + u d. So the table
   holds p - i d and d, and u is the weight, integer part included. */
INLINE void
subtile_single (const Windows *windows, guint n, const float *bins, gboolean nearest, float *sums)
{
  const __m512 lane = _mm512_setr_ps (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  __m512 sum[SUB];

#pragma GCC unroll 16
  for (guint y = 0; y < SUB; y++)
    sum[y] = _mm512_load_ps (sums + y * SUB);
  for (guint v = 0; v < n; v++) {
    const float *row = bins + windows->offset[v];
    __m512 low = _mm512_loadu_ps (row), high = _mm512_loadu_ps (row + 16);
    __m512 du_y = _mm512_set1_ps (windows->du_y[v]);
    __m512 u0 = _mm512_fmadd_ps (lane, _mm512_set1_ps (windows->du_x[v]),
                                 _mm512_set1_ps (windows->rest[v]));
    if (nearest) {
#pragma GCC unroll 16
      for (guint y = 0; y < SUB; y++) {
        __m512 u = _mm512_fmadd_ps (_mm512_set1_ps ((float) y), du_y, u0);
        sum[y] += _mm512_permutex2var_ps (low, _mm512_cvttps_epi32 (u), high);
      }
    } else {
      __m512 low_slope = _mm512_loadu_ps (row + 1) - low;
      __m512 high_slope = _mm512_loadu_ps (row + 17) - high;
      low = _mm512_fnmadd_ps (lane, low_slope, low);
      high = _mm512_fnmadd_ps (lane + 16.0f, high_slope, high);
#pragma GCC unroll 16
      for (guint y = 0; y < SUB; y++) {
        __m512 u = _mm512_fmadd_ps (_mm512_set1_ps ((float) y), du_y, u0);
        __m512i i = _mm512_cvttps_epi32 (u);
        sum[y] += _mm512_permutex2var_ps (low, i, high);
        sum[y] = _mm512_fmadd_ps (u, _mm512_permutex2var_ps (low_slope, i, high_slope), sum[y]);
      }
    }
  }
#pragma GCC unroll 16
  for (guint y = 0; y < SUB; y++)
    _mm512_store_ps (sums + y * SUB, sum[y]);
}
#define SINGLE_LAYERS 1
#define SINGLE_STEP 1.36 /* 15 sqrt (2) of it, a fraction and the slope's column: two registers */
#elif defined(__AVX2__)
/* A register holds eight bins, and a permute takes any of them. That suffices for two lines of
   eight pixels along the slice's axis that the view is less steep along: 8 sqrt (1/2) columns.
   Views that run slower along y keep their sums transposed, in a second layer. Tables as for
   AVX-512, 8 x 8 pixels at a time. Loads limit the rate, since half of those of a table cross a
   cache line. */
typedef struct {
  float level[TD_HOST_WINDOW + 8], slope[TD_HOST_WINDOW + 8];
} Table;

/* Where the 8 pairs of a subtile's lines look in a table. bin is the lowest bin of 8 pixels. Adding
   rounder to a u brings its bin, counted from there, into the low bits of the sum. */
typedef struct {
  float rounder[SUB / 2];
  gint32 bin[SUB / 2];
} Pairs;

/* Views, those first whose sums are kept as they are. u = first + slow i + fast j for pixel i of
   line j. u counts from a bin before the table's first one, or half a bin. So rounding a linear u
   to a whole number gives its left bin. */
typedef struct {
  Table of[VIEWS_L2];
  float first[VIEWS_L2], slow[VIEWS_L2], fast[VIEWS_L2];
  Pairs pairs[SUB / 8][VIEWS_L2]; /* of the first and the last 8 pixels of lines */
} Tables;

#define SINGLE_STEP 1.2 /* 8 sqrt (1/2) of it, a fraction and the margin are fewer than 8 */
#define MARGIN 1e-3f    /* for rounding u */

/* n bins, a multiple of 8. */
INLINE void
fill_table (Table *table, const float *row, guint n, gboolean nearest)
{
  Vector bin = (Vector) { 0, 1, 2, 3, 4, 5, 6, 7 } - 0.5f;

  for (guint i = 0; i < n; i += 8, bin += 8.0f) {
    const Vector level = _mm256_loadu_ps (row + i), slope = _mm256_loadu_ps (row + i + 1) - level;
    _mm256_storeu_ps (table->slope + i, slope);
    _mm256_storeu_ps (table->level + i, nearest ? level : level - bin * slope);
  }
}

INLINE void
find_pairs (Vector lowest, gboolean nearest, Pairs *pairs)
{
  if (nearest) {
    _mm256_storeu_si256 ((__m256i *) pairs->bin, _mm256_cvttps_epi32 (lowest));
  } else {
    const __m256 rounded = lowest + ROUNDER;
    _mm256_storeu_ps (pairs->rounder, ROUNDER - (rounded - ROUNDER));
    _mm256_storeu_si256 ((__m256i *) pairs->bin,
                         _mm256_sub_epi32 (_mm256_castps_si256 (rounded),
                                           _mm256_set1_epi32 ((gint32) ROUNDER_BITS)));
  }
}

INLINE void
fill_view (Tables *tables, guint to, const Windows *windows, guint from, const float *bins,
           gboolean transposed, gboolean nearest)
{
  const float dx = windows->du_x[from], dy = windows->du_y[from];
  const float slow = transposed ? dy : dx, fast = transposed ? dx : dy;
  const float first = windows->rest[from] + (nearest ? 1.0f : 0.5f);
  const float lowest = first + MIN (7 * slow, 0) + MIN (fast, 0) - MARGIN;
  /* The lowest bins lie this far apart, a fraction included, and eight are read from there on. */
  const gboolean far = (SUB - 1) * (fabsf (dx) + fabsf (dy)) + 2 >= TD_HOST_WINDOW - 8;

  tables->first[to] = first;
  tables->slow[to] = slow;
  tables->fast[to] = fast;
  for (guint i = 0; i < SUB / 8; i++)
    find_pairs (lowest + 8 * (float) i * slow + (Vector) { 0, 2, 4, 6, 8, 10, 12, 14 } * fast,
                nearest, &tables->pairs[i][to]);
  fill_table (&tables->of[to], bins + windows->offset[from] - 1,
              far ? TD_HOST_WINDOW + 8 : TD_HOST_WINDOW, nearest);
}

/* Two lines of 8 pixels. */
INLINE void
add_pair (const Table *table, const Pairs *pairs, guint pair, const Vector *u, gboolean nearest,
          Vector *sums)
{
  const gssize bin = pairs->bin[pair];
  const Vector level = _mm256_loadu_ps (table->level + bin);

  if (nearest) {
    const __m256i whole = _mm256_set1_epi32 ((gint32) bin);
#pragma GCC unroll 2
    for (guint j = 0; j < 2; j++)
      sums[j]
          += _mm256_permutevar8x32_ps (level, _mm256_sub_epi32 (_mm256_cvttps_epi32 (u[j]), whole));
  } else {
    const Vector slope = _mm256_loadu_ps (table->slope + bin);
    const Vector rounder = vector_broadcast (pairs->rounder + pair);
#pragma GCC unroll 2
    for (guint j = 0; j < 2; j++) {
      const __m256i at = _mm256_castps_si256 (u[j] + rounder);
      sums[j] += _mm256_permutevar8x32_ps (level, at);
      sums[j] = _mm256_fmadd_ps (u[j], _mm256_permutevar8x32_ps (slope, at), sums[j]);
    }
  }
}

/* Views [from, end) of 8 x 8 pixels that begin at @along of line @across. */
INLINE void
block_single (const Tables *tables, guint from, guint end, guint along, guint across,
              gboolean nearest, float *sums)
{
  const Vector pixel = (Vector) { 0, 1, 2, 3, 4, 5, 6, 7 } + (float) along;
  Vector sum[8];

  sums += across * SUB + along;
#pragma GCC unroll 8
  for (guint j = 0; j < 8; j++)
    sum[j] = _mm256_load_ps (sums + j * SUB);
  for (guint v = from; v < end; v++) {
    const Table *table = &tables->of[v];
    const Pairs *pairs = &tables->pairs[along / 8][v];
    const Vector fast = vector_broadcast (tables->fast + v), fast2 = fast + fast;
    Vector u[2];

    u[0] = pixel * vector_broadcast (tables->slow + v) + vector_broadcast (tables->first + v)
           + (float) across * fast;
    u[1] = u[0] + fast;
#pragma GCC unroll 4
    for (guint j = 0; j < 8; j += 2) {
      add_pair (table, pairs, (across + j) / 2, u, nearest, sum + j);
      u[0] += fast2;
      u[1] += fast2;
    }
  }
#pragma GCC unroll 8
  for (guint j = 0; j < 8; j++)
    _mm256_store_ps (sums + j * SUB, sum[j]);
}

INLINE void
subtile_single (const Windows *windows, guint n, const float *bins, gboolean nearest, float *sums)
{
  Tables tables;
  guint ends[3] = { 0 };

  for (guint layer = 0; layer < 2; layer++) {
    ends[layer + 1] = ends[layer];
    for (guint v = 0; v < n; v++)
      if ((fabsf (windows->du_x[v]) > fabsf (windows->du_y[v])) == layer)
        fill_view (&tables, ends[layer + 1]++, windows, v, bins, layer, nearest);
  }
  for (guint layer = 0; layer < 2; layer++)
    if (ends[layer] < ends[layer + 1])
      for (guint across = 0; across < SUB; across += 8)
        for (guint along = 0; along < SUB; along += 8)
          block_single (&tables, ends[layer], ends[layer + 1], along, across, nearest,
                        sums + layer * TILE * TILE);
}
#define SINGLE_LAYERS 2
#else
#define SINGLE_LAYERS 0
#define SINGLE_STEP 0
#endif

#if SINGLE_LAYERS == 2
INLINE void
add_transposed (float *sums, const float *transposed)
{
  for (guint y = 0; y < SUB; y++)
    for (guint x = 0; x < SUB; x++)
      sums[y * SUB + x] += transposed[x * SUB + y];
}
#endif

/* Any step, any instruction set: bin by bin. */
INLINE void
subtile_bins (const TdHostPass *pass, const Starts *starts, guint n, const float *bins,
              gboolean nearest, float *sums)
{
  for (guint v = 0; v < n; v++) {
    const float *row = bins + v * pass->view_stride + TD_HOST_PAD_LEFT + starts->column[v];
    float low = starts->low[v], high = starts->high[v];
    for (guint y = 0; y < SUB; y++) {
      float u0 = starts->rest[v] + (float) y * starts->du_y[v];
      for (guint x = 0; x < SUB; x++) {
        float u = u0 + (float) x * starts->du_x[v];
        u = u > low ? u : low;
        u = u < high ? u : high;
        gint32 i = (gint32) (nearest ? u + 0.5f : u);
        float left = row[i];
        sums[y * SUB + x] += nearest ? left : left + (u - (float) i) * (row[i + 1] - left);
      }
    }
  }
}

#define LINES_AHEAD 8 /* of a view that a tile sees */

INLINE void
single (const TdHostPass *pass, guint tile_x, guint tile_y, float *scratch, gboolean nearest)
{
  guint columns = MIN ((guint) TILE, pass->nx - tile_x),
        rows = MIN ((guint) TILE, pass->ny - tile_y);
  Starts starts;

  memset (scratch, 0, MAX (SINGLE_LAYERS, 1) * TILE * TILE * sizeof (float));
  for (guint first = 0; first < pass->n_views; first += VIEWS_L2) {
    guint n = MIN ((guint) VIEWS_L2, pass->n_views - first);
    const float *bins = pass->bins + first * pass->view_stride;
    float *sums = scratch;
    Ahead ahead;

    plan_ahead (pass, first + VIEWS_L2, tile_x, tile_y, columns, rows, &ahead);
    for (guint y = 0; y < rows; y += SUB)
      for (guint x = 0; x < columns; x += SUB, sums += SUB * SUB) {
        for (guint i = 0; i < VIEWS_L2 / ((TILE / SUB) * (TILE / SUB)); i++)
          fetch_ahead (&ahead, LINES_AHEAD);
#if SINGLE_LAYERS
        if (!pass->wide_window) {
          Windows windows;
          const guint seen = find_windows (pass, first, n, tile_x + x, tile_y + y, &windows);
          subtile_single (&windows, seen, bins, nearest, sums);
          continue;
        }
#endif
        find_starts (pass, first, n, tile_x + x, tile_y + y, &starts);
        subtile_bins (pass, &starts, n, bins, nearest, sums);
      }
  }
  float *sums = scratch;
  for (guint y = 0; y < rows; y += SUB)
    for (guint x = 0; x < columns; x += SUB, sums += SUB * SUB) {
#if SINGLE_LAYERS == 2
      add_transposed (sums, sums + TILE * TILE);
#endif
      subtile_store (pass, tile_x + x, tile_y + y, sums, 1);
    }
}

static void
tile_single (const TdHostPass *pass, guint x, guint y, float *scratch)
{
  pass->nearest ? single (pass, x, y, scratch, TRUE) : single (pass, x, y, scratch, FALSE);
}

/* ── Interleaving ── */

static void
host_interleave (const float *sinogram, gsize slice_stride, guint n_slices, guint n_columns,
                 float weight, guint lanes, float *row)
{
  memset (row, 0, (gsize) TD_HOST_PAD_LEFT * lanes * sizeof (float));
  row += (gsize) TD_HOST_PAD_LEFT * lanes;
  if (n_slices < lanes)
    memset (row, 0, (gsize) n_columns * lanes * sizeof (float));
  for (guint first = 0; first < n_columns; first += CHUNK) {
    guint end = MIN (first + CHUNK, n_columns);
    for (guint s = 0; s < n_slices; s++) {
      const float *in = sinogram + s * slice_stride;
      float *out = row + s;
      for (guint i = first; i < end; i++)
        out[(gsize) i * lanes] = weight * in[i];
    }
  }
  memset (row + (gsize) n_columns * lanes, 0, (gsize) TD_HOST_PAD_RIGHT * lanes * sizeof (float));
}

/* ── The baseline ── */

static void
baseline_row (const TdHostBaseline *b, guint y)
{
  const gint32 n = (gint32) b->n_columns;

  for (guint x = 0; x < b->nx; x++) {
    float sum = 0;
    for (guint v = 0; v < b->n_views; v++) {
      const float *row = b->sinogram + (gsize) v * b->n_columns;
      float u = b->start[v] + (float) x * b->du_x[v] + (float) y * b->du_y[v];
      float whole = floorf (b->nearest ? u + 0.5f : u), fraction = u - whole;
      gint32 i = (gint32) whole;
      if (b->nearest)
        sum += i >= 0 && i < n ? b->weight[v] * row[i] : 0;
      else if (i >= 0 && i < n - 1)
        sum += b->weight[v] * (row[i] + fraction * (row[i + 1] - row[i]));
      else if (i == -1)
        sum += b->weight[v] * fraction * row[0];
      else if (i == n - 1)
        sum += b->weight[v] * (1 - fraction) * row[i];
    }
    b->slice[(gsize) y * b->nx + x] = sum;
  }
}

const TdHostKernels TD_ISA_NAME (td_host_kernels) = {
  .lanes = 2 * VECTOR_FLOATS,
  .lanes_small = VECTOR_FLOATS,
  .single_cost = SINGLE_LAYERS == 1 ? VECTOR_FLOATS * 3 / 4 : VECTOR_FLOATS / 2,
  .single_step = SINGLE_STEP,
  .names = NAMES,
  .wide = tile_wide,
  .single = tile_single,
  .interleave = host_interleave,
  .baseline = baseline_row,
};
