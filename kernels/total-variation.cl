/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Denoising by total variation in its dual form (Chambolle, J. Math. Imaging Vision 20, 2004): the
   volume moves by the divergence of a field whose vectors are at most 1 long. All arrays are as the
   volume in rays-common.h, borders of zeros included. x: along z, y: x, z: y. */
#include "rays-common.h"

/* out = the volume denoised by the field so far. */
TD_KERNEL void
tv_move (TD_ITEM const TD_GLOBAL float *volume, TD_GLOBAL float *out, TD_IN (float) along_x,
         TD_IN (float) along_y, TD_IN (float) along_z, float strength, TdRays p)
{
  const int z = td_global_x (), x = td_global_y (), y = td_global_z () + p.first;

  if (z >= p.nz || x >= p.nx || y >= p.end)
    return;
  const size_t at = ray_voxel (p, x, y, z);
  const float divergence = along_x[at] - along_x[at - p.stride_x] + along_y[at]
      - along_y[at - p.stride_y]
                           + along_z[at] - along_z[at - 1];
  const float moved = td_mad (strength, divergence, volume[at]);
  out[at] = p.non_negative ? ray_max (moved, 0.0f) : moved;
}

/* The field after one step up the gradient of @volume. */
TD_KERNEL void
tv_climb (TD_ITEM TD_IN (float) volume, TD_OUT (float) along_x, TD_OUT (float) along_y,
          TD_OUT (float) along_z, float step, TdRays p)
{
  const int z = td_global_x (), x = td_global_y (), y = td_global_z () + p.first;

  if (z >= p.nz || x >= p.nx || y >= p.end)
    return;
  const size_t at = ray_voxel (p, x, y, z);
  const float here = volume[at];
  const float dx = x < p.nx - 1 ? volume[at + p.stride_x] - here : 0.0f;
  const float dy = y < p.ny - 1 + p.more_y ? volume[at + p.stride_y] - here : 0.0f;
  const float dz = z < p.nz - 1 ? volume[at + 1] - here : 0.0f;
  const float fx = td_mad (step, dx, along_x[at]), fy = td_mad (step, dy, along_y[at]);
  const float fz = td_mad (step, dz, along_z[at]);
  const float shorter = 1.0f / ray_max (1.0f, td_sqrt (fx * fx + fy * fy + fz * fz));

  along_x[at] = fx * shorter;
  along_y[at] = fy * shorter;
  along_z[at] = fz * shorter;
}
