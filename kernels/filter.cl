/* SPDX-License-Identifier: GPL-3.0-or-later */
/* These kernels filter rows by FFT. Two real rows make one complex line, since a real, symmetric
   response keeps them apart. compute/row-filter.c launches these over x = columns, y =
   pairs of rows. A filtered row may be wider than the measured one. */

TD_FN size_t
filter_row_start (const TdFilterParams p, int row)
{
  return (((size_t) p.first_high << 32) | p.first_low) + (size_t) row * (size_t) p.n_columns;
}

/* What a column counts for in half acquisition: compute/row-blend.h says what and why. */
TD_FN float
filter_blend (const TdFilterParams p, int row, int column)
{
  const float centre = p.centre + p.centre_step * (float) ((p.row0 + row) / p.n_views);
  const float right = (float) (p.n_columns - 1) - centre;
  const float overlap = td_fmax (td_fmin (centre, right), 0.5f);
  const float outwards = right >= centre ? (float) column - centre : centre - (float) column;
  const float t = td_fmin (td_fmax (0.5f + 0.5f * outwards / overlap, 0.0f), 1.0f);

  return t * t * t * (10.0f + t * (6.0f * t - 15.0f));
}

TD_FN float
filter_value (TD_GLOBAL const float *rows, const TdFilterParams p, int row, int column)
{
  const float value = rows[filter_row_start (p, row) + (size_t) column];

  return p.n_views > 0 ? value * filter_blend (p, row, column) : value;
}

/* What stands at place @x of the padded line: the row, then zeros or the edges' values. The line
   is periodic. The padding has the last column's value up to its middle and the first column's
   value after it. The middle of an odd padding has the mean of both. */
TD_FN float
filter_padded (TD_GLOBAL const float *rows, const TdFilterParams p, int row, int x)
{
  if (row >= p.n_rows)
    return 0;
  const int beyond = x - p.n_wide, left = p.padded - p.n_wide;
  if (p.extend_edges && beyond >= 0 && 2 * beyond + 1 == left)
    return 0.5f * (filter_value (rows, p, row, 0) + filter_value (rows, p, row, p.n_columns - 1));
  if (beyond >= 0)
    x = beyond < left / 2 ? p.n_wide : -1;
  int column = x - p.shift;
  if (column < 0 || column >= p.n_columns) {
    if (!p.extend_edges)
      return 0;
    column = column < 0 ? 0 : p.n_columns - 1;
  }
  return filter_value (rows, p, row, column);
}

TD_KERNEL void
filter_pack (TD_ITEM TD_IN (float) rows, TD_OUT (float2) lines, const TdFilterParams p)
{
  const int x = td_global_x ();
  const int pair = td_global_y ();

  if (x < p.padded)
    lines[(size_t) pair * (size_t) p.padded + (size_t) x]
        = td_float2 (filter_padded (rows, p, 2 * pair, x),
                     filter_padded (rows, p, 2 * pair + 1, x));
}

TD_KERNEL void
filter_multiply (TD_ITEM TD_OUT (float2) lines, TD_IN (float) response, const TdFilterParams p)
{
  const int x = td_global_x ();

  if (x < p.padded) {
    const size_t i = (size_t) td_global_y () * (size_t) p.padded + (size_t) x;
    const float factor = response[x];
    const float2 value = lines[i];
    lines[i] = td_float2 (value.x * factor, value.y * factor);
  }
}

TD_KERNEL void
filter_unpack (TD_ITEM TD_OUT (float) rows, TD_IN (float2) lines, const TdFilterParams p)
{
  const int x = td_global_x ();
  const int row = 2 * td_global_y ();

  if (x < p.n_wide && row < p.n_rows) {
    const float2 value = lines[(size_t) td_global_y () * (size_t) p.padded + (size_t) x];
    const size_t at = (((size_t) p.wide_high << 32) | p.wide_low)
                      + (size_t) row * (size_t) p.n_wide + (size_t) x;
    rows[at] = value.x;
    if (row + 1 < p.n_rows)
      rows[at + (size_t) p.n_wide] = value.y;
  }
}
