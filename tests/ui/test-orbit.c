/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the geometry page draws, against the geometry's own definitions. No display. */
#include <math.h>
#include <string.h>

#include "ui/orbit-facts.h"
#include "ui/orbit-space.h"

#define VIEWS 24
#define COLUMNS 60
#define ROWS 40

static double angles[VIEWS];

static void
init_facts (TdScanFacts *facts, TdBeam beam)
{
  memset (facts, 0, sizeof *facts);
  facts->n_columns = COLUMNS;
  facts->n_rows = ROWS;
  facts->n_views = VIEWS;
  facts->angles_rad = angles;
  facts->centre_px = NAN;
  td_geometry_init_parallel (&facts->geometry);
  facts->geometry.beam = beam;
  facts->geometry.pixel_width_mm = 0.3;
  facts->geometry.pixel_height_mm = 0.25;
  if (beam != TD_BEAM_PARALLEL) {
    facts->geometry.source_axis_mm = 210;
    facts->geometry.source_detector_mm = 640;
  }
  for (guint view = 0; view < VIEWS; view++)
    angles[view] = 2 * G_PI * view / VIEWS;
}

static double
distance (const double a[3], const double b[3])
{
  return sqrt (pow (a[0] - b[0], 2) + pow (a[1] - b[1], 2) + pow (a[2] - b[2], 2));
}

static void
assert_near (double a, double b, double tolerance)
{
  if (!(fabs (a - b) <= tolerance))
    g_error ("%.9g is not %.9g ± %.2g", a, b, tolerance);
}

/* Every place on the detector is seen there again, from every view. */
static void
assert_pixels_come_back (const TdOrbit *orbit)
{
  for (guint i = 0; i < 200; i++) {
    guint view = (guint) g_test_rand_int_range (0, VIEWS);
    double u = g_test_rand_double_range (-1, COLUMNS), v = g_test_rand_double_range (-1, ROWS);
    double point[3], u2, v2;
    td_orbit_pixel (orbit, view, u, v, point);
    td_orbit_project (orbit, view, point, &u2, &v2);
    assert_near (u2, u, 1e-6);
    assert_near (v2, v, 1e-6);
  }
}

static void
tilt (TdGeometry *geometry)
{
  for (guint i = 0; i < 3; i++)
    geometry->detector_tilt_rad[i] = g_test_rand_double_range (-0.1, 0.1);
  geometry->detector_offset_u_px = g_test_rand_double_range (-5, 5);
  geometry->detector_offset_v_px = g_test_rand_double_range (-5, 5);
  geometry->axis_offset_mm = g_test_rand_double_range (-2, 2);
}

static void
test_cone (void)
{
  TdScanFacts facts;
  TdRecipe recipe;

  init_facts (&facts, TD_BEAM_CONE);
  td_recipe_init (&recipe);
  g_autoptr (TdOrbit) straight = td_orbit_new (&facts, &recipe);
  double source[3], pixel[3];
  /* Source at -y at angle 0, detector at +y, columns along +x, rows downwards. */
  td_orbit_source (straight, 0, source);
  assert_near (distance (source, (double[3]) { 0, -210, 0 }), 0, 1e-9);
  td_orbit_pixel (straight, 0, 0, 0, pixel);
  assert_near (distance (pixel, (double[3]) { -29.5 * 0.3, 430, 19.5 * 0.25 }), 0, 1e-9);
  /* A quarter of a turn: the source stands at +x. */
  td_orbit_source (straight, VIEWS / 4, source);
  assert_near (distance (source, (double[3]) { 210, 0, 0 }), 0, 1e-9);
  /* Rows are 5/6 as high as columns are wide. */
  assert_near (straight->half_mm[2], ceil (ROWS * 5 / 6.) / 2 * straight->task.voxel_mm, 1e-9);
  g_assert_null (straight->problem);

  tilt (&facts.geometry);
  g_autoptr (TdOrbit) orbit = td_orbit_new (&facts, &recipe);
  assert_pixels_come_back (orbit);
  td_orbit_source (orbit, 3, source);
  assert_near (sqrt (source[0] * source[0] + source[1] * source[1] + source[2] * source[2]),
               hypot (210, facts.geometry.axis_offset_mm), 1e-9);
}

/* A matrix for every view draws what the circle that made the matrices draws. */
static void
test_matrices (void)
{
  TdScanFacts circle, matrices;
  TdRecipe recipe;

  init_facts (&circle, TD_BEAM_CONE);
  circle.geometry.pixel_height_mm = circle.geometry.pixel_width_mm;
  tilt (&circle.geometry);
  matrices = circle;
  matrices.geometry.view_matrices = g_new (double, 12 * VIEWS);
  matrices.geometry.n_view_matrices = VIEWS;
  for (guint view = 0; view < VIEWS; view++) {
    double *matrix = matrices.geometry.view_matrices + 12 * view;
    td_cone_matrix (&circle.geometry, angles[view], COLUMNS, ROWS, matrix);
    for (guint i = 0; i < 12; i++) /* any scale, and either sign */
      matrix[i] *= view % 2 ? 7.3 : -0.2;
  }
  td_recipe_init (&recipe);
  g_autoptr (TdOrbit) a = td_orbit_new (&circle, &recipe);
  g_autoptr (TdOrbit) b = td_orbit_new (&matrices, &recipe);
  assert_pixels_come_back (b);
  for (guint view = 0; view < VIEWS; view++) {
    double pa[3], pb[3];
    td_orbit_source (a, view, pa);
    td_orbit_source (b, view, pb);
    assert_near (distance (pa, pb), 0, 1e-6);
    td_orbit_pixel (a, view, 3, 35, pa);
    td_orbit_pixel (b, view, 3, 35, pb);
    assert_near (distance (pa, pb), 0, 1e-6);
  }
  /* The recipe's centre moves what matrices show, and the slice's turn turns them. */
  double u, v, u2, v2;
  td_orbit_project (b, 0, (double[3]) { 0, 0, 0 }, &u, &v);
  for (guint columns = 1; columns < 4; columns++) {
    recipe.centre_px = u + columns;
    g_autoptr (TdOrbit) by_whole_columns = td_orbit_new (&matrices, &recipe);
    td_orbit_project (by_whole_columns, 0, (double[3]) { 0, 0, 0 }, &u2, &v2);
    assert_near (u2, u + columns, 1e-6);
  }
  recipe.centre_px = u + 2.5;
  recipe.angle_offset_deg = 90;
  g_autoptr (TdOrbit) moved = td_orbit_new (&matrices, &recipe);
  td_orbit_project (moved, 0, (double[3]) { 0, 0, 0 }, &u2, &v2);
  assert_near (u2, u + 2.5, 1e-6);
  assert_near (v2, v, 1e-6);
  double from[3], to[3];
  td_orbit_source (b, 5, from);
  td_orbit_source (moved, 5, to);
  assert_near (distance (to, (double[3]) { -from[1], from[0], from[2] }), 0, 1e-6);
  g_free (matrices.geometry.view_matrices);
}

static void
test_parallel (void)
{
  TdScanFacts facts;
  TdRecipe recipe;

  init_facts (&facts, TD_BEAM_PARALLEL);
  facts.geometry.pixel_width_mm = facts.geometry.pixel_height_mm = 0;
  td_recipe_init (&recipe);
  recipe.centre_px = 33.25;
  recipe.tilt_deg = 2;
  g_autoptr (TdOrbit) orbit = td_orbit_new (&facts, &recipe);
  assert_pixels_come_back (orbit);
  g_assert_false (orbit->in_mm);
  for (guint view = 0; view < VIEWS; view += 5) {
    double u, v;
    /* The axis: its centre moves by tan (tilt) a row. */
    td_orbit_project (orbit, view, (double[3]) { 0, 0, -11 }, &u, &v);
    assert_near (u - 33.25, tan (2 * G_PI / 180) * (v - (ROWS - 1) / 2.0), 1e-9);
    g_assert_cmpfloat (v, >, (ROWS - 1) / 2.0);
  }
  recipe.tilt_deg = 0;
  recipe.reverse_rotation = TRUE;
  g_autoptr (TdOrbit) reversed = td_orbit_new (&facts, &recipe);
  for (guint view = 0; view < VIEWS; view += 5) {
    double u, v;
    td_orbit_project (reversed, view, (double[3]) { 7, -4, 2 }, &u, &v);
    assert_near (u - 33.25, 7 * cos (-angles[view]) - 4 * sin (-angles[view]), 1e-9);
  }
}

static const char *
fact (GArray *facts, const char *title)
{
  for (guint i = 0; i < facts->len; i++)
    if (strcmp (g_array_index (facts, TdOrbitFact, i).title, title) == 0)
      return g_array_index (facts, TdOrbitFact, i).value;
  return "";
}

/* Sources that run back say so themselves, whatever the list of angles says, and how far they rise.
 */
static void
test_direction (void)
{
  static const char *const words[]
      = { "source clockwise, seen from above the sample", "not told by the order of the views",
          "source anticlockwise, seen from above the sample" };
  double view_matrices[12 * VIEWS];
  TdScanFacts facts;

  init_facts (&facts, TD_BEAM_CONE);
  const TdGeometry circle = facts.geometry;
  facts.geometry.view_matrices = view_matrices;
  facts.geometry.n_view_matrices = VIEWS;
  for (int direction = -1; direction <= 1; direction++) {
    for (guint view = 0; view < VIEWS; view++) {
      const double sign = direction ? direction : view % 2 ? 1 : -1;
      td_cone_matrix (&circle, sign * angles[view], COLUMNS, ROWS, view_matrices + 12 * view);
    }
    g_autoptr (TdOrbit) orbit = td_orbit_new (&facts, NULL);
    g_autoptr (GArray) list = td_orbit_facts (orbit);
    g_assert_cmpstr (fact (list, "Direction"), ==, words[1 + direction]);
    g_assert_cmpstr (fact (list, "Orbit"), ==, "a matrix for every view");
    g_assert_cmpstr (fact (list, "Source to axis"), ==, "210 mm");
    g_assert_cmpstr (fact (list, "Source to detector"), ==, "640 mm");
    g_assert_cmpstr (fact (list, "Height of the source"), ==, "");
  }
}

/* Half acquisition: the volume is as wide as the slices are, not as the detector is. */
static void
test_wide_field (void)
{
  TdScanFacts facts;
  TdRecipe recipe;
  double source[3], u, v;

  init_facts (&facts, TD_BEAM_PARALLEL);
  td_recipe_init (&recipe);
  recipe.centre_px = 7;
  g_autoptr (TdOrbit) wide = td_orbit_new (&facts, &recipe);
  /* The farther edge is 52 columns from the axis. */
  g_assert_true (wide->field.wide);
  assert_near (wide->half_mm[0], (2 * 52 + 1) * 0.3 / 2, 1e-9);
  assert_near (wide->half_mm[1], wide->half_mm[0], 0);
  assert_near (wide->half_mm[2], ROWS * 0.25 / 2, 1e-9);
  /* What the detector sees farthest out lies just inside, on one side of view 0, on the other of
     the opposite one. */
  for (guint view = 0; view < VIEWS; view += VIEWS / 2) {
    td_orbit_pixel (wide, view, COLUMNS - 1, 0, source);
    assert_near (source[0], (view ? -1 : 1) * 52 * 0.3, 1e-9);
  }
  td_orbit_project (wide, 0, (double[3]) { 0, 0, 0 }, &u, &v);
  assert_near (u, 7, 1e-9);
  g_autoptr (GArray) list = td_orbit_facts (wide);
  g_assert_nonnull (strstr (fact (list, "Volume"), "105 × 105"));
  g_assert_nonnull (strstr (fact (list, "Turn"), "half acquisition"));

  recipe.field_of_view = TD_FIELD_FULL;
  g_autoptr (TdOrbit) narrow = td_orbit_new (&facts, &recipe);
  assert_near (narrow->half_mm[0], COLUMNS * 0.3 / 2, 1e-9);
  /* Asked for on half a turn: the sentence of the plan, and the detector's width. */
  recipe.field_of_view = TD_FIELD_HALF;
  for (guint view = 0; view < VIEWS; view++)
    angles[view] = G_PI * view / VIEWS;
  g_autoptr (TdOrbit) half = td_orbit_new (&facts, &recipe);
  g_assert_nonnull (strstr (half->problem, "full turn"));
  assert_near (half->half_mm[0], COLUMNS * 0.3 / 2, 1e-9);
}

/* A cone's centre in the recipe is the column that the axis projects to. */
static void
test_centre (void)
{
  TdScanFacts facts;
  TdRecipe recipe;
  double u, v;

  init_facts (&facts, TD_BEAM_CONE);
  facts.geometry.axis_offset_mm = 1.3;
  td_recipe_init (&recipe);
  recipe.centre_px = 34.5;
  g_autoptr (TdOrbit) orbit = td_orbit_new (&facts, &recipe);
  for (guint view = 0; view < VIEWS; view++) {
    td_orbit_project (orbit, view, (double[3]) { 0, 0, 0 }, &u, &v);
    assert_near (u, 34.5, 1e-9);
  }
}

static guint
count_shapes (const TdSpace *space)
{
  TdCamera camera;

  td_camera_init (&camera, (double[3]) { 0, 0, 0 }, 1000);
  g_autoptr (GArray) shapes = td_space_project (space, &camera, 400, 300, 1);
  return shapes->len;
}

static void
test_facts (void)
{
  TdScanFacts facts;

  init_facts (&facts, TD_BEAM_CONE);
  g_autoptr (TdOrbit) orbit = td_orbit_new (&facts, NULL);
  g_autoptr (GArray) list = td_orbit_facts (orbit);
  g_assert_cmpstr (fact (list, "Source to axis"), ==, "210 mm");
  g_assert_cmpstr (fact (list, "Magnification"), ==, "3.0476");
  g_assert_nonnull (strstr (fact (list, "Volume"), "60 × 60 × 34"));
  for (guint i = 0; i < 3; i++)
    facts.geometry.detector_tilt_rad[i] = (i + 1) * G_PI / 180;
  facts.geometry.detector_offset_u_px = 2.5;
  facts.geometry.axis_offset_mm = -0.75;
  g_autoptr (TdOrbit) tilted = td_orbit_new (&facts, NULL);
  g_autoptr (GArray) tilts = td_orbit_facts (tilted);
  g_assert_cmpstr (fact (tilts, "Tilts"), ==, "1° about u, 2° about v, 3° about the beam");
  g_assert_cmpstr (fact (tilts, "Detector offset"), ==, "u 2.5, v 0 pixels");
  g_assert_cmpstr (fact (tilts, "Axis offset"), ==, "-0.75 mm");
  /* Too little of a turn is told, and drawn all the same. */
  for (guint view = 0; view < VIEWS; view++)
    angles[view] = 0.05 * view;
  g_autoptr (TdOrbit) little = td_orbit_new (&facts, NULL);
  g_assert_nonnull (little->problem);
  g_assert_cmpfloat (little->radius, >, 400);
  g_autoptr (TdSpace) space = td_orbit_space (little, 2);
  g_assert_cmpuint (count_shapes (space), >, 10);
  g_autoptr (GArray) short_list = td_orbit_facts (little);
  g_assert_nonnull (strstr (fact (short_list, "Turn"), "not enough"));
  init_facts (&facts, TD_BEAM_PARALLEL);
  facts.n_rows = 1;
  g_autoptr (TdOrbit) row = td_orbit_new (&facts, NULL);
  g_autoptr (GArray) row_list = td_orbit_facts (row);
  g_assert_true (g_str_has_prefix (fact (row_list, "Volume"), "1 slice of "));
  g_assert_cmpstr (fact (row_list, "Tilts"), ==, "0° of the axis in the detector’s plane");
}

/* All facts, each "title: value", with "; " between them. */
static char *
all_facts (const TdOrbit *orbit)
{
  g_autoptr (GArray) list = td_orbit_facts (orbit);
  GString *all = g_string_new (NULL);

  for (guint i = 0; i < list->len; i++) {
    const TdOrbitFact *one = &g_array_index (list, TdOrbitFact, i);
    g_string_append_printf (all, "%s%s: %s", i ? "; " : "", one->title, one->value);
  }
  g_string_replace (all, "\n", " / ", 0);
  return g_string_free (all, FALSE);
}

/* Of matrices on a helix; the first @n_back views go the other way round. */
static void
init_helix (TdScanFacts *facts, double *matrices, guint n_back, int sign)
{
  init_facts (facts, TD_BEAM_CONE);
  for (guint view = 0; view < VIEWS; view++) {
    TdGeometry moved = facts->geometry;
    double *matrix = matrices + 12 * view;
    td_cone_matrix (&moved, sign * angles[view] * (view < n_back ? -1 : 1), COLUMNS, ROWS, matrix);
    /* The whole goes up by 2 mm a view: what was at z is at z + 2 view. */
    for (guint i = 0; i < 3; i++)
      matrix[4 * i + 3] -= 2.0 * view * matrix[4 * i + 2];
  }
  facts->geometry.view_matrices = matrices;
  facts->geometry.n_view_matrices = VIEWS;
}

typedef struct {
  const char *name;
  TdBeam beam;
  double centre_px, width_mm, height_mm;
  guint n_rows, n_views;
  double first_rad, step_rad; /* of the angles */
  guint n_back;
  int helix; /* which way; 0: a circle */
  const char *facts;
} Told;

static char *
facts_of (const Told *told)
{
  g_autofree double *matrices = g_new (double, 12 * VIEWS);
  TdScanFacts facts;
  TdRecipe recipe;

  td_recipe_init (&recipe);
  recipe.centre_px = told->centre_px;
  init_facts (&facts, told->beam);
  facts.n_rows = told->n_rows;
  facts.n_views = told->n_views;
  facts.geometry.pixel_width_mm = told->width_mm;
  facts.geometry.pixel_height_mm = told->height_mm;
  for (guint view = 0; view < VIEWS && !told->helix; view++)
    angles[view] = told->first_rad + view * told->step_rad;
  if (told->helix)
    init_helix (&facts, matrices, told->n_back, told->helix);
  g_autoptr (TdOrbit) orbit = td_orbit_new (&facts, told->helix ? NULL : &recipe);
  return all_facts (orbit);
}

/* All that is told of a scan, for each kind of scan. */
static void
test_all_facts (void)
{
#define TURN (2 * G_PI / VIEWS)
  static const Told all[] = {
    { "cone", TD_BEAM_CONE, 31, 0.3, 0.25, 40, 24, 0, TURN, 0, 0,
      "Beam: cone; Source to axis: 210 mm; Source to detector: 640 mm; Magnification: 3.0476; "
      "Opening: fan 1.61°, cone 0.90°; Detector: 60 × 40 pixels of 0.3 × 0.25 mm; Middle of the "
      "axis at: column 31.00, row 19.50 / +1.50, +0.00 px from the detector’s middle; Tilts: 0° "
      "about u, 0° about v, 0° about the beam; Detector offset: u 1.5, v 0 pixels; Axis offset: 0 "
      "mm; Views: 24 from 0.00° to 345.00°; Turn: a full turn; Direction: source anticlockwise, "
      "seen from above the sample; Voxel: 0.098437 mm; Volume: 60 × 60 × 34 voxels / 5.906 × 5.906 "
      "× 3.347 mm" },
    { "fan", TD_BEAM_FAN, NAN, 0.3, 0.25, 1, 24, 0, TURN, 0, 0,
      "Beam: fan; Source to axis: 210 mm; Source to detector: 640 mm; Magnification: 3.0476; "
      "Opening: fan 1.61°, cone 0.02°; Detector: 60 × 1 pixels of 0.3 × 0.25 mm; Middle of the "
      "axis at: column 29.50, row 0.00 / +0.00, +0.00 px from the detector’s middle; Tilts: 0° "
      "about u, 0° about v, 0° about the beam; Detector offset: u 0, v 0 pixels; Axis offset: 0 "
      "mm; Views: 24 from 0.00° to 345.00°; Turn: a full turn; Direction: source anticlockwise, "
      "seen from above the sample; Voxel: 0.098437 mm; Volume: 60 × 60 × 1 voxels / 5.906 × 5.906 "
      "× 0.09844 mm" },
    { "no pixel size", TD_BEAM_PARALLEL, NAN, 0, 0, 40, 24, 0, TURN, 0, 0,
      "Beam: parallel; Detector: 60 × 40 pixels; Middle of the axis at: column 29.50, row 19.50 / "
      "+0.00, +0.00 px from the detector’s middle; Tilts: 0° of the axis in the detector’s plane; "
      "Views: 24 from 0.00° to 345.00°; Turn: a full turn; Direction: source anticlockwise, seen "
      "from above the sample; Volume: 40 slices of 60 × 60 pixels" },
    { "half a turn", TD_BEAM_PARALLEL, NAN, 0.3, 0.25, 40, 24, 0, -TURN / 2, 0, 0,
      "Beam: parallel; Detector: 60 × 40 pixels of 0.3 × 0.25 mm; Middle of the axis at: column "
      "29.50, row 19.50 / +0.00, +0.00 px from the detector’s middle; Tilts: 0° of the axis in the "
      "detector’s plane; Views: 24 from 0.00° to -172.50°; Turn: half a turn; Direction: source "
      "clockwise, seen from above the sample; Volume: 40 slices of 60 × 60 pixels" },
    { "a part", TD_BEAM_PARALLEL, NAN, 0.3, 0.25, 40, 24, 0.1, 1 / 24.0, 0, 0,
      "Beam: parallel; Detector: 60 × 40 pixels of 0.3 × 0.25 mm; Middle of the axis at: column "
      "29.50, row 19.50 / +0.00, +0.00 px from the detector’s middle; Tilts: 0° of the axis in the "
      "detector’s plane; Views: 24 from 5.73° to 60.64°; Turn: less than half a turn; Direction: "
      "source anticlockwise, seen from above the sample; Volume: 40 slices of 60 × 60 pixels" },
    { "square pixels", TD_BEAM_PARALLEL, 20.25, 0.3, 0.3, 40, 24, 0, TURN, 0, 0,
      "Beam: parallel; Detector: 60 × 40 pixels of 0.3 mm; Middle of the axis at: column 20.25, "
      "row 19.50 / -9.25, +0.00 px from the detector’s middle; Tilts: 0° of the axis in the "
      "detector’s plane; Views: 24 from 0.00° to 345.00°; Turn: a full turn; Direction: source "
      "anticlockwise, seen from above the sample; Volume: 40 slices of 60 × 60 pixels" },
    { "one view", TD_BEAM_PARALLEL, NAN, 0.3, 0.25, 40, 1, 0, TURN, 0, 0,
      "Beam: parallel; Detector: 60 × 40 pixels of 0.3 × 0.25 mm; Middle of the axis at: column "
      "29.50, row 19.50 / +0.00, +0.00 px from the detector’s middle; Tilts: 0° of the axis in the "
      "detector’s plane; Views: 1 from 0.00° to 0.00°; Turn: less than half a turn; Volume: 40 "
      "slices of 60 × 60 pixels" },
    { "two views", TD_BEAM_PARALLEL, NAN, 0.3, 0.25, 40, 2, 0, TURN, 0, 0,
      "Beam: parallel; Detector: 60 × 40 pixels of 0.3 × 0.25 mm; Middle of the axis at: column "
      "29.50, row 19.50 / +0.00, +0.00 px from the detector’s middle; Tilts: 0° of the axis in the "
      "detector’s plane; Views: 2 from 0.00° to 15.00°; Turn: less than half a turn; Direction: "
      "source anticlockwise, seen from above the sample; Volume: 40 slices of 60 × 60 pixels" },
    { "helix", TD_BEAM_CONE, NAN, 0.3, 0.25, 40, 24, 0, TURN, 0, 1,
      "Beam: cone; Source to axis: 210 mm; Source to detector: 640 mm; Magnification: 3.0476; "
      "Opening: fan 1.61°, cone 0.90°; Detector: 60 × 40 pixels of 0.3 × 0.25 mm; Middle of the "
      "axis at: column 29.50, row 19.50 / +0.00, +0.00 px from the detector’s middle; Orbit: a "
      "matrix for every view; Height of the source: 0 … 46 mm; Views: 24 from 0.00° to 345.00°; "
      "Turn: a full turn; Direction: source anticlockwise, seen from above the sample; Voxel: "
      "0.098437 mm; Volume: 60 × 60 × 34 voxels / 5.906 × 5.906 × 3.347 mm" },
    { "most go on", TD_BEAM_CONE, NAN, 0.3, 0.25, 40, 24, 0, TURN, 3, 1,
      "Beam: cone; Source to axis: 210 mm; Source to detector: 640 mm; Magnification: 3.0476; "
      "Opening: fan 1.61°, cone 0.90°; Detector: 60 × 40 pixels of 0.3 × 0.25 mm; Middle of the "
      "axis at: column 29.50, row 19.50 / +0.00, +0.00 px from the detector’s middle; Orbit: a "
      "matrix for every view; Height of the source: 0 … 46 mm; Views: 24 from 0.00° to 345.00°; "
      "Turn: a full turn; Direction: source anticlockwise, seen from above the sample; Voxel: "
      "0.098437 mm; Volume: 60 × 60 × 34 voxels / 5.906 × 5.906 × 3.347 mm" },
    { "not enough go on", TD_BEAM_CONE, NAN, 0.3, 0.25, 40, 24, 0, TURN, 4, 1,
      "Beam: cone; Source to axis: 210 mm; Source to detector: 640 mm; Magnification: 3.0476; "
      "Opening: fan 1.61°, cone 0.90°; Detector: 60 × 40 pixels of 0.3 × 0.25 mm; Middle of the "
      "axis at: column 29.50, row 19.50 / +0.00, +0.00 px from the detector’s middle; Orbit: a "
      "matrix for every view; Height of the source: 0 … 46 mm; Views: 24 from 0.00° to 345.00°; "
      "Turn: a full turn; Direction: not told by the order of the views; Voxel: 0.098437 mm; "
      "Volume: 60 × 60 × 34 voxels / 5.906 × 5.906 × 3.347 mm" },
    { "most go back", TD_BEAM_CONE, NAN, 0.3, 0.25, 40, 24, 0, TURN, 3, -1,
      "Beam: cone; Source to axis: 210 mm; Source to detector: 640 mm; Magnification: 3.0476; "
      "Opening: fan 1.61°, cone 0.90°; Detector: 60 × 40 pixels of 0.3 × 0.25 mm; Middle of the "
      "axis at: column 29.50, row 19.50 / +0.00, +0.00 px from the detector’s middle; Orbit: a "
      "matrix for every view; Height of the source: 0 … 46 mm; Views: 24 from 0.00° to 345.00°; "
      "Turn: a full turn; Direction: source clockwise, seen from above the sample; Voxel: 0.098437 "
      "mm; Volume: 60 × 60 × 34 voxels / 5.906 × 5.906 × 3.347 mm" },
    { "not enough go back", TD_BEAM_CONE, NAN, 0.3, 0.25, 40, 24, 0, TURN, 4, -1,
      "Beam: cone; Source to axis: 210 mm; Source to detector: 640 mm; Magnification: 3.0476; "
      "Opening: fan 1.61°, cone 0.90°; Detector: 60 × 40 pixels of 0.3 × 0.25 mm; Middle of the "
      "axis at: column 29.50, row 19.50 / +0.00, +0.00 px from the detector’s middle; Orbit: a "
      "matrix for every view; Height of the source: 0 … 46 mm; Views: 24 from 0.00° to 345.00°; "
      "Turn: a full turn; Direction: not told by the order of the views; Voxel: 0.098437 mm; "
      "Volume: 60 × 60 × 34 voxels / 5.906 × 5.906 × 3.347 mm" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (all); i++) {
    g_autofree char *facts = facts_of (&all[i]);
    g_test_message ("%s: %s", all[i].name, facts);
    g_assert_cmpstr (facts, ==, all[i].facts);
  }
}

static const TdSpaceLabel *
label_of (const TdSpace *space, const char *text)
{
  guint n;
  const TdSpaceLabel *labels = td_space_labels (space, &n);

  for (guint i = 0; i < n; i++)
    if (strcmp (labels[i].text, text) == 0)
      return &labels[i];
  return NULL;
}

/* Lines of that ink that can be seen. */
static guint
count_lines (const TdSpace *space, const TdInk *ink)
{
  TdCamera camera;
  guint n = 0;

  td_camera_init (&camera, (double[3]) { 0, 0, 0 }, 1e4); /* far: each is one piece */
  g_autoptr (GArray) shapes = td_space_project (space, &camera, 400, 300, 1);
  for (guint i = 0; i < shapes->len; i++) {
    const TdShape *shape = &g_array_index (shapes, TdShape, i);
    n += shape->kind == TD_SHAPE_LINE && memcmp (&shape->ink, ink, sizeof *ink) == 0
         && hypotf (shape->x[1] - shape->x[0], shape->y[1] - shape->y[0]) > 0;
  }
  return n;
}

/* Names stand where the geometry has what they name, and the beam is drawn as it is. */
static void
test_names (void)
{
  static const struct {
    TdBeam beam;
    const char *own, *other;
  } cases[] = { { TD_BEAM_PARALLEL, "beam, view 5", "source, view 5" },
                { TD_BEAM_CONE, "source, view 5", "beam, view 5" } };
  static const guint views[] = { 0, VIEWS - 1, 5 };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    TdScanFacts facts;
    init_facts (&facts, cases[i].beam);
    g_autoptr (TdOrbit) orbit = td_orbit_new (&facts, NULL);
    g_autoptr (TdSpace) space = td_orbit_space (orbit, 5);
    for (guint k = 0; k < G_N_ELEMENTS (views); k++) {
      g_autofree char *name = g_strdup_printf ("view %u", views[k]);
      const TdSpaceLabel *label = label_of (space, views[k] == 5 ? cases[i].own : name);
      double source[3];
      g_assert_nonnull (label);
      td_orbit_source (orbit, views[k], source);
      assert_near (distance (label->point, source), 0, 1e-9);
    }
    g_assert_null (label_of (space, cases[i].other));
    const TdSpaceLabel *first = label_of (space, "slice 0, pixel (0, 0)");
    const double corner[3]
        = { -orbit->half_mm[0], orbit->half_mm[1], orbit->middle_mm[2] + orbit->half_mm[2] };
    assert_near (distance (first->point, corner), 0, 1e-9);
    g_assert_cmpuint (count_lines (space, &first->ink), ==, 12); /* the box has its edges */
  }
}

/* What is seen of one kind and ink: how many, how wide they are together, and a sum in which each
   place counts. */
typedef struct {
  TdShapeKind kind;
  float rgba[4];
  guint n;
  double width, places;
} Seen;

static void
sum_shapes (const TdSpace *space, Seen *seen)
{
  TdCamera camera;

  td_camera_init (&camera, (double[3]) { 0, 0, 0 }, 1e4); /* far: each is one piece */
  camera.yaw_rad = 0.4;
  camera.pitch_rad = 0.3;
  g_autoptr (GArray) shapes = td_space_project (space, &camera, 2e5, 2e5, 1);
  for (guint i = 0; i < shapes->len; i++) {
    const TdShape *shape = &g_array_index (shapes, TdShape, i);
    const guint n = shape->kind == TD_SHAPE_DOT ? 1 : shape->kind == TD_SHAPE_LINE ? 2 : 3;
    if (shape->kind != seen->kind || memcmp (shape->ink.rgba, seen->rgba, sizeof seen->rgba) != 0)
      continue;
    seen->n++;
    seen->width += shape->width;
    for (guint k = 0; k < n; k++)
      seen->places += hypot (shape->x[k] - 9e4, shape->y[k] - 11e4) * 1e-3;
  }
}

/* Whatever is drawn of a cone beam's orbit and of a parallel beam has its number and its place. */
static void
test_shapes (void)
{
  static const struct {
    TdBeam beam;
    Seen seen;
  } cases[] = {
    { TD_BEAM_CONE, { TD_SHAPE_DOT, { 0.45f, 0.70f, 1.00f, 1.00f }, 1, 7.0, 14.150 } },
    { TD_BEAM_CONE, { TD_SHAPE_DOT, { 0.72f, 0.72f, 0.76f, 0.90f }, 26, 108.0, 366.482 } },
    { TD_BEAM_CONE, { TD_SHAPE_DOT, { 0.92f, 0.92f, 0.95f, 1.00f }, 1, 8.0, 12.729 } },
    { TD_BEAM_CONE, { TD_SHAPE_DOT, { 1.00f, 0.60f, 0.20f, 1.00f }, 1, 6.0, 12.736 } },
    { TD_BEAM_CONE, { TD_SHAPE_DOT, { 1.00f, 0.86f, 0.30f, 1.00f }, 1, 12.0, 15.037 } },
    { TD_BEAM_CONE, { TD_SHAPE_LINE, { 0.40f, 0.88f, 0.55f, 1.00f }, 5, 12.5, 126.981 } },
    { TD_BEAM_CONE, { TD_SHAPE_LINE, { 0.45f, 0.70f, 1.00f, 1.00f }, 12, 18.0, 339.412 } },
    { TD_BEAM_CONE, { TD_SHAPE_LINE, { 0.72f, 0.72f, 0.76f, 0.90f }, 5, 10.0, 134.736 } },
    { TD_BEAM_CONE, { TD_SHAPE_LINE, { 0.78f, 0.80f, 0.85f, 1.00f }, 10, 15.0, 282.230 } },
    { TD_BEAM_CONE, { TD_SHAPE_LINE, { 0.80f, 0.82f, 0.90f, 0.22f }, 2, 2.0, 50.946 } },
    { TD_BEAM_CONE, { TD_SHAPE_LINE, { 0.92f, 0.92f, 0.95f, 1.00f }, 4, 6.0, 101.892 } },
    { TD_BEAM_CONE, { TD_SHAPE_LINE, { 1.00f, 0.45f, 0.45f, 1.00f }, 5, 12.5, 127.541 } },
    { TD_BEAM_CONE, { TD_SHAPE_LINE, { 1.00f, 0.60f, 0.20f, 1.00f }, 2, 4.0, 53.757 } },
    { TD_BEAM_CONE, { TD_SHAPE_LINE, { 1.00f, 0.86f, 0.30f, 0.75f }, 10, 10.0, 276.106 } },
    { TD_BEAM_CONE, { TD_SHAPE_TRIANGLE, { 0.38f, 0.63f, 0.92f, 0.09f }, 768, 0.0, 32583.504 } },
    { TD_BEAM_CONE, { TD_SHAPE_TRIANGLE, { 0.80f, 0.82f, 0.90f, 0.22f }, 128, 0.0, 4890.803 } },
    { TD_BEAM_CONE, { TD_SHAPE_TRIANGLE, { 1.00f, 0.86f, 0.30f, 0.07f }, 4, 0.0, 162.041 } },
    { TD_BEAM_PARALLEL, { TD_SHAPE_DOT, { 0.45f, 0.70f, 1.00f, 1.00f }, 1, 7.0, 14.165 } },
    { TD_BEAM_PARALLEL, { TD_SHAPE_DOT, { 0.72f, 0.72f, 0.76f, 0.90f }, 26, 108.0, 367.557 } },
    { TD_BEAM_PARALLEL, { TD_SHAPE_DOT, { 0.92f, 0.92f, 0.95f, 1.00f }, 1, 8.0, 14.067 } },
    { TD_BEAM_PARALLEL, { TD_SHAPE_LINE, { 0.40f, 0.88f, 0.55f, 1.00f }, 5, 12.5, 140.404 } },
    { TD_BEAM_PARALLEL, { TD_SHAPE_LINE, { 0.45f, 0.70f, 1.00f, 1.00f }, 12, 18.0, 339.415 } },
    { TD_BEAM_PARALLEL, { TD_SHAPE_LINE, { 0.72f, 0.72f, 0.76f, 0.90f }, 5, 10.0, 140.964 } },
    { TD_BEAM_PARALLEL, { TD_SHAPE_LINE, { 0.78f, 0.80f, 0.85f, 1.00f }, 10, 15.0, 280.988 } },
    { TD_BEAM_PARALLEL, { TD_SHAPE_LINE, { 0.80f, 0.82f, 0.90f, 0.22f }, 2, 2.0, 56.341 } },
    { TD_BEAM_PARALLEL, { TD_SHAPE_LINE, { 0.92f, 0.92f, 0.95f, 1.00f }, 4, 6.0, 112.683 } },
    { TD_BEAM_PARALLEL, { TD_SHAPE_LINE, { 1.00f, 0.45f, 0.45f, 1.00f }, 5, 12.5, 140.951 } },
    { TD_BEAM_PARALLEL, { TD_SHAPE_LINE, { 1.00f, 0.60f, 0.20f, 1.00f }, 2, 4.0, 56.455 } },
    { TD_BEAM_PARALLEL, { TD_SHAPE_LINE, { 1.00f, 0.86f, 0.30f, 0.07f }, 50, 50.0, 1409.857 } },
    { TD_BEAM_PARALLEL, { TD_SHAPE_LINE, { 1.00f, 0.86f, 0.30f, 0.75f }, 25, 25.0, 704.927 } },
    { TD_BEAM_PARALLEL,
      { TD_SHAPE_TRIANGLE, { 0.38f, 0.63f, 0.92f, 0.09f }, 768, 0.0, 32583.694 } },
    { TD_BEAM_PARALLEL, { TD_SHAPE_TRIANGLE, { 0.80f, 0.82f, 0.90f, 0.22f }, 128, 0.0, 5408.756 } },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    TdScanFacts facts;
    Seen seen = { .kind = cases[i].seen.kind };
    memcpy (seen.rgba, cases[i].seen.rgba, sizeof seen.rgba);
    init_facts (&facts, cases[i].beam);
    g_autoptr (TdOrbit) orbit = td_orbit_new (&facts, NULL);
    g_autoptr (TdSpace) space = td_orbit_space (orbit, 5);
    sum_shapes (space, &seen);
    g_test_message ("%u: %u, %.1f, %.3f", i, seen.n, seen.width, seen.places);
    g_assert_cmpuint (seen.n, ==, cases[i].seen.n);
    assert_near (seen.width, cases[i].seen.width, 0.01);
    assert_near (seen.places, cases[i].seen.places, 2e-5 * seen.places + 0.002);
  }
}

/* The same of all kinds and inks together, for detectors and orbits of other shapes. The names of
   places are kept, too: how many, and where. */
static void
test_more_shapes (void)
{
  static const struct {
    const char *name;
    TdBeam beam;
    guint n_rows, n_views, view;
    gboolean helix;
    double tilt_deg;
    guint n, n_labels;
    double width, places, labels;
  } cases[] = {
    { "tall cone", TD_BEAM_CONE, 150, 24, 0, FALSE, 0, 984, 9, 225.0, 40939.194, 1788.529 },
    { "tall beam", TD_BEAM_PARALLEL, 150, 24, 23, FALSE, 3, 1043, 9, 272.0, 41831.261, 224.927 },
    { "flat cone", TD_BEAM_CONE, 8, 24, 23, FALSE, 0, 984, 9, 225.0, 41176.090, 1774.099 },
    { "one row", TD_BEAM_PARALLEL, 1, 24, 0, FALSE, 0, 1043, 9, 272.0, 41820.840, 191.816 },
    { "fan", TD_BEAM_FAN, 1, 24, 7, FALSE, 0, 985, 10, 231.0, 39163.040, 1988.927 },
    { "one view", TD_BEAM_PARALLEL, 40, 1, 0, FALSE, 0, 1014, 8, 164.0, 41340.463, 177.025 },
    { "two views", TD_BEAM_PARALLEL, 40, 2, 1, FALSE, -2, 1021, 9, 184.0, 41497.822, 190.901 },
    { "helix", TD_BEAM_CONE, 40, 24, 11, TRUE, 0, 985, 10, 231.0, 39214.534, 1970.282 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autofree double *matrices = g_new (double, 12 * VIEWS);
    double width = 0, places = 0, names = 0;
    TdCamera camera;
    TdScanFacts facts;
    TdRecipe recipe;
    guint n_labels;
    init_facts (&facts, cases[i].beam);
    if (cases[i].helix)
      init_helix (&facts, matrices, 0, 1);
    facts.n_rows = cases[i].n_rows;
    facts.n_views = cases[i].n_views;
    td_recipe_init (&recipe);
    recipe.tilt_deg = cases[i].tilt_deg;
    g_autoptr (TdOrbit) orbit = td_orbit_new (&facts, &recipe);
    g_autoptr (TdSpace) space = td_orbit_space (orbit, cases[i].view);
    td_camera_init (&camera, (double[3]) { 0, 0, 0 }, 1e4); /* far: each is one piece */
    camera.yaw_rad = 0.4;
    camera.pitch_rad = 0.3;
    g_autoptr (GArray) shapes = td_space_project (space, &camera, 2e5, 2e5, 1);
    for (guint k = 0; k < shapes->len; k++) {
      const TdShape *shape = &g_array_index (shapes, TdShape, k);
      const guint n = shape->kind == TD_SHAPE_DOT ? 1 : shape->kind == TD_SHAPE_LINE ? 2 : 3;
      width += shape->width;
      for (guint c = 0; c < n; c++)
        places += hypot (shape->x[c] - 9e4, shape->y[c] - 11e4) * 1e-3;
    }
    const TdSpaceLabel *labels = td_space_labels (space, &n_labels);
    for (guint k = 0; k < n_labels; k++)
      names += distance (labels[k].point, (double[3]) { 11, -7, 5 });
    g_test_message ("%s: %u, %u, %.1f, %.3f, %.3f", cases[i].name, shapes->len, n_labels, width,
                    places, names);
    g_assert_cmpuint (shapes->len, ==, cases[i].n);
    g_assert_cmpuint (n_labels, ==, cases[i].n_labels);
    assert_near (width, cases[i].width, 0.01);
    assert_near (places, cases[i].places, 2e-6 * places + 0.002);
    assert_near (names, cases[i].labels, 2e-6 * names + 0.002);
  }
}

/* Geometries that cannot be drawn leave an empty space, not a crash. */
static void
test_nonsense (void)
{
  TdScanFacts facts;

  init_facts (&facts, TD_BEAM_CONE);
  facts.geometry.source_axis_mm = 0;
  g_autoptr (TdOrbit) none = td_orbit_new (&facts, NULL);
  g_assert_nonnull (none->problem);
  g_autoptr (TdSpace) empty = td_orbit_space (none, 0);
  g_assert_cmpuint (count_shapes (empty), ==, 0);
  g_autoptr (GArray) list = td_orbit_facts (none);
  g_assert_cmpuint (list->len, >, 0);

  init_facts (&facts, TD_BEAM_CONE);
  facts.geometry.view_matrices = g_new0 (double, 12 * VIEWS);
  facts.geometry.n_view_matrices = VIEWS;
  g_autoptr (TdOrbit) zero = td_orbit_new (&facts, NULL);
  g_autoptr (TdSpace) space = td_orbit_space (zero, 0);
  g_assert_nonnull (zero->problem);
  g_autoptr (GArray) facts_of_zero = td_orbit_facts (zero);
  g_assert_cmpuint (facts_of_zero->len, >, 0);
  g_free (facts.geometry.view_matrices);
}

/* ── Camera ── */

static void
test_camera (void)
{
  const double origin[3] = { 0, 0, 0 };
  TdCamera camera;
  double x, y, depth, near, far;

  td_camera_init (&camera, origin, 10);
  /* From the front: x to the right, z up, +y away. */
  td_camera_project (&camera, 400, 300, (double[3]) { 5, 0, 0 }, &x, &y, &depth);
  g_assert_cmpfloat (x, >, 200);
  assert_near (y, 150, 1e-9);
  td_camera_project (&camera, 400, 300, (double[3]) { 0, 0, 5 }, &x, &y, &depth);
  g_assert_cmpfloat (y, <, 150);
  td_camera_project (&camera, 400, 300, (double[3]) { 0, -5, 0 }, &x, &y, &near);
  td_camera_project (&camera, 400, 300, (double[3]) { 0, 5, 0 }, &x, &y, &far);
  g_assert_cmpfloat (near, <, far);
  /* From the top: a slice as it is stored, y up. */
  camera.pitch_rad = G_PI / 2;
  td_camera_project (&camera, 400, 300, (double[3]) { 5, 0, 0 }, &x, &y, &depth);
  g_assert_cmpfloat (x, >, 200);
  td_camera_project (&camera, 400, 300, (double[3]) { 0, 5, 0 }, &x, &y, &depth);
  g_assert_cmpfloat (y, <, 150);
  td_camera_project (&camera, 400, 300, (double[3]) { 0, 0, 5 }, &x, &y, &near);
  td_camera_project (&camera, 400, 300, (double[3]) { 0, 0, -5 }, &x, &y, &far);
  g_assert_cmpfloat (near, <, far);
}

/* A ray through a place of the picture meets what is drawn there, wherever the camera stands. The
   length of its direction counts the depth. A ball fills the shorter side but for a margin. */
static void
test_camera_rays (void)
{
  for (guint i = 0; i < 100; i++) {
    const double centre[3] = { g_test_rand_double_range (-9, 9), g_test_rand_double_range (-9, 9),
                               g_test_rand_double_range (-9, 9) };
    const double width = g_test_rand_double_range (100, 900),
                 height = g_test_rand_double_range (100, 900);
    const double x = g_test_rand_double_range (0, width), y = g_test_rand_double_range (0, height);
    const double far = g_test_rand_double_range (1, 20), radius = 3;
    double eye[3], direction[3], point[3], x2, y2, depth;
    TdCamera camera;

    td_camera_init (&camera, centre, radius);
    camera.yaw_rad = g_test_rand_double_range (-4, 4);
    camera.pitch_rad = g_test_rand_double_range (-1.5, 1.5);
    camera.zoom = g_test_rand_double_range (0.5, 8);
    camera.pan_x = g_test_rand_double_range (-1, 1);
    camera.pan_y = g_test_rand_double_range (-1, 1);
    td_camera_ray (&camera, width, height, x, y, eye, direction);
    assert_near (distance (eye, centre), 5 * radius, 1e-9);
    for (guint k = 0; k < 3; k++)
      point[k] = eye[k] + far * direction[k];
    td_camera_project (&camera, width, height, point, &x2, &y2, &depth);
    assert_near (x2, x, 1e-6);
    assert_near (y2, y, 1e-6);
    assert_near (depth, far, 1e-9);

    /* The middle, and the rim as the eye sees it: a fifth of the radius before the middle. */
    const double side = MIN (width, height) * camera.zoom;
    td_camera_project (&camera, width, height, centre, &x2, &y2, &depth);
    assert_near (x2, width / 2 + camera.pan_x * side, 1e-9);
    assert_near (y2, height / 2 + camera.pan_y * side, 1e-9);
    const double right[3] = { cos (camera.yaw_rad), sin (camera.yaw_rad), 0 };
    for (guint k = 0; k < 3; k++)
      point[k] = centre[k] + (eye[k] - centre[k]) / 25 + radius * sqrt (0.96) * right[k];
    const double middle = x2;
    td_camera_project (&camera, width, height, point, &x2, &y2, &depth);
    assert_near (x2 - middle, side / 2 / 1.06, 1e-6);
  }
}

/* ── What lies in space ── */

/* Whether one of the lines goes from @a to @b. */
static gboolean
has_line (const GArray *shapes, const TdCamera *camera, const double a[3], const double b[3])
{
  double x[2], y[2], depth;

  td_camera_project (camera, 400, 300, a, &x[0], &y[0], &depth);
  td_camera_project (camera, 400, 300, b, &x[1], &y[1], &depth);
  for (guint i = 0; i < shapes->len; i++) {
    const TdShape *shape = &g_array_index (shapes, TdShape, i);
    if (shape->kind == TD_SHAPE_LINE && fabs (shape->x[0] - x[0]) < 1e-3
        && fabs (shape->y[0] - y[0]) < 1e-3 && fabs (shape->x[1] - x[1]) < 1e-3
        && fabs (shape->y[1] - y[1]) < 1e-3)
      return TRUE;
  }
  return FALSE;
}

/* A long line is pieces that follow each other, a sixteenth of the radius long or less. */
static void
test_lines (void)
{
  static const struct {
    double length;
    guint pieces;
  } lines[] = { { 0, 1 }, { 0.9, 1 }, { 1.1, 2 }, { 4.9, 5 }, { 63.5, 64 }, { 200, 64 } };
  const double origin[3] = { 0, 0, 0 }, from[3] = { 1, -2, 3 };
  const TdInk ink = { { 1, 0.5, 0, 1 } };
  TdCamera camera;

  td_camera_init (&camera, origin, 16);
  camera.yaw_rad = 0.4;
  camera.pitch_rad = 0.3;
  for (guint i = 0; i < G_N_ELEMENTS (lines); i++) {
    const double along[3]
        = { lines[i].length * 2 / 3, -lines[i].length / 3, lines[i].length * 2 / 3 };
    const double end[3] = { from[0] + along[0], from[1] + along[1], from[2] + along[2] };
    const guint n = lines[i].pieces;
    g_autoptr (TdSpace) space = td_space_new ();
    td_space_line (space, from, end, ink, 3);
    g_autoptr (GArray) shapes = td_space_project (space, &camera, 400, 300, 1.5);
    g_assert_cmpuint (shapes->len, ==, n);
    for (guint k = 0; k < n; k++) {
      double a[3], b[3];
      for (guint d = 0; d < 3; d++) {
        a[d] = from[d] + along[d] * k / n;
        b[d] = from[d] + along[d] * (k + 1) / n;
      }
      g_assert_true (has_line (shapes, &camera, a, b));
      g_assert_cmpfloat (g_array_index (shapes, TdShape, k).width, ==, 4.5);
      g_assert_cmpfloat (g_array_index (shapes, TdShape, k).ink.rgba[1], ==, 0.5);
    }
  }
}

/* An arrow's head has four barbs, two across each other; one without a length has none. */
static void
test_arrows (void)
{
  static const struct {
    double along[3], side[3], other[3]; /* of one length, square to each other */
  } arrows[] = {
    { { 8, 0, 0 }, { 0, 0, 8 }, { 0, 8, 0 } },
    { { 0, 8, 0 }, { 0, 0, 8 }, { 8, 0, 0 } },
    { { 0, 0, -8 }, { 0, 8, 0 }, { 8, 0, 0 } },
    { { 6, 3, 2 },
      { 3.1304951684997, -6.2609903369995, 0 },
      { 1.7888543819998, 0.8944271909999, -6.7082039324994 } },
  };
  const double centre[3] = { 0, 0, 0 }, from[3] = { 1, -2, 3 };
  const TdInk ink = { { 1, 1, 1, 1 } };
  TdCamera camera;

  td_camera_init (&camera, centre, 1000);
  camera.zoom = 100;
  camera.yaw_rad = 0.4;
  camera.pitch_rad = 0.3;
  for (guint i = 0; i < G_N_ELEMENTS (arrows); i++) {
    double to[3];
    g_autoptr (TdSpace) space = td_space_new ();

    for (guint k = 0; k < 3; k++)
      to[k] = from[k] + arrows[i].along[k];
    td_space_arrow (space, from, to, ink, 1, 0.25);
    g_autoptr (GArray) shapes = td_space_project (space, &camera, 400, 300, 1);
    g_assert_cmpuint (shapes->len, ==, 5);
    g_assert_true (has_line (shapes, &camera, from, to));
    for (guint barb = 0; barb < 4; barb++) {
      const double *out = barb < 2 ? arrows[i].side : arrows[i].other;
      double end[3];
      for (guint k = 0; k < 3; k++)
        end[k] = to[k] - 0.25 * arrows[i].along[k] + (barb % 2 ? -0.125 : 0.125) * out[k];
      g_assert_true (has_line (shapes, &camera, to, end));
    }
  }
  g_autoptr (TdSpace) none = td_space_new ();
  td_space_arrow (none, from, from, ink, 1, 0.25);
  g_autoptr (GArray) shapes = td_space_project (none, &camera, 400, 300, 1);
  g_assert_cmpuint (shapes->len, ==, 1);
}

/* A face is small triangles that cover it once. What is drawn on it lies over it, and all comes
   from far to near. */
static void
test_faces (void)
{
  const double centre[3] = { 0, 0, 0 };
  const double corners[4][3] = { { -4, 0, -3 }, { 4, 0, -3 }, { 5, 0, 3 }, { -4, 0, 2 } };
  const TdInk ink = { { 1, 1, 1, 1 } };
  double area = 0, whole = 0, x[4], y[4], depth, last = INFINITY;
  guint kinds[3] = { 0 };
  TdCamera camera;

  td_camera_init (&camera, centre, 100);
  g_autoptr (TdSpace) space = td_space_new ();
  td_space_dot (space, centre, ink, 4);
  td_space_line (space, corners[0], corners[1], ink, 2);
  td_space_quad (space, corners, ink);
  td_space_label (space, corners[2], "here", ink);
  g_autoptr (GArray) shapes = td_space_project (space, &camera, 400, 300, 2);
  for (guint i = 0; i < shapes->len; i++) {
    const TdShape *s = &g_array_index (shapes, TdShape, i);
    g_assert_cmpfloat (s->depth, <=, last);
    last = s->depth;
    kinds[s->kind]++;
    if (s->kind == TD_SHAPE_TRIANGLE)
      area += fabs ((s->x[1] - s->x[0]) * (s->y[2] - s->y[0])
                    - (s->x[2] - s->x[0]) * (s->y[1] - s->y[0]))
              / 2;
  }
  for (guint k = 0; k < 4; k++)
    td_camera_project (&camera, 400, 300, corners[k], &x[k], &y[k], &depth);
  for (guint k = 0; k < 4; k++)
    whole += (x[k] * y[(k + 1) % 4] - x[(k + 1) % 4] * y[k]) / 2;
  g_assert_cmpfloat_with_epsilon (area, fabs (whole), 1e-3 * fabs (whole));
  g_assert_true (kinds[TD_SHAPE_TRIANGLE] == 128 && kinds[TD_SHAPE_LINE] == 2
                 && kinds[TD_SHAPE_DOT] == 1);
  for (guint i = 0; i < 3; i++) /* the face has one depth: then the line, and the dot */
    g_assert_cmpint (g_array_index (shapes, TdShape, 128 + i).kind, ==,
                     i < 2 ? TD_SHAPE_LINE : TD_SHAPE_DOT);
  g_assert_cmpfloat (g_array_index (shapes, TdShape, 130).width, ==, 8);
  guint n;
  const TdSpaceLabel *labels = td_space_labels (space, &n);
  g_assert_cmpuint (n, ==, 1);
  g_assert_cmpstr (labels->text, ==, "here");
  g_assert_cmpmem (labels->point, sizeof labels->point, corners[2], sizeof corners[2]);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/orbit/lines", test_lines);
  g_test_add_func ("/orbit/arrows", test_arrows);
  g_test_add_func ("/orbit/faces", test_faces);
  g_test_add_func ("/orbit/cone", test_cone);
  g_test_add_func ("/orbit/matrices", test_matrices);
  g_test_add_func ("/orbit/direction", test_direction);
  g_test_add_func ("/orbit/parallel", test_parallel);
  g_test_add_func ("/orbit/wide-field", test_wide_field);
  g_test_add_func ("/orbit/centre", test_centre);
  g_test_add_func ("/orbit/facts", test_facts);
  g_test_add_func ("/orbit/all-facts", test_all_facts);
  g_test_add_func ("/orbit/names", test_names);
  g_test_add_func ("/orbit/shapes", test_shapes);
  g_test_add_func ("/orbit/more-shapes", test_more_shapes);
  g_test_add_func ("/orbit/nonsense", test_nonsense);
  g_test_add_func ("/orbit/camera", test_camera);
  g_test_add_func ("/orbit/camera-rays", test_camera_rays);
  return g_test_run ();
}
