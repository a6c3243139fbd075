/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Frames that are not in the files must not be read as zeros. */
#include <glib/gstdio.h>
#include <unistd.h>

#include "dataset/volume.h"
#include "hdf5-scans.h"

#define FRAME_BYTES (2 * ROWS * COLUMNS)

static const TdScanOptions options = { .angles = "0:180" };

static void
fill (guint16 *values, guint base, guint n)
{
  for (guint f = 0; f < n; f++)
    for (guint r = 0; r < ROWS; r++)
      for (guint c = 0; c < COLUMNS; c++)
        values[(f * ROWS + r) * COLUMNS + c] = (guint16) value_of (base + f, r, c);
}

/* @n frames at "/frames" of @path. */
static void
make_source (const TestFolder *folder, const char *name, guint base, guint n)
{
  g_autofree char *path = test_folder_file (folder, name);
  hid_t file = td_h5_create_sized (path, 0);

  add_frames (file, "frames", base, n, FALSE, 0);
  g_assert_true (td_h5_finish (file));
}

/* A data set of VIEWS frames in chunks of @depth, of which the frames before @end are written. */
static void
make_chunked (const char *path, guint depth, guint end)
{
  TD_H5_GUARD;
  hsize_t shape[3] = { VIEWS, ROWS, COLUMNS }, chunk[3] = { depth, 4, 5 };
  hsize_t start[3] = { 0 }, count[3] = { end, ROWS, COLUMNS };
  g_autofree guint16 *values = g_new (guint16, VIEWS * ROWS * COLUMNS);
  hid_t file = td_h5_create_sized (path, 0);
  {
    g_auto (TdH5Id) space = H5Screate_simple (3, shape, NULL);
    g_auto (TdH5Id) memory = H5Screate_simple (3, count, NULL);
    g_auto (TdH5Id) properties = H5Pcreate (H5P_DATASET_CREATE);
    g_auto (TdH5Id) dataset = -1;

    fill (values, 0, VIEWS);
    H5Pset_chunk (properties, 3, chunk);
    dataset = H5Dcreate2 (file, "all", H5T_STD_U16LE, space, H5P_DEFAULT, properties, H5P_DEFAULT);
    H5Sselect_hyperslab (space, H5S_SELECT_SET, start, NULL, count, NULL);
    if (end > 0)
      g_assert_cmpint (H5Dwrite (dataset, H5T_NATIVE_UINT16, memory, space, H5P_DEFAULT, values),
                       >=, 0);
  }
  g_assert_true (td_h5_finish (file));
}

typedef struct {
  const char *file, *set;
  guint first, n; /* frames of the virtual set */
  guint n_rows;   /* that are mapped; 0: all */
} Mapping;

static void
make_virtual (const char *path, const Mapping *mappings)
{
  TD_H5_GUARD;
  hsize_t shape[3] = { VIEWS, ROWS, COLUMNS };
  hid_t file = H5Fcreate (path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  {
    g_auto (TdH5Id) space = H5Screate_simple (3, shape, NULL);
    g_auto (TdH5Id) properties = H5Pcreate (H5P_DATASET_CREATE);
    g_auto (TdH5Id) dataset = -1;

    for (const Mapping *m = mappings; m->file; m++) {
      const hsize_t whole[3] = { m->n, ROWS, COLUMNS }, none[3] = { 0 };
      hsize_t start[3] = { m->first, 0, 0 }, count[3] = { m->n, ROWS, COLUMNS };
      g_auto (TdH5Id) from = H5Screate_simple (3, whole, NULL);

      count[1] = m->n_rows ? m->n_rows : ROWS;
      if (m->n_rows)
        H5Sselect_hyperslab (from, H5S_SELECT_SET, none, NULL, count, NULL);
      H5Sselect_hyperslab (space, H5S_SELECT_SET, start, NULL, count, NULL);
      g_assert_cmpint (H5Pset_virtual (properties, space, m->file, m->set, from), >=, 0);
    }
    H5Sselect_all (space);
    dataset = H5Dcreate2 (file, "all", H5T_STD_U16LE, space, H5P_DEFAULT, properties, H5P_DEFAULT);
    g_assert_cmpint (dataset, >=, 0);
  }
  g_assert_true (td_h5_finish (file));
}

/* Of the scan's views those in @missing are missing ("..x" has 0 and 1); @why says so. */
static void
check_missing (const char *path, const char *missing, const char *why)
{
  g_autoptr (TdScan) scan = open_scan (path, &options);
  const TdScanFacts *facts = td_scan_facts (scan);
  g_autofree float *frames = g_new (float, VIEWS *ROWS *COLUMNS);
  g_autoptr (GError) error = NULL;

  g_assert_cmpuint (facts->n_views, ==, VIEWS);
  for (guint i = 0; i < VIEWS; i++) {
    const TdFrameRange one = { TD_FRAME_PROJECTION, i, 1, 0, ROWS };
    g_autoptr (GError) own = NULL;

    g_assert_cmpint (facts->absent && facts->absent[i], ==, missing[i] == 'x');
    g_assert_cmpint (td_scan_read (scan, &one, frames, NULL, &own), ==, missing[i] != 'x');
    if (missing[i] == 'x')
      test_assert_sentence (own, NULL);
    else
      check_frame (scan, TD_FRAME_PROJECTION, i, i);
  }
  g_assert_false (td_scan_complete (scan, &error));
  test_assert_sentence (error, why);
  g_clear_error (&error);
  g_assert_false (td_scan_read_sinograms (
      scan, &(TdFrameRange) { TD_FRAME_PROJECTION, 0, VIEWS, 0, 1 }, frames, NULL, &error));
}

static void
test_chunks (gconstpointer data)
{
  static const char *const missing[] = { "", "......xxx", "", "......xxx", "" };
  const guint depth = GPOINTER_TO_UINT (data);
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "scan.h5");
  g_autoptr (GError) error = NULL;

  make_chunked (path, depth, 6);
  check_missing (path, missing[depth], "--views 0:6");
  make_chunked (path, depth, VIEWS);
  {
    g_autoptr (TdScan) scan = open_scan (path, &options);

    g_assert_null (td_scan_facts (scan)->absent);
    g_assert_true (td_scan_complete (scan, NULL));
    check_sinograms (scan);
  }
  make_chunked (path, depth, 0);
  g_assert_null (td_scan_open (path, &options, NULL, &error));
  test_assert_sentence (error, "never written");
}

static void
test_virtual (void)
{
  static const Mapping whole[] = {
    { "a.h5", "/frames", 0, 3 }, { "b.h5", "/frames", 3, 3 }, { "c.h5", "/frames", 6, 3 }, { NULL }
  };
  static const Mapping gap[]
      = { { "a.h5", "/frames", 0, 3 }, { "c.h5", "/frames", 6, 3 }, { NULL } };
  Mapping gaps[] = { { "a.h5", "/frames", 0, 3 },
                     { "b.h5", "/frames", 3, 3, ROWS - 1 },
                     { "c.h5", "/frames", 6, 3 },
                     { NULL } };
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "scan.h5");
  g_autofree char *b = test_folder_file (folder, "b.h5"), *c = test_folder_file (folder, "c.h5");
  g_autoptr (GError) error = NULL;

  make_source (folder, "a.h5", 0, 3);
  make_source (folder, "b.h5", 3, 3);
  make_source (folder, "c.h5", 6, 3);
  make_virtual (path, whole);
  {
    g_autoptr (TdScan) scan = open_scan (path, &options);

    g_assert_true (td_scan_complete (scan, NULL));
    check_frame (scan, TD_FRAME_PROJECTION, 7, 7);
    g_assert_true (g_strv_contains ((const char *const *) td_scan_facts (scan)->sources, b));
  }
  make_source (folder, "b.h5", 3, 2); /* smaller than is mapped */
  check_missing (path, ".....x...", "b.h5");
  g_assert_true (g_file_set_contents (b, "garbage", -1, NULL));
  check_missing (path, "...xxx...", "b.h5");
  make_source (folder, "b.h5", 3, 3);
  g_assert_cmpint (truncate (b, 1000), ==, 0);
  check_missing (path, "...xxx...", "cut short");
  make_chunked (b, 1, VIEWS); /* a file of another data set */
  check_missing (path, "...xxx...", "/frames");
  g_remove (b);
  check_missing (path, "...xxx...", "b.h5");
  g_remove (c);
  check_missing (path, "...xxxxxx", "--views 0:3");
  make_source (folder, "c.h5", 6, 3);
  make_virtual (path, gap);
  check_missing (path, "...xxx...", "nothing is mapped to them");
  make_source (folder, "b.h5", 3, 3);
  make_virtual (path, gaps);
  check_missing (path, "...xxx...", "name the gaps' pixels (--bad-pixels FILE)");
  for (guint i = 0; i < 3; i++)
    gaps[i].n_rows = ROWS - 1;
  make_virtual (path, gaps);
  g_assert_null (td_scan_open (path, &options, NULL, &error));
  test_assert_sentence (error, "name the gaps' pixels (--bad-pixels FILE)");
  g_clear_error (&error);
  g_remove (c);
  make_virtual (path, (Mapping[]) { { "c.h5", "/frames", 6, 3 }, { NULL } });
  g_assert_null (td_scan_open (path, &options, NULL, &error));
  test_assert_sentence (error, NULL);
}

/* Three frames are taken from four places of which one is left out, or from a row of numbers. All
   are missing if anything is of what they are taken from, for their order is not known. */
static void
test_irregular (void)
{
  static const struct {
    guint n_source;  /* frames; 0: VIEWS in chunks, of which six are written */
    gboolean by_row; /* the source is said to be one row */
    const char *missing, *why;
  } cases[] = {
    { 4, FALSE, ".........", NULL },
    { 5, FALSE, ".........", NULL },
    { 3, FALSE, "xxx......", "“a.h5” holds less than is mapped" },
    { 0, FALSE, "xxx......", "“a.h5” is not complete: they were never written" },
    { 3, TRUE, "xxx......", "their sources are no images" },
  };
  static const guint taken[VIEWS] = { 0, 2, 3, 10, 11, 12, 13, 14, 15 };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autofree char *path = test_folder_file (folder, "scan.h5");
    g_autofree char *a = test_folder_file (folder, "a.h5");
    g_autoptr (GError) error = NULL;

    if (cases[i].n_source)
      make_source (folder, "a.h5", 0, cases[i].n_source);
    else
      make_chunked (a, 1, 6);
    make_source (folder, "c.h5", 10, 6);
    {
      TD_H5_GUARD;
      const hsize_t shape[3] = { VIEWS, ROWS, COLUMNS }, rest[3] = { 6, ROWS, COLUMNS };
      const hsize_t from[3] = { cases[i].n_source ? cases[i].n_source : VIEWS, ROWS, COLUMNS };
      const hsize_t row[1] = { 3 * ROWS * COLUMNS }, none[3] = { 0 };
      const hsize_t one[3] = { 1, ROWS, COLUMNS }, two[3] = { 2, ROWS, COLUMNS };
      const hsize_t three[3] = { 3, ROWS, COLUMNS }, third[3] = { 2 }, fourth[3] = { 3 };
      /* A scan that was made when its source held four frames. */
      const hsize_t four[3] = { MAX (from[0], 4), ROWS, COLUMNS };
      const hid_t file = H5Fcreate (path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
      {
        g_auto (TdH5Id) space = H5Screate_simple (3, shape, NULL);
        g_auto (TdH5Id) source
            = cases[i].by_row ? H5Screate_simple (1, row, NULL) : H5Screate_simple (3, four, NULL);
        g_auto (TdH5Id) whole = H5Screate_simple (3, rest, NULL);
        g_auto (TdH5Id) properties = H5Pcreate (H5P_DATASET_CREATE);
        g_auto (TdH5Id) dataset = -1;

        if (cases[i].by_row)
          H5Sselect_hyperslab (source, H5S_SELECT_SET, none, NULL, row, NULL);
        else {
          H5Sselect_hyperslab (source, H5S_SELECT_SET, none, NULL, one, NULL);
          H5Sselect_hyperslab (source, H5S_SELECT_OR, third, NULL, two, NULL);
        }
        H5Sselect_hyperslab (space, H5S_SELECT_SET, none, NULL, three, NULL);
        g_assert_cmpint (H5Pset_virtual (properties, space, "a.h5",
                                         cases[i].n_source ? "/frames" : "/all", source),
                         >=, 0);
        H5Sselect_hyperslab (space, H5S_SELECT_SET, fourth, NULL, rest, NULL);
        g_assert_cmpint (H5Pset_virtual (properties, space, "c.h5", "/frames", whole), >=, 0);
        H5Sselect_all (space);
        dataset
            = H5Dcreate2 (file, "all", H5T_STD_U16LE, space, H5P_DEFAULT, properties, H5P_DEFAULT);
        g_assert_cmpint (dataset, >=, 0);
      }
      g_assert_true (td_h5_finish (file));
    }
    g_autoptr (TdScan) scan = open_scan (path, &options);
    const TdScanFacts *facts = td_scan_facts (scan);
    for (guint v = 0; v < VIEWS; v++) {
      g_assert_cmpint (facts->absent && facts->absent[v], ==, cases[i].missing[v] == 'x');
      if (cases[i].missing[v] != 'x')
        check_frame (scan, TD_FRAME_PROJECTION, v, taken[v]);
    }
    g_assert_cmpint (td_scan_complete (scan, &error), ==, cases[i].why == NULL);
    if (cases[i].why)
      test_assert_sentence (error, cases[i].why);
  }
}

/* Frames of another size, or of none, are none of the scan's. */
static void
test_other_shapes (void)
{
  static const struct {
    int rank;
    hsize_t shape[4];
    const char *why;
  } shapes[] = {
    { 1, { 3 * ROWS * COLUMNS }, "other dimensions than are mapped" },
    { 4, { 3, 2, ROWS / 2, COLUMNS }, "other dimensions than are mapped" },
    { 3, { 3, ROWS - 1, COLUMNS }, "other dimensions than are mapped" },
    { 3, { 3, ROWS, COLUMNS - 1 }, "other dimensions than are mapped" },
    { 3, { 3, ROWS + 1, COLUMNS }, "other dimensions than are mapped" },
    { 3, { 3, COLUMNS, ROWS }, "other dimensions than are mapped" },
  };
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "scan.h5");
  g_autofree char *b = test_folder_file (folder, "b.h5");
  g_autofree guint16 *values = g_new0 (guint16, 3 * (ROWS + 1) * COLUMNS);

  make_source (folder, "a.h5", 0, 3);
  make_source (folder, "c.h5", 6, 3);
  make_virtual (path, (Mapping[]) { { "a.h5", "/frames", 0, 3 },
                                    { "b.h5", "/frames", 3, 3 },
                                    { "c.h5", "/frames", 6, 3 },
                                    { NULL } });
  for (guint i = 0; i < G_N_ELEMENTS (shapes); i++) {
    hid_t file = td_h5_create_sized (b, 0);
    {
      TD_H5_GUARD;
      g_auto (TdH5Id) space = H5Screate_simple (shapes[i].rank, shapes[i].shape, NULL);
      g_auto (TdH5Id) dataset = H5Dcreate2 (file, "frames", H5T_STD_U16LE, space, H5P_DEFAULT,
                                            H5P_DEFAULT, H5P_DEFAULT);
      g_assert_cmpint (H5Dwrite (dataset, H5T_NATIVE_UINT16, H5S_ALL, H5S_ALL, H5P_DEFAULT, values),
                       >=, 0);
    }
    g_assert_true (td_h5_finish (file));
    check_missing (path, "...xxx...", shapes[i].why);
  }
}

/* A file a block, by a pattern of names: "part%%-%b.h5" is "part%-0.h5" and so on. */
static void
make_blocks (const char *path)
{
  TD_H5_GUARD;
  hsize_t shape[3] = { VIEWS, ROWS, COLUMNS }, most[3] = { H5S_UNLIMITED, ROWS, COLUMNS };
  hsize_t block[3] = { 3, ROWS, COLUMNS }, start[3] = { 0 }, stride[3] = { 3, 1, 1 };
  hsize_t count[3] = { H5S_UNLIMITED, 1, 1 };
  hid_t file = H5Fcreate (path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  {
    g_auto (TdH5Id) space = H5Screate_simple (3, shape, most);
    g_auto (TdH5Id) from = H5Screate_simple (3, block, NULL);
    g_auto (TdH5Id) properties = H5Pcreate (H5P_DATASET_CREATE);
    g_auto (TdH5Id) dataset = -1;

    H5Sselect_hyperslab (space, H5S_SELECT_SET, start, stride, count, block);
    g_assert_cmpint (H5Pset_virtual (properties, space, "part%%-%b.h5", "/frames", from), >=, 0);
    H5Sselect_all (space);
    dataset = H5Dcreate2 (file, "all", H5T_STD_U16LE, space, H5P_DEFAULT, properties, H5P_DEFAULT);
    g_assert_cmpint (dataset, >=, 0);
  }
  g_assert_true (td_h5_finish (file));
}

static void
test_blocks (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "scan.h5");

  for (guint i = 0; i < 3; i++) {
    g_autofree char *name = g_strdup_printf ("part%%-%u.h5", i);
    make_source (folder, name, 3 * i, 3);
  }
  make_blocks (path);
  {
    g_autoptr (TdScan) scan = open_scan (path, &options);

    g_assert_null (td_scan_facts (scan)->absent);
    g_assert_true (td_scan_complete (scan, NULL));
    for (guint i = 0; i < VIEWS; i++)
      check_frame (scan, TD_FRAME_PROJECTION, i, i);
  }
  make_source (folder, "part%-1.h5", 3, 2);
  check_missing (path, ".....x...", "part%-1.h5");
}

/* A virtual set of a virtual set, and one that takes from itself. */
static void
test_nested (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "scan.h5");
  g_autofree char *inner = test_folder_file (folder, "inner.h5");
  g_autoptr (GError) error = NULL;

  make_source (folder, "a.h5", 0, 3);
  make_virtual (inner, (Mapping[]) { { "a.h5", "/frames", 0, 3 }, { NULL } });
  make_virtual (path, (Mapping[]) { { "inner.h5", "/all", 0, VIEWS }, { NULL } });
  check_missing (path, "...xxxxxx", "inner.h5");
  make_virtual (path, (Mapping[]) { { "scan.h5", "/all", 0, VIEWS }, { NULL } });
  g_assert_null (td_scan_open (path, &options, NULL, &error));
  test_assert_sentence (error, "scan.h5");
}

static void
make_raw (const char *path, const char *raw, guint bits)
{
  TD_H5_GUARD;
  hsize_t shape[3] = { VIEWS, ROWS, COLUMNS };
  hid_t file = H5Fcreate (path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  {
    g_auto (TdH5Id) space = H5Screate_simple (3, shape, NULL);
    g_auto (TdH5Id) properties = H5Pcreate (H5P_DATASET_CREATE);
    g_auto (TdH5Id) type = H5Tcopy (H5T_STD_U16LE);
    g_auto (TdH5Id) dataset = -1;

    H5Tset_precision (type, bits);
    H5Pset_external (properties, raw, 0, VIEWS * FRAME_BYTES);
    dataset = H5Dcreate2 (file, "all", type, space, H5P_DEFAULT, properties, H5P_DEFAULT);
    g_assert_cmpint (dataset, >=, 0);
  }
  g_assert_true (td_h5_finish (file));
}

/* With the file that has the frames, in the same folder. */
static void
make_raw_beside (const char *path, const char *raw, guint bits)
{
  g_autofree guint16 *values = g_new (guint16, VIEWS * ROWS * COLUMNS);

  fill (values, 0, VIEWS);
  make_raw (path, "frames.raw", bits);
  g_assert_true (g_file_set_contents (raw, (char *) values, VIEWS * FRAME_BYTES, NULL));
}

/* Samples of 12 bits are the library's to read, from the folder of their HDF5 file as well. */
static void
test_raw_by_library (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "scan.h5");
  g_autofree char *raw = test_folder_file (folder, "frames.raw");

  make_raw_beside (path, raw, 12);
  g_autoptr (TdScan) scan = open_scan (path, &options);
  check_frame (scan, TD_FRAME_PROJECTION, 0, 0);
}

/* Frames in two files, which begin anywhere. What lies behind the first byte that is not there is
   not believed. */
static void
test_raw_parts (void)
{
  enum { FIRST = 4 };
  static const struct {
    guint offset;   /* of the second file */
    gssize lost[2]; /* bytes at the end of each; -1: the file is missing */
  } cases[] = {
    { 0, { 0, 0 } },
    { 7, { 0, 0 } },
    { 0, { 1, 0 } },
    { 7, { 0, 1 } },
    { 0, { 0, FRAME_BYTES } },
    { 7, { 0, FRAME_BYTES + 1 } },
    { 7, { 0, 5 * FRAME_BYTES } },
    { 7, { 0, 5 * FRAME_BYTES + 7 } },
    { 7, { FIRST * FRAME_BYTES, 0 } },
    { 7, { 2 * FRAME_BYTES - 1, 3 } },
    { 7, { 0, -1 } },
  };
  g_autofree guint16 *values = g_new (guint16, VIEWS * ROWS * COLUMNS);

  fill (values, 0, VIEWS);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    const gssize bytes[2] = { FIRST * FRAME_BYTES, (VIEWS - FIRST) * FRAME_BYTES };
    const hsize_t shape[3] = { VIEWS, ROWS, COLUMNS };
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autofree char *path = test_folder_file (folder, "scan.h5");
    g_autoptr (GError) error = NULL;
    guint there = VIEWS;

    for (guint k = 0; k < 2; k++) {
      const gssize lost = cases[i].lost[k], skip = k ? cases[i].offset : 0;
      const gssize left = lost < 0 ? 0 : MAX (bytes[k] - lost, 0);
      g_autofree char *raw = test_folder_file (folder, k ? "two.raw" : "one.raw");
      g_autofree char *text = g_malloc0 (skip + bytes[k]);

      memcpy (text + skip, (char *) values + (k ? bytes[0] : 0), bytes[k]);
      if (lost >= 0)
        g_assert_true (g_file_set_contents (raw, text, MAX (skip + bytes[k] - lost, 0), NULL));
      if (lost != 0)
        there = MIN (there, (guint) (((k ? bytes[0] : 0) + left) / FRAME_BYTES));
    }
    const hid_t file = H5Fcreate (path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    {
      TD_H5_GUARD;
      g_auto (TdH5Id) space = H5Screate_simple (3, shape, NULL);
      g_auto (TdH5Id) properties = H5Pcreate (H5P_DATASET_CREATE);
      H5Pset_external (properties, "one.raw", 0, bytes[0]);
      H5Pset_external (properties, "two.raw", cases[i].offset, bytes[1]);
      g_auto (TdH5Id) dataset
          = H5Dcreate2 (file, "all", H5T_STD_U16LE, space, H5P_DEFAULT, properties, H5P_DEFAULT);
      g_assert_cmpint (dataset, >=, 0);
    }
    g_assert_true (td_h5_finish (file));
    g_test_message ("case %u: %u views", i, there);
    g_autoptr (TdScan) scan = td_scan_open (path, &options, NULL, &error);
    if (there == 0) {
      g_assert_null (scan);
      test_assert_sentence (error, "one.raw");
      continue;
    }
    g_assert_no_error (error);
    const TdScanFacts *facts = td_scan_facts (scan);
    for (guint v = 0; v < VIEWS; v++) {
      g_assert_cmpint (facts->absent && facts->absent[v], ==, v >= there);
      if (v < there)
        check_frame (scan, TD_FRAME_PROJECTION, v, v);
    }
  }
}

static void
test_raw (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "scan.h5");
  g_autofree char *raw = test_folder_file (folder, "frames.raw");

  make_raw_beside (path, raw, 16);
  {
    g_autoptr (TdScan) scan = open_scan (path, &options);

    g_assert_true (td_scan_complete (scan, NULL));
    check_frame (scan, TD_FRAME_PROJECTION, 8, 8);
    /* Opened once more, as by whoever reads it at the same time. */
    g_autoptr (TdScan) again = open_scan (path, &options);
    check_frame (again, TD_FRAME_PROJECTION, 8, 8);
    check_frame (scan, TD_FRAME_PROJECTION, 7, 7);
  }
  g_assert_cmpint (truncate (raw, 4 * FRAME_BYTES + 3), ==, 0);
  check_missing (path, "....xxxxx", "frames.raw");
}

/* A stranger's file must not show the user's own files as frames. */
static void
test_raw_elsewhere (void)
{
  static const TdScanOptions allowed = { .angles = "0:180", .allow_external = TRUE };
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *below = test_folder_file (folder, "below");
  g_autofree char *path = test_folder_file (folder, "below/scan.h5");
  g_autofree char *raw = test_folder_file (folder, "frames.raw");
  g_autofree guint16 *values = g_new (guint16, VIEWS * ROWS * COLUMNS);
  g_autoptr (GError) error = NULL;

  g_mkdir (below, 0777);
  fill (values, 0, VIEWS);
  g_assert_true (g_file_set_contents (raw, (char *) values, VIEWS * FRAME_BYTES, NULL));
  for (guint i = 0; i < 2; i++) {
    make_raw (path, i ? raw : "../frames.raw", 16);
    g_assert_null (td_scan_open (path, &options, NULL, &error));
    test_assert_sentence (error, "--allow-external");
    g_clear_error (&error);
    g_autoptr (TdScan) scan = open_scan (path, &allowed);
    check_frame (scan, TD_FRAME_PROJECTION, 8, 8);
  }
}

/* What is allowed of a scan is allowed of its flats, and of a volume. */
static void
test_raw_flats (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *below = test_folder_file (folder, "below");
  g_autofree char *path = test_folder_file (folder, "scan.h5");
  g_autofree char *flats = test_folder_file (folder, "below/flats.h5");
  g_autofree char *raw = test_folder_file (folder, "frames.raw");
  g_autofree guint16 *values = g_new (guint16, VIEWS * ROWS * COLUMNS);

  g_mkdir (below, 0777);
  make_chunked (path, 1, VIEWS);
  fill (values, 40, VIEWS);
  g_assert_true (g_file_set_contents (raw, (char *) values, VIEWS * FRAME_BYTES, NULL));
  make_raw (flats, raw, 16);
  for (guint allowed = 0; allowed < 2; allowed++) {
    const TdScanOptions own = { .angles = "0:180", .flats = flats, .allow_external = allowed };
    g_autoptr (GError) error = NULL, of_volume = NULL;
    g_autoptr (TdScan) scan = td_scan_open (path, &own, NULL, &error);
    g_autoptr (TdVolume) volume = td_volume_open_stated (flats, &own, &of_volume);
    if (allowed) {
      g_assert_no_error (error);
      g_assert_no_error (of_volume);
      check_frame (scan, TD_FRAME_FLAT, 8, 48);
    } else {
      test_assert_sentence (error, "--allow-external");
      test_assert_sentence (of_volume, "--allow-external");
    }
  }
}

/* ── NXtomo ── */

/* An NXtomo entry of all keys, of which the frames in @written ("x.x" has 0 and 2) are. @control:
   image_key_control, or NULL. */
static void
make_nxtomo (const char *path, const char *written, const gint8 *control)
{
  TD_H5_GUARD;
  enum { FRAMES = VIEWS + 4 };
  hsize_t shape[3] = { FRAMES, ROWS, COLUMNS }, chunk[3] = { 1, ROWS, COLUMNS };
  g_autofree guint16 *values = g_new (guint16, FRAMES * ROWS * COLUMNS);
  double angles[FRAMES];
  hid_t file = td_h5_create_sized (path, 0);
  {
    g_auto (TdH5Id) entry = add_group (file, "entry");
    g_auto (TdH5Id) instrument = add_group (entry, "instrument");
    g_auto (TdH5Id) detector = add_group (instrument, "detector");
    g_auto (TdH5Id) sample = add_group (entry, "sample");
    g_auto (TdH5Id) space = H5Screate_simple (3, shape, NULL);
    g_auto (TdH5Id) memory = H5Screate_simple (3, chunk, NULL);
    g_auto (TdH5Id) properties = H5Pcreate (H5P_DATASET_CREATE);
    g_auto (TdH5Id) dataset = -1;

    fill (values, 0, FRAMES);
    H5Pset_chunk (properties, 3, chunk);
    dataset
        = H5Dcreate2 (detector, "data", H5T_STD_U16LE, space, H5P_DEFAULT, properties, H5P_DEFAULT);
    for (guint i = 0; i < FRAMES; i++) {
      const hsize_t start[3] = { i, 0, 0 };
      angles[i] = 3.5 * i;
      H5Sselect_hyperslab (space, H5S_SELECT_SET, start, NULL, chunk, NULL);
      if (written[i] == 'x')
        g_assert_cmpint (H5Dwrite (dataset, H5T_NATIVE_UINT16, memory, space, H5P_DEFAULT,
                                   values + i * ROWS * COLUMNS),
                         >=, 0);
    }
    g_assert_true (td_h5_add_string (entry, "definition", "NXtomo"));
    g_assert_true (td_h5_add_bytes (detector, "image_key", keys, FRAMES));
    if (control) {
      double numbers[FRAMES];
      for (guint i = 0; i < FRAMES; i++)
        numbers[i] = control[i];
      g_assert_true (td_h5_add_doubles (detector, "image_key_control", numbers, FRAMES, NULL));
    }
    g_assert_true (td_h5_add_doubles (sample, "rotation_angle", angles, FRAMES, "degree"));
  }
  g_assert_true (td_h5_finish (file));
}

/* Flats and darks that are missing are left out, and views that are missing are known as such. What
   was taken for alignment is no view. */
static void
test_nxtomo (void)
{
  static const gint8 control[VIEWS + 4] = { 2, 1, 0, 0, 0, 3, 1, 0, 0, 0, -1, 0, -1 };
  static const struct {
    const char *written; /* keys: dark, flat, views 2 to 4, invalid, flat, views from 7 on */
    gboolean controlled;
    guint n_views, n_flats, n_darks, n_extra;
    double position;     /* of the first flat */
    const char *missing; /* of the views */
    const char *note, *no_note;
  } cases[] = {
    { "xxxxxxxxxxxxx", FALSE, 9, 2, 1, 0, 0, ".........", NULL, "missing" },
    { "x.xxxxxxxxxxx", FALSE, 9, 1, 1, 0, 3, ".........", "1 flat or dark is missing and is left",
      NULL },
    { "..xxxxxx.xxx.", FALSE, 9, 1, 0, 0, 3, "....x...x", "2 flats and darks are missing", NULL },
    { "xxx.xxxxxxxxx", FALSE, 9, 2, 1, 0, 0, ".x.......", "Of 13 frames, 1 is marked as invalid",
      "or dark is" },
    { "xxxxxxxxxxxxx", TRUE, 7, 2, 1, 2, 0, ".......", "2 frames were taken for alignment",
      "missing" },
    { "xxxxxxxxxx.xx", TRUE, 7, 2, 1, 1, 0, ".......", "Of 12 frames, 1 is marked as invalid",
      NULL },
    { "xxxxxxx.xxxx.", TRUE, 7, 2, 1, 1, 0, "...x...", "1 frame for alignment is missing", NULL },
  };
  g_autoptr (TestFolder) folder = test_folder_new ();

  for (guint c = 0; c < G_N_ELEMENTS (cases); c++) {
    g_autofree char *path = test_folder_file (folder, "scan.nxs");
    const TdScanOptions none = { 0 };
    float row[COLUMNS];

    make_nxtomo (path, cases[c].written, cases[c].controlled ? control : NULL);
    g_autoptr (TdScan) scan = open_scan (path, &none);
    const TdScanFacts *facts = td_scan_facts (scan);
    g_autofree char *notes = td_messages_join (facts->notes, "\n", NULL);
    g_test_message ("%s: %s", cases[c].written, notes);
    g_assert_cmpuint (facts->n_views, ==, cases[c].n_views);
    g_assert_cmpuint (facts->n_flats, ==, cases[c].n_flats);
    g_assert_cmpuint (facts->n_darks, ==, cases[c].n_darks);
    g_assert_cmpuint (td_scan_extra_frames (scan), ==, cases[c].n_extra);
    g_assert_cmpfloat (facts->flat_positions[0], ==, cases[c].position);
    g_assert_true (!cases[c].note || strstr (notes, cases[c].note));
    g_assert_true (!cases[c].no_note || !strstr (notes, cases[c].no_note));
    for (guint i = 0, frame = 2; i < facts->n_views; i++, frame++) {
      g_autoptr (GError) error = NULL;
      while (keys[frame] != 0 || (cases[c].controlled && control[frame] != 0))
        frame++;
      g_assert_cmpfloat_with_epsilon (facts->angles_rad[i], 3.5 * frame * G_PI / 180, 1e-12);
      g_assert_cmpint (facts->absent && facts->absent[i], ==, cases[c].missing[i] == 'x');
      if (cases[c].missing[i] != 'x')
        check_frame (scan, TD_FRAME_PROJECTION, i, frame);
      else
        g_assert_false (td_scan_read (scan, &(TdFrameRange) { TD_FRAME_PROJECTION, i, 1, 0, 1 },
                                      row, NULL, &error));
    }
    if (facts->n_darks)
      check_frame (scan, TD_FRAME_DARK, 0, 0);
    check_frame (scan, TD_FRAME_FLAT, facts->n_flats - 1, 6);
    g_assert_cmpint (g_unlink (path), ==, 0);
  }
}

/* Of a DXchange file's four flats, those from @first to @end are there. */
static void
make_flats (const char *path, guint first, guint end)
{
  TD_H5_GUARD;
  hsize_t shape[3] = { 4, ROWS, COLUMNS }, chunk[3] = { 1, ROWS, COLUMNS };
  hsize_t start[3] = { first, 0, 0 }, count[3] = { end - first, ROWS, COLUMNS };
  g_autofree guint16 *values = g_new (guint16, 4 * ROWS * COLUMNS);
  hid_t file = td_h5_create_sized (path, 0);
  {
    g_auto (TdH5Id) exchange = add_group (file, "exchange");
    g_auto (TdH5Id) space = H5Screate_simple (3, shape, NULL);
    g_auto (TdH5Id) memory = H5Screate_simple (3, count, NULL);
    g_auto (TdH5Id) properties = H5Pcreate (H5P_DATASET_CREATE);

    add_frames (exchange, "data", 0, VIEWS, FALSE, 0);
    fill (values, 40 + first, end - first);
    H5Pset_chunk (properties, 3, chunk);
    g_auto (TdH5Id) dataset = H5Dcreate2 (exchange, "data_white", H5T_STD_U16LE, space, H5P_DEFAULT,
                                          properties, H5P_DEFAULT);
    H5Sselect_hyperslab (space, H5S_SELECT_SET, start, NULL, count, NULL);
    g_assert_cmpint (H5Dwrite (dataset, H5T_NATIVE_UINT16, memory, space, H5P_DEFAULT, values), >=,
                     0);
  }
  g_assert_true (td_h5_finish (file));
}

/* Flats that are missing are left out, wherever they are; those that are there keep their places.
 */
static void
test_flats (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "scan.h5");

  for (guint first = 0; first < 3; first++)
    for (guint end = first + 1; end <= 4; end++) {
      make_flats (path, first, end);
      g_autoptr (TdScan) scan = open_scan (path, &options);
      const TdScanFacts *facts = td_scan_facts (scan);
      g_autofree char *notes = td_messages_join (facts->notes, "\n", NULL);
      g_autofree char *note = g_strdup_printf ("lacks %u of its 4 frames", 4 - (end - first));
      g_assert_cmpuint (facts->n_flats, ==, end - first);
      g_assert_cmpint (strstr (notes, note) != NULL, ==, end - first < 4);
      for (guint i = 0; i < facts->n_flats; i++)
        check_frame (scan, TD_FRAME_FLAT, i, 40 + first + i);
    }
}

/* What values are is told by the views that are there. */
static void
test_values (void)
{
  enum { WIDE = 32, END = 3 };
  static float values[END * ROWS * WIDE];

  for (guint i = 0; i < END * ROWS * WIDE; i++)
    values[i] = i % WIDE >= 8 && i % WIDE < 24 ? 0.5f : 1;
  for (guint by_rows = 0; by_rows < 2; by_rows++) {
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autofree char *path = test_folder_file (folder, "scan.h5");
    const hsize_t shape[3] = { by_rows ? ROWS : VIEWS, by_rows ? VIEWS : ROWS, WIDE };
    const hsize_t chunk[3] = { by_rows ? ROWS : 1, by_rows ? 1 : ROWS, WIDE }, start[3] = { 0 };
    const hsize_t count[3] = { by_rows ? ROWS : END, by_rows ? END : ROWS, WIDE };
    hid_t file = td_h5_create_sized (path, 0);
    {
      TD_H5_GUARD;
      g_auto (TdH5Id) space = H5Screate_simple (3, shape, NULL);
      g_auto (TdH5Id) memory = H5Screate_simple (3, count, NULL);
      g_auto (TdH5Id) properties = H5Pcreate (H5P_DATASET_CREATE);
      H5Pset_chunk (properties, 3, chunk);
      g_auto (TdH5Id) dataset
          = H5Dcreate2 (file, "all", H5T_IEEE_F32LE, space, H5P_DEFAULT, properties, H5P_DEFAULT);
      H5Sselect_hyperslab (space, H5S_SELECT_SET, start, NULL, count, NULL);
      g_assert_cmpint (H5Dwrite (dataset, H5T_NATIVE_FLOAT, memory, space, H5P_DEFAULT, values), >=,
                       0);
    }
    g_assert_true (td_h5_finish (file));
    const TdScanOptions own = { .angles = "0:180", .sinograms = by_rows };
    g_autoptr (TdScan) scan = open_scan (path, &own);
    const TdScanFacts *facts = td_scan_facts (scan);
    g_autofree char *notes = td_messages_join (facts->notes, "\n", NULL);
    g_assert_cmpuint (facts->n_views, ==, VIEWS);
    g_assert_true (facts->absent[END] && !facts->absent[END - 1]);
    g_assert_false (facts->transmission_logged);
    g_assert_nonnull (strstr (notes, "look like transmissions"));
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_data_func ("/absent/chunks/frame", GUINT_TO_POINTER (1), test_chunks);
  g_test_add_data_func ("/absent/chunks/three", GUINT_TO_POINTER (3), test_chunks);
  g_test_add_func ("/absent/irregular", test_irregular);
  g_test_add_func ("/absent/raw-parts", test_raw_parts);
  g_test_add_func ("/absent/virtual", test_virtual);
  g_test_add_func ("/absent/other-shapes", test_other_shapes);
  g_test_add_func ("/absent/blocks", test_blocks);
  g_test_add_func ("/absent/nested", test_nested);
  g_test_add_func ("/absent/raw", test_raw);
  g_test_add_func ("/absent/raw-by-library", test_raw_by_library);
  g_test_add_func ("/absent/raw-elsewhere", test_raw_elsewhere);
  g_test_add_func ("/absent/raw-flats", test_raw_flats);
  g_test_add_func ("/absent/nxtomo", test_nxtomo);
  g_test_add_func ("/absent/flats", test_flats);
  g_test_add_func ("/absent/values", test_values);
  return g_test_run ();
}
