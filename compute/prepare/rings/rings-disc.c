/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "rings-disc.h"

#include <float.h>
#include <math.h>

#include "rings-offsets.h"

#define LINE 160      /* columns at most that tell an edge */
#define PLACES 21     /* of an edge that are compared */
#define FIRST_REACH 1 /* columns about where an edge is at first */
#define ZOOMS 4
#define FINEST 0.02 /* columns about an edge where it need not be known better */

/* The columns about one edge, up to the disc's middle, and its places. */
typedef struct {
  int first, n;
  double weights[LINE], factors[3 * LINE]; /* td_rings_factor()'s */
  double values[LINE], left_over[LINE];    /* of the profile; what no offsets explain */
  double energy;
  guint n_known;
  double middle, reach;        /* of the places */
  double shapes[PLACES][LINE]; /* second differences of a disc of amplitude 1 */
  double products[PLACES], norms[PLACES];
  double chances[PLACES], amplitudes[PLACES];
} Edge;

static double
place_of (const Edge *edge, guint i)
{
  return edge->middle + edge->reach * ((double) i / (PLACES / 2) - 1);
}

static double
disc_at (double c, double left, double right)
{
  return sqrt (MAX (0, (c - left) * (right - c)));
}

static double
curvature_at (int c, int n, double left, double right)
{
  return 2 * disc_at (c, left, right) - disc_at (MAX (c - 1, 0), left, right)
         - disc_at (MIN (c + 1, n - 1), left, right);
}

/* What of @values no offsets explain, by its weights. */
static void
leave_over (const Edge *edge, const double *values, double *left_over)
{
  double q[LINE];

  td_rings_solve_by (edge->factors, values, edge->weights, edge->n, q);
  for (int i = 0; i < edge->n; i++)
    left_over[i] = edge->weights[i]
                   * (values[i] - 2 * q[i] + q[MAX (i - 1, 0)] + q[MIN (i + 1, edge->n - 1)]);
}

static double
rings_disc_product (const double *a, const double *b, int n)
{
  double sum = 0;

  for (int i = 0; i < n; i++)
    sum += a[i] * b[i];
  return sum;
}

static void
look_around (Edge *edge, const TdRingsProfile *profile, double reach, int first, int end)
{
  double stiffness[LINE];

  edge->first = MAX (first, 0);
  edge->n = MAX (MIN (end, (int) profile->n) - edge->first, 0);
  edge->n_known = 0;
  for (int i = 0; i < edge->n; i++) {
    edge->values[i] = profile->values[edge->first + i];
    const int c = edge->first + i;
    /* Columns at the row's own ends have second differences, too. */
    edge->weights[i] = (i > 0 || c == 0) && (i + 1 < edge->n || c + 1 == (int) profile->n)
                       && !profile->unknown[c];
    stiffness[i] = pow (reach, -4);
    edge->n_known += edge->weights[i] > 0;
  }
  td_rings_factor (edge->weights, stiffness, edge->n, edge->factors);
  leave_over (edge, edge->values, edge->left_over);
  edge->energy = rings_disc_product (edge->values, edge->left_over, edge->n);
}

/* @other: the other edge of the disc, on the right if this one is not. */
static void
try_places (Edge *edge, guint n, gboolean right, double other)
{
  double left_over[LINE];

  for (guint k = 0; k < PLACES; k++) {
    double place = place_of (edge, k);
    for (int i = 0; i < edge->n; i++)
      edge->shapes[k][i] = right ? curvature_at (edge->first + i, n, other, place)
                                 : curvature_at (edge->first + i, n, place, other);
    leave_over (edge, edge->shapes[k], left_over);
    edge->norms[k] = rings_disc_product (edge->shapes[k], left_over, edge->n);
    edge->products[k] = rings_disc_product (edge->shapes[k], edge->left_over, edge->n);
  }
}

static double
chance_at (const TdRingsProfile *profile, const Edge edges[2], guint i, guint j, double cost)
{
  double away = 0.5 * (place_of (&edges[0], i) + place_of (&edges[1], j)) - profile->axis;

  return exp (-0.5 * (cost + (isfinite (away) ? pow (away / profile->axis_error, 2) : 0)));
}

/* How likely the places of both edges are, together with each other and the axis; FALSE: no disc at
 * all. */
static gboolean
rings_disc_weigh (const TdRingsProfile *profile, Edge edges[2], double *middle_error)
{
  double costs[PLACES][PLACES], least = INFINITY, sum = 0, mean = 0, square = 0;
  int known = (int) (edges[0].n_known + edges[1].n_known) - 3;

  for (guint i = 0; i < PLACES; i++)
    for (guint j = 0; j < PLACES; j++) {
      double norm = edges[0].norms[i] + edges[1].norms[j];
      costs[i][j] = edges[0].energy + edges[1].energy
                    - pow (edges[0].products[i] + edges[1].products[j], 2) / MAX (norm, DBL_MIN);
      least = MIN (least, costs[i][j]);
    }
  if (known < 1 || !isfinite (least))
    return FALSE;
  double scale = MAX (least, DBL_MIN) / known;
  for (guint e = 0; e < 2; e++)
    for (guint i = 0; i < PLACES; i++)
      edges[e].chances[i] = edges[e].amplitudes[i] = 0;
  for (guint i = 0; i < PLACES; i++)
    for (guint j = 0; j < PLACES; j++) {
      double chance = chance_at (profile, edges, i, j, (costs[i][j] - least) / scale);
      double away = 0.5
                    * (place_of (&edges[0], i) + place_of (&edges[1], j) - edges[0].middle
                       - edges[1].middle);
      double amplitude = (edges[0].products[i] + edges[1].products[j])
                         / MAX (edges[0].norms[i] + edges[1].norms[j], DBL_MIN);
      sum += chance;
      mean += chance * away;
      square += chance * away * away;
      edges[0].chances[i] += chance;
      edges[1].chances[j] += chance;
      edges[0].amplitudes[i] += chance * amplitude;
      edges[1].amplitudes[j] += chance * amplitude;
    }
  for (guint e = 0; e < 2; e++)
    for (guint i = 0; i < PLACES; i++) {
      edges[e].amplitudes[i] /= MAX (edges[e].chances[i], DBL_MIN);
      edges[e].chances[i] /= MAX (sum, DBL_MIN);
    }
  if (sum <= 0)
    return FALSE;
  *middle_error = sqrt (MAX (0, square / sum - pow (mean / sum, 2)));
  return TRUE;
}

static double
mean_place (const Edge *edge, double *deviation)
{
  double mean = 0, square = 0;

  for (guint i = 0; i < PLACES; i++) {
    mean += edge->chances[i] * place_of (edge, i);
    square += edge->chances[i] * pow (place_of (edge, i) - edge->middle, 2);
  }
  *deviation = sqrt (MAX (0, square - pow (mean - edge->middle, 2)));
  return mean;
}

/* The disc's mean and deviation in the columns that tell an edge. */
static void
fill_in (const Edge *edge, TdRingsDisc *disc)
{
  for (int i = 0; i < edge->n; i++) {
    double mean = 0, square = 0;
    for (guint k = 0; k < PLACES; k++) {
      double value = edge->amplitudes[k] * edge->shapes[k][i];
      mean += edge->chances[k] * value;
      square += edge->chances[k] * value * value;
    }
    disc->curvatures[edge->first + i] = mean;
    disc->errors[edge->first + i] = sqrt (MAX (0, square - mean * mean));
  }
}

gboolean
td_rings_fit_disc (const TdRingsProfile *profile, double reach, TdRingsDisc *disc)
{
  g_autofree Edge *edges = g_new (Edge, 2);
  const double middle = 0.5 * (disc->left + disc->right);
  const int n = profile->n, from = (int) floor (disc->left) - LINE / 2;
  const int end = (int) ceil (disc->right) + LINE / 2 + 1;

  /* A column in the very middle is of neither side, as in a mirrored row. */
  look_around (&edges[0], profile, reach, from, MIN (from + LINE, (int) ceil (middle)));
  look_around (&edges[1], profile, reach, MAX (end - LINE, (int) floor (middle) + 1), end);
  edges[0].middle = disc->left;
  edges[1].middle = disc->right;
  edges[0].reach = edges[1].reach = FIRST_REACH;
  for (guint zoom = 0; zoom < ZOOMS; zoom++) {
    double deviations[2];
    try_places (&edges[0], n, FALSE, disc->right);
    try_places (&edges[1], n, TRUE, disc->left);
    if (!rings_disc_weigh (profile, edges, &disc->axis_error))
      return FALSE;
    disc->left = mean_place (&edges[0], &deviations[0]);
    disc->right = mean_place (&edges[1], &deviations[1]);
    if (zoom + 1 == ZOOMS)
      break;
    edges[0].middle = disc->left;
    edges[1].middle = disc->right;
    for (guint e = 0; e < 2; e++)
      edges[e].reach
          = CLAMP (4 * MAX (deviations[e], edges[e].reach / PLACES), FINEST, FIRST_REACH);
  }
  disc->axis = 0.5 * (disc->left + disc->right);
  disc->amplitude = 0;
  for (guint i = 0; i < PLACES; i++)
    disc->amplitude += edges[0].chances[i] * edges[0].amplitudes[i];
  for (int c = 0; c < n; c++) {
    disc->curvatures[c] = disc->amplitude * curvature_at (c, n, disc->left, disc->right);
    disc->errors[c] = 0;
  }
  fill_in (&edges[0], disc);
  fill_in (&edges[1], disc);
  return TRUE;
}
