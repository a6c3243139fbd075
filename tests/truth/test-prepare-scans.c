/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whole jobs on generated scans that have a fault. The intensity step that mends the fault gives
   back the slice. Without the step the fault shows. */
#include <math.h>
#include <string.h>

#include "compute/methods/methods.h"
#include "dataset/scan-view.h"
#include "tests/common/pipeline.h"
#include "tests/common/truth.h"

static TdEngine *engine;
static const char *crop;  /* what --crop gives; NULL: all is seen */
static gboolean mirrored; /* twice: what is seen is as it was */

/* Odd sizes; the disc leaves air at both borders. Noiseless, but for the camera's whole counts. */
static void
describe (TdPhantomScan *spec)
{
  td_phantom_scan_init (spec, "discs", 129, 9, 181);
}

static void
reconstruct (const TdPhantomScan *spec, const char *device, const char *prepare,
             TdTestVolume *volume)
{
  g_autoptr (GError) error = NULL;
  static const TdScanFrame frame = { .flip_columns = TRUE, .flip_rows = TRUE };
  g_autoptr (TdScan) stored = td_phantom_scan_new (spec, &error);
  g_autoptr (TdScan) over = mirrored ? td_scan_view_new (stored, &frame, &error) : NULL;
  g_autoptr (TdScan) scan = over ? td_scan_view_new (over, &frame, &error) : td_scan_ref (stored);
  TdRecipe recipe;

  g_assert_no_error (error);
  td_recipe_init (&recipe);
  g_strlcpy (recipe.devices, device, sizeof recipe.devices);
  recipe.row_first = 2;
  recipe.row_end = 7;
  if (prepare)
    td_recipe_set (&recipe, "prepare", prepare, &error);
  if (crop)
    td_recipe_set (&recipe, "crop", crop, &error);
  if (crop)
    td_recipe_set (&recipe, "bin-views", "2", &error);
  g_assert_no_error (error);
  td_test_reconstruct (engine, scan, &recipe, volume, &error);
  g_assert_no_error (error);
}

static double
distance (const TdTestVolume *a, const TdTestVolume *b)
{
  gsize n = (gsize) a->nx * a->ny * a->n_slices;
  g_autofree double *values = g_new (double, n);

  for (gsize i = 0; i < n; i++)
    values[i] = b->slices[i];
  return td_truth_relative_rms (a->slices, values, n);
}

/* How far the slices of the spoilt scan are from the clean one's, without the step and with it. */
static void
check (const TdPhantomScan *spoilt, const char *without, const char *with, double at_least,
       double at_most)
{
  g_autoptr (GPtrArray) devices = td_test_devices ();
  TdPhantomScan clean;

  describe (&clean);
  clean.phantom = spoilt->phantom;
  clean.centre_px = spoilt->centre_px;
  for (guint d = 0; d < devices->len; d++) {
    const char *device = devices->pdata[d];
    TdTestVolume truth, faulty, mended;
    reconstruct (&clean, device, NULL, &truth);
    reconstruct (spoilt, device, without, &faulty);
    reconstruct (spoilt, device, with, &mended);
    double before = distance (&faulty, &truth), after = distance (&mended, &truth);
    g_test_message ("%s, %s: %.3g without, %.3g with", device, with ? with : "preset", before,
                    after);
    if (!(before > at_least) || !(after < at_most))
      g_test_fail ();
    td_test_volume_clear (&truth);
    td_test_volume_clear (&faulty);
    td_test_volume_clear (&mended);
  }
}

/* The beam leans over the scan: the mean of all flats is right only half way. */
static void
test_drift (void)
{
  TdPhantomScan spec;

  describe (&spec);
  spec.drift = 0.25;
  check (&spec, "flat-field:drift=none", NULL, 0.1, 2e-3);
  check (&spec, "flat-field:drift=none", "flat-field:drift=angles:average=median", 0.1, 2e-3);
}

static void
test_dose (void)
{
  TdPhantomScan spec;

  describe (&spec);
  spec.flicker = 0.1;
  check (&spec, NULL, "dose", 0.02, 2e-3);
  check (&spec, NULL, "dose=rows:columns=4", 0.02, 2e-3);
  check (&spec, NULL, "dose=region:x=2:y=1:width=6:height=7", 0.02, 2e-3);
}

/* No air is left in what is cropped: the dose is the whole frame's all the same. */
static void
test_dose_cropped (void)
{
  TdPhantomScan spec;

  describe (&spec);
  spec.flicker = 0.1;
  crop = "40,1,50,8";
  check (&spec, NULL, "dose", 0.01, 2e-3);
  check (&spec, NULL, "dose=region:x=2:y=0:width=6:height=1", 0.01, 2e-3);
  crop = NULL;
}

/* Air on one side only, of frames that are stored mirrored: regions count as the frames are seen.
 */
static void
test_dose_mirrored (void)
{
  TdPhantomScan spec;

  describe (&spec);
  spec.flicker = 0.1;
  spec.centre_px = 40;
  mirrored = TRUE;
  check (&spec, NULL, "dose=region:x=121:y=1:width=6:height=2", 0.02, 2e-3);
  mirrored = FALSE;
}

/* Frames swing and jitter, and the beam leans as well: only both steps together mend that. */
static void
test_dose_and_drift (void)
{
  TdPhantomScan spec;

  describe (&spec);
  spec.flicker = 0.1;
  spec.drift = 0.25;
  check (&spec, "dose,flat-field:drift=none", "dose", 0.05, 2e-3);
}

static void
test_zingers (void)
{
  TdPhantomScan spec;

  describe (&spec);
  spec.zingers = 1e-3;
  check (&spec, "flat-field:average=median", "flat-field:average=median,zingers", 0.15, 0.02);
  check (&spec, "flat-field:average=median", "flat-field:average=median,zingers:size=5x5", 0.15,
         0.02);
  check (&spec, "flat-field:average=median", "flat-field:average=median,zingers-angle", 0.15, 0.03);
  check (&spec, "flat-field:average=median", "flat-field:average=median,zingers,zingers-angle",
         0.15, 0.02);
}

static void
test_bad_pixels (void)
{
  TdPhantomScan spec;

  describe (&spec);
  spec.n_dead = 30;
  spec.rings = 0;
  check (&spec, "none,minus-log", "bad-pixels", 0.5, 0.02);
}

/* Gain errors that the flats do not show, of single pixels. */
static void
test_double_flat (void)
{
  TdPhantomScan spec;

  describe (&spec);
  spec.phantom = "boxes";
  spec.rings = 0.01;
  check (&spec, NULL, "double-flat=3", 0.1, 0.07);
}

/* The polynomial of a wedge undoes the beam's: fitted here by least squares to what two lines give.
 */
static void
test_hardening (void)
{
  TdPhantomScan spec;

  describe (&spec);
  spec.hardening = 0.5;

  double normal[5][6] = { { 0 } };
  for (double p = 0.02; p < 3; p += 0.02) {
    double measured = p - log (cosh (spec.hardening * p));
    for (guint i = 0; i < 5; i++) {
      for (guint k = 0; k < 5; k++)
        normal[i][k] += pow (measured, i + k + 2);
      normal[i][5] += pow (measured, i + 1) * p;
    }
  }
  for (guint i = 0; i < 5; i++)
    for (guint r = 0; r < 5; r++) {
      double factor = normal[r][i] / normal[i][i];
      for (guint k = 0; k < 6 && r != i; k++)
        normal[r][k] -= factor * normal[i][k];
    }
  g_autoptr (GString) prepare = g_string_new ("beam-hardening");
  for (guint i = 0; i < 5; i++)
    g_string_append_printf (prepare, ":a%u=%.9f", i + 1, normal[i][5] / normal[i][i]);
  check (&spec, NULL, prepare->str, 0.05, 3e-3);
}

/* A polynomial whose inverse was measured comes back sample by sample. */
static void
test_polynomial (void)
{
  static const double a[5] = { 0.8, 0.15, 0.03, 0.01, 0.002 };
  const guint n_views = 31, n_columns = 47;
  gsize n = (gsize) n_views * n_columns;
  g_autofree float *measured = g_new (float, n);
  g_autofree double *angles = g_new0 (double, n_views), *wanted = g_new (double, n);
  g_autoptr (GRand) random = g_rand_new_with_seed (3);
  g_autoptr (GPtrArray) devices = td_test_devices ();

  for (gsize i = 0; i < n; i++) {
    double p = wanted[i] = g_rand_double_range (random, 0, 4);
    for (guint turn = 0; turn < 50; turn++) {
      double value = -wanted[i], slope = 0;
      for (guint k = 0; k < 5; k++) {
        value += a[k] * pow (p, k + 1);
        slope += a[k] * (k + 1) * pow (p, k);
      }
      p -= value / slope;
    }
    measured[i] = (float) p;
  }
  for (guint d = 0; d < devices->len; d++) {
    g_autoptr (GError) error = NULL;
    g_autoptr (TdScan) scan = td_test_scan (measured, 1, n_views, n_columns, angles);
    g_autoptr (TdDevice) device = td_device_open (devices->pdata[d], &error);
    g_autoptr (TdQueue) queue = td_queue_new (device, &error);
    g_autoptr (TdBuffer) buffer = td_buffer_new (device, n * sizeof (float), &error);
    g_autofree float *got = g_new (float, n);
    TdStep step;
    td_step_init (&step, td_prepare_step ("beam-hardening", NULL));
    memcpy (step.values, a, sizeof a);
    g_autoptr (TdPreparation) preparation
        = td_preparation_new (device, scan, NULL, &step, 1, &error);
    g_assert_true (td_upload (queue, buffer, 0, measured, n * sizeof (float), &error));
    g_assert_true (td_preparation_run (preparation, queue, buffer, 0, 1, NULL, &error));
    g_assert_true (td_download (queue, got, buffer, 0, n * sizeof (float), &error));
    g_assert_true (td_queue_finish (queue, &error));
    for (gsize i = 0; i < n; i++)
      g_assert_cmpfloat_with_epsilon (got[i], wanted[i], 1e-5 * 4);
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  engine = td_engine_new (td_methods);
  g_test_add_func ("/prepare-scans/drift", test_drift);
  g_test_add_func ("/prepare-scans/dose", test_dose);
  g_test_add_func ("/prepare-scans/dose-cropped", test_dose_cropped);
  g_test_add_func ("/prepare-scans/dose-mirrored", test_dose_mirrored);
  g_test_add_func ("/prepare-scans/dose-and-drift", test_dose_and_drift);
  g_test_add_func ("/prepare-scans/zingers", test_zingers);
  g_test_add_func ("/prepare-scans/bad-pixels", test_bad_pixels);
  g_test_add_func ("/prepare-scans/double-flat", test_double_flat);
  g_test_add_func ("/prepare-scans/hardening", test_hardening);
  g_test_add_func ("/prepare-scans/polynomial", test_polynomial);
  int status = g_test_run ();
  td_engine_unref (engine);
  return status;
}
