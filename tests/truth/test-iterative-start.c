/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Iterations begin with filtered volumes or volumes of earlier runs, as the recipe says. They end
   at the tolerance, or when asked to end with what there is. */
#include <math.h>
#include <string.h>

#include <glib/gstdio.h>

#include "compute/engine/plan-private.h"
#include "compute/methods/methods.h"
#include "dataset/scan-view.h"
#include "dataset/tiff-save.h"
#include "tests/common/inner-scan.h"
#include "tests/common/iterative.h"
#include "tests/common/pins.h"
#include "tests/unit/test-folder.h"

static TdEngine *engine;
static const char *const methods[] = { "sirt", "fista-tv", "cgls" };

/* The relative residual that the notes tell of. */
static double
residual_of (const TdTestVolume *volume)
{
  static const char words[] = "relative residual of ";
  const char *note = strstr (volume->notes, words);

  g_assert_nonnull (note);
  return g_ascii_strtod (note + strlen (words), NULL);
}

static void
run (TdScan *scan, const char *method, const char *start, guint iterations, TdTestVolume *volume)
{
  g_autoptr (GError) error = NULL;
  TdRecipe recipe;

  td_test_recipe (&recipe, method, "host");
  recipe.iterations = iterations;
  g_assert_true (td_recipe_set (&recipe, "start", start, &error));
  td_test_reconstruct_well (engine, scan, &recipe, volume);
}

static void
check_filtered (gboolean cone)
{
  TdPhantomScan spec;
  g_autoptr (TdScan) scan
      = td_test_phantom_scan (&spec, 40, cone ? 32 : 3, 40, cone ? 360 : 180, cone);

  for (guint i = 0; i < G_N_ELEMENTS (methods); i++) {
    TdTestVolume zero, filtered, preset;

    run (scan, methods[i], "zero", 1, &zero);
    run (scan, methods[i], cone ? "fdk" : "fbp", 1, &filtered);
    run (scan, methods[i], "auto", 1, &preset);
    td_test_pin ("%s: residual of a pass from zero %.4f, from the filtered volume %.4f", methods[i],
                 residual_of (&zero), residual_of (&filtered));
    g_assert_cmpfloat (residual_of (&filtered), <, 0.5 * residual_of (&zero));
    g_assert_cmpfloat (td_test_phantom_error (&spec, &filtered), <,
                       0.9 * td_test_phantom_error (&spec, &zero));
    g_assert_cmpfloat (td_test_difference (&preset, &filtered), ==, 0);
    td_test_volume_clear (&zero);
    td_test_volume_clear (&filtered);
    td_test_volume_clear (&preset);
  }
}

static void
test_filtered_cone (void)
{
  check_filtered (TRUE);
}

static void
test_filtered_parallel (void)
{
  check_filtered (FALSE);
}

/* ── Parts ── */

typedef struct {
  const TdTestVolume *whole;
  guint first, next; /* of the whole volume's slices; of the part's */
  double worst;
} Part;

static void
take_part (guint first, guint count, const float *slices, gpointer user)
{
  Part *part = user;
  const gsize slice = (gsize) part->whole->nx * part->whole->ny;
  const float *whole = part->whole->slices + (part->first + first) * slice;

  g_assert_cmpuint (first, ==, part->next);
  part->next += count;
  for (gsize i = 0; i < count * slice; i++)
    part->worst = fmax (part->worst, fabs (slices[i] - whole[i]));
}

/* Processes that share a parallel beam's slices begin with their own slices of the filtered volume,
   and have room for no others. They do not go on from a volume, unless one of them has it all. */
static void
test_parts (void)
{
  static const TdPlanPart parts[] = { { .first_slice = 0, .n_slices = 2 },
                                      { .first_slice = 2, .n_slices = 4 },
                                      { .first_slice = 6, .n_slices = 1 } };
  TdPhantomScan spec;
  g_autoptr (TdScan) scan = td_test_phantom_scan (&spec, 40, 9, 40, 180, FALSE);
  g_autoptr (GError) error = NULL;
  TdTestVolume whole;
  TdRecipe recipe;

  td_test_recipe (&recipe, "sirt", "host");
  recipe.iterations = 1;
  recipe.row_first = 1;
  recipe.row_end = 8;
  g_assert_true (td_recipe_set (&recipe, "start", "fbp", &error));
  td_test_reconstruct_well (engine, scan, &recipe, &whole);
  g_assert_cmpuint (whole.n_slices, ==, 7);
  for (guint i = 0; i < G_N_ELEMENTS (parts); i++) {
    g_autoptr (TdPlan) plan = td_plan_new_part (engine, scan, &recipe, &parts[i], NULL, &error);
    g_assert_no_error (error);
    g_autoptr (TdJob) job = td_job_new (plan);
    Part taken = { .whole = &whole, .first = parts[i].first_slice };

    td_job_set_sink (job, take_part, &taken);
    td_job_run (job, NULL, &error);
    g_assert_no_error (error);
    g_assert_cmpuint (taken.next, ==, parts[i].n_slices);
    g_assert_cmpfloat (taken.worst, <, 1e-5);
  }
  td_test_volume_clear (&whole);
}

static void write_volume (TdScan *scan, const char *method, guint iterations, const char *path);

static void
test_parts_file (void)
{
  TdPhantomScan spec;
  g_autoptr (TdScan) scan = td_test_phantom_scan (&spec, 24, 5, 20, 180, FALSE);
  g_autoptr (GError) error = NULL;
  TestFolder *folder = test_folder_new ();
  g_autofree char *path = g_build_filename (folder->path, "volume.h5", NULL);
  TdRecipe recipe;

  write_volume (scan, "sirt", 1, path);
  td_test_recipe (&recipe, "sirt", "host");
  g_assert_true (td_recipe_set (&recipe, "start", path, &error));
  for (guint n = 3; n <= 5; n += 2) {
    const TdPlanPart part = { .n_slices = n };
    g_autoptr (TdPlan) plan = td_plan_new_part (engine, scan, &recipe, &part, NULL, &error);

    if (n == 5) {
      g_assert_no_error (error);
      continue;
    }
    g_assert_null (plan);
    g_assert_error (error, TD_ERROR, TD_ERROR_UNSUPPORTED);
    g_assert_nonnull (strstr (error->message, "one process"));
    g_clear_error (&error);
  }
  test_folder_free (folder);
}

/* ── Reading ── */

typedef struct {
  TdScan *inner;
  gint rows; /* of projections, that were read */
} Counted;

static gboolean
counted_fill (gpointer source, const TdFrameRange *range, const TdFrameTarget *target,
              GCancellable *cancellable, GError **error)
{
  Counted *counted = source;

  if (range->kind == TD_FRAME_PROJECTION)
    g_atomic_int_add (&counted->rows, (gint) (range->count * range->n_rows));
  return td_scan_fill (counted->inner, range, target, cancellable, error);
}

/* The filtered start and the iterations share what was read, whatever part is looked at. With
   memory for less the scan is read twice. The volume is the same. */
static void
check_reads (gboolean cone, const char *crop)
{
  static const TdScanSource vtable = { .fill = counted_fill };
  TdPhantomScan spec;
  g_autoptr (TdScan) inner
      = td_test_phantom_scan (&spec, 40, cone ? 32 : 9, 40, cone ? 360 : 180, cone);
  Counted counted = { .inner = inner };
  g_autoptr (TdScan) scan = td_test_scan_around (inner, &vtable, &counted);
  g_autoptr (GError) error = NULL;
  TdTestVolume twice, once;
  TdRecipe recipe;

  td_test_recipe (&recipe, "sirt", "host");
  recipe.iterations = 2;
  g_assert_true (td_recipe_set (&recipe, "start", cone ? "fdk" : "fbp", &error));
  if (crop)
    g_assert_true (td_recipe_set (&recipe, "crop", crop, &error));
  scan->facts.in_memory = TRUE; /* such a scan is not copied */
  td_test_reconstruct_well (engine, scan, &recipe, &twice);
  const gint rows = g_atomic_int_exchange (&counted.rows, 0);
  scan->facts.in_memory = FALSE;
  td_test_reconstruct_well (engine, scan, &recipe, &once);
  td_test_pin ("%d rows of projections, once %d", rows, counted.rows);
  g_assert_cmpint (counted.rows, ==, (gint) (spec.n_views * spec.n_rows));
  g_assert_cmpint (rows, >, counted.rows);
  g_assert_cmpfloat (td_test_difference (&once, &twice), ==, 0);
  td_test_volume_clear (&twice);
  td_test_volume_clear (&once);
}

static void
test_reads (void)
{
  check_reads (TRUE, NULL);
  check_reads (FALSE, NULL);
  check_reads (TRUE, "4,4,32,24");
}

/* One pixel in eight, more of them on the left. */
static char *
write_mask (const TestFolder *folder, guint n_rows, guint n_columns)
{
  const TdTiffImage image = {
    .width = n_columns,
    .height = n_rows,
    .type = TD_SAMPLE_UINT8,
  };
  g_autofree guint8 *mask = g_new0 (guint8, n_rows * n_columns);
  char *path = test_folder_file (folder, "mask.tif");
  g_autoptr (TdTiffSave) save = td_tiff_save_new (path, path, &image, 1, FALSE, NULL);

  for (guint i = 0; i < n_rows * n_columns; i++)
    mask[i] = i % 8 == 3 && i % n_columns < n_columns / 2;
  g_assert_true (td_tiff_save_image (save, 0, mask, NULL));
  g_assert_true (td_tiff_save_close (g_steal_pointer (&save), NULL));
  return path;
}

static void
run_seen (TdScan *inner, gboolean copied, const TdScanFrame *frame, const TdRecipe *recipe,
          TdTestVolume *volume)
{
  g_autoptr (TdEngine) own = td_engine_new (td_methods);
  g_autoptr (GError) error = NULL;

  inner->facts.in_memory = !copied; /* such a scan is not copied */
  g_autoptr (TdScan) scan = frame ? td_scan_view_new (inner, frame, &error) : td_scan_ref (inner);
  g_assert_no_error (error);
  td_test_reconstruct_well (own, scan, recipe, volume);
}

/* What was read once has the views and the mask that the scan is seen with, mirrored or not. */
static void
test_reads_seen (void)
{
  static const TdScanFrame mirrored = { .flip_columns = TRUE, .flip_rows = TRUE };
  g_autoptr (TestFolder) folder = test_folder_new ();
  TdPhantomScan spec;
  g_autoptr (TdScan) inner = td_test_phantom_scan (&spec, 40, 9, 40, 180, FALSE);
  g_autofree char *mask = write_mask (folder, 9, 40);

  for (guint i = 0; i < 8; i++) {
    const TdScanFrame *frame = i & 1 ? &mirrored : NULL;
    g_autoptr (GError) error = NULL;
    TdTestVolume twice, once;
    TdRecipe recipe;

    td_test_recipe (&recipe, "sirt", "host");
    recipe.iterations = 1;
    g_assert_true (td_recipe_set (&recipe, "start", "fbp", &error));
    g_assert_true (td_recipe_set (&recipe, "views", i & 2 ? "3:37" : "0:40", &error));
    if (i & 4)
      g_assert_true (td_recipe_set_mask (&recipe, mask, &error));
    run_seen (inner, FALSE, frame, &recipe, &twice);
    run_seen (inner, TRUE, frame, &recipe, &once);
    g_assert_cmpfloat (td_test_difference (&once, &twice), ==, 0);
    td_test_volume_clear (&twice);
    td_test_volume_clear (&once);
  }
}

/* What iterations begin with does not depend on the memory: it waits in a file if that is short,
   and comes to the same values. */
static void
check_room (gboolean cone)
{
  TdPhantomScan spec;
  g_autoptr (TdScan) scan = cone ? td_test_phantom_scan (&spec, 96, 80, 10, 360, TRUE)
                                 : td_test_phantom_scan (&spec, 192, 160, 10, 180, FALSE);
  guint told[2] = { 0 };
  TdTestVolume whole;
  TdRecipe recipe;

  td_test_recipe (&recipe, "sirt", "host");
  recipe.iterations = 2;
  td_test_reconstruct_well (engine, scan, &recipe, &whole);
  for (double limit = 1 << 26; limit < 1e9; limit *= 1.02) {
    g_autoptr (GError) error = NULL;

    recipe.memory_limit_bytes = (guint64) limit;
    g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe, NULL, NULL, &error);
    if (!plan) {
      g_assert_error (error, TD_ERROR, TD_ERROR_TOO_LARGE);
      g_assert_cmpuint (told[0] + told[1], ==, 0);
      continue;
    }
    g_autofree char *notes = td_messages_join (td_plan_facts (plan)->notes, "\n", NULL);
    const gboolean in_file = strstr (notes, "waits in a temporary file") != NULL;
    g_assert_nonnull (strstr (notes, "begin with the volume"));
    g_assert_cmpuint (td_plan_facts (plan)->host_bytes, <=, recipe.memory_limit_bytes);
    if (!told[in_file]++) {
      TdTestVolume little;

      td_test_reconstruct_well (engine, scan, &recipe, &little);
      g_assert_cmpfloat (td_test_difference (&little, &whole), <, 1e-6);
      td_test_volume_clear (&little);
    }
  }
  g_assert_cmpuint (told[FALSE], >, 0);
  g_assert_cmpuint (told[TRUE], >, 0);
  td_test_volume_clear (&whole);
}

static void
test_room_cone (void)
{
  check_room (TRUE);
}

static void
test_room_parallel (void)
{
  check_room (FALSE);
}

/* Where neither memory nor a disk has room for the filtered volume, the job is refused, and says
   what would do. */
static void
test_no_room (void)
{
  TdPhantomScan spec;
  g_autoptr (TdScan) scan = td_test_phantom_scan (&spec, 192, 160, 10, 180, FALSE);
  g_autoptr (GError) error = NULL;
  TdRecipe recipe;

  if (g_test_subprocess ())
    g_setenv ("TMPDIR", "/no/such/folder", TRUE);
  td_test_recipe (&recipe, "sirt", "host");
  recipe.memory_limit_bytes = 80 << 20;
  g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe, NULL, NULL, &error);
  if (g_test_subprocess ()) {
    g_assert_error (error, TD_ERROR, TD_ERROR_TOO_LARGE);
    g_assert_nonnull (strstr (error->message, "TMPDIR"));
    g_assert_nonnull (strstr (error->message, "--start zero"));
    return;
  }
  g_assert_no_error (error);
  g_autofree char *notes = td_messages_join (td_plan_facts (plan)->notes, "\n", NULL);
  g_assert_nonnull (strstr (notes, "waits in a temporary file"));
  g_test_trap_subprocess (NULL, 0, 0);
  g_test_trap_assert_passed ();
}

/* Nor does filtering find the memory any more that the plan counted on: the job ends with that. */
static void
test_room_gone (void)
{
  TdPhantomScan spec;
  g_autoptr (TdScan) scan = td_test_phantom_scan (&spec, 24, 3, 20, 180, FALSE);
  g_autoptr (GError) error = NULL;
  TdRecipe recipe;

  td_test_recipe (&recipe, "sirt", "host");
  recipe.iterations = 1;
  g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe, NULL, NULL, &error);
  g_assert_no_error (error);
  plan->recipe.memory_limit_bytes = 1;
  g_autoptr (TdJob) job = td_job_new (plan);
  g_assert_false (td_job_run (job, NULL, &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_TOO_LARGE);
}

/* Less than half a turn cannot be weighed: by itself a job begins with nothing, and asked for
   filtering it says why not. */
static void
test_unfilterable (void)
{
  TdPhantomScan spec;
  g_autoptr (TdScan) scan = td_test_phantom_scan (&spec, 32, 24, 30, 120, TRUE);
  g_autoptr (GError) error = NULL;
  TdTestVolume zero, preset;
  TdRecipe recipe;

  run (scan, "sirt", "zero", 2, &zero);
  run (scan, "sirt", "auto", 2, &preset);
  g_assert_cmpfloat (td_test_difference (&preset, &zero), ==, 0);
  td_test_volume_clear (&zero);
  td_test_volume_clear (&preset);
  td_test_recipe (&recipe, "sirt", "host");
  td_recipe_set (&recipe, "start", "fdk", NULL);
  g_assert_null (td_plan_new (engine, scan, &recipe, NULL, NULL, &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_INVALID);
}

/* ── Going on ── */

/* What the plan's notes and the run's say. (transfer full) */
static char *
all_notes (TdScan *scan, const TdRecipe *recipe, const TdTestVolume *volume)
{
  g_autoptr (TdPlan) plan = td_plan_new (engine, scan, recipe, NULL, NULL, NULL);
  g_autofree char *before = td_messages_join (td_plan_facts (plan)->notes, "\n", NULL);

  return g_strjoin ("\n", before, volume->notes, NULL);
}

/* Its notes. (transfer full) */
static char *
write_to (TdScan *scan, const TdRecipe *recipe, const char *path, gboolean keep)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TdPlan) plan = td_plan_new (engine, scan, recipe, path, NULL, &error);

  g_assert_no_error (error);
  g_autoptr (TdJob) job = td_job_new (plan);
  td_job_set_overwrite (job, TRUE);
  if (keep)
    td_job_keep_momentum (job);
  td_job_run (job, NULL, &error);
  g_assert_no_error (error);
  return td_messages_join (td_job_result (job)->notes, "\n", NULL);
}

static void
write_volume (TdScan *scan, const char *method, guint iterations, const char *path)
{
  TdRecipe recipe;

  td_test_recipe (&recipe, method, "host");
  recipe.iterations = iterations;
  recipe.output_format = TD_VOLUME_HDF5;
  td_recipe_set (&recipe, "start", "zero", NULL);
  g_free (write_to (scan, &recipe, path, FALSE));
}

static void
test_file (void)
{
  TdPhantomScan spec;
  g_autoptr (TdScan) scan = td_test_phantom_scan (&spec, 32, 24, 20, 360, TRUE);
  g_autoptr (TdScan) other = td_test_phantom_scan (&spec, 30, 24, 20, 360, TRUE);
  g_autoptr (GError) error = NULL;
  TestFolder *folder = test_folder_new ();
  g_autofree char *path = g_build_filename (folder->path, "half.h5", NULL);
  TdTestVolume whole, rest;
  TdRecipe recipe;

  write_volume (scan, "sirt", 3, path);
  run (scan, "sirt", "zero", 5, &whole);
  run (scan, "sirt", path, 2, &rest);
  td_test_pin ("3 passes and 2 differ from 5 by %.1e", td_test_difference (&rest, &whole));
  g_assert_cmpfloat (td_test_difference (&rest, &whole), <, 1e-6);
  td_test_volume_clear (&whole);
  td_test_volume_clear (&rest);
  /* Conjugate gradients begin anew, but not from nothing. */
  run (scan, "cgls", path, 1, &rest);
  g_assert_cmpfloat (residual_of (&rest), <, 0.05);
  td_test_volume_clear (&rest);

  td_test_recipe (&recipe, "sirt", "host");
  td_recipe_set (&recipe, "start", path, NULL);
  g_assert_null (td_plan_new (engine, other, &recipe, NULL, NULL, &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_BAD_FILE);
  g_assert_nonnull (strstr (error->message, "--start"));
  g_clear_error (&error);
  g_autofree char *part = g_strconcat (path, ".part", NULL);
  g_assert_cmpint (g_rename (path, part), ==, 0);
  td_recipe_set (&recipe, "start", part, NULL);
  g_assert_null (td_plan_new (engine, scan, &recipe, NULL, NULL, &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_BAD_FILE);
  g_assert_nonnull (strstr (error->message, "(--start) is not whole: “"));
  g_clear_error (&error);
  td_recipe_set (&recipe, "start", "/no/such/volume", NULL);
  g_assert_null (td_plan_new (engine, scan, &recipe, NULL, NULL, &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_NOT_FOUND);
  test_folder_free (folder);
}

/* From values that are no numbers, or so large that their squares are none, nothing is made. */
static void
check_bad_start (TdScan *scan, const char *path, double first, const char *says)
{
  const TdVolumeSpec spec = { .path = (char *) path,
                              .format = TD_VOLUME_HDF5,
                              .bits = 32,
                              .nx = 16,
                              .ny = 16,
                              .n_slices = 2,
                              .overwrite = TRUE };
  float values[2 * 16 * 16] = { 0 };
  g_autoptr (GError) error = NULL;
  g_autoptr (TdVolumeWriter) writer = td_volume_writer_new (&spec, &error);
  TdRecipe recipe;

  values[300] = (float) first;
  g_assert_true (td_volume_writer_write (writer, 0, 2, values, &error));
  g_assert_true (td_volume_writer_finish (writer, NULL, &error));
  td_test_recipe (&recipe, "sirt", "host");
  recipe.iterations = 1;
  td_recipe_set (&recipe, "start", path, NULL);
  g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe, NULL, NULL, &error);
  g_assert_no_error (error);
  g_autoptr (TdJob) job = td_job_new (plan);
  g_assert_false (td_job_run (job, NULL, &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_BAD_FILE);
  g_assert_nonnull (strstr (error->message, says));
}

static void
test_no_numbers (void)
{
  TdPhantomScan spec;
  g_autoptr (TdScan) scan = td_test_phantom_scan (&spec, 16, 2, 12, 180, FALSE);
  TestFolder *folder = test_folder_new ();
  g_autofree char *path = g_build_filename (folder->path, "start.h5", NULL);

  check_bad_start (scan, path, NAN, "Slice 1 of");
  check_bad_start (scan, path, 1e30, "Pass 1 came to values that are no numbers");
  test_folder_free (folder);
}

/* ── Momentum ── */

#define AT_FIRST 4
#define THEN 5

typedef struct {
  const char *method, *device;
  gboolean cone;
  TdVolumeFormat format;
  guint64 memory_limit; /* parallel beams: so little beside what the process takes that slices go in
                           slabs */
} Going;

static const Going goings[] = {
  { "fista-tv", "host", TRUE, TD_VOLUME_HDF5, 0 },
  { "cgls", "host", TRUE, TD_VOLUME_TIFF_STACK, 0 },
  { "fista-tv", "opencl:0", TRUE, TD_VOLUME_BIGTIFF, 0 },
  { "cgls", "opencl:0", FALSE, TD_VOLUME_HDF5, 0 },
  { "fista-tv", "host", FALSE, TD_VOLUME_BIGTIFF, (64 << 20) + (1 << 20) },
  { "cgls", "host", FALSE, TD_VOLUME_BIGTIFF, (64 << 20) + (5 << 18) },
};

static void
describe (const Going *going, const char *start, guint iterations, TdRecipe *recipe)
{
  g_autoptr (GError) error = NULL;

  td_test_recipe (recipe, going->method, going->device);
  recipe->iterations = iterations;
  recipe->output_format = going->format;
  recipe->memory_limit_bytes = going->memory_limit;
  g_assert_true (td_recipe_set (recipe, "start", start, &error));
}

/* What was kept makes two runs one, to rounding; without it they are two. */
/* What was read and written there is closed. */
static void
assert_nothing_open (const char *folder)
{
  g_autoptr (GDir) files = g_dir_open ("/proc/self/fd", 0, NULL);
  const char *name;

  while ((name = g_dir_read_name (files))) {
    g_autofree char *link = g_build_filename ("/proc/self/fd", name, NULL);
    g_autofree char *file = g_file_read_link (link, NULL);
    g_assert_false (file && g_str_has_prefix (file, folder));
  }
}

static void
test_momentum (gconstpointer data)
{
  const Going *going = data;
  TdPhantomScan spec;
  g_autoptr (TdScan) scan = td_test_phantom_scan (&spec, 32, going->memory_limit ? 96 : 24, 20,
                                                  going->cone ? 360 : 180, going->cone);
  TestFolder *folder = test_folder_new ();
  g_autofree char *path = g_build_filename (folder->path, "half", NULL);
  g_autofree char *beside = g_strconcat (path, ".momentum", NULL);
  TdTestVolume whole, rest, anew;
  TdRecipe recipe;

  if (g_str_has_prefix (going->device, "opencl")) {
    g_autoptr (GPtrArray) devices = td_engine_devices (engine, going->device, NULL);
    if (!devices) {
      g_test_skip ("no OpenCL device");
      test_folder_free (folder);
      return;
    }
  }
  describe (going, "zero", AT_FIRST, &recipe);
  g_autofree char *notes = write_to (scan, &recipe, path, TRUE);
  g_assert_nonnull (strstr (notes, ".momentum"));
  g_assert_true (g_file_test (beside, G_FILE_TEST_IS_REGULAR));
  describe (going, "zero", AT_FIRST + THEN, &recipe);
  td_test_reconstruct_well (engine, scan, &recipe, &whole);
  describe (going, path, THEN, &recipe);
  if (going->memory_limit) {
    g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe, NULL, NULL, NULL);
    g_assert_cmpuint (td_plan_facts (plan)->n_slabs, >, 1);
  }
  td_test_reconstruct_well (engine, scan, &recipe, &rest);
  g_autofree char *going_on = all_notes (scan, &recipe, &rest);
  g_assert_nonnull (strstr (going_on, "as if they had not stopped"));
  g_assert_null (strstr (going_on, "anew"));
  assert_nothing_open (folder->path);
  g_assert_cmpint (g_remove (beside), ==, 0);
  td_test_reconstruct_well (engine, scan, &recipe, &anew);
  g_autofree char *beginning = all_notes (scan, &recipe, &anew);
  g_assert_nonnull (strstr (beginning, "begins anew: there is none beside it; --keep"));
  td_test_pin ("%u passes and %u differ from %u by %.1e, without momentum by %.1e", AT_FIRST, THEN,
               AT_FIRST + THEN, td_test_difference (&rest, &whole),
               td_test_difference (&anew, &whole));
  g_assert_cmpfloat (td_test_difference (&rest, &whole), <, 1e-5);
  g_assert_cmpfloat (td_test_difference (&anew, &whole), >, 1e-3);
  td_test_volume_clear (&whole);
  td_test_volume_clear (&rest);
  td_test_volume_clear (&anew);
  test_folder_free (folder);
}

static void
assert_anew (TdScan *scan, const Going *going, const char *path, const char *says)
{
  TdTestVolume volume;
  TdRecipe recipe;

  describe (going, path, 1, &recipe);
  td_test_reconstruct_well (engine, scan, &recipe, &volume);
  g_autofree char *all = all_notes (scan, &recipe, &volume);
  g_assert_nonnull (strstr (all, "anew"));
  g_assert_nonnull (strstr (all, says));
  td_test_volume_clear (&volume);
}

/* The momentum is of another volume, other projections, another geometry or another method, or its
   file is damaged. The job goes on from the volume all the same, and the notes say so. */
static void
test_foreign (gconstpointer data)
{
  const Going *going = data;
  TdPhantomScan spec;
  g_autoptr (TdScan) scan = td_test_phantom_scan (&spec, 32, 24, 20, 360, TRUE);
  g_autoptr (GError) error = NULL;
  TestFolder *folder = test_folder_new ();
  g_autofree char *path = g_build_filename (folder->path, "half.h5", NULL);
  g_autofree char *beside = g_strconcat (path, ".momentum", NULL);
  g_autofree char *contents = NULL;
  gsize length;
  TdRecipe recipe;

  spec.fill = 0.7;
  g_autoptr (TdScan) other = td_phantom_scan_new (&spec, &error);
  g_assert_no_error (error);
  describe (going, "zero", AT_FIRST, &recipe);
  g_free (write_to (scan, &recipe, path, TRUE));
  assert_anew (other, going, path, "what was measured");
  const Going method = { strcmp (going->method, "cgls") == 0 ? "fista-tv" : "cgls", "host", TRUE,
                         TD_VOLUME_HDF5, 0 };
  assert_anew (scan, &method, path, "another method");
  describe (going, "zero", 2, &recipe);
  g_free (write_to (scan, &recipe, path, FALSE));
  assert_anew (scan, going, path, "of another one");

  g_assert_true (g_file_get_contents (beside, &contents, &length, &error));
  memset (contents + 48, 0xff, 8); /* the slab's slices */
  g_assert_true (g_file_set_contents (beside, contents, (gssize) length, &error));
  assert_anew (scan, going, path, "damaged");
  g_assert_true (g_file_set_contents (beside, contents, 60, &error));
  assert_anew (scan, going, path, "damaged");
  g_assert_true (g_file_set_contents (beside, "no", 2, &error));
  assert_anew (scan, going, path, "damaged");
  /* What is rounded, or a part, cannot be gone on from. */
  describe (going, "zero", 1, &recipe);
  recipe.output_bits = 16;
  recipe.output_range_auto = FALSE;
  recipe.output_low = 0;
  recipe.output_high = 1;
  g_autofree char *notes = write_to (scan, &recipe, path, TRUE);
  g_assert_nonnull (strstr (notes, "--bits"));
  test_folder_free (folder);
}

/* The same projections by another geometry: the direction of conjugate gradients is of no use then,
   which only the residual tells. */
static void
test_other_geometry (void)
{
  const Going going = { "cgls", "host", TRUE, TD_VOLUME_HDF5, 0 };
  TdPhantomScan spec;
  g_autoptr (TdScan) scan = td_test_phantom_scan (&spec, 32, 24, 20, 360, TRUE);
  g_autoptr (GError) error = NULL;
  TestFolder *folder = test_folder_new ();
  g_autofree char *path = g_build_filename (folder->path, "half.h5", NULL);
  TdTestVolume volume;
  TdRecipe recipe;

  describe (&going, "zero", AT_FIRST, &recipe);
  g_free (write_to (scan, &recipe, path, TRUE));
  describe (&going, path, 1, &recipe);
  g_assert_true (td_recipe_set (&recipe, "centre", "16.5", &error)); /* it is 15.5 */
  td_test_reconstruct_well (engine, scan, &recipe, &volume);
  g_autofree char *notes = all_notes (scan, &recipe, &volume);
  g_assert_nonnull (strstr (notes, "or the geometry, is not what it belongs to"));
  td_test_volume_clear (&volume);
  test_folder_free (folder);
}

/* ── Ends ── */

static void
test_tolerance (void)
{
  TdPhantomScan spec;
  g_autoptr (TdScan) scan = td_test_phantom_scan (&spec, 32, 24, 20, 360, TRUE);

  for (guint i = 0; i < G_N_ELEMENTS (methods); i++) {
    TdTestVolume volume;
    TdRecipe recipe;

    td_test_recipe (&recipe, methods[i], "host");
    recipe.iterations = 1000;
    recipe.tolerance = 0.05;
    td_test_reconstruct_well (engine, scan, &recipe, &volume);
    td_test_pin ("%s: %s", methods[i], volume.notes);
    g_assert_nonnull (strstr (volume.notes, "--tolerance"));
    g_assert_cmpfloat (residual_of (&volume), <, 0.05);
    td_test_volume_clear (&volume);
  }
}

static gpointer
ask (gpointer user)
{
  TdJob *job = user;
  TdJobProgress progress;

  do {
    g_usleep (1000);
    td_job_progress (job, &progress);
  } while (progress.pass < 2 && progress.state <= TD_JOB_RUNNING);
  g_assert_cmpuint (progress.n_passes, ==, 10000);
  g_assert_cmpfloat (progress.residual, <, 1);
  td_job_finish_early (job);
  return NULL;
}

static void
count_slices (guint first, guint count, const float *slices, gpointer user)
{
  *(guint *) user += count;
}

static void
test_asked (void)
{
  TdPhantomScan spec;
  g_autoptr (TdScan) scan = td_test_phantom_scan (&spec, 32, 24, 20, 360, TRUE);

  TestFolder *folder = test_folder_new ();

  for (guint i = 0; i < G_N_ELEMENTS (methods); i++) {
    g_autoptr (GError) error = NULL;
    g_autofree char *path = g_build_filename (folder->path, methods[i], NULL);
    g_autofree char *beside = g_strconcat (path, ".momentum", NULL);
    guint slices = 0, n;
    TdRecipe recipe;

    td_test_recipe (&recipe, methods[i], "host");
    recipe.iterations = 10000;
    g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe, path, NULL, &error);
    g_assert_no_error (error);
    g_autoptr (TdJob) job = td_job_new (plan);
    td_job_set_sink (job, count_slices, &slices);
    GThread *thread = g_thread_new ("ask", ask, job);
    g_assert_true (td_job_run (job, NULL, &error));
    g_thread_join (thread);
    g_autofree char *notes = td_messages_join (td_job_result (job)->notes, "\n", NULL);
    g_assert_nonnull (strstr (notes, "as asked"));
    g_assert_cmpuint (slices, ==, 24);
    g_assert_cmpint (g_file_test (beside, G_FILE_TEST_EXISTS), ==,
                     strcmp (methods[i], "sirt") != 0);
    const TdJobPass *passes = td_job_passes (job, &n);
    g_assert_cmpuint (n, >=, 2);
    g_assert_cmpuint (n, <, 10000);
    for (guint k = 1; k < n; k++)
      g_assert_cmpfloat (passes[k].seconds, >=, passes[k - 1].seconds);
  }
  test_folder_free (folder);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  engine = td_engine_new (td_methods);
  g_test_add_func ("/iterative-start/filtered/cone", test_filtered_cone);
  g_test_add_func ("/iterative-start/filtered/parallel", test_filtered_parallel);
  g_test_add_func ("/iterative-start/parts", test_parts);
  g_test_add_func ("/iterative-start/parts-file", test_parts_file);
  g_test_add_func ("/iterative-start/reads", test_reads);
  g_test_add_func ("/iterative-start/reads-seen", test_reads_seen);
  g_test_add_func ("/iterative-start/room/cone", test_room_cone);
  g_test_add_func ("/iterative-start/room/parallel", test_room_parallel);
  g_test_add_func ("/iterative-start/room/none", test_no_room);
  g_test_add_func ("/iterative-start/room/gone", test_room_gone);
  g_test_add_func ("/iterative-start/unfilterable", test_unfilterable);
  g_test_add_func ("/iterative-start/file", test_file);
  g_test_add_func ("/iterative-start/no-numbers", test_no_numbers);
  for (guint i = 0; i < G_N_ELEMENTS (goings); i++) {
    g_autofree char *name
        = g_strdup_printf ("/iterative-start/momentum/%s-%u", goings[i].method, i);
    g_test_add_data_func (name, &goings[i], test_momentum);
  }
  g_test_add_data_func ("/iterative-start/foreign/fista-tv", &goings[0], test_foreign);
  g_test_add_data_func ("/iterative-start/foreign/cgls",
                        &(Going) { "cgls", "host", TRUE, TD_VOLUME_HDF5, 0 }, test_foreign);
  g_test_add_func ("/iterative-start/other-geometry", test_other_geometry);
  g_test_add_func ("/iterative-start/tolerance", test_tolerance);
  g_test_add_func ("/iterative-start/asked", test_asked);
  const int status = g_test_run ();
  td_engine_unref (engine);
  return status;
}
