/* SPDX-License-Identifier: GPL-3.0-or-later */
/* FDK's weights before the ramp filter (iFDK, Algorithm 1): the cosine of the ray's angle with
   the detector's normal, and the redundancy of the ray. The cosine is 1 / sqrt of a quadratic
   form in the pixel's place, for any matrix. The forms are centred on the detector, so that
   single precision is enough. */
TD_FN float
cone_cosine (const TD_GLOBAL float *q, float u, float v)
{
  return 1 / td_sqrt (q[0] * u * u + q[1] * v * v + q[2] + q[3] * u * v + q[4] * u + q[5] * v);
}

/* Where the redundancy depends on view and column alone. */
TD_KERNEL void
cone_weight (TD_ITEM TD_OUT (float) data, /* [row][view][column] */
             TD_IN (float) cosine, /* [view][6]: uu, vv, 11, uv, u1, v1 */
             TD_IN (float) redundancy, /* [view][column] */
             TdConeWeight p)
{
  const int column = td_global_x (), view = td_global_y (), row = td_global_z ();

  if (column >= p.n_columns || view >= p.n_views || row >= p.n_rows)
    return;
  const float u = (float) column - p.u_middle, v = (float) (row + p.row0) - p.v_middle;
  const size_t ray = (size_t) view * p.n_columns + column;
  data[(size_t) row * p.n_views * p.n_columns + ray]
      *= redundancy[ray] * cone_cosine (cosine + 6 * view, u, v);
}

/* td_cone_redundancy_weight() */
TD_FN float
cone_redundancy (TdConeWeight p, float beta, float gamma)
{
  const float half_pi = 1.5707963267948966f;
  float part = 1;

  if (p.side != 0)
    return 0.5f
        * (td_sin (half_pi * td_max (-1.0f, td_min (p.side * gamma / p.overlap, 1.0f))) + 1);
  const float begin = 2 * (p.overscan + gamma), end = 2 * (half_pi + gamma);
  if (beta < begin)
    part = beta / begin;
  else if (beta > end)
    part = (2 * (half_pi + p.overscan) - beta) / (2 * (p.overscan - gamma));
  const float sine = td_sin (half_pi * td_max (0.0f, td_min (part, 1.0f)));
  return sine * sine;
}

/* Where a turned detector's columns lean against the axis. */
TD_KERNEL void
cone_weight_by_row (TD_ITEM TD_OUT (float) data, /* [row][view][column] */
                    TD_IN (float) cosine, /* [view][6] */
                    TD_IN (float) fan, /* [view][7]: right, ahead, turned */
                    TdConeWeight p)
{
  const int column = td_global_x (), view = td_global_y (), row = td_global_z ();

  if (column >= p.n_columns || view >= p.n_views || row >= p.n_rows)
    return;
  const float u = (float) column - p.u_middle, v = (float) (row + p.row0) - p.v_middle;
  const TD_GLOBAL float *f = fan + 7 * view;
  const float gamma
      = td_atan ((f[0] * u + f[1] * v + f[2]) / (f[3] * u + f[4] * v + f[5]));
  data[((size_t) row * p.n_views + view) * p.n_columns + column]
      *= cone_redundancy (p, f[6], gamma) * cone_cosine (cosine + 6 * view, u, v);
}
