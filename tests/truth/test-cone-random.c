/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compute/methods/methods.h"
#include "dataset/random.h"
#include "tests/common/cases.h"
#include "tests/common/cone-plain.h"
#include "tests/common/cone-slabs.h"
#include "tests/common/devices.h"
#include "tests/common/pipeline.h"

/* Random geometries: families of back-projection, and whole jobs on devices with little memory,
   agree with the plain way in double precision. The suite "slow" sets --first and --cases. */

#define SMALLEST_DEPTH 0.25 /* nearer to the source, and behind it, voxels are not compared */

static guint64 first_seed = 1;
static int n_cases = 20;
static TdEngine *engine;

static double
between (TdRandom *random, double low, double high)
{
  return low + (high - low) * td_random_uniform (random);
}

static guint
any_of (TdRandom *random, guint n)
{
  return MIN ((guint) (n * td_random_uniform (random)), n - 1);
}

static gboolean
chance (TdRandom *random, double p)
{
  return td_random_uniform (random) < p;
}

/* ── Geometries ── */

static double
magnification (TdRandom *random)
{
  return chance (random, 0.2) ? 1 + between (random, 0.001, 0.05) : between (random, 1.1, 6);
}

static void
random_geometry (TdRandom *random, guint n_columns, guint n_rows, double tilted,
                 TdGeometry *geometry)
{
  const double size = MAX (n_columns, n_rows);

  *geometry = (TdGeometry) { .beam = n_rows == 1 ? TD_BEAM_FAN : TD_BEAM_CONE,
                             .pixel_width_mm = between (random, 0.1, 1) };
  geometry->pixel_height_mm
      = geometry->pixel_width_mm * (chance (random, 0.5) ? 1 : between (random, 0.4, 2.5));
  const double pixel = MAX (geometry->pixel_width_mm, geometry->pixel_height_mm);
  geometry->source_detector_mm
      = size * pixel * (chance (random, 0.3) ? between (random, 1, 2) : between (random, 2, 20));
  geometry->source_axis_mm = geometry->source_detector_mm / magnification (random);
  if (chance (random, 0.5))
    geometry->detector_offset_v_px = between (random, -0.4, 0.4) * n_rows;
  if (chance (random, 0.5))
    geometry->detector_offset_u_px = between (random, -0.04, 0.04) * n_columns;
  if (chance (random, tilted))
    for (guint i = 0; i < 3; i++)
      geometry->detector_tilt_rad[i] = between (random, -0.25, 0.25);
}

/* ── Families ── */

/* Matrices of any scale, some of a gantry that shakes; weights of any size; a volume anywhere. */
static void
random_task (TdRandom *random, TdConeTask *task)
{
  const guint n_columns = 1 + any_of (random, 60), n_rows = 1 + any_of (random, 80);
  const guint n_views
      = chance (random, 0.5) ? 4 * (1 + any_of (random, 8)) : 1 + any_of (random, 30);
  g_autofree double *angles = g_new (double, n_views);
  g_autoptr (GError) error = NULL;
  TdGeometry geometry;

  random_geometry (random, n_columns, n_rows, 0.3, &geometry);
  const double first = between (random, 0, 7), even = chance (random, 0.7);
  for (guint v = 0; v < n_views; v++)
    angles[v] = even ? first + 2 * G_PI * v / n_views : between (random, -10, 10);
  td_cone_task_init_rays (task, &geometry, angles, n_views, n_columns, n_rows, &error);
  g_assert_no_error (error);
  const double scale = between (random, 1e-3, 10);
  for (guint v = 0; v < n_views; v++)
    task->view_weights[v] = even                    ? scale
                            : chance (random, 0.05) ? 0
                                                    : scale * between (random, 0.1, 1);
  td_cone_task_set_volume (task, 1 + any_of (random, 48), 1 + any_of (random, 48),
                           1 + any_of (random, 80),
                           task->pitch_mm * (chance (random, 0.5) ? 1 : between (random, 0.2, 3)));
  if (chance (random, 0.4)) /* a region */
    for (guint i = 0; i < 3; i++)
      task->first_mm[i] += rint (between (random, -40, 40)) * task->voxel_mm;
}

/* The least depth of each voxel, of all views: FALSE if it is too near to a source to be compared.
 */
static gboolean
far_enough (const TdConeTask *task, guint i, guint j, guint k)
{
  const double point[3]
      = { task->first_mm[0] + i * task->voxel_mm, task->first_mm[1] - j * task->voxel_mm,
          task->first_mm[2] - k * task->voxel_mm };

  for (guint v = 0; v < task->n_views; v++) {
    double u, row, w;
    td_cone_project (task->matrices + 12 * (gsize) v, point, &u, &row, &w);
    if (fabs (w) < SMALLEST_DEPTH)
      return FALSE;
  }
  return TRUE;
}

/* What the views add to a voxel at the most, whatever the weights of interpolation are. An error of
 * a weight is a part of that, also where the values fade beyond the detector's edge. */
typedef struct {
  double sum;  /* of all views */
  double root; /* of the sum of their squares */
} Reach;

/* The largest absolute value of the pixels that a place lies between, if it may be off by a
 * hundredth of a pixel. 0 if they are all beyond the edge. */
static float
largest_near (const TdConeTask *task, const float *view, double u, double row)
{
  const double first_row = MAX (floor (row - 0.01), 0), first_column = MAX (floor (u - 0.01), 0);
  const double last_row = MIN (floor (row + 0.01) + 1, task->n_rows - 1.0);
  const double last_column = MIN (floor (u + 0.01) + 1, task->n_columns - 1.0);
  float most = 0;

  for (double r = first_row; r <= last_row; r++)
    for (double c = first_column; c <= last_column; c++)
      most = MAX (most, fabsf (view[(gsize) r * task->n_columns + (gsize) c]));
  return most;
}

static Reach
reach_of (const TdConeTask *task, const float *projections, const double point[3])
{
  const gsize pixels = (gsize) task->n_rows * task->n_columns;
  Reach reach = { 0 };

  for (guint v = 0; v < task->n_views; v++) {
    double u, row, w;
    td_cone_project (task->matrices + 12 * (gsize) v, point, &u, &row, &w);
    const double most = w > 0 ? task->view_weights[v] / (w * w)
                                    * largest_near (task, projections + v * pixels, u, row)
                              : 0;
    reach.sum += most;
    reach.root = hypot (reach.root, most);
  }
  return reach;
}

static Reach *
reaches (const TdConeTask *task, const float *projections)
{
  Reach *all = g_new (Reach, (gsize) task->nz * task->ny * task->nx);

  for (guint k = 0; k < task->nz; k++)
    for (guint j = 0; j < task->ny; j++)
      for (guint i = 0; i < task->nx; i++) {
        const double point[3]
            = { task->first_mm[0] + i * task->voxel_mm, task->first_mm[1] - j * task->voxel_mm,
                task->first_mm[2] - k * task->voxel_mm };
        all[((gsize) k * task->ny + j) * task->nx + i] = reach_of (task, projections, point);
      }
  return all;
}

/* Relative to the mean square of all voxels' that are compared; 0 if there are none. With a reach
 * it is relative to that, for which a family's bound holds wherever the detector ends. */
static double
task_error (const TdConeTask *task, const float *got, const double *truth, const Reach *reach)
{
  double off = 0, norm = 0;

  for (guint k = 0; k < task->nz; k++)
    for (guint j = 0; j < task->ny; j++)
      for (guint i = 0; i < task->nx; i++) {
        const gsize at = ((gsize) k * task->ny + j) * task->nx + i;
        if (!far_enough (task, i, j, k))
          continue;
        off += pow (got[at] - truth[at], 2);
        norm += pow (reach ? reach[at].root : truth[at], 2);
      }
  return norm > 0 ? sqrt (off / norm) : sqrt (off);
}

/* Whether each voxel is off by no more than weights of 8 bits explain: 2^-8 in each direction, of
 * the difference of two neighbours. */
static gboolean
within_weights (const TdConeTask *task, const float *got, const double *truth, const Reach *reach)
{
  const gsize n = (gsize) task->nz * task->ny * task->nx;

  for (gsize at = 0; at < n; at++) {
    const guint i = (guint) (at % task->nx), j = (guint) (at / task->nx % task->ny),
                k = (guint) (at / task->nx / task->ny);
    if (far_enough (task, i, j, k) && !(fabs (got[at] - truth[at]) <= reach[at].sum / 64))
      return FALSE;
  }
  return TRUE;
}

static void
test_families (void)
{
  g_autoptr (GPtrArray) ids = td_test_devices ();
  guint failures = 0, runs = 0;

  for (int c = 0; c < n_cases; c++) {
    TdRandom random;
    TdConeTask task;

    td_random_init (&random, first_seed + (guint64) c, 1);
    random_task (&random, &task);
    const gsize samples = (gsize) task.nz * task.ny * task.nx;
    const gsize pixels = (gsize) task.n_views * task.n_rows * task.n_columns;
    g_autofree float *projections = g_new (float, pixels), *got = g_new (float, samples);
    g_autofree double *truth = g_new (double, samples);
    td_random_noise (projections, pixels, first_seed + (guint64) c);
    td_cone_reference (&task, projections, truth);
    g_autofree Reach *reach = reaches (&task, projections);
    for (guint d = 0; d < MIN (ids->len, 2); d++) {
      g_autoptr (TdDevice) device = td_test_open (ids->pdata[d]);
      for (const TdConeFamily *const *f = td_cone_families (); *f; f++)
        for (TdPrecision precision = TD_PRECISION_SINGLE; precision <= TD_PRECISION_HALF;
             precision++) {
          if ((*f)->unsupported (&task, precision, td_device_info (device)))
            continue;
          const guint sets = task.n_views / (*f)->symmetric_views (&task, precision);
          const guint slab = 1 + any_of (&random, task.nz), batch = 1 + any_of (&random, sets);
          const gboolean exact
              = td_test_cone_exact ((*f)->name, precision, td_device_info (device));
          td_test_cone_slabs (&(TdTestConeSlabs) { *f, device, precision, slab, batch }, &task,
                              projections, got);
          const double bound
              = exact ? td_cone_family_error_bound (*f, &task, precision, td_device_info (device))
                      : 1e-2;
          const double rms = task_error (&task, got, truth, exact ? reach : NULL);
          runs++;
          if (!(rms <= bound) && (exact || !within_weights (&task, got, truth, reach))) {
            failures++;
            g_test_message (
                "FAILED: seed %" G_GUINT64_FORMAT ", %s, %s, precision %d, slabs of %u, batches "
                "of %u: relative RMS %.2e; detector %u x %u, %u views, volume %u x %u x %u, "
                "upright %d",
                first_seed + (guint64) c, (char *) ids->pdata[d], (*f)->name, precision, slab,
                batch, rms, task.n_columns, task.n_rows, task.n_views, task.nx, task.ny, task.nz,
                td_cone_upright (&task));
          }
        }
    }
    td_cone_task_clear (&task);
  }
  g_test_message ("%u runs, %u failed", runs, failures);
  if (failures > 0)
    g_test_fail ();
}

/* ── Jobs ── */

typedef struct {
  TdConePlain plain;
  TdGeometry geometry;
  double *angles_rad;
  float *views;
  /* The same scan as another program would have told it: views in another order, angles of other
     turns, matrices of any scale for the circle. */
  TdGeometry told;
  double *told_angles;
  float *told_views;
  TdScan *scan;
} Scan;

static double
widest_fan (const TdGeometry *geometry, guint n_columns, guint n_rows)
{
  double m[12], widest = 0;
  TdConeFan fan;

  td_cone_matrix (geometry, 0, n_columns, n_rows, m);
  td_cone_matrix_normalise (m);
  g_assert_true (td_cone_fan (m, &fan));
  for (guint i = 0; i < 4; i++)
    widest = MAX (widest, fabs (td_cone_fan_angle (&fan, i & 1 ? n_columns - 1.0 : 0,
                                                   i & 2 ? n_rows - 1.0 : 0)));
  return widest;
}

/* A full turn, a short scan, or an offset detector; either way round. */
static void
random_turn (TdRandom *random, Scan *scan)
{
  const guint n_views = scan->plain.n_views;
  const double first = between (random, -4, 4);
  double range = 2 * G_PI, step;

  if (chance (random, 0.4)) {
    const double least
        = G_PI + 2 * widest_fan (&scan->geometry, scan->plain.n_columns, scan->plain.n_rows);
    const double most = 2 * G_PI * (1 - 2.0 / n_views);
    if (least < most)
      range = between (random, least, most);
  } else if (chance (random, 0.3) && scan->plain.n_columns > 8) {
    scan->geometry.detector_offset_u_px
        = (chance (random, 0.5) ? 1 : -1) * between (random, 0.1, 0.4) * scan->plain.n_columns;
  }
  step = range / (range == 2 * G_PI ? n_views : n_views - 1) * (chance (random, 0.3) ? -1 : 1);
  for (guint v = 0; v < n_views; v++)
    scan->angles_rad[v] = first + step * v;
}

static void
tell (TdRandom *random, Scan *scan)
{
  const guint n = scan->plain.n_views;
  const gsize pixels = (gsize) scan->plain.n_rows * scan->plain.n_columns;
  /* The level detector's pixels lie where rounding may decide, so that a tilted one is told as it
   * is. */
  const double often = scan->geometry.detector_tilt_rad[0] == 0 ? 0.3 : 0;
  const gboolean shuffled = chance (random, often), matrices = chance (random, often);
  const gboolean wrapped = chance (random, often), turns = chance (random, often / 3);
  g_autofree guint *from = g_new (guint, n);

  for (guint v = 0; v < n; v++)
    from[v] = v;
  for (guint v = n; shuffled && v-- > 1;) {
    const guint other = any_of (random, v + 1), kept = from[v];
    from[v] = from[other];
    from[other] = kept;
  }
  scan->told = scan->geometry;
  scan->told_angles = g_new (double, n);
  scan->told_views = g_new (float, n *pixels);
  if (matrices) {
    scan->told.view_matrices = g_new (double, 12 * (gsize) n);
    scan->told.n_view_matrices = n;
  }
  for (guint v = 0; v < n; v++) {
    const double angle = scan->angles_rad[from[v]];
    const double scale = between (random, 1e-3, 100) * (chance (random, 0.3) ? -1 : 1);
    double *m = scan->told.view_matrices + 12 * (gsize) v;

    scan->told_angles[v] = wrapped ? fmod (angle + 8 * G_PI, 2 * G_PI) : angle;
    if (turns)
      scan->told_angles[v] += 2 * G_PI * any_of (random, 3);
    memcpy (scan->told_views + v * pixels, scan->views + from[v] * pixels, pixels * sizeof (float));
    if (matrices)
      td_cone_matrix (&scan->geometry, angle, scan->plain.n_columns, scan->plain.n_rows, m);
    for (guint i = 0; matrices && i < 12; i++)
      m[i] *= scale;
  }
}

/* The slices of matrices lie about their origin, wherever the detector stands: so do the truth's.
 */
static void
stay_at_origin (Scan *scan)
{
  g_autoptr (GError) error = NULL;
  TdConeTask task;

  td_cone_task_init (&task, &scan->geometry, scan->angles_rad, scan->plain.n_views,
                     scan->plain.n_columns, scan->plain.n_rows, &error);
  g_assert_no_error (error);
  scan->geometry.volume_size[0] = task.nx;
  scan->geometry.volume_size[1] = task.ny;
  scan->geometry.volume_size[2] = task.nz;
  scan->geometry.voxel_mm = task.voxel_mm;
  td_cone_task_clear (&task);
}

static void
random_scan (TdRandom *random, Scan *scan)
{
  const guint n_columns = 3 + any_of (random, 50),
              n_rows = chance (random, 0.15) ? 1 : 2 + any_of (random, 45);
  const guint n_views = 16 + any_of (random, 32);

  *scan = (Scan) { .plain = { NULL, NULL, n_columns, n_rows, n_views, NULL } };
  random_geometry (random, n_columns, n_rows, 0.25, &scan->geometry);
  scan->plain.geometry = &scan->geometry;
  scan->plain.angles_rad = scan->angles_rad = g_new (double, n_views);
  random_turn (random, scan);
  scan->plain.views = scan->views = g_new (float, (gsize) n_views *n_rows *n_columns);
  for (gsize i = 0; i < (gsize) n_views * n_rows * n_columns; i++)
    scan->views[i] = (float) (between (random, 0.5, 1.5) + sin (i % n_columns * 0.3));
  tell (random, scan);
  if (scan->told.view_matrices)
    stay_at_origin (scan);
  const TdScanFacts facts = {
    .n_columns = n_columns,
    .n_rows = n_rows,
    .n_views = n_views,
    .sample_type = TD_SAMPLE_FLOAT32,
    .transmission_logged = TRUE,
    .in_memory = chance (random, 0.7),
    .angles_rad = scan->told_angles,
    .centre_px = NAN,
    .geometry = scan->told,
  };
  scan->scan = td_scan_new_from_memory (&facts, scan->told_views, NULL, NULL, NULL, NULL);
}

static void
scan_clear (Scan *scan)
{
  td_scan_unref (scan->scan);
  g_free (scan->told.view_matrices);
  g_free (scan->told_angles);
  g_free (scan->told_views);
  g_free (scan->angles_rad);
  g_free (scan->views);
}

/* The devices of a job: one, or two. @ids has the host first. (transfer full) */
static char *
random_devices (TdRandom *random, GPtrArray *ids)
{
  const char *host = ids->pdata[0], *first = ids->len > 1 ? ids->pdata[1] : NULL;
  const char *second = ids->len > 2 ? ids->pdata[2] : NULL;

  if (second && strncmp (first, second, 4) != 0)
    second = NULL; /* perhaps the same card, through another interface */
  switch (any_of (random, second ? 4 : first ? 3 : 1)) {
  case 0: return g_strdup (host);
  case 1: return g_strdup (first);
  case 2: return g_strjoin (",", host, first, NULL);
  default: return g_strjoin (",", first, second, NULL);
  }
}

static void
random_recipe (TdRandom *random, GPtrArray *ids, TdRecipe *recipe)
{
  static const char *const kernels[]
      = { "auto", "auto", "standard", "arithmetic", "texture", "turned" };

  td_recipe_init (recipe);
  g_autofree char *devices = random_devices (random, ids);
  g_strlcpy (recipe->devices, devices, sizeof recipe->devices);
  if (!strstr (recipe->devices, "host"))
    g_strlcpy (recipe->family, kernels[any_of (random, G_N_ELEMENTS (kernels))],
               sizeof recipe->family);
  recipe->share = any_of (random, 3);
  recipe->filter_on = any_of (random, 3);
  recipe->filter.kind = any_of (random, 3) ? TD_FILTER_RAM_LAK : TD_FILTER_HANN;
  recipe->filter.cutoff = chance (random, 0.5) ? 1 : between (random, 0.3, 1);
  recipe->precision = chance (random, 0.2) && strcmp (recipe->family, "auto") ? TD_PRECISION_HALF
                                                                              : TD_PRECISION_SINGLE;
}

/* Slices, a part of each, and little memory, as they fit what comes out. */
static TdPlan *
random_plan (TdRandom *random, const Scan *scan, const TdConeTask *task, TdRecipe *recipe)
{
  g_autoptr (GError) error = NULL;

  if (chance (random, 0.3)) {
    recipe->row_first = any_of (random, task->nz);
    recipe->row_end = recipe->row_first + 1 + any_of (random, task->nz - recipe->row_first);
  }
  if (chance (random, 0.3)) {
    recipe->region[0] = (gint) any_of (random, task->nx);
    recipe->region[1] = (gint) any_of (random, task->ny);
    recipe->region[2] = 1 + (gint) any_of (random, task->nx - (guint) recipe->region[0]);
    recipe->region[3] = 1 + (gint) any_of (random, task->ny - (guint) recipe->region[1]);
  }
  if (chance (random, 0.6))
    recipe->memory_limit_bytes = (guint64) (32768 * exp2 (between (random, 0, 7)));
  for (;;) {
    g_clear_error (&error);
    TdPlan *plan = td_plan_new (engine, scan->scan, recipe, NULL, NULL, &error);
    if (plan)
      return plan;
    if (g_error_matches (error, TD_ERROR, TD_ERROR_INVALID) && strcmp (recipe->family, "auto")) {
      g_strlcpy (recipe->family, "auto", sizeof recipe->family);
      recipe->precision = TD_PRECISION_SINGLE;
    } else if (recipe->memory_limit_bytes) {
      recipe->memory_limit_bytes *= 2;
    } else {
      g_test_message ("refused: %s", error->message);
      return NULL;
    }
  }
}

/* Of the slices and the region asked for. */
static double
job_error (const TdTestVolume *volume, const TdPlan *plan, const TdConeTask *task,
           const double *truth)
{
  const TdRecipe *recipe = td_plan_recipe (plan);
  double off = 0, norm = 0;

  for (guint k = 0; k < volume->n_slices; k++)
    for (guint j = 0; j < volume->ny; j++)
      for (guint i = 0; i < volume->nx; i++) {
        const guint x = i + (recipe->region[2] ? (guint) recipe->region[0] : 0);
        const guint y = j + (recipe->region[2] ? (guint) recipe->region[1] : 0),
                    z = k + recipe->row_first;
        const double value = truth[((gsize) z * task->ny + y) * task->nx + x];
        if (!far_enough (task, x, y, z))
          continue;
        off += pow (volume->slices[((gsize) k * volume->ny + j) * volume->nx + i] - value, 2);
        norm += value * value;
      }
  /* A few voxels may hold next to nothing: the whole volume's mean is what is small then. */
  for (gsize i = 0; i < (gsize) task->nz * task->ny * task->nx; i++)
    norm = MAX (norm, 1e-4 * truth[i] * truth[i] * volume->n_slices * volume->ny * volume->nx);
  return norm > 0 ? sqrt (off / norm) : sqrt (off);
}

/* Whether each device of the recipe interpolates in single precision. */
static gboolean
is_exact (const TdRecipe *recipe)
{
  g_auto (GStrv) ids = g_strsplit (recipe->devices, ",", -1);
  gboolean exact = TRUE;

  for (guint i = 0; ids[i]; i++) {
    g_autoptr (TdDevice) device = td_test_open (ids[i]);
    exact
        = exact && td_test_cone_exact (recipe->family, recipe->precision, td_device_info (device));
  }
  return exact;
}

/* FALSE: it came out wrong. */
static gboolean
run_job (TdRandom *random, guint64 seed, const Scan *scan, GPtrArray *ids)
{
  g_autoptr (GError) error = NULL;
  TdTestVolume volume;
  TdConeTask task, own;
  TdRecipe recipe;

  random_recipe (random, ids, &recipe);
  td_cone_task_init (&own, scan->plain.geometry, scan->angles_rad, scan->plain.n_views,
                     scan->plain.n_columns, scan->plain.n_rows, &error);
  g_assert_no_error (error);
  g_autoptr (TdPlan) plan = random_plan (random, scan, &own, &recipe);
  td_cone_task_clear (&own);
  if (!plan)
    return FALSE;
  g_autofree char *notes = td_messages_join (td_plan_facts (plan)->notes, "\n", NULL);
  const gboolean level = strstr (notes, "resampled to those of a level detector") != NULL;
  g_autofree double *truth = td_cone_plain_fdk (&scan->plain, &recipe.filter, level, &task);
  double rms = NAN;

  const gboolean ran = td_test_reconstruct (engine, scan->scan, &recipe, &volume, &error);
  if (ran)
    rms = job_error (&volume, plan, &task, truth);
  const gboolean good = ran && rms <= (is_exact (&recipe) ? 2e-5 : 2e-2);
  const TdPlanFacts *facts = td_plan_facts (plan);
  const gboolean within = !ran
                          || (volume.result.host_peak_bytes <= facts->host_bytes
                              && volume.result.device_peak_bytes <= facts->device_bytes);
  if (!good || !within)
    g_test_message (
        "FAILED: seed %" G_GUINT64_FORMAT
        ", %s, %s, precision %d, share %d, filter on %d, limit %" G_GUINT64_FORMAT
        ": relative RMS %.2e%s%s; host %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT
        ", device %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT
        " bytes; detector %u x %u, %u views, volume %u x %u x %u; redundancy %d, level %d\n%s",
        seed, recipe.devices, recipe.family, recipe.precision, recipe.share, recipe.filter_on,
        recipe.memory_limit_bytes, rms, ran ? "" : ": ", ran ? "" : error->message,
        ran ? volume.result.host_peak_bytes : 0, facts->host_bytes,
        ran ? volume.result.device_peak_bytes : 0, facts->device_bytes, scan->plain.n_columns,
        scan->plain.n_rows, scan->plain.n_views, task.nx, task.ny, task.nz, task.redundancy.kind,
        level, notes);
  if (ran)
    td_test_volume_clear (&volume);
  td_cone_task_clear (&task);
  return good && within;
}

static void
test_jobs (void)
{
  g_autoptr (GPtrArray) ids = td_test_devices ();
  guint failures = 0;

  for (int c = 0; c < n_cases; c++) {
    TdRandom random;
    Scan scan;

    td_random_init (&random, first_seed + (guint64) c, 2);
    random_scan (&random, &scan);
    failures += !run_job (&random, first_seed + (guint64) c, &scan, ids);
    scan_clear (&scan);
  }
  g_test_message ("%d jobs, %u failed", n_cases, failures);
  if (failures > 0)
    g_test_fail ();
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  const GOptionEntry options[] = {
    { "first", 0, 0, G_OPTION_ARG_INT64, &first_seed, NULL, NULL },
    { "cases", 0, 0, G_OPTION_ARG_INT, &n_cases, NULL, NULL },
    { NULL },
  };

  td_test_options (&argc, &argv, options);
  engine = td_engine_new (td_methods);
  g_test_add_func ("/cone-random/families", test_families);
  g_test_add_func ("/cone-random/jobs", test_jobs);
  const int status = g_test_run ();
  td_engine_unref (engine);
  return status;
}
