/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files that nobody should have written: cut short, flipped, empty, enormous.
 * Whatever the file, opening and reading ends with data or with one sentence. */
#include <fcntl.h>
#include <glib/gstdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "dataset/hdf5-write.h"
#include "dataset/scan-writer.h"
#include "dataset/volume.h"
#include "small-scan.h"
#include "tests/unit/test-folder.h"

#define FLIPS 300u

static const char *const names[] = { "scan.tif", "scan.nxs", "scan.h5" };

/* Reads all that a scan promises, or sees a proper error. The scan's size is bounded by its file's,
 * since a flipped size must not make the test take gigabytes. */
static void
read_all (const char *path)
{
  static const TdScanOptions options = { .angles = "0:180" };
  g_autoptr (GError) error = NULL;
  g_autoptr (TdScan) scan = td_scan_open (path, &options, NULL, &error);

  if (!scan) {
    test_assert_sentence (error, NULL);
    return;
  }
  const TdScanFacts *facts = td_scan_facts (scan);
  gsize pixels = (gsize) facts->n_columns * facts->n_rows;
  g_assert_cmpuint (pixels, >, 0);
  g_assert_cmpuint (facts->n_views, >, 0);
  if (pixels > (gsize) 1 << 22)
    return;
  for (guint kind = 0; kind < 3; kind++) {
    guint n = kind == 0 ? facts->n_views : kind == 1 ? facts->n_flats : facts->n_darks;

    for (guint i = 0; i < MIN (n, 20); i++) {
      g_autofree float *frame = g_new (float, pixels);
      g_autoptr (GError) own = NULL;

      if (!td_scan_read (scan, &(TdFrameRange) { kind, i, 1, 0, facts->n_rows }, frame, NULL, &own))
        test_assert_sentence (own, NULL);
    }
  }
}

static void
read_volume (const char *path)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TdVolume) volume = td_volume_open (path, &error);

  if (!volume) {
    test_assert_sentence (error, NULL);
    return;
  }
  const TdVolumeFacts *facts = td_volume_facts (volume);
  if ((gsize) facts->nx * facts->ny <= (gsize) 1 << 22) {
    g_autofree float *slice = g_new (float, (gsize) facts->nx * facts->ny);

    if (!td_volume_read (volume, facts->n_slices / 2, 1, slice, &error))
      test_assert_sentence (error, NULL);
  }
}

/* A sound file of each kind: multi-page BigTIFF, NXtomo, DXchange with chunks and compression. */
static void
make_file (const char *path, guint which)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (5);
  g_autofree float *values = g_new (float, VIEWS *ROWS *COLUMNS);
  g_autoptr (GError) error = NULL;
  double angles[VIEWS];
  TdScanFacts facts;

  for (guint i = 0; i < VIEWS * ROWS * COLUMNS; i++)
    values[i] = (float) g_rand_int_range (random, 0, 65536);
  if (which == 0) {
    TdVolumeSpec spec = { .path = (char *) path,
                          .format = TD_VOLUME_BIGTIFF,
                          .bits = 16,
                          .high = 65535,
                          .nx = COLUMNS,
                          .ny = ROWS,
                          .n_slices = VIEWS };
    g_autoptr (TdVolumeWriter) writer = td_volume_writer_new (&spec, &error);

    g_assert_no_error (error);
    g_assert_true (td_volume_writer_write (writer, 0, VIEWS, values, NULL));
    g_assert_true (td_volume_writer_finish (writer, NULL, NULL));
  } else if (which == 1) {
    g_autoptr (TdScanWriter) writer = NULL;

    fill_facts (&facts, angles);
    writer = td_scan_writer_new (path, TD_SCAN_NXTOMO, &facts, FALSE, &error);
    g_assert_no_error (error);
    g_assert_true (td_scan_writer_write (writer, 0, 0, VIEWS, values, NULL));
    g_assert_true (td_scan_writer_write (writer, 1, 0, 1, values, NULL));
    g_assert_true (td_scan_writer_write (writer, 2, 0, 1, values, NULL));
    g_assert_true (td_scan_writer_finish (writer, NULL));
  } else {
    TD_H5_GUARD;
    hsize_t shape[3] = { VIEWS, ROWS, COLUMNS }, chunk[3] = { 2, ROWS, 16 };
    hid_t file = td_h5_create_sized (path, 0);

    {
      g_auto (TdH5Id) group = td_h5_add_group (file, "exchange", "NXcollection");
      g_auto (TdH5Id) space = H5Screate_simple (3, shape, NULL);
      g_auto (TdH5Id) properties = H5Pcreate (H5P_DATASET_CREATE);
      g_auto (TdH5Id) dataset = -1;

      H5Pset_chunk (properties, 3, chunk);
      H5Pset_shuffle (properties);
      H5Pset_deflate (properties, 3);
      dataset
          = H5Dcreate2 (group, "data", H5T_STD_U16LE, space, H5P_DEFAULT, properties, H5P_DEFAULT);
      g_assert_cmpint (H5Dwrite (dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values),
                       >=, 0);
    }
    g_assert_true (td_h5_finish (file));
  }
}

static void
test_cut_short (gconstpointer data)
{
  guint which = GPOINTER_TO_UINT (data);
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, names[which]), *bytes = NULL;
  g_autofree char *cut = test_folder_file (folder, which == 0 ? "cut.tif" : "cut.h5");
  gsize size;

  make_file (path, which);
  read_all (path);
  g_assert_true (g_file_get_contents (path, &bytes, &size, NULL));
  g_remove (path);
  for (gsize length = 0; length < size; length += length < 3000 ? 37 : size / 97 + 1) {
    g_assert_true (
        g_file_set_contents_full (cut, bytes, length, G_FILE_SET_CONTENTS_NONE, 0600, NULL));
    read_all (cut);
    read_volume (cut);
  }
}

static void
test_flipped (gconstpointer data)
{
  guint which = GPOINTER_TO_UINT (data);
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, names[which]), *bytes = NULL;
  g_autofree char *bad = test_folder_file (folder, which == 0 ? "bad.tif" : "bad.h5");
  g_autoptr (GRand) random = g_rand_new_with_seed (1000 + which);
  gsize size;

  make_file (path, which);
  g_assert_true (g_file_get_contents (path, &bytes, &size, NULL));
  g_remove (path);
  for (guint i = 0; i < FLIPS; i++) {
    g_autofree char *copy = g_memdup2 (bytes, size);
    guint n = g_rand_int_range (random, 1, 5);

    /* structure stands at the front: most flips go there */
    for (guint j = 0; j < n; j++)
      copy[g_rand_int_range (random, 0, j % 2 ? (gint32) size : (gint32) MIN (size, 4096))]
          = (char) g_rand_int_range (random, 0, 256);
    g_assert_true (
        g_file_set_contents_full (bad, copy, size, G_FILE_SET_CONTENTS_NONE, 0600, NULL));
    read_all (bad);
    read_volume (bad);
  }
}

/* The most memory this process ever had, in bytes. */
static gsize
peak_memory (void)
{
  struct rusage usage;

  getrusage (RUSAGE_SELF, &usage);
  return (gsize) usage.ru_maxrss * 1024;
}

static void
put (GByteArray *bytes, guint64 value, guint size)
{
  value = GUINT64_TO_LE (value);
  g_byte_array_append (bytes, (const guint8 *) &value, size);
}

static void
put_tag (GByteArray *bytes, guint tag, guint type, guint64 value)
{
  put (bytes, tag, 2);
  put (bytes, type, 2);
  put (bytes, 1, 8);
  put (bytes, value, 8);
}

#define HUGE_SIDE 4096u
#define HUGE_PAGES 1500u
#define HUGE_BYTES ((guint64) HUGE_SIDE * HUGE_SIDE * 4)

/* A BigTIFF of 1500 float images of 4096²: 100 GB in name, a few hundred KiB on disk. */
static gboolean
make_huge_tiff (const char *path)
{
  static const guint tags[][2]
      = { { 256, HUGE_SIDE }, { 257, HUGE_SIDE }, { 258, 32 }, { 259, 1 }, { 262, 1 } };
  g_autoptr (GByteArray) bytes = g_byte_array_new ();
  guint64 directory = 8 + 9 * 20 + 8, data = 16 + directory * HUGE_PAGES;

  put (bytes, 0x4949, 2), put (bytes, 43, 2), put (bytes, 8, 2), put (bytes, 0, 2);
  put (bytes, 16, 8);
  for (guint i = 0; i < HUGE_PAGES; i++) {
    put (bytes, 9, 8);
    for (guint j = 0; j < G_N_ELEMENTS (tags); j++)
      put_tag (bytes, tags[j][0], 4, tags[j][1]);
    put_tag (bytes, 273, 16, data + i * HUGE_BYTES);
    put_tag (bytes, 278, 4, HUGE_SIDE);
    put_tag (bytes, 279, 16, HUGE_BYTES);
    put_tag (bytes, 339, 3, 3);
    put (bytes, i + 1 < HUGE_PAGES ? 16 + directory * (i + 1) : 0, 8);
  }
  int fd = open (path, O_CREAT | O_RDWR, 0600);
  g_assert_cmpint (write (fd, bytes->data, bytes->len), ==, bytes->len);
  gboolean made = ftruncate (fd, data + HUGE_BYTES * HUGE_PAGES) == 0;
  close (fd);
  return made;
}

static gboolean
make_huge_hdf5 (const char *path)
{
  hid_t file = td_h5_create_sized (path, 0);

  {
    g_auto (TdH5Id) group = td_h5_add_group (file, "exchange", "NXcollection");
    g_auto (TdH5Id) data
        = td_h5_add_frames (group, "data", TD_SAMPLE_FLOAT32, HUGE_PAGES, HUGE_SIDE, HUGE_SIDE);

    g_assert_cmpint (data, >=, 0);
  }
  return td_h5_finish (file);
}

/* 100 GB open, and 16 rows of the last frame are read, within 200 MB more than before. */
static void
test_huge (gconstpointer data)
{
  guint which = GPOINTER_TO_UINT (data);
  static const TdScanOptions options = { .angles = "0:180" };
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, names[which]);
  g_autoptr (GError) error = NULL;

  if (!(which == 0 ? make_huge_tiff (path) : make_huge_hdf5 (path))) {
    g_test_skip ("this file system takes no sparse file of 100 GB");
    return;
  }
  gsize before = peak_memory ();
  g_autoptr (TdScan) scan = td_scan_open (path, &options, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (td_scan_facts (scan)->n_views, ==, HUGE_PAGES);
  g_autofree float *rows = g_new (float, 16 * HUGE_SIDE);
  td_scan_read (scan, &(TdFrameRange) { TD_FRAME_PROJECTION, HUGE_PAGES - 1, 1, 1000, 16 }, rows,
                NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpfloat (rows[17], ==, 0);
  g_assert_cmpuint (peak_memory () - before, <, (gsize) 200 << 20);
}

/* 6000 files (links to a few) are listed, not opened; the first and the last decide. */
static void
test_many_files (void)
{
  static const TdScanOptions options = { .angles = "0:180" };
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *made = test_folder_file (folder, "made.tif");
  g_autofree char *bad = test_folder_file (folder, "bad.txt");
  float row[COLUMNS];
  g_autoptr (GError) error = NULL;

  make_file (made, 0);
  g_assert_true (g_file_set_contents (bad, "II*", 4, NULL));
  {
    TdVolumeSpec spec = { .path = made,
                          .format = TD_VOLUME_BIGTIFF,
                          .bits = 16,
                          .high = 65535,
                          .nx = COLUMNS,
                          .ny = ROWS,
                          .n_slices = 1,
                          .overwrite = TRUE };
    g_autofree float *values = g_new0 (float, ROWS *COLUMNS);
    g_autoptr (TdVolumeWriter) writer = td_volume_writer_new (&spec, &error);

    g_assert_no_error (error);
    g_assert_true (td_volume_writer_write (writer, 0, 1, values, NULL));
    g_assert_true (td_volume_writer_finish (writer, NULL, NULL));
  }
  for (guint i = 0; i < 6000; i++) {
    g_autofree char *name = g_strdup_printf ("p_%u.tif", i),
                    *path = test_folder_file (folder, name);

    g_assert_cmpint (link (i > 0 && i < 5999 ? bad : made, path), ==, 0);
  }
  g_remove (made);
  gsize before = peak_memory ();
  g_autoptr (TdScan) scan = td_scan_open (folder->path, &options, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (td_scan_facts (scan)->n_views, ==, 6000);
  g_assert_cmpuint (peak_memory () - before, <, (gsize) 50 << 20);
  g_assert_true (
      td_scan_read (scan, &(TdFrameRange) { TD_FRAME_PROJECTION, 5999, 1, 0, 1 }, row, NULL, NULL));
  g_assert_false (
      td_scan_read (scan, &(TdFrameRange) { TD_FRAME_PROJECTION, 77, 1, 0, 1 }, row, NULL, &error));
  test_assert_sentence (error, "p_77.tif");
}

static void
test_cancelled (gconstpointer data)
{
  guint which = GPOINTER_TO_UINT (data);
  static const TdScanOptions options = { .angles = "0:180" };
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, names[which]);
  g_autofree float *frames = g_new (float, VIEWS *ROWS *COLUMNS);
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GError) error = NULL;

  make_file (path, which);
  g_autoptr (TdScan) scan = td_scan_open (path, &options, cancellable, &error);
  g_assert_no_error (error);
  g_cancellable_cancel (cancellable);
  g_assert_false (td_scan_read (scan, &(TdFrameRange) { TD_FRAME_PROJECTION, 0, VIEWS, 0, ROWS },
                                frames, cancellable, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  g_clear_error (&error);
  g_assert_false (
      td_scan_read_sinograms (scan, &(TdFrameRange) { TD_FRAME_PROJECTION, 0, VIEWS, 0, ROWS },
                              frames, cancellable, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  g_clear_error (&error);
  g_assert_null (td_scan_open (path, &options, cancellable, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  add_for_each ("huge", test_huge, names, 2); /* first: peaks of other tests would hide theirs */
  g_test_add_func ("/files/many", test_many_files);
  add_for_each ("cut-short", test_cut_short, names, 3);
  add_for_each ("flipped", test_flipped, names, 3);
  add_for_each ("cancelled", test_cancelled, names, 3);
  return g_test_run ();
}
