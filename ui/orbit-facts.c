/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "orbit-facts.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

#include "dataset/angles.h"

static void
fact_clear (gpointer user)
{
  TdOrbitFact *fact = user;

  g_free (fact->title);
  g_free (fact->value);
}

/* Takes @value. */
static void
orbit_facts_add (GArray *facts, const char *title, char *value)
{
  TdOrbitFact fact = { g_strdup (title), value };

  g_array_append_val (facts, fact);
}

/* ── Distances ── */

/* "410.66 mm", or "410.1 … 411.3 mm" where views differ by more than a thousandth. */
static char *
range_text (double low, double high)
{
  if (high - low <= 1e-3 * high)
    return g_strdup_printf (_ ("%.6g mm"), (low + high) / 2);
  return g_strdup_printf (_ ("%.5g … %.5g mm"), low, high);
}

static void
add_distances (GArray *facts, const TdOrbit *orbit)
{
  double low[2] = { INFINITY, INFINITY }, high[2] = { 0, 0 };

  for (guint view = 0; view < (orbit->matrices ? orbit->n_views : 1); view++) {
    double distances[2];
    td_orbit_distances (orbit, view, &distances[0], &distances[1]);
    for (guint i = 0; i < 2; i++) {
      low[i] = MIN (low[i], distances[i]);
      high[i] = MAX (high[i], distances[i]);
    }
  }
  if (!(high[0] > 0))
    return;
  orbit_facts_add (facts, _ ("Source to axis"), range_text (low[0], high[0]));
  orbit_facts_add (facts, _ ("Source to detector"), range_text (low[1], high[1]));
  orbit_facts_add (facts, _ ("Magnification"),
                   g_strdup_printf ("%.5g", (low[1] + high[1]) / (low[0] + high[0])));
}

static void
orbit_facts_add_volume (GArray *facts, const TdOrbit *orbit)
{
  const TdConeTask *task = &orbit->task;

  if (orbit->beam == TD_BEAM_PARALLEL) {
    orbit_facts_add (facts, _ ("Volume"),
                     g_strdup_printf (ngettext ("%u slice of %u × %u pixels",
                                                "%u slices of %u × %u pixels", orbit->n_rows),
                                      orbit->n_rows, orbit->field.columns, orbit->field.columns));
    return;
  }
  if (!orbit->has_task)
    return;
  orbit_facts_add (facts, _ ("Voxel"), g_strdup_printf (_ ("%.5g mm"), task->voxel_mm));
  orbit_facts_add (facts, _ ("Volume"),
                   g_strdup_printf (_ ("%u × %u × %u voxels\n%.4g × %.4g × %.4g mm"), task->nx,
                                    task->ny, task->nz, task->nx * task->voxel_mm,
                                    task->ny * task->voxel_mm, task->nz * task->voxel_mm));
}

/* ── The turn ── */

static const char *
orbit_facts_turn_text (const TdOrbit *orbit)
{
  if (orbit->beam == TD_BEAM_PARALLEL && orbit->field.wide)
    return _ ("half acquisition: both sides of the turn put together");
  if (orbit->beam == TD_BEAM_PARALLEL)
    return orbit->turn.kind == TD_TURN_FULL   ? _ ("a full turn")
           : orbit->turn.kind == TD_TURN_HALF ? _ ("half a turn")
                                              : _ ("less than half a turn");
  if (!orbit->has_task)
    return _ ("not enough to reconstruct");
  switch (orbit->redundancy.kind) {
  case TD_REDUNDANCY_PARKER: return _ ("short scan: Parker’s weights");
  case TD_REDUNDANCY_WANG: return _ ("offset detector: Wang’s weights");
  default: return _ ("a full turn");
  }
}

/* Of a matrix a view the sources themselves tell, whatever a list of angles says. */
static int
orbit_facts_direction_of (const TdOrbit *orbit)
{
  double before[3], after[3], turned = 0;

  if (!orbit->matrices)
    return orbit->turn.direction;
  td_orbit_source (orbit, 0, before);
  for (guint view = 1; view < orbit->n_views; view++) {
    td_orbit_source (orbit, view, after);
    turned += before[0] * after[1] - before[1] * after[0] > 0 ? 1 : -1;
    memcpy (before, after, sizeof before);
  }
  return turned > 0.8 * (orbit->n_views - 1) ? 1 : turned < -0.8 * (orbit->n_views - 1) ? -1 : 0;
}

/* A helix, or a gantry that nods: where the source leaves the plane. */
static void
add_heights (GArray *facts, const TdOrbit *orbit)
{
  double low = INFINITY, high = -INFINITY, source[3];

  for (guint view = 0; view < orbit->n_views; view++) {
    td_orbit_source (orbit, view, source);
    low = fmin (low, source[2]);
    high = fmax (high, source[2]);
  }
  if (high - low > 1e-3 * orbit->radius)
    orbit_facts_add (facts, _ ("Height of the source"),
                     g_strdup_printf (_ ("%.5g … %.5g mm"), low, high));
}

static void
orbit_facts_add_turn (GArray *facts, const TdOrbit *orbit)
{
  const double first = orbit->angles_rad[0], last = orbit->angles_rad[orbit->n_views - 1];

  orbit_facts_add (facts, _ ("Views"),
                   g_strdup_printf (_ ("%u from %.2f° to %.2f°"), orbit->n_views,
                                    td_degrees (first), td_degrees (last)));
  orbit_facts_add (facts, _ ("Turn"), g_strdup (orbit_facts_turn_text (orbit)));
  if (orbit->n_views > 1) {
    const int direction = orbit_facts_direction_of (orbit);
    orbit_facts_add (facts, _ ("Direction"),
                     g_strdup (direction > 0
                                   ? _ ("source anticlockwise, seen from above the sample")
                               : direction < 0 ? _ ("source clockwise, seen from above the sample")
                                               : _ ("not told by the order of the views")));
  }
}

/* ── The detector ── */

static char *
pixels_text (const TdOrbit *orbit)
{
  const double w = orbit->geometry.pixel_width_mm, h = orbit->geometry.pixel_height_mm;

  if (!orbit->in_mm || !(w > 0))
    return g_strdup_printf (_ ("%u × %u pixels"), orbit->n_columns, orbit->n_rows);
  if (w == h)
    return g_strdup_printf (_ ("%u × %u pixels of %.5g mm"), orbit->n_columns, orbit->n_rows, w);
  return g_strdup_printf (_ ("%u × %u pixels of %.5g × %.5g mm"), orbit->n_columns, orbit->n_rows,
                          w, h);
}

static void
orbit_facts_add_detector (GArray *facts, const TdOrbit *orbit)
{
  const TdGeometry *geometry = &orbit->geometry;
  const double *tilt = geometry->detector_tilt_rad, origin[3] = { 0, 0, 0 };
  double u, v;

  orbit_facts_add (facts, _ ("Detector"), pixels_text (orbit));
  if (orbit->radius > 0) {
    td_orbit_project (orbit, 0, origin, &u, &v);
    orbit_facts_add (
        facts, _ ("Middle of the axis at"),
        g_strdup_printf (_ ("column %.2f, row %.2f\n%+.2f, %+.2f px from the detector’s middle"), u,
                         v, u - (orbit->n_columns - 1) / 2.0, v - (orbit->n_rows - 1) / 2.0));
  }
  if (orbit->matrices) {
    orbit_facts_add (facts, _ ("Orbit"), g_strdup (_ ("a matrix for every view")));
    add_heights (facts, orbit);
    return;
  }
  orbit_facts_add (
      facts, _ ("Tilts"),
      orbit->beam == TD_BEAM_PARALLEL
          ? g_strdup_printf (_ ("%.3g° of the axis in the detector’s plane"), td_degrees (tilt[2]))
          : g_strdup_printf (_ ("%.3g° about u, %.3g° about v, %.3g° about the beam"),
                             td_degrees (tilt[0]), td_degrees (tilt[1]), td_degrees (tilt[2])));
  if (orbit->beam == TD_BEAM_PARALLEL)
    return;
  orbit_facts_add (facts, _ ("Detector offset"),
                   g_strdup_printf (_ ("u %.4g, v %.4g pixels"), geometry->detector_offset_u_px,
                                    geometry->detector_offset_v_px));
  orbit_facts_add (facts, _ ("Axis offset"),
                   g_strdup_printf (_ ("%.4g mm"), geometry->axis_offset_mm));
}

static void
add_opening (GArray *facts, const TdOrbit *orbit)
{
  const TdGeometry *geometry = &orbit->geometry;
  double source_axis, source_detector;

  td_orbit_distances (orbit, 0, &source_axis, &source_detector);
  if (!(source_detector > 0) || !(geometry->pixel_width_mm > 0))
    return;
  orbit_facts_add (
      facts, _ ("Opening"),
      g_strdup_printf (
          _ ("fan %.2f°, cone %.2f°"),
          td_degrees (2 * atan (orbit->n_columns * geometry->pixel_width_mm / 2 / source_detector)),
          td_degrees (2 * atan (orbit->n_rows * geometry->pixel_height_mm / 2 / source_detector))));
}

GArray *
td_orbit_facts (const TdOrbit *orbit)
{
  GArray *facts = g_array_new (FALSE, FALSE, sizeof (TdOrbitFact));

  g_array_set_clear_func (facts, fact_clear);
  orbit_facts_add (facts, _ ("Beam"),
                   g_strdup (orbit->beam == TD_BEAM_CONE  ? _ ("cone")
                             : orbit->beam == TD_BEAM_FAN ? _ ("fan")
                                                          : _ ("parallel")));
  add_distances (facts, orbit);
  add_opening (facts, orbit);
  orbit_facts_add_detector (facts, orbit);
  orbit_facts_add_turn (facts, orbit);
  orbit_facts_add_volume (facts, orbit);
  return facts;
}
