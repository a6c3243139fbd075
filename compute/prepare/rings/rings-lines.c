/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Columns of sinograms as lines: turning, sorting, medians (kernels/rings-sort.cl). */
#include "kernels/params.h"
#include "rings.h"

/* As in kernels/rings-sort.cl. */
#define TILE_VIEWS 8
#define RUN 32

/* Places of a line that one item adds up where items are many and small. */
#define PIECE 128

guint64
td_rings_lines_bytes (const TdScanFacts *facts, gboolean sorting)
{
  return (sorting ? 4 : 2) * sizeof (float) * (guint64) facts->n_views * facts->n_columns;
}

gboolean
td_rings_lines (const TdRings *rings, gboolean sorting, TdRingsLines *lines, GError **error)
{
  static const char *const keys[] = { "rings lines 0", "rings lines 1" };
  static const char *const orders[] = { "rings order 0", "rings order 1" };
  guint64 floats = (guint64) rings->slab->n_views * rings->slab->n_columns;

  for (guint i = 0; i < 2; i++) {
    lines->order[i] = NULL;
    if (!(lines->lines[i] = td_rings_buffer (rings, keys[i], floats, error))
        || (sorting && !(lines->order[i] = td_rings_buffer (rings, orders[i], floats, error))))
      return FALSE;
  }
  return TRUE;
}

guint64
td_rings_tiles (const TdRings *rings)
{
  guint lanes = td_rings_lanes (rings);
  return (guint64) ((rings->slab->n_columns + lanes - 1) / lanes)
         * ((rings->slab->n_views + TILE_VIEWS - 1) / TILE_VIEWS);
}

gboolean
td_rings_to_lines (const TdRings *rings, TdBuffer *to, GError **error)
{
  const TdSlab *slab = rings->slab;

  const TdArg args[] = {
    TD_ARG_BUFFER (slab->data),      TD_ARG_BUFFER (to),
    TD_ARG_VALUE (rings->first_row), TD_ARG_VALUE (slab->n_views),
    TD_ARG_VALUE (slab->n_columns),
  };
  return td_rings_launch (rings, "rings-sort", "rings_to_lines", td_rings_tiles (rings), args,
                          G_N_ELEMENTS (args), error);
}

gboolean
td_rings_from_lines (const TdRings *rings, TdBuffer *from, TdBuffer *marks, GError **error)
{
  const TdSlab *slab = rings->slab;
  const int only_marked = marks != NULL;

  const TdArg args[] = {
    TD_ARG_BUFFER (from),         TD_ARG_BUFFER (marks ? marks : from),
    TD_ARG_BUFFER (slab->data),   TD_ARG_VALUE (rings->first_row),
    TD_ARG_VALUE (slab->n_views), TD_ARG_VALUE (slab->n_columns),
    TD_ARG_VALUE (only_marked),
  };
  return td_rings_launch (rings, "rings-sort", "rings_from_lines", td_rings_tiles (rings), args,
                          G_N_ELEMENTS (args), error);
}

/* ── Sorting ── */

static void
rings_lines_swap (TdRingsLines *lines)
{
  TdRingsLines turned
      = { { lines->lines[1], lines->lines[0] }, { lines->order[1], lines->order[0] } };
  *lines = turned;
}

static gboolean
sort_on_cpu (const TdRings *rings, TdRingsLines *lines, guint n, guint n_lines, GError **error)
{
  const guint block = 16;

  const TdArg args[] = {
    TD_ARG_BUFFER (lines->lines[0]),
    TD_ARG_BUFFER (lines->order[0]),
    TD_ARG_BUFFER (lines->lines[1]),
    TD_ARG_BUFFER (lines->order[1]),
    TD_ARG_VALUE (n),
    TD_ARG_VALUE (n_lines),
    TD_ARG_VALUE (block),
  };
  return td_rings_launch (rings, "rings-sort", "rings_sort_lines", (n_lines + block - 1) / block,
                          args, G_N_ELEMENTS (args), error);
}

static gboolean
rings_lines_merge (const TdRings *rings, TdRingsLines *lines, guint n, guint n_lines, guint run,
                   GError **error)
{
  const TdArg args[] = {
    TD_ARG_BUFFER (lines->lines[0]),
    TD_ARG_BUFFER (lines->order[0]),
    TD_ARG_BUFFER (lines->lines[1]),
    TD_ARG_BUFFER (lines->order[1]),
    TD_ARG_VALUE (n),
    TD_ARG_VALUE (n_lines),
    TD_ARG_VALUE (run),
  };
  if (!td_rings_launch (rings, "rings-sort", "rings_merge_runs", (guint64) n * n_lines, args,
                        G_N_ELEMENTS (args), error))
    return FALSE;
  rings_lines_swap (lines);
  return TRUE;
}

gboolean
td_rings_sort (const TdRings *rings, TdRingsLines *lines, guint n, guint n_lines, GError **error)
{
  if (td_device_info (rings->slab->device)->cpu_shaped)
    return sort_on_cpu (rings, lines, n, n_lines, error);

  const TdArg args[] = {
    TD_ARG_BUFFER (lines->lines[0]), TD_ARG_BUFFER (lines->lines[1]),
    TD_ARG_BUFFER (lines->order[1]), TD_ARG_VALUE (n),
    TD_ARG_VALUE (n_lines),
  };
  if (!td_rings_launch (rings, "rings-sort", "rings_sort_runs", (guint64) n * n_lines, args,
                        G_N_ELEMENTS (args), error))
    return FALSE;
  rings_lines_swap (lines);
  for (guint64 run = RUN; run < n; run *= 2)
    if (!rings_lines_merge (rings, lines, n, n_lines, (guint) run, error))
      return FALSE;
  return TRUE;
}

gboolean
td_rings_resort (const TdRings *rings, TdRingsLines *lines, TdBuffer *marks, GError **error)
{
  guint n = rings->slab->n_views, n_lines = rings->slab->n_columns;

  const TdArg args[] = {
    TD_ARG_BUFFER (lines->lines[0]), TD_ARG_BUFFER (lines->order[0]),
    TD_ARG_BUFFER (lines->lines[1]), TD_ARG_BUFFER (lines->order[1]),
    TD_ARG_BUFFER (marks),           TD_ARG_VALUE (n),
    TD_ARG_VALUE (n_lines),
  };
  return td_rings_launch (rings, "rings-sort", "rings_resort_lines", n_lines, args,
                          G_N_ELEMENTS (args), error);
}

gboolean
td_rings_unsort (const TdRings *rings, TdBuffer *from, TdBuffer *order, TdBuffer *to,
                 GError **error)
{
  guint n = rings->slab->n_views, n_lines = rings->slab->n_columns;
  guint strip = td_device_info (rings->slab->device)->cpu_shaped ? n : 1;

  const TdArg args[] = {
    TD_ARG_BUFFER (from), TD_ARG_BUFFER (order),  TD_ARG_BUFFER (to),
    TD_ARG_VALUE (n),     TD_ARG_VALUE (n_lines), TD_ARG_VALUE (strip),
  };
  return td_rings_launch (rings, "rings-sort", "rings_unsort", (guint64) n_lines * (n / strip),
                          args, G_N_ELEMENTS (args), error);
}

/* ── Medians and means ── */

gboolean
td_rings_median (const TdRings *rings, TdBuffer *from, TdBuffer *to, guint n, guint n_lines,
                 guint size, GError **error)
{
  gboolean cpu = td_device_info (rings->slab->device)->cpu_shaped;
  guint odd = MIN (size | 1, TD_RINGS_MAX_MEDIAN), lanes = td_rings_lanes (rings);
  guint segment = cpu ? 512 : 128; /* every segment fills its window anew */
  guint blocks = (n + lanes - 1) / lanes, segments = (n_lines + segment - 1) / segment;

  const TdArg args[] = {
    TD_ARG_BUFFER (from),   TD_ARG_BUFFER (to), TD_ARG_VALUE (n),
    TD_ARG_VALUE (n_lines), TD_ARG_VALUE (odd), TD_ARG_VALUE (segment),
  };
  return td_rings_launch (rings, "rings-sort", "rings_median", (guint64) blocks * segments, args,
                          G_N_ELEMENTS (args), error);
}

gboolean
td_rings_line_means (const TdRings *rings, TdBuffer *lines, guint first, guint end,
                     TdBuffer *profile, GError **error)
{
  guint n = rings->slab->n_views, n_lines = rings->slab->n_columns;
  guint length = td_device_info (rings->slab->device)->cpu_shaped ? n : PIECE;
  guint n_pieces = (end - first + length - 1) / length;
  TdBuffer *sums = td_rings_buffer (rings, "rings sums", (guint64) n_pieces * n_lines, error);

  if (!sums)
    return FALSE;
  const TdArg args[] = {
    TD_ARG_BUFFER (lines), TD_ARG_BUFFER (sums), TD_ARG_VALUE (n),      TD_ARG_VALUE (n_lines),
    TD_ARG_VALUE (first),  TD_ARG_VALUE (end),   TD_ARG_VALUE (length), TD_ARG_VALUE (n_pieces),
  };
  return td_rings_launch (rings, "rings-columns", "rings_sum_lines", (guint64) n_pieces * n_lines,
                          args, G_N_ELEMENTS (args), error)
         && td_rings_join_sums (rings, sums, n_pieces, 1.0f / (float) (end - first), profile,
                                error);
}
