/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Geometry files of other programs: each is written here in its own format for rays that are placed as
 * its documents say, and the phantom must come out of it. Then every sign in the file is turned round,
 * and the result must be worse: what the test does not see, it does not hold. */
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "dataset/error.h"
#include "dataset/phantom-scan.h"
#include "tests/common/cone-camera.h"
#include "tests/unit/test-folder.h"

#define N 64u
#define VIEWS 90u
#define RIGHT 0.14  /* relative RMS of a right reconstruction at this size: edges */
#define WORSE 1.25  /* at least this much, with a wrong sign */

static TdEngine *engine;

static double
middle (guint n)
{
  return (n - 1) / 2.0;
}

static void
write_text (const TestFolder *folder, const char *name, const char *text)
{
  g_autofree char *path = test_folder_file (folder, name);

  g_assert_true (g_file_set_contents (path, text, -1, NULL));
}

static TdScan *
open_scan (const TestFolder *folder, const char *name, const char *geometry, double pixel_mm)
{
  g_autofree char *path = test_folder_file (folder, name);
  g_autofree char *file = geometry ? test_folder_file (folder, geometry) : NULL;
  const TdScanOptions options = { .geometry = file, .pixel_mm = pixel_mm };
  g_autoptr (GError) error = NULL;
  TdScan *scan = td_scan_open (path, &options, NULL, &error);

  g_assert_no_error (error);
  return scan;
}

/* Writes the file again for each sign turned round, one after the other. */
typedef void (*WriteFile) (const TestFolder *folder, const char *const *keys, const double *values);

static void
check_signs (const TestFolder *folder, const TdConeCamera *camera, const char *scan_name,
             const char *geometry, double pixel_mm, double voxel_mm, WriteFile write,
             const char *const *keys, const double *values, guint n_keys)
{
  g_autofree double *turned = g_memdup2 (values, n_keys * sizeof *values);
  double right;

  write (folder, keys, values);
  {
    g_autoptr (TdScan) scan = open_scan (folder, scan_name, geometry, pixel_mm);
    right = td_cone_camera_error (camera, engine, scan, voxel_mm);
  }
  g_test_message ("as written: %.4f", right);
  g_assert_cmpfloat (right, <, RIGHT);
  for (guint i = 0; i < n_keys; i++) {
    if (values[i] == 0)
      continue;
    turned[i] = -values[i];
    write (folder, keys, turned);
    turned[i] = values[i];
    g_autoptr (TdScan) scan = open_scan (folder, scan_name, geometry, pixel_mm);
    const double wrong = td_cone_camera_error (camera, engine, scan, voxel_mm);
    g_test_message ("%s the other way: %.4f", keys[i], wrong);
    g_assert_cmpfloat (wrong, >, WORSE * right);
  }
}

/* ── RTK ──────────────────────────────────────────────────────────────────────────────────────── */

#define RTK_SID 300.0
#define RTK_SDD 450.0
#define RTK_PIXEL 1.2

enum { RTK_GANTRY, RTK_OUT, RTK_IN, RTK_SX, RTK_SY, RTK_PX, RTK_PY, RTK_KEYS };
static const char *const rtk_keys[RTK_KEYS] = { "GantryAngle", "OutOfPlaneAngle", "InPlaneAngle",
                                                "SourceOffsetX", "SourceOffsetY", "ProjectionOffsetX",
                                                "ProjectionOffsetY" };
/* Degrees a view, degrees, degrees, mm. */
static const double rtk_values[RTK_KEYS] = { 360.0 / VIEWS, 4, -5, 6, -7, -5, 8 };

static void
turn (double p[3], guint a, guint b, double degrees)
{
  const double c = cos (degrees * G_PI / 180), s = sin (degrees * G_PI / 180), pa = p[a], pb = p[b];

  p[a] = c * pa - s * pb;
  p[b] = s * pa + c * pb;
}

/* From the turned frame, in which the source stands at (sx, sy, SID) and the detector at z = SID - SDD,
   back to RTK's world: R = Rz (-in) Rx (-out) Ry (-gantry), hence its inverse. */
static void
rtk_to_world (double p[3], guint view)
{
  turn (p, 0, 1, rtk_values[RTK_IN]);
  turn (p, 1, 2, rtk_values[RTK_OUT]);
  turn (p, 2, 0, rtk_values[RTK_GANTRY] * view);
  const double rtk[3] = { p[0], p[1], p[2] };
  p[0] = -rtk[0];
  p[1] = -rtk[2];
  p[2] = -rtk[1];
}

static void
rtk_ray (gconstpointer setup, guint view, guint column, guint row, double source[3], double pixel[3])
{
  const double *v = rtk_values;

  source[0] = v[RTK_SX];
  source[1] = v[RTK_SY];
  source[2] = RTK_SID;
  pixel[0] = (column - middle (N)) * RTK_PIXEL + v[RTK_PX];
  pixel[1] = (row - middle (N)) * RTK_PIXEL + v[RTK_PY];
  pixel[2] = RTK_SID - RTK_SDD;
  rtk_to_world (source, view);
  rtk_to_world (pixel, view);
}

static void
rtk_write (const TestFolder *folder, const char *const *keys, const double *values)
{
  g_autoptr (GString) text = g_string_new ("<?xml version=\"1.0\"?>\n<!DOCTYPE RTKGEOMETRY>\n"
                                           "<RTKThreeDCircularGeometry version=\"3\">\n");

  g_string_append_printf (text, "<SourceToIsocenterDistance>%g</SourceToIsocenterDistance>\n", RTK_SID);
  g_string_append_printf (text, "<SourceToDetectorDistance>%g</SourceToDetectorDistance>\n", RTK_SDD);
  for (guint i = 1; i < RTK_KEYS; i++)
    g_string_append_printf (text, "<%s>%.10g</%s>\n", keys[i], values[i], keys[i]);
  for (guint view = 0; view < VIEWS; view++)
    g_string_append_printf (text, "<Projection>\n<GantryAngle>%.10g</GantryAngle>\n</Projection>\n",
                            values[RTK_GANTRY] * view);
  g_string_append (text, "</RTKThreeDCircularGeometry>\n");
  write_text (folder, "geometry.xml", text->str);
}

static void
test_rtk (void)
{
  const TdConeCamera camera = { N, N, VIEWS, 0.5 * N * RTK_PIXEL * RTK_SID / RTK_SDD * 0.85, rtk_ray,
                                NULL };
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree float *views = td_cone_camera_expose (&camera);

  td_cone_camera_save (&camera, views, folder->path, "p_", 0, 0);
  check_signs (folder, &camera, "p_0000.tif", "geometry.xml", RTK_PIXEL, RTK_PIXEL * RTK_SID / RTK_SDD,
               rtk_write, rtk_keys, rtk_values, RTK_KEYS);
}

/* ── Nikon ────────────────────────────────────────────────────────────────────────────────────── */

#define NIKON_SOD 250.0
#define NIKON_SDD 500.0
#define NIKON_PIXEL 1.0
#define NIKON_WHITE 58000.0

enum { NIKON_OFFSET, NIKON_ROLL, NIKON_TILT, NIKON_INITIAL, NIKON_STEP, NIKON_DX, NIKON_DY,
       NIKON_KEYS };
static const char *const nikon_keys[NIKON_KEYS] = { "ObjectOffsetX", "ObjectRoll", "ObjectTilt",
                                                    "InitialAngle", "AngularStep", "DetectorOffsetX",
                                                    "DetectorOffsetY" };
static const double nikon_plain[NIKON_KEYS] = { -2.2, 6, 0, 20, 360.0 / VIEWS, 2, -4 };
static const double nikon_tilted[NIKON_KEYS] = { -1.8, -5, 4, -35, -360.0 / VIEWS, -3, 2 };

/* As the Core Imaging Library places it: source at 0, axis at (-offset, SOD, 0) along (sin r, sin t cos r,
   cos t cos r), images from the top right, the sample turned by 180 - initial - i step about the axis. */
static void
nikon_ray (gconstpointer setup, guint view, guint column, guint row, double source[3], double pixel[3])
{
  const double *v = setup;
  const double r = v[NIKON_ROLL] * G_PI / 180, t = v[NIKON_TILT] * G_PI / 180;
  const double axis[3] = { sin (r), sin (t) * cos (r), cos (t) * cos (r) };
  const double origin[3] = { -v[NIKON_OFFSET], NIKON_SOD, 0 };
  const double length = sqrt (1 - axis[1] * axis[1]);
  const double ahead[3] = { -axis[0] * axis[1] / length, length, -axis[2] * axis[1] / length };
  const double right[3] = { ahead[1] * axis[2] - ahead[2] * axis[1],
                            ahead[2] * axis[0] - ahead[0] * axis[2],
                            ahead[0] * axis[1] - ahead[1] * axis[0] };
  const double placed[2][3] = {
    { 0, 0, 0 },
    { (middle (N) - column) * NIKON_PIXEL + v[NIKON_DX], NIKON_SDD,
      (middle (N) - row) * NIKON_PIXEL + v[NIKON_DY] },
  };
  double *out[2] = { source, pixel };

  for (guint i = 0; i < 2; i++) {
    double p[3], own[3] = { 0 };

    for (guint k = 0; k < 3; k++)
      p[k] = placed[i][k] - origin[k];
    for (guint k = 0; k < 3; k++) {
      own[0] += p[k] * right[k];
      own[1] += p[k] * ahead[k];
      own[2] += p[k] * axis[k];
    }
    /* Seen from the turned sample all else has turned back. */
    turn (own, 0, 1, -(180 - v[NIKON_INITIAL] - view * v[NIKON_STEP]));
    memcpy (out[i], own, sizeof own);
  }
}

static void
nikon_write (const TestFolder *folder, const char *const *keys, const double *values)
{
  g_autoptr (GString) text = g_string_new ("[XTekCT]\r\nName=part\r\nInputSeparator=_\r\n");

  g_string_append_printf (text, "Projections=%u\r\nWhiteLevel=%g\r\nDetectorPixelsX=%u\r\n"
                          "DetectorPixelsY=%u\r\nDetectorPixelSizeX=%g\r\nDetectorPixelSizeY=%g\r\n"
                          "SrcToObject=%g\r\nSrcToDetector=%g\r\n", VIEWS, NIKON_WHITE, N, N,
                          NIKON_PIXEL, NIKON_PIXEL, NIKON_SOD, NIKON_SDD);
  for (guint i = 0; i < NIKON_KEYS; i++)
    g_string_append_printf (text, "%s=%.10g\r\n", keys[i], values[i]);
  g_string_append (text, "[Other]\r\nSrcToObject=1\r\n");
  write_text (folder, "part.xtekct", text->str);
}

static void
test_nikon (gconstpointer values)
{
  const double voxel = NIKON_PIXEL * NIKON_SOD / NIKON_SDD;
  const TdConeCamera camera = { N, N, VIEWS, 0.5 * N * voxel * 0.85, nikon_ray, values };
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree float *views = td_cone_camera_expose (&camera);

  td_cone_camera_save (&camera, views, folder->path, "part_", 1, NIKON_WHITE);
  check_signs (folder, &camera, "part.xtekct", NULL, 0, voxel, nikon_write, nikon_keys, values,
               NIKON_KEYS);

  /* The folder, and the file as the geometry of any stack. */
  nikon_write (folder, nikon_keys, values);
  g_autoptr (TdScan) by_folder = open_scan (folder, "", NULL, 0);
  g_assert_cmpfloat (td_cone_camera_error (&camera, engine, by_folder, voxel), <, RIGHT);
  g_assert_cmpuint (td_scan_facts (by_folder)->n_flats, ==, 1);
  g_autoptr (TdScan) stack = open_scan (folder, "part_0001.tif", "part.xtekct", 0);
  g_assert_cmpfloat (td_cone_camera_error (&camera, engine, stack, voxel), <, RIGHT);
}

/* Old files: where the axis is seen at the detector's upper and lower edge. */
static void
test_nikon_old (void)
{
  static const double values[NIKON_KEYS] = { 1.5, -4, 0, 0, 360.0 / VIEWS, 0, 0 };
  const double voxel = NIKON_PIXEL * NIKON_SOD / NIKON_SDD;
  const TdConeCamera camera = { N, N, VIEWS, 0.5 * N * voxel * 0.85, nikon_ray, values };
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree float *views = td_cone_camera_expose (&camera);
  g_autofree char *path = test_folder_file (folder, "part.xtekct"), *text = NULL;

  td_cone_camera_save (&camera, views, folder->path, "part_", 1, NIKON_WHITE);
  nikon_write (folder, nikon_keys, values);
  g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
  /* CIL: offset = (top + bottom) / 2 / magnification, roll = -atan ((top - bottom) / height). */
  const double sum = 2 * values[NIKON_OFFSET] * NIKON_SDD / NIKON_SOD;
  const double difference = -tan (values[NIKON_ROLL] * G_PI / 180) * N * NIKON_PIXEL;
  g_autofree char *keys = g_strdup_printf ("CentreOfRotationTop=%.10g\r\nCentreOfRotationBottom=%.10g\r\n",
                                           (sum + difference) / 2, (sum - difference) / 2);
  char *offset = strstr (text, "ObjectOffsetX"), *initial = strstr (text, "InitialAngle");
  g_autofree char *begin = g_strndup (text, offset - text);
  g_autofree char *old = g_strconcat (begin, keys, initial, NULL);
  write_text (folder, "part.xtekct", old);
  g_autoptr (TdScan) scan = open_scan (folder, "part.xtekct", NULL, 0);
  g_assert_cmpfloat (td_cone_camera_error (&camera, engine, scan, voxel), <, RIGHT);
}

/* ── SkyScan ──────────────────────────────────────────────────────────────────────────────────── */

#define SKY_SOD 120.0
#define SKY_SDD 300.0
#define SKY_IMAGE 0.5 /* mm at the axis */
#define SKY_WHITE 61000.0
#define SKY_LINE 36.0

enum { SKY_STEP, SKY_POST, SKY_KEYS };
static const char *const sky_keys[SKY_KEYS] = { "Rotation Step (deg)", "Postalignment" };
static const double sky_values[SKY_KEYS] = { 360.0 / VIEWS, 3.5 };

/* Images from behind the detector; with "CC" source and detector turn clockwise about the sample. */
static void
sky_ray (gconstpointer setup, guint view, guint column, guint row, double source[3], double pixel[3])
{
  const double pixel_mm = SKY_IMAGE * SKY_SDD / SKY_SOD;
  const guint turned = N - 1 - column;

  source[0] = source[2] = 0;
  source[1] = -SKY_SOD;
  pixel[0] = (turned - middle (N) - sky_values[SKY_POST]) * pixel_mm;
  pixel[1] = SKY_SDD - SKY_SOD;
  pixel[2] = -(row - SKY_LINE) * pixel_mm;
  turn (source, 0, 1, -sky_values[SKY_STEP] * view);
  turn (pixel, 0, 1, -sky_values[SKY_STEP] * view);
}

static void
sky_write (const TestFolder *folder, const char *const *keys, const double *values)
{
  g_autofree char *text = g_strdup_printf (
      "[System]\r\nScanner=SkyScan1275\r\nCamera Pixel Size (um)=1130.0\r\nCamera X/Y Ratio=1.0000\r\n"
      "[Acquisition]\r\nFilename Prefix=bone_\r\nNumber Of Files= %u\r\nNumber Of Rows= %u\r\n"
      "Number Of Columns= %u\r\nCamera binning=1x1\r\nOptical Axis (line)= %g\r\n"
      "Object to Source (mm)=%g\r\nCamera to Source (mm)=%g\r\nImage Pixel Size (um)=%g\r\n"
      "Depth (bits)=16\r\nReference Intensity=%g\r\n%s=%.10g\r\nRotation Direction=CC\r\n"
      "[Reconstruction]\r\n%s=%.10g\r\n", VIEWS, N, N, SKY_LINE, SKY_SOD, SKY_SDD, SKY_IMAGE * 1000,
      SKY_WHITE, keys[SKY_STEP], values[SKY_STEP], keys[SKY_POST], values[SKY_POST]);

  write_text (folder, "bone_.log", text);
}

static void
test_skyscan (void)
{
  const TdConeCamera camera = { N, N, VIEWS, 0.5 * N * SKY_IMAGE * 0.85, sky_ray, NULL };
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree float *views = td_cone_camera_expose (&camera);

  td_cone_camera_save (&camera, views, folder->path, "bone_", 0, SKY_WHITE);
  check_signs (folder, &camera, "bone_.log", NULL, 0, SKY_IMAGE, sky_write, sky_keys, sky_values,
               SKY_KEYS);
}

/* ── Tables ───────────────────────────────────────────────────────────────────────────────────── */

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
    turn (out[i], 0, 1, angle * 180 / G_PI);
  }
}

static void
table_ray (gconstpointer setup, guint view, guint column, guint row, double source[3], double pixel[3])
{
  double detector[3], u[3], v[3];

  table_place (view, source, detector, u, v);
  for (guint k = 0; k < 3; k++)
    pixel[k] = detector[k] + (column - middle (N)) * u[k] + (row - middle (N)) * v[k];
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
    m[k] = far * u[k] / (TABLE_PIXEL * TABLE_PIXEL) + (middle (N) - du) * normal[k];
    m[4 + k] = far * v[k] / (TABLE_PIXEL * TABLE_PIXEL) + (middle (N) - dv) * normal[k];
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
  write_text (folder, "table.txt", text);
  g_autoptr (TdScan) scan = open_scan (folder, "p_0000.tif", "table.txt", 0);
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

/* ── RabbitCT ─────────────────────────────────────────────────────────────────────────────────── */

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
          value += (dc ? u - c : 1 - u + c) * (dr ? v - r : 1 - v + r) * image[(r + dr) * N + c + dc];
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
  g_autofree float *views = g_new (float, (gsize) VIEWS * N * N);
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

/* ── The order of views, and Tomodesk's own files ─────────────────────────────────────────────── */

/* Views in any order are the same scan. */
static void
test_any_order (void)
{
  const double voxel = TABLE_PIXEL * TABLE_SOD / TABLE_SDD;
  const TdConeCamera camera = { N, N, VIEWS, 0.5 * N * voxel * 0.85, table_ray, NULL };
  const gsize pixels = (gsize) N * N;
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree float *views = td_cone_camera_expose (&camera);
  g_autofree float *mixed = g_new (float, VIEWS * pixels);
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint view = 0; view < VIEWS; view++) {
    const guint from = view * 37 % VIEWS;
    double m[12];

    memcpy (mixed + view * pixels, views + from * pixels, pixels * sizeof *mixed);
    table_matrix (from, m);
    append_numbers (text, m, 12, " ", "\n");
  }
  td_cone_camera_save (&camera, mixed, folder->path, "p_", 0, 0);
  write_text (folder, "table.txt", text->str);
  g_autoptr (TdScan) scan = open_scan (folder, "p_0000.tif", "table.txt", 0);
  g_assert_cmpfloat (td_cone_camera_error (&camera, engine, scan, voxel), <, RIGHT);
}

int
main (int argc, char **argv)
{
  static const char *const tables[] = { "json", "csv", "text", "lines", "vectors" };

  g_test_init (&argc, &argv, NULL);
  engine = td_engine_new ();
  g_test_add_func ("/cone-readers/rtk", test_rtk);
  g_test_add_data_func ("/cone-readers/nikon/circular", nikon_plain, test_nikon);
  g_test_add_data_func ("/cone-readers/nikon/tilted", nikon_tilted, test_nikon);
  g_test_add_func ("/cone-readers/nikon/old", test_nikon_old);
  g_test_add_func ("/cone-readers/skyscan", test_skyscan);
  for (guint i = 0; i < G_N_ELEMENTS (tables); i++) {
    g_autofree char *name = g_strdup_printf ("/cone-readers/table/%s", tables[i]);
    g_test_add_data_func (name, tables[i], test_table);
  }
  g_test_add_func ("/cone-readers/any-order", test_any_order);
  g_test_add_func ("/cone-readers/rabbitct", test_rabbitct);
  const int status = g_test_run ();
  td_engine_unref (engine);
  return status;
}
