/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "compare-figures.h"

#include <glib/gi18n.h>
#include <math.h>

#include "dataset/error.h"

TdCompareFigures *
td_compare_figures_new (const TdImage *a, const TdImage *b, GError **error)
{
  TdImage *difference = td_image_difference (a, b);

  if (!difference) {
    td_set_error (error, TD_ERROR_INVALID,
                  _ ("A is %u × %u pixels and B %u × %u: they have no difference"), a->width,
                  a->height, b->width, b->height);
    return NULL;
  }
  TdCompareFigures *figures = g_new0 (TdCompareFigures, 1);
  gsize n = (gsize) a->width * a->height, used = 0;
  double sum = 0, sum_a = 0;

  for (gsize i = 0; i < n; i++) {
    double d = difference->pixels[i];
    if (!isfinite (d))
      continue;
    used++;
    sum += d * d;
    sum_a += (double) a->pixels[i] * a->pixels[i];
    figures->max_abs = MAX (figures->max_abs, fabs (d));
  }
  figures->difference = difference;
  figures->rms = used ? sqrt (sum / used) : NAN;
  figures->relative_rms = sum_a > 0 ? sqrt (sum / sum_a) : NAN;
  figures->psnr_db = 20 * log10 ((a->maximum - a->minimum) / figures->rms);
  return figures;
}

void
td_compare_figures_free (TdCompareFigures *figures)
{
  td_image_unref (figures->difference);
  g_free (figures);
}
