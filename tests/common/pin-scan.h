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

/* td_test_pin() of what is noted. */
static inline void
td_test_pin_notes (TdMessage *const *notes)
{
  for (guint i = 0; notes && notes[i]; i++) {
    g_autofree char *note = td_message_text (notes[i], NULL);
    td_test_pin ("note: %s", note);
  }
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
  td_test_pin_notes (f->notes);
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

/* What came of opening: the sentence, or what a scan states and its notes. (transfer full) */
static inline char **
td_test_opened_lines (TdScan *scan, const GError *error)
{
  const TdScanFacts *f = scan ? td_scan_facts (scan) : NULL;
  const TdGeometry *g = scan ? &f->geometry : NULL;
  g_autoptr (GStrvBuilder) lines = g_strv_builder_new ();
  double matrices = 0;

  if (!scan) {
    g_strv_builder_add (lines, error->message);
    return g_strv_builder_end (lines);
  }
  for (guint i = 0; i < 12 * g->n_view_matrices; i++)
    matrices += (1 + i % 7) * g->view_matrices[i];
  g_autofree char *facts = g_strdup_printf (
      "%s, %u × %u, %u views, %u flats, %u darks, from %.5f to %.5f; %d, pixel %.6f × "
      "%.6f, at %.5f and %.5f, off %.5f %.5f %.5f, tilted %.6f %.6f %.6f, voxel %.5f of "
      "%u × %u × %u, %u matrices %.4f; centre %.4f, white %.1f, %.4f keV, %.4f mm, "
      "logged %d, half %d, by rows %d",
      f->format, f->n_columns, f->n_rows, f->n_views, f->n_flats, f->n_darks, f->angles_rad[0],
      f->angles_rad[f->n_views - 1], g->beam, g->pixel_width_mm, g->pixel_height_mm,
      g->source_axis_mm, g->source_detector_mm, g->detector_offset_u_px, g->detector_offset_v_px,
      g->axis_offset_mm, g->detector_tilt_rad[0], g->detector_tilt_rad[1], g->detector_tilt_rad[2],
      g->voxel_mm, g->volume_size[0], g->volume_size[1], g->volume_size[2], g->n_view_matrices,
      matrices, f->centre_px, f->white_level, f->energy_kev, f->propagation_mm,
      f->transmission_logged, f->half_acquisition, f->sinogram_order);
  g_strv_builder_add (lines, facts);
  for (guint i = 0; f->notes && f->notes[i]; i++) {
    g_autofree char *note = td_message_text (f->notes[i], NULL);
    g_strv_builder_add (lines, note);
  }
  return g_strv_builder_end (lines);
}

#define PIN_SCAN_LETTERS 140 /* of what is stated */

/* What is stated otherwise than @usual, by the places in its line, and what else is noted.
   (transfer full) */
static inline char *
td_test_opened_changes (char *const *lines, char *const *usual)
{
  GString *changed = g_string_new (NULL);
  g_auto (GStrv) now = g_strsplit (lines[0], ", ", -1), then = g_strsplit (usual[0], ", ", -1);

  if (g_strv_length (now) != g_strv_length (then))
    g_string_append (changed, lines[0]);
  else
    for (guint i = 0; now[i]; i++)
      if (strcmp (now[i], then[i]) != 0)
        g_string_append_printf (changed, "%s%s", changed->len ? ", " : "", now[i]);
  for (guint i = 1; lines[0] && lines[i]; i++)
    if (!g_strv_contains ((const char *const *) usual, lines[i]))
      g_string_append_printf (changed, "; %s", lines[i]);
  for (guint i = 1; usual[i] && lines[1]; i++)
    if (!g_strv_contains ((const char *const *) lines, usual[i])) {
      g_autofree char *line = g_strdup (usual[i]);
      td_test_leave_out_folders (line);
      g_autofree char *begin = g_utf8_substring (line, 0, MIN (g_utf8_strlen (line, -1), 24));
      g_string_append_printf (changed, "; no “%s…”", begin);
    }
  if (changed->len == 0)
    g_string_append (changed, "as usual");
  g_autofree char *whole = g_string_free (changed, FALSE);
  td_test_leave_out_folders (whole);
  return g_utf8_substring (whole, 0, MIN (g_utf8_strlen (whole, -1), PIN_SCAN_LETTERS));
}

/* Those of the lines that are not @usual (nullable). */
static inline void
td_test_pin_opened (const char *what, char *const *lines, char *const *usual)
{
  gboolean same = TRUE;

  for (guint i = 0; lines[i]; i++)
    if (!usual || !g_strv_contains ((const char *const *) usual, lines[i])) {
      td_test_pin ("%s: %s", what, lines[i]);
      same = FALSE;
    }
  if (same)
    td_test_pin ("%s: no more than else", what);
}
