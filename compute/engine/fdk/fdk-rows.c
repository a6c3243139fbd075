/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "fdk.h"

/* Which of the detector's rows filtered ones are made of. */

static gboolean
is_rectified (const TdFdkPlan *fdk)
{
  return fdk->task.tilted.n_rows > 0;
}

TdFdkSpan
td_fdk_span (const TdFdkPlan *fdk, guint row, guint n)
{
  const guint n_rows = is_rectified (fdk) ? fdk->task.tilted.n_rows : fdk->task.n_rows;
  const TdConeRows rows = { fdk->row0 + row, n };
  const TdConeRows made_of = is_rectified (fdk) ? td_cone_rectify_rows (&fdk->task, rows) : rows;
  const guint first = made_of.row0 - MIN (made_of.row0, fdk->halo);
  const guint end = MIN (n_rows, made_of.row0 + made_of.n + fdk->halo);

  return (TdFdkSpan) { .from = { first, end - first },
                       .rows = rows,
                       .data_row0 = is_rectified (fdk) ? rows.row0 : first };
}

guint
td_fdk_most_rows (const TdFdkPlan *fdk, guint row, guint step)
{
  guint most = 0;

  for (; row < fdk->n_rows; row += MIN (step, fdk->n_rows - row))
    most = MAX (most, td_fdk_span (fdk, row, MIN (step, fdk->n_rows - row)).from.n);
  return most;
}

guint64
td_fdk_rows_bytes (const TdFdkPlan *fdk, guint from_rows, guint n)
{
  const guint64 line = (guint64) fdk->task.n_views * sizeof (float);
  const guint64 from
      = line * from_rows * (is_rectified (fdk) ? fdk->task.tilted.n_columns : fdk->task.n_columns);

  return is_rectified (fdk) ? MAX (from, line * n * fdk->task.n_columns) : from;
}

gboolean
td_fdk_holds (const TdFdkPlan *fdk)
{
  return fdk->n_chunks > 1 && fdk->chunk_rows > fdk->filter_rows;
}

gboolean
td_fdk_rows_fit (const TdFdkPlan *fdk, guint from_rows)
{
  return (guint64) from_rows * fdk->task.n_views * fdk->task.tilted.n_columns <= G_MAXINT32;
}

guint64
td_fdk_filtered_bytes (const TdFdkPlan *fdk, guint n)
{
  return (guint64) n * fdk->task.n_views * fdk->task.n_columns * sizeof (float);
}

guint64
td_fdk_chunk_bytes (const TdFdkPlan *fdk)
{
  return td_fdk_rows_bytes (fdk, fdk->chunk_rows, fdk->filter_rows);
}

guint
td_fdk_most_filtered (const TdFdkPlan *fdk, guint from_rows, guint n)
{
  return is_rectified (fdk) ? n : from_rows;
}

gboolean
td_fdk_filter_span (const TdFdkPlan *fdk, TdConeFilter *filter, TdQueue *queue, TdBuffer *rows,
                    const TdFdkSpan *span, GError **error)
{
  if (is_rectified (fdk))
    return td_cone_filter_run_rectified (filter, queue, rows, span->from, span->rows, error);
  return td_cone_filter_run (filter, queue, rows, span->from, error);
}
