/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cone-beam back-projection by arithmetic alone, for upright detectors. u and the weight are
   constant along a column of voxels, so 32 work-items take a column. They interpolate the
   projection along u once, into a line in local memory, and then only along v from there. This is
   the iFDK paper's Algorithm 4 with a line instead of its shuffles, for any slope and any device.

   A line lies in local memory as even rows and, after them, odd ones. One of the two rows about a
   position is even, so its index grows by half a row from one work-item to the next. So neighbours
   never need two values of one bank while a voxel takes less than two rows. With rows one after
   another they would from one row up.

     PACK    1: one view a texel; 2: views 180 degrees apart; 4: views 90 degrees apart
             (cone-common.h)
     VOXELS  voxels along z a work-item holds, 32 apart

   Projections come as [layer][column][row] with a column of zeros on either side, so that a line's
   rows lie one after another (cone-pack.cl). */
#ifndef PACK
#define PACK 1
#endif
#ifndef VOXELS
#define VOXELS 8
#endif
#include "cone-common.h"

#define LANES 32
#define COLUMNS 8 /* of voxels a group, one above the other: they share most of what they load */

/* Adding 1.5 * 2^23 to a number rounds it to the next whole number (or down, td_floor_plus) and
   leaves that in the low bits. The sum's bits are WHOLE and the number. */
#define ROUND 12582912.0f
#define WHOLE 0x4b400000

/* One view (of PACK turned ones) as one column of n voxels sees it. All 32 side by side count if
   the slab has one of them, so that every position lies on the line. */
typedef struct {
  float4 line; /* weights of columns u0 and u0 + 1; in pairs of rows: where height 0 is seen, what a
                  voxel of height takes */
  int column;  /* u0 + 1, counted from the first layer's first; -1: not seen */
  int row, n_rows; /* detector rows of the line: the first one, even, and how many */
  int unused;
} Sight;

TD_FN Sight
look (const TD_GLOBAL float4 *matrices, int entry, float x, float y, float z, int n,
      TdConeProject p)
{
  const float2 place = turned (entry % PACK, x, y);
  const Aim a = aim (matrices + 3 * (entry / PACK), place.x, place.y, p.u_middle, p.v_middle);
  const float weight = a.inverse * a.inverse;
  const float u0 = td_floor (a.u), f = a.u - u0;
  const float least = td_fmin (td_fma (z, a.dv, a.v),
                               td_fma (z - (float) (n - 1), a.dv, a.v));
  const int seen = n > 0 && a.u > -1.0f && a.u < (float) p.n_columns;
  Sight s;

  s.line = td_float4 (td_fma (-f, weight, weight), f * weight, 0.5f * a.v, 0.5f * a.dv);
  s.column = seen ? entry / PACK * (p.n_columns + 2) + (int) u0 + 1 : -1;
  s.row = seen ? 2 * (int) td_floor (0.5f * least) : 0;
  s.n_rows = seen ? (int) (td_abs (a.dv) * (float) (n - 1)) + 6 : 0;
  s.unused = 0;
  return s;
}

/* Puts a work-item's rows of a line, @lane and every 32nd after it, @to and every 16 elements on.
   Two rows at once: more take registers from the other groups. */
TD_FN void
fill (const TD_GLOBAL Texel *a, Sight s, int row, int lane, TD_LOCAL_PTR Texel *to, TdConeProject p)
{
  const TD_GLOBAL Texel *b = a + p.n_rows;
  int left = s.n_rows - lane;

  if (left <= 0) /* asked first, or PoCL 5 fails on two loops between barriers */
    return;
  if (row >= 0 && row + s.n_rows <= p.n_rows) {
    TD_UNROLL_BY (1)
    for (; left > 0; left -= 2 * LANES) {
      const Texel a0 = a[0], b0 = b[0];
      Texel a1 = ZERO, b1 = ZERO;
      if (left > LANES) {
        a1 = a[LANES];
        b1 = b[LANES];
      }
      to[0] = add_both (s.line.x, a0, s.line.y, b0);
      if (left > LANES)
        to[LANES / 2] = add_both (s.line.x, a1, s.line.y, b1);
      a += 2 * LANES;
      b += 2 * LANES;
      to += LANES;
    }
  } else {
    TD_UNROLL_BY (1)
    for (int r = lane; r < s.n_rows; r += LANES) {
      Texel a0 = ZERO, b0 = ZERO;
      if ((uint) (row + r) < (uint) p.n_rows) {
        a0 = a[r - lane];
        b0 = b[r - lane];
      }
      *to = add_both (s.line.x, a0, s.line.y, b0);
      to += LANES / 2;
    }
  }
}

TD_KERNEL void TD_GROUP_SIZE_RESIDENT (LANES, COLUMNS, 1, 4)
cone_backproject_columns (TD_ITEM TD_IN (Texel) projections, TD_IN (float4) matrices,
                          TD_OUT (float) volume, TdConeProject p TD_LOCAL_ARG (Texel, lines))
{
  TD_LOCAL_USE (Texel, lines)
  TD_LOCAL Sight sights[COLUMNS][LANES];
  const int lane = td_local_x (), column = td_local_y ();
  const int i = td_group_x (), j = td_group_y () * COLUMNS + column;
  const int k0 = td_group_z () * (LANES * VOXELS);
  const int n = td_min (LANES * VOXELS, p.n_slices - k0), rounds = (n + LANES - 1) / LANES;
  const int inside = i < p.x_count && j < p.y_count;
  const float x = p.x_first + (float) i, y = p.y_first - (float) j;
  const float z0 = p.z_first - (float) (p.slice0 + k0),
      z = p.z_first - (float) (p.slice0 + k0 + lane);
  TD_LOCAL_PTR Texel *line = lines + column * p.pitch, *odd_line = line + p.pitch / 2;
  TD_LOCAL_PTR Texel *own = (lane & 1 ? odd_line : line) + lane / 2;
  Texel sums[VOXELS];

  TD_UNROLL
  for (int k = 0; k < VOXELS; k++)
    sums[k] = inside && LANES * k + lane < n ? load (volume, i, j, k0 + LANES * k + lane, p) : ZERO;
  for (int first = 0; first < p.n_layers * PACK; first += LANES) {
    const int entries = td_min (LANES, p.n_layers * PACK - first);

    td_warp_barrier ();
    if (lane < entries)
      sights[column][lane]
          = look (matrices, first + lane, x, y, z0, inside ? LANES * rounds : 0, p);
    td_warp_barrier ();
    for (int entry = 0; entry < entries; entry += PACK) {
      TD_UNROLL
      for (int turn = 0; turn < PACK; turn++) {
        const Sight s = sights[column][entry + turn];
        const int seen = s.column >= 0;

        if (seen) {
          const int row = s.row - p.row0;
          fill (projections + ((td_long) s.column * p.n_rows + row + lane), s, row, lane, own, p);
        }
        td_warp_barrier ();
        if (seen) {
          const int bias = WHOLE + s.row / 2;
          const TD_LOCAL_ROW (Texel) evens = td_local_row (line, bias);
          const TD_LOCAL_ROW (Texel) odds = td_local_row (odd_line, bias);
          TD_UNROLL
          for (int k = 0; k < VOXELS; k++)
            if (k < rounds) {
              const float at = td_fma (z - (float) (k * LANES), s.line.w, s.line.z);
              const float nearest = at + ROUND, down = td_floor_plus (at, ROUND);
              const float half_odd = td_abs (at - (nearest - ROUND)), odd = half_odd + half_odd;
              const TD_LOCAL_AT (Texel) e
                  = td_local_at (evens, Texel, td_float_as_int (nearest), bias);
              const TD_LOCAL_AT (Texel) o
                  = td_local_at (odds, Texel, td_float_as_int (down), bias);
              sums[k] = add_scaled (sums[k], 1.0f - odd,
                                    from_turned (turn, td_local_get (e, Texel, 0)));
              sums[k] = add_scaled (sums[k], odd, from_turned (turn, td_local_get (o, Texel, 0)));
            }
        }
        td_warp_barrier ();
      }
    }
  }
  if (!inside)
    return;
  /* Addresses anew: kept from the loads, they take the registers of two rows. */
  const int i_again = td_forget (i), j_again = td_forget (j), k_again = td_forget (k0 + lane);
  TD_UNROLL
  for (int k = 0; k < VOXELS; k++)
    if (LANES * k + lane < n)
      store (volume, i_again, j_again, k_again + LANES * k, sums[k], p);
}
