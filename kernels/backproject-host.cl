/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Back-projection for CPUs through OpenCL: what compute/parallel/host-backproject-isa.c does, in
   OpenCL's explicit vectors. One work-item computes a tile of 64 x 64 pixels. There is no local
   memory, no barrier and no image, since CPUs emulate them.

   VECTORS  slices at once, in vectors of 16: 1, 2; 0: a single slice
   NEAREST=1

   Bins lie interleaved, [view][column][slice], padded with zeros so that no index needs a check. */

#define PAD_LEFT 32
#define PAD_RIGHT 64
#define TILE 64
#define SUB 16   /* a subtile's bins for VIEWS views fit L1 */
#define VIEWS 16
#define VIEWS_L2 32
#define CHUNK 64 /* columns interleaved at a time: they stay in L1 while slice after slice comes */

#if VECTORS
#define LANES (16 * VECTORS)
#else
#define LANES 1
#endif

/* Lets LLVM use 512-bit registers where the CPU has them; it prefers 256 otherwise. */
#if defined(__AVX512F__) && defined(__has_attribute)
#if __has_attribute(min_vector_width)
#define WIDE __attribute__ ((min_vector_width (512)))
#endif
#endif
#ifndef WIDE
#define WIDE
#endif

/* OpenCL's shuffle2 as one instruction; compilers make sixteen loads of it. */
#if !VECTORS && defined(__AVX512F__) && defined(__has_builtin)
#if __has_builtin(__builtin_ia32_vpermi2varps512)
#define PERMUTE(low, i, high) __builtin_ia32_vpermi2varps512 ((low), (i), (high))
#define SINGLE_STEP 1.36f /* 15 sqrt (2) of it, a fraction and the slope's column: two registers */
#endif
#endif
/* Eight floats, by the low three bits of eight indices. */
#if !VECTORS && !defined(PERMUTE) && defined(__AVX2__) && defined(__has_builtin)
#if __has_builtin(__builtin_ia32_permvarsf256)
#define PERMUTE8(from, i) __builtin_ia32_permvarsf256 ((from), (i))
#define SINGLE_STEP 1.2f /* 8 sqrt (1/2) of it, a fraction and the margin are fewer than 8 */
#endif
#endif

/* One work-item a view. sinogram: [slice][view][column] from its first element on. */
TD_KERNEL TD_GROUP_SIZE (1, 1, 1) void
interleave (TD_ITEM TD_IN (float) sinogram, TD_IN (float) weights, TD_OUT (float) bins,
            TdTileParams params)
{
  int v = td_global_x (), n = params.n_columns;
  float weight = weights[params.first_view + v];
  TD_GLOBAL float *row = bins + (size_t) v * params.view_stride;
  TD_GLOBAL const float *in = sinogram + ((size_t) params.sinogram_high << 32)
                              + params.sinogram_low + (size_t) (params.first_view + v) * n;
  size_t slice = (size_t) params.all_views * n;

  for (int i = 0; i < PAD_LEFT * LANES; i++)
    row[i] = 0;
  row += PAD_LEFT * LANES;
  for (int first = 0; first < n; first += CHUNK) {
    int end = min (first + CHUNK, n);
    for (int s = 0; s < LANES; s++)
      for (int i = first; i < end; i++)
        row[(size_t) i * LANES + s] = s < params.n_slices ? weight * in[s * slice + i] : 0.0f;
  }
  row += (size_t) n * LANES;
  for (int i = 0; i < PAD_RIGHT * LANES; i++)
    row[i] = 0;
}

/* Where a subtile's views start: column + rest + ix du_x + iy du_y, kept within low … high. */
typedef struct {
  int column[VIEWS_L2];
  float rest[VIEWS_L2], du_x[VIEWS_L2], du_y[VIEWS_L2], low[VIEWS_L2], high[VIEWS_L2];
} Starts;

/* starts: start, right, down for each view in units of 2^-32 columns. */
TD_FN void
find_starts (TD_GLOBAL const long *starts, int n, int n_columns, int x, int y, Starts *out)
{
  for (int v = 0; v < n; v++) {
    long dx = starts[3 * v + 1], dy = starts[3 * v + 2];
    long u = starts[3 * v] + x * dx + y * dy;
    long lowest = u + (SUB - 1) * (min (dx, 0L) + min (dy, 0L));
    int column = (int) clamp (lowest >> 32, -1L, (long) n_columns);
    out->column[v] = column;
    out->rest[v] = (float) (u - ((long) column << 32)) * 0x1p-32f;
    out->du_x[v] = (float) dx * 0x1p-32f;
    out->du_y[v] = (float) dy * 0x1p-32f;
    out->low[v] = (float) (-1 - column);
    out->high[v] = (float) (n_columns - column);
  }
}

#ifdef SINGLE_STEP
/* For the single slice's window. Places are not clamped: the padding is wide enough for a subtile
   that reaches into the detector, and for a column before. One that does not is sent to the
   padding. */
TD_FN void
find_windows (TD_GLOBAL const long *starts, int n, int n_columns, int x, int y, Starts *out)
{
  for (int v = 0; v < n; v++) {
    long dx = starts[3 * v + 1], dy = starts[3 * v + 2];
    long u = starts[3 * v] + x * dx + y * dy;
#ifdef NEAREST
    u += 0x80000000L;
#endif
    long lowest = u + (SUB - 1) * (min (dx, 0L) + min (dy, 0L));
    long highest = u + (SUB - 1) * (max (dx, 0L) + max (dy, 0L));
    int column = (int) (lowest >> 32);
    int seen = highest > -0x100000000L && (lowest >> 32) <= n_columns;
    out->column[v] = seen ? column : 1 - PAD_LEFT;
    out->rest[v] = seen ? (float) (u - ((long) column << 32)) * 0x1p-32f : 0.0f;
    out->du_x[v] = seen ? (float) dx * 0x1p-32f : 0.0f;
    out->du_y[v] = seen ? (float) dy * 0x1p-32f : 0.0f;
  }
}
#endif

/* A tile's sums into the slices. */
TD_FN void
store (TD_GLOBAL const float *sums, TD_GLOBAL float *slices, int x0, int y0, TdTileParams params)
{
  int w = min (SUB, params.nx - x0), h = min (SUB, params.ny - y0);

  for (int s = 0; s < params.n_slices; s++)
    for (int y = 0; y < h; y++) {
      TD_GLOBAL float *out = slices + ((size_t) s * params.ny + y0 + y) * params.nx + x0;
      for (int x = 0; x < w; x++) {
        float sum = sums[(y * SUB + x) * LANES + s];
        out[x] = params.add ? out[x] + sum : sum;
      }
    }
}

/* Adding 1.5 2^23 rounds to a whole number, which is then in the sum's low bits. A whole u may
   round to the bin before, with weight 1: the same value. */
#define ROUNDER 12582912.0f

#if VECTORS

#define GX 4
#define GY (4 / VECTORS)
#define GROUP (GX * GY)

/* Offsets in floats and weights of one pixel at VIEWS views. row takes the sum's other bits off. */
#ifdef NEAREST
#define ROUNDER_BITS 0
#else
#define ROUNDER_BITS 0x4b400000
#endif

TD_FN void
locate (const Starts *starts, int first, float ix, float iy, uint16 row, uint *offset,
        float *weight)
{
  float16 u = vload16 (0, starts->rest + first) + ix * vload16 (0, starts->du_x + first)
              + iy * vload16 (0, starts->du_y + first);
  float16 low = vload16 (0, starts->low + first), high = vload16 (0, starts->high + first);
  u = select (low, u, u > low);
  u = select (high, u, u < high);
#ifdef NEAREST
  uint16 bits = convert_uint16_rtz (u + 0.5f);
#else
  float16 rounded = (u - 0.5f) + ROUNDER;
  uint16 bits = as_uint16 (rounded);
  vstore16 (u - (rounded - ROUNDER), 0, weight);
#endif
  vstore16 (row + bits * LANES, 0, offset);
}

TD_FN void
subtile (TD_GLOBAL const float *bins, int view_stride, const Starts *starts, int first, int n,
         TD_GLOBAL float *sums)
{
  const uint16 count = (uint16) (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  uint16 column = as_uint16 (vload16 (0, starts->column + first)) + PAD_LEFT - ROUNDER_BITS;
  uint16 row = count * (uint) view_stride + column * LANES;

  for (int y = 0; y < SUB; y += GY)
    for (int x = 0; x < SUB; x += GX) {
      uint offset[GROUP * VIEWS];
      float weight[GROUP * VIEWS];
      float16 sum[GROUP * VECTORS];

      TD_UNROLL for (int p = 0; p < GROUP; p++)
      {
        TD_GLOBAL const float16 *from =
            (TD_GLOBAL const float16 *) (sums + ((y + p / GX) * SUB + x + p % GX) * LANES);
        locate (starts, first, (float) (x + p % GX), (float) (y + p / GX), row, offset + p * VIEWS,
                weight + p * VIEWS);
        TD_UNROLL for (int k = 0; k < VECTORS; k++)
          sum[p * VECTORS + k] = from[k];
      }
      for (int v = 0; v < n; v++) {
        TD_UNROLL for (int p = 0; p < GROUP; p++)
        {
          TD_GLOBAL const float16 *bin = (TD_GLOBAL const float16 *) (bins + offset[p * VIEWS + v]);
#ifdef NEAREST
          TD_UNROLL for (int k = 0; k < VECTORS; k++)
            sum[p * VECTORS + k] += bin[k];
#else
          float16 right = weight[p * VIEWS + v], left = 1.0f - right;
          TD_UNROLL for (int k = 0; k < VECTORS; k++)
            sum[p * VECTORS + k] =
                fma (right, bin[VECTORS + k], fma (left, bin[k], sum[p * VECTORS + k]));
#endif
        }
      }
      TD_UNROLL for (int p = 0; p < GROUP; p++)
      {
        TD_GLOBAL float16 *to =
            (TD_GLOBAL float16 *) (sums + ((y + p / GX) * SUB + x + p % GX) * LANES);
        TD_UNROLL for (int k = 0; k < VECTORS; k++)
          to[k] = sum[p * VECTORS + k];
      }
    }
}

TD_FN void
project (TD_GLOBAL const float *bins, int view_stride, const Starts *starts, int n,
         TD_GLOBAL float *sums)
{
  for (int first = 0; first < n; first += VIEWS)
    subtile (bins + (size_t) first * view_stride, view_stride, starts, first,
             min (VIEWS, n - first), sums);
}

#else

/* One slice: 16 pixels of a row are a vector, a subtile's rows the sums. A subtile that spans at
   most 32 columns keeps a view's bins in two registers, from which a permute takes any 16. With
   coarse steps, or without such an instruction, bins are loaded one by one. */
TD_FN void
project (TD_GLOBAL const float *bins, int view_stride, const Starts *starts, int n,
              TD_GLOBAL float *sums)
{
  for (int v = 0; v < n; v++) {
    TD_GLOBAL const float *row = bins + (size_t) v * view_stride + PAD_LEFT + starts->column[v];
    for (int y = 0; y < SUB; y++)
      for (int x = 0; x < SUB; x++) {
        float u = starts->rest[v] + (float) x * starts->du_x[v] + (float) y * starts->du_y[v];
        u = fmin (fmax (u, starts->low[v]), starts->high[v]);
#ifdef NEAREST
        sums[y * SUB + x] += row[(int) (u + 0.5f)];
#else
        int i = (int) u;
        sums[y * SUB + x] += fma (u - (float) i, row[i + 1] - row[i], row[i]);
#endif
      }
  }
}

#ifdef PERMUTE
TD_FN void
project_window (TD_GLOBAL const float *bins, int view_stride, const Starts *starts, int n,
                TD_GLOBAL float *sums)
{
  const float16 lane = (float16) (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  float16 sum[SUB];

  TD_UNROLL for (int y = 0; y < SUB; y++)
    sum[y] = vload16 (y, sums);
  for (int v = 0; v < n; v++) {
    TD_GLOBAL const float *row = bins + (size_t) v * view_stride + PAD_LEFT + starts->column[v];
    float16 low = vload16 (0, row), high = vload16 (1, row);
    float16 u0 = fma (lane, (float16) starts->du_x[v], (float16) starts->rest[v]);
    float16 du_y = starts->du_y[v];
#ifndef NEAREST
    /* p + (u - i) d = (p - i d) + u d */
    float16 low_slope = vload16 (0, row + 1) - low, high_slope = vload16 (1, row + 1) - high;
    low = fma (-lane, low_slope, low);
    high = fma (-16.0f - lane, high_slope, high);
#endif
    TD_UNROLL for (int y = 0; y < SUB; y++)
    {
      float16 u = fma ((float16) (float) y, du_y, u0);
#ifdef NEAREST
      sum[y] += PERMUTE (low, convert_int16_rtz (u), high);
#else
      int16 i = convert_int16_rtz (u);
      sum[y] = fma (u, PERMUTE (low_slope, i, high_slope), sum[y] + PERMUTE (low, i, high));
#endif
    }
  }
  TD_UNROLL for (int y = 0; y < SUB; y++)
    vstore16 (sum[y], y, sums);
}
#endif

#ifdef PERMUTE8
/* Tables, pairs of lines and the second layer as in host-backproject-isa.c. */
#define WINDOW 40
#define MARGIN 1e-3f

typedef struct {
  float level[VIEWS_L2][WINDOW], slope[VIEWS_L2][WINDOW];
  float first[VIEWS_L2], slow[VIEWS_L2], fast[VIEWS_L2];
  float rounder[VIEWS_L2][SUB]; /* of 8 pairs for the first 8 pixels, and for the last 8 */
  int bin[VIEWS_L2][SUB];
} Tables;

TD_FN void
fill_view (TD_GLOBAL const float *row, float rest, float slow, float fast, int to, Tables *tables)
{
  const float8 pair = (float8) (0, 2, 4, 6, 8, 10, 12, 14);
  float8 bin = (float8) (0, 1, 2, 3, 4, 5, 6, 7) - 0.5f;
#ifdef NEAREST
  float first = rest + 1.0f;
#else
  float first = rest + 0.5f;
#endif
  float lowest = first + fmin (7 * slow, 0.0f) + fmin (fast, 0.0f) - MARGIN;

  tables->first[to] = first;
  tables->slow[to] = slow;
  tables->fast[to] = fast;
  for (int i = 0; i < 2; i++) {
    float8 u = lowest + 8 * (float) i * slow + pair * fast;
#ifdef NEAREST
    vstore8 (convert_int8_rtz (u), i, tables->bin[to]);
#else
    float8 whole = (u + ROUNDER) - ROUNDER;
    vstore8 (ROUNDER - whole, i, tables->rounder[to]);
    vstore8 (convert_int8_rtz (whole), i, tables->bin[to]);
#endif
  }
  for (int i = 0; i < WINDOW / 8; i++, bin += 8.0f) {
    float8 level = vload8 (i, row), slope = vload8 (i, row + 1) - level;
#ifndef NEAREST
    level -= bin * slope;
#endif
    vstore8 (level, i, tables->level[to]);
    vstore8 (slope, i, tables->slope[to]);
  }
}

/* Views [from, end) of 8 x 8 pixels that begin at @along of line @across. */
TD_FN void
block (const Tables *tables, int from, int end, int along, int across, float *sums)
{
  const float8 pixel = (float8) (0, 1, 2, 3, 4, 5, 6, 7) + (float) along;
  float8 sum[8];

  sums += across * SUB + along;
  TD_UNROLL for (int j = 0; j < 8; j++)
    sum[j] = vload8 (0, sums + j * SUB);
  for (int v = from; v < end; v++) {
    float8 fast = tables->fast[v];
    float8 u[2];

    u[0] = fma (pixel, (float8) tables->slow[v], (float8) tables->first[v]) + (float) across * fast;
    u[1] = u[0] + fast;
    TD_UNROLL for (int j = 0; j < 8; j++)
    {
      int pair = along + (across + j) / 2, bin = tables->bin[v][pair];
      float8 level = vload8 (0, tables->level[v] + bin);
#ifdef NEAREST
      sum[j] += PERMUTE8 (level, convert_int8_rtz (u[j % 2]) - bin);
#else
      int8 at = as_int8 (u[j % 2] + tables->rounder[v][pair]);
      sum[j] = fma (u[j % 2], PERMUTE8 (vload8 (0, tables->slope[v] + bin), at),
                    sum[j] + PERMUTE8 (level, at));
#endif
      u[j % 2] += fast + fast;
    }
  }
  TD_UNROLL for (int j = 0; j < 8; j++)
    vstore8 (sum[j], 0, sums + j * SUB);
}

TD_FN void
blocks (const Tables *tables, int from, int end, float *sums)
{
  for (int across = 0; across < SUB; across += 8)
    for (int along = 0; along < SUB; along += 8)
      block (tables, from, end, along, across, sums);
}

TD_FN void
project_window (TD_GLOBAL const float *bins, int view_stride, const Starts *starts, int n,
                TD_GLOBAL float *sums)
{
  Tables tables;
  float own[SUB * SUB], turned[SUB * SUB];
  int straight = 0, all;

  /* Those that run slower along x first. */
  for (int layer = 0; layer < 2; layer++) {
    all = straight;
    for (int v = 0; v < n; v++) {
      float dx = starts->du_x[v], dy = starts->du_y[v];
      if ((fabs (dx) > fabs (dy)) == layer)
        fill_view (bins + (size_t) v * view_stride + PAD_LEFT + starts->column[v] - 1,
                   starts->rest[v], layer ? dy : dx, layer ? dx : dy, all++, &tables);
    }
    straight = layer ? straight : all;
  }
  for (int i = 0; i < SUB * SUB; i++) {
    own[i] = sums[i];
    turned[i] = 0;
  }
  if (straight > 0)
    blocks (&tables, 0, straight, own);
  if (straight < all)
    blocks (&tables, straight, all, turned);
  for (int y = 0; y < SUB; y++)
    for (int x = 0; x < SUB; x++)
      sums[y * SUB + x] = own[y * SUB + x] + turned[x * SUB + y];
}
#endif

#endif

/* One work-item a tile; tile t of this launch keeps its sums at sums + t TILE^2 LANES. */
TD_KERNEL TD_GROUP_SIZE (1, 1, 1) WIDE void
backproject_tiles (TD_ITEM TD_IN (float) bins, TD_IN (long) starts, TD_OUT (float) all_sums,
                   TD_OUT (float) slices, TdTileParams params)
{
  int tile = params.first_tile + td_global_x ();
  int x0 = tile % params.tiles_x * TILE, y0 = tile / params.tiles_x * TILE;
  int x1 = min (x0 + TILE, params.nx), y1 = min (y0 + TILE, params.ny);
  TD_GLOBAL float *sums = all_sums + (size_t) td_global_x () * TILE * TILE * LANES;
  Starts subtile_starts;

  for (int i = 0; i < TILE * TILE * LANES; i++)
    sums[i] = 0;
  for (int first = 0; first < params.n_views; first += VIEWS_L2) {
    int n = min (VIEWS_L2, params.n_views - first);
    TD_GLOBAL const float *block = bins + (size_t) first * params.view_stride;
    TD_GLOBAL float *to = sums;
    for (int y = y0; y < y1; y += SUB)
      for (int x = x0; x < x1; x += SUB, to += SUB * SUB * LANES) {
        TD_GLOBAL const long *from = starts + 3 * (size_t) (params.first_view + first);
#ifdef SINGLE_STEP
        if (params.step <= SINGLE_STEP) {
          find_windows (from, n, params.n_columns, x, y, &subtile_starts);
          project_window (block, params.view_stride, &subtile_starts, n, to);
          continue;
        }
#endif
        find_starts (from, n, params.n_columns, x, y, &subtile_starts);
        project (block, params.view_stride, &subtile_starts, n, to);
      }
  }
  slices += ((size_t) params.slice_high << 32) + params.slice_low;
  for (int y = y0; y < y1; y += SUB)
    for (int x = x0; x < x1; x += SUB, sums += SUB * SUB * LANES)
      store (sums, slices, x, y, params);
}
