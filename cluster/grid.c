/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "grid.h"

#include <inttypes.h>

#include "dataset/error.h"

/* Two lines go through one transform of the filter: groups of views begin with even ones. */
#define VIEW_STEP 2

static guint
grid_most_columns (const TdGridLimits *limits)
{
  return MAX (1, limits->n_views / MAX (1, limits->parts) / VIEW_STEP);
}

static gboolean
grid_check (const TdGrid *grid, const TdGridLimits *limits, GError **error)
{
  if ((guint64) grid->rows * grid->columns > grid->ranks)
    return td_set_error (error, TD_ERROR_INVALID,
                         "A grid of %u rows and %u columns needs %" PRIu64
                         " ranks, and there are %u; start more of them or ask for a smaller grid",
                         grid->rows, grid->columns, (guint64) grid->rows * grid->columns,
                         grid->ranks);
  if (grid->rows > limits->n_slices)
    return td_set_error (error, TD_ERROR_INVALID,
                         "A grid of %u rows cannot share %u [slice|slices]; ask for fewer rows",
                         grid->rows, limits->n_slices);
  if (grid->columns > 1 && limits->one_column)
    return td_set_error (error, TD_ERROR_INVALID, "A grid of %u columns cannot share the views: %p",
                         grid->columns, td_message_unpack (limits->one_column));
  if (grid->columns > grid_most_columns (limits))
    return td_set_error (error, TD_ERROR_INVALID,
                         "A grid of %u columns cannot share %u views; ask for fewer columns",
                         grid->columns, limits->n_views);
  return TRUE;
}

gboolean
td_grid_check_job (const TdScanFacts *scan, const char *undivided, TdClusterMode mode, guint ranks,
                   GError **error)
{
  const gboolean parallel = scan->geometry.beam == TD_BEAM_PARALLEL;

  if (mode == TD_CLUSTER_IFDK && parallel)
    return td_set_error (
        error, TD_ERROR_INVALID,
        "The mode ifdk gathers views of cone beams, and this scan is a parallel beam's; "
        "take the mode slices");
  if (mode == TD_CLUSTER_SLICES && !parallel)
    return td_set_error (
        error, TD_ERROR_INVALID,
        "The mode slices hands out rows of parallel beams, and this scan is a cone beam's; "
        "take the mode slab");
  if (undivided && (ranks > 1 || mode == TD_CLUSTER_SLICES))
    return td_set_error (error, TD_ERROR_INVALID,
                         "These slices cannot be shared out: %p. Take one rank and the mode slab, "
                         "or this computer",
                         td_message_new_plain (undivided));
  return TRUE;
}

guint
td_grid_least_rows (double volume_bytes, double batch_bytes, double memory_bytes, guint most)
{
  const double half = memory_bytes / 2 * 1.0738; /* 8 GiB of 16 GB */
  guint rows = 1;

  while (rows < most
         && (volume_bytes / rows > half || volume_bytes / rows + batch_bytes > memory_bytes))
    rows *= 2;
  return rows;
}

/* Of the numbers of rows with which every rank is at work: the fewest from @least on. */
static guint
grid_few_rows (guint ranks, const TdGridLimits *limits)
{
  const guint most = MIN (ranks, limits->n_slices);
  guint rows = MIN (limits->least_rows, most);

  while (rows < most && (ranks % rows != 0 || ranks / rows > grid_most_columns (limits)))
    rows++;
  return rows;
}

gboolean
td_grid_choose (guint ranks, const TdClusterWish *wish, const TdGridLimits *limits, TdGrid *grid,
                GError **error)
{
  guint rows = wish->rows, columns = wish->columns;

  if (rows == 0 && columns == 0 && limits->one_column) {
    rows = MIN (ranks, limits->n_slices);
    columns = 1;
  } else if (rows == 0 && columns == 0 && limits->least_rows > 0) {
    rows = grid_few_rows (ranks, limits);
    columns = MIN (ranks / rows, grid_most_columns (limits));
  } else if (rows == 0 && columns == 0) {
    for (rows = MIN (ranks, limits->n_slices); ranks % rows != 0; rows--)
      ;
    columns = MIN (ranks / rows, grid_most_columns (limits));
  } else if (rows == 0) {
    rows = MAX (1, MIN (ranks / columns, limits->n_slices));
  } else if (columns == 0) {
    columns = limits->one_column ? 1 : CLAMP (ranks / rows, 1, grid_most_columns (limits));
  }
  *grid = (TdGrid) { ranks, rows, columns };
  return grid_check (grid, limits, error);
}

TdGridShare
td_grid_share (guint n, guint step, const double *shares, guint n_shares, guint index)
{
  const guint steps = n / step;
  double all = 0, sum = 0;
  guint bound = 0;
  TdGridShare share = { 0 };

  for (guint i = 0; i < n_shares; i++)
    all += shares[i];
  for (guint i = 0; i <= index; i++) {
    sum += shares[i];
    share.first = bound * step;
    /* One step at least for each place, if there are as many. */
    const gboolean enough = steps >= n_shares;
    const guint least = share.first / step + enough;
    const guint most = enough ? steps - (n_shares - 1 - i) : steps;
    bound = i + 1 == n_shares ? steps : CLAMP ((guint) (steps * (sum / all) + 0.5), least, most);
    share.count = (i + 1 == n_shares ? n : bound * step) - share.first;
  }
  return share;
}

TdViewGroup
td_grid_views (guint n_views, guint together, const double *shares, guint n_shares, guint index)
{
  const guint parts
      = together > 1 && n_views % together == 0 && n_views / together / VIEW_STEP >= n_shares
            ? together
            : 1;
  const TdGridShare share = td_grid_share (n_views / parts, VIEW_STEP, shares, n_shares, index);

  return (TdViewGroup) { share.first, share.count * parts, parts };
}

guint
td_grid_gathered (guint chunk, guint n_views, guint together)
{
  const guint apart = n_views / MAX (together, 1);

  if (together <= 1 || n_views % together != 0)
    return 0;
  for (guint views = chunk / 2 * 2; views > 0 && 2 * views >= chunk; views -= 2)
    if (apart % views == 0)
      return views;
  return 0;
}
