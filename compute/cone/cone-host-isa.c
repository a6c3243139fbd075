/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The inner loops of cone-host.c, compiled once for each instruction set (meson.build). Along a
   column of voxels u and w are constant and v is linear. A vector of voxels sees a vector of rows,
   or each half of it sees one. The two detector columns around u are blended there, weights
   included, and a permute picks each voxel's row. No sum is read before it is there, and nothing is
   stored but sums.

   A voxel comes out the same to the last bit in whatever slab and batch it is. Rows count from
   the detector's first and slices from the volume's, in double precision. Voxels that share one
   rounding begin with a slice whose number is a multiple of their count. Sums go on from what is
   there. */
#include "cone-host.h"

#include <string.h>
#ifdef __AVX512F__
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
#define LANES 16
#elif defined(__AVX2__)
#define LANES 8
#else
#define LANES 1 /* no permutes of floats */
#endif

/* How the views of a batch see a column of voxels. */
typedef struct {
  gint32 column[TD_CONE_BATCH]; /* the left one of two, the pad's counted */
  gint32 seen[TD_CONE_BATCH];
  float left[TD_CONE_BATCH], right[TD_CONE_BATCH]; /* their weights */
  double v[TD_CONE_BATCH], dv[TD_CONE_BATCH]; /* row of the volume's first slice; rows a slice */
} Rays;

/* The voxels are in front of the source (fast_path_fits()). Every view, since loops of a known
 * length without branches become vectors. */
static inline void
cone_aim (const TdConeUpright *batch, double x, double y, Rays *rays)
{
  const TdConeAims *aims = &batch->aims;
  const double right = batch->task->n_columns;

  for (guint i = 0; i < TD_CONE_BATCH; i++) {
    const double w = aims->w[0][i] * x + aims->w[1][i] * y + aims->w[2][i];
    const double depth = 1 / w;
    const double u = (aims->u[0][i] * x + aims->u[1][i] * y + aims->u[2][i]) * depth;
    const double low = u > -1 ? u : -1, within = low < right ? low : right;
    const gint32 column = (gint32) (within + 1); /* never negative: truncation is floor */
    const double fraction = within + 1 - column, weight = aims->weight[i] * depth * depth;
    rays->column[i] = column;
    rays->seen[i] = (u > -1) & (u < right);
    rays->left[i] = (float) (weight * (1 - fraction));
    rays->right[i] = (float) (weight * fraction);
    rays->v[i] = (aims->v[0][i] * x + aims->v[1][i] * y + aims->v[2][i]) * depth;
    rays->dv[i] = aims->dv[i] * depth;
  }
}

/* One view's. */
typedef struct {
  const float *left, *right; /* the two columns, from the pad on */
  float a, b;                /* their weights */
  double v, dv;
  gint32 first; /* row kept */
} Ray;

static inline double
row_of (const Ray *ray, guint slice)
{
  return ray->v + slice * ray->dv;
}

/* The voxels [*first, *end) of a chunk of n from @slice on, in steps of 16, that touch the kept
 * rows. */
static inline gboolean
cone_touch (const TdConeUpright *batch, const Ray *ray, guint slice, guint n, guint *first,
            guint *end)
{
  const double low = batch->rows.first - 1.0, high = low + 1 + batch->rows.count;
  guint a = 0, b = (n + 15) / 16;

  while (a < b && row_of (ray, slice + 16 * a + 15) <= low)
    a++;
  while (b > a && row_of (ray, slice + 16 * (b - 1)) >= high)
    b--;
  *first = 16 * a;
  *end = 16 * b;
  return a < b;
}

/* Where each @step of a chunk's voxels begin: their first one's row in the columns, and how far
   below it. Rows are counted from the detector's pad, so that truncation is floor. */
typedef struct {
  gint32 row[TD_CONE_CHUNK];
  float below[TD_CONE_CHUNK];
} Begins;

static inline void
find_begins (const Ray *ray, guint slice, guint step, Begins *begins)
{
  for (guint i = 0; i < TD_CONE_CHUNK / step; i++) {
    const double v = row_of (ray, slice + step * i) + TD_CONE_PAD;
    const gint32 row = (gint32) v;
    begins->row[i] = row - ray->first;
    begins->below[i] = (float) (v - row);
  }
}

#if LANES > 1
typedef float Lanes __attribute__ ((vector_size (4 * LANES)));
typedef gint32 LaneNumbers __attribute__ ((vector_size (4 * LANES)));

#ifdef __clang__
/* Slower than the built-ins that clang lacks. */
static inline Lanes
lanes_pick_of (Lanes a, Lanes b, LaneNumbers index)
{
  Lanes out;

  for (guint i = 0; i < LANES; i++)
    out[i] = (index[i] & LANES) ? b[index[i] & (LANES - 1)] : a[index[i] & (LANES - 1)];
  return out;
}
#define lanes_pick(a, index) lanes_pick_of (a, a, index)
#else
#define lanes_pick __builtin_shuffle
#define lanes_pick_of __builtin_shuffle
#endif

/* The steepest ray for which one vector of rows holds the upper rows of a vector's voxels. The
   first voxel may lie up to a row further down. */
#define WHOLE (1 - 1e-6)

static inline Lanes
lanes_at (const float *from)
{
  Lanes lanes;
  memcpy (&lanes, from, sizeof lanes);
  return lanes;
}

static inline Lanes
lanes_of (float value)
{
  return value - (Lanes) {};
}

/* LANES rows of a view, from @row on. */
static inline Lanes
rows_at (const Ray *ray, gssize row)
{
  return lanes_of (ray->a) * lanes_at (ray->left + row)
         + lanes_of (ray->b) * lanes_at (ray->right + row);
}

static inline Lanes
lane_numbers (guint modulo)
{
  Lanes lanes;

  for (guint i = 0; i < LANES; i++)
    lanes[i] = (float) (i % modulo);
  return lanes;
}

/* Adds what lies @at between upper and lower rows. */
static inline void
add_between (float *sums, Lanes upper, Lanes lower, Lanes fraction)
{
  const Lanes sum = lanes_at (sums) + upper + fraction * (lower - upper);
  memcpy (sums, &sum, sizeof sum);
}

static inline void
add_whole (const Ray *ray, guint slice, guint first, guint end, float *sums)
{
  const Lanes steps = lane_numbers (LANES) * lanes_of ((float) ray->dv);
  Begins begins;

  find_begins (ray, slice, LANES, &begins);
  for (guint k = first; k < end; k += LANES) {
    const gssize row = begins.row[k / LANES];
    const Lanes at = steps + lanes_of (begins.below[k / LANES]);
    const LaneNumbers index = __builtin_convertvector(at, LaneNumbers);
    add_between (sums + k, lanes_pick (rows_at (ray, row), index),
                 lanes_pick (rows_at (ray, row + 1), index),
                 at - __builtin_convertvector(index, Lanes));
  }
}

/* The first half of one vector and the second of another. */
static inline Lanes
lanes_halves (Lanes first, Lanes second)
{
  LaneNumbers from;

  for (gint32 i = 0; i < LANES; i++)
    from[i] = i < LANES / 2 ? i : LANES + i;
  return lanes_pick_of (first, second, from);
}

/* Half a vector's voxels see a vector of rows, their lower rows included (TD_CONE_STEEPEST). */
static inline void
add_halves (const Ray *ray, guint slice, guint first, guint end, float *sums)
{
  const Lanes steps = lane_numbers (LANES / 2) * lanes_of ((float) ray->dv);
  Begins begins;

  find_begins (ray, slice, LANES / 2, &begins);
  for (guint k = first; k < end; k += LANES) {
    const guint half = k / (LANES / 2);
    const Lanes near = rows_at (ray, begins.row[half]), far = rows_at (ray, begins.row[half + 1]);
    const Lanes at
        = steps + lanes_halves (lanes_of (begins.below[half]), lanes_of (begins.below[half + 1]));
    const LaneNumbers index = __builtin_convertvector(at, LaneNumbers), next = index + 1;
    add_between (sums + k, lanes_halves (lanes_pick (near, index), lanes_pick (far, index)),
                 lanes_halves (lanes_pick (near, next), lanes_pick (far, next)),
                 at - __builtin_convertvector(index, Lanes));
  }
}

/* Voxels [first, end) of a chunk that begins with @slice. */
static inline void
add_ray (const Ray *ray, guint slice, guint first, guint end, float *sums)
{
  if (ray->dv < WHOLE)
    add_whole (ray, slice, first, end, sums);
  else
    add_halves (ray, slice, first, end, sums);
}
#else
static inline void
add_ray (const Ray *ray, guint slice, guint first, guint end, float *sums)
{
  const float dv = (float) ray->dv;
  float line[2 * TD_CONE_CHUNK + 4 * TD_CONE_PAD];
  Begins begins;

  find_begins (ray, slice, TD_CONE_GROUP, &begins);
  const gint32 above = begins.row[first / TD_CONE_GROUP];
  const gint32 rows = (gint32) ((end - 1 - first) * ray->dv) + 3;
  for (gint32 i = 0; i < rows; i++)
    line[i] = ray->a * ray->left[above + i] + ray->b * ray->right[above + i];
  for (guint k = first; k < end; k += TD_CONE_GROUP) {
    const float below = begins.below[k / TD_CONE_GROUP];
    const float *here = line + (begins.row[k / TD_CONE_GROUP] - above);
    for (guint lane = 0; lane < TD_CONE_GROUP; lane++) {
      const float at = below + (float) lane * dv;
      const gint32 index = (gint32) at;
      const float fraction = at - (float) index;
      sums[k + lane] += here[index] + fraction * (here[index + 1] - here[index]);
    }
  }
}
#endif

static inline float *
column_voxels (const TdConeUpright *batch, guint i, guint j, guint slice)
{
  return batch->volume + ((gsize) (j - batch->band.first) * batch->task->nx + i) * batch->n_slices
         + (slice - batch->slice0);
}

/* The next column's voxels, while this one's are summed: from memory they would cost a fifth of the
   whole. They may be none. */
static inline void
fetch_ahead (const float *voxels, guint n)
{
  for (guint i = 0; i < n; i += 16)
    __builtin_prefetch (voxels + i, 1);
}

/* Slices [slice, end) of a column of voxels, @slice the first of a group; the batch may begin
 * later. */
static void
cone_column (const TdConeUpright *batch, guint i, guint j, guint slice, guint end)
{
  const TdConeTask *task = batch->task;
  float sums[TD_CONE_CHUNK] __attribute__ ((aligned (64))) = { 0 };
  const guint from = MAX (slice, batch->slice0);
  float *voxels = column_voxels (batch, i, j, from);
  Rays rays;

  fetch_ahead (voxels + batch->n_slices, end - from);
  cone_aim (batch, task->first_mm[0] + i * task->voxel_mm, task->first_mm[1] - j * task->voxel_mm,
            &rays);
  memcpy (sums + (from - slice), voxels, (end - from) * sizeof *sums);
  for (guint view = 0; view < batch->n_views; view++) {
    const float *left = batch->views + view * batch->view_stride
                        + (gsize) rays.column[view] * batch->column_stride;
    const Ray ray = {
      left,          left + batch->column_stride, rays.left[view], rays.right[view], rays.v[view],
      rays.dv[view], (gint32) batch->rows.first
    };
    guint a, b;
    if (rays.seen[view] && cone_touch (batch, &ray, slice, end - slice, &a, &b))
      add_ray (&ray, slice, a, b, sums);
  }
  memcpy (voxels, sums + (from - slice), (end - from) * sizeof *sums);
}

static void
tile_columns (const TdConeUpright *batch, guint tile)
{
  const TdConeTask *task = batch->task;
  const guint i0 = tile % batch->tiles_x * TD_CONE_TILE;
  const guint j0 = batch->band.first + tile / batch->tiles_x * TD_CONE_TILE;
  const guint all = batch->slice0 + batch->n_slices, end = batch->band.first + batch->band.count;

  for (guint k = batch->slice0 / TD_CONE_GROUP * TD_CONE_GROUP; k < all; k += TD_CONE_CHUNK)
    for (guint j = j0; j < MIN (j0 + TD_CONE_TILE, end); j++)
      for (guint i = i0; i < MIN (i0 + TD_CONE_TILE, task->nx); i++)
        cone_column (batch, i, j, k, MIN (k + TD_CONE_CHUNK, all));
}

/* ── Any geometry ── */

/* Where the voxels of a strip fall on a view. Two plain loops, so that the compiler makes vectors
   of both: places in double, the weighted sum by gathers in single precision. */
typedef struct {
  int index[TD_CONE_STRIP]; /* of the upper left pixel in the padded view */
  float u[TD_CONE_STRIP], v[TD_CONE_STRIP], weight[TD_CONE_STRIP];
} Places;

/* A view's numerators at a voxel, and their steps along x. */
typedef struct {
  const float *view;
  double u, v, w, du, dv, dw;
  double scale;
} Line;

static inline void
find_places (const TdConeGeneral *general, const Line *line, guint n, Places *places)
{
  const double right = general->task->n_columns;
  const double above = general->rows.first - 1.0, bottom = above + 1 + general->rows.count;
  const double u0 = line->u, v0 = line->v, w0 = line->w, du = line->du, dv = line->dv,
               dw = line->dw;
  const double scale = line->scale;
  const int pitch = (int) general->pitch, row0 = (int) general->rows.first;

  for (int i = 0; i < (int) n; i++) {
    const double w = w0 + i * dw;
    const double depth = 1 / (w > 1e-9 ? w : 1e-9); /* finite at and behind the source, too */
    const double u_far = (u0 + i * du) * depth, v_far = (v0 + i * dv) * depth;
    const double u_low = u_far < right ? u_far : right, v_low = v_far < bottom ? v_far : bottom;
    const double u = u_low > -1 ? u_low : -1, v = v_low > above ? v_low : above;
    /* Shifted by one to the pad, hence never negative: truncation is floor. */
    const int column = (int) (u + 1), row = (int) (v + 1);
    places->index[i] = (row - row0) * pitch + column;
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
    const float bottom
        = view[at + pitch] + places->u[i] * (view[at + pitch + 1] - view[at + pitch]);
    out[i] += places->weight[i] * (top + places->v[i] * (bottom - top));
  }
}

static inline Line
line_of (const TdConeGeneral *general, guint view, double x, double y, double z)
{
  const TdConeTask *task = general->task;
  const double *m = task->matrices + 12 * (gsize) general->numbers[view];
  return (Line) {
    .view = general->views + view * general->view_stride,
    .u = m[0] * x + m[1] * y + m[2] * z + m[3],
    .v = m[4] * x + m[5] * y + m[6] * z + m[7],
    .w = m[8] * x + m[9] * y + m[10] * z + m[11],
    .du = m[0] * task->voxel_mm,
    .dv = m[4] * task->voxel_mm,
    .dw = m[8] * task->voxel_mm,
    .scale = task->view_weights[general->numbers[view]],
  };
}

static void
add_slowly (const TdConeGeneral *general, const Line *line, guint n, float *out)
{
  Places places;

  find_places (general, line, n, &places);
  add_places (line->view, (int) general->pitch, n, &places, out);
}

#ifdef __AVX512F__
#define BLOCK 16
#define BLOCKS (TD_CONE_STRIP / BLOCK)
#define BLOCK_ROWS 6 /* rows of a view that a block may see; more are rare and go by gathers */

/* Where the blocks of a strip are seen. Numerators count from the upper left pixel of a block's own
   footprint, so that single precision is enough for its voxels. */
typedef struct {
  int column[BLOCKS], row[BLOCKS], rows[BLOCKS]; /* row: of those kept; rows 0: not surely inside,
                                                    or too wide */
  float nu[BLOCKS], du[BLOCKS], nv[BLOCKS], dv[BLOCKS], nw[BLOCKS];
} Footprints;

/* start + index step */
static inline __m512d
at_index (__m512d index, double start, double step)
{
  return _mm512_fmadd_pd (index, _mm512_set1_pd (step), _mm512_set1_pd (start));
}

/* Eight blocks of the strip's n voxels at once. Ratios of linear functions are monotonic, so a
   block's first and last voxel bound what lies between. Within the detector they see no row that
   is not kept. Places of blocks that are not inside are never looked at. */
static inline void
find_eight (const TdConeGeneral *general, const Line *line, int first, guint n,
            Footprints *footprints)
{
  const __m512d block
      = _mm512_add_pd (_mm512_set1_pd (first), _mm512_set_pd (7, 6, 5, 4, 3, 2, 1, 0));
  const __m512d index = _mm512_mul_pd (block, _mm512_set1_pd (BLOCK));
  const __m512d last
      = _mm512_min_pd (_mm512_add_pd (index, _mm512_set1_pd (BLOCK - 1)), _mm512_set1_pd (n - 1.0));
  const __m512d one = _mm512_set1_pd (1), near = _mm512_set1_pd (1e-8);
  const __m512d left = _mm512_set1_pd (-1), right = _mm512_set1_pd (general->task->n_columns);
  const __m512d above = _mm512_set1_pd (general->rows.first - 1.0);
  const __m512d bottom = _mm512_set1_pd ((double) general->rows.first + general->rows.count);
  const __m512d u = at_index (index, line->u, line->du), v = at_index (index, line->v, line->dv);
  const __m512d w = at_index (index, line->w, line->dw), end = at_index (last, line->w, line->dw);
  const __m512d near_depth = _mm512_div_pd (one, w), far_depth = _mm512_div_pd (one, end);
  const __m512d u0 = _mm512_mul_pd (u, near_depth), v0 = _mm512_mul_pd (v, near_depth);
  const __m512d u1 = _mm512_mul_pd (at_index (last, line->u, line->du), far_depth);
  const __m512d v1 = _mm512_mul_pd (at_index (last, line->v, line->dv), far_depth);
  const __m512d u_low = _mm512_min_pd (u0, u1), u_high = _mm512_max_pd (u0, u1);
  const __m512d v_low = _mm512_min_pd (v0, v1), v_high = _mm512_max_pd (v0, v1);

  __mmask8 good
      = _mm512_cmp_pd_mask (w, near, _CMP_GT_OQ) & _mm512_cmp_pd_mask (end, near, _CMP_GT_OQ);
  good &= _mm512_cmp_pd_mask (u_low, left, _CMP_GE_OQ)
          & _mm512_cmp_pd_mask (u_high, right, _CMP_LT_OQ);
  good &= _mm512_cmp_pd_mask (v_low, above, _CMP_GE_OQ)
          & _mm512_cmp_pd_mask (v_high, bottom, _CMP_LT_OQ);
  const __m256i column = _mm512_cvttpd_epi32 (_mm512_add_pd (u_low, one));
  const __m256i row = _mm512_cvttpd_epi32 (_mm512_add_pd (v_low, one));
  const __m256i wide = _mm256_sub_epi32 (_mm512_cvttpd_epi32 (_mm512_add_pd (u_high, one)), column);
  const __m256i rows
      = _mm256_add_epi32 (_mm256_sub_epi32 (_mm512_cvttpd_epi32 (_mm512_add_pd (v_high, one)), row),
                          _mm256_set1_epi32 (2));
  good &= _mm256_cmple_epi32_mask (rows, _mm256_set1_epi32 (BLOCK_ROWS));
  good &= _mm256_cmplt_epi32_mask (wide, _mm256_set1_epi32 (31));
  _mm256_storeu_si256 ((__m256i *) (footprints->column + first), column);
  _mm256_storeu_si256 ((__m256i *) (footprints->row + first),
                       _mm256_sub_epi32 (row, _mm256_set1_epi32 ((int) general->rows.first)));
  _mm256_storeu_si256 ((__m256i *) (footprints->rows + first), _mm256_maskz_mov_epi32 (good, rows));

  const __m512d uc = _mm512_sub_pd (_mm512_cvtepi32_pd (column), one);
  const __m512d vr = _mm512_sub_pd (_mm512_cvtepi32_pd (row), one);
  const __m512d dw = _mm512_set1_pd (line->dw);
  _mm256_storeu_ps (footprints->nu + first, _mm512_cvtpd_ps (_mm512_fnmadd_pd (uc, w, u)));
  _mm256_storeu_ps (footprints->nv + first, _mm512_cvtpd_ps (_mm512_fnmadd_pd (vr, w, v)));
  _mm256_storeu_ps (footprints->nw + first, _mm512_cvtpd_ps (w));
  _mm256_storeu_ps (footprints->du + first,
                    _mm512_cvtpd_ps (_mm512_fnmadd_pd (uc, dw, _mm512_set1_pd (line->du))));
  _mm256_storeu_ps (footprints->dv + first,
                    _mm512_cvtpd_ps (_mm512_fnmadd_pd (vr, dw, _mm512_set1_pd (line->dv))));
}

/* One row of a view under a block's voxels. */
static inline __m512
cone_across (const float *from, __m512i at, __m512 fraction)
{
  const __m512 left
      = _mm512_permutex2var_ps (_mm512_loadu_ps (from), at, _mm512_loadu_ps (from + 16));
  const __m512 right
      = _mm512_permutex2var_ps (_mm512_loadu_ps (from + 1), at, _mm512_loadu_ps (from + 17));
  return _mm512_fmadd_ps (fraction, _mm512_sub_ps (right, left), left);
}

/* 1 / w to single precision: an estimate of 14 bits and one step of Newton's. */
static inline __m512
cone_inverse (__m512 w)
{
  const __m512 guess = _mm512_rcp14_ps (w);
  return _mm512_mul_ps (guess, _mm512_fnmadd_ps (w, guess, _mm512_set1_ps (2)));
}

/* Sixteen voxels of a row see few columns and rows: each row's two vectors are loaded once, and the
   voxels pick their columns by permutes. */
static inline void
add_block (const Line *line, const Footprints *footprints, int i, gsize pitch, guint n, float *out)
{
  const __m512 lanes = _mm512_set_ps (15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  const __m512 zero = _mm512_setzero_ps ();
  const __m512 w = _mm512_fmadd_ps (lanes, _mm512_set1_ps ((float) line->dw),
                                    _mm512_set1_ps (footprints->nw[i]));
  const __m512 depth = cone_inverse (w);
  const __m512 u = _mm512_max_ps (
      zero, _mm512_mul_ps (depth, _mm512_fmadd_ps (lanes, _mm512_set1_ps (footprints->du[i]),
                                                   _mm512_set1_ps (footprints->nu[i]))));
  const __m512 v = _mm512_max_ps (
      zero, _mm512_mul_ps (depth, _mm512_fmadd_ps (lanes, _mm512_set1_ps (footprints->dv[i]),
                                                   _mm512_set1_ps (footprints->nv[i]))));
  /* Rounding may lift a voxel to the footprint's last row: it is that one whole then. */
  const __m512i at = _mm512_cvttps_epi32 (u);
  const __m512i down
      = _mm512_min_epi32 (_mm512_cvttps_epi32 (v), _mm512_set1_epi32 (footprints->rows[i] - 2));
  const __m512 fu = _mm512_sub_ps (u, _mm512_cvtepi32_ps (at));
  const __m512 fv = _mm512_sub_ps (v, _mm512_cvtepi32_ps (down));
  const float *from = line->view + footprints->row[i] * pitch + footprints->column[i];
  __m512 top = cone_across (from, at, fu), bottom = cone_across (from + pitch, at, fu);

  for (int k = 1; k + 1 < footprints->rows[i]; k++) {
    const __mmask16 below = _mm512_cmpge_epi32_mask (down, _mm512_set1_epi32 (k));
    from += pitch;
    top = _mm512_mask_mov_ps (top, below, bottom);
    bottom = _mm512_mask_mov_ps (bottom, below, cone_across (from + pitch, at, fu));
  }
  const __m512 weight
      = _mm512_mul_ps (_mm512_set1_ps ((float) line->scale), _mm512_mul_ps (depth, depth));
  const __m512 value = _mm512_fmadd_ps (fv, _mm512_sub_ps (bottom, top), top);
  const __mmask16 wanted = (__mmask16) ((1u << n) - 1);
  _mm512_mask_storeu_ps (out, wanted,
                         _mm512_fmadd_ps (weight, value, _mm512_maskz_loadu_ps (wanted, out)));
}

static inline void
add_line (const TdConeGeneral *general, const Line *line, guint n, float *out)
{
  const int blocks = (int) (n + BLOCK - 1) / BLOCK;
  Footprints footprints;

  for (int i = 0; i < blocks; i += 8)
    find_eight (general, line, i, n, &footprints);
  for (int i = 0; i < blocks; i++) {
    const guint now = MIN (BLOCK, n - BLOCK * (guint) i);

    if (footprints.rows[i] > 0) {
      add_block (line, &footprints, i, general->pitch, now, out + BLOCK * i);
      continue;
    }
    Line block = *line;
    block.u += BLOCK * i * line->du;
    block.v += BLOCK * i * line->dv;
    block.w += BLOCK * i * line->dw;
    add_slowly (general, &block, now, out + BLOCK * i);
  }
}
#else
static inline void
add_line (const TdConeGeneral *general, const Line *line, guint n, float *out)
{
  add_slowly (general, line, n, out);
}
#endif

static void
any_row (const TdConeGeneral *general, guint index)
{
  const TdConeTask *task = general->task;
  const double y = task->first_mm[1] - index % task->ny * task->voxel_mm;
  const double z = task->first_mm[2] - (general->slice0 + index / task->ny) * task->voxel_mm;
  float *out = general->volume + (gsize) index * task->nx;

  for (guint i = 0; i < task->nx; i += TD_CONE_STRIP) {
    const guint n = MIN (TD_CONE_STRIP, task->nx - i);
    const double x = task->first_mm[0] + i * task->voxel_mm;
    for (guint view = 0; view < general->n_views; view++) {
      const Line line = line_of (general, view, x, y, z);
      add_line (general, &line, n, out + i);
    }
  }
}

static void
cone_host_naive_row (const TdConeTask *task, const float *matrices, const float *projections,
                     guint slice, guint j, float *out)
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
      if (!(u >= 0 && v >= 0 && u < (float) (task->n_columns - 1)
            && v < (float) (task->n_rows - 1)))
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

#ifdef __AVX512F__
#define ROWS_UP_TO 31
#else
#define ROWS_UP_TO 11 /* gathers are slower than permutes */
#endif

const TdConeFuncs TD_ISA_NAME (td_cone_funcs)
    = { tile_columns, any_row, cone_host_naive_row, ROWS_UP_TO };
