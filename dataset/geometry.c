/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "geometry.h"

#include <string.h>

void
td_geometry_init_parallel (TdGeometry *geometry)
{
  memset (geometry, 0, sizeof *geometry);
  geometry->beam = TD_BEAM_PARALLEL;
}

void
td_geometry_copy (TdGeometry *to, const TdGeometry *from)
{
  *to = *from;
  to->view_matrices = g_memdup2 (from->view_matrices,
                                 (gsize) from->n_view_matrices * 12 * sizeof (double));
}

void
td_geometry_clear (TdGeometry *geometry)
{
  g_free (geometry->view_matrices);
  memset (geometry, 0, sizeof *geometry);
}
