/* SPDX-License-Identifier: GPL-3.0-or-later */
/* NXtomo and its flavours: units, order of frames, mirrored ones, links. */
#include <inttypes.h>

#include "dataset/unit.h"
#include "hdf5-scans.h"

static void
test_nxtomo (gconstpointer data)
{
  const char *units = data;
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "scan.nxs");
  hid_t file = td_h5_create_sized (path, 0);

  add_nxtomo (file, "deep", units, units && strcmp (units, "rad") == 0 ? G_PI / 180 : 1);
  g_assert_true (td_h5_finish (file));
  g_autoptr (TdScan) scan = open_scan (path, NULL);
  g_assert_cmpstr (td_scan_facts (scan)->format, ==, "NXtomo (HDF5)");
  check_nxtomo (scan);
}

/* Reads that this process has asked the system for. */
static guint64
count_reads (void)
{
  g_autofree char *text = NULL;

  if (!g_file_get_contents ("/proc/self/io", &text, NULL, NULL))
    return 0;
  const char *line = strstr (text, "syscr:");
  return line ? g_ascii_strtoull (line + strlen ("syscr:"), NULL, 10) : 0;
}

/* Where each answer takes 20 ms, a file that opens by a hundred reads takes seconds to open. */
static void
test_few_reads (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "scan.nxs");
  hid_t file = td_h5_create_sized (path, 0);

  add_nxtomo (file, "entry", "deg", 1);
  g_assert_true (td_h5_finish (file));
  guint64 before = count_reads ();
  if (before == 0) {
    g_test_skip ("this system does not count reads");
    return;
  }
  {
    g_autoptr (GError) error = NULL;
    g_autoptr (TdScan) scan = td_scan_open (path, NULL, NULL, &error);
    const guint64 reads = count_reads () - before;

    g_test_message ("%" PRIu64 " reads", reads);
    g_assert_cmpuint (reads, <=, 20);
    check_nxtomo (scan);
  }
}

/* What the ESRF adds: metres in an attribute called unit, alignment frames, centre and field of
 * view. */
static void
test_esrf (void)
{
  static const gint8 control[VIEWS + 4] = { 2, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, -1 };
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "scan.nx");
  double pixel = 6.5e-6, distance = 0.15, energy = 19, cor = 2.25;
  double signed_control[VIEWS + 4];
  hid_t file = td_h5_create_sized (path, 0);

  add_nxtomo (file, "entry0000", "degree", 1);
  add_nxtomo (file, "entry0001", "degree", 1);
  {
    g_auto (TdH5Id) entry = td_h5_find (file, "/entry0000", NULL);
    g_auto (TdH5Id) detector = td_h5_find (file, "/entry0000/instrument/detector", NULL);
    g_auto (TdH5Id) beam = add_group (entry, "beam");
    g_auto (TdH5Id) monitor = add_group (entry, "control");
    g_auto (TdH5Id) size = -1;

    for (guint i = 0; i < VIEWS + 4; i++)
      signed_control[i] = control[i];
    g_assert_true (
        td_h5_add_doubles (detector, "image_key_control", signed_control, VIEWS + 4, NULL));
    for (guint i = 0; i < VIEWS + 4; i++)
      signed_control[i] = 100 + i;
    g_assert_true (td_h5_add_doubles (monitor, "data", signed_control, VIEWS + 4, "mA"));
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
  g_autoptr (TdScan) scan = open_scan (path, NULL);
  const TdScanFacts *facts = td_scan_facts (scan);
  g_assert_cmpuint (facts->n_views, ==, VIEWS); /* one more by control, one for alignment */
  g_assert_cmpfloat_with_epsilon (facts->geometry.pixel_width_mm, 0.0065, 1e-12);
  g_assert_cmpfloat_with_epsilon (facts->geometry.pixel_height_mm, 0.0065, 1e-12);
  g_assert_cmpfloat_with_epsilon (facts->propagation_mm, 150, 1e-9);
  g_assert_cmpfloat (facts->energy_kev, ==, 19);
  g_assert_cmpfloat (facts->centre_px, ==, 5 + 2.25);
  g_assert_true (facts->half_acquisition);
  g_assert_cmpstr (facts->title, ==, "bone");
  g_autofree char *first = td_message_text (facts->notes[0], NULL);
  g_assert_nonnull (strstr (first, "2 scans"));

  g_assert_cmpuint (td_scan_extra_frames (scan), ==, 1);
  g_autoptr (TdScan) all = td_scan_with_extra (scan);
  g_assert_cmpuint (td_scan_facts (all)->n_views, ==, VIEWS + 1);
  g_assert_cmpfloat_with_epsilon (td_scan_facts (all)->angles_rad[VIEWS], 42 * G_PI / 180, 1e-12);
  const double *counts = td_scan_facts (all)->monitor;
  g_assert_cmpfloat (counts[VIEWS - 1], ==, 111);
  g_assert_cmpfloat_with_epsilon (counts[VIEWS], 100 + 59 / 9.0, 1e-9); /* the views' mean */
  g_assert_cmpfloat (counts[VIEWS + 1], ==, 101);
  g_assert_cmpfloat (counts[VIEWS + 2], ==, 106);
  check_sinograms (all);
  check_frame (all, TD_FRAME_PROJECTION, VIEWS - 1, 11);
  check_frame (all, TD_FRAME_PROJECTION, VIEWS, 12);
  check_frame (all, TD_FRAME_FLAT, 0, 1);
}

/* How a file may say that its frames are mirrored. */
typedef enum {
  FLIPS_PLAIN,  /* x_flipped, y_flipped */
  FLIPS_MCSTAS, /* NXtransformations: x across, y up, z along the beam */
  FLIPS_ESRF,   /* the same, x along the beam, y across, z up; by the file's version */
  FLIPS_FORMS,
} FlipsForm;

typedef struct {
  FlipsForm form;
  gboolean x, y;
} Flips;

static void
put_number (hid_t object, const char *name, hid_t type, const void *values, hsize_t n)
{
  g_auto (TdH5Id) space = n ? H5Screate_simple (1, &n, NULL) : H5Screate (H5S_SCALAR);
  g_auto (TdH5Id) attribute = H5Acreate2 (object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);

  g_assert_cmpint (H5Awrite (attribute, type, values), >=, 0);
}

/* As nxtomo writes one transformation. */
static void
put_transformation (hid_t group, const char *name, const char *kind, double value, guint axis)
{
  gint64 vector[3] = { 0 };

  vector[axis] = 1;
  g_assert_true (td_h5_add_doubles (group, name, &value, 0,
                                    g_str_equal (kind, "rotation") ? "deg" : "m / s ** 2"));
  g_auto (TdH5Id) set = td_h5_find (group, name, NULL);
  g_assert_true (td_h5_set_string (set, "transformation_type", kind));
  put_number (set, "vector", H5T_NATIVE_INT64, vector, 3);
}

static void
put_flips (hid_t file, const Flips *flips)
{
  TD_H5_GUARD;
  static const guint across[] = { [FLIPS_MCSTAS] = 0, [FLIPS_ESRF] = 1 };
  g_auto (TdH5Id) entry = td_h5_find (file, "/entry", NULL);
  g_auto (TdH5Id) detector = td_h5_find (entry, "instrument/detector", NULL);
  const double x = flips->x, y = flips->y, version = flips->form == FLIPS_ESRF ? 1.4 : 2.1;

  if (flips->form == FLIPS_PLAIN) {
    g_assert_true (td_h5_add_doubles (detector, "x_flipped", &x, 0, NULL));
    g_assert_true (td_h5_add_doubles (detector, "y_flipped", &y, 0, NULL));
    return;
  }
  put_number (entry, "version", H5T_NATIVE_DOUBLE, &version, 0);
  g_auto (TdH5Id) group = td_h5_add_group (detector, "transformations", "NX_transformations");
  put_transformation (group, "gravity", "gravity", 9.80665, 2);
  if (flips->x && flips->y) { /* half a turn in the detector's own plane is both */
    put_transformation (group, "rz", "rotation", -180, flips->form == FLIPS_ESRF ? 0 : 2);
    return;
  }
  /* Turning about the vertical mirrors from left to right. */
  put_transformation (group, "ra", "rotation", flips->x ? 180 : 360, across[flips->form] + 1);
  put_transformation (group, "rb", "rotation", flips->y ? 180 : 0, across[flips->form]);
}

/* Frames that are stored mirrored come out the right way round, with all that belongs to them. */
static void
test_flips (gconstpointer which)
{
  const guint number = GPOINTER_TO_UINT (which);
  const gboolean x = number & 1, y = number & 2;
  const Flips flips = { number / 4, x, y };
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "scan.nx");
  g_autoptr (GError) error = NULL;
  const double cor = 2.25;
  double control[VIEWS + 4];
  float frame[ROWS][COLUMNS], rows[2][VIEWS][COLUMNS];
  hid_t file = td_h5_create_sized (path, 0);

  add_nxtomo (file, "entry", "degree", 1);
  {
    g_auto (TdH5Id) detector = td_h5_find (file, "/entry/instrument/detector", NULL);
    for (guint i = 0; i < VIEWS + 4; i++)
      control[i] = i == 12 ? -1 : i == 5 ? 0 : keys[i];
    g_assert_true (td_h5_add_doubles (detector, "image_key_control", control, VIEWS + 4, NULL));
    g_assert_true (td_h5_add_doubles (detector,
                                      flips.form == FLIPS_PLAIN ? "estimated_cor_from_motor"
                                                                : "x_rotation_axis_pixel_position",
                                      &cor, 0, NULL));
    put_flips (file, &flips);
  }
  g_assert_true (td_h5_finish (file));
  g_autoptr (TdScan) scan = open_scan (path, NULL);
  g_autoptr (TdScan) all = td_scan_with_extra (scan);
  g_assert_cmpfloat (td_scan_facts (scan)->centre_px, ==, x ? 10 - 7.25 : 7.25);
  g_assert_cmpuint (td_scan_facts (scan)->n_columns, ==, COLUMNS);
  g_assert_cmpuint (td_scan_facts (all)->n_views, ==, VIEWS + 1);
  for (guint i = 0; i < 3; i++) {
    static const guint numbers[] = { 0, VIEWS, 0 }, stored[] = { 2, 12, 1 };
    td_scan_read (
        all,
        &(TdFrameRange) { i == 2 ? TD_FRAME_FLAT : TD_FRAME_PROJECTION, numbers[i], 1, 0, ROWS },
        &frame[0][0], NULL, &error);
    g_assert_no_error (error);
    for (guint r = 0; r < ROWS; r++)
      for (guint c = 0; c < COLUMNS; c++)
        g_assert_cmpfloat (frame[r][c], ==,
                           value_of (stored[i], y ? ROWS - 1 - r : r, x ? COLUMNS - 1 - c : c));
  }
  td_scan_read_sinograms (scan, &(TdFrameRange) { TD_FRAME_PROJECTION, 0, VIEWS, 1, 2 },
                          &rows[0][0][0], NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpfloat (rows[1][3][4], ==, value_of (5, y ? ROWS - 3 : 2, x ? COLUMNS - 5 : 4));
}

/* A Boolean as h5py writes it. */
static void
put_boolean (hid_t group, const char *name, gint8 value)
{
  TD_H5_GUARD;
  g_auto (TdH5Id) type = H5Tenum_create (H5T_NATIVE_INT8);
  g_auto (TdH5Id) space = H5Screate (H5S_SCALAR);

  H5Tenum_insert (type, "FALSE", &(gint8) { 0 });
  H5Tenum_insert (type, "TRUE", &(gint8) { 1 });
  g_auto (TdH5Id) set
      = H5Dcreate2 (group, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  g_assert_cmpint (H5Dwrite (set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, &value), >=, 0);
}

/* What nxtomo 2 and 3 say of the axis: half acquisition, and a position that is counted from the
   middle unless that contradicts it. */
static void
test_nxtomo_axis (void)
{
  static const struct {
    const char *view; /* field_of_view; NULL: half_acquisition says it */
    gint8 half;       /* -1: neither does */
    double position, column;
  } cases[] = {
    { NULL, 1, -3.25, 1.75 },   { NULL, 1, 3.25, 8.25 }, { NULL, 0, 0.5, 5.5 },
    { NULL, 0, 5.25, 5.25 },    { NULL, 1, 1, 1 },       { NULL, -1, 5, 10 },
    { NULL, -1, 8.5, 8.5 },     { "Half", -1, 3, 8 },    { "Full", -1, 5.25, 5.25 },
    { "Half", 0, -0.25, 4.75 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autofree char *path = test_folder_file (folder, "scan.nx");
    hid_t file = td_h5_create_sized (path, 0);

    add_nxtomo (file, "entry", "degree", 1);
    {
      g_auto (TdH5Id) detector = td_h5_find (file, "/entry/instrument/detector", NULL);

      if (cases[i].half >= 0)
        put_boolean (detector, "half_acquisition", cases[i].half);
      if (cases[i].view)
        g_assert_true (td_h5_add_string (detector, "field_of_view", cases[i].view));
      g_assert_true (td_h5_add_doubles (detector, "x_rotation_axis_pixel_position",
                                        &cases[i].position, 0, NULL));
    }
    g_assert_true (td_h5_finish (file));
    g_autoptr (TdScan) scan = open_scan (path, NULL);
    g_assert_cmpfloat (td_scan_facts (scan)->centre_px, ==, cases[i].column);
    g_assert_cmpint (td_scan_facts (scan)->half_acquisition, ==,
                     cases[i].half >= 0 ? cases[i].half : g_strcmp0 (cases[i].view, "Half") == 0);
    g_assert_cmpuint (
        td_messages_length (td_scan_facts (scan)->notes), ==,
        2 + (cases[i].half >= 0 && cases[i].view)); /* one says that a frame is invalid */
  }
}

/* A geometry file is of the frames as they are seen, mirrored or not. */
static void
test_flips_geometry (void)
{
  static const char *const geometries[]
      = { "{\"beam\": \"cone\", \"pixel_width_mm\": 0.5, \"pixel_height_mm\": 0.5, "
          "\"source_axis_mm\": 100, \"source_detector_mm\": 150, "
          "\"detector_offset_u_px\": 1.25, \"detector_offset_v_px\": -0.75}",
          "{\"beam\": \"parallel\", \"pixel_width_mm\": 0.5, \"detector_offset_u_px\": 1.25}" };

  for (guint i = 0; i < 8; i++) {
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autofree char *path = test_folder_file (folder, "scan.nx");
    g_autofree char *geometry = test_folder_file (folder, "geometry.json");
    const TdScanOptions options = { .geometry = geometry };
    const Flips flips = { FLIPS_PLAIN, i & 1, i & 2 };
    hid_t file = td_h5_create_sized (path, 0);

    add_nxtomo (file, "entry", "degree", 1);
    put_flips (file, &flips);
    g_assert_true (td_h5_finish (file));
    g_assert_true (g_file_set_contents (geometry, geometries[i >> 2], -1, NULL));
    g_autoptr (TdScan) scan = open_scan (path, &options);
    const TdScanFacts *facts = td_scan_facts (scan);
    g_assert_cmpfloat_with_epsilon (facts->centre_px, (COLUMNS - 1) / 2.0 + 1.25, 1e-12);
    g_assert_cmpfloat (facts->geometry.detector_offset_u_px, ==, 1.25);
    g_assert_cmpfloat (facts->geometry.detector_offset_v_px, ==, i < 4 ? -0.75 : 0);
  }
}

/* A turn of the detector that is none of the mirrorings is said to be left. */
static void
test_nxtomo_turned (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "scan.nx");
  hid_t file = td_h5_create_sized (path, 0);

  add_nxtomo (file, "entry", "degree", 1);
  {
    g_auto (TdH5Id) detector = td_h5_find (file, "/entry/instrument/detector", NULL);
    g_auto (TdH5Id) group = td_h5_add_group (detector, "placed", "NXtransformations");

    put_transformation (group, "rz", "rotation", 90, 2);
    put_transformation (group, "z", "translation", 180, 2);
  }
  g_assert_true (td_h5_finish (file));
  g_autoptr (TdScan) scan = open_scan (path, NULL);
  g_autofree char *note = td_messages_join (td_scan_facts (scan)->notes, "\n", NULL);
  g_assert_nonnull (strstr (note, "placed/rz"));
  check_frame (scan, TD_FRAME_PROJECTION, 0, 2);
}

/* Turns, flips and an axis that are there and are no numbers are told, each by its name. */
static void
test_nxtomo_no_numbers (void)
{
  static const char *const names[] = { "half_acquisition",         "x_flipped", "y_flipped",
                                       "estimated_cor_from_motor", "tomo_n",    "rz" };
  const double none = NAN;

  for (guint i = 0; i < G_N_ELEMENTS (names); i++) {
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autofree char *path = test_folder_file (folder, "scan.nx");
    hid_t file = td_h5_create_sized (path, 0);

    add_nxtomo (file, "entry", "degree", 1);
    {
      g_auto (TdH5Id) detector = td_h5_find (file, "/entry/instrument/detector", NULL);

      if (g_str_equal (names[i], "rz")) {
        g_auto (TdH5Id) group = td_h5_add_group (detector, "placed", "NXtransformations");
        put_transformation (group, "rz", "rotation", NAN, 2);
      } else
        g_assert_true (td_h5_add_doubles (detector, names[i], &none, 0, NULL));
    }
    g_assert_true (td_h5_finish (file));
    g_autoptr (TdScan) scan = open_scan (path, NULL);
    g_autofree char *note = td_messages_join (td_scan_facts (scan)->notes, "\n", NULL);
    g_autofree char *said
        = g_strdup_printf ("The file's “%s” holds no number, and is not used.", names[i]);
    g_assert_nonnull (strstr (note, said));
    check_frame (scan, TD_FRAME_PROJECTION, 0, 2);
  }
}

/* Lists of numbers: one dimension at most is longer than 1. */
static void
test_lists (void)
{
  TD_H5_GUARD;
  static const struct {
    int rank;
    hsize_t shape[4];
    gsize n; /* 0: refused */
  } lists[] = { { 0, { 0 }, 1 },    { 1, { 1 }, 1 },       { 1, { 5 }, 5 },
                { 2, { 2, 1 }, 2 }, { 3, { 1, 2, 1 }, 2 }, { 4, { 1, 1, 1, 3 }, 3 },
                { 2, { 2, 2 }, 0 }, { 3, { 1, 2, 5 }, 0 }, { 3, { 5, 1, 2 }, 0 },
                { 2, { 3, 3 }, 0 }, { 1, { 0 }, 0 } };
  static const double values[25] = { 4 };
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "lists.h5");
  g_auto (TdH5Id) file = td_h5_create_sized (path, 0);

  for (guint i = 0; i < G_N_ELEMENTS (lists); i++) {
    g_autofree char *name = g_strdup_printf ("%u", i);
    g_auto (TdH5Id) space = lists[i].rank ? H5Screate_simple (lists[i].rank, lists[i].shape, NULL)
                                          : H5Screate (H5S_SCALAR);
    g_auto (TdH5Id) dataset
        = H5Dcreate2 (file, name, H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    gsize n = 0;

    H5Dwrite (dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    g_autofree double *numbers = td_h5_numbers (dataset, name, &n, NULL);
    g_assert_cmpuint (numbers ? n : 0, ==, lists[i].n);
    if (numbers)
      g_assert_cmpfloat (numbers[0], ==, 4);
  }
}

static void
test_nxtomo_wrong (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "scan.nxs");
  static const TdScanOptions angles = { .angles = "0:180" };
  g_autoptr (GError) error = NULL;
  hid_t file = td_h5_create_sized (path, 0);

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
    td_test_pin_refused (error);
    g_clear_error (&error);
  }
  {
    g_autoptr (TdScan) scan = open_scan (path, &angles);

    g_assert_cmpfloat_with_epsilon (td_scan_facts (scan)->angles_rad[VIEWS - 1], G_PI, 1e-12);
  }
}

/* An angle that is no number is refused wherever it stands; one of a flat is not asked for. */
static void
test_no_angle (void)
{
  static const struct {
    hsize_t frame;
    const char *says; /* NULL: it is a scan */
  } cases[] = { { 1, NULL }, { 2, "view 0 is" }, { 7, "view 3 is" }, { VIEWS + 3, "view 8 is" } };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autofree char *path = test_folder_file (folder, "scan.nxs");
    const hid_t file = td_h5_create_sized (path, 0);
    const double none = NAN;
    g_autoptr (GError) error = NULL;

    add_nxtomo (file, "entry", NULL, 1);
    {
      TD_H5_GUARD;
      g_auto (TdH5Id) angles = td_h5_find (file, "/entry/sample/rotation_angle", NULL);
      g_auto (TdH5Id) place = H5Dget_space (angles);
      const hsize_t one = 1;
      g_auto (TdH5Id) value = H5Screate_simple (1, &one, NULL);
      H5Sselect_elements (place, H5S_SELECT_SET, 1, &cases[i].frame);
      g_assert_cmpint (H5Dwrite (angles, H5T_NATIVE_DOUBLE, value, place, H5P_DEFAULT, &none), >=,
                       0);
    }
    g_assert_true (td_h5_finish (file));
    g_autoptr (TdScan) scan = td_scan_open (path, NULL, NULL, &error);
    g_assert_cmpint (scan == NULL, ==, cases[i].says != NULL);
    if (cases[i].says)
      test_assert_sentence (error, cases[i].says);
  }
}

/* A detector of another name, and frames behind as many links as are followed, or one more. */
static void
test_behind_links (void)
{
  for (guint n_links = 0; n_links <= 17; n_links += n_links ? 1 : 16) {
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autofree char *path = test_folder_file (folder, "scan.nxs");
    const hid_t file = td_h5_create_sized (path, 0);
    g_autoptr (GError) error = NULL;

    add_nxtomo (file, "entry", NULL, 1);
    {
      TD_H5_GUARD;
      g_auto (TdH5Id) instrument = td_h5_find (file, "/entry/instrument", NULL);
      H5Lmove (instrument, "detector", instrument, "imaging", H5P_DEFAULT, H5P_DEFAULT);
      if (n_links)
        H5Lmove (instrument, "imaging/data", file, "link0", H5P_DEFAULT, H5P_DEFAULT);
      for (guint i = 1; i <= n_links; i++) {
        g_autofree char *to = g_strdup_printf ("/link%u", i - 1);
        g_autofree char *from = g_strdup_printf ("/link%u", i);
        H5Lcreate_soft (to, file, i < n_links ? from : "/entry/instrument/imaging/data",
                        H5P_DEFAULT, H5P_DEFAULT);
      }
    }
    g_assert_true (td_h5_finish (file));
    g_autoptr (TdScan) scan = td_scan_open (path, NULL, NULL, &error);
    if (n_links <= 16) {
      g_assert_no_error (error);
      check_nxtomo (scan);
    } else
      test_assert_sentence (error, "goes round in a circle");
  }
}

/* What 3 of each unit is, in millimetres, keV and radians; 0: it is none of those. */
static void
test_units (void)
{
  static const struct {
    const char *name;
    double mm, kev;
  } units[] = {
    { "m", 3000, 0 },
    { "metre", 3000, 0 },
    { "meter", 3000, 0 },
    { "meters", 3000, 0 },
    { "metres", 3000, 0 },
    { "cm", 30, 0 },
    { "mm", 3, 0 },
    { "millimeter", 3, 0 },
    { "millimetre", 3, 0 },
    { "um", 3e-3, 0 },
    { "µm", 3e-3, 0 },
    { "μm", 3e-3, 0 },
    { "\xb5m", 3e-3, 0 }, /* in Latin-1 */
    { "micron", 3e-3, 0 },
    { "microns", 3e-3, 0 },
    { "micrometer", 3e-3, 0 },
    { "micrometre", 3e-3, 0 },
    { "nm", 3e-6, 0 },
    { "nanometer", 3e-6, 0 },
    { "nanometre", 3e-6, 0 },
    { "MM", 3, 0 },
    { "eV", 0, 3e-3 },
    { "keV", 0, 3 },
    { "MeV", 0, 3e3 },
    { "J", 0, 3 / 1.602176634e-16 },
    { "furlong", 0, 0 },
    { NULL, 3 * 0.25, 3 },
  };
  static const struct {
    const char *name;
    double rad;
  } angles[] = {
    { "deg", G_PI / 180 },
    { "degree", G_PI / 180 },
    { "degrees", G_PI / 180 },
    { "°", G_PI / 180 },
    { "\xb0", G_PI / 180 },
    { "rad", 1 },
    { "radian", 1 },
    { "radians", 1 },
    { "mrad", 1e-3 },
    { "urad", 1e-6 },
    { "mdeg", G_PI / 180000 },
    { "arcmin", G_PI / 10800 },
    { "ArcSec", G_PI / 648e3 },
    { "gon", G_PI / 200 },
    { "rev", 2 * G_PI },
    { "turns", 2 * G_PI },
    { "steps", 0 },
    { NULL, G_PI / 180 },
  };
  TD_H5_GUARD;
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "units.h5");
  hid_t file = td_h5_create_sized (path, 0);
  const double three = 3;

  for (guint i = 0; i < G_N_ELEMENTS (units); i++) {
    g_autofree char *name = g_strdup_printf ("unit%u", i);
    g_assert_true (td_h5_add_doubles (file, name, &three, 1, units[i].name));
    g_autofree char *said = g_utf8_make_valid (units[i].name ? units[i].name : "none", -1);
    g_test_message ("%s", said);
    g_assert_cmpfloat_with_epsilon (td_h5_quantity (file, name, td_length_unit, 0.25), units[i].mm,
                                    1e-9 * units[i].mm + 1e-15);
    g_assert_cmpfloat_with_epsilon (td_h5_quantity (file, name, td_energy_unit, 1), units[i].kev,
                                    1e-8 * units[i].kev + 1e-15);
  }
  for (guint i = 0; i < G_N_ELEMENTS (angles); i++) {
    g_autofree char *name = g_strdup_printf ("angle%u", i);
    g_assert_true (td_h5_add_doubles (file, name, &three, 1, angles[i].name));
    g_auto (TdH5Id) dataset = td_h5_find_dataset (file, name, NULL);
    g_assert_cmpfloat_with_epsilon (td_h5_angle_unit (dataset), angles[i].rad, 1e-12);
  }
  g_assert_true (td_h5_finish (file));
}

/* A unit that nobody knows makes no size, and is told. */
static void
test_unknown_unit (gconstpointer data)
{
  const char *unit = data;
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "scan.nxs");
  const double size = unit ? 3 : -3;
  hid_t file = td_h5_create_sized (path, 0);

  add_nxtomo (file, "entry", "deg", 1);
  {
    TD_H5_GUARD;
    g_auto (TdH5Id) detector = td_h5_find (file, "/entry/instrument/detector", NULL);

    g_assert_true (td_h5_add_doubles (detector, "x_pixel_size", &size, 0, unit ? unit : "mm"));
  }
  g_assert_true (td_h5_finish (file));
  g_autoptr (TdScan) scan = open_scan (path, NULL);
  g_autofree char *notes = td_messages_join (td_scan_facts (scan)->notes, "\n", NULL);
  g_assert_cmpfloat (td_scan_facts (scan)->geometry.pixel_width_mm, ==, 0);
  g_assert_nonnull (strstr (notes, unit ? unit : "x_pixel_size is no size above 0"));
}

/* Numbers without a unit are taken for what they can be, which is told. So are pixels at the
   sample, and angles that are a turn in radians only. */
static void
test_no_unit (void)
{
  static const struct {
    double size, mm;
    const char *said;
  } pixels[] = { { 6.5e-7, 6.5e-4, "metres" },
                 { 0.002, 0.002, "millimetres" },
                 { 0.65, 6.5e-4, "micrometres" } };

  for (guint i = 0; i < G_N_ELEMENTS (pixels); i++) {
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autofree char *path = test_folder_file (folder, "scan.nxs");
    hid_t file = td_h5_create_sized (path, 0);

    /* Of 42 degrees the file makes half a turn. */
    add_nxtomo (file, "entry", NULL, G_PI / 42);
    {
      TD_H5_GUARD;
      g_auto (TdH5Id) sample = td_h5_find (file, "/entry/sample", NULL);
      g_assert_true (td_h5_add_doubles (sample, "x_pixel_size", &pixels[i].size, 0, NULL));
    }
    g_assert_true (td_h5_finish (file));
    g_autoptr (TdScan) scan = open_scan (path, NULL);
    const TdScanFacts *facts = td_scan_facts (scan);
    g_autofree char *notes = td_messages_join (facts->notes, "\n", NULL);
    g_assert_cmpfloat_with_epsilon (facts->geometry.pixel_width_mm, pixels[i].mm, 1e-12);
    g_assert_cmpfloat_with_epsilon (facts->geometry.pixel_height_mm, pixels[i].mm, 1e-12);
    g_assert_nonnull (strstr (notes, pixels[i].said));
    g_assert_cmpfloat_with_epsilon (facts->angles_rad[VIEWS - 1], G_PI, 1e-9);
    g_assert_nonnull (strstr (notes, "radians were taken"));
  }
}

/* A sample that moves while it turns, exposures that differ and a near source are told of; a helix
   is refused. Flats may be taken with the sample aside. */
static void
test_measured_otherwise (void)
{
  static const struct {
    const char *group, *name, *units;
    double first, step, flats; /* of the frames */
    const char *said;          /* NULL: nothing */
    gboolean good;
    const char *system; /* of coordinates; NULL: not stated */
  } cases[] = {
    { "sample", "y_translation", "mm", 5, 0, 90, NULL, TRUE },
    { "sample", "y_translation", "um", 5, 0.5, 90, NULL, TRUE },
    { "sample", "y_translation", "um", 5, 2, 90, "(2 pixels)", TRUE },
    { "sample", "y_translation", "um", 5, -4, 90, "helical", FALSE },
    { "sample", "y_translation", NULL, 0, 3e-6, 0, "(3 pixels)", TRUE },
    { "sample", "x_translation", "mm", 5, 0.1, 0, "(100 pixels)", TRUE },
    { "sample", "x_translation", "mm", 5, 0.1, 0, "(100 pixels)", TRUE, "ESRF" },
    { "sample", "z_translation", "um", 5, 2, 0, "(2 pixels)", TRUE },
    { "sample", "z_translation", "mm", 5, 0.1, 0, "helical", FALSE },
    { "sample", "z_translation", "mm", 5, 0.1, 0, "helical", FALSE, "ESRF" },
    { "sample", "z_translation", "mm", 5, 0.1, 0, "(100 pixels)", TRUE, "McStas" },
    { "instrument/detector", "count_time", "s", 0.5, 0, 0.5, NULL, TRUE },
    { "instrument/detector", "count_time", "s", 0.5, 0, 0.25, "count_time", TRUE },
    { "instrument/detector", "count_time", "s", 0.5, 0, 1, "count_time", TRUE },
  };
  static const struct {
    double distance;
    const char *beam; /* as CIL's writer states it */
    const char *said; /* NULL: nothing */
  } sources[] = { { -0.1, NULL, "places the source" },
                  { 9.9, NULL, "places the source" },
                  { -55, NULL, NULL },
                  { -55, "parallel", NULL },
                  { -55, "cone", "--sod-mm" } };
  const double size = 10;

  for (guint i = 0; i < G_N_ELEMENTS (cases) + G_N_ELEMENTS (sources); i++) {
    const guint source = i - G_N_ELEMENTS (cases);
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autofree char *path = test_folder_file (folder, "scan.nxs");
    g_autoptr (GError) error = NULL;
    double values[VIEWS + 4];
    hid_t file = td_h5_create_sized (path, 0);

    add_nxtomo (file, "entry", "deg", 1);
    {
      TD_H5_GUARD;
      g_auto (TdH5Id) entry = td_h5_find (file, "/entry", NULL);
      g_auto (TdH5Id) detector = td_h5_find (entry, "instrument/detector", NULL);

      g_assert_true (td_h5_add_doubles (detector, "x_pixel_size", &size, 0, "um"));
      if (i < G_N_ELEMENTS (cases)) {
        g_auto (TdH5Id) group = td_h5_find (entry, cases[i].group, NULL);

        g_assert_true (!cases[i].system
                       || td_h5_set_string (entry, "NeXus_Coordinate_System", cases[i].system));
        for (guint frame = 0; frame < VIEWS + 4; frame++)
          values[frame]
              = keys[frame] == 0 ? cases[i].first + cases[i].step * frame : cases[i].flats;
        g_assert_true (td_h5_add_doubles (group, cases[i].name, values, VIEWS + 4, cases[i].units));
      } else {
        g_auto (TdH5Id) instrument = td_h5_find (entry, "instrument", NULL);
        g_auto (TdH5Id) group = add_group (instrument, "source");

        g_auto (TdH5Id) frames = td_h5_find (detector, "data", NULL);

        g_assert_true (td_h5_add_doubles (group, "distance", &sources[source].distance, 0, "m"));
        g_assert_true (!sources[source].beam
                       || td_h5_set_string (frames, "geometry", sources[source].beam));
      }
    }
    g_assert_true (td_h5_finish (file));
    g_autoptr (TdScan) scan = td_scan_open (path, NULL, NULL, &error);
    if (i < G_N_ELEMENTS (cases) && !cases[i].good) {
      g_assert_error (error, TD_ERROR, TD_ERROR_UNSUPPORTED);
      g_assert_nonnull (strstr (error->message, cases[i].said));
      test_assert_sentence (error, "scan.nxs");
      continue;
    }
    if (i >= G_N_ELEMENTS (cases) && g_strcmp0 (sources[source].beam, "cone") == 0) {
      const TdScanOptions options = { .source_axis_mm = 100, .source_detector_mm = 300 };
      test_assert_sentence (error, sources[source].said);
      g_autoptr (TdScan) cone = open_scan (path, &options);
      g_assert_cmpint (td_scan_facts (cone)->geometry.beam, ==, TD_BEAM_CONE);
      continue;
    }
    g_assert_no_error (error);
    g_autofree char *notes = td_messages_join (td_scan_facts (scan)->notes, "\n", NULL);
    if (i >= G_N_ELEMENTS (cases))
      g_assert_true (sources[source].said ? strstr (notes, sources[source].said) != NULL
                                          : !strstr (notes, "cone"));
    else if (cases[i].said)
      g_assert_nonnull (strstr (notes, cases[i].said));
    else
      g_assert_null (strstr (notes, cases[i].name));
  }
}

/* What a monitor counted for each frame comes with views and flats. It is told where the beam
   changes, and left where it says nothing of some frame, or of other flats. */
static void
test_monitor (void)
{
  static const struct {
    double flat, dark, last; /* counts beside the views' 100 + frame */
    guint lacks;             /* entries */
    const char *said;        /* NULL: nothing */
    gboolean taken;
  } cases[] = {
    { 150, 0, 112, 0, "counted from 102 to 150", TRUE },
    { 150, 0, 112, 1, NULL, FALSE },
    { 150, NAN, 112, 0, "counted from", TRUE },
    { 150, 0, 0, 0, "no count above 0", FALSE },
    { 0, 0, 112, 0, "no count above 0", FALSE },
    { 150, 0, NAN, 0, "no count above", FALSE },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autofree char *path = test_folder_file (folder, "scan.nxs");
    double counts[VIEWS + 4];
    hid_t file = td_h5_create_sized (path, 0);

    add_nxtomo (file, "entry", "deg", 1);
    for (guint frame = 0; frame < VIEWS + 4; frame++)
      counts[frame] = keys[frame] == 0   ? 100 + frame
                      : keys[frame] == 1 ? cases[i].flat
                                         : cases[i].dark;
    counts[VIEWS + 3] = cases[i].last;
    {
      TD_H5_GUARD;
      g_auto (TdH5Id) entry = td_h5_find (file, "/entry", NULL);
      g_auto (TdH5Id) control = add_group (entry, "control");

      g_assert_true (td_h5_add_doubles (control, "data", counts, VIEWS + 4 - cases[i].lacks, NULL));
    }
    g_assert_true (td_h5_finish (file));
    g_autoptr (TdScan) scan = open_scan (path, NULL);
    const TdScanFacts *facts = td_scan_facts (scan);
    g_autofree char *notes = td_messages_join (facts->notes, "\n", NULL);
    g_assert_cmpint (facts->monitor != NULL, ==, cases[i].taken);
    g_assert_true (cases[i].said ? strstr (notes, cases[i].said) != NULL
                                 : !strstr (notes, "monitor"));
    for (guint v = 0; v < VIEWS && facts->monitor; v++)
      g_assert_cmpfloat (facts->monitor[v], ==, 100 + (v < 3 ? v + 2 : v + 4));
    for (guint f = 0; f < 2 && facts->monitor; f++)
      g_assert_cmpfloat (facts->monitor[VIEWS + f], ==, 150);
    g_autoptr (TdScan) other = open_scan (path, &(TdScanOptions) { .flats = path });
    g_assert_null (td_scan_facts (other)->monitor);
  }
}

/* Angles in a unit that nobody knows, which are no turn in degrees, are refused by its name. They
   can be stated. */
static void
test_unknown_angles (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "scan.nxs");
  g_autoptr (GError) error = NULL;
  hid_t file = td_h5_create_sized (path, 0);

  add_nxtomo (file, "entry", "steps", 100);
  g_assert_true (td_h5_finish (file));
  g_assert_null (td_scan_open (path, NULL, NULL, &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_ANGLES);
  td_test_pin_refused (error);
  g_assert_nonnull (strstr (error->message, "“steps”"));
  g_autoptr (TdScan) scan = open_scan (path, &(TdScanOptions) { .angles = "0:180" });
  g_assert_nonnull (scan);

  /* Those that are a turn in degrees are taken so, which is told once: of where they stand first.
   */
  g_autofree char *turn = test_folder_file (folder, "turn.nxs");
  file = td_h5_create_sized (turn, 0);
  add_nxtomo (file, "entry", "steps", 4);
  {
    g_auto (TdH5Id) data = add_group (file, "entry/data");
    g_assert_cmpint (H5Lcreate_soft ("/entry/sample/rotation_angle", data, "rotation_angle",
                                     H5P_DEFAULT, H5P_DEFAULT),
                     >=, 0);
  }
  g_assert_true (td_h5_finish (file));
  g_autoptr (TdScan) guessed = open_scan (turn, NULL);
  g_assert_cmpuint (td_messages_length (td_scan_facts (guessed)->notes), ==, 2); /* and invalid */
}

/* Of several entries, detectors and data sets the one that is named, or none. */
static void
test_nxtomo_named (void)
{
  static const struct {
    const char *dataset;
    gboolean good;
  } cases[] = {
    { "/second", TRUE },
    { "second/", TRUE },
    { "/second/instrument/detector", TRUE },
    { "/second/instrument/detector/data", TRUE },
    { "/outer", TRUE }, /* which it is in as well */
    { "outer/", TRUE },
    { "/third", FALSE },
    { "/second/instrument/detector/other", FALSE },
    { "/second/instrument/camera", FALSE },
    { "/secon", FALSE },
  };
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "scan.nxs");
  hid_t file = td_h5_create_sized (path, 0);

  add_nxtomo (file, "first", "deg", 1);
  add_nxtomo (file, "second", "deg", 2);
  add_nxtomo (file, "fourth", "deg", 2);
  {
    TD_H5_GUARD;
    g_auto (TdH5Id) outer = H5Gcreate2 (file, "outer", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Lmove (file, "fourth", outer, "inner", H5P_DEFAULT, H5P_DEFAULT);
  }
  g_assert_true (td_h5_finish (file));
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    const TdScanOptions options = { .dataset = cases[i].dataset };
    g_autoptr (GError) error = NULL;
    g_autoptr (TdScan) scan = td_scan_open (path, &options, NULL, &error);

    if (!cases[i].good) {
      g_assert_null (scan);
      test_assert_sentence (error, cases[i].dataset);
      continue;
    }
    g_assert_no_error (error);
    g_assert_cmpfloat_with_epsilon (td_scan_facts (scan)->angles_rad[0], 2 * 2 * 3.5 * G_PI / 180,
                                    1e-12);
  }
}

/* image_key shorter than the frames: a scan that was cut short; of words; all flats. */
static void
test_short_key (gconstpointer data)
{
  const gboolean words = g_strcmp0 (data, "words") == 0, flats = g_strcmp0 (data, "flats") == 0;
  guint8 all_flats[VIEWS];
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "scan.nxs");
  g_autoptr (GError) error = NULL;
  hid_t file = td_h5_create_sized (path, 0);

  memset (all_flats, 1, sizeof all_flats);
  {
    g_auto (TdH5Id) entry = add_group (file, "entry");
    g_auto (TdH5Id) instrument = add_group (entry, "instrument");
    g_auto (TdH5Id) detector = add_group (instrument, "detector");

    g_assert_true (td_h5_add_string (entry, "definition", "NXtomo"));
    add_frames (detector, "data", 0, VIEWS, FALSE, 0);
    g_assert_true (words ? td_h5_add_string (detector, "image_key", "projection")
                         : td_h5_add_bytes (detector, "image_key", flats ? all_flats : keys,
                                            flats ? VIEWS : VIEWS - 1));
  }
  g_assert_true (td_h5_finish (file));
  g_assert_null (td_scan_open (path, NULL, NULL, &error));
  test_assert_sentence (error, flats   ? "name this one as its flats or darks (--flats PATH"
                               : words ? "no list of numbers"
                                       : "write an entry for each frame");
}

/* Data in another file, in the folder that the link names or beside it; and missing. */
static void
test_external_link (gconstpointer stated)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "scan.nxs");
  g_autofree char *data = test_folder_file (folder, "frames.h5");
  g_autoptr (GError) error = NULL;
  hid_t file = td_h5_create_sized (path, 0), other = td_h5_create_sized (data, 0);

  add_frames (other, "frames", 0, VIEWS + 4, FALSE, 0);
  g_assert_true (td_h5_finish (other));
  add_nxtomo (file, "entry", "deg", 1);
  {
    TD_H5_GUARD;
    g_auto (TdH5Id) detector = td_h5_find (file, "/entry/instrument/detector", NULL);

    H5Ldelete (detector, "data", H5P_DEFAULT);
    g_assert_cmpint (
        H5Lcreate_external (stated, "/frames", detector, "data", H5P_DEFAULT, H5P_DEFAULT), >=, 0);
  }
  g_assert_true (td_h5_finish (file));
  {
    g_autoptr (TdScan) scan = open_scan (path, NULL);

    check_nxtomo (scan);
  }
  g_assert_cmpint (g_remove (data), ==, 0);
  g_assert_null (td_scan_open (path, NULL, NULL, &error));
  test_assert_sentence (error, stated);
  g_assert_error (error, TD_ERROR, TD_ERROR_NOT_FOUND);
  td_test_pin_refused (error);
}

/* Links that lead to themselves end in an error, not in a circle. */
static void
test_circular_links (void)
{
  TD_H5_GUARD;
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "scan.nxs");
  g_autoptr (GError) error = NULL;
  hid_t file = td_h5_create_sized (path, 0);

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

/* Frames are there, and are none: of other dimensions, or written in a way that this library does
   not know, as newer ones do. That is not the same as no frames. */
static void
test_no_frames (gconstpointer data)
{
  TD_H5_GUARD;
  static const char *const places[]
      = { "/entry/instrument/detector/data", "/exchange/data", "/frames" };
  const guint place = GPOINTER_TO_UINT (data) / 2;
  const gboolean unread = GPOINTER_TO_UINT (data) % 2;
  const hsize_t shape[] = { 3, 2, 4, 5 };
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "scan.nxs");
  hid_t file = td_h5_create_sized (path, 0);
  H5O_info_t info;

  if (place == 0)
    add_nxtomo (file, "entry", "deg", 1);
  {
    g_autofree char *parent = g_path_get_dirname (places[place]);
    g_auto (TdH5Id) own = place == 1 ? add_group (file, "exchange") : -1;
    g_auto (TdH5Id) group = td_h5_find (file, parent, NULL);
    g_auto (TdH5Id) space = H5Screate_simple (unread ? 3 : 4, shape, NULL);
    const char *name = strrchr (places[place], '/') + 1;

    if (place == 0)
      H5Ldelete (group, name, H5P_DEFAULT);
    g_auto (TdH5Id) dataset
        = H5Dcreate2 (group, name, H5T_STD_U16LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    g_assert_cmpint (H5Oget_info2 (dataset, &info, H5O_INFO_BASIC), >=, 0);
  }
  g_assert_true (td_h5_finish (file));
  if (unread) {
    FILE *bytes = g_fopen (path, "r+b");

    g_assert_cmpint (fseek (bytes, (long) info.addr, SEEK_SET), ==, 0);
    fputc (99, bytes); /* the version of its header */
    g_assert_cmpint (fclose (bytes), ==, 0);
  }
  for (guint named = 0; named < 2; named++) {
    const TdScanOptions options = { .angles = "0:180", .dataset = named ? places[place] : NULL };
    g_autoptr (GError) error = NULL;

    g_assert_null (td_scan_open (path, &options, NULL, &error));
    test_assert_sentence (error, unread ? "cannot be read by this computer's HDF5" : "dimensions");
  }
}

/* Any other file without frames, such as one with a sinogram alone. */
static void
test_no_dataset (void)
{
  const double sinogram[] = { 1, 2, 3 };
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "scan.h5");
  g_autoptr (GError) error = NULL;
  hid_t file = td_h5_create_sized (path, 0);

  g_assert_true (td_h5_add_doubles (file, "sinogram", sinogram, 3, NULL));
  g_assert_true (td_h5_finish (file));
  g_assert_null (td_scan_open (path, NULL, NULL, &error));
  test_assert_sentence (error, "a single sinogram as one (--dataset, --sinograms)");
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
  hid_t file = td_h5_create_sized (data, 0);

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

/* A group may give its names in the order in which it was filled. Here they are sorted, so that the
   same data set is taken of every file. */
static void
test_names (void)
{
  static const char *const made[] = { "third", "first", "second", "zero" };
  static const char *const sorted[] = { "first", "second", "third", "zero", NULL };
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "names.h5");
  TD_H5_GUARD;
  g_auto (TdH5Id) access = H5Pcreate (H5P_FILE_ACCESS), creation = H5Pcreate (H5P_GROUP_CREATE);

  H5Pset_libver_bounds (access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
  H5Pset_link_creation_order (creation, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
  g_auto (TdH5Id) file = H5Fcreate (path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
  g_auto (TdH5Id) group = H5Gcreate2 (file, "group", H5P_DEFAULT, creation, H5P_DEFAULT);
  for (guint i = 0; i < G_N_ELEMENTS (made); i++) {
    g_auto (TdH5Id) one = H5Gcreate2 (group, made[i], H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    g_assert_true (one >= 0);
  }
  g_auto (GStrv) names = td_h5_names (group);
  g_assert_true (g_strv_equal ((const char *const *) names, sorted));
}

/* Where a file says a thing twice and otherwise, what was taken is told. */
static void
test_says_otherwise (void)
{
  static const struct {
    double sample_um, other, planned; /* 0: not stated */
    const char *said;                 /* NULL: nothing */
    double pixel_mm, high_mm;         /* high_mm: at the sample; 0: as pixel_mm, and not stated */
  } cases[] = {
    { 0, 0, 0, NULL, 0.01 },
    { 5, 0, 0, "at the sample (0.005 mm) differs", 0.005, 0.0075 },
    { 10, 0, 0, NULL, 0.01 },
    { 5, 0, 0, "at the sample (0.005 mm) differs from the detector's (0.01 mm)", 0.005 },
    { 0, 3.5, 0, NULL, 0.01 },
    { 0, 3.52, 0, "disagree: the angles of sample/rotation_angle were taken", 0.01 },
    { 0, 0, VIEWS, NULL, 0.01 },
    { 0, 0, VIEWS + 1, "was to take 10 projections; the file holds 9", 0.01 },
  };
  const double size = 10;

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autofree char *path = test_folder_file (folder, "scan.nxs");
    hid_t file = td_h5_create_sized (path, 0);
    double others[VIEWS + 4];

    add_nxtomo (file, "entry", "deg", 1);
    {
      TD_H5_GUARD;
      g_auto (TdH5Id) entry = td_h5_find (file, "/entry", NULL);
      g_auto (TdH5Id) detector = td_h5_find (entry, "instrument/detector", NULL);
      g_auto (TdH5Id) sample = td_h5_find (entry, "sample", NULL);

      g_assert_true (td_h5_add_doubles (detector, "x_pixel_size", &size, 0, "um"));
      g_assert_true (td_h5_add_doubles (detector, "y_pixel_size", &size, 0, "um"));
      if (cases[i].sample_um > 0)
        g_assert_true (td_h5_add_doubles (sample, "x_pixel_size", &cases[i].sample_um, 0, "um"));
      if (cases[i].high_mm > 0)
        g_assert_true (td_h5_add_doubles (sample, "y_pixel_size", &cases[i].high_mm, 0, "mm"));
      for (guint frame = 0; frame < VIEWS + 4; frame++)
        others[frame] = cases[i].other * frame;
      if (cases[i].other > 0)
        g_assert_true (td_h5_add_doubles (detector, "rotation_angle", others, VIEWS + 4, "deg"));
      if (cases[i].planned > 0)
        g_assert_true (td_h5_add_doubles (detector, "tomo_n", &cases[i].planned, 0, NULL));
    }
    g_assert_true (td_h5_finish (file));
    g_autoptr (TdScan) scan = open_scan (path, NULL);
    const TdScanFacts *facts = td_scan_facts (scan);
    g_autofree char *notes = td_messages_join (facts->notes, "\n", NULL);
    g_assert_cmpint (strstr (notes, cases[i].said ? cases[i].said : "disagree") != NULL, ==,
                     cases[i].said != NULL);
    if (!cases[i].said)
      g_assert_true (!strstr (notes, "differs") && !strstr (notes, "was to take"));
    g_assert_cmpfloat_with_epsilon (facts->geometry.pixel_width_mm, cases[i].pixel_mm, 1e-12);
    g_assert_cmpfloat_with_epsilon (facts->geometry.pixel_height_mm,
                                    cases[i].high_mm > 0 ? cases[i].high_mm : cases[i].pixel_mm,
                                    1e-12);
    g_assert_cmpfloat_with_epsilon (facts->angles_rad[1] - facts->angles_rad[0], 3.5 * G_PI / 180,
                                    1e-9);
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_data_func ("/hdf5/nxtomo/degrees", "degree", test_nxtomo);
  g_test_add_data_func ("/hdf5/nxtomo/radians", "rad", test_nxtomo);
  g_test_add_data_func ("/hdf5/nxtomo/no-unit", NULL, test_nxtomo);
  g_test_add_func ("/hdf5/no-angle", test_no_angle);
  g_test_add_func ("/hdf5/behind-links", test_behind_links);
  g_test_add_func ("/hdf5/names", test_names);
  g_test_add_func ("/hdf5/nxtomo/few-reads", test_few_reads);
  g_test_add_func ("/hdf5/nxtomo/esrf", test_esrf);
  for (guint i = 0; i < 4 * FLIPS_FORMS; i++) {
    static const char *const forms[] = { "plain", "mcstas", "esrf" }, *const flips[]
                                                                      = { "none", "x", "y",
                                                                          "both" };
    g_autofree char *name
        = g_strdup_printf ("/hdf5/nxtomo/flips/%s/%s", forms[i / 4], flips[i % 4]);

    g_test_add_data_func (name, GUINT_TO_POINTER (i), test_flips);
  }
  g_test_add_func ("/hdf5/nxtomo/axis", test_nxtomo_axis);
  g_test_add_func ("/hdf5/nxtomo/flips-geometry", test_flips_geometry);
  g_test_add_func ("/hdf5/nxtomo/turned", test_nxtomo_turned);
  g_test_add_func ("/hdf5/nxtomo/no-numbers", test_nxtomo_no_numbers);
  g_test_add_func ("/hdf5/lists", test_lists);
  g_test_add_func ("/hdf5/nxtomo/no-angles", test_nxtomo_wrong);
  g_test_add_func ("/hdf5/nxtomo-named", test_nxtomo_named);
  g_test_add_func ("/hdf5/units", test_units);
  g_test_add_data_func ("/hdf5/unknown-unit", "barleycorn", test_unknown_unit);
  g_test_add_data_func ("/hdf5/no-size", NULL, test_unknown_unit);
  g_test_add_func ("/hdf5/no-unit", test_no_unit);
  g_test_add_func ("/hdf5/measured-otherwise", test_measured_otherwise);
  g_test_add_func ("/hdf5/says-otherwise", test_says_otherwise);
  g_test_add_func ("/hdf5/unknown-angles", test_unknown_angles);
  g_test_add_func ("/hdf5/monitor", test_monitor);
  g_test_add_data_func ("/hdf5/nxtomo/short-key", NULL, test_short_key);
  g_test_add_data_func ("/hdf5/nxtomo/words-for-keys", "words", test_short_key);
  g_test_add_data_func ("/hdf5/nxtomo/flats-alone", "flats", test_short_key);
  for (guint i = 0; i < 6; i++) {
    static const char *const kinds[] = { "nxtomo", "dxchange", "any" };
    g_autofree char *name
        = g_strdup_printf ("/hdf5/no-frames/%s/%s", kinds[i / 2], i % 2 ? "unread" : "rank");
    g_test_add_data_func (name, GUINT_TO_POINTER (i), test_no_frames);
  }
  g_test_add_func ("/hdf5/no-dataset", test_no_dataset);
  g_test_add_data_func ("/hdf5/links/external", "far/away/frames.h5", test_external_link);
  g_test_add_data_func ("/hdf5/links/windows", "X:\\far\\frames.h5", test_external_link);
  g_test_add_func ("/hdf5/links/circular", test_circular_links);
  g_test_add_func ("/hdf5/links/virtual", test_virtual);
  return g_test_run ();
}
