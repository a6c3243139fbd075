/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/common/cli.h"
#include "tests/unit/hdf5-scans.h"

/**
 * HDF5 files in which libhdf5 crashes or never ends: damaged strings of variable length, virtual
 * data sets that map onto themselves. The program says so in one sentence, and can be cancelled.
 */

/* Of the heap's strings, in the order in which write_scan() writes them; behind them it is free. */
enum { CLASS_STRING, DEFINITION_STRING, NAME_STRING, FREE_SPACE };

static void
add_variable_string (hid_t group, const char *name, const char *text, gboolean attribute)
{
  g_auto (TdH5Id) type = H5Tcopy (H5T_C_S1);
  g_auto (TdH5Id) space = H5Screate (H5S_SCALAR);

  H5Tset_size (type, H5T_VARIABLE);
  g_auto (TdH5Id) object
      = attribute ? H5Acreate2 (group, name, type, space, H5P_DEFAULT, H5P_DEFAULT)
                  : H5Dcreate2 (group, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  g_assert_cmpint (attribute ? H5Awrite (object, type, &text)
                             : H5Dwrite (object, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, &text),
                   >=, 0);
}

/* A virtual data set of frames that takes all of them from itself, by the name @file. */
static void
add_self (hid_t group, const char *file)
{
  const hsize_t shape[3] = { VIEWS, ROWS, COLUMNS };
  g_auto (TdH5Id) space = H5Screate_simple (3, shape, NULL);
  g_auto (TdH5Id) properties = H5Pcreate (H5P_DATASET_CREATE);

  H5Pset_virtual (properties, space, file, "/entry/instrument/detector/data", space);
  g_auto (TdH5Id) set
      = H5Dcreate2 (group, "data", H5T_NATIVE_UINT16, space, H5P_DEFAULT, properties, H5P_DEFAULT);
  g_assert_cmpint (set, >=, 0);
}

/* @self: (nullable): by which name the frames map onto themselves. */
static void
write_scan (const char *path, const char *self)
{
  static const guint8 views[VIEWS] = { 1 }; /* a flat, then projections */
  double angles[VIEWS];
  TD_H5_GUARD;
  /* Virtual data sets need a newer format than this program's own files have. */
  hid_t file = self ? H5Fcreate (path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT)
                    : td_h5_create_sized (path, 0);
  {
    g_auto (TdH5Id) entry = H5Gcreate2 (file, "entry", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    add_variable_string (entry, "NX_class", "NXentry", TRUE);
    add_variable_string (entry, "definition", "NXtomo", FALSE);
    g_auto (TdH5Id) instrument = add_group (entry, "instrument");
    g_auto (TdH5Id) detector = add_group (instrument, "detector");
    g_auto (TdH5Id) sample = add_group (entry, "sample");
    add_variable_string (sample, "name", "a piece of bone", FALSE);
    for (guint i = 0; i < VIEWS; i++)
      angles[i] = 20 * i;
    if (self)
      add_self (detector, self);
    else
      add_frames (detector, "data", 1, VIEWS, FALSE, 0);
    g_assert_true (td_h5_add_bytes (detector, "image_key", views, VIEWS));
    g_assert_true (td_h5_add_doubles (sample, "rotation_angle", angles, VIEWS, "deg"));
  }
  g_assert_true (td_h5_finish (file));
}

/* The file's first global heap says of its string number @n that it has @bytes. Sizes of 8 bytes
   stand 8 behind the beginning of an object, which has 16 and its string in multiples of 8. */
static void
damage_string (const char *path, guint n, guint64 bytes)
{
  g_autofree char *text = NULL;
  g_autoptr (GError) error = NULL;
  gsize length;

  g_file_get_contents (path, &text, &length, &error);
  g_assert_no_error (error);
  char *at = memmem (text, length, "GCOL", 4);
  g_assert_nonnull (at);
  at += 16;
  for (guint i = 0; i < n; i++) {
    guint64 own;
    memcpy (&own, at + 8, sizeof own);
    at += 16 + (GUINT64_FROM_LE (own) + 7) / 8 * 8;
  }
  bytes = GUINT64_TO_LE (bytes);
  memcpy (at + 8, &bytes, sizeof bytes);
  g_file_set_contents (path, text, (gssize) length, &error);
  g_assert_no_error (error);
}

/* Later versions of the library survive some of these files; 1.10.8 survives none. */
static gboolean
library_is_old (void)
{
  unsigned major, minor, release;

  H5get_libversion (&major, &minor, &release);
  return major == 1 && minor == 10 && release <= 8;
}

#define MOST_LOOKS 6000             /* 10 ms each */
#define CRASHES ((guint64) 1 << 40) /* a size to copy */
#define NEVER_ENDS ((guint64) 0)    /* a step from the free space to what is behind it */

static char *
damaged_scan (const TestFolder *folder, const char *name, guint string, guint64 bytes)
{
  char *path = test_folder_file (folder, name);

  write_scan (path, NULL);
  damage_string (path, string, bytes);
  return path;
}

static void
check_sentence (const TdTestRun *run, const char *words)
{
  if (!library_is_old () && run->status == 0)
    return;
  td_test_run_assert_refused (run, 1, library_is_old () ? words : "");
}

static void
test_sound (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "scan.nxs");
  g_auto (TdTestRun) run = { 0 };

  write_scan (path, NULL);
  td_test_cli (&run, folder->path, "info", "scan.nxs", NULL);
  g_assert_cmpstr (run.error, ==, "");
  g_assert_cmpint (run.status, ==, 0);
}

/* Whoever opens it: as a scan, in a folder, beside one, as a volume, as what is replaced. */
static void
test_crash (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *sound = test_folder_file (folder, "sound.nxs");
  g_autofree char *inner = test_folder_file (folder, "inner");
  g_autofree char *path = damaged_scan (folder, "scan.nxs", DEFINITION_STRING, CRASHES);
  g_autofree char *below = g_build_filename (inner, "scan.nxs", NULL);
  enum { FOLDER = 3 };
  static const char *const lines[][8] = {
    { "info", "scan.nxs" },
    { "plan", "scan.nxs" },
    { "centre", "scan.nxs" },
    { "info", "inner" },
    { "reconstruct", "scan.nxs", "--output", "out.tif" },
    { "reconstruct", "sound.nxs", "--flats", "scan.nxs", "--output", "out.tif" },
    { "reconstruct", "sound.nxs", "--bad-pixels", "scan.nxs", "--output", "out.tif" },
    { "reconstruct", "sound.nxs", "--output", "scan.nxs", "--format", "hdf5", "--overwrite" },
    { "reconstruct", "sound.nxs", "--method", "sirt", "--start", "scan.nxs", "--output",
      "out.tif" },
    { "compare", "scan.nxs", "sound.nxs" },
  };

  write_scan (sound, NULL);
  g_assert_cmpint (g_mkdir (inner, 0700), ==, 0);
  g_assert_cmpint (link (path, below), ==, 0);
  for (guint i = 0; i < G_N_ELEMENTS (lines); i++) {
    g_auto (TdTestRun) run = { 0 };
    const char *const *l = lines[i];
    td_test_cli (&run, folder->path, l[0], l[1], l[2], l[3], l[4], l[5], l[6], l[7], NULL);
    g_test_message ("%s %s: %s", l[0], l[1], run.error);
    g_assert_cmpint (run.status, >=, 0);
    if (library_is_old ())
      g_assert_cmpint (run.status, ==, 1);
    if (run.status)
      td_test_run_assert_refused (&run, 1, i == FOLDER ? "inner" : "scan.nxs");
  }
  g_auto (TdTestRun) run = { 0 };
  td_test_cli (&run, folder->path, "info", "scan.nxs", NULL);
  check_sentence (&run, "The HDF5 library");
}

static void
test_never_ends (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = damaged_scan (folder, "scan.nxs", FREE_SPACE, NEVER_ENDS);
  g_auto (TdTestRun) run = { 0 };

  g_setenv ("TOMODESK_PROBE_SECONDS", "1", TRUE);
  td_test_cli (&run, folder->path, "info", "scan.nxs", NULL);
  g_unsetenv ("TOMODESK_PROBE_SECONDS");
  check_sentence (&run, "without an end");
}

/* Until the program has asked for Control-C, which a busy machine may take seconds for: before, it
   would simply end. */
static void
await_handler (GPid child)
{
  g_autofree char *path = g_strdup_printf ("/proc/%d/status", (int) child);

  for (guint i = 0; i < MOST_LOOKS; i++) {
    g_autofree char *text = NULL;
    g_file_get_contents (path, &text, NULL, NULL);
    const char *caught = text ? strstr (text, "SigCgt:") : NULL;
    if (caught && g_ascii_strtoull (caught + strlen ("SigCgt:"), NULL, 16) & 1ull << (SIGINT - 1))
      return;
    g_usleep (10000);
  }
  g_error ("the program never asked for Control-C");
}

/* Control-C, while the library holds its lock for ever in a scan, or in its flats. */
static void
test_cancelled (gconstpointer in_flats)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = damaged_scan (folder, "scan.nxs", FREE_SPACE, NEVER_ENDS);
  g_autofree char *sound = test_folder_file (folder, "sound.nxs");
  const char *const words[] = { g_getenv ("TOMODESK_CLI"),   "info", in_flats ? sound : path,
                                in_flats ? "--flats" : NULL, path,   NULL };
  g_autoptr (GError) error = NULL;
  int status = 0;
  GPid child;

  write_scan (sound, NULL);
  if (!library_is_old ()) {
    g_test_skip ("this HDF5 library comes to an end");
    return;
  }
  g_spawn_async (NULL, (char **) words, NULL,
                 G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_STDERR_TO_DEV_NULL, NULL, NULL, &child,
                 &error);
  g_assert_no_error (error);
  await_handler (child);
  g_usleep (G_USEC_PER_SEC);
  g_assert_cmpint (waitpid (child, &status, WNOHANG), ==, 0);
  const gint64 start = g_get_monotonic_time ();
  kill (child, SIGINT);
  while (waitpid (child, &status, 0) < 0 && errno == EINTR)
    ;
  g_assert_true (WIFEXITED (status));
  g_assert_cmpint (WEXITSTATUS (status), ==, 130);
  g_assert_cmpint (g_get_monotonic_time () - start, <, 20 * G_USEC_PER_SEC);
}

static void
test_maps_onto_itself (gconstpointer name)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "scan.nxs");
  g_auto (TdTestRun) run = { 0 };

  write_scan (path, name);
  td_test_cli (&run, folder->path, "reconstruct", "scan.nxs", "--output", "out.tif", NULL);
  td_test_run_assert_refused (&run, 1, "without an end");
}

/* Frames that lie in the data set's header, which has no room for them. The library crashes as they
   are read, and not as the file is opened. */
static void
test_frames (void)
{
  static const char *const lines[][6] = {
    { "info", "scan.nxs" },
    { "reconstruct", "scan.nxs", "--output", "out.tif" },
    { "compare", "scan.nxs", "scan.nxs" },
  };
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "scan.nxs");
  g_autofree char *text = NULL;
  g_autoptr (GError) error = NULL;
  gsize length;
  guint64 place[2];

  write_scan (path, NULL);
  {
    TD_H5_GUARD;
    g_auto (TdH5Id) file = H5Fopen (path, H5F_ACC_RDONLY, H5P_DEFAULT);
    g_auto (TdH5Id) set = H5Dopen2 (file, "/entry/instrument/detector/data", H5P_DEFAULT);
    place[0] = GUINT64_TO_LE (H5Dget_offset (set));
    place[1] = GUINT64_TO_LE (H5Dget_storage_size (set));
  }
  g_file_get_contents (path, &text, &length, &error);
  g_assert_no_error (error);
  char *at = memmem (text, length, place, sizeof place); /* so the message of the layout ends */
  g_assert_nonnull (at);
  memset (at - 1, 0, 1 + sizeof place); /* before the place stands its kind: 1, apart; 0, here */
  g_file_set_contents (path, text, (gssize) length, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < G_N_ELEMENTS (lines); i++) {
    g_auto (TdTestRun) run = { 0 };
    const char *const *l = lines[i];
    td_test_cli (&run, folder->path, l[0], l[1], l[2], l[3], NULL);
    g_test_message ("%s: %s", l[0], run.error);
    g_assert_cmpint (run.status, >=, 0);
    if (library_is_old ())
      td_test_run_assert_refused (&run, 1, "scan.nxs");
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/damaged/sound", test_sound);
  g_test_add_func ("/damaged/crash", test_crash);
  g_test_add_func ("/damaged/frames", test_frames);
  g_test_add_func ("/damaged/never-ends", test_never_ends);
  g_test_add_data_func ("/damaged/cancelled", NULL, test_cancelled);
  g_test_add_data_func ("/damaged/cancelled-in-flats", "flats", test_cancelled);
  g_test_add_data_func ("/damaged/onto-itself", ".", test_maps_onto_itself);
  g_test_add_data_func ("/damaged/onto-itself-by-name", "scan.nxs", test_maps_onto_itself);
  return g_test_run ();
}
