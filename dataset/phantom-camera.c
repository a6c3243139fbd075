/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "phantom-private.h"
#include "random.h"

#define READOUT_NOISE 2.0 /* counts, with photon noise */

typedef enum { PIXEL_FINE, PIXEL_DARK, PIXEL_HOT } PixelFault;

/* Streams of random numbers: one a row of every frame, and a few more. */
enum { STREAM_ROWS, STREAM_FLAT_ROWS, STREAM_DARK_ROWS, STREAM_DRIFT, STREAM_GAINS, STREAM_FAULTS };

static guint64
stream_id (guint kind, guint frame, guint row)
{
  return (guint64) kind << 60 | (guint64) frame << 30 | row;
}

void
td_phantom_camera_init (TdPhantomSource *source)
{
  const TdPhantomScan *spec = &source->spec;
  gsize n = (gsize) spec->n_columns * spec->n_rows;
  TdRandom random;

  if (spec->logged)
    return;
  if (spec->rings > 0) {
    source->gains = g_new (float, n);
    td_random_init (&random, spec->seed, stream_id (STREAM_GAINS, 0, 0));
    for (gsize i = 0; i < n; i++)
      source->gains[i] = 1 + spec->rings * td_random_normal (&random);
  }
  if (spec->n_dead > 0) {
    source->faults = g_new0 (guint8, n);
    td_random_init (&random, spec->seed, stream_id (STREAM_FAULTS, 0, 0));
    for (guint done = 0; done < spec->n_dead;) {
      gsize pixel = MIN ((gsize) (td_random_uniform (&random) * n), n - 1);
      if (source->faults[pixel] == PIXEL_FINE)
        source->faults[pixel] = done++ % 2 ? PIXEL_HOT : PIXEL_DARK;
    }
  }
}

/* The beam at a moment of the scan, 0 at the first view, 1 after the last: a slow swing and a jitter
   from frame to frame. */
static double
beam_intensity (const TdPhantomScan *spec, TdFrameKind kind, guint frame)
{
  TdRandom random;
  double moment = kind == TD_FRAME_PROJECTION ? (double) frame / spec->n_views
                                              : frame >= (spec->n_flats + 1) / 2;

  if (spec->wander == 0)
    return 1;
  td_random_init (&random, spec->seed, stream_id (STREAM_DRIFT, frame, kind));
  return 1 + spec->wander * (0.7 * sin (2.6 * G_PI * moment)
                             + 0.3 * (2 * td_random_uniform (&random) - 1));
}

static double
beam_profile (const TdPhantomScan *spec, guint row, guint column)
{
  double x = (column - td_phantom_middle (spec->n_columns)) / MAX (td_phantom_middle (spec->n_columns), 1);
  double y = (row - td_phantom_middle (spec->n_rows)) / MAX (td_phantom_middle (spec->n_rows), 1);

  return 1 - spec->profile * (x * x + y * y) / 2;
}

void
td_phantom_camera_expose (const TdPhantomSource *source, TdFrameKind kind, guint frame, guint row,
                          float *out)
{
  const TdPhantomScan *spec = &source->spec;
  double intensity = kind == TD_FRAME_DARK ? 0 : beam_intensity (spec, kind, frame);
  gsize first = (gsize) row * spec->n_columns;
  TdRandom random;

  td_random_init (&random, spec->seed, stream_id (STREAM_ROWS + kind, frame, row));
  for (guint u = 0; u < spec->n_columns; u++) {
    double level = intensity * beam_profile (spec, row, u);
    if (kind == TD_FRAME_PROJECTION)
      level *= exp (-out[u]);
    double noise = 0;
    if (spec->photons > 0) {
      level = td_random_poisson (&random, level * spec->photons) / spec->photons;
      noise = READOUT_NOISE * td_random_normal (&random);
    }
    if (kind == TD_FRAME_PROJECTION && source->gains)
      level *= source->gains[first + u];
    double counts = level * spec->counts + spec->dark_counts + noise;
    if (source->faults && source->faults[first + u] != PIXEL_FINE)
      counts = source->faults[first + u] == PIXEL_HOT ? TD_PHANTOM_FULL_SCALE : spec->dark_counts;
    out[u] = floor (CLAMP (counts, 0, TD_PHANTOM_FULL_SCALE) + 0.5);
  }
}
