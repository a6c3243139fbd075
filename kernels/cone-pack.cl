/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Filtered projections [view][row][column] into what backproject-cone.cl reads: texels of PACK views
   that lie n_views_between apart, in single or half (HALF) storage, or (PADDED) single values with a
   border of zeros. */
#ifndef PACK
#define PACK 1
#endif
#ifndef HALF
#define HALF 0
#endif
#ifndef PADDED
#define PADDED 0
#endif

TD_KERNEL void
cone_pack (TD_ITEM const TD_GLOBAL float *TD_RESTRICT from,
#if HALF
           TD_GLOBAL td_half *TD_RESTRICT to,
#else
           TD_GLOBAL float *TD_RESTRICT to,
#endif
           TdConePack p)
{
  const int column = td_global_x (), row = td_global_y (), layer = td_global_z ();

#if PADDED
  /* One row of zeros above and two below, one column on either side. */
  if (column >= p.pitch || row >= p.n_rows + 3 || layer >= p.n_layers)
    return;
  const int c = column - 1, r = row - 1;
  const int inside = c >= 0 && c < p.n_columns && r >= 0 && r < p.n_rows;
  to[(size_t) layer * p.view_stride + (size_t) row * p.pitch + column]
      = inside ? from[((size_t) layer * p.n_rows + r) * p.n_columns + c] : 0.0f;
#else
  if (column >= p.n_columns || row >= p.n_rows || layer >= p.n_layers)
    return;
  const size_t view = (size_t) p.n_rows * p.n_columns;
  const size_t pixel = (size_t) row * p.n_columns + column;
  const size_t texel = layer * view + pixel;
  for (int channel = 0; channel < PACK; channel++) {
    const float value = from[(layer + (size_t) channel * p.n_views_between) * view + pixel];
#if HALF
    td_store_half (to, PACK * texel + channel, value);
#else
    to[PACK * texel + channel] = value;
#endif
  }
#endif
}
