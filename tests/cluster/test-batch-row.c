/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A batch's rows in every state, as a table and as events. Where volumes of a batch go, and what
   has come into a folder that is watched. */
#include <math.h>
#include <string.h>
#include <utime.h>

#include "cluster/arrivals.h"
#include "cluster/batch.h"
#include "compute/methods/methods.h"
#include "dataset/error.h"
#include "dataset/json-walk.h"
#include "dataset/phantom-scan.h"
#include "dataset/scan-writer.h"
#include "tests/unit/test-folder.h"

#define N_STATES (TD_BATCH_PASSED + 1)

static TdBatchRow *
row_in (TdBatchState state)
{
  TdBatchRow *row = td_batch_row_new ("/in/scan, one.nxs", "/out/scan.tif");

  row->state = state;
  row->centre_px = 12.5;
  row->sigma_px = 0.25;
  row->searched = state >= TD_BATCH_WRITTEN;
  row->agreed = state == TD_BATCH_THERE;
  row->seconds = state == TD_BATCH_WAITING ? NAN : 3;
  row->fraction = 0.5;
  row->why = g_strdup (state == TD_BATCH_FAILED ? "no room" : NULL);
  return row;
}

static void
test_table (void)
{
  static const char *const lines[] = {
    "scan,state,centre_px,sigma_px,agreed,seconds,output,error",
    "\"/in/scan, one.nxs\",waiting,12.5,0.25,,,,",
    "\"/in/scan, one.nxs\",running,12.5,0.25,,3,,",
    "\"/in/scan, one.nxs\",done,12.5,0.25,no,3,/out/scan.tif,",
    "\"/in/scan, one.nxs\",there,12.5,0.25,yes,3,/out/scan.tif,",
    "\"/in/scan, one.nxs\",failed,12.5,0.25,no,3,,no room",
    "\"/in/scan, one.nxs\",cancelled,12.5,0.25,no,3,,",
    "\"/in/scan, one.nxs\",passed over,12.5,0.25,no,3,,",
    "",
  };
  g_autoptr (GPtrArray) rows = g_ptr_array_new_with_free_func ((GDestroyNotify) td_batch_row_free);

  for (guint state = 0; state < N_STATES; state++)
    g_ptr_array_add (rows, row_in (state));
  g_autofree char *csv = td_batch_csv (rows), *wanted = g_strjoinv ("\n", (char **) lines);
  g_assert_cmpstr (csv, ==, wanted);
}

/* An event says all of a row; what is missing in it is not known. */
static void
test_events (void)
{
  for (guint state = 0; state < N_STATES; state++) {
    g_autoptr (TdBatchRow) row = row_in (state);
    g_autoptr (TdBatchRow) copy = td_batch_row_copy (row);
    g_autoptr (JsonBuilder) builder = json_builder_new ();
    json_builder_begin_object (builder);
    td_batch_row_add_json (copy, builder);
    json_builder_end_object (builder);
    g_autoptr (JsonNode) event = json_builder_get_root (builder);
    g_autoptr (TdBatchRow) read = td_batch_row_of_json (event);
    g_assert_cmpstr (read->path, ==, row->path);
    g_assert_cmpstr (read->output, ==, row->output);
    g_assert_cmpstr (read->why, ==, row->why);
    g_assert_cmpint (read->state, ==, row->state);
    g_assert_cmpint (read->searched, ==, row->searched);
    g_assert_cmpint (read->agreed, ==, row->agreed);
    g_assert_cmpfloat (read->centre_px, ==, row->centre_px);
    g_assert_cmpfloat (read->sigma_px, ==, row->sigma_px);
    g_assert_cmpfloat (read->fraction, ==, row->fraction);
    g_assert_true (read->seconds == row->seconds || (isnan (read->seconds) && state == 0));
  }
  g_autoptr (JsonNode) little = td_json_parse ("{\"path\": \"a\", \"state\": \"odd\"}");
  g_autoptr (JsonNode) none = td_json_parse ("{\"output\": \"a\"}");
  g_autoptr (TdBatchRow) row = td_batch_row_of_json (little);
  g_assert_cmpint (row->state, ==, TD_BATCH_WAITING);
  g_assert_true (isnan (row->centre_px) && isnan (row->seconds) && row->fraction == 0);
  g_assert_null (td_batch_row_of_json (none));
}

/* People read what is told, and another process renders it in its reader's language. */
static void
test_why (void)
{
  g_autoptr (TdBatchRow) row = td_batch_row_new ("a", "b");
  g_autoptr (JsonBuilder) builder = json_builder_new ();

  row->state = TD_BATCH_FAILED;
  row->why = td_message_packed ("“%s” has no angles ({angles})", "a");
  json_builder_begin_object (builder);
  td_batch_row_add_json (row, builder);
  json_builder_end_object (builder);
  g_autoptr (JsonNode) event = json_builder_get_root (builder);
  g_autoptr (TdBatchRow) read = td_batch_row_of_json (event);
  g_assert_cmpstr (td_json_string (event, "text"), ==, "“a” has no angles (--angles)");
  g_assert_cmpstr (read->why, ==, row->why);
}

static void
test_outputs (void)
{
  static const struct {
    const char *scans[4], *outputs[4];
    TdVolumeFormat format;
  } cases[] = {
    { { "/a/one.nxs", "/a/two.h5", "three" },
      { "/out/one.tif", "/out/two.tif", "/out/three.tif" },
      TD_VOLUME_BIGTIFF },
    { { "/a/one.nxs" }, { "/out/one.h5" }, TD_VOLUME_HDF5 },
    { { "/a/one.nxs" }, { "/out/one" }, TD_VOLUME_TIFF_STACK },
    { { "/a/one.nxs", "/b/one.nxs", "/b/two.nxs" },
      { "/out/a-one.tif", "/out/b-one.tif", "/out/two.tif" },
      TD_VOLUME_BIGTIFF },
    { { "/a/one", "/b/./one/." }, { "/out/a-one", "/out/b-one" }, TD_VOLUME_TIFF_STACK },
    { { "/a/one.nxs", "/c/a/one.nxs" }, { NULL }, TD_VOLUME_BIGTIFF },
    { { "/a/one.nxs", "/b/one.nxs", "/c/a-one.h5" }, { NULL }, TD_VOLUME_BIGTIFF },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GError) error = NULL;
    g_auto (GStrv) outputs = td_batch_outputs (cases[i].scans, "/out", cases[i].format, &error);
    if (!cases[i].outputs[0]) {
      g_assert_error (error, TD_ERROR, TD_ERROR_INVALID);
      g_assert_null (outputs);
      continue;
    }
    g_assert_no_error (error);
    for (guint k = 0; k < 4; k++) {
      g_assert_cmpstr (outputs[k], ==, cases[i].outputs[k]);
      if (!outputs[k])
        break;
    }
  }
}

/* Memory is that of the largest, all else adds up; what is not known of one is not known of all.
   What has no room is refused, in a folder that is still to be made, too. */
static void
test_need (void)
{
  const double compute_s = g_test_rand_double_range (1, 9);
  const TdBatchNeed one = { .n_slices = 3,
                            .host_bytes = 70,
                            .device_bytes = 5,
                            .write_bytes = 100,
                            .room_bytes = 100,
                            .times = { .read = 2, .compute = compute_s, .write = 0.5 },
                            .estimate_s = 4 },
                    two = { .n_slices = 4,
                            .host_bytes = 60,
                            .device_bytes = 8,
                            .write_bytes = 50,
                            .room_bytes = 0,
                            .times = { .read = 3, .compute = 1, .write = 1 },
                            .estimate_s = 5 },
                    unknown = { .times = { .write = NAN }, .estimate_s = NAN };
  g_autofree char *folder
      = g_build_filename (g_get_tmp_dir (), "tomodesk-nowhere", "volumes", NULL);
  g_autoptr (GError) error = NULL;
  TdBatchNeed all = { 0 };

  td_batch_need_add (&all, &one);
  td_batch_need_add (&all, &two);
  g_assert_cmpuint (all.n_slices, ==, 7);
  g_assert_cmpuint (all.host_bytes, ==, 70);
  g_assert_cmpuint (all.device_bytes, ==, 8);
  g_assert_cmpuint (all.write_bytes, ==, 150);
  g_assert_cmpuint (all.room_bytes, ==, 100);
  g_assert_cmpfloat (all.times.read, ==, 5);
  g_assert_cmpfloat (all.times.compute, ==, compute_s + 1);
  g_assert_cmpfloat (all.times.write, ==, 1.5);
  g_assert_cmpfloat (all.estimate_s, ==, 9);
  td_batch_need_add (&all, &unknown);
  g_assert_true (isnan (all.times.write) && isnan (all.estimate_s));
  g_assert_true (td_batch_need_fits (&all, folder, &error));
  g_assert_no_error (error);
  all.room_bytes = G_MAXUINT64 - 1;
  g_assert_false (td_batch_need_fits (&all, folder, &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_IO);
  g_assert_nonnull (strstr (error->message, "choose another folder"));
}

/* ── Two at once ── */

/* Makes the volume of another row first, as somebody else does meanwhile. */
typedef struct {
  const TdBatchWork *other;
  TdBatchRow *row; /* NULL: it was made */
} Meanwhile;

static gboolean
run_job (TdJob *job, gpointer user, GError **error)
{
  Meanwhile *meanwhile = user;
  g_autoptr (TdBatchRow) row = meanwhile ? g_steal_pointer (&meanwhile->row) : NULL;

  if (row) {
    td_batch_do (meanwhile->other, row, NULL, error);
    g_assert_no_error (*error);
    g_assert_cmpint (row->state, ==, TD_BATCH_WRITTEN);
  }
  return td_job_run (job, NULL, error);
}

/* A volume that somebody else made meanwhile is there, if it is this one; another is not. */
static void
test_meanwhile (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "scan.nxs");
  g_autofree char *output = test_folder_file (folder, "scan.tif");
  g_autoptr (TdEngine) engine = td_engine_new (td_methods);
  TdPhantomScan spec;
  TdRecipe own, other;
  const TdScanOptions options = { 0 };

  td_phantom_scan_init (&spec, NULL, 32, 3, 20);
  g_autoptr (TdScan) scan = td_phantom_scan_new (&spec, NULL);
  g_assert_true (td_scan_save (scan, path, TD_SCAN_NXTOMO, NULL, NULL));
  td_recipe_init (&own);
  g_strlcpy (own.devices, "host", sizeof own.devices);
  own.output_format = TD_VOLUME_BIGTIFF;
  td_recipe_state_axis (&own, 15.5, 0);
  for (guint same = 0; same < 2; same++) {
    other = own;
    if (!same)
      td_recipe_state_axis (&other, 14, 0);
    const TdBatchWork faster
        = { .engine = engine, .options = &options, .recipe = &other, .run = run_job };
    Meanwhile meanwhile = { &faster, td_batch_row_new (path, output) };
    const TdBatchWork work = {
      .engine = engine, .options = &options, .recipe = &own, .run = run_job, .user = &meanwhile
    };
    g_autoptr (TdBatchRow) row = td_batch_row_new (path, output);
    g_autoptr (GError) error = NULL;
    g_assert_cmpint (td_batch_do (&work, row, NULL, &error), ==, same);
    g_assert_cmpint (row->state, ==, same ? TD_BATCH_THERE : TD_BATCH_FAILED);
    g_assert_true (same ? error == NULL : error != NULL);
    g_assert_cmpint (g_unlink (output), ==, 0);
  }
}

/* ── Failures ── */

static void
cancel_search (gpointer cancellable)
{
  g_cancellable_cancel (cancellable);
}

static gboolean
fail_job (TdJob *job, gpointer user, GError **error)
{
  return td_set_error (error, TD_ERROR_IO, "nothing runs here");
}

/* A row fails with whatever fails, or is cancelled with it. */
static void
test_fails (void)
{
  static const struct {
    const char *name, *device;
    double centre; /* NAN: it is searched */
    TdBatchState state;
    const char *says;
  } cases[] = {
    { "none.nxs", "host", 15.5, TD_BATCH_FAILED, "none.nxs" },
    { "scan.nxs", "host", NAN, TD_BATCH_CANCELLED, NULL },
    { "scan.nxs", "nobody", 15.5, TD_BATCH_FAILED, "nobody" },
    { "scan.nxs", "host", 15.5, TD_BATCH_FAILED, "nothing runs here" },
  };
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "scan.nxs");
  g_autofree char *output = test_folder_file (folder, "scan.tif");
  g_autoptr (TdEngine) engine = td_engine_new (td_methods);
  TdPhantomScan spec;
  const TdScanOptions options = { 0 };

  td_phantom_scan_init (&spec, NULL, 32, 3, 20);
  g_autoptr (TdScan) scan = td_phantom_scan_new (&spec, NULL);
  g_assert_true (td_scan_save (scan, path, TD_SCAN_NXTOMO, NULL, NULL));
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    TdRecipe recipe;
    g_autofree char *own = test_folder_file (folder, cases[i].name);
    g_autoptr (GCancellable) cancellable = g_cancellable_new ();
    g_autoptr (TdBatchRow) row = td_batch_row_new (own, output);
    g_autoptr (GError) error = NULL;
    const TdBatchWork work = { .engine = engine,
                               .options = &options,
                               .recipe = &recipe,
                               .searches = cancel_search,
                               .run = fail_job,
                               .user = cancellable };

    td_recipe_init (&recipe);
    g_strlcpy (recipe.devices, cases[i].device, sizeof recipe.devices);
    if (isfinite (cases[i].centre))
      td_recipe_state_axis (&recipe, cases[i].centre, 0);
    g_assert_false (td_batch_do (&work, row, cancellable, &error));
    g_assert_cmpint (row->state, ==, cases[i].state);
    if (cases[i].says)
      test_assert_sentence (error, cases[i].says);
    else
      g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  }
}

/* ── Arrivals ── */

static void
put (const TestFolder *folder, const char *name, const char *text)
{
  g_autofree char *path = test_folder_file (folder, name);

  g_assert_true (g_file_set_contents (path, text, -1, NULL));
}

/* What a look tells, by names: what came, and in brackets what was passed over. */
static void
assert_came (TdArrivals *arrivals, guint moving, const char *wanted)
{
  g_autoptr (GString) names = g_string_new (NULL);
  guint n_moving = 77;
  g_auto (GStrv) paths = td_arrivals_look (arrivals, &n_moving, NULL);

  for (guint i = 0; paths[i]; i++) {
    g_autofree char *name = g_path_get_basename (paths[i]);
    g_string_append_printf (names, "%s ", name);
  }
  for (guint i = 0; td_arrivals_passed (arrivals)[i]; i++) {
    g_autofree char *name = g_path_get_basename (td_arrivals_passed (arrivals)[i]);
    g_string_append_printf (names, "(%s) ", name);
  }
  g_assert_cmpstr (names->str, ==, wanted);
  g_assert_cmpuint (n_moving, ==, moving);
}

/* Where volumes go is none, nor what holds that. Beside the scans themselves they may not go. */
static void
test_arrivals_own (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *own = test_folder_file (folder, "out/volumes");
  g_autofree char *like = test_folder_file (folder, "ou");
  g_autoptr (GError) error = NULL;

  g_assert_cmpint (g_mkdir_with_parents (own, 0700), ==, 0);
  g_assert_cmpint (g_mkdir (like, 0700), ==, 0);
  TdArrivals *arrivals = td_arrivals_new (folder->path, own, 0);
  assert_came (arrivals, 0, "ou ");
  td_arrivals_free (arrivals);
  arrivals = td_arrivals_new (folder->path, folder->path, 0);
  g_assert_null (td_arrivals_look (arrivals, NULL, &error));
  test_assert_sentence (error, "is watched");
  td_arrivals_free (arrivals);
}

/* Each scan once, in the order of names, and again when it was changed, however deep. What is
   hidden, on its way, or the batch's own is none. What is no scan is told once. */
static void
test_arrivals (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *own = test_folder_file (folder, "volumes");
  g_autofree char *deep = test_folder_file (folder, "b/x/y");
  g_autofree char *deeper = test_folder_file (folder, "b/x/y/z");
  g_autofree char *first = test_folder_file (folder, "a.nxs");
  g_autofree char *frame = test_folder_file (folder, "b/x/y/frame.tif");

  g_assert_cmpint (g_mkdir_with_parents (deep, 0700), ==, 0);
  g_assert_cmpint (g_mkdir (own, 0700), ==, 0);
  put (folder, "c.H5", "1");
  put (folder, "a.nxs", "1");
  put (folder, ".hidden.nxs", "1");
  put (folder, "d.nxs.PART", "1");
  put (folder, "notes.txt", "1");
  put (folder, "Readme", "1");
  TdArrivals *arrivals = td_arrivals_new (folder->path, own, 0);
  assert_came (arrivals, 0, "a.nxs b c.H5 (Readme) (notes.txt) ");
  assert_came (arrivals, 0, "");
  put (folder, "b/x/y/frame.tif", "12"); /* the third folder below */
  assert_came (arrivals, 0, "b ");
  put (folder, "a.nxs", "12");
  assert_came (arrivals, 0, "a.nxs ");
  g_assert_cmpint (g_unlink (first), ==, 0);
  assert_came (arrivals, 0, "");
  put (folder, "a.nxs", "12"); /* another of that name */
  assert_came (arrivals, 0, "a.nxs ");
  g_assert_cmpint (g_mkdir (deeper, 0700), ==, 0);
  assert_came (arrivals, 0, "b ");
  /* A copy in place that keeps its time, and is as long. File systems' clocks tick. */
  g_usleep (50000);
  FILE *file = fopen (frame, "r+");
  g_assert_true (file && fputs ("34", file) >= 0 && fclose (file) == 0);
  g_assert_cmpint (g_utime (frame, &(struct utimbuf) { 1, 1 }), ==, 0);
  assert_came (arrivals, 0, "b ");
  assert_came (arrivals, 0, "");
  td_arrivals_free (arrivals);

  /* What is not still for so long is counted, and not told. */
  arrivals = td_arrivals_new (folder->path, NULL, 1000);
  assert_came (arrivals, 4, "(Readme) (notes.txt) ");
  assert_came (arrivals, 4, "");
  td_arrivals_free (arrivals);
}

static void
test_arrivals_of_nothing (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *none = test_folder_file (folder, "none");
  g_autoptr (GError) error = NULL;
  TdArrivals *arrivals = td_arrivals_new (none, NULL, 0);

  g_assert_null (td_arrivals_look (arrivals, NULL, &error));
  test_assert_sentence (error, none);
  td_arrivals_free (arrivals);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/batch-row/table", test_table);
  g_test_add_func ("/batch-row/events", test_events);
  g_test_add_func ("/batch-row/why", test_why);
  g_test_add_func ("/batch-row/outputs", test_outputs);
  g_test_add_func ("/batch-row/need", test_need);
  g_test_add_func ("/batch-row/arrivals", test_arrivals);
  g_test_add_func ("/batch-row/arrivals-own", test_arrivals_own);
  g_test_add_func ("/batch-row/arrivals-of-nothing", test_arrivals_of_nothing);
  g_test_add_func ("/batch-row/meanwhile", test_meanwhile);
  g_test_add_func ("/batch-row/fails", test_fails);
  return g_test_run ();
}
