/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "orbit-space.h"

#include <glib/gi18n.h>
#include <string.h>

#define MOST_POSITIONS 720

static const TdInk source_ink = { { 1.0f, 0.86f, 0.30f, 1 } };
static const TdInk beam_ink = { { 1.0f, 0.86f, 0.30f, 0.75f } };
static const TdInk beam_face = { { 1.0f, 0.86f, 0.30f, 0.07f } };
static const TdInk orbit_ink = { { 0.72f, 0.72f, 0.76f, 0.9f } };
static const TdInk axis_ink = { { 1.0f, 0.60f, 0.20f, 1 } };
static const TdInk volume_ink = { { 0.45f, 0.70f, 1.0f, 1 } };
static const TdInk volume_face = { { 0.38f, 0.63f, 0.92f, 0.09f } };
static const TdInk detector_ink = { { 0.92f, 0.92f, 0.95f, 1 } };
static const TdInk detector_face = { { 0.80f, 0.82f, 0.90f, 0.22f } };
static const TdInk u_ink = { { 1.0f, 0.45f, 0.45f, 1 } };
static const TdInk v_ink = { { 0.40f, 0.88f, 0.55f, 1 } };
static const TdInk world_ink = { { 0.78f, 0.80f, 0.85f, 1 } };

/* ── The volume and its axis ── */

/* Corner by three bits: x, y, z of the larger side. */
static void
box_corner (const TdOrbit *orbit, guint bits, double corner[3])
{
  for (guint i = 0; i < 3; i++)
    corner[i] = orbit->middle_mm[i] + (bits & (1u << i) ? 1 : -1) * orbit->half_mm[i];
}

static void
orbit_space_add_volume (TdSpace *space, const TdOrbit *orbit)
{
  static const guint8 faces[6][4] = { { 0, 1, 3, 2 }, { 4, 5, 7, 6 }, { 0, 1, 5, 4 },
                                      { 2, 3, 7, 6 }, { 0, 2, 6, 4 }, { 1, 3, 7, 5 } };
  double first[3];

  for (guint f = 0; f < G_N_ELEMENTS (faces); f++) {
    double corners[4][3];
    for (guint i = 0; i < 4; i++)
      box_corner (orbit, faces[f][i], corners[i]);
    td_space_quad (space, corners, volume_face);
  }
  for (guint a = 0; a < 8; a++)
    for (guint bit = 0; bit < 3; bit++)
      if (!(a & (1u << bit))) {
        double from[3], to[3];
        box_corner (orbit, a, from);
        box_corner (orbit, a | (1u << bit), to);
        td_space_line (space, from, to, volume_ink, 1.5);
      }
  /* The stored volume begins where x is smallest, y and z are largest. */
  box_corner (orbit, 2 | 4, first);
  td_space_dot (space, first, volume_ink, 7);
  td_space_label (space, first, _ ("slice 0, pixel (0, 0)"), volume_ink);
}

static void
add_axes (TdSpace *space, const TdOrbit *orbit)
{
  const double reach = 1.35 * MAX (orbit->half_mm[2], 0.35 * orbit->half_mm[0]);
  const double low[3] = { 0, 0, orbit->middle_mm[2] - reach };
  const double high[3] = { 0, 0, orbit->middle_mm[2] + reach };
  const char *const names[] = { "x", "y" };
  double from[3];

  td_space_line (space, low, high, axis_ink, 2);
  td_space_label (space, high, _ ("rotation axis, z"), axis_ink);
  box_corner (orbit, 0, from);
  for (guint i = 0; i < 2; i++) {
    double to[3];
    memcpy (to, from, sizeof to);
    to[i] += 0.7 * orbit->half_mm[i];
    td_space_arrow (space, from, to, world_ink, 1.5, 0.2);
    td_space_label (space, to, names[i], world_ink);
  }
}

/* ── The orbit ── */

static void
label_view (TdSpace *space, const TdOrbit *orbit, guint view)
{
  g_autofree char *text = g_strdup_printf (_ ("view %u"), view);
  double source[3];

  td_orbit_source (orbit, view, source);
  td_space_dot (space, source, orbit_ink, 6);
  td_space_label (space, source, text, orbit_ink);
}

/* Every source, and an arrow from the first on: which way it goes. */
static void
add_orbit (TdSpace *space, const TdOrbit *orbit, guint view)
{
  const guint step = MAX (orbit->n_views / MOST_POSITIONS, 1);
  double first[3], ahead[3];

  for (guint i = 0; i < orbit->n_views; i += step) {
    double source[3];
    td_orbit_source (orbit, i, source);
    td_space_dot (space, source, orbit_ink, orbit->n_views < 120 ? 4 : 2.5);
  }
  if (orbit->n_views < 2)
    return;
  td_orbit_source (orbit, 0, first);
  td_orbit_source (orbit, CLAMP (orbit->n_views / 24, 1, orbit->n_views - 1), ahead);
  td_space_arrow (space, first, ahead, orbit_ink, 2, 0.35);
  if (view != 0)
    label_view (space, orbit, 0);
  if (view != orbit->n_views - 1)
    label_view (space, orbit, orbit->n_views - 1);
}

/* ── One view ── */

static void
detector_corners (const TdOrbit *orbit, guint view, double corners[4][3])
{
  const double right = orbit->n_columns - 0.5, bottom = orbit->n_rows - 0.5;

  td_orbit_pixel (orbit, view, -0.5, -0.5, corners[0]);
  td_orbit_pixel (orbit, view, right, -0.5, corners[1]);
  td_orbit_pixel (orbit, view, right, bottom, corners[2]);
  td_orbit_pixel (orbit, view, -0.5, bottom, corners[3]);
}

/* Where the axis falls on the detector, as far as the volume goes: off the middle, or sloped, at a
   glance. */
static void
add_axis_shadow (TdSpace *space, const TdOrbit *orbit, guint view)
{
  double u[2], v[2], ends[2][3];

  for (guint i = 0; i < 2; i++) {
    const double point[3] = { 0, 0, orbit->middle_mm[2] + (i ? -1 : 1) * orbit->half_mm[2] };
    td_orbit_project (orbit, view, point, &u[i], &v[i]);
    td_orbit_pixel (orbit, view, u[i], v[i], ends[i]);
  }
  td_space_line (space, ends[0], ends[1], axis_ink, 2);
}

static void
orbit_space_add_detector (TdSpace *space, const TdOrbit *orbit, guint view)
{
  const double columns = orbit->n_columns - 1.0, rows = orbit->n_rows - 1.0;
  const double reach = 0.35 * MAX (columns, rows);
  double corners[4][3], origin[3], along_u[3], along_v[3], cross[4][3];

  detector_corners (orbit, view, corners);
  td_space_quad (space, corners, detector_face);
  for (guint i = 0; i < 4; i++)
    td_space_line (space, corners[i], corners[(i + 1) % 4], detector_ink, 1.5);
  td_orbit_pixel (orbit, view, 0, rows / 2, cross[0]);
  td_orbit_pixel (orbit, view, columns, rows / 2, cross[1]);
  td_orbit_pixel (orbit, view, columns / 2, 0, cross[2]);
  td_orbit_pixel (orbit, view, columns / 2, rows, cross[3]);
  td_space_line (space, cross[0], cross[1], detector_face, 1);
  td_space_line (space, cross[2], cross[3], detector_face, 1);
  add_axis_shadow (space, orbit, view);

  td_orbit_pixel (orbit, view, 0, 0, origin);
  td_orbit_pixel (orbit, view, reach, 0, along_u);
  td_orbit_pixel (orbit, view, 0, MIN (reach, MAX (rows, reach / 2)), along_v);
  td_space_arrow (space, origin, along_u, u_ink, 2.5, 0.2);
  td_space_arrow (space, origin, along_v, v_ink, 2.5, 0.2);
  td_space_dot (space, origin, detector_ink, 8);
  td_space_label (space, origin, _ ("pixel (0, 0)"), detector_ink);
  td_space_label (space, along_u, _ ("u, columns"), u_ink);
  td_space_label (space, along_v, _ ("v, rows"), v_ink);
}

/* The ray through the middle of the volume. */
static void
add_middle_ray (TdSpace *space, const TdOrbit *orbit, guint view, const double source[3])
{
  const double origin[3] = { 0, 0, 0 };
  double u, v, hit[3];

  td_orbit_project (orbit, view, origin, &u, &v);
  td_orbit_pixel (orbit, view, u, v, hit);
  td_space_line (space, source, hit, beam_ink, 1);
  td_space_dot (space, hit, axis_ink, 6);
}

static void
add_cone (TdSpace *space, const TdOrbit *orbit, guint view)
{
  double source[3], corners[4][3];
  g_autofree char *text = g_strdup_printf (_ ("source, view %u"), view);

  td_orbit_source (orbit, view, source);
  detector_corners (orbit, view, corners);
  for (guint i = 0; i < 4; i++) {
    td_space_line (space, source, corners[i], beam_ink, 1);
    td_space_triangle (space, source, corners[i], corners[(i + 1) % 4], beam_face);
  }
  add_middle_ray (space, orbit, view, source);
  td_space_dot (space, source, source_ink, 12);
  td_space_label (space, source, text, source_ink);
}

static void
add_parallel_beam (TdSpace *space, const TdOrbit *orbit, guint view)
{
  const guint n = 5;
  double source[3], detector[3], middle[3];
  g_autofree char *text = g_strdup_printf (_ ("beam, view %u"), view);

  td_orbit_source (orbit, view, middle);
  for (guint i = 0; i < n; i++)
    for (guint j = 0; j < 3; j++) {
      const double u = i * (orbit->n_columns - 1.0) / (n - 1);
      const double v = orbit->n_rows > 1 ? j * (orbit->n_rows - 1.0) / 2 : 0;
      td_orbit_pixel (orbit, view, u, v, detector);
      /* As far before the axis as the detector is behind it. */
      for (guint k = 0; k < 3; k++)
        source[k] = detector[k] + 2 * middle[k];
      td_space_arrow (space, source, detector, j == 1 ? beam_ink : beam_face, 1, 0.04);
    }
  td_space_label (space, middle, text, source_ink);
}

TdSpace *
td_orbit_space (const TdOrbit *orbit, guint view)
{
  TdSpace *space = td_space_new ();

  if (!(orbit->radius > 0))
    return space;
  orbit_space_add_volume (space, orbit);
  add_axes (space, orbit);
  add_orbit (space, orbit, view);
  orbit_space_add_detector (space, orbit, view);
  if (orbit->beam == TD_BEAM_PARALLEL)
    add_parallel_beam (space, orbit, view);
  else
    add_cone (space, orbit, view);
  return space;
}
