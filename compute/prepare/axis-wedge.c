/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "axis-wedge.h"

#include <math.h>
#include <string.h>

#include "axis-search.h"
#include "compute/device/host-fftw.h"
#include "compute/device/host.h"

struct TdAxisWedge {
  guint n_views, length;
  fftwf_plan along_views, along_columns;
  double radius;
  double *weights;
};

TdAxisWedge *
td_axis_wedge_new (guint n_views, guint length, double radius, const double *weights)
{
  TdAxisWedge *wedge = g_new0 (TdAxisWedge, 1);

  wedge->n_views = n_views;
  wedge->length = length;
  wedge->radius = radius;
  wedge->weights = g_memdup2 (weights, (length / 2 + 1) * sizeof *weights);
  wedge->along_views = td_fftw_plan (2 * n_views);
  wedge->along_columns = td_fftw_plan (length);
  if (!wedge->along_views || !wedge->along_columns)
    g_clear_pointer (&wedge, td_axis_wedge_free);
  return wedge;
}

void
td_axis_wedge_free (TdAxisWedge *wedge)
{
  if (!wedge)
    return;
  td_fftw_plan_free (wedge->along_views);
  td_fftw_plan_free (wedge->along_columns);
  g_free (wedge->weights);
  g_free (wedge);
}

/* The joined sinogram on its way through the two transforms. */
typedef struct {
  const float *half;     /* [n_views][width], its middle column on the centre */
  const TdAxisWedge *wedge;
  guint n_views, width;
  fftwf_complex *mixed;  /* [n_views + 1][width]: m against columns */
  double *outside, *inside; /* [n_views + 1] sums of |F| */
  guint *n_outside, *n_inside;
} Joined;

/* Column t of the one half, column -t of the other, down all views. */
static void
transform_column (guint index, gpointer data)
{
  Joined *joined = data;
  guint n = 2 * joined->n_views, width = joined->width;
  gint reach = (gint) width / 2;
  float weight = (float) td_axis_fade ((gint) index - reach, reach);
  fftwf_complex *from = fftwf_alloc_complex (n), *to = fftwf_alloc_complex (n);

  memset (from, 0, n * sizeof *from);
  for (guint v = 0; v < joined->n_views; v++) {
    from[v][0] = weight * joined->half[(gsize) v * width + index];
    from[joined->n_views + v][0] = weight * joined->half[(gsize) v * width + width - 1 - index];
  }
  fftwf_execute_dft (joined->wedge->along_views, from, to);
  for (guint m = 0; m <= joined->n_views; m++)
    memcpy (joined->mixed[(gsize) m * width + index], to[m], sizeof *to);
  fftwf_free (from);
  fftwf_free (to);
}

static void
transform_row (guint m, gpointer data)
{
  Joined *joined = data;
  guint n = joined->wedge->length;
  fftwf_complex *from = fftwf_alloc_complex (n), *to = fftwf_alloc_complex (n);
  double radius = joined->wedge->radius;

  memset (from, 0, n * sizeof *from);
  memcpy (from, joined->mixed + (gsize) m * joined->width, joined->width * sizeof *from);
  fftwf_execute_dft (joined->wedge->along_columns, from, to);
  joined->outside[m] = joined->inside[m] = 0;
  joined->n_outside[m] = joined->n_inside[m] = 0;
  for (guint i = 0; i < n; i++) {
    guint k = MIN (i, n - i);
    double f = k / (double) n, size = joined->wedge->weights[k] * hypot (to[i][0], to[i][1]);
    if (2 * G_PI * f * radius < m) {
      joined->outside[m] += size;
      joined->n_outside[m]++;
    } else {
      joined->inside[m] += size;
      joined->n_inside[m]++;
    }
  }
  fftwf_free (from);
  fftwf_free (to);
}

static double
share_outside (const Joined *joined)
{
  double outside = 0, all = 0;
  guint64 n_outside = 0, n_all = 0;

  for (guint m = TD_AXIS_WEDGE_DROP + 1; m <= joined->n_views; m++) {
    outside += joined->outside[m];
    all += joined->outside[m] + joined->inside[m];
    n_outside += joined->n_outside[m];
    n_all += joined->n_outside[m] + joined->n_inside[m];
  }
  return n_outside && all > 0 ? outside / n_outside / (all / n_all) : 1;
}

double
td_axis_wedge_spilled (const TdAxisWedge *wedge, const float *half, guint width)
{
  guint n_views = wedge->n_views;
  Joined joined = {
    .half = half, .wedge = wedge, .n_views = n_views, .width = width,
    .mixed = fftwf_alloc_complex ((gsize) (n_views + 1) * width),
    .outside = g_new0 (double, n_views + 1), .inside = g_new0 (double, n_views + 1),
    .n_outside = g_new0 (guint, n_views + 1), .n_inside = g_new0 (guint, n_views + 1),
  };

  td_parallel_for (width, transform_column, &joined);
  td_parallel_for (n_views + 1, transform_row, &joined);
  double share = share_outside (&joined);
  fftwf_free (joined.mixed);
  g_free (joined.outside);
  g_free (joined.inside);
  g_free (joined.n_outside);
  g_free (joined.n_inside);
  return share;
}
