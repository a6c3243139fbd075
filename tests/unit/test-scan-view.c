/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A scan seen through a frame has the frames and facts that doing it by hand gives. */
#include <math.h>
#include <string.h>

#include "compute/cone/cone.h"
#include "dataset/error.h"
#include "dataset/scan-mask.h"
#include "dataset/scan-spool.h"
#include "dataset/scan-view.h"
#include "dataset/tiff-save.h"
#include "open-scan.h"
#include "test-folder.h"
#include "tests/common/devices.h"

#define COLUMNS 23
#define ROWS 17
#define VIEWS 11
#define FLATS 3

typedef struct {
  float frames[VIEWS][ROWS][COLUMNS], flats[FLATS][ROWS][COLUMNS];
  double angles[VIEWS], flat_positions[FLATS], monitor[VIEWS + FLATS];
  guint8 bad[ROWS][COLUMNS];
} Arrays;

static TdScan *
make_scan (Arrays *arrays)
{
  TdScanFacts facts = {
    .n_columns = COLUMNS,
    .n_rows = ROWS,
    .n_views = VIEWS,
    .n_flats = FLATS,
    .sample_type = TD_SAMPLE_UINT16,
    .angles_rad = arrays->angles,
    .flat_positions = arrays->flat_positions,
    .monitor = arrays->monitor,
    .centre_px = 10.3,
    .half_acquisition = TRUE,
    .energy_kev = 20,
    .bad_pixels = &arrays->bad[0][0],
  };

  td_test_random (&arrays->frames[0][0][0], VIEWS * ROWS * COLUMNS, 1);
  td_test_random (&arrays->flats[0][0][0], FLATS * ROWS * COLUMNS, 2);
  for (guint v = 0; v < VIEWS; v++)
    arrays->angles[v] = 6.2 + 0.03 * v - (v > 4 ? 2 * G_PI : 0);
  for (guint f = 0; f < FLATS; f++)
    arrays->flat_positions[f] = f * VIEWS / 2.0;
  for (guint i = 0; i < VIEWS + FLATS; i++)
    arrays->monitor[i] = i < VIEWS ? 100 + i : i;
  arrays->frames[4][5][6] = NAN;
  memset (arrays->bad, 0, sizeof arrays->bad);
  arrays->bad[2][1] = arrays->bad[2][2] = arrays->bad[3][1] = arrays->bad[3][2] = 1;
  for (guint r = 0; r < 6; r++)
    for (guint c = 6; c < 14; c++)
      arrays->bad[r][c] = 1;
  td_geometry_init_parallel (&facts.geometry);
  facts.geometry.pixel_width_mm = 0.5;
  facts.geometry.pixel_height_mm = 0.25;
  return td_scan_new_from_memory (&facts, &arrays->frames[0][0][0], &arrays->flats[0][0][0], NULL,
                                  NULL, NULL);
}

static const TdScanFrame frames[] = {
  { .crop_column = 4, .crop_row = 3, .crop_columns = 9, .crop_rows = 11 },
  { .bin_columns = 2, .bin_rows = 3 },
  { .bin_views = 3 },
  { .crop_column = 1,
    .crop_row = 2,
    .crop_columns = 20,
    .crop_rows = 13,
    .bin_columns = 3,
    .bin_rows = 2,
    .bin_views = 4 },
  { .flip_columns = TRUE },
  { .flip_rows = TRUE },
  { .flip_columns = TRUE,
    .flip_rows = TRUE,
    .crop_column = 2,
    .crop_row = 1,
    .crop_columns = 17,
    .crop_rows = 16,
    .bin_columns = 4,
    .bin_rows = 5,
    .bin_views = 2 },
  { .bin_columns = COLUMNS, .bin_rows = ROWS, .bin_views = VIEWS },
  { .crop_view = 3, .crop_views = 6 },
  { .crop_view = 4, .crop_views = 7, .bin_views = 3, .flip_rows = TRUE },
};

static guint
end_of_views (const TdScanFrame *frame)
{
  return frame->crop_views ? frame->crop_view + frame->crop_views : VIEWS;
}

static gboolean
is_bad (const Arrays *arrays, const TdScanFrame *frame, guint r, guint c)
{
  const guint br = MAX (frame->bin_rows, 1), bc = MAX (frame->bin_columns, 1);
  gboolean bad = TRUE;

  for (guint i = 0; i < br * bc; i++) {
    const guint row = frame->crop_row + r * br + i / bc,
                column = frame->crop_column + c * bc + i % bc;
    bad = bad
          && arrays->bad[frame->flip_rows ? ROWS - 1 - row : row]
                        [frame->flip_columns ? COLUMNS - 1 - column : column];
  }
  return bad;
}

/* The mean of the finite samples of a group, straight from the definition. */
static float
by_hand (const Arrays *arrays, TdFrameKind kind, const TdScanFrame *frame, guint f, guint r,
         guint c)
{
  const guint bins[3]
      = { MAX (frame->bin_views, 1), MAX (frame->bin_rows, 1), MAX (frame->bin_columns, 1) };
  const guint group = kind == TD_FRAME_PROJECTION ? bins[0] : 1;
  double sums[2] = { 0 };
  guint counts[2] = { 0 };

  f = kind == TD_FRAME_FLAT ? f : frame->crop_view + f * group;
  for (guint df = 0; df < group && (kind == TD_FRAME_FLAT || f + df < end_of_views (frame)); df++)
    for (guint dr = 0; dr < bins[1]; dr++)
      for (guint dc = 0; dc < bins[2]; dc++) {
        guint row = frame->crop_row + r * bins[1] + dr,
              column = frame->crop_column + c * bins[2] + dc;
        row = frame->flip_rows ? ROWS - 1 - row : row;
        column = frame->flip_columns ? COLUMNS - 1 - column : column;
        const float value = kind == TD_FRAME_FLAT ? arrays->flats[f][row][column]
                                                  : arrays->frames[f + df][row][column];
        for (guint bad = 0; bad < 2; bad++)
          if (isfinite (value) && (bad || !arrays->bad[row][column])) {
            sums[bad] += value;
            counts[bad]++;
          }
      }
  /* Of the good ones, if there is any: whether they are finite or not. */
  const gboolean all = is_bad (arrays, frame, r, c);
  return counts[all] ? (float) (sums[all] / counts[all]) : NAN;
}

static void
assert_same (float got, float expected)
{
  if (isnan (expected))
    g_assert_true (isnan (got));
  else
    g_assert_cmpfloat (got, ==, expected);
}

static void
check_frames (TdScan *view, const Arrays *arrays, TdFrameKind kind, const TdScanFrame *frame)
{
  const TdScanFacts *facts = td_scan_facts (view);
  const guint n = kind == TD_FRAME_FLAT ? facts->n_flats : facts->n_views;
  /* All, and a part from inside. */
  const guint first = n > 2 ? 1 : 0, row0 = facts->n_rows > 2 ? 1 : 0;
  const guint count = MAX (n - first, 1), rows = MAX (facts->n_rows - row0, 1);
  g_autofree float *out = g_new (float, (gsize) count *rows * facts->n_columns);
  g_autoptr (GError) error = NULL;

  td_scan_read (view, &(TdFrameRange) { kind, first, count, row0, rows }, out, NULL, &error);
  g_assert_no_error (error);
  for (guint f = 0; f < count; f++)
    for (guint r = 0; r < rows; r++)
      for (guint c = 0; c < facts->n_columns; c++)
        assert_same (out[(f * rows + r) * facts->n_columns + c],
                     by_hand (arrays, kind, frame, first + f, row0 + r, c));
  if (kind == TD_FRAME_FLAT)
    return;
  td_scan_read_sinograms (view, &(TdFrameRange) { TD_FRAME_PROJECTION, first, count, row0, rows },
                          out, NULL, &error);
  g_assert_no_error (error);
  for (guint r = 0; r < rows; r++)
    for (guint f = 0; f < count; f++)
      for (guint c = 0; c < facts->n_columns; c++)
        assert_same (out[(r * count + f) * facts->n_columns + c],
                     by_hand (arrays, kind, frame, first + f, row0 + r, c));
  check_rows_apart (view, &(TdFrameRange) { TD_FRAME_PROJECTION, first, count, row0, rows });
}

static void
test_frames (void)
{
  Arrays *arrays = g_new (Arrays, 1);
  g_autoptr (TdScan) scan = make_scan (arrays);

  check_rows_apart (scan, &(TdFrameRange) { TD_FRAME_PROJECTION, 2, 4, 1, 3 });
  for (guint i = 0; i < 2 * G_N_ELEMENTS (frames); i++) {
    const TdScanFrame *frame = &frames[i / 2];
    /* As files are that hold projections, or sinograms. */
    ((TdScanFacts *) td_scan_facts (scan))->sinogram_order = i % 2;
    const guint bc = MAX (frame->bin_columns, 1), br = MAX (frame->bin_rows, 1);
    const guint bv = MAX (frame->bin_views, 1), views = end_of_views (frame) - frame->crop_view;
    const guint columns = frame->crop_columns ? frame->crop_columns : COLUMNS;
    const guint rows = frame->crop_rows ? frame->crop_rows : ROWS;
    g_autoptr (GError) error = NULL;
    g_autoptr (TdScan) view = td_scan_view_new (scan, frame, &error);

    g_assert_no_error (error);
    const TdScanFacts *facts = td_scan_facts (view);
    g_assert_cmpuint (facts->n_columns, ==, columns / bc);
    g_assert_cmpuint (facts->n_rows, ==, rows / br);
    g_assert_cmpuint (facts->n_views, ==, (views + bv - 1) / bv);
    g_assert_cmpfloat (facts->geometry.pixel_width_mm, ==, 0.5 * bc);
    g_assert_cmpfloat (facts->geometry.pixel_height_mm, ==, 0.25 * br);
    g_assert_true (facts->half_acquisition);
    g_assert_cmpfloat (facts->energy_kev, ==, 20);
    /* A flat stays where it was taken, though no view beside it is left. */
    for (guint f = 0; f < FLATS; f++)
      g_assert_cmpfloat_with_epsilon (facts->flat_positions[f],
                                      (f * VIEWS / 2.0 - frame->crop_view) / bv, 1e-12);
    for (guint v = 0; v < facts->n_views; v++) {
      const guint members = MIN (bv, views - v * bv);
      const double expected = 6.2 + 0.03 * (frame->crop_view + v * bv + (members - 1) / 2.0);
      g_assert_cmpfloat (fabs (remainder (facts->angles_rad[v] - expected, 2 * G_PI)), <, 1e-12);
      g_assert_cmpfloat_with_epsilon (facts->monitor[v],
                                      100 + frame->crop_view + v * bv + (members - 1) / 2.0, 1e-9);
    }
    g_assert_cmpmem (facts->monitor + facts->n_views, FLATS * sizeof (double),
                     td_scan_facts (scan)->monitor + VIEWS, FLATS * sizeof (double));
    for (guint r = 0; r < facts->n_rows; r++)
      for (guint c = 0; c < facts->n_columns; c++)
        g_assert_cmpint (facts->bad_pixels[r * facts->n_columns + c], ==,
                         is_bad (arrays, frame, r, c));
    check_frames (view, arrays, TD_FRAME_PROJECTION, frame);
    check_frames (view, arrays, TD_FRAME_FLAT, frame);
  }
  g_free (arrays);
}

static float
value_at (guint view, guint row, guint column)
{
  return (float) ((view * 7 + row * 13 + column * 3) % 101);
}

/* Frames and rows of which few are held at once are joined as small ones are. The last view seen
   has but one member. */
static void
test_portions (void)
{
  static const struct {
    guint rows, views;
    gboolean by_rows;
  } cases[] = { { 1000, 5, FALSE }, { 2, 2001, TRUE } };
  const TdScanFrame pairs = { .bin_rows = 2, .bin_views = 2 };
  const guint n = 2100;

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    const guint rows = cases[i].rows, views = cases[i].views, seen = (views + 1) / 2;
    g_autofree float *values = g_new (float, (gsize) n *rows *views);
    g_autofree float *out = g_new (float, (gsize) n *rows / 2 * seen);
    g_autofree double *angles = g_new0 (double, views);
    TdScanFacts facts = { .n_columns = n,
                          .n_rows = rows,
                          .n_views = views,
                          .angles_rad = angles,
                          .centre_px = NAN,
                          .sinogram_order = cases[i].by_rows,
                          .sample_type = TD_SAMPLE_FLOAT32 };
    gsize wrong = 0;

    for (gsize k = 0; k < (gsize) n * rows * views; k++)
      values[k] = value_at ((guint) (k / n / rows), (guint) (k / n % rows), (guint) (k % n));
    td_geometry_init_parallel (&facts.geometry);
    g_autoptr (TdScan) scan = td_scan_new_from_memory (&facts, values, NULL, NULL, NULL, NULL);
    g_autoptr (TdScan) view = td_scan_view_new (scan, &pairs, NULL);
    const TdFrameRange all = { TD_FRAME_PROJECTION, 0, seen, 0, rows / 2 };
    g_assert_true (cases[i].by_rows ? td_scan_read_sinograms (view, &all, out, NULL, NULL)
                                    : td_scan_read (view, &all, out, NULL, NULL));
    for (guint v = 0; v < seen; v++)
      for (guint r = 0; r < rows / 2; r++)
        for (guint c = 0; c < n; c++) {
          const guint members = MIN (2, views - 2 * v);
          double sum = 0;
          for (guint m = 0; m < 2 * members; m++)
            sum += value_at (2 * v + m / 2, 2 * r + m % 2, c);
          const gsize at = cases[i].by_rows ? (gsize) r * seen + v : (gsize) v * (rows / 2) + r;
          wrong += out[at * n + c] != (float) (sum / (2 * members));
        }
    g_assert_cmpuint (wrong, ==, 0);
  }
}

/* A view that is missing takes along those that it is averaged with, and nobody else. */
static void
test_absent (void)
{
  Arrays *arrays = g_new (Arrays, 1);

  g_autoptr (TdScan) scan = make_scan (arrays);
  TdScanFacts *whole = (TdScanFacts *) td_scan_facts (scan);
  whole->absent = g_new0 (guint8, VIEWS);
  whole->absent[2] = whole->absent[8] = 1;
  whole->absent_why = g_strdup ("they were never written");
  for (guint i = 0; i < G_N_ELEMENTS (frames); i++) {
    const TdScanFrame *frame = &frames[i];
    const guint group = MAX (frame->bin_views, 1);
    g_autoptr (TdScan) view = td_scan_view_new (scan, frame, NULL);
    const TdScanFacts *facts = td_scan_facts (view);
    guint n_absent = 0;
    for (guint v = 0; v < facts->n_views; v++) {
      const guint from = frame->crop_view + v * group;
      const guint end = MIN (from + group, end_of_views (frame));
      const gboolean absent = (from <= 2 && 2 < end) || (from <= 8 && 8 < end);
      g_assert_cmpint (facts->absent && facts->absent[v], ==, absent);
      n_absent += absent;
    }
    g_assert_cmpint (facts->absent != NULL, ==, n_absent > 0);
  }
  const TdScanFrame between = { .crop_view = 3, .crop_views = 5 };
  g_autoptr (TdScan) view = td_scan_view_new (scan, &between, NULL);
  g_assert_null (td_scan_facts (view)->absent);
  /* What a person can state are views of the scan as it was opened. */
  static const struct {
    TdScanFrame frame;
    const char *says[2];
  } told[] = {
    { { 0 }, { "lacks 2 of 11 views (2, 8)", "--views 3:8" } },
    { { .crop_view = 1, .crop_views = 7 }, { "lacks 1 of 7 views (2)", "--views 3:8" } },
    { { .crop_view = 6, .crop_views = 5 }, { "lacks 1 of 5 views (8)", "--views 6:8" } },
    { { .crop_view = 1, .crop_views = 8, .bin_views = 2 },
      { "lacks 2 of 4 views (1 to 2, 7 to 8)", "--views 3:7" } },
  };
  for (guint i = 0; i < G_N_ELEMENTS (told); i++) {
    g_autoptr (TdScan) own = td_scan_view_new (scan, &told[i].frame, NULL);
    g_autoptr (GError) error = NULL;
    g_assert_false (td_scan_complete (own, &error));
    test_assert_sentence (error, told[i].says[0]);
    test_assert_sentence (error, told[i].says[1]);
    g_autofree char *notes = td_messages_join (td_scan_facts (own)->notes, "\n", NULL);
    g_assert_null (strstr (notes, "missing"));
  }
  /* As many parts are named as fit into a sentence. */
  static const struct {
    guint parts;
    const char *says;
  } many[] = { { 3, "lacks 3 of 11 views (0, 2, 4):" },
               { 4, "lacks 4 of 11 views (0, 2, 4, 6):" },
               { 5, "lacks 5 of 11 views (0, 2, 4, 6 and others):" },
               { 6, "lacks 6 of 11 views (0, 2, 4, 6 and others):" } };
  for (guint i = 0; i < G_N_ELEMENTS (many); i++) {
    g_autoptr (GError) error = NULL;
    for (guint v = 0; v < VIEWS; v++)
      whole->absent[v] = v % 2 == 0 && v / 2 < many[i].parts;
    g_assert_false (td_scan_complete (scan, &error));
    test_assert_sentence (error, many[i].says);
  }
  g_free (arrays);
}

enum { SPOOL_COLUMNS = 512, SPOOL_ROWS = 256, SPOOL_VIEWS = 24 };

static float
spool_value (guint view, gsize i)
{
  return (float) ((view * 1000 + i) % 60000);
}

typedef struct {
  TdScan *scan;
  gint reads, wrong; /* atomic */
} SpoolReader;

static gpointer
read_spool (gpointer data)
{
  SpoolReader *reader = data;
  const gsize frame = SPOOL_COLUMNS * SPOOL_ROWS;
  g_autofree float *out = g_new (float, SPOOL_VIEWS *frame);

  for (guint i = 0; i < 20; i++) {
    const TdFrameRange all = { TD_FRAME_PROJECTION, 0, SPOOL_VIEWS, 0, SPOOL_ROWS };
    if (!td_scan_read (reader->scan, &all, out, NULL, NULL))
      g_atomic_int_inc (&reader->wrong);
    for (gsize k = 0; k < SPOOL_VIEWS * frame; k++)
      if (out[k] != spool_value ((guint) (k / frame), k % frame)) {
        g_atomic_int_inc (&reader->wrong);
        break;
      }
    g_atomic_int_inc (&reader->reads);
  }
  return NULL;
}

/* Flats that are no samples of a copy's type make it anew. It is not taken from those who read
   projections of it. */
static void
test_spool (gconstpointer in_memory)
{
  const gsize frame = SPOOL_COLUMNS * SPOOL_ROWS;
  g_autofree float *views = g_new (float, SPOOL_VIEWS *frame), *flats = g_new (float, frame);
  g_autofree float *out = g_new (float, frame);
  g_autofree double *angles = g_new0 (double, SPOOL_VIEWS);
  TdScanFacts facts = { .n_columns = SPOOL_COLUMNS,
                        .n_rows = SPOOL_ROWS,
                        .n_views = SPOOL_VIEWS,
                        .n_flats = 1,
                        .sample_type = TD_SAMPLE_UINT16,
                        .angles_rad = angles };
  g_autoptr (GError) error = NULL;

  td_geometry_init_parallel (&facts.geometry);
  for (gsize i = 0; i < frame; i++) {
    flats[i] = i + 0.25f;
    for (guint view = 0; view < SPOOL_VIEWS; view++)
      views[view * frame + i] = spool_value (view, i);
  }
  g_autoptr (TdScan) scan = td_scan_new_from_memory (&facts, views, flats, NULL, NULL, NULL);
  g_autoptr (TdScan) spool
      = td_scan_spool_new (scan, 0, SPOOL_ROWS, TD_SAMPLE_UINT16, GPOINTER_TO_INT (in_memory));
  SpoolReader reader = { .scan = spool };
  GThread *thread = g_thread_new ("reader", read_spool, &reader);
  while (g_atomic_int_get (&reader.reads) == 0)
    g_usleep (100);
  td_scan_read (spool, &(TdFrameRange) { TD_FRAME_FLAT, 0, 1, 0, SPOOL_ROWS }, out, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpmem (out, frame * sizeof *out, flats, frame * sizeof *flats);
  g_thread_join (thread);
  g_assert_cmpint (reader.wrong, ==, 0);
}

static void
test_places (void)
{
  const TdScanFrame frame = { .crop_column = 5,
                              .crop_row = 2,
                              .crop_columns = 12,
                              .crop_rows = 9,
                              .bin_columns = 3,
                              .bin_rows = 2,
                              .flip_columns = TRUE };

  /* Column 17 from the right end of 23 is column 5 of the mirrored image: the first of a group. */
  g_assert_cmpfloat (td_scan_frame_column (&frame, 23, 17), ==, -1 / 3.0);
  g_assert_cmpfloat (td_scan_frame_column (&frame, 23, 16), ==, 0);
  g_assert_cmpfloat (td_scan_frame_row (&frame, 17, 2.5), ==, 0);
  for (double at = -3; at < 30; at += 0.7) {
    const double row = td_scan_frame_row (&frame, 17, at);
    g_assert_cmpfloat_with_epsilon (td_scan_frame_row_back (&frame, 17, row), at, 1e-12);
  }
}

/* A frame says what it leaves out and what it joins, and nothing else. */
static void
test_notes (void)
{
  static const struct {
    TdScanFrame frame;
    const char *notes;
  } cases[] = {
    { { .flip_rows = TRUE }, "" },
    { { .crop_columns = 9, .crop_rows = ROWS },
      "Cropped to columns 0 to 8 and rows 0 to 16 of 23 × 17." },
    { { .crop_row = 2, .crop_columns = COLUMNS, .crop_rows = 3 },
      "Cropped to columns 0 to 22 and rows 2 to 4 of 23 × 17." },
    { { .crop_view = 3, .crop_views = 6 }, "Views 3 to 8 of 11 are used." },
    { { .bin_columns = 2 }, "Binned: 2 × 1 pixels to one." },
    { { .bin_rows = 2 }, "Binned: 1 × 2 pixels to one." },
    { { .bin_columns = 3, .bin_rows = 3 }, "Binned: 3 × 3 pixels to one." },
    { { .bin_views = 2 }, "Binned: 2 views to one." },
  };
  Arrays *arrays = g_new (Arrays, 1);

  g_autoptr (TdScan) scan = make_scan (arrays);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GError) error = NULL;
    g_autoptr (TdScan) view = td_scan_view_new (scan, &cases[i].frame, &error);
    g_assert_no_error (error);
    g_autofree char *notes = td_messages_join (td_scan_facts (view)->notes, "\n", NULL);
    g_assert_cmpstr (notes, ==, cases[i].notes);
  }
  g_free (arrays);
}

static void
test_refused (void)
{
  static const TdScanFrame bad[] = {
    { .crop_column = 15, .crop_columns = 9, .crop_rows = 3 },
    { .crop_row = G_MAXUINT, .crop_columns = 9, .crop_rows = 3 },
    { .bin_columns = COLUMNS + 1 },
    { .bin_rows = 3, .crop_columns = 5, .crop_rows = 2 },
    { .bin_views = VIEWS + 1 },
    { .crop_view = 5, .crop_views = VIEWS - 4 },
    { .crop_view = G_MAXUINT, .crop_views = 2 },
    { .crop_view = 5, .crop_views = 3, .bin_views = 4 },
  };
  Arrays *arrays = g_new (Arrays, 1);

  g_autoptr (TdScan) scan = make_scan (arrays);
  for (guint i = 0; i < G_N_ELEMENTS (bad); i++) {
    g_autoptr (GError) error = NULL;
    g_assert_null (td_scan_view_new (scan, &bad[i], &error));
    g_assert_error (error, TD_ERROR, TD_ERROR_INVALID);
    td_test_pin_refused (error);
  }
  g_free (arrays);

  /* Golden ratio: neighbours look elsewhere. */
  const float values[4] = { 0 };
  const double angles[4] = { 0, 1.94, 3.88, 5.83 };
  const TdScanFrame pairs = { .bin_views = 2 };
  TdScanFacts facts = { .n_columns = 1,
                        .n_rows = 1,
                        .n_views = 4,
                        .angles_rad = (double *) angles,
                        .sample_type = TD_SAMPLE_FLOAT32 };
  g_autoptr (GError) error = NULL;
  td_geometry_init_parallel (&facts.geometry);
  g_autoptr (TdScan) golden = td_scan_new_from_memory (&facts, values, NULL, NULL, NULL, NULL);
  g_assert_null (td_scan_view_new (golden, &pairs, &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_INVALID);
  td_test_pin_refused (error);

  /* Nor is there one matrix for two views, however near they are. */
  double near[4] = { 0, 0.01, 0.02, 0.03 }, matrices[48];
  g_autoptr (GError) of_matrices = NULL;
  for (guint i = 0; i < G_N_ELEMENTS (matrices); i++)
    matrices[i] = i % 5 == 0;
  facts.angles_rad = near;
  facts.geometry.beam = TD_BEAM_CONE;
  facts.geometry.source_axis_mm = 100;
  facts.geometry.source_detector_mm = 300;
  facts.geometry.view_matrices = matrices;
  facts.geometry.n_view_matrices = 4;
  g_autoptr (TdScan) cone = td_scan_new_from_memory (&facts, values, NULL, NULL, NULL, NULL);
  g_assert_null (td_scan_view_new (cone, &pairs, &of_matrices));
  test_assert_sentence (of_matrices, "a projection matrix for every view");
}

/* A point in space meets the same place of the detector through the geometry as seen. */
static void
check_cone (TdGeometry *geometry, const TdScanFrame *frame)
{
  Arrays *arrays = g_new0 (Arrays, 1);
  TdScanFacts facts = {
    .n_columns = COLUMNS,
    .n_rows = ROWS,
    .n_views = geometry->view_matrices ? geometry->n_view_matrices : 1,
    .sample_type = TD_SAMPLE_FLOAT32,
    .angles_rad = arrays->angles,
    .centre_px = NAN,
  };
  const double points[][3] = { { 0, 0, 0 }, { 1, -2, 3 }, { -3, 1, -1 } };
  double before[12], after[12];

  td_geometry_copy (&facts.geometry, geometry);
  g_autoptr (TdScan) scan
      = td_scan_new_from_memory (&facts, &arrays->frames[0][0][0], NULL, NULL, NULL, NULL);
  g_autoptr (TdScan) view = td_scan_view_new (scan, frame, NULL);
  const TdScanFacts *seen = td_scan_facts (view);
  if (geometry->view_matrices) {
    g_autoptr (GError) error = NULL;
    g_assert_null (td_scan_view_new (scan, &(TdScanFrame) { .bin_views = 2 }, &error));
    g_assert_nonnull (strstr (error->message, "average its columns and rows instead (--bin)"));
    memcpy (before, geometry->view_matrices, sizeof before);
    memcpy (after, seen->geometry.view_matrices, sizeof after);
  } else {
    td_cone_matrix (geometry, 0.4, COLUMNS, ROWS, before);
    td_cone_matrix (&seen->geometry, 0.4, seen->n_columns, seen->n_rows, after);
  }
  /* How far the middle of what is left is from the detector's, in pixels as they are seen. */
  const double left = frame->crop_column + (frame->crop_columns - 1) / 2.0;
  const double down = frame->crop_row + (frame->crop_rows - 1) / 2.0;
  g_assert_cmpfloat_with_epsilon (seen->geometry.cropped_px[0],
                                  (left - (COLUMNS - 1) / 2.0) / frame->bin_columns, 1e-12);
  g_assert_cmpfloat_with_epsilon (seen->geometry.cropped_px[1],
                                  (down - (ROWS - 1) / 2.0) / frame->bin_rows, 1e-12);
  g_assert_true (td_cone_matrix_normalise (before));
  g_assert_true (td_cone_matrix_normalise (after));
  for (guint i = 0; i < G_N_ELEMENTS (points); i++) {
    double u, v, w, seen_u, seen_v, seen_w;
    td_cone_project (before, points[i], &u, &v, &w);
    td_cone_project (after, points[i], &seen_u, &seen_v, &seen_w);
    g_assert_cmpfloat_with_epsilon (seen_u, td_scan_frame_column (frame, COLUMNS, u), 1e-9);
    g_assert_cmpfloat_with_epsilon (seen_v, td_scan_frame_row (frame, ROWS, v), 1e-9);
    g_assert_cmpfloat_with_epsilon (seen_w, w, 1e-9);
  }
  td_geometry_clear (&facts.geometry);
  g_free (arrays);
}

static void
test_cone (void)
{
  const TdScanFrame frame = { .crop_column = 3,
                              .crop_row = 4,
                              .crop_columns = 18,
                              .crop_rows = 11,
                              .bin_columns = 2,
                              .bin_rows = 3 };
  TdGeometry geometry = {
    .beam = TD_BEAM_CONE,
    .pixel_width_mm = 0.8,
    .pixel_height_mm = 0.7,
    .source_axis_mm = 50,
    .source_detector_mm = 90,
    .detector_offset_u_px = 1.7,
    .detector_offset_v_px = -0.6,
    .axis_offset_mm = 0.3,
    .detector_tilt_rad = { 0.03, -0.05, 0.1 },
  };

  check_cone (&geometry, &frame);
  geometry.view_matrices = g_new (double, 24);
  geometry.n_view_matrices = 2;
  td_cone_matrix (&geometry, 0.2, COLUMNS, ROWS, geometry.view_matrices);
  td_cone_matrix (&geometry, 0.21, COLUMNS, ROWS, geometry.view_matrices + 12);
  check_cone (&geometry, &frame);
  td_geometry_clear (&geometry);
}

/* Turned by a quarter to the left: every kind of frame, any rows, bad pixels, sizes; and where rays
 * meet it. */
static void
test_turned (void)
{
  g_autofree Arrays *arrays = g_new (Arrays, 1);
  g_autoptr (GError) error = NULL;
  g_autoptr (TdScan) scan = make_scan (arrays);
  const TdScanFrame crop = { .crop_column = 2, .crop_row = 1, .crop_columns = 20, .crop_rows = 13 };
  g_autoptr (TdScan) inner = td_scan_view_new (scan, &crop, &error);
  const TdScanFrame turn = { .turned = TRUE };
  g_autoptr (TdScan) turned = td_scan_view_new (inner, &turn, &error);
  g_assert_no_error (error);
  const TdScanFacts *facts = td_scan_facts (turned);
  float out[4 * 13];
  TdScanFrame frame;

  g_assert_true (td_scan_view_base (turned, &frame) == scan);
  g_assert_true (td_scan_frame_equal (
      &frame,
      &(TdScanFrame) { .crop_column = 2, .crop_row = 1, .crop_columns = 20, .crop_rows = 13 }));
  g_assert_false (td_scan_frame_is_plain (&turn));
  g_assert_cmpuint (facts->n_columns, ==, 13);
  g_assert_cmpuint (facts->n_rows, ==, 20);
  g_assert_cmpfloat (facts->geometry.pixel_width_mm, ==, 0.25);
  g_assert_cmpfloat (facts->geometry.pixel_height_mm, ==, 0.5);
  for (guint row = 0; row < 20; row += 4) {
    for (guint kind = 0; kind < 2; kind++) {
      td_scan_read (turned,
                    &(TdFrameRange) { kind ? TD_FRAME_FLAT : TD_FRAME_PROJECTION, 2, 1, row, 4 },
                    out, NULL, &error);
      g_assert_no_error (error);
      for (guint r = 0; r < 4; r++)
        for (guint c = 0; c < 13; c++) {
          const guint v = 1 + c, u = 2 + 19 - (row + r);
          g_assert_cmpfloat (out[r * 13 + c], ==,
                             kind ? arrays->flats[2][v][u] : arrays->frames[2][v][u]);
          g_assert_cmpuint (facts->bad_pixels[(row + r) * 13 + c], ==, arrays->bad[v][u]);
        }
    }
  }
}

/* A point that was seen at (u, v) is seen at (v, n_columns - 1 - u), by distances and by matrices.
 */
static void
test_turned_geometry (void)
{
  const double point[3] = { 3, -2, 5 }, angle = 0.7;

  for (guint own = 0; own < 2; own++) {
    TdGeometry geometry = { .beam = TD_BEAM_CONE,
                            .pixel_width_mm = 0.5,
                            .pixel_height_mm = 0.25,
                            .source_axis_mm = 200,
                            .source_detector_mm = 300,
                            .axis_offset_mm = 1,
                            .detector_offset_u_px = 2.5,
                            .detector_offset_v_px = -4,
                            .detector_tilt_rad = { 0.1, -0.2, 1.4 } };
    double m[12], u, v, w, turned_u, turned_v;

    td_cone_matrix (&geometry, angle, COLUMNS, ROWS, m);
    if (own) {
      geometry.view_matrices = g_memdup2 (m, sizeof m);
      geometry.n_view_matrices = 1;
    }
    td_cone_project (m, point, &u, &v, &w);
    g_assert_true (td_cone_portrait (&geometry, COLUMNS, ROWS));
    td_geometry_turn_image (&geometry, COLUMNS);
    g_assert_false (td_cone_portrait (&geometry, ROWS, COLUMNS));
    g_assert_true (td_cone_view_matrix (&geometry, &angle, 0, ROWS, COLUMNS, m));
    td_cone_project (m, point, &turned_u, &turned_v, &w);
    g_assert_cmpfloat_with_epsilon (turned_u, v, 1e-9);
    g_assert_cmpfloat_with_epsilon (turned_v, COLUMNS - 1 - u, 1e-9);
    td_geometry_clear (&geometry);
  }
}

/* A mask lies as the frames are stored, and marks what is not 0. It is one image, as large as they
   are, and leaves half of them at least. */
static void
test_masks (void)
{
  static const struct {
    guint width, height, images;
    guint n_bad;      /* from the first pixel on */
    const char *says; /* NULL: it is taken */
  } cases[] = {
    { COLUMNS, ROWS, 1, 5, NULL },
    { COLUMNS, ROWS, 1, 0, NULL },
    { COLUMNS, ROWS, 1, COLUMNS * ROWS / 2, NULL },
    { COLUMNS, ROWS, 1, COLUMNS * ROWS / 2 + 1, "less than half" },
    { COLUMNS, ROWS, 2, 5, "2 images of 23 × 17" },
    { COLUMNS - 1, ROWS, 1, 5, "1 image of 22 × 17" },
    { COLUMNS, ROWS + 1, 1, 5, "1 image of 23 × 18" },
    { ROWS, COLUMNS, 1, 5, "1 image of 17 × 23" },
    { 0, 0, 0, 0, "The mask of bad pixels: " },
  };
  static Arrays arrays;
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "mask.tif");
  g_autoptr (TdScan) scan = make_scan (&arrays);
  const TdScanFrame turned_over = { .flip_columns = TRUE, .flip_rows = TRUE };
  g_autoptr (TdScan) over = td_scan_view_new (scan, &turned_over, NULL);

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    const TdTiffImage image = { cases[i].width, cases[i].height, TD_SAMPLE_FLOAT32, 0, NULL };
    float samples[COLUMNS * (ROWS + 1)] = { 0 };
    g_autoptr (GError) error = NULL, again = NULL;

    g_remove (path);
    for (guint k = 0; k < cases[i].n_bad; k++)
      samples[k] = k % 3 == 0 ? -0.25f : k % 3 == 1 ? 1 : NAN;
    if (cases[i].images) {
      TdTiffSave *save = td_tiff_save_new (path, path, &image, cases[i].images, FALSE, NULL);
      for (guint k = 0; k < cases[i].images; k++)
        g_assert_true (td_tiff_save_image (save, k, samples, NULL));
      g_assert_true (td_tiff_save_close (save, NULL));
    }
    g_autoptr (TdScan) masked = td_scan_with_mask (scan, path, &error);
    g_autoptr (TdScan) seen = td_scan_with_mask (over, path, &again);
    const gboolean fits = td_scan_mask_fits (scan, path, NULL);
    g_test_message ("%u: %s", i, error ? error->message : "taken");
    g_assert_cmpint (fits, ==, !cases[i].says || strstr (cases[i].says, "half"));
    if (cases[i].says) {
      g_assert_null (masked);
      g_assert_null (seen);
      test_assert_sentence (error, cases[i].says);
      continue;
    }
    g_assert_no_error (error);
    g_assert_no_error (again);
    for (guint k = 0; k < COLUMNS * ROWS; k++) {
      g_assert_cmpuint (td_scan_facts (masked)->bad_pixels[k], ==, k < cases[i].n_bad);
      g_assert_cmpuint (td_scan_facts (seen)->bad_pixels[COLUMNS * ROWS - 1 - k], ==,
                        k < cases[i].n_bad);
    }
    g_assert_cmpfloat (first_value (masked, TD_FRAME_PROJECTION, 2), ==, arrays.frames[2][0][0]);
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/scan-view/frames", test_frames);
  g_test_add_func ("/scan-view/portions", test_portions);
  g_test_add_func ("/scan-view/absent", test_absent);
  g_test_add_data_func ("/scan-view/spool/memory", GINT_TO_POINTER (TRUE), test_spool);
  g_test_add_data_func ("/scan-view/spool/file", GINT_TO_POINTER (FALSE), test_spool);
  g_test_add_func ("/scan-view/places", test_places);
  g_test_add_func ("/scan-view/notes", test_notes);
  g_test_add_func ("/scan-view/refused", test_refused);
  g_test_add_func ("/scan-view/cone", test_cone);
  g_test_add_func ("/scan-view/turned", test_turned);
  g_test_add_func ("/scan-view/turned-geometry", test_turned_geometry);
  g_test_add_func ("/scan-view/masks", test_masks);
  return g_test_run ();
}
