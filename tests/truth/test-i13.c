/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>

#include "compute/methods/methods.h"
#include "tests/common/measured.h"
#include "tests/common/pipeline.h"
#include "tests/common/truth.h"

/* A measured scan (Diamond I13, 160 columns, 91 views) whose axis others put at column 85.83. */
#define PUBLISHED_CENTRE 85.83

static TdEngine *engine;

static void
reconstruct (TdScan *scan, const char *device, double centre_px, guint row_first, guint row_end,
             TdTestVolume *volume)
{
  g_autoptr (GError) error = NULL;
  TdRecipe recipe;

  td_recipe_init (&recipe);
  g_strlcpy (recipe.devices, device, sizeof recipe.devices);
  recipe.centre_px = centre_px;
  recipe.row_first = row_first;
  recipe.row_end = row_end;
  td_test_reconstruct (engine, scan, &recipe, volume, &error);
  g_assert_no_error (error);
}

static void
test_facts (void)
{
  g_autoptr (TdScan) scan = td_test_open_measured ("i13_24737", NULL);
  if (!scan)
    return;
  const TdScanFacts *facts = td_scan_facts (scan);

  g_assert_cmpuint (facts->n_columns, ==, 160);
  g_assert_cmpuint (facts->n_rows, ==, 135);
  g_assert_cmpuint (facts->n_views, ==, 91);
  g_assert_cmpuint (facts->n_flats, ==, 1);
  g_assert_cmpuint (facts->n_darks, ==, 1);
  g_assert_cmpfloat_with_epsilon (facts->angles_rad[0], -88.2 * G_PI / 180, 1e-4);
  g_assert_cmpfloat_with_epsilon (facts->angles_rad[90], 91.8 * G_PI / 180, 1e-4);
}

static void
test_devices_agree (void)
{
  g_autoptr (TdScan) scan = td_test_open_measured ("i13_24737", NULL);
  g_autoptr (GPtrArray) devices = td_test_devices ();
  TdTestVolume host, other;

  if (!scan)
    return;
  reconstruct (scan, "host", PUBLISHED_CENTRE, 0, 0, &host);
  gsize n = (gsize) host.nx * host.ny * host.n_slices;
  g_autofree double *reference = g_new (double, n);
  for (gsize i = 0; i < n; i++)
    reference[i] = host.slices[i];
  for (guint i = 1; i < devices->len; i++) {
    reconstruct (scan, devices->pdata[i], PUBLISHED_CENTRE, 0, 0, &other);
    double difference = td_truth_relative_rms (other.slices, reference, n);
    g_test_message ("%s against host: %.2e", (char *) devices->pdata[i], difference);
    g_assert_cmpfloat (difference, <, 1e-4);
    td_test_volume_clear (&other);
  }
  td_test_volume_clear (&host);
}

/* Minus the negative values (Donath et al., J. Opt. Soc. Am. A 23 (2006), Q_IN): attenuation cannot
   be negative, but the tails beside edges that do not meet are. Gradients are no use here: they
   change more with the centre's fraction, which decides how much interpolation smooths, than with
   its place. */
static double
sharpness (const TdTestVolume *volume)
{
  double sum = 0, middle = (volume->nx - 1) / 2.0, radius = 0.45 * volume->nx;

  for (guint s = 0; s < volume->n_slices; s++)
    for (guint y = 0; y < volume->ny; y++)
      for (guint x = 0; x < volume->nx; x++) {
        float value = volume->slices[((gsize) s * volume->ny + y) * volume->nx + x];
        if (hypot (x - middle, y - middle) < radius && value < 0)
          sum += value;
      }
  return sum;
}

static void
test_sharpness_peaks_at_the_centre (void)
{
  g_autoptr (TdScan) scan = td_test_open_measured ("i13_24737", NULL);
  double best = -INFINITY, at = 0, values[81];
  TdTestVolume volume;

  if (!scan)
    return;
  for (guint i = 0; i < G_N_ELEMENTS (values); i++) {
    double centre = 82 + 0.1 * i;
    reconstruct (scan, "host", centre, 50, 82, &volume);
    values[i] = sharpness (&volume);
    if (values[i] > best) {
      best = values[i];
      at = centre;
    }
    td_test_volume_clear (&volume);
  }
  g_test_message ("sharpest at column %.1f", at);
  g_assert_cmpfloat (fabs (at - PUBLISHED_CENTRE), <=, 0.3);
}

static void
test_k11 (void)
{
  g_autoptr (TdScan) scan = td_test_open_measured ("k11_diad/k11-18014.nxs", NULL);
  TdTestVolume volume;

  if (!scan)
    return;
  g_assert_cmpuint (td_scan_facts (scan)->n_views, ==, 3001);
  g_assert_cmpuint (td_scan_facts (scan)->n_flats, ==, 100);
  reconstruct (scan, "host", NAN, 0, 0, &volume);
  g_assert_cmpuint (volume.n_slices, ==, 22);
  for (gsize i = 0; i < (gsize) volume.nx * volume.ny * volume.n_slices; i++)
    g_assert_true (isfinite (volume.slices[i]));
  td_test_volume_clear (&volume);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  engine = td_engine_new (td_methods);
  g_test_add_func ("/i13/facts", test_facts);
  g_test_add_func ("/i13/devices-agree", test_devices_agree);
  g_test_add_func ("/i13/sharpness", test_sharpness_peaks_at_the_centre);
  g_test_add_func ("/k11/reconstructs", test_k11);
  int status = g_test_run ();
  td_engine_unref (engine);
  return status;
}
