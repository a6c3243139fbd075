/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

#include "scan.h"

/**
 * TdTiffSave: writes an uncompressed TIFF or BigTIFF of equal images. Their places in the file are
 * fixed from the start, so that images can come in any order (libtiff can only append). Images may
 * be written by several threads at once; everything else is one thread's.
 */
typedef struct {
  guint width, height;
  TdSampleType type;
  double pixel_mm;         /* 0: no resolution is stored */
  const char *description; /* ImageDescription of every image; NULL: none */
} TdTiffImage;

typedef struct TdTiffSave TdTiffSave;

/* Creates (or overwrites) @path; @name is what messages call it. BigTIFF if @big or if it must be.
 */
TdTiffSave *td_tiff_save_new (const char *path, const char *name, const TdTiffImage *image,
                              guint n_images, gboolean big, GError **error);
/* Opens the BigTIFF that td_tiff_save_new() laid out with the same arguments, to write more of it.
 */
TdTiffSave *td_tiff_save_reopen (const char *path, const char *name, const TdTiffImage *image,
                                 guint n_images, GError **error);
/* @samples: width * height of the image's type, native byte order. */
gboolean td_tiff_save_image (TdTiffSave *save, guint number, const void *samples, GError **error);
/* The file, still the writer's, and where in it the first image begins. The others follow without
   gaps: whoever fills their bytes need not go through this writer. */
int td_tiff_save_file (const TdTiffSave *save);
guint64 td_tiff_save_samples_at (const TdTiffSave *save);
/* Replaces the first image's description, whatever its length. */
gboolean td_tiff_save_describe (TdTiffSave *save, const char *description, GError **error);
gboolean td_tiff_save_close (TdTiffSave *save, GError **error); /* frees too */
void td_tiff_save_free (TdTiffSave *save);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdTiffSave, td_tiff_save_free)

guint td_tiff_save_sample_format (TdSampleType type); /* libtiff's SAMPLEFORMAT_ */

/* One image, one file. */
gboolean td_tiff_save_single (const char *path, const char *name, const TdTiffImage *image,
                              const void *samples, GError **error);
