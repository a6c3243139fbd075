/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "axis-consensus.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dataset/sort.h"

/* A guess by weak trials needs so many near one line, and half of all. Its error is at least the
   second figure, in columns. */
#define LEAST_GUESS 3
#define GUESS_PX 0.5
/* The standard error of a tilt that no trials tell: axes are mounted about so well. */
#define MOUNTED_DEG 0.5
/* Trials up to so many columns from a line may belong to it. */
#define LINE_REACH 1.5
#define STEEPEST 0.09 /* five degrees */
#define TUKEY 4.5
#define ROUNDS 15
/* A slope within this many standard errors is none. */
#define SIGNIFICANT 3
/* A centre less certain than so many columns is not found. */
#define CERTAIN_PX 0.14
/* Trials have more outliers than a normal distribution. With this factor 95 of 100 centres of the
   study lie within two standard errors (tests/truth/test-axis-study.c). */
#define TAILS 1.4
/* What rows alone may miss of the tilt, in columns between the first and the last of them. About a
   tilted axis, all rows of one large body tell the same centre. */
#define MISSED_PX 0.3
/* From this excess on (excess_of()), the advice names the difference between the methods. */
#define DIFFER 1.5
/* The part of a method's own spread that all its rows may share. */
#define COMMON 0.9
/* The largest part of the evidence that may contradict the line. */
#define MOST_CONTRADICTION 0.35

typedef struct {
  const TdAxisTrial *trials;
  guint n;
  double *sigma;                /* [n] of each trial, in columns; 0: it counts for nothing */
  double common[TD_AXIS_COUNT]; /* the error that all rows of a method share */
  double *weight;               /* [n] after the robust rounds */
  TdAxisLine line;
  double slope_error;
  double known_row, known_error; /* where the centre is known best, and its error there */
  gboolean equal;                /* trials vote alike, whatever their confidence */
  double scale;                  /* by how much trials scatter more than they state */
} Fit;

/* The error of a method on good data, which all its rows share. Neither a smaller spread nor more
   rows reduce it. */
static double
floor_of (TdAxisMethod method)
{
  static const double floors[TD_AXIS_COUNT] = { 0.01, 0.02, 0.01, 0.02, 0.01 };

  return floors[method];
}

static double *
make_sigmas (const TdAxisTrial *trials, guint n)
{
  double *sigma = g_new0 (double, n);

  for (guint i = 0; i < n; i++) {
    double own = isfinite (trials[i].spread_px) ? trials[i].spread_px : 0;
    double floor = floor_of (trials[i].method);
    if (isfinite (trials[i].centre_px) && trials[i].confidence >= TD_AXIS_WEAK)
      sigma[i] = hypot (floor, own) / sqrt (trials[i].confidence);
  }
  return sigma;
}

static void
axis_consensus_find_common (Fit *fit)
{
  for (guint m = 0; m < TD_AXIS_COUNT; m++) {
    double squares = 0;
    guint n = 0;
    for (guint i = 0; i < fit->n; i++)
      if (fit->trials[i].method == m && fit->sigma[i] > 0 && isfinite (fit->trials[i].spread_px)) {
        squares += fit->trials[i].spread_px * fit->trials[i].spread_px;
        n++;
      }
    fit->common[m] = hypot (floor_of (m), n ? COMMON * sqrt (squares / n) : 0);
  }
}

/* ── The mode ── */

/* A trial votes by its confidence, not by its spread: none outvotes all others. */
static double
votes_for (const Fit *fit, const TdAxisLine *line)
{
  double votes = 0;

  for (guint i = 0; i < fit->n; i++) {
    const TdAxisTrial *trial = &fit->trials[i];
    double away
        = fit->sigma[i] > 0 ? trial->centre_px - td_axis_line_at (line, trial->row) : INFINITY;
    if (fabs (away) < LINE_REACH)
      votes += (fit->equal ? 1 : trial->confidence) * (1 - away * away / (LINE_REACH * LINE_REACH));
  }
  return votes;
}

static TdAxisLine
find_mode (const Fit *fit, double middle)
{
  TdAxisLine best = { NAN, 0, middle };
  double most = 0;

  for (guint i = 0; i < fit->n; i++)
    for (guint j = i; j < fit->n; j++) {
      const TdAxisTrial *a = &fit->trials[i], *b = &fit->trials[j];
      if (fit->sigma[i] <= 0 || fit->sigma[j] <= 0 || (j > i && a->row == b->row))
        continue;
      double slope = j == i ? 0 : (b->centre_px - a->centre_px) / ((double) b->row - a->row);
      if (fabs (slope) > STEEPEST)
        continue;
      TdAxisLine line = { a->centre_px + slope * (middle - a->row), slope, middle };
      /* An upright axis wins a tie. */
      double votes = votes_for (fit, &line) * (j == i ? 1.02 : 1);
      if (votes > most) {
        most = votes;
        best = line;
      }
    }
  return best;
}

/* No trial is better than chance, but many that say the same may be. All count alike. FALSE: they
   are scattered. */
static gboolean
make_guess (Fit *fit, double middle)
{
  guint found = 0, near = 0;

  for (guint i = 0; i < fit->n; i++) {
    found += isfinite (fit->trials[i].centre_px);
    fit->sigma[i] = isfinite (fit->trials[i].centre_px) ? GUESS_PX : 0;
  }
  fit->equal = TRUE;
  fit->line = find_mode (fit, middle);
  for (guint i = 0; i < fit->n; i++) /* what was not found is near nothing */
    near += fabs (fit->trials[i].centre_px - td_axis_line_at (&fit->line, fit->trials[i].row))
            < LINE_REACH;
  return near >= LEAST_GUESS && 2 * near > found;
}

TdAxisLine
td_axis_line_mode (const TdAxisTrial *trials, guint n_trials, double middle_row)
{
  g_autofree double *sigma = make_sigmas (trials, n_trials);
  Fit fit = { .trials = trials, .n = n_trials, .sigma = sigma };

  return find_mode (&fit, middle_row);
}

/* ── The fit ── */

/* Median residual of those near the line, in units of their sigma; at least 1. */
static double
robust_scale (const Fit *fit)
{
  g_autofree double *size = g_new (double, fit->n);
  guint n = 0;

  for (guint i = 0; i < fit->n; i++) {
    double away = fit->trials[i].centre_px - td_axis_line_at (&fit->line, fit->trials[i].row);
    if (fit->sigma[i] > 0 && fabs (away) < LINE_REACH)
      size[n++] = fabs (away) / fit->sigma[i];
  }
  if (n == 0)
    return 1;
  qsort (size, n, sizeof *size, td_compare_doubles);
  return MAX (1, 1.4826 * size[n / 2]);
}

/* Weighted least squares; @with_slope FALSE keeps the slope that the line has. */
static void
axis_consensus_solve (Fit *fit, gboolean with_slope)
{
  double w = 0, wx = 0, wxx = 0, wy = 0, wxy = 0;

  for (guint i = 0; i < fit->n; i++) {
    double x = fit->trials[i].row - fit->line.middle_row, weight = fit->weight[i];
    if (weight <= 0)
      continue;
    w += weight;
    wx += weight * x;
    wxx += weight * x * x;
    wy += weight * fit->trials[i].centre_px;
    wxy += weight * x * fit->trials[i].centre_px;
  }
  double determinant = w * wxx - wx * wx;
  if (w <= 0)
    return;
  fit->known_row = fit->line.middle_row + wx / w;
  fit->known_error = sqrt (1 / w);
  if (with_slope && determinant > 1e-9 * w * wxx) {
    fit->line.centre_px = (wxx * wy - wx * wxy) / determinant;
    fit->line.slope = (w * wxy - wx * wy) / determinant;
    fit->slope_error = sqrt (w / determinant);
  } else {
    fit->line.centre_px = (wy - fit->line.slope * wx) / w;
    fit->slope_error = 0;
  }
}

/* The weights of a method, all rows together, allow for the error that its rows share. */
static void
cap_weights (Fit *fit)
{
  for (guint m = 0; m < TD_AXIS_COUNT; m++) {
    double sum = 0, most = 1 / (fit->common[m] * fit->common[m]);
    for (guint i = 0; i < fit->n; i++)
      sum += fit->trials[i].method == m ? fit->weight[i] : 0;
    for (guint i = 0; i < fit->n && sum > most; i++)
      if (fit->trials[i].method == m)
        fit->weight[i] *= most / sum;
  }
}

/* Iteratively reweighted by Tukey's biweight. */
static void
fit_line (Fit *fit, gboolean with_slope)
{
  double scale = 1;

  for (guint round = 0; round < ROUNDS; round++) {
    scale = robust_scale (fit);
    for (guint i = 0; i < fit->n; i++) {
      fit->weight[i] = 0;
      if (fit->sigma[i] <= 0)
        continue;
      double away = fit->trials[i].centre_px - td_axis_line_at (&fit->line, fit->trials[i].row);
      double x = away / (TUKEY * scale * fit->sigma[i]);
      if (fabs (x) < 1)
        fit->weight[i] = (1 - x * x) * (1 - x * x) / (fit->sigma[i] * fit->sigma[i]);
    }
    cap_weights (fit);
    axis_consensus_solve (fit, with_slope);
  }
  fit->known_error *= scale;
  fit->slope_error *= scale;
  fit->scale = scale;
}

/* A trial is no more certain than its method scatters from row to row. */
static void
widen_sigmas (Fit *fit)
{
  g_autofree double *away = g_new (double, fit->n);

  for (guint m = 0; m < TD_AXIS_COUNT; m++) {
    guint n = 0;
    for (guint i = 0; i < fit->n; i++) {
      double off = fit->trials[i].centre_px - td_axis_line_at (&fit->line, fit->trials[i].row);
      if (fit->trials[i].method == m && fit->sigma[i] > 0 && fabs (off) < LINE_REACH)
        away[n++] = fabs (off);
    }
    if (n < 3)
      continue;
    qsort (away, n, sizeof *away, td_compare_doubles);
    double scatter = 1.4826 * (n % 2 ? away[n / 2] : (away[n / 2 - 1] + away[n / 2]) / 2);
    for (guint i = 0; i < fit->n; i++)
      if (fit->trials[i].method == m && fit->sigma[i] > 0)
        fit->sigma[i] = MAX (fit->sigma[i], scatter);
  }
}

/* The standard error of a slope that the rows alone tell. */
static double
slope_error_of_rows (const Fit *fit)
{
  double first = INFINITY, last = -INFINITY;

  for (guint i = 0; i < fit->n; i++)
    if (fit->weight[i] > 0) {
      first = MIN (first, fit->trials[i].row);
      last = MAX (last, fit->trials[i].row);
    }
  return hypot (fit->slope_error, last > first ? MISSED_PX / (last - first) : INFINITY);
}

/* Rows of so many trials: of those that count, or of all. */
static guint
axis_consensus_rows (const Fit *fit, gboolean all)
{
  guint rows = 0;

  for (guint i = 0; i < fit->n; i++) {
    gboolean seen = !all && fit->weight[i] <= 0;
    for (guint j = 0; j < i && !seen; j++)
      seen = (all || fit->weight[j] > 0) && fit->trials[j].row == fit->trials[i].row;
    rows += !seen;
  }
  return rows;
}

/* ── What it is worth ── */

typedef struct {
  double away; /* weighted mean of a method's residuals that lie near */
  double error;
  double votes, votes_against;
  guint n;
} Opinion;

static void
collect_opinions (const Fit *fit, Opinion *opinions)
{
  memset (opinions, 0, TD_AXIS_COUNT * sizeof *opinions);
  for (guint i = 0; i < fit->n; i++) {
    const TdAxisTrial *trial = &fit->trials[i];
    Opinion *opinion = &opinions[trial->method];
    if (fit->sigma[i] <= 0)
      continue;
    double away = trial->centre_px - td_axis_line_at (&fit->line, trial->row);
    double weight = 1 / (fit->sigma[i] * fit->sigma[i]);
    if (fabs (away) > LINE_REACH) {
      opinion->votes_against += trial->confidence;
      continue;
    }
    opinion->votes += trial->confidence;
    opinion->away += weight * away;
    opinion->error += weight;
    opinion->n++;
  }
  for (guint m = 0; m < TD_AXIS_COUNT; m++)
    if (opinions[m].n) {
      opinions[m].away /= opinions[m].error;
      opinions[m].error = sqrt (1 / opinions[m].error);
    }
}

static char *
say_disagreement (const Opinion *opinions, const TdAxisLine *line)
{
  g_autoptr (TdMessage) all = NULL;

  for (guint m = 0; m < TD_AXIS_COUNT; m++)
    if (opinions[m].n) {
      const double centre_px = line->centre_px + opinions[m].away;
      TdMessage *one = td_message_new ("%s gives %.2f", td_axis_method_name (m), centre_px);
      all = all ? td_message_new ("%p, %p", g_steal_pointer (&all), one) : one;
    }
  return td_message_packed (
      "The methods differ: %p; look at the trial slices and give the centre by hand",
      g_steal_pointer (&all));
}

/* By which factor the methods differ more than their errors allow (Birge's ratio); at least 1. The
   scatter of trials is part of the error already. */
static double
excess_of (const Fit *fit, const Opinion *opinions)
{
  double sum = 0;
  guint methods = 0;

  for (guint m = 0; m < TD_AXIS_COUNT; m++) {
    double may = hypot (fit->common[m], opinions[m].error);
    if (opinions[m].n == 0)
      continue;
    sum += opinions[m].away * opinions[m].away / (may * may);
    methods++;
  }
  return methods > 1 ? MAX (sqrt (sum / (methods - 1)) / fit->scale, 1) : 1;
}

/* The median distance of trials that contradict the line. */
static double
distance_of_others (const Fit *fit)
{
  g_autofree double *away = g_new (double, fit->n + 1);
  guint n = 0;

  for (guint i = 0; i < fit->n; i++) {
    double off = fit->trials[i].centre_px - td_axis_line_at (&fit->line, fit->trials[i].row);
    if (fit->sigma[i] > 0 && fabs (off) > LINE_REACH)
      away[n++] = fabs (off);
  }
  qsort (away, n, sizeof *away, td_compare_doubles);
  return n ? away[n / 2] : 0;
}

/* Sets agreed, uncertainty and advice by how well rows and methods agree. */
static void
axis_consensus_judge (TdAxisResult *result, const Fit *fit)
{
  Opinion opinions[TD_AXIS_COUNT];
  double with = 0, against = 0;
  guint methods = 0, n = 0, used = 0, found = 0;

  for (guint i = 0; i < fit->n; i++) {
    found += isfinite (fit->trials[i].centre_px);
    used += fit->weight[i] > 0;
  }
  collect_opinions (fit, opinions);
  for (guint m = 0; m < TD_AXIS_COUNT; m++) {
    with += opinions[m].votes;
    against += opinions[m].votes_against;
    methods += opinions[m].n > 0;
    n += opinions[m].n;
  }
  double excess = excess_of (fit, opinions);
  /* Nothing was tried on some rows: the last one is as far from the middle as the first. */
  const gboolean more = axis_consensus_rows (fit, TRUE) < 2 * fit->line.middle_row + 1;
  const double share = with + against > 0 ? against / (with + against) : 0;
  double known = 2 * TAILS * fit->known_error * excess;
  if (share > MOST_CONTRADICTION)
    known = hypot (known, share * distance_of_others (fit));
  const double lever = 2 * fit->slope_error * (fit->line.middle_row - fit->known_row);
  result->uncertainty_px = hypot (known, lever);
  if (fit->equal)
    result->advice = td_message_packed (
        "No trial is certain by itself, but %u lie near column %.2f: look at the "
        "trial slices around it, or narrow the range searched",
        n, fit->line.centre_px);
  else if (n < 2)
    result->advice
        = g_strdup (more ? N_ ("Only one method on one row found a centre: look at the trial "
                               "slices, or try more rows")
                         : N_ ("Only one method on one row found a centre: look at the trial "
                               "slices"));
  else if (share > MOST_CONTRADICTION)
    result->advice
        = td_message_packed ("Part of the trials lie far from column %.2f: look at the trial "
                             "slices, or narrow the range searched",
                             fit->line.centre_px);
  else if (known > CERTAIN_PX && excess > DIFFER)
    result->advice = say_disagreement (opinions, &fit->line);
  else if (known > CERTAIN_PX)
    result->advice
        = td_message_packed (more ? N_ ("The centre is uncertain by %.2f columns: try more rows, "
                                        "or look at the trial slices")
                                  : N_ ("The centre is uncertain by %.2f columns: look at the "
                                        "trial slices"),
                             known);
  else if (result->uncertainty_px > CERTAIN_PX)
    result->advice = td_message_packed (
        "The centre is known about row %.0f, but the tilt is not, which moves it by up to %.2f "
        "columns to the middle row: try rows of the whole detector",
        fit->known_row, result->uncertainty_px);
  else if (2 * used < found)
    result->advice = td_message_packed (
        more ? N_ ("Only %u of %u trials lie near column %.2f: look at the trial slices, or try "
                   "more rows")
             : N_ ("Only %u of %u trials lie near column %.2f: look at the trial slices"),
        used, found, fit->line.centre_px);
  else if (methods < 2 && axis_consensus_rows (fit, FALSE) < 2)
    result->advice
        = g_strdup (more ? N_ ("One method on one row is weak evidence: try more rows or methods")
                         : N_ ("One method on one row is weak evidence: try more methods"));
  result->agreed = result->advice == NULL;
}

/* The line and its errors. @slope, if it is a number, is not fitted. */
static void
find_line (Fit *fit, double slope, double slope_error)
{
  gboolean with_slope = isnan (slope);

  fit->line.slope = with_slope ? fit->line.slope : slope;
  fit_line (fit, with_slope);
  widen_sigmas (fit);
  fit_line (fit, with_slope);
  if (!with_slope) {
    fit->slope_error = slope_error;
    return;
  }
  double error = slope_error_of_rows (fit);
  if (axis_consensus_rows (fit, FALSE) >= 3
      && fabs (fit->line.slope) >= SIGNIFICANT * fit->slope_error) {
    fit->slope_error = error;
    return;
  }
  /* An upright axis, as far as the trials tell, and as it is mounted. */
  const double mounted = tan (MOUNTED_DEG * G_PI / 180);
  if (axis_consensus_rows (fit, FALSE) < 3 || !(error < mounted))
    error = fit->line.middle_row > 0 ? mounted : 0; /* a single row has no tilt */
  /* A slope that is none must not have moved the centre away from the trials. */
  fit->line.centre_px = td_axis_line_at (&fit->line, fit->known_row);
  fit->line.slope = 0;
  fit_line (fit, FALSE);
  fit->slope_error = error;
}

void
td_axis_agree (TdAxisResult *result, double middle_row, double slope, double slope_error)
{
  g_autofree double *sigma = make_sigmas (result->trials, result->n_trials);
  g_autofree double *weight = g_new0 (double, result->n_trials);
  Fit fit = { .trials = result->trials, .n = result->n_trials, .sigma = sigma, .weight = weight };

  axis_consensus_find_common (&fit);
  fit.line = find_mode (&fit, middle_row);
  result->centre_px = NAN;
  result->uncertainty_px = NAN;
  result->agreed = FALSE;
  result->middle_row = result->known_row = middle_row;
  if (isnan (fit.line.centre_px) && !make_guess (&fit, middle_row)) {
    result->advice
        = g_strdup (N_ ("No method found a centre: check that the rows show the sample, that "
                        "flat field and -log are done, and the angles; or give it by hand"));
    return;
  }
  find_line (&fit, slope, slope_error);
  for (guint i = 0; i < fit.n; i++)
    result->trials[i].used = fit.weight[i] > 0;
  result->centre_px = fit.line.centre_px;
  result->tilt_deg = atan (fit.line.slope) * 180 / G_PI;
  result->tilt_uncertainty_deg = atan (fit.slope_error) * 180 / G_PI;
  result->known_row = fit.known_row;
  axis_consensus_judge (result, &fit);
}

double
td_axis_result_uncertainty_at (const TdAxisResult *result, double row)
{
  const double slope_error = 2 * tan (result->tilt_uncertainty_deg * G_PI / 180);
  const double middle = slope_error * (result->middle_row - result->known_row);
  const double known = sqrt (MAX (pow (result->uncertainty_px, 2) - middle * middle, 0));

  return hypot (known, slope_error * (row - result->known_row));
}
