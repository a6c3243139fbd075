/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Line integrals of the phantoms agree with sums along the ray, with known lengths and with the
 * mass. */
#include <math.h>
#include <string.h>

#include "dataset/error.h"
#include "dataset/phantom.h"
#include "tests/common/pins.h"

/* The sum of the shapes that a point lies in. */
static double
value_at (const TdPhantom *phantom, const double point[3])
{
  double sum = 0;

  for (guint i = 0; i < phantom->n_shapes; i++) {
    const TdShape *shape = &phantom->shapes[i];
    const double c = cos (shape->angle_rad), s = sin (shape->angle_rad);
    const double dx = point[0] - shape->centre[0], dy = point[1] - shape->centre[1];
    const double u = (dx * c + dy * s) / shape->half[0], v = (dy * c - dx * s) / shape->half[1];
    const double w = (point[2] - shape->centre[2]) / shape->half[2];
    const gboolean inside = shape->kind == TD_SHAPE_ELLIPSOID ? u * u + v * v + w * w <= 1
                            : shape->kind == TD_SHAPE_BOX
                                ? fabs (u) <= 1 && fabs (v) <= 1 && fabs (w) <= 1
                                : u * u + v * v <= 1 && fabs (w) <= 1;
    sum += inside ? shape->value : 0;
  }
  return sum;
}

/* The integral from @a to @b by sampling the object: slow, and shares nothing with the formulas. */
static double
sampled_integral (const TdPhantom *phantom, const double a[3], const double b[3])
{
  const guint n = 20000;
  double sum = 0, length = 0;

  for (guint k = 0; k < 3; k++)
    length += (b[k] - a[k]) * (b[k] - a[k]);
  for (guint i = 0; i < n; i++) {
    double t = (i + 0.5) / n;
    const double point[3]
        = { a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1]), a[2] + t * (b[2] - a[2]) };
    sum += value_at (phantom, point);
  }
  return sum / n * sqrt (length);
}

static void
test_parallel (gconstpointer name)
{
  const TdPhantom *phantom = td_phantom_find (name, NULL);
  const guint n_columns = 61, n_rows = 40;
  const double centre = 27.3, unit = n_columns / 2.0;
  float row[61];

  for (guint v = 3; v < n_rows; v += 9) {
    double angle = 0.3 + 0.7 * v, z = ((n_rows - 1) / 2.0 - v) / unit;
    td_phantom_project_line (phantom, n_columns / 2.0, (n_rows - 1) / 2.0 - v, n_columns, angle,
                             centre, row);
    for (guint u = 0; u < n_columns; u += 4) {
      double s = (u - centre) / unit, c = cos (angle), d = sin (angle);
      double from[3] = { s * c + 2 * d, s * d - 2 * c, z },
             to[3] = { s * c - 2 * d, s * d + 2 * c, z };
      double truth = sampled_integral (phantom, from, to) * unit;
      g_assert_cmpfloat (fabs (row[u] - truth), <, 0.01 * unit * 0.1);
      g_assert_cmpfloat_with_epsilon (td_phantom_parallel_ray (phantom, angle, s, z) * unit, row[u],
                                      1e-4);
    }
  }
}

static void
test_cone (gconstpointer name)
{
  const TdPhantom *phantom = td_phantom_find (name, NULL);
  GRand *random = g_rand_new_with_seed (7);

  for (guint i = 0; i < 60; i++) {
    double from[3]
        = { g_rand_double_range (random, -3, 3), -4, g_rand_double_range (random, -1, 1) };
    double to[3] = { g_rand_double_range (random, -1, 1), 3, g_rand_double_range (random, -1, 1) };
    g_assert_cmpfloat (
        fabs (td_phantom_ray (phantom, from, to) - sampled_integral (phantom, from, to)), <, 4e-3);
  }
  g_rand_free (random);
}

/* A ray along one axis through the middle of the sphere, and one that ends inside it. */
static void
test_known_lengths (void)
{
  const TdPhantom *sphere = td_phantom_find ("sphere", NULL);
  const TdPhantom *disc = td_phantom_find ("disc", NULL);
  const double left[3] = { -5, 0, 0 }, right[3] = { 5, 0, 0 }, middle[3] = { 0, 0, 0 };
  const double below[3] = { 0.1, 0.1, -3 }, above[3] = { 0.1, 0.1, 3 };
  float row[101];

  g_assert_cmpfloat_with_epsilon (td_phantom_ray (sphere, left, right), 1.4, 1e-12);
  g_assert_cmpfloat_with_epsilon (td_phantom_ray (sphere, left, middle), 0.7, 1e-12);
  g_assert_cmpfloat_with_epsilon (td_phantom_ray (disc, below, above), 6, 1e-12);
  td_phantom_project_line (disc, 50.5, 0, 101, 1.1, 50, row);
  g_assert_cmpfloat_with_epsilon (row[50], 1.6 * 50.5, 1e-4);
}

/* Column u sees x cos + y sin; a point above the middle (y > 0) lies in an upper image row. */
static void
test_orientation (void)
{
  TdShape shape = { TD_SHAPE_ELLIPSOID, 1, { 0.5, 0.25, 0 }, { 0.05, 0.05, 0.05 }, 0 };
  TdPhantom phantom = { NULL, &shape, 1 };
  float row[81], slice[81 * 81];

  td_phantom_project_line (&phantom, 40.5, 0, 81, 0, 40, row);
  g_assert_cmpfloat (row[60], >, 1); /* 40 + 0.5 * 40.5 */
  td_phantom_project_line (&phantom, 40.5, 0, 81, G_PI / 2, 40, row);
  g_assert_cmpfloat (row[50], >, 1);
  td_phantom_slice_at (&phantom, 81, 81, 40.5, 0, 3, slice);
  g_assert_cmpfloat (slice[30 * 81 + 60], ==, 1);
  g_assert_cmpfloat (slice[50 * 81 + 60], ==, 0);
}

/* The slice and the projections hold the same mass, at every angle. */
static void
test_mass (gconstpointer name)
{
  const TdPhantom *phantom = td_phantom_find (name, NULL);
  const guint n = 120;
  g_autofree float *slice = g_new (float, n *n);
  g_autofree float *row = g_new (float, n);
  double mass = 0;

  td_phantom_slice_at (phantom, n, n, n / 2.0, 0, 8, slice);
  for (guint i = 0; i < n * n; i++)
    mass += slice[i];
  for (guint v = 0; v < 7; v++) {
    double sum = 0;
    td_phantom_project_line (phantom, n / 2.0, 0, n, v * 0.43, (n - 1) / 2.0, row);
    for (guint u = 0; u < n; u++)
      sum += row[u];
    g_assert_cmpfloat (fabs (sum - mass), <, 0.003 * n * n / 4 * 0.5 + 0.01 * mass);
  }
}

/* What the phantoms are: their slices at some heights. */
static void
test_kept (gconstpointer name)
{
  static const double heights[] = { -0.55, -0.2, 0, 0.1, 0.24, 0.6 };
  const TdPhantom *phantom = td_phantom_find (name, NULL);
  enum { N = 40 };
  g_autofree float *slice = g_new (float, N *N);

  for (guint i = 0; i < G_N_ELEMENTS (heights); i++) {
    g_autofree char *what = g_strdup_printf ("at %g", heights[i]);
    td_phantom_slice_at (phantom, N, N, N / 2.0, heights[i], 3, slice);
    td_test_pin_values (what, slice, N * N);
  }
}

static void
test_unknown (void)
{
  g_autoptr (GError) error = NULL;

  g_assert_null (td_phantom_find ("teapot", &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_INVALID);
  td_test_pin_refused (error);
  g_assert_nonnull (strstr (error->message, "shepp-logan"));
}

int
main (int argc, char **argv)
{
  g_autoptr (GError) error = NULL;

  g_test_init (&argc, &argv, NULL);
  /* All that the refusal of another name lists. */
  g_assert_null (td_phantom_find ("", &error));
  const char *listed = strstr (error->message, "phantoms are ");
  g_auto (GStrv) names = g_strsplit (listed + strlen ("phantoms are "), ", ", -1);
  g_assert_cmpuint (g_strv_length (names), >=, 7);
  for (char **name = names; *name; name++) {
    g_autofree char *parallel = g_strconcat ("/phantom/parallel/", *name, NULL);
    g_autofree char *cone = g_strconcat ("/phantom/cone/", *name, NULL);
    g_autofree char *mass = g_strconcat ("/phantom/mass/", *name, NULL);
    g_test_add_data_func (parallel, *name, test_parallel);
    g_test_add_data_func (cone, *name, test_cone);
    g_test_add_data_func (mass, *name, test_mass);
    g_autofree char *kept = g_strconcat ("/phantom/kept/", *name, NULL);
    g_test_add_data_func (kept, *name, test_kept);
  }
  g_test_add_func ("/phantom/known-lengths", test_known_lengths);
  g_test_add_func ("/phantom/orientation", test_orientation);
  g_test_add_func ("/phantom/unknown", test_unknown);
  return g_test_run ();
}
