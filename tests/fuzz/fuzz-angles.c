/* SPDX-License-Identifier: GPL-3.0-or-later */
/* libFuzzer target: any bytes as a file of angles. */
#include "dataset/angles.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  static const char *const names[] = { "a_1.tif", "a_2.tif", "a_5.tif", NULL };
  const char *path = fuzz_file (data, size);
  g_autofree char *note = NULL;

  g_free (td_angles_for_views (path, "scan", names, (const guint[]) { 3, 7 }, &note, NULL));
  return 0;
}
