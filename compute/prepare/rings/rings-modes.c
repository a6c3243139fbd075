/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Columns of sinograms as sums of modes along the angle (kernels/rings-columns.cl). */
#include <math.h>
#include <string.h>

#include "rings.h"

#define MODES 8 /* as in kernels/rings-columns.cl */
#define LEAST_WEIGHT 1e-7

gboolean
td_rings_project (const TdRings *rings, TdBuffer *table, guint n_modes, TdBuffer *modes,
                  GError **error)
{
  const TdSlab *slab = rings->slab;
  guint lanes = td_rings_lanes (rings), groups = (n_modes + MODES - 1) / MODES;
  guint64 blocks = (slab->n_columns + lanes - 1) / lanes;

  const TdArg args[] = {
    TD_ARG_BUFFER (slab->data),      TD_ARG_BUFFER (table),        TD_ARG_BUFFER (modes),
    TD_ARG_VALUE (rings->first_row), TD_ARG_VALUE (slab->n_views), TD_ARG_VALUE (slab->n_columns),
    TD_ARG_VALUE (n_modes),
  };
  return td_rings_launch (rings, "rings-columns", "rings_project", blocks * groups, args,
                          G_N_ELEMENTS (args), error);
}

gboolean
td_rings_add_modes (const TdRings *rings, TdBuffer *table, guint n_modes, TdBuffer *modes,
                    GError **error)
{
  const TdSlab *slab = rings->slab;
  guint lanes = td_rings_lanes (rings);
  guint views = td_device_info (slab->device)->cpu_shaped ? 64 : 8;
  guint64 blocks = (slab->n_columns + lanes - 1) / lanes;

  const TdArg args[] = {
    TD_ARG_BUFFER (slab->data),      TD_ARG_BUFFER (table),        TD_ARG_BUFFER (modes),
    TD_ARG_VALUE (rings->first_row), TD_ARG_VALUE (slab->n_views), TD_ARG_VALUE (slab->n_columns),
    TD_ARG_VALUE (n_modes),          TD_ARG_VALUE (views),
  };
  return td_rings_launch (rings, "rings-columns", "rings_add_modes",
                          blocks * ((slab->n_views + views - 1) / views), args, G_N_ELEMENTS (args),
                          error);
}

gboolean
td_rings_smooth (const TdRings *rings, TdBuffer *modes, guint n_modes, TdRingsSmoothing smoothing,
                 TdBuffer *to, GError **error)
{
  guint n_columns = rings->slab->n_columns, lanes = td_rings_lanes (rings);
  guint64 blocks = (n_columns + lanes - 1) / lanes;

  const TdArg args[] = {
    TD_ARG_BUFFER (modes),
    TD_ARG_BUFFER (smoothing.weights),
    TD_ARG_BUFFER (to),
    TD_ARG_VALUE (n_columns),
    TD_ARG_VALUE (n_modes),
    TD_ARG_VALUE (smoothing.radius),
    TD_ARG_VALUE (smoothing.subtract),
  };
  return td_rings_launch (rings, "rings-columns", "rings_smooth_profile", blocks * n_modes, args,
                          G_N_ELEMENTS (args), error);
}

/* ── Low frequencies ── */

/* Frequencies 0 … this one; two modes each, but one for the mean. */
static guint
rings_modes_highest (guint n, guint pad, double sigma)
{
  double most = sigma * sqrt (-2 * log (LEAST_WEIGHT));
  return (guint) MIN (most, (n + 2 * pad) / 2);
}

guint
td_rings_low_modes (guint n, guint pad, double sigma)
{
  return 2 * rings_modes_highest (n, pad, sigma) + 1;
}

static double
rings_modes_mode_at (guint mode, gint64 place, guint length)
{
  guint k = (mode + 1) / 2;
  double phase = 2 * G_PI * (double) (k * (guint64) place % length) / length;
  return mode % 2 == 1 || mode == 0 ? cos (phase) : sin (phase);
}

/* Which view stands at place @u of the padded line: whole-sample mirrors, c b | a b c. */
static guint
padded_view (guint u, guint n, guint pad)
{
  if (u < pad)
    return pad - u;
  return u < pad + n ? u - pad : n - 2 - (u - pad - n);
}

void
td_rings_low_analysis (guint n, guint pad, double sigma, double *table)
{
  guint n_modes = td_rings_low_modes (n, pad, sigma), length = n + 2 * pad;

  memset (table, 0, (gsize) n_modes * n * sizeof *table);
  for (guint mode = 0; mode < n_modes; mode++) {
    guint k = (mode + 1) / 2;
    double weight = exp (-0.5 * pow (k / sigma, 2)) * (k == 0 || 2 * k == length ? 1 : 2) / length;
    for (guint u = 0; u < length; u++)
      table[(gsize) mode * n + padded_view (u, n, pad)]
          += weight * rings_modes_mode_at (mode, u, length);
  }
}

void
td_rings_low_synthesis (guint n, guint pad, double sigma, double *table)
{
  guint n_modes = td_rings_low_modes (n, pad, sigma);

  for (guint mode = 0; mode < n_modes; mode++)
    for (guint view = 0; view < n; view++)
      table[(gsize) mode * n + view] = rings_modes_mode_at (mode, view + pad, n + 2 * pad);
}
