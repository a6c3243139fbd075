/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <json-glib/json-glib.h>
#include <math.h>
#include <string.h>

#include "error.h"
#include "geometry-matrix.h"
#include "json-walk.h"
#include "raw-frames.h"
#include "sample.h"
#include "scan-private.h"
#include "series.h"

/* ── What is stated ── */

static gboolean
scan_ctsimu_refuse (GError **error, const char *path, const char *key)
{
  return td_set_error (error, TD_ERROR_BAD_FILE, "“%s”: “%s” is missing or not right", path, key);
}

/* A length that may be left out (NAN), but is none of another kind or unit. */
static gboolean
scan_ctsimu_read_length (JsonNode *root, const char *path, const char *key, double *mm,
                         GError **error)
{
  g_autofree char *value = g_strconcat (key, "/value", NULL);

  *mm = td_json_length_mm (root, key);
  return isfinite (*mm) || !td_json_at (root, value) || scan_ctsimu_refuse (error, path, key);
}

static gboolean
scan_ctsimu_read_flag (JsonNode *root, const char *path, const char *key, gboolean *flag,
                       GError **error)
{
  return td_json_flag (root, key, flag) || scan_ctsimu_refuse (error, path, key);
}

/* ── The scenario file ── */

/* Directions closer than this are the same: files state six digits. */
#define SAME 1e-5

typedef struct {
  double centre[3], u[3], v[3], w[3];
} Frame;

static gboolean
ctsimu_geometry_refuse (GError **error, const char *path, TdErrorCode code, const char *why)
{
  return td_set_error (error, code, "The geometry in “%s” cannot be used: %p", path,
                       td_message_unpack (why));
}

/* Is there anything in what lists changes, an array or one alone? */
static gboolean
ctsimu_geometry_lists (JsonNode *root, const char *key)
{
  JsonNode *node = td_json_at (root, key);

  return node
         && !(JSON_NODE_HOLDS_ARRAY (node)
              && json_array_get_length (json_node_get_array (node)) == 0);
}

/* Source, stage or detector that move during the scan, as a helix does, or stand askew. */
static gboolean
ctsimu_geometry_stands (JsonNode *root, const char *path, const char *part, GError **error)
{
  static const char *const places[] = { "center", "vector_u", "vector_w" };
  static const char *const axes[] = { "x", "y", "z" };
  g_autofree char *deviations = g_strconcat ("geometry/", part, "/deviations", NULL);
  gboolean drifts = FALSE;

  if (ctsimu_geometry_lists (root, deviations))
    return ctsimu_geometry_refuse (error, path, TD_ERROR_UNSUPPORTED,
                                   N_ ("it has deviations from the ideal circular orbit"));
  for (guint i = 0; i < 9; i++) {
    g_autofree char *key
        = g_strconcat ("geometry/", part, "/", places[i / 3], "/", axes[i % 3], "/drifts", NULL);
    drifts = drifts || ctsimu_geometry_lists (root, key);
  }
  return !drifts
         || ctsimu_geometry_refuse (
             error, path, TD_ERROR_UNSUPPORTED,
             N_ ("source, stage or detector drift during the scan, which is no circular orbit"));
}

static gboolean
read_frame (JsonNode *root, const char *path, const char *part, Frame *frame, GError **error)
{
  static const char *const axes[] = { "x", "y", "z" };

  if (!ctsimu_geometry_stands (root, path, part, error))
    return FALSE;
  for (guint i = 0; i < 3; i++) {
    g_autofree char *c = g_strconcat ("geometry/", part, "/center/", axes[i], NULL);
    g_autofree char *u = g_strconcat ("geometry/", part, "/vector_u/", axes[i], "/value", NULL);
    g_autofree char *w = g_strconcat ("geometry/", part, "/vector_w/", axes[i], "/value", NULL);

    frame->centre[i] = td_json_length_mm (root, c);
    frame->u[i] = td_json_number (root, u);
    frame->w[i] = td_json_number (root, w);
  }
  if (!isfinite (td_dot3 (frame->centre, frame->centre)) || !td_normalise3 (frame->u)
      || !td_normalise3 (frame->w))
    return ctsimu_geometry_refuse (error, path, TD_ERROR_BAD_FILE,
                                   N_ ("source, stage or detector is not placed"));
  if (fabs (td_dot3 (frame->u, frame->w)) > SAME)
    return td_set_error (
        error, TD_ERROR_BAD_FILE,
        "“%s”: “vector_u” and “vector_w” of the %s are not at right angles: correct "
        "one of them",
        path, part);
  td_cross3 (frame->w, frame->u, frame->v);
  return TRUE;
}

static gboolean
ctsimu_geometry_place (const Frame *source, const Frame *stage, const Frame *detector,
                       const char *path, TdGeometry *geometry, GError **error)
{
  if (fabs (td_dot3 (stage->w, detector->v) + 1) > SAME)
    return ctsimu_geometry_refuse (
        error, path, TD_ERROR_UNSUPPORTED,
        N_ ("the rotation axis is not parallel to the detector's columns"));
  return td_geometry_place_cone (geometry, source->centre, stage->centre, detector->centre,
                                 detector->u, detector->v, detector->w)
         || ctsimu_geometry_refuse (error, path, TD_ERROR_BAD_FILE,
                                    N_ ("the stage is not between the source and the detector"));
}

static gboolean
ctsimu_geometry_read_angles (JsonNode *root, const char *path, guint n_views, double **angles_rad,
                             GError **error)
{
  double start = td_json_angle_rad (root, "acquisition/start_angle");
  double stop = td_json_angle_rad (root, "acquisition/stop_angle");
  const char *direction = td_json_string (root, "acquisition/direction");
  guint stated = td_json_count (root, "acquisition/number_of_projections"), steps;
  gboolean with_last;

  if (!direction
      || (g_ascii_strcasecmp (direction, "CW") != 0 && g_ascii_strcasecmp (direction, "CCW") != 0))
    return scan_ctsimu_refuse (error, path, "acquisition/direction");
  if (!scan_ctsimu_read_flag (root, path, "acquisition/include_final_angle", &with_last, error))
    return FALSE;
  if (!isfinite (start) || !isfinite (stop))
    return td_set_error (
        error, TD_ERROR_ANGLES,
        "“%s” states no first and last angle; give the angles ({angles:FILE|FIRST:LAST})", path);
  if (stated != n_views)
    return td_scan_refuse_views (error, path, stated,
                                 td_message_new ("%u [projection|projections]", stated), path,
                                 (const guint[]) { n_views, 0 });
  if (start > stop)
    return ctsimu_geometry_refuse (
        error, path, TD_ERROR_BAD_FILE,
        N_ ("its “start_angle” is behind its “stop_angle”: the “direction” says how it turns"));
  steps = with_last ? MAX (n_views - 1, 1) : n_views;
  *angles_rad = g_new (double, n_views);
  for (guint i = 0; i < n_views; i++) {
    double turned = start + (stop - start) * i / steps;

    (*angles_rad)[i] = g_ascii_strcasecmp (direction, "CW") == 0 ? turned : -turned;
  }
  return TRUE;
}

/* The stage's u need not lie along the beam at angle 0: slices lie in the stage all the same. */
static void
ctsimu_geometry_turn_stage (const Frame *stage, const Frame *detector, double *angles_rad,
                            guint n_views)
{
  double aside[3];

  td_cross3 (stage->w, detector->w, aside);
  const double turned = atan2 (td_dot3 (stage->u, aside), td_dot3 (stage->u, detector->w));
  for (guint i = 0; i < n_views; i++)
    angles_rad[i] -= turned;
}

/* The scenario's pixels are those before binning. What the metadata state of the images, else of
   their number, must make a detector of the same size. */
static gboolean
ctsimu_geometry_take_pixels (JsonNode *root, const char *path, TdScanFacts *facts, GError **error)
{
  static const char *const pitches[] = { "detector/pixel_pitch/u", "detector/pixel_pitch/v" };
  static const char *const counts[] = { "detector/columns/value", "detector/rows/value" };
  double *const pixels[] = { &facts->geometry.pixel_width_mm, &facts->geometry.pixel_height_mm };
  const guint images[] = { facts->n_columns, facts->n_rows };

  for (guint i = 0; i < 2; i++) {
    const guint n = td_json_count (root, counts[i]);
    double pitch;

    if (!scan_ctsimu_read_length (root, path, pitches[i], &pitch, error))
      return FALSE;
    if (!(pitch > 0))
      continue;
    if (!(*pixels[i] > 0))
      *pixels[i] = n >= images[i] ? pitch * (n / images[i]) : pitch;
    const double binned = *pixels[i] / pitch;
    if (n > 0 && fabs (binned * images[i] - n) > MAX (binned, 0.01 * n))
      return td_set_error (
          error, TD_ERROR_BAD_FILE,
          "“%s”: %u pixels of %g mm make another detector than “%s” has, %u of %g mm: correct the "
          "wrong one",
          facts->path, images[i], *pixels[i], path, n, pitch);
  }
  return TRUE;
}

/* The metadata's volume lies about the stage, ours about what the detector sees. */
#define RAISED_MM 1e-3

static void
ctsimu_geometry_leave_volume (const Frame *source, const Frame *stage, TdScanFacts *facts)
{
  TdGeometry *geometry = &facts->geometry;
  double to_stage[3];

  td_between3 (source->centre, stage->centre, to_stage);
  const double raised = td_dot3 (to_stage, stage->w);
  if (fabs (raised) < RAISED_MM)
    return;
  td_messages_note (&facts->notes,
                    "The stage stands %g mm along its axis from the source: the slices lie "
                    "about what the detector sees, and no volume about the stage is taken.",
                    raised);
  geometry->voxel_mm = 0;
  memset (geometry->volume_size, 0, sizeof geometry->volume_size);
}

/* The geometry of a scenario file, version 1. Source, stage and detector are placed in a world by
   centres and by the vectors u and w, with v = w × u. The stage turns about its w,
   counter-clockwise where our angles turn it clockwise, so the angles' signs are reversed
   (geometry.h). Slices then lie in the stage as x = -v, y = u, z = w. TdGeometry's circular orbit
   holds no deviations, no drifts and no tilted stage: they are refused. @angles_rad: NULL where the
   user states them. */
static gboolean
ctsimu_geometry_load (const char *path, TdScanFacts *facts, double **angles_rad, GError **error)
{
  TdGeometry *geometry = &facts->geometry;
  g_autoptr (JsonNode) root = td_json_load (path, error);
  const char *type = td_json_string (root, "geometry/source/type");
  Frame source, stage, detector;

  if (!root)
    return FALSE;
  if (type && strcmp (type, "cone") != 0 && strcmp (type, "parallel") != 0)
    return scan_ctsimu_refuse (error, path, "geometry/source/type");
  if (!ctsimu_geometry_take_pixels (root, path, facts, error))
    return FALSE;
  if (!(geometry->pixel_width_mm > 0) || !(geometry->pixel_height_mm > 0))
    return ctsimu_geometry_refuse (error, path, TD_ERROR_BAD_FILE, N_ ("the pixels have no size"));
  if (!read_frame (root, path, "source", &source, error)
      || !read_frame (root, path, "stage", &stage, error)
      || !read_frame (root, path, "detector", &detector, error)
      || (angles_rad
          && !ctsimu_geometry_read_angles (root, path, facts->n_views, angles_rad, error)))
    return FALSE;
  if (angles_rad)
    ctsimu_geometry_turn_stage (&stage, &detector, *angles_rad, facts->n_views);
  ctsimu_geometry_leave_volume (&source, &stage, facts);
  geometry->beam = type && strcmp (type, "parallel") == 0 ? TD_BEAM_PARALLEL : TD_BEAM_CONE;
  return ctsimu_geometry_place (&source, &stage, &detector, path, geometry, error);
}

/* ── The scan ── */

/* CTSimU metadata (file_type "CTSimU Metadata"): raw frames described by JSON, with the geometry in
 * a scenario file that it names. */

#define PROJECTIONS "output/projections/"

static gboolean
ctsimu_is (const char *path, const char *wanted)
{
  g_autoptr (JsonNode) root = td_series_ends (path, ".json") ? td_json_load (path, NULL) : NULL;
  const char *type = td_json_string (root, "file/file_type");

  return type && strcmp (type, wanted) == 0;
}

static gboolean
ctsimu_probe (const char *path, const TdScanOptions *options)
{
  return ctsimu_is (path, "CTSimU Metadata");
}

static gboolean
ctsimu_scenario_probe (const char *path, const TdScanOptions *options)
{
  return ctsimu_is (path, "CTSimU Scenario");
}

static TdScan *
ctsimu_scenario_open (const char *path, const TdScanOptions *options, GCancellable *cancellable,
                      GError **error)
{
  return td_set_error_null (
      error, TD_ERROR_UNSUPPORTED,
      "“%s” is a CTSimU scenario, which holds no projections: open the metadata beside "
      "them, a file called …_metadata.json",
      path);
}

/* The file's "%04d" once, and nothing else of a format: the text is a stranger's. */
static char *
numbered_name (const char *pattern, guint number)
{
  const char *percent = strchr (pattern, '%');
  const char *end = percent ? percent + 1 : NULL;
  int width = 0;

  if (!percent)
    return g_strdup (pattern);
  while (g_ascii_isdigit (*end) && width < 100)
    width = 10 * width + (*end++ - '0');
  if (*end != 'd' || width > 20)
    return g_strdup (pattern);
  return g_strdup_printf ("%.*s%0*u%s", (int) (percent - pattern), pattern, width, number, end + 1);
}

/* A file that is named from @folder. Programs on Windows may write backslashes. */
static char *
scan_ctsimu_beside (const char *folder, const char *name)
{
  char *path = g_build_filename (folder, name, NULL);

  if (!g_file_test (path, G_FILE_TEST_EXISTS))
    g_strdelimit (path + strlen (folder), "\\", '/');
  return path;
}

static char *
scan_ctsimu_frame_path (const char *folder, const char *pattern, guint number)
{
  g_autofree char *name = numbered_name (pattern, number);

  return scan_ctsimu_beside (folder, name);
}

/* One file, or @number of them counted from 0 or 1. */
static TdRawFrames *
scan_ctsimu_open_frames (const char *path, const char *pattern, guint number,
                         const TdRawLayout *layout, GError **error)
{
  g_autofree char *folder = g_path_get_dirname (path);
  g_autoptr (GPtrArray) paths = g_ptr_array_new_with_free_func (g_free);
  gboolean numbered = strchr (pattern, '%') != NULL;
  guint first = 0;

  if (numbered) { /* a number in 500 bytes of text must not cost gigabytes */
    g_autofree char *path_0 = scan_ctsimu_frame_path (folder, pattern, 0);
    g_autofree char *path_1 = scan_ctsimu_frame_path (folder, pattern, 1);
    first = !g_file_test (path_0, G_FILE_TEST_EXISTS) && g_file_test (path_1, G_FILE_TEST_EXISTS);
    g_autofree char *last = scan_ctsimu_frame_path (folder, pattern, first + number - 1);
    if (number > TD_SCAN_MAX_FRAMES || !g_file_test (last, G_FILE_TEST_EXISTS))
      return td_set_error_null (error, TD_ERROR_NOT_FOUND,
                                "“%s” states %u [frame|frames], but “%s” is missing", path, number,
                                last);
  }
  for (guint i = 0; i < (numbered ? number : 1); i++)
    g_ptr_array_add (paths, scan_ctsimu_frame_path (folder, pattern, first + i));
  g_ptr_array_add (paths, NULL);
  g_autoptr (TdRawFrames) frames
      = td_raw_frames_new ((const char *const *) paths->pdata, layout, error);
  if (frames && td_raw_frames_count (frames) != number)
    return td_set_error_null (error, TD_ERROR_BAD_FILE,
                              "“%s” states %u [frame|frames], but “%s” holds %u", path, number,
                              (char *) paths->pdata[0], td_raw_frames_count (frames));
  return g_steal_pointer (&frames);
}

static gboolean
scan_ctsimu_read_layout (JsonNode *root, const char *path, TdRawLayout *layout, GError **error)
{
  const char *type = td_json_string (root, PROJECTIONS "datatype");
  const char *order = td_json_string (root, PROJECTIONS "byteorder");

  if (!order && td_json_at (root, PROJECTIONS "byteorder"))
    order = "";
  memset (layout, 0, sizeof *layout);
  layout->n_columns = td_json_count (root, PROJECTIONS "dimensions/x/value");
  layout->n_rows = td_json_count (root, PROJECTIONS "dimensions/y/value");
  layout->file_header_bytes = td_json_count (root, PROJECTIONS "headersize/file");
  layout->frame_header_bytes = td_json_count (root, PROJECTIONS "headersize/image");
  layout->big_endian = order && g_ascii_strcasecmp (order, "big") == 0;
  if (order && !layout->big_endian && g_ascii_strcasecmp (order, "little") != 0)
    return scan_ctsimu_refuse (error, path, PROJECTIONS "byteorder");
  if (!type || !td_sample_type_parse (type, &layout->type))
    return scan_ctsimu_refuse (error, path, PROJECTIONS "datatype");
  if (layout->n_columns == 0 || layout->n_rows == 0)
    return scan_ctsimu_refuse (error, path, PROJECTIONS "dimensions");
  return TRUE;
}

static gboolean
scan_ctsimu_open_kind (JsonNode *root, const char *path, const char *kind,
                       const TdRawLayout *layout, TdRawFrames **frames, GError **error)
{
  g_autofree char *name = g_strconcat (kind, "filename", NULL);
  g_autofree char *number = g_strconcat (kind, "number", NULL);
  const char *pattern = td_json_string (root, name);
  const guint n = td_json_count (root, number);
  const gboolean none = td_json_number (root, number) == 0;

  if (none || !td_json_at (root, name))
    return TRUE;
  if (!pattern || !*pattern || n == 0)
    return scan_ctsimu_refuse (error, path, n == 0 ? number : name);
  *frames = scan_ctsimu_open_frames (path, pattern, n, layout, error);
  return *frames != NULL;
}

/* What the projections were corrected by is not taken again. */
typedef struct {
  gboolean flats, darks;
} Corrected;

static gboolean
scan_ctsimu_open_all (JsonNode *root, const char *path, const TdRawLayout *layout,
                      Corrected *corrected, TdRawFrames *frames[3], GError **error)
{
  gboolean good
      = scan_ctsimu_read_flag (root, path, PROJECTIONS "flat_field/projections_corrected",
                               &corrected->flats, error)
        && scan_ctsimu_read_flag (root, path, PROJECTIONS "dark_field/projections_corrected",
                                  &corrected->darks, error)
        && scan_ctsimu_open_kind (root, path, PROJECTIONS, layout, &frames[TD_FRAME_PROJECTION],
                                  error)
        && (corrected->flats
            || scan_ctsimu_open_kind (root, path, PROJECTIONS "flat_field/", layout,
                                      &frames[TD_FRAME_FLAT], error))
        && (corrected->flats || corrected->darks
            || scan_ctsimu_open_kind (root, path, PROJECTIONS "dark_field/", layout,
                                      &frames[TD_FRAME_DARK], error));

  if (good && !frames[TD_FRAME_PROJECTION])
    good = scan_ctsimu_refuse (error, path, PROJECTIONS "filename");
  for (guint kind = 0; kind < 3 && !good; kind++)
    g_clear_pointer (&frames[kind], td_raw_frames_free);
  return good;
}

static gboolean
scan_ctsimu_take_proposals (JsonNode *root, const char *path, TdGeometry *geometry, GError **error)
{
  static const char *const sizes[]
      = { "output/tomogram/dimensions/x/value", "output/tomogram/dimensions/y/value",
          "output/tomogram/dimensions/z/value" };
  static const char *const edges[] = { "output/tomogram/voxelsize/x", "output/tomogram/voxelsize/y",
                                       "output/tomogram/voxelsize/z" };
  double width, height, edge[3];

  if (!scan_ctsimu_read_length (root, path, PROJECTIONS "pixelsize/x", &width, error)
      || !scan_ctsimu_read_length (root, path, PROJECTIONS "pixelsize/y", &height, error))
    return FALSE;
  if (isfinite (width) || isfinite (height)) {
    if (!(width > 0) || !(height > 0))
      return scan_ctsimu_refuse (error, path, PROJECTIONS "pixelsize");
    geometry->pixel_width_mm = width;
    geometry->pixel_height_mm = height;
  }
  for (guint i = 0; i < 3; i++) {
    if (!scan_ctsimu_read_length (root, path, edges[i], &edge[i], error))
      return FALSE;
    geometry->volume_size[i] = MIN (td_json_count (root, sizes[i]), TD_SCAN_MAX_SIDE);
  }
  geometry->voxel_mm = MAX (edge[0], 0);
  for (guint i = 1; i < 3; i++) /* nothing else than cubes is made */
    if (edge[i] > 0 && geometry->voxel_mm > 0 && fabs (edge[i] - edge[0]) > 1e-3 * edge[0])
      return td_set_error (error, TD_ERROR_UNSUPPORTED,
                           "“%s” proposes voxels of %g × %g × %g mm, and only cubes are made: make "
                           "them alike, or leave “tomogram” out",
                           path, edge[0], edge[1], edge[2]);
  return TRUE;
}

static gboolean
scan_ctsimu_take_geometry (TdScan *scan, JsonNode *root, const TdScanOptions *options,
                           GError **error)
{
  TdScanFacts *facts = &scan->facts;
  const char *stated = td_json_string (root, "acquisition_geometry/path_to_CTSimU_JSON");
  g_autofree char *folder = g_path_get_dirname (facts->path);
  g_autofree char *path = stated ? scan_ctsimu_beside (folder, stated) : NULL;

  if (!scan_ctsimu_take_proposals (root, facts->path, &facts->geometry, error))
    return FALSE;
  if (!path)
    return scan_ctsimu_refuse (error, facts->path, "acquisition_geometry/path_to_CTSimU_JSON");
  if (!ctsimu_geometry_load (path, facts, options->angles ? NULL : &facts->angles_rad, error))
    return FALSE;
  return !options->angles || td_scan_take_angles (scan, options->angles, NULL, error);
}

static gboolean
scan_ctsimu_take_corrections (TdScan *scan, JsonNode *root, const Corrected *corrected,
                              GError **error)
{
  const double level = td_json_number (root, PROJECTIONS "max_intensity");
  g_autofree char *path = g_strdup (scan->facts.path);

  if (td_json_at (root, PROJECTIONS "bad_pixel_map/filename"))
    td_scan_note (
        scan, "“%s” names a map of bad pixels, which is not used; {bad-pixels} takes one.", path);
  if (corrected->flats)
    td_scan_note (scan, "The file says that its projections are flat-field corrected already: "
                        "flats and darks were left out.");
  else if (corrected->darks)
    td_scan_note (scan, "The file says that its projections are dark corrected already: darks were "
                        "left out.");
  if (!corrected->flats || !td_json_at (root, PROJECTIONS "max_intensity"))
    return TRUE;
  return level > 0 ? td_scan_take_white (scan, level, path, error)
                   : scan_ctsimu_refuse (error, path, PROJECTIONS "max_intensity");
}

static TdScan *
ctsimu_open (const char *path, const TdScanOptions *options, GCancellable *cancellable,
             GError **error)
{
  g_autoptr (JsonNode) root = td_json_load (path, error);
  TdRawFrames *frames[3] = { NULL };
  Corrected corrected;
  TdRawLayout layout;

  if (!root || !scan_ctsimu_read_layout (root, path, &layout, error)
      || !scan_ctsimu_open_all (root, path, &layout, &corrected, frames, error))
    return NULL;
  g_autoptr (TdScan) scan = td_raw_scan_new (path, &layout, frames, FALSE);
  scan->facts.format = g_strdup (N_ ("CTSimU metadata (raw)"));
  td_scan_take_title (scan, g_strdup (td_json_string (root, "file/name")));
  if (!scan_ctsimu_take_corrections (scan, root, &corrected, error))
    return NULL;
  if (!scan_ctsimu_take_geometry (scan, root, options, error) || !td_scan_validate (scan, error))
    return NULL;
  return g_steal_pointer (&scan);
}

const TdScanReader td_scan_reader_ctsimu = { ctsimu_probe, ctsimu_open };
const TdScanReader td_scan_reader_ctsimu_scenario = { ctsimu_scenario_probe, ctsimu_scenario_open };
