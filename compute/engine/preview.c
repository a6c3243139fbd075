/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "preview.h"

#include <math.h>
#include <string.h>

#include "compute/axis/axis-line.h"
#include "compute/device/host.h"
#include "compute/prepare/dose.h"
#include "compute/prepare/paganin.h"
#include "compute/prepare/prepared-rows.h"
#include "compute/row-blend.h"
#include "engine-private.h"
#include "field.h"

#define QUICK_UPDATES 4e7 /* a slice of so many updates takes well under 0.1 s on two cores */
#define LEAST_COLUMNS 32

/* ── Projections ── */

/* Prepares one view after another; idle with the engine between two of them. */
typedef struct {
  TdScan *scan;
  TdStep *steps; /* those that prepare a view alone */
  guint n_steps;
  TdPreparedRows *rows;
} Frames;

static void
preview_frames_free (gpointer user)
{
  Frames *frames = user;

  td_prepared_rows_free (frames->rows);
  td_scan_unref (frames->scan);
  g_free (frames->steps);
  g_free (frames);
}

static gboolean
frames_match (gpointer item, gpointer user)
{
  const Frames *frames = item, *wanted = user;
  gboolean same = frames->scan == wanted->scan && frames->n_steps == wanted->n_steps;

  for (guint i = 0; same && i < wanted->n_steps; i++)
    same = td_step_equal (&frames->steps[i], &wanted->steps[i]);
  return same;
}

/* With the host's threads: it is one frame. */
static TdPreparedRows *
preview_rows_new (TdEngine *engine, const TdRowSource *on_no_device, guint max_rows, GError **error)
{
  g_autoptr (GPtrArray) host = td_engine_devices (engine, "host", error);
  g_autoptr (TdFlats) flats = td_engine_flats (engine, on_no_device->scan);
  TdRowSource source = *on_no_device;

  if (!host)
    return NULL;
  source.device = host->pdata[0];
  source.flats = flats;
  return td_prepared_rows_new (&source, NULL, max_rows, 0, error);
}

/* From the engine, or new. (transfer full) */
static Frames *
frames_take (TdEngine *engine, TdScan *scan, const TdRecipe *recipe, GError **error)
{
  g_autofree TdStep *steps = g_new (TdStep, recipe->n_steps + 1);
  Frames wanted = { .scan = scan, .steps = steps };

  for (guint i = 0; i < recipe->n_steps; i++) {
    const TdStepKind *kind = td_prepare_step (recipe->steps[i].name, NULL);
    if (kind && kind->by_view)
      steps[wanted.n_steps++] = recipe->steps[i];
  }
  Frames *frames = td_engine_take (engine, preview_frames_free, frames_match, &wanted);
  if (frames)
    return frames;
  const TdRowSource source
      = { .scan = scan, .steps = steps, .n_steps = wanted.n_steps, .n_views = 1 };
  TdPreparedRows *rows = preview_rows_new (engine, &source, td_scan_facts (scan)->n_rows, error);
  if (!rows)
    return NULL;
  frames = g_new (Frames, 1);
  *frames = (Frames) { td_scan_ref (scan), g_steal_pointer (&steps), wanted.n_steps, rows };
  return frames;
}

static float *
preview_copy (const float *values, gsize n, GError **error)
{
  float *copy = td_host_malloc (n * sizeof *copy, error);

  return copy ? memcpy (copy, values, n * sizeof *copy) : NULL;
}

float *
td_preview_projection (TdEngine *engine, TdScan *scan, guint view, const TdRecipe *recipe,
                       GCancellable *cancellable, GError **error)
{
  const TdScanFacts *facts = td_scan_facts (scan);
  const gsize pixels = (gsize) facts->n_rows * facts->n_columns;
  g_autoptr (TdScan) masked
      = td_engine_masked (engine, scan, recipe ? td_recipe_mask (recipe) : NULL, error);
  if (!masked)
    return NULL;
  g_autoptr (TdMessage) unsupported
      = recipe ? td_preparation_unsupported (recipe->steps, recipe->n_steps, td_scan_facts (masked))
               : NULL;

  if (!recipe || unsupported) {
    g_autofree float *frame = td_host_malloc (pixels * sizeof *frame, error);
    return frame
                   && td_scan_read (
                       scan, &(TdFrameRange) { TD_FRAME_PROJECTION, view, 1, 0, facts->n_rows },
                       frame, cancellable, error)
               ? g_steal_pointer (&frame)
               : NULL;
  }
  Frames *frames = frames_take (engine, masked, recipe, error);
  if (!frames)
    return NULL;
  td_prepared_rows_set_views (frames->rows, td_view_order_from (view));
  const float *made
      = td_prepared_rows_make (frames->rows, (TdRowRange) { 0, facts->n_rows }, cancellable, error);
  float *out = made ? preview_copy (made, pixels, error) : NULL;
  if (!out) {
    preview_frames_free (frames);
    return NULL;
  }
  /* The frame twice, and the beam of each group of flats with the dark. */
  const guint64 held = 3 + td_flats_groups (facts, FALSE, NULL, NULL);
  td_engine_give (engine, frames, held * pixels * sizeof (float), preview_frames_free);
  return out;
}

/* ── Sinograms ── */

gboolean
td_preview_opposite_view (const TdScanFacts *facts, guint view, guint *opposite)
{
  const double *angles = facts->angles_rad;
  double nearest = INFINITY, step = INFINITY;

  for (guint v = 0; v < facts->n_views; v++) {
    const double away = fabs (remainder (angles[v] - angles[view] - G_PI, 2 * G_PI));
    if (away < nearest) {
      nearest = away;
      *opposite = v;
    }
    if (v > 0 && angles[v] != angles[v - 1])
      step = MIN (step, fabs (angles[v] - angles[v - 1]));
  }
  return nearest <= 1.5 * step;
}

/* Between four samples of a frame; FALSE: outside. */
static gboolean
preview_sample (const float *frame, const TdScanFacts *facts, double column, double row,
                float *value)
{
  const double x = floor (column), y = floor (row);

  if (!(x >= 0 && x + 1 < facts->n_columns && y >= 0 && row <= facts->n_rows - 1.0))
    return FALSE;
  const float *p = frame + (gsize) y * facts->n_columns + (gsize) x;
  const float *q = y + 1 < facts->n_rows ? p + facts->n_columns : p;
  const float fx = (float) (column - x), fy = (float) (row - y);
  *value = (1 - fy) * ((1 - fx) * p[0] + fx * p[1]) + fy * ((1 - fx) * q[0] + fx * q[1]);
  return TRUE;
}

/* @a less @b mirrored at the line, in place. A tilted line takes samples to other rows. */
static void
preview_less_mirrored (float *a, const float *b, const TdScanFacts *facts, const TdAxisLine *axis)
{
  const double norm = hypot (axis->slope, 1), dx = axis->slope / norm, dy = 1 / norm;

  for (guint row = 0; row < facts->n_rows; row++)
    for (guint column = 0; column < facts->n_columns; column++) {
      const double x = column - axis->centre_px, y = row - axis->middle_row;
      const double along = 2 * (x * dx + y * dy);
      float *sample = a + (gsize) row * facts->n_columns + column, other;
      /* Exactly on its row where the axis is upright. */
      const double there = axis->slope == 0 ? row : axis->middle_row + along * dy - y;
      *sample = preview_sample (b, facts, axis->centre_px + along * dx - x, there, &other)
                    ? *sample - other
                    : 0;
    }
}

float *
td_preview_opposite (TdEngine *engine, TdScan *scan, const guint views[2], const TdRecipe *recipe,
                     const TdAxisLine *axis, GCancellable *cancellable, GError **error)
{
  const TdScanFacts *facts = td_scan_facts (scan);
  g_autofree float *first
      = td_preview_projection (engine, scan, views[0], recipe, cancellable, error);
  g_autofree float *second
      = first ? td_preview_projection (engine, scan, views[1], recipe, cancellable, error) : NULL;

  if (!second)
    return NULL;
  preview_less_mirrored (first, second, facts, axis);
  return g_steal_pointer (&first);
}

float *
td_preview_sinogram (TdEngine *engine, TdScan *scan, guint row, const TdRecipe *recipe,
                     GCancellable *cancellable, GError **error)
{
  const TdScanFacts *facts = td_scan_facts (scan);
  const gsize samples = (gsize) facts->n_views * facts->n_columns;
  const TdRowRange range = { row, 1 };

  if (!recipe) {
    g_autofree float *stored = td_host_malloc (samples * sizeof *stored, error);
    return stored && td_rows_read_scan (scan, range, stored, cancellable, error)
               ? g_steal_pointer (&stored)
               : NULL;
  }
  g_autoptr (TdScan) masked = td_engine_masked (engine, scan, td_recipe_mask (recipe), error);
  if (!masked)
    return NULL;
  const TdRowSource source = { .scan = masked, .steps = recipe->steps, .n_steps = recipe->n_steps };
  const guint halo = td_preparation_halo (recipe->steps, recipe->n_steps, facts);
  g_autoptr (TdPreparedRows) rows
      = preview_rows_new (engine, &source, MIN (facts->n_rows, 1 + 2 * halo), error);
  const float *out = rows ? td_prepared_rows_make (rows, range, cancellable, error) : NULL;
  return out ? preview_copy (out, samples, error) : NULL;
}

/* ── Coarse slices ── */

guint
td_preview_coarse_factor (const TdScanFacts *facts)
{
  double updates = (double) facts->n_columns * facts->n_columns * facts->n_views;
  guint factor = 1;

  if (facts->geometry.beam != TD_BEAM_PARALLEL || updates <= QUICK_UPDATES)
    return 0;
  while (factor < 8 && updates / pow (factor, 3) > QUICK_UPDATES)
    factor *= 2;
  while (factor > 1 && facts->n_columns / factor < LEAST_COLUMNS)
    factor /= 2;
  return factor > 1 ? factor : 0;
}

static TdScanFrame
coarse_frame (const TdScanFacts *facts, guint row, guint factor)
{
  return (TdScanFrame) {
    .crop_row = row,
    .crop_columns = facts->n_columns,
    .crop_rows = 1,
    .bin_columns = factor,
    .bin_views = MIN (factor, facts->n_views),
  };
}

/* The frames of a coarse scan: [0] projections, [1] flats, [2] darks. */
static gboolean
coarse_read (TdScan *view, float *frames[3], GCancellable *cancellable, GError **error)
{
  const TdScanFacts *facts = td_scan_facts (view);
  const TdFrameRange ranges[] = { { TD_FRAME_PROJECTION, 0, facts->n_views, 0, 1 },
                                  { TD_FRAME_FLAT, 0, facts->n_flats, 0, 1 },
                                  { TD_FRAME_DARK, 0, facts->n_darks, 0, 1 } };

  for (guint i = 0; i < G_N_ELEMENTS (ranges); i++) {
    if (ranges[i].count == 0)
      continue;
    frames[i]
        = td_host_malloc ((guint64) ranges[i].count * facts->n_columns * sizeof (float), error);
    if (!frames[i]
        || !(i == 0 ? td_scan_read_sinograms : td_scan_read) (view, &ranges[i], frames[i],
                                                              cancellable, error))
      return FALSE;
  }
  return TRUE;
}

static void
coarse_free (gpointer user)
{
  float **frames = user;

  for (guint i = 0; i < 3; i++)
    g_free (frames[i]);
  g_free (frames);
}

static TdAxisLine
coarse_axis (const TdRecipe *recipe, const TdScanFacts *facts)
{
  double centre = recipe->centre_px;

  if (!isfinite (centre))
    centre = isfinite (facts->centre_px) ? facts->centre_px : (facts->n_columns - 1) / 2.0;
  return td_axis_line (centre, recipe->tilt_deg, facts->n_rows);
}

TdScan *
td_preview_coarse_scan (TdScan *scan, const TdRecipe *recipe, guint row, guint factor,
                        GCancellable *cancellable, GError **error)
{
  TdScanFrame frame = coarse_frame (td_scan_facts (scan), row, factor);
  g_autoptr (TdScan) view = td_scan_view_new (scan, &frame, NULL);

  if (!view) {
    frame.bin_views = 1;
    view = td_scan_view_new (scan, &frame, error);
  }
  if (!view)
    return NULL;
  float **frames = g_new0 (float *, 3);
  TdScanFacts facts = *td_scan_facts (view);
  /* What is not coarse takes turns with the slice of the whole scan: it has its size. */
  if (factor == 1 && recipe) {
    const TdAxisLine axis = coarse_axis (recipe, td_scan_facts (scan));
    facts.wide_columns
        = (guint) MIN (td_field_wide_columns (td_scan_facts (scan), &axis), G_MAXINT);
  }
  if (coarse_read (view, frames, cancellable, error))
    return td_scan_new_from_memory (&facts, frames[0], frames[1], frames[2], coarse_free, frames);
  coarse_free (frames);
  return NULL;
}

void
td_preview_coarse_recipe (const TdRecipe *recipe, const TdScanFacts *facts, guint row, guint factor,
                          TdRecipe *coarse)
{
  const TdScanFrame frame = coarse_frame (facts, row, factor);
  const TdAxisLine axis = coarse_axis (recipe, facts);

  *coarse = *recipe;
  coarse->centre_px = td_axis_line_seen (&axis, facts, &frame, 1).centre_px;
  coarse->tilt_deg = 0;
  coarse->row_first = 0;
  coarse->row_end = 1;
  memset (coarse->region, 0, sizeof coarse->region);
  *coarse->mask = '\0'; /* the coarse scan has its own */
  for (guint i = 0; i < coarse->n_steps; i++)
    td_step_scale_columns (&coarse->steps[i], factor);
  /* A pixel of 0 stays what the scan says, which is coarse itself. */
  TdStep *paganin = td_recipe_step (coarse, "paganin");
  if (paganin)
    paganin->values[TD_PAGANIN_PIXEL] *= factor;
  /* A region of the detector means nothing in a scan of one row. */
  TdStep *dose = td_recipe_step (coarse, "dose");
  if (dose && td_dose_is_of_region (dose))
    dose->enabled = FALSE;
}

double
td_preview_coarse_side (const TdScanFacts *facts, const TdPlanFacts *plan, guint factor)
{
  if (factor == 1)
    return plan->nx;
  if (!plan->half_acquisition)
    return facts->n_columns;
  return (double) td_row_blend_width (facts->n_columns,
                                      factor * plan->centre_px + (factor - 1) / 2.0);
}

void
td_preview_coarse_values (const TdPlanFacts *plan, guint factor, float *slice)
{
  const gsize n = (gsize) plan->nx * plan->ny;

  if (factor == 1 || g_strcmp0 (plan->units, "1/px") != 0)
    return;
  for (gsize i = 0; i < n; i++)
    slice[i] /= (float) factor;
}
