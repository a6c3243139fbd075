/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Scans that are written open again with the same values: TIFF, NXtomo, raw files, sinograms, and
   scans in memory. */
#include <glib/gstdio.h>
#include <string.h>
#include <math.h>

#include "dataset/angles.h"
#include "dataset/error.h"
#include "dataset/hdf5-util.h"
#include "dataset/scan-private.h"
#include "dataset/scan-writer.h"
#include "dataset/tiff-save.h"
#include "tests/common/pins.h"
#include "open-scan.h"
#include "test-folder.h"

#define COLUMNS 17u
#define ROWS 9u
#define VIEWS 12u
#define FLATS 4u
#define DARKS 2u

typedef struct {
  TdScanFacts facts;
  float *frames[3];
} Made;

static const guint counts[3] = { VIEWS, FLATS, DARKS };

static void
make (Made *made, TdSampleType type)
{
  static double positions[FLATS] = { 0, 0, 5, VIEWS };
  g_autoptr (GRand) random = g_rand_new_with_seed (42);

  memset (made, 0, sizeof *made);
  td_geometry_init_parallel (&made->facts.geometry);
  made->facts.n_columns = COLUMNS;
  made->facts.n_rows = ROWS;
  made->facts.n_views = VIEWS;
  made->facts.n_flats = FLATS;
  made->facts.n_darks = DARKS;
  made->facts.sample_type = type;
  made->facts.angles_rad = td_angles_range (-10, 155, VIEWS);
  made->facts.flat_positions = positions;
  made->facts.centre_px = 7.25;
  made->facts.energy_kev = 23.5;
  made->facts.title = (char *) "made";
  for (guint kind = 0; kind < 3; kind++) {
    made->frames[kind] = g_new (float, counts[kind] * ROWS * COLUMNS);
    for (guint i = 0; i < counts[kind] * ROWS * COLUMNS; i++)
      made->frames[kind][i] = (float) g_rand_int_range (random, 0, 120);
  }
}

static void
made_clear (Made *made)
{
  g_free (made->facts.angles_rad);
  for (guint kind = 0; kind < 3; kind++)
    g_free (made->frames[kind]);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Made, made_clear)

static void
write_made (const Made *made, const char *path, TdScanFormat format)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TdScanWriter) writer = td_scan_writer_new (path, format, &made->facts, FALSE, &error);

  g_assert_no_error (error);
  for (guint kind = 0; kind < 3; kind++)
    for (guint i = counts[kind]; i-- > 0;) { /* backwards: any order will do */
      td_scan_writer_write (writer, kind, i, 1, made->frames[kind] + i * ROWS * COLUMNS, &error);
      g_assert_no_error (error);
    }
  g_assert_false (g_file_test (path, G_FILE_TEST_EXISTS));
  td_scan_writer_finish (writer, &error);
  g_assert_no_error (error);
}

static void
check_scan (TdScan *scan, const Made *made)
{
  const TdScanFacts *facts = td_scan_facts (scan);
  const guint found[3] = { facts->n_views, facts->n_flats, facts->n_darks };
  g_autoptr (GError) error = NULL;

  g_assert_cmpuint (facts->n_columns, ==, COLUMNS);
  g_assert_cmpuint (facts->n_rows, ==, ROWS);
  g_assert_cmpint (facts->sample_type, ==, made->facts.sample_type);
  for (guint i = 0; i < VIEWS; i++)
    g_assert_cmpfloat_with_epsilon (facts->angles_rad[i], made->facts.angles_rad[i], 1e-8);
  for (guint kind = 0; kind < 3; kind++) {
    gsize n = counts[kind] * ROWS * COLUMNS;
    g_autofree float *read = g_new (float, n);

    g_assert_cmpuint (found[kind], ==, counts[kind]);
    td_scan_read (scan, &(TdFrameRange) { kind, 0, counts[kind], 0, ROWS }, read, NULL, &error);
    g_assert_no_error (error);
    g_assert_cmpmem (read, n * sizeof *read, made->frames[kind], n * sizeof *read);
  }
}

static void
check_rows (TdScan *scan, const Made *made)
{
  float frames[5 * 4 * COLUMNS], sinograms[4 * 5 * COLUMNS];
  g_autoptr (GError) error = NULL;

  td_scan_read (scan, &(TdFrameRange) { TD_FRAME_PROJECTION, 3, 5, 2, 4 }, frames, NULL, &error);
  g_assert_no_error (error);
  td_scan_read_sinograms (scan, &(TdFrameRange) { TD_FRAME_PROJECTION, 3, 5, 2, 4 }, sinograms,
                          NULL, &error);
  g_assert_no_error (error);
  for (guint v = 0; v < 5; v++)
    for (guint r = 0; r < 4; r++)
      for (guint c = 0; c < COLUMNS; c++) {
        float truth = made->frames[0][((v + 3) * ROWS + r + 2) * COLUMNS + c];

        g_assert_cmpfloat (frames[(v * 4 + r) * COLUMNS + c], ==, truth);
        g_assert_cmpfloat (sinograms[(r * 5 + v) * COLUMNS + c], ==, truth);
      }
  check_rows_apart (scan, &(TdFrameRange) { TD_FRAME_PROJECTION, 3, 5, 2, 4 });
  const TdSampleType type = td_scan_facts (scan)->sample_type;
  g_assert_true (check_stored (scan, &(TdFrameRange) { TD_FRAME_PROJECTION, 3, 5, 2, 4 })
                 == (type == TD_SAMPLE_UINT16 || type == TD_SAMPLE_UINT8));
}

static void
pin_numbers (hid_t file, const char *path)
{
  hsize_t shape[3];
  gsize n = 0;
  g_auto (TdH5Id) dataset = td_h5_find_dataset (file, path, NULL);
  g_autofree double *numbers = td_h5_numbers (dataset, path, &n, NULL);
  g_autoptr (GString) text = g_string_new (NULL);

  for (gsize i = 0; i < n; i++)
    g_string_append_printf (text, " %.4f", numbers[i]);
  td_test_pin ("%s: rank %d:%s", path, td_h5_shape (dataset, shape, 3), text->str);
}

/* What other programs find in an NXtomo file: of many views, and of one alone. */
static void
test_written_file (void)
{
  for (guint alone = 0; alone < 2; alone++) {
    TD_H5_GUARD;
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autofree char *path = test_folder_file (folder, "scan.nxs");
    g_autoptr (GError) error = NULL;
    g_auto (Made) made = { 0 };

    make (&made, TD_SAMPLE_UINT16);
    if (alone) {
      made.facts.n_views = 1;
      made.facts.n_flats = made.facts.n_darks = 0;
    }
    g_autoptr (TdScanWriter) writer
        = td_scan_writer_new (path, TD_SCAN_NXTOMO, &made.facts, FALSE, &error);
    g_assert_no_error (error);
    const guint n[] = { made.facts.n_views, made.facts.n_flats, made.facts.n_darks };
    for (guint kind = 0; kind < 3; kind++)
      if (n[kind])
        g_assert_true (td_scan_writer_write (writer, kind, 0, n[kind], made.frames[kind], NULL));
    g_assert_true (td_scan_writer_finish (writer, &error));
    g_auto (TdH5Id) file = td_h5_open (path, &error);
    g_assert_no_error (error);
    pin_numbers (file, "/entry/tomo_entry/sample/rotation_angle");
    pin_numbers (file, "/entry/tomo_entry/instrument/detector/image_key");
    pin_numbers (file, "/entry/tomo_entry/beam/incident_energy");
  }
}

static void
test_written (gconstpointer data)
{
  guint which = GPOINTER_TO_UINT (data);
  TdScanFormat format = which & 1 ? TD_SCAN_NXTOMO : TD_SCAN_TIFF;
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, format == TD_SCAN_TIFF ? "scan" : "scan.nxs");
  g_auto (Made) made = { 0 };

  make (&made, which / 2);
  write_made (&made, path, format);
  g_assert_cmpuint (test_folder_count (folder), ==, 1);
  g_autoptr (TdScan) scan = open_scan (path, NULL);
  check_scan (scan, &made);
  check_rows (scan, &made);
  if (format == TD_SCAN_NXTOMO) {
    const TdScanFacts *facts = td_scan_facts (scan);

    for (guint i = 0; i < FLATS; i++)
      g_assert_cmpfloat (facts->flat_positions[i], ==, made.facts.flat_positions[i]);
    g_assert_cmpfloat_with_epsilon (facts->centre_px, 7.25, 1e-9);
    g_assert_cmpfloat_with_epsilon (facts->energy_kev, 23.5, 1e-9);
    g_assert_cmpstr (facts->title, ==, "made");
  }
}

static void
test_written_cone (gconstpointer data)
{
  TdScanFormat format = GPOINTER_TO_UINT (data);
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, format == TD_SCAN_TIFF ? "scan" : "scan.nxs");
  g_auto (Made) made = { 0 };
  TdGeometry *geometry = &made.facts.geometry;

  make (&made, TD_SAMPLE_FLOAT32);
  geometry->beam = TD_BEAM_CONE;
  geometry->pixel_width_mm = 0.2;
  geometry->pixel_height_mm = 0.25;
  geometry->source_axis_mm = 100.125;
  geometry->source_detector_mm = 400.0625;
  geometry->detector_offset_u_px = -1.5;
  geometry->detector_tilt_rad[2] = 0.01;
  write_made (&made, path, format);
  g_autoptr (TdScan) scan = open_scan (path, NULL);
  check_scan (scan, &made);
  const TdGeometry *read = &td_scan_facts (scan)->geometry;
  g_assert_cmpint (read->beam, ==, TD_BEAM_CONE);
  g_assert_cmpfloat (read->pixel_height_mm, ==, 0.25);
  g_assert_cmpfloat (read->source_axis_mm, ==, 100.125);
  g_assert_cmpfloat (read->source_detector_mm, ==, 400.0625);
  g_assert_cmpfloat (read->detector_offset_u_px, ==, -1.5);
  g_assert_cmpfloat (read->detector_tilt_rad[2], ==, 0.01);
}

/* A folder that holds one file of a scan, or whose folder "projections" does, is that scan. A
   description is left over from images that were put into the file. Of several one has to be named.
 */
static void
test_folder_of_files (void)
{
  static const char *const lists[] = { NULL,
                                       "holds 2 scans (a.nxs, b.nxs)",
                                       NULL,
                                       NULL,
                                       "holds 5 scans (a.nxs, b.nxs, c.nxs, d.nxs, e.nxs)",
                                       "holds 6 scans (a.nxs, b.nxs, c.nxs, d.nxs, e.nxs, …)" };
  g_auto (Made) made = { 0 };

  make (&made, TD_SAMPLE_UINT16);
  for (guint below = 0; below < 2; below++) {
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autofree char *projections = test_folder_file (folder, "projections");
    g_autofree char *log = test_folder_file (folder, "part_.log");
    g_assert_true (g_file_set_contents (log, "[System]\nScanner=SkyScan1172\n", -1, NULL));
    if (below)
      g_assert_cmpint (g_mkdir (projections, 0700), ==, 0);
    for (guint i = 0; i < G_N_ELEMENTS (lists); i++) {
      const char name[] = { (char) ('a' + i), '.', 'n', 'x', 's', 0 };
      g_autofree char *path = g_build_filename (below ? projections : folder->path, name, NULL);
      g_autoptr (GError) error = NULL;
      write_made (&made, path, TD_SCAN_NXTOMO);
      g_autoptr (TdScan) scan = td_scan_open (folder->path, NULL, NULL, &error);
      if (i == 0) {
        g_assert_no_error (error);
        check_scan (scan, &made);
        continue;
      }
      g_assert_error (error, TD_ERROR, TD_ERROR_UNSUPPORTED);
      td_test_pin_refused (error);
      g_test_message ("%s", error->message);
      g_assert_nonnull (strstr (error->message, lists[i] ? lists[i] : "open one of the files"));
    }
  }
}

static void
test_writer_gaps (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "scan");
  g_auto (Made) made = { 0 };
  g_autoptr (GError) error = NULL;

  make (&made, TD_SAMPLE_UINT16);
  for (TdScanFormat format = TD_SCAN_TIFF; format <= TD_SCAN_NXTOMO; format++) {
    TdScanWriter *writer = td_scan_writer_new (path, format, &made.facts, FALSE, &error);

    g_assert_no_error (error);
    g_assert_true (td_scan_writer_write (writer, 0, 0, VIEWS, made.frames[0], NULL));
    g_assert_false (td_scan_writer_write (writer, 0, 2, 1, made.frames[0], &error));
    test_assert_sentence (error, "scan");
    g_clear_error (&error);
    g_assert_false (td_scan_writer_finish (writer, &error));
    test_assert_sentence (error, "scan");
    g_clear_error (&error);
    td_scan_writer_free (writer);
    g_assert_cmpuint (test_folder_count (folder), ==, 0);
  }
}

/* One frame of constant @value. */
/* Image r is row r: what comes out as frames and as sinograms. */
static void
test_sinograms (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autoptr (GError) error = NULL;
  TdScanOptions options
      = { .angles = "0:360", .sinograms = TRUE, .values = TD_SCAN_VALUES_INTENSITIES };
  g_auto (Made) made = { 0 };

  make (&made, TD_SAMPLE_FLOAT32);
  for (guint r = 0; r < ROWS; r++) {
    g_autofree char *name = g_strdup_printf ("row_%u.tif", r), *path = NULL;
    float image[VIEWS * COLUMNS];
    TdTiffImage tiff = { COLUMNS, VIEWS, TD_SAMPLE_FLOAT32, 0, NULL };

    path = test_folder_file (folder, name);
    for (guint v = 0; v < VIEWS; v++)
      memcpy (image + v * COLUMNS, made.frames[0] + (v * ROWS + r) * COLUMNS,
              sizeof (float) * COLUMNS);
    g_assert_true (td_tiff_save_single (path, name, &tiff, image, NULL));
  }
  g_autoptr (TdScan) scan = open_scan (folder->path, &options);
  g_assert_cmpuint (td_scan_facts (scan)->n_rows, ==, ROWS);
  g_assert_cmpuint (td_scan_facts (scan)->n_views, ==, VIEWS);
  g_assert_true (td_scan_facts (scan)->sinogram_order);
  check_rows (scan, &made);
}

static void
test_raw (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "frames.raw");
  g_autofree guint8 *bytes = g_malloc0 (7 + VIEWS * ROWS * COLUMNS * 2);
  TdScanOptions options = { .angles = "0:180",
                            .raw_columns = COLUMNS,
                            .raw_rows = ROWS,
                            .raw_type = TD_SAMPLE_UINT16,
                            .raw_header_bytes = 7 };
  g_auto (Made) made = { 0 };
  g_autoptr (GError) error = NULL;

  make (&made, TD_SAMPLE_UINT16);
  for (guint big = 0; big < 2; big++) {
    g_autoptr (TdScan) scan = NULL;

    for (guint i = 0; i < VIEWS * ROWS * COLUMNS; i++) {
      guint16 value = (guint16) made.frames[0][i] * 256 + 3;

      value = big ? GUINT16_TO_BE (value) : GUINT16_TO_LE (value);
      memcpy (bytes + 7 + 2 * i, &value, 2);
    }
    g_assert_true (
        g_file_set_contents (path, (char *) bytes, 7 + VIEWS * ROWS * COLUMNS * 2, NULL));
    options.raw_big_endian = !big;
    td_scan_options_set_raw (&options, big ? "17x9:uint16be:7" : "17x9:uint16:7", &error);
    g_assert_no_error (error);
    g_assert_cmpuint (options.raw_columns, ==, COLUMNS);
    g_assert_cmpuint (options.raw_rows, ==, ROWS);
    scan = open_scan (path, &options);
    g_assert_cmpuint (td_scan_facts (scan)->n_views, ==, VIEWS);
    g_assert_cmpfloat (first_value (scan, TD_FRAME_PROJECTION, 5), ==,
                       made.frames[0][5 * ROWS * COLUMNS] * 256 + 3);
    g_assert_true (check_stored (scan, &(TdFrameRange) { TD_FRAME_PROJECTION, 1, 6, 2, 5 }));
  }
  g_assert_false (td_scan_options_set_raw (&options, "17x9:uint16le", &error));
  test_assert_sentence (error, "uint16le");
  g_clear_error (&error);
  options.raw_rows = ROWS + 1;
  g_assert_null (td_scan_open (path, &options, NULL, &error));
  test_assert_sentence (error, "frames.raw");
}

/* The axis comes back from wherever it was. */
static void
test_written_centre (void)
{
  static const double centres[] = { -3, 0, 0.25, 8, 16, 16.5, 40, NAN };

  for (guint i = 0; i < G_N_ELEMENTS (centres); i++) {
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autofree char *path = test_folder_file (folder, "scan.nxs");
    g_auto (Made) made = { 0 };

    make (&made, TD_SAMPLE_UINT16);
    made.facts.centre_px = centres[i];
    g_autoptr (TdScan) from = td_scan_new_from_memory (&made.facts, made.frames[0], made.frames[1],
                                                       made.frames[2], NULL, NULL);
    g_autoptr (GError) error = NULL;
    td_scan_save (from, path, TD_SCAN_NXTOMO, NULL, &error);
    g_assert_no_error (error);
    g_autoptr (TdScan) scan = open_scan (path, NULL);
    const double read = td_scan_facts (scan)->centre_px;
    if (isnan (centres[i]))
      g_assert_true (isnan (read));
    else
      g_assert_cmpfloat (read, ==, centres[i]);
  }
}

/* Frames in a folder that holds the folders of their flats and darks, too. */
static void
test_raw_folders (void)
{
  static const char *const files[] = { "view_0.raw",    "view_1.raw",    "view_2.raw",
                                       "darks/d_0.raw", "flats/f_0.raw", "flats/f_1.raw" };
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *flats = test_folder_file (folder, "flats");
  g_autofree char *darks = test_folder_file (folder, "darks");
  const TdScanOptions options = { .angles = "0:90",
                                  .flats = flats,
                                  .darks = darks,
                                  .raw_columns = 4,
                                  .raw_rows = 2,
                                  .raw_type = TD_SAMPLE_UINT8 };

  g_mkdir (flats, 0777);
  g_mkdir (darks, 0777);
  for (guint i = 0; i < G_N_ELEMENTS (files); i++) {
    g_autofree char *path = test_folder_file (folder, files[i]);
    char bytes[8];
    memset (bytes, (int) (10 + i), sizeof bytes);
    g_assert_true (g_file_set_contents (path, bytes, sizeof bytes, NULL));
  }
  g_autoptr (TdScan) scan = open_scan (folder->path, &options);
  g_assert_cmpuint (td_scan_facts (scan)->n_views, ==, 3);
  g_assert_cmpuint (td_scan_facts (scan)->n_flats, ==, 2);
  g_assert_cmpuint (td_scan_facts (scan)->n_darks, ==, 1);
  g_assert_cmpfloat (first_value (scan, TD_FRAME_PROJECTION, 2), ==, 12);
  g_assert_cmpfloat (first_value (scan, TD_FRAME_FLAT, 1), ==, 15);
}

/* A file with a header that is said to have none is told by its format, even where its size fits.
   Who skips the header of a TIFF file means it. */
static void
test_raw_with_header (void)
{
  static const struct {
    const char *start, *says;
    gsize bytes;
  } cases[] = {
    { "II*", "is a TIFF file", 4 },
    { "MM\0*", "is a TIFF file", 4 },
    { "II+", "is a TIFF file", 4 },
    { "\211HDF\r\n\032\n", "is an HDF5 file", 8 },
  };
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "a.raw"),
                  *plain = test_folder_file (folder, "b.raw");
  guint8 bytes[8 + VIEWS * ROWS * COLUMNS] = { 0 };
  const gsize size = VIEWS * ROWS * COLUMNS;

  g_assert_true (g_file_set_contents (plain, (const char *) bytes, size, NULL));
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    for (guint flats = 0; flats < 2; flats++) {
      const TdScanOptions options = { .angles = "0:180",
                                      .flats = flats ? path : NULL,
                                      .raw_columns = COLUMNS,
                                      .raw_rows = ROWS,
                                      .raw_type = TD_SAMPLE_UINT8 };
      g_autoptr (GError) error = NULL;

      memcpy (bytes, cases[i].start, cases[i].bytes);
      g_assert_true (g_file_set_contents (path, (const char *) bytes, size, NULL));
      g_assert_null (td_scan_open (flats ? plain : path, &options, NULL, &error));
      test_assert_sentence (error, cases[i].says);
      g_assert_nonnull (strstr (error->message, "--raw"));
      g_assert_nonnull (strstr (error->message, "a.raw"));
    }

  const TdScanOptions skips = { .angles = "0:180",
                                .raw_columns = COLUMNS,
                                .raw_rows = ROWS,
                                .raw_type = TD_SAMPLE_UINT8,
                                .raw_header_bytes = 8 };
  memcpy (bytes, "II*", 4);
  g_assert_true (g_file_set_contents (path, (const char *) bytes, 8 + size, NULL));
  g_autoptr (TdScan) scan = open_scan (path, &skips);
  g_assert_cmpuint (td_scan_facts (scan)->n_views, ==, VIEWS);
}

static void
test_memory (void)
{
  g_auto (Made) made = { 0 };
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GError) error = NULL;
  float row[COLUMNS];

  make (&made, TD_SAMPLE_FLOAT32);
  g_autoptr (TdScan) scan = td_scan_new_from_memory (&made.facts, made.frames[0], made.frames[1],
                                                     made.frames[2], NULL, NULL);
  check_scan (scan, &made);
  check_rows (scan, &made);
  g_assert_false (
      td_scan_read (scan, &(TdFrameRange) { TD_FRAME_FLAT, FLATS, 1, 0, 1 }, row, NULL, &error));
  test_assert_sentence (error, "flats");
  g_clear_error (&error);
  g_assert_false (td_scan_read (scan, &(TdFrameRange) { TD_FRAME_PROJECTION, 0, 1, ROWS - 1, 2 },
                                row, NULL, &error));
  g_clear_error (&error);
  g_cancellable_cancel (cancellable);
  g_assert_false (td_scan_read (scan, &(TdFrameRange) { TD_FRAME_PROJECTION, 0, 1, 0, 1 }, row,
                                cancellable, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
}

/* What is written, and what it is read as. @flats: (out): where they are read to be, and how the
   first file of them is called. */
static char **
written_lines (const Made *made, TdScanFormat format, const TestFolder *folder, char **flats)
{
  static const TdScanOptions options = { 0 };
  g_autofree char *path = test_folder_file (folder, format == TD_SCAN_TIFF ? "out" : "out.nxs");
  g_autoptr (TdScan) scan = td_scan_new_from_memory (&made->facts, made->frames[0], made->frames[1],
                                                     made->frames[2], NULL, NULL);
  g_autoptr (GString) text = g_string_new (NULL);
  g_autoptr (GError) error = NULL;

  test_folder_remove (path);
  td_scan_save (scan, path, format, NULL, &error);
  g_assert_no_error (error);
  g_autofree char *below = g_build_filename (path, "flats", NULL);
  g_autoptr (GDir) names = g_dir_open (below, 0, NULL);
  guint n = 0;
  for (const char *name; names && (name = g_dir_read_name (names));)
    n += g_str_has_suffix (name, "_before.tif") + 10 * g_str_has_suffix (name, "_after.tif");
  g_autoptr (TdScan) read = td_scan_open (path, &options, NULL, &error);
  const TdScanFacts *facts = read ? td_scan_facts (read) : NULL;
  for (guint i = 0; facts && facts->flat_positions && i < facts->n_flats; i++)
    g_string_append_printf (text, " %.2f", facts->flat_positions[i]);
  *flats = g_strdup_printf ("%u,%s", n, text->str);
  return td_test_opened_lines (read, error);
}

/* Each thing that is known of a scan is another one, or not known, when it is written. */
static void
test_written_varied (void)
{
  enum { PLAIN, TITLE, CENTRE, PIXEL, ENERGY, DISTANCE, HALF, LOGGED, POSITIONS, CONE, FRAMES };
  static double ends[FLATS] = { -1, 0, VIEWS, VIEWS + 3 }, inner[FLATS] = { 0, 2.5, 6, 11 };
  static const struct {
    guint what;
    double value;
    const char *name;
    double *positions;
  } cases[] = {
    { PLAIN, 0, "as it is" },
    { TITLE, 0, "no title" },
    { CENTRE, NAN, "no centre" },
    { CENTRE, -0.001, "a centre left of the first column" },
    { CENTRE, 0, "the first column" },
    { CENTRE, 16, "the last column" },
    { CENTRE, 16.001, "a centre right of it" },
    { PIXEL, 0.25, "square pixels" },
    { PIXEL, 0, "no pixels" },
    { ENERGY, 0, "no energy" },
    { DISTANCE, 250, "a distance" },
    { HALF, 1, "half acquisition" },
    { LOGGED, 1, "attenuations" },
    { POSITIONS, 0, "flats at no time" },
    { POSITIONS, 0, "flats before and after", ends },
    { POSITIONS, 0, "flats between", inner },
    { CONE, 100, "a cone" },
    { FRAMES, 0, "no flats" },
    { FRAMES, 1, "one flat" },
  };

  g_autoptr (TestFolder) folder = test_folder_new ();

  for (TdScanFormat format = TD_SCAN_TIFF; format <= TD_SCAN_NXTOMO; format++) {
    g_auto (GStrv) usual = NULL;
    for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
      g_auto (Made) made = { 0 };
      const double value = cases[i].value;

      make (&made, TD_SAMPLE_UINT16);
      TdScanFacts *f = &made.facts;
      f->geometry.pixel_width_mm = 0.5;
      f->geometry.pixel_height_mm = 0.4;
      switch (cases[i].what) {
      case TITLE: f->title = NULL; break;
      case CENTRE: f->centre_px = value; break;
      case PIXEL: f->geometry.pixel_width_mm = f->geometry.pixel_height_mm = value; break;
      case ENERGY: f->energy_kev = value; break;
      case DISTANCE: f->propagation_mm = value; break;
      case HALF: f->half_acquisition = TRUE; break;
      case LOGGED: f->transmission_logged = TRUE; break;
      case POSITIONS: f->flat_positions = cases[i].positions; break;
      case CONE:
        f->geometry.beam = TD_BEAM_CONE;
        f->geometry.source_axis_mm = value;
        f->geometry.source_detector_mm = 3 * value;
        f->geometry.detector_tilt_rad[1] = 0.01;
        break;
      case FRAMES:
        f->n_flats = (guint) value;
        f->n_darks = 0;
        break;
      }
      g_autofree char *flats = NULL;
      g_auto (GStrv) lines = written_lines (&made, format, folder, &flats);
      if (!usual)
        usual = g_strdupv (lines);
      g_autofree char *changes = td_test_opened_changes (lines, usual);
      td_test_pin ("%s, %s: %s, %s", format == TD_SCAN_TIFF ? "TIFF" : "NXtomo", cases[i].name,
                   flats, changes);
    }
  }
}

static void
limits_free (gpointer unused)
{
}

/* What a scan can be at most, and what it is refused for; an energy or a distance that cannot be is
   none. */
static void
test_limits (void)
{
  static const struct {
    guint columns, rows, views, flats, darks;
    const char *says; /* NULL: it is good */
  } cases[] = {
    { 1, 1, 1, 0, 0, NULL },
    { 0, 1, 1, 0, 0, "nothing to reconstruct" },
    { 1, 0, 1, 0, 0, "nothing to reconstruct" },
    { 1, 1, 0, 0, 0, "holds no projections" },
    { TD_SCAN_MAX_SIDE, 1, 1, 0, 0, NULL },
    { TD_SCAN_MAX_SIDE + 1, 1, 1, 0, 0, "more than a scan can have" },
    { 1, TD_SCAN_MAX_SIDE, 1, 0, 0, NULL },
    { 1, TD_SCAN_MAX_SIDE + 1, 1, 0, 0, "more than a scan can have" },
    { 65536, 32767, 1, 0, 0, NULL },
    { 65536, 32768, 1, 0, 0, "more than a scan can have" },
    { 1, 1, TD_SCAN_MAX_FRAMES + 1, 0, 0, "more than a scan can have" },
    { 1, 1, 1, TD_SCAN_MAX_FRAMES, TD_SCAN_MAX_FRAMES, NULL },
    { 1, 1, 1, TD_SCAN_MAX_FRAMES + 1, 0, "more than a scan can have" },
    { 1, 1, 1, 0, TD_SCAN_MAX_FRAMES + 1, "more than a scan can have" },
  };
  static const double sizes[][2]
      = { { 0, 0 }, { 20, 20 }, { -1e-9, 0 }, { INFINITY, 0 }, { NAN, 0 }, { 1e-3, 1e-3 } };
  static const TdScanSource none = { .free = limits_free };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (TdScan) scan = td_scan_alloc ("scan.h5", &none, NULL);
    g_autoptr (GError) error = NULL;

    td_geometry_init_parallel (&scan->facts.geometry);
    scan->facts.n_columns = cases[i].columns;
    scan->facts.n_rows = cases[i].rows;
    scan->facts.n_views = cases[i].views;
    scan->facts.n_flats = cases[i].flats;
    scan->facts.n_darks = cases[i].darks;
    scan->facts.angles_rad = g_new0 (double, 1);
    scan->facts.energy_kev = sizes[i % G_N_ELEMENTS (sizes)][0];
    scan->facts.propagation_mm = sizes[(i + 1) % G_N_ELEMENTS (sizes)][0];
    g_assert_cmpint (td_scan_validate (scan, &error), ==, cases[i].says == NULL);
    if (cases[i].says) {
      test_assert_sentence (error, cases[i].says);
      continue;
    }
    g_assert_cmpfloat (scan->facts.energy_kev, ==, sizes[i % G_N_ELEMENTS (sizes)][1]);
    g_assert_cmpfloat (scan->facts.propagation_mm, ==, sizes[(i + 1) % G_N_ELEMENTS (sizes)][1]);
  }
}

/* Without angles nothing is opened, of one view or of several; nor with one that is no number. */
static void
test_no_angles (void)
{
  static const struct {
    guint n_views;
    double last;
    const char *says;
  } cases[] = {
    { 1, -1, "holds one projection, without its angle" },
    { 2, -1, "comes without angles" },
    { 3, NAN, "the angle of view 2 is not a number" },
    { 1, INFINITY, "the angle of view 0 is not a number" },
    { 3, 2, NULL },
  };
  static const TdScanSource none = { .free = limits_free };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (TdScan) scan = td_scan_alloc ("scan.h5", &none, NULL);
    g_autoptr (GError) error = NULL;

    td_geometry_init_parallel (&scan->facts.geometry);
    scan->facts.n_columns = scan->facts.n_rows = 4;
    scan->facts.n_views = cases[i].n_views;
    if (cases[i].last != -1) {
      scan->facts.angles_rad = g_new0 (double, cases[i].n_views);
      scan->facts.angles_rad[cases[i].n_views - 1] = cases[i].last;
    }
    g_assert_cmpint (td_scan_validate (scan, &error), ==, cases[i].says == NULL);
    if (cases[i].says)
      test_assert_sentence (error, cases[i].says);
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < 16; i++) {
    g_autofree char *name = g_strdup_printf ("/scan/written/%s/%s", i & 1 ? "nxtomo" : "tiff",
                                             td_sample_name (i / 2));

    g_test_add_data_func (name, GUINT_TO_POINTER (i), test_written);
  }
  g_test_add_data_func ("/scan/written-cone/tiff", GUINT_TO_POINTER (TD_SCAN_TIFF),
                        test_written_cone);
  g_test_add_data_func ("/scan/written-cone/nxtomo", GUINT_TO_POINTER (TD_SCAN_NXTOMO),
                        test_written_cone);
  g_test_add_func ("/scan/written-file", test_written_file);
  g_test_add_func ("/scan/folder-of-files", test_folder_of_files);
  g_test_add_func ("/scan/writer-gaps", test_writer_gaps);
  g_test_add_func ("/scan/sinograms", test_sinograms);
  g_test_add_func ("/scan/raw", test_raw);
  g_test_add_func ("/scan/written-centre", test_written_centre);
  g_test_add_func ("/scan/raw-folders", test_raw_folders);
  g_test_add_func ("/scan/raw-with-header", test_raw_with_header);
  g_test_add_func ("/scan/memory", test_memory);
  g_test_add_func ("/scan/written-varied", test_written_varied);
  g_test_add_func ("/scan/limits", test_limits);
  g_test_add_func ("/scan/without-angles", test_no_angles);
  return g_test_run ();
}
