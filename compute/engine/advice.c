/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "advice.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

#include "compute/prepare/flat-beam.h"
#include "compute/prepare/prepared-rows.h"
#include "compute/prepare/steps.h"
#include "dataset/error.h"
#include "dataset/sort.h"
#include "engine-private.h"
#include "field.h"
#include "turn.h"

#define N_ROWS 3u
#define PAIRS 64u /* of views, whose differences tell the noise */
#define SIGMA 0.6745
#define WHITE 0.6 /* noise by fourth differences over that by second ones: 1 where it is white */

/* What one row shows; lengths in columns, values as -log of the transmission. */
typedef struct {
  double scale;
  double own;           /* standard deviation of the columns' own offsets and of the mean's noise */
  double noise;         /* of one view */
  gboolean white;       /* own is noise from column to column, not the object */
  double left, right;   /* parts of the views in which the edges are covered */
  double air;           /* where neither is: the median */
  double wander, sides; /* how far the smoothed air moves, and the difference of the two sides */
  double air_noise;     /* of the median, of the smoothed air */
  double slope;         /* how far the step from the outer to the inner half of the strips moves */
} RowSigns;

/* ── One row ── */

static double
advice_rank (float *values, gsize n, double part)
{
  return n > 0 ? td_float_at_rank (values, n, (gsize) (part * (double) (n - 1) + 0.5)) : 0;
}

/* Robust standard deviation of noise in @x from its @order-th differences, 2 or 4. */
static double
advice_noise (const float *x, guint n, guint order, float *work)
{
  const double norm = order == 4 ? sqrt (70) : sqrt (6);
  guint m = 0;

  for (guint i = order / 2; i + order / 2 < n; i++)
    work[m++] = order == 4 ? fabsf (x[i - 2] - 4 * x[i - 1] + 6 * x[i] - 4 * x[i + 1] + x[i + 2])
                           : fabsf (x[i - 1] - 2 * x[i] + x[i + 1]);
  return advice_rank (work, m, 0.5) / SIGMA / norm;
}

static void
advice_columns (const float *row, guint n_views, guint n, float *work, RowSigns *signs)
{
  g_autofree float *mean = g_new0 (float, n);
  g_autofree float *difference = g_new (float, n);
  g_autofree float *noises = g_new (float, PAIRS);
  g_autofree double *sum = g_new0 (double, n);
  const guint pairs = MIN (PAIRS, n_views - 1);

  for (guint v = 0; v < n_views; v++)
    for (guint c = 0; c < n; c++)
      sum[c] += row[(gsize) v * n + c];
  for (guint c = 0; c < n; c++)
    mean[c] = (float) (sum[c] / n_views);
  for (guint i = 0; i < pairs; i++) {
    const float *a = row + (gsize) ((guint64) i * (n_views - 1) / pairs) * n;
    for (guint c = 0; c < n; c++)
      difference[c] = a[n + c] - a[c];
    noises[i] = (float) advice_noise (difference, n, 4, work);
  }
  signs->noise = advice_rank (noises, pairs, 0.5) / G_SQRT2;
  signs->own = advice_noise (mean, n, 4, work);
  signs->white = signs->own > WHITE * advice_noise (mean, n, 2, work);
}

static double
advice_mean (const float *x, guint n)
{
  double sum = 0;

  for (guint i = 0; i < n; i++)
    sum += x[i];
  return sum / n;
}

/* How far @x moves when it is smoothed over @width. */
static double
advice_travel (const float *x, guint n, guint width)
{
  double low = INFINITY, high = -INFINITY;

  for (guint first = 0; first + width <= n; first += MAX (width / 2, 1)) {
    const double mean = advice_mean (x + first, width);
    low = MIN (low, mean);
    high = MAX (high, mean);
  }
  return high > low ? high - low : 0;
}

static guint
advice_strip (guint n_columns)
{
  return CLAMP (n_columns / 32, MIN (2, n_columns), 16);
}

/* Whether a strip shows the sample, in one view: air may be anywhere as well where the beam drifts,
   but it is level. */
static gboolean
advice_covered (const RowSigns *signs, const float *strip, guint n)
{
  const guint half = n / 2;
  const double mean = advice_mean (strip, n);
  const double step = advice_mean (strip, half) - advice_mean (strip + n - half, half);
  const double level = MAX (0.05 * mean, 3 * signs->noise * sqrt (2.0 / half));

  return mean > TD_ADVICE_COVERED * signs->scale
         && (fabs (step) > level || mean > TD_ADVICE_INSIDE * signs->scale);
}

static void
advice_edges (const float *row, guint n_views, guint n, float *work, RowSigns *signs)
{
  const guint strip = advice_strip (n);
  g_autofree float *air = g_new (float, n_views);
  g_autofree float *sides = g_new (float, n_views);
  g_autofree float *slope = g_new (float, n_views);
  const guint half = strip / 2;
  const guint window = MAX (n_views / 20, 1);
  guint left = 0, right = 0;

  for (guint v = 0; v < n_views; v++) {
    const float *view = row + (gsize) v * n;
    const double l = advice_mean (view, strip), r = advice_mean (view + n - strip, strip);
    left += advice_covered (signs, view, strip);
    right += advice_covered (signs, view + n - strip, strip);
    air[v] = (float) ((l + r) / 2);
    sides[v] = (float) (r - l);
    /* Twice what the sample adds to a strip that it begins to enter. */
    slope[v]
        = (float) (advice_mean (view + half, half) - advice_mean (view, half)
                   + advice_mean (view + n - strip, half) - advice_mean (view + n - half, half));
  }
  signs->left = (double) left / n_views;
  signs->right = (double) right / n_views;
  signs->wander = advice_travel (air, n_views, window);
  signs->sides = advice_travel (sides, n_views, window);
  signs->slope = advice_travel (slope, n_views, window);
  signs->air_noise = signs->noise / sqrt (2.0 * strip * window);
  memcpy (work, air, n_views * sizeof *air);
  signs->air = advice_rank (work, n_views, 0.5);
}

static void
advice_look (const float *row, guint n_views, guint n, RowSigns *signs)
{
  const gsize samples = (gsize) n_views * n, stride = MAX (samples / 200000, 1);
  g_autofree float *work = g_new (float, MAX (samples / stride + 1, MAX (n, n_views)));
  gsize m = 0;

  for (gsize i = 0; i < samples; i += stride)
    if (isfinite (row[i]))
      work[m++] = row[i];
  /* Flats that are too dark bring all of it below 0. */
  const double high = advice_rank (work, m, 0.95), low = advice_rank (work, m, 0.05);
  *signs = (RowSigns) { .scale = MAX (MAX (high, (high - low) / 2), 1e-12) };
  advice_columns (row, n_views, n, work, signs);
  advice_edges (row, n_views, n, work, signs);
}

/* ── What follows ── */

static void
advice_free (gpointer user)
{
  TdAdvice *advice = user;

  td_message_unref (advice->message);
  g_free (advice);
}

static TdAdvice *
advice_add (GPtrArray *list, TdAdviceKind kind, TdMessage *message)
{
  TdAdvice *advice = g_new0 (TdAdvice, 1);

  *advice = (TdAdvice) { .kind = kind, .message = message };
  g_ptr_array_add (list, advice);
  return advice;
}

static double
advice_median (double a, double b, double c)
{
  return MAX (MIN (a, b), MIN (MAX (a, b), c));
}

#define MEDIAN(member) advice_median (signs[0].member, signs[1].member, signs[2].member)

static void
advise_rings (GPtrArray *list, const RowSigns signs[N_ROWS], guint n_views)
{
  guint seen = 0;

  for (guint i = 0; i < N_ROWS; i++) {
    const double of_mean = signs[i].noise / sqrt (n_views);
    seen += signs[i].white && signs[i].own > TD_ADVICE_RINGS_OF_MEAN * of_mean
            && signs[i].own > TD_ADVICE_RINGS_OF_VIEW * signs[i].noise
            && signs[i].own > TD_ADVICE_RINGS_OF_SCALE * signs[i].scale;
  }
  if (2 * seen > N_ROWS)
    advice_add (list, TD_ADVICE_RINGS,
                td_message_new (N_ ("Columns differ from their neighbours in all views by %.2g of "
                                    "the sample's attenuation: the slices have rings, which "
                                    "{prepare=rings} removes."),
                                MEDIAN (own / signs[0].scale)));
}

/* The sample enters an edge in few views. What is there in the others is no air, if it is far from
   0: the filtered slice has a rim where it ends. */
static void
advise_level (GPtrArray *list, const RowSigns signs[N_ROWS])
{
  const double level = MEDIAN (air) / MEDIAN (scale);

  if (level > TD_ADVICE_LEVEL)
    advice_add (list, TD_ADVICE_RIM,
                td_message_new (N_ ("At the detector's edges there is %.2g of the sample's "
                                    "attenuation in most views, which makes a bright rim: "
                                    "{extend-edges} takes most of it away."),
                                level));
}

/* Air at both edges: it should be at 0, in all views. */
static void
advise_air (GPtrArray *list, const RowSigns signs[N_ROWS], guint strip)
{
  const double scale = MEDIAN (scale), noise = 8 * MEDIAN (air_noise);
  const double least = MAX (TD_ADVICE_AIR * scale, noise);
  const double moves = MAX (MEDIAN (wander), MEDIAN (sides) / 2);
  TdAdvice *advice = NULL;

  if (moves > least && MEDIAN (slope) < moves)
    advice = advice_add (list, TD_ADVICE_DRIFT,
                         td_message_new (N_ ("The beam beside the sample drifts by %.2g of the "
                                             "sample's attenuation over the views: {prepare=dose} "
                                             "follows it."),
                                         moves / scale));
  else if (fabs (MEDIAN (air)) > least)
    advice = advice_add (list, TD_ADVICE_BACKGROUND,
                         td_message_new (N_ ("Beside the sample there is %.2g of its attenuation, "
                                             "where there should be none: {prepare=dose} brings "
                                             "it to 0."),
                                         MEDIAN (air) / scale));
  if (!advice)
    return;
  advice->columns = strip;
  advice->value = MEDIAN (sides) > MEDIAN (wander);
}

static void
advise_edges (GPtrArray *list, const RowSigns signs[N_ROWS], const TdScanFacts *facts,
              const TdTurn *turn)
{
  const double left = MEDIAN (left), right = MEDIAN (right);
  const double more = MAX (left, right), less = MIN (left, right);

  if (more < 0.02) {
    advise_air (list, signs, advice_strip (facts->n_columns));
    return;
  }
  if (more < 0.25) {
    advise_level (list, signs);
    return;
  }
  if (less < 0.02 && turn->kind == TD_TURN_FULL && facts->geometry.beam == TD_BEAM_PARALLEL)
    advice_add (
        list, TD_ADVICE_OFFSET_AXIS,
        td_message_new_plain (
            left > right
                ? N_ ("In a full turn the sample leaves the detector on the left only: the axis is "
                      "near that edge, and {field-of-view=half} puts both sides together.")
                : N_ (
                    "In a full turn the sample leaves the detector on the right only: the axis is "
                    "near that edge, and {field-of-view=half} puts both sides together.")));
  else
    advice_add (list, TD_ADVICE_RIM,
                td_message_new_plain (N_ ("The sample is wider than the detector, which makes a "
                                          "bright rim: {extend-edges} takes most of it away.")));
}

static void
advise_views (GPtrArray *list, const TdScanFacts *facts, const TdTurn *turn)
{
  const guint n = turn->kind == TD_TURN_FULL && facts->geometry.beam == TD_BEAM_PARALLEL
                      ? (turn->n_stops + 1) / 2
                      : turn->n_stops;

  if (n < TD_ADVICE_VIEWS * facts->n_columns)
    advice_add (list, TD_ADVICE_FEW_VIEWS,
                td_message_new (
                    N_ ("%u [direction is|directions are] few for %u columns: filtered slices have "
                        "streaks, and {method=fista-tv} has fewer."),
                    n, facts->n_columns));
}

/* ── The rows ── */

/* Flat field and logarithm, as the recipe has them. */
static guint
advice_steps (const TdRecipe *recipe, TdStep *steps)
{
  guint n = 0;

  for (guint i = 0; i < recipe->n_steps; i++) {
    const TdStepKind *kind = td_prepare_step (recipe->steps[i].name, NULL);
    if (kind && kind->preset_on && recipe->steps[i].enabled)
      steps[n++] = recipe->steps[i];
  }
  return n;
}

static gboolean
advice_read (const TdRowSource *source, RowSigns signs[N_ROWS], GCancellable *cancellable,
             GError **error)
{
  const TdScanFacts *facts = td_scan_facts (source->scan);
  g_autoptr (TdPreparedRows) rows = td_prepared_rows_new (source, NULL, 1, 0, error);

  for (guint i = 0; i < N_ROWS; i++) {
    const TdRowRange range = { (guint) ((guint64) facts->n_rows * (i + 1) / (N_ROWS + 1)), 1 };
    const float *row = rows ? td_prepared_rows_make (rows, range, cancellable, error) : NULL;
    if (!row)
      return FALSE;
    advice_look (row, facts->n_views, facts->n_columns, &signs[i]);
  }
  return TRUE;
}

/* What the open beam would be, if the brightest samples saw it. */
static gboolean
advise_beam (TdEngine *engine, GPtrArray *list, TdScan *scan, GCancellable *cancellable,
             GError **error)
{
  const TdScanFacts *facts = td_scan_facts (scan);
  const gsize n = (gsize) facts->n_views * facts->n_columns;
  g_autofree float *row = g_try_new (float, n);

  if (!row)
    return td_set_error (error, TD_ERROR_TOO_LARGE, "There is no memory for one row of the scan");
  if (!td_engine_read_rows (engine, scan, facts->n_rows / 2, 1, row, cancellable, error))
    return FALSE;
  const double beam = advice_rank (row, n, 0.99);
  advice_add (list, TD_ADVICE_NO_FLATS,
              td_message_new (N_ ("The samples are counts, and there are no flats: %g, among the "
                                  "brightest, may be the open beam's. Measured flats are better."),
                              beam))
      ->value
      = beam;
  return TRUE;
}

static gboolean
advice_lacks_flats (const TdStep *steps, guint n_steps, const TdScanFacts *facts)
{
  for (guint i = 0; i < n_steps; i++)
    if (strcmp (steps[i].name, "flat-field") == 0 && !td_preparation_skips (&steps[i], facts)
        && td_flat_field_lacks (&steps[i], facts))
      return TRUE;
  return FALSE;
}

GPtrArray *
td_engine_advise (TdEngine *engine, TdScan *scan, const TdRecipe *recipe, GCancellable *cancellable,
                  GError **error)
{
  const TdScanFacts *facts = td_scan_facts (scan);
  g_autoptr (GPtrArray) list = g_ptr_array_new_with_free_func (advice_free);
  g_autoptr (GPtrArray) devices = td_engine_devices (engine, "host", error);
  TdStep steps[TD_RECIPE_MAX_STEPS];
  RowSigns signs[N_ROWS];
  TdTurn turn;

  if (!devices)
    return NULL;
  const guint n_steps = advice_steps (recipe, steps);
  g_autoptr (TdFlats) flats = td_engine_flats (engine, scan);
  const TdRowSource source = { devices->pdata[0], scan, flats, steps, n_steps };
  td_turn_of_angles (facts->angles_rad, facts->n_views, &turn);
  if (advice_lacks_flats (steps, n_steps, facts)) {
    if (!advise_beam (engine, list, scan, cancellable, error))
      return NULL;
  } else if (facts->n_views > 1 && facts->n_columns > 8 && !facts->filtered) {
    if (!advice_read (&source, signs, cancellable, error))
      return NULL;
    advise_rings (list, signs, facts->n_views);
    advise_edges (list, signs, facts, &turn);
  }
  if (facts->n_views > 1)
    advise_views (list, facts, &turn);
  return g_steal_pointer (&list);
}

/* ── Following it ── */

const char *const td_advice_names[TD_N_ADVICE]
    = { [TD_ADVICE_NO_FLATS] = "no-flats",     [TD_ADVICE_OFFSET_AXIS] = "offset-axis",
        [TD_ADVICE_RINGS] = "rings",           [TD_ADVICE_DRIFT] = "drift",
        [TD_ADVICE_BACKGROUND] = "background", [TD_ADVICE_RIM] = "rim",
        [TD_ADVICE_FEW_VIEWS] = "few-views" };

static gboolean
advice_set_step (TdRecipe *recipe, const char *name, const char *parameter, double value,
                 GError **error)
{
  const TdStepKind *kind = td_prepare_step (name, error);
  TdStep *step = kind ? td_recipe_add_step (recipe, name, error) : NULL;

  for (guint i = 0; step && i < kind->n_parameters; i++)
    if (strcmp (kind->parameters[i].name, parameter) == 0)
      step->values[i] = value;
  return step != NULL;
}

gboolean
td_advice_apply (const TdAdvice *advice, TdRecipe *recipe, GError **error)
{
  switch (advice->kind) {
  case TD_ADVICE_NO_FLATS:
    return advice_set_step (recipe, "flat-field", "white", advice->value, error);
  case TD_ADVICE_OFFSET_AXIS:
    recipe->field_of_view = TD_FIELD_HALF;
    recipe->centre_auto = TRUE;
    return TRUE;
  case TD_ADVICE_RINGS: return td_recipe_add_step (recipe, "rings", error) != NULL;
  case TD_ADVICE_DRIFT:
  case TD_ADVICE_BACKGROUND:
    /* By rows, a line between the two sides: what the sides share and what they do not. */
    return advice_set_step (recipe, "dose", "columns", advice->columns, error)
           && advice_set_step (recipe, "dose", "air", advice->value, error);
  case TD_ADVICE_RIM: recipe->filter.extend_edges = TRUE; return TRUE;
  case TD_ADVICE_FEW_VIEWS:
    recipe->method = TD_METHOD_FISTA_TV;
    /* What iterative methods refuse. */
    recipe->precision = TD_PRECISION_SINGLE;
    recipe->interpolation = TD_INTERPOLATION_LINEAR;
    g_strlcpy (recipe->family, "auto", sizeof recipe->family);
    return TRUE;
  default: g_return_val_if_reached (FALSE);
  }
}

/* An axis that is known, and near an edge, makes slices wide without being asked. */
static gboolean
advice_is_wide (const TdScanFacts *facts, const TdRecipe *recipe)
{
  const double known = isfinite (recipe->centre_px) ? recipe->centre_px : facts->centre_px;
  const TdAxisLine axis = td_axis_line (known, recipe->tilt_deg, facts->n_rows);
  TdField field;
  TdTurn turn;

  if (!isfinite (known))
    return recipe->field_of_view == TD_FIELD_HALF;
  td_turn_of_angles (facts->angles_rad, facts->n_views, &turn);
  td_field_choose (facts, recipe->field_of_view, &axis, &turn, &field, NULL);
  return field.wide;
}

gboolean
td_advice_is_followed (const TdAdvice *advice, const TdScanFacts *facts, const TdRecipe *recipe)
{
  static const char *const steps[TD_N_ADVICE] = { [TD_ADVICE_NO_FLATS] = "flat-field",
                                                  [TD_ADVICE_RINGS] = "rings",
                                                  [TD_ADVICE_DRIFT] = "dose",
                                                  [TD_ADVICE_BACKGROUND] = "dose" };

  if (advice->kind == TD_ADVICE_OFFSET_AXIS)
    return advice_is_wide (facts, recipe);
  if (advice->kind == TD_ADVICE_RIM)
    return recipe->filter.extend_edges;
  if (advice->kind == TD_ADVICE_FEW_VIEWS)
    return td_method_iterates (recipe->method);
  for (guint i = 0; i < recipe->n_steps; i++) {
    const TdStep *step = &recipe->steps[i];
    const gboolean same = advice->kind == TD_ADVICE_RINGS
                              ? g_str_has_prefix (step->name, "rings")
                              : strcmp (step->name, steps[advice->kind]) == 0;
    if (same && step->enabled)
      return advice->kind != TD_ADVICE_NO_FLATS || step->values[TD_FLAT_FIELD_WHITE] > 0;
  }
  return FALSE;
}
