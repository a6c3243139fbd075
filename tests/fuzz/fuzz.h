/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dataset/scan.h"
#include "dataset/volume.h"

/* A file in memory, so that hundreds of inputs a second do not wear out a disk. */
static inline int
fuzz_file (const guint8 *data, gsize size, char path[64])
{
  int fd = memfd_create ("fuzz", MFD_CLOEXEC);

  if (fd < 0 || write (fd, data, size) != (gssize) size)
    g_error ("no memory file");
  g_snprintf (path, 64, "/proc/self/fd/%d", fd);
  return fd;
}

/* Opens as a scan and as a volume, and reads a little of each. */
static inline void
fuzz_open (const char *path, const TdScanOptions *options)
{
  g_autoptr (TdScan) scan = td_scan_open (path, options, NULL, NULL);
  g_autoptr (TdVolume) volume = td_volume_open (path, NULL);

  if (scan) {
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
  if (volume) {
    const TdVolumeFacts *facts = td_volume_facts (volume);
    gsize voxels = (gsize) facts->nx * facts->ny;
    g_autofree float *out = voxels <= 1u << 22 ? g_new (float, voxels) : NULL;

    if (out)
      td_volume_read (volume, facts->n_slices - 1, 1, out, NULL);
  }
}
