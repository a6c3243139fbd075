/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "geometry-file.h"

#include <math.h>
#include <string.h>

#include "error.h"
#include "geometry-matrix.h"
#include "scan-private.h"
#include "text-file.h"

#define HEAD_BYTES 4096

TdGeometryFile *
td_geometry_file_new (const char *path, const char *format)
{
  TdGeometryFile *file = g_new0 (TdGeometryFile, 1);

  file->path = g_strdup (path);
  file->format = format;
  td_geometry_init_parallel (&file->geometry);
  file->geometry.beam = TD_BEAM_CONE;
  return file;
}

void
td_geometry_file_free (TdGeometryFile *file)
{
  g_free (file->path);
  td_geometry_clear (&file->geometry);
  g_free (file->views);
  g_free (file->angles_rad);
  td_messages_free (file->notes);
  g_free (file);
}

/* ── Loading ── */

typedef TdGeometryFile *(*Loader) (const char *path, GError **error);

/* The parser that the first bytes ask for; NULL: none. */
static Loader
find_loader (const char *path)
{
  g_autofree char *head = td_text_head (path, HEAD_BYTES);
  const char *text = head ? head + strspn (head, " \t\r\n") : NULL;

  if (!text)
    return NULL;
  if (*text == '<')
    return td_geometry_file_is_rtk (text) ? td_geometry_file_load_rtk : NULL;
  if (td_geometry_file_is_nikon (text))
    return td_geometry_file_load_nikon;
  if (td_geometry_file_is_skyscan (text))
    return td_geometry_file_load_skyscan;
  if (*text == '{' || *text == '[')
    return td_geometry_file_load_json;
  return *text && g_utf8_validate (text, MIN (strlen (text), 64), NULL) ? td_geometry_file_load_text
                                                                        : NULL;
}

TdGeometryFile *
td_geometry_file_load (const char *path, GError **error)
{
  Loader loader = find_loader (path);

  if (loader)
    return loader (path, error);
  return td_set_error_null (
      error, g_file_test (path, G_FILE_TEST_EXISTS) ? TD_ERROR_UNSUPPORTED : TD_ERROR_NOT_FOUND,
      g_file_test (path, G_FILE_TEST_EXISTS)
          ? N_ ("“%s” is no geometry file that can be read: JSON, text with twelve numbers a view, "
                "RTK's XML, Nikon's .xtekct and SkyScan's .log are")
          : N_ ("The geometry file “%s” does not exist"),
      path);
}

/* Vectors look like vectors: source far away, rows and columns at right angles and short. */
static gboolean
look_like_vectors (const double *numbers, guint n_views)
{
  for (guint i = 0; i < n_views; i++) {
    const double *n = numbers + 12 * (gsize) i, *u = n + 6, *v = n + 9;
    const double uu = u[0] * u[0] + u[1] * u[1] + u[2] * u[2];
    const double vv = v[0] * v[0] + v[1] * v[1] + v[2] * v[2];
    const double uv = u[0] * v[0] + u[1] * v[1] + u[2] * v[2];

    if (!(uv * uv < 1e-4 * uu * vv) || !(uu < n[0] * n[0] + n[1] * n[1])
        || !(vv < n[0] * n[0] + n[1] * n[1]))
      return FALSE;
  }
  return TRUE;
}

/* Directions of length 1 with a detector that is not behind the axis are ASTRA's parallel3d_vec. */
static gboolean
geometry_file_are_rays (const double *numbers, guint n_views)
{
  for (guint i = 0; i < n_views; i++) {
    const double *n = numbers + 12 * (gsize) i;

    if (fabs (td_dot3 (n, n) - 1) > 1e-3 || td_dot3 (n, n + 3) < -1e-6
        || fabs (td_dot3 (n + 6, n + 9)) > 1e-3 * td_dot3 (n + 6, n + 6))
      return FALSE;
  }
  return TRUE;
}

gboolean
td_geometry_file_take_views (TdGeometryFile *file, double *numbers, gsize n, TdViewsKind kind,
                             GError **error)
{
  file->views = numbers;
  if (n == 0 || n % 12 != 0 || n / 12 > TD_SCAN_MAX_FRAMES)
    return td_set_error (error, TD_ERROR_BAD_FILE,
                         "“%s” holds %zu numbers, but a projection matrix a view takes twelve "
                         "each",
                         file->path, n);
  for (gsize i = 0; i < n; i++)
    if (!isfinite (numbers[i]))
      return td_set_error (error, TD_ERROR_BAD_FILE, "“%s”: a number of view %u is not finite",
                           file->path, (guint) (i / 12));
  file->n_views = n / 12;
  file->kind = kind;
  if (kind != TD_VIEWS_MATRICES_PX && kind != TD_VIEWS_MATRICES_MM
      && geometry_file_are_rays (numbers, file->n_views))
    return td_set_error (error, TD_ERROR_UNSUPPORTED,
                         "“%s” holds directions of rays, as ASTRA's parallel3d_vec: state the "
                         "angles of the parallel beam instead ({angles:FILE|FIRST:LAST})",
                         file->path);
  if (kind == TD_VIEWS_NONE) {
    file->kind
        = look_like_vectors (numbers, file->n_views) ? TD_VIEWS_VECTORS : TD_VIEWS_MATRICES_PX;
    td_messages_note (&file->notes,
                      file->kind == TD_VIEWS_VECTORS
                          ? N_ ("%s holds twelve numbers a view, which were taken for "
                                "vectors: source, detector, column step, row step.")
                          : N_ ("%s holds twelve numbers a view, which were taken for 3×4 "
                                "matrices from millimetres to columns and rows."),
                      file->path);
  }
  return TRUE;
}

/* ── Applying ── */

static gboolean
geometry_file_refuse (GError **error, const TdGeometryFile *file, const TdScanFacts *facts,
                      const char *what, guint stated, guint found)
{
  return td_set_error (error, TD_ERROR_BAD_FILE,
                       "“%s” states %u %p, but “%s” has %u; give the geometry of this scan",
                       file->path, stated, td_message_unpack (what), facts->path, found);
}

static gboolean
check_scan (const TdGeometryFile *file, const TdScanFacts *facts, GError **error)
{
  if (file->n_views && file->n_views != facts->n_views)
    return td_scan_refuse_views (error, file->path, file->n_views,
                                 td_message_new ("%u [view|views]", file->n_views), facts->path,
                                 (const guint[]) { facts->n_views, facts->n_rows });
  if (file->n_columns && file->n_columns != facts->n_columns)
    return geometry_file_refuse (error, file, facts, N_ ("detector columns"), file->n_columns,
                                 facts->n_columns);
  if (file->n_rows && file->n_rows != facts->n_rows)
    return geometry_file_refuse (error, file, facts, N_ ("detector rows"), file->n_rows,
                                 facts->n_rows);
  return TRUE;
}

/* Millimetres on the detector to columns and rows. */
static void
to_pixels (const TdGeometry *geometry, guint n_columns, guint n_rows, const double mm[12],
           double matrix[12])
{
  for (guint k = 0; k < 4; k++) {
    matrix[k] = mm[k] / geometry->pixel_width_mm + (n_columns - 1) / 2.0 * mm[8 + k];
    matrix[4 + k] = mm[4 + k] / geometry->pixel_height_mm + (n_rows - 1) / 2.0 * mm[8 + k];
    matrix[8 + k] = mm[8 + k];
  }
}

static gboolean
take_matrices (const TdGeometryFile *file, const TdScanFacts *facts, TdGeometry *geometry,
               GError **error)
{
  if (file->kind == TD_VIEWS_NONE)
    return TRUE;
  if (file->kind == TD_VIEWS_MATRICES_MM
      && !(geometry->pixel_width_mm > 0 && geometry->pixel_height_mm > 0))
    return td_set_error (
        error, TD_ERROR_BAD_FILE,
        "The geometry in “%s” is in millimetres, and the size of the detector's pixels is "
        "unknown: give it with {pixel-mm}",
        file->path);
  geometry->n_view_matrices = file->n_views;
  geometry->view_matrices = g_new (double, 12 * (gsize) file->n_views);
  for (guint view = 0; view < file->n_views; view++) {
    const double *from = file->views + 12 * (gsize) view;
    double *to = geometry->view_matrices + 12 * (gsize) view;

    if (file->kind == TD_VIEWS_MATRICES_MM)
      to_pixels (geometry, facts->n_columns, facts->n_rows, from, to);
    else if (file->kind == TD_VIEWS_MATRICES_PX)
      memcpy (to, from, 12 * sizeof *to);
    else if (!td_matrix_from_vectors (from, facts->n_columns, facts->n_rows, to)) {
      return td_set_error (error, TD_ERROR_BAD_FILE,
                           "“%s”: the vectors of view %u do not place source and detector in space",
                           file->path, view);
    }
  }
  return TRUE;
}

/* What a file leaves open stays as the scan has it. Of one side that it states, a pixel is square.
 */
static void
keep_known (TdGeometry *geometry, const TdGeometry *scan)
{
  const double width_mm = geometry->pixel_width_mm, height_mm = geometry->pixel_height_mm;

  if (!(width_mm > 0))
    geometry->pixel_width_mm = height_mm > 0 ? height_mm : scan->pixel_width_mm;
  if (!(height_mm > 0))
    geometry->pixel_height_mm = width_mm > 0 ? width_mm : scan->pixel_height_mm;
}

static gboolean
geometry_file_take_angles (const TdGeometryFile *file, TdScan *scan, gboolean own_angles,
                           GError **error)
{
  TdScanFacts *facts = &scan->facts;

  const gboolean others = file->n_angles && file->n_angles != facts->n_views;

  if (others && (!own_angles || facts->n_views == 1))
    return td_scan_refuse_views (error, file->path, file->n_angles,
                                 td_message_new ("%u [view|views]", file->n_angles), facts->path,
                                 (const guint[]) { facts->n_views, facts->n_rows });
  if (others)
    td_scan_note (
        scan,
        "%s states %u [view|views]; the scan has %u [view|views], with the angles stated for it.",
        file->path, file->n_angles, facts->n_views);
  if (!file->angles_rad || others || (own_angles && file->kind == TD_VIEWS_NONE))
    return TRUE;
  g_free (facts->angles_rad);
  facts->angles_rad = g_memdup2 (file->angles_rad, file->n_angles * sizeof (double));
  return TRUE;
}

gboolean
td_geometry_file_apply (const TdGeometryFile *file, TdScan *scan, gboolean own_angles,
                        GError **error)
{
  TdScanFacts *facts = &scan->facts;
  TdGeometry geometry;

  if (!check_scan (file, facts, error))
    return FALSE;
  td_geometry_copy (&geometry, &file->geometry);
  keep_known (&geometry, &facts->geometry);
  if (!take_matrices (file, facts, &geometry, error)) {
    td_geometry_clear (&geometry);
    return FALSE;
  }
  if (geometry.beam == TD_BEAM_CONE && facts->n_rows == 1)
    geometry.beam = TD_BEAM_FAN;
  td_geometry_clear (&facts->geometry);
  facts->geometry = geometry;
  if (!geometry_file_take_angles (file, scan, own_angles, error))
    return FALSE;
  if (!td_scan_take_white (scan, file->white_level, file->path, error))
    return FALSE;
  td_scan_note (scan, "Geometry: %s (%p)", file->path, td_message_new_plain (file->format));
  td_messages_append (&scan->facts.notes, file->notes);
  if (!td_scan_validate (scan, error))
    return FALSE;
  if (file->mirrored)
    scan->flip_columns = !scan->flip_columns;
  if (geometry.beam != TD_BEAM_PARALLEL || geometry.detector_offset_u_px != 0)
    td_scan_centre_by_geometry (scan);
  return TRUE;
}
