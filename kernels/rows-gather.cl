/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows of filtered sinograms [row][view][column] into the order that cone-beam back-projection
   reads, [place][row][column]: some rows of some views. QUADS: columns come in fours, and p counts
   those. */
#ifdef QUADS
typedef float4 Columns;
#else
typedef float Columns;
#endif

TD_KERNEL void
rows_gather (TD_ITEM TD_IN (Columns) from, TD_OUT (Columns) to, TdRowsGather p)
{
  const int column = td_global_x (), place = td_global_y (), row = td_global_z ();

  if (column >= p.n_columns || place >= p.n_places || row >= p.n_rows)
    return;
  const int view = p.first_view + place % p.in_turn + place / p.in_turn * p.views_a_turn;
  const size_t source = ((size_t) (p.from_row + row) * p.n_views + view) * p.n_columns;
  const size_t target = ((size_t) place * p.to_rows + p.to_row + row) * p.n_columns;
  to[target + column] = from[source + column];
}
