/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Volumes and projections are several times the memory limit. A cone beam's volume has the same
   bits as in one piece. A parallel beam's is equal but for rounding (other slabs, other slices at
   once). The kernel's figures show that the job stays within the memory that the plan states. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "dataset/volume.h"
#include "tests/common/cli.h"
#include "tests/unit/test-folder.h"

typedef struct {
  gboolean cone;
  const char *side, *views, *limit;
  const char *says; /* in the plan's notes */
  const char *tilt; /* of the detector; NULL: it stands straight */
} Size;

static JsonObject *
plan_of (const char *folder, const char *limit)
{
  g_auto (TdTestRun) run = { 0 };

  td_test_cli (&run, folder, "plan", "scan.nxs", "--device", "host", "--memory-limit", limit,
               "--json", NULL);
  g_assert_cmpint (run.status, ==, 0);
  return td_test_run_json (&run);
}

static gboolean
notes_say (JsonObject *plan, const char *words)
{
  JsonArray *notes = json_object_get_array_member (plan, "notes");
  gboolean said = FALSE;

  for (guint i = 0; i < json_array_get_length (notes); i++)
    said = said || strstr (json_array_get_string_element (notes, i), words) != NULL;
  return said;
}

/* Resident bytes at the most. */
static guint64
reconstruct (const char *folder, const char *limit, const char *output)
{
  const char *words[] = { g_getenv ("TOMODESK_CLI"), "reconstruct", "scan.nxs", "--device", "host",
                          "--memory-limit",          limit,         "--output", output,     NULL };
  g_autoptr (GError) error = NULL;
  struct rusage usage;
  int status;
  GPid pid;

  g_spawn_async (folder, (char **) words, NULL,
                 G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_STDOUT_TO_DEV_NULL, NULL, NULL, &pid, &error);
  g_assert_no_error (error);
  g_assert_cmpint (wait4 (pid, &status, 0, &usage), ==, pid);
  g_assert_true (WIFEXITED (status) && WEXITSTATUS (status) == 0);
  return (guint64) usage.ru_maxrss * 1024;
}

static void
assert_same (const char *folder, const char *a, const char *b, gboolean bits)
{
  g_autofree char *path_a = g_build_filename (folder, a, NULL);
  g_autofree char *path_b = g_build_filename (folder, b, NULL);
  g_autoptr (GError) error = NULL;
  g_autoptr (TdVolume) volume_a = td_volume_open (path_a, &error);
  g_assert_no_error (error);
  g_autoptr (TdVolume) volume_b = td_volume_open (path_b, &error);
  g_assert_no_error (error);
  const TdVolumeFacts *facts = td_volume_facts (volume_a);
  const gsize n = (gsize) facts->nx * facts->ny;
  g_autofree float *slice_a = g_new (float, n), *slice_b = g_new (float, n);
  double square = 0, difference = 0;

  g_assert_cmpuint (facts->n_slices, ==, td_volume_facts (volume_b)->n_slices);
  for (guint i = 0; i < facts->n_slices; i++) {
    td_volume_read (volume_a, i, 1, slice_a, &error);
    td_volume_read (volume_b, i, 1, slice_b, &error);
    g_assert_no_error (error);
    if (bits)
      g_assert_cmpmem (slice_a, n * sizeof *slice_a, slice_b, n * sizeof *slice_b);
    for (gsize k = 0; k < n; k++) {
      square += pow (slice_b[k], 2);
      difference += pow ((double) slice_a[k] - slice_b[k], 2);
    }
  }
  g_test_message ("relative RMS %.2e", sqrt (difference / square));
  g_assert_cmpfloat (square, >, 0);
  g_assert_true (sqrt (difference / square) <= 2e-6); /* NaN fails too */
}

static void
test_size (gconstpointer data)
{
  const Size *size = data;
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_auto (TdTestRun) made = { 0 };

  td_test_cli (&made, folder->path, "phantom", size->cone ? "ellipsoids" : "shepp-logan",
               "--output", "scan.nxs", "--columns", size->side, "--rows", size->side, "--views",
               size->views, size->cone ? "--cone" : NULL, size->tilt ? "--detector-tilt" : NULL,
               size->tilt, NULL);
  g_assert_cmpint (made.status, ==, 0);
  g_autoptr (JsonObject) plan = plan_of (folder->path, size->limit);
  const gint64 allowed = json_object_get_int_member (plan, "host_bytes");
  g_assert_true (notes_say (plan, size->says));
  if (size->cone && !size->tilt)
    g_assert_cmpint (json_object_get_int_member (plan, "write_bytes"), >=,
                     4 * (gint64) atoi (size->limit) << 20);
  const guint64 peak = reconstruct (folder->path, size->limit, "pieces.tif");
  const guint64 whole = reconstruct (folder->path, "64G", "whole.tif");
  g_test_message ("limit %s: resident %" G_GUINT64_FORMAT " MB, plan %" G_GINT64_FORMAT
                  " MB; in one piece %" G_GUINT64_FORMAT " MB",
                  size->limit, peak >> 20, allowed >> 20, whole >> 20);
#ifndef __SANITIZE_ADDRESS__ /* it has memory of its own */
  g_assert_cmpint ((gint64) peak, <=, allowed);
#endif
  assert_same (folder->path, "pieces.tif", "whole.tif", size->cone);
}

int
main (int argc, char **argv)
{
  static const Size small_cone = { TRUE, "272", "3", "18M", "temporary file" };
  static const Size portrait = { TRUE, "128", "40", "8M", "each is read once", "0,0,90" };
  /* Memory that holds the projections but not a slice beside them. */
  static const Size rolled = { TRUE, "128", "16", "8M", "temporary file", "0,0,8" };
  static const Size small = { FALSE, "160", "91", "70M", "to fit into memory" };
  static const Size large_cone = { TRUE, "512", "120", "120M", "temporary file" };
  static const Size large = { FALSE, "512", "400", "128M", "" };

  g_test_init (&argc, &argv, NULL);
  /* Limits hold on a machine of many processors too. */
  g_setenv ("TOMODESK_THREADS", "64", TRUE);
  if (g_test_slow ()) {
    g_test_add_data_func ("/out-of-core/large-cone", &large_cone, test_size);
    g_test_add_data_func ("/out-of-core/large", &large, test_size);
  } else {
    g_test_add_data_func ("/out-of-core/small-cone", &small_cone, test_size);
    g_test_add_data_func ("/out-of-core/small", &small, test_size);
    g_test_add_data_func ("/out-of-core/portrait", &portrait, test_size);
    g_test_add_data_func ("/out-of-core/rolled", &rolled, test_size);
  }
  return g_test_run ();
}
