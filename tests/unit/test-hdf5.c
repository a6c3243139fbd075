/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Scans in HDF5: NXtomo flavours, DXchange, TDF, any data set; links, units, order of frames. */
#include <math.h>

#include "dataset/error.h"
#include "dataset/hdf5-write.h"
#include "dataset/scan.h"
#include "test-folder.h"

#define COLUMNS 11u
#define ROWS 6u
#define VIEWS 9u

static float
value_of (guint frame, guint row, guint column)
{
  return (float) (1000 * frame + 50 * row + column);
}

/* uint16 frames [n][ROWS][COLUMNS] (or [ROWS][n][COLUMNS]) of value_of(base + frame), chunked and
 * compressed where @chunk is not 0. */
static void
add_frames (hid_t group, const char *name, guint base, guint n, gboolean by_rows, guint chunk)
{
  TD_H5_GUARD;
  hsize_t shape[3] = { by_rows ? ROWS : n, by_rows ? n : ROWS, COLUMNS };
  hsize_t chunks[3] = { MIN (chunk, shape[0]), MIN (4, shape[1]), 5 };
  g_autofree guint16 *values = g_new (guint16, n * ROWS * COLUMNS);
  g_auto (TdH5Id) space = H5Screate_simple (3, shape, NULL);
  g_auto (TdH5Id) properties = H5Pcreate (H5P_DATASET_CREATE);
  g_auto (TdH5Id) dataset = -1;

  for (guint f = 0; f < n; f++)
    for (guint r = 0; r < ROWS; r++)
      for (guint c = 0; c < COLUMNS; c++)
        values[((by_rows ? r * n + f : f * ROWS + r)) * COLUMNS + c]
          = (guint16) value_of (base + f, r, c);
  if (chunk) {
    H5Pset_chunk (properties, 3, chunks);
    H5Pset_shuffle (properties);
    H5Pset_deflate (properties, 4);
  }
  dataset = H5Dcreate2 (group, name, H5T_STD_U16BE, space, H5P_DEFAULT, properties, H5P_DEFAULT);
  g_assert_cmpint (H5Dwrite (dataset, H5T_NATIVE_UINT16, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), >=,
                   0);
}

static hid_t
add_group (hid_t parent, const char *name)
{
  hid_t group = td_h5_add_group (parent, name, strcmp (name, "detector") == 0 ? "NXdetector"
                                                                             : "NXcollection");

  g_assert_cmpint (group, >=, 0);
  return group;
}

/* An NXtomo entry at "/@entry": frames 0 dark, 1 flat, 2…4 views, 5 invalid, 6 flat, 7… views. */
static const guint8 keys[VIEWS + 4] = { 2, 1, 0, 0, 0, 3, 1, 0, 0, 0, 0, 0, 0 };

static void
add_nxtomo (hid_t file, const char *entry_name, const char *units, double per_degree)
{
  double angles[VIEWS + 4];
  g_auto (TdH5Id) entry = add_group (file, entry_name);
  g_auto (TdH5Id) instrument = add_group (entry, "instrument");
  g_auto (TdH5Id) detector = add_group (instrument, "detector");
  g_auto (TdH5Id) sample = add_group (entry, "sample");

  for (guint i = 0; i < VIEWS + 4; i++)
    angles[i] = 3.5 * i * per_degree;
  g_assert_true (td_h5_add_string (entry, "definition", "NXtomo"));
  add_frames (detector, "data", 0, VIEWS + 4, FALSE, 3);
  g_assert_true (td_h5_add_bytes (detector, "image_key", keys, VIEWS + 4));
  g_assert_true (td_h5_add_doubles (sample, "rotation_angle", angles, VIEWS + 4, units));
}

static TdScan *
open_scan (const char *path, const TdScanOptions *options)
{
  g_autoptr (GError) error = NULL;
  TdScan *scan = td_scan_open (path, options, NULL, &error);

  g_assert_no_error (error);
  return scan;
}

static void
check_frame (TdScan *scan, TdFrameKind kind, guint number, guint stored)
{
  float rows[3 * COLUMNS];
  g_autoptr (GError) error = NULL;

  td_scan_read (scan, kind, number, 1, 2, 3, rows, NULL, &error);
  g_assert_no_error (error);
  for (guint r = 0; r < 3; r++)
    for (guint c = 0; c < COLUMNS; c++)
      g_assert_cmpfloat (rows[r * COLUMNS + c], ==, value_of (stored, 2 + r, c));
}

/* Frames and sinograms of all views say the same. */
static void
check_sinograms (TdScan *scan)
{
  guint n = td_scan_facts (scan)->n_views;
  g_autofree float *frames = g_new (float, n * ROWS * COLUMNS);
  g_autofree float *sinograms = g_new (float, n * 3 * COLUMNS);
  g_autoptr (GError) error = NULL;

  td_scan_read (scan, TD_FRAME_PROJECTION, 0, n, 0, ROWS, frames, NULL, &error);
  g_assert_no_error (error);
  td_scan_read_sinograms (scan, 1, n - 1, 2, 3, sinograms, NULL, &error);
  g_assert_no_error (error);
  for (guint r = 0; r < 3; r++)
    for (guint v = 0; v + 1 < n; v++)
      for (guint c = 0; c < COLUMNS; c++)
        g_assert_cmpfloat (sinograms[(r * (n - 1) + v) * COLUMNS + c], ==,
                           frames[((v + 1) * ROWS + 2 + r) * COLUMNS + c]);
}

static void
check_nxtomo (TdScan *scan)
{
  const TdScanFacts *facts = td_scan_facts (scan);

  g_assert_cmpuint (facts->n_columns, ==, COLUMNS);
  g_assert_cmpuint (facts->n_rows, ==, ROWS);
  g_assert_cmpuint (facts->n_views, ==, VIEWS);
  g_assert_cmpuint (facts->n_flats, ==, 2);
  g_assert_cmpuint (facts->n_darks, ==, 1);
  g_assert_cmpint (facts->sample_type, ==, TD_SAMPLE_UINT16);
  g_assert_cmpfloat (facts->flat_positions[0], ==, 0);
  g_assert_cmpfloat (facts->flat_positions[1], ==, 3);
  g_assert_cmpfloat_with_epsilon (facts->angles_rad[0], 2 * 3.5 * G_PI / 180, 1e-12);
  g_assert_cmpfloat_with_epsilon (facts->angles_rad[3], 7 * 3.5 * G_PI / 180, 1e-12);
  check_frame (scan, TD_FRAME_PROJECTION, 2, 4);
  check_frame (scan, TD_FRAME_PROJECTION, 3, 7);
  check_frame (scan, TD_FRAME_FLAT, 1, 6);
  check_frame (scan, TD_FRAME_DARK, 0, 0);
  check_sinograms (scan);
}

static void
test_nxtomo (gconstpointer data)
{
  const char *units = data;
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "scan.nxs");
  g_autoptr (TdScan) scan = NULL;
  hid_t file = td_h5_create (path);

  add_nxtomo (file, "deep", units, units && strcmp (units, "rad") == 0 ? G_PI / 180 : 1);
  g_assert_true (td_h5_finish (file));
  scan = open_scan (path, NULL);
  g_assert_cmpstr (td_scan_facts (scan)->format, ==, "NXtomo (HDF5)");
  check_nxtomo (scan);
}

/* What the ESRF adds: metres in an attribute called unit, alignment frames, centre and field of view. */
static void
test_esrf (void)
{
  static const gint8 control[VIEWS + 4] = { 2, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, -1 };
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "scan.nx");
  g_autoptr (TdScan) scan = NULL;
  const TdScanFacts *facts;
  double pixel = 6.5e-6, distance = 0.15, energy = 19, cor = 2.25;
  double signed_control[VIEWS + 4];
  hid_t file = td_h5_create (path);

  add_nxtomo (file, "entry0000", "degree", 1);
  add_nxtomo (file, "entry0001", "degree", 1);
  {
    g_auto (TdH5Id) entry = td_h5_find (file, "/entry0000", NULL);
    g_auto (TdH5Id) detector = td_h5_find (file, "/entry0000/instrument/detector", NULL);
    g_auto (TdH5Id) beam = add_group (entry, "beam");
    g_auto (TdH5Id) size = -1;

    for (guint i = 0; i < VIEWS + 4; i++)
      signed_control[i] = control[i];
    g_assert_true (td_h5_add_doubles (detector, "image_key_control", signed_control, VIEWS + 4,
                                      NULL));
    g_assert_true (td_h5_add_doubles (detector, "x_pixel_size", &pixel, 0, NULL));
    size = td_h5_find (detector, "x_pixel_size", NULL);
    g_assert_true (td_h5_set_string (size, "unit", "m"));
    g_assert_true (td_h5_add_doubles (detector, "y_pixel_size", &pixel, 0, "m"));
    g_assert_true (td_h5_add_doubles (detector, "distance", &distance, 0, NULL));
    g_assert_true (td_h5_add_doubles (detector, "estimated_cor_from_motor", &cor, 0, "pixel"));
    g_assert_true (td_h5_add_string (detector, "field_of_view", "Half"));
    g_assert_true (td_h5_add_doubles (beam, "incident_energy", &energy, 0, "keV"));
    g_assert_true (td_h5_add_string (entry, "title", "bone"));
  }
  g_assert_true (td_h5_finish (file));
  scan = open_scan (path, NULL);
  facts = td_scan_facts (scan);
  g_assert_cmpuint (facts->n_views, ==, VIEWS); /* one more by control, one for alignment */
  g_assert_cmpfloat_with_epsilon (facts->geometry.pixel_width_mm, 0.0065, 1e-12);
  g_assert_cmpfloat_with_epsilon (facts->geometry.pixel_height_mm, 0.0065, 1e-12);
  g_assert_cmpfloat_with_epsilon (facts->propagation_mm, 150, 1e-9);
  g_assert_cmpfloat (facts->energy_kev, ==, 19);
  g_assert_cmpfloat (facts->centre_px, ==, 5 + 2.25);
  g_assert_true (facts->half_acquisition);
  g_assert_cmpstr (facts->title, ==, "bone");
  g_assert_nonnull (strstr (facts->notes[0], "2 scans"));

  g_assert_cmpuint (td_scan_extra_frames (scan), ==, 1);
  g_autoptr (TdScan) all = td_scan_with_extra (scan);
  g_assert_cmpuint (td_scan_facts (all)->n_views, ==, VIEWS + 1);
  g_assert_cmpfloat_with_epsilon (td_scan_facts (all)->angles_rad[VIEWS], 42 * G_PI / 180, 1e-12);
  check_frame (all, TD_FRAME_PROJECTION, VIEWS - 1, 11);
  check_frame (all, TD_FRAME_PROJECTION, VIEWS, 12);
  check_frame (all, TD_FRAME_FLAT, 0, 1);
}

/* Frames that are stored mirrored come out the right way round, with all that belongs to them. */
static void
test_flips (gconstpointer which)
{
  const gboolean x = GPOINTER_TO_UINT (which) & 1, y = GPOINTER_TO_UINT (which) & 2;
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "scan.nx");
  g_autoptr (GError) error = NULL;
  const double flips[2] = { x, y }, cor = 2.25;
  double control[VIEWS + 4];
  float frame[ROWS][COLUMNS], rows[2][VIEWS][COLUMNS];
  hid_t file = td_h5_create (path);

  add_nxtomo (file, "entry", "degree", 1);
  {
    g_auto (TdH5Id) detector = td_h5_find (file, "/entry/instrument/detector", NULL);
    for (guint i = 0; i < VIEWS + 4; i++)
      control[i] = i == 12 ? -1 : i == 5 ? 0 : keys[i];
    g_assert_true (td_h5_add_doubles (detector, "image_key_control", control, VIEWS + 4, NULL));
    g_assert_true (td_h5_add_doubles (detector, "x_flipped", &flips[0], 0, NULL));
    g_assert_true (td_h5_add_doubles (detector, "y_flipped", &flips[1], 0, NULL));
    g_assert_true (td_h5_add_doubles (detector, "estimated_cor_from_motor", &cor, 0, "pixel"));
  }
  g_assert_true (td_h5_finish (file));
  g_autoptr (TdScan) scan = open_scan (path, NULL);
  g_autoptr (TdScan) all = td_scan_with_extra (scan);
  g_assert_cmpfloat (td_scan_facts (scan)->centre_px, ==, x ? 10 - 7.25 : 7.25);
  g_assert_cmpuint (td_scan_facts (scan)->n_columns, ==, COLUMNS);
  g_assert_cmpuint (td_scan_facts (all)->n_views, ==, VIEWS + 1);
  for (guint i = 0; i < 3; i++) {
    static const guint numbers[] = { 0, VIEWS, 0 }, stored[] = { 2, 12, 1 };
    td_scan_read (all, i == 2 ? TD_FRAME_FLAT : TD_FRAME_PROJECTION, numbers[i], 1, 0, ROWS,
                  &frame[0][0], NULL, &error);
    g_assert_no_error (error);
    for (guint r = 0; r < ROWS; r++)
      for (guint c = 0; c < COLUMNS; c++)
        g_assert_cmpfloat (frame[r][c], ==, value_of (stored[i], y ? ROWS - 1 - r : r,
                                                      x ? COLUMNS - 1 - c : c));
  }
  td_scan_read_sinograms (scan, 0, VIEWS, 1, 2, &rows[0][0][0], NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpfloat (rows[1][3][4], ==, value_of (5, y ? ROWS - 3 : 2, x ? COLUMNS - 5 : 4));
}

static void
test_nxtomo_wrong (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "scan.nxs");
  static const TdScanOptions angles = { .angles = "0:180" };
  g_autoptr (GError) error = NULL;
  hid_t file = td_h5_create (path);

  add_nxtomo (file, "entry", NULL, 1);
  {
    TD_H5_GUARD;
    g_auto (TdH5Id) sample = td_h5_find (file, "/entry/sample", NULL);
    g_auto (TdH5Id) detector = td_h5_find (file, "/entry/instrument/detector", NULL);

    H5Ldelete (sample, "rotation_angle", H5P_DEFAULT);
    g_assert_true (td_h5_finish (file));
    g_assert_null (td_scan_open (path, NULL, NULL, &error));
    test_assert_sentence (error, "scan.nxs");
    g_assert_error (error, TD_ERROR, TD_ERROR_ANGLES);
    g_clear_error (&error);
  }
  {
    g_autoptr (TdScan) scan = open_scan (path, &angles);

    g_assert_cmpfloat_with_epsilon (td_scan_facts (scan)->angles_rad[VIEWS - 1], G_PI, 1e-12);
  }
}

/* image_key shorter than the frames: a scan that was cut short. */
static void
test_short_key (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "scan.nxs");
  g_autoptr (GError) error = NULL;
  hid_t file = td_h5_create (path);

  {
    g_auto (TdH5Id) entry = add_group (file, "entry");
    g_auto (TdH5Id) instrument = add_group (entry, "instrument");
    g_auto (TdH5Id) detector = add_group (instrument, "detector");

    g_assert_true (td_h5_add_string (entry, "definition", "NXtomo"));
    add_frames (detector, "data", 0, VIEWS, FALSE, 0);
    g_assert_true (td_h5_add_bytes (detector, "image_key", keys, VIEWS - 1));
  }
  g_assert_true (td_h5_finish (file));
  g_assert_null (td_scan_open (path, NULL, NULL, &error));
  test_assert_sentence (error, "image_key");
}

/* Data in another file, in the folder that the link names or beside it; and missing. */
static void
test_external_link (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "scan.nxs");
  g_autofree char *data = test_folder_file (folder, "frames.h5");
  g_autoptr (GError) error = NULL;
  hid_t file = td_h5_create (path), other = td_h5_create (data);

  add_frames (other, "frames", 0, VIEWS + 4, FALSE, 0);
  g_assert_true (td_h5_finish (other));
  add_nxtomo (file, "entry", "deg", 1);
  {
    TD_H5_GUARD;
    g_auto (TdH5Id) detector = td_h5_find (file, "/entry/instrument/detector", NULL);

    H5Ldelete (detector, "data", H5P_DEFAULT);
    g_assert_cmpint (H5Lcreate_external ("far/away/frames.h5", "/frames", detector, "data",
                                         H5P_DEFAULT, H5P_DEFAULT), >=, 0);
  }
  g_assert_true (td_h5_finish (file));
  {
    g_autoptr (TdScan) scan = open_scan (path, NULL);

    check_nxtomo (scan);
  }
  g_assert_cmpint (g_remove (data), ==, 0);
  g_assert_null (td_scan_open (path, NULL, NULL, &error));
  test_assert_sentence (error, "far/away/frames.h5");
  g_assert_error (error, TD_ERROR, TD_ERROR_NOT_FOUND);
}

/* Links that lead to themselves end in an error, not in a circle. */
static void
test_circular_links (void)
{
  TD_H5_GUARD;
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "scan.nxs");
  g_autoptr (GError) error = NULL;
  hid_t file = td_h5_create (path);

  add_nxtomo (file, "entry", "deg", 1);
  {
    g_auto (TdH5Id) detector = td_h5_find (file, "/entry/instrument/detector", NULL);

    H5Ldelete (detector, "data", H5P_DEFAULT);
    H5Lcreate_soft ("/entry/instrument/detector/other", detector, "data", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_external ("scan.nxs", "/entry/instrument/detector/data", detector, "other",
                        H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_hard (file, "/", detector, "root", H5P_DEFAULT, H5P_DEFAULT);
  }
  g_assert_true (td_h5_finish (file));
  g_assert_null (td_scan_open (path, NULL, NULL, &error));
  test_assert_sentence (error, "scan.nxs");
}

/* A virtual data set without its source would be read as zeros. */
static void
test_virtual (void)
{
  TD_H5_GUARD;
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "scan.h5");
  g_autofree char *data = test_folder_file (folder, "frames.h5");
  static const TdScanOptions options = { .angles = "0:180" };
  hsize_t shape[3] = { VIEWS, ROWS, COLUMNS };
  g_autoptr (GError) error = NULL;
  hid_t file = td_h5_create (data);

  add_frames (file, "frames", 0, VIEWS, FALSE, 0);
  g_assert_true (td_h5_finish (file));
  file = H5Fcreate (path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  {
    g_auto (TdH5Id) space = H5Screate_simple (3, shape, NULL);
    g_auto (TdH5Id) properties = H5Pcreate (H5P_DATASET_CREATE);
    g_auto (TdH5Id) dataset = -1;

    H5Pset_virtual (properties, space, "frames.h5", "/frames", space);
    dataset = H5Dcreate2 (file, "all", H5T_STD_U16LE, space, H5P_DEFAULT, properties, H5P_DEFAULT);
    g_assert_cmpint (dataset, >=, 0);
  }
  g_assert_true (td_h5_finish (file));
  {
    g_autoptr (TdScan) scan = open_scan (path, &options);

    check_frame (scan, TD_FRAME_PROJECTION, 4, 4);
  }
  g_remove (data);
  g_assert_null (td_scan_open (path, &options, NULL, &error));
  test_assert_sentence (error, "frames.h5");
}

static void
make_dxchange (const char *path, gboolean theta, gboolean by_rows, gboolean tdf)
{
  hid_t file = td_h5_create (path);

  {
    g_auto (TdH5Id) own = tdf ? -1 : add_group (file, "exchange");
    hid_t group = tdf ? file : own;
    double angles[VIEWS];

    add_frames (group, tdf ? "tomo" : "data", 10, VIEWS, by_rows, 4);
    add_frames (group, tdf ? "flat" : "data_white", 30, 2, by_rows, 0);
    add_frames (group, tdf ? "dark" : "data_dark", 40, 1, by_rows, 0);
    for (guint i = 0; i < VIEWS; i++)
      angles[i] = 20 * i;
    if (theta)
      g_assert_true (td_h5_add_doubles (group, "theta", angles, VIEWS, NULL));
  }
  g_assert_true (td_h5_finish (file));
}

static void
test_dxchange (gconstpointer data)
{
  guint which = GPOINTER_TO_UINT (data);
  gboolean theta = which & 1, by_rows = which & 2, tdf = which & 4;
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "scan.h5");
  g_autoptr (TdScan) scan = NULL;
  const TdScanFacts *facts;

  make_dxchange (path, theta, by_rows, tdf);
  scan = open_scan (path, NULL);
  facts = td_scan_facts (scan);
  g_assert_cmpuint (facts->n_views, ==, VIEWS);
  g_assert_cmpuint (facts->n_rows, ==, ROWS);
  g_assert_cmpuint (facts->n_flats, ==, 2);
  g_assert_cmpuint (facts->n_darks, ==, 1);
  g_assert_cmpint (facts->sinogram_order, ==, by_rows != 0);
  g_assert_cmpstr (facts->format, ==, tdf ? "TDF (HDF5)" : "DXchange (HDF5)");
  g_assert_cmpfloat_with_epsilon (facts->angles_rad[VIEWS - 1], theta ? 160 * G_PI / 180 : G_PI,
                                  1e-12);
  g_assert_cmpuint (g_strv_length (facts->notes), ==, theta ? 0 : 1);
  check_frame (scan, TD_FRAME_PROJECTION, 5, 15);
  check_frame (scan, TD_FRAME_FLAT, 1, 31);
  check_frame (scan, TD_FRAME_DARK, 0, 40);
  check_sinograms (scan);
}

/* rotation_start and rotation_step where theta was not kept. */
static void
test_dxchange_step (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "scan.h5");
  g_autoptr (TdScan) scan = NULL;
  double start = 5, step = 0.25;
  hid_t file = td_h5_create (path);

  {
    g_auto (TdH5Id) exchange = add_group (file, "exchange");
    g_auto (TdH5Id) process = add_group (file, "process");
    g_auto (TdH5Id) acquisition = add_group (process, "acquisition");
    g_auto (TdH5Id) rotation = add_group (acquisition, "rotation");

    add_frames (exchange, "data", 0, VIEWS, FALSE, 0);
    td_h5_add_doubles (rotation, "rotation_start", &start, 0, NULL);
    td_h5_add_doubles (rotation, "rotation_step", &step, 0, NULL);
  }
  g_assert_true (td_h5_finish (file));
  scan = open_scan (path, NULL);
  g_assert_cmpfloat_with_epsilon (td_scan_facts (scan)->angles_rad[VIEWS - 1], 7 * G_PI / 180,
                                  1e-12);
}

/* Flats of another size, and flats that the user names. */
static void
test_companions (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "scan.h5");
  g_autofree char *flats = test_folder_file (folder, "flats.h5");
  TdScanOptions options = { .angles = "0:180", .flats = flats };
  g_autoptr (GError) error = NULL;
  g_autoptr (TdScan) scan = NULL;
  hid_t file = td_h5_create (path);

  add_frames (file, "frames", 0, VIEWS, FALSE, 0);
  g_assert_true (td_h5_finish (file));
  file = td_h5_create (flats);
  add_frames (file, "frames", 50, 3, FALSE, 0);
  g_assert_true (td_h5_finish (file));
  scan = open_scan (path, &options);
  g_assert_cmpuint (td_scan_facts (scan)->n_flats, ==, 3);
  check_frame (scan, TD_FRAME_FLAT, 2, 52);
  check_frame (scan, TD_FRAME_PROJECTION, 2, 2);
  check_sinograms (scan);

  options.darks = options.flats;
  options.dataset = "/none";
  g_assert_null (td_scan_open (path, &options, NULL, &error));
  test_assert_sentence (error, "/none");
  g_clear_error (&error);
  g_clear_pointer (&scan, td_scan_unref); /* the library does not overwrite what it has open */
  file = td_h5_create (flats);
  {
    g_auto (TdH5Id) small = td_h5_add_frames (file, "data", TD_SAMPLE_UINT8, 2, ROWS - 1, COLUMNS);

    g_assert_cmpint (small, >=, 0);
  }
  g_assert_true (td_h5_finish (file));
  options.dataset = NULL;
  g_assert_null (td_scan_open (path, &options, NULL, &error));
  test_assert_sentence (error, "flats.h5");
}

/* Several data sets: the user must say which; none: it is no scan. */
static void
test_other_files (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "other.h5");
  TdScanOptions options = { .angles = "0:180" };
  g_autoptr (GError) error = NULL;
  g_autoptr (TdScan) scan = NULL;
  hid_t file = td_h5_create (path);

  add_frames (file, "a", 0, VIEWS, FALSE, 0);
  add_frames (file, "b", 20, VIEWS, FALSE, 0);
  g_assert_true (td_h5_finish (file));
  g_assert_null (td_scan_open (path, &options, NULL, &error));
  test_assert_sentence (error, "/a, /b");
  g_clear_error (&error);
  options.dataset = "/b";
  scan = open_scan (path, &options);
  check_frame (scan, TD_FRAME_PROJECTION, 3, 23);
  g_clear_pointer (&scan, td_scan_unref);
  file = td_h5_create (path);
  g_assert_true (td_h5_add_string (file, "note", "nothing here"));
  g_assert_true (td_h5_finish (file));
  options.dataset = NULL;
  g_assert_null (td_scan_open (path, &options, NULL, &error));
  test_assert_sentence (error, "other.h5");
}

/* Room was made for frames that nobody ever wrote. */
static void
test_never_written (void)
{
  TD_H5_GUARD;
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "empty.h5");
  TdScanOptions options = { .angles = "0:180" };
  hsize_t shape[3] = { VIEWS, ROWS, COLUMNS };
  g_autoptr (GError) error = NULL;
  hid_t file = td_h5_create (path);

  {
    g_auto (TdH5Id) space = H5Screate_simple (3, shape, NULL);
    g_auto (TdH5Id) dataset = H5Dcreate2 (file, "a", H5T_STD_U16LE, space, H5P_DEFAULT, H5P_DEFAULT,
                                          H5P_DEFAULT);

    g_assert_cmpint (dataset, >=, 0);
  }
  g_assert_true (td_h5_finish (file));
  g_assert_null (td_scan_open (path, &options, NULL, &error));
  test_assert_sentence (error, "never written");
}

static gpointer
read_again (gpointer data)
{
  for (guint i = 0; i < 20; i++)
    check_nxtomo (data);
  return NULL;
}

static void
test_threads (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "scan.nxs");
  g_autoptr (TdScan) scan = NULL;
  GThread *threads[4];
  hid_t file = td_h5_create (path);

  add_nxtomo (file, "entry", "deg", 1);
  g_assert_true (td_h5_finish (file));
  scan = open_scan (path, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    threads[i] = g_thread_new ("read", read_again, scan);
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    g_thread_join (threads[i]);
}

static void
test_k11 (void)
{
  g_autofree char *path = test_scan_path ("k11_diad/k11-18014.nxs");
  g_autoptr (TdScan) scan = NULL;
  const TdScanFacts *facts;

  if (!path)
    return;
  scan = open_scan (path, NULL);
  facts = td_scan_facts (scan);
  g_assert_cmpuint (facts->n_columns, ==, 26);
  g_assert_cmpuint (facts->n_rows, ==, 22);
  g_assert_cmpuint (facts->n_views, ==, 3001);
  g_assert_cmpuint (facts->n_flats, ==, 100);
  g_assert_cmpuint (facts->n_darks, ==, 100);
  g_assert_cmpfloat_with_epsilon (facts->angles_rad[0] * 180 / G_PI, 89.995110, 1e-5);
  g_assert_cmpfloat (facts->flat_positions[0], ==, 0);
  g_assert_cmpfloat (facts->flat_positions[99], ==, 3001);
}

/* The same file with one of the files that it links to missing. */
static void
test_k11_missing (gconstpointer data)
{
  static const char *const files[] = { "k11-18014.nxs", "k11-18014-imaging.h5",
                                       "k11-18014-pcompPanda.h5" };
  guint missing = GPOINTER_TO_UINT (data);
  g_autofree char *scans = test_scan_path ("k11_diad");
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, files[0]);
  g_autoptr (GError) error = NULL;

  if (!scans)
    return;
  for (guint i = 0; i < G_N_ELEMENTS (files); i++) {
    g_autofree char *from = g_build_filename (scans, files[i], NULL), *bytes = NULL;
    g_autofree char *to = test_folder_file (folder, files[i]);
    gsize n;

    if (i == missing)
      continue;
    g_assert_true (g_file_get_contents (from, &bytes, &n, NULL));
    g_assert_true (g_file_set_contents (to, bytes, n, NULL));
  }
  g_assert_null (td_scan_open (path, NULL, NULL, &error));
  test_assert_sentence (error, files[missing]);
  g_assert_error (error, TD_ERROR, TD_ERROR_NOT_FOUND);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_data_func ("/hdf5/nxtomo/degrees", "degree", test_nxtomo);
  g_test_add_data_func ("/hdf5/nxtomo/radians", "rad", test_nxtomo);
  g_test_add_data_func ("/hdf5/nxtomo/no-unit", NULL, test_nxtomo);
  g_test_add_func ("/hdf5/nxtomo/esrf", test_esrf);
  g_test_add_data_func ("/hdf5/nxtomo/as-stored", GUINT_TO_POINTER (0), test_flips);
  g_test_add_data_func ("/hdf5/nxtomo/x-flipped", GUINT_TO_POINTER (1), test_flips);
  g_test_add_data_func ("/hdf5/nxtomo/y-flipped", GUINT_TO_POINTER (2), test_flips);
  g_test_add_data_func ("/hdf5/nxtomo/both-flipped", GUINT_TO_POINTER (3), test_flips);
  g_test_add_func ("/hdf5/nxtomo/no-angles", test_nxtomo_wrong);
  g_test_add_func ("/hdf5/nxtomo/short-key", test_short_key);
  g_test_add_func ("/hdf5/links/external", test_external_link);
  g_test_add_func ("/hdf5/links/circular", test_circular_links);
  g_test_add_func ("/hdf5/links/virtual", test_virtual);
  for (guint i = 0; i < 8; i++) {
    g_autofree char *name = g_strdup_printf ("/hdf5/%s/%s/%s", i & 4 ? "tdf" : "dxchange",
                                             i & 2 ? "sinograms" : "frames",
                                             i & 1 ? "theta" : "no-theta");

    g_test_add_data_func (name, GUINT_TO_POINTER (i), test_dxchange);
  }
  g_test_add_func ("/hdf5/dxchange/step", test_dxchange_step);
  g_test_add_func ("/hdf5/companions", test_companions);
  g_test_add_func ("/hdf5/other-files", test_other_files);
  g_test_add_func ("/hdf5/never-written", test_never_written);
  g_test_add_func ("/hdf5/threads", test_threads);
  g_test_add_func ("/hdf5/k11", test_k11);
  g_test_add_data_func ("/hdf5/k11-missing/frames", GUINT_TO_POINTER (1), test_k11_missing);
  g_test_add_data_func ("/hdf5/k11-missing/angles", GUINT_TO_POINTER (2), test_k11_missing);
  return g_test_run ();
}
