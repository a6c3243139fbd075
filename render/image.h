/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/**
 * TdImage: one picture of floats with the statistics that showing it needs. Immutable once made,
 * reference counted, any thread. Making one costs a pass over the pixels: do it off the main
 * thread.
 *
 * A coarse picture stands for a larger one. It is drawn centred over extent_width x extent_height
 * picture units. So a coarse and a full picture of the same thing lie on each other.
 */
#define TD_IMAGE_BINS 256
#define TD_IMAGE_QUANTILES 1001

typedef struct {
  gatomicrefcount references;
  guint width, height;
  float *pixels;                       /* [height][width], row 0 at the top */
  double extent_width, extent_height;  /* in full-resolution pixels; width, height if not coarse */
  float minimum, maximum;              /* of the finite values; 0, 1 if there are none */
  guint64 n_bad;                       /* NaN or infinite */
  float quantiles[TD_IMAGE_QUANTILES]; /* of the finite values, every 0.1 per cent */
  float bins_low, bins_high; /* what the histogram spans: values beyond are in the end bins */
  guint bins[TD_IMAGE_BINS];
} TdImage;

TdImage *td_image_new_take (float *pixels, guint width, guint height); /* g_free()s @pixels */
/* As above, drawn over @extent_width x @extent_height. */
TdImage *td_image_new_coarse_take (float *pixels, guint width, guint height, double extent_width,
                                   double extent_height);
TdImage *td_image_ref (TdImage *image);
void td_image_unref (TdImage *image);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdImage, td_image_unref)

/* @fraction: 0 … 1, interpolated between the stored quantiles. */
double td_image_quantile (const TdImage *image, double fraction);
/* A contrast from @fraction of the finite values to as many from the top, never empty; 0: from the
   least to the largest. */
void td_image_range (const TdImage *image, double fraction, double *low, double *high);
/* Half floats hold all values. Between the usual ends of the contrast, and in a quarter of that,
   they draw no value in another shade. */
gboolean td_image_half_will_do (const TdImage *image);
/* The sample under (column, row) in full-resolution pixels, first pixel's centre 0; FALSE: outside.
 */
gboolean td_image_value (const TdImage *image, double column, double row, float *value);
/* Figures of the finite samples of a part of the picture. */
typedef struct {
  guint64 n, n_bad;
  double mean, deviation; /* deviation: sample standard deviation, 0 for fewer than two */
  double minimum, maximum;
} TdImageStatistics;
/* Of @height rows of @width values, each @step after the one before. FALSE: none is finite. */
gboolean td_image_statistics_of (const float *values, gsize width, gsize height, gsize step,
                                 TdImageStatistics *statistics);
/* The box is in full-resolution pixels, and clipped to the picture. FALSE: nothing finite is in it.
 */
gboolean td_image_statistics (const TdImage *image, double x, double y, double width, double height,
                              TdImageStatistics *statistics);
/* a - b where both have the same size, else NULL. */
TdImage *td_image_difference (const TdImage *a, const TdImage *b);
