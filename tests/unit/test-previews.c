/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Jobs of one slice, one after another as a person changes the steps: what is kept from one to the
   next may save time only. Each is compared with the same job on an engine that knows nothing. */
#include <string.h>

#include "compute/engine/job.h"
#include "compute/engine/preview.h"
#include "compute/methods/methods.h"
#include "dataset/phantom-scan.h"
#include "tests/common/inner-scan.h"
#include "tests/common/pipeline.h"

#define COLUMNS 96
#define ROWS 9
#define VIEWS 90

static TdScan *scan;

typedef struct {
  float *slice, *sinogram;
  gsize n_slice;
  TdPreparationCounts counts;
  GCancellable *cancel_at_sinogram; /* NULL: the job goes on */
} Preview;

static void
preview_clear (Preview *preview)
{
  g_free (preview->slice);
  g_free (preview->sinogram);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Preview, preview_clear)

static void
take_slice (guint first, guint count, const float *slices, gpointer user)
{
  Preview *preview = user;

  g_assert_cmpuint (count, ==, 1);
  preview->slice = g_memdup2 (slices, preview->n_slice * sizeof (float));
}

static void
take_sinogram (float *sinogram, gpointer user)
{
  Preview *preview = user;

  g_assert_null (preview->sinogram);
  g_assert_null (preview->slice);
  preview->sinogram = sinogram;
  if (preview->cancel_at_sinogram)
    g_cancellable_cancel (preview->cancel_at_sinogram);
}

static gboolean
run (TdEngine *engine, const TdRecipe *recipe, Preview *preview, GError **error)
{
  g_autoptr (TdPlan) plan = td_plan_new (engine, scan, recipe, NULL, NULL, error);

  g_assert_nonnull (plan);
  const TdPlanFacts *facts = td_plan_facts (plan);
  g_autoptr (TdJob) job = td_job_new (plan);
  preview->n_slice = (gsize) facts->nx * facts->ny;
  td_job_set_sink (job, take_slice, preview);
  td_job_set_sinogram_sink (job, take_sinogram, preview);
  gboolean ok = td_job_run (job, preview->cancel_at_sinogram, error);
  preview->counts = td_job_result (job)->counts;
  return ok;
}

static void
assert_same (const Preview *a, const Preview *b)
{
  g_assert_cmpuint (a->n_slice, ==, b->n_slice);
  g_assert_cmpmem (a->sinogram, VIEWS * COLUMNS * sizeof (float), b->sinogram,
                   VIEWS * COLUMNS * sizeof (float));
  g_assert_cmpmem (a->slice, a->n_slice * sizeof (float), b->slice, b->n_slice * sizeof (float));
  g_assert_cmpuint (a->counts.zingers, ==, b->counts.zingers);
  g_assert_cmpuint (a->counts.zingers_angle, ==, b->counts.zingers_angle);
  g_assert_cmpuint (a->counts.clamped_transmissions, ==, b->counts.clamped_transmissions);
  g_assert_cmpuint (a->counts.dead_pixels, ==, b->counts.dead_pixels);
  g_assert_cmpuint (a->counts.stuck_pixels, ==, b->counts.stuck_pixels);
  g_assert_cmpfloat (a->counts.dose_low, ==, b->counts.dose_low);
}

static void
assert_as_from_the_start (TdEngine *warm, const TdRecipe *recipe)
{
  g_autoptr (TdEngine) cold = td_engine_new (td_methods);
  g_autoptr (GError) error = NULL;
  g_auto (Preview) a = { 0 }, b = { 0 };

  run (warm, recipe, &a, &error);
  g_assert_no_error (error);
  run (cold, recipe, &b, &error);
  g_assert_no_error (error);
  assert_same (&a, &b);
}

static void
recipe_init (TdRecipe *recipe, const char *device)
{
  static const char *const steps[] = { "zingers", "dose", "zingers-angle", "rings" };

  td_recipe_init (recipe);
  g_strlcpy (recipe->devices, device, sizeof recipe->devices);
  for (guint i = 0; i < G_N_ELEMENTS (steps); i++)
    g_assert_nonnull (td_recipe_add_step (recipe, steps[i], NULL));
  recipe->row_first = 4;
  recipe->row_end = 5;
}

static void
test_edits (gconstpointer device)
{
  static const struct {
    const char *step; /* NULL: another row */
    guint parameter;
    double value; /* NAN: switch it; the row */
  } edits[] = {
    { "rings", 0, 5 },
    { "rings", 0, 9 },
    { "zingers-angle", 0, 0.3 },
    { "rings", 0, 5 },
    { "minus-log", 0, 0.2 },
    { "minus-log", 0, 0.1 },
    { "zingers-angle", 0, 0.5 },
    { NULL, 0, 6 },
    { "zingers-angle", 0, 0.4 },
    { "zingers", 0, 2 },
    { NULL, 0, 4 },
    { "zingers", G_MAXUINT, 0 },
    { "rings", G_MAXUINT, 0 },
    { "rings", G_MAXUINT, 0 },
    { "zingers", G_MAXUINT, 0 },
  };
  g_autoptr (TdEngine) engine = td_engine_new (td_methods);
  TdRecipe recipe;

  recipe_init (&recipe, device);
  assert_as_from_the_start (engine, &recipe);
  for (guint i = 0; i < G_N_ELEMENTS (edits); i++) {
    if (!edits[i].step) {
      recipe.row_first = (guint) edits[i].value;
      recipe.row_end = recipe.row_first + 1;
    } else {
      TdStep *step = td_recipe_step (&recipe, edits[i].step);
      if (edits[i].parameter == G_MAXUINT)
        step->enabled = !step->enabled;
      else
        step->values[edits[i].parameter] = edits[i].value;
    }
    assert_as_from_the_start (engine, &recipe);
  }
  /* A step more in the middle, and away again. */
  TdRecipe longer = recipe;
  g_assert_nonnull (td_recipe_add_step (&longer, "beam-hardening", NULL));
  assert_as_from_the_start (engine, &longer);
  assert_as_from_the_start (engine, &recipe);
}

/* Phase retrieval wants all rows of a detector lower than its reach, whatever slice is made of
   them. So what was made for one slice must not serve another. */
static void
test_low_detector (gconstpointer device)
{
  static const struct {
    guint row;
    double floor, threshold; /* of a step behind phase retrieval, and of one before it */
  } edits[] = {
    { 4, 1e-5, 0.3 }, { 6, 1e-5, 0.3 }, { 2, 1e-5, 0.3 }, { 2, 1e-3, 0.3 },
    { 2, 1e-4, 0.3 }, { 7, 1e-4, 0.3 }, { 3, 1e-3, 0.3 }, { 3, 1e-3, 0.5 },
    { 5, 1e-3, 0.5 }, { 5, 1e-4, 0.4 }, { 0, 1e-4, 0.4 }, { 8, 1e-3, 0.4 },
  };
  g_autoptr (TdEngine) engine = td_engine_new (td_methods);
  TdRecipe recipe;

  recipe_init (&recipe, device);
  g_assert_true (
      td_recipe_set (&recipe, "prepare", "paganin=300:energy=25:distance=200:pixel=1.5", NULL));
  for (guint i = 0; i < G_N_ELEMENTS (edits); i++) {
    recipe.row_first = edits[i].row;
    recipe.row_end = edits[i].row + 1;
    td_recipe_step (&recipe, "minus-log")->values[0] = edits[i].floor;
    td_recipe_step (&recipe, "zingers")->values[0] = edits[i].threshold;
    assert_as_from_the_start (engine, &recipe);
  }
}

/* Cancelled between the sinogram and the slice: the next one has neither old rows nor old counts.
 */
static void
test_cancelled (gconstpointer device)
{
  g_autoptr (TdEngine) engine = td_engine_new (td_methods);
  TdRecipe recipe;

  recipe_init (&recipe, device);
  assert_as_from_the_start (engine, &recipe);
  for (guint i = 0; i < 3; i++) {
    g_autoptr (GCancellable) cancellable = g_cancellable_new ();
    g_autoptr (GError) error = NULL;
    g_auto (Preview) preview = { .cancel_at_sinogram = cancellable };

    td_recipe_step (&recipe, i == 1 ? "zingers" : "zingers-angle")->values[0] = 0.6 + 0.1 * i;
    g_assert_false (run (engine, &recipe, &preview, &error));
    g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
    g_assert_nonnull (preview.sinogram);
    if (i == 2)
      td_recipe_step (&recipe, "rings")->values[0] = 7;
    assert_as_from_the_start (engine, &recipe);
  }
}

/* The sinogram is the row that the steps made; and what asks a volume for it does no harm. */
static void
test_sinogram (gconstpointer id)
{
  g_autoptr (TdEngine) engine = td_engine_new (td_methods);
  g_autoptr (GError) error = NULL;
  g_auto (Preview) preview = { 0 };
  TdRecipe recipe;

  recipe_init (&recipe, id);
  run (engine, &recipe, &preview, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (preview.counts.zingers, >, 0);
  g_assert_cmpfloat (preview.counts.dose_high, >, 0);
  const guint halo = td_preparation_halo (recipe.steps, recipe.n_steps, td_scan_facts (scan));
  const guint n = 2 * halo + 1, row0 = recipe.row_first - halo;
  const gsize bytes = (gsize) n * VIEWS * COLUMNS * sizeof (float);
  g_autofree float *rows = g_malloc (bytes);
  g_assert_true (td_scan_read_sinograms (
      scan, &(TdFrameRange) { TD_FRAME_PROJECTION, 0, VIEWS, row0, n }, rows, NULL, &error));
  g_autoptr (TdDevice) device = td_device_open (id, &error);
  g_autoptr (TdQueue) queue = td_queue_new (device, &error);
  g_autoptr (TdBuffer) buffer = td_buffer_new (device, bytes, &error);
  g_autoptr (TdPreparation) preparation
      = td_preparation_new (device, scan, NULL, recipe.steps, recipe.n_steps, &error);
  g_assert_true (td_upload (queue, buffer, 0, rows, bytes, &error)
                 && td_preparation_run (preparation, queue, buffer, row0, n, NULL, &error)
                 && td_download (queue, rows, buffer, 0, bytes, &error)
                 && td_queue_finish (queue, &error));
  g_assert_cmpmem (rows + (gsize) halo * VIEWS * COLUMNS, VIEWS * COLUMNS * sizeof (float),
                   preview.sinogram, VIEWS * COLUMNS * sizeof (float));

  g_auto (Preview) volume = { 0 };
  recipe.row_end = recipe.row_first + 2;
  g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe, NULL, NULL, &error);
  g_assert_no_error (error);
  g_autoptr (TdJob) job = td_job_new (plan);
  td_job_set_sinogram_sink (job, take_sinogram, &volume);
  g_assert_true (td_job_run (job, NULL, &error));
}

/* A projection that is shown is the one that a job reconstructs, with flats before and after, doses
   and dead pixels. Each of its rows is that view of the row's sinogram. */
static void
test_projection (void)
{
  static const guint views[] = { 0, 31, VIEWS - 1, 31 };
  TdScan *const before = scan;
  g_autoptr (TdEngine) engine = td_engine_new (td_methods);
  g_autoptr (GError) error = NULL;
  TdPhantomScan spec;
  TdRecipe recipe;

  td_phantom_scan_init (&spec, NULL, COLUMNS, ROWS, VIEWS);
  spec.photons = 3000;
  spec.zingers = 0.002;
  spec.drift = 0.1;
  spec.flicker = 0.05;
  spec.n_dead = 20;
  scan = td_phantom_scan_new (&spec, NULL);
  td_recipe_init (&recipe);
  g_strlcpy (recipe.devices, "host", sizeof recipe.devices);
  g_assert_true (
      td_recipe_set (&recipe, "prepare", "bad-pixels,zingers,dose,beam-hardening", NULL));
  g_autofree float *sinograms = g_new (float, ROWS *VIEWS *COLUMNS);
  for (guint row = 0; row < ROWS; row++) {
    g_auto (Preview) preview = { 0 };
    recipe.row_first = row;
    recipe.row_end = row + 1;
    run (engine, &recipe, &preview, &error);
    g_assert_no_error (error);
    g_assert_cmpfloat (preview.counts.dose_high - preview.counts.dose_low, >, 0.01);
    memcpy (sinograms + row * VIEWS * COLUMNS, preview.sinogram,
            VIEWS * COLUMNS * sizeof *sinograms);
    g_autofree float *shown = td_preview_sinogram (engine, scan, row, &recipe, NULL, &error);
    g_assert_no_error (error);
    g_assert_cmpmem (shown, VIEWS * COLUMNS * sizeof *shown, preview.sinogram,
                     VIEWS * COLUMNS * sizeof *shown);
  }
  /* What needs other views is left out. */
  g_assert_nonnull (td_recipe_add_step (&recipe, "rings", NULL));
  for (guint i = 0; i < G_N_ELEMENTS (views); i++) {
    g_autofree float *frame = td_preview_projection (engine, scan, views[i], &recipe, NULL, &error);
    g_assert_no_error (error);
    for (guint row = 0; row < ROWS; row++)
      g_assert_cmpmem (frame + row * COLUMNS, COLUMNS * sizeof *frame,
                       sinograms + (row * VIEWS + views[i]) * COLUMNS, COLUMNS * sizeof *frame);
  }
  /* Another scan, and this one again, on the same engine. */
  for (guint i = 0; i < 2; i++) {
    g_autoptr (TdEngine) cold = td_engine_new (td_methods);
    TdScan *const shown = i ? scan : before;
    g_autofree float *warm = td_preview_projection (engine, shown, 80, &recipe, NULL, &error);
    g_autofree float *anew = td_preview_projection (cold, shown, 80, &recipe, NULL, &error);
    g_assert_no_error (error);
    g_assert_cmpmem (warm, ROWS * COLUMNS * sizeof *warm, anew, ROWS * COLUMNS * sizeof *anew);
  }
  /* Another flat field, on the same engine. */
  g_autofree float *view = td_preview_projection (engine, scan, 80, &recipe, NULL, &error);
  td_recipe_step (&recipe, "flat-field")->values[2] = 0;
  g_autofree float *pooled = td_preview_projection (engine, scan, 80, &recipe, NULL, &error);
  g_assert_cmpfloat (view[5], !=, pooled[5]);
  g_autofree float *stored = td_preview_projection (engine, scan, 80, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpfloat (stored[5], >, 100);
  td_scan_unref (scan);
  scan = before;
}

/* Opposite views cancel at the axis and nowhere else; a tilted axis is followed. */
static void
test_opposite (void)
{
  TdPhantomScan spec;
  double rms[3] = { 0 };
  guint views[2] = { 0, 0 };
  TdRecipe recipe;

  td_phantom_scan_init (&spec, NULL, COLUMNS, 24, 91);
  spec.end_point = TRUE;
  spec.centre_px = 50.3;
  spec.tilt_deg = 8;
  g_autoptr (TdScan) tilted = td_phantom_scan_new (&spec, NULL);
  const TdScanFacts *facts = td_scan_facts (tilted);
  g_autoptr (TdEngine) engine = td_engine_new (td_methods);
  td_recipe_init (&recipe);
  g_assert_true (td_preview_opposite_view (facts, 0, &views[1]));
  g_assert_cmpuint (views[1], ==, 90);
  g_assert_false (td_preview_opposite_view (facts, 45, &views[1]));
  views[1] = 90;
  for (guint i = 0; i < 3; i++) {
    g_autoptr (GError) error = NULL;
    const TdAxisLine axis = td_axis_line (50.3 + (i == 1 ? 1 : 0), i == 2 ? 0 : 8, facts->n_rows);
    g_autofree float *rest
        = td_preview_opposite (engine, tilted, views, &recipe, &axis, NULL, &error);
    g_assert_no_error (error);
    for (guint k = 0; k < COLUMNS * facts->n_rows; k++)
      rms[i] += rest[k] * rest[k];
  }
  g_test_message ("%g at the axis, %g a column off, %g without the tilt", rms[0], rms[1], rms[2]);
  g_assert_cmpfloat (rms[0], <, 0.2 * rms[1]);
  g_assert_cmpfloat (rms[0], <, 0.2 * rms[2]);
}

static gboolean
broken_fill (gpointer source, const TdFrameRange *range, const TdFrameTarget *target,
             GCancellable *cancellable, GError **error)
{
  if (range->kind != (TdFrameKind) GPOINTER_TO_INT (source))
    return td_scan_fill (scan, range, target, cancellable, error);
  td_set_error (error, TD_ERROR_IO, "the cable is out");
  return FALSE;
}

/* Where a part of the scan cannot be read there is no coarse one. */
static void
test_coarse_broken (void)
{
  static const TdScanSource vtable = { .fill = broken_fill };
  static const TdFrameKind kinds[] = { TD_FRAME_PROJECTION, TD_FRAME_FLAT, TD_FRAME_DARK };

  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++) {
    g_autoptr (GError) error = NULL;
    g_autoptr (TdScan) broken = td_test_scan_around (scan, &vtable, GINT_TO_POINTER (kinds[i]));
    g_assert_null (td_preview_coarse_scan (broken, NULL, 3, 2, NULL, &error));
    g_assert_error (error, TD_ERROR, TD_ERROR_IO);
  }
}

/* In half acquisition a row alone makes a slice as wide as the whole scan does, though the axis
   lies farther out in other rows. */
static void
test_row_of_tilted (void)
{
  g_autoptr (TdEngine) engine = td_engine_new (td_methods);
  g_autoptr (GError) error = NULL;
  TdPhantomScan spec;
  TdRecipe recipe, alone;

  g_autoptr (TdScan) tilted = td_test_tilted_scan (&spec);
  td_recipe_init (&recipe);
  td_recipe_state_axis (&recipe, spec.centre_px, spec.tilt_deg);
  g_strlcpy (recipe.devices, "host", sizeof recipe.devices);
  recipe.field_of_view = TD_FIELD_HALF;
  g_autoptr (TdPlan) whole = td_plan_new (engine, tilted, &recipe, NULL, NULL, &error);
  g_assert_no_error (error);
  g_autoptr (TdScan) row = td_preview_coarse_scan (tilted, &recipe, 20, 1, NULL, &error);
  g_assert_no_error (error);
  td_preview_coarse_recipe (&recipe, td_scan_facts (tilted), 20, 1, &alone);
  g_autoptr (TdPlan) plan = td_plan_new (engine, row, &alone, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (td_plan_facts (plan)->nx, ==, td_plan_facts (whole)->nx);
  /* Of the row by itself it is narrower. */
  g_autoptr (TdScan) bare = td_preview_coarse_scan (tilted, NULL, 20, 1, NULL, NULL);
  g_autoptr (TdPlan) narrow = td_plan_new (engine, bare, &alone, NULL, NULL, NULL);
  g_assert_cmpuint (td_plan_facts (narrow)->nx, <, td_plan_facts (whole)->nx);
}

int
main (int argc, char **argv)
{
  g_autoptr (GPtrArray) devices = td_test_devices ();
  TdPhantomScan spec;

  g_test_init (&argc, &argv, NULL);
  td_phantom_scan_init (&spec, NULL, COLUMNS, ROWS, VIEWS);
  spec.photons = 3000;
  spec.zingers = 0.002;
  spec.rings = 0.02;
  spec.flicker = 0.02;
  spec.n_dead = 20;
  scan = td_phantom_scan_new (&spec, NULL);
  for (guint i = 0; i < devices->len; i++) {
    const char *device = g_ptr_array_index (devices, i);
    g_autofree char *edits = g_strdup_printf ("/previews/%s/edits", device);
    g_autofree char *low = g_strdup_printf ("/previews/%s/low-detector", device);
    g_autofree char *cancelled = g_strdup_printf ("/previews/%s/cancelled", device);
    g_autofree char *sinogram = g_strdup_printf ("/previews/%s/sinogram", device);
    g_test_add_data_func (edits, device, test_edits);
    g_test_add_data_func (low, device, test_low_detector);
    g_test_add_data_func (cancelled, device, test_cancelled);
    g_test_add_data_func (sinogram, device, test_sinogram);
  }
  g_test_add_func ("/previews/projection", test_projection);
  g_test_add_func ("/previews/opposite", test_opposite);
  g_test_add_func ("/previews/coarse-broken", test_coarse_broken);
  g_test_add_func ("/previews/row-of-tilted", test_row_of_tilted);
  int status = g_test_run ();
  td_scan_unref (scan);
  return status;
}
