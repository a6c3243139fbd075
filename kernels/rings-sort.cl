/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Columns of sinograms as lines, sorted along the angle, and medians across them. */
#include "rings-common.h"

/* Views that one item turns: 8 rows of a width that is a power of two still fit an L1 cache's
   set. */
#define TILE_VIEWS 8

/* What an item turns: @width columns of @height views, and where it begins in data and in lines. */
typedef struct {
  int column, width, height; /* 0: nothing */
  size_t data, line;
} RingsTile;

TD_FN RingsTile
rings_tile (int item, int row, int first_row, int n_views, int n_columns)
{
  int blocks = (n_columns + TD_LANES - 1) / TD_LANES;
  int column = item % blocks * TD_LANES, view = item / blocks * TILE_VIEWS;
  RingsTile tile;

  tile.column = column;
  tile.width = td_min (TD_LANES, n_columns - column);
  tile.height = td_max (0, td_min (TILE_VIEWS, n_views - view));
  tile.data = ((size_t) (first_row + row) * n_views + view) * n_columns + column;
  tile.line = ((size_t) row * n_columns + column) * n_views + view;
  return tile;
}

TD_KERNEL void
rings_to_lines (TD_ITEM TD_IN (float) data, TD_OUT (float) lines, int first_row, int n_views,
                int n_columns)
{
  int item = rings_item (td_global_x (), td_global_y ()), row = td_global_z ();
  RingsTile tile = rings_tile (item, row, first_row, n_views, n_columns);
  int width = tile.width, height = tile.height;

  if (height == 0)
    return;
  TD_GLOBAL const float *from = data + tile.data;
  TD_GLOBAL float *to = lines + tile.line;
  for (int c = 0; c < width; c++)
    for (int v = 0; v < height; v++)
      to[(size_t) c * n_views + v] = from[(size_t) v * n_columns + c];
}

/* only_marked: columns with marks[row][column] != 0; the others stay. */
TD_KERNEL void
rings_from_lines (TD_ITEM TD_IN (float) lines, TD_IN (float) marks, TD_OUT (float) data,
                  int first_row, int n_views, int n_columns, int only_marked)
{
  int item = rings_item (td_global_x (), td_global_y ()), row = td_global_z ();
  RingsTile tile = rings_tile (item, row, first_row, n_views, n_columns);
  int width = tile.width, height = tile.height;

  if (height == 0)
    return;
  TD_GLOBAL const float *from = lines + tile.line;
  TD_GLOBAL float *to = data + tile.data;
  for (int c = 0; c < width; c++)
    if (!only_marked || marks[(size_t) row * n_columns + tile.column + c] != 0.0f)
      for (int v = 0; v < height; v++)
        to[(size_t) v * n_columns + c] = from[(size_t) c * n_views + v];
}

/* data += b - a */
TD_KERNEL void
rings_add_difference (TD_ITEM TD_IN (float) a, TD_IN (float) b, TD_OUT (float) data, int first_row,
                      int n_views, int n_columns)
{
  int item = rings_item (td_global_x (), td_global_y ()), row = td_global_z ();
  RingsTile tile = rings_tile (item, row, first_row, n_views, n_columns);
  int width = tile.width, height = tile.height;

  if (height == 0)
    return;
  size_t from = tile.line;
  TD_GLOBAL float *to = data + tile.data;
  for (int v = 0; v < height; v++)
    for (int c = 0; c < width; c++) {
      size_t at = from + (size_t) c * n_views + v;
      to[(size_t) v * n_columns + c] += b[at] - a[at];
    }
}

#if TD_LANES > 1
/* ── Sorting on CPUs: a thread takes lines one after another, by radix ───────────────────────── */

/* By eight bits at a time from the lowest; stable. The spare lines are the thread's own. */
TD_FN void
sort_line (TD_GLOBAL float *line, TD_GLOBAL int *order, TD_GLOBAL float *spare,
           TD_GLOBAL int *spare_order, int n)
{
  int counts[4][256];
  int moved = 0;

  for (int i = 0; i < 256; i++)
    counts[0][i] = counts[1][i] = counts[2][i] = counts[3][i] = 0;
  for (int i = 0; i < n; i++) {
    uint key = rings_key (line[i]);
    order[i] = i;
    for (int digit = 0; digit < 4; digit++)
      counts[digit][key >> 8 * digit & 255]++;
  }
  for (int digit = 0; digit < 4; digit++) {
    int start = 0;
    TD_GLOBAL const float *from = moved ? spare : line;
    TD_GLOBAL const int *from_order = moved ? spare_order : order;
    TD_GLOBAL float *to = moved ? line : spare;
    TD_GLOBAL int *to_order = moved ? order : spare_order;

    if (counts[digit][rings_key (from[0]) >> 8 * digit & 255] == n)
      continue;
    for (int i = 0; i < 256; i++) {
      int count = counts[digit][i];
      counts[digit][i] = start;
      start += count;
    }
    for (int i = 0; i < n; i++) {
      int at = counts[digit][rings_key (from[i]) >> 8 * digit & 255]++;
      to[at] = from[i];
      to_order[at] = from_order[i];
    }
    moved = !moved;
  }
  for (int i = 0; moved && i < n; i++) {
    line[i] = spare[i];
    order[i] = spare_order[i];
  }
}

/* Lines in place; order[line][i] says where the i-th smallest stood. An item takes `block`
   lines. */
TD_KERNEL void
rings_sort_lines (TD_ITEM TD_OUT (float) lines, TD_OUT (int) order, TD_OUT (float) spare,
                  TD_OUT (int) spare_order, int n, int n_lines, int block)
{
  int first = rings_item (td_global_x (), td_global_y ()) * block;
  int end = td_min (first + block, n_lines);
  size_t row = (size_t) td_global_z () * n_lines;

  for (int line = first; line < end; line++) {
    size_t at = (row + line) * n, own = (row + first) * n;
    sort_line (lines + at, order + at, spare + own, spare_order + own, n);
  }
}
#endif

/* ── Sorting on CPUs without an order: as many lines side by side as a vector has lanes ── */

/* The smaller of two values in each lane to the first place. */
TD_FN void
sort_exchange (TD_GLOBAL int *first, TD_GLOBAL int *second)
{
  int low[SORT_LANES], high[SORT_LANES];

  for (int l = 0; l < SORT_LANES; l++) {
    low[l] = td_min (first[l], second[l]);
    high[l] = td_max (first[l], second[l]);
  }
  for (int l = 0; l < SORT_LANES; l++)
    first[l] = low[l];
  for (int l = 0; l < SORT_LANES; l++)
    second[l] = high[l];
}

/* Batcher's merge exchange (Knuth, The Art of Computer Programming 3, algorithm 5.2.2M). */
TD_FN void
sort_lanes (TD_GLOBAL int *keys, int n)
{
  int top = 1;

  while (2 * top < n)
    top *= 2;
  for (int p = top; p > 0; p /= 2) {
    int q = top, r = 0, d = p;
    for (;;) {
      for (int i = 0; i + d < n; i++)
        if ((i & p) == r)
          sort_exchange (keys + (size_t) i * SORT_LANES, keys + (size_t) (i + d) * SORT_LANES);
      if (q == p)
        break;
      d = q - p;
      q /= 2;
      r = p;
    }
  }
}

#if TD_LANES > 1
/* The marked values of sorted lines take other values, which spare has in the same ranks. They
   are sorted again as if they had been columns: they go where the sorted values came from first. */
TD_KERNEL void
rings_resort_lines (TD_ITEM TD_OUT (float) lines, TD_OUT (int) order, TD_OUT (float) spare,
                    TD_OUT (int) spare_order, TD_IN (float) marks, int n, int n_lines)
{
  int line = rings_item (td_global_x (), td_global_y ());
  size_t row = (size_t) td_global_z () * n_lines, at = (row + line) * n;

  if (line >= n_lines || marks[row + line] == 0.0f)
    return;
  for (int i = 0; i < n; i++)
    lines[at + order[at + i]] = spare[at + i];
  sort_line (lines + at, order + at, spare + at, spare_order + at, n);
}
#endif

/* ── Sorting on GPUs: an item an element, which finds its place in ever longer runs ── */

#define RUN 32

TD_KERNEL void
rings_sort_runs (TD_ITEM TD_IN (float) lines, TD_OUT (float) to, TD_OUT (int) to_order, int n,
                 int n_lines)
{
  int item = rings_item (td_global_x (), td_global_y ()), line = item / n, i = item % n;

  if (line >= n_lines)
    return;
  size_t at = ((size_t) td_global_z () * n_lines + line) * n;
  int first = i / RUN * RUN, end = td_min (first + RUN, n), place = first;
  uint key = rings_key (lines[at + i]);
  for (int j = first; j < end; j++) {
    uint other = rings_key (lines[at + j]);
    place += other < key || (other == key && j < i) ? 1 : 0;
  }
  to[at + place] = lines[at + i];
  to_order[at + place] = i;
}

TD_KERNEL void
rings_merge_runs (TD_ITEM TD_IN (float) from, TD_IN (int) from_order, TD_OUT (float) to,
                  TD_OUT (int) to_order, int n, int n_lines, int run)
{
  int item = rings_item (td_global_x (), td_global_y ()), line = item / n, i = item % n;

  if (line >= n_lines)
    return;
  size_t at = ((size_t) td_global_z () * n_lines + line) * n;
  int number = i / run, first = number * run, other = (number ^ 1) * run;
  int low = td_min (other, n), high = td_min (other + run, n);
  uint key = rings_key (from[at + i]);
  /* Of equal ones those of the left run come first. */
  while (low < high) {
    int middle = (low + high) / 2;
    uint there = rings_key (from[at + middle]);
    if (there < key || (there == key && number % 2 == 1))
      low = middle + 1;
    else
      high = middle;
  }
  int place = i + low - (number % 2 == 1 ? first : td_min (other, n));
  to[at + place] = from[at + i];
  to_order[at + place] = from_order[at + i];
}

/* to[line][order[line][i]] = lines[line][i]; an item takes `strip` elements. */
TD_KERNEL void
rings_unsort (TD_ITEM TD_IN (float) lines, TD_IN (int) order, TD_OUT (float) to, int n, int n_lines,
              int strip)
{
  int item = rings_item (td_global_x (), td_global_y ()), strips = (n + strip - 1) / strip;
  int line = item / strips, first = item % strips * strip, end = td_min (first + strip, n);

  if (line >= n_lines)
    return;
  size_t at = ((size_t) td_global_z () * n_lines + line) * n;
  for (int i = first; i < end; i++)
    to[at + order[at + i]] = lines[at + i];
}

/* ── Medians across lines ────────────────────────────────────────────────────────────────────── */

/* A sorted window slides over the lines at `width` places at once. One pass over the window inserts
   the new value and removes the old one. t is the window with the new value. All values from the
   old one on move down by one place. There are no branches, so that CPUs do all places in
   vectors. */
TD_FN void
slide_median (TD_GLOBAL const float *from, TD_GLOBAL float *to, RingsLines lines, int size,
              int width)
{
  float window[TD_RINGS_MAX_MEDIAN][TD_LANES], carried[TD_LANES];
  int reach = size / 2;

  for (int j = 0; j < size; j++) {
    TD_GLOBAL const float *in
        = from + (size_t) rings_mirrored (lines.first - reach + j, lines.n_lines) * lines.n;
    for (int l = 0; l < width; l++)
      window[j][l] = in[l];
    for (int i = j; i > 0; i--)
      for (int l = 0; l < width; l++) {
        float low = td_min (window[i - 1][l], window[i][l]);
        window[i][l] = td_max (window[i - 1][l], window[i][l]);
        window[i - 1][l] = low;
      }
  }
  for (int line = lines.first; line < lines.end; line++) {
    for (int l = 0; l < width; l++)
      to[(size_t) line * lines.n + l] = window[reach][l];
    if (line + 1 == lines.end)
      break;
    TD_GLOBAL const float *in
        = from + (size_t) rings_mirrored (line + 1 + reach, lines.n_lines) * lines.n;
    TD_GLOBAL const float *out
        = from + (size_t) rings_mirrored (line - reach, lines.n_lines) * lines.n;
    for (int l = 0; l < width; l++)
      carried[l] = td_min (window[0][l], in[l]);
    for (int i = 0; i < size - 1; i++)
      for (int l = 0; l < width; l++) {
        float next = td_max (window[i][l], td_min (window[i + 1][l], in[l]));
        window[i][l] = carried[l] < out[l] ? carried[l] : next;
        carried[l] = next;
      }
    for (int l = 0; l < width; l++) {
      float last = td_max (window[size - 1][l], in[l]);
      window[size - 1][l] = carried[l] < out[l] ? carried[l] : last;
    }
  }
}

/* The median of `size` (odd) lines around each line, at every place of it; mirrored at the ends. An
   item takes `segment` lines. */
TD_KERNEL void
rings_median (TD_ITEM TD_IN (float) from, TD_OUT (float) to, int n, int n_lines, int size,
              int segment)
{
  int item = rings_item (td_global_x (), td_global_y ()), blocks = (n + TD_LANES - 1) / TD_LANES;
  int place = item % blocks * TD_LANES, first = item / blocks * segment;

  if (first >= n_lines)
    return;
  RingsLines lines = { n, n_lines, first, td_min (first + segment, n_lines) };
  int width = td_min (TD_LANES, n - place);
  size_t at = (size_t) td_global_z () * n_lines * n + place;
  if (width == TD_LANES)
    slide_median (from + at, to + at, lines, size, TD_LANES);
  else
    slide_median (from + at, to + at, lines, size, width);
}

/* ── Offsets ─────────────────────────────────────────────────────────────────────────────────── */

/* Second differences across columns lie as keys in the order of the numbers, [row][column /
   SORT_LANES][view][SORT_LANES]. So a CPU sorts them side by side, and a GPU reads them in whole
   lines of memory. An item takes OFFSET_LANES columns. */
#if TD_LANES > 1
#define OFFSET_LANES SORT_LANES
#else
#define OFFSET_LANES 1
#endif

/* keys of 2 x - left - right, mirrored at the ends, of the first n views. An item takes TILE_VIEWS
   views. */
TD_KERNEL void
rings_curvature (TD_ITEM TD_IN (float) data, TD_OUT (int) keys, int first_row, int n_views,
                 int n_columns, int n)
{
  int item = rings_item (td_global_x (), td_global_y ()), row = td_global_z ();
  int blocks = (n_columns + OFFSET_LANES - 1) / OFFSET_LANES;
  int column = item % blocks * OFFSET_LANES, view = item / blocks * TILE_VIEWS;
  int width = td_min (OFFSET_LANES, n_columns - column), end = td_min (view + TILE_VIEWS, n);
  size_t to = offset_place (row, column, n_columns, n);

  for (; view < end; view++) {
    TD_GLOBAL const float *in = data + ((size_t) (first_row + row) * n_views + view) * n_columns;
    TD_GLOBAL int *out = keys + to + (size_t) view * SORT_LANES;
    if (column > 0 && column + OFFSET_LANES < n_columns)
      for (int l = 0; l < OFFSET_LANES; l++) {
        int c = column + l;
        out[l] = offset_key ((in[c] - in[c - 1]) + (in[c] - in[c + 1]));
      }
    else
      for (int l = 0; l < OFFSET_LANES; l++) {
        int c = column + td_min (l, width - 1);
        int left = td_max (c - 1, 0), right = td_min (c + 1, n_columns - 1);
        out[l] = offset_key ((in[c] - in[left]) + (in[c] - in[right]));
      }
  }
}

#define MAX_BLOCKS 8

#if TD_LANES > 1
/* The numbers at four ranks among @n keys, which are sorted in place: found[rank][lane]. */
TD_FN void
offset_ranks (TD_GLOBAL int *keys, int n, const int *ranks, float (*found)[OFFSET_LANES])
{
  sort_lanes (keys, n);
  for (int k = 0; k < RANKS; k++)
    for (int l = 0; l < OFFSET_LANES; l++)
      found[k][l] = offset_value (keys[(size_t) ranks[k] * SORT_LANES + l]);
}
#endif

/* Takes @value into the rising list of @count values. */
TD_FN void
insert (float *list, int count, float value)
{
  for (; count > 0 && list[count - 1] > value; count--)
    list[count] = list[count - 1];
  list[count] = value;
}

TD_FN float
middle (const float *list, int count)
{
  return 0.5f * (list[(count - 1) / 2] + list[count / 2]);
}

/* found is [row][TD_RINGS_FOUND][column]. Four values of each column, from n_blocks parts of the
   turn of n views each. First the median of the blocks' medians. Then what these differ by, without
   the two that differ most. Then, in the median block, how far the quartiles are apart, and how far
   their middle lies from the median. block_ranks: on GPUs, what rings-ranks.cl found. */
TD_KERNEL void
rings_block_medians (TD_ITEM TD_OUT (int) keys, TD_IN (float) block_ranks, TD_OUT (float) found,
                     int n, int n_columns, int n_blocks)
{
  int column = rings_item (td_global_x (), td_global_y ()) * OFFSET_LANES, row = td_global_z ();
  float medians[OFFSET_LANES][MAX_BLOCKS], widths[OFFSET_LANES][MAX_BLOCKS],
      skews[OFFSET_LANES][MAX_BLOCKS], ranked[RANKS][OFFSET_LANES];

  if (column >= n_columns)
    return;
  int width = td_min (OFFSET_LANES, n_columns - column);
  TD_GLOBAL int *all = keys + offset_place (row, column, n_columns, n_blocks * n);
  for (int block = 0; block < n_blocks; block++) {
#if TD_LANES > 1
    const int ranks[RANKS] = { n / 4, (n - 1) / 2, n / 2, n - 1 - n / 4 };
    offset_ranks (all + (size_t) block * n * SORT_LANES, n, ranks, ranked);
#else
    for (int r = 0; r < RANKS; r++)
      ranked[r][0]
          = block_ranks[(((size_t) row * n_blocks + block) * RANKS + r) * n_columns + column];
#endif
    for (int l = 0; l < width; l++) {
      float median = 0.5f * (ranked[1][l] + ranked[2][l]), low = ranked[0][l], high = ranked[3][l];
      insert (medians[l], block, median);
      insert (widths[l], block, high - low);
      insert (skews[l], block, 0.5f * (low + high) - median);
    }
  }
  TD_GLOBAL float *out = found + (size_t) row * TD_RINGS_FOUND * n_columns + column;
  for (int l = 0; l < width; l++) {
    out[l] = middle (medians[l], n_blocks);
    out[n_columns + l] = medians[l][n_blocks - 1 - n_blocks / 8] - medians[l][n_blocks / 8];
    out[(size_t) 2 * n_columns + l] = middle (widths[l], n_blocks);
    out[(size_t) 3 * n_columns + l] = td_abs (middle (skews[l], n_blocks));
  }
}
