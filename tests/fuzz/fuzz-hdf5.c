/* SPDX-License-Identifier: GPL-3.0-or-later */
/* libFuzzer target: any bytes as an HDF5 scan (NXtomo, DXchange, TDF, plain) and volume. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  static const TdScanOptions options = { .angles = "0:180" };
  char path[64];
  int fd = fuzz_file (data, size, path);

  fuzz_open (path, NULL);
  fuzz_open (path, &options);
  close (fd);
  return 0;
}
