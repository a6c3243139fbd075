/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>

#include "slab.h"
#include "steps.h"

/**
 * Double flat field: a turning sample blurs in the mean over all views, so that single pixels seen
 * there are the detector's. T' = T G (m) / m, where m is the pixel's mean transmission over the
 * views. G is a Gaussian along the row, cut off at four standard deviations and mirrored at the
 * edges (Nabu's double flat field with a high-pass).
 */
enum { WIDTH };

#define SPAN 64 /* views summed in one go: short enough for the rounding of single precision */

static const TdStepParameter parameters[] = {
  [WIDTH] = { "width", N_ ("Smoothing (columns)"),
              N_ ("What the mean shows on a smaller scale is divided out. Keep it near the "
                  "stripes' own width: more takes the sample's own mean away with it."),
              2, 0.5, 200, 1, NULL, TRUE },
};

static guint
step_double_flat_radius_of (double width)
{
  return (guint) ceil (4 * width);
}

static guint64
step_double_flat_sums_bytes (guint n_rows, guint n_views, guint n_columns)
{
  return (guint64) n_rows * ((n_views + SPAN - 1) / SPAN) * n_columns * sizeof (float);
}

static guint64
step_double_flat_workspace_bytes (const TdStep *step, const TdScanFacts *facts, guint n_rows)
{
  return step_double_flat_sums_bytes (n_rows, facts->n_views, facts->n_columns)
         + 2 * sizeof (float) * (guint64) n_rows * facts->n_columns
         + (step_double_flat_radius_of (step->values[WIDTH]) + 1) * sizeof (float);
}

static TdBuffer *
send_taps (TdSlab *slab, double width, GError **error)
{
  const double *held = td_slab_kept (slab, "double-flat width");
  guint radius = step_double_flat_radius_of (width);
  gsize bytes = (radius + 1) * sizeof (float);

  if (held && *held == width)
    return td_slab_buffer (slab, "double-flat taps", bytes, error);
  g_autofree float *half = g_new (float, radius + 1);
  double sum = 1;
  for (guint i = 1; i <= radius; i++)
    sum += 2 * exp (-0.5 * i * i / (width * width));
  for (guint i = 0; i <= radius; i++)
    half[i] = (float) (exp (-0.5 * i * i / (width * width)) / sum);
  TdBuffer *taps = td_slab_send (slab, "double-flat taps", half, bytes, error);
  if (taps)
    td_slab_keep (slab, "double-flat width", g_memdup2 (&width, sizeof width), g_free);
  return taps;
}

/* The mean over the views of each pixel. */
static gboolean
launch_means (TdSlab *slab, TdBuffer *sums, TdBuffer *means, GError **error)
{
  guint strip = td_slab_strip (slab), strips = td_slab_strips (slab);
  const guint span = SPAN, n_spans = (slab->n_views + SPAN - 1) / SPAN;

  return td_slab_launch (
             slab, "prepare-correct", "prepare_sum_views",
             (guint[]) { strips, n_spans, slab->n_rows },
             TD_ARGS (slab->data, sums, slab->n_views, slab->n_columns, n_spans, span, strip),
             error)
         && td_slab_launch (
             slab, "prepare-correct", "prepare_mean_views", (guint[]) { strips, 1, slab->n_rows },
             TD_ARGS (sums, means, slab->n_views, slab->n_columns, n_spans, strip), error);
}

static gboolean
launch_gain (TdSlab *slab, TdBuffer *means, TdBuffer *gain, TdBuffer *taps, guint radius,
             GError **error)
{
  guint strip = td_slab_strip (slab), strips = td_slab_strips (slab);

  return td_slab_launch (slab, "prepare-correct", "prepare_double_flat_gain",
                         (guint[]) { strips, 1, slab->n_rows },
                         TD_ARGS (means, gain, taps, slab->n_columns, radius, strip), error)
         && td_slab_launch (slab, "prepare-correct", "prepare_gain",
                            (guint[]) { strips, slab->n_views, slab->n_rows },
                            TD_ARGS (slab->data, gain, slab->n_views, slab->n_columns, strip),
                            error);
}

static gboolean
step_double_flat_run (const TdStep *step, TdSlab *slab, GError **error)
{
  guint64 row_bytes = (guint64) slab->n_rows * slab->n_columns * sizeof (float);
  double width = step->values[WIDTH];
  TdBuffer *taps = send_taps (slab, width, error);
  TdBuffer *sums
      = taps ? td_slab_buffer (
            slab, "double-flat sums",
            step_double_flat_sums_bytes (slab->n_rows, slab->n_views, slab->n_columns), error)
             : NULL;
  TdBuffer *means = sums ? td_slab_buffer (slab, "double-flat means", row_bytes, error) : NULL;
  TdBuffer *gain = means ? td_slab_buffer (slab, "double-flat gain", row_bytes, error) : NULL;

  return gain && launch_means (slab, sums, means, error)
         && launch_gain (slab, means, gain, taps, step_double_flat_radius_of (width), error);
}

const TdStepKind td_step_double_flat = {
  .name = "double-flat",
  .title = N_ ("Double flat field"),
  .summary = N_ ("Divides out what the mean over all views still shows of single detector pixels."),
  .stage = TD_STEP_FLAT,
  TD_STEP_PARAMETERS (parameters),
  .workspace_bytes = step_double_flat_workspace_bytes,
  .run = step_double_flat_run,
};
