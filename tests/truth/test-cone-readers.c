/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Geometry files of other programs. Each is written here in its own format, for rays placed as the
 * format's documents say. The phantom must come out of it. Then every sign in the file is turned
 * round, and the result must be worse. So the test sees every sign. */
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "compute/methods/methods.h"
#include "dataset/error.h"
#include "tests/common/cone-camera.h"
#include "tests/unit/test-folder.h"

#define N 64u
#define VIEWS 90u
#define RIGHT 0.14 /* relative RMS of a right reconstruction at this size: edges */
#define WORSE 1.25 /* at least this much, with a wrong sign */

static TdEngine *engine;

/* Writes the file again for each sign turned round, one after the other. */
typedef void (*WriteFile) (const TestFolder *folder, const char *const *keys, const double *values);

/* Files of a format, and how they are opened. */
typedef struct {
  const char *scan_name, *geometry;
  double pixel_mm, voxel_mm;
  WriteFile write;
  const char *const *keys;
  const double *values;
  guint n_keys;
} Written;

static void
check_signs (const TestFolder *folder, const TdConeCamera *camera, const Written *written)
{
  const double *values = written->values;
  g_autofree double *turned = g_memdup2 (values, written->n_keys * sizeof *values);
  double right;

  written->write (folder, written->keys, values);
  {
    g_autoptr (TdScan) scan
        = td_camera_open (folder->path, written->scan_name, written->geometry, written->pixel_mm);
    right = td_cone_camera_error (camera, engine, scan, written->voxel_mm);
  }
  g_test_message ("as written: %.4f", right);
  g_assert_cmpfloat (right, <, RIGHT);
  for (guint i = 0; i < written->n_keys; i++) {
    if (values[i] == 0)
      continue;
    turned[i] = -values[i];
    written->write (folder, written->keys, turned);
    turned[i] = values[i];
    g_autoptr (TdScan) scan
        = td_camera_open (folder->path, written->scan_name, written->geometry, written->pixel_mm);
    const double wrong = td_cone_camera_error (camera, engine, scan, written->voxel_mm);
    g_test_message ("%s the other way: %.4f", written->keys[i], wrong);
    g_assert_cmpfloat (wrong, >, WORSE * right);
  }
}

/* ── RTK ── */

#define RTK_SID 300.0
#define RTK_SDD 450.0
#define RTK_PIXEL 1.2

enum { RTK_GANTRY, RTK_OUT, RTK_IN, RTK_SX, RTK_SY, RTK_PX, RTK_PY, RTK_KEYS };
static const char *const rtk_keys[RTK_KEYS]
    = { "GantryAngle",   "OutOfPlaneAngle",   "InPlaneAngle",     "SourceOffsetX",
        "SourceOffsetY", "ProjectionOffsetX", "ProjectionOffsetY" };
/* Degrees a view, degrees, degrees, mm. */
static const double rtk_values[RTK_KEYS] = { 360.0 / VIEWS, 4, -5, 6, -7, -5, 8 };

/* From the turned frame, in which the source stands at (sx, sy, SID) and the detector at z = SID -
   SDD, back to RTK's world: R = Rz (-in) Rx (-out) Ry (-gantry), hence its inverse. */
static void
rtk_to_world (double p[3], guint view)
{
  td_camera_turn (p, 0, 1, rtk_values[RTK_IN]);
  td_camera_turn (p, 1, 2, rtk_values[RTK_OUT]);
  td_camera_turn (p, 2, 0, rtk_values[RTK_GANTRY] * view);
  const double rtk[3] = { p[0], p[1], p[2] };
  p[0] = -rtk[0];
  p[1] = -rtk[2];
  p[2] = -rtk[1];
}

static void
rtk_ray (gconstpointer setup, guint view, guint column, guint row, double source[3],
         double pixel[3])
{
  const double *v = rtk_values;

  source[0] = v[RTK_SX];
  source[1] = v[RTK_SY];
  source[2] = RTK_SID;
  pixel[0] = (column - td_camera_middle (N)) * RTK_PIXEL + v[RTK_PX];
  pixel[1] = (row - td_camera_middle (N)) * RTK_PIXEL + v[RTK_PY];
  pixel[2] = RTK_SID - RTK_SDD;
  rtk_to_world (source, view);
  rtk_to_world (pixel, view);
}

static void
rtk_write (const TestFolder *folder, const char *const *keys, const double *values)
{
  g_autoptr (GString) text = g_string_new ("<?xml version=\"1.0\"?>\n<!DOCTYPE RTKGEOMETRY>\n"
                                           "<RTKThreeDCircularGeometry version=\"3\">\n");

  g_string_append_printf (text, "<SourceToIsocenterDistance>%g</SourceToIsocenterDistance>\n",
                          RTK_SID);
  g_string_append_printf (text, "<SourceToDetectorDistance>%g</SourceToDetectorDistance>\n",
                          RTK_SDD);
  for (guint i = 1; i < RTK_KEYS; i++)
    g_string_append_printf (text, "<%s>%.10g</%s>\n", keys[i], values[i], keys[i]);
  for (guint view = 0; view < VIEWS; view++)
    g_string_append_printf (text, "<Projection>\n<GantryAngle>%.10g</GantryAngle>\n</Projection>\n",
                            values[RTK_GANTRY] * view);
  g_string_append (text, "</RTKThreeDCircularGeometry>\n");
  td_camera_write (folder->path, "geometry.xml", text->str);
}

static void
test_rtk (void)
{
  const TdConeCamera camera
      = { N, N, VIEWS, 0.5 * N * RTK_PIXEL * RTK_SID / RTK_SDD * 0.85, rtk_ray, NULL };
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree float *views = td_cone_camera_expose (&camera);

  td_cone_camera_save (&camera, views, folder->path, "p_", 0, 0);
  const Written written = { "p_0000.tif", "geometry.xml", RTK_PIXEL,  RTK_PIXEL * RTK_SID / RTK_SDD,
                            rtk_write,    rtk_keys,       rtk_values, RTK_KEYS };
  check_signs (folder, &camera, &written);
}

/* ── Nikon ── */

#define NIKON_SOD 250.0
#define NIKON_SDD 500.0
#define NIKON_PIXEL 1.0
#define NIKON_WHITE 58000.0

enum {
  NIKON_OFFSET,
  NIKON_ROLL,
  NIKON_TILT,
  NIKON_INITIAL,
  NIKON_STEP,
  NIKON_DX,
  NIKON_DY,
  NIKON_KEYS
};
static const char *const nikon_keys[NIKON_KEYS]
    = { "ObjectOffsetX", "ObjectRoll",      "ObjectTilt",     "InitialAngle",
        "AngularStep",   "DetectorOffsetX", "DetectorOffsetY" };
static const double nikon_plain[NIKON_KEYS] = { -2.2, 6, 0, 20, 360.0 / VIEWS, 2, -4 };
static const double nikon_tilted[NIKON_KEYS] = { -1.8, -5, 4, -35, -360.0 / VIEWS, -3, 2 };

/* As the Core Imaging Library places it:

       source    at 0
       axis      at (-offset, SOD, 0) along (sin r, sin t cos r, cos t cos r)
       images    from the top right
       sample    turned by 180 - initial - i step about the axis */
static void
nikon_ray (gconstpointer setup, guint view, guint column, guint row, double source[3],
           double pixel[3])
{
  const double *v = setup;
  const double r = v[NIKON_ROLL] * G_PI / 180, t = v[NIKON_TILT] * G_PI / 180;
  const double axis[3] = { sin (r), sin (t) * cos (r), cos (t) * cos (r) };
  const double origin[3] = { -v[NIKON_OFFSET], NIKON_SOD, 0 };
  const double length = sqrt (1 - axis[1] * axis[1]);
  const double ahead[3] = { -axis[0] * axis[1] / length, length, -axis[2] * axis[1] / length };
  const double right[3]
      = { ahead[1] * axis[2] - ahead[2] * axis[1], ahead[2] * axis[0] - ahead[0] * axis[2],
          ahead[0] * axis[1] - ahead[1] * axis[0] };
  const double placed[2][3] = {
    { 0, 0, 0 },
    { (td_camera_middle (N) - column) * NIKON_PIXEL + v[NIKON_DX], NIKON_SDD,
      (td_camera_middle (N) - row) * NIKON_PIXEL + v[NIKON_DY] },
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
    td_camera_turn (own, 0, 1, -(180 - v[NIKON_INITIAL] - view * v[NIKON_STEP]));
    memcpy (out[i], own, sizeof own);
  }
}

static void
nikon_write (const TestFolder *folder, const char *const *keys, const double *values)
{
  g_autoptr (GString) text = g_string_new ("[XTekCT]\r\nName=part\r\nInputSeparator=_\r\n");

  g_string_append_printf (text,
                          "Projections=%u\r\nWhiteLevel=%g\r\nDetectorPixelsX=%u\r\n"
                          "DetectorPixelsY=%u\r\nDetectorPixelSizeX=%g\r\nDetectorPixelSizeY=%g\r\n"
                          "SrcToObject=%g\r\nSrcToDetector=%g\r\n",
                          VIEWS, NIKON_WHITE, N, N, NIKON_PIXEL, NIKON_PIXEL, NIKON_SOD, NIKON_SDD);
  for (guint i = 0; i < NIKON_KEYS; i++)
    g_string_append_printf (text, "%s=%.10g\r\n", keys[i], values[i]);
  g_string_append (text, "[Other]\r\nSrcToObject=1\r\n");
  td_camera_write (folder->path, "part.xtekct", text->str);
}

static void
test_nikon (gconstpointer values)
{
  const double voxel = NIKON_PIXEL * NIKON_SOD / NIKON_SDD;
  const TdConeCamera camera = { N, N, VIEWS, 0.5 * N * voxel * 0.85, nikon_ray, values };
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree float *views = td_cone_camera_expose (&camera);

  td_cone_camera_save (&camera, views, folder->path, "part_", 1, NIKON_WHITE);
  const Written written
      = { "part.xtekct", NULL, 0, voxel, nikon_write, nikon_keys, values, NIKON_KEYS };
  check_signs (folder, &camera, &written);

  /* The folder, and the file as the geometry of any stack. */
  nikon_write (folder, nikon_keys, values);
  g_autoptr (TdScan) by_folder = td_camera_open (folder->path, "", NULL, 0);
  g_assert_cmpfloat (td_cone_camera_error (&camera, engine, by_folder, voxel), <, RIGHT);
  g_assert_cmpuint (td_scan_facts (by_folder)->n_flats, ==, 1);
  g_autoptr (TdScan) stack = td_camera_open (folder->path, "part_0001.tif", "part.xtekct", 0);
  g_assert_cmpfloat (td_cone_camera_error (&camera, engine, stack, voxel), <, RIGHT);

  /* One is missing: what has one less is the folder, not the file that states them. */
  g_autofree char *gone = test_folder_file (folder, "part_0003.tif");
  g_autofree char *path = test_folder_file (folder, "part.xtekct");
  g_autofree char *has = g_strdup_printf ("“%s” has %u projections", folder->path, VIEWS - 1);
  g_autoptr (GError) error = NULL;
  g_assert_cmpint (g_remove (gone), ==, 0);
  g_autoptr (TdScan) less = td_scan_open (path, NULL, NULL, &error);
  g_assert_null (less);
  g_autofree char *said = td_error_text (error, NULL);
  g_assert_nonnull (strstr (said, has));
}

/* A volume of cubes about the axis is taken over; any other one is left to the program. */
static void
test_nikon_volume (void)
{
  static const struct {
    const char *text;
    guint taken; /* voxels along x; 0: none is */
  } volumes[] = {
    { "VoxelsX=40\r\nVoxelsY=41\r\nVoxelsZ=42\r\nVoxelSizeX=0.3\r\nVoxelSizeY=0.3\r\n"
      "VoxelSizeZ=0.3001\r\nOffsetX=0\r\n",
      40 },
    { "VoxelsX=40\r\nVoxelsY=41\r\nVoxelsZ=42\r\nVoxelSizeX=0.3\r\nVoxelSizeY=0.3\r\n"
      "VoxelSizeZ=0.301\r\n",
      0 },
    { "VoxelsX=40\r\nVoxelsY=41\r\nVoxelsZ=42\r\nVoxelSizeX=0.3\r\nVoxelSizeY=0.3\r\n"
      "VoxelSizeZ=0.3\r\nOffsetY=1\r\n",
      0 },
    { "VoxelsX=40\r\nVoxelsY=0\r\nVoxelsZ=42\r\nVoxelSizeX=0.3\r\nVoxelSizeY=0.3\r\n"
      "VoxelSizeZ=0.3\r\n",
      0 },
    { "VoxelsX=40\r\nVoxelsY=41\r\nVoxelsZ=42\r\n", 0 },
  };
  const TdConeCamera camera = { N, N, VIEWS, 1, nikon_ray, nikon_plain };

  for (guint i = 0; i < G_N_ELEMENTS (volumes); i++) {
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autofree float *views = td_cone_camera_expose (&camera);
    g_autofree char *path = test_folder_file (folder, "part.xtekct"), *text = NULL;

    td_cone_camera_save (&camera, views, folder->path, "part_", 1, NIKON_WHITE);
    nikon_write (folder, nikon_keys, nikon_plain);
    g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
    g_auto (GStrv) halves = g_strsplit (text, "[Other]", 2);
    g_autofree char *whole = g_strconcat (halves[0], volumes[i].text, "[Other]", halves[1], NULL);
    td_camera_write (folder->path, "part.xtekct", whole);
    g_autoptr (TdScan) scan = td_camera_open (folder->path, "", NULL, 0);
    const TdGeometry *geometry = &td_scan_facts (scan)->geometry;
    g_autofree char *notes = td_messages_join (td_scan_facts (scan)->notes, "\n", NULL);
    g_assert_cmpint (strstr (notes, "VoxelsX") != NULL, ==, i == 1 || i == 2);
    g_assert_cmpuint (geometry->volume_size[0], ==, volumes[i].taken);
    g_assert_cmpuint (geometry->volume_size[1], ==, volumes[i].taken ? 41 : 0);
    g_assert_cmpuint (geometry->volume_size[2], ==, volumes[i].taken ? 42 : 0);
    g_assert_cmpfloat (geometry->voxel_mm, ==, volumes[i].taken ? 0.3 : 0);
  }
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
  g_autofree char *keys
      = g_strdup_printf ("CentreOfRotationTop=%.10g\r\nCentreOfRotationBottom=%.10g\r\n",
                         (sum + difference) / 2, (sum - difference) / 2);
  char *offset = strstr (text, "ObjectOffsetX"), *initial = strstr (text, "InitialAngle");
  g_autofree char *begin = g_strndup (text, offset - text);
  g_autofree char *old = g_strconcat (begin, keys, initial, NULL);
  td_camera_write (folder->path, "part.xtekct", old);
  g_autoptr (TdScan) scan = td_camera_open (folder->path, "part.xtekct", NULL, 0);
  g_assert_cmpfloat (td_cone_camera_error (&camera, engine, scan, voxel), <, RIGHT);
}

/* Angles as measured are taken where they stand for the same views, in either direction, from
   either file. Those that are counted otherwise are not, and a note says so. */
static void
test_nikon_angles (void)
{
  static const struct {
    const char *name, *after_view, *after_angle;
    double off; /* of each angle, of a step and at random; NAN: one angle is missing */
    double sign, first;
    gboolean taken;
    const char *note;
    gboolean begins_anew; /* after 360 degrees */
  } cases[] = {
    { "part.ang", ":", "", 0.3, 1, 12, TRUE, "as measured" },
    { "part.ang", ":", "", 0.3, -1, 359, TRUE, "as measured" },
    { "_ctdata.txt", "", "\t0.1", 0.3, 1, -7, TRUE, "as measured" },
    { "part_ctdata.txt", "", "\t0.1", 0.3, -1, 0, TRUE, "as measured" },
    { "part.ang", ":", "", 3, 1, 0, FALSE, "off InitialAngle" },
    { "part.ang", ":", "", NAN, 1, 0, FALSE, "angles for" },
    { "another.ang", ":", "", 0.3, 1, 0, FALSE, NULL },
    { "part.ang", ":", "", 0.3, 1, 200, TRUE, "as measured", TRUE },
    { "part.ang", ":", "", 0.3, -1, 100, TRUE, "as measured", TRUE },
  };
  static const double values[NIKON_KEYS] = { [NIKON_STEP] = 360.0 / VIEWS, [NIKON_INITIAL] = 25 };
  const double step = 360.0 / VIEWS;

  for (guint c = 0; c < G_N_ELEMENTS (cases); c++) {
    g_autoptr (TestFolder) folder = test_folder_new ();
    const TdConeCamera camera = { N, N, VIEWS, 1, nikon_ray, values };
    g_autofree float *views = g_new0 (float, N *N *VIEWS);
    g_autoptr (GString) text = g_string_new ("Projection\tAngle(deg)\n");
    g_autoptr (GRand) rand = g_rand_new_with_seed (c);
    double measured[VIEWS];

    td_cone_camera_save (&camera, views, folder->path, "part_", 1, NIKON_WHITE);
    nikon_write (folder, nikon_keys, values);
    for (guint i = 0; i < VIEWS; i++) {
      const double off = isnan (cases[c].off) ? 0 : cases[c].off;
      measured[i] = i * step + off * step * g_rand_double_range (rand, -0.5, 0.5);
      const double angle = cases[c].first + cases[c].sign * measured[i];
      if (isfinite (cases[c].off) || i + 1 < VIEWS)
        g_string_append_printf (text, "%u%s\t%.6f%s\n", i + 1, cases[c].after_view,
                                cases[c].begins_anew ? fmod (angle + 720, 360) : angle,
                                cases[c].after_angle);
    }
    td_camera_write (folder->path, cases[c].name, text->str);
    g_autoptr (TdScan) scan = td_camera_open (folder->path, "part.xtekct", NULL, 0);
    const TdScanFacts *facts = td_scan_facts (scan);
    g_autofree char *notes = td_messages_join (facts->notes, "\n", NULL);
    for (guint i = 0; i < VIEWS; i++) {
      const double expected = cases[c].taken ? measured[i] - measured[0] : i * step;
      const double turned = (facts->angles_rad[i] - facts->angles_rad[0]) * 180 / G_PI;
      g_assert_cmpfloat_with_epsilon (turned, expected, 1e-5);
    }
    g_assert_cmpfloat_with_epsilon (facts->angles_rad[0], (25 - 180) * G_PI / 180, 1e-9);
    g_assert_true (!cases[c].note || strstr (notes, cases[c].note));
  }
}

/* ── SkyScan ── */

#define SKY_SOD 120.0
#define SKY_SDD 300.0
#define SKY_IMAGE 0.5 /* mm at the axis */
#define SKY_WHITE 61000.0
#define SKY_LINE 36.0

enum { SKY_STEP, SKY_POST, SKY_KEYS };
static const char *const sky_keys[SKY_KEYS] = { "Rotation Step (deg)", "Postalignment" };
static const double sky_values[SKY_KEYS] = { 360.0 / VIEWS, 3.5 };

/* Images from behind the detector; with "CC" source and detector turn clockwise about the sample.
 */
static void
sky_ray (gconstpointer setup, guint view, guint column, guint row, double source[3],
         double pixel[3])
{
  const double pixel_mm = SKY_IMAGE * SKY_SDD / SKY_SOD;
  const guint turned = N - 1 - column;

  source[0] = source[2] = 0;
  source[1] = -SKY_SOD;
  pixel[0] = (turned - td_camera_middle (N) - sky_values[SKY_POST]) * pixel_mm;
  pixel[1] = SKY_SDD - SKY_SOD;
  pixel[2] = -(row - SKY_LINE) * pixel_mm;
  td_camera_turn (source, 0, 1, -sky_values[SKY_STEP] * view);
  td_camera_turn (pixel, 0, 1, -sky_values[SKY_STEP] * view);
}

static void
sky_write (const TestFolder *folder, const char *const *keys, const double *values)
{
  g_autofree char *text = g_strdup_printf (
      "[System]\r\nScanner=SkyScan1275\r\nCamera Pixel Size (um)=1130.0\r\nCamera X/Y "
      "Ratio=1.0000\r\n"
      "[Acquisition]\r\nFilename Prefix=bone_\r\nNumber Of Files= %u\r\nNumber Of Rows= %u\r\n"
      "Number Of Columns= %u\r\nCamera binning=1x1\r\nOptical Axis (line)= %g\r\n"
      "Object to Source (mm)=%g\r\nCamera to Source (mm)=%g\r\nImage Pixel Size (um)=%g\r\n"
      "Depth (bits)=16\r\nReference Intensity=%g\r\n%s=%.10g\r\nRotation Direction=CC\r\n"
      "[Reconstruction]\r\n%s=%.10g\r\n",
      VIEWS, N, N, SKY_LINE, SKY_SOD, SKY_SDD, SKY_IMAGE * 1000, SKY_WHITE, keys[SKY_STEP],
      values[SKY_STEP], keys[SKY_POST], values[SKY_POST]);

  td_camera_write (folder->path, "bone_.log", text);
}

static void
test_skyscan (void)
{
  const TdConeCamera camera = { N, N, VIEWS, 0.5 * N * SKY_IMAGE * 0.85, sky_ray, NULL };
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree float *views = td_cone_camera_expose (&camera);

  td_cone_camera_save (&camera, views, folder->path, "bone_", 0, SKY_WHITE);
  const Written written
      = { "bone_.log", NULL, 0, SKY_IMAGE, sky_write, sky_keys, sky_values, SKY_KEYS };
  check_signs (folder, &camera, &written);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  engine = td_engine_new (td_methods);
  g_test_add_func ("/cone-readers/rtk", test_rtk);
  g_test_add_data_func ("/cone-readers/nikon/circular", nikon_plain, test_nikon);
  g_test_add_data_func ("/cone-readers/nikon/tilted", nikon_tilted, test_nikon);
  g_test_add_func ("/cone-readers/nikon/volume", test_nikon_volume);
  g_test_add_func ("/cone-readers/nikon/old", test_nikon_old);
  g_test_add_func ("/cone-readers/nikon/angles", test_nikon_angles);
  g_test_add_func ("/cone-readers/skyscan", test_skyscan);
  const int status = g_test_run ();
  td_engine_unref (engine);
  return status;
}
