/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <fcntl.h>
#include <glib/gstdio.h>
#include <unistd.h>

#include "dataset/scan.h"
#include "dataset/volume.h"

/* A folder in memory, so that thousands of inputs do not wear out a disk. Who made it forgets it.
 */
static inline char *
fuzz_folder (void)
{
  char *folder = g_strdup ("/dev/shm/fuzz-XXXXXX");

  if (!g_mkdtemp (folder))
    g_error ("no folder");
  return folder;
}

/* The file that holds an input: written again each time, which costs less than a new one. */
static inline void
fuzz_write (const char *path, const guint8 *data, gsize size)
{
  int fd = open (path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

  if (fd < 0 || write (fd, data, size) != (gssize) size || close (fd) != 0)
    g_error ("no file %s", path);
}

static char *fuzz_alone; /* in a folder of its own, where nothing else is looked through */

static inline void
fuzz_forget (void)
{
  g_autofree char *folder = g_path_get_dirname (fuzz_alone);

  g_unlink (fuzz_alone);
  g_rmdir (folder);
}

/* Not to be freed; the next call writes another input there. */
static inline const char *
fuzz_file (const guint8 *data, gsize size)
{
  if (!fuzz_alone) {
    g_autofree char *folder = fuzz_folder ();
    fuzz_alone = g_build_filename (folder, "input", NULL);
    atexit (fuzz_forget);
  }
  fuzz_write (fuzz_alone, data, size);
  return fuzz_alone;
}

/* Opens as a scan and reads a little of it. */
static inline void
fuzz_scan (const char *path, const TdScanOptions *options)
{
  g_autoptr (TdScan) scan = td_scan_open (path, options, NULL, NULL);

  if (!scan)
    return;
  const TdScanFacts *facts = td_scan_facts (scan);
  guint rows = MIN (facts->n_rows, 8), views = MIN (facts->n_views, 4);
  g_autofree float *out = g_try_new (float, (gsize) rows *views * facts->n_columns);
  if (out && facts->n_columns <= 65536) {
    td_scan_read (scan, &(TdFrameRange) { TD_FRAME_PROJECTION, 0, views, 0, rows }, out, NULL,
                  NULL);
    td_scan_read_sinograms (scan, &(TdFrameRange) { TD_FRAME_PROJECTION, 0, views, 0, rows }, out,
                            NULL, NULL);
  }
}

/* Opens as a volume, one whose size @options states or one that says it, and reads a slice. */
static inline void
fuzz_volume (const char *path, const TdScanOptions *options)
{
  g_autoptr (TdVolume) volume
      = options ? td_volume_open_stated (path, options, NULL) : td_volume_open (path, NULL);

  if (!volume)
    return;
  const TdVolumeFacts *facts = td_volume_facts (volume);
  gsize voxels = (gsize) facts->nx * facts->ny;
  g_autofree float *out = voxels <= 1u << 22 ? g_new (float, voxels) : NULL;
  if (out)
    td_volume_read (volume, facts->n_slices - 1, 1, out, NULL);
}
