/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The single-slice path, a preview's: part of host-backproject-kernel.h. Pixels, not slices, lie
   side by side in a vector, and their bins are taken from registers by permutes. */

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
/* A subtile spans at most 15 (|cos| + |sin|) + 1 < 24 columns: they fit two registers, and a bin is
   fetched by one two-register permute. Linear: p + (u - i) d = (p - i d) + u d, so the table holds
   p - i d and d, and u serves as weight without its integer part taken off. */
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
#elif defined(__AVX2__)
/* A register holds eight bins, a permute takes any of them: enough for eight pixels along the
   slice's axis that the view runs slower along, 7 sqrt (1/2) columns. Views that run slower along y
   keep their sums transposed, in a second layer. Tables as for AVX-512, 8 x 8 pixels at a time. */
typedef struct {
  float level[TD_HOST_WINDOW + 8], slope[TD_HOST_WINDOW + 8];
} Table;

typedef struct {
  Table of[VIEWS_L2];
  guint8 layer[VIEWS_L2]; /* 1: the view's sums are kept transposed */
} Tables;

/* 8 x 8 pixels of a layer: @along its lines, from line @across on. */
typedef struct {
  guint layer, along, across;
} Square;

INLINE void
fill_table (Table *table, const float *row, gboolean nearest)
{
  for (guint i = 0; i < TD_HOST_WINDOW + 8; i++) {
    table->slope[i] = row[i + 1] - row[i];
    table->level[i] = nearest ? row[i] : row[i] - (float) i * table->slope[i];
  }
}

INLINE void
block_single (const Windows *windows, guint n, const Tables *tables, Square square,
              gboolean nearest, float *sums)
{
  const guint layer = square.layer, along = square.along, across = square.across;

  const __m256 lane = _mm256_setr_ps (0, 1, 2, 3, 4, 5, 6, 7);
  const __m256 pixel = lane + (float) along, line = lane + (float) across;
  __m256 sum[8];

#pragma GCC unroll 8
  for (guint i = 0; i < 8; i++)
    sum[i] = _mm256_load_ps (sums + (across + i) * SUB + along);
  for (guint v = 0; v < n; v++) {
    if (tables->layer[v] != layer)
      continue;
    __m256 slow = _mm256_set1_ps (layer ? windows->du_y[v] : windows->du_x[v]);
    __m256 fast = _mm256_set1_ps (layer ? windows->du_x[v] : windows->du_y[v]);
    __m256 first = _mm256_fmadd_ps (line, fast, _mm256_set1_ps (windows->rest[v]));
    __m256 end = _mm256_set1_ps ((float) along + (_mm256_cvtss_f32 (slow) < 0 ? 7 : 0));
    float u0[8] __attribute__ ((aligned (32)));
    gint32 base[8] __attribute__ ((aligned (32)));

    /* The lowest bin of each line, by the same operations as its pixels' bins. */
    _mm256_store_ps (u0, first);
    _mm256_store_si256 ((__m256i *) base, _mm256_cvttps_epi32 (_mm256_fmadd_ps (end, slow, first)));
#pragma GCC unroll 8
    for (guint i = 0; i < 8; i++) {
      __m256 u = _mm256_fmadd_ps (pixel, slow, _mm256_broadcast_ss (u0 + i));
      __m256i bin = _mm256_sub_epi32 (_mm256_cvttps_epi32 (u), _mm256_set1_epi32 (base[i]));
      sum[i] += _mm256_permutevar8x32_ps (_mm256_loadu_ps (tables->of[v].level + base[i]), bin);
      if (!nearest) {
        __m256 slope = _mm256_loadu_ps (tables->of[v].slope + base[i]);
        sum[i] = _mm256_fmadd_ps (u, _mm256_permutevar8x32_ps (slope, bin), sum[i]);
      }
    }
  }
#pragma GCC unroll 8
  for (guint i = 0; i < 8; i++)
    _mm256_store_ps (sums + (across + i) * SUB + along, sum[i]);
}

INLINE void
subtile_single (const Windows *windows, guint n, const float *bins, gboolean nearest, float *sums)
{
  Tables tables;

  for (guint v = 0; v < n; v++) {
    fill_table (&tables.of[v], bins + windows->offset[v], nearest);
    tables.layer[v] = fabsf (windows->du_x[v]) > fabsf (windows->du_y[v]);
  }
  for (guint across = 0; across < SUB; across += 8)
    for (guint along = 0; along < SUB; along += 8) {
      block_single (windows, n, &tables, (Square) { 0, along, across }, nearest, sums);
      block_single (windows, n, &tables, (Square) { 1, along, across }, nearest,
                    sums + TILE * TILE);
    }
}
#define SINGLE_LAYERS 2
#else
#define SINGLE_LAYERS 0
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
