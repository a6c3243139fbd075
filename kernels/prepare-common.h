/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the kernels of preparation share: data is [row][view][column]. */
#pragma once

TD_FN size_t
row_of_view (int row, int view, int n_views, int n_columns)
{
  return ((size_t) row * n_views + view) * n_columns;
}
