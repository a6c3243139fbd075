/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Volumes written and read back: every format and depth, slices in any order, unfinished ones. */
#include <fcntl.h>
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "dataset/error.h"
#include "dataset/file-bytes.h"
#include "dataset/storage-threads.h"
#include "dataset/tiff-save.h"
#include "dataset/volume-describe.h"
#include "dataset/volume.h"
#include "tests/common/pins.h"
#include "test-folder.h"

#define NX 37u
#define NY 23u
#define N 5u
#define COLLAPSE 25 /* MADV_COLLAPSE, which older headers do not have */

static const char *const names[] = { "volume", "volume.tif", "volume.h5" };

static float *
make_slices (guint32 seed)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (seed);
  float *slices = g_new (float, NX *NY *N);

  for (guint i = 0; i < NX * NY * N; i++)
    slices[i] = (float) g_rand_double_range (random, -1.5, 3.5);
  return slices;
}

static TdVolumeSpec
make_spec (const char *path, TdVolumeFormat format, guint bits)
{
  return (TdVolumeSpec) { .path = (char *) path,
                          .format = format,
                          .bits = bits,
                          .low = -1,
                          .high = 3,
                          .nx = NX,
                          .ny = NY,
                          .n_slices = N,
                          .first_slice = 17,
                          .voxel_mm = 0.0125,
                          .units = "1/mm" };
}

static void
write_all (TdVolumeWriter *writer, const float *slices)
{
  static const guint order[N] = { 3, 0, 4, 2, 1 };
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < N; i++) {
    td_volume_writer_write (writer, order[i], 1, slices + order[i] * NX * NY, &error);
    g_assert_no_error (error);
  }
}

static void
check_values (const float *read, const float *slices, guint bits, guint64 clamped)
{
  double step = bits == 16 ? 4.0 / 65535 : 4.0 / 255;
  guint64 outside = 0;

  for (guint i = 0; i < NX * NY * N; i++)
    if (bits == 32)
      g_assert_cmpfloat (read[i], ==, slices[i]);
    else {
      outside += slices[i] < -1 - 0.01 * step || slices[i] > 3 + 0.01 * step;
      g_assert_cmpfloat_with_epsilon (read[i], CLAMP (slices[i], -1, 3), step * 0.5 + 1e-6);
    }
  g_assert_cmpuint (outside, ==, clamped);
}

static void
test_round_trip (gconstpointer data)
{
  guint which = GPOINTER_TO_UINT (data), bits = (which % 3 + 1) * 8;
  TdVolumeFormat format = which / 3;
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = g_build_filename (folder->path, names[format], NULL);
  g_autofree char *part = g_strconcat (path, ".part", NULL);
  g_autofree float *slices = make_slices (which + 1), *read = g_new (float, NX *NY *N);
  g_autoptr (GError) error = NULL;

  bits = bits == 24 ? 32 : bits;
  TdVolumeSpec spec = make_spec (path, format, bits);
  g_autoptr (TdVolumeWriter) writer = td_volume_writer_new (&spec, &error);
  g_assert_no_error (error);
  write_all (writer, slices);
  g_assert_false (g_file_test (path, G_FILE_TEST_EXISTS));
  td_volume_writer_finish (writer, "{\"device\": \"host\", \"note\": \"ä\"}", &error);
  g_assert_no_error (error);
  g_assert_false (g_file_test (part, G_FILE_TEST_EXISTS));

  g_autoptr (TdVolume) volume = td_volume_open (path, &error);
  g_assert_no_error (error);
  const TdVolumeFacts *facts = td_volume_facts (volume);
  g_assert_cmpuint (facts->nx, ==, NX);
  g_assert_cmpuint (facts->ny, ==, NY);
  g_assert_cmpuint (facts->n_slices, ==, N);
  g_assert_cmpuint (facts->bits, ==, bits);
  g_assert_true (facts->complete);
  g_assert_cmpfloat (facts->voxel_mm, ==, 0.0125);
  g_assert_nonnull (strstr (facts->provenance_json, "\"host\""));
  g_assert_nonnull (strstr (facts->provenance_json, "ä"));
  g_autofree char *slice
      = format == TD_VOLUME_TIFF_STACK ? g_build_filename (path, "slice_00018.tif", NULL) : NULL;
  g_autoptr (TdVolume) one = slice ? td_volume_open (slice, &error) : NULL;
  g_assert_no_error (error);
  g_assert_true (!one || td_volume_facts (one)->complete); /* all of it that was asked for */
  g_autofree char *whole = td_volume_whole (slice ? slice : path);
  g_assert_cmpstr (whole, ==, path);
  td_volume_read (volume, 0, N, read, &error);
  g_assert_no_error (error);
  check_values (read, slices, bits, td_volume_writer_clamped (writer));
  td_volume_read (volume, 3, 1, read, &error);
  g_assert_no_error (error);
  if (bits == 32)
    g_assert_cmpmem (read, NX * NY * sizeof *read, slices + 3 * NX * NY, NX * NY * sizeof *read);
  g_assert_false (td_volume_read (volume, 4, 2, read, &error));
  test_assert_sentence (error, names[format]);
}

/* An unfinished volume leaves nothing, and finishing one with a gap is refused. */
static void
test_unfinished (gconstpointer data)
{
  TdVolumeFormat format = GPOINTER_TO_UINT (data);
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = g_build_filename (folder->path, names[format], NULL);
  g_autofree float *slices = make_slices (7);
  g_autoptr (GError) error = NULL;
  TdVolumeSpec spec = make_spec (path, format, 32);
  TdVolumeWriter *writer = td_volume_writer_new (&spec, &error);

  g_assert_no_error (error);
  td_volume_writer_write (writer, 0, 2, slices, &error);
  g_assert_no_error (error);
  g_assert_false (td_volume_writer_write (writer, 1, 1, slices, &error));
  test_assert_sentence (error, names[format]);
  g_clear_error (&error);
  g_assert_false (td_volume_writer_write (writer, N - 1, 2, slices, &error));
  g_clear_error (&error);
  g_assert_false (td_volume_writer_finish (writer, NULL, &error));
  test_assert_sentence (error, names[format]);
  td_volume_writer_free (writer);
  g_assert_cmpuint (test_folder_count (folder), ==, 0);
}

/* What somebody took away while it was written is not under the volume's name. */
static void
test_taken_away (void)
{
  g_autofree float *slices = make_slices (7);

  for (TdVolumeFormat format = 0; format < G_N_ELEMENTS (names); format++)
    for (guint all = 0; all < 2; all++) {
      g_autoptr (TestFolder) folder = test_folder_new ();
      g_autofree char *path = g_build_filename (folder->path, names[format], NULL);
      g_autofree char *part = g_strconcat (path, ".part", NULL);
      g_autofree char *slice = g_build_filename (part, "slice_00019.tif", NULL);
      TdVolumeSpec spec = make_spec (path, format, 32);
      g_autoptr (GError) error = NULL;
      TdVolumeWriter *writer = td_volume_writer_new (&spec, &error);

      g_assert_no_error (error);
      td_volume_writer_write (writer, 0, N, slices, &error);
      g_assert_no_error (error);
      test_folder_remove (all || !g_file_test (part, G_FILE_TEST_IS_DIR) ? part : slice);
      g_assert_false (td_volume_writer_finish (writer, NULL, &error));
      test_assert_sentence (error, names[format]);
      td_volume_writer_free (writer);
      g_assert_cmpuint (test_folder_count (folder), ==, 0);
    }
}

static void
test_existing (gconstpointer data)
{
  TdVolumeFormat format = GPOINTER_TO_UINT (data);
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = g_build_filename (folder->path, names[format], NULL);
  g_autofree float *slices = make_slices (8), *read = g_new (float, NX *NY *N);
  g_autoptr (GError) error = NULL;
  TdVolumeSpec spec = make_spec (path, format, 32);

  for (guint round = 0; round < 2; round++) {
    g_autoptr (TdVolumeWriter) writer = NULL;
    g_autoptr (TdVolume) volume = NULL;

    spec.overwrite = round == 1;
    slices[0] = round;
    writer = td_volume_writer_new (&spec, &error);
    g_assert_no_error (error);
    /* while one run writes, another is refused */
    spec.overwrite = TRUE;
    g_assert_null (td_volume_writer_new (&spec, &error));
    test_assert_sentence (error, names[format]);
    g_clear_error (&error);
    write_all (writer, slices);
    td_volume_writer_finish (writer, NULL, &error);
    g_assert_no_error (error);
    spec.overwrite = FALSE;
    g_assert_null (td_volume_writer_new (&spec, &error));
    test_assert_sentence (error, names[format]);
    g_clear_error (&error);
    volume = td_volume_open (path, &error);
    g_assert_no_error (error);
    td_volume_read (volume, 0, 1, read, &error);
    g_assert_cmpfloat (read[0], ==, round);
  }
  g_assert_cmpuint (test_folder_count (folder), ==, 1);
}

/* A folder with anything else in it is never replaced. */
static void
test_foreign_folder (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = g_build_filename (folder->path, "volume", NULL);
  g_autofree char *letter = g_build_filename (path, "letter.odt", NULL);
  g_autoptr (GError) error = NULL;
  TdVolumeSpec spec = make_spec (path, TD_VOLUME_TIFF_STACK, 32);

  spec.overwrite = TRUE;
  g_assert_cmpint (g_mkdir (path, 0777), ==, 0);
  g_assert_true (g_file_set_contents (letter, "Dear", -1, NULL));
  g_assert_null (td_volume_writer_new (&spec, &error));
  test_assert_sentence (error, "letter.odt");
  g_assert_true (g_file_test (letter, G_FILE_TEST_EXISTS));
}

/* Nor one of somebody's own TIFF files, nor what only has the name that parts have. */
static void
test_foreign_images (void)
{
  static const struct {
    const char *made, *output;
  } cases[] = {
    { "volume/proj_0001.tif", "volume" },
    { "volume/slice_1.tif", "volume" },
    { "volume/projections/other_00001.tif", "volume" },
    { "volume/slice_00001.tiff", "volume" },
    { "volume.part/proj_0001.tif", "volume" },
    { "volume.part", "volume" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autofree char *path = test_folder_file (folder, cases[i].output);
    g_autofree char *image = test_folder_file (folder, cases[i].made);
    g_autofree char *parent = g_path_get_dirname (image), *name = g_path_get_basename (image);
    g_autoptr (GError) error = NULL;
    TdVolumeSpec spec = make_spec (path, TD_VOLUME_TIFF_STACK, 32);

    spec.overwrite = TRUE;
    g_assert_cmpint (g_mkdir_with_parents (parent, 0777), ==, 0);
    g_assert_true (g_file_set_contents (image, "II*", 4, NULL));
    g_assert_null (td_volume_writer_new (&spec, &error));
    test_assert_sentence (error, name);
    g_assert_true (g_file_test (image, G_FILE_TEST_EXISTS));
  }
}

static void
test_bad_specs (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = g_build_filename (folder->path, "volume.tif", NULL);
  g_autofree char *nowhere = g_build_filename (folder->path, "no", "volume.tif", NULL);
  TdVolumeSpec good = make_spec (path, TD_VOLUME_BIGTIFF, 16), bad[7];

  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    bad[i] = good;
  bad[0].bits = 12;
  bad[1].nx = 0;
  bad[2].high = bad[2].low;
  bad[3].low = NAN;
  bad[4].path = nowhere;
  bad[5].nx = bad[5].ny = 1u << 17;
  bad[6].nx = bad[6].ny = 30000, bad[6].n_slices = 1u << 20; /* more than any disk */
  for (guint i = 0; i < G_N_ELEMENTS (bad); i++) {
    g_autoptr (GError) error = NULL;

    g_assert_null (td_volume_writer_new (&bad[i], &error));
    test_assert_sentence (error, NULL);
  }
  g_assert_cmpuint (test_folder_count (folder), ==, 0);
}

static void
test_nan_passes (gconstpointer data)
{
  TdVolumeFormat format = GPOINTER_TO_UINT (data);
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = g_build_filename (folder->path, names[format], NULL);
  g_autofree float *slices = make_slices (9), *read = g_new (float, NX *NY *N);
  g_autoptr (GError) error = NULL;
  TdVolumeSpec spec = make_spec (path, format, 32);
  g_autoptr (TdVolumeWriter) writer = td_volume_writer_new (&spec, &error);

  slices[5] = NAN;
  slices[6] = INFINITY;
  write_all (writer, slices);
  td_volume_writer_finish (writer, NULL, &error);
  g_assert_no_error (error);
  g_autoptr (TdVolume) volume = td_volume_open (path, &error);
  td_volume_read (volume, 0, N, read, &error);
  g_assert_no_error (error);
  g_assert_true (isnan (read[5]));
  g_assert_true (isinf (read[6]));
}

/* ── Many pieces, many threads ── */

/* More voxels than a thread writes at once, and no whole number of such pieces. */
#define WIDE_X 701u
#define WIDE_Y 803u
#define WIDE_N 3u

static float *
make_wide_slices (void)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (77);
  float *slices = g_new (float, (gsize) WIDE_X *WIDE_Y *WIDE_N);

  for (gsize i = 0; i < (gsize) WIDE_X * WIDE_Y * WIDE_N; i++)
    slices[i] = (float) g_rand_double_range (random, -1.5, 3.5);
  return slices;
}

static TdVolumeSpec
make_wide_spec (const char *path, TdVolumeFormat format, guint bits)
{
  TdVolumeSpec spec = make_spec (path, format, bits);

  spec.nx = WIDE_X;
  spec.ny = WIDE_Y;
  spec.n_slices = WIDE_N;
  return spec;
}

/* Writes with @threads; the second slice through a joined writer if @joined. */
static guint64
write_wide (const TdVolumeSpec *spec, const float *slices, guint threads, gboolean joined)
{
  const gsize slice = (gsize) WIDE_X * WIDE_Y;
  g_autoptr (GError) error = NULL;

  td_storage_set_threads (threads);
  g_autoptr (TdVolumeWriter) writer = td_volume_writer_new (spec, &error);
  g_assert_no_error (error);
  if (joined) {
    const TdVolumeLayout layout = td_volume_writer_layout (writer);
    g_autoptr (TdVolumeWriter) other = td_volume_writer_join (spec, &layout, &error);

    g_assert_no_error (error);
    td_volume_writer_write (other, 1, 1, slices + slice, &error);
    g_assert_no_error (error);
    td_volume_writer_sync (other, &error);
    g_assert_no_error (error);
    td_volume_writer_account (writer, 1, 1, td_volume_writer_clamped (other));
    td_volume_writer_write (writer, 2, 1, slices + 2 * slice, &error);
    g_assert_no_error (error);
    td_volume_writer_write (writer, 0, 1, slices, &error);
  } else {
    td_volume_writer_write (writer, 0, WIDE_N, slices, &error);
  }
  g_assert_no_error (error);
  td_storage_set_threads (0);
  td_volume_writer_finish (writer, "{}", &error);
  g_assert_no_error (error);
  return td_volume_writer_clamped (writer);
}

static void
assert_same_bytes (const char *a, const char *b)
{
  g_autofree char *text_a = NULL, *text_b = NULL;
  gsize n_a = 0, n_b = 0;

  g_assert_true (g_file_get_contents (a, &text_a, &n_a, NULL));
  g_assert_true (g_file_get_contents (b, &text_b, &n_b, NULL));
  g_assert_cmpmem (text_a, n_a, text_b, n_b);
}

/* HDF5 files state the time at which they were made: their samples are compared. */
static void
assert_same_volume (const char *a, const char *b, TdVolumeFormat format)
{
  const gsize slice = (gsize) WIDE_X * WIDE_Y;
  g_autoptr (TdVolume) volume_a = td_volume_open (a, NULL), volume_b = td_volume_open (b, NULL);
  g_autofree float *read_a = g_new (float, slice), *read_b = g_new (float, slice);

  if (format == TD_VOLUME_BIGTIFF)
    assert_same_bytes (a, b);
  for (guint i = 0; i < WIDE_N; i++) {
    g_autofree char *name = g_strdup_printf ("slice_%05u.tif", 17 + i);
    g_autofree char *file_a = g_build_filename (a, name, NULL);
    g_autofree char *file_b = g_build_filename (b, name, NULL);

    if (format == TD_VOLUME_TIFF_STACK)
      assert_same_bytes (file_a, file_b);
    g_assert_true (td_volume_read (volume_a, i, 1, read_a, NULL));
    g_assert_true (td_volume_read (volume_b, i, 1, read_b, NULL));
    g_assert_cmpmem (read_a, slice * sizeof *read_a, read_b, slice * sizeof *read_b);
  }
}

/* One thread, many, two writers, and a file system in memory, with large pages and without, give
   the same bytes. */
static void
test_threads (gconstpointer data)
{
  const guint which = GPOINTER_TO_UINT (data), bits = which % 3 == 2 ? 32 : (which % 3 + 1) * 8;
  const TdVolumeFormat format = which / 3;
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *memory = g_strdup ("/dev/shm/tomodesk-test-XXXXXX");
  const gboolean has_memory = g_mkdtemp (memory) != NULL;
  g_autofree float *slices = make_wide_slices ();
  char *paths[5];
  guint64 clamped[5] = { 0 };

  for (guint i = 0; i < 5; i++) {
    g_autofree char *name = g_strdup_printf ("%u-%s", i, names[format]);

    paths[i] = g_build_filename (i < 3 || !has_memory ? folder->path : memory, name, NULL);
    const TdVolumeSpec spec = make_wide_spec (paths[i], format, bits);
    prctl (PR_SET_THP_DISABLE, i == 4, 0, 0, 0);
    clamped[i] = write_wide (&spec, slices, i == 0 ? 1 : 7, i == 2 || i == 3);
    prctl (PR_SET_THP_DISABLE, 0, 0, 0, 0);
    g_assert_cmpuint (clamped[i], ==, clamped[0]);
    if (i > 0)
      assert_same_volume (paths[0], paths[i], format);
  }
  g_assert_true ((clamped[0] > 0) == (bits < 32));
  for (guint i = 0; i < 5; i++)
    g_free (paths[i]);
  if (has_memory)
    test_folder_remove (memory);
}

/* So many times another process is at the pages that are to become a large one. */
static gint n_busy;

int
madvise (void *memory, size_t bytes, int advice)
{
  if (advice == COLLAPSE && g_atomic_int_get (&n_busy) > 0) {
    g_atomic_int_add (&n_busy, -1);
    errno = EAGAIN;
    return -1;
  }
  return (int) syscall (SYS_madvise, memory, bytes, advice);
}

/* Whether this process sees memory of files in large pages: of @bytes of @path at @at. */
static gboolean
sees_large_pages (const char *path, guint64 at, guint64 bytes)
{
  const int file = open (path, O_RDWR | O_CLOEXEC);
  g_autofree char *maps = NULL;
  TdFileWindow window;

  g_assert_cmpint (td_file_window_open (&window, file, bytes, at), ==, 0);
  for (guint64 i = 0; i < bytes; i += 4096)
    g_assert_cmpint (window.bytes[i], ==, 0);
  g_assert_true (g_file_get_contents ("/proc/self/smaps", &maps, NULL, NULL));
  td_file_window_close (&window);
  close (file);
  return g_regex_match_simple ("ShmemPmdMapped: +[1-9]", maps, 0, 0);
}

/* Whether this system makes them of @bytes now: where memory is in pieces it may not. */
static gboolean
has_large_pages (const char *folder, guint64 bytes)
{
  g_autofree char *path = g_build_filename (folder, "pages", NULL);
  const int file = open (path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  TdFileWindow window;

  g_assert_cmpint (td_file_allocate (file, 0, 0, bytes), ==, 0);
  g_assert_cmpint (td_file_window_open (&window, file, bytes, 0), ==, 0);
  const gboolean has = madvise (window.bytes, bytes, COLLAPSE) == 0;
  td_file_window_close (&window);
  close (file);
  g_unlink (path);
  return has;
}

/* Waits until the file has @bytes. */
static void
await_room (const char *path, guint64 bytes)
{
  GStatBuf state = { 0 };

  for (guint i = 0; i < 100000 && (guint64) state.st_blocks * 512 < bytes; i++) {
    g_usleep (1000);
    g_assert_cmpint (g_stat (path, &state), ==, 0);
  }
  g_assert_cmpuint ((guint64) state.st_blocks * 512, >=, bytes);
}

/* In a file in memory room is taken for slices that are expected before they come, and for no
   others: those are another process's. It is in large pages, where the system has them, also after
   that process was at some of them. */
static void
test_expected (void)
{
  g_autofree char *memory = g_strdup ("/dev/shm/tomodesk-test-XXXXXX");
  g_autoptr (GError) error = NULL;
  GStatBuf state = { 0 };

  if (!g_mkdtemp (memory)) {
    g_test_skip ("there is no /dev/shm");
    return;
  }
  g_autofree char *path = g_build_filename (memory, "volume.tif", NULL);
  TdVolumeSpec spec = make_spec (path, TD_VOLUME_BIGTIFF, 32);
  const guint64 slice = 2048ull * 2048 * sizeof (float);
  struct statvfs space;
  if (statvfs (memory, &space) != 0 || (guint64) space.f_bavail * space.f_frsize < 9 * slice) {
    g_rmdir (memory);
    g_test_skip ("there is little room in /dev/shm");
    return;
  }
  spec.nx = spec.ny = 2048;
  spec.n_slices = 8;
  spec.job = "job";
  td_storage_set_threads (7);
  g_autoptr (TdVolumeWriter) writer = td_volume_writer_new (&spec, &error);
  g_assert_no_error (error);
  const TdVolumeLayout layout = td_volume_writer_layout (writer);
  TdVolumeWriter *other = td_volume_writer_join (&spec, &layout, &error);
  td_storage_set_threads (0);
  g_assert_no_error (error);
  g_atomic_int_set (&n_busy, 8);
  td_volume_writer_expect (other, 6, 1);
  await_room (layout.part, slice);
  g_atomic_int_set (&n_busy, 0);
  td_volume_writer_expect (other, 3, 2);
  await_room (layout.part, 3 * slice);
  if (has_large_pages (memory, 2 * slice))
    g_assert_true (sees_large_pages (layout.part, layout.samples_at + 3 * slice, 2 * slice));
  td_volume_writer_free (other);
  g_assert_cmpint (g_stat (layout.part, &state), ==, 0);
  g_assert_cmpuint ((guint64) state.st_blocks * 512, <=, 5 * slice + (1 << 20));
  td_volume_writer_discard (writer);
  test_folder_remove (memory);
}

/* A scale is that of the samples it was written for, and not of those that another program made. */
static void
test_other_bits (void)
{
  static const char description[]
      = "{\"tomodesk_volume\": 1, \"n_slices\": 1, \"bits\": 8, \"low\": 0, "
        "\"high\": 25.5, \"units\": \"1/mm\"}";

  for (TdSampleType type = TD_SAMPLE_UINT8; type <= TD_SAMPLE_UINT16; type++) {
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autofree char *path = test_folder_file (folder, "slice.tif");
    const TdTiffImage image = { 2, 1, type, 0, description };
    const guint8 narrow[2] = { 10, 20 };
    const guint16 wide[2] = { 10, 20 };
    float values[2];
    g_autoptr (GError) error = NULL;

    if (type == TD_SAMPLE_INT8)
      continue;
    td_tiff_save_single (path, path, &image, type == TD_SAMPLE_UINT8 ? (void *) narrow : wide,
                         &error);
    g_assert_no_error (error);
    g_autoptr (TdVolume) volume = td_volume_open (path, &error);
    g_assert_no_error (error);
    td_volume_read (volume, 0, 1, values, &error);
    g_assert_no_error (error);
    g_assert_cmpfloat_with_epsilon (values[1], type == TD_SAMPLE_UINT8 ? 2 : 20, 1e-6);
    g_assert_cmpstr (td_volume_facts (volume)->units, ==, type == TD_SAMPLE_UINT8 ? "1/mm" : NULL);
  }
}

/* A job goes on whose earlier run ended when all was written but the name. */
static void
test_finished_again (gconstpointer data)
{
  const TdVolumeFormat format = GPOINTER_TO_UINT (data);
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, names[format]);
  g_autofree char *part = g_strconcat (path, ".job.part", NULL);
  g_autofree float *slices = make_slices (3);
  TdVolumeSpec spec = make_spec (path, format, 32);

  spec.job = "job";
  for (guint again = 0; again < 2; again++) {
    g_autoptr (GError) error = NULL;
    spec.go_on = again;
    g_autoptr (TdVolumeWriter) writer = td_volume_writer_new (&spec, &error);
    g_assert_no_error (error);
    if (again)
      td_volume_writer_account (writer, 0, spec.n_slices, 0);
    else
      td_volume_writer_write (writer, 0, spec.n_slices, slices, &error);
    g_assert_no_error (error);
    td_volume_writer_finish (
        writer, again ? "{\"run\": \"2\"}" : "{\"run\": \"the first, which ended\"}", &error);
    g_assert_no_error (error);
    if (!again)
      g_assert_cmpint (g_rename (path, part), ==, 0);
  }
  g_autoptr (GError) error = NULL;
  g_autoptr (TdVolume) volume = td_volume_open (path, &error);
  g_assert_no_error (error);
  g_assert_true (td_volume_facts (volume)->complete);
  g_assert_nonnull (strstr (td_volume_facts (volume)->provenance_json, "\"2\""));
}

/* A disk in memory that fills after the volume was begun is told, in windows, too. */
static void
test_full (gconstpointer data)
{
  const TdVolumeFormat format = GPOINTER_TO_UINT (data);
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = g_build_filename (folder->path, names[format], NULL);
  g_autofree char *filler = g_build_filename (folder->path, "filler", NULL);
  g_autofree float *slices = make_wide_slices ();
  const gsize bytes = (gsize) WIDE_X * WIDE_Y * WIDE_N * sizeof *slices;
  g_autofree char *options = g_strdup_printf ("size=%zu", 2 * bytes + (4 << 20));
  g_autoptr (GError) error = NULL;
  TdVolumeSpec spec = make_wide_spec (path, format, 32);

  if (mount ("tmpfs", folder->path, "tmpfs", 0, options) != 0) {
    g_test_skip ("only root may mount a small disk");
    return;
  }
  spec.job = "job"; /* then room is taken as slices come */
  td_storage_set_threads (7);
  TdVolumeWriter *writer = td_volume_writer_new (&spec, &error);
  g_assert_no_error (error);
  const int file = open (filler, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  while (write (file, slices, 4096) == 4096)
    ;
  close (file);
  g_assert_false (td_volume_writer_write (writer, 0, WIDE_N, slices, &error));
  td_storage_set_threads (0);
  g_assert_error (error, TD_ERROR, TD_ERROR_IO);
  td_test_pin_refused (error);
  g_assert_nonnull (strstr (error->message, "full"));
  td_volume_writer_discard (writer);
  td_volume_writer_free (writer);
  g_assert_false (g_file_test (path, G_FILE_TEST_EXISTS));
  g_assert_cmpint (umount (folder->path), ==, 0);
}

static void
test_cancelled (gconstpointer data)
{
  const TdVolumeFormat format = GPOINTER_TO_UINT (data);
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = g_build_filename (folder->path, names[format], NULL);
  g_autofree float *slices = make_slices (3);
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GError) error = NULL;
  TdVolumeSpec spec = make_spec (path, format, 32);
  TdVolumeWriter *writer = td_volume_writer_new (&spec, &error);

  td_volume_writer_set_cancellable (writer, cancellable);
  g_assert_true (td_volume_writer_write (writer, 0, 2, slices, &error));
  g_cancellable_cancel (cancellable);
  g_assert_false (td_volume_writer_write (writer, 2, N - 2, slices, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  td_volume_writer_free (writer);
  g_assert_cmpuint (test_folder_count (folder), ==, 0);
}

/* ── The threads ── */

#define PIECES 1000u

typedef struct {
  gint done[PIECES]; /* atomic */
  guint bad;         /* pieces from here on fail */
} Pieces;

static gboolean
do_piece (guint index, gpointer scratch, gpointer user, GError **error)
{
  Pieces *pieces = user;

  memset (scratch, (int) index, 100);
  g_atomic_int_inc (&pieces->done[index]);
  if (index % 7 == 0)
    g_usleep (100);
  if (index < pieces->bad)
    return TRUE;
  td_set_error (error, TD_ERROR_IO, "piece %u", index);
  return FALSE;
}

/* Every piece is done once; of several failures that of the first piece is told. */
static void
test_pieces (void)
{
  for (guint bad = 0; bad <= PIECES; bad += 50) {
    g_autofree Pieces *pieces = g_new0 (Pieces, 1);
    g_autoptr (GError) error = NULL;
    const TdStorageWork work = { PIECES, 100, do_piece, pieces };

    pieces->bad = bad;
    td_storage_set_threads (bad % 3 == 0 ? 1 : 13);
    g_assert_true (td_storage_run (&work, NULL, &error) == (bad == PIECES));
    if (bad < PIECES) {
      g_autofree char *told = g_strdup_printf ("piece %u", bad);
      g_assert_cmpstr (error->message, ==, told);
    }
    for (guint i = 0; i < PIECES; i++)
      g_assert_true (i >= bad ? pieces->done[i] <= 1 : pieces->done[i] == 1);
  }
  td_storage_set_threads (0);
}

/* What a volume is taken for. */
static void
pin_volume (const char *what, const char *path, const TdScanOptions *options)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TdVolume) volume = td_volume_open_stated (path, options, &error);

  if (!volume) {
    td_test_pin ("%s: %s", what, error->message);
    return;
  }
  const TdVolumeFacts *f = td_volume_facts (volume);
  g_autofree char *note = f->notes ? td_messages_join (f->notes, " ", NULL) : NULL;
  g_autofree char *provenance = g_strdup (f->provenance_json);
  td_test_pin ("%s: %s, %u × %u × %u, %u bits of %s, %.4f to %.4f, %.4f mm, %s, %s, %s%s%s", what,
               f->format, f->nx, f->ny, f->n_slices, f->bits, td_sample_name (f->type), f->low,
               f->high, f->voxel_mm, f->units,
               provenance ? g_strdelimit (provenance, "\n ", '_') : NULL,
               f->complete ? "whole" : "not whole", note ? "; " : "", note ? note : "");
}

/* Volumes as they are written, and as people then have them: with files that are missing, or by
   themselves. */
static void
test_taken_for (void)
{
  static const char *const provenances[] = { "{\"device\": \"host\"}", "as somebody wrote it" };
  static const TdScanOptions sized = { .pixel_mm = 0.5 }, named = { .dataset = "/entry/none" };

  for (guint i = 0; i < 12; i++) {
    const TdVolumeFormat format = (TdVolumeFormat) (i % 3);
    const guint bits = i / 3 % 2 ? 16 : 32;
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autofree char *path = test_folder_file (folder, names[format]);
    g_autofree char *part = g_strconcat (path, ".part", NULL);
    g_autofree float *slices = make_slices (i + 1);
    TdVolumeSpec spec = make_spec (path, format, bits);

    if (i >= 6) {
      spec.units = NULL;
      spec.voxel_mm = 0;
    }
    {
      g_autoptr (TdVolumeWriter) writer = td_volume_writer_new (&spec, NULL);
      write_all (writer, slices);
      g_assert_true (td_volume_writer_finish (writer, provenances[i / 6], NULL));
    }
    pin_volume (names[format], path, NULL);
    pin_volume ("with another pixel", path, &sized);
    pin_volume ("a data set of it", path, &named);
    g_assert_cmpint (g_rename (path, part), ==, 0);
    pin_volume ("as a part", part, NULL);
    g_assert_cmpint (g_rename (part, path), ==, 0);
    for (guint k = 0; k < N + 1 && format == TD_VOLUME_TIFF_STACK; k++) {
      g_autofree char *name = g_strdup_printf ("slice_%05u.tif", 17 + k);
      g_autofree char *file = g_build_filename (path, k < N ? name : "provenance.json", NULL);
      g_autofree char *aside = test_folder_file (folder, k < N ? name : "provenance.json");
      g_autofree char *without = g_strconcat ("without ", k < N ? name : "provenance", NULL);
      if (k == 2)
        pin_volume (name, file, NULL);
      g_assert_cmpint (g_rename (file, aside), ==, 0);
      pin_volume (without, path, NULL);
      if (k == 2)
        pin_volume ("that slice elsewhere", aside, NULL);
      g_assert_cmpint (g_rename (aside, file), ==, 0);
    }
  }
}

/* What a run left that ended before its volume did, under whatever name people then give it. */
static void
test_left_over (void)
{
  g_autofree float *slices = make_slices (7);

  for (TdVolumeFormat format = 0; format < G_N_ELEMENTS (names); format++) {
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autofree char *path = test_folder_file (folder, names[format]);
    g_autofree char *part = g_strconcat (path, ".job.part", NULL);
    g_autofree char *slashed = g_strconcat (part, format ? "" : "/", NULL);
    TdVolumeSpec spec = make_spec (path, format, 32);
    g_autoptr (GError) error = NULL;

    spec.job = "job";
    {
      g_autoptr (TdVolumeWriter) writer = td_volume_writer_new (&spec, &error);
      g_assert_no_error (error);
      g_assert_true (td_volume_writer_write (writer, 0, N - 2, slices, &error));
    }
    for (guint named = 0; named < 2; named++) {
      g_autoptr (TdVolume) volume = td_volume_open (named ? path : slashed, &error);
      g_assert_no_error (error);
      const TdVolumeFacts *facts = td_volume_facts (volume);
      g_autofree char *notes = td_messages_join (facts->notes, " ", NULL);

      g_assert_false (facts->complete);
      g_assert_nonnull (strstr (notes, named && !format
                                           ? "was written with 5 slices, but holds 3: copy it anew"
                                           : "left by a run that did not end: slices that it has"));
      if (!named)
        g_assert_cmpint (g_rename (part, path), ==, 0);
    }
  }
}

/* Of raw slices numbers may be missing, and of a program's stack images, which it states. */
static void
test_gaps_of_others (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  const TdScanOptions raw = { .raw_columns = 3, .raw_rows = 2, .raw_type = TD_SAMPLE_UINT8 };
  const TdTiffImage image = { 3, 2, TD_SAMPLE_UINT8, 0, "ImageJ=1.54f\nimages=9\n" };
  g_autofree char *stack = test_folder_file (folder, "stack.tif");

  for (guint i = 1; i < 8; i += 3) {
    g_autofree char *name = g_strdup_printf ("raw/a_%u.raw", i);
    g_autofree char *path = test_folder_file (folder, name);
    g_autofree char *own = g_path_get_dirname (path);

    g_assert_cmpint (g_mkdir_with_parents (own, 0777), ==, 0);
    g_assert_true (g_file_set_contents (path, "abcdef", 6, NULL));
  }
  TdTiffSave *save = td_tiff_save_new (stack, stack, &image, 3, FALSE, NULL);
  g_assert_nonnull (save);
  g_assert_true (td_tiff_save_close (save, NULL));
  for (guint i = 0; i < 2; i++) {
    g_autofree char *path = i ? g_strdup (stack) : test_folder_file (folder, "raw");
    g_autoptr (TdVolume) volume = td_volume_open_stated (path, i ? NULL : &raw, NULL);
    g_assert_nonnull (volume);
    g_autofree char *notes = td_messages_join (td_volume_facts (volume)->notes, " ", NULL);
    g_assert_nonnull (strstr (notes, i ? "stack.tif” states 9 images, but holds 3: if"
                                       : "3 files from “a_1.raw” to “a_7.raw”: their"));
  }
}

/* What a description says: each of its numbers is another, or none. */
static void
test_descriptions (void)
{
  static const char *const texts[] = {
    "{\"tomodesk_volume\":1,\"n_slices\":7,\"bits\":16,\"low\":-1,\"high\":2,\"voxel_mm\":0.5}",
    "{\"tomodesk_volume\":1}",
    "{\"tomodesk_volume\":2,\"n_slices\":7}",
    "{\"n_slices\":7}",
    "{\"tomodesk_volume\":1,\"n_slices\":-7,\"bits\":-1}",
    "{\"tomodesk_volume\":1,\"n_slices\":1e300,\"bits\":1e300}",
    "{\"tomodesk_volume\":1,\"n_slices\":\"7\",\"bits\":null,\"low\":\"a\",\"high\":[1]}",
    "{\"tomodesk_volume\":1,\"bits\":64,\"units\":3,\"voxel_mm\":\"1\"}",
    "{\"tomodesk_volume\":1,\"bits\":65,\"units\":\"1/cm\"}",
    "{\"tomodesk_volume\":1,\"provenance\":{\"a\":1}}",
    "{\"tomodesk_volume\":1,\"provenance\":\"as it was\"}",
    "[1]",
    "no JSON",
  };

  for (guint i = 0; i < G_N_ELEMENTS (texts); i++) {
    TdVolumeFacts facts = { .bits = 8, .low = 0.25, .high = 0.75 };
    guint n = 99;
    const gboolean taken = td_volume_take_description (&facts, texts[i], &n);

    td_test_pin ("%s: %d, %u slices, %u bits, %.2f to %.2f, %.3f mm, %s, %s", texts[i], taken, n,
                 facts.bits, facts.low, facts.high, facts.voxel_mm, facts.units,
                 facts.provenance_json);
    g_free (facts.units);
    g_free (facts.provenance_json);
  }
}

/* Of slices between which numbers are missing it is told how many there are, and from where to
   where. */
static void
test_gaps (void)
{
  static const struct {
    const char *files, *says; /* NULL: nothing */
  } cases[] = {
    { "a_1.tif", NULL },
    { "a_7.tif", NULL },
    { "a_1.tif a_2.tif", NULL },
    { "a_3.tif a_4.tif a_5.tif", NULL },
    { "a_09.tif a_10.tif a_11.tif", NULL },
    { "a_1.tif a_3.tif", "There are 2 files from “a_1.tif” to “a_3.tif”: their numbers have gaps, "
                         "and slices are counted as if there were none." },
    { "a_0.tif a_1.tif a_2.tif a_4.tif",
      "There are 4 files from “a_0.tif” to “a_4.tif”: their numbers have gaps, and slices are "
      "counted as if there were none." },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_auto (GStrv) files = g_strsplit (cases[i].files, " ", -1);
    const guint16 samples[6] = { 1, 2, 3, 4, 5, 6 };
    const TdTiffImage image = { 3, 2, TD_SAMPLE_UINT16, 0, NULL };
    g_autoptr (GError) error = NULL;

    for (guint k = 0; files[k]; k++) {
      g_autofree char *path = test_folder_file (folder, files[k]);
      g_assert_true (td_tiff_save_single (path, files[k], &image, samples, NULL));
    }
    g_autoptr (TdVolume) volume = td_volume_open (folder->path, &error);
    g_assert_no_error (error);
    const TdVolumeFacts *facts = td_volume_facts (volume);
    g_autofree char *note = facts->notes ? td_messages_join (facts->notes, " ", NULL) : NULL;
    g_assert_cmpuint (facts->n_slices, ==, g_strv_length (files));
    g_assert_cmpstr (note, ==, cases[i].says);
  }
}

/* What a volume does not hold is not read. */
static void
test_parts (void)
{
  enum { HOLDS = 4 };
  static const struct {
    TdFrameRange part;
    gboolean good;
  } cases[] = {
    { { .first = 0, .count = HOLDS, .n_rows = 2 }, TRUE },
    { { .first = 1, .count = HOLDS - 1, .row0 = 1, .n_rows = 1 }, TRUE },
    { { .first = HOLDS, .n_rows = 2 }, TRUE },
    { { .first = 0, .count = 1, .row0 = 2 }, TRUE },
    { { .first = 1, .count = HOLDS, .n_rows = 2 }, FALSE },
    { { .first = HOLDS + 1, .n_rows = 2 }, FALSE },
    { { .first = 1, .count = G_MAXUINT, .n_rows = 2 }, FALSE },
    { { .first = 0, .count = 1, .row0 = 1, .n_rows = 2 }, FALSE },
    { { .first = 0, .count = 1, .row0 = 3 }, FALSE },
    { { .first = 0, .count = 1, .row0 = 1, .n_rows = G_MAXUINT }, FALSE },
  };
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *empty = test_folder_file (folder, "empty");
  const guint16 samples[6] = { 1, 2, 3, 4, 5, 6 };
  const TdTiffImage image = { 3, 2, TD_SAMPLE_UINT16, 0, NULL };
  const TdScanOptions raw = { .raw_columns = 3, .raw_rows = 2, .raw_type = TD_SAMPLE_UINT16 };
  g_autoptr (GError) absent = NULL;

  for (guint k = 0; k < HOLDS; k++) {
    g_autofree char *path = g_strdup_printf ("%s/a_%u.tif", folder->path, k);
    g_assert_true (td_tiff_save_single (path, path, &image, samples, NULL));
  }
  g_autoptr (TdVolume) volume = td_volume_open (folder->path, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    float out[6 * HOLDS];
    g_autoptr (GError) error = NULL;
    g_assert_cmpint (td_volume_read_part (volume, &cases[i].part, out, NULL, &error), ==,
                     cases[i].good);
    if (!cases[i].good)
      test_assert_sentence (error, "were asked for");
  }
  g_assert_cmpint (g_mkdir (empty, 0700), ==, 0);
  g_assert_null (td_volume_open_stated (empty, &raw, &absent));
  test_assert_sentence (absent, "empty");
}

int
main (int argc, char **argv)
{
  static const char *const depths[] = { "8", "16", "32" };

  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < 9; i++) {
    g_autofree char *name
        = g_strdup_printf ("/volume/round-trip/%s/%s", names[i / 3], depths[i % 3]);

    g_autofree char *threads
        = g_strdup_printf ("/volume/threads/%s/%s", names[i / 3], depths[i % 3]);

    g_test_add_data_func (name, GUINT_TO_POINTER (i), test_round_trip);
    g_test_add_data_func (threads, GUINT_TO_POINTER (i), test_threads);
  }
  for (guint i = 0; i < 3; i++) {
    g_autofree char *unfinished = g_strdup_printf ("/volume/unfinished/%s", names[i]);
    g_autofree char *existing = g_strdup_printf ("/volume/existing/%s", names[i]);
    g_autofree char *nan = g_strdup_printf ("/volume/nan/%s", names[i]);

    g_test_add_data_func (unfinished, GUINT_TO_POINTER (i), test_unfinished);
    g_test_add_data_func (existing, GUINT_TO_POINTER (i), test_existing);
    g_autofree char *cancelled = g_strdup_printf ("/volume/cancelled/%s", names[i]);
    g_autofree char *full = g_strdup_printf ("/volume/full/%s", names[i]);

    g_test_add_data_func (nan, GUINT_TO_POINTER (i), test_nan_passes);
    g_test_add_data_func (cancelled, GUINT_TO_POINTER (i), test_cancelled);
    g_test_add_data_func (full, GUINT_TO_POINTER (i), test_full);
    g_autofree char *again = g_strdup_printf ("/volume/finished-again/%s", names[i]);
    g_test_add_data_func (again, GUINT_TO_POINTER (i), test_finished_again);
  }
  g_test_add_func ("/volume/gaps", test_gaps);
  g_test_add_func ("/volume/parts", test_parts);
  g_test_add_func ("/volume/taken-away", test_taken_away);
  g_test_add_func ("/volume/taken-for", test_taken_for);
  g_test_add_func ("/volume/left-over", test_left_over);
  g_test_add_func ("/volume/gaps-of-others", test_gaps_of_others);
  g_test_add_func ("/volume/descriptions", test_descriptions);
  g_test_add_func ("/volume/other-bits", test_other_bits);
  g_test_add_func ("/volume/foreign-folder", test_foreign_folder);
  g_test_add_func ("/volume/foreign-images", test_foreign_images);
  g_test_add_func ("/volume/bad-specs", test_bad_specs);
  g_test_add_func ("/volume/pieces", test_pieces);
  g_test_add_func ("/volume/expected", test_expected);
  return g_test_run ();
}
