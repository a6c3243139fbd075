/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "output.h"
#include "scan.h"
#include "volume.h"

/* For volume*.c. One struct of functions a format; volume-writer.c checks, scales and counts. */
typedef struct {
  gboolean (*begin) (TdVolumeWriter *writer, GError **error);
  /* Slice @number (0 = the volume's first) in the stored sample type. */
  gboolean (*write) (TdVolumeWriter *writer, guint number, const void *samples, GError **error);
  /* @description: the volume's JSON with provenance; leaves the file closed. */
  gboolean (*finish) (TdVolumeWriter *writer, const char *description, GError **error);
  void (*free) (TdVolumeWriter *writer);
} TdVolumeWriterFormat;

struct TdVolumeWriter {
  TdVolumeSpec spec; /* strings are the writer's own */
  const TdVolumeWriterFormat *format;
  gpointer own;      /* the format's */
  TdSampleType type; /* as stored */
  TdOutput *output;
  guint8 *written; /* 1 for each slice that came */
  void *samples;   /* one slice as stored */
  guint64 clamped;
};

extern const TdVolumeWriterFormat td_volume_stack_format, td_volume_bigtiff_format,
    td_volume_hdf5_format;

/* What is stored of a volume beside its samples: sizes, scale, voxel, units, number of the first
   slice; and @provenance_json (NULL: none) under "provenance". */
char *td_volume_describe (const TdVolumeSpec *spec, const char *provenance_json);

/* Reading: one struct of functions a source; volume-reader.c checks and rescales. */
typedef struct {
  /* Slices as stored values; the ranges were checked. */
  gboolean (*read) (gpointer source, guint first, guint count, float *out, GError **error);
  void (*free) (gpointer source);
} TdVolumeSource;

struct TdVolume {
  TdVolumeFacts facts;
  const TdVolumeSource *vtable;
  gpointer source;
};

/* Takes scale, voxel and provenance from a description of td_volume_describe(); FALSE: it is none.
   @n_slices: how many the description says there should be. */
gboolean td_volume_take_description (TdVolumeFacts *facts, const char *json, guint *n_slices);

TdVolume *td_volume_open_tiff (const char *path, GError **error);
TdVolume *td_volume_open_hdf5 (const char *path, GError **error);
