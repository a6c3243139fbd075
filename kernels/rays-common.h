/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the kernels of iterative reconstruction share. The volume is [y][x][z] with a border of
   zeros, one voxel before and two behind along every axis. Projections are [view][column][row].
   Neighbours of one detector column see neighbours along z, so items beside each other read beside
   each other. An item takes TD_LANES of them: vectors on CPUs, one elsewhere.

   Lines are Joseph's (IEEE Trans. Med. Imaging 1, 1982). Along the axis that it is steepest
   against, a ray is sampled at every plane of voxels, bilinearly within the plane. The
   back-projection uses the very same weights, found from the voxel's side. A view is TD_RAY_FLOATS
   numbers, in voxels counted from the first voxel, columns and rows counted from the middle of the
   detector:
     0-11   w (u, v, 1)' = M (x, y, z, 1)'
     12-20  the pixel's point: X + u U + v V
     21-24  its direction: D + t (u U + v V); t is 1 for cones, 0 for parallel rays */
#pragma once

#ifdef TD_HOST
#define TD_LANES TD_RAY_LANES
#endif
#ifndef TD_LANES
#define TD_LANES 1
#endif

/* A CPU's own minimum and maximum, which vectors have; no NaN comes by. */
#ifdef TD_HOST
#define ray_min(a, b) ((a) < (b) ? (a) : (b))
#define ray_max(a, b) ((a) > (b) ? (a) : (b))
#else
#define ray_min(a, b) td_fmin ((a), (b))
#define ray_max(a, b) td_fmax ((a), (b))
#endif

#ifdef TD_HOST
#define ray_reciprocal(x) (1.0f / (x))
#else
#define ray_reciprocal(x) td_reciprocal (x)
#endif

/* Sums in registers are not counted through at run time. */
#if TD_LANES == 1
#define RAY_UNROLL TD_UNROLL
#else
#define RAY_UNROLL
#endif

TD_FN float
ray_offset (const TD_GLOBAL float *view, int axis, float u, float v)
{
  return td_mad (u, view[15 + axis], v * view[18 + axis]);
}

TD_FN float
ray_direction (const TD_GLOBAL float *view, int axis, float u, float v)
{
  return td_mad (view[24], ray_offset (view, axis, u, v), view[21 + axis]);
}

TD_FN float
ray_point (const TD_GLOBAL float *view, int axis, float u, float v)
{
  return view[12 + axis] + ray_offset (view, axis, u, v);
}

/* The axis that a ray is sampled along. */
TD_FN int
ray_axis (float x, float y, float z)
{
  x = td_abs (x);
  y = td_abs (y);
  z = td_abs (z);
  return x >= y ? (x >= z ? 0 : 2) : (y >= z ? 1 : 2);
}

TD_FN size_t
ray_voxel (const TdRays p, int x, int y, int z)
{
  return (size_t) p.base + (size_t) y * p.stride_y + (size_t) x * p.stride_x + z;
}

/* Planes where from + plane step lies in -1 … n. A ray along an edge of these, where all weights
   are zero, passes none. */
TD_FN void
rays_clip (float from, float step, int n, float *low, float *high)
{
  const int along = td_abs (step) < 1e-9f;
  const float slope = along ? 1e-9f : step;
  const float a = (-1.0f - from) / slope, b = ((float) n - from) / slope;

  if (along & ((from <= -1.0f) | (from >= (float) n)))
    *high = -1.0f;
  *low = ray_max (*low, ray_min (a, b));
  *high = ray_min (*high, ray_max (a, b));
}

/* What is missing of a measured integral, over the length of its ray. Less than a voxel of that is
   too little to divide by. */
TD_FN float
rays_off (float measured, float sum, float length, const TdRays p, TD_GLOBAL float *misfit)
{
  const float off = length > 0.5f * p.voxel_mm ? measured - sum : 0.0f;

  *misfit = off * off;
  return off / ray_max (length, p.voxel_mm);
}
