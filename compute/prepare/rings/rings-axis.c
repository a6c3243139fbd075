/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "rings-axis.h"

#include <math.h>

#define N TD_RINGS_AXIS_MODES
#define LEAST_ERROR 0.02 /* columns, whatever the offsets are */
#define LEAST_COLUMNS 16
#define BEYOND 1.0       /* steps from a view that another is continued for */
#define SURE 4.0         /* standard deviations within which the axis is looked for */
#define TELLING 2.0      /* times the slopes of what should not be there */
#define BROADEST 16      /* columns apart that differences are smoothed over */
#define ENDS 8           /* columns: offsets average out; */
#define NARROWEST_END 32 /* no more than one in so many columns */
#define CUT_OFF                                                                                    \
  0.05 /* of the largest column: an object that is that much at the detector's ends goes on */

static double
rings_axis_mode_at (guint mode, double angle)
{
  return mode == 0 ? 1 : mode == 1 ? cos (angle) : sin (angle);
}

void
td_rings_axis_table (const double *angles_rad, guint n_views, float *table)
{
  for (guint mode = 0; mode < N; mode++)
    for (guint view = 0; view < n_views; view++)
      table[(gsize) mode * n_views + view] = (float) rings_axis_mode_at (mode, angles_rad[view]);
}

/* Whether the object ends within the detector, from its sum over all views. */
static gboolean
rings_axis_is_whole (const float *sums, guint n, double offsets)
{
  guint few = CLAMP (n / NARROWEST_END, 1, ENDS);
  float most = 0, left = 0, right = 0;

  for (guint c = 0; c < few; c++) {
    left += sums[c] / few;
    right += sums[n - 1 - c] / few;
  }
  for (guint c = 0; c < n; c++)
    most = MAX (most, fabsf (sums[c]));
  return MAX (fabsf (left), fabsf (right)) <= CUT_OFF * most + SURE * offsets / sqrt (few);
}

/* a[][N] is the right side; the solution's first element, NAN if the angles do not tell it. */
static double
first_unknown (double a[N][N + 1])
{
  for (guint i = N; i-- > 0;) {
    if (!(a[i][i] > 1e-9 * a[0][0]))
      return NAN;
    for (guint k = 0; k < i; k++) {
      double factor = a[k][i] / a[i][i];
      for (guint j = 0; j <= N; j++)
        a[k][j] -= factor * a[i][j];
    }
  }
  return a[0][N] / a[0][0];
}

TdRingsAxis
td_rings_axis (const float *modes, guint n_columns, const double *angles_rad, guint n_views,
               double offsets)
{
  static const TdRingsAxis unknown = { NAN, NAN, 0 };
  double a[N][N + 1] = { { 0 } }, mass = 0, arms = 0, middle = 0.5 * (n_columns - 1);

  if (!rings_axis_is_whole (modes, n_columns, offsets * n_views))
    return unknown;
  for (guint view = 0; view < n_views; view++) {
    double at[N];
    for (guint i = 0; i < N; i++)
      at[i] = rings_axis_mode_at (i, angles_rad[view]);
    for (guint i = 0; i < N; i++)
      for (guint j = 0; j < N; j++)
        a[i][j] += at[i] * at[j];
  }
  for (guint c = 0; c < n_columns; c++) {
    mass += (double) modes[c] / n_views;
    arms += (c - middle) * (c - middle);
    for (guint i = 0; i < N; i++)
      a[i][N] += (c - middle) * modes[(gsize) i * n_columns + c];
  }
  if (!(mass > 0))
    return unknown;
  double axis = middle + first_unknown (a) / mass,
         error = hypot (LEAST_ERROR, offsets * sqrt (arms) / mass);
  return axis >= 0 && axis <= n_columns - 1 ? (TdRingsAxis) { axis, error, mass } : unknown;
}

/* ── Views half a turn apart ── */

/* The neighbours that @angle lies between, or next to; FALSE: it is further away than a view's
 * step. */
static gboolean
find_views (const double *angles_rad, guint n_views, double angle, guint *view, double *further)
{
  double nearest = INFINITY;

  for (guint i = 0; i + 1 < n_views; i++) {
    double step = angles_rad[i + 1] - angles_rad[i], along = (angle - angles_rad[i]) / step;
    double beyond = MAX (MAX (-along, along - 1), 0);
    if (step != 0 && beyond < nearest) {
      nearest = beyond;
      *view = i;
      *further = along;
    }
  }
  return nearest <= BEYOND;
}

guint
td_rings_axis_pairs (const double *angles_rad, guint n_views, TdRingsPair *pairs)
{
  guint count = 0;

  if (n_views < 2)
    return 0;
  double range = angles_rad[n_views - 1] - angles_rad[0], half = range < 0 ? -G_PI : G_PI;
  guint most = fabs (range) > 1.05 * G_PI ? TD_RINGS_AXIS_PAIRS : 1;
  for (guint i = 0; i < most; i++) {
    TdRingsPair *pair = &pairs[count];
    double angle = angles_rad[0] + (range - half) * (i + 0.5) / most;
    count += find_views (angles_rad, n_views, angle, &pair->views[0], &pair->further[0])
             && find_views (angles_rad, n_views, angle + half, &pair->views[1], &pair->further[1]);
  }
  return count;
}

static void
rings_axis_subtract (const TdRingsPair *pair, const float *views, gsize n, double *difference)
{
  for (gsize c = 0; c < n; c++)
    difference[c] = (1 - pair->further[0]) * views[c] + pair->further[0] * views[n + c]
                    - (1 - pair->further[1]) * views[2 * n + c]
                    - pair->further[1] * views[3 * n + c];
}

/* A binomial of three columns, so far apart. */
static void
rings_axis_smooth (double *values, guint n, guint apart)
{
  g_autofree double *sharp = g_memdup2 (values, n * sizeof *values);

  for (guint c = 0; c < n; c++)
    values[c]
        = 0.25 * (sharp[c > apart ? c - apart : 0] + 2 * sharp[c] + sharp[MIN (c + apart, n - 1)]);
}

typedef struct {
  const double *differences; /* [pair][n] */
  guint n, n_pairs;
} Differences;

/* Mean squares of what is not mirrored about @axis, and of the slopes of that and of what is. */
typedef struct {
  double apart, slopes_apart, slopes_alike;
} Mirrored;

static Mirrored
rings_axis_mirror (const Differences *all, double axis)
{
  Mirrored sums = { 0, 0, 0 };
  guint count = 0;

  for (guint k = 0; k < all->n_pairs; k++) {
    const double *values = all->differences + (gsize) k * all->n;
    double last_apart = 0, last_alike = 0;
    gboolean begun = FALSE;
    for (guint c = 0; c < all->n; c++) {
      double at = 2 * axis - c;
      if (at < 0 || at >= all->n - 1)
        continue;
      guint left = (guint) at;
      double other = values[left] + (at - left) * (values[left + 1] - values[left]);
      double apart = values[c] + other, alike = values[c] - other;
      sums.apart += apart * apart;
      if (begun) {
        sums.slopes_apart += pow (apart - last_apart, 2);
        sums.slopes_alike += pow (alike - last_alike, 2);
        count++;
      }
      last_apart = apart;
      last_alike = alike;
      begun = TRUE;
    }
  }
  count = MAX (count, 1);
  return (Mirrored) { sums.apart / count, sums.slopes_apart / count, sums.slopes_alike / count };
}

#define SUMS 8 /* side by side, for vectors */

/* rings_axis_mirror()'s first alone, which searches ask most of the time. */
static double
rings_axis_apart (const Differences *all, double axis)
{
  const gint64 whole = (gint64) floor (2 * axis), n = all->n;
  const double along = 2 * axis - whole;
  /* columns c whose mirror image whole - c + along lies between two others */
  const gint64 first = MAX (0, whole - (n - 2)), end = MIN (n, whole + 1);
  double sum = 0;

  for (guint k = 0; k < all->n_pairs; k++) {
    const double *values = all->differences + (gsize) k * all->n;
    double sums[SUMS] = { 0 };
    gint64 c = first;
    for (; c + SUMS <= end; c += SUMS)
      for (guint l = 0; l < SUMS; l++) {
        const double *other = values + (whole - c - l);
        const double apart = values[c + l] + other[0] + along * (other[1] - other[0]);
        sums[l] += apart * apart;
      }
    for (; c < end; c++) {
      const double *other = values + (whole - c);
      const double apart = values[c] + other[0] + along * (other[1] - other[0]);
      sum += apart * apart;
    }
    for (guint l = 0; l < SUMS; l++)
      sum += sums[l];
  }
  return end > first + 1 ? sum / ((double) (end - first - 1) * all->n_pairs) : INFINITY;
}

/* The likeliest axis within @reach of @axis, to a grain of it. */
static double
rings_axis_search (const Differences *all, double axis, double reach, guint grains)
{
  double best = axis, least = INFINITY;

  for (int i = -(int) grains; i <= (int) grains; i++) {
    double at = axis + reach * i / grains, apart = rings_axis_apart (all, at);
    if (apart < least) {
      least = apart;
      best = at;
    }
  }
  return best;
}

/* The likeliest axis and its error, infinite if there is nothing to tell it. @together: columns
   that noise makes wrong together. */
static TdRingsAxis
rings_axis_look (const Differences *all, double axis, double reach, double together)
{
  double best = rings_axis_search (all, axis, reach, (guint) ceil (2 * reach));

  best = rings_axis_search (all, rings_axis_search (all, best, 0.5, 5), 0.1, 5);
  Mirrored found = rings_axis_mirror (all, best);
  /* What is alike has the slopes of noise in it, too: these move nothing. */
  double told = found.slopes_alike - TELLING * found.slopes_apart;
  if (told <= 0 || fabs (best - axis) >= reach)
    return (TdRingsAxis) { axis, INFINITY, 0 };
  return (TdRingsAxis) { best, sqrt (together * found.apart / (told * all->n_pairs * all->n)), 0 };
}

TdRingsAxis
td_rings_axis_refine (TdRingsAxis axis, const TdRingsPair *pairs, guint n_pairs, const float *views,
                      guint n_columns)
{
  gsize n = n_columns;
  g_autofree double *differences = g_new (double, MAX (n_pairs, 1) * n);
  const Differences all = { differences, n_columns, n_pairs };
  double reach = CLAMP (SURE * axis.error, 1, n / 8.0), spread = 0;
  TdRingsAxis best = { axis.axis, INFINITY, 0 };

  if (n_pairs == 0 || n < LEAST_COLUMNS || !isfinite (axis.axis))
    return axis;
  for (guint k = 0; k < n_pairs; k++)
    rings_axis_subtract (&pairs[k], views + 4 * k * n, n, differences + k * n);
  /* As broadly smoothed as the noise wants. */
  for (guint apart = 1; apart <= BROADEST && apart < n / 8; apart *= 2) {
    for (guint k = 0; k < n_pairs; k++)
      rings_axis_smooth (differences + k * n, n_columns, apart);
    spread += 0.5 * apart * apart;
    TdRingsAxis found = rings_axis_look (&all, axis.axis, reach, 2 * sqrt (G_PI * spread));
    best = found.error < best.error ? found : best;
  }
  if (!isfinite (best.error))
    return axis;
  double own = 1 / (best.error * best.error + LEAST_ERROR * LEAST_ERROR),
         before = pow (axis.error, -2);
  return (TdRingsAxis) { (own * best.axis + before * axis.axis) / (own + before),
                         pow (own + before, -0.5), axis.mass };
}

double
td_rings_axis_moment (TdRingsAxis mass, TdRingsAxis axis)
{
  return mass.mass * (mass.axis - axis.axis);
}

double
td_rings_axis_moment_error (TdRingsAxis mass, TdRingsAxis axis)
{
  return axis.error < 0.5 * mass.error ? mass.mass * axis.error : INFINITY;
}
