/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "axis-wedge.h"

#include <math.h>
#include <string.h>

#include "axis-search.h"
#include "compute/device/host-fft.h"
#include "compute/device/host.h"

/* Transforms that one thread does at a time: neighbouring columns share cache lines. */
#define BLOCK 8

struct TdAxisWedge {
  guint n_views, length;
  fftwf_plan along_views, along_columns;
  double radius;
  float *squares;         /* [length / 2 + 1] the weights' */
  TdHostScratch *scratch; /* of a line of either transform */
  fftwf_complex *mixed;   /* what td_axis_wedge_spilled() works in: Joined */
};

TdAxisWedge *
td_axis_wedge_new (guint n_views, guint length, double radius, const double *weights)
{
  TdAxisWedge *wedge = g_new0 (TdAxisWedge, 1);

  wedge->n_views = n_views;
  wedge->length = length;
  wedge->radius = radius;
  wedge->squares = g_new (float, length / 2 + 1);
  for (guint k = 0; k <= length / 2; k++)
    wedge->squares[k] = (float) (weights[k] * weights[k]);
  wedge->along_views = td_fftw_plan (2 * n_views);
  wedge->along_columns = td_fftw_plan (length);
  const gsize line = MAX (2 * (gsize) n_views, length) * sizeof (fftwf_complex);
  wedge->scratch = td_host_scratch_new (line, line, NULL);
  wedge->mixed = fftwf_alloc_complex ((gsize) (n_views + 1) * (length / 2 + 1));
  if (!wedge->along_views || !wedge->along_columns || !wedge->scratch || !wedge->mixed)
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
  td_host_scratch_free (wedge->scratch);
  fftwf_free (wedge->mixed);
  g_free (wedge->squares);
  g_free (wedge);
}

/**
 * The joined sinogram on its way through the two transforms. Its column -t is its column t half a
 * turn on. So G (m, -t) = (-1)^m G (m, t) and F (m, -k) = (-1)^m F (m, k). Columns t >= 0 and
 * frequencies k >= 0 are enough. Two columns, being real, share one transform; so do two rows, of
 * which the one is even and the other odd.
 */
typedef struct {
  const float *half; /* [n_views][width], its middle column on the centre */
  const TdAxisWedge *wedge;
  guint n_views, width, reach;
  float *fade;           /* [reach + 1] the taper */
  float *means;          /* [n_views] under it */
  fftwf_complex *mixed;  /* [n_views + 1][reach + 1]: m against columns t >= 0 */
  double *outside, *all; /* [n_views + 1] sums of |F|^2 */
} Joined;

/* First frequency of those inside the wedge, of 0 … length / 2. */
static guint
wedge_edge_of (const TdAxisWedge *wedge, guint m)
{
  double edge = ceil (m * (double) wedge->length / (2 * G_PI * wedge->radius));

  return (guint) MIN (edge, wedge->length / 2 + 1.0);
}

/* Columns @first and @first + 1; the second is 0 beyond the reach. */
static void
axis_wedge_join_columns (const Joined *joined, guint first, fftwf_complex *line)
{
  guint views = joined->n_views, width = joined->width, reach = joined->reach;
  gboolean both = first + 1 <= reach;
  float w0 = joined->fade[first], w1 = both ? joined->fade[first + 1] : 0;

  for (guint v = 0; v < views; v++) {
    const float *middle = joined->half + (gsize) v * width + reach;
    float mean = joined->means[v];
    line[v][0] = w0 * (middle[first] - mean);
    line[v][1] = both ? w1 * (middle[first + 1] - mean) : 0;
    line[views + v][0] = w0 * (middle[-(gint) first] - mean);
    line[views + v][1] = both ? w1 * (middle[-(gint) first - 1] - mean) : 0;
  }
}

static void
find_means (Joined *joined)
{
  gint reach = (gint) joined->reach;
  double weights = 0;

  for (gint t = 0; t <= reach; t++) {
    joined->fade[t] = (float) td_axis_taper (t, joined->reach);
    weights += (t ? 2 : 1) * joined->fade[t];
  }
  for (guint v = 0; v < joined->n_views; v++) {
    const float *middle = joined->half + (gsize) v * joined->width + reach;
    double sum = joined->fade[0] * middle[0];
    for (gint t = 1; t <= reach; t++)
      sum += joined->fade[t] * (middle[t] + middle[-t]);
    joined->means[v] = (float) (sum / weights);
  }
}

static void
transform_columns (guint index, gpointer data)
{
  Joined *joined = data;
  guint n = 2 * joined->n_views, columns = joined->reach + 1;
  guint first = index * 2 * BLOCK, end = MIN (first + 2 * BLOCK, columns);
  const TdHostPieces pieces = td_host_scratch_take (joined->wedge->scratch);
  fftwf_complex *from = pieces.from, *to = pieces.to;

  for (guint t = first; t < end; t += 2) {
    axis_wedge_join_columns (joined, t, from);
    fftwf_execute_dft (joined->wedge->along_views, from, to);
    for (guint m = 0; m <= joined->n_views; m++) {
      const float *z = to[m], *y = to[m ? n - m : 0];
      fftwf_complex *out = joined->mixed + (gsize) m * columns + t;
      out[0][0] = 0.5f * (z[0] + y[0]);
      out[0][1] = 0.5f * (z[1] - y[1]);
      if (t + 1 < columns) {
        out[1][0] = 0.5f * (z[1] + y[1]);
        out[1][1] = 0.5f * (y[0] - z[0]);
      }
    }
  }
  td_host_scratch_give (joined->wedge->scratch, &pieces);
}

/* Adds G (m, t) to the line, for positive and negative t. */
static void
lay_row (const Joined *joined, guint m, fftwf_complex *line)
{
  guint n = joined->wedge->length, columns = joined->reach + 1;
  const fftwf_complex *row = joined->mixed + (gsize) m * columns;
  float sign = m % 2 ? -1 : 1;

  line[0][0] += row[0][0];
  line[0][1] += row[0][1];
  for (guint t = 1; t < columns; t++) {
    line[t][0] += row[t][0];
    line[t][1] += row[t][1];
    line[n - t][0] += sign * row[t][0];
    line[n - t][1] += sign * row[t][1];
  }
}

/* |F (m, k)|^2 of the even row (@sign 1) or the odd one (-1), k and -k. */
static void
axis_wedge_add_row (const Joined *joined, guint m, const fftwf_complex *line, float sign)
{
  guint n = joined->wedge->length, edge = wedge_edge_of (joined->wedge, m);
  const float *squares = joined->wedge->squares;
  double outside = 0, all = 0;

  for (guint k = 0; k <= n / 2; k++) {
    const float *z = line[k], *y = line[k ? n - k : 0];
    float re = z[0] + sign * y[0], im = z[1] + sign * y[1];
    float size = (k == 0 || 2 * k == n ? 0.25f : 0.5f) * squares[k] * (re * re + im * im);
    all += size;
    outside += k < edge ? size : 0;
  }
  joined->outside[m] = outside;
  joined->all[m] = all;
}

static void
axis_wedge_transform_rows (guint index, gpointer data)
{
  Joined *joined = data;
  guint n = joined->wedge->length;
  guint first = TD_AXIS_WEDGE_DROP + 1 + index * 2 * BLOCK;
  guint end = MIN (first + 2 * BLOCK, joined->n_views + 1);
  const TdHostPieces pieces = td_host_scratch_take (joined->wedge->scratch);
  fftwf_complex *from = pieces.from, *to = pieces.to;

  for (guint m = first; m < end; m += 2) {
    memset (from, 0, n * sizeof *from);
    lay_row (joined, m, from);
    if (m + 1 < end)
      lay_row (joined, m + 1, from);
    fftwf_execute_dft (joined->wedge->along_columns, from, to);
    axis_wedge_add_row (joined, m, to, m % 2 ? -1 : 1);
    if (m + 1 < end)
      axis_wedge_add_row (joined, m + 1, to, m % 2 ? 1 : -1);
  }
  td_host_scratch_give (joined->wedge->scratch, &pieces);
}

/* Values outside the wedge, and all, of the same rows and frequencies. */
static void
count_values (const TdAxisWedge *wedge, double *outside, double *all)
{
  *outside = *all = 0;
  for (guint m = TD_AXIS_WEDGE_DROP + 1; m <= wedge->n_views; m++) {
    *outside += MIN (2.0 * wedge_edge_of (wedge, m) - 1, wedge->length);
    *all += wedge->length;
  }
}

double
td_axis_wedge_spilled (const TdAxisWedge *wedge, const float *half, guint width, double *rows)
{
  guint n_views = wedge->n_views, reach = width / 2;
  double outside = 0, all = 0, n_outside, n_all;
  Joined joined = {
    .half = half,
    .wedge = wedge,
    .n_views = n_views,
    .width = width,
    .reach = reach,
    .mixed = wedge->mixed,
    .fade = g_new (float, reach + 1),
    .means = g_new (float, n_views),
    .outside = g_new0 (double, n_views + 1),
    .all = g_new0 (double, n_views + 1),
  };

  find_means (&joined);
  td_parallel_for (reach / (2 * BLOCK) + 1, transform_columns, &joined);
  if (n_views > TD_AXIS_WEDGE_DROP)
    td_parallel_for ((n_views - TD_AXIS_WEDGE_DROP - 1) / (2 * BLOCK) + 1,
                     axis_wedge_transform_rows, &joined);
  for (guint m = TD_AXIS_WEDGE_DROP + 1; m <= n_views; m++) {
    outside += joined.outside[m];
    all += joined.all[m];
  }
  count_values (wedge, &n_outside, &n_all);
  for (guint m = 0; rows && m <= n_views; m++)
    rows[m] += all > 0 ? joined.outside[m] / n_outside / (all / n_all) : 0;
  g_free (joined.fade);
  g_free (joined.means);
  g_free (joined.outside);
  g_free (joined.all);
  return n_outside > 0 && all > 0 ? outside / n_outside / (all / n_all) : 1;
}
