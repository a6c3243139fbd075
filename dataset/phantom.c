/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "phantom.h"

#include <math.h>
#include <string.h>

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

static const struct {
  const char *name;
  const TdShape *shapes;
  guint n_shapes;
} phantoms[] = {
  { "shepp-logan", shepp_logan, G_N_ELEMENTS (shepp_logan) },
  { "disc", disc, G_N_ELEMENTS (disc) },
  { "discs", discs, G_N_ELEMENTS (discs) },
  { "sphere", sphere, G_N_ELEMENTS (sphere) },
  { "ellipsoids", ellipsoids, G_N_ELEMENTS (ellipsoids) },
  { "points", points, G_N_ELEMENTS (points) },
  { "boxes", boxes, G_N_ELEMENTS (boxes) },
};

const char *const *
td_phantom_names (void)
{
  static const char *names[G_N_ELEMENTS (phantoms) + 1];
  static gsize done;

  if (g_once_init_enter (&done)) {
    for (guint i = 0; i < G_N_ELEMENTS (phantoms); i++)
      names[i] = phantoms[i].name;
    g_once_init_leave (&done, 1);
  }
  return names;
}

TdPhantom *
td_phantom_new (const char *name, GError **error)
{
  for (guint i = 0; i < G_N_ELEMENTS (phantoms); i++) {
    if (g_strcmp0 (phantoms[i].name, name) != 0)
      continue;
    TdPhantom *phantom = g_new0 (TdPhantom, 1);
    phantom->name = g_strdup (name);
    phantom->shapes = g_memdup2 (phantoms[i].shapes, phantoms[i].n_shapes * sizeof (TdShape));
    phantom->n_shapes = phantoms[i].n_shapes;
    return phantom;
  }

  g_autofree char *names = g_strjoinv (", ", (char **) td_phantom_names ());
  td_set_error (error, TD_ERROR_NOT_FOUND, "There is no phantom called “%s”; the phantoms are %s",
                name ? name : "", names);
  return NULL;
}

void
td_phantom_free (TdPhantom *phantom)
{
  if (!phantom)
    return;
  g_free (phantom->name);
  g_free (phantom->shapes);
  g_free (phantom);
}
