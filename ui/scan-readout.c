/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "scan-readout.h"

#include <glib/gi18n.h>
#include <math.h>

#include "dataset/angles.h"

char *
td_projection_readout (gpointer user, double column, double row, const float *value)
{
  const TdGeometry *geometry = &td_scan_facts (user)->geometry;

  if (geometry->pixel_width_mm > 0)
    return g_strdup_printf (
        _ ("column\u00a0%.1f (%.3f\u00a0mm)  row\u00a0%.1f (%.3f\u00a0mm)  %.5g"), column,
        column * geometry->pixel_width_mm, row, row * geometry->pixel_height_mm, (double) *value);
  return g_strdup_printf (_ ("column %.1f  row %.1f  %.5g"), column, row, (double) *value);
}

char *
td_sinogram_readout (gpointer user, double column, double row, const float *value)
{
  const TdScanFacts *facts = td_scan_facts (user);
  guint view = (guint) CLAMP (round (row), 0, facts->n_views - 1);

  return g_strdup_printf (_ ("column %.1f  view %u (%.2f°)  %.5g"), column, view,
                          td_degrees (facts->angles_rad[view]), (double) *value);
}

char *
td_slice_readout (gpointer user, double column, double row, const float *value)
{
  const TdSliceReadout *slice = user;
  double x = column - (slice->width - 1) / 2, y = (slice->height - 1) / 2 - row;

  if (slice->pixel_mm > 0)
    return g_strdup_printf (_ ("x %.3f mm  y %.3f mm  (%.0f, %.0f)  %.5g %s"), x * slice->pixel_mm,
                            y * slice->pixel_mm, column, row, (double) *value, slice->units);
  return g_strdup_printf (_ ("x %.1f px  y %.1f px  (%.0f, %.0f)  %.5g %s"), x, y, column, row,
                          (double) *value, slice->units);
}
