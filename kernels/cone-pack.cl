/* SPDX-License-Identifier: GPL-3.0-or-later */
/* These kernels bring filtered projections [view][row][column] into the order that
   backproject-cone.cl reads: texels of PACK views that lie n_views_between apart. Storage is
   single or half (HALF). PADDED makes single values with a border of zeros. COLUMNS makes
   [layer][column][row] with a column of zeros on either side, for cone-columns.cl. */
#ifndef PACK
#define PACK 1
#endif
#ifndef HALF
#define HALF 0
#endif
#ifndef PADDED
#define PADDED 0
#endif

#ifndef COLUMNS
#define COLUMNS 0
#endif

#if COLUMNS
#define TILE 32

TD_KERNEL void TD_GROUP_SIZE (TILE, 8, 1)
cone_pack (TD_ITEM TD_IN (float) from, TD_OUT (float) to, TdConePack p)
{
  TD_LOCAL float tile[PACK][TILE][TILE + 1];
  const int x = td_local_x (), layer = td_group_z ();
  const int column0 = td_group_x () * TILE - 1, row0 = td_group_y () * TILE;

  for (int y = td_local_y (); y < TILE; y += 8)
    for (int channel = 0; channel < PACK; channel++) {
      const int column = column0 + x, row = row0 + y;
      const int inside = (uint) column < (uint) p.n_columns && row < p.n_rows;
      const size_t view = layer + (size_t) channel * p.n_views_between;
      tile[channel][y][x] = inside ? from[(view * p.n_rows + row) * p.n_columns + column] : 0.0f;
    }
  td_barrier ();
  for (int y = td_local_y (); y < TILE; y += 8) {
    const int column = column0 + 1 + y, row = row0 + x;
    if (column >= p.n_columns + 2 || row >= p.n_rows)
      continue;
    const size_t at = ((size_t) layer * (p.n_columns + 2) + column) * p.n_rows + row;
    for (int channel = 0; channel < PACK; channel++)
      to[PACK * at + channel] = tile[channel][x][y];
  }
}

#else
TD_KERNEL void
cone_pack (TD_ITEM TD_IN (float) from,
#if HALF
           TD_OUT (td_half) to,
#else
           TD_OUT (float) to,
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
  if (column >= p.n_columns || row >= p.texel_rows || layer >= p.n_layers)
    return;
  const size_t view = (size_t) p.n_rows * p.n_columns;
  const size_t pixel = (size_t) row * p.n_columns + column;
  const size_t texel = (size_t) layer * p.texel_rows * p.n_columns + pixel;
  float value[PACK];
  for (int channel = 0; channel < PACK; channel++)
    value[channel]
        = row < p.n_rows ? from[(layer + (size_t) channel * p.n_views_between) * view + pixel]
            : 0.0f;
#if HALF
  for (int channel = 0; channel < PACK; channel++)
    value[channel] *= p.scale;
#endif
  /* A texel at once: a quarter of the stores. */
#if PACK == 4 && HALF
  td_store_half4 (to, texel, td_float4 (value[0], value[1], value[2], value[3]));
#elif PACK == 4
  ((TD_GLOBAL float4 *) to)[texel] = td_float4 (value[0], value[1], value[2], value[3]);
#elif PACK == 2 && HALF
  td_store_half2 (to, texel, td_float2 (value[0], value[1]));
#elif PACK == 2
  ((TD_GLOBAL float2 *) to)[texel] = td_float2 (value[0], value[1]);
#elif HALF
  td_store_half (to, texel, value[0]);
#else
  to[texel] = value[0];
#endif
#endif
}
#endif
