/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "axis-pairs.h"
#include "axis-quality.h"
#include "axis-search.h"
#include "axis-slices.h"
#include "compute/device/host.h"

/**
 * Search over trial slices: coarse on a binned sinogram if the range is wide, then closer and closer,
 * to 0.05 pixels. What is judged depends on the scan (axis-quality.h): a whole turn about the wrong
 * centre doubles edges, half a turn smears them to arcs.
 */
#define COARSE_COLUMNS 128
#define MIDDLE_COLUMNS 640
#define FINE_COLUMNS 1280
#define WIDE_PX 10        /* ranges wider than this, in columns, begin coarse */
#define MIDDLE_PX 0.3     /* between trials that need not be finer */
#define FINEST_PX 0.1     /* between the last trials; the parabola through them divides it further */
/* Of the columns of trial slices, and at least: more views make them no better for this. */
#define VIEWS_A_COLUMN 0.8
#define LEAST_VIEWS 480
/* Of the slice's width, what is judged; and of what all views see, where they do not see all. */
#define JUDGED 0.48
#define JUDGED_INSIDE 0.9
#define LEAST_RADIUS 6
#define TRIALS 13         /* of each closer search */
/* What the best-looking slice is off by, in columns. Values of a sample that is cut off are wrong, and
   what they look like is a weak witness. */
static const double spreads_px[] = {
  [TD_AXIS_QUALITY_NEGATIVITY] = 0.03,
  [TD_AXIS_QUALITY_FLATNESS] = 0.09,
  [TD_AXIS_QUALITY_STEEPNESS] = 0.06,
};
#define CUTOFF 0.5        /* of the trial slices' filter: noise says nothing about the centre */

typedef struct {
  TdAxisInput binned;     /* what is reconstructed: the sinogram or less of it */
  float *sinogram;
  double *angles_rad;
  guint by_columns;
  TdAxisQuality quality;
  TdAxisSlices *slices;
} Trials;

typedef struct {
  const float *slices;
  guint side;
  TdAxisQuality quality;
  double radius;
  double *values;
} Judging;

static void
judge_slice (guint index, gpointer data)
{
  Judging *judging = data;
  gsize pixels = (gsize) judging->side * judging->side;

  judging->values[index]
      = td_axis_quality (judging->quality, judging->slices + index * pixels, judging->side,
                       judging->radius);
}

/* ── Less of a large sinogram ─────────────────────────────────────────────────────────────────── */

/* Columns binned until there are at most @most; then no more views than such slices need. */
static gboolean
trials_init (Trials *trials, const TdAxisInput *input, guint most, TdAxisQuality quality,
             GError **error)
{
  guint by = (input->n_columns + most - 1) / most, columns = input->n_columns / by;
  guint enough = MAX ((guint) (VIEWS_A_COLUMN * columns), LEAST_VIEWS);
  guint every = MAX (1, input->n_views / enough), n_views = 0;
  g_autofree float *picked
      = g_new (float, (gsize) (input->n_views / every + 1) * input->n_columns);

  *trials = (Trials) { .binned = *input, .by_columns = by, .quality = quality };
  trials->angles_rad = g_new (double, input->n_views);
  for (guint v = 0; v < input->n_views; v += every, n_views++) {
    memcpy (picked + (gsize) n_views * input->n_columns,
            input->sinogram + (gsize) v * input->n_columns, input->n_columns * sizeof *picked);
    trials->angles_rad[n_views] = input->angles_rad[v];
  }
  trials->sinogram = td_axis_bin (picked, n_views, input->n_columns, 1, by);
  trials->binned.sinogram = trials->sinogram;
  trials->binned.angles_rad = trials->angles_rad;
  trials->binned.n_views = n_views;
  trials->binned.n_columns = columns;
  trials->slices = td_axis_slices_new (&trials->binned, CUTOFF, error);
  return trials->slices != NULL;
}

static void
trials_clear (Trials *trials)
{
  td_axis_slices_free (trials->slices);
  g_free (trials->sinogram);
  g_free (trials->angles_rad);
}

static double
to_binned (const Trials *trials, double column)
{
  return (column + 0.5) / trials->by_columns - 0.5;
}

/* The same for all trials of a curve. */
static double
radius_for (const Trials *trials, const TdAxisCurve *curve)
{
  double width = trials->binned.n_columns;
  double first = to_binned (trials, curve->first_px);
  double last = to_binned (trials, curve->first_px + (curve->n - 1) * curve->step_px);

  if (trials->quality != TD_AXIS_QUALITY_FLATNESS)
    return JUDGED * width;
  return MAX (JUDGED_INSIDE * MIN (first, width - 1 - last), LEAST_RADIUS);
}

/* The merit of every centre of the curve, which is in the detector's columns. */
static gboolean
trials_run (Trials *trials, TdAxisCurve *curve, GError **error)
{
  guint side = td_axis_slices_side (trials->slices);
  guint batch = td_axis_slices_batch (trials->slices);
  double radius = radius_for (trials, curve);
  g_autofree float *pixels = g_new (float, (gsize) batch * side * side);
  g_autofree double *centres = g_new (double, batch);

  for (guint first = 0; first < curve->n; first += batch) {
    guint count = MIN (batch, curve->n - first);
    for (guint i = 0; i < count; i++)
      centres[i] = to_binned (trials, curve->first_px + (first + i) * curve->step_px);
    if (!td_axis_slices_run (trials->slices, centres, count, pixels, error))
      return FALSE;
    Judging judging = { pixels, side, trials->quality, radius, curve->merit + first };
    td_parallel_for (count, judge_slice, &judging);
  }
  return TRUE;
}

/* ── The search ───────────────────────────────────────────────────────────────────────────────── */

static gboolean
search_wide (Trials *trials, const TdAxisInput *input, TdAxisEstimate *estimate, GError **error)
{
  TdAxisCurve curve = { input->first_px, 0.5 * trials->by_columns, 0, NULL };

  curve.n = (guint) floor ((input->last_px - input->first_px) / curve.step_px) + 1;
  g_autofree double *values = g_new (double, curve.n);
  curve.merit = values;
  if (!trials_run (trials, &curve, error))
    return FALSE;
  td_axis_curve_peak (&curve, estimate);
  return TRUE;
}

/* Closer and closer about what was found so far, until trials are @finest_px apart. */
static gboolean
search_close (Trials *trials, double reach_px, double finest_px, TdAxisEstimate *estimate,
              GError **error)
{
  double confidence = estimate->confidence, step = 2 * reach_px / (TRIALS - 1);

  for (;; step = MAX (step / 3, finest_px)) {
    double values[TRIALS];
    TdAxisCurve curve = { estimate->centre_px - step * (TRIALS / 2), step, TRIALS, values };
    if (!trials_run (trials, &curve, error))
      return FALSE;
    if (!td_axis_curve_peak (&curve, estimate))
      return TRUE;
    confidence = MIN (confidence, estimate->confidence);
    if (step <= finest_px)
      break;
  }
  estimate->confidence = confidence;
  return TRUE;
}

static const char *
unsuited (const double *angles_rad, guint n_views, guint n_columns)
{
  double range = 0;

  if (n_columns < 16)
    return "the detector has too few columns";
  if (n_views < 16)
    return "there are too few views";
  td_axis_step (angles_rad, n_views, &range);
  return range > 2.5 ? NULL : "the views cover less than half a turn";
}

static gboolean
find (const TdAxisInput *input, TdAxisEstimate *estimate, GError **error)
{
  *estimate = (TdAxisEstimate) { NAN, 0, NAN, NULL };
  if ((estimate->reason = unsuited (input->angles_rad, input->n_views, input->n_columns)))
    return TRUE;
  double reach = (input->last_px - input->first_px) / 2;
  TdAxisQuality quality = td_axis_quality_for (input->sinogram, input->n_views, input->n_columns,
                                               input->angles_rad);
  gboolean done = TRUE;
  Trials trials;

  estimate->centre_px = (input->first_px + input->last_px) / 2;
  estimate->confidence = 1;
  if (reach > WIDE_PX) {
    done = trials_init (&trials, input, COARSE_COLUMNS, quality, error)
           && search_wide (&trials, input, estimate, error);
    reach = 3 * trials.by_columns;
    trials_clear (&trials);
  }
  if (done && isfinite (estimate->centre_px) && input->n_columns > MIDDLE_COLUMNS) {
    done = trials_init (&trials, input, MIDDLE_COLUMNS, quality, error)
           && search_close (&trials, reach, MIDDLE_PX, estimate, error);
    reach = 2 * MIDDLE_PX;
    trials_clear (&trials);
  }
  if (done && isfinite (estimate->centre_px)) {
    done = trials_init (&trials, input, FINE_COLUMNS, quality, error)
           && search_close (&trials, MAX (reach, 2 * MIDDLE_PX), FINEST_PX, estimate, error);
    trials_clear (&trials);
  }
  estimate->spread_px = spreads_px[quality];
  return done;
}

const TdAxisMethodKind td_axis_sharpness = {
  .method = TD_AXIS_SHARPNESS,
  .name = "sharpness",
  .title = "Sharpness of trial slices",
  .unsuited = unsuited,
  .find = find,
};
