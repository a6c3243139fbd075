/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Geometry files and the scans they describe are cut short, have flipped bits, contradict each
 * other and are absurd. Each opening ends with a scan or with one sentence that says what to do.
 * What each ends with is kept (tests/pins). */
#include <glib/gstdio.h>
#include <math.h>

#include "dataset/error.h"
#include "dataset/geometry-json.h"
#include "dataset/message.h"
#include "dataset/tiff-save.h"
#include "tests/common/pin-scan.h"
#include "tests/unit/test-folder.h"

#define COLUMNS 20u
#define ROWS 10u
#define VIEWS 6u
#define FLIPS 400u
#define INNER "scan" /* what lies beside scans is looked for above their folder, too */

/* A sound file of each kind for VIEWS views of COLUMNS x ROWS; "@" stands for what a test changes.
 */
static const char nikon[]
    = "[XTekCT]\nName=part\nProjections=6\nWhiteLevel=60000\nDetectorPixelsX=20\nDetectorPixelsY="
      "10\n"
      "DetectorPixelSizeX=0.5\nDetectorPixelSizeY=0.5\nSrcToObject=100\nSrcToDetector=300\n"
      "InitialAngle=0\nAngularStep=60\nObjectOffsetX=0.1\nObjectRoll=0.5\nObjectTilt=0.25\n";
static const char skyscan[]
    = "[System]\nScanner=SkyScan1172\nCamera Pixel Size (um)=11.2\n[Acquisition]\nFilename "
      "Prefix=part_\n"
      "Number of Files=6\nNumber of Rows=10\nNumber of Columns=20\nOptical Axis (line)=5\n"
      "Object to Source (mm)=100\nCamera to Source (mm)=300\nImage Pixel Size (um)=150\n"
      "Depth (bits)=16\nRotation Step (deg)=60\nRotation Direction=CC\n[Reconstruction]\n"
      "Postalignment=0.5\n";
static const char rtk_head[]
    = "<?xml version=\"1.0\"?>\n<!DOCTYPE RTKGEOMETRY>\n<RTKThreeDCircularGeometry version=\"3\">\n"
      "<SourceToIsocenterDistance>100</SourceToIsocenterDistance>\n"
      "<SourceToDetectorDistance>300</SourceToDetectorDistance>\n";

static const char fips[]
    = "{\n \"projectName\": \"part_\",\n \"distanceSourceOrigin\": 10,\n "
      "\"distanceSourceDetector\": 30,\n"
      " \"distanceUnit\": \"cm\",\n \"numberImages\": 6.0,\n \"pixelSize\": 0.0125,\n"
      " \"pixelSizePost\": 0.05,\n \"numDetectorsPost\": 20.0\n}\n";

static char *
rtk_text (void)
{
  GString *text = g_string_new (rtk_head);

  for (guint view = 0; view < VIEWS; view++)
    g_string_append_printf (text, "<Projection><GantryAngle>%u</GantryAngle></Projection>\n",
                            60 * view);
  g_string_append (text, "</RTKThreeDCircularGeometry>\n");
  return g_string_free (text, FALSE);
}

/* Pixels of 0.5 mm, 100 and 300 mm. */
static void
matrix_of (guint view, double m[12])
{
  const double angle = 2 * G_PI * view / VIEWS, c = cos (angle), s = sin (angle), f = 600;
  const double own[12]
      = { f * c - 9.5 * s, f * s + 9.5 * c, 0, 950, -4.5 * s, 4.5 * c, -f, 450, -s, c, 0, 100 };

  for (guint i = 0; i < 12; i++)
    m[i] = own[i];
}

static char *
table_text (gboolean json)
{
  GString *text = g_string_new (json ? "{\"matrices\": [" : "# one a line\n");

  for (guint view = 0; view < VIEWS; view++) {
    double m[12];

    matrix_of (view, m);
    g_string_append (text, json ? view ? ", [" : "[" : "");
    for (guint i = 0; i < 12; i++)
      g_string_append_printf (text, "%s%.9g", i ? ", " : "", m[i]);
    g_string_append (text, json ? "]" : "\n");
  }
  g_string_append (text, json ? "]}\n" : "");
  return g_string_free (text, FALSE);
}

static char *
rabbit_bytes (gsize *size)
{
  GByteArray *bytes = g_byte_array_new ();
  const guint32 head[5] = { COLUMNS, ROWS, VIEWS, 0x3f800000, 0 };
  const float image[COLUMNS * ROWS] = { 1 };

  g_byte_array_append (bytes, (const guint8 *) head, sizeof head);
  for (guint view = 0; view < VIEWS; view++) {
    double m[12], a[12];

    matrix_of (view, m);
    for (guint row = 0; row < 3; row++)
      for (guint k = 0; k < 4; k++)
        a[3 * k + row] = m[4 * row + k] / 100;
    g_byte_array_append (bytes, (const guint8 *) a, sizeof a);
    g_byte_array_append (bytes, (const guint8 *) image, sizeof image);
  }
  *size = bytes->len;
  return (char *) g_byte_array_free (bytes, FALSE);
}

static const struct {
  const char *name, *file;
} kinds[] = {
  { "nikon", "part.xtekct" },  { "skyscan", "part_.log" }, { "rtk", "geometry.xml" },
  { "json", "geometry.json" }, { "text", "geometry.csv" }, { "fips", "part_parameters.json" },
  { "rabbitct", "part.rctd" },
};
#define N_KINDS G_N_ELEMENTS (kinds)
#define JSON 3u
#define FIPS 5u
#define RABBITCT 6u

static char *
sound_file (guint kind, gsize *size)
{
  char *text = NULL;

  switch (kind) {
  case 0: text = g_strdup (nikon); break;
  case 1: text = g_strdup (skyscan); break;
  case 2: text = rtk_text (); break;
  case 3: text = table_text (TRUE); break;
  case 4: text = table_text (FALSE); break;
  case FIPS: text = g_strdup (fips); break;
  default: return rabbit_bytes (size);
  }
  *size = strlen (text);
  return text;
}

/* ── What comes of opening ── */

/* Of many openings it is counted: how often which sentence came, and what all scans state. */
static GTree *counted; /* sentence → guint; NULL: each opening is kept by itself */
static double stated_sum;

static void
add_stated (double value)
{
  if (isfinite (value))
    stated_sum += value / (1 + fabs (value));
}

static void
count_end (const char *sentence)
{
  guint *n = g_tree_lookup (counted, sentence);

  if (!n)
    g_tree_insert (counted, g_strdup (sentence), n = g_new0 (guint, 1));
  ++*n;
}

static void
count_opened (const TdScanFacts *f)
{
  const TdGeometry *g = &f->geometry;
  const double values[] = { f->n_columns,
                            f->n_rows,
                            f->n_flats,
                            f->n_darks,
                            f->white_level,
                            f->centre_px,
                            g->pixel_width_mm,
                            g->pixel_height_mm,
                            g->source_axis_mm,
                            g->source_detector_mm,
                            g->detector_offset_u_px,
                            g->detector_offset_v_px,
                            g->axis_offset_mm,
                            g->detector_tilt_rad[0],
                            g->detector_tilt_rad[1],
                            g->detector_tilt_rad[2],
                            g->voxel_mm };

  for (guint i = 0; i < G_N_ELEMENTS (values); i++)
    add_stated ((i + 1) * values[i]);
  for (guint view = 0; view < f->n_views; view++)
    add_stated ((view + 1) * f->angles_rad[view]);
  for (guint i = 0; i < 12 * g->n_view_matrices; i++)
    add_stated (g->view_matrices[i]);
  for (guint i = 0; f->notes && f->notes[i]; i++)
    count_end (td_message_id (f->notes[i]));
  count_end ("a scan");
}

static TdScan *
open_any (const char *path, const TdScanOptions *options, GError **error)
{
  TdScan *scan = td_scan_open (path, options, NULL, error);

  if (!counted) {
    g_auto (GStrv) lines = td_test_opened_lines (scan, error ? *error : NULL);
    td_test_pin_opened ("opened", lines, NULL);
  } else if (scan)
    count_opened (td_scan_facts (scan));
  else {
    g_autofree char *packed = td_error_pack (*error);
    g_autoptr (TdMessage) message = td_message_unpack (packed);
    count_end (td_message_id (message));
  }
  return scan;
}

static int
compare_sentences (gconstpointer a, gconstpointer b, gpointer unused)
{
  return strcmp (a, b);
}

static void
begin_counting (void)
{
  counted = g_tree_new_full (compare_sentences, NULL, g_free, g_free);
  stated_sum = 0;
}

static gboolean
pin_end (gpointer sentence, gpointer n, gpointer unused)
{
  td_test_pin ("%u times: %s", *(guint *) n, (char *) sentence);
  return FALSE;
}

/* Which damaged JSON is read all the same is up to JSON-GLib. */
static void
end_counting (guint kind)
{
  if (kind != JSON && kind != FIPS) {
    g_tree_foreach (counted, pin_end, NULL);
    td_test_pin ("stated in all: %.0f", 1000 * stated_sum);
  }
  g_clear_pointer (&counted, g_tree_unref);
}

/* ── Opening ── */

static void
make_stack (const TestFolder *folder)
{
  guint16 samples[COLUMNS * ROWS];
  const TdTiffImage image = { COLUMNS, ROWS, TD_SAMPLE_UINT16, 0, NULL };
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < COLUMNS * ROWS; i++)
    samples[i] = (guint16) (1000 + 7 * i);
  for (guint view = 0; view < VIEWS; view++) {
    g_autofree char *path = g_strdup_printf ("%s/part_%04u.tif", folder->path, view + 1);
    td_tiff_save_single (path, path, &image, samples, &error);
    g_assert_no_error (error);
  }
}

static void
write_file (const TestFolder *folder, const char *name, const char *bytes, gsize size)
{
  g_autofree char *path = test_folder_file (folder, name);

  g_remove (path); /* or the end of a longer one would stay */
  g_assert_true (
      g_file_set_contents_full (path, bytes, size, G_FILE_SET_CONTENTS_NONE, 0600, NULL));
}

/* As its own scan where it is one, else as the geometry of the stack. */
static TdScan *
open_kind (const TestFolder *folder, guint kind, gboolean as_geometry, GError **error)
{
  g_autofree char *file = test_folder_file (folder, kinds[kind].file);
  g_autofree char *stack = test_folder_file (folder, "part_0001.tif");
  const gboolean own = kind == RABBITCT || (kind < 2 && !as_geometry);
  const gboolean found = kind == FIPS && !as_geometry; /* beside the images, by its name */
  const TdScanOptions options = { .geometry = own || found ? NULL : file,
                                  .pixel_mm = kind < 2 || kind == FIPS ? 0 : 0.5,
                                  .angles = kind == FIPS ? "0:300" : NULL };

  return open_any (own ? file : stack, &options, error);
}

/* A scan that can be read, or one sentence. */
static void
check_open (const TestFolder *folder, guint kind, gboolean as_geometry)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TdScan) scan = open_kind (folder, kind, as_geometry, &error);

  if (!scan) {
    test_assert_sentence (error, NULL);
    return;
  }
  const TdScanFacts *facts = td_scan_facts (scan);
  g_assert_cmpuint (facts->n_views, >, 0);
  g_assert_nonnull (facts->angles_rad);
  for (guint view = 0; view < facts->n_views; view++)
    g_assert_true (isfinite (facts->angles_rad[view]));
  if ((gsize) facts->n_columns * facts->n_rows > 1u << 20)
    return;
  for (guint frame = 0; frame < 3; frame++) {
    g_autofree float *out = g_new (float, (gsize) facts->n_columns * facts->n_rows);
    const guint counts[] = { facts->n_views, facts->n_flats, facts->n_darks };
    g_autoptr (GError) own = NULL;

    if (counts[frame] > 0
        && !td_scan_read (scan, &(TdFrameRange) { frame, counts[frame] - 1, 1, 0, facts->n_rows },
                          out, NULL, &own))
      test_assert_sentence (own, NULL);
  }
}

static void
test_sound (gconstpointer data)
{
  const guint kind = GPOINTER_TO_UINT (data);
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autoptr (GError) error = NULL;
  gsize size;
  g_autofree char *bytes = sound_file (kind, &size);

  make_stack (folder);
  write_file (folder, kinds[kind].file, bytes, size);
  for (guint i = 0; i < 2; i++) {
    g_autoptr (TdScan) scan = open_kind (folder, kind, i, &error);
    g_assert_no_error (error);
    const TdScanFacts *facts = td_scan_facts (scan);
    g_assert_cmpuint (facts->n_views, ==, VIEWS);
    g_assert_cmpint (facts->geometry.beam, ==, TD_BEAM_CONE);
    if (kind == FIPS)
      g_assert_cmpfloat_with_epsilon (facts->geometry.pixel_width_mm, 0.5, 1e-12);
    g_assert_cmpfloat_with_epsilon (fabs (facts->angles_rad[1] - facts->angles_rad[0]), G_PI / 3,
                                    1e-6);
  }
}

/* A text says the same in the encodings that Windows writes. */
static void
test_encoded (gconstpointer data)
{
  static const struct {
    const char *encoding, *mark;
  } cases[] = { { "UTF-8", "\xef\xbb\xbf" },
                { "UTF-16LE", "\xff\xfe" },
                { "UTF-16BE", "\xfe\xff" },
                { "UTF-16LE", "" } };
  const guint kind = GPOINTER_TO_UINT (data);
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autoptr (GError) error = NULL;
  gsize size;
  g_autofree char *bytes = sound_file (kind, &size);

  if (kind == RABBITCT)
    return;
  make_stack (folder);
  write_file (folder, kinds[kind].file, bytes, size);
  g_autoptr (TdScan) plain = open_kind (folder, kind, FALSE, &error);
  g_assert_no_error (error);
  g_autofree char *geometry = td_geometry_to_json (&td_scan_facts (plain)->geometry);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    gsize n;
    g_autofree char *text
        = g_convert (bytes, (gssize) size, cases[i].encoding, "UTF-8", NULL, &n, NULL);
    g_autoptr (GString) marked = g_string_new (cases[i].mark);

    g_string_append_len (marked, text, (gssize) n);
    write_file (folder, kinds[kind].file, marked->str, marked->len);
    g_autoptr (TdScan) scan = open_kind (folder, kind, FALSE, &error);
    g_assert_no_error (error);
    g_assert_cmpmem (td_scan_facts (scan)->angles_rad, VIEWS * sizeof (double),
                     td_scan_facts (plain)->angles_rad, VIEWS * sizeof (double));
    g_autofree char *own = td_geometry_to_json (&td_scan_facts (scan)->geometry);
    g_assert_cmpstr (own, ==, geometry);
  }
}

static void
test_cut_short (gconstpointer data)
{
  const guint kind = GPOINTER_TO_UINT (data);
  g_autoptr (TestFolder) outer = test_folder_new ();
  g_autofree char *path = test_folder_file (outer, INNER);
  const TestFolder inner = { path }, *folder = &inner;
  gsize size;
  g_autofree char *bytes = sound_file (kind, &size);

  g_assert_cmpint (g_mkdir (path, 0700), ==, 0);
  make_stack (folder);
  begin_counting ();
  for (gsize length = 0; length<size; length += size> 2000 ? 29 : 3) {
    write_file (folder, kinds[kind].file, bytes, length);
    check_open (folder, kind, length % 2);
  }
  end_counting (kind);
}

static void
test_flipped (gconstpointer data)
{
  const guint kind = GPOINTER_TO_UINT (data);
  g_autoptr (TestFolder) outer = test_folder_new ();
  g_autofree char *path = test_folder_file (outer, INNER);
  const TestFolder inner = { path }, *folder = &inner;
  g_autoptr (GRand) random = g_rand_new_with_seed (500 + kind);
  gsize size;
  g_autofree char *bytes = sound_file (kind, &size);

  g_assert_cmpint (g_mkdir (path, 0700), ==, 0);
  make_stack (folder);
  begin_counting ();
  for (guint i = 0; i < FLIPS; i++) {
    g_autofree char *copy = g_memdup2 (bytes, size);
    const guint n = g_rand_int_range (random, 1, 5);

    /* Digits and signs for the most part: what stays well formed goes furthest. */
    for (guint j = 0; j < n; j++)
      copy[g_rand_int_range (random, 0, (gint32) size)]
          = j % 3 ? "0123456789-.e,=\n"[g_rand_int_range (random, 0, 16)]
                  : (char) g_rand_int_range (random, 0, 256);
    write_file (folder, kinds[kind].file, copy, size);
    check_open (folder, kind, i % 2);
  }
  end_counting (kind);
}

/* ── Contradictions ── */

static const struct {
  guint kind;
  const char *from, *to; /* in the sound file */
  const char *says;      /* part of the sentence */
} wrong[] = {
  { 0, "Projections=6", "Projections=7", "7 views" },
  { 0, "DetectorPixelsX=20", "DetectorPixelsX=21", "21 detector columns" },
  { 0, "SrcToDetector=300", "SrcToDetector=90", "contradict" },
  { 0, "SrcToObject=100", "SrcToObject=many", "SrcToObject" },
  { 0, "DetectorPixelSizeX=0.5", "DetectorPixelSizeX=-1", "DetectorPixelSizeX" },
  { 0, "AngularStep=60", "AngularStep=nan", "AngularStep" },
  { 0, "AngularStep=60", "", "AngularStep" },
  { 0, "ObjectTilt=0.25", "ObjectTilt=80", "ObjectTilt" },
  { 0, "Name=part", "Name=other", "other_" },
  { 0, "ObjectOffsetX=0.1", "ObjectOffsetX=0.1 mm", "ObjectOffsetX=0.1 mm" },
  { 0, "ObjectRoll=0.5", "ObjectRoll=nan", "ObjectRoll=nan" },
  { 0, "InitialAngle=0", "InitialAngle=\"20\"", "InitialAngle" },
  { 0, "Projections=6", "Projections=6.5", "Projections=6.5" },
  { 0, "SrcToObject=100", "SrcToObject=100\nSrcToObject=90", "more than once" },
  { 0, "WhiteLevel=60000", "WhiteLevel=600000", "600000" },
  { 0, "WhiteLevel=60000", "WhiteLevel=6e4; counts", "WhiteLevel" },
  { 1, "Number of Files=6", "Number of Files=5", "5 views" },
  { 1, "Number of Rows=10", "Number of Rows=12", "12 detector rows" },
  { 1, "Camera to Source (mm)=300", "Camera to Source (mm)=50", "Camera to Source" },
  { 1, "Rotation Step (deg)=60", "Rotation Step (deg)=0", "Rotation Step" },
  { 1, "Number of Files=6", "Number of Files=6e9", "Number of Files" },
  { 1, "Rotation Direction=CC", "Scanning Trajectory=SPIRAL", "helical" },
  { 1, "Rotation Direction=CC", "Rotation Direction=right", "right" },
  { 1, "Rotation Direction=CC", "Gantry direction=left", "left" },
  { 1, "Postalignment=0.5", "Postalignment=0.5 px", "Postalignment=0.5 px" },
  { 1, "Postalignment=0.5", "Postalignment=11", "beside the detector" },
  { 1, "Optical Axis (line)=5", "Optical Axis (line)=50", "Optical Axis" },
  { 1, "Number of Rows=10", "", "Number of Rows" },
  { 1, "Number of Columns=20", "Number of Columns=-20", "Number of Columns" },
  { 1, "Camera to Source (mm)=300\n", "", "Camera to Source" },
  { 1, "[Acquisition]", "CameraXYRatio=3\n[Acquisition]", "CameraXYRatio" },
  { 1, "Depth (bits)=16", "Depth (bits)=24", "65535" },
  { 1, "Depth (bits)=16", "Depth (bits)=16\nDepth (bits)=12", "“16” and as “12”" },
  { 1, "Filename Prefix=part_", "Filename Prefix=bone_", NULL }, /* found by the log's own name */
  { 2, "version=\"3\"", "version=\"9\"", "version 9" },
  { 2, "<SourceToDetectorDistance>300", "<SourceToDetectorDistance>0", "parallel" },
  { 2, "<SourceToDetectorDistance>300", "<SourceToDetectorDistance>far", "is not a number" },
  { 2, "<GantryAngle>60</GantryAngle>", "<Angle>left</Angle>", "“Angle” is not a number" },
  { 2, "<GantryAngle>60</GantryAngle>",
    "<GantryAngle>60</GantryAngle><Matrix>1 0 0 0 0 1 0 0 0 0 1 0</Matrix>", "matrix" },
  { 2, "<GantryAngle>60</GantryAngle>",
    "<RadiusCylindricalDetector>300</RadiusCylindricalDetector>", "cylinder" },
  { 2, "<Projection><GantryAngle>300</GantryAngle></Projection>", "", "5 views" },
  { 2, "</RTKThreeDCircularGeometry>", "", "XML" },
  { 3, "]]}", "]", "JSON" },
  { 3, "{\"matrices\"", "{\"motrices\"", "is no geometry" },
  { 3, "{\"matrices\"", "{\"columns\": 21, \"matrices\"", "21 detector columns" },
  { 3, "{\"matrices\"", "{\"columns\": \"20\", \"matrices\"", "columns" },
  { 3, "{\"matrices\"", "{\"pixel_mm\": \"0.5\", \"matrices\"", "pixel_mm" },
  { 3, "{\"matrices\"", "{\"volume_size\": [4, 4, \"4\"], \"matrices\"", "volume_size" },
  { 3, "600,", "\"600\",", "something else than numbers" },
  { 3, "]]}", ", 1]]}", "73 numbers" },
  { 3, "{\"matrices\"", "{\"vectors\"", NULL },
  { 4, "600,", "600, 600,", "have 13" },
  { 4, "600,", "inf,", "than numbers" },
  { 4, "950,", "x950,", "than numbers" },
};

/* Replaces the first @from; the test is wrong if there is none. */
static char *
replace (const char *text, const char *from, const char *to)
{
  const char *at = strstr (text, from);

  g_assert_nonnull (at);
  g_autofree char *begin = g_strndup (text, at - text);
  return g_strconcat (begin, to, at + strlen (from), NULL);
}

static void
test_contradictions (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (wrong); i++) {
    const guint kind = wrong[i].kind;
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autoptr (GError) error = NULL;
    gsize size;
    g_autofree char *bytes = sound_file (kind, &size);
    g_autofree char *text = replace (bytes, wrong[i].from, wrong[i].to);

    make_stack (folder);
    write_file (folder, kinds[kind].file, text, strlen (text));
    g_autoptr (TdScan) scan = open_kind (folder, kind, FALSE, &error);
    g_test_message ("“%s” for “%s”", wrong[i].to, wrong[i].from);
    if (!wrong[i].says)
      continue; /* whichever: no crash */
    g_assert_null (scan);
    test_assert_sentence (error, wrong[i].says);
  }
}

/* Matrices that are none of this scan's: other axes, other units, another detector. */
static void
test_foreign_matrices (void)
{
  static const struct {
    guint from[4]; /* columns of the matrix taken in this order */
    double scale, shift;
    const char *says;
  } foreign[] = {
    { { 0, 2, 1, 3 }, 1, 0, "orbit" },      /* y along the axis */
    { { 0, 1, 2, 3 }, 1, 500, "detector" }, /* another detector */
    { { 0, 0, 2, 3 }, 1, 0, "singular" },
    { { 0, 1, 2, 3 }, 0, 0, "singular" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (foreign); i++) {
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autoptr (GString) text = g_string_new ("# matrices\n");
    g_autoptr (GError) error = NULL;

    for (guint view = 0; view < VIEWS; view++) {
      double m[12];

      matrix_of (view, m);
      for (guint row = 0; row < 3; row++)
        for (guint k = 0; k < 4; k++) {
          const guint at = foreign[i].from[k];
          const double value = m[4 * row + at] + (row == 0 ? foreign[i].shift * m[8 + at] : 0);
          g_string_append_printf (text, "%.9g%s", value * foreign[i].scale,
                                  k + row < 5 ? " " : "\n");
        }
    }
    make_stack (folder);
    write_file (folder, kinds[4].file, text->str, text->len);
    g_autoptr (TdScan) scan = open_kind (folder, 4, TRUE, &error);
    g_assert_null (scan);
    test_assert_sentence (error, foreign[i].says);
  }
}

/* Vectors place a source, a detector's middle and its pixel's sides. Those that span no plane, or
   one through the source, are refused. So are directions of rays, of length 1. */
static void
test_vectors (void)
{
  static const struct {
    guint at; /* number of a vector's component that is another one in the third view */
    double values[3];
    gboolean good;
  } cases[] = {
    { 6, { 1, 0, 0 }, TRUE },  { 6, { 0, 0, 0 }, FALSE }, { 6, { 0, 0, -2 }, FALSE },
    { 9, { 0, 0, 0 }, FALSE }, { 9, { 3, 0, 0 }, FALSE }, { 3, { 0, -100, 0 }, FALSE },
  };

  for (guint i = 0; i <= G_N_ELEMENTS (cases); i++) {
    const gboolean rays = i == G_N_ELEMENTS (cases);
    const double source = rays ? 1 : 100, detector = rays ? 0 : 200;
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autoptr (GString) text = g_string_new (rays ? "{\"astra_vectors\": [" : "{\"vectors\": [");
    g_autoptr (GError) error = NULL;

    for (guint view = 0; view < VIEWS; view++) {
      const double c = cos (G_PI * view / 3), s = sin (G_PI * view / 3);
      double v[12]
          = { source * s, -source * c, 0, -detector * s, detector * c, 0, c, s, 0, 0, 0, -1 };
      if (view == 2 && !rays)
        for (guint k = 0; k < 3; k++)
          v[cases[i].at + k]
              = k == 2 ? cases[i].values[2]
                       : cases[i].values[0] * (k ? s : c) + cases[i].values[1] * (k ? c : -s);
      for (guint k = 0; k < 12; k++)
        g_string_append_printf (text, "%s%.9g", k ? ", " : view ? ", [" : "[", v[k]);
      g_string_append (text, "]");
    }
    g_string_append (text, "]}");
    make_stack (folder);
    write_file (folder, kinds[3].file, text->str, text->len);
    g_autoptr (TdScan) scan = open_kind (folder, 3, TRUE, &error);
    g_test_message ("%u", i);
    if (!rays && cases[i].good)
      g_assert_no_error (error);
    else
      test_assert_sentence (error, rays ? "parallel3d_vec"
                                        : "the vectors of view 2 do not place source and detector");
    g_assert_true (!scan == (rays || !cases[i].good));
  }
}

/* A volume is proposed whole or not at all: half a proposal would move what comes out. */
static void
test_proposed_volume (void)
{
  static const struct {
    const char *says;
    gboolean good;
    const char *named; /* the key that is not right by itself; NULL: all are */
  } proposals[] = {
    { "\"voxel_mm\": 0.2, \"volume_size\": [12, 14, 8], ", TRUE },
    { "\"voxel_mm\": 0, \"volume_size\": [0, 0, 0], ", TRUE },
    { "\"voxel_mm\": 0.2, ", FALSE },
    { "\"volume_size\": [12, 14, 8], ", FALSE },
    { "\"voxel_mm\": 0.2, \"volume_size\": [12, 14, 0], ", FALSE },
    { "\"voxel_mm\": 0.2, \"volume_size\": [12, 0, 8], ", FALSE },
    { "\"voxel_mm\": 0.2, \"volume_size\": [0, 0, 8], ", FALSE },
    { "\"voxel_mm\": 0.2, \"volume_size\": [12, 14], ", FALSE, "volume_size" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (proposals); i++) {
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autofree char *table = table_text (TRUE);
    g_autofree char *text = g_strconcat ("{", proposals[i].says, table + 1, NULL);
    g_autofree char *file = test_folder_file (folder, "geometry.json");
    g_autofree char *stack = test_folder_file (folder, "part_0001.tif");
    const TdScanOptions options = { .geometry = file, .pixel_mm = 0.5 };
    g_autoptr (GError) error = NULL;

    make_stack (folder);
    write_file (folder, "geometry.json", text, strlen (text));
    g_autoptr (TdScan) scan = open_any (stack, &options, &error);
    if (proposals[i].good) {
      g_assert_no_error (error);
      continue;
    }
    g_assert_null (scan);
    test_assert_sentence (error, proposals[i].named ? proposals[i].named : "proposes a volume");
  }
}

/* The program's own keys, and no others: what is misspelt would be taken as not stated, and so
   would a number that is none. */
static void
test_own_keys (void)
{
  static const struct {
    const char *more, *says; /* says: NULL: it is good */
  } keys[] = {
    { "\"detector_offset_v_px\": 2", NULL },
    { "\"detector_offset_v_mm\": 2", "detector_offset_v_mm" },
    { "\"voxel\": 2", "voxel" },
    { "\"detector_offset_v_px\": \"2\"", "detector_offset_v_px" },
    { "\"detector_offset_v_px\": true", "detector_offset_v_px" },
    { "\"pixel_width_mm\": -0.5", "pixel_width_mm" },
    { "\"detector_tilt_rad\": [0, 0, 0.01]", NULL },
    { "\"detector_tilt_rad\": [0, 0, \"0.01\"]", "detector_tilt_rad" },
    { "\"voxel_mm\": 0.2, \"volume_size\": [12, 14, 8]", NULL },
    { "\"voxel_mm\": 0.2, \"volume_size\": [12, 14, 8.5]", "volume_size" },
    { "\"voxel_mm\": 0.2, \"volume_size\": [12, 14, 2e6]", "volume_size" },
    { "\"view_matrices\": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]", "view_matrices" },
    { "\"view_matrices\": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]", "view_matrices" },
    { "\"view_matrices\": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]", "states 1 view" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (keys); i++) {
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autofree char *text = g_strdup_printf (
        "{\"beam\": \"cone\", \"source_axis_mm\": 100, \"source_detector_mm\": 300, %s}",
        keys[i].more);
    g_autofree char *file = test_folder_file (folder, "geometry.json");
    g_autofree char *stack = test_folder_file (folder, "part_0001.tif");
    const TdScanOptions options = { .geometry = file, .pixel_mm = 0.5, .angles = "0:300" };
    g_autoptr (GError) error = NULL;

    make_stack (folder);
    write_file (folder, "geometry.json", text, strlen (text));
    g_autoptr (TdScan) scan = open_any (stack, &options, &error);
    g_test_message ("%s", keys[i].more);
    if (!keys[i].says)
      g_assert_no_error (error);
    else
      test_assert_sentence (error, keys[i].says);
  }
}

/* Elements of RTK's that are misspelt, or are told. */
static void
test_rtk_elements (void)
{
  static const struct {
    const char *element, *says; /* says: NULL: nothing */
    gboolean refused;
  } cases[] = {
    { "<OutOfPlaneAngle>1</OutOfPlaneAngle>", NULL, FALSE },
    { "<OutOfPlaneAngel>1</OutOfPlaneAngel>", "OutOfPlaneAngel", TRUE },
    { "<CollimationUInf>5</CollimationUInf>", "jaws", FALSE },
    { "<CollimationUInf>1.79769e+308</CollimationUInf>", NULL, FALSE },
    { "<CollimationUInf>wide</CollimationUInf>", "CollimationUInf", TRUE },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autofree char *sound = rtk_text (),
                    *more = g_strconcat ("<Projection>", cases[i].element, NULL);
    g_autofree char *text = replace (sound, "<Projection>", more);
    g_autoptr (GError) error = NULL;

    g_test_message ("%s", cases[i].element);
    make_stack (folder);
    write_file (folder, kinds[2].file, text, strlen (text));
    g_autoptr (TdScan) scan = open_kind (folder, 2, TRUE, &error);
    if (cases[i].refused) {
      test_assert_sentence (error, cases[i].says);
      continue;
    }
    g_assert_no_error (error);
    g_autofree char *notes = td_messages_join (td_scan_facts (scan)->notes, "\n", NULL);
    g_assert_cmpint (strstr (notes, "jaws") != NULL, ==, cases[i].says != NULL);
  }
}

/* RTK writes its matrices beside the parameters. Each number of one is looked at. */
static void
test_rtk_matrices (void)
{
  const double angle = 60 * G_PI / 180, c = cos (angle), s = sin (angle);
  /* Of the second view, 100 and 300 mm away. */
  const double right[12] = { -300 * c, 0, 300 * s, 0, 0, -300, 0, 0, s, 0, c, -100 };

  for (guint i = 0; i <= 2 * G_N_ELEMENTS (right); i++) {
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autoptr (GString) matrix = g_string_new ("<GantryAngle>60</GantryAngle><Matrix>");
    g_autofree char *sound = rtk_text ();
    g_autoptr (GError) error = NULL;

    for (guint k = 0; k < G_N_ELEMENTS (right); k++)
      g_string_append_printf (matrix, " %.9g",
                              right[k] + (i / 2 == k ? (i % 2 ? 0.007 : -0.007) : 0));
    g_string_append (matrix, "</Matrix>");
    g_autofree char *text = replace (sound, "<GantryAngle>60</GantryAngle>", matrix->str);
    make_stack (folder);
    write_file (folder, kinds[2].file, text, strlen (text));
    g_autoptr (TdScan) scan = open_kind (folder, 2, TRUE, &error);
    if (i < 2 * G_N_ELEMENTS (right))
      g_assert_nonnull (strstr (error->message, "projection 1: its matrix is not the one"));
    else
      g_assert_no_error (error);
  }
}

/* Rows of numbers alone are matrices, too, in JSON as in a text. */
static void
test_bare_array (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *object = table_text (TRUE), *rows = g_strdup (strchr (object, '['));
  g_autofree double *first = NULL;

  *strrchr (rows, '}') = '\0';
  make_stack (folder);
  for (guint i = 0; i < 2; i++) {
    const char *text = i ? rows : object;
    g_autoptr (GError) error = NULL;

    write_file (folder, kinds[3].file, text, strlen (text));
    g_autoptr (TdScan) scan = open_kind (folder, 3, TRUE, &error);
    g_assert_no_error (error);
    const TdGeometry *g = &td_scan_facts (scan)->geometry;
    g_assert_cmpuint (g->n_view_matrices, ==, VIEWS);
    if (i == 0)
      first = g_memdup2 (g->view_matrices, 12 * VIEWS * sizeof *first);
    else
      g_assert_cmpmem (g->view_matrices, 12 * VIEWS * sizeof *first, first,
                       12 * VIEWS * sizeof *first);
  }
}

/* A detector lies on its side where its columns follow the axis more than its rows do. */
static void
test_on_side (void)
{
  for (int degrees = -170; degrees <= 180; degrees += 10) {
    const double roll = degrees * G_PI / 180, c = cos (roll), s = sin (roll);
    double level[12], m[12];
    TdGeometry geometry;

    matrix_of (1, level);
    for (guint k = 0; k < 4; k++) {
      m[k] = c * level[k] - s * level[4 + k];
      m[4 + k] = s * level[k] + c * level[4 + k];
      m[8 + k] = level[8 + k];
    }
    td_geometry_init_parallel (&geometry);
    geometry.beam = TD_BEAM_CONE;
    geometry.pixel_width_mm = geometry.pixel_height_mm = 0.5;
    geometry.detector_tilt_rad[2] = roll;
    g_assert_cmpint (td_geometry_lies_on_side (&geometry), ==, fabs (s) > fabs (c));
    geometry.detector_tilt_rad[2] = 0;
    geometry.view_matrices = m;
    geometry.n_view_matrices = 1;
    g_assert_cmpint (td_geometry_lies_on_side (&geometry), ==, fabs (s) > fabs (c));
  }
}

/* Matrices as a table, with more beside them than numbers. */
static void
test_table_keys (void)
{
  static const struct {
    gboolean json;
    const char *more, *says; /* says: NULL: it is good */
  } cases[] = {
    { TRUE, "{\"columns\": 20, \"pixel_mm\": 0.5, ", NULL },
    { TRUE, "{\"voxel_mm\": 0.2, \"volume_size\": [12, 14, 8], ", NULL },
    { TRUE, "{\"pixel_um\": 500, ", "pixel_um" },
    { TRUE, "{\"Columns\": 21, ", "Columns" },
    { TRUE, "{\"vectors\": [1, 2, 3], ", "vectors" },
    { FALSE, "a, b, c, d\n# pixel_mm = 0.5\n", NULL },
    { FALSE, "view: m00 to m23\n", NULL },
    { FALSE, "pixel_mm = 0.4\n", "pixel_mm" },
    { FALSE, "columns: 21\n", "columns" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autofree char *bare = table_text (cases[i].json);
    g_autofree char *text = g_strconcat (cases[i].more, bare + cases[i].json, NULL);
    const guint kind = cases[i].json ? 3 : 4;
    g_autoptr (GError) error = NULL;

    g_test_message ("%s", cases[i].more);
    make_stack (folder);
    write_file (folder, kinds[kind].file, text, strlen (text));
    g_autoptr (TdScan) scan = open_kind (folder, kind, TRUE, &error);
    if (!cases[i].says)
      g_assert_no_error (error);
    else
      test_assert_sentence (error, cases[i].says);
  }
}

/* A pixel whose one side is stated is square. */
static void
test_square_pixel (void)
{
  static const char *const sides[] = { "pixel_width_mm", "pixel_height_mm" };

  for (guint i = 0; i < G_N_ELEMENTS (sides); i++) {
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autofree char *text = g_strdup_printf ("{\"beam\": \"parallel\", \"%s\": 0.25}", sides[i]);
    g_autofree char *file = test_folder_file (folder, "geometry.json");
    g_autofree char *stack = test_folder_file (folder, "part_0001.tif");
    const TdScanOptions options = { .geometry = file, .angles = "0:150" };
    g_autoptr (GError) error = NULL;

    make_stack (folder);
    write_file (folder, "geometry.json", text, strlen (text));
    g_autoptr (TdScan) scan = open_any (stack, &options, &error);
    g_assert_no_error (error);
    g_assert_cmpfloat (td_scan_facts (scan)->geometry.pixel_width_mm, ==, 0.25);
    g_assert_cmpfloat (td_scan_facts (scan)->geometry.pixel_height_mm, ==, 0.25);
  }
}

/* Another geometry than a scanner's own description wants angles that go with it. */
static void
test_described_otherwise (void)
{
  static const char circle[]
      = "{\"beam\": \"cone\", \"source_axis_mm\": 100, \"source_detector_mm\": 300}";

  for (guint kind = 0; kind < 2; kind++) {
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autofree char *file = test_folder_file (folder, "own.json");
    g_autofree char *described = test_folder_file (folder, kinds[kind].file);
    TdScanOptions options = { .geometry = file, .pixel_mm = 0.5 };
    g_autoptr (GError) error = NULL;
    gsize size;
    g_autofree char *bytes = sound_file (kind, &size);

    make_stack (folder);
    write_file (folder, kinds[kind].file, bytes, size);
    write_file (folder, "own.json", circle, strlen (circle));
    g_assert_null (open_any (described, &options, &error));
    test_assert_sentence (error, "--angles");
    g_clear_error (&error);
    options.angles = "0:300";
    g_autoptr (TdScan) scan = open_any (described, &options, &error);
    g_assert_no_error (error);
    g_assert_cmpfloat_with_epsilon (td_scan_facts (scan)->angles_rad[1], G_PI / 3, 1e-9);
  }
}

/* What is said otherwise, in another place or of other ends of lines, is the same. */
static void
test_said_otherwise (void)
{
  static const struct {
    guint kind;
    const char *from, *to;
    double turned_rad; /* from the first view to the second */
  } same[] = {
    { 0, "AngularStep=60", "AngularStep = 60,0", G_PI / 3 },
    { 0, "AngularStep=60", "AngularStep=60\nAngularStep=60", G_PI / 3 },
    { 0, "ObjectRoll=0.5\n", "ObjectRoll=\n", G_PI / 3 },
    { 1, "Rotation Direction=CC", "", -G_PI / 3 },
    { 1, "Rotation Direction=CC", "Rotation Direction=CW", G_PI / 3 },
    { 1, "Rotation Direction=CC", "Gantry direction=CW", G_PI / 3 },
    { 1, "Rotation Direction=CC", "Gantry direction=CW\nRotation Direction=CC", -G_PI / 3 },
    { 1, "Number of Columns=20\n", "", -G_PI / 3 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (same); i++)
    for (guint ends = 0; ends < 3; ends++) {
      static const char *const end[] = { "\n", "\r\n", "\r" };
      g_autoptr (TestFolder) folder = test_folder_new ();
      g_autoptr (GError) error = NULL;
      gsize size;
      g_autofree char *bytes = sound_file (same[i].kind, &size);
      g_autofree char *text = replace (bytes, same[i].from, same[i].to);
      g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
      g_autofree char *ended = g_strjoinv (end[ends], lines);

      make_stack (folder);
      write_file (folder, kinds[same[i].kind].file, ended, strlen (ended));
      g_autoptr (TdScan) scan = open_kind (folder, same[i].kind, FALSE, &error);
      g_assert_no_error (error);
      const TdScanFacts *facts = td_scan_facts (scan);
      g_assert_cmpfloat_with_epsilon (facts->angles_rad[1] - facts->angles_rad[0],
                                      same[i].turned_rad, 1e-9);
      if (same[i].kind == 1) /* Postalignment, whatever the log says of columns */
        g_assert_cmpfloat_with_epsilon (facts->geometry.detector_offset_u_px, 0.5, 1e-9);
    }
}

/* What a log says of its images and nothing is done about. */
static void
test_told (void)
{
  static const struct {
    const char *line, *says;
    gboolean told;
  } cases[] = {
    { "Use 360 Rotation=YES", "Use 360 Rotation", FALSE },
    { "Use 360 Rotation=YES\nRotation Step (deg)=40", "Use 360 Rotation", TRUE },
    { "Number of connected scans=1", "connected", FALSE },
    { "Number of connected scans=3", "connected", TRUE },
    { "Number Of Horizontal Offset Positions=2", "side by side", TRUE },
    { "Image Rotation=0.01", "Image Rotation", FALSE },
    { "Image Rotation=-2.5", "Image Rotation", TRUE },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autoptr (GError) error = NULL;
    g_autofree char *text
        = replace (skyscan,
                   strstr (cases[i].line, "Rotation Step") ? "Rotation Step (deg)=60"
                                                           : "Rotation Direction=CC",
                   cases[i].line);

    make_stack (folder);
    write_file (folder, kinds[1].file, text, strlen (text));
    g_autoptr (TdScan) scan = open_kind (folder, 1, FALSE, &error);
    g_assert_no_error (error);
    g_autofree char *notes = td_messages_join (td_scan_facts (scan)->notes, "\n", NULL);
    g_test_message ("%s", cases[i].line);
    g_assert_cmpint (strstr (notes, cases[i].says) != NULL, ==, cases[i].told);
  }
}

/* Windows' programs write names in letters of either case. */
static void
test_named_alike (void)
{
  static const struct {
    guint kind;
    const char *file, *opened, *beside; /* opened: NULL: the folder; beside: of the same name */
  } named[] = {
    { 0, "part.XTEKCT", "part.XTEKCT", NULL },
    { 0, "PART.XtekCT", NULL, NULL },
    { 0, "Part.XTEKCT", "Part.XTEKCT", "PART.ANG" },
    { 0, "part.xtekct", "part.xtekct", "part_CTdata.TXT" },
    { 1, "part_.LOG", "part_.LOG", NULL },
    { 1, "PART_.Log", NULL, NULL },
    { 3, "GEOMETRY.JSON", "part_0001.tif", NULL },
    { FIPS, "part_PARAMETERS.JSON", "part_0001.tif", NULL },
    { FIPS, "Part_parameters.Json", NULL, NULL },
    { RABBITCT, "part.RCTD", "part.RCTD", NULL },
  };
  static const char measured[] = "1: 0\n2: 61\n3: 120\n4: 180\n5: 240\n6: 300\n";

  for (guint i = 0; i < G_N_ELEMENTS (named); i++) {
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autoptr (GError) error = NULL;
    const TdScanOptions options = { .angles = named[i].kind == FIPS ? "0:300" : NULL,
                                    .pixel_mm = named[i].kind == 3 ? 0.5 : 0 };
    gsize size;
    g_autofree char *bytes = sound_file (named[i].kind, &size);
    g_autofree char *opened
        = named[i].opened ? test_folder_file (folder, named[i].opened) : g_strdup (folder->path);

    g_test_message ("%s", named[i].file);
    make_stack (folder);
    if (named[i].beside)
      write_file (folder, named[i].beside, measured, strlen (measured));
    if (named[i].kind < 2 && !named[i].opened) { /* the images go by the description's own name */
      char *unsaid = replace (bytes, named[i].kind == 1 ? "=part_" : "=part", "=");
      g_free (bytes);
      bytes = unsaid;
      size = strlen (bytes);
    }
    write_file (folder, named[i].file, bytes, size);
    g_autoptr (TdScan) scan = open_any (opened, &options, &error);
    g_assert_no_error (error);
    const TdScanFacts *facts = td_scan_facts (scan);
    g_assert_cmpint (facts->geometry.beam, ==, TD_BEAM_CONE);
    if (named[i].beside)
      g_assert_cmpfloat_with_epsilon (facts->angles_rad[1] - facts->angles_rad[0], 61 * G_PI / 180,
                                      1e-9);
  }
}

/* ── CTSimU ── */

static const char ctsimu_metadata[]
    = "{\"file\": {\"file_type\": \"CTSimU Metadata\"}, \"output\": {\"projections\": {\n"
      "\"filename\": \"p.raw\", \"number\": 6, \"datatype\": \"uint16\", \"byteorder\": "
      "\"little\", \"max_intensity\": 60000,\n"
      "\"dimensions\": {\"x\": {\"value\": 20}, \"y\": {\"value\": 10}},\n"
      "\"pixelsize\": {\"x\": {\"value\": 0.5, \"unit\": \"mm\"}, "
      "\"y\": {\"value\": 0.5, \"unit\": \"mm\"}},\n"
      "\"dark_field\": {\"number\": 1, \"filename\": \"d.raw\"},\n"
      "\"flat_field\": {\"number\": 1, \"filename\": \"f.raw\", \"projections_corrected\": "
      "false}},\n"
      "\"tomogram\": {\"dimensions\": {\"x\": {\"value\": 20}, \"y\": {\"value\": 20}, "
      "\"z\": {\"value\": 10}},\n"
      "\"voxelsize\": {\"x\": {\"value\": 0.2, \"unit\": \"mm\"}, "
      "\"y\": {\"value\": 0.2, \"unit\": \"mm\"}, \"z\": {\"value\": 0.2, \"unit\": "
      "\"mm\"}}}},\n"
      "\"acquisition_geometry\": {\"path_to_CTSimU_JSON\": \"s.json\"}}";
static const char ctsimu_scenario[]
    = "{\"geometry\": {\n"
      "\"detector\": {\"center\": {\"x\": {\"value\": 300}, \"y\": {\"value\": 0}, \"z\": "
      "{\"value\": 0}},\n"
      "\"vector_u\": {\"x\": {\"value\": 0}, \"y\": {\"value\": -1}, \"z\": {\"value\": 0}},\n"
      "\"vector_w\": {\"x\": {\"value\": 1}, \"y\": {\"value\": 0}, \"z\": {\"value\": 0}}},\n"
      "\"source\": {\"type\": \"cone\", \"center\": {\"x\": {\"value\": 0}, \"y\": "
      "{\"value\": 0}, \"z\": {\"value\": 0}},\n"
      "\"vector_u\": {\"x\": {\"value\": 0}, \"y\": {\"value\": -1}, \"z\": {\"value\": 0}},\n"
      "\"vector_w\": {\"x\": {\"value\": 1}, \"y\": {\"value\": 0}, \"z\": {\"value\": 0}}},\n"
      "\"stage\": {\"center\": {\"x\": {\"value\": 100}, \"y\": {\"value\": 0}, \"z\": "
      "{\"value\": 0, \"drifts\": []}},\n"
      "\"vector_u\": {\"y\": {\"value\": 0}, \"x\": {\"value\": 1}, \"z\": {\"value\": 0}},\n"
      "\"vector_w\": {\"x\": {\"value\": 0}, \"y\": {\"value\": 0}, \"z\": {\"value\": "
      "1}}}},\n"
      "\"detector\": {\"columns\": {\"value\": 20}, \"rows\": {\"value\": 10},\n"
      "\"pixel_pitch\": {\"u\": {\"value\": 500, \"unit\": \"um\"}, \"v\": {\"value\": 0.5, "
      "\"unit\": \"mm\"}}},\n"
      "\"acquisition\": {\"start_angle\": {\"value\": 0, \"unit\": \"deg\"},\n"
      "\"stop_angle\": {\"value\": 360, \"unit\": \"deg\"}, \"direction\": \"CCW\",\n"
      "\"number_of_projections\": 6, \"include_final_angle\": false}}";

/* Its files in @folder. */
static void
make_ctsimu (const TestFolder *folder, const char *name, const char *metadata, const char *scenario)
{
  g_autofree guint16 *samples = g_new0 (guint16, VIEWS * COLUMNS * ROWS);
  const gsize frame = sizeof *samples * COLUMNS * ROWS;

  write_file (folder, "p.raw", (const char *) samples, VIEWS * frame);
  write_file (folder, "f.raw", (const char *) samples, frame);
  write_file (folder, "d.raw", (const char *) samples, frame);
  write_file (folder, "s.json", scenario, strlen (scenario));
  write_file (folder, name, metadata, strlen (metadata));
}

static TdScan *
open_ctsimu (const char *metadata, const char *scenario, GError **error)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  static guint opened;
  const char *name = opened++ % 2 ? "p_METADATA.Json" : "p_metadata.json";
  g_autofree char *path = test_folder_file (folder, name);

  make_ctsimu (folder, name, metadata, scenario);
  return open_any (path, NULL, error);
}

/* One change to either file makes a sentence, not another volume. */
static void
test_ctsimu (void)
{
  static const struct {
    gboolean scenario;
    const char *from, *to;
    const char *says; /* part of the sentence; NULL: it is a scan all the same */
  } changes[] = {
    { FALSE, "output", "output", NULL },
    { FALSE, "\"little\"", "\"LITTLE\"", NULL },
    { FALSE, "\"little\"", "\"network\"", "byteorder" },
    { FALSE, "\"number\": 6", "\"number\": \"6\"", "projections/number" },
    { FALSE, "\"dark_field\": {\"number\": 1", "\"dark_field\": {\"number\": \"1\"",
      "dark_field/number" },
    { FALSE, "\"dark_field\": {\"number\": 1,", "\"dark_field\": {", "dark_field/number" },
    { FALSE, "\"dark_field\": {\"number\": 1", "\"dark_field\": {\"number\": 0", NULL },
    { FALSE, "\"f.raw\"", "3", "flat_field/filename" },
    { FALSE, "corrected\": false", "corrected\": \"no\"", "projections_corrected" },
    { FALSE, "60000", "\"much\"", NULL },
    { FALSE, "0.5, \"unit\": \"mm\"", "0.5, \"unit\": \"px\"", "pixelsize/x" },
    { FALSE, "0.5, \"unit\": \"mm\"", "0.5, \"unit\": 3", "pixelsize/x" },
    { FALSE, "0.5, \"unit\": \"mm\"", "0.5, \"unit\": \"um\"", "another detector" },
    { FALSE, "0.5, \"unit\": \"mm\"", "-0.5, \"unit\": \"mm\"", "pixelsize" },
    { FALSE, "0.2, \"unit\": \"mm\"", "0.4, \"unit\": \"mm\"", "cubes" },
    { FALSE, "0.2, \"unit\": \"mm\"", "0.2, \"unit\": \"inch\"", "voxelsize/x" },
    { TRUE, "\"drifts\": []", "\"drifts\": [{\"value\": [-1, 1]}]", "drift" },
    { FALSE, "\"f.raw\"", "\".\\\\f.raw\"", NULL },
    { FALSE, "\"p.raw\"", "\"p_%x.raw\"", "/p_%x.raw" },
    { FALSE, "\"p.raw\"", "\"p_%s%d.raw\"", "/p_%s%d.raw" },
    { FALSE, "\"p.raw\"", "\"p_%1d.raw\"", "/p_5.raw" },
    { FALSE, "\"p.raw\"", "\"p_%012d.raw\"", "/p_000000000005.raw" },
    { FALSE, "\"p.raw\"", "\"p_%20d.raw\"", "/p_00000000000000000005.raw" },
    { FALSE, "\"p.raw\"", "\"p_%21d.raw\"", "/p_%21d.raw" },
    { TRUE, "\"stage\": {", "\"stage\": {\"deviations\": [{\"type\": 1}], ", "deviations" },
    { TRUE, "\"stage\": {", "\"stage\": {\"deviations\": [], ", NULL },
    { TRUE, "\"source\": {", "\"source\": {\"deviations\": 7, ", "deviations" },
    { FALSE, "\"s.json\"", "\".\\\\s.json\"", NULL },
    { TRUE, "\"vector_w\": {\"x\": {\"value\": 1}, \"y\": {\"value\": 0}",
      "\"vector_w\": {\"x\": {\"value\": 1}, \"y\": {\"value\": 0.05}", "of the detector are not" },
    { TRUE, "\"cone\"", "\"fan\"", "source/type" },
    { TRUE, "\"columns\": {\"value\": 20", "\"columns\": {\"value\": 40", "another detector" },
    { TRUE, "\"um\"", "\"ym\"", "pixel_pitch/u" },
    { TRUE, "\"CCW\"", "\"left\"", "direction" },
    { TRUE, "\"direction\": \"CCW\",", "", "direction" },
    { TRUE, "\"value\": 360", "\"value\": -360", "start_angle" },
    { TRUE, "\"include_final_angle\": false", "\"include_final_angle\": 0", "include_final" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (changes); i++) {
    g_autofree char *metadata = g_strdup (ctsimu_metadata), *scenario = g_strdup (ctsimu_scenario);
    char **changed = changes[i].scenario ? &scenario : &metadata;
    g_autofree char *before = *changed;
    g_autoptr (GError) error = NULL;

    *changed = replace (before, changes[i].from, changes[i].to);
    g_test_message ("%s for %s", changes[i].to, changes[i].from);
    g_autoptr (TdScan) scan = open_ctsimu (metadata, scenario, &error);
    if (changes[i].says)
      test_assert_sentence (error, changes[i].says);
    else
      g_assert_no_error (error);
    g_assert_true (!scan == (changes[i].says != NULL));
  }
}

/* Slices lie in the stage, wherever its u points; images that were binned have larger pixels; and
   what is corrected already is not corrected again. */
static void
test_ctsimu_facts (void)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *turned
      = replace (ctsimu_scenario, "\"y\": {\"value\": 0}, \"x\": {\"value\": 1}",
                 "\"y\": {\"value\": 2}, \"x\": {\"value\": 0}");
  g_autoptr (TdScan) stage = open_ctsimu (ctsimu_metadata, turned, &error);
  g_assert_no_error (error);
  g_assert_cmpfloat_with_epsilon (td_scan_facts (stage)->angles_rad[0], -G_PI / 2, 1e-12);
  g_assert_cmpfloat_with_epsilon (td_scan_facts (stage)->angles_rad[1], -G_PI / 2 - G_PI / 3,
                                  1e-12);

  static const char raised_from[] = "\"z\": {\"value\": 0, \"drifts\": []}";
  g_autofree char *raised
      = replace (ctsimu_scenario, raised_from, "\"z\": {\"value\": -4.5, \"unit\": \"mm\"}");
  g_autoptr (TdScan) lower = open_ctsimu (ctsimu_metadata, raised, &error);
  g_assert_no_error (error);
  g_assert_false (td_geometry_has_volume (&td_scan_facts (lower)->geometry));
  g_autofree char *notes = td_messages_join (td_scan_facts (lower)->notes, "\n", NULL);
  g_assert_nonnull (strstr (notes, "stands -4.5 mm along its axis"));
  g_assert_true (td_geometry_has_volume (&td_scan_facts (stage)->geometry));

  g_autofree char *columns
      = replace (ctsimu_scenario, "\"columns\": {\"value\": 20", "\"columns\": {\"value\": 40");
  g_autofree char *unsaid = replace (ctsimu_metadata, "\"pixelsize\"", "\"nothing\"");
  g_autoptr (TdScan) binned = open_ctsimu (unsaid, columns, &error);
  g_assert_no_error (error);
  g_assert_cmpfloat_with_epsilon (td_scan_facts (binned)->geometry.pixel_width_mm, 1, 1e-12);
  g_assert_cmpfloat_with_epsilon (td_scan_facts (binned)->geometry.pixel_height_mm, 0.5, 1e-12);

  g_autofree char *done = replace (ctsimu_metadata, "corrected\": false", "corrected\": true");
  g_autoptr (TdScan) corrected = open_ctsimu (done, ctsimu_scenario, &error);
  g_assert_no_error (error);
  const TdScanFacts *facts = td_scan_facts (corrected);
  float flat[COLUMNS];
  g_assert_cmpuint (facts->n_flats, ==, 1);
  g_assert_cmpuint (facts->n_darks, ==, 0);
  g_assert_cmpfloat (facts->white_level, ==, 60000);
  td_scan_read (corrected, &(TdFrameRange) { TD_FRAME_FLAT, 0, 1, 0, 1 }, flat, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpfloat (flat[3], ==, 60000);
}

/* Files of frames are counted from any number that CTSimU begins with, and all that are stated must
   be there. */
static void
test_ctsimu_files (void)
{
  static const char *const patterns[] = { "p_%04d.raw", "p%d.raw" };
  g_autofree guint16 *samples = g_new0 (guint16, COLUMNS * ROWS);

  for (guint i = 0; i < G_N_ELEMENTS (patterns); i++)
    for (guint first = 0; first < 3; first++)
      for (guint lost = 0; lost <= VIEWS; lost++) { /* counted from 0; VIEWS: none */
        g_autoptr (TestFolder) folder = test_folder_new ();
        g_autofree char *path = test_folder_file (folder, "p_metadata.json");
        g_autofree char *metadata = replace (ctsimu_metadata, "p.raw", patterns[i]);
        g_autoptr (GError) error = NULL;

        make_ctsimu (folder, "p_metadata.json", metadata, ctsimu_scenario);
        for (guint view = 0; view < VIEWS; view++) {
          const guint number = first + view;
          g_autofree char *name = i == 0 ? g_strdup_printf ("p_%04u.raw", number)
                                         : g_strdup_printf ("p%u.raw", number);
          samples[0] = (guint16) (100 + view);
          if (view != lost)
            write_file (folder, name, (const char *) samples, sizeof *samples * COLUMNS * ROWS);
        }
        g_autoptr (TdScan) scan = open_any (path, NULL, &error);
        g_assert_cmpint (scan != NULL, ==, lost == VIEWS && first < 2);
        for (guint view = 0; scan && view < VIEWS; view++) {
          float row[COLUMNS];
          g_assert_true (td_scan_read (scan, &(TdFrameRange) { TD_FRAME_PROJECTION, view, 1, 0, 1 },
                                       row, NULL, NULL));
          g_assert_cmpfloat (row[0], ==, 100 + view);
        }
      }
}

/* A scan whose scenario is not there, or is none, is none. */
static void
test_ctsimu_scenarios (void)
{
  static const char *const texts[]
      = { NULL, "", "{", "[]", "null", "{}", "7", "{\"geometry\": []}" };

  for (guint i = 0; i < G_N_ELEMENTS (texts); i++) {
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autofree char *path = test_folder_file (folder, "p_metadata.json");
    g_autofree char *scenario = test_folder_file (folder, "s.json");
    g_autoptr (GError) error = NULL;

    make_ctsimu (folder, "p_metadata.json", ctsimu_metadata, ctsimu_scenario);
    g_assert_cmpint (g_remove (scenario), ==, 0);
    if (texts[i])
      write_file (folder, "s.json", texts[i], strlen (texts[i]));
    g_autoptr (TdScan) scan = td_scan_open (path, NULL, NULL, &error);
    g_assert_null (scan);
    g_assert_nonnull (strstr (error->message, "s.json"));
  }
}

/* What a scanner left undone is told. */
static void
test_uncorrected (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();

  make_stack (folder);
  for (guint off = 0; off < 2; off++) {
    g_autofree char *text
        = replace (skyscan, "Depth",
                   off ? "Flat Field Correction=OFF\nDepth" : "Flat Field Correction=ON\nDepth");
    g_autoptr (GError) error = NULL;

    write_file (folder, kinds[1].file, text, strlen (text));
    g_autoptr (TdScan) scan = open_kind (folder, 1, FALSE, &error);
    g_assert_no_error (error);
    g_autofree char *notes = td_messages_join (td_scan_facts (scan)->notes, "\n", NULL);
    g_assert_cmpint (strstr (notes, "Flat Field Correction=OFF") != NULL, ==, off);
  }
}

/* Matrices leave nothing open that options could state. */
static void
test_stated_twice (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *text = table_text (TRUE), *file = test_folder_file (folder, "geometry.json");
  g_autofree char *stack = test_folder_file (folder, "part_0001.tif");
  TdScanOptions options
      = { .geometry = file, .pixel_mm = 0.5, .source_axis_mm = 200, .source_detector_mm = 300 };
  g_autoptr (GError) error = NULL;

  make_stack (folder);
  write_file (folder, "geometry.json", text, strlen (text));
  g_assert_null (open_any (stack, &options, &error));
  test_assert_sentence (error, "--sod-mm");
  g_clear_error (&error);
  options.source_axis_mm = options.source_detector_mm = 0;
  g_autoptr (TdScan) scan = open_any (stack, &options, &error);
  g_assert_no_error (error);
  g_assert_cmpfloat_with_epsilon (td_scan_facts (scan)->geometry.source_axis_mm, 100, 1e-6);
  g_assert_cmpfloat_with_epsilon (td_scan_facts (scan)->geometry.source_detector_mm, 300, 1e-6);
}

/* Angles that somebody states are of no use beside matrices, which is told. */
static void
test_angles_beside (gconstpointer data)
{
  const guint kind = GPOINTER_TO_UINT (data);
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *file = test_folder_file (folder, kinds[kind].file);
  g_autofree char *stack = test_folder_file (folder, "part_0001.tif");
  const gboolean own = kind == RABBITCT;
  gsize size;
  g_autofree char *bytes = sound_file (kind, &size);

  make_stack (folder);
  write_file (folder, kinds[kind].file, bytes, size);
  for (guint stated = 0; stated < 2; stated++) {
    const TdScanOptions options
        = { .geometry = own ? NULL : file, .pixel_mm = 0.5, .angles = stated ? "0:50" : NULL };
    g_autoptr (GError) error = NULL;
    g_autoptr (TdScan) scan = open_any (own ? file : stack, &options, &error);
    g_assert_no_error (error);
    g_autofree char *notes = td_messages_join (td_scan_facts (scan)->notes, "\n", NULL);
    if (stated)
      g_assert_nonnull (strstr (notes, "The angles are those of the projection matrices"));
    g_assert_cmpfloat_with_epsilon (
        fabs (td_scan_facts (scan)->angles_rad[1] - td_scan_facts (scan)->angles_rad[0]), G_PI / 3,
        1e-6);
  }
}

/* Where the axis is seen follows from what is stated beside a geometry, as all else of it does.
 */
static void
test_stated_beside (void)
{
  static const char circle[]
      = "{\"beam\": \"cone\", \"source_axis_mm\": 100, \"source_detector_mm\": 300, "
        "\"pixel_width_mm\": 0.5, \"pixel_height_mm\": 0.5, \"axis_offset_mm\": 0.75, "
        "\"detector_offset_u_px\": 0.5}";
  static const struct {
    double pixel_mm, source_axis_mm, source_detector_mm;
  } stated[] = { { 0, 0, 0 }, { 1, 0, 0 }, { 0, 150, 300 }, { 0.25, 150, 400 } };

  /* A geometry found beside the images, one that is named, and one of mirrored images. */
  for (guint kind = 0; kind < 3; kind++) {
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autofree char *stack = test_folder_file (folder, "part_0001.tif");
    g_autofree char *named = test_folder_file (folder, "named.json");
    g_autofree char *described = test_folder_file (folder, kinds[0].file);
    g_autofree char *upright = replace (nikon, "ObjectTilt=0.25", "ObjectTilt=0");

    make_stack (folder);
    if (kind == 2)
      write_file (folder, kinds[0].file, upright, strlen (upright));
    else
      write_file (folder, kind ? "named.json" : "geometry.json", circle, strlen (circle));
    for (guint i = 0; i < G_N_ELEMENTS (stated); i++) {
      const TdScanOptions options = { .geometry = kind == 1 ? named : NULL,
                                      .angles = kind == 2 ? NULL : "0:300",
                                      .pixel_mm = stated[i].pixel_mm,
                                      .source_axis_mm = stated[i].source_axis_mm,
                                      .source_detector_mm = stated[i].source_detector_mm };
      g_autoptr (GError) error = NULL;
      g_autoptr (TdScan) scan = open_any (kind == 2 ? described : stack, &options, &error);
      g_assert_no_error (error);
      const TdScanFacts *facts = td_scan_facts (scan);
      const TdGeometry *g = &facts->geometry;
      const double magnified = g->source_detector_mm / (g->source_axis_mm * g->pixel_width_mm);
      g_assert_cmpfloat (fabs (g->axis_offset_mm), >, 0);
      g_assert_cmpfloat_with_epsilon (
          facts->centre_px,
          (COLUMNS - 1) / 2.0 + g->detector_offset_u_px + g->axis_offset_mm * magnified, 1e-9);
    }
  }
}

/* A geometry in millimetres needs the pixel's size, and a missing file is named. */
static void
test_missing (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *text = rtk_text (), *file = test_folder_file (folder, "geometry.xml");
  g_autofree char *stack = test_folder_file (folder, "part_0001.tif");
  TdScanOptions options = { .geometry = file };
  g_autoptr (GError) error = NULL;

  make_stack (folder);
  g_assert_null (open_any (stack, &options, &error));
  test_assert_sentence (error, "geometry.xml");
  g_assert_error (error, TD_ERROR, TD_ERROR_NOT_FOUND);
  g_clear_error (&error);
  write_file (folder, "geometry.xml", text, strlen (text));
  g_assert_null (open_any (stack, &options, &error));
  test_assert_sentence (error, "--pixel-mm");
  g_clear_error (&error);
  options.geometry = folder->path;
  g_assert_null (open_any (stack, &options, &error));
  test_assert_sentence (error, "no geometry file");
  g_clear_error (&error);
  options.geometry = stack; /* an image */
  g_assert_null (open_any (stack, &options, &error));
  test_assert_sentence (error, NULL);
}

/* ── Every number and every key ── */

/* What a number becomes: so many times itself; or, where it is 0, one of these. */
static const double otherwise[] = { 0, -1, 1.004, 1.06, 2.5 };
static const double instead_of_zero[] = { 1, -1, 40 };

/* A sound text of which each number is another one for once, and then each line or key is left
   out. */
typedef struct {
  const char *name;
  guint kind;       /* of kinds */
  const char *text; /* NULL: CTSimU's metadata, or its scenario */
  guint most;       /* so many of its numbers; 0: all */
  const char *beside, *beside_text;
  gboolean scenario, numbers_only;
} Varied;

static const char nikon_whole[]
    = "[XTekCT]\nName=part\nProjections=6\nWhiteLevel=60000\nDetectorPixelsX=20\n"
      "DetectorPixelsY=10\nDetectorPixelSizeX=0.5\nDetectorPixelSizeY=0.4\nSrcToObject=100\n"
      "SrcToDetector=300\nInitialAngle=20\nAngularStep=60\nObjectOffsetX=0.1\nObjectRoll=0.5\n"
      "DetectorOffsetX=0.3\nDetectorOffsetY=-0.2\nVoxelsX=20\nVoxelsY=21\nVoxelsZ=11\n"
      "VoxelSizeX=0.15\nVoxelSizeY=0.15\nVoxelSizeZ=0.15\nOffsetX=0\nOffsetY=0\nOffsetZ=0\n";
static const char nikon_old[]
    = "[XTekCT]\nName=part\nProjections=6\nDetectorPixelsX=20\nDetectorPixelsY=10\n"
      "DetectorPixelSizeX=0.5\nDetectorPixelSizeY=0.4\nSrcToObject=100\nSrcToDetector=300\n"
      "AngularStep=-60\nCentreOfRotationTop=0.6\nCentreOfRotationBottom=0.4\n";
static const char measured_text[]
    = "view angle\n1: 10\n2: 70.5\n3: 129\n4: 190\n5: 250.25\n6: 310\n";
static const char skyscan_whole[]
    = "[System]\nScanner=SkyScan1172\nCamera Pixel Size (um)=225\nCameraXYRatio=1.01\n"
      "[Acquisition]\nFilename Prefix=part_\nNumber of Files=6\nNumber of Rows=10\n"
      "Number of Columns=20\nOptical Axis (line)=5\nCamera binning=2x2\n"
      "Object to Source (mm)=100\nCamera to Source (mm)=300\nImage Pixel Size (um)=150\n"
      "Depth (bits)=16\nReference Intensity=61000\nRotation Step (deg)=60\n"
      "Use 360 Rotation=YES\nRotation Direction=CW\nNumber of connected scans=1\n"
      "Number Of Horizontal Offset Positions=1\nImage Rotation=1.2\n[Reconstruction]\n"
      "Postalignment=0.5\nPostalignment Applied=1\n";
static const char own_whole[]
    = "{\"beam\": \"cone\", \"pixel_width_mm\": 0.5, \"pixel_height_mm\": 0.4,\n"
      "\"source_axis_mm\": 100, \"source_detector_mm\": 300, \"detector_offset_u_px\": 0.5,\n"
      "\"detector_offset_v_px\": -1.5, \"axis_offset_mm\": 0.25, \"voxel_mm\": 0.15,\n"
      "\"detector_tilt_rad\": [0.01, -0.02, 0.03], \"volume_size\": [18, 19, 9]}";

static char *
rtk_whole (void)
{
  static const char more[]
      = "<SourceOffsetX>3</SourceOffsetX>\n<SourceOffsetY>-2</SourceOffsetY>\n"
        "<ProjectionOffsetX>1</ProjectionOffsetX>\n<ProjectionOffsetY>-0.5</ProjectionOffsetY>\n"
        "<InPlaneAngle>2</InPlaneAngle>\n<OutOfPlaneAngle>-1</OutOfPlaneAngle>\n"
        "<RadiusCylindricalDetector>0</RadiusCylindricalDetector>\n"
        "<CollimationUInf>2000000</CollimationUInf>\n<Projection>";
  g_autofree char *text = rtk_text ();

  return replace (text, "<Projection>", more);
}

static char *
table_whole (const char *key)
{
  g_autofree char *text = table_text (TRUE);
  g_autofree char *head = g_strconcat ("{\"columns\": 20, \"rows\": 10, \"pixel_mm\": 0.5,\n"
                                       "\"voxel_mm\": 0.2, \"volume_size\": [12, 14, 8],\n",
                                       key, NULL);

  return replace (text, "{\"matrices\"", head);
}

static char *
vectors_whole (void)
{
  GString *text = g_string_new ("# source, detector, columns, rows\n");

  for (guint view = 0; view < VIEWS; view++) {
    const double angle = 2 * G_PI * view / VIEWS, c = cos (angle), s = sin (angle);
    g_string_append_printf (text, "%.9g %.9g 1 %.9g %.9g 2 %.9g %.9g 0 0 0.01 -0.5\n", 100 * s,
                            -100 * c, -200 * s, 200 * c, 0.5 * c, 0.5 * s);
  }
  return g_string_free (text, FALSE);
}

static char **
open_varied (const TestFolder *folder, const Varied *varied, const char *text)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TdScan) scan = NULL;

  if (!varied->text) {
    g_autofree char *path = test_folder_file (folder, "p_metadata.json");
    write_file (folder, varied->scenario ? "s.json" : "p_metadata.json", text, strlen (text));
    scan = td_scan_open (path, NULL, NULL, &error);
  } else {
    const guint kind = varied->kind;
    const gboolean own = kind < 2; /* a scan of its own */
    const char *name = varied->beside ? varied->beside : kinds[kind].file;
    g_autofree char *file = test_folder_file (folder, kinds[kind].file);
    g_autofree char *stack = test_folder_file (folder, "part_0001.tif");
    const TdScanOptions options = { .geometry = own ? NULL : file,
                                    .pixel_mm = kind == 2 || kind == 4 ? 0.5 : 0,
                                    .angles = kind == 3 || kind == FIPS ? "0:300" : NULL };

    write_file (folder, name, text, strlen (text));
    scan = td_scan_open (own ? file : stack, &options, NULL, &error);
  }
  return td_test_opened_lines (scan, error);
}

/* Changes that come to the same are kept as one line. */
typedef struct {
  const char *label;
  GString *values;
  char *outcome; /* NULL: none yet */
} Kept;

static void
keep_outcome (Kept *kept, const char *value, char *outcome)
{
  if (kept->outcome && g_strcmp0 (kept->outcome, outcome) != 0) {
    td_test_pin ("%s%s → %s", kept->label, kept->values->str, kept->outcome);
    g_string_truncate (kept->values, 0);
  }
  if (value)
    g_string_append_printf (kept->values, "%s%s", kept->values->len ? ", " : "", value);
  g_free (kept->outcome);
  kept->outcome = outcome;
}

/* What stands before a number in its line. */
static char *
label_at (const char *text, const char *at)
{
  const char *from = at;

  while (from > text && from[-1] != '\n' && at - from < 32)
    from--;
  return g_strndup (from, at - from);
}

static void
vary_number (const TestFolder *folder, const Varied *varied, const char *text, const char *at,
             char *const *usual)
{
  char *end;
  const double number = g_ascii_strtod (at, &end);
  const guint n = number == 0 ? G_N_ELEMENTS (instead_of_zero) : G_N_ELEMENTS (otherwise);
  g_autofree char *label = label_at (text, at);
  g_autoptr (GString) values = g_string_new (NULL);
  Kept kept = { label, values, NULL };

  for (guint i = 0; i < n; i++) {
    const double value = number == 0 ? instead_of_zero[i] : otherwise[i] * number;
    g_autofree char *written = g_strdup_printf ("%.10g", value);
    g_autofree char *begin = g_strndup (text, at - text);
    g_autofree char *changed = g_strconcat (begin, written, end, NULL);
    g_auto (GStrv) lines = open_varied (folder, varied, changed);
    keep_outcome (&kept, written, td_test_opened_changes (lines, usual));
  }
  keep_outcome (&kept, NULL, NULL);
}

/* Lines that state something, or keys, that are not there. */
static void
leave_out (const TestFolder *folder, const Varied *varied, const char *text, char *const *usual)
{
  const gboolean json = strchr (text, '{') != NULL;

  for (const char *at = text; (at = strpbrk (at, json ? ":" : "\n")); at++) {
    const char *from = at - 1; /* "key": becomes "_key": */
    if (json && (at == text || *from != '"'))
      continue;
    while (from > text && from[-1] != (json ? '"' : '\n'))
      from--;
    g_autofree char *begin = g_strndup (text, from - text), *left = g_strndup (from, at - from);
    g_autofree char *changed
        = json ? g_strconcat (begin, "_", from, NULL) : g_strconcat (begin, at + 1, NULL);
    g_auto (GStrv) lines = open_varied (folder, varied, changed);
    g_autofree char *outcome = td_test_opened_changes (lines, usual);
    td_test_pin ("without %s → %s", g_strchomp (left), outcome);
  }
}

static void
test_varied (gconstpointer data)
{
  const Varied *varied = data;
  g_autoptr (TestFolder) outer = test_folder_new ();
  g_autofree char *path = test_folder_file (outer, INNER);
  const TestFolder inner = { path }, *folder = &inner;
  const char *text = varied->text       ? varied->text
                     : varied->scenario ? ctsimu_scenario
                                        : ctsimu_metadata;
  guint n = 0;

  g_assert_cmpint (g_mkdir (path, 0700), ==, 0);
  make_stack (folder);
  if (!varied->text)
    make_ctsimu (folder, "p_metadata.json", ctsimu_metadata, ctsimu_scenario);
  if (varied->beside)
    write_file (folder, kinds[varied->kind].file, varied->beside_text,
                strlen (varied->beside_text));
  g_auto (GStrv) usual = open_varied (folder, varied, text);
  for (guint i = 0; usual[i]; i++)
    td_test_pin ("as it is: %s", usual[i]);
  for (const char *at = text; *at && (varied->most == 0 || n < varied->most); at++) {
    char *end = NULL;

    if (at == text || !strchr ("=>:, [\t\n", at[-1])
        || !(g_ascii_isdigit (*at) || (*at == '-' && g_ascii_isdigit (at[1]))))
      continue;
    vary_number (folder, varied, text, at, usual);
    g_ascii_strtod (at, &end);
    at = end - 1;
    n++;
  }
  if (!varied->numbers_only)
    leave_out (folder, varied, text, usual);
}

static void
add_varied (void)
{
  static Varied cases[] = {
    { "nikon", 0, nikon_whole },
    { "nikon-tilted", 0, nikon, .numbers_only = TRUE },
    { "nikon-old", 0, nikon_old },
    { "nikon-measured", 0, measured_text, 0, "part.ang", nikon, .numbers_only = TRUE },
    { "skyscan", 1, skyscan_whole },
    { "rtk", 2, NULL, 12 },
    { "own", 3, own_whole },
    { "matrices", 3, NULL, 14 },
    { "vectors", 4, NULL, 12, .numbers_only = TRUE },
    { "fips", FIPS, fips },
    { "ctsimu", 0, NULL },
    { "ctsimu-scenario", 0, NULL, .scenario = TRUE },
  };
  static char *made[3];

  made[0] = rtk_whole (), made[1] = table_whole ("\"matrices\""), made[2] = vectors_whole ();
  cases[5].text = made[0], cases[7].text = made[1], cases[8].text = made[2];
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autofree char *name = g_strconcat ("/geometries/varied/", cases[i].name, NULL);
    g_test_add_data_func (name, &cases[i], test_varied);
  }
}

int
main (int argc, char **argv)
{
  static const struct {
    const char *what;
    GTestDataFunc function;
  } tests[] = { { "sound", test_sound },
                { "encoded", test_encoded },
                { "cut-short", test_cut_short },
                { "flipped", test_flipped } };

  g_test_init (&argc, &argv, NULL);
  for (guint t = 0; t < G_N_ELEMENTS (tests); t++)
    for (guint kind = 0; kind < N_KINDS; kind++) {
      g_autofree char *name
          = g_strdup_printf ("/geometries/%s/%s", tests[t].what, kinds[kind].name);
      g_test_add_data_func (name, GUINT_TO_POINTER (kind), tests[t].function);
    }
  g_test_add_func ("/geometries/contradictions", test_contradictions);
  g_test_add_func ("/geometries/said-otherwise", test_said_otherwise);
  g_test_add_func ("/geometries/told", test_told);
  g_test_add_func ("/geometries/named-alike", test_named_alike);
  g_test_add_func ("/geometries/ctsimu", test_ctsimu);
  g_test_add_func ("/geometries/ctsimu-facts", test_ctsimu_facts);
  g_test_add_func ("/geometries/ctsimu-files", test_ctsimu_files);
  g_test_add_func ("/geometries/ctsimu-scenarios", test_ctsimu_scenarios);
  g_test_add_func ("/geometries/foreign-matrices", test_foreign_matrices);
  g_test_add_func ("/geometries/vectors", test_vectors);
  g_test_add_func ("/geometries/missing", test_missing);
  g_test_add_func ("/geometries/own-keys", test_own_keys);
  g_test_add_func ("/geometries/rtk-elements", test_rtk_elements);
  g_test_add_func ("/geometries/rtk-matrices", test_rtk_matrices);
  g_test_add_func ("/geometries/bare-array", test_bare_array);
  g_test_add_func ("/geometries/on-side", test_on_side);
  g_test_add_func ("/geometries/table-keys", test_table_keys);
  g_test_add_func ("/geometries/square-pixel", test_square_pixel);
  g_test_add_func ("/geometries/described-otherwise", test_described_otherwise);
  g_test_add_func ("/geometries/uncorrected", test_uncorrected);
  g_test_add_func ("/geometries/stated-twice", test_stated_twice);
  g_test_add_func ("/geometries/stated-beside", test_stated_beside);
  g_test_add_data_func ("/geometries/angles-beside/text", GUINT_TO_POINTER (4), test_angles_beside);
  g_test_add_data_func ("/geometries/angles-beside/rabbitct", GUINT_TO_POINTER (RABBITCT),
                        test_angles_beside);
  g_test_add_func ("/geometries/proposed-volume", test_proposed_volume);
  add_varied ();
  return g_test_run ();
}
