/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Generated scans have the counts, noise, faults and geometry that their description states. */
#include <math.h>
#include <string.h>

#include "dataset/error.h"
#include "dataset/phantom-scan.h"
#include "dataset/random.h"
#include "tests/common/pins.h"
#include "open-scan.h"

static void
small (TdPhantomScan *spec)
{
  td_phantom_scan_init (spec, NULL, 33, 7, 11);
}

static float *
read_all (TdScan *scan, TdFrameKind kind, guint count)
{
  const TdScanFacts *facts = td_scan_facts (scan);
  float *out = g_new (float, (gsize) count * facts->n_rows * facts->n_columns);
  g_autoptr (GError) error = NULL;

  td_scan_read (scan, &(TdFrameRange) { kind, 0, count, 0, facts->n_rows }, out, NULL, &error);
  g_assert_no_error (error);
  return out;
}

static void
test_random (void)
{
  const double means[] = { 0.3, 5, 12, 80, 4000 };
  TdRandom random, same;
  const guint n = 40000;

  for (guint k = 0; k < G_N_ELEMENTS (means); k++) {
    double sum = 0, squares = 0;
    td_random_init (&random, 5, k);
    for (guint i = 0; i < n; i++) {
      double count = td_random_poisson (&random, means[k]);
      g_assert_cmpfloat (count, ==, floor (count));
      g_assert_cmpfloat (count, >=, 0);
      sum += count;
      squares += (count - means[k]) * (count - means[k]);
    }
    /* Five standard errors of the mean; the variance to 5 %. */
    g_assert_cmpfloat (fabs (sum / n - means[k]), <, 5 * sqrt (means[k] / n));
    g_assert_cmpfloat (fabs (squares / n / means[k] - 1), <, 0.05);
  }
  g_assert_cmpfloat (td_random_poisson (&random, 0), ==, 0);

  td_random_init (&random, 9, 1);
  td_random_init (&same, 9, 1);
  for (guint i = 0; i < 100; i++)
    g_assert_cmpfloat (td_random_normal (&random), ==, td_random_normal (&same));
  td_random_init (&same, 9, 2);
  g_assert_cmpfloat (td_random_uniform (&random), !=, td_random_uniform (&same));
}

/* Flat field and -log of a noiseless scan give the line integrals back, to the camera's rounding.
 */
static void
test_counts (void)
{
  TdPhantomScan spec;
  small (&spec);
  spec.centre_px = 14.2;
  spec.wander = 0;
  g_autoptr (TdScan) scan = td_phantom_scan_new (&spec, NULL);
  spec.logged = TRUE;
  g_autoptr (TdScan) logged = td_phantom_scan_new (&spec, NULL);
  g_autofree float *views = read_all (scan, TD_FRAME_PROJECTION, 11);
  g_autofree float *flats = read_all (scan, TD_FRAME_FLAT, 10);
  g_autofree float *darks = read_all (scan, TD_FRAME_DARK, 5);
  g_autofree float *integrals = read_all (logged, TD_FRAME_PROJECTION, 11);
  double largest = 0;

  g_assert_true (td_scan_facts (logged)->transmission_logged);
  g_assert_cmpuint (td_scan_facts (logged)->n_flats, ==, 0);
  g_assert_cmpfloat (td_scan_facts (scan)->centre_px, ==, 14.2);
  for (guint i = 0; i < 11 * 7 * 33; i++) {
    guint pixel = i % (7 * 33);
    double value = -log ((views[i] - darks[pixel]) / (flats[pixel] - darks[pixel]));
    g_assert_cmpfloat_with_epsilon (value, integrals[i], 1e-4);
    largest = MAX (largest, value);
  }
  g_assert_cmpfloat (largest, >, 0.2);
}

/* The beam is weaker towards the corners by its profile, and leans to one side by the drift, from
   the first view to the last. */
static void
test_beam (void)
{
  const double middle_u = 16, middle_v = 3;
  TdPhantomScan spec;
  small (&spec);
  spec.wander = 0;
  spec.profile = 0.6;
  g_autoptr (TdScan) scan = td_phantom_scan_new (&spec, NULL);
  spec.drift = 0.3;
  g_autoptr (TdScan) leaning = td_phantom_scan_new (&spec, NULL);
  g_autofree float *flats = read_all (scan, TD_FRAME_FLAT, 10);
  g_autofree float *leans = read_all (leaning, TD_FRAME_FLAT, 10);
  g_autofree float *views = read_all (leaning, TD_FRAME_PROJECTION, 11);

  for (guint v = 0; v < 7; v++)
    for (guint u = 0; u < 33; u++) {
      const double x = (u - middle_u) / middle_u, y = (v - middle_v) / middle_v;
      const double level = spec.counts * (1 - 0.6 * (x * x + y * y) / 2);
      g_assert_cmpfloat_with_epsilon (flats[v * 33 + u], spec.dark_counts + level, 0.51);
      for (guint f = 0; f < 10; f++) /* the second half of them comes after the views */
        g_assert_cmpfloat_with_epsilon (leans[(f * 7 + v) * 33 + u],
                                        spec.dark_counts + level * (f < 5 ? 1 : 1 + 0.3 * x), 0.51);
    }
  for (guint f = 0; f < 10; f++)
    g_assert_cmpfloat (td_scan_facts (leaning)->flat_positions[f], ==, f < 5 ? 0 : 11);
  for (guint view = 0; view < 11; view++) /* a corner sees the open beam */
    g_assert_cmpfloat_with_epsilon (
        views[view * 7 * 33], spec.dark_counts + spec.counts * 0.4 * (1 - 0.3 * (view + 0.5) / 11),
        0.51);
}

/* The same samples by frames, by sinograms, by single rows, and from a second scan; others from
   another seed. */
static void
test_deterministic (void)
{
  TdPhantomScan spec;
  small (&spec);
  spec.photons = 500;
  spec.wander = 0.1;
  spec.rings = 0.02;
  spec.n_dead = 9;
  g_autoptr (TdScan) scan = td_phantom_scan_new (&spec, NULL);
  g_autoptr (TdScan) again = td_phantom_scan_new (&spec, NULL);
  spec.seed = 2;
  g_autoptr (TdScan) other = td_phantom_scan_new (&spec, NULL);
  g_autofree float *views = read_all (scan, TD_FRAME_PROJECTION, 11);
  g_autofree float *views_again = read_all (again, TD_FRAME_PROJECTION, 11);
  g_autofree float *views_other = read_all (other, TD_FRAME_PROJECTION, 11);
  g_autofree float *sinograms = g_new (float, 11 * 7 * 33);
  float row[33];

  g_assert_cmpmem (views, 11 * 7 * 33 * 4, views_again, 11 * 7 * 33 * 4);
  g_assert_cmpint (memcmp (views, views_other, 11 * 7 * 33 * 4), !=, 0);
  g_assert_true (td_scan_read_sinograms (scan, &(TdFrameRange) { TD_FRAME_PROJECTION, 0, 11, 0, 7 },
                                         sinograms, NULL, NULL));
  for (guint view = 0; view < 11; view++)
    for (guint v = 0; v < 7; v++)
      g_assert_cmpmem (views + (view * 7 + v) * 33, 33 * 4, sinograms + (v * 11 + view) * 33,
                       33 * 4);
  check_rows_apart (scan, &(TdFrameRange) { TD_FRAME_PROJECTION, 4, 3, 2, 4 });
  /* Some views of some rows. */
  g_assert_true (td_scan_read_sinograms (scan, &(TdFrameRange) { TD_FRAME_PROJECTION, 4, 3, 2, 4 },
                                         sinograms, NULL, NULL));
  for (guint view = 4; view < 7; view++)
    for (guint v = 2; v < 6; v++)
      g_assert_cmpmem (views + (view * 7 + v) * 33, 33 * 4,
                       sinograms + ((v - 2) * 3 + view - 4) * 33, 33 * 4);
  g_assert_true (
      td_scan_read (scan, &(TdFrameRange) { TD_FRAME_PROJECTION, 8, 1, 3, 1 }, row, NULL, NULL));
  g_assert_cmpmem (row, sizeof row, views + (8 * 7 + 3) * 33, sizeof row);
}

static void
test_noise (void)
{
  TdPhantomScan spec;
  small (&spec);
  spec.n_columns = 200;
  spec.n_rows = 20;
  spec.n_flats = 20;
  spec.photons = 400;
  spec.profile = 0;
  g_autoptr (TdScan) scan = td_phantom_scan_new (&spec, NULL);
  g_autofree float *flats = read_all (scan, TD_FRAME_FLAT, 20);
  double sum = 0, squares = 0;
  const guint n = 20 * 20 * 200;

  for (guint i = 0; i < n; i++) {
    double relative = (flats[i] - spec.dark_counts) / spec.counts;
    sum += relative;
    squares += (relative - 1) * (relative - 1);
  }
  g_assert_cmpfloat_with_epsilon (sum / n, 1, 1e-3);
  g_assert_cmpfloat_with_epsilon (squares / n, 1 / 400.0, 0.03 / 400);
}

static void
test_faults (void)
{
  TdPhantomScan spec;
  small (&spec);
  spec.n_dead = 10;
  spec.wander = 0.2;
  g_autoptr (TdScan) scan = td_phantom_scan_new (&spec, NULL);
  g_autofree float *views = read_all (scan, TD_FRAME_PROJECTION, 11);
  g_autofree float *flats = read_all (scan, TD_FRAME_FLAT, 10);
  guint dark = 0, hot = 0;

  for (guint i = 0; i < 7 * 33; i++) {
    gboolean is_dark = flats[i] == 200, is_hot = flats[i] == 65535;
    dark += is_dark;
    hot += is_hot;
    for (guint view = 0; view < 11; view++)
      if (is_dark || is_hot)
        g_assert_cmpfloat (views[view * 7 * 33 + i], ==, flats[i]);
  }
  g_assert_cmpuint (dark, ==, 5);
  g_assert_cmpuint (hot, ==, 5);

  /* The corner sees open beam in every view: what moves there is the beam. */
  double low = INFINITY, high = 0;
  for (guint view = 0; view < 11; view++) {
    low = MIN (low, views[view * 7 * 33 + 1]);
    high = MAX (high, views[view * 7 * 33 + 1]);
  }
  g_assert_cmpfloat (high / low, >, 1.1);
}

/* A tilted axis moves the centre by tan (tilt) columns a row, downwards to the right. */
static void
test_tilt (void)
{
  TdPhantomScan spec;
  td_phantom_scan_init (&spec, "disc", 101, 41, 3);
  spec.tilt_deg = 10;
  spec.logged = TRUE;
  spec.attenuation = 0;
  g_autoptr (TdScan) scan = td_phantom_scan_new (&spec, NULL);
  g_autofree float *views = read_all (scan, TD_FRAME_PROJECTION, 3);

  for (guint v = 0; v < 41; v += 10) {
    double sum = 0, moment = 0;
    for (guint u = 0; u < 101; u++) {
      sum += views[v * 101 + u];
      moment += views[v * 101 + u] * u;
    }
    g_assert_cmpfloat_with_epsilon (moment / sum, 50 + tan (10 * G_PI / 180) * (v - 20.0), 0.1);
  }
}

static void
make_cone (TdPhantomScan *spec)
{
  td_phantom_scan_init (spec, "points", 201, 161, 5);
  spec->range_deg = 360;
  spec->logged = TRUE;
  spec->attenuation = 0;
  spec->geometry.beam = TD_BEAM_CONE;
  spec->geometry.pixel_width_mm = 0.4;
  spec->geometry.pixel_height_mm = 0.5;
  spec->geometry.source_axis_mm = 200;
  spec->geometry.source_detector_mm = 500;
  spec->geometry.detector_offset_u_px = 3;
  spec->geometry.detector_offset_v_px = -2;
}

/* The points' shadows fall where similar triangles put them, and nowhere else. */
static void
test_cone (void)
{
  TdPhantomScan spec;
  make_cone (&spec);
  spec.centre_px = 110;
  g_autoptr (TdScan) scan = td_phantom_scan_new (&spec, NULL);
  const TdPhantom *phantom = td_phantom_find ("points", NULL);
  const TdGeometry *g = &td_scan_facts (scan)->geometry;
  g_autofree float *views = read_all (scan, TD_FRAME_PROJECTION, 5);
  const double unit_mm = 201 / 2.0 * 0.4 * 200 / 500, radius_px = 0.02 * 201 / 2;

  g_assert_cmpfloat_with_epsilon (g->axis_offset_mm, (110 - 100 - 3) * 0.4 * 200 / 500, 1e-12);
  for (guint view = 0; view < 5; view++) {
    double a = td_scan_facts (scan)->angles_rad[view], c = cos (a), s = sin (a);
    double expected_mass = 0, mass = 0;
    for (guint i = 0; i < phantom->n_shapes; i++) {
      const double *p = phantom->shapes[i].centre;
      double across = (p[0] * c + p[1] * s) * unit_mm + g->axis_offset_mm;
      double magnified = 500 / (200 + (p[1] * c - p[0] * s) * unit_mm);
      guint u = (guint) floor (103 + across * magnified / 0.4 + 0.5);
      guint v = (guint) floor (78 - p[2] * unit_mm * magnified / 0.5 + 0.5);
      g_assert_cmpfloat (views[(view * 161 + v) * 201 + u], >, 0.9 * 2 * radius_px);
      expected_mass += 4 * G_PI / 3 * pow (radius_px, 3) * pow (magnified / 2.5, 2) * 0.4 / 0.5;
    }
    for (guint i = 0; i < 161 * 201; i++)
      mass += views[view * 161 * 201 + i];
    g_assert_cmpfloat_with_epsilon (mass / expected_mass, 1, 0.06);
  }
}

/* Turned about the beam, the detector sees the picture turned the other way. */
static void
test_cone_tilt (void)
{
  TdPhantomScan spec;
  make_cone (&spec);
  spec.phantom = "ellipsoids";
  spec.n_rows = spec.n_columns;
  spec.n_views = 1;
  spec.geometry.pixel_height_mm = spec.geometry.pixel_width_mm;
  spec.geometry.detector_offset_u_px = spec.geometry.detector_offset_v_px = 0;
  g_autoptr (TdScan) upright = td_phantom_scan_new (&spec, NULL);
  spec.geometry.detector_tilt_rad[2] = G_PI / 2;
  g_autoptr (TdScan) turned = td_phantom_scan_new (&spec, NULL);
  g_autofree float *a = read_all (upright, TD_FRAME_PROJECTION, 1);
  g_autofree float *b = read_all (turned, TD_FRAME_PROJECTION, 1);
  const guint n = 201;

  /* The turned detector's columns run along the upright one's rows, its rows against the columns.
   */
  for (guint v = 0; v < n; v++)
    for (guint u = 0; u < n; u++)
      g_assert_cmpfloat_with_epsilon (b[v * n + u], a[u * n + (n - 1 - v)], 1e-3);
}

static void
test_truth (void)
{
  TdPhantomScan spec;
  float slice[64 * 64];
  td_phantom_scan_init (&spec, "disc", 64, 0, 0);
  spec.attenuation = 1.6;
  td_phantom_scan_truth (&spec, 0, 64, 64, 1, slice);
  g_assert_cmpfloat_with_epsilon (slice[32 * 64 + 32], 1.6 / 64, 1e-8);
  g_assert_cmpfloat (slice[0], ==, 0);
  spec.geometry.pixel_width_mm = 0.5;
  td_phantom_scan_truth (&spec, 0, 64, 64, 1, slice);
  g_assert_cmpfloat_with_epsilon (slice[32 * 64 + 32], 1.6 / 32, 1e-8);
  spec.attenuation = 0;
  spec.geometry.pixel_width_mm = 0;
  td_phantom_scan_truth (&spec, 0, 64, 64, 1, slice);
  g_assert_cmpfloat (slice[32 * 64 + 32], ==, 1);
}

static void
test_angles (void)
{
  TdPhantomScan spec;
  small (&spec);
  spec.first_deg = 10;
  spec.range_deg = -360;
  g_autoptr (TdScan) open = td_phantom_scan_new (&spec, NULL);
  spec.end_point = TRUE;
  g_autoptr (TdScan) closed = td_phantom_scan_new (&spec, NULL);

  g_assert_cmpfloat_with_epsilon (td_scan_facts (open)->angles_rad[10],
                                  (10 - 360 * 10 / 11.0) * G_PI / 180, 1e-12);
  g_assert_cmpfloat_with_epsilon (td_scan_facts (closed)->angles_rad[10], -350 * G_PI / 180, 1e-12);
}

/* The object is half as large, with the same attenuation along its own field. Its projections are
   those of a scan of half as many columns, in the middle of the detector, with nothing beside
   them. */
static void
test_fill (void)
{
  g_autoptr (GError) error = NULL;
  TdPhantomScan spec, half;
  float wide[40], narrow[20];

  td_phantom_scan_init (&spec, "discs", 40, 3, 3);
  spec.logged = TRUE;
  half = spec;
  half.n_columns = 20;
  spec.fill = 0.5;
  g_autoptr (TdScan) filled = td_phantom_scan_new (&spec, &error);
  g_assert_no_error (error);
  g_autoptr (TdScan) small_scan = td_phantom_scan_new (&half, &error);
  g_assert_no_error (error);
  g_assert_true (td_scan_read (filled, &(TdFrameRange) { TD_FRAME_PROJECTION, 1, 1, 1, 1 }, wide,
                               NULL, &error));
  g_assert_true (td_scan_read (small_scan, &(TdFrameRange) { TD_FRAME_PROJECTION, 1, 1, 1, 1 },
                               narrow, NULL, &error));
  for (guint u = 0; u < 40; u++)
    g_assert_cmpfloat_with_epsilon (wide[u], u >= 10 && u < 30 ? narrow[u - 10] : 0, 1e-5);
}

static void
test_refusals (void)
{
  const struct {
    gsize offset;
    double value;
    const char *word;
  } wrong[] = {
    { G_STRUCT_OFFSET (TdPhantomScan, attenuation), -1, "attenuation" },
    { G_STRUCT_OFFSET (TdPhantomScan, photons), NAN, "finite" },
    { G_STRUCT_OFFSET (TdPhantomScan, counts), 70000, "65535" },
    { G_STRUCT_OFFSET (TdPhantomScan, wander), 1, "wander" },
    { G_STRUCT_OFFSET (TdPhantomScan, tilt_deg), 60, "tilted" },
    { G_STRUCT_OFFSET (TdPhantomScan, fill), 1.5, "field" },
    { G_STRUCT_OFFSET (TdPhantomScan, fill), -1, "field" },
  };
  TdPhantomScan spec;

  for (guint i = 0; i < G_N_ELEMENTS (wrong); i++) {
    g_autoptr (GError) error = NULL;
    small (&spec);
    G_STRUCT_MEMBER (double, &spec, wrong[i].offset) = wrong[i].value;
    g_assert_null (td_phantom_scan_new (&spec, &error));
    g_assert_error (error, TD_ERROR, TD_ERROR_INVALID);
    td_test_pin_refused (error);
    g_assert_nonnull (strstr (error->message, wrong[i].word));
  }

  g_autoptr (GError) error = NULL;
  small (&spec);
  spec.geometry.beam = TD_BEAM_CONE;
  g_assert_null (td_phantom_scan_new (&spec, &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_INVALID);
  td_test_pin_refused (error);
}

/* What a description may say: each number at its limit, and just outside. */
static void
test_limits (void)
{
#define OF(member) G_STRUCT_OFFSET (TdPhantomScan, member)
  static const struct {
    gboolean cone;
    gsize number;
    double inside, outside;
    const char *says;
  } limits[] = {
    { FALSE, OF (attenuation), 0, -1e-9, "cannot be negative" },
    { FALSE, OF (attenuation), 1e3, NAN, "is not finite" },
    { FALSE, OF (photons), 0, -1e-9, "cannot be negative" },
    { FALSE, OF (photons), 0.5, INFINITY, "is not finite" },
    { FALSE, OF (rings), 0, -1e-9, "cannot be negative" },
    { FALSE, OF (rings), 0.5, NAN, "is not finite" },
    { FALSE, OF (dark_counts), 0, -1e-9, "cannot be negative" },
    { FALSE, OF (counts), 65335, 65336, "with the dark level at most 65535" },
    { FALSE, OF (counts), 1, 0, "counts must be above 0" },
    { FALSE, OF (fill), 1, 1.001, "from 0 to 1" },
    { FALSE, OF (fill), 0.1, -1e-9, "from 0 to 1" },
    { FALSE, OF (profile), 0, -1e-9, "profile and wander" },
    { FALSE, OF (profile), 0.999, 1, "profile and wander" },
    { FALSE, OF (wander), 0, -1e-9, "profile and wander" },
    { FALSE, OF (wander), 0.999, 1, "profile and wander" },
    { FALSE, OF (flicker), 0, -1e-9, "flicker goes from 0" },
    { FALSE, OF (flicker), 0.499, 0.5, "flicker goes from 0" },
    { FALSE, OF (zingers), 0, -1e-9, "zingers from 0 to 1" },
    { FALSE, OF (zingers), 1, 1.001, "zingers from 0 to 1" },
    { FALSE, OF (drift), 0.999, 1, "drift and hardening" },
    { FALSE, OF (drift), -0.999, -1, "drift and hardening" },
    { FALSE, OF (hardening), 0, -1e-9, "drift and hardening" },
    { FALSE, OF (hardening), 0.999, 1, "drift and hardening" },
    { FALSE, OF (wobble_mm), 0, 0.1, "only a cone beam's" },
    { FALSE, OF (tilt_deg), 44.9, 45, "less than 45" },
    { FALSE, OF (tilt_deg), -44.9, -45, "less than 45" },
    { TRUE, OF (tilt_deg), 0, 0.1, "upright axis" },
    { TRUE, OF (wobble_mm), 30, 30.1, "a tenth of the distance" },
    { TRUE, OF (wobble_mm), 0, -0.1, "a tenth of the distance" },
    { TRUE, OF (geometry.source_axis_mm), 450, 451, "the second no less than the first" },
    { TRUE, OF (geometry.source_axis_mm), 1, 0, "the second no less" },
    { TRUE, OF (geometry.pixel_width_mm), 0.1, 0, "pixel size" },
    { TRUE, OF (geometry.pixel_height_mm), 0.1, 0, "pixel size" },
    { TRUE, OF (geometry.detector_tilt_rad[0]), 0.78, 0.79, "may lean by less" },
    { TRUE, OF (geometry.detector_tilt_rad[1]), -0.78, -0.79, "may lean by less" },
    { TRUE, OF (geometry.detector_tilt_rad[2]), 6.28, 6.29, "may lean by less" },
  };
#undef OF

  for (guint i = 0; i < G_N_ELEMENTS (limits); i++)
    for (guint outside = 0; outside < 2; outside++) {
      g_autoptr (GError) error = NULL;
      TdPhantomScan spec;

      td_phantom_scan_init (&spec, NULL, 4, 4, 4);
      if (limits[i].cone) {
        spec.phantom = "ellipsoids";
        spec.range_deg = 360;
        spec.geometry.beam = TD_BEAM_CONE;
        spec.geometry.source_axis_mm = 300;
        spec.geometry.source_detector_mm = 450;
        spec.geometry.pixel_width_mm = spec.geometry.pixel_height_mm = 40;
      }
      *(double *) ((char *) &spec + limits[i].number)
          = outside ? limits[i].outside : limits[i].inside;
      g_test_message ("%u", i);
      g_autoptr (TdScan) scan = td_phantom_scan_new (&spec, &error);
      if (!outside) {
        g_assert_no_error (error);
        continue;
      }
      g_assert_null (scan);
      g_assert_nonnull (strstr (error->message, limits[i].says));
    }
}

/* Each fault alone and with all others: what it makes of the frames of either kind. */
static void
test_pinned (void)
{
  static const struct {
    const char *name;
    gsize member;
    double value;
  } faults[] = {
    { "none", G_STRUCT_OFFSET (TdPhantomScan, counts), 20000 },
    { "photons", G_STRUCT_OFFSET (TdPhantomScan, photons), 900 },
    { "profile", G_STRUCT_OFFSET (TdPhantomScan, profile), 0.4 },
    { "wander", G_STRUCT_OFFSET (TdPhantomScan, wander), 0.1 },
    { "rings", G_STRUCT_OFFSET (TdPhantomScan, rings), 0.05 },
    { "drift", G_STRUCT_OFFSET (TdPhantomScan, drift), 0.1 },
    { "flicker", G_STRUCT_OFFSET (TdPhantomScan, flicker), 0.05 },
    { "zingers", G_STRUCT_OFFSET (TdPhantomScan, zingers), 0.02 },
    { "hardening", G_STRUCT_OFFSET (TdPhantomScan, hardening), 0.3 },
    { "attenuation", G_STRUCT_OFFSET (TdPhantomScan, attenuation), 2 },
    { "fill", G_STRUCT_OFFSET (TdPhantomScan, fill), 0.6 },
    { "range", G_STRUCT_OFFSET (TdPhantomScan, range_deg), 200 },
    { "first", G_STRUCT_OFFSET (TdPhantomScan, first_deg), 30 },
    { "centre", G_STRUCT_OFFSET (TdPhantomScan, centre_px), 14.3 },
  };
  static const char *const kinds[] = { "views", "flats", "darks" };
  TdPhantomScan all;

  small (&all);
  all.n_dead = 3;
  for (guint i = 0; i <= G_N_ELEMENTS (faults); i++) {
    const gboolean last = i == G_N_ELEMENTS (faults);
    TdPhantomScan spec;
    g_autoptr (GError) error = NULL;

    small (&spec);
    if (last)
      spec = all;
    else
      for (TdPhantomScan *at = &spec; at; at = at == &spec ? &all : NULL)
        G_STRUCT_MEMBER (double, at, faults[i].member) = faults[i].value;
    g_autoptr (TdScan) scan = td_phantom_scan_new (&spec, &error);
    g_assert_no_error (error);
    for (guint kind = 0; kind < 3; kind++) {
      const guint n[] = { spec.n_views, spec.n_flats, spec.n_darks };
      g_autofree float *frames = read_all (scan, kind, n[kind]);
      g_autofree char *name
          = g_strdup_printf ("%s, %s", last ? "all" : faults[i].name, kinds[kind]);
      td_test_pin_values (name, frames, (gsize) n[kind] * 33 * 7);
    }
  }
}

/* Where each part of a cone's geometry puts what is seen. */
static void
test_cone_pinned (void)
{
#define OF_GEOMETRY(member) G_STRUCT_OFFSET (TdPhantomScan, geometry.member)
  static const struct {
    const char *name;
    gsize member;
    double value;
  } cases[] = {
    { "as it is", OF_GEOMETRY (pixel_width_mm), 0.4 },
    { "wobble", G_STRUCT_OFFSET (TdPhantomScan, wobble_mm), 3 },
    { "first tilt", OF_GEOMETRY (detector_tilt_rad[0]), 0.1 },
    { "second tilt", OF_GEOMETRY (detector_tilt_rad[1]), 0.1 },
    { "third tilt", OF_GEOMETRY (detector_tilt_rad[2]), 0.1 },
    { "axis", OF_GEOMETRY (axis_offset_mm), 1.5 },
    { "columns aside", OF_GEOMETRY (detector_offset_u_px), -4 },
    { "rows aside", OF_GEOMETRY (detector_offset_v_px), 5 },
    { "high pixels", OF_GEOMETRY (pixel_height_mm), 0.7 },
    { "wide pixels", OF_GEOMETRY (pixel_width_mm), 0.6 },
    { "near source", OF_GEOMETRY (source_axis_mm), 150 },
    { "far detector", OF_GEOMETRY (source_detector_mm), 600 },
    { "centre", G_STRUCT_OFFSET (TdPhantomScan, centre_px), 23 },
    { "range", G_STRUCT_OFFSET (TdPhantomScan, range_deg), 200 },
    { "first", G_STRUCT_OFFSET (TdPhantomScan, first_deg), 33 },
  };
#undef OF_GEOMETRY

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    TdPhantomScan spec;
    g_autoptr (GError) error = NULL;

    make_cone (&spec);
    spec.phantom = "ellipsoids";
    spec.n_columns = 41;
    spec.n_rows = 31;
    G_STRUCT_MEMBER (double, &spec, cases[i].member) = cases[i].value;
    g_autoptr (TdScan) scan = td_phantom_scan_new (&spec, &error);
    g_assert_no_error (error);
    g_autofree float *views = read_all (scan, TD_FRAME_PROJECTION, 5);
    const TdScanFacts *facts = td_scan_facts (scan);
    td_test_pin_values (cases[i].name, views, 5 * 41 * 31);
    td_test_pin ("axis %.4f, column %.4f, from %.4f to %.4f", facts->geometry.axis_offset_mm,
                 facts->centre_px, facts->angles_rad[0], facts->angles_rad[4]);
    for (guint k = 0; k < facts->geometry.n_view_matrices; k += 3) {
      const double *m = facts->geometry.view_matrices + 12 * k;
      td_test_pin ("%.4f %.4f %.4f %.4f, %.4f %.4f %.4f %.4f, %.5f %.5f %.5f %.4f", m[0], m[1],
                   m[2], m[3], m[4], m[5], m[6], m[7], m[8], m[9], m[10], m[11]);
    }
  }
}

/* One column, row and view are enough. */
static void
test_smallest (void)
{
  for (guint i = 0; i < 4; i++) {
    TdPhantomScan spec;
    g_autoptr (GError) error = NULL;

    td_phantom_scan_init (&spec, NULL, 1, 1, 1);
    if (i > 0)
      *(i == 1 ? &spec.n_columns : i == 2 ? &spec.n_rows : &spec.n_views) = 0;
    g_autoptr (TdScan) scan = td_phantom_scan_new (&spec, &error);
    g_assert_cmpint (scan != NULL, ==, i == 0);
    if (i > 0)
      g_assert_nonnull (strstr (error->message, "must be at least 1"));
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/phantom-scan/limits", test_limits);
  g_test_add_func ("/phantom-scan/pinned", test_pinned);
  g_test_add_func ("/phantom-scan/random", test_random);
  g_test_add_func ("/phantom-scan/counts", test_counts);
  g_test_add_func ("/phantom-scan/beam", test_beam);
  g_test_add_func ("/phantom-scan/deterministic", test_deterministic);
  g_test_add_func ("/phantom-scan/noise", test_noise);
  g_test_add_func ("/phantom-scan/faults", test_faults);
  g_test_add_func ("/phantom-scan/tilt", test_tilt);
  g_test_add_func ("/phantom-scan/cone", test_cone);
  g_test_add_func ("/phantom-scan/cone-tilt", test_cone_tilt);
  g_test_add_func ("/phantom-scan/cone-pinned", test_cone_pinned);
  g_test_add_func ("/phantom-scan/truth", test_truth);
  g_test_add_func ("/phantom-scan/angles", test_angles);
  g_test_add_func ("/phantom-scan/fill", test_fill);
  g_test_add_func ("/phantom-scan/refusals", test_refusals);
  g_test_add_func ("/phantom-scan/smallest", test_smallest);
  return g_test_run ();
}
