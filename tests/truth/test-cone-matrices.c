/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A matrix for every view, from tables in text and JSON, vectors, or RabbitCT's files, with the
   views in any order. All give the phantom.
 */
#include <math.h>
#include <string.h>

#include "compute/methods/methods.h"
#include "tests/common/cone-camera.h"
#include "tests/unit/test-folder.h"

#define N 64u
#define VIEWS 90u
#define RIGHT 0.14 /* relative RMS of a right reconstruction at this size: edges */

static TdEngine *engine;

/* ── Tables ── */

#define TABLE_PIXEL 1.5
#define TABLE_SOD 220.0
#define TABLE_SDD 440.0

/* A gantry that is not stiff, in our world. */
static void
table_place (guint view, double source[3], double detector[3], double u[3], double v[3])
{
  const double angle = 2 * G_PI * view / VIEWS;

  const double placed[4][3] = {
    { 1.5 * sin (2 * angle), -TABLE_SOD, 2 * cos (angle) },
    { 2 * cos (3 * angle), TABLE_SDD - TABLE_SOD, -3 },
    { TABLE_PIXEL, 0, 0 },
    { 0, 0, -TABLE_PIXEL },
  };
  double *out[4] = { source, detector, u, v };
  for (guint i = 0; i < 4; i++) {
    memcpy (out[i], placed[i], sizeof placed[i]);
    td_camera_turn (out[i], 0, 1, angle * 180 / G_PI);
  }
}

static void
table_ray (gconstpointer setup, guint view, guint column, guint row, double source[3],
           double pixel[3])
{
  double detector[3], u[3], v[3];

  table_place (view, source, detector, u, v);
  for (guint k = 0; k < 3; k++)
    pixel[k] = detector[k] + (column - td_camera_middle (N)) * u[k]
               + (row - td_camera_middle (N)) * v[k];
}

/* The detector is upright here: u from the component along it, by similar triangles. */
static void
table_matrix (guint view, double m[12])
{
  double source[3], detector[3], u[3], v[3], normal[3];

  table_place (view, source, detector, u, v);
  for (guint k = 0; k < 3; k++)
    normal[k] = (u[(k + 1) % 3] * v[(k + 2) % 3] - u[(k + 2) % 3] * v[(k + 1) % 3])
                / (TABLE_PIXEL * TABLE_PIXEL);
  double far = 0, du = 0, dv = 0;
  for (guint k = 0; k < 3; k++) {
    far += (detector[k] - source[k]) * normal[k];
    du += (detector[k] - source[k]) * u[k] / (TABLE_PIXEL * TABLE_PIXEL);
    dv += (detector[k] - source[k]) * v[k] / (TABLE_PIXEL * TABLE_PIXEL);
  }
  memset (m, 0, 12 * sizeof *m);
  for (guint k = 0; k < 3; k++) {
    m[k] = far * u[k] / (TABLE_PIXEL * TABLE_PIXEL) + (td_camera_middle (N) - du) * normal[k];
    m[4 + k] = far * v[k] / (TABLE_PIXEL * TABLE_PIXEL) + (td_camera_middle (N) - dv) * normal[k];
    m[8 + k] = normal[k];
    for (guint row = 0; row < 3; row++)
      m[4 * row + 3] -= m[4 * row + k] * source[k];
  }
}

static void
append_numbers (GString *text, const double *numbers, guint n, const char *between, const char *end)
{
  for (guint i = 0; i < n; i++)
    g_string_append_printf (text, "%.12g%s", numbers[i], i + 1 < n ? between : end);
}

static char *
table_text (const char *kind)
{
  GString *text = g_string_new (NULL);

  if (g_str_equal (kind, "json"))
    g_string_append_printf (text, "{\"columns\": %u, \"rows\": %u, \"matrices\": [", N, N);
  if (g_str_equal (kind, "csv"))
    g_string_append (text, "# matrices\nview,p00,p01,p02,p03,p10,p11,p12,p13,p20,p21,p22,p23\n");
  for (guint view = 0; view < VIEWS; view++) {
    double m[12];

    table_matrix (view, m);
    for (guint i = 0; i < 12; i++) /* matrices are known up to a factor */
      m[i] *= view % 2 ? -0.01 : 3;
    if (g_str_equal (kind, "vectors"))
      table_place (view, m, m + 3, m + 6, m + 9);
    if (g_str_equal (kind, "json")) {
      g_string_append (text, view ? ",\n[" : "\n[");
      for (guint row = 0; row < 3; row++) {
        g_string_append (text, row ? ", [" : "[");
        append_numbers (text, m + 4 * row, 4, ", ", "]");
      }
      g_string_append_c (text, ']');
    } else if (g_str_equal (kind, "lines")) {
      for (guint row = 0; row < 3; row++)
        append_numbers (text, m + 4 * row, 4, " ", row < 2 ? "\n" : "\n\n");
    } else {
      if (g_str_equal (kind, "csv"))
        g_string_append_printf (text, "%u,", view);
      append_numbers (text, m, 12, g_str_equal (kind, "csv") ? "," : " ", "\n");
    }
  }
  if (g_str_equal (kind, "json"))
    g_string_append (text, "]}\n");
  return g_string_free (text, FALSE);
}

static void
test_table (gconstpointer kind)
{
  const double voxel = TABLE_PIXEL * TABLE_SOD / TABLE_SDD;
  const TdConeCamera camera = { N, N, VIEWS, 0.5 * N * voxel * 0.85, table_ray, NULL };
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree float *views = td_cone_camera_expose (&camera);
  g_autofree char *text = table_text (kind);

  td_cone_camera_save (&camera, views, folder->path, "p_", 0, 0);
  td_camera_write (folder->path, "table.txt", text);
  g_autoptr (TdScan) scan = td_camera_open (folder->path, "p_0000.tif", "table.txt", 0);
  const TdScanFacts *facts = td_scan_facts (scan);
  for (guint view = 0; view < VIEWS; view++)
    g_assert_cmpfloat (fabs (facts->angles_rad[view] - 2 * G_PI * view / VIEWS), <, 0.02);
  const double error = td_cone_camera_error (&camera, engine, scan, voxel);
  g_test_message ("%s: %.4f", (const char *) kind, error);
  g_assert_cmpfloat (error, <, RIGHT);

  /* Its own axis moved by the recipe, and turned. */
  TdRecipe recipe;
  TdTestVolume plain, turned;
  g_autoptr (GError) failure = NULL;
  td_recipe_init (&recipe);
  g_strlcpy (recipe.devices, "host", sizeof recipe.devices);
  recipe.row_first = N / 2;
  recipe.row_end = N / 2 + 1;
  td_test_reconstruct (engine, scan, &recipe, &plain, &failure);
  g_assert_no_error (failure);
  recipe.angle_offset_deg = 90;
  td_test_reconstruct (engine, scan, &recipe, &turned, &failure);
  g_assert_no_error (failure);
  double off = 0, norm = 0;
  for (guint j = 0; j < N; j++)
    for (guint i = 0; i < N; i++) {
      /* (x, y) goes to (-y, x): pixel (i, j) to (j, N - 1 - i). */
      off += pow (turned.slices[(N - 1 - i) * N + j] - plain.slices[j * N + i], 2);
      norm += pow (plain.slices[j * N + i], 2);
    }
  g_assert_cmpfloat (sqrt (off / norm), <, 1e-4);
  td_test_volume_clear (&plain);
  td_test_volume_clear (&turned);
}

/* ── RabbitCT ── */

/* The benchmark's own loop, over voxel (i, j, k) of its cube of 256 mm. */
static double
rabbit_voxel (const double *matrices, const float *views, guint i, guint j, guint k)
{
  const double x = i - 127.5, y = j - 127.5, z = k - 127.5;
  double sum = 0;

  for (guint view = 0; view < VIEWS; view++) {
    const double *a = matrices + 12 * view;
    const float *image = views + (gsize) view * N * N;
    const double w = a[2] * x + a[5] * y + a[8] * z + a[11];
    const double u = (a[0] * x + a[3] * y + a[6] * z + a[9]) / w;
    const double v = (a[1] * x + a[4] * y + a[7] * z + a[10]) / w;
    const int c = (int) floor (u), r = (int) floor (v);
    double value = 0;

    for (int dr = 0; dr < 2; dr++)
      for (int dc = 0; dc < 2; dc++)
        if (c + dc >= 0 && r + dr >= 0 && c + dc < (int) N && r + dr < (int) N)
          value
              += (dc ? u - c : 1 - u + c) * (dr ? v - r : 1 - v + r) * image[(r + dr) * N + c + dc];
    sum += value / (w * w);
  }
  return sum;
}

static void
test_rabbitct (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "rabbit.rctd");
  g_autofree double *matrices = g_new (double, 12 * VIEWS);
  g_autofree float *views = g_new (float, (gsize) VIEWS *N *N);
  g_autoptr (GByteArray) bytes = g_byte_array_new ();
  g_autoptr (GRand) rand = g_rand_new_with_seed (7);
  g_autoptr (GError) error = NULL;
  const guint32 sizes[3] = { N, N, VIEWS };
  const float hu[2] = { 1.5f, -20 };

  for (gsize i = 0; i < (gsize) VIEWS * N * N; i++)
    views[i] = (float) g_rand_double_range (rand, -1, 1);
  g_byte_array_append (bytes, (const guint8 *) sizes, sizeof sizes);
  g_byte_array_append (bytes, (const guint8 *) hu, sizeof hu);
  for (guint view = 0; view < VIEWS; view++) {
    /* 200 degrees of a C-arm with 700 mm to the axis and 1200 mm to pixels of 6 mm. */
    const double angle = 200.0 / 180 * G_PI * view / (VIEWS - 1), c = cos (angle), s = sin (angle);
    const double f = 1200 / 6.0, frame[3][3] = { { c, s, 0 }, { 0, 0, 1 }, { -s, c, 0 } };
    double *a = matrices + 12 * view;
    double m[12];

    for (guint k = 0; k < 3; k++) {
      m[k] = f * frame[0][k] + 30.5 * frame[2][k];
      m[4 + k] = f * frame[1][k] + 33 * frame[2][k];
      m[8 + k] = frame[2][k];
    }
    m[3] = 30.5 * 700;
    m[7] = 33 * 700;
    m[11] = 700;
    for (guint row = 0; row < 3; row++)
      for (guint k = 0; k < 4; k++)
        a[3 * k + row] = m[4 * row + k] / 690; /* about 1 on the axis, as the benchmark has it */
    g_byte_array_append (bytes, (const guint8 *) a, 12 * sizeof *a);
    g_byte_array_append (bytes, (const guint8 *) (views + (gsize) view * N * N),
                         N * N * sizeof *views);
  }
  g_assert_true (g_file_set_contents (path, (const char *) bytes->data, bytes->len, NULL));

  g_autoptr (TdScan) scan = td_scan_open (path, NULL, NULL, &error);
  g_assert_no_error (error);
  TdRecipe recipe;
  TdTestVolume volume;
  td_recipe_init (&recipe);
  g_strlcpy (recipe.devices, "host", sizeof recipe.devices);
  recipe.row_first = 100;
  recipe.row_end = 106;
  const gint region[4] = { 90, 101, 20, 16 };
  memcpy (recipe.region, region, sizeof region);
  td_test_reconstruct (engine, scan, &recipe, &volume, &error);
  g_assert_no_error (error);
  double off = 0, norm = 0;
  for (guint k = 0; k < 6; k++)
    for (guint j = 0; j < 16; j++)
      for (guint i = 0; i < 20; i++) {
        const double truth = rabbit_voxel (matrices, views, 90 + i, 101 + j, 100 + k);
        off += pow (volume.slices[(k * 16 + j) * 20 + i] - truth, 2);
        norm += truth * truth;
      }
  g_test_message ("relative RMS %.2e", sqrt (off / norm));
  g_assert_cmpfloat (sqrt (off / norm), <, 3e-5);
  td_test_volume_clear (&volume);
}

/* ── The order of views, and Tomodesk's own files ── */

/* Views in any order are the same scan. */
static void
test_any_order (void)
{
  const double voxel = TABLE_PIXEL * TABLE_SOD / TABLE_SDD;
  const TdConeCamera camera = { N, N, VIEWS, 0.5 * N * voxel * 0.85, table_ray, NULL };
  const gsize pixels = (gsize) N * N;
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree float *views = td_cone_camera_expose (&camera);
  g_autofree float *mixed = g_new (float, VIEWS *pixels);
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint view = 0; view < VIEWS; view++) {
    const guint from = view * 37 % VIEWS;
    double m[12];

    memcpy (mixed + view * pixels, views + from * pixels, pixels * sizeof *mixed);
    table_matrix (from, m);
    append_numbers (text, m, 12, " ", "\n");
  }
  td_cone_camera_save (&camera, mixed, folder->path, "p_", 0, 0);
  td_camera_write (folder->path, "table.txt", text->str);
  g_autoptr (TdScan) scan = td_camera_open (folder->path, "p_0000.tif", "table.txt", 0);
  g_assert_cmpfloat (td_cone_camera_error (&camera, engine, scan, voxel), <, RIGHT);
}

int
main (int argc, char **argv)
{
  static const char *const tables[] = { "json", "csv", "text", "lines", "vectors" };

  g_test_init (&argc, &argv, NULL);
  engine = td_engine_new (td_methods);
  for (guint i = 0; i < G_N_ELEMENTS (tables); i++) {
    g_autofree char *name = g_strdup_printf ("/cone-matrices/table/%s", tables[i]);
    g_test_add_data_func (name, tables[i], test_table);
  }
  g_test_add_func ("/cone-matrices/any-order", test_any_order);
  g_test_add_func ("/cone-matrices/rabbitct", test_rabbitct);
  const int status = g_test_run ();
  td_engine_unref (engine);
  return status;
}
