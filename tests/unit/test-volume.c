/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Volumes written and read back: every format and depth, slices in any order, unfinished ones. */
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "dataset/error.h"
#include "dataset/volume.h"
#include "test-folder.h"

#define NX 37u
#define NY 23u
#define N 5u

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
      outside += slices[i] < -1 - step / 2 || slices[i] > 3 + step / 2;
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
  g_autoptr (TdVolumeWriter) writer = NULL;
  g_autoptr (TdVolume) volume = NULL;
  const TdVolumeFacts *facts;
  TdVolumeSpec spec;

  bits = bits == 24 ? 32 : bits;
  spec = make_spec (path, format, bits);
  writer = td_volume_writer_new (&spec, &error);
  g_assert_no_error (error);
  write_all (writer, slices);
  g_assert_false (g_file_test (path, G_FILE_TEST_EXISTS));
  td_volume_writer_finish (writer, "{\"device\": \"host\", \"note\": \"ä\"}", &error);
  g_assert_no_error (error);
  g_assert_false (g_file_test (part, G_FILE_TEST_EXISTS));

  volume = td_volume_open (path, &error);
  g_assert_no_error (error);
  facts = td_volume_facts (volume);
  g_assert_cmpuint (facts->nx, ==, NX);
  g_assert_cmpuint (facts->ny, ==, NY);
  g_assert_cmpuint (facts->n_slices, ==, N);
  g_assert_cmpuint (facts->bits, ==, bits);
  g_assert_true (facts->complete);
  g_assert_cmpfloat (facts->voxel_mm, ==, 0.0125);
  g_assert_nonnull (strstr (facts->provenance_json, "\"host\""));
  g_assert_nonnull (strstr (facts->provenance_json, "ä"));
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
  g_autoptr (TdVolume) volume = NULL;

  slices[5] = NAN;
  slices[6] = INFINITY;
  write_all (writer, slices);
  td_volume_writer_finish (writer, NULL, &error);
  g_assert_no_error (error);
  volume = td_volume_open (path, &error);
  td_volume_read (volume, 0, N, read, &error);
  g_assert_no_error (error);
  g_assert_true (isnan (read[5]));
  g_assert_true (isinf (read[6]));
}

int
main (int argc, char **argv)
{
  static const char *const depths[] = { "8", "16", "32" };

  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < 9; i++) {
    g_autofree char *name
        = g_strdup_printf ("/volume/round-trip/%s/%s", names[i / 3], depths[i % 3]);

    g_test_add_data_func (name, GUINT_TO_POINTER (i), test_round_trip);
  }
  for (guint i = 0; i < 3; i++) {
    g_autofree char *unfinished = g_strdup_printf ("/volume/unfinished/%s", names[i]);
    g_autofree char *existing = g_strdup_printf ("/volume/existing/%s", names[i]);
    g_autofree char *nan = g_strdup_printf ("/volume/nan/%s", names[i]);

    g_test_add_data_func (unfinished, GUINT_TO_POINTER (i), test_unfinished);
    g_test_add_data_func (existing, GUINT_TO_POINTER (i), test_existing);
    g_test_add_data_func (nan, GUINT_TO_POINTER (i), test_nan_passes);
  }
  g_test_add_func ("/volume/foreign-folder", test_foreign_folder);
  g_test_add_func ("/volume/foreign-images", test_foreign_images);
  g_test_add_func ("/volume/bad-specs", test_bad_specs);
  return g_test_run ();
}
