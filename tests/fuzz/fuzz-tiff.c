/* SPDX-License-Identifier: GPL-3.0-or-later */
/* libFuzzer target: any bytes as a TIFF scan, stack of sinograms and volume. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  static const TdScanOptions frames = { .angles = "0:180" };
  static const TdScanOptions sinograms = { .angles = "0:180", .sinograms = TRUE };
  char path[64];
  int fd = fuzz_file (data, size, path);

  if (size > 0) {
    fuzz_open (path, &frames);
    fuzz_open (path, &sinograms);
  }
  close (fd);
  return 0;
}
