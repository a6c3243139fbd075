/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <string.h>

#include "axis-pairs.h"
#include "axis-search.h"
#include "axis-spectrum.h"
#include "axis-wedge.h"

/**
 * Vo et al., Reliable method for calculating the center of rotation in parallel-beam tomography, Opt.
 * Express 22 (2014): half a turn's sinogram joined with its own mirror image is the sinogram of a
 * whole turn if, and only if, it was mirrored at the right centre. The two-dimensional Fourier
 * transform of a whole turn lives inside a double wedge, |m| <= 2 pi r |f| (m cycles a turn, f cycles
 * a pixel, r the sample's radius); a seam that does not fit spills over its edges: the merit of a centre
 * is 1 - td_axis_wedge_spilled(). The sinogram is faded to zero towards the ends of the columns that
 * both halves have: what only one half sees would be a seam by itself. Frequencies count by how far
 * they stand out of the noise (td_axis_response()). A whole turn is two half turns, each joined with
 * its own mirror image.
 */

/* Larger sinograms are binned: the seam is found in the middle frequencies. */
#define COARSE_COLUMNS 160
#define FINE_COLUMNS 1024
#define COARSE_VIEWS 256
#define FINE_VIEWS 1024
#define LEAST_VIEWS 16
#define LEAST_REACH 6 /* columns from the centre to the nearer end */
/* Steps of the fine search, in binned columns, to either side. */
#define FINE_STEP 0.1
#define FINE_STEPS 20

typedef struct {
  const TdAxisInput *input;
  TdAxisSpectrum *rows[2]; /* of each half turn, binned */
  guint n_halves, n_views[2], n_columns, by_columns;
  TdAxisWedge *wedges[2];
} Halves;

/* ── Half turns ───────────────────────────────────────────────────────────────────────────────── */

/* Views of the half turn that begins at the @half-th, in rising order; how many. */
static guint
pick_half (const double *angles_rad, const guint *order, guint n_views, guint half, double step,
           guint *picked)
{
  double first = angles_rad[order[0]] + half * G_PI - 0.25 * step, end = first + G_PI;
  guint n = 0;

  for (guint i = 0; i < n_views; i++)
    if (angles_rad[order[i]] >= first && angles_rad[order[i]] < end - 0.5 * step)
      picked[n++] = order[i];
  return n;
}

static gboolean
regular (const double *angles_rad, const guint *picked, guint n, double step)
{
  for (guint i = 1; i < n; i++)
    if (fabs (angles_rad[picked[i]] - angles_rad[picked[i - 1]] - step) > 0.5 * step)
      return FALSE;
  return fabs (n * step - G_PI) < 1.6 * step;
}

static const char *
unsuited (const double *angles_rad, guint n_views, guint n_columns)
{
  double range = 0, step = n_views >= 2 ? td_axis_step (angles_rad, n_views, &range) : 0;

  if (n_columns < 16)
    return "the detector has too few columns";
  if (step <= 0 || n_views < LEAST_VIEWS)
    return "there are too few views";
  g_autofree guint *order = td_axis_order (angles_rad, n_views);
  g_autofree guint *picked = g_new (guint, n_views);
  guint n = pick_half (angles_rad, order, n_views, 0, step, picked);
  if (n < LEAST_VIEWS)
    return "there are too few views";
  return regular (angles_rad, picked, n, step) ? NULL
                                               : "the views do not cover half a turn in even steps";
}

/* td_axis_response() at the frequencies of the shorter transform. */
static double *
make_weights (const Halves *self, const float *rows, guint n_views)
{
  guint length = td_fft_good_size (self->n_columns);
  guint half = td_fft_good_size (2 * self->n_columns) / 2;
  g_autofree double *response = td_axis_response (rows, n_views, self->n_columns);
  double *weights = response ? g_new (double, length / 2 + 1) : NULL;

  for (guint k = 0; weights && k <= length / 2; k++)
    weights[k] = response[MIN ((guint) (2.0 * half * k / length + 0.5), half)];
  return weights;
}

static gboolean
load_half (Halves *self, const guint *picked, guint n, guint by_views, GError **error)
{
  guint columns = self->input->n_columns, h = self->n_halves++;
  g_autofree float *rows = g_new (float, (gsize) n * columns);

  for (guint v = 0; v < n; v++)
    memcpy (rows + (gsize) v * columns, self->input->sinogram + (gsize) picked[v] * columns,
            columns * sizeof *rows);
  self->n_views[h] = n / by_views;
  g_autofree float *binned = td_axis_bin (rows, n, columns, by_views, self->by_columns);
  g_autofree double *weights = make_weights (self, binned, self->n_views[h]);
  if (weights) {
    self->rows[h] = td_axis_spectrum_new (binned, self->n_views[h], self->n_columns, TRUE);
    self->wedges[h] = td_axis_wedge_new (self->n_views[h], td_fft_good_size (self->n_columns),
                                         self->n_columns / 2.0, weights);
  }
  if (self->rows[h] && self->wedges[h])
    return TRUE;
  g_set_error (error, TD_ERROR, TD_ERROR_DEVICE_MEMORY,
               "There is no memory to transform %u views of %u columns", n, columns);
  return FALSE;
}

static gboolean
load (Halves *self, guint most_views, guint most_columns, GError **error)
{
  const TdAxisInput *input = self->input;
  double step = td_axis_step (input->angles_rad, input->n_views, NULL);
  g_autofree guint *order = td_axis_order (input->angles_rad, input->n_views);
  g_autofree guint *picked = g_new (guint, input->n_views);

  self->by_columns = (input->n_columns + most_columns - 1) / most_columns;
  self->n_columns = input->n_columns / self->by_columns;
  for (guint half = 0; half < 2; half++) {
    guint n = pick_half (input->angles_rad, order, input->n_views, half, step, picked);
    if (n >= LEAST_VIEWS && regular (input->angles_rad, picked, n, step)
        && !load_half (self, picked, n, (n + most_views - 1) / most_views, error))
      return FALSE;
    if (self->n_halves == 0)
      break;
  }
  return TRUE;
}

static void
unload (Halves *self)
{
  for (guint h = 0; h < self->n_halves; h++) {
    td_axis_spectrum_free (self->rows[h]);
    td_axis_wedge_free (self->wedges[h]);
  }
  *self = (Halves) { .input = self->input };
}

/* ── The search ───────────────────────────────────────────────────────────────────────────────── */

/* @centre: in binned columns. @reach: columns to either side. */
static gboolean
merit (const Halves *self, double centre, guint reach, double *value, GError **error)
{
  guint width = 2 * reach + 1;

  *value = 0;
  for (guint h = 0; h < self->n_halves; h++) {
    g_autofree float *half = g_new (float, (gsize) self->n_views[h] * width);
    if (g_cancellable_set_error_if_cancelled (self->input->cancellable, error))
      return FALSE;
    td_axis_spectrum_rows (self->rows[h], 0, self->n_views[h], centre - reach, width, half);
    *value += (1 - td_axis_wedge_spilled (self->wedges[h], half, width)) / self->n_halves;
  }
  return TRUE;
}

static guint
reach_of (const Halves *self, double centre)
{
  return (guint) MAX (floor (MIN (centre, self->n_columns - 1 - centre)), 0);
}

static double
to_binned (const Halves *self, double column)
{
  return (column + 0.5) / self->by_columns - 0.5;
}

static double
from_binned (const Halves *self, double column)
{
  return (column + 0.5) * self->by_columns - 0.5;
}

/* Every half column of the binned sinogram, under one window: a wider one sees more of any seam. */
static gboolean
search_coarse (const Halves *self, TdAxisEstimate *estimate, GError **error)
{
  double least = LEAST_REACH, most = self->n_columns - 1.0 - LEAST_REACH;
  double first = ceil (2 * MAX (to_binned (self, self->input->first_px), least)) / 2;
  double last = floor (2 * MIN (to_binned (self, self->input->last_px), most)) / 2;
  TdAxisCurve curve = { first, 0.5, last >= first ? (guint) (2 * (last - first)) + 1 : 0, NULL };

  if (curve.n < 3)
    return TRUE; /* so near already that the fine search sees all of it */
  guint reach = MIN (reach_of (self, first), reach_of (self, last));
  g_autofree double *values = g_new (double, curve.n);
  curve.merit = values;
  for (guint i = 0; i < curve.n; i++)
    if (!merit (self, first + 0.5 * i, reach, &values[i], error))
      return FALSE;
  if (td_axis_curve_peak (&curve, estimate))
    estimate->centre_px = from_binned (self, estimate->centre_px);
  return TRUE;
}

/* Around what the coarse search found, on the finer sinogram, with one window for all. */
static gboolean
search_fine (const Halves *self, double around_px, double reach_px, TdAxisEstimate *estimate,
             GError **error)
{
  double around = to_binned (self, around_px);
  double step = MAX (FINE_STEP, reach_px / self->by_columns / FINE_STEPS);
  guint reach = reach_of (self, around);

  for (guint round = 0; round < 2; round++) {
    double values[2 * FINE_STEPS + 1];
    TdAxisCurve curve = { around - FINE_STEPS * step, step, G_N_ELEMENTS (values), values };
    for (guint i = 0; i < curve.n; i++)
      if (!merit (self, curve.first_px + i * step, reach, &values[i], error))
        return FALSE;
    TdAxisEstimate found;
    if (!td_axis_curve_peak (&curve, &found)) {
      estimate->confidence = 0;
      estimate->reason = found.reason;
      return TRUE;
    }
    around = found.centre_px;
    if (step <= FINE_STEP)
      break;
    step = FINE_STEP;
  }
  estimate->centre_px = from_binned (self, around);
  return TRUE;
}

static gboolean
find (const TdAxisInput *input, TdAxisEstimate *estimate, GError **error)
{
  Halves halves = { .input = input };

  *estimate = (TdAxisEstimate) { NAN, 0, NAN, NULL };
  if ((estimate->reason = unsuited (input->angles_rad, input->n_views, input->n_columns)))
    return TRUE;
  gboolean done = load (&halves, COARSE_VIEWS, COARSE_COLUMNS, error)
                  && search_coarse (&halves, estimate, error);
  double reach_px = halves.by_columns;
  unload (&halves);
  if (done && isfinite (estimate->centre_px))
    done = load (&halves, FINE_VIEWS, FINE_COLUMNS, error)
           && search_fine (&halves, estimate->centre_px, reach_px, estimate, error);
  unload (&halves);
  return done;
}

const TdAxisMethodKind td_axis_fourier = {
  .method = TD_AXIS_FOURIER,
  .name = "fourier",
  .title = "Fourier wedge of the joined sinogram",
  .unsuited = unsuited,
  .find = find,
};
