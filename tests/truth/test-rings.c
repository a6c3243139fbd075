/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ring removal on every device against the published formulas in double precision. */
#include <math.h>
#include <string.h>

#include "compute/prepare/prepare.h"
#include "compute/prepare/rings/wavelet.h"
#include "tests/common/devices.h"
#include "tests/common/pipeline.h"
#include "tests/common/rings-reference.h"

#define BOUND 1e-5 /* of the largest value */

typedef enum { NOISY, STRIPED, CONSTANT, EMPTY } Content;

/* A whole turn of many and oddly many views, which have opposite ones; half of one of others. */
static double
turn_of (guint n_views)
{
  return n_views > 100 && n_views % 2 == 1 ? 2 * G_PI : G_PI;
}

/* Discs that wander, noise, and stripes: steady, wide, dead and fluctuating ones. */
static void
fill (float *sinogram, guint n_views, guint n_columns, Content content, guint32 seed)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (seed);

  for (guint v = 0; v < n_views; v++)
    for (guint c = 0; c < n_columns; c++) {
      double x
          = (c - 0.5 * n_columns) / (0.5 * n_columns) - 0.3 * sin (turn_of (n_views) * v / n_views);
      double value
          = 2 * sqrt (MAX (0, 0.49 - x * x)) + 0.3 + g_rand_double_range (random, -0.02, 0.02);
      if (content == STRIPED && c % 23 == 7)
        value += 0.2;
      if (content == STRIPED && n_columns > 30 && c / 6 == 3)
        value *= 1.3;
      if (content == STRIPED && c == n_columns / 2)
        value = 1;
      if (content == STRIPED && c == n_columns * 2 / 3)
        value += g_rand_double_range (random, -1, 1);
      *sinogram++ = content == CONSTANT ? 0.75f : content == EMPTY ? 0 : (float) value;
    }
}

static double *
angles_of (guint n_views)
{
  double *angles = g_new (double, n_views);

  for (guint v = 0; v < n_views; v++)
    angles[v] = turn_of (n_views) * v / n_views;
  return angles;
}

typedef void (*Reference) (TdSinogram *sinogram, const TdStep *step);

static void
check (TdDevice *device, const TdStep *step, Reference reference, guint n_rows, guint n_views,
       guint n_columns, Content content)
{
  g_autoptr (GError) error = NULL;
  gsize row = (gsize) n_views * n_columns, n = row * n_rows;
  g_autofree float *data = g_new (float, n), *got = g_new (float, n);
  g_autofree double *expected = g_new (double, n), *angles = angles_of (n_views);
  double largest = 0, worst = 0;

  for (guint r = 0; r < n_rows; r++)
    fill (data + r * row, n_views, n_columns, content, r + 1);
  for (gsize i = 0; i < n; i++) {
    expected[i] = data[i];
    largest = MAX (largest, fabs (expected[i]));
  }
  for (guint r = 0; r < n_rows; r++) {
    TdSinogram sinogram = { n_views, n_columns, expected + r * row };
    reference (&sinogram, step);
  }

  g_autoptr (TdScan) scan = td_test_scan (data, n_rows, n_views, n_columns, angles);
  g_autoptr (TdQueue) queue = td_queue_new (device, &error);
  TdBuffer *buffer = td_test_buffer (device, queue, data, n * sizeof (float));
  g_autoptr (TdPreparation) preparation = td_preparation_new (device, scan, NULL, step, 1, &error);
  g_assert_no_error (error);
  guint64 before = device->allocated_bytes;
  td_preparation_run (preparation, queue, buffer, 0, n_rows, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (device->allocated_bytes - before, <=,
                    td_preparation_workspace_bytes (step, 1, td_scan_facts (scan), n_rows));
  td_download (queue, got, buffer, 0, n * sizeof (float), &error);
  td_test_finish (queue);
  for (gsize i = 0; i < n; i++)
    worst = isfinite (got[i]) ? MAX (worst, fabs (got[i] - expected[i])) : INFINITY;
  td_buffer_free (buffer);
  if (worst > BOUND * MAX (largest, 1)) {
    g_test_message ("%s, %u rows, %u views, %u columns, content %d: %g", step->name, n_rows,
                    n_views, n_columns, content, worst);
    g_test_fail ();
  }
}

static void
check_shapes (gconstpointer id, const TdStep *step, Reference reference)
{
  static const guint shapes[][3] = {
    /* rows, views, columns */
    { 1, 1, 1 }, { 1, 1, 64 },  { 1, 40, 1 },   { 1, 2, 2 },
    { 2, 3, 5 }, { 1, 33, 31 }, { 3, 101, 67 }, { 1, 64, 128 },
  };
  TdDevice *device = td_test_open (id);

  for (guint i = 0; i < G_N_ELEMENTS (shapes); i++)
    for (Content content = NOISY; content <= EMPTY; content++)
      check (device, step, reference, shapes[i][0], shapes[i][1], shapes[i][2], content);
  check (device, step, reference, 1, 150, 205, STRIPED);
  /* What GPUs run, where there is none. */
  if (device->info.cpu_shaped && !device->info.host_pointers) {
    device->info.cpu_shaped = FALSE;
    check (device, step, reference, 1, 1, 3, NOISY);
    check (device, step, reference, 2, 301, 23, STRIPED); /* several pieces of views */
    check (device, step, reference, 1, 64, 128, STRIPED);
    device->info.cpu_shaped = TRUE;
  }
  td_test_close (device);
}

static void
init (TdStep *step, const char *name, const double *values, guint n)
{
  g_autoptr (GError) error = NULL;
  const TdStepKind *kind = td_prepare_step (name, &error);

  g_assert_no_error (error);
  td_step_init (step, kind);
  for (guint i = 0; i < n; i++)
    step->values[i] = values[i];
}

/* ── Each step ── */

static void
sorting (TdSinogram *sinogram, const TdStep *step)
{
  td_reference_rings_sorting (sinogram, (guint) step->values[0] | 1);
}

static void
large (TdSinogram *sinogram, const TdStep *step)
{
  td_reference_rings_large (sinogram, (guint) step->values[0] | 1, step->values[1], step->values[2],
                            step->values[3] != 0);
}

static void
dead (TdSinogram *sinogram, const TdStep *step)
{
  td_reference_rings_dead (sinogram, (guint) step->values[0] | 1, step->values[1]);
}

static void
filtering (TdSinogram *sinogram, const TdStep *step)
{
  td_reference_rings_filtering (sinogram, (guint) step->values[0] | 1, step->values[1]);
}

static void
fitting (TdSinogram *sinogram, const TdStep *step)
{
  td_reference_rings_fitting (sinogram, (guint) step->values[1], step->values[0],
                              step->values[2] != 0);
}

static void
normalise (TdSinogram *sinogram, const TdStep *step)
{
  td_reference_rings_normalise (sinogram, step->values[0], (guint) step->values[1]);
}

static void
wavelet (TdSinogram *sinogram, const TdStep *step)
{
  const TdWavelet *used = &td_wavelets[(guint) step->values[2]];
  guint levels = 1;

  while (1 << levels < step->values[0] && (used->taps - 1) << levels <= sinogram->n_columns / 2)
    levels++;
  td_reference_rings_wavelet (sinogram, used->low, used->taps, levels, step->values[1]);
}

static void
offsets (TdSinogram *sinogram, const TdStep *step)
{
  g_autofree double *angles = angles_of (sinogram->n_views);

  td_reference_rings (sinogram, angles, step->values[0], step->values[1], step->values[2]);
}

static void
all (TdSinogram *sinogram, const TdStep *step)
{
  guint wide = (guint) step->values[1] | 1;

  td_reference_rings_dead (sinogram, wide, step->values[2]);
  td_reference_rings_large (sinogram, wide, step->values[2], 0.1, FALSE);
  td_reference_rings_sorting (sinogram, (guint) step->values[0] | 1);
}

/* What each step's formula is held to: with its presets where no values are given. */
static void
test_formulas (gconstpointer id)
{
  static const struct {
    const char *step;
    Reference reference;
    guint n;
    double values[4];
  } cases[] = {
    { "rings-sorting", sorting },
    { "rings-sorting", sorting, 1, { 30 } },
    { "rings-large", large },
    { "rings-large", large, 4, { 21, 2.5, 0.3, 1 } },
    { "rings-dead", dead },
    { "rings-dead", dead, 2, { 11, 2 } },
    { "rings-filtering", filtering },
    { "rings-filtering", filtering, 2, { 9, 11.5 } },
    { "rings-fitting", fitting },
    { "rings-fitting", fitting, 3, { 7.5, 5, 0 } },
    { "rings-fitting", fitting, 3, { 4, 1, 1 } },
    { "rings-normalise", normalise },
    { "rings-normalise", normalise, 2, { 12.5, 5 } },
    { "rings-wavelet", wavelet },
    { "rings-wavelet", wavelet, 3, { 100, 4.5, 0 } },
    { "rings", offsets },
    { "rings", offsets, 3, { 12.5, 0, 2 } },
    { "rings-all", all, 3, { 7, 31, 3 } },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    TdStep step;
    init (&step, cases[i].step, cases[i].values, cases[i].n);
    check_shapes (id, &step, cases[i].reference);
  }
}

/* ── Chunks ── */

static float *
run_rows (TdDevice *device, TdScan *scan, const TdStep *step, const float *data, guint row0,
          guint n_rows)
{
  const TdScanFacts *facts = td_scan_facts (scan);
  gsize row = (gsize) facts->n_views * facts->n_columns, bytes = n_rows * row * sizeof (float);
  float *out = g_malloc (bytes);
  g_autoptr (GError) error = NULL;
  g_autoptr (TdQueue) queue = td_queue_new (device, &error);
  TdBuffer *buffer = td_test_buffer (device, queue, data + row0 * row, bytes);
  g_autoptr (TdPreparation) preparation = td_preparation_new (device, scan, NULL, step, 1, &error);

  g_assert_no_error (error);
  const guint64 before = device->allocated_bytes;
  td_preparation_run (preparation, queue, buffer, row0, n_rows, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (device->allocated_bytes - before, <=,
                    td_preparation_workspace_bytes (step, 1, facts, n_rows));
  td_download (queue, out, buffer, 0, bytes, &error);
  td_test_finish (queue);
  td_buffer_free (buffer);
  return out;
}

/* Rows too large for the workspace to hold two of them: the second one's is a chunk of its own. */
static void
test_chunks (gconstpointer id)
{
  static const struct {
    const char *step;
    guint n_views, n_columns;
  } cases[] = { { "rings-sorting", 2052, 2100 },
                { "rings", 2052, 2100 },
                { "rings-filtering", 2052, 4200 } };
  TdDevice *device = td_test_open (id);

  /* How rows are cut does not depend on the step: one is enough where a driver uses a CPU. */
  const gboolean slow = device->info.cpu_shaped && g_str_has_prefix (id, "opencl");
  const guint n_cases = slow && !g_test_slow () ? 1 : G_N_ELEMENTS (cases);

  for (guint i = 0; i < n_cases; i++) {
    gsize row = (gsize) cases[i].n_views * cases[i].n_columns;
    g_autofree float *data = g_new (float, 2 * row);
    g_autofree double *angles = g_new0 (double, cases[i].n_views);
    TdStep step;

    for (guint k = 0; k < 2 * row; k++) /* noise, and a stripe every 23 columns */
      data[k] = (k * 2654435761u >> 16) / 65536.0f + (k % cases[i].n_columns % 23 == 7 ? 0.3f : 0);
    init (&step, cases[i].step, NULL, 0);
    g_autoptr (TdScan) scan = td_test_scan (data, 2, cases[i].n_views, cases[i].n_columns, angles);
    g_autofree float *both = run_rows (device, scan, &step, data, 0, 2);
    g_autofree float *second = run_rows (device, scan, &step, data, 1, 1);
    g_assert_cmpmem (both + row, row * sizeof (float), second, row * sizeof (float));
    g_assert_true (memcmp (second, data + row, row * sizeof (float)) != 0);
  }
  td_test_close (device);
}

/* Every kernel on little data, for a simulator that sees each access (meson.build). */
static void
test_small (gconstpointer id)
{
  static const guint shapes[][3] = { { 1, 33, 41 }, { 2, 17, 35 }, { 1, 1, 3 }, { 2, 3, 1 } };
  const TdStepKind *const *kinds = td_prepare_steps ();
  TdDevice *device = td_test_open (id);
  gboolean cpu_shaped = device->info.cpu_shaped;

  for (guint i = 0; i < G_N_ELEMENTS (shapes); i++)
    for (guint k = 0; kinds[k]; k++) {
      guint n_rows = shapes[i][0], n_views = shapes[i][1], n_columns = shapes[i][2];
      g_autofree float *data = g_new (float, n_rows *n_views *n_columns);
      g_autofree double *angles = g_new0 (double, n_views);
      TdStep step;

      if (!g_str_has_prefix (kinds[k]->name, "rings"))
        continue;
      td_step_init (&step, kinds[k]);
      for (guint r = 0; r < n_rows; r++)
        fill (data + r * n_views * n_columns, n_views, n_columns, STRIPED, r);
      g_autoptr (TdScan) scan = td_test_scan (data, n_rows, n_views, n_columns, angles);
      device->info.cpu_shaped = cpu_shaped;
      g_autofree float *one = run_rows (device, scan, &step, data, 0, n_rows);
      device->info.cpu_shaped = cpu_shaped && device->info.host_pointers;
      g_autofree float *other = run_rows (device, scan, &step, data, 0, n_rows);
      for (guint j = 0; j < n_rows * n_views * n_columns; j++)
        g_assert_cmpfloat_with_epsilon (one[j], other[j], BOUND);
    }
  device->info.cpu_shaped = cpu_shaped;
  td_test_close (device);
}

/* ── Wavelets ── */

/* Orthonormal to their even shifts, and blind to polynomials of less than taps / 2 terms. */
static void
test_wavelets (void)
{
  for (guint w = 0; w < G_N_ELEMENTS (td_wavelets); w++) {
    const TdWavelet *used = &td_wavelets[w];
    double high[TD_WAVELET_MAX_TAPS];
    g_assert_cmpstr (used->name, ==, td_wavelet_names[w]);
    td_wavelet_high (used, high);
    for (guint shift = 0; shift < used->taps; shift += 2) {
      double sum = 0;
      for (guint i = shift; i < used->taps; i++)
        sum += used->low[i] * used->low[i - shift];
      g_assert_cmpfloat_with_epsilon (sum, shift == 0, 1e-12);
    }
    for (guint power = 0; power < used->taps / 2; power++) {
      double sum = 0;
      for (guint i = 0; i < used->taps; i++)
        sum += high[i] * pow ((double) i / used->taps, power);
      g_assert_cmpfloat_with_epsilon (sum, 0, 1e-8);
    }
  }
}

int
main (int argc, char **argv)
{
  static const TdDeviceTest tests[] = {
    { "formulas", test_formulas },
    { "chunks", test_chunks },
    { "small", test_small },
  };

  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/rings/wavelets", test_wavelets);
  td_test_keep_open ();
  td_test_each_device ("/rings", tests, G_N_ELEMENTS (tests));
  return g_test_run ();
}
