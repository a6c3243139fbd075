/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The inner loops of cone-host.c. Included once for each instruction set, with FUNCS naming the
   table. Along a column of voxels u and w are constant and v is linear: the two detector columns
   around u are blended once, weights included, and 16 voxels at a time pick their rows from two
   vectors by one permute each. What bounds it: about 20 instructions for 16 voxels, of which the
   permutes and the rounding share one port. */
#include "cone-host.h"

#include <math.h>
#include <string.h>
#ifdef __AVX512F__
#include <immintrin.h>
#endif

typedef struct {
  const float *left, *right; /* the two columns, row 0 of the pad */
  float a, b;                /* their weights */
  double v, dv;              /* padded row of the first voxel of the chunk, rows a voxel */
} Ray;

/* FALSE: the voxel column does not see this view's detector. */
static inline gboolean
aim (const TdConeBatch *batch, guint view, double x, double y, double z, Ray *ray)
{
  const TdConeTask *task = batch->task;
  const double *m = task->matrices + 12 * (gsize) batch->numbers[view];
  const double w = m[8] * x + m[9] * y + m[11];
  const double depth = 1 / w;
  const double u = (m[0] * x + m[1] * y + m[3]) * depth;

  if (!(w > 0) || !(u > -1) || !(u < task->n_columns))
    return FALSE;
  const double whole = floor (u), fraction = u - whole;
  const double weight = task->view_weights[batch->numbers[view]] * depth * depth;
  ray->left = batch->views + view * batch->view_stride + (gsize) (whole + 1) * batch->column_stride;
  ray->right = ray->left + batch->column_stride;
  ray->a = (float) (weight * (1 - fraction));
  ray->b = (float) (weight * fraction);
  ray->v = (m[4] * x + m[5] * y + m[6] * z + m[7]) * depth - batch->row0 + TD_CONE_PAD;
  ray->dv = -m[6] * depth * task->voxel_mm;
  return TRUE;
}

/* The voxels [*first, *end) of a chunk of n, in steps of 16, that touch the kept rows. */
static inline gboolean
touch (const TdConeBatch *batch, const Ray *ray, guint n, guint *first, guint *end)
{
  const double low = TD_CONE_PAD - 1.0, high = TD_CONE_PAD + (double) batch->n_rows;
  guint a = 0, b = (n + 15) / 16;

  while (a < b && ray->v + (16 * a + 15) * ray->dv <= low)
    a++;
  while (b > a && ray->v + 16.0 * (b - 1) * ray->dv >= high)
    b--;
  *first = 16 * a;
  *end = 16 * b;
  return a < b;
}

#ifdef __AVX512F__
static inline void
add_ray (const Ray *ray, guint first, guint end, float *sums)
{
  float line[2 * TD_CONE_CHUNK + 4 * TD_CONE_PAD] __attribute__ ((aligned (64)));
  const double v_first = ray->v + first * ray->dv;
  const gsize row = (gsize) v_first;
  const guint rows = (guint) ((end - 1 - first) * ray->dv) + 36;
  const __m512 a = _mm512_set1_ps (ray->a), b = _mm512_set1_ps (ray->b);

  for (guint i = 0; i < rows; i += 16) {
    const __m512 left = _mm512_loadu_ps (ray->left + row + i);
    const __m512 right = _mm512_loadu_ps (ray->right + row + i);
    _mm512_store_ps (line + i, _mm512_fmadd_ps (b, right, _mm512_mul_ps (a, left)));
  }
  const __m512 lanes = _mm512_set_ps (15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  const __m512 steps = _mm512_mul_ps (lanes, _mm512_set1_ps ((float) ray->dv));
  double v = v_first - (double) row;
  for (guint k = first; k < end; k += 16, v += 16 * ray->dv) {
    const guint base = (guint) v;
    const __m512 at = _mm512_add_ps (steps, _mm512_set1_ps ((float) (v - base)));
    const __m512i index = _mm512_cvttps_epi32 (at);
    const __m512 fraction = _mm512_sub_ps (at, _mm512_cvtepi32_ps (index));
    const float *here = line + base;
    const __m512 value = _mm512_permutex2var_ps (_mm512_loadu_ps (here), index,
                                                 _mm512_loadu_ps (here + 16));
    const __m512 next = _mm512_permutex2var_ps (_mm512_loadu_ps (here + 1), index,
                                                _mm512_loadu_ps (here + 17));
    const __m512 sum = _mm512_add_ps (_mm512_load_ps (sums + k), value);
    _mm512_store_ps (sums + k, _mm512_fmadd_ps (fraction, _mm512_sub_ps (next, value), sum));
  }
}
#else
static inline void
add_ray (const Ray *ray, guint first, guint end, float *sums)
{
  float line[2 * TD_CONE_CHUNK + 4 * TD_CONE_PAD];
  const double v_first = ray->v + first * ray->dv;
  const gsize row = (gsize) v_first;
  const guint rows = (guint) ((end - 1 - first) * ray->dv) + 36;

  for (guint i = 0; i < rows; i++)
    line[i] = ray->a * ray->left[row + i] + ray->b * ray->right[row + i];
  double v = v_first - (double) row;
  for (guint k = first; k < end; k += 16, v += 16 * ray->dv) {
    const guint base = (guint) v;
    const float start = (float) (v - base), dv = (float) ray->dv;
    const float *here = line + base;
    for (guint lane = 0; lane < 16; lane++) {
      const float at = start + (float) lane * dv;
      const int index = (int) at;
      const float fraction = at - (float) index;
      sums[k + lane] += here[index] + fraction * (here[index + 1] - here[index]);
    }
  }
}
#endif

static void
column (const TdConeBatch *batch, guint i, guint j, guint k0, guint n)
{
  const TdConeTask *task = batch->task;
  float sums[TD_CONE_CHUNK] __attribute__ ((aligned (64))) = { 0 };
  float *voxels = batch->volume + ((gsize) j * task->nx + i) * batch->n_slices + k0;
  const double x = task->first_mm[0] + i * task->voxel_mm;
  const double y = task->first_mm[1] - j * task->voxel_mm;
  const double z = task->first_mm[2] - (batch->slice0 + k0) * task->voxel_mm;

  memcpy (sums, voxels, n * sizeof *sums);
  for (guint view = 0; view < batch->n_views; view++) {
    Ray ray;
    guint first, end;
    if (aim (batch, view, x, y, z, &ray) && touch (batch, &ray, n, &first, &end))
      add_ray (&ray, first, end, sums);
  }
  memcpy (voxels, sums, n * sizeof *sums);
}

static void
tile_columns (const TdConeBatch *batch, guint tile)
{
  const TdConeTask *task = batch->task;
  const guint i0 = tile % batch->tiles_x * TD_CONE_TILE, j0 = tile / batch->tiles_x * TD_CONE_TILE;

  for (guint k0 = 0; k0 < batch->n_slices; k0 += TD_CONE_CHUNK)
    for (guint j = j0; j < MIN (j0 + TD_CONE_TILE, task->ny); j++)
      for (guint i = i0; i < MIN (i0 + TD_CONE_TILE, task->nx); i++)
        column (batch, i, j, k0, MIN (TD_CONE_CHUNK, batch->n_slices - k0));
}

/* ── Any geometry ─────────────────────────────────────────────────────────────────────────────── */

/* Where the voxels of a strip fall on a view. Two plain loops, so that the compiler makes vectors of
   both: places in double, the weighted sum by gathers in single precision. */
typedef struct {
  int index[TD_CONE_STRIP]; /* of the upper left pixel in the padded view */
  float u[TD_CONE_STRIP], v[TD_CONE_STRIP], weight[TD_CONE_STRIP];
} Places;

static inline void
find_places (const TdConeGeneral *general, guint view, double x, double y, double z, guint n,
             Places *places)
{
  const TdConeTask *task = general->task;
  const double *m = task->matrices + 12 * (gsize) general->numbers[view];
  const double scale = task->view_weights[general->numbers[view]];
  const double u0 = m[0] * x + m[1] * y + m[2] * z + m[3], du = m[0] * task->voxel_mm;
  const double v0 = m[4] * x + m[5] * y + m[6] * z + m[7], dv = m[4] * task->voxel_mm;
  const double w0 = m[8] * x + m[9] * y + m[10] * z + m[11], dw = m[8] * task->voxel_mm;
  const double right = task->n_columns, bottom = general->n_rows, row0 = general->row0;
  const int pitch = (int) general->pitch;

  for (int i = 0; i < (int) n; i++) {
    const double w = w0 + i * dw;
    const double depth = 1 / (w > 1e-9 ? w : 1e-9); /* finite at and behind the source, too */
    const double u_far = (u0 + i * du) * depth, v_far = (v0 + i * dv) * depth - row0;
    const double u_low = u_far < right ? u_far : right, v_low = v_far < bottom ? v_far : bottom;
    const double u = u_low > -1 ? u_low : -1, v = v_low > -1 ? v_low : -1;
    /* Shifted by one to the pad, hence never negative: truncation is floor. */
    const int column = (int) (u + 1), row = (int) (v + 1);
    places->index[i] = row * pitch + column;
    places->u[i] = (float) (u + 1 - column);
    places->v[i] = (float) (v + 1 - row);
    const double weight = scale * depth * depth;
    places->weight[i] = (float) (w > 1e-9 ? weight : 0);
  }
}

static inline void
add_places (const float *restrict view, int pitch, guint n, const Places *restrict places,
            float *restrict out)
{
  for (int i = 0; i < (int) n; i++) {
    const int at = places->index[i];
    const float top = view[at] + places->u[i] * (view[at + 1] - view[at]);
    const float bottom = view[at + pitch] + places->u[i] * (view[at + pitch + 1] - view[at + pitch]);
    out[i] += places->weight[i] * (top + places->v[i] * (bottom - top));
  }
}

static void
any_row (const TdConeGeneral *general, guint index)
{
  const TdConeTask *task = general->task;
  const double y = task->first_mm[1] - index % task->ny * task->voxel_mm;
  const double z = task->first_mm[2] - (general->slice0 + index / task->ny) * task->voxel_mm;
  float *out = general->volume + (gsize) index * task->nx;
  Places places;

  for (guint i = 0; i < task->nx; i += TD_CONE_STRIP) {
    const guint n = MIN (TD_CONE_STRIP, task->nx - i);
    const double x = task->first_mm[0] + i * task->voxel_mm;
    for (guint view = 0; view < general->n_views; view++) {
      find_places (general, view, x, y, z, n, &places);
      add_places (general->views + view * general->view_stride, (int) general->pitch, n, &places,
                  out + i);
    }
  }
}

static void
naive_row (const TdConeTask *task, const float *matrices, const float *projections, guint slice,
           guint j, float *out)
{
  const float y = (float) (task->first_mm[1] - j * task->voxel_mm);
  const float z = (float) (task->first_mm[2] - slice * task->voxel_mm);
  const gsize pitch = task->n_columns;

  for (guint i = 0; i < task->nx; i++) {
    const float x = (float) (task->first_mm[0] + i * task->voxel_mm);
    float sum = 0;
    for (guint n = 0; n < task->n_views; n++) {
      const float *m = matrices + 13 * (gsize) n;
      const float depth = 1 / (m[8] * x + m[9] * y + m[10] * z + m[11]);
      const float u = (m[0] * x + m[1] * y + m[2] * z + m[3]) * depth;
      const float v = (m[4] * x + m[5] * y + m[6] * z + m[7]) * depth;
      if (!(u >= 0 && v >= 0 && u < (float) (task->n_columns - 1) && v < (float) (task->n_rows - 1)))
        continue;
      const int c = (int) u, r = (int) v;
      const float fu = u - (float) c, fv = v - (float) r;
      const float *p = projections + ((gsize) n * task->n_rows + r) * pitch + c;
      sum += m[12] * depth * depth
             * ((1 - fv) * ((1 - fu) * p[0] + fu * p[1])
                + fv * ((1 - fu) * p[pitch] + fu * p[pitch + 1]));
    }
    out[i] = sum;
  }
}

const TdConeFuncs FUNCS = { tile_columns, any_row, naive_row };
