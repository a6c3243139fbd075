/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Intensities and attenuations are told apart, or the user is asked. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dataset/angles.h"
#include "dataset/scan-private.h"
#include "dataset/sort.h"
#include "test-folder.h"

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
    if (c->type != TD_SAMPLE_UINT16) {
      g_autofree char *note = td_message_text (facts->notes[0], NULL);

      g_assert_nonnull (strstr (note, c->expected == ATTENUATIONS ? "attenuations" : ": "));
      g_assert_nonnull (strstr (note, "--values"));
    }
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
      g_test_message ("%s against %g", c->name, stated[i].level);
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

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autofree char *name = g_strdup_printf ("/scan-values/%s", cases[i].name);

    g_test_add_data_func (name, &cases[i], test_values_told);
  }
  g_test_add_func ("/scan-values/scaled-since", test_scaled_since);
  g_test_add_func ("/scan-values/few-columns", test_few_columns);
  g_test_add_func ("/scan-values/ranks", test_ranks);
  return g_test_run ();
}
