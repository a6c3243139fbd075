/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Phase retrieval: two frames, which are real, make one complex image, since a real, symmetric response
   keeps them apart. data is [row][view][column], images [pair][y][x]; an item takes `strip` columns of one
   row of one pair. Pair 0 holds the views first_view and the one after. */

/* What stands at place @i of a padded line: the line of @n, then its last value `after` times, then its
   first one, as the transform goes round. */
TD_FN int
paganin_source (int i, int n, int after)
{
  if (i < n)
    return i;
  return i - n < after ? n - 1 : 0;
}

TD_KERNEL void
paganin_pack (TD_ITEM TD_GLOBAL const float *TD_RESTRICT data, TD_GLOBAL float2 *TD_RESTRICT images,
              int first_view, int n_views, int n_rows, int n_columns, int nx, int ny, int rows_after,
              int strip)
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

/* Divides by 1 + across[x] + down[y], and by the number of pixels, which the inverse transform does not. */
TD_KERNEL void
paganin_divide (TD_ITEM TD_GLOBAL float2 *TD_RESTRICT images, TD_GLOBAL const float *TD_RESTRICT across,
                TD_GLOBAL const float *TD_RESTRICT down, int nx, int ny, float scale, int strip)
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
paganin_unpack (TD_ITEM TD_GLOBAL const float2 *TD_RESTRICT images, TD_GLOBAL float *TD_RESTRICT data,
                int first_view, int n_views, int n_columns, int nx, int ny, int strip)
{
  int first = td_global_x () * strip, row = td_global_y (), pair = td_global_z ();
  int end = td_min (first + strip, n_columns), view = first_view + 2 * pair;

  if (view >= n_views)
    return;
  TD_GLOBAL const float2 *in = images + ((size_t) pair * ny + row) * nx;
  TD_GLOBAL float *a = data + ((size_t) row * n_views + view) * n_columns;
  for (int x = first; x < end; x++)
    a[x] = in[x].x;
  if (view + 1 < n_views)
    for (int x = first; x < end; x++)
      a[n_columns + x] = in[x].y;
}
