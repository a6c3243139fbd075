/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A movie through a volume: an AVI file of the planes as they are shown, or nothing. */
#include <gtk/gtk.h>
#include <string.h>
#include <sys/mount.h>

#include "dataset/volume.h"
#include "tests/unit/test-folder.h"
#include "ui/movie-save.h"
#include "ui/scale-bar.h"

#define NX 37u
#define NY 23u
#define N 9u

/* Smooth, and no two planes alike; from 0 to about 1. */
static float
voxel (guint x, guint y, guint z)
{
  return (float) ((x * 1.0 / NX + 2.0 * y / NY + 3.0 * z / N) / 6);
}

static TdVolumeSource *
source_new (TestFolder *folder)
{
  g_autofree char *path = test_folder_file (folder, "volume.h5");
  const TdVolumeSpec spec
      = { .path = path, .format = TD_VOLUME_HDF5, .bits = 32, .nx = NX, .ny = NY, .n_slices = N };
  g_autoptr (GError) error = NULL;
  g_autofree float *voxels = g_new (float, NX *NY *N);

  for (guint z = 0; z < N; z++)
    for (guint y = 0; y < NY; y++)
      for (guint x = 0; x < NX; x++)
        voxels[(z * NY + y) * NX + x] = voxel (x, y, z);
  g_autoptr (TdVolumeWriter) writer = td_volume_writer_new (&spec, &error);
  g_assert_true (td_volume_writer_write (writer, 0, N, voxels, &error));
  g_assert_true (td_volume_writer_finish (writer, NULL, &error));
  TdVolume *volume = td_volume_open (path, &error);
  g_assert_no_error (error);
  return td_volume_source_new (volume, 64);
}

static void
count_progress (double fraction, gpointer calls)
{
  ++*(guint *) calls;
  g_assert_true (fraction > 0 && fraction <= 1);
}

static void
cancel_at_once (double fraction, gpointer cancellable)
{
  g_cancellable_cancel (cancellable);
}

/* ── The file, as a player reads it ── */

typedef struct {
  const guint8 *bytes;
  gsize length;
} Chunk;

static guint32
number_at (const guint8 *bytes, guint word)
{
  guint32 number;

  memcpy (&number, bytes + 4 * word, sizeof number);
  return GUINT32_FROM_LE (number);
}

/* The chunk or list number @index of that name among those in @within. */
static Chunk
find_chunk (Chunk within, const char *name, guint index)
{
  for (gsize at = 0; at + 8 <= within.length;) {
    const gsize length = number_at (within.bytes + at, 1);
    const gboolean is_list = memcmp (within.bytes + at, "LIST", 4) == 0;
    g_assert_cmpuint (at + 8 + length, <=, within.length);
    if (memcmp (within.bytes + at + (is_list ? 8 : 0), name, 4) == 0 && index-- == 0)
      return is_list ? (Chunk) { within.bytes + at + 12, length - 4 }
                     : (Chunk) { within.bytes + at + 8, length };
    at += 8 + length + length % 2;
  }
  return (Chunk) { NULL, 0 };
}

typedef struct {
  guint width, height, n;
  double rate;
  GdkPixbuf *pictures[32];
} Movie;

static void
movie_clear (Movie *movie)
{
  for (guint i = 0; i < movie->n; i++)
    g_object_unref (movie->pictures[i]);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Movie, movie_clear)

static GdkPixbuf *
read_picture (Chunk jpeg)
{
  g_autoptr (GdkPixbufLoader) loader = gdk_pixbuf_loader_new_with_type ("jpeg", NULL);

  g_assert_true (gdk_pixbuf_loader_write (loader, jpeg.bytes, jpeg.length, NULL));
  g_assert_true (gdk_pixbuf_loader_close (loader, NULL));
  return g_object_ref (gdk_pixbuf_loader_get_pixbuf (loader));
}

/* What players may ask besides: the same in all movies but for their sizes. */
static void
assert_heads (const Movie *movie, const guint8 *main, const guint8 *stream, const guint8 *format)
{
  const guint32 largest = number_at (main, 7), n = movie->n;
  const guint32 width = movie->width, height = movie->height;
  const guint32 mains[] = { 0, 0, 0x10, n, 0, 1, largest, width, height, 0, 0, 0, 0 };
  const guint32 streams[] = { 0, n, largest, G_MAXUINT32, 0, 0, height << 16 | width };
  const guint32 formats[] = { 40, width, height, 24 << 16 | 1 };

  for (guint i = 0; i < G_N_ELEMENTS (mains); i++)
    g_assert_cmpuint (number_at (main, 1 + i), ==, mains[i]);
  for (guint i = 0; i < 3; i++) /* flags, language and delay */
    g_assert_cmpuint (number_at (stream, 2 + i), ==, 0);
  for (guint i = 0; i < G_N_ELEMENTS (streams); i++)
    g_assert_cmpuint (number_at (stream, 7 + i), ==, streams[i]);
  for (guint i = 0; i < G_N_ELEMENTS (formats); i++)
    g_assert_cmpuint (number_at (format, i), ==, formats[i]);
  g_assert_cmpuint (number_at (format, 5), ==, largest);
  for (guint i = 6; i < 10; i++) /* of colours there is no table */
    g_assert_cmpuint (number_at (format, i), ==, 0);
}

static void
read_movie (const char *path, Movie *movie)
{
  g_autofree char *bytes = NULL;
  gsize length;

  g_assert_true (g_file_get_contents (path, &bytes, &length, NULL));
  g_assert_cmpmem (bytes, 4, "RIFF", 4);
  g_assert_cmpmem (bytes + 8, 4, "AVI ", 4);
  g_assert_cmpuint (number_at ((guint8 *) bytes, 1), ==, length - 8);
  const Chunk all = { (guint8 *) bytes + 12, length - 12 };
  const Chunk head = find_chunk (all, "hdrl", 0), pictures = find_chunk (all, "movi", 0);
  const Chunk main = find_chunk (head, "avih", 0), strl = find_chunk (head, "strl", 0);
  const Chunk stream = find_chunk (strl, "strh", 0), format = find_chunk (strl, "strf", 0);
  const Chunk index = find_chunk (all, "idx1", 0);
  g_assert_cmpuint (main.length, ==, 56);
  g_assert_cmpuint (stream.length, ==, 56);
  g_assert_cmpuint (format.length, ==, 40);
  g_assert_cmpmem (stream.bytes, 8, "vidsMJPG", 8);
  g_assert_cmpmem (format.bytes + 16, 4, "MJPG", 4);
  movie->n = number_at (main.bytes, 4);
  movie->width = number_at (main.bytes, 8);
  movie->height = number_at (main.bytes, 9);
  movie->rate = number_at (stream.bytes, 6) / (double) number_at (stream.bytes, 5);
  g_assert_cmpfloat_with_epsilon (number_at (main.bytes, 0), 1e6 / movie->rate, 1);
  assert_heads (movie, main.bytes, stream.bytes, format.bytes);
  g_assert_cmpuint (index.length, ==, 16 * movie->n);
  for (guint i = 0; i < movie->n; i++) {
    const Chunk one = find_chunk (pictures, "00dc", i);
    g_assert_nonnull (one.bytes);
    g_assert_cmpuint (number_at (index.bytes, 4 * i + 3), ==, one.length);
    g_assert_cmpuint (number_at (index.bytes, 4 * i + 2), ==, one.bytes - pictures.bytes - 8 + 4);
    g_assert_cmpuint (one.length, <=, number_at (main.bytes, 7));
    movie->pictures[i] = read_picture (one);
    g_assert_cmpint (gdk_pixbuf_get_width (movie->pictures[i]), ==, (int) movie->width);
    g_assert_cmpint (gdk_pixbuf_get_height (movie->pictures[i]), ==, (int) movie->height);
  }
  g_assert_null (find_chunk (pictures, "00dc", movie->n).bytes);
}

static int
grey_at (const Movie *movie, guint picture, guint column, guint row)
{
  GdkPixbuf *pixbuf = movie->pictures[picture];

  return gdk_pixbuf_get_pixels (
      pixbuf)[row * (guint) gdk_pixbuf_get_rowstride (pixbuf) + 3 * column];
}

/* ── Tests ── */

static const TdStyle grey = { .low = 0.2, .high = 0.8, .map = TD_COLOUR_GREY };

static int
grey_of (double value)
{
  return (int) (CLAMP ((value - 0.2) / 0.6, 0, 1) * 255 + 0.5);
}

/* JPEG is not exact. */
#define assert_grey(a, b) g_assert_cmpint (ABS ((a) - (b)), <=, 6)

static void
test_planes (void)
{
  static const TdMovie movies[] = {
    { TD_AXIS_Z, 0, N - 1, 1, 25, grey }, { TD_AXIS_Z, 6, 2, 1, 12, grey },
    { TD_AXIS_X, 3, 30, 1, 60, grey },    { TD_AXIS_Y, 5, 5, 1, 1, grey },
    { TD_AXIS_Z, 1, 4, 2, 25, grey },
  };
  TestFolder *folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "a.avi");
  g_autoptr (TdVolumeSource) source = source_new (folder);
  g_autoptr (GError) error = NULL;

  /* Each replaces the one before: this program wrote it. */
  for (guint k = 0; k < G_N_ELEMENTS (movies); k++) {
    const TdMovie *made = &movies[k];
    const TdCutSize size = td_volume_cut_size (td_volume_source_facts (source), made->axis);
    g_auto (Movie) movie = { 0 };
    guint calls = 0;
    td_movie_save (source, made, path, count_progress, &calls, NULL, &error);
    g_assert_no_error (error);
    read_movie (path, &movie);
    g_assert_cmpuint (movie.n, ==, td_movie_pictures (made));
    g_assert_cmpuint (calls, ==, movie.n);
    g_assert_cmpfloat (movie.rate, ==, made->rate);
    g_assert_cmpuint (movie.width, ==, size.width / made->shrink);
    g_assert_cmpuint (movie.height, ==, size.height / made->shrink);
    for (guint i = 0; i < movie.n; i++) {
      const guint at = made->first < made->last ? made->first + i : made->first - i;
      for (guint row = 1; row < movie.height; row += 5)
        for (guint column = 1; column < movie.width; column += 5) {
          /* The middle of the pixels that are one, and what does not divide is left out. */
          const double u = (column + 0.5 - movie.width / 2.0) * made->shrink + size.width / 2.0;
          const double v = (row + 0.5 - movie.height / 2.0) * made->shrink + size.height / 2.0;
          const double x = made->axis == TD_AXIS_X ? at : u - 0.5;
          const double y = made->axis == TD_AXIS_X   ? u - 0.5
                           : made->axis == TD_AXIS_Y ? at
                                                     : v - 0.5;
          const double z = made->axis == TD_AXIS_Z ? at : v - 0.5;
          assert_grey (grey_at (&movie, i, column, row),
                       grey_of ((x / NX + 2 * y / NY + 3 * z / N) / 6));
        }
    }
  }
  test_folder_free (folder);
}

/* The chosen colours, and the sign of what is no number. */
static void
test_colours (void)
{
  TestFolder *folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "a.AVI");
  g_autoptr (TdVolumeSource) source = source_new (folder);
  const TdMovie made
      = { TD_AXIS_Z, 0, 0, 1, 25, { .low = 2, .high = 3, .map = TD_COLOUR_INVERSE } };
  g_auto (Movie) movie = { 0 };
  guint calls = 0;

  g_assert_true (td_movie_save (source, &made, path, count_progress, &calls, NULL, NULL));
  read_movie (path, &movie);
  assert_grey (grey_at (&movie, 0, 5, 5), 255);
  test_folder_free (folder);
}

/* A bar of 1 mm at the foot, as long as that is in the movie's pixels; beside it the pictures are
   as without. */
static void
test_scale_bar (void)
{
  enum { WIDE = 400, HIGH = 2400 }; /* letters are of a size that its height does not tell */
  TestFolder *folder = test_folder_new ();
  g_autofree char *volume_path = test_folder_file (folder, "wide.h5");
  g_autofree char *path = test_folder_file (folder, "a.avi");
  const TdVolumeSpec spec = { .path = volume_path,
                              .format = TD_VOLUME_HDF5,
                              .bits = 32,
                              .nx = WIDE,
                              .ny = HIGH,
                              .n_slices = 1,
                              .voxel_mm = 0.01 };
  g_autofree float *voxels = g_new (float, WIDE *HIGH);
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < WIDE * HIGH; i++)
    voxels[i] = 0.5f;
  g_autoptr (TdVolumeWriter) writer = td_volume_writer_new (&spec, &error);
  g_assert_true (td_volume_writer_write (writer, 0, 1, voxels, &error));
  g_assert_true (td_volume_writer_finish (writer, NULL, &error));
  TdVolume *volume = td_volume_open (volume_path, &error);
  g_assert_no_error (error);
  g_autoptr (TdVolumeSource) source = td_volume_source_new (volume, 64);
  for (guint shrink = 1; shrink <= 4; shrink *= 2) {
    const TdMovie made = { TD_AXIS_Z, 0, 0, shrink, 25, grey, TRUE };
    const guint end = 18 + 100 / shrink, row = HIGH / shrink - 17;
    const gboolean fits = WIDE / shrink >= TD_SCALE_BAR_ROOM;
    g_auto (Movie) movie = { 0 };
    guint calls = 0;
    g_assert_true (td_movie_save (source, &made, path, count_progress, &calls, NULL, &error));
    read_movie (path, &movie);
    for (guint x = 22; x + 4 < end; x++)
      g_assert_true ((grey_at (&movie, 0, x, row) > 200) == fits);
    g_assert_cmpint (grey_at (&movie, 0, end + 4, row), <, 200);
    assert_grey (grey_at (&movie, 0, end + 30, 2), grey_of (0.5));
  }
  test_folder_free (folder);
}

/* What cannot be saved says so in one sentence, and leaves what was there. */
static void
assert_refused (TdVolumeSource *source, const char *path, const char *words)
{
  const TdMovie made = { TD_AXIS_Z, 0, N - 1, 1, 25, grey };
  g_autofree char *part = g_strconcat (path, ".part", NULL);
  g_autoptr (GError) error = NULL;
  guint calls = 0;

  g_assert_false (td_movie_save (source, &made, path, count_progress, &calls, NULL, &error));
  g_test_message ("%s", error->message);
  g_assert_nonnull (strstr (error->message, words));
  g_assert_false (g_file_test (part, G_FILE_TEST_EXISTS));
}

static void
test_refused (void)
{
  TestFolder *folder = test_folder_new ();
  g_autofree char *volume = test_folder_file (folder, "volume.h5");
  g_autofree char *foreign = test_folder_file (folder, "foreign.avi");
  g_autofree char *nowhere = test_folder_file (folder, "none/a.avi");
  g_autoptr (TdVolumeSource) source = source_new (folder);
  g_autofree char *left = NULL;

  g_assert_true (g_file_set_contents (foreign, "RIFF of somebody else", -1, NULL));
  assert_refused (source, volume, "does not end in .avi");
  assert_refused (source, foreign, "not written by this program");
  assert_refused (source, nowhere, "does not exist");
  g_assert_true (g_file_get_contents (foreign, &left, NULL, NULL));
  g_assert_cmpstr (left, ==, "RIFF of somebody else");
  g_assert_cmpuint (test_folder_count (folder), ==, 2);
  test_folder_free (folder);
}

static void
test_cancelled (void)
{
  TestFolder *folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "a.avi");
  g_autoptr (TdVolumeSource) source = source_new (folder);
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GError) error = NULL;
  const TdMovie made = { TD_AXIS_Z, 0, N - 1, 1, 25, grey };

  g_assert_false (
      td_movie_save (source, &made, path, cancel_at_once, cancellable, cancellable, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  g_assert_cmpuint (test_folder_count (folder), ==, 1);
  test_folder_free (folder);
}

/* Somebody else takes the room while the movie is saved. */
static void
fill_disk (double fraction, gpointer path)
{
  g_autofree char *much = g_malloc0 (4 << 20);

  g_file_set_contents_full (path, much, 4 << 20, G_FILE_SET_CONTENTS_NONE, 0600, NULL);
  FILE *file = fopen (path, "a");
  while (file && fwrite (much, 1, 256, file) == 256)
    if (fflush (file) != 0)
      break;
  if (file)
    fclose (file);
}

static void
test_full_disk (void)
{
  TestFolder *folder = test_folder_new (), *disk = test_folder_new ();
  g_autofree char *path = test_folder_file (disk, "a.avi");
  g_autofree char *filler = test_folder_file (disk, "filler");
  g_autoptr (TdVolumeSource) source = source_new (folder);
  g_autoptr (GError) error = NULL;
  const TdMovie made = { TD_AXIS_X, 0, NX - 1, 1, 25, grey };

  if (mount ("tmpfs", disk->path, "tmpfs", 0, "size=2m") != 0) {
    g_test_skip ("only root may mount a small disk");
  } else {
    g_assert_false (td_movie_save (source, &made, path, fill_disk, filler, NULL, &error));
    g_assert_nonnull (strstr (error->message, "the disk is full"));
    g_assert_cmpuint (test_folder_count (disk), ==, 1);
    g_assert_cmpint (umount (disk->path), ==, 0);
  }
  test_folder_free (disk);
  test_folder_free (folder);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/movie/planes", test_planes);
  g_test_add_func ("/movie/colours", test_colours);
  g_test_add_func ("/movie/scale-bar", test_scale_bar);
  g_test_add_func ("/movie/refused", test_refused);
  g_test_add_func ("/movie/cancelled", test_cancelled);
  g_test_add_func ("/movie/full-disk", test_full_disk);
  return g_test_run ();
}
