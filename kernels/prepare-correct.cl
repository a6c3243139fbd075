/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Corrections of intensities, transmissions and line integrals. data is [row][view][column]
   throughout. An item takes `strip` columns of one view of one row: x counts strips, y views, z
   rows, unless said otherwise. */
#include "prepare-common.h"

/* Where pixel row * n_columns + column lies in a view. */
TD_FN size_t
place_of_pixel (int pixel, int view, int n_views, int n_columns)
{
  return row_of_view (pixel / n_columns, view, n_views, n_columns) + pixel % n_columns;
}

/* Item x, y: entry of the list, view. places is [entry] of a pixel and its four sources (-1: none),
   weights [entry][4]. */
TD_KERNEL void
prepare_bad_pixels (TD_ITEM TD_OUT (float) data, TD_IN (int) places, TD_IN (float) weights,
                    int n_bad, int n_views, int n_columns)
{
  int entry = td_global_x (), view = td_global_y ();
  float value = 0.0f;

  if (entry >= n_bad)
    return;
  for (int i = 0; i < 4; i++) {
    int source = places[5 * entry + 1 + i];
    if (source >= 0)
      value += weights[4 * entry + i] * data[place_of_pixel (source, view, n_views, n_columns)];
  }
  data[place_of_pixel (places[5 * entry], view, n_views, n_columns)] = value;
}

/* Divides each view by its dose. */
TD_KERNEL void
prepare_dose_frames (TD_ITEM TD_OUT (float) data, TD_IN (float) dose, int n_views, int n_columns,
                     int strip)
{
  int first = td_global_x () * strip, view = td_global_y (), row = td_global_z ();
  int end = td_min (first + strip, n_columns);
  TD_GLOBAL float *line = data + row_of_view (row, view, n_views, n_columns);
  float gain = 1.0f / dose[view];

  for (int column = first; column < end; column++)
    line[column] *= gain;
}

/* Item x, y: view, row. The mean of the first and of the last `width` columns, 1 where that is not
   above 0: ends is [row][view][2]. */
TD_KERNEL void
prepare_dose_ends (TD_ITEM TD_IN (float) data, TD_OUT (float) ends, int n_views, int n_columns,
                   int width)
{
  int view = td_global_x (), row = td_global_y ();

  if (view >= n_views)
    return;
  TD_GLOBAL const float *line = data + row_of_view (row, view, n_views, n_columns);
  size_t at = 2 * ((size_t) row * n_views + view);
  float left = 0.0f, right = 0.0f;

  for (int i = 0; i < width; i++) {
    left += line[i];
    right += line[n_columns - width + i];
  }
  ends[at] = left > 0.0f ? left / (float) width : 1.0f;
  ends[at + 1] = right > 0.0f ? right / (float) width : 1.0f;
}

/* Divides by the straight line from one end's mean to the other's. */
TD_KERNEL void
prepare_dose_rows (TD_ITEM TD_OUT (float) data, TD_IN (float) ends, int n_views, int n_columns,
                   int strip)
{
  int first = td_global_x () * strip, view = td_global_y (), row = td_global_z ();
  int end = td_min (first + strip, n_columns);
  size_t pair = 2 * ((size_t) row * n_views + view);
  float left = ends[pair];
  float slope = (ends[pair + 1] - left) / (float) td_max (n_columns - 1, 1);
  TD_GLOBAL float *line = data + row_of_view (row, view, n_views, n_columns);

  for (int column = first; column < end; column++)
    line[column] /= td_fma (slope, (float) column, left);
}

/* Item y: `span` views, whose sums go to sums[row][item y][column]. */
TD_KERNEL void
prepare_sum_views (TD_ITEM TD_IN (float) data, TD_OUT (float) sums, int n_views, int n_columns,
                   int n_spans, int span, int strip)
{
  int first = td_global_x () * strip, part = td_global_y (), row = td_global_z ();
  int end = td_min (first + strip, n_columns);
  int view0 = part * span, view1 = td_min (view0 + span, n_views);
  TD_GLOBAL const float *line = data + row_of_view (row, view0, n_views, n_columns);
  TD_GLOBAL float *sum = sums + row_of_view (row, part, n_spans, n_columns);

  if (strip == 1) { /* a column stays in a register, neighbouring items share transactions */
    float total = 0.0f;
    if (first >= n_columns)
      return;
    for (int view = view0; view < view1; view++, line += n_columns)
      total += line[first];
    sum[first] = total;
    return;
  }
  for (int column = first; column < end; column++)
    sum[column] = 0.0f;
  for (int view = view0; view < view1; view++, line += n_columns)
    for (int column = first; column < end; column++)
      sum[column] += line[column];
}

/* y counts nothing: means[row][column] of all views. */
TD_KERNEL void
prepare_mean_views (TD_ITEM TD_IN (float) sums, TD_OUT (float) means, int n_views, int n_columns,
                    int n_spans, int strip)
{
  int first = td_global_x () * strip, row = td_global_z ();
  int end = td_min (first + strip, n_columns);
  TD_GLOBAL const float *sum = sums + (size_t) row * n_spans * n_columns;

  for (int column = first; column < end; column++) {
    float total = 0.0f;
    for (int part = 0; part < n_spans; part++)
      total += sum[(size_t) part * n_columns + column];
    means[(size_t) row * n_columns + column] = total / (float) n_views;
  }
}

/* The pixel at `column` of a row mirrored at both edges, the edge pixels twice. */
TD_FN int
mirrored (int column, int n_columns)
{
  int period = 2 * n_columns;
  int at = column % period;

  at = at < 0 ? at + period : at;
  return at < n_columns ? at : period - 1 - at;
}

/* gain[row][column] = smooth (mean) / mean, 1 where the mean is not above 0. taps[0 … radius] is
   half of the kernel, its middle first. */
TD_KERNEL void
prepare_double_flat_gain (TD_ITEM TD_IN (float) means, TD_OUT (float) gain, TD_IN (float) taps,
                          int n_columns, int radius, int strip)
{
  int first = td_global_x () * strip, row = td_global_z ();
  int end = td_min (first + strip, n_columns);
  TD_GLOBAL const float *mean = means + (size_t) row * n_columns;

  for (int column = first; column < end; column++) {
    float smooth = taps[0] * mean[column];
    if (column >= radius && column + radius < n_columns)
      for (int i = 1; i <= radius; i++)
        smooth += taps[i] * (mean[column - i] + mean[column + i]);
    else
      for (int i = 1; i <= radius; i++)
        smooth += taps[i]
                  * (mean[mirrored (column - i, n_columns)]
                     + mean[mirrored (column + i, n_columns)]);
    gain[(size_t) row * n_columns + column] = mean[column] > 0.0f ? smooth / mean[column] : 1.0f;
  }
}

/* gain is [row][column]. */
TD_KERNEL void
prepare_gain (TD_ITEM TD_OUT (float) data, TD_IN (float) gain, int n_views, int n_columns,
              int strip)
{
  int first = td_global_x () * strip, view = td_global_y (), row = td_global_z ();
  int end = td_min (first + strip, n_columns);
  TD_GLOBAL float *line = data + row_of_view (row, view, n_views, n_columns);
  TD_GLOBAL const float *pixel = gain + (size_t) row * n_columns;

  for (int column = first; column < end; column++)
    line[column] *= pixel[column];
}

/* p → a1 p + a2 p² + a3 p³ + a4 p⁴ + a5 p⁵. */
TD_KERNEL void
prepare_polynomial (TD_ITEM TD_OUT (float) data, int n_views, int n_columns, int strip, float a1,
                    float a2, float a3, float a4, float a5)
{
  int first = td_global_x () * strip, view = td_global_y (), row = td_global_z ();
  int end = td_min (first + strip, n_columns);
  TD_GLOBAL float *line = data + row_of_view (row, view, n_views, n_columns);

  for (int column = first; column < end; column++) {
    float p = line[column];
    float sum = td_fma (td_fma (td_fma (td_fma (a5, p, a4), p, a3), p, a2), p, a1);
    line[column] = sum * p;
  }
}
