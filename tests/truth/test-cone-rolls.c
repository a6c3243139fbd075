/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>

#include "compute/cone/cone.h"
#include "compute/methods/methods.h"
#include "tests/common/cases.h"
#include "tests/common/pipeline.h"

/* Detectors that are turned in their plane or lean. Whatever the turn covers, slices far from the
   middle are as good as those of a detector that stands straight. A ray measured twice counts
   once. */
#define N_COLUMNS 97u
#define N_ROWS 76u
#define N_VIEWS 300u
#define N_LONG 98u /* rows of a portrait detector, which has N_ROWS columns */

static TdEngine *engine;

/* RMS inside, and the mean error, of the peak. */
#define MOST_RMS 0.012
#define MOST_MEAN 0.002

typedef struct {
  const char *name;
  double tilt_deg[3], range_deg, centre, wobble_mm;
  double portrait; /* above 0: the detector lies on its side, one row less than this off the beam */
} Case;

static const Case cases[] = {
  { "full", { 0, 0, 0 }, 360, NAN, 0 },
  { "full-rolled-half-degree", { 0, 0, 0.5 }, 360, NAN, 0 },
  { "full-rolled-3", { 0, 0, 3 }, 360, NAN, 0 },
  { "full-rolled", { 0, 0, 6 }, 360, NAN, 0 },
  { "full-rolled-10", { 0, 0, 10 }, 360, NAN, 0 },
  { "full-upside-down", { 0, 0, 180.4 }, 360, NAN, 0 },
  { "full-tilted-5", { 5, 0, 0 }, 360, NAN, 0 },
  { "full-slanted-5", { 0, -5, 0 }, 360, NAN, 0 },
  { "full-portrait", { 0, 0, 90 }, 360, NAN, 0, 1 },
  { "full-portrait-back", { 3, 0, -92 }, 360, NAN, 0, 1 },
  { "full-portrait-wobbling", { 0, 0, 90 }, 360, NAN, 0.3, 1 },
  { "offset-portrait", { 0, 0, 90 }, 360, NAN, 0, 26 },
  { "offset-portrait-back", { 0, 0, -90.5 }, 360, NAN, 0, 26 },
  { "short-portrait", { 0, 0, 89 }, 215, NAN, 0, 1 },
  { "offset", { 0, 0, 0 }, 360, 33, 0 },
  { "offset-rolled", { 0, 0, 6 }, 360, 33, 0 },
  { "offset-rolled-back", { 0, 0, -6 }, 360, 33, 0 },
  { "offset-right-rolled", { 0, 0, 6 }, 360, 64.4, 0 },
  { "offset-rolled-10", { 0, 0, -10 }, 360, 64.4, 0 },
  { "offset-tilted", { 3, -3, 4 }, 360, 64.4, 0 },
  { "offset-tilted-5", { 5, -5, 0 }, 360, 33, 0 },
  { "offset-wobbling", { 0, 0, 3 }, 360, 33, 0.3 },
  { "short", { 0, 0, 0 }, 215, NAN, 0 },
  { "short-rolled-3", { 0, 0, 3 }, 215, NAN, 0 },
  { "short-rolled", { 0, 0, 6 }, 215, NAN, 0 },
  { "short-rolled-10", { 0, 0, -10 }, 215, NAN, 0 },
  { "short-offset-rolled", { 0, 0, -6 }, -220, 52, 0 },
  { "short-tilted", { 3, 3, 4 }, 220, NAN, 0 },
  { "short-tilted-5", { 5, 5, 0 }, 220, NAN, 0 },
};

static void
describe (const Case *which, TdPhantomScan *spec)
{
  td_phantom_scan_init (spec, "ellipsoids", N_COLUMNS, N_ROWS, N_VIEWS);
  spec->range_deg = which->range_deg;
  spec->centre_px = which->centre;
  spec->offset_field = which->centre < 40 || which->centre > 57;
  spec->fill = 0.85; /* a turned detector sees less at its corners */
  spec->wobble_mm = which->wobble_mm;
  spec->logged = TRUE;
  spec->geometry = (TdGeometry) { .beam = TD_BEAM_CONE,
                                  .pixel_width_mm = 0.2,
                                  .pixel_height_mm = 0.2,
                                  .source_axis_mm = 300,
                                  .source_detector_mm = 450 };
  if (which->portrait > 0) {
    spec->n_columns = N_ROWS;
    spec->n_rows = N_LONG;
    spec->fill = 1; /* of fewer columns */
    spec->geometry.detector_offset_v_px = which->portrait - 1;
  }
  for (guint k = 0; k < 3; k++)
    spec->geometry.detector_tilt_rad[k] = which->tilt_deg[k] * G_PI / 180;
}

/* RMS where the truth is flat for some voxels around: nearer edges one sees the ramp's answer to
 * them. */
static void
judge (const TdPhantomScan *spec, guint row, guint n, const float *slice, double *mean, double *rms)
{
  enum { MARGIN = 5 };
  g_autofree float *truth = g_new (float, (gsize) n *n);
  double sum = 0, square = 0, peak = 0;
  guint count = 0;

  td_phantom_scan_truth (spec, row, n, n, 1, truth);
  for (guint i = 0; i < n * n; i++)
    peak = MAX (peak, truth[i]);
  for (guint y = MARGIN; y + MARGIN < n; y++)
    for (guint x = MARGIN; x + MARGIN < n; x++) {
      gboolean flat = truth[y * n + x] > 0;
      for (int j = -MARGIN; flat && j <= MARGIN; j++)
        for (int i = -MARGIN; flat && i <= MARGIN; i++)
          flat = truth[((int) y + j) * (int) n + (int) x + i] == truth[y * n + x];
      if (!flat)
        continue;
      const double difference = (slice[y * n + x] - truth[y * n + x]) / peak;
      sum += difference;
      square += difference * difference;
      count++;
    }
  g_assert_cmpuint (count, >, 50);
  *mean = sum / count;
  *rms = sqrt (square / count);
}

static void
test_slices (gconstpointer data)
{
  static const guint rows[] = { 24, 38, 52 };
  const Case *which = data;
  g_autoptr (GError) error = NULL;
  TdPhantomScan spec;

  describe (which, &spec);
  g_autoptr (TdScan) scan = td_phantom_scan_new (&spec, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    double mean, rms;
    TdRecipe recipe;
    TdTestVolume volume;

    td_recipe_init (&recipe);
    g_strlcpy (recipe.devices, "host", sizeof recipe.devices);
    recipe.row_first = rows[i];
    recipe.row_end = rows[i] + 1;
    td_test_reconstruct (engine, scan, &recipe, &volume, &error);
    g_assert_no_error (error);
    g_assert_true (which->portrait == 0 || volume.nx >= N_LONG);
    /* The truth counts slices from the detector's middle row. */
    judge (&spec, rows[i] + (spec.n_rows - N_ROWS) / 2, volume.nx, volume.slices, &mean, &rms);
    g_test_message ("row %u: mean error %.4f, RMS %.4f of the peak", rows[i], mean, rms);
    g_assert_cmpfloat (fabs (mean), <=, MOST_MEAN);
    g_assert_cmpfloat (rms, <=, MOST_RMS);
    td_test_volume_clear (&volume);
  }
}

/* ── The weights ── */

/* Fan angles against the plain ray: from the source to the pixel's place, seen along the axis. */
static void
test_fan (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    TdPhantomScan spec;
    if (cases[i].portrait > 0)
      continue;
    describe (&cases[i], &spec);
    for (guint view = 0; view < 4; view++) {
      const double angles[4] = { 0.1, 1.8, 3.3, 5.9 };
      double matrix[12], source[3];
      TdConeFan fan;

      g_assert_true (td_cone_view_matrix (&spec.geometry, angles, view, N_COLUMNS, N_ROWS, matrix));
      g_assert_true (td_cone_fan (matrix, &fan));
      td_cone_source (matrix, source);
      for (guint v = 0; v < N_ROWS; v += 25)
        for (guint u = 0; u < N_COLUMNS; u += 32) {
          double pixel[3];
          td_cone_pixel (matrix, u, v, pixel);
          const double dx = pixel[0] - source[0], dy = pixel[1] - source[1];
          const double cross = -source[0] * dy + source[1] * dx,
                       dot = -source[0] * dx - source[1] * dy;
          g_assert_cmpfloat_with_epsilon (td_cone_fan_angle (&fan, u, v), -atan2 (cross, dot),
                                          1e-10);
        }
    }
  }
}

/* The ray (beta, gamma) is measured again at (beta + pi - 2 gamma, -gamma); together they count
 * once. */
static void
test_pairs (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GError) error = NULL;
    g_autofree double *angles = g_new (double, N_VIEWS);
    const double step = fabs (cases[i].range_deg) * G_PI / 180 / N_VIEWS;
    TdPhantomScan spec;
    TdRedundancy redundancy;

    if (cases[i].portrait > 0)
      continue;
    describe (&cases[i], &spec);
    for (guint view = 0; view < N_VIEWS; view++)
      angles[view] = 0.3 + view * step;
    if (isfinite (spec.centre_px))
      spec.geometry.detector_offset_u_px = spec.centre_px - (N_COLUMNS - 1) / 2.0;
    g_assert_true (td_cone_redundancy (&spec.geometry, angles, N_VIEWS, N_COLUMNS, N_ROWS,
                                       &redundancy, &error));
    g_assert_cmpint (redundancy.by_row, ==,
                     (cases[i].tilt_deg[0] != 0 || cases[i].tilt_deg[2] != 0)
                         && redundancy.kind != TD_REDUNDANCY_FULL);
    g_assert_cmpint (redundancy.kind, ==,
                     cases[i].range_deg < 360    ? TD_REDUNDANCY_PARKER
                     : isfinite (spec.centre_px) ? TD_REDUNDANCY_WANG
                                                 : TD_REDUNDANCY_FULL);
    const double last = angles[N_VIEWS - 1];
    for (double gamma = -0.03; gamma < 0.03; gamma += 0.0017)
      for (double beta = 0.3; beta <= last; beta += 0.11) {
        double other = beta + G_PI - 2 * gamma, sum;
        if (redundancy.kind != TD_REDUNDANCY_PARKER)
          other = fmod (other, 2 * G_PI);
        else if (other > last)
          other -= 2 * G_PI;
        sum = td_cone_redundancy_weight (&redundancy, beta, gamma);
        if (redundancy.kind != TD_REDUNDANCY_PARKER || (other >= 0.3 && other <= last))
          sum += td_cone_redundancy_weight (&redundancy, other, -gamma);
        g_assert_cmpfloat_with_epsilon (sum, 1, 1e-9);
      }
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  engine = td_engine_new (td_methods);
  g_test_add_func ("/cone-rolls/fan", test_fan);
  g_test_add_func ("/cone-rolls/pairs", test_pairs);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i += td_test_stride (3)) {
    g_autofree char *path = g_strconcat ("/cone-rolls/slices/", cases[i].name, NULL);
    g_test_add_data_func (path, &cases[i], test_slices);
  }
  const int status = g_test_run ();
  td_engine_unref (engine);
  return status;
}
