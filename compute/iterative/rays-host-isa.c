/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The inner loops of rays-host.c, compiled once for each instruction set. Positions are computed in
   double precision once for a plane and a few vectors. Within these they are relative to a voxel or
   row nearby, so that both operators take the same weights whatever the size. A vector of rows
   picks its voxels, and a vector of voxels its rows, by a permutation of two loaded vectors. A
   vector that spans more than those hold gathers. */
#include "rays-host.h"

#include <math.h>
#include <string.h>
#ifdef __AVX2__
#include <immintrin.h>
#endif

#ifdef __AVX512F__
#define LANES 16
#elif defined(__AVX2__)
#define LANES 8
#else
#define LANES 4
#endif
#define AT_ONCE (TD_RAY_HOST_VECTORS * LANES)
#define TILE TD_RAY_HOST_TILE
/* The first voxel or row of a vector pair is rounded apart from the places in it. */
#define MARGIN 1e-3f

typedef float Vector __attribute__ ((vector_size (4 * LANES)));
typedef float Loose __attribute__ ((vector_size (4 * LANES), aligned (4), may_alias));
typedef gint32 Index __attribute__ ((vector_size (4 * LANES)));

#ifdef __clang__
/* Slower than the built-in that clang lacks. */
static inline Vector
vector_shuffle (Vector a, Vector b, Index index)
{
  Vector out;

  for (guint k = 0; k < LANES; k++)
    out[k] = (index[k] & LANES) ? b[index[k] & (LANES - 1)] : a[index[k] & (LANES - 1)];
  return out;
}
#else
#define vector_shuffle __builtin_shuffle
#endif

#ifdef __AVX512F__
#define vector_max(a, b) ((Vector) _mm512_max_ps ((__m512) (a), (__m512) (b)))
#define vector_min(a, b) ((Vector) _mm512_min_ps ((__m512) (a), (__m512) (b)))
#define vector_pick(a, b, index)                                                                   \
  ((Vector) _mm512_permutex2var_ps ((__m512) (a), (__m512i) (index), (__m512) (b)))
#elif defined(__AVX2__)
#define vector_max(a, b) ((Vector) _mm256_max_ps ((__m256) (a), (__m256) (b)))
#define vector_min(a, b) ((Vector) _mm256_min_ps ((__m256) (a), (__m256) (b)))
#define vector_pick vector_shuffle
#else
static inline Vector
vector_max (Vector a, Vector b)
{
  for (guint k = 0; k < LANES; k++)
    a[k] = a[k] > b[k] ? a[k] : b[k];
  return a;
}

static inline Vector
vector_min (Vector a, Vector b)
{
  for (guint k = 0; k < LANES; k++)
    a[k] = a[k] < b[k] ? a[k] : b[k];
  return a;
}
#define vector_pick vector_shuffle
#endif

static inline Vector
all_of (float value)
{
  return (Vector) { 0 } + value;
}

static inline Vector
vector_load (const float *from)
{
  return *(const Loose *) from;
}

static inline Vector
vector_lanes (void)
{
  Vector count;

  for (guint k = 0; k < LANES; k++)
    count[k] = (float) k;
  return count;
}

static inline Vector
vector_magnitude (Vector a)
{
  return (Vector) ((Index) a & 0x7fffffff);
}

static inline Vector
vector_gather (const float *from, Index index)
{
  Vector picked;

  for (guint k = 0; k < LANES; k++)
    picked[k] = from[index[k]];
  return picked;
}

/* What two loaded vectors hold, if neighbours among the picked are @step apart and each takes
 * @more. */
static inline gboolean
is_narrow (double step, double more)
{
  return LANES > 4 && fabs (step) * (LANES - 1) + more + 1.01 < 2 * LANES;
}

/* Planes [first, end). */
typedef struct {
  gint first, end;
} Planes;

/* The planes of @all whose b lies strictly between @low and @high. */
static inline Planes
clip_planes (const TdRayPlane *plane, double low, double high, Planes all)
{
  const double step = fabs (plane->b_step) < 1e-12 ? 1e-12 : plane->b_step;
  const double one = (low - plane->b) / step, other = (high - plane->b) / step;
  const double least = fmax (fmin (one, other), all.first);
  const double most = fmin (fmax (one, other), all.end - 1);

  if (!(least <= most))
    return (Planes) { all.first, all.first };
  gint first = (gint) ceil (least), end = (gint) floor (most) + 1;
  /* Rounding: planes at the very ends weigh nothing, and may lie beyond. */
  while (first < end
         && !(plane->b + first * plane->b_step > low && plane->b + first * plane->b_step < high))
    ++first;
  while (first < end
         && !(plane->b + (end - 1) * plane->b_step > low
              && plane->b + (end - 1) * plane->b_step < high))
    --end;
  return (Planes) { first, end };
}

/* ── Projection ── */

/* Two neighbouring lines of voxels along z, and the second one's share. */
typedef struct {
  const float *near, *far;
  float share;
} Pair;

/* Where rays meet them: the first at z, each next one a step further; no further than top. */
typedef struct {
  float z, step, top;
} Hits;

/* Adds what @n vectors of rows see there. */
static inline __attribute__ ((always_inline)) void
rays_sample (Pair lines, Hits hits, guint n, gboolean narrow, Vector *sums)
{
  const float *near = lines.near, *far = lines.far;
  const float share = lines.share, step = hits.step, top = hits.top;
  const Vector steps = vector_lanes () * step;
  float z = hits.z;

  for (guint k = 0; k < n; k++, z += LANES * step) {
    const Vector at = vector_min (vector_max (steps + z, all_of (0)), all_of (top));
    const Index whole = __builtin_convertvector(at, Index);
    const Vector part = at - __builtin_convertvector(whole, Vector);
    Vector here, next;

    if (narrow) {
      const float least = (step < 0 ? z + (LANES - 1) * step : z) - MARGIN;
      const gint start = (gint) (least < 0 ? 0 : least > top ? top : least);
      const Index index = whole - start;
      const Vector low = vector_load (near + start), high = vector_load (near + start + LANES);
      const Vector lower = low + share * (vector_load (far + start) - low);
      const Vector upper = high + share * (vector_load (far + start + LANES) - high);

      here = vector_pick (lower, upper, index);
      next = vector_pick (lower, upper, index + 1);
    } else {
      const Vector low = vector_gather (near, whole), high = vector_gather (near + 1, whole);

      here = low + share * (vector_gather (far, whole) - low);
      next = high + share * (vector_gather (far + 1, whole) - high);
    }
    sums[k] += here + part * (next - here);
  }
}

static inline __attribute__ ((always_inline)) void
rays_walk (const TdRayHostWork *work, const TdRayPlane *plane, Planes planes, double v, guint n,
           gboolean narrow, Vector *sums)
{
  const gint nz = work->p.nz;

  for (gint i = planes.first; i < planes.end; i++) {
    const double b = plane->b + i * plane->b_step, step = plane->row + i * plane->row_step;
    const double z = plane->z + i * plane->z_step + v * step, last = z + (n * LANES - 1.0) * step;
    const double low = step < 0 ? last : z, high = step < 0 ? z : last;
    const gint j = (gint) (b + 1) - 1;

    if (!(high > -1 && low < nz))
      continue;
    const gint from = low < 0 ? -1 : (gint) low;
    const float *near
        = work->volume + work->p.base + i * plane->stride_a + j * plane->stride_b + from;

    rays_sample ((Pair) { near, near + plane->stride_b, (float) (b - j) },
                 (Hits) { (float) (z - from), (float) step, (float) (nz - from) }, n, narrow, sums);
  }
}

/* How long each row's ray is in the volume: planes that it passes within it. */
static inline void
rays_measure (const TdRayHostWork *work, const TdRayPlane *plane, double v, Planes planes,
              float *lengths, float *parts)
{
  const float scale = (float) plane->scale, level = (float) plane->level, nz = (float) work->p.nz;

  for (guint k = 0; k < AT_ONCE; k++) {
    const float at = (float) v + (float) k;
    const float slope = (float) plane->slope + at * (float) plane->slope_row;
    const float from = (float) plane->z + at * (float) plane->row;
    const float step = (float) plane->z_step + at * (float) plane->row_step;
    const float inverse = 1 / (fabsf (step) < 1e-9f ? 1e-9f : step);
    const float one = (-1 - from) * inverse, other = (nz - from) * inverse;
    const float low = ceilf (fmaxf (fminf (one, other), (float) planes.first));
    const float high = floorf (fminf (fmaxf (one, other), (float) (planes.end - 1)));

    parts[k] = scale * sqrtf (level + slope * slope);
    lengths[k] = fmaxf (high - low + 1, 0) * parts[k];
  }
}

static inline void
put_column (const TdRayHostWork *work, const TdRayPlane *plane, Planes planes, guint place,
            guint column, guint row, const float *sums)
{
  const TdRays *p = &work->p;
  const guint n = MIN (p->n_rows - row, AT_ONCE);
  const gsize line = ((gsize) place * p->n_columns + column) * p->n_rows + row;
  const float *measured
      = work->measured + ((gsize) (p->first_view - p->held_view) * p->n_columns * p->n_rows + line);
  float *out = work->lines + line, *squares = work->squares + line;
  float lengths[AT_ONCE], parts[AT_ONCE];

  rays_measure (work, plane, row - p->v_middle, planes, lengths, parts);
  if (!p->compare) {
    for (guint k = 0; k < n; k++)
      out[k] = sums[k] * parts[k];
    return;
  }
  for (guint k = 0; k < n; k++) {
    const float off = lengths[k] > 0.5f * p->voxel_mm ? measured[k] - sums[k] * parts[k] : 0;

    out[k] = off / fmaxf (lengths[k], p->voxel_mm);
    squares[k] = off * off;
  }
}

static void
rays_host_project (const TdRayHostWork *work, guint place, guint column, guint end_column,
                   guint row)
{
  const guint n = MIN ((work->p.n_rows - row + LANES - 1) / LANES, TD_RAY_HOST_VECTORS);
  const double v = row - work->p.v_middle;

  for (; column < end_column; column++) {
    Vector sums[TD_RAY_HOST_VECTORS] = { 0 };
    TdRayPlane plane;
    Planes planes;

    td_ray_plane (work, place, column, &plane);
    planes = clip_planes (&plane, -1, plane.n_b, (Planes) { 0, plane.n_a });
    const double step = fmax (fabs (plane.row + planes.first * plane.row_step),
                              fabs (plane.row + planes.end * plane.row_step));
    if (!is_narrow (step, 2))
      rays_walk (work, &plane, planes, v, n, FALSE, sums);
    else if (n == TD_RAY_HOST_VECTORS)
      rays_walk (work, &plane, planes, v, TD_RAY_HOST_VECTORS, TRUE, sums);
    else
      rays_walk (work, &plane, planes, v, n, TRUE, sums);
    put_column (work, &plane, planes, place, column, row, (const float *) sums);
  }
}

/* ── Back-projection ── */

typedef struct {
  const TdRayHostWork *work;
  gint first[2], end[2]; /* voxels of the tile: x, y */
  gint z;
  guint n; /* vectors along z */
  Vector sums[TILE * TILE][TD_RAY_HOST_VECTORS], weights[TILE * TILE][TD_RAY_HOST_VECTORS];
  float *values, *shares; /* a column's rows from row0 on, times what they weigh; and that */
  gint row0, n_rows;
} Tile;

/* Columns [*first, *end) whose rays may pass the tile. */
static inline void
find_columns (const Tile *tile, guint place, gint *first, gint *end)
{
  const TdRays *p = &tile->work->p;
  const double *m = tile->work->views + (gsize) (p->first_view + place) * TD_RAY_FLOATS;
  double low = INFINITY, high = -INFINITY;

  for (guint corner = 0; corner < 4; corner++) {
    const double x = corner & 1 ? tile->end[0] : tile->first[0] - 1.0;
    const double y = corner & 2 ? tile->end[1] : tile->first[1] - 1.0;
    const double u = (m[0] * x + m[1] * y + m[3]) / (m[8] * x + m[9] * y + m[11]);

    low = fmin (low, u);
    high = fmax (high, u);
  }
  *first = (gint) ceil (fmax (low + p->u_middle, 0));
  *end = (gint) floor (fmin (high + p->u_middle, p->n_columns - 1.0)) + 1;
}

/* The rows of a column that the tile sees between planes @first and @end, between zeros; FALSE:
 * none. */
static inline gboolean
rays_host_take_rows (Tile *tile, const TdRayPlane *plane, guint place, guint column, gint first,
                     gint end)
{
  const TdRays *p = &tile->work->p;
  const float *line = tile->work->lines + ((gsize) place * p->n_columns + column) * p->n_rows;
  double low = INFINITY, high = -INFINITY, reach = 0;

  for (guint side = 0; side < 2; side++) {
    const gint i = side ? end - 1 : first;
    const double rows = 1 / (plane->row + i * plane->row_step), z = plane->z + i * plane->z_step;
    const double one = (tile->z - z) * rows, other = (tile->z + tile->n * LANES - 1.0 - z) * rows;

    low = fmin (low, fmin (one, other));
    high = fmax (high, fmax (one, other));
    reach = fmax (reach, fabs (rows));
  }
  low = floor (low + p->v_middle - reach) - 1;
  high = ceil (high + p->v_middle + reach) + 1;
  if (high < 0 || low >= p->n_rows)
    return FALSE;
  const double pad = ceil (2 * reach) + 2;
  tile->row0 = (gint) fmax (low, -pad);
  tile->n_rows = (gint) fmin (high, p->n_rows - 1 + pad) + 1 - tile->row0;
  const gint above = MAX (-tile->row0, 0), inside = MIN (tile->n_rows, p->n_rows - tile->row0);
  const float scale = (float) plane->scale, level = (float) plane->level;

  memset (tile->values, 0, above * sizeof (float));
  memset (tile->shares, 0, above * sizeof (float));
  for (gint k = above; k < inside; k++) {
    const float v = (float) (tile->row0 + k) - p->v_middle;
    const float slope = (float) plane->slope + v * (float) plane->slope_row;
    const float share = scale * sqrtf (level + slope * slope);

    tile->values[k] = share * line[tile->row0 + k];
    tile->shares[k] = share;
  }
  for (gint k = MAX (inside, above); k < tile->n_rows + 2 * LANES; k++)
    tile->values[k] = tile->shares[k] = 0;
  return TRUE;
}

/* How voxels along z see a column's rows: the first at row at, each next one rows further; weights
   fall by step a row. */
typedef struct {
  float at, rows, step;
} Sight;

/* Both sums of the @k-th vector of voxels. */
static inline __attribute__ ((always_inline)) void
rays_collect (const Tile *tile, Sight sight, guint k, gboolean narrow, gboolean weighed,
              Vector *sum, Vector *weight)
{
  const float at = sight.at, rows = sight.rows, step = sight.step;
  const float reach = fabsf (rows), first_at = at + k * LANES * rows;
  const guint count = (guint) ceilf (2 * reach - 1e-5f);
  const float top = (float) (tile->n_rows - 1) - (float) count;
  const Vector place = vector_lanes () * rows + first_at;
  const Vector from = vector_min (vector_max (place - reach, all_of (0)), all_of (top));
  Index row = __builtin_convertvector(from, Index) + 1;
  Vector off = (__builtin_convertvector(row, Vector) - place) * step;
  const float least = (rows < 0 ? first_at + (LANES - 1) * rows : first_at) - reach - MARGIN;
  const gint start = narrow ? (gint) (least < 0 ? 0 : least > top ? top : least) : 0;
  Vector values[2] = { { 0 } }, shares[2] = { { 0 } };

  *sum = *weight = all_of (0);
  if (narrow) {
    for (guint i = 0; i < 2; i++) {
      values[i] = vector_load (tile->values + start + i * LANES);
      shares[i] = vector_load (tile->shares + start + i * LANES);
    }
    row -= start;
  }
  for (guint m = 0; m < count; m++, row += 1, off += step) {
    const Vector near = vector_max (1 - vector_magnitude (off), all_of (0));

    *sum
        += near
           * (narrow ? vector_pick (values[0], values[1], row) : vector_gather (tile->values, row));
    if (weighed)
      *weight += near
                 * (narrow ? vector_pick (shares[0], shares[1], row)
                           : vector_gather (tile->shares, row));
  }
}

/* What plane @i of a column's rays gives to the two lines of voxels that it passes between. */
static inline __attribute__ ((always_inline)) void
rays_spread (Tile *tile, const TdRayPlane *plane, gint i, gboolean narrow, gboolean weighed)
{
  const guint a = plane->along_x ? 0 : 1, b = 1 - a;
  const double at_b = plane->b + i * plane->b_step, step = plane->row + i * plane->row_step;
  const double at
      = (tile->z - plane->z - i * plane->z_step) / step + tile->work->p.v_middle - tile->row0;
  const gint j = (gint) (at_b + 1) - 1;
  const float far = (float) (at_b - j), near = 1 - far;
  const gint along[2] = { 1, TILE }; /* cells of the tile from one voxel to the next */
  const gint cell = (i - tile->first[a]) * along[a] + (j - tile->first[b]) * along[b];
  /* A ray may lie just at the end, which is the next tile's. */
  const gboolean has_near = j >= tile->first[b] && j < tile->end[b], has_far = j + 1 < tile->end[b];

  for (guint k = 0; k < tile->n; k++) {
    Vector sum, weight;

    rays_collect (tile, (Sight) { (float) at, (float) (1 / step), (float) step }, k, narrow,
                  weighed, &sum, &weight);
    if (has_near) {
      tile->sums[cell][k] += near * sum;
      if (weighed)
        tile->weights[cell][k] += near * weight;
    }
    if (has_far) {
      tile->sums[cell + along[b]][k] += far * sum;
      if (weighed)
        tile->weights[cell + along[b]][k] += far * weight;
    }
  }
}

static inline void
add_column (Tile *tile, guint place, guint column)
{
  const gboolean weighed = tile->work->weights || tile->work->p.compare == TD_RAY_CORRECT;
  TdRayPlane plane;

  td_ray_plane (tile->work, place, column, &plane);
  const guint a = plane.along_x ? 0 : 1, b = 1 - a;
  const Planes planes = clip_planes (&plane, tile->first[b] - 1.0, tile->end[b],
                                     (Planes) { tile->first[a], tile->end[a] });
  const gint first = planes.first, end = planes.end;
  if (first >= end || !rays_host_take_rows (tile, &plane, place, column, first, end))
    return;
  const double least = fmin (fabs (plane.row + first * plane.row_step),
                             fabs (plane.row + (end - 1) * plane.row_step));
  const gboolean narrow = is_narrow (1 / least, ceil (2 / least) + 1);
  for (gint i = first; i < end; i++)
    if (narrow && weighed)
      rays_spread (tile, &plane, i, TRUE, TRUE);
    else if (narrow)
      rays_spread (tile, &plane, i, TRUE, FALSE);
    else
      rays_spread (tile, &plane, i, FALSE, weighed);
}

static inline void
rays_finish (const Tile *tile)
{
  const TdRays *p = &tile->work->p;
  const guint n = MIN (p->nz - tile->z, (gint) tile->n * LANES);

  for (gint y = tile->first[1]; y < tile->end[1]; y++)
    for (gint x = tile->first[0]; x < tile->end[0]; x++) {
      const gint cell = (y - tile->first[1]) * TILE + x - tile->first[0];
      const float *sum = (const float *) tile->sums[cell],
                  *weight = (const float *) tile->weights[cell];
      const gsize at = p->base + (gsize) y * p->stride_y + (gsize) x * p->stride_x + tile->z;
      float *voxel = tile->work->volume + at;

      if (p->compare == TD_RAY_SUM)
        memcpy (voxel, sum, n * sizeof *voxel);
      for (guint k = 0; p->compare >= TD_RAY_ADD && k < n; k++)
        voxel[k] += sum[k];
      for (guint k = 0; p->compare == TD_RAY_ADD_BOTH && k < n; k++)
        tile->work->weights[at + k] += weight[k];
      if (p->compare != TD_RAY_CORRECT)
        continue;
      for (guint k = 0; k < n; k++) {
        const float moved = voxel[k] + (weight[k] > 0 ? p->relaxation * sum[k] / weight[k] : 0);
        voxel[k] = p->non_negative ? fmaxf (moved, 0) : moved;
      }
    }
}

static void
rays_host_back (const TdRayHostWork *work, guint x, guint y, guint z)
{
  const TdRays *p = &work->p;
  const gsize room = (gsize) p->n_rows + 4 * (gsize) ceil (work->reach) + 16 + 2 * LANES;
  g_autofree float *rows = g_new (float, 2 * room);
  Tile tile = { .work = work, .z = (gint) z, .values = rows, .shares = rows + room };

  tile.first[0] = (gint) x;
  tile.first[1] = (gint) y;
  tile.end[0] = MIN ((gint) x + TILE, p->nx);
  tile.end[1] = MIN ((gint) y + TILE, p->ny);
  tile.n = MIN ((p->nz - z + LANES - 1) / LANES, TD_RAY_HOST_VECTORS);
  for (gint place = 0; place < p->n_views; place++) {
    gint first, end;

    find_columns (&tile, place, &first, &end);
    for (gint column = first; column < end; column++)
      add_column (&tile, place, column);
  }
  rays_finish (&tile);
}

const TdRayHostFuncs TD_ISA_NAME (td_ray_host_funcs)
    = { AT_ONCE, rays_host_project, rays_host_back };
