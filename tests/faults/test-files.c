/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files that nobody should have written: cut short, flipped, empty, enormous; and disks that are full.
 * Whatever the file, opening and reading ends with data or with one sentence. */
#include <fcntl.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "dataset/error.h"
#include "dataset/hdf5-write.h"
#include "dataset/scan-writer.h"
#include "dataset/volume.h"
#include "tests/unit/test-folder.h"

#define COLUMNS 40u
#define ROWS 24u
#define VIEWS 6u
#define FLIPS 300u

/* Where the address sanitizer is on: libhdf5 1.10 copies from behind its own buffers when some object
 * headers are damaged, and forgets memory on its way out of others. That is not ours to mend; what we
 * make of it is what is tested. */
const char *__asan_default_options (void);
const char *__asan_default_suppressions (void);
const char *__lsan_default_suppressions (void);

/* As without it: a damaged size asks for more memory than there is and gets NULL. */
const char *
__asan_default_options (void)
{
  return "allocator_may_return_null=1";
}

const char *
__asan_default_suppressions (void)
{
  return "interceptor_via_lib:libhdf5";
}

const char *
__lsan_default_suppressions (void)
{
  return "leak:libhdf5";
}

static const char *const names[] = { "scan.tif", "scan.nxs", "scan.h5" };

/* Reads all that a scan promises, or sees a proper error. The scan's size is bounded by its file's,
 * since a flipped size must not make the test take gigabytes. */
static void
read_all (const char *path)
{
  static const TdScanOptions options = { .angles = "0:180" };
  g_autoptr (GError) error = NULL;
  g_autoptr (TdScan) scan = td_scan_open (path, &options, NULL, &error);
  const TdScanFacts *facts;
  gsize pixels;

  if (!scan) {
    test_assert_sentence (error, NULL);
    return;
  }
  facts = td_scan_facts (scan);
  pixels = (gsize) facts->n_columns * facts->n_rows;
  g_assert_cmpuint (pixels, >, 0);
  g_assert_cmpuint (facts->n_views, >, 0);
  if (pixels > (gsize) 1 << 22)
    return;
  for (guint kind = 0; kind < 3; kind++) {
    guint n = kind == 0 ? facts->n_views : kind == 1 ? facts->n_flats : facts->n_darks;

    for (guint i = 0; i < MIN (n, 20); i++) {
      g_autofree float *frame = g_new (float, pixels);
      g_autoptr (GError) own = NULL;

      if (!td_scan_read (scan, kind, i, 1, 0, facts->n_rows, frame, NULL, &own))
        test_assert_sentence (own, NULL);
    }
  }
}

static void
read_volume (const char *path)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TdVolume) volume = td_volume_open (path, &error);
  const TdVolumeFacts *facts;

  if (!volume) {
    test_assert_sentence (error, NULL);
    return;
  }
  facts = td_volume_facts (volume);
  if ((gsize) facts->nx * facts->ny <= (gsize) 1 << 22) {
    g_autofree float *slice = g_new (float, (gsize) facts->nx * facts->ny);

    if (!td_volume_read (volume, facts->n_slices / 2, 1, slice, &error))
      test_assert_sentence (error, NULL);
  }
}

static void
fill_facts (TdScanFacts *facts, double *angles)
{
  memset (facts, 0, sizeof *facts);
  td_geometry_init_parallel (&facts->geometry);
  facts->n_columns = COLUMNS;
  facts->n_rows = ROWS;
  facts->n_views = VIEWS;
  facts->n_flats = facts->n_darks = 1;
  facts->sample_type = TD_SAMPLE_UINT16;
  facts->angles_rad = angles;
  for (guint i = 0; i < VIEWS; i++)
    angles[i] = 0.5 * i;
}

/* A sound file of each kind: multi-page BigTIFF, NXtomo, DXchange with chunks and compression. */
static void
make_file (const char *path, guint which)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (5);
  g_autofree float *values = g_new (float, VIEWS * ROWS * COLUMNS);
  g_autoptr (GError) error = NULL;
  double angles[VIEWS];
  TdScanFacts facts;

  for (guint i = 0; i < VIEWS * ROWS * COLUMNS; i++)
    values[i] = (float) g_rand_int_range (random, 0, 65536);
  if (which == 0) {
    TdVolumeSpec spec = { .path = (char *) path, .format = TD_VOLUME_BIGTIFF, .bits = 16, .high = 65535,
                          .nx = COLUMNS, .ny = ROWS, .n_slices = VIEWS };
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
    hid_t file = td_h5_create (path);

    {
      g_auto (TdH5Id) group = td_h5_add_group (file, "exchange", "NXcollection");
      g_auto (TdH5Id) space = H5Screate_simple (3, shape, NULL);
      g_auto (TdH5Id) properties = H5Pcreate (H5P_DATASET_CREATE);
      g_auto (TdH5Id) dataset = -1;

      H5Pset_chunk (properties, 3, chunk);
      H5Pset_shuffle (properties);
      H5Pset_deflate (properties, 3);
      dataset = H5Dcreate2 (group, "data", H5T_STD_U16LE, space, H5P_DEFAULT, properties,
                            H5P_DEFAULT);
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
    g_assert_true (g_file_set_contents_full (cut, bytes, length, G_FILE_SET_CONTENTS_NONE, 0600,
                                             NULL));
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
    g_assert_true (g_file_set_contents_full (bad, copy, size, G_FILE_SET_CONTENTS_NONE, 0600,
                                             NULL));
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
  static const guint tags[][2] = { { 256, HUGE_SIDE }, { 257, HUGE_SIDE }, { 258, 32 }, { 259, 1 },
                                   { 262, 1 } };
  g_autoptr (GByteArray) bytes = g_byte_array_new ();
  guint64 directory = 8 + 9 * 20 + 8, data = 16 + directory * HUGE_PAGES;
  gboolean made;
  int fd;

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
  fd = open (path, O_CREAT | O_RDWR, 0600);
  g_assert_cmpint (write (fd, bytes->data, bytes->len), ==, bytes->len);
  made = ftruncate (fd, data + HUGE_BYTES * HUGE_PAGES) == 0;
  close (fd);
  return made;
}

static gboolean
make_huge_hdf5 (const char *path)
{
  hid_t file = td_h5_create (path);

  {
    g_auto (TdH5Id) group = td_h5_add_group (file, "exchange", "NXcollection");
    g_auto (TdH5Id) data = td_h5_add_frames (group, "data", TD_SAMPLE_FLOAT32, HUGE_PAGES, HUGE_SIDE,
                                             HUGE_SIDE);

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
  g_autofree float *rows = NULL;
  g_autoptr (GError) error = NULL;
  g_autoptr (TdScan) scan = NULL;
  gsize before;

  if (!(which == 0 ? make_huge_tiff (path) : make_huge_hdf5 (path))) {
    g_test_skip ("this file system takes no sparse file of 100 GB");
    return;
  }
  before = peak_memory ();
  scan = td_scan_open (path, &options, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (td_scan_facts (scan)->n_views, ==, HUGE_PAGES);
  rows = g_new (float, 16 * HUGE_SIDE);
  td_scan_read (scan, TD_FRAME_PROJECTION, HUGE_PAGES - 1, 1, 1000, 16, rows, NULL, &error);
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
  g_autoptr (TdScan) scan = NULL;
  gsize before;

  make_file (made, 0);
  g_assert_true (g_file_set_contents (bad, "II*", 4, NULL));
  {
    TdVolumeSpec spec = { .path = made, .format = TD_VOLUME_BIGTIFF, .bits = 16, .high = 65535,
                          .nx = COLUMNS, .ny = ROWS, .n_slices = 1, .overwrite = TRUE };
    g_autofree float *values = g_new0 (float, ROWS * COLUMNS);
    g_autoptr (TdVolumeWriter) writer = td_volume_writer_new (&spec, &error);

    g_assert_no_error (error);
    g_assert_true (td_volume_writer_write (writer, 0, 1, values, NULL));
    g_assert_true (td_volume_writer_finish (writer, NULL, NULL));
  }
  for (guint i = 0; i < 6000; i++) {
    g_autofree char *name = g_strdup_printf ("p_%u.tif", i), *path = test_folder_file (folder, name);

    g_assert_cmpint (link (i > 0 && i < 5999 ? bad : made, path), ==, 0);
  }
  g_remove (made);
  before = peak_memory ();
  scan = td_scan_open (folder->path, &options, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (td_scan_facts (scan)->n_views, ==, 6000);
  g_assert_cmpuint (peak_memory () - before, <, (gsize) 50 << 20);
  g_assert_true (td_scan_read (scan, TD_FRAME_PROJECTION, 5999, 1, 0, 1, row, NULL, NULL));
  g_assert_false (td_scan_read (scan, TD_FRAME_PROJECTION, 77, 1, 0, 1, row, NULL, &error));
  test_assert_sentence (error, "p_77.tif");
}

/* Files may grow to 20 KB from here on: what a full disk looks like to a program. */
static void
limit_files (rlim_t bytes)
{
  struct rlimit limit;

  getrlimit (RLIMIT_FSIZE, &limit);
  limit.rlim_cur = bytes;
  g_assert_cmpint (setrlimit (RLIMIT_FSIZE, &limit), ==, 0);
}

/* A volume that does not fit: an error, and nothing is left. */
static void
test_full_disk (gconstpointer data)
{
  TdVolumeFormat format = GPOINTER_TO_UINT (data);
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "volume");
  g_autofree float *slices = g_new0 (float, 4 * 100 * 100);
  TdVolumeSpec spec = { .path = path, .format = format, .bits = 32, .nx = 100, .ny = 100,
                        .n_slices = 4 };
  g_autoptr (GError) error = NULL;
  TdVolumeWriter *writer;
  gboolean good;

  limit_files (20000);
  writer = td_volume_writer_new (&spec, &error);
  good = writer && td_volume_writer_write (writer, 0, 4, slices, &error)
         && td_volume_writer_finish (writer, "{}", &error);
  g_clear_pointer (&writer, td_volume_writer_free);
  limit_files (RLIM_INFINITY);
  g_assert_false (good);
  test_assert_sentence (error, "volume");
  g_assert_error (error, TD_ERROR, TD_ERROR_IO);
  g_assert_cmpuint (test_folder_count (folder), ==, 0);
}

static void
test_full_disk_scan (gconstpointer data)
{
  TdScanFormat format = GPOINTER_TO_UINT (data);
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "scan");
  g_autofree float *frames = g_new0 (float, VIEWS * ROWS * COLUMNS);
  g_autoptr (GError) error = NULL;
  double angles[VIEWS];
  TdScanFacts facts;
  TdScanWriter *writer;
  gboolean good;

  fill_facts (&facts, angles);
  limit_files (1000);
  writer = td_scan_writer_new (path, format, &facts, FALSE, &error);
  good = writer && td_scan_writer_write (writer, 0, 0, VIEWS, frames, &error)
         && td_scan_writer_write (writer, 1, 0, 1, frames, &error)
         && td_scan_writer_write (writer, 2, 0, 1, frames, &error)
         && td_scan_writer_finish (writer, &error);
  g_clear_pointer (&writer, td_scan_writer_free);
  limit_files (RLIM_INFINITY);
  g_assert_false (good);
  test_assert_sentence (error, "scan");
  g_assert_cmpuint (test_folder_count (folder), ==, 0);
}

/* Folders that cannot be written to: below a file, in the kernel's own, without permission. */
static void
test_unwritable (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *closed = test_folder_file (folder, "closed");
  g_autofree char *inside = g_build_filename (closed, "volume", NULL);
  const char *paths[] = { "/dev/null/volume", "/proc/volume", inside };

  g_assert_cmpint (g_mkdir (closed, 0500), ==, 0);
  for (guint i = 0; i < G_N_ELEMENTS (paths); i++)
    for (TdVolumeFormat format = TD_VOLUME_TIFF_STACK; format <= TD_VOLUME_HDF5; format++) {
      TdVolumeSpec spec = { .path = (char *) paths[i], .format = format, .bits = 32, .nx = 8,
                            .ny = 8, .n_slices = 2 };
      g_autoptr (GError) error = NULL;
      g_autoptr (TdVolumeWriter) writer = td_volume_writer_new (&spec, &error);

      if (i == 2 && writer) /* root may write anywhere */
        continue;
      g_assert_null (writer);
      test_assert_sentence (error, paths[i]);
    }
}

static void
test_cancelled (gconstpointer data)
{
  guint which = GPOINTER_TO_UINT (data);
  static const TdScanOptions options = { .angles = "0:180" };
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, names[which]);
  g_autofree float *frames = g_new (float, VIEWS * ROWS * COLUMNS);
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (TdScan) scan = NULL;

  make_file (path, which);
  scan = td_scan_open (path, &options, cancellable, &error);
  g_assert_no_error (error);
  g_cancellable_cancel (cancellable);
  g_assert_false (td_scan_read (scan, 0, 0, VIEWS, 0, ROWS, frames, cancellable, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  g_clear_error (&error);
  g_assert_false (td_scan_read_sinograms (scan, 0, VIEWS, 0, ROWS, frames, cancellable, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  g_clear_error (&error);
  g_assert_null (td_scan_open (path, &options, cancellable, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
}

static void
add_for_each (const char *what, GTestDataFunc function, const char *const *of, guint n)
{
  for (guint i = 0; i < n; i++) {
    g_autofree char *name = g_strdup_printf ("/files/%s/%s", what, of[i]);

    g_test_add_data_func (name, GUINT_TO_POINTER (i), function);
  }
}

int
main (int argc, char **argv)
{
  static const char *const formats[] = { "tiff", "bigtiff", "hdf5" };
  static const char *const scans[] = { "tiff", "nxtomo" };

  signal (SIGXFSZ, SIG_IGN);
  g_test_init (&argc, &argv, NULL);
  add_for_each ("huge", test_huge, names, 2); /* first: peaks of other tests would hide theirs */
  g_test_add_func ("/files/many", test_many_files);
  add_for_each ("cut-short", test_cut_short, names, 3);
  add_for_each ("flipped", test_flipped, names, 3);
  add_for_each ("full-disk", test_full_disk, formats, 3);
  add_for_each ("full-disk-scan", test_full_disk_scan, scans, 2);
  g_test_add_func ("/files/unwritable", test_unwritable);
  add_for_each ("cancelled", test_cancelled, names, 3);
  return g_test_run ();
}
