/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "axis-methods.h"
#include "compute/angles.h"
#include "compute/device/host-fft.h"
#include "dataset/sort.h"

/**
 * Overlap search: with views all round, each view is compared with the mirrored opposite one for
 * every centre at once. About a centre c the two overlap in columns k - (n - 1) to k of k = 2 c,
 * and
 *
 *     r (c) = 2 sum a (u) b (k - u) / sum (a (u)^2 + b (k - u)^2)
 *
 * sums over all pairs of opposite views. It is 1 where they agree in shape and size. A correlation
 * coefficient does not ask for the size, which tells a true narrow overlap from a likely wide one.
 * The products are one convolution a pair, by FFT; the squares are running sums over the columns.
 *
 * Before that, each column loses what changes slowly from view to view. Stripes would agree with
 * themselves, and slow parts agree about every centre.
 */
#define LEAST_VIEWS 16
#define LEAST_OVERLAP 3      /* columns */
#define SLOW_RAD (G_PI / 12) /* half the width of the running mean over the views */
#define WEDGE_STEPS 3        /* a gap of so many usual steps is not bridged */
#define CHANCE 6             /* standard deviations that a narrow overlap may agree by chance */
#define ROUNDED 1e-5         /* part of all squares that products in single precision do not tell */
#define WIDEST_FIT 4         /* half columns to either side of the peak */
#define PARABOLA_PX 0.03     /* error of the parabola: undersampled edges pull it to half columns */
#define NEIGHBOURHOOD 4      /* half columns that belong to a peak: at least */

/* The turn with evenly spread views, the second half opposite to the first. */
typedef struct {
  guint n_views, n_columns; /* n_views is even */
  float *values;            /* [n_views][n_columns] */
  gboolean *known;          /* n_views: measured near enough */
} Turn;

/* From view @i to the next one, round the circle. */
static double
gap_after (const TdDirection *places, guint n, guint i)
{
  return (i + 1 < n ? places[i + 1].angle : places[0].angle + 2 * G_PI) - places[i].angle;
}

/* From a place to the next one that is another; the median of all. */
static double
overlap_usual_step (const TdDirection *places, guint n)
{
  g_autofree double *steps = g_new (double, n);
  guint count = 0;

  for (guint i = 0; i < n; i++) {
    double step = gap_after (places, n, i);
    if (step > 1e-6)
      steps[count++] = step;
  }
  if (count == 0)
    return 2 * G_PI;
  qsort (steps, count, sizeof *steps, td_compare_doubles);
  return steps[count / 2];
}

static const char *
axis_overlap_unsuited (const double *angles_rad, guint n_views, guint n_columns)
{
  g_autofree TdDirection *places = NULL;
  double covered = 0;

  if (n_columns < 2 * LEAST_OVERLAP || n_views < LEAST_VIEWS)
    return N_ ("there are too few views or columns");
  places = td_angles_sorted (angles_rad, n_views, 2 * G_PI);
  const double step = overlap_usual_step (places, n_views);
  for (guint i = 0; i < n_views; i++) {
    double gap = gap_after (places, n_views, i);
    if (gap <= WEDGE_STEPS * step)
      covered += gap;
  }
  return covered < 1.25 * G_PI ? N_ ("the views do not go all round: few have an opposite one")
                               : NULL;
}

/* ── The turn ── */

static void
axis_overlap_mix (const TdAxisInput *input, guint a, guint b, double part, float *out)
{
  const float *first = input->sinogram + (gsize) a * input->n_columns;
  const float *second = input->sinogram + (gsize) b * input->n_columns;
  const float weight = (float) part;

  for (guint u = 0; u < input->n_columns; u++)
    out[u] = first[u] + weight * (second[u] - first[u]);
}

/* Interpolates between the views on either side of each evenly spread angle. */
static gboolean
turn_init (Turn *turn, const TdAxisInput *input, GError **error)
{
  const guint n = input->n_views;
  g_autofree TdDirection *places = td_angles_sorted (input->angles_rad, n, 2 * G_PI);
  const double step = overlap_usual_step (places, n);
  const guint half = (guint) CLAMP (floor (G_PI / step + 0.5), LEAST_VIEWS / 2, n);
  guint at = 0;

  *turn = (Turn) { .n_views = 2 * half, .n_columns = input->n_columns };
  turn->known = g_new0 (gboolean, turn->n_views);
  turn->values = g_try_new0 (float, (gsize) turn->n_views * turn->n_columns);
  if (!turn->values)
    return td_set_error (error, TD_ERROR_TOO_LARGE,
                         "There is no memory to compare the views of row %u", input->row);
  for (guint v = 0; v < turn->n_views; v++) {
    const double angle = places[0].angle + 2 * G_PI * v / turn->n_views;
    while (at + 1 < n && places[at + 1].angle <= angle + 1e-9)
      at++;
    const double gap = gap_after (places, n, at);
    const double part = gap > 0 ? CLAMP ((angle - places[at].angle) / gap, 0, 1) : 0;
    turn->known[v] = gap <= WEDGE_STEPS * step || part < 1e-6;
    if (turn->known[v])
      axis_overlap_mix (input, places[at].view, places[(at + 1) % n].view, part,
                        turn->values + (gsize) v * turn->n_columns);
  }
  return TRUE;
}

/* Adds a view to the sums, or takes it away. */
static void
axis_overlap_add_view (const Turn *turn, guint view, double sign, double *sums, guint *count)
{
  const float *values = turn->values + (gsize) view * turn->n_columns;

  if (!turn->known[view])
    return;
  *count += sign > 0 ? 1 : -1;
  for (guint u = 0; u < turn->n_columns; u++)
    sums[u] += sign * values[u];
}

/* Takes the running mean over the views from each column, round the circle. */
static gboolean
remove_slow (Turn *turn, GError **error)
{
  const guint n = turn->n_views;
  const guint reach = MIN (MAX ((guint) (SLOW_RAD / (2 * G_PI) * n), 1), (n - 1) / 2);
  g_autofree double *sums = g_new0 (double, turn->n_columns);
  g_autofree float *out = g_try_new0 (float, (gsize) n * turn->n_columns);
  guint count = 0;

  if (!out)
    return td_set_error (error, TD_ERROR_TOO_LARGE, "There is no memory to compare opposite views");
  for (guint v = 0; v < 2 * reach + 1; v++)
    axis_overlap_add_view (turn, (n - reach + v) % n, 1, sums, &count);
  for (guint v = 0; v < n; v++) {
    const float *values = turn->values + (gsize) v * turn->n_columns;
    for (guint u = 0; u < turn->n_columns && turn->known[v]; u++)
      out[(gsize) v * turn->n_columns + u] = (float) (values[u] - sums[u] / count);
    axis_overlap_add_view (turn, (v + n - reach) % n, -1, sums, &count);
    axis_overlap_add_view (turn, (v + reach + 1) % n, 1, sums, &count);
  }
  g_free (turn->values);
  turn->values = g_steal_pointer (&out);
  return TRUE;
}

/* ── Agreement about every centre ── */

/* What is known about k = 2 c: 2 n - 1 of each. */
typedef struct {
  guint n;
  double *agreement; /* r */
  guint pairs;
} Agreement;

static guint
overlap_of (guint k, guint n_columns)
{
  return MIN (k, 2 * n_columns - 2 - k) + 1;
}

/* The sums over pairs, and the memory of one transform. */
typedef struct {
  fftwf_plan plan;
  guint size;
  fftwf_complex *line, *transformed; /* [size] */
  double *spectrum;                  /* of the products, interleaved, [size] */
  double *squares;                   /* of both views at each column */
} Products;

/* Adds one pair. a + i b is transformed at once. */
static void
products_add (Products *self, const Turn *turn, guint view)
{
  const guint n = turn->n_columns, half = turn->n_views / 2;
  const float *a = turn->values + (gsize) view * n, *b = a + (gsize) half * n;

  for (guint u = 0; u < n; u++) {
    self->line[u][0] = a[u];
    self->line[u][1] = b[u];
    self->squares[u] += (double) a[u] * a[u] + (double) b[u] * b[u];
  }
  fftwf_execute_dft (self->plan, self->line, self->transformed);
  /* A B = (Z (f)^2 - conj (Z (-f))^2) / 4i */
  for (guint f = 0; f < self->size; f++) {
    const guint g = f ? self->size - f : 0;
    const double x = self->transformed[f][0], y = self->transformed[f][1];
    const double p = self->transformed[g][0], q = -self->transformed[g][1];
    self->spectrum[2 * f] += (2 * x * y - 2 * p * q) / 4;
    self->spectrum[2 * f + 1] -= (x * x - y * y - p * p + q * q) / 4;
  }
}

static void
agreement_fill (Agreement *agreement, Products *products)
{
  g_autofree double *sums = g_new0 (double, agreement->n + 1);
  const guint size = products->size;

  for (guint f = 0; f < 2 * size; f++)
    ((float *) products->line)[f] = (float) products->spectrum[f];
  fftwf_execute_dft (products->plan, products->line, products->transformed);
  for (guint u = 0; u < agreement->n; u++)
    sums[u + 1] = sums[u] + products->squares[u];
  for (guint k = 0; k < 2 * agreement->n - 1; k++) {
    const guint first = k < agreement->n ? 0 : k - (agreement->n - 1);
    const double energy
        = sums[first + overlap_of (k, agreement->n)] - sums[first] + ROUNDED * sums[agreement->n];
    const double product = products->transformed[k ? size - k : 0][0] / size;
    agreement->agreement[k] = energy > 0 ? 2 * product / energy : 0;
  }
}

static gboolean
compare_views (const Turn *turn, const TdAxisInput *input, Agreement *agreement, GError **error)
{
  const guint n = turn->n_columns, size = td_fft_good_size (2 * n);
  g_autofree double *spectrum = g_new0 (double, 2 * size);
  g_autofree double *squares = g_new0 (double, n);
  Products products = {
    .plan = td_fftw_plan (size),
    .size = size,
    .line = fftwf_alloc_complex (size),
    .transformed = fftwf_alloc_complex (size),
    .spectrum = spectrum,
    .squares = squares,
  };
  gboolean ok = products.line && products.transformed && products.plan;

  *agreement = (Agreement) { .n = n, .agreement = g_new0 (double, 2 * n - 1) };
  if (!ok)
    td_set_error (error, TD_ERROR_TOO_LARGE, "There is no memory to compare rows of %u columns", n);
  else
    memset (products.line, 0, size * sizeof *products.line);
  for (guint v = 0; ok && v < turn->n_views / 2; v++) {
    ok = !g_cancellable_set_error_if_cancelled (input->cancellable, error);
    if (!turn->known[v] || !turn->known[v + turn->n_views / 2])
      continue;
    products_add (&products, turn, v);
    agreement->pairs++;
  }
  if (ok)
    agreement_fill (agreement, &products);
  td_fftw_plan_free (products.plan);
  fftwf_free (products.line);
  fftwf_free (products.transformed);
  return ok;
}

/* ── The peak ── */

/* What the agreement is worth: narrow overlaps agree more easily by chance. */
static double
axis_overlap_worth (const Agreement *agreement, guint k)
{
  const double samples = (double) overlap_of (k, agreement->n) * agreement->pairs;

  return agreement->agreement[k] - CHANCE / sqrt (MAX (samples, 1));
}

/* The best k in [first, last], but not within @away of @peak. 0: none. */
static guint
axis_overlap_best (const Agreement *agreement, guint first, guint last, guint peak, guint away)
{
  guint found = 0;

  for (guint k = first; k <= last; k++) {
    if (peak && (k > peak ? k - peak : peak - k) <= away)
      continue;
    if (!found || axis_overlap_worth (agreement, k) > axis_overlap_worth (agreement, found))
      found = k;
  }
  return found;
}

/* Half columns from the peak to where half of it is lost, the farther side. */
static guint
width_of (const Agreement *agreement, guint first, guint last, guint peak)
{
  const double level = agreement->agreement[peak] / 2;
  guint left = peak, right = peak;

  while (left > first && agreement->agreement[left] > level)
    left--;
  while (right < last && agreement->agreement[right] > level)
    right++;
  return MAX (peak - left, right - peak);
}

/* The top of the parabola through the agreement by least squares, over as much of the peak as is
   one. The wider a peak, the more its single values are noise. */
static void
axis_overlap_refine (const Agreement *agreement, guint first, guint last, guint peak,
                     TdAxisEstimate *estimate)
{
  const double *r = agreement->agreement;
  const guint side = MIN (peak - first, last - peak);
  const guint reach
      = MIN (CLAMP (width_of (agreement, first, last, peak) / 2, 1, WIDEST_FIT), side);
  double n = 0, s2 = 0, s4 = 0, sum = 0, slope = 0, square = 0;

  for (int j = -(int) reach; j <= (int) reach; j++) {
    n += 1;
    s2 += j * j;
    s4 += (double) j * j * j * j;
    sum += r[peak + j];
    slope += j * r[peak + j];
    square += j * j * r[peak + j];
  }
  const double bend = reach ? (s2 * sum - n * square) / (n * s4 - s2 * s2) : 0;
  if (!(bend > 0))
    return;
  const double samples = (double) overlap_of (peak, agreement->n) * agreement->pairs;
  estimate->centre_px += CLAMP (slope / s2 / (2 * bend), -1, 1) / 2;
  /* Each value's variance is (1 - r^2) / samples. Neighbours share most of their noise. So the
     slope is hardly known better than from two of them. */
  estimate->spread_px
      = hypot (sqrt (MAX (1 - r[peak] * r[peak], 0) / (2 * samples)) / (4 * bend), PARABOLA_PX);
}

static void
estimate_peak (const Agreement *agreement, guint first, guint last, guint peak,
               TdAxisEstimate *estimate)
{
  const double here = axis_overlap_worth (agreement, peak);
  const guint away = MAX (NEIGHBOURHOOD, 2 * width_of (agreement, first, last, peak));
  const guint other = axis_overlap_best (agreement, first, last, peak, away);
  const double next = other ? MAX (axis_overlap_worth (agreement, other), 0) : 0;

  estimate->confidence = CLAMP ((here - next) / MAX (here, 0.05), 0, 1) * CLAMP (here / 0.2, 0, 1);
  estimate->centre_px = peak / 2.0;
  axis_overlap_refine (agreement, first, last, peak, estimate);
}

static gboolean
axis_overlap_find (const TdAxisInput *input, TdAxisEstimate *estimate, GError **error)
{
  const guint n = input->n_columns;
  Turn turn = { 0 };
  Agreement agreement = { 0 };

  *estimate = (TdAxisEstimate) { .centre_px = NAN, .spread_px = NAN };
  estimate->reason = axis_overlap_unsuited (input->angles_rad, input->n_views, n);
  if (estimate->reason)
    return TRUE;
  gboolean ok = turn_init (&turn, input, error) && remove_slow (&turn, error)
                && compare_views (&turn, input, &agreement, error);
  if (ok) {
    const double least = (LEAST_OVERLAP - 1) / 2.0;
    const guint first = (guint) ceil (2 * CLAMP (input->first_px, least, n - 1 - least));
    const guint last = (guint) floor (2 * CLAMP (input->last_px, least, n - 1 - least));
    const guint peak = first <= last ? axis_overlap_best (&agreement, first, last, 0, 0) : 0;
    if (!peak)
      estimate->reason = "the range searched is not on the detector";
    else if (axis_overlap_worth (&agreement, peak) <= 0)
      estimate->reason = "opposite views agree about no centre in this range";
    else
      estimate_peak (&agreement, first, last, peak, estimate);
  }
  g_free (turn.values);
  g_free (turn.known);
  g_free (agreement.agreement);
  return ok;
}

const TdAxisMethodKind td_axis_overlap = {
  .name = N_ ("overlap"),
  .title = N_ ("Overlap of opposite views"),
  .unsuited = axis_overlap_unsuited,
  .find = axis_overlap_find,
};
