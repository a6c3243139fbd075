/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Volumes seen from outside, by the processor: where voxels appear, and what rays add up to. */
#include <math.h>

#include "render/gl.h"
#include "render/voxels.h"

#define SIDE 160u
#define NX 20u
#define NY 14u
#define NZ 24u

static const guint n[3] = { NX, NY, NZ };
static const double size[3] = { 20, 28, 24 }; /* voxels are twice as long along y */

static TdCast
plain_cast (TdCastKind kind)
{
  return (TdCast) { .kind = kind,
                    .map = TD_COLOUR_GREY,
                    .low = 0,
                    .high = 1,
                    .opacity = 2,
                    .clip = { { 0, 1 }, { 0, 1 }, { 0, 1 } } };
}

static TdCamera
camera_from (double yaw_rad, double pitch_rad)
{
  TdCamera camera;

  td_camera_init (&camera, (double[3]) { 0 }, 0.5 * sqrt (20 * 20 + 28 * 28 + 24 * 24));
  camera.yaw_rad = yaw_rad;
  camera.pitch_rad = pitch_rad;
  return camera;
}

static guint8 *
cast_picture (const float *values, const TdCast *cast, const TdCamera *camera)
{
  g_autoptr (TdVoxels) voxels = td_voxels_new (values, n, size);
  guint8 *rgba = g_malloc (4 * SIDE * SIDE);

  g_assert_true (td_voxels_cast (voxels, cast, camera, SIDE, SIDE, NULL, rgba));
  return rgba;
}

static guint
opacity_at (const guint8 *rgba, double x, double y)
{
  return rgba[4 * ((guint) floor (y) * SIDE + (guint) floor (x)) + 3];
}

/* Where the middle of voxel (i, j, k) appears. */
static void
place_voxel (const TdCamera *camera, const guint at[3], double *x, double *y)
{
  static const double sign[3] = { 1, -1, -1 };
  double point[3], depth;

  for (guint c = 0; c < 3; c++)
    point[c] = sign[c] * ((at[c] + 0.5) / n[c] - 0.5) * size[c];
  td_camera_project (camera, SIDE, SIDE, point, x, y, &depth);
}

/* One bright voxel is brightest where the camera says that it lies, from whichever side. */
static void
test_place (void)
{
  static const guint places[][3] = { { 3, 2, 20 }, { 16, 11, 4 }, { 10, 1, 1 }, { 1, 12, 12 } };

  for (guint p = 0; p < G_N_ELEMENTS (places); p++) {
    g_autofree float *values = g_new0 (float, NX *NY *NZ);
    const TdCamera camera = camera_from (0.4 + 1.3 * p, -0.7 + 0.4 * p);
    const TdCast cast = plain_cast (TD_CAST_MAXIMUM);
    double x, y, sum = 0, column = 0, row = 0;
    guint most = 0;

    values[(places[p][2] * NY + places[p][1]) * NX + places[p][0]] = 1;
    g_autofree guint8 *rgba = cast_picture (values, &cast, &camera);
    for (guint i = 0; i < SIDE * SIDE; i++) {
      const double weight = rgba[4 * i + 3] > 60 ? rgba[4 * i + 3] : 0;
      sum += weight;
      column += weight * (i % SIDE + 0.5);
      row += weight * (i / SIDE + 0.5);
      most = MAX (most, rgba[4 * i + 3]);
    }
    place_voxel (&camera, places[p], &x, &y);
    g_test_message ("%u: (%.1f, %.1f), brightest %u about (%.1f, %.1f)", p, x, y, most,
                    column / sum, row / sum);
    g_assert_cmpfloat (sum, >, 0);
    g_assert_cmpfloat (hypot (column / sum - x, row / sum - y), <, 1.2);
    g_assert_cmpuint (most, >, 100); /* rays pass beside its middle */
  }
}

/* A projection of the largest values is the array's: along y, through what does not change there.
 */
static void
test_maximum (void)
{
  g_autofree float *values = g_new (float, NX *NY *NZ);
  const TdCamera camera = camera_from (0, 0);
  TdCast cast = plain_cast (TD_CAST_MAXIMUM);

  for (guint k = 0; k < NZ; k++)
    for (guint j = 0; j < NY; j++)
      for (guint i = 0; i < NX; i++)
        values[(k * NY + j) * NX + i] = (float) (0.2 + 0.6 * i / (NX - 1) * k / (NZ - 1))
                                        + (i == 0 && k == 0 ? -0.2f : 0)
                                        + (i == NX - 1 && k == NZ - 1 ? 0.2f : 0);
  cast.clip[1][0] = 0.48; /* rays diverge: a thin part has one value on each */
  cast.clip[1][1] = 0.52;
  g_autofree guint8 *rgba = cast_picture (values, &cast, &camera);
  for (guint k = 2; k < NZ - 2; k++)
    for (guint i = 2; i < NX - 2; i++) {
      double x, y;
      float most = 0;
      for (guint j = 0; j < NY; j++)
        most = fmaxf (most, values[(k * NY + j) * NX + i]);
      place_voxel (&camera, (guint[3]) { i, NY / 2, k }, &x, &y);
      g_assert_cmpint (abs ((int) opacity_at (rgba, x, y) - (int) (255 * most)), <=, 6);
    }
}

/* The eight values around a place, each by how near it is. */
static double
between_voxels (const float *values, const guint counts[3], const double at[3])
{
  double sum = 0;

  for (guint corner = 0; corner < 8; corner++) {
    double weight = 1;
    guint index[3];
    for (guint k = 0; k < 3; k++) {
      const double p = at[k] * counts[k] - 0.5, part = p - floor (p);
      const gboolean next = corner >> k & 1;
      weight *= next ? part : 1 - part;
      index[k] = (guint) CLAMP (floor (p) + next, 0, counts[k] - 1.0);
    }
    sum += weight * values[(index[2] * counts[1] + index[1]) * counts[0] + index[0]];
  }
  return sum;
}

/* Thin layers across each direction show what lies between the voxels' middles, and outside. */
static void
test_between (void)
{
  enum { LAYERS = 3, PLACES = 60 };
  static const guint counts[3] = { 3, 4, 2 };
  static const double depths[LAYERS] = { 0.1, 0.36, 0.55 }, sign[3] = { 1, -1, -1 };
  static const double views[3][2] = { { 1.2, 0.4 }, { -0.3, -0.4 }, { 0.7, 1.1 } };
  g_autoptr (GRand) random = g_rand_new_with_seed (5);
  float values[24];

  for (guint i = 0; i < 24; i++)
    values[i] = i < 2 ? (float) i : (float) g_rand_double (random);
  g_autoptr (TdVoxels) voxels = td_voxels_new (values, counts, size);
  g_autofree guint8 *rgba = g_malloc (4 * SIDE * SIDE);
  for (guint across = 0; across < 3; across++)
    for (guint layer = 0; layer < LAYERS; layer++) {
      const TdCamera camera = camera_from (views[across][0], views[across][1]);
      TdCast cast = plain_cast (TD_CAST_AVERAGE);
      cast.clip[across][0] = depths[layer] - 0.002;
      cast.clip[across][1] = depths[layer] + 0.002;
      g_assert_true (td_voxels_cast (voxels, &cast, &camera, SIDE, SIDE, NULL, rgba));
      for (guint i = 0; i < PLACES; i++) {
        double at[3], point[3], x, y, depth;
        for (guint k = 0; k < 3; k++) {
          at[k] = k == across ? depths[layer] : g_rand_double_range (random, 0.05, 0.95);
          point[k] = sign[k] * (at[k] - 0.5) * size[k];
        }
        td_camera_project (&camera, SIDE, SIDE, point, &x, &y, &depth);
        const double expected = 255 * between_voxels (values, counts, at);
        g_assert_cmpfloat_with_epsilon (opacity_at (rgba, x, y), expected, 14);
      }
    }
}

/* Closed forms through the middle of one value: what is absorbed, the mean, what is cut away. */
static void
test_rays (void)
{
  g_autofree float *values = g_new (float, NX *NY *NZ);
  const TdCamera camera = camera_from (0, 0);
  TdCast composite = plain_cast (TD_CAST_COMPOSITE), average = plain_cast (TD_CAST_AVERAGE);

  for (guint i = 0; i < NX * NY * NZ; i++)
    values[i] = 0.5f;
  values[0] = 0;
  values[NX * NY * NZ - 1] = 1; /* the range of values, in two corners */
  g_autofree guint8 *absorbed = cast_picture (values, &composite, &camera);
  /* As far as the longest side, whose extinction is 2 at the value 1. */
  g_assert_cmpint (
      abs ((int) opacity_at (absorbed, SIDE / 2, SIDE / 2) - (int) (255 * (1 - exp (-1)))), <=, 2);
  g_autofree guint8 *mean = cast_picture (values, &average, &camera);
  g_assert_cmpint (abs ((int) opacity_at (mean, SIDE / 2, SIDE / 2) - 127), <=, 2);
  g_assert_cmpuint (opacity_at (mean, 1, 1), ==, 0);
  average.clip[0][0] = 0.5;
  g_autofree guint8 *cut = cast_picture (values, &average, &camera);
  g_assert_cmpuint (opacity_at (cut, SIDE / 2 - 8, SIDE / 2), ==, 0);
  g_assert_cmpint (abs ((int) opacity_at (cut, SIDE / 2 + 8, SIDE / 2) - 127), <=, 2);
  composite.peak = 0.5; /* all that there is, and then half of it */
  g_autofree guint8 *peak = cast_picture (values, &composite, &camera);
  g_assert_cmpint (abs ((int) opacity_at (peak, SIDE / 2, SIDE / 2) - (int) (255 * (1 - exp (-2)))),
                   <=, 2);
  composite.high = 2.0 / 3;
  g_autofree guint8 *beyond = cast_picture (values, &composite, &camera);
  g_assert_cmpint (
      abs ((int) opacity_at (beyond, SIDE / 2, SIDE / 2) - (int) (255 * (1 - exp (-1)))), <=, 2);
  composite.high = 0.5; /* what is at the upper end, or beyond it, is not seen */
  g_autofree guint8 *none = cast_picture (values, &composite, &camera);
  g_assert_cmpuint (opacity_at (none, SIDE / 2, SIDE / 2), ==, 0);
  composite.high = composite.peak = 1;
  composite.clip[1][0] = 0.75;
  g_autofree guint8 *quarter = cast_picture (values, &composite, &camera);
  g_assert_cmpint (
      abs ((int) opacity_at (quarter, SIDE / 2, SIDE / 2) - (int) (255 * (1 - exp (-0.25)))), <=,
      2);
}

/* What is not finite is the least, and a cancelled picture is none. */
static void
test_bad (void)
{
  g_autofree float *values = g_new (float, NX *NY *NZ);
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  const TdCast cast = plain_cast (TD_CAST_AVERAGE);
  const TdCamera camera = camera_from (1, 1);
  g_autofree guint8 *rgba = g_malloc (4 * SIDE * SIDE);

  for (guint i = 0; i < NX * NY * NZ; i++)
    values[i] = i % 3 ? NAN : INFINITY;
  g_autoptr (TdVoxels) voxels = td_voxels_new (values, n, size);
  g_assert_true (td_voxels_cast (voxels, &cast, &camera, SIDE, SIDE, NULL, rgba));
  g_assert_cmpuint (opacity_at (rgba, SIDE / 2, SIDE / 2), ==, 0);
  g_cancellable_cancel (cancellable);
  g_assert_false (td_voxels_cast (voxels, &cast, &camera, SIDE, SIDE, cancellable, rgba));
}

/* A volume of one value, however great, is drawn as that value, and one of all floats as they lie.
 */
static void
test_wide (void)
{
  g_autofree float *values = g_new (float, NX *NY *NZ);
  TdCast cast = plain_cast (TD_CAST_AVERAGE);
  const TdCamera camera = camera_from (1, 1);

  for (guint i = 0; i < NX * NY * NZ; i++)
    values[i] = 3e7f;
  cast.low = 2e7;
  cast.high = 4e7;
  g_autofree guint8 *flat = cast_picture (values, &cast, &camera);
  g_assert_cmpuint (opacity_at (flat, SIDE / 2, SIDE / 2), ==, 128);
  for (guint i = 0; i < NX * NY * NZ; i++)
    values[i] = i == 0 ? -G_MAXFLOAT : i == 1 ? G_MAXFLOAT : 0;
  cast.low = -G_MAXFLOAT;
  cast.high = G_MAXFLOAT;
  g_autofree guint8 *wide = cast_picture (values, &cast, &camera);
  g_assert_cmpuint (opacity_at (wide, SIDE / 2, SIDE / 2), ==, 128);
}

static guint most_held;

static gboolean
holds (guint side)
{
  return side <= most_held;
}

/* A card shows as much as its textures and its memory hold; the processor what it can turn. */
static void
test_side (void)
{
  most_held = 4096;
  g_assert_cmpuint (td_gl_volume_side_of (FALSE, 16384, holds), ==, TD_GL_CARD_SIDE);
  g_assert_cmpuint (td_gl_volume_side_of (FALSE, 400, holds), ==, 384);
  g_assert_cmpuint (td_gl_volume_side_of (TRUE, 16384, holds), ==, TD_GL_SOFTWARE_SIDE);
  most_held = 300;
  g_assert_cmpuint (td_gl_volume_side_of (FALSE, 16384, holds), ==, 256);
  most_held = 0;
  g_assert_cmpuint (td_gl_volume_side_of (FALSE, 16384, holds), ==, TD_GL_SOFTWARE_SIDE);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/voxels/place", test_place);
  g_test_add_func ("/voxels/maximum", test_maximum);
  g_test_add_func ("/voxels/between", test_between);
  g_test_add_func ("/voxels/rays", test_rays);
  g_test_add_func ("/voxels/bad", test_bad);
  g_test_add_func ("/voxels/wide", test_wide);
  g_test_add_func ("/voxels/side", test_side);
  return g_test_run ();
}
