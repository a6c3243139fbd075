/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cone-scan.h"

#include <math.h>

void
td_test_cone_scan_begin (TdTestConeScan *self, const TdGeometry *geometry, const guint size[3],
                         double range_deg)
{
  *self = (TdTestConeScan) {
    .geometry = *geometry,
    .n_columns = size[0],
    .n_rows = size[1],
    .n_views = size[2],
    .angles_rad = g_new (double, size[2]),
    .views = g_new (float, (gsize) size[0] * size[1] * size[2]),
  };
  for (guint view = 0; view < self->n_views; view++)
    self->angles_rad[view] = 0.1 + range_deg * G_PI / 180 * view / self->n_views;
}

void
td_test_cone_scan_end (TdTestConeScan *self)
{
  const TdScanFacts facts = {
    .n_columns = self->n_columns,
    .n_rows = self->n_rows,
    .n_views = self->n_views,
    .sample_type = TD_SAMPLE_FLOAT32,
    .transmission_logged = TRUE,
    .in_memory = TRUE,
    .angles_rad = self->angles_rad,
    .centre_px = NAN,
    .geometry = self->geometry,
  };

  self->scan = td_scan_new_from_memory (&facts, self->views, NULL, NULL, NULL, NULL);
}

void
td_test_cone_scan_clear (TdTestConeScan *self)
{
  g_clear_pointer (&self->scan, td_scan_unref);
  td_geometry_clear (&self->geometry);
  g_free (self->angles_rad);
  g_free (self->views);
}

void
td_test_cone_scan_stand_up (TdTestConeScan *self)
{
  const guint n_columns = self->n_columns, n_rows = self->n_rows;
  float *views = g_new (float, (gsize) self->n_views *n_columns *n_rows);

  for (guint view = 0; view < self->n_views; view++)
    for (guint v = 0; v < n_rows; v++)
      for (guint u = 0; u < n_columns; u++)
        views[((gsize) view * n_columns + n_columns - 1 - u) * n_rows + v]
            = self->views[((gsize) view * n_rows + v) * n_columns + u];
  g_free (self->views);
  self->views = views;
  td_geometry_turn_image (&self->geometry, n_columns);
  self->n_columns = n_rows;
  self->n_rows = n_columns;
}

TdConePlain
td_test_cone_scan_plain (const TdTestConeScan *self)
{
  return (TdConePlain) { &self->geometry, self->angles_rad, self->n_columns,
                         self->n_rows,    self->n_views,    self->views };
}
