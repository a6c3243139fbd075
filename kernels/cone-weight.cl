/* SPDX-License-Identifier: GPL-3.0-or-later */
/* FDK's weights before the ramp filter (iFDK, Algorithm 1): the cosine of the ray's angle with
   the detector's normal, and the redundancy of the ray, which depends on view and column alone. The
   cosine is 1 / sqrt of a quadratic form in the pixel's place, which holds for any matrix; it is
   centred on the detector so that single precision is enough. */
TD_KERNEL void
cone_weight (TD_ITEM TD_GLOBAL float *TD_RESTRICT data, /* [row][view][column] */
             const TD_GLOBAL float *TD_RESTRICT cosine, /* [view][6]: uu, vv, 11, uv, u1, v1 */
             const TD_GLOBAL float *TD_RESTRICT redundancy, /* [view][column] */
             TdConeWeight p)
{
  const int column = td_global_x (), view = td_global_y (), row = td_global_z ();

  if (column >= p.n_columns || view >= p.n_views || row >= p.n_rows)
    return;
  const float u = (float) column - p.u_middle, v = (float) (row + p.row0) - p.v_middle;
  const TD_GLOBAL float *q = cosine + 6 * view;
  const float form = q[0] * u * u + q[1] * v * v + q[2] + q[3] * u * v + q[4] * u + q[5] * v;
  const size_t ray = (size_t) view * p.n_columns + column;
  data[(size_t) row * p.n_views * p.n_columns + ray] *= redundancy[ray] / td_sqrt (form);
}
