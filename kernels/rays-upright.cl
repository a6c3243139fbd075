/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The pair of rays-project.cl and rays-back.cl on GPUs, for upright views. The rays of one detector
   column lie in one plane along z, and none is steepest along z. What such rays share is computed
   once: along the planes of voxels where they pass, along z only the row. Items beside each other
   are neighbours along z. */
#include "rays-common.h"

#ifndef TD_RAY_ROWS
#define TD_RAY_ROWS 2 /* of a projection's column, an item */
#endif
#ifndef TD_RAY_VOXELS
#define TD_RAY_VOXELS 8 /* along z, an item of the back-projection; it takes 2 x 2 such lines */
#endif

/* The rays of one column, by row: ray v goes along (x, y, slope + v slope_row) through
   (at_x, at_y, at_z + v row). */
typedef struct {
  float x, y, slope, slope_row;
  float at_x, at_y, at_z, row;
  float level;                   /* x^2 + y^2 */
  const TD_GLOBAL float *values; /* of its rows */
} RayColumn;

TD_FN RayColumn
rays_column (TD_IN (float) view, float u, const TD_GLOBAL float *values)
{
  RayColumn c;

  c.values = values;
  c.x = ray_direction (view, 0, u, 0.0f);
  c.y = ray_direction (view, 1, u, 0.0f);
  c.slope = ray_direction (view, 2, u, 0.0f);
  c.slope_row = view[24] * view[20];
  c.at_x = ray_point (view, 0, u, 0.0f);
  c.at_y = ray_point (view, 1, u, 0.0f);
  c.at_z = ray_point (view, 2, u, 0.0f);
  c.row = view[20];
  c.level = c.x * c.x + c.y * c.y;
  return c;
}

TD_FN int
rays_along_x (const RayColumn c)
{
  return td_abs (c.x) >= td_abs (c.y);
}

/* How long ray v is from plane to plane, over voxel_mm / |the steeper of x and y|. */
TD_FN float
rays_length (const RayColumn c, float slope)
{
  return td_sqrt (td_mad (slope, slope, c.level));
}

/* ── Projection ── */

/* What the rays of some rows see, in voxels' lengths, and on how many planes they pass the volume.
   @along_x: the planes are those of one x. */
TD_FN void
rays_walk_upright (TD_IN (float) volume, const RayColumn c, int row, const TdRays p, int along_x,
                   float *sum, float *planes)
{
  const int n_a = along_x ? p.nx : p.ny, n_b = along_x ? p.ny : p.nx;
  const size_t stride_a = along_x ? p.stride_x : p.stride_y;
  const int stride_b = along_x ? p.stride_y : p.stride_x;
  const float inverse = 1.0f / (along_x ? c.x : c.y);
  const float at_a = along_x ? c.at_x : c.at_y;
  const float step_b = (along_x ? c.y : c.x) * inverse;
  const float from_b = (along_x ? c.at_y : c.at_x) - at_a * step_b;
  float from[TD_RAY_ROWS], step[TD_RAY_ROWS];
  float low_b = 0, high_b = (float) (n_a - 1);
  int first = n_a, last = -1;

  rays_clip (from_b, step_b, n_b, &low_b, &high_b);
  TD_UNROLL
  for (int k = 0; k < TD_RAY_ROWS; k++) {
    const float v = (float) (row + k * p.row_step) - p.v_middle;
    float low = low_b, high = high_b;

    step[k] = td_mad (v, c.slope_row, c.slope) * inverse;
    from[k] = td_mad (v, c.row, c.at_z) - at_a * step[k];
    rays_clip (from[k], step[k], p.nz, &low, &high);
    low = -td_floor (-low);
    high = row + k * p.row_step < p.n_rows ? td_floor (high) : -1.0f;
    planes[k] = ray_max (high - low + 1, 0.0f);
    first = low <= high ? td_min (first, (int) low) : first;
    last = low <= high ? td_max (last, (int) high) : last;
    sum[k] = 0;
  }
  TD_UNROLL_BY (2)
  for (int i = first; i <= last; i++) {
    /* From the border on there are zeros. */
    const float at_b
        = ray_min (ray_max (td_mad ((float) i, step_b, from_b), -1.0f), (float) n_b);
    const int whole_b = (int) (at_b + 1.0f) - 1;
    const float rest_b = at_b - (float) whole_b;
    const TD_GLOBAL float *line = volume + p.base + (size_t) i * stride_a + whole_b * stride_b;

    TD_UNROLL
    for (int k = 0; k < TD_RAY_ROWS; k++) {
      const float at
          = ray_min (ray_max (td_mad ((float) i, step[k], from[k]), -1.0f), (float) p.nz);
      const float whole = td_floor (at);
      const TD_GLOBAL float *near = line + (int) whole;
      const float one = td_mad (rest_b, near[stride_b] - near[0], near[0]);
      const float other = td_mad (rest_b, near[stride_b + 1] - near[1], near[1]);

      sum[k] += td_mad (at - whole, other - one, one);
    }
  }
}

/* out [place][column][row]: integrals, or what is missing of @measured, as rays_project() of
   rays-project.cl. x: the first of rows p.row_step apart, y: columns, z: places, band by band. So
   all views of a band find its part of the volume in the second-level cache. */
TD_KERNEL void TD_GROUP_AT_MOST (TD_RAY_GROUP, 4)
rays_upright_project (TD_ITEM TD_IN (float) volume, TD_IN (float) table, TD_IN (float) measured,
                      TD_OUT (float) out, TD_OUT (float) misfit, TdRays p)
{
  const int column = td_global_y () + p.first, place = td_global_z () % p.n_views;
  const int band = td_global_z () / p.n_views, x = td_global_x ();
  const int row = band * TD_RAY_ROWS * p.row_step + x;
  float sum[TD_RAY_ROWS], planes[TD_RAY_ROWS];

  if (x >= p.row_step || row >= p.n_rows || column >= p.end || band >= p.bands)
    return;
  const RayColumn c = rays_column (table + (size_t) (p.first_view + place) * TD_RAY_FLOATS,
                                   (float) column - p.u_middle, measured);
  if (rays_along_x (c))
    rays_walk_upright (volume, c, row, p, 1, sum, planes);
  else
    rays_walk_upright (volume, c, row, p, 0, sum, planes);
  const float scale = p.voxel_mm * ray_reciprocal (ray_max (td_abs (c.x), td_abs (c.y)));
  const size_t line = ((size_t) place * p.n_columns + column) * p.n_rows;
  const size_t there = ((size_t) (p.first_view - p.held_view + place) * p.n_columns + column)
      * p.n_rows;
  TD_UNROLL
  for (int k = 0; k < TD_RAY_ROWS; k++) {
    const int at = row + k * p.row_step;
    const float slope = td_mad ((float) at - p.v_middle, c.slope_row, c.slope);
    const float plane = scale * rays_length (c, slope);

    if (at >= p.n_rows)
      continue;
    if (p.compare)
      out[line + at] = rays_off (measured[there + at], sum[k] * plane, planes[k] * plane, p,
                                 misfit + line + at);
    else
      out[line + at] = sum[k] * plane;
  }
}

/* ── Back-projection ── */

/* Lines times their rays' lengths from plane to plane, which is what rays_upright_sums() adds up.
   @lines begin at place p.held_view, @weighed at p.first_view; both may be the same buffer then.
   x: rows, y: columns, z: places. */
TD_KERNEL void
rays_upright_weigh (TD_ITEM const TD_GLOBAL float *lines, TD_IN (float) table,
                    TD_GLOBAL float *weighed, TdRays p)
{
  const int row = td_global_x (), column = td_global_y () + p.first, place = td_global_z ();

  if (row >= p.n_rows || column >= p.end || place >= p.n_views)
    return;
  const RayColumn c = rays_column (table + (size_t) (p.first_view + place) * TD_RAY_FLOATS,
                                   (float) column - p.u_middle, lines);
  const float steeper = ray_max (td_abs (c.x), td_abs (c.y));
  const float slope = td_mad ((float) row - p.v_middle, c.slope_row, c.slope);
  const size_t at = (size_t) column * p.n_rows + row, view = (size_t) p.n_columns * p.n_rows;

  weighed[place * view + at] = lines[(p.first_view - p.held_view + place) * view + at]
                               * (p.voxel_mm / steeper * rays_length (c, slope));
}

/* Columns [*first, *last] of rays that voxels (x, y) … (x + 1, y + 1) may lie on: within one voxel
   of them across. The bound takes the magnification where it is largest. */
TD_FN void
rays_columns (TD_IN (float) view, int x, int y, const TdRays p, int *first, int *last)
{
  const float cx = (float) x + 0.5f, cy = (float) y + 0.5f;
  const float w = td_mad (view[8], cx, td_mad (view[9], cy, view[11]));
  const float u = td_mad (view[0], cx, td_mad (view[1], cy, view[3])) * ray_reciprocal (w);
  const float along = td_abs (view[0] - u * view[8]), across = td_abs (view[1] - u * view[9]);
  const float w_x = td_abs (view[8]), w_y = td_abs (view[9]);
  const float least = td_abs (w) - (0.5f * (w_x + w_y) + ray_max (w_x, w_y));
  const float reach
      = (0.5f * (along + across) + ray_max (along, across)) * ray_reciprocal (least) + 1e-3f;

  *first = (int) ray_max (-td_floor (-(u - reach + p.u_middle)), 0.0f);
  *last = (int) ray_min (td_floor (u + reach + p.u_middle), (float) (p.n_columns - 1));
}

/* The sums of two lines of voxels along z, and of their weights. */
typedef struct {
  float *sum[2], *weight[2];
} RayPair;

/* A column's rays where they pass a plane of voxels: ray v at z + v dz. */
typedef struct {
  float z, dz, rows; /* rows: 1 / dz */
  float near[2];     /* what the column counts for the two lines */
} RayPlace;

/* Adds the @taps rows nearest to each voxel of both lines, which are all that lie within one voxel
   of it. */
TD_FN void
rays_add (const RayColumn c, const RayPlace at, float z, const TdRays p, int taps, int weighed,
          const RayPair pair)
{
  const float before = td_mad (-at.z, at.rows, p.v_middle) - td_abs (at.rows);
  const float row0 = td_mad (-p.v_middle, at.dz, at.z);
  const float slope0 = td_mad (-p.v_middle, c.slope_row, c.slope);
  const float most = (float) (p.n_rows - taps);

  TD_UNROLL
  for (int k = 0; k < TD_RAY_VOXELS; k++) {
    const float here = z + (float) (k * p.z_step);
    const float row
        = ray_min (ray_max (-td_floor (-td_mad (here, at.rows, before)), 0.0f), most);
    const TD_GLOBAL float *values = c.values + (int) row;
    float off = td_mad (row, at.dz, row0) - here, slope = td_mad (row, c.slope_row, slope0);
    float sum = 0, weight = 0;

    for (int j = 0; j < taps; j++) {
      float near = ray_max (1.0f - td_abs (off), 0.0f);

      if (!weighed) {
        const float square = td_mad (slope, slope, c.level);

        near *= square * td_rsqrt (square);
        weight += near;
        slope += c.slope_row;
      }
      sum += near * values[j];
      off += at.dz;
    }
    pair.sum[0][k] += at.near[0] * sum;
    pair.sum[1][k] += at.near[1] * sum;
    if (!weighed) {
      pair.weight[0][k] += at.near[0] * weight;
      pair.weight[1][k] += at.near[1] * weight;
    }
  }
}

/* Where a column's rays pass voxels (a, b) and (a, b + 1): a is their place along the axis that its
   rays are steepest along. */
TD_FN RayPlace
rays_place (const RayColumn c, float a, float b, const TdRays p, int weighed)
{
  const int along_x = rays_along_x (c);
  const float inverse = ray_reciprocal (along_x ? c.x : c.y);
  const float t = (a - (along_x ? c.at_x : c.at_y)) * inverse;
  const float off = td_mad (t, along_x ? c.y : c.x, along_x ? c.at_y : c.at_x) - b;
  const float scale = weighed ? 1.0f : p.voxel_mm * td_abs (inverse);
  RayPlace at;

  at.near[0] = ray_max (1.0f - td_abs (off), 0.0f) * scale;
  at.near[1] = ray_max (1.0f - td_abs (off - 1.0f), 0.0f) * scale;
  at.z = td_mad (t, c.slope, c.at_z);
  at.dz = td_mad (t, c.slope_row, c.row);
  at.rows = ray_reciprocal (at.dz);
  return at;
}

/* What a column adds to the two voxels' lines. */
TD_FN void
rays_pass (const RayColumn c, const RayPlace at, float z, const TdRays p, int weighed,
           const RayPair pair)
{
  if (at.near[0] + at.near[1] <= 0.0f)
    return;
  /* At most 2 / dz rows lie within one voxel. What rounding leaves out counts a millionth. */
  if (p.n_rows < 3 || td_abs (at.dz) < 0.667f)
    rays_add (c, at, z, p, (int) ray_min (2.0f * td_abs (at.rows) + 1.0f, (float) p.n_rows),
              weighed, pair);
  else if (td_abs (at.dz) < 0.999999f)
    rays_add (c, at, z, p, 3, weighed, pair);
  else
    rays_add (c, at, z, p, 2, weighed, pair);
}

/* What becomes of a voxel (params.h: TD_RAY_SUM, …); @weight: what its views weigh. */
TD_FN float
rays_settled (const TdRays p, float before, float sum, float weight)
{
  if (p.compare == TD_RAY_CORRECT) {
    const float moved = before + (weight > 0 ? p.relaxation * sum / weight : 0.0f);

    return p.non_negative ? ray_max (moved, 0.0f) : moved;
  }
  return p.compare == TD_RAY_SUM ? sum : before + sum;
}

/* A line of sums to its voxels, of which @n exist. Sums of weighed lines have no weights of their
   own: @weights is A' 1 then. All voxels are on their way before the first is written. */
TD_FN void
rays_settle (TD_GLOBAL float *volume, TD_GLOBAL float *weights, const TdRays p, const float *sum,
             const float *weight, int n, int weighed)
{
  float before[TD_RAY_VOXELS], known[TD_RAY_VOXELS];

  TD_UNROLL
  for (int k = 0; k < TD_RAY_VOXELS; k++) {
    const size_t at = (size_t) k * p.z_step;

    before[k] = k < n && p.compare != TD_RAY_SUM ? volume[at] : 0.0f;
    known[k] = k < n && p.compare == TD_RAY_CORRECT && weighed ? weights[at] : weight[k];
  }
  TD_UNROLL
  for (int k = 0; k < TD_RAY_VOXELS; k++) {
    const size_t at = (size_t) k * p.z_step;

    if (k < n)
      volume[at] = rays_settled (p, before[k], sum[k], known[k]);
    if (k < n && p.compare == TD_RAY_ADD_BOTH)
      weights[at] += weight[k];
  }
}

/* ── An item: 2 x 2 lines of voxels ── */

/* The lines are at x, y … x + 1, y + 1, their voxels at z, z + p.z_step, … */
typedef struct {
  int x, y, z;
} RayItem;

typedef struct {
  float sum[4][TD_RAY_VOXELS], weight[4][TD_RAY_VOXELS]; /* [2 x + y][voxel] */
} RayTile;

/* Where a column passes the two pairs of lines across its rays' steepest axis. A pair shares what
   the ray adds to it. */
typedef struct {
  int along_x;
  RayPlace near, far;
} RayPasses;

TD_FN RayPasses
rays_passes (const RayColumn c, const RayItem item, const TdRays p, int weighed)
{
  const int along_x = rays_along_x (c);
  const float a = (float) (along_x ? item.x : item.y), b = (float) (along_x ? item.y : item.x);
  const RayPasses passes = { along_x, rays_place (c, a, b, p, weighed),
                             rays_place (c, a + 1.0f, b, p, weighed) };

  return passes;
}

TD_FN void
rays_tile_clear (RayTile *tile)
{
  TD_UNROLL
  for (int i = 0; i < 4 * TD_RAY_VOXELS; i++)
    tile->sum[i / TD_RAY_VOXELS][i % TD_RAY_VOXELS]
        = tile->weight[i / TD_RAY_VOXELS][i % TD_RAY_VOXELS] = 0;
}

TD_FN void
rays_tile_add (RayTile *tile, const RayColumn c, const RayPasses passes, float z, const TdRays p,
               int weighed)
{
  if (passes.along_x) {
    const RayPair x0 = { { tile->sum[0], tile->sum[1] }, { tile->weight[0], tile->weight[1] } };
    const RayPair x1 = { { tile->sum[2], tile->sum[3] }, { tile->weight[2], tile->weight[3] } };

    rays_pass (c, passes.near, z, p, weighed, x0);
    rays_pass (c, passes.far, z, p, weighed, x1);
  } else {
    const RayPair y0 = { { tile->sum[0], tile->sum[2] }, { tile->weight[0], tile->weight[2] } };
    const RayPair y1 = { { tile->sum[1], tile->sum[3] }, { tile->weight[1], tile->weight[3] } };

    rays_pass (c, passes.near, z, p, weighed, y0);
    rays_pass (c, passes.far, z, p, weighed, y1);
  }
}

TD_FN void
rays_tile_settle (RayTile *tile, TD_GLOBAL float *volume, TD_GLOBAL float *weights,
                  const RayItem item, const TdRays p, int weighed)
{
  TD_UNROLL
  for (int line = 0; line < 4; line++) {
    const int x = item.x + line / 2, y = item.y + line % 2;
    const size_t at = ray_voxel (p, x, y, item.z);

    if (x < p.nx && y < p.end)
      rays_settle (volume + at, weights + at, p, tile->sum[line], tile->weight[line],
                   (p.nz - item.z + p.z_step - 1) / p.z_step, weighed);
  }
}

/* x: the first of voxels p.z_step apart, y: pairs along x, z: pairs along y. */
TD_FN RayItem
rays_item (const TdRays p)
{
  const RayItem item = { 2 * td_global_y (), 2 * td_global_z () + p.first, td_global_x () };

  return item;
}

TD_FN void
rays_tile (TD_IN (float) lines, TD_IN (float) table,
           TD_GLOBAL float *volume, TD_GLOBAL float *weights, const TdRays p, int weighed)
{
  const RayItem item = rays_item (p);
  RayTile tile;

  if (item.z >= p.z_step || item.x >= p.nx || item.y >= p.end)
    return;
  rays_tile_clear (&tile);
  for (int place = 0; place < p.n_views; place++) {
    const TD_GLOBAL float *view = table + (size_t) (p.first_view + place) * TD_RAY_FLOATS;
    int first, last;

    rays_columns (view, item.x, item.y, p, &first, &last);
    for (int column = first; column <= last; column++) {
      const RayColumn c
          = rays_column (view, (float) column - p.u_middle,
                         lines + ((size_t) place * p.n_columns + column) * p.n_rows);

      rays_tile_add (&tile, c, rays_passes (c, item, p, weighed), (float) item.z, p, weighed);
    }
  }
  rays_tile_settle (&tile, volume, weights, item, p, weighed);
}

TD_KERNEL void
rays_upright_back (TD_ITEM TD_IN (float) lines,
                   TD_IN (float) table, TD_GLOBAL float *volume,
                   TD_GLOBAL float *weights, TdRays p)
{
  rays_tile (lines, table, volume, weights, p, 0);
}

/* ── The same of rays_upright_weigh()'s lines, faster: sums, or a correction by known weights ── */

#ifndef TD_RAY_SHARED

TD_KERNEL void
rays_upright_sums (TD_ITEM TD_IN (float) weighed,
                   TD_IN (float) table, TD_GLOBAL float *volume,
                   TD_GLOBAL float *weights, TdRays p)
{
  rays_tile (weighed, table, volume, weights, p, 1);
}

#else

#define SHARED_VIEWS (TD_RAY_SHARED_X / TD_RAY_SHARED)
/* Groups at once on a multiprocessor: more would leave items too few registers. */
#define SHARED_RESIDENT (TD_RAY_VOXELS >= 8 ? 3 : 8)

/* Neighbours along z find a column's passes each, for all of them. No item lies on more than
   TD_RAY_SHARED columns of a view. */
TD_KERNEL void TD_GROUP_SIZE_RESIDENT (TD_RAY_SHARED_X, TD_RAY_SHARED_Y, 1, SHARED_RESIDENT)
rays_upright_sums (TD_ITEM TD_IN (float) weighed,
                   TD_IN (float) table, TD_GLOBAL float *volume,
                   TD_GLOBAL float *weights, TdRays p)
{
  TD_LOCAL float4 shared[TD_RAY_SHARED_Y][TD_RAY_SHARED_X][3];
  TD_LOCAL int ranges[TD_RAY_SHARED_Y][SHARED_VIEWS][2];
  const RayItem item = rays_item (p);
  const int lane = td_local_x (), row = td_local_y ();
  const int own_view = lane / TD_RAY_SHARED, own_column = lane % TD_RAY_SHARED;
  const int works = item.z < p.z_step && item.x < p.nx;
  RayTile tile;

  rays_tile_clear (&tile);
  for (int from = 0; from < p.n_views; from += SHARED_VIEWS) {
    const int place = from + own_view;

    td_warp_barrier ();
    if (place < p.n_views) {
      const TD_GLOBAL float *view = table + (size_t) (p.first_view + place) * TD_RAY_FLOATS;
      int first, last;

      rays_columns (view, item.x, item.y, p, &first, &last);
      const RayColumn c = rays_column (view, (float) (first + own_column) - p.u_middle, table);
      const RayPasses at = rays_passes (c, item, p, 1);

      if (own_column == 0) {
        ranges[row][own_view][0] = first;
        ranges[row][own_view][1] = last;
      }
      shared[row][lane][0] = td_float4 (at.near.z, at.near.dz, at.near.rows, at.near.near[0]);
      shared[row][lane][1] = td_float4 (at.far.z, at.far.dz, at.far.rows, at.far.near[0]);
      shared[row][lane][2]
          = td_float4 (at.near.near[1], at.far.near[1], at.along_x ? 1.0f : 0.0f, 0.0f);
    }
    td_warp_barrier ();
    for (int v = 0; works && v < SHARED_VIEWS && from + v < p.n_views; v++) {
      const int first = ranges[row][v][0], last = ranges[row][v][1];

      for (int column = first; column <= last; column++) {
        const int slot = v * TD_RAY_SHARED + column - first;
        const float4 near = shared[row][slot][0], far = shared[row][slot][1],
                     rest = shared[row][slot][2];
        const RayPasses at = { rest.z > 0.0f,
                               { near.x, near.y, near.z, { near.w, rest.x } },
                               { far.x, far.y, far.z, { far.w, rest.y } } };
        RayColumn c = { 0 };

        c.values = weighed + ((size_t) (from + v) * p.n_columns + column) * p.n_rows;
        rays_tile_add (&tile, c, at, (float) item.z, p, 1);
      }
    }
  }
  if (works)
    rays_tile_settle (&tile, volume, weights, item, p, 1);
}
#endif
