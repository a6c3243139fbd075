/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Intensities and attenuations are told apart, or the user is asked. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dataset/angles.h"
#include "dataset/scan-private.h"
#include "dataset/sort.h"
#include "test-folder.h"
#include "tests/common/pin-scan.h"

#define COLUMNS 64u
#define ROWS 7u
#define VIEWS 36u

/* A cylinder whose line integrals reach @depth, on an axis at column @axis; its radius and its way
   off the axis in columns. */
typedef struct {
  const char *name;
  double axis, radius, off, depth;
  gboolean transmissions;
  double offset, scale, noise; /* of what is stored */
  guint empty_rows;            /* of ROWS: above the cylinder */
  TdSampleType type;
  enum { INTENSITIES, ATTENUATIONS, REFUSED } expected;
} Case;

static const Case cases[] = {
  { "attenuations", 31, 20, 3, 2.2, FALSE, 0, 1, 0.01, 0, TD_SAMPLE_FLOAT32, ATTENUATIONS },
  { "attenuations-by-1000", 31, 20, 3, 1.8, FALSE, 289, 1000, 5, 0, TD_SAMPLE_FLOAT32,
    ATTENUATIONS },
  { "attenuations-doubles", 31, 20, 3, 1.8, FALSE, 289, 1000, 5, 0, TD_SAMPLE_FLOAT64,
    ATTENUATIONS },
  { "attenuations-small", 31, 20, 3, 1, FALSE, 0, 2e-6, 1e-7, 0, TD_SAMPLE_FLOAT32, ATTENUATIONS },
  { "attenuations-cone", 31, 20, 3, 1.8, FALSE, 0, 1000, 5, 4, TD_SAMPLE_FLOAT32, ATTENUATIONS },
  { "attenuations-of-air", 31, 20, 3, 0, FALSE, 0, 1, 0, 0, TD_SAMPLE_FLOAT32, ATTENUATIONS },
  { "attenuations-half", 60, 40, 3, 1.8, FALSE, 0, 1, 0.01, 0, TD_SAMPLE_FLOAT32, ATTENUATIONS },
  { "attenuations-half-clean", 3, 40, 3, 1.8, FALSE, 0, 1000, 0, 0, TD_SAMPLE_FLOAT32,
    ATTENUATIONS },
  { "attenuations-inside", 31, 60, 3, 1.8, FALSE, 0, 1, 0.01, 0, TD_SAMPLE_FLOAT32, REFUSED },
  { "attenuations-int16", 31, 20, 3, 1.8, FALSE, -2, 1000, 5, 0, TD_SAMPLE_INT16, ATTENUATIONS },
  { "attenuations-turned", 31, 20, 3, 2.2, FALSE, 0, -1, 0.01, 0, TD_SAMPLE_FLOAT32, REFUSED },
  { "attenuations-turned-by-1000", 31, 20, 3, 1.8, FALSE, 0, -1000, 5, 0, TD_SAMPLE_FLOAT64,
    REFUSED },
  { "attenuations-turned-clean", 31, 20, 3, 1.8, FALSE, 0, -2e-6, 0, 2, TD_SAMPLE_FLOAT32,
    REFUSED },
  { "attenuations-turned-half", 60, 40, 3, 1.8, FALSE, 0, -1, 0.01, 0, TD_SAMPLE_FLOAT32, REFUSED },
  { "attenuations-turned-inside", 31, 34, 0, 2.2, FALSE, 0, -1, 0.01, 0, TD_SAMPLE_FLOAT32,
    REFUSED },
  { "attenuations-below", 31, 20, 3, 1.8, FALSE, -2, 1, 0.01, 0, TD_SAMPLE_FLOAT32, ATTENUATIONS },
  { "attenuations-of-dim-air", 31, 20, 3, 0, FALSE, -0.1, 1, 0.01, 0, TD_SAMPLE_FLOAT32,
    ATTENUATIONS },
  { "attenuations-uint16", 31, 20, 3, 1.8, FALSE, 289, 1000, 5, 0, TD_SAMPLE_UINT16, INTENSITIES },
  { "transmissions", 31, 20, 3, 2.2, TRUE, 0, 1, 0.01, 0, TD_SAMPLE_FLOAT32, INTENSITIES },
  { "transmissions-thin", 31, 20, 3, 0.01, TRUE, 0, 1, 0.01, 0, TD_SAMPLE_FLOAT32, INTENSITIES },
  { "transmissions-opaque", 31, 20, 3, 9, TRUE, 0, 1, 0.01, 0, TD_SAMPLE_FLOAT32, INTENSITIES },
  { "transmissions-cone", 31, 20, 3, 2.2, TRUE, 0, 1, 0.01, 4, TD_SAMPLE_FLOAT32, INTENSITIES },
  { "transmissions-half", 60, 40, 3, 1.8, TRUE, 0, 1, 0.01, 0, TD_SAMPLE_FLOAT32, INTENSITIES },
  { "transmissions-inside", 31, 34, 0, 2.2, TRUE, 0, 1, 0.01, 0, TD_SAMPLE_FLOAT32, INTENSITIES },
  { "counts", 31, 20, 3, 2.2, TRUE, 0, 5000, 50, 0, TD_SAMPLE_FLOAT32, INTENSITIES },
  { "counts-half", 60, 40, 3, 1.8, TRUE, 0, 5000, 50, 0, TD_SAMPLE_FLOAT32, REFUSED },
  { "counts-uint16", 60, 40, 3, 1.8, TRUE, 0, 5000, 50, 0, TD_SAMPLE_UINT16, INTENSITIES },
};

static TdScan *
make_scan (const Case *c, gboolean sinograms, float *values)
{
  g_autofree double *angles = td_angles_range (0, 350, VIEWS);
  g_autoptr (GRand) random = g_rand_new_with_seed (7);
  TdScanFacts facts = {
    .path = (char *) c->name,
    .n_columns = COLUMNS,
    .n_rows = ROWS,
    .n_views = VIEWS,
    .sample_type = c->type,
    .angles_rad = angles,
    .centre_px = NAN,
    .sinogram_order = sinograms,
  };

  td_geometry_init_parallel (&facts.geometry);
  for (guint i = 0; i < VIEWS * ROWS * COLUMNS; i++) {
    const double middle = c->axis + c->off * cos (angles[i / (ROWS * COLUMNS)]);
    const double x = (i % COLUMNS - middle) / c->radius;
    const gboolean above = i / COLUMNS % ROWS < c->empty_rows;
    const double line = above ? 0 : c->depth * sqrt (fmax (0, 1 - x * x));

    values[i] = (float) (c->offset + c->scale * (c->transmissions ? exp (-line) : line)
                         + c->noise * g_rand_double_range (random, -1, 1));
  }
  return td_scan_new_from_memory (&facts, values, NULL, NULL, NULL, NULL);
}

static void
test_values_told (gconstpointer data)
{
  const Case *c = data;
  g_autofree float *values = g_new (float, VIEWS *ROWS *COLUMNS);

  for (guint sinograms = 0; sinograms < 2; sinograms++) {
    g_autoptr (TdScan) scan = make_scan (c, sinograms, values);
    const TdScanFacts *facts = td_scan_facts (scan);
    g_autoptr (GError) error = NULL;
    const gboolean taken = td_scan_take_values (scan, TD_SCAN_VALUES_FOUND, NULL, &error);

    if (c->expected == REFUSED) {
      g_assert_false (taken);
      test_assert_sentence (error, "--values");
      for (TdScanValues v = TD_SCAN_VALUES_INTENSITIES; v <= TD_SCAN_VALUES_ATTENUATIONS; v++) {
        g_assert_true (td_scan_take_values (scan, v, NULL, NULL));
        g_assert_cmpint (facts->transmission_logged, ==, v == TD_SCAN_VALUES_ATTENUATIONS);
      }
      continue;
    }
    g_assert_no_error (error);
    g_assert_cmpint (facts->transmission_logged, ==, c->expected == ATTENUATIONS);
    g_assert_cmpint (facts->brightest > 2, ==, g_str_equal (c->name, "counts"));
    td_test_pin ("brightest %.4f", facts->brightest);
    td_test_pin_notes (facts->notes);
    if (c->type != TD_SAMPLE_UINT16) {
      g_autofree char *note = td_message_text (facts->notes[0], NULL);

      g_assert_nonnull (strstr (note, c->expected == ATTENUATIONS ? "attenuations" : ": "));
      g_assert_nonnull (strstr (note, "--values"));
    }
  }
}

/* Floats that a file calls integers are told; counts are not, however many. */
static void
test_float_bits (void)
{
  static const struct {
    double least, most; /* of the floats, or the counts */
    gboolean bits, told;
    TdSampleType type;
  } kinds[] = {
    { 500, 20000, TRUE, TRUE, TD_SAMPLE_UINT32 },   { 0.01, 1, TRUE, TRUE, TD_SAMPLE_INT32 },
    { 500, 20000, FALSE, FALSE, TD_SAMPLE_UINT32 }, { 1e8, 4e9, FALSE, FALSE, TD_SAMPLE_UINT32 },
    { 1e3, 2e9, FALSE, FALSE, TD_SAMPLE_INT32 },    { 1e9, 1.1e9, FALSE, FALSE, TD_SAMPLE_FLOAT32 },
  };
  g_autofree float *values = g_new (float, VIEWS *ROWS *COLUMNS);

  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++) {
    const Case c = { "bits",
                     31,
                     20,
                     3,
                     log (kinds[i].most / kinds[i].least),
                     TRUE,
                     0,
                     kinds[i].most,
                     0,
                     0,
                     kinds[i].type,
                     INTENSITIES };
    g_autoptr (TdScan) scan = make_scan (&c, FALSE, values);
    for (guint k = 0; k < VIEWS * ROWS * COLUMNS && kinds[i].bits; k++) {
      gint32 whole;
      memcpy (&whole, &values[k], sizeof whole);
      values[k] = (float) whole;
    }
    g_assert_true (td_scan_take_values (scan, TD_SCAN_VALUES_INTENSITIES, NULL, NULL));
    g_autofree char *notes = td_messages_join (td_scan_facts (scan)->notes, "\n", NULL);
    td_test_pin ("%g to %g: %s", kinds[i].least, kinds[i].most, notes);
    g_assert_cmpint (strstr (notes, "read as integers") != NULL, ==, kinds[i].told);
  }
}

/* An open beam that a description states is none of images that were scaled since. */
static void
test_scaled_since (void)
{
  static const struct {
    const char *name; /* of a case above */
    double level;
    gboolean kept, logged;
  } stated[] = {
    { "transmissions", 58000, FALSE, FALSE },    { "transmissions-half", 65535, FALSE, FALSE },
    { "attenuations", 58000, FALSE, TRUE },      { "transmissions", 1, TRUE, FALSE },
    { "transmissions-opaque", 99, TRUE, FALSE }, { "counts", 58000, TRUE, FALSE },
    { "counts-half", 5000, TRUE, FALSE },        { "counts-uint16", 65535, TRUE, FALSE },
  };
  g_autofree float *values = g_new (float, VIEWS *ROWS *COLUMNS);

  for (guint i = 0; i < G_N_ELEMENTS (stated); i++)
    for (TdScanValues v = TD_SCAN_VALUES_FOUND; v <= TD_SCAN_VALUES_INTENSITIES; v++) {
      const Case *c = cases;
      g_autoptr (GError) error = NULL;

      while (!g_str_equal (c->name, stated[i].name))
        c++;
      td_test_pin ("%s against %g", c->name, stated[i].level);
      g_autoptr (TdScan) scan = make_scan (c, FALSE, values);
      const TdScanFacts *facts = td_scan_facts (scan);
      g_assert_true (td_scan_take_white (scan, stated[i].level, "part.xtekct", &error));
      g_assert_true (td_scan_take_values (scan, v, NULL, &error));
      g_assert_cmpuint (facts->n_flats, ==, stated[i].kept);
      g_assert_cmpfloat (facts->white_level, ==, stated[i].kept ? stated[i].level : 0);
      g_assert_cmpint (facts->transmission_logged, ==,
                       v == TD_SCAN_VALUES_FOUND && stated[i].logged);
      g_autofree char *notes = td_messages_join (facts->notes, "\n", NULL);
      g_assert_cmpint (strstr (notes, "scaled since") != NULL, ==, !stated[i].kept);
      td_test_pin_notes (facts->notes);
    }
}

/* Too few columns tell nothing, and the user is told so unless somebody has said what they are. */
static void
test_few_columns (void)
{
  g_autofree float *values = g_new (float, VIEWS *ROWS *COLUMNS);

  for (guint i = 0; i < 16; i++) {
    const gboolean stated = i & 1, before = i & 2, whole = i & 4, few = i & 8;
    g_autoptr (GError) error = NULL;
    g_autoptr (TdScan) scan = make_scan (&cases[0], FALSE, values);

    scan->facts.n_columns = few ? 15 : COLUMNS;
    scan->facts.sample_type = whole ? TD_SAMPLE_UINT16 : TD_SAMPLE_FLOAT32;
    scan->values_stated = before;
    g_assert_true (td_scan_take_values (
        scan, stated ? TD_SCAN_VALUES_INTENSITIES : TD_SCAN_VALUES_FOUND, NULL, &error));
    g_autofree char *notes = td_messages_join (scan->facts.notes, "\n", NULL);
    g_assert_cmpint (strstr (notes, "columns are too few") != NULL, ==,
                     few && !stated && !before && !whole);
    td_test_pin_notes (scan->facts.notes);
  }
}

/* ── Ranks and medians ── */

static int
compare_floats (const void *a, const void *b)
{
  const float one = *(const float *) a, other = *(const float *) b;

  return (one > other) - (one < other);
}

/* As of sorted values: odd and even numbers of them, equal ones, and what is not finite. */
static void
test_ranks (void)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (5);

  for (guint run = 0; run < 400; run++) {
    const guint n = run % 21, most = run % 3 ? 1000 : 4, infinite = run % 4 ? 0 : MIN (n, 3);
    float values[24], sorted[24], moved[24];

    for (guint i = 0; i < n; i++)
      values[i] = i < infinite ? (i ? NAN : INFINITY) : (float) g_rand_int_range (random, 0, most);
    const guint finite = n - infinite;
    memcpy (sorted, values + infinite, finite * sizeof *sorted);
    qsort (sorted, finite, sizeof *sorted, compare_floats);
    for (guint rank = 0; rank < finite; rank++) {
      memcpy (moved, values + infinite, finite * sizeof *moved);
      g_assert_cmpfloat (td_float_at_rank (moved, finite, rank), ==, sorted[rank]);
    }
    const double median = td_median (values, n);
    if (finite > 0)
      g_assert_cmpfloat (median, ==, (sorted[(finite - 1) / 2] + sorted[finite / 2]) / 2);
    else
      g_assert_true (isnan (median));
  }
}

/* The rules of scan-values.c once more, of sides that are even. */
typedef enum { AIR_AT_BOTH, AIR_AT_ONE, NEAR_ONE, BRIGHT_SIDES, TURNED, UNKNOWN } Rule;

static Rule
rule_of (double left, double right, double middle)
{
  const double low = MIN (left, right), high = MAX (left, right);
  const double peak = MAX (high, middle), least = MIN (low, middle);
  const double above = peak > 0 ? peak : 0, spread = peak - least;

  if (least < -4 * above && spread > -least / 10 && high > least + spread / 2)
    return TURNED;
  if (peak <= 0 || 2 * high <= peak)
    return AIR_AT_BOTH;
  if (low <= 0 && 4 * low <= peak) /* all of its samples are */
    return AIR_AT_ONE;
  if (peak <= 1.25 && high >= 0.8 && high >= 0.95 * peak)
    return NEAR_ONE;
  return low >= 0.7 * peak && least <= 0.75 * low ? BRIGHT_SIDES : UNKNOWN;
}

/* Many profiles, on either side of each rule's limits. */
static void
test_rules (void)
{
  static const double levels[]
      = { -9,   -3.9,  -0.45, -0.12, 0,    0.1,  0.24, 0.26, 0.39, 0.45, 0.55, 0.62,
          0.69, 0.735, 0.77,  0.79,  0.82, 0.94, 0.96, 1.02, 1.24, 1.26, 1.9,  2.1 };
  enum { N = G_N_ELEMENTS (levels), WIDTH = 32 };
  double angle = 0;
  TdScanFacts facts = { .path = (char *) "rules",
                        .n_columns = WIDTH,
                        .n_rows = 1,
                        .n_views = 1,
                        .sample_type = TD_SAMPLE_FLOAT32,
                        .angles_rad = &angle,
                        .centre_px = NAN };
  guint met[UNKNOWN + 1] = { 0 };

  td_geometry_init_parallel (&facts.geometry);
  for (guint i = 0; i < N * N * N; i++) {
    const double left = levels[i % N], right = levels[i / N % N], middle = levels[i / N / N];
    const Rule rule = rule_of (left, right, middle);
    float values[WIDTH];
    g_autoptr (GError) error = NULL;

    for (guint x = 0; x < WIDTH; x++)
      values[x] = (float) (x < 2 ? left : x < WIDTH - 2 ? middle : right);
    g_autoptr (TdScan) scan = td_scan_new_from_memory (&facts, values, NULL, NULL, NULL, NULL);
    const gboolean taken = td_scan_take_values (scan, TD_SCAN_VALUES_FOUND, NULL, &error);
    met[rule]++;
    if (taken != (rule < TURNED))
      g_test_message ("%g, %g, %g: rule %u", left, right, middle, (guint) rule);
    g_assert_cmpint (taken, ==, rule < TURNED);
    if (!taken) {
      g_assert_cmpint (strstr (error->message, "without their minus") != NULL, ==, rule == TURNED);
      continue;
    }
    static const char *const whys[]
        = { "both sides of", "one side of", "is near 1", "than its middle" };
    g_autofree char *note = td_message_text (td_scan_facts (scan)->notes[0], NULL);
    g_assert_nonnull (strstr (note, whys[rule]));
    g_assert_cmpint (td_scan_facts (scan)->transmission_logged, ==, rule <= AIR_AT_ONE);
    if (rule > AIR_AT_ONE)
      g_assert_cmpint (strstr (note, "counts") != NULL, ==, MAX (MAX (left, right), middle) > 2);
  }
  for (guint rule = 0; rule <= UNKNOWN; rule++)
    g_assert_cmpuint (met[rule], >, 50);
}

/* A side of which a tenth of the samples is at or below 0 sees air, and one of which less is does
   not. */
static void
test_nils (void)
{
  enum { WIDTH = 32, LINES = 10 };
  double angle = 0;
  TdScanFacts facts = { .path = (char *) "nils",
                        .n_columns = WIDTH,
                        .n_rows = LINES,
                        .n_views = 1,
                        .sample_type = TD_SAMPLE_FLOAT32,
                        .angles_rad = &angle,
                        .centre_px = NAN };

  td_geometry_init_parallel (&facts.geometry);
  for (guint i = 0; i < 12; i++) {
    const guint n = i % 3 + 1, right = i / 3 % 2; /* n of the side's 20 samples */
    const gboolean nought = i / 6;
    float values[LINES * WIDTH];

    for (guint k = 0; k < LINES * WIDTH; k++) {
      const guint x = k % WIDTH, own = right ? WIDTH - 1 - x : x, row = k / WIDTH;
      values[k] = own < 2 ? (own == 0 && row < n ? (nought ? 0 : -0.01f) : 0.2f) : 1;
    }
    g_autoptr (TdScan) scan = td_scan_new_from_memory (&facts, values, NULL, NULL, NULL, NULL);
    g_assert_true (td_scan_take_values (scan, TD_SCAN_VALUES_FOUND, NULL, NULL));
    g_assert_cmpint (td_scan_facts (scan)->transmission_logged, ==, n >= 2);
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autofree char *name = g_strdup_printf ("/scan-values/%s", cases[i].name);

    g_test_add_data_func (name, &cases[i], test_values_told);
  }
  g_test_add_func ("/scan-values/scaled-since", test_scaled_since);
  g_test_add_func ("/scan-values/float-bits", test_float_bits);
  g_test_add_func ("/scan-values/few-columns", test_few_columns);
  g_test_add_func ("/scan-values/ranks", test_ranks);
  g_test_add_func ("/scan-values/rules", test_rules);
  g_test_add_func ("/scan-values/nils", test_nils);
  return g_test_run ();
}
