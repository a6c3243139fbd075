/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Projections resampled to a rectified detector (compute/cone/cone-rectify.h). A homography
   finds each pixel's ray on the detector, and Lanczos' weights of three lobes read it there.
   Positions count from the middle of either detector, so that single precision is enough. */
typedef struct {
  float a, b, c, d, e, f; /* of the samples at -2, -1, 0, 1, 2 and 3 from the one before */
} ConeLanczos;

/* Adding up to 1, for a place @part beyond the sample before. Lanczos' weight at distance d is
   sin (pi d) sin (pi d / 3) / d^2. From sample to sample the first sine only changes its sign,
   and the second turns by 60 degrees. */
TD_FN ConeLanczos
cone_lanczos (float part)
{
  const float root = 0.8660254037844386f;
  const float x = td_max (1e-6f, td_min (part, 1 - 1e-6f)), t = 1.0471975511965976f * x, q = t * t;
  /* sine and cosine up to 60 degrees, to the last bit but one */
  const float s
      = t * (1 + q * (-1.f / 6 + q * (1.f / 120 + q * (-1.f / 5040 + q * (1.f / 362880)))));
  const float c = 1
      + q * (-0.5f + q * (1.f / 24 + q * (-1.f / 720 + q * (1.f / 40320 + q * (-1.f / 3628800)))));
  ConeLanczos w;

  w.a = (root * c - 0.5f * s) / ((x + 2) * (x + 2));
  w.b = -(root * c + 0.5f * s) / ((x + 1) * (x + 1));
  w.c = s / (x * x);
  w.d = (root * c - 0.5f * s) / ((x - 1) * (x - 1));
  w.e = -(root * c + 0.5f * s) / ((x - 2) * (x - 2));
  w.f = s / ((x - 3) * (x - 3));
  const float scale = 1 / (((w.a + w.f) + (w.b + w.e)) + (w.c + w.d));
  w.a *= scale;
  w.b *= scale;
  w.c *= scale;
  w.d *= scale;
  w.e *= scale;
  w.f *= scale;
  return w;
}

TD_FN int
cone_inside (int at, int n)
{
  return td_max (0, td_min (at, n - 1));
}

/* The sum along one row, whose first sample is @line. */
TD_FN float
cone_across (const TD_GLOBAL float *from, int line, ConeLanczos w, int u, int n)
{
  return ((w.a * from[line + cone_inside (u - 2, n)] + w.f * from[line + cone_inside (u + 3, n)])
          + (w.b * from[line + cone_inside (u - 1, n)] + w.e * from[line + cone_inside (u + 2, n)]))
         + (w.c * from[line + cone_inside (u, n)] + w.d * from[line + cone_inside (u + 1, n)]);
}

/* Pixel (x, y) of the rectified detector. */
TD_FN float
cone_rectify_pixel (const TD_GLOBAL float *from, const TD_GLOBAL float *h, int line, float x,
                    float y0,
                  TdConeRectifyRows p)
{
  const float a = h[9] * x + h[10], b = h[11] * x + h[12];
  const float y = td_max (td_min (a, b), td_min (y0, td_max (a, b)));
  const float w = 1 / (h[6] * x + h[7] * y + h[8]);
  const float u = (h[0] * x + h[1] * y + h[2]) * w, v = (h[3] * x + h[4] * y + h[5]) * w;
  const float left = td_floor (u + p.from_u), top = td_floor (v + p.from_v);
  const ConeLanczos across = cone_lanczos (u - (left - p.from_u));
  const ConeLanczos down = cone_lanczos (v - (top - p.from_v));
  const int u0 = (int) left, v0 = (int) top - p.from_row0;
  const int n = p.from_columns, m = p.from_rows, stride = p.n_views * n;
  const float outer
      = down.a * cone_across (from, line + stride * cone_inside (v0 - 2, m), across, u0, n)
        + down.f * cone_across (from, line + stride * cone_inside (v0 + 3, m), across, u0, n);
  const float middle
      = down.b * cone_across (from, line + stride * cone_inside (v0 - 1, m), across, u0, n)
        + down.e * cone_across (from, line + stride * cone_inside (v0 + 2, m), across, u0, n);
  const float inner
      = down.c * cone_across (from, line + stride * cone_inside (v0, m), across, u0, n)
        + down.d * cone_across (from, line + stride * cone_inside (v0 + 1, m), across, u0, n);
  /* Beyond the other two edges there is nothing. */
  const float off = h[13] != 0 ? td_abs (u) - p.from_u : td_abs (v) - p.from_v;
  return off <= 0.5f ? (outer + middle) + inner : 0.0f;
}

/* A work-item takes p.columns neighbours: one on a graphics card, whole rows on a CPU, whose
   vectors take pixels side by side. */
TD_KERNEL void
/* [row][view][column], below 2^31 samples */
cone_rectify (TD_ITEM TD_IN (float) from,
            /* the same, of the rectified detector */
            TD_OUT (float) to,
            TD_IN (float) forms,        /* [view or 1][14] */
            TdConeRectifyRows p)
{
  const int first = td_global_x () * p.columns, view = td_global_y (), row = td_global_z ();

  if (view >= p.n_views || row >= p.n_rows)
    return;
  const int end = td_min (first + p.columns, p.n_columns);
  const float y = (float) (row + p.row0) - p.v_middle;
  TD_GLOBAL float *line = to + ((size_t) row * p.n_views + view) * p.n_columns;
  for (int column = first; column < end; column++)
    line[column] = cone_rectify_pixel (from, forms + view * p.form_stride, view * p.from_columns,
                                     (float) column - p.u_middle, y, p);
}
