/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Disks that are full, and folders that nobody may write to: one sentence, and nothing is left. */
#include <glib/gstdio.h>
#include <signal.h>
#include <sys/resource.h>

#include "dataset/error.h"
#include "dataset/scan-writer.h"
#include "dataset/volume.h"
#include "small-scan.h"
#include "tests/unit/test-folder.h"

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
  TdVolumeSpec spec
      = { .path = path, .format = format, .bits = 32, .nx = 100, .ny = 100, .n_slices = 4 };
  g_autoptr (GError) error = NULL;

  limit_files (20000);
  TdVolumeWriter *writer = td_volume_writer_new (&spec, &error);
  gboolean good = writer && td_volume_writer_write (writer, 0, 4, slices, &error)
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
  g_autofree float *frames = g_new0 (float, VIEWS *ROWS *COLUMNS);
  g_autoptr (GError) error = NULL;
  double angles[VIEWS];
  TdScanFacts facts;

  fill_facts (&facts, angles);
  limit_files (1000);
  TdScanWriter *writer = td_scan_writer_new (path, format, &facts, FALSE, &error);
  gboolean good = writer && td_scan_writer_write (writer, 0, 0, VIEWS, frames, &error)
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
      TdVolumeSpec spec = {
        .path = (char *) paths[i], .format = format, .bits = 32, .nx = 8, .ny = 8, .n_slices = 2
      };
      g_autoptr (GError) error = NULL;
      g_autoptr (TdVolumeWriter) writer = td_volume_writer_new (&spec, &error);

      if (i == 2 && writer) /* root may write anywhere */
        continue;
      g_assert_null (writer);
      test_assert_sentence (error, paths[i]);
    }
}

int
main (int argc, char **argv)
{
  static const char *const formats[] = { "tiff", "bigtiff", "hdf5" };
  static const char *const scans[] = { "tiff", "nxtomo" };

  signal (SIGXFSZ, SIG_IGN);
  g_test_init (&argc, &argv, NULL);
  add_for_each ("full-disk", test_full_disk, formats, 3);
  add_for_each ("full-disk-scan", test_full_disk_scan, scans, 2);
  g_test_add_func ("/files/unwritable", test_unwritable);
  return g_test_run ();
}
