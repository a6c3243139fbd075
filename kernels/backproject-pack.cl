/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sinograms in the back-projection kernels' order: TD_SLICES slices side by side, rows in the
   table's order. Rows are weighted, mirrored where the table says so, and have zeros on both
   sides. They are single or half.

   TD_PLANES 1: the values. 2: a row of differences to the next bin follows a row of values; with
   TD_PAIRS every bin is followed by its difference. 4 (one slice): every bin is followed by the
   next three differences. TD_SPLIT: four slices as two rows of two. TD_SAMPLES: 1, or 4 samples
   a column, linearly interpolated. TD_SCALED: values fit half's range. */
#include "backproject-common.h"

/* Column @column of slices slice0 …, 0 outside the detector. @row: the view's first column in
   slice0; @slices: how many there are from slice0 on. */
TD_FN TdSum
td_read_column (TD_GLOBAL const float *row, TdBackprojectParams p, int slices, int column)
{
  const int inside = (uint) column < (uint) p.n_columns;
#if TD_SLICES > 1
  const size_t pitch = (size_t) p.n_views * p.n_columns;
#endif
#if TD_SLICES == 1
  return inside ? row[column] : 0.0f;
#elif TD_SLICES == 2
  return td_float2 (inside ? row[column] : 0.0f, inside && slices > 1 ? row[pitch + column] : 0.0f);
#else
  return td_float4 (inside ? row[column] : 0.0f, inside && slices > 1 ? row[pitch + column] : 0.0f,
                    inside && slices > 2 ? row[2 * pitch + column] : 0.0f,
                    inside && slices > 3 ? row[3 * pitch + column] : 0.0f);
#endif
}

/* One bin of plane @plane of a table entry. */
TD_FN void
td_pack (TD_GLOBAL TdBin *packed, int pitch, int entry, int plane, int bin, TdSum value)
{
#if TD_PAIRS
  packed[((size_t) entry * pitch + bin) * TD_PLANES + plane] = td_bin (value);
#elif TD_SPLIT
  TD_GLOBAL float2 *row
    = (TD_GLOBAL float2 *) packed + (size_t) (entry * TD_PLANES + plane) * 2 * pitch + bin;
  row[0] = td_float2 (value.x, value.y);
  row[pitch] = td_float2 (value.z, value.w);
#else
  packed[(size_t) (entry * TD_PLANES + plane) * pitch + bin] = td_bin (value);
#endif
}

/* One work-item a bin (x) of a table entry (y). */
TD_KERNEL void TD_GROUP_SIZE (256, 1, 1)
td_backproject_pack (TD_ITEM TD_IN (float) sinograms, td_long sinogram_offset,
                     TD_IN (TdBackprojectView) views, TdBackprojectParams p, int slice0,
                     TD_IN (float) greatest, TD_OUT (TdBin) packed)
{
  const int bin = td_global_x (), entry = td_group_y (), slices = p.n_slices - slice0;

  if (bin >= p.pitch)
    return;

  const int view = views[entry].view, step = views[entry].direction;
  const int position = bin - p.margin, origin = step < 0 ? p.n_columns - 1 : 0;
  TD_GLOBAL const float *row
    = sinograms + sinogram_offset + ((size_t) slice0 * p.n_views + td_max (view, 0)) * p.n_columns;
  float weight = view < 0 ? 0.0f : views[entry].weight;
#if TD_SCALED
  weight *= td_half_factor (greatest[0]);
#endif
#if TD_SAMPLES > 1
  const int column = position >> 2;
  const float part = 0.25f * (float) (position & 3) * weight;
  const TdSum value
      = td_sum_fma (part, td_read_column (row, p, slices, origin + step * (column + 1)),
                                  td_read_column (row, p, slices, origin + step * column)
                                  * (weight - part));
#else
  const TdSum value = td_read_column (row, p, slices, origin + step * position) * weight;
#endif
#if TD_PLANES == 1
  td_pack (packed, p.pitch, entry, 0, bin, value);
#else
  const TdSum next = td_read_column (row, p, slices, origin + step * (position + 1)) * weight;
#if TD_PLANES == 2
  td_pack (packed, p.pitch, entry, 0, bin, value);
  td_pack (packed, p.pitch, entry, 1, bin, next - value);
#else
  const TdSum third = td_read_column (row, p, slices, origin + step * (position + 2)) * weight;
  const TdSum fourth = td_read_column (row, p, slices, origin + step * (position + 3)) * weight;
  ((TD_GLOBAL float4 *) packed)[(size_t) entry * p.pitch + bin]
    = td_float4 (value, next - value, third - next, fourth - third);
#endif
#endif
}

/* The greatest absolute value times @weight, into greatest[0], which starts as 0. */
TD_KERNEL void TD_GROUP_SIZE (256, 1, 1)
td_backproject_greatest (TD_ITEM TD_IN (float) values, td_long offset, td_long count, float weight,
                         TD_GLOBAL int *greatest)
{
  TD_LOCAL int shared[1];
  float most = 0.0f;

  if (td_local_x () == 0)
    shared[0] = 0;
  td_barrier ();
  for (td_long i = td_global_x (); i < count; i += (td_long) td_groups_x () * 256)
    most = td_fmax (most, td_abs (values[offset + i]));
  td_atomic_max_int (shared, td_float_as_int (most * weight)); /* floats >= 0 order like integers */
  td_barrier ();
  if (td_local_x () == 0)
    td_atomic_max_int (greatest, shared[0]);
}
