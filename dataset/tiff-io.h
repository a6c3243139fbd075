/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

#include "frame-target.h"

/**
 * TdTiff: one open TIFF or BigTIFF file of single-channel images, read by rows. It takes strips and
 * tiles, every compression of libtiff, 8/16/32-bit integers, 32/64-bit floats and any orientation.
 *
 * A handle belongs to one thread at a time; open one for each read. What libtiff complains about
 * goes to the GError of the call, never to standard error. Files are untrusted: nothing is mapped,
 * and every offset and size is checked before memory is taken.
 */
typedef struct TdTiff TdTiff;

typedef struct {
  guint width, height; /* as seen, that is, after the orientation was applied */
  TdSampleType type;
  gboolean inverted;   /* min-is-white unsigned samples: values are turned round (largest - v) */
  gboolean coloured;   /* numbers of a palette's colours, which is no ramp of greys */
  guint rows_together; /* rows that must be unpacked for one of them */
} TdTiffLayout;

/* Rows [row0, row0 + n_rows) of an image, and where they are wanted: as those of frame 0. */
typedef struct {
  guint row0, n_rows;
  TdFrameTarget to;
} TdTiffRows;

/* Where one image of a file lies. */
typedef struct {
  guint64 directory;  /* file offset of its directory */
  guint64 data_shift; /* bytes its samples lie behind those the directory names (ImageJ stacks) */
} TdTiffPage;

/* Is there a TIFF signature at the start? Opens the file, reports nothing. */
gboolean td_tiff_probe (const char *path);

/* Opens one image of the file: @page, or the first if that is NULL. */
TdTiff *td_tiff_open (const char *path, const TdTiffPage *page, GError **error);
void td_tiff_close (TdTiff *tiff);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdTiff, td_tiff_close)

const TdTiffLayout *td_tiff_layout (const TdTiff *tiff); /* of that image */
const char *td_tiff_description (TdTiff *tiff);          /* ImageDescription; NULL: none */

/* How many images its description says the file holds, as ImageJ writes it; 0: it does not say. */
guint td_tiff_images_stated (TdTiff *tiff);

/* FALSE with @error: its size or type of samples is not @expected. */
gboolean td_tiff_check_like (TdTiff *tiff, const TdTiffLayout *expected, GError **error);

/* All full-size images from this one on, as TdTiffPage, without parsing each. Refuses a file whose
   images differ in size. */
GArray *td_tiff_pages (TdTiff *tiff, GError **error);

/* Rows of the image; reads and decodes only the strips or tiles that hold them. */
gboolean td_tiff_read_rows (TdTiff *tiff, const TdTiffRows *rows, GError **error);

/* Opens @path, checks that its image (@page, or the first if NULL) is @expected, reads rows,
 * closes. */
gboolean td_tiff_read_frame (const char *path, const TdTiffPage *page, const TdTiffLayout *expected,
                             const TdTiffRows *rows, GError **error);
