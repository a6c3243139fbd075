/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <string.h>

#include "axis-pairs.h"
#include "axis-quality.h"
#include "axis-search.h"
#include "axis-slices.h"
#include "compute/device/host-fft.h"
#include "compute/device/host.h"

/**
 * Search over trial slices: coarse on a binned sinogram if the range is wide, then closer and
 * closer, to 0.05 pixels. What is judged depends on the scan (axis-quality.h): a whole turn about
 * the wrong centre doubles edges, half a turn smears them to arcs.
 *
 * A slice's pixel changes with the centre as the filtered views do along the detector. No frequency
 * is higher than the filter's cut-off, W radians a column. So trials that lie close are not all
 * back-projected, but interpolated between the Chebyshev nodes of their range. For a wave of
 * frequency W over +-h columns, the error of n nodes is at most 2 (W h / 2)^n / n! of it. The
 * filter leaves little of that wave. All slices must show the same columns of the detector: what
 * appears from one to the next is no wave. Slices of narrow detectors, which are not binned, cost
 * little: each of their trials is made.
 */
#define COARSE_COLUMNS 128
#define MIDDLE_COLUMNS 640
#define FINE_COLUMNS 1280
#define WIDE_PX 10    /* ranges wider than this, in columns, begin coarse */
#define MIDDLE_PX 0.3 /* between trials that need not be finer */
#define FINEST_PX 0.1 /* between the last trials; the parabola through them divides it further */
/* Views for each column of a trial slice, and the least: more views do not help. */
#define VIEWS_A_COLUMN 0.8
#define LEAST_VIEWS 480
/* The part of the slice's width that is judged; or that of what all views see, if it is less. */
#define JUDGED 0.48
#define JUDGED_INSIDE 0.9
#define LEAST_RADIUS 6
#define TRIALS 13 /* of each closer search */
/* What the best-looking slice is off by, in columns. Values of a sample that is cut off are wrong,
   and what they look like is a weak witness. */
static const double spreads_px[] = {
  [TD_AXIS_QUALITY_NEGATIVITY] = 0.045,
  [TD_AXIS_QUALITY_FLATNESS] = 0.09,
  [TD_AXIS_QUALITY_STEEPNESS] = 0.06,
};
#define CUTOFF 0.5       /* of the trial slices' filter: noise says nothing about the centre */
#define NODES_LEAVE 5e-4 /* of the highest wave, of which the filter leaves nothing */
#define MOST_NODES 10

typedef struct {
  TdAxisInput binned; /* what is reconstructed: the sinogram or less of it */
  float *sinogram;
  double *angles_rad;
  guint by_columns;
  TdAxisQuality quality;
  TdAxisSlices *slices;
  guint n_nodes; /* slices made last, for centres from first_px to last_px; 0: none */
  double nodes_px[MOST_NODES], first_px, last_px;
  float *node_slices;
} Trials;

typedef struct {
  const Trials *trials;
  const float *slices;    /* NULL: between the nodes */
  TdHostScratch *scratch; /* without slices: of one */
  const TdAxisCurve *curve;
  double radius;
  double *values;
} Judging;

/* The slice for a centre, by Lagrange's polynomials through the nodes. */
static void
axis_sharpness_interpolate (const Trials *trials, double centre_px, guint side, float *slice)
{
  float weights[MOST_NODES];

  for (guint k = 0; k < trials->n_nodes; k++) {
    double weight = 1;
    for (guint j = 0; j < trials->n_nodes; j++)
      if (j != k)
        weight *= (centre_px - trials->nodes_px[j]) / (trials->nodes_px[k] - trials->nodes_px[j]);
    weights[k] = (float) weight;
  }
  for (guint y = 0; y < side; y++) {
    float *restrict out = slice + (gsize) y * side;
    memset (out, 0, side * sizeof *out);
    for (guint k = 0; k < trials->n_nodes; k++) {
      const float *restrict in = trials->node_slices + ((gsize) k * side + y) * side;
      for (guint x = 0; x < side; x++)
        out[x] += weights[k] * in[x];
    }
  }
}

static void
judge_slice (guint index, gpointer data)
{
  const Judging *judging = data;
  const guint side = judging->trials->binned.n_columns;
  const gsize pixels = (gsize) side * side;

  if (judging->slices) {
    judging->values[index] = td_axis_quality (
        judging->trials->quality, judging->slices + index * pixels, side, judging->radius);
    return;
  }
  const TdHostPieces pieces = td_host_scratch_take (judging->scratch);
  axis_sharpness_interpolate (judging->trials,
                              judging->curve->first_px + index * judging->curve->step_px, side,
                              pieces.from);
  judging->values[index]
      = td_axis_quality (judging->trials->quality, pieces.from, side, judging->radius);
  td_host_scratch_give (judging->scratch, &pieces);
}

/* ── Less of a large sinogram ── */

/* Columns binned until there are at most @most; then no more views than such slices need. */
static gboolean
trials_init (Trials *trials, const TdAxisInput *input, guint most, TdAxisQuality quality,
             GError **error)
{
  guint by = (input->n_columns + most - 1) / most, columns = input->n_columns / by;
  guint enough = MAX ((guint) (VIEWS_A_COLUMN * columns), LEAST_VIEWS);
  const guint every = MAX (1, input->n_views / enough),
              n_views = (input->n_views + every - 1) / every;

  *trials = (Trials) { .binned = *input, .by_columns = by, .quality = quality };
  trials->angles_rad = g_new (double, input->n_views);
  for (guint v = 0; v < n_views; v++)
    trials->angles_rad[v] = input->angles_rad[v * every];
  trials->sinogram = td_axis_bin (input->sinogram, n_views, (gsize) every * input->n_columns,
                                  input->n_columns, 1, by);
  if (!trials->sinogram)
    return td_set_error (error, TD_ERROR_TOO_LARGE,
                         "There is no memory to bin %u views of %u columns", n_views,
                         input->n_columns);
  trials->binned.sinogram = trials->sinogram;
  trials->binned.angles_rad = trials->angles_rad;
  trials->binned.n_views = n_views;
  trials->binned.n_columns = columns;
  trials->slices = td_axis_slices_new (&trials->binned, CUTOFF, JUDGED * columns + 2, error);
  return trials->slices != NULL;
}

static void
trials_clear (Trials *trials)
{
  td_axis_slices_free (trials->slices);
  g_free (trials->node_slices);
  g_free (trials->sinogram);
  g_free (trials->angles_rad);
}

/* The same for all trials of a curve. */
static double
radius_for (const Trials *trials, const TdAxisCurve *curve)
{
  double width = trials->binned.n_columns;
  double first = td_axis_to_binned (trials->by_columns, curve->first_px);
  double last
      = td_axis_to_binned (trials->by_columns, curve->first_px + (curve->n - 1) * curve->step_px);

  if (trials->quality != TD_AXIS_QUALITY_FLATNESS)
    return JUDGED * width;
  return MAX (JUDGED_INSIDE * MIN (first, width - 1 - last), LEAST_RADIUS);
}

/* So many do for +-@half_px columns. */
static guint
nodes_for (const Trials *trials, double half_px)
{
  const double x = G_PI * CUTOFF / trials->by_columns * half_px / 2;
  double left = 2 * x;
  guint n = 1;

  while (left > NODES_LEAVE && n <= MOST_NODES)
    left *= x / ++n;
  return n;
}

static gboolean
make_slices (Trials *trials, const double *centres_px, guint n, float *slices, GError **error)
{
  g_autofree double *centres = g_new (double, n);

  for (guint i = 0; i < n; i++)
    centres[i] = td_axis_to_binned (trials->by_columns, centres_px[i]);
  return td_axis_slices_run (trials->slices, centres, n, slices, error);
}

/* Slices between which those of the curve can be interpolated. FALSE with no @error set: that is
   not worth it, or not wanted. */
static gboolean
ready_nodes (Trials *trials, const TdAxisCurve *curve, GError **error)
{
  const double last_px = curve->first_px + (curve->n - 1) * curve->step_px;
  const double half = (last_px - curve->first_px) / 2, tiny = 1e-9 * half;
  const guint n = nodes_for (trials, half), side = trials->binned.n_columns;

  if (trials->n_nodes && curve->first_px >= trials->first_px - tiny
      && last_px <= trials->last_px + tiny)
    return TRUE;
  if (trials->by_columns == 1 || n >= curve->n || n > MOST_NODES
      || n > td_axis_slices_batch (trials->slices))
    return FALSE;
  for (guint k = 0; k < n; k++)
    trials->nodes_px[k] = curve->first_px + half * (1 + cos (G_PI * (2 * k + 1) / (2 * n)));
  g_free (trials->node_slices);
  trials->n_nodes = 0;
  trials->node_slices = g_try_new (float, (gsize) n *side *side);
  if (!trials->node_slices)
    return FALSE;
  trials->first_px = curve->first_px;
  trials->last_px = last_px;
  td_axis_slices_see (trials->slices, td_axis_to_binned (trials->by_columns, trials->first_px),
                      td_axis_to_binned (trials->by_columns, trials->last_px));
  trials->n_nodes = make_slices (trials, trials->nodes_px, n, trials->node_slices, error) ? n : 0;
  return trials->n_nodes > 0;
}

static gboolean
run_each (Trials *trials, TdAxisCurve *curve, double radius, GError **error)
{
  const guint side = trials->binned.n_columns, batch = td_axis_slices_batch (trials->slices);
  g_autofree float *pixels = g_try_new (float, (gsize) batch *side *side);
  g_autofree double *centres = g_new (double, batch);

  if (!pixels)
    return td_set_error (error, TD_ERROR_TOO_LARGE,
                         "There is no memory for %u trial slices of %u × %u", batch, side, side);
  td_axis_slices_see (trials->slices, INFINITY, -INFINITY);
  for (guint first = 0; first < curve->n; first += batch) {
    guint count = MIN (batch, curve->n - first);
    for (guint i = 0; i < count; i++)
      centres[i] = curve->first_px + (first + i) * curve->step_px;
    if (!make_slices (trials, centres, count, pixels, error))
      return FALSE;
    Judging judging = { trials, pixels, NULL, curve, radius, curve->merit + first };
    td_parallel_for (count, judge_slice, &judging);
  }
  return TRUE;
}

/* The merit of every centre of the curve, which is in the detector's columns. */
static gboolean
trials_run (Trials *trials, TdAxisCurve *curve, GError **error)
{
  const double radius = radius_for (trials, curve);
  g_autoptr (GError) reason = NULL;

  if (ready_nodes (trials, curve, &reason)) {
    const guint side = trials->binned.n_columns;
    g_autoptr (TdHostScratch) scratch
        = td_host_scratch_new ((gsize) side * side * sizeof (float), 0, error);
    if (!scratch)
      return FALSE;
    Judging judging = { trials, NULL, scratch, curve, radius, curve->merit };
    td_parallel_for (curve->n, judge_slice, &judging);
    return TRUE;
  }
  if (reason) {
    g_propagate_error (error, g_steal_pointer (&reason));
    return FALSE;
  }
  return run_each (trials, curve, radius, error);
}

/* ── The search ── */

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
axis_sharpness_unsuited (const double *angles_rad, guint n_views, guint n_columns)
{
  double range = 0;

  if (n_columns < 16)
    return N_ ("the detector has too few columns");
  if (n_views < 16)
    return N_ ("there are too few views");
  td_axis_step (angles_rad, n_views, &range);
  return range > 2.5 ? NULL : N_ ("the views cover less than half a turn");
}

static gboolean
axis_sharpness_find (const TdAxisInput *input, TdAxisEstimate *estimate, GError **error)
{
  *estimate = (TdAxisEstimate) { NAN, 0, NAN, NULL };
  if ((estimate->reason
       = axis_sharpness_unsuited (input->angles_rad, input->n_views, input->n_columns)))
    return TRUE;
  double reach = (input->last_px - input->first_px) / 2;
  TdAxisQuality quality
      = td_axis_quality_for (input->sinogram, input->n_views, input->n_columns, input->angles_rad);
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
  .name = N_ ("sharpness"),
  .title = N_ ("Sharpness of trial slices"),
  .unsuited = axis_sharpness_unsuited,
  .find = axis_sharpness_find,
};
