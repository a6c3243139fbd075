/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A turn is described as its angles were made. */
#include <math.h>
#include <string.h>

#include "compute/engine/turn.h"
#include "tests/common/pins.h"

#define DEG (G_PI / 180)

/* n angles from @first in steps of @step degrees. */
static double *
even (guint n, double first, double step)
{
  double *angles = g_new (double, n);

  for (guint i = 0; i < n; i++)
    angles[i] = (first + i * step) * DEG;
  return angles;
}

static const struct {
  guint n;
  double first, step;
  const char *words;
} turns[] = {
  { 180, 0, 1, "half a turn, 180 views 1° apart, the end point left out" },
  { 181, 0, 1, "half a turn, 181 views 1° apart, the end point included" },
  { 91, -88.2, 2, "half a turn, 91 views 2° apart, the end point included" },
  { 360, 17, 1, "a full turn, 360 views 1° apart, the end point left out" },
  { 1801, 0, 0.2, "a full turn, 1801 views 0.2° apart, the end point included" },
  { 180, 0, -1, "half a turn, 180 views 1° apart, angles falling, the end point left out" },
  { 720, 0, 1, "a full turn, 720 views 1° apart, the end point left out, 360 views repeated" },
  { 205, 0, 1, "half a turn, 205 views 1° apart, the end point left out, 25 views repeated" },
  { 121, 0, 1, "part of a turn, 121 views 1° apart, 59° missing" },
  { 300, 0, 137.508, "a full turn, 300 views 137.5° apart, in no order" },
  { 4, 0, 45, "half a turn, 4 views 45° apart, the end point left out" },
  { 1, 20, 0, "part of a turn, 1 view" },
  { 2, 7, 4, "part of a turn, 2 views 4° apart" },
  { 2, 0, 180, "part of a turn, 2 views 180° apart, 1 view repeated" },
  /* Half a turn in thousandths of a degree, and a full one counted in turns. */
  { 61, 0, 3000,
    "part of a turn, 61 views 120° apart, in no order, 58 views repeated: if these angles are "
    "thousandths of a degree, say so where they are stated (mdeg), or state them in degrees" },
  { 60, 0, 1 / 60.0,
    "part of a turn, 60 views 0.01667° apart, 30 views repeated, 179° missing: if these angles are "
    "turns, state them in degrees" },
  { 1309, 0, 137.508, "a full turn, 1309 views 137.5° apart, in no order" },
  /* Half a turn in radians, taken for degrees, with its end point and without. */
  { 61, 0, G_PI / 60,
    "part of a turn, 61 views 0.05236° apart, 176.8° missing: if these angles are radians, "
    "say so where they are stated, or state them in degrees" },
  { 100, 1, -G_PI / 50,
    "part of a turn, 100 views 0.06283° apart, angles falling, 173.7° missing: if these "
    "angles are radians, say so where they are stated, or state them in degrees" },
  /* In degrees, taken for radians; no golden ratio is. */
  { 180, 0, 180 / G_PI,
    "a full turn, 180 views 57.3° apart, the end point left out: 28 turns; if these angles are "
    "degrees, say so where they are stated" },
  { 91, 0, 360 / G_PI,
    "a full turn, 91 views 114.6° apart, in no order: 29 turns; if these angles are degrees, say "
    "so where they are stated" },
  { 94, 0, 111.246, "a full turn, 94 views 111.2° apart, in no order" },
  { 76, 0, 137.508, "a full turn, 76 views 137.5° apart, in no order" },
  { 721, 0, -90 / G_PI,
    "a full turn, 721 views 28.65° apart, angles falling, the end point left out: 57 turns; if "
    "these angles are degrees, say so where they are stated" },
  { 94, 0, 111.24611797498106, "a full turn, 94 views 111.2° apart, in no order" },
};

static void
test_words (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (turns); i++) {
    g_autofree double *angles = even (turns[i].n, turns[i].first, turns[i].step);
    TdTurn turn;

    td_turn_of_angles (angles, turns[i].n, &turn);
    g_autofree char *words = td_turn_describe (&turn);
    g_assert_cmpstr (words, ==, turns[i].words);
  }
}

/* Frames lost in the middle, one taken twice, a stage that jitters, a counter that starts again. */
static void
test_faults (void)
{
  g_autofree double *angles = even (360, 0, 1), *jitter = even (360, 0, 1);
  TdTurn turn;

  for (guint i = 100; i < 330; i++)
    angles[i] += 30 * DEG;
  td_turn_of_angles (angles, 330, &turn);
  g_assert_cmpint (turn.kind, ==, TD_TURN_HALF);
  g_assert_cmpint (turn.direction, ==, 1);
  g_assert_false (turn.even);
  g_assert_cmpfloat_with_epsilon (turn.full.missing_rad, 30 * DEG, 1e-9);

  for (guint i = 0; i < 360; i++)
    jitter[i] = fmod (jitter[i] + 200 + 0.2 * sin (i * 77.0) * DEG, 2 * G_PI);
  jitter[200] = jitter[199];
  td_turn_of_angles (jitter, 360, &turn);
  g_assert_cmpint (turn.kind, ==, TD_TURN_FULL);
  g_assert_cmpint (turn.direction, ==, 1);
  g_assert_false (turn.even);
  g_assert_false (turn.end_point);
  g_assert_cmpuint (turn.full.repeated, ==, 1);
}

/* Of a scan's views one or a few lack, between others. Larger gaps are told in degrees, and what is
   no gap in steps that are alike is none. */
static void
test_lost (void)
{
  static const struct {
    guint n, lost[3]; /* how many there were; which are gone, each once */
    double step, jitter;
    const char *words; /* NULL: none is missing */
  } cases[] = {
    { 720, { 300 }, 0.25, 0, ", 1 view missing, at 75°" },
    { 720, { 300 }, -0.25, 0, ", 1 view missing, at -75°" },
    { 720, { 300 }, 0.5, 0, ", 1 view missing, at 150°" },
    { 720, { 300, 301 }, 0.25, 0, ", 2 views missing, the first at 75°" },
    { 720, { 300, 301, 500 }, 0.25, 0, ", 3 views missing, the first at 75°" },
    { 720, { 300 }, 0.25, 0.1, ", 1 view missing, at 75" },
    { 720, { 719 }, 0.25, 0, NULL },
    { 720, { 0 }, 0.25, 0, NULL },
    { 720, { 300 }, 0.25, 0.5, NULL }, /* who knows, where no step is like another */
    { 720, { 300 }, 137.508, 0, NULL },
    { 12, { 2, 6, 9 }, 15, 0, NULL },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autofree double *angles = even (cases[i].n, 0, cases[i].step);
    guint kept = 0;
    TdTurn turn;

    for (guint view = 0; view < cases[i].n; view++) {
      gboolean gone = FALSE;
      for (guint k = 0; k < 3; k++)
        gone |= view == cases[i].lost[k] && (k == 0 || cases[i].lost[k] > 0);
      if (!gone)
        angles[kept++] = angles[view] + cases[i].jitter * cases[i].step * sin (view * 77.0) * DEG;
    }
    td_turn_of_angles (angles, kept, &turn);
    g_autofree char *words = td_turn_describe (&turn);
    g_test_message ("%s", words);
    g_assert_cmpint (strstr (words, "missing") != NULL, ==, cases[i].words != NULL);
    g_assert_nonnull (strstr (words, cases[i].words ? cases[i].words : ""));
  }
}

/* Two parts of a turn, far apart: the gap makes no frames of one angle of the others. */
static void
test_parts (void)
{
  g_autofree double *angles = even (400, 0, 0.2);
  TdTurn turn;

  for (guint i = 200; i < 400; i++)
    angles[i] += 120 * DEG;
  td_turn_of_angles (angles, 400, &turn);
  g_assert_cmpuint (turn.n_stops, ==, 400);
  g_assert_cmpuint (turn.n_frames, ==, 1);
  g_assert_cmpfloat_with_epsilon (turn.step_rad, 0.2 * DEG, 1e-9);
}

/* Several frames of each angle, also where the stage's readings jitter, it turned three times or it
   did not stop equally long everywhere. */
static void
test_frames (void)
{
  const struct {
    guint stops, turns, frames;
    double step;
    const char *words;
  } cases[] = {
    { 60, 1, 3, 3,
      "half a turn, 180 views: 3 at each of 60 angles 3° apart, the end point left out" },
    { 61, 1, 3, 3,
      "half a turn, 183 views: 3 at each of 61 angles 3° apart, the end point included" },
    { 60, 1, 2, -6,
      "a full turn, 120 views: 2 at each of 60 angles 6° apart, angles falling, the end point left "
      "out" },
    { 60, 3, 1, 3,
      "half a turn, 180 views, mostly 3° apart, the end point left out, 120 views repeated" },
    { 1, 1, 5, 0, "part of a turn, 5 views, all at one angle" },
    { 90, 1, 4, 137.508,
      "a full turn, 360 views: 4 at each of 90 angles 137.5° apart, in no order" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    const guint n = cases[i].stops * cases[i].turns * cases[i].frames;
    g_autofree double *angles = g_new (double, n);
    TdTurn turn;

    for (guint k = 0; k < n; k++)
      angles[k] = (k / cases[i].frames % cases[i].stops * cases[i].step
                   + (cases[i].frames > 1 ? g_test_rand_double_range (-1e-3, 1e-3) : 0))
                  * DEG;
    td_turn_of_angles (angles, n, &turn);
    g_autofree char *words = td_turn_describe (&turn);
    g_assert_cmpstr (words, ==, cases[i].words);
    if (cases[i].stops != 60 || cases[i].turns > 1)
      continue;
    /* The frames of the last angle are not all there. */
    td_turn_of_angles (angles, n - 1, &turn);
    g_autofree char *fewer = td_turn_describe (&turn);
    g_assert_nonnull (strstr (fewer, " views at 60 angles"));
  }
}

/* ── Many of them ── */

/* One of @n. */
static double
any_of (GRand *rand, const double *values, gsize n)
{
  return values[g_rand_int_range (rand, 0, (gint32) n)];
}
#define ANY_OF(rand, ...)                                                                          \
  any_of (rand, (const double[]) { __VA_ARGS__ },                                                  \
          sizeof (const double[]) { __VA_ARGS__ } / sizeof (double))

/* Turns of all kinds, with faults that are just what a stage may have and just more. There are
   gaps, frames that are taken again, readings that jitter, several passes, steps back and other
   units. Their words are kept. */
static void
test_many (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (2026);

  for (guint i = 0; i < 490; i++) {
    const guint fault = i % 7; /* one of each scan's, but for frames */
    const guint frames = (guint) ANY_OF (rand, 1, 1, 1, 2, 3);
    const guint passes = fault == 1 ? 2 + i % 2 : 1;
    const guint stops = (guint) ANY_OF (rand, 2, 3, 5, 9, 10, 12, 21, 40, 41, 100, 181);
    const double arc = ANY_OF (rand, 60, 119, 121, 170, 177.2, 177.4, 180, 180, 180, 181, 239, 241,
                               300, 354.5, 354.7, 360, 360, 360, 361, 540, 720, 50000);
    const double unit
        = fault == 2 ? ANY_OF (rand, G_PI / 180, 180 / G_PI, 1000, 0.001, 1 / 360.0) : 1;
    const double jitter = fault == 3 ? ANY_OF (rand, 0.01, 0.024, 0.026, 0.049, 0.06, 0.2, 0.3) : 0;
    const double sign = ANY_OF (rand, 1, 1, -1);
    const gboolean ends = g_rand_boolean (rand);
    const guint lost = fault == 4 ? (guint) ANY_OF (rand, 1, 2, 3, 4) : 0;
    const guint at = 1 + (guint) (g_rand_double (rand) * stops * 0.7);
    const guint back = fault == 5 ? stops * (guint) ANY_OF (rand, 4, 8, 10, 11, 30) / 100 : 0;
    const guint again = fault == 6 ? (guint) ANY_OF (rand, 1, 2, 5) : 0;
    g_autoptr (GArray) angles = g_array_new (FALSE, FALSE, sizeof (double));
    TdTurn turn;

    for (guint k = 0; k < stops; k++) {
      const guint place = k < 2 * back ? k ^ 1 : k; /* each second one of these goes back */
      if (lost && place >= at && place < at + lost && stops > at + lost)
        continue;
      const guint pass = k * passes / stops, rest = k - (pass * stops + passes - 1) / passes;
      const double number = passes == 1 ? place : rest * passes + pass;
      const double step = arc / (ends && stops > 1 ? stops - 1 : stops);
      for (guint f = 0; f < frames + (k < again ? 1 : 0); f++) {
        const double angle
            = sign * unit * (17 + step * (number + jitter * sin (77.0 * (k + 3 * f)))) * DEG;
        g_array_append_val (angles, angle);
      }
    }
    td_turn_of_angles ((const double *) angles->data, angles->len, &turn);
    g_autofree char *words = td_turn_describe (&turn);
    td_test_pin ("%u: %s", i, words);
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/turn/words", test_words);
  g_test_add_func ("/turn/faults", test_faults);
  g_test_add_func ("/turn/lost", test_lost);
  g_test_add_func ("/turn/parts", test_parts);
  g_test_add_func ("/turn/frames", test_frames);
  g_test_add_func ("/turn/many", test_many);
  return g_test_run ();
}
