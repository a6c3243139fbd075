/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "rings-reference.h"

#include "compute/prepare/rings/rings-axis.h"
#include "compute/prepare/rings/rings-offsets.h"
#include "dataset/sort.h"
#include "rings-columns-reference.h"

#include <complex.h>
#include <math.h>
#include <string.h>

#define AT(s, view, column) ((s)->values[(gsize) (view) * (s)->n_columns + (column)])

/* ── Lists ── */

/* d c b a | a b c d | d c b a */
static guint
half_sample (gint64 i, guint n)
{
  while (i < 0 || i >= n)
    i = i < 0 ? -1 - i : 2 * (gint64) n - 1 - i;
  return (guint) i;
}

static double *
median_filter (const double *list, guint n, guint size)
{
  double *out = g_new (double, n);
  g_autofree double *window = g_new (double, size);

  for (guint i = 0; i < n; i++) {
    for (guint j = 0; j < size; j++)
      window[j] = list[half_sample ((gint64) i + j - size / 2, n)];
    qsort (window, size, sizeof *window, td_compare_doubles);
    out[i] = window[size / 2];
  }
  return out;
}

/* Algorithm 4, and one column more on either side. */
static gboolean *
detect (const double *list, guint n, double snr, guint margin)
{
  g_autofree double *falling = g_memdup2 (list, n * sizeof *list);
  g_autofree gboolean *found = g_new0 (gboolean, n);
  gboolean *mask = g_new0 (gboolean, n);
  guint drop = n / 4, end = n - drop - 1;
  double sx = 0, sy = 0, sxx = 0, sxy = 0, count = (double) end - drop;

  if (end < drop + 2)
    return mask;
  qsort (falling, n, sizeof *falling, td_compare_doubles);
  for (guint i = 0; i < n / 2; i++) {
    double value = falling[i];
    falling[i] = falling[n - 1 - i];
    falling[n - 1 - i] = value;
  }
  for (guint i = drop; i < end; i++) {
    sx += i;
    sy += falling[i];
    sxx += (double) i * i;
    sxy += i * falling[i];
  }
  double slope = (count * sxy - sx * sy) / (count * sxx - sx * sx);
  double first = (sy - slope * sx) / count, last = first + slope * (n - 1),
         noise = fabs (last - first);
  if (noise < 1e-12)
    return mask;
  gboolean high = fabs (falling[0] - first) / noise >= snr;
  gboolean low = fabs (falling[n - 1] - last) / noise >= snr;
  for (guint i = 0; i < n; i++)
    found[i] = (high && list[i] > first + noise * snr * 0.5)
               || (low && list[i] <= last - noise * snr * 0.5);
  for (guint i = margin; i + margin < n; i++)
    mask[i] = found[i] || (i > 0 && found[i - 1]) || (i + 1 < n && found[i + 1]);
  return mask;
}

/* ── Sorting: algorithms 3 and 5 ── */

typedef struct {
  double value;
  guint view;
} Ranked;

static int
by_value (const void *a, const void *b)
{
  const Ranked *x = a, *y = b;
  if (x->value != y->value)
    return x->value < y->value ? -1 : 1;
  return x->view < y->view ? -1 : x->view > y->view;
}

/* [column][rank] */
static Ranked *
sort_columns (const TdSinogram *s)
{
  Ranked *sorted = g_new (Ranked, (gsize) s->n_views * s->n_columns);

  for (guint c = 0; c < s->n_columns; c++) {
    Ranked *own = sorted + (gsize) c * s->n_views;
    for (guint v = 0; v < s->n_views; v++)
      own[v] = (Ranked) { AT (s, v, c), v };
    qsort (own, s->n_views, sizeof *own, by_value);
  }
  return sorted;
}

/* [rank][column] */
static double *
smooth_sorted (const TdSinogram *s, const Ranked *sorted, guint size)
{
  double *smooth = g_new (double, (gsize) s->n_views * s->n_columns);
  g_autofree double *list = g_new (double, s->n_columns);

  for (guint r = 0; r < s->n_views; r++) {
    for (guint c = 0; c < s->n_columns; c++)
      list[c] = sorted[(gsize) c * s->n_views + r].value;
    g_autofree double *line = median_filter (list, s->n_columns, size);
    memcpy (smooth + (gsize) r * s->n_columns, line, s->n_columns * sizeof *line);
  }
  return smooth;
}

void
td_reference_rings_sorting (TdSinogram *s, guint size)
{
  g_autofree Ranked *sorted = sort_columns (s);
  g_autofree double *smooth = smooth_sorted (s, sorted, size);

  for (guint c = 0; c < s->n_columns; c++)
    for (guint r = 0; r < s->n_views; r++)
      AT (s, sorted[(gsize) c * s->n_views + r].view, c) = smooth[(gsize) r * s->n_columns + c];
}

void
td_reference_rings_large (TdSinogram *s, guint size, double snr, double drop, gboolean normalise)
{
  g_autofree Ranked *sorted = sort_columns (s);
  g_autofree double *smooth = smooth_sorted (s, sorted, size);
  g_autofree double *factor = g_new (double, s->n_columns);
  guint dropped = (guint) (0.5 * drop * s->n_views);

  for (guint c = 0; c < s->n_columns; c++) {
    double own = 0, around = 0;
    for (guint r = dropped; r < s->n_views - dropped; r++) {
      own += sorted[(gsize) c * s->n_views + r].value;
      around += smooth[(gsize) r * s->n_columns + c];
    }
    factor[c] = around != 0 ? own / around : 1;
    if (factor[c] > 1.5 || factor[c] * 1.5 < 1) /* no stripe, but where the object ends */
      factor[c] = 1;
  }
  g_autofree gboolean *mask = detect (factor, s->n_columns, snr, 0);
  for (guint c = 0; c < s->n_columns; c++)
    for (guint r = 0; r < s->n_views; r++) {
      double *value = &AT (s, sorted[(gsize) c * s->n_views + r].view, c);
      if (mask[c])
        *value = smooth[(gsize) r * s->n_columns + c];
      else if (normalise && factor[c] != 0)
        *value /= factor[c];
    }
}

/* ── Algorithm 6 ── */

/* Masked columns, none of them at the ends, by linear interpolation. */
static void
bridge (TdSinogram *s, const gboolean *mask)
{
  for (guint c = 0; c < s->n_columns; c++) {
    guint left = c, right = c;
    if (!mask[c])
      continue;
    while (mask[left])
      left--;
    while (mask[right])
      right++;
    for (guint v = 0; v < s->n_views; v++)
      AT (s, v, c)
          = AT (s, v, left) + (AT (s, v, right) - AT (s, v, left)) * (c - left) / (right - left);
  }
}

void
td_reference_rings_dead (TdSinogram *s, guint size, double snr)
{
  g_autofree double *rough = g_new0 (double, s->n_columns);

  for (guint c = 0; c < s->n_columns; c++)
    for (guint v = 0; v < s->n_views; v++) {
      double mean = 0;
      for (gint64 j = -5; j < 5; j++)
        mean += AT (s, half_sample (v + j, s->n_views), c) / 10;
      double away = fabs (AT (s, v, c) - mean);
      rough[c] += away > 1e-6 * fabs (AT (s, v, c)) ? away : 0;
    }
  g_autofree double *around = median_filter (rough, s->n_columns, size);
  for (guint c = 0; c < s->n_columns; c++)
    rough[c] = around[c] != 0 ? rough[c] / around[c] : 1;
  g_autofree gboolean *mask = detect (rough, s->n_columns, snr, 2);
  bridge (s, mask);
}

/* ── Algorithm 2 ── */

/* A discrete Fourier transform by its definition, a Gaussian window, and back. The line is mirrored
   by @pad at either end (c b | a b c | b a). */
static double *
low_pass (const double *line, guint n, guint pad, double sigma)
{
  guint length = n + 2 * pad;
  double *out = g_new0 (double, n);
  g_autofree double complex *turns = g_new (double complex, length);

  for (guint u = 0; u < length; u++)
    turns[u] = cexp (2 * G_PI * I * (double) u / length);
  for (guint k = 0; k <= length / 2; k++) {
    double complex sum = 0;
    double share
        = exp (-0.5 * k * k / (sigma * sigma)) * (k == 0 || 2 * k == length ? 1 : 2) / length;
    if (share * length < 1e-12)
      break;
    for (guint u = 0; u < length; u++) {
      gint64 v = (gint64) u - pad;
      v = v < 0 ? -v : v >= n ? 2 * (gint64) n - 2 - v : v;
      sum += line[v] * conj (turns[(guint64) k * u % length]);
    }
    for (guint v = 0; v < n; v++)
      out[v] += share * creal (sum * turns[(guint64) k * (v + pad) % length]);
  }
  return out;
}

void
td_reference_rings_filtering (TdSinogram *s, guint size, double sigma)
{
  g_autofree double *smooth = g_new (double, (gsize) s->n_views * s->n_columns);
  g_autofree double *line = g_new (double, s->n_views);

  for (guint c = 0; c < s->n_columns; c++) {
    for (guint v = 0; v < s->n_views; v++)
      line[v] = AT (s, v, c);
    g_autofree double *low = low_pass (line, s->n_views, MIN (150, s->n_views / 10), sigma);
    for (guint v = 0; v < s->n_views; v++)
      smooth[(gsize) v * s->n_columns + c] = low[v];
  }
  for (guint v = 0; v < s->n_views; v++) {
    const double *low = smooth + (gsize) v * s->n_columns;
    g_autofree double *median = median_filter (low, s->n_columns, size);
    for (guint c = 0; c < s->n_columns; c++)
      AT (s, v, c) += median[c] - low[c];
  }
}

/* ── Algorithm 1 ── */

/* Least squares by the normal equations of Legendre polynomials on -1 … 1, Gauss with pivots. */
static double *
fit_polynomial (const double *line, guint n, guint order)
{
  guint m = MIN (order, n - 1) + 1;
  g_autofree double *basis = g_new (double, (gsize) m *n);
  double a[8][9] = { { 0 } };
  double *fit = g_new0 (double, n);

  for (guint k = 0; k < m; k++)
    for (guint v = 0; v < n; v++) {
      double x = n > 1 ? 2.0 * v / (n - 1) - 1 : 0;
      basis[k * n + v]
          = k == 0 ? 1
            : k == 1
                ? x
                : ((2 * k - 1) * x * basis[(k - 1) * n + v] - (k - 1) * basis[(k - 2) * n + v]) / k;
    }
  for (guint i = 0; i < m; i++)
    for (guint v = 0; v < n; v++) {
      for (guint j = 0; j < m; j++)
        a[i][j] += basis[i * n + v] * basis[j * n + v];
      a[i][m] += basis[i * n + v] * line[v];
    }
  for (guint i = 0; i < m; i++) {
    guint pivot = i;
    for (guint r = i + 1; r < m; r++)
      if (fabs (a[r][i]) > fabs (a[pivot][i]))
        pivot = r;
    for (guint j = 0; j <= m; j++) {
      double held = a[i][j];
      a[i][j] = a[pivot][j];
      a[pivot][j] = held;
    }
    for (guint r = 0; r < m; r++)
      if (r != i) {
        double factor = a[r][i] / a[i][i];
        for (guint j = i; j <= m; j++)
          a[r][j] -= factor * a[i][j];
      }
  }
  for (guint k = 0; k < m; k++)
    for (guint v = 0; v < n; v++)
      fit[v] += a[k][m] / a[k][k] * basis[k * n + v];
  return fit;
}

void
td_reference_rings_fitting (TdSinogram *s, guint order, double sigma, gboolean divide)
{
  g_autofree double *fits = g_new (double, (gsize) s->n_views * s->n_columns);
  g_autofree double *line = g_new (double, s->n_views);
  int radius = (int) ceil (8 * sigma);

  for (guint c = 0; c < s->n_columns; c++) {
    for (guint v = 0; v < s->n_views; v++)
      line[v] = AT (s, v, c);
    g_autofree double *fit = fit_polynomial (line, s->n_views, order);
    for (guint v = 0; v < s->n_views; v++)
      fits[(gsize) v * s->n_columns + c] = fit[v];
  }
  for (guint v = 0; v < s->n_views; v++)
    for (guint c = 0; c < s->n_columns; c++) {
      const double *fit = fits + (gsize) v * s->n_columns;
      double smooth = 0, norm = 0;
      for (int i = -radius; i <= radius; i++) {
        double weight = exp (-0.5 * i * i / (sigma * sigma));
        smooth += weight * fit[half_sample ((gint64) c + i, s->n_columns)];
        norm += weight;
      }
      smooth /= norm;
      if (!divide)
        AT (s, v, c) += smooth - fit[c];
      else if (fit[c] * smooth > 0 && fabs (smooth) <= 1000 * fabs (fit[c])
               && fabs (fit[c]) <= 1000 * fabs (smooth))
        AT (s, v, c) *= smooth / fit[c];
    }
}

/* ── Titarenko ── */

/* (alpha + L) q = @m by Thomas' algorithm, in place. */
static void
solve (double *m, guint n, double alpha)
{
  g_autofree double *diagonal = g_new (double, n);

  for (guint i = 0; i < n; i++) {
    diagonal[i] = alpha + (i > 0) + (i + 1 < n) - (i > 0 ? 1 / diagonal[i - 1] : 0);
    m[i] += i > 0 ? m[i - 1] / diagonal[i - 1] : 0;
  }
  m[n - 1] /= diagonal[n - 1];
  for (guint i = n - 1; i-- > 0;)
    m[i] = (m[i] + m[i + 1]) / diagonal[i];
}

void
td_reference_rings_normalise (TdSinogram *s, double reach, guint n_blocks)
{
  g_autofree double *mean = g_new (double, s->n_columns), *q = g_new (double, s->n_columns);
  double half = sinh (0.5 / reach);
  guint blocks = MIN (n_blocks, s->n_views);

  for (guint block = 0; block < blocks; block++) {
    guint first = (guint64) s->n_views * block / blocks;
    guint end = (guint64) s->n_views * (block + 1) / blocks;
    for (guint c = 0; c < s->n_columns; c++) {
      mean[c] = 0;
      for (guint v = first; v < end; v++)
        mean[c] += AT (s, v, c) / (end - first);
    }
    for (guint c = 0; c < s->n_columns; c++)
      q[c] = mean[c > 0 ? c - 1 : 0] + mean[MIN (c + 1, s->n_columns - 1)] - 2 * mean[c];
    solve (q, s->n_columns, 4 * half * half);
    for (guint v = first; v < end; v++)
      for (guint c = 0; c < s->n_columns; c++)
        AT (s, v, c) += q[c];
  }
}

/* ── Offsets ── */

static TdRingsAxis
find_axis (const TdSinogram *s, const double *angles_rad, const float *medians)
{
  gsize n = s->n_columns;
  g_autofree float *modes = g_new (float, 3 * n),
                   *views = g_new (float, 4 * TD_RINGS_AXIS_PAIRS * n);
  TdRingsPair pairs[TD_RINGS_AXIS_PAIRS];
  guint n_pairs = td_rings_axis_pairs (angles_rad, s->n_views, pairs);

  for (guint c = 0; c < n; c++) {
    double sums[3] = { 0 };
    for (guint v = 0; v < s->n_views; v++) {
      sums[0] += AT (s, v, c);
      sums[1] += cos (angles_rad[v]) * AT (s, v, c);
      sums[2] += sin (angles_rad[v]) * AT (s, v, c);
    }
    for (guint k = 0; k < 3; k++)
      modes[k * n + c] = (float) sums[k];
    for (guint k = 0; k < 4 * n_pairs; k++)
      views[k * n + c] = (float) AT (s, pairs[k / 4].views[k / 2 % 2] + k % 2, c);
  }
  TdRingsAxis mass = td_rings_axis (modes, n, angles_rad, s->n_views, td_rings_size (medians, n));
  return td_rings_axis_refine (mass, pairs, n_pairs, views, n);
}

void
td_reference_rings (TdSinogram *s, const double *angles_rad, double size, double threshold,
                    double dead)
{
  guint n = s->n_columns;
  g_autofree float *offsets = g_new0 (float, n), *marks = g_new (float, n);
  g_autofree gboolean *mask = g_new0 (gboolean, n);
  g_auto (TdColumnNumbers) all = { 0 };

  if (s->n_views < 16)
    return;
  td_column_numbers_init (&all, s);
  for (guint c = 0; c < n; c++)
    for (guint v = 0; v < s->n_views; v++)
      offsets[c] += AT (s, v, c);
  const TdRingsColumns columns = {
    .n_columns = n,
    .n_samples = all.n_samples,
    .axis = find_axis (s, angles_rad, all.medians),
    .medians = all.medians,
    .spreads = all.spreads,
    .widths = all.widths,
    .skews = all.skews,
    .roughness = all.roughness,
    .bounds = all.bounds,
    .shares = all.shares,
    .n_parts = all.n_parts,
    .tallest = td_rings_tallest (offsets, n, s->n_views),
  };
  const TdRingsLimits limits = { size, threshold, dead };
  td_rings_offsets (&columns, &limits, offsets, marks);
  for (guint v = 0; v < s->n_views; v++)
    for (guint c = 0; c < n; c++)
      AT (s, v, c) -= offsets[c];
  for (guint c = 0; c < n; c++)
    mask[c] = marks[c] != 0;
  bridge (s, mask);
}
