/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Raw intensities to -log of the transmission. data is [row][view][column] throughout. An item
   takes `strip` columns of one view of one row: x counts strips, y views, z rows. */
#include "prepare-common.h"

/* Natural logarithm of a normal positive number, by Cephes' logf (1 ulp). One formula for all
   devices, so that they agree, and free of branches, so that CPUs do it in vectors. */
TD_FN float
log_of (float value)
{
  int bits = td_float_as_int (value);
  int exponent = ((bits >> 23) & 0xff) - 126;
  float m = td_int_as_float ((bits & 0x007fffff) | 0x3f000000);
  int below = m < 0.70710678f;
  float x = below ? m + m - 1.0f : m - 1.0f;
  float e = (float) (exponent - below);
  float z = x * x;
  float y = 7.0376836292e-2f;

  y = td_fma (y, x, -1.1514610310e-1f);
  y = td_fma (y, x, 1.1676998740e-1f);
  y = td_fma (y, x, -1.2420140846e-1f);
  y = td_fma (y, x, 1.4249322787e-1f);
  y = td_fma (y, x, -1.6668057665e-1f);
  y = td_fma (y, x, 2.0000714765e-1f);
  y = td_fma (y, x, -2.4999993993e-1f);
  y = td_fma (y, x, 3.3333331174e-1f);
  y = y * x * z;
  y = td_fma (e, -2.12194440e-4f, y);
  y = td_fma (z, -0.5f, y);
  return td_fma (e, 0.693359375f, x + y);
}

/* Counts NaNs and infinities: all of rows [count0, count_end) in counters[counter], those of each
   view in view_bad[row][view]. */
TD_KERNEL void
prepare_find_bad (TD_ITEM TD_IN (float) data, TD_OUT (int) view_bad, TD_OUT (int) counters,
                  int n_views, int n_columns, int strip, int counter, int count0, int count_end)
{
  int first = td_global_x () * strip, view = td_global_y (), row = td_global_z ();
  int end = td_min (first + strip, n_columns);
  size_t at = row_of_view (row, view, n_views, n_columns);
  int bad = 0;

  for (int column = first; column < end; column++)
    bad += td_isfinite (data[at + column]) ? 0 : 1;
  if (bad > 0) {
    td_atomic_add_int (&view_bad[(size_t) row * n_views + view], bad);
    if (row >= count0 && row < count_end)
      td_atomic_add_int (&counters[counter], bad);
  }
}

/* Item x, y: view, row. Each run of bad samples takes the value of its nearer sound end. */
TD_KERNEL void
prepare_repair_view (TD_ITEM TD_OUT (float) data, TD_IN (int) view_bad, int n_views, int n_columns)
{
  int view = td_global_x (), row = td_global_y ();

  if (view >= n_views)
    return;
  int bad = view_bad[(size_t) row * n_views + view];
  if (bad == 0 || bad >= n_columns)
    return;

  TD_GLOBAL float *line = data + row_of_view (row, view, n_views, n_columns);
  for (int column = 0; column < n_columns; column++) {
    if (td_isfinite (line[column]))
      continue;
    int end = column;
    while (end < n_columns && !td_isfinite (line[end]))
      end++;
    float left = column > 0 ? line[column - 1] : line[end];
    float right = end < n_columns ? line[end] : left;
    for (int i = column; i < end; i++)
      line[i] = column > 0 && (end == n_columns || i - column < end - 1 - i) ? left : right;
    column = end;
  }
}

/* Item x, y: view, row. A view without any sound sample takes those of the view nearest in angle
   that has, and of equally near ones the nearest by number. views is [view] of the share of a turn
   and the number in the scan. counters[views_at + number] counts the rows of a view that do so. A
   row without any sound sample in all views sets counters[rows_at + row]. */
TD_KERNEL void
prepare_repair_lost (TD_ITEM TD_OUT (float) data, TD_IN (int) view_bad, TD_OUT (int) counters,
                     TD_IN (float) views, int n_views, int n_columns, int row0, int views_at,
                     int rows_at)
{
  int view = td_global_x (), row = td_global_y (), from = -1;
  float best = 2.0f;

  if (view >= n_views)
    return;
  TD_GLOBAL const int *bad = view_bad + (size_t) row * n_views;
  if (bad[view] < n_columns)
    return;
  for (int away = 1; away < n_views; away++)
    for (int side = -1; side <= 1; side += 2) {
      int other = view + side * away;
      if (other < 0 || other >= n_views || bad[other] >= n_columns)
        continue;
      float apart = views[2 * other] - views[2 * view];
      apart = apart < 0.0f ? -apart : apart;
      apart = apart > 0.5f ? 1.0f - apart : apart;
      if (apart < best - 1e-6f) { /* of a turn: rounding */
        best = apart;
        from = other;
      }
    }
  if (from >= 0)
    td_atomic_add_int (&counters[views_at + (int) views[2 * view + 1]], 1);
  else if (view == 0)
    counters[rows_at + row0 + row] = 1;
  size_t to_at = row_of_view (row, view, n_views, n_columns);
  size_t from_at = row_of_view (row, td_max (from, 0), n_views, n_columns);
  for (int column = 0; column < n_columns; column++)
    data[to_at + column] = from < 0 ? 0.0f : data[from_at + column];
}

/* Whether a pixel has one value in n_samples views all over the scan. */
TD_FN int
is_constant (TD_IN (float) row, int column, int n_samples, int n_views, int n_columns)
{
  for (int i = 1; i < n_samples; i++) {
    size_t view = (size_t) i * (n_views - 1) / (n_samples - 1);
    if (row[view * n_columns + column] != row[column])
      return 0;
  }
  return 1;
}

/* Counts pixels that are constant and not 0; n_samples views show of most that they are not. Within
   `reach` columns on both sides there are others that are not: air without noise is constant as
   well, but up to an edge. Item x, y: a strip of columns, a row from row0 on. */
TD_KERNEL void
prepare_find_stuck (TD_ITEM TD_IN (float) data, TD_OUT (int) counters, int n_samples, int reach,
                    int n_views, int n_columns, int strip, int counter, int row0)
{
  int first = td_global_x () * strip, end = td_min (first + strip, n_columns), stuck = 0;
  TD_GLOBAL const float *row = data + row_of_view (row0 + td_global_y (), 0, n_views, n_columns);

  for (int column = first; column < end; column++) {
    if (row[column] == 0.0f || !is_constant (row, column, n_samples, n_views, n_columns))
      continue;
    int left = 0, right = 0;
    for (int away = 1; away <= reach; away++) {
      left |= column >= away && !is_constant (row, column - away, n_samples, n_views, n_columns);
      right |= column + away < n_columns
               && !is_constant (row, column + away, n_samples, n_views, n_columns);
    }
    stuck += left && right && is_constant (row, column, n_views, n_views, n_columns);
  }
  if (stuck > 0)
    td_atomic_add_int (&counters[counter], stuck);
}

/* Intensity to transmission: (I - dark) / beam. dark is [row][column]; beam is
   [group][row][column], and places[view][2] a group and the share of the next one. */
TD_KERNEL void
prepare_flat_field (TD_ITEM TD_OUT (float) data, TD_IN (float) dark, TD_IN (float) beam,
                    TD_IN (float) places, int n_rows, int n_views, int n_columns, int strip)
{
  int first = td_global_x () * strip, view = td_global_y (), row = td_global_z ();
  int end = td_min (first + strip, n_columns);
  int group = (int) places[2 * view];
  float share = places[2 * view + 1];
  size_t pixel = (size_t) row * n_columns, pixels = (size_t) n_rows * n_columns;
  TD_GLOBAL float *line = data + row_of_view (row, view, n_views, n_columns);
  TD_GLOBAL const float *low = beam + group * pixels + pixel;
  TD_GLOBAL const float *high = share > 0.0f ? low + pixels : low;

  for (int column = first; column < end; column++)
    line[column] = (line[column] - dark[pixel + column])
                   / td_fma (share, high[column] - low[column], low[column]);
}

/* Item x, y: entry of the list, view. dead is [entry] of row, column, source column (-1: the whole
   row is dead, which leaves `value`). */
TD_KERNEL void
prepare_fill_dead (TD_ITEM TD_OUT (float) data, TD_IN (int) dead, int n_dead, int n_views,
                   int n_columns, float value)
{
  int entry = td_global_x (), view = td_global_y ();

  if (entry >= n_dead)
    return;
  size_t at = row_of_view (dead[3 * entry], view, n_views, n_columns);
  int source = dead[3 * entry + 2];
  data[at + dead[3 * entry + 1]] = source < 0 ? value : data[at + source];
}

/* Transmission to -log; what is below floor_value is raised to it, and zero and negative values are
   counted in counters[counter], of rows [count0, count_end). Those of each view are in
   counters[views_at + number], with views as above. */
TD_KERNEL void
prepare_minus_log (TD_ITEM TD_OUT (float) data, TD_OUT (int) counters, TD_IN (float) views,
                   int n_views, int n_columns, int strip, float floor_value, int counter,
                   int views_at, int count0, int count_end)
{
  int first = td_global_x () * strip, view = td_global_y (), row = td_global_z ();
  int end = td_min (first + strip, n_columns);
  size_t at = row_of_view (row, view, n_views, n_columns);
  int clamped = 0;

  for (int column = first; column < end; column++) {
    float value = data[at + column];
    int low = value > 0.0f ? 0 : 1;
    clamped += low;
    data[at + column] = -log_of (value > floor_value ? value : floor_value);
  }
  if (clamped > 0 && row >= count0 && row < count_end) {
    td_atomic_add_int (&counters[counter], clamped);
    td_atomic_add_int (&counters[views_at + (int) views[2 * view + 1]], clamped);
  }
}

/* Mean attenuation of `count` columns in 8192ths, so that sums of any order agree. */
TD_FN int
level_of (TD_IN (float) line, int count)
{
  float sum = 0.0f;

  for (int column = 0; column < count; column++)
    sum += line[column];
  return (int) (td_max (-4.0f, td_min (4.0f, sum / (float) count)) * 8192.0f + 32768.5f) - 32768;
}

/* What attenuations say of the detector's sides, `sides` columns each. Values below bright_value
   are counted in counters[bright_counter]. Levels of five strips are added to counters from
   sides_at + 5 number on. Two are the outer and inner half on the left, two the inner and outer
   half on the right, and one lies in the middle. Item x, y: view, row from row0 on. */
TD_KERNEL void
prepare_look_at_sides (TD_ITEM TD_IN (float) data, TD_OUT (int) counters, TD_IN (float) views,
                       int n_views, int n_columns, float bright_value, int sides,
                       int bright_counter, int sides_at, int row0)
{
  int view = td_global_x (), row = row0 + td_global_y (), half_side = sides / 2, bright = 0;

  if (view >= n_views)
    return;
  TD_GLOBAL const float *left = data + row_of_view (row, view, n_views, n_columns);
  TD_GLOBAL const float *right = left + (n_columns - sides);
  TD_GLOBAL int *sums = counters + sides_at + 5 * (int) views[2 * view + 1];

  for (int column = 0; column < sides; column++)
    bright += (left[column] < bright_value ? 1 : 0) + (right[column] < bright_value ? 1 : 0);
  if (bright > 0)
    td_atomic_add_int (&counters[bright_counter], bright);
  td_atomic_add_int (&sums[0], level_of (left, half_side));
  td_atomic_add_int (&sums[1], level_of (left + (sides - half_side), half_side));
  td_atomic_add_int (&sums[2], level_of (right, half_side));
  td_atomic_add_int (&sums[3], level_of (right + (sides - half_side), half_side));
  td_atomic_add_int (&sums[4], level_of (left + (n_columns - sides) / 2, sides));
}
