/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Volumes of any program. Every kind of file opens, and planes across any axis are those of the
   array. Files that are damaged or could mean several things are refused. */
#include <math.h>

#include "dataset/error.h"
#include "dataset/hdf5-util.h"
#include "dataset/sample.h"
#include "dataset/tiff-save.h"
#include "dataset/output.h"
#include "dataset/volume-cut.h"
#include "test-folder.h"

#define NX 29u
#define NY 18u
#define N 11u
#define VOXELS ((gsize) NX * NY * N)

/* Whole numbers that every type holds. */
static float *
make_voxels (guint32 seed)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (seed);
  float *voxels = g_new (float, VOXELS);

  for (gsize i = 0; i < VOXELS; i++)
    voxels[i] = (float) g_rand_int_range (random, 0, 128);
  return voxels;
}

static void *
as_type (const float *voxels, TdSampleType type)
{
  void *samples = g_malloc (VOXELS * td_sample_size (type));

  td_samples_from_float (type, 0, 1, voxels, VOXELS, samples);
  return samples;
}

static TdVolume *
open_volume (const char *path, const TdScanOptions *options)
{
  static const TdScanOptions nothing = { 0 };
  g_autoptr (GError) error = NULL;
  TdVolume *volume = td_volume_open_stated (path, options ? options : &nothing, &error);

  g_assert_no_error (error);
  return volume;
}

static void
assert_refused (const char *path, const TdScanOptions *options, const char *words)
{
  static const TdScanOptions nothing = { 0 };
  g_autoptr (GError) error = NULL;

  g_assert_null (td_volume_open_stated (path, options ? options : &nothing, &error));
  test_assert_sentence (error, words);
}

static float
voxel (const float *voxels, TdVolumeAxis axis, guint plane, guint row, guint column)
{
  switch (axis) {
  case TD_AXIS_X: return voxels[((gsize) row * NY + column) * NX + plane];
  case TD_AXIS_Y: return voxels[((gsize) row * NY + plane) * NX + column];
  case TD_AXIS_Z: break;
  }
  return voxels[((gsize) plane * NY + row) * NX + column];
}

/* All planes across all axes, one by one and several together. */
static void
check_planes (TdVolume *volume, const float *voxels)
{
  const TdVolumeFacts *facts = td_volume_facts (volume);

  g_assert_cmpuint (facts->nx, ==, NX);
  g_assert_cmpuint (facts->ny, ==, NY);
  g_assert_cmpuint (facts->n_slices, ==, N);
  for (TdVolumeAxis axis = TD_AXIS_X; axis <= TD_AXIS_Z; axis++) {
    const TdCutSize size = td_volume_cut_size (facts, axis);
    const gsize plane = (gsize) size.width * size.height;
    g_autofree float *out = g_new (float, plane *size.count);

    for (guint step = 1; step <= 4; step += 3)
      for (guint first = 0; first < size.count; first += step) {
        const TdCutRange range = { axis, first, MIN (step, size.count - first) };
        g_autoptr (GError) error = NULL;

        td_volume_read_cuts (volume, &range, out, NULL, NULL, NULL, &error);
        g_assert_no_error (error);
        for (gsize i = 0; i < plane * range.count; i++)
          g_assert_cmpfloat (out[i], ==,
                             voxel (voxels, axis, first + (guint) (i / plane),
                                    (guint) (i % plane / size.width), (guint) (i % size.width)));
      }
    g_autoptr (GError) error = NULL;
    const TdCutRange none = { axis, size.count - 1, 0 };
    g_assert_true (td_volume_read_cuts (volume, &none, out, NULL, NULL, NULL, &error));
    const TdCutRange beyond = { axis, size.count - 1, 2 };
    g_assert_false (td_volume_read_cuts (volume, &beyond, out, NULL, NULL, NULL, &error));
    test_assert_sentence (error, NULL);
  }
}

/* ── TIFF ── */

static void
save_pages (const char *path, const float *voxels, TdSampleType type, guint first, guint count)
{
  const TdTiffImage image = { .width = NX, .height = NY, .type = type };
  const gsize bytes = (gsize) NX * NY * td_sample_size (type);
  g_autofree guint8 *samples = as_type (voxels, type);
  g_autoptr (GError) error = NULL;
  TdTiffSave *save = td_tiff_save_new (path, path, &image, count, FALSE, &error);

  g_assert_no_error (error);
  for (guint i = 0; i < count; i++)
    g_assert_true (td_tiff_save_image (save, i, samples + (first + i) * bytes, &error));
  g_assert_true (td_tiff_save_close (save, &error));
}

static char *
slice_name (const TestFolder *folder, guint i)
{
  g_autofree char *name = g_strdup_printf ("rec_%u.tiff", i);

  return test_folder_file (folder, name);
}

static void
save_stack (const TestFolder *folder, const float *voxels, TdSampleType type)
{
  for (guint i = 0; i < N; i++) {
    g_autofree char *path = slice_name (folder, i);
    save_pages (path, voxels, type, i, 1);
  }
}

static void
test_tiff (gconstpointer data)
{
  const TdSampleType type = GPOINTER_TO_UINT (data);
  g_autoptr (TestFolder) folder = test_folder_new (), other = test_folder_new ();
  g_autofree char *pages = test_folder_file (other, "pages.tif");
  g_autofree float *voxels = make_voxels (3 + type);
  const TdScanOptions stated = { .pixel_mm = 0.02 };

  save_stack (folder, voxels, type);
  save_pages (pages, voxels, type, 0, N);
  g_autoptr (TdVolume) a = open_volume (folder->path, &stated), b = open_volume (pages, NULL);
  g_assert_cmpstr (td_volume_facts (a)->format, ==, "TIFF stack");
  g_assert_cmpint (td_volume_facts (a)->type, ==, type);
  g_assert_cmpfloat (td_volume_facts (a)->voxel_mm, ==, 0.02);
  g_assert_null (td_volume_facts (a)->notes);
  g_assert_cmpstr (td_volume_facts (b)->format, ==, "TIFF file");
  check_planes (a, voxels);
  check_planes (b, voxels);
}

/* A file that is cut short, of another size, or missing; images that belong to something else. */
static void
test_bad_stacks (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree float *voxels = make_voxels (1), *out = g_new (float, VOXELS);
  g_autofree char *fifth = slice_name (folder, 5), *last = slice_name (folder, N - 1);
  g_autofree char *flat = test_folder_file (folder, "flat_1.tiff"), *text = NULL;
  const TdCutRange across = { TD_AXIS_X, 4, 1 };
  g_autoptr (GError) error = NULL;
  gsize bytes;

  save_stack (folder, voxels, TD_SAMPLE_FLOAT32);
  g_assert_true (g_file_get_contents (fifth, &text, &bytes, NULL));
  g_assert_true (g_file_set_contents (fifth, text, (gssize) bytes / 2, NULL));
  g_autoptr (TdVolume) volume = open_volume (folder->path, NULL);
  g_assert_false (td_volume_read_cuts (volume, &across, out, NULL, NULL, NULL, &error));
  test_assert_sentence (error, "rec_5.tiff");
  g_clear_error (&error);
  g_assert_cmpint (g_remove (fifth), ==, 0);
  g_autoptr (TdVolume) gap = open_volume (folder->path, NULL);
  g_assert_nonnull (td_volume_facts (gap)->notes);
  const TdTiffImage wide = { .width = NX + 1, .height = NY, .type = TD_SAMPLE_FLOAT32 };
  g_assert_true (td_tiff_save_single (last, last, &wide, voxels, &error));
  assert_refused (folder->path, NULL, "rec_10.tiff");
  save_pages (last, voxels, TD_SAMPLE_FLOAT32, N - 1, 1);
  save_pages (flat, voxels, TD_SAMPLE_FLOAT32, 0, 1);
  assert_refused (folder->path, NULL, "flat_1.tiff");
}

/* ── Raw ── */

static void
test_raw (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "volume.raw");
  g_autofree float *voxels = make_voxels (2);
  TdScanOptions stated = { 0 };
  g_autoptr (GError) error = NULL;

  for (TdSampleType type = TD_SAMPLE_UINT8; type <= TD_SAMPLE_FLOAT64; type++) {
    g_autofree void *samples = as_type (voxels, type);
    g_autofree char *layout = g_strdup_printf ("%ux%u:%s", NX, NY, td_sample_name (type));
    const gsize bytes = VOXELS * td_sample_size (type);

    g_assert_true (td_scan_options_set_raw (&stated, layout, &error));
    g_assert_true (g_file_set_contents (path, samples, (gssize) bytes, &error));
    g_autoptr (TdVolume) volume = open_volume (path, &stated);
    g_assert_cmpint (td_volume_facts (volume)->type, ==, type);
    check_planes (volume, voxels);
    g_assert_true (g_file_set_contents (path, samples, (gssize) bytes - 1, &error));
    assert_refused (path, &stated, "volume.raw");
  }
  assert_refused (path, NULL, "volume.raw” is neither TIFF nor HDF5"); /* nothing says what it is */
}

static void
note_progress (double fraction, gpointer user)
{
  double *last = user;

  g_assert_cmpfloat (fraction, >, *last);
  *last = fraction;
}

/* A volume of more than is read at once passes in pieces, the last of which is shorter. */
static void
test_pieces (void)
{
  enum { WIDE = 1024, HIGH = 512, DEEP = 18, FIRST = 7 };
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "volume.raw");
  const gsize voxels = (gsize) WIDE * HIGH * DEEP;
  g_autofree guint8 *samples = g_malloc (voxels);
  g_autofree float *out = g_new (float, voxels);
  TdScanOptions stated = { 0 };
  g_autoptr (GError) error = NULL;

  for (gsize i = 0; i < voxels; i++)
    samples[i] = (guint8) ((i * 2654435761u) >> 24);
  g_assert_true (td_scan_options_set_raw (&stated, "1024x512:uint8", &error));
  g_assert_true (g_file_set_contents (path, (char *) samples, (gssize) voxels, &error));
  g_autoptr (TdVolume) volume = open_volume (path, &stated);
  for (TdVolumeAxis axis = TD_AXIS_X; axis <= TD_AXIS_Y; axis++) {
    const TdCutRange range = { axis, axis == TD_AXIS_X ? FIRST : 0, axis == TD_AXIS_X ? 2 : HIGH };
    const gsize side = axis == TD_AXIS_X ? HIGH : WIDE;
    double fraction = 0;

    td_volume_read_cuts (volume, &range, out, note_progress, &fraction, NULL, &error);
    g_assert_no_error (error);
    g_assert_cmpfloat (fraction, ==, 1);
    for (gsize i = 0; i < side * DEEP * range.count; i++) {
      const gsize plane = range.first + i / (side * DEEP), z = i / side % DEEP, at = i % side;
      const gsize y = axis == TD_AXIS_X ? at : plane, x = axis == TD_AXIS_X ? plane : at;
      if (out[i] != samples[(z * HIGH + y) * WIDE + x])
        g_error ("axis %d, plane %zu, slice %zu, %zu: %g", axis, plane, z, at, out[i]);
    }
  }
}

/* ── HDF5 ── */

static void
add_dataset (hid_t file, const char *name, const float *voxels, gboolean chunked)
{
  const hsize_t shape[3] = { N, NY, NX }, chunk[3] = { 4, 5, 7 };
  g_auto (TdH5Id) space = H5Screate_simple (3, shape, NULL);
  g_auto (TdH5Id) how = H5Pcreate (H5P_DATASET_CREATE);

  if (chunked) {
    H5Pset_chunk (how, 3, chunk);
    H5Pset_deflate (how, 4);
  }
  g_auto (TdH5Id) dataset
      = H5Dcreate2 (file, name, H5T_STD_I16BE, space, H5P_DEFAULT, how, H5P_DEFAULT);
  g_assert_cmpint (H5Dwrite (dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, voxels), >=,
                   0);
}

static void
test_hdf5 (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *one = test_folder_file (folder, "one.h5");
  g_autofree char *two = test_folder_file (folder, "two.h5");
  g_autofree float *a = make_voxels (5), *b = make_voxels (6);
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < 2; i++) {
    g_auto (TdH5Id) file = H5Fcreate (i ? two : one, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    add_dataset (file, "fine", a, FALSE);
    if (i)
      add_dataset (file, "rough", b, TRUE);
  }
  g_autoptr (TdVolume) only = open_volume (one, NULL);
  g_assert_cmpstr (td_volume_facts (only)->dataset, ==, "/fine");
  g_assert_cmpint (td_volume_facts (only)->type, ==, TD_SAMPLE_INT16);
  check_planes (only, a);
  assert_refused (two, NULL, "/fine, /rough");
  g_autoptr (TdVolume) named = open_volume (two, &(TdScanOptions) { .dataset = "/rough" });
  check_planes (named, b);
  assert_refused (two, &(TdScanOptions) { .dataset = "/none" }, "/none");
  /* Whoever gives a path alone names the data set in it: compare, --start and masks. */
  g_autofree char *in_path = g_strconcat (two, "::/rough", NULL);
  g_autoptr (TdVolume) pathed = td_volume_open (in_path, &error);
  g_assert_no_error (error);
  check_planes (pathed, b);
  g_assert_false (td_output_spares (two, in_path, &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_IO);
  td_test_pin_refused (error);
  g_clear_error (&error);
  g_assert_null (td_volume_open (two, &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_UNSUPPORTED);
  td_test_pin_refused (error);
  g_assert_nonnull (strstr (error->message, "FILE::DATASET"));
  g_clear_error (&error);
  g_auto (GStrv) lines = td_volume_datasets (two, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (g_strv_length (lines), ==, 4);
  g_assert_cmpstr (lines[2], ==, "/rough");
  g_assert_cmpstr (lines[3], ==, "29 × 18 × 11");
}

/* Of many data sets a sentence names the first few. */
static void
test_many_datasets (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "many.h5");
  g_autofree float *voxels = make_voxels (7);

  for (guint n = 2; n <= 9; n++) {
    g_autofree char *count = g_strdup_printf ("%u data sets", n);
    {
      g_auto (TdH5Id) file = H5Fcreate (path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
      for (guint i = 0; i < n; i++) {
        const char name[] = { 's', 'e', 't', (char) ('0' + i), 0 };
        add_dataset (file, name, voxels, FALSE);
      }
    }
    assert_refused (path, NULL, count);
    g_autoptr (GError) error = NULL;
    g_assert_null (td_volume_open (path, &error));
    g_assert_null (strstr (error->message, "set6"));
    if (n > 5)
      g_assert_true (
          g_str_has_suffix (error->message, ": /set0, /set1, /set2, /set3, /set4, /set5"));
  }
}

/* ── Ours ── */

/* Scaled samples come back with their scale, whichever way they are read. */
static void
test_scaled (void)
{
  static const char *const names[] = { "slices", "volume.tif", "volume.h5" };
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree float *voxels = make_voxels (8);

  for (guint i = 0; i < G_N_ELEMENTS (names); i++) {
    g_autofree char *path = test_folder_file (folder, names[i]);
    const TdVolumeSpec spec = { .path = path,
                                .format = i,
                                .bits = 16,
                                .low = 0,
                                .high = 65535,
                                .nx = NX,
                                .ny = NY,
                                .n_slices = N,
                                .voxel_mm = 0.5,
                                .units = "1/mm" };
    g_autoptr (GError) error = NULL;
    g_autoptr (TdVolumeWriter) writer = td_volume_writer_new (&spec, &error);

    g_assert_true (td_volume_writer_write (writer, 0, N, voxels, &error));
    g_assert_true (td_volume_writer_finish (writer, "{}", &error));
    g_autoptr (TdVolume) volume = open_volume (path, NULL);
    g_assert_cmpstr (td_volume_facts (volume)->units, ==, "1/mm");
    check_planes (volume, voxels);
  }
}

/* ── Measuring ── */

static void
test_statistics (void)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (4);
  const guint n = 10007;
  g_autofree float *values = g_new (float, n);
  TdVolumeStatistics s = { 0 };
  double mean = 0, squares = 0;

  for (guint i = 0; i < n; i++)
    values[i] = (float) (1e4 + g_rand_double (random)); /* a mean that would eat the digits */
  for (guint i = 0; i < n; i++)
    mean += values[i] / (double) n;
  for (guint i = 0; i < n; i++)
    squares += (values[i] - mean) * (values[i] - mean);
  for (guint i = 0, step = 1; i < n; i += step, step = step * 3 % 1000 + 1)
    td_volume_statistics_add (&s, values + i, MIN (step, n - i));
  g_assert_cmpuint (s.n, ==, n);
  g_assert_cmpfloat_with_epsilon (s.mean, mean, 1e-8);
  g_assert_cmpfloat_with_epsilon (s.deviation, sqrt (squares / (n - 1)), 1e-9);
  td_volume_statistics_add (&s, (float[]) { NAN, INFINITY, -5 }, 3);
  g_assert_cmpuint (s.n, ==, n + 1);
  g_assert_cmpuint (s.n_bad, ==, 2);
  g_assert_cmpfloat (s.minimum, ==, -5);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (TdSampleType type = TD_SAMPLE_UINT8; type <= TD_SAMPLE_FLOAT64; type++) {
    g_autofree char *name = g_strdup_printf ("/volume-cut/tiff/%s", td_sample_name (type));
    g_test_add_data_func (name, GUINT_TO_POINTER (type), test_tiff);
  }
  g_test_add_func ("/volume-cut/bad-stacks", test_bad_stacks);
  g_test_add_func ("/volume-cut/raw", test_raw);
  g_test_add_func ("/volume-cut/pieces", test_pieces);
  g_test_add_func ("/volume-cut/hdf5", test_hdf5);
  g_test_add_func ("/volume-cut/many-datasets", test_many_datasets);
  g_test_add_func ("/volume-cut/scaled", test_scaled);
  g_test_add_func ("/volume-cut/statistics", test_statistics);
  return g_test_run ();
}
