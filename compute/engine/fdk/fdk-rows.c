/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "fdk.h"

/* Which of the detector's rows the filtered rows are made of. */

static gboolean
is_rectified (const TdFdkInput *input)
{
  return input->task.tilted.n_rows > 0;
}

TdFdkSpan
td_fdk_span (const TdFdkInput *input, guint row, guint n)
{
  const guint n_rows = is_rectified (input) ? input->task.tilted.n_rows : input->task.n_rows;
  const TdConeRows rows = { input->row0 + row, n };
  const TdConeRows made_of
      = is_rectified (input) ? td_cone_rectify_rows (&input->task, rows) : rows;
  const guint first = made_of.row0 - MIN (made_of.row0, input->halo);
  const guint end = MIN (n_rows, made_of.row0 + made_of.n + input->halo);

  return (TdFdkSpan) { .from = { first, end - first },
                       .rows = rows,
                       .data_row0 = is_rectified (input) ? rows.row0 : first };
}

TdFdkSpan
td_fdk_span_all (const TdFdkInput *input)
{
  return td_fdk_span (input, 0, input->n_rows);
}

guint
td_fdk_most_rows (const TdFdkInput *input, guint row, guint step)
{
  guint most = 0;

  for (; row < input->n_rows; row += MIN (step, input->n_rows - row))
    most = MAX (most, td_fdk_span (input, row, MIN (step, input->n_rows - row)).from.n);
  return most;
}

guint64
td_fdk_rows_bytes (const TdFdkInput *input, guint from_rows, guint n)
{
  const guint64 line = (guint64) input->task.n_views * sizeof (float);
  const guint64 from
      = line * from_rows
        * (is_rectified (input) ? input->task.tilted.n_columns : input->task.n_columns);

  return is_rectified (input) ? MAX (from, line * n * input->task.n_columns) : from;
}

gboolean
td_fdk_holds (const TdFdkPlan *fdk)
{
  return fdk->fit.n_chunks > 1 && fdk->fit.chunk_rows > fdk->fit.filter_rows;
}

gboolean
td_fdk_rows_fit (const TdFdkInput *input, guint from_rows)
{
  return (guint64) from_rows * input->task.n_views * input->task.tilted.n_columns <= G_MAXINT32;
}

guint64
td_fdk_filtered_bytes (const TdFdkInput *input, guint n)
{
  return (guint64) n * input->task.n_views * input->task.n_columns * sizeof (float);
}

guint64
td_fdk_chunk_bytes (const TdFdkPlan *fdk)
{
  return td_fdk_rows_bytes (fdk->input, fdk->fit.chunk_rows, fdk->fit.filter_rows);
}

guint
td_fdk_most_filtered (const TdFdkInput *input, guint from_rows, guint n)
{
  return is_rectified (input) ? n : from_rows;
}

gboolean
td_fdk_filter_span (const TdFdkInput *input, TdConeFilter *filter, TdQueue *queue, TdBuffer *rows,
                    const TdFdkSpan *span, GError **error)
{
  if (is_rectified (input))
    return td_cone_filter_run_rectified (filter, queue, rows, span->from, span->rows, error);
  return td_cone_filter_run (filter, queue, rows, span->from, error);
}
