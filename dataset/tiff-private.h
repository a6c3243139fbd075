/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "error.h"
#include "tiff-io.h"

/* For tiff-io.c, tiff-pages.c and tiff-rows.c only. */
#define TD_TIFF_MAX_SIDE 1048576u

struct TdTiff {
  struct tiff *handle; /* libtiff's; closes fd */
  int fd;
  guint64 size;  /* of the file */
  char *name;    /* for messages */
  char *message; /* libtiff's first complaint since the last report; NULL: none */
  TdTiffLayout layout;
  guint32 width, height; /* as stored */
  guint orientation;
  gboolean tiled, compressed, bits_reversed;
  guint64 data_shift; /* of the selected page */
  gsize block_bytes;  /* of a whole strip or tile */
  guint8 *block;      /* one strip, tile or piece of raw rows; made when needed */
  gsize block_allocated;
};

/* Sets “FILE” @format (libtiff's complaint); returns FALSE. */
gboolean td_tiff_fail (TdTiff *tiff, GError **error, TdErrorCode code, const char *format, ...)
    G_GNUC_PRINTF (4, 5);
