/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "output.h"
#include "scan-writer.h"

/* What the two formats have in common; scan-writer.c checks, converts and counts. */
typedef struct {
  /* Creates what is needed under the output's part. */
  gboolean (*begin) (TdScanWriter *writer, GError **error);
  /* One frame in the stored sample type. */
  gboolean (*write) (TdScanWriter *writer, TdFrameKind kind, guint number, const void *samples,
                     GError **error);
  gboolean (*finish) (TdScanWriter *writer, GError **error);
  void (*free) (TdScanWriter *writer);
} TdScanWriterFormat;

struct TdScanWriter {
  const TdScanWriterFormat *format;
  gpointer own; /* the format's */
  TdScan *scan; /* a copy of the facts */
  const TdScanFacts *facts;
  TdOutput *output;
  guint8 *written[3]; /* by TdFrameKind: 1 for each frame that came */
  void *samples;      /* one frame as stored */
};

extern const TdScanWriterFormat td_scan_writer_tiff, td_scan_writer_nxtomo;
