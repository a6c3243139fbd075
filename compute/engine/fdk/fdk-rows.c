/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "fdk.h"

/* Which of the detector's rows filtered ones are made of. */

static gboolean
is_level (const TdFdkPlan *fdk)
{
  return fdk->task.level.n_rows > 0;
}

TdFdkSpan
td_fdk_span (const TdFdkPlan *fdk, guint row, guint n)
{
  const guint n_rows = is_level (fdk) ? fdk->task.level.n_rows : fdk->task.n_rows;
  TdFdkSpan span = { .row0 = fdk->row0 + row, .n_rows = n };
  guint first = span.row0, end = span.row0 + n;

  if (is_level (fdk))
    td_cone_level_rows (&fdk->task, span.row0, n, &first, &end);
  span.from_row0 = first - MIN (first, fdk->halo);
  span.from_rows = MIN (n_rows, end + fdk->halo) - span.from_row0;
  span.data_row0 = is_level (fdk) ? span.row0 : span.from_row0;
  return span;
}

guint
td_fdk_most_rows (const TdFdkPlan *fdk, guint row, guint step)
{
  guint most = 0;

  for (; row < fdk->n_rows; row += MIN (step, fdk->n_rows - row))
    most = MAX (most, td_fdk_span (fdk, row, MIN (step, fdk->n_rows - row)).from_rows);
  return most;
}

guint64
td_fdk_rows_bytes (const TdFdkPlan *fdk, guint from_rows, guint n)
{
  const guint64 line = (guint64) fdk->task.n_views * sizeof (float);
  const guint64 from
      = line * from_rows * (is_level (fdk) ? fdk->task.level.n_columns : fdk->task.n_columns);

  return is_level (fdk) ? MAX (from, line * n * fdk->task.n_columns) : from;
}

gboolean
td_fdk_holds (const TdFdkPlan *fdk)
{
  return fdk->n_chunks > 1 && fdk->chunk_rows > fdk->filter_rows;
}

gboolean
td_fdk_rows_fit (const TdFdkPlan *fdk, guint from_rows)
{
  const TdConeLevel *level = &fdk->task.level;

  return (guint64) from_rows * fdk->task.n_views * level->n_columns <= G_MAXINT32;
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
  return is_level (fdk) ? n : from_rows;
}

gboolean
td_fdk_filter_span (const TdFdkPlan *fdk, TdConeFilter *filter, TdQueue *queue, TdBuffer *rows,
                    const TdFdkSpan *span, GError **error)
{
  if (is_level (fdk))
    return td_cone_filter_run_level (filter, queue, rows, span->from_row0, span->from_rows,
                                     span->row0, span->n_rows, error);
  return td_cone_filter_run (filter, queue, rows, span->from_row0, span->from_rows, error);
}
