/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <string.h>

#include "error.h"
#include "geometry-file.h"
#include "geometry-matrix.h"
#include "ini-text.h"
#include "number.h"
#include "scan-private.h"
#include "series.h"
#include "text-file.h"

/* Nikon's .xtekct, read as the Core Imaging Library does, which was held against Nikon's own
 * volumes.
 *
 * Seen from the source, x points to the right, y along the beam, z up. The source stands at 0, the
 * axis passes (-ObjectOffsetX, SrcToObject, 0), and the detector's middle lies at (0,
 * SrcToDetector, 0). The images' first pixel is at the top right: they show the detector from
 * behind. The reader turns their rows round (mirrored), after which columns run along +x as ours.
 * View i is taken at InitialAngle + i AngularStep. Seen from the sample, source and detector have
 * turned by that much from -180 degrees, anticlockwise. That is the direction of our angles (a CIL
 * angle is minus a source's).
 *
 * ObjectRoll leans the axis to +x, ObjectTilt to +y: its direction is (sin r, sin t cos r, cos t
 * cos r). Without tilt, turning everything by -r about the beam makes it upright: a detector turned
 * by -r about the beam. With tilt each view's source and detector are placed as they stand about
 * the axis.
 *
 * Older files have CentreOfRotationTop and Bottom instead. These are mm at the detector where the
 * axis is seen at its upper and lower edge, to the other side than ours. */

#define SECTION "XTekCT"
#define MAX_TEXT ((gsize) 64 << 20)

gboolean
td_geometry_file_is_nikon (const char *head)
{
  g_autofree char *low = g_ascii_strdown (head, -1);

  return strstr (low, "[xtekct]") != NULL;
}

typedef struct {
  double sod, sdd, offset; /* mm; offset: ObjectOffsetX */
  double roll, tilt;       /* rad */
  double pixel[2], detector[2];
  guint columns, rows;
} Setup;

static double
number_or_0 (TdIni *ini, const char *key)
{
  const double value = td_ini_number (ini, SECTION, key);

  return isfinite (value) ? value : 0;
}

static gboolean
read_setup (TdIni *ini, const char *path, Setup *setup, GError **error)
{
  *setup = (Setup) {
    .sod = number_or_0 (ini, "SrcToObject"),
    .sdd = number_or_0 (ini, "SrcToDetector"),
    .pixel = { number_or_0 (ini, "DetectorPixelSizeX"), number_or_0 (ini, "DetectorPixelSizeY") },
    .detector = { number_or_0 (ini, "DetectorOffsetX"), number_or_0 (ini, "DetectorOffsetY") },
    .columns = td_ini_count (ini, SECTION, "DetectorPixelsX"),
    .rows = td_ini_count (ini, SECTION, "DetectorPixelsY"),
    .roll = number_or_0 (ini, "ObjectRoll") * G_PI / 180,
    .tilt = number_or_0 (ini, "ObjectTilt") * G_PI / 180,
    .offset = number_or_0 (ini, "ObjectOffsetX"),
  };
  if (!(setup->sod > 0) || !(setup->sdd > setup->sod) || !(setup->pixel[0] > 0)
      || !(setup->pixel[1] > 0) || setup->columns == 0 || setup->rows == 0)
    return td_set_error (
        error, TD_ERROR_BAD_FILE,
        "“%s”: SrcToObject and SrcToDetector (%g, %g mm), DetectorPixelsX and Y (%u, %u) or "
        "DetectorPixelSizeX and Y (%g, %g mm) are missing or contradict each other",
        path, setup->sod, setup->sdd, setup->columns, setup->rows, setup->pixel[0],
        setup->pixel[1]);
  if (fabs (setup->roll) > 0.8 || fabs (setup->tilt) > 0.8)
    return td_set_error (
        error, TD_ERROR_BAD_FILE,
        "“%s”: an axis that leans by ObjectRoll %g° and ObjectTilt %g° is none of a sound scan",
        path, setup->roll * 180 / G_PI, setup->tilt * 180 / G_PI);
  if (td_ini_string (ini, SECTION, "ObjectOffsetX"))
    return TRUE;
  const double top = number_or_0 (ini, "CentreOfRotationTop");
  const double bottom = number_or_0 (ini, "CentreOfRotationBottom");
  setup->offset = (top + bottom) / 2 * setup->sod / setup->sdd;
  if (!td_ini_string (ini, SECTION, "ObjectRoll"))
    setup->roll = -atan2 (top - bottom, setup->rows * setup->pixel[1]);
  return TRUE;
}

/* ── Angles ── */

/* The angle of every line that begins with a view's number ("12:\t43.2", "12\t43.2\t0.1"). */
static GArray *
measured_angles (const char *path)
{
  g_autofree char *text = td_text_load (path, MAX_TEXT, NULL);
  g_auto (GStrv) lines = text ? g_strsplit (text, "\n", -1) : NULL;
  g_autoptr (GArray) angles = g_array_new (FALSE, FALSE, sizeof (double));

  for (guint i = 0; lines && lines[i]; i++) {
    const char *at = lines[i];
    double view, angle;

    if (!td_next_number (&at, &view) || view != angles->len + 1)
      continue;
    at += strspn (at, ": \t,");
    if (td_next_number (&at, &angle))
      g_array_append_val (angles, angle);
  }
  return g_steal_pointer (&angles);
}

/* How far measured angles are from the nominal ones at most, after their first view and direction
   were made the same. What is left are steps the stage missed. Files may begin a turn anew. */
static double
largest_deviation (const double *nominal, const double *measured, guint n, double direction)
{
  double largest = 0;

  for (guint i = 0; i < n; i++)
    largest = MAX (largest,
                   fabs (remainder (
                       direction * (measured[i] - measured[0]) - (nominal[i] - nominal[0]), 360)));
  return largest;
}

/* Programs disagree on whether to trust the measured angles. Those that differ by less than a step
   say where the stage stood; others were counted in another way. */
static void
refine_angles (TdGeometryFile *file, double *nominal, guint n, double step, const char *path)
{
  g_autoptr (GArray) measured = measured_angles (path);
  const double *values = (const double *) measured->data;

  if (measured->len == 0)
    return;
  if (measured->len != n || n < 2) {
    td_messages_note (
        &file->notes,
        "%s holds %u [angle|angles] for %u [projection|projections]: InitialAngle and AngularStep "
        "were taken instead.",
        path, measured->len, n);
    return;
  }
  const double along = largest_deviation (nominal, values, n, 1);
  const double against = largest_deviation (nominal, values, n, -1);
  const double largest = MIN (along, against), direction = along <= against ? 1 : -1;
  if (largest > fabs (step)) {
    td_messages_note (&file->notes,
                      "The angles in %s are up to %.3g° off InitialAngle and AngularStep, "
                      "which were taken; {angles} takes others.",
                      path, largest);
    return;
  }
  for (guint i = 1; i < n; i++)
    nominal[i] += remainder (direction * (values[i] - values[0]) - (nominal[i] - nominal[0]), 360);
  td_messages_note (&file->notes, "Angles as measured: %s (up to %.3g° off even steps).", path,
                    largest);
}

static gboolean
geometry_nikon_read_angles (TdGeometryFile *file, TdIni *ini, GError **error)
{
  const guint n = td_ini_count (ini, SECTION, "Projections");
  const double step = td_ini_number (ini, SECTION, "AngularStep");
  const double first = number_or_0 (ini, "InitialAngle");
  g_autofree char *folder = g_path_get_dirname (file->path);
  g_autofree char *name = g_path_get_basename (file->path);

  if (n == 0 || n > TD_SCAN_MAX_FRAMES || !isfinite (step) || fabs (step) > 360)
    return td_set_error (error, TD_ERROR_BAD_FILE,
                         "“%s”: Projections (%u) or AngularStep (%g°) is missing or not right",
                         file->path, n, step);
  g_autofree double *degrees = g_new (double, n);
  for (guint i = 0; i < n; i++)
    degrees[i] = first + i * step;
  if (td_series_ends (name, ".xtekct"))
    name[strlen (name) - strlen (".xtekct")] = '\0';
  g_autofree char *ang = g_strconcat (name, ".ang", NULL);
  g_autofree char *named = g_strconcat (name, "_ctdata.txt", NULL);
  const char *names[] = { ang, named, "_ctdata.txt" };
  g_autofree char *measured = NULL;
  for (guint i = 0; i < G_N_ELEMENTS (names) && !measured; i++)
    measured = td_series_find (folder, names[i]);
  if (measured)
    refine_angles (file, degrees, n, step, measured);
  file->n_angles = n;
  file->angles_rad = g_new (double, n);
  for (guint i = 0; i < n; i++)
    file->angles_rad[i] = (degrees[i] - 180) * G_PI / 180;
  return TRUE;
}

/* ── Geometry ── */

static void
take_circular (TdGeometry *geometry, const Setup *setup)
{
  const double r = setup->roll;

  geometry->source_axis_mm = setup->sod;
  geometry->source_detector_mm = setup->sdd;
  geometry->axis_offset_mm = -setup->offset * cos (r);
  geometry->detector_tilt_rad[2] = -r;
  /* A detector moved right and up: the ray that meets it squarely falls left of and below its
   * middle. */
  geometry->detector_offset_u_px = -setup->detector[0] / setup->pixel[0];
  geometry->detector_offset_v_px = setup->detector[1] / setup->pixel[1];
}

/* Source, detector and its axes in the axis' own frame. There z is along the axis, y as nearly
   along the beam as can be; the origin is where the axis passes the source's height. */
static void
geometry_nikon_take_views (TdGeometryFile *file, const Setup *setup)
{
  const double r = setup->roll, t = setup->tilt;
  const double z[3] = { sin (r), sin (t) * cos (r), cos (t) * cos (r) };
  const double along = sqrt (1 - z[1] * z[1]);
  const double y[3] = { -z[0] * z[1] / along, along, -z[2] * z[1] / along };
  double x[3];
  const double origin[3] = { -setup->offset, setup->sod, 0 };
  const double still[4][3] = {
    { -origin[0], -origin[1], -origin[2] },
    { setup->detector[0] - origin[0], setup->sdd - origin[1], setup->detector[1] - origin[2] },
    { setup->pixel[0], 0, 0 },
    { 0, 0, -setup->pixel[1] },
  };

  td_cross3 (y, z, x);
  file->kind = TD_VIEWS_VECTORS;
  file->n_views = file->n_angles;
  file->views = g_new (double, 12 * (gsize) file->n_views);
  for (guint view = 0; view < file->n_views; view++) {
    const double c = cos (file->angles_rad[view]), s = sin (file->angles_rad[view]);

    for (guint i = 0; i < 4; i++) {
      const double px = td_dot3 (still[i], x), py = td_dot3 (still[i], y);
      double *out = file->views + 12 * (gsize) view + 3 * i;

      out[0] = c * px - s * py;
      out[1] = s * px + c * py;
      out[2] = td_dot3 (still[i], z);
    }
  }
  file->geometry.source_axis_mm = setup->sod;
  file->geometry.source_detector_mm = setup->sdd;
}

/* A volume about the axis is taken over; one moved aside is not. */
static void
geometry_nikon_take_volume (TdGeometryFile *file, TdIni *ini)
{
  TdGeometry *geometry = &file->geometry;
  static const char *const sizes[] = { "VoxelsX", "VoxelsY", "VoxelsZ" };
  static const char *const edges[] = { "VoxelSizeX", "VoxelSizeY", "VoxelSizeZ" };
  static const char *const offsets[] = { "OffsetX", "OffsetY", "OffsetZ" };
  const double edge = number_or_0 (ini, edges[0]);
  guint size[3];

  for (guint i = 0; i < 3; i++) {
    size[i] = td_ini_count (ini, SECTION, sizes[i]);
    if (size[i] == 0 || size[i] > TD_SCAN_MAX_SIDE || !(edge > 0))
      return;
    if (number_or_0 (ini, offsets[i]) != 0
        || fabs (number_or_0 (ini, edges[i]) - edge) > 1e-3 * edge) {
      td_messages_note (&file->notes,
                        "The file's volume (VoxelsX, …) has voxels that are no cubes, or is "
                        "moved aside by its OffsetX, Y or Z: one about what the detector sees "
                        "is taken instead.");
      return;
    }
  }
  geometry->voxel_mm = edge;
  memcpy (geometry->volume_size, size, sizeof size);
}

TdGeometryFile *
td_geometry_file_load_nikon (const char *path, GError **error)
{
  g_autoptr (TdGeometryFile) file = td_geometry_file_new (path, "Nikon .xtekct");
  g_autoptr (TdIni) ini = td_ini_load (path, error);
  Setup setup;

  if (!ini)
    return NULL;
  const gboolean good
      = read_setup (ini, path, &setup, error) && geometry_nikon_read_angles (file, ini, error);
  file->white_level = number_or_0 (ini, "WhiteLevel");
  geometry_nikon_take_volume (file, ini);
  if (!td_ini_check (ini, error) || !good)
    return NULL;
  file->n_columns = setup.columns;
  file->n_rows = setup.rows;
  file->mirrored = TRUE;
  file->geometry.pixel_width_mm = setup.pixel[0];
  file->geometry.pixel_height_mm = setup.pixel[1];
  if (setup.tilt != 0)
    geometry_nikon_take_views (file, &setup);
  else
    take_circular (&file->geometry, &setup);
  td_messages_note (&file->notes,
                    "Nikon's images show the detector from behind: their rows are turned "
                    "round, so that all is seen from the source.");
  if (setup.detector[0] != 0 || setup.detector[1] != 0)
    td_messages_note (&file->notes,
                      "DetectorOffsetX and Y (%g, %g mm) are taken as to the right and up, "
                      "seen from the source.",
                      setup.detector[0], setup.detector[1]);
  return g_steal_pointer (&file);
}

/* ── Projections ── */

char *
td_nikon_first_projection (const char *path, GError **error)
{
  g_autoptr (TdIni) ini = td_ini_load (path, error);
  const char *stated, *input, *separator;
  g_autofree char *folder = g_path_get_dirname (path);
  g_autofree char *below = NULL, *name = NULL, *prefix = NULL;

  if (!ini)
    return NULL;
  stated = td_ini_string (ini, SECTION, "Name");
  input = td_ini_string (ini, SECTION, "InputFolderName");
  separator = td_ini_string (ini, SECTION, "InputSeparator");
  name = stated && *stated ? g_strdup (stated) : g_path_get_basename (path);
  if (td_series_ends (name, ".xtekct"))
    name[strlen (name) - strlen (".xtekct")] = '\0';
  prefix = g_strconcat (name, separator && *separator ? separator : "_", NULL);
  below
      = input && *input && !strpbrk (input, "\\/:") ? g_build_filename (folder, input, NULL) : NULL;

  const char *folders[] = { below, folder };
  for (guint i = 0; i < G_N_ELEMENTS (folders); i++) {
    g_auto (GStrv) images
        = folders[i] ? td_series_list (folders[i], td_series_is_tiff, NULL) : NULL;

    for (guint j = 0; images && images[j]; j++)
      if (g_ascii_strncasecmp (images[j], prefix, strlen (prefix)) == 0)
        return g_build_filename (folders[i], images[j], NULL);
  }
  return td_set_error_null (
      error, TD_ERROR_NOT_FOUND,
      "“%s” belongs to projections %s0001.tif …, which are not beside it; put them into its "
      "folder, or give it for images of another name ({geometry:FILE})",
      path, prefix);
}
