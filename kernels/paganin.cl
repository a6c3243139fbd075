/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Phase retrieval. Two real frames make one complex image, since a real, symmetric response
   keeps them apart. data is [row][view][column], images is [pair][y][x]. An item takes `strip`
   columns of one row of one pair. Pair 0 holds the views first_view and the one after. */

/* The value at place @i of a padded line. The line of @n comes first, then its last value `after`
   times, then its first value, since the transform is periodic. */
TD_FN int
paganin_source (int i, int n, int after)
{
  if (i < n)
    return i;
  return i - n < after ? n - 1 : 0;
}

TD_KERNEL void
paganin_pack (TD_ITEM TD_IN (float) data, TD_OUT (float2) images, int first_view, int n_views,
              int n_rows, int n_columns, int nx, int ny, int rows_after, int strip)
{
  int first = td_global_x () * strip, y = td_global_y (), pair = td_global_z ();
  int end = td_min (first + strip, nx), view = first_view + 2 * pair;
  int columns_after = (nx - n_columns + 1) / 2, second = td_min (view + 1, n_views - 1);
  size_t row = (size_t) paganin_source (y, n_rows, rows_after) * n_views;

  if (view >= n_views)
    return;
  TD_GLOBAL const float *a = data + (row + view) * n_columns;
  TD_GLOBAL const float *b = data + (row + second) * n_columns;
  TD_GLOBAL float2 *out = images + ((size_t) pair * ny + y) * nx;
  for (int x = first; x < end; x++) {
    int column = paganin_source (x, n_columns, columns_after);
    out[x] = td_float2 (a[column], b[column]);
  }
}

/* Divides by 1 + across[x] + down[y], and by the number of pixels, which the inverse transform does
   not. */
TD_KERNEL void
paganin_divide (TD_ITEM TD_OUT (float2) images, TD_IN (float) across, TD_IN (float) down, int nx,
                int ny, float scale, int strip)
{
  int first = td_global_x () * strip, y = td_global_y (), pair = td_global_z ();
  int end = td_min (first + strip, nx);
  TD_GLOBAL float2 *line = images + ((size_t) pair * ny + y) * nx;
  float base = 1.0f + down[y];

  for (int x = first; x < end; x++) {
    float factor = scale / (base + across[x]);
    float2 value = line[x];
    line[x] = td_float2 (value.x * factor, value.y * factor);
  }
}

TD_KERNEL void
paganin_unpack (TD_ITEM TD_IN (float2) images, TD_OUT (float) data, int first_view, int n_views,
                int n_columns, int nx, int ny, int row0, int strip)
{
  int first = td_global_x () * strip, row = td_global_y (), pair = td_global_z ();
  int end = td_min (first + strip, n_columns), view = first_view + 2 * pair;

  if (view >= n_views)
    return;
  TD_GLOBAL const float2 *in = images + ((size_t) pair * ny + row) * nx;
  TD_GLOBAL float *a = data + ((size_t) (row0 + row) * n_views + view) * n_columns;
  for (int x = first; x < end; x++)
    a[x] = in[x].x;
  if (view + 1 < n_views)
    for (int x = first; x < end; x++)
      a[n_columns + x] = in[x].y;
}

/* ── A row out of its neighbours (compute/prepare/paganin.h) ─────────────────────────────────── */

/* Rows that are added: values between two of them, and weights between two terms. */
typedef struct {
  int n;
  size_t pitch;
  int weights_pitch;
} PaganinRows;

/* Lines of two views, their ends continued, for each term; the terms' lines are term_pitch apart.
   An item makes columns first to end; on the host all. */
typedef struct {
  int n_columns, nx, n_terms, first, end;
  size_t term_pitch;
} PaganinLines;

#define PAGANIN_TERMS 8 /* summed at once */
#define PAGANIN_ROWS 4  /* added at once: the weights come in such groups, those of no row are 0 */
#ifdef TD_LANES
#define PAGANIN_BLOCK TD_LANES
#else
#define PAGANIN_BLOCK 1
#endif

#ifdef TD_HOST
/* Rows are far apart, often by a multiple of the caches' size, so that few of them fit the
   caches at once. So the kernel adds few rows at a time, in long pieces that come from memory in
   order, and fetches the next meanwhile. Sums of a few columns are in registers meanwhile, and
   in the nearest cache between. */
#define PAGANIN_HOST_TERMS 16
#define PAGANIN_HOST_ROWS 8
#define PAGANIN_PIECE 384 /* columns */
#if defined(__AVX512F__)
#define PAGANIN_VECTORS 3
#define PAGANIN_WIDTH 16
#elif defined(__AVX__)
#define PAGANIN_VECTORS 1
#define PAGANIN_WIDTH 8
#else
#define PAGANIN_VECTORS 1
#define PAGANIN_WIDTH 4
#endif
typedef float PaganinVector __attribute__ ((vector_size (4 * PAGANIN_WIDTH)));
typedef float PaganinLoose __attribute__ ((vector_size (4 * PAGANIN_WIDTH), aligned (4),
                                           may_alias));
typedef float PaganinSums[PAGANIN_HOST_TERMS][PAGANIN_PIECE];

/* The same rows to come are @ahead of these. */
TD_FN void
paganin_add_vectors (const float *data, const float *weights, PaganinRows rows, size_t ahead,
                     int n_vectors, float *sums)
{
  PaganinVector sum[PAGANIN_TERMS][PAGANIN_VECTORS], value[PAGANIN_VECTORS];

#pragma GCC unroll 8
  for (int t = 0; t < PAGANIN_TERMS; t++)
#pragma GCC unroll 4
    for (int k = 0; k < n_vectors; k++)
      sum[t][k] = ((const PaganinLoose *) (sums + t * PAGANIN_PIECE))[k];
  for (int row = 0; row < rows.n; row++) {
    const float *line = data + row * rows.pitch;
#pragma GCC unroll 4
    for (int k = 0; k < n_vectors; k++) {
      value[k] = ((const PaganinLoose *) line)[k];
      __builtin_prefetch (line + ahead + k * PAGANIN_WIDTH);
    }
#pragma GCC unroll 8
    for (int t = 0; t < PAGANIN_TERMS; t++)
#pragma GCC unroll 4
      for (int k = 0; k < n_vectors; k++)
        sum[t][k] += weights[t * rows.weights_pitch + row] * value[k];
  }
#pragma GCC unroll 8
  for (int t = 0; t < PAGANIN_TERMS; t++)
#pragma GCC unroll 4
    for (int k = 0; k < n_vectors; k++)
      ((PaganinLoose *) (sums + t * PAGANIN_PIECE))[k] = sum[t][k];
}

/* @count columns of one view: sums[t] = sum of weights[t][row] data[row]; @n_terms in whole
   groups. */
TD_FN void
paganin_add_pieces (const float *data, const float *weights, PaganinRows rows, int n_terms,
                    int count, PaganinSums sums)
{
  memset (sums, 0, sizeof (PaganinSums));
  for (int first = 0; first < rows.n; first += PAGANIN_HOST_ROWS) {
    const int left = rows.n - first, n = td_min (left, PAGANIN_HOST_ROWS);
    const PaganinRows some = { n, rows.pitch, rows.weights_pitch };
    const size_t ahead = left >= 2 * PAGANIN_HOST_ROWS ? PAGANIN_HOST_ROWS * rows.pitch : 0;
    for (int term = 0; term < n_terms; term += PAGANIN_TERMS) {
      const float *from = data + first * rows.pitch;
      const float *w = weights + term * rows.weights_pitch + first;
      int k = 0;
      for (; k + PAGANIN_VECTORS * PAGANIN_WIDTH <= count; k += PAGANIN_VECTORS * PAGANIN_WIDTH)
        paganin_add_vectors (from + k, w, some, ahead, PAGANIN_VECTORS, sums[term] + k);
      for (; k + PAGANIN_WIDTH <= count; k += PAGANIN_WIDTH)
        paganin_add_vectors (from + k, w, some, ahead, 1, sums[term] + k);
      for (; k < count; k++)
        for (int t = 0; t < PAGANIN_TERMS; t++)
          for (int row = 0; row < n; row++)
            sums[term + t][k] += w[t * rows.weights_pitch + row] * from[row * rows.pitch + k];
    }
  }
}

/* As below; items have whole lines here. */
TD_FN void
paganin_sum_lines (const float *a, const float *b, const float *weights, PaganinRows rows,
                   float2 *images, PaganinLines lines)
{
  const int n_columns = lines.n_columns, nx = lines.nx;
  const int n_groups = (lines.n_terms + PAGANIN_TERMS - 1) / PAGANIN_TERMS;

  for (int term = 0; term < lines.n_terms; term += PAGANIN_HOST_TERMS) {
    const int summed = td_min (n_groups * PAGANIN_TERMS - term, PAGANIN_HOST_TERMS);
    const float *w = weights + term * rows.weights_pitch;
    for (int column = 0; column < n_columns; column += PAGANIN_PIECE) {
      const int count = td_min (n_columns - column, PAGANIN_PIECE);
      PaganinSums sums[2];
      paganin_add_pieces (a + column, w, rows, summed, count, sums[0]);
      paganin_add_pieces (b + column, w, rows, summed, count, sums[1]);
      for (int t = 0; t < td_min (lines.n_terms - term, summed); t++) {
        float2 *out = images + (term + t) * lines.term_pitch + column;
        for (int k = 0; k < count; k++)
          out[k] = td_float2 (sums[0][t][k], sums[1][t][k]);
      }
    }
  }
  for (int t = 0; t < lines.n_terms; t++)
    for (int x = n_columns; x < nx; x++)
      images[t * lines.term_pitch + x]
          = images[t * lines.term_pitch + paganin_source (x, n_columns, (nx - n_columns + 1) / 2)];
}
#else
/* @count columns from @column on of one view: sums[t] += weights[t][row] data[row]. */
TD_FN void
paganin_add_rows (TD_IN (float) data, TD_IN (float) weights, PaganinRows rows, int count,
                  float sums[PAGANIN_TERMS][PAGANIN_BLOCK])
{
  for (int t = 0; t < PAGANIN_TERMS; t++)
    for (int k = 0; k < PAGANIN_BLOCK; k++)
      sums[t][k] = 0;
  for (int row = 0; row < rows.n; row += PAGANIN_ROWS) {
    TD_GLOBAL const float *a = data + row * rows.pitch;
    TD_GLOBAL const float *b = data + td_min (row + 1, rows.n - 1) * rows.pitch;
    TD_GLOBAL const float *c = data + td_min (row + 2, rows.n - 1) * rows.pitch;
    TD_GLOBAL const float *d = data + td_min (row + 3, rows.n - 1) * rows.pitch;
    for (int t = 0; t < PAGANIN_TERMS; t++) {
      TD_GLOBAL const float *w = weights + t * rows.weights_pitch + row;
      float wa = w[0], wb = w[1], wc = w[2], wd = w[3];
      for (int k = 0; k < count; k++)
        sums[t][k] += wa * a[k] + wb * b[k] + wc * c[k] + wd * d[k];
    }
  }
}
TD_FN void
paganin_sum_lines (TD_IN (float) view_a, TD_IN (float) view_b, TD_IN (float) weights,
                   PaganinRows rows, TD_OUT (float2) images, PaganinLines lines)
{
  const int n_columns = lines.n_columns, nx = lines.nx, end = lines.end;
  const int columns_after = (nx - n_columns + 1) / 2;

  for (int x = lines.first; x < end;) {
    int column = paganin_source (x, n_columns, columns_after);
    /* Beyond the columns one value goes on for many. */
    int same = x < n_columns ? 1 : x < n_columns + columns_after ? n_columns + columns_after - x
        : nx - x;
    int count = x < n_columns ? td_min (n_columns - x, PAGANIN_BLOCK) : 1;
    count = td_min (count, end - x);
    for (int term = 0; term < lines.n_terms; term += PAGANIN_TERMS) {
      float a[PAGANIN_TERMS][PAGANIN_BLOCK], b[PAGANIN_TERMS][PAGANIN_BLOCK];
      TD_GLOBAL const float *w = weights + term * rows.weights_pitch;
      paganin_add_rows (view_a + column, w, rows, count, a);
      paganin_add_rows (view_b + column, w, rows, count, b);
      for (int t = 0; t < PAGANIN_TERMS; t++) {
        TD_GLOBAL float2 *out = images + (term + t) * lines.term_pitch + x;
        if (term + t >= lines.n_terms)
          continue;
        for (int k = 0; k < count; k++)
          out[k] = td_float2 (a[t][k], b[t][k]);
        for (int k = count; k < td_min (same, end - x); k++)
          out[k] = td_float2 (a[t][0], b[t][0]);
      }
    }
    x += td_max (count, td_min (same, end - x));
  }
}
#endif

/* Sums of rows for each term, two views to a complex line as above, their ends continued. images is
   [term][pair][x]. weights is [n_terms][rows], with both sizes rounded up to their groups. */
TD_KERNEL void
paganin_sums (TD_ITEM TD_IN (float) data, TD_OUT (float2) images, TD_IN (float) weights,
              int first_view, int n_views, int n_rows, int n_columns, int nx, int n_terms,
              int n_pairs, int strip)
{
  int first = td_global_x () * strip, pair = td_global_y ();
  int end = td_min (first + strip, nx), view = first_view + 2 * pair;
  int second = td_min (view + 1, n_views - 1);
  int weights_pitch = (n_rows + PAGANIN_ROWS - 1) / PAGANIN_ROWS * PAGANIN_ROWS;
  PaganinRows rows = { n_rows, (size_t) n_views * n_columns, weights_pitch };
  PaganinLines lines = { n_columns, nx, n_terms, first, end, (size_t) n_pairs * nx };

  if (view < n_views)
    paganin_sum_lines (data + (size_t) view * n_columns, data + (size_t) second * n_columns,
                       weights, rows, images + (size_t) pair * nx, lines);
}

/* The terms' spectra by their factors, [n_terms][nx], added up where the first one's are. */
TD_KERNEL void
paganin_combine (TD_ITEM TD_OUT (float2) images, TD_IN (float) factors, int nx, int n_terms,
                 int n_pairs, int strip)
{
  int first = td_global_x () * strip, pair = td_global_y ();
  int end = td_min (first + strip, nx);
  TD_GLOBAL float2 *line = images + (size_t) pair * nx;

  for (int x = first; x < end; x++)
    line[x] = td_float2 (line[x].x * factors[x], line[x].y * factors[x]);
  for (int t = 1; t < n_terms; t++) {
    TD_GLOBAL const float2 *more = images + ((size_t) t * n_pairs + pair) * nx;
    TD_GLOBAL const float *factor = factors + (size_t) t * nx;
    for (int x = first; x < end; x++)
      line[x] = td_float2 (line[x].x + more[x].x * factor[x], line[x].y + more[x].y * factor[x]);
  }
}
