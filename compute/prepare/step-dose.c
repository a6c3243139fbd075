/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dose.h"
#include "slab.h"
#include "steps.h"

/**
 * Dose: the source gives every frame another exposure. The borders or a region give each frame's
 * dose (dose.h), by which the frame is divided (TomoPy's normalize_roi, made robust). Or each row
 * of each frame is divided by the straight line between the means of its first and last columns
 * (TomoPy's normalize_bg). That follows a moving beam, too, but adds the noise of those few pixels.
 * Or the scan's file has what a monitor counted of the beam for each frame (nabu's
 * normalize_srcurrent).
 */
enum { AIR, COLUMNS, X, Y, WIDTH, HEIGHT };
enum { BORDERS, ROWS, REGION, MONITOR };

static const char *const airs[]
    = { N_ ("borders"), N_ ("rows"), N_ ("region"), N_ ("monitor"), NULL };

static const TdStepParameter parameters[] = {
  [AIR]
  = { "air", N_ ("Where there is no sample"),
      N_ ("The borders of the frame, wherever no sample is seen there; the borders of each row by "
          "itself; or a region of your own. A monitor that counted the beam needs no air."),
      BORDERS, BORDERS, MONITOR, 0, airs },
  [COLUMNS] = { "columns", N_ ("Borders' width (columns)"),
                N_ ("As wide as the sample leaves free on both sides in all views."), 8, 1,
                TD_DOSE_MAX_COLUMNS, 0, NULL, TRUE },
  [X] = { "x", N_ ("Region: first column"), N_ ("Of a region that the sample never shadows."), 0, 0,
          1e6, 0, NULL },
  [Y] = { "y", N_ ("Region: first row"), N_ ("Of a region that the sample never shadows."), 0, 0,
          1e6, 0, NULL },
  [WIDTH] = { "width", N_ ("Region: columns"), N_ ("A thousand pixels in all are plenty."), 16, 1,
              1e6, 0, NULL },
  [HEIGHT] = { "height", N_ ("Region: rows"), N_ ("A thousand pixels in all are plenty."), 64, 1,
               1e6, 0, NULL },
};

gboolean
td_dose_is_of_region (const TdStep *step)
{
  return step->values[AIR] == REGION;
}

gboolean
td_dose_is_of_monitor (const TdStep *step)
{
  return step->values[AIR] == MONITOR;
}

static TdDoseSpec
step_dose_spec (const TdStep *step)
{
  const double *v = step->values;

  return (TdDoseSpec) {
    .monitor = v[AIR] == MONITOR,
    .borders = v[AIR] == BORDERS,
    .columns = (guint) v[COLUMNS],
    .x = (guint) v[X],
    .y = (guint) v[Y],
    .width = (guint) v[WIDTH],
    .height = (guint) v[HEIGHT],
  };
}

/* What describes another air than the one that is taken. */
static TdMessage *
step_dose_falls_short (const TdStep *step, const TdScanFacts *facts)
{
  const guint air = (guint) step->values[AIR];

  for (guint i = COLUMNS; i < G_N_ELEMENTS (parameters); i++)
    if (step->values[i] != parameters[i].preset
        && (i == COLUMNS ? air == REGION || air == MONITOR : air != REGION))
      return td_message_new ("{prepare=dose} takes the doses from “%s”: its parameter “%s” is not "
                             "used.",
                             airs[air], parameters[i].name);
  return NULL;
}

gboolean
td_dose_check_region (const TdStep *step, const TdScanFacts *facts, GError **error)
{
  const TdDoseSpec spec = step_dose_spec (step);

  return !td_dose_is_of_region (step) || td_dose_spec_check (&spec, facts, error)
         || td_prefix_error (error, "Preparation step \"%s\": ", step->name);
}

static TdMessage *
step_dose_unsupported (const TdStep *step, const TdScanFacts *facts)
{
  if (!td_dose_is_of_monitor (step) || facts->monitor)
    return NULL;
  return td_message_new (
      "“%s” has no monitor's count for each of its views and flats; take the air "
      "beside the sample ({prepare=dose=borders})",
      facts->title ? facts->title : facts->path);
}

static guint64
step_dose_workspace_bytes (const TdStep *step, const TdScanFacts *facts, guint n_rows)
{
  return (guint64) facts->n_views * sizeof (float) * (step->values[AIR] == ROWS ? 2 * n_rows : 1);
}

static guint64
step_dose_host_bytes (const TdStep *step, const TdScanFacts *facts, guint n_rows)
{
  return step->values[AIR] == ROWS || td_dose_is_of_monitor (step) ? 0 : td_dose_host_bytes (facts);
}

/* ── Rows ── */

static gboolean
step_dose_run_rows (const TdStep *step, TdSlab *slab, GError **error)
{
  guint64 bytes = 2 * sizeof (float) * (guint64) slab->n_rows * slab->n_views;
  const guint width = MIN ((guint) step->values[COLUMNS], MAX (slab->n_columns / 2, 1));
  TdBuffer *ends = td_slab_buffer (slab, "dose ends", bytes, error);

  if (!ends)
    return FALSE;
  return td_slab_launch (slab, "prepare-correct", "prepare_dose_ends",
                         (guint[]) { slab->n_views, slab->n_rows, 1 },
                         TD_ARGS (slab->data, ends, slab->n_views, slab->n_columns, width), error)
         && td_slab_launch (
             slab, "prepare-correct", "prepare_dose_rows",
             (guint[]) { td_slab_strips (slab), slab->n_views, slab->n_rows },
             TD_ARGS (slab->data, ends, slab->n_views, slab->n_columns, td_slab_strip (slab)),
             error);
}

/* ── Frames ── */

typedef struct {
  TdStep step, flat_field;
  TdViewOrder views;
  guint n_views;
  double low, high;
} Held;

static gboolean
load_doses (TdSlab *slab, Held *held, GError **error)
{
  TdDoseSpec spec = step_dose_spec (&held->step);
  spec.flat_field = held->flat_field;
  g_autoptr (GBytes) doses
      = td_dose_of_views (td_slab_flats (slab), &spec, slab->cancellable, error);

  if (!doses)
    return FALSE;
  const float *all = g_bytes_get_data (doses, NULL);
  g_autofree float *values = g_new (float, slab->n_views);
  for (guint i = 0; i < slab->n_views; i++)
    values[i] = all[td_view_order_at (&slab->views, i)];
  if (!td_slab_send (slab, "dose of views", values, slab->n_views * sizeof *values, error))
    return FALSE;
  held->low = held->high = values[0];
  for (guint view = 1; view < slab->n_views; view++) {
    held->low = MIN (held->low, (double) values[view]);
    held->high = MAX (held->high, (double) values[view]);
  }
  return TRUE;
}

static const Held *
hold_doses (const TdStep *step, TdSlab *slab, GError **error)
{
  Held *held = td_slab_kept (slab, "dose held");
  const TdStep *flat_field = td_slab_step (slab, "flat-field");
  Held wanted = { .step = *step, .views = slab->views, .n_views = slab->n_views };

  if (flat_field)
    wanted.flat_field = *flat_field;
  if (held && td_view_order_equal (&held->views, &slab->views) && held->n_views == slab->n_views
      && td_step_equal (&held->step, step) && td_step_equal (&held->flat_field, &wanted.flat_field))
    return held;
  if (!load_doses (slab, &wanted, error))
    return NULL;
  td_slab_keep (slab, "dose held", g_memdup2 (&wanted, sizeof wanted), g_free);
  return td_slab_kept (slab, "dose held");
}

static gboolean
run_frames (const TdStep *step, TdSlab *slab, GError **error)
{
  const Held *held = hold_doses (step, slab, error);

  if (!held)
    return FALSE;
  td_preparation_counts_add (
      td_slab_counts (slab),
      &(TdPreparationCounts) { .dose_low = held->low, .dose_high = held->high });
  return td_slab_launch (slab, "prepare-correct", "prepare_dose_frames",
                         (guint[]) { td_slab_strips (slab), slab->n_views, slab->n_rows },
                         TD_ARGS (slab->data, td_slab_buffer (slab, "dose of views", 0, NULL),
                                  slab->n_views, slab->n_columns, td_slab_strip (slab)),
                         error);
}

static gboolean
step_dose_run (const TdStep *step, TdSlab *slab, GError **error)
{
  return step->values[AIR] == ROWS ? step_dose_run_rows (step, slab, error)
                                   : run_frames (step, slab, error);
}

const TdStepKind td_step_dose = {
  .name = "dose",
  .title = N_ ("Dose of each frame"),
  .summary = N_ ("Brings every frame to the same exposure, by what is seen beside the sample."),
  .stage = TD_STEP_FLAT,
  .by_view = TRUE,
  TD_STEP_PARAMETERS (parameters),
  .unsupported = step_dose_unsupported,
  .falls_short = step_dose_falls_short,
  .workspace_bytes = step_dose_workspace_bytes,
  .host_bytes = step_dose_host_bytes,
  .run = step_dose_run,
};
