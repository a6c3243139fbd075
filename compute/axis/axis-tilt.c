/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "axis-tilt.h"

#include <math.h>
#include <string.h>

#include "axis-likeness.h"
#include "axis-methods.h"
#include "axis-pairs.h"
#include "axis-search.h"
#include "compute/device/host.h"
#include "compute/portion.h"

#define MOST_PAIRS 12
#define STILL_FRAMES 8 /* fewer show as much of the sample as of what stands still */
#define MOST_ROWS 32   /* compared, spread over the detector */
#define LEAST_ROWS 6
#define BAND 8 /* neighbouring rows averaged to one, at most */
#define FRAMES_BYTES td_portion (512u << 20)
#define MOST_FLATS 8 /* averaged: slow drifts do not matter here */
#define ROUNDS 8
/* How much larger slope errors are in the study than by the spread: of several pairs, and of one,
   which cannot tell an outlier. */
#define SLOPE_TAILS 2
#define PAIR_TAILS 4
/* The error of a slope that no spread tells, in columns between the first and the last row. */
#define SLOPE_FLOOR_PX 0.05
#define CLOSE_SLOPE 1e-5 /* columns a row: done */
#define STEEPEST 0.09
#define LEAST_LIKENESS 0.1

typedef struct {
  const TdRowSource *source;
  GCancellable *cancellable;
  guint n_columns, n_rows;
  GArray *pairs; /* TdAxisPair, of frames */
  guint n_frames;
  TdPreparedRows *rows;
  float *frames;     /* [row][frame][column], prepared; in the memory of `rows` */
  guint count, band; /* rows compared; rows averaged to one */
  double *places;    /* [count] heights z */
  float *sheared;    /* [count][frame][column] */
} Search;

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
    return N_ ("the detector has too few columns");
  return pairs->len ? NULL : N_ ("no two views are exactly half a turn apart");
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

/* The mean of some frames. NULL without error: there are none. */
static float *
axis_tilt_read_mean (const Search *self, TdFrameKind kind, guint n_frames, GError **error)
{
  gsize pixels = (gsize) self->n_rows * self->n_columns;
  guint n = MIN (n_frames, MOST_FLATS);

  if (n == 0)
    return NULL;
  g_autofree float *frame = td_host_malloc (pixels * sizeof *frame, error);
  g_autofree float *mean = frame ? td_host_malloc (pixels * sizeof *mean, error) : NULL;
  if (!mean)
    return NULL;
  memset (mean, 0, pixels * sizeof *mean);
  for (guint i = 0; i < n; i++) {
    if (!td_scan_read (self->source->scan,
                       &(TdFrameRange) { kind, i * n_frames / n, 1, 0, self->n_rows }, frame,
                       self->cancellable, error))
      return NULL;
    for (gsize p = 0; p < pixels; p++)
      mean[p] += frame[p] / n;
  }
  return g_steal_pointer (&mean);
}

/* The frames that a scan of a few views is made of. */
typedef struct {
  float *views, *flat, *dark; /* flat, dark: NULL: none */
} Frames;

static void
axis_tilt_frames_free (gpointer user)
{
  Frames *frames = user;

  g_free (frames->views);
  g_free (frames->flat);
  g_free (frames->dark);
  g_free (frames);
}

static gboolean
frames_read (Frames *frames, const Search *self, const GArray *views, GError **error)
{
  const TdScanFacts *facts = td_scan_facts (self->source->scan);
  const gsize pixels = (gsize) self->n_rows * self->n_columns;
  GError *problem = NULL;

  frames->views = td_host_malloc (views->len * pixels * sizeof (float), error);
  if (!frames->views)
    return FALSE;
  for (guint i = 0; i < views->len; i++) {
    const guint view = g_array_index (views, guint, i);
    if (!td_scan_read (self->source->scan,
                       &(TdFrameRange) { TD_FRAME_PROJECTION, view, 1, 0, self->n_rows },
                       frames->views + i * pixels, self->cancellable, error))
      return FALSE;
  }
  frames->flat = axis_tilt_read_mean (self, TD_FRAME_FLAT, facts->n_flats, &problem);
  if (!problem)
    frames->dark = axis_tilt_read_mean (self, TD_FRAME_DARK, facts->n_darks, &problem);
  if (problem)
    g_propagate_error (error, problem);
  return !problem;
}

/* A scan of these views alone: the flat field and the logarithm run on it as on any other. */
static TdScan *
few_views (const Search *self, const GArray *views, GError **error)
{
  TdScanFacts facts = *td_scan_facts (self->source->scan);
  g_autofree double *angles = g_new (double, views->len);
  g_autofree double *monitor = facts.monitor ? g_new0 (double, views->len + 1) : NULL;
  Frames *frames = g_new0 (Frames, 1);

  if (!frames_read (frames, self, views, error)) {
    axis_tilt_frames_free (frames);
    return NULL;
  }
  for (guint i = 0; i < views->len; i++)
    angles[i] = facts.angles_rad[g_array_index (views, guint, i)];
  for (guint i = 0; monitor && i < views->len; i++)
    monitor[i] = facts.monitor[g_array_index (views, guint, i)];
  for (guint f = 0; monitor && f < facts.n_flats; f++)
    monitor[views->len] += facts.monitor[facts.n_views + f] / facts.n_flats;
  facts.monitor = monitor;
  facts.n_views = views->len;
  facts.angles_rad = angles;
  facts.flat_positions = NULL;
  facts.n_flats = facts.n_darks = 1;
  return td_scan_new_from_memory (&facts, frames->views, frames->flat, frames->dark,
                                  axis_tilt_frames_free, frames);
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
axis_tilt_load (Search *self, const GArray *views, GError **error)
{
  const TdRowSource *source = self->source;
  g_autofree TdStep *plain = g_new (TdStep, source->n_steps + 1);
  const guint n_plain = plain_steps (source->steps, source->n_steps, plain);
  g_autoptr (TdScan) few = few_views (self, views, error);
  const TdRowSource frames = { source->device, few, NULL, plain, n_plain };

  if (few)
    self->rows = td_prepared_rows_new (&frames, NULL, self->n_rows, 0, error);
  if (self->rows)
    self->frames = td_prepared_rows_make (self->rows, (TdRowRange) { 0, self->n_rows },
                                          self->cancellable, error);
  if (!self->frames)
    return FALSE;
  for (guint row = 0; row < self->n_rows && self->n_frames >= STILL_FRAMES; row++)
    td_axis_remove_mean (self->frames + (gsize) row * self->n_frames * self->n_columns,
                         self->n_frames, self->n_columns, NULL);
  return TRUE;
}

/* ── The axis' frame ── */

/* Rows compared, away from the top and the bottom by what the shear may reach. */
static void
choose_rows (Search *self)
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
shear_row (const Search *self, guint frame, double z, const TdAxisLine *line, float *out)
{
  const gsize row_floats = (gsize) self->n_frames * self->n_columns;
  const double centre = td_axis_line_at (line, z);

  for (guint u = 0; u < self->n_columns; u++) {
    double sum = 0;
    for (guint b = 0; b < self->band; b++) {
      double row = z + b - (self->band - 1) / 2.0 - line->slope * (u - centre);
      double at = CLAMP (row, 0, self->n_rows - 1.0);
      guint below = MIN ((guint) at, self->n_rows - 2);
      const float *p = self->frames + below * row_floats + (gsize) frame * self->n_columns + u;
      sum += p[0] + (at - below) * (p[row_floats] - p[0]);
    }
    out[u] = (float) (sum / self->band);
  }
}

/* The pairs of each height, in the sheared rows. What a pair is off by are rows from the middle:
   the centre drifts along the axis. */
static GArray *
axis_tilt_shear (Search *self, const TdAxisLine *line)
{
  GArray *pairs = g_array_new (FALSE, FALSE, sizeof (TdAxisPair));

  for (guint i = 0; i < self->count; i++) {
    for (guint f = 0; f < self->n_frames; f++)
      shear_row (self, f, self->places[i], line,
                 self->sheared + ((gsize) i * self->n_frames + f) * self->n_columns);
    for (guint p = 0; p < self->pairs->len; p++) {
      TdAxisPair pair = g_array_index (self->pairs, TdAxisPair, p);
      pair.view += i * self->n_frames;
      pair.below += i * self->n_frames;
      pair.above += i * self->n_frames;
      pair.off_rad = self->places[i] - line->middle_row;
      g_array_append_val (pairs, pair);
    }
  }
  return pairs;
}

/* One climb with views sheared by the line's slope: the line that they then say. */
static gboolean
axis_tilt_look (Search *self, const TdAxisLine *line, TdAxisTilt *said, double *top, GError **error)
{
  g_autoptr (GArray) pairs = axis_tilt_shear (self, line);
  guint n = self->n_columns, rows = self->count * self->n_frames;
  g_autofree double *response = td_axis_response (self->sheared, rows, n);
  g_autoptr (TdAxisLikeness) likeness
      = response ? td_axis_likeness_new (self->sheared, n, pairs, response) : NULL;
  if (!likeness)
    return td_set_error (error, TD_ERROR_DEVICE_MEMORY, "There is no memory to compare %u rows",
                         rows);
  const double first = self->places[0] - line->middle_row;
  TdAxisMatch match = { .centre_px = line->centre_px, .drift_px = line->slope * first };
  if (!td_axis_likeness_climb (likeness, &match, self->cancellable, error))
    return FALSE;
  said->line = (TdAxisLine) { match.centre_px, match.drift_px / first, line->middle_row };
  *top = match.top;
  /* The factor allows for noise that neighbours share, once it is whitened and sheared, and for
     stripes, which few frames keep. The slope's error is that of a line through evenly spread
     places. */
  said->centre_error = (self->n_frames >= STILL_FRAMES ? 1.2 : 2.4) * match.spread_px;
  const double span = self->places[self->count - 1] - self->places[0];
  const double spread = said->centre_error * sqrt (12) / span;
  said->slope_error
      = hypot ((self->n_frames > 2 ? SLOPE_TAILS : PAIR_TAILS) * spread, SLOPE_FLOOR_PX / span);
  return TRUE;
}

/* The slope that confirms itself, by the secant through the last two looks. */
static gboolean
axis_tilt_settle (Search *self, TdAxisTilt *tilt, GError **error)
{
  TdAxisLine at = tilt->line;
  double last_slope = 0, last_excess = 0, top = 0;
  TdAxisTilt said = { 0 };

  for (guint round = 0; round < ROUNDS; round++) {
    if (!axis_tilt_look (self, &at, &said, &top, error))
      return FALSE;
    double excess = said.line.slope - at.slope, slope = said.line.slope;
    if (round > 0 && fabs (excess - last_excess) > 1e-12)
      slope = at.slope - excess * (at.slope - last_slope) / (excess - last_excess);
    last_slope = at.slope;
    last_excess = excess;
    at.centre_px = said.line.centre_px;
    at.slope = CLAMP (slope, -STEEPEST, STEEPEST);
    if (fabs (excess) < CLOSE_SLOPE)
      break;
  }
  *tilt = said;
  tilt->line = at;
  tilt->found = top > LEAST_LIKENESS && isfinite (said.slope_error) && fabs (at.slope) < STEEPEST
                && fabs (at.slope - last_slope) < 0.003;
  return TRUE;
}

gboolean
td_axis_tilt (const TdRowSource *source, const TdAxisLine *begin, TdAxisTilt *tilt,
              GCancellable *cancellable, GError **error)
{
  const TdScanFacts *facts = td_scan_facts (source->scan);
  g_autoptr (GArray) views = g_array_new (FALSE, FALSE, sizeof (guint));
  g_autoptr (GArray) pairs = axis_tilt_choose_pairs (facts, views);
  Search self = { .source = source,
                  .cancellable = cancellable,
                  .n_columns = facts->n_columns,
                  .n_rows = facts->n_rows,
                  .pairs = pairs,
                  .n_frames = views->len };

  *tilt = (TdAxisTilt) { .line = *begin };
  if (pairs->len == 0 || facts->n_rows < LEAST_ROWS)
    return TRUE;
  choose_rows (&self);
  self.sheared = g_try_new (float, (gsize) self.count *self.n_frames *self.n_columns);
  if (!self.sheared)
    td_set_error (error, TD_ERROR_DEVICE_MEMORY, "There is no memory to compare %u rows",
                  self.count);
  const gboolean done = self.sheared && axis_tilt_load (&self, views, error)
                        && axis_tilt_settle (&self, tilt, error);
  td_prepared_rows_free (self.rows);
  g_free (self.sheared);
  g_free (self.places);
  return done;
}

const TdAxisMethodKind td_axis_projections = {
  .name = N_ ("projections"),
  .title = N_ ("Whole opposite projections"),
  .unsuited = axis_tilt_unsuited,
};
