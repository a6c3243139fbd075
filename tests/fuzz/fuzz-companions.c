/* SPDX-License-Identifier: GPL-3.0-or-later */
/* libFuzzer target: any bytes as what a person names beside a scan: a mask of bad pixels, flats,
   darks, angles, a geometry. */
#include "dataset/scan-mask.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  static guint16 frames[3 * 4 * 8];
  static char *scan;
  const char *path = fuzz_file (data, size);
  const TdScanOptions raw
      = { .angles = "0:180", .raw_columns = 8, .raw_rows = 4, .raw_type = TD_SAMPLE_UINT16 };
  TdScanOptions options[4] = { raw, raw, raw, raw };

  if (!scan) {
    g_autofree char *folder = fuzz_folder ();
    scan = g_build_filename (folder, "scan.raw", NULL);
    fuzz_write (scan, (const guint8 *) frames, sizeof frames);
  }
  options[0].flats = path;
  options[1].darks = path;
  options[2].angles = path;
  options[3].geometry = path;
  for (guint i = 0; i < G_N_ELEMENTS (options); i++) {
    g_autoptr (TdScan) opened = td_scan_open (scan, &options[i], NULL, NULL);
    float out[4 * 8];
    if (opened && td_scan_facts (opened)->n_flats)
      td_scan_read (opened, &(TdFrameRange) { TD_FRAME_FLAT, 0, 1, 0, 4 }, out, NULL, NULL);
    if (opened && td_scan_facts (opened)->n_darks)
      td_scan_read (opened, &(TdFrameRange) { TD_FRAME_DARK, 0, 1, 0, 4 }, out, NULL, NULL);
  }
  g_autoptr (TdScan) bare = td_scan_open (scan, &raw, NULL, NULL);
  g_autoptr (TdScan) masked = bare ? td_scan_with_mask (bare, path, NULL) : NULL;
  if (masked && !td_scan_mask_fits (bare, path, NULL))
    g_error ("a mask that does not fit was taken");
  return 0;
}
