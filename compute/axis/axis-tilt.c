/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "axis-tilt.h"

#include <math.h>
#include <string.h>

#include "axis-likeness.h"
#include "axis-methods.h"
#include "axis-pairs.h"
#include "axis-search.h"
#include "compute/prepare/prepare.h"

#define MOST_PAIRS 12
#define STILL_FRAMES 8 /* fewer show as much of the sample as of what stands still */
#define MOST_ROWS 32   /* compared, spread over the detector */
#define LEAST_ROWS 6
#define BAND 8 /* neighbouring rows averaged to one, at most */
#define FRAMES_BYTES (512u << 20)
#define MOST_FLATS 8 /* averaged: slow drifts do not matter here */
#define ROUNDS 8
#define CLOSE_SLOPE 1e-5 /* columns a row: done */
#define STEEPEST 0.09
#define LEAST_LIKENESS 0.1

typedef struct {
  TdScan *scan;
  TdDevice *device;
  guint n_columns, n_rows;
  GArray *pairs; /* TdAxisPair, of frames */
  guint n_frames;
  float *frames;     /* [row][frame][column], -log values */
  guint count, band; /* rows compared; rows averaged to one */
  double *places;    /* [count] heights z */
  float *sheared;    /* [count][frame][column] */
} Tilt;

/* ── Frames ── */

/* Exact pairs, each once. */
static GArray *
exact_pairs (const double *angles_rad, guint n_views)
{
  GArray *pairs = td_axis_pairs (angles_rad, n_views);
  guint exact = 0;

  for (guint i = 0; i < pairs->len; i++) {
    const TdAxisPair *pair = &g_array_index (pairs, TdAxisPair, i);
    if (pair->below == pair->above && pair->off_rad == 0 && pair->view < pair->below)
      g_array_index (pairs, TdAxisPair, exact++) = *pair;
  }
  return g_array_set_size (pairs, exact);
}

static const char *
axis_tilt_unsuited (const double *angles_rad, guint n_views, guint n_columns)
{
  g_autoptr (GArray) pairs = exact_pairs (angles_rad, n_views);

  if (n_columns < 8)
    return "the detector has too few columns";
  return pairs->len ? NULL : "no two views are exactly half a turn apart";
}

/* Spread over the turn; views[] lists the frames to read. */
static GArray *
axis_tilt_choose_pairs (const TdScanFacts *facts, GArray *views)
{
  g_autoptr (GArray) all = exact_pairs (facts->angles_rad, facts->n_views);
  GArray *chosen = g_array_new (FALSE, FALSE, sizeof (TdAxisPair));
  guint64 frame_bytes = (guint64) facts->n_rows * facts->n_columns * sizeof (float);
  guint fit = (guint) MIN (FRAMES_BYTES / (4 * frame_bytes), MOST_PAIRS), exact = all->len;
  guint n = MIN (exact, fit);
  for (guint i = 0; i < n; i++) {
    TdAxisPair pair = g_array_index (all, TdAxisPair, (guint64) i * exact / n);
    g_array_append_val (views, pair.view);
    g_array_append_val (views, pair.below);
    pair.view = 2 * i;
    pair.below = pair.above = 2 * i + 1;
    g_array_append_val (chosen, pair);
  }
  return chosen;
}

/* The mean of some frames; NULL without error: there are none. */
static float *
axis_tilt_read_mean (TdScan *scan, TdFrameKind kind, guint n_frames, GCancellable *cancellable,
                     GError **error)
{
  const TdScanFacts *facts = td_scan_facts (scan);
  gsize pixels = (gsize) facts->n_rows * facts->n_columns;
  guint n = MIN (n_frames, MOST_FLATS);
  g_autofree float *frame = g_new (float, pixels), *mean = g_new0 (float, pixels);

  for (guint i = 0; i < n; i++) {
    if (!td_scan_read (scan, &(TdFrameRange) { kind, i * n_frames / n, 1, 0, facts->n_rows }, frame,
                       cancellable, error))
      return NULL;
    for (gsize p = 0; p < pixels; p++)
      mean[p] += frame[p] / n;
  }
  return n ? g_steal_pointer (&mean) : NULL;
}

/* A scan of these views alone: the flat field and the logarithm run on it as on any other. */
static TdScan *
few_views (TdScan *scan, const GArray *views, float *frames, const float *flat, const float *dark,
           GCancellable *cancellable, GError **error)
{
  TdScanFacts facts = *td_scan_facts (scan);
  gsize pixels = (gsize) facts.n_rows * facts.n_columns;
  g_autofree double *angles = g_new (double, views->len);

  for (guint i = 0; i < views->len; i++) {
    guint view = g_array_index (views, guint, i);
    angles[i] = facts.angles_rad[view];
    if (!td_scan_read (scan, &(TdFrameRange) { TD_FRAME_PROJECTION, view, 1, 0, facts.n_rows },
                       frames + i * pixels, cancellable, error))
      return NULL;
  }
  facts.n_views = views->len;
  facts.angles_rad = angles;
  facts.flat_positions = NULL;
  facts.n_flats = facts.n_darks = 1;
  return td_scan_new_from_memory (&facts, frames, flat, dark, NULL, NULL);
}

/* Steps that look at all views, or at the shape of what they make, are left out. */
static guint
plain_steps (const TdStep *steps, guint n_steps, TdStep *out)
{
  guint n = 0;

  for (guint i = 0; i < n_steps; i++) {
    const TdStepKind *kind = td_prepare_step (steps[i].name, NULL);
    if (kind && kind->stage == TD_STEP_FLAT)
      out[n++] = steps[i];
  }
  return n;
}

static gboolean
axis_tilt_prepare (Tilt *self, TdScan *few, const TdStep *steps, guint n_steps,
                   GCancellable *cancellable, GError **error)
{
  guint64 bytes = (guint64) self->n_rows * self->n_frames * self->n_columns * sizeof (float);
  g_autofree TdStep *plain = g_new (TdStep, n_steps + 1);
  guint n_plain = plain_steps (steps, n_steps, plain);
  g_autoptr (TdPreparation) preparation
      = td_preparation_new (self->device, few, NULL, plain, n_plain, self->n_rows, error);
  g_autoptr (TdQueue) queue = preparation ? td_queue_new (self->device, error) : NULL;
  g_autoptr (TdBuffer) buffer = queue ? td_buffer_new (self->device, bytes, error) : NULL;

  return buffer
         && td_scan_read_sinograms (
             few, &(TdFrameRange) { TD_FRAME_PROJECTION, 0, self->n_frames, 0, self->n_rows },
             self->frames, cancellable, error)
         && td_upload (queue, buffer, 0, self->frames, bytes, error)
         && td_preparation_run (preparation, queue, buffer, 0, self->n_rows, NULL, cancellable,
                                error)
         && td_download (queue, self->frames, buffer, 0, bytes, error)
         && td_queue_finish (queue, error);
}

static gboolean
axis_tilt_load (Tilt *self, const GArray *views, const TdStep *steps, guint n_steps,
                GCancellable *cancellable, GError **error)
{
  const TdScanFacts *facts = td_scan_facts (self->scan);
  gsize pixels = (gsize) self->n_rows * self->n_columns;
  g_autoptr (GError) problem = NULL;
  g_autofree float *raw = g_new (float, views->len *pixels);
  g_autofree float *flat
      = axis_tilt_read_mean (self->scan, TD_FRAME_FLAT, facts->n_flats, cancellable, &problem);
  g_autofree float *dark = problem ? NULL
                                   : axis_tilt_read_mean (self->scan, TD_FRAME_DARK, facts->n_darks,
                                                          cancellable, &problem);

  if (problem) {
    g_propagate_error (error, g_steal_pointer (&problem));
    return FALSE;
  }
  g_autoptr (TdScan) few = few_views (self->scan, views, raw, flat, dark, cancellable, error);
  self->frames = g_new (float, views->len *pixels);
  if (!few || !axis_tilt_prepare (self, few, steps, n_steps, cancellable, error))
    return FALSE;
  for (guint row = 0; row < self->n_rows && self->n_frames >= STILL_FRAMES; row++)
    td_axis_remove_mean (self->frames + (gsize) row * self->n_frames * self->n_columns,
                         self->n_frames, self->n_columns, NULL);
  return TRUE;
}

/* ── The axis' frame ── */

/* Rows compared, away from the top and the bottom by what the shear may reach. */
static void
choose_rows (Tilt *self)
{
  guint margin = MIN ((guint) (0.01 * self->n_columns) + 1, self->n_rows / 6);
  guint inner = self->n_rows - 2 * margin;

  self->count = MIN (inner, MOST_ROWS);
  self->band = CLAMP (inner / self->count, 1, BAND);
  self->places = g_new (double, self->count);
  for (guint i = 0; i < self->count; i++)
    self->places[i] = margin + (i + 0.5) * inner / self->count - 0.5;
}

/* The mean of the band about height z, each column from its own rows. */
static void
shear_row (const Tilt *self, guint frame, double z, double centre, double slope, float *out)
{
  gsize row_floats = (gsize) self->n_frames * self->n_columns;

  for (guint u = 0; u < self->n_columns; u++) {
    double sum = 0;
    for (guint b = 0; b < self->band; b++) {
      double row = z + b - (self->band - 1) / 2.0 - slope * (u - centre);
      double at = CLAMP (row, 0, self->n_rows - 1.0);
      guint below = MIN ((guint) at, self->n_rows - 2);
      const float *p = self->frames + below * row_floats + (gsize) frame * self->n_columns + u;
      sum += p[0] + (at - below) * (p[row_floats] - p[0]);
    }
    out[u] = (float) (sum / self->band);
  }
}

/* One climb with views sheared by line's slope: the line that they then say. */
static gboolean
axis_tilt_look (Tilt *self, const TdAxisLine *line, TdAxisLine *said, double *top,
                double *centre_error, double *slope_error, GCancellable *cancellable,
                GError **error)
{
  g_autoptr (GArray) pairs = g_array_new (FALSE, FALSE, sizeof (TdAxisPair));
  guint n = self->n_columns, rows = self->count * self->n_frames;

  for (guint i = 0; i < self->count; i++) {
    double centre = td_axis_line_at (line, self->places[i]);
    for (guint f = 0; f < self->n_frames; f++)
      shear_row (self, f, self->places[i], centre, line->slope,
                 self->sheared + ((gsize) i * self->n_frames + f) * n);
    for (guint p = 0; p < self->pairs->len; p++) {
      TdAxisPair pair = g_array_index (self->pairs, TdAxisPair, p);
      pair.view += i * self->n_frames;
      pair.below += i * self->n_frames;
      pair.above += i * self->n_frames;
      pair.off_rad = self->places[i] - line->middle; /* rows: the centre drifts along the axis */
      g_array_append_val (pairs, pair);
    }
  }
  g_autofree double *response = td_axis_response (self->sheared, rows, n);
  g_autoptr (TdAxisLikeness) likeness
      = response ? td_axis_likeness_new (self->sheared, n, pairs, response) : NULL;
  if (!likeness) {
    g_set_error (error, TD_ERROR, TD_ERROR_DEVICE_MEMORY, "There is no memory to compare %u rows",
                 rows);
    return FALSE;
  }
  double first = self->places[0] - line->middle, drift = line->slope * first, spread;
  *said = *line;
  if (!td_axis_likeness_climb (likeness, &said->centre_px, &drift, top, &spread, cancellable,
                               error))
    return FALSE;
  said->slope = drift / first;
  /* More, for the noise of neighbours is not independent once it is whitened and sheared, and the
     stripes of few frames stay. The error of a slope comes from that of the mean of evenly spread
     places. */
  double more = self->n_frames >= STILL_FRAMES ? 2 : 4;
  *centre_error = more * spread;
  *slope_error = *centre_error * sqrt (12) / (self->places[self->count - 1] - self->places[0]);
  return TRUE;
}

/* The slope that confirms itself, by the secant through the last two looks. */
static gboolean
axis_tilt_settle (Tilt *self, TdAxisLine *line, double *centre_error, double *slope_error,
                  gboolean *found, GCancellable *cancellable, GError **error)
{
  TdAxisLine at = *line, said;
  double last_slope = 0, last_excess = 0, top = 0;

  for (guint round = 0; round < ROUNDS; round++) {
    if (!axis_tilt_look (self, &at, &said, &top, centre_error, slope_error, cancellable, error))
      return FALSE;
    double excess = said.slope - at.slope, slope = said.slope;
    if (round > 0 && fabs (excess - last_excess) > 1e-12)
      slope = at.slope - excess * (at.slope - last_slope) / (excess - last_excess);
    last_slope = at.slope;
    last_excess = excess;
    at = (TdAxisLine) { said.centre_px, CLAMP (slope, -STEEPEST, STEEPEST), line->middle };
    if (fabs (excess) < CLOSE_SLOPE)
      break;
  }
  *found = top > LEAST_LIKENESS && isfinite (*slope_error) && fabs (at.slope) < STEEPEST
           && fabs (at.slope - last_slope) < 0.003;
  if (*found)
    *line = at;
  return TRUE;
}

gboolean
td_axis_tilt (TdDevice *device, TdScan *scan, const TdStep *steps, guint n_steps, TdAxisLine *line,
              double *centre_error, double *slope_error, gboolean *found, GCancellable *cancellable,
              GError **error)
{
  const TdScanFacts *facts = td_scan_facts (scan);
  g_autoptr (GArray) views = g_array_new (FALSE, FALSE, sizeof (guint));
  g_autoptr (GArray) pairs = axis_tilt_choose_pairs (facts, views);
  Tilt self = { .scan = scan,
                .device = device,
                .n_columns = facts->n_columns,
                .n_rows = facts->n_rows,
                .pairs = pairs,
                .n_frames = views->len };
  gboolean done = TRUE;

  *found = FALSE;
  if (pairs->len == 0 || facts->n_rows < LEAST_ROWS)
    return TRUE;
  choose_rows (&self);
  self.sheared = g_new (float, (gsize) self.count *self.n_frames *self.n_columns);
  done = axis_tilt_load (&self, views, steps, n_steps, cancellable, error)
         && axis_tilt_settle (&self, line, centre_error, slope_error, found, cancellable, error);
  g_free (self.frames);
  g_free (self.sheared);
  g_free (self.places);
  return done;
}

const TdAxisMethodKind td_axis_projections = {
  .method = TD_AXIS_PROJECTIONS,
  .name = "projections",
  .title = "Whole opposite projections",
  .unsuited = axis_tilt_unsuited,
};
