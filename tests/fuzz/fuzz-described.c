/* SPDX-License-Identifier: GPL-3.0-or-later */
/* libFuzzer target: any bytes as the text that describes a folder of images: CTSimU's metadata and
   scenario, Nikon's .xtekct, SkyScan's .log. The first byte says which; the folder is opened too,
   as a person would. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

/* Two TIFF images of 2 x 2 samples, little-endian, in names that the formats state. */
static const guint8 tiff[] = {
  'I', 'I', 42, 0, 8, 0, 0, 0, 8,   0, 0, 1, 3, 0, 1, 0, 0, 0, 2, 0, 0, 0, /* width */
  1,   1,   3,  0, 1, 0, 0, 0, 2,   0, 0, 0,                               /* height */
  2,   1,   3,  0, 1, 0, 0, 0, 16,  0, 0, 0,                               /* bits */
  3,   1,   3,  0, 1, 0, 0, 0, 1,   0, 0, 0,                               /* no compression */
  6,   1,   3,  0, 1, 0, 0, 0, 1,   0, 0, 0,                               /* black is 0 */
  17,  1,   4,  0, 1, 0, 0, 0, 110, 0, 0, 0, /* where the samples are */
  22,  1,   3,  0, 1, 0, 0, 0, 2,   0, 0, 0, /* rows a strip */
  23,  1,   4,  0, 1, 0, 0, 0, 8,   0, 0, 0, /* bytes of it */
  0,   0,   0,  0, 1, 2, 3, 4, 5,   6, 7, 8,
};

static const char *const images[]
    = { "scan_0001.tif", "scan_0002.tif", "scan0000.tif", "scan0001.tif", "scan.raw" };
static const char *const names[] = { "scan.json", "scan.xtekct", "scan.log" };
static char *folder;

static void
forget_folder (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (images); i++) {
    g_autofree char *path = g_build_filename (folder, images[i], NULL);
    g_unlink (path);
  }
  g_rmdir (folder);
}

static void
make_folder (void)
{
  folder = fuzz_folder ();
  for (guint i = 0; i < G_N_ELEMENTS (images); i++) {
    g_autofree char *path = g_build_filename (folder, images[i], NULL);
    if (!g_file_set_contents (path, (const char *) tiff, sizeof tiff, NULL))
      g_error ("no image");
  }
  atexit (forget_folder);
}

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  if (!folder)
    make_folder ();
  if (size == 0)
    return 0;
  g_autofree char *path = g_build_filename (folder, names[data[0] % G_N_ELEMENTS (names)], NULL);
  fuzz_write (path, data + 1, size - 1);
  fuzz_scan (path, NULL);
  fuzz_scan (folder, NULL);
  g_unlink (path);
  return 0;
}
