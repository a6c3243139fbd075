/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cone-beam back-projection by arithmetic alone, for upright detectors: u and the weight are constant
   along a column of voxels, so 32 work-items take a column, interpolate the projection along u once
   into a line in local memory, and then only along v from there (the iFDK paper's Algorithm 4 turned
   round: its shuffles are the line here, which any slope and any device allows).

     PACK    1: one view a texel; 2: views 180 degrees apart; 4: views 90 degrees apart (cone-common.h)
     VOXELS  voxels along z a work-item holds, 32 apart

   Projections come as [layer][column][row] with a column of zeros on either side, so that a line's rows
   lie one after another (cone-pack.cl). */
#ifndef PACK
#define PACK 1
#endif
#ifndef VOXELS
#define VOXELS 8
#endif
#include "cone-common.h"

#define LANES 32
#define COLUMNS 8 /* of voxels a group, one above the other: they share most of what they load */

/* Adding 1.5 * 2^23 to a number rounds it to the next whole one, and leaves that in the low bits. Of two
   as near it takes the even one, which a line that begins with an even row does not change. */
#define ROUND 12582912.0f
#define WHOLE 0x3fffff

/* One view (of PACK turned ones) as one column of voxels sees it: all LANES * VOXELS of it, whether the
   slab has them or not, so that every position lies on the line. */
typedef struct {
  float4 line; /* weights of columns u0 and u0 + 1 (0 and 0: not seen); half a row less than where height
                  0 is seen; rows a voxel of height */
  int column, row; /* u0 + 1; detector row of the line's first element, even */
} Sight;

TD_FN Sight
look (const TD_GLOBAL float4 *matrices, int entry, float x, float y, float z, TdConeProject p)
{
  const float2 place = turned (entry % PACK, x, y);
  const Aim a = aim (matrices + 3 * (entry / PACK), place.x, place.y, p.u_middle, p.v_middle);
  const float weight = a.inverse * a.inverse;
  const float u0 = td_floor (a.u), f = a.u - u0;
  const float least = td_fmin (td_fma (z, a.dv, a.v),
                               td_fma (z - (float) (LANES * VOXELS - 1), a.dv, a.v));
  const int seen = a.u > -1.0f && a.u < (float) p.n_columns;
  Sight s;

  s.line = td_float4 (seen ? td_fma (-f, weight, weight) : 0.0f, seen ? f * weight : 0.0f, a.v, a.dv);
  s.column = seen ? (int) u0 + 1 : -1;
  s.row = seen ? 2 * (int) td_floor (0.5f * least) : 0;
  return s;
}

TD_KERNEL void TD_GROUP_SIZE_RESIDENT (LANES, COLUMNS, 1, 4)
cone_backproject_columns (TD_ITEM const TD_GLOBAL Texel *TD_RESTRICT projections,
                          const TD_GLOBAL float4 *TD_RESTRICT matrices,
                          TD_GLOBAL float *TD_RESTRICT volume, TdConeProject p
                          TD_LOCAL_ARG (Texel, lines))
{
  TD_LOCAL_USE (Texel, lines)
  TD_LOCAL Sight sights[COLUMNS][LANES];
  const int lane = td_local_x (), column = td_local_y ();
  const int i = td_group_x (), j = td_group_y () * COLUMNS + column;
  const int k0 = td_group_z () * (LANES * VOXELS);
  const int n = td_min (LANES * VOXELS, p.n_slices - k0);
  const int inside = i < p.x_count && j < p.y_count;
  const float x = p.x_first + (float) i, y = p.y_first - (float) j;
  const float z = p.z_first - (float) (p.slice0 + k0);
  TD_LOCAL_PTR Texel *line = lines + column * p.pitch;
  Texel sums[VOXELS];

  TD_UNROLL
  for (int k = 0; k < VOXELS; k++)
    sums[k] = inside && LANES * k + lane < n ? load (volume, i, j, k0 + LANES * k + lane, p) : ZERO;
  for (int first = 0; first < p.n_layers * PACK; first += LANES) {
    const int entries = td_min (LANES, p.n_layers * PACK - first);

    td_warp_barrier ();
    if (lane < entries)
      sights[column][lane] = look (matrices, first + lane, x, y, z, p);
    td_warp_barrier ();
    for (int entry = 0; entry < entries; entry += PACK) {
      TD_UNROLL
      for (int turn = 0; turn < PACK; turn++) {
        const Sight s = sights[column][entry + turn];
        const int seen = inside && s.column >= 0;

        if (seen) {
          const int needed = (int) (td_abs (s.line.w) * (float) (LANES * VOXELS - 1)) + 6;
          const TD_GLOBAL Texel *from = projections + ((size_t) ((first + entry) / PACK) * (p.n_columns + 2)
                                                       + s.column) * p.n_rows;
          TD_UNROLL_BY (2)
          for (int r = lane; r < needed; r += LANES) {
            const int row = s.row - p.row0 + r;
            Texel a = ZERO, b = ZERO;
            if ((uint) row < (uint) p.n_rows) {
              a = from[row];
              b = from[row + p.n_rows];
            }
            line[r] = add_both (s.line.x, a, s.line.y, b);
          }
        }
        td_warp_barrier ();
        if (seen) {
          const float shift = ROUND - (float) s.row;
          TD_UNROLL
          for (int k = 0; k < VOXELS; k++) {
            const float at = td_fma (z - (float) (k * LANES + lane), s.line.w, s.line.z);
            const float rounded = at + shift;
            const float f = at - (rounded - shift) + 0.5f;
            const TD_LOCAL_PTR Texel *cell = line + (td_float_as_int (rounded) & WHOLE);
            sums[k] += from_turned (turn, between (cell[0], cell[1], f));
          }
        }
        td_warp_barrier ();
      }
    }
  }
  if (!inside)
    return;
  TD_UNROLL
  for (int k = 0; k < VOXELS; k++)
    if (LANES * k + lane < n)
      store (volume, i, j, k0 + LANES * k + lane, sums[k], p);
}
