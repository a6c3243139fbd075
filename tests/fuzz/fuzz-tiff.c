/* SPDX-License-Identifier: GPL-3.0-or-later */
/* libFuzzer target: any bytes as a TIFF scan, stack of sinograms and volume, and as raw
   slices whose size a person states. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  static const TdScanOptions frames = { .angles = "0:180" };
  static const TdScanOptions sinograms = { .angles = "0:180", .sinograms = TRUE };
  static const TdScanOptions stated
      = { .raw_columns = 4, .raw_rows = 3, .raw_type = TD_SAMPLE_UINT16, .pixel_mm = 0.1 };
  if (size > 0) {
    const char *path = fuzz_file (data, size);
    fuzz_scan (path, &frames);
    fuzz_scan (path, &sinograms);
    fuzz_volume (path, NULL);
    fuzz_volume (path, &stated);
  }
  return 0;
}
