/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "axis.h"

#include <math.h>

#include "axis-consensus.h"
#include "axis-methods.h"
#include "axis-rows.h"
#include "axis-tilt.h"
#include "compute/device/host.h"

/* The axis is searched so far from the detector's middle, as a part of its width. */
#define REACH 0.33
/* Around an overlap beyond that range the other methods search so far, as a part of the width. */
#define WIDE_REACH 0.04
/* Trial slices are made for so many columns on either side of what the quick methods found. */
#define CLOSE_PX 5.0
/* Whole projections that differ from the rows by more columns are not believed. */
#define MOST_APART_PX 0.5
/* A slope below so many standard errors, which allow for outliers, is none. */
#define SIGNIFICANT 1
/* For a method that found the centre only in a narrow range. Its confidence is multiplied, its
   spread is stated, and it must come so near. */
#define SECOND_LOOK 0.6
#define SECOND_SPREAD_PX 0.25
#define SECOND_REACH_PX 1.0
#define LEAST_MET 0.35
/* Parts of the progress, in units of a quick method on one row. */
#define SLICES_SHARE 3.0
#define PROJECTIONS_SHARE 2.0
/* On wider detectors trial slices cost much: those of one row confirm what the other methods agree
   about. */
#define DEAR_COLUMNS 640

static const TdAxisMethodKind *const kinds[TD_AXIS_COUNT] = {
  [TD_AXIS_CORRELATION] = &td_axis_correlation, [TD_AXIS_FOURIER] = &td_axis_fourier,
  [TD_AXIS_SHARPNESS] = &td_axis_sharpness,     [TD_AXIS_OVERLAP] = &td_axis_overlap,
  [TD_AXIS_PROJECTIONS] = &td_axis_projections,
};

typedef struct {
  TdRowSource source; /* its scan has the frames beside the views behind them */
  guint n_extra;
  const TdAxisOptions *options;
  GCancellable *cancellable;
  TdAxisRows *rows;
  GPtrArray *sinograms; /* float *, of each row tried; NULL: nothing in it */
  guint methods;
  double first_px, last_px;
  gboolean stated;  /* the range was */
  GArray *trials;   /* TdAxisTrial */
  guint guided;     /* the first of them only show where to look */
  double done, all; /* of the work */
} Search;

/* ── Names ── */

const char *
td_axis_method_name (TdAxisMethod method)
{
  return kinds[method]->name;
}

const char *
td_axis_method_title (TdAxisMethod method)
{
  return kinds[method]->title;
}

gboolean
td_axis_method_parse (const char *name, TdAxisMethod *method)
{
  for (guint m = 0; m < TD_AXIS_COUNT; m++)
    if (g_strcmp0 (name, td_axis_method_name (m)) == 0) {
      *method = m;
      return TRUE;
    }
  return FALSE;
}

/* ── Results ── */

TdAxisResult *
td_axis_result_copy (const TdAxisResult *result)
{
  TdAxisResult *copy = g_memdup2 (result, sizeof *result);

  copy->trials = g_memdup2 (result->trials, result->n_trials * sizeof *result->trials);
  copy->advice = g_strdup (result->advice);
  return copy;
}

void
td_axis_result_free (TdAxisResult *result)
{
  if (!result)
    return;
  g_free (result->trials);
  g_free (result->advice);
  g_free (result);
}

/* Methods that compare opposite views also use the frames beside the views, which lie behind them.
 */
static guint
views_for (const Search *search, TdAxisMethod method)
{
  const guint n = td_scan_facts (search->source.scan)->n_views;

  return method == TD_AXIS_CORRELATION || method == TD_AXIS_PROJECTIONS ? n : n - search->n_extra;
}

/* ── What can be searched ── */

/* Bits of the methods to run; 0 with @error if none can be. Those that were asked for by name must
   suit. */
static guint
choose_methods (const Search *search, guint wanted, GError **error)
{
  const TdScanFacts *facts = td_scan_facts (search->source.scan);
  guint chosen = 0;
  const char *reason = N_ ("it has no views half a turn apart");

  for (guint m = 0; m < TD_AXIS_COUNT; m++) {
    if (wanted && !(wanted & (1u << m)))
      continue;
    const char *why
        = kinds[m]->unsuited (facts->angles_rad, views_for (search, m), facts->n_columns);
    if (!why)
      chosen |= 1u << m;
    else
      reason = why;
  }
  if (!chosen)
    td_set_error (
        error, wanted ? TD_ERROR_INVALID : TD_ERROR_UNSUPPORTED,
        "The rotation axis of “%s” cannot be searched for: %p; give its column ({centre:PX})",
        facts->title ? facts->title : facts->path, td_message_unpack (reason));
  return chosen;
}

static gboolean
axis_check (const TdScanFacts *facts, Search *search, GError **error)
{
  const TdAxisOptions *options = search->options;
  double middle = (facts->n_columns - 1) / 2.0, reach = REACH * facts->n_columns;

  if (facts->geometry.beam != TD_BEAM_PARALLEL)
    return td_set_error (
        error, TD_ERROR_UNSUPPORTED,
        "“%s” was taken with a fan or cone beam, whose axis is part of the geometry; this "
        "search is for parallel beams",
        facts->title ? facts->title : facts->path);
  search->first_px = middle - reach;
  search->last_px = middle + reach;
  if (options && (options->search_first_px != 0 || options->search_last_px != 0)) {
    search->first_px = options->search_first_px;
    search->last_px = options->search_last_px;
    search->stated = TRUE;
  }
  if (!(search->first_px < search->last_px) || search->first_px < -(double) facts->n_columns
      || search->last_px > 2.0 * facts->n_columns)
    return td_set_error (
        error, TD_ERROR_INVALID,
        "The range %g:%g to search for the axis is not a rising range of columns near the "
        "detector's, 0 to %u ({range})",
        search->first_px, search->last_px, facts->n_columns - 1);
  search->methods = choose_methods (search, options ? options->methods : 0, error);
  return search->methods != 0;
}

/* ── Trials ── */

static void
axis_tell (Search *search, const char *what)
{
  const TdAxisOptions *options = search->options;

  if (options && options->progress)
    options->progress (MIN (search->done / search->all, 1), what, options->progress_user);
}

static gboolean
estimate_row (Search *search, guint index, TdAxisMethod method, double first_px, double last_px,
              TdAxisEstimate *estimate, GError **error)
{
  const TdScanFacts *facts = td_scan_facts (search->source.scan);
  const TdAxisInput input = {
    .sinogram = search->sinograms->pdata[index],
    .n_views = views_for (search, method),
    .n_columns = facts->n_columns,
    .angles_rad = facts->angles_rad,
    .row = td_axis_rows_row (search->rows, index),
    .first_px = first_px,
    .last_px = last_px,
    .device = search->source.device,
    .cancellable = search->cancellable,
  };

  *estimate = (TdAxisEstimate) { NAN, 0, NAN, NULL };
  if (input.sinogram && !kinds[method]->find (&input, estimate, error))
    return FALSE;
  if (!(estimate->centre_px >= first_px && estimate->centre_px <= last_px)) {
    estimate->centre_px = NAN;
    estimate->confidence = 0;
  }
  return TRUE;
}

static void
axis_announce (Search *search, guint index, TdAxisMethod method)
{
  g_autofree char *what = g_strdup_printf ("row %u: %s", td_axis_rows_row (search->rows, index),
                                           td_axis_method_name (method));

  axis_tell (search, what);
  search->done += method == TD_AXIS_SHARPNESS ? SLICES_SHARE : 1;
}

static void
add_trial (Search *search, guint index, TdAxisMethod method, const TdAxisEstimate *estimate)
{
  const TdAxisTrial trial = { .method = method,
                              .row = td_axis_rows_row (search->rows, index),
                              .centre_px = estimate->centre_px,
                              .confidence = estimate->confidence,
                              .spread_px = estimate->spread_px };

  g_array_append_val (search->trials, trial);
}

static gboolean
try_method (Search *search, guint index, TdAxisMethod method, double first_px, double last_px,
            GError **error)
{
  TdAxisEstimate estimate;

  axis_announce (search, index, method);
  if (!estimate_row (search, index, method, first_px, last_px, &estimate, error))
    return FALSE;
  add_trial (search, index, method, &estimate);
  return TRUE;
}

/* A row that is searched beside the others. */
typedef struct {
  Search *search;
  const TdAxisLine *line; /* what the methods before said */
  guint index;
  TdAxisEstimate estimate;
  GError *error;
} RowTrial;

/* Adds what the rows came to, or gives the first error. */
static gboolean
axis_take_rows (Search *search, TdAxisMethod method, RowTrial *rows, GError **error)
{
  const guint n = td_axis_rows_count (search->rows);
  gboolean ok = TRUE;

  for (guint i = 0; i < n; i++)
    if (rows[i].error) {
      g_propagate_error (ok ? error : NULL, rows[i].error);
      ok = FALSE;
    }
  for (guint i = 0; i < n && ok; i++)
    add_trial (search, i, method, &rows[i].estimate);
  return ok;
}

static void
correlate_row (guint index, gpointer user)
{
  RowTrial *row = (RowTrial *) user + index;

  estimate_row (row->search, index, TD_AXIS_CORRELATION, row->search->first_px,
                row->search->last_px, &row->estimate, &row->error);
}

/* The same of all rows at once. */
static void
announce_all (Search *search, TdAxisMethod method)
{
  const guint n = td_axis_rows_count (search->rows);
  g_autofree char *what
      = g_strdup_printf (n == 1 ? "%u row: %s" : "%u rows: %s", n, td_axis_method_name (method));

  axis_tell (search, what);
  search->done += n;
}

/* Rows beside each other: each is mostly one thread's work. */
static gboolean
try_correlations (Search *search, GError **error)
{
  const guint n = td_axis_rows_count (search->rows);
  g_autofree RowTrial *rows = g_new0 (RowTrial, n);

  for (guint i = 0; i < n; i++)
    rows[i].search = search;
  announce_all (search, TD_AXIS_CORRELATION);
  td_parallel_for (n, correlate_row, rows);
  return axis_take_rows (search, TD_AXIS_CORRELATION, rows, error);
}

static gboolean
axis_read_rows (Search *search, GError **error)
{
  const TdScanFacts *facts = td_scan_facts (search->source.scan);

  for (guint i = 0; i < td_axis_rows_count (search->rows); i++) {
    g_autofree char *what = g_strdup_printf ("row %u: reading", td_axis_rows_row (search->rows, i));
    axis_tell (search, what);
    g_autofree float *sinogram = td_axis_rows_read (search->rows, i, search->cancellable, error);
    if (!sinogram)
      return FALSE;
    td_axis_destripe (sinogram, facts->n_views, facts->n_columns);
    const gboolean blank = td_axis_blank (sinogram, facts->n_views, facts->n_columns);
    g_ptr_array_add (search->sinograms, blank ? NULL : g_steal_pointer (&sinogram));
    search->done += 1;
  }
  td_axis_rows_end (search->rows);
  return TRUE;
}

static TdAxisLine
best_line (const Search *search)
{
  return td_axis_line_mode ((const TdAxisTrial *) search->trials->data, search->trials->len,
                            (td_scan_facts (search->source.scan)->n_rows - 1) / 2.0);
}

/* The overlap of a whole turn may be anywhere. If it lies outside the range, the others search
   there. */
static gboolean
try_overlap (Search *search, GError **error)
{
  const TdScanFacts *facts = td_scan_facts (search->source.scan);
  double last = facts->n_columns - 1.0, reach = MAX (WIDE_REACH * facts->n_columns, 2 * CLOSE_PX);

  for (guint i = 0; i < td_axis_rows_count (search->rows); i++)
    if (!try_method (search, i, TD_AXIS_OVERLAP, search->stated ? search->first_px : 0,
                     search->stated ? search->last_px : last, error))
      return FALSE;
  TdAxisLine line = best_line (search);
  if (isfinite (line.centre_px)
      && (line.centre_px < search->first_px || line.centre_px > search->last_px)) {
    search->first_px = MAX (line.centre_px - reach, 0);
    search->last_px = MIN (line.centre_px + reach, last);
  }
  return TRUE;
}

/* Everywhere; and, if the result is far from what the others found, once more near that. A seam
   between other columns may look better in binned data, but not in full resolution. */
static gboolean
estimate_seam (Search *search, const TdAxisLine *line, guint index, TdAxisEstimate *estimate,
               GError **error)
{
  double at = td_axis_line_at (line, td_axis_rows_row (search->rows, index));
  TdAxisEstimate near;

  if (!estimate_row (search, index, TD_AXIS_FOURIER, search->first_px, search->last_px, estimate,
                     error))
    return FALSE;
  /* It did not know what the others found: to agree with them is no chance. */
  if (fabs (estimate->centre_px - at) <= SECOND_REACH_PX)
    estimate->confidence = MAX (estimate->confidence, LEAST_MET);
  if (isfinite (at) && !(fabs (estimate->centre_px - at) <= CLOSE_PX)) {
    if (!estimate_row (search, index, TD_AXIS_FOURIER, at - CLOSE_PX, at + CLOSE_PX, &near, error))
      return FALSE;
    if (fabs (near.centre_px - at) < SECOND_REACH_PX) {
      *estimate = near;
      estimate->confidence *= SECOND_LOOK;
      estimate->spread_px = SECOND_SPREAD_PX;
    }
  }
  return TRUE;
}

static gpointer
axis_seam_thread (gpointer data)
{
  RowTrial *seam = data;

  td_host_enter_background ();
  estimate_seam (seam->search, seam->line, seam->index, &seam->estimate, &seam->error);
  return NULL;
}

/* Each row's search has parts for one thread and parts for all. On many threads rows are beside
   each other, so that the parts for one overlap; on few they only take memory. */
static gboolean
try_seams (Search *search, GError **error)
{
  const guint n = td_axis_rows_count (search->rows);
  const gboolean beside = n <= td_host_threads ();
  const TdAxisLine line = best_line (search);
  g_autofree RowTrial *seams = g_new0 (RowTrial, n);
  g_autofree GThread **threads = g_new0 (GThread *, n);
  gboolean ok = TRUE;

  if (beside)
    announce_all (search, TD_AXIS_FOURIER);
  for (guint i = 0; i < n && ok; i++) {
    seams[i] = (RowTrial) { .search = search, .line = &line, .index = i };
    if (!beside)
      axis_announce (search, i, TD_AXIS_FOURIER);
    threads[i] = beside ? g_thread_try_new ("axis-row", axis_seam_thread, &seams[i], NULL) : NULL;
    if (!threads[i])
      ok = estimate_seam (search, &line, i, &seams[i].estimate, &seams[i].error);
  }
  for (guint i = 0; i < n; i++)
    if (threads[i])
      g_thread_join (threads[i]);
  return axis_take_rows (search, TD_AXIS_FOURIER, seams, error);
}

/* Trial slices near what the quick methods found; everywhere if they found nothing. */
static gboolean
try_slices (Search *search, guint index, GError **error)
{
  TdAxisLine line = best_line (search);
  double first = search->first_px, last = search->last_px;

  if (isfinite (line.centre_px)) {
    double at = td_axis_line_at (&line, td_axis_rows_row (search->rows, index));
    first = at - CLOSE_PX;
    last = at + CLOSE_PX;
  }
  return try_method (search, index, TD_AXIS_SHARPNESS, first, last, error);
}

/* The trials so far agree and are enough. */
static gboolean
axis_settled (const Search *search)
{
  TdAxisResult result
      = { .trials = (TdAxisTrial *) search->trials->data, .n_trials = search->trials->len };

  td_axis_agree (&result, (td_scan_facts (search->source.scan)->n_rows - 1) / 2.0, NAN, 0);
  g_free (result.advice);
  return result.agreed;
}

static gboolean
axis_asked (const Search *search, TdAxisMethod method)
{
  return (search->methods & (1u << method)) != 0;
}

static gboolean
axis_run (Search *search, GError **error)
{
  const guint n = td_axis_rows_count (search->rows);
  const gboolean alone
      = search->methods == 1u << TD_AXIS_PROJECTIONS; /* which must be told where */
  const gboolean correlated = alone || axis_asked (search, TD_AXIS_CORRELATION);

  search->all = (axis_asked (search, TD_AXIS_PROJECTIONS) ? PROJECTIONS_SHARE : 0)
                + n
                      * (1 + axis_asked (search, TD_AXIS_OVERLAP) + correlated
                         + axis_asked (search, TD_AXIS_FOURIER)
                         + (axis_asked (search, TD_AXIS_SHARPNESS) ? SLICES_SHARE : 0));
  if (!axis_read_rows (search, error)
      || (axis_asked (search, TD_AXIS_OVERLAP) && !try_overlap (search, error)))
    return FALSE;
  if (correlated && !try_correlations (search, error))
    return FALSE;
  search->guided = alone ? search->trials->len : 0;
  if (axis_asked (search, TD_AXIS_FOURIER) && !try_seams (search, error))
    return FALSE;
  const gboolean one
      = td_scan_facts (search->source.scan)->n_columns > DEAR_COLUMNS && axis_settled (search);
  for (guint i = 0; i < n && axis_asked (search, TD_AXIS_SHARPNESS); i++)
    if ((!one || i == n / 2) && !try_slices (search, i, error))
      return FALSE;
  return TRUE;
}

/* Whole projections, about the line that the rows say. They are one more trial, at the middle row,
   and know the slope best. @slope: NAN if they say none. */
static gboolean
try_projections (Search *search, double *slope, double *slope_error, GError **error)
{
  const guint middle = td_scan_facts (search->source.scan)->n_rows / 2;
  const TdAxisLine line = best_line (search);
  TdAxisTilt tilt;

  if (isnan (line.centre_px))
    return TRUE;
  axis_tell (search, "projections");
  if (!td_axis_tilt (&search->source, &line, &tilt, search->cancellable, error))
    return FALSE;
  if (!tilt.found)
    return TRUE;
  *slope_error = tilt.slope_error;
  if (fabs (tilt.line.centre_px - line.centre_px) <= MOST_APART_PX)
    *slope = fabs (tilt.line.slope) < SIGNIFICANT * tilt.slope_error ? 0 : tilt.line.slope;
  const TdAxisTrial trial = { .method = TD_AXIS_PROJECTIONS,
                              .row = middle,
                              .centre_px = td_axis_line_at (&tilt.line, middle),
                              .confidence = 1,
                              .spread_px = tilt.centre_error };
  g_array_append_val (search->trials, trial);
  return TRUE;
}

static TdAxisResult *
make_result (Search *search, GError **error)
{
  g_autoptr (TdAxisResult) result = g_new0 (TdAxisResult, 1);
  const guint n_rows = td_scan_facts (search->source.scan)->n_rows;
  double slope = NAN, slope_error = 0;

  if (axis_asked (search, TD_AXIS_PROJECTIONS)
      && !try_projections (search, &slope, &slope_error, error))
    return NULL;
  if (g_cancellable_set_error_if_cancelled (search->cancellable, error))
    return NULL;
  if (search->guided)
    g_array_remove_range (search->trials, 0, search->guided);
  result->n_trials = search->trials->len;
  result->trials = g_memdup2 (search->trials->data, search->trials->len * sizeof (TdAxisTrial));
  td_axis_agree (result, (n_rows - 1) / 2.0, slope, slope_error);
  if (search->stated && isnan (result->centre_px)) {
    g_free (result->advice);
    result->advice = td_message_packed (
        "No method found a centre among the columns %g to %g ({range}): widen the range, or leave "
        "it out; else check that the rows show the sample, or give the centre by hand",
        search->first_px, search->last_px);
  }
  search->done = search->all;
  axis_tell (search, "done");
  return g_steal_pointer (&result);
}

TdAxisResult *
td_axis_find (const TdRowSource *source, const TdAxisOptions *options, GCancellable *cancellable,
              GError **error)
{
  g_autoptr (TdScan) all = td_scan_with_extra (source->scan);
  g_autoptr (GPtrArray) sinograms = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GArray) trials = g_array_new (FALSE, FALSE, sizeof (TdAxisTrial));
  const guint n_views = td_scan_facts (source->scan)->n_views;
  Search search = { .source = *source,
                    .options = options,
                    .cancellable = cancellable,
                    .n_extra = td_scan_facts (all)->n_views - n_views,
                    .sinograms = sinograms,
                    .trials = trials };

  search.source.scan = all;
  if (!axis_check (td_scan_facts (all), &search, error))
    return NULL;
  g_autoptr (TdAxisRows) rows = td_axis_rows_new (&search.source, options, error);
  search.rows = rows;
  return rows && axis_run (&search, error) ? make_result (&search, error) : NULL;
}
