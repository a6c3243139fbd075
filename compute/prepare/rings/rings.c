/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "rings.h"

#include <math.h>
#include <string.h>

#include "compute/portion.h"
#include "kernels/params.h"

/* A CPU has enough to do with few rows. Graphics cards, whose slabs are large, want many. */
#define CHUNK_BYTES (128u << 20)
#define CPU_PIECE 256 /* views that one item adds up where items are few and large */

/* As in kernels/rings-sort.cl. */
#define TILE_VIEWS 8
#define RUN 32

/* Places of a line that one item adds up where items are many and small. */
#define PIECE 128

#define MODES 8 /* as in kernels/rings-columns.cl */
#define LEAST_WEIGHT 1e-7

static guint
rows_in_chunk (guint n_rows, guint64 row_bytes)
{
  return (guint) CLAMP (td_portion (CHUNK_BYTES) / MAX (row_bytes, 1), 1, n_rows);
}

guint64
td_rings_workspace_bytes (const TdStep *step, const TdScanFacts *facts, guint n_rows)
{
  guint64 row_bytes = td_prepare_step (step->name, NULL)->row_bytes (step, facts);
  return rows_in_chunk (MAX (n_rows, 1), row_bytes) * row_bytes;
}

gboolean
td_rings_run (const TdStep *step, TdSlab *slab, GError **error)
{
  const TdScanFacts *facts = td_scan_facts (slab->scan);
  guint64 row_bytes = td_prepare_step (step->name, NULL)->row_bytes (step, facts);
  return td_rings_run_rows (step, slab, rows_in_chunk (slab->n_rows, row_bytes), error);
}

gboolean
td_rings_run_rows (const TdStep *step, TdSlab *slab, guint most, GError **error)
{
  const TdStepKind *kind = td_prepare_step (step->name, NULL);

  for (guint row = 0; row < slab->n_rows; row += most) {
    TdRings rings = { slab, row, MIN (most, slab->n_rows - row) };
    if (g_cancellable_set_error_if_cancelled (slab->cancellable, error)
        || !kind->run_chunk (step, &rings, error))
      return FALSE;
  }
  return TRUE;
}

gboolean
td_rings_launch (const TdRings *rings, const char *program, const char *kernel, guint64 n_items,
                 const TdArg *args, guint n_args, GError **error)
{
  gboolean cpu = td_device_info (rings->slab->device)->cpu_shaped;

  if (n_items > G_MAXINT32)
    return td_set_error (error, TD_ERROR_TOO_LARGE,
                         "a row of %u views and %u columns is too large for ring removal",
                         rings->slab->n_views, rings->slab->n_columns);
  return td_slab_launch (
      rings->slab, program, kernel,
      (guint[]) { cpu ? 1 : (guint) n_items, cpu ? (guint) n_items : 1, rings->n_rows }, args,
      n_args, error);
}

guint
td_rings_lanes (const TdRings *rings)
{
  return td_device_info (rings->slab->device)->cpu_shaped ? TD_CPU_LANES : 1;
}

TdBuffer *
td_rings_buffer (const TdRings *rings, const char *key, guint64 row_floats, GError **error)
{
  return td_slab_buffer (rings->slab, key, rings->n_rows * row_floats * sizeof (float), error);
}

/* ── Tables ── */

TdBuffer *
td_rings_table (TdSlab *slab, const char *key, const double made_for[TD_RINGS_TABLE_KEYS],
                guint64 n_floats, TdRingsFill fill, GError **error)
{
  const gsize key_bytes = TD_RINGS_TABLE_KEYS * sizeof (double);
  const double *held = td_slab_kept (slab, key);

  if (held && memcmp (held, made_for, key_bytes) == 0)
    return td_slab_buffer (slab, key, n_floats * sizeof (float), error);
  g_autofree float *table = g_new (float, n_floats);
  fill (table, made_for);
  TdBuffer *buffer = td_slab_send (slab, key, table, n_floats * sizeof (float), error);
  if (buffer)
    td_slab_keep (slab, key, g_memdup2 (made_for, key_bytes), g_free);
  return buffer;
}

/* ── Profiles ── */

guint64
td_rings_profiles_bytes (const TdScanFacts *facts)
{
  guint64 pieces = (facts->n_views + TD_RINGS_LEAST_PIECE - 1) / TD_RINGS_LEAST_PIECE;
  guint64 profiles = 8; /* four of a caller's, two with their order to be sorted */
  return sizeof (float) * ((pieces + profiles) * facts->n_columns + 2);
}

/* scale × the sum of [row][piece][column]. */
static gboolean
rings_join_sums (const TdRings *rings, TdBuffer *sums, guint n_pieces, float scale,
                 TdBuffer *profile, GError **error)
{
  guint n_columns = rings->slab->n_columns;

  return td_rings_launch (rings, "rings-columns", "rings_join_sums", n_columns,
                          TD_ARGS (sums, profile, n_columns, n_pieces, scale), error);
}

gboolean
td_rings_roughness (const TdRings *rings, guint window, TdBuffer *profile, GError **error)
{
  const TdSlab *slab = rings->slab;
  guint length = td_device_info (slab->device)->cpu_shaped ? CPU_PIECE : TD_RINGS_LEAST_PIECE;
  guint n_pieces = (slab->n_views + length - 1) / length, lanes = td_rings_lanes (rings);
  TdBuffer *sums
      = td_rings_buffer (rings, "rings sums", (guint64) n_pieces * slab->n_columns, error);

  if (!sums)
    return FALSE;
  return td_rings_launch (rings, "rings-columns", "rings_sum_roughness",
                          (guint64) n_pieces * ((slab->n_columns + lanes - 1) / lanes),
                          TD_ARGS (slab->data, sums, rings->first_row, slab->n_views,
                                   slab->n_columns, window, length, n_pieces),
                          error)
         && rings_join_sums (rings, sums, n_pieces, 1, profile, error);
}

gboolean
td_rings_detect (const TdRings *rings, TdBuffer *a, TdBuffer *b, TdRingsTest test, TdBuffer *ratio,
                 TdBuffer *marks, GError **error)
{
  guint n_columns = rings->slab->n_columns;
  guint64 bytes = (guint64) rings->n_rows * n_columns * sizeof (float);
  TdBuffer *thresholds = td_rings_buffer (rings, "rings thresholds", 2, error);
  TdRingsLines profile;

  for (guint i = 0; i < 2; i++) {
    const char *const keys[] = { "rings profile 0", "rings profile 1" };
    const char *const orders[] = { "rings profile order 0", "rings profile order 1" };
    profile.lines[i] = td_rings_buffer (rings, keys[i], n_columns, error);
    profile.order[i]
        = profile.lines[i] ? td_rings_buffer (rings, orders[i], n_columns, error) : NULL;
    if (!thresholds || !profile.order[i])
      return FALSE;
  }
  return td_rings_launch (rings, "rings-columns", "rings_ratio", n_columns,
                          TD_ARGS (a, b, ratio, n_columns, (float) test.most), error)
         && td_copy (rings->slab->queue, profile.lines[0], 0, ratio, 0, bytes, error)
         && td_rings_sort (rings, &profile, n_columns, 1, error)
         && td_rings_launch (rings, "rings-columns", "rings_thresholds", 1,
                             TD_ARGS (profile.lines[0], thresholds, n_columns, (float) test.snr),
                             error)
         && td_rings_launch (rings, "rings-columns", "rings_mark", n_columns,
                             TD_ARGS (ratio, thresholds, marks, n_columns, test.margin), error);
}

gboolean
td_rings_apply (const TdRings *rings, const char *kernel, TdBuffer *columns, GError **error)
{
  const TdSlab *slab = rings->slab;

  return td_rings_launch (rings, "rings-columns", kernel,
                          (guint64) td_slab_strips (slab) * slab->n_views,
                          TD_ARGS (slab->data, columns, rings->first_row, slab->n_views,
                                   slab->n_columns, td_slab_strip (slab)),
                          error);
}

/* ── Lines (kernels/rings-sort.cl) ── */

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

  return td_rings_launch (
      rings, "rings-sort", "rings_to_lines", td_rings_tiles (rings),
      TD_ARGS (slab->data, to, rings->first_row, slab->n_views, slab->n_columns), error);
}

gboolean
td_rings_from_lines (const TdRings *rings, TdBuffer *from, TdBuffer *marks, GError **error)
{
  const TdSlab *slab = rings->slab;

  return td_rings_launch (rings, "rings-sort", "rings_from_lines", td_rings_tiles (rings),
                          TD_ARGS (from, marks ? marks : from, slab->data, rings->first_row,
                                   slab->n_views, slab->n_columns, marks != NULL),
                          error);
}

/* ── Sorting ── */

static void
rings_lines_swap (TdRingsLines *lines)
{
  TdRingsLines turned
      = { { lines->lines[1], lines->lines[0] }, { lines->order[1], lines->order[0] } };
  *lines = turned;
}

/* @sizes: the length of lines, and how many there are. @grain: lines that an item sorts, or the
   length of the runs that it merges. */
static gboolean
rings_lines_launch (const TdRings *rings, const char *kernel, guint64 n_items,
                    const TdRingsLines *lines, const guint sizes[2], guint grain, GError **error)
{
  return td_rings_launch (rings, "rings-sort", kernel, n_items,
                          TD_ARGS (lines->lines[0], lines->order[0], lines->lines[1],
                                   lines->order[1], sizes[0], sizes[1], grain),
                          error);
}

gboolean
td_rings_sort (const TdRings *rings, TdRingsLines *lines, guint n, guint n_lines, GError **error)
{
  const guint sizes[2] = { n, n_lines }, block = 16;

  if (td_device_info (rings->slab->device)->cpu_shaped)
    return rings_lines_launch (rings, "rings_sort_lines", (n_lines + block - 1) / block, lines,
                               sizes, block, error);

  if (!td_rings_launch (rings, "rings-sort", "rings_sort_runs", (guint64) n * n_lines,
                        TD_ARGS (lines->lines[0], lines->lines[1], lines->order[1], n, n_lines),
                        error))
    return FALSE;
  rings_lines_swap (lines);
  for (guint64 run = RUN; run < n; run *= 2) {
    if (!rings_lines_launch (rings, "rings_merge_runs", (guint64) n * n_lines, lines, sizes,
                             (guint) run, error))
      return FALSE;
    rings_lines_swap (lines);
  }
  return TRUE;
}

gboolean
td_rings_resort (const TdRings *rings, TdRingsLines *lines, TdBuffer *marks, GError **error)
{
  guint n = rings->slab->n_views, n_lines = rings->slab->n_columns;

  return td_rings_launch (rings, "rings-sort", "rings_resort_lines", n_lines,
                          TD_ARGS (lines->lines[0], lines->order[0], lines->lines[1],
                                   lines->order[1], marks, n, n_lines),
                          error);
}

gboolean
td_rings_unsort (const TdRings *rings, TdBuffer *from, TdBuffer *order, TdBuffer *to,
                 GError **error)
{
  guint n = rings->slab->n_views, n_lines = rings->slab->n_columns;
  guint strip = td_device_info (rings->slab->device)->cpu_shaped ? n : 1;

  return td_rings_launch (rings, "rings-sort", "rings_unsort", (guint64) n_lines * (n / strip),
                          TD_ARGS (from, order, to, n, n_lines, strip), error);
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

  return td_rings_launch (rings, "rings-sort", "rings_median", (guint64) blocks * segments,
                          TD_ARGS (from, to, n, n_lines, odd, segment), error);
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
  return td_rings_launch (rings, "rings-columns", "rings_sum_lines", (guint64) n_pieces * n_lines,
                          TD_ARGS (lines, sums, n, n_lines, first, end, length, n_pieces), error)
         && rings_join_sums (rings, sums, n_pieces, 1.0f / (float) (end - first), profile, error);
}

/* ── Modes (kernels/rings-columns.cl) ── */

gboolean
td_rings_project (const TdRings *rings, TdBuffer *table, guint n_modes, TdBuffer *modes,
                  GError **error)
{
  const TdSlab *slab = rings->slab;
  guint lanes = td_rings_lanes (rings), groups = (n_modes + MODES - 1) / MODES;
  guint64 blocks = (slab->n_columns + lanes - 1) / lanes;

  return td_rings_launch (
      rings, "rings-columns", "rings_project", blocks * groups,
      TD_ARGS (slab->data, table, modes, rings->first_row, slab->n_views, slab->n_columns, n_modes),
      error);
}

gboolean
td_rings_add_modes (const TdRings *rings, TdBuffer *table, guint n_modes, TdBuffer *modes,
                    GError **error)
{
  const TdSlab *slab = rings->slab;
  guint lanes = td_rings_lanes (rings);
  guint views = td_device_info (slab->device)->cpu_shaped ? 64 : 8;
  guint64 blocks = (slab->n_columns + lanes - 1) / lanes;

  return td_rings_launch (rings, "rings-columns", "rings_add_modes",
                          blocks * ((slab->n_views + views - 1) / views),
                          TD_ARGS (slab->data, table, modes, rings->first_row, slab->n_views,
                                   slab->n_columns, n_modes, views),
                          error);
}

gboolean
td_rings_smooth (const TdRings *rings, TdBuffer *modes, guint n_modes, TdRingsSmoothing smoothing,
                 TdBuffer *to, GError **error)
{
  guint n_columns = rings->slab->n_columns, lanes = td_rings_lanes (rings);
  guint64 blocks = (n_columns + lanes - 1) / lanes;

  return td_rings_launch (rings, "rings-columns", "rings_smooth_profile", blocks * n_modes,
                          TD_ARGS (modes, smoothing.weights, to, n_columns, n_modes,
                                   smoothing.radius, smoothing.subtract),
                          error);
}

/* ── Low frequencies ── */

/* Frequencies 0 … this one; two modes each, but one for the mean. */
static guint
rings_modes_highest (guint n, guint pad, double sigma)
{
  double most = sigma * sqrt (-2 * log (LEAST_WEIGHT));
  return (guint) MIN (most, (n + 2 * pad) / 2);
}

guint
td_rings_low_modes (guint n, guint pad, double sigma)
{
  return 2 * rings_modes_highest (n, pad, sigma) + 1;
}

static double
rings_modes_mode_at (guint mode, gint64 place, guint length)
{
  guint k = (mode + 1) / 2;
  double phase = 2 * G_PI * (double) (k * (guint64) place % length) / length;
  return mode % 2 == 1 || mode == 0 ? cos (phase) : sin (phase);
}

/* Which view stands at place @u of the padded line: whole-sample mirrors, c b | a b c. */
static guint
padded_view (guint u, guint n, guint pad)
{
  if (u < pad)
    return pad - u;
  return u < pad + n ? u - pad : n - 2 - (u - pad - n);
}

void
td_rings_low_analysis (guint n, guint pad, double sigma, double *table)
{
  guint n_modes = td_rings_low_modes (n, pad, sigma), length = n + 2 * pad;

  memset (table, 0, (gsize) n_modes * n * sizeof *table);
  for (guint mode = 0; mode < n_modes; mode++) {
    guint k = (mode + 1) / 2;
    double weight = exp (-0.5 * pow (k / sigma, 2)) * (k == 0 || 2 * k == length ? 1 : 2) / length;
    for (guint u = 0; u < length; u++)
      table[(gsize) mode * n + padded_view (u, n, pad)]
          += weight * rings_modes_mode_at (mode, u, length);
  }
}

void
td_rings_low_synthesis (guint n, guint pad, double sigma, double *table)
{
  guint n_modes = td_rings_low_modes (n, pad, sigma);

  for (guint mode = 0; mode < n_modes; mode++)
    for (guint view = 0; view < n; view++)
      table[(gsize) mode * n + view] = rings_modes_mode_at (mode, view + pad, n + 2 * pad);
}
