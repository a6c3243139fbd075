/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "paganin.h"

#include <math.h>

#include "compute/device/host.h"
#include "dataset/geometry-matrix.h"

#define WAVELENGTH_MM_KEV 1.239841984e-6 /* h c */
#define MOST_SHARE 0.25                  /* of the detector's width that L may be */

/* Frequencies where there is nothing: a detector of one row knows nothing of the other direction.
 */
static guint
paganin_reach (double length_px, gboolean discrete)
{
  if (length_px <= 0)
    return 0;
  const double decay = discrete ? 2 * asinh (0.5 / length_px) : 1 / length_px;
  const double f = pow (G_PI * length_px, 2), first = 4 * f / pow (1 + f, 2) / (4 * G_PI * G_PI);
  /* Of lengths below two pixels the tail reaches farther. */
  return (guint) ceil (
      MAX (-log (TD_PAGANIN_REST) / decay, discrete ? 0 : sqrt (first / TD_PAGANIN_TAIL)));
}

static TdMessage *
paganin_missing (const TdScanFacts *facts, const char *what, const char *value)
{
  return td_message_new ("phase retrieval needs %p, which “%s” does not state; give it "
                         "({prepare=paganin:%s})",
                         td_message_new_plain (what), facts->title ? facts->title : facts->path,
                         value);
}

TdMessage *
td_paganin_init (TdPaganin *paganin, const TdStep *step, const TdScanFacts *facts)
{
  const double *v = step->values;
  const TdGeometry *g = &facts->geometry;
  double given_mm = v[TD_PAGANIN_PIXEL] * 1e-3;
  double width_mm = given_mm > 0 ? given_mm : g->pixel_width_mm;
  double height_mm = given_mm > 0 ? given_mm : g->pixel_height_mm;
  double axis_mm = g->source_axis_mm, detector_mm = g->source_detector_mm;

  /* Matrices count the detector's distance in pixels, whose size only the step may know. */
  if (g->view_matrices && !(detector_mm > 0))
    td_matrix_distances (g->view_matrices, width_mm, &axis_mm, &detector_mm);
  gboolean diverges = g->beam != TD_BEAM_PARALLEL && axis_mm > 0 && detector_mm > axis_mm;
  double magnification = diverges ? detector_mm / axis_mm : 1;
  double stated = diverges ? detector_mm - axis_mm : facts->propagation_mm;
  double energy_kev = v[TD_PAGANIN_ENERGY] > 0 ? v[TD_PAGANIN_ENERGY] : facts->energy_kev;
  double distance_mm = v[TD_PAGANIN_DISTANCE] > 0 ? v[TD_PAGANIN_DISTANCE] : stated;

  if (!(energy_kev > 0))
    return paganin_missing (facts, N_ ("the beam's energy in keV"), "energy=25");
  if (!(distance_mm > 0))
    return paganin_missing (facts, N_ ("the distance from sample to detector in mm"),
                            "distance=100");
  if (!(width_mm > 0))
    return paganin_missing (facts, N_ ("the size of a pixel in µm"), "pixel=1.6");
  if (!(height_mm > 0))
    height_mm = width_mm;

  double length_mm = sqrt (distance_mm / magnification * WAVELENGTH_MM_KEV / energy_kev
                           * v[TD_PAGANIN_DELTA_BETA] / (4 * G_PI));
  *paganin = (TdPaganin) {
    .length_px = { length_mm * magnification / width_mm, length_mm * magnification / height_mm },
    .discrete = v[TD_PAGANIN_LAPLACIAN] != 0,
  };
  if (facts->n_rows == 1)
    paganin->length_px[1] = 0;
  if (paganin->length_px[0] > MAX (MOST_SHARE * facts->n_columns, 4))
    return td_message_new (
        "phase retrieval with %g keV, %g mm, pixels of %g µm and a delta/beta of %g "
        "would blur over %.0f of the detector's %u columns; check them ("
        "{prepare=paganin=DELTA/BETA:energy=…:distance=…:pixel=…})",
        energy_kev, distance_mm, width_mm * 1e3, v[TD_PAGANIN_DELTA_BETA], paganin->length_px[0],
        facts->n_columns);
  for (guint axis = 0; axis < 2; axis++)
    paganin->reach_px[axis] = paganin_reach (paganin->length_px[axis], paganin->discrete);
  return NULL;
}

void
td_paganin_response (const TdPaganin *paganin, guint axis, guint n, float *response)
{
  double length = paganin->length_px[axis];

  for (guint i = 0; i < n; i++) {
    double k = 2 * G_PI * MIN (i, n - i) / n;
    response[i]
        = (float) (length * length * (paganin->discrete ? pow (2 * sin (k / 2), 2) : k * k));
  }
}

guint64
td_paganin_batch_bytes (TdDevice *device, guint64 thread_bytes)
{
  if (!td_device_info (device)->host_pointers)
    return TD_PAGANIN_BATCH_BYTES;
  return MIN (td_host_threads () * thread_bytes, TD_PAGANIN_BATCH_BYTES);
}

gboolean
td_paganin_is_same (const TdPaganin *a, const TdPaganin *b)
{
  return a->length_px[0] == b->length_px[0] && a->length_px[1] == b->length_px[1]
         && a->discrete == b->discrete;
}
