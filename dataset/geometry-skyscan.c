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
#define PARALLEL_MM                                                                                \
  10000.0 /* source further away than this: the scanner is one with a parallel beam */

gboolean
td_geometry_file_is_skyscan (const char *head)
{
  g_autofree char *low = g_ascii_strdown (head, -1);

  return strstr (low, "[system]") && strstr (low, "scanner");
}

/* A key with and without its unit, as different versions write it. */
static double
geometry_skyscan_number (const TdIni *ini, const char *section, const char *key, const char *other)
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
take_distances (TdGeometryFile *file, const TdIni *ini, GError **error)
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
  geometry->pixel_width_mm = image;
  if (!isfinite (sdd) || sod > PARALLEL_MM) {
    geometry->beam = TD_BEAM_PARALLEL;
    if (!(image > 0))
      geometry->pixel_width_mm = binned;
  } else {
    if (!(sod > 0) || !(sdd > sod))
      return geometry_skyscan_refuse (
          error, file, N_ ("“Object to Source” is not between 0 and “Camera to Source”"));
    geometry->source_axis_mm = sod;
    geometry->source_detector_mm = sdd;
    geometry->pixel_width_mm = image > 0 ? image * sdd / sod : binned;
    if (image > 0 && camera > 0 && fabs (geometry->pixel_width_mm / binned - 1) > 0.02)
      td_geometry_file_note (file,
                             "The image's pixel of %g µm makes the detector's %.4g mm, not the "
                             "camera's %.4g mm; the former is calibrated and was taken.",
                             image * 1000, geometry->pixel_width_mm, binned);
  }
  /* Width to height; 1 within percents. */
  geometry->pixel_height_mm = geometry->pixel_width_mm / (ratio > 0.5 && ratio < 2 ? ratio : 1);
  return TRUE;
}

static gboolean
geometry_skyscan_take_views (TdGeometryFile *file, const TdIni *ini, GError **error)
{
  const guint n = td_ini_count (ini, ACQUISITION, "Number of Files");
  const double step
      = geometry_skyscan_number (ini, ACQUISITION, "Rotation Step (deg)", "Rotation Step");
  const char *direction = td_ini_string (ini, ACQUISITION, "Rotation Direction");
  const char *trajectory = td_ini_string (ini, ACQUISITION, "Scanning Trajectory");
  const double sign = direction && g_ascii_strcasecmp (direction, "CW") == 0 ? 1 : -1;

  if (trajectory
      && (g_ascii_strncasecmp (trajectory, "SPIRAL", 6) == 0
          || g_ascii_strncasecmp (trajectory, "HELI", 4) == 0)) {
    td_set_error (error, TD_ERROR_UNSUPPORTED,
                  "“%s”: its trajectory is a helix (Scanning Trajectory=%s): helical scans cannot "
                  "be reconstructed; open a scan whose sample stays at one height",
                  file->path, trajectory);
    return FALSE;
  }
  file->n_columns = td_ini_count (ini, ACQUISITION, "Number of Columns");
  file->n_rows = td_ini_count (ini, ACQUISITION, "Number of Rows");
  if (!isfinite (step) || step == 0 || fabs (step) > 180)
    return geometry_skyscan_refuse (error, file,
                                    N_ ("“Rotation Step (deg)” is missing or not right"));
  if (n == 0 || n > TD_SCAN_MAX_FRAMES)
    return geometry_skyscan_refuse (error, file, N_ ("“Number of Files” is missing or not right"));
  file->n_angles = n;
  file->angles_rad = g_new (double, n);
  for (guint i = 0; i < n; i++)
    file->angles_rad[i] = sign * i * step * G_PI / 180;
  return TRUE;
}

static void
take_offsets (TdGeometryFile *file, const TdIni *ini)
{
  TdGeometry *geometry = &file->geometry;
  const double line
      = geometry_skyscan_number (ini, ACQUISITION, "Optical Axis (line)", "Optical Axis");
  const double moved = td_ini_number (ini, RECONSTRUCTION, "Postalignment");

  if (isfinite (moved) && fabs (moved) < file->n_columns / 2.0)
    geometry->detector_offset_u_px = moved;
  if (isfinite (line) && line > 0 && line < file->n_rows && geometry->beam != TD_BEAM_PARALLEL)
    geometry->detector_offset_v_px = line - (file->n_rows - 1) / 2.0;
}

TdGeometryFile *
td_geometry_file_load_skyscan (const char *path, GError **error)
{
  g_autoptr (TdGeometryFile) file = td_geometry_file_new (path, "SkyScan .log");
  g_autoptr (TdIni) ini = td_ini_load (path, error);

  if (!ini || !take_distances (file, ini, error) || !geometry_skyscan_take_views (file, ini, error))
    return NULL;
  take_offsets (file, ini);
  const double depth = geometry_skyscan_number (ini, ACQUISITION, "Depth (bits)", "Depth");
  const double reference = td_ini_number (ini, ACQUISITION, "Reference Intensity");
  const char *corrected = td_ini_string (ini, ACQUISITION, "Flat Field Correction");
  file->white_level = reference > 0              ? reference
                      : depth > 0 && depth <= 32 ? exp2 (depth) - 1
                                                 : 65535;
  file->mirrored = TRUE;
  td_geometry_file_note (
      file, "SkyScan's images show the detector from behind: their rows are turned "
            "round; where the sample comes out as its mirror image, {reverse-rotation} "
            "turns the other way.");
  td_geometry_file_note (
      file,
      reference > 0
          ? N_ ("The open beam is taken to count %g (Reference Intensity); {flats} gives another.")
          : N_ ("The open beam is taken to count %g (full scale); {flats} gives another."),
      file->white_level);
  if (corrected && g_ascii_strcasecmp (corrected, "OFF") == 0)
    td_geometry_file_note (
        file, "The scanner left its flat field correction out (Flat Field Correction=OFF): the "
              "open beam is taken to be the same everywhere; {flats} gives measured ones.");
  return g_steal_pointer (&file);
}

char *
td_skyscan_first_projection (const char *path, GError **error)
{
  g_autoptr (TdIni) ini = td_ini_load (path, error);
  const char *stated = ini ? td_ini_string (ini, ACQUISITION, "Filename Prefix") : NULL;
  g_autofree char *folder = g_path_get_dirname (path), *name = g_path_get_basename (path);
  g_auto (GStrv) images = NULL;

  if (!ini)
    return NULL;
  if (g_str_has_suffix (name, ".log"))
    name[strlen (name) - strlen (".log")] = '\0';
  images = td_series_list (folder, td_series_is_tiff, NULL);
  const char *prefixes[] = { stated, name };
  for (guint p = 0; p < G_N_ELEMENTS (prefixes); p++)
    for (guint i = 0; images && prefixes[p] && *prefixes[p] && images[i]; i++) {
      const char *rest
          = g_str_has_prefix (images[i], prefixes[p]) ? images[i] + strlen (prefixes[p]) : "";

      if (g_ascii_isdigit (*rest)) /* "spr" and "arc" images are the scanner's own */
        return g_build_filename (folder, images[i], NULL);
    }
  return td_set_error_null (
      error, TD_ERROR_NOT_FOUND,
      "“%s” belongs to projections %s0000.tif …, which are not beside it; put them into its "
      "folder",
      path, stated && *stated ? stated : name);
}
