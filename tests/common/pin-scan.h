/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "dataset/geometry-json.h"
#include "dataset/scan.h"
#include "pins.h"

#define PIN_SCAN_SAMPLES 1000000

static inline double
pin_scan_mean (const double *values, guint n)
{
  double sum = 0;

  for (guint i = 0; i < n; i++)
    sum += values[i];
  return n ? sum / n : 0;
}

static inline guint
pin_scan_marked (const guint8 *marks, gsize n)
{
  guint marked = 0;

  for (gsize i = 0; marks && i < n; i++)
    marked += marks[i] != 0;
  return marked;
}

/* td_test_pin() of all that a scan states, and of its frames' samples. */
static inline void
td_test_pin_scan (TdScan *scan)
{
  const TdScanFacts *f = td_scan_facts (scan);
  const guint counts[] = { f->n_views, f->n_flats, f->n_darks };
  g_autofree char *geometry = td_geometry_to_json (&f->geometry);

  td_test_pin ("%s: %u × %u, %u views, %u flats, %u darks of %s", f->format, f->n_columns,
               f->n_rows, f->n_views, f->n_flats, f->n_darks, td_sample_name (f->sample_type));
  td_test_pin ("angles %.6f %.6f %.6f, mean %.6f", f->angles_rad[0], f->angles_rad[f->n_views / 2],
               f->angles_rad[f->n_views - 1], pin_scan_mean (f->angles_rad, f->n_views));
  td_test_pin ("flats at %.3f, %u bad, %u absent, %d %d %d %d %u %d, brightest %.5g",
               f->flat_positions ? pin_scan_mean (f->flat_positions, f->n_flats) : -1,
               pin_scan_marked (f->bad_pixels, (gsize) f->n_columns * f->n_rows),
               pin_scan_marked (f->absent, f->n_views), f->transmission_logged, f->filtered,
               f->sinogram_order, f->half_acquisition, f->wide_columns, f->in_memory, f->brightest);
  td_test_pin ("%.5g keV, %.5g mm, centre %.4f, %u rows together, %" G_GUINT64_FORMAT " bytes",
               f->energy_kev, f->propagation_mm, f->centre_px, f->rows_together, f->unpack_bytes);
  td_test_pin ("%s", geometry);
  for (guint i = 0; f->notes && f->notes[i]; i++) {
    g_autofree char *note = td_message_text (f->notes[i], NULL);
    td_test_pin ("note: %s", note);
  }
  for (guint kind = 0; kind < G_N_ELEMENTS (counts); kind++) {
    const gsize n = (gsize) counts[kind] * f->n_rows * f->n_columns;
    if (n == 0 || n > PIN_SCAN_SAMPLES || pin_scan_marked (f->absent, f->n_views))
      continue;
    g_autofree float *samples = g_new (float, n);
    const TdFrameRange range = { (TdFrameKind) kind, 0, counts[kind], 0, f->n_rows, 0 };
    if (td_scan_read (scan, &range, samples, NULL, NULL))
      td_test_pin_values ("frames", samples, n);
  }
}
