/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Iterations make of a detector on its side what they make of one that stands and measured the
   same. Steps work along the same rows, whatever part of them is taken. Each frame is read once,
   however little memory there is. */
#include <string.h>

#include "compute/methods/methods.h"
#include "dataset/scan-private.h"
#include "dataset/scan-view.h"
#include "dataset/tiff-save.h"
#include "tests/common/iterative.h"
#include "tests/unit/test-folder.h"

#define COLUMNS 40u /* of the detector that stands */
#define ROWS 28u
#define VIEWS 48u

static TdEngine *engine;

/* ── Two detectors ── */

static TdScan *
standing_scan (void)
{
  g_autoptr (GError) error = NULL;
  TdPhantomScan spec;

  td_phantom_scan_init (&spec, "ellipsoids", COLUMNS, ROWS, VIEWS);
  spec.range_deg = 360;
  spec.rings = 0.05;
  spec.n_dead = 3;
  spec.flicker = 0.01;
  spec.geometry = (TdGeometry) { .beam = TD_BEAM_CONE,
                                 .pixel_width_mm = 0.4,
                                 .pixel_height_mm = 0.4,
                                 .source_axis_mm = 200,
                                 .source_detector_mm = 300 };
  TdScan *scan = td_phantom_scan_new (&spec, &error);
  g_assert_no_error (error);
  return scan;
}

static guint reads[VIEWS]; /* of each projection of a scan that lies down; under lock */
static GMutex lock;

static gboolean
lying_fill (gpointer inner, const TdFrameRange *range, const TdFrameTarget *target,
            GCancellable *cancellable, GError **error)
{
  g_mutex_lock (&lock);
  for (guint i = 0; range->kind == TD_FRAME_PROJECTION && i < range->count; i++)
    reads[range->first + i]++;
  g_mutex_unlock (&lock);
  return td_scan_fill (inner, range, target, cancellable, error);
}

static void
lying_free (gpointer inner)
{
  td_scan_unref (inner);
}

static const TdScanSource lying = { .fill = lying_fill, .free = lying_free };

/* The same frames, turned by a quarter to the right, as if they had been measured so. */
static TdScan *
lay_down (TdScan *standing)
{
  const TdScanFrame turn = { .turned = TRUE };
  TdScan *inner = td_scan_ref (standing);

  for (guint i = 0; i < 3; i++) {
    g_autoptr (GError) error = NULL;
    TdScan *next = td_scan_view_new (inner, &turn, &error);
    g_assert_no_error (error);
    td_scan_unref (inner);
    inner = next;
  }
  TdScan *scan = td_scan_alloc ("lying", &lying, inner);
  td_scan_copy_facts (scan, td_scan_facts (inner));
  return scan;
}

/* Some bad pixels, without symmetry. */
static char *
turned_mask (const TestFolder *folder, gboolean side)
{
  const guint n_columns = side ? ROWS : COLUMNS, n_rows = side ? COLUMNS : ROWS;
  const TdTiffImage image = { .width = n_columns, .height = n_rows, .type = TD_SAMPLE_UINT8 };
  g_autofree guint8 *mask = g_new0 (guint8, ROWS * COLUMNS);
  char *path = test_folder_file (folder, side ? "side.tif" : "standing.tif");
  g_autoptr (TdTiffSave) save = td_tiff_save_new (path, path, &image, 1, FALSE, NULL);

  for (guint y = 0; y < ROWS; y++)
    for (guint x = 0; x < COLUMNS; x++)
      if ((7 * x + 3 * y) % 23 == 5 && x < COLUMNS / 2)
        mask[side ? x * ROWS + (ROWS - 1 - y) : y * COLUMNS + x] = 1;
  g_assert_true (td_tiff_save_image (save, 0, mask, NULL));
  g_assert_true (td_tiff_save_close (g_steal_pointer (&save), NULL));
  return path;
}

/* ── The same of both ── */

typedef struct {
  const char *name, *method, *prepare;
  const char *option, *standing, *side; /* NULL: none; what it is for either detector */
  gboolean mask;
} Case;

static const Case cases[] = {
  { "plain", "sirt", NULL, NULL, NULL, NULL, FALSE },
  { "rings", "sirt", "rings", NULL, NULL, NULL, FALSE },
  { "rings-cgls", "cgls", "rings-wavelet", NULL, NULL, NULL, FALSE },
  { "rings-fista", "fista-tv", "rings", NULL, NULL, NULL, FALSE },
  { "double-flat", "sirt", "double-flat", NULL, NULL, NULL, FALSE },
  { "dose", "sirt", "dose=rows", NULL, NULL, NULL, FALSE },
  { "mask", "sirt", "rings", NULL, NULL, NULL, TRUE },
  { "crop", "sirt", "rings", "crop", "4,2,32,20", "6,4,20,32", FALSE },
  { "bin", "sirt", "rings", "bin", "2,1", "1,2", FALSE },
  { "bin-rows", "cgls", "rings", "bin", "1,2", "2,1", FALSE },
  { "rows", "sirt", "rings", "rows", "3:9", "3:9", FALSE },
  { "region", "sirt", "rings", "region", "5,6,20,10", "5,6,20,10", FALSE },
  { "start-zero", "sirt", "rings", "start", "zero", "zero", FALSE },
  { "start-filtered", "sirt", "rings", "start", "fdk", "fdk", FALSE },
};

static void
set (const Case *c, const TestFolder *folder, gboolean side, TdRecipe *recipe)
{
  g_autoptr (GError) error = NULL;

  td_test_recipe (recipe, c->method, "host");
  recipe->iterations = 2;
  g_assert_true (!c->prepare || td_recipe_set (recipe, "prepare", c->prepare, &error));
  g_assert_true (!c->option
                 || td_recipe_set (recipe, c->option, side ? c->side : c->standing, &error));
  if (c->mask) {
    g_autofree char *path = turned_mask (folder, side);
    g_assert_true (td_recipe_set_mask (recipe, path, &error));
  }
}

static void
test_same (gconstpointer data)
{
  const Case *c = data;
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autoptr (TdScan) standing = standing_scan ();
  g_autoptr (TdScan) side = lay_down (standing);
  TdTestVolume upright, turned;
  TdRecipe recipe;

  set (c, folder, FALSE, &recipe);
  td_test_reconstruct_well (engine, standing, &recipe, &upright);
  set (c, folder, TRUE, &recipe);
  td_test_reconstruct_well (engine, side, &recipe, &turned);
  g_assert_cmpuint (turned.nx, ==, upright.nx);
  g_assert_cmpuint (turned.ny, ==, upright.ny);
  g_assert_cmpuint (turned.n_slices, ==, upright.n_slices);
  g_test_message ("differ by %.2e", td_test_difference (&turned, &upright));
  g_assert_cmpfloat (td_test_difference (&turned, &upright), <, 1e-5);
  td_test_volume_clear (&upright);
  td_test_volume_clear (&turned);
}

/* ── Memory ── */

static char *
plan_notes (TdScan *scan, const TdRecipe *recipe)
{
  g_autoptr (TdPlan) plan = td_plan_new (engine, scan, recipe, NULL, NULL, NULL);

  return plan ? td_messages_join (td_plan_facts (plan)->notes, "\n", NULL) : NULL;
}

/* Each frame is read once, however few rows are prepared at a time. */
static void
test_little_memory (void)
{
  g_autoptr (TdScan) standing = standing_scan ();
  g_autoptr (TdScan) scan = lay_down (standing);
  TdTestVolume whole, little;
  TdRecipe recipe;

  td_test_recipe (&recipe, "sirt", "host");
  recipe.iterations = 2;
  g_assert_true (td_recipe_set (&recipe, "prepare", "rings", NULL));
  g_assert_true (td_recipe_set (&recipe, "start", "zero", NULL));
  td_test_reconstruct_well (engine, scan, &recipe, &whole);
  for (recipe.memory_limit_bytes = 64 << 20;; recipe.memory_limit_bytes += 1 << 15) {
    g_autofree char *notes = plan_notes (scan, &recipe);

    g_assert_cmpuint (recipe.memory_limit_bytes, <, 80 << 20);
    if (!notes)
      continue;
    g_assert_nonnull (strstr (notes, "each is read once"));
    break;
  }
  memset (reads, 0, sizeof reads);
  td_test_reconstruct_well (engine, scan, &recipe, &little);
  for (guint v = 0; v < VIEWS; v++)
    g_assert_cmpuint (reads[v], ==, 1);
  g_assert_cmpuint (little.result.host_peak_bytes, <=, recipe.memory_limit_bytes);
  g_assert_cmpfloat (td_test_difference (&little, &whole), <, 1e-6);
  td_test_volume_clear (&whole);
  td_test_volume_clear (&little);
}

/* What turned frames wait in: memory if there is room, and a file if not. */
static void
test_spool (void)
{
  g_autoptr (GError) error = NULL;
  TdPhantomScan spec;
  guint told[2] = { 0 };
  TdRecipe recipe;

  td_phantom_scan_init (&spec, NULL, 64, 220, 0);
  spec.n_views = 800; /* more than are prepared at once */
  spec.range_deg = 360;
  spec.geometry = (TdGeometry) { .beam = TD_BEAM_CONE,
                                 .pixel_width_mm = 0.4,
                                 .pixel_height_mm = 0.4,
                                 .source_axis_mm = 200,
                                 .source_detector_mm = 300,
                                 .detector_tilt_rad = { 0, 0, G_PI / 2 } };
  g_autoptr (TdScan) scan = td_phantom_scan_new (&spec, &error);
  g_assert_no_error (error);
  td_test_recipe (&recipe, "sirt", "host");
  for (guint i = 0; i < 2; i++) {
    recipe.memory_limit_bytes = (guint64) (i ? 1024 : 160) << 20;
    g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe, NULL, NULL, &error);
    g_assert_no_error (error);
    g_autofree char *notes = td_messages_join (td_plan_facts (plan)->notes, "\n", NULL);
    told[0] += strstr (notes, "to be wanted in a temporary file (") != NULL;
    told[1] += strstr (notes, "to be wanted in memory (") != NULL;
    g_test_message ("%s", notes);
    g_assert_cmpuint (told[i], ==, 1);
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  engine = td_engine_new (td_methods);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autofree char *path = g_strconcat ("/iterative-turned/", cases[i].name, NULL);
    g_test_add_data_func (path, &cases[i], test_same);
  }
  g_test_add_func ("/iterative-turned/little-memory", test_little_memory);
  g_test_add_func ("/iterative-turned/spool", test_spool);
  const int status = g_test_run ();
  td_engine_unref (engine);
  return status;
}
