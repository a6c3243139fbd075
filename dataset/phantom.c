/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "phantom.h"

#include <math.h>

#include "error.h"

#define DEGREES(a) ((a) *G_PI / 180)
#define ELLIPSOID(v, x, y, z, a, b, c, deg)                                                        \
  {                                                                                                \
    TD_SHAPE_ELLIPSOID, (v), { (x), (y), (z) }, { (a), (b), (c) }, DEGREES (deg)                   \
  }
#define CYLINDER(v, x, y, a, b, deg)                                                               \
  {                                                                                                \
    TD_SHAPE_CYLINDER, (v), { (x), (y), 0 }, { (a), (b), INFINITY }, DEGREES (deg)                 \
  }
#define BOX(v, x, y, z, a, b, c, deg)                                                              \
  {                                                                                                \
    TD_SHAPE_BOX, (v), { (x), (y), (z) }, { (a), (b), (c) }, DEGREES (deg)                         \
  }

/* Toft's contrast (The Radon Transform, 1996, table B.3). */
static const TdShape shepp_logan[] = {
  ELLIPSOID (1.0, 0, 0, 0, 0.69, 0.92, 0.81, 0),
  ELLIPSOID (-0.8, 0, -0.0184, 0, 0.6624, 0.874, 0.78, 0),
  ELLIPSOID (-0.2, 0.22, 0, 0, 0.11, 0.31, 0.22, -18),
  ELLIPSOID (-0.2, -0.22, 0, 0, 0.16, 0.41, 0.28, 18),
  ELLIPSOID (0.1, 0, 0.35, 0, 0.21, 0.25, 0.41, 0),
  ELLIPSOID (0.1, 0, 0.1, 0, 0.046, 0.046, 0.05, 0),
  ELLIPSOID (0.1, 0, -0.1, 0, 0.046, 0.046, 0.05, 0),
  ELLIPSOID (0.1, -0.08, -0.605, 0, 0.046, 0.023, 0.05, 0),
  ELLIPSOID (0.1, 0, -0.606, 0, 0.023, 0.023, 0.02, 0),
  ELLIPSOID (0.1, 0.06, -0.605, 0, 0.023, 0.046, 0.02, 0),
};

static const TdShape disc[] = { CYLINDER (1, 0, 0, 0.8, 0.8, 0) };

/* No two the same, nothing symmetric: a mirrored or turned slice shows at once. */
static const TdShape discs[] = {
  CYLINDER (0.4, 0, 0, 0.9, 0.9, 0),         CYLINDER (0.6, 0.45, 0.3, 0.25, 0.25, 0),
  CYLINDER (0.3, -0.4, 0.45, 0.15, 0.15, 0), CYLINDER (-0.4, -0.35, -0.3, 0.3, 0.3, 0),
  CYLINDER (0.8, 0.3, -0.5, 0.08, 0.08, 0),  CYLINDER (0.5, 0.1, 0.75, 0.04, 0.04, 0),
};

static const TdShape sphere[] = { ELLIPSOID (1, 0, 0, 0, 0.7, 0.7, 0.7, 0) };

static const TdShape ellipsoids[] = {
  ELLIPSOID (0.3, 0, 0, 0, 0.85, 0.75, 0.8, 20),
  ELLIPSOID (0.7, 0.3, 0.2, 0.15, 0.3, 0.15, 0.25, 35),
  ELLIPSOID (0.5, -0.35, 0.25, -0.2, 0.12, 0.3, 0.2, -15),
  ELLIPSOID (-0.3, -0.1, -0.35, 0.05, 0.35, 0.12, 0.4, 60),
  ELLIPSOID (0.9, 0.4, -0.35, -0.3, 0.06, 0.1, 0.08, 0),
};

static const TdShape points[] = {
  ELLIPSOID (1, 0, 0, 0, 0.02, 0.02, 0.02, 0),
  ELLIPSOID (1, 0.6, 0, 0.1, 0.02, 0.02, 0.02, 0),
  ELLIPSOID (1, 0, 0.4, 0.2, 0.02, 0.02, 0.02, 0),
  ELLIPSOID (1, -0.5, 0.5, -0.1, 0.02, 0.02, 0.02, 0),
  ELLIPSOID (1, 0.25, -0.7, -0.2, 0.02, 0.02, 0.02, 0),
  ELLIPSOID (1, -0.8, -0.2, 0, 0.02, 0.02, 0.02, 0),
};

static const TdShape boxes[] = {
  BOX (0.4, 0, 0, 0, 0.6, 0.55, 0.7, 0),
  BOX (0.6, 0.2, 0.2, 0.1, 0.2, 0.1, 0.3, 30),
  BOX (-0.4, -0.25, -0.1, -0.1, 0.1, 0.25, 0.2, -10),
  BOX (1, 0.3, -0.35, 0.2, 0.1, 0.05, 0.1, 75),
};

static const TdPhantom phantoms[] = {
  { "shepp-logan", shepp_logan, G_N_ELEMENTS (shepp_logan) },
  { "disc", disc, G_N_ELEMENTS (disc) },
  { "discs", discs, G_N_ELEMENTS (discs) },
  { "sphere", sphere, G_N_ELEMENTS (sphere) },
  { "ellipsoids", ellipsoids, G_N_ELEMENTS (ellipsoids) },
  { "points", points, G_N_ELEMENTS (points) },
  { "boxes", boxes, G_N_ELEMENTS (boxes) },
};

const TdPhantom *
td_phantom_find (const char *name, GError **error)
{
  for (guint i = 0; i < G_N_ELEMENTS (phantoms); i++)
    if (g_strcmp0 (phantoms[i].name, name) == 0)
      return &phantoms[i];

  g_autoptr (GString) names = g_string_new (phantoms[0].name);
  for (guint i = 1; i < G_N_ELEMENTS (phantoms); i++)
    g_string_append_printf (names, ", %s", phantoms[i].name);
  return td_set_error_null (error, TD_ERROR_INVALID,
                            "There is no phantom called “%s”; the phantoms are %s",
                            name ? name : "", names->str);
}

/* ── Line integrals and slices ── */

/* A shape cut at one height: an ellipse or a rectangle with half axes a, b. */
typedef struct {
  gboolean rectangle;
  double value, x, y, a, b, angle;
  double cosine, sine; /* of the angle, for slices */
} Section;

static gboolean
section_at (const TdShape *shape, double z, Section *section)
{
  double h = isinf (shape->half[2]) ? 0 : (z - shape->centre[2]) / shape->half[2];
  double shrink = 1;

  if (fabs (h) > 1)
    return FALSE;
  if (shape->kind == TD_SHAPE_ELLIPSOID)
    shrink = sqrt (1 - h * h);
  *section = (Section) {
    .rectangle = shape->kind == TD_SHAPE_BOX,
    .value = shape->value,
    .x = shape->centre[0],
    .y = shape->centre[1],
    .a = shape->half[0] * shrink,
    .b = shape->half[1] * shrink,
    .angle = shape->angle_rad,
  };
  return section->a > 0 && section->b > 0;
}

/* The profile of a section seen at an angle: centred on s0, 0 beyond +-outer. An ellipse gives
   peak * sqrt (1 - (s / outer)^2); a rectangle a trapezoid, flat up to +-inner. */
typedef struct {
  gboolean rectangle;
  double s0, outer, inner, peak;
} Profile;

/* @cosine, @sine: of @angle, which all sections share. */
static Profile
section_profile (const Section *section, double angle, double cosine, double sine)
{
  const gboolean turned = section->angle != 0; /* few are, and rays are many */
  double c = turned ? cos (angle - section->angle) : cosine;
  double s = turned ? sin (angle - section->angle) : sine;
  Profile profile = {
    .rectangle = section->rectangle,
    .s0 = section->x * cosine + section->y * sine,
  };

  if (section->rectangle) {
    profile.outer = fabs (section->a * c) + fabs (section->b * s);
    profile.inner = fabs (fabs (section->a * c) - fabs (section->b * s));
    profile.peak = 4 * section->value * section->a * section->b / (profile.outer + profile.inner);
  } else {
    profile.outer = hypot (section->a * c, section->b * s);
    profile.peak = 2 * section->value * section->a * section->b / profile.outer;
  }
  return profile;
}

static double
profile_at (const Profile *profile, double s)
{
  double d = fabs (s - profile->s0);

  if (d >= profile->outer)
    return 0;
  if (!profile->rectangle)
    return profile->peak * sqrt (1 - (d / profile->outer) * (d / profile->outer));
  if (d <= profile->inner)
    return profile->peak;
  return profile->peak * (profile->outer - d) / (profile->outer - profile->inner);
}

void
td_phantom_project_line (const TdPhantom *phantom, double unit_px, double z_px, guint n_columns,
                         double angle_rad, double centre_px, float *out)
{
  const double cosine = cos (angle_rad), sine = sin (angle_rad);

  for (guint u = 0; u < n_columns; u++)
    out[u] = 0;

  for (guint i = 0; i < phantom->n_shapes; i++) {
    Section section;
    if (!section_at (&phantom->shapes[i], z_px / unit_px, &section))
      continue;
    Profile profile = section_profile (&section, angle_rad, cosine, sine);
    double first = ceil (centre_px + (profile.s0 - profile.outer) * unit_px);
    double last = floor (centre_px + (profile.s0 + profile.outer) * unit_px);
    first = MAX (first, 0);
    last = MIN (last, (double) n_columns - 1);
    for (double u = first; u <= last; u++)
      out[(guint) u] += unit_px * profile_at (&profile, (u - centre_px) / unit_px);
  }
}

double
td_phantom_parallel_ray (const TdPhantom *phantom, double angle_rad, double s, double z)
{
  const double cosine = cos (angle_rad), sine = sin (angle_rad);
  double sum = 0;

  for (guint i = 0; i < phantom->n_shapes; i++) {
    Section section;
    if (!section_at (&phantom->shapes[i], z, &section))
      continue;
    Profile profile = section_profile (&section, angle_rad, cosine, sine);
    sum += profile_at (&profile, s);
  }
  return sum;
}

/* Narrows [t0, t1] to where |p + t d| <= 1. */
static void
clip_slab (double p, double d, double *t0, double *t1)
{
  if (d == 0) {
    if (fabs (p) > 1)
      *t1 = -INFINITY;
    return;
  }
  double near = (-copysign (1, d) - p) / d, far = (copysign (1, d) - p) / d;
  *t0 = MAX (*t0, near);
  *t1 = MIN (*t1, far);
}

/* Narrows [t0, t1] to where the point p + t d of n dimensions lies in the unit ball. */
static void
clip_ball (const double *p, const double *d, guint n, double *t0, double *t1)
{
  double a = 0, b = 0, c = -1;

  for (guint k = 0; k < n; k++) {
    a += d[k] * d[k];
    b += p[k] * d[k];
    c += p[k] * p[k];
  }
  double root = b * b - a * c;
  if (a == 0) {
    if (c > 0)
      *t1 = -INFINITY;
    return;
  }
  if (root <= 0) {
    *t1 = -INFINITY;
    return;
  }
  root = sqrt (root);
  *t0 = MAX (*t0, (-b - root) / a);
  *t1 = MIN (*t1, (-b + root) / a);
}

double
td_phantom_ray (const TdPhantom *phantom, const double source[3], const double target[3])
{
  double ray[3] = { target[0] - source[0], target[1] - source[1], target[2] - source[2] };
  double length = sqrt (ray[0] * ray[0] + ray[1] * ray[1] + ray[2] * ray[2]);
  double sum = 0;

  for (guint i = 0; i < phantom->n_shapes; i++) {
    const TdShape *shape = &phantom->shapes[i];
    double c = cos (shape->angle_rad), s = sin (shape->angle_rad);
    double x = source[0] - shape->centre[0], y = source[1] - shape->centre[1];
    /* Both in the shape's own frame, where it is the unit ball, cylinder or cube. */
    double p[3] = { (x * c + y * s) / shape->half[0], (y * c - x * s) / shape->half[1],
                    (source[2] - shape->centre[2]) / shape->half[2] };
    double d[3] = { (ray[0] * c + ray[1] * s) / shape->half[0],
                    (ray[1] * c - ray[0] * s) / shape->half[1], ray[2] / shape->half[2] };
    double t0 = 0, t1 = 1;

    if (shape->kind == TD_SHAPE_ELLIPSOID) {
      clip_ball (p, d, 3, &t0, &t1);
    } else if (shape->kind == TD_SHAPE_CYLINDER) {
      clip_ball (p, d, 2, &t0, &t1);
      clip_slab (p[2], d[2], &t0, &t1);
    } else {
      for (guint k = 0; k < 3; k++)
        clip_slab (p[k], d[k], &t0, &t1);
    }
    if (t1 > t0)
      sum += shape->value * (t1 - t0) * length;
  }
  return sum;
}

/* A place in the section's own half widths. */
static void
section_place (const Section *section, double x, double y, double *u, double *v)
{
  double dx = x - section->x, dy = y - section->y;

  *u = (dx * section->cosine + dy * section->sine) / section->a;
  *v = (dy * section->cosine - dx * section->sine) / section->b;
}

static gboolean
section_contains (const Section *section, double x, double y)
{
  double u, v;

  section_place (section, x, y, &u, &v);
  return section->rectangle ? fabs (u) <= 1 && fabs (v) <= 1 : u * u + v * v <= 1;
}

/* Whether the section, which has no dents, holds a whole pixel. */
static gboolean
section_holds (const Section *section, double x, double y, double size)
{
  const double half = size / 2;

  return section_contains (section, x - half, y - half)
         && section_contains (section, x + half, y - half)
         && section_contains (section, x - half, y + half)
         && section_contains (section, x + half, y + half);
}

/* Whether it lies beside a whole pixel, by more than the pixel's half diagonal. */
static gboolean
section_misses (const Section *section, double x, double y, double size)
{
  const double reach = 1 + size / G_SQRT2 / MIN (section->a, section->b);
  double u, v;

  section_place (section, x, y, &u, &v);
  return section->rectangle ? fabs (u) > reach || fabs (v) > reach : u * u + v * v > reach * reach;
}

/* How much of a pixel @size wide around (x, y) the section covers, from n x n samples. Most pixels
   need none of them. */
static double
section_coverage (const Section *section, double x, double y, double size, guint n)
{
  guint inside = 0;

  if (section_misses (section, x, y, size))
    return 0;
  if (section_holds (section, x, y, size))
    return 1;
  for (guint j = 0; j < n; j++)
    for (guint i = 0; i < n; i++)
      inside += section_contains (section, x + ((i + 0.5) / n - 0.5) * size,
                                  y + ((j + 0.5) / n - 0.5) * size);
  return (double) inside / (n * n);
}

void
td_phantom_slice_at (const TdPhantom *phantom, guint nx, guint ny, double unit_px, double z,
                     guint oversample, float *out)
{
  for (gsize i = 0; i < (gsize) nx * ny; i++)
    out[i] = 0;

  for (guint i = 0; i < phantom->n_shapes; i++) {
    Section section;
    if (!section_at (&phantom->shapes[i], z, &section))
      continue;
    section.cosine = cos (section.angle);
    section.sine = sin (section.angle);
    double reach = hypot (section.a, section.b) + 1 / unit_px;
    for (guint j = 0; j < ny; j++) {
      double y = ((ny - 1) / 2.0 - j) / unit_px;
      if (fabs (y - section.y) > reach)
        continue;
      for (guint k = 0; k < nx; k++) {
        double x = (k - (nx - 1) / 2.0) / unit_px;
        if (fabs (x - section.x) <= reach)
          out[(gsize) j * nx + k]
              += section.value
                 * section_coverage (&section, x, y, 1 / unit_px, MAX (oversample, 1));
      }
    }
  }
}
