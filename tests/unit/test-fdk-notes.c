/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What plans for cone beams say, just inside and just outside of where it applies; and the stages
   that jobs of each method tell of. */
#include <math.h>
#include <string.h>

#include "compute/engine/cone-scan.h"
#include "compute/engine/engine-private.h"
#include "compute/engine/fdk/fdk.h"
#include "compute/engine/iterative/iterative.h"
#include "compute/engine/job.h"
#include "compute/methods/methods.h"
#include "compute/recipe/field.h"
#include "dataset/scan-private.h"
#include "engine-scans.h"
#include "test-folder.h"
#include "tests/common/devices.h"
#include "tests/common/pins.h"

#define COLUMNS 64
#define ROWS 48
#define VIEWS 48
#define PITCH_MM (0.4 * 300 / 450) /* of a voxel */

/* Line integrals of @value everywhere. */
static float values[VIEWS * ROWS * COLUMNS];

static double offset_v, tilt_deg, height_mm = 0.4; /* of the next scan's detector */
static gboolean proposed; /* the next scan has a volume of 24 × 20 × 16 voxels of 0.3 mm */

static TdScan *
cone_scan (double offset_u, double roll_deg, double value)
{
  g_autoptr (GError) error = NULL;
  double angles[VIEWS];
  TdScanFacts facts = { .n_columns = COLUMNS,
                        .n_rows = ROWS,
                        .n_views = VIEWS,
                        .sample_type = TD_SAMPLE_FLOAT32,
                        .transmission_logged = TRUE,
                        .angles_rad = angles,
                        .centre_px = NAN,
                        .geometry = { .beam = TD_BEAM_CONE,
                                      .pixel_width_mm = 0.4,
                                      .pixel_height_mm = height_mm,
                                      .source_axis_mm = 300,
                                      .source_detector_mm = 450,
                                      .detector_offset_u_px = offset_u,
                                      .detector_offset_v_px = offset_v,
                                      .detector_tilt_rad
                                      = { tilt_deg * G_PI / 180, 0, roll_deg * G_PI / 180 } } };

  if (proposed) {
    facts.geometry.voxel_mm = 0.3;
    memcpy (facts.geometry.volume_size, (const guint[]) { 24, 20, 16 },
            sizeof facts.geometry.volume_size);
  }
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
#define LEAN "too little to matter"
#define TILTED "The detector is tilted"
#define HALF "Half storage keeps"
#define RUN "\"half-run\", which was asked for, is done as \"half\""

static const Case cases[] = {
  { 0, 0, 1, NULL, "Detector rows 0 to 47 are filtered by the CPU into host memory.", OFF },
  { 0, 0, 1, NULL, " slices, from batches of ", LEAN },
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
  { 0, 3, 1, NULL, "The detector is tilted: its rows are up to 3° off the plane", LEAN },
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
  if (case_->option && !have_device ("opencl:0"))
    return;
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
  td_test_pin ("%s", notes);
  g_assert_nonnull (strstr (notes, case_->says));
  if (case_->silent)
    g_assert_null (strstr (notes, case_->silent));
}

/* A short scan has one gap, where it began and stopped; another one within its arc is told. */
static void
test_gaps (void)
{
  static const struct {
    double step, gap; /* degrees; the gap is amid the views */
    const char *says;
  } arcs[] = { { 7.5, 0, NULL },
               { 5, 0, NULL },
               { 5, 4, NULL },
               { 5, 12, NULL },
               { 5, 40, "Views of about 40.0 degrees are missing" },
               { 3.75, 90, "Views of about 90.0 degrees are missing" } };

  for (guint i = 0; i < G_N_ELEMENTS (arcs); i++) {
    g_autoptr (TdScan) scan = cone_scan (0, 0, 1);
    g_autoptr (GError) error = NULL;
    TdRecipe recipe;

    for (guint v = 0; v < VIEWS; v++)
      scan->facts.angles_rad[v]
          = (v * arcs[i].step + (v >= VIEWS / 2 ? arcs[i].gap : 0)) * G_PI / 180;
    recipe_init (&recipe, "host", NAN);
    g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe, NULL, NULL, &error);
    g_assert_no_error (error);
    g_autofree char *notes = td_messages_join (plan->facts.notes, "\n", NULL);
    g_test_message ("%s", notes);
    g_assert_cmpint (strstr (notes, "within the arc that was measured") != NULL, ==,
                     arcs[i].says != NULL);
    if (arcs[i].says)
      g_assert_nonnull (strstr (notes, arcs[i].says));
  }
}

/* A limit below what the process itself takes is not kept, and that is said. */
static void
test_limit (void)
{
  g_autoptr (TdScan) scan = cone_scan (0, 0, 1);
  guint noted = 0, kept = 0;

  for (guint64 limit = 4 << 20; limit <= 256 << 20; limit *= 2) {
    g_autoptr (GError) error = NULL;
    TdRecipe recipe;

    recipe_init (&recipe, "host", NAN);
    recipe.memory_limit_bytes = limit;
    g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe, NULL, NULL, &error);
    g_assert_no_error (error);
    g_autofree char *notes = td_messages_join (plan->facts.notes, "\n", NULL);
    const gboolean more = plan->facts.host_bytes > limit;
    g_assert_cmpint (strstr (notes, "less does not do here") != NULL, ==, more);
    noted += more;
    kept += !more;
  }
  g_assert_cmpuint (noted, >, 0);
  g_assert_cmpuint (kept, >, 0);
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
    td_test_pin ("%s: %u × %u × %u", methods[i], plan->facts.nx, plan->facts.ny,
                 plan->facts.n_slices);
    g_assert_cmpuint (plan->facts.nx, ==, ROWS);
    g_assert_cmpuint (plan->facts.ny, ==, ROWS);
    g_assert_cmpuint (plan->facts.n_slices, ==, COLUMNS);
    g_assert_cmpfloat (plan->facts.updates, ==,
                       (double) ROWS * ROWS * COLUMNS * VIEWS * (i ? recipe.iterations : 1));
    /* The axis has no column there, and none is told. */
    const char *reason;
    g_assert_true (isnan (plan->facts.centre_px) && isnan (plan->recipe.centre_px));
    g_assert_false (td_recipe_field_applies (td_recipe_field ("centre"), &recipe,
                                             td_scan_facts (scan), &reason));
    g_assert_nonnull (strstr (reason, "lies on its side"));
    recipe.centre_px = (COLUMNS - 1) / 2.0;
    g_assert_null (td_plan_new (engine, scan, &recipe, NULL, NULL, &error));
    g_assert_error (error, TD_ERROR, TD_ERROR_INVALID);
    g_clear_error (&error);
    recipe.centre_px = NAN;
    recipe.centre_auto = TRUE;
    g_assert_null (td_plan_new (engine, scan, &recipe, NULL, NULL, &error));
    g_assert_error (error, TD_ERROR, TD_ERROR_INVALID);
    g_assert_nonnull (strstr (error->message, "lies on its side"));
  }
}

/* A volume that the scan proposes is as coarse as the pixels across the axis. Where the detector
   lies on its side, those are its rows. */
static void
test_proposed_bins (void)
{
  for (guint side = 0; side < 2; side++) {
    proposed = TRUE;
    g_autoptr (TdScan) scan = cone_scan (0, side ? 90 : 0, 1);
    proposed = FALSE;
    const guint across = side ? 2 : 4;
    g_autoptr (GError) error = NULL;
    TdRecipe recipe;

    recipe_init (&recipe, "host", NAN);
    g_assert_true (td_recipe_set (&recipe, "bin", "4,2", NULL));
    g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe, NULL, NULL, &error);
    g_assert_no_error (error);
    g_assert_cmpuint (plan->facts.nx, ==, 24 / across);
    g_assert_cmpuint (plan->facts.ny, ==, 20 / across);
    g_assert_cmpuint (plan->facts.n_slices, ==, 16 / across);
    g_assert_cmpfloat_with_epsilon (plan->facts.pixel_mm, 0.3 * across, 1e-9);
    g_assert_cmpuint (td_recipe_slices (&recipe, td_scan_facts (scan)), ==, 16 / across);
  }
}

/* Every method prepares rows of the same frames: turned from half of a quarter on, else as they
   were measured. Only FDK resamples these. */
static void
test_portrait_steps (void)
{
  static const char *const methods[] = { "fdk", "sirt", "fista-tv", "cgls" };
  static const struct {
    double roll_deg;
    gboolean turned;
  } trials[] = { { 0, FALSE }, { 40, FALSE },  { -40, FALSE }, { 50, TRUE },
                 { 90, TRUE }, { -130, TRUE }, { 140, FALSE } };

  for (guint i = 0; i < G_N_ELEMENTS (trials) * G_N_ELEMENTS (methods); i++) {
    const guint trial = i / G_N_ELEMENTS (methods), method = i % G_N_ELEMENTS (methods);
    const gboolean turned = trials[trial].turned;
    const TdScanFrame turn = { .turned = turned };
    g_autoptr (TdScan) scan = cone_scan (0, trials[trial].roll_deg, 1);
    g_autoptr (TdScan) wanted = td_engine_view (engine, scan, &turn, NULL);
    g_autoptr (GError) error = NULL;
    TdRecipe recipe;

    recipe_init (&recipe, "host", NAN);
    g_assert_true (td_recipe_set (&recipe, "method", methods[method], NULL));
    g_assert_true (td_recipe_set (&recipe, "prepare", "rings", &error));
    g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe, NULL, NULL, &error);
    g_assert_no_error (error);
    g_autofree char *notes = td_messages_join (plan->facts.notes, "\n", NULL);
    const TdScan *read = method ? ((const TdIterativePlan *) plan->extra)->scan
                                : ((const TdFdkPlan *) plan->extra)->input->scan;
    const TdConeTask *task = method ? &((const TdIterativePlan *) plan->extra)->task
                                    : &((const TdFdkPlan *) plan->extra)->input->task;
    const gboolean resampled = task->tilted.n_rows > 0;
    g_assert_true (read == wanted);
    g_assert_cmpint (strstr (notes, "turned by a quarter, to 48 columns and 64 rows.") != NULL, ==,
                     turned);
    g_assert_cmpint (resampled, ==, method == 0 && fmod (trials[trial].roll_deg, 90) != 0);
    g_assert_true (resampled || task->n_columns == (turned ? ROWS : COLUMNS));
    /* Iterations begin with what FDK makes, which reads what is in memory, too. */
    g_assert_cmpuint (plan->facts.read_bytes, ==, (method ? 2 : 1) * 4ull * VIEWS * ROWS * COLUMNS);
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

  if (!have_device (stages[i].devices))
    return;
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

/* ── What the detector sees ── */

typedef struct {
  double up_px, height_mm, roll_deg, tilt_deg, along_px;
  const char *option, *value; /* NULL: none */
  const char *says[2];        /* NULL: nothing of the kind */
} Seen;

static const Seen seen[] = {
  { .height_mm = 0.4 },
  { .height_mm = 0.4, .option = "bin", .value = "2,2" },
  { .height_mm = 0.4, .option = "crop", .value = "0,5,64,20" },
  { .height_mm = 0.4, .up_px = 0.4 },
  { .height_mm = 0.4, .tilt_deg = 1 },
  { .height_mm = 0.4, .up_px = 3, .says = { NULL, "0.8 mm above the plane of the source" } },
  { .height_mm = 0.4, .up_px = -3, .says = { NULL, "0.8 mm below the plane of the source" } },
  { .height_mm = 0.4, .up_px = 40, .says = { NULL, "lie about that, 40 slices higher" } },
  { .height_mm = 0.4,
    .up_px = 7,
    .option = "crop",
    .value = "0,5,64,21",
    .says = { NULL, "7 slices higher" } },
  { .height_mm = 0.4,
    .up_px = 6,
    .option = "bin",
    .value = "3,3",
    .says = { NULL, "2 slices higher" } },
  { .height_mm = 0.4,
    .up_px = 5,
    .tilt_deg = 2,
    .roll_deg = 1,
    .says = { NULL, "5 slices higher" } },
  { .height_mm = 0.4, .roll_deg = 90, .along_px = 6, .says = { NULL, "6 slices higher" } },
  { .height_mm = 0.8,
    .roll_deg = 90,
    .option = "crop",
    .value = "3,2,40,38",
    .says = { "Rows are 0.5 times as high as columns are wide", NULL } },
  { .height_mm = 0.4,
    .option = "bin",
    .value = "1,2",
    .says = { "Rows are 2 times as high as columns are wide: voxels are cubes as wide as a column, "
              "and 48 slices cover what 24 rows see.",
              NULL } },
  { .height_mm = 0.4,
    .option = "bin",
    .value = "2,1",
    .says = { "Rows are 0.5 times as high as columns are wide: voxels are cubes as wide as a "
              "column, and 24 slices cover what 48 rows see.",
              NULL } },
  { .height_mm = 0.403, .says = { NULL, NULL } }, /* a third of a row in all */
  { .height_mm = 0.5, .up_px = 11, .says = { "60 slices cover what 48 rows", "14 slices higher" } },
};

/* The rows at which the axis is seen at the first slice's top and the last one's foot, and how many
   rows there are. */
static void
seen_ends (const TdConeTask *task, double ends[2], guint *n)
{
  for (guint i = 0; i < 2; i++) {
    const double slice = i ? task->nz - 0.5 : -0.5;
    const double point[3] = { 0, 0, task->first_mm[2] - slice * task->voxel_mm };
    double u, v, w;

    td_cone_project (task->matrices, point, &u, &v, &w);
    ends[i] = v;
  }
  *n = task->n_rows;
}

/* The volume of each method is what the rows see, to within the slices that it is made of. */
static void
test_seen (gconstpointer data)
{
  static const char *const methods[] = { "fdk", "sirt" };
  const Seen *c = data;
  g_auto (GStrv) told = g_new0 (char *, G_N_ELEMENTS (methods) + 1);
  TdConeTask task;

  offset_v = c->up_px;
  height_mm = c->height_mm;
  tilt_deg = c->tilt_deg;
  g_autoptr (TdScan) scan = cone_scan (c->along_px, c->roll_deg, 1);
  offset_v = tilt_deg = 0;
  height_mm = 0.4;
  for (guint i = 0; i < G_N_ELEMENTS (methods); i++) {
    g_autoptr (GError) error = NULL;
    TdRecipe recipe;
    double ends[2];
    guint n;

    recipe_init (&recipe, "host", NAN);
    g_assert_true (td_recipe_set (&recipe, "method", methods[i], NULL));
    if (c->option)
      g_assert_true (td_recipe_set (&recipe, c->option, c->value, NULL));
    g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe, NULL, NULL, &error);
    g_assert_no_error (error);
    task = i ? ((const TdIterativePlan *) plan->extra)->task
             : ((const TdFdkPlan *) plan->extra)->input->task;
    g_assert_cmpuint (task.nz, ==, plan->facts.n_slices);
    g_assert_cmpuint (td_recipe_slices (&recipe, td_scan_facts (scan)), ==, task.nz);
    const guint top = recipe.crop[2] > 0 ? recipe.crop[1] : 0;
    const guint rows = recipe.crop[2] > 0 ? recipe.crop[3] : ROWS;
    const TdScanFacts *opened = td_scan_facts (scan);
    const double share = (double) task.nz / rows;
    for (guint row = top; row < top + rows; row++)
      g_assert_cmpfloat_with_epsilon (td_recipe_slice_at (&recipe, opened, row) + 0.5,
                                      (row - top + 0.5) * share, 0.5 + 1e-9);
    if (c->tilt_deg == 0 || i) { /* else the rows are those of a level detector */
      seen_ends (&task, ends, &n);
      td_test_pin ("%s: %u slices from row %.2f to %.2f of %u", methods[i], task.nz, ends[0],
                   ends[1], n);
      const double slice_rows = fabs (ends[1] - ends[0]) / task.nz;
      g_assert_cmpfloat_with_epsilon ((ends[0] + ends[1]) / 2, (n - 1) / 2.0,
                                      slice_rows / 2 + 0.02 * n);
      g_assert_cmpfloat (fabs (ends[1] - ends[0]), >, n - 1 - 0.02 * n);
      g_assert_cmpfloat (fabs (ends[1] - ends[0]), <, n + 1 + slice_rows);
    }
    g_autofree char *notes = td_messages_join (plan->facts.notes, "\n", NULL);
    td_test_pin ("%s", notes);
    g_assert_cmpint (strstr (notes, "times as high") != NULL, ==, c->says[0] != NULL);
    g_assert_cmpint (strstr (notes, "the plane of the source") != NULL, ==, c->says[1] != NULL);
    for (guint k = 0; k < 2; k++)
      g_assert_true (!c->says[k] || strstr (notes, c->says[k]));
    told[i] = g_strdup_printf ("%u %u %u %.9f %.9f %.9f %.9f", task.nx, task.ny, task.nz,
                               task.voxel_mm, task.first_mm[0], task.first_mm[1], task.first_mm[2]);
  }
  g_assert_cmpstr (told[0], ==, told[1]);
}

/* Where columns do not run along the axis the host is slow, and the plan tells. Those of turned
   frames do. What was learned of
   others says nothing of its time. */
static void
test_leaning (void)
{
  static const struct {
    const char *device, *method;
    double roll_deg;
    gboolean leans;
  } leaning[] = {
    { "host", "sirt", 0, FALSE },     { "host", "sirt", 1, TRUE },  { "host", "cgls", 0.01, TRUE },
    { "host", "cgls", 90, FALSE },    { "host", "cgls", 40, TRUE }, { "host", "cgls", 89, TRUE },
    { "opencl:0", "sirt", 1, FALSE }, { "host", "fdk", 1, FALSE },
  };

  for (guint i = 0; i < G_N_ELEMENTS (leaning); i++) {
    g_autoptr (TdScan) scan = cone_scan (0, leaning[i].roll_deg, 1);
    g_autoptr (GError) error = NULL;
    TdRecipe recipe;

    if (g_str_has_prefix (leaning[i].device, "opencl") && !have_opencl ())
      continue;
    recipe_init (&recipe, leaning[i].device, NAN);
    g_assert_true (td_recipe_set (&recipe, "method", leaning[i].method, NULL));
    g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe, NULL, NULL, &error);
    g_assert_no_error (error);
    g_autofree char *notes = td_messages_join (plan->facts.notes, "\n", NULL);
    g_assert_cmpint (strstr (notes, "20 to 30 times as long") != NULL, ==, leaning[i].leans);
    if (!strcmp (leaning[i].method, "fdk"))
      continue;
    g_autofree char *key = td_iterative_rate_key (plan);
    g_assert_cmpint (g_str_has_suffix (key, " leaning"), ==, leaning[i].leans);
  }
}

static float *collected;

static void
collect (guint first, guint count, const float *slices, gpointer user)
{
  const gsize n = *(const gsize *) user;

  memcpy (collected + first * n, slices, count * n * sizeof *slices);
}

/* @crop: of the detector; NULL: all of it. (transfer full) */
static float *
notes_make (TdScan *scan, const char *crop, guint *n_slices)
{
  g_autoptr (GError) error = NULL;
  TdRecipe recipe;

  recipe_init (&recipe, "host", NAN);
  if (crop)
    g_assert_true (td_recipe_set (&recipe, "crop", crop, NULL));
  g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe, NULL, NULL, &error);
  g_assert_no_error (error);
  gsize n = (gsize) plan->facts.nx * plan->facts.ny;
  *n_slices = plan->facts.n_slices;
  collected = g_new0 (float, n **n_slices);
  g_autoptr (TdJob) job = td_job_new (plan);
  td_job_set_sink (job, collect, &n);
  td_job_run (job, NULL, &error);
  g_assert_no_error (error);
  return g_steal_pointer (&collected);
}

/* A detector that stands higher gives the slices that a crop of a taller one gives. */
static void
test_stands_higher (void)
{
  guint n[2];

  g_autoptr (TdScan) tall = cone_scan (0, 0, 0);
  GRand *rand = g_rand_new_with_seed (7);
  for (guint i = 0; i < G_N_ELEMENTS (values); i++)
    values[i] = (float) g_rand_double (rand);
  g_rand_free (rand);
  g_autofree float *a = notes_make (tall, "0,4,64,20", &n[0]);
  /* The same rows as a detector of their own: its middle is 13.5 rows down, the whole one's 23.5.
   */
  TdScanFacts facts = *td_scan_facts (tall);
  facts.n_rows = 20;
  facts.geometry.detector_offset_v_px = 10;
  g_autofree float *rows = g_new (float, VIEWS * 20 * COLUMNS);
  for (guint v = 0; v < VIEWS; v++)
    memcpy (rows + v * 20 * COLUMNS, values + (v * ROWS + 4) * COLUMNS,
            20 * COLUMNS * sizeof *rows);
  g_autoptr (TdScan) low = td_scan_new_from_memory (&facts, rows, NULL, NULL, NULL, NULL);
  g_autofree float *b = notes_make (low, NULL, &n[1]);
  double most = 0, off = 0;

  g_assert_cmpuint (n[0], ==, 20);
  g_assert_cmpuint (n[1], ==, 20);
  for (guint i = 0; i < 20 * COLUMNS * COLUMNS; i++) {
    most = MAX (most, fabs (a[i]));
    off = MAX (off, fabs (a[i] - b[i]));
  }
  td_test_pin ("%g of %g", off, most);
  g_assert_cmpfloat (off, <, 1e-5 * most);
  /* What is said is where the row sees the axis, and not where whole slices lie. */
  g_autoptr (GError) error = NULL;
  TdConeTask task;
  facts.geometry.detector_offset_v_px = 10.4;
  td_cone_task_init (&task, &facts.geometry, facts.angles_rad, facts.n_views, facts.n_columns,
                     facts.n_rows, &error);
  g_assert_no_error (error);
  g_assert_cmpfloat_with_epsilon (task.middle_mm, 1.04 * task.raised_mm, 1e-9);
  td_cone_task_clear (&task);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  td_test_own_rates ("fdk-notes");
  engine = td_engine_new (td_methods);
  for (guint i = 0; i < G_N_ELEMENTS (seen); i++) {
    g_autofree char *path = g_strdup_printf ("/fdk-notes/seen/%02u", i);
    g_test_add_data_func (path, &seen[i], test_seen);
  }
  g_test_add_func ("/fdk-notes/limit", test_limit);
  g_test_add_func ("/fdk-notes/gaps", test_gaps);
  g_test_add_func ("/fdk-notes/stands-higher", test_stands_higher);
  g_test_add_func ("/fdk-notes/leaning", test_leaning);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autofree char *path = g_strdup_printf ("/fdk-notes/%02u", i);
    g_test_add_data_func (path, &cases[i], test_case);
  }
  g_test_add_func ("/fdk-notes/part", test_part);
  g_test_add_func ("/fdk-notes/some-views", test_some_views);
  g_test_add_func ("/fdk-notes/portrait", test_portrait);
  g_test_add_func ("/fdk-notes/portrait-steps", test_portrait_steps);
  g_test_add_func ("/fdk-notes/proposed-bins", test_proposed_bins);
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
