/* SPDX-License-Identifier: GPL-3.0-or-later */
/* libFuzzer target: any bytes as a geometry file (JSON, text, RTK, Nikon, SkyScan) and a RabbitCT
 * scan. */
#include "dataset/geometry-file.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  const char *path = fuzz_file (data, size);

  {
    g_autoptr (TdGeometryFile) file = td_geometry_file_load (path, NULL);
    static const float nothing;
    TdScanFacts facts = { .n_columns = 20,
                          .n_rows = 10,
                          .n_views = file ? file->n_views : 0,
                          .geometry = { .pixel_width_mm = 0.5, .pixel_height_mm = 0.5 } };
    g_autofree double *angles = g_new0 (double, facts.n_views + 1);

    if (file && facts.n_views < 10000) {
      facts.angles_rad = angles;
      g_autoptr (TdScan) scan = td_scan_new_from_memory (&facts, &nothing, NULL, NULL, NULL, NULL);
      td_geometry_file_apply (file, scan, FALSE, NULL);
    }
  }
  fuzz_scan (path, NULL);
  fuzz_volume (path, NULL);
  return 0;
}
