/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Scans are found by their files' names, with their angles, measured ones among them. What could
   mean two things is refused. */
#include <glib/gstdio.h>
#include <math.h>
#include <sys/stat.h>
#include <time.h>

#include "dataset/angles.h"
#include "dataset/error.h"
#include "dataset/frame-names.h"
#include "dataset/phantom-scan.h"
#include "dataset/scan-private.h"
#include "dataset/scan-view.h"
#include "dataset/scan-writer.h"
#include "dataset/series.h"
#include "dataset/tiff-save.h"
#include "open-scan.h"
#include "test-folder.h"

#define COLUMNS 17u
#define ROWS 9u
#define VIEWS 12u

static void
save_frame (const TestFolder *folder, const char *name, guint width, guint height, guint16 value)
{
  g_autofree char *path = test_folder_file (folder, name), *parent = g_path_get_dirname (path);
  g_autofree guint16 *samples = g_new (guint16, width * height);
  TdTiffImage image = { width, height, TD_SAMPLE_UINT16, 0, NULL };

  g_assert_cmpint (g_mkdir_with_parents (parent, 0777), ==, 0);
  for (guint i = 0; i < width * height; i++)
    samples[i] = value;
  g_assert_true (td_tiff_save_single (path, name, &image, samples, NULL));
}

/* Files of @n views, called by @start and their numbers, whose samples are these numbers. */
static void
save_views (const TestFolder *folder, const char *start, guint n)
{
  for (guint view = 0; view < n; view++) {
    g_autofree char *name = g_strdup_printf ("%s%u.tif", start, view);
    save_frame (folder, name, COLUMNS, ROWS, (guint16) view);
  }
}

/* Layouts of the field's programs. @files are made with values 1, 2, 3 … in this order. Each digit
   of the last three is a value that must be found, in order; NULL: none. */
typedef struct {
  const char *name, *files, *opened;
  const char *projections, *flats, *darks;
} Found;

static const Found found[] = {
  { "natural-order", "a_9.tif a_10.tif a_2.tif", "", "312" },
  { "prefixes", "img_0000.tif img_0001.tif flat_0000.tif flat_0001.tif dark_0000.tif", "", "12",
    "34", "5" },
  { "sibling-folders",
    "tomo/t_0.tif tomo/t_1.tif Flat_Before/f_0.tif Flat_After/f_0.tif Dark/d_0.tif", "tomo", "12",
    "43", "5" },
  { "from-above", "tomo/t_0.tif tomo/t_1.tif flats/f_0.tif darks/d_0.tif", "", "12", "3", "4" },
  { "by-a-file", "tomo/t_0.tif tomo/t_1.tif tomo/other.tif ob/f_0.tif", "tomo/t_1.tif", "12", "4" },
  { "esrf", "scan0000.tif scan0001.tif scan0002.tif refHST0000.tif refHST0003.tif darkend0000.tif",
    "", "123", "45", "6" },
  { "muhrec", "proj_0001.tif proj_0002.tif ob_0001.tif dc_0001.tif", "", "12", "3", "4" },
  { "imbl" /* the Australian Synchrotron's */,
    "SAMPLE_0001.tif SAMPLE_0002.tif BG__BEFORE_0001.tif BG__AFTER_0001.tif DF__BEFORE_0001.tif",
    "", "12", "43", "5" },
  { "references",
    "scan/reference_bone_1.tif scan/reference_bone_2.tif References/r_1.tif background_1.tif",
    "scan", "12", "43" },
  { "half-turn", "t_0.tif t_1.tif t_180deg.tif", "", "12" },
  { "below", "run/raw_0.tiff run/raw_1.tiff ff_1.tif df_1.tif", "", "12", "3", "4" },
  { "of-the-first-scan", "A/t_0.tif A/t_1.tif A_flats/f_0.tif B/t_0.tif B/t_1.tif", "B", "45" },
  { "of-the-last-scan", "B/t_0.tif B/t_1.tif Z/t_0.tif Z/t_1.tif Z_flats/f_0.tif", "B", "12" },
  { "words", "left.tif right.tif", "", "12" },
};

/* @odd: the place of one of another size, counted from 1; 0: there is none. */
static void
save_files (const TestFolder *folder, const char *names, guint odd)
{
  g_auto (GStrv) files = g_strsplit (names, " ", -1);

  for (guint i = 0; files[i]; i++)
    save_frame (folder, files[i], COLUMNS, i + 1 == odd ? ROWS + 1 : ROWS, i + 1);
}

static void
check_values (TdScan *scan, TdFrameKind kind, const char *digits)
{
  for (guint i = 0; digits && digits[i]; i++)
    g_assert_cmpfloat (first_value (scan, kind, i), ==, g_ascii_digit_value (digits[i]));
}

static void
test_found (gconstpointer data)
{
  const Found *case_ = data;
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, case_->opened);
  TdScanOptions options = { .angles = "0:180" };

  save_files (folder, case_->files, 0);
  g_autoptr (TdScan) scan = open_scan (path, &options);
  const TdScanFacts *facts = td_scan_facts (scan);
  g_assert_cmpuint (facts->n_views, ==, strlen (case_->projections));
  g_assert_cmpuint (facts->n_flats, ==, case_->flats ? strlen (case_->flats) : 0);
  check_values (scan, TD_FRAME_PROJECTION, case_->projections);
  check_values (scan, TD_FRAME_FLAT, case_->flats);
  check_values (scan, TD_FRAME_DARK, case_->darks);
  g_assert_cmpuint (td_scan_extra_frames (scan), ==, strcmp (case_->name, "half-turn") == 0);
  if (strcmp (case_->name, "half-turn") == 0) {
    g_autoptr (TdScan) all = td_scan_with_extra (scan);
    g_assert_cmpuint (td_scan_facts (all)->n_views, ==, 3);
    g_assert_cmpfloat (td_scan_facts (all)->angles_rad[2], ==, G_PI);
    g_assert_cmpfloat (first_value (all, TD_FRAME_PROJECTION, 2), ==, 3);
    g_assert_cmpfloat (first_value (all, TD_FRAME_PROJECTION, 1), ==, 2);
  }
  if (strcmp (case_->name, "esrf") == 0) {
    g_assert_cmpfloat (facts->flat_positions[0], ==, 0);
    g_assert_cmpfloat (facts->flat_positions[1], ==, 3);
  }
  if (strcmp (case_->name, "sibling-folders") == 0) { /* in the order of their names */
    g_assert_cmpfloat (facts->flat_positions[0], ==, 2);
    g_assert_cmpfloat (facts->flat_positions[1], ==, 0);
  }
}

/* What must be refused, and which word the sentence must hold. */
typedef struct {
  const char *name, *files;
  guint odd; /* this file (counted from 1) is of another size */
  const char *opened, *angles, *mentioned;
  TdErrorCode code;
} Refused;

static const Refused refused[] = {
  { "no-angles", "a_0.tif a_1.tif", 0, "", NULL, "0:180", TD_ERROR_ANGLES },
  { "two-series", "a_0.tif a_1.tif b_0.tif b_1.tif", 0, "", "0:1", "a_#.tif",
    TD_ERROR_UNSUPPORTED },
  { "last-size", "a_0.tif a_1.tif a_2.tif", 3, "", "0:1", "a_2.tif", TD_ERROR_BAD_FILE },
  { "flat-size", "a_0.tif a_1.tif flat_0.tif", 3, "", "0:1", "flat_0.tif", TD_ERROR_BAD_FILE },
  { "only-flats", "flat_0.tif flat_1.tif", 0, "", "0:1", "no projections", TD_ERROR_NOT_FOUND },
  { "nothing", "", 0, "", "0:1", "no TIFF", TD_ERROR_NOT_FOUND },
  { "absent", "", 0, "scan.tif", "0:1", "scan.tif", TD_ERROR_NOT_FOUND },
  { "angle-file", "a_0.tif a_1.tif", 0, "", "none.txt", "none.txt", TD_ERROR_NOT_FOUND },
};

static void
test_refused (gconstpointer data)
{
  const Refused *case_ = data;
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, case_->opened);
  TdScanOptions options = { .angles = case_->angles };
  g_autoptr (GError) error = NULL;

  save_files (folder, case_->files, case_->odd);
  g_assert_null (td_scan_open (path, &options, NULL, &error));
  test_assert_sentence (error, case_->mentioned);
  g_assert_error (error, TD_ERROR, (int) case_->code);
}

/* No image of a stack is lost because the first file holds one only. */
static void
test_late_stack (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "a_1.tif");
  g_autofree guint16 *samples = g_new0 (guint16, COLUMNS * ROWS);
  const TdTiffImage image = { COLUMNS, ROWS, TD_SAMPLE_UINT16, 0, NULL };
  const TdScanOptions options = { .angles = "0:180" };

  save_frame (folder, "a_0.tif", COLUMNS, ROWS, 0);
  g_autoptr (TdTiffSave) save = td_tiff_save_new (path, "a_1.tif", &image, 5, FALSE, NULL);
  for (guint i = 0; i < 5; i++) {
    samples[0] = 10 + i;
    g_assert_true (td_tiff_save_image (save, i, samples, NULL));
  }
  g_assert_true (td_tiff_save_close (g_steal_pointer (&save), NULL));
  g_autoptr (TdScan) scan = open_scan (folder->path, &options);
  g_assert_cmpuint (td_scan_facts (scan)->n_views, ==, 6);
  g_assert_cmpfloat (first_value (scan, TD_FRAME_PROJECTION, 0), ==, 0);
  g_assert_cmpfloat (first_value (scan, TD_FRAME_PROJECTION, 5), ==, 14);
}

static void
save_stack (const TestFolder *folder, const char *name, guint n, guint16 value)
{
  g_autofree char *path = test_folder_file (folder, name);
  g_autofree guint16 *samples = g_new0 (guint16, COLUMNS * ROWS);
  const TdTiffImage image = { COLUMNS, ROWS, TD_SAMPLE_UINT16, 0, NULL };
  g_autoptr (TdTiffSave) save = td_tiff_save_new (path, name, &image, n, FALSE, NULL);

  for (guint i = 0; i < n; i++) {
    samples[0] = value + i;
    g_assert_true (td_tiff_save_image (save, i, samples, NULL));
  }
  g_assert_true (td_tiff_save_close (g_steal_pointer (&save), NULL));
}

static void
save_text (const TestFolder *folder, const char *name, const char *text)
{
  g_autofree char *path = test_folder_file (folder, name);

  g_assert_true (g_file_set_contents (path, text, -1, NULL));
}

/* A lone image with the angles of a turn, or its number of views, is a sinogram or lacks the other
   images. Nothing is reconstructed of it unasked. */
static void
test_lone_image (void)
{
  static const struct {
    const char *angles, *file, *text; /* @file beside the image */
  } cases[] = {
    { "0:360", NULL, NULL },
    { NULL, NULL, NULL },
    { NULL, "a_angles.txt", "0 1 2 3 4 5 6 7 8\n" },
    { "0:0", "a_parameters.json",
      "{\"distanceSourceOrigin\": 10, \"distanceSourceDetector\": 30, \"distanceUnit\": \"cm\", "
      "\"numberImages\": 9.0, \"pixelSizePost\": 0.05, \"numDetectorsPost\": 17.0}" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autofree char *path = test_folder_file (folder, "a_image.tif");
    TdScanOptions options = { .angles = cases[i].angles };
    g_autoptr (GError) error = NULL;

    save_frame (folder, "a_image.tif", COLUMNS, ROWS, 1);
    if (cases[i].file)
      save_text (folder, cases[i].file, cases[i].text);
    g_assert_null (td_scan_open (path, &options, NULL, &error));
    test_assert_sentence (error, "--sinograms");
    options.sinograms = TRUE;
    options.angles = "0:360";
    g_autoptr (TdScan) scan = open_scan (path, &options);
    g_assert_cmpuint (td_scan_facts (scan)->n_views, ==, ROWS);
    g_assert_cmpuint (td_scan_facts (scan)->n_rows, ==, 1);
  }
}

/* As many angles as images have rows: the images are sinograms, or were taken for such. */
static void
test_rows_for_views (void)
{
  static const struct {
    const char *angles; /* of a file; NULL: the range */
    gboolean sinograms;
    const char *says; /* NULL: nothing of the kind */
  } cases[] = {
    { "0 20 40 60 80 100 120 140 160\n", FALSE, "as many as" },
    { "0 0 0 0 20 40 40 40 40\n", FALSE, "as many as" }, /* three between two rests, too */
    { "0 20 40 60 80 100 120 140 160\n", TRUE, NULL },
    { "0 20 40\n", TRUE, "as many as" },
    { "0 20 40\n", FALSE, NULL },
    { "0 20 40 60\n", FALSE, "no rule tells" },
    { NULL, FALSE, "3 images of 13 rows are taken as views 90° apart; if they are sinograms" },
    { NULL, TRUE, NULL },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autofree char *angles = test_folder_file (folder, "turn.txt");
    TdScanOptions options
        = { .sinograms = cases[i].sinograms, .angles = cases[i].angles ? angles : "0:180" };
    g_autoptr (GError) error = NULL;

    for (guint k = 0; k < 3; k++) {
      g_autofree char *name = g_strdup_printf ("image_%04u.tif", k);
      save_frame (folder, name, COLUMNS, cases[i].angles ? ROWS : 13, k);
    }
    if (cases[i].angles)
      save_text (folder, "turn.txt", cases[i].angles);
    g_autoptr (TdScan) scan = td_scan_open (folder->path, &options, NULL, &error);
    if (cases[i].angles) {
      g_assert_cmpint (scan == NULL, ==, cases[i].says != NULL);
      if (cases[i].says)
        test_assert_sentence (error, cases[i].says);
      if (cases[i].says && strstr (cases[i].says, "many"))
        test_assert_sentence (error, "--sinograms");
      continue;
    }
    g_assert_no_error (error);
    g_autofree char *notes = td_messages_join (td_scan_facts (scan)->notes, "\n", NULL);
    g_assert_cmpint (notes && strstr (notes, "sinograms"), ==, cases[i].says != NULL);
    g_assert_true (!cases[i].says || strstr (notes, cases[i].says));
  }
}

/* The same where a scanner's own description states more projections than there are. */
static void
test_lone_described (void)
{
  static const struct {
    const char *file, *text;
  } cases[] = {
    { "part.xtekct", "[XTekCT]\nName=part\nProjections=721\nDetectorPixelsX=17\nDetectorPixelsY=9\n"
                     "DetectorPixelSizeX=0.5\nDetectorPixelSizeY=0.5\nSrcToObject=100\n"
                     "SrcToDetector=300\nInitialAngle=0\nAngularStep=0.5\n" },
    { "part_.log", "[System]\nScanner=SkyScan1172\nCamera Pixel Size (um)=11.2\n[Acquisition]\n"
                   "Filename Prefix=part_\nNumber of Files=721\nNumber of Rows=9\n"
                   "Number of Columns=17\nObject to Source (mm)=100\nCamera to Source (mm)=300\n"
                   "Image Pixel Size (um)=150\nRotation Step (deg)=0.5\n" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    for (guint n = 1; n <= 2; n++) {
      g_autoptr (TestFolder) folder = test_folder_new ();
      g_autofree char *path = test_folder_file (folder, cases[i].file);
      TdScanOptions options = { 0 };
      g_autoptr (GError) error = NULL;

      for (guint k = 0; k < n; k++)
        save_frame (folder, k ? "part_0002.tif" : "part_0001.tif", COLUMNS, ROWS, k);
      save_text (folder, cases[i].file, cases[i].text);
      g_assert_null (td_scan_open (path, &options, NULL, &error));
      test_assert_sentence (error, "721");
      g_clear_error (&error);
      options.angles = "0:10"; /* who states the angles of two views knows that there are two */
      g_autoptr (TdScan) scan = td_scan_open (path, &options, NULL, &error);
      g_assert_cmpint (scan != NULL, ==, n == 2);
    }
}

#define SMALL_NIKON                                                                                \
  "[XTekCT]\nName=part\nProjections=3\nDetectorPixelsX=17\nDetectorPixelsY=9\n"                    \
  "DetectorPixelSizeX=0.5\nDetectorPixelSizeY=0.5\nSrcToObject=100\nSrcToDetector=300\n"           \
  "InitialAngle=0\nAngularStep=120\n"

static void
save_small (const TestFolder *folder)
{
  save_frame (folder, "part_0001.tif", COLUMNS, ROWS, 10);
  save_frame (folder, "part_0002.tif", COLUMNS, ROWS, 20);
  save_frame (folder, "part_0003.tif", COLUMNS, ROWS, 30);
}

/* Two files of one number would be two views, and all behind them stand at others' angles. */
static void
test_same_number (void)
{
  static const char *const twice[] = { "part_2.tif", "PART_0002.tif", "part_0002.TIF" };
  const TdScanOptions options = { .angles = "0:180" };

  for (guint i = 0; i < 2 * G_N_ELEMENTS (twice); i++) {
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autofree char *first = test_folder_file (folder, "part_0001.tif");
    g_autoptr (GError) error = NULL;

    save_small (folder);
    save_frame (folder, twice[i / 2], COLUMNS, ROWS, 5);
    g_assert_null (td_scan_open (i % 2 ? first : folder->path, &options, NULL, &error));
    test_assert_sentence (error, "have the same number");
  }
}

/* Of images that a scanner corrected, what lies beside them corrects nothing unless it is named. */
static void
test_corrected_beside (void)
{
  static const struct {
    const char *file, *text;
    gboolean own; /* the flats that lie beside are taken */
  } cases[] = {
    { "part.xtekct", SMALL_NIKON "WhiteLevel=60000\n", FALSE },
    { "part.xtekct", SMALL_NIKON, TRUE }, /* the file does not say to what */
    { "part_.log",
      "[System]\nScanner=SkyScan1172\n[Acquisition]\nFilename Prefix=part_\nNumber of Files=3\n"
      "Image Pixel Size (um)=150\nRotation Step (deg)=120\nFlat Field Correction=ON\n",
      FALSE },
    { "part_.log",
      "[System]\nScanner=SkyScan1172\n[Acquisition]\nFilename Prefix=part_\nNumber of Files=3\n"
      "Image Pixel Size (um)=150\nRotation Step (deg)=120\nFlat Field Correction=OFF\n",
      TRUE },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    for (guint stated = 0; stated < 2; stated++) {
      g_autoptr (TestFolder) folder = test_folder_new ();
      g_autofree char *flat = test_folder_file (folder, "flat_1.tif");
      const TdScanOptions options = { .flats = stated ? flat : NULL };
      const gboolean taken = cases[i].own || stated;

      save_small (folder);
      save_frame (folder, "flat_1.tif", COLUMNS, ROWS, 40);
      save_frame (folder, "dark_1.tif", COLUMNS, ROWS, 1);
      save_text (folder, cases[i].file, cases[i].text);
      g_autoptr (TdScan) scan = open_scan (folder->path, &options);
      const TdScanFacts *facts = td_scan_facts (scan);
      g_autofree char *notes = td_messages_join (facts->notes, "\n", NULL);
      g_assert_cmpuint (facts->n_flats, ==, 1);
      g_assert_cmpuint (facts->n_darks, ==, cases[i].own ? 1 : 0);
      g_assert_true ((first_value (scan, TD_FRAME_FLAT, 0) == 40) == taken);
      g_assert_true ((strstr (notes, "corrected already") != NULL) == !cases[i].own);
    }
}

/* A folder with two descriptions of its images is not a folder with none. */
static void
test_two_descriptions (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *second = test_folder_file (folder, "second.xtekct");
  TdScanOptions options = { 0 };
  g_autoptr (GError) error = NULL;

  save_small (folder);
  save_text (folder, "part.xtekct", SMALL_NIKON);
  save_text (folder, "second.xtekct", SMALL_NIKON);
  g_assert_null (td_scan_open (folder->path, NULL, NULL, &error));
  test_assert_sentence (error, "second.xtekct");
  g_autoptr (TdScan) named = open_scan (second, NULL);
  g_assert_cmpint (td_scan_facts (named)->geometry.beam, ==, TD_BEAM_CONE);
  options.geometry = second;
  g_autoptr (TdScan) by_geometry = open_scan (folder->path, &options);
  g_assert_cmpint (td_scan_facts (by_geometry)->geometry.beam, ==, TD_BEAM_CONE);
}

#define SKYSCAN                                                                                    \
  "[System]\nScanner=SkyScan1172\n[Acquisition]\nFilename Prefix=part_\nNumber of Files=3\n"       \
  "Image Pixel Size (um)=10\nObject to Source (mm)=100\nCamera to Source (mm)=300\n"               \
  "Rotation Step (deg)=120\n"
#define NRECON SKYSCAN "[Reconstruction]\nPostalignment=1\nSections Count=4\nResult File Type=TIF\n"

/* NRecon's log of a volume repeats the scan's, and has an axis of its own. It counts only where the
   scan's is not there, and says nothing of the slices that are called like it. */
static void
test_result_log (void)
{
  for (guint i = 0; i < 4; i++) {
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autoptr (GError) error = NULL;

    if (i < 3)
      save_small (folder);
    if (i < 2)
      save_text (folder, "part_.log", SKYSCAN);
    if (i > 0)
      save_text (folder, "part__rec.log", NRECON);
    for (guint slice = 0; slice < 3 && i == 3; slice++) {
      g_autofree char *name = g_strdup_printf ("part__rec%04u.tif", slice);
      save_frame (folder, name, COLUMNS, ROWS, slice);
    }
    g_autoptr (TdScan) scan = td_scan_open (folder->path, NULL, NULL, &error);
    if (i == 3) {
      test_assert_sentence (error, "a volume that NRecon made");
      continue;
    }
    g_assert_no_error (error);
    const TdScanFacts *facts = td_scan_facts (scan);
    g_autofree char *notes = td_messages_join (facts->notes, "\n", NULL);
    g_assert_cmpuint (facts->n_views, ==, 3);
    g_assert_cmpfloat (facts->geometry.detector_offset_u_px, ==, i == 2);
    g_assert_cmpint (strstr (notes, "Postalignment") != NULL, ==, i == 2);
  }
}

/* A description of projections of another name says nothing of these. */
static void
test_described_others (void)
{
  static const struct {
    const char *file, *text;
  } files[] = {
    { "other.xtekct", SMALL_NIKON "InputSeparator=-\n" },
    { "other.log", "[System]\nScanner=SkyScan1172\n[Acquisition]\nFilename Prefix=other_\n" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (files); i++)
    for (guint whole = 0; whole < 2; whole++) {
      g_autoptr (TestFolder) folder = test_folder_new ();
      g_autofree char *image = test_folder_file (folder, "part_0002.tif"),
                      *file = test_folder_file (folder, files[i].file);
      const char *path = whole ? folder->path : image;
      TdScanOptions options = { 0 };
      g_autoptr (GError) error = NULL;

      save_small (folder);
      save_text (folder, files[i].file, files[i].text);
      g_assert_null (td_scan_open (path, &options, NULL, &error));
      test_assert_sentence (error, whole ? files[i].file : "--angles");
      g_assert_cmpint (strstr (error->message, "--geometry") != NULL, ==, whole);
      options.angles = "0:180";
      g_autoptr (TdScan) stated = open_scan (path, &options);
      g_autofree char *notes = td_messages_join (td_scan_facts (stated)->notes, "\n", NULL);
      g_assert_nonnull (strstr (notes, files[i].file));
      g_assert_cmpint (td_scan_facts (stated)->geometry.beam, ==, TD_BEAM_PARALLEL);
      options = (TdScanOptions) { .geometry = file };
      if (i > 0)
        continue;
      g_autoptr (TdScan) given = open_scan (path, &options);
      g_assert_cmpint (td_scan_facts (given)->geometry.beam, ==, TD_BEAM_CONE);
    }
}

/* An image opens its whole series, and what describes that. */
static void
test_described_image (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *image = test_folder_file (folder, "part_0002.tif");
  const TdScanOptions options = { .angles = "0:90" };

  save_small (folder);
  save_text (folder, "part.xtekct", SMALL_NIKON);
  save_text (folder, "other.log",
             "[System]\nScanner=SkyScan1172\n[Acquisition]\nFilename Prefix=other_\n");
  for (guint stated = 0; stated < 2; stated++) {
    g_autoptr (TdScan) scan = open_scan (image, stated ? &options : NULL);
    const TdScanFacts *facts = td_scan_facts (scan);

    g_assert_cmpint (facts->geometry.beam, ==, TD_BEAM_CONE);
    g_assert_cmpint (facts->angles_rad[0] == 0, ==, stated);
  }
}

/* A file that is a scan by itself is opened alone, whatever is called like it. */
static void
test_alone (void)
{
  g_autoptr (TestFolder) folder = test_folder_new (), stacks = test_folder_new (),
                         words = test_folder_new ();
  g_autofree char *one = test_folder_file (folder, "s_2.tif"),
                  *stack = test_folder_file (stacks, "m_2.tif");
  TdScanOptions options = { .angles = "0:180", .sinograms = TRUE };
  g_autoptr (GError) error = NULL;

  save_frame (folder, "s_1.tif", COLUMNS, ROWS, 1);
  save_frame (folder, "s_2.tif", COLUMNS, ROWS, 2);
  save_frame (folder, "s_3.tif", COLUMNS, ROWS, 3);
  g_autoptr (TdScan) alone = open_scan (one, &options);
  g_assert_cmpuint (td_scan_facts (alone)->n_rows, ==, 1);
  g_assert_cmpfloat (first_value (alone, TD_FRAME_PROJECTION, 0), ==, 2);
  g_autofree char *note = td_message_text (td_scan_facts (alone)->notes[0], NULL);
  g_assert_nonnull (strstr (note, "2 more"));
  g_autoptr (TdScan) all = open_scan (folder->path, &options);
  g_assert_cmpuint (td_scan_facts (all)->n_rows, ==, 3);

  save_frame (words, "left.tif", COLUMNS, ROWS, 1);
  save_frame (words, "right.tif", COLUMNS, ROWS, 1);
  g_assert_null (td_scan_open (words->path, &options, NULL, &error));
  test_assert_sentence (error, "several");

  save_stack (stacks, "m_1.tif", 5, 10);
  save_stack (stacks, "m_2.tif", 4, 20);
  options.sinograms = FALSE;
  g_autoptr (TdScan) pages = open_scan (stack, &options);
  g_assert_cmpuint (td_scan_facts (pages)->n_views, ==, 4);
  g_assert_cmpfloat (first_value (pages, TD_FRAME_PROJECTION, 0), ==, 20);
  g_autoptr (TdScan) both = open_scan (stacks->path, &options);
  g_assert_cmpuint (td_scan_facts (both)->n_views, ==, 9);
}

/* What another scan in the folder owns by its name stays with that one. */
static void
test_others_companions (void)
{
  static const char *const files[]
      = { "sampleA_1.tif",          "sampleA_2.tif",      "sampleB_1.tif",
          "sampleB_2.tif",          "sampleB_flat_1.tif", "flat_1.tif",
          "sampleA_dark_1.tif",     "dark-sampleB.tif",   "sampleB_180deg.tif",
          "other_flat_before_1.tif" };
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "sampleA_1.tif");
  const TdScanOptions options = { 0 };
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (files); i++)
    save_frame (folder, files[i], COLUMNS, ROWS, i + 1);
  save_text (folder, "sampleB_angles.txt", "0\n90\n");
  g_assert_null (td_scan_open (path, &options, NULL, &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_ANGLES);
  save_text (folder, "angles_sampleA.txt", "0\n45\n");
  g_autoptr (TdScan) scan = open_scan (path, &options);
  const TdScanFacts *facts = td_scan_facts (scan);
  g_assert_cmpuint (facts->n_flats, ==, 2); /* "other" is no scan here */
  g_assert_cmpfloat (first_value (scan, TD_FRAME_FLAT, 0), ==, 6);
  g_assert_cmpfloat (first_value (scan, TD_FRAME_FLAT, 1), ==, 10);
  g_assert_cmpuint (facts->n_darks, ==, 1);
  g_assert_cmpfloat (first_value (scan, TD_FRAME_DARK, 0), ==, 7);
  g_assert_cmpfloat (facts->angles_rad[1], ==, G_PI / 4);
  g_autofree char *notes = td_messages_join (facts->notes, "\n", NULL);
  g_assert_nonnull (strstr (notes, "angles_sampleA.txt"));
  g_assert_cmpuint (td_scan_extra_frames (scan), ==, 0);
}

/* Headerless sinograms; a folder of them is one series. */
static void
test_raw_sinograms (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  TdScanOptions options = { .angles = "0:180",
                            .sinograms = TRUE,
                            .raw_columns = COLUMNS,
                            .raw_rows = VIEWS,
                            .raw_type = TD_SAMPLE_UINT16 };
  guint16 image[VIEWS][COLUMNS];
  float line[2][3][COLUMNS];
  g_autoptr (GError) error = NULL;

  for (guint row = 0; row < 3; row++) {
    g_autofree char *name = g_strdup_printf ("row_%u.raw", row),
                    *path = test_folder_file (folder, name);

    for (guint i = 0; i < VIEWS * COLUMNS; i++)
      image[i / COLUMNS][i % COLUMNS] = 1000 * row + i;
    g_assert_true (g_file_set_contents (path, (const char *) image, sizeof image, NULL));
  }
  g_autoptr (TdScan) scan = open_scan (folder->path, &options);
  g_assert_cmpuint (td_scan_facts (scan)->n_views, ==, VIEWS);
  g_assert_cmpuint (td_scan_facts (scan)->n_rows, ==, 3);
  const TdFrameRange range = { TD_FRAME_PROJECTION, 5, 3, 1, 2 };
  g_assert_true (td_scan_read_sinograms (scan, &range, &line[0][0][0], NULL, NULL));
  g_assert_cmpfloat (line[1][2][4], ==, 2000 + 7 * COLUMNS + 4);
  check_rows_apart (scan, &range);
  g_assert_true (td_scan_read (scan, &range, &line[0][0][0], NULL, NULL));
  g_assert_cmpfloat ((&line[0][0][0])[(2 * 2 + 1) * COLUMNS + 4], ==, 2000 + 7 * COLUMNS + 4);
  save_text (folder, "notes.txt", "of that day");
  g_assert_null (td_scan_open (folder->path, &options, NULL, &error));
  test_assert_sentence (error, "not named alike");

  /* What happens to the files after the scan was opened is told, with the file's name. */
  g_autofree char *cut = test_folder_file (folder, "row_2.raw");
  g_autofree char *gone = test_folder_file (folder, "row_1.raw");
  g_assert_cmpint (truncate (cut, 40), ==, 0);
  g_clear_error (&error);
  g_assert_false (td_scan_read_sinograms (scan, &range, &line[0][0][0], NULL, &error));
  g_assert_nonnull (strstr (error->message, "row_2.raw"));
  test_assert_sentence (error, "cut short since");
  g_assert_cmpint (g_unlink (gone), ==, 0);
  g_clear_error (&error);
  g_assert_false (td_scan_read_sinograms (scan, &range, &line[0][0][0], NULL, &error));
  test_assert_sentence (error, "row_1.raw");
}

/* Bytes that are taken the wrong way round are told, whichever that is. */
static void
test_raw_order (void)
{
  enum { WIDE = 40, N = 6 };
  static const struct {
    gboolean big; /* as they are */
    guint shift;  /* of what a camera of 8 bits counts */
    gboolean told;
  } cases[] = { { FALSE, 4, TRUE }, { TRUE, 4, TRUE }, { FALSE, 8, FALSE }, { TRUE, 0, FALSE } };

  for (guint i = 0; i < 2 * G_N_ELEMENTS (cases); i++) {
    const gboolean big = cases[i / 2].big, wrong = i % 2;
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autofree char *path = test_folder_file (folder, "frames.raw");
    g_autofree char *size = g_strdup_printf ("40x2:uint16%s", big != wrong ? "be" : "");
    guint16 frames[N][2][WIDE];
    TdScanOptions options = { .angles = "0:150" };
    const char *right = big ? "--raw 40x2:uint16be" : "--raw 40x2:uint16.";

    for (guint k = 0; k < N * 2 * WIDE; k++) {
      const guint16 count = (guint16) ((100 + k % WIDE + (cases[i / 2].shift == 4 ? k % 3 : 0))
                                       << cases[i / 2].shift);
      (&frames[0][0][0])[k] = big ? GUINT16_TO_BE (count) : GUINT16_TO_LE (count);
    }
    g_assert_true (g_file_set_contents (path, (const char *) frames, sizeof frames, NULL));
    g_assert_true (td_scan_options_set_raw (&options, size, NULL));
    g_autoptr (TdScan) scan = open_scan (path, &options);
    g_autofree char *notes = td_messages_join (td_scan_facts (scan)->notes, "\n", NULL);
    g_test_message ("case %u: %s", i, notes);
    g_assert_cmpint (strstr (notes, right) != NULL, ==, wrong && cases[i / 2].told);
    g_assert_cmpint (strstr (notes, "look like noise") != NULL, ==, wrong && cases[i / 2].told);
  }
}

/* Angles spread over files of which some are missing are told, of headerless files as of others. */
static void
test_gaps (gconstpointer data)
{
  const gboolean raw = GPOINTER_TO_INT (data);
  static const struct {
    guint numbers[5];
    const char *says; /* NULL: nothing */
  } cases[] = {
    { { 3, 4, 5, 6, 7 }, NULL },
    { { 0, 10, 20, 30, 40 }, NULL },
    { { 0, 1, 2, 4, 5 }, "5 projections: 1." },
    { { 0, 10, 30, 40, 80 }, "5 projections: 4." },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (TestFolder) folder = test_folder_new ();
    const TdScanOptions options = { .angles = "0:180",
                                    .raw_columns = raw ? COLUMNS : 0,
                                    .raw_rows = raw ? ROWS : 0,
                                    .raw_type = TD_SAMPLE_UINT8 };

    for (guint k = 0; k < 5; k++) {
      g_autofree char *name = g_strdup_printf ("a_%u.%s", cases[i].numbers[k], raw ? "raw" : "tif");
      g_autofree char *path = test_folder_file (folder, name);
      const guint8 frame[ROWS * COLUMNS] = { 0 };

      if (raw)
        g_assert_true (g_file_set_contents (path, (const char *) frame, sizeof frame, NULL));
      else
        save_frame (folder, name, COLUMNS, ROWS, k);
    }
    g_autoptr (TdScan) scan = open_scan (folder->path, &options);
    g_autofree char *notes = td_messages_join (td_scan_facts (scan)->notes, "\n", NULL);
    g_assert_nonnull (strstr (notes, cases[i].says ? cases[i].says : ""));
    g_assert_cmpint (strstr (notes, "missing") != NULL, ==, cases[i].says != NULL);
  }
}

/* "0:180" is said of scans that stop a step before 180°, too: what is meant by it is told. */
static void
test_both_ends (void)
{
  static const struct {
    const char *angles, *says;
  } cases[] = {
    { "0:180", "at 180°, and they are 45° apart" },
    { "0:180", "state 0:144 (--angles FIRST:LAST)" },
    { "180:0", "state 180:36 (" },
    { "-90:90", "state -90:54 (" },
    { "0:360", "state 0:288 (" },
    { "0:144", NULL },
    { "10:100", NULL },
    { "7:7", NULL },
  };
  g_autoptr (TestFolder) folder = test_folder_new ();

  save_views (folder, "a_", 5);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    const TdScanOptions options = { .angles = cases[i].angles };
    g_autoptr (TdScan) scan = open_scan (folder->path, &options);
    g_autofree char *notes = td_messages_join (td_scan_facts (scan)->notes, "\n", NULL);
    g_assert_true (cases[i].says ? strstr (notes, cases[i].says) != NULL : *notes == 0);
  }
}

/* A frame in the middle is looked at when it is read, not when the scan is opened. */
static void
test_middle_frame (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *bad = test_folder_file (folder, "a_2.tif");
  TdScanOptions options = { .angles = "0:180" };
  g_autofree float *frames = g_new (float, 4 * ROWS * COLUMNS);
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < 4; i++) {
    g_autofree char *name = g_strdup_printf ("a_%u.tif", i);

    save_frame (folder, name, COLUMNS, i == 1 ? ROWS + 1 : ROWS, i);
  }
  g_assert_true (g_file_set_contents (bad, "II*", 4, NULL));
  g_autoptr (TdScan) scan = open_scan (folder->path, &options);
  g_assert_cmpuint (td_scan_facts (scan)->n_views, ==, 4);
  g_assert_cmpfloat (first_value (scan, TD_FRAME_PROJECTION, 3), ==, 3);
  g_assert_false (td_scan_read (scan, &(TdFrameRange) { TD_FRAME_PROJECTION, 0, 4, 0, ROWS },
                                frames, NULL, &error));
  test_assert_sentence (error, "a_1.tif");
  g_clear_error (&error);
  g_assert_false (td_scan_read (scan, &(TdFrameRange) { TD_FRAME_PROJECTION, 2, 1, 0, ROWS },
                                frames, NULL, &error));
  test_assert_sentence (error, "a_2.tif");
}

/* Folders of images of which none is called as projections are, and two that may be. */
static void
test_several_folders (void)
{
  static const char *const names[] = { "bone", "tooth", "OB" };
  g_autoptr (TestFolder) folder = test_folder_new ();
  const TdScanOptions options = { .angles = "0:180" };
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < 6; i++) {
    g_autofree char *below = test_folder_file (folder, names[i / 2]);
    g_autofree char *name = g_strdup_printf ("%s/a_%u.tif", names[i / 2], i % 2);
    g_mkdir_with_parents (below, 0700);
    save_frame (folder, name, COLUMNS, ROWS, i);
  }
  g_assert_null (td_scan_open (folder->path, &options, NULL, &error));
  test_assert_sentence (error, "(bone, tooth)");
}

/* TOMCAT's series begins with darks and flats, and its log says with how many. */
static void
test_tomcat (void)
{
  static const struct {
    guint n_darks, n_flats, n_views;
    const char *prefix;
    guint flats, views; /* found of 9 images; 0: refused */
  } cases[] = { { 2, 1, 5, "a", 2, 5 },
                { 2, 3, 4, "a_", 3, 4 },
                { 0, 0, 9, "a", 0, 9 },
                { 2, 2, 6, "a", 0, 0 },
                { 2, 3, 4, "b", 0, 9 } };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autofree char *log = test_folder_file (folder, "a.log");
    g_autofree char *text = g_strdup_printf (
        "Beam energy  [keV] : 20\nFile Prefix : %s\nNumber of projections       : %u\n"
        "Number of darks : %u\nNumber of flats : %u\nNumber of inter-flats : 0\n"
        "Rot Y min position  [deg] : 0.000\nRot Y max position  [deg] : 180.000\n%s",
        cases[i].prefix, cases[i].n_views, cases[i].n_darks, cases[i].n_flats,
        i == 0 ? "Angular step [deg] : 36\n" : "");
    const TdScanOptions options = { .angles = i == 4 ? "0:180" : NULL };
    g_autoptr (GError) error = NULL;

    for (guint k = 0; k < 9; k++) {
      g_autofree char *name = g_strdup_printf ("tif/a_%04u.tif", k + 1);
      save_frame (folder, name, COLUMNS, ROWS, (guint16) k);
    }
    g_assert_true (g_file_set_contents (log, text, -1, NULL));
    if (cases[i].views == 0) {
      g_assert_null (td_scan_open (folder->path, &options, NULL, &error));
      test_assert_sentence (error, "holds 9 images");
      continue;
    }
    g_autoptr (TdScan) scan = open_scan (folder->path, &options);
    const TdScanFacts *facts = td_scan_facts (scan);
    const guint before = i < 2 ? cases[i].n_darks + cases[i].n_flats : 0;
    g_assert_cmpuint (facts->n_views, ==, cases[i].views);
    g_assert_cmpuint (facts->n_flats, ==, cases[i].flats);
    g_assert_cmpuint (facts->n_darks, ==, i < 2 ? cases[i].n_darks : 0);
    g_assert_cmpfloat_with_epsilon (facts->angles_rad[facts->n_views - 1],
                                    (i == 0 ? 144 : 180) * G_PI / 180, 1e-9);
    g_assert_cmpfloat (first_value (scan, TD_FRAME_PROJECTION, 0), ==, before);
  }
}

/* A log tells flats and darks from views also where others are taken for them. */
static void
test_tomcat_stated (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *log = test_folder_file (folder, "a.log");
  g_autofree char *flats = test_folder_file (folder, "own/f");
  g_autofree char *darks = test_folder_file (folder, "own/d");
  static const char text[] = "File Prefix : a\nNumber of projections : 5\nNumber of darks : 2\n"
                             "Number of flats : 1\nNumber of inter-flats : 0\n"
                             "Rot Y min position : 0\nRot Y max position : 180\n";

  for (guint k = 0; k < 9; k++) {
    g_autofree char *name = g_strdup_printf ("tif/a_%04u.tif", k + 1);
    save_frame (folder, name, COLUMNS, ROWS, (guint16) k);
  }
  save_views (folder, "own/f/x_", 4);
  save_views (folder, "own/d/x_", 3);
  g_assert_true (g_file_set_contents (log, text, -1, NULL));
  for (guint i = 0; i < 4; i++) {
    const TdScanOptions options = { .flats = i & 1 ? flats : NULL, .darks = i & 2 ? darks : NULL };
    g_autoptr (TdScan) scan = open_scan (folder->path, &options);
    const TdScanFacts *facts = td_scan_facts (scan);

    g_assert_cmpuint (facts->n_views, ==, 5);
    g_assert_cmpuint (facts->n_flats, ==, i & 1 ? 4 : 2);
    g_assert_cmpuint (facts->n_darks, ==, i & 2 ? 3 : 2);
    g_assert_cmpfloat (first_value (scan, TD_FRAME_PROJECTION, 0), ==, 3);
    g_assert_cmpfloat (first_value (scan, TD_FRAME_FLAT, 1), ==, i & 1 ? 1 : 8);
    g_assert_cmpfloat (first_value (scan, TD_FRAME_DARK, 1), ==, 1);
  }
}

/* Of several files of angles the one is taken that is called most like the images. */
static void
test_angles_called_alike (void)
{
  static const struct {
    const char *files[2]; /* the first is taken */
  } cases[] = {
    { { "a_angles.txt", "angles.txt" } },    { { "angles.txt", "theta.txt" } },
    { { "a_theta.txt", "a-angles.txt" } },   { { "a_00_angles.txt", "a_angles.txt" } },
    { { "a_angles.txt", "aa_angles.txt" } }, { { "my_angles.txt", "theta.txt" } },
  };

  for (guint i = 0; i < 2 * G_N_ELEMENTS (cases); i++) {
    g_autoptr (TestFolder) folder = test_folder_new ();

    for (guint k = 0; k < 4; k++) {
      g_autofree char *name = g_strdup_printf ("a_%03u.tif", k);
      save_frame (folder, name, COLUMNS, ROWS, k);
    }
    for (guint k = 0; k < 2; k++) {
      const guint file = (i + k) % 2; /* whichever was written first */
      g_autofree char *path = test_folder_file (folder, cases[i / 2].files[file]);
      g_assert_true (
          g_file_set_contents (path, file ? "5\n6\n7\n8\n" : "10\n20\n30\n40\n", -1, NULL));
    }
    g_test_message ("%s, %s", cases[i / 2].files[0], cases[i / 2].files[1]);
    g_autoptr (TdScan) scan = open_scan (folder->path, NULL);
    g_assert_cmpfloat_with_epsilon (td_degrees (td_scan_facts (scan)->angles_rad[1]), 20, 1e-9);
  }
}

/* The parameters of one scan, whose name some images of a folder begin with. */
static void
test_parameters_of_some (void)
{
  static const char text[] = "{\"projectName\": \"a\", \"distanceSourceOrigin\": 10,\n"
                             "\"distanceSourceDetector\": 30, \"distanceUnit\": \"cm\",\n"
                             "\"pixelSize\": 0.01}";
  static const struct {
    const char *images, *says; /* NULL: all are of one scan */
  } cases[] = {
    { "a1_.tif a2_.tif a3_.tif", "a1_parameters.json belongs to 1 of 3 images" },
    { "A1_.tif A2_.tif", "a1_parameters.json belongs to 1 of 2 images" },
    { "a1_1.tif a1_2.tif a1_3.tif", NULL },
    { "a2_1.tif a2_2.tif", NULL },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autofree char *path = test_folder_file (folder, "a1_parameters.json");
    const TdScanOptions options = { .angles = "0:90" };
    g_autoptr (GError) error = NULL;

    save_files (folder, cases[i].images, 0);
    g_assert_true (g_file_set_contents (path, text, -1, NULL));
    g_autoptr (TdScan) scan = td_scan_open (folder->path, &options, NULL, &error);
    if (cases[i].says) {
      test_assert_sentence (error, cases[i].says);
      continue;
    }
    g_assert_no_error (error);
    g_assert_cmpint (td_scan_facts (scan)->geometry.beam == TD_BEAM_CONE, ==, i == 2);
  }
}

/* Texts of scanners that are not read: who places the source of a cone is told of, unless its
   distances or a geometry are stated. */
static void
test_distances (void)
{
  static const struct {
    const char *name, *text, *said; /* NULL: nothing */
  } cases[] = {
    { "scan.pca", "[Geometry]\nFDD=400.5\nFOD=100\n", "(100) and to the detector (400.5)" },
    { "scan.nsipro",
      "<source to detector distance>400</source to detector distance>\n"
      "<source to table distance>100</source to table distance>\n",
      "(100)" },
    { "scan settings.txt", "SOD : 100.25\nSDD : 400\n", "(100.25)" },
    { "scan.json", "{ \"SourceObjectDistance\": 100, \"SourceDetectorDistance\": 400 }", "(100)" },
    { "scan.json", "{ \"source_to_object_mm\": [100], \"source_to_detector_mm\": [400] }",
      "(100)" },
    { "scan.txt", "Source to RA Distance: 100 mm\nDetector to RA Distance: 300 mm\n",
      "(100) and to the detector (400)" },
    { "scan.txt", "SOD 400\nSDD 100\n", NULL },
    { "scan.txt", "source to sample 144000 mm\nsource to detector 144200 mm\n", NULL },
    { "scan.txt", "sodium 100\nsdds 400\n", NULL },
    { "scan.txt", "SOD\n100\nSDD\n400\n", NULL },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autofree char *text = test_folder_file (folder, cases[i].name);
    TdScanOptions options = { .angles = "0:180" };

    save_frame (folder, "tomo/t_0.tif", COLUMNS, ROWS, 1);
    save_frame (folder, "tomo/t_1.tif", COLUMNS, ROWS, 2);
    g_assert_true (g_file_set_contents (text, cases[i].text, -1, NULL));
    for (guint cone = 0; cone < 2; cone++) {
      options.source_axis_mm = cone * 100;
      options.source_detector_mm = cone * 400;
      g_autoptr (TdScan) scan = open_scan (folder->path, &options);
      g_autofree char *notes = td_messages_join (td_scan_facts (scan)->notes, "\n", NULL);
      const char *told = strstr (notes, "states the source's distance");
      g_assert_true ((told != NULL) == (cases[i].said && !cone));
      g_assert_true (!told || strstr (told, cases[i].said));
    }
  }
}

/* Distances are told of the scan that is opened. A text that is called as others beside it are is
   theirs. A file that states its geometry needs no other. */
static void
test_distances_of_others (void)
{
  static const char text[] = "SOD : 100\nSDD : 400\n";
  static const struct {
    const char *opened, *text;
    double pixel_mm;
    gboolean told;
  } cases[] = {
    { "bone_0.tif", "bone.log", 0, TRUE },      { "bone_0.tif", "tooth.log", 0, FALSE },
    { "bone_0.tif", "Tooth_.txt", 0, FALSE },   { "bone_0.tif", "settings.txt", 0, TRUE },
    { "bone_0.tif", "too.txt", 0, TRUE },       { "bone.nxs", "settings.txt", 0, TRUE },
    { "bone.nxs", "settings.txt", 0.1, FALSE }, { "bone.nxs", "bone.txt", 0.1, TRUE },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autofree char *path = test_folder_file (folder, cases[i].text);
    g_autofree char *opened = test_folder_file (folder, cases[i].opened);
    const TdScanOptions options = { .angles = "0:180" };
    TdPhantomScan spec;

    save_views (folder, "bone_", 2);
    save_views (folder, "tooth_", 2);
    td_phantom_scan_init (&spec, NULL, 16, 4, 6);
    spec.geometry.pixel_width_mm = spec.geometry.pixel_height_mm = cases[i].pixel_mm;
    g_autoptr (TdScan) made = td_phantom_scan_new (&spec, NULL);
    if (g_str_has_suffix (opened, ".nxs"))
      g_assert_true (td_scan_save (made, opened, TD_SCAN_NXTOMO, NULL, NULL));
    g_assert_true (g_file_set_contents (path, text, -1, NULL));
    g_autoptr (TdScan) scan
        = open_scan (opened, g_str_has_suffix (opened, ".nxs") ? NULL : &options);
    g_autofree char *notes = td_messages_join (td_scan_facts (scan)->notes, "\n", NULL);
    g_assert_cmpint (strstr (notes, "states the source's distance") != NULL, ==, cases[i].told);
  }
}

/* Raw files of one scan hold as many frames each. Of one that does not it is told, whichever. */
static void
test_uneven_raw (void)
{
  static const struct {
    const char *holds, *said; /* frames of each file; NULL: nothing */
  } cases[] = {
    { "1111", NULL },
    { "2", NULL },
    { "22", NULL },
    { "1121", "a_0.raw” holds 1 frame, and “@/a_2.raw” 2: all" },
    { "3331", "a_0.raw” holds 3 frames, and “@/a_3.raw” 1: all" },
    { "4222", "a_1.raw” holds 2 frames, and “@/a_0.raw” 4: all" },
    { "23", "a_0.raw” holds 2 frames, and “@/a_1.raw” 3: all" },
  };
  const TdScanOptions options
      = { .raw_columns = 3, .raw_rows = 2, .raw_type = TD_SAMPLE_UINT8, .angles = "0:170" };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (TestFolder) folder = test_folder_new ();
    guint n = 0;

    for (guint k = 0; cases[i].holds[k]; k++) {
      g_autofree char *name = g_strdup_printf ("a_%u.raw", k);
      g_autofree char *path = test_folder_file (folder, name);
      const guint frames = (guint) (cases[i].holds[k] - '0');

      g_assert_true (g_file_set_contents (path, "abcdefabcdefabcdefabcdef", 6 * frames, NULL));
      n += frames;
    }
    g_autoptr (TdScan) scan = open_scan (folder->path, &options);
    g_autofree char *notes = td_messages_join (td_scan_facts (scan)->notes, "\n", NULL);
    g_autoptr (GString) said = g_string_new (cases[i].said ? cases[i].said : ": all were taken");
    g_string_replace (said, "@", folder->path, 0);
    g_assert_cmpuint (td_scan_facts (scan)->n_views, ==, n);
    g_assert_cmpint (strstr (notes, said->str) != NULL, ==, cases[i].said != NULL);
  }
}

/* A sample may be called as flats are: its images are said to be, and one of them opens all. */
static void
test_called_as_flats (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *below = test_folder_file (folder, "projections"),
                  *image = test_folder_file (folder, "projections/flat_bone_1.tif");
  const TdScanOptions options = { .angles = "0:180" };
  g_autoptr (GError) error = NULL;

  g_mkdir_with_parents (below, 0700);
  save_views (folder, "projections/flat_bone_", 3);
  g_assert_null (td_scan_open (folder->path, &options, NULL, &error));
  test_assert_sentence (error, "one of its images");
  g_assert_nonnull (strstr (error->message, "/projections”"));
  g_autoptr (TdScan) scan = open_scan (image, &options);
  g_assert_cmpuint (td_scan_facts (scan)->n_views, ==, 3);
}

/* Images that are called by their angles would be a series for each degree. Numbers behind a point
   may also count. */
static void
test_called_by_angles (void)
{
  for (guint i = 0; i < 2; i++) {
    g_autoptr (TestFolder) folder = test_folder_new ();
    const TdScanOptions options = { .angles = "0:180" };
    g_autoptr (GError) error = NULL;

    for (guint view = 0; view < 8; view++) {
      g_autofree char *name = i ? g_strdup_printf ("a_%u.%04u.tif", view % 2, view)
                                : g_strdup_printf ("a_%g.tif", view / 2.0);
      save_frame (folder, name, COLUMNS, ROWS, view);
    }
    g_assert_null (td_scan_open (folder->path, &options, NULL, &error));
    test_assert_sentence (error, i ? "several series" : "a_3.5.tif");
  }
}

/* Angle files: @text for files a_0 … a_3 (or a_0, a_2, a_3 …), the angles in degrees that must
 * come. */
typedef struct {
  const char *name, *text;
  double degrees[4]; /* all 0: refused */
  guint numbers[4];  /* all 0: of a_0 … a_3 */
} Angles;

static const Angles angle_files[] = {
  { "word", "0\nten\n20\n30\n" },
  { "lines", "0\n10\n20\n30\n", { 0, 10, 20, 30 } },
  { "names-first", "a_3.tif 30\na_0.tif 0\na_2.tif 20\na_1.tif 10\n", { 0, 10, 20, 30 } },
  { "names-last", "30\tx/a_3.tif\n0\ta_0.tif\n20\ta_2.tif\n10\ta_1.tif\n", { 0, 10, 20, 30 } },
  { "windows", "0\r\n10\r\n20\r\n30\r\n\r\n", { 0, 10, 20, 30 } },
  { "commas", "# degrees\n0, 10,\t20,30\n", { 0, 10, 20, 30 } },
  { "heading", "angle_deg\n1e1\n-20\n30.5\n4\n", { 10, -20, 30.5, 4 } },
  { "radians", "# rad\n0\n3.14159265358979\n1.5707963267949\n0\n", { 0, 180, 90, 0 } },
  { "Radians",
    "# Angles in Radians\n0\n3.14159265358979\n1.5707963267949\n0\n",
    { 0, 180, 90, 0 } },
  { "RAD", "Angle (RAD)\n0\n3.14159265358979\n1.5707963267949\n0\n", { 0, 180, 90, 0 } },
  { "camel", "thetaRad\n0\n3.14159265358979\n1.5707963267949\n0\n", { 0, 180, 90, 0 } },
  { "radiographs", "# angles of the radiographs\n0\n10\n20\n30\n", { 0, 10, 20, 30 } },
  { "gradient", "# gradient 2, degrees (not rad)\n0\n10\n20\n30\n", { 0, 10, 20, 30 } },
  { "milliradians", "theta_mrad\n0\n3141.59265358979\n1570.7963267949\n0\n", { 0, 180, 90, 0 } },
  { "microradians", "theta (µrad)\n0\n3141592.65358979\n1570796.3267949\n0\n", { 0, 180, 90, 0 } },
  { "urad", "theta_urad\n0\n3141592.65358979\n1570796.3267949\n0\n", { 0, 180, 90, 0 } },
  { "degree-sign", "theta (°)\n0\n10\n20\n30\n", { 0, 10, 20, 30 } },
  { "arcminutes", "theta (arcmin)\n0\n600\n1200\n1800\n", { 0, 10, 20, 30 } },
  { "arcseconds", "# arcsec\n0\n36000\n72000\n-3600\n", { 0, 10, 20, -1 } },
  { "gon", "angle/gon\n0\n100\n200\n300\n", { 0, 90, 180, 270 } },
  { "byte-order-mark",
    "\xef\xbb\xbf"
    "5\n10\n20\n30\n",
    { 5, 10, 20, 30 } },
  { "unit-above",
    "# in mrad\nangle\n0\n3141.59265358979\n1570.7963267949\n0\n",
    { 0, 180, 90, 0 } },
  { "counted", "0 5\n1 6\n2 7\n3 8\n", { 5, 6, 7, 8 } },
  { "degree-signs", "0°\n10.5°\n20deg\n30\n", { 0, 10.5, 20, 30 } },
  { "table", "time, angle (deg)\n99,5\n98,6\n97,7\n96,8\n", { 5, 6, 7, 8 } },
  { "table-comment",
    "# index time theta_rad\n3 9.5 0\n5 9.6 3.14159265358979\n6 9.7 1.5707963267949\n7 9.8 0\n",
    { 0, 180, 90, 0 } },
  { "table-files",
    "time;file;angle\n1;a_1.tif;10\n2;a_0.tif;5\n3;a_3.tif;30\n4;a_2.tif;20\n",
    { 5, 10, 20, 30 } },
  { "table-files-first",
    "file, angle [deg]\na_1.tif, 10\na_0.tif, 5\na_3.tif, 30\na_2.tif, 20\n",
    { 5, 10, 20, 30 } },
  { "labels-above", "First angle: 5\nLast angle: 8\n5\n6\n7\n8\n", { 5, 6, 7, 8 } },
  { "unit-in-brackets", "# Angle [deg]\n1 5\n2 6\n3 7\n4 8\n", { 5, 6, 7, 8 } },
  { "table-of-two", "angle_set angle_read\n0 1\n2 3\n4 5\n6 7\n" },
  { "units-for-columns", "# angle, degrees\n0, 10\n20, 30\n", { 0, 10, 20, 30 } },
  { "log-of-imat",
    "TIME STAMP  IMAGE TYPE   IMAGE COUNTER   COUNTS BM3 before image\n\n"
    "Sun Feb 10 00:21:04 2019   Dark Field  0   Monitor 3 before:  45\n"
    "Sun Feb 10 00:22:04 2019   Projection:  0  angle: 0.0   Monitor 3 before:  4577907\n"
    "Sun Feb 10 00:22:37 2019   Projection:  1  angle: 10.5   Monitor 3 before:  4729337\n"
    "Sun Feb 10 00:23:10 2019   Projection:  2  angle: 20   Monitor 3 before:  4879923\n"
    "Sun Feb 10 00:23:43 2019   Projection:  3  angle: 3e1   Monitor 3 before:  5029923\n",
    { 0, 10.5, 20, 30 } },
  { "log-of-imat-commas",
    "TIME STAMP,IMAGE TYPE,IMAGE COUNTER,COUNTS BM3 before image,COUNTS BM3 after image\n"
    "Sun Feb 10 00:22:04 2019,Projection,0,angle: 0.0,Monitor 3 before:  45,Monitor 3 after: 47\n"
    "Sun Feb 10 00:22:37 2019,Projection,1,angle: 10.5,Monitor 3 before:  47,Monitor 3 after: 48\n"
    "Sun Feb 10 00:23:10 2019,Projection,2,angle: 20,Monitor 3 before:  48,Monitor 3 after: 49\n"
    "Sun Feb 10 00:23:43 2019,Projection,3,angle: 30,Monitor 3 before:  50,Monitor 3 after: 51\n",
    { 0, 10.5, 20, 30 } },
  { "by-name", "30\ta_3.tif\n0\ta_0.tif\n20\tdata/a_2.tif\n10\ta_1.tif\n", { 0, 10, 20, 30 } },
  { "named-twice",
    "a_3.tif 30\na_3.tif 30\na_0.tif 0\na_2.tif 20\na_1.tif 10\n",
    { 0, 10, 20, 30 } },
  { "named-otherwise", "a_3.tif 30\na_3.tif 31\na_0.tif 0\na_2.tif 20\na_1.tif 10\n" },
  { "others-twice",
    "d.tif 7\nd.tif 8\na_3.tif 30\na_0.tif 0\na_2.tif 20\na_1.tif 10\n",
    { 0, 10, 20, 30 } },
  { "status-words", "0 good\n10 good\n20 good\n30 bad\n", { 0, 10, 20, 30 } },
  { "by-windows-name",
    "30\tD:\\a_3.tif\n0\ta_0.tif\n20\t\\\\h\\a_2.tif\n10\ta_1.tif\n",
    { 0, 10, 20, 30 } },
  { "by-number", "0\n10\n20\n30\n40\n50\n", { 0, 10, 30, 50 }, { 4, 5, 7, 9 } },
  { "rests", "5\n5\n5\n6\n7\n8.001\n8\n8\n", { 5, 6, 7, 8.001 } },
  { "counted-commas", "0,5\n1,16\n2,7\n3,8\n", { 5, 16, 7, 8 } },
  { "two-a-line", "0,10\n20,30\n", { 0, 10, 20, 30 } },
  { "decimal-commas", "0,00\r\n0,50\r\n1,00\r\n1,50\r\n" },
  { "decimal-commas-counting", "0,0\n1,0\n2,0\n3,0\n" },
  { "decimal-commas-short", "-0,25\n0\n0,25\n0,5\n" },
  { "decimal-commas-named", "a_0.tif\t0,5\na_1.tif\t1,5\na_2.tif\t2,5\na_3.tif\t3,5\n" },
  { "too-few", "0\n1\n2\n" },
  { "too-many", "0\n1\n2\n3\n4\n" },
  { "words", "0\n1\nthree\n4\n" },
  { "nan", "0\n1\nnan\n4\n" },
  { "mixed", "0 1\n1 1 2\n2 s3\n" },
  { "empty", "\n" },
  { "other-names", "1\tb_0.tif\n2\tb_1.tif\n3\tb_2.tif\n4\tb_3.tif\n" },
};

static void
test_angle_file (gconstpointer data)
{
  const Angles *case_ = data;
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *text = test_folder_file (folder, "my_angles.txt");
  gboolean good = FALSE;
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < 4; i++) {
    g_autofree char *name = g_strdup_printf ("a_%u.tif", case_->numbers[3] ? case_->numbers[i] : i);

    save_frame (folder, name, COLUMNS, ROWS, i);
    good = good || case_->degrees[i] != 0;
  }
  g_assert_true (g_file_set_contents (text, case_->text, -1, NULL));
  g_autoptr (TdScan) scan = td_scan_open (folder->path, NULL, NULL, &error);
  if (!good) {
    g_assert_null (scan);
    test_assert_sentence (error, "my_angles.txt");
    if (strstr (case_->text, "\nten\n"))
      g_assert_nonnull (strstr (error->message, "line 2 holds “ten”, which is not an angle"));
    g_assert_cmpint (strstr (error->message, "decimals with a point") != NULL, ==,
                     g_str_has_prefix (case_->name, "decimal-commas"));
    return;
  }
  g_assert_no_error (error);
  for (guint i = 0; i < 4; i++)
    g_assert_cmpfloat_with_epsilon (td_scan_facts (scan)->angles_rad[i] * 180 / G_PI,
                                    case_->degrees[i], 1e-9);
}

/* A projection at 180° is there as long as no views are averaged: it belongs to none. */
static void
test_half_turn_averaged (void)
{
  const TdScanOptions options = { .angles = "0:10" };
  g_autoptr (TestFolder) folder = test_folder_new ();

  save_files (folder, "t_0.tif t_1.tif t_180deg.tif", 0);
  g_autoptr (TdScan) scan = open_scan (folder->path, &options);
  for (guint bin = 1; bin < 3; bin++) {
    const TdScanFrame frame = { .flip_rows = TRUE, .bin_views = bin };
    g_autoptr (GError) error = NULL;
    g_autoptr (TdScan) seen = td_scan_view_new (scan, &frame, &error);
    g_assert_no_error (error);
    g_autoptr (TdScan) more = td_scan_with_extra (seen);
    g_assert_cmpuint (td_scan_facts (more)->n_views, ==, bin == 1 ? 3 : 1);
  }
}

/* A projection at 180° of another size or kind of samples than the views is left, and told. */
static void
test_other_half_turn (void)
{
  static const struct {
    guint width;
    TdSampleType type;
  } cases[] = { { COLUMNS, TD_SAMPLE_UINT16 },
                { COLUMNS + 1, TD_SAMPLE_UINT16 },
                { COLUMNS, TD_SAMPLE_UINT8 } };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autofree char *path = test_folder_file (folder, "a_180deg.tif");
    const TdTiffImage image = { cases[i].width, ROWS, cases[i].type, 0, NULL };
    const guint16 samples[(COLUMNS + 1) * ROWS] = { 0 };
    const TdScanOptions options = { .angles = "0:90" };

    save_views (folder, "a_", 3);
    g_assert_true (td_tiff_save_single (path, path, &image, samples, NULL));
    g_autoptr (TdScan) scan = open_scan (folder->path, &options);
    g_autofree char *notes = td_messages_join (td_scan_facts (scan)->notes, "\n", NULL);
    g_assert_cmpuint (td_scan_facts (scan)->n_views, ==, 3);
    g_assert_cmpuint (td_scan_extra_frames (scan), ==, i == 0);
    g_assert_nonnull (strstr (notes, i == 0 ? "helps to find the axis" : "it is not used"));
    g_assert_cmpfloat (first_value (scan, TD_FRAME_PROJECTION, 2), ==, 2);
  }
}

/* Texts in UTF-16 are read, with their mark or without. Other encodings are refused with what to
   do. */
static void
test_angle_encodings (void)
{
  static const struct {
    const char *encoding, *mark;
    gboolean good;
  } cases[] = { { "UTF-16LE", "\xff\xfe", TRUE }, { "UTF-16BE", "\xfe\xff", TRUE },
                { "UTF-16LE", "", TRUE },         { "UTF-16BE", "", TRUE },
                { "ISO-8859-1", "", FALSE },      { "UTF-8", "", TRUE } };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autofree char *path = test_folder_file (folder, "my_angles.txt");
    g_autoptr (GString) bytes = g_string_new (cases[i].mark);
    g_autoptr (GError) error = NULL;
    gsize n;

    save_views (folder, "a_", 4);
    g_autofree char *text = g_convert ("theta (°)\r\n0\r\n10.5\r\n21\r\n31.5\r\n", -1,
                                       cases[i].encoding, "UTF-8", NULL, &n, NULL);
    g_string_append_len (bytes, text, (gssize) n);
    g_assert_true (g_file_set_contents (path, bytes->str, (gssize) bytes->len, NULL));
    g_autoptr (TdScan) scan = td_scan_open (folder->path, NULL, NULL, &error);
    g_assert_cmpint (scan != NULL, ==, cases[i].good);
    if (scan)
      g_assert_cmpfloat_with_epsilon (td_scan_facts (scan)->angles_rad[3] * 180 / G_PI, 31.5, 1e-9);
    else
      g_assert_nonnull (strstr (error->message, "save it as plain text (UTF-8)"));
  }
}

/* What people have that is not read: what it is and what to do, of a file and of a folder. */
static void
test_other_formats (void)
{
  static const struct {
    const char *name, *says;
  } cases[] = { { "a.edf", "edf2nx" },
                { "a.PNG", "save them as TIFF" },
                { "a b.jpg", "as TIFF" },
                { "a.dcm", "DICOM" },
                { "a.vgi", "reconstructed already" },
                { "a.txrm", "Xradia" },
                { "a.his", "--raw" },
                { "a.raw", "--raw" },
                { "a.pca", "--sod-mm" },
                { "a.nsipro", "--sod-mm" },
                { "a.xtekhelixct", "helical" },
                { "a.ISQ", "reconstructed already" },
                { "a.rsq", "export it" },
                { "a.rek", "reconstructed already" },
                { "a.cbf", "TIFF stack" },
                { "a.xz", "unpack" },
                { "a.mrc", "TIFF stack" },
                { "a.npy", "NumPy" },
                { "a.zip", "unpack it" },
                { "a.nxs", "copy or export it again" } };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    for (guint whole = 0; whole < 2; whole++) {
      g_autoptr (TestFolder) folder = test_folder_new ();
      g_autofree char *path = test_folder_file (folder, cases[i].name);
      g_autoptr (GError) error = NULL;

      g_assert_true (g_file_set_contents (path, "xyz", -1, NULL));
      if (whole && g_str_has_suffix (path, ".nxs"))
        continue;
      g_assert_null (td_scan_open (whole ? folder->path : path, NULL, NULL, &error));
      g_test_message ("%s", error->message);
      g_assert_nonnull (strstr (error->message, cases[i].says));
    }
}

/* What lies in a folder of flats and is called otherwise is none. */
static void
test_mixed_folder (void)
{
  static const struct {
    const char *names[3];
    guint n_flats;
  } cases[] = {
    { { "a_1.tif", "a_2.tif", NULL }, 2 },
    { { "flat_1.tif", "flat_2.tif", "dark_1.tif" }, 2 },
    { { "ff_1.tif", "tomo_1.tif", "tomo_2.tif" }, 1 },
    { { "a_1.tif", "a_2.tif", "dark_1.tif" }, 2 },
    { { "dark_1.tif", NULL }, 0 },
  };
  const TdScanOptions options = { .angles = "0:180" };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autofree char *flats = test_folder_file (folder, "flat_field");

    save_frame (folder, "s_1.tif", COLUMNS, ROWS, 1);
    save_frame (folder, "s_2.tif", COLUMNS, ROWS, 2);
    g_assert_cmpint (g_mkdir (flats, 0700), ==, 0);
    for (guint k = 0; k < 3 && cases[i].names[k]; k++) {
      g_autofree char *name = g_build_filename ("flat_field", cases[i].names[k], NULL);
      save_frame (folder, name, COLUMNS, ROWS, 9);
    }
    g_autoptr (TdScan) scan = open_scan (folder->path, &options);
    g_assert_cmpuint (td_scan_facts (scan)->n_flats, ==, cases[i].n_flats);
  }
}

/* Flats of another size above the scan's folder are another scan's; in it, somebody mixed them up.
 */
static void
test_flats_above (void)
{
  const TdScanOptions options = { .angles = "0:180" };
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *own = test_folder_file (folder, "night"),
                  *flats = test_folder_file (folder, "flats");

  g_assert_cmpint (g_mkdir (own, 0700), ==, 0);
  g_assert_cmpint (g_mkdir (flats, 0700), ==, 0);
  save_frame (folder, "night/s_1.tif", COLUMNS, ROWS, 1);
  save_frame (folder, "night/s_2.tif", COLUMNS, ROWS, 2);
  save_frame (folder, "flats/f_1.tif", COLUMNS, ROWS, 9);
  g_autoptr (TdScan) with = open_scan (own, &options);
  g_assert_cmpuint (td_scan_facts (with)->n_flats, ==, 1);
  save_frame (folder, "flats/f_1.tif", COLUMNS - 1, ROWS, 9);
  g_autoptr (TdScan) without = open_scan (own, &options);
  g_assert_cmpuint (td_scan_facts (without)->n_flats, ==, 0);
  g_autofree char *notes = td_messages_join (td_scan_facts (without)->notes, "\n", NULL);
  g_assert_nonnull (strstr (notes, "another scan's"));
  save_frame (folder, "night/flat_1.tif", COLUMNS - 1, ROWS, 9);
  g_autoptr (GError) error = NULL;
  g_assert_null (td_scan_open (own, &options, NULL, &error));
  test_assert_sentence (error, "--flats");
}

/* A data set is named for HDF5 files: elsewhere there is none. */
static void
test_stated_dataset (void)
{
  const TdScanOptions options = { .angles = "0:180", .dataset = "entry" };
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autoptr (GError) error = NULL;

  save_frame (folder, "s_1.tif", COLUMNS, ROWS, 1);
  save_frame (folder, "s_2.tif", COLUMNS, ROWS, 2);
  g_assert_null (td_scan_open (folder->path, &options, NULL, &error));
  test_assert_sentence (error, "--dataset");
  g_assert_error (error, TD_ERROR, TD_ERROR_INVALID);
}

/* Which files are scans by themselves, and of which only a person can say so. */
static void
test_endings (void)
{
  static const struct {
    const char *name, *ending; /* NULL: no scan's */
    gboolean alone;
  } names[] = {
    { "a.nxs", ".nxs", TRUE },       { "a.nx", ".nx", TRUE },     { "a.h5", ".h5", TRUE },
    { "a.hdf5", ".hdf5", TRUE },     { "a.hdf", ".hdf", TRUE },   { "a.b.H5", ".H5", TRUE },
    { "a.tdf", ".tdf", TRUE },       { "a.TDF", ".TDF", TRUE },   { "a.he5", ".he5", TRUE },
    { "a.xtekct", ".xtekct", TRUE }, { "a.rctd", ".rctd", TRUE }, { "a.tif", ".tif", TRUE },
    { "a.b.TIFF", ".TIFF", TRUE },   { "a.log", ".log", FALSE },  { "a.raw", ".raw", FALSE },
    { "a.JSON", ".JSON", FALSE },    { "a.png", NULL, FALSE },    { "tif", NULL, FALSE },
    { "a.tif.txt", NULL, FALSE },
  };
  g_auto (GStrv) patterns = td_scan_patterns ();

  for (guint i = 0; i < G_N_ELEMENTS (names); i++) {
    gboolean alone = !names[i].alone;

    g_assert_cmpstr (td_scan_ending (names[i].name, &alone), ==, names[i].ending);
    if (names[i].ending)
      g_assert_cmpint (alone, ==, names[i].alone);
    g_assert_cmpstr (td_scan_ending (names[i].name, NULL), ==, names[i].ending);
    g_assert_cmpint (td_scan_named_hdf5 (names[i].name), ==, i < 9);
    g_autofree char *pattern = g_strconcat ("*", names[i].ending, NULL);
    g_autofree char *low = g_ascii_strdown (pattern, -1);
    g_assert_cmpint (g_strv_contains ((const char *const *) patterns, low), ==,
                     names[i].ending != NULL);
  }
}

/* Flats that are named: a folder of images, one image, or a folder without any. */
static void
test_stated_flats (void)
{
  static const struct {
    const char *flats, *says;
    guint n;
  } cases[] = { { "f", NULL, 2 },
                { "f/a_1.tif", NULL, 1 },
                { "none", "given for the flats, holds no TIFF files", 0 } };
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *views = test_folder_file (folder, "views");
  g_autofree char *none = test_folder_file (folder, "none");

  for (guint i = 0; i < 4; i++) {
    g_autofree char *name = g_strdup_printf ("views/s_%u.tif", i);
    save_frame (folder, name, COLUMNS, ROWS, 1);
  }
  save_frame (folder, "f/a_1.tif", COLUMNS, ROWS, 5);
  save_frame (folder, "f/a_2.tif", COLUMNS, ROWS, 5);
  g_assert_cmpint (g_mkdir (none, 0700), ==, 0);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    for (guint darks = 0; darks < 2; darks++) {
      g_autofree char *path = test_folder_file (folder, cases[i].flats);
      const TdScanOptions options
          = { .flats = darks ? NULL : path, .darks = darks ? path : NULL, .angles = "0:180" };
      g_autoptr (GError) error = NULL;
      g_autoptr (TdScan) scan = td_scan_open (views, &options, NULL, &error);

      if (cases[i].says) {
        g_assert_null (scan);
        test_assert_sentence (error, darks ? "given for the darks" : cases[i].says);
        continue;
      }
      g_assert_no_error (error);
      const TdScanFacts *facts = td_scan_facts (scan);
      g_assert_cmpuint (darks ? facts->n_darks : facts->n_flats, ==, cases[i].n);
      g_assert_cmpuint (darks ? facts->n_flats : facts->n_darks, ==, 0);
    }
}

/* What makes a RabbitCT file: its name or its size to the byte, and a header that can be one. */
static void
test_rabbitct (void)
{
  static const struct {
    const char *name;
    guint32 words[3]; /* columns, rows, views */
    gint more_bytes;
    gboolean is_one;
  } files[] = {
    { "a.bin", { 1, 2, 3 }, 0, TRUE },      { "a.bin", { 1, 2, 3 }, 1, FALSE },
    { "a.bin", { 1, 2, 3 }, -1, FALSE },    { "a.rctd", { 1, 2, 3 }, 1, TRUE },
    { "a.RCTD", { 1, 2, 3 }, -1, TRUE },    { "a.rctd", { 0, 2, 3 }, 0, FALSE },
    { "a.rctd", { 1, 0, 3 }, 0, FALSE },    { "a.rctd", { 1, 2, 0 }, 0, FALSE },
    { "a.rctd", { 16384, 1, 1 }, 0, TRUE }, { "a.rctd", { 16385, 1, 1 }, 0, FALSE },
    { "a.rctd", { 1, 16384, 1 }, 0, TRUE }, { "a.rctd", { 1, 16385, 1 }, 0, FALSE },
    { "a.rctd", { 1, 1, 65536 }, 0, TRUE }, { "a.rctd", { 1, 1, 65537 }, 0, FALSE },
    { "a.rctd", { 1, 2, 3 }, -322, FALSE }, /* half a header */
  };

  for (guint i = 0; i < G_N_ELEMENTS (files); i++) {
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autofree char *path = test_folder_file (folder, files[i].name);
    guint32 header[5] = { 0 };
    const TdScanOptions options = { 0 };
    guint64 bytes = sizeof header + files[i].more_bytes;

    for (guint k = 0; k < 3; k++)
      header[k] = GUINT32_TO_LE (files[i].words[k]);
    bytes += files[i].words[2]
             * (12 * sizeof (double) + 4 * (guint64) files[i].words[0] * files[i].words[1]);
    g_assert_true (g_file_set_contents (path, (const char *) header, sizeof header, NULL));
    g_assert_cmpint (truncate (path, (off_t) bytes), ==, 0);
    g_assert_cmpint (td_scan_reader_rabbitct.probe (path, &options), ==, files[i].is_one);
  }
}

static void
test_names (void)
{
  static const char *const sorted[]
      = { "a1.tif", "a2.tif", "A3.tif", "a10.tif", "a010.tif", "a10b.tif", "b.tif" };

  for (guint i = 0; i + 1 < G_N_ELEMENTS (sorted); i++)
    if (i != 3) { /* a10 and a010 are the same number */
      g_assert_cmpint (td_natural_compare (sorted[i], sorted[i + 1]), <, 0);
      g_assert_cmpint (td_natural_compare (sorted[i + 1], sorted[i]), >, 0);
    }
  g_assert_cmpint (td_natural_compare ("a0.tif", "a00.tif"), !=, 0);
  g_assert_cmpint (td_natural_compare ("x18446744073709551617", "x18446744073709551616"), >, 0);
  g_assert_cmpint (td_series_number ("a_0012.tif"), ==, 12);
  g_assert_cmpint (td_series_number ("abc.tif"), ==, -1);
  g_assert_cmpint (td_series_number ("a_99999999999999999999999.tif"), ==, -1);
  g_assert_cmpint (td_series_number ("a_999999999999999999.tif"), ==, 999999999999999999);
  g_assert_cmpint (td_series_number ("a_1000000000000000000.tif"), ==, -1); /* of 19 digits */
  g_assert_cmpint (td_series_number ("17.tif"), ==, 17);
  g_assert_cmpint (td_series_number (".5"), ==, 5); /* no ending, but a hidden file's name */
  static const char *const paths[][2]
      = { { "a.tif", "a.tif" },        { "/b/c/a.tif", "a.tif" }, { "D:\\b\\a.tif", "a.tif" },
          { "\\\\host\\b c\\a", "a" }, { "b\\", "b\\" },          { "b/c\\a.tif", "a.tif" } };
  for (guint i = 0; i < G_N_ELEMENTS (paths); i++) {
    g_autofree char *base = td_series_base (paths[i][0]);
    g_assert_cmpstr (base, ==, paths[i][1]);
  }
  g_assert_cmpint (td_name_role ("refHST0000.edf"), ==, TD_NAME_FLAT);
  g_assert_cmpint (td_name_role ("Flat_After"), ==, TD_NAME_FLAT);
  g_assert_cmpint (td_name_role ("IMAT_DarkBefore_01.tif"), ==, TD_NAME_DARK);
  g_assert_cmpint (td_name_role ("darkstone_01.tif"), ==, TD_NAME_PROJECTION);
  g_assert_cmpint (td_name_role ("proj_180deg.tif"), ==, TD_NAME_HALF_TURN);
  g_assert_cmpint (td_name_role ("io000000.tif"), ==, TD_NAME_FLAT); /* Octopus' */
  g_assert_cmpint (td_name_role ("di_0001.tif"), ==, TD_NAME_DARK);
  g_assert_cmpint (td_name_role ("bone_00001_dar.tif"), ==, TD_NAME_DARK); /* DESY's */
  g_assert_cmpint (td_name_role ("scan_di_01.tif"), ==, TD_NAME_PROJECTION);
  g_assert_cmpint (td_name_role ("DI_01.tif"), ==, TD_NAME_PROJECTION);
  g_assert_cmpint (td_name_role ("iota_01.tif"), ==, TD_NAME_PROJECTION);
  g_assert_cmpint (td_name_role_strict ("io"), ==, TD_NAME_PROJECTION);
  g_assert_cmpint (td_name_role_strict ("Flat_Before"), ==, TD_NAME_FLAT);
  g_assert_cmpint (td_name_role_strict ("refHST0001.tif"), ==, TD_NAME_FLAT);
  g_assert_cmpint (td_name_role_strict ("tomodesk-ui-FF1IZ3"), ==, TD_NAME_PROJECTION);
}

/* When flats were taken, by their own names, else by that of their folder. */
static void
test_flat_positions (void)
{
  static const struct {
    const char *folder, *name;
    double position; /* NAN: unknown */
  } cases[] = {
    { "flats", "flat_before_0.tif", 0 },      { "flats", "flat_after_0.tif", 70 },
    { "Flat_Before", "flat_0.tif", 0 },       { "Flat_After", "flat_0.tif", 70 },
    { "run_before", "flat_after_0.tif", 70 }, { "post", "flat_pre_0.tif", 0 },
    { "post", "refHST0035.tif", 35 },         { "pre", "refHST0071.tif", 0 }, /* there are 70 */
    { "flats", "flat_0.tif", NAN },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    const double position = td_name_flat_position (cases[i].folder, cases[i].name, 70);

    g_test_message ("%s/%s", cases[i].folder, cases[i].name);
    g_assert_true (isnan (cases[i].position) ? isnan (position) : position == cases[i].position);
  }
}

static void
test_i13 (gconstpointer data)
{
  g_autofree char *path = test_scan_path (data);

  if (!path)
    return;
  g_autoptr (TdScan) scan = open_scan (path, NULL);
  const TdScanFacts *facts = td_scan_facts (scan);
  g_assert_cmpuint (facts->n_columns, ==, 160);
  g_assert_cmpuint (facts->n_rows, ==, 135);
  g_assert_cmpuint (facts->n_views, ==, 91);
  g_assert_cmpuint (facts->n_flats, ==, 1);
  g_assert_cmpuint (facts->n_darks, ==, 1);
  g_assert_cmpfloat_with_epsilon (facts->angles_rad[0] * 180 / G_PI, -88.2, 1e-9);
  g_assert_cmpfloat_with_epsilon (facts->angles_rad[1] * 180 / G_PI, -86.2, 1e-9);
  g_assert_cmpfloat_with_epsilon (facts->angles_rad[90] * 180 / G_PI, 91.7999, 1e-9);
  g_assert_cmpstr (facts->title, ==, "i13_24737");
}

static void
test_htc (void)
{
  g_autofree char *path = test_scan_path ("htc2022/htc2022_ta_sinogram.tif");

  if (!path)
    return;
  g_autoptr (TdScan) scan = open_scan (path, NULL);
  const TdScanFacts *facts = td_scan_facts (scan);
  g_assert_cmpuint (facts->n_columns, ==, 560);
  g_assert_cmpuint (facts->n_rows, ==, 1);
  g_assert_cmpuint (facts->n_views, ==, 721);
  g_assert_true (facts->transmission_logged);
  g_assert_cmpfloat_with_epsilon (facts->angles_rad[720], 2 * G_PI, 1e-9);
  g_assert_cmpint (facts->geometry.beam, ==, TD_BEAM_FAN); /* its parameters lie beside it */
  g_assert_cmpfloat (facts->geometry.source_axis_mm, ==, 410.66);
  g_assert_cmpfloat (facts->geometry.pixel_width_mm, ==, 0.2);
}

/* Two scans with a geometry each in one folder are not one scan of two rows. */
static void
test_htc_folder (void)
{
  g_autofree char *path = test_scan_path ("htc2022");
  g_autoptr (GError) error = NULL;

  if (!path)
    return;
  g_assert_null (td_scan_open (path, NULL, NULL, &error));
  test_assert_sentence (error, "one file");
}

static void
test_sarepy (void)
{
  g_autofree char *path = test_scan_path ("sarepy_neutron360/sinogram_360_neutron_image.tif");
  TdScanOptions options = { .angles = "0:360" };
  g_autoptr (GError) error = NULL;

  if (!path)
    return;
  g_assert_null (td_scan_open (path, NULL, NULL, &error));
  test_assert_sentence (error, "sinogram_360");
  g_autoptr (TdScan) scan = open_scan (path, &options);
  g_assert_cmpuint (td_scan_facts (scan)->n_columns, ==, 503);
  g_assert_cmpuint (td_scan_facts (scan)->n_views, ==, 459);
}

static void
test_ctsimu (void)
{
  g_autofree char *path = test_scan_path ("ctsimu_tetra/projections/tetra_metadata.json");
  float row[150], flat[150];

  if (!path)
    return;
  g_autoptr (TdScan) scan = open_scan (path, NULL);
  const TdScanFacts *facts = td_scan_facts (scan);
  g_assert_cmpuint (facts->n_columns, ==, 150);
  g_assert_cmpuint (facts->n_rows, ==, 150);
  g_assert_cmpuint (facts->n_views, ==, 21);
  g_assert_cmpuint (facts->n_flats, ==, 3);
  g_assert_cmpuint (facts->n_darks, ==, 1);
  g_assert_cmpint (facts->geometry.beam, ==, TD_BEAM_CONE);
  g_assert_cmpfloat (facts->geometry.source_axis_mm, ==, 300);
  g_assert_cmpfloat (facts->geometry.source_detector_mm, ==, 400);
  g_assert_cmpfloat (facts->geometry.pixel_width_mm, ==, 1.3);
  g_assert_cmpfloat (facts->geometry.detector_offset_u_px, ==, 0);
  g_assert_cmpfloat (facts->geometry.voxel_mm, ==, 0.975);
  g_assert_cmpfloat_with_epsilon (facts->angles_rad[1], -18 * G_PI / 180, 1e-12);
  g_assert_true (
      td_scan_read (scan, &(TdFrameRange) { TD_FRAME_PROJECTION, 20, 1, 75, 1 }, row, NULL, NULL));
  g_assert_true (
      td_scan_read (scan, &(TdFrameRange) { TD_FRAME_FLAT, 2, 1, 75, 1 }, flat, NULL, NULL));
  g_assert_cmpfloat (row[75], <, 0.95f * flat[75]);
  g_assert_cmpfloat (row[2], >, 0.9f * flat[2]);
}

/* A simulation's description holds no projections; the refusal names what does. */
static void
test_ctsimu_scenario (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "part.json");
  g_autoptr (GError) error = NULL;

  g_assert_true (
      g_file_set_contents (path, "{\"file\": {\"file_type\": \"CTSimU Scenario\"}}", -1, NULL));
  g_assert_null (td_scan_open (path, NULL, NULL, &error));
  test_assert_sentence (error, "_metadata.json");
}

/* A folder may hold any file. Here are one whose brackets would overflow a parser's stack, a pipe
   that nobody writes to, and metadata that state 10^8 images. */
static void
test_hostile_json (void)
{
  static const char *const metadata
      = "{\"file\": {\"file_type\": \"CTSimU Metadata\"}, \"output\": {\"projections\": {"
        "\"filename\": \"p_%06d.raw\", \"number\": 100000000, \"datatype\": \"uint16\","
        "\"dimensions\": {\"x\": {\"value\": 4}, \"y\": {\"value\": 4}}}}}";
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "metadata.json");
  g_autofree char *geometry = test_folder_file (folder, "geometry.json");
  g_autofree char *deep = g_strnfill (1000000, '[');
  const TdScanOptions options = { .angles = "0:180", .geometry = geometry };
  g_autoptr (GError) error = NULL;

  g_assert_true (g_file_set_contents (path, deep, -1, NULL));
  g_assert_null (td_scan_open (folder->path, NULL, NULL, &error));
  g_clear_error (&error);
  g_assert_true (g_file_set_contents (geometry, deep, -1, NULL));
  g_assert_null (td_scan_open (folder->path, &options, NULL, &error));
  test_assert_sentence (error, "geometry.json");
  g_clear_error (&error);
  g_assert_true (g_file_set_contents (path, metadata, -1, NULL));
  const clock_t start = clock (); /* of this program alone, however busy the machine is */
  g_assert_null (td_scan_open (path, NULL, NULL, &error));
  test_assert_sentence (error, NULL);
  g_assert_cmpint (clock () - start, <, CLOCKS_PER_SEC);
  g_clear_error (&error);
  g_remove (path);
  g_assert_cmpint (mkfifo (path, 0600), ==, 0);
  g_assert_null (td_scan_open (path, NULL, NULL, &error));
  test_assert_sentence (error, NULL);
}

/* ── Names, angles and folders in many shapes, of which it is kept what comes of them ── */

static const char *const role_words[] = { "projection", "flat", "dark", "half turn" };

/* What is told by a name. */
static void
test_names_told (void)
{
  static const char *const names[] = {
    "a_1.tif",
    "flat_0001.tif",
    "flats",
    "Flat.Field_2.TIF",
    "myFlatField3.tiff",
    "flatirons_1.tif",
    "ref_1.tif",
    "refHST0007.edf",
    "refHST.tif",
    "refhst0021.tif",
    "refHST0020.tif",
    "reference_a_1.tif",
    "reference_1.tif",
    "air.tif",
    "air_plane_1.tif",
    "BG__BEFORE_01.tif",
    "bg_end.tif",
    "background_fly.tif",
    "dark_pre_2.tif",
    "darks_after.tif",
    "DF_post_00.tif",
    "dc-3.tif",
    "OB start 1.tif",
    "x_dar.tif",
    "darkStart.tif",
    "Darkend0000.edf",
    "io000000.tif",
    "io.tif",
    "io_-1.tif",
    "io1x.tif",
    "di0001.tif",
    "di",
    "180.tif",
    "180",
    "1800.tif",
    "a_180deg.tif",
    "a_180_deg_2.tif",
    "180deg",
    "sampleB_flat.tif",
    "flat-sampleB_2.tif",
    "dark.sampleB.tif",
    "B angles.txt",
    "angles_B.txt",
    "B_theta.csv",
    "THETA.dat",
    "angles.tif",
    "angels.txt",
    "B_parameters.json",
    "geometry_B.json",
    "sino_0012.tif",
    "Sinograms",
    "asino_1.tif",
    "projections",
    "Tomo_2",
    "my-tiffs",
    "tifs2",
    "automobile",
    "img.0001.tif",
    "img_1.5.tif",
    ".hidden_3",
    "007.tif",
    "a1b22c.tif",
    "no-number.tif",
    "a_00000000000000000012.tif",
    "a_12",
    "_-. 7",
    "hellbild_3.tif",
    "imgDeg_4.tif",
  };

  for (guint i = 0; i < G_N_ELEMENTS (names); i++) {
    const char *name = names[i];
    g_autofree char *owner = td_name_owner (name), *pattern = td_series_pattern (name);
    td_test_pin (
        "%s: %s, strictly %s, of %s, %" G_GINT64_FORMAT " of %s, flats at %.1f and "
        "%.1f,%s%s%s%s",
        name, role_words[td_name_role (name)], role_words[td_name_role_strict (name)],
        owner ? owner : "none", td_series_number (name), pattern,
        td_name_flat_position ("scans", name, 20), td_name_flat_position (name, "x.tif", 20),
        td_name_is_sinogram (name) ? " sinograms" : "", td_name_is_angles (name) ? " angles" : "",
        td_name_is_projection_folder (name) ? " folder" : "",
        td_series_is_tiff (name) ? " tiff" : "");
  }
}

/* A folder that is no scan by itself: what is told turns on what else lies there. */
static void
test_folders_without (void)
{
  static const char *const things[] = { "flat_1.tif",  "dark_1.tif",    "scan.h5",      "img.dcm",
                                        "one/a_1.tif", "other/a_1.tif", "flats/b_1.tif" };

  for (guint set = 0; set < 1u << G_N_ELEMENTS (things); set++) {
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autoptr (GString) what = g_string_new ("with");
    const TdScanOptions options = { .angles = "0:90" };
    g_autoptr (GError) error = NULL;

    for (guint i = 0; i < G_N_ELEMENTS (things); i++) {
      g_autofree char *path = test_folder_file (folder, things[i]);
      if (!(set >> i & 1))
        continue;
      g_string_append_printf (what, " %s", things[i]);
      if (g_str_has_suffix (path, ".tif"))
        save_frame (folder, things[i], COLUMNS, ROWS, 1);
      else
        g_assert_true (g_file_set_contents (path, "?", 1, NULL));
      if (g_str_has_prefix (things[i], "one/"))
        save_frame (folder, "one/a_2.tif", COLUMNS, ROWS, 2);
    }
    g_autoptr (TdScan) scan = td_scan_open (folder->path, &options, NULL, &error);
    g_auto (GStrv) lines = td_test_opened_lines (scan, error);
    if (scan)
      td_test_pin ("%s: a scan, %u notes", what->str, g_strv_length (lines) - 1);
    else
      td_test_pin ("%s: %s", what->str, lines[0]);
  }
}

/* Each pair of names stands in one order only, and all in one. */
static void
test_natural_order (void)
{
  static const char *const sorted[] = { "",
                                        ".",
                                        "0",
                                        "00",
                                        "01",
                                        "1",
                                        "1a",
                                        "9",
                                        "10",
                                        "10.tif",
                                        "A1b2",
                                        "a1b10",
                                        "a2",
                                        "A02x",
                                        "a2y",
                                        "a_0",
                                        "a_00",
                                        "a_1",
                                        "B",
                                        "b0",
                                        "c1000000000000000000000",
                                        "c1000000000000000000001",
                                        "\xc3\xa4" };

  for (guint i = 0; i < G_N_ELEMENTS (sorted); i++)
    for (guint k = 0; k < G_N_ELEMENTS (sorted); k++) {
      const int order = td_natural_compare (sorted[i], sorted[k]);
      g_test_message ("%s, %s: %d", sorted[i], sorted[k], order);
      g_assert_cmpint ((order > 0) - (order < 0), ==, (i > k) - (i < k));
    }
}

/* The angles of four views in degrees, or why there are none. (transfer full) */
static char *
angles_told (const char *spec, gboolean named, guint n_views, guint n_rows)
{
  static const char *const names[] = { "a_0.tif", "a_1.tif", "a_2.tif", "a_3.tif", NULL };
  const guint n[] = { n_views, n_rows };
  g_autofree char *note = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree double *angles
      = td_angles_for_views (spec, "scan.tif", named ? names : NULL, n, &note, &error);
  GString *told = g_string_new (NULL);

  if (!angles) {
    const char *why = strstr (error->message, "” "), *end = strstr (error->message, "; give");
    why = why ? why + strlen ("” ") : error->message;
    return g_string_free (g_string_append_len (told, why, end && end > why ? end - why : -1),
                          FALSE);
  }
  for (guint i = 0; i < n_views; i++)
    g_string_append_printf (told, "%s%.3f", i ? " " : "", td_degrees (angles[i]));
  if (note) {
    g_autoptr (TdMessage) message = td_message_unpack (note);
    g_autofree char *text = td_message_text (message, NULL);
    g_string_append_printf (told, " (%s)", text);
  }
  return g_string_free (told, FALSE);
}

/* Changes in a row that come to the same are kept as one line. */
typedef struct {
  const char *path;
  GString *changes;
  char *told; /* NULL: nothing yet */
} AnglesKept;

static void
keep_angles (AnglesKept *kept, const char *change, guint line, char **lines)
{
  g_autofree char *text = lines ? g_strjoinv ("\n", lines) : NULL;

  g_remove (kept->path); /* or the end of a longer one would stay */
  if (lines)
    g_assert_true (
        g_file_set_contents_full (kept->path, text, -1, G_FILE_SET_CONTENTS_NONE, 0600, NULL));
  char *told = lines ? angles_told (kept->path, TRUE, 4, ROWS) : NULL;
  if (kept->told && g_strcmp0 (told, kept->told) != 0) {
    td_test_pin ("%s: %s", kept->changes->str, kept->told);
    g_string_truncate (kept->changes, 0);
  }
  if (lines)
    g_string_append_printf (kept->changes, "%s%s %u", kept->changes->len ? ", " : "", change, line);
  g_free (kept->told);
  kept->told = told;
}

/* Of each file of angles each line is lost, is there twice, has one more number, or stands before
   the one before. */
static void
test_angle_lines (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "my_angles.txt");

  for (guint i = 0; i < G_N_ELEMENTS (angle_files); i++) {
    g_auto (GStrv) lines = g_strsplit (angle_files[i].text, "\n", -1);
    const guint n = g_strv_length (lines) - 1; /* the last one is empty */
    g_autoptr (GString) changes = g_string_new (NULL);
    AnglesKept kept = { path, changes, NULL };

    td_test_pin ("%s", angle_files[i].name);
    keep_angles (&kept, "all", n, lines);
    for (guint k = 0; k < MIN (n, 4); k++) {
      char *line = lines[k];
      g_autofree char *twice = g_strconcat (line, "\n", line, NULL);
      g_autofree char *more = g_strconcat (line, " 7", NULL);

      lines[k] = twice;
      keep_angles (&kept, "twice", k, lines);
      lines[k] = more;
      keep_angles (&kept, "more", k, lines);
      lines[k] = (char *) "#";
      keep_angles (&kept, "without", k, lines);
      lines[k] = line;
      if (k == 0)
        continue;
      lines[k] = lines[k - 1], lines[k - 1] = line;
      keep_angles (&kept, "turned", k, lines);
      lines[k - 1] = lines[k], lines[k] = line;
    }
    keep_angles (&kept, NULL, 0, NULL);
  }
}

/* The first lines of each file of angles, of one view to four. */
static void
test_angle_starts (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "my_angles.txt");

  for (guint i = 0; i < G_N_ELEMENTS (angle_files); i++) {
    const char *text = angle_files[i].text;
    for (const char *end = text; (end = strchr (end, '\n')) != NULL; end++) {
      g_autofree char *start = g_strndup (text, end + 1 - text);
      g_autoptr (GString) line = g_string_new (NULL);

      g_remove (path);
      g_assert_true (
          g_file_set_contents_full (path, start, -1, G_FILE_SET_CONTENTS_NONE, 0600, NULL));
      for (guint views = 1; views <= 4; views++) {
        g_autofree char *told = angles_told (path, TRUE, views, ROWS);
        /* Sentences are kept where the whole file is read. */
        g_string_append_printf (line, "; %s", g_ascii_isalpha (*told) ? "none" : told);
      }
      td_test_pin ("%s, %u bytes%s", angle_files[i].name, (guint) (end + 1 - text), line->str);
    }
  }
}

/* First and last angles, of so many views. */
static void
test_angle_ranges (void)
{
  static const char *const specs[]
      = { "0:180",      "180:0",   "-90:90", "0:360",    "0:361",     "0:179.9999",
          "0:180.0001", "5:5",     "1e6:0",  "-1e6:1e6", "1000001:0", "0:-1.1e6",
          "0°:180deg",  "0 : 180", "0:x",    "x:1",      "0:180:2",   ":1",
          "1:",         "nan:1",   "0:inf",  "0:540",    "0.5:180.5", "-1e-3:1e-3" };
  static const guint views[] = { 1, 2, 3, 4 };

  for (guint i = 0; i < G_N_ELEMENTS (specs); i++)
    for (guint k = 0; k < G_N_ELEMENTS (views); k++) {
      g_autofree char *told = angles_told (specs[i], FALSE, views[k], 0);
      td_test_pin ("%s%s of %u: %s", specs[i], td_angles_is_range (specs[i]) ? "" : ", no range,",
                   views[k], told);
    }
}

/* A stage rests before and after the turn, with a jitter of its own. The views are those between,
   as long as the jitter is below a twentieth of a step. */
static void
test_angle_rests (void)
{
  static const double jitters[] = { 0, 0.045, 0.055 };
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "my_angles.txt");

  for (guint i = 0; i < 9 * G_N_ELEMENTS (jitters) * 2; i++) {
    const guint before = i % 3, after = i / 3 % 3, kind = i / 9 % G_N_ELEMENTS (jitters);
    const double step = i / 9 / G_N_ELEMENTS (jitters) ? -2.5 : 40, jitter = jitters[kind] * step;
    g_autoptr (GString) text = g_string_new (NULL), expected = g_string_new (NULL);

    for (guint k = 0; k < before; k++)
      g_string_append_printf (text, "%g\n", 10.0);
    for (guint k = 0; k < 4; k++) {
      /* the first rest counts from its first entry, the last one from its last */
      const double off = k == 0 && before ? jitter : k == 3 && after ? jitter : 0;
      g_string_append_printf (text, "%.9g\n", 10 + k * step + off);
      g_string_append_printf (expected, "%s%.3f", k ? " " : "", 10 + k * step + off);
    }
    for (guint k = 0; k < after; k++)
      g_string_append_printf (text, "%.9g\n", 10 + 3 * step);
    g_assert_true (g_file_set_contents (path, text->str, -1, NULL));
    g_autofree char *told = angles_told (path, FALSE, 4, ROWS);
    g_test_message ("%u before, %u after, %g: %s", before, after, jitters[kind], told);
    if (before + after == 0 || kind < 2)
      g_assert_true (g_str_has_prefix (told, expected->str));
    else
      g_assert_nonnull (strstr (told, "no rule tells"));
    g_assert_cmpint (strstr (told, "stands still") != NULL, ==, before + after > 0 && kind < 2);
  }
}

#define SHORT 48 /* letters that tell notes apart */

/* What is found in a folder: the files' values, where flats stand, and how notes begin. */
static char *
found_told (const char *path)
{
  const TdScanOptions options = { .angles = "0:170" };
  g_autoptr (GError) error = NULL;
  g_autoptr (TdScan) scan = td_scan_open (path, &options, NULL, &error);
  GString *told = g_string_new (NULL);

  if (!scan) {
    const char *why = strstr (error->message, "” ");
    return g_string_free (g_string_append (told, why ? why + strlen ("” ") : error->message),
                          FALSE);
  }
  const TdScanFacts *facts = td_scan_facts (scan);
  for (guint kind = 0; kind < 3; kind++) {
    g_string_append (told, kind == 0 ? "views" : kind == 1 ? ", flats" : ", darks");
    for (guint i = 0; i < td_scan_facts_frames (facts, kind); i++)
      g_string_append_printf (told, " %g", (double) first_value (scan, kind, i));
  }
  for (guint i = 0; facts->flat_positions && i < facts->n_flats; i++)
    g_string_append_printf (told, "%s %g", i ? "" : " at", facts->flat_positions[i]);
  g_string_append_printf (told, ", %u beside", td_scan_extra_frames (scan));
  for (guint i = 0; facts->notes && facts->notes[i]; i++) {
    g_autofree char *note = td_message_text (facts->notes[i], NULL);
    td_test_leave_out_folders (note);
    g_autofree char *begin = g_utf8_substring (note, 0, MIN (g_utf8_strlen (note, -1), SHORT));
    if (!g_str_has_prefix (note, "Flats: ") && !g_str_has_prefix (note, "Darks: "))
      g_string_append_printf (told, "; %s", begin);
  }
  return g_string_free (told, FALSE);
}

static void
pin_found (const char *what, const char *path, const char *usual)
{
  g_autofree char *told = found_told (path);

  td_test_pin ("%s: %s", what, g_strcmp0 (told, usual) == 0 ? "the same" : told);
}

/* Each file of each layout is lost for once, and each is opened by itself. */
static void
test_files_lost (void)
{
  static const Found more[] = {
    { "nine-of-ten",
      "a_1.tif a_2.tif a_3.tif a_4.tif a_5.tif a_6.tif a_7.tif a_8.tif a_9.tif b.tif", "" },
    { "folders", "p/a_1.tif q/a_1.tif r/a_1.tif s/a_1.tif t/a_1.tif", "" },
    { "owners", "run_1.tif run_2.tif run_dark_1.tif other_1.tif other_flat_1.tif", "run_1.tif" },
    { "decimals", "a_0.5.tif a_1.5.tif a_2.5.tif a_3.5.tif", "" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (found) + G_N_ELEMENTS (more); i++) {
    const Found *layout = i < G_N_ELEMENTS (found) ? &found[i] : &more[i - G_N_ELEMENTS (found)];
    g_autoptr (TestFolder) folder = test_folder_new (), away = test_folder_new ();
    g_autofree char *opened = test_folder_file (folder, layout->opened);
    g_autofree char *aside = test_folder_file (away, "file");
    g_auto (GStrv) files = g_strsplit (layout->files, " ", -1);

    save_files (folder, layout->files, 0);
    pin_found (layout->name, opened, NULL);
    g_autofree char *usual = found_told (opened);
    for (guint k = 0; files[k]; k++) {
      g_autofree char *file = test_folder_file (folder, files[k]);
      g_autofree char *without = g_strconcat ("without ", files[k], NULL);

      pin_found (files[k], file, usual);
      g_assert_cmpint (g_rename (file, aside), ==, 0);
      pin_found (without, opened, usual);
      g_assert_cmpint (g_rename (aside, file), ==, 0);
    }
  }
}

/* Angles and notes of a folder that a text describes, or that has it beside. */
static void
pin_text (const char *what, const char *path, gboolean angles)
{
  const TdScanOptions options = { .angles = angles ? NULL : "0:170" };
  g_autoptr (GError) error = NULL;
  g_autoptr (TdScan) scan = td_scan_open (path, &options, NULL, &error);
  g_auto (GStrv) lines = td_test_opened_lines (scan, error);

  if (!scan) {
    td_test_pin ("%s: %s", what, lines[0]);
    return;
  }
  const TdScanFacts *facts = td_scan_facts (scan);
  g_autofree char *notes = g_strjoinv ("; ", lines + 1);
  td_test_pin ("%s: %u views from %.3f to %.3f°, %u flats, %u darks; %s", what, facts->n_views,
               td_degrees (facts->angles_rad[0]),
               td_degrees (facts->angles_rad[facts->n_views - 1]), facts->n_flats, facts->n_darks,
               notes);
}

/* What the texts beside images say in numbers: each is another one for once, and each line is
   lost. */
static void
test_texts_varied (void)
{
  static const struct {
    const char *name, *text;
  } texts[] = {
    { "a.log", "Beam energy [keV] : 20\nFile Prefix : a\nNumber of projections : 5\n"
               "Number of darks : 2\nNumber of flats : 1\nNumber of inter-flats : 0\n"
               "Rot Y min position  [deg] : 10.5\nRot Y max position  [deg] : 150\n"
               "Angular step [deg] : 36\n" },
    { "a.log", "File Prefix : a_\nNumber of projections : 9\nNumber of darks : 0\n"
               "Number of flats : 0\nRot Y min position : 0\nRot Y max position : 160\n" },
    { "scan.ini", "sod = 100.5\nsdd = 400\n" },
    { "scan.cfg", "source to sample distance in mm, by the stage's own reading: 100\n"
                  "Sample to detector: 9900\n" },
  };
  static const double times[] = { 0, -1, 0.5, 1.5, 2, 1e4, 1e8 };

  for (guint t = 0; t < G_N_ELEMENTS (texts); t++) {
    const char *text = texts[t].text;
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autofree char *path = test_folder_file (folder, texts[t].name);
    const gboolean log = g_str_has_suffix (path, ".log");

    for (guint k = 0; k < (log ? 9 : 5); k++) {
      g_autofree char *name = g_strdup_printf ("tif/a_%04u.tif", k + 1);
      save_frame (folder, name, COLUMNS, ROWS, (guint16) k);
    }
    for (const char *at = text; *at; at++) {
      char *end;
      const double number = g_ascii_strtod (at, &end);
      g_autofree char *begin = g_strndup (text, at - text);
      const char *line_end = strchr (at, '\n');

      if (at == text || at[-1] == '\n') {
        g_autofree char *without = g_strconcat (begin, line_end + 1, NULL);
        g_autofree char *line = g_strndup (at, line_end - at);
        g_autofree char *what = g_strdup_printf ("without “%s”", line);
        save_text (folder, texts[t].name, without);
        pin_text (what, folder->path, log);
      }
      if (!g_ascii_isdigit (*at))
        continue;
      for (guint k = 0; k < (number == 0 ? 2 : G_N_ELEMENTS (times)); k++) {
        const double value = number == 0 ? 1 - 2.0 * k : times[k] * number;
        g_autofree char *changed = g_strdup_printf ("%s%.9g%s", begin, value, end);
        const char *from = strrchr (begin, '\n');
        g_autofree char *what = g_strdup_printf ("%s%.9g", from ? from + 1 : begin, value);
        save_text (folder, texts[t].name, changed);
        pin_text (what, folder->path, log);
      }
      at = end - 1;
    }
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (found); i++) {
    g_autofree char *name = g_strconcat ("/scan/found/", found[i].name, NULL);

    g_test_add_data_func (name, &found[i], test_found);
  }
  for (guint i = 0; i < G_N_ELEMENTS (refused); i++) {
    g_autofree char *name = g_strconcat ("/scan/refused/", refused[i].name, NULL);

    g_test_add_data_func (name, &refused[i], test_refused);
  }
  for (guint i = 0; i < G_N_ELEMENTS (angle_files); i++) {
    g_autofree char *name = g_strconcat ("/scan/angles/", angle_files[i].name, NULL);

    g_test_add_data_func (name, &angle_files[i], test_angle_file);
  }
  g_test_add_func ("/scan/other-half-turn", test_other_half_turn);
  g_test_add_func ("/scan/angle-encodings", test_angle_encodings);
  g_test_add_func ("/scan/middle-frame", test_middle_frame);
  g_test_add_data_func ("/scan/gaps", GINT_TO_POINTER (FALSE), test_gaps);
  g_test_add_data_func ("/scan/gaps/raw", GINT_TO_POINTER (TRUE), test_gaps);
  g_test_add_func ("/scan/both-ends", test_both_ends);
  g_test_add_func ("/scan/lone-image", test_lone_image);
  g_test_add_func ("/scan/rows-for-views", test_rows_for_views);
  g_test_add_func ("/scan/lone-described", test_lone_described);
  g_test_add_func ("/scan/same-number", test_same_number);
  g_test_add_func ("/scan/corrected-beside", test_corrected_beside);
  g_test_add_func ("/scan/two-descriptions", test_two_descriptions);
  g_test_add_func ("/scan/result-log", test_result_log);
  g_test_add_func ("/scan/several-folders", test_several_folders);
  g_test_add_func ("/scan/called-by-angles", test_called_by_angles);
  g_test_add_func ("/scan/distances", test_distances);
  g_test_add_func ("/scan/uneven-raw", test_uneven_raw);
  g_test_add_func ("/scan/distances-of-others", test_distances_of_others);
  g_test_add_func ("/scan/tomcat", test_tomcat);
  g_test_add_func ("/scan/tomcat-stated", test_tomcat_stated);
  g_test_add_func ("/scan/angles-called-alike", test_angles_called_alike);
  g_test_add_func ("/scan/parameters-of-some", test_parameters_of_some);
  g_test_add_func ("/scan/called-as-flats", test_called_as_flats);
  g_test_add_func ("/scan/described-others", test_described_others);
  g_test_add_func ("/scan/described-image", test_described_image);
  g_test_add_func ("/scan/alone", test_alone);
  g_test_add_func ("/scan/others-companions", test_others_companions);
  g_test_add_func ("/scan/raw-sinograms", test_raw_sinograms);
  g_test_add_func ("/scan/raw-order", test_raw_order);
  g_test_add_func ("/scan/late-stack", test_late_stack);
  g_test_add_func ("/scan/mixed-folder", test_mixed_folder);
  g_test_add_func ("/scan/flats-above", test_flats_above);
  g_test_add_func ("/scan/stated-dataset", test_stated_dataset);
  g_test_add_func ("/scan/endings", test_endings);
  g_test_add_func ("/scan/stated-flats", test_stated_flats);
  g_test_add_func ("/scan/rabbitct", test_rabbitct);
  g_test_add_func ("/scan/other-formats", test_other_formats);
  g_test_add_func ("/scan/names", test_names);
  g_test_add_func ("/scan/names-told", test_names_told);
  g_test_add_func ("/scan/natural-order", test_natural_order);
  g_test_add_func ("/scan/folders-without", test_folders_without);
  g_test_add_func ("/scan/angle-lines", test_angle_lines);
  g_test_add_func ("/scan/angle-starts", test_angle_starts);
  g_test_add_func ("/scan/angle-ranges", test_angle_ranges);
  g_test_add_func ("/scan/angle-rests", test_angle_rests);
  g_test_add_func ("/scan/files-lost", test_files_lost);
  g_test_add_func ("/scan/texts-varied", test_texts_varied);
  g_test_add_func ("/scan/half-turn-averaged", test_half_turn_averaged);
  g_test_add_func ("/scan/flat-positions", test_flat_positions);
  g_test_add_data_func ("/scan/i13/folder", "i13_24737", test_i13);
  g_test_add_data_func ("/scan/i13/tiffs", "i13_24737/tiffs", test_i13);
  g_test_add_data_func ("/scan/i13/file", "i13_24737/tiffs/raw_00042.tiff", test_i13);
  g_test_add_func ("/scan/htc", test_htc);
  g_test_add_func ("/scan/htc-folder", test_htc_folder);
  g_test_add_func ("/scan/sarepy", test_sarepy);
  g_test_add_func ("/scan/ctsimu", test_ctsimu);
  g_test_add_func ("/scan/ctsimu-scenario", test_ctsimu_scenario);
  g_test_add_func ("/scan/hostile-json", test_hostile_json);
  return g_test_run ();
}
