/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Each limit of the advice, with rows of attenuations made for it: just inside and just outside. */
#include <math.h>
#include <string.h>

#include "compute/axis/axis-line.h"
#include "compute/engine/advice.h"
#include "compute/engine/preview.h"
#include "compute/methods/methods.h"
#include "dataset/message.h"
#include "dataset/scan-private.h"
#include "engine-scans.h"
#include "tests/common/devices.h"
#include "tests/common/pins.h"

#define COLUMNS 256
#define VIEWS 256
#define STRIP 8 /* columns at either end that are looked at: one in 32 */

static guint views_used = VIEWS; /* that the scan has … */
static guint frames_used = 1;    /* … and how many of them at each angle */

typedef struct {
  float rows[4][VIEWS][COLUMNS];
  double angles[VIEWS];
  TdScan *scan;
} Made;

/* A sample of attenuation 1 in the middle half of the columns, and nothing beside it. */
static Made *
made_new (double turn)
{
  Made *made = g_new0 (Made, 1);

  for (guint r = 0; r < 4; r++)
    for (guint v = 0; v < VIEWS; v++)
      for (guint c = COLUMNS / 4; c < 3 * COLUMNS / 4; c++)
        made->rows[r][v][c] = 1;
  for (guint v = 0; v < VIEWS; v++)
    made->angles[v] = turn * G_PI * (v / frames_used) * frames_used / views_used;
  return made;
}

/* The kinds found, by their names, and the first advice's value; (transfer full). Frees @made. */
static char *
made_kinds (Made *made, TdAdvice *first)
{
  g_autofree float *frames = g_new (float, 4 * VIEWS * COLUMNS);
  g_autoptr (GError) error = NULL;
  const TdScanFacts facts = { .n_columns = COLUMNS,
                              .n_rows = 4,
                              .n_views = views_used,
                              .sample_type = TD_SAMPLE_FLOAT32,
                              .transmission_logged = TRUE,
                              .angles_rad = made->angles,
                              .centre_px = NAN };
  GString *kinds = g_string_new (NULL);
  TdRecipe recipe;

  for (guint v = 0; v < views_used; v++)
    for (guint r = 0; r < 4; r++)
      memcpy (frames + (v * 4 + r) * COLUMNS, made->rows[r][v], COLUMNS * sizeof *frames);
  g_autoptr (TdScan) scan = td_scan_new_from_memory (&facts, frames, NULL, NULL, NULL, &error);
  g_assert_no_error (error);
  td_recipe_init (&recipe);
  g_autoptr (GPtrArray) list = td_engine_advise (engine, scan, &recipe, NULL, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < list->len; i++) {
    const TdAdvice *advice = list->pdata[i];
    g_autofree char *text = td_message_text (advice->message, NULL);
    td_test_pin ("%s: %s", td_advice_names[advice->kind], text);
    g_string_append_printf (kinds, "%s%s", i ? " " : "", td_advice_names[advice->kind]);
  }
  if (first && list->len) {
    *first = *(const TdAdvice *) list->pdata[0];
    first->message = td_message_ref (first->message);
  }
  g_free (made);
  return g_string_free (kinds, FALSE);
}

static void
assert_kinds (Made *made, const char *kinds)
{
  g_autofree char *found = made_kinds (made, NULL);

  g_assert_cmpstr (found, ==, kinds);
}

/* Adds to columns [first, first + n) of views [view, view + n_views) of all rows. */
static void
made_add (Made *made, guint first, guint n, guint view, guint n_views, double value)
{
  for (guint r = 0; r < 4; r++)
    for (guint v = view; v < view + n_views; v++)
      for (guint c = first; c < first + n; c++)
        made->rows[r][v][c] += (float) value;
}

static void
test_plain (void)
{
  assert_kinds (made_new (1), "");
  assert_kinds (made_new (2), "");
}

/* Air that is not at 0: by more than so much of the sample, whichever its sign. */
static void
test_background (void)
{
  for (gint sign = -1; sign <= 1; sign += 2)
    for (guint outside = 0; outside < 2; outside++) {
      Made *made = made_new (1);
      const double level = sign * TD_ADVICE_AIR * (outside ? 1.03 : 0.97);
      TdAdvice advice = { 0 };

      made_add (made, 0, COLUMNS / 4, 0, VIEWS, level);
      made_add (made, 3 * COLUMNS / 4, COLUMNS / 4, 0, VIEWS, level);
      g_autofree char *kinds = made_kinds (made, &advice);
      g_assert_cmpstr (kinds, ==, outside ? "background" : "");
      if (!outside)
        continue;
      g_assert_cmpuint (advice.columns, ==, STRIP);
      const double told = g_ascii_strtod (td_message_values (advice.message)[0], NULL);
      g_assert_cmpfloat_with_epsilon (told, level, 0.06 * fabs (level));
      td_message_unref (advice.message);
    }
}

/* Of three rows, a quarter of the detector apart, most must show it. */
static void
test_which_rows (void)
{
  static const struct {
    gboolean faulty[4];
    const char *kinds;
  } cases[] = {
    { { FALSE, TRUE, TRUE, FALSE }, "background" }, { { FALSE, TRUE, FALSE, TRUE }, "background" },
    { { FALSE, FALSE, TRUE, TRUE }, "background" }, { { TRUE, TRUE, FALSE, FALSE }, "" },
    { { TRUE, FALSE, TRUE, FALSE }, "" },           { { TRUE, FALSE, FALSE, TRUE }, "" }
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    Made *made = made_new (1);
    for (guint r = 0; r < 4; r++)
      for (guint v = 0; v < VIEWS && cases[i].faulty[r]; v++)
        for (guint c = 0; c < COLUMNS; c++)
          made->rows[r][v][c] += c < COLUMNS / 4 || c >= 3 * COLUMNS / 4 ? 0.05f : 0;
    assert_kinds (made, cases[i].kinds);
  }
}

/* Air that drifts over the views, on both sides alike or against each other. */
static void
test_drift (void)
{
  for (guint leans = 0; leans < 2; leans++)
    for (guint outside = 0; outside < 2; outside++) {
      Made *made = made_new (1);
      const double most = 2 * TD_ADVICE_AIR * (outside ? 1.1 : 0.97);
      TdAdvice advice = { 0 };

      /* To either side of 0, where its median is. The mean over a twentieth of the views at either
         end moves by a twentieth less. */
      for (guint v = 0; v < VIEWS; v++) {
        const double level = most * (v / (VIEWS - 1.0) - 0.5) / 2 / 0.95;
        made_add (made, 0, COLUMNS / 4, v, 1, leans ? -level : level);
        made_add (made, 3 * COLUMNS / 4, COLUMNS / 4, v, 1, level);
      }
      g_autofree char *kinds = made_kinds (made, &advice);
      g_assert_cmpstr (kinds, ==, outside ? "drift" : "");
      if (!outside)
        continue;
      g_assert_cmpuint (advice.columns, ==, STRIP);
      g_assert_cmpfloat (advice.value, ==, leans);
      td_message_unref (advice.message);
    }
}

/* The sample in the outer columns of some views: in so many that it is wider than the detector, or
   in a few. With an inner half that is more covered than the outer one. */
static void
made_cover (Made *made, guint left, guint right)
{
  made_add (made, 0, STRIP / 2, 0, left, 0.3);
  made_add (made, STRIP / 2, COLUMNS / 4 - STRIP / 2, 0, left, 0.5);
  made_add (made, COLUMNS - STRIP / 2, STRIP / 2, 0, right, 0.3);
  made_add (made, 3 * COLUMNS / 4, COLUMNS / 4 - STRIP / 2, 0, right, 0.5);
}

static void
test_rim (void)
{
  static const struct {
    double turn;
    guint left, right; /* views of VIEWS */
    const char *kinds, *side;
  } cases[] = {
    { 1, 63, 63, "", NULL },
    { 1, 64, 64, "rim", NULL },
    { 1, 64, 0, "rim", NULL },
    { 2, 64, 64, "rim", NULL },
    { 2, 64, 0, "offset-axis", "on the left only" },
    { 2, 0, 64, "offset-axis", "on the right only" },
    { 2, 64, 5, "offset-axis", "on the left only" },
    { 2, 64, 6, "rim", NULL },
    { 2, 63, 0, "", NULL },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    Made *made = made_new (cases[i].turn);
    TdAdvice advice = { 0 };

    made_cover (made, cases[i].left, cases[i].right);
    g_autofree char *kinds = made_kinds (made, &advice);
    g_assert_cmpstr (kinds, ==, cases[i].kinds);
    if (cases[i].side) {
      g_autofree char *text = td_message_text (advice.message, NULL);
      g_assert_nonnull (strstr (text, cases[i].side));
    }
    g_clear_pointer (&advice.message, td_message_unref);
  }
}

/* What is there in most views while the sample enters the edges in a few. */
static void
test_level (void)
{
  for (guint outside = 0; outside < 2; outside++) {
    Made *made = made_new (1);
    const double level = TD_ADVICE_LEVEL * (outside ? 1.03 : 0.97);

    made_cover (made, 20, 20);
    made_add (made, 0, COLUMNS / 4, 20, VIEWS - 20, level);
    made_add (made, 3 * COLUMNS / 4, COLUMNS / 4, 20, VIEWS - 20, level);
    assert_kinds (made, outside ? "rim" : "");
  }
}

/* Columns' own offsets, against the sample's attenuation. */
static void
test_rings (void)
{
  for (guint outside = 0; outside < 2; outside++) {
    Made *made = made_new (1);
    g_autoptr (GRand) rand = g_rand_new_with_seed (3);

    /* Of the median size 0.6745 standard deviations, alternately larger and smaller than it. */
    for (guint c = 0; c < COLUMNS; c++) {
      double sum = 0;
      for (guint i = 0; i < 12; i++)
        sum += g_rand_double (rand) - 0.5;
      made_add (made, c, 1, 0, VIEWS, sum * TD_ADVICE_RINGS_OF_SCALE * (outside ? 1.4 : 0.7));
    }
    assert_kinds (made, outside ? "rings" : "");
  }
}

/* A quarter as many directions as columns are enough; in a full turn opposite views are one, and so
   are views at one angle. */
static void
test_views (void)
{
  static const struct {
    double turn;
    guint views, frames;
    const char *kinds;
  } cases[] = { { 1, 64, 1, "" },          { 1, 63, 1, "few-views" },  { 2, 128, 1, "" },
                { 2, 127, 1, "" },         { 2, 126, 1, "few-views" }, { 1, 192, 3, "" },
                { 1, 189, 3, "few-views" } };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    views_used = cases[i].views;
    frames_used = cases[i].frames;
    assert_kinds (made_new (cases[i].turn), cases[i].kinds);
  }
  views_used = VIEWS;
  frames_used = 1;
}

/* ── Where each advice begins ── */

typedef struct {
  guint n_columns, n_views;
  double turn, noise, scale; /* of all that is measured */
  float *rows;               /* [4][view][column] */
} Begun;

static void
begun_add (Begun *begun, guint first, guint n, guint v, double value)
{
  for (guint r = 0; r < 4; r++)
    for (guint c = first; c < first + n; c++)
      begun->rows[((gsize) r * begun->n_views + v) * begun->n_columns + c] += (float) value;
}

/* The sample is round and in the middle half of the columns, and noise is everywhere. */
static void
begun_init (Begun *begun)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (11);
  const guint n = begun->n_columns;

  for (gsize i = 0; i < (gsize) 4 * begun->n_views * n; i++) {
    const double x = 4.0 * (i % n + 0.5) / n - 2;
    double noise = 0;
    for (guint k = 0; k < 4; k++)
      noise += g_rand_double (rand) - 0.5;
    begun->rows[i] = (float) ((fabs (x) < 1 ? 1 - x * x : 0) + begun->noise * noise);
  }
}

/* One fault of a size each. */
typedef enum {
  BEGUN_LEVEL,        /* of the air */
  BEGUN_DRIFT,        /* of the air, on both sides */
  BEGUN_LEAN,         /* against each other */
  BEGUN_STEP,         /* of the air, in the middle of the turn */
  BEGUN_RINGS,        /* columns' own */
  BEGUN_WAVES,        /* broad ones */
  BEGUN_LEFT,         /* part of the views in which the sample enters there */
  BEGUN_BOTH,         /* … and on both sides */
  BEGUN_SOME_LEFT,    /* the same, where it enters in some of them to the right */
  BEGUN_OVER,         /* how much of it enters, in a third of the views */
  BEGUN_FLAT_OVER,    /* … as a level strip */
  BEGUN_RIM,          /* level of the air, where the sample enters in a tenth of the views */
  BEGUN_HALF_ENTERED, /* how much is in the inner half of the strips, more and more */
  BEGUN_N
} BegunFault;

static void
begun_spoil (Begun *begun, BegunFault fault, double size)
{
  const guint n = begun->n_columns, views = begun->n_views, edge = n / 4, strip = n / 16;
  g_autoptr (GRand) rand = g_rand_new_with_seed (5);
  g_autofree double *own = g_new (double, n);

  for (guint c = 0; c < n; c++)
    own[c] = g_rand_double (rand) + g_rand_double (rand) - 1;
  for (guint v = 0; v < views; v++) {
    const double part = v / (views - 1.0), at = part - 0.5;
    double left = 0, right = 0;

    switch (fault) {
    case BEGUN_LEVEL: left = right = size; break;
    case BEGUN_DRIFT: left = right = size * at; break;
    case BEGUN_LEAN: left = -(right = size * at); break;
    case BEGUN_STEP: left = right = size * (at > 0) - size / 2; break;
    case BEGUN_RINGS:
    case BEGUN_WAVES:
      for (guint c = 0; c < n; c++)
        begun_add (begun, c, 1, v, size * (fault == BEGUN_RINGS ? own[c] : own[c / 3]));
      break;
    case BEGUN_SOME_LEFT: right = part < 0.03 ? 0.5 : 0; G_GNUC_FALLTHROUGH;
    case BEGUN_LEFT: left = part < size ? 0.5 : 0; break;
    case BEGUN_BOTH: left = right = part < size ? 0.5 : 0; break;
    case BEGUN_OVER: left = part < 0.34 ? size : 0; break;
    case BEGUN_FLAT_OVER:
      if (part < 0.34)
        begun_add (begun, 0, edge, v, size);
      break;
    case BEGUN_RIM:
      left = part < 0.1 ? 0.5 : 0;
      begun_add (begun, 0, edge, v, size);
      begun_add (begun, n - edge, edge, v, size);
      break;
    case BEGUN_HALF_ENTERED:
      begun_add (begun, strip / 4, edge - strip / 4, v, size * at);
      begun_add (begun, n - edge, edge - strip / 4, v, size * at);
      begun_add (begun, 0, strip / 4, v, size * at / 2);
      begun_add (begun, n - strip / 4, strip / 4, v, size * at / 2);
      break;
    default: g_assert_not_reached ();
    }
    const gboolean enters = fault >= BEGUN_LEFT && fault <= BEGUN_RIM;
    /* What enters grows towards the sample. */
    for (guint c = 0; c < edge; c++) {
      const double grown = enters ? MIN ((c + 0.5) / strip, 1) : 1;
      begun_add (begun, c, 1, v, left * grown);
      begun_add (begun, n - 1 - c, 1, v, right * grown);
    }
  }
}

/* What is advised, each with the numbers that it tells. (transfer full) */
static char *
begun_says (Begun *begun, BegunFault fault, double size, gboolean numbers)
{
  g_autofree double *angles = g_new (double, begun->n_views);
  const gsize row = begun->n_columns, view = 4 * row;
  g_autofree float *frames = g_new (float, begun->n_views *view);
  const TdScanFacts facts = { .n_columns = begun->n_columns,
                              .n_rows = 4,
                              .n_views = begun->n_views,
                              .sample_type = TD_SAMPLE_FLOAT32,
                              .transmission_logged = TRUE,
                              .angles_rad = angles,
                              .centre_px = NAN };
  GString *says = g_string_new (NULL);
  g_autoptr (GError) error = NULL;
  TdRecipe recipe;

  begun_init (begun);
  begun_spoil (begun, fault, size);
  for (guint v = 0; v < begun->n_views; v++) {
    angles[v] = begun->turn * G_PI * v / begun->n_views;
    for (guint r = 0; r < 4; r++)
      for (gsize c = 0; c < row; c++)
        frames[v * view + r * row + c]
            = (float) begun->scale * begun->rows[(r * begun->n_views + v) * row + c];
  }
  g_autoptr (TdScan) scan = td_scan_new_from_memory (&facts, frames, NULL, NULL, NULL, &error);
  td_recipe_init (&recipe);
  g_autoptr (GPtrArray) list = td_engine_advise (engine, scan, &recipe, NULL, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < list->len; i++) {
    const TdAdvice *advice = list->pdata[i];
    g_string_append_printf (says, " %s", td_advice_names[advice->kind]);
    for (const char *const *value = td_message_values (advice->message); numbers && *value; value++)
      g_string_append_printf (says, " %s", *value);
    if (numbers)
      g_string_append_printf (says, " (%u, %g)", advice->columns, advice->value);
  }
  return g_string_free (says, FALSE);
}

/* Each fault grows until another thing is advised: at which size that is, and what is said just
   beyond it. */
static void
test_begins (gconstpointer data)
{
  static const Begun shapes[]
      = { { 96, 60, 1, 0, 1 },         { 96, 60, 2, 0.004, 2.5 }, { 48, 90, 2, 0.02, 1 },
          { 300, 81, 1, 0.0005, 0.4 }, { 96, 12, 1, 0.002, 1 },   { 640, 33, 2, 0.001, 1.5 } };
  const BegunFault fault = GPOINTER_TO_UINT (data);

  for (guint i = 0; i < G_N_ELEMENTS (shapes); i++) {
    Begun begun = shapes[i];
    double low = 0, high = 1.2;

    begun.rows = g_new (float, (gsize) 4 * begun.n_views * begun.n_columns);
    g_autofree char *before = begun_says (&begun, fault, low, FALSE);
    for (guint step = 0; step < 14; step++) {
      const double size = step < 6 ? high / 3 : (low + high) / 2; /* down to thousandths first */
      g_autofree char *says = begun_says (&begun, fault, size, FALSE);
      const gboolean same = g_str_equal (says, before);
      if (step < 6 && same) {
        low = size;
        step = 5;
      } else
        *(same ? &low : &high) = size;
    }
    g_autofree char *after = begun_says (&begun, fault, high * 1.05, TRUE);
    td_test_pin ("%u: from %.3e on:%s, not%s", i, high, after, before);
    g_free (begun.rows);
  }
}

/* ── Coarse slices ── */

static void
test_coarse_factor (void)
{
  static const struct {
    TdBeam beam;
    guint columns, views, factor;
  } cases[] = {
    { TD_BEAM_PARALLEL, 200, 1000, 0 }, /* 4e7 updates are quick */
    { TD_BEAM_PARALLEL, 200, 1001, 2 },    { TD_BEAM_PARALLEL, 200, 8000, 2 },
    { TD_BEAM_PARALLEL, 200, 8001, 4 },    { TD_BEAM_PARALLEL, 2000, 640, 4 },
    { TD_BEAM_PARALLEL, 2000, 641, 8 },    { TD_BEAM_PARALLEL, 2000, 100000, 8 },
    { TD_BEAM_PARALLEL, 127, 4000000, 2 }, /* 32 columns at the least */
    { TD_BEAM_PARALLEL, 128, 4000000, 4 }, { TD_BEAM_PARALLEL, 63, 4000000, 0 },
    { TD_BEAM_PARALLEL, 64, 4000000, 2 },  { TD_BEAM_CONE, 2000, 641, 0 },
    { TD_BEAM_FAN, 2000, 641, 0 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    const TdScanFacts facts = { .n_columns = cases[i].columns,
                                .n_views = cases[i].views,
                                .geometry = { .beam = cases[i].beam } };
    g_assert_cmpuint (td_preview_coarse_factor (&facts), ==, cases[i].factor);
  }
}

/* A coarse slice is as wide as the fine one. Where nothing says how large pixels are, its values
   are per pixel of the fine one. */
static void
test_coarse_values (void)
{
  const TdScanFacts facts = { .n_columns = 101 };
  TdPlanFacts plan = { .nx = 25, .ny = 2, .units = "1/px", .centre_px = 5 };
  float slice[50];

  g_assert_cmpfloat (td_preview_coarse_side (&facts, &plan, 1), ==, 25);
  g_assert_cmpfloat (td_preview_coarse_side (&facts, &plan, 4), ==, 101);
  plan.half_acquisition = TRUE;
  /* Coarse column 5 of four is fine column 21.5: from there to column 100, to both sides. */
  g_assert_cmpfloat (td_preview_coarse_side (&facts, &plan, 4), ==, 2 * (100 - 21.5) + 1);
  for (guint k = 0; k < 3; k++) {
    plan.units = k == 2 ? "1/mm" : "1/px";
    for (guint i = 0; i < 50; i++)
      slice[i] = 1 + (float) i;
    td_preview_coarse_values (&plan, k == 0 ? 1 : 4, slice);
    for (guint i = 0; i < 50; i++)
      g_assert_cmpfloat (slice[i], ==, (1 + (float) i) / (k == 1 ? 4 : 1));
  }
}

/* Views half a turn apart, to within one and a half steps. */
static void
test_opposite (void)
{
  double angles[9];
  const TdScanFacts facts = { .n_views = 9, .angles_rad = angles };
  guint opposite = 99;

  for (guint step = 0; step < 8; step++)
    angles[step] = step * G_PI / 8;
  angles[8] = angles[7]; /* taken twice, which is no step */
  /* The last is one step from half a turn after the first, and two from that after the second. */
  g_assert_true (td_preview_opposite_view (&facts, 0, &opposite));
  g_assert_cmpuint (opposite, ==, 7);
  g_assert_false (td_preview_opposite_view (&facts, 1, &opposite));
  g_assert_true (td_preview_opposite_view (&facts, 7, &opposite)); /* the turn comes round */
  g_assert_cmpuint (opposite, ==, 0);
  for (guint inside = 0; inside < 2; inside++) {
    angles[6] = angles[7] = angles[8] = G_PI - (inside ? 1.49 : 1.51) * G_PI / 8;
    g_assert_cmpint (td_preview_opposite_view (&facts, 0, &opposite), ==, inside);
  }
}

/* A view less its opposite, mirrored at the axis. Of frames that rise evenly it is known at each
   pixel whose mirror image is on the detector. */
static void
test_mirrored (void)
{
  enum { N = 40, ROWS = 30 };
  static const struct {
    double centre_px, tilt_deg;
  } axes[] = { { 19.5, 0 }, { 15.3, 0 }, { 22.85, 0 }, { 19.5, 4 }, { 17.25, -7 } };
  static float frames[2][ROWS][N];
  static double angles[2] = { 0, G_PI };
  const TdScanFacts facts = { .n_columns = N,
                              .n_rows = ROWS,
                              .n_views = 2,
                              .sample_type = TD_SAMPLE_FLOAT32,
                              .transmission_logged = TRUE,
                              .angles_rad = angles,
                              .centre_px = NAN };
  TdRecipe recipe;

  for (guint v = 0; v < 2; v++)
    for (guint r = 0; r < ROWS; r++)
      for (guint c = 0; c < N; c++)
        frames[v][r][c] = v ? 0.5f + 0.25f * c - 0.125f * r : 3 + 0.5f * c + 0.0625f * r;
  td_recipe_init (&recipe);
  g_assert_true (td_recipe_set (&recipe, "prepare", "none", NULL));
  g_autoptr (TdScan) scan
      = td_scan_new_from_memory (&facts, &frames[0][0][0], NULL, NULL, NULL, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (axes); i++) {
    const TdAxisLine axis = td_axis_line (axes[i].centre_px, axes[i].tilt_deg, ROWS);
    const double norm = hypot (axis.slope, 1);
    g_autoptr (GError) error = NULL;
    guint seen = 0;

    g_autofree float *rest
        = td_preview_opposite (engine, scan, (guint[]) { 0, 1 }, &recipe, &axis, NULL, &error);
    g_assert_no_error (error);
    for (guint r = 0; r < ROWS; r++)
      for (guint c = 0; c < N; c++) {
        /* Twice as far as the pixel's distance from the line, along the line's normal. */
        const double away = (c - td_axis_line_at (&axis, r)) / norm;
        const double column = c - 2 * away / norm, row = r + 2 * away * axis.slope / norm;
        const gboolean inside = column >= 0 && column < N - 1 && row >= 0 && row <= ROWS - 1;
        const double expected = inside ? frames[0][r][c] - (0.5 + 0.25 * column - 0.125 * row) : 0;
        /* What lies on the very edge may be in or out. */
        if (fabs (column) < 1e-6 || fabs (column - N + 1) < 1e-6 || fabs (row) < 1e-6
            || fabs (row - ROWS + 1) < 1e-6)
          continue;
        g_assert_cmpfloat_with_epsilon (rest[r * N + c], expected, 1e-4);
        seen += inside;
      }
    g_assert_cmpuint (seen, >, N * ROWS / 2);
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  td_test_own_rates ("advice-limits");
  engine = td_engine_new (td_methods);
  g_test_add_func ("/advice-limits/plain", test_plain);
  g_test_add_func ("/advice-limits/background", test_background);
  g_test_add_func ("/advice-limits/which-rows", test_which_rows);
  g_test_add_func ("/advice-limits/drift", test_drift);
  g_test_add_func ("/advice-limits/rim", test_rim);
  g_test_add_func ("/advice-limits/level", test_level);
  g_test_add_func ("/advice-limits/rings", test_rings);
  g_test_add_func ("/advice-limits/views", test_views);
  for (guint i = 0; i < BEGUN_N; i++) {
    g_autofree char *path = g_strdup_printf ("/advice-limits/begins/%02u", i);
    g_test_add_data_func (path, GUINT_TO_POINTER (i), test_begins);
  }
  g_test_add_func ("/advice-limits/coarse-factor", test_coarse_factor);
  g_test_add_func ("/advice-limits/coarse-values", test_coarse_values);
  g_test_add_func ("/advice-limits/opposite", test_opposite);
  g_test_add_func ("/advice-limits/mirrored", test_mirrored);
  const int status = g_test_run ();
  td_engine_unref (engine);
  return status;
}
