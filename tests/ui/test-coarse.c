/* SPDX-License-Identifier: GPL-3.0-or-later */
/* In the coarse stand-in of a row, a step has the same effect on wider columns. */
#include <math.h>

#include "compute/prepare/paganin.h"
#include "compute/prepare/prepare.h"
#include "dataset/phantom-scan.h"
#include "compute/engine/preview.h"

#define COLUMNS 512
#define VIEWS 256
#define FACTOR 4

static TdScan *
make_scan (void)
{
  TdPhantomScan spec;

  td_phantom_scan_init (&spec, NULL, COLUMNS, 3, VIEWS);
  TdScan *scan = td_phantom_scan_new (&spec, NULL);
  g_assert_nonnull (scan);
  return scan;
}

static float *
prepared_row (TdScan *scan, const TdRecipe *recipe, guint row)
{
  const TdScanFacts *facts = td_scan_facts (scan);
  const gsize bytes = (gsize) facts->n_views * facts->n_columns * sizeof (float);
  g_autoptr (GError) error = NULL;
  g_autoptr (TdDevice) device = td_device_open ("host", &error);
  g_autoptr (TdQueue) queue = td_queue_new (device, &error);
  g_autoptr (TdBuffer) buffer = td_buffer_new (device, bytes, &error);
  g_autoptr (TdPreparation) preparation
      = td_preparation_new (device, scan, NULL, recipe->steps, recipe->n_steps, &error);
  float *data = g_malloc (bytes);

  g_assert_true (
      td_scan_read_sinograms (scan,
                              &(TdFrameRange) { TD_FRAME_PROJECTION, 0, facts->n_views, row, 1 },
                              data, NULL, &error)
      && td_upload (queue, buffer, 0, data, bytes, &error)
      && td_preparation_run (preparation, queue, buffer, row, 1, NULL, &error)
      && td_download (queue, data, buffer, 0, bytes, &error) && td_queue_finish (queue, &error));
  return data;
}

/* How a smooth step, whose width is in columns, changes the row, coarse and averaged: alike. */
static void
test_same_effect (void)
{
  g_autoptr (TdScan) scan = make_scan ();
  g_autoptr (TdScan) coarse = td_preview_coarse_scan (scan, NULL, 1, FACTOR, NULL, NULL);
  TdRecipe plain, recipe, coarse_plain, coarse_recipe, unscaled;
  double same = 0, other = 0, all = 0;

  td_recipe_init (&plain);
  recipe = plain;
  td_recipe_add_step (&recipe, "double-flat", NULL)->values[0] = 24;
  td_preview_coarse_recipe (&plain, td_scan_facts (scan), 1, FACTOR, &coarse_plain);
  td_preview_coarse_recipe (&recipe, td_scan_facts (scan), 1, FACTOR, &coarse_recipe);
  unscaled = coarse_recipe;
  td_recipe_step (&unscaled, "double-flat")->values[0] = 24;
  g_autofree float *fine0 = prepared_row (scan, &plain, 1),
                   *fine1 = prepared_row (scan, &recipe, 1);
  g_autofree float *coarse0 = prepared_row (coarse, &coarse_plain, 0);
  g_autofree float *coarse1 = prepared_row (coarse, &coarse_recipe, 0);
  g_autofree float *coarse2 = prepared_row (coarse, &unscaled, 0);
  for (guint i = 0; i < COLUMNS / FACTOR; i++) {
    double change = 0;
    for (guint k = 0; k < FACTOR; k++)
      change += (fine1[i * FACTOR + k] - fine0[i * FACTOR + k]) / FACTOR;
    all += change * change;
    same += pow (coarse1[i] - coarse0[i] - change, 2);
    other += pow (coarse2[i] - coarse0[i] - change, 2);
  }
  g_assert_cmpfloat (all, >, 0);
  g_test_message ("differs by %.3f of the change", sqrt (same / all));
  g_assert_cmpfloat (same, <, 0.01 * all);
  g_assert_cmpfloat (other, >, 0.3 * all); /* as it would be with the width left as it was */
}

static void
test_recipe (void)
{
  g_autoptr (TdScan) scan = make_scan ();
  TdRecipe recipe, coarse;

  td_recipe_init (&recipe);
  recipe.centre_px = 256;
  td_recipe_add_step (&recipe, "rings", NULL)->values[0] = 12;
  td_recipe_add_step (&recipe, "paganin", NULL)->values[TD_PAGANIN_PIXEL] = 2;
  td_preview_coarse_recipe (&recipe, td_scan_facts (scan), 1, FACTOR, &coarse);
  g_assert_cmpfloat (coarse.centre_px, ==, (256 - 1.5) / 4);
  g_assert_cmpfloat (td_recipe_step (&coarse, "rings")->values[0], ==, 3);
  g_assert_cmpfloat (td_recipe_step (&coarse, "paganin")->values[TD_PAGANIN_PIXEL], ==, 8);
}

/* Columns 17 and 200 to 203 of a row are bad, the last of them a whole coarse pixel. */
static TdScan *
make_masked (float *projections, guint8 *mask)
{
  static double angles[8] = { 0, 0.4, 0.8, 1.2, 1.6, 2, 2.4, 2.8 };
  TdScanFacts facts = {
    .path = "memory",
    .format = "memory",
    .title = "masked",
    .n_columns = COLUMNS,
    .n_rows = 2,
    .n_views = G_N_ELEMENTS (angles),
    .sample_type = TD_SAMPLE_FLOAT32,
    .angles_rad = angles,
    .centre_px = NAN,
    .bad_pixels = mask,
  };

  td_geometry_init_parallel (&facts.geometry);
  for (guint i = 0; i < 2 * facts.n_views * COLUMNS; i++) {
    const guint column = i % COLUMNS;
    const gboolean bad = column == 17 || (column >= 200 && column < 204);
    mask[column] = bad;
    projections[i] = bad ? column == 17 ? NAN : 30000 : 1 + (float) (column / FACTOR) / 100;
  }
  return td_scan_new_from_memory (&facts, projections, NULL, NULL, NULL, NULL);
}

/* A bad pixel is left out of its average: the coarse row is that of a whole detector. */
static void
test_mask (void)
{
  g_autofree float *projections = g_new (float, 2 * 8 * COLUMNS);
  g_autofree guint8 *mask = g_new0 (guint8, 2 * COLUMNS);
  g_autoptr (TdScan) scan = make_masked (projections, mask);
  g_autoptr (TdScan) mended = td_preview_coarse_scan (scan, NULL, 0, FACTOR, NULL, NULL);
  TdRecipe recipe, coarse;
  const TdScanFacts *facts = td_scan_facts (mended);

  td_recipe_init (&recipe);
  recipe.n_steps = 0;
  g_assert_nonnull (td_recipe_add_step (&recipe, "bad-pixels", NULL));
  td_recipe_step (&recipe, "bad-pixels")->values[0] = 0; /* the mask only */
  g_strlcpy (recipe.mask, "/mask.tif", sizeof recipe.mask);
  td_preview_coarse_recipe (&recipe, td_scan_facts (scan), 0, FACTOR, &coarse);
  g_assert_null (td_recipe_mask (&coarse));
  g_assert_true (td_recipe_step (&coarse, "bad-pixels")->enabled);
  for (guint i = 0; i < COLUMNS / FACTOR; i++)
    g_assert_cmpuint (facts->bad_pixels[i], ==, i == 200 / FACTOR);
  g_autofree float *row = prepared_row (mended, &coarse, 0);
  for (guint i = 0; i < facts->n_views * COLUMNS / FACTOR; i++)
    g_assert_cmpfloat_with_epsilon (row[i], 1 + (float) (i % (COLUMNS / FACTOR)) / 100, 1e-5);
  coarse.n_steps = 0; /* without the step the full slice shows them, and so does this */
  g_autofree float *raw = prepared_row (mended, &coarse, 0);
  g_assert_cmpfloat (raw[200 / FACTOR], >, 1000);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/coarse/recipe", test_recipe);
  g_test_add_func ("/coarse/mask", test_mask);
  g_test_add_func ("/coarse/same-effect", test_same_effect);
  return g_test_run ();
}
