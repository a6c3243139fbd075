/* SPDX-License-Identifier: GPL-3.0-or-later */
/**
 * The host's back-projection kernels, included by host-backproject-{plain,avx2,avx512}.c, each
 * compiled for its instruction set, after TD_VECTOR_BYTES, TD_KERNELS and TD_NAMES were
 * defined.
 *
 * Wide path: [view][column][lane] bins; a vector load gives one bin of all slices. A group of
 * pixels keeps its sums in registers over a block of views. Bins and weights cost two loads a slice
 * vector and the weight one broadcast: the load ports bound it, so two vectors of slices share a
 * weight.
 *
 * Indices and weights: u is made in double for the subtile's lowest corner, split into a whole
 * column and a remainder; within the subtile it is single, below 32, so good to 2^-20.
 */
#include "host-backproject-pass.h"

#include <math.h>
#include <string.h>
#ifdef __AVX2__
#include <immintrin.h>
#endif

#define VECTOR_FLOATS (TD_VECTOR_BYTES / 4)
#define INLINE static inline __attribute__ ((always_inline))

typedef float Vector __attribute__ ((vector_size (TD_VECTOR_BYTES)));

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

/* The bins of a tile for the next block of views, to be fetched into L2 little by little while this
   block is worked on: what they cost from memory otherwise is a tenth of the whole. */
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

#include "host-backproject-single.h"

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

const TdHostKernels TD_KERNELS = {
  .lanes = 2 * VECTOR_FLOATS,
  .lanes_small = VECTOR_FLOATS,
  .single_cost = SINGLE_LAYERS == 1 ? VECTOR_FLOATS * 3 / 4 : VECTOR_FLOATS / 2,
  .scratch_bytes = TILE * TILE * 2 * TD_VECTOR_BYTES,
  .names = TD_NAMES,
  .wide = tile_wide,
  .single = tile_single,
  .interleave = host_interleave,
  .baseline = baseline_row,
};
