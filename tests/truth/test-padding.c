/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One detector sees only the inside of a wide disc, another sees all of it. Rows continued by their
   edge values give the first no bright rim. Rows that are not continued are right for the
   second. */
#include <math.h>

#include "compute/methods/methods.h"
#include "tests/common/devices.h"
#include "tests/common/pipeline.h"

#define N 120
#define VIEWS 190

static TdEngine *engine;

/* Mean over rings of a slice: about the middle, and just inside the field's edge. */
typedef struct {
  double middle, edge, largest; /* largest: of all within the field */
} Profile;

static void
measure (const TdTestVolume *volume, Profile *profile)
{
  const guint n = volume->nx;
  guint middle = 0, edge = 0;

  *profile = (Profile) { 0 };
  for (guint i = 0; i < n * n; i++) {
    const double r = hypot (i % n - (n - 1) / 2.0, i / n - (n - 1) / 2.0) / (n / 2.0);
    const double value = volume->slices[i];
    if (r < 0.4) {
      profile->middle += value;
      middle++;
    } else if (r > 0.93 && r < 0.97) {
      profile->edge += value;
      edge++;
    }
    if (r < 0.97)
      profile->largest = MAX (profile->largest, value);
  }
  profile->middle /= middle;
  profile->edge /= edge;
}

/* A disc of value 1 and of @radius detector pixels, off the axis by some. */
static void
reconstruct (const char *device, double radius, double away, const char *padding, double range_rad,
             double centre_px, Profile *profile)
{
  g_autofree float *rows = g_new (float, N *VIEWS);
  double angles[VIEWS];
  g_autoptr (GError) error = NULL;
  TdRecipe recipe;
  TdTestVolume volume;

  for (guint v = 0; v < VIEWS; v++) {
    angles[v] = range_rad * v / VIEWS;
    for (guint u = 0; u < N; u++) {
      const double at = u - centre_px - away * cos (angles[v]);
      rows[v * N + u] = (float) (2 * sqrt (MAX (radius * radius - at * at, 0)));
    }
  }
  g_autoptr (TdScan) scan = td_test_scan (rows, 1, VIEWS, N, angles);
  td_recipe_init (&recipe);
  g_strlcpy (recipe.devices, device, sizeof recipe.devices);
  recipe.centre_px = centre_px;
  g_assert_true (td_recipe_set (&recipe, "padding", padding, NULL));
  td_test_reconstruct (engine, scan, &recipe, &volume, &error);
  g_assert_no_error (error);
  measure (&volume, profile);
  td_test_volume_clear (&volume);
  g_test_message ("%s, disc of %g: middle %.4f, edge %.4f, largest %.4f", padding, radius,
                  profile->middle, profile->edge, profile->largest);
}

static void
test_truncated (gconstpointer device)
{
  const double middle = (N - 1) / 2.0;
  Profile zero, edge;

  reconstruct (device, 2 * N, 20, "zero", G_PI, middle, &zero);
  reconstruct (device, 2 * N, 20, "edge", G_PI, middle, &edge);
  g_assert_cmpfloat (zero.edge, >, 1.5 * zero.middle);
  g_assert_cmpfloat (fabs (edge.edge / edge.middle - 1), <, 0.1);
  g_assert_cmpfloat (edge.largest, <, 1.05 * edge.middle);
}

/* Half of it seen from either side of a full turn: the rim would be that of the wide field. */
static void
test_truncated_half (gconstpointer device)
{
  Profile zero, edge;

  reconstruct (device, 4 * N, 20, "zero", 2 * G_PI, 16.4, &zero);
  reconstruct (device, 4 * N, 20, "edge", 2 * G_PI, 16.4, &edge);
  g_assert_cmpfloat (zero.edge, >, 1.5 * zero.middle);
  g_assert_cmpfloat (fabs (edge.edge / edge.middle - 1), <, 0.1);
}

static void
test_complete (gconstpointer device)
{
  const double middle = (N - 1) / 2.0;
  Profile zero, edge;

  reconstruct (device, 0.35 * N, 5, "zero", G_PI, middle, &zero);
  reconstruct (device, 0.35 * N, 5, "edge", G_PI, middle, &edge);
  g_assert_cmpfloat_with_epsilon (zero.middle, 1, 1e-3);
  g_assert_cmpfloat_with_epsilon (zero.edge, 0, 2e-3);
  g_assert_cmpfloat_with_epsilon (edge.middle, zero.middle, 1e-5);
  g_assert_cmpfloat_with_epsilon (edge.edge, zero.edge, 1e-5);
}

int
main (int argc, char **argv)
{
  static const TdDeviceTest tests[] = {
    { "truncated", test_truncated },
    { "truncated-half", test_truncated_half },
    { "complete", test_complete },
  };

  g_test_init (&argc, &argv, NULL);
  engine = td_engine_new (td_methods);
  td_test_each_device ("padding", tests, G_N_ELEMENTS (tests));
  int status = g_test_run ();
  td_engine_unref (engine);
  return status;
}
