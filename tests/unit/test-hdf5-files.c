/* SPDX-License-Identifier: GPL-3.0-or-later */
/* DXchange, TDF and any data set open with the right frames, with companions, by several threads.
   So does a measured scan with links. */
#include "dataset/tiff-save.h"
#include "dataset/frame-names.h"
#include "dataset/scan-hdf5.h"
#include "hdf5-scans.h"

static void
fill_angles (double angles[VIEWS])
{
  for (guint view = 0; view < VIEWS; view++)
    angles[view] = 20 * view;
}

static void
make_dxchange (const char *path, gboolean theta, gboolean by_rows, gboolean tdf)
{
  hid_t file = td_h5_create_sized (path, 0);

  {
    g_auto (TdH5Id) own = tdf ? -1 : add_group (file, "exchange");
    hid_t group = tdf ? file : own;
    double angles[VIEWS];

    add_frames (group, tdf ? "tomo" : "data", 10, VIEWS, by_rows, 4);
    add_frames (group, tdf ? "flat" : "data_white", 30, 2, by_rows, 0);
    add_frames (group, tdf ? "dark" : "data_dark", 40, 1, by_rows, 0);
    fill_angles (angles);
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

  make_dxchange (path, theta, by_rows, tdf);
  g_autoptr (TdScan) scan = open_scan (path, NULL);
  const TdScanFacts *facts = td_scan_facts (scan);
  g_assert_cmpuint (facts->n_views, ==, VIEWS);
  g_assert_cmpuint (facts->n_rows, ==, ROWS);
  g_assert_cmpuint (facts->n_flats, ==, 2);
  g_assert_cmpuint (facts->n_darks, ==, 1);
  g_assert_cmpint (facts->sinogram_order, ==, by_rows != 0);
  g_assert_cmpstr (facts->format, ==, tdf ? "TDF (HDF5)" : "DXchange (HDF5)");
  g_assert_cmpfloat_with_epsilon (facts->angles_rad[VIEWS - 1], theta ? 160 * G_PI / 180 : G_PI,
                                  1e-12);
  g_assert_cmpuint (td_messages_length (facts->notes), ==, theta ? 0 : 1);
  check_frame (scan, TD_FRAME_PROJECTION, 5, 15);
  check_frame (scan, TD_FRAME_FLAT, 1, 31);
  check_frame (scan, TD_FRAME_DARK, 0, 40);
  check_sinograms (scan);
  check_rows_apart (scan, &(TdFrameRange) { TD_FRAME_PROJECTION, 1, 5, 1, 2 });
}

/* The acquisition's numbers where theta was not kept; a half turn only where they do not say of
   another one. */
static void
test_dxchange_step (void)
{
  static const struct {
    double start, step, stop, n; /* NAN: not stated */
    const char *unit;
    double last_deg; /* NAN: refused */
  } cases[] = {
    { 5, 0.25, NAN, NAN, NULL, 7 },
    { 5, 0.25, 400, 2 * VIEWS, NULL, 7 },
    { 0, G_PI / 180, NAN, NAN, "rad", VIEWS - 1 },
    { 0, 500, NAN, NAN, "mdeg", 0.5 * (VIEWS - 1) },
    { NAN, 0.25, NAN, NAN, NULL, 180 },
    { 0, 0, NAN, VIEWS, NULL, 180 },
    { 0, NAN, 180, VIEWS, NULL, 180 },
    { 10, NAN, -170, VIEWS - 1, NULL, 180 },
    { 0, NAN, 180 - 180.0 / VIEWS, NAN, NULL, 180 },
    { 0, NAN, 360, NAN, NULL, NAN },
    { 0, NAN, 90, NAN, NULL, NAN },
    { 0, NAN, NAN, VIEWS + 1, NULL, NAN },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    const double numbers[] = { cases[i].start, cases[i].step, cases[i].stop, cases[i].n };
    static const char *const names[]
        = { "rotation_start", "rotation_step", "rotation_stop", "num_angles" };
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autofree char *path = test_folder_file (folder, "scan.h5");
    g_autoptr (GError) error = NULL;
    hid_t file = td_h5_create_sized (path, 0);

    {
      g_auto (TdH5Id) exchange = add_group (file, "exchange");
      g_auto (TdH5Id) process = add_group (file, "process");
      g_auto (TdH5Id) acquisition = add_group (process, "acquisition");
      g_auto (TdH5Id) rotation = add_group (acquisition, "rotation");

      add_frames (exchange, "data", 0, VIEWS, FALSE, 0);
      for (guint k = 0; k < G_N_ELEMENTS (names); k++)
        if (!isnan (numbers[k]))
          td_h5_add_doubles (rotation, names[k], &numbers[k], 0, k < 3 ? cases[i].unit : NULL);
    }
    g_assert_true (td_h5_finish (file));
    g_autoptr (TdScan) scan = td_scan_open (path, NULL, NULL, &error);
    g_test_message ("case %u: %s", i, error ? error->message : "opened");
    g_assert_cmpint (scan != NULL, ==, !isnan (cases[i].last_deg));
    if (scan)
      g_assert_cmpfloat_with_epsilon (td_scan_facts (scan)->angles_rad[VIEWS - 1],
                                      cases[i].last_deg * G_PI / 180, 1e-12);
    else
      test_assert_sentence (error, "--angles");
  }
}

/* Frames as they are, rows of all frames, or frames on their side, as the axes say. */
static void
test_dxchange_axes (void)
{
  static const struct {
    const char *axes;
    int by_rows; /* -1: refused */
  } cases[] = {
    { "theta:y:x", 0 },  { "y:theta:x", 1 },  { " Y : Theta : X ", 1 }, { "Theta:Y:X", 0 },
    { "theta:x:y", -1 }, { "X:Y:Theta", -1 }, { "y:x:theta", -1 },      { "x:theta:y", -1 },
    { "", 0 },           { "frames", 0 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autofree char *path = test_folder_file (folder, "scan.h5");
    g_autoptr (GError) error = NULL;
    const TdScanOptions options = { .angles = "0:160" };
    hid_t file = td_h5_create_sized (path, 0);

    {
      g_auto (TdH5Id) exchange = add_group (file, "exchange");
      add_frames (exchange, "data", 10, VIEWS, cases[i].by_rows > 0, 0);
      g_auto (TdH5Id) data = td_h5_find_dataset (exchange, "data", NULL);
      g_assert_true (td_h5_set_string (data, "axes", cases[i].axes));
    }
    g_assert_true (td_h5_finish (file));
    g_autoptr (TdScan) scan = td_scan_open (path, &options, NULL, &error);
    g_test_message ("“%s”: %s", cases[i].axes, error ? error->message : "opened");
    if (cases[i].by_rows < 0) {
      g_assert_null (scan);
      test_assert_sentence (error, "theta:y:x");
      continue;
    }
    g_assert_no_error (error);
    g_assert_cmpuint (td_scan_facts (scan)->n_views, ==, VIEWS);
    check_frame (scan, TD_FRAME_PROJECTION, 5, 15);
  }
}

/* Two views without angles are half a turn apart, one alone says nothing. */
static void
test_dxchange_few (void)
{
  for (guint n = 1; n <= 2; n++) {
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autofree char *path = test_folder_file (folder, "scan.h5");
    g_autoptr (GError) error = NULL;
    hid_t file = td_h5_create_sized (path, 0);
    {
      g_auto (TdH5Id) exchange = add_group (file, "exchange");
      add_frames (exchange, "data", 0, n, FALSE, 0);
    }
    g_assert_true (td_h5_finish (file));
    g_autoptr (TdScan) scan = td_scan_open (path, NULL, NULL, &error);
    td_test_pin ("%u: %s, %g", n, error ? error->message : "opened",
                 scan ? td_scan_facts (scan)->angles_rad[n - 1] : 0);
  }
}

/* A number at a path of groups, which are made where they are not there. */
static void
add_number (hid_t file, const char *path, double value, const char *units)
{
  g_auto (GStrv) names = g_strsplit (path, "/", -1);
  const guint n = g_strv_length (names);
  g_auto (TdH5Id) own = -1;

  for (guint i = 0; i + 1 < n; i++) {
    const hid_t parent = own < 0 ? file : own;
    const hid_t child = H5Lexists (parent, names[i], H5P_DEFAULT) > 0
                            ? H5Gopen2 (parent, names[i], H5P_DEFAULT)
                            : add_group (parent, names[i]);
    if (own >= 0)
      td_h5_close (own);
    own = child;
  }
  g_assert_true (td_h5_add_doubles (own, names[n - 1], &value, 0, units));
}

/* A scan of either layout, with one number more. */
static void
make_with_number (const char *path, gboolean nexus, const char *at, double value, const char *units)
{
  hid_t file = td_h5_create_sized (path, 0);

  if (nexus)
    add_nxtomo (file, "entry", "deg", 1);
  else {
    g_auto (TdH5Id) exchange = add_group (file, "exchange");

    add_frames (exchange, "data", 10, VIEWS, FALSE, 0);
  }
  add_number (file, at, value, units);
  g_assert_true (td_h5_finish (file));
}

/* The size of a pixel, wherever files of the definition and of beamlines put it. */
static void
test_dxchange_pixels (void)
{
#define DETECTOR "measurement/instrument/detector/"
#define OBJECTIVE "measurement/instrument/detection_system/objective/"
  static const struct {
    struct {
      const char *path;
      double value;
      const char *units;
    } numbers[4];
    double width, height; /* mm */
    const char *said;     /* NULL: nothing */
  } cases[] = {
    { { { OBJECTIVE "resolution", 0.65, NULL } }, 0.65e-3, 0.65e-3, NULL },
    { { { OBJECTIVE "resolution", 650, "nm" } }, 0.65e-3, 0.65e-3, NULL },
    { { { DETECTOR "pixel_size", 0.0065, NULL } }, 6.5e-3, 6.5e-3, NULL },
    { { { DETECTOR "pixel_size", 6.5, "microns" } }, 6.5e-3, 6.5e-3, NULL },
    { { { DETECTOR "actual_pixel_size_x", 1.2e-6, NULL } }, 1.2e-3, 1.2e-3, "metres were taken" },
    { { { DETECTOR "actual_pixel_size_x", 1.2, NULL } }, 1.2e-3, 1.2e-3, "micrometres were" },
    { { { DETECTOR "actual_pixel_size_x", 0.0012, NULL } }, 1.2e-3, 1.2e-3, "millimetres were" },
    { { { DETECTOR "actual_pixel_size_x", 1.2, "micrometers" },
        { DETECTOR "actual_pixel_size_y", 2.4, "um" },
        { DETECTOR "pixel_size_x", 6.5, "um" } },
      1.2e-3,
      2.4e-3,
      NULL },
    { { { DETECTOR "pixel_size_x", 6.5, "um" },
        { DETECTOR "pixel_size_y", 13, "um" },
        { DETECTOR "binning_x", 2, NULL },
        { OBJECTIVE "magnification", 10, NULL } },
      1.3e-3,
      2.6e-3,
      "binned by 2, and its objective magnifies 10 times: pixels of 0.0013 mm" },
    { { { DETECTOR "pixel_size_x", 6.5, "um" } }, 6.5e-3, 6.5e-3, "no magnification is stated" },
    { { { DETECTOR "pixel_size_x", 6.5, "um" }, { OBJECTIVE "magnification", 0, NULL } },
      6.5e-3,
      6.5e-3,
      "no magnification is stated" },
    { { { DETECTOR "pixel_size_x", 6.5, "um" }, { OBJECTIVE "magnification", 0.5, NULL } },
      13e-3,
      13e-3,
      "binned by 1, and its objective magnifies 0.5 times" },
    { { { DETECTOR "pixel_size_x", 6.5, "furlongs" } }, 0, 0, "“furlongs”" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autofree char *path = test_folder_file (folder, "scan.h5");
    hid_t file = td_h5_create_sized (path, 0);
    {
      TD_H5_GUARD;
      g_auto (TdH5Id) exchange = add_group (file, "exchange");

      add_frames (exchange, "data", 0, VIEWS, FALSE, 0);
      for (guint k = 0; k < 4 && cases[i].numbers[k].path; k++)
        add_number (file, cases[i].numbers[k].path, cases[i].numbers[k].value,
                    cases[i].numbers[k].units);
    }
    g_assert_true (td_h5_finish (file));
    g_autoptr (TdScan) scan = open_scan (path, &(TdScanOptions) { .angles = "0:180" });
    const TdScanFacts *facts = td_scan_facts (scan);
    g_autofree char *notes = td_messages_join (facts->notes, "\n", NULL);
    g_test_message ("%u: %g × %g mm; %s", i, facts->geometry.pixel_width_mm,
                    facts->geometry.pixel_height_mm, notes);
    g_assert_cmpfloat_with_epsilon (facts->geometry.pixel_width_mm, cases[i].width, 1e-12);
    g_assert_cmpfloat_with_epsilon (facts->geometry.pixel_height_mm, cases[i].height, 1e-12);
    g_assert_true (cases[i].said ? strstr (notes, cases[i].said) != NULL : !strstr (notes, "ixel"));
  }
#undef DETECTOR
#undef OBJECTIVE
}

/* Flats of another exposure are told, unless the file says that it was not used. */
static void
test_dxchange_exposures (void)
{
  static const struct {
    double flats;
    const char *different;
    gboolean said;
    guint n;
  } cases[]
      = { { 0.2, NULL, FALSE, 2 },    { 0.1, NULL, TRUE, 2 },        { 0.1, "Different", TRUE, 1 },
          { 0.1, "Same", FALSE, 2 },  { 0.3, "Different", TRUE, 2 }, { 0.1, "Different", FALSE, 0 },
          { 0.2019, NULL, FALSE, 2 }, { 0.2021, NULL, TRUE, 2 },     { 0, NULL, FALSE, 2 } };

  for (guint i = 0; i < 2 * G_N_ELEMENTS (cases); i++) {
    const guint which = i / 2;
    const char *group
        = i % 2 ? "process/acquisition/flat_fields" : "measurement/instrument/detector";
    const char *name = i % 2 ? "flat_exposure_time" : "exposure_time_flat";
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autofree char *path = test_folder_file (folder, "scan.h5");
    g_autofree char *place = g_strconcat (group, "/", name, NULL);
    hid_t file = td_h5_create_sized (path, 0);
    {
      TD_H5_GUARD;
      g_auto (TdH5Id) exchange = add_group (file, "exchange");

      add_frames (exchange, "data", 0, VIEWS, FALSE, 0);
      if (cases[which].n > 0)
        add_frames (exchange, "data_white", 30, cases[which].n, FALSE, 0);
      add_number (file, "measurement/instrument/detector/exposure_time", 0.2, "s");
      add_number (file, place, cases[which].flats, "s");
      g_auto (TdH5Id) parent = td_h5_find (file, group, NULL);
      g_assert_true (
          !cases[which].different
          || td_h5_add_string (parent, "different_flat_exposure", cases[which].different));
    }
    g_assert_true (td_h5_finish (file));
    g_autoptr (TdScan) scan = open_scan (path, &(TdScanOptions) { .angles = "0:180" });
    g_autofree char *notes = td_messages_join (td_scan_facts (scan)->notes, "\n", NULL);
    g_assert_cmpint (notes && strstr (notes, "flats were exposed for") != NULL, ==,
                     cases[which].said);
  }
}

/* Flats and darks without frames are as good as none. Those of another size are refused with what
   to do, and that serves. */
static void
test_dxchange_companions (void)
{
  static const char *const names[] = { "data_white", "data_dark" };

  for (guint i = 0; i < 4; i++) {
    const guint kind = i / 2, n = i % 2 ? 2 : 0;
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autofree char *path = test_folder_file (folder, "scan.h5");
    g_autofree char *others = test_folder_file (folder, "others.h5");
    const TdScanOptions options = { .angles = "0:180" };
    TdScanOptions stated = options;
    g_autoptr (GError) error = NULL;
    hid_t file = td_h5_create_sized (others, 0);

    *(kind ? &stated.darks : &stated.flats) = others;
    add_frames (file, "frames", 50, 3, FALSE, 0);
    g_assert_true (td_h5_finish (file));
    file = td_h5_create_sized (path, 0);
    {
      TD_H5_GUARD;
      g_auto (TdH5Id) exchange = add_group (file, "exchange");
      const hsize_t shape[3] = { n, ROWS, COLUMNS - 1 };
      g_auto (TdH5Id) space = H5Screate_simple (3, shape, NULL);
      g_auto (TdH5Id) set = H5Dcreate2 (exchange, names[kind], H5T_STD_U16LE, space, H5P_DEFAULT,
                                        H5P_DEFAULT, H5P_DEFAULT);

      const guint16 values[2 * ROWS * COLUMNS] = { 1 };

      g_assert_cmpint (H5Dwrite (set, H5T_NATIVE_UINT16, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), >=,
                       0);
      add_frames (exchange, "data", 0, VIEWS, FALSE, 0);
    }
    g_assert_true (td_h5_finish (file));
    g_autoptr (TdScan) scan = td_scan_open (path, &options, NULL, &error);
    if (n) {
      g_assert_null (scan);
      test_assert_sentence (error, names[kind]);
      g_assert_nonnull (strstr (error->message, kind ? "(--darks" : "(--flats"));
    } else {
      g_assert_no_error (error);
      g_autofree char *notes = td_messages_join (td_scan_facts (scan)->notes, "\n", NULL);
      g_assert_nonnull (strstr (notes, names[kind]));
      g_assert_nonnull (strstr (notes, kind ? "the scan has no darks" : "the scan has no flats"));
      g_assert_cmpuint (td_scan_facts (scan)->n_flats + td_scan_facts (scan)->n_darks, ==, 0);
    }
    g_autoptr (TdScan) mended = open_scan (path, &stated);
    g_assert_cmpuint (kind ? td_scan_facts (mended)->n_darks : td_scan_facts (mended)->n_flats, ==,
                      3);
    check_frame (mended, kind ? TD_FRAME_DARK : TD_FRAME_FLAT, 2, 52);
  }
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
  hid_t file = td_h5_create_sized (path, 0);

  add_frames (file, "frames", 0, VIEWS, FALSE, 0);
  g_assert_true (td_h5_finish (file));
  file = td_h5_create_sized (flats, 0);
  add_frames (file, "frames", 50, 3, FALSE, 0);
  g_assert_true (td_h5_finish (file));
  g_autoptr (TdScan) scan = open_scan (path, &options);
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
  file = td_h5_create_sized (flats, 0);
  {
    g_auto (TdH5Id) small = td_h5_add_frames (file, "data", TD_SAMPLE_UINT8, 2, ROWS - 1, COLUMNS);

    g_assert_cmpint (small, >=, 0);
  }
  g_assert_true (td_h5_finish (file));
  options.dataset = NULL;
  g_assert_null (td_scan_open (path, &options, NULL, &error));
  test_assert_sentence (error, "flats.h5");
}

/* Flats and darks of another scan's file are its flats and darks, not all its frames; its
   projections if it has none. */
static void
test_companion_scans (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "scan.h5"),
                  *other = test_folder_file (folder, "other.h5");
  g_autofree char *nexus = test_folder_file (folder, "other.nxs"),
                  *bare = test_folder_file (folder, "bare.h5");
  g_autofree char *undark = test_folder_file (folder, "undark.h5");
  g_autoptr (GError) error = NULL;
  TdScanOptions options = { .angles = "0:180", .flats = other, .darks = nexus };
  hid_t file = td_h5_create_sized (path, 0);

  add_frames (file, "frames", 0, VIEWS, FALSE, 0);
  g_assert_true (td_h5_finish (file));
  make_dxchange (other, TRUE, FALSE, FALSE);
  file = td_h5_create_sized (nexus, 0);
  add_nxtomo (file, "entry", "deg", 1);
  g_assert_true (td_h5_finish (file));
  file = td_h5_create_sized (bare, 0);
  {
    g_auto (TdH5Id) exchange = add_group (file, "exchange");

    add_frames (exchange, "data", 60, 4, FALSE, 0);
  }
  g_assert_true (td_h5_finish (file));
  g_autoptr (TdScan) scan = open_scan (path, &options);
  g_assert_cmpuint (td_scan_facts (scan)->n_flats, ==, 2);
  g_assert_cmpuint (td_scan_facts (scan)->n_darks, ==, 1);
  check_frame (scan, TD_FRAME_FLAT, 1, 31);
  check_frame (scan, TD_FRAME_DARK, 0, 0);
  options.flats = bare;
  g_autoptr (TdScan) second = open_scan (path, &options);
  g_assert_cmpuint (td_scan_facts (second)->n_flats, ==, 4);
  check_frame (second, TD_FRAME_FLAT, 3, 63);
  file = td_h5_create_sized (undark, 0);
  {
    g_auto (TdH5Id) exchange = add_group (file, "exchange");

    add_frames (exchange, "data", 70, 4, FALSE, 0);
    add_frames (exchange, "data_white", 80, 2, FALSE, 0);
  }
  g_assert_true (td_h5_finish (file));
  options.darks = undark; /* whose projections are none */
  g_assert_null (td_scan_open (path, &options, NULL, &error));
  test_assert_sentence (error, "undark.h5");
}

/* Floats of a beam that leans could be attenuations of a scan. They are flats here, and those of
   its data set, not of any in the file. */
static void
test_leaning_flats (void)
{
  enum { WIDE = 40 };
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "scan.h5");
  g_autofree char *flats = test_folder_file (folder, "flats.h5");
  const hsize_t shape[3] = { VIEWS, ROWS, WIDE };
  float values[VIEWS * ROWS * WIDE];
  const TdScanOptions options = { .angles = "0:180", .flats = flats };

  for (guint i = 0; i < G_N_ELEMENTS (values); i++)
    values[i] = 1000 + 25 * (i % WIDE);
  for (guint f = 0; f < 2; f++) {
    hid_t file = td_h5_create_sized (f ? flats : path, 0);
    {
      TD_H5_GUARD;
      g_auto (TdH5Id) group = add_group (file, "exchange");
      g_auto (TdH5Id) space = H5Screate_simple (3, shape, NULL);
      static const char *const names[] = { "data", "other" };

      for (guint i = 0; i < G_N_ELEMENTS (names); i++) {
        g_auto (TdH5Id) dataset = H5Dcreate2 (group, names[i], H5T_IEEE_F32LE, space, H5P_DEFAULT,
                                              H5P_DEFAULT, H5P_DEFAULT);
        H5Dwrite (dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
      }
    }
    g_assert_true (td_h5_finish (file));
  }
  g_autoptr (TdScan) scan = open_scan (path, &options);
  g_assert_cmpuint (td_scan_facts (scan)->n_flats, ==, VIEWS);
}

/* What a data set is by its name, or by the nearest group that says so, the first one included. */
static void
test_path_roles (void)
{
  static const struct {
    const char *path;
    TdNameRole role;
  } paths[] = {
    { "/exchange/data", TD_NAME_PROJECTION }, { "/exchange/data_white", TD_NAME_FLAT },
    { "/exchange/data_dark", TD_NAME_DARK },  { "/flats/data", TD_NAME_FLAT },
    { "flats/data", TD_NAME_FLAT },           { "dark/entry/data", TD_NAME_DARK },
    { "/darks/flats/data", TD_NAME_FLAT },    { "/flats/darks/1", TD_NAME_DARK },
    { "/flats/data/dark_1", TD_NAME_DARK },   { "flat", TD_NAME_FLAT },
    { "data", TD_NAME_PROJECTION },           { "/scan/darks/entry/data", TD_NAME_DARK },
  };

  for (guint i = 0; i < G_N_ELEMENTS (paths); i++) {
    g_test_message ("%s", paths[i].path);
    g_assert_cmpint (td_h5_path_role (paths[i].path), ==, paths[i].role);
  }
}

/* Several data sets: the user must say which; none: it is no scan. */
static void
test_other_files (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "other.h5");
  TdScanOptions options = { .angles = "0:180" };
  g_autoptr (GError) error = NULL;
  hid_t file = td_h5_create_sized (path, 0);

  add_frames (file, "a", 0, VIEWS, FALSE, 0);
  add_frames (file, "b", 20, VIEWS, FALSE, 0);
  g_assert_true (td_h5_finish (file));
  g_assert_null (td_scan_open (path, &options, NULL, &error));
  test_assert_sentence (error, "/a, /b");
  g_clear_error (&error);
  options.dataset = "/b";
  g_autoptr (TdScan) scan = open_scan (path, &options);
  check_frame (scan, TD_FRAME_PROJECTION, 3, 23);
  g_clear_pointer (&scan, td_scan_unref);
  file = td_h5_create_sized (path, 0);
  g_assert_true (td_h5_add_string (file, "note", "nothing here"));
  g_assert_true (td_h5_finish (file));
  options.dataset = NULL;
  g_assert_null (td_scan_open (path, &options, NULL, &error));
  test_assert_sentence (error, "other.h5");
}

/* The data set that is named is the one that is taken, whatever else the file holds. */
static void
test_named (void)
{
  static const struct {
    const char *dataset;
    guint first; /* value of the first frame; 0: refused */
    const char *format;
  } cases[] = {
    { NULL, 10, "DXchange (HDF5)" },
    { "/exchange", 10, "DXchange (HDF5)" },
    { "exchange1/", 20, "DXchange (HDF5)" },
    { "/exchange1/data", 20, "DXchange (HDF5)" },
    { "/exchange/other", 30, "HDF5 data set" },
    { "/exchange2", 0, NULL },
    { "/exchange2/data", 0, NULL },
  };
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "scan.h5");
  hid_t file = td_h5_create_sized (path, 0);

  {
    g_auto (TdH5Id) exchange = add_group (file, "exchange"), next = add_group (file, "exchange1");

    add_frames (exchange, "data", 10, VIEWS, FALSE, 0);
    add_frames (exchange, "other", 30, VIEWS, FALSE, 0);
    add_frames (next, "data", 20, VIEWS, FALSE, 0);
  }
  g_assert_true (td_h5_finish (file));
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    const TdScanOptions options = { .angles = "0:180", .dataset = cases[i].dataset };
    g_autoptr (GError) error = NULL;
    g_autoptr (TdScan) scan = td_scan_open (path, &options, NULL, &error);

    if (cases[i].first == 0) {
      g_assert_null (scan);
      test_assert_sentence (error, "exchange2");
      continue;
    }
    g_assert_no_error (error);
    g_assert_cmpstr (td_scan_facts (scan)->format, ==, cases[i].format);
    check_frame (scan, TD_FRAME_PROJECTION, 0, cases[i].first);
  }
}

/* A DXchange file may be stated to hold sinograms; an NXtomo one says itself what it holds. */
static void
test_stated_sinograms (void)
{
  static const TdScanOptions options = { .angles = "0:180", .sinograms = TRUE };
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "scan.h5"),
                  *nexus = test_folder_file (folder, "scan.nxs");
  g_autoptr (GError) error = NULL;
  hid_t file = td_h5_create_sized (path, 0);

  {
    g_auto (TdH5Id) exchange = add_group (file, "exchange");

    add_frames (exchange, "data", 10, VIEWS, TRUE, 0);
  }
  g_assert_true (td_h5_finish (file));
  g_autoptr (TdScan) scan = open_scan (path, &options);
  g_assert_cmpuint (td_scan_facts (scan)->n_views, ==, VIEWS);
  check_frame (scan, TD_FRAME_PROJECTION, 3, 13);

  file = td_h5_create_sized (nexus, 0);
  add_nxtomo (file, "entry", "deg", 1);
  g_assert_true (td_h5_finish (file));
  g_assert_null (td_scan_open (nexus, &options, NULL, &error));
  test_assert_sentence (error, "--sinograms");
}

/* The file's own centre is told where it is used: by no geometry that places the axis, or has it
   along the detector's rows. */
static void
test_own_centre (void)
{
  static const struct {
    const char *own, *geometry; /* as the entry's, or as a file's; NULL: none */
    gboolean told;
  } cases[] = {
#define CONE(tilt)                                                                                 \
  "{\"beam\": \"cone\", \"source_axis_mm\": 100, \"source_detector_mm\": 300, "                    \
  "\"pixel_width_mm\": 0.5, \"pixel_height_mm\": 0.5, \"detector_tilt_rad\": [0, 0, " tilt "]}"
    { NULL, NULL, TRUE },
    { CONE ("0.02"), NULL, TRUE },
    { CONE ("1.57"), NULL, FALSE },
    { NULL, CONE ("0"), FALSE },
    { NULL, CONE ("-1.57"), FALSE },
    { NULL, "{\"beam\": \"parallel\"}", TRUE },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autofree char *path = test_folder_file (folder, "scan.h5"),
                    *geometry = test_folder_file (folder, "placed.json");
    const TdScanOptions options = { .geometry = cases[i].geometry ? geometry : NULL };
    hid_t file = td_h5_create_sized (path, 0);

    add_nxtomo (file, "entry", "deg", 1);
    add_number (file, "entry/instrument/detector/estimated_cor_from_motor", 1.5, "pixel");
    if (cases[i].own) {
      g_auto (TdH5Id) entry = H5Gopen2 (file, "entry", H5P_DEFAULT);
      g_assert_true (td_h5_add_string (entry, "tomodesk_geometry", cases[i].own));
    }
    g_assert_true (td_h5_finish (file));
    g_assert_true (
        g_file_set_contents (geometry, cases[i].geometry ? cases[i].geometry : "", -1, NULL));
    g_autoptr (TdScan) scan = open_scan (path, &options);
    g_autofree char *notes = td_messages_join (td_scan_facts (scan)->notes, "\n", NULL);
    g_test_message ("%u: %s", i, notes);
    g_assert_cmpint (strstr (notes, "own estimate") != NULL, ==, cases[i].told);
  }
}

/* Diamond's files may have the keys in the entry around that of the scan. */
static void
test_keys_above (void)
{
  for (guint matching = 0; matching < 2; matching++) {
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autofree char *path = test_folder_file (folder, "scan.nxs");
    hid_t file = td_h5_create_sized (path, 0);

    {
      TD_H5_GUARD;
      g_auto (TdH5Id) entry = add_group (file, "entry1"),
                      instrument = add_group (entry, "instrument"),
                      key = add_group (instrument, "image_key");
      const guint n = VIEWS + (matching ? 4 : 3);

      add_nxtomo (entry, "tomo_entry", "deg", 1);
      g_assert_cmpint (H5Ldelete (entry, "tomo_entry/instrument/detector/image_key", H5P_DEFAULT),
                       >=, 0);
      g_assert_true (td_h5_add_bytes (key, "image_key", keys, n));
    }
    g_assert_true (td_h5_finish (file));
    g_autoptr (TdScan) scan = open_scan (path, NULL);
    g_assert_cmpuint (td_scan_facts (scan)->n_flats > 0, ==, matching);
    g_autofree char *notes = td_messages_join (td_scan_facts (scan)->notes, "\n", NULL);
    g_assert_cmpint (strstr (notes, "no image_key") != NULL, ==, !matching);
  }
}

/* Distances without a unit, or with one that is none. */
static void
test_distance (void)
{
  static const struct {
    const char *units;
    double mm[2]; /* DXchange's, NXtomo's */
    const char *says;
  } cases[] = {
    { "cm", { 20, 20 }, NULL },
    { NULL, { 2, 2000 }, "has no unit" },
    { "furlong", { 0, 0 }, "“furlong”" },
  };

  static const char *const places[]
      = { "measurement/instrument/detector/distance", "entry/instrument/detector/distance",
          "entry/sample/propagation_distance" };

  for (guint i = 0; i < 3 * G_N_ELEMENTS (cases); i++) {
    const guint which = i / 3;
    const gboolean nexus = i % 3 > 0;
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autofree char *path = test_folder_file (folder, "scan.h5");

    make_with_number (path, nexus, places[i % 3], 2, cases[which].units);
    g_autoptr (TdScan) scan = open_scan (path, NULL);
    const TdScanFacts *facts = td_scan_facts (scan);
    g_autofree char *notes = td_messages_join (facts->notes, "\n", NULL);
    g_test_message ("%s: %s", cases[which].units, notes);
    g_assert_cmpfloat_with_epsilon (facts->propagation_mm, cases[which].mm[nexus], 1e-9);
    g_assert_cmpint (strstr (notes, "distance") != NULL, ==, cases[which].says != NULL);
    g_assert_true (!cases[which].says || strstr (notes, cases[which].says));
  }
}

/* What is called otherwise than a layout has it, beside its projections. */
static void
test_beside (void)
{
  static const struct {
    const char *group, *projections, *flats[2], *angles;
    guint n_flats;
    const char *says[2]; /* in the notes */
  } cases[] = {
    { "exchange",
      "data",
      { "data_white_pre", "data_white_post" },
      "theta",
      4,
      { "2, beginning with /exchange/data_white_post",
        "2, beginning with /exchange/data_white_pre" } },
    { "exchange",
      "data",
      { "data_white_pre", "data_white_start" },
      "theta",
      2,
      { "beginning with /exchange/data_white_pre", "/exchange/data_white_start was not used" } },
    { "exchange",
      "data",
      { "data_white", "data_white_end" },
      "rotation_angle",
      2,
      { "/exchange/data_white_end was not used", "Angles: /exchange/rotation_angle" } },
    { "scan_data",
      "orca_image",
      { "orca_flat", "gain" },
      "rotz",
      2,
      { "beginning with /scan_data/gain", "Angles: /scan_data/rotz" } },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autofree char *path = test_folder_file (folder, "scan.h5");
    double angles[VIEWS], middles[VIEWS];
    hid_t file = td_h5_create_sized (path, 0);

    for (guint view = 0; view < VIEWS; view++) {
      angles[view] = 20 * view;
      middles[view] = COLUMNS / 2.0;
    }
    {
      g_auto (TdH5Id) own = add_group (file, cases[i].group);

      add_frames (own, cases[i].projections, 10, VIEWS, FALSE, 0);
      add_frames (own, cases[i].flats[0], 30, 2, FALSE, 0);
      add_frames (own, cases[i].flats[1], cases[i].n_flats > 2 ? 28 : 30, 2, FALSE, 0);
      g_assert_true (td_h5_add_doubles (own, "flat_angle", angles, VIEWS, "deg"));
      g_assert_true (td_h5_add_doubles (own, "rot_Axis", middles, VIEWS, NULL));
      g_assert_true (td_h5_add_doubles (own, "rot_center", middles, VIEWS, NULL));
      g_assert_true (td_h5_add_doubles (own, cases[i].angles, angles, VIEWS, "deg"));
    }
    g_assert_true (td_h5_finish (file));
    g_autoptr (TdScan) scan = open_scan (path, NULL);
    const TdScanFacts *facts = td_scan_facts (scan);
    g_autofree char *notes = td_messages_join (facts->notes, "\n", NULL);
    g_test_message ("%s", notes);
    g_assert_cmpuint (facts->n_flats, ==, cases[i].n_flats);
    g_assert_cmpfloat_with_epsilon (facts->angles_rad[3], G_PI / 3, 1e-12);
    g_assert_true (strstr (notes, cases[i].says[0]) && strstr (notes, cases[i].says[1]));
    check_frame (scan, TD_FRAME_PROJECTION, 5, 15);
    if (facts->n_flats > 2) { /* the names' order: after, before */
      g_autofree float *frames = g_new (float, 2 * COLUMNS);
      g_autoptr (GError) error = NULL;

      for (guint k = 0; k < 4; k++) {
        g_assert_cmpfloat (facts->flat_positions[k], ==, k < 2 ? VIEWS : 0);
        check_frame (scan, TD_FRAME_FLAT, k, 28 + k);
      }
      td_scan_read (scan, &(TdFrameRange) { TD_FRAME_FLAT, 1, 2, 3, 1 }, frames, NULL, &error);
      g_assert_no_error (error);
      g_assert_cmpfloat (frames[4], ==, value_of (29, 3, 4));
      g_assert_cmpfloat (frames[COLUMNS + 4], ==, value_of (30, 3, 4));
      continue;
    }
    check_frame (scan, TD_FRAME_FLAT, 1, 31);
  }
}

static void
set_half (hid_t dataset, const char *name)
{
  TD_H5_GUARD;
  const double half = 0.5;
  g_auto (TdH5Id) space = H5Screate (H5S_SCALAR);
  const hid_t attribute
      = H5Acreate2 (dataset, name, H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT);

  g_assert_cmpint (H5Awrite (attribute, H5T_NATIVE_DOUBLE, &half), >=, 0);
  H5Aclose (attribute);
}

/* Data sets that other programs describe by attributes; links to one are no second one. */
static void
test_described_sets (void)
{
  static const struct {
    const char *attribute, *value;
    gboolean by_rows;
    const char *says; /* of a note; of the refusal, if it names an option */
  } cases[] = {
    { "geometry", "parallel", FALSE, NULL },
    { "geometry", "cone", FALSE, "--sod-mm" },
    { "data_label0", "vertical", TRUE, NULL },
    { "dim0", "vertical", TRUE, NULL },
    { "dim0", "angle", FALSE, NULL },
    { "MATLAB_class", "single", FALSE, "MATLAB" },
    { "scale_factor", NULL, FALSE, "scale_factor of 0.5" },
    { "offset", NULL, FALSE, "a offset of 0.5" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autofree char *path = test_folder_file (folder, "scan.h5");
    TdScanOptions options = { .angles = "0:180" };
    g_autoptr (GError) error = NULL;
    hid_t file = td_h5_create_sized (path, 0);

    {
      TD_H5_GUARD;
      g_auto (TdH5Id) entry = add_group (file, "entry"), own = add_group (entry, "zyla");

      add_frames (own, "data", 10, VIEWS, cases[i].by_rows, 0);
      g_auto (TdH5Id) dataset = H5Dopen2 (own, "data", H5P_DEFAULT);
      if (cases[i].value)
        g_assert_true (td_h5_set_string (dataset, cases[i].attribute, cases[i].value));
      else
        set_half (dataset, cases[i].attribute);
      g_assert_true (td_h5_set_string (dataset, "data_label1", "angle"));
      g_assert_cmpint (H5Lcreate_soft ("/entry/zyla/data", entry, "data", H5P_DEFAULT, H5P_DEFAULT),
                       >=, 0);
    }
    g_assert_true (td_h5_finish (file));
    g_autoptr (TdScan) scan = td_scan_open (path, &options, NULL, &error);
    if (!scan) {
      test_assert_sentence (error, cases[i].says ? cases[i].says : "nothing");
      options.source_axis_mm = 100;
      options.source_detector_mm = 300;
      g_autoptr (TdScan) cone = open_scan (path, &options);
      g_assert_cmpint (td_scan_facts (cone)->geometry.beam, ==, TD_BEAM_CONE);
      continue;
    }
    g_autofree char *notes = td_messages_join (td_scan_facts (scan)->notes, "\n", NULL);
    g_assert_true (!cases[i].says || strstr (notes, cases[i].says));
    check_frame (scan, TD_FRAME_PROJECTION, 5, 15);
  }
}

/* What the Core Imaging Library says of a geometry: which way its frames and angles are taken. */
static void
test_cil (void)
{
  static const struct {
    const char *beam, *origin, *last;
    double source[3], detector[3], axis[3], along[3]; /* source: or a ray's direction */
    TdGeometry geometry;
    double first_deg, step_deg, centre;
    gboolean turned;
    const char *refused;
  } cases[] = {
    { "cone",
      "bottom-left",
      "horizontal",
      { 0, -100, 0 },
      { 0, 300, 0 },
      { 0 },
      { 0, 0, 1 },
      { TD_BEAM_CONE, 0.5, 0.5, 100, 400 },
      190,
      20,
      5,
      TRUE },
    { "cone",
      "top-left",
      "horizontal",
      { 0, -100, 0 },
      { 2, 300, 1 },
      { 1, 5, 0 },
      { 0, 0, 1 },
      { TD_BEAM_CONE, 0.5, 0.5, 105, 400, -4, 2, 1 },
      -10,
      -20,
      1 + 800.0 / 105,
      FALSE },
    { "parallel",
      "bottom-left",
      "horizontal",
      { 0, 1, 0 },
      { 1, 50, 0 },
      { 0 },
      { 0, 0, 1 },
      { TD_BEAM_PARALLEL, 0.5, 0.5, .detector_offset_u_px = -2 },
      10,
      20,
      3,
      FALSE },
    { "parallel",
      "top-right",
      "horizontal",
      { 0, 1, 0 },
      { 0 },
      { 0 },
      { 0, 0, 1 },
      { TD_BEAM_PARALLEL, 0.5, 0.5 },
      170,
      -20,
      NAN,
      FALSE },
    { "cone",
      "bottom-left",
      "horizontal",
      { 0, -100, 0 },
      { 0, 300, 0 },
      { 0 },
      { 0, 0.6, 0.8 },
      .refused = "--geometry FILE" },
    { "parallel",
      "bottom-left",
      "horizontal",
      { 0, 1, 1 },
      { 0 },
      { 0 },
      { 0, 0, 1 },
      .refused = "laminography" },
    { "cone",
      "bottom-left",
      "vertical",
      { 0, -100, 0 },
      { 0, 300, 0 },
      { 0 },
      { 0, 0, 1 },
      .refused = "reorder" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    const gboolean cone = strcmp (cases[i].beam, "cone") == 0;
    static const double right[] = { 1, 0, 0 }, up[] = { 0, 0, 1 };
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autofree char *path = test_folder_file (folder, "scan.nxs");
    g_autoptr (GError) error = NULL;
    double angles[VIEWS];
    hid_t file = td_h5_create_sized (path, 0);

    for (guint view = 0; view < VIEWS; view++)
      angles[view] = 10 + 20 * view;
    {
      TD_H5_GUARD;
      g_auto (TdH5Id) entry = add_group (file, "entry"), data = add_group (entry, "data"),
                      config = add_group (entry, "config"),
                      detector = add_group (config, "detector"),
                      beam = add_group (config, cone ? "source" : "ray"),
                      axis = add_group (config, "rotation_axis");

      add_frames (data, "data", 10, VIEWS, FALSE, 0);
      g_auto (TdH5Id) frames = H5Dopen2 (data, "data", H5P_DEFAULT);
      set_half (frames, "pixel_size_h");
      g_assert_true (
          td_h5_set_string (frames, "geometry", cases[i].beam)
          && td_h5_set_string (frames, "panel_origin", cases[i].origin)
          && td_h5_set_string (frames, "dim0", "angle")
          && td_h5_set_string (frames, "dim2", cases[i].last)
          && td_h5_add_doubles (detector, "position", cases[i].detector, 3, NULL)
          && td_h5_add_doubles (detector, "direction_x", right, 3, NULL)
          && td_h5_add_doubles (detector, "direction_y", up, 3, NULL)
          && td_h5_add_doubles (beam, cone ? "position" : "direction", cases[i].source, 3, NULL)
          && td_h5_add_doubles (axis, "position", cases[i].axis, 3, NULL)
          && td_h5_add_doubles (axis, "direction", cases[i].along, 3, NULL)
          && td_h5_add_doubles (config, "angles", angles, VIEWS, "degree"));
    }
    g_assert_true (td_h5_finish (file));
    g_autoptr (TdScan) scan = td_scan_open (path, NULL, NULL, &error);
    if (cases[i].refused) {
      g_assert_null (scan);
      test_assert_sentence (error, cases[i].refused);
      continue;
    }
    g_assert_no_error (error);
    const TdScanFacts *facts = td_scan_facts (scan);
    const double *found = &facts->geometry.pixel_width_mm,
                 *want = &cases[i].geometry.pixel_width_mm;
    g_assert_cmpint (facts->geometry.beam, ==, cases[i].geometry.beam);
    for (guint k = 0; k < 7; k++) /* to axis_offset_mm */
      g_assert_cmpfloat_with_epsilon (found[k], want[k], 1e-9);
    g_assert_cmpfloat_with_epsilon (facts->angles_rad[0], cases[i].first_deg * G_PI / 180, 1e-9);
    g_assert_cmpfloat_with_epsilon (facts->angles_rad[1] - facts->angles_rad[0],
                                    cases[i].step_deg * G_PI / 180, 1e-9);
    g_assert_true (isnan (cases[i].centre) ? isnan (facts->centre_px)
                                           : fabs (facts->centre_px - cases[i].centre) < 1e-9);
    g_assert_cmpfloat (first_value (scan, TD_FRAME_PROJECTION, 0), ==,
                       value_of (10, 0, cases[i].turned ? COLUMNS - 1 : 0));
  }
}

/* add_frames() in four dimensions, of @shape; chunked by frames, of which @lost at the end were
   never written. */
static void
add_frames_among (hid_t group, const char *name, const hsize_t shape[4], guint chunked, guint lost)
{
  TD_H5_GUARD;
  const int at = shape[0] == 1 ? 1 : 0; /* the frames' dimension */
  hsize_t size[4] = { shape[0], shape[1], shape[2], shape[3] }, start[4] = { 0 };
  guint16 values[VIEWS * ROWS * COLUMNS];
  g_auto (TdH5Id) space = H5Screate_simple (4, shape, NULL);
  g_auto (TdH5Id) properties = H5Pcreate (H5P_DATASET_CREATE);

  for (guint i = 0; i < G_N_ELEMENTS (values); i++)
    values[i] = (guint16) value_of (10 + i / ROWS / COLUMNS, i / COLUMNS % ROWS, i % COLUMNS);
  size[at] = 1;
  if (chunked)
    H5Pset_chunk (properties, 4, size);
  if (chunked > 1)
    H5Pset_deflate (properties, 4);
  g_auto (TdH5Id) dataset
      = H5Dcreate2 (group, name, H5T_STD_U16LE, space, H5P_DEFAULT, properties, H5P_DEFAULT);
  size[at] = VIEWS - lost;
  H5Sselect_hyperslab (space, H5S_SELECT_SET, start, NULL, size, NULL);
  g_auto (TdH5Id) memory = H5Screate_simple (4, size, NULL);
  g_assert_cmpint (H5Dwrite (dataset, H5T_NATIVE_UINT16, memory, space, H5P_DEFAULT, values), >=,
                   0);
}

/* Programs that also write channels or energies give frames a dimension more, of a length of 1. */
static void
test_more_dimensions (void)
{
  static const hsize_t shapes[][4] = { { 1, VIEWS, ROWS, COLUMNS },
                                       { VIEWS, 1, ROWS, COLUMNS },
                                       { VIEWS, ROWS, 1, COLUMNS },
                                       { VIEWS, ROWS, COLUMNS, 1 } };
  static const char *const groups[] = { "exchange", "scan" };

  for (guint i = 0; i < 3 * G_N_ELEMENTS (shapes) * G_N_ELEMENTS (groups); i++) {
    const hsize_t *shape = shapes[i % 4];
    const guint chunked = i / 4 % 3, lost = chunked ? i % 2 : 0;
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autofree char *path = test_folder_file (folder, "scan.h5");
    const TdScanOptions options = { .angles = "0:180" };
    hid_t file = td_h5_create_sized (path, 0);

    {
      g_auto (TdH5Id) group = add_group (file, groups[i / 12]);
      add_frames_among (group, "data", shape, chunked, lost);
    }
    g_assert_true (td_h5_finish (file));
    g_autoptr (TdScan) scan = open_scan (path, &options);
    const TdScanFacts *facts = td_scan_facts (scan);
    g_assert_cmpuint (facts->n_views, ==, VIEWS);
    g_assert_cmpuint (facts->n_rows, ==, ROWS);
    g_assert_cmpuint (facts->n_columns, ==, COLUMNS);
    g_assert_cmpint (facts->absent != NULL, ==, lost > 0);
    g_assert_true (!lost || (facts->absent[VIEWS - 1] && !facts->absent[VIEWS - 2]));
    check_frame (scan, TD_FRAME_PROJECTION, 5, 15);
    if (!lost)
      check_sinograms (scan);
  }
}

/* One image, [row][column] whatever the projections' order. */
static void
add_image (hid_t group, const char *name, guint frame, guint rows)
{
  TD_H5_GUARD;
  const hsize_t shape[2] = { rows, COLUMNS };
  guint16 values[VIEWS * COLUMNS];
  g_auto (TdH5Id) space = H5Screate_simple (2, shape, NULL);
  g_auto (TdH5Id) dataset
      = H5Dcreate2 (group, name, H5T_STD_U16LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);

  for (guint i = 0; i < rows * COLUMNS; i++)
    values[i] = (guint16) value_of (frame, i / COLUMNS, i % COLUMNS);
  g_assert_cmpint (H5Dwrite (dataset, H5T_NATIVE_UINT16, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), >=,
                   0);
}

/* Flats and darks whose groups say what they are, as SOLEIL's files have them; of several scans in
   a file, nobody knows whose they are. */
static void
test_elsewhere (void)
{
  static const struct {
    const char *flats[2], *dark, *other; /* groups */
    const char *dataset;
    guint n_flats, n_darks;
    const char *says;
  } cases[] = {
    { { "pre_ref", "post_ref" }, "dark", NULL, NULL, 4, 1, "/pre_ref/image" },
    { { "ref_0", "ref_1" }, "dark_0", NULL, NULL, 2, 1, "/ref_1/image was not used" },
    { { "ref", "flat_of_brass" }, "darks", NULL, "/scan/image", 0, 0, "/ref/image was not used" },
    { { "ref", NULL }, "darks", "other", "/scan/image", 0, 0, "/ref/image was not used" },
    { { "ref", NULL }, "darks", NULL, "/scan/image", 2, 1, "/darks/image" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autofree char *path = test_folder_file (folder, "scan.nxs");
    const TdScanOptions options = { .angles = "0:180", .dataset = cases[i].dataset };
    const char *const groups[]
        = { "scan", cases[i].flats[0], cases[i].dark, cases[i].flats[1], cases[i].other };
    static const guint first[] = { 10, 30, 40, 32, 10 }, n[] = { VIEWS, 2, 1, 2, VIEWS };
    hid_t file = td_h5_create_sized (path, 0);

    for (guint k = 0; k < G_N_ELEMENTS (groups); k++)
      if (groups[k]) {
        g_auto (TdH5Id) group = add_group (file, groups[k]);
        if (n[k] == 1)
          add_image (group, "image", first[k], ROWS);
        else
          add_frames (group, "image", first[k], n[k], FALSE, 0);
        add_image (group, "places", 50, 2); /* no image */
      }
    g_assert_true (td_h5_finish (file));
    g_autoptr (TdScan) scan = open_scan (path, &options);
    const TdScanFacts *facts = td_scan_facts (scan);
    g_autofree char *notes = td_messages_join (facts->notes, "\n", NULL);
    g_test_message ("%s", notes);
    g_assert_cmpuint (facts->n_flats, ==, cases[i].n_flats);
    g_assert_cmpuint (facts->n_darks, ==, cases[i].n_darks);
    g_assert_true (!cases[i].says || strstr (notes, cases[i].says));
    check_frame (scan, TD_FRAME_PROJECTION, 5, 15);
    if (facts->n_darks)
      check_frame (scan, TD_FRAME_DARK, 0, 40);
    if (i == 1) { /* what was not used may be stated, as that says */
      g_autofree char *stated = g_strconcat (path, "::/ref_1/image", NULL);
      const TdScanOptions others = { .angles = "0:180", .flats = stated };
      g_assert_nonnull (strstr (notes, "--flats FILE::DATASET"));
      g_autoptr (TdScan) again = open_scan (path, &others);
      check_frame (again, TD_FRAME_FLAT, 0, 32);
    }
    if (facts->n_flats == 4) { /* the names' order: after, before */
      check_frame (scan, TD_FRAME_FLAT, 0, 32);
      check_frame (scan, TD_FRAME_FLAT, 2, 30);
      g_assert_cmpfloat (facts->flat_positions[0], ==, VIEWS);
      g_assert_cmpfloat (facts->flat_positions[2], ==, 0);
    }
  }
}

static void
add_words (hid_t parent, const char *name, hsize_t n)
{
  g_auto (TdH5Id) type = H5Tcopy (H5T_C_S1), space = H5Screate_simple (1, &n, NULL);

  H5Tset_size (type, 4);
  g_auto (TdH5Id) dataset
      = H5Dcreate2 (parent, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  g_assert_cmpint (dataset, >=, 0);
}

/* Angles in another group than the projections, as the Core Imaging Library has them: of several,
 * none. Links to them are no others, nor are words.
 */
static void
test_angles_elsewhere (void)
{
  for (guint i = 0; i < 6; i++) {
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autofree char *path = test_folder_file (folder, "scan.nxs");
    g_autoptr (GError) error = NULL;
    double angles[VIEWS];
    hid_t file = td_h5_create_sized (path, 0);

    for (guint view = 0; view < VIEWS; view++)
      angles[view] = view / 6.0;
    {
      TD_H5_GUARD;
      g_auto (TdH5Id) data = add_group (file, "data"), config = add_group (file, "config"),
                      flat = add_group (file, "flat");
      add_frames (data, "data", 10, VIEWS, FALSE, 0);
      g_assert_true (td_h5_add_doubles (config, "angles", angles, VIEWS - (i == 1), NULL));
      g_assert_true (td_h5_add_doubles (flat, "angles", angles, VIEWS, NULL));
      g_assert_true (i != 2 || td_h5_add_doubles (file, "theta", angles, VIEWS, NULL));
      g_assert_true (i != 3
                     || H5Lcreate_hard (config, "angles", file, "theta", H5P_DEFAULT, H5P_DEFAULT)
                            >= 0);
      g_assert_true (i != 4
                     || H5Lcreate_soft ("/config/angles", file, "theta", H5P_DEFAULT, H5P_DEFAULT)
                            >= 0);
      if (i == 5)
        add_words (file, "rotation", VIEWS);
      g_auto (TdH5Id) dataset = H5Dopen2 (config, "angles", H5P_DEFAULT);
      g_assert_true (td_h5_set_string (dataset, "angle_unit", "radian"));
    }
    g_assert_true (td_h5_finish (file));
    g_autoptr (TdScan) scan = td_scan_open (path, NULL, NULL, &error);
    if (i == 1 || i == 2) {
      test_assert_sentence (error, "--angles");
      continue;
    }
    g_assert_no_error (error);
    g_assert_cmpfloat_with_epsilon (td_scan_facts (scan)->angles_rad[3], 0.5, 1e-12);
  }
}

/* DXchange has room for a whole turn before it begins: one that was stopped has as many angles as
   frames. Where frames lack among these, all are wanted. */
static void
test_dxchange_stopped (void)
{
  static const hsize_t shape[] = { VIEWS, 1, ROWS, COLUMNS };

  for (guint lost = 2; lost < 4; lost++) {
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autofree char *path = test_folder_file (folder, "scan.h5");
    g_autoptr (GError) error = NULL;
    double angles[VIEWS];
    hid_t file = td_h5_create_sized (path, 0);

    fill_angles (angles);
    {
      g_auto (TdH5Id) group = add_group (file, "exchange");
      add_frames_among (group, "data", shape, 1, lost);
      add_frames (group, "data_white_pre", 28, 2, FALSE, 0);
      add_frames (group, "data_white_post", 30, 2, FALSE, 0);
      g_assert_true (td_h5_add_doubles (group, "theta", angles, VIEWS - 2, NULL));
    }
    g_assert_true (td_h5_finish (file));
    g_autoptr (TdScan) scan = td_scan_open (path, NULL, NULL, &error);
    if (lost == 3) {
      test_assert_sentence (error, "states 7 angles");
      continue;
    }
    g_assert_no_error (error);
    const TdScanFacts *facts = td_scan_facts (scan);
    g_autofree char *notes = td_messages_join (facts->notes, "\n", NULL);
    g_assert_cmpuint (facts->n_views, ==, VIEWS - 2);
    g_assert_null (facts->absent);
    g_assert_cmpuint (facts->n_flats, ==, 4);
    for (guint i = 0; i < 4; i++) /* after, before */
      g_assert_cmpfloat (facts->flat_positions[i], ==, (i < 2 ? VIEWS - 2 : 0));
    g_assert_true (td_scan_complete (scan, NULL));
    g_assert_nonnull (strstr (notes, "room for 9 projections, but holds 7"));
    check_frame (scan, TD_FRAME_PROJECTION, 6, 16);
    check_sinograms (scan);
  }
}

/* As many angles as rows lie beside sinograms that nothing says to be such. As many as columns, or
   another number, are told, too. */
static void
test_angles_of_rows (void)
{
  static const struct {
    guint n;
    const char *says;
  } cases[] = { { COLUMNS, "frame, row, column" }, { VIEWS + 3, "has 9 projections" } };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (TestFolder) others = test_folder_new ();
    g_autofree char *other = test_folder_file (others, "scan.h5");
    g_autofree double *numbers = g_new0 (double, cases[i].n);
    g_autoptr (GError) why = NULL;
    const hid_t lists = td_h5_create_sized (other, 0);

    add_frames (lists, "prepared", 10, VIEWS, FALSE, 0);
    g_assert_true (td_h5_add_doubles (lists, "angles", numbers, cases[i].n, "deg"));
    g_assert_true (td_h5_finish (lists));
    g_assert_null (td_scan_open (other, NULL, NULL, &why));
    test_assert_sentence (why, cases[i].says);
  }

  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "scan.h5");
  TdScanOptions options = { 0 };
  g_autoptr (GError) error = NULL;
  double angles[VIEWS];
  hid_t file = td_h5_create_sized (path, 0);

  fill_angles (angles);
  add_frames (file, "prepared", 10, VIEWS, TRUE, 0);
  g_assert_true (td_h5_add_doubles (file, "angles", angles, VIEWS, "deg"));
  g_assert_true (td_h5_finish (file));
  g_assert_null (td_scan_open (path, &options, NULL, &error));
  test_assert_sentence (error, "--sinograms");
  options.sinograms = TRUE;
  g_autoptr (TdScan) scan = open_scan (path, &options);
  check_frame (scan, TD_FRAME_PROJECTION, 5, 15);
}

/* Flats and darks of TIFF projections may lie in HDF5 files. Their names tell them apart, or the
   user does; or they are the only ones there, however often they are linked. */
static void
test_companions_of_tiff (void)
{
  static const struct {
    const char *flats, *darks; /* groups in the file; what the user states, below */
    const char *stated[2];
  } cases[] = {
    { "flat", "dark", { "", "" } },
    { "white", NULL, { "", NULL } },
    { "one", "other", { "::/one/data", "::/other/data" } },
    { "one", NULL, { "", NULL } },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autofree char *beside = test_folder_file (folder, "flat_1.tif");
    g_autofree char *path = test_folder_file (folder, "refs.h5");
    g_autofree char *flats = g_strconcat (path, cases[i].stated[0], NULL);
    g_autofree char *darks
        = cases[i].stated[1] ? g_strconcat (path, cases[i].stated[1], NULL) : NULL;
    const TdScanOptions options = { .angles = "0:180", .flats = flats, .darks = darks };
    const TdTiffImage image = { COLUMNS, ROWS, TD_SAMPLE_UINT16, 0, NULL };
    guint16 samples[ROWS * COLUMNS];
    hid_t file = td_h5_create_sized (path, 0);

    for (guint view = 0; view < 3; view++) {
      g_autofree char *name = g_strdup_printf ("a_%u.tif", view);
      g_autofree char *own = test_folder_file (folder, name);
      for (guint k = 0; k < G_N_ELEMENTS (samples); k++)
        samples[k] = (guint16) value_of (view, k / COLUMNS, k % COLUMNS);
      g_assert_true (td_tiff_save_single (own, own, &image, samples, NULL));
    }
    g_assert_true (td_tiff_save_single (beside, beside, &image, samples, NULL));
    {
      TD_H5_GUARD;
      g_auto (TdH5Id) group = add_group (file, cases[i].flats);
      g_auto (TdH5Id) others = cases[i].darks ? add_group (file, cases[i].darks) : -1;
      add_frames (group, "data", 30, 2, FALSE, 0);
      if (others >= 0)
        add_frames (others, "data", 40, 1, FALSE, 0);
      else
        H5Lcreate_hard (group, "data", file, "again", H5P_DEFAULT, H5P_DEFAULT);
    }
    g_assert_true (td_h5_finish (file));
    g_autoptr (TdScan) scan = open_scan (folder->path, &options);
    g_assert_cmpuint (td_scan_facts (scan)->n_views, ==, 3);
    g_assert_cmpuint (td_scan_facts (scan)->n_flats, ==, 2);
    g_assert_cmpuint (td_scan_facts (scan)->n_darks, ==, darks != NULL);
    check_frame (scan, TD_FRAME_PROJECTION, 2, 2);
    check_frame (scan, TD_FRAME_FLAT, 1, 31);
    if (darks)
      check_frame (scan, TD_FRAME_DARK, 0, 40);
  }
}

/* Flats and darks that are stated take the place of those beside the projections, and of no
   others. */
static void
test_stated_instead (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "scan.h5");
  g_autofree char *flats = test_folder_file (folder, "other/flats.h5");
  g_autofree char *darks = test_folder_file (folder, "other/darks.h5");
  hid_t file = td_h5_create_sized (path, 0);

  add_frames (file, "tomo", 10, VIEWS, FALSE, 0);
  add_frames (file, "flat", 30, 2, FALSE, 0);
  add_frames (file, "dark", 50, 1, FALSE, 0);
  g_assert_true (td_h5_finish (file));
  g_autofree char *others = g_path_get_dirname (flats);
  g_assert_cmpint (g_mkdir (others, 0700), ==, 0);
  file = td_h5_create_sized (flats, 0);
  add_frames (file, "data", 40, 3, FALSE, 0);
  g_assert_true (td_h5_finish (file));
  file = td_h5_create_sized (darks, 0);
  add_frames (file, "data", 60, 4, FALSE, 0);
  g_assert_true (td_h5_finish (file));
  for (guint stated = 0; stated < 4; stated++) {
    const gboolean with_flats = stated & 1, with_darks = stated & 2;
    const TdScanOptions options = { .angles = "0:180",
                                    .flats = with_flats ? flats : NULL,
                                    .darks = with_darks ? darks : NULL };
    g_autoptr (TdScan) scan = open_scan (path, &options);
    g_assert_cmpuint (td_scan_facts (scan)->n_views, ==, VIEWS);
    g_assert_cmpuint (td_scan_facts (scan)->n_flats, ==, with_flats ? 3 : 2);
    g_assert_cmpuint (td_scan_facts (scan)->n_darks, ==, with_darks ? 4 : 1);
    check_frame (scan, TD_FRAME_PROJECTION, 2, 12);
    check_frame (scan, TD_FRAME_FLAT, 0, with_flats ? 40 : 30);
    check_frame (scan, TD_FRAME_DARK, 0, with_darks ? 60 : 50);
  }
}

/* BLISS's scans, and a data set for each frame, are no choice between data sets. */
static void
test_many_sets (void)
{
  for (guint i = 0; i < 2; i++) {
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autofree char *path = test_folder_file (folder, "raw.h5");
    g_autoptr (GError) error = NULL;
    hid_t file = td_h5_create_sized (path, 0);

    {
      g_auto (TdH5Id) group = add_group (file, i ? "frames" : "1.1");
      for (guint frame = 0; frame < (i ? 70 : 2); frame++) {
        g_autofree char *name = g_strdup_printf ("frame_%04u.tif", frame);
        add_frames (group, name, 0, 1, FALSE, 0);
      }
    }
    g_assert_true (td_h5_finish (file));
    g_assert_null (td_scan_open (path, NULL, NULL, &error));
    test_assert_sentence (error, i ? "write all projections into one" : "nxtomomill h52nx");
  }
}

/* Energies without a unit, or with one that is none of theirs. */
static void
test_energy (void)
{
  static const struct {
    double value;
    const char *units;
    double kev;
    const char *says; /* NULL: nothing of it */
  } cases[] = {
    { 25, "keV", 25, NULL },
    { 25000, "eV", 25, NULL },
    { 25, NULL, 25, "keV were taken" },
    { 25000, NULL, 25, "eV were taken" },
    { 25, "furlong", 0, "“furlong”" },
    { 0, NULL, 0, NULL },
  };

  for (guint i = 0; i < 2 * G_N_ELEMENTS (cases); i++) {
    const guint which = i / 2;
    const gboolean nexus = i % 2;
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autofree char *path = test_folder_file (folder, "scan.h5");

    make_with_number (path, nexus,
                      nexus ? "entry/beam/incident_energy"
                            : "measurement/instrument/monochromator/energy",
                      cases[which].value, cases[which].units);
    g_autoptr (TdScan) scan = open_scan (path, NULL);
    const TdScanFacts *facts = td_scan_facts (scan);
    g_autofree char *notes = td_messages_join (facts->notes, "\n", NULL);
    g_test_message ("%g %s: %s", cases[which].value, cases[which].units, notes);
    g_assert_cmpfloat_with_epsilon (facts->energy_kev, cases[which].kev, 1e-12);
    g_assert_cmpint (strstr (notes, "energy") != NULL, ==, cases[which].says != NULL);
    g_assert_true (!cases[which].says || strstr (notes, cases[which].says));
  }
}

/* A flat or dark that is one image beside projections or sinograms: used, refused or told. */
static void
test_flat_image (void)
{
  static const struct {
    const char *group, *names[3]; /* projections, flat, dark; "": the root */
    gboolean by_rows, stated;     /* as sinograms */
    guint rows;                   /* of the flat; 0: three dimensions, of frames */
    gboolean used;
    const char *says; /* in a note, or where nothing opens the refusal */
  } cases[] = {
    { "exchange", { "data", "data_white", "data_dark" }, FALSE, FALSE, ROWS, TRUE, NULL },
    { "exchange", { "data", "data_white", "data_dark" }, TRUE, FALSE, ROWS, TRUE, NULL },
    { "exchange", { "data", "data_white", "data_dark" }, TRUE, TRUE, ROWS, TRUE, NULL },
    { "exchange", { "data", "data_white", "data_dark" }, TRUE, TRUE, ROWS - 1, FALSE, "--flats" },
    { "exchange", { "data", "data_white", "data_dark" }, TRUE, TRUE, 0, TRUE, NULL },
    { "", { "tomo", "flat", "dark" }, TRUE, FALSE, ROWS, TRUE, NULL },
    { "", { "sinograms", "flat", "dark" }, TRUE, TRUE, ROWS, TRUE, "beginning with /flat" },
    { "", { "sinograms", "whiteField", "df" }, FALSE, FALSE, ROWS, TRUE, "with /whiteField" },
    { "entry", { "sinograms", "flat", "dark" }, TRUE, TRUE, ROWS, TRUE, "with /entry/flat" },
    { "", { "sinograms", "flat", "dark" }, TRUE, TRUE, ROWS - 1, FALSE, "--flats" },
    { "", { "sinograms", "empty", "none" }, TRUE, TRUE, ROWS, FALSE, "/empty was not used" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autofree char *path = test_folder_file (folder, "scan.h5");
    g_autoptr (GError) error = NULL;
    const TdScanOptions options = { .angles = "0:180", .sinograms = cases[i].stated };
    hid_t file = td_h5_create_sized (path, 0);

    {
      g_auto (TdH5Id) own = *cases[i].group ? add_group (file, cases[i].group) : -1;
      const hid_t group = *cases[i].group ? own : file;

      add_frames (group, cases[i].names[0], 10, VIEWS, cases[i].by_rows, 0);
      if (cases[i].rows > 0)
        add_image (group, cases[i].names[1], 30, cases[i].rows);
      else
        add_frames (group, cases[i].names[1], 30, 1, FALSE, 0);
      add_image (group, cases[i].names[2], 40, ROWS);
    }
    g_assert_true (td_h5_finish (file));
    g_test_message ("%s/%s", cases[i].group, cases[i].names[1]);
    g_autoptr (TdScan) scan = td_scan_open (path, &options, NULL, &error);
    if (cases[i].rows == ROWS - 1) {
      g_assert_null (scan);
      test_assert_sentence (error, cases[i].says);
      continue;
    }
    g_assert_no_error (error);
    const TdScanFacts *facts = td_scan_facts (scan);
    g_assert_cmpuint (facts->n_flats, ==, cases[i].used);
    g_assert_cmpuint (facts->n_darks, ==, cases[i].used);
    g_assert_cmpint (facts->sinogram_order, ==, cases[i].by_rows);
    g_autofree char *notes = td_messages_join (facts->notes, "\n", NULL);
    g_assert_true (!cases[i].says || strstr (notes, cases[i].says));
    check_frame (scan, TD_FRAME_PROJECTION, 5, 15);
    if (cases[i].used) {
      check_frame (scan, TD_FRAME_FLAT, 0, 30);
      check_frame (scan, TD_FRAME_DARK, 0, 40);
    }
  }
}

/* Several single images, as the ESRF's reduced flats, one of which is named. */
static void
test_reduced_flats (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "scan.nx");
  g_autofree char *flats = test_folder_file (folder, "scan_flats.hdf5");
  g_autofree char *one = g_strconcat (flats, "::/flats/0", NULL);
  TdScanOptions options = { .flats = flats, .angles = "0:180" };
  g_autoptr (GError) error = NULL;
  hid_t file = td_h5_create_sized (path, 0);

  add_frames (file, "data", 10, VIEWS, FALSE, 0);
  g_assert_true (td_h5_finish (file));
  file = td_h5_create_sized (flats, 0);
  {
    g_auto (TdH5Id) group = add_group (file, "flats");
    add_image (group, "0", 30, ROWS);
    add_image (group, "8", 31, ROWS);
  }
  g_assert_true (td_h5_finish (file));
  g_assert_null (td_scan_open (folder->path, NULL, NULL, &error));
  test_assert_sentence (error, "such as “scan.nx”");
  g_clear_error (&error);
  g_assert_null (td_scan_open (path, &options, NULL, &error));
  test_assert_sentence (error, "2 images; name the one to take");
  g_assert_nonnull (strstr (error->message, "/flats/0, /flats/8"));
  options.flats = one;
  g_autoptr (TdScan) scan = open_scan (path, &options);
  check_frame (scan, TD_FRAME_FLAT, 0, 30);
}

/* As many flats as views are no sinograms' image, if all have a single row. */
static void
test_flat_rows (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "scan.h5");
  const TdScanOptions options = { .angles = "0:180" };
  hid_t file = td_h5_create_sized (path, 0);

  {
    g_auto (TdH5Id) own = add_group (file, "exchange");
    g_auto (TdH5Id) data = td_h5_add_frames (own, "data", TD_SAMPLE_UINT16, VIEWS, 1, COLUMNS);

    add_image (own, "data_white", 30, VIEWS);
  }
  g_assert_true (td_h5_finish (file));
  g_autoptr (TdScan) scan = open_scan (path, &options);
  g_assert_cmpuint (td_scan_facts (scan)->n_views, ==, VIEWS);
  g_assert_cmpuint (td_scan_facts (scan)->n_flats, ==, VIEWS);
}

#define WIDE 32u

/* Floats without flats: a disc's line integrals, or the transmissions of them, with what no pixel
 * knows. */
static void
add_disc (hid_t group, gboolean logged)
{
  TD_H5_GUARD;
  g_auto (TdH5Id) dataset = td_h5_add_frames (group, "data", TD_SAMPLE_FLOAT32, VIEWS, ROWS, WIDE);
  float frame[ROWS * WIDE];

  for (guint i = 0; i < ROWS * WIDE; i++) {
    const double x = i % WIDE - (WIDE - 1) / 2.0, line = 0.1 * sqrt (fmax (0, 100 - x * x));
    frame[i] = (float) (logged ? line : exp (-line));
  }
  frame[0] = frame[WIDE - 1] = NAN;
  for (guint i = 0; i < VIEWS; i++)
    g_assert_true (td_h5_write_frame (dataset, TD_SAMPLE_FLOAT32, i, ROWS, WIDE, frame));
}

/* Whether -log was taken is seen in any format, and can be stated. */
static void
test_values (void)
{
  for (guint which = 0; which < 4; which++) {
    const gboolean logged = which & 1, exchange = which & 2;
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autofree char *path = test_folder_file (folder, "scan.h5");
    hid_t file = td_h5_create_sized (path, 0);

    {
      g_auto (TdH5Id) group = add_group (file, exchange ? "exchange" : "any");

      add_disc (group, logged);
    }
    g_assert_true (td_h5_finish (file));
    for (TdScanValues stated = TD_SCAN_VALUES_FOUND; stated <= TD_SCAN_VALUES_ATTENUATIONS;
         stated++) {
      const TdScanOptions options = { .angles = "0:180", .values = stated };
      g_autoptr (TdScan) scan = open_scan (path, &options);

      g_assert_cmpint (td_scan_facts (scan)->transmission_logged, ==,
                       stated == TD_SCAN_VALUES_FOUND ? logged
                                                      : stated == TD_SCAN_VALUES_ATTENUATIONS);
    }
  }
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
  hid_t file = td_h5_create_sized (path, 0);

  {
    g_auto (TdH5Id) space = H5Screate_simple (3, shape, NULL);
    g_auto (TdH5Id) dataset
        = H5Dcreate2 (file, "a", H5T_STD_U16LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);

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
  GThread *threads[4];
  hid_t file = td_h5_create_sized (path, 0);

  add_nxtomo (file, "entry", "deg", 1);
  g_assert_true (td_h5_finish (file));
  g_autoptr (TdScan) scan = open_scan (path, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    threads[i] = g_thread_new ("read", read_again, scan);
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    g_thread_join (threads[i]);
}

static void
test_k11 (void)
{
  g_autofree char *path = test_scan_path ("k11_diad/k11-18014.nxs");

  if (!path)
    return;
  g_autoptr (TdScan) scan = open_scan (path, NULL);
  const TdScanFacts *facts = td_scan_facts (scan);
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
  static const char *const files[]
      = { "k11-18014.nxs", "k11-18014-imaging.h5", "k11-18014-pcompPanda.h5" };
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

/* Attributes by which values are others than the numbers are told, unless they change nothing. */
static void
test_scaled (void)
{
  static const struct {
    const char *name;
    double nothing;
  } attributes[] = { { "scale_factor", 1 },
                     { "scaling_factor", 1 },
                     { "add_offset", 0 },
                     { "scale", 1 },
                     { "offset", 0 } };

  for (guint i = 0; i < 2 * G_N_ELEMENTS (attributes); i++) {
    const char *name = attributes[i / 2].name;
    const double value = i % 2 ? attributes[i / 2].nothing : 1 - attributes[i / 2].nothing;
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autofree char *path = test_folder_file (folder, "scan.h5");
    hid_t file = td_h5_create_sized (path, 0);

    {
      TD_H5_GUARD;
      g_auto (TdH5Id) exchange = add_group (file, "exchange");
      add_frames (exchange, "data", 10, VIEWS, FALSE, 0);
      g_auto (TdH5Id) frames = H5Dopen2 (exchange, "data", H5P_DEFAULT);
      g_assert_true (td_h5_set_double (frames, name, value));
    }
    g_assert_true (td_h5_finish (file));
    g_autoptr (TdScan) scan = open_scan (path, &(TdScanOptions) { .angles = "0:180" });
    g_autofree char *notes = td_messages_join (td_scan_facts (scan)->notes, "\n", NULL);
    g_autofree char *says = g_strdup_printf ("a %s of %g, which", name, value);
    g_assert_cmpint (strstr (notes, says) != NULL, ==, i % 2 == 0);
  }
}

/* ── Each thing of a file is lost, and each number is another ── */

typedef struct {
  const char *path;
  double value;
  const char *units;
} Number;

static void
add_numbers (hid_t file, const Number *numbers, guint n)
{
  for (guint i = 0; i < n; i++)
    add_number (file, numbers[i].path, numbers[i].value, numbers[i].units);
}

static void
make_rich_nxtomo (hid_t file)
{
  static const Number numbers[] = {
    { "entry/instrument/detector/x_pixel_size", 0.01, "mm" },
    { "entry/instrument/detector/y_pixel_size", 20, "um" },
    { "entry/instrument/detector/distance", 0.5, "m" },
    { "entry/instrument/detector/estimated_cor_from_motor", 6, NULL },
    { "entry/instrument/detector/x_rotation_axis_pixel_position", 0.75, NULL },
    { "entry/instrument/source/distance", -3, "m" },
    { "entry/instrument/beam/incident_energy", 20000, "eV" },
    { "entry/sample/x_pixel_size", 0.011, "mm" },
    { "entry/sample/propagation_distance", 12, "cm" },
  };
  double counted[VIEWS + 4], shifts[VIEWS + 4];

  add_nxtomo (file, "entry", "deg", 1);
  add_numbers (file, numbers, G_N_ELEMENTS (numbers));
  g_auto (TdH5Id) entry = td_h5_find (file, "/entry", NULL);
  g_auto (TdH5Id) detector = td_h5_find (file, "/entry/instrument/detector", NULL);
  g_auto (TdH5Id) sample = td_h5_find (file, "/entry/sample", NULL);
  g_auto (TdH5Id) control = add_group (entry, "control");
  for (guint i = 0; i < VIEWS + 4; i++) {
    counted[i] = 100 + i;
    shifts[i] = i > 6 ? 0.001 : 0;
  }
  g_assert_true (td_h5_add_string (detector, "field_of_view", "Half")
                 && td_h5_add_string (entry, "title", "a bone")
                 && td_h5_add_doubles (detector, "count_time", counted, VIEWS + 4, "s")
                 && td_h5_add_doubles (sample, "x_translation", shifts, VIEWS + 4, "m")
                 && td_h5_add_doubles (control, "data", counted, VIEWS + 4, NULL));
}

static void
make_rich_dxchange (hid_t file)
{
  static const Number numbers[] = {
    { "measurement/instrument/detector/pixel_size_x", 4, "um" },
    { "measurement/instrument/detector/pixel_size_y", 5, "um" },
    { "measurement/instrument/detector/binning_x", 2, NULL },
    { "measurement/instrument/detector/exposure_time", 0.1, NULL },
    { "measurement/instrument/detector/exposure_time_flat", 0.2, NULL },
    { "measurement/instrument/detector_motor_stack/setup/camera_distance", 50, "mm" },
    { "measurement/instrument/detection_system/objective/magnification", 2, NULL },
    { "measurement/instrument/detection_system/objective/resolution", 1.5, "um" },
    { "measurement/instrument/monochromator/energy", 25, "keV" },
    { "process/acquisition/rotation/rotation_start", 5, NULL },
    { "process/acquisition/rotation/rotation_step", 0.25, NULL },
  };
  double angles[VIEWS];

  fill_angles (angles);
  add_numbers (file, numbers, G_N_ELEMENTS (numbers));
  g_auto (TdH5Id) exchange = add_group (file, "exchange");
  add_frames (exchange, "data", 10, VIEWS, FALSE, 0);
  add_frames (exchange, "data_white", 30, 2, FALSE, 0);
  add_frames (exchange, "data_dark", 40, 1, FALSE, 0);
  g_assert_true (td_h5_add_doubles (exchange, "theta", angles, VIEWS, NULL));
}

static void
make_cil (hid_t file)
{
  static const double right[] = { 1, 0, 0 }, up[] = { 0, 0, 1 }, source[] = { 0, -100, 0 },
                      detector_at[] = { 2, 300, 1 }, axis_at[] = { 1, 5, 0 };
  double angles[VIEWS];

  for (guint view = 0; view < VIEWS; view++)
    angles[view] = 10 + 20 * view;
  g_auto (TdH5Id) entry = add_group (file, "entry"), data = add_group (entry, "data"),
                  config = add_group (entry, "config"), detector = add_group (config, "detector"),
                  beam = add_group (config, "source"), axis = add_group (config, "rotation_axis");
  add_frames (data, "data", 10, VIEWS, FALSE, 0);
  g_auto (TdH5Id) frames = H5Dopen2 (data, "data", H5P_DEFAULT);
  set_half (frames, "pixel_size_h");
  g_assert_true (td_h5_set_string (frames, "geometry", "cone")
                 && td_h5_set_string (frames, "panel_origin", "top-left")
                 && td_h5_set_string (frames, "dim0", "angle")
                 && td_h5_set_string (frames, "dim2", "horizontal")
                 && td_h5_add_doubles (detector, "position", detector_at, 3, NULL)
                 && td_h5_add_doubles (detector, "direction_x", right, 3, NULL)
                 && td_h5_add_doubles (detector, "direction_y", up, 3, NULL)
                 && td_h5_add_doubles (beam, "position", source, 3, NULL)
                 && td_h5_add_doubles (axis, "position", axis_at, 3, NULL)
                 && td_h5_add_doubles (axis, "direction", up, 3, NULL)
                 && td_h5_add_doubles (config, "angles", angles, VIEWS, "degree"));
}

/* As versions before 21 of the Core Imaging Library wrote it. */
static void
make_old_cil (hid_t file)
{
  double angles[VIEWS];

  fill_angles (angles);
  g_auto (TdH5Id) entry = add_group (file, "entry1"), tomo = add_group (entry, "tomo_entry"),
                  data = add_group (tomo, "data");
  add_frames (data, "data", 10, VIEWS, FALSE, 0);
  g_auto (TdH5Id) frames = H5Dopen2 (data, "data", H5P_DEFAULT);
  g_assert_true (td_h5_set_string (frames, "geom_type", "cone")
                 && td_h5_set_double (frames, "dist_source_center", 100)
                 && td_h5_set_double (frames, "dist_center_detector", 200)
                 && td_h5_set_double (frames, "pixel_size_h", 0.5)
                 && td_h5_set_double (frames, "pixel_size_v", 0.4)
                 && td_h5_add_doubles (data, "rotation_angle", angles, VIEWS, "degree"));
}

static void
make_tdf (hid_t file)
{
  double angles[VIEWS];

  fill_angles (angles);
  add_frames (file, "tomo", 10, VIEWS, FALSE, 0);
  add_frames (file, "flat", 30, 2, FALSE, 0);
  add_frames (file, "flat_post", 32, 1, FALSE, 0);
  add_frames (file, "dark", 40, 1, FALSE, 0);
  g_assert_true (td_h5_add_doubles (file, "theta", angles, VIEWS, "deg"));
}

/* Data sets of no layout that is known, which go by their names. */
static void
make_named_sets (hid_t file)
{
  double angles[VIEWS];

  fill_angles (angles);
  g_auto (TdH5Id) scan = add_group (file, "scan"), before = add_group (scan, "flats_before"),
                  after = add_group (scan, "flats_after");
  add_frames (scan, "projections", 10, VIEWS, FALSE, 0);
  add_frames (before, "data", 30, 2, FALSE, 0);
  add_frames (after, "data", 32, 1, FALSE, 0);
  add_frames (scan, "dark", 40, 1, FALSE, 0);
  g_assert_true (td_h5_add_doubles (scan, "angles", angles, VIEWS, NULL));
}

/* "group/set" of all that is below, and "group/set@attribute". */
static void
list_all (hid_t object, const char *path, GPtrArray *all)
{
  char name[100];

  for (hsize_t i = 0; H5Aget_name_by_idx (object, ".", H5_INDEX_NAME, H5_ITER_INC, i, name,
                                          sizeof name, H5P_DEFAULT)
                      > 0;
       i++)
    g_ptr_array_add (all, g_strdup_printf ("%s@%s", path, name));
  for (hsize_t i = 0; H5Iget_type (object) != H5I_DATASET
                      && H5Lget_name_by_idx (object, ".", H5_INDEX_NAME, H5_ITER_INC, i, name,
                                             sizeof name, H5P_DEFAULT)
                             > 0;
       i++) {
    g_autofree char *below = g_strdup_printf ("%s%s%s", path, *path ? "/" : "", name);
    g_auto (TdH5Id) child = H5Oopen (object, name, H5P_DEFAULT);
    g_ptr_array_add (all, g_strdup (below));
    list_all (child, below, all);
  }
}

/* What becomes of a file's things: they are lost (NAN), are so many times themselves, or one of a
   list is another. */
typedef struct {
  double factor;
  int element; /* of a list; -1: all of few numbers */
  double value;
} Change;

/* FALSE: what is at the path is no number, or many; or no list. */
static gboolean
change_numbers (hid_t file, const char *path, const Change *change)
{
  double values[VIEWS + 4];
  const char *attribute = strchr (path, '@');
  g_autofree char *owner = attribute ? g_strndup (path, attribute - path) : g_strdup (path);
  g_auto (TdH5Id) object = H5Oopen (file, *owner ? owner : ".", H5P_DEFAULT);
  g_auto (TdH5Id) read = attribute ? H5Aopen (object, attribute + 1, H5P_DEFAULT) : -1;
  const gboolean set = attribute || H5Iget_type (object) == H5I_DATASET;
  g_auto (TdH5Id) type = !set ? -1 : attribute ? H5Aget_type (read) : H5Dget_type (object);
  g_auto (TdH5Id) space = !set ? -1 : attribute ? H5Aget_space (read) : H5Dget_space (object);
  const gssize n = set ? H5Sget_simple_extent_npoints (space) : 0;
  const H5T_class_t kind = set ? H5Tget_class (type) : H5T_STRING;
  const gboolean list = n > 3;

  if ((kind != H5T_FLOAT && kind != H5T_INTEGER) || H5Sget_simple_extent_ndims (space) > 1
      || n > (gssize) G_N_ELEMENTS (values) || list != (change->element >= 0))
    return FALSE;
  if (attribute)
    H5Aread (read, H5T_NATIVE_DOUBLE, values);
  else
    H5Dread (object, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
  for (gssize i = 0; i < n; i++)
    if (!list)
      values[i] *= change->factor;
    else if (i == change->element)
      values[i] = change->value;
  return (attribute ? H5Awrite (read, H5T_NATIVE_DOUBLE, values)
                    : H5Dwrite (object, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values))
         >= 0;
}

static void
pin_changed (const char *file_path, GBytes *sound, const char *path, const Change *change,
             char *const *usual)
{
  const char *attribute = strchr (path, '@');
  const gboolean lost = isnan (change->factor);
  g_autoptr (GError) error = NULL;

  g_remove (file_path);
  g_assert_true (g_file_set_contents_full (file_path, g_bytes_get_data (sound, NULL),
                                           (gssize) g_bytes_get_size (sound),
                                           G_FILE_SET_CONTENTS_NONE, 0600, NULL));
  {
    TD_H5_GUARD;
    g_auto (TdH5Id) file = H5Fopen (file_path, H5F_ACC_RDWR, H5P_DEFAULT);
    if (attribute && lost) {
      g_autofree char *owner = g_strndup (path, attribute - path);
      g_assert_cmpint (H5Adelete_by_name (file, *owner ? owner : ".", attribute + 1, H5P_DEFAULT),
                       >=, 0);
    } else if (lost)
      g_assert_cmpint (H5Ldelete (file, path, H5P_DEFAULT), >=, 0);
    else if (!change_numbers (file, path, change))
      return;
  }
  g_autofree char *what = lost                  ? g_strdup_printf ("without %s", path)
                          : change->element < 0 ? g_strdup_printf ("%g of %s", change->factor, path)
                                                : g_strdup_printf ("%s, %d is %g", path,
                                                                   change->element, change->value);
  g_autoptr (TdScan) scan = td_scan_open (file_path, NULL, NULL, &error);
  g_auto (GStrv) lines = td_test_opened_lines (scan, error);
  if (lost || change->factor == 0 || change->factor == 1.5) {
    td_test_pin_opened (what, lines, usual);
    return;
  }
  g_autofree char *changes = td_test_opened_changes (lines, usual);
  td_test_pin ("%s: %s", what, changes);
}

static void
test_changed (gconstpointer data)
{
  static const Change changes[] = {
    { NAN, -1, 0 },  { 0, -1, 0 },   { 1.5, -1, 0 },  { -1, -1, 0 },    { 0.996, -1, 0 },
    { 1e-6, -1, 0 }, { 1e5, -1, 0 }, { 1, 1, -1 },    { 1, 1, 1 },      { 1, 1, 2 },
    { 1, 5, 0 },     { 1, 5, NAN },  { 1, 8, 0.003 }, { 1, VIEWS, 90 },
  };
  void (*const make) (hid_t file) = (void (*) (hid_t)) (guintptr) data;
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "scan.h5"), *bytes = NULL;
  g_autoptr (GPtrArray) all = g_ptr_array_new_with_free_func (g_free);
  const hid_t made = td_h5_create_sized (path, 0);
  g_autoptr (GError) error = NULL;
  gsize size;

  {
    TD_H5_GUARD;
    make (made);
    list_all (made, "", all);
  }
  g_assert_true (td_h5_finish (made));
  g_assert_true (g_file_get_contents (path, &bytes, &size, NULL));
  g_autoptr (GBytes) sound = g_bytes_new_take (g_steal_pointer (&bytes), size);
  g_autoptr (TdScan) scan = td_scan_open (path, NULL, NULL, &error);
  g_assert_no_error (error);
  g_auto (GStrv) usual = td_test_opened_lines (scan, NULL);
  td_test_pin_opened ("sound", usual, NULL);
  g_clear_pointer (&scan, td_scan_unref);
  for (guint i = 0; i < all->len; i++)
    for (guint k = 0; k < G_N_ELEMENTS (changes); k++)
      pin_changed (path, sound, all->pdata[i], &changes[k], usual);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < 8; i++) {
    g_autofree char *name
        = g_strdup_printf ("/hdf5/%s/%s/%s", i & 4 ? "tdf" : "dxchange",
                           i & 2 ? "sinograms" : "frames", i & 1 ? "theta" : "no-theta");

    g_test_add_data_func (name, GUINT_TO_POINTER (i), test_dxchange);
  }
  g_test_add_func ("/hdf5/dxchange/step", test_dxchange_step);
  g_test_add_func ("/hdf5/dxchange/axes", test_dxchange_axes);
  g_test_add_func ("/hdf5/dxchange/few", test_dxchange_few);
  g_test_add_func ("/hdf5/dxchange/pixels", test_dxchange_pixels);
  g_test_add_func ("/hdf5/dxchange/companions", test_dxchange_companions);
  g_test_add_func ("/hdf5/dxchange/exposures", test_dxchange_exposures);
  g_test_add_func ("/hdf5/companions", test_companions);
  g_test_add_func ("/hdf5/companions-of-tiff", test_companions_of_tiff);
  g_test_add_func ("/hdf5/stated-instead", test_stated_instead);
  g_test_add_func ("/hdf5/companion-scans", test_companion_scans);
  g_test_add_func ("/hdf5/leaning-flats", test_leaning_flats);
  g_test_add_func ("/hdf5/path-roles", test_path_roles);
  g_test_add_func ("/hdf5/other-files", test_other_files);
  g_test_add_func ("/hdf5/named", test_named);
  g_test_add_func ("/hdf5/stated-sinograms", test_stated_sinograms);
  g_test_add_func ("/hdf5/own-centre", test_own_centre);
  g_test_add_func ("/hdf5/keys-above", test_keys_above);
  g_test_add_func ("/hdf5/distance", test_distance);
  g_test_add_func ("/hdf5/beside", test_beside);
  g_test_add_func ("/hdf5/flat-rows", test_flat_rows);
  g_test_add_func ("/hdf5/described-sets", test_described_sets);
  g_test_add_func ("/hdf5/cil", test_cil);
  g_test_add_func ("/hdf5/reduced-flats", test_reduced_flats);
  g_test_add_func ("/hdf5/more-dimensions", test_more_dimensions);
  g_test_add_func ("/hdf5/elsewhere", test_elsewhere);
  g_test_add_func ("/hdf5/dxchange/stopped", test_dxchange_stopped);
  g_test_add_func ("/hdf5/angles-of-rows", test_angles_of_rows);
  g_test_add_func ("/hdf5/angles-elsewhere", test_angles_elsewhere);
  g_test_add_func ("/hdf5/many-sets", test_many_sets);
  g_test_add_func ("/hdf5/energy", test_energy);
  g_test_add_func ("/hdf5/flat-image", test_flat_image);
  g_test_add_func ("/hdf5/values", test_values);
  g_test_add_func ("/hdf5/never-written", test_never_written);
  g_test_add_func ("/hdf5/threads", test_threads);
  g_test_add_func ("/hdf5/k11", test_k11);
  g_test_add_data_func ("/hdf5/k11-missing/frames", GUINT_TO_POINTER (1), test_k11_missing);
  g_test_add_data_func ("/hdf5/k11-missing/angles", GUINT_TO_POINTER (2), test_k11_missing);
  g_test_add_func ("/hdf5/scaled", test_scaled);
  g_test_add_data_func ("/hdf5/changed/nxtomo", (gconstpointer) (guintptr) make_rich_nxtomo,
                        test_changed);
  g_test_add_data_func ("/hdf5/changed/dxchange", (gconstpointer) (guintptr) make_rich_dxchange,
                        test_changed);
  g_test_add_data_func ("/hdf5/changed/cil", (gconstpointer) (guintptr) make_cil, test_changed);
  g_test_add_data_func ("/hdf5/changed/old-cil", (gconstpointer) (guintptr) make_old_cil,
                        test_changed);
  g_test_add_data_func ("/hdf5/changed/tdf", (gconstpointer) (guintptr) make_tdf, test_changed);
  g_test_add_data_func ("/hdf5/changed/named-sets", (gconstpointer) (guintptr) make_named_sets,
                        test_changed);
  return g_test_run ();
}
