/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/**
 * Phase retrieval on a host_pointers device. The kernels and transforms of step-paganin.c each go
 * through all images, one after another. The host makes three passes instead, a line or a few
 * columns at a time in its caches. The numbers are the same but for rounding.
 */
typedef struct TdPaganinHost TdPaganinHost;

/* The frames of a batch. */
typedef struct {
  float *data;   /* [row][view][column], in place */
  float *images; /* complex [n_pairs][ny][nx] to work in */
  guint n_rows, n_views, n_columns;
  guint first_view, n_pairs;
  guint rows_after; /* of the padding below the last row, those that continue it */
} TdPaganinFrames;

/* Images of @nx × @ny; @across, @down: L^2 k^2 of the frequencies, copied. NULL with @error: no
 * memory. */
TdPaganinHost *td_paganin_host_new (guint nx, guint ny, const float *across, const float *down,
                                    GError **error);
void td_paganin_host_run (const TdPaganinHost *self, const TdPaganinFrames *frames);
void td_paganin_host_free (TdPaganinHost *self);
