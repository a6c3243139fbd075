/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "turn.h"

#include <glib/gi18n.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dataset/angles.h"
#include "dataset/sort.h"
#include "dataset/message.h"

/* A turn is whole though a wedge of so much of it is missing. */
#define SPARE 0.015
/* Steps and directions that differ by less than this part of a step are the same. */
#define SAME 0.05
/* Frames of angles that were there already, at least one of so many, are told as such. */
#define STANDING 3
/* By this part of a step a stage's steps may differ and be one step, or two, all the same. */
#define UNSTEADY 0.25
/* So many views may be lost at once, and once among so many steps. */
#define MOST_LOST 3
#define STEPS_A_GAP 20
/* Larger steps than this are no order in which to look for a direction. */
#define LARGEST_STEP_RAD (G_PI / 3)

/* Few views are far apart, but one gap of a third is none between views of a whole turn. */
static gboolean
turn_covers (const TdAngleCover *cover, double period)
{
  return cover->missing_rad <= SPARE * period && cover->largest_gap_rad < period / 3;
}

static double
step_between (double from_rad, double to_rad)
{
  return remainder (to_rad - from_rad, 2 * G_PI);
}

/* Half of the way is made by steps of this size or larger, but a gap between two parts of a turn is
   no step. */
static double
turn_usual_step (const double *angles_rad, guint n, const TdAngleCover *full)
{
  g_autofree double *sizes = g_new (double, n);
  double way = 0, made = 0;
  guint at = n - 1;

  for (guint i = 0; i + 1 < n; i++)
    way += sizes[i] = fabs (step_between (angles_rad[i], angles_rad[i + 1]));
  qsort (sizes, n - 1, sizeof *sizes, td_compare_doubles);
  while (at > 0 && made < way / 2)
    made += sizes[--at];
  return at < n - 1 ? MIN (sizes[at], full->covered_rad / (n - full->repeated)) : 0;
}

/* The angles where the stage stood, if it mostly took several frames at each; else all angles. */
static double *
turn_stops (const double *angles_rad, guint n, TdTurn *turn)
{
  double *stops = g_new (double, n);
  const gboolean stood = turn->full.repeated == n - 1;
  const double still = stood ? G_PI : SAME * turn_usual_step (angles_rad, n, &turn->full);
  guint count = 0, begin = 0;
  gboolean alike = TRUE;

  for (guint i = 0; i < n; i++) {
    if (i > 0 && fabs (step_between (stops[count - 1], angles_rad[i])) <= still)
      continue;
    alike &= count < 2 || i - begin == turn->n_frames;
    if (count == 1)
      turn->n_frames = i;
    begin = i;
    stops[count++] = angles_rad[i];
  }
  turn->n_stops = count;
  if (n - count < n / STANDING) {
    memcpy (stops, angles_rad, n * sizeof *stops);
    turn->n_stops = n;
    turn->n_frames = 1;
  } else if (count == 1)
    turn->n_frames = n;
  else if (!alike || n - begin != turn->n_frames)
    turn->n_frames = 0;
  return stops;
}

/* Steps in the shorter sense, sorted. */
static double *
sorted_steps (const double *angles_rad, guint n)
{
  double *steps = g_new (double, n);

  for (guint i = 0; i + 1 < n; i++)
    steps[i] = step_between (angles_rad[i], angles_rad[i + 1]);
  qsort (steps, n - 1, sizeof *steps, td_compare_doubles);
  return steps;
}

/* Views are lost where a step is a few usual ones, if all steps are whole ones. Of larger gaps the
   degrees are told. Where many steps are so, the stage was meant to turn so. */
static void
turn_find_lost (TdTurn *turn, const double *stops)
{
  guint gaps = 0, lost = 0;
  double first = 0;

  for (guint i = 0; i + 1 < turn->n_stops; i++) {
    const double size = step_between (stops[i], stops[i + 1]) * turn->direction / turn->step_rad;
    const double whole = round (size);

    if (whole < 1 || fabs (size - whole) > UNSTEADY)
      return;
    if (whole < 2 || whole > MOST_LOST + 1)
      continue;
    if (gaps++ == 0)
      first = stops[i] + turn->direction * turn->step_rad;
    lost += (guint) whole - 1;
  }
  if (gaps * STEPS_A_GAP > turn->n_stops)
    return;
  turn->n_lost = lost;
  turn->lost_rad = first;
}

/* Whether the last view looks where the first one did, by the same way round. */
static gboolean
comes_round (const TdTurn *turn, double period)
{
  double off = remainder (turn->last_rad - turn->first_rad, period);

  return turn->direction != 0 && turn->n_stops > 2 && fabs (off) < SAME * turn->step_rad;
}

void
td_turn_of_angles (const double *angles_rad, guint n, TdTurn *turn)
{
  g_autofree double *weights = g_new (double, n);

  *turn = (TdTurn) { .n_views = n, .first_rad = angles_rad[0], .last_rad = angles_rad[n - 1] };
  td_angular_weights (angles_rad, n, G_PI, weights, &turn->half);
  td_angular_weights (angles_rad, n, 2 * G_PI, weights, &turn->full);
  if (turn_covers (&turn->full, 2 * G_PI))
    turn->kind = TD_TURN_FULL;
  else if (turn_covers (&turn->half, G_PI))
    turn->kind = TD_TURN_HALF;

  g_autofree double *stops = turn_stops (angles_rad, n, turn);
  n = turn->n_stops;
  if (n < 2)
    return;

  g_autofree double *steps = sorted_steps (stops, n);
  const double median = steps[(n - 1) / 2];
  turn->step_rad = fabs (median);
  turn->even = steps[n - 2] - steps[0] < 2 * SAME * turn->step_rad;
  /* A few views taken again, or a stage that jitters, do not change where it turned. */
  if (turn->step_rad > 0 && turn->step_rad < LARGEST_STEP_RAD
      && steps[(n - 1) / 10] * steps[n - 2 - (n - 1) / 10] > 0)
    turn->direction = median > 0 ? 1 : -1;
  if (turn->direction != 0)
    turn_find_lost (turn, stops);
  if (turn->kind != TD_TURN_PART)
    turn->end_point = comes_round (turn, turn->kind == TD_TURN_FULL ? 2 * G_PI : G_PI);
}

const char *const td_turn_kind_names[] = { "part", "half", "full" };

/* Larger steps than this are no scan's. */
#define LARGEST_DEGREE_STEP 20

/* Whether half a turn, or a full one, has @span, or @span and a step. */
static gboolean
turn_spans (double span, double step, double half_turn)
{
  gboolean found = FALSE;

  for (guint half_turns = 1; half_turns <= 2; half_turns++) {
    const double turn = half_turns * half_turn;
    found |= fabs (span - turn) < SPARE * turn || fabs (span + step - turn) < SPARE * turn;
  }
  return found;
}

/* Whether the angles would be those of half a turn or a full one if they were not in degrees. */
static gboolean
may_be_radians (const TdTurn *turn)
{
  return turn->n_views > 8 && turn->direction != 0
         && turn_spans (td_degrees (fabs (turn->last_rad - turn->first_rad)),
                        td_degrees (turn->step_rad), G_PI);
}

/* Steps of a golden ratio, of half a turn or of a full one, this way round or that, are meant. */
static gboolean
turn_is_golden (double step_rad)
{
  static const double golden_deg[] = { 111.246, 137.508, 222.492 };

  for (guint i = 0; i < G_N_ELEMENTS (golden_deg); i++)
    if (fabs (td_degrees (step_rad) - golden_deg[i]) < 0.05)
      return TRUE;
  return FALSE;
}

/* Or if they were not in radians, of which they make many turns. */
static gboolean
may_be_degrees (const TdTurn *turn)
{
  const double span = fabs (turn->last_rad - turn->first_rad), step = span / (turn->n_views - 1);

  return turn->n_views > 8 && turn->even && step < LARGEST_DEGREE_STEP && !turn_is_golden (step)
         && turn_spans (span, step, 180);
}

/* Takes both. */
static TdMessage *
turn_add (TdMessage *text, TdMessage *part)
{
  return td_message_new ("%p%p", text, part);
}

/* Or if each of them were @unit degrees: turns are a degree in all, and thousandths come to few
   angles, time and again. Those of a golden ratio, as far apart, never do. */
static gboolean
may_be_of (const TdTurn *turn, double unit)
{
  const double span = td_degrees (fabs (turn->last_rad - turn->first_rad)) * unit;

  return turn->n_views > 8 && (unit > 1 || turn->half.repeated > turn->n_views / 2)
         && turn_spans (span, span / (turn->n_views - 1), 180);
}

/* "180 views: 3 at each of 60 angles 3° apart". Takes @text. */
static TdMessage *
turn_add_views (TdMessage *text, const TdTurn *turn)
{
  text = turn_add (text, td_message_new (turn->n_views == 1 ? N_ (", %u view") : N_ (", %u views"),
                                         turn->n_views));
  if (turn->n_views > 1 && turn->n_stops == 1)
    return turn_add (text, td_message_new_plain (", all at one angle"));
  if (turn->n_frames > 1)
    text = turn_add (text,
                     td_message_new (": %u at each of %u angles", turn->n_frames, turn->n_stops));
  else if (turn->n_frames == 0)
    text = turn_add (text, td_message_new (" at %u angles", turn->n_stops));
  if (turn->n_views > 1)
    text = turn_add (text,
                     td_message_new (turn->even ? N_ (" %.4g° apart") : N_ (", mostly %.4g° apart"),
                                     td_degrees (turn->step_rad)));
  return text;
}

TdMessage *
td_turn_message (const TdTurn *turn)
{
  static const char *const kinds[]
      = { N_ ("part of a turn"), N_ ("half a turn"), N_ ("a full turn") };
  /* What repeats: a view that comes round is told as the end point, frames of one angle as such. */
  const TdAngleCover *cover = turn->kind == TD_TURN_FULL ? &turn->full : &turn->half;
  const guint told = turn->n_views - turn->n_stops + (turn->end_point ? 1 : 0);
  const guint repeated = cover->repeated - MIN (cover->repeated, told);
  TdMessage *text = td_message_new_plain (kinds[turn->kind]);

  text = turn_add_views (text, turn);
  if (turn->direction < 0)
    text = turn_add (text, td_message_new_plain (", angles falling"));
  else if (turn->direction == 0 && turn->n_stops > 2)
    text = turn_add (text, td_message_new_plain (", in no order"));
  if (turn->kind != TD_TURN_PART && turn->direction != 0)
    text
        = turn_add (text, td_message_new_plain (turn->end_point ? N_ (", the end point included")
                                                                : N_ (", the end point left out")));
  if (repeated > 0)
    text = turn_add (text, td_message_new (repeated == 1 ? N_ (", %u view repeated")
                                                         : N_ (", %u views repeated"),
                                           repeated));
  if (turn->n_lost > 0)
    text = turn_add (text, td_message_new (turn->n_lost == 1
                                               ? N_ (", %u view missing, at %.4g°")
                                               : N_ (", %u views missing, the first at %.4g°"),
                                           turn->n_lost, td_degrees (turn->lost_rad)));
  if (cover->missing_rad > 0)
    text = turn_add (text, td_message_new (", %.4g° missing", td_degrees (cover->missing_rad)));
  if (may_be_radians (turn))
    text = turn_add (text, td_message_new_plain (": if these angles are radians, say so where they "
                                                 "are stated, or state them in degrees"));
  if (may_be_degrees (turn))
    text = turn_add (text, td_message_new (": %.0f turns; if these angles are degrees, say so "
                                           "where they are stated",
                                           fabs (turn->last_rad - turn->first_rad) / (2 * G_PI)));
  if (may_be_of (turn, 1e-3))
    text = turn_add (text, td_message_new_plain (": if these angles are thousandths of a degree, "
                                                 "say so where they are stated (mdeg), or state "
                                                 "them in degrees"));
  if (may_be_of (turn, 360))
    text = turn_add (text, td_message_new_plain (": if these angles are turns, state them in "
                                                 "degrees"));
  return text;
}

char *
td_turn_describe (const TdTurn *turn)
{
  g_autoptr (TdMessage) text = td_turn_message (turn);

  return td_message_text (text, NULL);
}
