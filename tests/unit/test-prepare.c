/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The intensity steps on every device agree with their formulas in double precision. Every step
   takes rows cut anyhow, odd shapes, and constant and empty sinograms. */
#include <math.h>
#include <string.h>

#include "compute/prepare/bad-pixels.h"
#include "compute/prepare/dose.h"
#include "compute/portion.h"
#include "compute/prepare/flats.h"
#include "compute/prepare/paganin.h"
#include "compute/prepare/prepared-rows.h"
#include "compute/prepare/steps.h"
#include "compute/row-range.h"
#include "dataset/scan-view.h"
#include "tests/common/cone-scan.h"
#include "tests/common/devices.h"
#include "tests/common/faulty.h"
#include "tests/common/frames.h"
#include "tests/common/pins.h"
#include "tests/common/scarce.h"

/* ── Against the formulas ── */

typedef struct {
  const char *step;
  TdIntensityReference reference;
  TdTestContent content;
} Case;

static const Case cases[] = {
  { "bad-pixels:find=0", td_reference_bad_pixels, TD_TEST_INTENSITIES },
  { "bad-pixels:find=0:reach=0", td_reference_bad_pixels, TD_TEST_INTENSITIES },
  { "bad-pixels:find=0:reach=5", td_reference_bad_pixels, TD_TEST_INTENSITIES },
  { "zingers", td_reference_zingers, TD_TEST_INTENSITIES },
  { "zingers:size=1:kind=2:threshold=0.15", td_reference_zingers, TD_TEST_INTENSITIES },
  { "zingers:kind=1:threshold=0.2:least=250", td_reference_zingers, TD_TEST_INTENSITIES },
  { "zingers:size=1:kind=1:threshold=0.05", td_reference_zingers, TD_TEST_INTENSITIES },
  { "flat-field", td_reference_flat_field, TD_TEST_INTENSITIES },
  { "flat-field:drift=0", td_reference_flat_field, TD_TEST_INTENSITIES },
  { "flat-field:drift=2", td_reference_flat_field, TD_TEST_INTENSITIES },
  { "flat-field:average=1", td_reference_flat_field, TD_TEST_INTENSITIES },
  { "flat-field:average=1:drift=0", td_reference_flat_field, TD_TEST_INTENSITIES },
  { "flat-field:white=3000", td_reference_flat_field, TD_TEST_INTENSITIES },
  { "dose", td_reference_dose, TD_TEST_AIR },
  { "dose:columns=3", td_reference_dose, TD_TEST_AIR },
  { "dose:air=1", td_reference_dose, TD_TEST_TRANSMISSIONS },
  { "dose:air=1:columns=200", td_reference_dose, TD_TEST_TRANSMISSIONS },
  { "double-flat", td_reference_double_flat, TD_TEST_TRANSMISSIONS },
  { "double-flat:width=1.5", td_reference_double_flat, TD_TEST_TRANSMISSIONS },
  { "double-flat:width=60", td_reference_double_flat, TD_TEST_TRANSMISSIONS },
  { "minus-log", td_reference_minus_log, TD_TEST_TRANSMISSIONS },
  { "minus-log:floor=0.01", td_reference_minus_log, TD_TEST_TRANSMISSIONS },
  { "zingers-angle", td_reference_zingers_angle, TD_TEST_LINE_INTEGRALS },
  { "zingers-angle:size=1:kind=0", td_reference_zingers_angle, TD_TEST_LINE_INTEGRALS },
  { "zingers-angle:size=2:kind=1:threshold=0.05", td_reference_zingers_angle,
    TD_TEST_LINE_INTEGRALS },
  { "zingers-angle:size=3:threshold=0.1", td_reference_zingers_angle, TD_TEST_LINE_INTEGRALS },
  { "beam-hardening", td_reference_beam_hardening, TD_TEST_LINE_INTEGRALS },
  { "beam-hardening:a1=0.9:a2=-0.3:a3=0.11:a4=0.02:a5=-0.005", td_reference_beam_hardening,
    TD_TEST_LINE_INTEGRALS },
};

static const guint shapes[][3] = {
  /* rows, views, columns */
  { 1, 1, 1 },   { 1, 1, 50 }, { 1, 30, 1 },  { 2, 2, 2 },
  { 1, 33, 31 }, { 7, 9, 19 }, { 5, 70, 33 }, { 12, 5, 150 },
};

static void
check_case (TdDevice *device, gconstpointer user)
{
  const Case *one = user;
  TdStep step = td_test_step (one->step);

  for (guint s = 0; s < G_N_ELEMENTS (shapes); s++) {
    TdTestFrames x;
    td_test_frames_init (&x, shapes[s][0], shapes[s][1], shapes[s][2], one->content);
    g_autofree double *expected = td_test_frames_sinograms (&x);
    one->reference (&x.frames, &step, expected);
    g_autofree float *got = td_test_frames_run (device, &x, &step, 1, 0, x.frames.n_rows, NULL);
    td_test_frames_compare (&x, one->step, got, expected);
    td_test_frames_clear (&x);
  }
}

static void
test_formulas (gconstpointer id)
{
  TdDevice *device = td_test_open (id);

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    td_test_each_path (device, check_case, &cases[i]);
  td_test_close (device);
}

/* An air region, of all rows and of a part. */
static void
check_region (TdDevice *device, gconstpointer unused)
{
  static const char *const regions[]
      = { "dose:air=2:x=3:y=0:width=10:height=5", "dose:air=2:x=0:y=2:width=1:height=1",
          "dose:air=2:x=28:y=1:width=5:height=3" };

  for (guint i = 0; i < G_N_ELEMENTS (regions); i++) {
    TdStep step = td_test_step (regions[i]);
    TdTestFrames x;
    td_test_frames_init (&x, 5, 17, 33, TD_TEST_TRANSMISSIONS);
    g_autofree double *expected = td_test_frames_sinograms (&x);
    td_reference_dose (&x.frames, &step, expected);
    g_autofree float *got = td_test_frames_run (device, &x, &step, 1, 0, 5, NULL);
    td_test_frames_compare (&x, regions[i], got, expected);
    td_test_frames_clear (&x);
  }
}

#define DOSE_VIEWS 6u
#define DOSE_COLUMNS 60u
#define DOSE_ROWS 44u

/* A memory scan of @n_columns × @n_rows whose borders left and right tell other doses than those
   above and below. */
static TdScan *
new_dose_scan (guint n_columns, guint n_rows, const float *values)
{
  double angles[DOSE_VIEWS];
  const TdScanFacts facts = { .n_columns = n_columns,
                              .n_rows = n_rows,
                              .n_views = DOSE_VIEWS,
                              .sample_type = TD_SAMPLE_FLOAT32,
                              .angles_rad = angles,
                              .centre_px = NAN,
                              .geometry = TD_TEST_CONE_BEAM };
  g_autoptr (GError) error = NULL;

  for (guint v = 0; v < DOSE_VIEWS; v++)
    angles[v] = 2 * G_PI * v / DOSE_VIEWS;
  TdScan *scan = td_scan_new_from_memory (&facts, values, NULL, NULL, NULL, &error);
  g_assert_no_error (error);
  return scan;
}

/* The borders of frames that lie on their side are those beside the axis, as of upright ones. They
   are the whole detector's, however it is cropped. */
static void
test_dose_turned (void)
{
  static float upright[DOSE_VIEWS][DOSE_ROWS][DOSE_COLUMNS];
  static float side[DOSE_VIEWS][DOSE_COLUMNS][DOSE_ROWS];
  const TdScanFrame turn = { .turned = TRUE };
  const TdScanFrame crop = {
    .crop_column = 3, .crop_row = 5, .crop_columns = DOSE_ROWS - 5, .crop_rows = DOSE_COLUMNS - 9
  };

  for (guint v = 0; v < DOSE_VIEWS; v++)
    for (guint row = 0; row < DOSE_ROWS; row++)
      for (guint c = 0; c < DOSE_COLUMNS; c++) {
        const gboolean sample = c > 9 && c < DOSE_COLUMNS - 9;
        upright[v][row][c] = (float) ((sample ? 0.3 : 1 + 0.02 * v) + 0.001 * ((row * 7 + c) % 5));
        side[v][c][DOSE_ROWS - 1 - row] = upright[v][row][c];
      }
  g_autoptr (TdScan) stands = new_dose_scan (DOSE_COLUMNS, DOSE_ROWS, upright[0][0]);
  g_autoptr (TdScan) lies = new_dose_scan (DOSE_ROWS, DOSE_COLUMNS, side[0][0]);
  g_autoptr (TdScan) part = td_scan_view_new (lies, &crop, NULL);
  g_autoptr (TdFlats) wanted = td_flats_new (stands);
  for (guint columns = 1; columns < 40; columns += 19)
    for (guint cropped = 0; cropped < 2; cropped++) {
      g_autoptr (GError) error = NULL;
      const TdDoseSpec spec = { .borders = TRUE, .columns = columns };
      g_autoptr (TdScan) turned = td_scan_view_new (cropped ? part : lies, &turn, &error);
      g_assert_no_error (error);
      g_autoptr (TdFlats) flats = td_flats_new (turned);
      g_autoptr (GBytes) expected = td_dose_of_views (wanted, &spec, NULL, &error);
      g_assert_no_error (error);
      g_autoptr (GBytes) found = td_dose_of_views (flats, &spec, NULL, &error);
      g_assert_no_error (error);
      g_assert_true (g_bytes_equal (found, expected));
    }
}

/* By the monitor, against plain means: of the views where no flat divides, of all flats, or between
   flats before and after. */
static void
test_dose_monitor (void)
{
  enum { N = 10, FLATS = 5, PIXELS = 6 };
  static const char *const steps[]
      = { "flat-field:drift=none", "flat-field:drift=views", "flat-field:drift=angles",
          "flat-field:white=800", "flat-field:average=median:drift=none" };
  static const double positions[FLATS] = { 0, 0, N, N, N };
  static const double of_flats[FLATS] = { 2, 4, 7, 8, 9.3 };
  double monitor[N + FLATS], angles[N], views_mean = 0;
  float views[N * PIXELS], flats[FLATS * PIXELS];

  for (guint v = 0; v < N; v++) {
    monitor[v] = 5 + v % 3 + 0.25 * v;
    views_mean += monitor[v] / N;
    angles[v] = 0.3 * v;
  }
  memcpy (monitor + N, of_flats, sizeof of_flats);
  for (guint i = 0; i < G_N_ELEMENTS (views); i++)
    views[i] = 500;
  for (guint i = 0; i < G_N_ELEMENTS (flats); i++)
    flats[i] = 1000;
  for (guint i = 0; i < 4 * G_N_ELEMENTS (steps); i++) {
    const gboolean disabled = i & 1, none = i & 2;
    TdStep flat = td_test_step (steps[i / 4]);
    const TdScanFacts facts = { .n_columns = 3,
                                .n_rows = 2,
                                .n_views = N,
                                .n_flats = none ? 0 : FLATS,
                                .sample_type = TD_SAMPLE_UINT16,
                                .angles_rad = angles,
                                .flat_positions = none ? NULL : (double *) positions,
                                .monitor = monitor,
                                .centre_px = NAN };
    g_autoptr (TdScan) scan
        = td_scan_new_from_memory (&facts, views, none ? NULL : flats, NULL, NULL, NULL);
    g_autoptr (TdFlats) own = td_flats_new (scan);
    g_autoptr (GError) error = NULL;
    const guint drift = (guint) flat.values[TD_FLAT_FIELD_DRIFT];
    const gboolean by_views = disabled || none || flat.values[TD_FLAT_FIELD_WHITE] > 0;
    const gboolean median = flat.values[TD_FLAT_FIELD_AVERAGE] == TD_FLAT_FIELD_MEDIAN;

    flat.enabled = !disabled;
    const TdDoseSpec spec = { .monitor = TRUE, .flat_field = flat };
    g_autoptr (GBytes) bytes = td_dose_of_views (own, &spec, NULL, &error);
    g_assert_no_error (error);
    const float *doses = g_bytes_get_data (bytes, NULL);
    for (guint v = 0; v < N; v++) {
      const double share = (v + 0.5) / N;
      const double beam = by_views                            ? views_mean
                          : drift != TD_FLAT_FIELD_DRIFT_NONE ? 3 + share * (8.1 - 3)
                          : median                            ? 7
                                                              : 30.3 / FLATS;
      g_test_message ("%s, disabled %d, no flats %d, view %u: %g", steps[i / 4], disabled, none, v,
                      doses[v]);
      g_assert_cmpfloat_with_epsilon (doses[v], monitor[v] / beam, 1e-5);
    }
  }
}

static void
test_dose_region (gconstpointer id)
{
  TdDevice *device = td_test_open (id);
  TdStep outside = td_test_step ("dose:air=2:x=30:y=0:width=10:height=5");
  TdTestFrames x;

  td_test_each_path (device, check_region, NULL);
  td_test_frames_init (&x, 5, 17, 33, TD_TEST_TRANSMISSIONS);
  g_autoptr (GError) error = NULL;
  g_autoptr (TdQueue) queue = td_queue_new (device, &error);
  g_autoptr (TdBuffer) buffer = td_buffer_new (device, 5 * 17 * 33 * sizeof (float), &error);
  g_autoptr (TdPreparation) preparation
      = td_preparation_new (device, x.scan, NULL, &outside, 1, &error);
  g_assert_no_error (error);
  g_assert_false (td_preparation_run (preparation, queue, buffer, 0, 5, NULL, &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_INVALID);
  td_test_pin_refused (error);
  g_assert_nonnull (strstr (error->message, "33 × 5"));
  g_clear_pointer (&preparation, td_preparation_free);
  g_clear_pointer (&buffer, td_buffer_free);
  g_clear_pointer (&queue, td_queue_free);
  td_test_frames_clear (&x);
  td_test_close (device);
}

/* Flats or darks, mended as if they were the views of a scan. */
static float *
mend_frames (const TdFrames *frames, const float *from, guint n, const TdStep *step)
{
  TdFrames as_views = *frames;
  guint n_rows = frames->n_rows, n_columns = frames->n_columns;
  gsize row = (gsize) n * n_columns, frame = (gsize) n_rows * n_columns;
  g_autofree double *values = g_new (double, n_rows *row);
  float *mended = g_new (float, n_rows *row);

  as_views.n_views = n;
  for (guint r = 0; r < n_rows; r++)
    for (gsize i = 0; i < row; i++)
      values[r * row + i] = from[i / n_columns * frame + r * n_columns + i % n_columns];
  td_reference_bad_pixels (&as_views, step, values);
  for (guint r = 0; r < n_rows; r++)
    for (gsize i = 0; i < row; i++)
      mended[i / n_columns * frame + r * n_columns + i % n_columns] = (float) values[r * row + i];
  return mended;
}

/* All of them, one after another: bad pixels are mended in the flats as in the frames. */
static void
check_chain (TdDevice *device, gconstpointer unused)
{
  static const struct {
    const char *step;
    TdIntensityReference reference;
  } chain[] = {
    { "bad-pixels:find=0", td_reference_bad_pixels },
    { "zingers", td_reference_zingers },
    { "flat-field", td_reference_flat_field },
    { "dose:air=1", td_reference_dose },
    { "double-flat", td_reference_double_flat },
    { "minus-log", td_reference_minus_log },
    { "zingers-angle", td_reference_zingers_angle },
    { "beam-hardening", td_reference_beam_hardening },
  };
  TdStep steps[G_N_ELEMENTS (chain)];
  TdTestFrames x;

  td_test_frames_init (&x, 6, 40, 37, TD_TEST_INTENSITIES);
  g_autofree double *expected = td_test_frames_sinograms (&x);
  for (guint i = 0; i < G_N_ELEMENTS (chain); i++)
    steps[i] = td_test_step (chain[i].step);
  TdFrames mended = x.frames;
  g_autofree float *flats = mend_frames (&x.frames, x.flats, x.frames.n_flats, &steps[0]);
  g_autofree float *darks = mend_frames (&x.frames, x.darks, x.frames.n_darks, &steps[0]);
  mended.flats = flats;
  mended.darks = darks;
  for (guint i = 0; i < G_N_ELEMENTS (chain); i++)
    chain[i].reference (&mended, &steps[i], expected);
  g_autofree float *got
      = td_test_frames_run (device, &x, steps, G_N_ELEMENTS (chain), 0, x.frames.n_rows, NULL);
  td_test_frames_compare (&x, "chain", got, expected);
  td_test_frames_clear (&x);
}

static void
test_chain (gconstpointer id)
{
  TdDevice *device = td_test_open (id);

  td_test_each_path (device, check_chain, NULL);
  td_test_close (device);
}

/* ── Every step of the table ── */

/* A row comes out the same whatever slab it came in, to the last bit. */
static void
check_cuts (TdDevice *device, const TdStep *steps, guint n_steps, TdTestContent content)
{
  TdTestFrames x;

  td_test_frames_init (&x, 9, 31, 41, content);
  guint halo = td_preparation_halo (steps, n_steps, td_scan_facts (x.scan));
  gsize row = (gsize) x.frames.n_views * x.frames.n_columns;
  g_autofree float *whole = td_test_frames_run (device, &x, steps, n_steps, 0, 9, NULL);
  for (guint from = 0; from < 9; from += 4)
    for (guint n = 1; n <= 2; n++) {
      guint first = from - MIN (from, halo), end = MIN (9, MIN (9, from + n) + halo);
      g_autofree float *part = td_test_frames_run (device, &x, steps, n_steps, first, end, NULL);
      for (guint r = from; r < MIN (9, from + n); r++)
        for (gsize i = 0; i < row; i++)
          if (part[(r - first) * row + i] != whole[r * row + i]) {
            td_test_pin ("%s: row %u differs in a slab of rows %u to %u", steps[n_steps - 1].name,
                         r, first, end);
            g_test_fail ();
            break;
          }
    }
  td_test_frames_clear (&x);
}

static TdTestContent
content_for (const TdStepKind *kind)
{
  if (kind->stage == TD_STEP_INTENSITY || strcmp (kind->name, "flat-field") == 0)
    return TD_TEST_INTENSITIES;
  return kind->stage == TD_STEP_FLAT ? TD_TEST_TRANSMISSIONS : TD_TEST_LINE_INTEGRALS;
}

static void
test_cuts (gconstpointer id)
{
  TdDevice *device = td_test_open (id);
  TdStep all[32];
  guint n = 0;

  for (const TdStepKind *const *kind = td_prepare_steps (); *kind; kind++, n++) {
    td_step_init (&all[n], *kind);
    check_cuts (device, &all[n], 1, content_for (*kind));
  }
  check_cuts (device, all, n, TD_TEST_INTENSITIES);
  td_test_close (device);
}

/* What a preparation keeps of one slab (flats, masks, doses, tables) does not harm the next slab.
   That may be larger, smaller, above, below or the same once more. Nor does it matter that all of
   it is worked through in many portions. */
static void
check_kept (TdDevice *device, const TdStep *steps, guint n_steps, TdTestContent content)
{
  static const guint slabs[][2]
      = { { 0, 4 }, { 4, 8 }, { 4, 9 }, { 2, 5 }, { 3, 6 }, { 0, 4 }, { 7, 9 }, { 0, 9 } };
  TdTestFrames x;
  g_autoptr (GError) error = NULL;

  td_test_frames_init (&x, 9, 31, 41, content);
  const guint halo = td_preparation_halo (steps, n_steps, td_scan_facts (x.scan));
  const gsize row = (gsize) x.frames.n_views * x.frames.n_columns;
  g_autofree float *whole = td_test_frames_run (device, &x, steps, n_steps, 0, 9, NULL);
  g_autoptr (TdPreparation) preparation
      = td_preparation_new (device, x.scan, NULL, steps, n_steps, &error);
  g_assert_no_error (error);
  td_portion_shift = 18;
  for (guint s = 0; s < G_N_ELEMENTS (slabs); s++) {
    const guint from = slabs[s][0], to = slabs[s][1];
    const guint first = from - MIN (from, halo), end = MIN (9, to + halo);
    g_autofree float *part = td_test_frames_prepare (preparation, device, &x, first, end);
    if (memcmp (part + (from - first) * row, whole + from * row, (to - from) * row * sizeof (float))
        != 0) {
      td_test_pin ("%s: rows %u to %u differ, slab %u of one preparation", steps[n_steps - 1].name,
                   from, to, s);
      g_test_fail ();
    }
  }
  td_portion_shift = 0;
  td_test_frames_clear (&x);
}

static void
test_kept (gconstpointer id)
{
  static const char *const texts[]
      = { "bad-pixels:find=0", "bad-pixels:find=1", "flat-field:average=1", "dose:air=1" };
  TdDevice *device = td_test_open (id);
  TdStep all[32];
  guint n = 0;

  for (const TdStepKind *const *kind = td_prepare_steps (); *kind; kind++, n++) {
    td_step_init (&all[n], *kind);
    check_kept (device, &all[n], 1, content_for (*kind));
  }
  for (guint i = 0; i < G_N_ELEMENTS (texts); i++) {
    const TdStep step = td_test_step (texts[i]);
    check_kept (device, &step, 1, TD_TEST_INTENSITIES);
  }
  check_kept (device, all, n, TD_TEST_INTENSITIES);
  td_test_close (device);
}

/* Nothing that is not a number comes of anything. */
static void
test_extremes (gconstpointer id)
{
  static const guint few[][3] = { { 1, 1, 1 }, { 1, 40, 1 }, { 1, 1, 33 }, { 3, 8, 21 } };
  TdDevice *device = td_test_open (id);

  for (const TdStepKind *const *kind = td_prepare_steps (); *kind; kind++)
    for (guint s = 0; s < G_N_ELEMENTS (few); s++)
      for (TdTestContent content = TD_TEST_CONSTANT; content <= TD_TEST_EMPTY; content++) {
        TdTestFrames x;
        TdStep step;
        td_test_frames_init (&x, few[s][0], few[s][1], few[s][2], content);
        td_step_init (&step, *kind);
        g_autoptr (TdMessage) refused
            = td_preparation_unsupported (&step, 1, td_scan_facts (x.scan));
        if (refused) { /* phase retrieval, of a detector narrower than its blur */
          td_test_frames_clear (&x);
          continue;
        }
        g_autofree float *got = td_test_frames_run (device, &x, &step, 1, 0, x.frames.n_rows, NULL);
        for (gsize i = 0; i < (gsize) x.frames.n_rows * x.frames.n_views * x.frames.n_columns; i++)
          if (!isfinite (got[i])) {
            td_test_pin ("%s, shape %u: %g", step.name, s, (double) got[i]);
            g_test_fail ();
            break;
          }
        td_test_frames_clear (&x);
      }
  td_test_close (device);
}

/* ── What is counted, and what is found ── */

static void
test_counts (gconstpointer id)
{
  TdDevice *device = td_test_open (id);
  TdPreparationCounts counts;
  TdTestFrames x;
  guint masked = 0;

  td_test_frames_init (&x, 8, 16, 32, TD_TEST_CONSTANT);
  for (guint i = 0; i < 8 * 32; i++) {
    x.mask[i] = i == 16 || i == 7 * 32 + 3; /* no neighbours of the hits */
    masked += x.mask[i];
  }
  for (guint i = 0; i < 6; i++)
    x.projections[(3 * i * 8 + i + 1) * 32 + 5 * i] = 3 + i;
  td_scan_unref (x.scan);
  const TdScanFacts facts = { .n_columns = 32,
                              .n_rows = 8,
                              .n_views = 16,
                              .angles_rad = x.angles,
                              .sample_type = TD_SAMPLE_FLOAT32,
                              .bad_pixels = x.mask };
  x.scan = td_scan_new_from_memory (&facts, x.projections, NULL, NULL, NULL, NULL);

  const TdStep steps[] = { td_test_step ("bad-pixels:find=0"), td_test_step ("zingers") };
  g_autofree float *got = td_test_frames_run (device, &x, steps, 2, 0, 8, &counts);
  g_assert_cmpuint (counts.bad_pixels, ==, masked);
  g_assert_cmpuint (counts.zingers, ==, 6);
  g_assert_cmpuint (counts.zingers_angle, ==, 0);
  for (guint i = 0; i < 8 * 16 * 32; i++)
    g_assert_cmpfloat (got[i], ==, 0.75f);

  const TdStep angle = td_test_step ("zingers-angle:kind=1"); /* upwards */
  g_autofree float *other = td_test_frames_run (device, &x, &angle, 1, 0, 8, &counts);
  g_assert_cmpuint (counts.zingers_angle, ==, 6);
  g_assert_cmpuint (counts.zingers, ==, 0);
  for (guint i = 0; i < 8 * 16 * 32; i++)
    g_assert_cmpfloat (other[i], ==, 0.75f);
  td_test_frames_clear (&x);
  td_test_close (device);
}

/* What is counted of some rows is the sum of what is counted of each alone, though all are run. */
static void
test_counted (gconstpointer id)
{
  enum { ROWS = 8, N_VIEWS = 16, COLUMNS = 32, FIRST = 2, COUNT = 4 };
  const TdStep steps[]
      = { td_test_step ("bad-pixels:find=0"), td_test_step ("zingers"), td_test_step ("flat-field"),
          td_test_step ("minus-log"), td_test_step ("zingers-angle") };
  TdDevice *device = td_test_open (id);
  TdPreparationCounts sum = { 0 }, some = { 0 }, all = { 0 };
  TdTestFrames x;

  td_test_frames_init (&x, ROWS, N_VIEWS, COLUMNS, TD_TEST_INTENSITIES);
  for (guint row = 0; row < ROWS; row++) {
    for (guint f = 0; f < x.frames.n_flats; f++)
      x.flats[(f * ROWS + row) * COLUMNS + 3 * row + 1] = 20; /* no beam */
    for (guint k = 0; k <= row; k++) {
      x.projections[(k * ROWS + row) * COLUMNS + 5] = NAN;
      x.projections[((k + 2) * ROWS + row) * COLUMNS + 15] = 0;
      x.projections[((k + 3) * ROWS + row) * COLUMNS + 21] = 60000;
    }
    for (guint v = 0; v < N_VIEWS; v++)
      x.projections[(v * ROWS + row) * COLUMNS + 26] = 777; /* stuck */
  }
  for (guint run = 0; run < COUNT + 2; run++) {
    g_autoptr (GError) error = NULL;
    g_autoptr (TdQueue) queue = td_queue_new (device, &error);
    g_autoptr (TdPreparation) preparation
        = td_preparation_new (device, x.scan, NULL, steps, G_N_ELEMENTS (steps), &error);
    TdPreparationCounts *counts = run == COUNT + 1 ? &all : &some;
    g_assert_no_error (error);
    if (run <= COUNT)
      td_preparation_set_counted (preparation, run < COUNT ? (TdRowRange) { FIRST + run, 1 }
                                                           : (TdRowRange) { FIRST, COUNT });
    g_free (td_test_frames_prepare (preparation, device, &x, 0, ROWS));
    g_assert_true (td_preparation_counts (preparation, queue, counts, &error));
    if (run < COUNT)
      td_preparation_counts_add (&sum, counts);
  }
#define COUNTED(field, much)                                                                       \
  g_test_message (#field ": %u of %u", (guint) some.field, (guint) all.field);                     \
  g_assert_cmpuint (some.field, ==, sum.field);                                                    \
  g_assert_cmpuint (all.field, >=, some.field + (much));                                           \
  g_assert_cmpuint (some.field, >=, (much))
  COUNTED (bad_values, 4);
  COUNTED (bad_pixels, 4);
  COUNTED (dead_pixels, 1);
  COUNTED (stuck_pixels, 4);
  COUNTED (zingers, 4);
  COUNTED (zingers_angle, 1);
  COUNTED (clamped_transmissions, 1);
  COUNTED (sides, 4);
  COUNTED (levels.groups[3].n, 4);
#undef COUNTED
  g_assert_cmpmem (&some.levels, sizeof some.levels, &sum.levels, sizeof sum.levels);
  td_test_frames_clear (&x);
  td_test_close (device);
}

/* Whoever asks for counts gets what was counted since they were asked for before: the same of the
   same rows, each time. */
static void
test_counts_again (gconstpointer id)
{
  enum { ROWS = 4, N_VIEWS = 24, COLUMNS = 30, DARK = 11 };
  const TdStep steps[]
      = { td_test_step ("bad-pixels:find=0"), td_test_step ("zingers"), td_test_step ("flat-field"),
          td_test_step ("minus-log"), td_test_step ("zingers-angle") };
  TdDevice *device = td_test_open (id);
  TdPreparationCounts counts[3];
  g_autoptr (GError) error = NULL;
  TdTestFrames x;

  td_test_frames_init (&x, ROWS, N_VIEWS, COLUMNS, TD_TEST_INTENSITIES);
  for (guint row = 0; row < ROWS; row++) {
    x.projections[(row * ROWS + row) * COLUMNS + 5] = NAN;
    x.projections[((row + 3) * ROWS + row) * COLUMNS + 21] = 60000;
    for (guint c = 0; c < COLUMNS; c++)
      x.projections[(DARK * ROWS + row) * COLUMNS + c] = (float) (100 + (c * 7 % 5 - 2.0) * 20);
  }
  g_autoptr (TdQueue) queue = td_queue_new (device, &error);
  g_autoptr (TdPreparation) preparation
      = td_preparation_new (device, x.scan, NULL, steps, G_N_ELEMENTS (steps), &error);
  g_assert_no_error (error);
  for (guint again = 0; again < 3; again++) {
    g_free (td_test_frames_prepare (preparation, device, &x, 0, ROWS));
    g_assert_true (td_preparation_counts (preparation, queue, &counts[again], &error));
    g_autofree char *dark = td_numbers_text (&counts[again].dark_views, 0, 1);
    g_assert_cmpstr (dark, ==, G_STRINGIFY (11));
#define SAME(field) g_assert_cmpuint (counts[again].field, ==, counts[0].field)
    SAME (clamped_transmissions);
    SAME (sides);
    SAME (bright_sides);
    SAME (bad_values);
    SAME (dead_pixels);
    SAME (stuck_pixels);
    SAME (bad_pixels);
    SAME (zingers);
    SAME (zingers_angle);
    SAME (lost_rows.n);
    SAME (lost_views.n);
    SAME (levels.groups[3].n);
#undef SAME
  }
  g_assert_cmpuint (counts[0].clamped_transmissions, >, 0);
  g_assert_cmpuint (counts[0].bad_values, >, 0);
  g_assert_cmpuint (counts[0].zingers, >, 0);
  g_assert_cmpuint (counts[0].sides, >, 0);
  /* Nothing was prepared since. */
  g_assert_true (td_preparation_counts (preparation, queue, &counts[0], &error));
  g_assert_cmpuint (counts[0].clamped_transmissions, ==, 0);
  g_assert_cmpuint (counts[0].bad_values, ==, 0);
  g_assert_cmpuint (counts[0].zingers, ==, 0);
  g_assert_cmpuint (counts[0].sides, ==, 0);
  g_assert_cmpuint (counts[0].dark_views.n, ==, 0);
  g_clear_pointer (&preparation, td_preparation_free);
  g_clear_pointer (&queue, td_queue_free);
  td_test_frames_clear (&x);
  td_test_close (device);
}

/* The device's counters go to the host before they can run over, and nothing is counted twice. */
static void
test_counts_in_time (gconstpointer id)
{
  enum { SLABS = 10 };
  const TdStep step = td_test_step ("zingers");
  TdDevice *device = td_test_open (id);
  TdPreparationCounts counts[2];
  TdTestFrames x;

  td_test_frames_init (&x, 8, 16, 32, TD_TEST_INTENSITIES);
  for (guint often = 0; often < 2; often++) {
    g_autoptr (GError) error = NULL;
    g_autoptr (TdQueue) queue = td_queue_new (device, &error);
    g_autoptr (TdPreparation) preparation
        = td_preparation_new (device, x.scan, NULL, &step, 1, &error);
    g_assert_no_error (error);
    td_faulty_begin (device);
    td_faulty.downloads_left = 1000;
    td_portion_shift = often ? 20 : 0; /* 4095 samples, of which a slab has 1024 */
    for (guint i = 0; i < SLABS; i++)
      g_free (td_test_frames_prepare (preparation, device, &x, i % 4 * 2, i % 4 * 2 + 2));
    td_portion_shift = 0;
    /* One for each slab's rows. Of the counters before slabs 4, 7 and 10. */
    g_assert_cmpint (1000 - td_faulty.downloads_left, ==, SLABS + (often ? 3 : 0));
    td_faulty_end ();
    td_preparation_counts (preparation, queue, &counts[often], &error);
    g_assert_no_error (error);
  }
  g_assert_cmpuint (counts[0].zingers, >, 0);
  g_assert_cmpuint (counts[1].zingers, ==, counts[0].zingers);
  g_assert_cmpuint (counts[1].bad_values, ==, counts[0].bad_values);
  td_test_frames_clear (&x);
  td_test_close (device);
}

/* A pixel without a beam in one of the flats' groups takes the transmission of the nearest one that
   has it in all. A row without such a pixel is all air. */
static void
check_dead (TdDevice *device, gconstpointer unused)
{
  enum { ROWS = 5, N_VIEWS = 12, COLUMNS = 21, FLATS = 9 };
  static const struct {
    guint row, first, count, first_flat, end_flat; /* columns without a beam in these flats */
  } dead[] = {
    { 0, 4, 1, 0, 3 },  { 1, 7, 2, 3, 5 },       { 2, 0, 1, 5, FLATS },
    { 2, 20, 1, 0, 3 }, { 3, 0, COLUMNS, 3, 5 }, { 4, 1, 1, 3, 5 },
  };
  static const guint took[][3] /* row, column, and from where */
      = { { 0, 4, 3 }, { 1, 7, 6 }, { 1, 8, 9 }, { 2, 0, 1 }, { 2, 20, 19 }, { 4, 1, 0 } };
  const TdStep step = td_test_step ("flat-field");
  TdPreparationCounts counts;
  TdTestFrames x;

  td_test_frames_init (&x, ROWS, N_VIEWS, COLUMNS, TD_TEST_INTENSITIES);
  for (guint i = 0; i < G_N_ELEMENTS (dead); i++)
    for (guint flat = dead[i].first_flat; flat < dead[i].end_flat; flat++)
      for (guint c = 0; c < dead[i].count; c++)
        x.flats[(flat * ROWS + dead[i].row) * COLUMNS + dead[i].first + c] = 20;
  g_autofree double *expected = td_test_frames_sinograms (&x);
  td_reference_flat_field (&x.frames, &step, expected);
  for (guint v = 0; v < N_VIEWS; v++) {
    for (guint i = 0; i < G_N_ELEMENTS (took); i++) {
      double *line = expected + (took[i][0] * N_VIEWS + v) * COLUMNS;
      line[took[i][1]] = line[took[i][2]];
    }
    for (guint c = 0; c < COLUMNS; c++)
      expected[(3 * N_VIEWS + v) * COLUMNS + c] = 1;
  }
  g_autofree float *got = td_test_frames_run (device, &x, &step, 1, 0, ROWS, &counts);
  td_test_frames_compare (&x, "dead", got, expected);
  g_assert_cmpuint (counts.dead_pixels, ==, 6 + COLUMNS);
  td_test_frames_clear (&x);
}

static void
test_dead (gconstpointer id)
{
  TdDevice *device = td_test_open (id);

  td_test_each_path (device, check_dead, NULL);
  td_test_close (device);
}

/* What the logarithm counts at the detector's sides and in its middle is what it has made there.
   However wide the sides are: an odd one's inner half is as wide as its outer one. */
static void
check_sides_of (TdDevice *device, guint columns, guint side)
{
  enum { ROWS = 3, N_VIEWS = 70 };
  const guint half = side / 2;
  const guint strips[][2] = { { 0, half },
                              { side - half, half },
                              { columns - side, half },
                              { columns - half, half },
                              { (columns - side) / 2, side } };
  const TdStep step = td_test_step ("minus-log");
  double expected[TD_SIDES_GROUPS][TD_SIDES_STRIPS] = { 0 };
  guint64 n[TD_SIDES_GROUPS] = { 0 }, bright = 0;
  TdPreparationCounts counts;
  TdTestFrames x;

  td_test_frames_init (&x, ROWS, N_VIEWS, columns, TD_TEST_TRANSMISSIONS);
  g_autofree float *got = td_test_frames_run (device, &x, &step, 1, 0, ROWS, &counts);
  for (guint i = 0; i < ROWS * N_VIEWS && side > 0; i++) {
    const float *line = got + (gsize) i * columns;
    const guint group = i % N_VIEWS * TD_SIDES_GROUPS / N_VIEWS;
    n[group]++;
    for (guint s = 0; s < TD_SIDES_STRIPS; s++) {
      double sum = 0;
      for (guint c = 0; c < strips[s][1]; c++)
        sum += line[strips[s][0] + c];
      expected[group][s] += CLAMP (sum / strips[s][1], -4, 4) / TD_SIDES_UNIT;
    }
    for (guint c = 0; c < side; c++)
      bright += (line[c] < -log (1.2)) + (line[columns - 1 - c] < -log (1.2));
  }
  g_test_message ("%u columns: sides of %u, %u bright", columns, td_sides_columns (columns),
                  (guint) bright);
  g_assert_cmpuint (td_sides_columns (columns), ==, side);
  g_assert_cmpuint (counts.levels.n_columns, ==, side > 0 ? columns : 0);
  g_assert_cmpuint (counts.sides, ==, 2 * side * ROWS * N_VIEWS);
  g_assert_cmpuint (counts.bright_sides, ==, bright);
  for (guint g = 0; g < TD_SIDES_GROUPS; g++) {
    g_assert_cmpuint (counts.levels.groups[g].n, ==, n[g]);
    for (guint s = 0; s < TD_SIDES_STRIPS; s++) /* each is rounded */
      g_assert_cmpfloat_with_epsilon ((double) counts.levels.groups[g].sums[s], expected[g][s],
                                      (double) MAX (n[g], 1));
  }
  td_test_frames_clear (&x);
}

static void
check_sides (TdDevice *device, gconstpointer unused)
{
  static const guint sides[][2]
      = { { 3, 0 }, { 4, 2 }, { 95, 2 }, { 96, 3 }, { 150, 4 }, { 511, 15 }, { 700, 16 } };

  for (guint i = 0; i < G_N_ELEMENTS (sides); i++)
    check_sides_of (device, sides[i][0], sides[i][1]);
}

static void
test_sides (gconstpointer id)
{
  TdDevice *device = td_test_open (id);

  td_test_each_path (device, check_sides, NULL);
  td_test_close (device);
}

enum { L_ROWS = 8, L_VIEWS = 24, L_COLUMNS = 33, DARK = 11 };

/* Of frames one of whose views is @lost, or is given what the @nearest has; -1: it is not.
   (transfer full) */
static float *
lost_run (TdDevice *device, guint lost, int nearest, TdPreparationCounts *counts)
{
  const gsize frame = L_ROWS * L_COLUMNS;
  TdTestFrames x;

  td_test_frames_init (&x, L_ROWS, L_VIEWS, L_COLUMNS, TD_TEST_INTENSITIES);
  /* Turned by 8 views at a time: number 7 + 8 comes one step after number 7. The first comes half a
     step after the last. */
  for (guint v = 0; v < L_VIEWS; v++)
    x.angles[v] = 2 * G_PI * (v % 8 * 3 + v / 8) / (L_VIEWS - 0.5);
  memset (x.mask, 0, L_ROWS * L_COLUMNS);
  memset (x.mask + L_COLUMNS, 1, L_COLUMNS);
  for (guint v = 0; v < L_VIEWS; v++)
    for (guint i = 0; i < L_ROWS * L_COLUMNS; i++) {
      float *sample = &x.projections[v * L_ROWS * L_COLUMNS + i];
      const guint row = i / L_COLUMNS;
      if (v == lost || row == 1 || row == 4 || row == 6)
        *sample = NAN;
      else if (v == DARK)
        *sample = (float) (100 + (i * 7 % 5 - 2.0) * 20);
    }
  if (nearest >= 0)
    memcpy (x.projections + lost * frame, x.projections + nearest * frame,
            frame * sizeof *x.projections);
  td_scan_unref (x.scan);
  const TdScanFacts facts = { .n_columns = L_COLUMNS,
                              .n_rows = L_ROWS,
                              .n_views = L_VIEWS,
                              .n_flats = x.frames.n_flats,
                              .n_darks = x.frames.n_darks,
                              .angles_rad = x.angles,
                              .sample_type = TD_SAMPLE_FLOAT32,
                              .bad_pixels = x.mask };
  x.scan = td_scan_new_from_memory (&facts, x.projections, x.flats, x.darks, NULL, NULL);
  const TdStep steps[] = { td_test_step ("bad-pixels:find=0"), td_test_step ("flat-field:drift=0"),
                           td_test_step ("minus-log") };
  float *got = td_test_frames_run (device, &x, steps, 3, 0, L_ROWS, counts);
  td_test_frames_clear (&x);
  return got;
}

/* Views and rows without a number, and views without the beam, are told by their numbers. A view
   takes what the one nearest in angle has, and the others stay as they are. */
static void
test_lost (gconstpointer id)
{
  /* And the nearest. */
  static const guint lost[][2] = { { 7, 15 }, { 8, 0 }, { 16, 8 }, { 23, 0 }, { 0, 23 } };
  TdDevice *device = td_test_open (id);
  TdPreparationCounts counts;

  for (guint i = 0; i < G_N_ELEMENTS (lost); i++) {
    const guint at = lost[i][0], nearest = lost[i][1];
    g_autofree float *whole = lost_run (device, at, (int) nearest, &counts);
    g_assert_cmpuint (counts.lost_views.n, ==, 0);
    g_autofree float *got = lost_run (device, at, -1, &counts);
    g_autofree char *views = td_numbers_text (&counts.lost_views, 0, 1);
    g_autofree char *rows = td_numbers_text (&counts.lost_rows, 0, 1);
    g_autofree char *dark = td_numbers_text (&counts.dark_views, 0, 1);
    g_autofree char *measured = td_numbers_text (&counts.lost_views, 10, 2);
    g_autofree char *number = g_strdup_printf ("%u", at);
    g_autofree char *other = g_strdup_printf ("%u", 10 + 2 * at);
    g_assert_cmpstr (views, ==, number);
    g_assert_cmpstr (measured, ==, other);
    g_assert_cmpstr (rows, ==, "4, 6"); /* the mask has row 1 */
    g_assert_cmpstr (dark, ==, G_STRINGIFY (11));
    for (guint c = 0; c < L_COLUMNS; c++)
      g_assert_cmpfloat (got[at * L_COLUMNS + c], ==, got[nearest * L_COLUMNS + c]);
    g_assert_cmpmem (got, L_ROWS * L_VIEWS * L_COLUMNS * sizeof *got, whole,
                     L_ROWS * L_VIEWS * L_COLUMNS * sizeof *whole);
  }
  td_test_close (device);
}

/* Air that goes one way over the views is told, as far as it goes. What comes back is not, nor what
   the sides do not have alike, nor what there is without a sample. */
static void
test_drift (void)
{
  static const struct {
    double from, to, dip, strips[TD_SIDES_STRIPS - 1], sample, drift;
    guint groups;
  } drifts[] = {
    { 0, 0.1, 0, { 0 }, 0.5, 0.1, 16 },
    { 0.1, 0, 0, { 0 }, 0.5, 0.1, 16 },
    { 0, -0.1, 0, { 0 }, 0.5, 0.1, 16 },
    { -0.1, 0, 0, { 0 }, 0.5, 0.1, 16 },
    { 0, 0.1, 0, { 0.012, 0.008, -0.004, 0 }, 0.5, 0.104, 16 }, /* the last group's */
    { 0, 0.1, 0, { 0, -0.004, 0.008, 0.012 }, 0.5, 0.104, 16 },
    { 0, 0.1, 0, { 0 }, 0.5, 0.1, 8 },
    { 0, 0.1, 0, { 0 }, 0.5, 0, 7 },
    { 0, 0.1, 0.02, { 0 }, 0.5, 0.1, 16 },
    { 0, 0.1, 0.03, { 0 }, 0.5, 0, 16 }, /* a step back */
    { 0.1, 0, -0.03, { 0 }, 0.5, 0, 16 },
    { 0, 0.1, 0, { 0.03, 0.03, 0, 0 }, 0.5, 0, 16 },
    { 0, 0.1, 0, { 0.03, 0, 0.03, 0 }, 0.5, 0, 16 },
    { 0, 0.1, 0, { 0 }, 0.04, 0, 16 },
    { 0, 0.1, 0, { 0 }, 0.052, 0.1, 16 }, /* half of the drift, and above it */
    { 0, 0.1, 0, { 0 }, 0.048, 0, 16 },
    { 0, 0.03, 0, { 0 }, 0.5, 0, 16 },
    { 0, 0.039, 0, { 0 }, 0.5, 0, 16 },
    { 0, 0.041, 0, { 0 }, 0.5, 0.041, 16 },
    { 0.019, 0.119, 0, { 0 }, 0.5, 0.1, 16 },
    { -0.119, -0.019, 0, { 0 }, 0.5, 0.1, 16 },
    { 0.021, 0.121, 0, { 0 }, 0.5, 0, 16 },
    { 0.03, 0.13, 0, { 0 }, 0.5, 0, 16 }, /* not of the flats */
  };

  for (guint i = 0; i < G_N_ELEMENTS (drifts); i++) {
    TdSides sides = { 0 };

    for (guint g = 0; g < drifts[i].groups; g++) {
      const double part = g / (drifts[i].groups - 1.0);
      const double level
          = drifts[i].from + part * (drifts[i].to - drifts[i].from) - (g == 9 ? drifts[i].dip : 0);
      int sums[TD_SIDES_STRIPS];
      for (guint k = 0; k < TD_SIDES_STRIPS; k++)
        sums[k] = (int) ((level
                          + (k == 4      ? drifts[i].sample
                             : part == 1 ? drifts[i].strips[k]
                                         : 0))
                         * 2 / TD_SIDES_UNIT);
      td_sides_count (&sides, 64, g, TD_SIDES_GROUPS, 2);
      td_sides_sum (&sides, g, TD_SIDES_GROUPS, sums);
    }
    g_test_message ("%u", i);
    g_assert_cmpfloat_with_epsilon (td_sides_drift (&sides), drifts[i].drift, 3e-4);
  }
}

/* Views are in one order where they come from the same places. */
static void
test_orders (void)
{
  static const TdViewOrder orders[]
      = { { 3, 8, 20, 1 }, { 4, 8, 20, 1 }, { 3, 9, 20, 1 }, { 3, 8, 21, 1 }, { 3, 8, 20, 2 } };

  for (guint i = 0; i < G_N_ELEMENTS (orders); i++)
    for (guint k = 0; k < G_N_ELEMENTS (orders); k++)
      g_assert_cmpint (td_view_order_equal (&orders[i], &orders[k]), ==, i == k);
}

/* Numbers are kept once and in order, and more of them than fit are told of. */
static void
test_numbers (void)
{
  static const guint added[] = { 9, 2, 9, 30, 4, 17, 5, 2, 8, 40, 11, 1 };
  TdPreparationCounts sum = { 0 }, other = { 0 };

  for (guint i = 0; i < G_N_ELEMENTS (added); i++)
    td_numbers_add (i < 6 ? &sum.lost_views : &other.lost_views, added[i]);
  g_autofree char *some = td_numbers_text (&sum.lost_views, 0, 1);
  g_assert_cmpstr (some, ==, "2, 4, 9, 17, 30");
  td_preparation_counts_add (&sum, &other);
  g_autofree char *all = td_numbers_text (&sum.lost_views, 0, 1);
  g_assert_cmpstr (all, ==, "1, 2, 4, 5, 8, 9, 11, 17, …");
  /* In any order, and nothing behind the last place. */
  for (guint first = 0; first < 12; first++) {
    struct {
      TdNumbers numbers;
      guint behind;
    } kept = { .behind = 1234 };
    for (guint i = 0; i < 12; i++)
      td_numbers_add (&kept.numbers, (first + 5 * i) % 12);
    g_assert_cmpuint (kept.behind, ==, 1234);
    for (guint i = 0; i < TD_NUMBERS_KEPT; i++)
      g_assert_cmpuint (kept.numbers.at[i], ==, i);
  }
}

/* Planted among noise: dead, hot, stuck and noisy pixels are found, and hardly any other. */
static void
test_find (void)
{
  enum { ROWS = 40, COLUMNS = 60, FLATS = 12, DARKS = 6 };
  g_autoptr (GRand) random = g_rand_new_with_seed (7);
  g_autoptr (GError) error = NULL;
  const gsize pixels = ROWS * COLUMNS;
  g_autofree float *flats = g_new (float, FLATS *pixels), *darks = g_new (float, DARKS *pixels);
  g_autofree float *projections = g_new0 (float, pixels);
  double angle = 0;

  for (gsize i = 0; i < FLATS * pixels; i++) {
    gsize pixel = i % pixels;
    double gain = 1 + 0.02 * sin (pixel * 12.9898), noise = 0;
    for (guint k = 0; k < 6; k++)
      noise += g_rand_double_range (random, -1, 1) / sqrt (2);
    flats[i] = floorf ((float) (100 + 5000 * gain + 50 * noise));
    if (pixel % 500 == 20)
      flats[i] = 100; /* dead */
    if (pixel % 500 == 120)
      flats[i] = 65535; /* hot */
    if (pixel % 500 == 220)
      flats[i] = 5100; /* stuck where it should be */
    if (pixel % 500 == 320)
      flats[i] += (float) g_rand_double_range (random, -2500, 2500); /* noisy */
  }
  for (gsize i = 0; i < DARKS * pixels; i++)
    darks[i]
        = (float) (100 + (i % pixels % 500 == 420 ? 60 : 0) + g_rand_int_range (random, -4, 5));

  const TdScanFacts facts = { .n_columns = COLUMNS,
                              .n_rows = ROWS,
                              .n_views = 1,
                              .n_flats = FLATS,
                              .n_darks = DARKS,
                              .sample_type = TD_SAMPLE_UINT16,
                              .angles_rad = &angle };
  g_autoptr (TdScan) scan = td_scan_new_from_memory (&facts, projections, flats, darks, NULL, NULL);
  g_autoptr (TdFlats) shared = td_flats_new (scan);
  g_autoptr (GBytes) bytes = td_bad_pixels_mask (shared, 8, NULL, &error);
  g_assert_no_error (error);
  const guint8 *mask = g_bytes_get_data (bytes, NULL);
  guint more = 0;
  for (gsize i = 0; i < pixels; i++) {
    if (i % 100 == 20 && !mask[i]) {
      td_test_pin ("missed pixel %u", (guint) i);
      g_test_fail ();
    }
    more += mask[i] && i % 100 != 20;
  }
  g_assert_cmpuint (more, <=, 2);
  for (guint deviations = 2; deviations <= 4; deviations++) {
    g_autoptr (GBytes) other = td_bad_pixels_mask (shared, deviations, NULL, &error);
    const guint8 *marks = g_bytes_get_data (other, NULL);
    guint n = 0, sum = 0;
    for (guint i = 0; i < pixels; i++) {
      n += marks[i];
      sum += marks[i] * i;
    }
    td_test_pin ("%u pixels are %u deviations away, of places %u", n, deviations, sum);
  }
  /* However few rows are looked at together. */
  for (td_portion_shift = 12; td_portion_shift <= 15; td_portion_shift++) {
    g_autoptr (TdFlats) own = td_flats_new (scan);
    g_autoptr (GBytes) by_rows = td_bad_pixels_mask (own, 8, NULL, &error);
    g_assert_no_error (error);
    g_assert_true (g_bytes_equal (by_rows, bytes));
  }
  td_portion_shift = 0;
  /* A few equal samples are a coincidence. */
  for (guint n = 4; n <= 5; n++) {
    TdScanFacts few = facts;
    few.n_flats = n;
    g_autoptr (TdScan) short_scan
        = td_scan_new_from_memory (&few, projections, flats, darks, NULL, NULL);
    g_autoptr (TdFlats) own = td_flats_new (short_scan);
    g_autoptr (GBytes) found = td_bad_pixels_mask (own, 8, NULL, &error);
    g_assert_no_error (error);
    g_assert_cmpuint (((const guint8 *) g_bytes_get_data (found, NULL))[220], ==, n == 5);
  }
  /* Asked again, the same answer is given, not worked out anew. */
  g_autoptr (GBytes) again = td_bad_pixels_mask (shared, 8, NULL, &error);
  g_assert_true (again == bytes);
}

/* What plans count for a step, which nobody sees but by a computer that has too little. Averages of
   flats ask for no more than that, and for a good part of it. */
static void
check_bytes (const TdStep *step, const char *text, guint n_rows, guint n_views, guint n_columns)
{
  g_autoptr (GError) error = NULL;
  TdTestFrames x;

  td_test_frames_init (&x, n_rows, n_views, n_columns, TD_TEST_INTENSITIES);
  const TdScanFacts *facts = td_scan_facts (x.scan);
  const guint64 before = td_test_pieces_bytes ();
  const guint64 host = td_preparation_host_bytes (step, 1, facts, n_rows);
  td_test_pin ("%s, %u × %u × %u: %" G_GUINT64_FORMAT " bytes of the host, %" G_GUINT64_FORMAT
               " of a device",
               text, n_rows, n_views, n_columns, host,
               td_preparation_workspace_bytes (step, 1, facts, n_rows));
  if (g_str_has_prefix (text, "flat-field")) {
    g_autoptr (TdFlats) flats = td_flats_new (x.scan);
    g_assert_true (td_preparation_fetch (flats, step, 1, 0, n_rows, NULL, &error));
    const guint64 asked = td_test_pieces_bytes () - before;
    g_assert_cmpuint (asked, <=, host);
    g_assert_cmpuint (host, <, 5 * asked);
  }
  td_test_frames_clear (&x);
}

static void
test_bytes (void)
{
  static const char *const texts[]
      = { "flat-field:average=1", "dose:air=1:columns=3", "dose:air=2:x=3:y=0:width=5:height=4",
          "bad-pixels:find=0", "zingers:size=1" };

  for (guint portions = 0; portions < 2; portions++) {
    td_portion_shift = portions ? 14 : 0;
    for (const TdStepKind *const *kind = td_prepare_steps (); *kind; kind++) {
      TdStep step;
      td_step_init (&step, *kind);
      check_bytes (&step, step.name, 9, 60, 200);
    }
    for (guint i = 0; i < G_N_ELEMENTS (texts); i++) {
      const TdStep step = td_test_step (texts[i]);
      check_bytes (&step, texts[i], 4, 7, 50);
    }
  }
  td_portion_shift = 0;
}

/* What a person gets who chooses a step and nothing else: a change here changes results. */
static void
test_presets (void)
{
  static const char *const expected
      = "bad-pixels find=8 reach=2\n"
        "zingers threshold=0.3 size=0 kind=0 least=0\n"
        "flat-field (on) white=0 average=0 drift=1\n"
        "dose air=0 columns=8 x=0 y=0 width=16 height=64\n"
        "double-flat width=2\n"
        "paganin delta-beta=500 energy=0 distance=0 pixel=0 laplacian=0\n"
        "minus-log (on) floor=1e-05\n"
        "zingers-angle threshold=0.2 size=0 kind=0\n"
        "beam-hardening a1=0.75 a2=0.25 a3=0 a4=0 a5=0\n"
        "rings size=6 threshold=4 dead=3\n"
        "rings-all size=5 large=51 snr=3\n"
        "rings-dead size=51 snr=3\n"
        "rings-large size=51 snr=3 drop=0.1 normalise=0\n"
        "rings-sorting size=5\n"
        "rings-filtering size=5 sigma=3\n"
        "rings-fitting size=3 order=2 correction=0\n"
        "rings-wavelet size=16 sigma=1.5 wavelet=1\n"
        "rings-normalise size=3 blocks=1\n";
  g_autoptr (GString) presets = g_string_new (NULL);

  for (const TdStepKind *const *kind = td_prepare_steps (); *kind; kind++) {
    TdStep step;
    td_step_init (&step, *kind);
    g_string_append_printf (presets, "%s%s", step.name, (*kind)->preset_on ? " (on)" : "");
    for (guint i = 0; i < (*kind)->n_parameters; i++)
      g_string_append_printf (presets, " %s=%g", (*kind)->parameters[i].name, step.values[i]);
    g_string_append_c (presets, '\n');
  }
  g_assert_cmpstr (presets->str, ==, expected);
}

/* What each parameter may be, to how many digits, and of how many choices. */
static void
test_ranges (void)
{
  static const struct {
    const char *step, *parameter;
    double minimum, maximum;
    guint digits, n_choices;
  } ranges[] = {
    { "bad-pixels", "find", 0, 1000, 1, 0 },
    { "bad-pixels", "reach", 0, 8, 0, 0 },
    { "zingers", "threshold", 0.001, 100, 3, 0 },
    { "zingers", "size", 0, 1, 0, 2 },
    { "zingers", "kind", 0, 2, 0, 3 },
    { "zingers", "least", 0, 1e+09, 1, 0 },
    { "flat-field", "white", 0, 1e+09, 3, 0 },
    { "flat-field", "average", 0, 1, 0, 2 },
    { "flat-field", "drift", 0, 2, 0, 3 },
    { "dose", "air", 0, 3, 0, 4 },
    { "dose", "columns", 1, 256, 0, 0 },
    { "dose", "x", 0, 1e+06, 0, 0 },
    { "dose", "y", 0, 1e+06, 0, 0 },
    { "dose", "width", 1, 1e+06, 0, 0 },
    { "dose", "height", 1, 1e+06, 0, 0 },
    { "double-flat", "width", 0.5, 200, 1, 0 },
    { "paganin", "delta-beta", 0.1, 1e+06, 1, 0 },
    { "paganin", "energy", 0, 1000, 3, 0 },
    { "paganin", "distance", 0, 1e+06, 3, 0 },
    { "paganin", "pixel", 0, 1e+06, 4, 0 },
    { "paganin", "laplacian", 0, 1, 0, 2 },
    { "minus-log", "floor", 1e-30, 1, 6, 0 },
    { "zingers-angle", "threshold", 0.001, 100, 3, 0 },
    { "zingers-angle", "size", 0, 3, 0, 4 },
    { "zingers-angle", "kind", 0, 2, 0, 3 },
    { "beam-hardening", "a1", -100, 100, 6, 0 },
    { "beam-hardening", "a2", -100, 100, 6, 0 },
    { "beam-hardening", "a3", -100, 100, 6, 0 },
    { "beam-hardening", "a4", -100, 100, 6, 0 },
    { "beam-hardening", "a5", -100, 100, 6, 0 },
    { "rings", "size", 0.5, 50, 1, 0 },
    { "rings", "threshold", 0, 20, 1, 0 },
    { "rings", "dead", 1.5, 100, 1, 0 },
    { "rings-all", "size", 3, 201, 0, 0 },
    { "rings-all", "large", 3, 201, 0, 0 },
    { "rings-all", "snr", 1, 100, 1, 0 },
    { "rings-dead", "size", 3, 201, 0, 0 },
    { "rings-dead", "snr", 1, 100, 1, 0 },
    { "rings-large", "size", 3, 201, 0, 0 },
    { "rings-large", "snr", 1, 100, 1, 0 },
    { "rings-large", "drop", 0, 0.8, 2, 0 },
    { "rings-large", "normalise", 0, 1, 0, 2 },
    { "rings-sorting", "size", 3, 201, 0, 0 },
    { "rings-filtering", "size", 3, 201, 0, 0 },
    { "rings-filtering", "sigma", 0.5, 50, 1, 0 },
    { "rings-fitting", "size", 0.5, 50, 1, 0 },
    { "rings-fitting", "order", 0, 7, 0, 0 },
    { "rings-fitting", "correction", 0, 1, 0, 2 },
    { "rings-wavelet", "size", 2, 1024, 0, 0 },
    { "rings-wavelet", "sigma", 0.3, 20, 1, 0 },
    { "rings-wavelet", "wavelet", 0, 2, 0, 3 },
    { "rings-normalise", "size", 0.3, 50, 1, 0 },
    { "rings-normalise", "blocks", 1, 32, 0, 0 },
  };
  guint n = 0;

  for (const TdStepKind *const *kind = td_prepare_steps (); *kind; kind++)
    for (guint i = 0; i < (*kind)->n_parameters; i++, n++) {
      const TdStepParameter *parameter = &(*kind)->parameters[i];
      g_assert_cmpuint (n, <, G_N_ELEMENTS (ranges));
      g_assert_cmpstr (ranges[n].step, ==, (*kind)->name);
      g_assert_cmpstr (ranges[n].parameter, ==, parameter->name);
      td_test_pin ("%s %s", (*kind)->name, parameter->name);
      g_assert_cmpfloat (ranges[n].minimum, ==, parameter->minimum);
      g_assert_cmpfloat (ranges[n].maximum, ==, parameter->maximum);
      g_assert_cmpuint (ranges[n].digits, ==, parameter->digits);
      const char *const *choices = parameter->choices;
      g_assert_cmpuint (ranges[n].n_choices, ==, choices ? g_strv_length ((char **) choices) : 0);
    }
  g_assert_cmpuint (n, ==, G_N_ELEMENTS (ranges));
}

/* What is in columns says so, and becomes smaller with wider ones, within its range. */
static void
test_scale_columns (void)
{
  for (const TdStepKind *const *kind = td_prepare_steps (); *kind; kind++) {
    TdStep step, scaled;
    td_step_init (&step, *kind);
    scaled = step;
    td_step_scale_columns (&scaled, 4);
    for (guint i = 0; i < (*kind)->n_parameters; i++) {
      const TdStepParameter *parameter = &(*kind)->parameters[i];
      g_assert_cmpint (parameter->in_columns, ==, strstr (parameter->title, "(columns)") != NULL);
      if (!parameter->in_columns) {
        g_assert_cmpfloat (scaled.values[i], ==, step.values[i]);
        continue;
      }
      g_assert_cmpfloat (scaled.values[i], >=, parameter->minimum);
      g_assert_cmpfloat (scaled.values[i], <, step.values[i]);
      if (step.values[i] / 4 > parameter->minimum)
        g_assert_cmpfloat (fabs (scaled.values[i] - step.values[i] / 4), <=,
                           parameter->digits ? 0 : 0.5);
    }
  }
}

/* Rows with their neighbours, as far as the detector reaches. */
static void
test_halo (void)
{
  static const guint halos[][6] = {
    /* first, count, halo, rows of the detector; first, count */
    { 10, 3, 0, 20, 10, 3 }, { 10, 3, 4, 20, 6, 11 },        { 4, 3, 4, 20, 0, 11 },
    { 3, 3, 4, 20, 0, 10 },  { 10, 3, 7, 20, 3, 17 },        { 10, 3, 8, 20, 2, 18 },
    { 0, 20, 5, 20, 0, 20 }, { 5, 1, G_MAXUINT, 20, 0, 20 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (halos); i++) {
    const TdRowRange rows = td_row_range_with_halo ((TdRowRange) { halos[i][0], halos[i][1] },
                                                    halos[i][2], halos[i][3]);
    g_assert_cmpuint (rows.first, ==, halos[i][4]);
    g_assert_cmpuint (rows.count, ==, halos[i][5]);
  }
}

/* Flats of one moment are a group, in whatever order the scan has them; more moments than groups
   share them evenly. */
static void
test_flat_groups (void)
{
  enum { FLATS = 17 };
  static const double mixed[] = { 30, 0, 10, 0, 36, 20, 30 };
  static const guint groups_of_mixed[] = { 3, 0, 1, 0, 4, 2, 3 };
  static const double middles[] = { 0, 10, 20, 30, 36 };
  double positions[TD_FLATS_MAX_GROUPS], many[FLATS];
  guint group[FLATS];
  TdScanFacts facts = { .n_flats = G_N_ELEMENTS (mixed), .flat_positions = (double *) mixed };

  g_assert_cmpuint (td_flats_groups (&facts, FALSE, positions, group), ==, 5);
  for (guint f = 0; f < facts.n_flats; f++)
    g_assert_cmpuint (group[f], ==, groups_of_mixed[f]);
  for (guint g = 0; g < 5; g++)
    g_assert_cmpfloat (positions[g], ==, middles[g]);
  g_assert_cmpuint (td_flats_groups (&facts, FALSE, NULL, NULL), ==, 5);
  positions[0] = group[facts.n_flats] = 99;
  g_assert_cmpuint (td_flats_groups (&facts, TRUE, positions, group), ==, 1);
  g_assert_cmpuint (group[facts.n_flats], ==, 99);
  for (guint f = 0; f < facts.n_flats; f++)
    g_assert_cmpuint (group[f], ==, 0);
  g_assert_cmpfloat (positions[0], ==, 0);
  facts.n_flats = 2;
  g_assert_cmpuint (td_flats_groups (&facts, FALSE, NULL, NULL), ==, 2);
  facts.n_flats = 1;
  g_assert_cmpuint (td_flats_groups (&facts, FALSE, NULL, NULL), ==, 1);

  facts = (TdScanFacts) { .n_flats = FLATS, .flat_positions = many };
  for (guint f = 0; f < FLATS; f++)
    many[f] = 100 - 5.0 * f;
  for (guint n = TD_FLATS_MAX_GROUPS; n <= FLATS; n++) {
    facts.n_flats = n;
    g_assert_cmpuint (td_flats_groups (&facts, FALSE, positions, group), ==, TD_FLATS_MAX_GROUPS);
    for (guint f = 0; f < n; f++)
      g_assert_cmpuint (group[f], ==, (n - 1 - f) * TD_FLATS_MAX_GROUPS / n);
    g_assert_cmpfloat (positions[0], ==, many[n - 1] + (n > TD_FLATS_MAX_GROUPS ? 2.5 : 0));
    g_assert_cmpfloat (positions[TD_FLATS_MAX_GROUPS - 1], ==, 100);
  }
  many[0] = NAN; /* nobody knows when it was taken */
  g_assert_cmpuint (td_flats_groups (&facts, FALSE, NULL, NULL), ==, 1);
  facts.flat_positions = NULL;
  g_assert_cmpuint (td_flats_groups (&facts, FALSE, NULL, NULL), ==, 1);
}

/* Whichever flats of a moment were taken without the beam or with too much of it, the others are
   averaged. If there are none, and no light, the moment is as if it had not been. */
static void
test_flats_odd (void)
{
  enum { FLATS = 9, A_GROUP = 3, COLUMNS = 8 };
  static const double positions[FLATS] = { 0, 0, 0, 5, 5, 5, 9, 9, 9 };
  static const float odd_level[] = { 0, 50000 };
  double angle = 0;

  for (guint g = 0; g < 3; g++)
    for (guint mask = 0; mask < 2 << A_GROUP; mask++) {
      const float level = odd_level[mask >> A_GROUP];
      const TdScanFacts facts = { .n_columns = COLUMNS,
                                  .n_rows = 1,
                                  .n_views = 1,
                                  .n_flats = FLATS,
                                  .flat_positions = (double *) positions,
                                  .sample_type = TD_SAMPLE_FLOAT32,
                                  .angles_rad = &angle };
      float flats[FLATS][COLUMNS], view[COLUMNS];
      double told[FLATS], averages[TD_FLATS_MAX_GROUPS], sum = 0, all = 0, means[3] = { 0 };
      guint n = 0;

      for (guint f = 0; f < FLATS; f++) {
        const gboolean odd = f / A_GROUP == g && (mask >> f % A_GROUP & 1);
        told[f] = 10 + f * f;
        means[f / A_GROUP] += told[f] / A_GROUP;
        for (guint c = 0; c < COLUMNS; c++)
          flats[f][c] = odd ? level : 1000 + (float) (f * f);
        sum += f / A_GROUP == g && !odd ? told[f] : 0;
        n += f / A_GROUP == g && !odd;
        all += f / A_GROUP == g ? told[f] : 0;
      }
      for (guint c = 0; c < COLUMNS; c++)
        view[c] = 500;
      g_autoptr (TdScan) scan = td_scan_new_from_memory (&facts, view, flats[0], NULL, NULL, NULL);
      g_autoptr (TdFlats) own = td_flats_new (scan);
      TdFlatsOdd odd;
      const double between = g == 1 ? means[0] * 4 / 9 + means[2] * 5 / 9 : means[1];
      const double expected = n ? sum / n : level ? all / A_GROUP : between;
      g_assert_true (td_flats_average_of (own, (TdFlatsHow) { 0 }, told, averages, NULL, NULL));
      g_assert_cmpfloat_with_epsilon (averages[g], expected, 1e-9);
      g_assert_true (td_flats_odd (own, &odd, NULL, NULL));
      g_assert_cmpuint (odd.n_flats, ==, level ? 0 : A_GROUP - n);
      g_assert_cmpuint (odd.n_bright, ==, level ? A_GROUP - n : 0);
      g_autoptr (TdFlatRows) rows = td_flats_read (own, (TdFlatsHow) { 0 }, 0, 1, NULL, NULL);
      for (guint c = 0; c < COLUMNS && (n || !level); c++) /* as told, but for what the level is */
        g_assert_cmpfloat_with_epsilon (rows->flat[g * COLUMNS + c], 990 + expected, 1e-3);
    }
}

/* Where views lie between groups of flats: by their number, and by the angle turned. */
static void
test_flat_places (void)
{
  enum { VIEWS = 6 };
  static const double angles[VIEWS] = { 0, 1, 3, 6, 5, 4 }, still[VIEWS] = { 2, 2, 2, 2, 2, 2 };
  static const double within[VIEWS]
      = { 5, 6, 8 - 2 * G_PI, 11 - 2 * G_PI, 10 - 2 * G_PI, 9 - 2 * G_PI };
  static const double groups[] = { 1, 3, 3, 5.5 };
  static const struct {
    TdFlatsBy by;
    const double *angles;
    double places[VIEWS]; /* group and share */
  } ways[] = {
    { TD_FLATS_BY_VIEW, angles, { 0, 0.25, 0.75, 2.2, 2.6, 3 } },
    /* Turned 0, 1, 3, 6, 7 and 8; the groups at 0.5, 4.5, 4.5 and 8. */
    { TD_FLATS_BY_ANGLE, angles, { 0, 0.125, 0.625, 2 + 1.5 / 3.5, 2 + 2.5 / 3.5, 3 } },
    { TD_FLATS_BY_ANGLE, still, { 0, 0.25, 0.75, 2.2, 2.6, 3 } },
    { TD_FLATS_BY_ANGLE, within, { 0, 0.125, 0.625, 2 + 1.5 / 3.5, 2 + 2.5 / 3.5, 3 } },
  };

  for (guint i = 0; i < G_N_ELEMENTS (ways); i++) {
    const TdScanFacts facts = { .n_views = VIEWS, .angles_rad = (double *) ways[i].angles };
    float places[2 * VIEWS];

    td_flats_places (&facts, ways[i].by, groups, G_N_ELEMENTS (groups), places);
    for (guint v = 0; v < VIEWS; v++) {
      td_test_pin ("%u, %u: %g, %g", i, v, places[2 * v], places[2 * v + 1]);
      g_assert_cmpfloat (places[2 * v], ==, floor (ways[i].places[v]));
      g_assert_cmpfloat_with_epsilon (places[2 * v] + places[2 * v + 1], ways[i].places[v], 1e-6);
    }
  }
  /* A moment before the first view or after the last one goes on as the nearest gap. */
  static const double ends[] = { -1.5, 8.5 };
  const TdScanFacts facts = { .n_views = VIEWS, .angles_rad = (double *) angles };
  float places[2 * VIEWS];
  td_flats_places (&facts, TD_FLATS_BY_ANGLE, ends, 2, places);
  for (guint v = 0; v < VIEWS; v++) /* from -2 to 11 */
    g_assert_cmpfloat_with_epsilon (places[2 * v + 1],
                                    ((const double[]) { 2, 3, 5, 8, 9, 10 })[v] / 13, 1e-6);
  const TdScanFacts one = { .n_views = 1, .angles_rad = (double *) angles };
  td_flats_places (&one, TD_FLATS_BY_ANGLE, groups, 2, places);
  g_assert_true (places[0] == 0 && places[1] == 0);
}

/* ── What is the same over all views ── */

/* Sides of a sample wider than the detector: at each of @groups the same, but for what a case adds
   by turns. */
typedef struct {
  double level[2], rise[2]; /* left and right: attenuation, and from column to column */
  double middle, sway;      /* sway: of the level, up and down by turns */
  double shiver;            /* of the left rise, the same way */
  guint groups, columns;
  gboolean even;
} EvenSides;

/* A level counts where it is even over views, columns and sides, on either side of each limit. */
static void
test_even_level (void)
{
  static const EvenSides evens[] = {
    { { 0.5, 0.5 }, { 0, 0 }, 1.5, 0, 0, 16, 64, TRUE },
    { { 0.5, 0.5 }, { 0, 0 }, 1.5, 0, 0, 8, 64, TRUE },
    { { 0.5, 0.5 }, { 0, 0 }, 1.5, 0, 0, 7, 64, FALSE },
    { { 0.21, 0.21 }, { 0, 0 }, 1.5, 0, 0, 16, 64, TRUE },
    { { 0.19, 0.19 }, { 0, 0 }, 1.5, 0, 0, 16, 64, FALSE },
    { { 0.19, 0.205 }, { 0, 0 }, 1.5, 0, 0, 16, 64, FALSE },
    /* The two sides differ by at most a tenth. */
    { { 0.5, 0.551 }, { 0, 0 }, 1.5, 0, 0, 16, 64, TRUE },
    { { 0.5, 0.554 }, { 0, 0 }, 1.5, 0, 0, 16, 64, FALSE },
    { { 0.551, 0.5 }, { 0, 0 }, 1.5, 0, 0, 16, 64, TRUE },
    { { 0.554, 0.5 }, { 0, 0 }, 1.5, 0, 0, 16, 64, FALSE },
    /* And so do the views. */
    { { 0.5, 0.5 }, { 0, 0 }, 1.5, 0.024, 0, 16, 64, TRUE },
    { { 0.5, 0.5 }, { 0, 0 }, 1.5, 0.026, 0, 16, 64, FALSE },
    /* A rise is at most 0.002 of the level, whichever way and on either side … */
    { { 0.5, 0.5 }, { 0.0009, 0 }, 1.5, 0, 0, 16, 64, TRUE },
    { { 0.5, 0.5 }, { 0.0012, 0 }, 1.5, 0, 0, 16, 64, FALSE },
    { { 0.5, 0.5 }, { -0.0012, 0 }, 1.5, 0, 0, 16, 64, FALSE },
    { { 0.5, 0.5 }, { 0, 0.0009 }, 1.5, 0, 0, 16, 64, TRUE },
    { { 0.5, 0.5 }, { 0, 0.0012 }, 1.5, 0, 0, 16, 64, FALSE },
    { { 0.5, 0.5 }, { 0, -0.0012 }, 1.5, 0, 0, 16, 64, FALSE },
    /* … and half of what a wide sample's would be: 0.05 in 64 columns, or 0.1 in 512 for 8. */
    { { 0.5, 0.5 }, { 0.0007, 0 }, 0.55, 0, 0, 16, 64, TRUE },
    { { 0.5, 0.5 }, { 0.0009, 0 }, 0.55, 0, 0, 16, 64, FALSE },
    { { 0.5, 0.5 }, { 0, 0.0009 }, 0.55, 0, 0, 16, 64, FALSE },
    { { 0.5, 0.5 }, { 0.0009, 0 }, 0.62, 0, 0, 16, 512, TRUE },
    { { 0.5, 0.5 }, { 0.0009, 0 }, 0.54, 0, 0, 16, 512, FALSE },
    { { 0.5, 0.5 }, { 0, 0 }, 0.4, 0, 0, 16, 64, FALSE }, /* less in the middle */
    /* Two standard errors of the mean rise count: 0.516 of what it shivers by. */
    { { 0.5, 0.5 }, { 0, 0 }, 1.5, 0, 0.0018, 16, 64, TRUE },
    { { 0.5, 0.5 }, { 0, 0 }, 1.5, 0, 0.0022, 16, 64, FALSE },
    { { 0.5, 0.5 }, { 0, 0 }, 1.5, 0, 0.0012, 8, 64, TRUE },
    { { 0.5, 0.5 }, { 0, 0 }, 1.5, 0, 0.0015, 8, 64, FALSE },
  };

  for (guint i = 0; i < G_N_ELEMENTS (evens); i++) {
    const EvenSides *one = &evens[i];
    TdSides sides = { 0 };
    for (guint g = 0; g < one->groups; g++) {
      const double sign = g % 2 ? 1 : -1, sway = sign * one->sway;
      const double left = one->rise[0] + sign * one->shiver, right = one->rise[1];
      const double at[TD_SIDES_STRIPS]
          = { one->level[0] + sway - left / 2, one->level[0] + sway + left / 2,
              one->level[1] + sway + right / 2, one->level[1] + sway - right / 2, one->middle };
      int sums[TD_SIDES_STRIPS];
      for (guint k = 0; k < TD_SIDES_STRIPS; k++)
        sums[k] = (int) lrint (at[k] * 10000 / TD_SIDES_UNIT);
      td_sides_count (&sides, one->columns, g, TD_SIDES_GROUPS, 10000);
      td_sides_sum (&sides, g, TD_SIDES_GROUPS, sums);
    }
    const double found = td_sides_even_level (&sides);
    g_test_message ("%u: %g", i, found);
    g_assert_cmpfloat_with_epsilon (found, one->even ? (one->level[0] + one->level[1]) / 2 : 0,
                                    1e-4);
  }
}

/* What is counted in parts is counted as if it were one. */
static void
test_sums (void)
{
  static const int strips[] = { 1, 20, 300, 4000, 50000 };
  TdPreparationCounts all = { 0 }, whole = { 0 };

  for (guint part = 1; part <= 3; part++) {
    TdPreparationCounts counts = {
      .clamped_transmissions = part,
      .sides = 10 * part,
      .bright_sides = 100 * part,
      .bad_values = 1000 * part,
      .dead_pixels = 7 * part,
      .stuck_pixels = 11 * part,
      .bad_pixels = 13 * part,
      .zingers = 17 * part,
      .zingers_angle = 19 * part,
      .dose_low = part == 1 ? 0 : 1.5 - 0.25 * part, /* of the first nothing is known */
      .dose_high = part == 1 ? 0 : 1 + 0.25 * part,
      .odd = { .n_flats = part == 2, .n_darks = part == 1, .first_flat = part },
    };
    for (guint view = 0; view < 32; view += part) {
      td_sides_count (&counts.levels, 40 + part, view, 32, 5);
      td_sides_sum (&counts.levels, view, 32, strips);
      td_sides_count (&whole.levels, 40 + part, view, 32, 5);
      td_sides_sum (&whole.levels, view, 32, strips);
    }
    td_numbers_add (&counts.lost_rows, part);
    td_numbers_add (&counts.lost_views, 10 + part);
    td_numbers_add (&counts.dark_views, 20 + part);
    td_preparation_counts_add (&all, &counts);
  }
  g_assert_cmpuint (all.clamped_transmissions, ==, 6);
  g_assert_cmpuint (all.sides, ==, 60);
  g_assert_cmpuint (all.bright_sides, ==, 600);
  g_assert_cmpuint (all.bad_values, ==, 6000);
  g_assert_cmpuint (all.dead_pixels, ==, 42);
  g_assert_cmpuint (all.stuck_pixels, ==, 66);
  g_assert_cmpuint (all.bad_pixels, ==, 78);
  g_assert_cmpuint (all.zingers, ==, 102);
  g_assert_cmpuint (all.zingers_angle, ==, 114);
  g_assert_cmpfloat (all.dose_low, ==, 0.75);
  g_assert_cmpfloat (all.dose_high, ==, 1.75);
  g_assert_cmpuint (all.odd.first_flat, ==, 2); /* of the last part that has any */
  g_assert_cmpmem (&all.levels, sizeof all.levels, &whole.levels, sizeof whole.levels);
  g_assert_cmpuint (all.levels.groups[0].n, ==, 5 * (2 + 1 + 1));
  g_assert_cmpint (all.levels.groups[0].sums[3], ==, 4000 * (2 + 1 + 1));
  g_autofree char *rows = td_numbers_text (&all.lost_rows, 0, 1);
  g_autofree char *views = td_numbers_text (&all.lost_views, 0, 1);
  g_autofree char *dark = td_numbers_text (&all.dark_views, 0, 1);
  g_assert_cmpstr (rows, ==, "1, 2, 3");
  g_assert_cmpstr (views, ==, "11, 12, 13");
  g_assert_cmpstr (dark, ==, "21, 22, 23");

  g_autoptr (GError) error = NULL;
  g_assert_false (td_preparation_counts_check (&all, &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_BAD_FILE);
  td_test_pin_refused (error);
  g_assert_nonnull (strstr (error->message, "no number in any view: 1, 2, 3. Leave"));
  td_preparation_counts_drop_pixels (&all);
  g_assert_true (all.dead_pixels == 0 && all.stuck_pixels == 0 && all.bad_pixels == 0);
  g_assert_cmpuint (all.zingers, ==, 102);
  all.lost_rows.n = 0;
  g_assert_true (td_preparation_counts_check (&all, NULL));

  for (guint kind = 0; kind < 5; kind++) { /* each alone counts */
    TdPreparationCounts sum = { .odd = { .first_dark = 1 } };
    TdPreparationCounts one = { .odd = { .n_flats = kind == 0,
                                         .n_darks = kind == 1,
                                         .n_bright = kind == 2,
                                         .top_share = kind == 3 ? 0.1 : 0,
                                         .first_dark = 5 } };
    td_preparation_counts_add (&sum, &one);
    g_assert_cmpuint (sum.odd.first_dark, ==, kind < 4 ? 5 : 1);
  }
}

/* ── Bad pixels ── */

/* A good pixel's distance from a bad one of these rows, in one of four directions; 0: none. */
static guint
good_away (const guint8 *mask, guint n_columns, guint n_rows, gint row, gint column, guint way,
           guint reach)
{
  static const gint steps[4][2] = { { 0, -1 }, { 0, 1 }, { -1, 0 }, { 1, 0 } };
  const guint most = way < 2 ? n_columns : reach;

  for (guint away = 1; away <= most; away++) {
    const gint y = row + (gint) away * steps[way][0], x = column + (gint) away * steps[way][1];
    if (y < 0 || x < 0 || y >= (gint) n_rows || x >= (gint) n_columns)
      return 0;
    if (!mask[y * (gint) n_columns + x])
      return away;
  }
  return 0;
}

/* Masks by chance: each bad pixel takes from the nearest good ones, by 1 / distance². */
static void
check_list (const guint8 *mask, guint n_columns, guint row0, guint n_rows, guint reach)
{
  static const gint steps[4] = { -1, 1, 0, 0 };
  g_autoptr (GArray) list = td_bad_pixels_list (mask, n_columns, row0, n_rows, reach);
  const guint8 *rows = mask + row0 * n_columns;
  guint n = 0;

  for (guint at = 0; at < n_rows * n_columns; at++) {
    double weights[4], sum = 0;
    if (!rows[at])
      continue;
    for (guint way = 0; way < 4; way++) {
      const guint away = good_away (rows, n_columns, n_rows, (gint) (at / n_columns),
                                    (gint) (at % n_columns), way, reach);
      weights[way] = away ? 1.0 / (away * away) : 0;
      sum += weights[way];
    }
    if (sum == 0)
      continue;
    g_assert_cmpuint (n, <, list->len);
    const TdBadPixel *bad = &g_array_index (list, TdBadPixel, n++);
    g_assert_cmpint (bad->pixel, ==, at);
    for (guint way = 0; way < 4; way++) {
      const gint away = weights[way] > 0 ? (gint) lrint (1 / sqrt (weights[way])) : 0;
      const gint step = steps[way] ? steps[way] : way == 2 ? -(gint) n_columns : (gint) n_columns;
      g_assert_cmpint (bad->source[way], ==, away ? (gint) at + away * step : -1);
      g_assert_cmpfloat_with_epsilon (bad->weight[way], weights[way] / sum, 1e-6);
    }
  }
  g_assert_cmpuint (n, ==, list->len);
}

static void
test_mask_lists (void)
{
  enum { COLUMNS = 7, ROWS = 9 };
  g_autoptr (GRand) random = g_rand_new_with_seed (11);
  guint8 mask[ROWS * COLUMNS];
  guint n_alone = 0;

  for (guint round = 0; round < 60; round++) {
    const double share = 0.1 + 0.15 * (round % 6);
    for (guint i = 0; i < ROWS * COLUMNS; i++)
      mask[i] = g_rand_double (random) < share;
    const TdScanFacts facts = { .n_columns = COLUMNS, .n_rows = ROWS, .bad_pixels = mask };
    for (guint reach = 0; reach <= 3; reach++) {
      const guint row0 = round % 4, n_rows = ROWS - row0 - round % 3;
      gssize alone = -1;
      check_list (mask, COLUMNS, row0, n_rows, reach);
      for (guint at = row0 * COLUMNS; at < (row0 + n_rows) * COLUMNS && alone < 0; at++) {
        gboolean good = !mask[at];
        for (guint way = 0; way < 4; way++)
          good |= good_away (mask, COLUMNS, ROWS, (gint) (at / COLUMNS), (gint) (at % COLUMNS), way,
                             reach)
                  > 0;
        alone = good ? -1 : (gssize) at;
      }
      g_assert_cmpint (td_bad_pixels_alone (&facts, mask, row0, n_rows, reach), ==, alone);
      n_alone += alone >= 0;
    }
  }
  g_assert_cmpuint (n_alone, >, 20);
  /* What was found, and is not of the scan's own mask, may stay as it is. */
  const TdScanFacts unmasked = { .n_columns = COLUMNS, .n_rows = ROWS };
  memset (mask, 1, sizeof mask);
  g_assert_cmpint (td_bad_pixels_alone (&unmasked, mask, 0, ROWS, 3), ==, -1);
}

/* The beam of a bad pixel is that of its sources, and none where one of them has none. */
static void
test_mended_beam (void)
{
  enum { PIXELS = 12, GROUPS = 3 };
  const TdBadPixel bad[] = { { 5, { 4, 6, -1, 9 }, { 0.25f, 0.25f, 0, 0.5f } },
                             { 7, { -1, 8, 3, -1 }, { 0, 0.2f, 0.8f, 0 } },
                             { 10, { 9, 2, -1, -1 }, { 0.5f, 0.5f, 0, 0 } } };
  float beam[GROUPS * PIXELS], dark[PIXELS], before[GROUPS * PIXELS], dark_before[PIXELS];
  g_autoptr (GArray) list = g_array_new (FALSE, FALSE, sizeof (TdBadPixel));
  TdFlatBeam mended
      = { .n_groups = GROUPS, .n_rows = 3, .n_columns = 4, .beam = beam, .dark = dark };

  g_array_append_vals (list, bad, G_N_ELEMENTS (bad));
  for (guint i = 0; i < GROUPS * PIXELS; i++)
    beam[i] = 100 + 7 * i % 31;
  for (guint g = 0; g < GROUPS; g++)
    beam[g * PIXELS + 2] = 0; /* a source that knows nothing */
  for (guint i = 0; i < PIXELS; i++)
    dark[i] = 3 + 5 * i % 11;
  memcpy (before, beam, sizeof beam);
  memcpy (dark_before, dark, sizeof dark);
  td_bad_pixels_mend_beam (list, &mended);
  for (guint i = 0; i < PIXELS; i++) {
    const TdBadPixel *one = i == 5 ? &bad[0] : i == 7 ? &bad[1] : i == 10 ? &bad[2] : NULL;
    double dark_sum = 0;
    for (guint s = 0; s < 4 && one; s++)
      dark_sum += one->source[s] >= 0 ? one->weight[s] * dark_before[one->source[s]] : 0;
    g_assert_cmpfloat_with_epsilon (dark[i], one ? dark_sum : dark_before[i], 1e-5);
    for (guint g = 0; g < GROUPS; g++) {
      double sum = 0;
      for (guint s = 0; s < 4 && one; s++)
        sum += one->source[s] >= 0 ? one->weight[s] * before[g * PIXELS + one->source[s]] : 0;
      g_assert_cmpfloat_with_epsilon (beam[g * PIXELS + i],
                                      !one      ? before[g * PIXELS + i]
                                      : i == 10 ? 0
                                                : sum,
                                      1e-4);
    }
  }
}

/* ── Reading rows ── */

typedef struct {
  guint reads[8]; /* of each row */
  guint fails_at; /* a row that cannot be read */
} RowsRead;

static gboolean
read_numbered (gpointer user, TdRowRange range, float *out, GCancellable *cancellable,
               GError **error)
{
  RowsRead *read = user;

  for (guint i = 0; i < range.count; i++) {
    if (range.first + i == read->fails_at)
      return td_set_error (error, TD_ERROR_IO, "made to fail");
    read->reads[range.first + i]++;
    for (guint k = 0; k < 3; k++)
      out[i * 3 + k] = (float) (10 * (range.first + i) + k);
  }
  return TRUE;
}

/* Rows that are held are not read again, wherever they lie; others are read once. */
static void
test_rows_beside (void)
{
  enum { ROWS = 7, ROW = 3 };

  for (guint i = 0; i < ROWS * ROWS * ROWS * ROWS * 2; i++) {
    const TdRowRange has = { i % ROWS, i / ROWS % ROWS };
    const TdRowRange wants = { i / (ROWS * ROWS) % ROWS, i / (ROWS * ROWS * ROWS) % ROWS };
    const gboolean fails = i >= ROWS * ROWS * ROWS * ROWS;
    RowsRead read = { .fails_at = fails ? wants.first : G_MAXUINT };
    const TdRowsOrigin origin = { read_numbered, &read, ROW };
    float memory[ROWS * ROW];
    TdHeldRows held = { memory, has };
    if (has.first + has.count > ROWS || wants.first + wants.count > ROWS || wants.count == 0)
      continue;
    for (guint k = 0; k < has.count * ROW; k++)
      memory[k] = (float) (10 * (has.first + k / ROW) + k % ROW);
    const gboolean is_held = wants.first >= has.first && wants.first < has.first + has.count;
    const gboolean moved = td_held_rows_move (&held, &origin, wants, NULL, NULL);
    g_assert_cmpint (moved, ==, !fails || is_held);
    g_assert_cmpuint (held.range.count, ==, moved ? wants.count : 0);
    for (guint row = 0; row < ROWS && moved; row++) {
      const gboolean wanted = row >= wants.first && row < wants.first + wants.count;
      const gboolean had = row >= has.first && row < has.first + has.count;
      g_assert_cmpuint (read.reads[row], ==, wanted && !had);
      for (guint k = 0; wanted && k < ROW; k++)
        g_assert_cmpfloat (memory[(row - wants.first) * ROW + k], ==, 10 * row + k);
    }
  }
}

/* Views in any order, and rows in pieces, come as they lie in the scan. */
static void
test_rows_in_order (void)
{
  static const TdViewOrder orders[]
      = { { 0, G_MAXUINT, 0, 0 }, { 3, G_MAXUINT, 0, 0 }, { 0, 4, 9, 0 },
          { 1, 4, 9, 2 },         { 2, 1, 5, 0 },         { 0, 5, 5, 3 } };
  enum { ROWS = 4, N_VIEWS = 24, COLUMNS = 5, TAKEN = 6 };
  TdTestFrames x;

  td_test_frames_init (&x, ROWS, N_VIEWS, COLUMNS, TD_TEST_TRANSMISSIONS);
  for (guint i = 0; i < G_N_ELEMENTS (orders); i++)
    for (guint n = 1; n <= TAKEN; n += 5) {
      float out[2 * TAKEN * COLUMNS];
      const TdRowsViews views = { orders[i], n };
      if (i == 4 && n > 4)
        continue;
      g_assert_true (td_rows_read_views (x.scan, &views, (TdRowRange) { 1, 2 }, out, NULL, NULL));
      for (guint r = 0; r < 2; r++)
        for (guint v = 0; v < n; v++)
          for (guint c = 0; c < COLUMNS; c++)
            g_assert_cmpfloat (
                out[(r * n + v) * COLUMNS + c], ==,
                x.projections[(td_view_order_at (&orders[i], v) * ROWS + r + 1) * COLUMNS + c]);
    }
  for (guint shift = 0; shift <= 18; shift++) {
    float out[3 * N_VIEWS * COLUMNS];
    td_portion_shift = shift;
    g_assert_true (td_rows_read_scan (x.scan, (TdRowRange) { 1, 3 }, out, NULL, NULL));
    for (guint i = 0; i < 3 * N_VIEWS * COLUMNS; i++)
      g_assert_cmpfloat (
          out[i], ==,
          x.projections[(i / COLUMNS % N_VIEWS * ROWS + 1 + i / COLUMNS / N_VIEWS) * COLUMNS
                        + i % COLUMNS]);
  }
  td_portion_shift = 0;
  g_autoptr (GCancellable) cancelled = g_cancellable_new ();
  g_autoptr (GError) error = NULL;
  float one[N_VIEWS * COLUMNS];
  g_cancellable_cancel (cancelled);
  g_assert_false (td_rows_read_scan (x.scan, (TdRowRange) { 0, 1 }, one, cancelled, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  td_test_frames_clear (&x);
}

/* Rows without any number are named, but for those that the mask has and the step mends. */
static void
test_raw_rows (void)
{
  enum { ROWS = 4, COLUMNS = 3, N_VIEWS = 2, N = N_VIEWS * COLUMNS };
  guint8 mask[(6 + ROWS) * COLUMNS] = { 0 };
  TdScanFacts facts = { .n_columns = COLUMNS, .n_rows = 6 + ROWS, .n_views = N_VIEWS };
  const TdStep mend = td_test_step ("bad-pixels:find=0");
  TdStep off = mend;
  float rows[ROWS * N];
  const TdRawRows raw = { rows, 6, ROWS, N_VIEWS };

  off.enabled = FALSE;
  for (guint i = 0; i < ROWS * N; i++)
    rows[i] = i / N == 1 || i / N == 3 ? NAN : i % N == N - 1 ? 1 : INFINITY;
  for (guint c = 0; c < COLUMNS; c++)
    mask[9 * COLUMNS + c] = 1; /* the last one */
  for (guint i = 0; i < 5; i++) {
    const TdStep *step = i == 2 ? &off : &mend;
    const char *says = i == 3 || i == 4 ? "view: 7. Leave" : "view: 7, 9. Leave";
    g_autoptr (GError) error = NULL;
    facts.bad_pixels = i == 0 ? NULL : mask;
    mask[9 * COLUMNS + 1] = i != 1; /* all of the row */
    mask[8 * COLUMNS] = i == 4;
    g_assert_false (td_preparation_check_rows (step, 1, &facts, &raw, &error));
    g_test_message ("%u: %s", i, error->message);
    g_assert_nonnull (strstr (error->message, says));
  }
  for (guint i = 0; i < ROWS; i++)
    rows[i * N + 3] = 0;
  g_assert_true (td_preparation_check_rows (&mend, 1, &facts, &raw, NULL));
}

/* ── Flats ── */

static double
flats_naive (const float *frames, gsize step, const guint *group, guint n, guint of_group,
             gboolean median)
{
  float values[16];
  double sum = 0;
  guint found = 0;

  for (guint f = 0; f < n; f++) {
    const float value = frames[f * step];
    if ((group && group[f] != of_group) || !isfinite (value))
      continue;
    sum += value;
    guint at = found++;
    for (; at > 0 && values[at - 1] > value; at--)
      values[at] = values[at - 1];
    values[at] = value;
  }
  if (found == 0)
    return NAN;
  return median ? (values[(found - 1) / 2] + (double) values[found / 2]) / 2 : sum / found;
}

/* Means and medians of what is finite, group by group, whatever memory there is to read them. */
static void
check_averages (const TdTestFrames *x, TdFlatsHow how, guint row0, guint n_rows)
{
  const TdScanFacts *facts = td_scan_facts (x->scan);
  const guint n = facts->n_columns, pixels = facts->n_rows * n;
  g_autoptr (TdFlats) flats = td_flats_new (x->scan);
  g_autoptr (GError) error = NULL;
  g_autoptr (TdFlatRows) rows = td_flats_read (flats, how, row0, n_rows, NULL, &error);
  g_autofree guint *group = g_new0 (guint, facts->n_flats);

  g_assert_no_error (error);
  g_assert_cmpuint (rows->n_groups, ==, td_flats_groups (facts, how.one_group, NULL, group));
  for (guint i = 0; i < n_rows * n; i++) {
    const gsize pixel = row0 * n + i;
    for (guint g = 0; g < rows->n_groups; g++) {
      const float found = rows->flat[g * n_rows * n + i];
      const double mean
          = flats_naive (x->flats + pixel, pixels, group, facts->n_flats, g, how.median);
      g_assert_cmpint (isnan (found) != 0, ==, isnan (mean) != 0);
      if (!isnan (mean))
        g_assert_cmpfloat_with_epsilon (found, mean, 1e-6 * fabs (mean));
    }
    const double dark = flats_naive (x->darks + pixel, pixels, NULL, facts->n_darks, 0, how.median);
    g_assert_cmpfloat_with_epsilon (rows->dark[i], isnan (dark) ? 0 : dark, 1e-4);
  }
  /* Kept as long as few others were asked for. */
  for (guint k = 0; k < 8; k++) {
    g_autoptr (TdFlatRows) again = td_flats_read (flats, how, row0, n_rows, NULL, NULL);
    g_assert_true (again == rows);
    g_autoptr (TdFlatRows) other
        = td_flats_read (flats, (TdFlatsHow) { k & 1, k >> 1 & 1 }, k / 4, 1, NULL, NULL);
    g_assert_true (other->row0 == k / 4 && other->n_rows == 1);
  }
}

static void
test_averages (void)
{
  TdTestFrames x;

  td_test_frames_init (&x, 5, 6, 7, TD_TEST_INTENSITIES);
  for (guint i = 0; i < x.frames.n_flats * 35; i += 11)
    x.flats[i] = i % 2 ? NAN : INFINITY;
  for (guint f = 0; f < x.frames.n_flats; f++)
    x.flats[f * 35 + 17] = NAN; /* nothing is known there */
  for (guint i = 0; i < x.frames.n_darks * 35; i += 9)
    x.darks[i] = NAN;
  for (guint f = 0; f < x.frames.n_darks; f++)
    x.darks[f * 35 + 20] = NAN;
  for (guint i = 0; i < 16; i++) {
    const TdFlatsHow how = { i & 1, i >> 1 & 1 };
    td_portion_shift = i & 4 ? 18 : 0;
    check_averages (&x, how, i & 8 ? 2 : 0, i & 8 ? 2 : 5);
  }
  td_portion_shift = 0;
  td_test_frames_clear (&x);
}

static GBytes *
make_number (TdFlats *flats, gconstpointer user, GCancellable *cancellable, GError **error)
{
  guint *made = (guint *) user;

  if (*made == G_MAXUINT)
    return NULL;
  ++*made;
  return g_bytes_new (made, sizeof *made);
}

/* What is worked out once is kept while seven others are, and what could not be is not kept. */
static void
test_flats_once (void)
{
  guint made = 0, never = G_MAXUINT;
  TdTestFrames x;

  td_test_frames_init (&x, 1, 2, 3, TD_TEST_INTENSITIES);
  g_autoptr (TdFlats) flats = td_flats_new (x.scan);
  g_assert_null (td_flats_once (flats, "a", make_number, &never, NULL, NULL));
  g_autoptr (GBytes) first = td_flats_once (flats, "a", make_number, &made, NULL, NULL);
  for (guint others = 0; others < 9; others++) {
    g_autofree char *key = g_strdup_printf ("other %u", others);
    g_autoptr (GBytes) other = td_flats_once (flats, key, make_number, &made, NULL, NULL);
    g_assert_cmpuint (made, ==, others + 2 + (others > 7));
    g_autoptr (GBytes) again = td_flats_once (flats, "a", make_number, &made, NULL, NULL);
    g_assert_cmpint (again == first, ==, others < 7);
  }
  td_test_frames_clear (&x);
}

/* Flats that reach what their camera can count, in steps of 1 or more. */
static void
test_flats_top (void)
{
  static const struct {
    float top, other;
    guint n; /* of 24 samples */
    TdSampleType type;
    gboolean found;
  } tops[] = {
    { 4095, 3000, 6, TD_SAMPLE_UINT16, TRUE },    { 4095, 3001, 1, TD_SAMPLE_UINT16, TRUE },
    { 4094, 3001, 6, TD_SAMPLE_UINT16, FALSE },   { 4096, 3001, 6, TD_SAMPLE_UINT16, FALSE },
    { 65535, 3001, 6, TD_SAMPLE_UINT16, TRUE },   { 65520, 32000, 6, TD_SAMPLE_UINT16, TRUE },
    { 65520, 32001, 6, TD_SAMPLE_UINT16, FALSE }, { 255, 101, 6, TD_SAMPLE_UINT8, TRUE },
    { 127, 101, 6, TD_SAMPLE_UINT8, FALSE },      { 4095, 3000, 6, TD_SAMPLE_FLOAT32, FALSE },
    { 4095, 3000, 6, TD_SAMPLE_FLOAT64, FALSE },
  };
  double angle = 0;

  for (guint i = 0; i < G_N_ELEMENTS (tops); i++) {
    float flats[24], view[8] = { 1, 1, 1, 1, 1, 1, 1, 1 };
    const TdScanFacts facts = { .n_columns = 8,
                                .n_rows = 1,
                                .n_views = 1,
                                .n_flats = 3,
                                .sample_type = tops[i].type,
                                .angles_rad = &angle };
    for (guint k = 0; k < 24; k++)
      flats[k] = k * 7 % 24 < tops[i].n ? tops[i].top : tops[i].other;
    g_autoptr (TdScan) scan = td_scan_new_from_memory (&facts, view, flats, NULL, NULL, NULL);
    g_autoptr (TdFlats) own = td_flats_new (scan);
    TdFlatsOdd odd;
    g_assert_true (td_flats_odd (own, &odd, NULL, NULL));
    g_test_message ("%u: %g of %g", i, odd.top_share, odd.top);
    g_assert_cmpfloat (odd.top, ==, tops[i].found ? tops[i].top : 0);
    g_assert_cmpfloat_with_epsilon (odd.top_share, tops[i].found ? tops[i].n / 24.0 : 0, 1e-12);
  }
}

/* ── What is taken, and what is refused ── */

static void
test_regions (void)
{
  static const struct {
    gboolean borders;
    guint x, y, width, height;
    gboolean fits;
  } regions[] = {
    { FALSE, 0, 0, 20, 10, TRUE },        { FALSE, 0, 0, 21, 10, FALSE },
    { FALSE, 0, 0, 20, 11, FALSE },       { FALSE, 19, 9, 1, 1, TRUE },
    { FALSE, 20, 9, 1, 1, FALSE },        { FALSE, 19, 10, 1, 1, FALSE },
    { FALSE, G_MAXUINT, 0, 1, 1, FALSE }, { TRUE, 99, 99, 99, 99, TRUE },
  };
  const TdScanFacts facts = { .n_columns = 20, .n_rows = 10 };

  for (guint i = 0; i < G_N_ELEMENTS (regions); i++) {
    const TdDoseSpec spec = { .borders = regions[i].borders,
                              .x = regions[i].x,
                              .y = regions[i].y,
                              .width = regions[i].width,
                              .height = regions[i].height };
    g_autoptr (GError) error = NULL;
    g_assert_cmpint (td_dose_spec_check (&spec, &facts, &error), ==, regions[i].fits);
    g_assert_cmpint (error == NULL, ==, regions[i].fits);
  }
}

/* Steps on line integrals run alone where the logarithm was taken. Halos add up, as far as there
   are rows. */
static void
test_skipped (void)
{
  TdScanFacts facts
      = { .n_columns = 50, .n_rows = 5, .n_views = 9, .sample_type = TD_SAMPLE_UINT16 };
  TdStep all[32];
  guint n = 0;

  for (const TdStepKind *const *kind = td_prepare_steps (); *kind; kind++, n++) {
    td_step_init (&all[n], *kind);
    all[n].enabled = TRUE;
    const gboolean paganin = strcmp ((*kind)->name, "paganin") == 0;
    facts.transmission_logged = FALSE;
    g_assert_false (td_preparation_skips (&all[n], &facts) && !paganin);
    facts.transmission_logged = TRUE;
    g_assert_cmpint (td_preparation_skips (&all[n], &facts), ==,
                     (*kind)->stage != TD_STEP_ABSORPTION);
    all[n].enabled = FALSE;
    g_assert_true (td_preparation_skips (&all[n], &facts));
    all[n].enabled = TRUE;
  }
  facts.transmission_logged = FALSE;
  const TdStep two[] = { td_test_step ("bad-pixels:find=0:reach=2"), td_test_step ("zingers") };
  const TdStep same[] = { two[0], two[0] };
  g_assert_cmpuint (td_preparation_halo (two, 0, &facts), ==, 0);
  g_assert_cmpuint (td_preparation_halo (two, 1, &facts), ==, 2);
  g_assert_cmpuint (td_preparation_halo (two, 2, &facts), ==, 3);
  g_assert_cmpuint (td_preparation_halo (same, 2, &facts), ==, 4);
  facts.n_rows = 3;
  g_assert_cmpuint (td_preparation_halo (same, 2, &facts), ==, 3);

  TdDevice *device = td_test_open ("host");
  const guint most = device->info.most_groups;
  g_autoptr (GError) error = NULL;
  g_assert_true (td_preparation_check_views (device, 1000000, NULL));
  device->info.most_groups = 9;
  g_assert_true (td_preparation_check_views (device, 9, NULL));
  g_assert_false (td_preparation_check_views (device, 10, &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_TOO_LARGE);
  td_test_pin_refused (error);
  g_assert_nonnull (strstr (error->message, "takes 9 views of a row at most, and there are 10"));
  device->info.most_groups = most;
  td_test_close (device);
}

/* A table entry is 0 at frequency 0, even, and what a row's second difference makes of a wave. */
static void
test_response (void)
{
  for (guint i = 0; i < 4; i++) {
    const TdPaganin paganin = { .length_px = { 3, 0.7 }, .discrete = i & 1 };
    const guint axis = i >> 1, n = 15 + 9 * axis;
    const double length = paganin.length_px[axis];
    float response[24];

    td_paganin_response (&paganin, axis, n, response);
    for (guint k = 0; k < n; k++) {
      const double f = k <= n / 2 ? k : (double) n - k, wave = 2 * G_PI * f / n;
      g_assert_cmpfloat_with_epsilon (
          response[k], length * length * (paganin.discrete ? 2 - 2 * cos (wave) : wave * wave),
          1e-4);
    }
  }
}

/* Which frames are none: by their light over the dark, but for a 32nd of the samples at either
   end. */
static void
test_flats_levels (void)
{
  enum { COLUMNS = 64, MOST = 5 };
  static const struct {
    const char *says;
    float flats[MOST], darks[3], view;
    guint absurd; /* samples of the first flat and of the first dark … */
    float level;  /* … have this */
    TdFlatsOdd odd;
  } levels[] = {
    { "all sound", { 1000, 1000, 1000 }, { 300, 300 }, 500, 0, 0, { 0 } },
    /* Of a light of 700 a tenth is 70, four times as much 2800, and half 350. */
    { "a flat with a tenth", { 1000, 380, 1000 }, { 300, 300 }, 500, 0, 0, { 0 } },
    { "less", { 1000, 360, 1000 }, { 300, 300 }, 500, 0, 0, { 1, 0, 1 } },
    { "with four times", { 1000, 1000, 3050 }, { 300, 300 }, 500, 0, 0, { 0 } },
    { "more", { 1000, 1000, 3150 }, { 300, 300 }, 500, 0, 0, { .n_bright = 1, .first_bright = 2 } },
    { "a dark with half", { 1000, 1000, 1000 }, { 300, 640 }, 500, 0, 0, { 0 } },
    { "a dark with more", { 1000, 1000, 1000 }, { 300, 660 }, 500, 0, 0, { 0, 1, 0, 1 } },
    { "the darkest counts", { 1000, 1000, 1000 }, { 660, 300, 660 }, 500, 0, 0, { 0, 2 } },
    { "two absurd samples", { 1000, 1000, 1000 }, { 300, 300 }, 500, 2, 1e7f, { 0 } },
    { "two at the other end", { 1000, 1000, 1000 }, { 300, 300 }, 500, 2, -1e7f, { 0 } },
    { "three", { 1000, 1000, 1000 }, { 300, 300 }, 500, 3, 1e7f, { 0, 1, .n_bright = 1 } },
    /* Of few flats the lower middle counts, and of most without the beam the brightest. */
    { "half of two", { 1000, 310 }, { 300, 300 }, 500, 0, 0, { 1, 0, 1 } },
    { "most are none", { 310, 310, 1000, 310, 1000 }, { 300, 300 }, 500, 0, 0, { 3 } },
    { "but not where the views have no more",
      { 310, 310, 1000, 310, 1000 },
      { 300, 300 },
      319,
      0,
      0,
      { .n_bright = 2, .first_bright = 2 } },
  };
  double angle = 0;

  for (guint i = 0; i < G_N_ELEMENTS (levels); i++) {
    float flats[MOST * COLUMNS], darks[3 * COLUMNS], view[COLUMNS];
    TdScanFacts facts = { .n_columns = COLUMNS,
                          .n_rows = 1,
                          .n_views = 1,
                          .sample_type = TD_SAMPLE_FLOAT32,
                          .angles_rad = &angle };
    while (facts.n_flats < MOST && levels[i].flats[facts.n_flats] > 0)
      facts.n_flats++;
    while (facts.n_darks < 3 && levels[i].darks[facts.n_darks] > 0)
      facts.n_darks++;
    for (guint k = 0; k < MOST * COLUMNS; k++)
      flats[k] = k < levels[i].absurd ? levels[i].level : levels[i].flats[k / COLUMNS];
    for (guint k = 0; k < 3 * COLUMNS; k++)
      darks[k] = k < levels[i].absurd ? levels[i].level : levels[i].darks[k / COLUMNS];
    for (guint k = 0; k < COLUMNS; k++)
      view[k] = levels[i].view;
    g_autoptr (TdScan) scan = td_scan_new_from_memory (&facts, view, flats, darks, NULL, NULL);
    g_autoptr (TdFlats) own = td_flats_new (scan);
    TdFlatsOdd odd;
    g_assert_true (td_flats_odd (own, &odd, NULL, NULL));
    g_test_message ("%s: %u flats, %u darks, %u bright", levels[i].says, odd.n_flats, odd.n_darks,
                    odd.n_bright);
    g_assert_cmpuint (odd.n_flats, ==, levels[i].odd.n_flats);
    g_assert_cmpuint (odd.n_darks, ==, levels[i].odd.n_darks);
    g_assert_cmpuint (odd.n_bright, ==, levels[i].odd.n_bright);
    g_assert_cmpuint (odd.first_flat, ==, levels[i].odd.first_flat);
    g_assert_cmpuint (odd.first_dark, ==, levels[i].odd.first_dark);
    g_assert_cmpuint (odd.first_bright, ==, levels[i].odd.first_bright);
  }
}

/* The blur's length by its formula, and how far it is felt. A beam may diverge, and what the step
   does not state is the scan's. */
static void
test_lengths (void)
{
  static const struct {
    double energy_kev, distance_mm, pixel_um, delta_beta; /* 0: of the scan */
    double axis_mm, detector_mm;                          /* of the source; 0: a parallel beam */
    gboolean pixels;
    guint n_rows;
  } lengths[] = {
    { 25, 100, 1.6, 500, 0, 0, FALSE, 9 }, { 25, 100, 1.6, 500, 0, 0, TRUE, 9 },
    { 25, 100, 1.6, 500, 0, 0, FALSE, 1 }, { 60, 10, 20, 100, 0, 0, FALSE, 9 },
    { 60, 10, 20, 100, 0, 0, TRUE, 9 },    { 0, 0, 0, 1000, 0, 0, FALSE, 9 },
    { 30, 0, 0, 300, 50, 250, FALSE, 9 },  { 30, 40, 0, 300, 50, 250, TRUE, 9 },
    { 30, 0, 5, 300, 50, 250, FALSE, 9 },  { 12, 800, 3, 2000, 0, 0, FALSE, 9 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (lengths); i++) {
    TdScanFacts facts = { .n_columns = 4000,
                          .n_rows = lengths[i].n_rows,
                          .n_views = 9,
                          .energy_kev = 18,
                          .propagation_mm = 66,
                          .sample_type = TD_SAMPLE_UINT16 };
    const double axis = lengths[i].axis_mm, detector = lengths[i].detector_mm;
    const double pixel = lengths[i].pixel_um ? lengths[i].pixel_um * 1e-3 : 4e-3;
    const double energy = lengths[i].energy_kev ? lengths[i].energy_kev : 18;
    const double distance = lengths[i].distance_mm ? lengths[i].distance_mm
                            : axis > 0             ? detector - axis
                                                   : 66;
    TdStep step = td_test_step ("paganin");
    TdPaganin paganin;

    td_geometry_init_parallel (&facts.geometry);
    facts.geometry.pixel_width_mm = 4e-3;
    facts.geometry.pixel_height_mm = 8e-3;
    if (axis > 0) {
      facts.geometry.beam = TD_BEAM_CONE;
      facts.geometry.source_axis_mm = axis;
      facts.geometry.source_detector_mm = detector;
    }
    step.values[TD_PAGANIN_ENERGY] = lengths[i].energy_kev;
    step.values[TD_PAGANIN_DISTANCE] = lengths[i].distance_mm;
    step.values[TD_PAGANIN_PIXEL] = lengths[i].pixel_um;
    step.values[TD_PAGANIN_DELTA_BETA] = lengths[i].delta_beta;
    step.values[TD_PAGANIN_LAPLACIAN] = lengths[i].pixels;
    g_assert_null (td_paganin_init (&paganin, &step, &facts));
    const double larger = axis > 0 ? detector / axis : 1, wave_mm = 1.239841984e-6 / energy;
    const double in_mm
        = sqrt (distance / larger * wave_mm * lengths[i].delta_beta / (4 * G_PI)) * larger;
    g_assert_cmpint (paganin.discrete, ==, lengths[i].pixels);
    for (guint way = 0; way < 2; way++) {
      const double px = way && !lengths[i].pixel_um ? 8e-3 : pixel;
      const double length = way && lengths[i].n_rows == 1 ? 0 : in_mm / px;
      const double f = pow (G_PI * length, 2);
      const double most = lengths[i].pixels
                              ? -log (TD_PAGANIN_REST) / (2 * asinh (0.5 / length))
                              : MAX (-log (TD_PAGANIN_REST) * length,
                                     sqrt (f / pow (G_PI * (1 + f), 2) / TD_PAGANIN_TAIL));
      g_test_message ("%u: %.3f, %u", i, length, paganin.reach_px[way]);
      g_assert_cmpfloat_with_epsilon (paganin.length_px[way], length, 1e-9 * length + 1e-12);
      g_assert_cmpuint (paganin.reach_px[way], ==, length > 0 ? (guint) ceil (most) : 0);
    }
    td_test_pin ("paganin %u: %" G_GUINT64_FORMAT " bytes of a device", i,
                 td_preparation_workspace_bytes (&step, 1, &facts, 7));
  }
}

int
main (int argc, char **argv)
{
  static const TdDeviceTest tests[] = {
    { "formulas", test_formulas },
    { "dose-region", test_dose_region },
    { "chain", test_chain },
    { "cuts", test_cuts },
    { "kept", test_kept },
    { "extremes", test_extremes },
    { "counts", test_counts },
    { "counts-in-time", test_counts_in_time },
    { "counts-again", test_counts_again },
    { "lost", test_lost },
    { "sides", test_sides },
    { "dead", test_dead },
    { "counted", test_counted },
  };

  g_test_init (&argc, &argv, NULL);
  td_test_keep_open ();
  td_test_each_device ("prepare", tests, G_N_ELEMENTS (tests));
  g_test_add_func ("/prepare/dose-monitor", test_dose_monitor);
  g_test_add_func ("/prepare/dose-turned", test_dose_turned);
  g_test_add_func ("/prepare/drift", test_drift);
  g_test_add_func ("/prepare/find", test_find);
  g_test_add_func ("/prepare/flat-groups", test_flat_groups);
  g_test_add_func ("/prepare/flat-places", test_flat_places);
  g_test_add_func ("/prepare/flats-odd", test_flats_odd);
  g_test_add_func ("/prepare/halo", test_halo);
  g_test_add_func ("/prepare/bytes", test_bytes);
  g_test_add_func ("/prepare/numbers", test_numbers);
  g_test_add_func ("/prepare/orders", test_orders);
  g_test_add_func ("/prepare/presets", test_presets);
  g_test_add_func ("/prepare/ranges", test_ranges);
  g_test_add_func ("/prepare/scale-columns", test_scale_columns);
  g_test_add_func ("/prepare/even-level", test_even_level);
  g_test_add_func ("/prepare/sums", test_sums);
  g_test_add_func ("/prepare/mask-lists", test_mask_lists);
  g_test_add_func ("/prepare/mended-beam", test_mended_beam);
  g_test_add_func ("/prepare/rows-beside", test_rows_beside);
  g_test_add_func ("/prepare/rows-in-order", test_rows_in_order);
  g_test_add_func ("/prepare/raw-rows", test_raw_rows);
  g_test_add_func ("/prepare/averages", test_averages);
  g_test_add_func ("/prepare/flats-once", test_flats_once);
  g_test_add_func ("/prepare/flats-top", test_flats_top);
  g_test_add_func ("/prepare/flats-levels", test_flats_levels);
  g_test_add_func ("/prepare/lengths", test_lengths);
  g_test_add_func ("/prepare/regions", test_regions);
  g_test_add_func ("/prepare/skipped", test_skipped);
  g_test_add_func ("/prepare/response", test_response);
  return g_test_run ();
}
