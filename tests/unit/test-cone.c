/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The geometry, weights and back-projection of cone beams agree with plain ray traces, with the
   reference in double precision and with analytic spheres. */
#include <math.h>
#include <string.h>

#include "compute/cone/cone-family.h"
#include "compute/cone/cone-filter.h"
#include "compute/cone/cone-host.h"
#include "compute/cone/cone-rectify.h"
#include "compute/engine/fdk/fdk-self-test.h"
#include "compute/parallel/tune-store.h"
#include "dataset/message.h"
#include "dataset/phantom.h"
#include "kernels/params.h"
#include "tests/common/cone-slabs.h"
#include "tests/common/devices.h"

static TdGeometry
plain_geometry (void)
{
  return (TdGeometry) {
    .beam = TD_BEAM_CONE,
    .pixel_width_mm = 0.4,
    .pixel_height_mm = 0.4,
    .source_axis_mm = 400,
    .source_detector_mm = 600,
  };
}

static double *
angles (guint n, double range_rad)
{
  double *out = g_new (double, n);
  for (guint i = 0; i < n; i++)
    out[i] = 0.1 + range_rad * i / n;
  return out;
}

static float *
noise (gsize n)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (20261);
  float *out = g_new (float, n);
  for (gsize i = 0; i < n; i++)
    out[i] = (float) g_rand_double_range (rand, -1, 1);
  return out;
}

static void
check_close (const double *truth, const float *got, gsize n, double bound)
{
  double error = 0, norm = 0;
  for (gsize i = 0; i < n; i++) {
    error += (got[i] - truth[i]) * (got[i] - truth[i]);
    norm += truth[i] * truth[i];
  }
  g_test_message ("relative RMS %.2e, bound %.1e", sqrt (error / norm), bound);
  g_assert_true (norm > 0);
  g_assert_true (sqrt (error / norm) <= bound); /* NaN fails too */
}

/* ── Geometry ── */

static void
test_matrix (void)
{
  TdGeometry geometry = plain_geometry ();
  double m[12], source[3], u, v, w;

  td_cone_matrix (&geometry, G_PI / 6, 101, 51, m);
  g_assert_true (td_cone_matrix_normalise (m));
  td_cone_source (m, source);
  g_assert_cmpfloat_with_epsilon (source[0], 400 * sin (G_PI / 6), 1e-9);
  g_assert_cmpfloat_with_epsilon (source[1], -400 * cos (G_PI / 6), 1e-9);
  g_assert_cmpfloat_with_epsilon (source[2], 0, 1e-9);

  /* A point 10 mm along the detector's columns and 4 mm up, on the axis' plane: magnified by 1.5.
   */
  const double point[3] = { 10 * cos (G_PI / 6), 10 * sin (G_PI / 6), 4 };
  td_cone_project (m, point, &u, &v, &w);
  g_assert_cmpfloat_with_epsilon (u, 50 + 10 * 1.5 / 0.4, 1e-9);
  g_assert_cmpfloat_with_epsilon (v, 25 - 4 * 1.5 / 0.4, 1e-9);
  g_assert_cmpfloat_with_epsilon (w, 1, 1e-12);
}

/* The cosine weight of tilted detectors agrees with a plain ray trace. That turns the detector's
   axes to place the pixel, and takes the angle of the source's ray with the detector's normal. */
static void
test_tilted_cosine (void)
{
  TdGeometry geometry = plain_geometry ();
  double m[12], q[6];

  geometry.detector_tilt_rad[0] = 0.03;
  geometry.detector_tilt_rad[1] = -0.05;
  geometry.detector_tilt_rad[2] = 0.02;
  geometry.detector_offset_u_px = 3.5;
  geometry.axis_offset_mm = 1.25;
  td_cone_matrix (&geometry, 0.7, 64, 48, m);
  g_assert_true (td_cone_matrix_normalise (m));
  td_cone_cosine (m, q);

  double source[3], corner[4][3];
  td_cone_source (m, source);
  const double uv[4][2] = { { 0, 0 }, { 63, 0 }, { 0, 47 }, { 20, 30 } };
  for (guint i = 0; i < 4; i++) {
    td_cone_pixel (m, uv[i][0], uv[i][1], corner[i]);
    for (guint a = 0; a < 3; a++)
      corner[i][a] -= source[a];
  }
  /* The pixels' points at w = 1 lie in a plane parallel to the detector: its normal by a product.
   */
  double a[3], b[3], normal[3];
  for (guint i = 0; i < 3; i++) {
    a[i] = corner[1][i] - corner[0][i];
    b[i] = corner[2][i] - corner[0][i];
  }
  for (guint i = 0; i < 3; i++)
    normal[i] = a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3];
  for (guint i = 0; i < 4; i++) {
    double along = 0, length = 0, size = 0;
    for (guint k = 0; k < 3; k++) {
      along += corner[i][k] * normal[k];
      length += corner[i][k] * corner[i][k];
      size += normal[k] * normal[k];
    }
    const double u = uv[i][0], v = uv[i][1];
    const double form = q[0] * u * u + q[1] * v * v + q[2] + q[3] * u * v + q[4] * u + q[5] * v;
    g_assert_cmpfloat_with_epsilon (1 / sqrt (form), fabs (along) / sqrt (length * size), 1e-9);
  }
  g_assert_cmpfloat_with_epsilon (hypot (source[0], source[1]), hypot (400, 1.25), 1e-9);
}

static void
test_turned (void)
{
  TdGeometry geometry = plain_geometry ();
  g_autoptr (GError) error = NULL;
  TdConeTask task;
  g_autofree double *angle = angles (24, 2 * G_PI);

  geometry.detector_offset_u_px = 1.5;
  g_assert_true (td_cone_task_init (&task, &geometry, angle, 24, 32, 16, &error));
  g_assert_true (td_cone_symmetric (&task, 2));
  g_assert_true (td_cone_symmetric (&task, 4));
  g_assert_true (td_cone_upright (&task));
  task.first_mm[0] += task.voxel_mm;
  g_assert_false (td_cone_symmetric (&task, 2));
  td_cone_task_clear (&task);

  angle[5] += 0.01;
  g_assert_true (td_cone_task_init (&task, &geometry, angle, 24, 32, 16, &error));
  g_assert_false (td_cone_symmetric (&task, 2));
  td_cone_task_clear (&task);
}

/* Files give angles with so many digits: nine are as good as all, six are not. */
static void
test_turned_rounded (void)
{
  const TdGeometry geometry = plain_geometry ();
  static const char *const formats[] = { "%.9g", "%.6g" };
  const guint views[] = { 1024, 3602 };

  for (guint i = 0; i < G_N_ELEMENTS (views) * 2; i++) {
    const guint n = views[i / 2];
    g_autofree double *angle = angles (n, 2 * G_PI);
    g_autoptr (GError) error = NULL;
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    TdConeTask task;

    for (guint view = 0; view < n; view++) {
      g_ascii_formatd (text, sizeof text, formats[i % 2], angle[view] * (180 / G_PI));
      angle[view] = g_ascii_strtod (text, NULL) * (G_PI / 180);
    }
    g_assert_true (td_cone_task_init (&task, &geometry, angle, n, 32, 16, &error));
    g_assert_true (td_cone_symmetric (&task, 2) == (i % 2 == 0));
    td_cone_task_clear (&task);
  }
}

static void
test_refusals (void)
{
  TdGeometry geometry = plain_geometry ();
  g_autoptr (GError) error = NULL;
  TdConeTask task;
  g_autofree double *angle = angles (24, G_PI * 0.9);

  g_assert_false (td_cone_task_init (&task, &geometry, angle, 24, 32, 16, &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_BAD_FILE);
  g_clear_error (&error);
  g_autofree double *whole = angles (24, 2 * G_PI);
  geometry.detector_offset_u_px = 17; /* of 32 columns: the axis is beside them */
  g_assert_false (td_cone_task_init (&task, &geometry, whole, 24, 32, 16, &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_BAD_FILE);
  g_clear_error (&error);
  geometry.source_detector_mm = 300;
  g_assert_false (td_cone_task_init (&task, &geometry, angle, 24, 32, 16, &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_BAD_FILE);
}

/* Angles may be counted in any turn, and views come in any order. */
static void
test_wrapped (void)
{
  static const double ranges_deg[] = { 360, 300, 220 };
  const guint n = 40;
  TdGeometry geometry = plain_geometry ();

  for (guint r = 0; r < G_N_ELEMENTS (ranges_deg); r++) {
    g_autoptr (GError) error = NULL;
    g_autofree double *plain = angles (n, ranges_deg[r] * G_PI / 180), *told = g_new (double, n);
    TdRedundancy truth, redundancy;

    for (guint i = 0; i < n; i++)
      plain[i] += 5;
    g_assert_true (td_cone_redundancy (&geometry, plain, n, 32, 16, &truth, &error));
    g_assert_cmpint (truth.kind, ==, r == 0 ? TD_REDUNDANCY_FULL : TD_REDUNDANCY_PARKER);
    for (guint way = 0; way < 4; way++) {
      for (guint i = 0; i < n; i++) {
        const double angle = plain[way == 3 ? (7 * i + 3) % n : i];
        told[i] = way == 0   ? fmod (angle, 2 * G_PI)
                  : way == 1 ? remainder (angle, 2 * G_PI)
                             : angle + 2 * G_PI * (way == 2 ? i % 3 : 0);
      }
      g_assert_true (td_cone_redundancy (&geometry, told, n, 32, 16, &redundancy, &error));
      g_assert_cmpint (redundancy.kind, ==, truth.kind);
      for (guint i = 0; i < n; i++)
        for (double fan = -0.02; fan <= 0.02; fan += 0.01)
          g_assert_cmpfloat_with_epsilon (
              td_cone_redundancy_weight (&redundancy, told[i], fan),
              td_cone_redundancy_weight (&truth, plain[way == 3 ? (7 * i + 3) % n : i], fan), 1e-9);
    }
  }
}

/* Several turns are weighted as one turn is, and so are several frames of each angle by the stage's
   own readings. That holds for a full turn, for an axis off the middle, and for an arc. */
static void
test_repeated (void)
{
  static const struct {
    double range_deg, offset_u;
    TdRedundancyKind kind;
  } cases[] = { { 360, 0, TD_REDUNDANCY_FULL },
                { 360, 9, TD_REDUNDANCY_WANG },
                { 240, 0, TD_REDUNDANCY_PARKER } };
  enum { STOPS = 40, FRAMES = 3 };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    for (guint way = 0; way < 3; way++) {
      TdGeometry geometry = plain_geometry ();
      g_autoptr (GError) error = NULL;
      g_autofree double *once = angles (STOPS, cases[i].range_deg * G_PI / 180);
      double told[STOPS * FRAMES];
      TdRedundancy truth, redundancy;

      geometry.detector_offset_u_px = cases[i].offset_u;
      for (guint view = 0; view < STOPS * FRAMES; view++)
        told[view] = way == 0 ? once[view % STOPS] + view / STOPS * 2 * G_PI
                              : once[view / FRAMES] + (way == 2 ? 1e-4 * sin (31.0 * view) : 0);
      g_assert_true (td_cone_redundancy (&geometry, once, STOPS, 32, 16, &truth, &error));
      g_assert_cmpint (truth.kind, ==, cases[i].kind);
      g_assert_true (
          td_cone_redundancy (&geometry, told, STOPS * FRAMES, 32, 16, &redundancy, &error));
      g_assert_cmpint (redundancy.kind, ==, truth.kind);
      g_assert_cmpfloat_with_epsilon (redundancy.overlap_rad, truth.overlap_rad, 1e-12);
      g_assert_cmpfloat_with_epsilon (redundancy.overscan_rad, truth.overscan_rad, 2e-4);
    }
}

/* A wedge that is missing in the middle of the list is one all the same; a view that was left out
 * is none. */
static void
test_wedge (void)
{
  TdGeometry geometry = plain_geometry ();
  g_autoptr (GError) error = NULL;
  g_autofree double *all = angles (120, 2 * G_PI), *some = g_new (double, 120);
  TdRedundancy redundancy;
  guint n = 0;

  for (guint i = 0; i < 120; i++)
    if (i < 30 || i >= 60)
      some[n++] = all[i];
  g_assert_true (td_cone_redundancy (&geometry, some, n, 32, 16, &redundancy, &error));
  g_assert_cmpint (redundancy.kind, ==, TD_REDUNDANCY_PARKER);
  g_assert_cmpfloat_with_epsilon (redundancy.first_rad, all[60], 1e-9);
  memmove (all + 50, all + 51, 69 * sizeof *all);
  g_assert_true (td_cone_redundancy (&geometry, all, 119, 32, 16, &redundancy, &error));
  g_assert_cmpint (redundancy.kind, ==, TD_REDUNDANCY_FULL);
}

/* Of two gaps that are as wide, the same is taken however rounded the angles are and wherever the
   turn begins. */
static void
test_equal_gaps (void)
{
  static const guint lost[][2] = { { 7, 30 }, { 8, 30 }, { 10, 50 }, { 29, 31 } };
  TdGeometry geometry = plain_geometry ();

  for (guint i = 0; i < G_N_ELEMENTS (lost); i++)
    for (guint way = 0; way < 20; way++) {
      const double begin = way < 10 ? 0 : 0.7 * way;
      double plain[58], told[58];
      TdRedundancy truth, redundancy;
      guint n = 0;

      for (guint view = 0; view < 60; view++) {
        if (view == lost[i][0] || view == lost[i][1])
          continue;
        plain[n] = view * 6 * G_PI / 180;
        told[n] = plain[n] + begin + 1e-14 * sin (31.0 * view + way);
        n++;
      }
      g_assert_true (td_cone_redundancy (&geometry, plain, n, 32, 16, &truth, NULL));
      g_assert_true (td_cone_redundancy (&geometry, told, n, 32, 16, &redundancy, NULL));
      g_assert_cmpint (truth.kind, ==, TD_REDUNDANCY_PARKER);
      g_assert_cmpint (redundancy.kind, ==, truth.kind);
      for (guint view = 0; view < n; view++)
        g_assert_cmpfloat_with_epsilon (td_cone_redundancy_weight (&redundancy, told[view], 0.01),
                                        td_cone_redundancy_weight (&truth, plain[view], 0.01),
                                        1e-9);
    }
}

/* One view of 72 leaves a gap of 10 degrees, which is made up for however rounded the angles are.
 */
static void
test_rounded_gap (void)
{
  TdGeometry geometry = plain_geometry ();

  for (guint lost = 1; lost < 71; lost++)
    for (guint way = 0; way < 10; way++) {
      double told[71];
      TdRedundancy redundancy;
      guint n = 0;

      for (guint view = 0; view < 72; view++)
        if (view != lost)
          told[n++] = view * 5 * G_PI / 180 + 1e-14 * sin (31.0 * view + way);
      g_assert_true (td_cone_redundancy (&geometry, told, n, 32, 16, &redundancy, NULL));
      g_assert_cmpint (redundancy.kind, ==, TD_REDUNDANCY_FULL);
    }
}

/* ── Just inside a limit and just outside ── */

/* A scan whose axis lies up to a twentieth of the columns off the middle is a full scan. Beyond
   that Wang's weights begin, and the longer side has them. */
static void
test_offset_limit (void)
{
  static const struct {
    double offset_u; /* columns of 100 */
    TdRedundancyKind kind;
    double side;
  } cases[] = { { 4.9, TD_REDUNDANCY_FULL, 0 },   { 5.1, TD_REDUNDANCY_WANG, -1 },
                { -4.9, TD_REDUNDANCY_FULL, 0 },  { -5.1, TD_REDUNDANCY_WANG, 1 },
                { 10.1, TD_REDUNDANCY_WANG, -1 }, { -10.1, TD_REDUNDANCY_WANG, 1 } };
  g_autofree double *angle = angles (90, 2 * G_PI);

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    TdGeometry geometry = plain_geometry ();
    g_autoptr (GError) error = NULL;
    TdRedundancy redundancy;

    geometry.detector_offset_u_px = cases[i].offset_u;
    g_assert_true (td_cone_redundancy (&geometry, angle, 90, 100, 16, &redundancy, &error));
    g_assert_cmpint (redundancy.kind, ==, cases[i].kind);
    if (cases[i].kind != TD_REDUNDANCY_WANG)
      continue;
    /* Columns from the edge to the axis, on the shorter side. */
    const double shorter = 99 / 2.0 - fabs (cases[i].offset_u);
    g_assert_cmpfloat (redundancy.side, ==, cases[i].side);
    g_assert_cmpfloat_with_epsilon (redundancy.overlap_rad, atan (shorter * 0.4 / 600), 1e-9);
    /* What only the longer side sees counts once, the rest is shared. */
    const double beyond = 1.01 * redundancy.overlap_rad * cases[i].side;
    g_assert_cmpfloat (td_cone_redundancy_weight (&redundancy, 1, beyond), ==, 1);
    g_assert_cmpfloat (td_cone_redundancy_weight (&redundancy, 1, -beyond), ==, 0);
    for (double part = 0; part < 1; part += 0.1)
      g_assert_cmpfloat_with_epsilon (
          td_cone_redundancy_weight (&redundancy, 1, part * redundancy.overlap_rad)
              + td_cone_redundancy_weight (&redundancy, 2, -part * redundancy.overlap_rad),
          1, 1e-12);
  }
}

/* Half a turn and the fan: 194 degrees here. */
/* Whichever side the axis is near, a detector is widened on the other: then the axis is in its
   middle. */
static void
test_widened (void)
{
  static const double offsets[] = { -9, -2.3, 2.3, 9 };
  g_autofree double *angle = angles (60, 2 * G_PI);

  for (guint i = 0; i < G_N_ELEMENTS (offsets); i++) {
    TdGeometry geometry = plain_geometry ();
    g_autoptr (GError) error = NULL;
    TdConeTask task;

    geometry.detector_offset_u_px = offsets[i];
    g_assert_true (td_cone_task_init (&task, &geometry, angle, 60, 45, 32, &error));
    td_cone_task_widen (&task);
    g_assert_cmpuint (task.n_measured, ==, 45);
    g_assert_cmpuint (task.n_columns, >, 45);
    g_assert_true (task.shift == 0 || task.shift == task.n_columns - 45);
    g_assert_cmpfloat_with_epsilon (task.matrices[3] / task.matrices[11],
                                    (task.n_columns - 1) / 2.0, 0.5 + 1e-6);
    td_cone_task_clear (&task);
  }
}

static void
test_range_limit (void)
{
  static const struct {
    double range_deg;
    gboolean enough;
  } cases[] = { { 190, FALSE }, { 193.5, FALSE }, { 194.5, TRUE }, { 200, TRUE } };
  const guint n = 2000; /* a step is worth 0.1 degrees */

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    TdGeometry geometry = plain_geometry ();
    g_autoptr (GError) error = NULL;
    g_autofree double *angle = g_new (double, n);
    TdRedundancy redundancy;

    geometry.pixel_width_mm = 600 * tan (7 * G_PI / 180) / (99 / 2.0);
    for (guint view = 0; view < n; view++)
      angle[view] = 0.3 + cases[i].range_deg * G_PI / 180 * view / (n - 1);
    const gboolean ok = td_cone_redundancy (&geometry, angle, n, 100, 16, &redundancy, &error);
    g_assert_cmpint (ok, ==, cases[i].enough);
    if (ok) {
      g_assert_cmpint (redundancy.kind, ==, TD_REDUNDANCY_PARKER);
      g_assert_cmpfloat_with_epsilon (redundancy.overscan_rad,
                                      (cases[i].range_deg - 180) * G_PI / 360, 1e-6);
      continue;
    }
    g_assert_error (error, TD_ERROR, TD_ERROR_BAD_FILE);
    g_assert_nonnull (strstr (error->message, "194.0"));
  }
}

/* Of a short scan's rays each counts once: alone, or shared with the same ray the other way round.
   The first and the last view share all that they see again. */
static void
test_short_scan_weights (void)
{
  const TdRedundancy redundancy
      = { .kind = TD_REDUNDANCY_PARKER, .overscan_rad = 0.2, .first_rad = 0.7 };
  const double range = G_PI + 2 * redundancy.overscan_rad, last = redundancy.first_rad + range;

  for (double fan = -0.15; fan < 0.16; fan += 0.03) {
    for (double beta = 0; beta <= range; beta += 0.01) {
      double sum = td_cone_redundancy_weight (&redundancy, redundancy.first_rad + beta, fan);

      for (gint way = -1; way <= 1; way += 2) {
        const double other = beta + way * G_PI - 2 * fan;
        if (other >= 0 && other <= range)
          sum += td_cone_redundancy_weight (&redundancy, redundancy.first_rad + other, -fan);
      }
      g_assert_cmpfloat_with_epsilon (sum, 1, 1e-9);
    }
    g_assert_cmpfloat (td_cone_redundancy_weight (&redundancy, redundancy.first_rad, fan), <,
                       1e-12);
    g_assert_cmpfloat (td_cone_redundancy_weight (&redundancy, last, fan), <, 1e-12);
    /* Counted a turn further, or rounded to before the first view. */
    g_assert_cmpfloat (
        td_cone_redundancy_weight (&redundancy, redundancy.first_rad + 2 * G_PI - 1e-12, fan), <,
        1e-12);
  }
}

/* Where every view has its own matrix, a roll of 0.08 degrees costs less than resampling. On a
   circular orbit resampling is exact in the middle, and worth it. */
static void
test_roll_limit (void)
{
  static const struct {
    double roll_deg;
    gboolean matrices, helps;
  } cases[]
      = { { 0.08, TRUE, FALSE }, { 0.12, TRUE, TRUE }, { 0.08, FALSE, TRUE }, { 0, FALSE, FALSE } };
  const guint n_views = 24, n_columns = 256, n_rows = 200;
  g_autofree double *angle = angles (n_views, 2 * G_PI);

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    TdGeometry geometry = plain_geometry ();
    g_autoptr (GError) error = NULL;
    g_autofree double *matrices = g_new (double, 12 * n_views);
    TdConeTask task;

    geometry.detector_tilt_rad[2] = cases[i].roll_deg * G_PI / 180;
    for (guint view = 0; view < n_views; view++)
      td_cone_matrix (&geometry, angle[view], n_columns, n_rows, matrices + 12 * view);
    if (cases[i].matrices) {
      geometry.view_matrices = matrices;
      geometry.n_view_matrices = n_views;
    }
    g_assert_true (td_cone_task_init (&task, &geometry, angle, n_views, n_columns, n_rows, &error));
    const double slope = td_cone_row_slope (&task);
    g_test_message ("roll %.2f: slope %.4f degrees", cases[i].roll_deg, slope * 180 / G_PI);
    g_assert_cmpfloat_with_epsilon (slope, cases[i].roll_deg * G_PI / 180, 1e-5);
    g_assert_cmpint (td_cone_rectify_helps (&task, &geometry, slope), ==, cases[i].helps);
    td_cone_task_clear (&task);
  }
}

/* On a rolled detector weights depend on the row, and on a gantry on the view. The kernel's weights
   are those of the host, whichever side is the longer one and whatever the arc. */
static void
check_weights (const char *id, double offset_u, double range_deg, double swing_rad, gboolean gantry)
{
  const guint n_views = 20, n_columns = 48, n_rows = 30;
  const TdFilter none = { .kind = TD_FILTER_NONE, .cutoff = 1 };
  const gsize n = (gsize) n_rows * n_views * n_columns;
  TdGeometry geometry = plain_geometry ();
  g_autoptr (GError) error = NULL;
  g_autofree double *angle = angles (n_views, range_deg * G_PI / 180), *truth = g_new (double, n);
  g_autofree float *data = noise (n);
  TdConeTask task;

  geometry.pixel_width_mm = geometry.pixel_height_mm = 2;
  geometry.detector_offset_u_px = offset_u;
  geometry.detector_tilt_rad[0] = swing_rad;
  geometry.detector_tilt_rad[1] = -swing_rad / 2;
  geometry.detector_tilt_rad[2] = gantry ? 0 : 0.3;
  g_autofree double *matrices = g_new (double, 12 * n_views);
  for (guint view = 0; view < n_views; view++) {
    TdGeometry one = geometry;
    one.detector_offset_u_px += sin (view);
    td_cone_matrix (&one, angle[view], n_columns, n_rows, matrices + 12 * view);
  }
  if (gantry) {
    geometry.view_matrices = matrices;
    geometry.n_view_matrices = n_views;
  }
  g_assert_true (td_cone_task_init (&task, &geometry, angle, n_views, n_columns, n_rows, &error));
  g_assert_true (task.redundancy.by_row == !gantry);
  for (guint row = 0; row < n_rows; row++)
    for (guint view = 0; view < n_views; view++) {
      const double *m = task.matrices + 12 * view;
      double q[6];
      TdConeFan fan;

      td_cone_cosine (m, q);
      g_assert_true (td_cone_fan (m, &fan));
      for (guint column = 0; column < n_columns; column++) {
        const gsize at = ((gsize) row * n_views + view) * n_columns + column;
        const double u = column, v = row;
        const double form = q[0] * u * u + q[1] * v * v + q[2] + q[3] * u * v + q[4] * u + q[5] * v;
        truth[at] = data[at] / sqrt (form)
                    * td_cone_redundancy_weight (&task.redundancy, angle[view],
                                                 td_cone_fan_angle (&fan, u, v));
      }
    }
  g_autoptr (TdDevice) device = td_device_open (id, &error);
  g_autoptr (TdQueue) queue = td_queue_new (device, &error);
  g_autoptr (TdBuffer) rows = td_buffer_new (device, n * sizeof (float), &error);
  g_autoptr (TdConeFilter) filter
      = td_cone_filter_new (device, &task, &geometry, angle, &none, n_rows, &error);
  g_assert_no_error (error);
  td_upload (queue, rows, 0, data, n * sizeof (float), &error);
  td_cone_filter_run (filter, queue, rows, (TdRowRange) { 0, n_rows }, &error);
  td_download (queue, data, rows, 0, n * sizeof (float), &error);
  td_queue_finish (queue, &error);
  g_assert_no_error (error);
  check_close (truth, data, n, 1e-5);
  td_cone_task_clear (&task);
}

static void
test_weights_by_row (void)
{
  g_autoptr (GPtrArray) list = td_device_list ();

  for (guint d = 0; d < list->len; d++) {
    const TdDeviceEntry *entry = list->pdata[d];
    if (!entry->available)
      continue;
    check_weights (entry->id, 8, 360, 0, FALSE);
    check_weights (entry->id, -8, 360, 0, FALSE);
    check_weights (entry->id, 0, 230, 0, FALSE);
    check_weights (entry->id, 3, 250, 0, FALSE);
    check_weights (entry->id, 5, 360, 0.2, FALSE);
    check_weights (entry->id, 0, 240, -0.2, FALSE);
    check_weights (entry->id, 9, 360, 0, TRUE);
    check_weights (entry->id, 1, 230, 0, TRUE);
  }
}

/* ── Half storage ── */

static double
half_value (guint16 half)
{
  const guint exponent = half >> 10 & 31;
  const double fraction = (half & 1023) / 1024.0;
  const double size = exponent ? ldexp (1 + fraction, (gint) exponent - 15) : ldexp (fraction, -14);

  return half & 0x8000 ? -size : size;
}

/* Line integrals that half storage would make 0 keep its 11 bits when they are scaled. */
static void
test_half_pack (void)
{
  enum { WIDTH = 33, HEIGHT = 9, LAYERS = 3 };
  const char *const defines[] = { "PACK=1", "HALF=1", "PADDED=0", "COLUMNS=0", NULL };
  const gsize n = WIDTH * HEIGHT * LAYERS;
  const TdConePack params = { .n_columns = WIDTH,
                              .n_rows = HEIGHT,
                              .n_layers = LAYERS,
                              .n_views_between = LAYERS,
                              .texel_rows = HEIGHT,
                              .scale = 0x1p25f };
  const guint local[3] = { 64, 4, 1 }, groups[3] = { 1, (HEIGHT + 3) / 4, LAYERS };
  g_autoptr (GPtrArray) list = td_device_list ();
  g_autofree float *values = noise (n);

  for (gsize i = 0; i < n; i++)
    values[i] *= 2e-6f;
  for (guint d = 0; d < list->len; d++) {
    const TdDeviceEntry *entry = list->pdata[d];
    g_autoptr (GError) error = NULL;
    g_autofree guint16 *halves = g_new0 (guint16, n);

    if (!entry->available || g_str_equal (entry->id, "host"))
      continue;
    g_autoptr (TdDevice) device = td_device_open (entry->id, &error);
    g_autoptr (TdQueue) queue = td_queue_new (device, &error);
    g_autoptr (TdBuffer) from = td_buffer_new (device, n * sizeof *values, &error);
    g_autoptr (TdBuffer) to = td_buffer_new (device, n * sizeof *halves, &error);
    TdKernel *kernel = td_device_kernel (device, "cone-pack", defines, "cone_pack", &error);
    g_assert_no_error (error);
    const TdArg args[] = { TD_ARG (from), TD_ARG (to), TD_ARG (params) };
    td_upload (queue, from, 0, values, n * sizeof *values, &error);
    td_launch (queue, kernel, groups, local, args, G_N_ELEMENTS (args), &error);
    td_download (queue, halves, to, 0, n * sizeof *halves, &error);
    td_queue_finish (queue, &error);
    g_assert_no_error (error);
    for (gsize i = 0; i < n; i++)
      g_assert_cmpfloat_with_epsilon (half_value (halves[i]), values[i] * 0x1p25,
                                      fabs (values[i]) * 0x1p25 * 0x1p-11 + 0x1p-24);
  }
}

/* ── Self-test ── */

static const TdDeviceOps *exact_ops;

/* A quarter more of everything. */
static gboolean
download_more (TdQueue *queue, void *host, TdBuffer *from, guint64 offset, guint64 bytes,
               GError **error)
{
  float *values = host;

  if (!exact_ops->download (queue, host, from, offset, bytes, error)
      || !td_queue_finish (queue, error))
    return FALSE;
  for (gsize i = 0; i < bytes / sizeof *values; i++)
    values[i] *= 1.25f;
  return TRUE;
}

static void
count_test (const TdSelfTestRow *about, guint number, guint total, gpointer told)
{
  g_assert_cmpuint (number, ==, ++*(guint *) told);
  g_assert_cmpuint (number, <=, total);
  g_assert_cmpuint (about->n_slices, ==, 0);
}

/* How wrong a device is that gives a quarter more is told: it is the relative L2. */
static void
test_self_test_error (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TdDevice) device = td_device_open ("host", &error);

  g_assert_no_error (error);
  exact_ops = device->ops;
  TdDeviceOps ops = *exact_ops;
  ops.download = download_more;
  device->ops = &ops;
  guint told = 0;
  g_autoptr (GPtrArray) rows = td_fdk_self_test_device (device, count_test, &told, NULL, &error);
  device->ops = exact_ops;
  g_assert_no_error (error);
  g_assert_cmpuint (rows->len, ==, 1);
  g_assert_cmpuint (told, ==, 1);
  const TdSelfTestRow *row = rows->pdata[0];
  g_assert_false (row->passed);
  g_assert_cmpfloat_with_epsilon (row->error, 0.25, 1e-5);
  g_autofree char *reason = td_message_words (row->reason, NULL);
  g_assert_true (g_str_has_prefix (reason, "its result is off by 0.25, more than"));
  g_autoptr (GPtrArray) again
      = td_fdk_self_test_device (device, NULL, NULL, NULL, &error); /* in use again */
  g_assert_cmpuint (again->len, ==, 1);
}

/* What a self-test finds good is taken; what one found wrong is not, until another finds it good.
 */
static void
test_self_test (void)
{
  TdGeometry geometry = plain_geometry ();
  g_autoptr (GError) error = NULL;
  g_autofree double *angle = angles (24, 2 * G_PI);
  g_autoptr (TdDevice) device = td_device_open ("host", &error);
  TdConeTask task;

  g_assert_no_error (error);
  g_assert_true (td_cone_task_init (&task, &geometry, angle, 24, 32, 16, &error));
  const TdConeFamily *family
      = td_fdk_family_choose ("auto", &task, TD_PRECISION_SINGLE, device, &error);
  g_assert_true (family == &td_cone_family_host);
  g_assert_true (
      td_tune_store_disable (td_device_info (device), "cone host", "wrong here", &error));
  for (guint named = 0; named < 2; named++) {
    g_assert_null (
        td_fdk_family_choose (named ? "host" : "auto", &task, TD_PRECISION_SINGLE, device, &error));
    const int code = named ? TD_ERROR_INVALID : TD_ERROR_UNSUPPORTED;
    g_assert_error (error, TD_ERROR, code);
    g_clear_error (&error);
  }
  guint told = 0;
  g_autoptr (GPtrArray) rows = td_fdk_self_test_device (device, count_test, &told, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (rows->len, ==, 1);
  g_assert_cmpuint (told, ==, 1);
  const TdSelfTestRow *row = rows->pdata[0];
  g_test_message ("error %.1e of %.1e", row->error, row->bound);
  g_assert_true (row->passed);
  g_assert_true (td_fdk_family_choose ("auto", &task, TD_PRECISION_SINGLE, device, &error)
                 == family);
  td_cone_task_clear (&task);
}

/* The bench's baseline is as right as what it is compared with. */
static void
test_naive (void)
{
  enum { N_VIEWS = 24, N_COLUMNS = 32, N_ROWS = 16, SIDE = 12, SLICES = 6 };
  const TdConeFuncs *const funcs[] = { td_cone_funcs (), &td_cone_funcs_plain };
  TdGeometry geometry = plain_geometry ();
  g_autoptr (GError) error = NULL;
  g_autofree double *angle = angles (N_VIEWS, 2 * G_PI);
  g_autofree float *projections = g_new (float, N_VIEWS *N_COLUMNS *N_ROWS);
  g_autofree double *truth = g_new (double, SLICES *SIDE *SIDE);
  float matrices[13 * N_VIEWS], row[SIDE];
  TdConeTask task;

  td_cone_task_init (&task, &geometry, angle, N_VIEWS, N_COLUMNS, N_ROWS, &error);
  g_assert_no_error (error);
  td_cone_task_set_volume (&task, SIDE, SIDE, SLICES, task.pitch_mm);
  td_test_random (projections, N_VIEWS * N_COLUMNS * N_ROWS, 3);
  td_cone_reference (&task, projections, truth);
  for (guint v = 0; v < N_VIEWS; v++) {
    for (guint i = 0; i < 12; i++)
      matrices[13 * v + i] = (float) task.matrices[12 * v + i];
    matrices[13 * v + 12] = (float) task.view_weights[v];
  }
  for (guint f = 0; f < G_N_ELEMENTS (funcs); f++) {
    double off = 0, norm = 0;
    for (guint k = 0; k < SLICES; k++)
      for (guint j = 0; j < SIDE; j++) {
        funcs[f]->naive (&task, matrices, projections, k, j, row);
        for (guint i = 0; i < SIDE; i++) {
          const double right = truth[(k * SIDE + j) * SIDE + i];
          off += (row[i] - right) * (row[i] - right);
          norm += right * right;
        }
      }
    g_assert_cmpfloat (sqrt (off / norm), <, 1e-5);
  }
  td_cone_task_clear (&task);
}

/* It leaves out what is not between four pixels, and nothing else. */
static void
test_naive_edges (void)
{
  enum { N_VIEWS = 7, N_COLUMNS = 13, N_ROWS = 9, SIDE = 30, SLICES = 14 };
  const TdConeFuncs *const funcs[] = { td_cone_funcs (), &td_cone_funcs_plain };
  TdGeometry geometry = plain_geometry ();
  g_autoptr (GError) error = NULL;
  g_autofree double *angle = angles (N_VIEWS, 2 * G_PI);
  float projections[N_VIEWS * N_ROWS * N_COLUMNS], matrices[13 * N_VIEWS], row[SIDE];
  TdConeTask task;

  td_cone_task_init (&task, &geometry, angle, N_VIEWS, N_COLUMNS, N_ROWS, &error);
  g_assert_no_error (error);
  td_cone_task_set_volume (&task, SIDE, SIDE, SLICES, task.pitch_mm);
  td_test_random (projections, N_VIEWS * N_ROWS * N_COLUMNS, 3);
  for (guint v = 0; v < N_VIEWS; v++) {
    for (guint i = 0; i < 12; i++)
      matrices[13 * v + i] = (float) task.matrices[12 * v + i];
    matrices[13 * v + 12] = 1;
  }
  for (guint at = 0; at < SLICES * SIDE * G_N_ELEMENTS (funcs); at++) {
    const guint k = at % SLICES, j = at / SLICES % SIDE;

    funcs[at / SLICES / SIDE]->naive (&task, matrices, projections, k, j, row);
    for (guint i = 0; i < SIDE; i++) {
      const double point[3]
          = { task.first_mm[0] + i * task.voxel_mm, task.first_mm[1] - j * task.voxel_mm,
              task.first_mm[2] - k * task.voxel_mm };
      double sum = 0, u, v, w;
      for (guint view = 0; view < N_VIEWS; view++) {
        td_cone_project (task.matrices + 12 * view, point, &u, &v, &w);
        if (u < 0 || v < 0 || u >= N_COLUMNS - 1 || v >= N_ROWS - 1)
          continue;
        const guint column = (guint) u, line = (guint) v;
        for (guint corner = 0; corner < 4; corner++)
          sum += (corner & 1 ? u - column : 1 - (u - column))
                 * (corner & 2 ? v - line : 1 - (v - line)) / (w * w)
                 * projections[(view * N_ROWS + line + corner / 2) * N_COLUMNS + column
                               + corner % 2];
      }
      g_assert_cmpfloat_with_epsilon (row[i], sum, 1e-4);
    }
  }
  td_cone_task_clear (&task);
}

/* Every view counts as one for lines, and views that are filtered already by the square of their
   distance at the origin. Views of FDK count by their part of the turn. */
static void
test_view_weights (void)
{
  enum { N_VIEWS = 12, N_COLUMNS = 32, N_ROWS = 16 };
  TdGeometry geometry = plain_geometry ();
  g_autofree double *angle = angles (N_VIEWS, 2 * G_PI);
  g_autofree double *matrices = g_new (double, 12 * N_VIEWS);
  g_autoptr (GError) error = NULL;
  TdConeTask rays, whole, filtered;

  td_cone_task_init_rays (&rays, &geometry, angle, N_VIEWS, N_COLUMNS, N_ROWS, &error);
  g_assert_no_error (error);
  td_cone_task_init (&whole, &geometry, angle, N_VIEWS, N_COLUMNS, N_ROWS, &error);
  g_assert_no_error (error);
  for (guint v = 0; v < N_VIEWS; v++) {
    memcpy (matrices + 12 * v, rays.matrices + 12 * v, 12 * sizeof *matrices);
    for (guint i = 0; i < 12; i++)
      matrices[12 * v + i] *= 1 + 0.5 * v; /* whatever they were multiplied by */
  }
  geometry.view_matrices = matrices;
  geometry.n_view_matrices = N_VIEWS;
  td_cone_task_init_filtered (&filtered, &geometry, N_VIEWS, N_COLUMNS, N_ROWS, &error);
  g_assert_no_error (error);
  const double gain = td_cone_filter_gain (whole.matrices);
  for (guint v = 0; v < N_VIEWS; v++) {
    g_assert_cmpfloat (rays.view_weights[v], ==, 1);
    g_assert_cmpfloat_with_epsilon (whole.view_weights[v], 2 * G_PI / N_VIEWS / gain, 1e-9);
    g_assert_cmpfloat_with_epsilon (filtered.view_weights[v], pow (1 + 0.5 * v, -2), 1e-9);
    g_assert_cmpfloat_with_epsilon (filtered.matrices[12 * v + 11], 1, 1e-12);
  }
  td_cone_task_clear (&rays);
  td_cone_task_clear (&whole);
  td_cone_task_clear (&filtered);
}

/* A filtered view is multiplied by what a column spans on the axis. So it is by how square the ray
   to the axis is to the detector, less how square it is to the axis. */
static void
test_gain (void)
{
  static const struct {
    double u, v, tilt;
  } detectors[] = { { 0, 0, 0 }, { 20, 0, 0 }, { 0, 15, 0 }, { -12, 9, 0 }, { 3, -7, 0.1 } };

  for (guint i = 0; i < G_N_ELEMENTS (detectors); i++) {
    TdGeometry geometry = plain_geometry ();
    const double angle = 0.4;
    double m[12], source[3], normal = 0, along = 0, square = 0;

    geometry.detector_offset_u_px = detectors[i].u;
    geometry.detector_offset_v_px = detectors[i].v;
    geometry.detector_tilt_rad[0] = detectors[i].tilt;
    geometry.detector_tilt_rad[1] = -2 * detectors[i].tilt;
    g_assert_true (td_cone_view_matrix (&geometry, &angle, 0, 48, 40, m));
    td_cone_source (m, source);
    const double far = sqrt (pow (source[0], 2) + pow (source[1], 2) + pow (source[2], 2));
    for (guint k = 0; k < 3; k++) {
      normal += pow (m[8 + k], 2);
      along -= m[8 + k] * source[k] / far;
      square += pow (m[k] - m[3] * m[8 + k], 2);
    }
    const double own = along / sqrt (normal), flat = hypot (source[0], source[1]) / far;
    g_test_message ("%u: %.9g, %.9g", i, own, flat);
    g_assert_cmpfloat_with_epsilon (td_cone_filter_gain (m), own / flat / sqrt (square), 1e-9);
  }
}

/* ── Back-projection against the reference ── */

typedef struct {
  const char *name;
  guint n_columns, n_rows, n_views, nx, ny, nz;
  double offset_u, offset_v, axis_mm, tilt;
  gboolean upside_down; /* rows count upwards */
  double range_deg;     /* 0: a full turn */
} Case;

static const Case cases[] = {
  { "cube", 48, 40, 36, 48, 48, 40, 0, 0, 0, 0 },
  { "offsets", 50, 37, 24, 47, 47, 33, 2.3, -3.7, 0.21, 0 },
  { "flat", 33, 21, 17, 33, 25, 5, 0.5, 0, 0, 0 },
  { "tall", 17, 150, 8, 16, 16, 200, 0, 1.5, 0, 0 },
  { "wide", 61, 16, 12, 96, 96, 16, 0, 0, -0.3, 0 },
  { "one row", 64, 1, 31, 64, 64, 1, 0, 0, 0, 0 },
  { "one column", 1, 9, 7, 8, 8, 8, 0, 0, 0, 0 },
  { "half turns", 41, 70, 22, 44, 44, 66, 0.5, 0, 0, 0 },
  { "no turns", 45, 70, 15, 43, 45, 61, 0.4, -2.2, 0.1, 0 },
  { "upside down", 40, 64, 12, 40, 40, 60, 0, 1.3, 0, 0, TRUE },
  { "tilted", 40, 32, 20, 40, 40, 32, 1, 1, 0, 0.04 },
  { "leaning", 45, 83, 14, 43, 39, 81, -2.5, 4, 0.6, -0.3 },
  { "high", 50, 97, 24, 47, 33, 91, 2.3, -3.7, 0.21, 0 },
  { "short scan", 51, 75, 22, 49, 53, 73, 0.7, 1.2, 0, 0, FALSE, 225 },
  { "offset detector", 53, 71, 26, 90, 90, 69, 14, 0, 0, 0 },
  { "all at once", 57, 79, 18, 91, 87, 77, -13, 6, 1.1, 0.07 },
};

static void
make_task (const Case *c, TdConeTask *task)
{
  TdGeometry geometry = plain_geometry ();
  g_autoptr (GError) error = NULL;
  g_autofree double *angle
      = angles (c->n_views, c->range_deg > 0 ? c->range_deg * G_PI / 180 : 2 * G_PI);

  geometry.detector_offset_u_px = c->offset_u;
  geometry.detector_offset_v_px = c->offset_v;
  geometry.axis_offset_mm = c->axis_mm;
  geometry.detector_tilt_rad[0] = c->tilt;
  geometry.detector_tilt_rad[1] = -c->tilt / 3;
  geometry.detector_tilt_rad[2] = c->tilt / 2;
  td_cone_task_init (task, &geometry, angle, c->n_views, c->n_columns, c->n_rows, &error);
  g_assert_no_error (error);
  td_cone_task_set_volume (task, c->nx, c->ny, c->nz, task->pitch_mm * 1.03);
  for (guint view = 0; c->upside_down && view < c->n_views; view++) {
    double *m = task->matrices + 12 * view;
    for (guint i = 0; i < 4; i++)
      m[4 + i] = (c->n_rows - 1) * m[8 + i] - m[4 + i];
  }
}

/* Every family in slabs of slices and batches of views, only the rows a slab sees given. */
static void
check_family (const TdConeFamily *family, TdDevice *device, const TdConeTask *task,
              TdPrecision precision, const float *projections, const double *truth, double bound)
{
  const gsize samples = (gsize) task->nz * task->ny * task->nx;
  const guint turns = family->symmetric_views (task, precision);
  g_autofree float *got = g_new (float, samples);

  const TdTestConeSlabs how = { family, device, precision, MAX (1, (task->nz + 1) / 2),
                                MAX (1, task->n_views / turns / 2) };
  td_test_cone_slabs (&how, task, projections, got);
  check_close (truth, got, samples, bound);
}

/* All families that can, on all devices here. */
static void
check_task (const TdConeTask *task)
{
  g_autoptr (GError) error = NULL;
  g_autofree float *projections = noise ((gsize) task->n_views * task->n_rows * task->n_columns);
  g_autofree double *truth = g_new (double, (gsize) task->nz * task->ny * task->nx);
  td_cone_reference (task, projections, truth);

  g_autoptr (GPtrArray) list = td_device_list ();
  for (guint d = 0; d < list->len; d++) {
    const TdDeviceEntry *entry = list->pdata[d];
    if (!entry->available)
      continue;
    g_autoptr (TdDevice) device = td_device_open (entry->id, &error);
    g_assert_no_error (error);
    for (const TdConeFamily *const *f = td_cone_families (); *f; f++)
      for (TdPrecision precision = TD_PRECISION_SINGLE; precision <= TD_PRECISION_HALF;
           precision++) {
        const char *why = (*f)->unsupported (task, precision, td_device_info (device));
        if (why) {
          g_test_message ("%s, %s: %s", entry->id, (*f)->name, why);
          continue;
        }
        /* 1e-5, as iFDK asks: coordinates in single precision are good to some 1e-6 pixel here. */
        const gboolean exact = td_test_cone_exact ((*f)->name, precision, td_device_info (device));
        const double bound = exact ? 1e-5 : 6e-3;
        g_test_message ("%s, %s, precision %d", entry->id, (*f)->name, precision);
        check_family (*f, device, task, precision, projections, truth, bound);
      }
    g_assert_cmpuint (td_test_live_objects (device), ==, 0);
  }
}

static void
test_families (gconstpointer data)
{
  TdConeTask task;

  make_task (data, &task);
  check_task (&task);
  td_cone_task_clear (&task);
}

/* Half storage holds small values times a power of two, which the volume has not. */
static void
test_half_scale (void)
{
  static const Case small = { "small", 48, 40, 8, 16, 16, 40, 0, 0, 0, 0 };
  g_autoptr (GPtrArray) list = td_device_list ();
  TdConeTask task;
  guint n = 0;

  make_task (&small, &task);
  const gsize samples = (gsize) task.nz * task.ny * task.nx;
  const gsize pixels = (gsize) task.n_views * task.n_rows * task.n_columns;
  g_autofree float *projections = noise (pixels), *got = g_new (float, samples);
  g_autofree double *truth = g_new (double, samples);
  for (gsize i = 0; i < pixels; i++)
    projections[i] *= 1e-6f;
  td_cone_reference (&task, projections, truth);
  for (guint d = 0; d < list->len; d++) {
    const TdDeviceEntry *entry = list->pdata[d];
    g_autoptr (GError) error = NULL;
    g_autoptr (TdDevice) device = entry->available ? td_device_open (entry->id, &error) : NULL;
    for (const TdConeFamily *const *f = td_cone_families (); device && *f; f++) {
      const TdTestConeSlabs how = { *f, device, TD_PRECISION_HALF, 20, 2, 0x1p22 };
      if ((*f)->unsupported (&task, TD_PRECISION_HALF, td_device_info (device)))
        continue;
      td_test_cone_slabs (&how, &task, projections, got);
      g_test_message ("%s, %s", entry->id, (*f)->name);
      check_close (truth, got, samples, 6e-3);
      n++;
    }
  }
  if (n == 0)
    g_test_skip ("no device stores halves");
  td_cone_task_clear (&task);
}

/* The host's rows of voxels come strip by strip, which has an end in such a row. */
static void
test_strips (void)
{
  static const Case wide = { "strips", 310, 6, 5, 300, 2, 2, 0.4, 0.3, 0, 0.04 };
  g_autoptr (TdDevice) device = td_test_open ("host");
  TdConeTask task;

  make_task (&wide, &task);
  g_assert_cmpuint (task.nx, >, TD_CONE_STRIP);
  g_autofree float *projections = noise ((gsize) task.n_views * task.n_rows * task.n_columns);
  g_autofree double *truth = g_new (double, (gsize) task.nz *task.ny *task.nx);
  td_cone_reference (&task, projections, truth);
  check_family (&td_cone_family_host, device, &task, TD_PRECISION_SINGLE, projections, truth, 1e-5);
  td_cone_task_clear (&task);
}

/* A wide cone and a volume that is none about the axis. */
static void
make_aside (guint n_views, double x_mm, double y_mm, guint side, guint nz, TdConeTask *task)
{
  TdGeometry geometry = plain_geometry ();
  g_autoptr (GError) error = NULL;
  g_autofree double *angle = angles (n_views, 2 * G_PI);

  geometry.source_axis_mm = 40;
  geometry.source_detector_mm = 60;
  td_cone_task_init_rays (task, &geometry, angle, n_views, 90, 80, &error);
  g_assert_no_error (error);
  td_cone_task_set_volume (task, side, side, nz, task->pitch_mm * 1.6);
  task->first_mm[0] = x_mm;
  task->first_mm[1] = y_mm;
}

/* A region that begins on the axis reaches to where a slice is many rows high. */
static void
test_corner (void)
{
  TdConeTask task;

  make_aside (20, 0, 0, 44, 64, &task);
  check_task (&task);
  td_cone_task_clear (&task);
}

/* What lies behind a view's source is not seen, though the detector's rays go on there. */
static void
test_behind (gconstpointer nz)
{
  TdConeTask task;

  make_aside (4, 65, 3, 16, GPOINTER_TO_UINT (nz), &task);
  for (guint view = 0; view < 4; view++) {
    const double *m = task.matrices + 12 * view;
    g_assert_cmpint (m[8] * 67 + m[11] < 0, ==, view == 1);
  }
  check_task (&task);
  td_cone_task_clear (&task);
}

/* ── Quantities ── */

/* A sphere of value 1 per mm, 0.7 of the field of view: exact rays, all stages, the mid-plane. */
static void
check_sphere (TdGeometry *geometry, double range_rad, guint n_views)
{
  g_autoptr (GError) error = NULL;
  const guint n = 64;
  g_autofree double *angle = angles (n_views, range_rad);
  const TdPhantom *phantom = td_phantom_find ("sphere", &error);
  TdConeTask task;
  td_cone_task_init (&task, geometry, angle, n_views, n, n, &error);
  g_assert_no_error (error);
  const double unit_mm = 0.5 * n * task.pitch_mm;
  td_cone_task_set_volume (&task, n, n, n, task.pitch_mm);

  /* [row][view][column], as preparation leaves it. */
  g_autoptr (TdDevice) device = td_device_open ("host", &error);
  g_autoptr (TdQueue) queue = td_queue_new (device, &error);
  g_autoptr (TdBuffer) rows
      = td_buffer_new (device, (guint64) n * n_views * n * sizeof (float), &error);
  g_assert_no_error (error);
  float *data = td_buffer_map (rows);
  for (guint view = 0; view < n_views; view++) {
    double source[3], point[3];
    td_cone_source (task.matrices + 12 * view, source);
    for (guint row = 0; row < n; row++)
      for (guint column = 0; column < n; column++) {
        double from[3], to[3];
        td_cone_pixel (task.matrices + 12 * view, column, row, point);
        for (guint i = 0; i < 3; i++) {
          from[i] = source[i] / unit_mm;
          to[i] = from[i] + 3 * (point[i] - source[i]) / unit_mm;
        }
        data[((gsize) row * n_views + view) * n + column]
            = (float) (td_phantom_ray (phantom, from, to) * unit_mm);
      }
  }
  const TdFilter spec = { .kind = TD_FILTER_RAM_LAK, .cutoff = 1 };
  g_autoptr (TdConeFilter) filter
      = td_cone_filter_new (device, &task, geometry, angle, &spec, n, &error);
  g_assert_no_error (error);
  td_cone_filter_run (filter, queue, rows, (TdRowRange) { 0, n }, &error);
  td_queue_finish (queue, &error);
  g_assert_no_error (error);

  g_autofree float *views = g_new (float, (gsize) n_views *n *n);
  for (guint row = 0; row < n; row++)
    for (guint view = 0; view < n_views; view++)
      memcpy (views + ((gsize) view * n + row) * n, data + ((gsize) row * n_views + view) * n,
              n * sizeof *views);
  g_autofree float *volume = g_new0 (float, (gsize) n *n *n);
  const TdTestConeSlabs how = { &td_cone_family_host, device, TD_PRECISION_SINGLE, n, n_views };
  td_test_cone_slabs (&how, &task, views, volume);

  /* Inside (three pixels from the edge) 1 within 1 %; outside 0 within 2 %. */
  double inside = 0, worst = 0;
  guint count = 0;
  for (guint j = 0; j < n; j++)
    for (guint i = 0; i < n; i++) {
      const double r = hypot (i - (n - 1) / 2.0, j - (n - 1) / 2.0) / (n / 2.0);
      const float value = volume[((gsize) n / 2 * n + j) * n + i];
      if (r < 0.7 - 6.0 / n) {
        inside += value;
        worst = MAX (worst, fabs (value - 1));
        count++;
      }
    }
  g_test_message ("mean %.4f, worst %.4f over %u voxels", inside / count, worst, count);
  g_assert_cmpfloat_with_epsilon (inside / count, 1, 0.01);
  g_assert_cmpfloat (worst, <, 0.03);
  td_cone_task_clear (&task);
}

static void
test_sphere_full (void)
{
  TdGeometry geometry = plain_geometry ();
  geometry.detector_offset_u_px = 0.6;
  check_sphere (&geometry, 2 * G_PI, 180);
}

static void
test_sphere_short (void)
{
  TdGeometry geometry = plain_geometry ();
  check_sphere (&geometry, G_PI + 0.2, 180);
}

static void
test_sphere_offset (void)
{
  TdGeometry geometry = plain_geometry ();
  geometry.detector_offset_u_px = -8; /* the left side sees 0.75 of what the right side sees */
  check_sphere (&geometry, 2 * G_PI, 240);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  td_test_own_rates ("cone");
  td_test_keep_open ();
  g_test_add_func ("/cone/matrix", test_matrix);
  g_test_add_func ("/cone/tilted-cosine", test_tilted_cosine);
  g_test_add_func ("/cone/half-pack", test_half_pack);
  g_test_add_func ("/cone/self-test", test_self_test);
  g_test_add_func ("/cone/self-test-error", test_self_test_error);
  g_test_add_func ("/cone/naive", test_naive);
  g_test_add_func ("/cone/naive-edges", test_naive_edges);
  g_test_add_func ("/cone/offset-limit", test_offset_limit);
  g_test_add_func ("/cone/range-limit", test_range_limit);
  g_test_add_func ("/cone/widened", test_widened);
  g_test_add_func ("/cone/short-scan-weights", test_short_scan_weights);
  g_test_add_func ("/cone/equal-gaps", test_equal_gaps);
  g_test_add_func ("/cone/rounded-gap", test_rounded_gap);
  g_test_add_func ("/cone/roll-limit", test_roll_limit);
  g_test_add_func ("/cone/weights-by-row", test_weights_by_row);
  g_test_add_func ("/cone/view-weights", test_view_weights);
  g_test_add_func ("/cone/gain", test_gain);
  g_test_add_func ("/cone/turned", test_turned);
  g_test_add_func ("/cone/turned-rounded", test_turned_rounded);
  g_test_add_func ("/cone/refusals", test_refusals);
  g_test_add_func ("/cone/wrapped", test_wrapped);
  g_test_add_func ("/cone/repeated", test_repeated);
  g_test_add_func ("/cone/wedge", test_wedge);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autofree char *path = g_strdup_printf ("/cone/families/%s", cases[i].name);
    g_test_add_data_func (path, &cases[i], test_families);
  }
  g_test_add_func ("/cone/families/half-scale", test_half_scale);
  g_test_add_func ("/cone/families/strips", test_strips);
  g_test_add_func ("/cone/families/corner", test_corner);
  g_test_add_data_func ("/cone/families/behind/few", GUINT_TO_POINTER (9), test_behind);
  g_test_add_data_func ("/cone/families/behind/many", GUINT_TO_POINTER (40), test_behind);
  g_test_add_func ("/cone/sphere/full", test_sphere_full);
  g_test_add_func ("/cone/sphere/short", test_sphere_short);
  g_test_add_func ("/cone/sphere/offset", test_sphere_offset);
  return g_test_run ();
}
