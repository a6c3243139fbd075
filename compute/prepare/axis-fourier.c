/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <string.h>

#include "axis-pairs.h"
#include "axis-search.h"
#include "axis-spectrum.h"
#include "compute/device/host-fftw.h"
#include "compute/device/host.h"

/**
 * Vo et al., Reliable method for calculating the center of rotation in parallel-beam tomography, Opt.
 * Express 22 (2014): half a turn's sinogram joined with its own mirror image is the sinogram of a
 * whole turn if, and only if, it was mirrored at the right centre. The two-dimensional Fourier
 * transform of a whole turn lives inside a double wedge, |m| <= 2 pi r |f| (m cycles a turn, f cycles
 * a pixel, r the sample's radius); a seam that does not fit spills over its edges. The merit is
 *
 *   M (c) = 1 - mean |F| outside the wedge / mean |F| everywhere, rows |m| <= DROP left out
 *
 * where F is the transform of the joined sinogram, whitened (td_axis_whiten()) and faded to zero
 * towards the ends of the columns that both halves have: what only one half sees would be a seam by
 * itself. A whole turn is two half turns, each joined with its own mirror image.
 */

/* Larger sinograms are binned: the seam is found in the middle frequencies. */
#define COARSE_COLUMNS 160
#define FINE_COLUMNS 1024
#define COARSE_VIEWS 256
#define FINE_VIEWS 1024
#define DROP 2
#define LEAST_VIEWS 16
#define LEAST_REACH 6 /* columns from the centre to the nearer end */
/* Steps of the fine search, in binned columns, to either side. */
#define FINE_STEP 0.1
#define FINE_STEPS 20

typedef struct {
  const TdAxisInput *input;
  TdAxisSpectrum *rows[2]; /* of each half turn, binned and whitened */
  guint n_halves, n_views[2], n_columns, by_columns;
  guint length;            /* of the transform along columns */
  fftwf_plan along_views[2], along_columns;
} Wedge;

/* The joined sinogram on its way through the two transforms. */
typedef struct {
  const float *half;     /* [n_views][width], its middle column on the centre */
  guint n_views, width, length;
  fftwf_plan along_views, along_columns;
  fftwf_complex *mixed;  /* [n_views + 1][width]: m against columns */
  double *outside, *inside; /* [n_views + 1] sums of |F| */
  guint *n_outside, *n_inside;
} Joined;

/* Column t of the one half, column -t of the other, down all views. */
static void
transform_column (guint index, gpointer data)
{
  Joined *joined = data;
  guint n = 2 * joined->n_views, width = joined->width;
  gint reach = (gint) width / 2;
  float weight = (float) td_axis_fade ((gint) index - reach, reach);
  fftwf_complex *from = fftwf_alloc_complex (n), *to = fftwf_alloc_complex (n);

  memset (from, 0, n * sizeof *from);
  for (guint v = 0; v < joined->n_views; v++) {
    from[v][0] = weight * joined->half[(gsize) v * width + index];
    from[joined->n_views + v][0] = weight * joined->half[(gsize) v * width + width - 1 - index];
  }
  fftwf_execute_dft (joined->along_views, from, to);
  for (guint m = 0; m <= joined->n_views; m++)
    memcpy (joined->mixed[(gsize) m * width + index], to[m], sizeof *to);
  fftwf_free (from);
  fftwf_free (to);
}

static void
transform_row (guint m, gpointer data)
{
  Joined *joined = data;
  guint n = joined->length;
  fftwf_complex *from = fftwf_alloc_complex (n), *to = fftwf_alloc_complex (n);
  double radius = joined->width / 2.0;

  memset (from, 0, n * sizeof *from);
  memcpy (from, joined->mixed + (gsize) m * joined->width, joined->width * sizeof *from);
  fftwf_execute_dft (joined->along_columns, from, to);
  joined->outside[m] = joined->inside[m] = 0;
  joined->n_outside[m] = joined->n_inside[m] = 0;
  for (guint i = 0; i < n; i++) {
    double f = MIN (i, n - i) / (double) n, size = hypot (to[i][0], to[i][1]);
    if (2 * G_PI * f * radius < m) {
      joined->outside[m] += size;
      joined->n_outside[m]++;
    } else {
      joined->inside[m] += size;
      joined->n_inside[m]++;
    }
  }
  fftwf_free (from);
  fftwf_free (to);
}

/* The share of mean |F| that lies outside the wedge. */
static double
share_outside (const Joined *joined)
{
  double outside = 0, all = 0;
  guint64 n_outside = 0, n_all = 0;

  for (guint m = DROP + 1; m <= joined->n_views; m++) {
    outside += joined->outside[m];
    all += joined->outside[m] + joined->inside[m];
    n_outside += joined->n_outside[m];
    n_all += joined->n_outside[m] + joined->n_inside[m];
  }
  return n_outside && all > 0 ? outside / n_outside / (all / n_all) : 1;
}

/* The same for half turn @h, whose middle column is the centre. */
static double
spilled (const Wedge *wedge, guint h, const float *half, guint width)
{
  guint n_views = wedge->n_views[h];
  Joined joined = {
    .half = half, .n_views = n_views, .width = width, .length = wedge->length,
    .along_views = wedge->along_views[h], .along_columns = wedge->along_columns,
    .mixed = fftwf_alloc_complex ((gsize) (n_views + 1) * width),
    .outside = g_new0 (double, n_views + 1), .inside = g_new0 (double, n_views + 1),
    .n_outside = g_new0 (guint, n_views + 1), .n_inside = g_new0 (guint, n_views + 1),
  };

  td_parallel_for (width, transform_column, &joined);
  td_parallel_for (n_views + 1, transform_row, &joined);
  double share = share_outside (&joined);
  fftwf_free (joined.mixed);
  g_free (joined.outside);
  g_free (joined.inside);
  g_free (joined.n_outside);
  g_free (joined.n_inside);
  return share;
}

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

static gboolean
load_half (Wedge *wedge, const guint *picked, guint n, guint by_views, GError **error)
{
  guint columns = wedge->input->n_columns, h = wedge->n_halves++;
  g_autofree float *rows = g_new (float, (gsize) n * columns);

  for (guint v = 0; v < n; v++)
    memcpy (rows + (gsize) v * columns, wedge->input->sinogram + (gsize) picked[v] * columns,
            columns * sizeof *rows);
  wedge->n_views[h] = n / by_views;
  g_autofree float *binned = td_axis_bin (rows, n, columns, by_views, wedge->by_columns);
  g_autofree float *white = td_axis_whiten (binned, wedge->n_views[h], wedge->n_columns);
  if (white)
    wedge->rows[h] = td_axis_spectrum_new (white, wedge->n_views[h], wedge->n_columns, FALSE);
  wedge->along_views[h] = td_fftw_plan (2 * wedge->n_views[h]);
  if (wedge->rows[h] && wedge->along_views[h])
    return TRUE;
  g_set_error (error, TD_ERROR, TD_ERROR_DEVICE_MEMORY,
               "There is no memory to transform %u views of %u columns", n, columns);
  return FALSE;
}

static gboolean
load (Wedge *wedge, guint most_views, guint most_columns, GError **error)
{
  const TdAxisInput *input = wedge->input;
  double step = td_axis_step (input->angles_rad, input->n_views, NULL);
  g_autofree guint *order = td_axis_order (input->angles_rad, input->n_views);
  g_autofree guint *picked = g_new (guint, input->n_views);

  wedge->by_columns = (input->n_columns + most_columns - 1) / most_columns;
  wedge->n_columns = input->n_columns / wedge->by_columns;
  wedge->length = td_fft_good_size (wedge->n_columns);
  wedge->along_columns = td_fftw_plan (wedge->length);
  for (guint half = 0; half < 2; half++) {
    guint n = pick_half (input->angles_rad, order, input->n_views, half, step, picked);
    if (n >= LEAST_VIEWS && regular (input->angles_rad, picked, n, step)
        && !load_half (wedge, picked, n, (n + most_views - 1) / most_views, error))
      return FALSE;
    if (wedge->n_halves == 0)
      break;
  }
  return TRUE;
}

static void
unload (Wedge *wedge)
{
  for (guint h = 0; h < wedge->n_halves; h++) {
    td_axis_spectrum_free (wedge->rows[h]);
    td_fftw_plan_free (wedge->along_views[h]);
  }
  td_fftw_plan_free (wedge->along_columns);
  *wedge = (Wedge) { .input = wedge->input };
}

/* ── The search ───────────────────────────────────────────────────────────────────────────────── */

/* @centre: in binned columns. @reach: columns to either side. */
static gboolean
merit (const Wedge *wedge, double centre, guint reach, double *value, GError **error)
{
  guint width = 2 * reach + 1;

  *value = 0;
  for (guint h = 0; h < wedge->n_halves; h++) {
    g_autofree float *half = g_new (float, (gsize) wedge->n_views[h] * width);
    if (g_cancellable_set_error_if_cancelled (wedge->input->cancellable, error))
      return FALSE;
    td_axis_spectrum_rows (wedge->rows[h], 0, wedge->n_views[h], centre - reach, width, half);
    *value += (1 - spilled (wedge, h, half, width)) / wedge->n_halves;
  }
  return TRUE;
}

static guint
reach_of (const Wedge *wedge, double centre)
{
  return (guint) MAX (floor (MIN (centre, wedge->n_columns - 1 - centre)), 0);
}

static double
to_binned (const Wedge *wedge, double column)
{
  return (column + 0.5) / wedge->by_columns - 0.5;
}

static double
from_binned (const Wedge *wedge, double column)
{
  return (column + 0.5) * wedge->by_columns - 0.5;
}

/* Every half column of the binned sinogram. */
static gboolean
search_coarse (const Wedge *wedge, TdAxisEstimate *estimate, GError **error)
{
  double least = LEAST_REACH, most = wedge->n_columns - 1.0 - LEAST_REACH;
  double first = ceil (2 * MAX (to_binned (wedge, wedge->input->first_px), least)) / 2;
  double last = floor (2 * MIN (to_binned (wedge, wedge->input->last_px), most)) / 2;
  TdAxisCurve curve = { first, 0.5, last >= first ? (guint) (2 * (last - first)) + 1 : 0, NULL };

  if (curve.n < 3)
    return TRUE; /* so near already that the fine search sees all of it */
  g_autofree double *values = g_new (double, curve.n);
  curve.merit = values;
  for (guint i = 0; i < curve.n; i++) {
    double centre = first + 0.5 * i;
    if (!merit (wedge, centre, reach_of (wedge, centre), &values[i], error))
      return FALSE;
  }
  if (td_axis_curve_peak (&curve, estimate))
    estimate->centre_px = from_binned (wedge, estimate->centre_px);
  return TRUE;
}

/* Around what the coarse search found, on the finer sinogram, with one window for all. */
static gboolean
search_fine (const Wedge *wedge, double around_px, double reach_px, TdAxisEstimate *estimate,
             GError **error)
{
  double around = to_binned (wedge, around_px);
  double step = MAX (FINE_STEP, reach_px / wedge->by_columns / FINE_STEPS);
  guint reach = reach_of (wedge, around);

  for (guint round = 0; round < 2; round++) {
    double values[2 * FINE_STEPS + 1];
    TdAxisCurve curve = { around - FINE_STEPS * step, step, G_N_ELEMENTS (values), values };
    for (guint i = 0; i < curve.n; i++)
      if (!merit (wedge, curve.first_px + i * step, reach, &values[i], error))
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
  estimate->centre_px = from_binned (wedge, around);
  return TRUE;
}

static gboolean
find (const TdAxisInput *input, TdAxisEstimate *estimate, GError **error)
{
  Wedge wedge = { .input = input };

  *estimate = (TdAxisEstimate) { NAN, 0, NAN, NULL };
  if ((estimate->reason = unsuited (input->angles_rad, input->n_views, input->n_columns)))
    return TRUE;
  gboolean done = load (&wedge, COARSE_VIEWS, COARSE_COLUMNS, error)
                  && search_coarse (&wedge, estimate, error);
  double reach_px = wedge.by_columns;
  unload (&wedge);
  if (done && isfinite (estimate->centre_px))
    done = load (&wedge, FINE_VIEWS, FINE_COLUMNS, error)
           && search_fine (&wedge, estimate->centre_px, reach_px, estimate, error);
  unload (&wedge);
  return done;
}

const TdAxisMethodKind td_axis_fourier = {
  .method = TD_AXIS_FOURIER,
  .name = "fourier",
  .title = "Fourier wedge of the joined sinogram",
  .unsuited = unsuited,
  .find = find,
};
