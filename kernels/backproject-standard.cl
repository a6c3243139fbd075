/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Algorithm 1 of the review (§5.1): a thread a pixel, a loop over views. The baseline.

   NEAREST=1   nearest neighbour, else linear
   TEXTURED=1  bins by the texture engine, u in single: what the review measures. A texture filters
               with weights of 8 bits.
   else        bins from memory; u in fixed point with 32 bits after the point, so that 10000
               columns are as exact as 100. */

#ifdef TEXTURED

TD_KERNEL TD_GROUP_SIZE (16, 16, 1) void
backproject_standard (TD_ITEM TD_TEXTURE sinogram, TD_IN (float4) views, TD_OUT (float) slice,
                      TdStandardParams params)
{
  int ix = td_global_x (), iy = td_global_y ();
  float x = params.x0 + params.step * (float) ix;
  float y = params.y0 - params.step * (float) iy;
  float sum = 0;

  if (ix >= params.nx || iy >= params.ny)
    return;
  for (int v = 0; v < params.n_views; v++) {
    float4 view = views[v]; /* centre, cosine, sine, weight */
    float u = td_fma (x, view.y, td_fma (y, view.z, view.x));
#ifdef NEAREST
    sum = td_fma (view.w, td_fetch1_nearest (sinogram, u + 0.5f, (float) v + 0.5f), sum);
#else
    sum = td_fma (view.w, td_fetch1_linear (sinogram, u + 0.5f, (float) v + 0.5f), sum);
#endif
  }
  size_t first = ((size_t) params.slice_high << 32) + params.slice_low;
  slice[first + (size_t) iy * (size_t) params.nx + (size_t) ix] = sum;
}

#else

TD_FN float
bin (TD_GLOBAL const float *row, int i, int n_columns)
{
  return i >= 0 && i < n_columns ? row[i] : 0.0f;
}

/* starts: u = starts[3 v] + ix starts[3 v + 1] + iy starts[3 v + 2], in units of 2^-32 columns. */
TD_KERNEL TD_GROUP_SIZE (16, 16, 1) void
backproject_standard (TD_ITEM TD_IN (float) sinogram, TD_IN (float4) views, TD_IN (long) starts,
                      TD_OUT (float) slice, TdStandardParams params)
{
  int ix = td_global_x (), iy = td_global_y ();
  TD_GLOBAL const float *row =
      sinogram + ((size_t) params.sinogram_high << 32) + params.sinogram_low;
  float sum = 0;

  if (ix >= params.nx || iy >= params.ny)
    return;
  for (int v = 0; v < params.n_views; v++) {
    long u = starts[3 * v] + ix * starts[3 * v + 1] + iy * starts[3 * v + 2];
#ifdef NEAREST
    float value = bin (row, (int) ((u + 0x80000000L) >> 32), params.n_columns);
#else
    int i = (int) (u >> 32);
    float left = bin (row, i, params.n_columns);
    float weight = (float) ((unsigned) u >> 8) * 0x1p-24f;
    float value = td_fma (weight, bin (row, i + 1, params.n_columns) - left, left);
#endif
    sum = td_fma (views[v].w, value, sum);
    row += params.n_columns;
  }
  size_t first = ((size_t) params.slice_high << 32) + params.slice_low;
  slice[first + (size_t) iy * (size_t) params.nx + (size_t) ix] = sum;
}

#endif
