/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The reference of a cone's slice in double precision: a formula written out here, FDK in plain
   double precision, and every kernel within its bound. Even and odd views add up to the slice. */
#include <math.h>
#include <string.h>

#include "compute/engine/fdk/fdk.h"
#include "compute/lab/lab-measure.h"
#include "compute/lab/lab-rows.h"
#include "compute/lab/lab-truth.h"
#include "compute/methods/methods.h"
#include "tests/common/cone-scan.h"
#include "tests/common/devices.h"
#include "tests/common/pipeline.h"

typedef struct {
  const char *name;
  guint n_columns, n_rows, n_views;
  double range_deg, offset_u, roll_deg;
  double swing_rad; /* the geometry gives a matrix for every view, which rolls by up to this */
  guint slice;
  gint region[4];
} Case;

static const Case cases[] = {
  { "turn", 41, 36, 30, 360, 0, 0, 0, 18, { 0 } },
  { "outer", 41, 36, 30, 360, 0, 0, 0, 2, { 0 } },
  { "region", 44, 36, 33, 360, 0.4, 0, 0, 9, { 5, 11, 20, 13 } },
  { "short", 45, 32, 41, 230, 0, 0, 0, 20, { 0 } },
  { "offset", 45, 32, 42, 360, 9, 0, 0, 13, { 0 } },
  { "offset-left", 45, 32, 42, 360, -9, 0, 0, 13, { 0 } },
  { "rolled", 43, 36, 34, 360, 0, 3, 0, 18, { 0 } },
  { "rolled-offset-short", 45, 37, 41, 230, 1, -4, 0, 25, { 3, 4, 30, 30 } },
  { "side", 36, 43, 34, 360, 0, 90, 0, 20, { 0 } },
  { "matrices", 41, 37, 36, 360, 0, 0, 0.02, 30, { 0 } },
  { "swings", 41, 37, 36, 360, 0, 0, 1.2, 20, { 0 } }, /* columns bound it in some views */
};

static TdEngine *engine;

static void
give_matrices (const Case *c, TdTestConeScan *measured)
{
  TdGeometry *geometry = &measured->geometry;
  double *matrices = g_new (double, 12 * (gsize) c->n_views);

  for (guint view = 0; view < c->n_views; view++) {
    TdGeometry one = *geometry;
    one.detector_offset_u_px += 0.6 * sin (view * 1.3);
    one.detector_tilt_rad[0] += 0.08 * c->swing_rad * cos (view * 0.3);
    one.detector_tilt_rad[1] += 0.05 * c->swing_rad * sin (view * 0.7);
    one.detector_tilt_rad[2] += c->swing_rad * sin (view * 0.4);
    td_cone_matrix (&one, measured->angles_rad[view], c->n_columns, c->n_rows,
                    matrices + 12 * (gsize) view);
  }
  geometry->view_matrices = matrices;
  geometry->n_view_matrices = c->n_views;
}

static void
measure (const Case *c, TdTestConeScan *measured)
{
  const TdGeometry geometry = { .beam = c->n_rows == 1 ? TD_BEAM_FAN : TD_BEAM_CONE,
                                .pixel_width_mm = 0.4,
                                .pixel_height_mm = 0.5,
                                .source_axis_mm = 100,
                                .source_detector_mm = 160,
                                .detector_offset_u_px = c->offset_u,
                                .detector_tilt_rad = { 0, 0, c->roll_deg * G_PI / 180 } };
  const guint size[3] = { c->n_columns, c->n_rows, c->n_views };

  td_test_cone_scan_begin (measured, &geometry, size, c->range_deg);
  td_test_random (measured->views, (gsize) c->n_views * c->n_rows * c->n_columns,
                  100 + c->n_columns);
  if (c->swing_rad > 0)
    give_matrices (c, measured);
  td_test_cone_scan_end (measured);
}

static void
choose_slice (const Case *c, TdRecipe *recipe)
{
  td_recipe_init (recipe);
  recipe->row_first = c->slice;
  recipe->row_end = c->slice + 1;
  memcpy (recipe->region, c->region, sizeof recipe->region);
}

static TdPlan *
plan_of (TdScan *scan, const TdRecipe *recipe)
{
  g_autoptr (GError) error = NULL;
  TdPlan *plan = td_plan_new (engine, scan, recipe, NULL, NULL, &error);

  g_assert_no_error (error);
  return plan;
}

static double *
truth_of (const TdPlan *plan, TdScan *scan, const TdLabShortcuts *cuts)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TdLabRows) rows = td_lab_rows_new (plan, engine, scan, NULL, &error);

  g_assert_no_error (error);
  double *truth = td_lab_truth (plan, td_lab_rows_data (rows), cuts, NULL, &error);
  g_assert_no_error (error);
  return truth;
}

/* ── A formula of its own ── */

/* Parker's weight of the ray at fan angle @fan of the view @beta behind the first. The ray is
   measured again at beta + pi - 2 fan, with the fan angle -fan. */
static double
parker (double beta, double fan, double over)
{
  if (beta < 2 * (over + fan))
    return pow (sin (G_PI / 4 * beta / (over + fan)), 2);
  if (beta > G_PI + 2 * fan)
    return pow (sin (G_PI / 4 * (G_PI + 2 * over - beta) / (over - fan)), 2);
  return 1;
}

/* Kak and Slaney's eq. 61, of samples one apart. */
static double
ramp (int n)
{
  return n == 0 ? 0.25 : n % 2 ? -1 / (G_PI * G_PI * n * n) : 0;
}

/* The weighted and filtered value of a column in a row @v_mm above the middle, on the axis. */
static double
filtered (const Case *c, const float *row, double v_mm, double beta, double pitch, int column)
{
  const double distance = 100,
               over = (c->range_deg / 360 * 2 * G_PI * (c->n_views - 1) / c->n_views - G_PI) / 2;
  double sum = 0;

  for (int k = 0; k < (int) c->n_columns; k++) {
    const double u_mm = (k - (c->n_columns - 1) / 2.0) * pitch;
    const double share = c->range_deg < 360 ? parker (beta, atan (u_mm / distance), over) : 0.5;
    sum += row[k] * share * distance / sqrt (distance * distance + u_mm * u_mm + v_mm * v_mm)
           * ramp (column - k);
  }
  return sum / pitch;
}

static double
pixel_by_hand (const Case *c, const TdTestConeScan *measured, double x, double y, double z)
{
  const double distance = 100, magnified = 1.6, wide = 0.4 / magnified, high = 0.5 / magnified;
  double sum = 0;

  for (guint view = 0; view < c->n_views; view++) {
    const double beta = measured->angles_rad[view];
    const double across = x * cos (beta) + y * sin (beta), depth = y * cos (beta) - x * sin (beta);
    const double zoom = distance / (distance + depth);
    const double u = across * zoom / wide + (c->n_columns - 1) / 2.0;
    const double v = (c->n_rows - 1) / 2.0 - z * zoom / high;
    for (int r = (int) floor (v); r <= (int) floor (v) + 1; r++)
      for (int k = (int) floor (u); k <= (int) floor (u) + 1; k++) {
        if (r < 0 || r >= (int) c->n_rows || k < 0 || k >= (int) c->n_columns)
          continue;
        const float *row = measured->views + ((gsize) view * c->n_rows + r) * c->n_columns;
        const double v_mm = (r - (c->n_rows - 1) / 2.0) * high;
        sum += zoom * zoom * (1 - fabs (u - k)) * (1 - fabs (v - r))
               * filtered (c, row, v_mm, beta - measured->angles_rad[0], wide, k);
      }
  }
  return sum * c->range_deg * G_PI / 180 / c->n_views;
}

static void
test_by_hand (gconstpointer data)
{
  const Case *c = data;
  const double side = 0.25; /* mm, of a voxel: a column on the axis */
  TdTestConeScan measured;
  TdRecipe recipe;
  double squares = 0, all = 0;

  measure (c, &measured);
  choose_slice (c, &recipe);
  g_autoptr (TdPlan) plan = plan_of (measured.scan, &recipe);
  g_autofree double *truth = truth_of (plan, measured.scan, NULL);
  const guint n = td_plan_facts (plan)->nx, half = (n - 1) / 2;
  g_assert_cmpuint (n, ==, c->n_columns);
  for (guint j = 0; j < n; j++)
    for (guint i = 0; i < n; i++) {
      const double want
          = pixel_by_hand (c, &measured, ((double) i - half) * side, (half - (double) j) * side,
                           ((td_cone_slices (c->n_rows, 1.25) - 1) / 2.0 - c->slice) * side);
      const double off = truth[(gsize) j * n + i] - want;
      squares += off * off;
      all += want * want;
    }
  g_test_message ("relative %.2e", sqrt (squares / all));
  g_assert_cmpfloat (sqrt (squares / all), <, 1e-12);
  td_test_cone_scan_clear (&measured);
}

/* ── Plain double precision ── */

static double *
plain_slice (const Case *c, const TdPlan *plan, const TdFilter *filter)
{
  const TdFdkInput *input = ((const TdFdkPlan *) plan->extra)->input;
  const guint nx = plan->facts.nx, ny = plan->facts.ny;
  double *slice = g_new (double, (gsize) nx *ny);
  TdTestConeScan measured;
  TdConeTask task;

  measure (c, &measured);
  if (input->turned)
    td_test_cone_scan_stand_up (&measured);
  const TdConePlain scan = td_test_cone_scan_plain (&measured);
  g_autofree double *volume
      = td_cone_plain_fdk (&scan, filter, input->task.tilted.n_rows > 0, &task);
  for (guint j = 0; j < ny; j++)
    memcpy (slice + (gsize) j * nx,
            volume + ((gsize) c->slice * task.ny + j + c->region[1]) * task.nx + c->region[0],
            nx * sizeof *slice);
  td_cone_task_clear (&task);
  td_test_cone_scan_clear (&measured);
  return slice;
}

static void
test_plain (gconstpointer data)
{
  const Case *c = data;
  TdLabDifference difference;
  TdTestConeScan measured;
  TdRecipe recipe;

  measure (c, &measured);
  choose_slice (c, &recipe);
  recipe.filter.kind = TD_FILTER_HANN;
  recipe.filter.cutoff = 0.8;
  g_autoptr (TdPlan) plan = plan_of (measured.scan, &recipe);
  g_autofree double *truth = truth_of (plan, measured.scan, NULL);
  g_autofree double *plain = plain_slice (c, plan, &recipe.filter);
  td_lab_difference_double (truth, plain, (gsize) plan->facts.nx * plan->facts.ny, &difference);
  g_test_message ("relative %.2e, largest %.2e", difference.relative_rms, difference.max_abs);
  /* The plain one's filtered rows are rounded to single precision. */
  g_assert_cmpfloat (difference.relative_rms, <, 3e-7);
  td_test_cone_scan_clear (&measured);
}

/* ── Kernels ── */

/* Rounded places weigh more, the more columns there are: far from the axis they are large. */
static const Case wide = { "wide", 1000, 6, 12, 360, 0, 0, 0, 3, { 860, 640, 60, 60 } };

/* Each kernel of each device, on random views, within its bound. */
static void
test_kernels (gconstpointer data)
{
  static const char *const kernels[] = { "host", "turned", "texture", "arithmetic", "standard" };
  const Case *c = data;
  g_autoptr (GPtrArray) devices = td_test_devices ();
  TdTestConeScan measured;
  TdRecipe recipe;
  guint n = 0;

  measure (c, &measured);
  for (guint i = 0; i < devices->len * G_N_ELEMENTS (kernels) * 2; i++) {
    TdLabDifference difference;
    TdTestVolume volume;
    choose_slice (c, &recipe);
    g_strlcpy (recipe.devices, devices->pdata[i / 2 / G_N_ELEMENTS (kernels)],
               sizeof recipe.devices);
    g_strlcpy (recipe.family, kernels[i / 2 % G_N_ELEMENTS (kernels)], sizeof recipe.family);
    recipe.precision = i % 2 ? TD_PRECISION_HALF : TD_PRECISION_SINGLE;
    if (!td_test_reconstruct (engine, measured.scan, &recipe, &volume, NULL))
      continue; /* the device has no such kernel */
    g_autoptr (TdPlan) plan = plan_of (measured.scan, &recipe);
    g_autofree double *truth = truth_of (plan, measured.scan, NULL);
    const TdFdkPlan *fdk = plan->extra;
    const double bound = td_cone_family_error_bound (fdk->scheme.families[0], &fdk->input->task,
                                                     plan->recipe.precision,
                                                     td_device_info (plan->devices->pdata[0]));
    td_lab_difference (volume.slices, truth, (gsize) volume.nx * volume.ny, &difference);
    g_test_message ("%s on %s, %s: %.2e, bound %.1e", recipe.family, recipe.devices,
                    td_precision_names[recipe.precision], difference.relative_rms, bound);
    g_assert_cmpfloat (difference.relative_rms, <, bound);
    td_test_volume_clear (&volume);
    n++;
  }
  g_assert_cmpuint (n, >, 0);
  td_test_cone_scan_clear (&measured);
}

/* Each shortcut makes an error of the size that it must. */
static void
test_shortcuts (void)
{
  static const struct {
    const char *name;
    TdLabShortcuts cuts;
    double least, most; /* relative, for random views */
  } all[] = {
    { "storage", { .half_storage = TRUE }, 1e-4, 3e-4 },
    { "weights", { .samples = 256 }, 1.5e-3, 5.5e-3 },
    { "sums", { .single_sums = TRUE }, 1e-8, 1e-6 },
    { "filter", { .single_filter = TRUE }, 1e-8, 1e-6 },
  };
  const Case *offset = &cases[4];
  TdTestConeScan measured;
  TdRecipe recipe;

  measure (offset, &measured);
  choose_slice (offset, &recipe);
  g_autoptr (TdPlan) plan = plan_of (measured.scan, &recipe);
  g_autofree double *truth = truth_of (plan, measured.scan, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (all); i++) {
    TdLabDifference difference;
    g_autofree double *cut = truth_of (plan, measured.scan, &all[i].cuts);
    td_lab_difference_double (cut, truth, (gsize) plan->facts.nx * plan->facts.ny, &difference);
    g_test_message ("%s: %.2e", all[i].name, difference.relative_rms);
    g_assert_cmpfloat (difference.relative_rms, >, all[i].least);
    g_assert_cmpfloat (difference.relative_rms, <, all[i].most);
  }
  td_test_cone_scan_clear (&measured);
}

/* ── Even and odd views ── */

/* Of fewer rows a tilted detector is resampled to fewer columns. Voxels outside of what all views
   see miss what the ramp makes beyond those. */
static double
bound_of_halves (const TdPlan *plan)
{
  const TdFdkInput *input = ((const TdFdkPlan *) plan->extra)->input;

  return input->task.tilted.n_rows > 0 ? 0.05 : 2e-6;
}

/* The slice of even views (0) or odd ones (1). */
static void
make_half (TdLabRows *rows, const TdPlan *plan, guint parity, float *slice)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TdPlan) part = td_lab_rows_half (rows, engine, plan, parity, NULL, &error);

  g_assert_no_error (error);
  g_autoptr (TdJob) job = td_job_new (part);
  td_job_set_slice (job, slice);
  g_assert_true (td_job_run (job, NULL, NULL));
}

/* Both halves' shares add up to the picture: neither weights nor places are others. */
static void
test_halves (gconstpointer data)
{
  const Case *c = data;
  g_autoptr (GError) error = NULL;
  TdLabDifference difference;
  TdTestVolume whole;
  TdTestConeScan measured;
  TdRecipe recipe;

  measure (c, &measured);
  choose_slice (c, &recipe);
  g_strlcpy (recipe.devices, "host", sizeof recipe.devices);
  g_assert_true (td_test_reconstruct (engine, measured.scan, &recipe, &whole, NULL));
  const gsize n = (gsize) whole.nx * whole.ny;
  g_autoptr (TdPlan) plan = plan_of (measured.scan, &recipe);
  g_autoptr (TdLabRows) rows = td_lab_rows_new (plan, engine, measured.scan, NULL, &error);
  g_assert_no_error (error);
  g_autofree float *half = g_new (float, n);
  g_autofree double *sum = g_new0 (double, n);
  for (guint parity = 0; parity < 2; parity++) {
    make_half (rows, plan, parity, half);
    for (gsize i = 0; i < n; i++)
      sum[i] += half[i];
  }
  td_lab_difference (whole.slices, sum, (gsize) whole.nx * whole.ny, &difference);
  g_test_message ("relative %.2e", difference.relative_rms);
  g_assert_cmpfloat (difference.relative_rms, <, bound_of_halves (plan));
  g_assert_cmpfloat (td_lab_rows_share (rows), ==, 2);
  td_test_volume_clear (&whole);
  td_test_cone_scan_clear (&measured);
}

/* Where every second view holds nothing, the slice is made of the others alone. */
static void
check_which_half (const Case *c, guint empty)
{
  g_autoptr (GError) error = NULL;
  TdLabDifference difference;
  TdTestConeScan measured;
  TdRecipe recipe;

  measure (c, &measured);
  const gsize view = (gsize) c->n_rows * c->n_columns;
  for (guint v = empty; v < c->n_views; v += 2)
    memset (measured.views + v * view, 0, view * sizeof *measured.views);
  choose_slice (c, &recipe);
  g_strlcpy (recipe.devices, "host", sizeof recipe.devices);
  g_autoptr (TdPlan) plan = plan_of (measured.scan, &recipe);
  g_autoptr (TdLabRows) rows = td_lab_rows_new (plan, engine, measured.scan, NULL, &error);
  g_assert_no_error (error);
  const gsize n = (gsize) plan->facts.nx * plan->facts.ny;
  g_autofree double *all = truth_of (plan, measured.scan, NULL);
  g_autofree float *half = g_new (float, n);
  make_half (rows, plan, !empty, half);
  td_lab_difference (half, all, (gsize) plan->facts.nx * plan->facts.ny, &difference);
  make_half (rows, plan, empty, half);
  for (gsize i = 0; i < n; i++)
    g_assert_cmpfloat (half[i], ==, 0);
  g_test_message ("relative %.2e", difference.relative_rms);
  g_assert_cmpfloat (difference.relative_rms, <, bound_of_halves (plan));
  td_test_cone_scan_clear (&measured);
}

static void
test_which_half (gconstpointer data)
{
  check_which_half (data, 0);
  check_which_half (data, 1);
}

/* ── Cost ── */

static void
test_cancel (void)
{
  const Case *c = &cases[0];
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GError) error = NULL;
  TdTestConeScan measured;
  TdRecipe recipe;

  measure (c, &measured);
  choose_slice (c, &recipe);
  g_autoptr (TdPlan) plan = plan_of (measured.scan, &recipe);
  g_autoptr (TdLabRows) rows = td_lab_rows_new (plan, engine, measured.scan, NULL, NULL);
  const double seconds = td_lab_truth_seconds (plan, td_lab_rows_data (rows));
  g_assert_cmpfloat (seconds, >, 0);
  g_cancellable_cancel (cancellable);
  g_assert_null (td_lab_truth (plan, td_lab_rows_data (rows), NULL, cancellable, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  td_test_cone_scan_clear (&measured);
}

int
main (int argc, char **argv)
{
  static const Case tiny[] = {
    { "turn", 11, 8, 9, 360, 0, 0, FALSE, 3, { 0 } },
    { "short", 11, 7, 16, 220, 0, 0, FALSE, 5, { 0 } },
    { "fan", 11, 1, 12, 360, 0, 0, FALSE, 0, { 0 } },
  };

  g_test_init (&argc, &argv, NULL);
  engine = td_engine_new (td_methods);
  for (guint i = 0; i < G_N_ELEMENTS (tiny); i++) {
    g_autofree char *name = g_strconcat ("/lab-cone/by-hand/", tiny[i].name, NULL);
    g_test_add_data_func (name, &tiny[i], test_by_hand);
  }
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autofree char *plain = g_strconcat ("/lab-cone/plain/", cases[i].name, NULL);
    g_autofree char *kernels = g_strconcat ("/lab-cone/kernels/", cases[i].name, NULL);
    g_autofree char *halves = g_strconcat ("/lab-cone/halves/", cases[i].name, NULL);
    g_test_add_data_func (plain, &cases[i], test_plain);
    g_test_add_data_func (kernels, &cases[i], test_kernels);
    g_test_add_data_func (halves, &cases[i], test_halves);
  }
  g_test_add_data_func ("/lab-cone/which-half/even", &cases[0], test_which_half);
  g_test_add_data_func ("/lab-cone/which-half/odd", &cases[3], test_which_half);
  g_test_add_data_func ("/lab-cone/which-half/matrices", &cases[9], test_which_half);
  g_test_add_data_func ("/lab-cone/kernels/wide", &wide, test_kernels);
  g_test_add_func ("/lab-cone/shortcuts", test_shortcuts);
  g_test_add_func ("/lab-cone/cancel", test_cancel);
  const int status = g_test_run ();
  td_engine_unref (engine);
  return status;
}
