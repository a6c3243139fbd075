/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lab-review.h"

#include <math.h>
#include <string.h>

#include "dataset/phantom-scan.h"

#define OVERSAMPLE 4 /* samples a pixel and direction of the phantom itself */

enum { LINEAR, HALF, NEAREST, OVERSAMPLING, N_VARIANTS };

static const char *const variants[N_VARIANTS] = {
  [LINEAR] = "linear, single: --method fbp --interpolation linear --precision single",
  [HALF] = "linear, half: --method fbp --interpolation linear --precision half",
  [NEAREST] = "nearest: --method fbp --interpolation nearest --precision single",
  [OVERSAMPLING]
  = "oversampling: --method fbp --kernel oversampling --interpolation linear --precision single",
};

gboolean
td_lab_review_add (TdLab *lab, GError **error)
{
  for (guint i = 0; i < N_VARIANTS; i++)
    if (!td_lab_add (lab, variants[i], error))
      return FALSE;
  lab->emulate = TRUE;
  return TRUE;
}

/* ── The phantom ── */

static void
lab_review_describe (const TdScanFacts *facts, TdPhantomScan *spec)
{
  double low = INFINITY, high = -INFINITY;

  for (guint i = 0; i < facts->n_views; i++) {
    low = fmin (low, facts->angles_rad[i]);
    high = fmax (high, facts->angles_rad[i]);
  }
  td_phantom_scan_init (spec, NULL, facts->n_columns, 1, facts->n_views);
  spec->logged = TRUE;
  spec->range_deg = high - low > 1.5 * G_PI ? 360 : 180;
}

/* Takes from @lab what concerns kernels, without the scan's preparation, axis and region. */
static TdLab *
lab_review_phantom_lab (const TdLab *lab, const TdPhantomScan *spec, GError **error)
{
  TdRecipe base;

  td_recipe_init (&base);
  base.n_steps = 0;
  td_recipe_state_axis (&base, (spec->n_columns - 1) / 2.0, 0);
  base.filter = lab->base.filter;
  memcpy (base.devices, lab->base.devices, sizeof base.devices);
  g_autoptr (TdLab) phantom = td_lab_new (&base, 0);
  return td_lab_review_add (phantom, error) ? g_steal_pointer (&phantom) : NULL;
}

/* Both labs are told as one: this scan's is the first half of the work. */
typedef struct {
  const TdLabReview *review;
  TdLabShow show; /* NULL: nobody wants to know */
  gpointer user;
} Telling;

static void
lab_review_tell (const TdLabResult *result, double fraction, gpointer user)
{
  const Telling *telling = user;
  const TdLabResult *scan = telling->review->scan; /* NULL: it is what runs */

  if (telling->show)
    telling->show (scan ? scan : result, (scan ? 0.5 : 0) + fraction / 2, telling->user);
}

static gboolean
lab_review_run_phantom (TdLabReview *review, TdEngine *engine, TdScan *scan, Telling *telling,
                        GCancellable *cancellable, GError **error)
{
  TdPhantomScan spec;

  lab_review_describe (td_scan_facts (scan), &spec);
  g_autoptr (TdLab) lab = lab_review_phantom_lab (review->lab, &spec, error);
  g_autoptr (TdScan) phantom = lab ? td_phantom_scan_new (&spec, error) : NULL;
  if (!phantom)
    return FALSE;
  review->phantom = td_lab_run (lab, engine, phantom, lab_review_tell, telling, cancellable, error);
  if (!review->phantom)
    return FALSE;
  const TdLabOutcome *any = td_lab_against (review->phantom);
  const gsize n = (gsize) any->nx * any->ny;
  review->truth = g_new (float, n);
  td_phantom_scan_truth (&spec, 0, any->nx, any->ny, OVERSAMPLE, review->truth);
  g_autofree double *truth = g_new (double, n);
  for (gsize i = 0; i < n; i++)
    truth[i] = review->truth[i];
  for (guint i = 0; i < N_VARIANTS; i++) {
    const TdLabOutcome *outcome = review->phantom->outcomes[i];
    if (outcome->pixels)
      td_lab_difference (outcome->pixels, truth, (gsize) any->nx * any->ny, &review->errors[i]);
  }
  return TRUE;
}

TdLabReview *
td_lab_review_run (const TdLab *lab, TdEngine *engine, TdScan *scan, TdLabShow show, gpointer user,
                   GCancellable *cancellable, GError **error)
{
  if (td_scan_facts (scan)->geometry.beam != TD_BEAM_PARALLEL)
    return td_set_error_null (
        error, TD_ERROR_INVALID,
        "The review's figures are of parallel beams, and this scan was taken with a fan "
        "or cone beam");
  g_autoptr (TdLabReview) review = g_new0 (TdLabReview, 1);
  review->lab = td_lab_copy (lab);
  Telling telling = { review, show, user };
  review->scan = td_lab_run (lab, engine, scan, lab_review_tell, &telling, cancellable, error);
  if (!review->scan || !lab_review_run_phantom (review, engine, scan, &telling, cancellable, error))
    return NULL;
  return g_steal_pointer (&review);
}

void
td_lab_review_free (TdLabReview *review)
{
  if (!review)
    return;
  td_lab_free (review->lab);
  td_lab_result_free (review->scan);
  td_lab_result_free (review->phantom);
  g_free (review->truth);
  g_free (review);
}

/* ── Figures ── */

/* A figure: which variants, and what they are subtracted from. */
typedef struct {
  const char *title;
  gboolean phantom;
  guint shown[3], n_shown;
  int from; /* a variant; -1: the phantom itself */
} Figure;

static const Figure figures[] = {
  { N_ ("Figure 7: single and half precision, phantom"), TRUE, { LINEAR, HALF }, 2, LINEAR },
  { N_ ("Figure 8: single and half precision, this scan"), FALSE, { LINEAR, HALF }, 2, LINEAR },
  { N_ ("Figure 18: interpolation, phantom"), TRUE, { NEAREST, LINEAR, OVERSAMPLING }, 3, -1 },
  { N_ ("Figure 19: interpolation, this scan"),
    FALSE,
    { NEAREST, LINEAR, OVERSAMPLING },
    3,
    LINEAR },
};

/* The profile above, the difference below. */
static void
lab_review_draw (const TdLabReview *review, const Figure *figure, TdLabPlot **above,
                 TdLabPlot **below)
{
  const TdLabResult *result = figure->phantom ? review->phantom : review->scan;
  const TdLabOutcome *any = td_lab_against (result);
  const TdLabOutcome *from = figure->from >= 0 ? result->outcomes[figure->from] : NULL;
  const TdLabPicture taken = { from ? from->pixels : review->truth, any->nx, any->ny };
  const TdLabLine *line = &result->line;

  *above = td_lab_plot_new (figure->title, N_ ("pixels along the line"), N_ ("value"));
  *below = td_lab_plot_new (figure->from < 0       ? N_ ("Absolute difference from the phantom")
                            : figure->n_shown == 2 ? N_ ("Absolute difference of the two")
                                                   : N_ ("Absolute difference from linear"),
                            N_ ("pixels along the line"), N_ ("|difference|"));
  if (figure->from < 0)
    td_lab_plot_add_profile (*above, "phantom", -1, &taken, line);
  for (guint i = 0; i < figure->n_shown; i++) {
    const guint shown = figure->shown[i];
    const TdLabOutcome *outcome = result->outcomes[shown];
    const TdLabVariant *variant = review->lab->variants->pdata[shown];
    g_autofree char *name
        = g_strdup_printf ("%s%s", variant->name, outcome->emulated ? " (emulated)" : "");
    if (!outcome->pixels)
      continue;
    const TdLabPicture picture = { outcome->pixels, any->nx, any->ny };
    td_lab_plot_add_profile (*above, name, (int) shown, &picture, line);
    if ((int) shown != figure->from)
      td_lab_series_differ (td_lab_plot_add_profile (*below, name, (int) shown, &picture, line),
                            &taken, line);
  }
  td_lab_plot_fit (*above);
  td_lab_plot_fit (*below);
}

void
td_lab_review_plots (const TdLabReview *review, TdLabPlot *plots[TD_LAB_REVIEW_PLOTS])
{
  for (guint i = 0; i < G_N_ELEMENTS (figures); i++)
    lab_review_draw (review, &figures[i], &plots[i / 2 * 4 + i % 2], &plots[i / 2 * 4 + 2 + i % 2]);
}

char *
td_lab_review_svg (TdLabPlot *const plots[TD_LAB_REVIEW_PLOTS])
{
  return td_lab_plots_svg (plots, TD_LAB_REVIEW_PLOTS, 2, 620, 280);
}
