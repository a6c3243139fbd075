/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "rings-edges.h"

#include <math.h>
#include <string.h>

#include "dataset/sort.h"
#include "rings-disc.h"
#include "rings-offsets.h"

#define MAX_DISCS 8
#define SHIFTS 16  /* places in a column */
#define STEP 4     /* of them, to the next place where edges are looked for at first */
#define REACH 12   /* columns on either side of an edge that are compared with its shape */
#define WIDE 8.0   /* what is smooth over so many columns is no edge */
#define NARROW 4.0 /* enough of those that stand out far: less else is in it */
#define FAR_OUT                                                                                    \
  80.0 /* columns times standard deviations that an edge stands out by: what is looked at */
#define LINE 160       /* columns in which shapes are made */
#define STANDS_OUT 5.0 /* standard deviations of the profile, of both edges in the mean */
#define UNLIKE_ANY 0.9 /* likeness that rings and noise do not come to, however large they are */
#define LIKENESS 0.5   /* part of the profile's energy there that the shape explains, likewise */
#define EACH 0.7       /* of both, that each edge has at least */
#define RATIO                                                                                      \
  0.5 /* of one edge's amplitude to the other's, and of what is near an edge to all of it */
#define OFF_AXIS 0.75 /* columns by which a disc's middle may miss the axis */
#define LEAST_AXIS_ERROR 0.02
#define SURE 3.0     /* standard deviations of the axis' error */
#define SMALLEST 1.5 /* radius */
#define SMALL 10.0   /* a disc of this radius has edges of its own */
#define LEAST 1e-5   /* quieter edges do no harm */
#define WRONG 0.1    /* what of a disc's second difference may be wrong */
#define STEEP 2.5    /* columns about an edge */
#define AT_ENDS 3.0  /* columns of a row's ends, where an edge may not show */
#define FINER 0.5    /* of the reach, that is taken off in rows half as wide as TD_RINGS_NARROW */
#define WORSE 2.0    /* times the squares about a disc's edges before it is taken, at most */
#define CONSISTENCY 2.0 /* an edge is that many times what the parts of the turn differ by */

/* A profile, and what td_rings_solve() makes of its values where that goes so far. */
typedef struct {
  const TdRingsProfile *profile;
  double stiffness;
  double *weights, *factors; /* td_rings_factor()'s */
  double *values;
  double deviation;
} Seen;

#define SEEN_DOUBLES 4 /* of a column, beside the weights, which all looks share */

static void
seen_init (Seen *seen, const TdRingsProfile *profile, double reach, double *weights, double *memory)
{
  const guint n = profile->n;
  double *stiffness = memory + 3 * (gsize) n; /* the values' place, which come later */

  *seen = (Seen) { profile, pow (reach, -4), weights, memory, stiffness, 0 };
  for (guint c = 0; c < n; c++)
    stiffness[c] = seen->stiffness;
  td_rings_factor (weights, stiffness, n, memory);
}

static void
seen_look (Seen *seen)
{
  const guint n = seen->profile->n;
  g_autofree float *sizes = g_new (float, n);

  td_rings_solve_by (seen->factors, seen->profile->values, seen->weights, n, seen->values);
  for (guint c = 0; c < n; c++)
    sizes[c] = fabs (seen->values[c]);
  seen->deviation = 1.4826 * td_median (sizes, n);
}

/* sqrt (x) from 0 on, as a wide look sees it: shapes[shift][REACH + column] of an edge at
   shift / SHIFTS. */
static const double (*edge_shapes (void))[2 * REACH + 1]
{
  static double shapes[SHIFTS][2 * REACH + 1];
  static gsize done;

  if (g_once_init_enter (&done)) {
    double edge[LINE], values[LINE], ones[LINE], stiffness[LINE], seen[LINE];
    for (guint shift = 0; shift < SHIFTS; shift++) {
      for (guint i = 0; i < LINE; i++) {
        edge[i] = sqrt (MAX (0, (double) i - LINE / 2 - (double) shift / SHIFTS));
        ones[i] = 1;
        stiffness[i] = pow (WIDE, -4);
      }
      for (guint i = 0; i < LINE; i++)
        values[i] = 2 * edge[i] - edge[i > 0 ? i - 1 : 0] - edge[MIN (i + 1, LINE - 1)];
      td_rings_solve (values, ones, stiffness, LINE, seen);
      memcpy (shapes[shift], seen + LINE / 2 - REACH, sizeof shapes[shift]);
    }
    g_once_init_leave (&done, 1);
  }
  return (const double (*)[2 * REACH + 1]) shapes;
}

/* Where the profile @seen looks like an edge. */
typedef struct {
  double score;     /* amplitude of the unit shape; its deviation is that of @seen */
  double amplitude; /* of sqrt (x) */
  double likeness;
} Edge;

/* The edge at @place / SHIFTS, of what lies to its right, or to its left. */
static Edge
rings_edges_look_at (const Seen *seen, int place, gboolean right)
{
  const TdRingsProfile *profile = seen->profile;
  int column = right ? place / SHIFTS : (place + SHIFTS - 1) / SHIFTS;
  const double *shape = edge_shapes ()[abs (place - column * SHIFTS)] + REACH;
  double product = 0, norm = 0, energy = 0;

  for (int d = -REACH; d <= REACH; d++) {
    int c = right ? column + d : column - d;
    if (c < 0 || c >= (int) profile->n || profile->unknown[c])
      continue;
    product += shape[d] * seen->values[c];
    norm += shape[d] * shape[d];
    energy += seen->values[c] * seen->values[c];
  }
  if (norm <= 0 || energy <= 0)
    return (Edge) { 0, 0, 0 };
  return (Edge) { product / sqrt (norm), product / norm, product * product / (norm * energy) };
}

#define LOOKS (SHIFTS / STEP) /* of a column */

/* The shapes of a column's places side by side, for vectors, and their squares. What is odd about
   the column has the other sign in an edge of what lies to its left; what is even is the same. */
typedef struct {
  double even[REACH + 1][LOOKS], odd[REACH + 1][LOOKS], norms[LOOKS];
} Shapes;

static void
gather_shapes (Shapes *gathered)
{
  *gathered = (Shapes) { 0 };
  for (guint k = 0; k < LOOKS; k++) {
    const double *shape = edge_shapes ()[k * STEP] + REACH;
    for (int d = 0; d <= REACH; d++) {
      gathered->even[d][k] = 0.5 * (shape[d] + shape[-d]);
      gathered->odd[d][k] = 0.5 * (shape[d] - shape[-d]);
      gathered->norms[k] += shape[d] * shape[d] + (d > 0 ? shape[-d] * shape[-d] : 0);
    }
  }
}

static Edge
rings_edges_edge_of (double product, double norm, double energy)
{
  return energy <= 0 ? (Edge) { 0, 0, 0 }
                     : (Edge) { product / sqrt (norm), product / norm,
                                product * product / (norm * energy) };
}

/* rings_edges_look_at() of all places from @column on, to the left and to the right, where all
   columns about it are known. */
static void
rings_edges_look_all (const Seen *seen, const Shapes *shapes, guint column, Edge looks[2][LOOKS])
{
  const double *values = seen->values + column, *norms = shapes->norms;
  double even[LOOKS], odd[LOOKS] = { 0 }, energy = values[0] * values[0];

  for (guint k = 0; k < LOOKS; k++)
    even[k] = shapes->even[0][k] * values[0];
  for (int d = 1; d <= REACH; d++) {
    const double sum = values[d] + values[-d], difference = values[d] - values[-d];
    energy += 0.5 * (sum * sum + difference * difference);
    for (guint k = 0; k < LOOKS; k++) {
      even[k] += shapes->even[d][k] * sum;
      odd[k] += shapes->odd[d][k] * difference;
    }
  }
  for (guint k = 0; k < LOOKS; k++) {
    looks[0][k] = rings_edges_edge_of (even[k] + odd[k], norms[k], energy);
    looks[1][k] = rings_edges_edge_of (even[k] - odd[k], norms[k], energy);
  }
}

/* All places of the profile: edges[0] of what lies to their right, edges[1] to their left. */
static void
rings_edges_scan (const Seen *seen, Edge *edges[2])
{
  const TdRingsProfile *profile = seen->profile;
  const int n = profile->n, last = (n - 1) * LOOKS;
  Shapes shapes;

  gather_shapes (&shapes);
  for (int column = 0, known = 0, end = 0; column < n; column++) {
    Edge looks[2][LOOKS];
    for (; end < n && end <= column + REACH; end++)
      known = profile->unknown[end] ? 0 : known + 1;
    const gboolean all = column + REACH < n && known > 2 * REACH;
    if (all)
      rings_edges_look_all (seen, &shapes, column, looks);
    for (int side = 0; side < 2; side++)
      for (int k = 0; k < LOOKS; k++) {
        const int at = column * LOOKS + (side == 0 ? k : -k);
        if (at >= 0 && at <= last)
          edges[side][at] = all ? looks[side][k] : rings_edges_look_at (seen, at * STEP, side == 0);
      }
  }
}

/* By @least, or by its looks. In few columns the edges of a disc are most of what there is, and the
   deviation is theirs. */
static gboolean
edge_stands_out (const Edge *edge, double least)
{
  const double score = fabs (edge->score);

  return score >= least || (score >= LEAST && edge->likeness >= UNLIKE_ANY);
}

/* Places of @edges that are edges of their own. */
static guint
rings_edges_choose (const Edge *edges, guint n, double least, guint *chosen)
{
  guint count = 0;

  for (guint i = 1; i + 1 < n; i++)
    if (edges[i].likeness >= EACH * LIKENESS && edge_stands_out (&edges[i], EACH * least)
        && fabs (edges[i].score) >= fabs (edges[i - 1].score)
        && fabs (edges[i].score) > fabs (edges[i + 1].score))
      chosen[count++] = i * STEP;
  return count;
}

/* The columns about one. */
typedef struct {
  int first;
  double weights[LINE], factors[3 * LINE];
} About;

static void
look_about (const Seen *seen, int column, About *about)
{
  const TdRingsProfile *profile = seen->profile;
  const int n = profile->n;
  double stiffness[LINE];

  about->first = column - LINE / 2;
  for (int i = 0; i < LINE; i++) {
    const int c = about->first + i;
    about->weights[i] = c >= 0 && c < n && i > 0 && i < LINE - 1 && !profile->unknown[c];
    stiffness[i] = seen->stiffness;
  }
  td_rings_factor (about->weights, stiffness, LINE, about->factors);
}

/* How much the disc stands out from the profile there. */
static double
compare_disc (const Seen *seen, const About *about, double left, double right)
{
  const TdRingsProfile *profile = seen->profile;
  const int first = about->first, n = profile->n;
  double disc[LINE + 2], values[LINE], shape[LINE], product = 0, norm = 0;

  for (int i = 0; i < LINE + 2; i++) {
    const double c = CLAMP (first + i - 1, 0, n - 1);
    disc[i] = sqrt (MAX (0, (c - left) * (right - c)));
  }
  for (int i = 0; i < LINE; i++)
    values[i] = 2 * disc[i + 1] - disc[i] - disc[i + 2];
  td_rings_solve_by (about->factors, values, about->weights, LINE, shape);
  for (int i = LINE / 2 - REACH; i <= LINE / 2 + REACH; i++)
    if (first + i >= 0 && first + i < n && !profile->unknown[first + i]) {
      product += shape[i] * seen->values[first + i];
      norm += shape[i] * shape[i];
    }
  return norm > 0 ? fabs (product) / sqrt (norm) : 0;
}

/* All places of a profile, and those of them that are edges of their own. */
typedef struct {
  Edge *all;
  guint *chosen, n_chosen; /* places times SHIFTS */
} Edges;

static void
rings_edges_find (const Seen *seen, double least, Edges found[2])
{
  const guint n = (seen->profile->n - 1) * LOOKS + 1;

  for (guint side = 0; side < 2; side++) {
    found[side].all = g_new (Edge, n);
    found[side].chosen = g_new (guint, n);
  }
  rings_edges_scan (seen, (Edge *[2]) { found[0].all, found[1].all });
  for (guint side = 0; side < 2; side++)
    found[side].n_chosen = rings_edges_choose (found[side].all, n, least, found[side].chosen);
}

/* The disc whose weaker edge stands out most, and of such the one whose other does, to the grain of
   the first look; FALSE: none does by @least. */
static gboolean
match_edges (const TdRingsProfile *profile, const Edges *lefts, const Edges *rights, double least,
             double *left, double *right)
{
  double strongest = 0, both = 0, off_axis = MAX (OFF_AXIS, SURE * profile->axis_error);

  for (guint i = 0; i < lefts->n_chosen; i++)
    for (guint j = 0; j < rights->n_chosen; j++) {
      const guint from = lefts->chosen[i], to = rights->chosen[j];
      const Edge *a = &lefts->all[from / STEP], *b = &rights->all[to / STEP];
      double low = MIN (fabs (a->amplitude), fabs (b->amplitude));
      double high = MAX (fabs (a->amplitude), fabs (b->amplitude));
      double strength = MIN (fabs (a->score), fabs (b->score));
      double together = hypot (a->score, b->score);
      if (to <= from || a->score * b->score <= 0 || low < RATIO * high
          || (together < G_SQRT2 * least && MIN (a->likeness, b->likeness) < UNLIKE_ANY)
          || a->likeness + b->likeness < 2 * LIKENESS
          || fabs (0.5 * (from + to) / SHIFTS - profile->axis) > off_axis || strength < strongest
          || (strength == strongest && together <= both))
        continue;
      strongest = strength;
      both = together;
      *left = (double) from / SHIFTS;
      *right = (double) to / SHIFTS;
    }
  return strongest > 0;
}

/* The edge that stands out most of those that look like nothing else, where the disc's other one
   lies about a row's end or beyond. If the axis is not known, that end takes its place: the other
   edge is too far away to matter. */
static gboolean
find_edge_alone (const TdRingsProfile *profile, const Edges sides[2], double *left, double *right)
{
  const double last = profile->n - 1;
  double strongest = 0;

  for (guint is_right = 0; is_right < 2; is_right++) {
    const Edges *edges = &sides[is_right];
    const double axis = isfinite (profile->axis) ? profile->axis : is_right ? 0 : last;
    for (guint i = 0; i < edges->n_chosen; i++) {
      const Edge *edge = &edges->all[edges->chosen[i] / STEP];
      const double place = (double) edges->chosen[i] / SHIFTS, other = 2 * axis - place;
      if (edge->likeness < UNLIKE_ANY || fabs (edge->score) <= strongest
          || (other > AT_ENDS && other < last - AT_ENDS))
        continue;
      strongest = fabs (edge->score);
      *left = is_right ? other : place;
      *right = is_right ? place : other;
    }
  }
  return strongest > 0;
}

/* The small disc about the axis that explains most; FALSE: none does. */
static gboolean
find_small (const Seen *seen, double least, double *left, double *right)
{
  const TdRingsProfile *profile = seen->profile;
  int middle = (int) (profile->axis + 0.5);
  double energy = 0, most = 0;
  About about;

  look_about (seen, middle, &about);
  for (int c = MAX (middle - REACH, 0); c <= MIN (middle + REACH, (int) profile->n - 1); c++)
    energy += profile->unknown[c] ? 0 : pow (seen->values[c], 2);
  for (double radius = SMALLEST; radius < SMALL; radius += 0.25) {
    const double score
        = compare_disc (seen, &about, profile->axis - radius, profile->axis + radius);
    if (score < MAX (least, most) || score * score < LIKENESS * energy)
      continue;
    most = score;
    *left = profile->axis - radius;
    *right = profile->axis + radius;
  }
  return most > 0;
}

static gboolean
find_disc (const Seen *seen, double *left, double *right)
{
  const TdRingsProfile *profile = seen->profile;
  const double least = MAX (LEAST, STANDS_OUT * seen->deviation);
  const gboolean known = isfinite (profile->axis);
  Edges found[2];

  rings_edges_find (seen, least, found);
  const gboolean ok = (known && match_edges (profile, &found[0], &found[1], least, left, right))
                      || find_edge_alone (profile, found, left, right)
                      || (known && find_small (seen, least, left, right));
  for (guint side = 0; side < 2; side++) {
    g_free (found[side].all);
    g_free (found[side].chosen);
  }
  return ok;
}

/* That leaves least about the edges of a disc of amplitude 1, whose values are @disc. */
static double
find_amplitude (const Seen *seen, const double *disc, double left, double right)
{
  const TdRingsProfile *profile = seen->profile;
  guint n = profile->n;
  g_autofree double *values = g_new (double, n), *shape = g_new (double, n);
  double product = 0, norm = 0;

  for (guint c = 0; c < n; c++)
    values[c] = 2 * disc[c] - disc[c > 0 ? c - 1 : 0] - disc[MIN (c + 1, n - 1)];
  td_rings_solve_by (seen->factors, values, seen->weights, n, shape);
  for (guint c = 0; c < n; c++)
    if (!profile->unknown[c] && MIN (fabs (c - left), fabs (c - right)) <= REACH) {
      product += shape[c] * seen->values[c];
      norm += shape[c] * shape[c];
    }
  return norm > 0 ? product / norm : 0;
}

/* What is round about the axis is in every part of the turn. */
static gboolean
is_in_all_parts (const TdRingsProfile *profile, const TdRingsDisc *disc)
{
  double squares = 0, apart = 0;

  for (guint c = 0; profile->spreads && c < profile->n; c++)
    if (MIN (fabs (c - disc->left), fabs (c - disc->right)) < STEEP) {
      squares += disc->curvatures[c] * disc->curvatures[c];
      apart += pow (CONSISTENCY * profile->spreads[c], 2);
    }
  return squares >= apart;
}

/* Rings about the edges stay as they are, however large. A wrong disc puts edges of its own there.
 */
static gboolean
fits_edges (const TdRingsProfile *profile, const TdRingsDisc *disc, double left, double right)
{
  double before = 0, after = 0;

  for (guint c = 0; c < profile->n; c++) {
    const double found = MIN (fabs (c - left), fabs (c - right));
    const double fitted = MIN (fabs (c - disc->left), fabs (c - disc->right));
    if (profile->unknown[c] || MIN (found, fitted) >= STEEP)
      continue;
    before += pow (profile->values[c], 2);
    after += pow (profile->values[c] - disc->curvatures[c], 2);
  }
  return after <= WORSE * before;
}

/* Subtracts the disc, whose edges tell best what it is like where nothing but they stands out.
   FALSE: close by it is none, but something smooth. */
static gboolean
take_disc (TdRingsProfile *profile, const Seen *wide, const Seen *narrow, double left, double right)
{
  guint n = profile->n;
  g_autofree double *disc = g_new (double, n), *values = g_new (double, n);

  for (guint c = 0; c < n; c++)
    disc[c] = sqrt (MAX (0, (c - left) * (right - c)));
  double amplitude = find_amplitude (wide, disc, left, right);
  if (find_amplitude (narrow, disc, left, right) / amplitude < RATIO)
    return FALSE;
  double strength = fabs (amplitude) * sqrt (right - left) / narrow->deviation;
  TdRingsDisc fitted = { .left = left, .right = right, .curvatures = disc, .errors = values };
  const double reach = CLAMP (FAR_OUT / strength, NARROW, WIDE)
                       * (1 - FINER * CLAMP ((double) TD_RINGS_NARROW / n - 1, 0, 1));
  if (!td_rings_fit_disc (profile, reach, &fitted) || !is_in_all_parts (profile, &fitted)
      || !fits_edges (profile, &fitted, left, right))
    return FALSE;
  for (guint c = 0; c < n; c++) {
    profile->values[c] -= fitted.curvatures[c];
    const double error = profile->errors[c];
    const double wrong = MAX (fitted.errors[c], WRONG * fabs (fitted.curvatures[c]));
    profile->errors[c] = sqrt (error * error + wrong * wrong);
    if (MIN (fabs (c - fitted.left), fabs (c - fitted.right)) < STEEP)
      profile->edges[c] = 1;
  }
  if (isfinite (profile->axis)) {
    profile->axis = fitted.axis;
    profile->axis_error = MAX (fitted.axis_error, LEAST_AXIS_ERROR);
  }
  return TRUE;
}

void
td_rings_take_discs (TdRingsProfile *profile)
{
  const gsize n = profile->n;
  g_autofree double *memory = g_new (double, (1 + 2 * SEEN_DOUBLES) * n);
  Seen wide, narrow;
  double left = 0, right = 0;

  for (guint c = 0; c < n; c++)
    memory[c] = !profile->unknown[c];
  seen_init (&wide, profile, WIDE, memory, memory + n);
  for (guint i = 0; i < MAX_DISCS; i++) {
    seen_look (&wide);
    if (!find_disc (&wide, &left, &right))
      break;
    if (i == 0)
      seen_init (&narrow, profile, NARROW, memory, memory + (1 + SEEN_DOUBLES) * n);
    seen_look (&narrow);
    if (!take_disc (profile, &wide, &narrow, left, right))
      break;
  }
}
