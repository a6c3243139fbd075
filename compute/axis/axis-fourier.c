/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <string.h>

#include "axis-pairs.h"
#include "axis-quality.h"
#include "axis-search.h"
#include "axis-spectrum.h"
#include "axis-wedge.h"
#include "compute/angles.h"

/**
 * Vo et al., Reliable method for calculating the center of rotation in parallel-beam tomography,
 * Opt. Express 22 (2014). Half a turn's sinogram is joined with its own mirror image. The result is
 * the sinogram of a whole turn only if it was mirrored at the right centre.
 *
 * The two-dimensional Fourier transform of a whole turn lives inside a double wedge, |m| <= 2 pi r
 * |f|. Here m is in cycles a turn, f in cycles a pixel, and r is the sample's radius. A seam that
 * does not fit spills over its edges. So the merit of a centre is 1 - td_axis_wedge_spilled().
 *
 * The sinogram fades to zero towards the ends of the columns that both halves have, since columns
 * of one half only would make a seam. Frequencies count by how far they exceed the noise
 * (td_axis_response()). A whole turn is two half turns, each joined with its own mirror image.
 */

/* Larger sinograms are binned: the seam is found in the middle frequencies. The search goes from
   level to level, each finer and over a shorter range. */
static const struct {
  guint columns, views;
} levels[] = { { 160, 256 }, { 448, 512 }, { 1024, 1024 } };
#define LEAST_VIEWS 16
#define LEAST_REACH 6 /* columns from the centre to the nearer end */
/* Steps, in binned columns, of the first level and of those after it; and of the last trials, so
   many to either side. */
#define COARSE_STEP 0.5
#define NEAR_STEP 0.25
#define MOST_NEAR 12
#define LAST_STEP 0.1
#define LAST_STEPS 3
/* A part of the standard error, where a sample is cut off. */
#define CUT_OFF_SPREAD_PX 0.04
/* The wedge's radius, of the width. What lies beyond the ends moves faster than all that is inside.
 */
#define RADIUS 0.5
#define CUT_OFF_RADIUS 0.8

typedef struct {
  const TdAxisInput *input;
  TdAxisSpectrum *rows[2]; /* of each half turn, binned */
  guint n_halves, n_views[2], n_columns, by_columns;
  gboolean cut_off; /* half a turn of a sample wider than the detector */
  TdAxisWedge *wedges[2];
} Halves;

/* ── Half turns ── */

/* Views of the half turn that begins at the @half-th, in rising order; how many. */
static guint
pick_half (const TdDirection *sorted, guint n_views, guint half, double step, guint *picked)
{
  double first = sorted[0].angle + half * G_PI - 0.25 * step, end = first + G_PI;
  guint n = 0;

  for (guint i = 0; i < n_views; i++)
    if (sorted[i].angle >= first && sorted[i].angle < end - 0.5 * step)
      picked[n++] = sorted[i].view;
  return n;
}

static gboolean
axis_fourier_regular (const double *angles_rad, const guint *picked, guint n, double step)
{
  for (guint i = 1; i < n; i++)
    if (fabs (angles_rad[picked[i]] - angles_rad[picked[i - 1]] - step) > 0.5 * step)
      return FALSE;
  return fabs (n * step - G_PI) < 1.6 * step;
}

static const char *
axis_fourier_unsuited (const double *angles_rad, guint n_views, guint n_columns)
{
  double range = 0, step = n_views >= 2 ? td_axis_step (angles_rad, n_views, &range) : 0;

  if (n_columns < 16)
    return N_ ("the detector has too few columns");
  if (step <= 0 || n_views < LEAST_VIEWS)
    return N_ ("there are too few views");
  g_autofree TdDirection *sorted = td_angles_sorted (angles_rad, n_views, 0);
  g_autofree guint *picked = g_new (guint, n_views);
  guint n = pick_half (sorted, n_views, 0, step, picked);
  if (n < LEAST_VIEWS)
    return N_ ("there are too few views");
  return axis_fourier_regular (angles_rad, picked, n, step)
             ? NULL
             : N_ ("the views do not cover half a turn in even steps");
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
axis_fourier_no_memory (const Halves *self, guint n_views, GError **error)
{
  return td_set_error (error, TD_ERROR_DEVICE_MEMORY,
                       "There is no memory to transform %u views of %u columns", n_views,
                       self->input->n_columns);
}

/* @rows: of @n views in rising order. */
static gboolean
load_half (Halves *self, const float *rows, guint n, guint most_views, GError **error)
{
  guint columns = self->input->n_columns, h = self->n_halves++;
  guint by_views = (n + most_views - 1) / most_views;

  self->n_views[h] = n / by_views;
  g_autofree float *binned = td_axis_bin (rows, n, columns, columns, by_views, self->by_columns);
  g_autofree double *weights = binned ? make_weights (self, binned, self->n_views[h]) : NULL;
  if (weights) {
    self->rows[h] = td_axis_spectrum_new (binned, self->n_views[h], self->n_columns, TRUE);
    self->wedges[h]
        = td_axis_wedge_new (self->n_views[h], td_fft_good_size (self->n_columns),
                             (self->cut_off ? CUT_OFF_RADIUS : RADIUS) * self->n_columns, weights);
  }
  if (self->rows[h] && self->wedges[h])
    return TRUE;
  return axis_fourier_no_memory (self, n, error);
}

static gboolean
axis_fourier_load (Halves *self, guint most_views, guint most_columns, GError **error)
{
  const TdAxisInput *input = self->input;
  double step = td_axis_step (input->angles_rad, input->n_views, NULL);
  g_autofree TdDirection *sorted = td_angles_sorted (input->angles_rad, input->n_views, 0);
  g_autofree guint *picked = g_new (guint, input->n_views);
  g_autofree float *rows = g_try_new (float, (gsize) input->n_views * input->n_columns);
  guint views[2] = { 0, 0 }, n = 0;

  if (!rows)
    return axis_fourier_no_memory (self, input->n_views, error);
  self->by_columns = (input->n_columns + most_columns - 1) / most_columns;
  self->n_columns = input->n_columns / self->by_columns;
  for (guint half = 0; half < 2 && (half == 0 || views[0]); half++) {
    guint count = pick_half (sorted, input->n_views, half, step, picked);
    if (count < LEAST_VIEWS || !axis_fourier_regular (input->angles_rad, picked, count, step))
      continue;
    for (guint v = 0; v < count; v++, n++)
      memcpy (rows + (gsize) n * input->n_columns,
              input->sinogram + (gsize) picked[v] * input->n_columns,
              input->n_columns * sizeof *rows);
    views[half] = count;
  }
  self->cut_off = !views[1] && td_axis_cut_off (input->sinogram, input->n_views, input->n_columns);
  if (views[1]) /* of a whole turn what stands still is known, and is no seam */
    td_axis_remove_mean (rows, n, input->n_columns, NULL);
  return (!views[0] || load_half (self, rows, views[0], most_views, error))
         && (!views[1]
             || load_half (self, rows + (gsize) views[0] * input->n_columns, views[1], most_views,
                           error));
}

static void
axis_fourier_unload (Halves *self)
{
  for (guint h = 0; h < self->n_halves; h++) {
    td_axis_spectrum_free (self->rows[h]);
    td_axis_wedge_free (self->wedges[h]);
  }
  *self = (Halves) { .input = self->input };
}

/* ── The search ── */

/* Half turns moved by parts of a column: @first in binned columns is the first of @width. NULL: no
   memory. */
static float *
axis_fourier_moved (const Halves *self, guint h, double first, guint width)
{
  float *rows = g_try_new (float, (gsize) self->n_views[h] * width);

  if (rows)
    td_axis_spectrum_rows (self->rows[h], 0, self->n_views[h], first, width, rows);
  return rows;
}

/* @centre: in binned columns. @reach: columns to either side. */
static gboolean
axis_fourier_merit (const Halves *self, double centre, guint reach, double *value, double *rows,
                    GError **error)
{
  *value = 0;
  for (guint h = 0; h < self->n_halves; h++) {
    if (g_cancellable_set_error_if_cancelled (self->input->cancellable, error))
      return FALSE;
    g_autofree float *half = axis_fourier_moved (self, h, centre - reach, 2 * reach + 1);
    if (!half)
      return axis_fourier_no_memory (self, self->n_views[h], error);
    *value += (1 - td_axis_wedge_spilled (self->wedges[h], half, 2 * reach + 1, rows))
              / self->n_halves;
  }
  return TRUE;
}

static guint
axis_fourier_reach_of (const Halves *self, double centre)
{
  return (guint) MAX (floor (MIN (centre, self->n_columns - 1 - centre)), 0);
}

static double
from_binned (const Halves *self, double column)
{
  return (column + 0.5) * self->by_columns - 0.5;
}

/* Every half column under one taper: a wider one sees more of any seam. Moved by half a column
 * once. */
static gboolean
merit_of_all (const Halves *self, TdAxisCurve *curve, guint reach, GError **error)
{
  guint width = 2 * reach + 1, stride = width + curve->n / 2 + 1;

  memset (curve->merit, 0, curve->n * sizeof *curve->merit);
  for (guint h = 0; h < self->n_halves; h++) {
    g_autofree float *whole = axis_fourier_moved (self, h, curve->first_px - reach, stride);
    g_autofree float *between = axis_fourier_moved (self, h, curve->first_px + 0.5 - reach, stride);
    g_autofree float *half = g_try_new (float, (gsize) self->n_views[h] * width);
    if (!whole || !between || !half)
      return axis_fourier_no_memory (self, self->n_views[h], error);
    for (guint i = 0; i < curve->n; i++) {
      if (g_cancellable_set_error_if_cancelled (self->input->cancellable, error))
        return FALSE;
      for (guint v = 0; v < self->n_views[h]; v++)
        memcpy (half + (gsize) v * width, (i % 2 ? between : whole) + (gsize) v * stride + i / 2,
                width * sizeof *half);
      curve->merit[i]
          += (1 - td_axis_wedge_spilled (self->wedges[h], half, width, NULL)) / self->n_halves;
    }
  }
  return TRUE;
}

/* @reach_px: how far from what it finds the centre may still be. */
static gboolean
search_coarse (const Halves *self, TdAxisEstimate *estimate, double *reach_px, GError **error)
{
  const TdAxisInput *input = self->input;
  double least = LEAST_REACH, most = self->n_columns - 1.0 - LEAST_REACH;
  double first = ceil (2 * MAX (td_axis_to_binned (self->by_columns, input->first_px), least)) / 2;
  double last = floor (2 * MIN (td_axis_to_binned (self->by_columns, input->last_px), most)) / 2;
  TdAxisCurve curve
      = { first, COARSE_STEP, last >= first ? (guint) (2 * (last - first)) + 1 : 0, NULL };

  *reach_px = (COARSE_STEP + 0.1) * self->by_columns;
  if (last < least || first > most) {
    estimate->reason = "the range searched lies beyond what opposite views share";
    return TRUE;
  }
  if (curve.n < 3) { /* so near already that the next level sees all of it */
    estimate->centre_px = (input->first_px + input->last_px) / 2;
    estimate->confidence = 1;
    *reach_px = MAX ((input->last_px - input->first_px) / 2, *reach_px);
    return TRUE;
  }
  guint reach = MIN (axis_fourier_reach_of (self, first), axis_fourier_reach_of (self, last));
  g_autofree double *values = g_new (double, curve.n);
  curve.merit = values;
  if (!merit_of_all (self, &curve, reach, error))
    return FALSE;
  /* Seen from afar, sizes tell more than squares how far one seam stands out of the others. */
  for (guint i = 0; i < curve.n; i++)
    values[i] = 1 - sqrt (MAX (1 - values[i], 0));
  if (td_axis_curve_peak (&curve, estimate))
    estimate->centre_px = from_binned (self, estimate->centre_px);
  return TRUE;
}

static gboolean
try_around (const Halves *self, double around, double step, guint steps, double *values,
            TdAxisCurve *curve, GError **error)
{
  guint reach = axis_fourier_reach_of (self, around);

  *curve = (TdAxisCurve) { around - steps * step, step, 2 * steps + 1, values };
  for (guint i = 0; i < curve->n; i++)
    if (!axis_fourier_merit (self, curve->first_px + i * step, reach, &values[i], NULL, error))
      return FALSE;
  return TRUE;
}

static gboolean
axis_fourier_spread (const Halves *self, double around, double *spread_px, GError **error)
{
  const guint reach = axis_fourier_reach_of (self, around);
  const guint n = MAX (self->n_views[0], self->n_views[1]) + 1;
  g_autofree double *rows = g_new0 (double, 3 * (gsize) n);
  double value;

  for (gint k = 0; k < 3; k++)
    if (!axis_fourier_merit (self, around + (k - 1) * LAST_STEP, reach, &value, rows + k * n,
                             error))
      return FALSE;
  *spread_px = hypot (td_axis_scatter (rows, n, LAST_STEP * self->by_columns),
                      self->cut_off ? CUT_OFF_SPREAD_PX : 0);
  return TRUE;
}

/* Around what the level before found, with one taper for all. @last: to parts of a column. */
static gboolean
search_near (const Halves *self, double reach_px, gboolean last, TdAxisEstimate *estimate,
             GError **error)
{
  double around = td_axis_to_binned (self->by_columns, estimate->centre_px),
         values[2 * MOST_NEAR + 1];
  double reach = reach_px / self->by_columns;
  guint steps = (guint) CLAMP (ceil (reach / NEAR_STEP), 2, MOST_NEAR);
  TdAxisEstimate found;
  TdAxisCurve curve;

  if (!try_around (self, around, MAX (NEAR_STEP, reach / steps), steps, values, &curve, error))
    return FALSE;
  if (!td_axis_curve_peak (&curve, &found)) {
    estimate->confidence = 0;
    estimate->reason = found.reason;
    return TRUE;
  }
  around = found.centre_px;
  if (last) {
    if (!try_around (self, around, LAST_STEP, LAST_STEPS, values, &curve, error))
      return FALSE;
    if (td_axis_curve_peak (&curve, &found))
      around = found.centre_px;
  }
  estimate->centre_px = from_binned (self, around);
  return !last || axis_fourier_spread (self, around, &estimate->spread_px, error);
}

static gboolean
axis_fourier_find (const TdAxisInput *input, TdAxisEstimate *estimate, GError **error)
{
  const guint n_levels = G_N_ELEMENTS (levels);
  Halves halves = { .input = input };
  double reach_px = 0;

  *estimate = (TdAxisEstimate) { NAN, 0, NAN, NULL };
  if ((estimate->reason
       = axis_fourier_unsuited (input->angles_rad, input->n_views, input->n_columns)))
    return TRUE;
  gboolean done = axis_fourier_load (&halves, levels[0].views, levels[0].columns, error)
                  && search_coarse (&halves, estimate, &reach_px, error);
  for (guint l = 1; l < n_levels && done && isfinite (estimate->centre_px); l++) {
    gboolean last = l + 1 == n_levels || input->n_columns <= levels[l].columns;
    axis_fourier_unload (&halves);
    done = axis_fourier_load (&halves, levels[last ? n_levels - 1 : l].views, levels[l].columns,
                              error)
           && search_near (&halves, reach_px, last, estimate, error);
    reach_px = 2 * NEAR_STEP * halves.by_columns;
    if (last || estimate->confidence <= 0)
      break;
  }
  axis_fourier_unload (&halves);
  return done;
}

const TdAxisMethodKind td_axis_fourier = {
  .name = N_ ("fourier"),
  .title = N_ ("Fourier wedge of the joined sinogram"),
  .unsuited = axis_fourier_unsuited,
  .find = axis_fourier_find,
};
