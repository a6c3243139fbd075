/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/params.h"
#include "rings.h"
#include "compute/prepare/steps.h"

/**
 * Vo et al., Opt. Express 26 (2018): algorithms 6, 5 and 3, and all of them after one another.
 */
enum { SIZE, SNR, DROP, NORMALISE };

/* ── Profiles that are searched for columns that stand out ── */

typedef struct {
  TdBuffer *own, *around, *ratio, *marks;
} Search;

static gboolean
search_init (const TdRings *rings, Search *search, GError **error)
{
  guint n = rings->slab->n_columns;

  return (search->own = td_rings_buffer (rings, "rings own means", n, error))
         && (search->around = td_rings_buffer (rings, "rings means around", n, error))
         && (search->ratio = td_rings_buffer (rings, "rings ratio", n, error))
         && (search->marks = td_rings_buffer (rings, "rings marks", n, error));
}

/* ── Dead and fluctuating pixels: algorithm 6 ── */

/* Pixels that do not answer vary less along the angle than their neighbours, fluctuating ones more.
   Columns whose roughness stands out from the median of those around (algorithm 4) are replaced by
   the straight line between the sound ones beside them. */

static const TdStepParameter dead_parameters[] = {
  [SIZE] = { "size", N_ ("Width of the median (columns)"), N_ ("A few times the widest stripe."),
             51, 3, TD_RINGS_MAX_MEDIAN, 0, NULL, TRUE },
  [SNR] = { "snr", N_ ("Detection threshold"),
            N_ ("How far a column's roughness stands out; lower finds more and harms more."), 3, 1,
            100, 1, NULL },
};

#define WINDOW 10 /* views that a column is compared with the mean of, as published */
#define MARGIN 2  /* columns at the ends that have no neighbour to take from */

static guint64
dead_row_bytes (const TdStep *step, const TdScanFacts *facts)
{
  return td_rings_profiles_bytes (facts);
}

static gboolean
dead_run_chunk (const TdStep *step, const TdRings *rings, GError **error)
{
  Search s;

  return search_init (rings, &s, error) && td_rings_roughness (rings, WINDOW, s.own, error)
         && td_rings_median (rings, s.own, s.around, 1, rings->slab->n_columns,
                             (guint) step->values[SIZE], error)
         && td_rings_detect (rings, s.own, s.around, (TdRingsTest) { 0, step->values[SNR], MARGIN },
                             s.ratio, s.marks, error)
         && td_rings_apply (rings, "rings_bridge", s.marks, error);
}

const TdStepKind td_step_rings_dead = {
  .name = "rings-dead",
  .title = N_ ("Rings: dead and fluctuating pixels"),
  .summary
  = N_ ("Finds columns that vary too little or too much along the angle and bridges them."),
  .stage = TD_STEP_ABSORPTION,
  TD_STEP_PARAMETERS (dead_parameters),
  .workspace_bytes = td_rings_workspace_bytes,
  .run = td_rings_run,
  .row_bytes = dead_row_bytes,
  .run_chunk = dead_run_chunk,
};

/* ── Wide stripes: algorithm 5 ── */

/* The mean of a column over the middle of its sorted values is compared with the median of the
   columns around (algorithm 4). A column that differs is a stripe and takes its neighbours' sorted
   values in its own order. One thing is not as published: means that differ by more than MOST_RATIO
   are not compared. */

static const char *const switch_names[] = { N_ ("no"), N_ ("yes"), NULL };
static const TdStepParameter large_parameters[] = {
  [SIZE]
  = { "size", N_ ("Width of the median (columns)"),
      N_ ("Two to three times the widest stripe, which is then seen against its surroundings."), 51,
      3, TD_RINGS_MAX_MEDIAN, 0, NULL, TRUE },
  [SNR]
  = { "snr", N_ ("Detection threshold"),
      N_ ("How far a stripe stands out from the noise; lower finds fainter ones and harms more."),
      3, 1, 100, 1, NULL },
  [DROP]
  = { "drop", N_ ("Share of values left out"),
      N_ ("The largest and smallest values of a column, together, that its mean passes over."), 0.1,
      0, 0.8, 2, NULL },
  [NORMALISE]
  = { "normalise", N_ ("Divide all columns"),
      N_ ("Also divides every column by its factor, as published; leave it off where the "
          "object ends within the detector."),
      0, 0, 1, 0, switch_names },
};

/* No gain is so wrong: there the object ends, and means are compared with next to nothing. */
#define MOST_RATIO 1.5

static guint64
large_row_bytes (const TdStep *step, const TdScanFacts *facts)
{
  return td_rings_lines_bytes (facts, TRUE) + td_rings_profiles_bytes (facts);
}

/* What the step finds, before it mends. lines[0] has the columns sorted, and lines[1] as they
   should be. Marked are those that are too far from that. */
static gboolean
find_large (const TdStep *step, const TdRings *rings, TdRingsLines *lines, TdBuffer **marks,
            GError **error)
{
  guint n_views = rings->slab->n_views, n_columns = rings->slab->n_columns;
  guint first = (guint) (0.5 * step->values[DROP] * n_views), end = n_views - first;
  Search s;

  if (!search_init (rings, &s, error) || !td_rings_lines (rings, TRUE, lines, error))
    return FALSE;
  *marks = s.marks;
  return td_rings_to_lines (rings, lines->lines[0], error)
         && td_rings_sort (rings, lines, n_views, n_columns, error)
         && td_rings_median (rings, lines->lines[0], lines->lines[1], n_views, n_columns,
                             (guint) step->values[SIZE], error)
         && td_rings_line_means (rings, lines->lines[0], first, end, s.own, error)
         && td_rings_line_means (rings, lines->lines[1], first, end, s.around, error)
         && td_rings_detect (rings, s.own, s.around,
                             (TdRingsTest) { MOST_RATIO, step->values[SNR], 0 }, s.ratio, s.marks,
                             error)
         && (step->values[NORMALISE] == 0
             || td_rings_apply (rings, "rings_divide_columns", s.ratio, error));
}

static gboolean
large_run_chunk (const TdStep *step, const TdRings *rings, GError **error)
{
  TdRingsLines lines;
  TdBuffer *marks;

  return find_large (step, rings, &lines, &marks, error)
         && td_rings_unsort (rings, lines.lines[1], lines.order[0], lines.lines[0], error)
         && td_rings_from_lines (rings, lines.lines[0], marks, error);
}

const TdStepKind td_step_rings_large = {
  .name = "rings-large",
  .title = N_ ("Rings: large stripes"),
  .summary = N_ ("Finds wide and strong stripes and gives them their neighbours' values."),
  .stage = TD_STEP_ABSORPTION,
  TD_STEP_PARAMETERS (large_parameters),
  .workspace_bytes = td_rings_workspace_bytes,
  .run = td_rings_run,
  .row_bytes = large_row_bytes,
  .run_chunk = large_run_chunk,
};

/* ── All other stripes: algorithm 3 ── */

/* Each column is sorted along the angle, a median smooths the sorted sinogram across columns, and
   every value returns to its view. This removes what a pixel adds to all samples of its column.
   What the object does in single views takes no part: once sorted, it stands at the same place in
   neighbouring columns. */

static const TdStepParameter sorting_parameters[] = {
  [SIZE] = { "size", N_ ("Width of the median (columns)"),
             N_ ("At least twice the widest stripe; wider smooths what is round and off-axis."), 5,
             3, TD_RINGS_MAX_MEDIAN, 0, NULL, TRUE },
};

static guint64
sorting_row_bytes (const TdStep *step, const TdScanFacts *facts)
{
  return td_rings_lines_bytes (facts, TRUE);
}

static gboolean
smooth_sorted (const TdRings *rings, TdRingsLines *lines, double size, GError **error)
{
  return td_rings_median (rings, lines->lines[0], lines->lines[1], rings->slab->n_views,
                          rings->slab->n_columns, (guint) size, error)
         && td_rings_unsort (rings, lines->lines[1], lines->order[0], lines->lines[0], error)
         && td_rings_from_lines (rings, lines->lines[0], NULL, error);
}

static gboolean
sorting_run_chunk (const TdStep *step, const TdRings *rings, GError **error)
{
  TdRingsLines lines;

  return td_rings_lines (rings, TRUE, &lines, error)
         && td_rings_to_lines (rings, lines.lines[0], error)
         && td_rings_sort (rings, &lines, rings->slab->n_views, rings->slab->n_columns, error)
         && smooth_sorted (rings, &lines, step->values[SIZE], error);
}

const TdStepKind td_step_rings_sorting = {
  .name = "rings-sorting",
  .title = N_ ("Rings: sorting"),
  .summary = N_ ("Removes stripes of full length by a median across the sorted columns."),
  .stage = TD_STEP_ABSORPTION,
  TD_STEP_PARAMETERS (sorting_parameters),
  .workspace_bytes = td_rings_workspace_bytes,
  .run = td_rings_run,
  .row_bytes = sorting_row_bytes,
  .run_chunk = sorting_run_chunk,
};

/* ── All three after one another, as the authors do by default ── */

enum { ALL_SIZE, ALL_LARGE, ALL_SNR };

static const TdStepParameter all_parameters[] = {
  [ALL_SIZE] = { "size", N_ ("Width of thin stripes' median (columns)"),
                 N_ ("At least twice the width of the usual stripes; wider smooths what is round."),
                 5, 3, TD_RINGS_MAX_MEDIAN, 0, NULL, TRUE },
  [ALL_LARGE]
  = { "large", N_ ("Width of wide stripes' median (columns)"),
      N_ ("Two to three times the widest stripe."), 51, 3, TD_RINGS_MAX_MEDIAN, 0, NULL, TRUE },
  [ALL_SNR] = { "snr", N_ ("Detection threshold"),
                N_ ("Of dead pixels and wide stripes; lower finds fainter ones and harms more."), 3,
                1, 100, 1, NULL },
};

typedef struct {
  TdStep dead, large, sorting;
} Parts;

static Parts
rings_vo_parts_of (const TdStep *step)
{
  Parts parts;

  td_step_init (&parts.dead, &td_step_rings_dead);
  td_step_init (&parts.large, &td_step_rings_large);
  td_step_init (&parts.sorting, &td_step_rings_sorting);
  parts.dead.values[SIZE] = parts.large.values[SIZE] = step->values[ALL_LARGE];
  parts.dead.values[SNR] = parts.large.values[SNR] = step->values[ALL_SNR];
  parts.sorting.values[SIZE] = step->values[ALL_SIZE];
  return parts;
}

static guint64
all_workspace_bytes (const TdStep *step, const TdScanFacts *facts, guint n_rows)
{
  const Parts parts = rings_vo_parts_of (step);

  /* The last two share all they have; the first takes more rows at a time. */
  return td_rings_workspace_bytes (&parts.dead, facts, n_rows)
         + MAX (td_rings_workspace_bytes (&parts.large, facts, n_rows),
                td_rings_workspace_bytes (&parts.sorting, facts, n_rows));
}

/* Wide stripes and all others, for which columns are turned and sorted once. What the second would
   sort is what the first has, but for the columns that the first changes. The same to the last
   bit. */
static gboolean
all_run_chunk (const TdStep *step, const TdRings *rings, GError **error)
{
  const Parts parts = rings_vo_parts_of (step);
  TdRingsLines lines;
  TdBuffer *marks;

  return find_large (&parts.large, rings, &lines, &marks, error)
         && td_rings_resort (rings, &lines, marks, error)
         && smooth_sorted (rings, &lines, parts.sorting.values[SIZE], error);
}

static gboolean
all_run (const TdStep *step, TdSlab *slab, GError **error)
{
  const Parts parts = rings_vo_parts_of (step);

  if (!td_rings_run (&parts.dead, slab, error))
    return FALSE;
  if (td_device_info (slab->device)->cpu_shaped)
    return td_rings_run (step, slab, error);
  return td_rings_run (&parts.large, slab, error) && td_rings_run (&parts.sorting, slab, error);
}

const TdStepKind td_step_rings_all = {
  .name = "rings-all",
  .title = N_ ("Rings: large, dead and sorting"),
  .summary
  = N_ ("Dead pixels, then wide stripes, then all others; for strong rings of several kinds."),
  .stage = TD_STEP_ABSORPTION,
  TD_STEP_PARAMETERS (all_parameters),
  .workspace_bytes = all_workspace_bytes,
  .run = all_run,
  .row_bytes = large_row_bytes,
  .run_chunk = all_run_chunk,
};
