/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Results that are written replace only what they may. */
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "dataset/error.h"
#include "dataset/file-bytes.h"
#include "dataset/output.h"
#include "dataset/sort.h"
#include "dataset/volume.h"
#include "test-folder.h"

#define ROUNDS 300u
#define THREADS 4u

typedef struct {
  const char *path, *part;
  int writing, most, rounds; /* atomic */
} Race;

static gpointer
race_run (gpointer data)
{
  Race *race = data;

  for (guint i = 0; i < ROUNDS; i++) {
    if (i % 2)
      g_mkdir (race->part, 0777); /* as a run leaves it that was killed */
    g_autoptr (TdOutput) output = td_output_begin (race->path, TRUE, TRUE, 0, NULL);

    if (!output)
      continue;
    const int now = g_atomic_int_add (&race->writing, 1) + 1;
    if (now > g_atomic_int_get (&race->most))
      g_atomic_int_set (&race->most, now);
    g_atomic_int_inc (&race->rounds);
    g_assert_true (td_output_save_text (output, "provenance.json", "{}", NULL));
    g_atomic_int_add (&race->writing, -1);
  }
  return NULL;
}

/* Whatever a run that died left behind, only one writes at a time. */
static void
test_race (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "volume");
  g_autofree char *part = test_folder_file (folder, "volume.part");
  Race race = { .path = path, .part = part };
  GThread *threads[THREADS];

  for (guint i = 0; i < THREADS; i++)
    threads[i] = g_thread_new ("race", race_run, &race);
  for (guint i = 0; i < THREADS; i++)
    g_thread_join (threads[i]);
  g_assert_cmpint (race.most, ==, 1);
  g_assert_cmpint (race.rounds, >, 0);
}

static gboolean
write_volume (const char *path, TdVolumeFormat format, gboolean overwrite, GError **error)
{
  const TdVolumeSpec spec = { .path = (char *) path,
                              .format = format,
                              .bits = 32,
                              .nx = 3,
                              .ny = 3,
                              .n_slices = 2,
                              .units = "1/px",
                              .overwrite = overwrite };
  const float slices[2 * 9] = { 0 };
  g_autoptr (TdVolumeWriter) writer = td_volume_writer_new (&spec, error);

  return writer && td_volume_writer_write (writer, 0, 2, slices, error)
         && td_volume_writer_finish (writer, "{}", error);
}

/* Files of others stay, whatever they are; results are replaced. */
static void
test_foreign_file (void)
{
  static const TdVolumeFormat formats[] = { TD_VOLUME_BIGTIFF, TD_VOLUME_HDF5 };
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "angles.txt");

  for (guint i = 0; i < G_N_ELEMENTS (formats); i++) {
    g_autofree char *text = NULL;
    g_autoptr (GError) error = NULL;

    g_assert_true (g_file_set_contents (path, "0 1 2\n", -1, NULL));
    g_assert_false (write_volume (path, formats[i], TRUE, &error));
    g_assert_error (error, TD_ERROR, TD_ERROR_IO);
    td_test_pin_refused (error);
    g_assert_nonnull (strstr (error->message, "angles.txt"));
    g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
    g_assert_cmpstr (text, ==, "0 1 2\n");
    g_remove (path);
    g_clear_error (&error);
    for (guint k = 0; k < 4; k++) { /* and each format replaces the other */
      write_volume (path, formats[(i + k / 2) % 2], TRUE, &error);
      g_assert_no_error (error);
    }
    g_assert_false (write_volume (path, formats[i], FALSE, NULL));
    g_remove (path);
    /* A solver's momentum is this program's; another file that begins nearly so is not. */
    g_assert_true (g_file_set_contents (path, "TDMOMENTx", -1, NULL));
    write_volume (path, formats[i], TRUE, &error);
    g_assert_no_error (error);
    g_assert_true (g_file_set_contents (path, "TDMOMEN.x", -1, NULL));
    g_assert_false (write_volume (path, formats[i], TRUE, NULL));
    g_remove (path);
  }
}

/* A folder that was moved aside must not be taken for one of ours. */
static void
test_old_part (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "volume");
  g_autofree char *old = test_folder_file (folder, "volume.old.part");
  g_autofree char *precious = test_folder_file (folder, "volume.old.part/notes.txt");
  g_autoptr (GError) error = NULL;

  g_mkdir (old, 0777);
  g_assert_true (g_file_set_contents (precious, "precious", -1, NULL));
  for (guint i = 0; i < 2; i++) {
    write_volume (path, TD_VOLUME_TIFF_STACK, TRUE, &error);
    g_assert_no_error (error);
  }
  g_assert_true (g_file_test (precious, G_FILE_TEST_EXISTS));
  GDir *dir = g_dir_open (folder->path, 0, NULL);
  guint n = 0;
  while (g_dir_read_name (dir))
    n++;
  g_dir_close (dir);
  g_assert_cmpuint (n, ==, 2); /* nothing is left of what was replaced */
}

/* A job that goes on takes what its earlier run left, and not what another run is writing. */
static void
test_go_on (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "out");
  g_autoptr (GError) error = NULL;

  g_assert_null (td_output_begin_shared (path, TRUE, FALSE, 0, "job", TRUE, &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_NOT_FOUND);
  td_test_pin_refused (error);
  g_clear_error (&error);
  TdOutput *first = td_output_begin_shared (path, TRUE, FALSE, 0, "job", FALSE, &error);
  g_assert_no_error (error);
  g_assert_null (td_output_begin_shared (path, TRUE, FALSE, 0, "job", TRUE, &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_IO);
  td_test_pin_refused (error);
  g_assert_nonnull (strstr (error->message, "another run of this job"));
  g_clear_error (&error);
  td_output_free (first);
  g_autoptr (TdOutput) second = td_output_begin_shared (path, TRUE, FALSE, 0, "job", TRUE, &error);
  g_assert_no_error (error);
  g_assert_nonnull (second);
}

/* A text that is written again is the new one, however long the old one was. */
static void
test_texts (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "out");
  g_autofree char *text_path = test_folder_file (folder, "out/provenance.json");
  g_autofree char *text = NULL;
  g_autoptr (GError) error = NULL;
  TdOutput *first = td_output_begin_shared (path, TRUE, FALSE, 0, "job", FALSE, &error);

  g_assert_no_error (error);
  td_output_save_text (first, "provenance.json", "{\"what\": \"an earlier run's\"}", &error);
  g_assert_no_error (error);
  td_output_free (first); /* as of a run that ended before it was committed */
  g_autoptr (TdOutput) second = td_output_begin_shared (path, TRUE, FALSE, 0, "job", TRUE, &error);
  g_assert_no_error (error);
  td_output_save_text (second, "provenance.json", "{}", &error);
  g_assert_no_error (error);
  td_output_commit (second, &error);
  g_assert_no_error (error);
  g_assert_true (g_file_get_contents (text_path, &text, NULL, NULL));
  g_assert_cmpstr (text, ==, "{}");
}

/* What somebody puts under the output's name while it is written is theirs. */
static void
test_name_taken (void)
{
  static const char *const kinds[] = { "file", "folder" };

  for (guint is_folder = 0; is_folder < 2; is_folder++)
    for (guint overwrite = 0; overwrite < 2; overwrite++) {
      g_autoptr (TestFolder) folder = test_folder_new ();
      g_autofree char *path = test_folder_file (folder, kinds[is_folder]);
      g_autofree char *precious = g_strconcat (path, is_folder ? "/notes.txt" : "", NULL);
      g_autofree char *part = g_strconcat (path, ".part", NULL), *text = NULL;
      g_autoptr (GError) error = NULL;
      TdOutput *output = td_output_begin (path, is_folder, overwrite, 0, &error);

      g_assert_no_error (error);
      if (is_folder)
        g_mkdir (path, 0777);
      g_assert_true (g_file_set_contents (precious, "precious", -1, NULL));
      g_assert_false (td_output_commit (output, &error));
      test_assert_sentence (error, "rename");
      td_output_free (output);
      g_assert_true (g_file_get_contents (precious, &text, NULL, NULL));
      g_assert_cmpstr (text, ==, "precious");
      g_assert_true (g_file_test (part, G_FILE_TEST_EXISTS));
    }
}

/* Which files of a folder are this program's, so that the folder may be replaced. */
static void
test_own_names (void)
{
  static const struct {
    const char *name;
    gboolean own;
  } files[] = {
    { "slice_00000.tif", TRUE },
    { "slice_123456.tif", TRUE },
    { "slice_0001.tif", FALSE },
    { "slice_00001.TIF", FALSE },
    { "slice_00001.tif.bak", FALSE },
    { "slice_00001_before.tif", TRUE },
    { "slice_00001_after.tif", TRUE },
    { "slice_00001_then.tif", FALSE },
    { "Slice_00001.tif", FALSE },
    { "slices_00001.tif", FALSE },
    { "provenance.json", TRUE },
    { "provenance.json.ABC123", TRUE },
    { "my-provenance.json", FALSE },
    { "geometry.json", TRUE },
    { "angles.txt", TRUE },
    { "angles.csv", FALSE },
    { "projection_00001.tif", FALSE },
    { "projections/projection_00001.tif", TRUE },
    { "projections/slice_00001.tif", FALSE },
    { "projections/provenance.json", FALSE },
    { "projections/projection_1.tif", FALSE },
    { "flats/flat_00002_before.tif", TRUE },
    { "flats/flat_00002_after.tif", TRUE },
    { "flats/dark_00002.tif", TRUE },
    { "darks/dark_00000.tif", TRUE },
    { "darks/dark_00000.tiff", FALSE },
    { "others/dark_00000.tif", FALSE },
    { "projections/flats/flat_00000.tif", FALSE },
  };

  for (guint i = 0; i < G_N_ELEMENTS (files); i++) {
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autofree char *path = test_folder_file (folder, "volume");
    g_autofree char *file = g_build_filename (path, files[i].name, NULL);
    g_autofree char *below = g_path_get_dirname (file);
    g_autoptr (GError) error = NULL;

    g_assert_cmpint (g_mkdir_with_parents (below, 0700), ==, 0);
    g_assert_true (g_file_set_contents (file, "x", 1, NULL));
    g_test_message ("%s", files[i].name);
    g_autoptr (TdOutput) output = td_output_begin (path, TRUE, TRUE, 0, &error);
    g_assert_cmpint (output != NULL, ==, files[i].own);
    if (!output)
      test_assert_sentence (error, "which this program did not write");
    g_assert_true (g_file_test (file, G_FILE_TEST_EXISTS)); /* it is there until the new one is */
  }
}

/* Which single files are, by how they begin; and none for a folder, nor the other way round. */
static void
test_own_files (void)
{
  static const struct {
    const char *begins;
    gsize zeros; /* behind it */
    gboolean own;
  } files[] = {
    { "", 0, TRUE },
    { " ", 0, FALSE },
    { "{\n  \"tomodesk_lab\": 1}", 0, TRUE },
    { "{\n  \"tomodesk_job\": 1}", 0, FALSE },
    { " {\n  \"tomodesk_lab\": 1}", 0, FALSE },
    { "variant,options,remark,1", 0, TRUE },
    { "variant,options,remarks,1", 0, FALSE },
    { "<svg id=\"tomodesk\" width", 0, TRUE },
    { "<svg id=\"others\" width", 0, FALSE },
    { "TDMOMENT", 0, TRUE },
    { "TDMOMEN", 1, FALSE },
    { "RIFF", 300, FALSE },
    { "RIFF....AVI ISFT\x0c\x01", 300, FALSE },
    { "II*", 1, FALSE },
  };
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "result");

  for (guint i = 0; i < G_N_ELEMENTS (files); i++)
    for (guint as_folder = 0; as_folder < 2; as_folder++) {
      g_autoptr (GString) text = g_string_new (files[i].begins);
      g_autoptr (GError) error = NULL;

      for (gsize k = 0; k < files[i].zeros; k++)
        g_string_append_c (text, '\0');
      g_assert_true (g_file_set_contents (path, text->str, (gssize) text->len, NULL));
      g_test_message ("“%s”", files[i].begins);
      g_autoptr (TdOutput) output = td_output_begin (path, as_folder, TRUE, 0, &error);
      g_assert_cmpint (output != NULL, ==, files[i].own && !as_folder);
      if (!output)
        test_assert_sentence (error, "choose another name");
    }
}

/* A movie names the program in its head, wherever in the first 256 bytes, and is whole. */
static void
test_own_movie (void)
{
  static const struct {
    guint at, bytes; /* of the name; of the file */
    gboolean own;
  } cases[] = {
    { 12, 256, TRUE },  { 240, 256, TRUE }, { 241, 600, FALSE },
    { 12, 255, FALSE }, { 3, 600, FALSE },
  };
  static const char word[] = "ISFT\x0c\0\0\0Tomodesk";
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "movie.avi");

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    char bytes[600] = "RIFF";

    memcpy (bytes + cases[i].at, word, 16);
    g_assert_true (g_file_set_contents (path, bytes, cases[i].bytes, NULL));
    g_autoptr (TdOutput) output = td_output_begin (path, FALSE, TRUE, 0, NULL);
    g_assert_cmpint (output != NULL, ==, cases[i].own);
  }
}

/* Room is asked for before anything is written, and where the folder is not there nothing is. */
static void
test_room (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "result");
  g_autofree char *nowhere = test_folder_file (folder, "none/result");
  const guint64 room = td_file_room (path);
  g_autoptr (GError) error = NULL;

  g_assert_true (td_output_has_room (path, 0, &error));
  g_assert_false (td_output_has_room (path, room + ((guint64) 1 << 40), &error));
  test_assert_sentence (error, "are free there");
  g_clear_error (&error);
  g_assert_null (td_output_begin (path, FALSE, FALSE, room + ((guint64) 1 << 40), &error));
  test_assert_sentence (error, "are free there");
  g_clear_error (&error);
  g_assert_cmpuint (test_folder_count (folder), ==, 0);
  g_assert_null (td_output_begin (nowhere, FALSE, FALSE, 0, &error));
  test_assert_sentence (error, "does not exist");
  g_clear_error (&error);
  g_assert_true (td_output_save (path, "first", 5, &error)); /* of no program: it is not replaced */
  g_assert_false (td_output_save (path, "second", 6, &error));
  test_assert_sentence (error, "choose another name");
}

/* A path is the same with strokes behind it, and a job's part has its name. */
static void
test_paths (void)
{
  static const struct {
    const char *behind, *job, *part;
  } cases[] = {
    { "", NULL, ".part" },
    { "/", NULL, ".part" },
    { "///", NULL, ".part" },
    { "/", "j1", ".j1.part" },
  };
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "result");

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autofree char *given = g_strconcat (path, cases[i].behind, NULL);
    g_autofree char *part = g_strconcat (path, cases[i].part, NULL);
    g_autoptr (TdOutput) output
        = td_output_begin_shared (given, TRUE, FALSE, 0, cases[i].job, FALSE, NULL);
    g_assert_cmpstr (td_output_path (output), ==, path);
    g_assert_cmpstr (td_output_part (output), ==, part);
    td_output_discard (output);
  }
  g_assert_cmpuint (test_folder_count (folder), ==, 0);
}

static int
compare_floats (const void *a, const void *b)
{
  const float x = *(const float *) a, y = *(const float *) b;

  return (x > y) - (x < y);
}

/* Ranks of random, of few different, of sorted and of falling values. */
static void
test_rank (void)
{
  enum { N = 1000 };
  float values[N], sorted[N], moved[N];

  for (guint kind = 0; kind < 4; kind++) {
    for (guint i = 0; i < N; i++)
      values[i] = kind == 0   ? (float) g_test_rand_double ()
                  : kind == 1 ? (float) g_test_rand_int_range (0, 3)
                  : kind == 2 ? (float) i
                              : -(float) i;
    for (guint n = 1; n < N; n = 3 * n + 1) {
      memcpy (sorted, values, n * sizeof *sorted);
      qsort (sorted, n, sizeof *sorted, compare_floats);
      for (guint rank = 0; rank < n; rank += 1 + n / 17) {
        memcpy (moved, values, n * sizeof *moved);
        g_assert_cmpfloat (td_float_at_rank (moved, n, rank), ==, sorted[rank]);
        for (guint i = 0; i < n; i++)
          g_assert_true (i < rank ? moved[i] <= sorted[rank] : moved[i] >= sorted[rank]);
      }
    }
  }
}

/* Files that this process has open. */
static guint
count_files (void)
{
  g_autoptr (GDir) files = g_dir_open ("/proc/self/fd", 0, NULL);
  guint n = 0;

  while (files && g_dir_read_name (files))
    n++;
  return n;
}

/* Whether it is written, discarded or fails: its lock and its files are closed. */
static void
test_closed (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "volume");
  guint before = 0;

  for (guint round = 0; round < 8; round++) {
    const gboolean shared = round % 2, discarded = round / 2 % 2;
    TdOutput *output = shared ? td_output_begin_shared (path, TRUE, TRUE, 0, "a-job", FALSE, NULL)
                              : td_output_begin (path, TRUE, TRUE, 0, NULL);

    g_assert_nonnull (output);
    g_assert_true (td_output_save_text (output, "provenance.json", "{}", NULL));
    g_assert_null (td_output_begin (path, TRUE, FALSE, 0, NULL));
    if (discarded)
      td_output_discard (output);
    else
      g_assert_true (td_output_commit (output, NULL));
    td_output_free (output);
    if (round == 1) /* what is opened once has been by now */
      before = count_files ();
    if (round > 1)
      g_assert_cmpuint (count_files (), ==, before);
    g_assert_cmpuint (test_folder_count (folder), ==, 1);
  }
}

/* What is read is not replaced: the file itself, or a folder that it lies in, by any name. */
static void
test_spares (void)
{
  static const struct {
    const char *path, *input; /* in the folder; "/": the root; NULL: none */
    gboolean spares;
  } cases[] = {
    { "a/b/in.tif", "a/b/in.tif", FALSE }, { "a/b", "a/b/in.tif", FALSE },
    { "a", "a/b/in.tif", FALSE },          { "/", "a/b/in.tif", FALSE },
    { "link", "a/b/in.tif", FALSE },       { "a/b", "link", FALSE },
    { "a/b/out.tif", "a/b/in.tif", TRUE }, { "other", "a/b/in.tif", TRUE },
    { "none", "a/b/in.tif", TRUE },        { "a/b/in.tif", "a/b", TRUE },
    { "a/b/in.tif", "none", TRUE },        { "a/b/in.tif", NULL, TRUE },
  };
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *inner = test_folder_file (folder, "a/b");
  g_autofree char *other = test_folder_file (folder, "other");
  g_autofree char *link = test_folder_file (folder, "link");
  g_autofree char *in = test_folder_file (folder, "a/b/in.tif");
  g_autofree char *out = test_folder_file (folder, "a/b/out.tif");
  const char *const inputs[] = { other, out, in, NULL };

  g_assert_cmpint (g_mkdir_with_parents (inner, 0700), ==, 0);
  g_assert_cmpint (g_mkdir (other, 0700), ==, 0);
  g_assert_true (g_file_set_contents (in, "", 0, NULL));
  g_assert_true (g_file_set_contents (out, "", 0, NULL));
  g_assert_cmpint (symlink (in, link), ==, 0);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autofree char *path = g_str_equal (cases[i].path, "/")
                                ? g_strdup ("/")
                                : test_folder_file (folder, cases[i].path);
    g_autofree char *input = cases[i].input ? test_folder_file (folder, cases[i].input) : NULL;
    g_autoptr (GError) error = NULL;

    g_assert_cmpint (td_output_spares (path, input, &error), ==, cases[i].spares);
    if (!cases[i].spares)
      test_assert_sentence (error, input);
  }
  for (guint i = 0; inputs[i]; i++) /* whichever of them it is */
    g_assert_false (td_output_spares_all (inputs[i], inputs, NULL));
  g_assert_false (td_output_spares_all (inner, inputs, NULL));
  g_assert_true (td_output_spares_all (folder->path, NULL, NULL));
}

/* Slices that are read stay as they are and alone in their folder. What lies below it may go. */
static void
test_spares_volume (void)
{
  static const struct {
    const char *path, *volume; /* in the folder; NULL: none */
    gboolean spares;
  } cases[] = {
    { "v/slice_00000.tif", "v", FALSE },
    { "v/slice_00000.tif", "link", FALSE },
    { "link/slice_00000.tif", "v", FALSE },
    { "v/new.tif", "v", FALSE }, /* the folder would be no volume any more */
    { "v/provenance.json", "v", FALSE },
    { "v", "v", FALSE },
    { "v/new.png", "v", TRUE },
    { "v/below", "v", TRUE },
    { "v/below/new.tif", "v", TRUE },
    { "other.tif", "v", TRUE },
    { "v/slice_00000.tif", "other.tif", TRUE },
    { "other.tif", "other.tif", FALSE },
    { "other.tif", "other.tif::/data", FALSE },
    { "v/slice_00000.tif", "none", TRUE },
    { "v/slice_00000.tif", NULL, TRUE },
  };
  static const char *const files[] = { "v/slice_00000.tif", "v/provenance.json", "other.tif" };
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *slices = test_folder_file (folder, "v");
  g_autofree char *below = test_folder_file (folder, "v/below");
  g_autofree char *link = test_folder_file (folder, "link");

  g_assert_cmpint (g_mkdir_with_parents (below, 0700), ==, 0);
  g_assert_cmpint (symlink (slices, link), ==, 0);
  for (guint i = 0; i < G_N_ELEMENTS (files); i++) {
    g_autofree char *path = test_folder_file (folder, files[i]);
    g_assert_true (g_file_set_contents (path, "", 0, NULL));
  }
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autofree char *path = test_folder_file (folder, cases[i].path);
    g_autofree char *volume = cases[i].volume ? test_folder_file (folder, cases[i].volume) : NULL;
    g_autoptr (GError) error = NULL;

    g_test_message ("%s, read from %s", cases[i].path, cases[i].volume);
    g_assert_cmpint (td_output_spares_volume (path, volume, &error), ==, cases[i].spares);
    if (!cases[i].spares)
      test_assert_sentence (error, volume);
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/output/spares", test_spares);
  g_test_add_func ("/output/spares-volume", test_spares_volume);
  g_test_add_func ("/output/race", test_race);
  g_test_add_func ("/output/closed", test_closed);
  g_test_add_func ("/output/foreign-file", test_foreign_file);
  g_test_add_func ("/output/old-part", test_old_part);
  g_test_add_func ("/output/go-on", test_go_on);
  g_test_add_func ("/output/texts", test_texts);
  g_test_add_func ("/output/name-taken", test_name_taken);
  g_test_add_func ("/output/rank", test_rank);
  g_test_add_func ("/output/own-names", test_own_names);
  g_test_add_func ("/output/own-files", test_own_files);
  g_test_add_func ("/output/own-movie", test_own_movie);
  g_test_add_func ("/output/room", test_room);
  g_test_add_func ("/output/paths", test_paths);
  return g_test_run ();
}
