/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A simulated scan whose object is known as a mesh. It has 20 directions, from which no filtered
 * back-projection tells bars of three voxels from their streaks: FDK's overlap with the mesh is
 * held to what it makes of the mesh's own exact projections, and to 0.97 where these are enough.
 * Iterations that know that nothing is below 0 and little varies reach 0.97 from the scan itself.
 */
#include <math.h>

#include "compute/cone/cone.h"
#include "compute/methods/methods.h"
#include "tests/common/mesh.h"
#include "tests/common/pipeline.h"
#include "tests/common/segment.h"
#include "tests/unit/test-folder.h"

#define N 150u
#define VOXEL_MM 0.975
#define PER_MM 0.1882 /* iron in the scan's monochromatic beam, from its projections */

static TdEngine *engine;

/* The mesh in the stage's place. tetra.json puts the middle of its bounding box at u 9.428, w
   8.889. Our slices lie in the stage as x = -v, y = u, z = w (docs/formats.md). */
static gboolean
load_mesh (TdMesh *mesh)
{
  g_autofree char *path = test_scan_path ("ctsimu_tetra/tetra.stl");
  const double centre[3] = { 9.428083, 0, 8.888888 };
  double low[3] = { INFINITY, INFINITY, INFINITY }, high[3] = { -INFINITY, -INFINITY, -INFINITY };

  if (!path)
    return FALSE;
  td_mesh_load (mesh, path);
  for (guint i = 0; i < 3 * mesh->n; i++)
    for (guint k = 0; k < 3; k++) {
      low[k] = MIN (low[k], mesh->corners[i / 3][i % 3][k]);
      high[k] = MAX (high[k], mesh->corners[i / 3][i % 3][k]);
    }
  for (guint i = 0; i < 3 * mesh->n; i++) {
    double *p = mesh->corners[i / 3][i % 3], stage[3];

    for (guint k = 0; k < 3; k++)
      stage[k] = p[k] + centre[k] - (low[k] + high[k]) / 2;
    p[0] = -stage[1];
    p[1] = stage[0];
    p[2] = stage[2];
  }
  return TRUE;
}

static TdScan *
open_scan (void)
{
  g_autofree char *path = test_scan_path ("ctsimu_tetra/projections/tetra_metadata.json");
  g_autoptr (GError) error = NULL;
  TdScan *scan = td_scan_open (path, NULL, NULL, &error);

  g_assert_no_error (error);
  return scan;
}

/* Voxels that the mesh fills by half or more. */
static guint8 *
make_truth (const TdMesh *mesh)
{
  const gsize n = (gsize) N * N * N;
  g_autofree float *coverage = g_new (float, n);
  guint8 *truth = g_new (guint8, n);

  td_mesh_coverage (mesh, N, N, N, VOXEL_MM, 3, coverage);
  for (gsize i = 0; i < n; i++)
    truth[i] = coverage[i] >= 0.5f;
  return truth;
}

/* What the scan's geometry sees of the mesh from @n_views evenly spaced angles. */
static TdScan *
exact_scan (const TdMesh *mesh, const TdScanFacts *like, guint n_views)
{
  TdScanFacts facts = { .n_columns = N,
                        .n_rows = N,
                        .n_views = n_views,
                        .transmission_logged = TRUE,
                        .sample_type = TD_SAMPLE_FLOAT32,
                        .centre_px = NAN,
                        .geometry = like->geometry };
  g_autofree double *angles = g_new (double, n_views);
  float *views = g_new (float, (gsize) n_views *N *N);

  facts.angles_rad = angles;
  for (guint view = 0; view < n_views; view++) {
    double matrix[12];

    angles[view] = -2 * G_PI * view / n_views;
    td_cone_matrix (&like->geometry, angles[view], N, N, matrix);
    td_mesh_project (mesh, matrix, N, N, 2, PER_MM, views + (gsize) view * N * N);
  }
  return td_scan_new_from_memory (&facts, views, NULL, NULL, g_free, views);
}

/* The best overlap over thresholds, and Otsu's, of what @method makes of the scan. */
static double
best_dice (TdScan *scan, const char *method, const guint8 *truth, double *otsu)
{
  g_autoptr (GError) error = NULL;
  TdTestVolume volume;
  TdRecipe recipe;
  double best = 0;
  const gsize n = (gsize) N * N * N;

  td_recipe_init (&recipe);
  g_strlcpy (recipe.devices, "host", sizeof recipe.devices);
  td_recipe_set (&recipe, "method", method, &error);
  td_recipe_set (&recipe, "iterations", "14", &error);
  g_assert_no_error (error);
  td_test_reconstruct (engine, scan, &recipe, &volume, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (volume.nx, ==, N);
  g_assert_cmpuint (volume.n_slices, ==, N);
  for (double threshold = 0.06; threshold < 0.13; threshold += 0.005)
    best = MAX (best, td_segment_dice (volume.slices, n, threshold, truth));
  *otsu = td_segment_dice (volume.slices, n, td_segment_otsu (volume.slices, n), truth);
  td_test_volume_clear (&volume);
  return best;
}

/* The scan is what its geometry sees of the mesh: every sign and half pixel of the reader. */
static void
test_projections (void)
{
  g_auto (TdMesh) mesh = { 0 };
  if (!load_mesh (&mesh))
    return;
  g_autoptr (TdScan) scan = open_scan ();
  const TdScanFacts *facts = td_scan_facts (scan);
  g_autofree float *frame = g_new (float, 3 * N * N), *exact = g_new (float, N *N);
  float *flat = frame + N * N, *dark = flat + N * N;
  g_autoptr (GError) error = NULL;
  double off = 0, norm = 0;

  td_scan_read (scan, &(TdFrameRange) { TD_FRAME_FLAT, 0, 1, 0, N }, flat, NULL, &error);
  td_scan_read (scan, &(TdFrameRange) { TD_FRAME_DARK, 0, 1, 0, N }, dark, NULL, &error);
  for (guint view = 0; view < facts->n_views; view += 5) {
    double matrix[12];

    td_scan_read (scan, &(TdFrameRange) { TD_FRAME_PROJECTION, view, 1, 0, N }, frame, NULL,
                  &error);
    g_assert_no_error (error);
    td_cone_matrix (&facts->geometry, facts->angles_rad[view], N, N, matrix);
    td_mesh_project (&mesh, matrix, N, N, 3, PER_MM, exact);
    for (guint i = 0; i < N * N; i++) {
      const double value = -log (MAX (frame[i] - dark[i], 0.5) / (flat[i] - dark[i]));
      off += pow (value - exact[i], 2);
      norm += value * value;
    }
  }
  g_test_message ("relative RMS %.4f", sqrt (off / norm));
  g_assert_cmpfloat (sqrt (off / norm), <, 0.01);
}

static void
test_overlap (void)
{
  g_auto (TdMesh) mesh = { 0 };
  if (!load_mesh (&mesh))
    return;
  g_autofree guint8 *truth = make_truth (&mesh);
  g_autoptr (TdScan) scan = open_scan ();
  const TdScanFacts *facts = td_scan_facts (scan);
  double otsu;

  const double measured = best_dice (scan, "fdk", truth, &otsu);
  g_test_message ("scan: Dice %.4f, by Otsu's threshold %.4f", measured, otsu);
  g_autoptr (TdScan) few = exact_scan (&mesh, facts, 20);
  const double bound = best_dice (few, "fdk", truth, &otsu);
  g_test_message ("the mesh's projections from as many angles: %.4f, %.4f", bound, otsu);
  g_assert_cmpfloat (measured, >, 0.79);
  g_assert_cmpfloat (measured, >, bound - 0.01);
  g_autoptr (TdScan) many = exact_scan (&mesh, facts, 180);
  const double enough = best_dice (many, "fdk", truth, &otsu);
  g_test_message ("from 180: %.4f, %.4f", enough, otsu);
  g_assert_cmpfloat (enough, >=, 0.97);
  g_assert_cmpfloat (otsu, >=, 0.97);
}

/* What is asked of the scan: an overlap of 0.97. */
static void
test_iterative (void)
{
  g_auto (TdMesh) mesh = { 0 };
  if (!load_mesh (&mesh))
    return;
  g_autofree guint8 *truth = make_truth (&mesh);
  g_autoptr (TdScan) scan = open_scan ();
  double otsu;

  const double dice = best_dice (scan, "fista-tv", truth, &otsu);
  g_test_message ("fista-tv: Dice %.4f, by Otsu's threshold %.4f", dice, otsu);
  g_assert_cmpfloat (dice, >=, 0.97);
  g_assert_cmpfloat (otsu, >=, 0.97);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  engine = td_engine_new (td_methods);
  g_test_add_func ("/ctsimu/projections", test_projections);
  g_test_add_func ("/ctsimu/overlap", test_overlap);
  g_test_add_func ("/ctsimu/iterative", test_iterative);
  const int status = g_test_run ();
  td_engine_unref (engine);
  return status;
}
