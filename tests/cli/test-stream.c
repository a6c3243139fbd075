/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A scan streams through: reading, computing and writing beside each other, in the memory that the
   plan states. Times are reported, not judged: other work may share the machine. */
#include <string.h>
#include <sys/resource.h>

#include "dataset/volume.h"
#include "tests/common/cli.h"
#include "tests/unit/test-folder.h"

typedef struct {
  const char *columns, *rows, *views, *output;
} Size;

static guint64
children_peak_bytes (void)
{
  struct rusage usage;

  getrusage (RUSAGE_CHILDREN, &usage);
  return (guint64) usage.ru_maxrss * 1024;
}

/* Wall time against the slowest of reading, computing and writing. */
static void
report (JsonObject *result)
{
  JsonArray *stages = json_object_get_array_member (result, "stages");
  double read = 0, compute = 0, write = 0;

  for (guint i = 0; i < json_array_get_length (stages); i++) {
    JsonObject *stage = json_array_get_object_element (stages, i);
    const char *name = json_object_get_string_member (stage, "name");
    double seconds = json_object_get_double_member (stage, "seconds");
    *(strcmp (name, "read") == 0    ? &read
      : strcmp (name, "write") == 0 ? &write
                                    : &compute)
        += seconds;
  }
  double wall = json_object_get_double_member (result, "seconds");
  g_test_message ("wall %.2f s, reading %.2f, computing %.2f, writing %.2f: %.2f of the slowest",
                  wall, read, compute, write, wall / MAX (read, MAX (compute, write)));
}

static void
test_stream (gconstpointer data)
{
  const Size *size = data;
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_auto (TdTestRun) made = { 0 }, info = { 0 }, planned = { 0 }, run = { 0 };
  g_autofree char *path = g_build_filename (folder->path, size->output, NULL);
  g_autoptr (GError) error = NULL;

  td_test_cli (&made, folder->path, "phantom", "disc", "--output", "scan.nxs", "--columns",
               size->columns, "--rows", size->rows, "--views", size->views, NULL);
  g_assert_cmpint (made.status, ==, 0);
  guint64 before = children_peak_bytes ();
  td_test_cli (&planned, folder->path, "plan", "scan.nxs", "--device", "host", "--json", NULL);
  g_autoptr (JsonObject) plan = td_test_run_json (&planned);
  td_test_cli (&run, folder->path, "reconstruct", "scan.nxs", "--device", "host", "--output",
               size->output, "--json", NULL);
  g_autoptr (JsonObject) result = td_test_run_json (&run);
  report (result);

  gint64 allowed = json_object_get_int_member (plan, "host_bytes");
  g_assert_cmpint (json_object_get_int_member (result, "host_peak_bytes"), <=, allowed);
  guint64 peak = children_peak_bytes ();
  g_test_message ("resident %" G_GUINT64_FORMAT " MB, plan %" G_GINT64_FORMAT " MB", peak >> 20,
                  allowed >> 20);
  /* The largest child so far: only if this one was. */
  if (peak > before)
    g_assert_cmpint ((gint64) peak, <=, allowed);

  g_autoptr (TdVolume) volume = td_volume_open (path, &error);
  g_assert_no_error (error);
  const TdVolumeFacts *facts = td_volume_facts (volume);
  g_assert_true (facts->complete);
  g_assert_nonnull (facts->provenance_json);
  g_autofree float *slice = g_new (float, (gsize) facts->nx * facts->ny);
  for (guint i = 0; i < facts->n_slices; i += facts->n_slices / 3) {
    double sum = 0;
    td_volume_read (volume, i, 1, slice, &error);
    g_assert_no_error (error);
    for (gsize k = 0; k < (gsize) facts->nx * facts->ny; k++)
      sum += slice[k];
    g_assert_cmpfloat (sum, >, 0); /* the disc is there */
  }
}

int
main (int argc, char **argv)
{
  static const Size small = { "160", "100", "91", "slices" };
  static const Size small_hdf5 = { "160", "100", "91", "volume.h5" };
  static const Size large = { "1024", "1024", "721", "slices" };

  g_test_init (&argc, &argv, NULL);
  if (g_test_slow ()) {
    g_test_add_data_func ("/stream/large", &large, test_stream);
  } else {
    g_test_add_data_func ("/stream/small", &small, test_stream);
    g_test_add_data_func ("/stream/small-hdf5", &small_hdf5, test_stream);
  }
  return g_test_run ();
}
