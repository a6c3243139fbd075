/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The intensity steps on every device against their formulas in double precision; every step on rows cut
   anyhow, on odd shapes, on constant and empty sinograms. */
#include <math.h>
#include <string.h>

#include "compute/prepare/bad-pixels.h"
#include "compute/prepare/prepare.h"
#include "tests/common/devices.h"
#include "tests/common/intensity-reference.h"

#define BOUND 1e-5 /* of the largest value */

typedef enum { INTENSITIES, TRANSMISSIONS, AIR, LINE_INTEGRALS, CONSTANT, EMPTY } Content;

typedef struct {
  TdFrames frames;
  TdScan *scan;
  float *projections, *flats, *darks;
  double angles[256], positions[9];
  guint8 *mask;
} Fixture;

static void
fill (float *values, gsize n, double low, double high, GRand *random)
{
  for (gsize i = 0; i < n; i++)
    values[i] = (float) g_rand_double_range (random, low, high);
}

/* Hits and losses, a hundredth of the samples each. */
static void
spoil (float *values, gsize n, double by, GRand *random)
{
  for (gsize i = 0; i < n; i++) {
    double dice = g_rand_double (random);
    if (dice < 0.02)
      values[i] += (float) ((dice < 0.01 ? by : -0.6 * by) * (1 + dice));
  }
}

static void
fill_projections (Fixture *x, gsize n, Content content, GRand *random)
{
  switch (content) {
  case INTENSITIES:
    fill (x->projections, n, 800, 1000, random);
    spoil (x->projections, n, 900, random);
    break;
  case TRANSMISSIONS:
    fill (x->projections, n, 0.9, 1, random);
    spoil (x->projections, n, 0.9, random);
    break;
  case AIR:
    fill (x->projections, n, 0.97, 1, random);
    spoil (x->projections, n, 0.05, random);
    break;
  case LINE_INTEGRALS:
    fill (x->projections, n, 1, 1.15, random);
    spoil (x->projections, n, 1, random);
    break;
  case CONSTANT:
    fill (x->projections, n, 0.75, 0.75, random);
    break;
  case EMPTY:
    memset (x->projections, 0, n * sizeof (float));
    break;
  }
}

/* Flats before, within and after, darks, one pixel in eight bad. Only INTENSITIES has flats. */
static void
setup (Fixture *x, guint n_rows, guint n_views, guint n_columns, Content content)
{
  static const double places[9] = { 0, 0, 0, 0.4, 0.4, 1, 1, 1, 1 };
  g_autoptr (GRand) random = g_rand_new_with_seed (n_rows * 10007 + n_views * 101 + n_columns);
  gsize pixels = (gsize) n_rows * n_columns, n = pixels * n_views;
  gboolean counted = content == INTENSITIES;

  memset (x, 0, sizeof *x);
  x->projections = g_new (float, n);
  x->mask = g_new0 (guint8, pixels);
  fill_projections (x, n, content, random);
  for (gsize i = 0; i < pixels; i++)
    x->mask[i] = g_rand_int_range (random, 0, 8) == 0;
  for (guint v = 0; v < n_views; v++)
    x->angles[v] = 0.01 * v + 0.0001 * v * v;
  if (counted) {
    x->flats = g_new (float, 9 * pixels);
    x->darks = g_new (float, 4 * pixels);
    fill (x->flats, 9 * pixels, 1500, 2000, random);
    fill (x->darks, 4 * pixels, 90, 110, random);
    for (guint i = 0; i < 9; i++)
      x->positions[i] = floor (places[i] * n_views);
  }
  x->frames = (TdFrames) {
    .n_rows = n_rows, .n_views = n_views, .n_columns = n_columns, .n_flats = counted ? 9 : 0,
    .n_darks = counted ? 4 : 0, .projections = x->projections, .flats = x->flats,
    .darks = x->darks, .flat_positions = counted ? x->positions : NULL, .angles_rad = x->angles,
    .mask = x->mask,
  };
  const TdScanFacts facts = {
    .n_columns = n_columns, .n_rows = n_rows, .n_views = n_views, .n_flats = x->frames.n_flats,
    .n_darks = x->frames.n_darks, .sample_type = TD_SAMPLE_FLOAT32, .angles_rad = x->angles,
    .flat_positions = counted ? x->positions : NULL, .bad_pixels = x->mask, .centre_px = NAN,
    .energy_kev = 20, .propagation_mm = 1,
    .geometry = { .pixel_width_mm = 0.001, .pixel_height_mm = 0.001 },
  };
  x->scan = td_scan_new_from_memory (&facts, x->projections, x->flats, x->darks, NULL, NULL);
}

static void
clear (Fixture *x)
{
  td_scan_unref (x->scan);
  g_free (x->projections);
  g_free (x->flats);
  g_free (x->darks);
  g_free (x->mask);
}

/* ── Running ──────────────────────────────────────────────────────────────────────────────────── */

/* Steps on rows [first, end) of the scan. */
static float *
run (TdDevice *device, const Fixture *x, const TdStep *steps, guint n_steps, guint first, guint end,
     TdPreparationCounts *counts)
{
  const TdFrames *f = &x->frames;
  gsize n = (gsize) (end - first) * f->n_views * f->n_columns;
  g_autoptr (GError) error = NULL;
  g_autoptr (TdQueue) queue = td_queue_new (device, &error);
  float *data = g_new (float, n);

  g_assert_true (td_scan_read_sinograms (x->scan, 0, f->n_views, first, end - first, data, NULL, &error));
  TdBuffer *buffer = td_test_buffer (device, queue, data, n * sizeof (float));
  g_autoptr (TdPreparation) preparation
      = td_preparation_new (device, x->scan, NULL, steps, n_steps, end - first, &error);
  g_assert_no_error (error);
  td_preparation_run (preparation, queue, buffer, first, end - first, NULL, NULL, &error);
  g_assert_no_error (error);
  td_download (queue, data, buffer, 0, n * sizeof (float), &error);
  td_test_finish (queue);
  if (counts)
    g_assert_true (td_preparation_counts (preparation, queue, counts, &error));
  td_buffer_free (buffer);
  return data;
}

static double *
raw_sinograms (const Fixture *x)
{
  const TdFrames *f = &x->frames;
  double *out = g_new (double, (gsize) f->n_rows * f->n_views * f->n_columns), *to = out;

  for (guint r = 0; r < f->n_rows; r++)
    for (guint v = 0; v < f->n_views; v++)
      for (guint c = 0; c < f->n_columns; c++)
        *to++ = x->projections[((gsize) v * f->n_rows + r) * f->n_columns + c];
  return out;
}

static void
compare (const Fixture *x, const char *what, const float *got, const double *expected)
{
  const TdFrames *f = &x->frames;
  double largest = 0, worst = 0;

  for (gsize i = 0; i < (gsize) f->n_rows * f->n_views * f->n_columns; i++) {
    largest = MAX (largest, fabs (expected[i]));
    worst = isfinite (got[i]) ? MAX (worst, fabs (got[i] - expected[i])) : INFINITY;
  }
  if (worst > BOUND * MAX (largest, 1)) {
    g_test_message ("%s, %u rows, %u views, %u columns: off by %g of %g", what, f->n_rows, f->n_views,
                    f->n_columns, worst, largest);
    g_test_fail ();
  }
}

/* As a CPU takes it, and (where that is OpenCL) as GPUs do. */
static void
on_each_path (TdDevice *device, void (*check) (TdDevice *device, gconstpointer user),
              gconstpointer user)
{
  check (device, user);
  if (device->info.cpu_shaped && !device->info.host_pointers) {
    device->info.cpu_shaped = FALSE;
    check (device, user);
    device->info.cpu_shaped = TRUE;
  }
}

/* "zingers:size=5x5" */
static TdStep
parse_step (const char *text)
{
  g_auto (GStrv) words = g_strsplit (text, ":", -1);
  const TdStepKind *kind = td_prepare_step (words[0], NULL);
  TdStep step;

  g_assert_nonnull (kind);
  td_step_init (&step, kind);
  for (guint w = 1; words[w]; w++) {
    g_auto (GStrv) pair = g_strsplit (words[w], "=", 2);
    for (guint i = 0; i < kind->n_parameters; i++)
      if (strcmp (kind->parameters[i].name, pair[0]) == 0)
        step.values[i] = g_ascii_strtod (pair[1], NULL);
  }
  return step;
}

/* ── Against the formulas ─────────────────────────────────────────────────────────────────────── */

typedef struct {
  const char *step;
  TdIntensityReference reference;
  Content content;
} Case;

static const Case cases[] = {
  { "bad-pixels:find=0", td_reference_bad_pixels, INTENSITIES },
  { "bad-pixels:find=0:reach=0", td_reference_bad_pixels, INTENSITIES },
  { "bad-pixels:find=0:reach=5", td_reference_bad_pixels, INTENSITIES },
  { "zingers", td_reference_zingers, INTENSITIES },
  { "zingers:size=1:kind=2:threshold=0.15", td_reference_zingers, INTENSITIES },
  { "zingers:kind=1:threshold=0.2:least=250", td_reference_zingers, INTENSITIES },
  { "zingers:size=1:kind=1:threshold=0.05", td_reference_zingers, INTENSITIES },
  { "flat-field", td_reference_flat_field, INTENSITIES },
  { "flat-field:drift=0", td_reference_flat_field, INTENSITIES },
  { "flat-field:drift=2", td_reference_flat_field, INTENSITIES },
  { "flat-field:average=1", td_reference_flat_field, INTENSITIES },
  { "flat-field:average=1:drift=0", td_reference_flat_field, INTENSITIES },
  { "flat-field:white=3000", td_reference_flat_field, INTENSITIES },
  { "dose", td_reference_dose, AIR },
  { "dose:columns=3", td_reference_dose, AIR },
  { "dose:air=1", td_reference_dose, TRANSMISSIONS },
  { "dose:air=1:columns=200", td_reference_dose, TRANSMISSIONS },
  { "double-flat", td_reference_double_flat, TRANSMISSIONS },
  { "double-flat:width=1.5", td_reference_double_flat, TRANSMISSIONS },
  { "double-flat:width=60", td_reference_double_flat, TRANSMISSIONS },
  { "minus-log", td_reference_minus_log, TRANSMISSIONS },
  { "minus-log:floor=0.01", td_reference_minus_log, TRANSMISSIONS },
  { "zingers-angle", td_reference_zingers_angle, LINE_INTEGRALS },
  { "zingers-angle:size=1:kind=0", td_reference_zingers_angle, LINE_INTEGRALS },
  { "zingers-angle:size=2:kind=1:threshold=0.05", td_reference_zingers_angle, LINE_INTEGRALS },
  { "zingers-angle:size=3:threshold=0.1", td_reference_zingers_angle, LINE_INTEGRALS },
  { "beam-hardening", td_reference_beam_hardening, LINE_INTEGRALS },
  { "beam-hardening:a1=0.9:a2=-0.3:a3=0.11:a4=0.02:a5=-0.005", td_reference_beam_hardening,
    LINE_INTEGRALS },
};

static const guint shapes[][3] = { /* rows, views, columns */
  { 1, 1, 1 }, { 1, 1, 50 }, { 1, 30, 1 }, { 2, 2, 2 }, { 1, 33, 31 }, { 7, 9, 19 }, { 5, 70, 33 },
  { 12, 5, 150 },
};

static void
check_case (TdDevice *device, gconstpointer user)
{
  const Case *one = user;
  TdStep step = parse_step (one->step);

  for (guint s = 0; s < G_N_ELEMENTS (shapes); s++) {
    Fixture x;
    setup (&x, shapes[s][0], shapes[s][1], shapes[s][2], one->content);
    g_autofree double *expected = raw_sinograms (&x);
    one->reference (&x.frames, &step, expected);
    g_autofree float *got = run (device, &x, &step, 1, 0, x.frames.n_rows, NULL);
    compare (&x, one->step, got, expected);
    clear (&x);
  }
}

static void
test_formulas (gconstpointer id)
{
  TdDevice *device = td_test_open (id);

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    on_each_path (device, check_case, &cases[i]);
  td_test_close (device);
}

/* An air region, of all rows and of a part. */
static void
check_region (TdDevice *device, gconstpointer unused)
{
  static const char *const regions[] = { "dose:air=2:x=3:y=0:width=10:height=5",
                                         "dose:air=2:x=0:y=2:width=1:height=1",
                                         "dose:air=2:x=28:y=1:width=5:height=3" };

  for (guint i = 0; i < G_N_ELEMENTS (regions); i++) {
    TdStep step = parse_step (regions[i]);
    Fixture x;
    setup (&x, 5, 17, 33, TRANSMISSIONS);
    g_autofree double *expected = raw_sinograms (&x);
    td_reference_dose (&x.frames, &step, expected);
    g_autofree float *got = run (device, &x, &step, 1, 0, 5, NULL);
    compare (&x, regions[i], got, expected);
    clear (&x);
  }
}

static void
test_dose_region (gconstpointer id)
{
  TdDevice *device = td_test_open (id);
  TdStep outside = parse_step ("dose:air=2:x=30:y=0:width=10:height=5");
  Fixture x;

  on_each_path (device, check_region, NULL);
  setup (&x, 5, 17, 33, TRANSMISSIONS);
  g_autoptr (GError) error = NULL;
  g_autoptr (TdQueue) queue = td_queue_new (device, &error);
  g_autoptr (TdBuffer) buffer = td_buffer_new (device, 5 * 17 * 33 * sizeof (float), &error);
  g_autoptr (TdPreparation) preparation
      = td_preparation_new (device, x.scan, NULL, &outside, 1, 5, &error);
  g_assert_no_error (error);
  g_assert_false (td_preparation_run (preparation, queue, buffer, 0, 5, NULL, NULL, &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_INVALID);
  g_assert_nonnull (strstr (error->message, "33 × 5"));
  g_clear_pointer (&preparation, td_preparation_free);
  g_clear_pointer (&buffer, td_buffer_free);
  g_clear_pointer (&queue, td_queue_free);
  clear (&x);
  td_test_close (device);
}

/* All of them, one after another: bad pixels are mended in the flats as in the frames. */
static void
check_chain (TdDevice *device, gconstpointer unused)
{
  static const char *const chain[] = { "bad-pixels:find=0", "zingers", "flat-field", "dose:air=1",
                                       "double-flat", "minus-log", "zingers-angle",
                                       "beam-hardening" };
  static const TdIntensityReference references[]
      = { td_reference_bad_pixels, td_reference_zingers, td_reference_flat_field, td_reference_dose,
          td_reference_double_flat, td_reference_minus_log, td_reference_zingers_angle,
          td_reference_beam_hardening };
  TdStep steps[8];
  Fixture x;

  setup (&x, 6, 40, 37, INTENSITIES);
  g_autofree double *expected = raw_sinograms (&x);
  for (guint i = 0; i < 8; i++)
    steps[i] = parse_step (chain[i]);
  TdFrames mended = x.frames;
  /* Flats and darks mended as if they were views of a scan. */
  g_autofree float *copies[2] = { NULL, NULL };
  for (guint kind = 0; kind < 2; kind++) {
    TdFrames as_views = x.frames;
    const float *from = kind ? x.darks : x.flats;
    guint n = as_views.n_views = kind ? 4 : 9;
    g_autofree double *values = g_new (double, 6 * (gsize) n * 37);
    copies[kind] = g_new (float, 6 * (gsize) n * 37);
    for (guint r = 0; r < 6; r++)
      for (guint i = 0; i < n * 37; i++)
        values[r * n * 37 + i] = from[(i / 37 * 6 + r) * 37 + i % 37];
    td_reference_bad_pixels (&as_views, &steps[0], values);
    for (guint r = 0; r < 6; r++)
      for (guint i = 0; i < n * 37; i++)
        copies[kind][(i / 37 * 6 + r) * 37 + i % 37] = (float) values[r * n * 37 + i];
  }
  mended.flats = copies[0];
  mended.darks = copies[1];
  for (guint i = 0; i < 8; i++)
    references[i] (&mended, &steps[i], expected);
  g_autofree float *got = run (device, &x, steps, 8, 0, 6, NULL);
  compare (&x, "chain", got, expected);
  clear (&x);
  g_free (copies[1]);
}

static void
test_chain (gconstpointer id)
{
  TdDevice *device = td_test_open (id);

  on_each_path (device, check_chain, NULL);
  td_test_close (device);
}

/* ── Every step of the table ──────────────────────────────────────────────────────────────────── */

/* A row comes out the same whatever slab it came in, to the last bit. */
static void
check_cuts (TdDevice *device, const TdStep *steps, guint n_steps, Content content)
{
  Fixture x;

  setup (&x, 9, 31, 41, content);
  guint halo = td_preparation_halo (steps, n_steps, td_scan_facts (x.scan));
  gsize row = (gsize) x.frames.n_views * x.frames.n_columns;
  g_autofree float *whole = run (device, &x, steps, n_steps, 0, 9, NULL);
  for (guint from = 0; from < 9; from += 4)
    for (guint n = 1; n <= 2; n++) {
      guint first = from - MIN (from, halo), end = MIN (9, MIN (9, from + n) + halo);
      g_autofree float *part = run (device, &x, steps, n_steps, first, end, NULL);
      for (guint r = from; r < MIN (9, from + n); r++)
        for (gsize i = 0; i < row; i++)
          if (part[(r - first) * row + i] != whole[r * row + i]) {
            g_test_message ("%s: row %u differs in a slab of rows %u to %u", steps[n_steps - 1].name,
                            r, first, end);
            g_test_fail ();
            break;
          }
    }
  clear (&x);
}

static Content
content_for (const TdStepKind *kind)
{
  return kind->stage == TD_STEP_INTENSITY || strcmp (kind->name, "flat-field") == 0 ? INTENSITIES
         : kind->stage == TD_STEP_FLAT                                            ? TRANSMISSIONS
                                                                                  : LINE_INTEGRALS;
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
  check_cuts (device, all, n, INTENSITIES);
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
      for (Content content = CONSTANT; content <= EMPTY; content++) {
        Fixture x;
        TdStep step;
        setup (&x, few[s][0], few[s][1], few[s][2], content);
        td_step_init (&step, *kind);
        g_autofree char *refused = td_preparation_unsupported (&step, 1, td_scan_facts (x.scan));
        if (refused) { /* phase retrieval, of a detector narrower than its blur */
          clear (&x);
          continue;
        }
        g_autofree float *got = run (device, &x, &step, 1, 0, x.frames.n_rows, NULL);
        for (gsize i = 0; i < (gsize) x.frames.n_rows * x.frames.n_views * x.frames.n_columns; i++)
          if (!isfinite (got[i])) {
            g_test_message ("%s, shape %u: %g", step.name, s, (double) got[i]);
            g_test_fail ();
            break;
          }
        clear (&x);
      }
  td_test_close (device);
}

/* ── What is counted, and what is found ───────────────────────────────────────────────────────── */

static void
test_counts (gconstpointer id)
{
  TdDevice *device = td_test_open (id);
  TdPreparationCounts counts;
  Fixture x;
  guint masked = 0;

  setup (&x, 8, 16, 32, CONSTANT);
  for (guint i = 0; i < 8 * 32; i++) {
    x.mask[i] = i == 16 || i == 7 * 32 + 3; /* no neighbours of the hits */
    masked += x.mask[i];
  }
  for (guint i = 0; i < 6; i++)
    x.projections[(3 * i * 8 + i + 1) * 32 + 5 * i] = 3 + i;
  td_scan_unref (x.scan);
  const TdScanFacts facts = { .n_columns = 32, .n_rows = 8, .n_views = 16, .angles_rad = x.angles,
                              .sample_type = TD_SAMPLE_FLOAT32, .bad_pixels = x.mask };
  x.scan = td_scan_new_from_memory (&facts, x.projections, NULL, NULL, NULL, NULL);

  const TdStep steps[] = { parse_step ("bad-pixels:find=0"), parse_step ("zingers") };
  g_autofree float *got = run (device, &x, steps, 2, 0, 8, &counts);
  g_assert_cmpuint (counts.bad_pixels, ==, masked);
  g_assert_cmpuint (counts.zingers, ==, 6);
  g_assert_cmpuint (counts.zingers_angle, ==, 0);
  for (guint i = 0; i < 8 * 16 * 32; i++)
    g_assert_cmpfloat (got[i], ==, 0.75f);

  const TdStep angle = parse_step ("zingers-angle:kind=1"); /* up, as for line integrals of lost samples */
  g_autofree float *other = run (device, &x, &angle, 1, 0, 8, &counts);
  g_assert_cmpuint (counts.zingers_angle, ==, 6);
  g_assert_cmpuint (counts.zingers, ==, 0);
  for (guint i = 0; i < 8 * 16 * 32; i++)
    g_assert_cmpfloat (other[i], ==, 0.75f);
  clear (&x);
  td_test_close (device);
}

/* Planted among noise: dead, hot, stuck and noisy pixels are found, and hardly any other. */
static void
test_find (void)
{
  enum { ROWS = 40, COLUMNS = 60, FLATS = 12, DARKS = 6 };
  g_autoptr (GRand) random = g_rand_new_with_seed (7);
  g_autoptr (GError) error = NULL;
  const gsize pixels = ROWS * COLUMNS;
  g_autofree float *flats = g_new (float, FLATS * pixels), *darks = g_new (float, DARKS * pixels);
  g_autofree float *projections = g_new0 (float, pixels);
  double angle = 0;

  for (gsize i = 0; i < FLATS * pixels; i++) {
    gsize pixel = i % pixels;
    double gain = 1 + 0.02 * sin (pixel * 12.9898), noise = 0;
    for (guint k = 0; k < 6; k++)
      noise += g_rand_double_range (random, -1, 1) / sqrt (2);
    flats[i] = floorf ((float) (100 + 5000 * gain + 50 * noise));
    if (pixel % 500 == 20)
      flats[i] = 100;                                                  /* dead */
    if (pixel % 500 == 120)
      flats[i] = 65535;                                                /* hot */
    if (pixel % 500 == 220)
      flats[i] = 5100;                                                 /* stuck where it should be */
    if (pixel % 500 == 320)
      flats[i] += (float) g_rand_double_range (random, -2500, 2500);   /* noisy */
  }
  for (gsize i = 0; i < DARKS * pixels; i++)
    darks[i] = (float) (100 + (i % pixels % 500 == 420 ? 60 : 0) + g_rand_int_range (random, -4, 5));

  const TdScanFacts facts = { .n_columns = COLUMNS, .n_rows = ROWS, .n_views = 1, .n_flats = FLATS,
                              .n_darks = DARKS, .sample_type = TD_SAMPLE_UINT16,
                              .angles_rad = &angle };
  g_autoptr (TdScan) scan
      = td_scan_new_from_memory (&facts, projections, flats, darks, NULL, NULL);
  g_autoptr (TdFlats) shared = td_flats_new (scan);
  g_autoptr (GBytes) bytes = td_bad_pixels_mask (shared, 8, NULL, &error);
  g_assert_no_error (error);
  const guint8 *mask = g_bytes_get_data (bytes, NULL);
  guint more = 0;
  for (gsize i = 0; i < pixels; i++) {
    if (i % 100 == 20 && !mask[i]) {
      g_test_message ("missed pixel %u", (guint) i);
      g_test_fail ();
    }
    more += mask[i] && i % 100 != 20;
  }
  g_assert_cmpuint (more, <=, 2);
  /* Asked again, the same answer is given, not worked out anew. */
  g_autoptr (GBytes) again = td_bad_pixels_mask (shared, 8, NULL, &error);
  g_assert_true (again == bytes);
}

int
main (int argc, char **argv)
{
  static const TdDeviceTest tests[] = {
    { "formulas", test_formulas }, { "dose-region", test_dose_region }, { "chain", test_chain },
    { "cuts", test_cuts },         { "extremes", test_extremes },       { "counts", test_counts },
  };

  g_test_init (&argc, &argv, NULL);
  td_test_each_device ("prepare", tests, G_N_ELEMENTS (tests));
  g_test_add_func ("/prepare/find", test_find);
  return g_test_run ();
}
