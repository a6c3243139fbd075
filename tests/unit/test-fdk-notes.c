/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What plans for cone beams say, just inside and just outside of where it applies; and the stages
   that jobs of each method tell of. */
#include <math.h>
#include <string.h>

#include "compute/engine/engine-private.h"
#include "compute/engine/fdk/fdk.h"
#include "compute/engine/job.h"
#include "compute/methods/methods.h"
#include "dataset/scan-private.h"
#include "engine-scans.h"
#include "test-folder.h"
#include "tests/common/devices.h"

#define COLUMNS 64
#define ROWS 48
#define VIEWS 48
#define PITCH_MM (0.4 * 300 / 450) /* of a voxel */

/* Line integrals of @value everywhere. */
static float values[VIEWS * ROWS * COLUMNS];

static double offset_v; /* of the next scan's detector */

static TdScan *
cone_scan (double offset_u, double roll_deg, double value)
{
  g_autoptr (GError) error = NULL;
  double angles[VIEWS];
  const TdScanFacts facts
      = { .n_columns = COLUMNS,
          .n_rows = ROWS,
          .n_views = VIEWS,
          .sample_type = TD_SAMPLE_FLOAT32,
          .transmission_logged = TRUE,
          .angles_rad = angles,
          .centre_px = NAN,
          .geometry = { .beam = TD_BEAM_CONE,
                        .pixel_width_mm = 0.4,
                        .pixel_height_mm = 0.4,
                        .source_axis_mm = 300,
                        .source_detector_mm = 450,
                        .detector_offset_u_px = offset_u,
                        .detector_offset_v_px = offset_v,
                        .detector_tilt_rad = { 0, 0, roll_deg * G_PI / 180 } } };

  for (guint v = 0; v < VIEWS; v++)
    angles[v] = 2 * G_PI * v / VIEWS;
  for (guint i = 0; i < G_N_ELEMENTS (values); i++)
    values[i] = (float) value;
  TdScan *scan = td_scan_new_from_memory (&facts, values, NULL, NULL, NULL, &error);
  g_assert_no_error (error);
  return scan;
}

typedef struct {
  double offset_u, roll_deg, value;
  const char *option; /* "name=value"; NULL: none */
  const char *says, *silent;
} Case;

#define OFF "columns off the detector's middle"
#define LEAN "too little for resampling"
#define TILTED "The detector is tilted"
#define HALF "Half storage keeps"
#define RUN "\"half-run\", which was asked for, is done as \"half\""

static const Case cases[] = {
  { 0, 0, 1, NULL, "Detector rows 0 to 47 are filtered by the CPU into host memory.", OFF },
  { 0, 0, 1, NULL, " slices are back-projected from batches of ", LEAN },
  { 1.01, 0, 1, NULL,
    "The axis is 1.0 columns off the detector's middle: values are right within "
    "8.264 mm",
    TILTED },
  { -1.5, 0, 1, NULL,
    "The axis is 1.5 columns off the detector's middle: values are right within "
    "8.133 mm",
    NULL },
  { 0.99, 0, 1, NULL, "Detector rows", OFF },
  { -0.99, 0, 1, NULL, "Detector rows", OFF },
  /* Over its height it moves the axis by a thousandth of a column. */
  { 0, 0.0013, 1, NULL, TILTED, LEAN },
  { 0, 0.0011, 1, NULL, "Detector rows", TILTED },
  { 0, 3, 1, NULL, "The detector is tilted (its rows lean by up to 3 degrees", LEAN },
  { 0, 0, 1, NULL, "Detector rows", HALF },
  { 0, 0, 1, "precision=half", "Half storage keeps filtered values times 2^5,", RUN },
  { 0, 0, 31.9, "precision=half", "times 2^1,", NULL },
  { 0, 0, 32, "precision=half", "Detector rows", HALF },
  { 0, 0, 63.9, "precision=half", "Detector rows", HALF },
  { 0, 0, 64, "precision=half", "times 2^-1,", NULL },
  { 0, 0, -64, "precision=half", "times 2^-1,", NULL },
  { 0, 0, 1e-20, "precision=half", "times 2^40,", NULL },
  { 0, 0, 1e20, "precision=half", "times 2^-40,", NULL },
  { 0, 0, 0, "precision=half", "Detector rows", HALF },
  { 0, 0, 1, "precision=half-run", RUN, NULL },
};

static void
test_case (gconstpointer data)
{
  const Case *case_ = data;
  g_autoptr (TdScan) scan = cone_scan (case_->offset_u, case_->roll_deg, case_->value);
  g_autoptr (GError) error = NULL;
  TdRecipe recipe;

  recipe_init (&recipe, case_->option ? "opencl:0" : "host", NAN);
  recipe.filter_on = TD_FILTER_ON_CPU;
  if (case_->option && !have_opencl ()) {
    g_test_skip ("no OpenCL device");
    return;
  }
  if (case_->option) {
    g_assert_true (td_recipe_set (&recipe, "kernel", "texture", &error));
    g_assert_true (td_recipe_set (&recipe, "precision", strchr (case_->option, '=') + 1, &error));
  }
  /* The device's textures are not used by a plan alone. */
  g_autoptr (GPtrArray) devices = td_engine_devices (engine, recipe.devices, NULL);
  TdDeviceInfo *info = &((TdDevice *) devices->pdata[0])->info, real = *info;
  if (case_->option) {
    info->texels = ~0u;
    info->texture_linear = TRUE;
  }
  g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe, NULL, NULL, &error);
  *info = real;
  g_assert_no_error (error);
  g_autofree char *notes = td_messages_join (plan->facts.notes, "\n", NULL);
  g_test_message ("%s", notes);
  g_assert_nonnull (strstr (notes, case_->says));
  if (case_->silent)
    g_assert_null (strstr (notes, case_->silent));
}

/* ── The volume ── */

/* Slices and a region lie where they lie in the whole volume. */
static void
test_part (void)
{
  g_autoptr (TdScan) scan = cone_scan (0, 0, 1);
  g_autoptr (GError) error = NULL;
  TdRecipe recipe;

  recipe_init (&recipe, "host", NAN);
  g_autoptr (TdPlan) whole = td_plan_new (engine, scan, &recipe, NULL, NULL, &error);
  recipe.row_first = 10;
  recipe.row_end = 17;
  const gint region[] = { 5, 7, 20, 30 };
  memcpy (recipe.region, region, sizeof region);
  g_autoptr (TdPlan) part = td_plan_new (engine, scan, &recipe, NULL, NULL, &error);
  g_assert_no_error (error);
  const TdFdkInput *all = ((const TdFdkPlan *) whole->extra)->input;
  const TdFdkInput *some = ((const TdFdkPlan *) part->extra)->input;
  const TdPlanFacts *facts = &part->facts;
  const double step = all->task.voxel_mm;

  g_assert_cmpfloat_with_epsilon (step, PITCH_MM, 1e-9);
  g_assert_cmpfloat_with_epsilon (some->task.voxel_mm, step, 1e-12);
  g_assert_cmpfloat_with_epsilon (some->task.first_mm[0], all->task.first_mm[0] + 5 * step, 1e-9);
  g_assert_cmpfloat_with_epsilon (some->task.first_mm[1], all->task.first_mm[1] - 7 * step, 1e-9);
  g_assert_cmpfloat_with_epsilon (some->task.first_mm[2], all->task.first_mm[2] - 10 * step, 1e-9);
  g_assert_cmpuint (facts->nx, ==, 20);
  g_assert_cmpuint (facts->ny, ==, 30);
  g_assert_cmpuint (facts->n_slices, ==, 7);
  g_assert_cmpuint (some->task.nz, ==, 7);
  g_assert_cmpfloat (facts->updates, ==, 20. * 30 * 7 * VIEWS);
  g_assert_cmpuint (facts->write_bytes, ==, 20 * 30 * 7 * 4);
  g_assert_cmpfloat_with_epsilon (facts->pixel_mm, step, 1e-12);
  g_assert_cmpstr (facts->units, ==, "1/mm");
  g_assert_cmpuint (facts->read_bytes, ==, 4ull * VIEWS * COLUMNS * some->n_rows);
  g_assert_cmpuint (some->n_rows, <, all->n_rows);
  g_assert_cmpuint (some->row0, >, 0);
}

/* Some of the views and rows are the views and rows of the whole. */
static void
test_some_views (void)
{
  static const TdViewGroup groups[] = { { 0, 48 }, { 5, 9 }, { 40, 20 }, { 47, 1 } };
  g_autoptr (TdScan) scan = cone_scan (0, 3, 1);
  TdRecipe recipe;

  recipe_init (&recipe, "host", NAN);
  g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe, NULL, NULL, NULL);
  const TdFdkInput *input = ((const TdFdkPlan *) plan->extra)->input;
  for (guint i = 0; i < G_N_ELEMENTS (groups); i++) {
    const TdFdkInput some
        = td_fdk_some_views (input, groups[i].first, groups[i].count, (TdRowRange) { 3, 4 });
    g_assert_cmpuint (td_view_order_at (&some.views, 0), ==, groups[i].first);
    g_assert_cmpuint (some.task.n_views, ==, MIN (groups[i].count, VIEWS - groups[i].first));
    g_assert_cmpuint (some.row0, ==, 3);
    g_assert_cmpuint (some.n_rows, ==, 4);
    for (guint k = 0; k < 12; k++)
      g_assert_cmpfloat (some.task.matrices[k], ==, input->task.matrices[12 * groups[i].first + k]);
    g_assert_cmpfloat (some.task.view_weights[0], ==, input->task.view_weights[groups[i].first]);
    g_assert_cmpfloat (some.angles_rad[0], ==, input->angles_rad[groups[i].first]);
  }
}

/* On a detector that lies on its side each method makes the volume of one that stands. */
static void
test_portrait (void)
{
  static const char *const methods[] = { "fdk", "sirt", "cgls" };
  g_autoptr (TdScan) scan = cone_scan (0, 90, 1);

  for (guint i = 0; i < G_N_ELEMENTS (methods); i++) {
    g_autoptr (GError) error = NULL;
    TdRecipe recipe;

    recipe_init (&recipe, "host", NAN);
    g_assert_true (td_recipe_set (&recipe, "method", methods[i], NULL));
    g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe, NULL, NULL, &error);
    g_assert_no_error (error);
    g_test_message ("%s: %u × %u × %u", methods[i], plan->facts.nx, plan->facts.ny,
                    plan->facts.n_slices);
    g_assert_cmpuint (plan->facts.nx, ==, ROWS);
    g_assert_cmpuint (plan->facts.ny, ==, ROWS);
    g_assert_cmpuint (plan->facts.n_slices, ==, COLUMNS);
    g_assert_cmpfloat (plan->facts.updates, ==,
                       (double) ROWS * ROWS * COLUMNS * VIEWS * (i ? recipe.iterations : 1));
  }
}

/* ── Stages ── */

static const struct {
  const char *devices, *method, *options; /* options: of filter-on */
  gboolean cone;
  const char *stages; /* in the order of the alphabet */
} stages[] = {
  { "host", "fbp", NULL, FALSE, "back-project download filter prepare read write" },
  { "host", "fourier", NULL, FALSE, "back-project download filter prepare read write" },
  { "host", "fdk", NULL, TRUE, "back-project download filter prepare read upload write" },
  { "host", "sirt", NULL, FALSE, "iterate prepare read write" },
  { "host", "cgls", NULL, TRUE, "iterate prepare read write" },
  { "opencl:0", "fdk", "cpu", TRUE, "back-project download filter prepare read upload write" },
  { "opencl:0", "fdk", "device", TRUE, "back-project download filter read upload write" },
};

static int
stages_compare (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

static void
test_stages (gconstpointer data)
{
  const guint i = GPOINTER_TO_UINT (data);
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *output = test_folder_file (folder, "out.h5");
  g_autoptr (TdScan) scan = stages[i].cone ? cone_scan (0, 0, 1) : phantom_scan (32, 6, 30);
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  g_autoptr (GError) error = NULL;
  TdRecipe recipe;

  if (g_str_has_prefix (stages[i].devices, "opencl") && !have_opencl ()) {
    g_test_skip ("no OpenCL device");
    return;
  }
  recipe_init (&recipe, stages[i].devices, NAN);
  recipe.output_format = TD_VOLUME_HDF5;
  recipe.iterations = 2;
  g_assert_true (td_recipe_set (&recipe, "method", stages[i].method, NULL));
  if (stages[i].options)
    g_assert_true (td_recipe_set (&recipe, "filter-on", stages[i].options, NULL));
  g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe, output, NULL, &error);
  g_assert_no_error (error);
  g_autoptr (TdJob) job = td_job_new (plan);
  td_job_run (job, NULL, &error);
  g_assert_no_error (error);
  const TdJobResult *result = td_job_result (job);
  for (guint k = 0; k < result->n_stages; k++) {
    g_assert_cmpfloat (result->stages[k].seconds, >, 0);
    g_ptr_array_add (names, (gpointer) result->stages[k].name);
  }
  g_ptr_array_sort (names, stages_compare);
  g_ptr_array_add (names, NULL);
  g_autofree char *joined = g_strjoinv (" ", (char **) names->pdata);
  g_assert_cmpstr (joined, ==, stages[i].stages);
}

/* Rows of another height than columns are wide. */
static void
test_bins (void)
{
  static const char *const bins[] = { "1,2", "2,1", "2,2" };
  static const char *const says[]
      = { "Rows are 2 times as high", "Rows are 0.5 times as high", NULL };
  g_autoptr (TdScan) scan = cone_scan (0, 0, 1);

  for (guint i = 0; i < G_N_ELEMENTS (bins); i++) {
    g_autoptr (GError) error = NULL;
    TdRecipe recipe;

    recipe_init (&recipe, "host", NAN);
    g_assert_true (td_recipe_set (&recipe, "bin", bins[i], NULL));
    g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe, NULL, NULL, &error);
    g_assert_no_error (error);
    g_autofree char *notes = td_messages_join (plan->facts.notes, "\n", NULL);
    g_test_message ("%s", notes);
    if (says[i])
      g_assert_nonnull (strstr (notes, says[i]));
    else
      g_assert_null (strstr (notes, "times as high"));
  }
}

/* A detector that stands higher than the source does not see the volume's one end. */
static void
test_offset (void)
{
  static const double offsets[] = { 0, 0.4, 3, -3 };

  for (guint i = 0; i < G_N_ELEMENTS (offsets); i++) {
    g_autoptr (GError) error = NULL;
    TdRecipe recipe;

    offset_v = offsets[i];
    g_autoptr (TdScan) scan = cone_scan (0, 0, 1);
    offset_v = 0;
    recipe_init (&recipe, "host", NAN);
    g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe, NULL, NULL, &error);
    g_assert_no_error (error);
    g_autofree char *notes = td_messages_join (plan->facts.notes, "\n", NULL);
    const char *told
        = strstr (notes, "lies 3.0 rows from the plane of the source. So it does not see 3 of");
    g_assert_cmpint (told != NULL, ==, i > 1);
    g_assert_cmpint (strstr (notes, "from the plane") != NULL, ==, i > 1);
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  td_test_own_rates ("fdk-notes");
  engine = td_engine_new (td_methods);
  g_test_add_func ("/fdk-notes/bins", test_bins);
  g_test_add_func ("/fdk-notes/offset", test_offset);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autofree char *path = g_strdup_printf ("/fdk-notes/%02u", i);
    g_test_add_data_func (path, &cases[i], test_case);
  }
  g_test_add_func ("/fdk-notes/part", test_part);
  g_test_add_func ("/fdk-notes/some-views", test_some_views);
  g_test_add_func ("/fdk-notes/portrait", test_portrait);
  for (guint i = 0; i < G_N_ELEMENTS (stages); i++) {
    g_autofree char *path = g_strdup_printf ("/stages/%s/%s%s%s", stages[i].devices,
                                             stages[i].method, stages[i].options ? "-" : "",
                                             stages[i].options ? stages[i].options : "");
    g_test_add_data_func (path, GUINT_TO_POINTER (i), test_stages);
  }
  const int status = g_test_run ();
  td_engine_unref (engine);
  return status;
}
