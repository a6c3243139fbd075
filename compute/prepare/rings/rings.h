/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/prepare/slab.h"

/**
 * What the steps against stripes share (kernels/rings-*.cl). A stripe stands along the angle, so
 * they work on columns of sinograms. Columns are lines, [row][column][view], or sums of modes,
 * functions of the view. A profile is [row][column].
 *
 * Rows are independent; workspaces hold a chunk of them. All buffers belong to the preparation and
 * are shared by these steps. Called on the thread that runs the preparation.
 */
struct TdRings {
  TdSlab *slab;
  guint first_row, n_rows; /* of the slab */
};

/* ── Chunks ── */

/* Chunk after chunk of the slab's rows through the step's run_chunk, of as many rows as fit into
   the workspace of these steps. */
gboolean td_rings_run (const TdStep *step, TdSlab *slab, GError **error);
/* The most that this takes. */
guint64 td_rings_workspace_bytes (const TdStep *step, const TdScanFacts *facts, guint n_rows);
/* The same with @most rows at a time. */
gboolean td_rings_run_rows (const TdStep *step, TdSlab *slab, guint most, GError **error);

/* One item for each of @n_items in each row of the chunk. */
gboolean td_rings_launch (const TdRings *rings, const char *program, const char *kernel,
                          guint64 n_items, const TdArg *args, guint n_args, GError **error);
/* Columns that an item takes beside each other. */
guint td_rings_lanes (const TdRings *rings);
/* float [n_rows][row_floats], kept under @key. */
TdBuffer *td_rings_buffer (const TdRings *rings, const char *key, guint64 row_floats,
                           GError **error);

/* ── Lines ── */

/* lines[0] is what is to be sorted, and afterwards what was sorted. order[0][line][i] is then the
   view of the i-th smallest value. lines[1] is free in between. Both orders are NULL where no
   sorting was asked for. */
typedef struct {
  TdBuffer *lines[2], *order[2];
} TdRingsLines;

guint64 td_rings_lines_bytes (const TdScanFacts *facts, gboolean sorting); /* a row's share */
gboolean td_rings_lines (const TdRings *rings, gboolean sorting, TdRingsLines *lines,
                         GError **error);
/* Items of a kernel that turns columns to lines or back. */
guint64 td_rings_tiles (const TdRings *rings);
/* The slab's columns to @to; the other way for all columns, or those with marks (may be NULL). */
gboolean td_rings_to_lines (const TdRings *rings, TdBuffer *to, GError **error);
gboolean td_rings_from_lines (const TdRings *rings, TdBuffer *from, TdBuffer *marks,
                              GError **error);
/* Each of @n_lines lines of @n samples; stable. */
gboolean td_rings_sort (const TdRings *rings, TdRingsLines *lines, guint n, guint n_lines,
                        GError **error);
/* For CPUs. The sorted lines of columns with @marks take the values of lines[1], rank by rank, and
   are sorted again. The result is the same as if the columns themselves had taken the values. */
gboolean td_rings_resort (const TdRings *rings, TdRingsLines *lines, TdBuffer *marks,
                          GError **error);
/* @to[line][order[line][i]] = @from[line][i]. */
gboolean td_rings_unsort (const TdRings *rings, TdBuffer *from, TdBuffer *order, TdBuffer *to,
                          GError **error);
/* Median over @size lines around each; even sizes take one more. */
gboolean td_rings_median (const TdRings *rings, TdBuffer *from, TdBuffer *to, guint n,
                          guint n_lines, guint size, GError **error);
/* @profile: mean of each line's places [first, end). */
gboolean td_rings_line_means (const TdRings *rings, TdBuffer *lines, guint first, guint end,
                              TdBuffer *profile, GError **error);

/* ── Profiles ── */

/* How rough each column is along the angle: the sum of |p - its mean over @window views around|. */
gboolean td_rings_roughness (const TdRings *rings, guint window, TdBuffer *profile, GError **error);
/* A row's share of what td_rings_detect(), td_rings_line_means() and their callers keep. */
guint64 td_rings_profiles_bytes (const TdScanFacts *facts);
/* Views that one item adds up, at least: sums are [row][piece][column]. */
#define TD_RINGS_LEAST_PIECE 32
/* Which columns stand out from the noise: Vo et al. 2018, algorithm 4. */
typedef struct {
  double most; /* ratios beyond it, or below 1 / most, count as 1; 0: none do */
  double snr;
  guint margin; /* columns at either end that are never marked */
} TdRingsTest;
/* Marks the columns where a / b stands out, and their neighbours. @ratio and @marks are float
   profiles. */
gboolean td_rings_detect (const TdRings *rings, TdBuffer *a, TdBuffer *b, TdRingsTest test,
                          TdBuffer *ratio, TdBuffer *marks, GError **error);

/* Runs a kernel on all samples with a number for each column: "rings_divide_columns" by factors, or
   "rings_bridge". Columns with marks then take the straight line between the nearest ones without;
   the first and the last column have none. */
gboolean td_rings_apply (const TdRings *rings, const char *kernel, TdBuffer *columns,
                         GError **error);

/* ── Modes ── */

/* Floats that depend on @made_for only, on the device; filled again when that changes. */
#define TD_RINGS_TABLE_KEYS 4
typedef void (*TdRingsFill) (float *table, const double *made_for);
TdBuffer *td_rings_table (TdSlab *slab, const char *key, const double made_for[TD_RINGS_TABLE_KEYS],
                          guint64 n_floats, TdRingsFill fill, GError **error);

/* @modes[row][mode][column] = sum over views of @table[mode][view] data[view][column], of the
   chunk's rows. */
gboolean td_rings_project (const TdRings *rings, TdBuffer *table, guint n_modes, TdBuffer *modes,
                           GError **error);
/* data += sum over modes of @table[mode][view] @modes[mode][column]. */
gboolean td_rings_add_modes (const TdRings *rings, TdBuffer *table, guint n_modes, TdBuffer *modes,
                             GError **error);
/* weights[0 … radius] on either side of a column; @subtract: less the column itself. */
typedef struct {
  TdBuffer *weights;
  guint radius;
  gboolean subtract;
} TdRingsSmoothing;
/* @to: each profile of @modes, convolved. */
gboolean td_rings_smooth (const TdRings *rings, TdBuffer *modes, guint n_modes,
                          TdRingsSmoothing smoothing, TdBuffer *to, GError **error);

/* ── Low frequencies along the angle ── */

/**
 * exp (-k^2 / 2 sigma^2) times the DFT of a line of @n views, as two tables for td_rings_project()
 * and td_rings_add_modes(). The line is mirrored about its first and last view by @pad views at
 * either end. Few frequencies pass. So sums over them cost less than an FFT, fit every length
 * exactly, and need no padding to sizes that an FFT likes.
 */
guint td_rings_low_modes (guint n, guint pad, double sigma);
/* [mode][view] */
void td_rings_low_analysis (guint n, guint pad, double sigma, double *table);
void td_rings_low_synthesis (guint n, guint pad, double sigma, double *table);
