/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What geometries of cone beams come to, before anything is computed: volumes, weights, level
   detectors, and what rays are followed by. Figures of many made-up scans are kept; what has a
   plain way is compared with it. */
#include <math.h>
#include <string.h>

#include "compute/cone/cone-family.h"
#include "compute/cone/cone-filter.h"
#include "compute/cone/cone-rectify.h"
#include "compute/iterative/rays-private.h"
#include "dataset/random.h"
#include "tests/common/devices.h"
#include "tests/common/pins.h"

typedef struct {
  TdGeometry geometry;
  double *angles_rad;
  guint n_columns, n_rows, n_views;
} Scan;

static double
between (TdRandom *random, double low, double high)
{
  return low + (high - low) * td_random_uniform (random);
}

static guint
number (TdRandom *random, guint low, guint high)
{
  return MIN (low + (guint) ((high - low + 1) * td_random_uniform (random)), high);
}

static gboolean
chance (TdRandom *random, double p)
{
  return td_random_uniform (random) < p;
}

/* A matrix for every view, some of a source that rises and falls. */
static void
shake (TdRandom *random, Scan *scan)
{
  TdGeometry *geometry = &scan->geometry;
  const double rise = chance (random, 0.5) ? between (random, -4, 4) : 0;
  double *matrices = g_new (double, 12 * (gsize) scan->n_views);

  for (guint view = 0; view < scan->n_views; view++) {
    double *m = matrices + 12 * (gsize) view;
    TdGeometry one = *geometry;
    one.source_axis_mm += 2 * sin (0.7 * view);
    one.detector_offset_v_px += 0.5 * cos (0.9 * view);
    td_cone_matrix (&one, scan->angles_rad[view], scan->n_columns, scan->n_rows, m);
    for (guint row = 0; row < 3; row++) /* all that is seen moves along the axis */
      m[4 * row + 3] += m[4 * row + 2] * rise * sin (0.4 * view);
    for (guint i = 0; i < 12; i++) /* known up to a factor */
      m[i] *= view % 3 ? 2.5 : -0.7;
  }
  geometry->view_matrices = matrices;
  geometry->n_view_matrices = scan->n_views;
}

/* Turns whole and part, and many times; detectors aside, tilted, on their side and cropped; single
   rows; volumes that a file proposes. */
static void
scan_init (Scan *scan, guint64 seed)
{
  static const double ranges_deg[] = { 360, 360, 360, 205, -230, 190, 720 };
  static const double gaps[] = { 0, 0, 0, 0, 1, 3 };
  TdRandom random;

  td_random_init (&random, seed, 5);
  *scan = (Scan) { .n_columns = number (&random, 20, 90),
                   .n_rows = chance (&random, 0.1) ? 1 : number (&random, 3, 90),
                   .n_views = number (&random, 12, 60) };
  const double range = ranges_deg[number (&random, 0, 6)] * G_PI / 180;
  const double begin = between (&random, -4, 8), pixel_mm = between (&random, 0.1, 1);
  const guint lost = (guint) gaps[number (&random, 0, 5)];
  scan->angles_rad = g_new (double, scan->n_views);
  for (guint view = 0; view < scan->n_views; view++)
    scan->angles_rad[view]
        = begin + range / (scan->n_views + lost) * (view + (view > scan->n_views / 3 ? lost : 0));
  scan->geometry
      = (TdGeometry) { .beam = TD_BEAM_CONE,
                       .pixel_width_mm = pixel_mm,
                       .pixel_height_mm
                       = pixel_mm * (chance (&random, 0.5) ? 1 : between (&random, 0.5, 2)),
                       .source_axis_mm = between (&random, 2.5, 9) * pixel_mm * scan->n_columns };
  TdGeometry *geometry = &scan->geometry;
  geometry->source_detector_mm = geometry->source_axis_mm * between (&random, 1.1, 3);
  if (chance (&random, 0.4))
    geometry->detector_offset_u_px = between (&random, -0.35, 0.35) * scan->n_columns;
  if (chance (&random, 0.4))
    geometry->detector_offset_v_px = between (&random, -0.6, 0.6) * scan->n_rows;
  if (chance (&random, 0.4))
    geometry->axis_offset_mm = between (&random, -3, 3) * pixel_mm;
  for (guint i = 0; i < 3; i++)
    if (chance (&random, 0.3))
      geometry->detector_tilt_rad[i] = between (&random, -0.2, 0.2);
  if (chance (&random, 0.15))
    geometry->detector_tilt_rad[2] += G_PI / 2;
  for (guint i = 0; i < 2; i++)
    if (chance (&random, 0.2))
      geometry->cropped_px[i] = number (&random, 0, 20) - 10.0;
  if (chance (&random, 0.15)) {
    geometry->voxel_mm = between (&random, 0.2, 1) * pixel_mm;
    for (guint i = 0; i < 3; i++)
      geometry->volume_size[i] = number (&random, 10, 40);
  }
  if (chance (&random, 0.3))
    shake (&random, scan);
}

static void
scan_clear (Scan *scan)
{
  td_geometry_clear (&scan->geometry);
  g_free (scan->angles_rad);
}

/* Where the first, a middle and the last view see two points of the volume. */
static void
pin_views (const char *what, const TdConeTask *task)
{
  for (guint i = 0; i < 3; i++) {
    const guint view = i * (task->n_views - 1) / 2;
    double at[2][3];

    for (guint k = 0; k < 2; k++) {
      const double reach = 0.3 * task->voxel_mm;
      const double point[3]
          = { reach * (k ? task->nx : -0.4 * task->nx), reach * (k ? -0.7 * task->ny : task->ny),
              task->first_mm[2] - task->voxel_mm * task->nz * (k ? 0.1 : 0.8) };
      td_cone_project (task->matrices + 12 * (gsize) view, point, &at[k][0], &at[k][1], &at[k][2]);
    }
    td_test_pin ("  %s, view %u: %.4f %.4f %.6f, %.4f %.4f %.6f, weight %.6e", what, view, at[0][0],
                 at[0][1], at[0][2], at[1][0], at[1][1], at[1][2], task->view_weights[view]);
  }
}

static void
pin_task (const char *what, const TdConeTask *task)
{
  const TdRedundancy *shares = &task->redundancy;
  double sum = 0;

  for (guint view = 0; view < task->n_views; view++)
    sum += task->view_weights[view];
  td_test_pin ("  %s: %u of %u columns from %u, %u rows; %u x %u x %u of %.5f from %.4f %.4f %.4f",
               what, task->n_measured, task->n_columns, task->shift, task->n_rows, task->nx,
               task->ny, task->nz, task->voxel_mm, task->first_mm[0], task->first_mm[1],
               task->first_mm[2]);
  td_test_pin ("  %s: pitch %.5f, source %.3f, middle %.4f, raised %.4f, unseen %.4f; kind %d%s, "
               "%.5f %.0f %.5f %.5f; weights %.5f",
               what, task->pitch_mm, task->source_axis_mm, task->middle_mm, task->raised_mm,
               task->unseen_mm, shares->kind, shares->by_row ? " by row" : "", shares->overlap_rad,
               shares->side, shares->overscan_rad, shares->first_rad, sum);
}

/* The level detector: its size, what of the other one its rows are made of, and the forms that the
   kernel takes. */
static void
pin_rectified (const TdConeTask *task)
{
  const guint last = task->n_rows - 1;
  const guint rows[][2] = { { 0, 1 }, { task->n_rows / 2, 1 }, { last, 1 }, { 0, task->n_rows } };
  g_autoptr (GString) text = g_string_new (NULL);

  pin_task ("level", task);
  pin_views ("level", task);
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    const TdRowRange from = td_cone_rectify_rows (task, (TdRowRange) { rows[i][0], rows[i][1] });
    g_string_append_printf (text, " %u+%u", from.first, from.count);
  }
  td_test_pin ("  of %u x %u, %u forms; rows%s", task->tilted.n_columns, task->tilted.n_rows,
               task->tilted.n, text->str);
  for (guint i = 0; i < 2; i++) {
    const guint view = i * (task->n_views - 1);
    double f[TD_CONE_RECTIFY_FORM];

    td_cone_rectify_form (task, view, f);
    for (guint k = 6; k < 8; k++)
      f[k] *= 1000;
    td_test_pin ("  form %u: %.5f %.5f %.4f, %.5f %.5f %.4f, %.5f %.5f %.5f, %.4f %.4f, %.4f %.4f, "
                 "%.0f",
                 view, f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7], f[8], f[9], f[10], f[11],
                 f[12], f[13]);
  }
}

/* What rays are followed by: of each view its 25 numbers, in groups. */
static void
pin_rays (const TdConeTask *task)
{
  td_test_pin ("  rays: axes %d, upright %d", td_rays_axes (task), td_rays_upright (task));
  for (guint i = 0; i < 2; i++) {
    const guint view = i * (task->n_views - 1);
    double r[TD_RAY_FLOATS];

    td_rays_view (task, view, r);
    for (guint k = 8; k < 11; k++)
      r[k] *= 1000;
    td_test_pin ("  ray %u: %.5f %.5f %.5f %.4f, %.5f %.5f %.5f %.4f, %.5f %.5f %.5f %.5f, %.4f "
                 "%.4f %.4f, %.5f %.5f %.5f, %.5f %.5f %.5f, %.3f %.3f %.3f, %.0f",
                 view, r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7], r[8], r[9], r[10], r[11],
                 r[12], r[13], r[14], r[15], r[16], r[17], r[18], r[19], r[20], r[21], r[22], r[23],
                 r[24]);
  }
}

static void
test_kept (void)
{
  for (guint64 seed = 1; seed <= 40; seed++) {
    g_autoptr (GError) error = NULL;
    TdConeTask task, level;
    Scan scan;

    scan_init (&scan, seed);
    const gboolean good = td_cone_task_init (&task, &scan.geometry, scan.angles_rad, scan.n_views,
                                             scan.n_columns, scan.n_rows, &error);
    td_test_pin ("%" G_GUINT64_FORMAT ": %u x %u, %u views%s: %s", seed, scan.n_columns,
                 scan.n_rows, scan.n_views, scan.geometry.view_matrices ? " by matrices" : "",
                 good ? "can" : error->message);
    if (!good) {
      scan_clear (&scan);
      continue;
    }
    pin_task ("task", &task);
    pin_views ("task", &task);
    const double slope = td_cone_row_slope (&task);
    td_test_pin (
        "  slope %.5f, level %d, on its side %d, aspect %.4f, upright %d, rows rise %d, gain "
        "%.5f, filter %" G_GUINT64_FORMAT,
        slope, td_cone_rectify_helps (&task, &scan.geometry, slope),
        td_cone_portrait (&scan.geometry, scan.n_columns, scan.n_rows),
        td_cone_pixel_aspect (&scan.geometry), td_cone_upright (&task),
        td_cone_rows_per_mm (task.matrices) > 0, td_cone_filter_gain (task.matrices),
        td_cone_filter_workspace_bytes (&task, 3));
    td_cone_task_copy (&level, &task);
    td_cone_task_widen (&task);
    if (task.n_columns != task.n_measured) {
      pin_task ("wide", &task);
      pin_views ("wide", &task);
      td_test_pin ("  filter %" G_GUINT64_FORMAT, td_cone_filter_workspace_bytes (&task, 3));
    }
    if (td_cone_task_rectify (&level)) {
      pin_rectified (&level);
      td_test_pin ("  filter %" G_GUINT64_FORMAT, td_cone_filter_workspace_bytes (&level, 3));
    }
    td_cone_task_clear (&task);
    td_cone_task_clear (&level);
    g_assert_true (td_cone_task_init_rays (&task, &scan.geometry, scan.angles_rad, scan.n_views,
                                           scan.n_columns, scan.n_rows, &error));
    if (seed % 2 == 0)
      pin_rays (&task);
    td_cone_task_clear (&task);
    scan_clear (&scan);
  }
}

/* The rows that a slab sees are those of all its voxels, with the next row and a margin. */
static void
test_rows_seen (void)
{
  guint none = 0, some = 0;

  for (guint64 seed = 1; seed <= 70; seed++) {
    g_autoptr (GError) error = NULL;
    TdConeTask task;
    Scan scan;

    scan_init (&scan, seed);
    if (!td_cone_task_init_rays (&task, &scan.geometry, scan.angles_rad, scan.n_views,
                                 scan.n_columns, scan.n_rows, &error)) {
      scan_clear (&scan);
      continue;
    }
    td_cone_task_set_volume (&task, 5, 4, 12, 9 * task.pitch_mm);
    if (seed % 3 == 0)
      task.first_mm[2] += (seed % 2 ? 2.0 : -2.0) * task.n_rows * task.pitch_mm;
    for (guint slice0 = 0; slice0 < task.nz; slice0 += 3)
      for (guint n = 1; n <= 3; n += 2) {
        double low = INFINITY, high = -INFINITY;
        gboolean behind = FALSE;
        guint first, end;

        for (guint view = 0; view < task.n_views; view++)
          for (guint i = 0; i < task.nx * task.ny * n; i++) {
            const double point[3]
                = { task.first_mm[0] + i % task.nx * task.voxel_mm,
                    task.first_mm[1] - i / task.nx % task.ny * task.voxel_mm,
                    task.first_mm[2] - (slice0 + i / task.nx / task.ny) * task.voxel_mm };
            double u, v, w;
            td_cone_project (task.matrices + 12 * (gsize) view, point, &u, &v, &w);
            behind = behind || w <= 0;
            low = MIN (low, v);
            high = MAX (high, v);
          }
        td_cone_rows_seen (&task, slice0, n, &first, &end);
        const double rows = task.n_rows;
        guint from = behind ? 0 : (guint) CLAMP (floor (low - 0.02), 0, rows);
        guint to = behind ? task.n_rows : (guint) CLAMP (floor (high + 0.02) + 2, 0, rows);
        to = MAX (from, to);
        g_test_message ("%" G_GUINT64_FORMAT " %u+%u", seed, slice0, n);
        g_assert_cmpuint (first, ==, from);
        g_assert_cmpuint (end, ==, to);
        none += first == end;
        some += end - first > 0 && end - first < task.n_rows;
      }
    td_cone_task_clear (&task);
    scan_clear (&scan);
  }
  g_assert_cmpuint (none, >, 10);
  g_assert_cmpuint (some, >, 30);
}

/* A full turn of a volume in the middle, whose views are alike after half and quarter turns. */
static void
make_turned (TdConeTask *task, guint n_views)
{
  const TdGeometry geometry = { .beam = TD_BEAM_CONE,
                                .pixel_width_mm = 0.4,
                                .pixel_height_mm = 0.4,
                                .source_axis_mm = 400,
                                .source_detector_mm = 600 };
  g_autofree double *angles = g_new (double, n_views);
  g_autoptr (GError) error = NULL;

  for (guint view = 0; view < n_views; view++)
    angles[view] = 0.1 + 2 * G_PI * view / n_views;
  td_cone_task_init (task, &geometry, angles, n_views, 32, 16, &error);
  g_assert_no_error (error);
  td_cone_task_set_volume (task, 12, 12, 8, task->pitch_mm);
}

/* What is alike, and what is so no more: one number a little more off than rounding. */
static void
test_turned_limits (void)
{
  static const struct {
    const char *what;
    guint n_views, nx, ny;
    double x, y;       /* parts of a voxel by which the volume is aside */
    guint view, entry; /* of which matrix; entry 12: of the weights */
    double off;        /* a part of the largest number of the matrix' row */
    gboolean half, quarter;
  } cases[] = {
    { "as it is", 24, 12, 12, 0, 0, 0, 0, 0, TRUE, TRUE },
    { "half turns only", 22, 12, 12, 0, 0, 0, 0, 0, TRUE, FALSE },
    { "odd views", 21, 12, 12, 0, 0, 0, 0, 0, FALSE, FALSE },
    { "oblong", 24, 12, 10, 0, 0, 0, 0, 0, TRUE, FALSE },
    { "odd along x", 24, 11, 12, 0, 0, 0, 0, 0, FALSE, FALSE },
    { "odd along y", 24, 12, 11, 0, 0, 0, 0, 0, FALSE, FALSE },
    { "a little right", 24, 12, 12, 4e-7, 0, 0, 0, 0, TRUE, TRUE },
    { "right", 24, 12, 12, 6e-7, 0, 0, 0, 0, FALSE, FALSE },
    { "a little left", 24, 12, 12, -4e-7, 0, 0, 0, 0, TRUE, TRUE },
    { "left", 24, 12, 12, -6e-7, 0, 0, 0, 0, FALSE, FALSE },
    { "a little up", 24, 12, 12, 0, 4e-7, 0, 0, 0, TRUE, TRUE },
    { "up", 24, 12, 12, 0, 6e-7, 0, 0, 0, FALSE, FALSE },
    { "rounded column", 24, 12, 12, 0, 0, 0, 3, 0.5e-7, TRUE, TRUE },
    { "column", 24, 12, 12, 0, 0, 0, 3, 3e-7, FALSE, FALSE },
    { "row of the last view", 24, 12, 12, 0, 0, 23, 7, 3e-7, FALSE, FALSE },
    { "rows along z", 24, 12, 12, 0, 0, 11, 6, 3e-7, FALSE, FALSE },
    { "columns along x", 24, 12, 12, 0, 0, 12, 0, 3e-7, FALSE, FALSE },
    { "columns along y", 24, 12, 12, 0, 0, 5, 1, 3e-7, FALSE, FALSE },
    { "depth along x", 24, 12, 12, 0, 0, 17, 8, 3e-7, FALSE, FALSE },
    { "depth along y", 24, 12, 12, 0, 0, 6, 9, 3e-7, FALSE, FALSE },
    { "depth", 24, 12, 12, 0, 0, 18, 11, 3e-7, FALSE, FALSE },
    { "rounded depth", 24, 12, 12, 0, 0, 18, 11, 0.5e-7, TRUE, TRUE },
    { "rounded weight", 24, 12, 12, 0, 0, 23, 12, 1.5e-5, TRUE, TRUE },
    { "weight", 24, 12, 12, 0, 0, 23, 12, 2.5e-5, FALSE, FALSE },
    { "weight of the first", 24, 12, 12, 0, 0, 0, 12, -2.5e-5, FALSE, FALSE },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    TdConeTask task;

    make_turned (&task, cases[i].n_views);
    td_cone_task_set_volume (&task, cases[i].nx, cases[i].ny, 8, task.pitch_mm);
    task.first_mm[0] += cases[i].x * task.voxel_mm;
    task.first_mm[1] += cases[i].y * task.voxel_mm;
    if (cases[i].entry == 12) {
      task.view_weights[cases[i].view] *= 1 + cases[i].off;
    } else {
      double *row = task.matrices + 12 * cases[i].view + cases[i].entry / 4 * 4, largest = 0;
      for (guint k = 0; k < 4; k++)
        largest = MAX (largest, fabs (row[k]));
      row[cases[i].entry % 4] += cases[i].off * largest;
    }
    g_test_message ("%s", cases[i].what);
    g_assert_cmpint (td_cone_symmetric (&task, 2), ==, cases[i].half);
    g_assert_cmpint (td_cone_symmetric (&task, 4), ==, cases[i].quarter);
    td_cone_task_clear (&task);
  }
}

/* Over the volume's height columns may move by a thousandth of a pixel, and depth by as little. */
static void
test_upright_limits (void)
{
  for (guint i = 0; i < 24; i++) {
    const gboolean fine = i % 8 < 4;
    TdConeTask task;

    make_turned (&task, 5);
    const double height = task.nz * task.voxel_mm,
                 part = (fine ? 0.9e-3 : 1.1e-3) * (i % 2 ? -1 : 1);
    double *m = task.matrices + 12 * (i / 8 * 2); /* the first view, a middle one, the last */
    if (i / 2 % 2)
      m[10] = part / height / task.n_columns;
    else
      m[2] = part / height;
    g_test_message ("%u", i);
    g_assert_cmpint (td_cone_upright (&task), ==, fine);
    td_cone_task_clear (&task);
  }
}

/* Slices for rows: as many as cover them, but for a hundredth; square pixels have one for each. */
static void
test_slices (void)
{
  static const struct {
    guint n_rows;
    double aspect;
    guint slices;
  } cases[] = {
    { 1, 1, 1 },
    { 1, 7, 1 },
    { 100, 1, 100 },
    { 100, 1.0099, 100 },
    { 100, 1.0102, 102 },
    { 100, 0.9901, 100 },
    { 100, 0.9899, 99 },
    { 100, 1.5, 150 },
    { 100, 1.5002, 151 },
    { 100, 1.50009, 150 },
    { 2, 0.5, 1 },
    { 3, 0.1, 1 },
    { 100, NAN, 100 },
    { 100, INFINITY, 100 },
    { 1000, 2000, 1048576 },
    { 1000, 1048, 1048000 },
    { 100, 1.01, 101 },
    { 100, 0.99, 99 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_test_message ("%u", i);
    g_assert_cmpuint (td_cone_slices (cases[i].n_rows, cases[i].aspect), ==, cases[i].slices);
  }
}

/* What a gap makes of a turn: it is closed if it is little more than a step. In the middle of the
   list it may be four steps, but no more than ten degrees. */
static void
test_arcs (void)
{
  typedef enum { FORWARDS, BACKWARDS, LAST_SWAPPED, BACK_SWAPPED } Way;
  static const struct {
    guint n;      /* views of a whole turn */
    double gap;   /* steps from the last of those that are there to the first */
    guint begins; /* the list: so many views after the gap */
    Way way;      /* … or without an end where the gap is */
    gboolean whole;
  } arcs[] = {
    { 360, 1, 0, FORWARDS, TRUE },     { 360, 1.4, 0, FORWARDS, TRUE },
    { 360, 1.6, 0, FORWARDS, FALSE },  { 360, 1.4, 0, BACKWARDS, TRUE },
    { 360, 1.6, 0, BACKWARDS, FALSE }, { 360, 1.6, 9, FORWARDS, TRUE },
    { 360, 3.9, 9, FORWARDS, TRUE },   { 360, 4.1, 9, FORWARDS, FALSE },
    { 360, 3.9, 9, BACKWARDS, TRUE },  { 360, 4.1, 9, BACKWARDS, FALSE },
    { 360, 3, 0, LAST_SWAPPED, TRUE }, { 360, 3, 0, BACK_SWAPPED, TRUE },
    { 360, 3, 0, FORWARDS, FALSE },    { 360, 3, 0, BACKWARDS, FALSE },
    { 60, 1.6, 9, FORWARDS, TRUE },    { 60, 1.7, 9, FORWARDS, FALSE },
    { 120, 3.25, 9, FORWARDS, TRUE },  { 120, 3.5, 9, FORWARDS, FALSE },
  };
  const TdGeometry geometry = { .beam = TD_BEAM_CONE,
                                .pixel_width_mm = 0.4,
                                .pixel_height_mm = 0.4,
                                .source_axis_mm = 400,
                                .source_detector_mm = 600 };

  for (guint i = 0; i < G_N_ELEMENTS (arcs); i++) {
    const guint n = arcs[i].n;
    const double step = 2 * G_PI / (n - 1 + arcs[i].gap), begin = 1.3;
    const gboolean back = arcs[i].way == BACKWARDS || arcs[i].way == BACK_SWAPPED;
    g_autofree double *angles = g_new (double, n);
    g_autoptr (GError) error = NULL;
    TdRedundancy redundancy;

    for (guint view = 0; view < n; view++)
      angles[back ? n - 1 - view : view] = begin + step * ((view + arcs[i].begins) % n);
    if (arcs[i].way >= LAST_SWAPPED) {
      const guint at = back ? 0 : n - 2; /* the end before the gap */
      const double swapped = angles[at];
      angles[at] = angles[at + 1];
      angles[at + 1] = swapped;
    }
    g_test_message ("%u", i);
    g_assert_true (td_cone_redundancy (&geometry, angles, n, 32, 16, &redundancy, &error));
    g_assert_cmpint (redundancy.kind, ==,
                     arcs[i].whole ? TD_REDUNDANCY_FULL : TD_REDUNDANCY_PARKER);
    if (!arcs[i].whole) {
      g_assert_cmpfloat_with_epsilon (redundancy.first_rad, begin, 1e-9);
      g_assert_cmpfloat_with_epsilon (redundancy.overscan_rad, (step * (n - 1) - G_PI) / 2, 1e-9);
    }
  }
}

typedef enum { OWN_MATRICES, WITHOUT_DISTANCES, IN_PLANE, ONE_TOO_FEW, N_FAULTS } Fault;

/* A geometry of which no task can be made, by any of the ways that make one: each says so and
   leaves no task. */
static void
test_refused (void)
{
  enum { VIEWS = 5, COLUMNS = 32, ROWS = 16 };
  double angles[VIEWS];

  for (guint view = 0; view < VIEWS; view++)
    angles[view] = 2 * G_PI * view / VIEWS;
  for (Fault fault = OWN_MATRICES; fault < N_FAULTS; fault++)
    for (guint way = 0; way < 3; way++) {
      TdGeometry geometry = { .beam = TD_BEAM_CONE,
                              .pixel_width_mm = 0.4,
                              .pixel_height_mm = 0.4,
                              .source_axis_mm = 400,
                              .source_detector_mm = 600 };
      double matrices[12 * VIEWS];
      g_autoptr (GError) error = NULL;
      TdConeTask task;

      for (guint view = 0; view < VIEWS; view++)
        td_cone_matrix (&geometry, angles[view], COLUMNS, ROWS, matrices + 12 * view);
      if (fault == IN_PLANE)
        matrices[12 * (VIEWS - 1) + 11] = 0;
      if (fault == WITHOUT_DISTANCES) {
        geometry.source_axis_mm = 0;
      } else {
        geometry.view_matrices = matrices;
        geometry.n_view_matrices = fault == ONE_TOO_FEW ? VIEWS - 1 : VIEWS;
      }
      const gboolean made
          = way == 0 ? td_cone_task_init (&task, &geometry, angles, VIEWS, COLUMNS, ROWS, &error)
            : way == 1
                ? td_cone_task_init_rays (&task, &geometry, angles, VIEWS, COLUMNS, ROWS, &error)
                : td_cone_task_init_filtered (&task, &geometry, VIEWS, COLUMNS, ROWS, &error);
      g_test_message ("%d, %u: %s", fault, way, error ? error->message : "made");
      g_assert_cmpint (made, ==, fault == OWN_MATRICES);
      g_assert_cmpint (made, ==, error == NULL);
      if (made)
        td_cone_task_clear (&task);
      else {
        g_assert_error (error, TD_ERROR, TD_ERROR_BAD_FILE);
        g_assert_true (!task.matrices && !task.view_weights);
      }
    }
}

/* ── Families ── */

static const char *const family_tasks[]
    = { "turned by quarters", "turned by halves",     "not turned", "few slices", "tilted",
        "to the source",      "nearly to the source", "wide",       "high" };

static void
family_task (guint i, TdConeTask *task)
{
  const guint views[] = { 24, 22, 21, 24, 24, 24, 24, 24, 24 };

  make_turned (task, views[i]);
  td_cone_task_set_volume (task, 40, 40, i == 3 ? 23 : 24, task->pitch_mm);
  if (i == 4) /* columns follow z */
    for (guint view = 0; view < task->n_views; view++)
      task->matrices[12 * view + 2] = 1;
  if (i == 5)
    td_cone_task_set_volume (task, 40, 40, 24, 1.006 * 400 / 19.5 / G_SQRT2);
  if (i == 6)
    td_cone_task_set_volume (task, 40, 40, 24, 1.002 * 400 / 19.5 / G_SQRT2);
  task->n_columns = i == 7 ? 1025 : task->n_columns;
  task->n_rows = i == 8 ? 1025 : task->n_rows;
}

static const char *const family_cards[]
    = { "everything", "floats", "halves", "no layers", "not filtered",
        "narrow",     "low",    "slow",   "host" };

static TdDeviceInfo
family_card (guint i)
{
  return (TdDeviceInfo) { .id = (char *) "card:0",
                          .name = (char *) "card",
                          .kind = i < 7 ? TD_DEVICE_GPU : TD_DEVICE_CPU,
                          .local_memory_bytes = 48 << 10,
                          .max_group_size = 1024,
                          .texture_max = { i == 5 ? 1024 : 2048, i == 6 ? 1024 : 2048 },
                          .texture_max_layers = i == 3 ? 0 : 2048,
                          .texels = i == 1   ? 1u << TD_TEXEL_R32F | 1u << TD_TEXEL_RG32F
                                    : i == 2 ? 1u << TD_TEXEL_R16F | 1u << TD_TEXEL_RGBA16F
                                             : ~0u,
                          .texture_linear = i != 4,
                          .texture_slow = i == 7,
                          .half_storage = TRUE,
                          .cpu_shaped = i >= 7,
                          .host_pointers = i == 8 };
}

/* What each family refuses on cards that lack something. Else how many views must come together,
   the slices that are worth it, and its cost. How far off it may be is in millionths, and it holds
   so many bytes for two kinds of batches. */
static void
test_families (void)
{
  for (const TdConeFamily *const *f = td_cone_families (); *f; f++)
    for (guint t = 0; t < G_N_ELEMENTS (family_tasks); t++) {
      TdConeTask task;

      family_task (t, &task);
      for (guint c = 0; c < G_N_ELEMENTS (family_cards); c++)
        for (TdPrecision precision = 0; precision <= TD_PRECISION_HALF; precision++) {
          const TdDeviceInfo card = family_card (c);
          const char *reason = (*f)->unsupported (&task, precision, &card);
          const TdConeLimits limits[]
              = { { .max_views = 8, .max_rows = 10, .max_slices = 3, .precision = precision },
                  { .max_views = 21,
                    .max_rows = 7,
                    .max_slices = 16,
                    .precision = precision,
                    .bands = TRUE } };
          g_autofree char *can = g_strdup_printf (
              "%u views, %u slices, cost %.2f, off by %.3f%s, holds %" G_GUINT64_FORMAT
              " and %" G_GUINT64_FORMAT,
              (*f)->symmetric_views (&task, precision),
              (*f)->whole_slices ? (*f)->whole_slices (&task) : 0,
              td_cone_family_cost (*f, precision, &card),
              1e6 * td_cone_family_error_bound (*f, &task, precision, &card),
              td_cone_family_fetches (*f, &card) ? ", fetches" : "",
              (*f)->workspace_bytes (&task, &limits[0], &card),
              (*f)->workspace_bytes (&task, &limits[1], &card));
          if (t == 0 || c == 0 || (reason && c >= 5)) /* what tasks and cards say apart */
            td_test_pin ("%s, %s, %s, %s: %s", (*f)->name, family_tasks[t], family_cards[c],
                         precision == TD_PRECISION_SINGLE ? "single" : "half",
                         reason ? reason : can);
        }
      td_cone_task_clear (&task);
    }
}

/* One view's source, and the corner of the volume that reaches to it or nearly so. */
static void
test_reach (void)
{
  const TdDeviceInfo card = family_card (0);

  for (guint corner = 0; corner < 4; corner++)
    for (guint near = 0; near < 2; near++) {
      TdConeTask task;

      make_turned (&task, 8);
      memmove (task.matrices, task.matrices + 12 * (2 * corner + 1), 12 * sizeof *task.matrices);
      task.n_views = 1;
      /* The source at 400 mm, 45 degrees and a little from each side of the volume. */
      const double diagonal = 400 * (near ? 1.002 : 0.99) / cos (0.1);
      td_cone_task_set_volume (&task, 40, 40, 24, 2 * diagonal / 39 / G_SQRT2);
      const char *reason = td_cone_family_texture.unsupported (&task, TD_PRECISION_SINGLE, &card);
      g_test_message ("%u %u: %s", corner, near, reason ? reason : "can");
      g_assert_cmpint (reason != NULL && strstr (reason, "reaches to the source"), ==, near);
      /* Rays take a voxel more on each side. */
      td_cone_task_set_volume (&task, 40, 40, 24, task.voxel_mm * (near ? 0.97 : 0.9));
      g_assert_cmpint (td_rays_check (&task, NULL), ==, !near);
      td_cone_task_clear (&task);
    }
}

static char *
out_of_use (const TdConeFamily *family, const TdDeviceInfo *device)
{
  return g_str_equal (family->name, "turned") || g_str_equal (family->name, "host")
             ? g_strdup ("off by 7")
             : NULL;
}

/* What "auto" takes, and a family that is named; what is out of use is taken by neither. */
static void
test_choice (void)
{
  static const struct {
    guint task, card;
    TdPrecision precision;
    gboolean disabled;
    const char *name, *chosen; /* NULL: none, and why */
    const char *says;
  } cases[] = {
    { 0, 0, TD_PRECISION_SINGLE, FALSE, "auto", "turned" },
    { 0, 0, TD_PRECISION_SINGLE, FALSE, NULL, "turned" },
    { 0, 0, TD_PRECISION_SINGLE, TRUE, "auto", "texture" },
    { 2, 0, TD_PRECISION_SINGLE, FALSE, "auto", "texture" },
    { 4, 0, TD_PRECISION_SINGLE, FALSE, "auto", "standard" },
    { 0, 4, TD_PRECISION_SINGLE, FALSE, "auto", "arithmetic" },
    { 0, 7, TD_PRECISION_SINGLE, FALSE, "auto", "arithmetic" },
    { 0, 7, TD_PRECISION_SINGLE, FALSE, "texture", "texture" },
    { 0, 8, TD_PRECISION_SINGLE, FALSE, "auto", "host" },
    { 0, 8, TD_PRECISION_SINGLE, TRUE, "auto", NULL, "the host has a kernel of its own" },
    { 0, 8, TD_PRECISION_SINGLE, TRUE, "host", NULL, "off by 7" },
    { 0, 0, TD_PRECISION_SINGLE, TRUE, "turned", NULL, "off by 7" },
    { 0, 0, TD_PRECISION_SINGLE, FALSE, "none", NULL, "auto, host, turned, texture" },
    { 2, 0, TD_PRECISION_SINGLE, FALSE, "turned", NULL, "not symmetric" },
    { 0, 1, TD_PRECISION_HALF, FALSE, "auto", NULL, "single precision" },
    { 0, 2, TD_PRECISION_HALF, FALSE, "auto", "turned" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GError) error = NULL;
    g_autoptr (TdDevice) device = td_device_open ("host", &error);
    const TdDeviceInfo host = device->info;
    TdConeTask task;

    family_task (cases[i].task, &task);
    device->info = family_card (cases[i].card);
    const TdConeFamily *family
        = td_cone_family_choose (cases[i].name, &task, cases[i].precision, device,
                                 cases[i].disabled ? out_of_use : NULL, &error);
    device->info = host;
    g_test_message ("%u: %s", i, family ? family->name : error->message);
    g_assert_cmpstr (family ? family->name : NULL, ==, cases[i].chosen);
    if (!family) {
      const gboolean none
          = g_str_equal (cases[i].name, "auto") && cases[i].precision == TD_PRECISION_SINGLE;
      const int code = none ? TD_ERROR_UNSUPPORTED : TD_ERROR_INVALID;
      g_assert_error (error, TD_ERROR, code);
      g_assert_nonnull (strstr (error->message, cases[i].says));
    }
    td_cone_task_clear (&task);
  }
}

/* ── Kernels ── */

static GString *built; /* the programs that a projector asked for */

static gboolean
note_program (TdProgram *program, const char *name, const char *source, const char *const *defines,
              GError **error)
{
  g_autofree char *words = g_strjoinv (" ", (char **) defines);

  g_assert_nonnull (source);
  g_string_append_printf (built, "; %s %s", name, words);
  return TRUE;
}

static gboolean
note_kernel (TdKernel *kernel, GError **error)
{
  g_string_append_printf (built, ", %s", kernel->name);
  return TRUE;
}

/* Which programs each family asks for: by what views have in common, and by how many slices there
   are at once. Local memory has room for few rows, or for none. */
static void
test_kernels (void)
{
  static const guint slices[] = { 24, 3, 1 }, local_bytes[] = { 48 << 10, 12 << 10, 2 << 10, 0 };

  for (const TdConeFamily *const *f = td_cone_families (); *f; f++)
    for (guint t = 0; t < 5; t++)
      for (guint s = 0; s < G_N_ELEMENTS (slices); s++)
        for (guint l = 0; l < (*f == &td_cone_family_arithmetic ? G_N_ELEMENTS (local_bytes) : 1);
             l++) {
          const TdConeLimits limits = { .max_views = 24, .max_rows = 16, .max_slices = slices[s] };
          g_autoptr (GError) error = NULL;
          g_autoptr (TdDevice) device = td_device_open ("host", &error);
          const TdDeviceInfo host = device->info;
          const TdDeviceOps *ops = device->ops;
          TdDeviceOps noting = *ops;
          TdConeTask task;

          family_task (t, &task);
          device->info = family_card (0);
          device->info.memory_bytes = host.memory_bytes;
          device->info.max_alloc_bytes = host.max_alloc_bytes;
          device->info.local_memory_bytes = local_bytes[l];
          if (!(*f)->unsupported (&task, TD_PRECISION_SINGLE, &device->info)) {
            built = g_string_new (NULL);
            noting.dialect = "opencl.h";
            noting.program_build = note_program;
            noting.program_free = NULL;
            noting.kernel_new = note_kernel;
            noting.kernel_free = NULL;
            device->ops = &noting;
            td_cone_projector_free (td_cone_projector_new (*f, device, &task, &limits, &error));
            g_assert_no_error (error);
            td_test_pin ("%s, %s, %u slices, %u bytes%s", (*f)->name, family_tasks[t], slices[s],
                         local_bytes[l], built->str);
            td_test_free_programs (device);
            device->ops = ops;
            g_string_free (built, TRUE);
          }
          device->info = host;
          td_cone_task_clear (&task);
        }
}

/* What a projector has no room for is refused. */
static void
test_room (void)
{
  static const struct {
    guint views, rows;
    gboolean fits;
  } batches[] = { { 4, 10, TRUE }, { 5, 10, FALSE }, { 4, 11, FALSE }, { 1, 1, TRUE } };
  const TdConeLimits limits = { .max_views = 4, .max_rows = 10, .max_slices = 3 };
  const guint views[5] = { 0, 1, 2, 3, 4 };
  g_autoptr (GError) error = NULL;
  g_autoptr (TdDevice) device = td_device_open ("host", &error);
  g_autoptr (TdQueue) queue = td_queue_new (device, &error);
  TdConeTask task;

  make_turned (&task, 24);
  g_autoptr (TdConeProjector) projector
      = td_cone_projector_new (&td_cone_family_host, device, &task, &limits, &error);
  g_autoptr (TdBuffer) projections = td_buffer_new (device, 5 * 11 * 32 * sizeof (float), &error);
  g_autoptr (TdBuffer) volume = td_buffer_new (device, 3 * 12 * 12 * sizeof (float), &error);
  g_assert_no_error (error);
  td_fill_zero (queue, projections, 0, 5 * 11 * 32 * sizeof (float), &error);
  td_fill_zero (queue, volume, 0, 3 * 12 * 12 * sizeof (float), &error);
  for (guint i = 0; i < G_N_ELEMENTS (batches); i++) {
    const TdConeBatch batch = { projections, { 0, batches[i].rows }, views, batches[i].views };
    const TdConeSlab slab = { volume, 0, 3 };

    g_assert_cmpint (td_cone_projector_add (projector, queue, &batch, &slab, NULL, &error), ==,
                     batches[i].fits);
    if (!batches[i].fits)
      g_assert_error (error, TD_ERROR, TD_ERROR_DEVICE_BUG);
    g_clear_error (&error);
  }
  td_cone_task_clear (&task);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/cone-tasks/kept", test_kept);
  g_test_add_func ("/cone-tasks/rows-seen", test_rows_seen);
  g_test_add_func ("/cone-tasks/turned-limits", test_turned_limits);
  g_test_add_func ("/cone-tasks/upright-limits", test_upright_limits);
  g_test_add_func ("/cone-tasks/slices", test_slices);
  g_test_add_func ("/cone-tasks/arcs", test_arcs);
  g_test_add_func ("/cone-tasks/families", test_families);
  g_test_add_func ("/cone-tasks/reach", test_reach);
  g_test_add_func ("/cone-tasks/choice", test_choice);
  g_test_add_func ("/cone-tasks/kernels", test_kernels);
  g_test_add_func ("/cone-tasks/refused", test_refused);
  g_test_add_func ("/cone-tasks/room", test_room);
  return g_test_run ();
}
