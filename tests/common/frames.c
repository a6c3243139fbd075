/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "frames.h"

#include <math.h>
#include <string.h>

#include "devices.h"
#include "pins.h"

#define BOUND 1e-5 /* of the largest value */

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
fill_projections (TdTestFrames *x, gsize n, TdTestContent content, GRand *random)
{
  switch (content) {
  case TD_TEST_INTENSITIES:
    fill (x->projections, n, 800, 1000, random);
    spoil (x->projections, n, 900, random);
    break;
  case TD_TEST_TRANSMISSIONS:
    fill (x->projections, n, 0.9, 1, random);
    spoil (x->projections, n, 0.9, random);
    break;
  case TD_TEST_AIR:
    fill (x->projections, n, 0.97, 1, random);
    spoil (x->projections, n, 0.05, random);
    break;
  case TD_TEST_LINE_INTEGRALS:
    fill (x->projections, n, 1, 1.15, random);
    spoil (x->projections, n, 1, random);
    break;
  case TD_TEST_CONSTANT: fill (x->projections, n, 0.75, 0.75, random); break;
  case TD_TEST_EMPTY: memset (x->projections, 0, n * sizeof (float)); break;
  }
}

/* Flats before, within and after, darks, one pixel in eight bad. Only TD_TEST_INTENSITIES has
 * flats. */
void
td_test_frames_init (TdTestFrames *x, guint n_rows, guint n_views, guint n_columns,
                     TdTestContent content)
{
  static const double places[9] = { 0, 0, 0, 0.4, 0.4, 1, 1, 1, 1 };
  g_autoptr (GRand) random = g_rand_new_with_seed (n_rows * 10007 + n_views * 101 + n_columns);
  gsize pixels = (gsize) n_rows * n_columns, n = pixels * n_views;
  gboolean counted = content == TD_TEST_INTENSITIES;

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
    .n_rows = n_rows,
    .n_views = n_views,
    .n_columns = n_columns,
    .n_flats = counted ? 9 : 0,
    .n_darks = counted ? 4 : 0,
    .projections = x->projections,
    .flats = x->flats,
    .darks = x->darks,
    .flat_positions = counted ? x->positions : NULL,
    .angles_rad = x->angles,
    .mask = x->mask,
  };
  const TdScanFacts facts = {
    .n_columns = n_columns,
    .n_rows = n_rows,
    .n_views = n_views,
    .n_flats = x->frames.n_flats,
    .n_darks = x->frames.n_darks,
    .sample_type = TD_SAMPLE_FLOAT32,
    .angles_rad = x->angles,
    .flat_positions = counted ? x->positions : NULL,
    .bad_pixels = x->mask,
    .centre_px = NAN,
    .energy_kev = 20,
    .propagation_mm = 1,
    .geometry = { .pixel_width_mm = 0.001, .pixel_height_mm = 0.001 },
  };
  x->scan = td_scan_new_from_memory (&facts, x->projections, x->flats, x->darks, NULL, NULL);
}

void
td_test_frames_clear (TdTestFrames *x)
{
  td_scan_unref (x->scan);
  g_free (x->projections);
  g_free (x->flats);
  g_free (x->darks);
  g_free (x->mask);
}

/* ── Running ── */

float *
td_test_frames_prepare (TdPreparation *preparation, TdDevice *device, const TdTestFrames *x,
                        guint first, guint end)
{
  const TdFrames *f = &x->frames;
  gsize n = (gsize) (end - first) * f->n_views * f->n_columns;
  g_autoptr (GError) error = NULL;
  g_autoptr (TdQueue) queue = td_queue_new (device, &error);
  float *data = g_new (float, n);

  g_assert_true (td_scan_read_sinograms (
      x->scan, &(TdFrameRange) { TD_FRAME_PROJECTION, 0, f->n_views, first, end - first }, data,
      NULL, &error));
  TdBuffer *buffer = td_test_buffer (device, queue, data, n * sizeof (float));
  td_preparation_run (preparation, queue, buffer, first, end - first, NULL, &error);
  g_assert_no_error (error);
  td_download (queue, data, buffer, 0, n * sizeof (float), &error);
  td_test_finish (queue);
  td_buffer_free (buffer);
  td_test_pin_values ("prepared", data, n);
  return data;
}

float *
td_test_frames_run (TdDevice *device, const TdTestFrames *x, const TdStep *steps, guint n_steps,
                    guint first, guint end, TdPreparationCounts *counts)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TdQueue) queue = td_queue_new (device, &error);
  g_autoptr (TdPreparation) preparation
      = td_preparation_new (device, x->scan, NULL, steps, n_steps, &error);

  g_assert_no_error (error);
  float *data = td_test_frames_prepare (preparation, device, x, first, end);
  if (counts)
    g_assert_true (td_preparation_counts (preparation, queue, counts, &error));
  return data;
}

double *
td_test_frames_sinograms (const TdTestFrames *x)
{
  const TdFrames *f = &x->frames;
  double *out = g_new (double, (gsize) f->n_rows * f->n_views * f->n_columns), *to = out;

  for (guint r = 0; r < f->n_rows; r++)
    for (guint v = 0; v < f->n_views; v++)
      for (guint c = 0; c < f->n_columns; c++)
        *to++ = x->projections[((gsize) v * f->n_rows + r) * f->n_columns + c];
  return out;
}

void
td_test_frames_compare (const TdTestFrames *x, const char *what, const float *got,
                        const double *expected)
{
  const TdFrames *f = &x->frames;
  double largest = 0, worst = 0;

  for (gsize i = 0; i < (gsize) f->n_rows * f->n_views * f->n_columns; i++) {
    largest = MAX (largest, fabs (expected[i]));
    worst = isfinite (got[i]) ? MAX (worst, fabs (got[i] - expected[i])) : INFINITY;
  }
  if (worst > BOUND * MAX (largest, 1)) {
    g_test_message ("%s, %u rows, %u views, %u columns: off by %g of %g", what, f->n_rows,
                    f->n_views, f->n_columns, worst, largest);
    g_test_fail ();
  }
}

void
td_test_each_path (TdDevice *device, void (*check) (TdDevice *device, gconstpointer user),
                   gconstpointer user)
{
  check (device, user);
  if (device->info.cpu_shaped && !device->info.host_pointers) {
    device->info.cpu_shaped = FALSE;
    check (device, user);
    device->info.cpu_shaped = TRUE;
  }
}

TdStep
td_test_step (const char *text)
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
