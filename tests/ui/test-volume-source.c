/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Planes of a volume across each axis, and its overview, by plain sums: for volumes of several
   shapes, each plane in either order. */
#include <math.h>

#include "dataset/volume.h"
#include "tests/unit/test-folder.h"
#include "ui/volume-source.h"

static float
voxel (guint x, guint y, guint z)
{
  return (float) (x + 10 * y + 100 * z);
}

/* Which voxel a pixel of a plane is of. */
static void
place (TdVolumeAxis axis, guint at, guint column, guint row, guint voxel_at[3])
{
  voxel_at[0] = axis == TD_AXIS_X ? at : column;
  voxel_at[1] = axis == TD_AXIS_Y ? at : axis == TD_AXIS_X ? column : row;
  voxel_at[2] = axis == TD_AXIS_Z ? at : row;
}

static TdVolumeSource *
source_of (TestFolder *folder, const guint size[3], guint side)
{
  g_autofree char *path = test_folder_file (folder, "volume.h5");
  const TdVolumeSpec spec = { .path = path,
                              .format = TD_VOLUME_HDF5,
                              .bits = 32,
                              .nx = size[0],
                              .ny = size[1],
                              .n_slices = size[2],
                              .overwrite = TRUE };
  g_autofree float *voxels = g_new (float, (gsize) size[0] * size[1] * size[2]);
  g_autoptr (GError) error = NULL;

  for (guint z = 0; z < size[2]; z++)
    for (guint y = 0; y < size[1]; y++)
      for (guint x = 0; x < size[0]; x++)
        voxels[(z * size[1] + y) * size[0] + x] = voxel (x, y, z);
  voxels[size[0] * size[1] - 1] = NAN; /* the last one of the first slice */
  g_autoptr (TdVolumeWriter) writer = td_volume_writer_new (&spec, &error);
  g_assert_no_error (error);
  g_assert_true (td_volume_writer_write (writer, 0, size[2], voxels, &error));
  g_assert_true (td_volume_writer_finish (writer, NULL, &error));
  TdVolume *volume = td_volume_open (path, &error);
  g_assert_no_error (error);
  return td_volume_source_new (volume, side);
}

static void
assert_value (float value, double meant, double within)
{
  if (isnan (meant))
    g_assert_true (isnan (value));
  else
    g_assert_cmpfloat_with_epsilon (value, meant, within);
}

static double
voxel_read (const guint size[3], const guint at[3])
{
  const gboolean lost = at[0] == size[0] - 1 && at[1] == size[1] - 1 && at[2] == 0;

  return lost ? NAN : voxel (at[0], at[1], at[2]);
}

static void
assert_plane (const TdImage *image, const guint size[3], TdVolumeAxis axis, guint at)
{
  g_assert_cmpuint (image->width, ==, size[axis == TD_AXIS_X ? 1 : 0]);
  g_assert_cmpuint (image->height, ==, size[axis == TD_AXIS_Z ? 1 : 2]);
  g_assert_cmpfloat (image->extent_width, ==, image->width);
  for (guint row = 0; row < image->height; row++)
    for (guint column = 0; column < image->width; column++) {
      guint of[3];
      place (axis, at, column, row, of);
      assert_value (image->pixels[row * image->width + column], voxel_read (size, of), 1e-3);
    }
}

/* The mean of the finite voxels of a block. */
static double
block_mean (const guint size[3], const TdOverview *o, const guint block[3])
{
  const guint factors[3] = { o->factor, o->factor, o->factor_z };
  double sum = 0;
  guint at[3], n = 0;

  for (at[2] = block[2] * factors[2]; at[2] < MIN ((block[2] + 1) * factors[2], size[2]); at[2]++)
    for (at[1] = block[1] * factors[1]; at[1] < MIN ((block[1] + 1) * factors[1], size[1]); at[1]++)
      for (at[0] = block[0] * factors[0]; at[0] < MIN ((block[0] + 1) * factors[0], size[0]);
           at[0]++)
        if (!isnan (voxel_read (size, at))) {
          sum += voxel_read (size, at);
          n++;
        }
  return n ? sum / n : NAN;
}

static void
assert_overview (TdVolumeSource *source, const guint size[3], guint factor, guint factor_z)
{
  const TdOverview *o = td_volume_source_overview (source);
  const guint n[3] = { o->nx, o->ny, o->nz };
  double sum = 0, squares = 0, most = 0;
  guint block[3];
  guint64 count = 0;

  g_assert_cmpuint (o->factor, ==, factor);
  g_assert_cmpuint (o->factor_z, ==, factor_z);
  g_assert_false (o->sampled);
  for (guint i = 0; i < 3; i++)
    g_assert_cmpuint (n[i], ==, ceil ((double) size[i] / (i == 2 ? factor_z : factor)));
  for (block[2] = 0; block[2] < n[2]; block[2]++)
    for (block[1] = 0; block[1] < n[1]; block[1]++)
      for (block[0] = 0; block[0] < n[0]; block[0]++)
        assert_value (o->values[(block[2] * n[1] + block[1]) * n[0] + block[0]],
                      block_mean (size, o, block), 1e-3);
  for (guint z = 0; z < size[2]; z++)
    for (guint y = 0; y < size[1]; y++)
      for (guint x = 0; x < size[0]; x++) {
        const double value = voxel_read (size, (guint[]) { x, y, z });
        if (isnan (value))
          continue;
        sum += value;
        squares += value * value;
        most = MAX (most, value);
        count++;
      }
  g_assert_cmpuint (o->statistics.n, ==, count);
  g_assert_cmpuint (o->statistics.n_bad, ==, 1);
  g_assert_cmpfloat_with_epsilon (o->statistics.mean, sum / count, 1e-6 * most);
  g_assert_cmpfloat (o->statistics.minimum, ==, 0);
  g_assert_cmpfloat (o->statistics.maximum, ==, most);
  const double mean = sum / count;
  g_assert_cmpfloat_with_epsilon (
      o->statistics.deviation, sqrt ((squares - count * mean * mean) / (count - 1)), 1e-6 * most);
  /* What stands in for a plane is the overview's, over the whole of it. */
  for (guint axis = 0; axis < 3; axis++)
    for (guint at = 0; at < size[axis]; at++) {
      g_autoptr (TdImage) image = td_volume_source_coarse (source, axis, at);
      g_assert_cmpint (image != NULL, ==, factor > 1 || factor_z > 1);
      if (!image)
        continue;
      g_assert_cmpuint (image->width, ==, n[axis == TD_AXIS_X ? 1 : 0]);
      g_assert_cmpuint (image->height, ==, n[axis == TD_AXIS_Z ? 1 : 2]);
      g_assert_cmpfloat (image->extent_width, ==, size[axis == TD_AXIS_X ? 1 : 0]);
      g_assert_cmpfloat (image->extent_height, ==, size[axis == TD_AXIS_Z ? 1 : 2]);
      for (guint row = 0; row < image->height; row++)
        for (guint column = 0; column < image->width; column++) {
          place (axis, at / (axis == TD_AXIS_Z ? factor_z : factor), column, row, block);
          assert_value (image->pixels[row * image->width + column], block_mean (size, o, block),
                        1e-3);
        }
    }
}

typedef struct {
  double last;
  guint n;
} Far;

static void
tell_far (double fraction, gpointer user)
{
  Far *far = user;

  far->n++;
  g_assert_cmpfloat (fraction, >, far->last);
  far->last = fraction;
}

static void
test_planes (void)
{
  static const struct {
    guint size[3], side, factor, factor_z;
  } cases[] = {
    { { 5, 4, 3 }, 2, 3, 2 }, { { 7, 3, 9 }, 3, 3, 3 },  { { 3, 8, 9 }, 4, 2, 3 },
    { { 4, 4, 4 }, 4, 1, 1 }, { { 2, 3, 11 }, 4, 1, 3 }, { { 9, 2, 2 }, 4, 3, 1 },
    { { 6, 6, 1 }, 5, 2, 1 }, { { 1, 6, 3 }, 1, 6, 3 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    const guint *size = cases[i].size;
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autoptr (TdVolumeSource) source = source_of (folder, size, cases[i].side);
    g_autoptr (GError) error = NULL;
    Far far = { 0 };
    for (guint axis = 0; axis < 3; axis++)
      for (guint pass = 0; pass < 2 * size[axis]; pass++) {
        const guint at = pass < size[axis] ? pass : 2 * size[axis] - 1 - pass;
        g_autoptr (TdImage) image
            = td_volume_source_read (source, axis, at, NULL, NULL, NULL, &error);
        g_assert_no_error (error);
        assert_plane (image, size, axis, at);
        g_assert_null (td_volume_source_coarse (source, axis, at));
      }
    g_assert_null (td_volume_source_overview (source));
    g_assert_null (td_volume_source_voxels (source));
    g_assert_true (td_volume_source_survey (source, tell_far, &far, NULL, &error));
    g_assert_cmpfloat (far.last, ==, 1);
    g_assert_cmpuint (far.n, ==, td_volume_source_overview (source)->nz);
    assert_overview (source, size, cases[i].factor, cases[i].factor_z);
    g_assert_nonnull (td_volume_source_voxels (source));
    /* Once is enough. */
    const TdOverview *made = td_volume_source_overview (source);
    g_assert_true (td_volume_source_survey (source, tell_far, &far, NULL, &error));
    g_assert_true (td_volume_source_overview (source) == made);
    g_assert_cmpuint (far.n, ==, made->nz);
  }
}

/* A survey that is cancelled leaves none, and a later one is whole. */
static void
test_cancelled (void)
{
  static const guint size[3] = { 5, 4, 3 };
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autoptr (TdVolumeSource) source = source_of (folder, size, 2);
  g_autoptr (GCancellable) cancelled = g_cancellable_new ();
  g_autoptr (GError) error = NULL;

  g_cancellable_cancel (cancelled);
  g_assert_false (td_volume_source_survey (source, NULL, NULL, cancelled, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  g_clear_error (&error);
  g_assert_null (td_volume_source_overview (source));
  g_autoptr (TdVolumeSource) other = td_volume_source_ref (source);
  g_assert_true (td_volume_source_survey (other, NULL, NULL, NULL, &error));
  assert_overview (source, size, 3, 2);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/volume-source/planes", test_planes);
  g_test_add_func ("/volume-source/cancelled", test_cancelled);
  return g_test_run ();
}
