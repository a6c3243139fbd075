/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <string.h>

#include "error.h"
#include "geometry-file.h"
#include "ini-text.h"
#include "number.h"
#include "scan-private.h"
#include "series.h"

/* SkyScan's (Bruker's) .log. Bruker publishes no axes: they are those of ASTRA's SkyScan parser,
 * which was held against NRecon. Images show the detector from behind (their rows are turned
 * round). With "Rotation Direction=CC" source and detector go clockwise about the sample (our angle
 * falls). The optical axis is a line counted from 0 at the top. A positive Postalignment moves the
 * axis to larger columns once rows are turned round.
 *
 * "Image Pixel Size (um)" is the calibrated pixel at the axis, and the detector's pixel follows
 * from it. The camera's nominal pixel with its distances misses it by percents on some scanners. */

#define SYSTEM "System"
#define ACQUISITION "Acquisition"
#define RECONSTRUCTION "Reconstruction"

gboolean
td_geometry_file_is_skyscan (const char *head)
{
  g_autofree char *low = g_ascii_strdown (head, -1);

  return strstr (low, "[system]") && strstr (low, "scanner");
}

/* A key with and without its unit, as different versions write it. */
static double
geometry_skyscan_number (TdIni *ini, const char *section, const char *key, const char *other)
{
  const double value = td_ini_number (ini, section, key);

  return isfinite (value) ? value : td_ini_number (ini, section, other);
}

static gboolean
geometry_skyscan_refuse (GError **error, const TdGeometryFile *file, const char *why)
{
  return td_set_error (error, TD_ERROR_BAD_FILE, "“%s”: %p", file->path, td_message_unpack (why));
}

static gboolean
take_distances (TdGeometryFile *file, TdIni *ini, GError **error)
{
  TdGeometry *geometry = &file->geometry;
  const double sod
      = geometry_skyscan_number (ini, ACQUISITION, "Object to Source (mm)", "Object to Source");
  const double sdd
      = geometry_skyscan_number (ini, ACQUISITION, "Camera to Source (mm)", "Camera to Source");
  const double image
      = geometry_skyscan_number (ini, ACQUISITION, "Image Pixel Size (um)", "Pixel Size (um)")
        / 1000;
  const double camera
      = geometry_skyscan_number (ini, SYSTEM, "Camera Pixel Size (um)", "Camera Pixel Size") / 1000;
  const double ratio = geometry_skyscan_number (ini, SYSTEM, "CameraXYRatio", "Camera X/Y Ratio");
  const char *binning = td_ini_string (ini, ACQUISITION, "Camera binning");
  double pixels = 1; /* of the camera to one of the image: "2x2" */

  if (binning && td_next_number (&binning, &pixels))
    pixels = CLAMP (pixels, 1, 16);
  const double binned = camera * pixels;
  if (!(image > 0) && !(camera > 0))
    return geometry_skyscan_refuse (error, file,
                                    N_ ("it states no pixel size (Image Pixel Size (um))"));
  if (ratio <= 0.5 || ratio >= 2)
    return geometry_skyscan_refuse (
        error, file, N_ ("pixels that are as far from square as CameraXYRatio says cannot be"));
  geometry->pixel_width_mm = image;
  if (sod > TD_SCAN_FARTHEST_CONE_MM || (!isfinite (sdd) && !isfinite (sod))) {
    geometry->beam = TD_BEAM_PARALLEL;
    if (!(image > 0))
      geometry->pixel_width_mm = binned;
  } else {
    if (!isfinite (sdd))
      return geometry_skyscan_refuse (
          error, file,
          N_ ("it states “Object to Source”, but no “Camera to Source”, as only scanners with a "
              "parallel beam leave out: add that line"));
    if (!(sod > 0) || !(sdd > sod))
      return geometry_skyscan_refuse (
          error, file, N_ ("“Object to Source” is not between 0 and “Camera to Source”"));
    geometry->source_axis_mm = sod;
    geometry->source_detector_mm = sdd;
    geometry->pixel_width_mm = image > 0 ? image * sdd / sod : binned;
    if (image > 0 && camera > 0 && fabs (geometry->pixel_width_mm / binned - 1) > 0.02)
      td_messages_note (&file->notes,
                        "The image's pixel of %g µm makes the detector's %.4g mm, not the "
                        "camera's %.4g mm; the former is calibrated and was taken.",
                        image * 1000, geometry->pixel_width_mm, binned);
  }
  /* Width to height; 1 within percents. */
  geometry->pixel_height_mm = geometry->pixel_width_mm / (isfinite (ratio) ? ratio : 1);
  return TRUE;
}

/* 1: clockwise, -1: not, as most scanners turn and a log that says nothing is taken; 0: a word that
   is neither. Some scanners have only the other key. */
static int
geometry_skyscan_direction (TdIni *ini, const char **said)
{
  const char *rotation = td_ini_string (ini, ACQUISITION, "Rotation Direction");
  const char *gantry = td_ini_string (ini, ACQUISITION, "Gantry direction");

  *said = rotation && *rotation ? rotation : gantry && *gantry ? gantry : "CC";
  return g_ascii_strcasecmp (*said, "CW") == 0                                             ? 1
         : g_ascii_strcasecmp (*said, "CC") == 0 || g_ascii_strcasecmp (*said, "CCW") == 0 ? -1
                                                                                           : 0;
}

/* What the log says of the images and this program does not do with them. */
static void
geometry_skyscan_note_rest (TdGeometryFile *file, TdIni *ini, double step)
{
  const guint n = file->n_angles;
  const char *full = td_ini_string (ini, ACQUISITION, "Use 360 Rotation");
  const double covered = n * fabs (step);
  const guint connected = td_ini_count (ini, ACQUISITION, "Number of connected scans");
  const guint beside = td_ini_count (ini, ACQUISITION, "Number Of Horizontal Offset Positions");
  const double rolled = td_ini_number (ini, ACQUISITION, "Image Rotation");

  if (full && g_ascii_strcasecmp (full, "YES") == 0
      && fabs (covered - 360) > MAX (1.5 * fabs (step), 1))
    td_messages_note (&file->notes,
                      "The log says that the turn is whole (Use 360 Rotation=YES), but %u "
                      "views %.4g° apart cover %.4g°: the latter was taken; {angles} states "
                      "another.",
                      n, fabs (step), covered);
  if (connected > 1)
    td_messages_note (&file->notes,
                      "This is one of %u connected scans (Number of connected scans): its "
                      "volume is that part of the sample only.",
                      connected);
  if (beside > 1)
    td_messages_note (&file->notes,
                      "The camera stood at %u places side by side (Number Of Horizontal Offset "
                      "Positions): the images are taken as put together already.",
                      beside);
  /* Half a row's height from one side to the other. */
  if (fabs (rolled) * G_PI / 180 * file->n_columns > 0.5)
    td_messages_note (&file->notes,
                      "The log says that the camera is turned by %.4g° (Image Rotation), which "
                      "is not used; where the images still are, {tilt} takes it.",
                      rolled);
}

static gboolean
geometry_skyscan_take_views (TdGeometryFile *file, TdIni *ini, GError **error)
{
  const guint n = td_ini_count (ini, ACQUISITION, "Number of Files");
  const double step
      = geometry_skyscan_number (ini, ACQUISITION, "Rotation Step (deg)", "Rotation Step");
  const char *direction, *trajectory = td_ini_string (ini, ACQUISITION, "Scanning Trajectory");
  const int sign = geometry_skyscan_direction (ini, &direction);

  if (trajectory
      && (g_ascii_strncasecmp (trajectory, "SPIRAL", 6) == 0
          || g_ascii_strncasecmp (trajectory, "HELI", 4) == 0))
    return td_set_error (
        error, TD_ERROR_UNSUPPORTED,
        "“%s”: its trajectory is a helix (Scanning Trajectory=%s): helical scans cannot "
        "be reconstructed; open a scan whose sample stays at one height",
        file->path, trajectory);
  file->n_columns = td_ini_count (ini, ACQUISITION, "Number of Columns");
  file->n_rows = td_ini_count (ini, ACQUISITION, "Number of Rows");
  if (!isfinite (step) || step == 0 || fabs (step) > 180)
    return geometry_skyscan_refuse (error, file,
                                    N_ ("“Rotation Step (deg)” is missing or not right"));
  if (n == 0 || n > TD_SCAN_MAX_FRAMES)
    return geometry_skyscan_refuse (error, file, N_ ("“Number of Files” is missing or not right"));
  if (sign == 0)
    return td_set_error (error, TD_ERROR_BAD_FILE,
                         "“%s”: “%s” is no direction that is known: “Rotation Direction” is CC or "
                         "CW",
                         file->path, direction);
  file->n_angles = n;
  file->angles_rad = g_new (double, n);
  for (guint i = 0; i < n; i++)
    file->angles_rad[i] = sign * (i * step * G_PI / 180);
  geometry_skyscan_note_rest (file, ini, step);
  return TRUE;
}

static gboolean
take_offsets (TdGeometryFile *file, TdIni *ini, GError **error)
{
  TdGeometry *geometry = &file->geometry;
  const double line
      = geometry_skyscan_number (ini, ACQUISITION, "Optical Axis (line)", "Optical Axis");
  const double moved = td_ini_number (ini, RECONSTRUCTION, "Postalignment");

  if (file->n_columns > 0 && fabs (moved) >= file->n_columns / 2.0)
    return geometry_skyscan_refuse (
        error, file, N_ ("its Postalignment puts the axis beside the detector: correct that line"));
  if (isfinite (moved) && td_ini_number (ini, RECONSTRUCTION, "Postalignment Applied") != 0) {
    geometry->detector_offset_u_px = moved;
    if (moved != 0)
      td_messages_note (&file->notes,
                        "The axis lies %g columns beside the middle, as NRecon's "
                        "reconstruction had it (Postalignment); {centre} states another.",
                        moved);
  }
  if (geometry->beam == TD_BEAM_PARALLEL || !isfinite (line) || line == 0)
    return TRUE;
  if (file->n_rows == 0)
    return geometry_skyscan_refuse (
        error, file, N_ ("it states an “Optical Axis (line)”, but no “Number of Rows”"));
  if (line < 0 || line >= file->n_rows)
    return geometry_skyscan_refuse (
        error, file, N_ ("its “Optical Axis (line)” is not on the detector: correct that line"));
  geometry->detector_offset_v_px = line - (file->n_rows - 1) / 2.0;
  return TRUE;
}

TdGeometryFile *
td_geometry_file_load_skyscan (const char *path, GError **error)
{
  g_autoptr (TdGeometryFile) file = td_geometry_file_new (path, "SkyScan .log");
  g_autoptr (TdIni) ini = td_ini_load (path, error);

  if (!ini)
    return NULL;
  const gboolean good = take_distances (file, ini, error)
                        && geometry_skyscan_take_views (file, ini, error)
                        && take_offsets (file, ini, error);
  const double depth = geometry_skyscan_number (ini, ACQUISITION, "Depth (bits)", "Depth");
  const double reference = td_ini_number (ini, ACQUISITION, "Reference Intensity");
  const char *corrected = td_ini_string (ini, ACQUISITION, "Flat Field Correction");
  if (!td_ini_check (ini, error) || !good)
    return NULL;
  file->white_level = reference > 0              ? reference
                      : depth > 0 && depth <= 32 ? exp2 (depth) - 1
                                                 : 65535;
  file->mirrored = TRUE;
  td_messages_note (&file->notes,
                    "SkyScan's images show the detector from behind: their rows are turned "
                    "round; where the sample comes out as its mirror image, {reverse-rotation} "
                    "turns the other way.");
  td_messages_note (
      &file->notes,
      reference > 0
          ? N_ ("The open beam is taken to count %g (Reference Intensity); {flats} gives another.")
          : N_ ("The open beam is taken to count %g (full scale); {flats} gives another."),
      file->white_level);
  file->uncorrected = corrected && g_ascii_strcasecmp (corrected, "OFF") == 0;
  if (file->uncorrected)
    td_messages_note (
        &file->notes,
        "The scanner left its flat field correction out (Flat Field Correction=OFF): the "
        "open beam is taken to be the same everywhere; {flats} gives measured ones.");
  return g_steal_pointer (&file);
}

/* NRecon writes a log of its own, with what the scan's said and what it made of that. */
static gboolean
geometry_skyscan_is_result (TdIni *ini)
{
  return td_ini_string (ini, RECONSTRUCTION, "Result File Type")
         || td_ini_string (ini, RECONSTRUCTION, "Sections Count");
}

gboolean
td_skyscan_is_result (const char *path)
{
  g_autoptr (TdIni) ini = td_ini_load (path, NULL);

  return ini && geometry_skyscan_is_result (ini);
}

char *
td_skyscan_first_projection (const char *path, GError **error)
{
  g_autoptr (TdIni) ini = td_ini_load (path, error);
  const char *stated = ini ? td_ini_string (ini, ACQUISITION, "Filename Prefix") : NULL;
  g_autofree char *folder = g_path_get_dirname (path), *name = g_path_get_basename (path);

  if (!ini)
    return NULL;
  if (td_series_ends (name, ".log"))
    name[strlen (name) - strlen (".log")] = '\0';
  g_auto (GStrv) images = td_series_list (folder, td_series_is_tiff, NULL);
  /* What is called like a result's log are its slices. */
  const gboolean result = geometry_skyscan_is_result (ini);
  const char *prefixes[] = { stated, result ? NULL : name };
  for (guint p = 0; p < G_N_ELEMENTS (prefixes); p++)
    for (guint i = 0; images && prefixes[p] && *prefixes[p] && images[i]; i++) {
      const gsize n = strlen (prefixes[p]);
      const char *rest = g_ascii_strncasecmp (images[i], prefixes[p], n) == 0 ? images[i] + n : "";

      if (g_ascii_isdigit (*rest)) /* "spr" and "arc" images are the scanner's own */
        return g_build_filename (folder, images[i], NULL);
    }
  if (result)
    return td_set_error_null (error, TD_ERROR_NOT_FOUND,
                              "“%s” is the log of a volume that NRecon made, and the projections "
                              "are not beside it: open the folder of the scan",
                              path);
  return td_set_error_null (
      error, TD_ERROR_NOT_FOUND,
      "“%s” belongs to projections %s0000.tif …, which are not beside it; put them into its "
      "folder, or give it for images of another name ({geometry:FILE})",
      path, stated && *stated ? stated : name);
}
