/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <string.h>

#include "error.h"
#include "geometry-file.h"
#include "number.h"
#include "text-file.h"

/* RTK's ThreeDCircularProjectionGeometry, versions 2 and 3.
 *
 * RTK's world has y along the axis; at gantry angle 0 the source stands at +z. With the rotation
 *
 *     R = Rz (-InPlaneAngle) Rx (-OutOfPlaneAngle) Ry (-GantryAngle)
 *
 * and p' = R p - (SourceOffsetX, SourceOffsetY, SourceToIsocenterDistance), the point p is seen at
 *
 *     u = -SDD p'x / p'z + SourceOffsetX - ProjectionOffsetX      mm along the image's columns
 *     v = -SDD p'y / p'z + SourceOffsetY - ProjectionOffsetY      mm along its rows, row 0 lowest
 *
 * (its matrix is the product of translation, magnification, translation and rotation). At gantry
 * angle 0 image rows run along +y. Ours run downwards, so the world is turned half about the beam:
 * our (x, y, z) = RTK's (-x, -z, -y), a rotation. The source at RTK's (sin g, 0, cos g) SID then
 * stands at our (-sin g, -cos g, 0) SID. So our angle is -g, and columns run backwards, which
 * matrices can say. ITK puts (0, 0) where the image's origin says; the middle of the detector is
 * RTK's usual choice. */

#define MAX_BYTES ((gsize) 256 << 20)
#define ROOT "RTKThreeDCircularGeometry"

enum {
  GANTRY,
  OUT_OF_PLANE,
  IN_PLANE,
  SID,
  SDD,
  SOURCE_X,
  SOURCE_Y,
  PROJECTION_X,
  PROJECTION_Y,
  RADIUS,
  N_VALUES
};

static const char *const names[N_VALUES] = {
  "GantryAngle",
  "OutOfPlaneAngle",
  "InPlaneAngle",
  "SourceToIsocenterDistance",
  "SourceToDetectorDistance",
  "SourceOffsetX",
  "SourceOffsetY",
  "ProjectionOffsetX",
  "ProjectionOffsetY",
  "RadiusCylindricalDetector",
};

typedef struct {
  const char *path;
  double values[N_VALUES]; /* as RTK reads: what a projection leaves out is the last one's */
  double matrix[12];       /* stated */
  gboolean in_root, has_matrix, collimated;
  GString *text;
  GArray *numbers; /* matrices in our world, mm */
} Parse;

gboolean
td_geometry_file_is_rtk (const char *head)
{
  return strstr (head, "<" ROOT) != NULL || strstr (head, "RTKGEOMETRY") != NULL;
}

static void
geometry_rtk_multiply (const double a[9], const double b[9], double out[9])
{
  for (guint i = 0; i < 3; i++)
    for (guint j = 0; j < 3; j++)
      out[3 * i + j] = a[3 * i] * b[j] + a[3 * i + 1] * b[3 + j] + a[3 * i + 2] * b[6 + j];
}

static void
geometry_rtk_rotation (const double *values, double out[9])
{
  const double g = -values[GANTRY] * G_PI / 180, o = -values[OUT_OF_PLANE] * G_PI / 180,
               i = -values[IN_PLANE] * G_PI / 180;
  const double about_y[9] = { cos (g), 0, sin (g), 0, 1, 0, -sin (g), 0, cos (g) };
  const double about_x[9] = { 1, 0, 0, 0, cos (o), -sin (o), 0, sin (o), cos (o) };
  const double about_z[9] = { cos (i), -sin (i), 0, sin (i), cos (i), 0, 0, 0, 1 };
  double xy[9];

  geometry_rtk_multiply (about_x, about_y, xy);
  geometry_rtk_multiply (about_z, xy, out);
}

/* RTK's own matrix of a projection. */
static void
rtk_matrix (const double *values, double out[12])
{
  const double shift[2]
      = { values[SOURCE_X] - values[PROJECTION_X], values[SOURCE_Y] - values[PROJECTION_Y] };
  const double from[3] = { values[SOURCE_X], values[SOURCE_Y], values[SID] };
  double r[9];

  geometry_rtk_rotation (values, r);
  for (guint k = 0; k < 4; k++) {
    double p[3]; /* what p' has of coordinate k */

    for (guint i = 0; i < 3; i++)
      p[i] = k < 3 ? r[3 * i + k] : -from[i];
    out[k] = -values[SDD] * p[0] + shift[0] * p[2];
    out[4 + k] = -values[SDD] * p[1] + shift[1] * p[2];
    out[8 + k] = p[2];
  }
}

static gboolean
geometry_rtk_refuse (const Parse *parse, TdErrorCode code, GError **error, const char *why)
{
  return td_set_error (error, code, "“%s”, projection %u: %p", parse->path,
                       parse->numbers->len / 12, td_message_unpack (why));
}

static gboolean
add_projection (Parse *parse, GError **error)
{
  const double *values = parse->values;
  double rtk[12];

  if (values[RADIUS] != 0)
    return geometry_rtk_refuse (
        parse, TD_ERROR_UNSUPPORTED, error,
        N_ ("its detector is a cylinder, and only flat ones are known; resample it to a plane"));
  if (values[SDD] == 0)
    return geometry_rtk_refuse (
        parse, TD_ERROR_UNSUPPORTED, error,
        N_ ("its beam is parallel; open the projections with a file of angles instead"));
  if (!(values[SID] > 0) || !(values[SDD] > values[SID] * 0.01))
    return geometry_rtk_refuse (
        parse, TD_ERROR_BAD_FILE, error,
        N_ ("the distances from the source are not above 0; mend the file"));
  rtk_matrix (values, rtk);
  for (guint i = 0; i < 12 && parse->has_matrix; i++)
    if (!(fabs (rtk[i] - parse->matrix[i]) <= 1e-3 + 1e-5 * fabs (rtk[i])))
      return geometry_rtk_refuse (
          parse, TD_ERROR_BAD_FILE, error,
          N_ ("its matrix is not the one that its parameters give; write the file anew"));
  parse->has_matrix = FALSE;
  for (guint row = 0; row < 3; row++) {
    const double *m = rtk + 4 * row;
    /* RTK's (x, y, z) = our (-x, -z, -y) */
    const double own[4] = { -m[0], -m[2], -m[1], m[3] };
    g_array_append_vals (parse->numbers, own, 4);
  }
  return TRUE;
}

/* ── XML ── */

static void
geometry_rtk_on_start (GMarkupParseContext *context, const char *element, const char **attributes,
                       const char **values, gpointer user, GError **error)
{
  Parse *parse = user;

  g_string_truncate (parse->text, 0);
  if (!g_str_equal (element, ROOT))
    return;
  parse->in_root = TRUE;
  for (guint i = 0; attributes[i]; i++)
    if (g_str_equal (attributes[i], "version") && !g_str_equal (values[i], "2")
        && !g_str_equal (values[i], "3"))
      td_set_error (
          error, TD_ERROR_UNSUPPORTED,
          "“%s” is RTK geometry of version %s, and 2 and 3 are known; write it with another "
          "version of RTK",
          parse->path, values[i]);
}

static void
on_text (GMarkupParseContext *context, const char *text, gsize length, gpointer user,
         GError **error)
{
  Parse *parse = user;

  if (parse->text->len + length < 4096)
    g_string_append_len (parse->text, text, length);
}

static gboolean
read_numbers (const char *text, double *out, guint n)
{
  for (guint i = 0; i < n; i++)
    if (!td_next_number (&text, &out[i]))
      return FALSE;
  return text[strspn (text, " \t\r\n")] == '\0';
}

/* Jaws far outside the detector are there for the format's sake. */
#define JAWS_MM 1e6

/* FALSE with @error: an element that RTK's files do not have, or one that is not a number. */
static gboolean
take_element (Parse *parse, const char *element, GError **error)
{
  const char *name = g_str_equal (element, "Angle") ? "GantryAngle" : element; /* old files */
  gboolean good = TRUE, known = g_str_equal (name, "Projection") || g_str_equal (name, ROOT);

  for (guint i = 0; i < N_VALUES; i++)
    if (g_str_equal (name, names[i])) {
      known = TRUE;
      good = read_numbers (parse->text->str, &parse->values[i], 1);
    }
  if (g_str_equal (name, "Matrix")) {
    known = TRUE;
    good = parse->has_matrix = read_numbers (parse->text->str, parse->matrix, 12);
  }
  if (g_str_has_prefix (name, "Collimation")) {
    double at = 0;
    known = TRUE;
    good = read_numbers (parse->text->str, &at, 1);
    parse->collimated = parse->collimated || fabs (at) < JAWS_MM;
  }
  if (!known)
    return td_set_error (
        error, TD_ERROR_BAD_FILE,
        "“%s”, projection %u: “%s” is not known here; correct its spelling or take "
        "it out",
        parse->path, parse->numbers->len / 12, element);
  return good
         || td_set_error (error, TD_ERROR_BAD_FILE, "“%s”, projection %u: “%s” is not a number",
                          parse->path, parse->numbers->len / 12, element);
}

static void
on_end (GMarkupParseContext *context, const char *element, gpointer user, GError **error)
{
  Parse *parse = user;

  if (parse->in_root && take_element (parse, element, error) && g_str_equal (element, "Projection"))
    add_projection (parse, error);
}

TdGeometryFile *
td_geometry_file_load_rtk (const char *path, GError **error)
{
  static const GMarkupParser callbacks = { geometry_rtk_on_start, on_end, on_text, NULL, NULL };
  g_autoptr (TdGeometryFile) file = td_geometry_file_new (path, N_ ("RTK geometry"));
  g_autoptr (GArray) numbers = g_array_new (FALSE, FALSE, sizeof (double));
  g_autofree char *text = td_text_load (path, MAX_BYTES, error);
  g_autoptr (GError) local = NULL;
  Parse parse = { .path = path, .numbers = numbers };
  gsize n;

  if (!text)
    return NULL;
  parse.text = g_string_new (NULL);
  GMarkupParseContext *context = g_markup_parse_context_new (&callbacks, 0, &parse, NULL);
  if (g_markup_parse_context_parse (context, text, -1, &local))
    g_markup_parse_context_end_parse (context, &local);
  g_markup_parse_context_free (context);
  g_string_free (parse.text, TRUE);
  if (local && local->domain == TD_ERROR) {
    g_propagate_error (error, g_steal_pointer (&local));
    return NULL;
  }
  if (local) {
    g_autofree char *valid = g_utf8_make_valid (local->message, -1);
    g_auto (GStrv) sentences = g_strsplit (valid, ". ", -1);
    g_autofree char *why = g_strjoinv ("; ", sentences);
    return td_set_error_null (error, TD_ERROR_BAD_FILE, "“%s” is not sound XML: %s", path, why);
  }
  if (numbers->len == 0)
    return td_set_error_null (error, TD_ERROR_BAD_FILE, "“%s” describes no projections", path);
  td_messages_note (&file->notes,
                    "RTK geometry: the middle of the detector is taken for its origin; "
                    "(x, y, z) here are RTK's (−x, −z, −y).");
  if (parse.collimated)
    td_messages_note (&file->notes,
                      "RTK's jaws (Collimation…) are not heeded: what they shade counts "
                      "as attenuated; {crop} leaves it out.");
  double *values = g_array_steal (numbers, &n);
  return td_geometry_file_take_views (file, values, n, TD_VIEWS_MATRICES_MM, error)
             ? g_steal_pointer (&file)
             : NULL;
}
