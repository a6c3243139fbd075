/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rings go from whole reconstructions, and the object stays. Generated scans have a known truth. In
   a measured one the rings weaken and the edges stay sharp. */
#include <math.h>

#include "compute/methods/methods.h"
#include "dataset/phantom-scan.h"
#include "tests/common/measured.h"
#include "tests/common/pipeline.h"

static TdEngine *engine;

static void
reconstruct_on (const char *device, TdScan *scan, double centre_px, const char *steps,
                TdTestVolume *volume)
{
  g_autoptr (GError) error = NULL;
  TdRecipe recipe;

  td_recipe_init (&recipe);
  g_strlcpy (recipe.devices, device, sizeof recipe.devices);
  recipe.centre_px = centre_px;
  if (steps && !td_recipe_set (&recipe, "prepare", steps, &error))
    g_assert_no_error (error);
  td_test_reconstruct (engine, scan, &recipe, volume, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (volume->nx, ==, volume->ny);
}

static void
reconstruct (TdScan *scan, double centre_px, const char *steps, TdTestVolume *volume)
{
  reconstruct_on ("host", scan, centre_px, steps, volume);
}

/* Mean over the angle at each whole radius about the middle: what rings are made of. */
static double *
radial_means (const float *slice, guint nx, guint *n)
{
  double middle = (nx - 1) / 2.0;
  double *means = g_new0 (double, nx);

  *n = nx / 2 - 8;
  for (guint r = 0; r < *n; r++) {
    guint n_angles = 8 * (r + 4);
    for (guint i = 0; i < n_angles; i++) {
      double angle = 2 * G_PI * i / n_angles, x = middle + r * cos (angle),
             y = middle + r * sin (angle);
      gsize at = (gsize) y * nx + (gsize) x;
      double right = x - floor (x), below = y - floor (y);
      means[r] += ((1 - below) * ((1 - right) * slice[at] + right * slice[at + 1])
                   + below * ((1 - right) * slice[at + nx] + right * slice[at + nx + 1]))
                  / n_angles;
    }
  }
  return means;
}

/* Mean square of what of the radial means is narrower than 5 pixels. */
static double
ring_energy (const float *slice, guint nx)
{
  guint n;
  g_autofree double *means = radial_means (slice, nx, &n);
  double sum = 0;

  for (guint r = 4; r + 4 < n; r++) {
    double around = 0;
    for (guint i = r - 2; i <= r + 2; i++)
      around += means[i] / 5;
    sum += pow (means[r] - around, 2);
  }
  return sum / (n - 8);
}

static double
rms_difference (const float *a, const float *b, gsize n)
{
  double sum = 0;

  for (gsize i = 0; i < n; i++)
    sum += pow (a[i] - (b ? b[i] : 0), 2);
  return sqrt (sum / n);
}

static float *
difference (const TdTestVolume *a, const TdTestVolume *b)
{
  gsize n = (gsize) a->nx * a->ny;
  float *out = g_new (float, n);

  for (gsize i = 0; i < n; i++)
    out[i] = a->slices[i] - b->slices[i];
  return out;
}

static TdPhantomScan
describe (const char *phantom, guint n_columns, double photons)
{
  TdPhantomScan spec;

  td_phantom_scan_init (&spec, phantom, n_columns, 1, n_columns * 3 / 2);
  spec.attenuation = 1.5;
  spec.photons = photons;
  spec.counts = 50000;
  spec.seed = 5;
  return spec;
}

typedef struct {
  double fall;   /* of the rings, at least: the object's own edges are in both slices, so rings are
                    what   these differ by */
  double error;  /* against the object, to that of the slice without rings, at most */
  double change; /* RMS, of a slice without rings, at most */
} Bounds;

/* Returns the error, against that of the slice without rings. */
static double
check (TdPhantomScan *spec, double rings, Bounds bounds)
{
  g_autoptr (GError) error = NULL;
  TdTestVolume clean, ringed, treated, kept;
  /* What noise leaves in few flats is a ring with and without others, which goes, too. */
  gboolean noisy_flats = spec->photons > 0 && spec->n_flats < 1000;

  g_autoptr (TdScan) without = td_phantom_scan_new (spec, &error);
  g_assert_no_error (error);
  spec->rings = rings;
  g_autoptr (TdScan) with = td_phantom_scan_new (spec, &error);
  g_assert_no_error (error);
  reconstruct (without, NAN, NULL, &clean);
  reconstruct (without, NAN, "rings", &kept);
  reconstruct (with, NAN, NULL, &ringed);
  reconstruct (with, NAN, "rings", &treated);

  gsize n = (gsize) clean.nx * clean.ny;
  g_autofree float *truth = g_new (float, n);
  td_phantom_scan_truth (spec, 0, clean.nx, clean.ny, 8, truth);
  double ratio
      = rms_difference (treated.slices, truth, n) / rms_difference (clean.slices, truth, n);
  double changed
      = rms_difference (kept.slices, clean.slices, n) / rms_difference (clean.slices, NULL, n);
  g_autofree float *before = difference (&ringed, &clean);
  g_autofree float *after = difference (&treated, noisy_flats ? &kept : &clean);
  double fall = sqrt (ring_energy (before, clean.nx) / ring_energy (after, clean.nx));
  g_test_message (
      "%s, %u columns, rings of %g %%, %g photons, %u flats: rings fall %.1f times, error is "
      "%.3f of that without rings, a scan without rings changes by %.2f %%",
      spec->phantom, spec->n_columns, 100 * rings, spec->photons, spec->n_flats, fall, ratio,
      100 * changed);
  g_assert_cmpfloat (fall, >=, bounds.fall);
  g_assert_cmpfloat (ratio, <=, bounds.error);
  g_assert_cmpfloat (changed, <=, bounds.change);
  td_test_volume_clear (&clean);
  td_test_volume_clear (&kept);
  td_test_volume_clear (&ringed);
  td_test_volume_clear (&treated);
  return ratio;
}

static void
check_phantom (const char *phantom, guint n_columns, double rings, Bounds bounds)
{
  TdPhantomScan spec = describe (phantom, n_columns, 0);

  check (&spec, rings, bounds);
}

/* What is asked of ring removal; the change is less. */
static const Bounds asked = { 10, 1.05, 0.0005 };

static void
test_phantoms (void)
{
  static const double sizes[] = { 0.002, 0.01, 0.02 };

  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++) {
    check_phantom ("shepp-logan", 256, sizes[i], (Bounds) { 14, 1.02, 0.0005 });
    check_phantom ("boxes", 256, sizes[i], (Bounds) { 100, 1.02, 0.0005 });
    check_phantom ("ellipsoids", 256, sizes[i], (Bounds) { 20, 1.045, 0.0005 });
  }
  check_phantom ("shepp-logan", 181, 0.01, asked);
}

/* Round edges about the axis; what a ring there is like is told by the edge's shape alone. */
static void
test_discs (void)
{
  static const double sizes[] = { 0.002, 0.01, 0.02 };

  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++) {
    check_phantom ("disc", 256, sizes[i], (Bounds) { 10, 1.03, 0.0005 });
    check_phantom ("sphere", 256, sizes[i], (Bounds) { 10, sizes[i] < 0.02 ? 1.02 : 1.05, 0.0005 });
    check_phantom ("discs", 256, sizes[i], (Bounds) { 10, 1.03, 0.0005 });
  }
  check_phantom ("disc", 181, 0.01, asked);
}

/* Other draws of the offsets. In one a round edge is as weak as the rings around it. In the other
   nothing but such an edge tells the axis. */
static void
test_draws (void)
{
  enum { DRAWS = 8 };
  static const struct {
    const char *phantom;
    double mean;
    Bounds each;
  } cases[] = {
    { "discs", 1.03, { 14, 1.04, 0.0005 } },
    { "sphere", 1.05, { 8, 1.09, 0.0005 } },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    double mean = 0;
    for (guint draw = 0; draw < DRAWS; draw++) {
      TdPhantomScan spec = describe (cases[i].phantom, 256, 0);
      spec.seed += draw;
      mean += check (&spec, 0.02, cases[i].each) / DRAWS;
    }
    g_test_message ("%s, mean of %d draws: error is %.3f", cases[i].phantom, DRAWS, mean);
    g_assert_cmpfloat (mean, <=, cases[i].mean);
  }
}

/* How many times @before's error against the phantom @after has, in the first slice. */
static double
error_ratio (const TdPhantomScan *spec, const TdTestVolume *after, const TdTestVolume *before)
{
  const gsize n = (gsize) before->nx * before->ny;
  g_autofree float *truth = g_new (float, n);

  td_phantom_scan_truth (spec, 0, before->nx, before->ny, 8, truth);
  return rms_difference (after->slices, truth, n) / rms_difference (before->slices, truth, n);
}

/* Few columns, in which the object moves by few and is as narrow as the step's reach. What the step
   does to rings of any size there must not be worse than these rings. Of discs about the axis,
   whose edges are as wide as a ring there, some may remain. */
static void
test_narrow (void)
{
  static const char *const phantoms[] = { "shepp-logan", "boxes", "ellipsoids", "discs" };
  static const double sizes[] = { 0, 0.002, 0.01, 0.02, 0.1 };
  double worst = 0, worst_disc = 0;

  for (guint i = 0; i < G_N_ELEMENTS (phantoms) * G_N_ELEMENTS (sizes) * 4; i++) {
    g_autoptr (GError) error = NULL;
    TdPhantomScan spec = describe (phantoms[i % 4], 64 + 32 * (i / 4 % 4), 0);
    TdTestVolume ringed, treated;
    spec.seed += i;
    spec.centre_px = 0.5 * (spec.n_columns - 1) + 0.4 * (i % 7);
    spec.rings = sizes[i / 16];
    g_autoptr (TdScan) scan = td_phantom_scan_new (&spec, &error);
    g_assert_no_error (error);
    reconstruct (scan, NAN, NULL, &ringed);
    reconstruct (scan, NAN, "rings", &treated);
    const double ratio = error_ratio (&spec, &treated, &ringed);
    g_test_message ("%s, %u columns, rings of %g %%: the error becomes %.3f of what it was",
                    spec.phantom, spec.n_columns, 100 * spec.rings, ratio);
    double *of = i % 4 == 3 ? &worst_disc : &worst;
    *of = MAX (*of, ratio);
    td_test_volume_clear (&ringed);
    td_test_volume_clear (&treated);
  }
  g_assert_cmpfloat (worst, <=, 1.01);
  g_assert_cmpfloat (worst_disc, <=, 1.25);
}

/* Flats of 10 frames have noise, hence rings of their own, which the step removes too. In a scan
   without other rings, only these change. Once the flats are without noise, nothing changes. */
static void
test_noise (void)
{
  static const char *const phantoms[] = { "shepp-logan", "boxes", "disc", "ellipsoids", "discs" };

  /* The suite "slow" has them all. */
  for (guint i = 0; i < (g_test_slow () ? G_N_ELEMENTS (phantoms) : 1); i++) {
    TdPhantomScan spec = describe (phantoms[i], 512, 20000);
    check (&spec, 0.02, (Bounds) { 20, 1, 0.12 });
    spec = describe (phantoms[i], 512, 20000);
    spec.n_flats = 4000;
    check (&spec, 0.02, (Bounds) { 18, 1.035, 0.0005 });
  }
  TdPhantomScan spec = describe ("shepp-logan", 512, 20000);
  if (g_test_slow ()) {
    check (&spec, 0.01, (Bounds) { 15, 1, 0.12 });
    spec = describe ("shepp-logan", 512, 1000);
    check (&spec, 0.02, (Bounds) { 20, 1, 0.3 });
  }
  /* What 768 views of so few photons are wrong by is a ring itself. */
  spec = describe ("shepp-logan", 512, 1000);
  spec.n_flats = 6000;
  check (&spec, 0.02, (Bounds) { 12, 1.01, 0.0005 });
}

/* What is left of rings, to what the views' own noise is in radial means. An edge of the object
   that stays in a column for a part of the turn is within the noise of one view. */
static double
rings_left (TdPhantomScan *spec)
{
  g_autoptr (GError) error = NULL;
  TdTestVolume exact, noisy, treated;
  g_autoptr (TdScan) ringed = td_phantom_scan_new (spec, &error);

  g_assert_no_error (error);
  spec->rings = 0;
  spec->n_flats = 2000;
  g_autoptr (TdScan) without = td_phantom_scan_new (spec, &error);
  g_assert_no_error (error);
  spec->photons = 0;
  g_autoptr (TdScan) object = td_phantom_scan_new (spec, &error);
  g_assert_no_error (error);
  reconstruct (object, NAN, NULL, &exact);
  reconstruct (without, NAN, NULL, &noisy);
  reconstruct (ringed, NAN, "rings", &treated);
  g_autofree float *noise = difference (&noisy, &exact), *left = difference (&treated, &exact);
  const double ratio = sqrt (ring_energy (left, exact.nx) / ring_energy (noise, exact.nx));
  td_test_volume_clear (&exact);
  td_test_volume_clear (&noisy);
  td_test_volume_clear (&treated);
  return ratio;
}

static void
test_below_noise (void)
{
  static const struct {
    const char *phantom;
    guint n_columns, n_flats, half_turns;
    double rings, most;
  } cases[] = {
    /* the demonstration's */
    { "shepp-logan", 256, 10, 1, 0.002, 1.1 },
    { "shepp-logan", 256, 10, 2, 0.002, 1.4 },
    { "boxes", 256, 10, 1, 0.002, 1.1 },
    { "ellipsoids", 256, 10, 1, 0.002, 1.1 },
    /* three to four times the noise */
    { "shepp-logan", 256, 2000, 1, 0.0015, 1.1 },
    { "boxes", 256, 2000, 1, 0.0015, 1.1 },
    /* few columns */
    { "shepp-logan", 160, 1, 1, 0.01, 1.4 },
    { "boxes", 160, 1, 1, 0.01, 1.7 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    TdPhantomScan spec = describe (cases[i].phantom, cases[i].n_columns, 20000);
    spec.attenuation = 2;
    spec.range_deg = 180 * cases[i].half_turns;
    spec.n_views *= cases[i].half_turns;
    spec.centre_px = 0.5 * (spec.n_columns - 1) + 3.9;
    spec.rings = cases[i].rings;
    spec.n_flats = cases[i].n_flats;
    const double left = rings_left (&spec);
    g_test_message ("%s, %u columns, %u half turns: rings are left of %.2f times the noise",
                    spec.phantom, spec.n_columns, cases[i].half_turns, left);
    g_assert_cmpfloat (left, <=, cases[i].most);
  }
}

/* The host tells shade from what each device adds up. The scans are half a turn and a whole one,
   where the sides of the axis cannot be told apart. */
static void
test_devices (void)
{
  g_autoptr (GPtrArray) devices = td_test_devices ();
  g_autoptr (GError) error = NULL;

  for (guint half_turns = 1; half_turns <= 2; half_turns++) {
    TdPhantomScan spec = describe ("boxes", 181, 0);
    TdTestVolume expected, without;
    spec.range_deg = 180 * half_turns;
    spec.n_views *= half_turns;
    spec.centre_px = 87.3;
    spec.fill = 0.9;
    g_autoptr (TdScan) clean = td_phantom_scan_new (&spec, &error);
    g_assert_no_error (error);
    spec.rings = 0.02;
    g_autoptr (TdScan) scan = td_phantom_scan_new (&spec, &error);
    g_assert_no_error (error);
    reconstruct (clean, NAN, NULL, &without);
    reconstruct (scan, NAN, "rings", &expected);
    const gsize n = (gsize) expected.nx * expected.ny;
    const double ratio = error_ratio (&spec, &expected, &without);
    g_test_message ("%u half turns: error is %.3f of that without rings", half_turns, ratio);
    g_assert_cmpfloat (ratio, <=, 1.03);
    for (guint i = 1; i < devices->len; i++) {
      TdTestVolume volume;
      reconstruct_on (devices->pdata[i], scan, NAN, "rings", &volume);
      double apart = rms_difference (volume.slices, expected.slices, n)
                     / rms_difference (expected.slices, NULL, n);
      g_test_message ("%s differs by %.2g", (const char *) devices->pdata[i], apart);
      g_assert_cmpfloat (apart, <=, 2e-5);
      td_test_volume_clear (&volume);
    }
    td_test_volume_clear (&without);
    td_test_volume_clear (&expected);
  }
}

/* ── The measured scan ── */

/* Where a profile crosses a share of the way from its first to its last values. */
static double
crossing (const double *profile, guint n, double low, double high, double share)
{
  for (guint i = 0; i + 1 < n; i++) {
    double a = (profile[i] - low) / (high - low) - share,
           b = (profile[i + 1] - low) / (high - low) - share;
    if (a <= 0 && b > 0)
      return i + a / (a - b);
  }
  g_test_fail ();
  return 0;
}

/* The 10 to 90 % width of the brightest rod's edge, across its border averaged over the directions.
   The rod's middle is its centre of mass. */
static double
edge_width (const float *slice, guint nx)
{
  enum { REACH = 44 };
  double x0 = 0, y0 = 0, mass = 0, profile[4 * REACH] = { 0 };

  for (guint y = 0; y < nx; y++)
    for (guint x = 0; x < nx; x++)
      if (hypot (x - 249.0, y - 145.0) < 40 && slice[(gsize) y * nx + x] > 0.02) {
        mass += slice[(gsize) y * nx + x];
        x0 += x * slice[(gsize) y * nx + x];
        y0 += y * slice[(gsize) y * nx + x];
      }
  x0 /= mass;
  y0 /= mass;
  for (guint i = 0; i < 4 * REACH; i++)
    for (guint k = 0; k < 360; k++) {
      double r = REACH - i / 4.0, x = x0 + r * cos (k * G_PI / 180),
             y = y0 + r * sin (k * G_PI / 180);
      gsize at = (gsize) y * nx + (gsize) x;
      double right = x - floor (x), below = y - floor (y);
      profile[i] += (1 - below) * ((1 - right) * slice[at] + right * slice[at + 1])
                    + below * ((1 - right) * slice[at + nx] + right * slice[at + nx + 1]);
    }
  double low = 0, high = 0;
  for (guint i = 0; i < 16; i++) {
    low += profile[i] / 16;
    high += profile[2 * REACH + i] / 16;
  }
  return (crossing (profile, 4 * REACH, low, high, 0.9)
          - crossing (profile, 4 * REACH, low, high, 0.1))
         / 4;
}

static void
test_neutron (void)
{
  static const char *const steps[] = { "rings", "rings-all", "rings-dead,rings-sorting" };
  const TdScanOptions options = { .angles = "0:360" };
  g_autoptr (TdScan) scan
      = td_test_open_measured ("sarepy_neutron360/sinogram_360_neutron_image.tif", &options);
  TdTestVolume before, after;

  if (!scan)
    return;
  reconstruct (scan, 244.95, "flat-field=47000", &before);
  double energy = ring_energy (before.slices, before.nx),
         edge = edge_width (before.slices, before.nx);
  for (guint i = 0; i < G_N_ELEMENTS (steps); i++) {
    g_autofree char *prepare = g_strconcat ("flat-field=47000,", steps[i], NULL);
    reconstruct (scan, 244.95, prepare, &after);
    double fall = energy / ring_energy (after.slices, after.nx);
    double width = edge_width (after.slices, after.nx);
    g_test_message ("%s: the rings' energy falls %.0f times; an edge of %.2f pixels gets %.2f",
                    steps[i], fall, edge, width);
    g_assert_cmpfloat (fall, >=, 8);
    g_assert_cmpfloat (fabs (width - edge), <=, 0.05 * edge);
    td_test_volume_clear (&after);
  }
  td_test_volume_clear (&before);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  engine = td_engine_new (td_methods);
  g_test_add_func ("/rings-scans/phantoms", test_phantoms);
  g_test_add_func ("/rings-scans/discs", test_discs);
  g_test_add_func ("/rings-scans/draws", test_draws);
  g_test_add_func ("/rings-scans/narrow", test_narrow);
  g_test_add_func ("/rings-scans/noise", test_noise);
  g_test_add_func ("/rings-scans/below-noise", test_below_noise);
  g_test_add_func ("/rings-scans/devices", test_devices);
  g_test_add_func ("/rings-scans/neutron", test_neutron);
  int status = g_test_run ();
  td_engine_unref (engine);
  return status;
}
