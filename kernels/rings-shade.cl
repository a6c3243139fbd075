/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The broad part of columns' offsets (compute/prepare/rings/rings-shade.h says how it is found). A
   slot is a row that has shade. Slopes are taken along lines through the axis, from places that lie
   `spacing` columns apart. Slopes add up in single precision, equations in double. */
#include "rings-common.h"

#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

#define DIRECTIONS TD_SHADE_DIRECTIONS
#define MOST_BESIDE 7 /* slopes that are judged together */
#define AROUND 32     /* slopes on either side that say how steep shade is */
#define REWEIGHTINGS 4
#define ERROR 0.1    /* of that which slopes are wrong by at least */
#define STEEPEST 8.0 /* times as steep as shade usually is */
#define BESIDE 2     /* times a slope's columns that are as bad as one that is too steep */

/* The bin of views in whose direction a line lies. */
TD_FN int
shade_bin (int direction, const TdShadeParams p)
{
  return (2 * direction + 1) * p.per_half / (2 * DIRECTIONS);
}

/* ── Places along lines ──────────────────────────────────────────────────────────────────────── */

/* Adds the filtered row `line`, seen at an angle of that cosine, to the places from `first` on. */
TD_FN void
shade_add_row (TD_GLOBAL const float *line, const TdShadeRow row, float cosine,
               const TdShadeParams p, int first, float *sums, int width)
{
  float step = cosine * (float) p.spacing, start = row.axis - step * (float) row.reach;

  for (int l = 0; l < width; l++) {
    float x = start + step * (float) (first + l);
    int left = td_max (0, td_min ((int) x, p.n_columns - 2));
    float2 two = td_two_floats (line + left);
    sums[l] += two.x + (x - (float) left) * (two.y - two.x);
  }
}

/* places[slot][direction][place] of the slice, from filtered rows [slot][bin][column]. An item
   takes TD_LANES places of a direction. */
TD_KERNEL void
rings_shade_places (TD_ITEM TD_IN (float) filtered, TD_IN (float) turns, TD_IN (TdShadeRow) rows,
                    TD_OUT (float) places, const TdShadeParams p)
{
  int item = rings_item (td_global_x (), td_global_y ()), slot = td_global_z ();
  int blocks = (p.max_places + TD_LANES - 1) / TD_LANES;
  int first = item % blocks * TD_LANES, direction = item / blocks;
  const TdShadeRow row = rows[slot];
  float sums[TD_LANES];

  if (direction >= DIRECTIONS || first >= row.n_places)
    return;
  int own = shade_bin (direction, p), width = td_min (TD_LANES, p.max_places - first);
  for (int l = 0; l < TD_LANES; l++)
    sums[l] = 0;
  for (int bin = 0; bin < p.n_bins; bin++) {
    float cosine = turns[bin > own ? bin - own : own - bin];
    TD_GLOBAL const float *line = filtered + ((size_t) slot * p.bin_rows + bin) * p.n_columns;
    shade_add_row (line, row, cosine, p, first, sums, TD_LANES);
  }
  TD_GLOBAL float *to = places + ((size_t) slot * DIRECTIONS + direction) * p.max_places + first;
  for (int l = 0; l < width; l++)
    to[l] = sums[l];
}

/* The same of rings, places[slot][line][direction][place], from filtered offsets
   [slot][lines][column]: what bins on either side of a direction give. Sums over the bins to one
   side serve all directions. An item takes TD_LANES places of one of the first n_used lines. */
TD_KERNEL void
rings_shade_rings (TD_ITEM TD_IN (float) filtered, TD_IN (float) turns, TD_IN (TdShadeRow) rows,
                   TD_OUT (float) places, int lines, int n_used, const TdShadeParams p)
{
  int item = rings_item (td_global_x (), td_global_y ()), slot = td_global_z ();
  int blocks = (p.max_places + TD_LANES - 1) / TD_LANES;
  int first = item % blocks * TD_LANES, line = item / blocks;
  const TdShadeRow row = rows[slot];
  float sums[TD_LANES];

  if (line >= n_used || first >= row.n_places)
    return;
  int width = td_min (TD_LANES, p.max_places - first), before = 0, after = DIRECTIONS - 1;
  TD_GLOBAL const float *from = filtered + ((size_t) slot * lines + line) * p.n_columns;
  TD_GLOBAL float *to
      = places + ((size_t) slot * n_used + line) * DIRECTIONS * p.max_places + first;
  for (int l = 0; l < TD_LANES; l++)
    sums[l] = 0;
  for (int bin = 0; bin < p.n_bins; bin++) {
    shade_add_row (from, row, turns[bin], p, first, sums, TD_LANES);
    for (int d = 0; d < DIRECTIONS && bin == 0; d++)
      for (int l = 0; l < width; l++)
        to[(size_t) d * p.max_places + l] = -sums[l];
    for (; before < DIRECTIONS && shade_bin (before, p) == bin; before++)
      for (int l = 0; l < width; l++)
        to[(size_t) before * p.max_places + l] += sums[l];
    for (; after >= 0 && p.n_bins - 1 - shade_bin (after, p) == bin; after--)
      for (int l = 0; l < width; l++)
        to[(size_t) after * p.max_places + l] += sums[l];
  }
}

/* ── How steep shade is ──────────────────────────────────────────────────────────────────────── */

TD_FN float
shade_slope (TD_GLOBAL const float *places, int s, const TdShadeParams p)
{
  return p.slope_scale * (places[s + p.lag] - places[s]);
}

/* squares[slot][slope]: the mean square of the slopes of all drawn lines. */
TD_KERNEL void
rings_shade_squares (TD_ITEM TD_IN (float) places, TD_IN (TdShadeRow) rows, TD_OUT (double) squares,
                     int lines, const TdShadeParams p)
{
  int s = rings_item (td_global_x (), td_global_y ()), slot = td_global_z ();
  double sum = 0;

  if (s >= rows[slot].n_slopes)
    return;
  TD_GLOBAL const float *from = places + (size_t) slot * lines * DIRECTIONS * p.max_places;
  for (int i = 0; i < lines * DIRECTIONS; i++) {
    double slope = shade_slope (from + (size_t) i * p.max_places, s, p);
    sum += slope * slope;
  }
  squares[(size_t) slot * p.max_places + s] = sum / (lines * DIRECTIONS);
}

/* tallest[slot][slope]: root of the mean of the squares around. */
TD_KERNEL void
rings_shade_tallest (TD_ITEM TD_IN (double) squares, TD_IN (TdShadeRow) rows,
                     TD_OUT (double) tallest, const TdShadeParams p)
{
  int s = rings_item (td_global_x (), td_global_y ()), slot = td_global_z ();
  int n = rows[slot].n_slopes, from = td_max (s - AROUND, 0), end = td_min (s + AROUND + 1, n);
  size_t at = (size_t) slot * p.max_places;
  double sum = 0;

  if (s >= n)
    return;
  for (int i = from; i < end; i++)
    sum += squares[at + i];
  tallest[at + s] = sqrt (sum / (end - from));
}

/* ── What knots do ───────────────────────────────────────────────────────────────────────────── */

/* places[slot][place][knot]: what knots of height 1 give at places, the mean over the directions.
   Slots with the same places share them.
   knots[column % TD_SHADE_KNOTS][padded + distance in knots] is what one knot gives once filtered.
   shares: a bin's weight, by the directions in which a bin so far away exists. An item takes
   KNOTS_TAKEN knots. A CPU's lie beside each other, and those of a GPU's neighbouring items do. */
#if TD_LANES > 1
#define KNOTS_TAKEN TD_LANES
#else
#define KNOTS_TAKEN TD_SHADE_TAKEN
#endif

TD_KERNEL void
rings_shade_knots (TD_ITEM TD_IN (float) turns, TD_IN (float) shares, TD_IN (float) knots,
                   TD_IN (TdShadeRow) rows, TD_OUT (float) places, const TdShadeParams p)
{
  int item = rings_item (td_global_x (), td_global_y ()), slot = td_global_z ();
  int blocks = (p.padded + KNOTS_TAKEN - 1) / KNOTS_TAKEN, place = item / blocks;
#if TD_LANES > 1
  const int apart = 1;
  int first = item % blocks * KNOTS_TAKEN, count = td_min (KNOTS_TAKEN, p.padded - first);
#else
  const int apart = blocks, count = KNOTS_TAKEN;
  int first = item % blocks;
#endif
  const TdShadeRow row = rows[slot];
  float sums[KNOTS_TAKEN];

  if (place >= row.n_places || row.like != slot)
    return;
  for (int l = 0; l < KNOTS_TAKEN; l++)
    sums[l] = 0;
  for (int bin = 0; bin < p.n_bins; bin++) {
    float away = (float) (place - row.reach) * (float) p.spacing;
    float x = td_fmax (0.0f, td_fmin (row.axis + away * turns[bin], (float) (p.n_columns - 1)));
    int whole = (int) x, next = whole + 1;
    float b = shares[bin] * (x - (float) whole), a = shares[bin] - b;
    TD_GLOBAL const float *left = knots + (size_t) (whole % TD_SHADE_KNOTS) * 2 * p.padded
                                  + p.padded - whole / TD_SHADE_KNOTS + first;
    TD_GLOBAL const float *right = knots + (size_t) (next % TD_SHADE_KNOTS) * 2 * p.padded
                                   + p.padded - next / TD_SHADE_KNOTS + first;
    if (count == KNOTS_TAKEN)
      for (int l = 0; l < KNOTS_TAKEN; l++)
        sums[l] += a * left[l * apart] + b * right[l * apart];
    else
      for (int l = 0; l < count; l++)
        sums[l] += a * left[l * apart] + b * right[l * apart];
  }
  TD_GLOBAL float *to = places + ((size_t) slot * p.max_places + place) * p.padded + first;
  for (int l = 0; l < count; l++)
    to[l * apart] = sums[l];
}

/* response[slot][slope][knot]; 0 for what fills up the knots. An item takes TD_LANES knots. */
TD_KERNEL void
rings_shade_response (TD_ITEM TD_IN (float) places, TD_IN (TdShadeRow) rows,
                      TD_OUT (float) response, const TdShadeParams p)
{
  int item = rings_item (td_global_x (), td_global_y ()), slot = td_global_z ();
  int blocks = (p.padded + TD_LANES - 1) / TD_LANES;
  int first = item % blocks * TD_LANES, s = item / blocks;
  size_t at = ((size_t) slot * p.max_places + s) * p.padded;
  size_t low = ((size_t) rows[slot].like * p.max_places + s) * p.padded;
  size_t high = low + (size_t) p.lag * p.padded;

  if (s >= rows[slot].n_slopes)
    return;
  for (int k = first; k < td_min (first + TD_LANES, p.padded); k++)
    response[at + k] = k < p.n_knots ? places[high + k] - places[low + k] : 0.0f;
}

/* ── What all directions agree upon ──────────────────────────────────────────────────────────── */

TD_FN float
shade_of_key (int key)
{
  return td_int_as_float (key ^ (key >> 31 & 0x7fffffff));
}

TD_FN int
shade_key (float value)
{
  return (int) (rings_key (value) ^ 0x80000000u);
}

/* The key that would stand at `rank` of the rising ones, bit by bit. */
TD_FN int
shade_key_at (const int *keys, int n, int rank)
{
  uint found = 0;

  for (int bit = 31; bit >= 0; bit--) {
    uint next = found | 1u << bit;
    int limit = (int) (next ^ 0x80000000u), below = 0;
    for (int i = 0; i < n; i++)
      below += keys[i] < limit ? 1 : 0;
    found = below <= rank ? next : found;
  }
  return (int) (found ^ 0x80000000u);
}

/* The median of an even number of keys. */
TD_FN double
shade_median (const int *keys, int n)
{
  int above = shade_key_at (keys, n, n / 2), below = keys[0], less = 0;

  for (int i = 0; i < n; i++)
    below = td_min (below, keys[i]);
  for (int i = 0; i < n; i++) {
    less += keys[i] < above ? 1 : 0;
    below = td_max (below, keys[i] < above ? keys[i] : below);
  }
  below = less == n / 2 ? below : above;
  return 0.5 * ((double) shade_of_key (below) + (double) shade_of_key (above));
}

#define SUMS 4 /* side by side, for CPUs' vectors; divides DIRECTIONS */

/* A robust mean (Geman and McClure's weights), and the standard error if every direction were one
   value. */
TD_FN double
shade_agree (const float *values, int n, double *error)
{
  int keys[MOST_BESIDE * DIRECTIONS];

  for (int i = 0; i < n; i++)
    keys[i] = shade_key (values[i]);
  double mean = shade_median (keys, n);
  for (int i = 0; i < n; i++)
    keys[i] = shade_key ((float) fabs ((double) values[i] - mean));
  double deviation = 1.4826 * shade_median (keys, n);
  *error = deviation / sqrt ((double) DIRECTIONS);
  for (int step = 0; step < REWEIGHTINGS && deviation > 0; step++) {
    double sums[SUMS], weights[SUMS], scale = 0.5 / deviation;
    for (int l = 0; l < SUMS; l++)
      sums[l] = weights[l] = 0;
    for (int i = 0; i < n; i += SUMS)
      for (int l = 0; l < SUMS; l++) {
        double apart = ((double) values[i + l] - mean) * scale, far = 1 + apart * apart;
        double weight = 1 / (far * far);
        sums[l] += weight * (double) values[i + l];
        weights[l] += weight;
      }
    mean = ((sums[0] + sums[1]) + (sums[2] + sums[3]))
           / ((weights[0] + weights[1]) + (weights[2] + weights[3]));
  }
  return mean;
}

/* common[slot][slope]: what is left of slopes once those of the rings are taken out. weights: how
   much each slope counts; it is below 0 where no shade can be as steep. */
TD_KERNEL void
rings_shade_common (TD_ITEM TD_IN (float) places, TD_IN (float) rings, TD_IN (double) tallest,
                    TD_IN (TdShadeRow) rows, TD_OUT (double) common, TD_OUT (double) weights,
                    int has_rings, const TdShadeParams p)
{
  int s = rings_item (td_global_x (), td_global_y ()), slot = td_global_z ();
  int n = rows[slot].n_slopes, count = 0, all = 2 * p.lag + 1;
  size_t from = (size_t) slot * DIRECTIONS * p.max_places, at = (size_t) slot * p.max_places + s;
  float values[MOST_BESIDE * DIRECTIONS];

  if (s >= n)
    return;
  for (int i = td_max (s - p.lag, 0); i <= td_min (s + p.lag, n - 1); i++)
    for (int d = 0; d < DIRECTIONS; d++) {
      size_t line = from + (size_t) d * p.max_places;
      float slope = shade_slope (places + line, i, p);
      values[count++] = has_rings ? slope - shade_slope (rings + line, i, p) : slope;
    }
  double error, usual = tallest[at], mean = shade_agree (values, count, &error);
  double weight = 1 / (error * error + ERROR * ERROR * usual * usual) / all;
  common[at] = mean;
  weights[at] = fabs (mean) < STEEPEST * usual ? weight : -weight;
}

/* targets[slot][slope]: the slope's weight times the slope that the knots are to make, now that
   they are at `knots`. sound: the weights, 0 near slopes that no shade has. */
TD_KERNEL void
rings_shade_targets (TD_ITEM TD_IN (double) common, TD_IN (double) weights, TD_IN (float) response,
                     TD_IN (double) knots, TD_IN (TdShadeRow) rows, TD_OUT (double) sound,
                     TD_OUT (double) targets, const TdShadeParams p)
{
  int s = rings_item (td_global_x (), td_global_y ()), slot = td_global_z ();
  int n = rows[slot].n_slopes, beside = BESIDE * p.lag;
  size_t at = (size_t) slot * p.max_places;
  double sums[SUMS];

  if (s >= n)
    return;
  double weight = weights[at + s];
  for (int i = td_max (s - beside, 0); i <= td_min (s + beside, n - 1); i++)
    weight = weights[at + i] > 0 ? weight : 0;
  TD_GLOBAL const float *row = response + (at + s) * p.padded;
  TD_GLOBAL const double *height = knots + (size_t) slot * p.padded;
  for (int l = 0; l < SUMS; l++)
    sums[l] = 0;
  for (int k = 0; k < p.padded; k += SUMS)
    for (int l = 0; l < SUMS; l++)
      sums[l] += row[k + l] * height[k + l];
  double slope = common[at + s] + ((sums[0] + sums[1]) + (sums[2] + sums[3]));
  sound[at + s] = weight;
  targets[at + s] = weight * slope;
}

/* ── The knots ───────────────────────────────────────────────────────────────────────────────── */

/* a[slot][i][j ≥ i] of the equations for the knots, whose right side is column `padded`. An item
   takes TILE_I × TD_SHADE_TILE elements. known[slot][4][padded]: the diagonal, the element left of
   it, the right side, and the factors of an equation. All knots share that equation. */
#define TILE_I 4
#define TILE_J TD_SHADE_TILE

TD_FN double
shade_known (TD_GLOBAL const double *known, int i, int j, int n)
{
  double shared = known[3 * n + i] * known[3 * n + j];

  return i == j ? shared + known[i] : j == i + 1 ? shared + known[n + j] : shared;
}

TD_KERNEL void
rings_shade_equations (TD_ITEM TD_IN (double) known, TD_IN (float) response, TD_IN (double) sound,
                       TD_IN (TdShadeRow) rows, TD_OUT (double) a, const TdShadeParams p)
{
  int item = rings_item (td_global_x (), td_global_y ()), slot = td_global_z ();
  int tiles = p.padded / TILE_J, n = p.padded, stride = n + TILE_J;
  int j0 = item % tiles * TILE_J, i0 = item / tiles * TILE_I;
  size_t at = (size_t) slot * p.max_places;
  double sums[TILE_I][TILE_J];

  if (i0 >= n || i0 >= j0 + TILE_J)
    return;
  for (int i = 0; i < TILE_I; i++)
    for (int j = 0; j < TILE_J; j++)
      sums[i][j] = shade_known (known + (size_t) slot * 4 * n, td_min (i0 + i, j0 + j),
                                td_max (i0 + i, j0 + j), n);
  for (int s = 0; s < rows[slot].n_slopes; s++) {
    double weight = sound[at + s];
    TD_GLOBAL const float *row = response + (at + s) * n;
    for (int i = 0; i < TILE_I; i++) {
      double factor = weight * row[i0 + i];
      for (int j = 0; j < TILE_J; j++)
        sums[i][j] += factor * row[j0 + j];
    }
  }
  TD_GLOBAL double *to = a + (size_t) slot * n * stride + (size_t) i0 * stride + j0;
  for (int i = 0; i < TILE_I; i++)
    for (int j = 0; j < TILE_J; j++)
      to[(size_t) i * stride + j] = sums[i][j];
}

/* The right sides; an item takes TILE_J of them. */
TD_KERNEL void
rings_shade_right (TD_ITEM TD_IN (double) known, TD_IN (float) response, TD_IN (double) targets,
                   TD_IN (TdShadeRow) rows, TD_OUT (double) a, const TdShadeParams p)
{
  int first = rings_item (td_global_x (), td_global_y ()) * TILE_J, slot = td_global_z ();
  int n = p.padded, stride = n + TILE_J;
  size_t at = (size_t) slot * p.max_places;
  double sums[TILE_J];

  if (first >= n)
    return;
  for (int j = 0; j < TILE_J; j++)
    sums[j] = known[((size_t) slot * 4 + 2) * n + first + j];
  for (int s = 0; s < rows[slot].n_slopes; s++)
    for (int j = 0; j < TILE_J; j++)
      sums[j] += targets[at + s] * response[(at + s) * n + first + j];
  for (int j = 0; j < TILE_J; j++)
    a[((size_t) slot * n + first + j) * stride + n] = sums[j];
}

/* One row's equations are solved by `items` work-items: a group on GPUs, one on CPUs. Each of them
   takes several rows' elements of a column, so that it waits for memory once. */
#define PANEL TD_SHADE_TILE /* rows */
#if TD_LANES > 1
#define TAKEN 1
#define items_barrier()
#else
#define TAKEN PANEL
#define items_barrier() td_barrier_global ()
#endif

/* The rows from k0 on. Each item finds the factors of their first columns for itself. */
TD_FN void
shade_factor_panel (TD_GLOBAL double *a, int k0, int n, int lane, int items)
{
  int stride = n + TILE_J;
  TD_GLOBAL double *panel = a + (size_t) k0 * stride;
  double factors[PANEL][PANEL], scale[PANEL], values[PANEL];

  TD_UNROLL
  for (int p = 0; p < PANEL; p++)
    for (int r = 0; r < PANEL; r++)
      factors[p][r] = panel[(size_t) p * stride + k0 + r];
  TD_UNROLL
  for (int p = 0; p < PANEL; p++) {
    scale[p] = 1 / sqrt (factors[p][p] > 1e-300 ? factors[p][p] : 1e-300);
    TD_UNROLL
    for (int r = p + 1; r < PANEL; r++)
      factors[p][r] *= scale[p];
    TD_UNROLL
    for (int q = p + 1; q < PANEL; q++) {
      TD_UNROLL
      for (int r = q; r < PANEL; r++)
        factors[q][r] -= factors[p][q] * factors[p][r];
    }
  }
  items_barrier ();
  for (int j = k0 + lane; j <= n; j += items) {
    TD_UNROLL
    for (int p = 0; p < PANEL; p++)
      values[p] = panel[(size_t) p * stride + j];
    TD_UNROLL
    for (int p = 0; p < PANEL; p++) {
      values[p] *= scale[p];
      TD_UNROLL
      for (int q = p + 1; q < PANEL; q++)
        values[q] -= factors[p][q] * values[p];
    }
    TD_UNROLL
    for (int p = 0; p < PANEL; p++)
      panel[(size_t) p * stride + j] = values[p];
  }
  items_barrier ();
}

/* Takes the panel from k0 on out of TAKEN rows from i on. */
TD_FN void
shade_take_panel (TD_GLOBAL double *a, int k0, int i, int n, int lane, int items)
{
  int stride = n + TILE_J;
  TD_GLOBAL const double *panel = a + (size_t) k0 * stride;
  TD_GLOBAL double *rows = a + (size_t) i * stride;
  double factors[PANEL][TAKEN];

  for (int q = 0; q < PANEL; q++)
    for (int r = 0; r < TAKEN; r++)
      factors[q][r] = panel[(size_t) q * stride + i + r];
  for (int j = i + lane; j <= n; j += items) {
    double above[PANEL], values[TAKEN];
    for (int q = 0; q < PANEL; q++)
      above[q] = panel[(size_t) q * stride + j];
    for (int r = 0; r < TAKEN; r++)
      values[r] = rows[(size_t) r * stride + j];
    for (int q = 0; q < PANEL; q++)
      for (int r = 0; r < TAKEN; r++)
        values[r] -= factors[q][r] * above[q];
    for (int r = 0; r < TAKEN; r++)
      rows[(size_t) r * stride + j] = values[r];
  }
}

/* Cholesky's method on the upper triangle, PANEL rows at a time, the right side among them; then
   knots[slot][k], from the last one back. What lies below the diagonal means nothing. */
TD_KERNEL void
rings_shade_solve (TD_ITEM TD_GLOBAL double *equations, TD_GLOBAL double *knots, int items,
                   const TdShadeParams p)
{
  int lane = rings_item (td_global_x (), td_global_y ()), slot = td_global_z ();
  int n = p.padded, stride = n + TILE_J;
  TD_GLOBAL double *a = equations + (size_t) slot * n * stride;

  for (int k0 = 0; k0 < n; k0 += PANEL) {
    shade_factor_panel (a, k0, n, lane, items);
    for (int i = k0 + PANEL; i < n; i += TAKEN)
      shade_take_panel (a, k0, i, n, lane, items);
    items_barrier ();
  }
  for (int i = n - 1; i >= 0; i--) {
    double height = a[(size_t) i * stride + n] / a[(size_t) i * stride + i];
    if (lane == 0)
      knots[(size_t) slot * n + i] = height;
    for (int k = lane; k < i; k += items)
      a[(size_t) k * stride + n] -= a[(size_t) k * stride + i] * height;
    items_barrier ();
  }
}

/* lines[slot][2][column]: the broken line of the knots, and 0. */
TD_KERNEL void
rings_shade_join (TD_ITEM TD_IN (double) knots, TD_OUT (float) lines, const TdShadeParams p)
{
  int column = rings_item (td_global_x (), td_global_y ()), slot = td_global_z ();
  int knot = column / TD_SHADE_KNOTS;

  if (column >= p.n_columns)
    return;
  TD_GLOBAL const double *height = knots + (size_t) slot * p.padded + knot;
  double along = (column - knot * TD_SHADE_KNOTS) / (double) TD_SHADE_KNOTS;
  TD_GLOBAL float *to = lines + (size_t) slot * 2 * p.n_columns + column;
  to[0] = (float) ((1 - along) * height[0] + along * height[1]);
  to[p.n_columns] = 0;
}
