/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What no scan and no detector can be: numbers that are finite, and yet make volumes of nothing. */
#include <math.h>

#include "dataset/angles.h"
#include "dataset/error.h"
#include "recipe.h"

#define MOST_ANGLE_RAD (TD_ANGLES_MOST_DEG * G_PI / 180)
#define MOST_OFFSET 100 /* detector widths */
#define MOST_OPENING 10 /* of a detector to its distance: a cone of 157 degrees */

static gboolean
recipe_check_within (double value, double least, double most)
{
  return value == 0 || (value >= least && value <= most); /* 0: not known */
}

static gboolean
recipe_check_pixel (double mm, GError **error)
{
  if (recipe_check_within (mm, TD_LEAST_PIXEL_MM, TD_MOST_PIXEL_MM))
    return TRUE;
  return td_set_error (
      error, TD_ERROR_BAD_FILE,
      "A detector pixel of %g mm cannot be: nothing could be reconstructed; state its "
      "size with {pixel-mm:MM}",
      mm);
}

static gboolean
recipe_check_distance (double mm, GError **error)
{
  if (recipe_check_within (mm, TD_LEAST_DISTANCE_MM, TD_MOST_DISTANCE_MM))
    return TRUE;
  return td_set_error (
      error, TD_ERROR_BAD_FILE,
      "A source %g mm away cannot be: nothing could be reconstructed; state where it is "
      "with {sod-mm:MM} and {sdd-mm:MM}",
      mm);
}

static gboolean
recipe_check_detector (const TdScanFacts *facts, GError **error)
{
  const TdGeometry *geometry = &facts->geometry;
  const double widths = MAX (fabs (geometry->detector_offset_u_px) / facts->n_columns,
                             fabs (geometry->detector_offset_v_px) / facts->n_rows);

  if (!(widths <= MOST_OFFSET))
    return td_set_error (
        error, TD_ERROR_BAD_FILE,
        "A detector %g times its own size beside the central ray cannot be: nothing "
        "could be reconstructed; correct the geometry ({geometry})",
        widths);
  for (guint i = 0; i < 3; i++)
    if (!(fabs (geometry->detector_tilt_rad[i]) <= 2 * G_PI))
      return td_set_error (
          error, TD_ERROR_BAD_FILE,
          "A detector tilt of %g degrees cannot be; correct the geometry ({geometry})",
          geometry->detector_tilt_rad[i] * 180 / G_PI);
  return TRUE;
}

/* Of micrometres or metres among millimetres comes a detector that is wider than it could see. */
static gboolean
recipe_check_opening (const TdScanFacts *facts, GError **error)
{
  const TdGeometry *geometry = &facts->geometry;
  const double wide = facts->n_columns * geometry->pixel_width_mm,
               high = facts->n_rows * geometry->pixel_height_mm;

  if (geometry->source_detector_mm == 0
      || fmax (wide, high) <= MOST_OPENING * geometry->source_detector_mm)
    return TRUE;
  return td_set_error (
      error, TD_ERROR_BAD_FILE,
      "A detector of %.4g mm × %.4g mm that stands %.4g mm from the source cannot be: state its "
      "pixels and the distances in millimetres ({pixel-mm:MM}, {sod-mm:MM}, {sdd-mm:MM})",
      wide, high, geometry->source_detector_mm);
}

static gboolean
recipe_check_geometry (const TdScanFacts *facts, GError **error)
{
  const TdGeometry *geometry = &facts->geometry;

  if (!recipe_check_pixel (geometry->pixel_width_mm, error)
      || !recipe_check_pixel (geometry->pixel_height_mm, error))
    return FALSE;
  return geometry->beam == TD_BEAM_PARALLEL || geometry->view_matrices
         || (recipe_check_distance (geometry->source_axis_mm, error)
             && recipe_check_distance (geometry->source_detector_mm, error)
             && recipe_check_opening (facts, error) && recipe_check_detector (facts, error));
}

static gboolean
recipe_check_centre (const TdRecipe *recipe, const TdScanFacts *facts, GError **error)
{
  const double n = facts->n_columns, stated = recipe->centre_px;
  const double centre = isfinite (stated) ? stated : facts->centre_px;

  if (recipe->centre_auto || isnan (centre) || (centre >= -n && centre <= 2 * n))
    return TRUE;
  if (isfinite (stated))
    return td_set_error (
        error, TD_ERROR_INVALID,
        "The centre of rotation at column %g is far beside the detector of %u columns: "
        "the slices would be empty; give the column of the axis ({centre:PX})",
        centre, facts->n_columns);
  return td_set_error (
      error, TD_ERROR_BAD_FILE,
      "The scan says that its axis is at column %g, far beside the detector of %u "
      "columns: the slices would be empty; give the column of the axis ({centre:PX})",
      centre, facts->n_columns);
}

gboolean
td_recipe_check (const TdRecipe *recipe, const TdScanFacts *facts, GError **error)
{
  for (guint view = 0; view < facts->n_views; view++)
    if (!(fabs (facts->angles_rad[view]) <= MOST_ANGLE_RAD))
      return td_set_error (
          error, TD_ERROR_BAD_FILE,
          "View %u at %g degrees cannot be: nothing could be reconstructed; state the "
          "angles ({angles:FILE|A:B})",
          view, facts->angles_rad[view] * 180 / G_PI);
  return recipe_check_geometry (facts, error) && recipe_check_centre (recipe, facts, error);
}
