/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a cluster job is asked to do comes back as it was written, and a file of another kind does
   not. */
#include <math.h>
#include <signal.h>
#include <sys/resource.h>

#include "cluster/events.h"
#include "cluster/job-file.h"
#include "compute/recipe/json.h"
#include "dataset/json-walk.h"
#include "dataset/scan-writer.h"
#include "tests/common/pins.h"
#include "tests/unit/test-folder.h"

static void
fill_job (TdJobFile *job)
{
  static const char *const settings[] = { "pixel-mm", "0.25", "sinograms", "true", NULL };
  g_autoptr (GError) error = NULL;

  td_job_file_init (job);
  job->id = g_strdup ("20261122-120000-0123abcd");
  job->title = g_strdup ("Bone, “left”");
  job->scan_path = g_strdup ("/data/a scan.nxs");
  job->scan_settings = g_strdupv ((char **) settings);
  job->output = g_strdup ("/data/out.h5");
  job->overwrite = TRUE;
  job->recipe.output_format = TD_VOLUME_HDF5;
  g_assert_true (td_recipe_set (&job->recipe, "filter", "hann", &error));
  job->cluster = (TdClusterWish) { .mode = TD_CLUSTER_IFDK,
                                   .rows = 3,
                                   .columns = 2,
                                   .ordered = TRUE,
                                   .device = g_strdup ("opencl:0"),
                                   .memory_bytes = (guint64) 300 << 30,
                                   .view_slice = 17 };
  job->profile = g_strdup ("local:6");
  job->submitted = g_strdup ("2026-11-22T12:00:00Z");
}

static void
test_comes_back (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_auto (TdJobFile) job, read;
  g_autoptr (GError) error = NULL;

  fill_job (&job);
  g_assert_true (td_job_file_save (&job, folder->path, &error));
  g_assert_cmpuint (test_folder_count (folder), ==, 1);
  g_assert_true (td_job_file_load (&read, folder->path, &error));
  g_assert_no_error (error);
  g_assert_cmpstr (read.id, ==, job.id);
  g_assert_cmpstr (read.title, ==, job.title);
  g_assert_cmpstr (read.scan_path, ==, job.scan_path);
  g_assert_cmpstr (read.output, ==, job.output);
  g_assert_cmpstr (read.profile, ==, job.profile);
  g_assert_cmpstr (read.submitted, ==, job.submitted);
  g_assert_nonnull (strstr (read.program, "tomodesk "));
  g_assert_true (read.overwrite);
  g_assert_true (g_strv_equal ((const char *const *) read.scan_settings,
                               (const char *const *) job.scan_settings));
  g_assert_true (td_recipe_equal (&read.recipe, &job.recipe));
  g_assert_cmpint (read.cluster.mode, ==, TD_CLUSTER_IFDK);
  g_assert_cmpuint (read.cluster.rows, ==, 3);
  g_assert_cmpuint (read.cluster.columns, ==, 2);
  g_assert_true (read.cluster.ordered);
  g_assert_cmpstr (read.cluster.device, ==, "opencl:0");
  g_assert_cmpuint (read.cluster.memory_bytes, ==, (guint64) 300 << 30);
  g_assert_cmpint (read.cluster.view_slice, ==, 17);
}

/* A batch has no scan of its own, and no worker takes it for one. */
static void
test_batch (void)
{
  static const char *const scans[] = { "/data/one.nxs", "/data/two, “left”", NULL };
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_auto (TdJobFile) job, read;
  g_autoptr (GError) error = NULL;

  fill_job (&job);
  g_clear_pointer (&job.scan_path, g_free);
  g_assert_true (td_job_file_save (&job, folder->path, &error));
  g_assert_false (td_job_file_load (&read, folder->path, &error));
  test_assert_sentence (error, "“scan/path”");
  g_clear_error (&error);
  job.batch.scans = g_strdupv ((char **) scans);
  job.batch.settle_s = 2.5;
  g_assert_true (td_job_file_save (&job, folder->path, &error));
  g_assert_true (td_job_file_load (&read, folder->path, &error));
  g_assert_true (td_job_file_is_batch (&read));
  g_assert_true (g_strv_equal ((const char *const *) read.batch.scans, scans));
  g_assert_cmpfloat (read.batch.settle_s, ==, 2.5);
  g_assert_null (td_job_file_open_scan (&read, NULL, &error));
  test_assert_sentence (error, "batch");
}

/* @change: text of the file, and what takes its place. */
static const struct {
  const char *name, *from, *to, *mentions;
} faults[] = {
  { "version", "\"version\" : 1", "\"version\" : 2", "version 2" },
  { "format", "tomodesk-job", "tomodesk-lob", "“format”" },
  { "mode", "\"ifdk\"", "\"fast\"", "“cluster/mode”" },
  { "setting", "pixel-mm", "pixel-cm", "“scan/settings”" },
  { "output", "/data/out.h5", "out.h5", "“output/path”" },
  { "identity", "20261122-120000", "../20261122", "“id”" },
  { "recipe", "\"hann\"", "\"hamster\"", "hamster" },
  { "cut short", "}", "", NULL },
};

static void
test_refused (gconstpointer data)
{
  const guint at = GPOINTER_TO_UINT (data);
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "job.json");
  g_autofree char *text = NULL;
  g_auto (TdJobFile) job, read;
  g_autoptr (GError) error = NULL;

  fill_job (&job);
  g_assert_true (td_job_file_save (&job, folder->path, &error));
  g_assert_true (g_file_get_contents (path, &text, NULL, &error));
  char *place = strstr (text, faults[at].from);
  g_assert_nonnull (place);
  g_autofree char *changed
      = g_strdup_printf ("%.*s%s%s", (int) (place - text), text, faults[at].to,
                         *faults[at].to ? place + strlen (faults[at].from) : "");
  g_assert_true (g_file_set_contents (path, changed, -1, &error));
  g_assert_false (td_job_file_load (&read, folder->path, &error));
  test_assert_sentence (error, faults[at].mentions);
}

/* What comes of a file: a sentence, or how the member is written again. */
static void
pin_changed (JsonNode *root, const char *path, const char *to)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *file = test_folder_file (folder, "job.json"), *text = td_json_text (root, TRUE);
  g_auto (TdJobFile) read;
  g_autoptr (GError) error = NULL;

  g_assert_true (g_file_set_contents (file, text, -1, NULL));
  if (!td_job_file_load (&read, folder->path, &error)) {
    td_test_pin ("%s, %s: %s", path, to, error->message);
    return;
  }
  g_autofree char *again = NULL;
  g_assert_true (td_job_file_save (&read, folder->path, &error));
  g_assert_true (g_file_get_contents (file, &again, NULL, NULL));
  g_autoptr (JsonNode) saved = td_json_parse (again);
  JsonNode *member = td_json_at (saved, path);
  g_autofree char *value = member ? td_json_text (member, FALSE) : NULL;
  td_test_pin ("%s, %s: is %s", path, to, value);
}

/* Each member in turn is left out, or is something else. */
static void
change_members (JsonNode *root, JsonObject *object, const char *above)
{
  static const char *const others[]
      = { NULL, "null", "\"x\"", "-1", "2.5", "true", "[]", "[\"/a\", 5]", "{}" };
  g_autoptr (GList) names = json_object_get_members (object);

  for (GList *at = names; at; at = at->next) {
    g_autofree char *path = g_strconcat (above, *above ? "/" : "", at->data, NULL);
    g_autofree char *name = g_strdup (at->data); /* the object's goes with the member */
    g_autoptr (JsonNode) before = json_object_dup_member (object, name);

    if (JSON_NODE_HOLDS_OBJECT (before) && strcmp (path, "recipe") != 0)
      change_members (root, json_object_get_object_member (object, name), path);
    for (guint i = 0; i < G_N_ELEMENTS (others); i++) {
      if (others[i])
        json_object_set_member (object, name, json_from_string (others[i], NULL));
      else
        json_object_remove_member (object, name);
      pin_changed (root, path, others[i] ? others[i] : "left out");
    }
    json_object_set_member (object, name, g_steal_pointer (&before));
  }
}

static void
test_members (void)
{
  static const char *const scans[] = { "/data/one.nxs", "/data/two.nxs", NULL };

  for (guint batch = 0; batch < 3; batch++) { /* none, of a folder, of scans */
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autofree char *path = test_folder_file (folder, "job.json"), *text = NULL;
    g_auto (TdJobFile) job;

    fill_job (&job);
    job.scan_hash = g_strdup ("sha256:12");
    if (batch) {
      g_clear_pointer (&job.scan_path, g_free);
      job.batch.watch = batch == 1 ? g_strdup ("/data/in") : NULL;
      job.batch.scans = batch == 2 ? g_strdupv ((char **) scans) : NULL;
      job.batch.settle_s = 2.5;
    }
    g_assert_true (td_job_file_save (&job, folder->path, NULL));
    g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
    g_autoptr (JsonNode) root = td_json_parse (text);
    JsonObject *all = json_node_get_object (root);
    if (batch)
      change_members (root, json_object_get_object_member (all, "batch"), "batch");
    else
      change_members (root, all, "");
  }
}

static char *
write_scan (const TestFolder *folder, const char *name, float value)
{
  g_autofree float *frame = g_new (float, 16 * 12);
  g_autofree double *angles_rad = g_new (double, 5);
  const TdScanFacts facts = { .n_columns = 16,
                              .n_rows = 12,
                              .n_views = 5,
                              .sample_type = TD_SAMPLE_UINT16,
                              .angles_rad = angles_rad,
                              .centre_px = NAN };
  g_autoptr (GError) error = NULL;
  char *path = test_folder_file (folder, name);

  for (guint i = 0; i < 5; i++)
    angles_rad[i] = i;
  g_autoptr (TdScanWriter) writer = td_scan_writer_new (path, TD_SCAN_TIFF, &facts, FALSE, &error);
  g_assert_no_error (error);
  for (guint view = 0; view < 5; view++) {
    for (guint i = 0; i < 16 * 12; i++)
      frame[i] = value + view;
    g_assert_true (td_scan_writer_write (writer, TD_FRAME_PROJECTION, view, 1, frame, &error));
  }
  g_assert_true (td_scan_writer_finish (writer, &error));
  return path;
}

static void
test_scan_hash (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *one = write_scan (folder, "one", 1), *same = write_scan (folder, "same", 1);
  g_autofree char *other = write_scan (folder, "other", 2);
  g_auto (TdJobFile) job;
  g_autoptr (GError) error = NULL;

  td_job_file_init (&job);
  job.scan_path = g_steal_pointer (&one);
  g_autoptr (TdScan) scan = td_job_file_open_scan (&job, NULL, &error);
  g_assert_no_error (error);
  job.scan_hash = td_job_scan_hash (scan, &error);
  g_assert_no_error (error);
  g_assert_true (g_str_has_prefix (job.scan_hash, "sha256:"));

  g_free (job.scan_path);
  job.scan_path = g_steal_pointer (&same);
  g_autoptr (TdScan) copy = td_job_file_open_scan (&job, NULL, &error);
  g_assert_no_error (error);
  g_free (job.scan_path);
  job.scan_path = g_steal_pointer (&other);
  g_assert_null (td_job_file_open_scan (&job, NULL, &error));
  test_assert_sentence (error, "submitted for");
}

/* ── The hash, counted again ── */

typedef struct {
  const char *name; /* below the scan's folder */
  gsize size;
} Hashed;

static void
hash_number_again (GChecksum *sum, guint64 number)
{
  for (guint i = 0; i < 8; i++) {
    const guchar byte = (guchar) (number >> (8 * i));
    g_checksum_update (sum, &byte, 1);
  }
}

/* The scan's sizes, and of each file its name, its length and 64 KiB from either end. Of many files
   the ends of 64 count, which lie evenly. @files are in the order of their names. */
static char *
hash_again (const TdScanFacts *facts, const char *folder, const Hashed *files, guint n)
{
  g_autoptr (GChecksum) sum = g_checksum_new (G_CHECKSUM_SHA256);
  const guint sizes[] = { facts->n_columns, facts->n_rows,  facts->n_views,
                          facts->n_flats,   facts->n_darks, facts->sample_type };

  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++)
    hash_number_again (sum, sizes[i]);
  for (guint i = 0; i < n; i++) {
    g_autofree char *base = g_path_get_basename (files[i].name);
    g_autofree char *path = g_build_filename (folder, files[i].name, NULL), *bytes = NULL;
    const gsize ends = MIN (files[i].size, 65536);
    const double each = n > 64 ? 64.0 / n : 1;
    gsize length;

    g_assert_true (g_file_get_contents (path, &bytes, &length, NULL));
    g_assert_cmpuint (length, ==, files[i].size);
    g_checksum_update (sum, (const guchar *) base, (gssize) strlen (base) + 1);
    hash_number_again (sum, length);
    if (floor ((i + 1) * each + 1e-9) > floor (i * each + 1e-9)) {
      g_checksum_update (sum, (const guchar *) bytes, (gssize) ends);
      g_checksum_update (sum, (const guchar *) bytes + length - ends, (gssize) ends);
    }
  }
  return g_strconcat ("sha256:", g_checksum_get_string (sum), NULL);
}

static gint
hashed_by_name (gconstpointer a, gconstpointer b)
{
  const char *const one = ((const Hashed *) a)->name, *const other = ((const Hashed *) b)->name;
  g_autofree char *base = g_path_get_basename (one), *other_base = g_path_get_basename (other);
  const gint by_name = strcmp (base, other_base);

  return by_name ? by_name : strcmp (one, other);
}

static void
put_hashed (const char *folder, const Hashed *file)
{
  g_autofree char *path = g_build_filename (folder, file->name, NULL);
  g_autofree char *parent = g_path_get_dirname (path), *bytes = g_malloc (file->size + 1);

  for (gsize k = 0; k < file->size; k++)
    bytes[k] = (char) (k * 31 + k / 251);
  g_assert_cmpint (g_mkdir_with_parents (parent, 0700), ==, 0);
  g_assert_true (g_file_set_contents (path, bytes, (gssize) file->size, NULL));
}

/* Files of the folder, and of folders in it; what lies deeper belongs to no scan. */
static void
list_hashed (const char *folder, const char *below, guint depth, GArray *files)
{
  g_autofree char *path = g_build_filename (folder, below, NULL);
  g_autoptr (GDir) dir = depth < 3 ? g_dir_open (path, 0, NULL) : NULL;

  for (const char *name; dir && (name = g_dir_read_name (dir));) {
    g_autofree char *one = g_build_filename (below, name, NULL);
    g_autofree char *whole = g_build_filename (folder, one, NULL), *bytes = NULL;
    gsize size;
    if (g_file_get_contents (whole, &bytes, &size, NULL))
      g_array_append_vals (files, &(Hashed) { g_strdup (one), size }, 1);
    else
      list_hashed (folder, one, depth + 1, files);
  }
}

static void
test_hash_again (void)
{
  static const Hashed large[]
      = { { "b", 65535 }, { "c", 65536 },     { "a/c", 65537 }, { "a/a", 200000 },
          { "a/b/c", 1 }, { "a/b/d/e/f", 7 }, { "d", 0 },       { "a/b/deep.txt", 9 } };
  static Hashed many[70];
  const struct {
    const Hashed *more;
    guint n;
  } cases[] = { { NULL, 0 }, { large, G_N_ELEMENTS (large) }, { many, G_N_ELEMENTS (many) } };

  for (guint i = 0; i < G_N_ELEMENTS (many); i++)
    many[i] = (Hashed) { g_strdup_printf ("z%u", i), 10 + i };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autofree char *path = write_scan (folder, "one", 1);
    g_autoptr (GError) error = NULL;
    g_autoptr (TdScan) scan = td_scan_open (path, NULL, NULL, &error);
    g_autoptr (GArray) files = g_array_new (FALSE, FALSE, sizeof (Hashed));

    g_assert_no_error (error);
    for (guint k = 0; k < cases[i].n; k++)
      put_hashed (path, &cases[i].more[k]);
    list_hashed (path, "", 0, files);
    g_array_sort (files, hashed_by_name);
    g_autofree char *right
        = hash_again (td_scan_facts (scan), path, (const Hashed *) files->data, files->len);
    g_autofree char *hash = td_job_scan_hash (scan, &error);
    g_assert_no_error (error);
    g_assert_cmpstr (hash, ==, right);
    for (guint k = 0; k < files->len; k++)
      g_free ((char *) g_array_index (files, Hashed, k).name);
  }
  for (guint i = 0; i < G_N_ELEMENTS (many); i++)
    g_free ((char *) many[i].name);
}

/* Settings that cannot be are refused before the scan is opened. */
static void
test_settings_refused (void)
{
  static const char *const settings[] = { "pixel-mm", "wide", NULL };
  g_auto (TdJobFile) job;
  TdScanOptions options;
  g_autoptr (GError) error = NULL, opened = NULL;

  td_job_file_init (&job);
  job.scan_path = g_strdup ("/nowhere.nxs");
  job.scan_settings = g_strdupv ((char **) settings);
  g_assert_false (td_job_file_options (&job, &options, &error));
  test_assert_sentence (error, "wide");
  g_assert_null (td_job_file_open_scan (&job, NULL, &opened));
  g_assert_cmpstr (opened->message, ==, error->message);
}

/* What a run tells of its volume, member by member. */
static void
test_volume_told (void)
{
  const TdPlanFacts facts = { .nx = 40,
                              .ny = 30,
                              .n_slices = 20,
                              .first_row = 5,
                              .slice_rows = 2,
                              .pixel_mm = 0.125,
                              .units = "1/mm",
                              .method = "sirt",
                              .centre_px = 19.25 };
  g_autoptr (JsonBuilder) builder = json_builder_new ();

  json_builder_begin_object (builder);
  td_events_add_volume (builder, &facts);
  json_builder_end_object (builder);
  g_autoptr (JsonNode) root = json_builder_get_root (builder);
  g_autofree char *text = td_json_text (root, FALSE);
  g_assert_cmpstr (
      text, ==,
      "{\"nx\":40,\"ny\":30,\"slices\":20,\"first_row\":5,\"slice_rows\":2,"
      "\"pixel_mm\":0.125,\"units\":\"1/mm\",\"method\":\"sirt\",\"centre_px\":19.25}");
}

static void
test_cancel (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *flag = test_folder_file (folder, "cancel");

  g_assert_false (td_job_is_cancelled (folder->path));
  g_assert_true (g_file_set_contents (flag, "", 0, NULL));
  g_assert_true (td_job_is_cancelled (folder->path));
}

static void
test_events (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "events.jsonl"), *text = NULL;
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < 2; i++) { /* a restart goes on in the same file */
    g_autoptr (TdEvents) events = td_events_open (folder->path, &error);
    g_assert_no_error (error);
    td_json_add_integer (td_events_begin (events, "start"), "ranks", 4);
    td_events_end (events);
    td_json_add_string (td_events_begin (events, "note"), "text", "two\nlines");
    td_events_end (events);
  }
  g_assert_true (g_file_get_contents (path, &text, NULL, &error));
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  g_assert_cmpuint (g_strv_length (lines), ==, 5);
  for (guint i = 0; i < 4; i++) {
    g_autoptr (JsonNode) root = td_json_parse (lines[i]);
    g_assert_nonnull (root);
    g_assert_cmpstr (td_json_string (root, "event"), ==, i % 2 ? "note" : "start");
    g_assert_cmpfloat (td_json_number (root, "time"), >, 1.7e9);
    if (i % 2)
      g_assert_cmpstr (td_json_string (root, "text"), ==, "two\nlines");
    else
      g_assert_cmpuint (td_json_count (root, "ranks"), ==, 4);
  }
}

/* A disk that was full for a while costs the events of that while alone. */
static void
test_full_disk (void)
{
  static const char *const told[] = { "start", "progress", "done" };
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "events.jsonl"), *text = NULL;
  g_autoptr (TdEvents) events = td_events_open (folder->path, NULL);
  struct rlimit before, limit;
  gsize length;

  getrlimit (RLIMIT_FSIZE, &before);
  signal (SIGXFSZ, SIG_IGN);
  for (guint i = 0; i < G_N_ELEMENTS (told); i++) {
    td_events_begin (events, told[i]);
    td_events_end (events);
    g_assert_true (g_file_get_contents (path, &text, &length, NULL));
    g_clear_pointer (&text, g_free);
    limit = (struct rlimit) { i == 0 ? length + 20 : before.rlim_cur, before.rlim_max };
    g_assert_cmpint (setrlimit (RLIMIT_FSIZE, &limit), ==, 0);
  }
  g_assert_cmpstr (td_events_end_told (folder->path, 0), ==, "done");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/job-file/batch", test_batch);
  g_test_add_func ("/job-file/comes-back", test_comes_back);
  for (guint i = 0; i < G_N_ELEMENTS (faults); i++) {
    g_autofree char *name = g_strconcat ("/job-file/refused/", faults[i].name, NULL);
    g_test_add_data_func (name, GUINT_TO_POINTER (i), test_refused);
  }
  g_test_add_func ("/job-file/members", test_members);
  g_test_add_func ("/job-file/scan-hash", test_scan_hash);
  g_test_add_func ("/job-file/hash-again", test_hash_again);
  g_test_add_func ("/job-file/settings-refused", test_settings_refused);
  g_test_add_func ("/job-file/volume-told", test_volume_told);
  g_test_add_func ("/job-file/cancel", test_cancel);
  g_test_add_func ("/job-file/events", test_events);
  g_test_add_func ("/job-file/full-disk", test_full_disk);
  return g_test_run ();
}
