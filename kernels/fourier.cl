/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Gridding in the frequency domain: compute/parallel/fourier-shape.h says what, fourier-device.c
   launches these. PAIRS (1, 2 or 4) complex slices at once share the windows' weights: their
   samples lie beside each other, spectra[view][frequency][pair].

   A thread gathers what falls on its point of the grid, view after view in the order of their
   directions. No two threads add to the same place, so sums do not depend on the threads' order. */

#if PAIRS == 1
#define PARTS 1
#define Part float2
#define fourier_add(sum, value, weight) \
  ((sum).x = td_mad ((value).x, (weight), (sum).x), (sum).y = td_mad ((value).y, (weight), (sum).y))
#else
#define PARTS (PAIRS / 2)
#define Part float4
#define fourier_add(sum, value, weight) \
  ((sum).x = td_mad ((value).x, (weight), (sum).x), \
   (sum).y = td_mad ((value).y, (weight), (sum).y), \
   (sum).z = td_mad ((value).z, (weight), (sum).z), (sum).w = td_mad ((value).w, (weight), (sum).w))
#endif

TD_FN size_t
fourier_line (const TdFourierParams p, int pair, int view)
{
  return ((size_t) pair * (size_t) p.n_views + (size_t) view) * (size_t) p.padded;
}

/* Rows of two slices to one complex line, padded. Slices beyond the last are zeros. */
TD_KERNEL void
fourier_pack (TD_ITEM TD_IN (float) rows, TD_OUT (float2) lines, const TdFourierParams p)
{
  const int x = td_global_x (), view = td_global_y (), pair = td_global_z ();
  const size_t slice = (size_t) p.n_views * (size_t) p.n_columns;
  const size_t at = (((size_t) p.from_high << 32) | p.from_low) + (size_t) (2 * pair) * slice
                    + (size_t) view * (size_t) p.n_columns + (size_t) x;

  if (x < p.padded && view < p.n_views)
    lines[fourier_line (p, pair, view) + (size_t) x]
        = td_float2 (x < p.n_columns && 2 * pair < p.n_slices ? rows[at] : 0.0f,
                     x < p.n_columns && 2 * pair + 1 < p.n_slices ? rows[at + slice] : 0.0f);
}

/* Transformed lines in FFT order to spectra in ascending order, views by direction, with all
   factors. */
TD_KERNEL void
fourier_turn (TD_ITEM TD_IN (float2) lines, TD_IN (TdFourierTurn) turns, TD_IN (float) response,
              TD_OUT (float2) spectra, const TdFourierParams p)
{
  const int x = td_global_x (), place = td_global_y ();
  const int k = x - p.padded / 2;

  if (x >= p.padded || place >= p.n_views)
    return;
  /* 2^32 are a turn: products go round by themselves. */
  const TdFourierTurn turn = turns[place];
  const float angle = (float) (int) ((unsigned) k * turn.turns) * 1.4629180792671596e-9f;
  const float size = x > 0 ? turn.weight * response[(int) td_abs ((float) k)] : 0.0f;
  const float re = size * td_cos (angle), im = size * td_sin (angle);
  const size_t from = (size_t) (k < 0 ? k + p.padded : k);
  const size_t to = ((size_t) place * (size_t) p.padded + (size_t) x) * PAIRS;

  for (int pair = 0; pair < PAIRS; pair++) {
    const float2 value = lines[fourier_line (p, pair, turn.view) + from];
    spectra[to + (size_t) pair]
        = td_float2 (value.x * re - value.y * im, value.x * im + value.y * re);
  }
}

/* ── The grid ────────────────────────────────────────────────────────────────────────────────── */

/* A point of the grid, counted from the frequency 0. */
typedef struct {
  int a, b;
} FourierPoint;

TD_FN float
fourier_window (const TdFourierParams p, float u)
{
  const float q = td_fma (-u, u, 1.0f);
  float value = td_mad (p.window9, q, p.window8);

  value = td_mad (value, q, p.window7);
  value = td_mad (value, q, p.window6);
  value = td_mad (value, q, p.window5);
  value = td_mad (value, q, p.window4);
  value = td_mad (value, q, p.window3);
  value = td_mad (value, q, p.window2);
  value = td_mad (value, q, p.window1);
  return td_mad (value, q, p.window0);
}

/* The place of the first view whose direction is not before @turn, in parts of half a turn.
   Directions are periodic: places may be below 0 or from n_views on. */
TD_FN int
fourier_first (TD_GLOBAL const int *bins, const TdFourierParams p, float bin)
{
  const int at = (int) bin;

  return at < 0            ? bins[at + p.n_bins] - p.n_views
         : at >= p.n_bins ? bins[at - p.n_bins] + p.n_views
                           : bins[at];
}

/* Adds the samples of one view whose windows reach the point (a, b). */
TD_FN void
fourier_add_view (TD_GLOBAL const Part *spectra, TD_GLOBAL const float4 *directions,
                  const TdFourierParams p, int place, float a, float b, Part *sums)
{
  const float4 step = directions[2 * place], inverse = directions[2 * place + 1];
  const float side = p.half_width, most = (float) (p.padded / 2 - 1);
  const float left = (a - side) * inverse.x, right = (a + side) * inverse.x;
  const float top = (b - side) * inverse.y, bottom = (b + side) * inverse.y;
  const float low = td_fmax (td_fmin (left, right), td_fmin (top, bottom));
  const float high = td_fmin (td_fmax (left, right), td_fmax (top, bottom));
  const float first = -td_floor (-td_fmax (low, -most)), last = td_floor (td_fmin (high, most));
  const int n = (int) (last - first) + (last >= first ? 1 : 0);
  /* Steps in two parts, since k times one of them is large and its distance from the point is
     not. */
  float u = td_fma (first, step.y, td_fma (first, step.x, -a)) * p.inverse_half;
  float v = td_fma (first, step.w, td_fma (first, step.z, -b)) * p.inverse_half;
  const float du = step.x * p.inverse_half, dv = step.z * p.inverse_half;
  size_t at = ((size_t) place * (size_t) p.padded + (size_t) (p.padded / 2 + (int) first)) * PARTS;

  for (int i = 0; i < n; i++) {
    const float weight = fourier_window (p, u) * fourier_window (p, v);
    for (int part = 0; part < PARTS; part++) {
      const Part value = spectra[at + (size_t) part];
      fourier_add (sums[part], value, weight);
    }
    u += du;
    v += dv;
    at += PARTS;
  }
}

/* Every stride-th view from the start-th on. */
typedef struct {
  int start, stride;
} FourierShare;

/* Adds what falls on the point @at of the grid, which may be one beyond an edge, from a share of
   the views. */
TD_FN void
fourier_add_point (TD_GLOBAL const Part *spectra, TD_GLOBAL const float4 *directions,
                   TD_GLOBAL const int *bins, const TdFourierParams p, const FourierPoint at,
                   const FourierShare share, Part *sums)
{
  const int a = at.a, b = at.b;
  const float x = (float) a * p.per_x, y = (float) b * p.per_y;
  const float square = x * x + y * y, reach = p.reach, most = (float) (p.padded / 2) + reach;
  int first = 0, end = p.n_views;

  if (square > most * most)
    return;
  if (square > 1.001f * reach * reach) {
    /* atan takes the direction into -1/4 … 1/4 turn, and the window's half angle is asin (reach /
       r). */
    const float scale = (float) p.n_bins * 0.318309886f;
    const float angle = td_atan (x != 0.0f ? y / x : 1e30f);
    const float middle = (angle < 0.0f ? angle + 3.14159265f : angle) * scale;
    const float around = td_atan (reach / td_sqrt (square - reach * reach)) * scale + 0.02f;
    first = fourier_first (bins, p, td_floor (middle - around));
    end = fourier_first (bins, p, td_floor (middle + around) + 1.0f);
    end = td_min (end, first + p.n_views);
  }
  for (int i = first + share.start; i < end; i += share.stride)
    fourier_add_view (spectra, directions, p,
                      i < 0 ? i + p.n_views : i >= p.n_views ? i - p.n_views : i, (float) a,
                      (float) b, sums);
}

/* The grid goes round: near an edge there are samples beyond the opposite one. */
TD_FN int
fourier_copies (const TdFourierParams p, int a, int n)
{
  const int width = (int) (2.0f * p.half_width);

  return a < width - n / 2 ? n : a >= n / 2 - width ? -n : 0;
}

TD_FN void
fourier_add_copies (TD_GLOBAL const Part *spectra, TD_GLOBAL const float4 *directions,
                    TD_GLOBAL const int *bins, const TdFourierParams p, const FourierPoint at,
                    const FourierShare share, Part *sums)
{
  const int other_a = fourier_copies (p, at.a, p.gx), other_b = fourier_copies (p, at.b, p.gy);

  for (int copy = 0; copy < 4; copy++)
    if ((!(copy & 1) || other_a) && (!(copy & 2) || other_b)) {
      const FourierPoint there
          = { copy & 1 ? at.a + other_a : at.a, copy & 2 ? at.b + other_b : at.b };
      fourier_add_point (spectra, directions, bins, p, there, share, sums);
    }
}

TD_FN void
fourier_store (TD_GLOBAL float2 *grid, const TdFourierParams p, int a, int b, const Part *sums)
{
  const size_t plane = (size_t) p.gx * (size_t) p.gy;
  const size_t at = (size_t) (b + p.gy / 2) * (size_t) p.gx + (size_t) (a + p.gx / 2);

#if PAIRS == 1
  grid[at] = sums[0];
#else
  for (int part = 0; part < PARTS; part++) {
    grid[at + (size_t) (2 * part) * plane] = td_float2 (sums[part].x, sums[part].y);
    grid[at + (size_t) (2 * part + 1) * plane] = td_float2 (sums[part].z, sums[part].w);
  }
#endif
}

TD_FN void
fourier_clear (Part *sums)
{
  for (int part = 0; part < PARTS; part++) {
#if PAIRS == 1
    sums[part] = td_float2 (0.0f, 0.0f);
#else
    sums[part] = td_float4 (0.0f, 0.0f, 0.0f, 0.0f);
#endif
  }
}

/* A thread a point, but for those about the middle, where all views meet. */
TD_KERNEL TD_GROUP_SIZE (TD_FOURIER_GROUP_X, TD_FOURIER_GROUP_Y, 1) void
fourier_gather (TD_ITEM TD_IN (Part) spectra, TD_IN (float4) directions, TD_IN (int) bins,
                TD_OUT (float2) grid, const TdFourierParams p)
{
  const int a = td_global_x () - p.gx / 2, b = td_global_y () - p.gy / 2;
  Part sums[PARTS];

  if (a >= p.gx / 2 || b >= p.gy / 2
      || (a >= -p.middle && a <= p.middle && b >= -p.middle && b <= p.middle))
    return;
  const FourierPoint at = { a, b };
  const FourierShare all = { 0, 1 };
  fourier_clear (sums);
  fourier_add_copies (spectra, directions, bins, p, at, all, sums);
  fourier_store (grid, p, a, b, sums);
}

/* Those: a group a point, whose threads share its views. */
TD_KERNEL TD_GROUP_SIZE (TD_FOURIER_SHARE, 1, 1) void
fourier_middle (TD_ITEM TD_IN (Part) spectra, TD_IN (float4) directions, TD_IN (int) bins,
                TD_OUT (float2) grid, const TdFourierParams p TD_LOCAL_ARG (Part, shared))
{
  TD_LOCAL_USE (Part, shared)
  const int a = td_group_x () - p.middle, b = td_group_y () - p.middle;
  const int item = td_local_x ();
  Part sums[PARTS];

  if (a < -p.gx / 2 || a >= p.gx / 2 || b < -p.gy / 2 || b >= p.gy / 2)
    return;
  const FourierPoint at = { a, b };
  const FourierShare share = { item, TD_FOURIER_SHARE };
  fourier_clear (sums);
  fourier_add_copies (spectra, directions, bins, p, at, share, sums);
  for (int part = 0; part < PARTS; part++)
    shared[part * TD_FOURIER_SHARE + item] = sums[part];
  for (int others = TD_FOURIER_SHARE / 2; others > 0; others /= 2) {
    td_barrier ();
    if (item < others)
      for (int part = 0; part < PARTS; part++) {
        const Part other = shared[part * TD_FOURIER_SHARE + item + others];
        fourier_add (sums[part], other, 1.0f);
        shared[part * TD_FOURIER_SHARE + item] = sums[part];
      }
  }
  if (item == 0)
    fourier_store (grid, p, a, b, sums);
}

/* ── The slices ──────────────────────────────────────────────────────────────────────────────── */

TD_KERNEL void
fourier_pixels (TD_ITEM TD_IN (float2) grid, TD_IN (float) factors_x, TD_IN (float) factors_y,
                TD_OUT (float) slices, const TdFourierParams p)
{
  const int x = td_global_x (), y = td_global_y (), pair = td_global_z ();

  if (x >= p.nx || y >= p.ny || 2 * pair >= p.n_slices)
    return;
  const int column = x < p.centre_x ? x - p.centre_x + p.gx : x - p.centre_x;
  const int row = y < p.centre_y ? y - p.centre_y + p.gy : y - p.centre_y;
  const size_t slice = (size_t) p.nx * (size_t) p.ny;
  const size_t at = (((size_t) p.to_high << 32) | p.to_low) + (size_t) (2 * pair) * slice
                    + (size_t) y * (size_t) p.nx + (size_t) x;
  const float2 value = grid[((size_t) pair * (size_t) p.gy + (size_t) row) * (size_t) p.gx
                            + (size_t) column];
  const float factor = factors_x[x] * factors_y[y];

  slices[at] = value.x * factor;
  if (2 * pair + 1 < p.n_slices)
    slices[at + slice] = value.y * factor;
}
