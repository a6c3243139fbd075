/* SPDX-License-Identifier: GPL-3.0-or-later */
/* libFuzzer target: any bytes as an HDF5 scan (NXtomo, DXchange, TDF, plain) and volume. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  static const TdScanOptions options = { .angles = "0:180" };
  const char *path = fuzz_file (data, size);

  fuzz_scan (path, NULL);
  fuzz_scan (path, &options);
  fuzz_volume (path, NULL);
  return 0;
}
