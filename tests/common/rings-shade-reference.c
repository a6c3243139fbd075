/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "rings-shade-reference.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "compute/device/host.h"
#include "dataset/sort.h"
#include "compute/prepare/rings/rings-offsets.h"
#include "rings-slopes-reference.h"

#define ROUNDS 3
#define REWEIGHTINGS 4
#define AROUND 32    /* columns that offsets are compared over */
#define DRAWS 4      /* rows of random offsets that say how steep shade is */
#define STEEPEST 8.0 /* times as steep as these are usually */
#define LEAK 2e-3    /* in -log, what objects leave in offsets */
#define ERROR 0.1    /* of that which slopes are wrong by at least */
#define BESIDE 2     /* times a slope's columns that are as bad as one that is too steep */
#define NO_AIR 4.0   /* times as much as offsets of that size */

/* ── How steep shade is ── */

/* Takes out of @offsets what td_rings_offsets() finds. */
static void
leave_shade (double *offsets, guint n, double reach)
{
  g_autofree double *memory = g_new (double, 4 * (gsize) n);
  double *values = memory, *weights = memory + n, *stiffness = memory + 2 * (gsize) n;
  double *found = memory + 3 * (gsize) n;

  for (guint c = 0; c < n; c++) {
    values[c] = 2 * offsets[c] - offsets[c > 0 ? c - 1 : 0] - offsets[MIN (c + 1, n - 1)];
    weights[c] = 1;
    stiffness[c] = pow (reach, -4);
  }
  td_rings_solve (values, weights, stiffness, n, found);
  for (guint c = 0; c < n; c++)
    offsets[c] -= found[c];
}

/* Root of the mean square around each of @n places. */
static void
find_sizes (const double *values, guint n, double *sizes)
{
  g_autofree double *sums = g_new (double, n + 1);

  sums[0] = 0;
  for (guint c = 0; c < n; c++)
    sums[c + 1] = sums[c] + values[c] * values[c];
  for (guint c = 0; c < n; c++) {
    guint from = c > AROUND ? c - AROUND : 0, end = MIN (c + AROUND + 1, n);
    sizes[c] = sqrt (MAX (0, sums[end] - sums[from]) / (end - from));
  }
}

/* As steep as what random offsets of these @sizes leave, around each place. */
static void
find_tallest (const TdReferenceSlopes *lines, const double *sizes, double reach, double *tallest)
{
  guint n = lines->turn.n_columns, n_slopes = lines->n_slopes;
  g_autoptr (GRand) random = g_rand_new_with_seed (1);
  g_autofree double *drawn = g_new (double, n);
  g_autofree double *means = g_new0 (double, n_slopes);

  for (guint i = 0; i < DRAWS; i++) {
    for (guint c = 0; c < n; c++)
      drawn[c] = sizes[c] * g_rand_double_range (random, -1, 1) * sqrt (3);
    leave_shade (drawn, n, reach);
    td_reference_slopes_of_rings (lines, drawn, lines->rings);
    for (guint s = 0; s < n_slopes; s++)
      for (guint d = 0; d < TD_REFERENCE_DIRECTIONS; d++)
        means[s]
            += pow (lines->rings[(gsize) d * n_slopes + s], 2) / (DRAWS * TD_REFERENCE_DIRECTIONS);
  }
  for (guint s = 0; s < n_slopes; s++)
    means[s] = sqrt (means[s]);
  find_sizes (means, n_slopes, tallest);
}

/* ── What all directions agree upon ── */

/* A robust mean (Geman and McClure's weights), and the standard error if every direction were one
 * value. */
static double
rings_shade_agree (float *values, guint n, double *error)
{
  g_autofree float *spare = g_memdup2 (values, n * sizeof *values);
  double mean = td_median (spare, n);

  for (guint i = 0; i < n; i++)
    spare[i] = fabs (values[i] - mean);
  double deviation = 1.4826 * td_median (spare, n);
  *error = deviation / sqrt (TD_REFERENCE_DIRECTIONS);
  for (guint i = 0; i < REWEIGHTINGS && deviation > 0; i++) {
    double sum = 0, weights = 0;
    for (guint k = 0; k < n; k++) {
      double apart = (values[k] - mean) / (2 * deviation), far = 1 + apart * apart;
      double weight = 1 / (far * far);
      sum += weight * values[k];
      weights += weight;
    }
    mean = sum / weights;
  }
  return mean;
}

typedef struct {
  const TdReferenceSlopes *lines;
  const double *tallest;
  double *common, *weights;
  guint8 *impossible;
} Common;

static void
find_common_at (guint s, gpointer user)
{
  const Common *all = user;
  const TdReferenceSlopes *lines = all->lines;
  const guint n = lines->n_slopes, beside = lines->lag, width = 2 * beside + 1;
  g_autofree float *values = g_new (float, (gsize) TD_REFERENCE_DIRECTIONS *width);
  guint count = 0;

  for (guint i = s > beside ? s - beside : 0; i <= MIN (s + beside, n - 1); i++)
    for (guint d = 0; d < TD_REFERENCE_DIRECTIONS; d++)
      values[count++] = lines->slopes[(gsize) d * n + i] - lines->rings[(gsize) d * n + i];
  double error, usual = all->tallest[s];
  all->common[s] = rings_shade_agree (values, count, &error);
  all->impossible[s] = !(fabs (all->common[s]) < STEEPEST * usual);
  all->weights[s] = 1 / (error * error + ERROR * ERROR * usual * usual) / width;
}

/* What is left of slopes once those of @lines->rings are taken out, and what they count: 0 where no
   shade can be as steep. */
static void
rings_shade_find_common (const TdReferenceSlopes *lines, const double *tallest, double *common,
                         double *weights)
{
  guint n = lines->n_slopes, beside = lines->lag;
  g_autofree guint8 *impossible = g_new (guint8, n);
  Common all = { lines, tallest, common, weights, impossible };

  td_parallel_for (n, find_common_at, &all);
  for (guint s = 0; s < n; s++)
    for (guint i = s > BESIDE * beside ? s - BESIDE * beside : 0;
         i <= MIN (s + BESIDE * beside, n - 1) && impossible[s]; i++)
      weights[i] = 0;
}

/* Solves a x = b, a symmetric and positive, of which the lower half is used up; x replaces b. */
static void
rings_shade_solve (double *a, double *b, guint n)
{
  for (guint i = 0; i < n; i++) {
    double *row = a + (gsize) i * n;
    for (guint j = 0; j <= i; j++) {
      const double *other = a + (gsize) j * n;
      double sum = row[j];
      for (guint k = 0; k < j; k++)
        sum -= row[k] * other[k];
      row[j] = j < i ? sum / other[j] : sqrt (MAX (sum, DBL_MIN));
    }
    double sum = b[i];
    for (guint k = 0; k < i; k++)
      sum -= row[k] * b[k];
    b[i] = sum / row[i];
  }
  for (guint i = n; i-- > 0;) {
    b[i] /= a[(gsize) i * n + i];
    for (guint k = 0; k < i; k++)
      b[k] -= a[(gsize) i * n + k] * b[i];
  }
}

/* ── What is known besides ── */

/* Offsets show in columns that see nothing but air all the time. */
typedef struct {
  guint left, right; /* columns of air at the row's ends */
  double level;      /* of air, which is not nothing where the flats had another exposure */
} Air;

/* The columns from one end on, until those around are not what offsets make. */
static guint
count_air (const TdReferenceShade *shade, const double *sizes, gboolean right)
{
  guint n = shade->turn.n_columns, count = 0;
  double sum = 0;

  for (; count < n / 4; count++) {
    guint c = right ? n - 1 - count : count;
    double value = shade->sums[c] / shade->n_views;
    sum += value
           - (count >= TD_REFERENCE_KNOTS
                  ? shade->sums[right ? c + TD_REFERENCE_KNOTS : c - TD_REFERENCE_KNOTS]
                        / shade->n_views
                  : 0);
    guint of = MIN (count + 1, TD_REFERENCE_KNOTS);
    if (fabs (value) > NO_AIR * sizes[c] || fabs (sum / of) > 0.75 * NO_AIR * sizes[c] / sqrt (of))
      break;
  }
  return count > TD_REFERENCE_KNOTS ? count - TD_REFERENCE_KNOTS : 0;
}

static double
mean_at (const TdReferenceShade *shade, guint c)
{
  return shade->sums[c] / shade->n_views;
}

static Air
find_air (const TdReferenceShade *shade, const double *sizes)
{
  guint n = shade->turn.n_columns, count = 0;
  Air air = { count_air (shade, sizes, FALSE), count_air (shade, sizes, TRUE), 0 };
  double sum = 0, size = 0;

  for (guint c = 0; c < n; c++) {
    if ((c >= air.left && c + air.right < n) || shade->dead[c])
      continue;
    sum += mean_at (shade, c);
    size += sizes[c];
    count++;
  }
  if (count > 0 && fabs (sum) > NO_AIR * size / sqrt (count))
    air.level = sum / count;
  return air;
}

/* An equation more for the knots: @weight (sum of @row times knots - @value)^2. */
static void
add_equation (double *a, double *b, guint n, const double *row, double value, double weight)
{
  for (guint i = 0; i < n; i++) {
    if (row[i] == 0)
      continue;
    b[i] += weight * row[i] * value;
    for (guint k = 0; k <= i; k++)
      a[(gsize) i * n + k] += weight * row[i] * row[k];
  }
}

/* Equations of the air and of the moment, which stay the same. */
static void
add_known (const TdReferenceShade *shade, const Air *air, const float *offsets, double *a,
           double *b, guint n_knots)
{
  guint n = shade->turn.n_columns;
  g_autofree double *row = g_new0 (double, n_knots), *moments = g_new0 (double, n_knots);
  gboolean all = TRUE; /* the moment is that of all columns */
  double moment = shade->moment, weight = 1 / (TD_REFERENCE_KNOTS * LEAK * LEAK);

  for (guint c = 0; c < n; c++) {
    guint knot = c / TD_REFERENCE_KNOTS;
    double along = (c % TD_REFERENCE_KNOTS) / (double) TD_REFERENCE_KNOTS,
           arm = c - shade->turn.axis;
    all = all && !shade->dead[c];
    moment -= arm * offsets[c];
    moments[knot] += (1 - along) * arm;
    moments[knot + 1] += along * arm;
    if ((c >= air->left && c + air->right < n) || shade->dead[c])
      continue;
    row[knot] = 1 - along;
    row[knot + 1] = along;
    add_equation (a, b, n_knots, row, mean_at (shade, c) - air->level - offsets[c], weight);
    row[knot] = row[knot + 1] = 0;
  }
  if (all && isfinite (shade->moment_error))
    add_equation (a, b, n_knots, moments, moment, pow (shade->moment_error, -2));
}

/* The likeliest @knots: what is left of slopes against what offsets of that size leave, and what is
 * @known. */
static void
move_knots (const TdReferenceSlopes *lines, const double *common, const double *weights,
            const double *known, double *knots)
{
  guint n = lines->n_knots;
  g_autofree double *a = g_memdup2 (known, (gsize) n * n * sizeof *known);
  g_autofree double *b = g_memdup2 (known + (gsize) n * n, n * sizeof *known);

  for (guint s = 0; s < lines->n_slopes; s++) {
    const double *response = lines->response + (gsize) s * n;
    double slope = common[s];
    if (weights[s] == 0)
      continue;
    for (guint k = 0; k < n; k++)
      slope += response[k] * knots[k];
    for (guint i = 0; i < n; i++) {
      double weighted = weights[s] * response[i];
      b[i] += weighted * slope;
      for (guint k = 0; k <= i; k++)
        a[(gsize) i * n + k] += weighted * response[k];
    }
  }
  rings_shade_solve (a, b, n);
  memcpy (knots, b, n * sizeof *knots);
}

static void
join_knots (const TdReferenceSlopes *lines, const double *knots, double *offsets)
{
  for (guint c = 0; c < lines->turn.n_columns; c++) {
    double along = (c % TD_REFERENCE_KNOTS) / (double) TD_REFERENCE_KNOTS;
    offsets[c]
        = (1 - along) * knots[c / TD_REFERENCE_KNOTS] + along * knots[c / TD_REFERENCE_KNOTS + 1];
  }
}

/* ── All of it ── */

/* The filtered row without @offsets; dead columns take the straight line between their neighbours.
 */
static float *
rings_shade_prepare (const TdReferenceSlopes *lines, const TdReferenceShade *shade,
                     const float *offsets)
{
  guint n = shade->turn.n_columns, n_bins = shade->turn.n_bins;
  float *rows = g_memdup2 (shade->sinogram, (gsize) n_bins * n * sizeof *rows);

  for (guint b = 0; b < n_bins; b++) {
    float *row = rows + (gsize) b * n;
    for (guint c = 0; c < n; c++)
      row[c] -= offsets[c];
    for (guint c = 1, end; c + 1 < n; c = end + 1) {
      for (end = c; end + 1 < n && shade->dead[end]; end++)
        continue;
      for (guint i = c; i < end; i++)
        row[i] = row[c - 1] + (row[end] - row[c - 1]) * (i - c + 1) / (end - c + 1);
    }
  }
  td_reference_slopes_filter (lines, rows, n_bins);
  return rows;
}

void
td_reference_add_shade (const TdReferenceShade *shade, float *offsets)
{
  guint n = shade->turn.n_columns;
  g_auto (TdReferenceSlopes) lines = { 0 };

  if (!td_reference_slopes_init (&lines, &shade->turn))
    return;
  g_autofree float *rows = rings_shade_prepare (&lines, shade, offsets);
  g_autofree double *found = g_new0 (double, n), *sizes = g_new (double, n);
  g_autofree double *common = g_new (double, lines.n_slopes),
                    *weights = g_new (double, lines.n_slopes);
  g_autofree double *tallest = g_new (double, lines.n_slopes);
  g_autofree double *knots = g_new0 (double, lines.n_knots);
  g_autofree double *known = g_new0 (double, (gsize) lines.n_knots *(lines.n_knots + 1));
  td_reference_slopes_of_rows (&lines, rows);
  for (guint c = 0; c < n; c++)
    found[c] = offsets[c];
  find_sizes (found, n, sizes);
  find_tallest (&lines, sizes, shade->reach, tallest);
  for (guint k = 0; k < lines.n_knots; k++)
    known[(gsize) k * lines.n_knots + k]
        = 1
          / (pow (sizes[MIN (k * TD_REFERENCE_KNOTS, n - 1)], 2) / TD_REFERENCE_KNOTS
             + LEAK * LEAK);
  const Air air = find_air (shade, sizes);
  add_known (shade, &air, offsets, known, known + (gsize) lines.n_knots * lines.n_knots,
             lines.n_knots);
  memset (lines.rings, 0, (gsize) TD_REFERENCE_DIRECTIONS * lines.n_slopes * sizeof *lines.rings);
  for (guint i = 0; i < ROUNDS; i++) {
    rings_shade_find_common (&lines, tallest, common, weights);
    move_knots (&lines, common, weights, known, knots);
    join_knots (&lines, knots, found);
    if (i + 1 < ROUNDS)
      td_reference_slopes_of_rings (&lines, found, lines.rings);
  }
  for (guint c = 0; c < n; c++)
    offsets[c] += shade->dead[c] ? 0 : (float) found[c];
}
