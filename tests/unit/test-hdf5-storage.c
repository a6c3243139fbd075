/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Data sets of every layout, type and filter are read as the library reads them. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "dataset/hdf5-frames.h"
#include "dataset/hdf5-storage.h"
#include "dataset/sample.h"
#include "dataset/storage-threads.h"
#include "test-folder.h"

/* Sizes of which chunks are no whole parts. */
#define FRAMES 11u
#define ROWS 23u
#define COLUMNS 31u
#define SAMPLES (FRAMES * ROWS * COLUMNS)

#define LZF 32000 /* as h5py names it */

typedef enum {
  CONTIGUOUS,
  CHUNKED,
  EXTERNAL,
  COMPACT,
} Layout;

typedef struct {
  const char *name;
  Layout layout;
  const char *filters; /* a letter each: s shuffle, d deflate, l LZF (L: as h5py states it), f
                          Fletcher's sum */
  hsize_t chunk[3];
  gboolean library; /* only the library can read it */
  guint user_block;
} Kind;

static const Kind kinds[] = {
  { "contiguous", CONTIGUOUS, "" },
  { "contiguous-user-block", CONTIGUOUS, "", .user_block = 512 },
  { "external", EXTERNAL, "" },
  { "compact", COMPACT, "", .library = TRUE },
  { "chunks", CHUNKED, "", { 2, 5, 7 } },
  { "chunks-of-frames", CHUNKED, "", { 1, ROWS, COLUMNS } },
  { "chunks-larger-than-frames", CHUNKED, "", { 4, ROWS, COLUMNS } },
  { "deflate", CHUNKED, "d", { 3, 8, 31 } },
  { "shuffle", CHUNKED, "s", { 3, 8, 10 } },
  { "shuffle-deflate", CHUNKED, "sd", { 5, 4, 16 } },
  { "shuffle-deflate-frames", CHUNKED, "sd", { 1, ROWS, COLUMNS } },
  { "deflate-shuffle", CHUNKED, "ds", { 2, 23, 16 } },
#if TD_HAVE_LZF
  { "lzf", CHUNKED, "l", { 3, 8, 31 } },
  { "shuffle-lzf", CHUNKED, "sL", { 5, 4, 16 } },
#endif
  { "fletcher", CHUNKED, "df", { 2, 23, 16 }, .library = TRUE },
  { "chunks-user-block", CHUNKED, "sd", { 2, 5, 7 }, .library = TRUE, .user_block = 512 },
};

typedef struct {
  const char *name;
  gboolean library;
} Type;

static const Type types[] = { { "u8" },    { "i8" },    { "u16le" },       { "u16be" },
                              { "i16be" }, { "u32le" }, { "i32be" },       { "f32le" },
                              { "f32be" }, { "f64be" }, { "i64le", TRUE }, { "u12in16", TRUE } };

static hid_t
make_type (const char *name)
{
  const struct {
    const char *name;
    hid_t type;
  } known[]
      = { { "u8", H5T_STD_U8LE },      { "i8", H5T_STD_I8BE },      { "u16le", H5T_STD_U16LE },
          { "u16be", H5T_STD_U16BE },  { "i16be", H5T_STD_I16BE },  { "u32le", H5T_STD_U32LE },
          { "i32be", H5T_STD_I32BE },  { "f32le", H5T_IEEE_F32LE }, { "f32be", H5T_IEEE_F32BE },
          { "f64be", H5T_IEEE_F64BE }, { "i64le", H5T_STD_I64LE } };

  for (guint i = 0; i < G_N_ELEMENTS (known); i++)
    if (strcmp (known[i].name, name) == 0)
      return H5Tcopy (known[i].type);
  hid_t type = H5Tcopy (H5T_STD_U16LE);
  H5Tset_precision (type, 12);
  return type;
}

/* Two raw files; the second frame-crossing boundary lies within a row. */
static void
add_raw_files (hid_t properties, const char *folder, gsize bytes)
{
  const gsize first = bytes / 3 + 1;

  for (guint i = 0; i < 2; i++) {
    g_autofree char *name = g_strdup_printf ("part%u.raw", i);
    g_autofree char *path = g_build_filename (folder, name, NULL);
    const int file = open (path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

    g_assert_cmpint (ftruncate (file, i == 0 ? 5 + (off_t) first : (off_t) (bytes - first)), ==, 0);
    close (file);
    g_assert_cmpint (
        H5Pset_external (properties, name, i == 0 ? 5 : 0, i == 0 ? first : bytes - first), >=, 0);
  }
}

static hid_t
make_properties (const Kind *kind, const char *folder, gsize bytes)
{
  const hid_t properties = H5Pcreate (H5P_DATASET_CREATE);
  const unsigned lzf[]
      = { 4, 0x0105,
          (unsigned) (kind->chunk[0] * kind->chunk[1] * kind->chunk[2] * (bytes / SAMPLES)) };

  if (kind->layout == COMPACT)
    H5Pset_layout (properties, H5D_COMPACT);
  if (kind->layout == EXTERNAL)
    add_raw_files (properties, folder, bytes);
  if (kind->layout == CHUNKED)
    H5Pset_chunk (properties, 3, kind->chunk);
  for (const char *filter = kind->filters; *filter; filter++)
    g_assert_cmpint (*filter == 's'   ? H5Pset_shuffle (properties)
                     : *filter == 'd' ? H5Pset_deflate (properties, 4)
                     : *filter == 'l' ? H5Pset_filter (properties, LZF, H5Z_FLAG_OPTIONAL, 0, NULL)
                     : *filter == 'L' ? H5Pset_filter (properties, LZF, H5Z_FLAG_OPTIONAL, 3, lzf)
                                      : H5Pset_fletcher32 (properties),
                     >=, 0);
  return properties;
}

/* Whole numbers that every type holds. */
static double
value_at (guint i)
{
  return (i * 2654435761u >> 7) % 120;
}

static hid_t
make_set (const TestFolder *folder, const Kind *kind, const char *type_name)
{
  TD_H5_GUARD;
  g_autofree char *path = test_folder_file (folder, "set.h5");
  const hsize_t shape[3] = { FRAMES, ROWS, COLUMNS };
  g_autofree double *values = g_new (double, SAMPLES);
  g_auto (TdH5Id) creation = H5Pcreate (H5P_FILE_CREATE);
  g_auto (TdH5Id) type = make_type (type_name);
  g_auto (TdH5Id) space = H5Screate_simple (3, shape, NULL);
  g_auto (TdH5Id) properties = make_properties (kind, folder->path, SAMPLES * H5Tget_size (type));
  g_auto (TdH5Id) access = H5Pcreate (H5P_DATASET_ACCESS);
  g_autoptr (GError) error = NULL;

  H5Pset_userblock (creation, kind->user_block);
  H5Pset_efile_prefix (access, "${ORIGIN}");
  hid_t file = H5Fcreate (path, H5F_ACC_TRUNC, creation, H5P_DEFAULT);
  hid_t set = H5Dcreate2 (file, "data", type, space, H5P_DEFAULT, properties, access);
  for (guint i = 0; i < SAMPLES; i++)
    values[i] = value_at (i);
  g_assert_cmpint (H5Dwrite (set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), >=, 0);
  td_h5_close (set);
  td_h5_close (file);
  g_auto (TdH5Id) reopened = td_h5_open (path, &error);
  g_assert_no_error (error);
  return H5Dopen2 (reopened, "data", access);
}

/* Random ranges, frames and sinograms, some by a list of frames. */
static void
check_ranges (TdH5Frames *frames, gboolean by_rows, GRand *random)
{
  static const guint list[] = { 0, 1, 2, 5, 6, 9, 10, 3, 4 };
  const guint n_frames = by_rows ? ROWS : FRAMES, n_rows = by_rows ? FRAMES : ROWS;
  g_autofree float *out = g_new (float, SAMPLES);
  const TdSampleType type = td_h5_frames_facts (frames)->type;
  const gboolean whole = type == TD_SAMPLE_UINT16 || type == TD_SAMPLE_UINT8;

  for (guint trial = 0; trial < 12; trial++) {
    const gboolean sinograms = trial % 2, listed = trial % 3 == 2;
    const guint most = listed ? G_N_ELEMENTS (list) : n_frames;
    TdFrameRange range = { .kind = TD_FRAME_PROJECTION };
    g_autoptr (GError) error = NULL;

    range.first = (guint) g_rand_int_range (random, 0, (gint) most);
    range.count = (guint) g_rand_int_range (random, 1, (gint) (most - range.first) + 1);
    range.row0 = (guint) g_rand_int_range (random, 0, (gint) n_rows);
    range.n_rows = (guint) g_rand_int_range (random, 1, (gint) (n_rows - range.row0) + 1);
    td_storage_set_threads (trial % 4 == 0 ? 1 : 5);
    if (trial == 0)
      range = (TdFrameRange) { TD_FRAME_PROJECTION, 0, most, 0, n_rows };
    const guint *indices = listed ? list + range.first : NULL;
    const TdFrameTarget target = sinograms ? td_frame_target_sinograms (&range, COLUMNS, out)
                                           : td_frame_target_frames (&range, COLUMNS, out);
    g_assert_true (td_h5_frames_fill (frames, indices, &range, &target, NULL, &error));
    g_assert_no_error (error);
    if (sinograms && whole) {
      g_autofree guint8 *stored = g_malloc (2 * SAMPLES);
      const TdFrameTarget as_stored = td_frame_target_stored (&range, COLUMNS, type, stored);
      g_assert_true (td_h5_frames_fill (frames, indices, &range, &as_stored, NULL, &error));
      td_samples_to_float (type, FALSE, stored, (gsize) range.count * range.n_rows * COLUMNS, out);
    }
    for (guint i = 0; i < range.count; i++)
      for (guint row = 0; row < range.n_rows; row++)
        for (guint column = 0; column < COLUMNS; column++) {
          const guint frame = listed ? list[range.first + i] : range.first + i;
          const guint seen = range.row0 + row;
          const guint at = (by_rows ? seen * ROWS + frame : frame * ROWS + seen) * COLUMNS + column;
          const gsize place
              = sinograms ? (gsize) row * range.count + i : (gsize) i * range.n_rows + row;
          g_assert_cmpfloat (out[place * COLUMNS + column], ==, (float) value_at (at));
        }
  }
  td_storage_set_threads (0);
}

static void
test_kind (gconstpointer data)
{
  const Kind *kind = data;
  g_autoptr (GRand) random = g_rand_new_with_seed (5);

  for (guint i = 0; i < G_N_ELEMENTS (types); i++)
    for (guint by_rows = 0; by_rows < 2; by_rows++) {
      g_autoptr (TestFolder) folder = test_folder_new ();
      const hid_t set = make_set (folder, kind, types[i].name);
      g_autoptr (GError) error = NULL;
      g_autoptr (TdH5Storage) storage = td_h5_storage_new (set);

      g_test_message ("%s%s", types[i].name, by_rows ? ", by rows" : "");
      g_assert_true ((storage == NULL) == (kind->library || types[i].library));
      g_autoptr (TdH5Frames) frames
          = td_h5_frames_new (set, "the set", by_rows ? TD_H5_FRAMES_BY_ROWS : 0, &error);
      g_assert_no_error (error);
      check_ranges (frames, by_rows, random);
    }
}

/* A chunk whose filters were left out says so in its mask. */
static void
test_left_out_filter (void)
{
  static const Kind kind = { "", CHUNKED, "d", { 1, ROWS, COLUMNS } };
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "set.h5");
  g_autoptr (GRand) random = g_rand_new_with_seed (6);
  g_autoptr (GError) error = NULL;
  guint16 plain[ROWS * COLUMNS];
  const hsize_t place[3] = { 4, 0, 0 };

  {
    TD_H5_GUARD;
    td_h5_close (make_set (folder, &kind, "u16le"));
    for (guint i = 0; i < ROWS * COLUMNS; i++)
      plain[i] = GUINT16_TO_LE ((guint16) value_at (4 * ROWS * COLUMNS + i));
    g_auto (TdH5Id) file = H5Fopen (path, H5F_ACC_RDWR, H5P_DEFAULT);
    g_auto (TdH5Id) set = H5Dopen2 (file, "data", H5P_DEFAULT);
    g_assert_cmpint (H5Dwrite_chunk (set, H5P_DEFAULT, 1, place, sizeof plain, plain), >=, 0);
  }
  g_auto (TdH5Id) file = td_h5_open (path, &error);
  const hid_t set = H5Dopen2 (file, "data", H5P_DEFAULT);
  g_autoptr (TdH5Storage) storage = td_h5_storage_new (set);
  g_autoptr (TdH5Frames) frames = td_h5_frames_new (set, "the set", 0, &error);

  g_assert_nonnull (storage);
  check_ranges (frames, FALSE, random);
}

/* Without its filter neither frames nor a list of numbers can be read, which is no damage. */
static void
test_missing_filter (void)
{
  const hsize_t n = 7, shape[3] = { 7, 1, 1 };
  const struct {
    H5Z_filter_t filter;
    const char *says;
  } missing[] = { { 32004, "hdf5-filter-plugin" }, { 300, "HDF5_PLUGIN_PATH" } };

  for (guint i = 0; i < 2 * G_N_ELEMENTS (missing); i++) {
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autofree char *path = test_folder_file (folder, "set.h5");
    g_autoptr (GError) error = NULL;
    TD_H5_GUARD;
    g_auto (TdH5Id) file = H5Fcreate (path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    g_auto (TdH5Id) properties = H5Pcreate (H5P_DATASET_CREATE);
    g_auto (TdH5Id) space = H5Screate_simple (i % 2 ? 3 : 1, i % 2 ? shape : &n, NULL);

    if (H5Zfilter_avail (missing[i / 2].filter) > 0)
      continue;
    H5Pset_chunk (properties, i % 2 ? 3 : 1, i % 2 ? shape : &n);
    H5Pset_filter (properties, missing[i / 2].filter, H5Z_FLAG_OPTIONAL, 0, NULL);
    const hid_t set
        = H5Dcreate2 (file, "data", H5T_IEEE_F32LE, space, H5P_DEFAULT, properties, H5P_DEFAULT);
    if (i % 2) {
      const float zero[7] = { 0 };
      H5Dwrite (set, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, zero);
      g_assert_null (td_h5_frames_new (set, "the set", 0, &error));
    } else {
      gsize count;
      g_assert_null (td_h5_numbers (set, "the set", &count, &error));
      td_h5_close (set);
    }
    test_assert_sentence (error, missing[i / 2].says);
  }
}

/* Bytes of a chunk are changed, and the file is cut short after it was opened: a sentence, never
   wrong samples. */
static void
test_damaged (gconstpointer data)
{
  static const Kind damaged[]
      = { { "", CHUNKED, "sd", { 1, ROWS, COLUMNS } }, { "", CONTIGUOUS, "" } };
  const guint which = GPOINTER_TO_UINT (data);
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "set.h5");
  g_autofree float *out = g_new (float, SAMPLES);
  g_autoptr (GError) error = NULL;
  g_autoptr (TdH5Frames) frames
      = td_h5_frames_new (make_set (folder, &damaged[which], "u16le"), "the set", 0, &error);
  const TdFrameRange all = { TD_FRAME_PROJECTION, 0, FRAMES, 0, ROWS };
  const TdFrameTarget target = td_frame_target_frames (&all, COLUMNS, out);

  g_assert_no_error (error);
  if (which == 0) {
    const int file = open (path, O_RDWR | O_CLOEXEC);
    const off_t end = lseek (file, 0, SEEK_END);
    const guint8 noise[200] = { [0 ... 199] = 0xa5 };
    g_assert_cmpint (pwrite (file, noise, sizeof noise, end - 300), ==, sizeof noise);
    close (file);
  } else {
    g_assert_cmpint (truncate (path, SAMPLES), ==, 0);
  }
  g_assert_false (td_h5_frames_fill (frames, NULL, &all, &target, NULL, &error));
  test_assert_sentence (error, "the set");
}

/* What readers hold to unpack chunks is stated: two buffers a thread, and no more threads than
   have room. */
static void
test_unpack_bytes (void)
{
  static const Kind kinds_of[] = { { "", CHUNKED, "sd", { 4, ROWS, COLUMNS } },
                                   { "", CHUNKED, "", { 4, ROWS, COLUMNS } },
                                   { "", CONTIGUOUS, "" } };
  const gsize chunk = 4 * ROWS * COLUMNS * 2;
  const gsize each[] = { 2 * chunk, chunk, 0 };

  td_storage_set_threads (3);
  for (guint i = 0; i < G_N_ELEMENTS (kinds_of); i++) {
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autoptr (GError) error = NULL;
    g_autoptr (TdH5Frames) frames
        = td_h5_frames_new (make_set (folder, &kinds_of[i], "u16le"), "the set", 0, &error);

    g_assert_no_error (error);
    g_assert_cmpuint (td_h5_frames_facts (frames)->unpack_bytes, ==, 3 * each[i]);
  }
  td_storage_set_threads (0);
  /* Large ones leave room for few threads, the largest for one. */
  g_assert_cmpuint (td_storage_scratch_bytes (100 << 20), ==, 100 << 20);
  g_assert_cmpuint (td_storage_scratch_bytes (300 << 20), ==, 300 << 20);
  g_assert_cmpuint (td_storage_scratch_bytes (30 << 20), <=, 128 << 20);
}

/* Just either side of what is unpacked here: as many filters, and as large a chunk. */
static void
test_limits (void)
{
  static const Kind filters[]
      = { { "", CHUNKED, "dsdd", { 3, 8, 31 } }, { "", CHUNKED, "dsddd", { 3, 8, 31 } } };
  const hsize_t shape[3] = { 8, 4096, 4097 };

  for (guint i = 0; i < G_N_ELEMENTS (filters); i++) {
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autoptr (GRand) random = g_rand_new_with_seed (7);
    g_autoptr (GError) error = NULL;
    const hid_t set = make_set (folder, &filters[i], "u16le");
    g_autoptr (TdH5Storage) storage = td_h5_storage_new (set);

    g_assert_cmpint (storage == NULL, ==, i);
    g_autoptr (TdH5Frames) frames = td_h5_frames_new (set, "the set", 0, &error);
    g_assert_no_error (error);
    check_ranges (frames, FALSE, random);
  }
  for (guint more = 0; more < 2; more++) { /* than 256 MiB; nothing is written */
    const hsize_t chunk[3] = { 8, 4096, 4096 + more };
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autofree char *path = test_folder_file (folder, "set.h5");
    TD_H5_GUARD;
    g_auto (TdH5Id) file = H5Fcreate (path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    g_auto (TdH5Id) properties = H5Pcreate (H5P_DATASET_CREATE);
    g_auto (TdH5Id) space = H5Screate_simple (3, shape, NULL);

    H5Pset_chunk (properties, 3, chunk);
    g_auto (TdH5Id) set
        = H5Dcreate2 (file, "data", H5T_STD_U16LE, space, H5P_DEFAULT, properties, H5P_DEFAULT);
    g_autoptr (TdH5Storage) storage = td_h5_storage_new (set);
    g_assert_cmpint (storage == NULL, ==, more);
  }
}

static void
test_cancelled (void)
{
  static const Kind kind = { "", CHUNKED, "sd", { 1, 4, COLUMNS } };
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree float *out = g_new (float, SAMPLES);
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (TdH5Frames) frames
      = td_h5_frames_new (make_set (folder, &kind, "u16le"), "the set", 0, &error);
  const TdFrameRange all = { TD_FRAME_PROJECTION, 0, FRAMES, 0, ROWS };
  const TdFrameTarget target = td_frame_target_frames (&all, COLUMNS, out);

  g_cancellable_cancel (cancellable);
  g_assert_false (td_h5_frames_fill (frames, NULL, &all, &target, cancellable, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++) {
    g_autofree char *name = g_strconcat ("/hdf5-storage/", kinds[i].name, NULL);
    g_test_add_data_func (name, &kinds[i], test_kind);
  }
  g_test_add_func ("/hdf5-storage/left-out-filter", test_left_out_filter);
  g_test_add_func ("/hdf5-storage/missing-filter", test_missing_filter);
  g_test_add_data_func ("/hdf5-storage/damaged-chunk", GUINT_TO_POINTER (0), test_damaged);
  g_test_add_data_func ("/hdf5-storage/cut-short", GUINT_TO_POINTER (1), test_damaged);
  g_test_add_func ("/hdf5-storage/limits", test_limits);
  g_test_add_func ("/hdf5-storage/cancelled", test_cancelled);
  g_test_add_func ("/hdf5-storage/unpack-bytes", test_unpack_bytes);
  return g_test_run ();
}
