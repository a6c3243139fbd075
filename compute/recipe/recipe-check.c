/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What no scan and no detector can be: numbers that are finite, and yet make volumes of nothing. */
#include <math.h>

#include "dataset/error.h"
#include "recipe.h"

#define LEAST_PIXEL_MM 1e-7 /* atoms */
#define MOST_PIXEL_MM 1e4
#define LEAST_DISTANCE_MM 1e-4
#define MOST_DISTANCE_MM 1e8
#define MOST_ANGLE_RAD (1e6 * G_PI / 180) /* thousands of turns */
#define MOST_OFFSET 100                   /* detector widths */

static gboolean
recipe_check_refuse (const char *what, double value, const char *unit, const char *remedy,
                     GError **error)
{
  g_set_error (error, TD_ERROR, TD_ERROR_INVALID,
               "%s of %g %s cannot be: nothing could be reconstructed; %s", what, value, unit,
               remedy);
  return FALSE;
}

static gboolean
recipe_check_length (const char *what, double mm, double least, double most, const char *remedy,
                     GError **error)
{
  return mm == 0 || (mm >= least && mm <= most)
         || recipe_check_refuse (what, mm, "mm", remedy, error);
}

static gboolean
recipe_check_geometry (const TdScanFacts *facts, GError **error)
{
  const TdGeometry *geometry = &facts->geometry;
  static const char *const pixel = "state it with --pixel-mm MM";
  static const char *const source = "state the distances with --sod-mm and --sdd-mm";

  if (!recipe_check_length ("A detector pixel", geometry->pixel_width_mm, LEAST_PIXEL_MM,
                            MOST_PIXEL_MM, pixel, error)
      || !recipe_check_length ("A detector pixel", geometry->pixel_height_mm, LEAST_PIXEL_MM,
                               MOST_PIXEL_MM, pixel, error))
    return FALSE;
  if (geometry->beam == TD_BEAM_PARALLEL || geometry->view_matrices)
    return TRUE;
  if (!recipe_check_length ("A distance from the source to the axis", geometry->source_axis_mm,
                            LEAST_DISTANCE_MM, MOST_DISTANCE_MM, source, error)
      || !recipe_check_length ("A distance from the source to the detector",
                               geometry->source_detector_mm, LEAST_DISTANCE_MM, MOST_DISTANCE_MM,
                               source, error))
    return FALSE;
  for (guint i = 0; i < 3; i++)
    if (!(fabs (geometry->detector_tilt_rad[i]) <= 2 * G_PI))
      return recipe_check_refuse ("A detector tilt", geometry->detector_tilt_rad[i] * 180 / G_PI,
                                  "degrees", "correct the geometry", error);
  const double offset = MAX (fabs (geometry->detector_offset_u_px) / facts->n_columns,
                             fabs (geometry->detector_offset_v_px) / facts->n_rows);
  return offset <= MOST_OFFSET
         || recipe_check_refuse ("A detector offset", offset, "detector widths",
                                 "correct the geometry", error);
}

static gboolean
recipe_check_centre (const TdRecipe *recipe, const TdScanFacts *facts, GError **error)
{
  const double n = facts->n_columns, stated = recipe->centre_px;
  const double centre = isfinite (stated) ? stated : facts->centre_px;

  if (recipe->centre_auto || isnan (centre) || (centre >= -n && centre <= 2 * n))
    return TRUE;
  g_set_error (error, TD_ERROR, TD_ERROR_INVALID,
               "%s is column %g, far beside the detector of %u columns: its slices would be empty; "
               "give the column of the axis (--centre PX)",
               isfinite (stated) ? "The centre of rotation" : "The scan's own estimate of its axis",
               centre, facts->n_columns);
  return FALSE;
}

gboolean
td_recipe_check (const TdRecipe *recipe, const TdScanFacts *facts, GError **error)
{
  for (guint view = 0; view < facts->n_views; view++)
    if (!(fabs (facts->angles_rad[view]) <= MOST_ANGLE_RAD))
      return recipe_check_refuse ("An angle", facts->angles_rad[view] * 180 / G_PI, "degrees",
                                  "state the angles with --angles FILE|A:B", error);
  return recipe_check_geometry (facts, error) && recipe_check_centre (recipe, facts, error);
}
