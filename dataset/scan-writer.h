/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "scan.h"

/**
 * TdScanWriter: writes a generated scan, frame by frame, in a form that this and other programs
 * read.
 *
 * TIFF: a folder with projections/projection_00000.tif …, flats/ (flat_00000_before.tif …
 * _after.tif), darks/, angles.txt (degrees, one a line) and, for a cone or fan beam, geometry.json.
 * NXtomo: one HDF5 file, /entry/tomo_entry with image_key 0, 1, 2; darks first, then flats and
 * projections in the order of flat_positions.
 *
 * Written as "PATH.part" until td_scan_writer_finish(). One thread at a time.
 */
typedef enum {
  TD_SCAN_TIFF,
  TD_SCAN_NXTOMO,
} TdScanFormat;

typedef struct TdScanWriter TdScanWriter;

/**
 * @facts: sizes, counts, angles_rad, sample_type (what is stored: any integer or float type),
 *   flat_positions, geometry; copied. NXtomo also has energy_kev and propagation_mm (0: not
 * stored), centre_px (NAN: not stored), half_acquisition and transmission_logged.
 * @overwrite: replace an existing target.
 */
TdScanWriter *td_scan_writer_new (const char *path, TdScanFormat format, const TdScanFacts *facts,
                                  gboolean overwrite, GError **error);
/* Frames [first, first + count) of @kind, [frame][row][column]; each once, in any order. Integer
   samples are rounded and held within the type's range; NaN becomes 0 there. */
gboolean td_scan_writer_write (TdScanWriter *writer, TdFrameKind kind, guint first, guint count,
                               const float *frames, GError **error);
/* Fails if a frame is missing; syncs and renames. */
gboolean td_scan_writer_finish (TdScanWriter *writer, GError **error);
/* Frees; an unfinished scan's temporary files are removed. */
void td_scan_writer_free (TdScanWriter *writer);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdScanWriter, td_scan_writer_free)

/* All of @scan, frame by frame; nothing is overwritten. Blocks. */
gboolean td_scan_save (TdScan *scan, const char *path, TdScanFormat format,
                       GCancellable *cancellable, GError **error);

/* "tiff" or "nxtomo"; FALSE if unknown. */
gboolean td_scan_format_parse (const char *text, TdScanFormat *format);
