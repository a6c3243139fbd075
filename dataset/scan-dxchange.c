/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <string.h>

#include "angles.h"
#include "error.h"
#include "scan-hdf5.h"

/* Two layouts with a data set for each kind of frames: DXchange (APS; /exchange) and TDF (Elettra;
 * at the root). */
typedef struct {
  const char *format;
  const char *names[3]; /* by TdFrameKind */
  const char *theta;
} Layout;

static const Layout layouts[] = {
  { "DXchange (HDF5)", { "data", "data_white", "data_dark" }, "theta" },
  { "TDF (HDF5)", { "tomo", "flat", "dark" }, "theta" },
};

typedef struct {
  const Layout *layout;
  char *group; /* "/exchange", "/exchange2", "" (TDF) */
  guint n_groups;
} Place;

static void
place_clear (Place *place)
{
  g_free (place->group);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Place, place_clear)

static gboolean
scan_dxchange_has (hid_t file, const char *group, const char *name)
{
  g_autofree char *path = g_strconcat (group, "/", name, NULL);
  g_autofree char *missing = NULL;

  g_auto (TdH5Id) dataset = td_h5_find_dataset (file, path, &missing);
  return dataset >= 0 || missing;
}

/* @wanted: (nullable): the group, or the projections in it. */
static gboolean
is_wanted (const char *wanted, const char *group, const char *name)
{
  g_autofree char *projections = g_strconcat (group, "/", name, NULL);

  return !wanted || strcmp (wanted, group) == 0 || strcmp (wanted, projections) == 0;
}

/* /exchange, or the first of /exchange1 … that intermediate results go to; then TDF. */
static gboolean
find_place (hid_t file, const char *wanted, Place *place)
{
  g_auto (TdH5Id) root = td_h5_find (file, "/", NULL);
  g_auto (GStrv) names = root >= 0 ? td_h5_names (root) : NULL;

  place->group = NULL;
  place->n_groups = 0;
  for (guint i = 0; names && names[i]; i++) {
    g_autofree char *group = g_strconcat ("/", names[i], NULL);

    if (g_str_has_prefix (names[i], "exchange") && is_wanted (wanted, group, layouts[0].names[0])
        && scan_dxchange_has (file, names[i], layouts[0].names[0]) && place->n_groups++ == 0) {
      place->layout = &layouts[0];
      place->group = g_steal_pointer (&group);
    }
  }
  if (!place->group && is_wanted (wanted, "", layouts[1].names[0])
      && scan_dxchange_has (file, "", layouts[1].names[0])) {
    place->layout = &layouts[1];
    place->group = g_strdup ("");
  }
  return place->group != NULL;
}

static gboolean
dxchange_probe (const char *path, const TdScanOptions *options)
{
  TD_H5_GUARD;
  g_auto (TdH5Id) file = td_h5_probe (path) ? td_h5_open (path, NULL) : -1;
  g_auto (Place) place = { 0 };

  return file >= 0 && find_place (file, options->dataset, &place);
}

static char *
path_in (const Place *place, const char *name)
{
  return g_strconcat (place->group, "/", name, NULL);
}

/* Opens a member; a dangling link is an error, an absent one of the optional sets is not. */
static gboolean
open_member (hid_t file, const char *file_name, const char *path, hid_t *dataset, GError **error)
{
  g_autofree char *missing = NULL;

  *dataset = td_h5_find_dataset (file, path, &missing);
  if (*dataset < 0 && missing)
    td_set_error (error, TD_ERROR_NOT_FOUND, "“%s” cannot be opened: %p; copy it beside the file",
                  file_name, td_message_unpack (missing));
  return !missing || *dataset >= 0;
}

/* "theta:y:x", in small letters without spaces; NULL: the file says nothing of its axes. */
static char *
dxchange_axes (hid_t projections)
{
  g_autofree char *stated = td_h5_attribute_string (projections, "axes");
  g_auto (GStrv) words = stated ? g_strsplit (stated, " ", -1) : NULL;
  g_autofree char *joined = words ? g_strjoinv ("", words) : NULL;

  return joined && *joined ? g_ascii_strdown (joined, -1) : NULL;
}

/* Frames on their side would be read as others: FALSE with @error. What is no order of the three is
   left to the data sets' shapes. */
static gboolean
dxchange_check_axes (const char *file_name, hid_t projections, GError **error)
{
  static const char *const others[] = { "theta:x:y", "x:theta:y", "x:y:theta", "y:x:theta", NULL };
  g_autofree char *axes = dxchange_axes (projections);

  return !axes || !g_strv_contains (others, axes)
         || td_set_error (error, TD_ERROR_UNSUPPORTED,
                          "“%s”: the axes of its projections are %s, and theta:y:x and y:theta:x "
                          "can be read; write them in one of these orders",
                          file_name, axes);
}

/* By the axes attribute, else by which dimension the flats share with the projections. */
static gboolean
is_by_rows (hid_t projections, hid_t flats)
{
  g_autofree char *axes = dxchange_axes (projections);
  hsize_t shape[3], flat_shape[3];

  if (axes)
    return g_str_has_prefix (axes, "y:theta");
  if (flats < 0 || td_h5_shape (projections, shape, 3) != 3)
    return FALSE;
  const int rank = td_h5_shape (flats, flat_shape, 3);
  if (rank == 2) /* one image, or images of one row */
    return shape[0] == flat_shape[0] && shape[1] != flat_shape[0] && shape[1] > 1;
  return rank == 3 && shape[0] == flat_shape[0] && shape[1] != flat_shape[1];
}

static gboolean
add_all (TdScan **scan, const char *path, hid_t file, const Place *place,
         const TdScanOptions *options, GError **error)
{
  hid_t datasets[3] = { -1, -1, -1 };
  const gboolean others[3]
      = { [TD_FRAME_FLAT] = options->flats != NULL, [TD_FRAME_DARK] = options->darks != NULL };
  gboolean good = TRUE;
  TdH5Source *source;

  for (guint kind = 0; kind < 3 && good; kind++) {
    g_autofree char *member = path_in (place, place->layout->names[kind]);

    good = open_member (file, path, member, &datasets[kind], others[kind] ? NULL : error)
           || others[kind];
  }
  good = good && (options->sinograms || dxchange_check_axes (path, datasets[0], error));
  *scan = td_h5_scan_new (
      path, options->sinograms || (good && is_by_rows (datasets[0], datasets[1])), &source);
  for (guint kind = 0; kind < 3; kind++) {
    g_autofree char *member = path_in (place, place->layout->names[kind]);
    g_autofree char *label = td_h5_label (path, member);

    if (good && !others[kind])
      good = td_h5_scan_add (*scan, source, kind, datasets[kind], label, options, error);
    else if (datasets[kind] >= 0)
      td_h5_close (datasets[kind]);
  }
  g_autofree char *projections = path_in (place, place->layout->names[0]);
  const char *const known[] = { place->layout->names[1], place->layout->names[2], NULL };
  return good && td_h5_scan_add_beside (*scan, source, file, projections, known, options, error);
}

#define ROTATION "/process/acquisition/rotation/"

/* A number of the acquisition's, in degrees where it has a unit of angles. */
static gboolean
dxchange_rotation (hid_t file, const char *name, double *value)
{
  g_autofree char *path = g_strconcat (ROTATION, name, NULL);
  g_auto (TdH5Id) dataset = td_h5_find_dataset (file, path, NULL);

  if (dataset < 0 || !td_h5_number (file, path, value))
    return FALSE;
  const double unit = td_h5_angle_unit (dataset);
  *value *= unit > 0 ? unit * 180 / G_PI : 1;
  return TRUE;
}

/* rotation_start and rotation_step where the angles themselves were not kept, else a half turn.
   That is not so where the acquisition states another turn, or more angles than there are. */
static gboolean
take_default_angles (TdScan *scan, hid_t file, GError **error)
{
  TdScanFacts *facts = &scan->facts;
  double start, step, stop, n;

  const gboolean started = dxchange_rotation (file, "rotation_start", &start);
  if (started && dxchange_rotation (file, "rotation_step", &step) && step != 0) {
    facts->angles_rad
        = td_angles_range (start, start + step * (facts->n_views - 1.0), facts->n_views);
    td_scan_note (scan, "There are no angles; rotation_start %g° and rotation_step %g° were taken.",
                  start, step);
    return TRUE;
  }
  if (facts->n_views == 1)
    return TRUE; /* validation says so */
  if (started && dxchange_rotation (file, "rotation_stop", &stop)
      && fabs (fabs (stop - start) - 180) > 360.0 / facts->n_views)
    return td_set_error (error, TD_ERROR_ANGLES,
                         "“%s” has no angles, and its rotation_start %g° and rotation_stop %g° do "
                         "not say where the last view lies: give the angles of the first and of "
                         "the last one ({angles:FIRST:LAST})",
                         facts->path, start, stop);
  if (td_h5_number (file, ROTATION "num_angles", &n) && n > facts->n_views)
    return td_set_error (error, TD_ERROR_ANGLES,
                         "“%s” has no angles, and %u of the %.0f projections that it states "
                         "(num_angles): give the angles of those that are there "
                         "({angles:FILE|FIRST:LAST})",
                         facts->path, facts->n_views, n);
  facts->angles_rad = td_angles_range (0, 180, facts->n_views);
  td_scan_note (scan, "There are no angles; 0° to 180°, both ends included, were taken, as the "
                      "format has it. State the angles if the scan was another.");
  return TRUE;
}

static gboolean
scan_dxchange_take_angles (TdScan *scan, hid_t file, const Place *place,
                           const TdScanOptions *options, GError **error)
{
  TdScanFacts *facts = &scan->facts;
  g_autofree char *path = path_in (place, place->layout->theta);
  g_autofree char *label = td_h5_label (facts->path, path);
  g_auto (TdH5Id) dataset = -1;
  gsize n = 0;

  if (options->angles)
    return td_scan_take_angles (scan, options->angles, NULL, error);
  if (!open_member (file, facts->path, path, &dataset, error))
    return FALSE;
  if (dataset < 0) {
    g_autofree char *projections = path_in (place, place->layout->names[0]);
    if (!td_h5_scan_angles_beside (scan, file, projections, error))
      return FALSE;
    return facts->angles_rad || take_default_angles (scan, file, error);
  }
  facts->angles_rad = td_h5_read_angles (dataset, label, &n, scan, error);
  td_h5_scan_end_at (scan, (guint) n, path);
  if (!facts->angles_rad || n == facts->n_views)
    return facts->angles_rad != NULL;
  return td_scan_refuse_views (error, path, (guint) n,
                               td_message_new ("%u [angle|angles]", (guint) n), facts->path,
                               (const guint[]) { facts->n_views, facts->n_rows });
}

/* What a camera's pixel becomes at the sample. */
static double
scan_dxchange_camera_scale (TdScan *scan, hid_t file, double camera_mm)
{
  double binned = 1, times = 1;
  const gboolean magnified
      = td_h5_number (file, "/measurement/instrument/detection_system/objective/magnification",
                      &times)
        && times > 0;

  if (!td_h5_number (file, "/measurement/instrument/detector/binning_x", &binned) || !(binned > 1))
    binned = 1;
  const double scale = binned / (magnified ? times : 1);
  if (magnified)
    td_scan_note (scan,
                  "The camera's pixels are %g mm wide, binned by %g, and its objective magnifies "
                  "%g times: pixels of %g mm were taken ({pixel-mm}).",
                  camera_mm, binned, times, camera_mm * scale);
  else
    td_scan_note (scan,
                  "The camera's pixels are %g mm wide, binned by %g, and no magnification is "
                  "stated: pixels of %g mm were taken ({pixel-mm}).",
                  camera_mm, binned, camera_mm * scale);
  return scale;
}

/* At the sample: as it is stated, else by the camera's. */
static void
scan_dxchange_take_pixels (TdScan *scan, hid_t file)
{
  static const struct {
    const char *width, *height; /* NULL: the same */
    double otherwise_mm;        /* a number without a unit; 0: by its size */
    gboolean camera;
  } sizes[] = {
    { "/measurement/instrument/detection_system/objective/resolution", NULL, 1e-3, FALSE },
    { "/measurement/instrument/detector/actual_pixel_size_x",
      "/measurement/instrument/detector/actual_pixel_size_y", 0, FALSE },
    { "/measurement/instrument/detector/pixel_size", NULL, 1, FALSE },
    { "/measurement/instrument/detector/pixel_size_x",
      "/measurement/instrument/detector/pixel_size_y", 0, TRUE },
  };
  TdGeometry *geometry = &scan->facts.geometry;

  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++) {
    const double width = td_h5_pixel_mm (scan, file, sizes[i].width, sizes[i].otherwise_mm);

    if (!(width > 0))
      continue;
    const double height
        = sizes[i].height ? td_h5_pixel_mm (scan, file, sizes[i].height, sizes[i].otherwise_mm) : 0;
    const double scale = sizes[i].camera ? scan_dxchange_camera_scale (scan, file, width) : 1;
    geometry->pixel_width_mm = width * scale;
    geometry->pixel_height_mm = (height > 0 ? height : width) * scale;
    return;
  }
}

/* Files of tomoscan state another exposure of flats also where they do not use it. */
static void
scan_dxchange_check_exposures (TdScan *scan, hid_t file)
{
  static const char *const places[][2] = {
    { "/measurement/instrument/detector/exposure_time_flat",
      "/measurement/instrument/detector/different_flat_exposure" },
    { "/process/acquisition/flat_fields/flat_exposure_time",
      "/process/acquisition/flat_fields/different_flat_exposure" },
  };
  double views = 0, flats = 0;

  td_h5_number (file, "/measurement/instrument/detector/exposure_time", &views);
  for (guint i = 0; i < G_N_ELEMENTS (places) && views > 0 && scan->facts.n_flats > 0; i++) {
    g_autofree char *different = td_h5_string (file, places[i][1]);

    if ((different && g_ascii_strcasecmp (different, "same") == 0)
        || !td_h5_number (file, places[i][0], &flats) || !(flats > 0)
        || fabs (flats - views) <= 0.01 * fmin (flats, views))
      continue;
    td_h5_note_exposures (scan, flats, views, places[i][0]);
    return;
  }
}

static void
scan_dxchange_take_details (TdScan *scan, hid_t file)
{
  static const char *const distances[] = {
    "/measurement/instrument/detector_motor_stack/setup/camera_distance",
    "/measurement/instrument/camera_motor_stack/setup/camera_distance",
    "/measurement/instrument/detector/distance",
  };
  TdScanFacts *facts = &scan->facts;

  scan_dxchange_take_pixels (scan, file);
  scan_dxchange_check_exposures (scan, file);
  for (guint i = 0; i < G_N_ELEMENTS (distances) && !(facts->propagation_mm > 0); i++)
    td_h5_scan_take_distance (scan, file, distances[i], 1);
  td_h5_scan_take_energy (scan, file, "/measurement/instrument/monochromator/energy");
  td_scan_take_title (scan, td_h5_string (file, "/measurement/sample/name"));
}

static TdScan *
dxchange_open (const char *path, const TdScanOptions *options, GCancellable *cancellable,
               GError **error)
{
  TD_H5_GUARD;
  g_auto (TdH5Id) file = td_h5_open (path, error);
  g_autoptr (TdScan) scan = NULL;
  g_auto (Place) place = { 0 };

  if (file < 0)
    return NULL;
  if (!find_place (file, options->dataset, &place)) /* it was there when probed */
    return td_set_error_null (error, TD_ERROR_BAD_FILE, "“%s” changed while it was opened", path);
  if (!add_all (&scan, path, file, &place, options, error)
      || !scan_dxchange_take_angles (scan, file, &place, options, error))
    return NULL;
  scan->facts.format = g_strdup (place.layout->format);
  if (place.n_groups > 1)
    td_scan_note (scan,
                  "The file holds %u stages of the data; %s was taken ({dataset:/GROUP} takes "
                  "another).",
                  place.n_groups, place.group);
  scan_dxchange_take_details (scan, file);
  return td_scan_validate (scan, error) ? g_steal_pointer (&scan) : NULL;
}

const TdScanReader td_scan_reader_dxchange = { dxchange_probe, dxchange_open };
