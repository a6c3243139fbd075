/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "rings-slopes-reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compute/device/host.h"

#define LAG 3    /* columns a slope is taken over */
#define FINE 768 /* places of wider rows are LAG columns apart, else one */

/* ── Filter ── */

static void
ramp_clear (TdReferenceRamp *ramp)
{
  td_fftw_plan_free (ramp->plan);
  fftwf_free (ramp->from);
  fftwf_free (ramp->to);
  g_free (ramp->response);
}

static gboolean
ramp_init (TdReferenceRamp *ramp, guint n)
{
  for (ramp->length = 2; ramp->length < 2 * n;)
    ramp->length *= 2;
  ramp->n = n;
  ramp->plan = td_fftw_plan (ramp->length);
  ramp->from = fftwf_alloc_complex (ramp->length);
  ramp->to = fftwf_alloc_complex (ramp->length);
  if (!ramp->plan || !ramp->from || !ramp->to)
    return FALSE;
  memset (ramp->from, 0, ramp->length * sizeof *ramp->from);
  ramp->from[0][0] = 0.25f;
  for (guint i = 1; i < n; i += 2)
    ramp->from[i][0] = ramp->from[ramp->length - i][0] = (float) (-1 / (G_PI * G_PI * i * i));
  fftwf_execute_dft (ramp->plan, ramp->from, ramp->to);
  ramp->response = g_new (float, ramp->length);
  for (guint i = 0; i < ramp->length; i++)
    ramp->response[i] = ramp->to[i][0] / ramp->length;
  return TRUE;
}

/* Two rows at a time, in place; @second may be NULL. */
static void
ramp_run (const TdReferenceRamp *ramp, float *first, float *second)
{
  guint n = ramp->n, length = ramp->length;

  memset (ramp->from, 0, length * sizeof *ramp->from);
  for (guint i = 0; i < n; i++) {
    ramp->from[i][0] = first[i];
    ramp->from[i][1] = second ? second[i] : 0;
  }
  fftwf_execute_dft (ramp->plan, ramp->from, ramp->to);
  for (guint i = 0; i < length; i++) {
    ramp->to[i][0] *= ramp->response[i];
    ramp->to[i][1] *= ramp->response[i];
  }
  fftwf_execute_dft (ramp->plan, ramp->to, ramp->from);
  for (guint i = 0; i < n; i++) {
    first[i] = ramp->from[i > 0 ? length - i : 0][0];
    if (second)
      second[i] = ramp->from[i > 0 ? length - i : 0][1];
  }
}
/* ── Along radii ── */

void
td_reference_slopes_clear (TdReferenceSlopes *lines)
{
  ramp_clear (&lines->ramp);
  g_free (lines->turns);
  g_free (lines->slopes);
  g_free (lines->rings);
  g_free (lines->response);
}

static double
ramp_at (gint64 i)
{
  return i == 0 ? 0.25 : i % 2 != 0 ? -1 / (G_PI * G_PI * (double) (i * i)) : 0;
}

/* What a knot of height 1 gives once filtered, at columns 0 … n - 1 from it. */
static float *
filtered_knot (guint n)
{
  float *values = g_new (float, n);

  for (guint c = 0; c < n; c++) {
    double sum = 0;
    for (int i = 1 - TD_REFERENCE_KNOTS; i < TD_REFERENCE_KNOTS; i++)
      sum += (1 - abs (i) / (double) TD_REFERENCE_KNOTS) * ramp_at ((gint64) c - i);
    values[c] = (float) sum;
  }
  return values;
}

/* The same by how far knots are from the one at or before a column: [column %
   TD_REFERENCE_KNOTS][distance + n_knots - 1], so that what all knots give at a column lies side by
   side. Nobody asks beyond the row's width. */
static float *
filtered_knots (guint n_columns, guint n_knots)
{
  g_autofree float *knot = filtered_knot (n_columns + 2 * TD_REFERENCE_KNOTS + 2);
  float *table = g_new (float, TD_REFERENCE_KNOTS *(2 * (gsize) n_knots - 1)), *to = table;

  for (int place = 0; place < TD_REFERENCE_KNOTS; place++)
    for (int k = 1 - (int) n_knots; k < (int) n_knots; k++) {
      const guint away = (guint) abs (place - k * TD_REFERENCE_KNOTS);
      *to++ = knot[MIN (away, n_columns + 2 * TD_REFERENCE_KNOTS + 1)];
    }
  return table;
}

/* In how many of the directions a bin so far away, on either side, exists. */
static double
share_of (const TdReferenceSlopes *lines, guint apart)
{
  guint count = 0;

  for (guint d = 0; d < TD_REFERENCE_DIRECTIONS; d++)
    count += (apart <= lines->bins[d]) + (apart > 0 && apart < lines->turn.n_bins - lines->bins[d]);
  return (double) count / TD_REFERENCE_DIRECTIONS;
}

typedef struct {
  const TdReferenceSlopes *lines;
  const float *knots, *shares;
  float *places; /* [place][knot] */
} Response;

/* What knots 0, 1, … give at a column. */
static const float *
knots_at (const Response *response, guint column)
{
  const guint n_knots = response->lines->n_knots;

  return response->knots + (gsize) (column % TD_REFERENCE_KNOTS) * (2 * n_knots - 1) + n_knots - 1
         - column / TD_REFERENCE_KNOTS;
}

static void
find_response_at (guint i, gpointer user)
{
  const Response *response = user;
  const TdReferenceSlopes *lines = response->lines;
  const TdReferenceTurn *turn = &lines->turn;
  float *to = response->places + (gsize) i * lines->n_knots;

  for (guint b = 0; b < turn->n_bins; b++) {
    float s = ((float) i - lines->reach) * lines->spacing;
    float x = CLAMP ((float) turn->axis + s * lines->turns[b], 0, turn->n_columns - 1);
    const guint whole = (guint) x;
    const float share = response->shares[b], rest = x - whole;
    const float *left = knots_at (response, whole), *right = knots_at (response, whole + 1);
    for (guint k = 0; k < lines->n_knots; k++)
      to[k] += share * (left[k] + rest * (right[k] - left[k]));
  }
}

/* The mean over the directions of the slopes that knots make. */
static void
find_response (TdReferenceSlopes *lines)
{
  const TdReferenceTurn *turn = &lines->turn;
  guint n_knots = lines->n_knots;
  g_autofree float *knots = filtered_knots (turn->n_columns, n_knots),
                   *shares = g_new (float, turn->n_bins);
  g_autofree float *places = g_new0 (float, (gsize) lines->n_places *n_knots);
  Response response = { lines, knots, shares, places };
  double weight = G_PI / turn->n_bins;

  for (guint b = 0; b < turn->n_bins; b++)
    shares[b] = (float) (weight * share_of (lines, b));
  td_parallel_for (lines->n_places, find_response_at, &response);
  for (guint i = 0; i < lines->n_slopes; i++)
    for (guint k = 0; k < n_knots; k++)
      lines->response[(gsize) i * n_knots + k]
          = places[(gsize) (i + lines->lag) * n_knots + k] - places[(gsize) i * n_knots + k];
}

gboolean
td_reference_slopes_init (TdReferenceSlopes *lines, const TdReferenceTurn *turn)
{
  guint n = turn->n_columns, per_half = turn->n_bins / turn->half_turns;
  double radius = MIN (turn->axis, n - 1 - turn->axis);

  lines->turn = *turn;
  lines->spacing = n > FINE ? LAG : 1;
  lines->lag = LAG / lines->spacing;
  lines->reach = (guint) (radius / lines->spacing);
  lines->n_places = 2 * lines->reach + 1;
  if (!ramp_init (&lines->ramp, n) || lines->n_places <= lines->lag)
    return FALSE;
  lines->n_slopes = lines->n_places - lines->lag;
  lines->turns = g_new (float, turn->n_bins);
  for (guint b = 0; b < turn->n_bins; b++)
    lines->turns[b] = (float) cos (G_PI * turn->half_turns * b / turn->n_bins);
  for (guint d = 0; d < TD_REFERENCE_DIRECTIONS; d++)
    lines->bins[d] = (2 * d + 1) * per_half / (2 * TD_REFERENCE_DIRECTIONS);
  lines->slopes = g_new (float, (gsize) TD_REFERENCE_DIRECTIONS * lines->n_slopes);
  lines->rings = g_new0 (float, (gsize) TD_REFERENCE_DIRECTIONS * lines->n_slopes);
  lines->n_knots = (n - 1) / TD_REFERENCE_KNOTS + 2;
  lines->response = g_new0 (double, (gsize) lines->n_slopes * lines->n_knots);
  find_response (lines);
  return TRUE;
}

void
td_reference_slopes_filter (const TdReferenceSlopes *lines, float *rows, guint n_rows)
{
  guint n = lines->turn.n_columns;

  for (guint row = 0; row < n_rows; row += 2)
    ramp_run (&lines->ramp, rows + (gsize) row * n,
              row + 1 < n_rows ? rows + (gsize) (row + 1) * n : NULL);
}

/* Adds the filtered @row, seen at an angle of that cosine, to the places. */
static void
rings_slopes_add_row (const TdReferenceSlopes *lines, const float *row, float cosine, float *places)
{
  float step = cosine * lines->spacing, first = (float) lines->turn.axis - step * lines->reach;
  int last = lines->turn.n_columns - 2;

  for (guint i = 0; i < lines->n_places; i++) {
    float x = first + step * i;
    int left = CLAMP ((int) x, 0, last);
    places[i] += row[left] + (x - left) * (row[left + 1] - row[left]);
  }
}

static void
take_slopes (const TdReferenceSlopes *lines, const float *places, float *slopes)
{
  float weight = (float) (G_PI / lines->turn.n_bins);

  for (guint i = 0; i < lines->n_slopes; i++)
    slopes[i] = weight * (places[i + lines->lag] - places[i]);
}

typedef struct {
  const TdReferenceSlopes *lines;
  const float *sinogram;
} OfRows;

static void
find_direction (guint d, gpointer user)
{
  const OfRows *rows = user;
  const TdReferenceSlopes *lines = rows->lines;
  const TdReferenceTurn *turn = &lines->turn;
  g_autofree float *places = g_new0 (float, lines->n_places);

  for (guint b = 0; b < turn->n_bins; b++) {
    guint apart = b > lines->bins[d] ? b - lines->bins[d] : lines->bins[d] - b;
    rings_slopes_add_row (lines, rows->sinogram + (gsize) b * turn->n_columns, lines->turns[apart],
                          places);
  }
  take_slopes (lines, places, lines->slopes + (gsize) d * lines->n_slopes);
}

/* The slice's slopes, from the row without @offsets. */
void
td_reference_slopes_of_rows (const TdReferenceSlopes *lines, const float *sinogram)
{
  OfRows rows = { lines, sinogram };

  td_parallel_for (TD_REFERENCE_DIRECTIONS, find_direction, &rows);
}

/* The slopes of rings that @offsets make: bins on either side of a direction, @lines->bins[d] of
   them before it. Sums over the bins to one side serve all directions. */
void
td_reference_slopes_of_rings (const TdReferenceSlopes *lines, const double *offsets, float *slopes)
{
  const TdReferenceTurn *turn = &lines->turn;
  guint n = turn->n_columns, n_bins = turn->n_bins, np = lines->n_places;
  g_autofree float *row = g_new (float, n), *sums = g_new0 (float, (gsize) n_bins *np);
  g_autofree float *places = g_new (float, np);

  for (guint c = 0; c < n; c++)
    row[c] = (float) offsets[c];
  ramp_run (&lines->ramp, row, NULL);
  for (guint b = 0; b < n_bins; b++) {
    if (b > 0)
      memcpy (sums + (gsize) b * np, sums + (gsize) (b - 1) * np, np * sizeof *sums);
    rings_slopes_add_row (lines, row, lines->turns[b], sums + (gsize) b * np);
  }
  for (guint d = 0; d < TD_REFERENCE_DIRECTIONS; d++) {
    const float *before = sums + (gsize) lines->bins[d] * np;
    const float *after = sums + (gsize) (n_bins - 1 - lines->bins[d]) * np;
    for (guint i = 0; i < np; i++)
      places[i] = before[i] + after[i] - sums[i];
    take_slopes (lines, places, slopes + (gsize) d * lines->n_slopes);
  }
}
