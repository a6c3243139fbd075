/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>

#include "rings.h"
#include "compute/prepare/steps.h"

/**
 * Vo et al., Opt. Express 26 (2018), algorithm 1. A polynomial of low order is fitted to each
 * column along the angle, and the fits are smoothed across columns. The smoothing's change is taken
 * from the column. For intensities it is a factor, as published. For line integrals it is a
 * difference, since a pixel's gain is a sum there and a fit may be 0.
 *
 * A fit is a sum of orthonormal polynomials, so that smoothing its coefficients smooths it.
 */
enum { SIZE, ORDER, CORRECTION };
enum { SUBTRACT, DIVIDE };

static const char *const correction_names[] = { N_ ("subtract"), N_ ("divide"), NULL };
static const TdStepParameter parameters[] = {
  [SIZE] = { "size", N_ ("Smoothing across columns (columns)"),
             N_ ("Standard deviation of the Gaussian; about the widest stripe."), 3, 0.5, 50, 1,
             NULL, TRUE },
  [ORDER] = { "order", N_ ("Order of the polynomial"),
              N_ ("1 to 3; higher follows stripes that change over the turn, and the object."), 2,
              0, 7, 0, NULL },
  [CORRECTION]
  = { "correction", N_ ("Correction"), N_ ("Subtract on line integrals; divide as published."),
      SUBTRACT, 0, 1, 0, correction_names },
};

#define REACH 5.5          /* standard deviations: exp (-15) is left out */
#define MOST_FACTOR 1000.0 /* of a division: beyond it, there is nothing to divide */

static guint
modes_of (const TdStep *step, guint n_views)
{
  return MIN ((guint) step->values[ORDER], n_views - 1) + 1;
}

static guint64
step_rings_fitting_row_bytes (const TdStep *step, const TdScanFacts *facts)
{
  return 2 * sizeof (float) * (guint64) modes_of (step, facts->n_views) * facts->n_columns;
}

static guint64
step_rings_fitting_workspace_bytes (const TdStep *step, const TdScanFacts *facts, guint n_rows)
{
  return td_rings_workspace_bytes (step, facts, n_rows)
         + sizeof (float)
               * ((guint64) modes_of (step, facts->n_views) * facts->n_views
                  + (guint64) ceil (REACH * step->values[SIZE]) + 1);
}

/* Orthonormal on the views: powers times the one before, less what the others hold (twice: Gram and
   Schmidt's rounding). made_for: views, modes. */
static void
fill_polynomials (float *table, const double *made_for)
{
  guint n = (guint) made_for[0], n_modes = (guint) made_for[1];
  g_autofree double *modes = g_new (double, (gsize) n *n_modes);

  for (guint k = 0; k < n_modes; k++) {
    double *own = modes + (gsize) k * n, norm = 0;
    const double *before = k > 0 ? own - n : own;
    for (guint v = 0; v < n; v++)
      own[v] = k == 0 ? 1 : before[v] * (v - 0.5 * (n - 1));
    for (guint again = 0; again < 2; again++)
      for (guint j = 0; j < k; j++) {
        double share = 0;
        for (guint v = 0; v < n; v++)
          share += own[v] * modes[(gsize) j * n + v];
        for (guint v = 0; v < n; v++)
          own[v] -= share * modes[(gsize) j * n + v];
      }
    for (guint v = 0; v < n; v++)
      norm += own[v] * own[v];
    for (guint v = 0; v < n; v++) {
      own[v] /= sqrt (norm);
      table[(gsize) k * n + v] = (float) own[v];
    }
  }
}

/* made_for: standard deviation. */
static void
fill_gaussian (float *weights, const double *made_for)
{
  double sigma = made_for[0], sum = 0;
  int radius = (int) ceil (REACH * sigma);

  for (int i = -radius; i <= radius; i++)
    sum += exp (-0.5 * i * i / (sigma * sigma));
  for (int i = 0; i <= radius; i++)
    weights[i] = (float) (exp (-0.5 * i * i / (sigma * sigma)) / sum);
}

static gboolean
step_rings_fitting_divide (const TdRings *rings, TdBuffer *table, TdBuffer *fit, TdBuffer *smooth,
                           guint n_modes, GError **error)
{
  const TdSlab *slab = rings->slab;

  return td_rings_launch (
      rings, "rings-columns", "rings_divide_modes", (guint64) td_slab_strips (slab) * slab->n_views,
      TD_ARGS (slab->data, table, fit, smooth, rings->first_row, slab->n_views, slab->n_columns,
               n_modes, td_slab_strip (slab), (float) MOST_FACTOR),
      error);
}

static gboolean
step_rings_fitting_run_chunk (const TdStep *step, const TdRings *rings, GError **error)
{
  TdSlab *slab = rings->slab;
  guint n_modes = modes_of (step, slab->n_views);
  guint radius = (guint) ceil (REACH * step->values[SIZE]);
  gboolean subtract = step->values[CORRECTION] == SUBTRACT;
  const double table_for[TD_RINGS_TABLE_KEYS] = { slab->n_views, n_modes };
  const double weights_for[TD_RINGS_TABLE_KEYS] = { step->values[SIZE] };
  guint64 floats = (guint64) n_modes * slab->n_columns;
  TdBuffer *table = td_rings_table (slab, "rings-fitting polynomials", table_for,
                                    (guint64) n_modes * slab->n_views, fill_polynomials, error);
  TdBuffer *weights = table ? td_rings_table (slab, "rings-fitting weights", weights_for,
                                              radius + 1, fill_gaussian, error)
                            : NULL;
  TdBuffer *fit = weights ? td_rings_buffer (rings, "rings modes 0", floats, error) : NULL;
  TdBuffer *smooth = fit ? td_rings_buffer (rings, "rings modes 1", floats, error) : NULL;

  if (!smooth || !td_rings_project (rings, table, n_modes, fit, error)
      || !td_rings_smooth (rings, fit, n_modes, (TdRingsSmoothing) { weights, radius, subtract },
                           smooth, error))
    return FALSE;
  if (!subtract)
    return step_rings_fitting_divide (rings, table, fit, smooth, n_modes, error);
  return td_rings_add_modes (rings, table, n_modes, smooth, error);
}

const TdStepKind td_step_rings_fitting = {
  .name = "rings-fitting",
  .title = N_ ("Rings: fitting"),
  .summary = N_ ("Smooths, across columns, the polynomial that fits each column along the angle."),
  .stage = TD_STEP_ABSORPTION,
  TD_STEP_PARAMETERS (parameters),
  .workspace_bytes = step_rings_fitting_workspace_bytes,
  .run = td_rings_run,
  .row_bytes = step_rings_fitting_row_bytes,
  .run_chunk = step_rings_fitting_run_chunk,
};
