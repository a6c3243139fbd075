/* SPDX-License-Identifier: GPL-3.0-or-later */
/* In and out of the order that iterative reconstruction works in (rays-common.h), and vectors. */
#include "rays-common.h"

/* Prepared rows [row][view][column] to their places. x: columns, y: views, z: rows. */
TD_KERNEL void
rays_take (TD_ITEM TD_IN (float) rows, TD_IN (int) places, TD_OUT (float) measured, TdRayRows p)
{
  const int column = td_global_x (), view = td_global_y (), row = td_global_z ();

  if (column >= p.n_columns || view >= p.n_views || row >= p.n_taken)
    return;
  measured[((size_t) places[view] * p.n_columns + column) * p.n_rows + p.to_row + row]
      = rows[((size_t) (p.from_row + row) * p.n_views + view) * p.n_columns + column];
}

/* Part of the volume as slices [slice][y][x]. x, y: pixels of the part, z: slices. */
TD_KERNEL void
rays_give (TD_ITEM TD_IN (float) volume, TD_OUT (float) slices, TdRays p, TdRayPart part)
{
  const int x = td_global_x (), y = td_global_y (), z = td_global_z ();

  if (x >= part.nx || y >= part.ny || z >= part.nz)
    return;
  slices[((size_t) z * part.ny + y) * part.nx + x]
      = volume[ray_voxel (p, part.x0 + x, part.y0 + y, part.z0 + z)];
}

/* The other way round: slices into the volume, none of it below @least. */
TD_KERNEL void
rays_put (TD_ITEM TD_IN (float) slices, TD_OUT (float) volume, float least, TdRays p,
          TdRayPart part)
{
  const int x = td_global_x (), y = td_global_y (), z = td_global_z ();

  if (x >= part.nx || y >= part.ny || z >= part.nz)
    return;
  volume[ray_voxel (p, part.x0 + x, part.y0 + y, part.z0 + z)]
      = td_fmax (slices[((size_t) z * part.ny + y) * part.nx + x], least);
}

/* Two sums a line: of products, and of magnitudes. x: lines. */
TD_KERNEL void
rays_sums (TD_ITEM const TD_GLOBAL float *a, const TD_GLOBAL float *b, TD_OUT (float) sums,
           TdRayLines p)
{
  const int line = td_global_x () + p.first;
  float product = 0, magnitude = 0;

  if (line >= p.end)
    return;
  const size_t start = (size_t) line * p.length;
  for (int i = 0; i < p.length; i++) {
    product += a[start + i] * b[start + i];
    magnitude += td_abs (a[start + i]);
  }
  sums[2 * (size_t) line] = product;
  sums[2 * (size_t) line + 1] = magnitude;
}

/* The same where items beside each other had better read beside each other. An item sums the values
   at one place of the lines of one group, which are p.groups apart. x: places of groups. */
TD_KERNEL void
rays_sums_across (TD_ITEM const TD_GLOBAL float *a, const TD_GLOBAL float *b, TD_OUT (float) sums,
                  TdRayLines p)
{
  const int item = td_global_x () + p.first;
  float product = 0, magnitude = 0;

  if (item >= p.end)
    return;
  for (int line = item / p.length; line < p.lines; line += p.groups) {
    const size_t at = (size_t) line * p.length + item % p.length;

    product += a[at] * b[at];
    magnitude += td_abs (a[at]);
  }
  sums[2 * (size_t) item] = product;
  sums[2 * (size_t) item + 1] = magnitude;
}

/* to = scale to + factor from. x: values of lines. */
TD_KERNEL void
rays_combine (TD_ITEM TD_OUT (float) to, TD_IN (float) from, float scale, float factor,
              TdRayLines p)
{
  const int i = td_global_x ();

  if (i >= (p.end - p.first) * p.length)
    return;
  const size_t at = (size_t) p.first * p.length + i;
  to[at] = scale * to[at] + factor * from[at];
}

/* The volume moves by what td_rays_correct() moves it by, from sums and weights that are complete.
   x: values of lines. */
TD_KERNEL void
rays_apply (TD_ITEM TD_OUT (float) volume, TD_IN (float) sums, TD_IN (float) weights,
            float relaxation, int non_negative, TdRayLines p)
{
  const int i = td_global_x ();

  if (i >= (p.end - p.first) * p.length)
    return;
  const size_t at = (size_t) p.first * p.length + i;
  const float moved = volume[at] + (weights[at] > 0 ? relaxation * sums[at] / weights[at] : 0.0f);
  volume[at] = non_negative ? ray_max (moved, 0.0f) : moved;
}

/* Nesterov's extrapolation: before = here, and here goes on by @factor of the step from before to
   here. x: values of lines. */
TD_KERNEL void
rays_beyond (TD_ITEM TD_OUT (float) here, TD_OUT (float) before, float factor, TdRayLines p)
{
  const int i = td_global_x ();

  if (i >= (p.end - p.first) * p.length)
    return;
  const size_t at = (size_t) p.first * p.length + i;
  const float value = here[at];
  here[at] = td_mad (factor, value - before[at], value);
  before[at] = value;
}
