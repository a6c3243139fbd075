/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "phantom-private.h"
#include "random.h"

#define READOUT_NOISE 2.0 /* counts, with photon noise */

typedef enum { PIXEL_FINE, PIXEL_DARK, PIXEL_HOT } PixelFault;

/* Streams of random numbers: one a row of every frame, and a few more. */
enum {
  STREAM_ROWS,
  STREAM_FLAT_ROWS,
  STREAM_DARK_ROWS,
  STREAM_DRIFT,
  STREAM_GAINS,
  STREAM_FAULTS,
  STREAM_FLICKER,
  STREAM_FLAT_FLICKER,
  STREAM_ZINGERS,
  STREAM_FLAT_ZINGERS
};

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

/* When a frame was taken: 0 before the first view, 1 after the last. @within: of its view's time.
 */
static double
phantom_camera_moment_of (const TdPhantomScan *spec, TdFrameKind kind, guint frame, double within)
{
  return kind == TD_FRAME_PROJECTION ? (frame + within) / spec->n_views
                                     : frame >= (spec->n_flats + 1) / 2;
}

/* The beam at a moment of the scan: a slow swing and a jitter from frame to frame, and each frame's
   exposure. */
static double
beam_intensity (const TdPhantomScan *spec, TdFrameKind kind, guint frame)
{
  TdRandom random;
  double intensity = 1;

  if (spec->wander != 0) {
    td_random_init (&random, spec->seed, stream_id (STREAM_DRIFT, frame, kind));
    intensity += spec->wander
                 * (0.7 * sin (2.6 * G_PI * phantom_camera_moment_of (spec, kind, frame, 0))
                    + 0.3 * (2 * td_random_uniform (&random) - 1));
  }
  if (spec->flicker > 0) {
    td_random_init (&random, spec->seed, stream_id (STREAM_FLICKER + kind, frame, 0));
    intensity *= MAX (1 + spec->flicker * td_random_normal (&random), 0.1);
  }
  return intensity;
}

static double
beam_profile (const TdPhantomScan *spec, TdFrameKind kind, guint frame, guint row, guint column)
{
  double x = (column - td_phantom_middle (spec->n_columns))
             / MAX (td_phantom_middle (spec->n_columns), 1);
  double y = (row - td_phantom_middle (spec->n_rows)) / MAX (td_phantom_middle (spec->n_rows), 1);

  return (1 - spec->profile * (x * x + y * y) / 2)
         * (1 + spec->drift * x * phantom_camera_moment_of (spec, kind, frame, 0.5));
}

/* -log of the mean transmission of two lines: p - log cosh (h p). */
static double
phantom_camera_hardened (const TdPhantomScan *spec, double p)
{
  return spec->hardening > 0 ? p - log (cosh (spec->hardening * p)) : p;
}

static void
add_zingers (const TdPhantomScan *spec, TdFrameKind kind, guint frame, guint row, float *row_data)
{
  TdRandom random;

  td_random_init (&random, spec->seed, stream_id (STREAM_ZINGERS + kind, frame, row));
  for (guint u = 0; u < spec->n_columns; u++)
    if (td_random_uniform (&random) < spec->zingers) {
      const double counts = row_data[u] + spec->counts * (0.5 + 1.5 * td_random_uniform (&random));
      row_data[u] = (float) MIN (floor (counts), TD_PHANTOM_FULL_SCALE);
    }
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
    double level = intensity * beam_profile (spec, kind, frame, row, u);
    if (kind == TD_FRAME_PROJECTION)
      level *= exp (-phantom_camera_hardened (spec, out[u]));
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
  if (spec->zingers > 0 && kind != TD_FRAME_DARK)
    add_zingers (spec, kind, frame, row, out);
}
