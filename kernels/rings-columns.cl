/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Columns of sinograms as sums of modes along the angle, profiles of columns, and the columns that
   stand out in a profile. A profile is [row][column]. */
#include "rings-common.h"

/* Modes that one reading of the data serves. */
#define MODES 8

/* ── Modes ───────────────────────────────────────────────────────────────────────────────────── */

TD_FN void
project_block (TD_GLOBAL const float *data, TD_GLOBAL const float *table, TD_GLOBAL float *out,
               int n_views, int n_columns, int n_modes, int width)
{
  float sums[MODES][TD_LANES];

  for (int k = 0; k < MODES; k++)
    for (int l = 0; l < width; l++)
      sums[k][l] = 0;
  for (int view = 0; view < n_views; view++) {
    TD_GLOBAL const float *line = data + (size_t) view * n_columns;
    for (int k = 0; k < n_modes; k++) {
      float factor = table[(size_t) k * n_views + view];
      for (int l = 0; l < width; l++)
        sums[k][l] = td_fma (factor, line[l], sums[k][l]);
    }
  }
  for (int k = 0; k < n_modes; k++)
    for (int l = 0; l < width; l++)
      out[(size_t) k * n_columns + l] = sums[k][l];
}

/* modes[row][mode][column] = sum over the views of table[mode][view] data[view][column]. */
TD_KERNEL void
rings_project (TD_ITEM TD_IN (float) data, TD_IN (float) table, TD_OUT (float) modes, int first_row,
               int n_views, int n_columns, int n_modes)
{
  int item = rings_item (td_global_x (), td_global_y ()), row = td_global_z ();
  int blocks = (n_columns + TD_LANES - 1) / TD_LANES;
  int column = item % blocks * TD_LANES, mode = item / blocks * MODES;

  if (mode >= n_modes)
    return;
  int width = td_min (TD_LANES, n_columns - column), count = td_min (MODES, n_modes - mode);
  TD_GLOBAL const float *from = data + (size_t) (first_row + row) * n_views * n_columns + column;
  TD_GLOBAL float *out = modes + ((size_t) row * n_modes + mode) * n_columns + column;
  table += (size_t) mode * n_views;
  if (width == TD_LANES && count == MODES)
    project_block (from, table, out, n_views, n_columns, MODES, TD_LANES);
  else if (width == TD_LANES)
    project_block (from, table, out, n_views, n_columns, count, TD_LANES);
  else
    project_block (from, table, out, n_views, n_columns, count, width);
}

TD_FN void
add_modes (TD_GLOBAL float *line, TD_GLOBAL const float *table, TD_GLOBAL const float *modes,
           int n_views, int n_columns, int n_modes, int width)
{
  float sums[TD_LANES];

  for (int l = 0; l < width; l++)
    sums[l] = line[l];
  for (int k = 0; k < n_modes; k++) {
    float factor = table[(size_t) k * n_views];
    for (int l = 0; l < width; l++)
      sums[l] = td_fma (factor, modes[(size_t) k * n_columns + l], sums[l]);
  }
  for (int l = 0; l < width; l++)
    line[l] = sums[l];
}

/* data[view][column] += sum over the modes of table[mode][view] modes[mode][column]; an item takes
   `views` views. */
TD_KERNEL void
rings_add_modes (TD_ITEM TD_OUT (float) data, TD_IN (float) table, TD_IN (float) modes,
                 int first_row, int n_views, int n_columns, int n_modes, int views)
{
  int item = rings_item (td_global_x (), td_global_y ()), row = td_global_z ();
  int blocks = (n_columns + TD_LANES - 1) / TD_LANES;
  int column = item % blocks * TD_LANES, first = item / blocks * views;
  int end = td_min (first + views, n_views), width = td_min (TD_LANES, n_columns - column);
  TD_GLOBAL const float *from = modes + (size_t) row * n_modes * n_columns + column;

  for (int view = first; view < end; view++) {
    TD_GLOBAL float *line = data + ((size_t) (first_row + row) * n_views + view) * n_columns
        + column;
    if (width == TD_LANES)
      add_modes (line, table + view, from, n_views, n_columns, n_modes, TD_LANES);
    else
      add_modes (line, table + view, from, n_views, n_columns, n_modes, width);
  }
}

/* data *= b / a with a and b the sums of their modes. What is not a reasonable factor leaves the
   sample as it is: a fit that comes near zero divides by nothing. */
TD_KERNEL void
rings_divide_modes (TD_ITEM TD_OUT (float) data, TD_IN (float) table, TD_IN (float) a,
                    TD_IN (float) b, int first_row, int n_views, int n_columns, int n_modes,
                    int strip, float most)
{
  int item = rings_item (td_global_x (), td_global_y ()), row = td_global_z ();
  int strips = (n_columns + strip - 1) / strip;
  int view = item / strips, first = item % strips * strip;
  int end = td_min (first + strip, n_columns);
  size_t at = (size_t) row * n_modes * n_columns;

  if (view >= n_views)
    return;
  TD_GLOBAL float *line = data + ((size_t) (first_row + row) * n_views + view) * n_columns;
  for (int column = first; column < end; column++) {
    float fit = 0, smooth = 0;
    for (int k = 0; k < n_modes; k++) {
      float factor = table[(size_t) k * n_views + view];
      fit = td_fma (factor, a[at + (size_t) k * n_columns + column], fit);
      smooth = td_fma (factor, b[at + (size_t) k * n_columns + column], smooth);
    }
    int sound = fit * smooth > 0.0f && td_abs (smooth) <= most * td_abs (fit)
                && td_abs (fit) <= most * td_abs (smooth);
    line[column] = sound ? line[column] * (smooth / fit) : line[column];
  }
}

/* lines[column][view] = sum over the modes of table[mode][view] modes[mode][column]. */
TD_KERNEL void
rings_modes_to_lines (TD_ITEM TD_IN (float) table, TD_IN (float) modes, TD_OUT (float) lines,
                      int n_views, int n_columns, int n_modes)
{
  int item = rings_item (td_global_x (), td_global_y ()), row = td_global_z ();
  int blocks = (n_views + TD_LANES - 1) / TD_LANES;
  int view = item % blocks * TD_LANES, column = item / blocks;
  float sums[TD_LANES];

  if (column >= n_columns)
    return;
  int width = td_min (TD_LANES, n_views - view);
  for (int l = 0; l < TD_LANES; l++)
    sums[l] = 0;
  for (int k = 0; k < n_modes; k++) {
    float factor = modes[((size_t) row * n_modes + k) * n_columns + column];
    TD_GLOBAL const float *wave = table + (size_t) k * n_views + view;
    if (width == TD_LANES)
      for (int l = 0; l < TD_LANES; l++)
        sums[l] = td_fma (factor, wave[l], sums[l]);
    else
      for (int l = 0; l < width; l++)
        sums[l] = td_fma (factor, wave[l], sums[l]);
  }
  TD_GLOBAL float *to = lines + ((size_t) row * n_columns + column) * n_views + view;
  for (int l = 0; l < width; l++)
    to[l] = sums[l];
}

/* bins[slot][bin][column] = mean of data over the bin's views, which are cut evenly, less
   offsets[slot][column]. A slot is the row rows[slot] of the chunk. bin_rows are written, those
   beyond n_bins with 0. An item takes a bin of TD_LANES columns. */
TD_KERNEL void
rings_bin_views (TD_ITEM TD_IN (float) data, TD_IN (int) rows, TD_IN (float) offsets,
                 TD_OUT (float) bins, int first_row, int n_views, int n_columns, int n_bins,
                 int bin_rows)
{
  int item = rings_item (td_global_x (), td_global_y ()), slot = td_global_z ();
  int blocks = (n_columns + TD_LANES - 1) / TD_LANES;
  int column = item % blocks * TD_LANES, bin = item / blocks;
  float sums[TD_LANES];

  if (bin >= bin_rows)
    return;
  int first = bin < n_bins ? (int) ((size_t) bin * n_views / n_bins) : 0,
      end = bin < n_bins ? (int) ((size_t) (bin + 1) * n_views / n_bins) : 0;
  int width = td_min (TD_LANES, n_columns - column);
  for (int l = 0; l < TD_LANES; l++)
    sums[l] = 0;
  for (int view = first; view < end; view++) {
    TD_GLOBAL const float *in
        = data + ((size_t) (first_row + rows[slot]) * n_views + view) * n_columns + column;
    if (width == TD_LANES)
      for (int l = 0; l < TD_LANES; l++)
        sums[l] += in[l];
    else
      for (int l = 0; l < width; l++)
        sums[l] += in[l];
  }
  TD_GLOBAL const float *offset = offsets + (size_t) slot * n_columns + column;
  TD_GLOBAL float *to = bins + ((size_t) slot * bin_rows + bin) * n_columns + column;
  for (int l = 0; l < width; l++)
    to[l] = bin < n_bins ? sums[l] / (float) (end - first) - offset[l] : 0.0f;
}

/* taken[row][i][column]: two views of each row, the first of them views[i / 2]. */
TD_KERNEL void
rings_take_views (TD_ITEM TD_IN (float) data, TD_IN (int) views, TD_OUT (float) taken,
                  int first_row, int n_views, int n_columns, int n_taken)
{
  int item = rings_item (td_global_x (), td_global_y ()), row = td_global_z ();
  int column = item % n_columns, i = item / n_columns;

  if (i >= n_taken)
    return;
  size_t from = (size_t) (first_row + row) * n_views + views[i / 2] + i % 2;
  taken[((size_t) row * n_taken + i) * n_columns + column] = data[from * n_columns + column];
}

/* ── Profiles ────────────────────────────────────────────────────────────────────────────────── */

/* Convolution with a symmetric kernel, weights[0 … radius], mirrored at the ends; for each of
   n_lines profiles of n_columns. An item takes TD_LANES columns. */
TD_KERNEL void
rings_smooth_profile (TD_ITEM TD_IN (float) from, TD_IN (float) weights, TD_OUT (float) to,
                      int n_columns, int n_lines, int radius, int subtract)
{
  int item = rings_item (td_global_x (), td_global_y ());
  int blocks = (n_columns + TD_LANES - 1) / TD_LANES;
  int first = item % blocks * TD_LANES, line = item / blocks;

  if (line >= n_lines)
    return;
  int end = td_min (first + TD_LANES, n_columns);
  size_t at = ((size_t) td_global_z () * n_lines + line) * n_columns;
  for (int column = first; column < end; column++) {
    float sum = weights[0] * from[at + column];
    for (int i = 1; i <= radius; i++)
      sum = td_fma (weights[i], from[at + rings_mirrored (column - i, n_columns)]
                                    + from[at + rings_mirrored (column + i, n_columns)], sum);
    to[at + column] = subtract ? sum - from[at + column] : sum;
  }
}

/* sums[row][piece][line] over the places [first, end) of each line, `length` of them a piece. */
TD_KERNEL void
rings_sum_lines (TD_ITEM TD_IN (float) lines, TD_OUT (float) sums, int n, int n_lines, int first,
                 int end, int length, int n_pieces)
{
  int item = rings_item (td_global_x (), td_global_y ()), row = td_global_z ();
  int line = item % n_lines, piece = item / n_lines;
  float lanes[TD_LANES], sum = 0;

  if (piece >= n_pieces)
    return;
  int from = first + piece * length, to = td_min (from + length, end);
  TD_GLOBAL const float *in = lines + ((size_t) row * n_lines + line) * n;
  for (int l = 0; l < TD_LANES; l++)
    lanes[l] = 0;
  for (; from + TD_LANES <= to; from += TD_LANES)
    for (int l = 0; l < TD_LANES; l++)
      lanes[l] += in[from + l];
  for (; from < to; from++)
    sum += in[from];
  for (int l = 0; l < TD_LANES; l++)
    sum += lanes[l];
  sums[((size_t) row * n_pieces + piece) * n_lines + line] = sum;
}

#define PREFETCH_VIEWS 8

TD_FN void
sum_roughness (TD_GLOBAL const float *data, TD_GLOBAL float *sums, RingsLines views, int window,
               int width)
{
  float total[TD_LANES], mean[TD_LANES];

  for (int l = 0; l < width; l++)
    total[l] = 0;
  for (int view = views.first; view < views.end; view++) {
    for (int l = 0; l < width; l++)
      mean[l] = 0;
    for (int j = -window / 2; j < window - window / 2; j++) {
      TD_GLOBAL const float *line
          = data + (size_t) rings_mirrored (view + j, views.n_lines) * views.n;
      for (int l = 0; l < width; l++)
        mean[l] += line[l];
    }
    TD_GLOBAL const float *line = data + (size_t) view * views.n;
    /* One line of memory from each of many rows: no CPU guesses the next. */
    TD_GLOBAL const float *ahead
        = data + (size_t) td_min (view + window + PREFETCH_VIEWS, views.n_lines - 1) * views.n;
    td_prefetch (ahead);
    td_prefetch (ahead + TD_LANES / 2);
    /* What the division rounds is no roughness: columns that stay the same have none. */
    for (int l = 0; l < width; l++) {
      float away = td_abs (line[l] - mean[l] / (float) window);
      total[l] += away > 1e-6f * td_abs (line[l]) ? away : 0.0f;
    }
  }
  for (int l = 0; l < width; l++)
    sums[l] = total[l];
}

/* sums[row][piece][column] of |data - its mean over `window` views around|, `length` views a
   piece. */
TD_KERNEL void
rings_sum_roughness (TD_ITEM TD_IN (float) data, TD_OUT (float) sums, int first_row, int n_views,
                     int n_columns, int window, int length, int n_pieces)
{
  int item = rings_item (td_global_x (), td_global_y ()), row = td_global_z ();
  int blocks = (n_columns + TD_LANES - 1) / TD_LANES;
  int column = item % blocks * TD_LANES, piece = item / blocks;

  if (piece >= n_pieces)
    return;
  int width = td_min (TD_LANES, n_columns - column), first = piece * length;
  RingsLines views = { n_columns, n_views, first, td_min (first + length, n_views) };
  TD_GLOBAL const float *from = data + (size_t) (first_row + row) * n_views * n_columns + column;
  TD_GLOBAL float *out = sums + ((size_t) row * n_pieces + piece) * n_columns + column;
  if (width == TD_LANES)
    sum_roughness (from, out, views, window, TD_LANES);
  else
    sum_roughness (from, out, views, window, width);
}

/* profile = scale × the sum of the pieces. An item takes a column. */
TD_KERNEL void
rings_join_sums (TD_ITEM TD_IN (float) sums, TD_OUT (float) profile, int n_columns, int n_pieces,
                 float scale)
{
  int column = rings_item (td_global_x (), td_global_y ()), row = td_global_z ();
  float sum = 0;

  if (column >= n_columns)
    return;
  for (int piece = 0; piece < n_pieces; piece++)
    sum += sums[((size_t) row * n_pieces + piece) * n_columns + column];
  profile[(size_t) row * n_columns + column] = scale * sum;
}

/* ── Arcs of the turn ────────────────────────────────────────────────────────────────────────── */

#define STEPS 8       /* from the median to where arcs agree */
#define ALIKE 5.0f    /* standard deviations from there within which arcs count */
#define TOGETHER 4.0f /* the same of three columns' sum, whose deviation is 0.816 of the columns' */
#define SPARED 1e-3f  /* what is left of an arc's weight, lest none counts */

/* Where the first and last column have no neighbour, they are their own. */
TD_FN void
sum_curvature (TD_GLOBAL const float *line, float *sums, int column, int n_columns, int width)
{
  if (column > 0 && column + width < n_columns)
    for (int l = 0; l < width; l++) {
      int c = column + l;
      sums[l] += (line[c] - line[c - 1]) + (line[c] - line[c + 1]);
    }
  else
    for (int l = 0; l < width; l++) {
      int c = column + l, left = td_max (c - 1, 0), right = td_min (c + 1, n_columns - 1);
      sums[l] += (line[c] - line[left]) + (line[c] - line[right]);
    }
}

/* arcs[row][arc][column]: the mean second difference of `length` views. */
TD_KERNEL void
rings_sum_arcs (TD_ITEM TD_IN (float) data, TD_OUT (float) arcs, int first_row, int n_views,
                int n_columns, int length, int n_arcs)
{
  int item = rings_item (td_global_x (), td_global_y ()), row = td_global_z ();
  int blocks = (n_columns + TD_LANES - 1) / TD_LANES;
  int column = item % blocks * TD_LANES, arc = item / blocks;
  float sums[TD_LANES];

  if (arc >= n_arcs)
    return;
  int width = td_min (TD_LANES, n_columns - column);
  TD_GLOBAL const float *line
      = data + ((size_t) (first_row + row) * n_views + (size_t) arc * length) * n_columns;
  TD_GLOBAL float *out = arcs + ((size_t) row * n_arcs + arc) * n_columns + column;
  for (int l = 0; l < TD_LANES; l++)
    sums[l] = 0;
  for (int view = 0; view < length; view++, line += n_columns)
    if (width == TD_LANES)
      sum_curvature (line, sums, column, n_columns, TD_LANES);
    else
      sum_curvature (line, sums, column, n_columns, width);
  for (int l = 0; l < width; l++)
    out[l] = sums[l] / (float) length;
}

/* How much what lies so many times its bound away counts: Tukey's biweight. */
TD_FN float
biweight (float away)
{
  float inside = td_max (1.0f - away * away, 0.0f);
  return inside * inside;
}

/* located[row][column]: where most arcs agree, from the first profile of `found` on.
   bounds: 0, where that stays, or 2 deviations of one view's noise; an arc has `share` of it. */
TD_KERNEL void
rings_locate_arcs (TD_ITEM TD_IN (float) arcs, TD_IN (float) bounds, TD_IN (float) found,
                   TD_OUT (float) located, int n_columns, int n_arcs, float share)
{
  int column = rings_item (td_global_x (), td_global_y ()) * TD_LANES, row = td_global_z ();
  float at[TD_LANES], scales[TD_LANES], moves[TD_LANES], weights[TD_LANES];

  if (column >= n_columns)
    return;
  int width = td_min (TD_LANES, n_columns - column);
  arcs += (size_t) row * n_arcs * n_columns + column;
  for (int l = 0; l < TD_LANES; l++) {
    float bound = l < width ? bounds[(size_t) row * n_columns + column + l] : 0.0f;
    at[l] = l < width ? found[(size_t) row * TD_RINGS_FOUND * n_columns + column + l] : 0.0f;
    scales[l] = bound > 0.0f ? 2.0f / (ALIKE * share * bound) : 0.0f;
  }
  for (int step = 0; step < STEPS; step++) {
    for (int l = 0; l < TD_LANES; l++)
      moves[l] = weights[l] = 0;
    for (int arc = 0; arc < n_arcs; arc++)
      for (int l = 0; l < width; l++) {
        float away = arcs[(size_t) arc * n_columns + l] - at[l];
        float weight = biweight (away * scales[l]);
        moves[l] += weight * away;
        weights[l] += weight;
      }
    for (int l = 0; l < TD_LANES; l++)
      at[l] += scales[l] > 0.0f ? moves[l] / td_max (weights[l], 1.0f) : 0.0f;
  }
  for (int l = 0; l < width; l++)
    located[(size_t) row * n_columns + column + l] = at[l];
}

/* The first profile of `found` becomes the mean of arcs, the fifth the share of them that counts.
   Those do not count in which the column stands out from `located`, or the column and its
   neighbours together. Together they have less noise than one has, and an edge is in all. */
TD_KERNEL void
rings_mean_arcs (TD_ITEM TD_IN (float) arcs, TD_IN (float) bounds, TD_IN (float) located,
                 TD_OUT (float) found, int n_columns, int n_arcs, float share)
{
  int column = rings_item (td_global_x (), td_global_y ()), row = td_global_z ();
  int columns[3] = { td_max (column - 1, 0), column, td_min (column + 1, n_columns - 1) };
  float at[3], scales[3], move = 0, weights = 0;

  if (column >= n_columns || !(bounds[(size_t) row * n_columns + column] > 0.0f))
    return;
  found += (size_t) row * TD_RINGS_FOUND * n_columns + column;
  arcs += (size_t) row * n_arcs * n_columns;
  for (int k = 0; k < 3; k++) {
    at[k] = located[(size_t) row * n_columns + columns[k]];
    scales[k] = 2.0f / (share * bounds[(size_t) row * n_columns + columns[k]]);
  }
  for (int arc = 0; arc < n_arcs; arc++, arcs += n_columns) {
    float away = arcs[column] - at[1], together = 0;
    for (int k = 0; k < 3; k++)
      together += scales[k] * (arcs[columns[k]] - at[k]);
    float weight = biweight (scales[1] * away / ALIKE)
                   * td_max (biweight (together / (0.81649658f * TOGETHER)), SPARED);
    move += weight * away;
    weights += weight;
  }
  found[0] = at[1] + move / td_max (weights, 0.5f);
  found[(size_t) 4 * n_columns] = weights / (float) n_arcs;
}

/* ── What stands out ─────────────────────────────────────────────────────────────────────────── */

/* ratio = a / b; 1 where b is 0, and where the two differ by more than the factor `most`. */
TD_KERNEL void
rings_ratio (TD_ITEM TD_IN (float) a, TD_IN (float) b, TD_OUT (float) ratio, int n_columns,
             float most)
{
  int column = rings_item (td_global_x (), td_global_y ());
  size_t at = (size_t) td_global_z () * n_columns + column;

  if (column >= n_columns)
    return;
  float value = b[at] != 0.0f ? a[at] / b[at] : 1.0f;
  ratio[at] = most > 0.0f && (value > most || value * most < 1.0f) ? 1.0f : value;
}

/* Vo et al. 2018, algorithm 4: a line through the middle half of the sorted profile says what noise
   is; thresholds[row] of low, high. One item a row: the profile is short. */
TD_KERNEL void
rings_thresholds (TD_ITEM TD_IN (float) sorted, TD_OUT (float) thresholds, int n_columns, float snr)
{
  int item = rings_item (td_global_x (), td_global_y ()), row = td_global_z ();
  TD_GLOBAL const float *rising = sorted + (size_t) row * n_columns;
  int dropped = n_columns / 4, count = n_columns - 2 * dropped - 1;

  if (item > 0)
    return;
  thresholds[2 * row] = -3.402823466e38f;
  thresholds[2 * row + 1] = 3.402823466e38f;
  if (count < 2)
    return;

  /* Place j of the falling list is n - 1 - j of the rising one. Places and values count from the
     middle, so that single precision is enough. */
  float middle = 0.5f * (float) (count - 1), base = rising[n_columns - 1 - dropped - count / 2];
  float sum = 0, slanted = 0, places = 0;
  for (int i = 0; i < count; i++) {
    float place = (float) i - middle, value = rising[n_columns - 1 - dropped - i] - base;
    sum += value;
    slanted = td_fma (place, value, slanted);
    places = td_fma (place, place, places);
  }
  float slope = slanted / places;
  float at_first = base + sum / (float) count - slope * (middle + (float) dropped);
  float at_last = at_first + slope * (float) (n_columns - 1);
  float noise = td_abs (at_last - at_first);
  if (noise == 0.0f)
    return;
  if (td_abs (rising[n_columns - 1] - at_first) >= snr * noise)
    thresholds[2 * row + 1] = at_first + 0.5f * snr * noise;
  if (td_abs (rising[0] - at_last) >= snr * noise)
    thresholds[2 * row] = at_last - 0.5f * snr * noise;
}

TD_FN int
stands_out (TD_GLOBAL const float *profile, TD_GLOBAL const float *thresholds, int column,
            int n_columns)
{
  if (column < 0 || column >= n_columns)
    return 0;
  return profile[column] > thresholds[1] || profile[column] <= thresholds[0];
}

/* marks = 1 at columns that stand out and their neighbours, but none in `margin` columns at the
   ends. */
TD_KERNEL void
rings_mark (TD_ITEM TD_IN (float) profile, TD_IN (float) thresholds, TD_OUT (float) marks,
            int n_columns, int margin)
{
  int column = rings_item (td_global_x (), td_global_y ()), row = td_global_z ();
  TD_GLOBAL const float *line = profile + (size_t) row * n_columns;
  TD_GLOBAL const float *limits = thresholds + 2 * row;

  if (column >= n_columns)
    return;
  int marked = stands_out (line, limits, column - 1, n_columns)
               || stands_out (line, limits, column, n_columns)
               || stands_out (line, limits, column + 1, n_columns);
  marked = marked && column >= margin && column < n_columns - margin;
  marks[(size_t) row * n_columns + column] = marked ? 1.0f : 0.0f;
}

/* data /= factors[row][column], where a factor is not 0. */
TD_KERNEL void
rings_divide_columns (TD_ITEM TD_OUT (float) data, TD_IN (float) factors, int first_row,
                      int n_views, int n_columns, int strip)
{
  int item = rings_item (td_global_x (), td_global_y ()), row = td_global_z ();
  int strips = (n_columns + strip - 1) / strip;
  int view = item / strips, first = item % strips * strip;
  int end = td_min (first + strip, n_columns);

  if (view >= n_views)
    return;
  TD_GLOBAL float *line = data + ((size_t) (first_row + row) * n_views + view) * n_columns;
  TD_GLOBAL const float *factor = factors + (size_t) row * n_columns;
  for (int column = first; column < end; column++)
    line[column] = factor[column] != 0.0f ? line[column] / factor[column] : line[column];
}

/* Marked columns take the straight line between their nearest unmarked ones. */
TD_KERNEL void
rings_bridge (TD_ITEM TD_OUT (float) data, TD_IN (float) marks, int first_row, int n_views,
              int n_columns, int strip)
{
  int item = rings_item (td_global_x (), td_global_y ()), row = td_global_z ();
  int strips = (n_columns + strip - 1) / strip;
  int view = item / strips, first = item % strips * strip;
  int end = td_min (first + strip, n_columns);

  if (view >= n_views)
    return;
  TD_GLOBAL float *line = data + ((size_t) (first_row + row) * n_views + view) * n_columns;
  TD_GLOBAL const float *marked = marks + (size_t) row * n_columns;
  for (int column = first; column < end; column++) {
    if (marked[column] == 0.0f)
      continue;
    int left = column - 1, right = column + 1;
    while (left > 0 && marked[left] != 0.0f)
      left--;
    while (right < n_columns - 1 && marked[right] != 0.0f)
      right++;
    float part = (float) (column - left) / (float) (right - left);
    line[column] = line[left] + part * (line[right] - line[left]);
  }
}
