/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "flats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compute/device/host.h"
#include "compute/portion.h"
#include "dataset/sort.h"

/* Ranges kept: a job's reading thread is at most a few slabs ahead of the last device. */
#define N_KEPT 8
/* Results of td_flats_once() kept: a few settings that somebody tries in turn. */
#define N_ONCE 8
/* Frames are read in portions of about this size. */
#define PORTION_BYTES (8u << 20)

typedef struct {
  TdFlatRows *rows;
  TdFlatsHow how;
} Kept;

typedef struct {
  char *key;
  GBytes *bytes;
} Once;

struct TdFlats {
  gatomicrefcount references;
  TdScan *scan;
  GMutex lock;           /* also keeps two threads from reading the same rows */
  Kept kept[N_KEPT];     /* newest first */
  guint8 *odd;           /* of each flat, then each dark: Odd; NULL: not known yet */
  double top, top_share; /* as in TdFlatsOdd */
  GMutex once_lock;
  Once once[N_ONCE]; /* newest first */
};

TdFlats *
td_flats_new (TdScan *scan)
{
  TdFlats *flats = g_new0 (TdFlats, 1);

  g_atomic_ref_count_init (&flats->references);
  flats->scan = td_scan_ref (scan);
  g_mutex_init (&flats->lock);
  g_mutex_init (&flats->once_lock);
  return flats;
}

TdFlats *
td_flats_ref (TdFlats *flats)
{
  g_atomic_ref_count_inc (&flats->references);
  return flats;
}

static void
once_clear (Once *once)
{
  g_free (once->key);
  g_bytes_unref (once->bytes);
}

void
td_flats_unref (TdFlats *flats)
{
  if (!flats || !g_atomic_ref_count_dec (&flats->references))
    return;
  for (guint i = 0; i < N_KEPT; i++)
    td_flat_rows_unref (flats->kept[i].rows);
  for (guint i = 0; i < N_ONCE; i++)
    once_clear (&flats->once[i]);
  g_free (flats->odd);
  td_scan_unref (flats->scan);
  g_mutex_clear (&flats->lock);
  g_mutex_clear (&flats->once_lock);
  g_free (flats);
}

TdScan *
td_flats_scan (TdFlats *flats)
{
  return flats->scan;
}

void
td_flat_rows_unref (TdFlatRows *rows)
{
  if (!rows || !g_atomic_ref_count_dec (&rows->references))
    return;
  g_free (rows->flat);
  g_free (rows->dark);
  g_free (rows);
}

GBytes *
td_flats_once (TdFlats *flats, const char *key, TdFlatsMake make, gconstpointer user,
               GCancellable *cancellable, GError **error)
{
  GBytes *bytes = NULL;

  g_mutex_lock (&flats->once_lock);
  for (guint i = 0; i < N_ONCE && !bytes; i++)
    if (flats->once[i].key && strcmp (flats->once[i].key, key) == 0)
      bytes = flats->once[i].bytes;
  if (!bytes && (bytes = make (flats, user, cancellable, error))) {
    once_clear (&flats->once[N_ONCE - 1]);
    memmove (&flats->once[1], &flats->once[0], (N_ONCE - 1) * sizeof flats->once[0]);
    flats->once[0] = (Once) { g_strdup (key), bytes };
  }
  if (bytes)
    g_bytes_ref (bytes);
  g_mutex_unlock (&flats->once_lock);
  return bytes;
}

/* ── Frames that are none ── */

typedef enum { FLATS_SOUND, FLATS_NONE, FLATS_BRIGHT, FLATS_BLIND } Odd;

/* A flat has at least this part of a usual flat's light, and at most so many times as much. A dark
   has at most this part of it. */
#define LEAST_FLAT 0.1
#define LEAST_LIGHT 0.01 /* below it there is none at all */
#define MOST_FLAT 4
#define MOST_DARK 0.5
#define ODD_ROWS 3u
/* A usual flat has at least this part of the projections' light: most flats may be none. */
#define LEAST_USUAL 0.5
#define ODD_VIEWS 4u

/* One in so many of a frame's samples, at either end, counts no further out than the others go. A
   few absurd ones then say nothing of the frame. */
#define TAIL 32

/* Of a kind's frames every @step th, over some rows amid the detector. */
typedef struct {
  TdFrameKind kind;
  guint n_frames, step;
  double *levels; /* the winsorized mean of each; NaN: nothing finite */
  double most;    /* of all samples, and … */
  guint64 n_most, n_samples;
  guint64 bits; /* that are set in any of them, as integers */
} Levels;

/* The order of @samples is lost. */
static void
flats_add_levels (Levels *levels, guint frame, float *samples, gsize n)
{
  double sum = 0;
  gsize finite = 0;

  for (gsize i = 0; i < n; i++)
    if (isfinite (samples[i])) {
      const double value = samples[finite++] = samples[i];
      if (value > levels->most)
        levels->n_most = 0;
      levels->most = MAX (levels->most, value);
      levels->n_most += value == levels->most;
      levels->bits |= (guint64) CLAMP (fabs (value), 0, 1e18);
    }
  levels->n_samples += finite;
  levels->levels[frame] = NAN;
  if (finite == 0)
    return;
  const gsize tail = MIN ((finite + TAIL - 1) / TAIL, (finite - 1) / 2);
  const float low = td_float_at_rank (samples, finite, tail);
  const float high = td_float_at_rank (samples, finite, finite - 1 - tail);
  for (gsize i = 0; i < finite; i++)
    sum += CLAMP (samples[i], low, high);
  levels->levels[frame] = sum / finite;
}

static gboolean
flats_read_levels (TdScan *scan, Levels *levels, GCancellable *cancellable, GError **error)
{
  const TdScanFacts *facts = td_scan_facts (scan);
  const guint n_rows = MIN (ODD_ROWS, facts->n_rows), row0 = (facts->n_rows - n_rows) / 2;
  const gsize pixels = (gsize) n_rows * facts->n_columns;
  float *samples = td_host_malloc (pixels * sizeof *samples, error);
  gboolean ok = samples != NULL;

  levels->most = -INFINITY;
  for (guint f = 0; f < levels->n_frames && ok; f++) {
    ok = td_scan_read (scan, &(TdFrameRange) { levels->kind, f * levels->step, 1, row0, n_rows },
                       samples, cancellable, error);
    if (ok)
      flats_add_levels (levels, f, samples, pixels);
  }
  g_free (samples);
  return ok;
}

/* The lower middle of the finite ones: of two flats it is the darker. NaN: there are none. */
static double
flats_middle (const double *levels, guint n)
{
  g_autofree double *sorted = g_new (double, MAX (n, 1));
  guint n_finite = 0;

  for (guint i = 0; i < n; i++)
    if (isfinite (levels[i]))
      sorted[n_finite++] = levels[i];
  qsort (sorted, n_finite, sizeof *sorted, td_compare_doubles);
  return n_finite > 0 ? sorted[(n_finite - 1) / 2] : NAN;
}

/* What a flat usually has, over the dark: the middle one's light. But where that is far below what
   is seen through the sample, most flats were taken without the beam, and the brightest counts. */
static gboolean
flats_find_usual (TdScan *scan, const Levels *flats, double dark, double *light,
                  GCancellable *cancellable, GError **error)
{
  const guint n_views = td_scan_facts (scan)->n_views, n = MIN (ODD_VIEWS, n_views);
  double views[ODD_VIEWS], brightest = -INFINITY;
  Levels seen = { TD_FRAME_PROJECTION, n, MAX (n_views / MAX (n, 1), 1), views };

  for (guint f = 0; f < flats->n_frames; f++)
    brightest = fmax (brightest, flats->levels[f]);
  *light = flats_middle (flats->levels, flats->n_frames) - dark;
  /* They agree: there is nothing to be asked of the projections. */
  if (!(*light < LEAST_USUAL * (brightest - dark)))
    return TRUE;
  if (!flats_read_levels (scan, &seen, cancellable, error))
    return FALSE;
  if (*light < LEAST_USUAL * (flats_middle (views, n) - dark))
    *light = brightest - dark;
  return TRUE;
}

/* Cameras of 8 and more bits count up to a power of two less one. Where they store their counts in
   the upper bits, that is in steps of a power of two. Samples there are saturated: if there are
   many, they are no single hot pixels. A level that the scan states was not measured. */
static void
flats_find_top (TdFlats *flats, const Levels *levels)
{
  const TdScanFacts *facts = td_scan_facts (flats->scan);
  const TdSampleType type = facts->sample_type;
  const double step = (double) (levels->bits & -levels->bits);
  int exponent;

  if (levels->n_samples == 0 || facts->white_level > 0 || type == TD_SAMPLE_FLOAT32
      || type == TD_SAMPLE_FLOAT64 || !(levels->most >= 255 * step))
    return;
  /* As a float 2^32 - 1 is 2^32 already. */
  const double next = levels->most < 1 << 24 ? levels->most + step : levels->most;
  if (frexp (next, &exponent) != 0.5)
    return;
  flats->top = levels->most;
  flats->top_share = (double) levels->n_most / (double) levels->n_samples;
}

/* (transfer full) TdFlats.odd */
static guint8 *
flats_make_odd (TdFlats *flats, GCancellable *cancellable, GError **error)
{
  TdScan *scan = flats->scan;
  const TdScanFacts *facts = td_scan_facts (scan);
  const guint n_flats = facts->n_flats, n = n_flats + facts->n_darks;
  g_autofree double *levels = g_new0 (double, MAX (n, 1));
  g_autofree guint8 *odd = g_new0 (guint8, MAX (n, 1));
  Levels bright = { TD_FRAME_FLAT, n_flats, 1, levels };
  Levels none = { TD_FRAME_DARK, facts->n_darks, 1, levels + n_flats };
  double darkest = INFINITY, light;

  if (!flats_read_levels (scan, &bright, cancellable, error)
      || !flats_read_levels (scan, &none, cancellable, error))
    return NULL;
  for (guint f = n_flats; f < n; f++)
    darkest = fmin (darkest, levels[f]);
  const double dark = isfinite (darkest) ? darkest : 0;
  if (!flats_find_usual (scan, &bright, dark, &light, cancellable, error))
    return NULL;
  for (guint f = 0; f < n && light > 0; f++)
    if (f < n_flats)
      odd[f] = levels[f] - dark < LEAST_LIGHT * light  ? FLATS_BLIND
               : levels[f] - dark < LEAST_FLAT * light ? FLATS_NONE
               : levels[f] - dark > MOST_FLAT * light  ? FLATS_BRIGHT
                                                       : FLATS_SOUND;
    else
      odd[f] = levels[f] - dark > MOST_DARK * light ? FLATS_NONE : FLATS_SOUND;
  flats_find_top (flats, &bright);
  return g_steal_pointer (&odd);
}

/* (transfer none) With the lock held. */
static const guint8 *
flats_odd (TdFlats *flats, GCancellable *cancellable, GError **error)
{
  if (!flats->odd)
    flats->odd = flats_make_odd (flats, cancellable, error);
  return flats->odd;
}

gboolean
td_flats_odd (TdFlats *flats, TdFlatsOdd *odd, GCancellable *cancellable, GError **error)
{
  const TdScanFacts *facts = td_scan_facts (flats->scan);
  const guint n_flats = facts->n_flats;

  *odd = (TdFlatsOdd) { 0 };
  g_mutex_lock (&flats->lock);
  const guint8 *out = flats_odd (flats, cancellable, error);
  g_mutex_unlock (&flats->lock);
  odd->top = flats->top;
  odd->top_share = flats->top_share;
  for (guint f = n_flats + facts->n_darks; out && f-- > 0;)
    if (out[f] == FLATS_BRIGHT) {
      odd->n_bright++;
      odd->first_bright = f;
    } else if (out[f] && f < n_flats) {
      odd->n_flats++;
      odd->first_flat = f;
    } else if (out[f]) {
      odd->n_darks++;
      odd->first_dark = f - n_flats;
    }
  return out != NULL;
}

/* ── Averaging ── */

/* Frames of one kind that become n_groups. */
typedef struct {
  TdScan *scan;
  TdFrameKind kind;
  guint n_frames, n_groups;
  guint *group; /* of each frame; n_groups: none */
  guint row0, n_rows;
  gsize row; /* floats in one */
  GCancellable *cancellable;
} Frames;

static guint
frames_in_portion (guint n_columns, guint n_rows, guint n_frames)
{
  guint64 frame_bytes = (guint64) n_rows * n_columns * sizeof (float);
  return (guint) CLAMP (td_portion (PORTION_BYTES) / MAX (frame_bytes, 1), 1, MAX (n_frames, 1));
}

/* A median needs all frames at once, so rows come in portions. */
static guint
rows_in_portion (guint n_columns, guint n_rows, guint n_frames)
{
  guint64 row_bytes = (guint64) n_columns * n_frames * sizeof (float);
  return (guint) CLAMP (4 * td_portion (PORTION_BYTES) / MAX (row_bytes, 1), 1, MAX (n_rows, 1));
}

guint64
td_flats_host_bytes (const TdScanFacts *facts, TdFlatsHow how, guint n_rows)
{
  guint n_groups = td_flats_groups (facts, how.one_group, NULL, NULL);
  guint n_frames = MAX (facts->n_flats, facts->n_darks), n_columns = facts->n_columns;
  guint64 row = (guint64) n_columns * sizeof (float);
  guint64 kept = (guint64) N_KEPT * (n_groups + 1) * n_rows * row;

  if (how.median)
    return kept + (guint64) rows_in_portion (n_columns, n_rows, n_frames) * n_frames * row;
  return kept + (guint64) frames_in_portion (n_columns, n_rows, n_frames) * n_rows * row
         + (guint64) n_groups * n_rows * n_columns * (sizeof (double) + sizeof (guint));
}

/* Mean over the finite samples of each pixel, NaN where there is none. */
static gboolean
flats_read_mean (const Frames *frames, float *out, GError **error)
{
  gsize pixels = frames->n_rows * frames->row, all = pixels * frames->n_groups;
  guint portion = frames_in_portion ((guint) frames->row, frames->n_rows, frames->n_frames);
  g_autofree double *sum = td_host_malloc (all * sizeof *sum, error);
  g_autofree guint *count = sum ? td_host_malloc (all * sizeof *count, error) : NULL;
  g_autofree float *samples
      = count ? td_host_malloc (pixels * portion * sizeof *samples, error) : NULL;

  if (!samples)
    return FALSE;
  memset (sum, 0, all * sizeof *sum);
  memset (count, 0, all * sizeof *count);
  for (guint first = 0; first < frames->n_frames; first += portion) {
    guint n = MIN (portion, frames->n_frames - first);
    if (!td_scan_read (frames->scan,
                       &(TdFrameRange) { frames->kind, first, n, frames->row0, frames->n_rows },
                       samples, frames->cancellable, error))
      return FALSE;
    for (guint f = 0; f < n; f++) {
      gsize base = pixels * frames->group[first + f];
      if (frames->group[first + f] == frames->n_groups)
        continue;
      for (gsize i = 0; i < pixels; i++) {
        float value = samples[f * pixels + i];
        if (isfinite (value)) {
          sum[base + i] += value;
          count[base + i]++;
        }
      }
    }
  }
  for (gsize i = 0; i < all; i++)
    out[i] = count[i] ? (float) (sum[i] / count[i]) : NAN;
  return TRUE;
}

typedef struct {
  const Frames *frames;
  const float *samples; /* [frame][row][column] of the portion */
  guint first, n_rows;  /* the portion's rows, counted in the output's */
  float *out;
} Medians;

static void
median_row (guint index, gpointer user)
{
  const Medians *medians = user;
  const Frames *frames = medians->frames;
  g_autofree float *values = g_new (float, MAX (frames->n_frames, 1));

  for (guint group = 0; group < frames->n_groups; group++)
    for (gsize column = 0; column < frames->row; column++) {
      guint n = 0;
      for (guint f = 0; f < frames->n_frames; f++) {
        float value
            = medians->samples[((gsize) f * medians->n_rows + index) * frames->row + column];
        if (frames->group[f] == group)
          values[n++] = value;
      }
      medians->out[((gsize) group * frames->n_rows + medians->first + index) * frames->row + column]
          = (float) td_median (values, n);
    }
}

static gboolean
read_median (const Frames *frames, float *out, GError **error)
{
  guint portion = rows_in_portion ((guint) frames->row, frames->n_rows, frames->n_frames);
  g_autofree float *samples
      = td_host_malloc (frames->row * portion * MAX (frames->n_frames, 1) * sizeof *samples, error);

  if (!samples)
    return FALSE;
  for (guint first = 0; first < frames->n_rows; first += portion) {
    guint n = MIN (portion, frames->n_rows - first);
    Medians medians = { frames, samples, first, n, out };
    if (frames->n_frames > 0
        && !td_scan_read (
            frames->scan,
            &(TdFrameRange) { frames->kind, 0, frames->n_frames, frames->row0 + first, n }, samples,
            frames->cancellable, error))
      return FALSE;
    td_parallel_for (n, median_row, &medians);
  }
  return TRUE;
}

/* ── Reading ── */

/* Odd frames are of no group. A group that has no others keeps them, and its pixels are dead. */
static void
flats_leave_out (Frames *frames, const guint8 *odd)
{
  for (guint g = 0; g < frames->n_groups; g++) {
    gboolean others = FALSE;
    for (guint f = 0; f < frames->n_frames && !others; f++)
      others = frames->group[f] == g && !odd[f];
    for (guint f = 0; f < frames->n_frames && others; f++)
      if (frames->group[f] == g && odd[f])
        frames->group[f] = frames->n_groups;
  }
}

/* Where a moment without any light lies: between the nearest @ends that saw some, @share of the way
   from the first to the second. FALSE: it saw light, or no other did. */
static gboolean
flats_bridge (const Frames *frames, const guint8 *odd, const double *positions, guint group,
              guint ends[2], double *share)
{
  gboolean lit[TD_FLATS_MAX_GROUPS] = { FALSE };
  gboolean before = FALSE, after = FALSE;

  for (guint f = 0; f < frames->n_frames; f++)
    if (frames->group[f] < frames->n_groups && odd[f] != FLATS_BLIND)
      lit[frames->group[f]] = TRUE;
  for (guint g = 0; g < frames->n_groups && !lit[group]; g++)
    if (lit[g] && (g < group || !after)) {
      ends[g > group] = g;
      before = before || g < group;
      after = after || g > group;
    }
  if (!before && !after)
    return FALSE;
  if (!before || !after)
    ends[before] = ends[after];
  const double from = positions[ends[0]], to = positions[ends[1]];
  *share = to > from ? (positions[group] - from) / (to - from) : 0;
  return TRUE;
}

gboolean
td_flats_average_of (TdFlats *flats, TdFlatsHow how, const double *of_flats,
                     double averages[TD_FLATS_MAX_GROUPS], GCancellable *cancellable,
                     GError **error)
{
  const TdScanFacts *facts = td_scan_facts (flats->scan);
  g_autofree guint *group = g_new0 (guint, MAX (facts->n_flats, 1));
  g_autofree float *values = g_new (float, MAX (facts->n_flats, 1));
  Frames frames = { .n_frames = facts->n_flats, .group = group };

  double positions[TD_FLATS_MAX_GROUPS], share;
  guint ends[2];

  frames.n_groups = td_flats_groups (facts, how.one_group, positions, group);
  g_mutex_lock (&flats->lock);
  const guint8 *odd = flats_odd (flats, cancellable, error);
  g_mutex_unlock (&flats->lock);
  if (!odd)
    return FALSE;
  flats_leave_out (&frames, odd);
  for (guint g = 0; g < frames.n_groups; g++) {
    double sum = 0;
    guint n = 0;
    for (guint f = 0; f < facts->n_flats; f++)
      if (group[f] == g) {
        values[n++] = (float) of_flats[f];
        sum += of_flats[f];
      }
    averages[g] = how.median ? td_median (values, n) : sum / n;
  }
  for (guint g = 0; g < frames.n_groups; g++)
    if (flats_bridge (&frames, odd, positions, g, ends, &share))
      averages[g] = averages[ends[0]] * (1 - share) + averages[ends[1]] * share;
  return TRUE;
}

/* The averages of @rows' rows. Flats set the number of groups there. */
static float *
read_averaged (TdFlats *flats, TdFrameKind kind, TdFlatsHow how, TdFlatRows *rows,
               GCancellable *cancellable, GError **error)
{
  const TdScanFacts *facts = td_scan_facts (flats->scan);
  guint n_frames = kind == TD_FRAME_FLAT ? facts->n_flats : facts->n_darks;
  g_autofree guint *group = g_new0 (guint, MAX (n_frames, 1));
  Frames frames = {
    .scan = flats->scan,
    .kind = kind,
    .n_frames = n_frames,
    .n_groups = 1,
    .group = group,
    .row0 = rows->row0,
    .n_rows = rows->n_rows,
    .row = facts->n_columns,
    .cancellable = cancellable,
  };

  double positions[TD_FLATS_MAX_GROUPS] = { 0 }, share;
  guint ends[2];
  if (kind == TD_FRAME_FLAT)
    rows->n_groups = frames.n_groups = td_flats_groups (facts, how.one_group, positions, group);
  const guint8 *odd = n_frames > 1 ? flats_odd (flats, cancellable, error) : NULL;
  if (n_frames > 1 && !odd)
    return NULL;
  if (odd)
    flats_leave_out (&frames, odd + (kind == TD_FRAME_FLAT ? 0 : facts->n_flats));
  g_autofree float *out
      = td_host_malloc (frames.n_groups * rows->n_rows * frames.row * sizeof *out, error);
  if (!out)
    return NULL;
  if (how.median ? !read_median (&frames, out, error) : !flats_read_mean (&frames, out, error))
    return NULL;
  const gsize pixels = rows->n_rows * frames.row;
  for (guint g = 0; g < frames.n_groups; g++)
    if (kind == TD_FRAME_FLAT && odd && flats_bridge (&frames, odd, positions, g, ends, &share))
      for (gsize i = 0; i < pixels; i++)
        out[g * pixels + i]
            = (float) (out[ends[0] * pixels + i] * (1 - share) + out[ends[1] * pixels + i] * share);
  return g_steal_pointer (&out);
}

static TdFlatRows *
flats_read_rows (TdFlats *flats, TdFlatsHow how, guint row0, guint n_rows,
                 GCancellable *cancellable, GError **error)
{
  g_autoptr (TdFlatRows) rows = g_new0 (TdFlatRows, 1);
  gsize pixels = (gsize) n_rows * td_scan_facts (flats->scan)->n_columns;

  g_atomic_ref_count_init (&rows->references);
  rows->row0 = row0;
  rows->n_rows = n_rows;
  rows->flat = read_averaged (flats, TD_FRAME_FLAT, how, rows, cancellable, error);
  if (!rows->flat)
    return NULL;
  rows->dark = read_averaged (flats, TD_FRAME_DARK, how, rows, cancellable, error);
  if (!rows->dark)
    return NULL;
  for (gsize i = 0; i < pixels; i++)
    if (isnan (rows->dark[i]))
      rows->dark[i] = 0;
  return g_steal_pointer (&rows);
}

static gboolean
flats_holds (const Kept *kept, TdFlatsHow how, guint row0, guint n_rows)
{
  return kept->rows && kept->rows->row0 == row0 && kept->rows->n_rows == n_rows
         && kept->how.median == how.median && kept->how.one_group == how.one_group;
}

TdFlatRows *
td_flats_read (TdFlats *flats, TdFlatsHow how, guint row0, guint n_rows, GCancellable *cancellable,
               GError **error)
{
  TdFlatRows *rows = NULL;

  g_mutex_lock (&flats->lock);
  for (guint i = 0; i < N_KEPT && !rows; i++)
    if (flats_holds (&flats->kept[i], how, row0, n_rows))
      rows = flats->kept[i].rows;
  if (!rows) {
    rows = flats_read_rows (flats, how, row0, n_rows, cancellable, error);
    if (rows) {
      td_flat_rows_unref (flats->kept[N_KEPT - 1].rows);
      memmove (&flats->kept[1], &flats->kept[0], (N_KEPT - 1) * sizeof flats->kept[0]);
      flats->kept[0] = (Kept) { rows, how };
    }
  }
  if (rows)
    g_atomic_ref_count_inc (&rows->references);
  g_mutex_unlock (&flats->lock);
  return rows;
}

/* ── Groups of flats, and what lies between them ── */

static gboolean
know_positions (const TdScanFacts *facts)
{
  if (!facts->flat_positions)
    return FALSE;
  for (guint f = 0; f < facts->n_flats; f++)
    if (!isfinite (facts->flat_positions[f]))
      return FALSE;
  return TRUE;
}

guint
td_flats_groups (const TdScanFacts *facts, gboolean one_group, double *positions,
                 guint *group_of_flat)
{
  for (guint f = 0; group_of_flat && f < facts->n_flats; f++)
    group_of_flat[f] = 0;
  if (positions)
    positions[0] = 0;
  if (one_group || facts->n_flats < 2 || !know_positions (facts))
    return 1;

  /* In the order they were taken. */
  const guint n = facts->n_flats;
  g_autofree double *taken = g_memdup2 (facts->flat_positions, n * sizeof *taken);
  qsort (taken, n, sizeof *taken, td_compare_doubles);
  guint n_moments = 1;
  for (guint i = 1; i < n; i++)
    n_moments += taken[i] > taken[i - 1];
  guint n_groups = MIN (n_moments, TD_FLATS_MAX_GROUPS);
  guint count[TD_FLATS_MAX_GROUPS] = { 0 };
  double sum[TD_FLATS_MAX_GROUPS] = { 0 };

  for (guint i = 0, moment = 0; i < n; i++) {
    moment += i > 0 && taken[i] > taken[i - 1];
    guint group = (guint) ((guint64) moment * n_groups / n_moments);
    sum[group] += taken[i];
    count[group]++;
    for (guint f = 0; group_of_flat && f < n; f++)
      if (facts->flat_positions[f] == taken[i])
        group_of_flat[f] = group;
  }
  for (guint g = 0; positions && g < n_groups; g++)
    positions[g] = sum[g] / count[g];
  return n_groups;
}

/* The angle turned since the first view, whichever way, at each of the views. Angles may be given
   within one turn: from one view to the next it was half a turn at most. */
static double *
angle_turned (const TdScanFacts *facts)
{
  double *turned = g_new (double, facts->n_views);

  turned[0] = 0;
  for (guint v = 1; v < facts->n_views; v++)
    turned[v] = turned[v - 1]
                + fabs (remainder (facts->angles_rad[v] - facts->angles_rad[v - 1], 2 * G_PI));
  return turned;
}

/* @at: a moment counted in views; view v lies at v + 1/2, and the ends go on as the nearest gap. */
static double
turned_at (const double *turned, guint n_views, double at)
{
  double view = at - 0.5;
  guint low = (guint) CLAMP (floor (view), 0, n_views - 2);

  return turned[low] + (view - low) * (turned[low + 1] - turned[low]);
}

void
td_flats_places (const TdScanFacts *facts, TdFlatsBy by, const double *positions, guint n_groups,
                 float *out)
{
  g_autofree double *turned = angle_turned (facts);
  guint n_views = facts->n_views;
  double at[TD_FLATS_MAX_GROUPS];

  /* A scan that does not turn has no angle to go by. */
  if (n_views < 2 || !(turned[n_views - 1] > 0))
    by = TD_FLATS_BY_VIEW;
  for (guint g = 0; g < n_groups; g++)
    at[g] = by == TD_FLATS_BY_VIEW ? positions[g] : turned_at (turned, n_views, positions[g]);
  for (guint v = 0, group = 0; v < n_views; v++) {
    double here = by == TD_FLATS_BY_VIEW ? v + 0.5 : turned[v];
    while (group + 1 < n_groups && here >= at[group + 1])
      group++;
    double share = group + 1 < n_groups && at[group + 1] > at[group]
                       ? (here - at[group]) / (at[group + 1] - at[group])
                       : 0;
    out[2 * v] = group;
    out[2 * v + 1] = (float) CLAMP (share, 0, 1);
  }
}
